/*
 * proof.c - verifies rules by running them over the names that they were made from; and the parts in
 * which the names made of one tensor differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/compose/operation.h"
#include "catalog/maps/infer/inference.h"

struct parted infer_parted(struct inference *f, const struct infer_item *item)
{
    struct parted p = {0};
    p.first = words_split(&f->words, item->made[0], &p.count);
    p.head = p.tail = p.count;
    for (size_t i = 1; p.first && i < item->count; i++) {
        size_t n, head = 0, tail = 0;
        struct token *t = words_split(&f->words, item->made[i], &n);
        while (t && head < p.head && head < n && token_same(&t[head], &p.first[head]))
            head++;
        while (t && tail < p.tail && tail + head < n && tail + head < p.count &&
               token_same(&t[n - 1 - tail], &p.first[p.count - 1 - tail]))
            tail++;
        p.head = head;
        p.tail = tail < p.tail ? tail : p.tail;
    }
    if (p.head + p.tail > p.count)
        p.tail = p.count - p.head;
    return p;
}

const char *infer_label(struct inference *f, const struct parted *p, const char *name)
{
    size_t n;
    struct token *t = words_split(&f->words, name, &n);
    return t && n >= p->head + p->tail ? draft_text(&f->words, t, p->head, n - p->tail) : "";
}

bool infer_labels_count(const char *const *label, size_t count, unsigned long *first)
{
    char expected[32];
    char *end;
    *first = strtoul(label[0], &end, 10);
    for (size_t i = 0; i < count; i++) {
        snprintf(expected, sizeof(expected), "%lu", *first + (unsigned long)i);
        if (*first > 1000000000 || strcmp(label[i], expected) != 0)
            return false;
    }
    return true;
}

/* Append the operations, without white space and casts, then '|' and the last cast:
 * [["cast","float32"], ["transpose"]] is ["transpose"]|float32. */
static bool put_operations(const char *ops, struct text *out)
{
    struct elements all;
    struct operation o;
    struct error err = {.offset = NO_OFFSET};
    const char *cast = "";
    size_t cast_len = 0;
    elements_of(&all, ops, strlen(ops));
    while (operations_next(&all, &o, &err) > 0) {
        if (o.kind == OPERATION_CAST) {
            cast = o.argument[0].at;
            cast_len = o.argument[0].len;
            continue;
        }
        for (size_t i = 0; i < o.len; i++)
            if (o.at[i] != ' ')
                text_addc(out, o.at[i]);
    }
    text_addc(out, '|');
    return text_add(out, cast, cast_len) && err.status == OK;
}

/* Whether the result of a rule has the operations that the item wants. */
static bool operates(struct inference *f, const struct rule_result *r,
                     const struct infer_item *item)
{
    const char *ops = f->words.word[f->example[item - f->item].ops].at;
    struct text filled = {0}, is = {0}, wanted = {0};
    bool good = true;
    for (; *ops; ops++)
        if (*ops == '%' && item->form == INFER_JOIN)
            text_addf(&filled, "%lld", (long long)item->key);
        else
            text_addc(&filled, *ops);
    if (filled.len)
        good = put_operations(text_str(&filled), &wanted);
    else
        text_addc(&wanted, '|');
    good = good && put_operations(r->ops ? r->ops : "[]", &is) &&
           (r->ops || !r->cast || text_adds(&is, r->cast)) && text_str(&wanted) &&
           strcmp(text_str(&is), text_str(&wanted)) == 0;
    text_release(&filled);
    text_release(&is);
    text_release(&wanted);
    return good;
}

/* The labels of an item's parts, as running the rules passes them: numbers if it is unstacked,
 * else what the operation lists. NULL after a failure. */
static const char *const *labels_of(struct inference *f, const struct infer_item *item)
{
    const struct parted p = infer_parted(f, item);
    const char **label = arena_array(f->words.arena, item->count, sizeof(*label));
    unsigned long first = 0;
    for (size_t k = 0; label && k < item->count; k++)
        label[k] = infer_label(f, &p, item->made[k]);
    if (!label || item->form != INFER_UNSTACK)
        return label;
    first = infer_labels_count(label, item->count, &first) ? first : 0;
    for (size_t k = 0; k < item->count; k++) {
        char number[32];
        const int len = snprintf(number, sizeof(number), "%lu", first + (unsigned long)k);
        label[k] = arena_copy(f->words.arena, number, (size_t)len);
    }
    return label;
}

/* Whether the rules make the right names of an item; marks the rules that did it in `used`. */
static bool is_made(struct inference *f, struct rules *rules, const struct infer_item *item,
                    bool *used)
{
    const size_t len = strlen(item->old);
    const bool parted = item->count && item->form != INFER_PLAIN && item->form != INFER_JOIN;
    const char *const *label = parted ? labels_of(f, item) : NULL;
    for (size_t i = 0; i < (parted ? item->count : 1) && !words_failed(&f->words); i++) {
        const struct rule_result *r = parted ? rules_apply_part(rules, label[i], item->old, len)
                                             : rules_apply(rules, item->old, len);
        if (r->no_memory)
            arena_fail(f->words.arena);
        const char *name = item->count ? item->made[i] : NULL;
        if (!name ? r->outcome != RULE_DROPPED
                  : r->outcome != RULE_OK || strlen(name) != r->len ||
                        memcmp(r->text, name, r->len) != 0 || !operates(f, r, item))
            return false;
        used[r->ord] = true;
    }
    return !words_failed(&f->words);
}

size_t infer_try_rules(struct inference *f, bool *wrong)
{
    const enum rules_shape shape = f->converts ? RULES_FULLMATCH : RULES_TRANSLATOR;
    struct rules *rules = ruleset_compile(f->set, shape);
    bool *used = arena_array(f->words.arena, f->set->rules + 1, sizeof(*used));
    size_t count = 0, kept = 0;
    if (!rules)
        arena_fail(f->words.arena);
    for (size_t i = 0; !words_failed(&f->words) && i < f->count; i++) {
        wrong[i] = !is_made(f, rules, &f->item[i], used);
        count += wrong[i];
    }
    rules_free(rules);
    for (size_t i = 0; !words_failed(&f->words) && !count && i < f->set->rules; i++) {
        if (!used[i + 1])
            continue;
        f->set->rule[kept] = f->set->rule[i];
        f->set->rule[kept].ord = (int64_t)kept + 1;
        kept++;
    }
    if (!words_failed(&f->words) && !count)
        f->set->rules = kept;
    return count;
}
