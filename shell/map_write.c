#include "shell/map_write.h"

#include "catalog/map/form.h"
#include "catalog/sql/rules_store.h"

int map_write(struct session *s, const char *name, const char *format)
{
    const struct form *form = form_find(format);
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    struct error err = {.offset = NO_OFFSET};
    struct text file = {0};
    int status = STATUS_TROUBLE;
    if (s->one_command && s->mode != MODE_AUTO) {
        complain("--format %s writes a file, not rows: no --json or its like", format);
        return STATUS_TROUBLE;
    }
    if (!form)
        form_unknown(format, &err);
    else if (rules_fetch(s->db, name, &set, &err) == OK)
        form_write(form, &set, &file, &err);
    if (err.status != OK) {
        error_prefix(&err, name);
        complain_error(&err);
    } else {
        fwrite(text_str(&file), 1, file.len, s->out);
        status = session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
    }
    text_release(&file);
    arena_release(&arena);
    return status;
}
