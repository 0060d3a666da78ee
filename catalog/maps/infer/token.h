/*
 * token.h - names as words, numbers and the characters between them, and patterns of such tokens.
 *
 *   block_011/q      block _ 011 / q          TEXT TEXT NUMBER TEXT TEXT
 *
 * Equal texts have equal ids, so comparing tokens is comparing numbers.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"

enum token_kind {
    TOKEN_TEXT,   /* id: a word, or a single other byte */
    TOKEN_NUMBER, /* id: its digits; only in names */
    /* Groups in the pattern of an old name: */
    TOKEN_DIGITS,
    TOKEN_CHOICE, /* id: the regular expressions of its texts, joined by '|' */
    TOKEN_REST,
    /* In a new name, what a group becomes: */
    TOKEN_COPY,  /* the group's text */
    TOKEN_INT,   /* the number without leading zeros */
    TOKEN_TABLE, /* id: a JSON object; looked up by the group's text, or by all groups (group 0) */
    TOKEN_PART,  /* the part's label */
    TOKEN_PARTS, /* id: a JSON object; looked up by the part's label */
    TOKEN_KEY,   /* what follows is the key of a join */
};

struct token {
    enum token_kind kind;
    uint32_t id;
    uint32_t group; /* from 1; 0: none */
};

struct words {
    struct arena *arena; /* its `err` gets every failure of inference */
    struct strmap map;
    struct word {
        const char *at;
        size_t len;
    } * word;
    size_t count, space;
};

static inline bool words_failed(const struct words *w)
{
    return w->arena->err->status != OK;
}

/* The id of a text, which is copied; 0 after a failure, too. words_take() releases it. */
uint32_t words_id(struct words *, const char *at, size_t len);
uint32_t words_take(struct words *, struct text *);
/* The tokens of a name, in the arena, and their number. NULL after a failure. */
struct token *words_split(struct words *, const char *name, size_t *count);

static inline bool token_is_group(const struct token *t)
{
    return t->kind == TOKEN_DIGITS || t->kind == TOKEN_CHOICE || t->kind == TOKEN_REST;
}

static inline bool token_same(const struct token *a, const struct token *b)
{
    return a->kind == b->kind && a->id == b->id && a->group == b->group;
}
