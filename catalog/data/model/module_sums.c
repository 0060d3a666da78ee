#include "catalog/data/model/module_sums.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/cursor.h"
#include "catalog/data/kernel/crc32c.h"

#define CRC_BYTES sizeof(uint32_t)

/* --- packing ------------------------------------------------------------------------------ */

/* The place of a sum among those in `sums`. */
static uint64_t pack_sum(struct module_pack *p, const struct module_sum *sum)
{
    const char *kept;
    bool added = false;
    uint64_t *at =
        strmap_keep(&p->index, &p->arena, (const char *)sum, sizeof(*sum), &kept, &added);
    if (at && added) {
        *at = p->index.count - 1;
        text_varint(&p->sums, (uint64_t)sum->tensors);
        text_varint(&p->sums, (uint64_t)sum->parameters);
        text_varint(&p->sums, (uint64_t)sum->nbytes);
    }
    p->sums.failed |= !at;
    return at ? *at : 0;
}

static void end_depth(struct module_pack *p)
{
    if (!p->count)
        return;
    text_varint(&p->depths, p->depth);
    text_varint(&p->depths, p->count);
    text_varint(&p->depths, p->modules.len - p->begin);
    p->depth_count++;
    p->begin = p->modules.len;
    p->before = 0;
    p->count = 0;
}

void module_pack_add(struct module_pack *p, const struct packed_module *m)
{
    if (m->depth != p->depth)
        end_depth(p);
    p->depth = m->depth;
    text_varint(&p->modules, zigzag((int64_t)m->tensor - p->before));
    text_varint(&p->modules, m->length);
    text_varint(&p->modules, pack_sum(p, &m->sum));
    p->before = m->tensor;
    p->count++;
}

void module_pack_end(struct module_pack *p, struct text *out)
{
    end_depth(p);
    text_varint(out, p->index.count);
    text_add(out, p->sums.at, p->sums.len);
    text_varint(out, p->depth_count);
    text_add(out, p->depths.at, p->depths.len);
    text_add(out, p->modules.at, p->modules.len);
    text_le(out, crc32c_extend(0, out->at, out->len), CRC_BYTES);
    out->failed |= p->sums.failed || p->depths.failed || p->modules.failed;
    text_release(&p->sums);
    text_release(&p->depths);
    text_release(&p->modules);
    strmap_release(&p->index);
    arena_release(&p->arena);
}

/* --- unpacking ---------------------------------------------------------------------------- */

void module_sums_release(struct module_sums *s)
{
    free(s->sum);
    free(s->depth);
    free(s->module);
    free(s->packed);
    *s = (struct module_sums){0};
}

/* How many of at least `bytes` bytes each come next. */
static size_t take_count(struct cursor *c, size_t bytes)
{
    const uint64_t count = cursor_varint(c);
    if (count <= cursor_left(c) / bytes)
        return (size_t)count;
    cursor_fail(c);
    return 0;
}

static bool unpack_sums(struct cursor *c, struct module_sums *s)
{
    s->sum_count = take_count(c, 3);
    s->sum = malloc((s->sum_count + 1) * sizeof(*s->sum));
    for (size_t i = 0; s->sum && i < s->sum_count; i++) {
        s->sum[i].tensors = (int64_t)cursor_varint(c);
        s->sum[i].parameters = (int64_t)cursor_varint(c);
        s->sum[i].nbytes = (int64_t)cursor_varint(c);
    }
    return s->sum != NULL;
}

static bool unpack_depths(struct cursor *c, struct module_sums *s)
{
    s->depths = take_count(c, 3);
    s->depth = malloc((s->depths + 1) * sizeof(*s->depth));
    for (size_t i = 0; s->depth && i < s->depths; i++) {
        struct module_depth *d = &s->depth[i];
        *d = (struct module_depth){.depth = cursor_varint32(c), .first = (uint32_t)s->count};
        d->count = cursor_varint32(c);
        d->packed.len = cursor_varint32(c);
        s->count += d->count;
        if (d->count > d->packed.len / 3)
            cursor_fail(c);
    }
    for (size_t i = 0; s->depth && i < s->depths; i++)
        s->depth[i].packed = cursor_take(c, s->depth[i].packed.len);
    if (!s->depth || !cursor_ok(c))
        return s->depth != NULL;
    s->module = malloc((s->count + 1) * sizeof(*s->module));
    return s->module != NULL;
}

enum module_sums_state module_sums_unpack(struct bytes packed, struct module_sums *s)
{
    *s = (struct module_sums){0};
    if (packed.len < CRC_BYTES || load_u32le(packed.at + packed.len - CRC_BYTES) !=
                                      crc32c_extend(0, packed.at, packed.len - CRC_BYTES))
        return MODULE_SUMS_DAMAGED;
    s->packed = malloc(packed.len);
    if (!s->packed)
        return MODULE_SUMS_NO_MEMORY;
    memcpy(s->packed, packed.at, packed.len);
    struct cursor c = cursor_over((struct bytes){s->packed, packed.len - CRC_BYTES}, 0);
    const bool room = unpack_sums(&c, s) && unpack_depths(&c, s);
    if (room && cursor_ok(&c))
        return MODULE_SUMS_GOOD;
    module_sums_release(s);
    return room ? MODULE_SUMS_DAMAGED : MODULE_SUMS_NO_MEMORY;
}

/* Most have one byte. */
static inline uint64_t next_varint(struct cursor *c)
{
    return !c->failed && c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_varint(c);
}

enum module_sums_state module_sums_read(struct module_sums *s, size_t i)
{
    struct module_depth *d = &s->depth[i];
    struct cursor c = cursor_over(d->packed, 0);
    uint64_t tensor = 0, wrong = 0;
    for (uint32_t k = 0; k < d->count; k++) {
        tensor += (uint64_t)unzigzag(next_varint(&c));
        const uint64_t length = next_varint(&c), sum = next_varint(&c);
        wrong |= (tensor | length) >> 32 || sum >= s->sum_count;
        s->module[d->first + k] =
            (struct module_place){(uint32_t)tensor, (uint32_t)length, (uint32_t)sum};
    }
    d->read = cursor_ok(&c) && !wrong;
    return d->read ? MODULE_SUMS_GOOD : MODULE_SUMS_DAMAGED;
}

/* --- characters ---------------------------------------------------------------------------- */

/* The end of the character that begins at `at`. */
static size_t next_character(const char *text, size_t len, size_t at)
{
    if ((uint8_t)text[at++] >= 0xC0)
        while (at < len && ((uint8_t)text[at] & 0xC0) == 0x80)
            at++;
    return at;
}

size_t module_bytes(const char *name, size_t len, uint32_t length)
{
    size_t at = 0;
    for (; at < len && name[at] && length; length--)
        at = next_character(name, len, at);
    return at;
}

uint32_t module_characters(const char *text, size_t len)
{
    uint32_t count = 0;
    for (size_t at = 0; at < len && text[at]; count++)
        at = next_character(text, len, at);
    return count;
}
