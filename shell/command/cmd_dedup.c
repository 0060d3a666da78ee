/*
 * cmd_dedup.c - find what is stored more than once (view `duplicate`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"
#include "shell/command/hashing.h"

enum {
    BY,
    AGAIN,
    JOBS
};

static const struct option_spec options[] = {
    [BY] = {"--by", "WHAT", "sums instead of groups: by checkpoint, run or pair"},
    [AGAIN] = {"--again", NULL, "also hash what is known"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core)"},
    {NULL, NULL, NULL},
};

/* The values of `--by` and their queries. ?1: JSON list of checkpoint
 * ids; ?2: '1' if these are all. */
static const struct {
    const char *name, *sql;
} answers[] = {
    /* Groups that contain a tensor of one of the checkpoints;
     * their copies elsewhere count, too. */
    {"group",
     "SELECT d.wasted, d.copies, d.nbytes, d.dtype, d.shape, d.hash,"
     " (SELECT group_concat(x, ', ') FROM (SELECT c.name || ' ' || tensor_name(j.value) AS x"
     "   FROM json_each(d.tensor_ids) j JOIN checkpoint c ON c.id = tensor_checkpoint(j.value)"
     "   LIMIT 8)) || iif(json_array_length(d.tensor_ids) > 8, ', …', '') AS tensors"
     " FROM duplicate d WHERE ?2 OR EXISTS (SELECT 1 FROM json_each(d.tensor_ids) t"
     "   WHERE tensor_checkpoint(t.value) IN (SELECT value FROM json_each(?1)))"
     " ORDER BY d.wasted DESC, d.hash"},
    {"checkpoint",
     "SELECT nbytes AS wasted, tensors, checkpoint FROM waste"
     " WHERE (?2 OR checkpoint_id IN (SELECT value FROM json_each(?1))) ORDER BY nbytes DESC, checkpoint"},
    {"run",
     "SELECT sum(nbytes) AS wasted, sum(tensors) AS tensors, count(*) AS checkpoints, run FROM waste"
     " WHERE (?2 OR checkpoint_id IN (SELECT value FROM json_each(?1)))"
     " GROUP BY run ORDER BY 1 DESC, run"},
    /* From the side of the one that was asked for; of two, from that which was catalogued first. */
    {"pair",
     "SELECT s.content_nbytes AS nbytes, s.tensors, s.other_tensors, s.checkpoint, s.other"
     " FROM json_each(?1) j CROSS JOIN shared s ON s.checkpoint_id = j.value"
     " WHERE s.other_id > s.checkpoint_id OR s.other_id NOT IN (SELECT value FROM json_each(?1))"
     " ORDER BY 1 DESC, s.checkpoint, s.other"},
};

/* Groups with all of their tensors as a list, for programs. */
static const char groups_json_sql[] =
    "SELECT d.wasted, d.copies, d.nbytes, d.dtype, d.shape, d.hash,"
    " (SELECT json_group_array(json_object('checkpoint', c.name, 'name', tensor_name(j.value),"
    "    'tensor_id', j.value))"
    "   FROM json_each(d.tensor_ids) j JOIN checkpoint c ON c.id = tensor_checkpoint(j.value))"
    " AS tensors FROM duplicate d WHERE ?2 OR EXISTS (SELECT 1 FROM json_each(d.tensor_ids) t"
    "   WHERE tensor_checkpoint(t.value) IN (SELECT value FROM json_each(?1)))"
    " ORDER BY d.wasted DESC, d.hash";

/* `--by pair` compares every tensor with all equal ones. For thousands of steps with frozen weights
 * that would take hours, so without a CHECKPOINT it is refused beyond about a minute's work. */
#define PAIRS_MOST 100000000

static bool may_pair(struct session *s)
{
    const int64_t pairs =
        session_number(s,
                       "SELECT sum(tensors * checkpoints) FROM (SELECT count(*) AS tensors,"
                       "         count(DISTINCT tensor_checkpoint(id)) AS checkpoints"
                       "  FROM _tensor_hashes GROUP BY hash HAVING tensors > 1)",
                       "");
    if (pairs > PAIRS_MOST)
        complain("--by pair of all checkpoints would look at %lld pairs of equal tensors: say which"
                 " CHECKPOINT, or ask --by checkpoint",
                 (long long)pairs);
    return !s->unread && pairs <= PAIRS_MOST;
}

static int dedup_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {
        .size = sizeof(o), .twins = true, .again = args->value[AGAIN] != NULL};
    const bool json = s->mode == MODE_JSON || s->mode == MODE_JSONL;
    const char *by = args->value[BY] ? args->value[BY] : answers[0].name, *answer = NULL;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (strcmp(by, answers[i].name) == 0)
            answer = json && i == 0 ? groups_json_sql : answers[i].sql;
    if (!answer)
        complain("--by is checkpoint, run or pair, not \"%s\"", by);
    if (!answer || !hash_jobs(args->value[JOBS], &o.threads))
        return STATUS_TROUBLE;
    int64_t *ids = session_checkpoints(s, args->operand, args->count, &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    int status = content_run(s, ckptdb_hash, &o, HASHES_KEPT);
    if (status != STATUS_TROUBLE && !args->count && strcmp(by, "pair") == 0 && !may_pair(s))
        status = session_interrupted ? STATUS_INTERRUPTED : STATUS_TROUBLE;
    else
        status = content_print(s, &o, status, answer, args->count ? NULL : "1");
    free(ids);
    return status;
}

const struct command command_dedup = {
    .name = "dedup",
    .args = "[CHECKPOINT...] [--by WHAT] [--again] [--jobs N]",
    .summary = "find what is stored more than once",
    .help = "Lists groups of equal tensors, the largest waste first: in how many places each\n"
            "is stored, and how many bytes all places but one take. Hard links, symbolic\n"
            "links to one file, and tied tensors share a place. Only tensors that could be\n"
            "equal are read: they have the same size, and, if all of that size have a stored\n"
            "checksum (torch, TensorFlow), the same checksum. What is already hashed is\n"
            "not read again. Without CHECKPOINT, all checkpoints.\n"
            "\n"
            "--by checkpoint and --by run say whose copies they are; the place that was\n"
            "imported first is the original. --by pair says how much each two checkpoints\n"
            "share, such as fine-tunes of the same base: a pair has one line, with the bytes\n"
            "that both have, those that one has several times counted once, and how many\n"
            "tensors of either hold them. Name a CHECKPOINT where all of them have more than\n"
            "100 million pairs of equal tensors.\n"
            "\n"
            "  ckptdb dedup\n"
            "  ckptdb dedup --by run\n"
            "  ckptdb dedup tuned.safetensors --by pair\n"
            "  ckptdb \"SELECT sum(wasted) FROM duplicate\"",
    .options = options,
    .min_args = 0,
    .max_args = -1,
    .catalog = CATALOG_KEEP,
    .pages = true,
    .run = dedup_run,
};
