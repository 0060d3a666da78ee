/*
 * unit.h - what unit tests share: cmocka, files in a folder of their own, a number from a query.
 *
 * The helpers assert that they worked, so that a test says only what it tests.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "catalog/data/model/tensor.h"
#include "catalog/data/store/source.h"
#include "catalog/db/sqlite.h"
#include "tests/unit/bytes.h"

/* --- tests ------------------------------------------------------------------------------ */

/* A test runs if it is written: a file's tests run one after the other, as they stand there. `state` is what
 * its setup gives. */
static struct CMUnitTest unit_tests[128];
static size_t unit_test_count;

#define TEST_IN(name, setup, teardown)                                                             \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        const struct CMUnitTest t = cmocka_unit_test_setup_teardown(name, setup, teardown);        \
        unit_tests[unit_test_count++] = t;                                                         \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)
#define TEST(name) TEST_IN(name, NULL, NULL)

/* The program, with the setup and teardown of all. */
#define RUN_TESTS(setup, teardown)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        return _cmocka_run_group_tests(__FILE__, unit_tests, unit_test_count, setup, teardown);    \
    }

/* --- samples ---------------------------------------------------------------------------- */

/* A sanitizer's program does one part in SAMPLE of an exhaustive or a random test: it is that much
 * slower. Odd, so that no step falls in with powers of two. Another run does what one run leaves out. */
#if defined(__SANITIZE_THREAD__)
#    define SAMPLE 31
#elif defined(__SANITIZE_ADDRESS__)
#    define SAMPLE 5
#else
#    define SAMPLE 1
#endif

/* A new one in each run; CKPTDB_SEED=N repeats the run that printed N. */
static inline unsigned choose_seed(void)
{
    const char *chosen = getenv("CKPTDB_SEED");
    const unsigned seed = chosen ? (unsigned)strtoul(chosen, NULL, 10) : (unsigned)time(NULL);
    print_message("CKPTDB_SEED=%u\n", seed);
    return seed;
}

/* --- files ------------------------------------------------------------------------------ */

static inline void write_as(const char *path, const char *mode, const void *bytes, size_t len)
{
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void write_file(const char *path, const void *bytes, size_t len)
{
    write_as(path, "wb", bytes, len);
}

static inline void append_file(const char *path, const void *bytes, size_t len)
{
    write_as(path, "ab", bytes, len);
}

/* The whole file, and no byte more, so that reading past the end is found; free() it. */
static inline uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*len ? *len : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *len, f), *len);
    assert_int_equal(fclose(f), 0);
    return bytes;
}

static inline void assert_file_is(const char *path, const char *text)
{
    size_t len;
    uint8_t *bytes = read_file(path, &len);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    free(bytes);
}

/* A file as the catalog has it after an import. */
static inline struct stored_file file_now(const char *path)
{
    struct error err = {.offset = NO_OFFSET};
    struct stored_file f = {.path = path, .present = true, .checked = true};
    assert_int_equal(file_identify(path, &f.identity, &err), OK);
    return f;
}

/* Bytes that outlive the source. */
static inline struct source *memory(const void *bytes, size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    struct bytes all = {bytes, len};
    assert_int_equal(source_open_memory("memory", all, true, &s, &err), OK);
    return s;
}

/* --- folders ---------------------------------------------------------------------------- */

PRINTF_LIKE(1, 2)
static inline void shell_out(const char *fmt, ...)
{
    char command[2048];
    va_list args;
    va_start(args, fmt);
    assert_in_range(vsnprintf(command, sizeof(command), fmt, args), 1, sizeof(command) - 1);
    va_end(args);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): in folders of our own */
}

#define FOLDER_BYTES 64

static inline void folder_make(char folder[FOLDER_BYTES])
{
    snprintf(folder, FOLDER_BYTES, "/tmp/ckptdb-unit-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static inline void folder_remove(const char *folder)
{
    shell_out("rm -rf '%s'", folder);
}

/* For a test's setup and teardown: an empty folder to work in, also for temporary files. */
static char own_folder[FOLDER_BYTES];

static inline int enter_folder(void **state)
{
    (void)state;
    folder_make(own_folder);
    return chdir(own_folder) == 0 ? setenv("TMPDIR", own_folder, 1) : -1;
}

static inline int leave_folder(void **state)
{
    (void)state;
    folder_remove(own_folder);
    return chdir("/");
}

/* --- queries ---------------------------------------------------------------------------- */

/* The one number that a query answers. */
static inline int64_t asked(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}
