#include <pthread.h>

#include "catalog/data/read/grid_reader.h"
#include "tests/unit/grid_world.h"
#include "tests/unit/unit.h"

/* --- against what each element is ------------------------------------------------------- */

/* The elements of a slice, one after another, packed if they are bits. */
static uint8_t *naive(const struct world *w, const struct ckptdb_slice *slices, size_t *len)
{
    uint64_t index[RANK_MOST] = {0}, count = slice_elements(slices, w->t.rank);
    size_t bits = w->bits ? w->bits : w->unit * 8;
    *len = (size_t)(count * bits + 7) / 8;
    uint8_t *out = calloc(*len + 1, 1);
    assert_non_null(out);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t at[RANK_MOST];
        for (unsigned d = 0; d < w->t.rank; d++)
            at[d] = slices[d].start + index[d] * (uint64_t)slices[d].step;
        const uint8_t *element = w->expected + position_of(w, at) * w->unit;
        if (w->bits)
            out[k * bits / 8] |= (uint8_t)(*element << k * bits % 8);
        else
            memcpy(out + k * w->unit, element, w->unit);
        for (unsigned d = w->t.rank; d-- > 0 && ++index[d] == slices[d].count;)
            index[d] = 0;
    }
    return out;
}

static void random_slices(const struct world *w, struct ckptdb_slice *slices)
{
    for (unsigned d = 0; d < w->t.rank; d++) {
        uint64_t n = w->shape[d], most, step = 1 + random_below(random_below(2) ? 1 : 5);
        struct ckptdb_slice *s = &slices[d];
        *s = (struct ckptdb_slice){.start = n ? random_below(n) : 0, .step = (int64_t)step};
        if (random_below(3) == 0)
            s->step = -s->step;
        if (!n)
            continue;
        most = (s->step < 0 ? s->start : n - 1 - s->start) / step + 1;
        s->count = random_below(20) ? 1 + random_below(most) : 0;
    }
}

static void describe(const struct world *w, unsigned seed)
{
    struct text shape = {0}, box = {0};
    shape_print(&shape, w->shape, w->t.rank);
    for (unsigned l = 0; l < w->grid.levels; l++)
        shape_print(&box, w->box[l], w->t.rank);
    print_message("world %u: %s %s in %s, %s, codec %s\n", seed, w->t.dtype.name, text_str(&shape),
                  text_str(&box), w->grid.in_files ? "files" : "a list", w->codec);
    text_release(&shape);
    text_release(&box);
}

/* Read a source in parts, mostly front to back. */
static void read_parts(struct source *s, const uint8_t *want, size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    uint8_t *got = calloc(len + 1, 1);
    assert_non_null(got);
    assert_int_equal(s->size, len);
    for (size_t at = 0; at < len;) {
        size_t n = 1 + random_below(random_below(2) ? len : 7);
        if (random_below(20) == 0)
            at = random_below(len);
        n = n < len - at ? n : len - at;
        if (source_read(s, at, got, n, &err) != OK)
            fail_msg("%s: %s", err.source, err.message);
        if (memcmp(got, want + at, n) != 0)
            fail_msg("%zu bytes at %zu of %zu are wrong", n, at, len);
        at += n;
    }
    free(got);
}

static void whole_slices(const struct world *w, struct ckptdb_slice *slices)
{
    for (unsigned d = 0; d < w->t.rank; d++)
        slices[d] = (struct ckptdb_slice){.count = w->shape[d], .step = 1};
}

/* Any budget gives the same result. */
static void compare_grid_reader(const struct world *w)
{
    struct error err = {.offset = NO_OFFSET};
    struct grid_limits limits = {.budget = random_below(2) ? 1u << 30 : 1 + random_below(200000),
                                 .threads = 1 + (unsigned)random_below(4),
                                 .ahead_least = random_below(2) ? 1 : 1000000};
    struct ckptdb_slice slices[RANK_MOST];
    struct grid_reader *g = NULL;
    if (random_below(4) == 0)
        limits.budget = 1 + random_below(300);
    if (grid_reader_open(&w->t, NULL, w->unit, &limits, &g, &err) != OK)
        fail_msg("%s: %s", err.source, err.message);
    for (int i = 0; i < 4; i++) {
        size_t len;
        struct source *s = NULL;
        whole_slices(w, slices);
        if (i)
            random_slices(w, slices);
        uint8_t *want = naive(w, slices, &len);
        assert_int_equal(grid_reader_slice(g, i ? slices : NULL, &s, &err), OK);
        read_parts(s, want, len);
        free(want);
    }
    grid_reader_close(g);
}

/* Without copies, where that can be. */
static void borrow_parts(struct reader *r, const struct ckptdb_slice *slices, const uint8_t *want,
                         size_t len)
{
    struct error err = {.offset = NO_OFFSET};
    uint8_t *room = malloc(len + 1);
    assert_non_null(room);
    for (size_t at = 0; at < len;) {
        struct bytes got = {.len = 1 + random_below(len - at)};
        assert_int_equal(reader_borrow(r, slices, at, room, &got, &err), OK);
        assert_memory_equal(got.at, want + at, got.len);
        at += got.len;
    }
    free(room);
}

/* Skipped parts are fill, and nothing is left in the end. */
static void pass_over(const struct world *w, struct reader *r, const uint8_t *want)
{
    for (uint64_t at = 0; at < w->t.nbytes;) {
        const uint64_t next = reader_from(r, at);
        assert_true(next >= at && next <= w->t.nbytes);
        for (uint64_t i = at; i < next; i++)
            assert_int_equal(want[i], w->fill[i % w->unit]);
        if (at == 0 && next == 0 && !w->grid.value_count && !w->grid.run_count)
            assert_int_equal(w->bits != 0, true);
        at = next + 1 + random_below(random_below(2) ? 1 : 100);
    }
}

static void compare_reader(const struct world *w)
{
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_slice slices[RANK_MOST];
    struct reader *r = NULL;
    size_t len;
    if (reader_open(&w->t, NULL, &r, &err) != OK)
        fail_msg("%s: %s", err.source, err.message);
    assert_true(reader_sequential(r));
    whole_slices(w, slices);
    uint8_t *want = naive(w, slices, &len), *got = malloc(len + 1);
    assert_int_equal(len, w->t.nbytes);
    assert_int_equal(reader_read(r, 0, got, len, &err), OK);
    assert_memory_equal(got, want, len);
    borrow_parts(r, NULL, want, len);
    pass_over(w, r, want);
    assert_int_equal(reader_verify(r, &err), OK);
    assert_int_equal(reader_read(r, 1, got, len, &err), ERR_ARGUMENT);
    error_clear(&err);
    free(want);
    free(got);
    random_slices(w, slices);
    want = naive(w, slices, &len);
    got = malloc(len + 1);
    assert_int_equal(reader_read_slice(r, slices, 0, got, len, &err), OK);
    assert_memory_equal(got, want, len);
    borrow_parts(r, slices, want, len);
    assert_int_equal(reader_read_slice(r, slices, 1, got, len, &err), ERR_ARGUMENT);
    free(want);
    free(got);
    reader_close(r);
}

TEST(random_worlds)
{
    const char *seeds = getenv("SEEDS");
    unsigned first = 1, count = 400;
    if (seeds)
        sscanf(seeds, "%u,%u", &first, &count); /* NOLINT(cert-err34-c) */
    for (unsigned seed = first; seed < first + count; seed++) {
        struct world w;
        random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
        world_random(&w);
        if (seeds)
            describe(&w, seed);
        compare_grid_reader(&w);
        if (!w.strings)
            compare_reader(&w);
        world_remove(&w);
    }
}

/* --- large chunks ----------------------------------------------------------------------- */

/* About six chunks of `count` elements, half absent, side by side along one axis or in
 * two rows. */
static void large_world(struct world *w, const char *dtype, uint64_t count)
{
    *w = (struct world){.holes = 5, .swap = 1};
    unsigned rank = 1 + (unsigned)random_below(2), axis = (unsigned)random_below(rank);
    w->t = (struct stored_tensor){.checkpoint = "world",
                                  .name = "t",
                                  .rank = rank,
                                  .shape = w->shape,
                                  .storage = STORAGE_CHUNKS,
                                  .codec = w->codec,
                                  .grid = &w->grid};
    dtype_find(dtype, &w->t.dtype);
    w->unit = w->t.dtype.block_bytes;
    w->gzip = random_below(2);
    for (size_t b = 0; b < w->unit; b++)
        w->fill[b] = (uint8_t)(0xA0 + b);
    w->grid = (struct grid){.levels = 1,
                            .level = {{.shape = w->box[0]}},
                            .in_files = random_below(2),
                            .separator = '.',
                            .metadata = 1,
                            .runs = w->runs,
                            .values = w->values,
                            .fill = {w->fill, w->unit}};
    for (unsigned d = 0; d < rank; d++) {
        w->box[0][d] = d == axis ? count : 1;
        w->shape[d] = d == axis ? count * (5 + random_below(2)) - random_below(2) : 2;
    }
    shape_elements(w->shape, rank, &w->t.elements);
    dtype_nbytes(&w->t.dtype, w->t.elements, &w->t.nbytes);
    snprintf(w->codec, sizeof(w->codec), "gzip:%llu", (unsigned long long)(count * w->unit));
    w->t.codec = w->gzip ? w->codec : NULL;
    world_write(w);
}

/* The whole tensor, on several threads, as one band and as many. */
static void read_large(const struct world *w)
{
    for (unsigned i = 0; i < 2; i++) {
        struct error err = {.offset = NO_OFFSET};
        struct grid_limits limits = {
            .budget = i ? 2 << 20 : 1 << 30, .threads = 8, .ahead_least = 1};
        struct grid_reader *g = NULL;
        struct source *s = NULL;
        uint8_t *got = malloc(w->t.nbytes);
        assert_non_null(got);
        assert_int_equal(grid_reader_open(&w->t, NULL, w->unit, &limits, &g, &err), OK);
        assert_int_equal(grid_reader_slice(g, NULL, &s, &err), OK);
        if (source_read(s, 0, got, w->t.nbytes, &err) != OK)
            fail_msg("%s: %s", err.source, err.message);
        if (memcmp(got, w->expected, w->t.nbytes) != 0)
            fail_msg("%s in chunks of %llu bytes reads wrong", w->t.dtype.name,
                     (unsigned long long)w->box[0][w->t.rank - 1] * w->unit);
        grid_reader_close(g);
        free(got);
    }
}

/* Chunks about as large as what the reader copies and decodes at once, beside absent ones. */
TEST(chunks_of_our_sizes)
{
    static const char *const dtypes[] = {"uint8", "bfloat16",   "float32",
                                         "int64", "complex128", "void24"};
    static const uint64_t sizes[] = {64 << 10, 128 << 10, 256 << 10};
    for (size_t k = 0; k < 3 * 5 * 6; k++) {
        struct world w;
        struct dtype dtype;
        dtype_find(dtypes[k % 6], &dtype);
        random_state = (k + 1) * UINT64_C(0x9E3779B97F4A7C15) + 1;
        large_world(&w, dtypes[k % 6], sizes[k / 30] / dtype.block_bytes + k / 6 % 5 - 2);
        read_large(&w);
        world_remove(&w);
    }
}

/* --- strings ---------------------------------------------------------------------------- */

/* A 3 x 5 tensor of strings in chunks of 2 x 2; the chunk in the middle of the first row is
 * absent. */
#define STRINGS 15
static const char *const texts[STRINGS] = {
    "a", "", "none", "none", "d\xc3\xa9", "f", "gg", "none", "none", "", "k", "l", "m", "n", "o"};

static void put_string(struct text *out, const char *s, unsigned width)
{
    char padded[8] = {0};
    if (!width)
        put_u32(out, (uint32_t)strlen(s));
    memcpy(padded, s, strlen(s));
    text_add(out, padded, width ? width : strlen(s));
}

/* width 0: of varying length. */
static void make_strings(struct world *w, unsigned width, bool gzip)
{
    *w = (struct world){.shape = {3, 5}, .box = {{2, 2}}, .order = {{1, 0}}, .unit = 1};
    w->t = (struct stored_tensor){.checkpoint = "world",
                                  .name = "t",
                                  .rank = 2,
                                  .shape = w->shape,
                                  .elements = STRINGS,
                                  .storage = STORAGE_CHUNKS,
                                  .codec = w->codec,
                                  .grid = &w->grid};
    dtype_find("string", &w->t.dtype);
    w->grid = (struct grid){.levels = 1,
                            .level = {{.shape = w->box[0], .order = w->order[0]}},
                            .in_files = true,
                            .separator = '.',
                            .metadata = 1,
                            .runs = w->runs,
                            .fill = {(const uint8_t *)"none", 4}};
    snprintf(w->codec, sizeof(w->codec), "%sstrings:%s",
             !gzip   ? ""
             : width ? "gzip:20|"
                     : "gzip:<100000|",
             width ? "S5" : "vlen");
    w->holes = 11; /* all; made below */
    world_write(w);
    for (uint64_t c = 0; c < 6; c++) {
        struct text run = {0}, value = {0};
        uint64_t at[2];
        if (c == 1)
            continue;
        if (!width)
            put_u32(&run, 4);
        for (unsigned k = 0; k < 4; k++) { /* Fortran order */
            at[0] = c / 3 * 2 + k % 2;
            at[1] = c % 3 * 2 + k / 2;
            uint64_t position = position_of(w, at);
            put_string(&run, position == UINT64_MAX ? "out" : texts[position], width);
        }
        if (gzip)
            gzip_text(&value, run.at, run.len);
        put_in_file(w, c, gzip ? &value : &run);
        text_release(&run);
        text_release(&value);
    }
    w->files[0] = file_now(w->directory);
}

TEST(strings_in_chunks)
{
    for (unsigned i = 0; i < 4; i++) {
        struct error err = {.offset = NO_OFFSET};
        struct world w;
        struct reader *r = NULL;
        struct string_table *table = NULL;
        make_strings(&w, i & 1 ? 5 : 0, i & 2);
        if (reader_open(&w.t, NULL, &r, &err) != OK || reader_strings(r, &table, &err) != OK)
            fail_msg("%s: %s: %s", w.codec, err.source, err.message);
        assert_int_equal(string_count(table), STRINGS);
        for (uint64_t k = 0; k < 3 * STRINGS; k++) {
            uint64_t index = k < STRINGS ? k : random_below(STRINGS);
            struct bytes s;
            if (string_at(table, index, &s, &err) != OK)
                fail_msg("%s: %s: %s", w.codec, err.source, err.message);
            assert_int_equal(s.len, strlen(texts[index]));
            assert_memory_equal(s.at, texts[index], s.len);
        }
        string_table_close(table);
        reader_close(r);
        world_remove(&w);
    }
}

/* One value with all of the strings, in the catalog. */
TEST(strings_inline)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        enum status status;
    } cases[] = {
        {"right",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0"
         "\2\0\0\0bc",
         19, OK},
        {"too few",
         "\2\0\0\0"
         "\1\0\0\0a\0\0\0\0",
         13, ERR_CORRUPT},
        {"cut short",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0"
         "\2\0\0\0b",
         18, ERR_CORRUPT},
        {"no last one",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0",
         13, ERR_CORRUPT},
        {"one too long",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0"
         "\3\0\0\0bc",
         19, ERR_CORRUPT},
        {"far too long",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0"
         "\377\377\377\377",
         17, ERR_CORRUPT},
        {"more after",
         "\3\0\0\0"
         "\1\0\0\0a\0\0\0\0"
         "\2\0\0\0bcd",
         20, ERR_CORRUPT},
        {"nothing", "", 0, ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        uint64_t shape[] = {3};
        struct extent extent = {.file = NO_FILE, .stored = cases[i].len, .bytes = cases[i].bytes};
        struct stored_tensor t = {.checkpoint = "catalog",
                                  .name = "t",
                                  .rank = 1,
                                  .shape = shape,
                                  .elements = 3,
                                  .storage = STORAGE_INLINE,
                                  .codec = "strings:vlen",
                                  .extents = &extent,
                                  .extent_count = 1};
        struct reader *r = NULL;
        struct string_table *table = NULL;
        struct bytes s;
        print_message("%s\n", cases[i].name);
        dtype_find("string", &t.dtype);
        assert_int_equal(reader_open(&t, NULL, &r, &err), OK);
        assert_int_equal(reader_strings(r, &table, &err), cases[i].status);
        if (table) {
            assert_int_equal(string_at(table, 2, &s, &err), OK);
            assert_int_equal(s.len, 2);
            assert_memory_equal(s.at, "bc", 2);
            assert_int_equal(string_at(table, 1, &s, &err), OK);
            assert_int_equal(s.len, 0);
        }
        string_table_close(table);
        reader_close(r);
    }
}

/* --- damage ----------------------------------------------------------------------------- */

/* float32, 6 x 6 in chunks of 3 x 3 */
struct damaged {
    struct world w;
    char path[128];    /* of chunk 1.0, or the list */
    struct text bytes; /* of the file */
};

static void read_back(struct damaged *d)
{
    size_t len;
    uint8_t *bytes = read_file(d->path, &len);
    text_reset(&d->bytes);
    text_add(&d->bytes, bytes, len);
    free(bytes);
}

/* The layouts that are damaged. */
enum {
    PLAIN,
    GZIP,
    SUMMED,
    SHARDS, /* of 1 x 3 inner chunks; index at the end, with its sum */
    FIRST,  /* the same; index first, without */
    LIST    /* gzip, in a file */
};

static void lay_out(struct damaged *d, int layout)
{
    struct world *w = &d->w;
    *d = (struct damaged){0};
    *w = (struct world){.shape = {6, 6}, .box = {{3, 3}, {1, 3}}, .unit = 4, .swap = 1};
    bool shards = layout == SHARDS || layout == FIRST;
    w->t = (struct stored_tensor){.checkpoint = "world",
                                  .name = "t",
                                  .rank = 2,
                                  .shape = w->shape,
                                  .elements = 36,
                                  .nbytes = 144,
                                  .storage = STORAGE_CHUNKS,
                                  .codec = w->codec,
                                  .grid = &w->grid};
    dtype_find("float32", &w->t.dtype);
    w->grid = (struct grid){.levels = shards ? 2 : 1,
                            .in_files = layout != LIST,
                            .separator = '.',
                            .metadata = layout == LIST ? GRID_NO_FILE : 1,
                            .runs = w->runs,
                            .values = w->values};
    for (unsigned l = 0; l < w->grid.levels; l++)
        w->grid.level[l] = (struct grid_level){.shape = w->box[l],
                                               .index_first = layout == FIRST,
                                               .index_summed = layout == SHARDS && l == 0};
    w->gzip = layout == GZIP || layout == LIST;
    w->summed = layout == SUMMED;
    snprintf(w->codec, sizeof(w->codec), "%s%s", w->summed ? "crc32c:end" : "",
             w->gzip ? "gzip:36" : "");
    w->t.codec = w->codec[0] ? w->codec : NULL;
    do { /* until none of the list is inline */
        if (w->directory[0])
            world_remove(w);
        w->grid.value_count = w->grid.run_count = 0;
        world_write(w);
    } while (layout == LIST && (w->values[0].bytes || w->values[1].bytes || w->values[2].bytes ||
                                w->values[3].bytes));
    snprintf(d->path, sizeof(d->path), "%s/%s", w->directory, layout == LIST ? "data" : "1.0");
    read_back(d);
}

static void rewrite(struct damaged *d, size_t len)
{
    text_add(&d->bytes, "more", 4);
    write_file(d->path, d->bytes.at, len);
    if (!d->w.grid.in_files)
        d->w.files[0] = file_now(d->path);
}

static void cut_short(struct damaged *d)
{
    rewrite(d, d->bytes.len - 1);
}

static void make_longer(struct damaged *d)
{
    rewrite(d, d->bytes.len + 1);
}

static void make_empty(struct damaged *d)
{
    rewrite(d, 0);
}

static void flip_first(struct damaged *d)
{
    d->bytes.at[0] ^= 1;
    rewrite(d, d->bytes.len);
}

static void flip_last(struct damaged *d)
{
    d->bytes.at[d->bytes.len - 1] ^= 1;
    rewrite(d, d->bytes.len);
}

static void make_huge(struct damaged *d)
{
    rewrite(d, d->bytes.len);
    assert_int_equal(truncate(d->path, 70000), 0);
}

/* The folder is as it should be. */
static void folder_is_fine(struct damaged *d)
{
    if (d->w.grid.in_files)
        d->w.files[0] = file_now(d->w.directory);
}

static void remove_it(struct damaged *d)
{
    unlink(d->path);
    folder_is_fine(d);
}

static void remove_all(struct damaged *d)
{
    folder_remove(d->w.directory);
}

/* Like downloads from a hub: links to files elsewhere. */
static void make_link(struct damaged *d)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/moved", d->w.directory);
    assert_int_equal(rename(d->path, path), 0);
    assert_int_equal(symlink("moved", d->path), 0);
    folder_is_fine(d);
}

static void make_fifo(struct damaged *d)
{
    unlink(d->path);
    assert_int_equal(mkfifo(d->path, 0600), 0);
    folder_is_fine(d);
}

static void make_folder(struct damaged *d)
{
    unlink(d->path);
    assert_int_equal(mkdir(d->path, 0700), 0);
    folder_is_fine(d);
}

static void add_file(struct damaged *d)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/5.5", d->w.directory);
    write_file(path, "", 0);
    d->w.files[0].identity.mtime_ns--; /* clocks may be coarse */
}

static void change_metadata(struct damaged *d)
{
    write_file(d->w.metadata, "{ }", 3);
}

static void append(struct damaged *d)
{
    append_file(d->path, "+", 1);
}

static void bomb(struct damaged *d)
{
    static const char zeros[100000];
    text_reset(&d->bytes);
    gzip_text(&d->bytes, zeros, sizeof(zeros));
    rewrite(d, d->bytes.len);
}

static void too_little(struct damaged *d)
{
    text_reset(&d->bytes);
    gzip_text(&d->bytes, "35 bytes, where there should be 36.", 35);
    rewrite(d, d->bytes.len);
}

static void range_past_end(struct damaged *d)
{
    d->w.values[2].stored = d->bytes.len;
}

static void range_overflows(struct damaged *d)
{
    d->w.values[2].offset = UINT64_MAX - 3;
}

static void wrong_fill(struct damaged *d)
{
    d->w.grid.fill = (struct bytes){d->w.fill, 3};
}

static void unknown_codec(struct damaged *d)
{
    d->w.t.codec = "gzip:36|rot:13";
}

static void numbers_as_strings(struct damaged *d)
{
    d->w.t.codec = "strings";
}

static void strings_of_bits(struct damaged *d)
{
    dtype_find("string", &d->w.t.dtype);
    d->w.t.codec = "strings:S4|unpack:4";
}

static void strings_twice(struct damaged *d)
{
    dtype_find("string", &d->w.t.dtype);
    d->w.t.codec = "strings:S4|strings";
}

static void huge_box(struct damaged *d)
{
    d->w.box[0][0] = UINT64_C(1) << 60;
    d->w.box[0][1] = 7;
}

/* Of the shard's index: number `at` of the six. */
static void set_index(struct damaged *d, size_t at, uint64_t value)
{
    bool first = d->w.grid.level[0].index_first;
    store_u64le(d->bytes.at + (first ? 0 : d->bytes.len - 52) + at * 8, value);
    uint8_t *sum = (uint8_t *)d->bytes.at + d->bytes.len - 4;
    if (!first)
        store_u32le(sum, crc32c_extend(0, d->bytes.at + d->bytes.len - 52, 48));
    rewrite(d, d->bytes.len);
}

static void entry_far(struct damaged *d)
{
    set_index(d, 2, UINT64_MAX - 8);
}

static void entry_in_index(struct damaged *d)
{
    set_index(d, 2, d->w.grid.level[0].index_first ? 47 : d->bytes.len - 52 - 11);
}

static void entry_half_absent(struct damaged *d)
{
    set_index(d, 3, UINT64_MAX);
}

static void entry_longer(struct damaged *d)
{
    set_index(d, 3, 13);
}

static void entry_empty(struct damaged *d)
{
    set_index(d, 3, 0);
}

TEST(damage_is_reported)
{
    static const struct {
        const char *name;
        int layout;
        void (*harm)(struct damaged *);
        enum status open, read;
        const char *source, *message; /* parts of the texts */
    } cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "tests/unit/damaged_chunks.def"
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct damaged d;
        struct reader *r = NULL;
        uint8_t got[144];
        print_message("%s\n", cases[i].name);
        lay_out(&d, cases[i].layout);
        assert_int_equal(reader_open(&d.w.t, NULL, &r, &err), OK);
        assert_int_equal(reader_read(r, 0, got, sizeof(got), &err), OK);
        assert_memory_equal(got, d.w.expected, sizeof(got));
        reader_close(r);
        r = NULL;
        cases[i].harm(&d);
        if (reader_open(&d.w.t, NULL, &r, &err) != cases[i].open)
            fail_msg("%s: %s", err.source, err.message);
        if (r) {
            assert_int_equal(reader_read(r, 0, got, sizeof(got), &err), cases[i].read);
        }
        if (!strstr(err.source, cases[i].source) || !strstr(err.message, cases[i].message))
            fail_msg("%s: %s", err.source, err.message);
        reader_close(r);
        text_release(&d.bytes);
        world_remove(&d.w);
    }
}

/* Whichever thread meets it first. */
TEST(lowest_chunk_wins)
{
    for (int i = 0; i < 20; i++) {
        struct error err = {.offset = NO_OFFSET};
        struct grid_limits limits = {.budget = 1 << 20, .threads = 4};
        struct damaged d;
        struct grid_reader *g = NULL;
        struct source *s = NULL;
        uint8_t got[144];
        lay_out(&d, GZIP);
        cut_short(&d);
        memcpy(strrchr(d.path, '/'), "/0.1", sizeof("/0.1"));
        unlink(d.path);
        folder_is_fine(&d);
        assert_int_equal(grid_reader_open(&d.w.t, NULL, 4, &limits, &g, &err), OK);
        assert_int_equal(grid_reader_slice(g, NULL, &s, &err), OK);
        assert_int_equal(source_read(s, 0, got, sizeof(got), &err), ERR_CHANGED);
        assert_non_null(strstr(err.message, "chunk [0,1]: gone"));
        grid_reader_close(g);
        text_release(&d.bytes);
        world_remove(&d.w);
    }
}

/* --- sizes ------------------------------------------------------------------------------ */

/* 2^60 cells and one file. */
TEST(endless_grid)
{
    struct error err = {.offset = NO_OFFSET};
    struct world w = {.shape = {UINT64_C(1) << 40, UINT64_C(1) << 20},
                      .box = {{1, 1}},
                      .fill = {7},
                      .unit = 1,
                      .swap = 1};
    w.t = (struct stored_tensor){.checkpoint = "world",
                                 .name = "t",
                                 .rank = 2,
                                 .shape = w.shape,
                                 .elements = UINT64_C(1) << 60,
                                 .storage = STORAGE_CHUNKS,
                                 .grid = &w.grid,
                                 .files = w.files,
                                 .file_count = 1};
    dtype_find("uint8", &w.t.dtype);
    w.grid = (struct grid){.levels = 1,
                           .level = {{.shape = w.box[0]}},
                           .values = w.values,
                           .value_count = 1,
                           .metadata = GRID_NO_FILE,
                           .fill = {w.fill, 1}};
    w.values[0] = (struct grid_value){
        .index = (UINT64_C(1) << 59) + 5, .file = GRID_NO_FILE, .stored = 1, .bytes = "!"};
    struct ckptdb_slice slices[2] = {{(UINT64_C(1) << 39) - 1, 3, 1}, {2, 3, 3}};
    struct reader *r = NULL;
    uint8_t got[9];
    assert_int_equal(reader_open(&w.t, NULL, &r, &err), OK);
    assert_int_equal(reader_read_slice(r, slices, 0, got, 9, &err), OK);
    assert_memory_equal(got, "\7\7\7\7!\7\7\7\7", 9);
    assert_int_equal(reader_read(r, (UINT64_C(1) << 59) + 4, got, 3, &err), OK);
    assert_memory_equal(got, "\7!\7", 3);
    assert_int_equal(reader_read(r, (UINT64_C(1) << 60) - 3, got, 3, &err), OK);
    assert_memory_equal(got, "\7\7\7", 3);
    /* Absent chunks are skipped, except what a few bands hold. */
    const uint64_t chunk = (UINT64_C(1) << 59) + 5, band = UINT64_C(1) << 25;
    assert_in_range(reader_from(r, 0), chunk - band, chunk);
    assert_int_equal(reader_from(r, chunk), chunk);
    assert_int_equal(reader_from(r, chunk + band), UINT64_C(1) << 60);
    reader_close(r);
}

TEST(highest_rank)
{
    struct error err = {.offset = NO_OFFSET};
    uint64_t shape[TENSOR_RANK_MAX], box[TENSOR_RANK_MAX];
    struct grid_value value = {.file = GRID_NO_FILE, .stored = 4, .bytes = "abcd"};
    struct grid grid = {.levels = 1,
                        .level = {{.shape = box}},
                        .values = &value,
                        .value_count = 1,
                        .metadata = GRID_NO_FILE};
    struct stored_tensor t = {.checkpoint = "world",
                              .name = "t",
                              .rank = TENSOR_RANK_MAX,
                              .shape = shape,
                              .elements = 3,
                              .storage = STORAGE_CHUNKS,
                              .grid = &grid};
    struct reader *r = NULL;
    char got[3];
    dtype_find("uint8", &t.dtype);
    for (unsigned d = 0; d < t.rank; d++)
        shape[d] = box[d] = 1;
    shape[100] = 3;
    box[100] = box[200] = 2;
    assert_int_equal(reader_open(&t, NULL, &r, &err), OK);
    assert_int_equal(reader_read(r, 0, got, 3, &err), OK);
    assert_memory_equal(got, "ac\0", 3);
    reader_close(r);
}

/* What tensor_bytes() gives of packed elements. */
TEST(packed_as_stored)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {0};
    uint64_t shape[] = {3, 3}, box[] = {2, 2};
    struct grid_value values[] = {
        {.index = 0, .file = GRID_NO_FILE, .stored = 4, .bytes = "\1\2\3\4"},
        {.index = 3, .file = GRID_NO_FILE, .stored = 4, .bytes = "\5\6\7\10"}};
    struct grid grid = {.levels = 1,
                        .level = {{.shape = box}},
                        .values = values,
                        .value_count = 2,
                        .metadata = GRID_NO_FILE,
                        .fill = {(const uint8_t *)"\17", 1}};
    struct stored_tensor t = {.checkpoint = "world",
                              .name = "t",
                              .rank = 2,
                              .shape = shape,
                              .elements = 9,
                              .nbytes = 5,
                              .storage = STORAGE_CHUNKS,
                              .codec = "unpack:4",
                              .grid = &grid};
    struct reader *r = NULL;
    uint8_t got[9];
    dtype_find("int4", &t.dtype);
    assert_int_equal(reader_open(&t, NULL, &r, &err), OK);
    assert_int_equal(reader_read(r, 0, got, 5, &err), OK);
    assert_memory_equal(got, "\x21\x3f\xf4\xff\x05", 5);
    assert_int_equal(reader_read(r, 1, got, 3, &err), OK);
    assert_memory_equal(got, "\x3f\xf4\xff", 3);
    reader_close(r);
    r = NULL;
    assert_int_equal(tensor_as_stored(&t, &arena, &err), OK);
    assert_int_equal(reader_open(&t, NULL, &r, &err), OK);
    assert_int_equal(reader_read(r, 0, got, 9, &err), OK);
    assert_memory_equal(got, "\1\2\17\3\4\17\17\17\5", 9);
    reader_close(r);
    arena_release(&arena);
}

RUN_TESTS(NULL, NULL)
