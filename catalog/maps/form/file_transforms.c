/*
 * file_transforms.c - Orbax's form: {"dialect": "orbax", "options": {...}, "transforms": TREE}, a
 * tree whose leaves are {"original_key": ..., "use_fallback": ..., "value": [operations]}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/form/form.h"

#define FALLBACK "{\"use_fallback\": true}"

static bool transforms_recognise(const char *text)
{
    size_t len = strlen(text);
    struct form_value dialect = form_member(text, len, "dialect");
    const size_t name = strlen(dialect_orbax.name);
    return dialect.type == JSON_STRING && dialect.len == name + 2 &&
           strncmp(dialect.at + 1, dialect_orbax.name, name) == 0 &&
           form_member(text, len, "transforms").type == JSON_OBJECT &&
           form_member(text, len, "rules").type == JSON_FAIL;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A leaf of the tree. `turn` sorts leaves as Orbax does, key by key from the root: it joins the
 * keys with the character 1, which sorts before any other, so that "a/z" comes before "a-b/c". */
struct transform {
    const char *path, *turn;
    struct ruleset_rule rule;
    size_t nth; /* in the file: of two leaves of one path the later one acts last */
};

struct reading {
    struct form_text *f;
    struct transform *leaf;
    size_t count, space;
    bool nested;
    bool ordered; /* sorting the patterns does not give the order of the keys */
};

static bool is_leaf(const struct form_value *v)
{
    if (v->type != JSON_OBJECT)
        return v->type != JSON_ARRAY;
    return form_member(v->at, v->len, "original_key").type != JSON_FAIL ||
           form_member(v->at, v->len, "use_fallback").type != JSON_FAIL ||
           form_member(v->at, v->len, "value").type == JSON_ARRAY ||
           strspn(v->at + 1, " \t\r\n") + 2 == v->len;
}

static const char *joined(struct arena *arena, const char *a, const char *sep, const char *b)
{
    struct text t = {0};
    text_addf(&t, "%s%s", a, sep);
    text_adds(&t, b);
    const char *copy = text_str(&t) ? arena_copy(arena, t.at, t.len) : NULL;
    text_release(&t);
    return copy;
}

/* A transform's original_key (a string, or a list of keys) as a template. NULL: it is no name. */
static const char *original(struct reading *r, const struct form_value *v)
{
    struct arena *arena = r->f->set->arena;
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value part;
    const char *name = "";
    if (v->type == JSON_FAIL || v->type == JSON_NULL)
        return "\\g<0>";
    if (v->type != JSON_ARRAY)
        return v->type == JSON_STRING ? form_string(arena, v) : NULL;
    for (bool first = true; name && form_next(&w, v->at, v->len, &key, &part); first = false) {
        const char *text = form_string(arena, &part);
        name = text ? joined(arena, name, first ? "" : "/", text) : NULL;
    }
    form_walk_end(&w);
    text_release(&key);
    return name;
}

static const char *stranger(const struct form_value *v)
{
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    bool known = true;
    while (known && form_next(&w, v->at, v->len, &key, &value))
        known = strcmp(text_str(&key), "original_key") == 0 ||
                strcmp(text_str(&key), "use_fallback") == 0 || strcmp(text_str(&key), "value") == 0;
    form_walk_end(&w);
    text_release(&key);
    return known ? NULL : "has other keys than original_key, use_fallback and value";
}

/* Read a leaf into a rule. Returns what is wrong with it, or NULL. */
static const char *transforms_read_leaf(struct reading *r, const struct form_value *v,
                                        struct ruleset_rule *rule)
{
    struct form_value from, fallback, ops;
    const char *fault = v->type == JSON_OBJECT ? stranger(v) : "is not a transform";
    if (fault)
        return fault;
    from = form_member(v->at, v->len, "original_key");
    fallback = form_member(v->at, v->len, "use_fallback");
    ops = form_member(v->at, v->len, "value");
    bool operates = ops.type != JSON_FAIL && ops.type != JSON_NULL;
    if (fallback.type != JSON_FAIL && fallback.type != JSON_NULL && fallback.type != JSON_TRUE &&
        fallback.type != JSON_FALSE)
        return "has a use_fallback that is neither true nor false";
    if (fallback.type == JSON_TRUE &&
        ((from.type != JSON_FAIL && from.type != JSON_NULL) || operates))
        return "has more than use_fallback";
    if (operates && ops.type != JSON_ARRAY)
        return "has a value that is not a list of operations";
    rule->replacement = fallback.type == JSON_TRUE ? NULL : original(r, &from);
    if (fallback.type != JSON_TRUE && !rule->replacement)
        return "has an original_key that is not a name";
    if (operates)
        rule->ops = form_copy(r->f->set->arena, &ops);
    return NULL;
}

static void transforms_add_leaf(struct reading *r, const char *path, const char *turn,
                                const struct form_value *v)
{
    struct arena *arena = r->f->set->arena;
    struct transform t = {.path = path, .turn = turn, .rule = {.pattern = path}, .nth = r->count};
    struct transform *grown = arena_grow(arena, r->leaf, r->count, &r->space, sizeof(*r->leaf));
    const char *fault = grown && path && turn ? transforms_read_leaf(r, v, &t.rule) : NULL;
    if (!grown || !path || !turn) {
        form_refuse(r->f, "no memory");
        return;
    }
    if (fault)
        form_refuse_at(r->f, v->at, "the transform of \"%.200s\" %s", path, fault);
    r->leaf = grown;
    r->leaf[r->count++] = t;
}

/* Recurses as deep as the JSON text is nested, which LIMIT_JSON_DEPTH bounds. */
static void read_node(struct reading *r, const char *path, /* NULL: at the root */
                      const char *turn,                    /* NOLINT(misc-no-recursion) */
                      const struct form_value *v)
{
    struct arena *arena = r->f->set->arena;
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    unsigned long index = 0;
    while (r->f->err->status == OK && form_next(&w, v->at, v->len, &key, &value)) {
        char number[32], place[32];
        snprintf(number, sizeof(number), "%lu", index);
        snprintf(place, sizeof(place), "%08lu", index++);
        bool list = v->type == JSON_ARRAY;
        const char *name = list ? number : text_str(&key);
        const char *below = joined(arena, path ? path : "", path ? "/" : "", name);
        const char *order = joined(arena, turn, path ? "\1" : "", list ? place : name);
        if (is_leaf(&value))
            transforms_add_leaf(r, below, order, &value);
        else if (below && order)
            r->nested = true, read_node(r, below, order, &value);
    }
    form_walk_end(&w);
    text_release(&key);
}

static int transforms_by_turn(const void *a, const void *b)
{
    const struct transform *x = a, *y = b;
    int order = strcmp(x->turn, y->turn);
    return order ? order : (x->nth > y->nth) - (x->nth < y->nth);
}

/* Whether two neighbours in the order of the keys would sort the other way round by their
 * paths, taking each '/' for the end of a key: some key has a '/' in it. */
static bool sorts_otherwise(const struct transform *a, const struct transform *b)
{
    const char *x = a->path, *y = b->path;
    for (; *x && *x == *y; x++)
        y++;
    return (*x == '/' ? 1 : (unsigned char)*x) > (*y == '/' ? 1 : (unsigned char)*y);
}

/* The options of the file, and the option `own` ("nested" or "ordered"), which follows from the
 * tree and overrides the file's. NULL: the tree says nothing. */
static void read_options(struct form_text *f, const char *own)
{
    struct form_value given = form_member(f->text, strlen(f->text), "options");
    struct form_walk w = {0};
    struct text key = {0}, out = {0};
    struct form_value value;
    text_addc(&out, '{');
    if (given.type != JSON_FAIL && given.type != JSON_OBJECT)
        form_refuse(f, "\"options\" is not an object");
    while (given.type == JSON_OBJECT && form_next(&w, given.at, given.len, &key, &value)) {
        const char *copy = form_copy(f->set->arena, &value);
        if (own && (strcmp(text_str(&key), "nested") == 0 || strcmp(text_str(&key), own) == 0))
            continue;
        text_adds(&out, out.len > 1 ? "," : "");
        text_json(&out, key.at, key.len);
        text_addf(&out, ":%s", copy ? copy : "");
        out.failed = out.failed || !copy;
    }
    if (own)
        text_addf(&out, "%s\"%s\":true", out.len > 1 ? "," : "", own);
    text_addc(&out, '}');
    f->set->options = text_str(&out) ? arena_copy(f->set->arena, out.at, out.len) : NULL;
    form_walk_end(&w);
    text_release(&key);
    text_release(&out);
}

static void check_members(struct form_text *f)
{
    static const char *const own[] = {"dialect", "options", "transforms"};
    struct form_walk w = {0};
    struct text key = {0};
    struct form_value value;
    while (form_next(&w, f->text, strlen(f->text), &key, &value)) {
        bool known = false;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            known = known || strcmp(text_str(&key), own[i]) == 0;
        if (!known)
            form_refuse(f, "nobody knows \"%.200s\"", text_str(&key));
    }
    form_walk_end(&w);
    text_release(&key);
}

static void transforms_read(struct form_text *f)
{
    struct reading r = {.f = f};
    struct form_value tree = form_member(f->text, strlen(f->text), "transforms");
    check_members(f);
    read_node(&r, NULL, "", &tree);
    if (f->err->status == OK) {
        /* Add the rules in the order in which Orbax applies them. */
        struct ruleset *set = r.f->set;
        if (r.count)
            qsort(r.leaf, r.count, sizeof(*r.leaf), transforms_by_turn);
        for (size_t i = 0; i < r.count && r.f->err->status == OK; i++) {
            struct transform *t = &r.leaf[i];
            r.ordered = r.ordered || (r.nested && i > 0 && sorts_otherwise(&t[-1], t));
            t->rule.ord = (int64_t)i + 1;
            if (!ruleset_add(set, t->rule))
                form_refuse(r.f, "no memory");
        }
    }
    read_options(f, r.ordered ? "ordered" : r.nested ? "nested" : NULL);
}

/* --- writing --------------------------------------------------------------------------------- */

/* A rule's pattern, split into the keys of the tree. */
struct branch {
    const struct ruleset_rule *rule;
    const char *order;
    const char **part;
    size_t parts;
};

static int by_order(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;
    int order = strcmp(x->order, y->order);
    return order ? order : (x->rule->ord > y->rule->ord) - (x->rule->ord < y->rule->ord);
}

static bool transforms_split(struct arena *arena, const struct ruleset_rule *rule, bool nested,
                             struct branch *out)
{
    char *copy = arena_copy(arena, rule->pattern, strlen(rule->pattern));
    char *order = arena_copy(arena, rule->pattern, strlen(rule->pattern));
    *out = (struct branch){.rule = rule, .order = order, .parts = 1};
    for (char *c = order; nested && c && *c; c++)
        if (*c == '/')
            *c = '\1', out->parts++;
    out->part = arena_array(arena, out->parts, sizeof(*out->part));
    if (!copy || !order || !out->part)
        return false;
    out->part[0] = copy;
    size_t n = 1;
    for (char *c = copy; n < out->parts; c++)
        if (*c == '/') {
            *c = '\0';
            out->part[n++] = c + 1;
        }
    return true;
}

/* The number of leading keys that two patterns share. */
static size_t shared(const struct branch *a, const struct branch *b)
{
    size_t n = 0;
    while (n < a->parts && n < b->parts && strcmp(a->part[n], b->part[n]) == 0)
        n++;
    return n;
}

static void check_branches(const struct branch *b, size_t count, struct error *err)
{
    for (size_t i = 1; i < count && err->status == OK; i++) {
        size_t n = shared(&b[i - 1], &b[i]);
        if (n == b[i].parts || n == b[i - 1].parts)
            form_cannot(err, "json",
                        "the pattern of rule %lld lies below another rule's, or is the same",
                        (long long)b[i].rule->ord);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < b[i].parts; k++)
            if ((k > 0 && (strcmp(b[i].part[k], "original_key") == 0 ||
                           strcmp(b[i].part[k], "use_fallback") == 0)) ||
                strchr(b[i].part[k], '\1'))
                form_cannot(err, "json",
                            "the pattern of rule %lld has a component that a tree takes for a "
                            "transform's own key",
                            (long long)b[i].rule->ord);
}

static void transforms_check(const struct ruleset *set, struct error *err)
{
    if (form_member(set->options, strlen(set->options), "ordered").type == JSON_TRUE)
        form_cannot(err, "json", "transforms has no place for an order of its rules");
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        if ((r->compute && *r->compute != '[') || (r->ops && *r->ops != '['))
            form_cannot(err, "sql", "\"compute\" or \"ops\" of rule %lld is not a list",
                        (long long)r->ord);
    }
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        if (form_has(r->compute) || (form_has(r->ops) && !r->replacement))
            form_cannot(err, "json", "transforms has no place for more than the names of rule %lld",
                        (long long)r->ord);
    }
}

static void write_branch(const struct branch *b, size_t before, size_t after, bool last,
                         struct text *out)
{
    text_adds(out, "  ");
    for (size_t k = before; k < b->parts; k++) {
        text_adds(out, k > before ? ": {" : "");
        text_json(out, b->part[k], strlen(b->part[k]));
    }
    if (b->rule->replacement) {
        text_adds(out, ": {\"original_key\": ");
        text_json(out, b->rule->replacement, strlen(b->rule->replacement));
        if (b->rule->ops)
            text_addf(out, ", \"value\": %s", b->rule->ops);
        text_addc(out, '}');
    } else {
        text_adds(out, ": " FALLBACK);
    }
    for (size_t k = after + 1; k < b->parts; k++)
        text_addc(out, '}');
    text_adds(out, last ? "\n" : ",\n");
}

static bool is_nested(const struct ruleset *set)
{
    struct form_value v = form_member(set->options, strlen(set->options), "nested");
    return v.type == JSON_TRUE || (v.type == JSON_NUMBER && !(v.len == 1 && *v.at == '0'));
}

static void transforms_write(const struct ruleset *set, struct text *out, struct error *err)
{
    struct branch *b = arena_array(set->arena, set->rules + 1, sizeof(*b));
    transforms_check(set, err);
    bool nested = err->status == OK && is_nested(set), room = b != NULL;
    for (size_t i = 0; room && i < set->rules; i++)
        room = transforms_split(set->arena, &set->rule[i], nested, &b[i]);
    if (!room) {
        error_memory(err);
        return;
    }
    if (set->rules)
        qsort(b, set->rules, sizeof(*b), by_order);
    check_branches(b, set->rules, err);
    text_addf(out, "{\"dialect\": \"%s\",\n", dialect_orbax.name);
    if (strcmp(set->options, "{}") != 0)
        text_addf(out, " \"options\": %s,\n", set->options);
    text_adds(out, " \"transforms\": {\n");
    for (size_t i = 0; i < set->rules; i++) {
        bool last = i + 1 == set->rules;
        write_branch(&b[i], i ? shared(&b[i - 1], &b[i]) : 0, last ? 0 : shared(&b[i], &b[i + 1]),
                     last, out);
    }
    text_adds(out, " }}\n");
}

const struct form form_transforms = {
    .name = "transforms",
    .dialect = &dialect_orbax,
    .holds = "transforms of Orbax",
    .recognise = transforms_recognise,
    .read = transforms_read,
    .write = transforms_write,
};
