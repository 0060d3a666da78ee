#include <inttypes.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"

static const struct option_spec options[] = {
    {"--dry-run", NULL, "only say how many checkpoints would move"},
    {NULL, NULL, NULL},
};

static int relocate_run(struct session *s, const struct args *args)
{
    struct ckptdb_error err;
    struct text json = {0};
    uint64_t count;
    const bool dry = args->value[0] != NULL;
    if (!must_write(s, "relocate")) /* a dry run, too: it moves, and rolls back */
        return STATUS_TROUBLE;
    if (!*args->operand[0] || !*args->operand[1]) {
        complain("relocate: an empty path, where a variable was not set?");
        return STATUS_TROUBLE;
    }
    ckptdb_relocate(s->open, args->operand[0], args->operand[1], dry, &count, &err);
    int status = err.status == CKPTDB_OK ? STATUS_FINE : complain_status(&err);
    if (err.status != CKPTDB_OK && err.status != CKPTDB_MISSING)
        return status == STATUS_INTERRUPTED ? status : STATUS_NO;
    if (count)
        fprintf(stderr, "%s %" PRIu64 " checkpoint%s\n", dry ? "would move" : "moved", count,
                count == 1 ? "" : "s");
    text_addf(&json, "{\"dry_run\":%s,\"checkpoints\":%" PRIu64 "}", dry ? "true" : "false", count);
    const int printed = render_report(s, &json);
    text_release(&json);
    return printed != STATUS_FINE ? printed : status;
}

const struct command command_relocate = {
    .name = "relocate",
    .args = "OLD NEW [--dry-run]",
    .summary = "change a path prefix, after files were moved",
    .help = "Nothing on disk is touched. Files that still have the recorded size and\n"
            "modification time count as unchanged. The others count as changed: import the\n"
            "new place then.\n"
            "\n"
            "  ckptdb relocate /mnt/old/models /mnt/new/models",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_WRITE,
    .run = relocate_run,
};
