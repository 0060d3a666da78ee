/*
 * json.h - a strict JSON text, one token after the other: no tree, no recursion.
 *
 *   struct json j;
 *   json_init(&j, cursor_over(text, 0), arena, path, err);
 *   if (json_want(&j, JSON_OBJECT, "a header"))
 *       while (json_next(&j) == JSON_KEY) {     j.text is the key
 *           ...                                 read or json_skip() its value
 *       }
 *   json_want(&j, JSON_END, "the end");
 *   return err->status;
 *
 * RFC 8259 and nothing more: no comments, no NaN (unless asked for), no trailing comma, no byte
 * order mark, no lone surrogate, no bytes that are not UTF-8. Fails once and stays failed: after an
 * error every call returns JSON_FAIL, with the byte offset in the caller's error. Keys may repeat:
 * a caller that minds keeps a strmap.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/cursor.h"
#include "catalog/base/error.h"
#include "catalog/base/text.h"

enum json_type {
    JSON_FAIL,
    JSON_END, /* the one value is complete, and nothing but white space follows */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* text: decoded */
    JSON_STRING, /* text: decoded */
    JSON_NUMBER, /* text: as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json {
    struct cursor cursor;
    struct arena *arena; /* for decoded strings; NULL: escapes are kept */
    struct error *err;
    const char *source;  /* file name for messages */
    enum json_type type; /* of the last token */
    struct bytes text;   /* of the last key, string or number; valid as long as the bytes
                            under the cursor and the arena; strings may hold NUL */
    uint64_t at;         /* file offset of the last token */
    unsigned depth;      /* objects and arrays that are open */
    uint64_t objects;    /* bit d: level d is an object */
    bool python;         /* NaN, Infinity and -Infinity are numbers: Python writes them */
    int state;           /* json.c's: what may come next */
};

void json_init(struct json *, struct cursor, struct arena *, const char *source, struct error *);

enum json_type json_next(struct json *);

/* The next token must be `type`, else an error: "`what` expected". */
bool json_want(struct json *, enum json_type type, const char *what);

/* For a caller that reads an object by itself: the value after the last key is the `len` bytes at
 * j->cursor, which it has read and checked. The next token is what follows them. */
void json_taken(struct json *, size_t len);

/* How to read a member of an object: j->text is its key, the next token is its value, which read()
 * reads to its end. It returns false after an error, which ends the reading. A table ends with the
 * name NULL, whose read() gets all other members; without one these are skipped. */
struct json_member {
    const char *name;
    bool (*read)(void *context, struct json *);
};

/* Read the members of the object whose first token was just read, to its end. */
bool json_members(struct json *, const struct json_member *table, void *context);

/* The same for the next value, which must be an object, else an error: "`what` expected". */
bool json_object(struct json *, const char *what, const struct json_member *table, void *context);

/* Read a value that does not matter: the next token is its first. */
bool json_pass(struct json *);

/* Skip the rest of the value whose first token was just read. */
bool json_skip(struct json *);

/* The same, but write the value to `out` without white space. Python's words for numbers become
 * strings. */
bool json_copy(struct json *, struct text *out);

/* The last token as an exact number: only digits (and '-'), in range. */
bool json_u64(const struct json *, uint64_t *value);
bool json_i64(const struct json *, int64_t *value);
/* The last token, a number of any form, as the nearest double. */
bool json_real(const struct json *, double *value);

/* Whether text equals `word`. */
static inline bool json_is(const struct json *j, const char *word)
{
    return j->text.len == strlen(word) && memcmp(j->text.at, word, j->text.len) == 0;
}

/* Set an error at the last token; false. */
bool json_fail(struct json *, enum status, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* --- trees ------------------------------------------------------------------------------ */

/*
 * A JSON text as a tree, for specs of a few lines that are read in any order:
 *
 *   const struct json_value *spec = json_read_tree(text, &arena, &err);   NULL: not JSON, or no memory
 *   const struct json_value *args = json_get(spec, "args");          NULL: no object, no such key
 *   if (json_type_of(args) == JSON_OBJECT)
 *       for (const struct json_value *v = args->first; v; v = v->next)
 *           use(v->key, v);
 *
 * As strict as above, and as deep as LIMIT_JSON_DEPTH. Everything lives in the arena.
 */
struct json_value {
    enum json_type type; /* of a value: neither _END nor _KEY */
    const char *key;     /* in an object, with a NUL after it; else NULL */
    struct bytes text;   /* string (decoded) or number; NUL-terminated */
    size_t count;        /* of an object or array: how many there are */
    const struct json_value *first, *next;
};

const struct json_value *json_read_tree(struct bytes text, struct arena *, struct error *);

/* The first value of an object with this key. NULL if absent, or if it is not an object. */
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
