#include "catalog/data/read/gather.h"

#include <stdlib.h>

#include "catalog/base/pages.h"
#include "catalog/data/store/temporary.h"

#define BUFFER_BYTES ((uint64_t)256 << 10)
#define DIRECT_BYTES ((uint64_t)16 << 10) /* runs of this size need no buffer */
#define NEAR_BYTES   ((uint64_t)1 << 10)  /* read runs as one that are this near */
#define NEAR_FACTOR  4                    /* or if a quarter of the bytes read is used */
#define REPEAT_BYTES ((uint64_t)64 << 10) /* repeat by pieces of this size */
#define PIECE_BYTES  ((uint64_t)8 << 20)  /* buffered when the destination is a file */

/* Leave out dimensions of size one, and reverse those that run backwards in the source. False:
 * there is nothing to copy. */
static bool drop_and_turn(struct gather *g)
{
    unsigned kept = 0;
    for (unsigned d = 0; d < g->rank; d++) {
        struct gather_dim dim = g->dim[d];
        if (dim.count == 0)
            return false;
        if (dim.count == 1)
            continue;
        if (dim.from < 0) {
            g->from += (dim.count - 1) * (uint64_t)dim.from;
            g->to += (dim.count - 1) * (uint64_t)dim.to;
            dim.from = -dim.from;
            dim.to = -dim.to;
        }
        g->dim[kept++] = dim;
    }
    g->rank = kept;
    return true;
}

/* Sort by step in the source, largest first; stable. (At most 63 dimensions have a size over
 * one.) */
static void sort_by_source(struct gather *g)
{
    for (unsigned i = 1; i < g->rank; i++) {
        struct gather_dim dim = g->dim[i];
        unsigned at = i;
        for (; at > 0 && g->dim[at - 1].from < dim.from; at--)
            g->dim[at] = g->dim[at - 1];
        g->dim[at] = dim;
    }
}

/* Merge neighbouring dimensions where the outer one continues the inner: 5 rows of 8 elements, 8
 * apart in the source and in memory, become one run of 40. */
static void gather_join(struct gather *g)
{
    unsigned kept = 0;
    for (unsigned d = 0; d < g->rank; d++) {
        struct gather_dim *outer = kept ? &g->dim[kept - 1] : NULL;
        const struct gather_dim *inner = &g->dim[d];
        if (outer && outer->from == inner->from * (int64_t)inner->count &&
            outer->to == inner->to * (int64_t)inner->count) {
            outer->count *= inner->count;
            outer->from = inner->from;
            outer->to = inner->to;
        } else {
            g->dim[kept++] = *inner;
        }
    }
    g->rank = kept;
}

bool gather_is_run(const struct gather *g)
{
    struct gather joined = *g;
    if (!drop_and_turn(&joined))
        return true;
    sort_by_source(&joined);
    gather_join(&joined);
    const struct gather_dim *dim = joined.dim;
    return !joined.rank || (joined.rank == 1 && dim->from == 1 && dim->to == 1);
}

/* How a gather is carried out: the inner `loaded` dimensions are read through a buffer together,
 * the outermost `part` steps at a time. Example, every second of 8 elements in rows of 16: dims
 * {rows, 16} and {4, 2}. A row spans 7 units, which fit the buffer, so its dimension is loaded
 * whole; rows are close together, so as many as fit are loaded with it. */
struct plan {
    unsigned loaded;
    uint64_t part;
    uint64_t span; /* units of the source that a full part covers */
    bool direct;   /* a run in the source that is one in memory, too: needs no buffer */
};

static struct plan plan_of(const struct gather *g)
{
    struct plan p = {.part = 1, .span = 1};
    uint64_t room = BUFFER_BYTES / g->unit, useful = 1;
    const struct gather_dim *last = g->rank ? &g->dim[g->rank - 1] : NULL;
    if (!last || (last->from == 1 && last->to == 1 &&
                  (g->rank == 1 || last->count >= DIRECT_BYTES / g->unit))) {
        p.direct = true;
        p.loaded = last ? 1 : 0;
        p.part = last ? last->count : 1;
        return p;
    }
    for (; p.loaded < g->rank; p.loaded++) {
        const struct gather_dim *dim = &g->dim[g->rank - 1 - p.loaded];
        uint64_t step = (uint64_t)dim->from;
        if (p.part > 1 && p.part < g->dim[g->rank - p.loaded].count)
            break; /* the dimension inside it does not fit as a whole */
        if (p.span > room || step > room - p.span ||
            (step > NEAR_BYTES / g->unit && step / NEAR_FACTOR > useful))
            break;
        uint64_t most = step ? (room - p.span) / step + 1 : dim->count;
        p.part = dim->count < most ? dim->count : most;
        p.span += (p.part - 1) * step;
        if (step && !mul_u64(useful, p.part, &useful))
            break;
    }
    return p;
}

#define COPY_ALL(bytes)                                                                            \
    for (uint64_t i = 0; i < count; i++)                                                           \
    memcpy(to + (int64_t)i * to_step, from + (int64_t)i * from_step, bytes)

/* Copy `count` units; the steps are in bytes. */
static void copy_units(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                       uint64_t count, size_t unit)
{
    if (to_step == (int64_t)unit && from_step == (int64_t)unit) {
        memcpy(to, from, count * unit);
    } else if (to_step == (int64_t)unit && from_step == 0) {
        /* Copy a unit `count` times, by doubling, but in pieces of REPEAT_BYTES at most. */
        uint64_t most = unit < REPEAT_BYTES ? REPEAT_BYTES / unit : 1;
        memcpy(to, from, unit);
        for (uint64_t done = 1; done < count;) {
            uint64_t n = done < count - done ? done : count - done;
            n = n < most ? n : most;
            memcpy(to + done * unit, to, n * unit);
            done += n;
        }
    } else if (unit == 1) {
        COPY_ALL(1);
    } else if (unit == 2) {
        COPY_ALL(2);
    } else if (unit == 4) {
        COPY_ALL(4);
    } else if (unit == 8) {
        COPY_ALL(8);
    } else if (unit == 16) {
        COPY_ALL(16);
    } else {
        COPY_ALL(unit);
    }
}

/* Advance an odometer over dim[0, rank) and both positions. False after the last. */
static bool gather_advance(const struct gather_dim *dim, unsigned rank, uint64_t *index,
                           uint64_t *from, uint64_t *to)
{
    for (unsigned d = rank; d-- > 0;) {
        *from += (uint64_t)dim[d].from;
        *to += (uint64_t)dim[d].to;
        if (++index[d] < dim[d].count)
            return true;
        *from -= dim[d].count * (uint64_t)dim[d].from;
        *to -= dim[d].count * (uint64_t)dim[d].to;
        index[d] = 0;
    }
    return false;
}

/* Copy from the buffer to `dst`: `count` steps of dim[0], every step of the others. */
static void scatter(const struct gather_dim *dim, unsigned rank, uint64_t count, size_t unit,
                    const uint8_t *buffer, uint8_t *dst)
{
    struct gather_dim part[64];
    uint64_t index[64] = {0}, from = 0, to = 0;
    memcpy(part, dim, rank * sizeof(*dim));
    part[0].count = count;
    const struct gather_dim *last = &part[rank - 1];
    do
        copy_units(dst + (int64_t)to * (int64_t)unit, last->to * (int64_t)unit,
                   buffer + from * unit, last->from * (int64_t)unit, last->count, unit);
    while (gather_advance(part, rank - 1, index, &from, &to));
}

/* Copy all of the loaded dimensions at one position of the outer ones. */
static enum status gather_load(const struct gather *g, const struct plan *p, const struct source *s,
                               uint8_t *buffer, uint8_t *dst, struct error *err)
{
    if (!p->loaded || p->direct)
        return source_read(s, g->from * g->unit, dst + g->to * g->unit, (size_t)(p->part * g->unit),
                           err);
    const struct gather_dim *dim = &g->dim[g->rank - p->loaded];
    uint64_t from = g->from, to = g->to;
    for (uint64_t done = 0; done < dim->count; done += p->part) {
        uint64_t n = dim->count - done < p->part ? dim->count - done : p->part;
        uint64_t span = p->span - (p->part - n) * (uint64_t)dim->from;
        if (source_read(s, from * g->unit, buffer, (size_t)(span * g->unit), err) != OK)
            return err->status;
        scatter(dim, p->loaded, n, g->unit, buffer, dst + to * g->unit);
        from += n * (uint64_t)dim->from;
        to += n * (uint64_t)dim->to;
    }
    return OK;
}

enum status gather_run(struct gather *g, const struct source *s, uint8_t *dst, struct error *err)
{
    if (!drop_and_turn(g))
        return OK;
    sort_by_source(g);
    gather_join(g);
    struct plan p = plan_of(g);
    uint64_t index[64] = {0};
    uint8_t *buffer = NULL;
    if (p.loaded && !p.direct && !(buffer = pages_alloc((size_t)(p.span * g->unit))))
        return error_memory_at(err, s->name);
    enum status status;
    do
        status = gather_load(g, &p, s, buffer, dst, err);
    while (status == OK && gather_advance(g->dim, g->rank - p.loaded, index, &g->from, &g->to));
    free(buffer);
    return status;
}

/* --- out of memory ---------------------------------------------------------------------- */

void gather_copy(struct gather *g, const uint8_t *from, uint8_t *dst)
{
    const struct gather_dim one = {.count = 1};
    uint64_t index[64] = {0};
    if (!drop_and_turn(g))
        return;
    sort_by_source(g);
    gather_join(g);
    unsigned outer = g->rank ? g->rank - 1 : 0;
    const struct gather_dim *last = g->rank ? &g->dim[outer] : &one;
    int64_t unit = (int64_t)g->unit;
    do
        copy_units(dst + g->to * g->unit, last->to * unit, from + g->from * g->unit,
                   last->from * unit, last->count, g->unit);
    while (gather_advance(g->dim, outer, index, &g->from, &g->to));
}

/* --- into a file ------------------------------------------------------------------------ */

/* The destination of pieces: packed into a buffer in the order of the file, then written. */
struct pieces {
    const struct source *source;
    uint8_t *buffer;
    int fd;
    const char *what;
};

/* Make all steps in the file positive, and sort by them, largest first. */
static void turn_to_file(struct gather *g)
{
    for (unsigned d = 0; d < g->rank; d++) {
        struct gather_dim dim = g->dim[d];
        if (dim.to < 0) {
            g->from += (dim.count - 1) * (uint64_t)dim.from;
            g->to += (dim.count - 1) * (uint64_t)dim.to;
            dim.from = -dim.from;
            dim.to = -dim.to;
        }
        unsigned at = d;
        for (; at > 0 && g->dim[at - 1].to < dim.to; at--)
            g->dim[at] = g->dim[at - 1];
        g->dim[at] = dim;
    }
}

/* Gather a piece into the buffer, then write it run by run. */
static enum status move_piece(const struct pieces *p, struct gather out, struct error *err)
{
    uint64_t packed = 1, run = 1, index[64] = {0};
    turn_to_file(&out);
    struct gather in = out;
    in.to = out.from = 0;
    for (unsigned d = out.rank; d-- > 0;) {
        in.dim[d].to = out.dim[d].from = (int64_t)packed;
        packed *= out.dim[d].count;
    }
    unsigned outer = out.rank;
    while (outer && out.dim[outer - 1].to == (int64_t)run)
        run *= out.dim[--outer].count;
    if (gather_run(&in, p->source, p->buffer, err) == OK)
        do
            temporary_write(p->fd, out.to * out.unit, p->buffer + out.from * out.unit,
                            (size_t)run * out.unit, p->what, err);
        while (err->status == OK && gather_advance(out.dim, outer, index, &out.from, &out.to));
    return err->status;
}

enum status gather_to_file(struct gather *g, const struct source *s, int fd, const char *what,
                           struct error *err)
{
    uint64_t room = PIECE_BYTES / g->unit, inside = 1, index[64] = {0};
    if (!drop_and_turn(g))
        return OK;
    sort_by_source(g);
    gather_join(g);
    if (!g->rank)
        g->dim[g->rank++] = (struct gather_dim){.count = 1};
    /* dim[outer] is cut into parts, those after it are moved whole */
    unsigned outer = g->rank - 1;
    while (outer && g->dim[outer].count <= room / inside)
        inside *= g->dim[outer--].count;
    uint64_t part = room / inside ? room / inside : 1;
    part = part < g->dim[outer].count ? part : g->dim[outer].count;
    struct pieces p = {s, pages_alloc((size_t)(part * inside * g->unit)), fd, what};
    if (!p.buffer)
        return error_memory_at(err, what);
    do {
        struct gather piece = *g;
        piece.rank = g->rank - outer;
        memmove(piece.dim, g->dim + outer, piece.rank * sizeof(*piece.dim));
        /* Move a gather in parts of `part` steps of dim[0]. */
        struct gather_dim *dim = &piece.dim[0];
        for (uint64_t left = dim->count; left; left -= dim->count) {
            dim->count = left < part ? left : part;
            if (move_piece(&p, piece, err) != OK)
                break;
            piece.from += dim->count * (uint64_t)dim->from;
            piece.to += dim->count * (uint64_t)dim->to;
        }
    } while (err->status == OK && gather_advance(g->dim, outer, index, &g->from, &g->to));
    free(p.buffer);
    return err->status;
}

/* --- boxes ------------------------------------------------------------ */

void box_next(const struct ckptdb_slice *slices, unsigned rank, uint64_t position, uint64_t left,
              struct box *out)
{
    out->rank = rank;
    out->units = 1;
    for (unsigned d = rank; d-- > 0;) {
        out->lo[d] = position % slices[d].count;
        out->n[d] = 1;
        position /= slices[d].count;
    }
    for (unsigned d = rank; d-- > 0;) {
        uint64_t rest = slices[d].count - out->lo[d], most = left / out->units;
        out->n[d] = rest < most ? rest : most;
        out->units *= out->n[d];
        if (out->n[d] < slices[d].count)
            break;
    }
}

void box_range(const struct box *b, const struct ckptdb_slice *slices, const uint64_t *shape,
               uint64_t *first, uint64_t *last)
{
    uint64_t stride = 1;
    *first = *last = 0;
    for (unsigned d = b->rank; d-- > 0;) {
        uint64_t one = slice_at(&slices[d], b->lo[d]);
        uint64_t other = slice_at(&slices[d], b->lo[d] + b->n[d] - 1);
        *first += (one < other ? one : other) * stride;
        *last += (one < other ? other : one) * stride;
        stride *= shape[d];
    }
}

bool box_gather(const struct box *b, const struct ckptdb_slice *slices, const struct part *p,
                struct gather *out)
{
    uint64_t to_stride = 1;
    out->from = out->to = 0;
    out->rank = b->rank;
    for (unsigned d = b->rank; d-- > 0;) {
        uint64_t skip = 0, origin = p->origin ? p->origin[d] : 0;
        uint64_t start = slice_at(&slices[d], b->lo[d]);
        int64_t step = b->n[d] > 1 ? slices[d].step : 1;
        uint64_t count =
            p->shape[d] ? slice_clip(start, step, b->n[d], origin, origin + p->shape[d] - 1, &skip)
                        : 0;
        if (!count)
            return false;
        uint64_t first = start + skip * (uint64_t)step - origin;
        out->from += first * (uint64_t)p->strides[d];
        out->to += skip * to_stride;
        out->dim[d] = (struct gather_dim){
            .count = count,
            .from = count > 1 ? step * p->strides[d] : 0,
            .to = (int64_t)to_stride,
        };
        to_stride *= b->n[d];
    }
    return true;
}
