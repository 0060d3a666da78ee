#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): qsort_r() */
#include "catalog/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/list.h"
#include "catalog/maps/regex/rename.h"

#define FOUND_BYTES ((size_t)256 << 20) /* about how much of look-ups is kept */
#define PARTS_MAX   120                 /* of a name in a tree; readers, too, have a limit */

#define EXPORTER(x) extern const struct exporter exporter_##x;
#include "catalog/export/exports.def"
#undef EXPORTER

const struct exporter *const exporters[] = {
#define EXPORTER(x) &exporter_##x,
#include "catalog/export/exports.def"
#undef EXPORTER
    NULL,
};

const struct exporter *exporter_find(const char *name)
{
    for (size_t i = 0; exporters[i]; i++)
        if (strcmp(exporters[i]->name, name) == 0)
            return exporters[i];
    return NULL;
}

const char *exporter_suffix(const struct exporter *e, const char *path)
{
    size_t len = strlen(path);
    const char *suffix = e->suffix;
    while (e->folder_marks && len > 1 && path[len - 1] == '/') /* a folder's path may end in it */
        len--;
    for (const char *const *more = e->more_suffixes; suffix; suffix = more ? *more++ : NULL) {
        const size_t cut = strlen(suffix);
        if (len > cut && memcmp(path + len - cut, suffix, cut) == 0)
            return suffix;
    }
    return NULL;
}

const struct exporter *exporter_for_path(const char *path)
{
    size_t i = 0;
    while (exporters[i] && !exporter_suffix(exporters[i], path))
        i++;
    return exporters[i];
}

static void refuse_error(struct refusals *r, const char *name, const struct error *err)
{
    char text[1100];
    refuse_tensor(r, name, "%s", error_text(err, text, sizeof(text)));
}

static bool is_inexact(const struct dtype *d)
{
    return d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX || d->kind == DTYPE_BLOCK;
}

/* The plan's own copy of a checkpoint's path. */
static const char *keep_checkpoint(struct export_plan *p, const char *path)
{
    bool added;
    const char *kept;
    uint64_t *at = strmap_keep(&p->checkpoint_index, &p->arena, path, strlen(path), &kept, &added);
    if (added) {
        *at = p->checkpoints;
        *PUSH(&p->arena, p->checkpoint, p->checkpoints, p->checkpoint_space) = kept;
    }
    return p->arena.err->status == OK ? p->checkpoint[*at] : "";
}

void export_plan_reads(struct export_plan *p, const char *path, struct error *err)
{
    p->arena.err = p->checkpoint_index.err = err;
    keep_checkpoint(p, path);
}

static const char *keep_text(struct export_plan *p, const char *text)
{
    return arena_copy(&p->arena, text, strlen(text));
}

/* Copy what is still needed from a look-up that is not kept. */
static void keep_found(struct export_plan *p, struct export_tensor *t)
{
    uint64_t *shape = arena_array(&p->arena, t->rank, sizeof(*shape));
    if (shape && t->rank)
        memcpy(shape, t->shape, t->rank * sizeof(*shape));
    t->shape = shape;
    t->old_name = keep_text(p, t->old_name);
    t->from.name = keep_text(p, t->from.name);
    t->recipe = t->recipe ? keep_text(p, t->recipe) : NULL;
    t->stored = NULL;
}

static void plan_append(struct export_plan *p, const struct stored_tensor *s, bool kept,
                        const char *recipe, const char *new_name, const char *dtype)
{
    struct export_tensor t = {
        .id = s->id,
        .recipe = kept ? NULL : recipe,
        .old_name = s->name,
        .checkpoint = keep_checkpoint(p, s->checkpoint),
        .joined = p->joined,
        .from = s->dtype,
        .rank = s->rank,
        .elements = s->elements,
        .shape = s->shape,
        .stored = s,
        .plain = s->storage == STORAGE_RANGE && !s->codec && !s->strides,
    };
    if (!kept)
        keep_found(p, &t);
    t.name = strcmp(new_name, t.old_name) == 0 ? t.old_name : keep_text(p, new_name);
    t.to = t.from;
    if (dtype)
        dtype_called(keep_text(p, dtype), &t.to);
    if (s->extent_count && s->extents[0].file < s->file_count) {
        const struct stored_file *file = &s->files[s->extents[0].file];
        t.source_file = file->position;
        t.source_offset = s->extents[0].offset + (t.plain ? file->base : 0);
    }
    p->inexact += is_inexact(&t.to);
    free(p->order);
    p->order = NULL;
    *LIST_PUSH(p->arena.err, p->tensor, p->count, p->space) = t;
}

static bool can_be_read(struct export_plan *p, const struct stored_tensor *s)
{
    struct error err = {.offset = NO_OFFSET};
    struct reader *reader = NULL;
    if (s->dtype.kind == DTYPE_STRING)
        return true; /* the format's `holds` decides */
    if (s->storage == STORAGE_NONE && p->partial)
        refuse_tensor(&p->left_out, s->name, "left out, having no bytes");
    else if (s->storage == STORAGE_NONE)
        refuse_tensor(&p->refusals, s->name,
                      "the catalog knows no bytes for it (its checkpoint names "
                      "it, or its data is lost); --partial leaves it out");
    else if (!dtype_sized(&s->dtype))
        refuse_tensor(&p->refusals, s->name,
                      "dtype %.60s cannot be exported; --names or --where can leave it out",
                      s->dtype.name);
    else if (reader_open(s, p->files, &reader, &err) != OK)
        refuse_error(&p->refusals, s->name, &err);
    reader_close(reader);
    return reader != NULL;
}

enum status export_plan_add(struct export_plan *p, int64_t id, const char *recipe,
                            const char *new_name, const char *dtype, struct error *err)
{
    struct arena passing = {0};
    const bool kept = p->found.used < FOUND_BYTES;
    struct arena *arena = kept ? &p->found : &passing;
    struct stored_tensor *stored = arena_alloc(arena, sizeof(*stored));
    struct error why = {.offset = NO_OFFSET};
    p->arena.err = p->checkpoint_index.err = err;
    if (!stored || (!p->files && !(p->files = file_cache_new())))
        error_memory(err);
    else if (p->loader.load(p->loader.context, id, recipe, arena, stored, &why) == ERR_MEMORY)
        *err = why;
    else if (why.status != OK)
        refuse_error(&p->refusals, new_name, &why);
    else if (!utf8_valid(new_name, strlen(new_name)))
        refuse_tensor(&p->refusals, stored->name,
                      "its new name is not UTF-8; --map or --sql gives another, --names or --where "
                      "can leave it out");
    else if (can_be_read(p, stored))
        plan_append(p, stored, kept, recipe, new_name, dtype);
    arena_release(&passing);
    return err->status;
}

enum status export_plan_cast(struct export_plan *p, const char *dtype, struct error *err)
{
    struct dtype to;
    dtype_called(dtype, &to);
    if (to.kind != DTYPE_UNKNOWN && !dtype_sized(&to))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--dtype %.60s: nothing can be converted to it", dtype);
    if (to.kind == DTYPE_UNKNOWN) {
        const char *near = dtype_nearest(dtype);
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--dtype %.60s: there is no such dtype%s%s", dtype,
                         near ? "; the nearest is " : "", near ? near : "");
    }
    bool all = !is_inexact(&to) || !p->inexact;
    p->arena.err = err;
    p->cast = to.name = keep_text(p, to.name);
    p->uncast = all ? 0 : p->count - p->inexact;
    for (size_t i = 0; i < p->count; i++)
        if (all || is_inexact(&p->tensor[i].to))
            p->tensor[i].to = to;
    return err->status;
}

bool export_plan_rename(struct export_plan *p, const struct rename *r, struct error *err)
{
    struct text name = {0};
    bool any = false;
    p->arena.err = err;
    for (size_t i = 0; i < p->count && err->status == OK; i++) {
        struct export_tensor *t = &p->tensor[i];
        text_reset(&name);
        if (rename_one(r, t->name, strlen(t->name), &name, err) == OK &&
            strcmp(text_str(&name), t->name) != 0) {
            t->name = keep_text(p, text_str(&name));
            any = true;
        }
    }
    text_release(&name);
    return any;
}

/* --- orders -------------------------------------------------------------------------------- */

int export_by_name(const struct export_tensor *a, const struct export_tensor *b)
{
    return strcmp(a->name, b->name);
}

int export_by_tree(const struct export_tensor *a, const struct export_tensor *b)
{
    size_t at = 0;
    while (a->name[at] && a->name[at] == b->name[at])
        at++;
    const unsigned char p = (unsigned char)a->name[at], q = (unsigned char)b->name[at];
    return p == q || !p || !q ? p - q : p == '/' ? -1 : q == '/' ? 1 : p - q;
}

int export_by_source(const struct export_tensor *a, const struct export_tensor *b)
{
    const int64_t p[] = {a->id >> TENSOR_ORD_BITS, a->source_file, (int64_t)a->source_offset,
                         a->id};
    const int64_t q[] = {b->id >> TENSOR_ORD_BITS, b->source_file, (int64_t)b->source_offset,
                         b->id};
    for (size_t i = 0; i < sizeof(p) / sizeof(*p); i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

struct order {
    export_comparison *compare;
};

static int compare_entries(const void *a, const void *b, void *order)
{
    const struct export_tensor *p = *(struct export_tensor *const *)a;
    const struct export_tensor *q = *(struct export_tensor *const *)b;
    const int by = ((const struct order *)order)->compare(p, q);
    return by ? by : p < q ? -1 : p > q;
}

struct export_tensor **export_order(struct export_plan *p, export_comparison *compare,
                                    struct error *err)
{
    struct order order = {compare};
    if (!p->order) {
        p->order = malloc((p->count + 1) * sizeof(struct export_tensor *));
        for (size_t i = 0; p->order && i < p->count; i++)
            p->order[i] = &p->tensor[i];
    }
    if (!p->order)
        error_memory(err);
    else
        qsort_r(p->order, p->count, sizeof(struct export_tensor *), compare_entries, &order);
    return p->order;
}

/* --- equal new names ---------------------------------------------------------------------- */

void export_plan_prefer(struct export_plan *p, bool last, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_name, err);
    size_t kept = 0;
    for (size_t i = 0, end; order && i < p->count; i = end) {
        end = i + 1; /* equal names are in the order of their checkpoints */
        while (end < p->count && strcmp(order[i]->name, order[end]->name) == 0)
            end++;
        const unsigned preferred = order[last ? end - 1 : i]->joined;
        for (size_t k = i; k < end; k++)
            if (order[k]->joined != preferred)
                order[k]->name = NULL;
    }
    for (size_t i = 0; order && i < p->count; i++) {
        if (p->tensor[i].name)
            p->tensor[kept++] = p->tensor[i];
        else
            p->inexact -= is_inexact(&p->tensor[i].to);
    }
    if (order)
        p->count = kept;
    free(p->order);
    p->order = NULL;
}

/* --- checks -------------------------------------------------------------------------------- */

/* Refusals with one text are listed together, so each new name is one cause. */
static void refuse_collision(struct export_plan *p, const struct export_tensor *t)
{
    char which[700];
    snprintf(which, sizeof(which), "%.400s of %.250s", t->old_name, t->checkpoint);
    refuse_tensor(&p->refusals, which, "the new name of all is %.400s%s",
                  *t->name ? t->name : "\"\"",
                  p->joined ? "; --prefer first or --prefer last takes one checkpoint's"
                            : "; --names or --where can leave out all but one");
}

static void check_collisions(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_name, err);
    bool before = false; /* the tensor before shares its name with the one before that */
    for (size_t i = 1; order && i < p->count; i++) {
        const bool same = strcmp(order[i - 1]->name, order[i]->name) == 0;
        if (same && !before)
            refuse_collision(p, order[i - 1]);
        if (same)
            refuse_collision(p, order[i]);
        before = same;
    }
}

static unsigned parts_of(const char *name)
{
    unsigned parts = 1;
    for (; *name; name++)
        parts += *name == '/';
    return parts;
}

void export_check_tree(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_tree, err);
    for (size_t i = 0; order && i < p->count; i++)
        if (parts_of(order[i]->name) > PARTS_MAX)
            refuse_tensor(&p->refusals, order[i]->name,
                          "its name has more than %d parts (--rename, --map); --names or --where "
                          "can leave it out",
                          PARTS_MAX);
    for (size_t i = 1; order && i < p->count; i++) {
        const char *above = order[i - 1]->name, *name = order[i]->name;
        const size_t len = strlen(above);
        if (!len || (strncmp(name, above, len) == 0 && name[len] == '/'))
            refuse_tensor(&p->refusals, name,
                          "below \"%.400s\", which is a tensor and cannot hold others; "
                          "--names or --where can leave one out",
                          above);
    }
}

const char *export_dtype_instead(const struct dtype *d)
{
    switch (d->kind) {
    case DTYPE_INT: return d->bits > 8 ? "int64" : "int8";
    case DTYPE_UINT: return d->bits > 8 ? "uint64" : "uint8";
    case DTYPE_FLOAT:
    case DTYPE_BLOCK: return "float32";
    case DTYPE_COMPLEX: return "complex64";
    case DTYPE_TIME: return "int64";
    default: return NULL;
    }
}

/* Whether the tensor can be converted to this dtype, and the format then holds it. */
static bool is_way_out(const struct export_tensor *t, const struct exporter *exporter,
                       const char *dtype)
{
    struct error err = {.offset = NO_OFFSET};
    struct converter converter;
    struct export_tensor other = *t;
    struct text why = {.limit = 1000};
    const char *instead = NULL;
    dtype_find(dtype, &other.to);
    bool holds = exporter->holds(&other, &why, &instead);
    text_release(&why);
    return holds && converter_find(&t->from, &other.to, &converter, &err) == OK;
}

/* The refusal says what the user can do: convert the tensor, where that is possible, or leave it
 * out. */
static void refuse_format(struct export_plan *p, const struct export_tensor *t,
                          const struct exporter *exporter, const char *why, const char *instead)
{
    if (instead && is_way_out(t, exporter, instead))
        refuse_tensor(&p->refusals, t->old_name, "(%.60s) %s; --dtype %s converts", t->to.name, why,
                      instead);
    else if (t->to.kind == DTYPE_STRING)
        refuse_tensor(&p->refusals, t->old_name,
                      "(string) %s; --where \"dtype <> 'string'\" leaves strings out", why);
    else
        refuse_tensor(&p->refusals, t->old_name, "(%.60s) %s; --names or --where can leave it out",
                      t->to.name, why);
}

/* Refuse a tensor that the format cannot hold, or that cannot be converted. */
static void check_tensor(struct export_plan *p, struct export_tensor *t,
                         const struct exporter *exporter)
{
    struct error err = {.offset = NO_OFFSET};
    struct converter converter;
    struct text why = {.limit = 1000};
    const char *instead = NULL;
    const bool sized = dtype_nbytes(&t->to, t->elements, &t->nbytes);
    if (!sized)
        t->nbytes = 0;
    const bool changes = strcmp(t->from.name, t->to.name) != 0;
    const uint64_t row = t->rank ? t->shape[t->rank - 1] : 1;
    p->lossy += loss_possible(&t->from, &t->to);
    if (!exporter->holds(t, &why, &instead))
        refuse_format(p, t, exporter, text_str(&why), instead);
    else if (changes && (converter_find(&t->from, &t->to, &converter, &err) != OK ||
                         converter_check_row(&t->from, &t->to, row, &err) != OK))
        refuse_error(&p->refusals, t->old_name, &err);
    else if (!sized && t->to.kind != DTYPE_STRING)
        refuse_tensor(&p->refusals, t->old_name, "its elements cannot be stored as %.60s",
                      t->to.name);
    text_release(&why);
}

/* Whether both have the same bytes, and write them alike. */
static bool are_twins(const struct export_tensor *a, const struct export_tensor *b)
{
    return a->plain && b->plain && !a->recipe && !b->recipe && a->checkpoint == b->checkpoint &&
           a->source_file == b->source_file && a->source_offset == b->source_offset &&
           a->elements == b->elements && strcmp(a->from.name, b->from.name) == 0 &&
           strcmp(a->to.name, b->to.name) == 0;
}

enum status export_plan_check(struct export_plan *p, const struct exporter *exporter,
                              struct error *err)
{
    p->lossy = 0;
    if (!p->count && !p->refusals.count)
        refuse(&p->refusals, "no tensor is selected");
    if (exporter->most && p->count > exporter->most)
        refuse(&p->refusals,
               "%llu tensors are selected; a file of format %s holds %llu: use --names, or "
               "another format",
               (unsigned long long)p->count, exporter->name, (unsigned long long)exporter->most);
    for (size_t i = 0; i < p->count; i++)
        check_tensor(p, &p->tensor[i], exporter);
    check_collisions(p, err);
    struct export_tensor **order = exporter->ties ? export_order(p, export_by_source, err) : NULL;
    for (size_t i = 1; order && i < p->count; i++)
        if (are_twins(order[i - 1], order[i]))
            order[i]->twin = order[i - 1]->twin ? order[i - 1]->twin : order[i - 1];
    if (exporter->check)
        exporter->check(p, err);
    return err->status;
}

void export_plan_release(struct export_plan *p)
{
    free(p->tensor);
    free(p->order);
    strmap_release(&p->checkpoint_index);
    file_cache_free(p->files);
    arena_release(&p->found);
    arena_release(&p->arena);
    refusals_release(&p->refusals);
    refusals_release(&p->left_out);
    *p = (struct export_plan){.loader = p->loader};
}
