#include "shell/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTER(x) extern const struct exporter exporter_##x;
#include "shell/exports.def"
#undef EXPORTER

const struct exporter *const exporters[] = {
#define EXPORTER(x) &exporter_##x,
#include "shell/exports.def"
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

const struct exporter *exporter_for_path(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; exporters[i]; i++) {
        size_t suffix = strlen(exporters[i]->suffix);
        if (len > suffix && strcmp(path + len - suffix, exporters[i]->suffix) == 0)
            return exporters[i];
    }
    return NULL;
}

void refuse(struct refusals *r, const char *fmt, ...)
{
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (r->count++ >= REFUSALS_SHOWN)
        return;
    text_escape(&r->lines, line, strlen(line));
    text_addc(&r->lines, '\n');
}

void refusals_release(struct refusals *r)
{
    text_release(&r->lines);
    r->count = 0;
}

static void refuse_error(struct refusals *r, const char *name, const struct error *err)
{
    char text[1100];
    refuse(r, "%.400s: %s", name, error_text(err, text, sizeof(text)));
}

static enum status no_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, NULL, NO_OFFSET,
                     "no memory for the plan of the export");
}

static const char *keep(struct export_plan *p, const char *text)
{
    return arena_copy(&p->arena, text, strlen(text));
}

/* A dtype whose name lives as long as the plan. */
static bool keep_dtype(struct export_plan *p, const char *name, struct dtype *out)
{
    dtype_find(name, out);
    if (out->name == name)
        out->name = keep(p, name);
    return out->name != NULL;
}

/* Rows come checkpoint by checkpoint, so its path is that of the row before. */
static const char *keep_checkpoint(struct export_plan *p, const char *path)
{
    if (p->count && strcmp(p->tensors[p->count - 1].checkpoint, path) == 0)
        return p->tensors[p->count - 1].checkpoint;
    return keep(p, path);
}

static bool plan_grow(struct export_plan *p)
{
    uint64_t space = p->space ? p->space + p->space / 2 : 64, size;
    void *grown = NULL;
    if (mul_u64(space, sizeof(*p->tensors), &size) && size <= SIZE_MAX)
        grown = realloc(p->tensors, (size_t)size);
    if (!grown)
        return false;
    p->tensors = grown;
    p->space = space;
    return true;
}

static enum status plan_append(struct export_plan *p, const struct stored_tensor *s,
                               const char *new_name, const char *dtype, struct error *err)
{
    if (p->count == p->space && !plan_grow(p))
        return no_memory(err);
    struct export_tensor t = {
        .id = s->id,
        .name = keep(p, new_name),
        .checkpoint = keep_checkpoint(p, s->checkpoint),
        .rank = s->rank,
        .elements = s->elements,
        .shape = arena_array(&p->arena, s->rank ? s->rank : 1, sizeof(*t.shape)),
    };
    t.old_name = strcmp(s->name, new_name) == 0 ? t.name : keep(p, s->name);
    if (!t.name || !t.old_name || !t.checkpoint || !t.shape ||
        !keep_dtype(p, s->dtype.name, &t.from) ||
        !keep_dtype(p, dtype ? dtype : s->dtype.name, &t.to))
        return no_memory(err);
    if (s->rank)
        memcpy(t.shape, s->shape, s->rank * sizeof(*t.shape));
    if (s->extent_count) {
        t.source_file = s->extents[0].file;
        t.source_offset = s->extents[0].offset;
    }
    p->tensors[p->count++] = t;
    return OK;
}

static bool can_be_read(struct export_plan *p, const struct stored_tensor *s)
{
    struct error err = {.offset = NO_OFFSET};
    struct reader *reader = NULL;
    if (s->dtype.kind == DTYPE_STRING)
        return true; /* the format says what to do about it */
    if (s->storage == STORAGE_NONE)
        refuse(&p->refusals,
               "%.400s: the catalog knows no bytes of it (its checkpoint names "
               "it, or its data is lost)",
               s->name);
    else if (!dtype_sized(&s->dtype))
        refuse(&p->refusals, "%.400s: dtype %.60s cannot be exported", s->name,
               s->dtype.name);
    else if (reader_open(s, &reader, &err) != OK)
        refuse_error(&p->refusals, s->name, &err);
    reader_close(reader);
    return reader != NULL;
}

enum status export_plan_add(struct export_plan *p, int64_t id, const char *new_name,
                            const char *dtype, struct error *err)
{
    struct arena arena = {0};
    struct stored_tensor stored;
    struct error why = {.offset = NO_OFFSET};
    enum status status = p->loader.load(p->loader.context, id, &arena, &stored, &why);
    if (status == ERR_MEMORY)
        *err = why;
    else if (status != OK)
        refuse_error(&p->refusals, new_name, &why);
    else if (!utf8_valid(new_name, strlen(new_name)))
        refuse(&p->refusals, "%.400s: its new name is not UTF-8", stored.name);
    else if (can_be_read(p, &stored))
        plan_append(p, &stored, new_name, dtype, err);
    arena_release(&arena);
    return err->status;
}

static bool is_inexact(const struct dtype *d)
{
    return d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX || d->kind == DTYPE_BLOCK;
}

enum status export_plan_cast(struct export_plan *p, const char *dtype, struct error *err)
{
    struct dtype to;
    if (!keep_dtype(p, dtype, &to))
        return no_memory(err);
    if (!dtype_sized(&to))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "--dtype %.60s: no dtype of this name", dtype);
    uint64_t inexact = 0;
    for (uint64_t i = 0; i < p->count; i++)
        inexact += is_inexact(&p->tensors[i].to);
    bool all = !is_inexact(&to) || !inexact;
    for (uint64_t i = 0; i < p->count; i++)
        if (all || is_inexact(&p->tensors[i].to))
            p->tensors[i].to = to;
    p->cast = to.name;
    p->uncast = all ? 0 : p->count - inexact;
    return OK;
}

static int compare_names(const void *a, const void *b)
{
    const struct export_tensor *x = *(struct export_tensor *const *)a;
    const struct export_tensor *y = *(struct export_tensor *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : x < y ? -1 : x > y;
}

static enum status check_collisions(struct export_plan *p, struct error *err)
{
    struct export_tensor **by_name =
        malloc((size_t)p->count * sizeof(struct export_tensor *));
    if (!by_name)
        return no_memory(err);
    for (uint64_t i = 0; i < p->count; i++)
        by_name[i] = &p->tensors[i];
    qsort(by_name, (size_t)p->count, sizeof(struct export_tensor *), compare_names);
    for (uint64_t i = 1; i < p->count; i++) {
        const struct export_tensor *a = by_name[i - 1], *b = by_name[i];
        if (strcmp(a->name, b->name) == 0)
            refuse(&p->refusals,
                   "%.400s is the new name of both %.400s of %.250s and %.400s "
                   "of %.250s",
                   a->name, a->old_name, a->checkpoint, b->old_name, b->checkpoint);
    }
    free(by_name);
    return OK;
}

const char *export_dtype_instead(const struct dtype *d)
{
    switch (d->kind) {
    case DTYPE_INT:
        return "int8";
    case DTYPE_UINT:
        return "uint8";
    case DTYPE_FLOAT:
    case DTYPE_BLOCK:
        return "float32";
    case DTYPE_COMPLEX:
        return "complex64";
    case DTYPE_TIME:
        return "int64";
    default:
        return NULL;
    }
}

/* With what the user can do about it: convert, where that is possible, else leave it out. */
static void refuse_format(struct export_plan *p, const struct export_tensor *t,
                          const char *why, const char *instead)
{
    struct error err = {.offset = NO_OFFSET};
    struct converter converter;
    struct dtype to;
    if (instead)
        dtype_find(instead, &to);
    if (instead && converter_find(&t->from, &to, &converter, &err) == OK)
        refuse(&p->refusals, "%.400s (%.60s): %s; --dtype %s converts", t->old_name,
               t->to.name, why, instead);
    else if (t->to.kind == DTYPE_STRING)
        refuse(&p->refusals,
               "%.400s (string): %s; --where \"dtype <> 'string'\" leaves "
               "strings out",
               t->old_name, why);
    else
        refuse(&p->refusals, "%.400s (%.60s): %s; --names or --where can leave it out",
               t->old_name, t->to.name, why);
}

/* The size as written, and whether there is a way to it. */
static void check_tensor(struct export_plan *p, struct export_tensor *t,
                         const struct exporter *exporter)
{
    struct error err = {.offset = NO_OFFSET};
    struct converter converter;
    struct text why = {.limit = 1000};
    const char *instead = NULL;
    if (!exporter->holds(t, &why, &instead))
        refuse_format(p, t, text_str(&why), instead);
    else if (strcmp(t->from.name, t->to.name) != 0 &&
             converter_find(&t->from, &t->to, &converter, &err) != OK)
        refuse_error(&p->refusals, t->old_name, &err);
    else if (!dtype_nbytes(&t->to, t->elements, &t->nbytes))
        refuse(&p->refusals, "%.400s: its elements cannot be stored as %.60s",
               t->old_name, t->to.name);
    text_release(&why);
}

enum status export_plan_check(struct export_plan *p, const struct exporter *exporter,
                              struct error *err)
{
    if (!p->count && !p->refusals.count)
        refuse(&p->refusals, "no tensor is selected");
    if (exporter->most && p->count > exporter->most)
        refuse(
            &p->refusals,
            "%llu tensors are selected; a file of format %s holds %llu: use --names, or "
            "another format",
            (unsigned long long)p->count, exporter->name,
            (unsigned long long)exporter->most);
    for (uint64_t i = 0; i < p->count; i++)
        check_tensor(p, &p->tensors[i], exporter);
    return p->count ? check_collisions(p, err) : OK;
}

void export_plan_release(struct export_plan *p)
{
    free(p->tensors);
    arena_release(&p->arena);
    refusals_release(&p->refusals);
    *p = (struct export_plan){.loader = p->loader};
}
