/* optax_spec.h - the forms of an Optax spec, and what each has inside. */
#ifndef CKPTDB_OPTIMIZER_OPTAX_SPEC_H
#define CKPTDB_OPTIMIZER_OPTAX_SPEC_H

#include "catalog/optimizer/run.h"

enum form {
    FORM_NONE, /* no transformation */
    FORM_OPT,
    FORM_TRANSFORM,
    FORM_INJECT,
    FORM_CHAIN,
    FORM_NAMED_CHAIN,
    FORM_MASKED,
    FORM_MULTI_TRANSFORM,
    FORM_MULTI_STEPS,
    FORM_APPLY_IF_FINITE,
};

/* The form of a transformation, and the value of the key that tells it (NULL: none). */
enum form optax_form_of(const struct json_value *tx, const struct json_value **value);

/* The key that tells a form: "chain". */
const char *form_key(enum form);

/* A transformation inside another. */
struct child {
    const char *path; /* below its parent's: "/0" */
    const struct json_value *tx, *filter;
    bool filtered, wanted; /* for those parameters for which the filter says `wanted` */
};

/* The next child: begin with *at NULL and *place 0. False in *found: no more. */
bool next_child(struct run *, const struct json_value *tx, const struct json_value **at,
                size_t *place, struct child *out, bool *found);

#endif
