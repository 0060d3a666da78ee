/*
 * fn_kontext.c - the path language of Kauldron's kontext (catalog/maps/map/kontext.h) as functions.
 *
 *   kontext_name(path)       its components joined by '/'; NULL if it does not name a single node
 *   kontext_error(path)      the exception that the original raises, "Type: text"; NULL: none
 *   kontext_path(name)       a name as the path that kontext prints
 *   kontext_filter(pattern)  a regular expression for the printed paths that the pattern selects
 */
#include <string.h>

#include "catalog/maps/map/kontext.h"
#include "catalog/sql/extension.h"

/* What a function makes of a path; false: NULL. */
typedef bool kontext_maker(const struct kontext *, struct text *out);

static void kontext_make(sqlite3_context *context, sqlite3_value *value, kontext_maker *make)
{
    struct arena arena = {0};
    struct kontext path;
    struct text out = {0};
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        return;
    out.failed = !kontext_parse(&arena, text, (size_t)sqlite3_value_bytes(value), &path);
    if (out.failed || make(&path, &out))
        sql_result_text(context, &out);
    text_release(&out);
    arena_release(&arena);
}

static bool make_name(const struct kontext *path, struct text *out)
{
    bool named = path->good && !path->globs;
    for (size_t i = 0; named && i < path->parts; i++) {
        named = path->part[i].kind != KONTEXT_SLICE;
        text_adds(out, i ? "/" : "");
        text_add(out, path->part[i].text, path->part[i].len);
    }
    return named;
}

/* NULL if the text is no path: the original raises an exception then, whatever the key. */
static bool make_filter(const struct kontext *path, struct text *out)
{
    if (path->good)
        kontext_filter(path, out);
    return path->good;
}

static void kontext_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    kontext_make(context, argv[0], make_name);
}

static void kontext_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    kontext_make(context, argv[0], kontext_fault);
}

static void kontext_pattern(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    kontext_make(context, argv[0], make_filter);
}

static void kontext_path(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct text out = {0};
    if (!text || !utf8_valid(text, strlen(text)))
        return;
    kontext_print_name(text, strlen(text), &out);
    sql_result_text(context, &out);
}

int sql_register_kontext(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"kontext_name", 1, kontext_name},
        {"kontext_error", 1, kontext_error},
        {"kontext_path", 1, kontext_path},
        {"kontext_filter", 1, kontext_pattern},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, functions);
}
