#include <stdlib.h>

#include "catalog/db/write.h"
#include "shell/command/command.h"

static enum status drop_all(struct session *s, const sqlite3_int64 *ids, size_t count,
                            struct error *err)
{
    struct writer *writer;
    if (writer_open(s->db, NULL, NULL, NULL, &writer, err) != OK)
        return err->status;
    for (size_t i = 0; i < count && err->status == OK; i++)
        writer_drop(writer, ids[i], err);
    if (err->status == OK)
        writer_close(writer, err);
    else
        writer_abort(writer);
    return err->status;
}

static bool say_each(struct session *s, const sqlite3_int64 *ids, size_t count, bool dry)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *row = session_prepare(
            s, "SELECT path FROM checkpoints WHERE id = ?1", "i", (int64_t)ids[i]);
        if (!row)
            return false;
        if (sqlite3_step(row) == SQLITE_ROW)
            complain("%s %s", dry ? "would forget" : "forgetting",
                     sqlite3_column_text(row, 0));
        sqlite3_finalize(row);
    }
    return true;
}

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say what would be forgotten"},
    {NULL, NULL, NULL},
};

static int forget_run(struct session *s, const struct args *args)
{
    bool dry = args->value[0] != NULL;
    struct error err = {.offset = NO_OFFSET};
    size_t count;
    sqlite3_int64 *ids = session_checkpoints(s, args->operand, args->count, &count);
    int status = STATUS_NO;
    if (ids && say_each(s, ids, count, dry)) {
        status = STATUS_FINE;
        if (!dry && drop_all(s, ids, count, &err) != OK) {
            complain_error(&err);
            status = STATUS_TROUBLE;
        }
    }
    free(ids);
    return status;
}

const struct command command_forget = {
    .name = "forget",
    .args = "CHECKPOINT... [--dry-run]",
    .summary = "drop checkpoints from the catalog",
    .help = "Their files stay as they are; importing them again brings them back, under "
            "new\n"
            "ids. A CHECKPOINT may also be a glob over names and paths, as `ls` takes "
            "it.\n"
            "\n"
            "  ckptdb forget runs/model.ckpt-1000\n"
            "  ckptdb forget 'gpt-small@*' --dry-run",
    .options = options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_WRITE,
    .no_rows = true,
    .pages = true,
    .run = forget_run,
};
