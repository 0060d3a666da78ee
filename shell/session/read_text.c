#include "shell/session/read_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/store/source.h"
#include "shell/session/session.h"

#define FILE_MOST ((size_t)16 << 20) /* bytes */

static bool read_stdin(struct text *out)
{
    char block[8192];
    for (size_t n; (n = fread(block, 1, sizeof(block), stdin)) > 0;)
        text_add(out, block, n);
    if (out->failed)
        complain("stdin: more than %zu MiB, or no memory", out->limit >> 20);
    return !out->failed;
}

static bool read_file(const char *path, struct text *out)
{
    struct source *source = NULL;
    struct error err;
    error_clear(&err);
    char *bytes = NULL;
    if (source_open_file(path, 0, &source, NULL, &err) != OK)
        goto done;
    if (source->size > out->limit) {
        error_set(&err, ERR_LIMIT, path, NO_OFFSET,
                  "more than %zu MiB; rules and specs have kilobytes", out->limit >> 20);
        goto done;
    }
    bytes = malloc(source->size + 1);
    if (!bytes || (source_read(source, 0, bytes, source->size, &err) == OK &&
                   !text_add(out, bytes, source->size)))
        error_set(&err, ERR_MEMORY, path, NO_OFFSET, "no memory");
done:
    if (err.status != OK)
        complain_error(&err);
    free(bytes);
    source_close(source);
    return err.status == OK;
}

bool read_text(const char *path, struct text *out)
{
    if (!out->limit)
        out->limit = FILE_MOST;
    return strcmp(path, "-") == 0 ? read_stdin(out) : read_file(path, out);
}
