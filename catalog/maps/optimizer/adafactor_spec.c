/*
 * adafactor_spec.c - reads a spec into the parts of a MultiOptimizer, and reports what the
 * constructors raise.
 */
#include <string.h>

#include "catalog/maps/optimizer/adafactor_private.h"

static const struct {
    const char *text;
    enum word word;
} words[] = {
    {"row", WORD_ROW},     {"column", WORD_COLUMN}, {"col", WORD_COLUMN},
    {"batch", WORD_BATCH}, {"none", WORD_NONE},     {"unfactorized", WORD_NONE},
};

const char *const adafactor_word_text[WORD_BAD] = {"<FactorDim.NONE: None>", "<FactorDim.BATCH: 1>",
                                                   "<FactorDim.ROW: 2>", "<FactorDim.COLUMN: 3>"};

enum word adafactor_word_called(const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].text, text) == 0)
            return words[i].word;
    return WORD_BAD;
}

const char *adafactor_lowered(struct run *r, const struct json_value *v)
{
    const char *text = run_plain(r, v);
    char *copy = text ? arena_copy(r->arena, text, strlen(text)) : NULL;
    for (char *c = copy; c && *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    if (text && !copy)
        run_no_memory(r);
    return copy;
}

/* --- errors that do not depend on parameters --------------------------------------------------- */

static bool check_arguments(struct run *r, const struct part *p)
{
    for (const struct json_value *a = p->args->first; a; a = a->next) {
        bool known = false;
        for (size_t i = 0; i < r->tables->arguments; i++)
            known = known || strcmp(r->tables->argument[i].name, a->key) == 0;
        const char *shown = known ? "" : run_repr(r, a->key);
        if (!shown || (!known && !run_fault(r,
                                            "TypeError: Adafactor.__init__() got an unexpected "
                                            "keyword argument %s",
                                            shown)))
            return false;
    }
    return true;
}

/* Read the rule of an element of factor_map. *good is false if it is no rule. */
static bool read_rule(struct run *r, const struct json_value *v, struct rule *out, bool *good)
{
    const char *text;
    *good = true;
    switch (json_type_of(v)) {
    case JSON_NULL:
        out->kind = RULE_UNFACTORED;
        return true;
    case JSON_STRING:
        out->kind = RULE_HEURISTIC;
        text = adafactor_lowered(r, v);
        *good = text && strcmp(text, "heuristic") == 0;
        return text != NULL;
    case JSON_ARRAY:
        out->kind = RULE_WORDS;
        out->word = arena_array(r->arena, v->count + 1, sizeof(*out->word));
        if (!out->word)
            return run_no_memory(r);
        break;
    default:
        *good = false;
        return true;
    }
    for (const struct json_value *w = v->first; w; w = w->next) {
        if (!(text = adafactor_lowered(r, w)))
            return false;
        enum word word = adafactor_word_called(text);
        *good = *good && word != WORD_BAD;
        out->word[out->count++] = word;
        out->has[word < WORD_BAD ? word : 0] = true;
    }
    return true;
}

static bool read_line(struct run *r, struct part *p, const struct json_value *line)
{
    struct mapped *m = &p->map[p->mapped];
    bool good = line->type == JSON_ARRAY && line->count == 2 && line->first->type == JSON_STRING;
    if (good && !read_rule(r, line->first->next, &m->rule, &good))
        return false;
    if (!good) {
        const char *shown = run_plain(r, line);
        return shown && run_fault(r,
                                  "factor_map has %s, which is no [regex, rule]: a rule is "
                                  "null, \"heuristic\" or a list of \"ROW\", \"COLUMN\", "
                                  "\"BATCH\" and \"NONE\"",
                                  shown);
    }
    const char *error = NULL;
    if (!run_regex(r, line->first, &m->regex, &error))
        return false;
    p->mapped++;
    return !error || run_fault(r, "%s", error);
}

static bool read_factor_map(struct run *r, struct part *p)
{
    const struct json_value *map = json_get(p->args, "factor_map");
    if (value_null(map))
        return true;
    p->map = arena_array(r->arena, map->count + 1, sizeof(*p->map));
    if (!p->map)
        return run_no_memory(r);
    if (map->type != JSON_ARRAY && map->type != JSON_OBJECT)
        return read_line(r, p, map);
    for (const struct json_value *line = map->first; line; line = line->next)
        if (!read_line(r, p, line))
            return false;
    return true;
}

/* Read logical_factor_rules, which apply only if the spec has axes. */
static bool read_logical(struct run *r, struct part *p)
{
    const struct json_value *v = json_get(p->args, "logical_factor_rules");
    if (value_null(v))
        return true;
    if (v->type != JSON_OBJECT && !json_string_is(v, "standard")) {
        const char *shown = run_json(r, v);
        return shown && run_fault(r,
                                  "logical_factor_rules %s is neither \"standard\" nor "
                                  "{axis: word}",
                                  shown);
    }
    if (json_type_of(p->axes) == JSON_OBJECT && p->axes->count > 0)
        p->logical = v;
    return true;
}

/* The keys of a spec, without "axes", for a message. */
static const char *keys_of(struct run *r, const struct json_value *spec)
{
    const char *all = NULL;
    if (json_type_of(spec) != JSON_OBJECT)
        return "null";
    for (const struct json_value *v = spec->first; v; v = v->next) {
        if (strcmp(v->key, "axes") == 0)
            continue;
        all = all ? run_textf(r, "%s, %s", all, v->key) : v->key;
        if (!all)
            return NULL;
    }
    return all ? run_repr(r, all) : "null";
}

static bool adafactor_spec_read_part(struct run *r, struct part *p, bool filtered)
{
    bool good;
    if (filtered && value_null(p->filter))
        return run_fault(r, "a part of \"multi\" has no \"filter\"");
    if (filtered && !filter_check(r, p->filter, &good))
        return false;
    if (p->optax)
        return optax_faults(r, p->optax);
    if (!p->args) {
        const char *shown = keys_of(r, p->spec);
        return shown &&
               run_fault(r, "a part of \"multi\" has the optimizer %s, which is not adafactor",
                         shown);
    }
    if (p->args->type != JSON_OBJECT)
        return run_fault(r, "'adafactor' is not an object");
    if (!check_arguments(r, p))
        return false;
    if (!value_true(json_get(p->args, "factored"), true) &&
        !value_null(json_get(p->args, "factor_map")) &&
        !run_fault(r, "ValueError: Adafactor factored is False but factorization rules have "
                      "been provided."))
        return false;
    return read_logical(r, p) && read_factor_map(r, p);
}

/* The value of the key `kind` if the spec has no other key (besides "axes"); otherwise NULL. */
static const struct json_value *adafactor_spec_kind_of(const struct json_value *spec,
                                                       const char *kind)
{
    const struct json_value *v = json_get(spec, kind);
    bool axes = json_get(spec, "axes") != NULL;
    return v && spec->count == 1U + axes ? v : NULL;
}

bool adafactor_read_parts(struct adafactor *a)
{
    struct run *r = a->run;
    const struct json_value *multi = json_get(r->spec, "multi"), *axes = json_get(r->spec, "axes");
    a->several = multi != NULL;
    a->parts = multi ? multi->count : 1;
    a->part = arena_array(r->arena, a->parts + 1, sizeof(*a->part));
    if (!a->part)
        return run_no_memory(r);
    struct part *p = a->part;
    for (const struct json_value *m = multi ? multi->first : NULL; m; m = m->next, p++) {
        p->spec = json_get(m, "optimizer");
        p->filter = json_get(m, "filter");
        p->args = adafactor_spec_kind_of(p->spec, "adafactor");
        p->optax = p->args ? NULL : adafactor_spec_kind_of(p->spec, "optax");
        p->axes = json_get(p->spec, "axes");
        p->axes = value_null(p->axes) ? axes : p->axes;
        if (!adafactor_spec_read_part(r, p, true))
            return false;
    }
    if (multi)
        return true;
    p->args = json_get(r->spec, "adafactor");
    p->axes = axes;
    return adafactor_spec_read_part(r, p, false);
}
