/*
 * file_new_to_old.c - Kauldron's form: {"new_to_old": {NEW PATH: OLD PATH, ...}, OPTION: ..., ...}.
 */
#include <string.h>

#include "catalog/maps/form/form.h"

static bool new_to_old_recognise(const char *text)
{
    size_t len = strlen(text);
    enum json_type dialect = form_member(text, len, "dialect").type;
    return (dialect == JSON_FAIL || dialect == JSON_NULL) &&
           form_member(text, len, "new_to_old").type == JSON_OBJECT;
}

static void new_to_old_read_pairs(struct form_text *f, const struct form_value *pairs)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    struct ruleset *set = f->set;
    while (f->err->status == OK && form_next(&w, pairs->at, pairs->len, &key, &value)) {
        struct ruleset_rule rule = {.ord = (int64_t)set->rules + 1};
        if (value.type != JSON_STRING && value.type != JSON_NULL)
            form_refuse(f, "the old path of \"%.200s\" is not text", text_str(&key));
        rule.pattern = arena_copy(set->arena, text_str(&key), key.len);
        rule.nul = strlen(text_str(&key)) != key.len;
        if (value.type == JSON_STRING)
            rule.replacement = form_string(set->arena, &value);
        if (!rule.pattern || !ruleset_add(set, rule))
            error_memory_at(f->err, f->path);
    }
    form_walk_end(&w);
    text_release(&key);
}

static void new_to_old_read(struct form_text *f)
{
    struct form_walk w = {0};
    struct text key = {0}, options = {0};
    struct form_value value;
    text_addc(&options, '{');
    while (f->err->status == OK && form_next(&w, f->text, strlen(f->text), &key, &value)) {
        if (strcmp(text_str(&key), "new_to_old") == 0) {
            new_to_old_read_pairs(f, &value);
        } else {
            const char *copy = form_copy(f->set->arena, &value);
            text_adds(&options, options.len > 1 ? "," : "");
            text_json(&options, key.at, key.len);
            text_addf(&options, ":%s", copy ? copy : "");
            options.failed = options.failed || !copy;
        }
    }
    text_addc(&options, '}');
    f->set->options =
        text_str(&options) ? arena_copy(f->set->arena, options.at, options.len) : NULL;
    form_walk_end(&w);
    text_release(&key);
    text_release(&options);
}

static void new_to_old_check(const struct ruleset *set, struct error *err)
{
    static const char *const own[] = {"dialect", "new_to_old"};
    for (size_t i = 0; i < 2; i++)
        if (form_member(set->options, strlen(set->options), own[i]).type != JSON_FAIL)
            form_cannot(err, "json", "new_to_old has no place for the option \"%s\"", own[i]);
    for (size_t i = 0; i < set->rules; i++)
        if (!set->rule[i].replacement)
            form_cannot(err, "json", "rule %lld has no old path", (long long)set->rule[i].ord);
    form_check_keys(set, err);
}

static void new_to_old_write(const struct ruleset *set, struct text *out, struct error *err)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    new_to_old_check(set, err);
    if (err->status != OK)
        return;
    text_adds(out, "{\"new_to_old\": {\n");
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        text_adds(out, "  ");
        text_json(out, r->pattern, strlen(r->pattern));
        text_adds(out, ": ");
        text_json(out, r->replacement, strlen(r->replacement));
        text_adds(out, i + 1 < set->rules ? ",\n" : "\n");
    }
    text_adds(out, " }");
    while (form_next(&w, set->options, strlen(set->options), &key, &value)) {
        text_adds(out, ", ");
        text_json(out, key.at, key.len);
        text_adds(out, ": ");
        text_add(out, value.at, value.len);
    }
    text_adds(out, "}\n");
    form_walk_end(&w);
    text_release(&key);
}

const struct form form_new_to_old = {
    .name = "new_to_old",
    .dialect = &dialect_kauldron,
    .holds = "maps of Kauldron",
    .names_alone = true,
    .recognise = new_to_old_recognise,
    .read = new_to_old_read,
    .write = new_to_old_write,
};
