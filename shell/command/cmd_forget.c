#include "catalog/db/write.h"
#include "shell/command/command.h"

static int forget(struct session *s, sqlite3_int64 checkpoint)
{
    struct error err;
    struct writer *writer;
    error_clear(&err);
    if (writer_open(s->db, NULL, NULL, NULL, &writer, &err) == OK) {
        if (writer_drop(writer, checkpoint, &err) == OK)
            writer_close(writer, &err);
        else
            writer_abort(writer);
    }
    if (err.status == OK)
        return STATUS_FINE;
    complain_error(&err);
    return STATUS_TROUBLE;
}

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say what would be forgotten"},
    {NULL, NULL, NULL},
};

static int forget_run(struct session *s, const struct args *args)
{
    bool dry = args->value[0] != NULL;
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    if (!checkpoint)
        return STATUS_NO;
    sqlite3_stmt *stmt = session_prepare(s, "SELECT path FROM checkpoints WHERE id = ?1",
                                         "i", (int64_t)checkpoint);
    if (!stmt)
        return STATUS_NO;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        complain("%s %s", dry ? "would forget" : "forgetting",
                 sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return dry ? STATUS_FINE : forget(s, checkpoint);
}

const struct command command_forget = {
    .name = "forget",
    .args = "CHECKPOINT [--dry-run]",
    .summary = "drop a checkpoint from the catalog",
    .help = "Its files stay as they are; importing them again brings it back, under a "
            "new id.\n"
            "\n"
            "  ckptdb forget runs/model.ckpt-1000\n"
            "  ckptdb forget runs@500 --dry-run",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .catalog = CATALOG_WRITE,
    .no_rows = true,
    .run = forget_run,
};
