#include "catalog/db/checker.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/page_sums.h"
#include "catalog/db/statement.h"

static const char find_checks[] =
    "SELECT x.id, x.checks FROM main._checkpoints c JOIN main._layout_checks x ON x.id = c.layout"
    " WHERE c.id = ?1";

#define OF_GROUP " FROM main._layout_tensors WHERE id BETWEEN ?1 AND ?2 ORDER BY id"

/* A reader of a whole checkpoint does not need its tensors' places. */
#define WHOLE_COLUMNS 5
static const char find_whole[] = "SELECT id, name, dtype, shape, elements, nbytes" OF_GROUP;
static const char find_rows[] =
    "SELECT id, name, dtype, shape, elements, nbytes, stored, storage, file,"
    " start, codec, strides, extents" OF_GROUP;

/* The columns of a group of tensors. */
struct group {
    struct text texts[CHECK_COLUMNS];
    struct span spans[CHECK_COLUMNS][CHECK_TENSORS];
    int64_t numbers[CHECK_COLUMNS][CHECK_TENSORS];
    uint32_t count;
    int columns; /* that are looked at */
};

static void take_row(struct group *g, sqlite3_stmt *row)
{
    for (int c = 0; c < g->columns; c++) {
        const bool null = sqlite3_column_type(row, c + 1) == SQLITE_NULL;
        if (check_is_number(c)) {
            g->numbers[c][g->count] = null ? NUMBER_NULL : sqlite3_column_int64(row, c + 1);
            continue;
        }
        const void *at = sqlite3_column_blob(row, c + 1);
        const size_t len = (size_t)sqlite3_column_bytes(row, c + 1);
        check_add(&g->texts[c], &g->spans[c][g->count], null ? NULL : at ? at : "", len);
    }
    g->count++;
}

static bool group_holds(const struct group *g, const uint8_t *noted)
{
    bool holds = true;
    for (int c = 0; c < g->columns; c++) {
        const uint32_t found = check_is_number(c) ? check_numbers(g->numbers[c], g->count)
                                                  : check_texts(g->texts[c].at, g->texts[c].len,
                                                                g->spans[c], g->count);
        holds = holds && memcmp(&found, noted + (size_t)c * sizeof(found), sizeof(found)) == 0;
    }
    return holds;
}

static void check_group(struct checker *k, struct group *g, int64_t layout, uint32_t first,
                        const uint8_t *noted, struct error *err)
{
    const int64_t id = (int64_t)((uint64_t)layout << TENSOR_ORD_BITS) + first;
    g->count = 0;
    for (int c = 0; c < CHECK_COLUMNS; c++)
        text_reset(&g->texts[c]);
    const bool whole = g->columns == WHOLE_COLUMNS;
    sqlite3_stmt **rows = whole ? &k->whole : &k->rows;
    if (!*rows)
        *rows = db_query(k->db, err, whole ? find_whole : find_rows, "");
    if (err->status != OK)
        return;
    db_bind(*rows, "ii", id, id + CHECK_TENSORS - 1);
    while (db_row(*rows, NULL, err) && sqlite3_column_int64(*rows, 0) == id + g->count)
        take_row(g, *rows);
    sqlite3_reset(*rows);
    for (int c = 0; c < CHECK_COLUMNS; c++)
        if (g->texts[c].failed)
            error_memory_at(err, "catalog");
    if (err->status == OK && !group_holds(g, noted))
        error_set(err, ERR_CORRUPT, "catalog", NO_OFFSET,
                  "the catalog is damaged: layout %lld " CHECK_FAILS "; " DB_IMPORT_ANEW,
                  (long long)layout);
}

static struct checker_known *known_of(struct checker *k, int64_t checkpoint)
{
    for (unsigned i = 0; i < CHECKER_KNOWN; i++)
        if (k->known[i].checkpoint == checkpoint)
            return &k->known[i];
    struct checker_known *known = &k->known[k->next++ % CHECKER_KNOWN];
    *known = (struct checker_known){.checkpoint = checkpoint};
    return known;
}

static bool is_done(const struct checker_known *known, size_t group)
{
    return known->done[group / 8] >> group % 8 & 1;
}

/* Check the groups from `first` to `last` against what the row notes. */
static void check_groups(struct checker *k, struct checker_known *known, size_t first, size_t last,
                         bool whole, struct error *err)
{
    const size_t size = CHECK_COLUMNS * sizeof(uint32_t);
    const int64_t layout = sqlite3_column_int64(k->find, 0);
    const uint8_t *noted = sqlite3_column_blob(k->find, 1);
    const size_t groups = (size_t)sqlite3_column_bytes(k->find, 1) / size;
    struct group *g = calloc(1, sizeof(*g));
    if (!g) {
        error_memory_at(err, "catalog");
        return;
    }
    g->columns = whole ? WHOLE_COLUMNS : CHECK_COLUMNS;
    for (size_t i = first; err->status == OK && i < groups && i <= last; i++) {
        if (is_done(known, i))
            continue;
        check_group(k, g, layout, (uint32_t)(i * CHECK_TENSORS), noted + i * size, err);
        if (err->status == OK && !whole)
            known->done[i / 8] |= (uint8_t)(1 << i % 8);
    }
    known->whole |= whole && err->status == OK;
    for (int c = 0; c < CHECK_COLUMNS; c++)
        text_release(&g->texts[c]);
    free(g);
}

enum status checker_look(struct checker *k, int64_t checkpoint, uint32_t first, uint32_t last,
                         struct error *err)
{
    struct checker_known *known = known_of(k, checkpoint);
    const size_t from = first / CHECK_TENSORS, to = last / CHECK_TENSORS;
    const bool whole = last == TENSOR_ORD_MASK;
    /* Without such a table only earlier programs wrote the catalog. */
    if ((whole ? known->whole : from == to && is_done(known, from)) || page_sums_vouch(k->db) ||
        (!k->find && sqlite3_prepare_v2(k->db, find_checks, -1, &k->find, NULL) != SQLITE_OK))
        return err->status;
    sqlite3_bind_int64(k->find, 1, checkpoint);
    if (db_row(k->find, NULL, err))
        check_groups(k, known, from, to, whole, err);
    else if (err->status == OK)
        memset(known->done, 0xFF, sizeof(known->done));
    sqlite3_reset(k->find);
    return err->status;
}

void checker_release(struct checker *k)
{
    sqlite3_finalize(k->find);
    sqlite3_finalize(k->rows);
    sqlite3_finalize(k->whole);
}
