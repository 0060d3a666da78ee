/*
 * filter.c - selects the parameters that a part of a spec applies to: {"contains": S},
 * {"startswith": S}, {"endswith": S} and {"search": REGEX}, applied to '/' + name, and their
 * negation {"not": F}.
 */
#include <string.h>

#include "catalog/maps/optimizer/engine.h"

static const char *const kinds[] = {"contains", "startswith", "endswith", "search"};

/* The innermost filter; *wanted is flipped for each "not" around it. */
static const struct json_value *unwrap(const struct json_value *f, bool *wanted)
{
    const struct json_value *inner;
    while (json_type_of(f) == JSON_OBJECT && f->count == 1 && (inner = json_get(f, "not"))) {
        f = inner;
        *wanted = !*wanted;
    }
    return f;
}

static bool is_filter(const struct json_value *f)
{
    bool known = false;
    if (json_type_of(f) != JSON_OBJECT || f->count != 1 || f->first->type != JSON_STRING)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        known = known || strcmp(f->first->key, kinds[i]) == 0;
    return known;
}

/* Why f is not a filter; NULL if it is one. *regex is set for a "search". */
static const char *judge(struct run *r, const struct json_value *f, struct regex **regex)
{
    const char *error = NULL;
    *regex = NULL;
    if (!is_filter(f))
        return run_textf(r,
                         "filter %s is none of {\"contains\": S}, {\"startswith\": S}, "
                         "{\"endswith\": S}, {\"search\": S} and {\"not\": F}",
                         run_json(r, f));
    if (strcmp(f->first->key, "search") == 0)
        *regex = run_regex(r, f->first, &error);
    return error;
}

bool filter_check(struct run *r, const struct json_value *f)
{
    bool wanted = true;
    struct regex *regex;
    const char *error = judge(r, unwrap(f, &wanted), &regex);
    if (error)
        run_fault(r, "%s", error);
    return !error;
}

static bool contains(const char *text, size_t len, struct bytes what)
{
    for (size_t at = 0; at + what.len <= len; at++)
        if (memcmp(text + at, what.at, what.len) == 0)
            return true;
    return false;
}

/* Negative if the regex hit a limit. */
static int passes(struct run *r, const char *kind, struct bytes what, struct regex *regex,
                  const struct text *path)
{
    const char *text = path->at;
    size_t len = path->len;
    switch (kind[0]) {
    case 'c': return contains(text, len, what);
    case 'e': return what.len <= len && memcmp(text + len - what.len, what.at, what.len) == 0;
    default:
        return regex ? regex_exec(regex, text, len, 0, r->err)
                     : what.len <= len && memcmp(text, what.at, what.len) == 0;
    }
}

static void select_members(struct run *r, const struct json_value *f, bool wanted,
                           const struct members *from, struct members *out)
{
    struct regex *regex;
    struct text path = {0};
    f = unwrap(f, &wanted);
    if (judge(r, f, &regex))
        return;
    for (size_t i = 0; r->err->status == OK && i < from->count; i++) {
        text_reset(&path);
        text_addc(&path, '/');
        if (!text_add(&path, from->at[i]->name, from->at[i]->len))
            error_memory(r->err);
        else if (passes(r, f->first->key, f->first->text, regex, &path) == (int)wanted)
            out->at[out->count++] = from->at[i];
    }
    text_release(&path);
}

struct members filter_members(struct run *r, const struct json_value *f, bool wanted,
                              const struct members *from)
{
    struct members out = {arena_array(r->arena, from->count + 1, sizeof(*out.at)), 0};
    if (!value_null(f) && f->type != JSON_TRUE) {
        if (out.at)
            select_members(r, f, wanted, from, &out);
        return out;
    }
    return wanted ? *from : out; /* null and true select all */
}

static void filter_rows(struct run *r, const struct json_value *f, const char *place)
{
    const size_t before = r->rows->count;
    const struct members all = members_all(r);
    if (filter_check(r, f)) {
        const struct members some = filter_members(r, f, true, &all);
        for (size_t i = 0; i < some.count; i++)
            run_add(r, (struct optimizer_row){.path = place, .param = some.at[i]});
    } else if (r->rows->count > before) {
        r->rows->at[before].path = place;
    }
}

void optimizer_filter(struct bytes filters, const struct optimizer_params *params,
                      struct optimizer_rows *out)
{
    struct error *err = out->arena->err;
    struct run r = {.arena = out->arena, .params = params, .rows = out, .err = err};
    const struct json_value *list = json_read_tree(filters, r.arena, err);
    unsigned place = 0;
    for (const struct json_value *f = list ? list->first : NULL; f; f = f->next)
        filter_rows(&r, f, run_textf(&r, "%u", place++));
    run_end(&r);
}
