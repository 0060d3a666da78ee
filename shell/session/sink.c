#include "shell/session/sink.h"

#include <errno.h>
#include <unistd.h>

#define PENDING_BYTES ((size_t)64 << 10)

enum status sink_open(struct sink *k, struct session *s, const char *path,
                      struct error *err)
{
    *k = (struct sink){.session = s};
    if (!path)
        return OK;
    if (access(path, F_OK) == 0)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "is there already; get does not write over files");
    return output_open(path, NULL, &k->file, err);
}

enum status sink_write(struct sink *k, const void *bytes, size_t len, struct error *err)
{
    if (session_interrupted)
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (k->file) {
        k->at += len;
        return output_write(k->file, k->at - len, bytes, len, true, err);
    }
    if (fwrite(bytes, 1, len, k->session->out) != len)
        return error_errno(err, errno, NULL, "cannot write the output");
    return OK;
}

enum status sink_flush(struct sink *k, struct error *err)
{
    if (k->pending.failed)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    if (k->pending.len < PENDING_BYTES)
        return OK;
    enum status status = sink_write(k, k->pending.at, k->pending.len, err);
    text_reset(&k->pending);
    return status;
}

enum status sink_finish(struct sink *k, struct error *err)
{
    if (k->pending.failed)
        return error_set(err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    if (k->pending.len && sink_write(k, k->pending.at, k->pending.len, err) != OK)
        return err->status;
    text_reset(&k->pending);
    if (k->file && output_sync(k->file, err) == OK &&
        output_commit(k->file, false, err) == OK)
        output_sync_name(k->file, err);
    return err->status;
}

void sink_close(struct sink *k)
{
    output_close(k->file);
    text_release(&k->pending);
}
