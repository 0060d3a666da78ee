#include "shell/session/sink.h"

#include <errno.h>
#include <unistd.h>

#define PENDING_BYTES ((size_t)64 << 10)

bool sink_fail(struct sink *k, enum ckptdb_status status, const char *fmt, ...)
{
    va_list args;
    if (k->err.status != CKPTDB_OK)
        return false;
    k->err = (struct ckptdb_error){.status = status, .offset = CKPTDB_NO_OFFSET};
    va_start(args, fmt);
    vsnprintf(k->err.message, sizeof(k->err.message), fmt, args);
    va_end(args);
    return false;
}

void sink_open(struct sink *k, const char *path)
{
    if (!path || k->err.status != CKPTDB_OK)
        return;
    if (access(path, F_OK) == 0)
        sink_fail(k, CKPTDB_ARGUMENT, "%s: exists already, and is not overwritten", path);
    else
        ckptdb_file_create(path, &k->file, &k->err);
}

bool sink_write(struct sink *k, const void *bytes, size_t len)
{
    char why[ERRNO_TEXT];
    if (k->err.status != CKPTDB_OK)
        return false;
    if (session_interrupted)
        return sink_fail(k, CKPTDB_INTERRUPTED, "interrupted");
    if (k->file)
        return ckptdb_file_write(k->file, bytes, len, &k->err) == CKPTDB_OK;
    return fwrite(bytes, 1, len, k->session->out) == len ||
           sink_fail(k, CKPTDB_IO, "cannot write the output: %s", errno_text(errno, why));
}

/* Write what is pending, if it is at least this much. */
static bool write_pending(struct sink *k, size_t least)
{
    if (k->pending.failed)
        return sink_fail(k, CKPTDB_MEMORY, "no memory");
    if (k->pending.len >= least && sink_write(k, k->pending.at, k->pending.len))
        text_reset(&k->pending);
    return k->err.status == CKPTDB_OK;
}

bool sink_flush(struct sink *k)
{
    return write_pending(k, PENDING_BYTES);
}

void sink_finish(struct sink *k)
{
    if (write_pending(k, 1) && k->file)
        ckptdb_file_finish(k->file, &k->err);
}

void sink_close(struct sink *k)
{
    ckptdb_file_close(k->file);
    text_release(&k->pending);
}
