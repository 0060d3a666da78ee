#include "catalog/data/read/files.h"

#include <stdlib.h>
#include <time.h>

#define CACHED    32
#define IDLE_MOST 2 /* unused decoded tensors that are kept: one for each of two threads */

/* How long a cached file is trusted before its identity is checked again. */
#define LOOK_AGAIN_NS INT64_C(20000000)

/* A set keeps this many files open; others are opened for each read. */
#define KEPT_OPEN 64

struct file_set {
    const struct stored_tensor *tensor;
    struct file_cache *files; /* NULL: no cache */
    struct open_file {
        struct source *source; /* NULL: not needed, or not kept open */
        struct kept *kept;     /* its owner in the cache; NULL: the set owns it */
    } file[];                  /* one per file of the tensor */
};

static enum status files_check(const struct stored_file *file, const struct file_identity *now,
                               struct error *err)
{
    const struct file_identity *then = &file->identity;
    if (!file->checked || file_same(now, then))
        return OK;
    if (now->size != then->size)
        return error_set(err, ERR_CHANGED, file->path, NO_OFFSET,
                         "changed since it was indexed (%llu bytes now, %llu then); import "
                         "it again",
                         (unsigned long long)now->size, (unsigned long long)then->size);
    return error_set(err, ERR_CHANGED, file->path, NO_OFFSET,
                     "changed since it was indexed (%s); import it again",
                     now->mtime_ns != then->mtime_ns ? "another modification time"
                                                     : "another file of the same name");
}

enum status file_gone(const char *path, struct error *err)
{
    error_clear(err);
    return error_set(err, ERR_CHANGED, path, NO_OFFSET,
                     "gone since it was indexed; import it again, with --prune if it was "
                     "deleted; if it was moved, `relocate OLD NEW`");
}

/* source_open_file() calls it ERR_UNSUPPORTED, but a file was there when it was indexed. */
enum status file_replaced(const char *path, struct error *err)
{
    error_clear(err);
    return error_set(err, ERR_CHANGED, path, NO_OFFSET,
                     "changed since it was indexed (not a regular file any more); import it again");
}

enum status file_open_indexed(const struct stored_file *file, struct source **out,
                              struct error *err)
{
    struct file_identity now;
    struct source *source = NULL;
    if (!file->present)
        return error_set(err, ERR_MISSING, file->path, NO_OFFSET,
                         "missing when the checkpoint was indexed");
    enum status status = out ? source_open_file(file->path, 0, &source, &now, err)
                             : file_identify(file->path, &now, err);
    if (status == ERR_MISSING && file->checked)
        return file_gone(file->path, err);
    if (out && status == ERR_UNSUPPORTED && file->checked)
        return file_replaced(file->path, err);
    if (status == OK && files_check(file, &now, err) == OK && out)
        *out = source;
    else
        source_close(source);
    return err->status;
}

enum status file_as_indexed(const struct stored_file *file, struct error *err)
{
    return file_open_indexed(file, NULL, err);
}

/* --- files that stay open --------------------------------------------------------------- */

struct file_cache {
    struct kept_list files, tensors;
};

struct file_cache *file_cache_new(void)
{
    struct file_cache *c = calloc(1, sizeof(*c));
    if (c) {
        kept_init(&c->files, CACHED);
        kept_init(&c->tensors, IDLE_MOST);
    }
    return c;
}

void file_cache_free(struct file_cache *c)
{
    if (!c)
        return;
    kept_release(&c->tensors);
    kept_release(&c->files);
    free(c);
}

struct kept_list *kept_tensors(struct file_cache *c)
{
    return &c->tensors;
}

/* Open the file, or look at it again if that was not done lately. A changed file fails every time. */
static enum status file_make(const void *context, struct kept *k, struct error *err)
{
    const struct stored_file *file = context;
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (k->source && now - k->looked_at < LOOK_AGAIN_NS)
        return OK;
    if (file_open_indexed(file, k->source ? NULL : &k->source, err) == OK)
        k->looked_at = now;
    return err->status;
}

static enum status file_open(struct file_cache *c, const struct stored_file *file,
                             struct open_file *out, struct error *err)
{
    const struct file_identity *is = &file->identity;
    struct kept_key key = {{is->size, (uint64_t)is->mtime_ns, is->inode, is->device}, file->path};
    if (!c || !file->checked)
        return file_open_indexed(file, &out->source, err);
    if (kept_take(&c->files, &key, file_make, file, &out->kept, err) == OK)
        out->source = out->kept->source;
    return err->status;
}

static void file_close(struct file_cache *c, const struct open_file *f)
{
    if (f->kept)
        kept_give(&c->files, f->kept);
    else
        source_close(f->source);
}

/* --- the files of a tensor -------------------------------------------------------------- */

static const struct stored_file *file_of(const struct stored_tensor *t, uint32_t file,
                                         struct error *err)
{
    if (file < t->file_count)
        return &t->files[file];
    error_set(err, ERR_MISSING, t->checkpoint, NO_OFFSET, "a part of the tensor has no file");
    return NULL;
}

/* State while a tensor's files are opened or checked. */
struct opening {
    struct file_set *set;
    uint8_t *seen; /* one flag per file */
    uint32_t kept;
    bool only_looks; /* only check identities, open nothing */
};

/* Check a file that is not read again: what the catalog took from it holds only while it is the
 * same. */
static void check_file(struct opening *o, uint32_t at, struct error *err)
{
    const struct stored_tensor *t = o->set->tensor;
    const struct stored_file *file = at == NO_FILE ? NULL : file_of(t, at, err);
    if (!file || o->seen[at])
        return;
    o->seen[at] = 1;
    file_as_indexed(file, err);
}

static void files_open_file(struct opening *o, uint32_t at, struct error *err)
{
    const struct stored_tensor *t = o->set->tensor;
    struct open_file f = {0};
    const struct stored_file *file = file_of(t, at, err);
    if (!file || o->seen[at])
        return;
    o->seen[at] = 1;
    if (o->only_looks)
        file_as_indexed(file, err);
    else if (file_open(o->set->files, file, &f, err) != OK)
        return;
    else if (o->kept++ < KEPT_OPEN)
        o->set->file[at] = f;
    else
        file_close(o->set->files, &f);
}

/* Bytes in the catalog are good while the file that they came from has not changed. Tensors that
 * this program makes up came from no file. */
static void check_inline(struct opening *o, uint32_t at, struct error *err)
{
    const struct stored_tensor *t = o->set->tensor;
    if (at == NO_FILE && t->from_catalog)
        error_set(err, ERR_CHANGED, t->checkpoint, NO_OFFSET,
                  "an older ckptdb took a part of the tensor into the catalog "
                  "without the name of its file, so whether it is still valid is "
                  "unknown; import it again");
    else if (t->from_catalog)
        check_file(o, at, err);
}

static void open_grid(struct opening *o, struct error *err)
{
    const struct stored_tensor *t = o->set->tensor;
    const struct grid *g = t->grid;
    /* The directory, the metadata file, the directories inside. */
    for (uint32_t i = 0; g->in_files && err->status == OK && i < t->file_count; i++)
        check_file(o, i, err);
    if (err->status == OK && !g->in_files && t->from_catalog)
        check_file(o, g->metadata, err);
    /* First the files that are read: a file that is opened need not be checked once more. */
    for (uint64_t i = 0; err->status == OK && i < g->value_count; i++)
        if (!grid_value_inline(&g->values[i]))
            files_open_file(o, g->values[i].file, err);
    for (uint64_t i = 0; err->status == OK && i < g->value_count; i++)
        if (grid_value_inline(&g->values[i]))
            check_inline(o, g->values[i].file, err);
}

static enum status open_all(struct file_set *set, bool only_looks, struct error *err)
{
    const struct stored_tensor *t = set->tensor;
    struct opening o = {.set = set, .seen = calloc(t->file_count + 1, 1), .only_looks = only_looks};
    if (!o.seen)
        return error_memory_at(err, t->checkpoint);
    if (t->grid)
        open_grid(&o, err);
    for (uint64_t i = 0; !t->grid && err->status == OK && i < t->extent_count; i++)
        if (t->storage == STORAGE_INLINE)
            check_inline(&o, t->extents[i].file, err);
        else
            files_open_file(&o, t->extents[i].file, err);
    free(o.seen);
    return err->status;
}

enum status file_set_open(const struct stored_tensor *t, struct file_cache *files,
                          struct file_set **out, struct error *err)
{
    struct file_set *set = *out = calloc(1, sizeof(*set) + t->file_count * sizeof(set->file[0]));
    if (!set)
        return error_memory_at(err, t->checkpoint);
    set->tensor = t;
    set->files = files;
    return open_all(set, false, err);
}

enum status tensor_files_as_indexed(const struct stored_tensor *t, struct error *err)
{
    struct file_set set = {.tensor = t};
    return open_all(&set, true, err);
}

void file_set_close(struct file_set *f)
{
    for (uint32_t i = 0; f && f->tensor && i < f->tensor->file_count; i++)
        file_close(f->files, &f->file[i]);
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

static enum status outside(const struct stored_file *file, uint64_t offset, struct error *err)
{
    return error_set(err, ERR_CORRUPT, file->path, offset,
                     "a part of the tensor lies outside its file");
}

static enum status open_range(struct file_set *f, uint32_t file, uint64_t begin, uint64_t size,
                              struct source **out, struct error *err)
{
    struct source *kept = f->file[file].source, *owned = NULL;
    if (kept)
        return source_open_view(kept, begin, size, out, err);
    return file_open_indexed(&f->tensor->files[file], &owned, err) == OK
               ? source_open_range(owned, begin, size, out, err)
               : err->status;
}

enum status file_set_range(struct file_set *f, uint32_t file, uint64_t offset, uint64_t stored,
                           struct source **out, struct error *err)
{
    uint64_t begin;
    const struct stored_file *known = file_of(f->tensor, file, err);
    if (!known)
        return err->status;
    if (!add_u64(offset, known->base, &begin))
        return outside(known, offset, err);
    return open_range(f, file, begin, stored, out, err);
}

enum status file_set_extent(struct file_set *f, const struct extent *e, uint64_t before,
                            struct source **out, struct error *err)
{
    uint64_t begin, size;
    if (f->tensor->storage == STORAGE_INLINE)
        return open_inline(f->tensor, e, out, err);
    const struct stored_file *file = file_of(f->tensor, e->file, err);
    if (!file)
        return err->status;
    if (!add_u64(e->offset, file->base, &begin) || begin < before ||
        !add_u64(e->stored, before, &size))
        return outside(file, e->offset, err);
    return open_range(f, e->file, begin - before, size, out, err);
}
