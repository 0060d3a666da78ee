#include "shell/command/set_option.h"

#include <stdlib.h>
#include <string.h>

/* Give one KEY=VALUE to the map. */
static int settings_give_one(struct session *s, const char *ruleset, const char *text)
{
    struct ckptdb_error err;
    char *key = strdup(text), *equals = key ? strchr(key, '=') : NULL;
    int status = STATUS_TROUBLE;
    if (!equals) {
        complain("no memory");
    } else {
        *equals = '\0';
        s->settings = true;
        status = STATUS_FINE;
        if (ckptdb_map_set(s->open, ruleset, key, equals + 1, &err) != CKPTDB_OK) {
            complain("--set %s", err.message);
            status = STATUS_TROUBLE;
        }
    }
    free(key);
    return status;
}

int settings_give(struct session *s, const struct args *args, const char *ruleset,
                  sqlite3_int64 checkpoint)
{
    struct ckptdb_error err;
    int status = STATUS_FINE;
    if (ruleset && ckptdb_map_current(s->open, ruleset, checkpoint, &err) != CKPTDB_OK) {
        complain_status(&err);
        return STATUS_NO;
    }
    for (int i = 0; i < args->pairs && status == STATUS_FINE; i++)
        if (strcmp(args->pair[i].option, "--set") == 0)
            status = settings_give_one(s, ruleset, args->pair[i].text);
    return status;
}

void settings_forget(struct session *s)
{
    if (s->settings && s->open)
        ckptdb_map_unset(s->open);
    s->settings = false;
}
