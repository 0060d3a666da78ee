/*
 * export_write.c - a checked plan to files: parts, layouts, streaming, and names last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shell/export.h"
#include "shell/export_stream.h"

#define INDEX_SUFFIX ".index.json"

/* The files of one export. Where there are parts, an index stands behind the last. */
struct writing {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path;
    struct export_tensor **tensors; /* of all files, file after file */
    struct export_file *files;
    struct output **outputs; /* of the files, then of the index */
    uint32_t count;          /* files */
    uint32_t output_count;
};

static enum status no_memory(const struct writing *w, struct error *err)
{
    error_set(err, ERR_MEMORY, w->path, NO_OFFSET, "no memory");
    return ERR_MEMORY;
}

/* Parts are filled in the order of the selection; a tensor larger than one has its own. */
static void assign_parts(struct writing *w)
{
    uint64_t most = w->options->shard_size ? w->options->shard_size : UINT64_MAX;
    uint64_t filled = 0;
    uint32_t part = 0;
    for (uint64_t i = 0; i < w->plan->count; i++) {
        struct export_tensor *t = &w->plan->tensors[i];
        if (filled && (filled > most || t->nbytes > most - filled)) {
            part++;
            filled = 0;
        }
        filled += t->nbytes;
        t->part = part;
        w->tensors[i] = t;
    }
    w->count = part + 1;
    w->output_count = w->count + (w->count > 1);
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

static enum status make_files(struct writing *w, struct error *err)
{
    struct arena *arena = &w->plan->arena;
    w->tensors =
        arena_array(arena, (size_t)w->plan->count, sizeof(struct export_tensor *));
    if (!w->tensors)
        return no_memory(w, err);
    assign_parts(w);
    w->files = arena_array(arena, w->count, sizeof(*w->files));
    w->outputs = arena_array(arena, w->output_count, sizeof(struct output *));
    if (!w->files || !w->outputs)
        return no_memory(w, err);
    uint64_t at = 0;
    for (uint32_t part = 0; part < w->count; part++) {
        struct export_file *f = &w->files[part];
        *f = (struct export_file){.path = part_path(w, part),
                                  .tensors = w->tensors + at,
                                  .metadata = w->options->metadata};
        if (!f->path)
            return no_memory(w, err);
        while (at + f->count < w->plan->count && f->tensors[f->count]->part == part)
            f->count++;
        at += f->count;
        if (w->exporter->layout(f, err) != OK)
            return err->status;
        if (f->warning[0] && w->options->warning)
            memcpy(w->options->warning, f->warning, sizeof(f->warning));
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

static int compare_sources(const void *a, const void *b)
{
    const struct export_tensor *x = *(struct export_tensor *const *)a;
    const struct export_tensor *y = *(struct export_tensor *const *)b;
    int64_t left = x->id >> TENSOR_ORD_BITS, right = y->id >> TENSOR_ORD_BITS;
    if (left != right)
        return left < right ? -1 : 1;
    if (x->source_file != y->source_file)
        return x->source_file < y->source_file ? -1 : 1;
    if (x->source_offset != y->source_offset)
        return x->source_offset < y->source_offset ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static enum status stream_data(struct writing *w, struct error *err)
{
    struct stream stream = {
        .loader = &w->plan->loader,
        .count = w->plan->count,
        .outputs = w->outputs,
        .crc32 = w->files[0].wants_crc32,
        .options = w->options,
    };
    size_t count = (size_t)w->plan->count;
    stream.tensors = arena_array(&w->plan->arena, count, sizeof(struct export_tensor *));
    if (!stream.tensors)
        return no_memory(w, err);
    memcpy(stream.tensors, w->tensors, count * sizeof(struct export_tensor *));
    qsort(stream.tensors, (size_t)stream.count, sizeof(struct export_tensor *),
          compare_sources);
    for (uint64_t i = 0; i < stream.count; i++)
        stream.nbytes += stream.tensors[i]->nbytes;
    return stream_run(&stream, err);
}

/* What stands around the data. */
static enum status write_frame(struct writing *w, uint32_t part, struct error *err)
{
    struct export_file *f = &w->files[part];
    struct output *o = w->outputs[part];
    struct text bytes = {0};
    bool early = w->options->sync;
    output_write(o, 0, f->head.at, f->head.len, early, err);
    for (uint64_t i = 0; err->status == OK && w->exporter->lead && i < f->count; i++) {
        const struct export_tensor *t = f->tensors[i];
        text_reset(&bytes);
        if (w->exporter->lead(t, &bytes))
            output_write(o, t->offset - bytes.len, bytes.at, bytes.len, early, err);
        else
            no_memory(w, err);
    }
    text_reset(&bytes);
    if (err->status == OK && w->exporter->tail && !w->exporter->tail(f, &bytes))
        no_memory(w, err);
    if (err->status == OK)
        output_write(o, f->size - bytes.len, bytes.at, bytes.len, early, err);
    text_release(&bytes);
    return err->status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(struct export_tensor *const *)a)->name,
                  (*(struct export_tensor *const *)b)->name);
}

/* Which file holds which tensor, as transformers reads it. */
static enum status write_index(struct writing *w, struct error *err)
{
    struct text json = {0};
    uint64_t total = 0, count = w->plan->count;
    for (uint64_t i = 0; i < count; i++)
        total += w->tensors[i]->nbytes;
    qsort(w->tensors, (size_t)count, sizeof(struct export_tensor *), compare_names);
    text_addf(&json, "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n",
              total);
    text_adds(&json, "  \"weight_map\": {");
    for (uint64_t i = 0; i < count; i++) {
        const struct export_tensor *t = w->tensors[i];
        const char *file = base_name(w->files[t->part].path);
        text_adds(&json, i ? ",\n    " : "\n    ");
        text_json(&json, t->name, strlen(t->name));
        text_adds(&json, ": ");
        text_json(&json, file, strlen(file));
    }
    text_adds(&json, "\n  }\n}\n");
    if (json.failed)
        no_memory(w, err);
    else
        output_write(w->outputs[w->count], 0, json.at, json.len, false, err);
    text_release(&json);
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
        if (write_frame(&w, i, err) != OK)
            goto done;
    if (w.count > 1 && write_index(&w, err) != OK)
        goto done;
    commit(&w, err);

done:
    for (uint32_t i = 0; w.outputs && i < w.output_count; i++)
        output_close(w.outputs[i]);
    for (uint32_t i = 0; w.files && i < w.count; i++)
        text_release(&w.files[i].head);
    return err->status;
}
