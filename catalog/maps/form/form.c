#include "catalog/maps/form/form.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct form *const forms[] = {
#define FORM(x) &form_##x,
#include "catalog/maps/form/forms.def"
#undef FORM
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

const struct form *form_find(const char *name)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

enum status form_unknown(const char *name, struct error *err)
{
    struct text known = {0};
    for (size_t i = FORMS; i-- > 0;)
        text_addf(&known, "%s%s", forms[i]->name, i > 1 ? ", " : i == 1 ? " and " : "");
    error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "there is no form \"%.100s\"; there are %s",
              name, text_str(&known) ? known.at : "");
    text_release(&known);
    return err->status;
}

const struct form *form_for_text(const char *text)
{
    for (size_t i = 0; i + 1 < FORMS; i++)
        if (forms[i]->recognise(text))
            return forms[i];
    return forms[FORMS - 1];
}

/* --- what is wrong --------------------------------------------------------------------------- */

void form_refuse(struct form_text *f, const char *fmt, ...)
{
    char message[sizeof(f->err->message)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (f->err->status == OK)
        error_set(f->err, ERR_ARGUMENT, f->path, NO_OFFSET, "%s", message);
}

void form_refuse_at(struct form_text *f, const char *at, const char *fmt, ...)
{
    char message[sizeof(f->err->message) - 64];
    unsigned long line = 1, column = 1;
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    for (const char *c = f->text; c < at; c++) {
        if (*c == '\n')
            line++, column = 1;
        else if ((*c & 0xC0) != 0x80) /* characters, not bytes */
            column++;
    }
    form_refuse(f, "line %lu, column %lu: %s", line, column, message);
}

void form_cannot(struct error *err, const char *form, const char *fmt, ...)
{
    char message[sizeof(err->message) - 64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (err->status == OK)
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s%s%s%s", message, form ? "; " : "",
                  form ? form : "", form ? " holds it" : "");
}

void form_check_keys(const struct ruleset *set, struct error *err)
{
    struct strmap keys = {0};
    for (size_t i = 0; i < set->rules && err->status == OK; i++) {
        const char *key = set->rule[i].pattern;
        bool added = false;
        if (!strmap_add(&keys, key, strlen(key), &added))
            error_memory(err);
        else if (!added)
            form_cannot(err, "json", "rule %lld has the key of an earlier one",
                        (long long)set->rule[i].ord);
    }
    strmap_release(&keys);
}

/* --- reading and writing ----------------------------------------------------------------------- */

enum status form_read(const struct form *form, const char *text, const char *path,
                      struct ruleset *set, struct error *err)
{
    struct form_text f = {text, path, set, err};
    set->dialect = form->dialect ? form->dialect->name : NULL;
    set->options = "{}";
    form->read(&f);
    if (err->status == OK && (!set->dialect || !set->options))
        error_memory_at(err, path);
    return err->status;
}

enum status form_write(const struct form *form, const struct ruleset *set, struct text *out,
                       struct error *err)
{
    if (form->dialect && strcmp(form->dialect->name, set->dialect) != 0)
        form_cannot(err, "json", "%s holds %s alone, and this set is of dialect %s", form->name,
                    form->holds, set->dialect);
    if (form->read && *set->options != '{')
        form_cannot(err, "sql", "its options are not an object");
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        if (r->nul)
            form_cannot(err, NULL, "rule %lld has a NUL character, which no file holds",
                        (long long)r->ord);
        if (form->names_alone && (form_has(r->compute) || form_has(r->ops)))
            form_cannot(err, "json", "%s has no place for more than the names of rule %lld",
                        form->name, (long long)r->ord);
    }
    if (err->status == OK)
        form->write(set, out, err);
    if (err->status == OK && out->failed)
        error_memory(err);
    return err->status;
}
