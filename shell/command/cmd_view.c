/*
 * cmd_view.c - a page for a browser: the catalog, one checkpoint, or what differs between two.
 */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "shell/command/checkpoint_tree.h"
#include "shell/command/command.h"
#include "shell/view/page.h"

#define NAME_BYTES 100 /* of a checkpoint's name in the page's */

enum { OUT, OPEN, VALUES };

static const struct option_spec options[] = {
    [OUT] = {"-o", "OUT", "the page; - is standard output"},
    [OPEN] = {"--open", NULL, "then open it in the browser (xdg-open)"},
    [VALUES] = {"--values", NULL, "with two: read both, and say how far apart they are"},
    {NULL, NULL, NULL},
};

/* A table of the page (shell/view/page.h says what `kinds` are). ?1 and ?2 are the checkpoints, 0 where there is none. */
struct table {
    const char *name, *kinds, *sql;
};

#define CHECKPOINTS                                                                                                 \
    {                                                                                                               \
        "checkpoint", "dnnwnwdwwdddddwww",                                                                          \
            "SELECT id, name, path, format, run, run_path, step, item, state, layout, tensors, parameters, nbytes," \
            " stored, mtime, imported, hash FROM checkpoint WHERE ?1 = 0 OR id IN (?1, ?2)"                         \
            " ORDER BY id <> ?1, id"                                                                                \
    }
#define ISSUES                                                                                     \
    {                                                                                              \
        "issue", "wwnnnd",                                                                         \
            "SELECT severity, code, checkpoint, path, message, offset FROM issue"                  \
            " WHERE ?1 = 0 OR checkpoint_id IN (?1, ?2)"                                           \
    }

static const struct table of_catalog[] = {
    CHECKPOINTS,
    {"dtype", "wdddd",
     "SELECT dtype, count(*) AS checkpoints, sum(tensors) AS tensors, sum(parameters) AS parameters,"
     " sum(nbytes) AS nbytes FROM by_dtype GROUP BY dtype ORDER BY sum(nbytes) DESC, dtype"},
    {"disk", "nndd", "SELECT run, folder, files, bytes FROM disk"},
    ISSUES,
    {0},
};

static const struct table of_one[] = {
    CHECKPOINTS,
    {"dtype", "wddd",
     "SELECT dtype, tensors, parameters, nbytes FROM by_dtype WHERE checkpoint_id = ?1"
     " ORDER BY nbytes DESC, dtype"},
    {"tensor", "ntwwddwwd",
     "SELECT name, name AS node, dtype, shape, elements, nbytes, storage, file, offset FROM tensor"
     " WHERE checkpoint_id = ?1"},
    {"file", "nwd", "SELECT path, role, size FROM file WHERE checkpoint_id = ?1 ORDER BY id"},
    {"metadata", "nn",
     "SELECT key, substr(value, 1, 4096) AS value FROM metadata WHERE checkpoint_id = ?1"},
    ISSUES,
    {0},
};

/* The histogram's inner edges are `edge` and so on, `bin` apart. The first bin begins at `min`, the last
 * ends at `max`. */
static const struct table statistics = {
    "stats", "dddrrrddddrrn",
    "SELECT tensor_id & 16777215 AS ord, min, max, mean, std, l2, zeros, nans, infs, subnormals,"
    " histogram ->> '$.edges[1]' AS edge,"
    " (histogram ->> '$.edges[2]') - (histogram ->> '$.edges[1]') AS bin,"
    " histogram ->> '$.counts' AS counts FROM stats WHERE checkpoint_id = ?1 ORDER BY tensor_id"};

/* Tensors that were read (`far`) are equal or differ. */
static const char difference_sql[] =
    "CREATE TEMP TABLE difference AS SELECT iif(far IS NULL, status, iif(far ->> '$.unequal', 'value', 'same'))"
    "  AS status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b, tensor_a, tensor_b, far"
    " FROM (SELECT *, iif(?3 AND status IN ('value', 'dtype', 'unread'),"
    "                     tensor_distance(tensor_a, tensor_b, dtype_a, ?4), NULL) AS far FROM diff(?1, ?2))";

/* Like modules are those that differ alike: status and details stand for a dtype and a shape. */
static const char difference_tree_sql[] =
    "SELECT coalesce(name_a, name_b), status,"
    " CASE status WHEN 'shape' THEN coalesce(shape_a, '?') || ' → ' || coalesce(shape_b, '?')"
    "  WHEN 'dtype' THEN dtype_a || ' → ' || dtype_b"
    "  WHEN 'renamed' THEN '→ ' || regexp_replace('\\d+', name_b, '#')"
    "  ELSE coalesce(shape_a, shape_b, '') END, coalesce(nbytes_a, nbytes_b, 0)"
    " FROM temp.difference ORDER BY rowid";

static const struct table of_two[] = {
    CHECKPOINTS,
    {"difference", "ntwnwwwwdddddddd",
     "SELECT coalesce(name_a, name_b) AS name, coalesce(name_a, name_b) AS node, status,"
     " iif(name_a <> name_b, name_b, NULL) AS renamed, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b,"
     " far ->> '$.max_abs' AS max_abs, far ->> '$.rel_l2' AS rel_l2, far ->> '$.cosine' AS cosine,"
     " far ->> '$.unequal' AS unequal,"
     " (SELECT l2 FROM stats WHERE tensor_id = tensor_a) AS l2_a,"
     " (SELECT l2 FROM stats WHERE tensor_id = tensor_b) AS l2_b"
     " FROM temp.difference ORDER BY rowid"},
    {"fact", "nnn",
     "SELECT key, substr(max(value) FILTER (WHERE checkpoint_id = ?1), 1, 4096) AS a,"
     " substr(max(value) FILTER (WHERE checkpoint_id = ?2), 1, 4096) AS b FROM metadata"
     " WHERE checkpoint_id IN (?1, ?2) GROUP BY key HAVING max(value) FILTER (WHERE checkpoint_id = ?1)"
     " IS NOT max(value) FILTER (WHERE checkpoint_id = ?2) ORDER BY key"},
    ISSUES,
    {0},
};

/* --- the page's parts --------------------------------------------------------------------------- */

/* When it was made, from what, and whether statistics come later. */
static void put_about(struct session *s, struct page *p, const char *kind, int64_t checkpoint)
{
    sqlite3_stmt *now = session_prepare(s, "SELECT strftime('%Y-%m-%d %H:%M:%S', 'now')", "");
    page_facts(p, "about");
    page_fact(p, "kind", kind);
    page_fact(p, "made", session_row(s, now) ? session_text(now, 0) : "");
    page_fact(p, "version", ckptdb_version());
    page_fact(p, "catalog", s->in_memory ? "" : s->catalog);
    page_fact(p, "statistics",
              session_number(s, "SELECT EXISTS (SELECT 1 FROM stats WHERE checkpoint_id = ?1)", "i",
                             checkpoint)
                  ? "known"
                  : "");
    sqlite3_finalize(now);
}

static bool difference_tree(struct session *s, struct module_tree *tree)
{
    const bool slash =
        session_number(s,
                       "SELECT sum(instr(coalesce(name_a, name_b), '/') > 0) >"
                       " sum(instr(coalesce(name_a, name_b), '.') > 0) FROM temp.difference",
                       "");
    sqlite3_stmt *rows = session_prepare(s, difference_tree_sql, "");
    bool good = module_tree_init(tree, slash ? '/' : '.', 0);
    while (good && session_row(s, rows))
        good = module_tree_add(tree, session_text(rows, 0), session_text(rows, 1),
                               session_text(rows, 2), 0, (uint64_t)sqlite3_column_int64(rows, 3));
    sqlite3_finalize(rows);
    good = good && module_tree_finish(tree);
    if (!good)
        complain("no memory for the tree");
    return good && !s->unread;
}

/* How much was read for distances. */
struct reading {
    struct progress *bar;
    unsigned long long bytes;
};

static void show_read(void *context, uint64_t bytes)
{
    struct reading *r = context;
    progress_set(r->bar, r->bytes += bytes, 0);
}

/* Keep what differs as rows: the tree and the table are made of these. */
static bool keep_difference(struct session *s, int64_t a, int64_t b, bool values)
{
    struct reading r = {.bar = values ? progress_new(s, "comparing", "B") : NULL};
    struct ckptdb_reading reading = {.read = show_read, .context = &r};
    sqlite3_stmt *drop = session_prepare(s, "DROP TABLE IF EXISTS temp.difference", "");
    session_row(s, drop);
    sqlite3_finalize(drop);
    sqlite3_stmt *keep = session_prepare(s, difference_sql, "iii", a, b, (int64_t)values);
    if (keep)
        sqlite3_bind_pointer(keep, 4, &reading, "ckptdb_reading", NULL);
    session_row(s, keep);
    sqlite3_finalize(keep);
    progress_free(r.bar);
    return !s->unread;
}

static void put_page(struct session *s, struct sink *sink, const int64_t *ids,
                     struct module_tree *tree)
{
    struct page *p = page_begin(sink);
    if (!p)
        return;
    put_about(s, p, ids[1] ? "two" : ids[0] ? "one" : "catalog", ids[0]);
    if (ids[0])
        page_tree(p, tree);
    for (const struct table *t = ids[1] ? of_two : ids[0] ? of_one : of_catalog; t->name; t++)
        page_rows(p, t->name, t->kinds, session_prepare(s, t->sql, "ii", ids[0], ids[1]));
    page_later(p);
    if (ids[0] && !ids[1])
        page_rows(p, statistics.name, statistics.kinds,
                  session_prepare(s, statistics.sql, "i", ids[0]));
    page_end(p);
}

/* --- where it goes ---------------------------------------------------------------------------- */

/* Append the characters of a checkpoint's or the catalog's name that a file name may have. */
static void add_file_name(struct text *path, const char *name)
{
    for (size_t i = 0; name[i] && i < NAME_BYTES; i++)
        if (strchr("/\\:*?\"<>| ", name[i]) || (unsigned char)name[i] < ' ')
            text_addc(path, '_');
        else
            text_addc(path, name[i]);
}

/* "ckptdb-NAME.html", of two "ckptdb-A-B.html". */
static void usual_path(struct session *s, const int64_t *ids, struct text *path)
{
    const char *slash = strrchr(s->catalog, '/');
    text_adds(path, "ckptdb-");
    if (!ids[0])
        add_file_name(path, slash ? slash + 1 : s->catalog);
    if (!ids[0] && text_ends_in(path->at, path->len, ".db"))
        path->len -= strlen(".db");
    for (int i = 0; i < 2 && ids[i]; i++) {
        sqlite3_stmt *name =
            session_prepare(s, "SELECT name FROM checkpoint WHERE id = ?1", "i", ids[i]);
        text_adds(path, i ? "-" : "");
        add_file_name(path, session_row(s, name) ? session_text(name, 0) : "");
        sqlite3_finalize(name);
    }
    text_adds(path, ".html");
}

static int open_page(struct session *s, const char *path)
{
    extern char **environ;
    char *const words[] = {(char[]){"xdg-open"}, (char *)path, NULL};
    char why[ERRNO_TEXT];
    pid_t child;
    int status = 0;
    fflush(s->out);
    const int failed = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    if (failed)
        complain("xdg-open: %s: open %s in a browser", errno_text(failed, why), path);
    else
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    if (!failed && status)
        complain("xdg-open could not open %s", path);
    return failed || status ? STATUS_NO : STATUS_FINE;
}

/* Write the page to a path (NULL: the session's output), and open it there. */
static int write_page(struct session *s, const char *path, const int64_t *ids,
                      const struct args *args)
{
    struct sink sink = {.session = s};
    struct module_tree tree = {0};
    int status = STATUS_FINE;
    sink_open(&sink, path);
    if (sink.err.status != CKPTDB_OK)
        status = complain_status(&sink.err);
    else if (ids[1] && !(keep_difference(s, ids[0], ids[1], args->value[VALUES]) &&
                         difference_tree(s, &tree)))
        status = session_interrupted ? STATUS_INTERRUPTED : STATUS_TROUBLE;
    else if (ids[0] && !ids[1])
        status = checkpoint_tree(s, ids[0], &tree);
    if (status == STATUS_FINE) {
        put_page(s, &sink, ids, &tree);
        if (!s->unread)
            sink_finish(&sink);
        status = s->unread                      ? STATUS_TROUBLE
                 : sink.err.status != CKPTDB_OK ? complain_status(&sink.err)
                                                : STATUS_FINE;
    }
    sink_close(&sink);
    module_tree_release(&tree);
    if (status != STATUS_FINE || !path)
        return status;
    if (!args->value[OUT])
        fprintf(s->out, "%s\n", path);
    return args->value[OPEN] ? open_page(s, path) : STATUS_FINE;
}

static int view_run(struct session *s, const struct args *args)
{
    const char *out = args->value[OUT];
    const bool to_output = out ? strcmp(out, "-") == 0 : !s->out_is_terminal && !args->value[OPEN];
    int64_t ids[2] = {0};
    struct text usual = {0};
    if (args->value[OPEN] && to_output) {
        complain("--open: a browser cannot open standard output: use -o FILE");
        return STATUS_TROUBLE;
    }
    if (args->value[VALUES] && args->count < 2) {
        complain("--values: only with two checkpoints");
        return STATUS_TROUBLE;
    }
    for (int i = 0; i < args->count; i++)
        if (!(ids[i] = session_checkpoint(s, args->operand[i])))
            return STATUS_NO;
    if (!out && !to_output)
        usual_path(s, ids, &usual);
    const int status = write_page(s, to_output ? NULL : out ? out : text_str(&usual), ids, args);
    text_release(&usual);
    return status;
}

const struct command command_view = {
    .name = "view",
    .args = "[CHECKPOINT [B]] [-o OUT] [--open] [--values]",
    .summary = "write a page for a browser: the catalog, a checkpoint, or how two differ",
    .help =
        "The page is one HTML file that needs no network and no other file. Without\n"
        "CHECKPOINT it shows the catalog: what takes the space, all checkpoints, dtypes, steps\n"
        "over time, issues. With one, its modules and tensors, with statistics and histograms\n"
        "where they are known (`stats`). With two, what differs, by module, and with --values\n"
        "how far. Names are searched by JavaScript's regular expressions.\n"
        "\n"
        "Without -o the page goes to standard output, or, where that is a terminal or with\n"
        "--open, to ckptdb-NAME.html in this folder, whose name is printed. No file is\n"
        "written over.\n"
        "\n" CHECKPOINT_HELP "\n"
        "  ckptdb view --open\n"
        "  ckptdb view llama/model.safetensors -o llama.html\n"
        "  ckptdb view gpt@1000 gpt@latest --values -o changes.html\n"
        "  ckptdb view ./model.gguf > model.html",
    .options = options,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .traits = NO_ROWS,
    .run = view_run,
};
