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
    char *copy = arena_copy(r->arena, text, strlen(text));
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return copy;
}

/* --- errors that do not depend on parameters --------------------------------------------------- */

static void check_arguments(struct run *r, const struct part *p)
{
    for (const struct json_value *a = p->args->first; a; a = a->next) {
        bool known = false;
        for (size_t i = 0; i < r->tables->arguments; i++)
            known = known || strcmp(r->tables->argument[i].name, a->key) == 0;
        if (!known)
            run_fault(r, "TypeError: Adafactor.__init__() got an unexpected keyword argument %s",
                      run_repr(r, a->key));
    }
}

/* Read the rule of an element of factor_map. False: it is no rule. */
static bool read_rule(struct run *r, const struct json_value *v, struct rule *out)
{
    bool good = true;
    if (v->type == JSON_NULL) {
        out->kind = RULE_UNFACTORED;
        return true;
    }
    if (v->type == JSON_STRING) {
        out->kind = RULE_HEURISTIC;
        return strcmp(adafactor_lowered(r, v), "heuristic") == 0;
    }
    out->kind = RULE_WORDS;
    out->word = arena_array(r->arena, v->count + 1, sizeof(*out->word));
    if (v->type != JSON_ARRAY || !out->word)
        return false;
    for (const struct json_value *w = v->first; w; w = w->next) {
        enum word word = adafactor_word_called(adafactor_lowered(r, w));
        good = good && word != WORD_BAD;
        out->word[out->count++] = word;
        out->has[word < WORD_BAD ? word : 0] = true;
    }
    return good;
}

static void read_line(struct run *r, struct part *p, const struct json_value *line)
{
    struct mapped *m = &p->map[p->mapped];
    if (line->type != JSON_ARRAY || line->count != 2 || line->first->type != JSON_STRING ||
        !read_rule(r, line->first->next, &m->rule)) {
        run_fault(r,
                  "factor_map has %s, which is no [regex, rule]: a rule is null, \"heuristic\" or "
                  "a list of \"ROW\", \"COLUMN\", \"BATCH\" and \"NONE\"",
                  run_plain(r, line));
        return;
    }
    const char *error;
    m->regex = run_regex(r, line->first, &error);
    p->mapped++;
    if (error)
        run_fault(r, "%s", error);
}

static void read_factor_map(struct run *r, struct part *p)
{
    const struct json_value *map = json_get(p->args, "factor_map");
    if (value_null(map))
        return;
    p->map = arena_array(r->arena, map->count + 1, sizeof(*p->map));
    if (!p->map)
        return;
    if (map->type != JSON_ARRAY && map->type != JSON_OBJECT)
        read_line(r, p, map);
    else
        for (const struct json_value *line = map->first; line; line = line->next)
            read_line(r, p, line);
}

/* Read logical_factor_rules, which apply only if the spec has axes. */
static void read_logical(struct run *r, struct part *p)
{
    const struct json_value *v = json_get(p->args, "logical_factor_rules");
    if (value_null(v))
        return;
    if (v->type != JSON_OBJECT && !json_string_is(v, "standard"))
        run_fault(r, "logical_factor_rules %s is neither \"standard\" nor {axis: word}",
                  run_json(r, v));
    else if (json_type_of(p->axes) == JSON_OBJECT && p->axes->count > 0)
        p->logical = v;
}

/* The keys of a spec, without "axes", for a message. */
static const char *keys_of(struct run *r, const struct json_value *spec)
{
    const char *all = NULL;
    if (json_type_of(spec) != JSON_OBJECT)
        return "null";
    for (const struct json_value *v = spec->first; v; v = v->next)
        if (strcmp(v->key, "axes") != 0)
            all = all ? run_textf(r, "%s, %s", all, v->key) : v->key;
    return all ? run_repr(r, all) : "null";
}

static void read_part(struct run *r, struct part *p, bool filtered)
{
    if (filtered && value_null(p->filter)) {
        run_fault(r, "a part of \"multi\" has no \"filter\"");
        return;
    }
    if (filtered)
        filter_check(r, p->filter);
    if (p->optax) {
        optax_faults(r, p->optax);
    } else if (!p->args) {
        run_fault(r, "a part of \"multi\" has the optimizer %s, which is not adafactor",
                  keys_of(r, p->spec));
    } else if (p->args->type != JSON_OBJECT) {
        run_fault(r, "'adafactor' is not an object");
    } else {
        check_arguments(r, p);
        if (!value_true(json_get(p->args, "factored"), true) &&
            !value_null(json_get(p->args, "factor_map")))
            run_fault(r, "ValueError: Adafactor factored is False but factorization rules have "
                         "been provided.");
        read_logical(r, p);
        read_factor_map(r, p);
    }
}

/* The value of the key `kind` if the spec has no other key (besides "axes"); otherwise NULL. */
static const struct json_value *part_kind(const struct json_value *spec, const char *kind)
{
    const struct json_value *v = json_get(spec, kind);
    bool axes = json_get(spec, "axes") != NULL;
    return v && spec->count == 1U + axes ? v : NULL;
}

void adafactor_read_parts(struct adafactor *a)
{
    struct run *r = a->run;
    const struct json_value *multi = json_get(r->spec, "multi"), *axes = json_get(r->spec, "axes");
    a->several = multi != NULL;
    a->parts = multi ? multi->count : 1;
    a->part = arena_array(r->arena, a->parts + 1, sizeof(*a->part));
    if (!a->part)
        return;
    struct part *p = a->part;
    for (const struct json_value *m = multi ? multi->first : NULL; m; m = m->next, p++) {
        p->spec = json_get(m, "optimizer");
        p->filter = json_get(m, "filter");
        p->args = part_kind(p->spec, "adafactor");
        p->optax = p->args ? NULL : part_kind(p->spec, "optax");
        p->axes = json_get(p->spec, "axes");
        p->axes = value_null(p->axes) ? axes : p->axes;
        read_part(r, p, true);
    }
    if (multi)
        return;
    p->args = json_get(r->spec, "adafactor");
    p->axes = axes;
    read_part(r, p, false);
}
