/*
 * draft.h - rules in the making: patterns of tokens, which are written as regular expressions
 * later.
 *
 *   old  decoder / block _ DIGITS#1 / CHOICE(q|k)#2     new  layers _ INT#1 / TABLE{..}#2
 *
 * Groups are numbered from 1 in the order of the old name. Three steps make drafts and reduce
 * their number: varying numbers become groups (drafts_make), equal tails become one group
 * (drafts_widen), and texts in which drafts differ become choices and tables (drafts_merge).
 */
#pragma once

#include "catalog/maps/infer/infer.h"
#include "catalog/maps/infer/token.h"

struct draft {
    struct token *old, *new;
    uint32_t olds, news;
    uint32_t ops;  /* id of the operations' text; the empty text's id: none */
    uint32_t turn; /* position of its first name in the list */
    bool drops;    /* then `new` is empty */
    bool whole;    /* a table's key is all groups: add no more */
    bool gone;     /* replaced by another draft */
};

struct drafts {
    struct words *words; /* take every failure (token.h) */
    struct draft *at;
    size_t count, space;
};

/* A name, and the name that it becomes. */
struct example {
    struct token *old, *new;
    uint32_t olds, news, ops, turn;
    bool drops;
    uint32_t skeleton; /* ids of the old name with all numbers removed, */
    uint32_t outcome;  /* and of the new one with its operations: one per draft */
};

/* For each skeleton and outcome, a draft that makes exactly its names. */
void drafts_make(struct drafts *, struct example *, size_t count);
/* Replace equal tails of old and new names, and all that is dropped below a prefix, by a group. */
void drafts_widen(struct drafts *);
/* `shortest`: merge at short holes (merge.c) before long ones. */
void drafts_merge(struct drafts *, bool shortest);

/* Remove drafts that are gone. */
void drafts_sweep(struct drafts *);

/* Append a text as a regular expression. */
void draft_escape(struct text *out, const char *at, size_t len);
/* A JSON object with these members, sorted by key; returns the id of its text. */
struct draft_entry {
    const char *key, *value;
};
uint32_t draft_table(struct words *, struct draft_entry *, size_t count);
/* The texts of the tokens [from, to), joined, in the arena. */
const char *draft_text(struct words *, const struct token *, size_t from, size_t to);

/* To hash patterns: the seed is secret (strmap.h). */
static inline uint64_t draft_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static inline uint64_t draft_mix_token(uint64_t hash, const struct token *t)
{
    return draft_mix(hash, ((uint64_t)t->id << 16) + (t->group << 8) + t->kind);
}

/* A place at which a draft could be joined with others of the same key. */
struct draft_place {
    uint64_t key;
    uint32_t draft, from, to;
};

/* Sort by key, so that places with the same key are neighbours. */
void draft_places_sort(struct draft_place *, size_t count);
