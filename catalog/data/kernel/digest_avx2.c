/* digest_avx2.c - XXH3-128, for x86-64 with AVX2; empty elsewhere. */
#ifdef __x86_64__
#    include <immintrin.h>
#    ifdef __clang__
#        pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#    else
#        pragma GCC optimize("O3")
#        pragma GCC target("avx2")
#    endif
#    define XXH_VECTOR 2
#    define KERNELS    digest_avx2
#    include "catalog/data/kernel/digest_loops.h"
#    ifdef __clang__
#        pragma clang attribute pop
#    endif
#else
#    include "catalog/data/kernel/digest_kernels.h"
#endif
