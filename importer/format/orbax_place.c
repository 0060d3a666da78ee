/*
 * orbax_place.c - which item of which step of which run an Orbax checkpoint is, and what
 * the files around it state.
 *
 *   RUN/STEP/_CHECKPOINT_METADATA   {"metrics": ..., "custom_metadata": ..., ...}
 *   RUN/STEP/ITEM/                  arrays, or
 *   RUN/STEP/ITEM/metadata          JSON (also ITEM/metrics, ITEM/data.json)
 *
 * STEP is a number, or one after PREFIX_, perhaps padded with zeros. Arrays may also lie
 * in STEP itself.
 *
 * Source: orbax/checkpoint/_src/path/step.py, metadata/step_metadata_serialization.py,
 * handlers/json_checkpoint_handler.py.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/base/json.h"
#include "importer/format/orbax.h"
#include "importer/job/facts.h"

#define STEP_FILE       "_CHECKPOINT_METADATA"
#define JSON_ITEM_BYTES 65536 /* of a JSON item whose facts are told; more is data */
#define JSON_ITEMS      64    /* at most so many of a step, */
#define STEP_ENTRIES    1000  /* among so many entries */

/* --- facts -------------------------------------------------------------------------- */

/* Nothing is stated of a file that is not JSON to its end. */
static bool is_object(struct json j)
{
    return json_want(&j, JSON_OBJECT, "an object") && json_skip(&j) &&
           json_want(&j, JSON_END, "the end");
}

/* The first token of the next value; JSON_NULL for empty objects, too. */
static enum json_type look_ahead(struct json j)
{
    struct error ignored = {.offset = NO_OFFSET};
    j.err = &ignored;
    enum json_type type = json_next(&j);
    if (type == JSON_OBJECT && json_next(&j) == JSON_OBJECT_END)
        return JSON_NULL;
    return type;
}

/* The members of an object as facts, null and empty ones left out. */
static bool state_members(struct job *job, struct json *j, const char *prefix)
{
    struct text key = {.limit = LIMIT_FACT_KEY};
    bool good = json_next(j) == JSON_OBJECT;
    while (good && json_next(j) == JSON_KEY) {
        enum json_type type = look_ahead(*j);
        text_reset(&key);
        text_adds(&key, prefix);
        text_add(&key, j->text.at, j->text.len);
        if (type == JSON_OBJECT)
            text_addc(&key, '/');
        if (type == JSON_NULL)
            good = json_next(j) != JSON_FAIL && json_skip(j);
        else
            good = text_str(&key) && facts_state(job, j, text_str(&key), '/');
    }
    text_release(&key);
    return good;
}

/* State what a JSON file says, if it is there; trouble in it is a warning. */
static enum status state_file(struct job *job, const char *path, const char *prefix)
{
    struct error err = {.offset = NO_OFFSET};
    struct bytes text;
    struct json j;
    if (orbax_read(job, path, "config", job->arena, &text, &err) == OK && text.at) {
        json_init(&j, cursor_over(text, 0), job->arena, path, &err);
        j.python = true;
        if (is_object(j))
            state_members(job, &j, prefix);
    }
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
    return job->err->status;
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
    const char *directory = orbax_path(arena, step, item);
    for (size_t i = 0; directory && i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = orbax_path(arena, directory, names[i]);
        if (path && is_small_file(path) && !orbax_is_padding(path))
            return path;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status state_items(struct job *job, const char *step, const char *own)
{
    const char *items[JSON_ITEMS];
    size_t count = 0, seen = 0;
    DIR *d = opendir(step);
    if (!d)
        return OK;
    for (struct dirent *e; count < JSON_ITEMS && seen < STEP_ENTRIES && (e = readdir(d));
         seen++)
        if (e->d_name[0] != '.' && strcmp(e->d_name, own) != 0 &&
            json_item(job->arena, step, e->d_name))
            items[count++] = arena_copy(job->arena, e->d_name, strlen(e->d_name));
    closedir(d);
    qsort(items, count, sizeof(*items), by_text);
    for (size_t i = 0; i < count && items[i] && job->err->status == OK; i++) {
        char prefix[NAME_MAX + 2];
        snprintf(prefix, sizeof(prefix), "%s:", items[i]);
        state_file(job, json_item(job->arena, step, items[i]), prefix);
    }
    return job->err->status;
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

/* The directory above, and the last component; false at the root. */
static bool split(struct arena *arena, const char *path, const char **above,
                  const char **name)
{
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return false;
    *above = slash == path ? "/" : arena_copy(arena, path, (size_t)(slash - path));
    *name = slash + 1;
    return *above != NULL;
}

static bool has_step_file(struct arena *arena, const char *directory)
{
    struct stat st;
    const char *path = orbax_path(arena, directory, STEP_FILE);
    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

enum status orbax_place(struct job *job, const char *directory)
{
    const char *above, *name, *run, *parent;
    int64_t step;
    const char *path = orbax_path(job->arena, directory, STEP_FILE);
    if (!path)
        return error_set(job->err, ERR_MEMORY, directory, NO_OFFSET, "no memory");
    if (state_file(job, path, "") != OK || !split(job->arena, directory, &above, &name))
        return job->err->status;
    bool item = has_step_file(job->arena, above) && !has_step_file(job->arena, directory);
    if (!item && step_of_name(name, &step)) {
        job_step(job, step);
        job_run(job, above, NULL);
        return OK;
    }
    bool steps = split(job->arena, above, &run, &parent) && step_of_name(parent, &step);
    if (!item && !steps)
        return OK;
    if (steps)
        job_step(job, step);
    job_run(job, steps ? run : NULL, name);
    path = orbax_path(job->arena, above, STEP_FILE);
    if (!path)
        return error_set(job->err, ERR_MEMORY, directory, NO_OFFSET, "no memory");
    if (state_file(job, path, "") != OK)
        return job->err->status;
    return state_items(job, above, name);
}
