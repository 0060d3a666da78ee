/*
 * file_json.c - our own form: {"dialect": D, "options": {...}, "rules": [[PATTERN, REPLACEMENT or
 * null, {"ord": N, "compute": [...], "ops": [...]}], ...]}. Holds any set whose `options` is an
 * object and whose `compute` and `ops` are lists. Also explains what is wrong with a text that is
 * not JSON.
 */
#include <string.h>

#include "catalog/maps/form/form.h"

static bool json_form_recognise(const char *text)
{
    return *text == '{';
}

/* --- reading --------------------------------------------------------------------------------- */

/* The usual mistake behind a syntax error, guessed from the characters around it. */
static const char *cause(const char *text, const char *at, const char *otherwise)
{
    const char *before = at;
    while (before > text && strchr(" \t\r\n", before[-1]))
        before--;
    const char last = *(before > text ? before - 1 : "");
    if ((*at == '}' || *at == ']') && last == ',')
        return "a comma after the last element: JSON has none there";
    if (*at == '\\')
        return "a single backslash: in JSON it is written twice, \"\\\\d\"";
    if (*at == '\'')
        return "a single quote: strings of JSON are in double quotes";
    if (*at == '#' || *at == '/')
        return "a comment: JSON has none";
    if (strncmp(at, "None", 4) == 0)
        return "None: JSON calls it null";
    if (strncmp(at, "True", 4) == 0 || strncmp(at, "False", 5) == 0)
        return "True and False are true and false in JSON";
    if (*at == '(')
        return "a parenthesis: lists of JSON are in brackets, [\"pattern\", \"replacement\"]";
    if (*at == '"' && (last == '"' || last == ']' || last == '}'))
        return "a comma is missing before this";
    if (*at == '[' && last == ']')
        return "a comma is missing before this";
    if (*at == '\n' || *at == '\r')
        return "a line break in a string, or its closing quote is missing";
    if (!*at)
        return "the text ends before everything is closed";
    return otherwise;
}

/* The first escape in the string at `at` that JSON does not know; the end of the string if all are
 * known. */
static const char *bad_escape(const char *at)
{
    for (at++; *at && *at != '"'; at += at[0] == '\\' && at[1] ? 2 : 1)
        if (*at == '\\' && !strchr("\"\\/bfnrtu", at[1]))
            break;
    return at;
}

/* Whether the text is JSON; if not, f->err says where it is not, and why that usually happens. */
static bool is_json(struct form_text *f)
{
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    struct json j;
    size_t len = strlen(f->text);
    json_init(&j, cursor_over((struct bytes){(const uint8_t *)f->text, len}, 0), &arena, NULL,
              &err);
    while (json_next(&j) != JSON_END && j.type != JSON_FAIL)
        ;
    bool good = j.type != JSON_FAIL;
    if (!good) {
        const char *at = f->text + (j.cursor.failed ? len : (size_t)(j.cursor.at - j.cursor.begin));
        const char *token = f->text + (j.at <= len ? j.at : len);
        if (*token == '"' && *bad_escape(token) == '\\')
            at = bad_escape(token);
        const char *why = err.message;
        why += strncmp(why, "bad JSON: ", 10) == 0 ? 10 : 0;
        form_refuse_at(f, at, "this is not JSON: %s", cause(f->text, at, why));
    }
    arena_release(&arena);
    return good;
}

/* The optional third element of a rule: {"ord", "compute", "ops"}. */
static bool read_extras(struct form_text *f, const struct form_value *v, struct ruleset_rule *rule)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    bool good = v->type == JSON_OBJECT;
    while (good && form_next(&w, v->at, v->len, &key, &value)) {
        const char *name = text_str(&key);
        struct error err = {.offset = NO_OFFSET};
        struct json j;
        json_init(&j, cursor_over((struct bytes){(const uint8_t *)value.at, value.len}, 0),
                  &w.arena, NULL, &err);
        json_next(&j);
        if (strcmp(name, "ord") == 0)
            good = json_i64(&j, &rule->ord);
        else if (strcmp(name, "compute") == 0 && value.type == JSON_ARRAY && !rule->compute)
            rule->compute = form_copy(f->set->arena, &value);
        else if (strcmp(name, "ops") == 0 && value.type == JSON_ARRAY && !rule->ops)
            rule->ops = form_copy(f->set->arena, &value);
        else
            good = false;
    }
    form_walk_end(&w);
    text_release(&key);
    return good;
}

static bool read_rule(struct form_text *f, const struct form_value *v, int64_t number)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    struct ruleset_rule rule = {.ord = number, .nul = form_has_nul(v->at, v->len)};
    unsigned count = 0;
    bool good = v->type == JSON_ARRAY;
    while (good && form_next(&w, v->at, v->len, &key, &value)) {
        if (count == 0)
            good = value.type == JSON_STRING;
        else if (count == 1)
            good = value.type == JSON_STRING || value.type == JSON_NULL;
        else
            good = count == 2 && read_extras(f, &value, &rule);
        if (good && count == 0)
            rule.pattern = form_string(f->set->arena, &value);
        else if (good && count == 1 && value.type == JSON_STRING)
            rule.replacement = form_string(f->set->arena, &value);
        count++;
    }
    good = good && count >= 2;
    if (good && (!rule.pattern || !ruleset_add(f->set, rule)))
        error_memory_at(f->err, f->path);
    form_walk_end(&w);
    text_release(&key);
    return good;
}

static void read_rules(struct form_text *f, const struct form_value *v)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    int64_t number = 0;
    while (f->err->status == OK && form_next(&w, v->at, v->len, &key, &value))
        if (!read_rule(f, &value, ++number))
            form_refuse(f,
                        "rule %lld is no [\"pattern\", \"replacement\" or null], with {\"ord\", "
                        "\"compute\", \"ops\"} or without",
                        (long long)number);
    form_walk_end(&w);
    text_release(&key);
}

static void read_members(struct form_text *f)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value, rules = {JSON_FAIL, NULL, 0}, options = rules;
    const char *stranger = NULL;
    struct ruleset *set = f->set;
    unsigned dialects = 0, twice = 0;
    while (form_next(&w, f->text, strlen(f->text), &key, &value)) {
        const char *name = text_str(&key);
        if (strcmp(name, "dialect") == 0 && ++dialects)
            set->dialect = value.type == JSON_STRING ? form_string(set->arena, &value) : NULL;
        else if (strcmp(name, "options") == 0)
            twice += options.type != JSON_FAIL, options = value;
        else if (strcmp(name, "rules") == 0)
            twice += rules.type != JSON_FAIL, rules = value;
        else if (!stranger)
            stranger = arena_copy(set->arena, name, strlen(name));
    }
    form_walk_end(&w);
    text_release(&key);
    set->options = options.type == JSON_OBJECT ? form_copy(set->arena, &options)
                                               : arena_copy(set->arena, "{}", 2);
    if (!set->dialect)
        form_refuse(f, "\"dialect\" is missing");
    else if (options.type != JSON_OBJECT && options.type != JSON_FAIL)
        form_refuse(f, "\"options\" is not an object");
    else if (rules.type != JSON_ARRAY)
        form_refuse(f, "\"rules\" is not a list");
    else if (twice || dialects > 1)
        form_refuse(f, "\"%s\" is given twice", twice ? "options\" or \"rules" : "dialect");
    else if (stranger)
        form_refuse(f, "nobody knows \"%s\"", stranger);
    else
        read_rules(f, &rules);
}

static void json_form_read(struct form_text *f)
{
    if (is_json(f))
        read_members(f);
}

/* --- writing --------------------------------------------------------------------------------- */

static bool is_list(const char *json)
{
    return !json || *json == '[';
}

static void write_rule(const struct ruleset_rule *r, int64_t number, struct text *out)
{
    const char *sep = "";
    text_adds(out, "  [");
    text_json(out, r->pattern, strlen(r->pattern));
    text_adds(out, ", ");
    if (r->replacement)
        text_json(out, r->replacement, strlen(r->replacement));
    else
        text_adds(out, "null");
    if (r->ord != number || r->compute || r->ops)
        text_adds(out, r->compute ? ",\n   {" : ", {");
    if (r->ord != number)
        text_addf(out, "\"ord\": %lld", (long long)r->ord), sep = ", ";
    if (r->compute)
        text_addf(out, "%s\"compute\": %s", sep, r->compute), sep = ", ";
    if (r->ops)
        text_addf(out, "%s\"ops\": %s", sep, r->ops);
    if (r->ord != number || r->compute || r->ops)
        text_addc(out, '}');
    text_addc(out, ']');
}

static void json_form_write(const struct ruleset *set, struct text *out, struct error *err)
{
    for (size_t i = 0; i < set->rules; i++)
        if (!is_list(set->rule[i].compute) || !is_list(set->rule[i].ops))
            form_cannot(err, "sql", "\"compute\" or \"ops\" of rule %lld is not a list",
                        (long long)set->rule[i].ord);
    text_adds(out, "{\"dialect\": ");
    text_json(out, set->dialect, strlen(set->dialect));
    text_adds(out, ",\n");
    if (strcmp(set->options, "{}") != 0)
        text_addf(out, " \"options\": %s,\n", set->options);
    text_adds(out, " \"rules\": [\n");
    for (size_t i = 0; i < set->rules; i++) {
        write_rule(&set->rule[i], (int64_t)i + 1, out);
        text_adds(out, i + 1 < set->rules ? ",\n" : "\n");
    }
    text_adds(out, "]}\n");
}

const struct form form_json = {
    .name = "json",
    .recognise = json_form_recognise,
    .read = json_form_read,
    .write = json_form_write,
};
