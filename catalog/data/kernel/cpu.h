/*
 * cpu.h - what this processor can do, on x86-64: CPU_HAS(AVX2), with the names of <sys/platform/x86.h>.
 *
 * The C library asks the processor at the start of every program, and glibc passes that on (since
 * 2.33). The compiler's own __builtin_cpu_supports() asks again before main(), at 5 us a question on a
 * virtual machine: a twentieth of the time that `ckptdb diff` takes.
 */
#pragma once

#ifdef __x86_64__

#    include <limits.h> /* __GLIBC__ */
#    ifdef __GLIBC__
#        if __GLIBC_PREREQ(2, 33)
#            define CPU_TOLD
#        endif
#    endif

#    ifdef CPU_TOLD
#        include <stdbool.h>
#        include <sys/platform/x86.h>

/* glibc's own CPU_FEATURE_ACTIVE() shifts a signed 1 by 31 for AVX512VL, which is undefined. The
 * numbers of features count bits: 32 to a register, 4 registers to a leaf. */
static inline bool cpu_has(unsigned feature)
{
    return __x86_get_cpuid_feature_leaf(feature / 128)->active_array[feature / 32 % 4] >>
               feature % 32 &
           1;
}

#        define CPU_HAS(feature) cpu_has(x86_cpu_##feature)
#    else
#        define CPU_HAS(feature)   CPU_HAS_##feature
#        define CPU_HAS_SSE4_2     __builtin_cpu_supports("sse4.2")
#        define CPU_HAS_AVX2       __builtin_cpu_supports("avx2")
#        define CPU_HAS_FMA        __builtin_cpu_supports("fma")
#        define CPU_HAS_AVX512F    __builtin_cpu_supports("avx512f")
#        define CPU_HAS_AVX512BW   __builtin_cpu_supports("avx512bw")
#        define CPU_HAS_AVX512DQ   __builtin_cpu_supports("avx512dq")
#        define CPU_HAS_AVX512VL   __builtin_cpu_supports("avx512vl")
#        define CPU_HAS_VPCLMULQDQ __builtin_cpu_supports("vpclmulqdq")
#        if defined(__clang__) && __clang_major__ < 16
/* It lacks the word; what has AVX2 has it. */
#            define CPU_HAS_F16C __builtin_cpu_supports("avx2")
#        else
#            define CPU_HAS_F16C __builtin_cpu_supports("f16c")
#        endif
#    endif

#endif
