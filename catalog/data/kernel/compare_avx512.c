/* compare_avx512.c - distances of numbers, for x86-64 with AVX-512 (F, BW, DQ, VL); empty elsewhere. */
#ifdef __x86_64__
#    include <immintrin.h>
#    ifndef __clang__
#        pragma GCC optimize("O3")
#    endif
#    define VECTOR  64
#    define TARGET  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#    define KERNELS compare_avx512
#    include "catalog/data/kernel/compare_loops.h"
#else
#    include "catalog/data/kernel/compare_kernels.h"
#endif
