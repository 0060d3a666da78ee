/*
 * form_walk.h - the JSON of map files and of rule sets, as the texts that it is made of: what a set keeps
 * of a value is the value as it was written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/base/json.h"
#include "catalog/base/text.h"

/* A value of a JSON text, as it is written there. */
struct form_value {
    enum json_type type; /* JSON_FAIL if absent */
    const char *at;
    size_t len;
};

/*
 * Walks over the members of an object or a list: a key ("" in a list), and the value.
 *
 *   struct form_walk w = {0};
 *   while (form_next(&w, text, len, &key, &value))
 *       use(text_str(&key), &value);
 *   no_memory = !form_walk_end(&w);
 */
struct form_walk {
    struct json json;
    struct arena arena;
    struct error err;
    bool begun, failed;
};
/* False: the end, or the text is not JSON (`failed`). */
bool form_next(struct form_walk *, const char *text, size_t len, struct text *key,
               struct form_value *value);
/* False: it ended for lack of memory. */
bool form_walk_end(struct form_walk *);

/* The first member of this name; JSON_FAIL: none, or the text is not one JSON object. */
struct form_value form_member(const char *text, size_t len, const char *key);
/* In the arena: a string decoded, and any value without white space. NULL: no memory. */
const char *form_string(struct arena *, const struct form_value *);
const char *form_copy(struct arena *, const struct form_value *);

/* Whether some string in a JSON text has the character NUL, which our strings end at. */
bool form_has_nul(const char *json, size_t len);

/* Whether a JSON text is there and no empty list. */
bool form_has(const char *list);
