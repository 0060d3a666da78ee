/*
 * kauldron_rule.c - what the options of a set ignore, and which names of source and model a rule takes.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/search.h"
#include "catalog/maps/map/kauldron_private.h"

/* --- what the options ignore ------------------------------------------------------------- */

static bool add_filter(struct loader *l, struct filters *f, struct map_text pattern)
{
    struct kontext path;
    struct text text = {0};
    struct error err = {0};
    size_t space = f->count;
    struct regex **grown = arena_grow(&l->task->arena, f->regex, f->count, &space, sizeof(*grown));
    if (!grown || !kontext_parse(&l->task->arena, pattern.at, pattern.len, &path))
        return false;
    f->regex = grown;
    f->given = true;
    if (!path.good) {
        kontext_fault(&path, &text);
        struct map_text error = map_keep(l->task, &text);
        f->error = f->error.at ? f->error : error;
        return true;
    }
    kontext_filter(&path, &text);
    const char *regex = text_str(&text);
    bool good =
        regex && regex_compile(regex, text.len, REGEX_MATCH, &f->regex[f->count], &err) == OK;
    f->count += good;
    text_release(&text);
    return good;
}

bool kauldron_read_filters(struct loader *l, const char *option, struct filters *f)
{
    struct map_text *pattern;
    size_t count = map_list(l->task, option, &pattern);
    for (size_t i = 0; i < count; i++)
        if (!add_filter(l, f, pattern[i]))
            return false;
    return true;
}

void kauldron_filters_release(struct filters *f)
{
    for (size_t i = 0; i < f->count; i++)
        regex_free(f->regex[i]);
}

/* The key as the original prints it; valid until the next call. */
static struct map_text print_key(struct loader *l, struct map_text rest)
{
    text_reset(&l->key);
    if (rest.at && rest.len == 0)
        text_adds(&l->key, "['']");
    else if (rest.at)
        kontext_print_name(rest.at, rest.len, &l->key);
    return (struct map_text){l->key.at ? l->key.at : "", l->key.len};
}

bool kauldron_is_ignored(struct loader *l, struct filters *f, struct map_text rest)
{
    struct map_text key = print_key(l, rest);
    struct error err = {0};
    int matched = 0;
    for (size_t i = 0; matched == 0 && i < f->count; i++)
        matched = regex_exec(f->regex[i], key.at, key.len, 0, &err);
    if (matched < 0 && err.status == ERR_MEMORY)
        l->task->failed = true;
    else if (matched < 0 && !f->broken.at)
        f->broken = map_say(l->task, "error: a pattern to ignore: %s: %s", key.at, err.message);
    return matched > 0;
}

struct map_text kauldron_unwanted_key(struct loader *l, const char *what, struct map_text rest,
                                      const char *option)
{
    struct map_text key = print_key(l, rest);
    return map_say(l->task,
                   "ValueError: %s key in restored checkpoint: %s. If you don't want to load this "
                   "key, please use a matching pattern in the `%s` argument.",
                   what, key.at, option);
}

struct map_text kauldron_glob_error(struct loader *l, struct map_text key)
{
    return map_say(l->task,
                   "error: the original takes the key '%.*s' for a glob, and writes to its "
                   "neighbours, too",
                   (int)key.len, key.at);
}

/* --- names that a rule takes ------------------------------------------------------------- */

bool kauldron_origin_of(struct loader *l, const struct entry *e, struct map_text rest,
                        struct map_text *out)
{
    *out = kauldron_join(l->task, e->origin, rest);
    if (!e->sliced)
        return true;
    if (!kauldron_is_position(rest, e->picks))
        return false;
    const char *slash = memchr(rest.at, '/', rest.len);
    size_t len = slash ? (size_t)(slash - rest.at) : rest.len;
    unsigned long long i = strtoull(rest.at, NULL, 10);
    *out = kauldron_element(l->task, e->origin, e->pick[i]);
    if (slash)
        *out = kauldron_join(l->task, *out, (struct map_text){slash + 1, rest.len - len - 1});
    return true;
}

/* The picks of a slice are in order, ascending or descending. */
static bool find_pick(const struct entry *e, int64_t element, size_t *at)
{
    const bool back = e->picks > 1 && e->pick[1] < e->pick[0];
    PARTITION_POINT(*at, e->picks, back ? e->pick[*at] > element : e->pick[*at] < element);
    return *at < e->picks && e->pick[*at] == element;
}

bool kauldron_rest_of(struct loader *l, const struct entry *e, struct map_text name,
                      struct map_text *rest)
{
    size_t at;
    if (!kauldron_is_below(e->origin, name, rest))
        return false;
    if (!e->sliced)
        return true;
    if (!kauldron_is_position(*rest, SIZE_MAX) || !find_pick(e, strtoll(rest->at, NULL, 10), &at))
        return false;
    const char *slash = memchr(rest->at, '/', rest->len);
    const struct map_text inside =
        slash ? (struct map_text){slash + 1, rest->len - (size_t)(slash + 1 - rest->at)}
              : (struct map_text){0};
    *rest = kauldron_join(l->task, map_say(l->task, "%zu", at), inside);
    return true;
}
