/*
 * safetensors.c - one file of tensors, as Hugging Face stores them. safetensors_header.c reads and
 * checks the header.
 */
#include <string.h>

#include "importer/container/safetensors_header.h"
#include "importer/job/job_reuse.h"

/* After the length there must be a brace and a byte that JSON allows after it. A length past the
 * end of the file is taken for a truncated file only if the name ends in ".safetensors". */
static int safetensors_probe(const struct probe *p)
{
    size_t at = 8;
    if (p->head.len < at + 2)
        return 0;
    uint64_t len = load_u64le(p->head.at);
    while (at + 2 < p->head.len && strchr(" \t\r\n", p->head.at[at]) && p->head.at[at])
        at++;
    uint8_t next = p->head.at[at + 1];
    if (p->head.at[at] != '{' || !next || !strchr("\"} \t\r\n", next))
        return 0;
    if (len <= LIMIT_HEADER_BYTES && len <= p->size - 8)
        return 64;
    const char *dot = strrchr(p->name, '.');
    return dot && strcmp(dot, ".safetensors") == 0 ? 16 : 0;
}

void safetensors_report(struct job *job, const char *path, const struct safetensors_header *h)
{
    if (h->unknown_dtype.at)
        job_issue(job, ISSUE_WARNING, path, NO_OFFSET, "unknown-dtype",
                  "dtype \"%.*s\" is not known: such tensors are listed, not read",
                  (int)h->unknown_dtype.len, (const char *)h->unknown_dtype.at);
    if (h->unknown_key.at)
        job_issue(job, ISSUE_WARNING, path, NO_OFFSET, "unknown-key",
                  "a tensor has a key \"%.*s\" that the format does not know: ignored",
                  (int)(h->unknown_key.len < 200 ? h->unknown_key.len : 200),
                  (const char *)h->unknown_key.at);
}

void safetensors_emit(struct job *job, uint32_t file, const struct safetensors_tensor *t,
                      bool unique)
{
    job_tensor(job, &(struct tensor_claim){
                        .name = t->name,
                        .name_len = t->name_len,
                        .dtype = t->dtype,
                        .shape = t->shape,
                        .rank = t->rank,
                        .storage = STORAGE_RANGE,
                        .file = file,
                        .offset = t->begin,
                        .stored = t->end - t->begin,
                        .unique = unique,
                    });
}

static void emit_facts(struct job *job, const struct safetensors_header *h)
{
    for (uint64_t i = 0; i < h->fact_count && job->err->status == OK; i++) {
        const struct safetensors_fact *f = &h->facts[i];
        char *key = arena_copy(job->arena, f->key.at, f->key.len);
        job_meta_text(job, key, (const char *)f->value.at, f->value.len);
    }
}

/* Parse the header and emit its tensors; the parser's lists are freed at once, not with the job. */
static void emit_header(struct job *job, struct bytes text, struct safetensors_header *header)
{
    const struct source *s = job->source;
    struct arena lists = {.ceiling = job->arena->ceiling, .err = job->err};
    if (safetensors_parse(text, s->name, job->arena, &lists, header, job->err) == OK &&
        (safetensors_check_end(s, text, header->data_end, job->err) == OK ||
         job_cut(job, 0, job->err))) {
        safetensors_report(job, NULL, header);
        job_expect(job, header->count);
        for (uint64_t i = 0; i < header->count && job->err->status == OK; i++)
            safetensors_emit(job, 0, &header->tensors[i], true);
    }
    arena_release(&lists);
    header->tensors = NULL;
    header->count = 0;
}

/* Facts that come first, as most writers have them, are not shared: steps of a run
 * differ in them. Facts elsewhere in the header are, so they are stated before it is offered.
 * *kept: the header's text must live as long as the job. */
static void index_header(struct job *job, struct arena *arena, bool *kept)
{
    const struct source *s = job->source;
    struct safetensors_header header;
    struct bytes text, shared;
    if (safetensors_load(s, arena, &text, job->err) != OK ||
        safetensors_facts(text, s->name, job->arena, &header, &shared, job->err) != OK)
        return;
    bool facts_first = shared.len < text.len;
    job_base(job, 0, 8 + text.len);
    if (!job_reuse(job, shared, s->size - 8 - text.len)) {
        emit_header(job, text, &header);
        if (!facts_first)
            emit_facts(job, &header);
        *kept = job->err->status == OK && job_reuse_offer(job, shared, header.data_end);
    }
    if (facts_first)
        emit_facts(job, &header);
}

static enum status safetensors_index_file(struct job *job)
{
    struct arena text = {.ceiling = job->arena->ceiling, .err = job->err};
    bool kept = false;
    index_header(job, &text, &kept);
    if (kept)
        arena_adopt(job->arena, &text);
    else
        arena_release(&text);
    return job->err->status;
}

const struct format format_safetensors = {
    .name = "safetensors",
    .summary = "one safetensors file",
    .suffixes = ".safetensors",
    .separator = '.',
    .beside = {"config.json", "generation_config.json", "adapter_config.json"},
    .probe = safetensors_probe,
    .index = safetensors_index_file,
};
