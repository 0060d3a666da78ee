/*
 * hdf5_facts.c - attributes as facts. A scalar becomes a number or a text, an array a JSON list;
 * values without such a form (compounds, references) are left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "importer/format/hdf5/hdf5_walk.h"
#include "importer/job/facts.h"

#define LIST_BYTES LIMIT_PICKLE_FACT /* of one list as text */

struct fact {
    struct hdf5_tree *tree;
    const struct hdf5_attribute *a;
    struct text *key;
};

static enum element_type number_of(const struct hdf5_type *t, const uint8_t *at,
                                   struct element *out)
{
    return t->class == HDF5_PLAIN && !t->narrow
               ? facts_number(t->dtype, at, t->item, t->swap > 1, out)
               : ELEMENT_NONE;
}

static void state_scalar(struct fact *f, struct bytes element)
{
    struct job *job = f->tree->job;
    const char *key = text_str(f->key);
    const struct hdf5_type *t = &f->a->type;
    struct bytes text;
    struct element n;
    char digits[32];
    if (t->class != HDF5_PLAIN) {
        if (hdf5_text(&f->tree->h, t, element, &text)) {
            f->tree->fact_bytes += text.len;
            job_meta_text(job, key, (const char *)text.at, text.len);
        }
        return;
    }
    switch (number_of(t, element.at, &n)) {
    case ELEMENT_INTEGER:
        if (strcmp(t->dtype, "bool") == 0)
            job_meta_text(job, key, n.integer ? "true" : "false", n.integer ? 4 : 5);
        else
            job_meta_integer(job, key, n.integer);
        break;
    case ELEMENT_LARGE:
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n.large);
        job_meta_text(job, key, digits, strlen(digits));
        break;
    case ELEMENT_REAL:
        if (isnan(n.real))
            job_meta_null(job, key);
        else
            job_meta_real(job, key, n.real);
        break;
    default: break;
    }
}

/* --- lists -------------------------------------------------------------------------------- */

/* Append one element as JSON; false if it cannot be written as JSON. */
static bool put_element(struct fact *f, struct bytes element, struct text *out)
{
    struct bytes text;
    struct element n;
    if (f->a->type.class != HDF5_PLAIN)
        return hdf5_text(&f->tree->h, &f->a->type, element, &text) &&
               text_json(out, (const char *)text.at, text.len);
    switch (number_of(&f->a->type, element.at, &n)) {
    case ELEMENT_INTEGER:
        return strcmp(f->a->type.dtype, "bool") == 0 ? text_adds(out, n.integer ? "true" : "false")
                                                     : text_addf(out, "%lld", (long long)n.integer);
    case ELEMENT_LARGE: return text_addf(out, "%llu", (unsigned long long)n.large);
    case ELEMENT_REAL:
        return isfinite(n.real) ? text_addf(out, "%.17g", n.real) : text_adds(out, "null");
    default: return false;
    }
}

/* Append nested JSON lists, one level per dimension: shape [2,2] gives [[1,2],[3,4]]. `at` counts
 * like an odometer: `closed` is how many dimensions, from the last, end with the current element.
 * */
static bool put_list(struct fact *f, const uint64_t *shape, unsigned rank, uint64_t count,
                     struct text *out)
{
    size_t item = f->a->type.item;
    uint64_t at[2 * HDF5_RANK_MAX] = {0};
    for (unsigned d = 0; d < rank; d++)
        text_addc(out, '[');
    for (uint64_t i = 0; i < count; i++) {
        if (!put_element(f, (struct bytes){f->a->data.at + i * item, item}, out))
            return false;
        unsigned closed = 0;
        for (unsigned d = rank; d-- > 0 && ++at[d] == shape[d]; closed++)
            at[d] = 0;
        for (unsigned d = 0; d < closed; d++)
            text_addc(out, ']');
        if (i + 1 < count)
            text_addc(out, ',');
        for (unsigned d = 0; d < closed && i + 1 < count; d++)
            text_addc(out, '[');
    }
    return true;
}

static void state_fact(struct fact *f)
{
    const struct hdf5_attribute *a = f->a;
    uint64_t shape[2 * HDF5_RANK_MAX], count = 1;
    unsigned rank = 0;
    if (a->space.null)
        job_meta_null(f->tree->job, text_str(f->key));
    if (a->space.null || a->type.class == HDF5_NO_TENSOR || a->type.class == HDF5_RAW ||
        !a->type.item)
        return;
    for (unsigned d = 0; d < a->space.rank; d++)
        shape[rank++] = a->space.shape[d];
    for (unsigned d = 0; d < a->type.rank; d++)
        shape[rank++] = a->type.shape[d];
    for (unsigned d = 0; d < rank; d++)
        count *= shape[d]; /* cannot overflow: all elements were read */
    if (!rank) {
        state_scalar(f, (struct bytes){a->data.at, a->type.item});
        return;
    }
    struct text out = {.limit = LIST_BYTES};
    const bool good = count ? put_list(f, shape, rank, count, &out) : text_adds(&out, "[]");
    if (out.failed)
        job_issue(f->tree->job, ISSUE_WARNING, f->tree->path, NO_OFFSET, "limit",
                  "attribute \"%.200s\" has more than %llu bytes of text: left out",
                  text_str(f->key), (unsigned long long)LIST_BYTES);
    else if (good)
        job_meta_text(f->tree->job, text_str(f->key), text_str(&out), out.len);
    f->tree->fact_bytes += out.len;
    text_release(&out);
}

static void state_one(struct hdf5_tree *t, const struct hdf5_attribute *a, struct text *key)
{
    struct error why = {.offset = NO_OFFSET};
    struct fact f = {t, a, key};
    if (t->facts_are_full)
        return;
    text_reset(key);
    text_escape(key, t->name.len ? t->name.at : "", t->name.len);
    if (t->name.len)
        text_addc(key, '/');
    text_escape(key, a->name, a->len);
    if (!text_str(key) || key->len > LIMIT_FACT_KEY) {
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "limit",
                  "the path of attribute \"%.100s\" has more than %llu bytes: left out",
                  key->at ? key->at : "", (unsigned long long)LIMIT_FACT_KEY);
        return;
    }
    t->fact_bytes += key->len;
    if (t->fact_bytes > LIMIT_FACTS_BYTES) {
        t->facts_are_full = true;
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "limit",
                  "attributes of more than %llu bytes: those from \"%.200s\" on are left out",
                  (unsigned long long)LIMIT_FACTS_BYTES, text_str(key));
        return;
    }
    struct error *err = hdf5_catch(&t->h, &why);
    state_fact(&f);
    hdf5_catch(&t->h, err);
    if (t->job->err->status != OK) {
        *err = *t->job->err;
    } else if (status_passes(why.status) || why.status == ERR_LIMIT) {
        *err = why;
    } else if (why.status != OK) {
        error_prefix(&why, text_str(key));
        job_issue_error(t->job, ISSUE_WARNING, &why);
    }
}

/* The text of an attribute that is a scalar; NULL: it is something else, or cannot be read. */
static const char *text_of(struct hdf5_tree *t, const struct hdf5_attribute *a, struct arena *arena)
{
    struct bytes text;
    struct error why = {.offset = NO_OFFSET};
    if ((a->type.class != HDF5_TEXT && a->type.class != HDF5_VLEN_TEXT) || a->space.null ||
        a->space.rank)
        return NULL;
    struct error *err = hdf5_catch(&t->h, &why);
    bool read = hdf5_text(&t->h, &a->type, a->data, &text);
    hdf5_catch(&t->h, err);
    if (status_passes(why.status))
        *err = why;
    return read ? arena_copy(arena, text.at, text.len) : NULL;
}

void hdf5_tree_facts(struct hdf5_tree *t, const struct hdf5_object *o, struct arena *arena,
                     const char **dtype)
{
    struct hdf5_attributes list;
    struct error odd = {.offset = NO_OFFSET};
    struct text key = {.limit = 2 * LIMIT_NAME_BYTES};
    if (!hdf5_attributes(&t->h, o, arena, &list, &odd))
        return;
    if (odd.status != OK && !t->no_facts)
        job_issue_error(t->job, ISSUE_WARNING, &odd);
    for (size_t i = 0; i < list.count && t->h.err->status == OK; i++) {
        const char *text =
            dtype && strcmp(list.at[i].name, "dtype") == 0 ? text_of(t, &list.at[i], arena) : NULL;
        if (text)
            *dtype = text;
        if (!t->no_facts)
            state_one(t, &list.at[i], &key);
    }
    text_release(&key);
}
