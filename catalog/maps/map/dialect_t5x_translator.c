/*
 * dialect_t5x_translator.c - T5X's CheckpointTranslator: the first rule whose pattern matches gives a leaf
 * its new name (schema/map/translation.sql).
 */
#include "catalog/maps/map/dialect.h"

const struct dialect dialect_t5x_translator = {
    .name = "t5x-translator",
    .view = MAP_TRANSLATION,
    .trial = MAP_MATCH,
    .options = "mode tables restore ",
    .restore = t5_restore,
};
