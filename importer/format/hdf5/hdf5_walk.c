/* hdf5_walk.c - the walk through the groups of an HDF5 file; see hdf5_walk.h. */
#include "importer/format/hdf5/hdf5_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/store/store.h"

#define DEPTH_MAX 256 /* nested groups */

/* An open group on the path from the root to the current object. */
struct hdf5_level {
    struct hdf5_level *above;
    struct arena arena; /* holds its links */
    struct hdf5_links links;
    size_t next;     /* link to follow next */
    size_t name_len; /* the group's name is this much of the tree's */
    uint64_t address;
    bool empty;
};

static void enter_group(struct hdf5_tree *t, const struct hdf5_object *o, struct error *err)
{
    struct hdf5_level *l = calloc(1, sizeof(*l));
    if (!l) {
        error_memory_at(err, t->path);
        return;
    }
    l->above = t->top;
    l->address = o->address;
    l->name_len = t->name.len;
    l->empty = true;
    t->top = l;
    t->depth++;
    l->arena.err = err; /* hdf5_links() alone takes from it */
    hdf5_links(&t->h, o, &l->arena, &l->links);
}

static void leave_group(struct hdf5_tree *t)
{
    struct hdf5_level *l = t->top;
    t->top = l->above;
    t->depth--;
    arena_release(&l->arena);
    free(l);
}

/* Report an error in one object under its name, and go on. Failures of memory or reading, of the
 * job, and of the file as a whole are passed up in *err. */
static void report_or_pass(struct hdf5_tree *t, struct error *why, struct error *err)
{
    char what[240];
    if (why->status == OK || status_passes(why->status) || t->job->err->status != OK ||
        (why->status == ERR_LIMIT && !t->h.budget)) {
        if (why->status != OK)
            *err = *why;
        else if (t->job->err->status != OK)
            *err = *t->job->err;
        return;
    }
    snprintf(what, sizeof(what), "\"%.*s\"", (int)(t->name.len < 200 ? t->name.len : 200),
             t->name.at ? t->name.at : "");
    error_prefix(why, what);
    job_issue_error(t->job, ISSUE_ERROR, why);
}

static void see_group(struct hdf5_tree *t, const struct hdf5_object *o, struct arena *arena,
                      struct error *err)
{
    for (const struct hdf5_level *l = t->top; l; l = l->above)
        if (l->address == o->address) {
            job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "link",
                      "\"%.*s\" links back to a group above it: not followed",
                      (int)(t->name.len < 200 ? t->name.len : 200), t->name.at);
            return;
        }
    if (t->depth >= DEPTH_MAX)
        error_set(err, ERR_LIMIT, t->path, NO_OFFSET, "groups more than %d deep", DEPTH_MAX);
    else
        hdf5_tree_facts(t, o, arena, NULL);
    if (err->status == OK)
        enter_group(t, o, err);
}

static void see_object(struct hdf5_tree *t, uint64_t address, struct error *err)
{
    struct arena arena = {.err = err};
    struct hdf5_object o;
    if (hdf5_object(&t->h, address, &arena, &o))
        switch (hdf5_kind(&o)) {
        case HDF5_GROUP: see_group(t, &o, &arena, err); break;
        case HDF5_DATASET: hdf5_tree_tensor(t, &o, &arena); break;
        case HDF5_NAMED_TYPE: break;
        case HDF5_NOTHING:
            error_set(err, ERR_CORRUPT, t->path, NO_OFFSET,
                      "an object that is neither a group nor a dataset");
            error_code(err, "bad-hdf5");
            break;
        }
    arena_release(&arena);
}

/* Report a link that is not followed. */
static void report_link(struct hdf5_tree *t, const struct hdf5_link *l)
{
    static const char *const kinds[] = {"", "a soft link", "an external link",
                                        "a link of another kind"};
    char target[161] = "";
    size_t len = l->target.len < 160 ? l->target.len : 160;
    if (len)
        memcpy(target, l->target.at, len);
    for (size_t i = 0; i < len; i++) /* an external link is file, NUL, path */
        if (!target[i])
            target[i] = ' ';
    job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "link", "\"%.*s\" is %s%s%s: not followed",
              (int)(t->name.len < 200 ? t->name.len : 200), t->name.at, kinds[l->kind],
              *target ? " to " : "", target);
}

static void see_link(struct hdf5_tree *t, struct hdf5_level *level, const struct hdf5_link *l,
                     struct error *err)
{
    struct error why = {.offset = NO_OFFSET};
    t->name.len = level->name_len;
    if (t->name.len)
        text_addc(&t->name, '/');
    text_add(&t->name, l->name, l->len);
    if (t->name.failed) {
        error_set(err, ERR_LIMIT, t->path, NO_OFFSET, "a name over %llu bytes",
                  (unsigned long long)LIMIT_NAME_BYTES);
        return;
    }
    level->empty = false;
    hdf5_catch(&t->h, &why);
    if (l->kind != HDF5_HARD)
        report_link(t, l);
    else
        see_object(t, l->object, &why);
    hdf5_catch(&t->h, err);
    report_or_pass(t, &why, err);
}

static void walk_groups(struct hdf5_tree *t, struct error *err)
{
    struct arena arena = {.err = err};
    struct hdf5_object root;
    if (hdf5_object(&t->h, t->h.root, &arena, &root))
        hdf5_tree_facts(t, &root, &arena, NULL);
    if (err->status == OK)
        enter_group(t, &root, err);
    arena_release(&arena);
    while (t->top && err->status == OK) {
        struct hdf5_level *l = t->top;
        if (l->next < l->links.count) {
            see_link(t, l, &l->links.at[l->next++], err);
            continue;
        }
        const bool leaf = l->empty && l->above && !t->wants; /* an empty group */
        t->name.len = l->name_len;
        leave_group(t);
        if (leaf && job_node(t->job, t->name.at, t->name.len, "dict") != OK)
            *err = *t->job->err;
    }
}

enum status hdf5_tree_index(struct hdf5_tree *t, const struct source *source, struct error *err)
{
    t->name = (struct text){.limit = LIMIT_NAME_BYTES};
    t->top = NULL;
    t->depth = 0;
    if (hdf5_open(source, &t->h, err)) {
        if (t->h.unclosed)
            job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "unclosed",
                      "the file was not closed by its writer%s: what it wrote last may be missing",
                      t->h.swmr ? ", or is still being written" : "");
        if (!path_is_local(t->path))
            hdf5_foresee(&t->h);
        walk_groups(t, err);
    }
    while (t->top)
        leave_group(t);
    text_release(&t->name);
    hdf5_close(&t->h);
    return err->status;
}
