/*
 * dialect_t5x_translator.c - T5X's CheckpointTranslator: the first rule whose pattern matches gives a leaf
 * its new name. schema/map/translation.sql settles the rest.
 */
#include "catalog/maps/map/dialect.h"

static void rename_leaf(struct map_task *t, const struct map_leaf *leaf)
{
    const struct map_match *by = leaf->matches ? &t->match[leaf->match] : NULL;
    struct map_row *row = map_add(t, map_status(by ? by->outcome : RULE_UNMATCHED));
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
    map_reserve(t, t->source.count);
    for (size_t i = 0; i < t->source.count && !t->failed; i++)
        rename_leaf(t, &t->source.leaf[i]);
}

const struct dialect dialect_t5x_translator = {
    .name = "t5x-translator",
    .view = MAP_TRANSLATION,
    .trial = MAP_MATCH,
    .options = "mode tables restore ",
    .settle = t5x_translator_settle,
    .restore = t5_restore,
};
