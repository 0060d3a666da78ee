#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"

/* Print a line for each checkpoint, and add it to the report. */
static bool say_each(struct session *s, const int64_t *ids, size_t count, bool dry,
                     struct text *json)
{
    text_adds(json,
              dry ? "{\"dry_run\":true,\"forgotten\":[" : "{\"dry_run\":false,\"forgotten\":[");
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *row =
            session_prepare(s, "SELECT path FROM _checkpoints WHERE id = ?1", "i", (int64_t)ids[i]);
        const char *path = session_row(s, row) ? (const char *)sqlite3_column_text(row, 0) : NULL;
        if (path) {
            complain("%s %s", dry ? "would forget" : "forgetting", path);
            text_adds(json, i ? "," : "");
            text_json(json, path, strlen(path));
        }
        sqlite3_finalize(row);
        if (s->unread)
            return false;
    }
    return text_addf(json, "],\"checkpoints\":%zu}", count);
}

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say what would be forgotten"},
    {NULL, NULL, NULL},
};

static int forget_run(struct session *s, const struct args *args)
{
    bool dry = args->value[0] != NULL;
    struct ckptdb_error err;
    s->unheld.taken = false; /* only what is catalogued can be forgotten */
    if (!dry && !must_write(s, "forget"))
        return STATUS_TROUBLE;
    size_t count;
    int64_t *ids = session_checkpoints(s, args->operand, args->count, &count);
    struct text json = {0};
    int status = STATUS_NO;
    if (ids && say_each(s, ids, count, dry, &json)) {
        status = STATUS_FINE;
        if (!dry && ckptdb_forget(s->open, ids, count, &err) != CKPTDB_OK) {
            complain_status(&err);
            status = STATUS_TROUBLE;
        }
        if (status == STATUS_FINE)
            status = render_report(s, &json);
    }
    text_release(&json);
    free(ids);
    return status;
}

const struct command command_forget = {
    .name = "forget",
    .args = "CHECKPOINT... [--dry-run]",
    .summary = "drop checkpoints from the catalog",
    .help = "Their files are not touched; importing them again brings them back, under new\n"
            "ids. A CHECKPOINT may also be a glob over names and paths, as for `ls`.\n"
            "\n"
            "  ckptdb forget runs/model.ckpt-1000\n"
            "  ckptdb forget 'gpt-small@*' --dry-run",
    .options = options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_KEEP,
    .traits = PAGES,
    .run = forget_run,
};
