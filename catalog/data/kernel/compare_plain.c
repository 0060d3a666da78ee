/* compare_plain.c - distances of numbers, for any machine. */
#ifndef __clang__
#    pragma GCC optimize("O3")
#endif
#define VECTOR 16
#define TARGET
#define KERNELS compare_plain
#include "catalog/data/kernel/compare_loops.h"
