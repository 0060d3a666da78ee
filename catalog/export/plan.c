#include "catalog/export/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const struct exporter *exporter_for_path(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') /* a folder's path may end in it */
        len--;
    for (size_t i = 0; exporters[i]; i++) {
        size_t suffix = strlen(exporters[i]->suffix);
        if (len > suffix && memcmp(path + len - suffix, exporters[i]->suffix, suffix) == 0 &&
            (!path[len] || exporters[i]->folder_marks))
            return exporters[i];
    }
    return NULL;
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

static enum status plan_append(struct export_plan *p, const struct stored_tensor *s,
                               const char *recipe, const char *new_name, const char *dtype,
                               struct error *err)
{
    struct export_tensor t = {
        .id = s->id,
        .recipe = recipe,
        .name = new_name,
        .old_name = s->name,
        .checkpoint = s->checkpoint,
        .from = s->dtype,
        .to = s->dtype,
        .rank = s->rank,
        .elements = s->elements,
        .shape = s->shape,
    };
    if (dtype)
        dtype_called(dtype, &t.to);
    if (s->extent_count) {
        t.source_file = s->extents[0].file;
        t.source_offset = s->extents[0].offset;
    }
    text_reset(&p->last_name);
    text_reset(&p->last_shape);
    text_adds(&p->last_name, s->name);
    if (!shape_print(&p->last_shape, s->shape, s->rank) || !text_str(&p->last_name))
        return error_memory(err);
    if (!p->rows && export_rows_open(&p->rows, err) != OK)
        return err->status;
    if (export_rows_add(p->rows, &t, err) == OK) {
        p->count++;
        p->inexact += is_inexact(&t.to);
    }
    return err->status;
}

static bool can_be_read(struct export_plan *p, const struct stored_tensor *s)
{
    struct error err = {.offset = NO_OFFSET};
    struct reader *reader = NULL;
    if (s->dtype.kind == DTYPE_STRING)
        return true; /* the format's `holds` decides */
    if (s->storage == STORAGE_NONE && p->partial)
        p->left_out++;
    else if (s->storage == STORAGE_NONE)
        refuse_tensor(&p->refusals, s->name,
                      "the catalog knows no bytes of it (its checkpoint names "
                      "it, or its data is lost)");
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
    struct arena arena = {0};
    struct stored_tensor stored = {0};
    struct error why = {.offset = NO_OFFSET};
    if (!p->files && !(p->files = file_cache_new()))
        return error_memory(err);
    enum status status = p->loader.load(p->loader.context, id, recipe, &arena, &stored, &why);
    if (status == ERR_MEMORY)
        *err = why;
    else if (status != OK)
        refuse_error(&p->refusals, new_name, &why);
    else if (!utf8_valid(new_name, strlen(new_name)))
        refuse_tensor(&p->refusals, stored.name, "its new name is not UTF-8");
    else if (can_be_read(p, &stored))
        plan_append(p, &stored, recipe, new_name, dtype, err);
    arena_release(&arena);
    return err->status;
}

static bool any_dtype(const struct dtype *d)
{
    (void)d;
    return true;
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
    p->cast = arena_copy(&p->arena, to.name, strlen(to.name));
    p->uncast = all ? 0 : p->count - p->inexact;
    if (!p->cast)
        return error_memory(err);
    return p->rows ? export_rows_cast(p->rows, &to, all ? any_dtype : is_inexact, err) : OK;
}

/* The previous row. */
struct kept_row {
    struct text name, old_name;
    const char *checkpoint; /* NULL: there is none */
    bool refused;           /* it shares its name with the row before it, and was refused */
};

static bool keep_row(struct kept_row *k, const struct export_tensor *t, bool refused)
{
    text_reset(&k->name);
    text_reset(&k->old_name);
    k->checkpoint = t->checkpoint;
    k->refused = refused;
    return text_adds(&k->name, t->name) && text_adds(&k->old_name, t->old_name);
}

/* Refusals with one text are listed together, so each new name is one cause. */
static void refuse_collision(struct refusals *r, const char *name, const char *old_name,
                             const char *checkpoint)
{
    char which[700];
    snprintf(which, sizeof(which), "%.400s of %.250s", old_name, checkpoint);
    refuse_tensor(r, which, "the new name of all is %.400s", name);
}

static enum status check_collisions(struct export_plan *p, struct error *err)
{
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    struct kept_row before = {0};
    if (export_scan_open(p->rows, EXPORT_BY_NAME, EXPORT_ALL, &scan, err) != OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t) {
        bool same = before.checkpoint && strcmp(text_str(&before.name), t->name) == 0;
        if (same && !before.refused)
            refuse_collision(&p->refusals, t->name, text_str(&before.old_name), before.checkpoint);
        if (same)
            refuse_collision(&p->refusals, t->name, t->old_name, t->checkpoint);
        if (!keep_row(&before, t, same)) {
            error_memory(err);
            break;
        }
    }
    text_release(&before.name);
    text_release(&before.old_name);
    export_scan_close(scan);
    return err->status;
}

const char *export_dtype_instead(const struct dtype *d)
{
    switch (d->kind) {
    case DTYPE_INT:
        return d->bits > 8 ? "int64" : "int8";
    case DTYPE_UINT:
        return d->bits > 8 ? "uint64" : "uint8";
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
static void check_tensor(struct export_plan *p, const struct export_tensor *t,
                         const struct exporter *exporter)
{
    struct error err = {.offset = NO_OFFSET};
    struct converter converter;
    struct text why = {.limit = 1000};
    const char *instead = NULL;
    uint64_t nbytes;
    p->lossy += loss_possible(&t->from, &t->to);
    if (!exporter->holds(t, &why, &instead))
        refuse_format(p, t, exporter, text_str(&why), instead);
    else if (strcmp(t->from.name, t->to.name) != 0 &&
             converter_find(&t->from, &t->to, &converter, &err) != OK)
        refuse_error(&p->refusals, t->old_name, &err);
    else if (!dtype_nbytes(&t->to, t->elements, &nbytes))
        refuse_tensor(&p->refusals, t->old_name, "its elements cannot be stored as %.60s",
                      t->to.name);
    text_release(&why);
}

static enum status check_tensors(struct export_plan *p, const struct exporter *exporter,
                                 struct error *err)
{
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    if (export_scan_open(p->rows, EXPORT_BY_SELECTION, EXPORT_ALL, &scan, err) != OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t)
        check_tensor(p, t, exporter);
    export_scan_close(scan);
    return err->status;
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
    if (p->rows && check_tensors(p, exporter, err) == OK && check_collisions(p, err) == OK &&
        exporter->check)
        exporter->check(p, err);
    return err->status;
}

void export_plan_release(struct export_plan *p)
{
    export_rows_close(p->rows);
    file_cache_free(p->files);
    text_release(&p->last_name);
    text_release(&p->last_shape);
    arena_release(&p->arena);
    refusals_release(&p->refusals);
    *p = (struct export_plan){.loader = p->loader};
}
