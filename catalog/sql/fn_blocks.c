/*
 * fn_blocks.c - block_runs(blocks of a, tensors of a, blocks of b, tensors of b): which tensors of
 * two layouts are equal, according to the digests of their blocks (catalog/data/model/blocks.h). The
 * result is a JSON array: [[first row of a, rows of a, first row of b, rows of b, 1 if they are
 * equal], ...]. Blocks may be NULL.
 */
#include <stdlib.h>

#include "catalog/base/limits.h"
#include "catalog/data/model/blocks.h"
#include "catalog/sql/extension.h"

static struct blocks_side side_of(sqlite3_value **argv)
{
    const sqlite3_int64 tensors = sqlite3_value_int64(argv[1]);
    const void *at =
        sqlite3_value_type(argv[0]) == SQLITE_BLOB ? sqlite3_value_blob(argv[0]) : NULL;
    return (struct blocks_side){
        .blocks = {at, at ? (size_t)sqlite3_value_bytes(argv[0]) : 0},
        .tensors = tensors < 0                         ? 0
                   : (uint64_t)tensors > LIMIT_TENSORS ? LIMIT_TENSORS
                                                       : (uint64_t)tensors,
    };
}

static void block_runs(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    size_t count = 0;
    struct text json = {0};
    struct blocks_run *runs = blocks_compare(side_of(argv), side_of(argv + 2), &count);
    text_addc(&json, '[');
    for (size_t i = 0; runs && i < count; i++)
        text_addf(&json, "%s[%u,%u,%u,%u,%d]", i ? "," : "", runs[i].a, runs[i].a_rows, runs[i].b,
                  runs[i].b_rows, runs[i].alike);
    text_addc(&json, ']');
    json.failed |= !runs;
    sql_result_text(context, &json);
    free(runs);
}

int sql_register_blocks(sqlite3 *db)
{
    static const struct sql_function pure[] = {
        {"block_runs", 4, block_runs},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, pure);
}
