/*
 * flax.c - one file of Flax: a tree of arrays in msgpack (flax_tree.c, flax_leaf.c).
 *
 *   checkpoint_<step>      flax.training.checkpoints; the run is the folder. A step may be
 *                          padded, negative, or a fraction (which is not stated as a step)
 *   *.msgpack              flax.serialization.to_bytes, Hugging Face's flax_model.msgpack
 *   streaming_params...    EasyLM: no map, but one record [key, value] per array; the key is the
 *                          list of its path's components, the value a byte string that is itself
 *                          msgpack, mostly an array
 *
 *   FILE_gda/              zarr folders of arrays that several processes wrote together. The tree
 *                          has texts in their place, "//GDAPlaceholder:" and their path. (The
 *                          folder is also found as a checkpoint of its own.)
 *
 * A file may have any name if its beginning holds an array. Without one the bytes prove too little,
 * and the name must be one of these.
 *
 * Sources: flax/training/checkpoints.py, EasyLM/checkpoint.py.
 */
#include <string.h>

#include "importer/array/array.h"
#include "importer/container/flax_leaf.h"

#define GDA_MARKER "//GDAPlaceholder:"
#define GDA_SUFFIX "_gda"

/* --- recognising ------------------------------------------------------------------------ */

static bool named_like_flax(const char *name)
{
    size_t len = strlen(name);
    return (len > 8 && strcmp(name + len - 8, ".msgpack") == 0) ||
           strncmp(name, "checkpoint", 10) == 0 || strstr(name, ".checkpoint_") ||
           strncmp(name, "streaming_", 10) == 0;
}

/* Read the key of a record, and the head of its value. `key` NULL: the key is not wanted. */
static bool read_record(struct msgpack *m, struct msgpack_item *value, struct text *key)
{
    struct msgpack_item item, list;
    if (!msgpack_want(m, &item, MSGPACK_ARRAY, "a record of a key and a value"))
        return false;
    if (item.count != 2)
        return msgpack_fail(m, item.offset, ERR_CORRUPT, NULL,
                            "a record of %llu parts, not of a key and a value",
                            (unsigned long long)item.count);
    if (!msgpack_want(m, &list, MSGPACK_ARRAY, "the components of a name"))
        return false;
    for (uint64_t i = 0; i < list.count; i++) {
        if (!msgpack_want(m, &item, MSGPACK_STRING, "a component of a name"))
            return false;
        if (key && i)
            text_addc(key, '/');
        if (key)
            msgpack_add(m, &item, key);
    }
    if (key && m->err->status == OK && !text_str(key))
        return msgpack_fail(m, list.offset, ERR_LIMIT, NULL, "a name of more than %llu bytes",
                            (unsigned long long)LIMIT_NAME_BYTES);
    return msgpack_want(m, value, MSGPACK_BYTES, "a value as bytes");
}

/* Whether the file begins with a record. */
static bool is_stream(struct bytes head, uint64_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct msgpack_item value;
    struct msgpack m;
    msgpack_head(&m, head, size, &err);
    return read_record(&m, &value, NULL);
}

static int flax_probe(const struct probe *p)
{
    int bits = flax_evidence(p->head, p->size);
    if (is_stream(p->head, p->size))
        bits = bits < 32 ? 32 : bits;
    return bits >= 32 || named_like_flax(p->name) ? bits : 0;
}

/* --- arrays of several processes --------------------------------------------------------- */

struct flax_file {
    struct flax_sink sink;
    bool has_step; /* a number called "step" at the top of the tree */
    int64_t step;
    const char *folder; /* of the arrays beside the file; NULL: not searched yet */
    struct array_tree arrays;
    struct strmap taken; /* paths of arrays that a placeholder has named */
};

/* Whether the leaf is a placeholder for an array that several processes wrote, each its part. */
static bool is_placeholder(const struct flax_leaf *leaf)
{
    if (leaf->kind != FLAX_TEXT || leaf->item->len < strlen(GDA_MARKER))
        return false;
    struct msgpack_item begin = *leaf->item;
    begin.len = strlen(GDA_MARKER);
    return msgpack_is(leaf->reader, &begin, GDA_MARKER);
}

/* Look for the arrays in the folder beside the file, once. */
static void find_arrays(struct flax_file *f)
{
    struct job *job = f->sink.job;
    struct file_identity identity;
    struct error missing = {.offset = NO_OFFSET};
    struct text path = {0};
    text_adds(&path, job->path);
    text_adds(&path, GDA_SUFFIX);
    f->folder = text_keep(&path, job->arena);
    text_release(&path);
    array_root_record(job, f->folder);
    if (file_identify(f->folder, &identity, &missing) == OK &&
        array_tree_scan(job, f->folder, &f->arrays) == OK)
        array_groups_record(job, f->folder, &f->arrays);
}

/* The array that a placeholder names; NULL if absent or named by an earlier placeholder. */
static const struct array_site *site_of(struct flax_file *f, const struct flax_leaf *leaf)
{
    struct array_site *site = NULL;
    struct text path = {.limit = LIMIT_NAME_BYTES};
    struct msgpack_item rest = *leaf->item;
    bool added = true;
    rest.data += strlen(GDA_MARKER);
    rest.len -= strlen(GDA_MARKER);
    if (msgpack_add(leaf->reader, &rest, &path) && text_str(&path) &&
        strlen(text_str(&path)) == path.len)
        site = array_tree_find(&f->arrays, text_str(&path));
    if (site)
        strmap_add(&f->taken, site->path, strlen(site->path), &added);
    text_release(&path);
    return site && site->has_metadata && added ? site : NULL;
}

static void emit_placeholder(struct flax_file *f, const struct flax_leaf *leaf)
{
    struct job *job = f->sink.job;
    if (!f->folder)
        find_arrays(f);
    const struct array_site *site = site_of(f, leaf);
    if (site) {
        array_emit_site(job, f->folder, site, leaf->name, leaf->name_len, NULL);
        return;
    }
    job_issue(job, ISSUE_ERROR, NULL, leaf->item->offset, "missing-array",
              "\"%.200s\" stands for an array in the folder %.200s, but is not there: "
              "listed without data",
              leaf->name, f->folder);
    job_tensor(job, &(struct tensor_claim){.name = leaf->name,
                                           .name_len = leaf->name_len,
                                           .dtype_unknown = true,
                                           .shape_unknown = true});
}

/* --- indexing --------------------------------------------------------------------------- */

static void flax_see_leaf(void *context, const struct flax_leaf *leaf)
{
    struct flax_file *f = context;
    if (is_placeholder(leaf)) {
        emit_placeholder(f, leaf);
        return;
    }
    bool step = leaf->kind == FLAX_NUMBER && leaf->item->type == MSGPACK_UNSIGNED &&
                leaf->item->number <= INT64_MAX && strcmp(leaf->name, "step") == 0;
    if (step) {
        f->has_step = true;
        f->step = (int64_t)leaf->item->number;
    }
    flax_leaf_emit(&f->sink, leaf);
}

/* Visit the value of a record, which must fill all its bytes. */
static bool read_record_value(struct flax_tree *t, const struct msgpack_item *value)
{
    struct msgpack *m = &t->reader;
    uint64_t end = m->end;
    m->at = value->data;
    m->end = value->data + value->len;
    if (flax_value(t) != OK)
        return false;
    if (m->at != m->end)
        return msgpack_fail(m, m->at, ERR_CORRUPT, NULL, "%llu bytes after the value of a record",
                            (unsigned long long)(m->end - m->at));
    m->end = end;
    return true;
}

static void walk_stream(struct job *job, const struct flax_visitor *visitor)
{
    struct flax_tree t;
    struct msgpack_item value = {0};
    bool ok = flax_open(&t, job, job->source, visitor) == OK;
    while (ok && t.reader.at < t.reader.end) {
        text_reset(&t.names.path);
        ok = read_record(&t.reader, &value, &t.names.path) && read_record_value(&t, &value);
    }
    flax_close(&t);
}

/* Read the beginning of the file to tell a stream from a tree. */
static bool begins_stream(struct job *job)
{
    uint8_t head[PROBE_HEAD_BYTES];
    const struct source *s = job->source;
    size_t len = s->size < sizeof(head) ? (size_t)s->size : sizeof(head);
    return source_read(s, 0, head, len, job->err) == OK &&
           is_stream((struct bytes){head, len}, s->size);
}

static enum status flax_index_file(struct job *job)
{
    struct flax_file f = {.sink = {.job = job, .source = job->source}, .taken.err = job->err};
    const struct flax_visitor visitor = {.leaf = flax_see_leaf, .context = &f};
    if (begins_stream(job))
        walk_stream(job, &visitor);
    else if (job->err->status == OK)
        flax_walk(job, job->source, &visitor);
    strmap_release(&f.taken);
    if (job->err->status == OK && !flax_state_step(job) && f.has_step)
        job_step(job, f.step);
    return job->err->status;
}

const struct format format_flax = {
    .name = "flax",
    .summary = "a tree of arrays that Flax has serialised (msgpack)",
    .suffixes = ".msgpack",
    .separator = '/',
    .beside = {"config.json"},
    .probe = flax_probe,
    .index = flax_index_file,
};
