/*
 * write_plan.c - writes a checked plan: measures the files, then writes the data, the texts between
 * them, and the names of files last.
 *
 * A single file is an output (output.h). Several files, and folders, are first written to a
 * staging folder (staging.h).
 */
#include <stdio.h>
#include <sys/stat.h>

#include "catalog/data/store/staging.h"
#include "catalog/export/export_layout.h"
#include "catalog/export/transfer.h"

struct writing {
    struct export_plan *plan;
    const struct exporter *exporter;
    const struct export_options *options;
    const char *path;
    struct error *err;
    struct arena arena;
    struct export_layout layout; /* measured */
    struct output *output;       /* one file; or */
    struct staging *staging;     /* several files, or a folder */
    uint64_t end;                /* of the one file, with chunks behind what was measured */
    const char **names; /* there, by file; NULL in a folder: it is one text, or in pieces */
};

/* --- the layout ------------------------------------------------------------------------- */

static void lay_out(struct writing *w, struct export_layout *l)
{
    l->plan = w->plan;
    l->exporter = w->exporter;
    l->options = w->options;
    l->path = w->path;
    l->err = w->err;
    l->arena = &w->arena;
    w->exporter->lay_out(l);
    lay_finish(l);
    lay_release(l);
}

/* --- what is there ---------------------------------------------------------------------- */

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
static void check_path(const struct writing *w, const char *path)
{
    const struct export_options *o = w->options;
    const bool folder = w->exporter->folder_marks;
    struct stat st;
    if (lstat(path, &st) != 0) /* opening the file will report any other problem */
        return;
    if (o->guard && o->guard(o->guard_context, path, w->err) != OK)
        return;
    if (folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        error_set(w->err, ERR_ARGUMENT, path, NO_OFFSET, "is there, and not a %s",
                  folder ? "folder" : "file");
    else if (!o->force)
        error_set(w->err, ERR_ARGUMENT, path, NO_OFFSET, "exists; --force writes over it");
    else if (folder && !has_mark(w, path))
        error_set(w->err, ERR_ARGUMENT, path, NO_OFFSET,
                  "a folder that is not of format %s, which --force does not remove",
                  w->exporter->name);
}

static void check_paths(const struct writing *w)
{
    if (w->exporter->folder_marks)
        check_path(w, w->path);
    else
        for (size_t i = 0; i < w->layout.files && w->err->status == OK; i++)
            check_path(w, w->layout.file[i].path);
}

/* --- opening ---------------------------------------------------------------------------- */

/* Open the output or the staging folder; in that the files that have tensors, and an export's in
 * parts, are created at their full sizes. */
static void open_outputs(struct writing *w)
{
    const struct output_io *io = w->options->io;
    const bool folder = w->exporter->folder_marks;
    if (!folder && w->layout.files == 1) {
        if (output_open(w->path, io, &w->output, w->err) == OK)
            output_reserve(w->output, w->layout.at, w->err);
        return;
    }
    w->names = arena_array(&w->arena, w->layout.files, sizeof(*w->names));
    if (w->err->status == OK)
        staging_open(w->path, io, &w->staging, w->err);
    for (size_t i = 0; i < w->layout.files && w->err->status == OK; i++) {
        const struct export_file *file = &w->layout.file[i];
        w->names[i] = folder || !file->path ? file->path : lay_file_name(file->path);
        if (w->names[i])
            staging_create(w->staging, w->names[i], file->size, w->err);
    }
}

static void stream_data(struct writing *w)
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
        .end = &w->end,
    };
    stream_run(&stream, w->err);
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
    else if (w->names[l->files - 1])
        staging_write(w->staging, w->names[l->files - 1], at, text, early, l->err);
    else if (text.len == size)
        staging_put(w->staging, path, text, l->err);
    else if (at || staging_create(w->staging, path, size, l->err) == OK)
        staging_write(w->staging, path, at, text, early, l->err);
}

/* --- names ------------------------------------------------------------------------------ */

static void sync_all(struct writing *w)
{
    const bool folder = w->exporter->folder_marks;
    if (w->output)
        output_sync(w->output, w->err);
    else if (folder)
        staging_sync(w->staging, w->err);
    for (size_t i = 0; !w->output && !folder && i < w->layout.files && w->err->status == OK; i++)
        staging_sync_file(w->staging, w->names[i], w->err);
}

/* The index gets its name last: a crash before that leaves complete parts without an index, which
 * nothing loads. An old index is removed first, so that it never describes a mixture. */
static void commit_parts(struct writing *w)
{
    const bool force = w->options->force;
    size_t count = w->layout.files, done = 0;
    if (force)
        staging_clear(w->staging, w->names[count - 1]);
    while (done < count && staging_commit_file(w->staging, w->names[done], force, w->err) == OK)
        done++;
    while (w->err->status != OK && done)
        staging_clear(w->staging, w->names[--done]);
}

/* With `sync`, everything is on the disk before the first file gets its name. */
static void export_write_commit(struct writing *w)
{
    const struct export_options *options = w->options;
    if (options->sync)
        sync_all(w);
    if (options->stop && options->stop(options->context))
        error_set(w->err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (w->err->status != OK)
        return;
    if (w->output)
        output_commit(w->output, options->force, w->err);
    else if (!w->exporter->folder_marks)
        commit_parts(w);
    else
        staging_commit_folder(w->staging, options->force, w->err);
    if (w->err->status != OK || !options->sync)
        return;
    if (w->output)
        output_sync_name(w->output, w->err);
    else
        staging_sync_names(w->staging, w->err);
}

static void write_files(struct writing *w)
{
    struct export_layout texts = {.put = put_text, .context = w};
    w->end = w->layout.at;
    open_outputs(w);
    if (w->err->status == OK)
        stream_data(w);
    texts.end = w->end;
    if (w->err->status == OK)
        lay_out(w, &texts);
    if (w->err->status == OK)
        export_write_commit(w);
}

enum status export_write(struct export_plan *plan, const struct exporter *exporter,
                         const char *path, const struct export_options *options, bool dry,
                         struct error *err)
{
    struct writing w = {.plan = plan,
                        .exporter = exporter,
                        .options = options,
                        .path = path,
                        .err = err,
                        .arena = {.err = err}};
    if (!plan->count)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "no tensor is selected");
    lay_out(&w, &w.layout);
    if (err->status == OK)
        check_paths(&w);
    if (err->status == OK && !dry)
        write_files(&w);
    else if (err->status == OK && plan->lossy && options->loss)
        stream_data(&w);
    if (options->sum)
        *options->sum = (struct export_sum){w.layout.nbytes, w.layout.files + w.layout.pieces};
    arena_release(&w.arena);
    output_close(w.output);
    staging_close(w.staging);
    return err->status;
}
