/*
 * torch.h - what PyTorch's containers (zip, legacy, tar, plain pickles, DCP) share.
 *
 *   container/pickle.c   a pickle to a graph of nodes
 *   torch_globals.c      what the names in it mean; the unknown ones become issues
 *   torch_tensor.c       a node that rebuilds a tensor to dtype, shape, strides, storage
 *   torch_numpy.c        the same of NumPy arrays
 *   torch_wrapper.c      the same of tensors made of other tensors
 *   torch_view.c         tensor and storage to a claim of the job
 *   torch_tree.c         the tree: names of tensors; all other values are facts (torch_facts.h)
 *
 * A container says where its storages lie: `find`. Source of the facts: torch/serialization.py,
 * torch/_utils.py.
 */
#ifndef CKPTDB_IMPORTER_FORMAT_TORCH_H
#define CKPTDB_IMPORTER_FORMAT_TORCH_H

#include "catalog/base/text.h"
#include "importer/container/pickle.h"
#include "importer/job/job.h"

enum torch_meaning {
    TORCH_UNKNOWN,
    TORCH_CONSTANT, /* only named */
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
    DCP_OBJECT,
    DCP_TENSOR,
    DCP_BYTES,
    DCP_ENUM,
};

/* A run of bytes of the checkpoint: a storage, or what a pickle was read from. */
struct torch_run {
    uint32_t file;
    uint64_t offset;        /* of the first stored byte, in the file */
    uint64_t stored;        /* bytes in the file */
    uint64_t size;          /* bytes after `codec` */
    const char *codec;      /* steps from the stored bytes to these; NULL: none */
    uint32_t crc;           /* zip's, of these bytes; 0: none */
    const uint8_t *inlined; /* these are the bytes, for they lie in no file as they are */
    bool lost;              /* it is not there: reported already */
};

/* What a persistent id says of a storage. */
struct torch_key {
    const char *key; /* not NUL-terminated text */
    size_t len;
    const char *dtype; /* of the storage's class; NULL: untyped */
    const char *location;
    uint64_t numel;  /* of that dtype, or bytes */
    uint64_t bytes;  /* the same in bytes */
    pickle_ref node; /* the persistent id itself */
};

struct torch_tensor;

#define TORCH_IS_TENSOR 32 /* flag of a node */

struct torch_tree {
    struct job *job;
    struct arena *arena; /* the job's, or one that ends with the tree */
    const char *prefix;  /* of all names; NULL: none */
    const char *path;    /* of the file, for issues; NULL: the primary */
    struct pickle *pickle;
    const struct source *source; /* the pickle's ... */
    struct torch_run run;        /* ... and where its first byte lies */
    bool big_endian;
    /* Where a storage lies. False after setting *err, which becomes an issue of the tensor. */
    bool (*find)(struct torch_tree *, const struct torch_key *, struct torch_run *out,
                 struct error *err);
    void *container; /* find's */
    /* Where persistent ids are not those of storages (torch_tar.c); NULL: they are. A storage
     * at once, and a tensor (TORCH_IS_TENSOR is among its node's flags). */
    bool (*find_key)(struct torch_tree *, pickle_ref persid, struct torch_key *,
                     struct torch_run *, struct error *);
    bool (*read_id)(struct torch_tree *, pickle_ref persid, struct torch_tensor *,
                    struct error *);
    /* What becomes of a tensor: job_tensor(), unless a set filters it. */
    enum status (*emit)(struct torch_tree *, const struct tensor_claim *);
    void *set; /* emit's */
    /* Called with the pickle before its values are gone through; NULL: not. */
    void (*look)(struct torch_tree *);
    bool no_facts;          /* tensors only */
    struct strmap embedded; /* storages in byte strings: node -> position in the next */
    struct torch_embedded *loads; /* torch_embedded.c's */
    size_t load_count, load_space;
    struct strmap names; /* of the tensors so far */
    uint64_t name_bytes, visits;
    uint64_t fact_bytes;
    uint64_t without_data; /* tensors on the device "meta" */
    char first_without[128];
    bool stopped; /* a limit was hit: reported once */
};

/* torch_globals.c */
void torch_globals_learn(struct torch_tree *);
/* Of a global. */
enum torch_meaning torch_meaning_of(const struct pickle *, pickle_ref);
/* Of a call's callee, also through copyreg._reconstructor; TORCH_UNKNOWN for other nodes. */
enum torch_meaning torch_callee(const struct pickle *, pickle_ref);
/* The canonical dtype of a global like torch.float32, or of a storage class (NULL: untyped). */
const char *torch_dtype_of(const struct pickle *, pickle_ref);

/* torch_tensor.c */
struct torch_tensor {
    const char *dtype;
    uint64_t shape[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    unsigned rank;
    uint64_t offset; /* in elements */
    struct torch_run run;
    uint64_t bound; /* bytes of the run that are its storage */
    bool known;     /* dtype and shape are: it has a row, with data or without */
    bool meta, conjugate, negative;
    bool opaque;         /* no tensor that this program knows: what is in it may be */
    unsigned swap;       /* big-endian, in units of this many bytes; 1: not */
    const char *strings; /* "S5", of NumPy's texts; NULL: none */
    unsigned item;       /* bytes of an element that its dtype does not tell; else 0 */
    bool sparse;         /* the run's codec makes the dense values */
};
/* Whether the node is something that makes a tensor or an array. */
bool torch_is_tensor(const struct pickle *, pickle_ref);
/* False after setting *err. */
bool torch_tensor_read(struct torch_tree *, pickle_ref, struct torch_tensor *,
                       struct error *);
bool torch_key_read(struct torch_tree *, pickle_ref persid, struct torch_key *,
                    struct error *);
/* Whole numbers of a tuple, list or torch.Size; false where they are not. */
bool torch_numbers(const struct pickle *, pickle_ref, uint64_t *out, unsigned *count);
bool torch_number(const struct pickle *, pickle_ref, uint64_t *out);
bool torch_fail(struct torch_tree *, struct error *, const char *code, const char *fmt,
                ...) PRINTF_LIKE(4, 5);
bool torch_no_memory(struct torch_tree *, struct error *);

/* torch_numpy.c */
bool torch_numpy_read(struct torch_tree *, pickle_ref, struct torch_tensor *,
                      struct error *);
/* A NumPy scalar as a fact's text or number: false where it is none of those. */
bool torch_numpy_scalar(struct torch_tree *, pickle_ref, double *real, int64_t *integer,
                        bool *is_integer);

/* torch_embedded.c: byte strings in the pickle. */
/* Where the bytes of a node lie (bytes, or text to be encoded). */
bool torch_bytes_run(struct torch_tree *, pickle_ref, struct torch_run *, struct error *);
/* The same bytes as a source; close it. */
bool torch_bytes_source(struct torch_tree *, pickle_ref, struct source **,
                        struct error *);
/* The storage in a byte string that is a torch.save of it. */
bool torch_embedded(struct torch_tree *, pickle_ref call, struct torch_key *,
                    struct torch_run *, struct error *);

/* torch_sparse.c */
bool torch_sparse_read(struct torch_tree *, pickle_ref args, struct torch_tensor *,
                       struct error *);

/* torch_wrapper.c: tensors made of other tensors. */
/* The call that makes one, below parameters around it; 0: the node is none. */
pickle_ref torch_wrapper(const struct pickle *, pickle_ref);
/* The dicts of its attributes; 0: none. */
void torch_wrapper_parts(const struct pickle *, pickle_ref wrapper, pickle_ref parts[2]);
bool torch_wrapper_read(struct torch_tree *, pickle_ref wrapper, struct torch_tensor *,
                        struct error *);

/* torch_view.c */
/* Where the tensor's bytes are: out->file, offset, stored, bytes; its own codec and strides
 * where it has some, in the job's memory. False after setting *err. */
bool torch_place(struct torch_tree *, const struct torch_tensor *, struct extent *out,
                 struct error *err);
/* Whether the run's checksum, which is of all of it before its steps but inflating, is that of the
 * extent. */
bool torch_run_summed(const struct torch_run *, const struct extent *);
/* Emit the tensor under that name; `why` says what was wrong with it (status
 * OK or NULL: nothing): its row then has no data. */
enum status torch_emit(struct torch_tree *, const char *name, size_t len,
                       const struct torch_tensor *, const struct error *why);

/* torch_tree.c: everything below the pickle's root. */
enum status torch_tree_state(struct torch_tree *);
/* Release what the tree holds. */
void torch_tree_release(struct torch_tree *);

#endif
