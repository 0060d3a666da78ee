#include "shell/command/command.h"

static const struct option_spec options[] = {
    {"--force", NULL, "replace what is there"},
    {NULL, NULL, NULL},
};

static int snapshot_run(struct session *s, const struct args *args)
{
    struct ckptdb_error err;
    if (ckptdb_snapshot(s->open, args->operand[0], args->value[0] != NULL, &err) == CKPTDB_OK)
        return STATUS_FINE;
    return err.status == CKPTDB_INTERRUPTED ? STATUS_INTERRUPTED
                                            : (complain_status(&err), STATUS_TROUBLE);
}

const struct command command_snapshot = {
    .name = "snapshot",
    .args = "OUT",
    .summary = "copy the catalog to a file, also while others write it",
    .help = "OUT is one state of the catalog: what was committed when the copy began. It is\n"
            "compact, without the free space of dropped checkpoints, and appears complete\n"
            "or not at all. It is a catalog like any other: -d OUT opens it, `merge` takes it.\n"
            "\n"
            "  ckptdb snapshot backup.db\n"
            "  ckptdb -d /shared/catalog.db snapshot --force ~/catalog.db",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .catalog = CATALOG_READ,
    .traits = NO_ROWS,
    .run = snapshot_run,
};
