/*
 * torch_facts.c - values of a pickle as facts of the checkpoint.
 */
#include "importer/format/torch/torch_facts.h"

#include <math.h>
#include <string.h>

/* The catalogued key of a fact whose value has N bytes: escaped into `safe` if it is not UTF-8 or
 * holds a NUL. NULL after a failure, or if all facts together, without tensors, pass their limit. */
static const char *fact_key(struct torch_tree *t, const struct text *key, size_t bytes,
                            struct text *safe)
{
    const uint64_t before = t->fact_bytes;
    const char *at = key->at ? key->at : "";
    if (key->failed)
        return NULL;
    if (memchr(at, '\0', key->len) || !utf8_valid(at, key->len)) {
        text_escape(safe, key->at, key->len);
        at = text_str(safe);
    }
    if (!at)
        return NULL;
    t->fact_bytes += key->len + bytes;
    if (t->fact_bytes <= LIMIT_FACTS_BYTES)
        return at;
    if (before <= LIMIT_FACTS_BYTES)
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "limit",
                  "more than %llu bytes of values beside the tensors: the rest is left out",
                  (unsigned long long)LIMIT_FACTS_BYTES);
    return NULL;
}

void torch_fact_text(struct torch_tree *t, const struct text *key, const char *text, size_t len)
{
    struct text safe = {0};
    const char *name = fact_key(t, key, len, &safe);
    if (name)
        job_meta_text(t->job, name, text, len);
    text_release(&safe);
}

static void fact_made(struct torch_tree *t, const struct text *key, struct text *made)
{
    if (text_str(made))
        torch_fact_text(t, key, text_str(made), made->len);
    else
        error_memory(t->job->err);
    text_release(made);
}

static void fact_integer(struct torch_tree *t, const struct text *key, int64_t value)
{
    struct text safe = {0};
    const char *name = fact_key(t, key, 8, &safe);
    if (name)
        job_meta_integer(t->job, name, value);
    text_release(&safe);
}

static void fact_real(struct torch_tree *t, const struct text *key, double value)
{
    struct text safe = {0};
    const char *name;
    if (!isfinite(value)) {
        struct text word = {0};
        torch_add_real(&word, value);
        fact_made(t, key, &word);
    } else if ((name = fact_key(t, key, 8, &safe))) {
        job_meta_real(t->job, name, value);
    }
    text_release(&safe);
}

static void fact_null(struct torch_tree *t, const struct text *key)
{
    struct text safe = {0};
    const char *name = fact_key(t, key, 0, &safe);
    if (name)
        job_meta_null(t->job, name);
    text_release(&safe);
}

static void fact_list(struct torch_tree *t, const struct text *key, pickle_ref list)
{
    /* Limited in proportion to the pickle, as nested shared lists could make a text of any
     * length. */
    const struct pickle *p = t->pickle;
    uint64_t most = 65536 + 4 * p->text_bytes + 64 * (uint64_t)p->node_count;
    struct text json = {.limit = most < LIMIT_PICKLE_FACT ? most : LIMIT_PICKLE_FACT};
    if (t->fact_bytes > LIMIT_FACTS_BYTES) /* it would be left out: do not make it */
        return;
    if (t->lost_bytes > LIMIT_FACTS_BYTES)
        json.failed = true;
    torch_add_list(t, list, &json);
    t->lost_bytes += json.failed ? json.len : 0;
    if (text_str(&json))
        torch_fact_text(t, key, text_str(&json), json.len);
    else
        torch_fact_text(t, key, "(a list too long to show)", 25);
    text_release(&json);
}

/* State a pathlib path: its parts, joined by '/'. */
static void fact_path(struct torch_tree *t, const struct text *key, pickle_ref args)
{
    const struct pickle *p = t->pickle;
    struct text path = {.limit = LIMIT_FACT_KEY};
    pickle_ref part;
    t->fact_bytes += pickle_at(p, args)->kind == PICKLE_TUPLE ? pickle_at(p, args)->count : 0;
    for (uint32_t i = 0; !path.failed && (part = pickle_item(p, args, i)); i++) {
        const struct pickle_node *n = pickle_at(p, part);
        if (i && path.len && path.at[path.len - 1] != '/')
            text_addc(&path, '/');
        if (n->kind == PICKLE_TEXT)
            text_add(&path, n->text, n->count);
    }
    if (text_str(&path))
        torch_fact_text(t, key, text_str(&path), path.len);
    text_release(&path);
}

bool torch_fact_call(struct torch_tree *t, const struct text *key, pickle_ref ref)
{
    const struct pickle *p = t->pickle;
    const struct pickle_call *call = pickle_at(p, ref)->call;
    const struct pickle_node *first = pickle_at(p, pickle_item(p, call->args, 0));
    struct text large = {0};
    struct element number;
    enum element_type type;
    switch (torch_callee(p, ref)) {
    case TORCH_PATH: fact_path(t, key, call->args); return true;
    case TORCH_TEXT:
    case TORCH_DEVICE:
    case NUMPY_DTYPE:
        if (first->kind == PICKLE_TEXT)
            torch_fact_text(t, key, first->text, first->count);
        return true;
    case TORCH_COMPLEX: fact_list(t, key, call->args); return true;
    case TORCH_ENCODE: return true;
    case NUMPY_SCALAR:
        type = torch_numpy_scalar(t, ref, &number);
        if (type == ELEMENT_INTEGER)
            fact_integer(t, key, number.integer);
        else if (type == ELEMENT_REAL)
            fact_real(t, key, number.real);
        else if (type == ELEMENT_LARGE) {
            text_addf(&large, "%llu", (unsigned long long)number.large);
            fact_made(t, key, &large);
        }
        return true;
    default: return false;
    }
}

void torch_fact_value(struct torch_tree *t, const struct text *key, pickle_ref ref)
{
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    struct text made = {0};
    if (n->kind != PICKLE_DICT && torch_list_of(t->pickle, ref)) {
        fact_list(t, key, torch_list_of(t->pickle, ref));
        return;
    }
    switch (n->kind) {
    case PICKLE_TEXT:
    case PICKLE_BIGINT: torch_fact_text(t, key, n->text, n->count); break;
    case PICKLE_INT: fact_integer(t, key, n->integer); break;
    case PICKLE_FLOAT: fact_real(t, key, n->real); break;
    case PICKLE_NONE: fact_null(t, key); break;
    case PICKLE_TRUE: torch_fact_text(t, key, "true", 4); break;
    case PICKLE_FALSE: torch_fact_text(t, key, "false", 5); break;
    case PICKLE_BYTES:
        text_addf(&made, "<%llu bytes>", (unsigned long long)n->data->len);
        fact_made(t, key, &made);
        break;
    case PICKLE_GLOBAL:
        torch_add_global(&made, t->pickle, ref);
        fact_made(t, key, &made);
        break;
    case PICKLE_DICT: torch_fact_text(t, key, "{}", 2); break;
    default: break;
    }
}
