/*
 * layout.c - finish a layout: pack its extents, sum up modules and dtypes, and compute the
 * digests by which checkpoints with equal layouts are found.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/base/text.h"
#include "catalog/data/model/blocks.h"
#include "catalog/data/model/fields.h"
#include "importer/job/job_private.h"

/* Deeper or longer modules are counted with their last ancestor within these limits: a name
 * of a million separators must not become a million modules. */
#define MODULE_DEPTH_MAX 32
#define MODULE_BYTES_MAX 1024

/* --- extents ---------------------------------------------------------------------------- */

static void pack_all(struct job *job)
{
    struct job_private *p = job_inside(job);
    struct batch *b = job->batch;
    struct text *packed = &p->scratch;
    for (uint64_t i = 0; i < p->pending_count && job->err->status == OK; i++) {
        const struct pending_extents *e = &p->pending[i];
        struct batch_tensor *t = &p->layout->tensors[e->tensor];
        bool cuts = t->coding && codec_cuts(t->coding->codec);
        const bool summed = b->sum_kind && e->sums;
        const uint64_t first_sum = summed ? b->sum_count + 1 : 0;
        for (uint64_t k = 0; summed && k < e->count && job->err->status == OK; k++)
            *PUSH(job->arena, b->sums, b->sum_count, p->sum_space) = e->sums[k];
        for (uint64_t k = 0; k < e->count && !cuts; k++)
            cuts = codec_cuts(e->list[k].codec);
        unsigned flags = (e->list[0].shape ? EXTENTS_BOXES : 0) |
                         (t->storage == STORAGE_INLINE ? EXTENTS_INLINE : 0) |
                         (cuts ? EXTENTS_CUTS : 0);
        text_reset(packed);
        extents_pack(packed, e->list, e->count, t->kind->rank, first_sum, flags);
        if (!t->coding && !(t->coding = arena_alloc(job->arena, sizeof(*t->coding))))
            return;
        t->coding->extents =
            (struct bytes){(const uint8_t *)text_keep(packed, job->arena), packed->len};
    }
}

/* --- sums ------------------------------------------------------------------------------- */

/* A growing list of sums and an index by name. Most modules are folded away at the end, so
 * the list is not in the batch's arena. */
struct summing {
    struct batch_module *list;
    size_t count, space;
    struct strmap index; /* of name -> index in `list` */
};

/* Copy the last `kept` sums into the arena; release everything else. */
static struct batch_module *summing_end(struct summing *s, struct job *job, uint64_t kept)
{
    struct batch_module *list = NULL;
    if (job->err->status == OK && kept)
        list = arena_array(job->arena, (size_t)kept, sizeof(*list));
    if (list)
        memcpy(list, s->list + (s->count - kept), (size_t)kept * sizeof(*list));
    free(s->list);
    strmap_release(&s->index);
    return list;
}

static uint32_t characters(const char *text, size_t len)
{
    uint32_t count = 0;
    for (size_t i = 0; i < len;) {
        for (; len - i >= 8 && is_ascii8(text + i); i += 8)
            count += 8;
        if (i < len)
            count += ((unsigned char)text[i++] & 0xC0) != 0x80;
    }
    return count;
}

/* NULL without memory. */
static struct batch_module *sum_for(struct summing *s, const char *key, size_t len, uint32_t depth,
                                    uint64_t tensor)
{
    bool added;
    uint64_t *at = strmap_add(&s->index, key, len, &added);
    if (added) {
        *at = s->count;
        *LIST_PUSH(s->index.err, s->list, s->count, s->space) =
            (struct batch_module){.module = key,
                                  .len = (uint32_t)len,
                                  .length = characters(key, len),
                                  .depth = depth,
                                  .first = (uint32_t)tensor};
    }
    return s->index.err->status == OK ? &s->list[*at] : NULL;
}

static void add_to(struct batch_module *m, const struct batch_tensor *t)
{
    m->tensors++;
    m->parameters += t->kind->counted ? t->kind->elements : 0;
    m->nbytes += t->kind->nbytes;
}

/*
 * Names come in the file's order, so neighbours share most of their modules. The modules of
 * the previous name are kept as indexes, and only those that differ are looked up.
 */
struct module_path {
    const char *name; /* of the previous tensor */
    size_t len;
    uint64_t at[MODULE_DEPTH_MAX]; /* indexes into the list */
    size_t end[MODULE_DEPTH_MAX];  /* length of each module's name */
    unsigned depth;
};

static void add_modules(struct summing *s, struct module_path *p, const struct batch_tensor *t,
                        uint64_t tensor, char separator)
{
    size_t common = bytes_in_common(p->name, t->name, p->len < t->name_len ? p->len : t->name_len);
    while (p->depth &&
           (p->end[p->depth - 1] >= common || t->name[p->end[p->depth - 1]] != separator))
        p->depth--;
    size_t from = p->depth ? p->end[p->depth - 1] + 1 : 0;
    const size_t most = t->name_len <= MODULE_BYTES_MAX ? t->name_len : MODULE_BYTES_MAX + 1;
    const char *end;
    while (p->depth < MODULE_DEPTH_MAX && (end = memchr(t->name + from, separator, most - from))) {
        const size_t len = (size_t)(end - t->name);
        struct batch_module *m = sum_for(s, t->name, len, p->depth + 1, tensor);
        if (!m)
            return;
        p->at[p->depth] = (uint64_t)(m - s->list);
        p->end[p->depth++] = len;
        from = len + 1;
    }
    for (unsigned d = 0; d < p->depth; d++)
        add_to(&s->list[p->at[d]], t);
    p->name = t->name;
    p->len = t->name_len;
}

/* A module of one tensor needs no row: the length of the tensor's longest such
 * module in the tensor's row says as much. Returns how many modules are left, which
 * are then at the end of the list. */
static uint64_t fold_modules(const struct batch_layout *l, struct summing *s)
{
    uint64_t kept = s->count;
    for (uint64_t i = s->count; i--;) {
        struct batch_module *m = &s->list[i];
        struct batch_tensor *t = &l->tensors[m->first];
        if (m->tensors == 1 && m->length && !t->module) {
            t->module = m->length;
            t->module_depth = (uint8_t)m->depth;
        } else {
            s->list[--kept] = *m;
        }
    }
    return s->count - kept;
}

static void add_up(struct job *job, struct batch_layout *l, char separator)
{
    struct summing modules = {.index.err = job->err}, dtypes = {.index.err = job->err};
    struct module_path path = {.name = ""};
    struct batch_module *d = NULL; /* of the previous tensor */
    const char *dtype = NULL;
    for (uint64_t i = 0; job->err->status == OK && i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        const char *name = t->kind->dtype;
        bool same = d && name == dtype;
        l->parameters += t->kind->counted ? t->kind->elements : 0;
        l->nbytes += t->kind->nbytes;
        l->stored += t->stored;
        l->stored_unknown |= t->stored_unknown;
        l->sum += fields_sum(t->name, t->name_len);
        dtype = name;
        d = same ? d : sum_for(&dtypes, name, strlen(name), 0, i);
        if (d)
            add_to(d, t);
        add_modules(&modules, &path, t, i, separator);
    }
    l->module_count = fold_modules(l, &modules);
    l->modules = summing_end(&modules, job, l->module_count);
    l->dtype_count = dtypes.count;
    l->dtypes = summing_end(&dtypes, job, l->dtype_count);
}

/* --- digests ---------------------------------------------------------------------------- */

static struct layout_digest digest_end(struct fields *f)
{
    struct layout_digest out;
    _Static_assert(sizeof(out.at) == FIELDS_DIGEST, "as columns have it");
    fields_end(f, out.at);
    return out;
}

static struct layout_digest digest_logical(const struct batch_layout *l)
{
    struct fields d;
    fields_begin(&d);
    fields_number(&d, l->tensor_count);
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        const struct batch_kind *k = t->kind;
        fields_tensor(&d, t->name, t->name_len, k->dtype_unknown ? NULL : k->dtype, k->shape,
                      k->shape_unknown ? -1 : k->rank);
    }
    for (uint64_t i = 0; i < l->node_count; i++)
        fields_node(&d, l->nodes[i].name, l->nodes[i].kind, l->nodes[i].position);
    return digest_end(&d);
}

static struct layout_digest digest_placement(const struct batch_layout *l)
{
    struct fields d;
    fields_begin(&d);
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        const struct batch_coding none = {0}, *c = t->coding ? t->coding : &none;
        fields_number(&d, t->storage);
        fields_number(&d, t->file);
        fields_number(&d, t->offset);
        fields_number(&d, t->stored);
        fields_number(&d, t->stored_unknown);
        fields_string(&d, c->codec);
        fields_number(&d, c->strides != NULL);
        for (unsigned k = 0; c->strides && k < t->kind->rank; k++)
            fields_number(&d, zigzag(c->strides[k]));
        fields_text(&d, c->extents.at, c->extents.len);
    }
    return digest_end(&d);
}

void meta_digest(struct batch *b)
{
    struct fields d;
    fields_begin(&d);
    for (uint64_t i = 0; i < b->meta_count; i++) {
        const struct batch_meta *m = &b->metas[i];
        fields_string(&d, m->key);
        fields_number(&d, m->type);
        fields_text(&d, m->text, m->text_len);
        fields_bytes(&d, &m->integer, sizeof(m->integer));
        fields_bytes(&d, &m->real, sizeof(m->real));
    }
    b->meta_digest = digest_end(&d);
}

/* For a later `diff`. */
static void add_blocks(struct job *job, struct batch_layout *l)
{
    struct blocks b;
    if (l->tensor_count < BLOCKS_FROM)
        return;
    blocks_begin(&b);
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        blocks_add(&b, (struct block_row){t->name, t->name_len,
                                          t->kind->dtype_unknown ? NULL : t->kind->dtype,
                                          t->kind->shape_text});
    }
    const struct bytes all = blocks_end(&b);
    if (all.at)
        l->blocks =
            (struct bytes){(const uint8_t *)arena_copy(job->arena, all.at, all.len), all.len};
    else
        error_memory(job->err);
    blocks_release(&b);
}

void layout_finish(struct job *job)
{
    struct job_private *p = job_inside(job);
    struct batch_layout *l = p->layout;
    l->kinds = p->kind_list;
    l->kind_count = p->kind_count;
    const char separator = layout_separator(l, job->format->separator);
    pack_all(job);
    layout_fold(job, l, separator); /* needs most memory, so it comes before the sums */
    add_up(job, l, separator);
    if (job->err->status != OK)
        return;
    l->logical = digest_logical(l);
    l->placement = digest_placement(l);
    add_blocks(job, l);
}
