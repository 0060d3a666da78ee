/*
 * lint.h - what clang-tidy, which sees one file at a time, cannot know; included by tests/lint.sh
 * before every file but error.c, and files that ask the system for more in their first line.
 */
#pragma once

#include "catalog/base/error.h"

/* A refused call is not OK: nothing reads the results that it did not set. */
static inline enum status lint_refused(enum status status)
{
    if (status == OK)
        __builtin_unreachable();
    return status;
}

/* NOLINTBEGIN(readability-identifier-naming): they stand for functions */
#define error_set(...)       lint_refused(error_set(__VA_ARGS__))
#define error_errno(...)     lint_refused(error_errno(__VA_ARGS__))
#define error_code(...)      lint_refused(error_code(__VA_ARGS__))
#define error_memory(...)    lint_refused(error_memory(__VA_ARGS__))
#define error_memory_at(...) lint_refused(error_memory_at(__VA_ARGS__))
/* NOLINTEND(readability-identifier-naming) */
