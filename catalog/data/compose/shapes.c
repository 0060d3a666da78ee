#include "catalog/data/compose/shapes.h"

#include <string.h>

#include "catalog/data/convert/convert.h"

enum status shapes_read(const char *shape, uint64_t sizes[VIEW_RANK_MAX], unsigned *rank,
                        struct error *err)
{
    struct arena arena = {.err = err};
    uint64_t *found = sizes;
    bool good = shape && shape_parse(shape, &arena, &found, rank);
    if (!good || *rank > VIEW_RANK_MAX)
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                  good ? "operations are done on tensors of %d axes at most"
                       : "a tensor whose shape is not known",
                  VIEW_RANK_MAX);
    else if (*rank)
        memcpy(sizes, found, *rank * sizeof(*sizes));
    arena_release(&arena);
    return err->status;
}

enum status shapes_view(const char *shape, struct view *v, struct error *err)
{
    uint64_t sizes[VIEW_RANK_MAX] = {0};
    unsigned rank = 0;
    if (shapes_read(shape, sizes, &rank, err) == OK)
        view_init(v, sizes, rank, err);
    return err->status;
}

/* Whether it is a dtype of quantised blocks that can be decoded to float32. */
static bool decodes(const struct dtype *d)
{
    struct converter to_numbers;
    struct dtype single;
    struct error why = {.offset = NO_OFFSET};
    if (d->kind != DTYPE_BLOCK)
        return false;
    dtype_find("float32", &single);
    return converter_find(d, &single, &to_numbers, &why) == OK;
}

const char *shapes_result(const char *dtype)
{
    struct dtype d;
    dtype_find(dtype, &d);
    return decodes(&d) ? "float32" : dtype;
}

enum status shapes_dtype(const struct dtype *d, double scale, double add, struct error *err)
{
    if (decodes(d))
        return OK;
    if (d->kind == DTYPE_STRING || d->block_elems != 1)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "operations on %s elements are not possible", d->name);
    if ((scale != 1 || add != 0) && d->kind != DTYPE_FLOAT)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s elements cannot be %s", d->name,
                         scale != 1 ? "scaled" : "added to");
    return OK;
}

enum status shapes_after(const char *operations, const char *shape, const char *dtype,
                         struct text *out, struct error *err)
{
    struct view v;
    struct dtype d;
    if (shapes_view(shape, &v, err) == OK && view_apply_all(&v, operations, err) == OK) {
        shape_print(out, v.shape, v.rank);
        if (dtype) {
            dtype_find(dtype, &d);
            shapes_dtype(&d, v.scale, v.add, err);
        }
    }
    return err->status;
}
