/*
 * fuse.c - guesses at tensors that were fused or split: several of one side are one of the other.
 *
 *   A  h.0.attn.q [8,8]  h.0.attn.k [2,8]  h.0.attn.v [2,8]     B  h.0.qkv [12,8]
 *
 * Sizes must add up in every layer. Which siblings take part, and in which order, is taken from
 * the name of the whole (qkv, query_key_value); failing that, from what such tensors are usually
 * called; failing that, it is all siblings, sorted by name.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/maps/infer/guess.h"

#define PIECES_MOST  8
#define FITTING_MOST 64 /* groups of layers that fit one whole */
#define LETTERS_MOST 4  /* of a word of initials: qkv, Wqkv */

/* Groups of layers of one side that make up a group of the other, the whole. */
struct fusion {
    double likeness;
    bool of_b; /* the whole is in B */
    bool turned;
    unsigned axis; /* of the whole */
    uint32_t whole, piece[PIECES_MOST];
    unsigned pieces;
};

struct fusing {
    struct guessing *g;
    bool named;
    struct fusion *at;
    size_t count, space;
};

/* A whole, and the groups of layers that could be its pieces. */
struct fitting {
    const struct guessing *g;
    struct fusion f; /* being filled in */
    uint32_t fits[FITTING_MOST];
    size_t count;
};

static struct layers *layers_at(const struct guessing *g, bool of_b, uint32_t at)
{
    return &g->side[of_b].layers[at];
}

/* --- shapes -------------------------------------------------------------------------------------- */

static uint64_t size_along(const struct fusion *f, const struct infer_tensor *piece)
{
    return piece->size[f->turned ? 1 - f->axis : f->axis];
}

static bool fits_along(const struct fusion *f, const struct infer_tensor *whole,
                       const struct infer_tensor *piece)
{
    if (piece->rank != whole->rank || !piece->shape || !whole->shape ||
        (piece->dtype && whole->dtype && strcmp(piece->dtype, whole->dtype) != 0))
        return false;
    for (unsigned d = 0; d < whole->rank; d++)
        if (d != f->axis && piece->size[f->turned ? 1 - d : d] != whole->size[d])
            return false;
    return size_along(f, piece) && size_along(f, piece) < whole->size[f->axis];
}

static void list_fits(struct fitting *s)
{
    const struct side *side = &s->g->side[!s->f.of_b];
    const struct layers *whole = layers_at(s->g, s->f.of_b, s->f.whole);
    s->count = 0;
    for (uint32_t k = 0; k < side->count && s->count < FITTING_MOST; k++) {
        const struct layers *l = &side->layers[k];
        bool good = !l->used && !l->unknown && l->count == whole->count;
        for (size_t i = 0; good && i < l->count; i++)
            good = fits_along(&s->f, guess_layer(s->g, s->f.of_b, whole, i),
                              guess_layer(s->g, !s->f.of_b, l, i));
        if (good)
            s->fits[s->count++] = k;
    }
}

/* --- siblings ------------------------------------------------------------------------------------ */

/* What two names have in common, in whole words: bytes before and after the part that differs. */
struct edges {
    size_t before, after;
};

static bool infer_fuse_is_word(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* False: they differ in more than one component, or not at all. */
static bool find_edges(const char *a, const char *b, struct edges *e)
{
    const size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    size_t before = 0, after = 0;
    while (before < least && a[before] == b[before])
        before++;
    while (before && infer_fuse_is_word(a[before - 1]))
        before--;
    while (after < least - before && a[n - 1 - after] == b[m - 1 - after])
        after++;
    while (after && infer_fuse_is_word(a[n - after]))
        after--;
    *e = (struct edges){before, after};
    return n > before + after && m > before + after &&
           !memchr(a + before, '.', n - before - after) &&
           !memchr(a + before, '/', n - before - after) &&
           !memchr(b + before, '.', m - before - after) &&
           !memchr(b + before, '/', m - before - after);
}

static const char *infer_fuse_name_of(const struct fitting *s, size_t fit)
{
    return layers_at(s->g, !s->f.of_b, s->fits[fit])->name;
}

static bool are_siblings(const struct fitting *s, size_t a, size_t b, const struct edges *like)
{
    struct edges e;
    return find_edges(infer_fuse_name_of(s, a), infer_fuse_name_of(s, b), &e) &&
           e.before == like->before && e.after == like->after;
}

/* A sibling, and the part of its name that differs. */
struct sibling {
    const char *label;
    size_t len;
    uint32_t layers;
    int place; /* order among the pieces; -1: it is not one */
};

/* All siblings of `first` that differ in the same place. 0: an earlier one is among them, so this
 * set was tried. */
static size_t list_siblings(const struct fitting *s, size_t first, const struct edges *like,
                            struct sibling *out)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (i != first && !are_siblings(s, first, i, like))
            continue;
        if (i < first)
            return 0;
        const char *name = infer_fuse_name_of(s, i);
        out[count++] = (struct sibling){.label = name + like->before,
                                        .len = strlen(name) - like->before - like->after,
                                        .layers = s->fits[i],
                                        .place = -1};
    }
    return count;
}

/* --- which pieces, in which order --------------------------------------------------------------- */

/* The first letter of a label; for wq, wk, wv the second. */
static char initial_of(const struct sibling *x)
{
    const bool weight = x->len == 2 && tolower((unsigned char)x->label[0]) == 'w';
    return (char)tolower((unsigned char)x->label[weight]);
}

/* Whether a word consists of the first letters of siblings: qkv, Wqkv. */
static bool is_initials(const char *word, size_t len, const struct sibling *x, size_t count)
{
    const size_t from = len > 2 && tolower((unsigned char)*word) == 'w';
    size_t found = 0;
    for (size_t i = from; i < len; i++)
        for (size_t k = 0; k < count; k++)
            if (tolower((unsigned char)word[i]) == initial_of(&x[k])) {
                found++;
                break;
            }
    return len <= LETTERS_MOST && found >= 2 && found == len - from;
}

/* Index of the letter in the word that begins a sibling's label; -1: none does. */
static int letter_of(const char *word, size_t len, const struct sibling *one)
{
    for (size_t i = 0; i < len; i++)
        if (tolower((unsigned char)word[i]) == initial_of(one))
            return (int)i;
    return -1;
}

/* Where the whole's name contains the label of sibling `at`: as a word, or as one of its
 * initials; -1: it does not. In "attn_qkv", of the words attn and qkv, v is letter 2 of word 1: 1
 * * 5 + 2. */
static int place_in_name(const struct name_words *words, const struct sibling *x, size_t count,
                         size_t at)
{
    for (unsigned k = 0; k < words->count; k++) {
        const char *word = words->at[k];
        const size_t len = words->len[k];
        int letter = -1;
        if (guess_word_likeness(word, len, x[at].label, x[at].len) == 1)
            letter = 0;
        else if (is_initials(word, len, x, count))
            letter = letter_of(word, len, &x[at]);
        if (letter >= 0)
            return (int)k * (LETTERS_MOST + 1) + letter;
    }
    return -1;
}

/* The usual labels of tensors that get fused, in the order of fusing. */
static int place_by_custom(const struct sibling *x)
{
    static const struct {
        const char *label;
        int place;
    } custom[] = {{"q", 1},  {"query", 1}, {"wq", 1},    {"k", 2},  {"key", 2},
                  {"wk", 2}, {"v", 3},     {"value", 3}, {"wv", 3}, {"gate", 4},
                  {"w1", 4}, {"up", 5},    {"w3", 5}};
    for (size_t i = 0; i < sizeof(custom) / sizeof(custom[0]); i++)
        if (strlen(custom[i].label) == x->len && strncmp(custom[i].label, x->label, x->len) == 0)
            return custom[i].place;
    return -1;
}

static int infer_fuse_by_place(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                : (x->layers > y->layers) - (x->layers < y->layers);
}

/* Make pieces of the siblings that have a place, in order; false: they do not make up the whole. */
static bool put_pieces(struct fitting *s, struct sibling *x, size_t count)
{
    qsort(x, count, sizeof(*x), infer_fuse_by_place);
    s->f.pieces = 0;
    for (size_t i = 0; i < count; i++) {
        if (x[i].place < 0)
            continue;
        if (s->f.pieces == PIECES_MOST || (i && x[i].place == x[i - 1].place))
            return false;
        s->f.piece[s->f.pieces++] = x[i].layers;
    }
    /* Whether the sizes of the pieces add up to the whole in every layer. */
    const struct layers *whole = layers_at(s->g, s->f.of_b, s->f.whole);
    for (size_t i = 0; i < whole->count; i++) {
        uint64_t left = guess_layer(s->g, s->f.of_b, whole, i)->size[s->f.axis];
        for (unsigned k = 0; k < s->f.pieces; k++) {
            const struct layers *p = layers_at(s->g, !s->f.of_b, s->f.piece[k]);
            const uint64_t size = size_along(&s->f, guess_layer(s->g, !s->f.of_b, p, i));
            if (size > left)
                return false;
            left -= size;
        }
        if (left)
            return false;
    }
    return s->f.pieces >= 2;
}

static int by_label(const void *a, const void *b)
{
    return infer_name_order(((const struct sibling *)a)->label, ((const struct sibling *)b)->label);
}

static bool choose_pieces(struct fitting *s, bool named, struct sibling *x, size_t count)
{
    struct name_words words = {0};
    guess_words(layers_at(s->g, s->f.of_b, s->f.whole)->name, &words);
    for (size_t i = 0; i < count; i++)
        x[i].place = named ? place_in_name(&words, x, count, i) : place_by_custom(&x[i]);
    if (put_pieces(s, x, count))
        return true;
    if (named)
        return false;
    qsort(x, count, sizeof(*x), by_label);
    for (size_t i = 0; i < count; i++)
        x[i].place = (int)i;
    return put_pieces(s, x, count);
}

/* --- all that fit -------------------------------------------------------------------------------- */

static bool keep_fusion(struct fusing *all, struct fitting *s)
{
    const struct layers *whole = layers_at(s->g, s->f.of_b, s->f.whole);
    double like = 0;
    for (unsigned i = 0; i < s->f.pieces; i++) {
        const struct layers *p = layers_at(s->g, !s->f.of_b, s->f.piece[i]);
        const double apart =
            p->place > whole->place ? p->place - whole->place : whole->place - p->place;
        like += infer_likeness(&s->g->words, whole->name, p->name) - 0.3 * apart;
    }
    s->f.likeness = like / s->f.pieces - 0.2 * s->f.turned;
    struct fusion *grown =
        arena_grow(s->g->task->arena, all->at, all->count, &all->space, sizeof(*grown));
    if (!grown)
        return false;
    all->at = grown;
    all->at[all->count++] = s->f;
    return true;
}

/* Try each set of siblings that `first` belongs to. */
static bool try_siblings(struct fusing *all, struct fitting *s, size_t first)
{
    struct sibling x[FITTING_MOST];
    struct edges e;
    bool good = true;
    for (size_t i = first + 1; good && i < s->count; i++) {
        bool tried = false;
        if (!find_edges(infer_fuse_name_of(s, first), infer_fuse_name_of(s, i), &e))
            continue;
        for (size_t k = first + 1; k < i && !tried; k++)
            tried = are_siblings(s, first, k, &e);
        const size_t count = tried ? 0 : list_siblings(s, first, &e, x);
        if (count >= 2 && choose_pieces(s, all->named, x, count))
            good = keep_fusion(all, s);
    }
    return good;
}

static bool try_whole(struct fusing *all, bool of_b, uint32_t at)
{
    const struct layers *whole = layers_at(all->g, of_b, at);
    const struct infer_tensor *t = guess_layer(all->g, of_b, whole, 0);
    bool good = true;
    if (whole->used || whole->unknown || t->rank > INFER_RANK_MAX)
        return true;
    for (unsigned k = 0; good && k < 2 * t->rank; k++) {
        struct fitting s = {.g = all->g,
                            .f = {.of_b = of_b, .whole = at, .axis = k / 2, .turned = k % 2}};
        if (s.f.turned && t->rank != 2)
            continue;
        list_fits(&s);
        for (size_t i = 0; good && i + 1 < s.count; i++)
            good = try_siblings(all, &s, i);
    }
    return good;
}

/* --- taking -------------------------------------------------------------------------------------- */

static int by_fusion(const void *a, const void *b)
{
    const struct fusion *x = a, *y = b;
    if (x->likeness != y->likeness)
        return x->likeness < y->likeness ? 1 : -1;
    if (x->of_b != y->of_b)
        return x->of_b - y->of_b;
    if (x->whole != y->whole)
        return x->whole < y->whole ? -1 : 1;
    return (x->piece[0] > y->piece[0]) - (x->piece[0] < y->piece[0]);
}

/* The operations for one layer. */
static bool put_ops(const struct guessing *g, const struct fusion *f, size_t layer,
                    struct text *out)
{
    uint64_t size[PIECES_MOST];
    bool equal = true;
    if (f->of_b)
        return text_addf(out, "[%s[\"concat\",%u,%%]]", f->turned ? "[\"transpose\"]," : "",
                         f->axis);
    for (unsigned i = 0; i < f->pieces; i++) {
        const struct layers *p = layers_at(g, true, f->piece[i]);
        size[i] = size_along(f, guess_layer(g, true, p, layer));
        equal = equal && size[i] == size[0];
    }
    text_addf(out, "[[\"split\",%u,", f->axis);
    for (unsigned i = 0; i < f->pieces && !equal; i++)
        text_addf(out, "%c%llu", i ? ',' : '[', (unsigned long long)size[i]);
    if (equal)
        text_addf(out, "%u", f->pieces);
    return text_addf(out, "%s%%]%s]", equal ? "" : "]", f->turned ? ",[\"transpose\"]" : "");
}

static bool take_layer(struct guessing *g, const struct fusion *f, size_t layer)
{
    struct text ops = {0};
    const uint32_t whole = layers_at(g, f->of_b, f->whole)->at[layer];
    const char *kept = put_ops(g, f, layer, &ops) && text_str(&ops)
                           ? arena_copy(g->task->arena, ops.at, ops.len)
                           : NULL;
    bool good = kept != NULL;
    text_release(&ops);
    for (unsigned i = 0; good && i < f->pieces; i++) {
        const uint32_t piece = layers_at(g, !f->of_b, f->piece[i])->at[layer];
        good = infer_add(g->task, (struct infer_pair){.a = f->of_b ? piece : whole,
                                                      .b = f->of_b ? whole : piece,
                                                      .part = i,
                                                      .how = INFER_GUESS,
                                                      .form = f->of_b ? INFER_JOIN : INFER_SPLIT,
                                                      .ops = kept});
    }
    return good;
}

static bool take_fusion(struct guessing *g, const struct fusion *f)
{
    struct layers *whole = layers_at(g, f->of_b, f->whole);
    bool good = true, used = whole->used;
    for (unsigned i = 0; i < f->pieces; i++)
        used = used || layers_at(g, !f->of_b, f->piece[i])->used;
    if (used)
        return true;
    whole->used = true;
    for (unsigned i = 0; i < f->pieces; i++)
        layers_at(g, !f->of_b, f->piece[i])->used = true;
    for (size_t i = 0; good && i < whole->count; i++)
        good = take_layer(g, f, i);
    return good;
}

bool guess_fused(struct guessing *g, bool named)
{
    struct fusing all = {.g = g, .named = named};
    bool good = true;
    if (g->side[0].count > GROUPS_MAX || g->side[1].count > GROUPS_MAX)
        return true;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; good && i < g->side[side].count; i++)
            good = try_whole(&all, side, i);
    if (all.count)
        qsort(all.at, all.count, sizeof(*all.at), by_fusion);
    for (size_t i = 0; good && i < all.count; i++)
        good = take_fusion(g, &all.at[i]);
    return good;
}
