/*
 * form.h - rule sets as files: one form for each program that keeps such maps.
 *
 *   struct ruleset set = {.arena = &arena, .name = "mine"};
 *   const struct form *form = form_for_text(text);       the form that the text is in
 *   if (form_read(form, text, path, &set, &err) == OK && ruleset_check(&set, &err) == OK)
 *       ... the set is good
 *   form_write(form_find("gin"), &set, &out, &err);
 *
 * A new form is one file that defines a `const struct form`, and a line in forms.def. No SQLite here:
 * rows become a struct ruleset, and the other way round, in catalog/sql/rules_store.h, which also
 * runs files of SQL.
 */
#pragma once

#include <stdbool.h>

#include "catalog/maps/map/dialect.h"
#include "catalog/maps/map/form_walk.h"
#include "catalog/maps/map/ruleset.h"

/* A file on its way to a set. */
struct form_text {
    const char *text; /* without a NUL */
    const char *path; /* for messages */
    struct ruleset *set;
    struct error *err;
};

struct form {
    const char *name;              /* "gin" */
    const struct dialect *dialect; /* the only one it holds; NULL: any */
    const char *holds;             /* "assignment maps of T5X", for messages */
    bool names_alone;              /* its rules can only give names */
    /* Whether a text is of this form rather than of a later one in forms.def. */
    bool (*recognise)(const char *text);
    /* Fills f->set, whose dialect is the form's, and whose options are empty ("{}") unless they are
     * set here. Errors go to f->err. NULL: files of SQL, which only a database reads. */
    void (*read)(struct form_text *f);
    /* Sets that have a NUL, another dialect than the form's, or options that are not an object do not
     * come here. */
    void (*write)(const struct ruleset *, struct text *out, struct error *);
};

#define FORM(x) extern const struct form form_##x;
#include "catalog/maps/form/forms.def"
#undef FORM

const struct form *form_find(const char *name);     /* NULL if absent */
const struct form *form_for_text(const char *text); /* never NULL */
/* Say that there is no such form, and list the forms. */
enum status form_unknown(const char *name, struct error *);

/* `path` is for messages. ERR_ARGUMENT: what is wrong, with its line where that is known. */
enum status form_read(const struct form *, const char *text, const char *path, struct ruleset *,
                      struct error *);
/* ERR_UNSUPPORTED: the form cannot hold the set; the message says which does. */
enum status form_write(const struct form *, const struct ruleset *, struct text *out,
                       struct error *);

/* --- for forms ----------------------------------------------------------------------------- */

/* Refuse the file: "PATH: text". */
void form_refuse(struct form_text *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, "PATH: line N, column N: text", at a place in the text. */
void form_refuse_at(struct form_text *, const char *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Refuse to write: "form has no place for ...; json holds it". */
void form_cannot(struct error *, const char *form, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Refuse to write a set as an object whose keys are the patterns: two rules have the same one. */
void form_check_keys(const struct ruleset *, struct error *);
