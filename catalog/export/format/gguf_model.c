/*
 * gguf_model.c - what llama.cpp needs to be told of a model that comes from Hugging Face: its architecture and
 * sizes (config.json, whose facts the catalog has), its tokenizer (tokenizer.json and tokenizer_config.json,
 * which are read beside the checkpoint). Which of it becomes what is in schema/function/gguf_model.sql.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/db/statement.h"
#include "catalog/export/format/gguf_facts.h"

#define NOTHING "{}"

/* The text of a file in the folder of a checkpoint; NOTHING: it cannot be read, or is too long to be one. */
static struct bytes read_beside(struct gguf_facts *f, const char *path, const char *name)
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
        uint8_t *room = arena_room(f->arena, (size_t)s->size);
        if (room && source_read(s, 0, room, (size_t)s->size, &ignored) == OK)
            out = (struct bytes){room, (size_t)s->size};
    }
    source_close(s);
    text_release(&beside);
    return out;
}

/* Tell what gives the tensors the names that llama.cpp looks for, if none has one. */
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

/* A row: key, type, value, map. */
static void state_row(struct gguf_facts *f, sqlite3_stmt *row)
{
    struct gguf_kind kind;
    const char *key = (const char *)sqlite3_column_text(row, 0);
    const char *type = (const char *)sqlite3_column_text(row, 1);
    const char *value = (const char *)sqlite3_column_text(row, 2);
    if (!key || !type || !gguf_kind_called(type, strlen(type), &kind))
        return;
    if (!value || !gguf_state(f, key, kind, value))
        *PUSH(f->arena, f->wanted, f->wanting, f->wanted_space) =
            arena_copy(f->arena, key, strlen(key));
}

void gguf_model(struct gguf_facts *f, const struct export_subject *subject)
{
    static const char where[] =
        "SELECT c.path FROM checkpoint c JOIN metadata m ON m.checkpoint_id = c.id"
        " AND m.key = 'config.json:model_type' WHERE c.id = ?1";
    static const char facts[] = "SELECT key, type, value, map FROM gguf_model(?1, ?2, ?3)";
    const int64_t checkpoint = subject->checkpoint[subject->checkpoints - 1];
    sqlite3_stmt *row = db_query(subject->db, f->err, where, "i", checkpoint);
    const char *path = NULL;
    bool told = false;
    if (row && db_row(row, DB_READING, f->err) && sqlite3_column_text(row, 0))
        path =
            arena_copy(f->arena, sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0));
    sqlite3_finalize(row);
    if (!path || f->err->status != OK)
        return;
    const struct bytes tokenizer = read_beside(f, path, "tokenizer.json");
    const struct bytes config = read_beside(f, path, "tokenizer_config.json");
    row = db_query(subject->db, f->err, facts, "itt", checkpoint, tokenizer, config);
    while (row && db_row(row, DB_READING, f->err)) {
        if (!told && sqlite3_column_text(row, 3))
            tell_map(subject, (const char *)sqlite3_column_text(row, 3));
        told = true;
        state_row(f, row);
    }
    sqlite3_finalize(row);
}
