#include "shell/map_write.h"

int map_write(struct session *s, const char *name, const char *format)
{
    struct ckptdb_error err;
    char *text;
    size_t len;
    if (s->one_command && s->mode != MODE_AUTO) {
        complain("--format %s writes a file, not rows: no --json or the like", format);
        return STATUS_TROUBLE;
    }
    if (ckptdb_map_write(s->open, name, format, &text, &len, &err) != CKPTDB_OK) {
        complain_status(&err);
        return STATUS_TROUBLE;
    }
    fwrite(text, 1, len, s->out);
    ckptdb_free(text);
    return session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
}
