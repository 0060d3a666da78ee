/*
 * strings.c - string tensors.
 *
 * TensorFlow (tensor_bundle.cc, WriteStringTensor):
 *   count times varint64  length
 *   u32le                 masked CRC-32C of the lengths, each as u32le, or as u64le if it
 *                         does not fit
 *   bytes                 of all strings, concatenated
 * An empty tensor is the checksum alone, or nothing.
 *
 * TensorFlow's first version stores each string as a field of a protobuf message (tensor.proto).
 *
 * zarr, in each chunk (vlen-utf8, vlen-bytes):
 *   u32le                 number of strings
 *   each: u32le length, bytes
 *
 * NumPy's strings have a fixed width and are padded with NUL; HDF5's end at the first NUL (Z), or
 * are padded with spaces (P).
 */
#include "catalog/data/codec/strings.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/base/text.h"
#include "catalog/data/codec/codec.h"
#include "catalog/data/codec/message.h"
#include "catalog/data/kernel/crc32c.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define MARK_EVERY   256
#define LENGTH_BYTES 4 /* bytes of a length in VLEN */

/* A part of the source in memory. It grows only when a single string is longer. */
struct window {
    const struct source *source;
    uint64_t at;
    size_t len, space;
    uint8_t *bytes;
};

/* For every MARK_EVERY-th string: the offset of its length, and of its bytes. */
struct mark {
    uint64_t length_at, byte_at;
};

enum kind { TF, FIELDS, VLEN, NUMPY_BYTES, TO_NUL, SPACES, NUMPY_TEXT };

/* The argument of a chain's "strings:" step. */
struct encoding {
    enum kind kind;
    uint64_t width; /* bytes per element; 0 if they differ */
    uint64_t field; /* FIELDS: the field number; else what `width` was made of */
};

struct strings {
    struct source *source;
    struct encoding encoding;
    uint64_t count;
    struct window lengths, data;
    struct message message; /* FIELDS */
    struct mark *marks;     /* TF; FIELDS and VLEN use length_at only */
    struct mark here;       /* position of string number `next` */
    uint64_t next;
    uint8_t *utf8; /* NUMPY_TEXT: room for one string */
};

static bool parse_argument(const char *argument, struct encoding *e)
{
    static const struct {
        char letter;
        enum kind kind;
        uint64_t unit; /* bytes that the number counts; 0: it is no width */
    } numbered[] = {{'F', FIELDS, 0},
                    {'S', NUMPY_BYTES, 1},
                    {'Z', TO_NUL, 1},
                    {'P', SPACES, 1},
                    {'U', NUMPY_TEXT, 4}};
    bool tf = strcmp(argument, "tf") == 0;
    *e = (struct encoding){.kind = tf ? TF : VLEN};
    if (tf || strcmp(argument, "vlen") == 0)
        return true;
    if (!*argument || !codec_number(argument + 1, &e->field))
        return false;
    for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++)
        if (*argument == numbered[i].letter) {
            e->kind = numbered[i].kind;
            return mul_u64(e->field, numbered[i].unit, &e->width) &&
                   (e->kind != FIELDS || e->field > 0);
        }
    return false;
}

static bool parse_encoding(const char *chain, struct encoding *e)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    while (codec_chain_next(&chain, name, &argument))
        if (strcmp(name, "strings") == 0)
            return parse_argument(argument, e);
    return false;
}

static bool varies(const struct encoding *e)
{
    return e->kind == TF || e->kind == FIELDS || e->kind == VLEN;
}

bool strings_vary(const char *chain)
{
    struct encoding e;
    return parse_encoding(chain, &e) && varies(&e);
}

bool strings_width(const char *chain, uint64_t *width)
{
    struct encoding e;
    if (!parse_encoding(chain, &e))
        return false;
    *width = e.width;
    return true;
}

/* Decode one character, whose valid UTF-8 has `len` bytes. */
static uint32_t character(const uint8_t *at, int len)
{
    uint32_t c = len == 1 ? at[0] : at[0] & (0x7Fu >> len);
    for (int i = 1; i < len; i++)
        c = c << 6 | (at[i] & 0x3Fu);
    return c;
}

bool strings_put(const char *chain, struct bytes text, uint8_t *out)
{
    struct encoding e;
    if (!parse_encoding(chain, &e) || varies(&e))
        return false;
    memset(out, e.kind == SPACES ? ' ' : 0, (size_t)e.width);
    if (e.kind != NUMPY_TEXT) {
        if (text.len && text.len <= e.width)
            memcpy(out, text.at, text.len);
        return text.len <= e.width;
    }
    size_t at = 0, put = 0;
    while (at < text.len && put < e.width) {
        int len = utf8_length(text.at + at, text.len - at);
        if (!len)
            return false;
        store_u32le(out + put, character(text.at + at, len));
        at += (size_t)len;
        put += 4;
    }
    return at == text.len;
}

/* [offset, offset + len) of the source in memory, or NULL. */
static const uint8_t *window_at(struct window *w, uint64_t offset, size_t len, struct error *err)
{
    static const uint8_t nothing[1];
    const struct source *s = w->source;
    if (len == 0)
        return nothing;
    if (offset >= w->at && offset - w->at <= w->len && len <= w->len - (offset - w->at))
        return w->bytes + (offset - w->at);
    if (offset > s->size || len > s->size - offset) {
        error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "string data is cut short");
        return NULL;
    }
    uint64_t left = s->size - offset;
    size_t want = len > WINDOW_BYTES ? len : WINDOW_BYTES;
    want = want < left ? want : (size_t)left;
    w->len = 0;
    if (want > w->space) {
        free(w->bytes);
        w->space = 0;
        if (!(w->bytes = malloc(want))) {
            error_memory_at(err, s->name);
            return NULL;
        }
        w->space = want;
    }
    if (source_read(s, offset, w->bytes, want, err) != OK)
        return NULL;
    w->at = offset;
    w->len = want;
    return w->bytes;
}

/* The varint length at *at, which is moved past it. 0 after an error. */
static uint64_t next_length(struct window *w, uint64_t *at, struct error *err)
{
    uint64_t left = *at < w->source->size ? w->source->size - *at : 0;
    size_t most = left < VARINT_MAX ? (size_t)left : VARINT_MAX;
    const uint8_t *bytes = window_at(w, *at, most, err);
    struct cursor c = cursor_over((struct bytes){bytes, bytes ? most : 0}, *at);
    uint64_t length = cursor_varint(&c);
    if (!cursor_ok(&c))
        error_set(err, ERR_CORRUPT, w->source->name, NO_OFFSET,
                  "the length of a string is damaged (at byte %llu of its data)",
                  (unsigned long long)*at);
    *at = cursor_offset(&c);
    return cursor_ok(&c) ? length : 0;
}

struct tf_lengths {
    uint64_t data_at; /* offset of the first string's bytes */
    uint32_t sum;     /* CRC-32C of the lengths */
};

/* Read all lengths once: keep the marks (unless NULL), verify the checksum and the total. */
static void scan_lengths(struct window *w, uint64_t count, struct mark *marks,
                         struct tf_lengths *out, struct error *err)
{
    uint64_t at = 0, total = 0;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < count && err->status == OK; i++) {
        uint8_t bytes[8];
        if (marks && i % MARK_EVERY == 0)
            marks[i / MARK_EVERY] = (struct mark){at, total};
        const uint64_t length = next_length(w, &at, err);
        store_u64le(bytes, length);
        sum = crc32c_extend(sum, bytes, length > UINT32_MAX ? 8 : 4);
        if (!add_u64(total, length, &total) || total > w->source->size)
            error_set(err, ERR_CORRUPT, w->source->name, NO_OFFSET,
                      "string %llu ends past the end of the data", (unsigned long long)i);
    }
    const uint8_t *stated = err->status == OK ? window_at(w, at, 4, err) : NULL;
    if (!stated)
        return;
    if (crc32c_unmask(load_u32le(stated)) != sum)
        error_set(err, ERR_CHECKSUM, w->source->name, NO_OFFSET,
                  "the lengths of the strings do not have their checksum");
    if (total != w->source->size - at - 4)
        error_set(err, ERR_CORRUPT, w->source->name, NO_OFFSET,
                  "the strings are %llu bytes, but %llu are there", (unsigned long long)total,
                  (unsigned long long)(w->source->size - at - 4));
    for (uint64_t i = 0; marks && i < count; i += MARK_EVERY)
        marks[i / MARK_EVERY].byte_at += at + 4;
    *out = (struct tf_lengths){at + 4, sum};
}

static void make_marks(struct strings *t, struct error *err)
{
    if (t->count > t->source->size)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET,
                  "%llu strings cannot lie in %llu bytes", (unsigned long long)t->count,
                  (unsigned long long)t->source->size);
    else if (!(t->marks = calloc((size_t)(t->count / MARK_EVERY + 1), sizeof(*t->marks))))
        error_memory_at(err, t->source->name);
}

static void open_tf(struct strings *t, struct error *err)
{
    struct tf_lengths lengths;
    if (t->count == 0 && t->source->size == 0)
        return;
    make_marks(t, err);
    scan_lengths(&t->lengths, t->count, t->marks, &lengths, err);
    if (t->marks)
        t->here = t->marks[0];
}

/* The next field that is a string. False: there are no more, or an error. */
static bool next_field(struct strings *t, struct message_field *f, struct error *err)
{
    while (message_next(&t->message, f, err) == OK && f->number)
        if (f->number == t->encoding.field && f->wire == WIRE_BYTES)
            return true;
    return false;
}

static void open_fields(struct strings *t, struct error *err)
{
    struct message_field f;
    uint64_t found = 0;
    make_marks(t, err);
    t->message = message_over(t->source);
    for (; t->marks && next_field(t, &f, err); found++)
        if (found < t->count && found % MARK_EVERY == 0)
            t->marks[found / MARK_EVERY].length_at = f.head;
    if (found != t->count)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET, "%llu strings are there, not %llu",
                  (unsigned long long)found, (unsigned long long)t->count);
    t->next = UINT64_MAX; /* begin at a mark */
}

/* The u32le length at *at, which is moved past the string. 0 after an error. */
static uint32_t next_item(struct strings *t, uint64_t *at, struct error *err)
{
    const uint8_t *bytes = window_at(&t->lengths, *at, LENGTH_BYTES, err);
    const uint32_t length = bytes ? load_u32le(bytes) : 0;
    if (bytes && length > t->source->size - *at - LENGTH_BYTES)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET,
                  "a string of %u bytes at byte %llu ends past the end of the data",
                  (unsigned)length, (unsigned long long)*at + LENGTH_BYTES);
    if (err->status != OK)
        return 0;
    *at += (uint64_t)length + LENGTH_BYTES;
    return length;
}

static void open_vlen(struct strings *t, struct error *err)
{
    uint64_t at = LENGTH_BYTES;
    make_marks(t, err);
    const uint8_t *head = t->marks ? window_at(&t->lengths, 0, LENGTH_BYTES, err) : NULL;
    if (head && load_u32le(head) != t->count)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET, "%u strings are there, not %llu",
                  (unsigned)load_u32le(head), (unsigned long long)t->count);
    for (uint64_t i = 0; head && i < t->count && err->status == OK; i++) {
        if (i % MARK_EVERY == 0)
            t->marks[i / MARK_EVERY].length_at = at;
        next_item(t, &at, err);
    }
    if (at != t->source->size)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET,
                  "%llu bytes are after the last string",
                  (unsigned long long)(t->source->size - at));
    t->next = UINT64_MAX; /* begin at a mark */
}

static void open_fixed(struct strings *t, struct error *err)
{
    uint64_t size;
    uint64_t width = t->encoding.width;
    if (!mul_u64(t->count, width, &size) || size != t->source->size)
        error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET,
                  "%llu strings of %llu bytes do not fill %llu bytes", (unsigned long long)t->count,
                  (unsigned long long)width, (unsigned long long)t->source->size);
    else if (t->encoding.kind == NUMPY_TEXT && t->count &&
             !(t->utf8 = malloc(width ? (size_t)width : 1)))
        error_memory_at(err, t->source->name);
}

enum status strings_open(struct source *bytes, const char *chain, uint64_t count,
                         struct strings **out, struct error *err)
{
    struct strings *t = calloc(1, sizeof(*t));
    if (!t) {
        error_memory_at(err, bytes->name);
        source_close(bytes);
        return err->status;
    }
    t->source = bytes;
    t->count = count;
    t->lengths.source = t->data.source = bytes;
    if (!parse_encoding(chain, &t->encoding))
        error_set(err, ERR_UNSUPPORTED, bytes->name, NO_OFFSET, "unknown encoding of strings");
    else if (t->encoding.kind == TF)
        open_tf(t, err);
    else if (t->encoding.kind == FIELDS)
        open_fields(t, err);
    else if (t->encoding.kind == VLEN)
        open_vlen(t, err);
    else
        open_fixed(t, err);
    if (err->status == OK)
        *out = t;
    else
        strings_close(t);
    return err->status;
}

void strings_close(struct strings *t)
{
    if (!t)
        return;
    free(t->lengths.bytes);
    free(t->data.bytes);
    free(t->marks);
    free(t->utf8);
    source_close(t->source);
    free(t);
}

/* Go to the mark before string `index`, unless the string comes soon after the last one. */
static void go_near(struct strings *t, uint64_t index)
{
    if (index >= t->next && index - t->next <= MARK_EVERY)
        return;
    t->next = index - index % MARK_EVERY;
    t->here = t->marks[index / MARK_EVERY];
    t->message.at = t->here.length_at;
}

/* The string of `len` bytes at `at`. */
static enum status string_from(struct strings *t, uint64_t at, uint64_t len, struct bytes *out,
                               struct error *err)
{
    *out = (struct bytes){window_at(&t->data, at, (size_t)len, err), (size_t)len};
    return err->status;
}

static enum status tf_at(struct strings *t, uint64_t index, struct bytes *out, struct error *err)
{
    go_near(t, index);
    for (;;) {
        struct mark here = t->here;
        const uint64_t length = next_length(&t->lengths, &here.length_at, err);
        if (t->next == index || err->status != OK)
            return string_from(t, here.byte_at, length, out, err);
        here.byte_at += length;
        t->here = here;
        t->next++;
    }
}

static enum status field_at(struct strings *t, uint64_t index, struct bytes *out, struct error *err)
{
    struct message_field f;
    go_near(t, index);
    while (next_field(t, &f, err))
        if (t->next++ == index)
            return string_from(t, f.at, f.len, out, err);
    return error_set(err, ERR_CHANGED, t->source->name, NO_OFFSET,
                     "strings are not what they were when they were counted");
}

static enum status vlen_at(struct strings *t, uint64_t index, struct bytes *out, struct error *err)
{
    uint32_t length = 0;
    go_near(t, index);
    do
        length = next_item(t, &t->here.length_at, err);
    while (err->status == OK && t->next++ != index);
    return string_from(t, t->here.length_at - length, length, out, err);
}

/* NumPy's UCS-4 as UTF-8. A lone surrogate, which Python allows, becomes three bytes that are not
 * valid UTF-8. */
static enum status numpy_text(struct strings *t, uint64_t index, const uint8_t *ucs4,
                              struct bytes *out, struct error *err)
{
    uint64_t units = t->encoding.width / 4;
    while (units && load_u32le(ucs4 + (units - 1) * 4) == 0)
        units--;
    size_t len = 0;
    for (uint64_t i = 0; i < units; i++) {
        uint32_t c = load_u32le(ucs4 + i * 4);
        if (c > 0x10FFFF)
            return error_set(err, ERR_CORRUPT, t->source->name, NO_OFFSET,
                             "string %llu has a character beyond Unicode",
                             (unsigned long long)index);
        len += utf8_put(t->utf8 + len, c);
    }
    *out = (struct bytes){t->utf8, len};
    return OK;
}

enum status strings_at(struct strings *t, uint64_t index, struct bytes *out, struct error *err)
{
    if (index >= t->count)
        return error_set(err, ERR_ARGUMENT, t->source->name, NO_OFFSET, "there is no string %llu",
                         (unsigned long long)index);
    if (t->encoding.kind == TF)
        return tf_at(t, index, out, err);
    if (t->encoding.kind == FIELDS)
        return field_at(t, index, out, err);
    if (t->encoding.kind == VLEN)
        return vlen_at(t, index, out, err);
    const uint64_t width = t->encoding.width;
    if (string_from(t, index * width, width, out, err) != OK)
        return err->status;
    if (t->encoding.kind == NUMPY_TEXT)
        return numpy_text(t, index, out->at, out, err);
    if (t->encoding.kind == TO_NUL)
        out->len = strnlen((const char *)out->at, out->len);
    while (out->len && out->at[out->len - 1] == (t->encoding.kind == SPACES ? ' ' : 0))
        out->len--;
    return OK;
}

enum status strings_tf_sum(const struct source *bytes, uint64_t count, uint32_t *sum,
                           struct error *err)
{
    struct window w = {.source = bytes};
    struct tf_lengths lengths = {0};
    if (count > bytes->size)
        error_set(err, ERR_CORRUPT, bytes->name, NO_OFFSET, "more strings than bytes");
    scan_lengths(&w, count, NULL, &lengths, err);
    *sum = lengths.sum;
    for (uint64_t at = lengths.data_at - 4; at < bytes->size && err->status == OK;) {
        uint64_t left = bytes->size - at;
        size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        const uint8_t *block = window_at(&w, at, len, err);
        *sum = block ? crc32c_extend(*sum, block, len) : 0;
        at += len;
    }
    free(w.bytes);
    return err->status;
}
