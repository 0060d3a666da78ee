/*
 * export_npy.c - a .npy file: one tensor. The header is npy_header.h's; the elements follow it.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/export/export_layout.h"
#include "catalog/export/format/npy_header.h"

bool export_numpy_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    char descr[64];
    if (t->rank > NPY_RANK_MAX)
        return !text_addf(why, "%u dimensions; NumPy has at most %d", t->rank, NPY_RANK_MAX);
    if (npy_descr(&t->to, descr))
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, t->to.kind == DTYPE_STRING ? "strings, which are not written"
                                                      : "NumPy has no such dtype");
}

void export_numpy_warn(const struct export_layout *l)
{
    const struct export_tensor *first = NULL;
    uint64_t count = 0;
    char descr[64] = "", raw[64];
    for (size_t i = 0; i < l->plan->count; i++) {
        const struct export_tensor *t = &l->plan->tensor[i];
        if (t->to.kind != DTYPE_FLOAT || !npy_descr(&t->to, raw) || raw[1] != 'V')
            continue;
        if (!count++)
            memcpy(descr, raw, sizeof(descr));
        first = first ? first : t;
    }
    if (first && l->options->warning)
        snprintf(
            l->options->warning, EXPORT_WARNING_BYTES,
            "NumPy sees raw %s for %s (%llu of %llu tensors): x.view(ml_dtypes.%s) gives the numbers, "
            "or --dtype float32 here",
            descr, first->to.name, (unsigned long long)count, (unsigned long long)l->plan->count,
            first->to.name);
}

static void export_npy_lay_out(struct export_layout *l)
{
    struct export_tensor *t = l->plan->tensor; /* the only one */
    struct text header = {0};
    char descr[64];
    if (npy_descr(&t->to, descr)) {
        npy_header(&header, descr, t->shape, t->rank);
        lay_file(l, l->path);
        lay_add(l, &header);
        lay_tensor(l, t);
    }
    export_numpy_warn(l);
    text_release(&header);
}

const struct exporter exporter_npy = {
    .name = "npy",
    .suffix = ".npy",
    .summary = "NumPy, one tensor",
    .most = 1,
    .holds = export_numpy_holds,
    .lay_out = export_npy_lay_out,
};
