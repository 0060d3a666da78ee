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

/* Why f is not a filter, in *error; NULL: it is one. *regex is set for a "search". */
static bool judge(struct run *r, const struct json_value *f, struct regex **regex,
                  const char **error)
{
    *regex = NULL;
    *error = NULL;
    if (is_filter(f))
        return strcmp(f->first->key, "search") != 0 || run_regex(r, f->first, regex, error);
    const char *shown = run_json(r, f);
    *error = shown ? run_textf(r,
                               "filter %s is none of {\"contains\": S}, {\"startswith\": S}, "
                               "{\"endswith\": S}, {\"search\": S} and {\"not\": F}",
                               shown)
                   : NULL;
    return *error != NULL;
}

bool filter_check(struct run *r, const struct json_value *f, bool *good)
{
    bool wanted = true;
    struct regex *regex;
    const char *error;
    if (!judge(r, unwrap(f, &wanted), &regex, &error))
        return false;
    *good = !error;
    return *good || run_fault(r, "%s", error);
}

static bool contains(const char *text, size_t len, struct bytes what)
{
    for (size_t at = 0; at + what.len <= len; at++)
        if (memcmp(text + at, what.at, what.len) == 0)
            return true;
    return false;
}

/* 1: the path matches; 0: it does not; -1: the regex hit a limit (r->err). */
static int passes(struct run *r, const char *kind, struct bytes what, struct regex *regex,
                  struct text *path)
{
    const char *text = path->at;
    size_t len = path->len;
    switch (kind[0]) {
    case 'c':
        return contains(text, len, what);
    case 'e':
        return what.len <= len && memcmp(text + len - what.len, what.at, what.len) == 0;
    default:
        return regex ? regex_exec(regex, text, len, 0, r->err)
                     : what.len <= len && memcmp(text, what.at, what.len) == 0;
    }
}

/* null and true select all parameters. */
static bool everything(const struct json_value *f)
{
    return value_null(f) || f->type == JSON_TRUE;
}

static bool select_members(struct run *r, const struct json_value *f, bool wanted,
                           const struct members *from, struct members *out)
{
    const char *error;
    struct regex *regex;
    struct text path = {0};
    f = unwrap(f, &wanted);
    if (!judge(r, f, &regex, &error))
        return false;
    int found = 0;
    for (size_t i = 0; !error && found >= 0 && i < from->count; i++) {
        text_reset(&path);
        text_addc(&path, '/');
        text_add(&path, from->at[i]->name, from->at[i]->len);
        found = text_str(&path) ? passes(r, f->first->key, f->first->text, regex, &path) : -1;
        if (found == (int)wanted)
            out->at[out->count++] = from->at[i];
    }
    text_release(&path);
    return found >= 0 || (r->err->status == OK ? run_no_memory(r) : false);
}

bool filter_members(struct run *r, const struct json_value *f, bool wanted,
                    const struct members *from, struct members *out)
{
    *out = (struct members){
        .at = arena_array(r->arena, from->count + 1, sizeof(const struct optimizer_param *))};
    if (!out->at)
        return run_no_memory(r);
    if (!everything(f))
        return select_members(r, f, wanted, from, out);
    if (wanted && from->count)
        memcpy(out->at, from->at, from->count * sizeof(*from->at));
    out->count = wanted ? from->count : 0;
    return true;
}

static bool filter_rows(struct run *r, const struct json_value *f, const char *place)
{
    struct members all, some;
    size_t before = r->rows->count;
    bool good;
    if (!filter_check(r, f, &good))
        return false;
    if (!good)
        r->rows->at[before].path = place;
    if (good && (!members_all(r, &all) || !filter_members(r, f, true, &all, &some)))
        return false;
    for (size_t i = 0; good && i < some.count; i++)
        if (!run_add(r, (struct optimizer_row){.path = place, .param = some.at[i]}))
            return false;
    return true;
}

enum status optimizer_filter(struct bytes filters, const struct optimizer_params *params,
                             struct optimizer_rows *out, struct error *err)
{
    struct run r = {.arena = out->arena, .params = params, .rows = out, .err = err};
    const struct json_value *list = json_read_tree(filters, r.arena, err);
    unsigned place = 0;
    bool fine = list != NULL;
    for (const struct json_value *f = fine ? list->first : NULL; fine && f; f = f->next) {
        const char *digits = run_textf(&r, "%u", place++);
        fine = digits && filter_rows(&r, f, digits);
    }
    run_end(&r);
    return err->status;
}
