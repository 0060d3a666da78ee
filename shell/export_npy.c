/*
 * export_npy.c - one tensor in a .npy file: the header of npy_write.h, then its elements.
 */
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
    char descr[64];
    if (!npy_descr(&t->to, descr) || !npy_header(&f->head, descr, t->shape, t->rank))
        return error_set(err, ERR_MEMORY, f->path, NO_OFFSET, "no memory");
    t->offset = f->head.len;
    if (!add_u64(f->head.len, t->nbytes, &f->size))
        return error_set(err, ERR_UNSUPPORTED, f->path, NO_OFFSET,
                         "more bytes than a file can have");
    return OK;
}

const struct exporter exporter_npy = {
    .name = "npy",
    .suffix = ".npy",
    .summary = "NumPy, one tensor",
    .most = 1,
    .holds = export_numpy_holds,
    .layout = layout,
};
