/*
 * t5x.c - a step of T5X: a folder with the file `checkpoint`, or that file alone, if it holds all
 * arrays.
 *
 *   checkpoint_<step>/
 *     checkpoint              a tree (flax_tree.c):
 *       version               3; 2 until June 2021
 *       optimizer/target      parameters
 *       optimizer/state       step, param_states: the optimizer's state of each parameter
 *       flax_mutables         other collections of the model
 *     target.decoder.w/       one zarr folder for each large array; the tree has its
 *                             TensorStore spec (t5x_spec.c)
 *     train_ds-...            state of the input pipeline: no tensors
 *
 * Names are T5X's, without "optimizer/". A folder's own .zarray takes precedence over the
 * spec, which is used only if .zarray was lost. Version 2 wrote bfloat16 arrays as uint16, and
 * T5X takes every uint16 for bfloat16.
 *
 * Source: t5x/checkpoints.py.
 */
#include <string.h>

#include "importer/array/array.h"
#include "importer/container/flax_leaf.h"
#include "importer/format/flax/t5x_spec.h"

#define TREE_FILE      "checkpoint"
#define NAME_PREFIX    "optimizer/"
#define VERSION_UINT16 2 /* the last version that wrote bfloat16 as uint16 */

/* --- recognising ------------------------------------------------------------------------ */

static bool t5x_holds(struct bytes head, const char *word)
{
    return probe_holds(&(struct probe){.head = head}, word);
}

/* Whether the first two keys are a version and a tree. */
static bool has_version(struct bytes head, uint64_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct msgpack_item map, key, value;
    struct msgpack m;
    msgpack_head(&m, head, size, &err);
    return msgpack_next(&m, &map) && map.type == MSGPACK_MAP && map.count >= 2 &&
           msgpack_next(&m, &key) && msgpack_is(&m, &key, "version") && msgpack_next(&m, &value) &&
           value.type == MSGPACK_UNSIGNED && value.number && msgpack_next(&m, &key) &&
           (msgpack_is(&m, &key, "optimizer") || msgpack_is(&m, &key, "flax_mutables"));
}

/* Whether the root is as T5X's trees are once JAX has sorted their keys: the version comes last, behind
 * all values, so that the head of a large tree has only how it begins, {flax_mutables, optimizer: {state:
 * {param_states, ...}, ...}, version}. */
static bool is_sorted_tree(struct bytes head, uint64_t size)
{
    static const char *const path[] = {"optimizer", "state", "param_states"};
    struct error err = {.offset = NO_OFFSET};
    struct msgpack_item map, key, value;
    struct msgpack m;
    size_t depth = 0;
    msgpack_head(&m, head, size, &err);
    if (!msgpack_next(&m, &map) || map.type != MSGPACK_MAP || map.count < 2 || map.count > 3 ||
        !msgpack_next(&m, &key))
        return false;
    if (msgpack_is(&m, &key, "flax_mutables") &&
        (!msgpack_next(&m, &value) || !msgpack_skip(&m, &value) || !msgpack_next(&m, &key)))
        return false;
    struct msgpack inside = m;
    while (depth < 3 && msgpack_is(&inside, &key, path[depth]))
        if (++depth < 3 && !(msgpack_next(&inside, &map) && map.type == MSGPACK_MAP &&
                             msgpack_next(&inside, &key)))
            return false;
    if (depth < 3 || !msgpack_next(&m, &value))
        return false;
    if (!msgpack_skip(&m, &value) || !msgpack_next(&m, &key))
        return m.cut;
    return msgpack_is(&m, &key, "version");
}

static int weigh(struct bytes head, uint64_t size, bool folder)
{
    bool spec = t5x_holds(head, "\xA6"
                                "driver") &&
                t5x_holds(head, "\xA7"
                                "kvstore") &&
                t5x_holds(head, "\xA8"
                                "metadata");
    bool wanted = spec || has_version(head, size) || (folder && is_sorted_tree(head, size));
    return wanted && flax_evidence(head, size) ? 80 : 0;
}

static int t5x_probe(const struct probe *p)
{
    return weigh(p->head, p->size, false);
}

static int t5x_probe_dir(const struct probe_dir *p)
{
    if (!probe_dir_has_file(p, TREE_FILE))
        return 0;
    struct bytes head = p->peek(p, TREE_FILE);
    return head.at ? weigh(head, head.len < PROBE_HEAD_BYTES ? head.len : UINT64_MAX, true) : 0;
}

/* --- arrays in folders ------------------------------------------------------------------ */

struct t5x {
    struct flax_sink sink;
    bool folder; /* the checkpoint is one; else a lone file */
    struct array_tree arrays;
    struct strmap folders; /* paths that an array has already taken */
    uint64_t version;
    uint64_t uint16s; /* number of arrays whose dtype is uint16 */
    uint64_t guessed; /* number of folders without .zarray, */
    const char *first_guessed;
};

/* The leaf with its name as T5X has it, without "optimizer/". */
static struct flax_leaf renamed(const struct flax_leaf *leaf)
{
    struct flax_leaf named = *leaf;
    size_t len = strlen(NAME_PREFIX);
    if (leaf->name_len > len && memcmp(leaf->name, NAME_PREFIX, len) == 0) {
        named.name += len;
        named.name_len -= len;
    }
    return named;
}

static bool is_uint16(const char *dtype)
{
    return dtype && strcmp(dtype, "uint16") == 0;
}

/* The dtype that T5X takes a stored array to have, if it is not the stored one, else NULL. `spec_array`
 * is the array as its spec describes it, or NULL. A stored void dtype ("|V2") is NumPy's way to
 * write a dtype of another library; if its size fits, the spec's dtype is meant. */
static const char *t5x_dtype(const struct zarr_array *array, const struct zarr_array *spec_array)
{
    struct dtype stored, spec;
    if (is_uint16(array->dtype))
        return "bfloat16";
    if (!spec_array)
        return NULL;
    dtype_find(array->dtype, &stored);
    dtype_find(spec_array->dtype, &spec);
    return stored.kind == DTYPE_VOID && spec.bits == stored.bits ? spec_array->dtype : NULL;
}

/* Whether the spec and the array's own metadata agree. */
static bool agrees(const struct zarr_array *array, const struct zarr_array *spec_array)
{
    const char *dtype = t5x_dtype(array, spec_array) ? t5x_dtype(array, spec_array) : array->dtype;
    const char *other = is_uint16(spec_array->dtype) ? "bfloat16" : spec_array->dtype;
    return dtype && other && strcmp(dtype, other) == 0 && spec_array->rank == array->rank &&
           memcmp(spec_array->shape, array->shape, array->rank * sizeof(*array->shape)) == 0;
}

/* Emit a row for an array without data, and report why. */
static void list_lost(struct t5x *t, const struct flax_leaf *leaf, const struct zarr_array *array,
                      const char *code, const char *why)
{
    struct job *job = t->sink.job;
    job_issue(job, ISSUE_ERROR, t->sink.source->name, leaf->item->offset, code,
              "array \"%.*s\" %s: listed without data",
              (int)(leaf->name_len < 200 ? leaf->name_len : 200), leaf->name, why);
    struct tensor_claim claim = {
        .name = leaf->name, .name_len = leaf->name_len, .dtype_unknown = true};
    claim.shape_unknown = true;
    if (array) {
        claim.dtype = t5x_dtype(array, NULL) ? t5x_dtype(array, NULL) : array->dtype;
        claim.shape = array->shape;
        claim.rank = array->rank;
        claim.dtype_unknown = claim.shape_unknown = false;
    }
    job_tensor(job, &claim);
}

/* Find the folder of an array. First try the spec's path, then only its last component: paths in
 * a bucket begin with the run's, "runs/a/checkpoint_5/target.w". */
static void find_site(struct t5x *t, const struct t5x_spec *s, const struct zarr_array *spec_array,
                      struct array_site *out)
{
    struct job *job = t->sink.job;
    *out = (struct array_site){0};
    for (int last = 0; last <= 1 && !out->found; last++) {
        char *path;
        if (!t5x_spec_folder(s, last, job->arena, &path)) {
            error_memory(job->err);
            return;
        }
        if (!path)
            break;
        const struct array_site *site = array_tree_find(&t->arrays, path);
        if (site && (site->has_metadata || !spec_array)) {
            *out = *site;
        } else if (spec_array) {
            *out = (struct array_site){.path = path};
            /* if the folder is missing, its chunks are reported lost */
            array_site_list(job, job->path, spec_array, out);
            if (job->err->status != OK)
                return;
            if (out->found && !out->metadata_name && t->guessed++ == 0)
                t->first_guessed = path;
            if (!out->has_metadata) { /* its .zarray cannot be read: the spec serves */
                job_issue_error(job, ISSUE_WARNING, out->problem);
                out->problem = NULL;
                out->has_metadata = true;
            }
        }
        if (!strchr(path, '/'))
            break;
    }
}

/* Emit the array of a folder, once. T5X never puts two arrays into one folder, and a hostile tree
 * could name the same large folder many times. */
static void emit_site(struct t5x *t, const struct flax_leaf *leaf,
                      const struct zarr_array *spec_array, const struct array_site *site)
{
    struct job *job = t->sink.job;
    const struct zarr_array *array = &site->array;
    bool added = false;
    strmap_add(&t->folders, site->path, strlen(site->path), &added);
    if (!added) {
        list_lost(t, leaf, array, "shared-folder", "has the folder of an array before it");
        return;
    }
    t->uint16s += is_uint16(array->dtype);
    if (spec_array && !agrees(array, spec_array))
        job_issue(job, ISSUE_WARNING, t->sink.source->name, leaf->item->offset, "spec-mismatch",
                  "array \"%.*s\" has another shape or dtype here than in its own folder, "
                  "which counts",
                  (int)(leaf->name_len < 200 ? leaf->name_len : 200), leaf->name);
    array_emit_site(job, job->path, site, leaf->name, leaf->name_len, t5x_dtype(array, spec_array));
}

static void emit_spec(struct t5x *t, const struct flax_leaf *leaf, const struct t5x_spec *s)
{
    /* The array as the spec's own metadata describes it; NULL: that metadata is not valid. */
    struct job *job = t->sink.job;
    struct error ignored = {.offset = NO_OFFSET};
    struct zarr_array *array = arena_alloc(job->arena, sizeof(*array));
    const void *text = arena_copy(job->arena, s->metadata.at, s->metadata.len);
    struct bytes metadata = {text, s->metadata.len};
    bool good =
        array && zarr_parse(metadata, 2, t->sink.source->name, job->arena, array, &ignored) == OK;
    const struct zarr_array *spec_array = good && array->kind == ZARR_ARRAY ? array : NULL;
    struct array_site site = {0};
    const bool zarr = strcmp(s->driver, "zarr") == 0;
    if (t->sink.job->err->status == OK && !s->has_output && zarr && t->folder)
        find_site(t, s, spec_array, &site);
    if (t->sink.job->err->status != OK)
        return;
    if (s->has_output)
        list_lost(t, leaf, NULL, "unsupported",
                  "is a view of what is stored (transform.output), which is not read");
    else if (!zarr)
        list_lost(t, leaf, spec_array, "unsupported", "is kept by a driver other than zarr");
    else if (!t->folder)
        list_lost(t, leaf, spec_array, "missing-array", "is in a folder, and this is a lone file");
    else if (site.has_metadata)
        emit_site(t, leaf, spec_array, &site);
    else if (spec_array)
        list_lost(t, leaf, spec_array, "bad-path",
                  "has a path that does not lead below the checkpoint");
    else
        list_lost(t, leaf, NULL, "bad-spec",
                  "has metadata that make no sense, and none in its folder");
}

/* --- the tree --------------------------------------------------------------------------- */

static void see_map(void *context, const struct flax_leaf *leaf, bool *taken)
{
    struct t5x *t = context;
    struct t5x_spec spec, base = {0};
    struct flax_leaf named = renamed(leaf);
    struct msgpack *m = leaf->reader;
    uint64_t start = m->at;
    *taken = t5x_spec_read(m, leaf->item, &spec);
    uint64_t after = m->at;
    if (*taken && spec.has_base) {
        m->at = spec.base_at;
        *taken = t5x_spec_read(m, &spec.base, &base) && !base.has_base;
        m->at = after;
    }
    if (*taken) {
        emit_spec(t, &named, spec.has_base ? &base : &spec);
    } else if (m->err->status == OK) {
        /* A spec with members of a wrong type would be walked as parameters: report it instead. */
        m->at = start;
        *taken = t5x_spec_meant(m, leaf->item);
        if (*taken)
            list_lost(t, &named, NULL, "bad-spec", "has a spec with members of a wrong type");
    }
    t5x_spec_release(&base);
    t5x_spec_release(&spec);
}

static void t5x_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct t5x *t = context;
    struct flax_leaf named = renamed(leaf);
    if (leaf->kind == FLAX_NUMBER && leaf->item->type == MSGPACK_UNSIGNED &&
        strcmp(leaf->name, "version") == 0)
        t->version = leaf->item->number;
    flax_leaf_emit(&t->sink, &named);
}

/* Warn of stored arrays without a leaf, and of arrays that were not taken as
 * stated; state the step. */
static void state_found(const struct t5x *t)
{
    struct job *job = t->sink.job;
    uint64_t unnamed = 0;
    const char *first = NULL;
    for (uint64_t i = 0; i < t->arrays.count; i++) {
        const char *path = t->arrays.sites[i].path;
        const struct error *problem = t->arrays.sites[i].problem;
        if (strmap_get(&t->folders, path, strlen(path)))
            continue;
        if (problem && status_passes(problem->status)) {
            job_issue_error(job, ISSUE_ERROR, problem);
            continue; /* it may be no array at all */
        }
        first = first ? first : path;
        unnamed++;
    }
    if (unnamed)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "not-in-metadata",
                  "folders of arrays that no leaf of `checkpoint` uses: %llu, the "
                  "first \"%.200s\"; not listed",
                  (unsigned long long)unnamed, first);
    if (t->uint16s && t->version > VERSION_UINT16)
        job_issue(job, ISSUE_WARNING, t->sink.source->name, NO_OFFSET, "uint16-is-bfloat16",
                  "%llu arrays say uint16, which version %llu should not: taken for "
                  "bfloat16, as T5X does",
                  (unsigned long long)t->uint16s, (unsigned long long)t->version);
    if (t->guessed)
        job_issue(job, ISSUE_WARNING, t->sink.source->name, NO_OFFSET, "no-metadata",
                  "folders of arrays without .zarray, which T5X does not read: %llu, such "
                  "as \"%.200s\"; the specs in `checkpoint` were taken",
                  (unsigned long long)t->guessed, t->first_guessed);
    array_tree_report(job, job->path, &t->arrays);
    flax_state_step(job);
}

static enum status t5x_index(struct job *job)
{
    struct t5x t = {.sink.job = job, .folders.err = job->err};
    const struct flax_visitor visitor = {.leaf = t5x_see_leaf, .map = see_map, .context = &t};
    struct source *source = job->source;
    t.folder = !source;
    if (t.folder && job_open(job, TREE_FILE, "index", &source, &t.sink.file, job->err) == OK)
        array_tree_scan(job, job->path, &t.arrays);
    t.sink.source = source;
    if (job->err->status == OK)
        flax_walk(job, t.sink.source, &visitor);
    if (job->err->status == OK)
        state_found(&t);
    strmap_release(&t.folders);
    return job->err->status;
}

const struct format format_t5x = {
    .name = "t5x",
    .summary = "a step of T5X: a tree in msgpack, with arrays in zarr folders",
    .suffixes = "",
    .separator = '/',
    .probe = t5x_probe,
    .probe_dir = t5x_probe_dir,
    .index = t5x_index,
};
