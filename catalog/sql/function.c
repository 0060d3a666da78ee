#include "catalog/sql/function.h"

#include <stdarg.h>
#include <string.h>

void *sql_hold(struct sql_shared *shared)
{
    shared->holders++;
    return shared;
}

void sql_drop(void *shared)
{
    struct sql_shared *s = shared;
    if (s && !--s->holders)
        s->release(s);
}

int sql_register(sqlite3 *db, const struct sql_function *f, int flags, struct sql_shared *shared)
{
    int rc = SQLITE_OK;
    void (*const drop)(void *) = shared ? sql_drop : NULL;
    if (shared)
        sql_hold(shared);
    for (; rc == SQLITE_OK && f->name; f++)
        rc = sqlite3_create_function_v2(db, f->name, f->arguments, flags,
                                        shared ? sql_hold(shared) : NULL, f->run, NULL, NULL, drop);
    sql_drop(shared);
    return rc;
}

int sql_register_pure(sqlite3 *db, const struct sql_function *f)
{
    return sql_register(db, f, SQL_FLAGS_PURE, NULL);
}

void sql_result_copy(sqlite3_context *context, sqlite3_value *v)
{
    const char *text =
        sqlite3_value_type(v) == SQLITE_TEXT ? (const char *)sqlite3_value_text(v) : NULL;
    if (text && strlen(text) == (size_t)sqlite3_value_bytes(v))
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_value(context, v);
}

void sql_result_text(sqlite3_context *context, struct text *t)
{
    const char *text = text_str(t);
    if (text)
        sqlite3_result_text64(context, text, t->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(context);
    text_release(t);
}

void sql_result_string(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

void sql_result_error(sqlite3_context *context, const struct error *err)
{
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    if (err->status == ERR_MEMORY)
        sqlite3_result_error_nomem(context);
    else if (err->status == ERR_INTERRUPTED)
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    else
        sqlite3_result_error(context, error_text(err, text, sizeof(text)), -1);
}

void sql_result_refuse(sqlite3_context *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = sqlite3_vmprintf(format, args);
    va_end(args);
    if (message)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(message);
}
