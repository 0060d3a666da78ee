/*
 * neighbour.c - config.json and other files that describe the checkpoint next to them.
 */
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/model/step.h"
#include "catalog/data/store/store.h"
#include "importer/job/facts.h"

#define TRAINER_STATE "trainer_state.json"

static bool read_text(struct job *job, const char *name, const char *path, struct bytes *text,
                      struct error *err)
{
    struct source *s;
    uint32_t file;
    uint8_t *bytes = NULL;
    if ((path ? job_open_path(job, path, "config", &s, &file, err)
              : job_open(job, name, "config", &s, &file, err)) != OK)
        return false;
    if (s->size > LIMIT_JSON_SIDE_FILE)
        error_set(err, ERR_LIMIT, s->name, NO_OFFSET, "%llu bytes, most is %llu for such a file",
                  (unsigned long long)s->size, (unsigned long long)LIMIT_JSON_SIDE_FILE);
    else if (!(bytes = arena_room(job->arena, (size_t)s->size)))
        error_memory_at(err, s->name);
    *text = (struct bytes){bytes, (size_t)s->size};
    return bytes && source_read(s, 0, bytes, text->len, err) == OK;
}

/* Read a file as one JSON object, and add its facts. path NULL: it is in the primary's directory. */
static void state_json(struct job *job, const char *name, const char *path,
                       bool (*state)(struct job *, struct json *, const char *key))
{
    struct error err = {.offset = NO_OFFSET};
    struct text prefix = {.limit = LIMIT_FACT_KEY};
    struct bytes text = {0};
    const uint64_t file = job->batch->file_count;
    text_addf(&prefix, "%s:", name);
    if (text_str(&prefix) && read_text(job, name, path, &text, &err)) {
        struct json j, ahead;
        json_init(&j, cursor_over(text, 0), job->arena, job->batch->files[file].path, &err);
        j.python = true; /* json.dump() writes Infinity, and json.load() takes it */
        ahead = j;
        /* An invalid file adds no facts, however much can be read. */
        if (json_want(&ahead, JSON_OBJECT, "an object") && json_skip(&ahead) &&
            json_want(&ahead, JSON_END, "the end"))
            state(job, &j, text_str(&prefix));
    }
    text_release(&prefix);
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
}

/* --- the model of a trainer's step -------------------------------------------------------- */

/* Skip to the end of a list; *last is where its last element begins, if there is one. */
static bool last_of_list(struct json *j, struct json *last, bool *any)
{
    if (json_next(j) != JSON_ARRAY)
        return json_fail(j, ERR_CORRUPT, NULL, "a list expected");
    for (*any = false;; *any = true) {
        struct json at = *j;
        if (json_next(j) == JSON_ARRAY_END)
            return true;
        if (!json_skip(j))
            return false;
        *last = at;
    }
}

/* trainer_state.json of transformers: its log has an entry for each time that something was logged;
 * the last one counts. */
static bool state_trainer(struct job *job, struct json *j, const char *prefix)
{
    bool ok = json_want(j, JSON_OBJECT, "an object");
    while (ok && json_next(j) == JSON_KEY) {
        struct text key = {.limit = LIMIT_FACT_KEY};
        struct json last = *j, value;
        bool any = true;
        if (memchr(j->text.at, '\0', j->text.len))
            return json_fail(j, ERR_CORRUPT, NULL, "a key holds a NUL character");
        text_adds(&key, prefix);
        text_add(&key, j->text.at, j->text.len);
        if (j->text.len == 11 && memcmp(j->text.at, "log_history", 11) == 0)
            ok = last_of_list(j, &last, &any);
        else
            ok = json_next(j) != JSON_FAIL && json_skip(j);
        value = last;
        if (json_next(&value) == JSON_OBJECT)
            text_addc(&key, '.');
        if (!text_str(&key))
            ok = json_fail(j, ERR_LIMIT, NULL, "a key of more than %llu bytes",
                           (unsigned long long)LIMIT_FACT_KEY);
        ok = ok && (!any || facts_state(job, &last, text_str(&key), '.'));
        text_release(&key);
    }
    return ok;
}

static bool state_members(struct job *job, struct json *j, const char *key)
{
    return facts_state(job, j, key, '.');
}

/* Files that a trainer leaves beside a model, which hold no tensors. */
static const char *const beside_model[] = {TRAINER_STATE,   "training_args.bin", "scheduler.pt",
                                           "scheduler.bin", "scaler.pt",         NULL};

void job_meta_neighbour(struct job *job, const char *name)
{
    uint64_t count;
    const char *const *names = job_siblings(job, &count);
    if (names_hold(names, count, name))
        state_json(job, name, NULL, state_members);
}

void job_meta_beside(struct job *job, const char *name, const char *path)
{
    state_json(job, name, path, strcmp(name, TRAINER_STATE) == 0 ? state_trainer : state_members);
}

bool job_beside_model(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *const *name = beside_model; slash && *name; name++)
        if (strcmp(slash + 1, *name) == 0)
            return true;
    return false;
}

const char *job_beside(const struct format *f, const char *path, size_t at)
{
    size_t n = 0;
    while (f->beside[n])
        n++;
    if (at < n)
        return f->beside[at];
    struct step_place place;
    if (at - n >= sizeof(beside_model) / sizeof(beside_model[0]) ||
        (step_model_rank(step_item(path)) >= STEP_NO_MODEL &&
         !(step_of_path(path, &place) && step_is_deepspeed(place.item))))
        return NULL; /* DeepSpeed's folder may be all that exists of the model */
    return beside_model[at - n];
}

const char *job_beside_path(struct arena *arena, const char *primary, const char *name)
{
    struct file_identity identity;
    struct error err = {.offset = NO_OFFSET};
    enum entry_kind kind = ENTRY_FILE;
    const char *slash = strrchr(primary, '/');
    const char *folder = slash ? arena_copy(arena, primary, (size_t)(slash - primary)) : NULL;
    char *path = folder ? arena_array(arena, path_size(folder, name), 1) : NULL;
    if (!path || path_look(path_join(path, folder, name), &kind, &identity, &err) == ERR_MISSING)
        return NULL;
    return kind == ENTRY_FILE ? path : NULL;
}
