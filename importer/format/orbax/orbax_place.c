/*
 * orbax_place.c - the run, step and item that an Orbax checkpoint is, and the facts in the files
 * around it.
 *
 *   RUN/metadata/_ROOT_METADATA     {"custom_metadata": ..., "internal_metadata": ...}, or
 *   RUN/metadata/metadata           that custom_metadata alone (older)
 *   RUN/STEP/_CHECKPOINT_METADATA   {"metrics": ..., "custom_metadata": ..., ...}
 *   RUN/STEP/ITEM/                  arrays, or
 *   RUN/STEP/ITEM/metadata          JSON (also ITEM/metrics, ITEM/data.json), or
 *   RUN/STEP/ITEM/jax_random_key/   arrays of a random key (also np_random_key), with
 *   RUN/STEP/ITEM/jax_random_key_metadata/metadata
 *
 * STEP is a number, perhaps after PREFIX_ and padded with zeros. Arrays may also be in STEP
 * itself. Without a _CHECKPOINT_METADATA, a directory is an item if it is in a step, is called
 * `default`, or has a JSON item or commit_success.txt beside it.
 *
 * Source: orbax/checkpoint/_src/path/step.py, metadata/checkpoint.py,
 * metadata/step_metadata_serialization.py, handlers/json_checkpoint_handler.py,
 * handlers/random_key_checkpoint_handler.py.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/base/name_list.h"
#include "catalog/data/store/store.h"
#include "importer/format/orbax/orbax.h"
#include "importer/job/facts.h"

#define STEP_FILE       "_CHECKPOINT_METADATA"
#define JSON_ITEM_BYTES 65536 /* of a JSON item read for facts; a larger one is data */
#define JSON_ITEMS      64    /* at most this many of a step are read, */
#define STEP_ENTRIES    1000  /* and this many entries searched for them */
#define FEW_ENTRIES     32    /* a folder with more holds checkpoints, not items */

/* --- facts -------------------------------------------------------------------------- */

/* The first token of the next value; JSON_NULL also for an empty object. */
static enum json_type orbax_place_look_ahead(struct json j)
{
    struct error ignored = {.offset = NO_OFFSET};
    j.err = &ignored;
    enum json_type type = json_next(&j);
    if (type == JSON_OBJECT && json_next(&j) == JSON_OBJECT_END)
        return JSON_NULL;
    return type;
}

struct stated {
    struct job *job;
    const char *prefix; /* of the facts' keys */
};

/* State a member of an object as a fact, unless it is null or an empty object. */
static bool state_member(void *context, struct json *j)
{
    const struct stated *s = context;
    const enum json_type type = orbax_place_look_ahead(*j);
    struct text key = {0}; /* facts_state() reports one that is too long */
    bool good;
    text_adds(&key, s->prefix);
    text_add(&key, j->text.at, j->text.len);
    if (type == JSON_OBJECT)
        text_addc(&key, '/');
    if (type == JSON_NULL)
        good = json_pass(j);
    else
        good = text_str(&key) ? facts_state(s->job, j, text_str(&key), '/')
                              : json_fail(j, ERR_MEMORY, NULL, "no memory");
    text_release(&key);
    return good;
}

/* State the contents of a JSON file as facts, if it exists; errors in it are a warning. */
static void state_file(struct job *job, const char *path, const char *prefix)
{
    static const struct json_member table[] = {{NULL, state_member}};
    struct error err = {.offset = NO_OFFSET};
    struct bytes text;
    struct json j;
    if (orbax_read(job, path, "config", job->arena, &text, &err) == OK && text.at) {
        json_init(&j, cursor_over(text, 0), job->arena, path, &err);
        j.python = true;
        struct json whole =
            j; /* of files that are not one JSON object, no facts are stated at all */
        if (json_want(&whole, JSON_OBJECT, "an object") && json_skip(&whole) &&
            json_want(&whole, JSON_END, "the end"))
            json_object(&j, "an object", table, &(struct stated){job, prefix});
    }
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
}

static bool has_file(struct arena *arena, const char *directory, const char *name)
{
    const char *path = array_below(arena, directory, name);
    return path_is(path, ENTRY_FILE);
}

/* --- items that are JSON ------------------------------------------------------------ */

static bool is_small_file(const char *path)
{
    struct file_identity identity;
    struct error ignored = {.offset = NO_OFFSET};
    return file_identify(path, &identity, &ignored) == OK && identity.size > 1 &&
           identity.size <= JSON_ITEM_BYTES;
}

/* The file of a JSON item; NULL: the item is something else. */
static const char *json_item(struct arena *arena, const char *step, const char *item)
{
    static const char *const names[] = {"metadata", "metrics", "data.json"};
    const char *directory = array_below(arena, step, item);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = array_below(arena, directory, names[i]);
        if (is_small_file(path) && !orbax_is_padding(path))
            return path;
    }
    return NULL;
}

/* The first names of a directory, in no particular order, without hidden ones and `but`. */
struct few {
    struct arena *arena;
    const char *but;
    const char **at;
    size_t count, room, left; /* left: entries that may still be looked at */
    bool items;               /* only names of JSON items */
    const char *directory;
};

static bool take_name(void *context, const struct directory_entry *e)
{
    struct few *f = context;
    if (!f->left-- || f->count == f->room)
        return false;
    if (e->name[0] == '.' || strcmp(e->name, f->but) == 0 ||
        (f->items && !json_item(f->arena, f->directory, e->name)))
        return true;
    f->at[f->count++] = arena_copy(f->arena, e->name, strlen(e->name));
    return !f->arena->failed;
}

static void list_few(struct few *f)
{
    struct error ignored = {.offset = NO_OFFSET};
    directory_list(f->directory, 0, NULL, take_name, f, &ignored);
}

/* State the JSON items of a step. A folder that is a step by its name alone and has many entries
 * may hold as many checkpoints, and each would look at all entries. */
static void state_items(struct job *job, const char *step, const char *own)
{
    const char *items[JSON_ITEMS];
    struct few f = {.arena = job->arena,
                    .but = own,
                    .at = items,
                    .room = FEW_ENTRIES + 1,
                    .left = SIZE_MAX,
                    .directory = step};
    if (has_file(job->arena, step, STEP_FILE)) {
        f.room = JSON_ITEMS;
        f.left = STEP_ENTRIES;
        f.items = true;
    }
    list_few(&f);
    if (!f.items && f.count > FEW_ENTRIES)
        return;
    names_sort(items, f.count);
    for (size_t i = 0; i < f.count && job->err->status == OK; i++) {
        char prefix[NAME_MAX + 2];
        snprintf(prefix, sizeof(prefix), "%s:", items[i]);
        const char *path = json_item(job->arena, step, items[i]);
        if (path) /* it may be gone since it was listed */
            state_file(job, path, prefix);
    }
}

/* --- steps -------------------------------------------------------------------------- */

static bool step_of_name(const char *name, int64_t *step)
{
    const char *bar = strrchr(name, '_');
    const char *digits = bar ? bar + 1 : name;
    size_t len = strlen(digits);
    if (len == 0 || len > 18 || strspn(digits, "0123456789") != len)
        return false;
    *step = strtoll(digits, NULL, 10);
    return true;
}

/* Split a path into the directory above and the last component; false at the root. */
static bool orbax_place_split(struct arena *arena, const char *path, const char **above,
                              const char **name)
{
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return false;
    *above = slash == path ? "/" : arena_copy(arena, path, (size_t)(slash - path));
    *name = slash + 1;
    return true;
}

/* An item's directory and what is around it. */
struct place {
    struct job *job;
    const char *directory;    /* the item's; may be a step that has no items */
    const char *above, *name; /* the directory above it, and its own last component */
    bool item;                /* `above` has a _CHECKPOINT_METADATA, and it has none itself */
    bool steps;               /* `above` is named like a step: number `step` of `run` */
    int64_t step;
    const char *run; /* the directory that holds the steps */
};

static void state_step_file(struct place *p, const char *directory, const char *prefix)
{
    state_file(p->job, array_below(p->job->arena, directory, STEP_FILE), prefix);
}

/* State the facts of a CheckpointManager about all steps of the run. */
static void state_root(struct place *p)
{
    struct arena *arena = p->job->arena;
    if (has_file(arena, p->run, "metadata/_ROOT_METADATA"))
        state_file(p->job, array_below(arena, p->run, "metadata/_ROOT_METADATA"),
                   "_ROOT_METADATA:");
    else if (has_file(arena, p->run, "metadata/metadata"))
        state_file(p->job, array_below(arena, p->run, "metadata/metadata"),
                   "_ROOT_METADATA:custom_metadata/");
}

/* Whether a JSON item, or the marker of a completed save, is beside the directory. */
static bool beside_items(struct place *p)
{
    const char *beside[FEW_ENTRIES + 1];
    struct few f = {.arena = p->job->arena,
                    .but = p->name,
                    .at = beside,
                    .room = FEW_ENTRIES + 1,
                    .left = SIZE_MAX,
                    .directory = p->above};
    list_few(&f);
    bool found = has_file(p->job->arena, p->above, "commit_success.txt");
    for (size_t i = 0; !found && f.count <= FEW_ENTRIES && i < f.count; i++)
        found = json_item(p->job->arena, p->above, beside[i]);
    return found;
}

/* Split the directory's path, and look for signs that it is an item. False: nothing is above it. */
static bool look_around(struct place *p)
{
    struct arena *arena = p->job->arena;
    const char *parent;
    if (!orbax_place_split(arena, p->directory, &p->above, &p->name))
        return false;
    p->item = has_file(arena, p->above, STEP_FILE) && !has_file(arena, p->directory, STEP_FILE);
    p->steps =
        orbax_place_split(arena, p->above, &p->run, &parent) && step_of_name(parent, &p->step);
    return true;
}

/* The arrays of a random key are one directory deeper than the arrays of other items,
 * STEP/ITEM/jax_random_key. The item then is the directory above, unless that is neither an item
 * nor in a step. */
static void leave_random_key(struct place *p)
{
    static const char *const names[] = {"jax_random_key", "np_random_key"};
    struct place around = *p;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char metadata[40];
        snprintf(metadata, sizeof(metadata), "%s_metadata", names[i]);
        if (p->item || strcmp(p->name, names[i]) != 0 ||
            !json_item(p->job->arena, p->above, metadata))
            continue;
        around.directory = p->above;
        if (!look_around(&around) || !(around.item || around.steps))
            return;
        state_items(p->job, p->above, p->name);
        *p = around;
        return;
    }
}

void orbax_place(struct job *job, const char *directory)
{
    struct place p = {.job = job, .directory = directory};
    char prefix[NAME_MAX + 2] = "";
    int64_t step;
    if (!look_around(&p))
        return;
    leave_random_key(&p);
    if (p.steps && has_file(job->arena, p.above, STEP_FILE)) /* that one has no prefix */
        snprintf(prefix, sizeof(prefix), "%s:", p.name);
    state_step_file(&p, directory, prefix);
    if (!p.item && step_of_name(p.name, &step)) {
        p.run = p.above;
        job_step(job, step);
        job_run(job, p.run, NULL);
        state_root(&p);
        return;
    }
    if (p.steps) {
        job_step(job, p.step);
        state_root(&p);
    } else if (!p.item && strcmp(p.name, "default") != 0 && !beside_items(&p)) {
        return;
    }
    job_run(job, p.steps ? p.run : NULL, p.name);
    state_step_file(&p, p.above, "");
    state_items(job, p.above, p.name);
}
