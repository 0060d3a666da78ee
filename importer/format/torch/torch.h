/*
 * torch.h - the code that PyTorch's containers (zip, legacy, tar, plain pickles, DCP) share.
 *
 *   pickle_graph.c       turns a pickle into a graph of nodes
 *   torch_run.c          runs it, and the pickles inside it
 *   torch_globals.c      the meaning of the names in it; unknown ones become issues
 *   torch_tensor.c       from a node that rebuilds a tensor, its dtype, shape, strides and storage
 *   torch_numpy.c        the same for NumPy arrays
 *   torch_sparse.c, torch_wrapper.c   the same for tensors made of other tensors
 *   torch_view.c         from a tensor and its storage, a claim for the job
 *   torch_tree.c         walks the tree and names the tensors; other values become facts
 *                        (torch_facts.h)
 *
 * Each container knows where its storages are: `find`. Source: torch/serialization.py,
 * torch/_utils.py.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "importer/format/torch/pickle_graph.h"
#include "importer/job/facts.h"
#include "importer/job/job.h"

enum torch_meaning {
    TORCH_UNKNOWN,
    TORCH_CONSTANT, /* harmless, and never a tensor */
    TORCH_DTYPE,
    TORCH_STORAGE,
    TORCH_MODULE, /* a class of torch.nn.modules */
    TORCH_SCRIPT, /* a class of a TorchScript archive */
    TORCH_REBUILD,
    TORCH_REBUILD_V3,
    TORCH_REBUILD_QUANTISED,
    TORCH_REBUILD_SPARSE,
    TORCH_REBUILD_META,
    TORCH_REBUILD_WRAPPER,
    TORCH_WRAP_FIRST, /* the tensor is the first argument */
    TORCH_WRAP_TYPE,  /* (function, type, arguments [, state]) */
    TORCH_WRAP_TYPE_V2,
    TORCH_TENSOR_CLASS, /* state: storage, offset, size, stride */
    TORCH_STORAGE_BYTES,
    TORCH_OPAQUE,
    TORCH_SEQUENCE,
    TORCH_DICT,
    TORCH_TEXT,
    TORCH_DEVICE,
    TORCH_COMPLEX,
    TORCH_ENCODE,
    TORCH_OBJECT, /* harmless; its state is a dict */
    TORCH_PATH,
    TORCH_GETATTR,
    TORCH_RECONSTRUCTOR,
    NUMPY_RECONSTRUCT,
    NUMPY_FROM_BUFFER,
    NUMPY_SCALAR,
    NUMPY_DTYPE,
    JAX_ARRAY,
    DCP_OBJECT,
    DCP_TENSOR,
    DCP_BYTES,
    DCP_ENUM,
};

/* A run of bytes of the checkpoint: a storage, or the source of a pickle. */
struct torch_run {
    uint32_t file;
    uint64_t offset;        /* of the first stored byte, in the file */
    uint64_t stored;        /* bytes in the file */
    uint64_t size;          /* bytes once decoded */
    const char *codec;      /* from the stored bytes to the decoded ones; NULL: none */
    uint32_t crc;           /* zip's checksum of the decoded bytes; 0: none */
    const uint8_t *inlined; /* the bytes, if no file holds them as they are; else NULL */
    bool lost;              /* it is missing, which has been reported */
};

/* A storage as its persistent id describes it. */
struct torch_key {
    const char *key; /* text of `len` bytes, which may hold NUL */
    size_t len;
    const char *dtype; /* of the storage's class; NULL: untyped */
    const char *location;
    uint64_t numel;  /* elements of this dtype; untyped: bytes */
    uint64_t bytes;  /* its size in bytes */
    pickle_ref node; /* the persistent id itself */
};

struct torch_tensor;

#define TORCH_IS_TENSOR 32 /* flag of a node */

struct torch_tree {
    struct job *job;
    struct arena *arena; /* the job's, or one released with the tree */
    const char *prefix;  /* of all names; NULL: none */
    const char *path;    /* of the file, for issues; NULL: the primary */
    const char *member;  /* of an archive, in which the pickle is; NULL: none */
    struct pickle *pickle;
    const struct source *source; /* of the pickle, */
    struct torch_run run;        /* and the run of the checkpoint that it is */
    bool big_endian;
    bool whole_file; /* read what is left of an archive that has lost its end */
    /* Find a storage. False after setting *err, which becomes an issue of the tensor. */
    bool (*find)(struct torch_tree *, const struct torch_key *, struct torch_run *out,
                 struct error *err);
    void *container; /* for `find` */
    /* For containers whose persistent ids are not the usual tuples (torch_tar.c), else NULL: read
     * the id of a storage, and the id of a tensor, whose node has the flag TORCH_IS_TENSOR. */
    bool (*find_key)(struct torch_tree *, pickle_ref persid, struct torch_key *, struct torch_run *,
                     struct error *);
    bool (*read_id)(struct torch_tree *, pickle_ref persid, struct torch_tensor *, struct error *);
    /* Emit a tensor; NULL: job_tensor(). A set filters its tensors. */
    void (*emit)(struct torch_tree *, const struct tensor_claim *);
    void *set; /* for `emit` */
    /* Called once the pickle is read, before its values are walked; may be NULL. */
    void (*look)(struct torch_tree *);
    /* Whether an attribute of an object of TorchScript is a tensor that its state_dict() leaves out; NULL:
     * none is. */
    bool (*left_out)(struct torch_tree *, pickle_ref call, pickle_ref attribute);
    struct script *script; /* for `left_out`; private to torch_script.c */
    bool no_facts;         /* tensors only */
    bool told;             /* the effects of its pickles have been reported */
    bool dangerous;        /* a dangerous-call was reported */
    unsigned nested;       /* pickles around it */
    struct strmap encoded; /* texts of bytes: node -> position in `texts` */
    struct bytes *texts;   /* as Latin-1; at NULL: they have other characters */
    size_t text_count, text_space;
    /* storages in byte strings: node -> position in `loads` */
    struct strmap embedded;
    struct torch_embedded *loads; /* private to torch_embedded.c */
    size_t load_count, load_space;
    struct strmap names; /* of the tensors so far */
    uint64_t name_bytes, visits;
    uint64_t fact_bytes;
    uint64_t lost_bytes;    /* of lists that were too long to show */
    uint64_t inlined_bytes; /* of the rows so far */
    uint64_t without_data;  /* tensors on the device "meta" */
    char first_without[128];
    bool stopped; /* a limit was hit: reported once */
};

/* torch_run.c */
/* Run the pickle at `offset` of t->source, learn the meanings of its names, and report what loading it in
 * Python would do: also after an error, and of the pickles inside it. `base` is added to offsets in
 * messages. */
enum status torch_run_pickle(struct torch_tree *, uint64_t offset, uint64_t base,
                             struct pickle *out, struct error *);
/* Release what the tree holds. */
void torch_tree_release(struct torch_tree *);

/* torch_globals.c */
/* Learn the meanings of a pickle's names, and report what it would do. */
void torch_globals_learn(struct torch_tree *);
/* Whether the node makes a tensor or an array. */
bool torch_is_tensor(const struct pickle *, pickle_ref);
/* The meaning of a global; TORCH_UNKNOWN for other nodes. */
enum torch_meaning torch_meaning_of(const struct pickle *, pickle_ref);
/* The meaning of a call's callee, also through copyreg._reconstructor; TORCH_UNKNOWN for other
 * nodes. */
enum torch_meaning torch_callee(const struct pickle *, pickle_ref);
/* The canonical dtype of a global like torch.float32, or of a storage class (NULL: untyped). */
const char *torch_dtype_of(const struct pickle *, pickle_ref);

#define TORCH_WRAPS_MAX 16 /* nested wrappers; a parameter of a subclass of a tensor has 3 */

/* torch_parts.c */
/* The numbers of a tuple, list or torch.Size, at most TENSOR_RANK_MAX; false if it is anything
 * else. */
bool torch_numbers(const struct pickle *, pickle_ref, uint64_t *out, unsigned *count);
bool torch_number(const struct pickle *, pickle_ref, uint64_t *out);
bool torch_fail(struct torch_tree *, struct error *, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
bool torch_key_read(struct torch_tree *, pickle_ref persid, struct torch_key *, struct error *);
/* Bytes per element of a storage; `dtype` NULL: it is a run of bytes. */
unsigned torch_element_bytes(const char *dtype);

/* torch_tensor.c */
struct torch_tensor {
    const char *dtype;
    uint64_t shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    unsigned rank;
    uint64_t offset; /* in elements */
    struct torch_run run;
    uint64_t bound; /* bytes of the run that belong to its storage */
    bool known;     /* dtype and shape are set: it gets a row, with or without data */
    bool meta, conjugate, negative;
    bool opaque;          /* of an unknown kind, but tensors inside it may be known */
    unsigned swap;        /* big-endian numbers of this many bytes; 1: no swapping */
    const char *strings;  /* "S5": NumPy's fixed-length texts; NULL: numbers */
    unsigned item;        /* bytes per element, if its dtype does not say; else 0 */
    bool sparse;          /* the run's codec makes the dense values */
    pickle_ref quantiser; /* (scheme, scale, zero point [, axis]); 0: not quantised */
};
/* False after setting *err. */
bool torch_tensor_read(struct torch_tree *, pickle_ref, struct torch_tensor *, struct error *);

/* torch_numpy.c: an array of NumPy's or JAX's, or a scalar as an array without dimensions. */
bool torch_numpy_read(struct torch_tree *, pickle_ref, struct torch_tensor *, struct error *);
/* The value of a NumPy scalar (facts_number()). */
enum element_type torch_numpy_scalar(struct torch_tree *, pickle_ref, struct element *);

/* torch_bytes.c: byte strings in the pickle. */
/* The node that holds the content, inside the calls around it: bytes, a text of 8-bit characters,
 * or a text to be encoded (*encoded). */
pickle_ref torch_bytes_node(const struct pickle *, pickle_ref, bool *encoded);
/* The run of a node's bytes (a byte string, or a text to be encoded). */
bool torch_bytes_run(struct torch_tree *, pickle_ref, struct torch_run *, struct error *);
/* Set *out to the bytes [offset, offset + len) of a run. */
bool torch_bytes_part(struct torch_tree *, const struct torch_run *, uint64_t offset, uint64_t len,
                      struct torch_run *out, struct error *);
/* Open the same bytes as a source; close it. */
bool torch_bytes_source(struct torch_tree *, pickle_ref, struct source **, struct error *);

/* torch_embedded.c */
/* The storage in a byte string that is itself a file of torch.save. */
bool torch_embedded(struct torch_tree *, pickle_ref call, struct torch_key *, struct torch_run *,
                    struct error *);

/* torch_sparse.c */
enum {
    SPARSE_INDEX, /* coordinates; compressed layouts: pointers */
    SPARSE_OTHER, /* compressed layouts: the indices of the other dimension */
    SPARSE_VALUES,
    SPARSE_PARTS
};
struct torch_sparse {
    struct torch_tensor part[SPARSE_PARTS];
    bool coo, blocks;
    char kind;      /* as in the codec */
    unsigned batch; /* number of batch dimensions */
    uint64_t count; /* entries in all batches together */
};
/* Learn the layout: torch.sparse_coo, … False: another. */
bool torch_sparse_layout(const struct pickle *, pickle_ref, struct torch_sparse *);
/* Make the run of a tensor, whose dtype and shape are known, from its parts. */
bool torch_sparse_join(struct torch_tree *, struct torch_sparse *, struct torch_tensor *,
                       struct error *);
/* "a sparse tensor `what`" */
bool torch_sparse_refuse(struct torch_tree *, struct error *, const char *what);

/* torch_wrapper.c: tensors made of other tensors. */
/* The call that makes such a tensor, inside any parameters around it; 0: the node is another. */
pickle_ref torch_wrapper(const struct pickle *, pickle_ref);
/* The outermost call that gives a tensor attributes: such a tensor, an ordinary one of a class, or a
 * parameter; 0: none. */
pickle_ref torch_attributed(const struct pickle *, pickle_ref);
/* The dicts of these attributes; 0: none. */
void torch_wrapper_parts(const struct pickle *, pickle_ref call, pickle_ref parts[2]);
/* The tensor in a call that makes it a parameter; 0: none. */
pickle_ref torch_inside(const struct pickle *, pickle_ref call);
/* The attribute `name`; 0: none. */
pickle_ref torch_wrapper_part(const struct pickle *, pickle_ref wrapper, const char *name);

/* torch_view.c */
/* Set the extent of a tensor: file, offset, stored, bytes; codec and strides if it needs them, in
 * the job's memory. False after setting *err. */
bool torch_place(struct torch_tree *, const struct torch_tensor *, struct extent *out,
                 struct error *err);
/* Whether the checksum, which covers the whole run once inflated, can be used for the extent. */
bool torch_run_summed(const struct torch_run *, const struct extent *);
/* Emit the tensor under a name. If *err is set, or it cannot be placed, report that and emit the row
 * without data. */
void torch_emit(struct torch_tree *, const char *name, size_t len, const struct torch_tensor *,
                struct error *err);

/* torch_tree.c */
/* Child i of a node: an item, or a part of a call; false past the last. A child may be absent: 0. */
bool torch_child(const struct pickle *, pickle_ref, uint32_t i, pickle_ref *child);
/* Emit all tensors and facts of the pickle. */
void torch_tree_state(struct torch_tree *);
