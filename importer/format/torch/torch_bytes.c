/*
 * torch_bytes.c - byte strings in a pickle.
 *
 * A pickle stores a byte string as it is, or, in protocols 0 to 2, as text:
 * _codecs.encode(TEXT, 'latin1').
 */
#include <stdio.h>

#include "importer/format/torch/torch.h"

/* Append a codec step to a run; its result has `size` bytes. */
static bool add_step(struct torch_tree *t, struct torch_run *run, const char *step, uint64_t size,
                     struct error *err)
{
    char chain[CHAIN_BYTES];
    int n = snprintf(chain, sizeof(chain), "%s%s%s", run->codec ? run->codec : "",
                     run->codec ? "|" : "", step);
    if (n >= (int)sizeof(chain))
        return torch_fail(t, err, "unsupported", "bytes in too many layers");
    run->codec = arena_copy(t->arena, chain, (size_t)n);
    run->size = size;
    run->crc = 0;
    return true;
}

bool torch_bytes_part(struct torch_tree *t, const struct torch_run *run, uint64_t offset,
                      uint64_t len, struct torch_run *out, struct error *err)
{
    char step[64];
    *out = *run;
    if (run->codec && !run->inlined) {
        snprintf(step, sizeof(step), "cut:%llu,%llu", (unsigned long long)offset,
                 (unsigned long long)len);
        return add_step(t, out, step, len, err);
    }
    if (run->inlined)
        out->inlined += offset;
    else
        out->offset += offset;
    out->size = out->stored = len;
    out->crc = 0;
    return true;
}

/* Encode a text as Latin-1, one byte per character. False: it has others. */
static bool encode_text(const struct pickle_node *text, uint8_t *to, size_t *len)
{
    const uint8_t *in = (const uint8_t *)text->text;
    *len = 0;
    for (uint32_t i = 0; i < text->count; i++) {
        uint8_t c = in[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == text->count || (in[i + 1] & 0xc0) != 0x80)
                return false;
            c = (uint8_t)(c << 6 | (in[++i] & 0x3f));
        }
        to[(*len)++] = c;
    }
    return true;
}

/* The text as Latin-1 in the arena. It is kept, as many tensors may share one text. */
static bool encode(struct torch_tree *t, const struct pickle_node *text, struct bytes *out,
                   struct error *err)
{
    bool added;
    const char *kept;
    t->encoded.err = t->job->err;
    uint64_t *at =
        strmap_keep(&t->encoded, t->arena, (const char *)&text, sizeof(text), &kept, &added);
    if (added) {
        uint8_t *to = arena_room(t->arena, text->count + 1u);
        size_t len;
        if (to && encode_text(text, to, &len))
            *PUSH(t->arena, t->texts, t->text_count, t->text_space) = (struct bytes){to, len};
        else
            PUSH(t->arena, t->texts, t->text_count, t->text_space);
        *at = t->text_count - 1;
    }
    if (t->job->err->status != OK)
        return false;
    *out = t->texts[*at];
    return out->at ||
           torch_fail(t, err, "bad-bytes", "its bytes are text with characters past U+00FF");
}

pickle_ref torch_bytes_node(const struct pickle *p, pickle_ref ref, bool *encoded)
{
    *encoded = false;
    for (unsigned i = 0; i < 4 && pickle_kind(p, ref) == PICKLE_CALL; i++) {
        enum torch_meaning meaning = torch_callee(p, ref);
        if (meaning != TORCH_ENCODE && meaning != TORCH_SEQUENCE)
            return 0;
        pickle_ref args = pickle_at(p, ref)->call->args;
        ref = pickle_item(p, args, 0);
        *encoded = meaning == TORCH_ENCODE || pickle_item(p, args, 1);
    }
    return ref;
}

static bool inline_run(struct torch_tree *t, struct bytes bytes, struct torch_run *out,
                       struct error *err)
{
    if (bytes.len > LIMIT_PICKLE_INLINE)
        return torch_fail(t, err, "unsupported",
                          "%zu bytes written as text with escapes, which cannot be read "
                          "where they are",
                          bytes.len);
    *out = (struct torch_run){
        .file = t->run.file, .stored = bytes.len, .size = bytes.len, .inlined = bytes.at};
    return true;
}

static bool text_run(struct torch_tree *t, const struct pickle_node *n, bool encoded,
                     struct torch_run *out, struct error *err)
{
    char step[64];
    uint64_t offset = pickle_text_offset(n);
    struct bytes bytes = {(const uint8_t *)n->text, n->count};
    if (encoded && !(n->flags & PICKLE_STR8) && !encode(t, n, &bytes, err))
        return false;
    if (offset == NO_OFFSET)
        return inline_run(t, bytes, out, err);
    if (!torch_bytes_part(t, &t->run, offset, n->count, out, err))
        return false;
    snprintf(step, sizeof(step), "latin1:%zu", bytes.len);
    return bytes.len == n->count || add_step(t, out, step, bytes.len, err);
}

bool torch_bytes_run(struct torch_tree *t, pickle_ref ref, struct torch_run *out, struct error *err)
{
    bool encoded;
    pickle_ref inner = torch_bytes_node(t->pickle, ref, &encoded);
    const struct pickle_node *n = pickle_at(t->pickle, inner);
    if (n->kind == PICKLE_BYTES)
        return torch_bytes_part(t, &t->run, n->data->offset, n->data->len, out, err);
    if (n->kind == PICKLE_TEXT && (encoded || n->flags & PICKLE_STR8))
        return text_run(t, n, encoded, out, err);
    if (torch_callee(t->pickle, ref) == TORCH_SEQUENCE && !inner)
        return inline_run(t, (struct bytes){(const uint8_t *)"", 0}, out, err);
    return torch_fail(t, err, "bad-bytes", "its data is not a byte string");
}

bool torch_bytes_source(struct torch_tree *t, pickle_ref ref, struct source **out,
                        struct error *err)
{
    bool encoded;
    pickle_ref inner = torch_bytes_node(t->pickle, ref, &encoded);
    const struct pickle_node *n = pickle_at(t->pickle, inner);
    struct bytes bytes = {(const uint8_t *)"", 0};
    if (n->kind == PICKLE_BYTES)
        return source_open_view(t->source, n->data->offset, n->data->len, out, err) == OK;
    if (n->kind == PICKLE_TEXT && n->flags & PICKLE_STR8)
        bytes = (struct bytes){(const uint8_t *)n->text, n->count};
    else if (n->kind != PICKLE_TEXT || !encoded || !encode(t, n, &bytes, err))
        return err->status == OK &&
               torch_fail(t, err, "bad-bytes", "its data is not a byte string");
    return source_open_memory(t->source->name, bytes, false, out, err) == OK;
}
