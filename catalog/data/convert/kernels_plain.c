/* kernels_plain.c - the kernels, for any machine. */
#ifndef __clang__ /* clang vectorises at -O2 already */
#    pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#endif

#define TARGET
#define SET    kernels_plain
#define VECTOR 16
#include "catalog/data/convert/quantise.h"

#include "catalog/data/convert/loops.h"
