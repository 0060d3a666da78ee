/* optax_spec.h - the forms of an Optax spec, and the transformations nested in each. */
#pragma once

#include "catalog/maps/optimizer/engine.h"

enum form {
    FORM_NONE, /* not a transformation */
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

/* The form of a transformation, and the value of the key that identifies it (NULL: none). */
enum form optax_form_of(const struct json_value *tx, const struct json_value **value);

/* The key that identifies a form: "chain". */
const char *form_key(enum form);

/* A transformation inside another. */
struct child {
    const char *path; /* below its parent's: "/0" */
    const struct json_value *tx, *filter;
    bool filtered, wanted; /* for parameters for which the filter yields `wanted` */
};

/* The next child; false at the end. Start with *at NULL and *place 0. */
bool next_child(struct run *, const struct json_value *tx, const struct json_value **at,
                size_t *place, struct child *out);
