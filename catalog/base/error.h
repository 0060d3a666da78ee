/*
 * error.h - a status for the code, a sentence with a place for people.
 *
 * Every function that can fail fills the caller's struct error, and returns its status if callers
 * branch on it. The first error wins: error_set() on an error that is already set changes nothing, so
 * a late clean-up cannot hide the cause (arena.h says what else is sticky). A struct error belongs to
 * one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PRINTF_LIKE(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))

#define NO_OFFSET UINT64_MAX

enum status {
    OK = 0,
    ERR_CORRUPT,     /* bytes that contradict their format */
    ERR_UNSUPPORTED, /* legal, but not something this program reads */
    ERR_LIMIT,       /* a named limit of catalog/base/limits.h was hit */
    ERR_MISSING,     /* a file or part that should be there is not */
    ERR_CHANGED,     /* a file is not the one that was indexed */
    ERR_CHECKSUM,    /* data read does not have its recorded checksum */
    ERR_VALUE,       /* a value does not fit the dtype asked for */
    ERR_IO,          /* the system refused to read or write */
    ERR_BUSY,        /* another program is writing the catalog */
    ERR_MEMORY,      /* no memory */
    ERR_ARGUMENT,    /* the caller asked for something that makes no sense */
    ERR_INTERRUPTED, /* the user pressed Ctrl-C */
};

/* Begins as a struct ckptdb_error, which is what the library's callers see (library_end()). */
struct error {
    enum status status;
    uint64_t offset; /* byte in `source` where it was noticed; NO_OFFSET if none */
    /* Control characters are escaped. What is too long is cut: "..." stands for the beginning of
     * a path, and for the end of a message. */
    char source[512];  /* path or name of the file the offset is in; may be "" */
    char message[512]; /* one line, no final newline */
    const char *code;  /* a constant word for issue.code that says more than the
                            status ("truncated"); NULL: status_name() */
};

/* Record an error and return `status`. `source` may be NULL. */
enum status error_set(struct error *err, enum status status, const char *source, uint64_t offset,
                      const char *fmt, ...) PRINTF_LIKE(5, 6);
/* ERR_MEMORY, "no memory": without a file, or while `source` was read or written. */
enum status error_memory(struct error *err);
enum status error_memory_at(struct error *err, const char *source);

/* Record a failed system call: appends the text of errno value `code`. */
enum status error_errno(struct error *err, int code, const char *source, const char *doing);

/* Give the error that was just set a word of its own for issue.code (a constant; the
 * first one stays). Returns the error's status. */
enum status error_code(struct error *err, const char *code);

/* Whether a failure is temporary: trouble of the machine (memory, reading, descriptors,
 * permission), which says nothing about the bytes. Must never be remembered as a property of a
 * file. */
bool status_passes(enum status status);

/* How often allocating or reading has failed in this thread, and the last such error (NULL: none), even
 * if a caller ignored it: code that ignores errors may have taken one of these for an absence. */
unsigned long error_troubles(const struct error **last);
/* Count a failed allocation, for functions that only return NULL. */
void error_lacking(void);

/* The word for issue.code: error_code()'s, else the status's. Passing trouble is always called
 * by its status. */
const char *error_word(const struct error *err);

/* Say which file an error is about, if it names none. */
void error_about(struct error *err, const char *source);

/* Prepend "what: " to the message, to say in which tensor or member it happened. */
void error_prefix(struct error *err, const char *what);

void error_clear(struct error *err);

/* Stable word for a status, as stored in issue.code: "corrupt", "limit", ... */
const char *status_name(enum status status);

/* "source: message (at byte N)" into `out`, always terminated. Returns `out`. */
char *error_text(const struct error *err, char *out, unsigned long size);
