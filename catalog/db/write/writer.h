/*
 * writer.h - the one writer: batches in, rows out, whole checkpoints only.
 *
 * Batches come in the order of their numbers, so the catalog is the same with any number of
 * threads. A path that is already catalogued keeps its id. The writer commits now and
 * then, always between checkpoints, and runs in WAL mode, so that others can read, once there
 * is something to read.
 */
#pragma once

#include "catalog/data/model/batch.h"

struct sqlite3;

struct writer;

/* `looker` is this version of the program: files that another version passed over may be
 * checkpoints for this one, so they are forgotten; checkpoints that it indexed are outdated until
 * they are put again. `wait` is called, with `context`, while another program is writing: true
 * continues waiting, false is ERR_BUSY. NULL: wait ten seconds. Several writers take turns
 * between commits. */
enum status writer_open(struct sqlite3 *, const char *looker, int (*wait)(void *context, int times),
                        void *context, struct writer **out, struct error *err);
/* The batch stays the caller's. */
enum status writer_put(struct writer *, const struct batch *, struct error *err);
/* Whether another version had indexed the checkpoint that was put last, and found the same
 * tensors in the same files: then what is known of its contents stays. */
bool writer_kept(const struct writer *);
/* Drop a checkpoint, and what only it used. */
void writer_drop(struct writer *, int64_t checkpoint, struct error *err);
/* Forget which checkpoints below `root` were reported as gone, before they are reported anew. */
void writer_clear_walked(struct writer *, const char *root, struct error *err);
/* Drop the issues of dangling links where a checkpoint reports the missing file, and of files
 * that were passed over inside a checkpoint and are checkpoints themselves now. */
void writer_clear_settled(struct writer *, struct error *err);
void writer_vanished(struct writer *, int64_t checkpoint, const char *path, struct error *err);
/* Notes are issues of a checkpoint that come from its neighbours ('two-formats', 'shadowed'), and
 * are renewed without it. If the checkpoint is not catalogued, they are stored with the path
 * only. */
void writer_clear_notes(struct writer *, int64_t checkpoint, struct error *err);
void writer_note(struct writer *, const char *checkpoint, const struct batch_issue *,
                 struct error *err);
/* A file that was passed over is gone: forget it and its issues. */
void writer_forget_passed(struct writer *, const char *path, struct error *err);
/* Commit, build missing indexes, leave WAL mode if nobody reads, and free. */
enum status writer_close(struct writer *, struct error *err);
/* After an error or Ctrl-C: what was committed stays. */
void writer_abort(struct writer *);

/* Drop the layouts and facts that no checkpoint uses any longer, which writer_close() does by itself. */
void writer_drop_orphans(struct sqlite3 *, struct error *err);
