/*
 * test_orbax.c - Orbax items with bytes changed in each of their files: each ends in rows or in
 * an issue. The whole ones and the verdicts on damaged ones: test_formats.c, tests/fixtures/orbax.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "importer/job/job_run.h"
#include "tests/unit/unit.h"

#define FILES_MAX 64

extern const struct format format_orbax;

/* A copy of a case, in a folder of its own. */
struct copy {
    char folder[PATH_MAX];
    struct copied {
        char path[PATH_MAX];
        uint8_t *bytes;
        size_t len;
    } files[FILES_MAX];
    size_t count;
};

static void copy_file(struct copy *c, const char *from, const char *to)
{
    struct copied *file = &c->files[c->count++];
    assert_true(c->count <= FILES_MAX);
    file->bytes = read_file(from, &file->len);
    snprintf(file->path, sizeof(file->path), "%s", to);
    write_file(to, file->bytes, file->len);
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded by our own fixtures */
static void copy_folder(struct copy *c, const char *from, const char *to)
{
    assert_int_equal(mkdir(to, 0700), 0);
    DIR *d = opendir(from);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char a[PATH_MAX], b[PATH_MAX];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        assert_true(snprintf(a, sizeof(a), "%s/%s", from, e->d_name) < PATH_MAX);
        assert_true(snprintf(b, sizeof(b), "%s/%s", to, e->d_name) < PATH_MAX);
        assert_int_equal(stat(a, &st), 0);
        if (S_ISDIR(st.st_mode))
            copy_folder(c, a, b);
        else
            copy_file(c, a, b);
    }
    closedir(d);
}

static bool ends_well(const char *folder)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct job_request request = {
        .format = &format_orbax, .path = folder, .checkpoint_path = folder};
    job_run_index(&request, &batch, &err);
    bool good = batch && (err.status == OK ? batch->layout && !batch->failed
                                           : batch->failed && batch->issue_count);
    batch_free(batch);
    return good;
}

static void change_each(const struct copy *c)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xFF, 0x02, 0x10};
    for (size_t i = 0; i < c->count; i++) {
        const struct copied *f = &c->files[i];
        uint8_t *changed = malloc(f->len + 1);
        for (size_t at = 0; at < f->len; at++) {
            memcpy(changed, f->bytes, f->len);
            changed[at] ^= masks[at % 5];
            write_file(f->path, changed, at % 7 ? f->len : at);
            bool good = ends_well(c->folder);
            if (!good)
                print_error("%s: byte %zu\n", f->path, at);
            assert_true(good);
        }
        write_file(f->path, f->bytes, f->len);
        unlink(f->path);
        assert_true(ends_well(c->folder));
        write_file(f->path, f->bytes, f->len);
        free(changed);
    }
}

TEST(test_changed_bytes)
{
    static const char *const cases[] = {"y_zarr2",     "y_zarr3",     "y_strings",
                                        "y_aggregate", "y_empties",   "y_process_base",
                                        "y_files",     "y_bare_leaf", "n_unmerged_processes"};
    static struct copy c;
    char top[FOLDER_BYTES], from[PATH_MAX];
    const char *tests = getenv("TESTS");
    folder_make(top);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(from, sizeof(from), "%s/fixtures/orbax/%s", tests ? tests : "tests", cases[i]);
        snprintf(c.folder, sizeof(c.folder), "%s/%s", top, cases[i]);
        c.count = 0;
        copy_folder(&c, from, c.folder);
        assert_true(c.count > 0);
        change_each(&c);
        for (size_t k = 0; k < c.count; k++)
            free(c.files[k].bytes);
    }
    folder_remove(top);
}

RUN_TESTS(NULL, NULL)
