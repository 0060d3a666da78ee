#include "shell/line/repl.h"

#include "shell/command/script.h"
#include "shell/line/editor.h"

static void greet(struct session *s)
{
    long long checkpoints = 0;
    sqlite3_stmt *stmt = session_prepare(s, "SELECT count(*) FROM checkpoints", "");
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        checkpoints = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    complain("%s%s: %lld checkpoint%s; .help lists the commands, SQL ends with ;",
             s->catalog, s->db_mode == DB_READ ? " (read-only)" : "", checkpoints,
             checkpoints == 1 ? "" : "s");
}

int repl_run(struct session *s)
{
    struct editor *editor = editor_open(s);
    struct splitter p = {0};
    if (!editor) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    greet(s);
    while (!s->quit) {
        const char *line;
        size_t len;
        enum line_end end = editor_line(editor, p.begun || p.inside, &line, &len);
        if (end == LINE_EOF)
            break;
        if (end == LINE_DROPPED) {
            splitter_next(&p);
            continue;
        }
        enum unit kind = splitter_line(&p, line, len);
        if (kind != UNIT_MORE && script_run_unit(s, kind, &p, NULL) == STATUS_INTERRUPTED)
            complain("interrupted");
    }
    if (!s->quit)
        fputc('\n', stdout);
    splitter_release(&p);
    editor_close(editor);
    return STATUS_FINE;
}
