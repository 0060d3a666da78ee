/* likeness.c - the words of names, and how alike two names are. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/maps/infer/guess.h"

#define WORD_BYTES 64

int infer_name_order(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            const size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
            const size_t n = strspn(a + zeros_a, "0123456789"),
                         m = strspn(b + zeros_b, "0123456789");
            const int order = n == m ? strncmp(a + zeros_a, b + zeros_b, n) : n < m ? -1 : 1;
            if (order)
                return order;
            a += zeros_a + n;
            b += zeros_b + m;
        } else if (*a != *b) {
            break;
        } else {
            a++, b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* Words end where the kind or the case of characters changes: SelfAttention is Self and
 * Attention. */
void guess_words(const char *name, struct name_words *out)
{
    out->count = out->numbers = 0;
    for (const char *at = name; *at && out->count < WORDS_MAX;) {
        const char *end = at + 1;
        if (isdigit((unsigned char)*at)) {
            at += *at == '0' && isdigit((unsigned char)at[1]) ? strspn(at, "0") : 0;
            at -= isdigit((unsigned char)*at) ? 0 : 1;
            end = at + strspn(at, "0123456789");
        } else if (isalpha((unsigned char)*at)) {
            while (isalpha((unsigned char)*end) && isupper((unsigned char)*at) &&
                   isupper((unsigned char)*end))
                end++;
            while (islower((unsigned char)*end))
                end++;
        } else {
            at++;
            continue;
        }
        out->number[out->count] = isdigit((unsigned char)*at) ? ++out->numbers : 0;
        out->at[out->count] = at;
        out->len[out->count++] = (size_t)(end - at);
        at = end;
    }
}

double guess_word_likeness(const char *a, size_t n, const char *b, size_t m)
{
    size_t same = 0;
    while (same < n && same < m &&
           tolower((unsigned char)a[same]) == tolower((unsigned char)b[same]))
        same++;
    if (same == n && same == m)
        return 1;
    if (isdigit((unsigned char)*a) || (same < n && same < m && same < 3))
        return 0;
    return same == n || same == m ? 0.7 : 0.4;
}

/* A word in lower case, cut to WORD_BYTES. */
static size_t lower_word(const char *at, size_t len, char out[WORD_BYTES])
{
    size_t n = 0;
    for (; n < len && n < WORD_BYTES; n++)
        out[n] = (char)tolower((unsigned char)at[n]);
    return n;
}

bool infer_words_add(struct infer_words *w, const char *name)
{
    struct name_words x;
    guess_words(name, &x);
    w->names++;
    for (unsigned i = 0; i < x.count; i++) {
        char word[WORD_BYTES];
        const char *kept;
        bool added;
        uint64_t *count = strmap_keep(&w->counts, w->arena, word,
                                      lower_word(x.at[i], x.len[i], word), &kept, &added);
        if (!count)
            return false;
        *count += 1;
    }
    return true;
}

/* 1 for a word that only one name contains, less for one in many. */
static double weight_of(const struct infer_words *w, const char *at, size_t len)
{
    char word[WORD_BYTES];
    const size_t n = lower_word(at, len, word);
    const uint64_t *count = w && n ? strmap_get(&w->counts, word, n) : NULL;
    return count && w->names > 1
               ? 0.05 + log((double)w->names / (double)*count + 1) / log((double)w->names + 1)
               : 1;
}

double infer_likeness(const struct infer_words *words, const char *a, const char *b)
{
    struct name_words x = {0}, y = {0};
    bool taken[WORDS_MAX] = {false};
    double sum = 0, all = 0;
    guess_words(a, &x);
    guess_words(b, &y);
    for (unsigned i = 0; i < x.count; i++) {
        double most = 0, weight = weight_of(words, x.at[i], x.len[i]);
        unsigned best = 0;
        all += weight;
        for (unsigned k = 0; k < y.count; k++) {
            const double like = taken[k] || x.number[i] != y.number[k]
                                    ? 0
                                    : guess_word_likeness(x.at[i], x.len[i], y.at[k], y.len[k]);
            if (like > most)
                most = like, best = k;
        }
        if (most > 0) {
            taken[best] = true;
            weight += weight_of(words, y.at[best], y.len[best]);
        }
        sum += most * weight;
    }
    for (unsigned k = 0; k < y.count; k++)
        all += weight_of(words, y.at[k], y.len[k]);
    return all > 0 ? 2 * sum / all : 0;
}
