/*
 * cmd_stats.c - statistics of tensors' values: of one checkpoint, of all, or through the
 * steps of a run.
 */
#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"
#include "shell/command/hashing.h"

/* What --columns takes. */
static const struct {
    const char *name;
    bool rounded; /* for people */
} columns[] = {
    {"checkpoint", false}, {"checkpoint_id", false},
    {"run", false},        {"step", false},
    {"item", false},       {"tensor_id", false},
    {"name", false},       {"dtype", false},
    {"shape", false},      {"elements", false},
    {"mean", true},        {"std", true},
    {"min", true},         {"max", true},
    {"l2", true},          {"zeros", false},
    {"nans", false},       {"infs", false},
    {"subnormals", false}, {"histogram", false},
    {NULL, false},
};

#define PICKED                                                                                     \
    "WITH picked AS MATERIALIZED (SELECT s.*, c.run, c.step, c.item"                               \
    " FROM json_each(?1) j JOIN checkpoint c ON c.id = j.value"                                    \
    " JOIN stats s ON s.checkpoint_id = c.id WHERE ?2 IS NULL OR s.name REGEXP ?2)"

#define BLOCKS "'·▁▂▃▄▅▆▇█'"

/* With one character for each bin. */
#define OWN_SCALE                                                                                  \
    ", line AS (SELECT tensor_id, (SELECT group_concat(substr(" BLOCKS ", 1 + (k.value > 0)"       \
    " + CAST(7.0 * k.value / x.most AS INTEGER), 1), '') FROM"                                     \
    " (SELECT max(value) AS most FROM json_each(histogram, '$.counts')) x,"                        \
    " json_each(histogram, '$.counts') k) AS line FROM picked)"

/* The histograms of all steps of a tensor in the same bins, none narrower than any step's own,
 * as high as the highest. */
#define BINS "16"
#define ONE_SCALE                                                                                        \
    ", span AS (SELECT name AS of, min(min) AS least, max(max) / 2 - min(min) / 2 AS half FROM picked"   \
    "  GROUP BY name),"                                                                                  \
    " cell AS MATERIALIZED (SELECT tensor_id, name, coalesce(min(" BINS " - 1, CAST(" BINS " * (("       \
    "   json_extract(histogram, '$.edges[' || k.key || ']') / 2"                                         \
    "   + json_extract(histogram, '$.edges[' || (k.key + 1) || ']') / 2) / 2 - least / 2) / half"        \
    "   AS INTEGER)), 0) AS bin, sum(k.value) AS count"                                                  \
    "  FROM picked JOIN span ON of = name, json_each(histogram, '$.counts') k GROUP BY tensor_id, bin)," \
    " top AS (SELECT name AS of, max(count) AS most FROM cell GROUP BY name),"                           \
    " bins(bin) AS (SELECT 0 UNION ALL SELECT bin + 1 FROM bins WHERE bin < " BINS " - 1),"              \
    " line AS (SELECT tensor_id, iif(histogram IS NULL, NULL, (SELECT group_concat(substr(" BLOCKS       \
    ",   1 + (count > 0) + CAST(7.0 * count / most AS INTEGER), 1), '')"                                 \
    "   FROM (SELECT bin, coalesce((SELECT count FROM cell c WHERE c.tensor_id = p.tensor_id"            \
    "    AND c.bin = bins.bin), 0) AS count FROM bins))) AS line FROM picked p LEFT JOIN top ON of = name)"

enum { OF_ONE, OF_RUN, OF_ALL };

static const struct {
    const char *programs, *people, *order;
} of[] = {
    {"name,dtype,shape,min,max,mean,std,l2,zeros,nans,infs,histogram",
     "name,mean,std,min,max,l2,nans,infs,histogram,zeros,shape,dtype", "tensor_id"},
    {"name,step,min,max,mean,std,l2,zeros,nans,infs,histogram",
     "name,step,mean,std,min,max,l2,nans,infs,histogram,zeros", "name, step, checkpoint_id"},
    {"checkpoint,name,dtype,shape,min,max,mean,std,l2,zeros,nans,infs,histogram",
     "checkpoint,name,mean,std,min,max,l2,nans,infs,histogram,zeros,shape,dtype", "tensor_id"},
};

/* Append a column; false: none has this name. On a screen that may be narrow a column of NULL costs
 * no room, one of zeros does. */
static bool add_column(struct text *sql, const char *word, size_t len, bool people, bool screen)
{
    for (size_t i = 0; columns[i].name; i++) {
        const char *name = columns[i].name;
        if (strlen(name) != len || sqlite3_strnicmp(name, word, (int)len) != 0)
            continue;
        if (people && columns[i].rounded)
            text_addf(sql, "iif(%s IS NULL, NULL, CAST(printf('%%.3g', %s) AS REAL)) AS %s", name,
                      name, name);
        else if (screen && (strcmp(name, "nans") == 0 || strcmp(name, "infs") == 0))
            text_addf(sql, "nullif(%s, 0) AS %s", name, name);
        else
            text_addf(sql, "%s%s", people && strcmp(name, "histogram") == 0 ? "line AS " : "",
                      name);
        return true;
    }
    return false;
}

/* The statement that lists these columns (NULL: the usual ones); false after naming one that does not exist. */
static bool write_query(const struct session *s, struct text *sql, int what, const char *given)
{
    const bool people = content_for_people(s);
    const char *at = given ? given : people ? of[what].people : of[what].programs;
    text_addf(sql, PICKED "%s SELECT ", !people ? "" : what == OF_RUN ? ONE_SCALE : OWN_SCALE);
    for (;; at++) {
        at += strspn(at, " ");
        const size_t len = strcspn(at, ", "), rest = len + strspn(at + len, " ");
        if ((at[rest] && at[rest] != ',') ||
            !add_column(sql, at, len, people, people && s->mode == MODE_AUTO)) {
            complain(
                "stats: there is no column \"%.*s\"; these are: checkpoint, checkpoint_id, run, step, item,"
                " tensor_id, name, dtype, shape, elements, mean, std, min, max, l2, zeros, nans, infs,"
                " subnormals, histogram",
                (int)(rest < 60 ? rest : 60), at);
            return false;
        }
        at += rest;
        if (!*at)
            break;
        text_adds(sql, ", ");
    }
    text_addf(sql, " FROM picked%s ORDER BY %s", people ? " JOIN line USING (tensor_id)" : "",
              of[what].order);
    return true;
}

/* The checkpoints of a run with more than one step, in the order of steps; malloc'ed. The word is the run's
 * path, its last components, or a path that leads to it. NULL: it names no run, or several, or the
 * catalog cannot be read. */
static int64_t *find_run(struct session *s, const char *word, size_t *count)
{
    static const char sql[] =
        "WITH named AS (SELECT run, CASE WHEN run = rtrim(?1, '/') THEN 1"
        "   WHEN '/' || rtrim(?1, '/') = substr(run, -1 - length(rtrim(?1, '/'))) THEN 2"
        "   WHEN run = ?2 THEN 3 END AS way FROM _checkpoints WHERE run IS NOT NULL)"
        " SELECT id FROM _checkpoints c WHERE run = (SELECT min(run) FROM named"
        "  WHERE way = (SELECT min(way) FROM named)"
        "  HAVING count(DISTINCT run) = 1 AND count(*) > 1) AND (coalesce(item, 'model') = 'model'"
        "  OR NOT EXISTS (SELECT 1 FROM _checkpoints m WHERE m.run = c.run AND m.step = c.step"
        "   AND coalesce(m.item, 'model') = 'model')) ORDER BY step, id";
    char *real = realpath(word, NULL);
    int64_t *ids = session_ids(s, session_prepare(s, sql, "ss", word, real), count);
    free(real);
    if (*count)
        return ids;
    free(ids);
    return NULL;
}

enum { COLUMNS, AGAIN, JOBS };

static const struct option_spec options[] = {
    [COLUMNS] = {"--columns", "LIST", "show these columns: name,step,max,histogram"},
    [AGAIN] = {"--again", NULL, "compute known statistics, too"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core; 32 for other machines)"},
    {NULL, NULL, NULL},
};

static int stats_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {.size = sizeof(o), .again = args->value[AGAIN] != NULL};
    const char *regex = args->count > 1 ? args->operand[1] : NULL;
    struct text sql = {0};
    if (!hash_jobs(args->value[JOBS], &o.threads) || !session_regex(s, regex))
        return STATUS_TROUBLE;
    int64_t *ids = args->count ? find_run(s, args->operand[0], &o.count) : NULL;
    const int what = ids ? OF_RUN : args->count ? OF_ONE : OF_ALL;
    if (!write_query(s, &sql, what, args->value[COLUMNS])) {
        text_release(&sql);
        free(ids);
        return STATUS_TROUBLE;
    }
    if (!ids && !s->unread)
        ids = session_checkpoints(s, args->operand, args->count ? 1 : 0, &o.count);
    int status = STATUS_NO;
    if (ids) {
        o.checkpoints = ids;
        o.names = regex;
        status = content_run(s, ckptdb_statistics, &o, "; what was computed so far is kept");
        status = content_print(s, &o, status, text_str(&sql), regex);
    }
    text_release(&sql);
    free(ids);
    return status;
}

const struct command command_stats = {
    .name = "stats",
    .args = "[CHECKPOINT [REGEX]] [--columns LIST] [--again] [--jobs N]",
    .summary = "describe the values: min, max, mean, std, NaN, histograms",
    .help =
        "For each tensor whose name matches REGEX anywhere. The statistics are kept in\n"
        "the catalog (view `stats`) until the file is imported again. Known ones are not\n"
        "computed again, and tensors with the same hash (`ckptdb hash`) share theirs. If\n"
        "the catalog cannot be written, nothing is kept, and a message says so. In place\n"
        "of CHECKPOINT, the folder of a run shows how each tensor changes from step to\n"
        "step. Without CHECKPOINT, all checkpoints.\n"
        "\n"
        "NaN and infinities are counted, but left out of everything else. A complex\n"
        "number counts by its magnitude, bool as 0 and 1, block types dequantised;\n"
        "strings have no row. Histograms of one run have the same scale in all steps of a\n"
        "tensor on a terminal, and their own edges elsewhere.\n"
        "\n"
        "  ckptdb stats model.safetensors 'mlp.*weight'\n"
        "  ckptdb stats runs/gpt 'layers.0.attn.q.weight$'\n"
        "  ckptdb stats runs/gpt 'norm' --columns name,step,nans,infs,histogram\n"
        "  ckptdb \"SELECT checkpoint, name, nans FROM stats WHERE nans + infs > 0\"\n"
        "  ckptdb \"SELECT checkpoint, name FROM stats WHERE zeros = elements AND zeros > 0\"\n"
        "  ckptdb \"SELECT checkpoint, name, max FROM stats WHERE max(max, -min) > 20 * std\"\n",
    .options = options,
    .max_args = 2,
    .catalog = CATALOG_KEEP,
    .run = stats_run,
};
