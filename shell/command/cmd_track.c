/*
 * cmd_track.c - how the statistics of a run's tensors change from step to step.
 */
#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"
#include "shell/command/hashing.h"

static const char *const statistics[] = {"mean",  "std",  "min",  "max",        "l2",
                                         "zeros", "nans", "infs", "subnormals", NULL};

#define STATISTICS_MAX 9

struct tracking {
    const char *stat[STATISTICS_MAX]; /* as asked for, once each */
    size_t stats;
};

static const char *find_statistic(const char *word, size_t len)
{
    for (size_t i = 0; statistics[i]; i++)
        if (strlen(statistics[i]) == len && sqlite3_strnicmp(word, statistics[i], (int)len) == 0)
            return statistics[i];
    return NULL;
}

/* "l2,mean"; false after saying what is wrong. */
static bool read_statistics(struct tracking *t, const char *list)
{
    for (const char *at = list;; at++) {
        at += strspn(at, " ");
        const size_t len = strcspn(at, ", "), rest = len + strspn(at + len, " ");
        const char *found = find_statistic(at, len);
        if (!found || (at[rest] && at[rest] != ',')) {
            complain(
                "track: there is no statistic \"%.*s\"; --stat takes mean, std, min, max, l2, zeros,"
                " nans, infs and subnormals, with commas between them",
                (int)(rest < 60 ? rest : 60), at);
            return false;
        }
        bool known = false;
        for (size_t i = 0; i < t->stats; i++)
            known = known || t->stat[i] == found;
        if (!known)
            t->stat[t->stats++] = found;
        at += rest;
        if (!*at)
            return true;
    }
}

/* --- which steps --------------------------------------------------------------------------- */

/* From each step, the same item as the one named: the model, or the item of its name. */
static const char steps_sql[] =
    "SELECT c.id FROM _checkpoints c JOIN _checkpoints m ON c.run = m.run WHERE m.id = ?1"
    " AND c.step IS NOT NULL AND coalesce(c.item, 'model') = coalesce(m.item, 'model')"
    " ORDER BY c.step, c.id";

/* The checkpoints of a run in the order of steps; malloc'ed. NULL after saying why not, or while a file
 * is to be imported first. */
static int64_t *find_steps(struct session *s, const char *word, size_t *count)
{
    int64_t id;
    if (ckptdb_find(s->open, word, &id, 1, NULL, NULL) != CKPTDB_OK &&
        (id = session_checkpoint(s, word)) == 0)
        return NULL;
    int64_t *ids = session_ids(s, session_prepare(s, steps_sql, "i", id), count);
    if (ids && *count == 0) {
        complain("%s is no step of a run: `stats` describes one checkpoint", word);
        free(ids);
        return NULL;
    }
    return ids;
}

/* --- the rows ------------------------------------------------------------------------------- */

/* Tensors come in the order of the last file that has them. */
#define PICKED                                                                                     \
    "WITH picked AS MATERIALIZED (SELECT s.*, c.step, s.nans + s.infs > 0 AS bad,"                 \
    "  max(s.tensor_id) OVER (PARTITION BY s.name) AS place"                                       \
    " FROM json_each(?1) j JOIN checkpoint c ON c.id = j.value"                                    \
    " JOIN stats s ON s.checkpoint_id = c.id WHERE ?2 IS NULL OR s.name REGEXP ?2)"

#define CHANGE "1.0 * (%s - lag(%s) OVER w) / lag(%s) OVER w"
#define PERCENT                                                                                    \
    "iif(%s IS NULL, NULL, printf(iif(abs(%s) < 99, '%%+7.1f%%%%', '%%+7.3g%%%%'), 100.0 * %s))"

/* A change: a fraction, for people in percent. */
static void add_change(struct text *sql, bool people, const char *column)
{
    if (people)
        text_addf(sql, ", " PERCENT " AS %s", column, column, column, column);
    else
        text_addf(sql, ", %s", column);
}

/* A row for each tensor and step. The change of the first statistic is `change`, of others NAME_change. */
static void write_steps(struct text *sql, const struct tracking *t, bool people)
{
    char column[64];
    text_adds(sql, PICKED ", stepped AS (SELECT *");
    for (size_t i = 0; i < t->stats; i++)
        text_addf(sql, ", " CHANGE " AS %s%schange", t->stat[i], t->stat[i], t->stat[i],
                  i ? t->stat[i] : "", i ? "_" : "");
    text_adds(
        sql,
        ", CASE WHEN bad AND sum(bad) OVER w = 1 THEN 'first ' || CASE WHEN NOT infs THEN 'NaN'"
        "  WHEN NOT nans THEN 'infinity' ELSE 'NaN and infinity' END END AS note"
        " FROM picked WINDOW w AS (PARTITION BY name ORDER BY step, checkpoint_id))"
        " SELECT name, step");
    for (size_t i = 0; i < t->stats; i++) {
        snprintf(column, sizeof(column), "%s%schange", i ? t->stat[i] : "", i ? "_" : "");
        text_addf(sql, ", %s", t->stat[i]);
        add_change(sql, people, column);
    }
    text_adds(sql, ", note FROM stepped ORDER BY place, name, step, checkpoint_id");
}

/* The picture of a tensor's steps: at most LINE characters, each for the greatest value that shares its place, and
 * a cross where one is not finite. */
#define LINE "32"
#define PICTURE                                                                                            \
    ", slot AS (SELECT name, turn, (at - 1) * min(steps, " LINE                                            \
    ") / steps AS slot, max(value) AS value,"                                                              \
    "  max(bad) AS bad, least, most FROM tracked GROUP BY name, turn, slot ORDER BY name, turn, slot),"    \
    " line AS (SELECT name, turn, group_concat(CASE WHEN bad THEN '✗' WHEN value IS NULL THEN ' '"       \
    "  WHEN most > least THEN substr('▁▂▃▄▅▆▇█', 1 + CAST(7.99 * ((value / 2 - least / 2)" \
    "  / (most / 2 - least / 2)) AS INTEGER), 1) ELSE '▄' END, '') AS trend FROM slot GROUP BY name, turn)"

/* A row for each tensor, and for each statistic, if there are several. */
static void write_names(struct text *sql, const struct tracking *t, bool people)
{
    text_adds(sql, PICKED ", v AS (");
    for (size_t i = 0; i < t->stats; i++)
        text_addf(
            sql,
            "%sSELECT name, place, step, checkpoint_id, bad, %zu AS turn, '%s' AS stat, %s AS value FROM picked",
            i ? " UNION ALL " : "", i, t->stat[i], t->stat[i]);
    text_addf(
        sql,
        "), tracked AS (SELECT *, " CHANGE " AS change, row_number() OVER w AS at,"
        "  count(*) OVER p AS steps, min(value) OVER p AS least, max(value) OVER p AS most"
        " FROM v WINDOW p AS (PARTITION BY name, turn),"
        "  w AS (PARTITION BY name, turn ORDER BY step, checkpoint_id)),"
        " ends AS (SELECT name, turn, stat, place, steps, max(value) FILTER (WHERE at = 1) AS first,"
        "  max(value) FILTER (WHERE at = steps) AS last, min(step) FILTER (WHERE bad) AS first_bad"
        "  FROM tracked GROUP BY name, turn),"
        /* Of the row that has the maximum. */
        " jumps AS (SELECT name, turn, change AS jump, step AS jump_step, max(abs(change)) FROM tracked"
        "  WHERE change IS NOT NULL GROUP BY name, turn),"
        " named AS (SELECT *, 1.0 * (last - first) / first AS change"
        "  FROM ends LEFT JOIN jumps USING (name, turn))",
        "value", "value", "value");
    text_adds(sql, people ? PICTURE " SELECT name, trend" : " SELECT name");
    text_adds(sql, t->stats > 1 || !people ? ", stat, last" : ", last");
    add_change(sql, people, "change");
    text_adds(sql, ", first_bad, first");
    add_change(sql, people, "jump");
    text_adds(sql, ", jump_step, steps FROM named");
    text_adds(sql, people ? " JOIN line USING (name, turn)" : "");
    text_adds(sql, " ORDER BY place, name, turn");
}

/* --- the command ---------------------------------------------------------------------------- */

enum { STAT, BY, AGAIN, JOBS };

static const struct option_spec options[] = {
    [STAT] = {"--stat", "LIST",
              "these statistics: mean,std,min,max,l2,zeros,nans,infs (default: l2)"},
    [BY] = {"--by", "WHAT",
            "one row per tensor and step (step), or per tensor (name: the default on a terminal)"},
    [AGAIN] = {"--again", NULL, "compute known statistics, too"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core; 32 for other machines)"},
    {NULL, NULL, NULL},
};

static int track_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {.size = sizeof(o), .again = args->value[AGAIN] != NULL};
    struct tracking t = {.stats = 0};
    struct text sql = {0};
    const char *regex = args->count > 1 ? args->operand[1] : NULL, *by = args->value[BY];
    const bool people = content_for_people(s);
    if (by && strcmp(by, "step") != 0 && strcmp(by, "name") != 0) {
        complain("track: --by is step or name, not \"%s\"", by);
        return STATUS_TROUBLE;
    }
    if (!read_statistics(&t, args->value[STAT] ? args->value[STAT] : "l2") ||
        !hash_jobs(args->value[JOBS], &o.threads) || !session_regex(s, regex))
        return STATUS_TROUBLE;
    int64_t *ids = find_steps(s, args->operand[0], &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    o.names = regex;
    if (by ? *by == 'n' : people)
        write_names(&sql, &t, people);
    else
        write_steps(&sql, &t, people);
    int status = content_run(s, ckptdb_statistics, &o, "; what was computed so far is kept");
    status = content_print(s, &o, status, text_str(&sql), regex);
    text_release(&sql);
    free(ids);
    return status;
}

const struct command command_track = {
    .name = "track",
    .args = "RUN [REGEX] [--stat LIST] [--by WHAT] [--again] [--jobs N]",
    .summary = "how a run's tensors change from step to step",
    .help =
        "Statistics of the tensors whose names match REGEX anywhere, in every step of\n"
        "RUN: the folder of a run, what stands before @ in its names, or any of its steps\n"
        "(RUN@latest:optimizer: this item of each). What is not known yet is computed and\n"
        "kept, as by `stats`.\n"
        "\n"
        "--by name has a row for each tensor: its first and last value, a line through all\n"
        "steps on a terminal (✗ where a value is not finite), `first_bad`, the first step\n"
        "with NaN or infinities, and `jump`, the greatest change from one step to the next.\n"
        "--by step has a row for each tensor and step. `change` is (this - before) /\n"
        "before for the first statistic asked for, NAME_change the same for another, and\n"
        "`note` marks the first NaN or infinity. The view `trend` has all that is known,\n"
        "for all runs; its `change` is for l2.\n"
        "\n"
        "  ckptdb track runs/gpt\n"
        "  ckptdb track gpt 'attn.*weight' --stat l2,mean --by step\n"
        "  ckptdb --csv track gpt 'norm' >norms.csv\n"
        "  ckptdb \"SELECT name, min(step) FROM trend WHERE run = 'gpt' AND nans > 0 GROUP BY name\"\n"
        "  ckptdb \"SELECT step, name, change FROM trend WHERE run = 'gpt' AND change > 1\"",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .catalog = CATALOG_KEEP,
    .run = track_run,
};
