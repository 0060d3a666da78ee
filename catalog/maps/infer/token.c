#include "catalog/maps/infer/token.h"

#include <ctype.h>
#include <string.h>

uint32_t words_id(struct words *w, const char *at, size_t len)
{
    const char *kept;
    bool added = false;
    uint64_t *value = strmap_keep(&w->map, w->arena, at, len, &kept, &added);
    if (!value)
        arena_fail(w->arena);
    if (value && added) {
        *value = w->count;
        *PUSH(w->arena, w->word, w->count, w->space) = (struct word){kept, len};
    }
    return value && !words_failed(w) ? (uint32_t)*value : 0;
}

uint32_t words_take(struct words *w, struct text *t)
{
    const char *made = text_str(t);
    const uint32_t id = made ? words_id(w, made, t->len) : 0;
    if (!made)
        arena_fail(w->arena);
    text_release(t);
    return id;
}

/* What kind of byte this is: runs of 1 (digits) and of 2 (letters) are tokens; any other byte (0)
 * is a token by itself. */
static int token_class(char c)
{
    return isdigit((unsigned char)c) ? 1 : isalpha((unsigned char)c) ? 2 : 0;
}

struct token *words_split(struct words *w, const char *name, size_t *count)
{
    const size_t len = strlen(name);
    struct token *token = arena_array(w->arena, len + 1, sizeof(*token));
    *count = 0;
    for (size_t i = 0, end; token && i < len; i = end) {
        const int class = token_class(name[i]);
        for (end = i + 1; class && end < len && token_class(name[end]) == class;)
            end++;
        token[(*count)++] = (struct token){class == 1 ? TOKEN_NUMBER : TOKEN_TEXT,
                                           words_id(w, name + i, end - i), 0};
    }
    return words_failed(w) ? NULL : token;
}
