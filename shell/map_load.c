#include "shell/map_load.h"

#include "shell/session/read_text.h"

int map_load(struct session *s, const char *name, const char *path)
{
    struct ckptdb_error err;
    struct text file = {0};
    int status = STATUS_TROUBLE;
    if (read_text(path, &file) && session_open(s, CKPTDB_CREATE)) {
        status = STATUS_FINE;
        if (ckptdb_map_load(s->open, name, text_str(&file), file.len, path, &err) !=
            CKPTDB_OK) {
            complain_status(&err);
            status = STATUS_NO;
        }
    }
    s->failed = s->failed || status != STATUS_FINE;
    text_release(&file);
    return status;
}
