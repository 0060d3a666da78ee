/*
 * npy.c - one tensor in a .npy file: the header of npy_header.h, then its elements.
 */
#include "catalog/export/export.h"
#include "catalog/export/npy_header.h"
#include "catalog/export/numpy.h"

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
    return !text_adds(why, t->to.kind == DTYPE_STRING ? "strings, which are not written"
                                                      : "NumPy has no such dtype");
}

static bool entry(struct export_file *f, const struct export_tensor *t, struct text *out)
{
    char descr[64];
    (void)f;
    return npy_descr(&t->to, descr) && npy_header(out, descr, t->shape, t->rank);
}

static enum status place(struct export_file *f, struct export_tensor *t,
                         struct error *err)
{
    struct text header = {0};
    t->offset = 0;
    t->lead_len = 0;
    f->data_end = t->nbytes;
    if (!entry(f, t, &header))
        error_set(err, ERR_MEMORY, f->path, NO_OFFSET, "no memory");
    f->table_len = header.len;
    text_release(&header);
    return err->status;
}

static enum status finish(struct export_file *f, struct error *err)
{
    f->base = f->table_len;
    if (!add_u64(f->base, f->data_end, &f->size))
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
    .place = place,
    .finish = finish,
    .entry = entry,
};
