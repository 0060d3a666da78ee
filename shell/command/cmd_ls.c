#include "shell/command/command.h"

/* The pattern names whole components of the path, anywhere in it. */
static const char sql[] =
    "SELECT id, path, format, step, tensors, nbytes, parameters, files FROM checkpoint"
    " WHERE ?1 IS NULL OR path GLOB ?1 OR path GLOB '*/' || ?1 OR path GLOB ?1 || '/*'"
    " OR path GLOB '*/' || ?1 || '/*' ORDER BY path";

static int ls_run(struct session *s, const struct args *args)
{
    return render_query(s, sql, "s", args->count ? args->operand[0] : NULL);
}

const struct command command_ls = {
    .name = "ls",
    .args = "[GLOB]",
    .summary = "list checkpoints",
    .help =
        "GLOB names one or more whole components anywhere in a path: * is any run of\n"
        "characters, also of '/', ? is one, [a-c] is one of these.\n"
        "A narrow terminal shows fewer columns.\n\n"
        "  ckptdb ls 't5_*'\n"
        "  ckptdb --json ls '*.safetensors'",
    .max_args = 1,
    .catalog = CATALOG_READ,
    .run = ls_run,
};
