/*
 * slots.c - makes drafts from names: numbers become groups.
 *
 *   layers_0/q  h.0.query     examples with one skeleton, layers_#/q, and one outcome, h.#.query:
 *   layers_1/q  h.1.query     the new name has the number of the old one
 *
 * Names with one skeleton but several outcomes are divided by one of their numbers, which the
 * drafts then contain as text: layer_000 is attention, layer_001 is not.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/infer/draft.h"

/* --- where a number of the new name comes from --------------------------------------------- */

static const struct word *word_of(const struct drafts *s, const struct token *t)
{
    return &s->words->word[t->id];
}

static bool same_number(const struct word *padded, const struct word *plain)
{
    size_t zeros = 0;
    while (zeros + 1 < padded->len && padded->at[zeros] == '0')
        zeros++;
    return padded->len - zeros == plain->len &&
           memcmp(padded->at + zeros, plain->at, plain->len) == 0;
}

/* Whether number `to` of the new name equals number `from` of the old one in all examples;
 * `padded`: up to leading zeros. */
static bool is_copy(const struct drafts *s, struct example *const *e, size_t n, uint32_t from,
                    uint32_t to, bool padded)
{
    for (size_t i = 0; i < n; i++) {
        const struct token *old = &e[i]->old[from], *new = &e[i]->new[to];
        if (padded ? !same_number(word_of(s, old), word_of(s, new)) : old->id != new->id)
            return false;
    }
    return true;
}

/* A table from an old number (`from`; INFER_NONE: from all together) to a new one; 0: they do not
 * determine it. */
static uint32_t table_of(struct drafts *s, struct example *const *e, size_t n,
                         const struct token *old, uint32_t from, uint32_t to)
{
    struct strmap seen = {.err = s->words->arena->err};
    struct draft_entry *entry = arena_array(s->words->arena, n, sizeof(*entry));
    bool good = entry != NULL, added;
    for (size_t i = 0; good && i < n; i++) {
        struct text key = {0};
        for (uint32_t k = 0; k < e[i]->olds; k++)
            if (k == from || (from == INFER_NONE && old[k].kind == TOKEN_DIGITS)) {
                text_adds(&key, key.len ? "," : "");
                text_add(&key, word_of(s, &e[i]->old[k])->at, word_of(s, &e[i]->old[k])->len);
            }
        entry[i] =
            (struct draft_entry){text_keep(&key, s->words->arena), word_of(s, &e[i]->new[to])->at};
        text_release(&key);
        uint64_t *value = strmap_add(&seen, entry[i].key, strlen(entry[i].key), &added);
        good = !words_failed(s->words) && (added || *value == e[i]->new[to].id);
        if (good)
            *value = e[i]->new[to].id;
    }
    strmap_release(&seen);
    return good ? draft_table(s->words, entry, n) : 0;
}

static bool is_constant(struct example *const *e, size_t n, uint32_t at, bool new)
{
    for (size_t i = 1; i < n; i++)
        if (new ? e[i]->new[at].id != e[0]->new[at].id : e[i]->old[at].id != e[0]->old[at].id)
            return false;
    return true;
}

/* The token that makes a varying number of the new name: a copy, an integer or a table. */
static struct token source_of(struct drafts *s, struct example *const *e, size_t n,
                              const struct draft *d, uint32_t to)
{
    for (int way = 0; way < 3; way++)
        for (uint32_t k = 0; k < d->olds; k++) {
            uint32_t table = 0;
            if (d->old[k].kind != TOKEN_DIGITS)
                continue;
            if (way < 2 && is_copy(s, e, n, k, to, way))
                return (struct token){way ? TOKEN_INT : TOKEN_COPY, 0, d->old[k].group};
            if (way == 2 && (table = table_of(s, e, n, d->old, k, to)) != 0)
                return (struct token){TOKEN_TABLE, table, d->old[k].group};
        }
    return (struct token){TOKEN_TABLE, table_of(s, e, n, d->old, INFER_NONE, to), 0};
}

/* --- examples of one skeleton -------------------------------------------------------------- */

static void add_draft(struct drafts *s, struct example *const *e, size_t n)
{
    struct words *w = s->words;
    struct draft d = {.old = arena_array(w->arena, e[0]->olds + 1, sizeof(struct token)),
                      .new = arena_array(w->arena, e[0]->news + 1, sizeof(struct token)),
                      .olds = e[0]->olds,
                      .news = e[0]->news,
                      .ops = e[0]->ops,
                      .turn = e[0]->turn,
                      .drops = e[0]->drops};
    uint32_t groups = 0;
    for (uint32_t i = 0; !words_failed(w) && i < d.olds; i++) {
        d.old[i] = (struct token){TOKEN_TEXT, e[0]->old[i].id, 0};
        if (e[0]->old[i].kind == TOKEN_NUMBER && !is_constant(e, n, i, false))
            d.old[i] = (struct token){TOKEN_DIGITS, 0, ++groups};
    }
    for (uint32_t i = 0; !words_failed(w) && i < d.news; i++) {
        d.new[i] = e[0]->new[i];
        if (d.new[i].kind == TOKEN_NUMBER)
            d.new[i].kind = TOKEN_TEXT;
        if (e[0]->new[i].kind == TOKEN_NUMBER && !is_constant(e, n, i, true))
            d.new[i] = source_of(s, e, n, &d, i);
        d.whole = d.whole || (d.new[i].kind == TOKEN_TABLE && !d.new[i].group);
    }
    for (size_t i = 1; i < n; i++)
        d.turn = e[i]->turn < d.turn ? e[i]->turn : d.turn;
    *PUSH(w->arena, s->at, s->count, s->space) = d;
}

/* The number of values of an old number; *tells: each value has one outcome only. */
static size_t count_values(struct drafts *s, struct example *const *e, size_t n, uint32_t slot,
                           bool *tells)
{
    struct strmap seen = {.err = s->words->arena->err};
    bool added;
    *tells = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t *value = strmap_add(&seen, (const char *)&e[i]->old[slot].id,
                                     sizeof(e[i]->old[slot].id), &added);
        *tells = *tells && (added || *value == e[i]->outcome);
        *value = e[i]->outcome;
    }
    const size_t values = seen.count;
    strmap_release(&seen);
    return values;
}

static uint32_t dividing_slot(struct drafts *s, struct example *const *e, size_t n)
{
    uint32_t best = 0;
    size_t least = SIZE_MAX;
    bool best_tells = false, tells;
    for (uint32_t i = 0; i < e[0]->olds; i++) {
        if (e[0]->old[i].kind != TOKEN_NUMBER)
            continue;
        const size_t values = count_values(s, e, n, i, &tells);
        if (values < 2 || tells < best_tells || (tells == best_tells && values >= least))
            continue;
        best = i;
        least = values;
        best_tells = tells;
    }
    return best;
}

struct slot_order {
    struct example *example;
    uint32_t value, turn;
};

static int by_value(const void *a, const void *b)
{
    const struct slot_order *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                                : (x->turn > y->turn) - (x->turn < y->turn);
}

/* Recursive: each level fixes one number, and names have few. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void divide(struct drafts *s, struct example **e, size_t n)
{
    bool one = true;
    for (size_t i = 1; i < n; i++)
        one = one && e[i]->outcome == e[0]->outcome;
    if (one || words_failed(s->words)) {
        add_draft(s, e, n);
        return;
    }
    const uint32_t slot = dividing_slot(s, e, n);
    struct slot_order *order = arena_array(s->words->arena, n, sizeof(*order));
    if (!order)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct slot_order){e[i], e[i]->old[slot].id, e[i]->turn};
    qsort(order, n, sizeof(*order), by_value);
    for (size_t i = 0; i < n; i++)
        e[i] = order[i].example;
    for (size_t i = 0, end; i < n && !words_failed(s->words); i = end) {
        for (end = i + 1; end < n && order[end].value == order[i].value;)
            end++;
        divide(s, e + i, end - i);
    }
}

static int by_skeleton(const void *a, const void *b)
{
    const struct example *x = *(struct example *const *)a, *y = *(struct example *const *)b;
    return x->skeleton != y->skeleton ? (x->skeleton > y->skeleton) - (x->skeleton < y->skeleton)
                                      : (x->turn > y->turn) - (x->turn < y->turn);
}

void drafts_make(struct drafts *s, struct example *example, size_t count)
{
    struct example **e = arena_array(s->words->arena, count + 1, sizeof(*e));
    if (!e)
        return;
    for (size_t i = 0; i < count; i++)
        e[i] = &example[i];
    qsort(e, count, sizeof(struct example *), by_skeleton);
    for (size_t i = 0, end; i < count && !words_failed(s->words); i = end) {
        for (end = i + 1; end < count && e[end]->skeleton == e[i]->skeleton;)
            end++;
        divide(s, e + i, end - i);
    }
}
