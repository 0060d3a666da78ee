#include "catalog/data/convert/convert.h"

#include <inttypes.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/data/convert/kernels.h"
#include "catalog/data/kernel/cpu.h"

bool converter_scalar_only;

/* Elements that go through all steps together: two buffers stay in the L1 cache.
 * A multiple of every block size. */
#define CHUNK 1024

/* The wide types between which values are converted; a dtype is loaded into one. */
enum hub { HUB_I64, HUB_U64, HUB_F32, HUB_F64, HUBS };

/* The kernels from one dtype to its hub and back. */
struct route {
    enum dtype_kind kind;
    uint16_t bits;
    const char *name; /* NULL: any dtype of this kind and width */
    enum hub hub;
    enum kernel unpack, load;   /* to the hub */
    enum kernel store, store64; /* from the hub; directly from float64, or NONE */
    enum kernel pack;
};

#define K(name) KERNEL_##name
#define NONE    KERNEL_NONE
/* clang-format off */
static const struct route routes[] = {
    {DTYPE_BOOL,  8,  NULL,             HUB_I64, NONE,         K(load_bool),   K(store_8),       NONE,          NONE},
    {DTYPE_INT,   2,  NULL,             HUB_I64, K(unpack_i2), K(load_i8),     K(store_8),       NONE,          K(pack_2)},
    {DTYPE_INT,   4,  NULL,             HUB_I64, K(unpack_i4), K(load_i8),     K(store_8),       NONE,          K(pack_4)},
    {DTYPE_INT,   8,  NULL,             HUB_I64, NONE,         K(load_i8),     K(store_8),       NONE,          NONE},
    {DTYPE_INT,   16, NULL,             HUB_I64, NONE,         K(load_i16),    K(store_16),      NONE,          NONE},
    {DTYPE_INT,   32, NULL,             HUB_I64, NONE,         K(load_i32),    K(store_32),      NONE,          NONE},
    {DTYPE_INT,   64, NULL,             HUB_I64, NONE,         NONE,           NONE,             NONE,          NONE},
    {DTYPE_UINT,  2,  NULL,             HUB_I64, K(unpack_u2), K(load_u8),     K(store_8),       NONE,          K(pack_2)},
    {DTYPE_UINT,  4,  NULL,             HUB_I64, K(unpack_u4), K(load_u8),     K(store_8),       NONE,          K(pack_4)},
    {DTYPE_UINT,  8,  NULL,             HUB_I64, NONE,         K(load_u8),     K(store_8),       NONE,          NONE},
    {DTYPE_UINT,  16, NULL,             HUB_I64, NONE,         K(load_u16),    K(store_16),      NONE,          NONE},
    {DTYPE_UINT,  32, NULL,             HUB_I64, NONE,         K(load_u32),    K(store_32),      NONE,          NONE},
    {DTYPE_UINT,  64, NULL,             HUB_U64, NONE,         NONE,           NONE,             NONE,          NONE},
    {DTYPE_FLOAT, 64, NULL,             HUB_F64, NONE,         NONE,           NONE,             NONE,          NONE},
    {DTYPE_FLOAT, 32, NULL,             HUB_F32, NONE,         NONE,           NONE,             K(f64_f32),    NONE},
    {DTYPE_FLOAT, 16, "float16",        HUB_F32, NONE,         K(decode_half), K(encode32_half), K(encode64_16), NONE},
    {DTYPE_FLOAT, 16, "bfloat16",       HUB_F32, NONE,         K(decode_bf16), K(encode32_bf16), K(encode64_16), NONE},
    {DTYPE_FLOAT, 8,  "float8_e8m0fnu", HUB_F32, NONE,         K(decode_e8m0), K(encode32_e8m0), NONE,          NONE},
    {DTYPE_FLOAT, 8,  NULL,             HUB_F32, NONE,         K(decode_8),    K(encode32_8),    K(encode64_8), NONE},
    {DTYPE_FLOAT, 4,  NULL,             HUB_F32, K(unpack_u4), K(decode_8),    K(encode32_8),    K(encode64_8), K(pack_4)},
#define Q(type) {DTYPE_BLOCK, 0, #type, HUB_F32, K(unblock), NONE, K(quantise_##type), NONE, NONE},
    QUANTISED(Q)
#undef Q
    {DTYPE_BLOCK, 0,  NULL,             HUB_F32, K(unblock),   NONE,           NONE,             NONE,          NONE},
};
/* clang-format on */

/* One step from a hub towards another: its kernel, and the hub it leads to. `odd` is the kernel for
 * values that will be rounded again. Example: int64 to float32 is i64_f64_odd, then f64_f32. */
struct bridge {
    enum kernel kernel, odd;
    enum hub next;
};

static const struct bridge bridges[HUBS][HUBS] = {
    [HUB_I64][HUB_U64] = {K(i64_u64), K(i64_u64), HUB_U64},
    [HUB_I64][HUB_F64] = {K(i64_f64), K(i64_f64_odd), HUB_F64},
    [HUB_I64][HUB_F32] = {K(i64_f64_odd), K(i64_f64_odd), HUB_F64},
    [HUB_U64][HUB_I64] = {K(u64_i64), K(u64_i64), HUB_I64},
    [HUB_U64][HUB_F64] = {K(u64_f64), K(u64_f64_odd), HUB_F64},
    [HUB_U64][HUB_F32] = {K(u64_f64_odd), K(u64_f64_odd), HUB_F64},
    [HUB_F32][HUB_I64] = {K(f32_f64), K(f32_f64), HUB_F64},
    [HUB_F32][HUB_U64] = {K(f32_f64), K(f32_f64), HUB_F64},
    [HUB_F32][HUB_F64] = {K(f32_f64), K(f32_f64), HUB_F64},
    [HUB_F64][HUB_I64] = {K(f64_i64), K(f64_i64), HUB_I64},
    [HUB_F64][HUB_U64] = {K(f64_u64), K(f64_u64), HUB_U64},
    [HUB_F64][HUB_F32] = {K(f64_f32), K(f64_f32), HUB_F32},
};

static const struct route *route_find(const struct dtype *d)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const struct route *r = &routes[i];
        if (r->kind == d->kind && r->bits == d->bits && (!r->name || strcmp(r->name, d->name) == 0))
            return r;
    }
    return NULL;
}

/* --- planning -------------------------------------------------------------------------- */

static void step_add(struct converter *c, enum kernel kernel, const struct dtype *d)
{
    if (kernel == KERNEL_NONE)
        return;
    struct converter_step *s = &c->steps[c->step_count++];
    const unsigned bits = d->kind == DTYPE_BOOL ? 1 : d->bits;
    *s = (struct converter_step){.kernel = kernel,
                                 .format = float_format_find(d->name),
                                 .decode = ggml_decoder(d->name),
                                 .elems = d->block_elems,
                                 .bytes = d->block_bytes};
    if (d->kind == DTYPE_INT && bits < 64) {
        s->most = (INT64_C(1) << (bits - 1)) - 1;
        s->least = -s->most - 1;
    } else if (bits < 63) {
        s->most = (INT64_C(1) << bits) - 1;
    }
}

/* The steps between two real dtypes. */
static void plan(struct converter *c, const struct dtype *from, const struct route *in,
                 const struct dtype *to, const struct route *out)
{
    step_add(c, in->unpack, from);
    step_add(c, in->load, from);

    /* Encode a narrow float directly from float64 (unless the value is in float32 anyway): going
     * through float32 would round twice. */
    const bool direct = out->store64 != KERNEL_NONE && in->hub != HUB_F32;
    const enum hub goal = direct ? HUB_F64 : out->hub;
    for (enum hub at = in->hub; at != goal;) {
        const struct bridge *b = &bridges[at][goal];
        step_add(c, direct ? b->odd : b->kernel, to);
        at = b->next;
    }
    if (to->kind == DTYPE_FLOAT && to->bits == 4)
        step_add(c, direct ? K(no_nan_f64) : K(no_nan_f32), to);
    step_add(c, direct ? out->store64 : out->store, to);
    step_add(c, out->pack, to);
}

/* The dtype of the two parts of a complex dtype; else the dtype itself. */
static struct dtype part_of(const struct dtype *d)
{
    struct dtype part = *d;
    if (d->kind == DTYPE_COMPLEX)
        dtype_find(d->bits == 32 ? "float16" : d->bits == 64 ? "float32" : "float64", &part);
    return part;
}

static enum status convert_refuse(const struct dtype *from, const struct dtype *to,
                                  const char *reason, struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "cannot convert %s to %s: %s",
                     from->name, to->name, reason);
}

/* Why a dtype converts only to itself. */
static const char *unroutable(const struct dtype *d)
{
    if (!dtype_sized(d))
        return "an element has no fixed size";
    if (d->kind == DTYPE_FLOAT)
        return "how 6-bit elements are packed is not specified";
    return d->kind == DTYPE_TIME ? "times are not numbers" : "raw bytes are not numbers";
}

static enum status run_copy(const struct converter *, const void *, void *, uint64_t, uint64_t *);
static enum status run_steps(const struct converter *, const void *, void *, uint64_t, uint64_t *);

enum status converter_find_stored(const struct dtype *from, const struct dtype *to,
                                  struct converter *out, struct error *err)
{
    struct converter c = {.from = *from, .to = *to, .run = run_steps, .parts = 1};
    if (strcmp(from->name, to->name) == 0 && dtype_sized(from)) {
        c.run = run_copy;
        *out = c;
        return OK;
    }
    if (from->kind == DTYPE_COMPLEX && to->kind != DTYPE_COMPLEX)
        return convert_refuse(from, to, "that would drop the imaginary part", err);

    const struct dtype part_from = part_of(from), part_to = part_of(to);
    const struct route *in = route_find(&part_from), *route_out = route_find(&part_to);
    if (!in || !route_out)
        return convert_refuse(from, to, unroutable(in ? to : from), err);
    if (to->kind == DTYPE_BLOCK && !route_out->store)
        return convert_refuse(from, to, "it cannot be quantised to without importance weights",
                              err);
    if (from->kind == DTYPE_BLOCK && !ggml_decoder(from->name))
        return convert_refuse(from, to, "such blocks are for ggml's own use and never in files",
                              err);

    plan(&c, &part_from, in, &part_to, route_out);
    if (from->kind == DTYPE_COMPLEX)
        c.parts = 2;
    else if (to->kind == DTYPE_COMPLEX)
        step_add(&c,
                 to->bits == 32   ? K(complex_16)
                 : to->bits == 64 ? K(complex_32)
                                  : K(complex_64),
                 to);
    *out = c;
    return OK;
}

static bool is_quantised(const struct dtype *d)
{
    return strncmp(d->name, "qint", 4) == 0 || strncmp(d->name, "quint", 5) == 0;
}

enum status converter_find(const struct dtype *from, const struct dtype *to, struct converter *out,
                           struct error *err)
{
    if (is_quantised(from) && !dtype_is_integer(to))
        return convert_refuse(from, to,
                              "it has quantised integers, which are numbers only with their "
                              "scale and zero point; a dtype of integers gives them as they "
                              "are stored",
                              err);
    if (is_quantised(to) && !dtype_is_integer(from))
        return convert_refuse(from, to, "nothing is quantised here", err);
    return converter_find_stored(from, to, out, err);
}

enum status converter_check_row(const struct dtype *from, const struct dtype *to, uint64_t row,
                                struct error *err)
{
    if (to->kind != DTYPE_BLOCK || row % to->block_elems == 0 || strcmp(from->name, to->name) == 0)
        return OK;
    return error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                     "cannot convert %s to %s: rows of %" PRIu64
                     " are not whole blocks of %u elements",
                     from->name, to->name, row, to->block_elems);
}

/* --- running --------------------------------------------------------------------------- */

static enum status run_copy(const struct converter *c, const void *src, void *dst, uint64_t count,
                            uint64_t *bad)
{
    (void)bad;
    uint64_t nbytes;
    if (!dtype_nbytes(&c->from, count, &nbytes))
        return ERR_ARGUMENT;
    if (nbytes)
        memcpy(dst, src, nbytes);
    return OK;
}

static const struct kernel_set *kernels_best(void)
{
#ifdef __x86_64__
    if (!converter_scalar_only && CPU_HAS(AVX2) && CPU_HAS(F16C))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}

/* Run all steps on one chunk. Returns how many numbers come before the first bad one. Each step
 * gets only the numbers before the first one that failed so far, so the result is the first
 * failure of any step. */
static size_t run_chunk(const struct converter *c, const struct kernel_set *set, const void *src,
                        void *dst, size_t count)
{
    uint64_t buffers[2][CHUNK];
    const void *in = src;
    for (unsigned i = 0; i < c->step_count; i++) {
        void *out = i + 1 == c->step_count ? dst : buffers[i % 2];
        count = set->run[c->steps[i].kernel](&c->steps[i], in, out, count);
        in = out;
    }
    return count;
}

static enum status run_steps(const struct converter *c, const void *src, void *dst, uint64_t count,
                             uint64_t *bad)
{
    const struct kernel_set *set = kernels_best();
    const uint64_t chunk = c->step_count == 1 ? count * c->parts : CHUNK;
    const uint64_t numbers = count * c->parts;
    const struct dtype *from = &c->from, *to = &c->to;
    if ((from->kind == DTYPE_BLOCK && count % from->block_elems) ||
        (to->kind == DTYPE_BLOCK && count % to->block_elems))
        return ERR_ARGUMENT;
    for (uint64_t at = 0; at < numbers; at += chunk) {
        const size_t n = (size_t)(numbers - at < chunk ? numbers - at : chunk);
        const uint64_t element = at / c->parts;
        const uint8_t *in = (const uint8_t *)src + element / from->block_elems * from->block_bytes;
        uint8_t *out = (uint8_t *)dst + element / to->block_elems * to->block_bytes;
        const size_t good = run_chunk(c, set, in, out, n);
        if (good < n) {
            *bad = (at + good) / c->parts;
            return ERR_VALUE;
        }
    }
    return OK;
}

enum status converter_run(const struct converter *c, const void *src, void *dst, uint64_t count,
                          uint64_t first, struct error *err)
{
    uint64_t bad = 0;
    const enum status status = c->run(c, src, dst, count, &bad);
    if (status == OK)
        return OK;
    if (status != ERR_VALUE)
        return error_set(err, status, NULL, NO_OFFSET,
                         "%" PRIu64 " elements are not whole blocks of %s", count,
                         (c->to.kind == DTYPE_BLOCK ? c->to : c->from).name);
    char value[64];
    element_print(&c->from, src, bad, value, sizeof(value));
    return error_set(err, ERR_VALUE, NULL, NO_OFFSET, "element %" PRIu64 ": %s does not fit %s",
                     first + bad, value, c->to.name);
}
