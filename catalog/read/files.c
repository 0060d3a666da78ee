#include "catalog/read/files.h"

#include <stdlib.h>

/* A set of more files keeps only so many open and opens the others when they are read. */
#define KEPT_OPEN 64

struct file_set {
    const struct stored_tensor *tensor;
    struct source *source[]; /* one a file of the tensor; NULL: not needed or not kept */
};

static enum status check(const struct stored_file *file, const struct file_identity *now,
                         struct error *err)
{
    const struct file_identity *then = &file->identity;
    if (!file->checked || file_same(now, then))
        return OK;
    if (now->size != then->size)
        return error_set(
            err, ERR_CHANGED, file->path, NO_OFFSET,
            "changed since it was indexed (%llu bytes now, %llu then); import "
            "it again",
            (unsigned long long)now->size, (unsigned long long)then->size);
    return error_set(err, ERR_CHANGED, file->path, NO_OFFSET,
                     "changed since it was indexed (%s); import it again",
                     now->mtime_ns != then->mtime_ns ? "another modification time"
                                                     : "another file of the same name");
}

static enum status open_checked(const struct stored_file *file, struct source **out,
                                struct error *err)
{
    struct file_identity now;
    if (!file->present)
        return error_set(err, ERR_MISSING, file->path, NO_OFFSET,
                         "missing when the checkpoint was indexed");
    struct source *source = NULL;
    enum status status = source_open_file(file->path, 0, &source, &now, err);
    if (status == ERR_MISSING && file->checked) {
        error_clear(err);
        return error_set(err, ERR_CHANGED, file->path, NO_OFFSET,
                         "gone since it was indexed; import it again");
    }
    if (status == OK && check(file, &now, err) != OK) {
        source_close(source);
        return err->status;
    }
    if (status == OK)
        *out = source;
    return status;
}

static const struct stored_file *file_of(const struct stored_tensor *t,
                                         const struct extent *e, struct error *err)
{
    if (e->file < t->file_count)
        return &t->files[e->file];
    error_set(err, ERR_MISSING, t->checkpoint, NO_OFFSET,
              "a part of the tensor has no file");
    return NULL;
}

enum status file_set_open(const struct stored_tensor *t, struct file_set **out,
                          struct error *err)
{
    uint32_t kept = 0;
    uint8_t *seen = calloc(t->file_count + 1, 1);
    struct file_set *f = calloc(1, sizeof(*f) + t->file_count * sizeof(struct source *));
    if (!f || !seen) {
        error_set(err, ERR_MEMORY, t->checkpoint, NO_OFFSET, "no memory");
        goto done;
    }
    f->tensor = t;
    for (uint64_t i = 0; t->storage != STORAGE_INLINE && i < t->extent_count; i++) {
        struct source *source = NULL;
        const struct stored_file *file = file_of(t, &t->extents[i], err);
        if (!file)
            goto done;
        if (seen[t->extents[i].file])
            continue;
        seen[t->extents[i].file] = 1;
        if (open_checked(file, &source, err) != OK)
            goto done;
        if (kept++ < KEPT_OPEN)
            f->source[t->extents[i].file] = source;
        else
            source_close(source);
    }

done:
    free(seen);
    if (err->status != OK)
        file_set_close(f);
    else
        *out = f;
    return err->status;
}

void file_set_close(struct file_set *f)
{
    for (uint32_t i = 0; f && f->tensor && i < f->tensor->file_count; i++)
        source_close(f->source[i]);
    free(f);
}

static enum status open_inline(const struct stored_tensor *t, const struct extent *e,
                               struct source **out, struct error *err)
{
    struct bytes bytes = {e->bytes, (size_t)e->stored};
    if (!e->bytes && e->stored)
        return error_set(err, ERR_CORRUPT, t->checkpoint, NO_OFFSET,
                         "a part of the tensor is not in the catalog as its row says");
    return source_open_memory(t->checkpoint, bytes, false, out, err);
}

enum status file_set_extent(struct file_set *f, const struct extent *e, uint64_t before,
                            struct source **out, struct error *err)
{
    uint64_t begin, size;
    struct source *owned = NULL;
    if (f->tensor->storage == STORAGE_INLINE)
        return open_inline(f->tensor, e, out, err);
    const struct stored_file *file = file_of(f->tensor, e, err);
    if (!file)
        return err->status;
    if (!add_u64(e->offset, file->base, &begin) || begin < before ||
        !add_u64(e->stored, before, &size))
        return error_set(err, ERR_CORRUPT, file->path, e->offset,
                         "a part of the tensor lies outside its file");
    begin -= before;
    struct source *kept = f->source[e->file];
    if (kept)
        return source_open_view(kept, begin, size, out, err);
    if (open_checked(file, &owned, err) != OK)
        return err->status;
    return source_open_range(owned, begin, size, out, err);
}
