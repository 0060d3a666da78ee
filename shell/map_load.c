#include "shell/map_load.h"

#include <string.h>

#include "catalog/map/form.h"
#include "catalog/sql/rules_store.h"
#include "shell/session/read_text.h"

/* The set that a file makes, checked. */
static enum status read_set(const char *text, const char *path, const char *name,
                            struct ruleset *set, struct error *err)
{
    const struct form *form = form_for_text(text + strspn(text, " \t\r\n"));
    enum status status = form->read ? form_read(form, text, path, set, err)
                                    : rules_from_sql(text, path, name, set, err);
    if (status == OK && ruleset_check(set, err) != OK)
        error_prefix(err, path);
    return err->status;
}

int map_load(struct session *s, const char *name, const char *path)
{
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    struct error err = {.offset = NO_OFFSET};
    struct text file = {0};
    int status = STATUS_TROUBLE;
    if (!read_text(path, &file) || !session_open(s, DB_CREATE))
        goto done;
    status = STATUS_NO;
    if (strlen(text_str(&file)) != file.len)
        complain("%s: a NUL character; is this text?", path);
    else if (read_set(text_str(&file), path, name, &set, &err) == OK &&
             rules_store(s->db, name, &set, &err) == OK)
        status = STATUS_FINE;
    if (err.status != OK)
        complain_error(&err);
done:
    s->failed = s->failed || status != STATUS_FINE;
    text_release(&file);
    arena_release(&arena);
    return status;
}
