/*
 * widen.c - turns equal tails into a group: `module.a.w` becomes `a.w`, and `module.b` becomes
 * `b`, so the draft is module.(.+), which becomes the tail.
 *
 * Of the prefixes that several drafts share, those that join the most drafts are used first.
 * Names that are dropped need no equal tail, only a prefix below which all names are dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/maps/infer/draft.h"

static int infer_widen_by_place(const void *a, const void *b)
{
    const struct draft_place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->draft > y->draft) - (x->draft < y->draft);
}

void draft_places_sort(struct draft_place *place, size_t count)
{
    if (count)
        qsort(place, count, sizeof(*place), infer_widen_by_place);
}

/* Whether token `at` is the first one of a component of the name. */
static bool infer_widen_begins(const struct words *w, const struct draft *d, uint32_t at)
{
    const struct word *before =
        at && d->old[at - 1].kind == TOKEN_TEXT ? &w->word[d->old[at - 1].id] : NULL;
    return !at || (before && before->len == 1 && strchr("/.", *before->at) && *before->at);
}

/* The number of tokens at the end that are the same in both names. */
static uint32_t equal_tail(const struct draft *d)
{
    uint32_t n = 0;
    for (; n < d->olds && n < d->news; n++) {
        const struct token *old = &d->old[d->olds - 1 - n], *new = &d->new[d->news - 1 - n];
        const bool copied =
            token_is_group(old) && new->kind == TOKEN_COPY &&new->group == old->group;
        if (!copied && (old->kind != TOKEN_TEXT || !token_same(old, new)))
            break;
    }
    return n;
}

/* The highest number of a group that the first `news` tokens of the new name use. */
static uint32_t largest_group(const struct draft *d, uint32_t news)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < news; i++)
        most = d->new[i].group > most ? d->new[i].group : most;
    return most;
}

static uint32_t groups_before(const struct draft *d, uint32_t at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < at; i++)
        n += token_is_group(&d->old[i]);
    return n;
}

struct widening {
    struct drafts *drafts;
    struct draft_place *place;
    size_t places, space;
    struct strmap kept; /* hashes of prefixes below which some name is kept */
    uint64_t seed;
};

static void add_place(struct widening *w, struct draft_place p)
{
    *LIST_PUSH(w->drafts->words->arena->err, w->place, w->places, w->space) = p;
}

static void list_tails(struct widening *w, uint32_t number, const struct draft *d)
{
    const uint32_t tail = equal_tail(d);
    uint64_t old = w->seed, new = w->seed;
    for (uint32_t i = 0; i + tail < d->olds; i++)
        old = draft_mix_token(old, &d->old[i]);
    for (uint32_t i = 0; i + tail < d->news; i++)
        new = draft_mix_token(new, &d->new[i]);
    for (uint32_t left = tail; left > 0; left--) {
        const uint32_t at = d->olds - left, to = d->news - left;
        if (infer_widen_begins(w->drafts->words, d, at) &&
            largest_group(d, to) <= groups_before(d, at))
            add_place(w,
                      (struct draft_place){draft_mix(draft_mix(old, new), d->ops), number, at, to});
        old = draft_mix_token(old, &d->old[at]);
        new = draft_mix_token(new, &d->new[to]);
    }
}

/* Add the prefixes of a name that is kept. */
static void keep_prefixes(struct widening *w, const struct draft *d)
{
    uint64_t old = w->seed;
    bool added;
    for (uint32_t i = 0; i <= d->olds; i++) {
        if (infer_widen_begins(w->drafts->words, d, i)) {
            const char *kept;
            strmap_keep(&w->kept, w->drafts->words->arena, (const char *)&old, sizeof(old), &kept,
                        &added);
        }
        if (i < d->olds)
            old = draft_mix_token(old, &d->old[i]);
    }
}

static void list_prefixes(struct widening *w, uint32_t number, const struct draft *d)
{
    uint64_t old = w->seed;
    for (uint32_t i = 0; i < d->olds; i++) {
        if (infer_widen_begins(w->drafts->words, d, i) &&
            !strmap_get(&w->kept, (const char *)&old, sizeof(old)))
            add_place(w, (struct draft_place){draft_mix(old, 1), number, i, 0});
        old = draft_mix_token(old, &d->old[i]);
    }
}

/* The places [first, first + count) have one key. */
struct widest {
    size_t first, count;
    uint32_t prefix, draft; /* of the first place, as keys are random */
};

static int by_width(const void *a, const void *b)
{
    const struct widest *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->prefix != y->prefix ? (x->prefix > y->prefix) - (x->prefix < y->prefix)
                                  : (x->draft > y->draft) - (x->draft < y->draft);
}

static void widen_one(struct widening *w, const struct draft_place *p, size_t count)
{
    struct drafts *all = w->drafts;
    struct draft *d = &all->at[p->draft];
    struct draft wide = *d;
    for (size_t i = 0; i < count; i++)
        if (all->at[p[i].draft].gone)
            return;
    wide.old = arena_array(all->words->arena, p->from + 1, sizeof(*wide.old));
    wide.new = arena_array(all->words->arena, p->to + 1, sizeof(*wide.new));
    if (!wide.old || !wide.new)
        return;
    memcpy(wide.old, d->old, p->from * sizeof(*wide.old));
    memcpy(wide.new, d->new, p->to * sizeof(*wide.new));
    const uint32_t group = groups_before(d, p->from) + 1;
    wide.old[p->from] = (struct token){TOKEN_REST, 0, group};
    wide.olds = p->from + 1;
    wide.new[p->to] = (struct token){TOKEN_COPY, 0, group};
    wide.news = d->drops ? 0 : p->to + 1;
    for (size_t i = 0; i < count; i++) {
        all->at[p[i].draft].gone = true;
        wide.turn = all->at[p[i].draft].turn < wide.turn ? all->at[p[i].draft].turn : wide.turn;
    }
    *PUSH(all->words->arena, all->at, all->count, all->space) = wide;
}

/* Join drafts that share a key, the largest sets first. */
static void widen_all(struct widening *w)
{
    struct widest *best = NULL;
    size_t found = 0;
    draft_places_sort(w->place, w->places);
    best = calloc(w->places + 1, sizeof(*best));
    if (!best)
        error_memory(w->drafts->words->arena->err);
    for (size_t i = 0, end; best && i < w->places; i = end) {
        for (end = i + 1; end < w->places && w->place[end].key == w->place[i].key;)
            end++;
        if (end - i > 1)
            best[found++] = (struct widest){i, end - i, w->place[i].from, w->place[i].draft};
    }
    if (best)
        qsort(best, found, sizeof(*best), by_width);
    for (size_t i = 0; i < found && !words_failed(w->drafts->words); i++)
        widen_one(w, &w->place[best[i].first], best[i].count);
    free(best);
}

void drafts_widen(struct drafts *drafts)
{
    struct widening w = {
        .drafts = drafts, .kept.err = drafts->words->arena->err, .seed = hash_seed()};
    for (size_t i = 0; i < drafts->count; i++)
        if (!drafts->at[i].drops)
            keep_prefixes(&w, &drafts->at[i]);
    for (size_t i = 0; i < drafts->count; i++) {
        const struct draft *d = &drafts->at[i];
        if (d->drops)
            list_prefixes(&w, (uint32_t)i, d);
        else if (!d->whole)
            list_tails(&w, (uint32_t)i, d);
    }
    if (!words_failed(drafts->words))
        widen_all(&w);
    free(w.place);
    strmap_release(&w.kept);
    drafts_sweep(drafts);
}
