/*
 * cmd_dedup.c - find what is stored more than once (view `duplicate`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/model/module_tree.h"
#include "shell/command/command.h"
#include "shell/command/hashing.h"

enum { BY, AGAIN, JOBS };

static const struct option_spec options[] = {
    [BY] = {"--by", "WHAT", "sums instead of groups: by checkpoint, run or pair"},
    [AGAIN] = {"--again", NULL, "also hash what is known"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core; 32 for other machines)"},
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
    /* From the side of the checkpoint asked for; between two of these, from the one catalogued first. */
    {"pair",
     "SELECT s.content_nbytes AS nbytes, s.tensors, s.other_tensors, s.checkpoint, s.other"
     " FROM json_each(?1) j CROSS JOIN shared s ON s.checkpoint_id = j.value"
     " WHERE s.other_id > s.checkpoint_id OR s.other_id NOT IN (SELECT value FROM json_each(?1))"
     " ORDER BY 1 DESC, s.checkpoint, s.other"},
};

/* Groups with their tensors as a list, for programs. */
static const char groups_json_sql[] =
    "SELECT d.wasted, d.copies, d.nbytes, d.dtype, d.shape, d.hash,"
    " (SELECT json_group_array(json_object('checkpoint', c.name, 'name', tensor_name(j.value),"
    "    'tensor_id', j.value))"
    "   FROM json_each(d.tensor_ids) j JOIN checkpoint c ON c.id = tensor_checkpoint(j.value))"
    " AS tensors FROM duplicate d WHERE ?2 OR EXISTS (SELECT 1 FROM json_each(d.tensor_ids) t"
    "   WHERE tensor_checkpoint(t.value) IN (SELECT value FROM json_each(?1)))"
    " ORDER BY d.wasted DESC, d.hash";

/* --- groups for people, layers folded ------------------------------------------------------------ */

/* Of each group the checkpoints, whether '/' separates their names, the first tensor's name, dtype and
 * shape, and what else tells layers apart: bytes, copies, and where it is under which name. */
static const char members_sql[] =
    "WITH grouped AS (SELECT d.*, tensor_ids ->> 0 AS first, tensor_name(tensor_ids ->> 0) AS name,"
    "   (SELECT group_concat(tensor_checkpoint(value)) FROM json_each(tensor_ids)) AS owners"
    "  FROM duplicate d WHERE ?2 OR EXISTS (SELECT 1 FROM json_each(d.tensor_ids) t"
    "   WHERE tensor_checkpoint(t.value) IN (SELECT value FROM json_each(?1))))"
    " SELECT owners, sum(instr(name, '/') > 0) OVER (PARTITION BY owners)"
    "  > sum(instr(name, '.') > 0) OVER (PARTITION BY owners), name, dtype, json_array(shape, nbytes, copies,"
    "  (SELECT group_concat(iif(n > 8, '…', x), ', ') FROM (SELECT x, row_number() OVER () AS n FROM ("
    "    SELECT DISTINCT c.name || iif(tensor_name(j.value) = g.name, '',"
    "     ' as ' || regexp_replace('\\d+', tensor_name(j.value), '*')) AS x"
    "    FROM json_each(tensor_ids) j JOIN checkpoint c ON c.id = tensor_checkpoint(j.value)) LIMIT 9)))"
    " FROM grouped g ORDER BY owners, first";

static const char folded_sql[] =
    "SELECT tensors * (copies - 1) * nbytes AS wasted, tensors, copies, name, checkpoints, nbytes, dtype, shape"
    " FROM (SELECT value ->> 0 AS name, value ->> 1 AS dtype, value ->> 2 AS tensors, value ->> '$[3][0]' AS shape,"
    "   value ->> '$[3][1]' AS nbytes, value ->> '$[3][2]' AS copies, value ->> '$[3][3]' AS checkpoints, key"
    "  FROM json_each(?1)) ORDER BY wasted DESC, key";

/* The groups that are in the same checkpoints, and what all trees' leaves became. */
struct folding {
    struct module_tree tree;
    struct text owners, rows;
    bool begun, good;
};

static void add_leaf(void *context, const struct module_visit *v)
{
    struct folding *f = context;
    const struct module *m = &f->tree.nodes[v->node];
    if (!m->kind)
        return;
    text_adds(&f->rows, f->rows.len > 1 ? ",[" : "[");
    text_json(&f->rows, v->path, strlen(v->path));
    text_addf(&f->rows, ",\"%s\",%llu,%s]", module_tree_dtype(&f->tree, m),
              (unsigned long long)m->times, module_tree_shape(&f->tree, m));
}

static void fold_end(struct folding *f)
{
    if (f->begun) {
        f->good =
            f->good && module_tree_finish(&f->tree) && module_tree_visit(&f->tree, add_leaf, f);
        module_tree_release(&f->tree);
    }
    f->begun = false;
}

static void fold_row(struct folding *f, sqlite3_stmt *row)
{
    const char *owners = session_text(row, 0);
    if (!f->begun || strcmp(owners, f->owners.at) != 0) {
        fold_end(f);
        text_reset(&f->owners);
        f->good = f->good && text_adds(&f->owners, owners) &&
                  module_tree_init(&f->tree, sqlite3_column_int(row, 1) ? '/' : '.', 0);
        f->begun = f->good;
    }
    f->good = f->good && module_tree_add(&f->tree, session_text(row, 2), session_text(row, 3),
                                         session_text(row, 4), 0, 0);
}

static int print_folded(struct session *s, const struct ckptdb_content_options *o, const char *all)
{
    struct folding f = {.good = true};
    struct text list = {0};
    int status = STATUS_TROUBLE;
    text_addc(&f.rows, '[');
    sqlite3_stmt *rows =
        content_ids(o, &list) ? session_prepare(s, members_sql, "ss", text_str(&list), all) : NULL;
    while (f.good && session_row(s, rows))
        fold_row(&f, rows);
    fold_end(&f);
    text_addc(&f.rows, ']');
    if (!f.good || !text_str(&f.rows))
        complain("no memory for the layers");
    else if (rows && !s->unread)
        status = render_json(s, folded_sql, text_str(&f.rows));
    sqlite3_finalize(rows);
    text_release(&list);
    text_release(&f.owners);
    text_release(&f.rows);
    return status;
}

/* --- the command ------------------------------------------------------------------------------- */

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

/* The statement of --by; NULL after a message. */
static const char *answer_by(const char *by, bool json)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (strcmp(by, answers[i].name) == 0)
            return json && i == 0 ? groups_json_sql : answers[i].sql;
    complain("--by is checkpoint, run or pair, not \"%s\"", by);
    return NULL;
}

static int dedup_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {
        .size = sizeof(o), .twins = true, .again = args->value[AGAIN] != NULL};
    const bool json = s->mode == MODE_JSON || s->mode == MODE_JSONL;
    const char *by = args->value[BY] ? args->value[BY] : answers[0].name;
    const char *answer = answer_by(by, json);
    if (!answer || !hash_jobs(args->value[JOBS], &o.threads))
        return STATUS_TROUBLE;
    int64_t *ids = session_checkpoints(s, args->operand, args->count, &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    int status = content_run(s, ckptdb_hash, &o, HASHES_KEPT);
    if (status != STATUS_TROUBLE && !args->count && strcmp(by, "pair") == 0 && !may_pair(s))
        status = session_interrupted ? STATUS_INTERRUPTED : STATUS_TROUBLE;
    else if (answer == answers[0].sql && status != STATUS_TROUBLE && content_for_people(s))
        status = status ? status : print_folded(s, &o, args->count ? NULL : "1");
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
            "equal are read: they have the same size, and, if all of this size have a stored\n"
            "checksum (torch, TensorFlow), the same checksum. Tensors that are hashed already\n"
            "are not read again. Without CHECKPOINT, all checkpoints. For people, groups that\n"
            "differ in the layer alone are one row: layers.{0..31}.norm.weight, of 32 tensors.\n"
            "\n"
            "--by checkpoint and --by run say whose copies they are; the place that was\n"
            "imported first is the original. --by pair says how much each two checkpoints\n"
            "share, such as fine-tunes of the same base: a pair has one line, with the bytes\n"
            "that both have (repeated tensors count once), and how many tensors of each\n"
            "hold them. Name a CHECKPOINT if the catalog has more than\n"
            "100 million pairs of equal tensors.\n"
            "\n"
            "  ckptdb dedup\n"
            "  ckptdb dedup --by run\n"
            "  ckptdb dedup tuned.safetensors --by pair\n"
            "  ckptdb \"SELECT sum(wasted) FROM duplicate\"",
    .options = options,
    .max_args = -1,
    .catalog = CATALOG_KEEP,
    .traits = PAGES,
    .run = dedup_run,
};
