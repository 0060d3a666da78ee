/* kernels_avx2.c - the kernels, for x86-64 with AVX2 and F16C; empty elsewhere. */
#ifndef __clang__ /* clang vectorises at -O2 already */
#    pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#endif

#ifdef __x86_64__
#    define TARGET __attribute__((target("avx2,f16c")))
#    define SET    kernels_avx2
#    define VECTOR 32
#    define HAVE_F16C
#    include "catalog/data/convert/quantise.h"

#    include "catalog/data/convert/loops.h"
#else
#    include "catalog/data/convert/kernels.h"
#endif
