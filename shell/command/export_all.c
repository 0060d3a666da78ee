#include "shell/command/export_one.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shell/command/set_option.h"

/* The output of one checkpoint. */
struct planned {
    int64_t id;
    char *name, *path;           /* malloc'ed */
    const char *refused;         /* NULL: not */
    const struct planned *meets; /* whose name ends the sentence; may be NULL */
};

struct all {
    struct session *session;
    const struct args *args;
    const char *folder;
    struct ckptdb_export_options *options;
    char *suffixes; /* of the format, the usual first; malloc'ed; NULL: there is no such format */
    int64_t *ids;
    struct planned *plan, **sorted; /* `count`, as are the ids; sorted by path */
    size_t count;
    struct text rows; /* a JSON list of what was done */
};

/* --- names -------------------------------------------------------------------------------- */

static bool find_format(void *context, const struct ckptdb_format *f)
{
    struct all *a = context;
    if (!f->writes || strcmp(f->name, a->options->format) != 0)
        return true;
    a->suffixes = strdup(f->outputs);
    return false;
}

/* Whether a path that ends in this is inside of the folder that it begins with, whatever the folder has. */
static bool stays_inside(const char *name)
{
    for (const char *at = name;; at++) {
        const size_t len = strcspn(at, "/");
        if (!len || (len == 1 && *at == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        at += len;
        if (!*at)
            return true;
    }
}

/* Whether the name ends in a suffix of the format already: model.safetensors. */
static bool has_suffix(const char *name, const char *suffixes)
{
    const size_t size = strlen(name);
    for (const char *at = suffixes; *at; at += strspn(at, " ")) {
        const size_t len = strcspn(at, " ");
        if (size > len && memcmp(name + size - len, at, len) == 0)
            return true;
        at += len;
    }
    return false;
}

static void plan_one(const struct all *a, struct planned *p)
{
    struct text path = {0};
    sqlite3_stmt *row =
        session_prepare(a->session, "SELECT name FROM checkpoint WHERE id = ?1", "i", p->id);
    p->name = session_row(a->session, row) ? strdup(session_text(row, 0)) : NULL;
    sqlite3_finalize(row);
    if (!p->name)
        return;
    text_addf(&path, "%s/%s", a->folder, p->name);
    if (!has_suffix(p->name, a->suffixes))
        text_add(&path, a->suffixes, strcspn(a->suffixes, " "));
    p->path = text_str(&path) ? strdup(text_str(&path)) : NULL;
    text_release(&path);
    if (!stays_inside(p->name))
        p->refused = "its name is no path inside of a folder; export it alone, under another name";
}

/* '/' before all others, so that what lies in an output follows it. */
static int by_path(const void *a, const void *b)
{
    const char *p = (*(struct planned *const *)a)->path, *q = (*(struct planned *const *)b)->path;
    while (*p && *p == *q)
        p++, q++;
    return *p == '/' && *q   ? *q == '/' ? 0 : -1
           : *q == '/' && *p ? 1
                             : (unsigned char)*p - (unsigned char)*q;
}

/* Two outputs must not be one, and none may lie in another, which may be a folder. */
static void refuse_meeting(struct all *a)
{
    qsort(a->sorted, a->count, sizeof(struct planned *), by_path);
    struct planned *above = NULL;
    for (size_t i = 0; i < a->count; i++) {
        struct planned *p = a->sorted[i];
        const size_t len = above ? strlen(above->path) : 0;
        if (!above || strncmp(p->path, above->path, len) != 0 ||
            (p->path[len] && p->path[len] != '/')) {
            above = p;
            continue;
        }
        p->meets = above;
        p->refused = "it would lie in the output of ";
        if (!p->path[len]) {
            p->refused = above->refused = "its output would have the same name as the output of ";
            above->meets = p;
        }
    }
}

static bool plan_all(struct all *a)
{
    a->plan = calloc(a->count, sizeof(*a->plan));
    a->sorted = calloc(a->count, sizeof(*a->sorted));
    bool ok = a->plan && a->sorted;
    for (size_t i = 0; i < a->count && ok; i++) {
        a->sorted[i] = &a->plan[i];
        a->plan[i].id = a->ids[i];
        plan_one(a, &a->plan[i]);
        ok = a->plan[i].path;
    }
    if (!ok)
        complain("no memory for the names of outputs");
    else
        refuse_meeting(a);
    return ok;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Create the folders of a path, from the one that `path` has at `at` on. */
static bool make_folders(char *path, size_t at)
{
    bool ok = true;
    for (char *slash = path + at; ok && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        ok = mkdir(path, 0777) == 0 || errno == EEXIST ||
             complain_errno(errno, path, "cannot make it");
        *slash = '/';
    }
    return ok;
}

static int write_one(struct all *a, struct planned *p, struct export_result *result)
{
    struct ckptdb_export_options *o = a->options;
    if (p->refused) {
        snprintf(result->error, sizeof(result->error), "%s%s", p->refused,
                 p->meets ? p->meets->name : "");
        complain("%s: not exported: %s", p->name, result->error);
        return STATUS_NO;
    }
    complain("%s: to %s", p->name, p->path);
    o->checkpoint = p->id;
    int status = o->map ? settings_give(a->session, a->args, o->map, p->id) : STATUS_FINE;
    if (status == STATUS_FINE && !o->dry_run && !make_folders(p->path, strlen(a->folder)))
        status = STATUS_TROUBLE;
    if (status != STATUS_FINE)
        snprintf(result->error, sizeof(result->error), "not written");
    return status == STATUS_FINE ? export_one(a->session, p->path, o, result) : status;
}

static void add_outcome(struct all *a, const struct planned *p, const struct export_result *result)
{
    text_adds(&a->rows, a->rows.len ? ",{\"checkpoint\":" : "[{\"checkpoint\":");
    text_json(&a->rows, p->name, strlen(p->name));
    text_addc(&a->rows, ',');
    export_report(&a->rows, p->path, result);
    text_adds(&a->rows, ",\"error\":");
    if (*result->error)
        text_json(&a->rows, result->error, strlen(result->error));
    else
        text_adds(&a->rows, "null");
    text_addc(&a->rows, '}');
}

static int write_all(struct all *a)
{
    size_t failed = 0;
    for (size_t i = 0; i < a->count; i++) {
        struct export_result result = {.done = {.format = a->options->format}};
        const int status = write_one(a, &a->plan[i], &result);
        if (status == STATUS_INTERRUPTED || session_interrupted)
            return STATUS_INTERRUPTED;
        failed += status != STATUS_FINE;
        add_outcome(a, &a->plan[i], &result);
    }
    if (failed)
        complain("%zu of %zu checkpoints were not exported", failed, a->count);
    return failed ? STATUS_NO : STATUS_FINE;
}

/* What was done, or would be, as rows: for programs, and where nothing else shows it. */
static int list_rows(struct all *a)
{
    text_addc(&a->rows, ']');
    if (a->session->mode == MODE_AUTO && !a->options->dry_run)
        return STATUS_FINE;
    return render_json(a->session,
                       "SELECT value ->> 'checkpoint' AS checkpoint, value ->> 'path' AS path,"
                       " value ->> 'format' AS format, value ->> 'tensors' AS tensors,"
                       " value ->> 'nbytes' AS nbytes, value ->> 'files' AS files,"
                       " value ->> 'error' AS error FROM json_each(?1)",
                       text_str(&a->rows) ? text_str(&a->rows) : "[]");
}

int export_all(struct session *s, const struct args *args, const char *glob, const char *folder,
               struct ckptdb_export_options *o)
{
    struct all a = {.session = s, .args = args, .folder = folder, .options = o};
    ckptdb_formats(find_format, &a);
    if (!a.suffixes) {
        complain("--format %s: not a format that can be written (`ckptdb formats` lists them)",
                 o->format);
        return STATUS_TROUBLE;
    }
    a.ids = session_checkpoints(s, &glob, 1, &a.count);
    if (!a.ids) {
        free(a.suffixes);
        return STATUS_NO;
    }
    o->spared = a.ids;
    o->spared_count = a.count;
    int status = STATUS_TROUBLE;
    if (plan_all(&a) && (o->dry_run || mkdir(folder, 0777) == 0 || errno == EEXIST ||
                         complain_errno(errno, folder, "cannot make the folder"))) {
        status = write_all(&a);
        const int listed = status == STATUS_INTERRUPTED ? status : list_rows(&a);
        status = listed != STATUS_FINE ? listed : status;
    }
    for (size_t i = 0; a.plan && i < a.count; i++) {
        free(a.plan[i].name);
        free(a.plan[i].path);
    }
    free(a.plan);
    free(a.sorted);
    free(a.ids);
    free(a.suffixes);
    text_release(&a.rows);
    return status;
}
