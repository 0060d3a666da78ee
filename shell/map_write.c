#include "shell/map_write.h"

#include "shell/command/command.h"

/* A row of map_file(). */
static bool write_line(struct session *s, sqlite3_stmt *row, const char *name)
{
    const char *line = (const char *)sqlite3_column_text(row, 0);
    if (line) {
        fwrite(line, 1, (size_t)sqlite3_column_bytes(row, 0), s->out);
        putc('\n', s->out);
        return true;
    }
    complain("%s: %s", name, (const char *)sqlite3_column_text(row, 1));
    return false;
}

int map_write(struct session *s, const char *name, const char *format)
{
    if (s->one_command && s->mode != MODE_AUTO) {
        complain("--format %s writes a file, not rows: no --json or its like", format);
        return STATUS_TROUBLE;
    }
    sqlite3_stmt *row = session_prepare(s, "SELECT line, fault FROM map_file(?1, ?2)",
                                        "ss", name, format);
    if (!row)
        return STATUS_NO;
    int rc = SQLITE_DONE;
    bool held = true;
    while (held && (rc = sqlite3_step(row)) == SQLITE_ROW)
        held = write_line(s, row, name);
    if (held && rc != SQLITE_DONE)
        complain("%s", sqlite3_errmsg(s->db));
    sqlite3_finalize(row);
    return !held || !session_flush(s) ? STATUS_TROUBLE
           : rc == SQLITE_DONE        ? STATUS_FINE
                                      : STATUS_NO;
}
