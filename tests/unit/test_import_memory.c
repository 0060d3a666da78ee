/*
 * test_import_memory.c - the import of checkpoints of every format while one call for memory fails: the
 * import says so, or the catalog does; nothing is lost or wrong without a word, and the next import has all.
 * The linker puts __wrap_X in the place of X (Makefile).
 *
 * Each run tries other calls: CKPTDB_SEED=N repeats the run that printed N, CKPTDB_STEP=1 all.
 */
#include "tests/unit/import_place.h"

#include <limits.h>

#define FORMAT(x) AT_##x,
enum {
#include "importer/formats.def"
    FORMATS
};
#undef FORMAT

/* Below tests/fixtures: small ones, but with more than one tensor, block, member or shard. */
static const char *const fixtures[] = {
    [AT_safetensors] = "safetensors/y_dtypes.safetensors",
    [AT_safetensors_index] = "safetensors_index/y_two",
    [AT_npy] = "npy/y_fortran.npy",
    [AT_npz] = "npz/y_mixed.npz",
    [AT_torch] = "torch/y_shared_text_of_bytes.pt",
    [AT_pickle] = "real/torch/plain_pickle/data/numpy_p4.pkl",
    [AT_torch_sharded] = "torch_sharded/y_two",
    [AT_hdf5] = "hdf5/y_chunks_new.h5",
    [AT_hdf5_sharded] = "hdf5_sharded/y_two",
    [AT_keras] = "keras/y_deflated.keras",
    [AT_keras_sharded] = "keras_sharded/y_two",
    [AT_gguf] = "gguf/y_split",
    [AT_onnx] = "onnx/y_external",
    [AT_dcp] = "dcp/y_getattr",
    [AT_dcp_hf] = "real/torch/dcp_hf/data",
    [AT_deepspeed] = "deepspeed/y_stage3",
    [AT_names] = "names/y_tree.json",
    [AT_t5x] = "t5x/y_cast",
    [AT_flax] = "flax/y_three_chunks",
    [AT_flax_index] = "flax_index/y_two",
    [AT_tf_state] = "real/tf/state_file_absolute/data",
    [AT_tf_bundle] = "real/tf/v2_sharded3/data",
    [AT_tf_v1] = "tf_v1/y_lists_in_parts",
    [AT_zarr] = "real/jax/zarr3_groups/data",
    [AT_orbax] = "orbax/y_values_and_nodes_apart",
    [AT_jax_pytree] = "jax_pytree/y_processes",
    [AT_ocdbt] = "ocdbt/y_inner_nodes",
    /* and other ways into a format */
    [FORMATS] = "torch/y_big_endian.pt",
    "torch/y_tar_view.pt",
    "torch/y_program.pt2",
    "torch/y_legacy_view.pt",
    "real/torch/sparse_encoded/data",
    "safetensors_index/y_any_shard_name",
    "real/safetensors/lora_adapter/data",
    "hdf5/y_dense.h5",
    "onnx/y_sparse_pairs.onnx",
    "flax/y_arrays_of_processes",
    "t5x/y_mutables",
    "tf_bundle/y_slices",
    "tf_v1/y_slices_in_two_files",
    "zarr/y_sharded",
    "orbax/y_aggregate",
    "real/orbax/composite/data",
};

#define STEP (SAMPLE == 1 ? 96 : 192)

/* --- faults ----------------------------------------------------------------------------- */

static struct {
    int at;    /* the call that fails, from 1 on; 0: none */
    int calls; /* so far */
} fault;
static _Thread_local bool in_arena; /* whose own calls count as one */

static bool lacks(void)
{
    return !in_arena && fault.at &&
           __atomic_add_fetch(&fault.calls, 1, __ATOMIC_SEQ_CST) == fault.at;
}

#define WRAP(name, parameters, arguments, lacking)                                                 \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        if (lacks())                                                                               \
            return lacking;                                                                        \
        bool within = in_arena;                                                                    \
        in_arena = true;                                                                           \
        void *memory = __real_##name arguments;                                                    \
        in_arena = within;                                                                         \
        return memory;                                                                             \
    }

WRAP(malloc, (size_t size), (size), NULL)
WRAP(calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(realloc, (void *old, size_t size), (old, size), NULL)
WRAP(strdup, (const char *text), (text), NULL)
WRAP(strndup, (const char *text, size_t len), (text, len), NULL)
WRAP(arena_room, (struct arena * a, size_t size), (a, size), (error_lacking(), arena_fail(a)))

/* --- catalogs ----------------------------------------------------------------------------- */

struct kept {
    uint8_t *bytes;
    size_t len;
};

static void keep(const struct place *p, struct kept *k)
{
    free(k->bytes);
    k->bytes = read_file(p->catalog, &k->len);
}

static void put_back(const struct place *p, const struct kept *k)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    char beside[128];
    for (int i = 0; i < 3; i++) {
        snprintf(beside, sizeof(beside), "%s%s", p->catalog, suffixes[i]);
        remove(beside);
    }
    write_file(p->catalog, k->bytes, k->len);
}

/* Import while call `at` for memory fails; INT_MAX: none does. False: the import says that it failed. */
static bool import_lacking(const struct place *p, int at)
{
    sqlite3 *db = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct import_report report = {0};
    const char *paths[] = {p->root};
    struct import_options options = {.jobs = 1, .prune = true, .paths = paths, .path_count = 1};
    assert_int_equal(db_open(p->catalog, DB_CREATE, &db, &err), OK);
    fault.calls = 0;
    fault.at = at;
    import_run(db, &options, &report, &err);
    fault.at = 0;
    walk_free(report.walk);
    db_close(db);
    if (err.status != OK)
        assert_int_equal(err.status, ERR_MEMORY);
    return err.status == OK;
}

/* --- the sweep -------------------------------------------------------------------------- */

static unsigned seed;
static int step, tried, failed;

static unsigned below(unsigned limit)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % limit;
}

static void expect_rows(const struct place *p, const char *wanted, bool may_lack, const char *what,
                        int at)
{
    char *found = catalogued(p);
    if (strcmp(found, wanted) != 0 &&
        (!may_lack || !strstr(found, "no memory") || strstr(found, "corrupt"))) {
        failed++;
        print_message("%s, call %d: %s\n", what, at, found);
    }
    free(found);
}

/* `before`: the catalog that it is imported into. */
static void try_call(const struct place *p, const struct kept *before, int at, const char *wanted,
                     const char *what)
{
    tried++;
    put_back(p, before);
    if (import_lacking(p, at))
        expect_rows(p, wanted, true, what, at);
    assert_true(import_lacking(p, INT_MAX));
    expect_rows(p, wanted, false, what, at);
}

static void try_calls(const struct place *p, const struct kept *before, const char *wanted,
                      const char *fixture, const char *state)
{
    char what[128];
    snprintf(what, sizeof(what), "%s, %s", fixture, state);
    put_back(p, before);
    import_lacking(p, INT_MAX);
    const int calls = fault.calls;
    for (int at = 1 + (int)below((unsigned)step); at <= calls; at += step)
        try_call(p, before, at, wanted, what);
}

/* Each fixture: into an empty catalog, into one that knows it, and into one that knows it as it was
 * before all of its files changed. */
TEST_IN(test_one_call_lacks, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct kept empty = {0}, known = {0};
    const char *every = getenv("CKPTDB_STEP");
    seed = choose_seed();
    step = every ? (int)strtol(every, NULL, 10) : STEP;
    import_lacking(p, INT_MAX);
    keep(p, &empty);
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
        assert_non_null(fixtures[i]); /* of a format of formats.def */
        shell_out("rm -rf %s/*; cp -r $TESTS/fixtures/%s %s/", p->root, fixtures[i], p->root);
        put_back(p, &empty);
        assert_true(import_lacking(p, INT_MAX));
        keep(p, &known);
        char *wanted = catalogued(p);
        try_calls(p, &empty, wanted, fixtures[i], "new");
        try_calls(p, &known, wanted, fixtures[i], "the same");
        put_back(p, &known);
        query(p, "UPDATE _files SET mtime_ns = mtime_ns - 1");
        keep(p, &known);
        try_calls(p, &known, wanted, fixtures[i], "changed");
        free(wanted);
    }
    free(empty.bytes);
    free(known.bytes);
    print_message("%d calls tried\n", tried);
    assert_int_equal(failed, 0);
}

RUN_TESTS(NULL, NULL)
