#include "catalog/content/verify_data.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/content/part.h"

struct verifying {
    const struct verify_data *work;
    struct digest_fold *fold;
    struct error damage; /* of the current tensor */
    bool silent;         /* and it was not reported */
};

/* A tensor that is too large for a hash is only checked. */
static bool is_hashed(const struct verifying *v, const struct stored_tensor *t)
{
    struct error ignored = {.offset = NO_OFFSET};
    return v->work->hash && t->dtype.kind != DTYPE_STRING && !sweep_is_void(t, &ignored);
}

static void *verify_make_outcome(void *context, const struct sweep_part *t, uint64_t *bytes)
{
    const struct verifying *v = context;
    return part_read(t, is_hashed(v, t->tensor) ? PART_HASHED : PART_CHECKED, bytes);
}

/* The file blamed for a wrong hash: the one that holds the tensor, or the first of many. NULL: none. */
static const struct stored_file *file_to_blame(const struct stored_tensor *t)
{
    if (t->storage == STORAGE_RANGE && t->extents[0].file != NO_FILE)
        return &t->files[t->extents[0].file];
    if (t->grid)
        return t->grid->in_files ? &t->files[t->grid->directory] : NULL;
    return t->file_count ? &t->files[0] : NULL;
}

static void compare_hash(struct verifying *v, const struct stored_tensor *t, struct error *err)
{
    sqlite3_stmt *s = v->work->hash;
    struct digest_block hash;
    struct error what = {.offset = NO_OFFSET};
    char text[DIGEST_TEXT];
    digest_fold_end(v->fold, &hash);
    if (v->damage.status != OK || !is_hashed(v, t))
        return;
    digest_print(&hash, text);
    sqlite3_bind_text(s, 1, t->name, -1, SQLITE_STATIC);
    const bool known = db_row(s, "hashes", err);
    const char *then = known ? db_text(s, 0) : NULL;
    if (known && !then)
        error_memory(err);
    if (then && strcmp(then, text) != 0) {
        const struct stored_file *f = file_to_blame(t);
        const bool range = t->storage == STORAGE_RANGE && f;
        error_set(&what, ERR_CHECKSUM, f ? f->path : t->checkpoint,
                  range ? t->extents[0].offset + f->base : NO_OFFSET,
                  "the values are not those that were hashed: %s now, %s then", text, then);
        error_code(&what, "hash");
    }
    sqlite3_reset(s);
    if (err->status == OK)
        v->damage = what;
    if (err->status == OK && what.status != OK)
        v->work->found(v->work->context, t->name, &what, err);
}

static enum status verify_take_outcome(void *context, const struct sweep_part *t, void *thing,
                                       struct error *err)
{
    struct verifying *v = context;
    const struct verify_data *w = v->work;
    const struct part_outcome *o = thing;
    if (o->err.status == ERR_MEMORY || o->err.status == ERR_INTERRUPTED) {
        *err = o->err;
    } else if (o->err.status != OK && v->damage.status == OK) {
        v->damage = o->err;
        /* Tensors that cannot be read were reported when the headers were checked, except where a
         * chunk itself says that it is of a kind that cannot be read. */
        v->silent = o->absent || (!o->opened && o->err.status == ERR_UNSUPPORTED);
        if (!v->silent)
            w->found(w->context, t->tensor->name, &o->err, err);
    }
    if (v->damage.status == OK && is_hashed(v, t->tensor))
        digest_fold_add(v->fold, o->blocks, digest_block_count(t->len));
    if (err->status != OK || !t->last)
        return err->status;
    if (w->hash)
        compare_hash(v, t->tensor, err);
    if (err->status == OK && !v->silent)
        w->read(w->context, t->tensor, &v->damage, err);
    v->silent = false;
    v->damage = (struct error){.offset = NO_OFFSET};
    return err->status;
}

enum status verify_data(const struct verify_data *w, struct error *err)
{
    struct verifying v = {.work = w, .fold = digest_fold_new()};
    const struct sweep sweep = {
        .db = w->db,
        .checkpoint = w->checkpoint,
        .which = "t.dtype NOT IN ('variant', 'resource')",
        .threads = w->threads,
        .context = &v,
        .as_stored = true,
        .part = part_bytes,
        .make = verify_make_outcome,
        .take = verify_take_outcome,
        .drop = free,
        .watcher = w->context,
        .stop = w->stop,
        .progress = w->progress,
    };
    if (!v.fold)
        return error_memory(err);
    sweep_run(&sweep, err);
    digest_fold_free(v.fold);
    return err->status;
}
