#include "importer/job/facts.h"

#include <string.h>

#include "catalog/base/limits.h"
#include "importer/job/name_tree.h"

struct facts {
    struct job *job;
    struct json *json;
    struct name_tree keys;
    uint64_t bytes; /* added so far */
};

/* The JSON text of a list. */
static bool state_text(struct facts *f)
{
    struct text t = {.limit = LIMIT_FACTS_BYTES};
    bool ok = json_copy(f->json, &t);
    if (ok && !text_str(&t))
        ok = json_fail(f->json, ERR_LIMIT, NULL, "a list of more than %llu bytes",
                       (unsigned long long)LIMIT_FACTS_BYTES);
    if (ok)
        ok = job_meta_text(f->job, text_str(&f->keys.path), text_str(&t), t.len) == OK;
    f->bytes += t.len;
    text_release(&t);
    return ok;
}

static bool state_number(struct facts *f)
{
    const struct json *j = f->json;
    const char *key = text_str(&f->keys.path);
    int64_t integer;
    double real;
    if (json_i64(j, &integer))
        return job_meta_integer(f->job, key, integer) == OK;
    bool whole = !memchr(j->text.at, '.', j->text.len) && !memchr(j->text.at, 'e', j->text.len) &&
                 !memchr(j->text.at, 'E', j->text.len);
    if (!whole && json_real(j, &real))
        return job_meta_real(f->job, key, real) == OK;
    return job_meta_text(f->job, key, (const char *)j->text.at, j->text.len) == OK;
}

static bool state_leaf(struct facts *f)
{
    const struct json *j = f->json;
    const char *key = text_str(&f->keys.path);
    f->bytes += f->keys.path.len + j->text.len;
    if (!key || f->bytes > LIMIT_FACTS_BYTES)
        return json_fail(f->json, ERR_LIMIT, NULL,
                         "a key of more than %llu bytes, or more than %llu bytes in all",
                         (unsigned long long)LIMIT_FACT_KEY, (unsigned long long)LIMIT_FACTS_BYTES);
    switch (j->type) {
    case JSON_STRING:
        return job_meta_text(f->job, key, (const char *)j->text.at, j->text.len) == OK;
    case JSON_NUMBER: return state_number(f);
    case JSON_TRUE: return job_meta_text(f->job, key, "true", 4) == OK;
    case JSON_FALSE: return job_meta_text(f->job, key, "false", 5) == OK;
    case JSON_NULL: return job_meta_null(f->job, key) == OK;
    case JSON_OBJECT_END: return job_meta_text(f->job, key, "{}", 2) == OK;
    default: return state_text(f);
    }
}

static bool facts_see(void *context)
{
    struct facts *f = context;
    const struct json *j = f->json;
    if (j->type == JSON_KEY && memchr(j->text.at, '\0', j->text.len))
        return json_fail(f->json, ERR_CORRUPT, NULL, "a key holds a NUL character");
    return j->type == JSON_KEY || j->type == JSON_OBJECT || state_leaf(f);
}

bool facts_state(struct job *job, struct json *j, const char *key, char separator)
{
    struct facts f = {.job = job, .json = j};
    name_tree_init(&f.keys, separator, NULL, NULL); /* state_leaf() looks for a key too long */
    f.keys.path.limit = LIMIT_FACT_KEY;
    text_adds(&f.keys.path, key);
    bool ok = name_tree_json(&f.keys, j, facts_see, &f);
    name_tree_release(&f.keys);
    return ok;
}

enum element_type facts_number(const char *dtype, const uint8_t *at, size_t len, bool swapped,
                               struct element *out)
{
    uint8_t bytes[8];
    struct dtype d;
    dtype_find(dtype, &d);
    const bool number =
        d.kind == DTYPE_BOOL || dtype_is_integer(&d) || (d.kind == DTYPE_FLOAT && d.bits > 8);
    if (!number || d.block_elems != 1 || d.block_bytes != len || len > sizeof(bytes))
        return ELEMENT_NONE;
    for (size_t i = 0; i < len; i++)
        bytes[i] = at[swapped ? len - 1 - i : i];
    return element_get(&d, bytes, 0, out);
}
