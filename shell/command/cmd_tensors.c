#include "shell/command/command.h"

static const char sql[] = "SELECT name, dtype, shape, nbytes, storage FROM tensor"
                          " WHERE checkpoint_id = ?1 AND (?2 IS NULL OR regexp_match(?2, name))"
                          " ORDER BY ord";

static int tensors_run(struct session *s, const struct args *args)
{
    const char *regex = args->count > 1 ? args->operand[1] : NULL;
    if (!session_regex(s, regex))
        return STATUS_TROUBLE;
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    if (!checkpoint)
        return STATUS_NO;
    return render_query(s, sql, "is", (int64_t)checkpoint, regex);
}

const struct command command_tensors = {
    .name = "tensors",
    .args = "CHECKPOINT [REGEX]",
    .summary = "list the tensors of a checkpoint",
    .help = "In the order of the file. REGEX searches the names as Python's re.search does.\n"
            "nbytes is the size of the elements when decoded, however the file stores them.\n"
            "\n"
            "  ckptdb tensors llama/model.safetensors 'layers\\.0\\.'\n"
            "  ckptdb --csv tensors 3",
    .min_args = 1,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .traits = PAGES,
    .run = tensors_run,
};
