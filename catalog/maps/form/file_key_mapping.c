/*
 * file_key_mapping.c - Hugging Face's key mapping: {PATTERN: TEMPLATE or null, ...}. The first
 * pattern found anywhere in a name decides: the new name is re.sub(PATTERN, TEMPLATE, name). Other
 * names stay the same. As a rule of a translator, each pair is
 *
 *   (?s:.*?)(?:PATTERN)(?s:.*)  ->  \g<new>   with the step  ["new", "sub", PATTERN, TEMPLATE, "\\g<0>"]
 *
 * and a last rule leaves all other names alone.
 */
#include <string.h>

#include "catalog/maps/form/form.h"

#define BEFORE     "(?s:.*?)(?:"
#define AFTER      ")(?s:.*)"
#define REST       "(?s:(.*))" /* the last rule's pattern */
#define REST_GIVES "\\1"

static bool key_mapping_recognise(const char *text)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    bool texts = *text == '{', some = false;
    while (texts && form_next(&w, text, strlen(text), &key, &value)) {
        texts = value.type == JSON_STRING || value.type == JSON_NULL;
        texts = texts && (value.type == JSON_NULL || strcmp(text_str(&key), "dialect") != 0);
        some = true;
    }
    texts = texts && some && !w.failed && w.json.type == JSON_OBJECT_END &&
            json_next(&w.json) == JSON_END;
    form_walk_end(&w);
    text_release(&key);
    return texts;
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *wrapped(struct arena *arena, const struct text *key)
{
    struct text t = {0};
    text_adds(&t, BEFORE);
    text_add(&t, key->at, key->len);
    text_adds(&t, AFTER);
    const char *copy = text_str(&t) ? arena_copy(arena, t.at, t.len) : NULL;
    text_release(&t);
    return copy;
}

static const char *step_of(struct arena *arena, const char *key, const char *value)
{
    struct text t = {0};
    text_adds(&t, "[[\"new\",\"sub\",");
    text_json(&t, key, strlen(key));
    text_addc(&t, ',');
    text_json(&t, value, strlen(value));
    text_adds(&t, ",\"\\\\g<0>\"]]");
    const char *copy = text_str(&t) ? arena_copy(arena, t.at, t.len) : NULL;
    text_release(&t);
    return copy;
}

/* Add a pair. If the object has several of one key, the last value counts, in the place of the
 * first, as in Python's dict: *place is where the key has its rule. */
static bool key_mapping_add(struct ruleset *set, const struct text *key,
                            const struct form_value *value, struct strmap *place)
{
    bool added = false;
    const char *kept;
    uint64_t *at =
        key->at ? strmap_keep(place, set->arena, key->at, key->len, &kept, &added) : NULL;
    if (!at)
        return false;
    if (added)
        *at = set->rules;
    struct ruleset_rule rule = {.ord = (int64_t)*at + 1, .pattern = wrapped(set->arena, key)};
    rule.nul = strlen(key->at) != key->len;
    if (value->type == JSON_STRING) {
        const char *to = form_string(set->arena, value);
        rule.replacement = "\\g<new>";
        rule.compute = to ? step_of(set->arena, key->at, to) : NULL;
        if (!rule.compute)
            return false;
    }
    if (rule.pattern && !added)
        set->rule[*at] = rule;
    return rule.pattern && (!added || ruleset_add(set, rule));
}

static void key_mapping_read(struct form_text *f)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    struct strmap place = {0};
    bool room = true;
    while (room && form_next(&w, f->text, strlen(f->text), &key, &value))
        room = key_mapping_add(f->set, &key, &value, &place);
    room = room && ruleset_add(f->set, (struct ruleset_rule){.ord = (int64_t)f->set->rules + 1,
                                                             .pattern = REST,
                                                             .replacement = REST_GIVES});
    if (!room)
        error_memory_at(f->err, f->path);
    strmap_release(&place);
    form_walk_end(&w);
    text_release(&key);
}

/* --- writing --------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* The key that a rule was made from, in the arena; NULL: the rule has another form. */
static const char *key_of(struct arena *arena, const struct ruleset_rule *r)
{
    size_t len = strlen(r->pattern), before = strlen(BEFORE), after = strlen(AFTER);
    if (len < before + after || strncmp(r->pattern, BEFORE, before) != 0 ||
        strcmp(r->pattern + len - after, AFTER) != 0)
        return NULL;
    return arena_copy(arena, r->pattern + before, len - before - after);
}

/* The template of the rule's only step, in the arena; NULL: the rule has another form. */
static const char *key_mapping_value_of(struct arena *arena, const struct ruleset_rule *r,
                                        const char *key)
{
    struct form_walk outer = {0}, inner = {0};
    struct text name = {0};
    struct form_value step, word;
    const char *value = NULL;
    unsigned i = 0;
    if (same(r->replacement, "\\g<new>") && !form_has(r->ops) && r->compute &&
        form_next(&outer, r->compute, strlen(r->compute), &name, &step) && step.type == JSON_ARRAY)
        while (form_next(&inner, step.at, step.len, &name, &word))
            if (i++ == 3 && word.type == JSON_STRING)
                value = form_string(arena, &word);
    form_walk_end(&inner);
    form_walk_end(&outer);
    text_release(&name);
    /* The rule is of this form if the step built from the template equals the rule's. */
    const char *again = value ? step_of(arena, key, value) : NULL;
    struct form_value all = {JSON_ARRAY, r->compute, r->compute ? strlen(r->compute) : 0};
    return again && same(form_copy(arena, &all), again) ? value : NULL;
}

static bool is_rest(const struct ruleset_rule *r)
{
    return strcmp(r->pattern, REST) == 0 && same(r->replacement, REST_GIVES) &&
           !form_has(r->compute) && !form_has(r->ops);
}

static bool is_good(struct arena *arena, const struct ruleset_rule *r)
{
    const char *key = key_of(arena, r);
    if (!key || strcmp(key, "dialect") == 0)
        return false;
    return r->replacement ? key_mapping_value_of(arena, r, key) != NULL
                          : !form_has(r->compute) && !form_has(r->ops);
}

static void key_mapping_check(const struct ruleset *set, struct error *err)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    while (form_next(&w, set->options, strlen(set->options), &key, &value))
        if (strcmp(text_str(&key), "mode") != 0 || value.len != strlen("\"compat\"") ||
            strncmp(value.at, "\"compat\"", value.len) != 0)
            form_cannot(err, "json", "key_mapping has no place for the option \"%.200s\"",
                        text_str(&key));
    form_walk_end(&w);
    text_release(&key);
    if (!set->rules)
        form_cannot(err, "json", "there is no rule, and an empty object says nothing");
    form_check_keys(set, err);
    for (size_t i = 0; i < set->rules && err->status == OK; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        bool last = i + 1 == set->rules;
        if (!last && !is_good(set->arena, r))
            form_cannot(
                err, "json",
                "rule %lld does not substitute, by re.sub, what it finds anywhere in a name",
                (long long)r->ord);
        else if (last && i == 0)
            form_cannot(err, "json", "there is no rule before rule %lld", (long long)r->ord);
        else if (last && !is_rest(r))
            form_cannot(err, "json",
                        "rule %lld, the last, does not leave all other names as they are",
                        (long long)r->ord);
    }
}

static void key_mapping_write(const struct ruleset *set, struct text *out, struct error *err)
{
    key_mapping_check(set, err);
    if (err->status != OK)
        return;
    text_adds(out, "{\n");
    for (size_t i = 0; i + 1 < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        const char *key = key_of(set->arena, r);
        const char *value = r->replacement ? key_mapping_value_of(set->arena, r, key) : NULL;
        text_adds(out, "  ");
        text_json(out, key, strlen(key));
        text_adds(out, ": ");
        if (value)
            text_json(out, value, strlen(value));
        else
            text_adds(out, "null");
        text_adds(out, i + 2 < set->rules ? ",\n" : "\n");
    }
    text_adds(out, "}\n");
}

const struct form form_key_mapping = {
    .name = "key_mapping",
    .dialect = &dialect_t5x_translator,
    .holds = "key mappings of Hugging Face",
    .recognise = key_mapping_recognise,
    .read = key_mapping_read,
    .write = key_mapping_write,
};
