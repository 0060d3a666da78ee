/*
 * sink.h - where `get` writes: a file that appears complete or not at all, or the session's output.
 *
 * The first failure stays in `err`, and nothing is written from then on: ask once, at the end.
 */
#pragma once

#include "catalog/base/text.h"
#include "shell/session/session.h"

struct sink {
    struct session *session;
    ckptdb_file *file;   /* NULL: session->out */
    struct text pending; /* text that is not written yet */
    struct ckptdb_error err;
};

/* `path` NULL: the session's output. CKPTDB_ARGUMENT where something is at `path`. */
void sink_open(struct sink *, const char *path);
/* Whether there was no failure so far; CKPTDB_INTERRUPTED after Ctrl-C. */
bool sink_write(struct sink *, const void *bytes, size_t len);
/* Text gathers in `pending`; call this now and then. */
bool sink_flush(struct sink *);
/* Everything is written: give the file its name. */
void sink_finish(struct sink *);
/* Frees; a file that was not finished is gone. */
void sink_close(struct sink *);

/* Note a failure, unless there was one. Returns false. */
bool sink_fail(struct sink *, enum ckptdb_status, const char *fmt, ...) PRINTF_LIKE(3, 4);
