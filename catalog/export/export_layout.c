#include "catalog/export/export_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TEXT_BYTES ((size_t)64 << 10) /* about so many in one row */

bool lay_ok(const struct export_layout *l)
{
    return l->err->status == OK;
}

static void too_large(struct export_layout *l)
{
    error_set(l->err, ERR_UNSUPPORTED, l->file_path, NO_OFFSET, "more bytes than a file can have");
}

static void export_layout_advance(struct export_layout *l, uint64_t bytes)
{
    if (!add_u64(l->at, bytes, &l->at) || l->at > INT64_MAX)
        too_large(l);
}

/* --- text ------------------------------------------------------------------------------- */

static uint32_t file_now(const struct export_layout *l)
{
    return l->files - 1;
}

/* Text is collected until there is enough for a row, or something else follows it. */
static void flush_text(struct export_layout *l)
{
    struct bytes text = {(const uint8_t *)l->text.at, l->text.len};
    if (lay_ok(l) && l->text.failed)
        error_memory_at(l->err, l->path);
    if (lay_ok(l) && text.len)
        export_rows_add_text(l->rows, file_now(l), l->text_at, text, l->err);
    text_reset(&l->text);
    l->text_at = l->at;
}

void lay_text(struct export_layout *l, const void *bytes, size_t len)
{
    if (!lay_ok(l))
        return;
    if (l->text.len >= TEXT_BYTES)
        flush_text(l);
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
    if (!lay_ok(l))
        return;
    export_layout_advance(l, count);
    flush_text(l);
}

void lay_fill(struct export_layout *l, uint64_t at, const void *bytes, size_t len)
{
    if (lay_ok(l))
        export_rows_add_text(l->rows, file_now(l), at, (struct bytes){bytes, len}, l->err);
}

/* The four bytes are in the same row as the text before or after them, so that writing can fill
 * them in. */
void lay_crc32(struct export_layout *l, uint64_t tensor, uint64_t nbytes, struct bytes before)
{
    static const uint8_t zeros[4];
    if (!lay_ok(l))
        return;
    if (l->text.len >= TEXT_BYTES)
        flush_text(l);
    struct export_sum sum = {
        .file = file_now(l),
        .at = l->at,
        .tensor = tensor,
        .nbytes = nbytes,
        .before = (uint32_t)crc32(0, before.at, (uInt)before.len),
    };
    l->sums = true;
    export_rows_add_sum(l->rows, &sum, l->err);
    lay_text(l, zeros, sizeof(zeros));
}

/* --- files ------------------------------------------------------------------------------ */

static void end_file(struct export_layout *l)
{
    if (!l->file_path)
        return;
    flush_text(l);
    if (lay_ok(l))
        export_rows_add_file(l->rows, l->file_path, l->at, l->err);
    free(l->file_path);
    l->file_path = NULL;
}

void lay_file(struct export_layout *l, const char *path)
{
    end_file(l);
    if (!lay_ok(l))
        return;
    l->at = l->text_at = 0;
    l->file_path = path ? strdup(path) : NULL;
    l->files++;
    if (!l->file_path)
        error_memory_at(l->err, l->path);
}

void lay_finish(struct export_layout *l)
{
    end_file(l);
}

void lay_release(struct export_layout *l)
{
    free(l->file_path);
    text_release(&l->text);
}

/* --- tensors ---------------------------------------------------------------------------- */

static void export_layout_place(struct export_layout *l, struct export_tensor *t)
{
    t->number = l->placed++;
    l->nbytes += t->nbytes;
    export_rows_place(l->rows, t, l->err);
}

void lay_tensor(struct export_layout *l, struct export_tensor *t)
{
    flush_text(l);
    if (!lay_ok(l))
        return;
    t->file = file_now(l);
    t->offset = l->at;
    t->piece = t->run = 0;
    export_layout_advance(l, t->nbytes);
    l->text_at = l->at;
    if (lay_ok(l))
        export_layout_place(l, t);
}

void lay_pieces(struct export_layout *l, struct export_tensor *t)
{
    uint64_t bytes = 0;
    t->file = t->lead_len = 0;
    t->offset = 0;
    dtype_nbytes(&t->to, t->piece, &bytes);
    if (bytes > l->piece_bytes)
        l->piece_bytes = bytes;
    if (lay_ok(l))
        export_layout_place(l, t);
}

/* --- parts ------------------------------------------------------------------------------ */

struct spans {
    struct export_span *list;
    uint32_t count;
    size_t space;
};

static void add_span(struct export_layout *l, struct spans *s, uint64_t first, uint64_t last)
{
    void *list = arena_grow(&l->plan->arena, s->list, s->count, &s->space, sizeof(*s->list));
    if (!list) {
        error_memory_at(l->err, l->path);
        return;
    }
    s->list = list;
    s->list[s->count++] = (struct export_span){first, last};
}

/* Parts are filled in the order of the selection. A tensor larger than a part gets one of its
 * own. */
const struct export_span *lay_spans(struct export_layout *l, uint32_t *count)
{
    uint64_t most = l->options->shard_size, filled = 0, first = 0;
    struct spans spans = {0};
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    if (most && lay_ok(l))
        export_scan_open(l->rows, EXPORT_BY_SELECTION, EXPORT_ALL, &scan, l->err);
    while (scan && export_scan_next(scan, &t, l->err) == OK && t) {
        if (filled && (filled > most || t->nbytes > most - filled)) {
            add_span(l, &spans, first, t->number - 1);
            first = t->number;
            filled = 0;
        }
        filled += t->nbytes;
    }
    export_scan_close(scan);
    if (lay_ok(l))
        add_span(l, &spans, first, l->plan->count - 1);
    *count = lay_ok(l) ? spans.count : 0;
    return spans.list;
}

const char *lay_part_path(struct export_layout *l, uint32_t part, uint32_t count)
{
    const char *suffix = l->exporter->suffix;
    size_t len = strlen(l->path), cut = strlen(suffix);
    struct text path = {0};
    if (count == 1)
        return l->path;
    if (len > cut && strcmp(l->path + len - cut, suffix) == 0)
        len -= cut;
    text_add(&path, l->path, len);
    text_addf(&path, "-%05" PRIu32 "-of-%05" PRIu32 "%s", part + 1, count, suffix);
    const char *kept = path.failed ? NULL : arena_copy(&l->plan->arena, path.at, path.len);
    text_release(&path);
    if (!kept)
        error_memory_at(l->err, l->path);
    return kept;
}
