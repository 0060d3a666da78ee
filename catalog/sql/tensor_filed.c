/*
 * tensor_filed.c - the rows of `tensor` by file: for each path the checkpoints that have such a file,
 * and for each the tensors in it; once, before or after all paths, the tensors in none.
 */
#include <stdlib.h>

#include "catalog/db/statement.h"
#include "catalog/sql/tensor_cursor.h"

#define FILED_BYTES ((size_t)64 << 20)

void tensor_forget_filed(struct tensor_cursor *c)
{
    strmap_release(&c->filed);
    if (c->of_filed.used)
        arena_release(&c->of_filed);
    c->filed = (struct strmap){0};
    c->of_filed = (struct arena){0};
}

static int by_file(const void *a, const void *b)
{
    const struct filed_tensor *x = a, *y = b;
    return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
                              : (x->ord > y->ord) - (x->ord < y->ord);
}

/* Find the file of each selected tensor of the current checkpoint. */
static int find_files(struct tensor_cursor *c, const struct selection *all, struct filed *f)
{
    bool mixed = false;
    int rc = SQLITE_OK;
    f->count = all->count;
    f->tensor = arena_room(&c->of_filed, ((size_t)all->count + 1) * sizeof(*f->tensor));
    f->ords = arena_room(&c->of_filed, ((size_t)all->count + 1) * sizeof(*f->ords));
    if (!f->tensor || !f->ords)
        return SQLITE_NOMEM;
    c->selection = all;
    c->end = all->count;
    c->block = NULL;
    for (uint32_t i = 0; rc == SQLITE_OK && i < f->count; i++) {
        int64_t file = FILE_NONE;
        c->ord = all->ords ? all->ords[i] : i;
        rc = tensor_file(c, &file);
        f->tensor[i] = (struct filed_tensor){(int32_t)file, c->ord};
        mixed |= i && file < f->tensor[i - 1].file;
    }
    c->block = NULL;
    if (mixed)
        qsort(f->tensor, f->count, sizeof(*f->tensor), by_file);
    for (uint32_t i = 0; i < f->count; i++)
        f->ords[i] = f->tensor[i].ord;
    return rc;
}

/* The first that is in the file at a position, or at a later one. */
static uint32_t first_filed(const struct filed *f, int64_t position)
{
    uint32_t low = 0, high = f->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (f->tensor[middle].file < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tensor_take_file(struct tensor_cursor *c)
{
    c->file.position = sqlite3_column_int64(c->stream, 4);
    c->file.path.at = db_text(c->stream, 5);
    c->file.path.len = (size_t)sqlite3_column_bytes(c->stream, 5);
    return c->file.path.at ? SQLITE_OK : SQLITE_NOMEM;
}

int tensor_select_filed(struct tensor_cursor *c, const struct selection *all)
{
    bool added = false;
    const char *kept;
    const int64_t key = c->hit.placed ? ~c->hit.checkpoint : c->hit.layout->id;
    if (c->of_filed.used > FILED_BYTES)
        tensor_forget_filed(c);
    uint64_t *place =
        strmap_keep(&c->filed, &c->of_filed, (const char *)&key, sizeof(key), &kept, &added);
    struct filed *f = NULL;
    if (place && added)
        f = arena_alloc(&c->of_filed, sizeof(*f));
    else if (place)
        f = (struct filed *)(uintptr_t)*place; /* NOLINT(performance-no-int-to-ptr) */
    if (!f)
        return SQLITE_NOMEM;
    *place = (uint64_t)(uintptr_t)f;
    int rc = added ? find_files(c, all, f) : SQLITE_OK;
    const uint32_t from = first_filed(f, c->file.position);
    c->in_file =
        (struct selection){c->round, f->ords + from, first_filed(f, c->file.position + 1) - from};
    c->selection = &c->in_file;
    c->given += c->in_file.count;
    c->wanted += c->unfiled ? all->count : 0;
    return rc;
}
