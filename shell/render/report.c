/*
 * report.c - print what a command did, as one JSON object or its plain members as rows.
 */
#include "shell/render/query.h"

int render_report(struct session *s, struct text *object)
{
    const char *json = text_str(object);
    if (!json) {
        complain("no memory for the report");
        return STATUS_TROUBLE;
    }
    if (s->mode == MODE_AUTO)
        return STATUS_FINE;
    if (s->mode != MODE_JSON && s->mode != MODE_JSONL)
        return render_json(s,
                           "SELECT key AS what, value FROM json_each(?1)"
                           " WHERE type NOT IN ('array', 'object')",
                           json);
    fprintf(s->out, "%s\n", json);
    return session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
}

int render_report_of(struct session *s, const char *sql, const char *name)
{
    struct text object = {0};
    if (s->mode != MODE_JSON && s->mode != MODE_JSONL)
        return STATUS_FINE;
    sqlite3_stmt *stmt = session_prepare(s, sql, "s", name);
    if (session_row(s, stmt))
        text_adds(&object, session_text(stmt, 0));
    sqlite3_finalize(stmt);
    const int status = s->unread ? STATUS_TROUBLE : render_report(s, &object);
    text_release(&object);
    return status;
}
