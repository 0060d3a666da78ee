/*
 * batch.h - one checkpoint as rows, on their way from an importer's thread to the one writer
 * (writer.h). Everything lives in the batch's arena; nothing in it knows SQLite.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/data/model/tensor.h"
#include "catalog/data/store/source.h"

/* A dtype with a shape: a model has few. */
struct batch_kind {
    const char *dtype; /* canonical name; not NULL */
    const uint64_t *shape;
    const char *shape_text; /* JSON; NULL: not known */
    uint64_t elements, nbytes;
    uint8_t rank;
    bool shape_unknown; /* names only: shape, rank, elements, nbytes are NULL */
    bool dtype_unknown; /* names only: dtype is NULL in the catalog, "" here */
    bool sized;         /* nbytes means something */
    bool counted;       /* its elements are parameters */
};

/* How stored bytes become elements; only for tensors whose bytes are not just their elements. */
struct batch_coding {
    const char *codec;      /* NULL: none */
    const int64_t *strides; /* NULL: C order */
    struct bytes extents;   /* packed (tensor.h); empty for range and none */
};

/* There may be millions of these, so fields that few have or many share are kept elsewhere. */
struct batch_tensor {
    const char *name; /* UTF-8 without NUL */
    const struct batch_kind *kind;
    struct batch_coding *coding; /* NULL: none */
    uint64_t offset;             /* range: relative to its file's base */
    uint64_t stored;
    uint32_t name_len;
    uint32_t file;        /* NO_FILE: none */
    uint32_t module;      /* characters of its name: a module of its own; 0: none */
    uint8_t storage;      /* enum storage */
    uint8_t module_depth; /* its components */
    bool stored_unknown;  /* stored is NULL in the catalog */
};

struct batch_file {
    const char *path; /* absolute */
    struct file_identity identity;
    const char *role; /* "data", "index", "config", ... */
    uint64_t base;    /* added to offsets in this file */
    bool present;
    const char *kind; /* of a skipped file that looks like a checkpoint; else NULL */
};

enum fact_type { FACT_NULL, FACT_TEXT, FACT_INTEGER, FACT_REAL };

struct batch_meta {
    const char *key;
    enum fact_type type;
    const char *text; /* FACT_TEXT; booleans, lists and big integers are text too */
    uint32_t text_len;
    int64_t integer;
    double real;
};

struct batch_node {
    const char *name;
    const char *kind;  /* "null", "dict", "list" */
    uint64_t position; /* how many tensors are before it */
};

struct batch_issue {
    const char *path; /* absolute */
    uint64_t offset;  /* NO_OFFSET: none */
    bool warning;
    const char *code; /* stable word: "corrupt", "missing-shard", ... */
    const char *message;
};

/* Sums per module (a name's prefixes at the separator) and per dtype. */
struct batch_module {
    const char *module; /* the beginning of tensor `first`'s name, or a dtype */
    uint64_t parameters, nbytes;
    uint32_t tensors;
    uint32_t first;      /* a tensor below it */
    uint32_t len, depth; /* bytes; components */
    uint32_t length;     /* characters */
};

/* The same with equal modules folded into one: layers.{0..31}.mlp. */
struct batch_fold {
    const char *module;
    uint32_t depth;
    uint64_t tensors, parameters, nbytes;
};

struct layout_digest {
    uint8_t at[16];
};

/* What several checkpoints can have in common: names, dtypes, shapes, sums, and where the bytes
 * are. Immutable once shared. */
struct batch_layout {
    struct layout_digest logical;   /* of names, dtypes, shapes, nodes */
    struct layout_digest placement; /* of storage, files, offsets, codecs, extents */
    uint64_t sum;                   /* fields_sum() of the names */
    struct batch_tensor *tensors;
    uint64_t tensor_count;
    struct batch_node *nodes;
    uint64_t node_count;
    struct batch_module *modules; /* without those that batch_tensor.module describes */
    uint64_t module_count;
    struct batch_fold *folds;
    uint64_t fold_count;
    struct batch_module *dtypes; /* depth unused */
    uint64_t dtype_count;
    const struct batch_kind **kinds; /* of the tensors, each once */
    uint64_t kind_count;
    struct bytes blocks; /* of the tensors (blocks.h); none: there are few */
    uint64_t parameters, nbytes, stored;
    bool stored_unknown;
};

/* Whether a checkpoint is complete. A worse state has a greater value. */
enum batch_state {
    STATE_COMPLETE,
    STATE_INCOMPLETE, /* something is missing */
    STATE_DAMAGED     /* something there is cut short or unreadable */
};

struct shared_layout;

/* A checkpoint, or, if `path` is NULL, only files that were examined and issues that were found. */
struct batch {
    struct arena arena;
    const char *path; /* the checkpoint's; absolute */
    bool folder;      /* the checkpoint is that directory with everything below it */
    const char *format;
    const char *run, *item; /* NULL: none */
    int64_t step;
    bool has_step;
    enum batch_state state;
    const struct batch_layout *layout;
    /* What keeps the layout alive (importer/job/reuse.c); NULL: the arena. */
    struct shared_layout *shared;
    struct batch_file *files;
    uint64_t file_count;
    struct batch_meta *metas;
    uint64_t meta_count;
    struct layout_digest meta_digest;
    struct batch_issue *issues;
    uint64_t issue_count;
    struct batch_issue last; /* room for one issue when there is no memory for a list */
    const char *sum_kind;    /* NULL: the format keeps no checksums */
    /* One for each tensor (0: not stated), then the sums of extents, in the order of their
     * tensors. */
    uint32_t *sums;
    uint64_t sum_count;
    /* No rows of tensors, only issues. An older good row of this path is deleted: what it
       describes is no longer there. */
    bool failed;
    /* Something could not be read for a passing reason (memory, permission, the disk): an older row
     * of this path stays as it is, with all that depends on it; a new one is written as far as it
     * was read. */
    bool passes;
    struct batch_file *passed; /* files that no format recognised, to be remembered */
    uint64_t passed_count;
};
