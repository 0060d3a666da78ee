/*
 * checkpoint.c - the checkpoint that a user means (session.h).
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "shell/session/resolve.h"
#include "shell/session/session.h"

#define CANDIDATES 10 /* of an ambiguous name that are listed */

#define ROWS                                                                             \
    "SELECT c.id, n.name, c.run, c.step FROM checkpoints c JOIN labels n ON n.id = c.id" \
    " WHERE "
#define IN_ORDER " ORDER BY coalesce(c.run, c.path), c.step, c.path"

/* A path is meant by itself or by what follows one of its '/'. */
#define NAMED_BY(column)                                                                 \
    "(" column " = ?1 OR substr(" column ", -length(?1) - 1) = '/' || ?1)"

static const char by_id[] = ROWS "c.id = ?1";
static const char by_name[] = ROWS "n.name = ?1";
static const char by_path[] = ROWS "c.path = ?1";
static const char by_suffix[] =
    ROWS "substr(c.path, -length(?1) - 1) = '/' || ?1" IN_ORDER;
static const char by_step[] =
    ROWS NAMED_BY("c.run") " AND c.step = ?3 AND c.item IS coalesce(?2, c.item)" IN_ORDER;
static const char by_latest[] = ROWS NAMED_BY(
    "c.run") " AND c.step = (SELECT max(step) "
             "FROM checkpoints l WHERE l.run = c.run AND l.item IS coalesce(?2, l.item))"
             " AND c.item IS coalesce(?2, c.item)" IN_ORDER;
static const char by_near_step[] = "SELECT * FROM (" ROWS NAMED_BY(
    "c.run") " AND c.step IS NOT NULL ORDER BY abs(c.step - ?2), c.path LIMIT 4)"
             " ORDER BY run, step";
static const char by_item[] = ROWS NAMED_BY("c.run") " AND c.step = ?2" IN_ORDER;
static const char by_folder[] = ROWS "(substr(c.path, 1, length(?1) + 1) = ?1 || '/'"
                                     " OR instr(c.path, '/' || ?1 || '/') > 0)" IN_ORDER;
static const char by_repository[] =
    ROWS "substr(n.name, 1, length(?1) + 1) = ?1 || '@'" IN_ORDER;

/* What a statement of ROWS has given. */
struct found {
    sqlite3_int64 id; /* of the last */
    int count, steps; /* different ones of one run; 0: not of one run */
    char *run;        /* as its steps call it */
    struct text list; /* the first CANDIDATES */
};

static void found_release(struct found *f)
{
    free(f->run);
    text_release(&f->list);
}

/* "gpt-small" of "gpt-small@100". */
static char *run_of_name(const char *name)
{
    const char *at = strrchr(name, '@');
    return at ? strndup(name, (size_t)(at - name)) : NULL;
}

static void take_row(struct found *f, sqlite3_stmt *s, char **run, sqlite3_int64 *step)
{
    const char *name = (const char *)sqlite3_column_text(s, 1);
    const char *here = (const char *)sqlite3_column_text(s, 2);
    sqlite3_int64 now = sqlite3_column_int64(s, 3);
    f->id = sqlite3_column_int64(s, 0);
    if (++f->count == 1) {
        *run = here ? strdup(here) : NULL;
        f->run = run_of_name(name);
        f->steps = 1;
    } else if (!*run || !here || strcmp(*run, here) != 0) {
        f->steps = 0;
    } else if (f->steps) {
        f->steps += now != *step;
    }
    *step = now;
    if (f->count <= CANDIDATES)
        text_addf(&f->list, "ckptdb:   %s  (id %lld)\n", name, (long long)f->id);
}

/* Run a statement and finalize it. False after saying that it failed. */
static bool find(sqlite3_stmt *s, struct found *f)
{
    int rc = SQLITE_ERROR;
    char *run = NULL;
    sqlite3_int64 step = 0;
    *f = (struct found){0};
    if (!s)
        return false;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        take_row(f, s, &run, &step);
    if (rc != SQLITE_DONE)
        complain("%s", sqlite3_errmsg(sqlite3_db_handle(s)));
    sqlite3_finalize(s);
    free(run);
    return rc == SQLITE_DONE;
}

static void print_list(const struct found *f)
{
    fputs(f->list.at ? f->list.at : "", stderr);
    if (f->count > CANDIDATES)
        fprintf(stderr, "ckptdb:   and %d more\n", f->count - CANDIDATES);
}

/* The one row of a statement, 0 where there is none; -1, after listing them or an error, where
 * there are several. */
static sqlite3_int64 only_row(sqlite3_stmt *s, const char *name)
{
    struct found f;
    sqlite3_int64 id = -1;
    if (find(s, &f) && f.count <= 1) {
        id = f.count ? f.id : 0;
    } else if (f.count > 1 && f.steps > 1 && f.run) {
        complain("%s is a run of %d steps: say %s@latest, or one of:", name, f.steps,
                 f.run);
        print_list(&f);
    } else if (f.count > 1) {
        complain("%s is ambiguous; it names %d checkpoints:", name, f.count);
        print_list(&f);
    }
    found_release(&f);
    return id;
}

/* All digits, and no more than an id can have. */
static bool is_number(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= 18 && strspn(text, "0123456789") == len;
}

static sqlite3_int64 by_text(struct session *s, const char *sql, const char *text,
                             const char *name)
{
    return only_row(session_prepare(s, sql, "s", text), name);
}

/* ./x and ../x are files of the current directory, not suffixes. */
static sqlite3_int64 by_relative_path(struct session *s, const char *name)
{
    bool relative = strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0 ||
                    strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    if (!relative)
        return 0;
    const char *slash = strrchr(name, '/');
    bool whole = !slash || strcmp(slash, "/..") == 0 || strcmp(slash, "/.") == 0;
    char *folder = whole ? strdup(name) : strndup(name, (size_t)(slash - name));
    char *real = folder ? realpath(folder, NULL) : NULL;
    sqlite3_int64 id = 0;
    if (real) {
        struct text path = {0};
        text_adds(&path, real);
        if (!whole)
            text_adds(&path, slash);
        if (text_str(&path))
            id = by_text(s, by_path, text_str(&path), name);
        if (text_str(&path) && id == 0)
            id = by_text(s, by_folder, text_str(&path), name);
        text_release(&path);
    }
    free(real);
    free(folder);
    return id;
}

/* There is no such step, or no such item of it: what there is. -1, or 0 where there is no such
 * run. */
static sqlite3_int64 say_steps(struct session *s, const char *run, sqlite3_int64 step,
                               const char *item)
{
    struct found f;
    bool items = item && find(session_prepare(s, by_item, "si", run, step), &f);
    if (items && f.count) {
        complain("step %lld of %s has no item %s; it has:", (long long)step, run, item);
    } else {
        if (items)
            found_release(&f);
        if (find(session_prepare(s, by_near_step, "si", run, step), &f) && f.count)
            complain("%s has no step %lld; near it:", run, (long long)step);
    }
    print_list(&f);
    sqlite3_int64 result = f.count ? -1 : 0;
    found_release(&f);
    return result;
}

/* RUN@STEP, RUN@latest, and one item of such a step: RUN@latest:ITEM, or with a '/'. */
static sqlite3_int64 by_run(struct session *s, const char *name)
{
    const char *at = strrchr(name, '@');
    if (!at || at == name)
        return 0;
    size_t step_len = strcspn(at + 1, "/:"), len = (size_t)(at - name);
    const char *item = at[1 + step_len] ? at + 2 + step_len : NULL;
    char *step = strndup(at + 1, step_len), *run;
    while (len > 1 && name[len - 1] == '/')
        len--;
    run = strndup(name, len);
    sqlite3_int64 id = 0;
    if (!run || !step) {
        id = -1;
    } else if (strcmp(step, "latest") == 0) {
        id = only_row(session_prepare(s, by_latest, "ss", run, item), name);
    } else if (is_number(step)) {
        int64_t number = strtoll(step, NULL, 10);
        id = only_row(session_prepare(s, by_step, "ssi", run, item, number), name);
        if (id == 0)
            id = say_steps(s, run, number, item);
    }
    free(run);
    free(step);
    return id;
}

sqlite3_int64 session_checkpoint(struct session *s, const char *name)
{
    static const char *const ways[] = {by_name, by_path, NULL, by_suffix};
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/')
        len--;
    char *word = strndup(name, len);
    if (!word)
        return 0;
    sqlite3_int64 id = 0;
    if (is_number(word))
        id = only_row(session_prepare(s, by_id, "i", (int64_t)strtoll(word, NULL, 10)),
                      name);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && id == 0 && *word; i++)
        id = ways[i] ? by_text(s, ways[i], word, name) : by_relative_path(s, word);
    if (id == 0)
        id = by_run(s, word);
    if (id == 0 && *word)
        id = by_text(s, by_folder, word, name);
    if (id == 0 && *word)
        id = by_text(s, by_repository, word, name);
    if (id == 0)
        say_unknown(session_prepare(s,
                                    "SELECT path, name FROM checkpoints JOIN labels"
                                    " USING (id) UNION ALL SELECT name, name FROM labels"
                                    " ORDER BY 1",
                                    ""),
                    "checkpoint", word, true);
    free(word);
    s->failed = s->failed || id <= 0;
    return id > 0 ? id : 0;
}

/* --- several ---------------------------------------------------------------------------- */

struct ids {
    sqlite3_int64 *at;
    size_t count, known; /* in all; of the words before */
};

static bool add_id(struct ids *ids, sqlite3_int64 id)
{
    for (size_t i = 0; i < ids->known; i++)
        if (ids->at[i] == id)
            return true;
    bool grow = (ids->count & (ids->count - 1)) == 0; /* at powers of 2 */
    size_t room = ids->count ? 2 * ids->count : 1;
    void *at = grow ? realloc(ids->at, room * sizeof(*ids->at)) : ids->at;
    if (!at)
        return false;
    ids->at = at;
    ids->at[ids->count++] = id;
    return true;
}

/* How many rows a statement has, each added; -1 after saying what went wrong. */
static int add_rows(struct ids *ids, sqlite3_stmt *s)
{
    int count = 0, rc = s ? SQLITE_OK : SQLITE_ERROR;
    while (s && (rc = sqlite3_step(s)) == SQLITE_ROW &&
           add_id(ids, sqlite3_column_int64(s, 0)))
        count++;
    if (s && rc != SQLITE_DONE)
        complain("%s",
                 rc == SQLITE_ROW ? "no memory" : sqlite3_errmsg(sqlite3_db_handle(s)));
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? count : -1;
}

/* How many checkpoints a word means; -1 after saying that it is none. */
static int add_word(struct session *s, struct ids *ids, const char *word)
{
    static const char exact[] = ROWS "n.name = ?1 OR c.path = ?1";
    static const char matching[] = ROWS CHECKPOINT_GLOB IN_ORDER;
    sqlite3_int64 id = 0;
    if (!strpbrk(word, "*?["))
        return (id = session_checkpoint(s, word)) && add_id(ids, id) ? 1 : -1;
    int count = add_rows(ids, session_prepare(s, exact, "s", word));
    if (count == 0)
        count = add_rows(ids, session_prepare(s, matching, "s", word));
    if (count == 0)
        complain("no checkpoint matches %s", word);
    return count ? count : -1;
}

sqlite3_int64 *session_checkpoints(struct session *s, const char *const *words, int count,
                                   size_t *found)
{
    struct ids ids = {.at = calloc(1, sizeof(*ids.at))};
    bool ok = ids.at;
    if (ok && !count)
        ok = add_rows(&ids, session_prepare(s, "SELECT id FROM checkpoints ORDER BY id",
                                            "")) >= 0;
    for (int i = 0; i < count && ok; i++) {
        ids.known = ids.count;
        ok = add_word(s, &ids, words[i]) > 0;
    }
    s->failed = s->failed || !ok;
    *found = ids.count;
    if (ok)
        return ids.at;
    free(ids.at);
    return NULL;
}
