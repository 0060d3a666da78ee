/*
 * test_pieces.c - tensors cut at random into boxes with different layouts: transposed,
 * with gaps, behind steps of their own; against each element's value.
 */
#include "importer/job/job_run.h"
#include "tests/unit/grid_world.h"
#include "tests/unit/unit.h"

#define PIECES_MOST 40

/* A tensor in pieces in one file, and its elements in C order. */
struct pieces {
    struct stored_tensor t;
    struct stored_file file;
    uint64_t shape[RANK_MOST];
    struct extent extents[PIECES_MOST];
    uint64_t origin[PIECES_MOST][RANK_MOST], box[PIECES_MOST][RANK_MOST];
    int64_t strides[PIECES_MOST][RANK_MOST];
    char codec[PIECES_MOST][64];
    size_t unit;
    uint8_t *expected;
    char path[64];
    FILE *f;
};

/* The run of a piece: its elements where its strides put them, random bytes between. */
static void make_run(struct pieces *p, struct extent *e, unsigned swap, struct text *run)
{
    uint64_t index[RANK_MOST] = {0}, count = 1, reach = 0;
    for (unsigned d = 0; d < p->t.rank; d++) {
        count *= e->shape[d];
        reach += (e->shape[d] - 1) * (uint64_t)e->strides[d];
    }
    for (uint64_t i = 0; i < (reach + 1) * p->unit; i++)
        text_addc(run, (char)random_below(256));
    if (!run->at)
        abort();
    for (uint64_t k = 0; k < count; k++) {
        uint64_t at = 0, position = 0;
        for (unsigned d = 0; d < p->t.rank; d++) {
            at += index[d] * (uint64_t)e->strides[d];
            position = position * p->shape[d] + e->origin[d] + index[d];
        }
        for (size_t b = 0; b < p->unit; b++)
            run->at[at * p->unit + (swap > 1 ? p->unit - 1 - b : b)] =
                (char)p->expected[position * p->unit + b];
        for (unsigned d = p->t.rank; d-- > 0 && ++index[d] == e->shape[d];)
            index[d] = 0;
    }
}

/* Steps between an extent's elements: its axes in any order, some with gaps. */
static void random_strides(const struct pieces *p, struct extent *e, bool own)
{
    unsigned order[RANK_MOST] = {0, 1, 2, 3};
    int64_t step = 1;
    for (unsigned i = 0; i < p->t.rank && own; i++) {
        unsigned other = (unsigned)random_below(i + 1), kept = order[other];
        order[other] = order[i];
        order[i] = kept;
    }
    for (unsigned i = p->t.rank; i-- > 0;) {
        e->strides[order[i]] = step;
        step *= (int64_t)(e->shape[order[i]] + (own ? random_below(random_below(3) ? 1 : 3) : 0));
    }
}

static void put_piece(struct pieces *p, uint64_t i)
{
    struct extent *e = &p->extents[i];
    bool own_strides = random_below(2), own_codec = random_below(2);
    unsigned swap = own_codec && p->unit > 1 && random_below(2) ? (unsigned)p->unit : 1;
    bool gzip = own_codec && random_below(2);
    struct text run = {0}, packed = {0}, *stored = &run;
    e->origin = p->origin[i];
    e->shape = p->box[i];
    e->strides = p->strides[i];
    random_strides(p, e, own_strides);
    make_run(p, e, swap, &run);
    if (gzip) {
        gzip_text(&packed, run.at, run.len);
        stored = &packed;
    }
    p->codec[i][0] = '\0';
    if (gzip)
        snprintf(p->codec[i], sizeof(p->codec[i]), "gzip:%zu", run.len);
    if (swap > 1)
        snprintf(p->codec[i] + strlen(p->codec[i]), 16, "%sswap:%u", gzip ? "|" : "", swap);
    e->codec = p->t.codec || own_codec ? p->codec[i] : NULL;
    if (!own_strides)
        e->strides = NULL;
    fwrite("gaps", random_below(5), 1, p->f);
    e->offset = (uint64_t)ftell(p->f);
    e->stored = stored->len;
    fwrite(stored->at, stored->len, 1, p->f);
    text_release(&run);
    text_release(&packed);
}

/* Cut piece `i` in two, if it can be. */
static void cut(struct pieces *p, uint64_t i)
{
    uint64_t last = p->t.extent_count;
    unsigned d = p->t.rank ? (unsigned)random_below(p->t.rank) : 0;
    if (!p->t.rank || p->box[i][d] < 2)
        return;
    memcpy(p->origin[last], p->origin[i], sizeof(p->origin[i]));
    memcpy(p->box[last], p->box[i], sizeof(p->box[i]));
    uint64_t first = 1 + random_below(p->box[i][d] - 1);
    p->box[i][d] = first;
    p->box[last][d] -= first;
    p->origin[last][d] += first;
    p->t.extent_count++;
}

static void make_pieces(struct pieces *p)
{
    static const char *const dtypes[] = {"uint8", "bfloat16", "float32", "int64"};
    *p = (struct pieces){.path = "/tmp/ckptdb-pieces-XXXXXX"};
    p->t = (struct stored_tensor){.checkpoint = "pieces",
                                  .name = "t",
                                  .rank = (unsigned)random_below(RANK_MOST + 1),
                                  .shape = p->shape,
                                  .storage = STORAGE_PIECES,
                                  .codec = random_below(2) ? NULL : "zlib:7",
                                  .extents = p->extents,
                                  .extent_count = 1,
                                  .files = &p->file,
                                  .file_count = 1};
    dtype_find(dtypes[random_below(4)], &p->t.dtype);
    p->unit = p->t.dtype.block_bytes;
    for (unsigned d = 0; d < p->t.rank; d++)
        p->box[0][d] = p->shape[d] = 1 + random_below(random_below(8) ? 7 : 60);
    shape_elements(p->shape, p->t.rank, &p->t.elements);
    dtype_nbytes(&p->t.dtype, p->t.elements, &p->t.nbytes);
    p->expected = malloc(p->t.nbytes);
    assert_non_null(p->expected);
    for (uint64_t i = 0; i < p->t.nbytes; i++)
        p->expected[i] = (uint8_t)random_below(256);
    for (uint64_t i = random_below(PIECES_MOST); i > 0; i--)
        cut(p, random_below(p->t.extent_count));
    int fd = mkstemp(p->path);
    p->f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    assert_non_null(p->f);
    for (uint64_t i = 0; i < p->t.extent_count; i++)
        put_piece(p, i);
    fclose(p->f);
    p->file = file_now(p->path);
}

/* As the catalog keeps it. */
static void pack_and_back(struct pieces *p, struct arena *arena)
{
    struct error err = {.offset = NO_OFFSET};
    struct text packed = {0};
    struct extent_list list;
    assert_true(extents_pack(&packed, p->extents, p->t.extent_count, p->t.rank, 0, EXTENTS_BOXES));
    char *kept = arena_copy(arena, packed.at, packed.len);
    assert_int_equal(extents_unpack((struct bytes){(uint8_t *)kept, packed.len}, p->shape,
                                    p->t.rank, arena, &list, &err),
                     OK);
    assert_int_equal(list.count, p->t.extent_count);
    p->t.extents = list.at;
    text_release(&packed);
}

static void read_parts(struct reader *r, const struct pieces *p, const uint8_t *want)
{
    struct error err = {.offset = NO_OFFSET};
    uint8_t *got = malloc(p->t.nbytes);
    assert_non_null(got);
    for (uint64_t at = 0, n; at < p->t.nbytes; at += n) {
        n = 1 + random_below(random_below(2) ? p->t.nbytes - at : 9);
        n = n < p->t.nbytes - at ? n : p->t.nbytes - at;
        if (reader_read(r, at, got + at, n, &err) != OK)
            fail_msg("%s: %s", err.source, err.message);
    }
    assert_memory_equal(got, want, p->t.nbytes);
    free(got);
}

/* Every second element along each axis, from the last on. */
static void read_backward(struct reader *r, const struct pieces *p)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_slice slices[RANK_MOST];
    uint64_t index[RANK_MOST] = {0};
    for (unsigned d = 0; d < p->t.rank; d++)
        slices[d] = (struct ckptdb_slice){p->shape[d] - 1, (p->shape[d] + 1) / 2, -2};
    uint64_t count = slice_elements(slices, p->t.rank);
    uint8_t *got = malloc(count * p->unit);
    assert_non_null(got);
    assert_int_equal(reader_read_slice(r, slices, 0, got, count * p->unit, &err), OK);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t position = 0;
        for (unsigned d = 0; d < p->t.rank; d++)
            position = position * p->shape[d] + slices[d].start - 2 * index[d];
        assert_memory_equal(got + k * p->unit, p->expected + position * p->unit, p->unit);
        for (unsigned d = p->t.rank; d-- > 0 && ++index[d] == slices[d].count;)
            index[d] = 0;
    }
    free(got);
}

TEST(random_pieces)
{
    for (unsigned seed = 1; seed <= 400; seed++) {
        static struct pieces p;
        struct arena arena = {0};
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
        make_pieces(&p);
        pack_and_back(&p, &arena);
        if (reader_open(&p.t, NULL, &r, &err) != OK)
            fail_msg("%u: %s: %s", seed, err.source, err.message);
        read_parts(r, &p, p.expected);
        read_backward(r, &p);
        assert_int_equal(reader_verify(r, &err), OK);
        reader_close(r);
        unlink(p.path);
        free(p.expected);
        arena_release(&arena);
    }
}

/* A piece whose strides reach past its run, go back, or are of strings or of packed bits. */
TEST(refused)
{
    static const struct {
        const char *dtype, *codec;
        int64_t strides[2];
        uint64_t stored;
        enum status open, read;
    } cases[] = {
        {"uint8", NULL, {1, 2}, 4, OK, OK},
        {"uint8", NULL, {1, 3}, 4, OK, ERR_CORRUPT},
        {"uint8", NULL, {-1, 2}, 4, OK, ERR_CORRUPT},
        {"uint8", NULL, {INT64_MAX, INT64_MAX}, 4, OK, ERR_CORRUPT},
        {"uint8", NULL, {0, 0}, 1, OK, OK},
        {"uint8", NULL, {0, 0}, 0, OK, ERR_CORRUPT},
        {"uint16", "swap:2", {1, 2}, 8, OK, OK},
        {"uint16", "swap:2", {1, 2}, 6, OK, ERR_CORRUPT},
        {"int4", NULL, {1, 2}, 2, ERR_UNSUPPORTED, OK},
        {"string", "strings:vlen", {1, 2}, 20, ERR_UNSUPPORTED, OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        uint64_t shape[] = {2, 2};
        int64_t strides[] = {cases[i].strides[0], cases[i].strides[1]};
        struct extent e = {.file = NO_FILE,
                           .stored = cases[i].stored,
                           .bytes = "0123456789abcdefghijkl",
                           .strides = strides};
        struct stored_tensor t = {.checkpoint = "catalog",
                                  .name = "t",
                                  .rank = 2,
                                  .shape = shape,
                                  .elements = 4,
                                  .storage = STORAGE_INLINE,
                                  .codec = cases[i].codec,
                                  .extents = &e,
                                  .extent_count = 1};
        struct reader *r = NULL;
        uint8_t got[8];
        print_message("# %zu\n", i);
        dtype_find(cases[i].dtype, &t.dtype);
        assert_int_equal(reader_open(&t, NULL, &r, &err), cases[i].open);
        if (r)
            assert_int_equal(reader_read(r, 0, got, 4 * t.dtype.block_bytes, &err), cases[i].read);
        if (r && cases[i].read == OK && t.dtype.block_bytes == 1)
            assert_memory_equal(got, strides[0] ? "0213" : "0000", 4);
        reader_close(r);
    }
}

/* A format that claims a 2 x 2 tensor of uint8 in one piece, as `claimed` says. */
static struct extent claimed;

static enum status claim_one(struct job *job)
{
    static const uint64_t shape[] = {2, 2};
    return job_tensor(job, &(struct tensor_claim){.name = "t",
                                                  .name_len = 1,
                                                  .dtype = "uint8",
                                                  .shape = shape,
                                                  .rank = 2,
                                                  .storage = STORAGE_PIECES,
                                                  .extents = &claimed,
                                                  .extent_count = 1});
}

/* The strides of a claim are checked once, where it comes in. */
TEST(claims_are_checked)
{
    static const struct format format = {.name = "test", .index = claim_one};
    static uint64_t origin[2], box[] = {2, 2};
    static int64_t strides[2];
    static const struct {
        int64_t strides[2];
        const char *codec;
        enum storage storage;
    } cases[] = {
        {{1, 2}, NULL, STORAGE_PIECES},
        {{1, 3}, NULL, STORAGE_NONE},
        {{1, 3}, "", STORAGE_NONE},
        {{1, 3}, "zlib:5", STORAGE_PIECES},
        {{-1, 2}, NULL, STORAGE_NONE},
        {{0, 0}, NULL, STORAGE_PIECES},
        {{INT64_MAX, INT64_MAX}, NULL, STORAGE_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct batch *b = NULL;
        struct job_request request = {
            .format = &format, .path = "/n/file", .checkpoint_path = "/n/file"};
        print_message("# %zu\n", i);
        memcpy(strides, cases[i].strides, sizeof(strides));
        claimed = (struct extent){.stored = 4,
                                  .origin = origin,
                                  .shape = box,
                                  .codec = cases[i].codec,
                                  .strides = strides};
        source_open_memory("/n/file", (struct bytes){(const uint8_t *)"abcd", 4}, false,
                           &request.source, &err);
        assert_int_equal(job_run_index(&request, &b, &err), OK);
        assert_int_equal(b->layout->tensors[0].storage, cases[i].storage);
        assert_int_equal(b->issue_count, cases[i].storage == STORAGE_NONE);
        batch_free(b);
    }
}

RUN_TESTS(NULL, NULL)
