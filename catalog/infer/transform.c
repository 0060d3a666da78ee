/*
 * transform.c - which tensor is another under an operation: turned around, reshaped, cast, its heads
 * in another order, a piece of a larger one.
 *
 * Whatever has the right shape is tried: first on some elements (a sample), and where these are those
 * of a tensor of the other side, on all of them, by the content hash. So what does not fit costs
 * little, and what is said is certain.
 *
 *   alone    a under an operation is b        [["transpose"]]
 *   pieces   a tensor of one side is cut, and each piece is one of the other side:
 *            A's was cut up                   [["unstack",1]], [["split",0,3,["q","k","v"]]]
 *            B's was put together             [["transpose"],["stack",1,KEY]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/compose/shapes.h"
#include "catalog/infer/infer.h"

#define MISSES_MAX  256 /* tensors under trial without a hit: these are other weights */
#define PIECES_MAX  65536
#define SPLIT_MAX   64  /* sizes that an operation lists */
#define HEAD_MAX    512 /* elements of an attention head */
#define OPS_BYTES   256
#define TAKE_BYTES  96
#define TRIED_FIRST 32 /* operations that were right before are tried before others */

struct transforms {
    struct infer_task *task;
    struct strmap
        sampled[2];    /* "dtype shape digest" to the first tensor of a side, plus 1 */
    uint32_t *next[2]; /* the next one with the same, plus 1 */
    struct strmap classes[2]; /* "dtype shape" that have been sampled */
    struct strmap tried;      /* what try_ahead() was called for */
    struct strmap ahead;      /* probes to where their digests are (ahead_key) */
    const char *right[TRIED_FIRST];
    unsigned rights;
    size_t misses, hits;
    struct error *err; /* set: stop */
};

static bool stopped(const struct transforms *x)
{
    return x->err->status != OK;
}

static void no_room(struct transforms *x)
{
    error_set(x->err, ERR_MEMORY, NULL, NO_OFFSET, "no memory to infer");
}

static const struct infer_tensor *tensor_at(const struct transforms *x, bool of_b,
                                            size_t at)
{
    return of_b ? &x->task->b.at[at] : &x->task->a.at[at];
}

static bool is_used(const struct transforms *x, bool of_b, size_t at)
{
    return of_b ? x->task->used_b[at] : x->task->used_a[at] != 0;
}

/* --- digests ----------------------------------------------------------------------------------- */

static bool ahead_key(struct text *out, const struct infer_probe *p)
{
    return text_addf(out, "%d %zu %d %s %s", p->of_b, p->at, p->sample,
                     p->dtype ? p->dtype : "-", p->ops ? p->ops : "-") &&
           text_str(out);
}

static struct infer_digest *digests_of(struct transforms *x, const struct infer_probe *p,
                                       size_t count)
{
    struct infer_digest *d = arena_array(x->task->arena, count + 1, sizeof(*d));
    if (!d)
        no_room(x);
    return d && x->task->digest(x->task->context, p, count, d, x->err) == OK ? d : NULL;
}

/* Work digests out at once, on all cores, that are then asked for one by one. */
static void look_ahead(struct transforms *x, const struct infer_probe *p, size_t count)
{
    const struct infer_digest *d = count ? digests_of(x, p, count) : NULL;
    struct text key = {0};
    for (size_t i = 0; d && i < count && !stopped(x); i++) {
        const char *kept;
        bool added;
        text_reset(&key);
        uint64_t *value =
            ahead_key(&key, &p[i])
                ? strmap_keep(&x->ahead, x->task->arena, key.at, key.len, &kept, &added)
                : NULL;
        const struct infer_digest *there = &d[i];
        if (value)
            memcpy(value, &there, sizeof(there)); /* the map holds numbers */
        else
            no_room(x);
    }
    text_release(&key);
}

/* False: it has no such digest. */
static bool digest_of(struct transforms *x, const struct infer_probe *p,
                      char out[DIGEST_TEXT])
{
    struct infer_digest one;
    const struct infer_digest *d = NULL;
    struct text key = {0};
    if (stopped(x))
        return false;
    const uint64_t *known =
        ahead_key(&key, p) ? strmap_get(&x->ahead, key.at, key.len) : NULL;
    if (known)
        memcpy(&d, known, sizeof(d));
    else if (x->task->digest(x->task->context, p, 1, &one, x->err) == OK)
        d = &one;
    text_release(&key);
    if (!d || d->status != OK)
        return false;
    memcpy(out, d->text, DIGEST_TEXT);
    return true;
}

/* --- samples ----------------------------------------------------------------------------------- */

static bool has_class(const struct infer_tensor *t, const char *dtype, const char *shape)
{
    return t->hash && t->dtype && t->shape && strcmp(t->dtype, dtype) == 0 &&
           strcmp(t->shape, shape) == 0;
}

static size_t class_key(char *out, size_t size, const char *dtype, const char *shape,
                        const char *digest)
{
    const int len = snprintf(out, size, "%s %s %s", dtype, shape, digest);
    return len < 0 || (size_t)len >= size ? 0 : (size_t)len;
}

/* Put a tensor before those of its side that have the same sample. */
static bool keep_sample(struct transforms *x, bool of_b, const char *dtype,
                        const char *shape, size_t at, const char *digest)
{
    char key[512];
    const char *kept;
    bool added;
    const size_t len = class_key(key, sizeof(key), dtype, shape, digest);
    uint64_t *first =
        strmap_keep(&x->sampled[of_b], x->task->arena, key, len, &kept, &added);
    if (!first) {
        no_room(x);
        return false;
    }
    x->next[of_b][at] = (uint32_t)*first;
    *first = at + 1;
    return true;
}

/* Those of a side that have this dtype and shape and are not used, from the position `from` on. */
static struct infer_probe *list_class(struct transforms *x, bool of_b, const char *dtype,
                                      const char *shape, size_t from, size_t *count)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct infer_probe *p = NULL;
    size_t space = 0;
    *count = 0;
    for (size_t i = from; i < list->count && !stopped(x); i++) {
        if (is_used(x, of_b, i) || !has_class(&list->at[i], dtype, shape))
            continue;
        struct infer_probe *grown =
            arena_grow(x->task->arena, p, *count, &space, sizeof(*p));
        if (!grown)
            no_room(x);
        else
            p = grown,
            p[(*count)++] = (struct infer_probe){.of_b = of_b, .at = i, .sample = true};
    }
    return p;
}

/* Sample all tensors of a side that have this dtype and shape, and are not used. How many there are. */
static uint64_t sample_class(struct transforms *x, bool of_b, const char *dtype,
                             const char *shape)
{
    char key[512];
    const char *class = NULL;
    bool added = false;
    const size_t len = class_key(key, sizeof(key), dtype, shape, "");
    uint64_t *found =
        len ? strmap_keep(&x->classes[of_b], x->task->arena, key, len, &class, &added)
            : NULL;
    if (!found || !added)
        return found ? *found : 0;
    size_t listed, count = 0;
    const struct infer_probe *p = list_class(x, of_b, dtype, shape, 0, &listed);
    const struct infer_digest *d = listed ? digests_of(x, p, listed) : NULL;
    for (size_t i = listed; d && i-- > 0;)
        if (d[i].status == OK && keep_sample(x, of_b, dtype, shape, p[i].at, d[i].text))
            count++;
    found = strmap_get(&x->classes[of_b], class, strlen(class));
    if (found)
        *found = count;
    return count;
}

/* The first tensor of the other side, plus 1, that has the sample of a probe; 0: none. */
static uint32_t find_sample(struct transforms *x, const char *dtype, const char *shape,
                            const struct infer_probe *p)
{
    char digest[DIGEST_TEXT], key[512];
    struct infer_probe probe = *p;
    probe.sample = true;
    if (!sample_class(x, !p->of_b, dtype, shape) || !digest_of(x, &probe, digest))
        return 0;
    const size_t len = class_key(key, sizeof(key), dtype, shape, digest);
    const uint64_t *first = len ? strmap_get(&x->sampled[!p->of_b], key, len) : NULL;
    return first ? (uint32_t)*first : 0;
}

/* Read ahead what these probes (of samples) are, as far as find_content() will ask for it. */
static void find_ahead(struct transforms *x, const char *dtype, const char *shape,
                       struct infer_probe *p, size_t count)
{
    size_t found = 0;
    look_ahead(x, p, count);
    for (size_t i = 0; i < count && !stopped(x); i++)
        if (find_sample(x, dtype, shape, &p[i])) {
            p[found] = p[i];
            p[found++].sample = false;
        }
    look_ahead(x, p, found);
}

/* The tensor of the other side, of this dtype and shape, that has the content of a probe; INFER_NONE:
 * there is none that is not used already. */
static uint32_t find_content(struct transforms *x, const char *dtype, const char *shape,
                             const struct infer_probe *p)
{
    char hash[DIGEST_TEXT] = "";
    struct infer_probe probe = *p;
    const bool find_b = !p->of_b;
    const uint32_t first = find_sample(x, dtype, shape, p);
    probe.sample = false;
    for (uint32_t i = first; i; i = x->next[find_b][i - 1]) {
        if (is_used(x, find_b, i - 1))
            continue;
        if (!*hash && !digest_of(x, &probe, hash))
            return INFER_NONE;
        if (strcmp(hash, tensor_at(x, find_b, i - 1)->hash) == 0)
            return i - 1;
    }
    return INFER_NONE;
}

/* --- a tensor alone ---------------------------------------------------------------------------- */

/* A tensor of A, and the dtype and shape of tensors of B that it could be. */
struct trial {
    struct transforms *x;
    const struct infer_tensor *a, *like;
    size_t at;
    const char *cast; /* NULL: none */
    uint32_t found;
    char ops[OPS_BYTES];
};

/* Try operations (a list without its last bracket; "[" is none) and then the shape wanted. */
static bool try_ops(struct trial *t, const char *ops, bool reshaped)
{
    const char *comma = strlen(ops) > 1 ? "," : "";
    snprintf(t->ops, sizeof(t->ops), "%s%s%s%s%s]", ops, reshaped ? comma : "",
             reshaped ? "[\"reshape\"," : "", reshaped ? t->like->shape : "",
             reshaped ? "]" : "");
    const bool none = strcmp(t->ops, "[]") == 0;
    t->found =
        find_content(t->x, t->like->dtype, t->like->shape,
                     &(struct infer_probe){
                         .at = t->at, .ops = none ? NULL : t->ops, .dtype = t->cast});
    return t->found != INFER_NONE;
}

/* Count the order of axes up, as numbers; false after the last. */
static bool next_order(unsigned *axis, unsigned rank)
{
    unsigned i = rank - 1, k = rank - 1;
    while (i > 0 && axis[i - 1] >= axis[i])
        i--;
    if (i == 0)
        return false;
    while (axis[k] <= axis[i - 1])
        k--;
    unsigned swap = axis[i - 1];
    axis[i - 1] = axis[k];
    axis[k] = swap;
    for (k = rank - 1; i < k; i++, k--) {
        swap = axis[i];
        axis[i] = axis[k];
        axis[k] = swap;
    }
    return true;
}

static bool is_reversed(const unsigned *axis, unsigned rank)
{
    for (unsigned i = 0; i < rank; i++)
        if (axis[i] != rank - 1 - i)
            return false;
    return true;
}

/* The axes in each other order, `reshaped` after that or not. */
static bool try_orders(struct trial *t, bool reshaped)
{
    unsigned axis[4] = {0, 1, 2, 3};
    const unsigned rank = t->a->rank;
    while (rank >= 2 && rank <= 4 && next_order(axis, rank)) {
        bool same = t->like->rank == rank;
        char ops[64];
        int len =
            snprintf(ops, sizeof(ops),
                     is_reversed(axis, rank) ? "[[\"transpose\"" : "[[\"permute\",[");
        for (unsigned i = 0; i < rank; i++) {
            same = same && t->a->size[axis[i]] == t->like->size[i];
            if (!is_reversed(axis, rank))
                len += snprintf(ops + len, sizeof(ops) - (size_t)len, "%s%u",
                                i ? "," : "", axis[i]);
        }
        snprintf(ops + len, sizeof(ops) - (size_t)len,
                 is_reversed(axis, rank) ? "]" : "]]");
        if (same != reshaped && try_ops(t, ops, reshaped))
            return true;
    }
    return false;
}

/* The rows of each head in another order: the halves of a rotary embedding side by side, or apart. */
static bool try_heads(struct trial *t)
{
    const uint64_t rows = t->a->size[0];
    const char *rest = t->a->rank > 1 ? strchr(t->a->shape, ',') : "]";
    if (t->a->rank < 1 || t->a->rank > 2 || strcmp(t->a->shape, t->like->shape) != 0 ||
        !rest)
        return false;
    for (uint64_t half = 1; half <= HEAD_MAX / 2; half++) {
        char ops[OPS_BYTES];
        if (rows % (2 * half))
            continue;
        for (int way = 0; way < 2; way++) {
            snprintf(
                ops, sizeof(ops),
                "[[\"reshape\",[-1,%llu,%llu%s],[\"transpose\",1,2],[\"flatten\",0,2]",
                (unsigned long long)(way ? half : 2),
                (unsigned long long)(way ? 2 : half), rest);
            if (half > 1 && try_ops(t, ops, false))
                return true;
        }
    }
    return false;
}

/* Whether operations make of A's shape the one wanted. */
static bool makes_shape(const struct trial *t, const char *ops)
{
    struct error err = {.offset = NO_OFFSET};
    struct text shape = {0};
    const bool good = shapes_after(ops, t->a->shape, NULL, &shape, &err) == OK &&
                      shape.len && strcmp(text_str(&shape), t->like->shape) == 0;
    text_release(&shape);
    return good;
}

static bool try_right(struct trial *t)
{
    for (unsigned i = 0; i < t->x->rights; i++) {
        if (!makes_shape(t, t->x->right[i]))
            continue;
        t->found = find_content(
            t->x, t->like->dtype, t->like->shape,
            &(struct infer_probe){.at = t->at, .ops = t->x->right[i], .dtype = t->cast});
        snprintf(t->ops, sizeof(t->ops), "%s", t->x->right[i]);
        if (t->found != INFER_NONE)
            return true;
    }
    return false;
}

static void remember(struct transforms *x, const char *ops)
{
    for (unsigned i = 0; i < x->rights; i++)
        if (strcmp(x->right[i], ops) == 0)
            return;
    const char *kept = arena_copy(x->task->arena, ops, strlen(ops));
    if (kept && x->rights < TRIED_FIRST && strcmp(ops, "[]") != 0)
        x->right[x->rights++] = kept;
}

/* The operations with the cast, kept; NULL: no memory. */
static const char *keep_ops(struct transforms *x, const char *ops, const char *cast)
{
    struct text t = {0};
    text_add(&t, ops, strlen(ops) - 1);
    if (cast)
        text_addf(&t, "%s[\"cast\",\"%s\"]", t.len > 1 ? "," : "", cast);
    text_addc(&t, ']');
    const char *kept = text_str(&t) ? arena_copy(x->task->arena, t.at, t.len) : NULL;
    text_release(&t);
    return kept;
}

/* What is right for one is tried on all like it at once: those of other layers, mostly. */
static void try_ahead(struct trial *t)
{
    const char *ops = strcmp(t->ops, "[]") == 0 ? NULL : t->ops;
    const char *kept = ops ? arena_copy(t->x->task->arena, ops, strlen(ops)) : NULL;
    size_t count;
    if (ops && !kept) {
        no_room(t->x);
        return;
    }
    struct infer_probe *p =
        list_class(t->x, false, t->a->dtype, t->a->shape, t->at + 1, &count);
    for (size_t i = 0; i < count; i++) {
        p[i].ops = kept;
        p[i].dtype = t->cast;
    }
    find_ahead(t->x, t->like->dtype, t->like->shape, p, count);
}

/* Whether operations were not yet right for the class of a tensor. */
static bool is_news(const struct trial *t)
{
    char key[512];
    const char *kept;
    bool added = false;
    const int len = snprintf(key, sizeof(key), "%s %s %s %s %s", t->a->dtype, t->a->shape,
                             t->like->dtype, t->like->shape, t->ops);
    if (len > 0 && (size_t)len < sizeof(key) &&
        !strmap_keep(&t->x->tried, t->x->task->arena, key, (size_t)len, &kept, &added))
        no_room(t->x);
    return added;
}

static bool is_done(struct trial *t)
{
    const bool same_shape = strcmp(t->a->shape, t->like->shape) == 0;
    t->cast = strcmp(t->a->dtype, t->like->dtype) == 0 ? NULL : t->like->dtype;
    const bool found = try_right(t) ||
                       (t->cast && same_shape && try_ops(t, "[", false)) ||
                       try_orders(t, false) || (!same_shape && try_ops(t, "[", true)) ||
                       try_orders(t, true) || try_heads(t);
    if (!found)
        return false;
    struct infer_pair p = {.a = (uint32_t)t->at, .b = t->found, .how = INFER_CONTENT};
    p.ops = keep_ops(t->x, t->ops, t->cast);
    remember(t->x, t->ops);
    if (!p.ops || !infer_add(t->x->task, p))
        no_room(t->x);
    else if (is_news(t))
        try_ahead(t);
    return true;
}

/* One tensor of each dtype and shape of a side that are not used yet. */
static size_t list_classes(struct transforms *x, bool of_b, uint32_t *out)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct strmap seen = {0};
    size_t count = 0;
    for (size_t i = 0; i < list->count && !stopped(x); i++) {
        const struct infer_tensor *t = &list->at[i];
        char key[512];
        bool added;
        if (is_used(x, of_b, i) || !t->hash || !t->dtype || !t->shape ||
            t->rank > INFER_RANK_MAX)
            continue;
        const size_t len = class_key(key, sizeof(key), t->dtype, t->shape, "");
        const char *kept;
        if (!len)
            continue;
        if (!strmap_keep(&seen, x->task->arena, key, len, &kept, &added))
            no_room(x);
        else if (added)
            out[count++] = (uint32_t)i;
    }
    strmap_release(&seen);
    return count;
}

static void try_alone(struct transforms *x, uint32_t *class)
{
    const size_t classes = list_classes(x, true, class);
    for (size_t i = 0; i < x->task->a.count && !stopped(x); i++) {
        struct trial t = {.x = x, .a = &x->task->a.at[i], .at = i};
        bool found = false, tried = false;
        if (x->task->used_a[i] || !t.a->hash || !t.a->shape || t.a->rank > INFER_RANK_MAX)
            continue;
        for (size_t k = 0; k < classes && !found && !stopped(x); k++) {
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

/* --- pieces ------------------------------------------------------------------------------------ */

/* How what is cut out becomes a piece: its axes in another order, and another shape. */
struct turn {
    unsigned axis[INFER_RANK_MAX];
    uint64_t from[INFER_RANK_MAX],
        to[INFER_RANK_MAX]; /* shapes before and after the order */
    unsigned rank;
    const char *shape; /* of the piece */
    bool reshapes;
};

/* A tensor that is cut, and the pieces found so far. */
struct cutting {
    struct transforms *x;
    bool of_b; /* the whole is B's: it was put together of A's */
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

static void put_list(struct text *t, const uint64_t *number, unsigned count)
{
    text_addc(t, '[');
    for (unsigned i = 0; i < count; i++)
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

static void put_order(struct text *t, const unsigned *axis, unsigned rank)
{
    if (is_reversed(axis, rank)) {
        text_adds(t, "[\"transpose\"]");
        return;
    }
    text_adds(t, "[\"permute\",[");
    for (unsigned i = 0; i < rank; i++)
        text_addf(t, "%s%u", i ? "," : "", axis[i]);
    text_adds(t, "]]");
}

/* What makes a piece of what was cut out, each operation after a comma. */
static void put_turn(struct text *t, const struct turn *turn)
{
    if (turn_moves(turn)) {
        text_addc(t, ',');
        put_order(t, turn->axis, turn->rank);
    }
    if (turn->reshapes)
        text_addf(t, ",[\"reshape\",%s]", turn->shape);
}

/* The way back, each operation before a comma. */
static void put_turn_back(struct text *t, const struct turn *turn)
{
    unsigned back[INFER_RANK_MAX];
    if (turn->reshapes) {
        text_adds(t, "[\"reshape\",");
        put_list(t, turn->to, turn->rank);
        text_adds(t, "],");
    }
    for (unsigned i = 0; i < turn->rank; i++)
        back[turn->axis[i]] = i;
    if (turn_moves(turn)) {
        put_order(t, back, turn->rank);
        text_addc(t, ',');
    }
}

/* The shape of what is cut out in the order of the turn, and whether the piece has another. */
static void turn_shape(struct turn *turn)
{
    struct text shape = {0};
    for (unsigned i = 0; i < turn->rank; i++)
        turn->to[i] = turn->from[turn->axis[i]];
    put_list(&shape, turn->to, turn->rank);
    turn->reshapes = !text_str(&shape) || strcmp(shape.at, turn->shape) != 0;
    text_release(&shape);
}

static void put_piece_ops(const struct cutting *c, const char *operation,
                          struct text *out)
{
    text_addf(out, "[%s", operation);
    put_turn(out, &c->turn);
    text_addc(out, ']');
}

/* The piece that an operation and the turn cut out, among those of the other side. */
static bool find_piece(struct cutting *c, const char *operation)
{
    struct text ops = {0};
    put_piece_ops(c, operation, &ops);
    const struct infer_probe probe = {
        .of_b = c->of_b, .at = c->at, .ops = text_str(&ops)};
    const uint32_t found =
        probe.ops ? find_content(c->x, c->whole->dtype, c->turn.shape, &probe)
                  : INFER_NONE;
    text_release(&ops);
    if (found == INFER_NONE || c->pieces == PIECES_MAX)
        return false;
    c->piece[c->pieces++] = found;
    /* So that the next piece with the same content is another one. */
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

/* The first index is a piece: so are the others, mostly. */
static void cut_ahead(struct cutting *c)
{
    const uint64_t count = c->whole->size[c->axis];
    struct arena *arena = c->x->task->arena;
    struct infer_probe *p = arena_array(arena, count + 1, sizeof(*p));
    struct text ops = {0};
    for (uint64_t i = 1; p && i < count; i++) {
        char take[TAKE_BYTES];
        put_take(c, i, take);
        text_reset(&ops);
        put_piece_ops(c, take, &ops);
        const char *kept = text_str(&ops) ? arena_copy(arena, ops.at, ops.len) : NULL;
        p[i - 1] = (struct infer_probe){
            .of_b = c->of_b, .at = c->at, .ops = kept, .sample = true};
        if (!kept)
            p = NULL;
    }
    text_release(&ops);
    if (p)
        find_ahead(c->x, c->whole->dtype, c->turn.shape, p, count - 1);
    else
        no_room(c->x);
}

/* Each index of the axis, under one turn. */
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
    for (size_t k = 0; k < c->classes && !stopped(c->x); k++) {
        const struct infer_tensor *p = tensor_at(c->x, !c->of_b, c->class[k]);
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
        } while (t->rank >= 2 && t->rank <= 3 && !stopped(c->x) &&
                 next_order(t->axis, t->rank));
    }
    return false;
}

/* The next piece along the axis, at `at`; its size, 0: there is none. */
static uint64_t cut_next(struct cutting *c, uint64_t at)
{
    struct turn *t = &c->turn;
    for (size_t k = 0; k < c->classes && !stopped(c->x); k++) {
        const struct infer_tensor *p = tensor_at(c->x, !c->of_b, c->class[k]);
        char slice[128];
        if (p->rank != t->rank || strcmp(p->dtype, c->whole->dtype) != 0)
            continue;
        memcpy(t->from, c->whole->size, t->rank * sizeof(t->from[0]));
        for (unsigned i = 0; i < t->rank; i++)
            if (t->axis[i] == c->axis)
                t->from[c->axis] = p->size[i];
        const uint64_t size = t->from[c->axis];
        if (!size || size > c->whole->size[c->axis] - at ||
            size == c->whole->size[c->axis])
            continue;
        t->shape = p->shape;
        turn_shape(t);
        snprintf(slice, sizeof(slice), "[\"slice\",%u,%llu,%llu]", c->axis,
                 (unsigned long long)at, (unsigned long long)(at + size));
        if (!t->reshapes && find_piece(c, slice))
            return size;
    }
    return 0;
}

/* Pieces of any sizes one after the other, whatever is there. */
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
    } while (t->rank == 2 && !stopped(c->x) && next_order(t->axis, t->rank));
    return false;
}

static bool equal_sizes(const struct cutting *c)
{
    for (size_t i = 1; i < c->pieces; i++)
        if (c->size[i] != c->size[0])
            return false;
    return true;
}

/* The operations on A's tensor that the pieces come to. */
static const char *ops_of_cut(const struct cutting *c, bool stacked)
{
    struct text t = {0};
    text_addc(&t, '[');
    if (c->of_b) {
        put_turn_back(&t, &c->turn);
        text_addf(&t, "[\"%s\",%u,%%]", stacked ? "stack" : "concat", c->axis);
    } else if (stacked) {
        text_addf(&t, "[\"unstack\",%u%%]", c->axis);
    } else {
        text_addf(&t, "[\"split\",%u,", c->axis);
        if (equal_sizes(c))
            text_addf(&t, "%zu", c->pieces);
        else
            put_list(&t, c->size, (unsigned)c->pieces);
        text_adds(&t, "%]");
    }
    if (!c->of_b)
        put_turn(&t, &c->turn);
    text_addc(&t, ']');
    const char *kept = text_str(&t) ? arena_copy(c->x->task->arena, t.at, t.len) : NULL;
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
        if (!ops || !infer_add(c->x->task, p))
            no_room(c->x);
    }
}

static bool cut(struct cutting *c)
{
    for (c->axis = 0; c->axis < c->whole->rank && !stopped(c->x); c->axis++) {
        const bool stacked = cut_stack(c, false), run = !stacked && cut_run(c);
        if (stacked || run || cut_stack(c, true)) {
            keep_cut(c, !run);
            return true;
        }
    }
    return false;
}

static void try_pieces(struct transforms *x, bool of_b, uint32_t *class)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct cutting c = {.x = x, .of_b = of_b, .class = class};
    size_t misses = 0, hits = 0;
    c.classes = list_classes(x, !of_b, class);
    c.piece = arena_array(x->task->arena, PIECES_MAX, sizeof(*c.piece));
    c.size = arena_array(x->task->arena, PIECES_MAX, sizeof(*c.size));
    if (!c.piece || !c.size)
        no_room(x);
    for (size_t i = 0; c.classes && i < list->count && !stopped(x); i++) {
        c.at = i;
        c.whole = &list->at[i];
        if (is_used(x, of_b, i) || !c.whole->hash || !c.whole->shape || !c.whole->dtype ||
            c.whole->rank > INFER_RANK_MAX)
            continue;
        const bool found = cut(&c);
        hits += found;
        misses += !found;
        if (!hits && misses > MISSES_MAX)
            return;
    }
}

enum status infer_transforms(struct infer_task *task, struct error *err)
{
    struct transforms x = {.task = task, .err = err};
    const size_t most = task->a.count > task->b.count ? task->a.count : task->b.count;
    uint32_t *class = arena_array(task->arena, most + 1, sizeof(*class));
    x.next[0] = arena_array(task->arena, task->a.count + 1, sizeof(uint32_t));
    x.next[1] = arena_array(task->arena, task->b.count + 1, sizeof(uint32_t));
    if (!class || !x.next[0] || !x.next[1]) {
        no_room(&x);
    } else {
        try_alone(&x, class);
        if (!stopped(&x))
            try_pieces(&x, false, class);
        if (!stopped(&x))
            try_pieces(&x, true, class);
    }
    for (int side = 0; side < 2; side++) {
        strmap_release(&x.sampled[side]);
        strmap_release(&x.classes[side]);
    }
    strmap_release(&x.ahead);
    strmap_release(&x.tried);
    return err->status;
}
