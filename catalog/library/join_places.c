/*
 * join_places.c - what a path of another catalog is called here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "catalog/base/text.h"
#include "catalog/library/join.h"

#define SEED 12 /* any constant will do */

/* What follows in `path` after the place `from`; NULL: it is not below it. */
static const char *join_below(const char *from, const char *path)
{
    const size_t len = strcmp(from, "/") == 0 ? 0 : strlen(from);
    return strncmp(path, from, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* The relocation that moves a path; p->count: none. */
static size_t relocation_of(const struct join_places *p, const char *path)
{
    size_t i = 0;
    while (i < p->count && !join_below(p->from[i], path))
        i++;
    return i;
}

static bool is_of_host(const struct join_places *p, const char *path)
{
    return p->host && path[0] == '/' && relocation_of(p, path) == p->count;
}

static void function_path(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct join_places *p = sqlite3_user_data(context);
    const char *path = (const char *)sqlite3_value_text(argv[0]);
    struct text t = {0};
    (void)argc;
    if (!path)
        return;
    const size_t i = relocation_of(p, path);
    if (i < p->count) {
        const char *rest = join_below(p->from[i], path);
        text_adds(&t, strcmp(p->to[i], "/") == 0 && *rest == '/' ? "" : p->to[i]);
        text_adds(&t, rest);
    } else if (is_of_host(p, path)) {
        text_addf(&t, "file://%s%s", p->host, path);
    } else {
        sqlite3_result_value(context, argv[0]);
        return;
    }
    if (text_str(&t))
        sqlite3_result_text64(context, t.at, t.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(context);
    text_release(&t);
}

static void function_moved(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct join_places *p = sqlite3_user_data(context);
    const char *path = (const char *)sqlite3_value_text(argv[0]);
    (void)argc;
    sqlite3_result_int(context, path && relocation_of(p, path) < p->count);
}

/* Devices of two machines have the same numbers, which would make links of their files. */
static void function_device(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct join_places *p = sqlite3_user_data(context);
    const char *path = (const char *)sqlite3_value_text(argv[0]);
    (void)argc;
    if (!path || !is_of_host(p, path) || sqlite3_value_type(argv[1]) == SQLITE_NULL) {
        sqlite3_result_value(context, argv[1]);
        return;
    }
    const int64_t device = sqlite3_value_int64(argv[1]);
    const uint64_t of_host = hash_bytes(p->host, strlen(p->host), SEED);
    sqlite3_result_int64(context, (int64_t)(hash_bytes(&device, sizeof(device), of_host) >> 1));
}

static void function_places(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct join_places *p = sqlite3_user_data(context);
    (void)argc;
    (void)argv;
    sqlite3_result_int(context, p->count || p->host);
}

static void function_fresh(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct join_places *p = sqlite3_user_data(context);
    (void)argc;
    (void)argv;
    sqlite3_result_int64(context, (sqlite3_int64)++p->fresh);
}

static const struct {
    const char *name;
    int arguments, flags;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
    {"merge_path", 1, SQLITE_DETERMINISTIC, function_path},
    {"merge_moved", 1, SQLITE_DETERMINISTIC, function_moved},
    {"merge_device", 2, SQLITE_DETERMINISTIC, function_device},
    {"merge_places", 0, SQLITE_DETERMINISTIC, function_places},
    {"merge_fresh", 0, 0, function_fresh},
};

static void check_host(const char *host, struct error *err)
{
    size_t len = 0;
    while (host && (isalnum((unsigned char)host[len]) || (host[len] && strchr("-._", host[len]))))
        len++;
    if (host && (!len || host[len]))
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  "not the name of a machine (letters, digits, '-', '.', '_'): %s", host);
}

void join_places_begin(const ckptdb *c, struct join_places *p, const struct ckptdb_joining *o,
                       struct error *err)
{
    *p = (struct join_places){.host = o->host};
    check_host(o->host, err);
    p->from = calloc(o->relocation_count + 1, sizeof(*p->from));
    p->to = calloc(o->relocation_count + 1, sizeof(*p->to));
    for (; p->from && p->to && p->count < o->relocation_count && err->status == OK; p->count++) {
        const struct ckptdb_relocation *r = &o->relocations[p->count];
        p->from[p->count] = library_place(r->from);
        p->to[p->count] = library_new_place(r->to);
        if (!*r->from || !*r->to)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "an empty path");
        else if (!p->from[p->count] || !p->to[p->count])
            error_memory(err);
    }
    if (!p->from || !p->to)
        error_memory(err);
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && err->status == OK; i++)
        if (sqlite3_create_function(c->db, functions[i].name, functions[i].arguments,
                                    SQLITE_UTF8 | SQLITE_DIRECTONLY | functions[i].flags, p,
                                    functions[i].function, NULL, NULL) != SQLITE_OK)
            db_error(c->db, NULL, err);
}

void join_places_end(const ckptdb *c, struct join_places *p)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        sqlite3_create_function(c->db, functions[i].name, functions[i].arguments, SQLITE_UTF8, NULL,
                                NULL, NULL, NULL);
    for (size_t i = 0; i < p->count; i++) {
        free(p->from[i]);
        free(p->to[i]);
    }
    free(p->from);
    free(p->to);
}
