#include "catalog/data/model/blocks.h"

#include <stdlib.h>

#include "catalog/base/strmap.h"

#define SEED   7 /* arbitrary, but fixed: all catalogs must have the same blocks */
#define ONE_OF UINT64_C(64)
#define NONE   UINT32_MAX

/* --- making ------------------------------------------------------------------------------- */

void blocks_begin(struct blocks *b)
{
    b->rows = 0;
    b->out = (struct text){.len = 0};
    fields_begin(&b->fields);
}

static void end_block(struct blocks *b)
{
    uint8_t block[BLOCK_BYTES];
    fields_end(&b->fields, block);
    store_u32le(block + FIELDS_DIGEST, b->rows);
    text_add(&b->out, block, sizeof(block));
    b->rows = 0;
}

void blocks_add(struct blocks *b, struct block_row row)
{
    fields_text(&b->fields, row.name, row.name_len);
    fields_string(&b->fields, row.dtype);
    fields_string(&b->fields, row.shape);
    b->rows++;
    if (hash_bytes(row.name, row.name_len, SEED) % ONE_OF == 0)
        end_block(b);
}

struct bytes blocks_end(struct blocks *b)
{
    if (b->rows)
        end_block(b);
    const char *all = text_str(&b->out);
    return (struct bytes){(const uint8_t *)all, all ? b->out.len : 0};
}

void blocks_release(struct blocks *b)
{
    text_release(&b->out);
}

/* --- comparing ---------------------------------------------------------------------------- */

/* One of the two lists while they are compared. */
struct laid {
    const uint8_t *blocks;
    uint32_t count;
    uint32_t *at;    /* number of each block's first tensor; and past the last */
    uint32_t *other; /* the equal block of the other list, or NONE */
};

/* Prepare one list. If it has no blocks, or they do not add up to its tensors, it becomes one
 * block with unknown contents. */
static bool lay(struct laid *l, struct blocks_side s)
{
    uint64_t count = s.blocks.at ? s.blocks.len / BLOCK_BYTES : 0, rows = 0;
    bool known = count > 0 && s.blocks.len % BLOCK_BYTES == 0 && count < NONE;
    for (uint64_t i = 0; known && i < count; i++) {
        const uint32_t own = load_u32le(s.blocks.at + i * BLOCK_BYTES + FIELDS_DIGEST);
        rows += own;
        known = own > 0 && rows <= s.tensors;
    }
    known = known && rows == s.tensors;
    l->blocks = known ? s.blocks.at : NULL;
    l->count = known ? (uint32_t)count : s.tensors > 0;
    l->at = calloc((size_t)l->count + 1, sizeof(*l->at));
    l->other = malloc(((size_t)l->count + 1) * sizeof(*l->other));
    if (!l->at || !l->other)
        return false;
    for (uint32_t i = 0; i <= l->count; i++)
        l->other[i] = NONE;
    for (uint32_t i = 0; known && i < l->count; i++)
        l->at[i + 1] = l->at[i] + load_u32le(l->blocks + (size_t)i * BLOCK_BYTES + FIELDS_DIGEST);
    if (!known)
        l->at[l->count] = (uint32_t)s.tensors;
    return true;
}

static void laid_release(struct laid *l)
{
    free(l->at);
    free(l->other);
}

/* Find an equal block of b for each block of a; each block of b is used at most once. */
static bool find_alike(struct laid *a, struct laid *b)
{
    size_t space = 64;
    if (!a->blocks || !b->blocks)
        return true;
    while (space < (size_t)b->count * 2)
        space *= 2;
    uint32_t *index = calloc(space, sizeof(*index)); /* hash table: block of b, plus 1 */
    if (!index)
        return false;
    for (uint32_t j = 0; j < b->count; j++) {
        size_t k = load_u64le(b->blocks + (size_t)j * BLOCK_BYTES) & (space - 1);
        while (index[k])
            k = (k + 1) & (space - 1);
        index[k] = j + 1;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const uint8_t *own = a->blocks + (size_t)i * BLOCK_BYTES;
        size_t k = load_u64le(own) & (space - 1);
        while (index[k] &&
               (b->other[index[k] - 1] != NONE ||
                memcmp(b->blocks + (size_t)(index[k] - 1) * BLOCK_BYTES, own, BLOCK_BYTES) != 0))
            k = (k + 1) & (space - 1);
        if (index[k]) {
            a->other[i] = index[k] - 1;
            b->other[index[k] - 1] = i;
        }
    }
    free(index);
    return true;
}

/* The length of the run that begins at block `from`: blocks equal to consecutive blocks of the
 * other list, or blocks that are not in the other list. */
static uint32_t run_of(const struct laid *l, uint32_t from)
{
    uint32_t n = 1;
    const bool alike = l->other[from] != NONE;
    while (from + n < l->count &&
           (alike ? l->other[from + n] == l->other[from] + n : l->other[from + n] == NONE))
        n++;
    return n;
}

/* A run of blocks on one side. */
struct stretch {
    const struct laid *of;
    uint32_t from, count;
};

static uint32_t rows_of(struct stretch s)
{
    return s.of->at[s.from + s.count] - s.of->at[s.from];
}

static struct blocks_run *add_run(struct blocks_run *to, struct stretch a, struct stretch b)
{
    *to = (struct blocks_run){
        .a = a.of->at[a.from], .a_rows = rows_of(a), .b = b.of->at[b.from], .b_rows = rows_of(b)};
    return to + 1;
}

/* The blocks of b that correspond to the run of a at block i: the equal ones, or else the *count
 * blocks of b, not in a, that follow the one equal to a's block i - 1. Returns the first of
 * them. */
static uint32_t place_of(const struct laid *a, uint32_t i, const struct laid *b, uint32_t *count)
{
    const uint32_t j = a->other[i] != NONE ? a->other[i] : i ? a->other[i - 1] + 1 : 0;
    *count = j < b->count && b->other[j] == NONE ? run_of(b, j) : 0;
    return j;
}

static size_t collect_runs(const struct laid *a, struct laid *b, struct blocks_run *out)
{
    struct blocks_run *to = out;
    for (uint32_t i = 0, n; i < a->count; i += n) {
        const bool alike = a->other[i] != NONE;
        uint32_t others;
        n = run_of(a, i);
        const uint32_t j = place_of(a, i, b, &others);
        to = add_run(to, (struct stretch){a, i, n}, (struct stretch){b, j, alike ? n : others});
        to[-1].alike = alike;
        for (uint32_t k = 0; !alike && k < others; k++)
            b->other[j + k] = i; /* now in a run */
    }
    for (uint32_t j = 0, n; j < b->count; j += n) {
        n = b->other[j] == NONE ? run_of(b, j) : 1;
        if (b->other[j] == NONE)
            to = add_run(to, (struct stretch){a, a->count, 0}, (struct stretch){b, j, n});
    }
    return (size_t)(to - out);
}

struct blocks_run *blocks_compare(struct blocks_side a, struct blocks_side b, size_t *count)
{
    struct laid x = {0}, y = {0};
    struct blocks_run *out = NULL;
    if (lay(&x, a) && lay(&y, b) && find_alike(&x, &y))
        out = calloc((size_t)x.count + y.count + 1, sizeof(*out));
    if (out)
        *count = collect_runs(&x, &y, out);
    laid_release(&x);
    laid_release(&y);
    return out;
}
