/*
 * safetensors_header.h - the header of a safetensors file, checked as the reference reader
 * checks it, and a little stricter.
 *
 * A single file and a set of shards share it (format/safetensors.c, format/safetensors_index.c).
 */
#pragma once

#include "importer/job/job.h"

struct safetensors_tensor {
    const char *name; /* not NUL-terminated, may hold NUL */
    size_t name_len;
    const char *dtype; /* canonical, or "unknown(X)" */
    uint64_t *shape;
    unsigned rank;
    uint64_t begin, end; /* relative to the data */
};

struct safetensors_fact {
    struct bytes key, value;
};

struct safetensors_header {
    struct safetensors_tensor *tensors; /* in the order of the header */
    uint64_t count;
    struct safetensors_fact *facts; /* __metadata__ */
    uint64_t fact_count;
    uint64_t data_end;          /* end of the last tensor, relative to the data */
    struct bytes unknown_dtype; /* the first one; at NULL: none */
    struct bytes unknown_key;   /* the first one in a tensor; at NULL: none */
};

/* Read the header's text into the arena; the data begins at 8 + text->len. */
enum status safetensors_load(const struct source *, struct arena *, struct bytes *text,
                             struct error *);

/* Parse the header. The tensors and their shapes live in `lists`, which may be the same arena or be
 * released earlier; everything else in *out lives in the arena or in `text`. Both have an `err`. */
enum status safetensors_parse(struct bytes text, const char *source, struct arena *,
                              struct arena *lists, struct safetensors_header *out, struct error *);

/* Parse only the __metadata__ if it is the first member: out->facts. *rest is the header's text
 * after it, or all of the text if it is not first. Steps of a run often differ in nothing but
 * these facts. */
enum status safetensors_facts(struct bytes text, const char *source, struct arena *,
                              struct safetensors_header *out, struct bytes *rest, struct error *);

/* The file must end where its last tensor does. */
enum status safetensors_check_end(const struct source *, struct bytes text, uint64_t data_end,
                                  struct error *);

/* Warn about unknown dtypes and keys; `path` NULL: the primary file. */
void safetensors_report(struct job *, const char *path, const struct safetensors_header *);
/* `unique`: no other file of the checkpoint can hold the name. */
void safetensors_emit(struct job *, uint32_t file, const struct safetensors_tensor *, bool unique);
