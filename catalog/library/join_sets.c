/*
 * join_sets.c - maps, optimizers and known classes of another catalog. What came with a program stays there: this
 * program brings its own.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/library/join.h"

/* For a user's named row: ?1 is its name there, ?2 the name here. */
static const struct set_kind {
    const char *what;
    const char *names;
    const char *held; /* a row if there is one here: whether it is the same */
    const char *put[2];
} kinds[] = {
    {"rule sets",
     "SELECT name FROM source.ruleset WHERE NOT shipped ORDER BY name",
     "SELECT s.dialect = t.dialect AND s.options = t.options"
     " AND NOT EXISTS (SELECT ord, pattern, replacement, compute, ops FROM source.rule WHERE ruleset = ?1"
     "   EXCEPT SELECT ord, pattern, replacement, compute, ops FROM main.rule WHERE ruleset = ?2)"
     " AND NOT EXISTS (SELECT ord, pattern, replacement, compute, ops FROM main.rule WHERE ruleset = ?2"
     "   EXCEPT SELECT ord, pattern, replacement, compute, ops FROM source.rule WHERE ruleset = ?1)"
     " FROM source.ruleset s JOIN main.ruleset t ON t.name = ?2 WHERE s.name = ?1",
     {"INSERT INTO main.ruleset SELECT ?2, dialect, options, 0 FROM source.ruleset WHERE name = ?1",
      "INSERT INTO main.rule SELECT ?2, ord, pattern, replacement, compute, ops FROM source.rule"
      " WHERE ruleset = ?1"}},
    {"optimizers",
     "SELECT name FROM source.optimizer ORDER BY name",
     "SELECT s.spec = t.spec FROM source.optimizer s JOIN main.optimizer t ON t.name = ?2"
     " WHERE s.name = ?1",
     {"INSERT INTO main.optimizer SELECT ?2, spec FROM source.optimizer WHERE name = ?1", NULL}},
};

enum held { HELD_NOT, HELD_SAME, HELD_OTHER };

static enum held is_held(const ckptdb *c, const struct set_kind *k, const char *there,
                         const char *here, struct error *err)
{
    sqlite3_stmt *row = db_query(c->db, err, k->held, "ss", there, here);
    const enum held held = !db_row(row, NULL, err)          ? HELD_NOT
                           : sqlite3_column_int(row, 0) > 0 ? HELD_SAME
                                                            : HELD_OTHER;
    sqlite3_finalize(row);
    return held;
}

static void put_set(const ckptdb *c, const struct set_kind *k, const char *there, const char *here,
                    struct error *err)
{
    for (int i = 0; i < 2 && k->put[i]; i++)
        db_run(c->db, err, NULL, k->put[i], "ss", there, here);
}

/* The shortest NAME@CATALOG that is free, or has the same: CATALOG is the file's name without its suffix, with as much
 * of its path before it as that takes. */
static void keep_set(const ckptdb *c, const struct set_kind *k, const char *name, const char *path,
                     struct error *err)
{
    const char *last = strrchr(path, '/'), *dot = strrchr(last ? last : path, '.');
    const char *end = dot && dot[-1] != '/' ? dot : path + strlen(path);
    enum held held = HELD_OTHER;
    for (const char *at = last ? last + 1 : path; err->status == OK && held == HELD_OTHER;) {
        struct text here = {0};
        text_addf(&here, "%s@%.*s", name, (int)(end - at), at);
        if (!text_str(&here))
            error_memory(err);
        else if ((held = is_held(c, k, name, text_str(&here), err)) == HELD_NOT)
            put_set(c, k, name, text_str(&here), err);
        if (held == HELD_OTHER && err->status == OK && at == path)
            error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "%s differ, and so does %s here", k->what,
                      text_str(&here));
        text_release(&here);
        for (at -= at > path; at > path && at[-1] != '/';)
            at--;
    }
}

/* Add a name to those that differ; `what` before the first of its kind. */
static void list_name(struct text *list, const char *what, const char *name, bool first)
{
    text_adds(list, !first ? ", " : list->len ? "; " : "");
    text_adds(list, first ? what : "");
    text_addf(list, first ? " %s" : "%s", name);
}

static void join_kind(const ckptdb *c, const struct set_kind *k, const char *path,
                      struct text *differ, uint64_t *kept, struct error *err)
{
    bool first = true;
    sqlite3_stmt *names = db_query(c->db, err, k->names, "");
    while (db_row(names, NULL, err)) {
        const char *name = db_text(names, 0);
        const enum held held = is_held(c, k, name, name, err);
        if (held == HELD_NOT) {
            put_set(c, k, name, name, err);
        } else if (held == HELD_OTHER && kept) {
            keep_set(c, k, name, path, err);
            ++*kept;
        } else if (held == HELD_OTHER) {
            list_name(differ, k->what, name, first);
            first = false;
        }
    }
    sqlite3_finalize(names);
}

/* A name has one verdict, so both cannot be kept, and another catalog must not change a verdict here. */
static void join_classes(const ckptdb *c, const char *path, struct text *differ, bool keep_both,
                         struct error *err)
{
    bool first = true;
    sqlite3_stmt *row = db_query(
        c->db, err,
        "SELECT s.name, s.verdict, t.verdict FROM source.known_class s JOIN main.known_class t"
        " ON t.name = s.name AND t.verdict <> s.verdict"
        " WHERE (s.name, s.verdict, s.why) NOT IN"
        " (SELECT name, verdict, why FROM source._known_shipped) ORDER BY s.name",
        "");
    while (db_row(row, NULL, err)) {
        if (keep_both)
            library_say(c, "known_class: %s stays %s here; %s says %s", db_text(row, 0),
                        db_text(row, 2), path, db_text(row, 1));
        else
            list_name(differ, "known classes", db_text(row, 0), first);
        first = false;
    }
    sqlite3_finalize(row);
    /* One that is here stays as it is. */
    db_run(
        c->db, err, NULL,
        "INSERT OR IGNORE INTO main.known_class SELECT name, verdict, why FROM source.known_class"
        " WHERE (name, verdict, why) NOT IN"
        " (SELECT name, verdict, why FROM source._known_shipped)",
        "");
}

void join_sets(ckptdb *c, const char *path, bool keep_both, uint64_t *kept, struct error *err)
{
    static const char own[] = "SELECT EXISTS (SELECT 1 FROM source.known_class k"
                              " LEFT JOIN source._known_shipped s USING (name)"
                              " WHERE s.verdict IS NOT k.verdict OR s.why IS NOT k.why)";
    struct text differ = {0};
    sqlite3_int64 classes = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && err->status == OK; i++)
        join_kind(c, &kinds[i], path, &differ, keep_both ? kept : NULL, err);
    if (db_number(c->db, own, NO_NAME, DB_READING, &classes, err) == OK && classes)
        join_classes(c, path, &differ, keep_both, err);
    if (err->status == OK && differ.len && text_str(&differ))
        error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                  "differs from this catalog in %.300s: nothing was taken; --keep-both keeps both",
                  text_str(&differ));
    if (differ.failed)
        error_memory(err);
    text_release(&differ);
}
