#include "catalog/db/schema.h"

#include <stdio.h>
#include <string.h>

const char *schema_text(const char *path)
{
    const struct schema_file *f = schema_files;
    while (f->path && strcmp(f->path, path) != 0)
        f++;
    return f->text;
}

bool schema_is_from(const struct schema_file *f, const char *first)
{
    const char *number = f->path + strlen("schema/");
    return *number >= '0' && *number <= '9' && strncmp(number, first, 2) >= 0;
}

/* --- what the files create ---------------------------------------------------------------- */

static bool take(const char **at, const char *word)
{
    const size_t len = strlen(word);
    const bool found = strncmp(*at, word, len) == 0;
    *at += found ? len : 0;
    return found;
}

bool schema_next(struct schema_object *o)
{
    static const char create[] = "\nCREATE ";
    if (!o->file)
        *o = (struct schema_object){.file = schema_files, .text = schema_files->text};
    while (o->file->path) {
        const char *at = schema_is_from(o->file, SCHEMA_FIRST) ? strstr(o->text, create) : NULL;
        if (!at) {
            o->file++;
            o->text = o->file->text;
            continue;
        }
        o->text = at + 1;
        at += strlen(create);
        o->kind = take(&at, "TABLE ")     ? SCHEMA_TABLE
                  : take(&at, "VIEW ")    ? SCHEMA_VIEW
                  : take(&at, "TRIGGER ") ? SCHEMA_TRIGGER
                                          : SCHEMA_OTHER;
        take(&at, "IF NOT EXISTS ");
        o->name = at;
        o->len = strcspn(at, " (\n");
        if (o->kind != SCHEMA_OTHER)
            return true;
    }
    return false;
}

bool schema_makes(const char *name)
{
    const size_t len = strlen(name);
    for (struct schema_object o = {0}; schema_next(&o);)
        if (o.len == len && sqlite3_strnicmp(o.name, name, (int)len) == 0)
            return true;
    return false;
}

/* --- whether a catalog has it ------------------------------------------------------------- */

#define OBJECTS_MAX 256

/* What a catalog must have, and which parts are as the files create them. */
struct comparison {
    struct schema_object made[OBJECTS_MAX];
    bool there[OBJECTS_MAX], same[OBJECTS_MAX];
    size_t count, next;
};

/* Most rows are in the order in which the files create them: a search begins behind the last. */
static void compare_object(struct comparison *c, const char *name, const char *sql)
{
    if (!name || !sql)
        return;
    const size_t name_len = strlen(name), len = strlen(sql);
    for (size_t i = 0; i < c->count && len; i++) {
        const size_t k = (c->next + i) % c->count;
        const struct schema_object *o = &c->made[k];
        if (o->len != name_len || strncmp(o->name, name, name_len) != 0)
            continue;
        c->there[k] = true;
        c->same[k] = strncmp(o->text, sql, len) == 0 && o->text[len] == ';';
        c->next = k + 1;
        return;
    }
}

void schema_check(sqlite3 *db, const char *schema, enum schema_use use, bool *differs,
                  struct error *err)
{
    char sql[128];
    snprintf(sql, sizeof(sql),
             "SELECT name, sql FROM %s.sqlite_schema"
             " WHERE type IN ('table', 'view', 'trigger') AND sql NOT NULL",
             schema);
    struct comparison c = {.count = 0};
    for (struct schema_object o = {0}; c.count < OBJECTS_MAX && schema_next(&o);)
        c.made[c.count++] = o;
    sqlite3_stmt *s = db_query(db, err, sql, "");
    while (db_row(s, NULL, err))
        compare_object(&c, db_text(s, 0), db_text(s, 1));
    sqlite3_finalize(s);
    *differs = false;
    for (size_t i = 0; i < c.count && err->status == OK; i++) {
        const struct schema_object *o = &c.made[i];
        /* The tables of some files are made where a catalog of this version, which may lack them, is
         * opened for writing. */
        const bool added =
            strncmp(o->file->path, "schema/" SCHEMA_ADDED, strlen("schema/" SCHEMA_ADDED)) == 0;
        const bool table = o->kind == SCHEMA_TABLE && !added;
        if (!c.there[i] && (table || (use == SCHEMA_READ && o->kind == SCHEMA_VIEW)))
            error_set(err, ERR_ARGUMENT, sqlite3_db_filename(db, schema), NO_OFFSET,
                      "damaged by another program: its %s %.*s is gone; %s",
                      table ? "table" : "view", (int)o->len, o->name,
                      table ? DB_IMPORT_ANEW
                            : "it is made anew when the catalog is opened for writing "
                              "(ckptdb -d FILE -c 'SELECT 1')");
        *differs = *differs || (o->kind == SCHEMA_TABLE ? added && !c.there[i]
                                                        : use != SCHEMA_TABLES && !c.same[i]);
    }
}
