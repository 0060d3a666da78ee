#include "importer/job/job.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/store/store.h"
#include "importer/job/job_private.h"
#include "importer/job/stray.h"

/* --- issues ----------------------------------------------------------------------------- */

/* What an error says about the checkpoint's state, by the beginning of its code. Others
 * (two tensors of one name, an unknown codec) do not make a checkpoint incomplete. */
static enum batch_state state_after(const char *code)
{
    static const char *const missing[] = {"missing",  "not-in-shard",    "unmerged",
                                          "name-nul", "git-lfs-pointer", "limit"};
    static const char *const damaged[] = {
        "corrupt",        "truncated", "checksum",       "io",      "bad-",       "size-mismatch",
        "trailing-bytes", "overlap",   "shape-overflow", "changed", "duplicate-m"};
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
        if (strncmp(code, missing[i], strlen(missing[i])) == 0)
            return STATE_INCOMPLETE;
    for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
        if (strncmp(code, damaged[i], strlen(damaged[i])) == 0)
            return STATE_DAMAGED;
    return STATE_COMPLETE;
}

static void add_issue(struct job *job, enum issue_severity severity, const char *path,
                      uint64_t offset, const char *code, const char *message)
{
    struct job_private *p = job_inside(job);
    struct batch *b = job->batch;
    if (severity == ISSUE_ERROR && state_after(code) > b->state)
        b->state = state_after(code);
    if (b->issue_count >= LIMIT_ISSUES && !p->last_words) {
        p->issues_dropped++;
        return;
    }
    const char *where = path ? path : job->path;
    *PUSH(job->arena, b->issues, b->issue_count, p->issue_space) = (struct batch_issue){
        .path = arena_copy(job->arena, where, strlen(where)),
        .offset = offset,
        .warning = severity == ISSUE_WARNING,
        .code = arena_copy(job->arena, code, strlen(code)),
        .message = arena_copy(job->arena, message, strlen(message)),
    };
}

void job_issue(struct job *job, enum issue_severity severity, const char *path, uint64_t offset,
               const char *code, const char *fmt, ...)
{
    char raw[sizeof(((struct error *)0)->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    struct error safe = {.offset = NO_OFFSET};
    error_set(&safe, ERR_CORRUPT, NULL, NO_OFFSET, "%s", raw); /* escapes control characters */
    add_issue(job, severity, path, offset, code, safe.message);
}

void job_trailing(struct job *job, const char *path, uint64_t offset, uint64_t bytes,
                  const char *after)
{
    if (bytes)
        job_issue(job, ISSUE_WARNING, path, offset, "trailing-bytes", "%llu bytes follow %s",
                  (unsigned long long)bytes, after);
}

void job_issue_error(struct job *job, enum issue_severity severity, const struct error *err)
{
    add_issue(job, severity, path_is_whole(err->source) ? err->source : NULL, err->offset,
              error_word(err), err->message);
}

/* --- files ------------------------------------------------------------------------------ */

void job_seen(struct job *job, const char *path, const char *role,
              const struct file_identity *identity, uint32_t *file)
{
    struct job_private *p = job_inside(job);
    struct batch *b = job->batch;
    *file = (uint32_t)b->file_count; /* also of a job that failed */
    *PUSH(job->arena, b->files, b->file_count, p->file_space) = (struct batch_file){
        .path = arena_copy(job->arena, path, strlen(path)),
        .role = role,
        .present = identity != NULL,
        .identity = identity ? *identity : (struct file_identity){0},
    };
}

void job_base(struct job *job, uint32_t file, uint64_t base)
{
    if (file < job->batch->file_count)
        job->batch->files[file].base = base;
}

void job_role(struct job *job, uint32_t file, const char *role)
{
    if (file < job->batch->file_count)
        job->batch->files[file].role = role;
}

/* Whether `name` is a relative path that stays below its directory. */
static bool name_is_safe(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\'))
        return false;
    for (const char *at = name;;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        if (!at[len])
            return true;
        at += len + 1;
    }
}

bool job_keep_source(struct job *job, struct source *source)
{
    struct open_source *o = arena_alloc(job->arena, sizeof(*o));
    if (!o) {
        source_close(source);
        return false;
    }
    *o = (struct open_source){source, job_inside(job)->opened};
    job_inside(job)->opened = o;
    return true;
}

/* Open a part of the checkpoint and record it as a file; NULL if it is missing or unreadable. */
static struct source *open_part(struct job *job, const char *path, const char *role, uint32_t *file,
                                struct error *err)
{
    struct file_identity identity;
    struct source *s = NULL;
    if (source_open_file(path, SOURCE_HEADERS, &s, &identity, err) == OK &&
        (stray_is_pointer(s, err) || err->status != OK)) {
        source_close(s);
        s = NULL;
    }
    job_seen(job, path, role, s ? &identity : NULL, file);
    if (!job->arena->failed) /* a job that has failed otherwise still records its neighbours */
        return s;
    source_close(s);
    error_memory_at(err, path);
    return NULL;
}

enum status job_open_path(struct job *job, const char *path, const char *role,
                          struct source **source, uint32_t *file, struct error *err)
{
    struct source *opened = open_part(job, path, role, file, err);
    if (opened && job_keep_source(job, opened))
        *source = opened;
    else if (opened)
        error_memory_at(err, path);
    return err->status;
}

enum status job_file(struct job *job, const char *path, const char *role, uint32_t *file,
                     struct error *err)
{
    source_close(open_part(job, path, role, file, err));
    return err->status;
}

enum status job_open(struct job *job, const char *name, const char *role, struct source **source,
                     uint32_t *file, struct error *err)
{
    if (!name_is_safe(name))
        return error_set(err, ERR_CORRUPT, job->path, NO_OFFSET,
                         "names a file \"%.200s\" that is not beside it", name);
    const char *slash = strrchr(job->path, '/');
    size_t dir = job->source && slash ? (size_t)(slash - job->path) : strlen(job->path);
    if (dir + 1 + strlen(name) > PATH_MAX)
        return error_set(err, ERR_CORRUPT, job->path, NO_OFFSET,
                         "names a file with a name too long to exist");
    struct text path = {0};
    text_add(&path, job->path, dir);
    text_addc(&path, '/');
    text_adds(&path, name);
    enum status status = text_str(&path)
                             ? job_open_path(job, text_str(&path), role, source, file, err)
                             : error_memory_at(err, job->path);
    text_release(&path);
    return status;
}

const char *const *job_siblings(struct job *job, uint64_t *count)
{
    *count = job_inside(job)->request->sibling_count;
    return job_inside(job)->request->siblings;
}

/* --- facts and nodes -------------------------------------------------------------------- */

static enum status add_meta(struct job *job, const char *key, struct batch_meta fact)
{
    struct batch *b = job->batch;
    fact.key = arena_copy(job->arena, key, strlen(key));
    if (job->err->status == OK)
        *PUSH(job->arena, b->metas, b->meta_count, job_inside(job)->meta_space) = fact;
    return job->err->status;
}

enum status job_meta_text(struct job *job, const char *key, const char *text, size_t len)
{
    struct text *escaped = &job_inside(job)->scratch;
    text = text ? text : "";
    if (!utf8_valid(text, len) || (len && memchr(text, '\0', len))) {
        text_reset(escaped);
        text_escape(escaped, text, len);
        text = text_str(escaped);
        len = escaped->len;
    }
    if (!text || len > UINT32_MAX)
        return error_memory(job->err);
    return add_meta(job, key,
                    (struct batch_meta){.type = FACT_TEXT,
                                        .text = arena_copy(job->arena, text, len),
                                        .text_len = (uint32_t)len});
}

enum status job_meta_integer(struct job *job, const char *key, int64_t value)
{
    return add_meta(job, key, (struct batch_meta){.type = FACT_INTEGER, .integer = value});
}

enum status job_meta_real(struct job *job, const char *key, double value)
{
    return add_meta(job, key, (struct batch_meta){.type = FACT_REAL, .real = value});
}

enum status job_meta_null(struct job *job, const char *key)
{
    return add_meta(job, key, (struct batch_meta){.type = FACT_NULL});
}

bool job_clean_name(struct job *job, const char **name, size_t *len)
{
    if (memchr(*name, '\0', *len)) {
        job_issue(job, ISSUE_ERROR, NULL, NO_OFFSET, "name-nul",
                  "a tensor name holds a NUL byte after \"%.200s\": left out", *name);
        return false;
    }
    if (utf8_valid(*name, *len))
        return true;
    struct text *t = &job_inside(job)->scratch;
    text_reset(t);
    text_escape(t, *name, *len);
    if (!text_str(t)) {
        error_memory(job->err);
        return false;
    }
    *name = arena_copy(job->arena, text_str(t), t->len);
    *len = t->len;
    job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "name-not-utf8",
              "tensor name \"%.200s\" is not UTF-8: shown with its bytes escaped", *name);
    return true;
}

enum status job_node(struct job *job, const char *name, size_t len, const char *kind)
{
    struct job_private *p = job_inside(job);
    struct batch_layout *l = p->layout;
    if (job->err->status == OK && job_clean_name(job, &name, &len))
        *PUSH(job->arena, l->nodes, l->node_count, p->node_space) =
            (struct batch_node){arena_copy(job->arena, name, len), kind, l->tensor_count};
    return job->err->status;
}

void job_step(struct job *job, int64_t step)
{
    job->batch->step = step;
    job->batch->has_step = true;
}

void job_run(struct job *job, const char *run_directory, const char *item)
{
    struct batch *b = job->batch;
    b->run = run_directory ? arena_copy(job->arena, run_directory, strlen(run_directory)) : NULL;
    b->item = item ? arena_copy(job->arena, item, strlen(item)) : NULL;
}

void job_sum_kind(struct job *job, const char *kind)
{
    job->batch->sum_kind = kind;
}
