#include "catalog/data/compose/compose.h"

#include <string.h>

#include "catalog/data/compose/merge_recipe.h"
#include "catalog/data/compose/shapes.h"

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
    view_init(&v, shape, *rank, err);
    elements_of(&all, operations, strlen(operations));
    while (err->status == OK && operations_next(&all, &o, err) > 0)
        if (operation_only_shapes(&o))
            view_apply(&v, &o, err);
        else
            compose_refuse(err, "only reshape, flatten and cast can follow stack and concat");
    if (err->status == OK) {
        *rank = v.rank;
        memcpy(shape, v.shape, v.rank * sizeof(*shape));
    }
    return err->status;
}

/* --- a recipe ---------------------------------------------------------------------------- */

struct recipe {
    struct argument parts;
    struct operation join;  /* .len 0: none */
    const char *operations; /* NULL: none */
};

/* A copy of the operations [at, at + len): NULL for the JSON text null. */
static const char *keep_operations(struct arena *arena, const char *at, size_t len)
{
    return len == 4 && memcmp(at, "null", 4) == 0 ? NULL : arena_copy(arena, at, len);
}

static void read_recipe(struct recipe *r, const char *text, struct arena *arena, struct error *err)
{
    struct argument null = {0};
    struct elements whole;
    const char *element[3];
    size_t lens[3];
    unsigned count = 0;
    elements_of(&whole, text, strlen(text));
    while (count < 3 && elements_next(&whole, &element[count], &lens[count]) > 0)
        count++;
    if (count < 3 || lens[0] > INT32_MAX || lens[1] > INT32_MAX) {
        compose_refuse(err, "a recipe is a JSON list of parts, join, operations");
        return;
    }
    argument_read(&r->parts, element[0], lens[0]);
    argument_read(&null, element[1], lens[1]);
    if (null.list && operation_read(element[1], lens[1], &r->join, err) > 0 &&
        !operation_joins(&r->join))
        compose_refuse(err, "parts are joined by stack or concat");
    r->operations = keep_operations(arena, element[2], lens[2]);
}

/* Read a part, [ID, OPERATIONS, STEPS]: load its tensor, merge into it, and apply the operations. */
static void compose_read_part(const struct composer *from, struct arena *arena, const char *text,
                              size_t len, struct composed_part *out, struct error *err)
{
    struct elements part;
    struct argument id = {0};
    const char *at, *operations, *steps = NULL;
    size_t n;
    struct stored_tensor *t = arena_alloc(arena, sizeof(*t));
    elements_of(&part, text, len);
    if (elements_next(&part, &at, &n) > 0)
        argument_read(&id, at, n);
    if (!id.whole || elements_next(&part, &at, &n) <= 0) {
        compose_refuse(err, "a part is a list of an id and operations");
        return;
    }
    operations = keep_operations(arena, at, n);
    if (elements_next(&part, &at, &n) > 0)
        steps = keep_operations(arena, at, n);
    out->tensor = t;
    if (t && from->load(from->context, id.integer, arena, t, err) == OK &&
        (!steps || merge(steps, from, arena, t, err) == OK) &&
        view_init(&out->view, t->shape, t->rank, err) == OK && operations)
        view_apply_all(&out->view, operations, err);
}

/* --- the result -------------------------------------------------------------------------- */

/* Whether two parts can be joined: equal in everything but their sizes along `axis`
 * (VIEW_RANK_MAX: equal in all sizes). */
static bool parts_agree(const struct composed_part *a, const struct composed_part *b, unsigned axis)
{
    bool agree =
        a->view.rank == b->view.rank && a->view.scale == b->view.scale &&
        a->view.add == b->view.add &&
        strcmp(shapes_result(a->tensor->dtype.name), shapes_result(b->tensor->dtype.name)) == 0;
    for (unsigned i = 0; agree && i < a->view.rank; i++)
        agree = i == axis || a->view.shape[i] == b->view.shape[i];
    return agree;
}

/* Work out the place of each part in a row of the result, and the shape of the result. Concat of
 * [2,3] and [2,5] along axis 1: 2 rows of length 8; the parts have places 0 and 3, lengths 3 and
 * 5. */
static void join_parts(const struct recipe *r, struct composition *c, uint64_t *shape,
                       unsigned *rank, struct error *err)
{
    const struct view *first = &c->part[0].view;
    bool concat = r->join.len && r->join.kind == OPERATION_CONCAT;
    unsigned axis = 0;
    uint64_t size = 0;
    *rank = first->rank;
    memcpy(shape, first->shape, first->rank * sizeof(*shape));
    if (r->join.len)
        compose_shape(&r->join, c->count, shape, rank, &axis, err);
    for (uint64_t i = 0; i < c->count && err->status == OK; i++) {
        struct composed_part *p = &c->part[i];
        if (!parts_agree(&c->part[0], p, concat ? axis : VIEW_RANK_MAX))
            compose_refuse(err, "parts whose shapes or dtypes differ cannot be joined");
        p->axis = axis;
        p->length = 1;
        for (unsigned a = axis; a < p->view.rank; a++)
            p->length *= p->view.shape[a];
        p->place = c->length;
        if (!add_u64(c->length, p->length, &c->length) ||
            (concat && !add_u64(size, p->view.shape[axis], &size)))
            compose_refuse(err, "the shape overflows");
    }
    if (concat)
        shape[axis] = size;
    c->rows = 1;
    for (unsigned a = 0; a < axis; a++)
        c->rows *= first->shape[a];
    c->scale = first->scale;
    c->add = first->add;
}

static void result(const struct recipe *r, struct composition *c, struct arena *arena,
                   struct stored_tensor *out, struct error *err)
{
    uint64_t shape[VIEW_RANK_MAX + 1];
    unsigned rank;
    join_parts(r, c, shape, &rank, err);
    if (r->operations && err->status == OK)
        compose_reshape(r->operations, shape, &rank, err);
    if (err->status != OK)
        return;
    const struct stored_tensor *first = c->part[0].tensor;
    struct stored_tensor t = {
        .id = first->id,
        .checkpoint = first->checkpoint,
        .name = first->name,
        .rank = rank,
        .storage = STORAGE_COMPOSED,
        .composition = c,
    };
    dtype_find(shapes_result(first->dtype.name), &t.dtype);
    /* A sum is rounded by the cast, which it always has: 1 + x in bfloat16 would lose most of x. */
    if (c->add != 0 && t.dtype.kind == DTYPE_FLOAT && t.dtype.bits < 32)
        dtype_find("float32", &t.dtype);
    t.shape = arena_array(arena, rank + 1, sizeof(*t.shape));
    if (t.shape)
        memcpy(t.shape, shape, rank * sizeof(*shape));
    if (!shape_elements(shape, rank, &t.elements) || !dtype_nbytes(&t.dtype, t.elements, &t.nbytes))
        compose_refuse(err, "the shape overflows");
    shapes_dtype(&t.dtype, c->scale, c->add, err);
    if (err->status == OK)
        *out = t;
}

enum status compose(const char *recipe, const struct composer *from, struct arena *arena,
                    struct stored_tensor *out, struct error *err)
{
    struct recipe r = {0};
    struct error *const before = arena->err;
    arena->err = err;
    struct composition *c = arena_alloc(arena, sizeof(*c));
    if (c)
        read_recipe(&r, recipe, arena, err);
    if (c && err->status == OK) {
        struct elements parts;
        const char *at;
        size_t len, count = 0, space = 0;
        argument_elements(&parts, &r.parts);
        while (err->status == OK && elements_next(&parts, &at, &len) > 0)
            compose_read_part(from, arena, at, len, PUSH(arena, c->part, count, space), err);
        c->count = count;
        if (!count || (count > 1 && !r.join.len))
            compose_refuse(err, count ? "several parts, but no join" : "a recipe without parts");
    }
    if (c && err->status == OK)
        result(&r, c, arena, out, err);
    arena->err = before;
    arena->failed = arena->failed && before; /* without one, the next tensor is composed anew */
    return err->status;
}
