/*
 * checkpoint.c - find the checkpoint that the user means (session.h).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/session/resolve.h"
#include "shell/session/session.h"

#define CANDIDATES 10 /* how many candidates for an ambiguous name to list */

#define ROWS                                                                                       \
    "SELECT c.id, n.name, c.run, c.step FROM _checkpoints c JOIN _labels n ON n.id = c.id"         \
    " WHERE "
#define IN_ORDER " ORDER BY coalesce(c.run, c.path), c.step, c.path"

/* List the checkpoints that a name can mean, as they can be typed. */
static void say_candidates(struct session *s, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && i < CANDIDATES; i++) {
        sqlite3_stmt *row =
            session_prepare(s, "SELECT name FROM checkpoint WHERE id = ?1", "i", ids[i]);
        if (session_row(s, row))
            complain("  %s  (id %lld)", sqlite3_column_text(row, 0), (long long)ids[i]);
        sqlite3_finalize(row);
    }
    if (count > CANDIDATES)
        complain("  and %zu more", count - CANDIDATES);
}

/* Let a path (malloc'ed; kept) be imported; false: it was. */
static bool import_path(struct unheld *u, char *path)
{
    const size_t power = u->count ? 2 * u->count : 1;
    char **paths = u->paths;
    for (size_t i = 0; i < u->count; i++)
        if (strcmp(u->paths[i], path) == 0) {
            free(path);
            return i >= u->imported;
        }
    if ((u->count & (u->count - 1)) == 0 && !(paths = realloc(paths, power * sizeof(*paths)))) {
        free(path);
        return false;
    }
    u->paths = paths;
    u->paths[u->count++] = path;
    return true;
}

char *session_importable(const char *name)
{
    const char *at = strrchr(name, '@');
    if (*name && ckptdb_import_find(&name, 1, NULL) == CKPTDB_OK)
        return strdup(name);
    char *run = at && at > name ? strndup(name, (size_t)(at - name)) : NULL;
    if (run && ckptdb_import_find((const char *const *)&run, 1, NULL) == CKPTDB_OK)
        return run;
    free(run);
    return NULL;
}

/* The path that the user's catalog has for a name, while one in memory is in its place; malloc'ed; NULL: it
 * has nothing with this name. */
static char *path_in_catalog(struct session *s, const char *name)
{
    int64_t id;
    size_t count;
    char *path = NULL;
    sqlite3_stmt *row = NULL;
    struct ckptdb_error err;
    if (!s->unheld.catalog ||
        ckptdb_find(s->unheld.catalog, name, &id, 1, &count, &err) != CKPTDB_OK)
        return NULL;
    sqlite3_prepare_v2(ckptdb_sqlite(s->unheld.catalog),
                       "SELECT path FROM _checkpoints WHERE id = ?1", -1, &row, NULL);
    sqlite3_bind_int64(row, 1, id);
    if (sqlite3_step(row) == SQLITE_ROW)
        path = strdup(session_text(row, 0));
    sqlite3_finalize(row);
    return path;
}

/* A catalogued path can end like a file that lies here, too. */
static void say_file_here(struct session *s, const char *name)
{
    struct text here = {0};
    int64_t id;
    size_t count;
    if (*name == '/' || *name == '.' || access(name, F_OK) != 0)
        return;
    text_addf(&here, "./%s", name);
    if (text_str(&here) && ckptdb_find(s->unheld.catalog ? s->unheld.catalog : s->open,
                                       text_str(&here), &id, 1, &count, NULL) == CKPTDB_MISSING)
        complain("%s is a catalogued checkpoint; %s is the file with this name here", name,
                 text_str(&here));
    text_release(&here);
}

struct found {
    int64_t ids[CANDIDATES];
    size_t count;
    bool held; /* by the user's catalog, while one in memory is in its place */
    struct ckptdb_error err;
};

/* Whether what a name means has to be imported first. */
static bool find_or_wait(struct session *s, const char *name, struct found *f)
{
    char *path = path_in_catalog(s, name);
    *f = (struct found){.held = path != NULL};
    ckptdb_find(s->open, path ? path : name, f->ids, CANDIDATES, &f->count, &f->err);
    const bool missing = f->err.status == CKPTDB_MISSING;
    if (missing && !path && !f->count && s->unheld.taken)
        path = session_importable(name);
    if (missing && path)
        return import_path(&s->unheld, path);
    free(path);
    return false;
}

/* After a search that found nothing. */
static void say_missing(struct session *s, const char *name, const struct ckptdb_error *err)
{
    struct stat st;
    if (s->unheld.imported && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
        complain("%s holds no tensors: none of its files is a checkpoint", name);
    else
        complain("%s", err->message);
    if (s->unheld.replaces && !s->unheld.catalog && !s->unheld.imported)
        complain("there is no catalog at %s, either; `ckptdb import PATH` makes one", s->catalog);
    if (access(name, F_OK) != 0)
        say_near(session_prepare(s,
                                 "SELECT path, name FROM _checkpoints JOIN _labels"
                                 " USING (id) UNION ALL SELECT name, name FROM _labels ORDER BY 1",
                                 ""),
                 name, true);
}

sqlite3_int64 session_checkpoint(struct session *s, const char *name)
{
    struct found f;
    if (find_or_wait(s, name, &f))
        return 0;
    if (f.err.status == CKPTDB_OK && (f.held || !s->unheld.replaces))
        say_file_here(s, name);
    if (f.err.status == CKPTDB_OK) {
        sqlite3_stmt *row =
            f.count > 1
                ? session_prepare(s, "SELECT name FROM _labels WHERE id = ?1", "i", f.ids[0])
                : NULL;
        if (f.count > 1 && session_row(s, row))
            complain("%s is a run: its latest step is taken, %s", name,
                     sqlite3_column_text(row, 0));
        sqlite3_finalize(row);
        return f.ids[0];
    }
    s->failed = true;
    if (f.err.status == CKPTDB_MISSING && !f.count) {
        say_missing(s, name, &f.err);
        return 0;
    }
    complain("%s%s", f.err.message, f.count ? ":" : "");
    say_candidates(s, f.ids, f.count);
    return 0;
}

/* --- several checkpoints ---------------------------------------------------------------- */

struct ids {
    struct session *session;
    int64_t *at;
    size_t count, known; /* of all words; of the words before the current one */
};

static bool add_id(struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->known; i++)
        if (ids->at[i] == id)
            return true;
    bool grow = (ids->count & (ids->count - 1)) == 0; /* full at powers of 2 */
    size_t room = ids->count ? 2 * ids->count : 1;
    void *at = grow ? realloc(ids->at, room * sizeof(*ids->at)) : ids->at;
    if (!at) {
        complain("no memory");
        ids->session->unread = true;
        return false;
    }
    ids->at = at;
    ids->at[ids->count++] = id;
    return true;
}

/* Add all rows of a statement. Returns their number, or -1 after an error message. */
static int add_each(struct ids *ids, sqlite3_stmt *stmt)
{
    int count = 0;
    while (session_row(ids->session, stmt) && add_id(ids, sqlite3_column_int64(stmt, 0)))
        count++;
    sqlite3_finalize(stmt);
    return ids->session->unread ? -1 : count;
}

/* All ids, not NULL even if there are 0; NULL after an error message. */
static int64_t *take_ids(struct ids *ids, bool good, size_t *found)
{
    *found = ids->count;
    ids->session->failed |= !good;
    if (good && (ids->at || (ids->at = calloc(1, sizeof(*ids->at)))))
        return ids->at;
    free(ids->at);
    return NULL;
}

int64_t *session_ids(struct session *s, sqlite3_stmt *stmt, size_t *found)
{
    struct ids ids = {.session = s};
    const bool good = add_each(&ids, stmt) >= 0;
    return take_ids(&ids, good, found);
}

/* Add the checkpoints that a word means. Returns their number, or -1 after an
 * error message. A checkpoint with exactly this name, however odd, takes
 * precedence over what it matches as a glob. */
static int add_word(struct session *s, struct ids *ids, const char *word)
{
    static const char matching[] = ROWS CHECKPOINT_GLOB IN_ORDER;
    const bool glob = strpbrk(word, "*?[");
    int64_t id;
    size_t found = 0;
    struct ckptdb_error err;
    if (ckptdb_find(s->open, word, &id, 1, &found, &err) == CKPTDB_OK && found > 1) {
        complain("%s is a run: say which of its %zu checkpoints, such as %s@latest", word, found,
                 word);
        return -1;
    }
    if (err.status == CKPTDB_OK)
        return add_id(ids, id) ? 1 : -1;
    if (!glob || err.status != CKPTDB_MISSING || access(word, F_OK) == 0)
        return (id = session_checkpoint(s, word)) && add_id(ids, id) ? 1 : -1;
    int count = add_each(ids, session_prepare(s, matching, "s", word));
    if (count == 0)
        complain("no checkpoint matches %s", word);
    return count ? count : -1;
}

int64_t *session_checkpoints(struct session *s, const char *const *words, int count, size_t *found)
{
    struct ids ids = {.session = s};
    if (!count)
        return session_ids(s, session_prepare(s, "SELECT id FROM _checkpoints ORDER BY id", ""),
                           found);
    bool good = true;
    struct found later;
    for (int i = 0; i < count && (good || session_wants_import(s)); i++) {
        ids.known = ids.count;
        if (good)
            good = add_word(s, &ids, words[i]) > 0;
        else /* what else is to be imported, so that it is in one go */
            find_or_wait(s, words[i], &later);
    }
    return take_ids(&ids, good, found);
}
