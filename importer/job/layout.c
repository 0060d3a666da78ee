/*
 * layout.c - finish a layout: pack its extents, sum up modules and dtypes, and compute the
 * digests by which checkpoints with equal layouts are found.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/model/blocks.h"
#include "catalog/data/model/fields.h"
#include "importer/job/job_private.h"

/* Deeper or longer modules are counted with their last ancestor within these limits: a name
 * of a million separators must not become a million modules. */
#define MODULE_DEPTH_MAX 32
#define MODULE_BYTES_MAX 1024

/* --- extents ---------------------------------------------------------------------------- */

static enum status append_sums(struct job *job, const struct pending_extents *e,
                               uint64_t *first_plus_1)
{
    struct job_private *p = job_inside(job);
    struct batch *b = job->batch;
    *first_plus_1 = 0;
    if (!b->sum_kind || !e->sums)
        return OK;
    *first_plus_1 = b->sum_count + 1;
    for (uint64_t i = 0; i < e->count; i++) {
        void *sums = arena_grow(job->arena, b->sums, b->sum_count, &p->sum_space, sizeof(*b->sums));
        if (!sums)
            return ERR_MEMORY;
        b->sums = sums;
        b->sums[b->sum_count++] = e->sums[i];
    }
    return OK;
}

static bool any_cuts(const struct batch_tensor *t, const struct pending_extents *e)
{
    bool cuts = t->coding && codec_cuts(t->coding->codec);
    for (uint64_t i = 0; i < e->count && !cuts; i++)
        cuts = codec_cuts(e->list[i].codec);
    return cuts;
}

static enum status pack_all(struct job *job)
{
    struct job_private *p = job_inside(job);
    job->batch->sum_count = job->batch->sum_kind ? p->layout->tensor_count : 0;
    for (uint64_t i = 0; i < p->pending_count; i++) {
        const struct pending_extents *e = &p->pending[i];
        struct batch_tensor *t = &p->layout->tensors[e->tensor];
        uint64_t first;
        unsigned flags = (e->list[0].shape ? EXTENTS_BOXES : 0) |
                         (t->storage == STORAGE_INLINE ? EXTENTS_INLINE : 0) |
                         (any_cuts(t, e) ? EXTENTS_CUTS : 0);
        text_reset(&p->scratch);
        if (append_sums(job, e, &first) != OK ||
            !extents_pack(&p->scratch, e->list, e->count, t->kind->rank, first, flags))
            return ERR_MEMORY;
        if (!t->coding && !(t->coding = arena_alloc(job->arena, sizeof(*t->coding))))
            return ERR_MEMORY;
        struct bytes *packed = &t->coding->extents;
        packed->at = (uint8_t *)arena_copy(job->arena, p->scratch.at, p->scratch.len);
        packed->len = p->scratch.len;
        if (!packed->at)
            return ERR_MEMORY;
    }
    return OK;
}

/* --- sums ------------------------------------------------------------------------------- */

/* A growing list of sums and an index by name. Most modules are folded away at the end, so
 * the list is not in the batch's arena. */
struct summing {
    struct batch_module *list;
    uint64_t count;
    size_t space, first; /* room in `list`; its initial value */
    uint32_t *index;     /* 2 * space slots: hash of name -> index in `list` + 1; 0: free */
};

/* The slot of a module in the index: its own, or the free one where it would go. */
static uint32_t *job_layout_find(const struct summing *s, const char *key, size_t len)
{
    size_t mask = s->space * 2 - 1, i = hash_bytes(key, len, hash_seed()) & mask;
    for (; s->index[i]; i = (i + 1) & mask) {
        const struct batch_module *m = &s->list[s->index[i] - 1];
        if (m->len == len && memcmp(m->module, key, len) == 0)
            break;
    }
    return &s->index[i];
}

/* Initial room: a model has about as many modules as tensors. */
static size_t first_space(uint64_t tensors)
{
    size_t space = 64;
    while (space < tensors && space < 4096)
        space *= 2;
    return space;
}

static bool job_layout_make_room(struct summing *s)
{
    size_t space = s->space ? s->space * 2 : s->first;
    if (s->count < s->space)
        return true;
    if (space > UINT32_MAX / 2)
        return false;
    struct batch_module *list = realloc(s->list, space * sizeof(*list));
    s->list = list ? list : s->list;
    if (!list)
        return false;
    free(s->index); /* rebuilt from the list */
    s->index = calloc(space * 2, sizeof(*s->index));
    if (!s->index)
        return false;
    s->space = space;
    for (uint64_t i = 0; i < s->count; i++)
        *job_layout_find(s, list[i].module, list[i].len) = (uint32_t)i + 1;
    return true;
}

/* Copy the last `kept` sums into the arena; release everything else. */
static struct batch_module *summing_end(struct summing *s, struct arena *arena, uint64_t kept,
                                        bool *ok)
{
    struct batch_module *list = NULL;
    if (*ok && kept)
        *ok = (list = arena_array(arena, (size_t)kept, sizeof(*list))) != NULL;
    if (list)
        memcpy(list, s->list + (s->count - kept), (size_t)kept * sizeof(*list));
    free(s->list);
    free(s->index);
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

static struct batch_module *sum_for(struct summing *s, const char *key, size_t len, uint32_t depth,
                                    uint64_t tensor)
{
    if (!job_layout_make_room(s))
        return NULL;
    uint32_t *at = job_layout_find(s, key, len);
    if (*at)
        return &s->list[*at - 1];
    *at = (uint32_t)s->count + 1;
    s->list[s->count] = (struct batch_module){.module = key,
                                              .len = (uint32_t)len,
                                              .length = characters(key, len),
                                              .depth = depth,
                                              .first = (uint32_t)tensor};
    return &s->list[s->count++];
}

static void add_to(struct batch_module *m, const struct batch_tensor *t)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): sum_for() set it, or found it set */
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

static size_t common_prefix(const struct module_path *p, const struct batch_tensor *t)
{
    return bytes_in_common(p->name, t->name, p->len < t->name_len ? p->len : t->name_len);
}

static bool add_modules(struct summing *s, struct module_path *p, const struct batch_tensor *t,
                        uint64_t tensor, char separator)
{
    size_t common = common_prefix(p, t);
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
            return false;
        p->at[p->depth] = (uint64_t)(m - s->list);
        p->end[p->depth++] = len;
        from = len + 1;
    }
    for (unsigned d = 0; d < p->depth; d++)
        add_to(&s->list[p->at[d]], t);
    p->name = t->name;
    p->len = t->name_len;
    return true;
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
        if (m->tensors == 1 && m->length && !t->module)
            t->module = m->length;
        else
            s->list[--kept] = *m;
    }
    return s->count - kept;
}

static enum status job_layout_add_up(struct job *job, struct batch_layout *l, char separator)
{
    struct summing modules = {.first = first_space(l->tensor_count)};
    struct summing dtypes = {.first = first_space(0)};
    struct module_path path = {.name = ""};
    struct batch_module *d = NULL; /* of the previous tensor */
    const char *dtype = NULL;
    bool ok = true;
    for (uint64_t i = 0; ok && i < l->tensor_count; i++) {
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
        if ((ok = d && add_modules(&modules, &path, t, i, separator)))
            add_to(d, t);
    }
    l->module_count = fold_modules(l, &modules);
    l->modules = summing_end(&modules, job->arena, l->module_count, &ok);
    l->dtype_count = dtypes.count;
    l->dtypes = summing_end(&dtypes, job->arena, l->dtype_count, &ok);
    return ok ? OK : ERR_MEMORY;
}

/* --- digests ---------------------------------------------------------------------------- */

static struct layout_digest digest_end(struct fields *f)
{
    struct layout_digest out;
    _Static_assert(sizeof(out.at) == FIELDS_DIGEST, "as columns have it");
    fields_end(f, out.at);
    return out;
}

static void add_tensor(struct fields *d, const struct batch_tensor *t)
{
    const struct batch_kind *kind = t->kind;
    fields_tensor(d, t->name, t->name_len, kind->dtype_unknown ? NULL : kind->dtype, kind->shape,
                  kind->shape_unknown ? -1 : kind->rank);
}

static struct layout_digest digest_logical(const struct batch_layout *l)
{
    struct fields d;
    fields_begin(&d);
    fields_number(&d, l->tensor_count);
    for (uint64_t i = 0; i < l->tensor_count; i++)
        add_tensor(&d, &l->tensors[i]);
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
static bool layout_blocks(struct job *job, struct batch_layout *l)
{
    struct blocks b;
    if (l->tensor_count < BLOCKS_FROM)
        return true;
    blocks_begin(&b);
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        blocks_add(&b, (struct block_row){t->name, t->name_len,
                                          t->kind->dtype_unknown ? NULL : t->kind->dtype,
                                          t->kind->shape_text});
    }
    const struct bytes all = blocks_end(&b);
    l->blocks.at =
        !all.at ? NULL : (uint8_t *)arena_copy(job->arena, (const char *)all.at, all.len);
    l->blocks.len = all.len;
    blocks_release(&b);
    return l->blocks.at != NULL;
}

enum status layout_finish(struct job *job, struct error *err)
{
    struct job_private *p = job_inside(job);
    struct batch_layout *l = p->layout;
    l->kinds = p->kind_list;
    l->kind_count = p->kind_count;
    const char separator = layout_separator(l, job->format->separator);
    /* Folding needs most memory, so it comes before the sums. */
    if (pack_all(job) != OK || layout_fold(job, l, separator) != OK ||
        job_layout_add_up(job, l, separator) != OK)
        return error_memory_at(err, job->path);
    l->logical = digest_logical(l);
    l->placement = digest_placement(l);
    return layout_blocks(job, l) ? OK : error_memory_at(err, job->path);
}
