/* digest_plain.c - XXH3-128, for any machine. */
#ifndef __clang__
#    pragma GCC optimize("O3")
#endif
#define KERNELS digest_plain
#include "catalog/data/kernel/digest_loops.h"
