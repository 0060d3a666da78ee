/*
 * write_plan.c - writes a checked plan: measures the files, then writes the data, the texts between
 * them, and the names of files last.
 *
 * A single file is an output (output.h). Several files, and folders, are first written to a
 * staging folder (staging.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/data/store/staging.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/transfer.h"

struct writing {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path;
    struct arena arena;
    struct export_layout layout; /* measured */
    struct output *output;       /* one file; or */
    struct staging *staging;     /* several files, or a folder */
    const char **names;          /* of several files, in the staging folder */
};

/* --- the layout ------------------------------------------------------------------------- */

static enum status lay_out(const struct writing *w, struct export_layout *l)
{
    w->exporter->lay_out(l, l->err);
    lay_finish(l);
    lay_release(l);
    return l->err->status;
}

static enum status measure(struct writing *w, struct error *err)
{
    w->arena.err = err;
    w->layout = (struct export_layout){
        .plan = w->plan,
        .exporter = w->exporter,
        .options = w->options,
        .path = w->path,
        .err = err,
        .arena = &w->arena,
    };
    return lay_out(w, &w->layout);
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
    if (w->exporter->folder_marks)
        return check_folder(w, w->path, err);
    for (size_t i = 0; i < w->layout.files && err->status == OK; i++)
        check_path(w, w->layout.file[i].path, err);
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
    w->names = arena_array(&w->arena, w->layout.files, sizeof(*w->names));
    for (size_t i = 0; w->names && i < w->layout.files && err->status == OK; i++) {
        w->names[i] = base_name(w->layout.file[i].path);
        staging_create(w->staging, w->names[i], w->layout.file[i].size, err);
    }
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
        .sums = w->layout.sums,
    };
    return stream_run(&stream, err);
}

/* --- texts ------------------------------------------------------------------------------ */

/* In a folder, a file that is just one text is created and written in one step. */
static void put_text(struct export_layout *l, uint64_t at, struct bytes text)
{
    const struct writing *w = l->context;
    const bool early = w->options->sync;
    const char *path = text_str(&l->file_path);
    const uint64_t size = w->layout.file[l->files - 1].size;
    if (w->output)
        output_write(w->output, at, text.at, text.len, early, l->err);
    else if (w->names)
        staging_write(w->staging, w->names[l->files - 1], at, text, early, l->err);
    else if (text.len == size)
        staging_put(w->staging, path, text, l->err);
    else if (at || staging_create(w->staging, path, size, l->err) == OK)
        staging_write(w->staging, path, at, text, early, l->err);
}

static enum status write_texts(struct writing *w, struct error *err)
{
    struct export_layout l = {
        .plan = w->plan,
        .exporter = w->exporter,
        .options = w->options,
        .path = w->path,
        .err = err,
        .arena = &w->arena,
        .put = put_text,
        .context = w,
    };
    return lay_out(w, &l);
}

/* --- names ------------------------------------------------------------------------------ */

static enum status sync_all(struct writing *w, struct error *err)
{
    if (w->output)
        return output_sync(w->output, err);
    if (!w->names)
        return staging_sync(w->staging, err);
    for (size_t i = 0; i < w->layout.files && err->status == OK; i++)
        staging_sync_file(w->staging, w->names[i], err);
    return err->status;
}

/* The index gets its name last: a crash before that leaves complete parts without an index, which
 * nothing loads. An old index is removed first, so that it never describes a mixture. */
static enum status commit_parts(struct writing *w, struct error *err)
{
    size_t count = w->layout.files, done = 0;
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
    if (check_settings(exporter, options, err) == OK && measure(&w, err) == OK &&
        check_paths(&w, err) == OK) {
        if (dry && plan->lossy && options->loss)
            stream_data(&w, err);
        else if (!dry && open_outputs(&w, err) == OK && stream_data(&w, err) == OK &&
                 write_texts(&w, err) == OK)
            export_write_commit(&w, err);
    }
    arena_release(&w.arena);
    output_close(w.output);
    staging_close(w.staging);
    return err->status;
}
