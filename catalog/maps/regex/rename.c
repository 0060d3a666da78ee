#include "catalog/maps/regex/rename.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/json.h"

static void blame(const struct rename *r, struct error *err)
{
    char what[300];
    snprintf(what, sizeof(what), "rename '%.250s'", r->pattern);
    error_prefix(err, what);
}

static void take_rename(struct rename *r, const struct json_value *pair, struct error *err)
{
    const struct json_value *pattern = pair->first, *template = pattern ? pattern->next : NULL;
    if (pair->type != JSON_ARRAY || pair->count != 2 || !template || pattern->type != JSON_STRING ||
        template->type != JSON_STRING) {
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "renames are [[\"REGEX\", \"TEMPLATE\"], ...]");
        return;
    }
    r->pattern = (const char *)pattern->text.at;
    if (regex_compile(r->pattern, pattern->text.len, REGEX_SEARCH, &r->regex, err) != OK ||
        template_compile((const char *)template->text.at, template->text.len, r->regex,
                         &r->template, NULL, err) != OK)
        blame(r, err);
}

enum status renames_read(const char *json, size_t len, struct renames *out, struct error *err)
{
    *out = (struct renames){0};
    const struct json_value *list =
        json_read_tree((struct bytes){(const uint8_t *)json, len}, &out->arena, err);
    if (list && list->type != JSON_ARRAY)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "renames are [[\"REGEX\", \"TEMPLATE\"], ...]");
    if (list && err->status == OK)
        out->at = arena_array(&out->arena, list->count, sizeof(*out->at));
    if (!list || !out->at)
        return error_memory(err); /* which keeps an error that is set already */
    for (const struct json_value *v = list->first; v && err->status == OK; v = v->next)
        take_rename(&out->at[out->count++], v, err);
    return err->status;
}

void renames_release(struct renames *r)
{
    for (size_t i = 0; i < r->count; i++) {
        template_free(r->at[i].template);
        regex_free(r->at[i].regex);
    }
    arena_release(&r->arena);
    *r = (struct renames){0};
}

enum status rename_one(const struct rename *r, const char *name, size_t len, struct text *out,
                       struct error *err)
{
    const size_t before = out->len;
    if (regex_replace(r->regex, r->template, name, len, out, err) < 0)
        blame(r, err);
    else if (!text_str(out))
        error_memory(err);
    else if (out->len > before && memchr(out->at + before, '\0', out->len - before))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "rename '%.200s': the new name of %.200s would hold a NUL", r->pattern, name);
    return err->status;
}
