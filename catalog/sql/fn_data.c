/*
 * fn_data.c - tensor_bytes(id [, dtype]), tensor_sha256(id [, dtype]) and tensor_hash(id): the value
 * that the column `hash` would have. Instead of an id they also accept a recipe.
 *
 * All read files, so they are DIRECTONLY and missing from the noread entry point. They give NULL
 * for tensors without bytes (the import has reported those) and for strings, whose elements have
 * no fixed size (use tensor_values()), so that a query over a whole catalog does not fail.
 * Anything else that goes wrong is an error that names the tensor.
 */
#include "catalog/sql/fn_data.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "catalog/data/kernel/digest.h"
#include "catalog/data/read/tensor_stream.h"
#include "catalog/sql/extension.h"

bool tensor_has_values(const struct stored_tensor *t)
{
    return t->storage != STORAGE_NONE && t->dtype.kind != DTYPE_OPAQUE;
}

enum status tensor_given(struct lookup *l, sqlite3_value *v, struct arena *arena,
                         struct stored_tensor *out, struct error *err)
{
    const char *recipe =
        sqlite3_value_type(v) == SQLITE_TEXT ? (const char *)sqlite3_value_text(v) : NULL;
    return recipe && *recipe == '[' ? lookup_composed(l, recipe, arena, out, err)
                                    : lookup_tensor(l, sqlite3_value_int64(v), arena, out, err);
}

void tensor_error(const struct stored_tensor *t, struct error *err)
{
    char what[300];
    snprintf(what, sizeof(what), "tensor %.250s", t->name);
    if (err->status != ERR_MEMORY)
        error_prefix(err, what);
}

/* Consumes a stream, and sets the result of the function. */
typedef enum status consumer(sqlite3_context *, struct tensor_stream *, struct error *);

static enum status give_bytes(sqlite3_context *ctx, struct tensor_stream *s, struct error *err)
{
    sqlite3 *db = sqlite3_context_db_handle(ctx);
    uint64_t size = tensor_stream_nbytes(s), at = 0, since = 0;
    int most = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);
    if (size > (uint64_t)most)
        return error_set(err, ERR_LIMIT, NULL, NO_OFFSET,
                         "%llu bytes, but an SQL value holds %d at most; tensor_values() "
                         "reads a part, `ckptdb get` and `ckptdb export` read everything",
                         (unsigned long long)size, most);
    uint8_t *all = sqlite3_malloc64(size ? size : 1);
    struct bytes block;
    if (!all)
        return error_memory(err);
    while (tensor_stream_next(s, &block, err) == OK && block.len &&
           keeper_ask(db, block.len, &since, err) == OK) {
        memcpy(all + at, block.at, block.len);
        at += block.len;
    }
    if (err->status == OK)
        sqlite3_result_blob64(ctx, all, size, sqlite3_free);
    else
        sqlite3_free(all);
    return err->status;
}

static enum status give_sha256(sqlite3_context *ctx, struct tensor_stream *s, struct error *err)
{
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char hex[2 * SHA256_DIGEST_SIZE + 1];
    struct bytes block;
    uint64_t since = 0;
    sha256_init(&hash);
    while (tensor_stream_next(s, &block, err) == OK && block.len &&
           keeper_ask(sqlite3_context_db_handle(ctx), block.len, &since, err) == OK)
        sha256_update(&hash, block.len, block.at);
    if (err->status != OK)
        return err->status;
    sha256_digest(&hash, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    sqlite3_result_text(ctx, hex, -1, SQLITE_TRANSIENT);
    return OK;
}

/* As the sweep over a checkpoint hashes it (digest.h). */
static enum status give_hash(sqlite3_context *ctx, struct tensor_stream *s, struct error *err)
{
    struct digest_block done, hash;
    struct digest_blocks b = {digest_new(), &done, 0};
    struct digest_fold *fold = digest_fold_new();
    struct bytes bytes;
    uint64_t since = 0;
    char text[DIGEST_TEXT];
    if (!b.digest || !fold)
        error_memory(err);
    while (err->status == OK && tensor_stream_next(s, &bytes, err) == OK && bytes.len &&
           keeper_ask(sqlite3_context_db_handle(ctx), bytes.len, &since, err) == OK)
        for (size_t at = 0, len; at < bytes.len; at += len) { /* no step ends two blocks */
            len = bytes.len - at < DIGEST_BLOCK ? bytes.len - at : (size_t)DIGEST_BLOCK;
            digest_blocks_add(&b, bytes.at + at, len);
            digest_fold_add(fold, &done, (uint64_t)(b.out - &done));
            b.out = &done;
        }
    if (err->status == OK) {
        digest_blocks_end(&b);
        digest_fold_add(fold, &done, (uint64_t)(b.out - &done));
        digest_fold_end(fold, &hash);
        digest_print(&hash, text);
        sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
    }
    digest_fold_free(fold);
    digest_free(b.digest);
    return err->status;
}

/* The dtype of the second argument; *to is NULL if absent. */
static enum status wanted_dtype(int argc, sqlite3_value **argv, struct dtype *room,
                                const struct dtype **to, struct error *err)
{
    const char *name = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
    *to = NULL;
    if (!name)
        return OK;
    dtype_called(name, room);
    *to = room;
    if (room->kind != DTYPE_UNKNOWN)
        return OK;
    const char *near = dtype_nearest(name);
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "there is no dtype \"%s\"%s%s", name,
                     near ? "; the nearest is " : "", near ? near : "");
}

static void data_read_tensor(sqlite3_context *ctx, int argc, sqlite3_value **argv,
                             consumer *consume)
{
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    struct stored_tensor t = {0};
    struct dtype room;
    const struct dtype *to;
    struct tensor_stream *s = NULL;
    bool absent = false;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    struct lookup *l = keeper_lookup(sqlite3_user_data(ctx), &err);
    if (!l || tensor_given(l, argv[0], &arena, &t, &err) != OK) {
        sql_result_error(ctx, &err);
        goto done;
    }
    if (!tensor_has_values(&t) || t.dtype.kind == DTYPE_STRING)
        goto done;
    if (wanted_dtype(argc, argv, &room, &to, &err) == OK &&
        (to || tensor_as_stored(&t, &arena, &err) == OK)) {
        absent = tensor_stream_open(&t, NULL, NULL, to, &s, &err) == ERR_MISSING;
        if (s)
            consume(ctx, s, &err);
    }
    if (err.status != OK && !absent) {
        tensor_error(&t, &err);
        sql_result_error(ctx, &err);
    }

done:
    tensor_stream_close(s);
    arena_release(&arena);
}

static void tensor_bytes(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    data_read_tensor(ctx, argc, argv, give_bytes);
}

static void tensor_sha256(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    data_read_tensor(ctx, argc, argv, give_sha256);
}

static void tensor_hash(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    data_read_tensor(ctx, argc, argv, give_hash);
}

int sql_register_data(sqlite3 *db, struct keeper *k)
{
    static const struct sql_function functions[] = {
        {"tensor_bytes", 1, tensor_bytes},   {"tensor_bytes", 2, tensor_bytes},
        {"tensor_hash", 1, tensor_hash},     {"tensor_sha256", 1, tensor_sha256},
        {"tensor_sha256", 2, tensor_sha256}, {NULL, 0, NULL},
    };
    return sql_register(db, functions, SQL_FLAGS_READS, &k->shared);
}
