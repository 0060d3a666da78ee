/*
 * find.c - finds the checkpoint that a user means.
 *
 * A name is tried in several ways, the most exact first, and the first way that finds anything
 * decides: one checkpoint is the answer; several make the name ambiguous.
 *
 *   12                id                     runs/gpt@100        RUN@STEP
 *   gpt@100           name                   gpt@latest:default  RUN@latest, one of its items
 *   /runs/gpt/100     path                   runs                the only one in a folder
 *   ./gpt/100         relative path          org/repo            in a Hugging Face cache
 *   gpt/100           last components        gpt@100:model.pt    RUN@STEP, one of its files
 *   repo              end of a name          runs/gpt            a run: its latest step
 *   sft/checkpoint-3  a step's folder: its model       ./model.index   one of its files: a shard, an index
 *
 * Any other name may still be a path that leads to a checkpoint by a symbolic link.
 */
#include "catalog/db/find.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/nearest.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

#define ROWS                                                                                       \
    "SELECT c.id, n.name, c.run, c.step, " IS_MAIN(                                                \
        "c") " FROM main._checkpoints c"                                                           \
             " JOIN main._labels n ON n.id = c.id WHERE "
#define IN_ORDER " ORDER BY coalesce(c.run, c.path), c.step, c.path"

/* A column's path is meant if the name is the whole path, or its last components. */
#define NAMED_BY(column) "(" column " = ?1 OR substr(" column ", -length(?1) - 1) = '/' || ?1)"

/* One of several checkpoints of a step: its items have names; others are meant by their file names.
 * Without a name it is the item "model", or a row that is no item, if the step has one. */
#define IS_MAIN(t) "coalesce(" t ".item, 'model') = 'model'"
#define HAS_ITEM(t)                                                                                \
    "CASE WHEN ?2 IS NOT NULL"                                                                     \
    " THEN " t ".item = ?2 OR substr(" t ".path, -length(?2) - 1) = '/' || ?2"                     \
    " ELSE " IS_MAIN(t) " OR NOT EXISTS (SELECT 1 FROM main._checkpoints m"                        \
                        " WHERE m.run = " t ".run AND m.step = " t                                 \
                        ".step AND " IS_MAIN("m") ") END"

static const char by_id[] = ROWS "c.id = ?1";
static const char by_name[] = ROWS "n.name = ?1";
static const char by_path[] = ROWS "c.path = ?1";
/* Such as the index of a TensorFlow checkpoint, whose path is a prefix. */
static const char by_file[] = ROWS "c.id IN (SELECT id" ID_OWNER " FROM main._files WHERE path = ?1"
                                   " AND role IN ('data', 'index'))" IN_ORDER;
static const char by_suffix[] = ROWS "substr(c.path, -length(?1) - 1) = '/' || ?1" IN_ORDER;
static const char by_step[] = ROWS NAMED_BY("c.run") " AND c.step = ?3 AND " HAS_ITEM("c") IN_ORDER;
static const char by_latest[] =
    ROWS NAMED_BY("c.run") " AND c.step = (SELECT max(step) "
                           "FROM main._checkpoints l WHERE l.run = c.run AND " HAS_ITEM(
                               "l") ") AND " HAS_ITEM("c") IN_ORDER;
static const char by_near_step[] = "SELECT * FROM (" ROWS NAMED_BY(
    "c.run") " AND c.step IS NOT NULL ORDER BY abs(c.step - ?2), c.path LIMIT 4)"
             " ORDER BY run, step";
static const char by_item[] = ROWS NAMED_BY("c.run") " AND c.step = ?2" IN_ORDER;
/* A run of several steps, whatever else is in its folder. */
static const char by_run[] = ROWS "c.run IN (SELECT r.run FROM main._checkpoints r WHERE " NAMED_BY(
    "r.run") " GROUP BY r.run HAVING count(DISTINCT r.step) > 1)" IN_ORDER;
static const char by_folder[] = ROWS "(substr(c.path, 1, length(?1) + 1) = ?1 || '/'"
                                     " OR instr(c.path, '/' || ?1 || '/') > 0)" IN_ORDER;
static const char by_repository[] = ROWS "substr(n.name, 1, length(?1) + 1) = ?1 || '@'" IN_ORDER;
static const char by_name_end[] = ROWS "substr(n.name, -length(?1) - 1) = '/' || ?1" IN_ORDER;
static const char by_repository_end[] = ROWS "instr(n.name, '/' || ?1 || '@') > 0" IN_ORDER;
static const char refused_at[] =
    "SELECT code, message FROM main._issues WHERE checkpoint IS NULL AND " NAMED_BY(
        "path") " ORDER BY severity, id LIMIT 1";
static const char passed_at[] = "SELECT 1 FROM main._passed WHERE path = ?1";

/* A search for a name, and what the last query (ROWS) found. */
struct search {
    sqlite3 *db;
    const char *name;
    int64_t *ids; /* the caller's array for the first `room` ids */
    size_t room, count;
    int steps; /* different steps, if all rows are of one run; else 0 */
    int mains; /* rows that a step's name alone would mean; the last one */
    int64_t main;
    char *run; /* that run's path */
    struct error *err;
};

static void find_take_row(struct search *s, sqlite3_stmt *row, int64_t *step)
{
    const char *run = db_text(row, 2);
    const int64_t now = sqlite3_column_int64(row, 3);
    if (s->count < s->room)
        s->ids[s->count] = sqlite3_column_int64(row, 0);
    if (sqlite3_column_int(row, 4)) {
        s->mains++;
        s->main = sqlite3_column_int64(row, 0);
    }
    if (++s->count == 1) {
        free(s->run);
        s->run = run ? strdup(run) : NULL;
        if (run ? !s->run : sqlite3_column_type(row, 2) != SQLITE_NULL)
            error_memory(s->err); /* the checkpoint must not look as if it were of no run */
        s->steps = 1;
    } else if (!s->run || !run || strcmp(s->run, run) != 0) {
        s->steps = 0;
    } else if (s->steps) {
        s->steps += now != *step;
    }
    *step = now;
}

/* Run a statement and finalize it. */
static void search_run(struct search *s, sqlite3_stmt *row)
{
    int64_t step = 0;
    s->count = 0;
    s->mains = 0;
    while (row && db_row(row, NULL, s->err))
        find_take_row(s, row, &step);
    sqlite3_finalize(row);
}

/* Whether the search is over: something was found (several are an error), or it failed. */
static bool search_settled(struct search *s, sqlite3_stmt *row)
{
    search_run(s, row);
    if (s->count > 1 && s->steps > 1) {
        /* Several steps of one run were found: its latest is meant. *count stays how many
             * they are. */
        const size_t count = s->count;
        char *run = s->run;
        s->run = NULL;
        search_run(s, db_query(s->db, s->err, by_latest, "ss", run, (const char *)NULL));
        if (s->count == 1)
            s->count = count;
        else if (s->count)
            error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "%s is a run, whose latest step is %zu checkpoints", s->name, s->count);
        free(run);
    } else if (s->count > 1 && s->steps == 1 && s->mains == 1 && s->room) {
        s->ids[0] = s->main; /* a step's folder */
        s->count = 1;
    } else if (s->count > 1) {
        error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%s is ambiguous; it names %zu checkpoints", s->name, s->count);
    }
    return s->count || s->err->status != OK;
}

static bool search_text(struct search *s, const char *sql, const char *text)
{
    return search_settled(s, db_query(s->db, s->err, sql, "s", text));
}

/* Only digits, and few enough for an id. */
static bool find_is_number(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= 18 && strspn(text, "0123456789") == len;
}

/* ./x and ../x are relative to the current directory, and never the end of a path. */
static bool is_relative(const char *name)
{
    return strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0 || strcmp(name, ".") == 0 ||
           strcmp(name, "..") == 0;
}

/* The path as the catalog would store it: its folder without links and dots, then its last
 * component unresolved. malloc'ed; NULL: there is no such folder. */
static char *catalogued_path(const char *name)
{
    const char *slash = strrchr(name, '/');
    bool whole = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                 (slash && (strcmp(slash, "/..") == 0 || strcmp(slash, "/.") == 0));
    if (whole || (slash == name && !slash[1]))
        return realpath(name, NULL);
    char *folder = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    struct text path = {0};
    if (real)
        text_addf(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : name);
    char *out = real ? text_steal(&path) : NULL;
    free(real);
    free(folder);
    return out;
}

/* Search for a path of this system: as the catalog would store it, then with all links resolved. */
static bool search_here(struct search *s, const char *name)
{
    char *path = catalogued_path(name);
    bool settled = path && (search_text(s, by_path, path) || search_text(s, by_run, path) ||
                            search_text(s, by_folder, path) || search_text(s, by_file, path));
    char *real = settled || s->err->status != OK ? NULL : realpath(name, NULL);
    settled = settled || (real && (!path || strcmp(real, path) != 0) &&
                          (search_text(s, by_path, real) || search_text(s, by_run, real) ||
                           search_text(s, by_folder, real) || search_text(s, by_file, real)));
    free(real);
    free(path);
    return settled;
}

/* Report that a run has no such step, or the step no such item, and list those it has. False:
 * there is no such run, either. */
static bool search_steps(struct search *s, const char *run, int64_t step, const char *item)
{
    if (item)
        search_run(s, db_query(s->db, s->err, by_item, "si", run, step));
    if (item && s->count) {
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET, "step %lld of %s has no item %s; it has",
                  (long long)step, run, item);
        return true;
    }
    search_run(s, db_query(s->db, s->err, by_near_step, "si", run, step));
    if (s->count)
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET, "%s has no step %lld; near it", run,
                  (long long)step);
    return s->count || s->err->status != OK;
}

/* What follows the '@' of a name. */
struct step_name {
    const char *item; /* NULL: no item is named */
    bool latest;
    int64_t number; /* the step, unless `latest` */
};

static bool search_step_of(struct search *s, const char *run, const struct step_name *n)
{
    if (n->latest)
        return search_settled(s, db_query(s->db, s->err, by_latest, "ss", run, n->item));
    return search_settled(s, db_query(s->db, s->err, by_step, "ssi", run, n->item, n->number)) ||
           search_steps(s, run, n->number, n->item);
}

/* Search for RUN@STEP or RUN@latest; `:ITEM` or `/ITEM` after it is one item of the step. */
static bool search_run_step(struct search *s, const char *name)
{
    const char *at = strrchr(name, '@');
    if (!at || at == name)
        return false;
    size_t step_len = strcspn(at + 1, "/:"), len = (size_t)(at - name);
    struct step_name n = {.item = at[1 + step_len] ? at + 2 + step_len : NULL};
    char *step = strndup(at + 1, step_len), *run, *real = NULL;
    while (len > 1 && name[len - 1] == '/')
        len--;
    run = strndup(name, len);
    bool settled = false;
    if (!run || !step) {
        error_memory(s->err);
        settled = true;
    } else if ((n.latest = strcmp(step, "latest") == 0) || find_is_number(step)) {
        n.number = n.latest ? 0 : strtoll(step, NULL, 10);
        settled = (!is_relative(run) && search_step_of(s, run, &n)) ||
                  ((real = realpath(run, NULL)) && search_step_of(s, real, &n));
    }
    free(real);
    free(run);
    free(step);
    return settled;
}

static bool search_word(struct search *s, const char *word)
{
    return (find_is_number(word) &&
            search_settled(
                s, db_query(s->db, s->err, by_id, "i", (int64_t)strtoll(word, NULL, 10)))) ||
           (is_relative(word) && search_here(s, word)) || search_text(s, by_name, word) ||
           search_text(s, by_path, word) || search_text(s, by_suffix, word) ||
           search_run_step(s, word) || search_text(s, by_run, word) ||
           search_text(s, by_folder, word) || search_text(s, by_repository, word) ||
           search_text(s, by_name_end, word) || search_text(s, by_repository_end, word) ||
           (!is_relative(word) && search_here(s, word));
}

/* Whether the last import found this path, and took nothing from it: the error says why. */
static bool search_refused(struct search *s, const char *path)
{
    sqlite3_stmt *row = path ? db_query(s->db, s->err, refused_at, "s", path) : NULL;
    sqlite3_stmt *passed = path ? db_query(s->db, s->err, passed_at, "s", path) : NULL;
    if (row && db_row(row, NULL, s->err))
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET, "%s is no checkpoint; import said: %s: %s",
                  s->name, db_text(row, 0), db_text(row, 1));
    else if (passed && s->err->status == OK && db_row(passed, NULL, s->err))
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET,
                  "%s holds no tensors: import passed it over", s->name);
    sqlite3_finalize(passed);
    sqlite3_finalize(row);
    return s->err->status != OK;
}

static void say_missing(struct search *s, const char *word)
{
    char *path = *word ? catalogued_path(word) : NULL;
    char *real = *word ? realpath(word, NULL) : NULL;
    if (!*word || (!search_refused(s, path) && !search_refused(s, real) &&
                   (is_relative(word) || !search_refused(s, word))))
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET, "there is no checkpoint called %s",
                  *word ? word : "\"\" (the empty name)");
    free(real);
    free(path);
}

enum status find_checkpoint(sqlite3 *db, const char *name, int64_t *ids, size_t room, size_t *count,
                            struct error *err)
{
    struct search s = {.db = db, .name = name, .ids = ids, .room = room, .err = err};
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/')
        len--;
    char *word = strndup(name, len);
    if (!word)
        error_memory(err);
    else if (!*word || !search_word(&s, word))
        say_missing(&s, word);
    *count = s.count;
    free(s.run);
    free(word);
    return err->status;
}

/* --- for messages ------------------------------------------------------------------------- */

enum status find_one(sqlite3 *db, const char *name, int64_t *id, struct text *why,
                     struct error *err)
{
    int64_t ids[FIND_CANDIDATES] = {0};
    size_t count = 0;
    if (find_checkpoint(db, name, ids, FIND_CANDIDATES, &count, err) == OK) {
        *id = ids[0];
        return OK;
    }
    text_adds(why, err->message);
    struct error later = {.offset = NO_OFFSET};
    struct nearest near = {.wanted = name};
    sqlite3_stmt *row = db_query(db, &later,
                                 count ? "SELECT name, id FROM main._labels WHERE id = ?1"
                                       : "SELECT name, path FROM main._labels"
                                         " JOIN main._checkpoints USING (id)",
                                 "");
    for (size_t i = 0; row && i < count && i < FIND_CANDIDATES; i++) {
        sqlite3_reset(row);
        db_bind(row, "i", ids[i]);
        if (db_row(row, NULL, &later))
            text_addf(why, "%s%s", i ? ", " : ": ", db_text(row, 0));
    }
    if (count > FIND_CANDIDATES)
        text_addf(why, " and %zu more", count - FIND_CANDIDATES);
    while (row && !count && err->status == ERR_MISSING && db_row(row, NULL, &later)) {
        const char *label = db_text(row, 0);
        const char *path = db_text(row, 1);
        const char *slash = path && !strchr(name, '/') ? strrchr(path, '/') : NULL;
        if (label && path) {
            nearest_offer(&near, label, label);
            nearest_offer(&near, slash ? slash + 1 : path, label);
        }
    }
    for (int i = 0; i < near.count; i++)
        text_addf(why, "%s%s", i ? ", " : "; near it: ", near.name[i]);
    nearest_release(&near);
    sqlite3_finalize(row);
    return err->status;
}
