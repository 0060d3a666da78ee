#include "catalog/export/format/zarr_folder.h"

#include <string.h>

#define NAME_BYTES_MAX 255 /* of file systems */
#define RANK_MAX       32  /* of TensorStore */

void zarr_folder_path(struct text *out, const char *name)
{
    const size_t from = out->len;
    text_adds(out, name);
    for (size_t i = from; !out->failed && i < out->len; i++)
        if (out->at[i] == '/')
            out->at[i] = '.';
    text_adds(out, *name ? "/" : "");
}

bool zarr_folder_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (*t->name == '.' || *t->name == '/' || strstr(t->name, "//"))
        return !text_adds(why,
                          "a part of its name is empty, or it begins with '.' (--rename, --map)");
    if (strchr(t->name, '\\'))
        return !text_adds(why, "readers take no '\\' in the path of an array (--rename, --map)");
    if (t->rank > RANK_MAX)
        return !text_addf(why, "%u dimensions; TensorStore has at most %d", t->rank, RANK_MAX);
    if (zarr_has_dtype(&t->to) && t->to.kind != DTYPE_VOID && t->to.kind != DTYPE_TIME)
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "TensorStore has no such dtype");
}

static int by_folder(const struct export_tensor *a, const struct export_tensor *b)
{
    size_t at = 0;
    unsigned char p, q;
    do {
        p = a->name[at] == '/' ? '.' : (unsigned char)a->name[at];
        q = b->name[at] == '/' ? '.' : (unsigned char)b->name[at];
    } while (p == q && a->name[at++]);
    return p - q;
}

void zarr_folder_check(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, by_folder, err);
    for (size_t i = 0; order && i < p->count; i++)
        if (strlen(order[i]->name) > NAME_BYTES_MAX)
            refuse_tensor(&p->refusals, order[i]->name,
                          "its name has more than the %d bytes of a folder's (--rename, --map); "
                          "--names or --where can leave it out",
                          NAME_BYTES_MAX);
    for (size_t i = 1; order && i < p->count; i++)
        if (by_folder(order[i - 1], order[i]) == 0 &&
            strcmp(order[i - 1]->name, order[i]->name) != 0)
            refuse_tensor(&p->refusals, order[i]->name,
                          "the format keeps it under the same name as %.400s (--rename, --map)",
                          order[i - 1]->name);
}

void zarr_chunk_key(const struct zarr_how *how, const struct export_tensor *t, uint64_t piece,
                    struct text *out)
{
    uint64_t chunk[TENSOR_RANK_MAX], at[TENSOR_RANK_MAX];
    struct export_tensor cut = *t;
    zarr_cut(how, &cut, chunk);
    for (unsigned d = t->rank; d--;) {
        const uint64_t count = (t->shape[d] - 1) / chunk[d] + 1;
        at[d] = piece % count;
        piece /= count;
    }
    text_adds(out, how->version == 3 ? "c" : t->rank ? "" : "0");
    for (unsigned d = 0; d < t->rank; d++)
        text_addf(out, "%s%llu", how->version == 3 || d ? "." : "", (unsigned long long)at[d]);
}

void zarr_folder_piece(const struct zarr_how *how, const struct export_tensor *t, uint64_t piece,
                       struct text *out)
{
    zarr_folder_path(out, t->name);
    zarr_chunk_key(how, t, piece, out);
}

void zarr_folder_put(struct export_layout *l, const struct zarr_how *how, struct export_tensor *t,
                     struct text *scratch)
{
    zarr_folder_path(scratch, t->name);
    text_adds(scratch, ".zarray");
    lay_file(l, text_str(scratch));
    text_reset(scratch);
    zarr_array(how, t, NULL, scratch);
    lay_add(l, scratch);
    lay_pieces(l, t);
}
