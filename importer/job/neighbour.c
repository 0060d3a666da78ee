/*
 * neighbour.c - config.json and other files that describe the checkpoint next to them.
 */
#include "catalog/base/name_list.h"
#include "importer/job/facts.h"

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

void job_meta_neighbour(struct job *job, const char *name)
{
    struct error err = {.offset = NO_OFFSET};
    struct text prefix = {.limit = LIMIT_FACT_KEY};
    struct bytes text = {0};
    const char *path = name;
    if (!is_beside(job, name))
        return;
    text_adds(&prefix, name);
    text_addc(&prefix, ':');
    if (text_str(&prefix) && read_text(job, name, &text, &path, &err)) {
        struct json j, ahead;
        json_init(&j, cursor_over(text, 0), job->arena, path, &err);
        j.python = true; /* json.dump() writes Infinity, and json.load() takes it */
        ahead = j;
        /* An invalid file adds no facts, however much can be read. */
        if (json_want(&ahead, JSON_OBJECT, "an object") && json_skip(&ahead) &&
            json_want(&ahead, JSON_END, "the end"))
            facts_state(job, &j, text_str(&prefix), '.');
    }
    text_release(&prefix);
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
}

void job_neighbours(struct job *job)
{
    for (const char *const *name = job->format->beside; *name; name++) {
        struct error ignored = {.offset = NO_OFFSET};
        struct source *s;
        uint32_t file;
        if (job->err->status == OK)
            job_meta_neighbour(job, *name);
        else if (is_beside(job, *name))
            job_open(job, *name, "config", &s, &file, &ignored);
    }
}
