/*
 * find.c - finds the checkpoint and the tensor that a user means.
 *
 * A name is tried in several ways, the most exact first, and the first way that finds anything
 * decides: one checkpoint is the answer; several make the name ambiguous.
 *
 *   12                id                     runs/gpt@100        RUN@STEP
 *   gpt@100           name                   gpt@latest:default  RUN@latest, one item of it
 *   /runs/gpt/100     path                   runs                the only one in a folder
 *   ./gpt/100         relative path          org/repo            in a Hugging Face cache
 *   gpt/100           last components        gpt@100:model.pt    RUN@STEP, one file of it
 *
 * A name that is none of these may still be a path that leads to a checkpoint by a symbolic link.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/library/library.h"

#define ROWS                                                                               \
    "SELECT c.id, n.name, c.run, c.step FROM _checkpoints c JOIN _labels n ON n.id = c.id" \
    " WHERE "
#define IN_ORDER " ORDER BY coalesce(c.run, c.path), c.step, c.path"

/* A column's path is meant if the name is the whole path, or its last components. */
#define NAMED_BY(column)                                                                 \
    "(" column " = ?1 OR substr(" column ", -length(?1) - 1) = '/' || ?1)"

/* One of several checkpoints of a step: the items of Orbax have names; others are meant by their
 * file names (model.safetensors, optimizer.pt). */
#define HAS_ITEM(t)                                                                      \
    "(?2 IS NULL OR " t ".item = ?2"                                                     \
    " OR (" t ".item IS NULL AND substr(" t ".path, -length(?2) - 1) = '/' || ?2))"

static const char by_id[] = ROWS "c.id = ?1";
static const char by_name[] = ROWS "n.name = ?1";
static const char by_path[] = ROWS "c.path = ?1";
static const char by_suffix[] =
    ROWS "substr(c.path, -length(?1) - 1) = '/' || ?1" IN_ORDER;
static const char by_step[] =
    ROWS NAMED_BY("c.run") " AND c.step = ?3 AND " HAS_ITEM("c") IN_ORDER;
static const char by_latest[] =
    ROWS NAMED_BY("c.run") " AND c.step = (SELECT max(step) "
                           "FROM _checkpoints l WHERE l.run = c.run AND " HAS_ITEM(
                               "l") ")"
                                    " AND " HAS_ITEM("c") IN_ORDER;
static const char by_near_step[] = "SELECT * FROM (" ROWS NAMED_BY(
    "c.run") " AND c.step IS NOT NULL ORDER BY abs(c.step - ?2), c.path LIMIT 4)"
             " ORDER BY run, step";
static const char by_item[] = ROWS NAMED_BY("c.run") " AND c.step = ?2" IN_ORDER;
static const char by_folder[] = ROWS "(substr(c.path, 1, length(?1) + 1) = ?1 || '/'"
                                     " OR instr(c.path, '/' || ?1 || '/') > 0)" IN_ORDER;
static const char by_repository[] =
    ROWS "substr(n.name, 1, length(?1) + 1) = ?1 || '@'" IN_ORDER;

/* A search for a name, and what the last query (ROWS) found. */
struct search {
    const ckptdb *catalog;
    const char *name;
    int64_t *ids; /* the caller's array for the first `room` ids */
    size_t room, count;
    int steps; /* different steps, if all rows are of one run; else 0 */
    char *run; /* the run's name, as in the names of its steps */
    struct error *err;
};

/* "gpt-small" of "gpt-small@100". */
static char *run_of_name(const char *name)
{
    const char *at = name ? strrchr(name, '@') : NULL; /* NULL: no memory for it */
    return at ? strndup(name, (size_t)(at - name)) : NULL;
}

static void library_find_take_row(struct search *s, sqlite3_stmt *row, char **run,
                                  int64_t *step)
{
    const char *here = library_text(row, 2);
    const int64_t now = sqlite3_column_int64(row, 3);
    if (s->count < s->room)
        s->ids[s->count] = sqlite3_column_int64(row, 0);
    if (++s->count == 1) {
        *run = here ? strdup(here) : NULL;
        free(s->run);
        s->run = run_of_name(library_text(row, 1));
        s->steps = 1;
    } else if (!*run || !here || strcmp(*run, here) != 0) {
        s->steps = 0;
    } else if (s->steps) {
        s->steps += now != *step;
    }
    *step = now;
}

/* Run a statement and finalize it. */
static void search_run(struct search *s, sqlite3_stmt *row)
{
    char *run = NULL;
    int64_t step = 0;
    s->count = 0;
    while (library_row(row, s->err))
        library_find_take_row(s, row, &run, &step);
    sqlite3_finalize(row);
    free(run);
}

/* Whether the search is over: something was found (several are an error), or it failed. */
static bool search_settled(struct search *s, sqlite3_stmt *row)
{
    search_run(s, row);
    if (s->count > 1 && s->steps > 1 && s->run)
        error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%s is a run of %d steps: say %s@latest, or one of them", s->name,
                  s->steps, s->run);
    else if (s->count > 1)
        error_set(s->err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "%s is ambiguous; it names %zu checkpoints", s->name, s->count);
    return s->count || s->err->status != OK;
}

static bool search_text(struct search *s, const char *sql, const char *text)
{
    return search_settled(s, library_query(s->catalog, s->err, sql, "s", text));
}

/* Only digits, and few enough for an id. */
static bool library_find_is_number(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= 18 && strspn(text, "0123456789") == len;
}

/* ./x and ../x are relative to the current directory, and never the end of a path. */
static bool is_relative(const char *name)
{
    return strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0 ||
           strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
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
        text_addf(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real,
                  slash ? slash + 1 : name);
    char *out = real ? text_steal(&path) : NULL;
    free(real);
    free(folder);
    return out;
}

/* Search for a path of this system: as the catalog would store it, then with all links
 * resolved. */
static bool search_here(struct search *s, const char *name)
{
    char *path = catalogued_path(name);
    bool settled =
        path && (search_text(s, by_path, path) || search_text(s, by_folder, path));
    char *real = settled || s->err->status != OK ? NULL : realpath(name, NULL);
    settled =
        settled || (real && (!path || strcmp(real, path) != 0) &&
                    (search_text(s, by_path, real) || search_text(s, by_folder, real)));
    free(real);
    free(path);
    return settled;
}

/* Report that a run has no such step, or the step no such item, and list those it has. False:
 * there is no such run, either. */
static bool search_steps(struct search *s, const char *run, int64_t step,
                         const char *item)
{
    if (item)
        search_run(s, library_query(s->catalog, s->err, by_item, "si", run, step));
    if (item && s->count) {
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET,
                  "step %lld of %s has no item %s; it has", (long long)step, run, item);
        return true;
    }
    search_run(s, library_query(s->catalog, s->err, by_near_step, "si", run, step));
    if (s->count)
        error_set(s->err, ERR_MISSING, NULL, NO_OFFSET, "%s has no step %lld; near it",
                  run, (long long)step);
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
        return search_settled(
            s, library_query(s->catalog, s->err, by_latest, "ss", run, n->item));
    return search_settled(s, library_query(s->catalog, s->err, by_step, "ssi", run,
                                           n->item, n->number)) ||
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
    } else if ((n.latest = strcmp(step, "latest") == 0) || library_find_is_number(step)) {
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
    return (library_find_is_number(word) &&
            search_settled(s, library_query(s->catalog, s->err, by_id, "i",
                                            (int64_t)strtoll(word, NULL, 10)))) ||
           search_text(s, by_name, word) || search_text(s, by_path, word) ||
           (is_relative(word) && search_here(s, word)) ||
           search_text(s, by_suffix, word) || search_run_step(s, word) ||
           search_text(s, by_folder, word) || search_text(s, by_repository, word) ||
           (!is_relative(word) && search_here(s, word));
}

enum ckptdb_status ckptdb_find(ckptdb *c, const char *name, int64_t *ids, size_t room,
                               size_t *count, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    struct search s = {.catalog = c, .name = name, .ids = ids, .room = room, .err = &err};
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/')
        len--;
    char *word = strndup(name, len);
    if (!word)
        error_memory(&err);
    else if (!*word || !search_word(&s, word))
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET, "there is no checkpoint called %s",
                  *word ? word : "\"\" (the empty name)");
    if (count)
        *count = s.count;
    free(s.run);
    free(word);
    return library_end(&err, error);
}

enum ckptdb_status ckptdb_find_tensor(ckptdb *c, int64_t checkpoint, const char *name,
                                      int64_t *id, struct ckptdb_error *error)
{
    static const char sql[] = "SELECT id FROM tensor WHERE checkpoint_id = ?1"
                              " AND name = ?2 ORDER BY id LIMIT 1";
    struct error err = {.offset = NO_OFFSET};
    library_known(c, &checkpoint, 1, &err);
    sqlite3_stmt *row = library_query(c, &err, sql, "is", checkpoint, name);
    if (library_row(row, &err))
        *id = sqlite3_column_int64(row, 0);
    else
        error_set(&err, ERR_MISSING, NULL, NO_OFFSET, "there is no tensor called %s",
                  *name ? name : "\"\" (the empty name)");
    sqlite3_finalize(row);
    return library_end(&err, error);
}
