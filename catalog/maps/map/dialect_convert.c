/*
 * dialect_convert.c - rules that rename, rearrange, split and join tensors: this program's own dialect.
 * There is one row for each pair of a result and a tensor that it is made from; the tensor is
 * number `part` of the result's `parts`. Part 0 has the recipe (catalog/data/compose/compose.h). For
 * example
 *
 *   qkv split into q, k, v          3 results, 3 rows: each part 0 of 1
 *   w.0, w.1 stacked into w         1 result, 2 rows: parts 0 and 1 of 2, the recipe on part 0
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/data/compose/parts.h"
#include "catalog/maps/map/dialect.h"

/* A tensor, or a part of one, on its way into a result. Piece i belongs to row i of the task. */
struct piece {
    struct operation_join how; /* join NULL: the piece is a result by itself */
    size_t next;               /* the next piece of the same new name, plus 1; 0: none */
};

/* The pieces that get the same new name. */
struct group {
    size_t first, last, count; /* pieces */
    size_t joined;             /* of these, how many are to be joined */
    struct map_text error;
    uint64_t size; /* of the result, along the axis of the join */
    const char *shape;
};

struct conversion {
    struct map_task *task;
    bool keeps, drops; /* what happens to names that no rule matches */
    struct piece *piece;
    size_t pieces, space;
    struct group *group;
    size_t groups, group_space;
    struct strmap names;  /* new name to index in `group`, plus 1 */
    const char *last_ops; /* the operations parsed last; last_join is what they say */
    struct operation_join last_join;
    const char *whole_ops, *whole_shape; /* the last pair that splits no tensor */
};

/* --- pieces ------------------------------------------------------------------------------ */

/* Append a piece and its row; NULL: out of memory. */
static struct map_row *convert_add_piece(struct conversion *c, const struct map_leaf *leaf,
                                         size_t nth)
{
    struct map_row *row = map_add(c->task, "ok");
    struct piece *grown =
        arena_grow(&c->task->arena, c->piece, c->pieces, &c->space, sizeof(*c->piece));
    c->task->failed = c->task->failed || !grown;
    if (c->task->failed)
        return NULL;
    c->piece = grown;
    c->piece[c->pieces++] = (struct piece){0};
    row->old_name = leaf->name;
    row->nth = nth;
    row->parts = 1;
    map_take(row, leaf);
    return row;
}

static void convert_fail(struct conversion *c, struct map_row *row, const struct error *err)
{
    c->task->failed = c->task->failed || err->status == ERR_MEMORY;
    row->status = "error";
    row->error = map_say(c->task, "ValueError: %s", err->message);
}

/* A tensor that stays in one piece. `misfit`: why its operations cannot apply; OK: they can. */
static void add_one(struct conversion *c, const struct map_leaf *leaf, const struct map_match *by,
                    const struct error *misfit)
{
    struct error err = {.offset = NO_OFFSET};
    struct map_row *row = convert_add_piece(c, leaf, 0);
    if (!row)
        return;
    struct piece *piece = &c->piece[c->pieces - 1];
    row->by = by;
    row->new_name = by->text;
    if (leaf->kind != MAP_TENSOR)
        return;
    row->ops = by->ops;
    if (by->ops != c->last_ops) { /* names of one rule mostly share one text: parse it once */
        if (join_of(by->ops, &c->task->arena, &c->last_join, &err) == ERR_MEMORY)
            c->task->failed = true;
        c->last_ops = by->ops;
    }
    if (by->ops)
        piece->how = c->last_join;
    if (piece->how.join)
        row->ops = piece->how.before;
    map_operate(c->task, row, leaf->dtype);
    row->dtype = map_dtype(by, leaf);
    if (misfit->status != OK)
        convert_fail(c, row, misfit);
}

/* Give the row of a part its new name; false: the rule drops the part, or fails for it. */
static bool name_part(struct conversion *c, const struct map_leaf *leaf, const char *label,
                      struct map_row *row)
{
    const struct rule_result *name =
        rules_apply_part(c->task->engine, label, leaf->name.at, leaf->name.len);
    struct text copy = {0};
    c->task->failed = c->task->failed || name->no_memory;
    text_add(&copy, name->text, name->len);
    const struct map_text kept = map_keep(c->task, &copy);
    row->status = map_status(name->outcome);
    if (name->outcome == RULE_OK)
        row->new_name = kept;
    else if (name->outcome == RULE_ERROR)
        row->error = kept;
    return name->outcome == RULE_OK;
}

static void add_parts(struct conversion *c, const struct map_leaf *leaf, const struct map_match *by,
                      const struct operation_part *part, size_t count)
{
    for (size_t i = 0; i < count && !c->task->failed; i++) {
        struct map_row *row = convert_add_piece(c, leaf, i);
        if (!row)
            return;
        row->by = by;
        if (!name_part(c, leaf, part[i].label, row))
            continue;
        row->ops = strcmp(part[i].operations, "[]") == 0 ? NULL : part[i].operations;
        map_operate(c->task, row, leaf->dtype);
        row->dtype = map_dtype(by, leaf);
    }
}

/* A leaf that has no result: unmatched, dropped, or in error. */
static void add_nothing(struct conversion *c, const struct map_leaf *leaf,
                        const struct map_match *by)
{
    struct map_row *row = convert_add_piece(c, leaf, 0);
    if (!row)
        return;
    row->by = by;
    row->status = by ? map_status(by->outcome) : c->drops ? "dropped" : "unmatched";
    row->note = !by && c->drops ? "no rule matches" : NULL;
    row->error = by && by->outcome == RULE_ERROR ? by->text : (struct map_text){0};
}

static void convert_add_leaf(struct conversion *c, const struct map_leaf *leaf)
{
    const struct map_match *by = leaf->matches ? &c->task->match[leaf->match] : NULL;
    struct operation_part *part = NULL;
    struct error err = {.offset = NO_OFFSET};
    size_t count = 0;
    if (!by && c->keeps) {
        struct map_row *row = convert_add_piece(c, leaf, 0);
        if (row)
            row->new_name = leaf->name;
        return;
    }
    if (!by || by->outcome != RULE_OK) {
        add_nothing(c, leaf, by);
        return;
    }
    bool divides = leaf->kind == MAP_TENSOR && by->ops && c->task->engine &&
                   (by->ops != c->whole_ops || leaf->shape != c->whole_shape);
    if (divides && leaf->shape)
        parts_of(by->ops, leaf->shape, &c->task->arena, &part, &count, &err);
    if (divides && !count && err.status == OK) {
        c->whole_ops = by->ops;
        c->whole_shape = leaf->shape;
    }
    if (count)
        add_parts(c, leaf, by, part, count);
    else
        add_one(c, leaf, by, &err);
}

/* --- pieces of the same new name --------------------------------------------------------- */

static struct map_row *row_of(const struct conversion *c, size_t piece)
{
    return &c->task->row[piece];
}

static void group_piece(struct conversion *c, size_t i)
{
    const struct map_row *row = row_of(c, i);
    bool added;
    if (!row->new_name.at)
        return;
    uint64_t *value = strmap_add(&c->names, row->new_name.at, row->new_name.len, &added);
    struct group *grown =
        arena_grow(&c->task->arena, c->group, c->groups, &c->group_space, sizeof(*c->group));
    c->task->failed = c->task->failed || !value || !grown;
    if (c->task->failed)
        return;
    c->group = grown;
    if (added) {
        c->group[c->groups++] = (struct group){.first = i, .last = i};
        *value = c->groups;
    }
    struct group *group = &c->group[*value - 1];
    if (!added)
        c->piece[group->last].next = i + 1;
    group->last = i;
    group->count++;
    group->joined += c->piece[i].how.join != NULL;
}

/* What a check of a group needs to know about its pieces: the least and greatest of everything. */
struct summary {
    struct map_text least, most; /* of the old names */
    int64_t low, high;           /* of the rules' ords */
    int64_t first, last;         /* of the keys that order the parts */
    const char *shape, *top_shape, *dtype, *top_dtype;
    size_t counted;
    bool doubled, several_rules, differently, unlike;
};

static int convert_by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Whether two of the `counted` pieces that have a key have the same one. */
static bool has_double(struct conversion *c, const struct group *g, size_t counted)
{
    int64_t *key = arena_array(&c->task->arena, counted + 1, sizeof(*key));
    size_t n = 0;
    bool doubled = false;
    c->task->failed = c->task->failed || !key;
    for (size_t i = g->first + 1; key && i; i = c->piece[i - 1].next)
        if (c->piece[i - 1].how.counted)
            key[n++] = c->piece[i - 1].how.key;
    if (key)
        qsort(key, n, sizeof(*key), convert_by_number);
    for (size_t i = 1; key && i < n; i++)
        doubled = doubled || key[i] == key[i - 1];
    return doubled;
}

static const char *lesser(const char *a, const char *b, int sign)
{
    if (!a || !b)
        return a ? a : b;
    int order = strcmp(a, b);
    return (sign > 0 ? order <= 0 : order >= 0) ? a : b;
}

/* The shape without the axis along which a concat joins (the whole shape for a stack): equal for
 * all parts that fit together. NULL: there is no such axis. */
static const char *rest_of(struct conversion *c, const struct operation_join *how,
                           const char *shape)
{
    struct text rest = {0};
    struct error err = {.offset = NO_OFFSET};
    if (strncmp(how->join, "[\"stack\"", 8) == 0 || !shape)
        return shape;
    join_shape(how->join, 0, shape, "[]", &rest, &err);
    const char *kept = err.status == OK ? map_keep(c->task, &rest).at : NULL;
    c->task->failed = c->task->failed || err.status == ERR_MEMORY;
    text_release(&rest);
    return kept;
}

static void sum_row(struct summary *s, const struct map_row *row, bool first)
{
    if (first || map_compare(row->old_name, s->least) < 0)
        s->least = row->old_name;
    if (first || map_compare(row->old_name, s->most) > 0)
        s->most = row->old_name;
    s->shape = lesser(s->shape, row->shape, 1);
    s->top_shape = lesser(s->top_shape, row->shape, -1);
    s->dtype = lesser(s->dtype, row->dtype, 1);
    s->top_dtype = lesser(s->top_dtype, row->dtype, -1);
    if (row->by && row->by->ord < s->low)
        s->low = row->by->ord;
    if (row->by && row->by->ord > s->high)
        s->high = row->by->ord;
}

static struct summary summarize(struct conversion *c, const struct group *g)
{
    struct summary s = {.low = INT64_MAX, .high = INT64_MIN, .first = INT64_MAX, .last = INT64_MIN};
    const struct operation_join *last = NULL;
    const char *rest = NULL;
    for (size_t i = g->first + 1; i; i = c->piece[i - 1].next) {
        const struct map_row *row = row_of(c, i - 1);
        const struct operation_join *j = &c->piece[i - 1].how;
        sum_row(&s, row, i == g->first + 1);
        if (!j->join)
            continue;
        /* Add how one piece is joined; `last`: how the piece before it is, or NULL. */
        s.counted += j->counted;
        if (j->counted && j->key < s.first)
            s.first = j->key;
        if (j->counted && j->key > s.last)
            s.last = j->key;
        if (last && (strcmp(last->join, j->join) != 0 || strcmp(last->after, j->after) != 0))
            s.differently = true;
        last = j;
        const char *own = rest_of(c, j, row->shape);
        s.unlike = s.unlike || (rest && own && strcmp(rest, own) != 0);
        rest = own ? own : rest;
    }
    s.several_rules = s.low < s.high;
    s.unlike = s.unlike || (s.dtype && strcmp(s.dtype, s.top_dtype) != 0);
    return s;
}

static void say_shared(struct conversion *c, const struct group *g, const struct summary *s,
                       struct text *out)
{
    struct map_text name = row_of(c, g->first)->new_name;
    if (g->joined < g->count) {
        text_adds(out, "ValueError: ");
        map_repr(out, name);
        text_adds(out, " is the new name of ");
        map_repr(out, s->least);
        text_adds(out, " and of ");
        if (map_compare(s->least, s->most) == 0)
            text_adds(out, "another part of the same tensor");
        else
            map_repr(out, s->most);
    } else if (s->differently) {
        if (s->several_rules)
            text_addf(out, "ValueError: rules %lld and %lld join the parts of ", (long long)s->low,
                      (long long)s->high);
        else
            text_addf(out, "ValueError: rule %lld joins the parts of ", (long long)s->low);
        map_repr(out, name);
        text_adds(out, " in different ways");
    } else if (s->counted < g->count) {
        text_adds(out, "ValueError: how parts follow each other is not a whole number");
    } else if (s->doubled) {
        text_adds(out, "ValueError: two parts of ");
        map_repr(out, name);
        text_adds(out, " have the same number");
    } else if (s->first != 0 || s->last != (int64_t)g->count - 1) {
        text_adds(out, "ValueError: parts of ");
        map_repr(out, name);
        text_addf(out, " are missing: there are %zu, numbered %lld to %lld", g->count,
                  (long long)s->first, (long long)s->last);
    } else if (s->unlike && s->shape && s->dtype) {
        text_adds(out, "ValueError: parts of ");
        map_repr(out, name);
        text_addf(out, " have different shapes or dtypes: %s %s and %s %s", s->shape, s->dtype,
                  s->top_shape, s->top_dtype);
    }
}

static void check_group(struct conversion *c, struct group *g)
{
    struct text error = {0};
    if (g->count == 1 && !g->joined)
        return;
    struct summary s = summarize(c, g);
    s.doubled = g->joined == g->count && has_double(c, g, s.counted);
    say_shared(c, g, &s, &error);
    if (error.len || error.failed)
        g->error = map_keep(c->task, &error);
    text_release(&error);
    g->shape = s.shape;
    for (size_t i = g->first + 1; i; i = c->piece[i - 1].next) {
        uint64_t along = 0;
        const char *join = c->piece[i - 1].how.join;
        if (join && strncmp(join, "[\"stack\"", 8) != 0)
            join_along(join, row_of(c, i - 1)->shape, &along);
        else
            along = 1;
        g->size += along;
    }
}

/* --- results ----------------------------------------------------------------------------- */

/* Append JSON without the white space between its tokens; for NULL or an empty list, null. */
static void add_json(struct text *out, const char *json)
{
    bool quoted = false;
    if (!json || strcmp(json, "[]") == 0) {
        text_adds(out, "null");
        return;
    }
    for (const char *at = json; *at; at++) {
        if (quoted || !strchr(" \t\r\n", *at))
            text_addc(out, *at);
        if (quoted && *at == '\\' && at[1])
            text_addc(out, *++at);
        else if (*at == '"')
            quoted = !quoted;
    }
}

static void convert_add_tensor(struct conversion *c, struct text *out, const struct map_row *row)
{
    bool tensor = row->old->kind == MAP_TENSOR;
    text_addf(
        out, tensor ? "[%lld," : "[null,",
        (long long)(c->task->source_id * ((int64_t)1 << TENSOR_ORD_BITS) + map_ord(row->old)));
    add_json(out, row->ops);
    text_addc(out, ']');
}

/* The recipe of a group that is joined: [[[TENSOR, OPS], ...], JOIN, AFTER], tensors in key
 * order. */
static const char *recipe_of(struct conversion *c, const struct group *g)
{
    size_t *by_key = arena_array(&c->task->arena, g->count, sizeof(*by_key));
    struct text out = {0};
    c->task->failed = c->task->failed || !by_key;
    if (!by_key)
        return NULL;
    for (size_t i = g->first + 1; i; i = c->piece[i - 1].next)
        by_key[c->piece[i - 1].how.key] = i - 1; /* 0, 1, 2, ...: check_group() */
    for (size_t i = 0; i < g->count; i++) {
        text_adds(&out, i ? "," : "[[");
        convert_add_tensor(c, &out, row_of(c, by_key[i]));
    }
    text_adds(&out, "],");
    const struct operation_join *how = &c->piece[by_key[0]].how;
    add_json(&out, how->join);
    text_addc(&out, ',');
    add_json(&out, how->after);
    text_addc(&out, ']');
    return map_keep(c->task, &out).at;
}

static void settle_single(struct conversion *c, struct map_row *row)
{
    struct text out = {0};
    if (!row->ops || map_is(row, "error"))
        return;
    text_adds(&out, "[[");
    convert_add_tensor(c, &out, row);
    text_adds(&out, "],null,null]");
    row->recipe = map_keep(c->task, &out).at;
}

/* The column `ops` of a part: [BEFORE, JOIN, AFTER]. */
static const char *joined_ops(struct conversion *c, const struct map_row *row,
                              const struct operation_join *how)
{
    static const char none[] = "[]";
    const char *list[] = {row->ops, how->join, how->after};
    struct text out = {0};
    for (int i = 0; i < 3; i++) {
        text_adds(&out, i ? "," : "[");
        if (!list[i] || strcmp(list[i], none) == 0)
            text_adds(&out, none);
        else
            add_json(&out, list[i]);
    }
    text_addc(&out, ']');
    return map_keep(c->task, &out).at;
}

static void settle_joined(struct conversion *c, struct map_row *row, const struct piece *piece,
                          const struct group *g, const char *recipe)
{
    struct text shape = {0};
    struct error err = {.offset = NO_OFFSET};
    row->parts = (int64_t)g->count;
    row->part = piece->how.counted ? piece->how.key : 0;
    row->ops = joined_ops(c, row, &piece->how);
    if (g->shape)
        join_shape(piece->how.join, g->size, g->shape, piece->how.after, &shape, &err);
    row->shape =
        err.status == OK && (shape.len || shape.failed) ? map_keep(c->task, &shape).at : NULL;
    c->task->failed = c->task->failed || err.status == ERR_MEMORY;
    text_release(&shape);
    if (!map_is(row, "error") && !g->error.at && err.status != OK)
        convert_fail(c, row, &err);
    if (!map_is(row, "error") && !g->error.at && row->part == 0)
        row->recipe = recipe;
}

static void settle_group(struct conversion *c, const struct group *g)
{
    const char *recipe = g->joined && !g->error.at ? recipe_of(c, g) : NULL;
    for (size_t i = g->first + 1; i && !c->task->failed; i = c->piece[i - 1].next) {
        struct map_row *row = row_of(c, i - 1);
        if (c->piece[i - 1].how.join)
            settle_joined(c, row, &c->piece[i - 1], g, recipe);
        if (g->error.at && !map_is(row, "error")) {
            row->status = "error";
            row->error = g->error;
        } else if (!c->piece[i - 1].how.join) {
            settle_single(c, row);
        }
    }
}

static void convert(struct conversion *c)
{
    struct map_task *t = c->task;
    map_reserve(t, t->source.count);
    for (size_t i = 0; i < t->source.count && !t->failed; i++)
        convert_add_leaf(c, &t->source.leaf[i]);
    for (size_t i = 0; i < c->pieces && !t->failed; i++)
        group_piece(c, i);
    for (size_t i = 0; i < c->groups && !t->failed; i++)
        check_group(c, &c->group[i]);
    for (size_t i = 0; i < c->groups && !t->failed; i++)
        settle_group(c, &c->group[i]);
    for (size_t i = 0; i < t->rows && c->keeps; i++)
        if (!t->row[i].by)
            t->row[i].note = "no rule matches; kept";
}

static void convert_settle(struct map_task *t)
{
    struct conversion c = {
        .task = t,
        .keeps = map_says(t, "unmatched", "keep"),
        .drops = map_says(t, "unmatched", "drop"),
    };
    convert(&c);
    strmap_release(&c.names);
}

/* With unmatched = keep, the kept name may collide with one that a rule makes. */
static const char *convert_unmatched(struct map_task *t, bool all)
{
    if (map_says(t, "unmatched", "keep"))
        return all ? "ok" : NULL;
    return map_says(t, "unmatched", "drop") ? "dropped" : "unmatched";
}

const struct dialect dialect_convert = {
    .name = "convert",
    .view = MAP_CONVERSION,
    .trial = MAP_FULLMATCH,
    .divides = true,
    .options = "mode tables settings unmatched ",
    .settle = convert_settle,
    .unmatched = convert_unmatched,
};
