/*
 * write_plan.c - writes a checked plan: layout, data, texts, and the names of files last.
 *
 * A single file is an output (output.h). Several files, and folders, are first written to a
 * staging folder (staging.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "catalog/data/store/staging.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/transfer.h"

struct writing {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path;
    struct export_layout layout;
    struct output *output;   /* one file; or */
    struct staging *staging; /* several files, or a folder */
    const char **names;      /* of several files, in the staging folder */
    uint32_t *crc32s;        /* indexed by export_tensor.number; NULL: not needed */
};

/* --- the layout ------------------------------------------------------------------------- */

static enum status export_write_lay_out(struct writing *w, struct error *err)
{
    struct export_layout *l = &w->layout;
    *l = (struct export_layout){
        .plan = w->plan,
        .rows = w->plan->rows,
        .exporter = w->exporter,
        .options = w->options,
        .path = w->path,
        .err = err,
    };
    if (export_rows_rank(w->plan->rows, w->exporter->rank, err) == OK)
        w->exporter->lay_out(l, err);
    lay_finish(l);
    if (l->sums && err->status == OK) {
        w->crc32s = arena_array(&w->plan->arena, (size_t)w->plan->count, sizeof(*w->crc32s));
        if (!w->crc32s)
            return error_memory_at(err, w->path);
    }
    return err->status;
}

static bool in_staging(const struct writing *w)
{
    return w->exporter->folder_marks || w->layout.files > 1;
}

/* --- what is there ---------------------------------------------------------------------- */

static enum status guard(const struct writing *w, const char *path, struct error *err)
{
    return w->options->guard ? w->options->guard(w->options->guard_context, path, err) : OK;
}

static enum status check_path(const struct writing *w, const char *path, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return OK; /* opening the file will report any other problem */
    if (guard(w, path, err) != OK)
        return err->status;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "is there, and not a file");
    if (!w->options->force)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "exists; --force writes over it");
    return OK;
}

static bool has_mark(const struct writing *w, const char *path)
{
    bool found = false;
    struct stat st;
    for (const char *const *mark = w->exporter->folder_marks; !found && *mark; mark++) {
        struct text file = {0};
        text_addf(&file, "%s/%s", path, *mark);
        found = text_str(&file) && lstat(text_str(&file), &st) == 0;
        text_release(&file);
    }
    return found;
}

/* Replacing a folder removes all that is in it, so it must look like one that this format
 * writes. */
static enum status check_folder(const struct writing *w, const char *path, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return OK;
    if (guard(w, path, err) != OK)
        return err->status;
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "is there, and not a folder");
    if (!w->options->force)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "exists; --force writes over it");
    if (!has_mark(w, path))
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "a folder that is not of format %s, which --force does not remove",
                         w->exporter->name);
    return OK;
}

static enum status check_paths(struct writing *w, struct error *err)
{
    struct export_items *items = NULL;
    struct export_item file;
    if (w->exporter->folder_marks)
        return check_folder(w, w->path, err);
    if (export_items_open(w->plan->rows, EXPORT_FILES, &items, err) != OK)
        return err->status;
    while (export_items_next(items, &file, err))
        check_path(w, file.path, err);
    export_items_close(items);
    return err->status;
}

/* --- opening ---------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Create the files of an export in parts, at their full sizes. */
static enum status create_files(struct writing *w, struct error *err)
{
    struct export_items *items = NULL;
    struct export_item file;
    w->names = arena_array(&w->plan->arena, w->layout.files, sizeof(*w->names));
    if (!w->names)
        return error_memory_at(err, w->path);
    if (export_items_open(w->plan->rows, EXPORT_FILES, &items, err) != OK)
        return err->status;
    while (export_items_next(items, &file, err)) {
        const char *name = base_name(file.path);
        w->names[file.file] = arena_copy(&w->plan->arena, name, strlen(name));
        if (!w->names[file.file])
            error_memory_at(err, w->path);
        else
            staging_create(w->staging, w->names[file.file], file.size, err);
    }
    export_items_close(items);
    return err->status;
}

static enum status open_outputs(struct writing *w, struct error *err)
{
    const struct output_io *io = w->options->io;
    if (!in_staging(w)) {
        if (output_open(w->path, io, &w->output, err) != OK)
            return err->status;
        return output_reserve(w->output, w->layout.at, err);
    }
    if (staging_open(w->path, io, &w->staging, err) != OK || w->exporter->folder_marks)
        return err->status;
    return create_files(w, err);
}

static enum status stream_data(struct writing *w, struct error *err)
{
    struct stream stream = {
        .plan = w->plan,
        .exporter = w->exporter,
        .options = w->options,
        .output = w->output,
        .staging = w->staging,
        .names = w->names,
        .nbytes = w->layout.nbytes,
        .piece_bytes = w->layout.piece_bytes,
        .crc32s = w->crc32s,
    };
    return stream_run(&stream, err);
}

/* --- texts ------------------------------------------------------------------------------ */

/* Texts, files and checksums of a layout, which are read side by side. */
struct texts {
    struct export_items *files, *texts, *sums;
    struct export_item file, sum;
    bool has_file, has_sum;
    struct text bytes; /* a text, with its checksums filled in */
};

static void put_sum(struct writing *w, struct texts *t, uint64_t text_at)
{
    const struct export_sum *sum = &t->sum.sum;
    uLong all = crc32_combine(sum->before, w->crc32s[sum->tensor], (z_off_t)sum->nbytes);
    store_u32le(t->bytes.at + (sum->at - text_at), (uint32_t)all);
}

/* In a folder, a file that is just one text is created and written in one step. */
static enum status put_text(struct writing *w, struct texts *t, const struct export_item *text,
                            struct error *err)
{
    bool early = w->options->sync, folder = w->exporter->folder_marks != NULL;
    struct bytes bytes = {(const uint8_t *)t->bytes.at, t->bytes.len};
    if (w->output)
        return output_write(w->output, text->at, bytes.at, bytes.len, early, err);
    if (!folder)
        return staging_write(w->staging, w->names[text->file], text->at, bytes, early, err);
    while (t->has_file && t->file.file < text->file)
        t->has_file = export_items_next(t->files, &t->file, err);
    if (err->status != OK || (text->at == 0 && bytes.len == t->file.size))
        return err->status == OK ? staging_put(w->staging, t->file.path, bytes, err) : err->status;
    if (text->at == 0 && staging_create(w->staging, t->file.path, t->file.size, err) != OK)
        return err->status;
    return staging_write(w->staging, t->file.path, text->at, bytes, early, err);
}

static enum status write_each(struct writing *w, struct texts *t, struct error *err)
{
    struct export_item text;
    t->has_file = export_items_next(t->files, &t->file, err);
    t->has_sum = export_items_next(t->sums, &t->sum, err);
    while (export_items_next(t->texts, &text, err)) {
        text_reset(&t->bytes);
        if (!text_add(&t->bytes, text.text.at, text.text.len))
            return error_memory_at(err, w->path);
        while (t->has_sum && t->sum.file == text.file && t->sum.sum.at >= text.at &&
               t->sum.sum.at < text.at + text.text.len) {
            put_sum(w, t, text.at);
            t->has_sum = export_items_next(t->sums, &t->sum, err);
        }
        put_text(w, t, &text, err);
    }
    return err->status;
}

static enum status write_texts(struct writing *w, struct error *err)
{
    struct texts t = {0};
    if (export_items_open(w->plan->rows, EXPORT_FILES, &t.files, err) == OK &&
        export_items_open(w->plan->rows, EXPORT_TEXTS, &t.texts, err) == OK &&
        export_items_open(w->plan->rows, EXPORT_SUMS, &t.sums, err) == OK)
        write_each(w, &t, err);
    export_items_close(t.files);
    export_items_close(t.texts);
    export_items_close(t.sums);
    text_release(&t.bytes);
    return err->status;
}

/* --- names ------------------------------------------------------------------------------ */

static enum status sync_all(struct writing *w, struct error *err)
{
    if (w->output)
        return output_sync(w->output, err);
    if (!w->names)
        return staging_sync(w->staging, err);
    for (uint32_t i = 0; i < w->layout.files && err->status == OK; i++)
        staging_sync_file(w->staging, w->names[i], err);
    return err->status;
}

/* The index gets its name last: a crash before that leaves complete parts without an index, which
 * nothing loads. An old index is removed first, so that it never describes a mixture. */
static enum status commit_parts(struct writing *w, struct error *err)
{
    uint32_t count = w->layout.files, done = 0;
    if (w->options->force)
        staging_clear(w->staging, w->names[count - 1]);
    while (done < count &&
           staging_commit_file(w->staging, w->names[done], w->options->force, err) == OK)
        done++;
    while (err->status != OK && done)
        staging_clear(w->staging, w->names[--done]);
    return err->status;
}

/* With `sync`, everything is on the disk before the first file gets its name. */
static enum status export_write_commit(struct writing *w, struct error *err)
{
    const struct export_options *options = w->options;
    if (options->sync && sync_all(w, err) != OK)
        return err->status;
    if (options->stop && options->stop(options->context))
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (w->output)
        output_commit(w->output, options->force, err);
    else if (w->names)
        commit_parts(w, err);
    else
        staging_commit_folder(w->staging, options->force, err);
    if (err->status != OK || !options->sync)
        return err->status;
    return w->output ? output_sync_name(w->output, err) : staging_sync_names(w->staging, err);
}

/* Check that the format has every setting. */
static enum status check_settings(const struct exporter *exporter,
                                  const struct export_options *options, struct error *err)
{
    const char *const *stated = options->settings;
    for (; stated && *stated && err->status == OK; stated += 2) {
        const struct export_setting *known = exporter->settings;
        while (known && known->key && strcmp(known->key, *stated) != 0)
            known++;
        if (!known || !known->key)
            error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                      "--option %.100s: format %s has no such option (`ckptdb formats` lists them)",
                      *stated, exporter->name);
    }
    return err->status;
}

enum status export_write(struct export_plan *plan, const struct exporter *exporter,
                         const char *path, const struct export_options *options, bool dry,
                         struct error *err)
{
    struct writing w = {.plan = plan, .exporter = exporter, .options = options, .path = path};
    if (!plan->count)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "no tensor is selected");
    if (check_settings(exporter, options, err) == OK && export_write_lay_out(&w, err) == OK &&
        check_paths(&w, err) == OK) {
        if (dry && plan->lossy && options->loss)
            stream_data(&w, err);
        else if (!dry && open_outputs(&w, err) == OK && stream_data(&w, err) == OK &&
                 write_texts(&w, err) == OK)
            export_write_commit(&w, err);
    }
    lay_release(&w.layout);
    output_close(w.output);
    staging_close(w.staging);
    return err->status;
}
