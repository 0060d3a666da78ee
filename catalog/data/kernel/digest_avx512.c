/* digest_avx512.c - XXH3-128, for x86-64 with AVX-512; empty elsewhere. */
#ifdef __x86_64__
#    include <immintrin.h>
#    ifdef __clang__
#        pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#    else
#        pragma GCC optimize("O3")
#        pragma GCC target("avx512f")
#    endif
#    define XXH_VECTOR 3
#    define KERNELS    digest_avx512
#    include "catalog/data/kernel/digest_loops.h"
#    ifdef __clang__
#        pragma clang attribute pop
#    endif
#else
#    include "catalog/data/kernel/digest_kernels.h"
#endif
