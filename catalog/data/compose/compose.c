#include "catalog/data/compose/compose.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/data/convert/convert.h"

static enum status compose_refuse(struct error *err, const char *why)
{
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s", why);
}

/* --- shapes ------------------------------------------------------------------------------ */

enum status compose_shape(const struct operation *join, uint64_t count, uint64_t *shape,
                          unsigned *rank, unsigned *axis, struct error *err)
{
    bool stack = join->kind == OPERATION_STACK;
    if (view_axis(*rank + stack, join, 0, axis, err) != OK)
        return err->status;
    if (stack && *rank == VIEW_RANK_MAX)
        return compose_refuse(err, "too many axes");
    if (stack) {
        memmove(shape + *axis + 1, shape + *axis, (*rank - *axis) * sizeof(*shape));
        ++*rank;
    }
    shape[*axis] = count;
    return OK;
}

enum status compose_reshape(const char *operations, uint64_t *shape, unsigned *rank,
                            struct error *err)
{
    struct elements all;
    struct operation o;
    struct view v;
    if (view_init(&v, shape, *rank, err) != OK)
        return err->status;
    elements_of(&all, operations, strlen(operations));
    while (operations_next(&all, &o, err) > 0) {
        if (!operation_only_shapes(&o))
            return compose_refuse(err,
                                  "only reshape, flatten and cast can follow stack and concat");
        if (view_apply(&v, &o, err) != OK)
            break;
    }
    *rank = v.rank;
    memcpy(shape, v.shape, v.rank * sizeof(*shape));
    return err->status;
}

/* --- dtypes ------------------------------------------------------------------------------ */

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

const char *compose_result(const char *dtype)
{
    struct dtype d;
    dtype_find(dtype, &d);
    return decodes(&d) ? "float32" : dtype;
}

enum status compose_dtype(const struct dtype *d, double scale, struct error *err)
{
    if (decodes(d))
        return OK;
    if (d->kind == DTYPE_STRING || d->block_elems != 1)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                         "operations on %s elements are not possible", d->name);
    if (scale != 1 && d->kind != DTYPE_FLOAT)
        return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "%s elements cannot be scaled",
                         d->name);
    return OK;
}

/* --- a recipe ---------------------------------------------------------------------------- */

struct recipe {
    struct argument parts;
    struct operation join;  /* .len 0: none */
    const char *operations; /* NULL: none */
};

/* Copy the operations [at, at + len): NULL for the JSON text null. */
static enum status keep_operations(struct arena *arena, const char *at, size_t len,
                                   const char **out, struct error *err)
{
    bool none = len == 4 && memcmp(at, "null", 4) == 0;
    *out = none ? NULL : arena_copy(arena, at, len);
    return none || *out ? OK : error_memory(err);
}

static enum status read_recipe(struct recipe *r, const char *text, struct arena *arena,
                               struct error *err)
{
    struct argument null = {0};
    struct elements whole;
    const char *element[3];
    size_t lens[3];
    unsigned count = 0;
    elements_of(&whole, text, strlen(text));
    while (count < 3 && elements_next(&whole, &element[count], &lens[count]) > 0)
        count++;
    if (count < 3 || lens[0] > INT32_MAX || lens[1] > INT32_MAX)
        return compose_refuse(err, "a recipe is a JSON list of parts, join, operations");
    argument_read(&r->parts, element[0], lens[0]);
    argument_read(&null, element[1], lens[1]);
    if (null.list && operation_read(element[1], lens[1], &r->join, err) < 0)
        return err->status;
    if (null.list && !operation_joins(&r->join))
        return compose_refuse(err, "parts are joined by stack or concat");
    return keep_operations(arena, element[2], lens[2], &r->operations, err);
}

/* Read a part, [ID, OPERATIONS]: load its tensor and apply the operations. */
static enum status compose_read_part(const struct composer *from, struct arena *arena,
                                     const char *text, size_t len, struct composed_part *out,
                                     struct error *err)
{
    struct elements part;
    struct argument id;
    const char *at, *operations;
    size_t n;
    struct stored_tensor *t = arena_alloc(arena, sizeof(*t));
    elements_of(&part, text, len);
    if (!t)
        return error_memory(err);
    if (elements_next(&part, &at, &n) <= 0)
        return compose_refuse(err, "a part is a list of an id and operations");
    argument_read(&id, at, n);
    if (!id.whole || elements_next(&part, &at, &n) <= 0)
        return compose_refuse(err, "a part is a list of an id and operations");
    if (keep_operations(arena, at, n, &operations, err) != OK ||
        from->load(from->context, id.integer, arena, t, err) != OK ||
        view_init(&out->view, t->shape, t->rank, err) != OK)
        return err->status;
    out->tensor = t;
    return operations ? view_apply_all(&out->view, operations, err) : OK;
}

static enum status read_parts(const struct recipe *r, const struct composer *from,
                              struct arena *arena, struct composition *c, struct error *err)
{
    struct elements parts;
    const char *at;
    size_t len, space = 0;
    argument_elements(&parts, &r->parts);
    while (elements_next(&parts, &at, &len) > 0) {
        void *grown = arena_grow(arena, c->part, (size_t)c->count, &space, sizeof(*c->part));
        if (!grown)
            return error_memory(err);
        c->part = grown;
        memset(&c->part[c->count], 0, sizeof(*c->part));
        if (compose_read_part(from, arena, at, len, &c->part[c->count], err) != OK)
            return err->status;
        c->count++;
    }
    if (!c->count || (c->count > 1 && !r->join.len))
        return compose_refuse(err, c->count ? "several parts, and no word how to join them"
                                            : "a recipe without parts");
    return OK;
}

/* --- the result -------------------------------------------------------------------------- */

/* Whether two parts can be joined: equal in everything but their sizes along `axis`
 * (VIEW_RANK_MAX: equal in all sizes). */
static bool parts_agree(const struct composed_part *a, const struct composed_part *b, unsigned axis)
{
    bool agree =
        a->view.rank == b->view.rank && a->view.scale == b->view.scale &&
        strcmp(compose_result(a->tensor->dtype.name), compose_result(b->tensor->dtype.name)) == 0;
    for (unsigned i = 0; agree && i < a->view.rank; i++)
        agree = i == axis || a->view.shape[i] == b->view.shape[i];
    return agree;
}

/* Work out the place of each part in a row of the result, and the shape of the result. Concat of
 * [2,3] and [2,5] along axis 1: 2 rows of length 8; the parts have places 0 and 3, lengths 3 and
 * 5. */
static enum status join_parts(const struct recipe *r, struct composition *c, uint64_t *shape,
                              unsigned *rank, struct error *err)
{
    const struct view *first = &c->part[0].view;
    bool concat = r->join.len && r->join.kind == OPERATION_CONCAT;
    unsigned axis = 0;
    uint64_t size = 0;
    *rank = first->rank;
    memcpy(shape, first->shape, first->rank * sizeof(*shape));
    if (r->join.len && compose_shape(&r->join, c->count, shape, rank, &axis, err) != OK)
        return err->status;
    for (uint64_t i = 0; i < c->count; i++) {
        struct composed_part *p = &c->part[i];
        if (!parts_agree(&c->part[0], p, concat ? axis : VIEW_RANK_MAX))
            return compose_refuse(err, "parts of other shapes or dtypes cannot be joined");
        p->axis = axis;
        p->length = 1;
        for (unsigned a = axis; a < p->view.rank; a++)
            p->length *= p->view.shape[a];
        p->place = c->length;
        if (!add_u64(c->length, p->length, &c->length) ||
            (concat && !add_u64(size, p->view.shape[axis], &size)))
            return compose_refuse(err, "the shape overflows");
    }
    if (concat)
        shape[axis] = size;
    c->rows = 1;
    for (unsigned a = 0; a < axis; a++)
        c->rows *= first->shape[a];
    c->scale = first->scale;
    return OK;
}

static enum status result(const struct recipe *r, struct composition *c, struct arena *arena,
                          struct stored_tensor *out, struct error *err)
{
    uint64_t shape[VIEW_RANK_MAX + 1];
    unsigned rank;
    if (join_parts(r, c, shape, &rank, err) != OK ||
        (r->operations && compose_reshape(r->operations, shape, &rank, err) != OK))
        return err->status;
    const struct stored_tensor *first = c->part[0].tensor;
    struct stored_tensor t = {
        .id = first->id,
        .checkpoint = first->checkpoint,
        .name = first->name,
        .rank = rank,
        .storage = STORAGE_COMPOSED,
        .composition = c,
    };
    dtype_find(compose_result(first->dtype.name), &t.dtype);
    t.shape = arena_array(arena, rank + 1, sizeof(*t.shape));
    if (!t.shape)
        return error_memory(err);
    memcpy(t.shape, shape, rank * sizeof(*shape));
    if (!shape_elements(shape, rank, &t.elements) || !dtype_nbytes(&t.dtype, t.elements, &t.nbytes))
        return compose_refuse(err, "the shape overflows");
    if (compose_dtype(&t.dtype, c->scale, err) == OK)
        *out = t;
    return err->status;
}

enum status compose(const char *recipe, const struct composer *from, struct arena *arena,
                    struct stored_tensor *out, struct error *err)
{
    struct recipe r = {0};
    struct composition *c = arena_alloc(arena, sizeof(*c));
    if (!c)
        return error_memory(err);
    if (read_recipe(&r, recipe, arena, err) != OK || read_parts(&r, from, arena, c, err) != OK)
        return err->status;
    return result(&r, c, arena, out, err);
}
