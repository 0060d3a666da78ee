/*
 * sink.h - where `get` writes: a file that appears complete or not at all, or the session's output.
 */
#ifndef CKPTDB_SINK_H
#define CKPTDB_SINK_H

#include "catalog/base/text.h"
#include "shell/session/session.h"

struct sink {
    struct session *session;
    ckptdb_file *file;   /* NULL: session->out */
    struct text pending; /* text that is not written yet */
};

/* `path` NULL: the session's output. ERR_ARGUMENT where something is at `path`. */
enum status sink_open(struct sink *, struct session *, const char *path, struct error *err);
enum status sink_write(struct sink *, const void *bytes, size_t len, struct error *err);

/* Text gathers in `pending`; call this now and then. ERR_INTERRUPTED after Ctrl-C. */
enum status sink_flush(struct sink *, struct error *err);

/* Everything is written: give the file its name. */
enum status sink_finish(struct sink *, struct error *err);
/* Frees; a file that was not finished is gone. */
void sink_close(struct sink *);

#endif
