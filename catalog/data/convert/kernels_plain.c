/* kernels_plain.c - the kernels, for any machine. */
#ifndef __clang__ /* clang vectorises at -O2 already */
#    pragma GCC optimize("O3", "no-trapping-math")
#endif

#define TARGET
#define SET kernels_plain
#include "catalog/data/convert/loops.h"
