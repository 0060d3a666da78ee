#include "catalog/data/compose/view.h"

#include <math.h>
#include <string.h>

#include "catalog/base/bits.h"

static enum status impossible(const struct operation *o, const char *why, struct error *err)
{
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%.*s: %s",
                     o->len > 200 ? 200 : (int)o->len, o->at, why);
}

uint64_t view_elements(const struct view *v)
{
    uint64_t elements = 1;
    for (unsigned a = 0; a < v->rank; a++)
        elements *= v->shape[a];
    return elements;
}

/* Set the dims to C order for the shape, one per axis. False: too many elements. */
static bool view_lay_out(struct view *v)
{
    uint64_t step = 1;
    v->offset = 0;
    for (unsigned a = v->rank; a-- > 0;) {
        v->first[a] = a;
        v->dim[a] = (struct view_dim){v->shape[a], step};
        if (!mul_u64(step, v->shape[a] ? v->shape[a] : 1, &step))
            return false;
    }
    v->first[v->rank] = v->rank;
    return true;
}

enum status view_init(struct view *v, const uint64_t *shape, unsigned rank, struct error *err)
{
    v->rank = rank;
    v->scale = 1;
    v->add = 0;
    v->zeros = false;
    if (rank > VIEW_RANK_MAX)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "operations are done on tensors of %d axes at most, not of %u",
                         VIEW_RANK_MAX, rank);
    if (rank)
        memcpy(v->shape, shape, rank * sizeof(*shape));
    if (!view_lay_out(v))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "the shape overflows");
    return OK;
}

/* --- axes in another order --------------------------------------------------------------- */

/* An index that counts from the end if it is negative. */
static int64_t from_start(int64_t n, uint64_t size)
{
    return n < 0 ? n + (int64_t)size : n;
}

enum status view_axis(unsigned rank, const struct operation *o, unsigned i, unsigned *axis,
                      struct error *err)
{
    const struct argument *a = &o->argument[i];
    int64_t n = from_start(a->integer, rank);
    *axis = 0;
    if (!a->whole || n < 0 || n >= rank)
        return impossible(o, "there is no such axis", err);
    *axis = (unsigned)n;
    return OK;
}

/* Axis order[a] becomes axis a. */
static void reorder(struct view *v, const unsigned *order)
{
    const struct view old = *v;
    unsigned at = 0;
    for (unsigned a = 0; a < old.rank; a++) {
        unsigned from = old.first[order[a]], to = old.first[order[a] + 1];
        v->shape[a] = old.shape[order[a]];
        v->first[a] = at;
        for (; from < to; from++)
            v->dim[at++] = old.dim[from];
    }
    v->first[v->rank] = at;
}

static enum status transpose(struct view *v, const struct operation *o, struct error *err)
{
    unsigned order[VIEW_RANK_MAX] = {0}, one, other;
    if (o->arguments == 1)
        return impossible(o, "two axes are wanted, or none", err);
    for (unsigned a = 0; a < v->rank; a++)
        order[a] = o->arguments ? a : v->rank - 1 - a;
    if (o->arguments) {
        if (view_axis(v->rank, o, 0, &one, err) != OK ||
            view_axis(v->rank, o, 1, &other, err) != OK)
            return err->status;
        order[one] = other;
        order[other] = one;
    }
    reorder(v, order);
    return OK;
}

static enum status permute(struct view *v, const struct operation *o, struct error *err)
{
    int64_t axes[OPERATION_LIST_MAX] = {0};
    unsigned count, order[VIEW_RANK_MAX] = {0};
    bool seen[VIEW_RANK_MAX] = {false};
    if (!argument_integers(&o->argument[0], axes, &count) || count != v->rank)
        return impossible(o, "as many axes are wanted as the tensor has", err);
    for (unsigned a = 0; a < count; a++) {
        int64_t n = from_start(axes[a], v->rank);
        if (n < 0 || n >= v->rank || seen[n])
            return impossible(o, "each axis is wanted once", err);
        seen[n] = true;
        order[a] = (unsigned)n;
    }
    reorder(v, order);
    return OK;
}

/* --- other shapes ------------------------------------------------------------------------ */

/* Write the dims to `out`, merging neighbours that form one run, also across axes, and dropping
 * dims of size 1: (4 by 6)(6 by 1) becomes (24 by 1). Returns how many there are. */
static unsigned view_merge(const struct view *v, struct view_dim *out)
{
    unsigned kept = 0;
    for (unsigned d = 0; d < v->first[v->rank]; d++) {
        struct view_dim dim = v->dim[d];
        if (dim.count == 1)
            continue;
        if (kept && out[kept - 1].step == dim.step * dim.count) {
            out[kept - 1].count *= dim.count;
            out[kept - 1].step = dim.step;
        } else {
            out[kept++] = dim;
        }
    }
    return kept;
}

/* Cut the merged dims into the axes of the new shape. (24 by 1) to [2, 12] is (2 by 12), (12 by
 * 1). False: the elements of an axis would not be whole dims, as when (6 by 1)(4 by 6) is to be
 * [4, 6]. */
static bool view_cut(struct view *v, const uint64_t *shape, unsigned rank)
{
    struct view_dim from[VIEW_DIMS_MAX] = {{0, 0}};
    unsigned count = view_merge(v, from), at = 0, i = 0;
    for (unsigned a = 0; a < rank; a++) {
        v->first[a] = at;
        for (uint64_t need = shape[a]; need > 1;) {
            struct view_dim *d = &from[i];
            if (i == count || at == VIEW_DIMS_MAX)
                return false;
            uint64_t n = need < d->count ? need : d->count;
            if (d->count % n || need % n)
                return false;
            d->count /= n;
            v->dim[at++] = (struct view_dim){n, d->step * d->count};
            need /= n;
            i += d->count == 1;
        }
    }
    v->first[rank] = at;
    return true;
}

static enum status set_shape(struct view *v, const uint64_t *shape, unsigned rank,
                             const struct operation *o, struct error *err)
{
    struct view cutted = *v;
    bool empty = view_elements(v) == 0;
    if (!empty && !view_cut(&cutted, shape, rank))
        return impossible(o, "it would cut across axes that were put together; reshape before that",
                          err);
    *v = cutted;
    v->rank = rank;
    if (rank)
        memmove(v->shape, shape, rank * sizeof(*shape));
    if (empty && !view_lay_out(v))
        return impossible(o, "the shape overflows", err);
    return OK;
}

/* Read the sizes of a reshape: 0 keeps an axis, -1 takes all remaining elements. */
static enum status view_read_sizes(const struct view *v, const struct operation *o, uint64_t *shape,
                                   unsigned *rank, struct error *err)
{
    int64_t sizes[OPERATION_LIST_MAX] = {0};
    uint64_t known = 1, elements = view_elements(v);
    int open = -1;
    if (!argument_integers(&o->argument[0], sizes, rank) || *rank > VIEW_RANK_MAX)
        return impossible(o, "a list of sizes is wanted", err);
    for (unsigned a = 0; a < *rank; a++) {
        if (sizes[a] < -1 || (sizes[a] == -1 && open >= 0) || (sizes[a] == 0 && a >= v->rank))
            return impossible(o, "such sizes make no shape", err);
        shape[a] = sizes[a] == 0 ? v->shape[a] : (uint64_t)sizes[a];
        if (sizes[a] == -1)
            open = (int)a;
        else if (!mul_u64(known, shape[a], &known))
            return impossible(o, "the shape overflows", err);
    }
    if (open >= 0) {
        shape[open] = known ? elements / known : 0;
        known *= shape[open];
    }
    if (known != elements)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
                         "%.*s: a tensor of %llu elements cannot have this shape",
                         o->len > 200 ? 200 : (int)o->len, o->at, (unsigned long long)elements);
    return OK;
}

static enum status reshape(struct view *v, const struct operation *o, struct error *err)
{
    uint64_t shape[VIEW_RANK_MAX] = {0};
    unsigned rank;
    return view_read_sizes(v, o, shape, &rank, err) == OK ? set_shape(v, shape, rank, o, err)
                                                          : err->status;
}

static enum status flatten(struct view *v, const struct operation *o, struct error *err)
{
    uint64_t shape[VIEW_RANK_MAX] = {0};
    unsigned from, to, rank = 0;
    if (view_axis(v->rank, o, 0, &from, err) != OK || view_axis(v->rank, o, 1, &to, err) != OK)
        return err->status;
    if (to < from)
        return impossible(o, "the last axis comes before the first", err);
    for (unsigned a = 0; a < v->rank; a++)
        if (a > from && a <= to)
            shape[rank - 1] *= v->shape[a];
        else
            shape[rank++] = v->shape[a];
    return set_shape(v, shape, rank, o, err);
}

/* --- parts ------------------------------------------------------------------------------- */

/* Move the offset to element `index` of the axis. In an axis (6 by 1)(4 by 6) element 9 is at 2
 * * 1 + 1 * 6. */
static void go_to(struct view *v, unsigned axis, uint64_t index)
{
    uint64_t rest = v->shape[axis];
    for (unsigned d = v->first[axis]; d < v->first[axis + 1]; d++) {
        rest /= v->dim[d].count;
        v->offset += index / rest * v->dim[d].step;
        index %= rest;
    }
}

static enum status view_take(struct view *v, const struct operation *o, struct error *err)
{
    const struct argument *index = &o->argument[1];
    unsigned axis;
    if (view_axis(v->rank, o, 0, &axis, err) != OK)
        return err->status;
    int64_t size = (int64_t)v->shape[axis];
    int64_t n = from_start(index->integer, v->shape[axis]);
    if (!index->whole || n < 0 || n >= size)
        return impossible(o, "the axis is not that long", err);
    go_to(v, axis, (uint64_t)n);
    /* Remove an axis and its dims; the offset accounts for them already. */
    unsigned from = v->first[axis], to = v->first[axis + 1];
    memmove(v->dim + from, v->dim + to, (v->first[v->rank] - to) * sizeof(*v->dim));
    for (unsigned a = axis; a < v->rank; a++)
        v->first[a] = v->first[a + 1] - (to - from);
    memmove(v->shape + axis, v->shape + axis + 1, (v->rank - axis - 1) * sizeof(*v->shape));
    v->rank--;
    return OK;
}

/* Restrict an axis to [start, stop). If it has several dims this must be a range of the outer
 * one, or a single element. */
static enum status view_narrow(struct view *v, unsigned axis, uint64_t start, uint64_t stop,
                               const struct operation *o, struct error *err)
{
    uint64_t inner = 1, count = stop - start;
    struct view_dim *dim = &v->dim[v->first[axis]];
    unsigned dims = v->first[axis + 1] - v->first[axis];
    if (count == v->shape[axis])
        return OK;
    if (count == 1)
        go_to(v, axis, start);
    for (unsigned d = 1; d < dims; d++)
        inner *= dim[d].count;
    if (count > 1 && (start % inner || stop % inner))
        return impossible(o, "it would cut across axes that were put together; do it before that",
                          err);
    v->shape[axis] = count;
    if (count > 1) {
        v->offset += start / inner * dim->step;
        dim->count = count / inner;
    }
    for (unsigned d = 0; d < dims && count <= 1; d++)
        dim[d].count = count;
    return OK;
}

static enum status slice(struct view *v, const struct operation *o, struct error *err)
{
    unsigned axis;
    if (view_axis(v->rank, o, 0, &axis, err) != OK)
        return err->status;
    int64_t size = (int64_t)v->shape[axis], bound[2];
    for (int i = 0; i < 2; i++) {
        const struct argument *a = &o->argument[i + 1];
        bound[i] = from_start(a->integer, v->shape[axis]);
        if (!a->whole || bound[i] < 0 || bound[i] > size)
            return impossible(o, "the axis is not that long", err);
    }
    if (bound[1] < bound[0])
        return impossible(o, "it ends before it begins", err);
    return view_narrow(v, axis, (uint64_t)bound[0], (uint64_t)bound[1], o, err);
}

/* ["split", AXIS, COUNT]: the size of each of COUNT equal pieces. */
static void equal_pieces(const struct operation *o, uint64_t size, struct arena *arena,
                         uint64_t **out, size_t *count, struct error *err)
{
    const int64_t pieces = o->argument[1].integer;
    if (pieces < 1 || size % (uint64_t)pieces) {
        impossible(o, "the axis cannot be cut into that many equal pieces", err);
    } else if (pieces > PARTS_MAX) {
        impossible(o, "it would make more tensors than the limit", err);
    } else if ((*out = arena_array(arena, (size_t)pieces, sizeof(**out)))) {
        *count = (size_t)pieces;
        for (size_t i = 0; i < *count; i++)
            (*out)[i] = size / (uint64_t)pieces;
    }
}

static void listed_pieces(const struct operation *o, uint64_t size, struct arena *arena,
                          uint64_t **out, size_t *count, struct error *err)
{
    struct elements list;
    const char *at;
    size_t len, space = 0;
    uint64_t sum = 0;
    int more;
    argument_elements(&list, &o->argument[1]);
    while ((more = elements_next(&list, &at, &len)) > 0 && *count < PARTS_MAX) {
        struct argument a;
        argument_read(&a, at, len);
        if (!a.whole)
            break;
        if (a.integer < 0 || !add_u64(sum, (uint64_t)a.integer, &sum))
            impossible(o, "a size is negative", err);
        *PUSH(arena, *out, *count, space) = (uint64_t)a.integer;
    }
    if (more || !*count)
        impossible(o, "a number of pieces or a list of their sizes is wanted", err);
    else if (sum != size)
        impossible(o, "the sizes do not add up to the size of the axis", err);
}

enum status view_split(const struct operation *o, uint64_t size, struct arena *arena,
                       uint64_t **out, size_t *count, struct error *err)
{
    *out = NULL;
    *count = 0;
    if (o->argument[1].whole)
        equal_pieces(o, size, arena, out, count, err);
    else
        listed_pieces(o, size, arena, out, count, err);
    return err->status;
}

/* --- values ------------------------------------------------------------------------------ */

static enum status scale_or_add(struct view *v, const struct operation *o, struct error *err)
{
    const double number = o->argument[0].number;
    if (!isfinite(number))
        return impossible(o, "a number is wanted", err);
    v->scale *= o->kind == OPERATION_SCALE ? number : 1;
    v->add = o->kind == OPERATION_SCALE ? v->add * number : v->add + number;
    return OK;
}

static enum status zeros(struct view *v, const struct operation *o, struct error *err)
{
    int64_t sizes[OPERATION_LIST_MAX] = {0};
    v->zeros = true;
    v->scale = 1;
    v->add = 0;
    if (o->arguments) {
        if (!argument_integers(&o->argument[0], sizes, &v->rank) || v->rank > VIEW_RANK_MAX)
            return impossible(o, "a list of sizes is wanted", err);
        for (unsigned a = 0; a < v->rank; a++) {
            v->shape[a] = (uint64_t)sizes[a];
            if (sizes[a] < 0)
                return impossible(o, "a size is negative", err);
        }
    }
    return view_lay_out(v) ? OK : impossible(o, "the shape overflows", err);
}

enum status view_apply(struct view *v, const struct operation *o, struct error *err)
{
    switch (o->kind) {
    case OPERATION_CAST: return OK;
    case OPERATION_TRANSPOSE: return transpose(v, o, err);
    case OPERATION_PERMUTE: return permute(v, o, err);
    case OPERATION_RESHAPE: return reshape(v, o, err);
    case OPERATION_FLATTEN: return flatten(v, o, err);
    case OPERATION_TAKE: return view_take(v, o, err);
    case OPERATION_SLICE: return slice(v, o, err);
    case OPERATION_SCALE:
    case OPERATION_ADD: return scale_or_add(v, o, err);
    case OPERATION_ZEROS: return zeros(v, o, err);
    default: return impossible(o, "only a map of dialect convert divides and joins tensors", err);
    }
}

enum status view_apply_all(struct view *v, const char *operations, struct error *err)
{
    struct elements all;
    struct operation o;
    elements_of(&all, operations, strlen(operations));
    while (operations_next(&all, &o, err) > 0 && view_apply(v, &o, err) == OK)
        continue;
    return err->status;
}

bool view_is_run(const struct view *v)
{
    struct view_dim dim[VIEW_DIMS_MAX];
    unsigned count = view_merge(v, dim);
    return count == 0 || (count == 1 && dim[0].step == 1);
}
