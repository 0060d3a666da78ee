/*
 * write.c - a checked plan to files: parts, layouts, streaming, and names last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/export/export.h"
#include "catalog/export/stream.h"

#define INDEX_SUFFIX ".index.json"

/* The files of one export. Where there are parts, an index stands behind the last. */
struct writing {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path;
    struct export_span *chosen; /* of the selection, file by file */
    struct export_file *files;
    struct output **outputs; /* of the files, then of the index */
    uint32_t count;          /* files */
    uint32_t output_count;
    uint64_t nbytes;  /* of all tensors */
    uint32_t *crc32s; /* by place; NULL: not wanted */
};

#define SPOOL_BYTES ((size_t)64 << 10)

static enum status no_memory(const struct writing *w, struct error *err)
{
    error_set(err, ERR_MEMORY, w->path, NO_OFFSET, "no memory");
    return ERR_MEMORY;
}

static enum status add_part(struct writing *w, size_t *space, uint64_t first,
                            uint64_t last, struct error *err)
{
    void *list =
        arena_grow(&w->plan->arena, w->chosen, w->count, space, sizeof(*w->chosen));
    if (!list)
        return no_memory(w, err);
    w->chosen = list;
    w->chosen[w->count++] = (struct export_span){first, last};
    return OK;
}

/* Parts are filled in the order of the selection; a tensor larger than one has its own. */
static enum status assign_parts(struct writing *w, struct error *err)
{
    uint64_t most = w->options->shard_size, filled = 0, first = 0;
    size_t space = 0;
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    if (!most)
        return add_part(w, &space, 0, w->plan->count - 1, err);
    if (export_scan_open(w->plan->rows, EXPORT_BY_SELECTION, EXPORT_ALL, &scan, err) !=
        OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t) {
        if (filled && (filled > most || t->nbytes > most - filled)) {
            if (add_part(w, &space, first, t->number - 1, err) != OK)
                break;
            first = t->number;
            filled = 0;
        }
        filled += t->nbytes;
    }
    export_scan_close(scan);
    return err->status == OK ? add_part(w, &space, first, w->plan->count - 1, err)
                             : err->status;
}

/* "DIR/model.safetensors": "DIR/model-00001-of-00002.safetensors". */
static const char *part_path(struct writing *w, uint32_t part)
{
    const char *suffix = w->exporter->suffix;
    size_t len = strlen(w->path), cut = strlen(suffix);
    struct text path = {0};
    if (w->count == 1)
        return w->path;
    if (len > cut && strcmp(w->path + len - cut, suffix) == 0)
        len -= cut;
    text_add(&path, w->path, len);
    text_addf(&path, "-%05" PRIu32 "-of-%05" PRIu32 "%s", part + 1, w->count, suffix);
    const char *kept =
        path.failed ? NULL : arena_copy(&w->plan->arena, path.at, path.len);
    text_release(&path);
    return kept;
}

/* Give the tensors of a file their places, `first` and those behind it. */
static enum status lay_out(struct writing *w, uint32_t part, uint64_t first,
                           struct error *err)
{
    struct export_file *f = &w->files[part];
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    if (export_scan_open(w->plan->rows, EXPORT_BY_DTYPE, w->chosen[part], &scan, err) !=
        OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t) {
        t->part = part;
        w->nbytes += t->nbytes;
        if (w->exporter->place(f, t, err) != OK ||
            export_rows_place(w->plan->rows, t, err) != OK)
            break;
        f->count++;
    }
    export_scan_close(scan);
    f->span = (struct export_span){first, first + f->count - 1};
    if (err->status == OK && w->exporter->finish(f, err) == OK && f->warning[0] &&
        w->options->warning)
        memcpy(w->options->warning, f->warning, sizeof(f->warning));
    return err->status;
}

static enum status check_keys(struct writing *w, struct error *err)
{
    const char *name, *longer, *suffix = w->exporter->same_key;
    if (!suffix ||
        export_rows_find_pair(w->plan->rows, suffix, &w->plan->arena, &name, &longer,
                              err) != OK ||
        !name)
        return err->status;
    return error_set(err, ERR_UNSUPPORTED, w->path, NO_OFFSET,
                     "%.200s and %.200s are the same key to programs that read %s files; "
                     "rename one",
                     name, longer, w->exporter->name);
}

static enum status make_files(struct writing *w, struct error *err)
{
    struct arena *arena = &w->plan->arena;
    uint64_t placed = 0;
    enum status status = check_keys(w, err);
    if (status == OK)
        status = assign_parts(w, err);
    if (status == OK)
        status = export_rows_rank(w->plan->rows, w->exporter->rank, err);
    if (status != OK)
        return status;
    w->output_count = w->count + (w->count > 1);
    w->files = arena_array(arena, w->count, sizeof(*w->files));
    w->outputs = arena_array(arena, w->output_count, sizeof(struct output *));
    if (w->exporter->wants_crc32)
        w->crc32s = arena_array(arena, (size_t)w->plan->count, sizeof(*w->crc32s));
    if (!w->files || !w->outputs || (w->exporter->wants_crc32 && !w->crc32s))
        return no_memory(w, err);
    for (uint32_t part = 0; part < w->count; part++) {
        struct export_file *f = &w->files[part];
        f->path = part_path(w, part);
        f->metadata = w->options->metadata;
        if (!f->path)
            return no_memory(w, err);
        if (lay_out(w, part, placed, err) != OK)
            return err->status;
        placed += f->count;
    }
    return OK;
}

static const char *index_path(struct writing *w)
{
    struct text path = {0};
    text_addf(&path, "%s" INDEX_SUFFIX, w->path);
    const char *kept =
        path.failed ? NULL : arena_copy(&w->plan->arena, path.at, path.len);
    text_release(&path);
    return kept;
}

static enum status check_path(const struct writing *w, const char *path,
                              struct error *err)
{
    struct stat st;
    if (!path)
        return no_memory(w, err);
    if (lstat(path, &st) != 0)
        return OK; /* what else is wrong with it, opening it will say */
    if (w->options->guard &&
        w->options->guard(w->options->guard_context, path, err) != OK)
        return err->status;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "is there, and not a file");
    if (!w->options->force)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "exists; --force writes over it");
    return OK;
}

static enum status check_paths(struct writing *w, struct error *err)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (check_path(w, w->files[i].path, err) != OK)
            return err->status;
    return w->count > 1 ? check_path(w, index_path(w), err) : OK;
}

static enum status open_outputs(struct writing *w, struct error *err)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (output_open(w->files[i].path, w->options->io, &w->outputs[i], err) != OK ||
            output_reserve(w->outputs[i], w->files[i].size, err) != OK)
            return err->status;
    }
    if (w->count == 1)
        return OK;
    return output_open(index_path(w), w->options->io, &w->outputs[w->count], err);
}

static enum status stream_data(struct writing *w, struct error *err)
{
    struct stream stream = {
        .plan = w->plan,
        .files = w->files,
        .outputs = w->outputs,
        .nbytes = w->nbytes,
        .crc32s = w->crc32s,
        .options = w->options,
    };
    return stream_run(&stream, err);
}

/* Text on its way to a file. */
struct spool {
    struct output *output;
    uint64_t at;
    struct text text;
    bool early;
};

static enum status spool_flush(struct spool *s, size_t more_than, struct error *err)
{
    if (s->text.failed)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    if (err->status != OK || s->text.len <= more_than)
        return err->status;
    if (output_write(s->output, s->at, s->text.at, s->text.len, s->early, err) != OK)
        return err->status;
    s->at += s->text.len;
    text_reset(&s->text);
    return OK;
}

/* The table of a file's tensors. */
static enum status write_table(struct writing *w, uint32_t part, struct error *err)
{
    const struct exporter *exporter = w->exporter;
    struct export_file *f = &w->files[part];
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    struct spool spool = {.output = w->outputs[part], .early = w->options->sync};
    spool.at = exporter->table_last ? f->data_end : 0;
    if (export_scan_open(w->plan->rows, EXPORT_BY_PLACE, f->span, &scan, err) != OK)
        return err->status;
    if (exporter->begin)
        exporter->begin(f, &spool.text);
    while (spool_flush(&spool, SPOOL_BYTES, err) == OK &&
           export_scan_next(scan, &t, err) == OK && t) {
        t->crc32 = w->crc32s ? w->crc32s[t->number] : 0;
        exporter->entry(f, t, &spool.text);
    }
    if (exporter->end)
        exporter->end(f, &spool.text);
    spool_flush(&spool, 0, err);
    text_release(&spool.text);
    export_scan_close(scan);
    return err->status;
}

/* What stands right before the data of each tensor. */
static enum status write_leads(struct writing *w, uint32_t part, struct error *err)
{
    struct export_file *f = &w->files[part];
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    struct spool spool = {.output = w->outputs[part], .early = w->options->sync};
    if (!w->exporter->lead)
        return OK;
    if (export_scan_open(w->plan->rows, EXPORT_BY_PLACE, f->span, &scan, err) != OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t) {
        t->crc32 = w->crc32s ? w->crc32s[t->number] : 0;
        spool.at = f->base + t->offset - t->lead_len;
        w->exporter->lead(t, &spool.text);
        if (spool_flush(&spool, 0, err) != OK)
            break;
    }
    text_release(&spool.text);
    export_scan_close(scan);
    return err->status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Which file holds which tensor, as transformers reads it. */
static enum status write_index(struct writing *w, struct error *err)
{
    struct spool spool = {.output = w->outputs[w->count]};
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    const char *comma = "";
    if (export_scan_open(w->plan->rows, EXPORT_PLACED_BY_NAME, EXPORT_ALL, &scan, err) !=
        OK)
        return err->status;
    text_addf(&spool.text,
              "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n", w->nbytes);
    text_adds(&spool.text, "  \"weight_map\": {");
    while (spool_flush(&spool, SPOOL_BYTES, err) == OK &&
           export_scan_next(scan, &t, err) == OK && t) {
        const char *file = base_name(w->files[t->part].path);
        text_addf(&spool.text, "%s\n    ", comma);
        text_json(&spool.text, t->name, strlen(t->name));
        text_adds(&spool.text, ": ");
        text_json(&spool.text, file, strlen(file));
        comma = ",";
    }
    text_adds(&spool.text, "\n  }\n}\n");
    spool_flush(&spool, 0, err);
    text_release(&spool.text);
    export_scan_close(scan);
    return err->status;
}

/* Every file is on the disk before the first gets its name. The index comes last: a crash
 * between two names leaves whole parts without an index, which nothing loads; an old index
 * goes first, so that it never names a mixture. */
static enum status commit(struct writing *w, struct error *err)
{
    const struct export_options *options = w->options;
    for (uint32_t i = 0; options->sync && i < w->output_count; i++)
        if (output_sync(w->outputs[i], err) != OK)
            return err->status;
    if (options->interrupted && *options->interrupted)
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (options->force && w->count > 1)
        output_clear(w->outputs[w->count]);
    for (uint32_t i = 0; i < w->output_count; i++)
        if (output_commit(w->outputs[i], options->force, err) != OK)
            goto undo;
    return options->sync ? output_sync_name(w->outputs[0], err) : OK;

undo:
    for (uint32_t i = 0; i < w->output_count; i++)
        output_undo(w->outputs[i]);
    return err->status;
}

enum status export_write(struct export_plan *plan, const struct exporter *exporter,
                         const char *path, const struct export_options *options, bool dry,
                         struct error *err)
{
    struct writing w = {
        .plan = plan, .exporter = exporter, .options = options, .path = path};
    if (!plan->count)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "no tensor is selected");
    if (make_files(&w, err) != OK || check_paths(&w, err) != OK || dry)
        goto done;
    if (open_outputs(&w, err) != OK || stream_data(&w, err) != OK)
        goto done;
    for (uint32_t i = 0; i < w.count; i++)
        if (write_table(&w, i, err) != OK || write_leads(&w, i, err) != OK)
            goto done;
    if (w.count > 1 && write_index(&w, err) != OK)
        goto done;
    commit(&w, err);

done:
    for (uint32_t i = 0; w.outputs && i < w.output_count; i++)
        output_close(w.outputs[i]);
    return err->status;
}
