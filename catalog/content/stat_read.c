#include "catalog/content/stat_read.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/bits.h"
#include "catalog/base/list.h"
#include "catalog/content/stats.h"
#include "catalog/data/convert/convert.h"
#include "catalog/data/convert/float_format.h"
#include "catalog/data/kernel/cpu.h"
#include "catalog/data/read/read.h"

#define READ_BLOCKS 16                  /* of STAT_BLOCK elements, read at once */
#define CODES_FROM  (UINT64_C(1) << 16) /* elements: from here on, count codes */
#define TABLE       (1U << 16)          /* codes */
#define TABLES_8    ((size_t)8)         /* for 8-bit codes, one after another */

bool stat_scalar_only;

const struct stat_kernels *stat_kernels(void)
{
#ifdef __x86_64__
    if (!stat_scalar_only && CPU_HAS(AVX512F) && CPU_HAS(AVX512BW) && CPU_HAS(AVX512DQ) &&
        CPU_HAS(AVX512VL))
        return &stat_avx512;
    if (!stat_scalar_only && CPU_HAS(AVX2))
        return &stat_avx2;
#endif
    return &stat_plain;
}

/* --- dtypes --------------------------------------------------------------------------------- */

/* The dtype that values are converted to, for a way of computing. */
static void wide(const struct dtype *d, enum stat_way way, struct dtype *out)
{
    dtype_find(d->kind == DTYPE_COMPLEX ? "complex128"
               : way == STAT_64         ? "float64"
                                        : "float32",
               out);
}

enum stat_way stat_way(const struct stored_tensor *t)
{
    const struct dtype *d = &t->dtype;
    struct dtype to;
    struct converter c;
    struct error ignored = {.offset = NO_OFFSET};
    const bool narrow = d->kind == DTYPE_BLOCK || (d->kind == DTYPE_FLOAT && d->bits <= 32) ||
                        (d->kind != DTYPE_COMPLEX && d->bits <= 16);
    enum stat_way way = narrow ? STAT_32 : STAT_64;
    const bool number = d->kind == DTYPE_BOOL || d->kind == DTYPE_INT || d->kind == DTYPE_UINT ||
                        d->kind == DTYPE_FLOAT || d->kind == DTYPE_COMPLEX ||
                        d->kind == DTYPE_BLOCK;
    wide(d, way, &to);
    if (!number || converter_find_stored(d, &to, &c, &ignored) != OK)
        return STAT_NONE;
    const bool coded =
        d->kind != DTYPE_COMPLEX && (d->bits == 8 || d->bits == 16) && d->block_elems == 1;
    return coded && t->elements >= CODES_FROM ? STAT_CODES : way;
}

double stat_tiny(const struct dtype *d)
{
    const unsigned bits = d->kind == DTYPE_COMPLEX ? d->bits / 2U : d->bits;
    if (d->kind != DTYPE_FLOAT && d->kind != DTYPE_COMPLEX)
        return 0;
    if (bits == 64)
        return DBL_MIN;
    if (bits == 32 || strcmp(d->name, "bfloat16") == 0)
        return FLT_MIN;
    const struct float_format *f =
        float_format_find(d->kind == DTYPE_COMPLEX ? "float16" : d->name);
    return f ? ldexp(1, 1 - (int)f->bias) : 0;
}

static uint64_t stat_read_bytes_of(const struct dtype *d, uint64_t elements)
{
    return (elements + d->block_elems - 1) / d->block_elems * d->block_bytes;
}

uint64_t stat_part_bytes(const struct stored_tensor *t)
{
    return stat_read_bytes_of(&t->dtype, STAT_GROUP);
}

/* --- tables --------------------------------------------------------------------------------- */

struct table {
    struct table *next;
    uint32_t at[2 * TABLE];
};

struct stat_tables {
    pthread_mutex_t lock;
    struct table *idle;
};

struct stat_tables *stat_tables_new(void)
{
    struct stat_tables *t = calloc(1, sizeof(*t));
    if (t)
        pthread_mutex_init(&t->lock, NULL);
    return t;
}

void stat_tables_free(struct stat_tables *t)
{
    if (!t)
        return;
    while (t->idle) {
        struct table *next = t->idle->next;
        free(t->idle);
        t->idle = next;
    }
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static struct table *table_take(struct stat_tables *t)
{
    pthread_mutex_lock(&t->lock);
    struct table *taken = t->idle;
    if (taken)
        t->idle = taken->next;
    pthread_mutex_unlock(&t->lock);
    return taken ? taken : calloc(1, sizeof(*taken));
}

/* Add a code's count; without memory the outcome's error says so. */
static void add_code(struct stat_outcome *o, uint32_t code, uint64_t count)
{
    if (count)
        *LIST_PUSH(&o->err, o->codes, o->code_count, o->code_space) =
            (struct stat_count){code, count};
}

/* Most of a table is zero, so look at runs of 32 first. */
static void empty_16(uint32_t *at, struct stat_outcome *o)
{
    enum { RUN = 32 };
    for (uint32_t i = 0; i < TABLE; i += RUN) {
        uint32_t any = 0;
        for (uint32_t k = i; k < i + RUN; k++)
            any |= at[k] | at[TABLE + k];
        for (uint32_t k = i; any && k < i + RUN; k++) {
            add_code(o, k, (uint64_t)at[k] + at[TABLE + k]);
            at[k] = at[TABLE + k] = 0;
        }
    }
}

static void empty_8(uint32_t *at, struct stat_outcome *o)
{
    for (uint32_t code = 0; code < 256; code++) {
        uint64_t count = 0;
        for (uint32_t *table = at; table < at + TABLES_8 * 256; table += 256) {
            count += table[code];
            table[code] = 0;
        }
        add_code(o, code, count);
    }
}

static void empty_table(uint32_t *at, const struct dtype *d, struct stat_outcome *o)
{
    if (d->bits == 8)
        empty_8(at, o);
    else
        empty_16(at, o);
}

/* --- reading -------------------------------------------------------------------------------- */

struct counting {
    const struct sweep_part *part;
    enum stat_way way;
    const struct stat_kernels *kernels;
    struct converter converter;
    double tiny;
    bool converted;  /* else the values are float32, or float64, as they are */
    uint64_t at;     /* elements done */
    uint32_t *codes; /* one of the tables */
    struct stat_outcome *out;
    /* Room for the numbers of a block; for complex ones, both parts. */
    double *numbers;
};

#define SCALE 600 /* of float64 at most 2^1024: squares are below 2^848 */

void stat_scale(struct stat_sums *s)
{
    if (s->scale)
        return;
    s->mean = ldexp(s->mean, -SCALE);
    s->spread = ldexp(s->spread, -2 * SCALE);
    s->scale = SCALE;
}

/* The mean and spread of a block whose sums or squares are too large. */
static void scale_block(const uint8_t *values, size_t count, struct stat_sums *s)
{
    double mean = 0, spread = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < count; i++) {
            double x;
            memcpy(&x, values + i * sizeof(x), sizeof(x));
            if (!isfinite(x))
                continue;
            x = ldexp(x, -SCALE);
            if (turn)
                spread += (x - mean) * (x - mean);
            else
                mean += x / (double)s->finite;
        }
    }
    s->mean = mean;
    s->spread = spread;
    s->scale = SCALE;
}

static void join_means(struct stat_sums *a, const struct stat_sums *b)
{
    const double n = (double)a->finite, m = (double)b->finite;
    const double apart = a->finite ? b->mean - a->mean : 0;
    a->mean = a->finite ? a->mean + apart * (m / (n + m)) : b->mean;
    a->spread += b->spread + apart * apart * (n * m / (n + m));
    a->scale = b->scale;
}

void stat_join(struct stat_sums *a, const struct stat_sums *b)
{
    struct stat_sums sum = *a, other = *b;
    if (b->finite) {
        if (sum.scale || other.scale) {
            stat_scale(&sum);
            stat_scale(&other);
        }
        join_means(&sum, &other);
        if (!isfinite(sum.mean) || !isfinite(sum.spread)) {
            sum = *a;
            stat_scale(&sum);
            stat_scale(&other);
            join_means(&sum, &other);
        }
        *a = sum;
        a->least = !a->finite || b->least < a->least ? b->least : a->least;
        a->most = !a->finite || b->most > a->most ? b->most : a->most;
    }
    a->finite += b->finite;
    a->zeros += b->zeros;
    a->nans += b->nans;
    a->infs += b->infs;
    a->subnormals += b->subnormals;
}

/* Count up to STAT_BLOCK elements, converted to float32 or float64. */
static void count_block(struct counting *c, const uint8_t *from, size_t count, struct error *err)
{
    struct stat_sums sums;
    const void *values = c->converted ? (const void *)c->numbers : from;
    if (c->converted && converter_run(&c->converter, from, c->numbers, count, c->at, err) != OK)
        return;
    if (c->part->tensor->dtype.kind == DTYPE_COMPLEX)
        for (size_t i = 0; i < count; i++)
            c->numbers[i] = hypot(c->numbers[2 * i], c->numbers[2 * i + 1]);
    stat_kernel *kernel = c->way == STAT_32 ? c->kernels->of_32 : c->kernels->of_64;
    kernel(values, count, c->tiny, &sums, &c->out->grid);
    if (c->way == STAT_64 && sums.finite && (!isfinite(sums.mean) || !isfinite(sums.spread)))
        scale_block(values, count, &sums);
    stat_join(&c->out->groups[c->at / STAT_GROUP], &sums);
}

/* Eight tables, so that no count waits for the count of the code before. */
static void count_codes_8(uint32_t *table, const uint8_t *from, size_t count)
{
    size_t i = 0;
    for (; i + TABLES_8 <= count; i += TABLES_8) {
        const uint64_t eight = load_u64le(from + i);
#pragma GCC unroll 8
        for (unsigned k = 0; k < TABLES_8; k++)
            table[k << 8 | (eight >> 8 * k & 0xFF)]++;
    }
    for (; i < count; i++)
        table[from[i]]++;
}

static void count_codes_16(uint32_t *table, const uint8_t *from, size_t count)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint64_t four = load_u64le(from + i * 2);
        table[four & 0xFFFF]++;
        table[1 << 16 | (four >> 16 & 0xFFFF)]++;
        table[four >> 32 & 0xFFFF]++;
        table[1 << 16 | four >> 48]++;
    }
    for (; i < count; i++)
        table[load_u16le(from + i * 2)]++;
}

static void count_bytes(struct counting *c, const uint8_t *from, uint64_t elements,
                        struct error *err)
{
    const struct dtype *d = &c->part->tensor->dtype;
    for (uint64_t i = 0; i < elements && err->status == OK; i += STAT_BLOCK) {
        const uint64_t left = elements - i;
        const size_t count = (size_t)(left < STAT_BLOCK ? left : STAT_BLOCK);
        const uint8_t *at = from + stat_read_bytes_of(d, i);
        if (c->way == STAT_CODES && d->bits == 8)
            count_codes_8(c->codes, at, count);
        else if (c->way == STAT_CODES)
            count_codes_16(c->codes, at, count);
        else
            count_block(c, at, count, err);
        c->at += count;
        if (c->way == STAT_CODES && c->at % STAT_HOLD == 0)
            empty_table(c->codes, d, c->out);
    }
}

static void stat_read_part(struct counting *c, struct reader *r, uint64_t elements,
                           struct error *err)
{
    const struct dtype *d = &c->part->tensor->dtype;
    const uint64_t most = (uint64_t)READ_BLOCKS * STAT_BLOCK;
    const uint64_t values = !c->converted ? 0 : elements < STAT_BLOCK ? elements : STAT_BLOCK;
    uint8_t *room = malloc((size_t)stat_read_bytes_of(d, elements < most ? elements : most) + 1);
    c->numbers = malloc((size_t)values * 2 * sizeof(*c->numbers) + 1);
    if (!room || !c->numbers)
        error_memory(err);
    for (uint64_t done = 0; done < elements && err->status == OK;) {
        const uint64_t left = elements - done, count = left < most ? left : most;
        struct bytes got = {.len = (size_t)stat_read_bytes_of(d, count)};
        if (sweep_go_on(c->part, err) == OK &&
            reader_borrow(r, NULL, c->part->start + stat_read_bytes_of(d, done), room, &got, err) ==
                OK)
            count_bytes(c, got.at, count, err);
        done += count;
    }
    free(room);
}

static uint64_t elements_of(const struct sweep_part *p)
{
    const struct stored_tensor *t = p->tensor;
    const uint64_t first = p->start / t->dtype.block_bytes * t->dtype.block_elems;
    const uint64_t here = p->len / t->dtype.block_bytes * t->dtype.block_elems;
    return p->last ? t->elements - first : here;
}

static void count_numbers(struct counting *c, struct reader *r)
{
    struct stat_outcome *o = c->out;
    const uint64_t elements = elements_of(c->part);
    o->group_count = (size_t)((elements + STAT_GROUP - 1) / STAT_GROUP);
    o->groups = calloc(o->group_count + 1, sizeof(*o->groups));
    if (o->groups)
        stat_read_part(c, r, elements, &o->err);
    else
        error_memory(&o->err);
}

/* For small tensors, writing the histogram takes longest, so each thread does it for its own. */
static void write_histogram(struct stat_outcome *o)
{
    uint64_t finite = 0;
    for (size_t i = 0; i < o->group_count; i++)
        finite += o->groups[i].finite;
    if (finite)
        stat_grid_print(&o->histogram, &o->grid, finite);
    if (!text_str(&o->histogram))
        error_memory(&o->err);
}

static void count_by_code(struct stat_tables *tables, struct counting *c, struct reader *r)
{
    struct stat_outcome *o = c->out;
    struct table *table = table_take(tables);
    if (!table) {
        error_memory(&o->err);
        return;
    }
    c->codes = table->at;
    stat_read_part(c, r, elements_of(c->part), &o->err);
    empty_table(c->codes, &c->part->tensor->dtype, o);
    pthread_mutex_lock(&tables->lock);
    table->next = tables->idle;
    tables->idle = table;
    pthread_mutex_unlock(&tables->lock);
}

struct stat_outcome *stat_read(struct stat_tables *tables, const struct sweep_part *part,
                               uint64_t *bytes)
{
    struct stat_outcome *o = calloc(1, sizeof(*o));
    struct counting *c = calloc(1, sizeof(*c));
    const struct stored_tensor *t = part->tensor;
    struct reader *r = NULL;
    struct dtype to;
    if (!o || !c) {
        free(c);
        free(o);
        return NULL;
    }
    *bytes = sizeof(*o);
    c->part = part;
    c->way = stat_way(t);
    c->out = o;
    stat_grid_clear(&o->grid, c->way != STAT_64);
    c->kernels = stat_kernels();
    c->tiny = stat_tiny(&t->dtype);
    wide(&t->dtype, c->way, &to);
    c->converted = strcmp(to.name, t->dtype.name) != 0 || t->dtype.kind == DTYPE_COMPLEX;
    o->absent = c->way == STAT_NONE;
    if (!o->absent && !sweep_is_void(t, &o->err) &&
        converter_find_stored(&t->dtype, &to, &c->converter, &o->err) == OK &&
        reader_open(t, part->files, &r, &o->err) == OK) {
        if (c->way == STAT_CODES)
            count_by_code(tables, c, r);
        else
            count_numbers(c, r);
        if (o->err.status == OK && part->start == 0 && part->last &&
            reader_verify(r, &o->err) == OK && c->way != STAT_CODES)
            write_histogram(o);
    }
    if (!r && (t->storage == STORAGE_NONE || o->err.status == ERR_MISSING))
        o->absent = true;
    reader_close(r);
    *bytes +=
        o->group_count * sizeof(*o->groups) + o->code_count * sizeof(*o->codes) + o->histogram.len;
    free(c->numbers);
    free(c);
    return o;
}

void stat_outcome_free(void *outcome)
{
    struct stat_outcome *o = outcome;
    if (!o)
        return;
    free(o->groups);
    free(o->codes);
    text_release(&o->histogram);
    free(o);
}
