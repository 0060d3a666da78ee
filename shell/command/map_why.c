#include "catalog/base/nearest.h"
#include "shell/command/cmd_map.h"
#include "shell/command/set_option.h"

/* The question. */
struct question {
    sqlite3_int64 checkpoint, target; /* target 0: no target */
    const char *name, *map;           /* map "": all maps */
};

/* No map makes the name: list the nearest names, and which rule makes them. */
static void say_nearest(struct session *s, const struct question *q)
{
    static const char sql[] =
        "WITH asked AS (SELECT name, dialect FROM ruleset"
        "  WHERE name = ifnull(nullif(?2, ''), name))"
        "SELECT t.name, t.name || ', a tensor of the checkpoint' FROM tensor t"
        " WHERE t.checkpoint_id = ?1 UNION ALL "
        "SELECT x.name, format('%s, which rule set %s makes of %s', x.name, r.name,"
        "  iif(x.old_name IS NULL, 'nothing: zeros', format('%s by rule %d', x.old_name,"
        "   rule_first(r.name, x.old_name))))"
        " FROM asked r CROSS JOIN restore_rows(r.name, ?1, 0, 1) x"
        " WHERE dialect_is(r.dialect, 'translation') AND x.name IS NOT NULL UNION ALL "
        "SELECT x.new_name, format('%s, which rule set %s makes of %s by rule %d', x.new_name,"
        "  r.name, x.old_name, x.rule) FROM asked r CROSS JOIN conversion_rows(r.name, ?1) x"
        " WHERE dialect_is(r.dialect, 'conversion') AND x.new_name <> x.old_name";
    struct nearest nearest = {.wanted = q->name};
    sqlite3_stmt *stmt = session_prepare(s, sql, "is", (int64_t)q->checkpoint, q->map);
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *near = (const char *)sqlite3_column_text(stmt, 0);
        const char *shown = (const char *)sqlite3_column_text(stmt, 1);
        if (near && shown)
            nearest_offer(&nearest, near, shown);
    }
    sqlite3_finalize(stmt);
    complain("no tensor of the checkpoint is called %s, and no map makes one", q->name);
    for (int i = 0; i < nearest.count; i++)
        complain("  %s %s", i == 0 ? "near it:" : "        ", nearest.name[i]);
    nearest_release(&nearest);
}

/* Print the rows. `matched`: a rule made at least one. */
static int answer(struct session *s, const struct question *q)
{
    static const char known[] =
        "SELECT max(status <> 'unmatched') FROM map_why(?1, ?2, ?3, ?4) HAVING count(*)";
    sqlite3_stmt *stmt = session_prepare(s, known, "isis", (int64_t)q->checkpoint, q->name,
                                         (int64_t)q->target, q->map);
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    bool matched = rc == SQLITE_ROW && sqlite3_column_int(stmt, 0);
    if (stmt && rc != SQLITE_ROW && rc != SQLITE_DONE)
        complain("%s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE &&
        session_number(s, "SELECT 1 FROM leaf WHERE checkpoint_id = ?1 AND name = ?2 LIMIT 1", "is",
                       (int64_t)q->checkpoint, q->name))
        complain("%s is a name of the checkpoint, and no rule of any map matches it%s", q->name,
                 q->target ? "" : " (maps onto a model are asked with --target)");
    else if (rc == SQLITE_DONE && !s->unread)
        say_nearest(s, q);
    if (rc != SQLITE_ROW)
        return STATUS_NO;
    int status = render_facts(s, "SELECT * FROM map_why(?1, ?2, ?3, ?4)", "isis",
                              (int64_t)q->checkpoint, q->name, (int64_t)q->target, q->map);
    return status == STATUS_FINE && !matched ? STATUS_NO : status;
}

int map_why(struct session *s, const struct args *args)
{
    const char *map = args->value[MAP], *target = args->value[TARGET];
    struct question q = {.name = args->operand[2], .map = map ? map : ""};
    q.checkpoint = session_checkpoint(s, args->operand[1]);
    if (!q.checkpoint || (target && !(q.target = session_checkpoint(s, target))))
        return STATUS_NO;
    const enum ckptdb_dialect_kind kind = map ? session_map(s, map) : CKPTDB_TRANSLATES;
    if (kind == CKPTDB_DIALECT_UNKNOWN)
        return STATUS_NO;
    if (kind == CKPTDB_ASSIGNS && !target) {
        complain("'%s' maps onto a model: say which with --target CHECKPOINT", map);
        return STATUS_TROUBLE;
    }
    const int status = settings_give(s, args, map, q.checkpoint);
    return status == STATUS_FINE ? answer(s, &q) : status;
}
