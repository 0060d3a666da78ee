/*
 * alone.c - tensors that are transposed, reshaped or cast, or whose heads are reordered.
 *
 * Every operation that makes the right shape is tried, those that were right before first.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/data/compose/shapes.h"
#include "catalog/maps/infer/transform.h"

#define HEAD_MAX  512 /* elements of an attention head */
#define OPS_BYTES 256

/* A tensor of A, and one of the tensors of B whose dtype and shape it may become. */
struct trial {
    struct transforms *x;
    const struct infer_tensor *a, *like;
    size_t at;
    const char *cast; /* NULL: none */
    uint32_t found;
    char ops[OPS_BYTES];
};

/* Try operations (a list without its closing bracket; "[" is the empty list), and after them, if
 * `reshaped`, a reshape. */
static bool try_ops(struct trial *t, const char *ops, bool reshaped)
{
    const char *comma = strlen(ops) > 1 ? "," : "";
    snprintf(t->ops, sizeof(t->ops), "%s%s%s%s%s]", ops, reshaped ? comma : "",
             reshaped ? "[\"reshape\"," : "", reshaped ? t->like->shape : "", reshaped ? "]" : "");
    const bool none = strcmp(t->ops, "[]") == 0;
    t->found = sample_find(
        t->x, t->like->dtype, t->like->shape,
        &(struct infer_probe){.at = t->at, .ops = none ? NULL : t->ops, .dtype = t->cast});
    return t->found != INFER_NONE;
}

/* Try every other order of the axes: those that make the shape, or, if `reshaped`, those that do
 * not, with a reshape. */
static bool try_orders(struct trial *t, bool reshaped)
{
    unsigned axis[4] = {0, 1, 2, 3};
    const unsigned rank = t->a->rank;
    struct text ops = {0};
    bool found = false;
    while (!found && rank >= 2 && rank <= 4 && !ops.failed && order_next(axis, rank)) {
        bool same = t->like->rank == rank;
        for (unsigned i = 0; i < rank; i++)
            same = same && t->a->size[axis[i]] == t->like->size[i];
        if (same == reshaped)
            continue;
        text_reset(&ops);
        text_addc(&ops, '[');
        order_put(&ops, axis, rank);
        found = text_str(&ops) && try_ops(t, ops.at, reshaped);
    }
    if (ops.failed)
        error_memory(t->x->err);
    text_release(&ops);
    return found;
}

/* Try to reorder the rows of each attention head: rotary embeddings have their two halves either
 * interleaved or one after the other. Heads of 6 rows, 0 1 2 3 4 5, become 0 3 1 4 2 5, or the
 * reverse. */
static bool try_heads(struct trial *t)
{
    const uint64_t rows = t->a->size[0];
    const char *rest = t->a->rank > 1 ? strchr(t->a->shape, ',') : "]";
    if (t->a->rank < 1 || t->a->rank > 2 || strcmp(t->a->shape, t->like->shape) != 0 || !rest)
        return false;
    for (uint64_t half = 1; half <= HEAD_MAX / 2; half++) {
        char ops[OPS_BYTES];
        if (rows % (2 * half))
            continue;
        for (int way = 0; way < 2; way++) {
            snprintf(ops, sizeof(ops),
                     "[[\"reshape\",[-1,%llu,%llu%s],[\"transpose\",1,2],[\"flatten\",0,2]",
                     (unsigned long long)(way ? half : 2), (unsigned long long)(way ? 2 : half),
                     rest);
            if (half > 1 && try_ops(t, ops, false))
                return true;
        }
    }
    return false;
}

/* Whether the operations turn A's shape into the one wanted. */
static bool makes_shape(const struct trial *t, const char *ops)
{
    struct error err = {.offset = NO_OFFSET};
    struct text shape = {0};
    const bool good = shapes_after(ops, t->a->shape, NULL, &shape, &err) == OK && shape.len &&
                      strcmp(text_str(&shape), t->like->shape) == 0;
    text_release(&shape);
    return good;
}

static bool try_right(struct trial *t)
{
    for (unsigned i = 0; i < t->x->rights; i++) {
        if (!makes_shape(t, t->x->right[i]))
            continue;
        t->found = sample_find(
            t->x, t->like->dtype, t->like->shape,
            &(struct infer_probe){.at = t->at, .ops = t->x->right[i], .dtype = t->cast});
        snprintf(t->ops, sizeof(t->ops), "%s", t->x->right[i]);
        if (t->found != INFER_NONE)
            return true;
    }
    return false;
}

static void alone_remember(struct transforms *x, const char *ops)
{
    for (unsigned i = 0; i < x->rights; i++)
        if (strcmp(x->right[i], ops) == 0)
            return;
    const char *kept = arena_copy(x->task->arena, ops, strlen(ops));
    if (!transforms_stopped(x) && x->rights < TRIED_FIRST && strcmp(ops, "[]") != 0)
        x->right[x->rights++] = kept;
}

/* Keep operations and cast as one list. */
static const char *keep_ops(struct transforms *x, const char *ops, const char *cast)
{
    struct text t = {0};
    text_add(&t, ops, strlen(ops) - 1);
    if (cast)
        text_addf(&t, "%s[\"cast\",\"%s\"]", t.len > 1 ? "," : "", cast);
    text_addc(&t, ']');
    const char *kept = text_keep(&t, x->task->arena);
    text_release(&t);
    return kept;
}

/* What is right for one tensor is probably right for its namesakes in other layers: compute their
 * digests in one go. */
static void try_ahead(struct trial *t)
{
    const char *ops = strcmp(t->ops, "[]") == 0 ? NULL : t->ops;
    const char *kept = ops ? arena_copy(t->x->task->arena, ops, strlen(ops)) : NULL;
    size_t count;
    struct infer_probe *p = sample_list(t->x, false, t->a->dtype, t->a->shape, t->at + 1, &count);
    for (size_t i = 0; i < count; i++) {
        p[i].ops = kept;
        p[i].dtype = t->cast;
    }
    sample_ahead(t->x, t->like->dtype, t->like->shape, p, count);
}

/* Whether these operations are right for this dtype and shape for the first time. */
static bool is_news(const struct trial *t)
{
    char key[512];
    const char *kept;
    bool added = false;
    const int len = snprintf(key, sizeof(key), "%s %s %s %s %s", t->a->dtype, t->a->shape,
                             t->like->dtype, t->like->shape, t->ops);
    if (len > 0 && (size_t)len < sizeof(key))
        strmap_keep(&t->x->tried, t->x->task->arena, key, (size_t)len, &kept, &added);
    return added;
}

static bool is_done(struct trial *t)
{
    const bool same_shape = strcmp(t->a->shape, t->like->shape) == 0;
    t->cast = strcmp(t->a->dtype, t->like->dtype) == 0 ? NULL : t->like->dtype;
    const bool found = try_right(t) || (t->cast && same_shape && try_ops(t, "[", false)) ||
                       try_orders(t, false) || (!same_shape && try_ops(t, "[", true)) ||
                       try_orders(t, true) || try_heads(t);
    if (!found)
        return false;
    struct infer_pair p = {.a = (uint32_t)t->at, .b = t->found, .how = INFER_CONTENT};
    p.ops = keep_ops(t->x, t->ops, t->cast);
    alone_remember(t->x, t->ops);
    infer_add(t->x->task, p);
    if (is_news(t))
        try_ahead(t);
    return true;
}

void transform_alone(struct transforms *x, uint32_t *class)
{
    const size_t classes = sample_classes(x, true, class);
    for (size_t i = 0; i < x->task->a.count && !transforms_stopped(x); i++) {
        struct trial t = {.x = x, .a = &x->task->a.at[i], .at = i};
        bool found = false, tried = false;
        if (x->task->used_a[i] || !t.a->hash || !t.a->shape || t.a->rank > INFER_RANK_MAX)
            continue;
        for (size_t k = 0; k < classes && !found && !transforms_stopped(x); k++) {
            t.like = &x->task->b.at[class[k]];
            if (t.like->elements != t.a->elements || t.a->elements == 0)
                continue;
            tried = true;
            found = is_done(&t);
        }
        x->hits += found;
        x->misses += tried && !found;
        if (!x->hits && x->misses > MISSES_MAX)
            return;
    }
}
