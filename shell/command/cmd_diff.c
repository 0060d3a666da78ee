/*
 * cmd_diff.c - compare two checkpoints (table function `diff`, tensor_distance()).
 */
#include <stdlib.h>

#include "shell/command/command.h"
#include "shell/command/diff_adapter.h"
#include "shell/command/diff_picture.h"
#include "shell/command/hashing.h"
#include "shell/command/rename_option.h"
#include "shell/command/set_option.h"

enum { MAP, SET, RENAME, PREFIX, NAMES, BYTES, VALUES, ALL, TREE, QUIET, JOBS };

static const struct option_spec options[] = {
    [MAP] = {"--map", "RULESET", "compare what this rule set makes of A"},
    [SET] = {"--set", PAIR, "a number that the map needs and A does not state"},
    [RENAME] = RENAME_OPTION(", of A's (after --map)"),
    [PREFIX] = PREFIX_OPTION,
    [NAMES] = {"--names", "REGEX", "only tensors whose name, old or new, this matches anywhere"},
    [BYTES] = {"--bytes", NULL, "also compare contents, by hash"},
    [VALUES] = {"--values", NULL, "say how far apart the contents are: max_abs, rel_l2, cosine"},
    [ALL] = {"--all", NULL, "also list what is the same"},
    [TREE] = {"--tree", NULL, "draw modules instead of rows, as on a terminal"},
    [QUIET] = {"--quiet", NULL, "print nothing: the exit status is the answer"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core)"},
    {NULL, NULL, NULL},
};

/* Shapes that differ in the first dimension alone, as where a vocabulary grew: the common rows are compared. */
#define GROWN                                                                                      \
    "(status = 'shape' AND min(shape_a ->> 0, shape_b ->> 0) > 0"                                  \
    " AND json_remove(shape_a, '$[0]') = json_remove(shape_b, '$[0]'))"

/* The rows are kept for counting and printing, because distances require reading. Tensors
 * made by a map have no hash, so with ?5 (--bytes) their values are compared instead. */
#define KEEP "CREATE TEMP TABLE difference AS SELECT"
#define KEPT " status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b,"
static const char compare_sql[] = KEEP KEPT
    " tensor_a, tensor_b, NULL AS distance,"
    " (?4 AND (status IN ('value', 'dtype', 'unread') OR " GROWN "))"
    " OR (?5 AND status = 'unread' AND ?3 IS NOT NULL) AS wanted FROM diff(?1, ?2, ?3, NULL, ?6)"
    " WHERE ?7 IS NULL OR regexp_match(?7, name_a) OR regexp_match(?7, name_b)";

/* Only the rows that differ, for when equal tensors are neither read nor listed. Their
 * number follows from B's number of tensors. */
static const char differing_sql[] = KEEP KEPT " NULL AS distance FROM differing(?1, ?2)";

static const char bytes_sql[] =
    "SELECT sum(iif(status = 'shape', 2 * min(nbytes_a, nbytes_b), nbytes_a + nbytes_b))"
    " FROM temp.difference WHERE wanted";
/* Tensors that were read and are equal count as the same. */
static const char distances_sql[] =
    "UPDATE temp.difference SET distance = tensor_distance(tensor_a, tensor_b, dtype_a, ?1)"
    " WHERE wanted";
static const char statuses_sql[] =
    "UPDATE temp.difference SET status = iif(distance ->> '$.unequal', 'value', 'same')"
    " WHERE distance IS NOT NULL AND (status = 'unread' OR tensor_b GLOB '[[]*')";

/* Pairs without a distance (complex numbers, times, bytes, texts) are compared by their bytes, except for
 * what a map or an adapter makes of a tensor, which is not in its bytes: a recipe (a text), or a
 * cast. */
static const char contents_sql[] =
    "UPDATE temp.difference SET status = CASE tensor_sha256(tensor_a) = tensor_sha256(tensor_b)"
    "   WHEN 1 THEN 'same' WHEN 0 THEN 'value' ELSE status END"
    " WHERE wanted AND status = 'unread' AND distance IS NULL AND dtype_a = dtype_b"
    " AND typeof(tensor_a) = 'integer' AND typeof(tensor_b) = 'integer' AND dtype_a = (SELECT dtype FROM"
    "  tensor t WHERE t.checkpoint_id = tensor_checkpoint(tensor_a) AND t.id = tensor_a)";

#define ROWS "SELECT status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b"
#define FROM_ROWS                                                                                  \
    " FROM temp.difference WHERE ?1 OR status NOT IN ('same', 'unread') ORDER BY rowid"

static const char names_sql[] = ROWS FROM_ROWS;
static const char values_sql[] =
    ROWS ", distance ->> '$.max_abs' AS max_abs, distance ->> '$.rel_l2' AS rel_l2,"
         " distance ->> '$.cosine' AS cosine, distance ->> '$.unequal' AS unequal,"
         " distance ->> '$.rows' AS rows" FROM_ROWS;

/* Whether a map changes nothing is asked only if no pair shows that it does. */
static const char renamed_sql[] = "SELECT EXISTS (SELECT 1 FROM temp.difference"
                                  " WHERE name_a <> name_b AND status <> 'renamed')";

struct counts {
    sqlite3_int64 same, unread, different;
};

/* Run a statement without rows, and finalize it. */
static bool run_to_end(struct session *s, sqlite3_stmt *stmt)
{
    const bool good = stmt && sqlite3_step(stmt) == SQLITE_DONE;
    if (stmt && !good && !session_interrupted)
        complain("%s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    return good;
}

/* The two checkpoints, and how to compare them. */
struct comparing {
    int64_t a, b;
    const char *map, *renames; /* NULL: none */
    const char *names;         /* a regex; NULL: all */
    bool values, bytes;
    bool all;         /* also keep rows of equal tensors */
    bool adapter;     /* b is an adapter of a */
    unsigned threads; /* that read; 0: one per core */
};

struct measuring {
    struct progress *bar;
    unsigned long long done, total; /* bytes */
};

static void show_read(void *context, uint64_t bytes)
{
    struct measuring *m = context;
    progress_set(m->bar, m->done += bytes, m->total);
}

/* Read the pairs that are `wanted` and store the distances of their values. */
static bool diff_measure(struct session *s, const struct comparing *c)
{
    struct measuring m = {.total = (unsigned long long)session_number(s, bytes_sql, "")};
    struct ckptdb_reading reading = {show_read, &m, c->threads};
    sqlite3_stmt *stmt = session_prepare(s, distances_sql, "");
    if (stmt)
        sqlite3_bind_pointer(stmt, 1, &reading, "ckptdb_reading", NULL);
    m.bar = progress_new(s, "comparing", "B");
    const bool good = run_to_end(s, stmt);
    progress_free(m.bar);
    if (!good || !run_to_end(s, session_prepare(s, statuses_sql, "")))
        return false;
    return !c->values || run_to_end(s, session_prepare(s, contents_sql, ""));
}

static bool diff_compare(struct session *s, const struct comparing *c)
{
    sqlite3_stmt *stmt;
    if (!run_to_end(s, session_prepare(s, "DROP TABLE IF EXISTS temp.difference", "")))
        return false;
    if (c->adapter)
        return diff_adapter_fill(s, c->a, c->b, c->names) && diff_measure(s, c);
    stmt = c->all ? session_prepare(s, compare_sql, "iisiiss", c->a, c->b, c->map,
                                    (int64_t)c->values, (int64_t)c->bytes, c->renames, c->names)
                  : session_prepare(s, differing_sql, "ii", c->a, c->b);
    return run_to_end(s, stmt) && (!c->all || diff_measure(s, c));
}

/* From the rows kept: numbers of same, unread and different. */
static const char count_rows_sql[] = "SELECT sum(status = 'same'), sum(status = 'unread'),"
                                     " sum(status NOT IN ('same', 'unread')) FROM temp.difference";

/* If only differing rows are kept, B's other tensors are alike. Of these, none is unread if
 * all tensors of both sides are hashed, and all are if one side has no hashes. Otherwise
 * the number is NULL, and they are counted. */
static const char count_others_sql[] =
    "WITH side(id, tensors, hashed) AS ("
    "  SELECT c.id, l.tensors, (SELECT h.tensors FROM hashed(c.id) h)"
    "  FROM _checkpoints c JOIN _layouts l ON l.id = c.layout)"
    " SELECT alike, CASE WHEN a.hashed = 0 OR b.hashed = 0 THEN alike"
    "                    WHEN a.hashed = a.tensors AND b.hashed = b.tensors THEN 0 END, different"
    " FROM side a JOIN side b JOIN"
    " (SELECT (SELECT tensors FROM side WHERE id = ?2) - count(name_b) AS alike, count(*) AS different"
    "  FROM temp.difference) WHERE a.id = ?1 AND b.id = ?2";

static const char count_unread_sql[] = "SELECT count(*) FROM diff(?1, ?2) WHERE status = 'unread'";

/* Get the numbers of a statement's only row; *unknown is set if one is NULL. Finalizes it. */
static bool take_numbers(struct session *s, sqlite3_stmt *stmt, sqlite3_int64 *out, int count,
                         bool *unknown)
{
    const bool good = session_row(s, stmt);
    if (stmt && !good && !s->unread)
        complain("a checkpoint was forgotten while it was compared");
    for (int i = 0; good && i < count; i++) {
        out[i] = sqlite3_column_int64(stmt, i);
        *unknown |= sqlite3_column_type(stmt, i) == SQLITE_NULL;
    }
    sqlite3_finalize(stmt);
    return good;
}

/* Count the rows of each kind; false after an error message. */
static bool count_rows(struct session *s, const struct comparing *how, struct counts *c)
{
    sqlite3_int64 n[3] = {0};
    bool unknown = false;
    sqlite3_stmt *stmt = how->all ? session_prepare(s, count_rows_sql, "")
                                  : session_prepare(s, count_others_sql, "ii", how->a, how->b);
    bool good = take_numbers(s, stmt, n, 3, &unknown);
    if (good && unknown && !how->all)
        good = take_numbers(s, session_prepare(s, count_unread_sql, "ii", how->a, how->b), &n[1], 1,
                            &unknown);
    *c = (struct counts){n[0] - (how->all ? 0 : n[1]), n[1], n[2]};
    return good;
}

/* An unknown map is an error, not a difference. */
static bool map_known(struct session *s, const char *map)
{
    char *dialect = map ? session_dialect(s, map) : NULL;
    const bool good = !map || (dialect && (ckptdb_dialect(dialect) == CKPTDB_TRANSLATES ||
                                           ckptdb_dialect(dialect) == CKPTDB_CONVERTS));
    if (map && dialect && !good)
        complain("diff takes sets that go from old names to new; '%s' is of dialect %s", map,
                 dialect);
    sqlite3_free(dialect);
    return good;
}

/* Names for which the map fails are "only_a" rows, which do not say why. */
static void say_map_errors(struct session *s, const char *map, int64_t a)
{
    sqlite3_stmt *stmt = session_prepare(
        s,
        "SELECT count(*), min(error) FROM (SELECT error FROM translation WHERE ruleset = " SET_OF(
            "translation") "  AND checkpoint_id = ?2 AND status = 'error' UNION ALL"
                           "  SELECT error FROM conversion WHERE ruleset = " SET_OF(
                               "conversion") "  AND checkpoint_id = ?2 AND status = 'error')",
        "si", map, a);
    if (session_row(s, stmt) && sqlite3_column_int64(stmt, 0))
        complain("the map has errors for %lld names of the first, such as: %s",
                 (long long)sqlite3_column_int64(stmt, 0), sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
}

/* Report what the map's casts lost in the tensors that were read. */
static void say_losses(struct session *s)
{
    sqlite3_stmt *stmt = session_prepare(
        s,
        "SELECT sum(big), sum(small), sum(nan), count(*) FROM"
        " (SELECT distance ->> '$.lost.out_of_range' AS big, distance ->> '$.lost.to_zero' AS small,"
        "         distance ->> '$.lost.to_nan' AS nan FROM temp.difference WHERE distance IS NOT NULL)"
        " WHERE big OR small OR nan",
        "");
    if (session_row(s, stmt) && sqlite3_column_int64(stmt, 3))
        complain("lost by the map's casts: out of range %lld, rounded to zero %lld,"
                 " became NaN %lld, in %lld tensors",
                 (long long)sqlite3_column_int64(stmt, 0), (long long)sqlite3_column_int64(stmt, 1),
                 (long long)sqlite3_column_int64(stmt, 2),
                 (long long)sqlite3_column_int64(stmt, 3));
    sqlite3_finalize(stmt);
}

static int diff_report(struct session *s, const struct args *args, const struct comparing *how,
                       const struct counts *c)
{
    const bool all = args->value[ALL];
    const bool draws = args->value[TREE] || (s->mode == MODE_AUTO && s->out_is_terminal);
    const int status = draws ? diff_picture(s, all, how->adapter)
                             : render_query(s,
                                            how->adapter  ? diff_adapter_rows
                                            : how->values ? values_sql
                                                          : names_sql,
                                            "i", (int64_t)all);
    if (status != STATUS_FINE)
        return status;
    if (how->map)
        say_map_errors(s, how->map, how->a);
    if (how->renames || (how->map && !session_number(s, renamed_sql, "")))
        renames_say_idle(s, how->a, how->map, how->renames);
    if (how->adapter)
        complain("%lld of %lld tensors change", c->different,
                 (long long)session_number(s, "SELECT tensors FROM checkpoint WHERE id = ?1", "i",
                                           how->a));
    else if (how->values && c->unread)
        complain(
            "%lld different, %lld the same, %lld not compared: no distance is known for the map's result,"
            " or their bytes cannot be read",
            c->different, c->same, c->unread);
    else
        complain("%lld different, %lld the same%s", c->different, c->same + c->unread,
                 c->unread ? " as far as names, dtypes and shapes go" : "");
    if (!how->names)
        diff_says_whether_it_loads(s, how->a, how->b);
    if (how->map)
        say_losses(s);
    return STATUS_FINE;
}

/* Whether the options say one way to show the result; else say why not. */
static bool way_of_showing(const struct session *s, const struct args *args)
{
    if (args->value[TREE] && s->mode != MODE_AUTO)
        complain("--tree draws for people: it excludes --json and the like");
    else if (args->value[QUIET] && (args->value[TREE] || args->value[ALL] || s->mode != MODE_AUTO))
        complain("--quiet prints nothing: it excludes --all, --tree, --json and the like");
    else
        return true;
    return false;
}

static int hash_both(struct session *s, const struct comparing *how)
{
    const struct ckptdb_content_options o = {.size = sizeof(o),
                                             .checkpoints = (int64_t[]){how->a, how->b},
                                             .count = 2,
                                             .threads = how->threads};
    const int status = content_run(s, ckptdb_hash, &o, HASHES_KEPT);
    return status == STATUS_FINE || status == STATUS_INTERRUPTED ? status : STATUS_TROUBLE;
}

/* Settle what is compared with what, and how. False after saying why that is impossible. */
static bool settle(struct session *s, const struct args *args, struct comparing *how)
{
    if (!way_of_showing(s, args) || !hash_jobs(args->value[JOBS], &how->threads) ||
        !map_known(s, how->map) || !session_regex(s, how->names))
        return false;
    how->a = session_checkpoint(s, args->operand[0]);
    how->b = how->a ? session_checkpoint(s, args->operand[1]) : 0;
    if (!how->b)
        return false;
    if (args->value[SET] && !how->map)
        return complain("--set: only with --map"), false;
    /* Also checks that a map takes no number from a config.json that has changed since it was indexed. */
    if (how->map && settings_give(s, args, how->map, how->a) != STATUS_FINE)
        return false;
    return !how->renames || renames_apart(s, how->a, how->map, how->renames);
}

static int diff_run_as(struct session *s, const struct args *args, const char *renames)
{
    struct comparing how = {.map = args->value[MAP],
                            .renames = renames,
                            .names = args->value[NAMES],
                            .values = args->value[VALUES],
                            .bytes = args->value[BYTES]};
    struct counts c = {0};
    int status = STATUS_FINE;
    if (!settle(s, args, &how))
        return STATUS_TROUBLE;
    how.adapter = !how.map && !how.renames && !how.bytes && diff_has_adapter(s, how.a, how.b);
    how.all = how.map || how.renames || how.names || how.values || how.adapter || args->value[ALL];
    if (how.bytes && (status = hash_both(s, &how)) != STATUS_FINE)
        return status;
    if (!diff_compare(s, &how) || !count_rows(s, &how, &c))
        return session_interrupted ? STATUS_INTERRUPTED : STATUS_TROUBLE;
    if (how.names && c.same + c.unread + c.different == 0) {
        complain("--names %s matches no tensor of either", how.names);
        return STATUS_TROUBLE;
    }
    if (!args->value[QUIET])
        status = diff_report(s, args, &how, &c);
    if (status != STATUS_FINE)
        return status == STATUS_INTERRUPTED ? status : STATUS_TROUBLE;
    return c.different || (how.values && !how.adapter && c.unread) ? STATUS_NO : STATUS_FINE;
}

static int diff_run(struct session *s, const struct args *args)
{
    struct text renames = {0};
    const int status = renames_take(s, args, &renames)
                           ? diff_run_as(s, args, renames.len ? text_str(&renames) : NULL)
                           : STATUS_TROUBLE;
    text_release(&renames);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .args =
        "A B [--map RULESET [--set KEY=VALUE]...] [--rename REGEX=NEW]... [--names REGEX] [--bytes|--values] [--all] [--tree] [--quiet] [--jobs N]",
    .summary = "compare two checkpoints",
    .help =
        "Compares names, dtypes and shapes; with --bytes also the contents, by hash\n"
        "(hashes are kept, so the next time nothing is read); with --values, how far apart\n"
        "the contents are:\n"
        "the largest absolute difference, the norm of b - a divided by a's norm, the\n"
        "cosine. Where shapes differ in the first dimension alone, as where a vocabulary grew,\n"
        "only the rows that both have are compared: the column `rows` says how many.\n"
        "Equal tensors are only counted. On a terminal, or with --tree, modules\n"
        "with the same differences share a line (layers.{0..31}), and what differs most\n"
        "comes first: names, dtypes and shapes, then values. What a map casts is compared\n"
        "after the cast, and the loss is reported. If one side is a skeleton (names\n"
        "only), the last line says whether the other loads into it, and if not, why. A\n"
        "and B may be steps of a run. The exit status is 0 (the same), 1 (different, or with\n"
        "--values not all compared) or 2 (trouble).\n"
        "\n"
        "If B is an adapter (LoRA) and A is not, the rows are the tensors of A that it\n"
        "changes: delta_l2 is the norm of the change, rel is delta_l2 / the tensor's norm\n"
        "(view `adapter`; `export A OUT --merge B` writes the sum).\n"
        "\n"
        "  ckptdb diff runs/gpt@1000 runs/gpt@2000 --values\n"
        "  ckptdb diff base tuned --values --names 'embed_tokens|lm_head'\n"
        "  ckptdb diff model.safetensors model.gguf --map llama_hf_to_gguf\n"
        "  ckptdb diff org/base lora/adapter_model.safetensors\n"
        "  ckptdb diff ddp.pt model.pt --prefix module.=\n"
        "  ckptdb \"SELECT * FROM diff(1, 2) WHERE status = 'only_b'\"",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_KEEP,
    .traits = PAGES,
    .run = diff_run,
};
