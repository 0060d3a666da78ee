#include "catalog/db/statement.h"

#include <stdio.h>
#include <string.h>

#include "catalog/db/page_sums.h"

/* Whether a constraint failed that no SQL but our own can break: one of storage. */
static bool contradicts(int rc, const char *message)
{
    return rc == SQLITE_CONSTRAINT_FOREIGNKEY ||
           ((rc & 0xFF) == SQLITE_CONSTRAINT && strstr(message, "constraint failed: _"));
}

enum status db_error(sqlite3 *db, const char *doing, struct error *err)
{
    int rc = sqlite3_extended_errcode(db);
    enum status status = (rc & 0xFF) == SQLITE_NOMEM       ? ERR_MEMORY
                         : (rc & 0xFF) == SQLITE_INTERRUPT ? ERR_INTERRUPTED
                         : (rc & 0xFF) == SQLITE_BUSY      ? ERR_BUSY
                         : (rc & 0xFF) == SQLITE_NOTADB    ? ERR_ARGUMENT
                                                           : ERR_IO;
    const char *file = sqlite3_db_filename(db, "main");
    const char *what = status == ERR_BUSY ? DB_BEING_WRITTEN : sqlite3_errmsg(db);
    if (contradicts(rc, what))
        return error_set(err, status, file, NO_OFFSET,
                         "damaged by another program, which changed its tables; " DB_IMPORT_ANEW);
    const char *damaged = NULL;
    const uint32_t page = page_sums_damaged(db, &damaged);
    if (page && status == ERR_IO)
        return error_set(err, ERR_CORRUPT, damaged, NO_OFFSET, PAGE_DAMAGED, page);
    if (rc == SQLITE_CORRUPT)
        return error_set(err, ERR_CORRUPT, file, NO_OFFSET, "%.200s; " DB_IMPORT_ANEW, what);
    return error_set(err, status, file, NO_OFFSET, "%s%s%s", doing ? doing : "", doing ? ": " : "",
                     what);
}

enum status db_step(sqlite3 *db, sqlite3_stmt *s, const char *doing, struct error *err)
{
    const int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? OK : db_error(db, doing, err);
}

bool db_row(sqlite3_stmt *s, const char *doing, struct error *err)
{
    if (!s || err->status != OK)
        return false;
    const int rc = sqlite3_step(s);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        db_error(sqlite3_db_handle(s), doing, err);
    return rc == SQLITE_ROW;
}

static int bind_integer(sqlite3_stmt *s, int at, const int64_t *value)
{
    return value ? sqlite3_bind_int64(s, at, *value) : sqlite3_bind_null(s, at);
}

/* Size, time, inode, device. */
static int bind_file(sqlite3_stmt *s, int at, const struct file_identity *f)
{
    int rc = SQLITE_OK;
    const int64_t columns[] = {f ? (int64_t)f->size : 0, f ? f->mtime_ns : 0,
                               f ? (int64_t)f->inode : 0, f ? (int64_t)f->device : 0};
    for (int i = 0; i < 4 && rc == SQLITE_OK; i++)
        rc = bind_integer(s, at + i, f ? &columns[i] : NULL);
    return rc;
}

static int bind_values(sqlite3_stmt *s, const char *types, va_list args, void (*keep)(void *memory))
{
    int rc = SQLITE_OK;
    for (int at = 1; rc == SQLITE_OK && *types; at++, types++) {
        if (*types == 's') {
            rc = sqlite3_bind_text(s, at, va_arg(args, const char *), -1, keep);
        } else if (*types == 'i') {
            rc = sqlite3_bind_int64(s, at, va_arg(args, int64_t));
        } else if (*types == 'd') {
            rc = sqlite3_bind_double(s, at, va_arg(args, double));
        } else if (*types == 'v') {
            rc = sqlite3_bind_value(s, at, va_arg(args, const sqlite3_value *));
        } else if (*types == 'p') {
            rc = bind_integer(s, at, va_arg(args, const int64_t *));
        } else if (*types == 't') {
            const struct bytes text = va_arg(args, struct bytes);
            rc = sqlite3_bind_text64(s, at, (const char *)text.at, text.len, keep, SQLITE_UTF8);
        } else if (*types == 'b') {
            const struct bytes blob = va_arg(args, struct bytes);
            rc = sqlite3_bind_blob64(s, at, blob.at, blob.len, keep);
        } else {
            rc = bind_file(s, at, va_arg(args, const struct file_identity *));
            at += 3;
        }
        if (rc == SQLITE_RANGE) /* queries may use fewer than others */
            rc = SQLITE_OK;
    }
    return rc;
}

int db_vbind(sqlite3_stmt *s, const char *types, va_list args)
{
    return bind_values(s, types, args, SQLITE_STATIC);
}

int db_bind(sqlite3_stmt *s, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    const int rc = db_vbind(s, types, args);
    va_end(args);
    return rc;
}

static sqlite3_stmt *query(sqlite3 *db, struct error *err, const char *doing, const char *sql,
                           const char *types, va_list args)
{
    sqlite3_stmt *stmt = NULL;
    if (err->status != OK)
        return NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        bind_values(stmt, types, args, SQLITE_TRANSIENT) == SQLITE_OK)
        return stmt;
    db_error(db, doing, err);
    sqlite3_finalize(stmt);
    return NULL;
}

sqlite3_stmt *db_query(sqlite3 *db, struct error *err, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *s = query(db, err, NULL, sql, types, args);
    va_end(args);
    return s;
}

sqlite3_stmt *db_query_to(sqlite3 *db, struct error *err, const char *doing, const char *sql,
                          const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *s = query(db, err, doing, sql, types, args);
    va_end(args);
    return s;
}

enum status db_run(sqlite3 *db, struct error *err, const char *doing, const char *sql,
                   const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *s = query(db, err, doing, sql, types, args);
    va_end(args);
    db_row(s, doing, err);
    sqlite3_finalize(s);
    return err->status;
}

enum status db_exec(sqlite3 *db, const char *sql, struct error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : db_error(db, NULL, err);
}

struct file_identity db_identity(sqlite3_stmt *s, int at)
{
    return (struct file_identity){
        .size = (uint64_t)sqlite3_column_int64(s, at),
        .mtime_ns = sqlite3_column_int64(s, at + 1),
        .inode = (uint64_t)sqlite3_column_int64(s, at + 2),
        .device = (uint64_t)sqlite3_column_int64(s, at + 3),
    };
}

enum status db_number(sqlite3 *db, const char *sql, struct bytes name, const char *doing,
                      sqlite3_int64 *out, struct error *err)
{
    sqlite3_stmt *s = db_query_to(db, err, doing, sql, name.at ? "t" : "", name);
    *out = db_row(s, doing, err) ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return err->status;
}

enum status db_size_cache(sqlite3 *db, sqlite3_int64 size, struct error *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA cache_size=%lld", (long long)size);
    return db_exec(db, sql, err);
}
