/*
 * dialect_t5x_translator.c - T5X's CheckpointTranslator: the first rule whose pattern matches gives a leaf
 * its new name. The original puts the leaves into a dict, so if several get the same name, the
 * last one wins.
 */
#include "catalog/maps/map/dialect.h"

/* Mark the rows that lose their name to a later one. */
static void find_winners(struct map_task *t)
{
    struct strmap last = {0};
    bool added;
    for (size_t i = 0; i < t->rows; i++)
        t->row[i].loses = true;
    for (size_t i = t->rows; i-- > 0 && !t->failed;) {
        struct map_row *row = &t->row[i];
        if (!row->new_name.at)
            continue;
        t->failed = !strmap_add(&last, row->new_name.at, row->new_name.len, &added);
        row->loses = !added;
    }
    strmap_release(&last);
}

/* In strict mode, a row that loses its name is an error. */
static void t5x_translator_refuse(struct map_task *t)
{
    for (size_t i = 0; i < t->rows && !t->failed; i++) {
        struct map_row *row = &t->row[i];
        struct text error = {0};
        if (!row->new_name.at || !row->loses)
            continue;
        text_adds(&error, "ValueError: a later name becomes ");
        map_repr(&error, row->new_name);
        text_adds(&error, " too");
        row->status = "error";
        row->error = map_keep(t, &error);
    }
}

static void translate(struct map_task *t, const struct map_leaf *leaf)
{
    const struct map_match *by = leaf->matches ? &t->match[leaf->match] : NULL;
    struct map_row *row = map_add(t, by ? map_status(by->outcome) : "unmatched");
    row->old_name = leaf->name;
    row->by = by;
    map_take(row, leaf);
    if (by && by->outcome == RULE_OK)
        row->new_name = by->text;
    else if (by && by->outcome == RULE_ERROR)
        row->error = by->text;
    if (!by || leaf->kind != MAP_TENSOR)
        return;
    row->dtype = map_dtype(by, leaf);
    row->ops = by->ops;
    map_operate(t, row, leaf->dtype);
}

static void t5x_translator_settle(struct map_task *t)
{
    bool strict = map_strict(t);
    map_reserve(t, t->source.count);
    for (size_t i = 0; i < t->source.count && !t->failed; i++)
        translate(t, &t->source.leaf[i]);
    if (strict || t->asks_winners)
        find_winners(t);
    if (strict)
        t5x_translator_refuse(t);
    for (size_t i = 0; t->asks_winners && i < t->rows; i++)
        if (t->row[i].loses && map_is(&t->row[i], "ok"))
            t->row[i].note = "hidden by a later name that becomes the same";
}

const struct dialect dialect_t5x_translator = {
    .name = "t5x-translator",
    .view = MAP_TRANSLATION,
    .trial = MAP_MATCH,
    .by_leaf = true,
    .options = "mode tables restore ",
    .settle = t5x_translator_settle,
    .restore = t5_restore,
};
