#include "catalog/export/export_layout.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "catalog/export/chunk_runs.h"

#define SHARED_BYTES ((uint64_t)1 << 20) /* at least, of a tensor that a file system may share */
#define TEXT_BYTES   ((size_t)64 << 10)  /* about as much is put at once */

bool lay_ok(const struct export_layout *l)
{
    return l->err->status == OK;
}

/* --- text ------------------------------------------------------------------------------- */

static void export_layout_advance(struct export_layout *l, uint64_t bytes)
{
    if (!add_u64(l->at, bytes, &l->at) || l->at > INT64_MAX)
        error_set(l->err, ERR_UNSUPPORTED, text_str(&l->file_path), NO_OFFSET,
                  "more bytes than a file can have");
}

/* Put the text so far, as there is enough, or as something else follows it. */
static void flush_text(struct export_layout *l)
{
    if (l->text.failed)
        error_memory_at(l->err, l->path);
    if (lay_ok(l) && l->put && l->text.len)
        l->put(l, l->at - l->text.len, (struct bytes){(const uint8_t *)l->text.at, l->text.len});
    text_reset(&l->text);
}

void lay_text(struct export_layout *l, const void *bytes, size_t len)
{
    if (!lay_ok(l))
        return;
    if (l->text.len >= TEXT_BYTES)
        flush_text(l);
    if (l->put)
        text_add(&l->text, bytes, len);
    export_layout_advance(l, len);
}

void lay_add(struct export_layout *l, struct text *text)
{
    if (text->failed)
        error_memory_at(l->err, l->path);
    else
        lay_text(l, text->at, text->len);
    text_reset(text);
}

void lay_zeros(struct export_layout *l, uint64_t count)
{
    static const uint8_t zeros[64];
    if (count <= sizeof(zeros)) {
        lay_text(l, zeros, (size_t)count);
        return;
    }
    flush_text(l);
    if (lay_ok(l))
        export_layout_advance(l, count);
}

void lay_fill(struct export_layout *l, uint64_t at, const void *bytes, size_t len)
{
    const uint64_t kept = l->at - l->text.len; /* what lies before it was put */
    if (!lay_ok(l) || !l->put)
        return;
    if (at >= kept && at + len <= l->at)
        memcpy(l->text.at + (at - kept), bytes, len);
    else
        l->put(l, at, (struct bytes){bytes, len});
}

void lay_crc32(struct export_layout *l, const struct export_tensor *t, uint32_t before)
{
    uint8_t bytes[4] = {0};
    l->sums = SUM_CRC32;
    if (l->put) {
        store_u32le(bytes, (uint32_t)crc32_combine(before, t->sum, (z_off_t)t->nbytes));
    }
    lay_text(l, bytes, sizeof(bytes));
}

/* --- files ------------------------------------------------------------------------------ */

void lay_finish(struct export_layout *l)
{
    flush_text(l);
    if (!lay_ok(l) || l->put || l->measured == l->files)
        return;
    const bool named = l->holds || !l->exporter->folder_marks;
    *PUSH(l->arena, l->file, l->measured, l->space) = (struct export_file){
        named ? arena_copy(l->arena, l->file_path.at, l->file_path.len) : NULL, l->at};
}

void lay_file(struct export_layout *l, const char *path)
{
    lay_finish(l);
    text_reset(&l->file_path);
    if (!path || !text_adds(&l->file_path, path))
        error_memory_at(l->err, l->path);
    l->at = 0;
    l->holds = false;
    l->files++;
}

void lay_release(struct export_layout *l)
{
    text_release(&l->file_path);
    text_release(&l->text);
}

/* --- tensors ---------------------------------------------------------------------------- */

static void export_layout_place(struct export_layout *l, struct export_tensor *t)
{
    t->number = l->placed++;
    l->nbytes += t->nbytes;
}

void lay_tensor(struct export_layout *l, struct export_tensor *t)
{
    flush_text(l);
    if (!lay_ok(l))
        return;
    t->file = (uint32_t)(l->files - 1);
    t->offset = l->at;
    t->piece = t->run = 0;
    t->chunk = NULL;
    l->holds = true;
    t->tied = false;
    export_layout_advance(l, t->nbytes);
    export_layout_place(l, t);
}

bool lay_shares(const struct export_tensor *t)
{
    return t->plain && !t->recipe && t->nbytes >= SHARED_BYTES &&
           strcmp(t->from.name, t->to.name) == 0;
}

uint64_t lay_pieces_per_run(const struct export_tensor *t)
{
    return t->run / t->piece + (t->run % t->piece != 0);
}

void lay_tied(struct export_tensor *t)
{
    t->file = t->twin->file;
    t->offset = t->twin->offset;
    t->lead_len = t->twin->lead_len;
    t->tied = true;
}

void lay_pieces(struct export_layout *l, struct export_tensor *t)
{
    uint64_t bytes = 0;
    t->file = t->lead_len = 0;
    t->offset = 0;
    dtype_nbytes(&t->to, t->piece, &bytes);
    if (bytes > l->piece_bytes)
        l->piece_bytes = bytes;
    l->pieces += t->elements / t->run * lay_pieces_per_run(t);
    if (lay_ok(l))
        export_layout_place(l, t);
}

void lay_chunks(struct export_layout *l, struct export_tensor *t, const uint64_t *chunk)
{
    uint64_t bytes = 0;
    t->file = (uint32_t)(l->files - 1);
    t->lead_len = 0;
    t->tied = false;
    t->chunk = chunk;
    t->piece = 1;
    for (unsigned d = 0; d < t->rank; d++)
        t->piece *= chunk[d];
    dtype_nbytes(&t->to, t->piece, &bytes);
    l->piece_bytes = bytes > l->piece_bytes ? bytes : l->piece_bytes;
    if (!l->put)
        t->places = arena_array(l->arena, (size_t)chunk_count(t), sizeof(*t->places));
    if (lay_ok(l))
        export_layout_place(l, t);
}

/* --- parts ------------------------------------------------------------------------------ */

/* Parts are filled in the order of the selection. A tensor larger than a part gets one of its
 * own. */
uint32_t lay_parts(struct export_layout *l)
{
    const uint64_t most = l->options->shard_size;
    uint64_t filled = 0;
    uint32_t part = 0;
    for (size_t i = 0; i < l->plan->count; i++) {
        struct export_tensor *t = &l->plan->tensor[i];
        if (most && filled && (filled > most || t->nbytes > most - filled)) {
            part++;
            filled = 0;
        }
        filled += t->nbytes;
        t->file = part;
    }
    return part + 1;
}

const char *lay_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *lay_part_path(struct export_layout *l, uint32_t part, uint32_t count)
{
    const char *suffix = exporter_suffix(l->exporter, l->path);
    struct text path = {0};
    if (count == 1)
        return l->path;
    text_add(&path, l->path, strlen(l->path) - (suffix ? strlen(suffix) : 0));
    text_addf(&path, "-%05" PRIu32 "-of-%05" PRIu32 "%s", part + 1, count,
              suffix ? suffix : l->exporter->suffix);
    const char *kept = path.failed ? NULL : arena_copy(l->arena, path.at, path.len);
    text_release(&path);
    if (!kept)
        error_memory_at(l->err, l->path);
    return kept;
}

/* Lay out "NAME": "FILE" for every tensor. */
static void put_weight_map(struct export_layout *l, const char *const *paths)
{
    struct text text = {0};
    struct export_tensor **order = export_order(l->plan, export_by_name, l->err);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        const char *file = lay_file_name(paths[order[i]->file]);
        text_adds(&text, i ? ",\n    " : "\n    ");
        text_json(&text, order[i]->name, strlen(order[i]->name));
        text_adds(&text, ": ");
        text_json(&text, file, strlen(file));
        lay_add(l, &text);
    }
    text_release(&text);
}

void lay_index(struct export_layout *l, const char *const *paths)
{
    struct text text = {0};
    uint64_t nbytes = l->nbytes;
    text_addf(&text, "%s.index.json", l->path);
    if (text_str(&text))
        lay_file(l, text_str(&text));
    else
        error_memory_at(l->err, l->path);
    text_reset(&text);
    text_addf(&text, "{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n",
              (unsigned long long)nbytes);
    text_adds(&text, "  \"weight_map\": {");
    lay_add(l, &text);
    put_weight_map(l, paths);
    text_adds(&text, "\n  }\n}\n");
    lay_add(l, &text);
    text_release(&text);
}
