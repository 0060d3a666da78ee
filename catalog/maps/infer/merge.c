/*
 * merge.c - merges drafts that differ in one text: the texts become a choice in the old name, and
 * a copy or a table in the new one.
 *
 *   dec/(\d+)/q  dec.\1.query          dec/(\d+)/(q|k)  dec.\1.TABLE{q: query, k: key}#2
 *   dec/(\d+)/k  dec.\1.key
 *
 * A place is a draft with a hole, some tokens, in its old name. Drafts whose places have the same
 * key (equal around the hole, the same groups in the new name) differ only in the hole. Holes
 * that most drafts share are merged first; or short holes are, so that two choices side by side
 * become two groups.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/maps/infer/draft.h"

#define HOLE_MAX    10    /* tokens */
#define MANY_DRAFTS 2000  /* with more, holes have */
#define MANY_HOLE   3     /* at most this many tokens, */
#define DRAFTS_MAX  20000 /* and with more than this, nothing is merged */
#define MEMBERS_MAX 4096  /* of a choice */

struct merging {
    struct drafts *drafts;
    struct words *words;
    struct draft_place *place;
    size_t places, space;
    uint64_t seed;
};

static bool is_reference(const struct token *t)
{
    return t->kind != TOKEN_TEXT;
}

/* --- places ------------------------------------------------------------------------------------ */

static void list_holes(struct merging *m, uint32_t number, uint32_t longest)
{
    const struct draft *d = &m->drafts->at[number];
    struct error *err = m->words->arena->err;
    if (d->whole)
        return;
    uint64_t *after = calloc(d->olds + 1, sizeof(*after));
    if (!after) {
        error_memory(err);
        return;
    }
    /* A hash of what drafts must have in common outside of the hole. */
    uint64_t before = draft_mix(draft_mix(m->seed, d->ops), d->drops);
    for (uint32_t i = 0; i < d->news; i++)
        if (is_reference(&d->new[i]))
            before = draft_mix_token(before, &d->new[i]);
    after[d->olds] = m->seed;
    for (uint32_t i = d->olds; i-- > 0;)
        after[i] = draft_mix_token(after[i + 1], &d->old[i]);
    for (uint32_t from = 0; from <= d->olds; from++) {
        for (uint32_t to = from; to <= d->olds && to - from <= longest; to++) {
            if (to > from && d->old[to - 1].kind != TOKEN_TEXT)
                break;
            if (from || to < d->olds) /* part of the name must remain */
                *LIST_PUSH(err, m->place, m->places, m->space) =
                    (struct draft_place){draft_mix(before, after[to]), number, from, to};
        }
        if (from < d->olds)
            before = draft_mix_token(before, &d->old[from]);
    }
    free(after);
}

/* --- one draft of several ------------------------------------------------------------------- */

/* A draft to be merged: its hole, and the tokens [at, end) of its new name that are being
 * merged. */
struct member {
    const struct draft *draft;
    const char *text; /* of the hole */
    uint32_t from, to, at, end;
};

struct one {
    struct merging *merging;
    struct member *member;
    size_t members;
    struct draft made;
    uint32_t group; /* number of the choice's group */
    size_t shared;  /* tokens of the new name that all members have */
};

static void put_new(struct one *o, struct token t)
{
    o->made.new[o->made.news++] = t;
}

static bool all_have(const struct one *o, uint32_t offset, bool from_end)
{
    const struct member *first = &o->member[0];
    for (size_t i = 0; i < o->members; i++) {
        const struct member *x = &o->member[i];
        if (x->at + offset >= x->end)
            return false;
        const uint32_t at = from_end ? x->end - 1 - offset : x->at + offset;
        const uint32_t is = from_end ? first->end - 1 - offset : first->at + offset;
        if (!token_same(&x->draft->new[at], &first->draft->new[is]))
            return false;
    }
    return true;
}

/* Merge the texts up to the next reference: what all members begin with, what they differ in, and
 * what all end with. */
static void put_segment(struct one *o)
{
    uint32_t head = 0, tail = 0;
    while (all_have(o, head, false))
        head++;
    for (uint32_t i = 0; i < head; i++)
        put_new(o, o->member[0].draft->new[o->member[0].at + i]);
    for (size_t i = 0; i < o->members; i++)
        o->member[i].at += head;
    while (all_have(o, tail, true))
        tail++;
    for (size_t i = 0; i < o->members; i++)
        o->member[i].end -= tail;
    /* Append what the members' segments differ in: a copy of the hole's text, or a table. */
    struct words *w = o->merging->words;
    struct draft_entry *entry = arena_array(w->arena, o->members, sizeof(*entry));
    bool copies = true, some = false;
    for (size_t i = 0; entry && i < o->members; i++) {
        const struct member *x = &o->member[i];
        entry[i] = (struct draft_entry){x->text, draft_text(w, x->draft->new, x->at, x->end)};
        copies = copies && strcmp(entry[i].key, entry[i].value) == 0;
        some = some || x->at < x->end;
    }
    if (entry && some)
        put_new(o, copies
                       ? (struct token){TOKEN_COPY, 0, o->group}
                       : (struct token){TOKEN_TABLE, draft_table(w, entry, o->members), o->group});
    for (uint32_t i = 0; i < tail; i++)
        put_new(o, o->member[0].draft->new[o->member[0].end + i]);
    o->shared += head + tail;
    for (size_t i = 0; i < o->members; i++)
        o->member[i].at = o->member[i].end + tail;
}

static void put_new_name(struct one *o)
{
    const struct draft *first = o->member[0].draft;
    for (bool more = !first->drops; more;) {
        for (size_t i = 0; i < o->members; i++) {
            struct member *x = &o->member[i];
            for (x->end = x->at; x->end < x->draft->news && !is_reference(&x->draft->new[x->end]);)
                x->end++;
        }
        put_segment(o);
        more = o->member[0].at < first->news;
        if (!more)
            break;
        struct token t = first->new[o->member[0].at];
        t.group += t.group >= o->group;
        put_new(o, t);
        o->shared++;
        for (size_t i = 0; i < o->members; i++)
            o->member[i].at++;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->text, ((const struct member *)b)->text);
}

/* The old name, with a choice in place of the hole. */
static void put_old_name(struct one *o)
{
    const struct draft *d = o->member[0].draft;
    const uint32_t from = o->member[0].from, to = o->member[0].to;
    struct text choice = {0};
    o->group = 1;
    for (uint32_t i = 0; i < from; i++)
        o->group += token_is_group(&d->old[i]);
    qsort(o->member, o->members, sizeof(*o->member), by_text);
    for (size_t i = 0; i < o->members; i++) {
        text_adds(&choice, i ? "|" : "");
        draft_escape(&choice, o->member[i].text, strlen(o->member[i].text));
    }
    const struct token group = {TOKEN_CHOICE, words_take(o->merging->words, &choice), o->group};
    for (uint32_t i = 0; i < d->olds; i++) {
        if (i == from)
            o->made.old[o->made.olds++] = group;
        if (i >= from && i < to)
            continue;
        struct token t = d->old[i];
        t.group += t.group >= o->group;
        o->made.old[o->made.olds++] = t;
    }
    if (from >= d->olds)
        o->made.old[o->made.olds++] = group;
}

static bool is_free(const struct merging *m, const struct draft_place *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (m->drafts->at[p[i].draft].gone || (i && p[i].draft == p[i - 1].draft))
            return false;
    return true;
}

/* Merge the drafts of these places; false: they share too little of the new name, or were merged
 * already. */
static bool merge_places(struct merging *m, const struct draft_place *p, size_t count)
{
    struct arena *arena = m->words->arena;
    struct one o = {.merging = m, .members = count};
    uint32_t olds = 1, news = 1;
    if (count > MEMBERS_MAX || !is_free(m, p, count))
        return false;
    o.member = arena_array(arena, count, sizeof(*o.member));
    for (size_t i = 0; o.member && i < count; i++) {
        const struct draft *d = &m->drafts->at[p[i].draft];
        o.member[i] = (struct member){
            d, draft_text(m->words, d->old, p[i].from, p[i].to), p[i].from, p[i].to, 0, 0};
        olds += d->olds;
        news += d->news + 1;
    }
    o.made = m->drafts->at[p[0].draft];
    o.made.old = arena_array(arena, olds, sizeof(struct token));
    o.made.new = arena_array(arena, news, sizeof(struct token));
    o.made.olds = o.made.news = 0;
    if (!o.member || !o.made.old || !o.made.new || words_failed(m->words))
        return false;
    put_old_name(&o);
    put_new_name(&o);
    if (!o.shared && !o.made.drops)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct draft *d = &m->drafts->at[p[i].draft];
        o.made.turn = d->turn < o.made.turn ? d->turn : o.made.turn;
        d->gone = true;
    }
    *PUSH(arena, m->drafts->at, m->drafts->count, m->drafts->space) = o.made;
    return true;
}

/* --- all drafts ----------------------------------------------------------------------------- */

struct best {
    size_t first, count, tokens;
    uint32_t draft, from, to; /* of the first place, as keys are random */
};

static int by_size(const void *a, const void *b)
{
    const struct best *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    if (x->draft != y->draft)
        return x->draft < y->draft ? -1 : 1;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Merge at holes of up to `longest` tokens; true if anything was merged. */
static bool merge_round(struct merging *m, uint32_t longest)
{
    size_t found = 0;
    bool merged = false;
    m->places = 0;
    for (size_t i = 0; i < m->drafts->count && !words_failed(m->words); i++)
        list_holes(m, (uint32_t)i, longest);
    draft_places_sort(m->place, m->places);
    struct best *best = calloc(m->places + 1, sizeof(*best));
    if (!best)
        error_memory(m->words->arena->err);
    for (size_t i = 0, end; best && !words_failed(m->words) && i < m->places; i = end) {
        size_t tokens = 0;
        for (end = i; end < m->places && m->place[end].key == m->place[i].key; end++)
            tokens += m->place[end].to - m->place[end].from;
        if (end - i > 1)
            best[found++] = (struct best){
                i, end - i, tokens, m->place[i].draft, m->place[i].from, m->place[i].to};
    }
    if (best)
        qsort(best, found, sizeof(*best), by_size);
    for (size_t i = 0; best && i < found && !words_failed(m->words); i++)
        merged |= merge_places(m, &m->place[best[i].first], best[i].count);
    free(best);
    drafts_sweep(m->drafts);
    return merged;
}

void drafts_merge(struct drafts *drafts, bool shortest)
{
    struct merging m = {.drafts = drafts, .words = drafts->words, .seed = hash_seed()};
    const uint32_t most = drafts->count > MANY_DRAFTS ? MANY_HOLE : HOLE_MAX;
    for (uint32_t longest = shortest ? 1 : most; longest <= most && drafts->count <= DRAFTS_MAX;
         longest++)
        while (!words_failed(m.words) && merge_round(&m, longest)) {}
    free(m.place);
}
