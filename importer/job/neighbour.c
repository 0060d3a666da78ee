/*
 * neighbour.c - config.json and other files that describe the checkpoint next to them.
 */
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/model/step.h"
#include "importer/job/facts.h"
#include "importer/job/job_private.h"

static bool is_beside(struct job *job, const char *name)
{
    uint64_t count;
    const char *const *names = job_siblings(job, &count);
    return names_hold(names, count, name);
}

static bool read_text(struct job *job, const char *name, struct bytes *text, const char **path,
                      struct error *err)
{
    struct source *s;
    uint32_t file;
    uint8_t *bytes = NULL;
    if (job_open(job, name, "config", &s, &file, err) != OK)
        return false;
    *path = s->name;
    if (s->size > LIMIT_JSON_SIDE_FILE)
        error_set(err, ERR_LIMIT, s->name, NO_OFFSET, "%llu bytes, most is %llu for such a file",
                  (unsigned long long)s->size, (unsigned long long)LIMIT_JSON_SIDE_FILE);
    else if (!(bytes = arena_room(job->arena, (size_t)s->size)))
        error_memory_at(err, s->name);
    *text = (struct bytes){bytes, (size_t)s->size};
    return bytes && source_read(s, 0, bytes, text->len, err) == OK;
}

/* Read what stands beside the checkpoint as one JSON object, and add facts of it. */
static void state_json(struct job *job, const char *name,
                       bool (*state)(struct job *, struct json *, const char *key))
{
    struct error err = {.offset = NO_OFFSET};
    struct text prefix = {.limit = LIMIT_FACT_KEY};
    struct bytes text = {0};
    const char *path = name;
    if (!is_beside(job, name))
        return;
    text_addf(&prefix, "%s:", name);
    if (text_str(&prefix) && read_text(job, name, &text, &path, &err)) {
        struct json j, ahead;
        json_init(&j, cursor_over(text, 0), job->arena, path, &err);
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

static bool state_all(struct job *job, struct json *j, const char *key)
{
    return facts_state(job, j, key, '.');
}

void job_meta_neighbour(struct job *job, const char *name)
{
    state_json(job, name, state_all);
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

/* trainer_state.json of transformers: its log has an entry for each time that something was logged,
 * of which the last one counts. */
static bool state_trainer(struct job *job, struct json *j, const char *prefix)
{
    bool ok = json_want(j, JSON_OBJECT, "an object");
    while (ok && json_next(j) == JSON_KEY) {
        struct text key = {.limit = LIMIT_FACT_KEY};
        struct json last = *j, value;
        bool any = true;
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

/* Files that a trainer leaves beside a model, which hold no tensors. */
static const char *const beside_model[] = {
    "trainer_state.json", "training_args.bin", "scheduler.pt", "scheduler.bin", "scaler.pt", NULL};

static void add_fact(struct job *job, const char *name, const struct batch_meta *m)
{
    struct text key = {.limit = LIMIT_FACT_KEY};
    text_addf(&key, "%s:%s", name, m->key);
    if (!text_str(&key))
        ; /* longer than a key may be */
    else if (m->type == FACT_TEXT)
        job_meta_text(job, text_str(&key), m->text, m->text_len);
    else if (m->type == FACT_INTEGER)
        job_meta_integer(job, text_str(&key), m->integer);
    else if (m->type == FACT_REAL)
        job_meta_real(job, text_str(&key), m->real);
    else
        job_meta_null(job, text_str(&key));
    text_release(&key);
}

/* Add the facts of such a file, which a job of its own finds. If it does hold tensors, it is a
 * checkpoint. */
static void state_file(struct job *job, const char *name)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s;
    struct batch *b = NULL;
    uint8_t head[PROBE_HEAD_BYTES];
    uint32_t file;
    struct probe p = {.name = name};
    if (job_open(job, name, "facts", &s, &file, &err) == OK) {
        p.size = s->size;
        p.head = (struct bytes){head, s->size < sizeof(head) ? (size_t)s->size : sizeof(head)};
        source_read(s, 0, head, p.head.len, &err);
    }
    const struct format *format = err.status == OK ? format_for_file(&p) : NULL;
    if (format && format->index) {
        const struct job_request request = {
            .format = format, .path = s->name, .checkpoint_path = s->name};
        job_run_index(&request, &b, &err);
    }
    for (uint64_t i = 0; b && !b->failed && !b->layout->tensor_count && i < b->meta_count; i++)
        add_fact(job, name, &b->metas[i]);
    batch_free(b);
    /* What else is wrong with it is said where it is imported. */
    if (status_passes(err.status))
        job_issue_error(job, ISSUE_WARNING, &err);
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
    return step_model_rank(step_item(path)) < STEP_NO_MODEL &&
                   at - n < sizeof(beside_model) / sizeof(beside_model[0])
               ? beside_model[at - n]
               : NULL;
}

void job_neighbours(struct job *job)
{
    const char *name;
    for (size_t i = 0; (name = job_beside(job->format, job->batch->path, i)); i++) {
        struct error ignored = {.offset = NO_OFFSET};
        struct source *s;
        uint32_t file;
        if (!is_beside(job, name))
            continue;
        if (job->err->status != OK)
            job_open(job, name, "config", &s, &file, &ignored);
        else if (!text_ends_in(name, strlen(name), ".json"))
            state_file(job, name);
        else
            state_json(job, name, strcmp(name, beside_model[0]) == 0 ? state_trainer : state_all);
    }
}
