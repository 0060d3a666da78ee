#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/render/query.h"

/* The most informative columns first: a narrow screen leaves out the last
 * ones. The run is also in the name. */
static const char usual[] = "id, name, format, step, state, tensors, nbytes, mtime AS date, "
                            "parameters, files, run, path";

/* What the glob ?1 matches; names that only look like globs; everything at or below the path ?2; and the
 * checkpoints ?3. */
#define LISTED                                                                                     \
    " FROM checkpoint WHERE ?1 IS NULL OR " CHECKPOINT_GLOB                                        \
    " OR name = ?1 OR instr(path || '/', '/' || ?1 || '/') > 0"                                    \
    " OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/'"                                 \
    " OR id IN (SELECT value FROM json_each(?3))"

#define ITEMS_MAX 256 /* of a step that are listed by its name */

extern const struct command command_ls;

static const char is_column[] =
    "SELECT 1 FROM pragma_table_info('checkpoint') WHERE name = ?1 COLLATE NOCASE";

/* Append "column, column", or for an order "column DESC, ..."; false after an error message. */
static bool add_columns(struct session *s, struct text *sql, const char *list, bool order)
{
    bool first = true;
    for (const char *at = list;; at++) {
        char word[64] = "";
        at += strspn(at, " ");
        size_t len = strcspn(at, ",");
        size_t name = strcspn(at, ", "), gap = strspn(at + name, " ");
        const char *way = at + name + gap;
        size_t way_len = len - name - gap;
        while (way_len > 0 && way[way_len - 1] == ' ')
            way_len--;
        bool down = order && way_len == 4 && sqlite3_strnicmp(way, "desc", 4) == 0;
        bool up = order && way_len == 3 && sqlite3_strnicmp(way, "asc", 3) == 0;
        if (name < sizeof(word))
            memcpy(word, at, name);
        if (!(way_len == 0 || down || up) || !session_number(s, is_column, "s", word)) {
            if (!s->unread)
                complain("ls: checkpoints have no column \"%.*s\"; `.schema checkpoint` lists them",
                         (int)(len < 60 ? len : 60), at);
            return false;
        }
        text_addf(sql, "%s%s%s", first ? "" : ", ", word, down ? " DESC" : "");
        first = false;
        at += len;
        if (!*at)
            return true;
    }
}

/* What a word means in other commands, such as RUN@latest, as a JSON list of ids; false after saying that
 * it means nothing. A step with several checkpoints lists them all. */
static bool ls_named(struct session *s, const char *word, struct text *ids)
{
    int64_t found[ITEMS_MAX];
    size_t count = 0;
    if (strpbrk(word, "*?[") && access(word, F_OK) != 0) {
        complain("no checkpoint matches %s", word);
        return false;
    }
    const enum ckptdb_status status = ckptdb_find(s->open, word, found, ITEMS_MAX, &count, NULL);
    if (status != CKPTDB_OK && status != CKPTDB_ARGUMENT) {
        session_checkpoint(s, word); /* says so, with what is near */
        s->failed = false;           /* a mere no */
        return false;
    }
    count = status == CKPTDB_OK ? 1 : count < ITEMS_MAX ? count : ITEMS_MAX;
    for (size_t i = 0; i < count; i++)
        text_addf(ids, "%c%lld", i ? ',' : '[', (long long)found[i]);
    return text_addc(ids, ']');
}

/* A checkpoint without its layout or its name is in no view, as if there were none. False
 * after saying so. */
static bool ls_whole(struct session *s)
{
    const int64_t lost =
        session_number(s,
                       "SELECT count(*) FROM main._checkpoints c"
                       " WHERE NOT EXISTS (SELECT 1 FROM main._layouts l WHERE l.id = c.layout)"
                       " OR NOT EXISTS (SELECT 1 FROM main._labels n WHERE n.id = c.id)",
                       "");
    if (lost)
        complain(
            "the catalog is damaged: rows of %lld checkpoint%s, which are not listed, were deleted by another "
            "program; import the same paths into a new one (ckptdb -d NEW import PATH...)",
            (long long)lost, lost == 1 ? "" : "s");
    return !lost;
}

static int ls_run(struct session *s, const struct args *args)
{
    const char *columns = args_option(&command_ls, args, "--columns");
    const char *sort = args_option(&command_ls, args, "--sort");
    struct text sql = {0};
    text_adds(&sql, "SELECT ");
    bool ok = !columns || add_columns(s, &sql, columns, false);
    if (!columns)
        text_adds(&sql, usual);
    text_adds(&sql, LISTED " ORDER BY ");
    ok = ok && (!sort || add_columns(s, &sql, sort, true));
    text_adds(&sql, sort ? ", " : "");
    text_adds(&sql, "coalesce(run_path, path), checkpoint.step, path");
    int status = STATUS_TROUBLE;
    const char *glob = args->count ? args->operand[0] : NULL;
    char *here = glob ? realpath(glob, NULL) : NULL;
    struct text ids = {0};
    const bool any = !ok || !glob ||
                     session_number(s, "SELECT 1" LISTED " LIMIT 1", "ss", glob, here) ||
                     s->unread || ls_named(s, glob, &ids);
    if (ok && text_str(&sql) && !s->unread && !session_wants_import(s))
        status =
            render_query(s, text_str(&sql), "sss", glob, here, ids.len ? text_str(&ids) : NULL);
    text_release(&ids);
    if (status == STATUS_FINE && !any)
        status = STATUS_NO;
    if (status != STATUS_TROUBLE && !ls_whole(s))
        status = STATUS_TROUBLE;
    free(here);
    text_release(&sql);
    return status;
}

static const struct option_spec options[] = {
    {"--sort", "COLUMN", "order by columns of the view `checkpoint`: nbytes, 'step desc'"},
    {"--columns", "LIST", "show these columns: id,name,nbytes"},
    {NULL, NULL, NULL},
};

const struct command command_ls = {
    .name = "ls",
    .args = "[GLOB] [--sort COLUMN] [--columns LIST]",
    .summary = "list checkpoints",
    .help =
        "GLOB matches one or more whole components anywhere in a path, or a name: * is\n"
        "any text, also with '/', ? one character, [a-c] one of these. A path ('.'\n"
        "too) lists what is in it; RUN@latest lists one. A narrow terminal shows fewer columns.\n"
        "\n"
        "  ckptdb ls 't5_*'\n"
        "  ckptdb ls 'gpt-small@*' --sort 'step desc'\n"
        "  ckptdb --json ls '*.safetensors'",
    .options = options,
    .max_args = 1,
    .catalog = CATALOG_READ,
    .traits = PAGES,
    .run = ls_run,
};
