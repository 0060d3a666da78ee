#include "catalog/db/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/data/model/step.h"
#include "catalog/data/store/source.h"
#include "catalog/db/statement.h"

#define WORD           8 /* bytes that are compared at once */
#define REVISION_SHOWN 7
#define REVISION_BYTES 64 /* of refs/main that are read, at most */

/* The forms of a name, from the shortest to the longest. */
enum form {
    FORM_SHORT, /* org/repo@REV7, RUN@STEP */
    FORM_FULL,  /* with the path in the snapshot, or the item */
    FORM_TAIL,
    FORM_PATH
};

/* The parts of a path in a Hugging Face cache. */
struct hub {
    const char *repo; /* "org--repo"; NULL: it is in no cache */
    size_t repo_len;
    const char *revision, *rest;
    bool main; /* refs/main points to this revision */
};

struct labelled {
    sqlite3_int64 id, step;
    const char *path, *run, *item, *old, *old_run, *state, *name;
    bool has_step;
    const char *tail, *run_tail;
    struct step_place place; /* what its path says, if step and run are from there; else zero */
    const char *group;       /* of its run's checkpoints, or of its step's */
    bool tied;               /* another part has as good a name for a model */
    bool beside_model;       /* another part of its step is the model */
    bool moved;              /* run or item is not what its row says */
    struct hub hub;
    enum form form;
    bool taken; /* another checkpoint has the same name */
};

struct labelling {
    sqlite3 *db;
    struct arena arena;
    struct labelled *list;
    size_t count, space;
    struct error *err;
};

/* --- tails ------------------------------------------------------------------------------ */

/* A path, and where to store its shortest unambiguous tail. */
struct tail {
    const char *text;
    size_t len;
    const char **out;
};

static size_t common_end(const struct tail *a, const struct tail *b)
{
    size_t n = 0, most = a->len < b->len ? a->len : b->len;
    while (n + WORD <= most &&
           memcmp(a->text + a->len - n - WORD, b->text + b->len - n - WORD, WORD) == 0)
        n += WORD;
    while (n < most && a->text[a->len - 1 - n] == b->text[b->len - 1 - n])
        n++;
    return n;
}

/* Compare the texts from their ends: those with the longest common end become neighbours. */
static int from_end(const void *x, const void *y)
{
    const struct tail *a = x, *b = y;
    size_t n = common_end(a, b);
    if (n == a->len || n == b->len)
        return (a->len > b->len) - (a->len < b->len);
    unsigned char c = (unsigned char)a->text[a->len - 1 - n];
    unsigned char d = (unsigned char)b->text[b->len - 1 - n];
    return c < d ? -1 : 1;
}

/* The shortest tail that begins after a '/', has at least `least` bytes, and is not a number
 * alone. */
static const char *tail_of(const struct tail *t, size_t least)
{
    for (size_t len = 1; len < t->len; len++) {
        const char *at = t->text + t->len - len;
        if (at[-1] == '/' && len >= least && strspn(at, "0123456789") < len)
            return at;
    }
    return t->text;
}

/* Find the shortest tails that no other text ends in. Sorted from the end, only the neighbours of
 * a text matter: of a/run1/model, b/run2/model, c/run2/model, the first becomes run1/model, the
 * others b/run2/model and c/run2/model. */
static void shorten(struct tail *list, size_t count)
{
    size_t before = 0; /* common end with the previous group */
    if (count)
        qsort(list, count, sizeof(*list), from_end);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(list[i].text, list[end].text) == 0;)
            end++;
        size_t after = end < count ? common_end(&list[i], &list[end]) : 0;
        const char *tail = tail_of(&list[i], before > after ? before : after);
        for (size_t k = i; k < end; k++)
            *list[k].out = tail;
        before = after;
    }
}

static bool has_run(const struct labelled *c)
{
    return c->run && c->has_step;
}

/* Whether the one before is of the same run. */
static bool follows(const struct labelling *l, size_t i)
{
    const struct labelled *c = &l->list[i];
    return i && has_run(c) && has_run(c - 1) && strcmp(c->run, c[-1].run) == 0;
}

/* Of paths: only where a checkpoint is called by its tail. */
static void find_tails(struct labelling *l)
{
    struct tail *list = arena_array(&l->arena, l->count, sizeof(*list));
    if (!list)
        return;
    for (size_t i = 0; i < l->count; i++)
        list[i] = (struct tail){l->list[i].path, strlen(l->list[i].path), &l->list[i].tail};
    shorten(list, l->count);
}

static void find_runs(struct labelling *l)
{
    struct tail *list = arena_array(&l->arena, l->count + 1, sizeof(*list));
    size_t runs = 0;
    /* Neighbours are mostly of one run. */
    for (size_t i = 0; list && i < l->count; i++)
        if (has_run(&l->list[i]) && !follows(l, i))
            list[runs++] =
                (struct tail){l->list[i].run, strlen(l->list[i].run), &l->list[i].run_tail};
    shorten(list, runs);
    for (size_t i = 0; i < l->count; i++)
        if (follows(l, i))
            l->list[i].run_tail = l->list[i - 1].run_tail;
}

/* --- saves ------------------------------------------------------------------------------ */

static bool is_of_path(const struct labelled *c, struct step_place *place)
{
    return c->run && c->has_step && step_of_path(c->path, place) && place->step == c->step &&
           strncmp(c->run, c->path, place->run) == 0 &&
           (!c->run[place->run] || c->run[place->run] == '/');
}

/* Add a checkpoint to those that share its run (files with a number each) or its step (parts of a
 * folder). The group's value is the first of a run, GROUP_MIXED if their names differ in more than the
 * number, or the best candidate for a step's model. */
#define GROUP_MIXED UINT64_MAX

static void join_group(struct labelling *l, struct strmap *groups, size_t i)
{
    struct labelled *c = &l->list[i];
    struct text key = {0};
    bool added;
    text_add(&key, c->path, c->place.run);
    if (c->place.item.len)
        text_addf(&key, "//%lld", (long long)c->step); /* no path has two */
    c->group = text_keep(&key, &l->arena);
    text_release(&key);
    uint64_t *value = strmap_add(groups, c->group, strlen(c->group), &added);
    if (l->err->status != OK)
        return;
    if (added) {
        *value = i;
    } else if (c->place.item.len) {
        /* Let a part of a step be its model if its name says so more than the name of the best
             * so far. */
        const unsigned rank = step_model_rank(l->list[i].place.item);
        const unsigned least = step_model_rank(l->list[*value].place.item);
        l->list[*value].tied |= rank == least;
        if (rank < least)
            *value = i;
    } else if (*value != GROUP_MIXED) {
        const struct step_word row = l->list[*value].place.row;
        if (row.len != c->place.row.len || memcmp(row.at, c->place.row.at, row.len) != 0)
            *value = GROUP_MIXED;
    }
}

/* The model of a step's folder; NULL: none, or two of its forms with one name. */
static const struct labelled *model_of(const struct labelling *l, const uint64_t *best)
{
    const struct labelled *c = best && *best != GROUP_MIXED ? &l->list[*best] : NULL;
    return c && !c->tied && step_model_rank(c->place.item) < STEP_NO_MODEL ? c : NULL;
}

/* Take run and item from the path, as the neighbours have it now. */
static void settle_place(struct labelling *l, const struct strmap *groups, size_t i)
{
    struct labelled *c = &l->list[i];
    const uint64_t *value = strmap_get(groups, c->group, strlen(c->group));
    const struct step_word item = c->place.item, row = c->place.row;
    const char *run = c->run, *old = c->item;
    struct text t = {0};
    text_add(&t, c->path, c->place.run);
    if (value && *value == GROUP_MIXED && row.len) {
        text_addc(&t, '/');
        text_add(&t, row.at, row.len);
    }
    c->run = text_keep(&t, &l->arena);
    text_release(&t);
    if (item.len) {
        const struct labelled *model = model_of(l, value);
        c->beside_model = model && model != c;
        c->item = model == c ? "model" : arena_copy(&l->arena, item.at, item.len);
    }
    c->moved = strcmp(run, c->run) != 0 || (c->item && (!old || strcmp(c->item, old) != 0));
}

/* A new neighbour can make a step's `pytorch_model` other than its model, or a folder's files rows of
 * several runs: so this is settled for all, whenever one was added or dropped. */
static void find_saves(struct labelling *l)
{
    struct strmap groups = {.err = l->err};
    for (size_t i = 0; i < l->count && l->err->status == OK; i++) {
        struct step_place place;
        if (!is_of_path(&l->list[i], &place) || !(place.item.len || place.row.len))
            continue;
        l->list[i].place = place;
        join_group(l, &groups, i);
    }
    for (size_t i = 0; i < l->count && l->err->status == OK; i++)
        if (l->list[i].group)
            settle_place(l, &groups, i);
    strmap_release(&groups);
}

/* --- Hugging Face caches ---------------------------------------------------------------- */

/* The revision in refs/main of the repository; "" if it cannot be read. */
static void read_main(const char *path, size_t root, char out[REVISION_BYTES + 1])
{
    struct text name = {0};
    text_add(&name, path, root);
    text_adds(&name, "/refs/main");
    struct source *s = NULL;
    struct error ignored = {.offset = NO_OFFSET};
    size_t len = 0;
    if (text_str(&name) && source_open_file(text_str(&name), 0, &s, NULL, &ignored) == OK) {
        len = s->size < REVISION_BYTES ? (size_t)s->size : REVISION_BYTES;
        if (source_read(s, 0, out, len, &ignored) != OK)
            len = 0;
        source_close(s);
    }
    out[len] = '\0';
    out[strcspn(out, " \r\n")] = '\0';
    text_release(&name);
}

/* Take .../models--ORG--REPO/snapshots/REVISION/REST apart. */
static void find_hub(struct hub *h, const char *path, size_t *root)
{
    static const char models[] = "/models--", snapshots[] = "/snapshots/";
    const char *at = strstr(path, models);
    const char *slash = at ? strchr(at + 1, '/') : NULL;
    if (!slash || strncmp(slash, snapshots, strlen(snapshots)) != 0)
        return;
    h->revision = slash + strlen(snapshots);
    const char *end = strchr(h->revision, '/');
    if (!end || end == h->revision || !end[1])
        return;
    h->repo = at + strlen(models);
    h->repo_len = (size_t)(slash - h->repo);
    h->rest = end + 1;
    *root = (size_t)(slash - path);
}

/* Neighbours are mostly of one repository, whose refs/main is then read once. */
static void find_hubs(struct labelling *l)
{
    char main[REVISION_BYTES + 1] = "";
    const char *known = "";
    size_t known_len = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct labelled *c = &l->list[i];
        size_t root = 0;
        find_hub(&c->hub, c->path, &root);
        if (!c->hub.repo)
            continue;
        if (root != known_len || memcmp(known, c->path, root) != 0)
            read_main(c->path, root, main);
        known = c->path;
        known_len = root;
        size_t len = (size_t)(c->hub.rest - 1 - c->hub.revision);
        c->hub.main = strlen(main) == len && memcmp(main, c->hub.revision, len) == 0;
    }
}

static void add_hub(struct text *t, const struct hub *h)
{
    size_t revision = (size_t)(h->rest - 1 - h->revision);
    for (size_t i = 0; i < h->repo_len; i++) {
        bool bars = i + 1 < h->repo_len && h->repo[i] == '-' && h->repo[i + 1] == '-';
        text_add(t, bars ? "/" : h->repo + i, 1);
        i += bars;
    }
    if (h->main)
        return;
    text_addc(t, '@');
    text_add(t, h->revision, revision < REVISION_SHOWN ? revision : REVISION_SHOWN);
}

/* --- names ------------------------------------------------------------------------------ */

/* The next form, from `form` on, that differs from those before it for this checkpoint. */
static enum form labels_settle(const struct labelled *c, enum form form)
{
    if (form <= FORM_FULL && !c->hub.repo && !c->run_tail)
        return FORM_TAIL;
    if (form == FORM_SHORT && !c->hub.repo && c->beside_model)
        form = FORM_FULL;
    return form == FORM_FULL && !c->hub.repo && !c->item ? FORM_TAIL : form;
}

static void make_name(struct labelling *l, struct labelled *c)
{
    struct text t = {0};
    c->form = labels_settle(c, c->form);
    if (c->form == FORM_PATH) {
        c->name = c->path;
    } else if (c->form == FORM_TAIL) {
        if (!c->tail)
            find_tails(l);
        c->name = c->tail;
    } else {
        bool full = c->form == FORM_FULL;
        if (c->hub.repo)
            add_hub(&t, &c->hub);
        else
            text_addf(&t, "%s@%lld", c->run_tail, (long long)c->step);
        if (full)
            text_addf(&t, c->hub.repo ? "/%s" : ":%s", c->hub.repo ? c->hub.rest : c->item);
        c->name = text_keep(&t, &l->arena);
    }
    text_release(&t);
}

/* Mark all checkpoints that share a name; in a step, a row that is no item keeps it. Returns whether any do. */
static bool find_taken(struct labelling *l)
{
    struct strmap names = {.err = l->err};
    bool any = false;
    for (size_t i = 0; i < l->count; i++) {
        struct labelled *c = &l->list[i];
        bool added;
        uint64_t *first = strmap_add(&names, c->name, strlen(c->name), &added);
        if (l->err->status != OK)
            break;
        if (added) {
            *first = i;
        } else {
            struct labelled *a = &l->list[*first];
            a->taken |= !(a->form == FORM_SHORT && !a->item && c->item);
            c->taken |= !(c->form == FORM_SHORT && !c->item && a->item);
            any = true;
        }
    }
    strmap_release(&names);
    return any;
}

/* --- rows ------------------------------------------------------------------------------- */

static const char *labels_keep(struct labelling *l, sqlite3_stmt *s, int column)
{
    const void *text = sqlite3_column_text(s, column);
    if (!text && sqlite3_column_type(s, column) != SQLITE_NULL)
        arena_fail(&l->arena);
    return text ? arena_copy(&l->arena, text, (size_t)sqlite3_column_bytes(s, column)) : NULL;
}

static const char naming[] = "cannot name the checkpoints";

/* Columns: id, path, name, run, step, item, the run and the state of its label. */
static void read_rows(struct labelling *l, sqlite3_stmt *s)
{
    while (db_row(s, naming, l->err)) {
        struct labelled c = {
            .id = sqlite3_column_int64(s, 0),
            .path = labels_keep(l, s, 1),
            .old = labels_keep(l, s, 2),
            .run = labels_keep(l, s, 3),
            .has_step = sqlite3_column_type(s, 4) != SQLITE_NULL,
            .step = sqlite3_column_int64(s, 4),
            .item = labels_keep(l, s, 5),
            .old_run = labels_keep(l, s, 6),
            .state = labels_keep(l, s, 7),
        };
        if (!c.path || !c.old) /* which the schema rules out */
            arena_fail(&l->arena);
        *PUSH(&l->arena, l->list, l->count, l->space) = c;
    }
}

static void put_saves(struct labelling *l)
{
    sqlite3_stmt *s = db_query_to(l->db, l->err, naming,
                                  "UPDATE _checkpoints SET run = ?2, item = ?3 WHERE id = ?1", "");
    for (size_t i = 0; i < l->count && l->err->status == OK; i++) {
        const struct labelled *c = &l->list[i];
        if (!c->moved)
            continue;
        db_bind(s, "iss", c->id, c->run, c->item);
        db_step(l->db, s, naming, l->err);
    }
    sqlite3_finalize(s);
}

static bool same_run(const struct labelled *c)
{
    return c->run_tail && c->old_run ? strcmp(c->run_tail, c->old_run) == 0
                                     : c->run_tail == c->old_run;
}

static void put_names(struct labelling *l, bool path)
{
    sqlite3_stmt *s = db_query_to(l->db, l->err, naming,
                                  "UPDATE _labels SET name = ?2, run = ?3 WHERE id = ?1", "");
    for (size_t i = 0; i < l->count && l->err->status == OK; i++) {
        const struct labelled *c = &l->list[i];
        const bool renamed = strcmp(c->name, c->old) != 0;
        /* A new one has its path already. */
        if (path ? !renamed || strcmp(c->path, c->old) == 0 : !renamed && same_run(c))
            continue;
        db_bind(s, "iss", c->id, path ? c->path : c->name, c->run_tail);
        db_step(l->db, s, naming, l->err);
    }
    sqlite3_finalize(s);
}

static void make_names(struct labelling *l)
{
    for (size_t i = 0; i < l->count; i++)
        make_name(l, &l->list[i]);
    while (l->err->status == OK && find_taken(l)) {
        for (size_t i = 0; i < l->count; i++) {
            struct labelled *c = &l->list[i];
            if (c->taken && c->form < FORM_PATH) {
                c->form++;
                make_name(l, c);
            }
            c->taken = false;
        }
    }
}

void labels_renew(sqlite3 *db, struct error *err)
{
    static const char complete[] =
        "INSERT INTO _labels(id, name) SELECT id, path FROM _checkpoints"
        " WHERE id NOT IN (SELECT id FROM _labels);"
        "DELETE FROM _labels WHERE id NOT IN (SELECT id FROM _checkpoints)";
    static const char all[] = "SELECT c.id, c.path, n.name, c.run, c.step, c.item, n.run, n.state"
                              " FROM _checkpoints c JOIN _labels n ON n.id = c.id ORDER BY c.id";
    struct labelling l = {.db = db, .arena = {.err = err}, .err = err};
    db_exec(db, complete, err);
    sqlite3_stmt *rows = db_query_to(db, err, naming, all, "");
    read_rows(&l, rows);
    sqlite3_finalize(rows);
    if (err->status == OK) {
        find_saves(&l);
        find_runs(&l);
        find_hubs(&l);
    }
    if (err->status == OK)
        make_names(&l);
    /* Names may pass from one checkpoint to another: all that change are set to the unique path
     * first. */
    put_saves(&l);
    put_names(&l, true);
    put_names(&l, false);
    arena_release(&l.arena);
}

/* --- those that were added -------------------------------------------------------------- */

/* A longer tail of the text that `tail` ends. */
static const char *longer_tail(const char *text, const char *tail)
{
    for (tail -= tail > text; tail > text && tail[-1] != '/';)
        tail--;
    return tail;
}

/* What the catalog calls a run; else the shortest tail, not shorter than it has, by which it calls no other. */
static void settle_run(struct labelling *l, struct labelled *c)
{
    static const char called[] =
        "SELECT c.run = ?2 FROM _labels n JOIN _checkpoints c ON c.id = n.id"
        " WHERE n.run = ?1 LIMIT 1";
    const char *end = c->run + strlen(c->run), *least = end - strlen(c->run_tail), *tail = end;
    for (bool settled = false; !settled && l->err->status == OK;) {
        tail = longer_tail(c->run, tail);
        sqlite3_stmt *s = db_query_to(l->db, l->err, naming, called, "ss", tail, c->run);
        settled = db_row(s, naming, l->err) ? sqlite3_column_int(s, 0) : tail <= least;
        sqlite3_finalize(s);
        if (settled || tail == c->run) {
            c->run_tail = tail;
            return;
        }
    }
}

/* The next form of a name that is taken. */
static void lengthen(struct labelling *l, struct labelled *c)
{
    if (c->form == FORM_TAIL && c->tail > c->path)
        c->tail = longer_tail(c->path, c->tail);
    else
        c->form++;
    make_name(l, c);
}

static void add_names(struct labelling *l)
{
    sqlite3_stmt *s =
        db_query_to(l->db, l->err, naming,
                    "INSERT INTO _labels(id, name, run, state) VALUES (?1, ?2, ?3, ?4)"
                    " ON CONFLICT(name) DO NOTHING"
                    " ON CONFLICT(id) DO UPDATE SET name = ?2, run = ?3, state = ?4",
                    "");
    for (size_t i = 0; i < l->count && l->err->status == OK; i++) {
        struct labelled *c = &l->list[i];
        for (bool added = false; !added && l->err->status == OK;) {
            db_bind(s, "isss", c->id, c->name, c->run_tail, c->state);
            db_step(l->db, s, naming, l->err);
            added = sqlite3_changes(l->db) > 0 || c->form == FORM_PATH;
            if (!added)
                lengthen(l, c);
        }
    }
    sqlite3_finalize(s);
}

void labels_add(sqlite3 *db, sqlite3_stmt *rows, struct error *err)
{
    struct labelling l = {.db = db, .arena = {.err = err}, .err = err};
    read_rows(&l, rows);
    find_runs(&l);
    find_hubs(&l);
    for (size_t i = 0; i < l.count && err->status == OK; i++) {
        struct labelled *c = &l.list[i], *before = i ? c - 1 : NULL;
        if (before && before->run_tail && c->run_tail && strcmp(before->run, c->run) == 0)
            c->run_tail = before->run_tail;
        else if (c->run_tail)
            settle_run(&l, c);
    }
    if (err->status == OK)
        make_names(&l);
    add_names(&l);
    arena_release(&l.arena);
}
