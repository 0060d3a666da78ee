/* onnx_message.c - the messages of an ONNX model, field by field. */
#include <inttypes.h>
#include <string.h>

#include "importer/format/single/onnx.h"

struct message_range onnx_enter(struct onnx *o, struct message_range inner)
{
    const struct message_range outer = {o->message.at, o->message.end};
    o->message.at = inner.at;
    o->message.end = inner.end;
    return outer;
}

void onnx_leave(struct onnx *o, struct message_range outer)
{
    o->message.at = outer.at;
    o->message.end = outer.end;
}

struct message_range onnx_contents(const struct message_field *f)
{
    return (struct message_range){f->at, f->at + f->len};
}

bool onnx_next(struct onnx *o, struct message_field *f)
{
    if (o->job->err->status != OK || message_next(&o->message, f, o->job->err) != OK)
        return false;
    return f->number != 0;
}

bool onnx_number(struct onnx *o, const struct message_field *f, uint64_t *value)
{
    uint8_t bytes[10];
    if (f->wire != WIRE_VARINT || f->len > sizeof(bytes) ||
        source_read(o->message.source, f->at, bytes, (size_t)f->len, o->job->err) != OK)
        return false;
    struct cursor c = cursor_over((struct bytes){bytes, (size_t)f->len}, f->at);
    *value = cursor_varint(&c);
    return cursor_ok(&c);
}

bool onnx_text(struct onnx *o, const struct message_field *f, struct bytes *text)
{
    struct job *job = o->job;
    *text = (struct bytes){(const uint8_t *)"", 0};
    if (f->wire != WIRE_BYTES || !f->len)
        return f->wire == WIRE_BYTES;
    if (f->len > LIMIT_FACTS_BYTES) { /* job_tensor() has a closer limit for names */
        error_set(job->err, ERR_LIMIT, job->path, f->at,
                  "a text of %" PRIu64 " bytes, most is %" PRIu64, f->len, LIMIT_FACTS_BYTES);
        return false;
    }
    uint8_t *at = arena_alloc(job->arena, (size_t)f->len + 1);
    if (!at)
        return false;
    at[f->len] = '\0';
    *text = (struct bytes){at, (size_t)f->len};
    return source_read(o->message.source, f->at, at, (size_t)f->len, job->err) == OK;
}

void onnx_pair(struct onnx *o, struct bytes *key, struct bytes *value)
{
    struct message_field f;
    *key = *value = (struct bytes){(const uint8_t *)"", 0};
    while (onnx_next(o, &f))
        if (f.number == 1)
            onnx_text(o, &f, key);
        else if (f.number == 2)
            onnx_text(o, &f, value);
}

bool onnx_text_is(struct bytes text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}
