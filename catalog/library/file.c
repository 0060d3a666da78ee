/*
 * file.c - a file that appears complete or not at all (catalog/data/store/output.h).
 */
#include <stdlib.h>
#include <unistd.h>

#include "catalog/data/store/output.h"
#include "catalog/library/library.h"

struct ckptdb_file {
    struct output *output;
    uint64_t at;
};

enum ckptdb_status ckptdb_file_create(const char *path, ckptdb_file **out,
                                      struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb_file *f = calloc(1, sizeof(*f));
    *out = NULL;
    if (!f)
        error_memory(&err);
    else if (access(path, F_OK) == 0)
        error_set(&err, ERR_ARGUMENT, path, NO_OFFSET, "is there already");
    else
        output_open(path, NULL, &f->output, &err);
    if (err.status == OK)
        *out = f;
    else
        free(f);
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_file_write(ckptdb_file *f, const void *bytes, size_t len,
                                     struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    if (output_write(f->output, f->at, bytes, len, true, &err) == OK)
        f->at += len;
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_file_finish(ckptdb_file *f, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    if (output_sync(f->output, &err) == OK && output_commit(f->output, false, &err) == OK)
        output_sync_name(f->output, &err);
    return library_end(&err, error);
}

void ckptdb_file_close(ckptdb_file *f)
{
    if (!f)
        return;
    output_close(f->output);
    free(f);
}
