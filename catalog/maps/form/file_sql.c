/*
 * file_sql.c - a set as the two INSERT statements that create it. Holds any set. Such a file is
 * read by running it in a separate database (catalog/sql/rules_store.h).
 */

#include "catalog/maps/form/form.h"

static bool sql_form_recognise(const char *text)
{
    (void)text;
    return true;
}

/* Append a string literal, or NULL. */
static void quote(struct text *out, const char *value)
{
    if (!value) {
        text_adds(out, "NULL");
        return;
    }
    text_addc(out, '\'');
    for (const char *c = value; *c; c++) {
        text_addc(out, *c);
        if (*c == '\'')
            text_addc(out, '\'');
    }
    text_addc(out, '\'');
}

static void sql_form_write(const struct ruleset *set, struct text *out, struct error *err)
{
    (void)err;
    text_adds(out, "INSERT INTO ruleset(name, dialect, options) VALUES (");
    quote(out, set->name);
    text_adds(out, ", ");
    quote(out, set->dialect);
    text_adds(out, ", ");
    quote(out, set->options);
    text_adds(out, ");\n");
    if (set->rules)
        text_adds(out,
                  "INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES\n");
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        const char *const value[] = {r->pattern, r->replacement, r->compute, r->ops};
        text_addc(out, '(');
        quote(out, set->name);
        text_addf(out, ", %lld", (long long)r->ord);
        for (size_t k = 0; k < sizeof(value) / sizeof(value[0]); k++) {
            text_adds(out, ", ");
            quote(out, value[k]);
        }
        text_adds(out, i + 1 < set->rules ? "),\n" : ");\n");
    }
}

const struct form form_sql = {
    .name = "sql",
    .recognise = sql_form_recognise,
    .write = sql_form_write,
};
