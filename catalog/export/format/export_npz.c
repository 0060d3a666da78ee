/*
 * export_npz.c - a zip archive of .npy members (zip_layout.h), as numpy.savez writes it: "NAME.npy", which
 * is a header (npy_header.h), then the elements.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/export/format/npy_header.h"
#include "catalog/export/format/zip_layout.h"

static bool export_npz_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strlen(t->name) + strlen(".npy") > ZIP_NAME_MAX)
        return !text_adds(why, "a name in a zip archive has at most 65535 bytes (--rename, --map)");
    return export_numpy_holds(t, why, instead);
}

static void export_npz_lay_out(struct export_layout *l)
{
    struct zip_layout zip = {.l = l};
    struct text name = {0}, header = {.limit = UINT16_MAX};
    struct export_tensor **order = export_order(l->plan, export_by_name, l->err);
    lay_file(l, l->path);
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        struct export_tensor *t = order[i];
        char descr[64];
        text_reset(&name);
        text_reset(&header);
        if (npy_descr(&t->to, descr) && npy_header(&header, descr, t->shape, t->rank) &&
            text_addf(&name, "%s.npy", t->name))
            zip_member(&zip, text_str(&name),
                       (struct bytes){(const uint8_t *)header.at, header.len}, t);
        else
            error_memory_at(l->err, l->path);
    }
    zip_finish(&zip);
    export_numpy_warn(l);
    text_release(&name);
    text_release(&header);
}

static int compare_name(const void *key, const void *entry)
{
    const struct bytes *k = key;
    const char *name = (*(struct export_tensor *const *)entry)->name;
    const int by = strncmp((const char *)k->at, name, k->len);
    return by ? by : -(name[k->len] != '\0');
}

/* numpy.load() looks a key up as a full member name first, and only then with ".npy" after it. */
static void export_npz_check(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_name, err);
    for (size_t i = 0; order && i < p->count; i++) {
        const char *longer = p->tensor[i].name;
        const size_t len = strlen(longer);
        const struct bytes name = {(const uint8_t *)longer, len - strlen(".npy")};
        if (text_ends_in(longer, len, ".npy") &&
            bsearch(&name, order, p->count, sizeof(struct export_tensor *), compare_name)) {
            refuse(
                &p->refusals,
                "%.*s and %.200s are the same key to programs that read npz files (--rename, --map)",
                name.len < 200 ? (int)name.len : 200, longer, longer);
            break;
        }
    }
}

const struct exporter exporter_npz = {
    .name = "npz",
    .suffix = ".npz",
    .summary = "NumPy, any number of tensors, not compressed",
    .holds = export_npz_holds,
    .check = export_npz_check,
    .lay_out = export_npz_lay_out,
};
