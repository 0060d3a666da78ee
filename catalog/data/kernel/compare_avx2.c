/* compare_avx2.c - distances of numbers, for x86-64 with AVX2; empty elsewhere. */
#ifdef __x86_64__
#    include <immintrin.h>
#    ifndef __clang__
#        pragma GCC optimize("O3")
#    endif
#    define VECTOR  32
#    define TARGET  __attribute__((target("avx2")))
#    define KERNELS compare_avx2
#    include "catalog/data/kernel/compare_loops.h"
#else
#    include "catalog/data/kernel/compare_kernels.h"
#endif
