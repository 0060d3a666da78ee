/*
 * fuzz_folder.c - one format of folders, over any folder: compiled with -DFORMAT=format_zarr. The
 * bytes are an archive, whose files are mounted in memory: nothing touches a disk.
 *
 *   an archive is    its files, one after the other: a byte, the length of the path; the path; two bytes,
 *                    the length of what follows (little-endian); that
 *
 * A file that is cut off is one of what is left; what cannot be a path in a tree with the others is left
 * out. tests/fuzz/pack.py makes one of a folder. The tree is indexed twice: its folder "top" as a
 * checkpoint of FORMAT, whatever it is, and then all that a walk finds in it.
 */
#include <stdlib.h>
#include <string.h>

#include "importer/job/job_run.h"
#include "importer/walk/walk.h"
#include "tests/fuzz/store_memory.h"

#define FILES_MAX 64
#define ROOT      "memory:/fuzzed"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct format FORMAT;

struct archive {
    char paths[FILES_MAX][256];
    struct memory_file files[FILES_MAX];
    size_t count;
};

/* A job ends in rows or in an issue, never in neither. */
static void index_once(const struct format *format, const char *path, const char *const *siblings,
                       uint64_t sibling_count)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *batch = NULL;
    struct job_request request = {
        .format = format,
        .path = path,
        .checkpoint_path = path,
        .siblings = siblings,
        .sibling_count = sibling_count,
        .threads = 1,
    };
    if (!format->index)
        return;
    job_run_index(&request, &batch, &err);
    if (!batch || (err.status != OK && (!batch->failed || !batch->issue_count)) ||
        (err.status == OK && !batch->layout))
        abort();
    batch_free(batch);
}

static void index_found(void)
{
    static const char *const roots[] = {ROOT};
    struct error err = {.offset = NO_OFFSET};
    struct known *known = NULL;
    struct walk *walk = NULL;
    if (known_load(NULL, "fuzz", &known, &err) != OK)
        abort();
    const struct walk_options options = {.threads = 1, .known = known};
    if (walk_paths(roots, 1, &options, &walk, &err) != OK)
        abort();
    for (uint64_t i = 0; i < walk->unit_count; i++) {
        const struct unit *u = &walk->units[i];
        index_once(u->format, u->primary, u->siblings, u->sibling_count);
    }
    walk_free(walk);
    known_free(known);
}

/* The next file; false at the end. */
static bool unpack(struct archive *a, struct bytes *rest)
{
    struct memory_file *f = &a->files[a->count];
    char *path = a->paths[a->count];
    if (rest->len < 1 || a->count == FILES_MAX)
        return false;
    size_t len = rest->at[0];
    len = len < rest->len - 1 ? len : rest->len - 1;
    memcpy(path, rest->at + 1, len);
    path[len] = '\0';
    *rest = (struct bytes){rest->at + 1 + len, rest->len - 1 - len};
    size_t stored = 0;
    if (rest->len >= 2) {
        stored = rest->at[0] | (size_t)rest->at[1] << 8;
        *rest = (struct bytes){rest->at + 2, rest->len - 2};
    }
    stored = stored < rest->len ? stored : rest->len;
    *f = (struct memory_file){path, {rest->at, stored}};
    *rest = (struct bytes){rest->at + stored, rest->len - stored};
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct archive a;
    struct bytes rest = {data, size};
    struct error err = {.offset = NO_OFFSET};
    a.count = 0;
    while (unpack(&a, &rest)) {
        /* Kept where it is a path in a tree with those before it. */
        if (memory_mount("fuzzed", a.files, a.count + 1, &err) == OK) {
            memory_unmount("fuzzed");
            a.count++;
        }
        error_clear(&err);
    }
    if (!a.count || memory_mount("fuzzed", a.files, a.count, &err) != OK)
        return 0;
    index_once(&FORMAT, ROOT "/top", NULL, 0);
    index_found();
    memory_unmount("fuzzed");
    return 0;
}
