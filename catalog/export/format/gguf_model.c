/*
 * gguf_model.c - what llama.cpp needs to know about a model from Hugging Face: its architecture and
 * sizes (config.json, whose facts the catalog has), its tokenizer (tokenizer.json, tokenizer_config.json,
 * added_tokens.json and SentencePiece's tokenizer.model, T5's spiece.model, which are read beside the checkpoint).
 * schema/function/gguf_model.sql says how each is used.
 */
#include <math.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/data/codec/message.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/db/statement.h"
#include "catalog/export/format/gguf_facts.h"

#define NOTHING    "{}"
#define PIECE_MOST 1024  /* bytes of a piece; SentencePiece's are 64 at most */
#define HEAD_MOST  65536 /* dimensions */

/* The text of a file in the folder of a checkpoint; NOTHING: it cannot be read, or is too long to be one. */
static struct bytes read_beside(struct arena *arena, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    struct error ignored = {.offset = NO_OFFSET};
    struct text beside = {0};
    struct source *s = NULL;
    struct bytes nothing = {(const uint8_t *)NOTHING, strlen(NOTHING)}, out = nothing;
    text_add(&beside, path, slash ? (size_t)(slash - path) + 1 : 0);
    text_adds(&beside, name);
    if (text_str(&beside) && source_open_file(text_str(&beside), 0, &s, NULL, &ignored) == OK &&
        s->size && s->size <= LIMIT_GGUF_HEADER) {
        uint8_t *room = arena_room(arena, (size_t)s->size);
        if (room && source_read(s, 0, room, (size_t)s->size, &ignored) == OK)
            out = (struct bytes){room, (size_t)s->size};
    }
    source_close(s);
    text_release(&beside);
    return out;
}

/* Add a piece of SentencePiece's model, a message { 1: text, 2: float score, 3: type }. False: it is not one. */
static bool add_piece(const struct source *s, const struct message_field *piece, struct text *out,
                      struct error *err)
{
    struct message inner = message_over(s);
    struct message_field field = {0};
    uint8_t raw[8] = {0}, text[PIECE_MOST];
    uint64_t len = 0, type = 1;
    uint32_t score = 0;
    inner.at = piece->at;
    inner.end = piece->at + piece->len;
    while (message_next(&inner, &field, err) == OK && field.number) {
        if (field.number == 1 && field.wire == WIRE_BYTES && field.len <= PIECE_MOST) {
            len = field.len;
            source_read(s, field.at, text, (size_t)len, err);
        } else if (field.number == 2 && field.wire == WIRE_FIXED32) {
            source_read(s, field.at, raw, 4, err);
            score = load_u32le(raw);
        } else if (field.number == 3 && field.wire == WIRE_VARINT && field.len == 1) {
            source_read(s, field.at, raw, 1, err);
            type = raw[0];
        } else if (field.number <= 3) {
            return false;
        }
    }
    text_addc(out, '[');
    text_json(out, (const char *)text, (size_t)len);
    text_addf(out, ",%.9g,%u]", (double)float_of(score), (unsigned)type);
    return err->status == OK && isfinite(float_of(score)) && len && type >= 1 && type <= 6;
}

/* The parts taken from SentencePiece's model. */
struct sentence {
    struct bytes pieces;   /* [[TEXT, SCORE, TYPE], ...]; "[]": it is not there, or damaged */
    struct bytes charsmap; /* its normalizer's charsmap; len 0: it has none */
};

/* Take the charsmap of a normalizer, a message { 1: name, 2: charsmap, ... }. */
static void read_normalizer(const struct source *s, const struct message_field *normalizer,
                            struct arena *arena, struct bytes *out, struct error *err)
{
    struct message inner = message_over(s);
    struct message_field field = {0};
    inner.at = normalizer->at;
    inner.end = normalizer->at + normalizer->len;
    while (message_next(&inner, &field, err) == OK && field.number)
        if (field.number == 2 && field.wire == WIRE_BYTES && field.len) {
            uint8_t *room = arena_room(arena, (size_t)field.len);
            if (room && source_read(s, field.at, room, (size_t)field.len, err) == OK)
                *out = (struct bytes){room, (size_t)field.len};
        }
}

static struct sentence read_sentence(struct arena *arena, const char *path)
{
    struct error err = {.offset = NO_OFFSET};
    const struct sentence nothing = {{(const uint8_t *)"[]", 2}, {(const uint8_t *)"", 0}};
    struct sentence out = nothing;
    struct bytes file = read_beside(arena, path, "tokenizer.model");
    if (file.len == strlen(NOTHING))
        file = read_beside(arena, path, "spiece.model");
    struct message_field field = {0};
    struct source *s = NULL;
    struct text text = {0};
    if (source_open_memory(path, file, false, &s, &err) != OK)
        return nothing;
    struct message m = message_over(s);
    bool good = text_addc(&text, '[');
    while (good && message_next(&m, &field, &err) == OK && field.number) {
        if (field.number == 3 && field.wire == WIRE_BYTES)
            read_normalizer(s, &field, arena, &out.charsmap, &err);
        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        text_adds(&text, text.len > 1 ? "," : "");
        good = add_piece(s, &field, &text, &err);
    }
    good = text_addc(&text, ']') && good && err.status == OK;
    if (good)
        out.pieces = (struct bytes){(const uint8_t *)text_keep(&text, arena), text.len};
    text_release(&text);
    source_close(s);
    return good ? out : nothing;
}

/* Name the map that gives the tensors llama.cpp's names, if none has such a name. */
static void tell_map(const struct export_subject *subject, const char *map)
{
    const struct export_plan *p = subject->plan;
    struct text line = {0};
    for (size_t i = 0; i < p->count; i++) {
        const char *name = p->tensor[i].name;
        if (strncmp(name, "blk.", 4) == 0 || strncmp(name, "token_embd", 10) == 0 ||
            strncmp(name, "output", 6) == 0)
            return;
    }
    text_addf(&line, "llama.cpp looks for other names of tensors: --map %s makes them", map);
    if (text_str(&line))
        subject->say(subject->context, text_str(&line));
    text_release(&line);
}

bool gguf_rope_factors(const float how[6], struct text *out)
{
    const float base = how[1], factor = how[2], low = how[3], high = how[4], length = how[5];
    if (!(how[0] >= 2 && how[0] <= HEAD_MOST))
        return false;
    for (unsigned i = 0; i < (unsigned)how[0]; i += 2) {
        const float wave = 6.2831853F / (1 / powf(base, (float)i / how[0]));
        const float smooth = (length / wave - low) / (high - low);
        const float by = wave < length / high  ? 1
                         : wave > length / low ? factor
                                               : 1 / ((1 - smooth) / factor + smooth);
        if (!(by > 0) || isinf(by))
            return false;
        text_le(out, float_bits(by), 4);
    }
    return true;
}

sqlite3_stmt *gguf_model(const struct export_subject *subject, struct arena *arena,
                         struct error *err)
{
    static const char where[] =
        "SELECT path, map FROM checkpoint CROSS JOIN gguf_architecture(id) WHERE id = ?1";
    static const char instead[] = "SELECT doc FROM gguf_pieces(?1, ?2, ?3, ?4)";
    static const char facts[] = "SELECT key, type, value FROM gguf_model(?1, ?2, ?3, ?4, ?5)";
    const int64_t checkpoint = subject->checkpoint[subject->checkpoints - 1];
    sqlite3_stmt *row = db_query(subject->db, err, where, "i", checkpoint);
    const char *path = NULL;
    if (row && db_row(row, DB_READING, err) && sqlite3_column_text(row, 0)) {
        path = arena_copy(arena, sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0));
        tell_map(subject, db_text(row, 1));
    }
    sqlite3_finalize(row);
    if (!path || err->status != OK)
        return NULL;
    const struct bytes config = read_beside(arena, path, "tokenizer_config.json");
    const struct sentence model = read_sentence(arena, path);
    struct bytes tokenizer = read_beside(arena, path, "tokenizer.json");
    if (tokenizer.len == strlen(NOTHING)) {
        row = db_query(subject->db, err, instead, "ittt", checkpoint, model.pieces, config,
                       read_beside(arena, path, "added_tokens.json"));
        if (row && db_row(row, DB_READING, err)) {
            tokenizer.len = (size_t)sqlite3_column_bytes(row, 0);
            tokenizer.at =
                (const uint8_t *)arena_copy(arena, sqlite3_column_text(row, 0), tokenizer.len);
        }
        sqlite3_finalize(row);
    }
    if (err->status != OK)
        return NULL;
    return db_query(subject->db, err, facts, "itttb", checkpoint, tokenizer, config, model.pieces,
                    model.charsmap);
}
