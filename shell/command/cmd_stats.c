/*
 * cmd_stats.c - statistics of tensors' values: of one checkpoint, of all, or through the
 * steps of a run.
 */
#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"
#include "shell/command/hashing.h"

/* Columns for people: rounded numbers, the most informative first (a narrow screen leaves out
 * the last ones), and the histogram with one character per bin. Or all digits, for programs. */
#define PEOPLE(X) "iif(" X " IS NULL, NULL, printf('%.4g', " X ")) AS " X
#define NUMBERS   "s.min, s.max, s.mean, s.std, s.l2, s.zeros, s.nans, s.infs, s.histogram"
#define SPARKLINE                                                                                  \
    "(SELECT group_concat(substr('·▁▂▃▄▅▆▇█', 1 + (k.value > 0)"                  \
    " + CAST(7.0 * k.value / x.most AS INTEGER), 1), '') FROM"                                     \
    " (SELECT max(value) AS most FROM json_each(histogram, '$.counts')) x,"                        \
    " json_each(histogram, '$.counts') k) AS histogram"
#define PICTURE                                                                                    \
    SPARKLINE ", " PEOPLE("mean") ", " PEOPLE("std") ", nans, " PEOPLE("min") ", " PEOPLE(         \
        "max") ", infs, zeros, " PEOPLE("l2")

#define OF_IDS                                                                                     \
    " FROM json_each(?1) j JOIN checkpoint c ON c.id = j.value"                                    \
    " JOIN stats s ON s.checkpoint_id = c.id"                                                      \
    " WHERE ?2 IS NULL OR s.name REGEXP ?2"

enum {
    OF_ONE,
    OF_RUN,
    OF_ALL
};

static const char *const queries[3][2] = {
    {"SELECT s.name, s.dtype, s.shape, " NUMBERS OF_IDS " ORDER BY s.tensor_id",
     "SELECT name, shape, " PICTURE ", dtype FROM (SELECT s.*" OF_IDS ") s ORDER BY tensor_id"},
    {"SELECT s.name, c.step, " NUMBERS OF_IDS " ORDER BY s.name, c.step, c.id",
     "SELECT name, step, " PICTURE " FROM (SELECT s.*, c.step" OF_IDS
     ") s ORDER BY name, step, checkpoint_id"},
    {"SELECT s.checkpoint, s.name, s.dtype, s.shape, " NUMBERS OF_IDS " ORDER BY s.tensor_id",
     "SELECT checkpoint, name, shape, " PICTURE ", dtype FROM (SELECT s.*" OF_IDS
     ") s ORDER BY tensor_id"},
};

/* The checkpoints of a run with more than one step, in the order of steps; malloc'ed. The word is the run's
 * path, its last components, or a path that leads to it. NULL: it names no run, or several, or the
 * catalog cannot be read. */
static int64_t *find_run(struct session *s, const char *word, size_t *count)
{
    static const char sql[] =
        "WITH named AS (SELECT run, CASE WHEN run = rtrim(?1, '/') THEN 1"
        "   WHEN '/' || rtrim(?1, '/') = substr(run, -1 - length(rtrim(?1, '/'))) THEN 2"
        "   WHEN run = ?2 THEN 3 END AS way FROM _checkpoints WHERE run IS NOT NULL)"
        " SELECT id FROM _checkpoints WHERE run = (SELECT min(run) FROM named"
        "  WHERE way = (SELECT min(way) FROM named)"
        "  HAVING count(DISTINCT run) = 1 AND count(*) > 1) ORDER BY step, id";
    char *real = realpath(word, NULL);
    int64_t *ids = session_ids(s, session_prepare(s, sql, "ss", word, real), count);
    free(real);
    if (*count)
        return ids;
    free(ids);
    return NULL;
}

enum {
    AGAIN,
    JOBS
};

static const struct option_spec options[] = {
    [AGAIN] = {"--again", NULL, "also compute what is known"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core)"},
    {NULL, NULL, NULL},
};

static int stats_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {.size = sizeof(o), .again = args->value[AGAIN] != NULL};
    const char *regex = args->count > 1 ? args->operand[1] : NULL;
    const bool people = s->mode == MODE_AUTO ? s->out_is_terminal
                                             : s->mode == MODE_BOX || s->mode == MODE_TABLE ||
                                                   s->mode == MODE_MARKDOWN;
    if (!hash_jobs(args->value[JOBS], &o.threads) || !session_regex(s, regex))
        return STATUS_TROUBLE;
    int64_t *ids = args->count ? find_run(s, args->operand[0], &o.count) : NULL;
    const int of = ids ? OF_RUN : args->count ? OF_ONE : OF_ALL;
    if (!ids && !s->unread)
        ids = session_checkpoints(s, args->operand, args->count ? 1 : 0, &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    o.names = regex;
    const int status = content_run(s, ckptdb_statistics, &o, "; what was computed so far is kept");
    const int printed = content_print(s, &o, status, queries[of][people], regex);
    free(ids);
    return printed;
}

const struct command command_stats = {
    .name = "stats",
    .args = "[CHECKPOINT [REGEX]] [--again] [--jobs N]",
    .summary = "describe the values: min, max, mean, std, NaN, histograms",
    .help =
        "For each tensor whose name matches REGEX anywhere. The statistics are kept in\n"
        "the catalog (view `stats`) until the file is imported again. Known ones are not\n"
        "computed again, and tensors with the same hash (`ckptdb hash`) share theirs. If\n"
        "the catalog cannot be written, nothing is kept, and a message says so. In place\n"
        "of CHECKPOINT, the folder of a run shows how each tensor changes from step to\n"
        "step. Without CHECKPOINT, all checkpoints.\n"
        "\n"
        "NaN and infinities are counted, and left out of everything else. A complex\n"
        "number counts by its magnitude, bool as 0 and 1, block types dequantised;\n"
        "strings have no row.\n"
        "\n"
        "  ckptdb stats model.safetensors 'mlp.*weight'\n"
        "  ckptdb stats runs/gpt 'layers.0.attn.q.weight$'\n"
        "  ckptdb \"SELECT checkpoint, name, nans FROM stats WHERE nans + infs > 0\"\n"
        "  ckptdb \"SELECT checkpoint, name FROM stats WHERE zeros = elements AND zeros > 0\"\n"
        "  ckptdb \"SELECT checkpoint, name, max FROM stats WHERE max(max, -min) > 20 * std\"\n",
    .options = options,
    .max_args = 2,
    .catalog = CATALOG_KEEP,
    .run = stats_run,
};
