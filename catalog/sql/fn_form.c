/*
 * fn_form.c - map_form(ruleset, form): the set written in a form (catalog/maps/form/form.h), as the JSON
 * object {"lines": [...]}, or {"fault": "..."} if the form cannot hold the set.
 * schema/function/map_file.sql turns it into rows.
 */
#include <string.h>

#include "catalog/maps/form/form.h"
#include "catalog/sql/extension.h"
#include "catalog/sql/rules_store.h"

static void add_lines(struct text *out, const char *text)
{
    text_adds(out, "{\"lines\":[");
    for (bool first = true; *text; first = false) {
        size_t len = strcspn(text, "\n");
        text_adds(out, first ? "" : ",");
        text_json(out, text, len);
        text += len + (text[len] == '\n');
    }
    text_adds(out, "]}");
}

static void map_form(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    const char *wanted = (const char *)sqlite3_value_text(argv[1]);
    const struct form *form = wanted ? form_find(wanted) : NULL;
    struct arena arena = {0};
    struct ruleset set = {.arena = &arena};
    struct error err = {.offset = NO_OFFSET};
    struct text file = {0}, out = {0};
    if (!name || !wanted)
        return;
    if (!form)
        form_unknown(wanted, &err);
    else if (rules_fetch(sqlite3_context_db_handle(context), name, &set, &err) == OK)
        form_write(form, &set, &file, &err);
    if (err.status == OK) {
        add_lines(&out, text_str(&file) ? file.at : "");
    } else {
        text_adds(&out, "{\"fault\":");
        text_json(&out, err.message, strlen(err.message));
        text_addc(&out, '}');
    }
    out.failed |= err.status == ERR_MEMORY;
    sql_result_text(context, &out);
    text_release(&file);
    arena_release(&arena);
}

int sql_register_form(sqlite3 *db)
{
    static const struct sql_function functions[] = {{"map_form", 2, map_form}, {NULL, 0, NULL}};
    return sql_register(db, functions, SQL_FLAGS_LOOKS, NULL);
}
