#include "importer/job/facts.h"

#include <string.h>

#include "catalog/base/limits.h"

struct facts {
    struct job *job;
    struct json *json;
    struct text key;                    /* key of the current value */
    size_t outer[LIMIT_JSON_DEPTH + 1]; /* key.len before the keys of each open object */
    unsigned depth;
    uint64_t bytes; /* added so far */
};

/* The JSON text of a list or an empty object. */
static bool state_text(struct facts *f)
{
    struct text t = {.limit = LIMIT_FACTS_BYTES};
    bool ok = json_copy(f->json, &t);
    if (ok && !text_str(&t))
        ok = json_fail(f->json, ERR_LIMIT, NULL, "a list of more than %llu bytes",
                       (unsigned long long)LIMIT_FACTS_BYTES);
    if (ok)
        ok = job_meta_text(f->job, text_str(&f->key), text_str(&t), t.len) == OK;
    f->bytes += t.len;
    text_release(&t);
    return ok;
}

static bool state_number(struct facts *f)
{
    const struct json *j = f->json;
    const char *key = text_str(&f->key);
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
    const char *key = text_str(&f->key);
    f->bytes += f->key.len + j->text.len;
    if (!key || f->bytes > LIMIT_FACTS_BYTES)
        return json_fail(f->json, ERR_LIMIT, NULL,
                         "a key of more than %llu bytes, or more than %llu bytes in all",
                         (unsigned long long)LIMIT_FACT_KEY, (unsigned long long)LIMIT_FACTS_BYTES);
    switch (j->type) {
    case JSON_STRING:
        return job_meta_text(f->job, key, (const char *)j->text.at, j->text.len) == OK;
    case JSON_NUMBER:
        return state_number(f);
    case JSON_TRUE:
        return job_meta_text(f->job, key, "true", 4) == OK;
    case JSON_FALSE:
        return job_meta_text(f->job, key, "false", 5) == OK;
    case JSON_NULL:
        return job_meta_null(f->job, key) == OK;
    default:
        return state_text(f);
    }
}

/* Enter an object: its keys follow. An empty one is a leaf. */
static bool facts_enter(struct facts *f)
{
    struct json ahead = *f->json;
    struct error ignored = {.offset = NO_OFFSET};
    ahead.err = &ignored;
    if (json_next(&ahead) == JSON_OBJECT_END)
        return state_leaf(f);
    f->outer[f->depth++] = f->key.len;
    return true;
}

static bool facts_read_key(struct facts *f, char separator)
{
    const struct json *j = f->json;
    size_t outer = f->outer[f->depth - 1];
    if (memchr(j->text.at, '\0', j->text.len))
        return json_fail(f->json, ERR_CORRUPT, NULL, "a key holds a NUL character");
    f->key.len = outer;
    if (f->depth > 1)
        text_addc(&f->key, separator);
    text_add(&f->key, j->text.at, j->text.len);
    return true;
}

bool facts_state(struct job *job, struct json *j, const char *key, char separator)
{
    struct facts f = {.job = job, .json = j, .key = {.limit = LIMIT_FACT_KEY}};
    text_adds(&f.key, key);
    bool ok = true;
    do {
        enum json_type type = json_next(j);
        if (type == JSON_FAIL)
            ok = false;
        else if (type == JSON_KEY)
            ok = facts_read_key(&f, separator);
        else if (type == JSON_OBJECT_END)
            f.depth--;
        else
            ok = type == JSON_OBJECT ? facts_enter(&f) : state_leaf(&f);
    } while (ok && f.depth);
    text_release(&f.key);
    return ok;
}
