/*
 * dcp.c - PyTorch Distributed Checkpoint: a folder with .metadata and the files of each rank.
 *
 *   .metadata   a pickle of torch.distributed.checkpoint.metadata.Metadata:
 *     state_dict_metadata   {NAME: tensor (properties, size, chunks (offsets, sizes)) | bytes}
 *     storage_data          {(NAME, offset of the chunk): (relative_path, offset, length)}
 *   *.distcp    at that offset a complete torch.save archive of one chunk or one object; or the
 *               file is a safetensors image, in which the chunk is called NAME
 *
 * With `transform_descriptors` ["stream.zstd/1"] (torch's extension ZStandard) the archive is a
 * Zstandard stream, which states no size. Of a chunk only the beginning is decoded here, which has the
 * pickle and tells where in the archive the elements are.
 *
 *   metadata.json, common.pt    Megatron's: facts, and unsharded values, named common.…
 *
 * A tensor is one row with a piece for each chunk; objects become facts under their names.
 *
 * Source: torch/distributed/checkpoint/metadata.py, filesystem.py, _extension.py.
 * Not read: items with other transform descriptors: an issue each.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/name_list.h"
#include "catalog/data/codec/stream.h"
#include "importer/container/safetensors_header.h"
#include "importer/format/ranks/dcp_box.h"
#include "importer/format/torch/torch_file.h"

#define METADATA ".metadata"
#define SHARD    ".distcp"
#define COMMON   "common.pt"
#define MODULE   "torch.distributed.checkpoint"

#define ZSTANDARD       "stream.zstd/1"    /* and ".x" may follow */
#define BEGINNING_BYTES ((size_t)64 << 10) /* decoded of a coded item at first; of an object also */
#define BEGINNING_RATIO 1024               /* these for each of its bytes, */
#define BEGINNING_MOST  ((size_t)LIMIT_PICKLE_INFLATE) /* but not more than this */

#define FIELDS_MAX 64 /* of an object of the metadata; torch's have up to 6 */
/* Of the names in keys, bytes for each byte of .metadata; of items that are opened, bytes for each of
 * their files. Only parts that are shared pass them. */
#define KEYS_SHARE  16
#define ITEMS_SHARE 4
#define SHARE_START (UINT64_C(16) << 20)
#define TOLD_ITEMS  1024 /* asked for together: some 20 KiB each */

static int dcp_probe_dir(const struct probe_dir *p)
{
    const bool metadata = probe_dir_has_file(p, METADATA);
    bool shards = false, others = false;
    for (uint64_t i = 0; i < p->file_count; i++) {
        shards |= text_ends_in(p->files[i], strlen(p->files[i]), SHARD);
        others |= format_claims_name(p->files[i]);
    }
    if (shards && (metadata || !others))
        return 32; /* whatever its metadata holds */
    if (!metadata)
        return 0;
    struct bytes head = p->peek(p, METADATA);
    struct probe seen = {.head = head};
    return head.at && head.len > 2 && head.at[0] == 0x80 && probe_holds(&seen, MODULE) ? 64 : 0;
}

/* An item's place, in the list of its file's items. */
struct told {
    uint64_t offset, length;
    size_t next; /* position in `told` + 1; 0: none */
};

struct shard {
    const char *name; /* relative path */
    struct source *source;
    uint32_t file;
    bool image; /* a safetensors image: `header`, `data` and `tensors` are set */
    struct safetensors_header header;
    uint64_t data;         /* offset of its data */
    struct strmap tensors; /* name -> position in the header */
    size_t first, last;    /* of its items, as struct told's next */
};

struct dcp {
    struct job *job;
    struct torch_tree tree; /* of .metadata */
    struct pickle pickle;
    struct strmap places;  /* place_key() -> node of a _StorageInfo */
    struct strmap by_path; /* relative path -> position in shards */
    struct shard *shards;
    size_t shard_count, shard_space;
    struct told *told; /* items, in the order of storage_data; a file's are asked for together */
    size_t told_count, told_space;
    struct text key;
    uint64_t visits;            /* chunks of all tensors so far */
    uint64_t key_bytes;         /* of all keys that were made so far */
    uint64_t opened, openable;  /* bytes of items opened so far; of their files */
    struct torch_tensor tensor; /* large: not one per call */
};

/* --- the metadata ----------------------------------------------------------------------- */

/* A field of an object whose state is a dict, or a tuple that begins with one. */
static pickle_ref field(const struct pickle *p, pickle_ref object, const char *name)
{
    if (pickle_kind(p, object) != PICKLE_CALL)
        return 0;
    pickle_ref state = pickle_at(p, object)->call->state;
    if (state && pickle_kind(p, state) == PICKLE_TUPLE)
        state = pickle_item(p, state, 0);
    /* many objects may share one dict */
    return state && pickle_at(p, state)->count <= 2 * FIELDS_MAX ? pickle_get(p, state, name) : 0;
}

static bool shared_too_often(struct dcp *d, const char *what)
{
    error_set(d->job->err, ERR_LIMIT, d->tree.path, NO_OFFSET,
              "the metadata repeats its %s more often than this program follows", what);
    return false;
}

/* Spell a key of storage_data as text that can be compared, d->key: name, NUL, offsets: "w\0"
 * "0,128,". False after setting the job's error. */
static bool place_key(struct dcp *d, pickle_ref name, const uint64_t *offsets, unsigned rank)
{
    const struct pickle_node *n = pickle_at(&d->pickle, name);
    d->key_bytes += n->count;
    if (d->key_bytes > SHARE_START + KEYS_SHARE * d->tree.source->size)
        return shared_too_often(d, "names");
    text_reset(&d->key);
    text_add(&d->key, n->text, n->count);
    text_addc(&d->key, '\0');
    for (unsigned i = 0; i < rank; i++)
        text_addf(&d->key, "%llu,", (unsigned long long)offsets[i]);
    if (!text_str(&d->key))
        error_memory(d->job->err);
    return d->job->err->status == OK;
}

/* The shard at a path, opened or not. NULL after setting the job's error. */
static struct shard *shard_at(struct dcp *d, const struct pickle_node *path)
{
    bool added;
    uint64_t *at = strmap_add(&d->by_path, path->text, path->count, &added);
    if (added) {
        *at = d->shard_count;
        *PUSH(d->job->arena, d->shards, d->shard_count, d->shard_space) =
            (struct shard){.name = path->text, .tensors.err = d->job->err};
    }
    return d->job->err->status == OK ? &d->shards[*at] : NULL;
}

static void learn_item(struct dcp *d, pickle_ref info)
{
    const struct pickle *p = &d->pickle;
    const pickle_ref path = field(p, info, "relative_path");
    struct told item = {0};
    if (pickle_kind(p, path) != PICKLE_TEXT ||
        !torch_number(p, field(p, info, "offset"), &item.offset) ||
        !torch_number(p, field(p, info, "length"), &item.length))
        return;
    struct shard *s = shard_at(d, pickle_at(p, path));
    *PUSH(d->job->arena, d->told, d->told_count, d->told_space) = item;
    if (d->job->err->status != OK)
        return;
    *(s->last ? &d->told[s->last - 1].next : &s->first) = d->told_count;
    s->last = d->told_count;
}

static void learn_places(struct dcp *d)
{
    const struct pickle *p = &d->pickle;
    pickle_ref data = field(p, p->root, "storage_data"), index;
    uint64_t offsets[TENSOR_RANK_MAX];
    for (uint32_t i = 0; (index = pickle_item(p, data, i)); i += 2) {
        pickle_ref name = field(p, index, "fqn"), offset = field(p, index, "offset");
        unsigned rank = 0;
        bool added;
        const char *kept;
        if (pickle_kind(p, name) != PICKLE_TEXT ||
            (offset && pickle_kind(p, offset) != PICKLE_NONE &&
             !torch_numbers(p, offset, offsets, &rank)))
            continue;
        if (!place_key(d, name, offsets, rank))
            return;
        *strmap_keep(&d->places, d->job->arena, d->key.at, d->key.len, &kept, &added) =
            pickle_item(p, data, i + 1);
        if (d->tree.source->ops->at_hand)
            learn_item(d, pickle_item(p, data, i + 1));
    }
}

/* Where an item is stored. */
struct place {
    const struct pickle_node *path;
    uint64_t offset, length;
    const char *codec; /* "zstd"; NULL: none */
};

/* The codec that undoes the writer's extensions: torch has one, ZStandard. */
static bool find_transform(struct dcp *d, pickle_ref steps, struct place *out, struct error *err)
{
    const struct pickle *p = &d->pickle;
    const struct pickle_node *step = pickle_at(p, pickle_item(p, steps, 0));
    const bool text = step->kind == PICKLE_TEXT;
    const size_t len = strlen(ZSTANDARD);
    if (text && !pickle_item(p, steps, 1) && strncmp(step->text, ZSTANDARD, len) == 0 &&
        (!step->text[len] || step->text[len] == '.'))
        out->codec = "zstd";
    return out->codec || torch_fail(&d->tree, err, "unsupported",
                                    "its data was transformed by extensions, \"%.60s\" the first",
                                    text ? step->text : "?");
}

/* False after setting *err or the job's error. */
static bool find_place(struct dcp *d, pickle_ref name, const uint64_t *offsets, unsigned rank,
                       struct place *out, struct error *err)
{
    const struct pickle *p = &d->pickle;
    if (!place_key(d, name, offsets, rank))
        return false;
    const uint64_t *at = strmap_get(&d->places, d->key.at, d->key.len);
    if (!at) {
        torch_fail(&d->tree, err, "missing-chunk", "the metadata does not say where its data is");
        return false;
    }
    pickle_ref info = (pickle_ref)*at, steps = field(p, info, "transform_descriptors");
    pickle_ref path = field(p, info, "relative_path");
    if (pickle_kind(p, path) != PICKLE_TEXT ||
        !torch_number(p, field(p, info, "offset"), &out->offset) ||
        !torch_number(p, field(p, info, "length"), &out->length)) {
        torch_fail(&d->tree, err, "bad-metadata",
                   "the metadata gives no file, offset and length for it");
        return false;
    }
    out->path = pickle_at(p, path);
    out->codec = NULL;
    return !pickle_item(p, steps, 0) || find_transform(d, steps, out, err);
}

/* --- shards ----------------------------------------------------------------------------- */

/* If the file is a safetensors image, read its header: it holds the chunks under their names. */
static void read_image(struct dcp *d, struct shard *s)
{
    struct error *err = d->job->err;
    uint8_t head[9];
    struct bytes text;
    bool added;
    if (s->source->size < sizeof(head) ||
        source_read(s->source, 0, head, sizeof(head), err) != OK ||
        (head[0] == 'P' && head[1] == 'K') || head[8] != '{')
        return;
    s->image = true;
    if (safetensors_load(s->source, d->job->arena, &text, err) != OK ||
        safetensors_parse(text, s->source->name, d->job->arena, d->job->arena, &s->header, err) !=
            OK)
        return;
    s->data = 8 + text.len;
    for (uint64_t i = 0; i < s->header.count; i++) {
        const struct safetensors_tensor *t = &s->header.tensors[i];
        *strmap_add(&s->tensors, t->name, t->name_len, &added) = i;
    }
}

/* The shard at a path, opened when it is first needed. NULL after setting *err, if it is a path that
 * the metadata must not name, or else the job's error: the checkpoint cannot be loaded if one of its files
 * is missing. */
static struct shard *find_shard(struct dcp *d, const struct pickle_node *path, struct error *err)
{
    struct error *lost = d->job->err;
    if (strlen(path->text) != path->count) {
        error_set(err, ERR_CORRUPT, d->tree.path, NO_OFFSET,
                  "the metadata names a file with a NUL in its name");
        return NULL;
    }
    struct shard *s = shard_at(d, path);
    if (!s || s->source)
        return s;
    if (job_open(d->job, path->text, "data", &s->source, &s->file, err) == ERR_CORRUPT)
        return NULL;
    if (err->status == ERR_MISSING)
        error_code(err, "missing-shard");
    if (err->status != OK) {
        *lost = *err;
        return NULL;
    }
    d->openable += s->source->size;
    read_image(d, s);
    return lost->status == OK ? s : NULL;
}

/* --- items ------------------------------------------------------------------------------ */

/* The torch.save archive of one item. */
struct item {
    bool object; /* any value, not a tensor: the whole is wanted */
    struct arena arena;
    struct source *source;
    struct torch_zip zip;
    struct torch_tree tree;
};

/* Decode the first bytes of a stream: as many as there is room for, or all (*made). */
static enum status decode_stream(const struct source *s, const struct codec *codec, uint8_t *out,
                                 size_t room, size_t *made, struct error *err)
{
    const struct codec_step step = {.codec = codec->name, .name = s->name};
    const char *message = NULL;
    uint8_t in[16384];
    uint64_t at = 0;
    struct stream_piece piece = {.out = out, .room = room};
    enum stream_result result = STREAM_GOES_ON;
    void *state = codec->stream->create(&step, err);
    while (state && err->status == OK && result == STREAM_GOES_ON && piece.room) {
        const size_t len = s->size - at < sizeof(in) ? (size_t)(s->size - at) : sizeof(in);
        if (!piece.in.len && (!len || source_read(s, at, in, len, err) != OK))
            break;
        if (!piece.in.len) {
            piece.in = (struct bytes){in, len};
            at += len;
        }
        result = codec->stream->decode(state, &piece, &message);
        if (result == STREAM_ENDS && (piece.in.len || at < s->size)) {
            codec->stream->reset(state);
            result = STREAM_GOES_ON;
        }
    }
    if (state)
        codec->stream->close(state);
    if (result == STREAM_NO_MEMORY)
        return error_memory_at(err, s->name);
    if (result == STREAM_DAMAGED)
        return error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "%s data is damaged: %s",
                         codec->name, message ? message : "?");
    *made = room - piece.room;
    if (err->status == OK && result == STREAM_GOES_ON && piece.room) {
        error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "%s data is cut short after %zu bytes",
                  codec->name, *made);
        error_code(err, "truncated");
    }
    return err->status;
}

/* Replace the item's source, the coded bytes, by the beginning of what they decode to: the pickle and
 * the header of the tensor's storage are in it, or the whole archive of an object. */
static bool decode_beginning(struct item *i, const struct place *place, struct error *err)
{
    struct source *coded = i->source;
    size_t room = place->length < BEGINNING_MOST / BEGINNING_RATIO
                      ? BEGINNING_BYTES + (size_t)place->length * BEGINNING_RATIO
                      : BEGINNING_MOST;
    room = i->object ? room : BEGINNING_BYTES;
    size_t made = 0;
    uint8_t *bytes = arena_room(&i->arena, room);
    if (bytes && decode_stream(coded, codec_find(place->codec), bytes, room, &made, err) == OK) {
        i->source = NULL;
        source_open_memory(coded->name, (struct bytes){bytes, made}, false, &i->source, err);
        source_close(coded);
    }
    return bytes && err->status == OK;
}

/* On another machine: unless an item is at hand, ask for the needed parts of its file's next items together. */
static void foresee(struct dcp *d, struct shard *s, const struct place *place)
{
    const struct source *of = s->source;
    if (!of->ops->at_hand || !place->length ||
        of->ops->at_hand(of, place->offset + place->length - 1, 1)) /* its end is read first */
        return;
    for (size_t left = TOLD_ITEMS; left && s->first; left--) {
        const struct told *t = &d->told[s->first - 1];
        const uint64_t most = t->length < ZIP_END_BYTES ? t->length : ZIP_END_BYTES;
        s->first = t->next;
        if (t->offset > of->size || t->length > of->size - t->offset)
            continue;
        of->ops->at_hand(of, t->offset, most); /* the pickle is the first member */
        of->ops->at_hand(of, t->offset + t->length - most, most);
    }
}

/* Call close_item(), after a failure too: *err, or the job's. */
static bool open_item(struct dcp *d, struct shard *s, const struct place *place, bool object,
                      struct item *out, struct error *err)
{
    *out = (struct item){.object = object,
                         .arena = {.ceiling = d->job->arena->ceiling, .err = d->job->err}};
    out->tree = (struct torch_tree){
        .job = d->job, .arena = &out->arena, .path = s->source->name, .run = {.file = s->file}};
    if (place->offset > s->source->size || place->length > s->source->size - place->offset)
        return torch_fail(&out->tree, err, "truncated",
                          "its data ends at byte %llu of a file of %llu",
                          (unsigned long long)(place->offset + place->length),
                          (unsigned long long)s->source->size);
    d->opened += place->length;
    if (d->opened > SHARE_START + ITEMS_SHARE * d->openable)
        return shared_too_often(d, "items");
    foresee(d, s, place);
    const struct torch_run run = {
        .file = s->file, .offset = place->offset, .stored = place->length, .codec = place->codec};
    return source_open_view(s->source, place->offset, place->length, &out->source, err) == OK &&
           (!place->codec || decode_beginning(out, place, err)) &&
           torch_zip_open(&out->tree, out->source, &run, &out->zip, err) &&
           torch_zip_run(&out->tree, &out->zip, "data", err);
}

static void close_item(struct item *i)
{
    torch_tree_release(&i->tree);
    torch_zip_close(&i->zip);
    source_close(i->source);
    arena_release(&i->arena);
}

/* A chunk's extent and checksum, to be filled in. */
struct piece {
    struct extent *extent;
    uint32_t *sum; /* 0: none */
};

/* A chunk as the metadata describes it. */
struct chunk {
    const char *dtype;
    const struct dcp_box *box;
};

static bool is_chunk(const struct chunk *c, const char *dtype, unsigned rank, const uint64_t *shape)
{
    return strcmp(dtype, c->dtype) == 0 && rank == c->box->rank &&
           memcmp(shape, c->box->shape, rank * sizeof(*shape)) == 0;
}

/* Find a chunk in a safetensors image. */
static bool image_chunk(struct dcp *d, const struct shard *s, pickle_ref name,
                        const struct chunk *chunk, struct piece *out, struct error *err)
{
    const struct pickle_node *n = pickle_at(&d->pickle, name);
    const uint64_t *at = strmap_get(&s->tensors, n->text, n->count);
    const struct safetensors_tensor *x = at ? &s->header.tensors[*at] : NULL;
    if (!x)
        return torch_fail(&d->tree, err, "missing-chunk", "it is not in the file %.100s", s->name);
    if (!is_chunk(chunk, x->dtype, x->rank, x->shape))
        return torch_fail(&d->tree, err, "bad-chunk",
                          "dtype or shape in the file %.100s differ from the metadata", s->name);
    out->extent->file = s->file;
    out->extent->offset = s->data + x->begin;
    out->extent->stored = x->end - x->begin;
    return true;
}

/* Find a chunk that is a torch.save archive of its own. */
static bool zip_chunk(struct dcp *d, struct shard *s, const struct place *place,
                      const struct chunk *chunk, struct piece *out, struct error *err)
{
    struct item item;
    struct torch_tensor *x = &d->tensor;
    bool ok =
        open_item(d, s, place, false, &item, err) &&
        (torch_is_tensor(&item.zip.pickle, item.zip.pickle.root) ||
         torch_fail(&d->tree, err, "bad-chunk", "its data is not a tensor")) &&
        torch_tensor_read(&item.tree, item.zip.pickle.root, x, err) &&
        (is_chunk(chunk, x->dtype, x->rank, x->shape) ||
         torch_fail(&d->tree, err, "bad-chunk", "its dtype or shape differ from the metadata")) &&
        torch_place(&item.tree, x, out->extent, err) &&
        (!out->extent->bytes ||
         torch_fail(&d->tree, err, "unsupported",
                    "its data is text with escapes, which cannot be read in place"));
    *out->sum = ok && torch_run_summed(&x->run, out->extent) ? x->run.crc : 0;
    close_item(&item);
    return ok;
}

/* --- tensors ---------------------------------------------------------------------------- */

static bool read_box(struct dcp *d, pickle_ref chunk, unsigned rank, struct dcp_box *out,
                     struct error *err)
{
    const struct pickle *p = &d->pickle;
    uint64_t origin[TENSOR_RANK_MAX], shape[TENSOR_RANK_MAX];
    unsigned a = 0, b = 0;
    if (!torch_numbers(p, field(p, chunk, "offsets"), origin, &a) ||
        !torch_numbers(p, field(p, chunk, "sizes"), shape, &b) || a != rank || b != rank)
        return torch_fail(&d->tree, err, "bad-chunk", "a chunk has another number of dimensions");
    return dcp_box_set(d->job->arena, origin, shape, rank, out);
}

static bool dcp_read_chunk(struct dcp *d, pickle_ref name, const char *dtype,
                           const struct dcp_box *box, struct piece *out, struct error *err)
{
    const struct chunk chunk = {dtype, box};
    struct place place = {0};
    struct shard *s;
    if (!find_place(d, name, box->origin, box->rank, &place, err))
        return false;
    if (!(s = find_shard(d, place.path, err)))
        return false;
    bool ok = s->image ? image_chunk(d, s, name, &chunk, out, err)
                       : zip_chunk(d, s, &place, &chunk, out, err);
    out->extent->origin = box->origin;
    out->extent->shape = box->shape;
    return ok;
}

/* Tensors may share a list of chunks in the pickle, so that a small file has very many. But each
 * chunk has an entry of storage_data, of many bytes: no honest file has more chunks than bytes.
 * */
static bool count_chunks(struct dcp *d, pickle_ref chunks, uint64_t *count)
{
    const enum pickle_kind kind = pickle_kind(&d->pickle, chunks);
    const bool list = kind == PICKLE_LIST || kind == PICKLE_TUPLE;
    *count = list ? pickle_at(&d->pickle, chunks)->count : 0;
    d->visits += *count;
    if (d->visits <= d->tree.source->size)
        return true;
    error_set(d->job->err, ERR_LIMIT, d->tree.path, NO_OFFSET,
              "more chunks of tensors than this .metadata has bytes");
    return false;
}

/* Read all chunks of a tensor as pieces; false after setting *err or the job's error. */
static bool dcp_read_tensor(struct dcp *d, pickle_ref name, pickle_ref metadata,
                            struct dcp_pieces *out, struct error *err)
{
    const struct pickle *p = &d->pickle;
    uint64_t shape[TENSOR_RANK_MAX], count;
    pickle_ref chunks = field(p, metadata, "chunks"), chunk;
    const pickle_ref properties = field(p, metadata, "properties");
    const pickle_ref state =
        pickle_kind(p, properties) == PICKLE_CALL ? pickle_at(p, properties)->call->state : 0;
    const bool named = state && pickle_kind(p, state) == PICKLE_DICT;
    out->dtype =
        torch_dtype_of(p, named ? field(p, properties, "dtype") : pickle_item(p, state, 0));
    if (!out->dtype || !torch_numbers(p, field(p, metadata, "size"), shape, &out->rank))
        return torch_fail(&d->tree, err, "bad-metadata",
                          "the metadata gives no known dtype and shape for it");
    if (!count_chunks(d, chunks, &count) || !dcp_pieces_set(d->job->arena, shape, count, out))
        return false;
    for (uint32_t i = 0; i < count && (chunk = pickle_item(p, chunks, i)); i++) {
        struct dcp_box *box = &out->boxes[out->count];
        if (!read_box(d, chunk, out->rank, box, err))
            return false;
        if (dcp_box_empty(box))
            continue;
        struct piece piece = {&out->extents[out->count], &out->sums[out->count]};
        if (!dcp_read_chunk(d, name, out->dtype, box, &piece, err))
            return false;
        out->count++;
    }
    return true;
}

/* State an object: its values become facts under its name. */
static void state_object(struct dcp *d, pickle_ref name)
{
    const struct pickle_node *n = pickle_at(&d->pickle, name);
    struct error err = {.offset = NO_OFFSET};
    struct place place = {0};
    struct shard *s;
    struct item item;
    char what[320];
    if (find_place(d, name, NULL, 0, &place, &err)) {
        s = find_shard(d, place.path, &err);
        if (d->job->err->status != OK || (s && s->image))
            return;
        if (s && open_item(d, s, &place, true, &item, &err)) {
            item.tree.prefix = n->text;
            torch_tree_state(&item.tree);
        }
        if (s)
            close_item(&item);
    }
    if (err.status == OK)
        return;
    snprintf(what, sizeof(what), "object \"%.240s\"", n->text);
    error_prefix(&err, what);
    job_issue_error(d->job, ISSUE_WARNING, &err);
}

static void state_all(struct dcp *d)
{
    const struct pickle *p = &d->pickle;
    pickle_ref all = field(p, p->root, "state_dict_metadata"), name;
    if (pickle_kind(p, all) != PICKLE_DICT) {
        torch_fail(&d->tree, d->job->err, "bad-metadata",
                   "this .metadata has no state_dict_metadata");
        return;
    }
    for (uint32_t i = 0; (name = pickle_item(p, all, i)) && d->job->err->status == OK; i += 2) {
        const struct pickle_node *n = pickle_at(p, name);
        pickle_ref what = pickle_item(p, all, i + 1);
        if (n->kind != PICKLE_TEXT)
            continue;
        if (torch_callee(p, what) == DCP_BYTES) {
            state_object(d, name);
            continue;
        }
        struct error err = {.offset = NO_OFFSET};
        struct dcp_pieces pieces = {.file = d->tree.run.file};
        dcp_read_tensor(d, name, what, &pieces, &err);
        if (d->job->err->status == OK)
            dcp_pieces_emit(d->job, n->text, n->count, &pieces, &err);
    }
}

/* State what Megatron saves beside the shards: metadata.json, and common.pt with its arguments
 * and other unsharded values. */
static void state_common(struct job *job)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    uint64_t count;
    uint32_t file;
    const char *const *names = job_siblings(job, &count);
    job_meta_neighbour(job, "metadata.json");
    if (!names_hold(names, count, COMMON) || job->err->status != OK)
        return;
    if (job_open(job, COMMON, "data", &s, &file, &err) == OK) {
        struct torch_tree t = {
            .job = job, .path = s->name, .prefix = "common", .run = {.file = file}};
        torch_file_state(&t, s, &err);
    }
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
}

static enum status dcp_index(struct job *job)
{
    struct source *s = NULL;
    uint32_t file;
    struct dcp *d = arena_alloc(job->arena, sizeof(*d));
    if (d && job_open(job, METADATA, "index", &s, &file, job->err) == ERR_MISSING)
        error_code(job->err, "missing-metadata");
    if (!d || job->err->status != OK)
        return job->err->status;
    d->job = job;
    d->places.err = d->by_path.err = job->err;
    d->tree = (struct torch_tree){.job = job,
                                  .arena = job->arena,
                                  .path = s->name,
                                  .pickle = &d->pickle,
                                  .source = s,
                                  .run = {.file = file}};
    job_sum_kind(job, "crc32");
    torch_run_pickle(&d->tree, 0, 0, &d->pickle, job->err);
    if (job->err->status == OK)
        learn_places(d);
    if (job->err->status == OK)
        state_all(d);
    if (job->err->status == OK)
        state_common(job);
    for (size_t i = 0; i < d->shard_count; i++)
        strmap_release(&d->shards[i].tensors);
    strmap_release(&d->places);
    strmap_release(&d->by_path);
    text_release(&d->key);
    torch_tree_release(&d->tree);
    return job->err->status;
}

const struct format format_dcp = {
    .name = "dcp",
    .summary = "PyTorch Distributed Checkpoint: .metadata and .distcp files",
    .suffixes = "",
    .separator = '.',
    .probe_dir = dcp_probe_dir,
    .flat = true,
    .index = dcp_index,
};
