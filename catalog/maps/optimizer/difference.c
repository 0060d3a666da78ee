/*
 * difference.c - see compare.h.
 *
 * A null leaf `a` covers all leaves `a/...`. If one side has null and the other tensors below it,
 * each of these tensors is reported as a difference, and the null itself is not.
 */
#include "catalog/maps/optimizer/difference.h"

#include <string.h>

void optimizer_add_leaf(struct optimizer_held *h, const struct optimizer_leaf *leaf)
{
    bool added;
    struct optimizer_leaf kept = *leaf;
    h->names.err = h->arena->err;
    uint64_t *place = strmap_keep(&h->names, h->arena, leaf->name, leaf->len, &kept.name, &added);
    if (!added)
        return;
    kept.shape = leaf->shape ? arena_copy(h->arena, leaf->shape, strlen(leaf->shape)) : NULL;
    kept.dtype = leaf->dtype ? arena_copy(h->arena, leaf->dtype, strlen(leaf->dtype)) : NULL;
    if (h->arena->err->status != OK) /* the name may be shorter than `len` */
        return;
    *PUSH(h->arena, h->at, h->count, h->space) = kept;
    *place = h->count;
    h->nulls += leaf->null;
}

void optimizer_release_held(struct optimizer_held *h)
{
    strmap_release(&h->names);
    *h = (struct optimizer_held){.arena = h->arena};
}

const char *optimizer_problem_name(enum optimizer_problem problem)
{
    static const char *const names[] = {"same",  "missing", "unexpected", "shape",
                                        "dtype", "null",    "error"};
    return names[problem];
}

static bool row_null(const struct optimizer_row *row)
{
    return !row->shape && !row->dtype && !row->error;
}

/* The state of a comparison. */
struct compare {
    const struct optimizer_rows *wanted;
    const struct optimizer_held *held;
    struct optimizer_differences *out;
    struct strmap nulls; /* wanted null leaves: place + 1 */
    bool *met;           /* for each held leaf: a row of this name is wanted */
    bool *covers;        /* the other side has tensors below this null leaf: held, then wanted */
    struct text name;
};

/* The name of a row, in c->name; NULL after a failure. */
static const char *compare_name_of(struct compare *c, const struct optimizer_row *row)
{
    text_reset(&c->name);
    optimizer_row_name(row, &c->name);
    return c->name.failed ? arena_fail(c->out->arena) : text_str(&c->name);
}

/* The null leaf whose name is the folder of this name: place + 1; 0: none. */
static uint64_t null_above(const struct compare *c, const struct strmap *map, const char *name,
                           size_t len)
{
    while (len > 0 && name[len - 1] != '/')
        len--;
    const uint64_t *at = strmap_get(map, name, len > 0 ? len - 1 : 0);
    if (!at || *at == 0)
        return 0;
    if (map == &c->nulls)
        return *at;
    return c->held->at[*at - 1].null ? *at : 0;
}

static void compare_note(struct compare *c, enum optimizer_problem problem,
                         const struct optimizer_row *row, const struct optimizer_leaf *leaf)
{
    struct optimizer_differences *d = c->out;
    *PUSH(d->arena, d->at, d->count, d->space) = (struct optimizer_difference){problem, row, leaf};
}

static bool differ(const char *a, const char *b)
{
    return a && b && a != b && strcmp(a, b) != 0;
}

static enum optimizer_problem problem_of(const struct optimizer_row *row,
                                         const struct optimizer_leaf *leaf)
{
    if (row_null(row) != leaf->null)
        return PROBLEM_NULL;
    if (differ(row->shape, leaf->shape))
        return PROBLEM_SHAPE;
    return differ(row->dtype, leaf->dtype) ? PROBLEM_DTYPE : PROBLEM_NONE;
}

/* Compare a row that is wanted with what is held. */
static void compare_row(struct compare *c, size_t place)
{
    const struct optimizer_row *row = &c->wanted->at[place];
    if (row->error && !row->path) {
        compare_note(c, PROBLEM_ERROR, row, NULL);
        return;
    }
    const char *name = compare_name_of(c, row);
    if (!name)
        return;
    const uint64_t *at = strmap_get(&c->held->names, name, c->name.len);
    const struct optimizer_leaf *leaf = at ? &c->held->at[*at - 1] : NULL;
    if (at)
        c->met[*at - 1] = true;
    enum optimizer_problem problem = at ? problem_of(row, leaf) : PROBLEM_MISSING;
    if (row->error)
        problem = PROBLEM_ERROR;
    else if (c->held->nulls && null_above(c, &c->held->names, name, c->name.len))
        problem = PROBLEM_NULL;
    else if (!at && c->covers[c->held->count + place])
        problem = PROBLEM_NONE;
    if (problem != PROBLEM_NONE)
        compare_note(c, problem, row, leaf);
}

/* Report a held leaf that is not wanted. */
static void compare_leaf(struct compare *c, size_t place)
{
    const struct optimizer_leaf *leaf = &c->held->at[place];
    if (c->met[place] || c->covers[place])
        return;
    bool hollow = c->nulls.count && null_above(c, &c->nulls, leaf->name, leaf->len);
    compare_note(c, hollow ? PROBLEM_NULL : PROBLEM_UNEXPECTED, NULL, leaf);
}

/* Find the null leaves below which the other side has tensors. (Usually none.) */
static void find_covers(struct compare *c)
{
    bool added;
    for (size_t i = 0; i < c->wanted->count; i++) {
        const struct optimizer_row *row = &c->wanted->at[i];
        if (!row->path || (!c->held->nulls && !row_null(row)))
            continue;
        const char *name = compare_name_of(c, row), *kept;
        if (!name)
            return;
        uint64_t above = c->held->nulls ? null_above(c, &c->held->names, name, c->name.len) : 0;
        if (above)
            c->covers[above - 1] = true;
        if (row_null(row))
            *strmap_keep(&c->nulls, c->out->arena, name, c->name.len, &kept, &added) = i + 1;
    }
    for (size_t i = 0; c->nulls.count && i < c->held->count; i++) {
        uint64_t above = null_above(c, &c->nulls, c->held->at[i].name, c->held->at[i].len);
        if (above)
            c->covers[c->held->count + above - 1] = true;
    }
}

enum status optimizer_compare(const struct optimizer_rows *wanted,
                              const struct optimizer_held *held, struct optimizer_differences *out)
{
    struct error *err = out->arena->err;
    struct compare c = {.wanted = wanted, .held = held, .out = out, .nulls.err = err};
    c.met = arena_array(out->arena, held->count + 1, sizeof(*c.met));
    c.covers = arena_array(out->arena, held->count + wanted->count + 1, sizeof(*c.covers));
    if (err->status == OK)
        find_covers(&c);
    for (size_t i = 0; i < wanted->count && err->status == OK; i++)
        compare_row(&c, i);
    for (size_t i = 0; i < held->count && err->status == OK; i++)
        compare_leaf(&c, i);
    text_release(&c.name);
    strmap_release(&c.nulls);
    return err->status;
}

bool optimizer_difference_name(const struct optimizer_difference *d, struct text *out)
{
    if (d->wanted && d->wanted->path)
        return optimizer_row_name(d->wanted, out);
    return d->held && text_add(out, d->held->name, d->held->len);
}

static bool tensor_text(const char *dtype, const char *shape, struct text *out)
{
    return text_addf(out, "%s%s", dtype ? dtype : "?", shape ? shape : "[?]");
}

bool optimizer_difference_expected(const struct optimizer_difference *d, struct text *out)
{
    const struct optimizer_row *row = d->wanted;
    if (row && row->error)
        return text_adds(out, row->error);
    if (row ? row_null(row) : d->problem == PROBLEM_NULL)
        return text_adds(out, "null");
    return row && tensor_text(row->dtype, row->shape, out);
}

bool optimizer_difference_found(const struct optimizer_difference *d, struct text *out)
{
    const struct optimizer_leaf *leaf = d->held;
    if (leaf ? leaf->null : d->problem == PROBLEM_NULL)
        return text_adds(out, "null");
    return leaf && tensor_text(leaf->dtype, leaf->shape, out);
}
