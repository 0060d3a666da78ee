/*
 * dot_schema.c - list what can be queried: .tables and .schema.
 */
#include "shell/command/command.h"

static int tables_run(struct session *s, const struct args *args)
{
    const char *glob = args->count ? args->operand[0] : NULL;
    return render_query(s,
                        "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')"
                        " AND name NOT GLOB 'sqlite_*'"
                        " AND iif(?1 IS NULL, name NOT GLOB '_*', name GLOB ?1)"
                        " ORDER BY type DESC, name",
                        "s", glob);
}

const struct command command_tables = {
    .name = "tables",
    .args = "[GLOB]",
    .summary = "views and tables",
    .help = "The views, and the tables ruleset, rule and optimizer, are what to ask. "
            "Names that begin\n"
            "with _, listed where GLOB fits them, are how it is stored.",
    .max_args = 1,
    .catalog = CATALOG_READ,
    .traits = SHELL_ONLY | PAGES,
    .run = tables_run,
};

static int schema_run(struct session *s, const struct args *args)
{
    sqlite3_stmt *stmt = session_prepare(s,
                                         "SELECT sql FROM sqlite_schema WHERE sql IS NOT "
                                         "NULL AND (?1 IS NULL OR name GLOB ?1) ORDER BY rowid",
                                         "s", args->count ? args->operand[0] : NULL);
    while (session_row(s, stmt))
        fprintf(s->out, "%s;\n", sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return s->unread ? STATUS_TROUBLE : STATUS_FINE;
}

const struct command command_schema = {
    .name = "schema",
    .args = "[GLOB]",
    .summary = "the CREATE statements, with their comments",
    .max_args = 1,
    .catalog = CATALOG_READ,
    .traits = SHELL_ONLY | NO_ROWS | PAGES,
    .run = schema_run,
};
