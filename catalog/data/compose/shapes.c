#include "catalog/data/compose/shapes.h"

#include <string.h>

#include "catalog/data/compose/compose.h"

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

enum status shapes_after(const char *operations, const char *shape, const char *dtype,
                         struct text *out, struct error *err)
{
    struct view v;
    struct dtype d;
    if (shapes_view(shape, &v, err) == OK && view_apply_all(&v, operations, err) == OK) {
        shape_print(out, v.shape, v.rank);
        if (dtype) {
            dtype_find(dtype, &d);
            compose_dtype(&d, v.scale, v.add, err);
        }
    }
    return err->status;
}
