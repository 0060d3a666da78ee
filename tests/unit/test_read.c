#include <pthread.h>
#include <zlib.h>

#include "catalog/data/read/read.h"
#include "tests/unit/unit.h"

/*
 * Tensors laid out at random, read at random, compared with the expected elements: each a
 * function of its position in C order.
 */
static uint8_t byte_of(uint64_t position, unsigned byte)
{
    return (uint8_t)((position * 8 + byte + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

#define RANK_MOST   4
#define PIECES_MOST 64

struct model {
    struct stored_tensor t;
    uint64_t shape[RANK_MOST];
    int64_t strides[RANK_MOST];
    unsigned width; /* bytes of an element */
    unsigned swap;  /* bytes reversed in the store; 1: none */
    struct extent extent[PIECES_MOST];
    uint64_t origin[PIECES_MOST][RANK_MOST], box[PIECES_MOST][RANK_MOST];
    uint8_t *store[PIECES_MOST];
    char codec[64];
};

/* The stored form of the element at a position. */
static void put_element(const struct model *m, uint64_t position, uint8_t *at)
{
    for (unsigned b = 0; b < m->width; b++) {
        unsigned part = b / m->swap * m->swap;
        at[part + (m->swap - 1 - b % m->swap)] = byte_of(position, b);
    }
}

static void model_start(struct model *m)
{
    static const struct {
        const char *dtype;
        unsigned width, swap;
    } types[] = {{"uint8", 1, 1}, {"int16", 2, 2},       {"float32", 4, 4},
                 {"int64", 8, 8}, {"complex128", 16, 8}, {"void24", 3, 1}};
    size_t k = random_below(sizeof(types) / sizeof(types[0]));
    *m = (struct model){.width = types[k].width, .swap = 1};
    m->t = (struct stored_tensor){.id = 1,
                                  .checkpoint = "model",
                                  .name = "t",
                                  .rank = (unsigned)random_below(RANK_MOST + 1),
                                  .shape = m->shape,
                                  .storage = STORAGE_INLINE,
                                  .extents = m->extent};
    dtype_find(types[k].dtype, &m->t.dtype);
    for (unsigned d = 0; d < m->t.rank; d++)
        m->shape[d] = random_below(12) ? 1 + random_below(9) : 0;
    assert_true(shape_elements(m->shape, m->t.rank, &m->t.elements));
    m->t.nbytes = m->t.elements * m->width;
    if (types[k].swap > 1 && random_below(3) == 0) {
        m->swap = types[k].swap;
        snprintf(m->codec, sizeof(m->codec), "swap:%u", m->swap);
        m->t.codec = m->codec;
    }
}

static void model_end(struct model *m)
{
    for (uint64_t i = 0; i < m->t.extent_count; i++)
        free(m->store[i]);
}

/* Fill the store of a box whose elements lie at `strides`. `units` is its size. */
static void fill(struct model *m, uint64_t i, const uint64_t *origin, const uint64_t *box,
                 const int64_t *strides, uint64_t units)
{
    uint64_t index[RANK_MOST] = {0}, count = 1;
    m->store[i] = calloc(units + 1, m->width);
    m->extent[i].bytes = m->store[i];
    m->extent[i].stored = units * m->width;
    m->extent[i].file = NO_FILE;
    for (unsigned d = 0; d < m->t.rank; d++)
        count *= box[d];
    for (uint64_t k = 0; k < count; k++) {
        uint64_t position = 0, at = 0;
        for (unsigned d = 0; d < m->t.rank; d++) {
            position = position * m->shape[d] + origin[d] + index[d];
            at += index[d] * (uint64_t)strides[d];
        }
        put_element(m, position, m->store[i] + at * m->width);
        for (unsigned d = m->t.rank; d-- > 0 && ++index[d] == box[d];)
            index[d] = 0;
    }
}

static void c_strides(const uint64_t *shape, unsigned rank, int64_t *strides)
{
    int64_t step = 1;
    for (unsigned d = rank; d-- > 0;) {
        strides[d] = step;
        step *= (int64_t)shape[d];
    }
}

static void lay_flat(struct model *m)
{
    int64_t strides[RANK_MOST];
    c_strides(m->shape, m->t.rank, strides);
    m->t.extent_count = 1;
    fill(m, 0, m->origin[0], m->shape, strides, m->t.elements);
}

/* Any order of dimensions, with gaps, or the same elements for a whole dimension. */
static void lay_strided(struct model *m)
{
    unsigned order[RANK_MOST] = {0, 1, 2, 3}, rank = m->t.rank;
    uint64_t step = 1 + random_below(2), most = 0;
    for (unsigned d = rank; d > 1; d--) {
        unsigned other = (unsigned)random_below(d), kept = order[d - 1];
        order[d - 1] = order[other];
        order[other] = kept;
    }
    for (unsigned k = 0; k < rank; k++) {
        unsigned d = order[k];
        m->strides[d] = (int64_t)step;
        most += m->shape[d] ? (m->shape[d] - 1) * step : 0;
        step = step * (m->shape[d] ? m->shape[d] : 1) + random_below(3);
    }
    m->t.strides = m->strides;
    m->t.extent_count = 1;
    fill(m, 0, m->origin[0], m->shape, m->strides, most + 1);
}

/* Cut boxes in two, again and again; leave them in no order. */
static void lay_pieces(struct model *m)
{
    uint64_t count = 1, wanted = 1 + random_below(20);
    unsigned rank = m->t.rank;
    memcpy(m->box[0], m->shape, sizeof(m->shape));
    for (unsigned tries = 0; count < wanted && rank && tries < 100; tries++) {
        uint64_t i = random_below(count);
        unsigned d = (unsigned)random_below(rank);
        if (m->box[i][d] < 2)
            continue;
        uint64_t cut = 1 + random_below(m->box[i][d] - 1);
        memcpy(m->box[count], m->box[i], sizeof(m->box[i]));
        memcpy(m->origin[count], m->origin[i], sizeof(m->origin[i]));
        m->origin[count][d] += cut;
        m->box[count++][d] -= cut;
        m->box[i][d] = cut;
    }
    m->t.extent_count = count;
    for (uint64_t i = 0; i < count; i++) {
        int64_t strides[RANK_MOST];
        uint64_t units;
        c_strides(m->box[i], rank, strides);
        assert_true(shape_elements(m->box[i], rank, &units));
        m->extent[i].origin = m->origin[i];
        m->extent[i].shape = m->box[i];
        fill(m, i, m->origin[i], m->box[i], strides, units);
    }
}

/* A grid of chunks in Fortran order, whole ones even at the edges. */
static void lay_chunks(struct model *m)
{
    uint64_t chunk[RANK_MOST], grid[RANK_MOST], units = 1;
    unsigned rank = m->t.rank;
    m->t.extent_count = 1;
    for (unsigned d = 0; d < rank; d++) {
        chunk[d] = 2 + random_below(8);
        grid[d] = (m->shape[d] + chunk[d] - 1) / chunk[d];
        if (m->t.extent_count * grid[d] > PIECES_MOST) {
            chunk[d] = m->shape[d] ? m->shape[d] : 1;
            grid[d] = 1;
        }
        m->t.extent_count *= grid[d];
        m->strides[d] = (int64_t)units;
        units *= chunk[d];
    }
    m->t.strides = m->strides;
    for (uint64_t i = 0; i < m->t.extent_count; i++) {
        uint64_t rest = i;
        for (unsigned d = rank; d-- > 0; rest /= grid[d]) {
            uint64_t origin = rest % grid[d] * chunk[d], left = m->shape[d] - origin;
            m->origin[i][d] = origin;
            m->box[i][d] = left < chunk[d] ? left : chunk[d];
        }
        m->extent[i].origin = m->origin[i];
        m->extent[i].shape = m->box[i];
        fill(m, i, m->origin[i], m->box[i], m->strides, units);
    }
}

/* Deflate the data, if it is one run. */
static void deflate_store(struct model *m)
{
    char codec[64];
    z_stream z = {0};
    uint64_t plain = m->extent[0].stored;
    if (m->t.extent_count != 1)
        return;
    assert_int_equal(Z_OK, deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY));
    uLong most = deflateBound(&z, plain);
    uint8_t *out = malloc(most);
    z.next_in = m->store[0];
    z.avail_in = (uInt)plain;
    z.next_out = out;
    z.avail_out = (uInt)most;
    assert_int_equal(Z_STREAM_END, deflate(&z, Z_FINISH));
    m->extent[0].stored = z.total_out;
    m->extent[0].bytes = out;
    deflateEnd(&z);
    free(m->store[0]);
    m->store[0] = out;
    snprintf(codec, sizeof(codec), "deflate:%llu%s%.40s", (unsigned long long)plain,
             m->t.codec ? "|" : "", m->t.codec ? m->t.codec : "");
    memcpy(m->codec, codec, sizeof(codec));
    m->t.codec = m->codec;
}

/* One read of bytes [start, start + len) of what the slices select. */
static void check_bytes(const struct model *m, const struct ckptdb_slice *slices, uint64_t start,
                        const uint8_t *got, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint64_t rest = (start + i) / m->width, position = 0, stride = 1;
        for (unsigned d = m->t.rank; d-- > 0;) {
            const struct ckptdb_slice *s = &slices[d];
            position += (s->start + rest % s->count * (uint64_t)s->step) * stride;
            rest /= s->count;
            stride *= m->shape[d];
        }
        assert_int_equal(byte_of(position, (start + i) % m->width), got[i]);
    }
}

static uint64_t choose_slices(const struct model *m, struct ckptdb_slice *slices)
{
    for (unsigned d = 0; d < m->t.rank; d++) {
        uint64_t n = m->shape[d], start = n ? random_below(n) : 0;
        int64_t step = 1 + (int64_t)random_below(4);
        bool back = random_below(3) == 0;
        uint64_t room = back ? start : n - 1 - start;
        uint64_t count = n ? 1 + random_below(room / (uint64_t)step + 1) : 0;
        slices[d] = (struct ckptdb_slice){start, count, back ? -step : step};
        if (random_below(3) == 0)
            slices[d] = (struct ckptdb_slice){0, n, 1};
    }
    return slice_elements(slices, m->t.rank) * m->width;
}

static void read_parts(struct model *m, struct reader *r)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_slice slices[RANK_MOST], whole[RANK_MOST];
    uint8_t *got = malloc(m->t.nbytes + 1);
    for (unsigned d = 0; d < m->t.rank; d++)
        whole[d] = (struct ckptdb_slice){0, m->shape[d], 1};
    assert_int_equal(OK, reader_read(r, 0, got, m->t.nbytes, &err));
    check_bytes(m, whole, 0, got, m->t.nbytes);
    for (uint64_t at = 0; at < m->t.nbytes;) { /* front to back, in odd blocks */
        uint64_t len = 1 + random_below(m->t.nbytes - at);
        assert_int_equal(OK, reader_read(r, at, got, len, &err));
        check_bytes(m, whole, at, got, len);
        at += len;
    }
    for (int i = 0; i < 8; i++) {
        uint64_t size = choose_slices(m, slices);
        uint64_t from = size ? random_below(size) : 0;
        uint64_t len = size ? random_below(size - from + 1) : 0;
        assert_int_equal(OK, reader_read_slice(r, slices, 0, got, size, &err));
        check_bytes(m, slices, 0, got, size);
        assert_int_equal(OK, reader_read_slice(r, slices, from, got, len, &err));
        check_bytes(m, slices, from, got, len);
        assert_int_equal(ERR_ARGUMENT, reader_read_slice(r, slices, 1, got, size, &err));
        error_clear(&err);
    }
    assert_int_equal(ERR_ARGUMENT, reader_read(r, 1, got, m->t.nbytes, &err));
    free(got);
}

TEST(test_layouts)
{
    static void (*const lay[])(struct model *) = {lay_flat, lay_strided, lay_pieces, lay_chunks};
    for (int i = 0; i < 4000; i++) {
        struct model *m = malloc(sizeof(*m));
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        model_start(m);
        lay[i % 4](m);
        if (random_below(4) == 0)
            deflate_store(m);
        if (reader_open(&m->t, NULL, &r, &err) != OK)
            printf("# layout %d: %s\n", i, err.message);
        assert_int_equal(OK, err.status);
        read_parts(m, r);
        reader_close(r);
        model_end(m);
        free(m);
    }
}

/* A matrix in Fortran order that is larger than a band, read front to back. */
TEST(test_bands)
{
    enum { ROWS = 3000, COLUMNS = 1700 };
    uint32_t *stored = malloc(sizeof(*stored) * ROWS * COLUMNS), got[5000];
    uint64_t shape[] = {ROWS, COLUMNS};
    int64_t strides[] = {1, ROWS};
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t column = 0; column < COLUMNS; column++)
            stored[column * ROWS + row] = row * COLUMNS + column;
    struct extent extent = {.bytes = stored, .stored = sizeof(*stored) * ROWS * COLUMNS};
    struct stored_tensor t = {.checkpoint = "model",
                              .rank = 2,
                              .shape = shape,
                              .elements = ROWS * COLUMNS,
                              .storage = STORAGE_INLINE,
                              .strides = strides,
                              .extents = &extent,
                              .extent_count = 1};
    dtype_find("uint32", &t.dtype);
    struct error err = {.offset = NO_OFFSET};
    struct reader *r = NULL;
    assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
    assert_true(reader_sequential(r));
    for (uint32_t at = 0; at < ROWS * COLUMNS; at += 5000) {
        uint32_t n = ROWS * COLUMNS - at < 5000 ? ROWS * COLUMNS - at : 5000;
        assert_int_equal(OK, reader_read(r, at * UINT64_C(4), got, n * sizeof(*got), &err));
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(at + i, got[i]);
    }
    reader_close(r);
    free(stored);
}

/* --- threads ---------------------------------------------------------------------------- */

struct task {
    struct reader *reader;
    const struct model *model;
    uint64_t seed;
    bool fine;
};

static void *read_around(void *argument)
{
    struct task *task = argument;
    struct error err = {.offset = NO_OFFSET};
    uint64_t nbytes = task->model->t.nbytes;
    uint8_t got[64];
    task->fine = true;
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t from = (i * 7919 + task->seed) % (nbytes - sizeof(got));
        if (reader_read(task->reader, from, got, sizeof(got), &err) != OK)
            task->fine = false;
        for (size_t k = 0; k < sizeof(got); k++)
            if (got[k] != byte_of((from + k) / 4, (from + k) % 4))
                task->fine = false;
    }
    return NULL;
}

/* More pieces than are kept open, read by many threads at once. */
TEST(test_threads)
{
    enum { THREADS = 4, PIECES = 40, ROWS = 5, COLUMNS = 30 };
    struct model *m = calloc(1, sizeof(*m));
    uint32_t sums[PIECES];
    pthread_t thread[THREADS];
    struct task task[THREADS];
    struct error err = {.offset = NO_OFFSET};
    m->shape[0] = (uint64_t)PIECES * ROWS;
    m->shape[1] = COLUMNS;
    m->width = 4;
    m->swap = 4;
    m->t = (struct stored_tensor){.checkpoint = "model",
                                  .name = "t",
                                  .rank = 2,
                                  .shape = m->shape,
                                  .storage = STORAGE_INLINE,
                                  .codec = "swap:4",
                                  .extents = m->extent,
                                  .extent_count = PIECES,
                                  .sum_kind = "crc32",
                                  .sums = sums};
    dtype_find("float32", &m->t.dtype);
    m->t.elements = m->shape[0] * m->shape[1];
    m->t.nbytes = m->t.elements * 4;
    for (uint64_t i = 0; i < PIECES; i++) {
        int64_t strides[2] = {COLUMNS, 1};
        m->origin[i][0] = i * ROWS;
        m->box[i][0] = ROWS;
        m->box[i][1] = COLUMNS;
        m->extent[i].origin = m->origin[i];
        m->extent[i].shape = m->box[i];
        fill(m, i, m->origin[i], m->box[i], strides, ROWS * COLUMNS);
        sums[i] = (uint32_t)crc32_z(0, m->store[i], m->extent[i].stored);
    }
    struct reader *r = NULL;
    assert_int_equal(OK, reader_open(&m->t, NULL, &r, &err));
    for (uint64_t i = 0; i < THREADS; i++) {
        task[i] = (struct task){r, m, i * 12345, false};
        assert_int_equal(0, pthread_create(&thread[i], NULL, read_around, &task[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_join(thread[i], NULL));
        assert_true(task[i].fine);
    }
    assert_int_equal(OK, reader_verify(r, &err));
    reader_close(r);
    model_end(m);
    free(m);
}

/* --- refusals --------------------------------------------------------------------------- */

static const struct {
    const char *what;
    uint64_t origin[4][2], shape[4][2];
    uint64_t count;
    const char *message; /* NULL: fine */
} tilings[] = {
    {"one", {{0, 0}}, {{4, 6}}, 1, NULL},
    {"four", {{0, 0}, {2, 0}, {0, 3}, {2, 3}}, {{2, 3}, {2, 3}, {2, 3}, {2, 3}}, 4, NULL},
    {"a hole", {{0, 0}, {2, 0}, {0, 3}}, {{2, 3}, {2, 3}, {2, 3}}, 3, "cover"},
    {"twice", {{0, 0}, {0, 0}}, {{4, 6}, {4, 6}}, 2, "overlap"},
    {"a hole and a part twice",
     {{0, 0}, {0, 0}, {0, 3}, {2, 3}},
     {{2, 3}, {2, 3}, {2, 3}, {2, 3}},
     4,
     "overlap"},
    {"shifted", {{0, 0}, {2, 1}}, {{2, 6}, {2, 5}}, 2, "cover"},
    {"too far", {{0, 0}, {2, 0}}, {{2, 6}, {3, 6}}, 2, "inside"},
    {"far away", {{0, 0}, {UINT64_MAX, 0}}, {{4, 6}, {2, 6}}, 2, "inside"},
    {"empty ones too", {{0, 0}, {4, 0}, {0, 6}}, {{4, 6}, {0, 6}, {4, 0}}, 3, NULL},
};

TEST(test_tilings)
{
    uint8_t bytes[64] = {0};
    for (size_t i = 0; i < sizeof(tilings) / sizeof(tilings[0]); i++) {
        uint64_t shape[2] = {4, 6}, origin[4][2], box[4][2];
        struct extent extent[4];
        memcpy(origin, tilings[i].origin, sizeof(origin));
        memcpy(box, tilings[i].shape, sizeof(box));
        for (int k = 0; k < 4; k++)
            extent[k] = (struct extent){.bytes = bytes,
                                        .stored = box[k][0] * box[k][1] % 64,
                                        .origin = origin[k],
                                        .shape = box[k]};
        struct stored_tensor t = {.checkpoint = "model",
                                  .rank = 2,
                                  .shape = shape,
                                  .elements = 24,
                                  .storage = STORAGE_INLINE,
                                  .extents = extent,
                                  .extent_count = tilings[i].count};
        dtype_find("int8", &t.dtype);
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        printf("# %s\n", tilings[i].what);
        enum status status = reader_open(&t, NULL, &r, &err);
        assert_int_equal(tilings[i].message ? ERR_CORRUPT : OK, status);
        if (tilings[i].message)
            assert_non_null(strstr(err.message, tilings[i].message));
        reader_close(r);
    }
}

TEST(test_refusals)
{
    static const struct {
        const char *what, *dtype;
        enum storage storage;
        const char *codec;
        uint64_t shape[2], elements, stored;
        int64_t strides[2]; /* 0, 0: none */
        enum status status;
    } cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "tests/unit/refused_tensors.def"
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t shape[2] = {cases[i].shape[0], cases[i].shape[1]};
        int64_t strides[2] = {cases[i].strides[0], cases[i].strides[1]};
        uint8_t bytes[16] = {0};
        struct extent extent = {.bytes = bytes, .stored = cases[i].stored};
        struct stored_tensor t = {.checkpoint = "model",
                                  .rank = 2,
                                  .shape = shape,
                                  .elements = cases[i].elements,
                                  .storage = cases[i].storage,
                                  .codec = cases[i].codec,
                                  .strides = strides[0] ? strides : NULL,
                                  .extents = &extent,
                                  .extent_count = 1};
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        dtype_find(cases[i].dtype, &t.dtype);
        printf("# %s\n", cases[i].what);
        assert_int_equal(cases[i].status, reader_open(&t, NULL, &r, &err));
        reader_close(r);
    }
}

/* Steps that lead out of the data are found before anything is read there. */
TEST(test_strides_outside)
{
    static const int64_t bad[][2] = {{3, 2},         {6, 1},  {INT64_MAX, 1},
                                     {1, INT64_MAX}, {-1, 1}, {1, INT64_MIN}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t shape[2] = {2, 3};
        int64_t strides[2] = {bad[i][0], bad[i][1]};
        uint8_t bytes[6] = {0}, got[6];
        struct extent extent = {.bytes = bytes, .stored = sizeof(bytes)};
        struct stored_tensor t = {.checkpoint = "model",
                                  .rank = 2,
                                  .shape = shape,
                                  .elements = 6,
                                  .storage = STORAGE_INLINE,
                                  .strides = strides,
                                  .extents = &extent,
                                  .extent_count = 1};
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        dtype_find("int8", &t.dtype);
        assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
        assert_int_equal(ERR_CORRUPT, reader_read(r, 0, got, 6, &err));
        reader_close(r);
    }
}

/* Packed elements: whole blocks along the last dimension can be cut, others not. */
TEST(test_packed)
{
    uint8_t bytes[6] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA}, got[6] = {0};
    uint64_t shape[2] = {3, 4};
    struct extent extent = {.bytes = bytes, .stored = sizeof(bytes)};
    struct stored_tensor t = {.checkpoint = "model",
                              .rank = 2,
                              .shape = shape,
                              .elements = 12,
                              .storage = STORAGE_INLINE,
                              .extents = &extent,
                              .extent_count = 1};
    struct error err = {.offset = NO_OFFSET};
    struct reader *r = NULL;
    dtype_find("int4", &t.dtype);
    assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
    struct ckptdb_slice whole_blocks[2] = {{2, 2, -2}, {2, 2, 1}}, cut[2] = {{0, 3, 1}, {1, 2, 1}};
    assert_int_equal(OK, reader_read_slice(r, whole_blocks, 0, got, 2, &err));
    assert_memory_equal("\xBA\x32", got, 2);
    assert_int_equal(ERR_UNSUPPORTED, reader_read_slice(r, cut, 0, got, 3, &err));
    error_clear(&err);
    struct ckptdb_slice outside[2] = {{1, 3, 1}, {0, 4, 1}};
    assert_int_equal(ERR_ARGUMENT, reader_read_slice(r, outside, 0, got, 6, &err));
    reader_close(r);
}

RUN_TESTS(NULL, NULL)
