/*
 * json_tree.h - a JSON text as a tree, for specs of a few lines that are read in any order.
 * (json.h is for files: token by token, without a tree.)
 *
 *   const struct json_value *spec = json_tree(text, &arena, &err);   NULL: not JSON, or no memory
 *   const struct json_value *args = json_get(spec, "args");          NULL: no object, no such key
 *   if (json_type_of(args) == JSON_OBJECT)
 *       for (const struct json_value *v = args->first; v; v = v->next)
 *           use(v->key, v);
 *
 * As strict as json.h, and as deep as LIMIT_JSON_DEPTH. Everything lives in the arena.
 */
#ifndef CKPTDB_JSON_TREE_H
#define CKPTDB_JSON_TREE_H

#include "catalog/base/json.h"

struct json_value {
    enum json_type type; /* of a value: neither _END nor _KEY */
    const char *key;     /* in an object, with a NUL after it; else NULL */
    struct bytes text;   /* string (decoded) or number; NUL-terminated */
    size_t count;        /* of an object or array: how many there are */
    const struct json_value *first, *next;
};

const struct json_value *json_tree(struct bytes text, struct arena *, struct error *);

/* The first value of an object with this key. NULL if there is none, or it is not an object. */
const struct json_value *json_get(const struct json_value *, const char *key);

/* The type of a value; JSON_NULL for NULL. */
static inline enum json_type json_type_of(const struct json_value *v)
{
    return v ? v->type : JSON_NULL;
}

/* Whether it is the string `word`. */
bool json_string_is(const struct json_value *, const char *word);

/* Append it as JSON without white space; "null" for NULL. */
bool json_write(const struct json_value *, struct text *out);

#endif
