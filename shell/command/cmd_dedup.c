/*
 * cmd_dedup.c - what is stored more than once (view `duplicate`).
 */
#include <stdlib.h>

#include "shell/command/command.h"
#include "shell/command/hashing.h"

enum {
    AGAIN,
    JOBS
};

static const struct option_spec options[] = {
    [AGAIN] = {"--again", NULL, "hash what is known, too"},
    [JOBS] = {"--jobs", "N", "threads (default: one a core)"},
    {NULL, NULL, NULL},
};

/* Groups with a tensor of one of the checkpoints; copies elsewhere count too. */
static const char groups_sql[] =
    "SELECT d.wasted, d.copies, d.nbytes, d.dtype, d.shape, d.hash,"
    " (SELECT group_concat(x, ', ') FROM (SELECT c.name || ' ' || tensor_name(j.value) AS x"
    "   FROM json_each(d.tensor_ids) j JOIN checkpoint c ON c.id = tensor_checkpoint(j.value)"
    "   LIMIT 8)) || iif(json_array_length(d.tensor_ids) > 8, ', …', '') AS tensors"
    " FROM duplicate d WHERE EXISTS (SELECT 1 FROM json_each(d.tensor_ids) t"
    "   WHERE t.value >> 24 IN (SELECT value FROM json_each(?1)))"
    " ORDER BY d.wasted DESC, d.hash";

static int dedup_run(struct session *s, const struct args *args)
{
    struct hash_request request = {.twins = true, .again = args->value[AGAIN] != NULL};
    struct text list = {0};
    if (!hash_jobs(args->value[JOBS], &request.threads))
        return STATUS_TROUBLE;
    request.ids = session_checkpoints(s, args->operand, args->count, &request.count);
    if (!request.ids)
        return STATUS_NO;
    int status = hash_request(s, &request);
    if (status != STATUS_TROUBLE && hash_id_list(&request, &list)) {
        const int printed = render_query(s, groups_sql, "s", text_str(&list));
        status = status ? status : printed;
    }
    text_release(&list);
    free(request.ids);
    return status;
}

const struct command command_dedup = {
    .name = "dedup",
    .args = "[CHECKPOINT...] [--again] [--jobs N]",
    .summary = "find what is stored more than once",
    .help =
        "Groups of equal tensors, the largest waste first: how many places hold one, and how many\n"
        "bytes all but one of them take. Hard links, symbolic links to one file and tied tensors\n"
        "share their place. Only tensors that could be equal (as many bytes) are read, and what\n"
        "is hashed already is not read again. Without CHECKPOINT: all.\n"
        "\n"
        "  ckptdb dedup\n"
        "  ckptdb \"SELECT sum(wasted) FROM duplicate\"",
    .options = options,
    .min_args = 0,
    .max_args = -1,
    .catalog = CATALOG_WRITE,
    .run = dedup_run,
};
