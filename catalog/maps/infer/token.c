#include "catalog/maps/infer/token.h"

#include <ctype.h>
#include <string.h>

uint32_t words_id(struct words *w, const char *at, size_t len)
{
    const char *kept;
    bool added = false;
    uint64_t *value = strmap_keep(&w->map, w->arena, at, len, &kept, &added);
    struct word *grown =
        value && added ? arena_grow(w->arena, w->word, w->count, &w->space, sizeof(*grown)) : NULL;
    if (!value || (added && !grown)) {
        w->failed = true;
        return 0;
    }
    if (added) {
        w->word = grown;
        w->word[w->count] = (struct word){kept, len};
        *value = w->count++;
    }
    return (uint32_t)*value;
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
    return w->failed ? NULL : token;
}
