/* draft.c - lists of drafts, and the texts that go into them. */
#include "catalog/maps/infer/draft.h"

#include <stdlib.h>
#include <string.h>

void draft_escape(struct text *out, const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("\\.^$*+?{}[]|()", at[i]) && at[i])
            text_addc(out, '\\');
        text_addc(out, at[i]);
    }
}

void drafts_sweep(struct drafts *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++)
        if (!d->at[i].gone)
            d->at[kept++] = d->at[i];
    d->count = kept;
}

/* --- tables ------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct draft_entry *)a)->key, ((const struct draft_entry *)b)->key);
}

uint32_t draft_table(struct words *w, struct draft_entry *entry, size_t count)
{
    struct text json = {0};
    const char *last = NULL;
    qsort(entry, count, sizeof(*entry), by_key);
    for (size_t i = 0; i < count; i++) {
        if (last && strcmp(last, entry[i].key) == 0)
            continue;
        text_adds(&json, last ? ", " : "{");
        last = entry[i].key;
        text_json(&json, last, strlen(last));
        text_adds(&json, ": ");
        text_json(&json, entry[i].value, strlen(entry[i].value));
    }
    text_addc(&json, '}');
    return words_take(w, &json);
}

const char *draft_text(struct words *w, const struct token *t, size_t from, size_t to)
{
    size_t len = 0;
    for (size_t i = from; i < to; i++)
        len += w->word[t[i].id].len;
    char *text = arena_alloc(w->arena, len + 1), *at = text;
    for (size_t i = from; text && i < to; at += w->word[t[i++].id].len)
        memcpy(at, w->word[t[i].id].at, w->word[t[i].id].len);
    return text ? text : "";
}
