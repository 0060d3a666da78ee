#include "shell/repl.h"

#include <stdlib.h>
#include <string.h>

#include "shell/script.h"

int repl_run(struct session *s)
{
    struct splitter p = {0};
    char *line = NULL;
    size_t space = 0;
    ssize_t len;
    while (!s->quit) {
        fputs(p.begun || p.inside ? "   ...> " : "ckptdb> ", stdout);
        fflush(stdout);
        if ((len = getline(&line, &space, stdin)) < 0)
            break;
        session_interrupted = 0;
        enum unit kind = splitter_line(&p, line, (size_t)len);
        if (kind != UNIT_MORE)
            script_run_unit(s, kind, &p, NULL);
    }
    free(line);
    splitter_release(&p);
    return STATUS_FINE;
}
