#include "catalog/db/classes.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/db/schema.h"

#define SEED         9    /* any constant will do */
#define NAME_MAX_LEN 1024 /* of a row, as 04_known_class.sql checks it */
#define REACHED_MAX  16   /* attributes of attributes that are looked at */

struct class_row {
    bool dangerous;
    const char *why;
};

struct classes {
    struct arena arena;
    struct class_row *rows;
    size_t count, space;
    struct strmap exact, beginnings; /* name, or what is before its '*' -> index in rows */
    size_t longest;                  /* of the beginnings */
    uint64_t digest;
};

static void add_class_row(struct classes *c, sqlite3_stmt *s)
{
    struct bytes column[3];
    bool added;
    for (int i = 0; i < 3; i++) {
        const void *text = sqlite3_column_text(s, i);
        const size_t len = (size_t)sqlite3_column_bytes(s, i);
        if (!text)
            return; /* in a table that another program made */
        column[i] = (struct bytes){(const uint8_t *)arena_copy(&c->arena, text, len), len};
        c->digest = hash_bytes(text, len, c->digest);
        if (c->arena.failed)
            return;
    }
    const char *name = (const char *)column[0].at, *verdict = (const char *)column[1].at;
    size_t len = column[0].len;
    const bool dangerous = strcmp(verdict, "dangerous") == 0;
    const bool beginning = len >= 2 && memcmp(name + len - 2, ".*", 2) == 0;
    if (!len || len > NAME_MAX_LEN || (!dangerous && strcmp(verdict, "safe") != 0))
        return;
    len -= beginning;
    if (beginning && len > c->longest)
        c->longest = len;
    *strmap_add(beginning ? &c->beginnings : &c->exact, name, len, &added) = c->count;
    *PUSH(&c->arena, c->rows, c->count, c->space) =
        (struct class_row){dangerous, (const char *)column[2].at};
}

struct classes *classes_load(sqlite3 *db, struct error *err)
{
    static const char reading[] = "cannot read which classes are known";
    struct classes *c = calloc(1, sizeof(*c));
    sqlite3_int64 there = 0;
    if (!c) {
        error_memory(err);
        return NULL;
    }
    c->digest = SEED;
    c->arena.err = c->exact.err = c->beginnings.err = err;
    db_number(db, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'known_class'", NO_NAME,
              reading, &there, err);
    sqlite3_stmt *s =
        there ? db_query_to(db, err, reading,
                            "SELECT name, verdict, why FROM main.known_class ORDER BY name", "")
              : NULL;
    while (s && db_row(s, reading, err))
        add_class_row(c, s);
    sqlite3_finalize(s);
    c->arena.err = c->exact.err = c->beginnings.err = NULL;
    if (err->status == OK)
        return c;
    classes_free(c);
    return NULL;
}

void classes_free(struct classes *c)
{
    if (!c)
        return;
    strmap_release(&c->exact);
    strmap_release(&c->beginnings);
    arena_release(&c->arena);
    free(c);
}

uint64_t classes_digest(const struct classes *c)
{
    return c->digest;
}

/* The row of a name; NULL: none. */
static const struct class_row *class_row_of(const struct classes *c, const char *name, size_t len)
{
    const uint64_t *at = strmap_get(&c->exact, name, len);
    for (size_t i = len < c->longest ? len : c->longest; i > 0 && !at; i--)
        if (name[i - 1] == '.')
            at = strmap_get(&c->beginnings, name, i);
    return at ? &c->rows[*at] : NULL;
}

enum class_verdict classes_judge(const struct classes *c, const char *name, size_t len,
                                 size_t module_len, const char **why)
{
    *why = "";
    if (!c)
        return CLASS_UNKNOWN;
    const struct class_row *row = class_row_of(c, name, len);
    const bool exact = strmap_get(&c->exact, name, len) != NULL;
    size_t at = module_len;
    for (int i = 0; i < REACHED_MAX && !exact && !(row && row->dangerous) && at < len; i++) {
        const struct class_row *reached = class_row_of(c, name + at + 1, len - at - 1);
        if (reached && reached->dangerous)
            row = reached;
        const char *dot = memchr(name + at + 1, '.', len - at - 1);
        at = dot ? (size_t)(dot - name) : len;
    }
    *why = row ? row->why : "";
    return !row ? CLASS_UNKNOWN : row->dangerous ? CLASS_DANGEROUS : CLASS_SAFE;
}

/* --- the shipped rows --------------------------------------------------------------------- */

void classes_install(sqlite3 *db, struct error *err)
{
    static const char doing[] = "cannot write which classes are known";
    const char *text = schema_text("schema/known_class.sql");
    const int64_t edition = (int64_t)(hash_bytes(text, strlen(text), SEED) >> 2 | 1);
    sqlite3_stmt *s = db_query_to(db, err, doing,
                                  "SELECT 1 FROM main._known_shipped WHERE edition = ?1"
                                  " AND EXISTS (SELECT 1 FROM main.known_class) LIMIT 1",
                                  "i", edition);
    const bool held = db_row(s, doing, err);
    sqlite3_finalize(s);
    if (held || err->status != OK || db_exec(db, "SAVEPOINT classes", err) != OK)
        return;
    db_exec(db,
            "DELETE FROM main.known_class"
            " WHERE (name, verdict, why) IN (SELECT name, verdict, why FROM main._known_shipped);"
            "DELETE FROM main._known_shipped",
            err);
    if (err->status == OK)
        db_exec(db, text, err);
    db_run(db, err, doing, "UPDATE main._known_shipped SET edition = ?1", "i", edition);
    if (err->status == OK)
        db_exec(db,
                "INSERT OR IGNORE INTO main.known_class"
                " SELECT name, verdict, why FROM main._known_shipped; RELEASE classes",
                err);
    if (err->status != OK)
        sqlite3_exec(db, "ROLLBACK TO classes; RELEASE classes", NULL, NULL, NULL);
}
