/* product_avx2.c - products of matrices, for x86-64 with AVX2 and FMA; empty elsewhere. */
#ifdef __x86_64__
#    ifndef __clang__
#        pragma GCC optimize("O3")
#    endif
#    define TARGET  __attribute__((target("avx2,fma")))
#    define PRODUCT product_avx2
#    include "catalog/data/kernel/product_loops.h"
#endif
