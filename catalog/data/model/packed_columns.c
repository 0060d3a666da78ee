#include "catalog/data/model/packed_columns.h"

#include <stdlib.h>

#include "catalog/base/cursor.h"

#define CRC_BYTES sizeof(uint32_t)
/* With more rows than a quarter of the tensors they are not worth it, but small layouts always are. */
#define FEW_ROWS  64
#define ROW_SHARE 4
#define LEAST_ROW (PACKED_TEXTS + PACKED_NUMBERS)

/* --- packing ------------------------------------------------------------------------------ */

bool column_pack_tensor(struct column_pack *p, const void *key, size_t len)
{
    bool added = false;
    const char *kept;
    uint64_t *row = strmap_keep(&p->index, &p->keys, key, len, &kept, &added);
    p->tensors.failed |= !row;
    if (row && added)
        *row = p->index.count - 1;
    text_varint(&p->tensors, row ? *row : 0);
    p->count++;
    return row && !added;
}

void column_pack_row(struct column_pack *p, const struct packed_row *row)
{
    for (int i = 0; i < PACKED_TEXTS; i++) {
        const struct bytes text = row->text[i];
        text_varint(&p->rows, text.at ? text.len + 1 : 0);
        if (text.at)
            text_add(&p->rows, text.at, text.len);
    }
    for (int i = 0; i < PACKED_NUMBERS; i++) {
        text_varint(&p->rows, row->number[i] != NUMBER_NULL);
        if (row->number[i] != NUMBER_NULL)
            text_varint(&p->rows, zigzag(row->number[i]));
    }
}

void column_pack_end(struct column_pack *p, struct text *out)
{
    if (p->index.count <= FEW_ROWS || p->index.count <= p->count / ROW_SHARE) {
        text_varint(out, p->index.count);
        text_add(out, p->rows.at, p->rows.len);
        text_varint(out, p->count);
        text_add(out, p->tensors.at, p->tensors.len);
        text_le(out, crc32c_extend(0, out->at, out->len), CRC_BYTES);
    }
    out->failed |= p->rows.failed || p->tensors.failed;
    text_release(&p->rows);
    text_release(&p->tensors);
    strmap_release(&p->index);
    arena_release(&p->keys);
}

/* --- reading ------------------------------------------------------------------------------ */

void packed_columns_release(struct packed_columns *c)
{
    for (int i = 0; i < PACKED_TEXTS; i++) {
        free(c->span[i]);
        free(c->texts[i]);
    }
    for (int i = 0; i < PACKED_NUMBERS; i++)
        free(c->number[i]);
    free(c->of);
    *c = (struct packed_columns){0};
}

/* How many of at least `bytes` bytes each come next. */
static uint32_t take_count(struct cursor *c, size_t bytes)
{
    const uint64_t count = cursor_varint(c);
    if (count <= cursor_left(c) / bytes && count < UINT32_MAX)
        return (uint32_t)count;
    cursor_fail(c);
    return 0;
}

static bool unpack_rows(struct cursor *c, struct packed_columns *p)
{
    struct text texts[PACKED_TEXTS] = {{0}};
    bool room = true;
    p->rows = take_count(c, LEAST_ROW);
    for (int i = 0; i < PACKED_TEXTS; i++)
        room &= (p->span[i] = calloc((size_t)p->rows + 1, sizeof(*p->span[i]))) != NULL;
    for (int i = 0; i < PACKED_NUMBERS; i++)
        room &= (p->number[i] = calloc((size_t)p->rows + 1, sizeof(*p->number[i]))) != NULL;
    for (uint32_t row = 0; room && cursor_ok(c) && row < p->rows; row++) {
        for (int i = 0; i < PACKED_TEXTS; i++) {
            const uint64_t len = cursor_varint(c);
            const struct bytes text = cursor_take(c, len ? len - 1 : 0);
            check_add(&texts[i], &p->span[i][row], len ? (const char *)text.at : NULL, text.len);
        }
        for (int i = 0; i < PACKED_NUMBERS; i++)
            p->number[i][row] = cursor_varint(c) ? unzigzag(cursor_varint(c)) : NUMBER_NULL;
    }
    for (int i = 0; i < PACKED_TEXTS; i++) {
        p->bytes += texts[i].len + p->rows * sizeof(struct span);
        room &= !texts[i].failed;
        p->texts[i] = text_steal(&texts[i]);
    }
    p->bytes += p->rows * sizeof(p->number);
    return room;
}

static bool unpack_tensors(struct cursor *c, struct packed_columns *p)
{
    uint32_t greatest = 0;
    p->tensors = take_count(c, 1);
    p->of = malloc(((size_t)p->tensors + 1) * sizeof(*p->of));
    if (!p->of)
        return false;
    for (uint32_t i = 0; i < p->tensors; i++) {
        p->of[i] = c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_varint32(c);
        greatest = p->of[i] > greatest ? p->of[i] : greatest;
    }
    if (p->tensors && greatest >= p->rows)
        cursor_fail(c);
    p->bytes += p->tensors * sizeof(*p->of);
    return true;
}

enum packed_state packed_columns_read(struct bytes packed, struct packed_columns *p)
{
    *p = (struct packed_columns){0};
    if (packed.len < CRC_BYTES || load_u32le(packed.at + packed.len - CRC_BYTES) !=
                                      crc32c_extend(0, packed.at, packed.len - CRC_BYTES))
        return PACKED_DAMAGED;
    struct cursor c = cursor_over((struct bytes){packed.at, packed.len - CRC_BYTES}, 0);
    const bool room = unpack_rows(&c, p) && unpack_tensors(&c, p);
    if (room && cursor_ok(&c) && !cursor_left(&c))
        return PACKED_GOOD;
    packed_columns_release(p);
    return room ? PACKED_DAMAGED : PACKED_NO_MEMORY;
}
