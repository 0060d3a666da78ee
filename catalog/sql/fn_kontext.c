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

static void kontext_give(sqlite3_context *context, struct text *t)
{
    if (text_str(t))
        sqlite3_result_text(context, text_str(t), (int)t->len, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(context);
}

/* False: the value is NULL, or memory ran out (and the result is set). */
static bool kontext_parse_value(sqlite3_context *context, sqlite3_value *value, struct arena *arena,
                                struct kontext *path)
{
    const char *text = (const char *)sqlite3_value_text(value);
    bool good = text && kontext_parse(arena, text, (size_t)sqlite3_value_bytes(value), path);
    if (text && !good)
        sqlite3_result_error_nomem(context);
    return good;
}

static void kontext_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct arena arena = {0};
    struct kontext path;
    struct text out = {0};
    bool named = kontext_parse_value(context, argv[0], &arena, &path) && path.good && !path.globs;
    for (size_t i = 0; named && i < path.parts; i++) {
        named = path.part[i].kind != KONTEXT_SLICE;
        text_adds(&out, i ? "/" : "");
        text_add(&out, path.part[i].text, path.part[i].len);
    }
    if (named)
        kontext_give(context, &out);
    text_release(&out);
    arena_release(&arena);
}

static void kontext_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct arena arena = {0};
    struct kontext path;
    struct text out = {0};
    if (kontext_parse_value(context, argv[0], &arena, &path) && kontext_fault(&path, &out))
        kontext_give(context, &out);
    text_release(&out);
    arena_release(&arena);
}

static void kontext_path(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    struct text out = {0};
    if (!text || !utf8_valid(text, strlen(text)))
        return;
    kontext_print_name(text, strlen(text), &out);
    kontext_give(context, &out);
    text_release(&out);
}

/* NULL if the text is no path: the original raises an exception then, whatever the key. */
static void filter(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct arena arena = {0};
    struct kontext path;
    struct text out = {0};
    if (kontext_parse_value(context, argv[0], &arena, &path) && path.good) {
        kontext_filter(&path, &out);
        kontext_give(context, &out);
    }
    text_release(&out);
    arena_release(&arena);
}

int sql_register_kontext(sqlite3 *db)
{
    static const struct sql_function functions[] = {
        {"kontext_name", 1, kontext_name},
        {"kontext_error", 1, kontext_error},
        {"kontext_path", 1, kontext_path},
        {"kontext_filter", 1, filter},
        {NULL, 0, NULL},
    };
    return sql_register_pure(db, functions);
}
