/*
 * adafactor.c - the state of T5X's Adafactor, alone or as the parts of a MultiOptimizer: v_row,
 * v_col, v and m of every parameter. What the original raises comes in its order: constructors,
 * parameters that several parts select, axes, and then each part's parameters.
 */
#include <string.h>

#include "catalog/optimizer/run.h"

enum word {
    WORD_NONE,
    WORD_BATCH,
    WORD_ROW,
    WORD_COLUMN,
    WORD_BAD,
};

static const struct {
    const char *text;
    enum word word;
} words[] = {
    {"row", WORD_ROW},     {"column", WORD_COLUMN}, {"col", WORD_COLUMN},
    {"batch", WORD_BATCH}, {"none", WORD_NONE},     {"unfactorized", WORD_NONE},
};
static const char *const enum_text[] = {"<FactorDim.NONE: None>", "<FactorDim.BATCH: 1>",
                                        "<FactorDim.ROW: 2>", "<FactorDim.COLUMN: 3>"};

/* How a parameter is to be factored. */
enum rule_kind {
    RULE_UNFACTORED,
    RULE_HEURISTIC,
    RULE_WORDS, /* one a dimension */
    RULE_MISSING,
};
struct rule {
    enum rule_kind kind;
    enum word *word;
    size_t count;
    bool has[WORD_BAD];
};

/* A line of factor_map. */
struct mapped {
    struct regex *regex;
    struct rule rule;
};

/* An Adafactor: a part of a MultiOptimizer, or the only one. */
struct part {
    const struct json_value *args, *axes, *filter;
    const struct json_value
        *logical;                   /* the rules on axes that are in force; NULL: none */
    const struct json_value *optax; /* it is no Adafactor */
    const struct json_value *spec;
    struct mapped *map; /* NULL: no factor_map */
    size_t mapped;
    struct members members;
};

struct adafactor {
    struct run *run;
    struct part *part;
    size_t parts;
    bool several; /* a MultiOptimizer */
};

static enum word word_called(const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].text, text) == 0)
            return words[i].word;
    return WORD_BAD;
}

/* In lower case, as far as ASCII goes. NULL: no memory. */
static const char *lowered(struct run *r, const struct json_value *v)
{
    const char *text = run_plain(r, v);
    char *copy = text ? arena_copy(r->arena, text, strlen(text)) : NULL;
    for (char *c = copy; c && *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    if (text && !copy)
        run_no_memory(r);
    return copy;
}

/* --- what is wrong before there is a parameter to look at -------------------------------------- */

static bool check_arguments(struct run *r, const struct part *p)
{
    for (const struct json_value *a = p->args->first; a; a = a->next) {
        bool known = false;
        for (size_t i = 0; i < r->tables->arguments; i++)
            known = known || strcmp(r->tables->argument[i].name, a->key) == 0;
        const char *shown = known ? "" : run_repr(r, a->key);
        if (!shown ||
            (!known && !run_fault(r,
                                  "TypeError: Adafactor.__init__() got an unexpected "
                                  "keyword argument %s",
                                  shown)))
            return false;
    }
    return true;
}

/* The rule of a line of factor_map. False in *good: it is none. */
static bool read_rule(struct run *r, const struct json_value *v, struct rule *out,
                      bool *good)
{
    const char *text;
    *good = true;
    switch (json_type_of(v)) {
    case JSON_NULL:
        out->kind = RULE_UNFACTORED;
        return true;
    case JSON_STRING:
        out->kind = RULE_HEURISTIC;
        text = lowered(r, v);
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
        if (!(text = lowered(r, w)))
            return false;
        enum word word = word_called(text);
        *good = *good && word != WORD_BAD;
        out->word[out->count++] = word;
        out->has[word < WORD_BAD ? word : 0] = true;
    }
    return true;
}

static bool read_line(struct run *r, struct part *p, const struct json_value *line)
{
    struct mapped *m = &p->map[p->mapped];
    bool good =
        line->type == JSON_ARRAY && line->count == 2 && line->first->type == JSON_STRING;
    if (good && !read_rule(r, line->first->next, &m->rule, &good))
        return false;
    if (!good) {
        const char *shown = run_plain(r, line);
        return shown &&
               run_fault(r,
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

/* Rules on axes, in force where there are axes. */
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

/* Its keys but "axes", for a message. */
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

static bool read_part(struct run *r, struct part *p, bool filtered)
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
               run_fault(
                   r, "a part of \"multi\" has the optimizer %s, which is not adafactor",
                   shown);
    }
    if (p->args->type != JSON_OBJECT)
        return run_fault(r, "'adafactor' is no object");
    if (!check_arguments(r, p))
        return false;
    if (!value_true(json_get(p->args, "factored"), true) &&
        !value_null(json_get(p->args, "factor_map")) &&
        !run_fault(r,
                   "ValueError: Adafactor factored is False but factorization rules have "
                   "been provided."))
        return false;
    return read_logical(r, p) && read_factor_map(r, p);
}

/* What a spec of one kind alone holds; NULL: it is of another kind, or of several. */
static const struct json_value *kind_of(const struct json_value *spec, const char *kind)
{
    const struct json_value *v = json_get(spec, kind);
    bool axes = json_get(spec, "axes") != NULL;
    return v && spec->count == 1U + axes ? v : NULL;
}

static bool read_parts(struct adafactor *a)
{
    struct run *r = a->run;
    const struct json_value *multi = json_get(r->spec, "multi"),
                            *axes = json_get(r->spec, "axes");
    a->several = multi != NULL;
    a->parts = multi ? multi->count : 1;
    a->part = arena_array(r->arena, a->parts + 1, sizeof(*a->part));
    if (!a->part)
        return run_no_memory(r);
    struct part *p = a->part;
    for (const struct json_value *m = multi ? multi->first : NULL; m; m = m->next, p++) {
        p->spec = json_get(m, "optimizer");
        p->filter = json_get(m, "filter");
        p->args = kind_of(p->spec, "adafactor");
        p->optax = p->args ? NULL : kind_of(p->spec, "optax");
        p->axes = json_get(p->spec, "axes");
        p->axes = value_null(p->axes) ? axes : p->axes;
        if (!read_part(r, p, true))
            return false;
    }
    if (multi)
        return true;
    p->args = json_get(r->spec, "adafactor");
    p->axes = axes;
    return read_part(r, p, false);
}

/* --- parameters that several parts select ------------------------------------------------------ */

/* The parts that select a parameter: "[0, 1]". (A part's members are in order: `at` follows.) */
static bool selecting(struct adafactor *a, const struct optimizer_param *param,
                      size_t *at, struct text *out)
{
    bool several = false;
    text_addc(out, '[');
    for (size_t k = 0, found = 0; k < a->parts; k++) {
        const struct members *m = &a->part[k].members;
        if (at[k] == m->count || m->at[at[k]] != param)
            continue;
        at[k]++;
        text_addf(out, "%s%zu", found ? ", " : "", k);
        several = several || found;
        found++;
    }
    text_addc(out, ']');
    return several;
}

/* How much of two paths' folders is the same; *depth: how many folders `a` has. */
static size_t shared_folders(const struct optimizer_param *a,
                             const struct optimizer_param *b, size_t *depth)
{
    size_t shared = 0;
    bool same = b != NULL;
    *depth = 0;
    for (size_t i = 0; i < a->len; i++) {
        same = same && i < b->len && a->name[i] == b->name[i];
        *depth += a->name[i] == '/';
        shared += same && a->name[i] == '/';
    }
    return shared;
}

static void text_repr(struct text *out, struct run *r, const char *from, size_t len)
{
    char *copy = arena_copy(r->arena, from, len);
    const char *shown = copy ? run_repr(r, copy) : NULL;
    text_adds(out, shown ? shown : "");
    out->failed = out->failed || !shown;
}

/* As Python prints the nested dict: {'a': {'b': [0]}}. */
static void tree_line(struct run *r, struct text *out,
                      const struct optimizer_param *param,
                      const struct optimizer_param *before)
{
    size_t depth, depth_before = 0;
    size_t shared = shared_folders(param, before, &depth);
    if (before)
        shared_folders(before, NULL, &depth_before);
    for (size_t k = shared; k < depth_before; k++)
        text_addc(out, '}');
    text_adds(out, before ? ", " : "");
    const char *at = param->name;
    for (size_t k = 0; k <= depth; k++) {
        size_t len = strcspn(at, "/");
        if (k >= shared)
            text_repr(out, r, at, len), text_adds(out, k < depth ? ": {" : ": ");
        at += len + 1;
    }
}

static bool check_overlap(struct adafactor *a)
{
    struct run *r = a->run;
    struct text tree = {0};
    bool several = false;
    size_t depth = 0;
    const struct optimizer_param *all = r->params->at, *param = NULL;
    if (!all)
        return true;
    size_t *at = arena_array(r->arena, a->parts + 1, sizeof(*at));
    if (!at)
        return run_no_memory(r);
    for (size_t i = 0; i < r->params->count; i++) {
        tree_line(r, &tree, &all[i], param);
        param = &all[i];
        several = selecting(a, param, at, &tree) || several;
    }
    if (param)
        shared_folders(param, NULL, &depth);
    while (depth-- > 0)
        text_addc(&tree, '}');
    bool fine =
        !several ||
        (text_str(&tree)
             ? run_fault(r,
                         "ValueError: Multiple optimizers match the same leaves : {%s}",
                         text_str(&tree))
             : run_no_memory(r));
    text_release(&tree);
    return fine;
}

/* --- axes ---------------------------------------------------------------------------------------- */

/* The word of an axis. WORD_BAD: a row with the KeyError is there. */
static bool axis_word(struct run *r, const struct part *p, const struct json_value *axis,
                      enum word *word)
{
    const char *name = run_plain(r, axis), *text = NULL;
    *word = WORD_BAD;
    if (!name)
        return false;
    for (size_t i = 0; p->logical->type == JSON_STRING && i < r->tables->axes; i++)
        if (strcmp(r->tables->axis[i].axis, name) == 0)
            text = r->tables->axis[i].word;
    const struct json_value *given = json_get(p->logical, name);
    if (given && !(text = lowered(r, given)))
        return false;
    *word = text ? word_called(text) : WORD_BAD;
    const char *shown = *word == WORD_BAD ? run_repr(r, text ? text : name) : "";
    return shown && (*word != WORD_BAD || run_fault(r, "KeyError: %s", shown));
}

/* "ValueError: Incomplete …" */
static bool incomplete(struct run *r, const struct rule *rule,
                       const struct json_value *axes)
{
    struct text enums = {0}, names = {0};
    size_t k = 0;
    for (const struct json_value *x = axes->first; x; x = x->next, k++) {
        const char *name = run_plain(r, x);
        text_addf(&enums, "%s%s", k ? ", " : "", enum_text[rule->word[k]]);
        text_adds(&names, k ? ", " : "");
        if (name)
            text_repr(&names, r, name, strlen(name));
    }
    bool fine =
        text_str(&enums) && text_str(&names)
            ? run_fault(r, "ValueError: Incomplete adafactor spec (%s) for P(%s)!",
                        enums.at, names.at)
            : run_no_memory(r);
    text_release(&enums);
    text_release(&names);
    return fine;
}

/* The rule that a parameter's axes make. */
static bool axes_rule(struct run *r, const struct part *p, const struct json_value *axes,
                      struct rule *rule)
{
    *rule = (struct rule){RULE_WORDS,
                          arena_array(r->arena, axes->count + 1, sizeof(enum word)),
                          0,
                          {false}};
    if (!rule->word)
        return run_no_memory(r);
    for (const struct json_value *x = axes->first; x; x = x->next) {
        enum word word;
        if (!axis_word(r, p, x, &word))
            return false;
        if (word == WORD_BAD)
            return true;
        rule->word[rule->count++] = word;
        rule->has[word] = true;
    }
    return !(rule->has[WORD_ROW] && rule->has[WORD_COLUMN] && rule->has[WORD_NONE]) ||
           incomplete(r, rule, axes);
}

static bool check_axes(struct adafactor *a)
{
    struct run *r = a->run;
    for (size_t k = 0; k < a->parts; k++) {
        const struct part *p = &a->part[k];
        for (size_t i = 0; p->logical && i < p->members.count; i++) {
            const struct json_value *axes = axes_of(p->axes, p->members.at[i]);
            struct rule rule;
            if (axes && !axes_rule(r, p, axes, &rule))
                return false;
        }
    }
    return true;
}

/* --- a parameter's state --------------------------------------------------------------------- */

/* Half a rule is none. */
static void whole_rule(struct rule *rule)
{
    if (rule->has[WORD_ROW] && rule->has[WORD_COLUMN])
        return;
    for (size_t k = 0; k < rule->count; k++)
        if (rule->word[k] == WORD_ROW || rule->word[k] == WORD_COLUMN)
            rule->word[k] = WORD_NONE;
    rule->has[WORD_ROW] = rule->has[WORD_COLUMN] = false;
}

static bool mapped_rule(struct run *r, const struct part *p,
                        const struct optimizer_param *param, struct rule *rule)
{
    const struct mapped *map = p->map;
    rule->kind = map ? RULE_MISSING : RULE_HEURISTIC;
    for (size_t k = 0; map && k < p->mapped; k++) {
        int hit = regex_exec(map[k].regex, param->name, param->len, 0, r->err);
        if (hit > 0)
            *rule = map[k].rule;
        if (hit != 0)
            return hit > 0;
    }
    return true;
}

/* The rule for a parameter; in *error, what the original raises instead. */
static bool rule_for(struct run *r, const struct part *p,
                     const struct optimizer_param *param, struct rule *rule,
                     const char **error)
{
    const struct json_value *axes = axes_of(p->axes, param);
    *rule = (struct rule){.kind = RULE_UNFACTORED};
    if (!value_true(json_get(p->args, "factored"), true))
        return true;
    const char *text = param->name;
    if (p->logical && axes) {
        if (!axes_rule(r, p, axes, rule))
            return false;
        whole_rule(rule);
        return true;
    }
    if (!p->logical) {
        if (!mapped_rule(r, p, param, rule))
            return false;
        if (rule->kind != RULE_MISSING)
            return true;
        text = run_textf(r, "No factor rule found for parameter: %s", param->name);
    }
    const char *shown = text ? run_repr(r, text) : NULL;
    *error = shown ? run_textf(r, "KeyError: %s", shown) : NULL;
    return *error != NULL;
}

/* As Python prints a tuple. */
static const char *tuple_text(struct run *r, const struct optimizer_shape *s)
{
    const char *text = "";
    for (unsigned k = 0; text && k < s->rank; k++)
        text =
            run_textf(r, "%s%s%llu", text, k ? ", " : "", (unsigned long long)s->size[k]);
    return text ? run_textf(r, "(%s%s)", text, s->rank == 1 ? "," : "") : NULL;
}

/* What is wrong about a rule and a shape: NULL in *error: nothing. */
static bool judge_rank(struct run *r, const struct optimizer_param *param,
                       const struct rule *rule, const char **error)
{
    const struct optimizer_shape *s = param->shape;
    bool explicit = rule->kind == RULE_WORDS && rule->count != s->rank;
    if (!explicit && (rule->kind != RULE_HEURISTIC || s->rank <= 2))
        return true;
    const char *tuple = tuple_text(r, s), *list = "";
    for (size_t k = 0; explicit && list && k < rule->count; k++)
        list = run_textf(r, "%s%s%s", list, k ? ", " : "", enum_text[rule->word[k]]);
    if (!tuple || !list)
        return false;
    *error =
        explicit
            ? run_textf(r,
                        "ValueError: Factorization rule (%s%s) has incorrect rank for "
                        "param of rank %u: %s, %s",
                        list, rule->count == 1 ? "," : "", s->rank, param->name, tuple)
            : run_textf(r,
                        "ValueError: A parameter with rank strictly higher than 2 must "
                        "have an explicit factorization rule: %s, %s",
                        param->name, tuple);
    return *error != NULL;
}

/* The shapes of what is kept; all "[1]" at first. */
struct shapes {
    const char *v_row, *v_col, *v;
};

/* Without the dimensions of a word. */
static const char *shape_beside(struct run *r, const struct optimizer_shape *s,
                                const struct rule *rule, enum word word)
{
    bool *drop = arena_array(r->arena, s->rank + 1, sizeof(*drop));
    for (unsigned k = 0; drop && k < s->rank; k++)
        drop[k] = rule->word[k] == word;
    if (!drop)
        run_no_memory(r);
    return drop ? run_shape(r, s, drop) : NULL;
}

static bool factored_shapes(struct run *r, const struct part *p,
                            const struct optimizer_shape *s, const struct rule *rule,
                            struct shapes *out)
{
    bool heuristic = rule->kind == RULE_HEURISTIC ||
                     (rule->kind == RULE_WORDS && s->rank <= 2 && !rule->has[WORD_BATCH]);
    double least = value_number(json_get(p->args, "min_dim_size_to_factor"), 128);
    if (heuristic ? s->rank < 2 || (double)s->size[s->second] < least
                  : rule->kind == RULE_UNFACTORED ||
                        (!rule->has[WORD_ROW] && !rule->has[WORD_COLUMN])) {
        out->v = s->text;
        return true;
    }
    out->v_row = heuristic ? run_shape_without(r, s, s->largest)
                           : shape_beside(r, s, rule, WORD_COLUMN);
    out->v_col = heuristic ? run_shape_without(r, s, s->second)
                           : shape_beside(r, s, rule, WORD_ROW);
    return out->v_row && out->v_col;
}

static const char *axes_text(struct run *r, const struct part *p,
                             const struct optimizer_param *param, bool *fine)
{
    const struct json_value *axes = axes_of(p->axes, param);
    const char *text = axes ? run_json(r, axes) : NULL;
    *fine = *fine && (!axes || text);
    return text;
}

static bool add_slots(struct run *r, const struct part *p,
                      const struct optimizer_param *param, const struct shapes *shapes)
{
    const struct json_value *beta1 = json_get(p->args, "beta1");
    const char *text = param->shape ? param->shape->text : NULL, *momentum = "float32";
    bool fine = true, whole = text && shapes->v == text && strcmp(text, "[1]") != 0;
    const char *axes = axes_text(r, p, param, &fine);
    if (fine && !value_null(beta1)) {
        const char *given = value_dtype(r, json_get(p->args, "dtype_momentum"));
        momentum = given ? given : momentum;
        fine = r->err->status == OK;
    }
    struct optimizer_row row = {STATE_ROOT, param, "/v_row", shapes->v_row,
                                "float32",  NULL,  NULL};
    fine = fine && run_add(r, row);
    row.slot = "/v_col", row.shape = shapes->v_col;
    fine = fine && run_add(r, row);
    row.slot = "/v", row.shape = shapes->v, row.axes = whole ? axes : NULL;
    fine = fine && run_add(r, row);
    row.slot = "/m", row.shape = value_null(beta1) ? "[1]" : text;
    row.dtype = momentum, row.axes = value_true(beta1, false) ? axes : NULL;
    return fine && run_add(r, row);
}

static bool param_state(struct run *r, const struct part *p,
                        const struct optimizer_param *param)
{
    struct shapes shapes = {"[1]", "[1]", "[1]"};
    const char *error = NULL;
    struct rule rule;
    if (!rule_for(r, p, param, &rule, &error) ||
        (!error && param->shape && !judge_rank(r, param, &rule, &error)))
        return false;
    if (error)
        return run_add(
            r, (struct optimizer_row){STATE_ROOT, param, NULL, NULL, NULL, NULL, error});
    if (!param->shape)
        shapes = (struct shapes){NULL, NULL, NULL};
    else if (!factored_shapes(r, p, param->shape, &rule, &shapes))
        return false;
    return add_slots(r, p, param, &shapes);
}

static bool part_state(struct run *r, const struct part *p)
{
    if (p->optax)
        return optax_late_faults(r, p->optax, &p->members) &&
               run_fault(r, "AssertionError: expected (frozen)dict; got <class 'tuple'>");
    for (size_t i = 0; i < p->members.count; i++)
        if (!param_state(r, p, p->members.at[i]))
            return false;
    return true;
}

/* What no part selects has null as its state. */
static bool unowned(struct adafactor *a)
{
    struct run *r = a->run;
    struct text ignored = {0};
    size_t *at = arena_array(r->arena, a->parts + 1, sizeof(*at));
    bool fine = at || run_no_memory(r);
    for (size_t i = 0; fine && i < r->params->count; i++) {
        const struct optimizer_param *param = &r->params->at[i];
        text_reset(&ignored);
        selecting(a, param, at, &ignored);
        if (ignored.len == strlen("[]"))
            fine = run_add(r, (struct optimizer_row){.path = STATE_ROOT, .param = param});
    }
    text_release(&ignored);
    return fine;
}

static bool choose_members(struct adafactor *a)
{
    struct members all;
    if (!members_all(a->run, &all))
        return false;
    for (size_t k = 0; k < a->parts; k++) {
        struct part *p = &a->part[k];
        if (!a->several)
            p->members = all;
        else if (!filter_members(a->run, p->filter, true, &all, &p->members))
            return false;
    }
    return true;
}

bool adafactor_state(struct run *r)
{
    struct adafactor a = {.run = r};
    if (!read_parts(&a) || r->rows->count > 0)
        return r->err->status == OK;
    if (!choose_members(&a) || (a.several && !check_overlap(&a)) || !check_axes(&a) ||
        r->rows->count > 0)
        return r->err->status == OK;
    struct optimizer_row step = {"state/step", NULL, NULL, "[]", "int32", NULL, NULL};
    bool fine = run_add(r, step);
    for (size_t k = 0; fine && k < a.parts; k++)
        fine = part_state(r, &a.part[k]);
    return fine && (!a.several || unowned(&a));
}
