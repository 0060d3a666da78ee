#include "shell/session/sink.h"

#include <errno.h>
#include <unistd.h>

#define PENDING_BYTES ((size_t)64 << 10)

enum status sink_open(struct sink *k, struct session *s, const char *path, struct error *err)
{
    *k = (struct sink){.session = s};
    if (!path)
        return OK;
    if (access(path, F_OK) == 0)
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET,
                         "is there already; get does not write over files");
    struct ckptdb_error error;
    return ckptdb_file_create(path, &k->file, &error) == CKPTDB_OK ? OK : error_taken(&error, err);
}

enum status sink_write(struct sink *k, const void *bytes, size_t len, struct error *err)
{
    if (session_interrupted)
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (k->file) {
        struct ckptdb_error error;
        return ckptdb_file_write(k->file, bytes, len, &error) == CKPTDB_OK
                   ? OK
                   : error_taken(&error, err);
    }
    if (fwrite(bytes, 1, len, k->session->out) != len)
        return error_errno(err, errno, NULL, "cannot write the output");
    return OK;
}

enum status sink_flush(struct sink *k, struct error *err)
{
    if (k->pending.failed)
        return error_memory(err);
    if (k->pending.len < PENDING_BYTES)
        return OK;
    enum status status = sink_write(k, k->pending.at, k->pending.len, err);
    text_reset(&k->pending);
    return status;
}

enum status sink_finish(struct sink *k, struct error *err)
{
    if (k->pending.failed)
        return error_memory(err);
    if (k->pending.len && sink_write(k, k->pending.at, k->pending.len, err) != OK)
        return err->status;
    text_reset(&k->pending);
    struct ckptdb_error error;
    if (k->file && ckptdb_file_finish(k->file, &error) != CKPTDB_OK)
        return error_taken(&error, err);
    return OK;
}

void sink_close(struct sink *k)
{
    ckptdb_file_close(k->file);
    text_release(&k->pending);
}
