/*
 * pieces.c - tensors that were cut up or put together: each piece of a tensor of one side is a
 * tensor of the other side.
 *
 *   a tensor of A was cut up         [["unstack",1]], [["split",0,3,["q","k","v"]]]
 *   a tensor of B was put together   [["transpose"],["stack",1,KEY]]
 */
#include <stdio.h>
#include <string.h>

#include "catalog/maps/infer/transform.h"

#define PIECES_MAX 65536
#define SPLIT_MAX  4096 /* if sizes differ: the operation lists them */
#define TAKE_BYTES 96

/* How what is cut out becomes a piece: its axes are permuted, then it is reshaped. */
struct turn {
    unsigned axis[INFER_RANK_MAX];
    uint64_t from[INFER_RANK_MAX], to[INFER_RANK_MAX]; /* shapes before and after permuting */
    unsigned rank;
    const char *shape; /* of the piece */
    bool reshapes;
};

/* A tensor that is being cut, and the pieces found so far. */
struct cutting {
    struct transforms *x;
    bool of_b; /* the whole is in B, put together of tensors of A */
    size_t at;
    const struct infer_tensor *whole;
    unsigned axis;
    struct turn turn;
    uint32_t *piece;
    size_t pieces;
    uint64_t *size; /* of each piece along the axis */
    const uint32_t *class;
    size_t classes;
};

static void put_list(struct text *t, const uint64_t *number, size_t count)
{
    text_addc(t, '[');
    for (size_t i = 0; i < count; i++)
        text_addf(t, "%s%llu", i ? "," : "", (unsigned long long)number[i]);
    text_addc(t, ']');
}

static bool turn_moves(const struct turn *t)
{
    for (unsigned i = 0; i < t->rank; i++)
        if (t->axis[i] != i)
            return true;
    return false;
}

/* Append the operations of a turn, each after a comma. */
static void put_turn(struct text *t, const struct turn *turn)
{
    if (turn_moves(turn)) {
        text_addc(t, ',');
        order_put(t, turn->axis, turn->rank);
    }
    if (turn->reshapes)
        text_addf(t, ",[\"reshape\",%s]", turn->shape);
}

/* Compute the shape after permuting, and whether the piece has another one. */
static void turn_shape(struct turn *turn)
{
    struct text shape = {0};
    for (unsigned i = 0; i < turn->rank; i++)
        turn->to[i] = turn->from[turn->axis[i]];
    put_list(&shape, turn->to, turn->rank);
    turn->reshapes = !text_str(&shape) || strcmp(shape.at, turn->shape) != 0;
    text_release(&shape);
}

static void put_piece_ops(const struct cutting *c, const char *operation, struct text *out)
{
    text_addf(out, "[%s", operation);
    put_turn(out, &c->turn);
    text_addc(out, ']');
}

/* Find the piece that an operation and the turn cut out, among the tensors of the other side. */
static bool find_piece(struct cutting *c, const char *operation)
{
    struct text ops = {0};
    put_piece_ops(c, operation, &ops);
    const struct infer_probe probe = {.of_b = c->of_b, .at = c->at, .ops = text_str(&ops)};
    const uint32_t found =
        probe.ops ? sample_find(c->x, c->whole->dtype, c->turn.shape, &probe) : INFER_NONE;
    text_release(&ops);
    if (found == INFER_NONE || c->pieces == PIECES_MAX)
        return false;
    c->piece[c->pieces++] = found;
    /* Marked as used, so that the next piece of equal content is another one */
    if (c->of_b)
        c->x->task->used_a[found]++;
    else
        c->x->task->used_b[found] = true;
    return true;
}

static void give_back(struct cutting *c)
{
    while (c->pieces) {
        const uint32_t at = c->piece[--c->pieces];
        if (c->of_b)
            c->x->task->used_a[at]--;
        else
            c->x->task->used_b[at] = false;
    }
}

static void put_take(const struct cutting *c, uint64_t index, char out[TAKE_BYTES])
{
    snprintf(out, TAKE_BYTES, "[\"take\",%u,%llu]", c->axis, (unsigned long long)index);
}

/* If the first index is a piece, the others probably are: compute their digests in one go. */
static void cut_ahead(struct cutting *c)
{
    const uint64_t count = c->whole->size[c->axis];
    struct arena *arena = c->x->task->arena;
    struct infer_probe *p = arena_array(arena, count + 1, sizeof(*p));
    struct text ops = {0};
    for (uint64_t i = 1; i < count && !transforms_stopped(c->x); i++) {
        char take[TAKE_BYTES];
        put_take(c, i, take);
        text_reset(&ops);
        put_piece_ops(c, take, &ops);
        p[i - 1] = (struct infer_probe){
            .of_b = c->of_b, .at = c->at, .ops = text_keep(&ops, arena), .sample = true};
    }
    text_release(&ops);
    if (!transforms_stopped(c->x))
        sample_ahead(c->x, c->whole->dtype, c->turn.shape, p, count - 1);
}

/* Find a piece for each index of the axis, under one turn. */
static bool cut_indices(struct cutting *c, bool reshapes)
{
    char take[TAKE_BYTES];
    turn_shape(&c->turn);
    if (c->turn.reshapes != reshapes)
        return false;
    for (uint64_t i = 0; i < c->whole->size[c->axis]; i++) {
        put_take(c, i, take);
        if (!find_piece(c, take)) {
            give_back(c);
            return false;
        }
        if (i == 0)
            cut_ahead(c);
    }
    return true;
}

static bool cut_stack(struct cutting *c, bool reshapes)
{
    const uint64_t count = c->whole->size[c->axis];
    struct turn *t = &c->turn;
    t->rank = 0;
    for (unsigned i = 0; i < c->whole->rank; i++)
        if (i != c->axis)
            t->from[t->rank++] = c->whole->size[i];
    if (count < 2 || count > PIECES_MAX)
        return false;
    for (size_t k = 0; k < c->classes && !transforms_stopped(c->x); k++) {
        const struct infer_tensor *p = transforms_tensor(c->x, !c->of_b, c->class[k]);
        if (p->elements == 0 || p->elements != c->whole->elements / count ||
            strcmp(p->dtype, c->whole->dtype) != 0 ||
            sample_class(c->x, !c->of_b, p->dtype, p->shape) < count)
            continue;
        t->shape = p->shape;
        for (unsigned i = 0; i < t->rank; i++)
            t->axis[i] = i;
        do {
            if (cut_indices(c, reshapes))
                return true;
        } while (t->rank >= 2 && t->rank <= 3 && !transforms_stopped(c->x) &&
                 order_next(t->axis, t->rank));
    }
    return false;
}

/* Find the next piece along the axis, which begins at `at`; returns its size, 0 if absent. */
static uint64_t cut_next(struct cutting *c, uint64_t at)
{
    struct turn *t = &c->turn;
    for (size_t k = 0; k < c->classes && !transforms_stopped(c->x); k++) {
        const struct infer_tensor *p = transforms_tensor(c->x, !c->of_b, c->class[k]);
        char slice[128];
        if (p->rank != t->rank || strcmp(p->dtype, c->whole->dtype) != 0)
            continue;
        memcpy(t->from, c->whole->size, t->rank * sizeof(t->from[0]));
        for (unsigned i = 0; i < t->rank; i++)
            if (t->axis[i] == c->axis)
                t->from[c->axis] = p->size[i];
        const uint64_t size = t->from[c->axis];
        if (!size || size > c->whole->size[c->axis] - at || size == c->whole->size[c->axis])
            continue;
        t->shape = p->shape;
        turn_shape(t);
        snprintf(slice, sizeof(slice), "[\"slice\",%u,%llu,%llu]", c->axis, (unsigned long long)at,
                 (unsigned long long)(at + size));
        if (!t->reshapes && find_piece(c, slice))
            return size;
    }
    return 0;
}

/* Cut into consecutive pieces of any sizes that tensors of the other side have. */
static bool cut_run(struct cutting *c)
{
    struct turn *t = &c->turn;
    t->rank = c->whole->rank;
    for (unsigned i = 0; i < t->rank; i++)
        t->axis[i] = i;
    do {
        uint64_t at = 0, size = 1;
        while (at < c->whole->size[c->axis] && size) {
            size = cut_next(c, at);
            at += size;
            if (size)
                c->size[c->pieces - 1] = size;
        }
        if (size && c->pieces >= 2 && c->pieces <= SPLIT_MAX)
            return true;
        give_back(c);
    } while (t->rank == 2 && !transforms_stopped(c->x) && order_next(t->axis, t->rank));
    return false;
}

static bool equal_sizes(const struct cutting *c)
{
    for (size_t i = 1; i < c->pieces; i++)
        if (c->size[i] != c->size[0])
            return false;
    return true;
}

/* The operations on A's tensors by which the pieces were found. */
static const char *ops_of_cut(const struct cutting *c, bool stacked)
{
    struct text t = {0};
    text_addc(&t, '[');
    if (c->of_b) {
        /* Append their inverses, each before a comma. */
        const struct turn *turn = &c->turn;
        unsigned back[INFER_RANK_MAX];
        if (turn->reshapes) {
            text_adds(&t, "[\"reshape\",");
            put_list(&t, turn->to, turn->rank);
            text_adds(&t, "],");
        }
        for (unsigned i = 0; i < turn->rank; i++)
            back[turn->axis[i]] = i;
        if (turn_moves(turn)) {
            order_put(&t, back, turn->rank);
            text_addc(&t, ',');
        }
        text_addf(&t, "[\"%s\",%u,%%]", stacked ? "stack" : "concat", c->axis);
    } else if (stacked) {
        text_addf(&t, "[\"unstack\",%u%%]", c->axis);
    } else {
        text_addf(&t, "[\"split\",%u,", c->axis);
        if (equal_sizes(c))
            text_addf(&t, "%zu", c->pieces);
        else
            put_list(&t, c->size, c->pieces);
        text_adds(&t, "%]");
    }
    if (!c->of_b)
        put_turn(&t, &c->turn);
    text_addc(&t, ']');
    const char *kept = text_keep(&t, c->x->task->arena);
    text_release(&t);
    return kept;
}

static void keep_cut(struct cutting *c, bool stacked)
{
    const char *ops = ops_of_cut(c, stacked);
    const size_t count = c->pieces;
    give_back(c);
    for (size_t i = 0; i < count; i++) {
        struct infer_pair p = {.part = (uint32_t)i, .how = INFER_CONTENT, .ops = ops};
        p.form = c->of_b ? INFER_JOIN : stacked ? INFER_UNSTACK : INFER_SPLIT;
        p.a = c->of_b ? c->piece[i] : (uint32_t)c->at;
        p.b = c->of_b ? (uint32_t)c->at : c->piece[i];
        infer_add(c->x->task, p);
    }
}

static bool infer_pieces_cut(struct cutting *c)
{
    for (c->axis = 0; c->axis < c->whole->rank && !transforms_stopped(c->x); c->axis++) {
        const bool stacked = cut_stack(c, false), run = !stacked && cut_run(c);
        if (stacked || run || cut_stack(c, true)) {
            keep_cut(c, !run);
            return true;
        }
    }
    return false;
}

void transform_pieces(struct transforms *x, bool of_b, uint32_t *class)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct cutting c = {.x = x, .of_b = of_b, .class = class};
    size_t misses = 0, hits = 0;
    c.classes = sample_classes(x, !of_b, class);
    c.piece = arena_array(x->task->arena, PIECES_MAX, sizeof(*c.piece));
    c.size = arena_array(x->task->arena, PIECES_MAX, sizeof(*c.size));
    for (size_t i = 0; c.classes && i < list->count && !transforms_stopped(x); i++) {
        c.at = i;
        c.whole = &list->at[i];
        if (transforms_used(x, of_b, i) || !c.whole->hash || !c.whole->shape || !c.whole->dtype ||
            c.whole->rank > INFER_RANK_MAX)
            continue;
        const bool found = infer_pieces_cut(&c);
        hits += found;
        misses += !found;
        if (!hits && misses > MISSES_MAX)
            return;
    }
}
