/*
 * export_npy.c - one tensor in a .npy file: the header of npy_write.h, then its elements.
 */
#include <string.h>

#include "shell/export.h"
#include "shell/export_numpy.h"
#include "shell/npy_write.h"

bool export_numpy_holds(const struct export_tensor *t, struct text *why,
                        const char **instead)
{
    char descr[64];
    if (t->rank > NPY_RANK_MAX)
        return !text_addf(why, "%u dimensions; NumPy has at most %d", t->rank,
                          NPY_RANK_MAX);
    if (npy_descr(&t->to, descr))
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "NumPy has no such dtype");
}

static enum status layout(struct export_file *f, struct error *err)
{
    struct export_tensor *t = f->tensors[0];
    struct text header = {.limit = UINT16_MAX};
    char descr[64];
    if (npy_descr(&t->to, descr) && npy_header(&header, descr, t->shape, t->rank))
        f->head = (uint8_t *)arena_copy(f->arena, header.at, header.len);
    f->head_len = header.len;
    t->offset = header.len;
    if (!f->head)
        error_set(err, ERR_MEMORY, f->path, NO_OFFSET, "no memory");
    else if (!add_u64(header.len, t->nbytes, &f->size))
        error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET, "more bytes than a file has");
    text_release(&header);
    return err->status;
}

const struct exporter exporter_npy = {
    .name = "npy",
    .suffix = ".npy",
    .summary = "NumPy, one tensor",
    .most = 1,
    .holds = export_numpy_holds,
    .layout = layout,
};
