/* product_plain.c - products of matrices, for any machine. */
#ifndef __clang__
#    pragma GCC optimize("O3")
#endif
#define TARGET
#define PRODUCT product_plain
#include "catalog/data/kernel/product_loops.h"
