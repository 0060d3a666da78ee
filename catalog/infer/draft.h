/*
 * draft.h - rules in the making: patterns of tokens, before they are regular expressions.
 *
 *   old  decoder / block _ DIGITS#1 / CHOICE(q|k)#2     new  layers _ INT#1 / TABLE{..}#2
 *
 * Groups count from 1 in the order of the old name. Three steps make drafts and make them fewer:
 * numbers become groups (drafts_make), equal tails become one group (drafts_widen), texts in which
 * drafts differ become choices and tables (drafts_merge).
 */
#ifndef CKPTDB_INFER_DRAFT_H
#define CKPTDB_INFER_DRAFT_H

#include "catalog/infer/infer.h"
#include "catalog/infer/token.h"

struct draft {
    struct token *old, *new;
    uint32_t olds, news;
    uint32_t ops;  /* of words; the empty text: none */
    uint32_t turn; /* of its first name */
    bool drops;    /* then `new` is empty */
    bool whole;    /* a table is looked up by all groups: no more of them */
    bool gone;     /* became part of another */
};

struct drafts {
    struct words *words;
    struct draft *at;
    size_t count, space;
};

/* A name, and what becomes of it. */
struct example {
    struct token *old, *new;
    uint32_t olds, news, ops, turn;
    bool drops;
    uint32_t skeleton; /* ids of the names with all numbers taken out, */
    uint32_t outcome;  /* and of the new one with operations: drafts have one */
};

/* A draft for each way in which names with numbers become others, exactly. False: no memory. */
bool drafts_make(struct drafts *, struct example *, size_t count);
/* The same tail in old and new name, or anything that is dropped below a prefix, as one group. */
bool drafts_widen(struct drafts *);
/* `shortest`: holes of few tokens go before those of many. */
bool drafts_merge(struct drafts *, bool shortest);

/* Those that are gone go. */
void drafts_sweep(struct drafts *);
bool drafts_add(struct drafts *, struct draft);

/* The regular expression of a text. */
bool draft_escape(struct text *out, const char *at, size_t len);
/* A JSON object of names and values, sorted by names; its id. */
struct draft_entry {
    const char *key, *value;
};
uint32_t draft_table(struct words *, struct draft_entry *, size_t count);
/* The texts of tokens from..to, joined, in the arena. */
const char *draft_text(struct words *, const struct token *, size_t from, size_t to);

/* For hashes of patterns: the seed is secret (strmap.h). */
static inline uint64_t draft_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static inline uint64_t draft_mix_token(uint64_t hash, const struct token *t)
{
    return draft_mix(hash, ((uint64_t)t->id << 16) + (t->group << 8) + t->kind);
}

/* A place where drafts could become one. */
struct draft_place {
    uint64_t key;
    uint32_t draft, from, to;
};

/* Sort places by key; then those of one key lie side by side. */
void draft_places_sort(struct draft_place *, size_t count);

#endif
