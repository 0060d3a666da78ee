/*
 * sample.c - digests of tensors: first of some elements (a sample), and only if a tensor of the
 * other side has the same sample, of all elements. So tensors that do not fit cost little, and a
 * match is certain.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/maps/infer/transform.h"

/* --- digests ----------------------------------------------------------------------------------- */

static bool ahead_key(struct text *out, const struct infer_probe *p)
{
    return text_addf(out, "%d %zu %d %s %s", p->of_b, p->at, p->sample, p->dtype ? p->dtype : "-",
                     p->ops ? p->ops : "-") &&
           text_str(out);
}

static struct infer_digest *digests_of(struct transforms *x, const struct infer_probe *p,
                                       size_t count)
{
    struct infer_digest *d = arena_array(x->task->arena, count + 1, sizeof(*d));
    return d && x->task->digest(x->task->context, p, count, d, x->err) == OK ? d : NULL;
}

/* Compute digests on all cores at once, which digest_of() will be asked for one by one. */
static void infer_sample_look_ahead(struct transforms *x, const struct infer_probe *p, size_t count)
{
    const struct infer_digest *d = count ? digests_of(x, p, count) : NULL;
    struct text key = {0};
    for (size_t i = 0; d && i < count && !transforms_stopped(x); i++) {
        const char *kept;
        bool added;
        text_reset(&key);
        const struct infer_digest *there = &d[i];
        if (ahead_key(&key, &p[i]))
            memcpy(strmap_keep(&x->ahead, x->task->arena, key.at, key.len, &kept, &added), &there,
                   sizeof(there)); /* the map's values are integers */
        else
            error_memory(x->err);
    }
    text_release(&key);
}

/* False: the tensor has no such digest. */
static bool digest_of(struct transforms *x, const struct infer_probe *p, char out[DIGEST_TEXT])
{
    struct infer_digest one;
    const struct infer_digest *d = NULL;
    struct text key = {0};
    if (transforms_stopped(x))
        return false;
    const uint64_t *known = ahead_key(&key, p) ? strmap_get(&x->ahead, key.at, key.len) : NULL;
    if (known)
        memcpy(&d, known, sizeof(d));
    else if (x->task->digest(x->task->context, p, 1, &one, x->err) == OK)
        d = &one;
    text_release(&key);
    if (!d || d->status != OK)
        return false;
    memcpy(out, d->text, DIGEST_TEXT);
    return true;
}

/* --- samples ----------------------------------------------------------------------------------- */

static size_t class_key(char *out, size_t size, const char *dtype, const char *shape,
                        const char *digest)
{
    const int len = snprintf(out, size, "%s %s %s", dtype, shape, digest);
    return len < 0 || (size_t)len >= size ? 0 : (size_t)len;
}

/* Insert a tensor in front of the tensors of its side with the same sample. */
static void keep_sample(struct transforms *x, bool of_b, const char *dtype, const char *shape,
                        size_t at, const char *digest)
{
    char key[512];
    const char *kept;
    bool added;
    const size_t len = class_key(key, sizeof(key), dtype, shape, digest);
    uint64_t *first = strmap_keep(&x->sampled[of_b], x->task->arena, key, len, &kept, &added);
    x->next[of_b][at] = (uint32_t)*first;
    *first = at + 1;
}

struct infer_probe *sample_list(struct transforms *x, bool of_b, const char *dtype,
                                const char *shape, size_t from, size_t *count)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct infer_probe *p = NULL;
    size_t space = 0;
    *count = 0;
    for (size_t i = from; i < list->count && !transforms_stopped(x); i++) {
        const struct infer_tensor *t = &list->at[i];
        if (transforms_used(x, of_b, i) || !t->hash || !t->dtype || !t->shape ||
            strcmp(t->dtype, dtype) != 0 || strcmp(t->shape, shape) != 0)
            continue;
        *PUSH(x->task->arena, p, *count, space) =
            (struct infer_probe){.of_b = of_b, .at = i, .sample = true};
    }
    return p;
}

uint64_t sample_class(struct transforms *x, bool of_b, const char *dtype, const char *shape)
{
    char key[512];
    const char *class = NULL;
    bool added = false;
    const size_t len = class_key(key, sizeof(key), dtype, shape, "");
    uint64_t *found =
        len ? strmap_keep(&x->classes[of_b], x->task->arena, key, len, &class, &added) : NULL;
    if (!found || !added)
        return found ? *found : 0;
    size_t listed, count = 0;
    const struct infer_probe *p = sample_list(x, of_b, dtype, shape, 0, &listed);
    const struct infer_digest *d = listed ? digests_of(x, p, listed) : NULL;
    for (size_t i = listed; d && i-- > 0;)
        if (d[i].status == OK) {
            keep_sample(x, of_b, dtype, shape, p[i].at, d[i].text);
            count++;
        }
    found = strmap_get(&x->classes[of_b], class, strlen(class));
    if (found)
        *found = count;
    return count;
}

/* The first tensor of the other side with the sample of a probe, plus 1; 0 if absent. */
static uint32_t find_sample(struct transforms *x, const char *dtype, const char *shape,
                            const struct infer_probe *p)
{
    char digest[DIGEST_TEXT], key[512];
    struct infer_probe probe = *p;
    probe.sample = true;
    if (!sample_class(x, !p->of_b, dtype, shape) || !digest_of(x, &probe, digest))
        return 0;
    const size_t len = class_key(key, sizeof(key), dtype, shape, digest);
    const uint64_t *first = len ? strmap_get(&x->sampled[!p->of_b], key, len) : NULL;
    return first ? (uint32_t)*first : 0;
}

void sample_ahead(struct transforms *x, const char *dtype, const char *shape, struct infer_probe *p,
                  size_t count)
{
    size_t found = 0;
    infer_sample_look_ahead(x, p, count);
    for (size_t i = 0; i < count && !transforms_stopped(x); i++)
        if (find_sample(x, dtype, shape, &p[i])) {
            p[found] = p[i];
            p[found++].sample = false;
        }
    infer_sample_look_ahead(x, p, found);
}

uint32_t sample_find(struct transforms *x, const char *dtype, const char *shape,
                     const struct infer_probe *p)
{
    char hash[DIGEST_TEXT] = "";
    struct infer_probe probe = *p;
    const bool find_b = !p->of_b;
    const uint32_t first = find_sample(x, dtype, shape, p);
    probe.sample = false;
    for (uint32_t i = first; i; i = x->next[find_b][i - 1]) {
        if (transforms_used(x, find_b, i - 1))
            continue;
        if (!*hash && !digest_of(x, &probe, hash))
            return INFER_NONE;
        if (strcmp(hash, transforms_tensor(x, find_b, i - 1)->hash) == 0)
            return i - 1;
    }
    return INFER_NONE;
}

size_t sample_classes(struct transforms *x, bool of_b, uint32_t *out)
{
    const struct infer_list *list = of_b ? &x->task->b : &x->task->a;
    struct strmap seen = {.err = x->err};
    size_t count = 0;
    for (size_t i = 0; i < list->count && !transforms_stopped(x); i++) {
        const struct infer_tensor *t = &list->at[i];
        char key[512];
        bool added;
        if (transforms_used(x, of_b, i) || !t->hash || !t->dtype || !t->shape ||
            t->rank > INFER_RANK_MAX)
            continue;
        const size_t len = class_key(key, sizeof(key), t->dtype, t->shape, "");
        const char *kept;
        if (!len)
            continue;
        strmap_keep(&seen, x->task->arena, key, len, &kept, &added);
        if (added)
            out[count++] = (uint32_t)i;
    }
    strmap_release(&seen);
    return count;
}
