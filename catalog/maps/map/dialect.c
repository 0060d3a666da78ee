#include "catalog/maps/map/dialect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/search.h"
#include "catalog/data/compose/shapes.h"
#include "catalog/maps/regex/pytext.h"

static const struct dialect *const dialects[] = {
#define DIALECT(x) &dialect_##x,
#include "catalog/maps/map/dialects.def"
#undef DIALECT
};

const struct dialect *dialect_find(const char *name)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(dialects[i]->name, name) == 0)
            return dialects[i];
    return NULL;
}

const char *dialect_name(size_t i)
{
    return i < sizeof(dialects) / sizeof(dialects[0]) ? dialects[i]->name : NULL;
}

/* --- options ----------------------------------------------------------------------------- */

/* Leave the reader at the value of an option; false: the option is missing or null, or (the task has
 * failed) memory ran out. */
static bool find_option(struct map_task *t, const char *key, struct json *j, struct error *err)
{
    const char *text = t->options ? t->options : "{}";
    struct bytes bytes = {(const uint8_t *)text, strlen(text)};
    bool found = false;
    json_init(j, cursor_over(bytes, 0), &t->arena, NULL, err);
    if (json_next(j) != JSON_OBJECT)
        return false;
    while (!found && json_next(j) == JSON_KEY) {
        found = json_is(j, key);
        json_next(j);
        if (!found)
            json_skip(j);
    }
    t->failed = t->failed || err->status == ERR_MEMORY;
    return found && j->type != JSON_NULL && j->type != JSON_FAIL;
}

bool map_flag(struct map_task *t, const char *key, bool otherwise)
{
    struct json j;
    struct error err = {0};
    if (!find_option(t, key, &j, &err))
        return otherwise;
    struct map_text text = map_say(t, "%.*s", (int)j.text.len, (const char *)j.text.at);
    return j.type == JSON_TRUE || ((j.type == JSON_NUMBER || j.type == JSON_STRING) && text.at &&
                                   strtod(text.at, NULL) != 0);
}

bool map_says(struct map_task *t, const char *key, const char *word)
{
    struct json j;
    struct error err = {0};
    return find_option(t, key, &j, &err) && j.type == JSON_STRING && json_is(&j, word);
}

bool map_strict(struct map_task *t)
{
    return map_says(t, "mode", "strict");
}

size_t map_list(struct map_task *t, const char *key, struct map_text **out)
{
    struct json j;
    struct error err = {0};
    struct map_text *list = NULL;
    size_t count = 0, space = 0;
    if (!find_option(t, key, &j, &err) || j.type != JSON_ARRAY)
        return 0;
    while (json_next(&j) != JSON_ARRAY_END && j.type != JSON_FAIL) {
        struct map_text *grown = arena_grow(&t->arena, list, count, &space, sizeof(*list));
        bool plain = j.type == JSON_STRING || j.type == JSON_NUMBER;
        const char *text = plain ? (const char *)j.text.at : "";
        t->failed = t->failed || !grown;
        if (!grown)
            return 0;
        list = grown;
        list[count++] = (struct map_text){arena_copy(&t->arena, text, plain ? j.text.len : 0),
                                          plain ? j.text.len : 0};
        t->failed = t->failed || !list[count - 1].at;
        json_skip(&j);
    }
    t->failed = t->failed || err.status == ERR_MEMORY;
    *out = list;
    return t->failed ? 0 : count;
}

/* --- rows and texts ---------------------------------------------------------------------- */

struct map_row *map_add(struct map_task *t, const char *status)
{
    static const struct map_row empty = {.rule = NO_RULE};
    static _Thread_local struct map_row nowhere;
    struct map_row *grown = arena_grow(&t->arena, t->row, t->rows, &t->row_space, sizeof(*t->row));
    struct map_row *row = grown ? &grown[t->rows] : &nowhere;
    if (grown) {
        t->row = grown;
        t->rows++;
    }
    t->failed = t->failed || !grown;
    *row = empty;
    row->status = status;
    return row;
}

void map_reserve(struct map_task *t, size_t rows)
{
    if (t->rows == 0 && (t->row = arena_room(&t->arena, rows * sizeof(*t->row))))
        t->row_space = rows;
}

void map_take(struct map_row *row, const struct map_leaf *leaf)
{
    row->old = leaf;
    row->dtype = leaf->dtype;
    row->shape = leaf->shape;
}

bool map_is(const struct map_row *row, const char *status)
{
    return strcmp(row->status, status) == 0;
}

const char *map_status(enum rule_outcome outcome)
{
    static const char *const word[] = {
        [RULE_UNMATCHED] = "unmatched",
        [RULE_OK] = "ok",
        [RULE_DROPPED] = "dropped",
        [RULE_ERROR] = "error",
    };
    return word[outcome];
}

int map_compare(struct map_text x, struct map_text y)
{
    int order = memcmp(x.at, y.at, x.len < y.len ? x.len : y.len);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

struct map_text map_keep(struct map_task *t, struct text *text)
{
    struct map_text kept = {
        text->failed ? NULL : arena_copy(&t->arena, text->at ? text->at : "", text->len),
        text->len};
    t->failed = t->failed || !kept.at;
    text_release(text);
    return kept;
}

struct map_text map_say(struct map_task *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    char *at = len >= 0 ? arena_alloc(&t->arena, (size_t)len + 1) : NULL;
    if (at)
        vsnprintf(at, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    t->failed = t->failed || !at;
    return (struct map_text){at, at ? (size_t)len : 0};
}

void map_repr(struct text *text, struct map_text name)
{
    pytext_repr(text, name.at ? name.at : "", name.len);
}

void map_tuple(struct text *text, const char *shape)
{
    unsigned commas = 0;
    text_addc(text, '(');
    for (const char *c = shape + (*shape == '['); *c && *c != ']'; c++) {
        text_addc(text, *c);
        if (*c == ',' && ++commas)
            text_addc(text, ' ');
    }
    text_adds(text, strcmp(shape, "[]") != 0 && !commas ? ",)" : ")");
}

bool map_find_winners(struct map_task *t)
{
    struct strmap seen = {0};
    for (size_t i = t->judged ? 0 : t->rows; i-- > 0 && !t->failed;) {
        struct map_row *row = &t->row[i];
        if (row->new_name.at)
            t->failed = !strmap_add(&seen, row->new_name.at, row->new_name.len, &row->wins);
    }
    t->judged = true;
    strmap_release(&seen);
    return !t->failed;
}

/* --- leaves ------------------------------------------------------------------------------ */

bool map_index(struct map_task *t, struct strmap *index, const struct map_tree *tree)
{
    bool added;
    t->failed = t->failed || !strmap_reserve(index, tree->count);
    for (size_t i = 0; i < tree->count && !t->failed; i++) {
        struct map_text name = tree->leaf[i].name;
        uint64_t *value = strmap_add(index, name.at, name.len, &added);
        if (!value) {
            t->failed = true;
            return false;
        }
        *value = i + 1;
    }
    return true;
}

const struct map_leaf *map_leaf_called(const struct map_tree *tree, const struct strmap *index,
                                       struct map_text name)
{
    const uint64_t *found = strmap_get(index, name.at, name.len);
    return found && *found ? &tree->leaf[*found - 1] : NULL;
}

const struct map_rule *map_rule_of(const struct map_task *t, int64_t ord)
{
    size_t at;
    PARTITION_POINT(at, t->rules, t->rule[at].ord <= ord);
    return &t->rule[at ? at - 1 : 0];
}

const char *map_dtype(const struct map_match *by, const struct map_leaf *leaf)
{
    if (by->cast)
        return by->cast;
    return by->ops && leaf->dtype ? shapes_result(leaf->dtype) : leaf->dtype;
}

void map_operate(struct map_task *t, struct map_row *row, const char *dtype)
{
    if (!row->ops) /* the usual case: skip clearing a struct error, which is large */
        return;
    struct map_operated *known =
        &t->operated[((uintptr_t)row->ops >> 4 ^ (uintptr_t)row->shape >> 4) % MAP_OPERATED];
    if (known->after && known->ops == row->ops && known->shape == row->shape &&
        known->dtype == dtype) {
        row->shape = known->after;
        return;
    }
    struct text shape = {0};
    struct error err = {.offset = NO_OFFSET};
    shapes_after(row->ops, row->shape, dtype, &shape, &err);
    const char *after = shape.len || shape.failed ? map_keep(t, &shape).at : NULL;
    t->failed = t->failed || err.status == ERR_MEMORY;
    if (err.status == OK)
        *known = (struct map_operated){row->ops, row->shape, dtype, after};
    row->shape = after;
    text_release(&shape);
    if (err.status == OK)
        return;
    row->status = "error";
    row->error = map_say(t, "ValueError: %s", err.message);
}
