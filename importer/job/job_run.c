#include "importer/job/job_run.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/base/text.h"
#include "catalog/data/model/step.h"
#include "catalog/data/store/store.h"
#include "importer/job/job_private.h"

static void open_primary(struct job *job, const struct job_request *request)
{
    struct file_identity identity = {0};
    uint32_t file;
    struct source *source = request->source;
    job->batch->folder =
        !source && request->format->probe_dir && path_is(request->path, ENTRY_FOLDER);
    if (job->batch->folder) {
        /* recorded, so that a later import notices added and removed entries */
        if (file_identify(request->path, &identity, job->err) == OK)
            job_seen(job, request->path, "directory", &identity, &file);
        return;
    }
    if (source)
        identity.size = source->size;
    else if (source_open_file(request->path, SOURCE_HEADERS, &source, &identity, job->err) != OK)
        return;
    if (!job_keep_source(job, source))
        return;
    job->source = source;
    job_seen(job, request->path, "data", &identity, &file);
}

static void give_up(struct job *job)
{
    struct batch *b = job->batch;
    b->failed = true;
    b->layout = NULL;
    b->sums = NULL;
    b->sum_kind = NULL;
    b->meta_count = 0;
    uint64_t before = b->issue_count;
    job->arena->failed = false; /* the issue may find room */
    job_issue_error(job, ISSUE_ERROR, job->err);
    if (b->issue_count == before) { /* not enough memory even for the issue */
        b->last = (struct batch_issue){.path = job->path,
                                       .offset = NO_OFFSET,
                                       .code = error_word(job->err),
                                       .message = "no memory left to index it"};
        b->issues = &b->last;
        b->issue_count = 1;
    }
}

static bool tells_of_trouble(const struct batch *b)
{
    for (uint64_t i = 0; i < b->issue_count; i++)
        if (strcmp(b->issues[i].code, status_name(ERR_IO)) == 0 ||
            strcmp(b->issues[i].code, status_name(ERR_MEMORY)) == 0)
            return true;
    return false;
}

/* If memory or reading failed in this thread and the format took the failure for an absence, or
 * for damage, report it: because of the issue the next import looks again. (Threads of a job
 * report their own.) */
static void report_trouble(struct job *job, unsigned long before)
{
    const struct error *last;
    if (error_troubles(&last) == before || tells_of_trouble(job->batch))
        return;
    struct error trouble = *last;
    job_issue_error(job, ISSUE_ERROR, &trouble);
}

static void close_all(struct job_private *p)
{
    for (struct open_source *o = p->opened; o; o = o->next)
        source_close(o->source);
    strmap_release(&p->names);
    strmap_release(&p->kinds);
    text_release(&p->scratch);
}

/* Report a fact that says another step than the path, unless that counts epochs (by its own word, or
 * because the file's epoch is that), or the two count from 0 and from 1. */
static void report_other_step(struct job *job, const struct step_place *place)
{
    static const char *const keys[] = {"global_step", "iter_num", "iteration",
                                       "trainer_state.json:global_step", "step"};
    const size_t count = sizeof(keys) / sizeof(keys[0]);
    const struct batch_meta *other = NULL;
    /* an optimizer's or a generator's step is its own */
    const bool model = !place->item.len || step_model_rank(place->item) < STEP_NO_MODEL;
    if (place->epoch)
        return;
    for (uint64_t i = 0; i < job->batch->meta_count; i++) {
        const struct batch_meta *m = &job->batch->metas[i];
        if (m->type != FACT_INTEGER || m->integer < 0)
            continue;
        const bool near = m->integer - place->step <= 1 && place->step - m->integer <= 1;
        if (near && strcmp(m->key, "epoch") == 0)
            return;
        for (size_t k = 0; k + !model < count && !near && !other; k++)
            other = strcmp(m->key, keys[k]) == 0 ? m : NULL;
    }
    if (other)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "other-step",
                  "its name says step %lld, its fact %s says %lld: the name counts",
                  (long long)place->step, other->key, (long long)other->integer);
}

/* If the files state no step, take it from the path. */
static void take_step_of_path(struct job *job)
{
    struct batch *b = job->batch;
    struct step_place place;
    b->has_step = step_of_path(b->path, &place);
    if (!b->has_step)
        return;
    b->step = place.step;
    report_other_step(job, &place);
    if (!b->run)
        b->run = arena_copy(job->arena, b->path, place.run);
    if (!b->item && place.item.len)
        b->item = arena_copy(job->arena, place.item.at, place.item.len);
}

/* Report files inside a checkpoint directory that are named like
 * checkpoints: they are not imported. */
static void report_inside(struct job *job, const struct job_request *request)
{
    const struct batch *b = job->batch;
    uint64_t count = 0;
    const char *first = NULL;
    struct strmap own = {.err = job->err};
    size_t dir = strlen(job->path) + 1;
    bool added;
    for (uint64_t i = 0; i < b->file_count; i++)
        if (strlen(b->files[i].path) > dir)
            strmap_add(&own, b->files[i].path + dir, strlen(b->files[i].path + dir), &added);
    for (uint64_t i = 0; i < request->sibling_count; i++) {
        const char *name = request->siblings[i];
        if (!format_claims_name(name) || strmap_get(&own, name, strlen(name)))
            continue;
        /* known by name, but another program's: T5X's train_ds-000-of-001.index */
        const struct format *f = format_for_file(&(struct probe){.name = name});
        if (f && !f->index)
            continue;
        first = first ? first : name;
        count++;
    }
    strmap_release(&own);
    struct text path = {0};
    if (count == 1 && text_addf(&path, "%s/%s", job->path, first))
        job_issue(job, ISSUE_WARNING, path.at, NO_OFFSET, "passed-over",
                  "a file that is named like a checkpoint but is not part of the one around it: "
                  "not looked at (import it by its name)");
    else if (count)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "passed-over",
                  "files that are named like checkpoints but are not part of this one: "
                  "%llu, such as \"%.200s\"; looked at only where they are imported by their names",
                  (unsigned long long)count, first);
    text_release(&path);
}

/* If the path says nothing, take the step that a file states of itself (nanoGPT's ckpt.pt, Lightning's
 * last.ckpt). Its name tells it from others of this step. */
static void take_stated_step(struct job *job)
{
    struct batch *b = job->batch;
    const struct step_word item = step_item(b->path);
    const size_t folder = (size_t)(item.at - b->path);
    for (uint64_t i = 0; i < b->meta_count && !b->has_step && !b->run && folder > 1; i++) {
        const struct batch_meta *m = &b->metas[i];
        b->has_step = m->type == FACT_INTEGER && m->integer >= 0 &&
                      (strcmp(m->key, "iter_num") == 0 || strcmp(m->key, "global_step") == 0);
        b->step = m->integer;
    }
    if (!b->has_step)
        return;
    b->run = arena_copy(job->arena, b->path, step_run(b->path, folder - 1));
    b->item = arena_copy(job->arena, item.at, item.len);
}

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
static void state_file(struct job *job, const char *name, const char *path)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s;
    struct batch *b = NULL;
    uint8_t head[PROBE_HEAD_BYTES];
    uint32_t file;
    struct probe p = {.name = name};
    if (job_open_path(job, path, "facts", &s, &file, &err) == OK) {
        p.size = s->size;
        p.head = (struct bytes){head, s->size < sizeof(head) ? (size_t)s->size : sizeof(head)};
        source_read(s, 0, head, p.head.len, &err);
    }
    const struct format *format = err.status == OK ? format_for_file(&p) : NULL;
    if (format && format->index) {
        const struct job_request request = {
            .format = format, .path = s->name, .checkpoint_path = s->name, .classes = job->classes};
        job_run_index(&request, &b, &err);
    }
    for (uint64_t i = 0; b && !b->failed && !b->layout->tensor_count && i < b->meta_count; i++)
        add_fact(job, name, &b->metas[i]);
    batch_free(b);
    /* Its other issues are reported where it is imported. */
    if (status_passes(err.status))
        job_issue_error(job, ISSUE_WARNING, &err);
}

/* Whether there may be such a file beside the checkpoint. Where a folder cannot be listed, its server is asked for what
 * describes a set, and for nothing beside a single file: most have none. */
static bool may_be_beside(struct job *job, const char *name)
{
    const struct job_request *request = job_inside(job)->request;
    if (job->batch->folder)
        return true;
    if (path_lists(job->path))
        return names_hold(request->siblings, request->sibling_count, name);
    for (const char *const *own = job->format->beside; job->format->set && *own; own++)
        if (strcmp(*own, name) == 0)
            return true;
    return false;
}

/* Add what the files beside the checkpoint say. If the job has failed, they are only recorded, so that
 * the next import finds nothing new. */
static void state_neighbours(struct job *job)
{
    const char *name, *path;
    for (size_t i = 0; (name = job_beside(job->format, job->batch->path, i)); i++) {
        struct error ignored = {.offset = NO_OFFSET};
        struct source *s;
        uint32_t file;
        if (!may_be_beside(job, name) || !(path = job_beside_path(job->arena, job->path, name)))
            continue;
        if (job->err->status != OK)
            job_open_path(job, path, "config", &s, &file, &ignored);
        else if (text_ends_in(name, strlen(name), ".json"))
            job_meta_beside(job, name, path);
        else
            state_file(job, name, path);
    }
}

/* Record the files beside a folder that say what it is, if the format has not read them: the next import then
 * finds nothing new. */
static void record_placing(struct job *job)
{
    const struct batch *b = job->batch;
    const char *name;
    for (size_t i = 0; b->folder && (name = job->format->placed_by[i]); i++) {
        const char *path = job_beside_path(job->arena, job->path, name);
        struct error ignored = {.offset = NO_OFFSET};
        uint32_t file;
        uint64_t at = 0;
        while (path && at < b->file_count && strcmp(b->files[at].path, path) != 0)
            at++;
        if (path && at == b->file_count)
            job_file(job, path, "config", &file, &ignored);
    }
}

static void run_format(struct job *job, const struct job_request *request)
{
    struct batch *b = job->batch;
    open_primary(job, request);
    if (job->err->status != OK)
        return;
    request->format->index(job);
    if (job->err->status == OK)
        job_report_lost(job);
    if (b->folder && job->err->status == OK)
        report_inside(job, request);
    state_neighbours(job);
    record_placing(job);
    if (job_inside(job)->layout && job->err->status == OK) {
        layout_finish(job);
        b->layout = job_inside(job)->layout;
    }
    if (b->run)
        b->run = arena_copy(job->arena, b->run, step_run(b->run, strlen(b->run)));
    if (!b->has_step && job->err->status == OK)
        take_step_of_path(job);
    if (!b->has_step && !b->folder && job->err->status == OK)
        take_stated_step(job);
    if (job->err->status == OK)
        meta_digest(b);
}

enum status job_run_index(const struct job_request *request, struct batch **out, struct error *err)
{
    struct batch *b = calloc(1, sizeof(*b));
    const struct error *last;
    const unsigned long before = error_troubles(&last);
    if (!b) {
        source_close(request->source);
        return error_memory_at(err, request->path);
    }
    b->arena = (struct arena){.ceiling = LIMIT_ARENA_BYTES, .err = err};
    struct job_private p = {.request = request, .names.err = err, .kinds.err = err};
    struct job job = {
        .format = request->format,
        .path = request->path,
        .arena = &b->arena,
        .err = err,
        .threads = request->threads ? request->threads : 1,
        .classes = request->classes,
        .salvage = request->salvage,
        .batch = b,
        .private = &p,
    };
    b->path = arena_copy(&b->arena, request->checkpoint_path, strlen(request->checkpoint_path));
    b->format = request->format->name;
    p.layout = arena_alloc(&b->arena, sizeof(*p.layout));
    if (p.layout)
        run_format(&job, request);
    else
        source_close(request->source);
    error_about(err, request->path);
    p.last_words = true;
    if (p.issues_dropped)
        job_issue(&job, ISSUE_WARNING, NULL, NO_OFFSET, "more-issues",
                  "%llu more issues of this checkpoint are not listed",
                  (unsigned long long)p.issues_dropped);
    if (err->status != OK)
        give_up(&job);
    report_trouble(&job, before);
    b->passes = tells_of_trouble(b);
    close_all(&p);
    b->arena.err = NULL; /* the batch outlives it */
    if (err->status == OK && p.offered.len && !b->issue_count)
        reuse_publish(&job);
    *out = b;
    return err->status;
}

void batch_free(struct batch *b)
{
    if (!b)
        return;
    shared_layout_drop(b->shared);
    arena_release(&b->arena);
    free(b);
}
