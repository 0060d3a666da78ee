/* stat_plain.c - statistics, for any machine. */
#ifndef __clang__
#    pragma GCC optimize("O3")
#endif
#define VECTOR 16
#define TARGET
#define KERNELS stat_plain
#include "catalog/content/stat_loops.h"
