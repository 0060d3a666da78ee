#include "shell/line/repl.h"

#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/command/script.h"
#include "shell/line/editor.h"

/* Run $XDG_CONFIG_HOME/ckptdb/rc, a script to start with. Errors in it are
 * printed, and the shell starts anyway. */
static void run_rc(struct session *s)
{
    const char *config = environment("XDG_CONFIG_HOME"), *home = environment("HOME");
    struct text path = {0};
    if (config && *config == '/')
        text_addf(&path, "%s/ckptdb/rc", config);
    else if (home)
        text_addf(&path, "%s/.config/ckptdb/rc", home);
    if (path.len && text_str(&path) && access(text_str(&path), R_OK) == 0) {
        s->interactive = false;
        script_run_file(s, text_str(&path));
        s->interactive = true;
        s->failed = false;
    }
    text_release(&path);
}

int repl_run(struct session *s, bool rc)
{
    struct editor *editor = editor_open(s);
    struct splitter p = {.command = command_begins}; /* `ls` is not SQL */
    if (!editor) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    if (rc)
        run_rc(s);
    if (!s->quit) {
        const long long checkpoints = session_number(s, "SELECT count(*) FROM _checkpoints", "");
        complain("%s%s: %lld checkpoint%s; .help lists the commands, SQL ends with ;", s->catalog,
                 s->db_mode == CKPTDB_READ ? " (read-only)" : "", checkpoints,
                 checkpoints == 1 ? "" : "s");
    }
    while (!s->quit) {
        const char *line;
        size_t len;
        enum line_end end = editor_line(editor, p.begun || p.inside, p.inside, &line, &len);
        if (end == LINE_EOF)
            break;
        if (end == LINE_DROPPED) {
            splitter_next(&p);
            continue;
        }
        enum unit kind = splitter_line(&p, line, len);
        if (kind == UNIT_SQL || kind == UNIT_DOT)
            editor_keep(editor, splitter_text(&p));
        if (kind != UNIT_MORE && script_run_unit(s, kind, &p, NULL) == STATUS_INTERRUPTED)
            complain("interrupted");
    }
    if (!s->quit)
        fputc('\n', stdout);
    splitter_release(&p);
    editor_close(editor);
    return STATUS_FINE;
}
