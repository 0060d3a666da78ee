#include "catalog/maps/map/ruleset.h"

#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/data/compose/operation.h"
#include "catalog/data/model/dtype.h"
#include "catalog/maps/map/dialect.h"
#include "catalog/maps/map/form_walk.h"
#include "catalog/maps/map/kontext.h"

#define WORDS_MAX 8 /* of a step */

bool ruleset_add(struct ruleset *s, struct ruleset_rule rule)
{
    struct ruleset_rule *grown = arena_grow(s->arena, s->rule, s->rules, &s->space, sizeof(rule));
    if (!grown)
        return false;
    s->rule = grown;
    s->rule[s->rules++] = rule;
    return true;
}

bool ruleset_dialect_known(const char *dialect)
{
    return dialect_find(dialect) != NULL;
}

bool ruleset_dialect_assigns(const char *dialect)
{
    const struct dialect *d = dialect_find(dialect);
    return d && d->view == MAP_ASSIGNMENT;
}

bool ruleset_dialect_converts(const char *dialect)
{
    const struct dialect *d = dialect_find(dialect);
    return d && d->view == MAP_CONVERSION;
}

bool ruleset_shape(const char *dialect, enum rules_shape *shape)
{
    const struct dialect *d = dialect_find(dialect);
    *shape = d && d->trial == MAP_MATCH ? RULES_TRANSLATOR : RULES_FULLMATCH;
    return d && d->trial != MAP_PATH;
}

/* --- compiling: tables -------------------------------------------------------------------------- */

/* A JSON value as json_each() gives it in SQL; *text NULL: null. False: out of memory. */
static bool scalar(struct arena *arena, const struct form_value *v, const char **text)
{
    *text = NULL;
    if (v->type == JSON_NULL)
        return true;
    if (v->type == JSON_TRUE || v->type == JSON_FALSE)
        *text = v->type == JSON_TRUE ? "1" : "0";
    else
        *text = v->type == JSON_STRING ? form_string(arena, v) : form_copy(arena, v);
    return *text != NULL;
}

static bool add_value(struct rules *rules, struct arena *arena, const char *table, const char *key,
                      const struct form_value *v, bool listed)
{
    const char *text;
    return scalar(arena, v, &text) && rules_add_value(rules, table, key, text, listed);
}

static bool add_listed(struct rules *rules, struct arena *arena, const char *table, const char *key,
                       const struct form_value *list)
{
    struct form_walk w = {0};
    struct text unused = {0};
    struct form_value value;
    bool room = true, some = false;
    while (room && form_next(&w, list->at, list->len, &unused, &value)) {
        room = add_value(rules, arena, table, key, &value, true);
        some = true;
    }
    room = form_walk_end(&w) && room;
    if (room && !some)
        room = rules_add_value(rules, table, key, NULL, true);
    text_release(&unused);
    return room;
}

/* If an object has several members of one name, the last one counts: `last` has its number. */
static bool add_table(struct rules *rules, struct arena *arena, const char *table,
                      const struct form_value *members)
{
    struct strmap last = {0};
    struct text key = {0};
    struct form_value value;
    bool room = true, added;
    for (int pass = 0; pass < 2 && room; pass++) {
        struct form_walk w = {0};
        uint64_t number = 0;
        while (room && form_next(&w, members->at, members->len, &key, &value)) {
            const char *kept;
            uint64_t *at = strmap_keep(&last, arena, key.at, key.len, &kept, &added);
            room = at != NULL;
            number++;
            if (room && pass == 0)
                *at = number;
            else if (room && *at == number && value.type == JSON_ARRAY)
                room = add_listed(rules, arena, table, text_str(&key), &value);
            else if (room && *at == number)
                room = add_value(rules, arena, table, text_str(&key), &value, false);
        }
        room = form_walk_end(&w) && room;
    }
    strmap_release(&last);
    text_release(&key);
    return room;
}

static bool add_tables(struct rules *rules, struct arena *arena, const char *options)
{
    struct form_value tables = form_member(options, strlen(options), "tables");
    struct form_walk w = {0};
    struct text table = {0};
    struct form_value members;
    bool room = true;
    while (room && tables.type == JSON_OBJECT &&
           form_next(&w, tables.at, tables.len, &table, &members))
        if (members.type == JSON_OBJECT)
            room = add_table(rules, arena, text_str(&table), &members);
    room = form_walk_end(&w) && room;
    text_release(&table);
    return room;
}

/* --- compiling: steps and operations -------------------------------------------------------------- */

static bool ruleset_add_step(struct rules *rules, struct arena *arena,
                             const struct form_value *step)
{
    struct form_walk w = {0};
    struct text unused = {0};
    struct form_value value;
    const char *word[WORDS_MAX];
    unsigned count = 0;
    bool room = true;
    while (room && step->type == JSON_ARRAY && count < WORDS_MAX &&
           form_next(&w, step->at, step->len, &unused, &value)) {
        const char *text;
        room = scalar(arena, &value, &text);
        word[count++] = text ? text : "";
    }
    room = form_walk_end(&w) && room;
    text_release(&unused);
    return room && rules_add_step(rules, word, count);
}

static bool add_steps(struct rules *rules, struct arena *arena, const char *compute)
{
    struct form_walk w = {0};
    struct text unused = {0};
    struct form_value step;
    bool room = true;
    while (room && form_next(&w, compute, strlen(compute), &unused, &step))
        room = ruleset_add_step(rules, arena, &step);
    room = form_walk_end(&w) && room;
    text_release(&unused);
    return room;
}

/* The contents of a rule's `ops`. */
struct ops {
    struct text cast;  /* the dtype of the last cast; empty: none */
    struct text fault; /* what is wrong; empty: nothing */
    bool moves;        /* there are operations besides casts */
};

static bool read_ops(const char *text, struct ops *out)
{
    struct elements all;
    struct operation o;
    struct error err = {.offset = NO_OFFSET};
    struct dtype found;
    int more;
    elements_of(&all, text, strlen(text));
    while ((more = operations_next(&all, &o, &err)) > 0) {
        if (o.kind != OPERATION_CAST) {
            out->moves = true;
            if (o.kind == OPERATION_ADD && out->cast.len == 0)
                text_adds(&out->cast, "float32");
            continue;
        }
        text_reset(&out->cast);
        text_add(&out->cast, o.argument[0].at, o.argument[0].len);
        dtype_find(out->cast.at ? out->cast.at : "", &found);
        if (out->fault.len == 0 && found.kind == DTYPE_UNKNOWN)
            text_addf(&out->fault, "ValueError: unknown dtype '%s'", found.name);
    }
    if (more < 0 && out->fault.len == 0)
        text_addf(&out->fault, "ValueError: %s", err.message);
    return !out->cast.failed && !out->fault.failed;
}

/* Add the text of the operations, which read_ops() has checked, piece by piece: every string
 * with a backslash is a template, and what is between them is literal. */
static bool add_ops(struct rules *rules, struct arena *arena, const char *ops)
{
    struct json j;
    struct error err = {.offset = NO_OFFSET};
    struct bytes text = {(const uint8_t *)ops, strlen(ops)};
    struct text plain = {0};
    size_t done = 0;
    bool ok = true;
    json_init(&j, cursor_over(text, 0), NULL, NULL, &err);
    while (ok && json_next(&j) != JSON_END && j.type != JSON_FAIL) {
        if (j.type != JSON_STRING || !memchr(j.text.at, '\\', j.text.len))
            continue;
        size_t end = cursor_offset(&j.cursor);
        const char *template =
            form_string(arena, &(struct form_value){JSON_STRING, ops + j.at, end - j.at});
        text_reset(&plain);
        text_add(&plain, ops + done, j.at - done);
        ok = text_str(&plain) && rules_add_ops(rules, text_str(&plain), false) && template &&
             rules_add_ops(rules, template, true);
        done = end;
    }
    ok = ok && rules_add_ops(rules, ops + done, false);
    text_release(&plain);
    return ok;
}

static bool rule_has_nul(const struct ruleset_rule *r)
{
    return r->nul || (r->compute && form_has_nul(r->compute, strlen(r->compute))) ||
           (r->ops && form_has_nul(r->ops, strlen(r->ops)));
}

static bool add_rule(struct rules *rules, struct arena *arena, const struct ruleset_rule *r)
{
    struct ops found = {0};
    bool ok = !r->ops || read_ops(r->ops, &found);
    if (rule_has_nul(r))
        text_adds(&found.fault, "ValueError: a NUL character in a rule");
    ok = ok &&
         rules_add(rules, r->ord, r->pattern, r->replacement, found.cast.len ? found.cast.at : NULL,
                   found.fault.len ? found.fault.at : NULL);
    ok = ok && (!r->compute || add_steps(rules, arena, r->compute));
    ok = ok && (!found.moves || found.fault.len || add_ops(rules, arena, r->ops));
    text_release(&found.cast);
    text_release(&found.fault);
    return ok;
}

struct rules *ruleset_compile(const struct ruleset *set, enum rules_shape shape)
{
    struct rules *rules = rules_new(shape);
    struct arena scratch = {0};
    bool room = rules && add_tables(rules, &scratch, set->options);
    for (size_t i = 0; room && i < set->rules; i++)
        room = add_rule(rules, &scratch, &set->rule[i]);
    arena_release(&scratch);
    if (room)
        return rules;
    rules_free(rules);
    return NULL;
}

/* --- checking ------------------------------------------------------------------------------------ */

enum status ruleset_check_dialect(const char *dialect, struct error *err)
{
    struct text known = {0};
    if (dialect_find(dialect))
        return OK;
    for (size_t i = 0; dialect_name(i); i++)
        text_addf(&known, "%s%s", i ? ", " : "", dialect_name(i));
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "the dialect '%.100s' is not known here, only %s",
              dialect, text_str(&known) ? known.at : "");
    text_release(&known);
    return err->status;
}

static bool is_text(const struct form_value *v, const char *word)
{
    size_t len = strlen(word);
    return v->type == JSON_STRING && v->len == len + 2 && strncmp(v->at + 1, word, len) == 0;
}

/* What the value of an option must be; NULL: it is valid. */
static const char *ruleset_wanted(const char *key, const struct form_value *v)
{
    if (strcmp(key, "mode") == 0)
        return is_text(v, "compat") || is_text(v, "strict") ? NULL : "\"compat\" or \"strict\"";
    if (strcmp(key, "unmatched") == 0)
        return is_text(v, "error") || is_text(v, "keep") || is_text(v, "drop")
                   ? NULL
                   : "\"error\", \"keep\" or \"drop\"";
    if (strcmp(key, "tables") == 0 || strcmp(key, "settings") == 0)
        return v->type == JSON_OBJECT ? NULL : "an object";
    if (strncmp(key, "ignore_", 7) == 0)
        return v->type == JSON_ARRAY || v->type == JSON_NULL || v->type == JSON_STRING
                   ? NULL
                   : "a list of patterns";
    /* json_object() has no booleans but 0 and 1. */
    bool number = v->type == JSON_NUMBER && v->len == 1 && (*v->at == '0' || *v->at == '1');
    return v->type == JSON_TRUE || v->type == JSON_FALSE || v->type == JSON_NULL || number
               ? NULL
               : "true or false";
}

/* Why a text is not a path ("": it is one), in `fault`; `pattern`: globs are allowed. NULL: out of
 * memory. */
static const char *path_fault(const char *path, size_t len, bool pattern, struct text *fault)
{
    struct arena arena = {0};
    struct kontext found;
    text_reset(fault);
    bool room = kontext_parse(&arena, path, len, &found);
    if (room && !(found.good && pattern))
        kontext_fault(&found, fault);
    arena_release(&arena);
    return room ? text_str(fault) : NULL;
}

/* Check an option whose value is a pattern of paths or a list of such patterns. */
static void check_filters(const char *key, const struct form_value *v, struct error *err)
{
    bool list = v->type == JSON_ARRAY;
    struct form_walk w = {0};
    struct arena arena = {0};
    struct text none = {0}, fault = {0};
    struct form_value each = *v;
    while (err->status == OK && (!list || form_next(&w, v->at, v->len, &none, &each))) {
        bool is_string = each.type == JSON_STRING;
        const char *path = is_string ? form_string(&arena, &each) : "";
        const char *wrong = path ? path_fault(path, strlen(path), true, &fault) : NULL;
        if (!wrong)
            error_memory(err);
        else if (!is_string || *wrong)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "option \"%s\": %s", key,
                      is_string ? wrong : "a pattern is a text");
        if (!list)
            break;
    }
    form_walk_end(&w);
    arena_release(&arena);
    text_release(&none);
    text_release(&fault);
}

/* Check that the dialect has the option, and that its value is valid. */
static enum status check_option(const struct dialect *d, const char *key,
                                const struct form_value *value, struct error *err)
{
    struct text word = {0};
    text_addf(&word, "%s ", key);
    const char *name = text_str(&word) ? strstr(d->options, word.at) : NULL;
    bool known = name && (name == d->options || name[-1] == ' ') && !strchr(key, ' ');
    const char *want = known ? ruleset_wanted(key, value) : NULL;
    if (word.failed)
        error_memory(err);
    else if (!known)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "there is no option \"%.100s\"; dialect %s has %.*s", key, d->name,
                  (int)strlen(d->options) - 1, d->options);
    else if (want)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "option \"%s\" must be %s", key, want);
    text_release(&word);
    return err->status;
}

enum status ruleset_check_options(const char *dialect, const char *options, bool paths,
                                  struct error *err)
{
    const struct dialect *d = dialect_find(dialect);
    struct form_walk w = {0};
    struct strmap seen = {0};
    struct text key = {0};
    struct form_value value;
    bool added = true;
    if (options[strspn(options, " \t\r\n")] != '{')
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "its options are not an object");
    if (form_has_nul(options, strlen(options)))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "its options: a NUL character");
    while (d && err->status == OK && form_next(&w, options, strlen(options), &key, &value))
        if (!strmap_add(&seen, text_str(&key), key.len, &added))
            error_memory(err);
        else if (!added)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "its options: \"%.100s\" is given twice",
                      key.at);
        else if (check_option(d, text_str(&key), &value, err) == OK && paths &&
                 strncmp(key.at, "ignore_", 7) == 0 && value.type != JSON_NULL)
            check_filters(key.at, &value, err);
    if (!form_walk_end(&w))
        error_memory(err);
    strmap_release(&seen);
    if (err->status == OK && w.failed)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "its options: %s", w.err.message);
    text_release(&key);
    return err->status;
}

static enum status check_numbers(const struct ruleset *set, struct error *err)
{
    struct strmap seen = {0};
    for (size_t i = 0; i < set->rules && err->status == OK; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        bool added = false;
        if (rule_has_nul(r))
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "rule %lld: a NUL character",
                      (long long)r->ord);
        else if (!strmap_add(&seen, (const char *)&r->ord, sizeof(r->ord), &added))
            error_memory(err);
        else if (!added)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "two rules have the number %lld",
                      (long long)r->ord);
    }
    strmap_release(&seen);
    return err->status;
}

/* For dialects whose rules map paths to paths: check that both can be looked up. */
static void check_paths(const struct ruleset *set, struct error *err)
{
    struct text fault = {0};
    for (size_t i = 0; i < 2 * set->rules && err->status == OK; i++) {
        const struct ruleset_rule *r = &set->rule[i / 2];
        const char *path = i % 2 ? r->replacement : r->pattern;
        const char *wrong = path ? path_fault(path, strlen(path), false, &fault) : "";
        if (!wrong)
            error_memory(err);
        else if (*wrong)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "rule %lld, %s: %s", (long long)r->ord,
                      i % 2 ? "replacement" : "pattern", wrong);
    }
    text_release(&fault);
}

static void check_rules(const struct ruleset *set, struct error *err)
{
    enum rules_shape shape;
    bool single = ruleset_shape(set->dialect, &shape);
    if (dialect_find(set->dialect)->trial == MAP_PATH)
        check_paths(set, err);
    if (err->status != OK)
        return;
    struct rules *rules = ruleset_compile(set, shape);
    int64_t ord = 0;
    const char *what = "", *fault = NULL;
    if (!rules)
        error_memory(err);
    else if (single)
        fault = rules_fault(rules, &ord, &what);
    if (fault && strncmp(fault, "error: ", 7) == 0) /* the class of Python's re */
        fault += 7;
    if (fault)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "rule %lld, %s: %s", (long long)ord, what,
                  fault);
    rules_free(rules);
}

enum status ruleset_check(const struct ruleset *set, struct error *err)
{
    if (ruleset_check_dialect(set->dialect, err) == OK &&
        ruleset_check_options(set->dialect, set->options, true, err) == OK &&
        check_numbers(set, err) == OK)
        check_rules(set, err);
    return err->status;
}
