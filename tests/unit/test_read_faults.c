/*
 * The reader when the world fails: memory and reads that end at the n-th call, for every n; files
 * that changed; data that is damaged. The linker puts __wrap_X in the place of X (Makefile).
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include "catalog/data/kernel/crc32c.h"
#include "catalog/data/read/read.h"
#include "tests/unit/unit.h"

/* --- faults ----------------------------------------------------------------------------- */

enum fault { NO_FAULT, NO_MEMORY, NO_READ };

static enum fault armed;
static unsigned long calls, fail_at; /* fail_at 0: count only */
static uint64_t bytes_read;

static bool fails(enum fault kind)
{
    return armed == kind && ++calls == fail_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_aligned_alloc(size_t boundary, size_t size);
char *__real_strdup(const char *s);
ssize_t __real_pread64(int fd, void *at, size_t len, off_t offset);

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails(NO_MEMORY) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return fails(NO_MEMORY) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size)
{
    return fails(NO_MEMORY) ? NULL : __real_realloc(at, size);
}

void *__wrap_aligned_alloc(size_t boundary, size_t size);
void *__wrap_aligned_alloc(size_t boundary, size_t size)
{
    return fails(NO_MEMORY) ? NULL : __real_aligned_alloc(boundary, size);
}

char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
    return fails(NO_MEMORY) ? NULL : __real_strdup(s);
}

ssize_t __wrap_pread64(int fd, void *at, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *at, size_t len, off_t offset)
{
    if (fails(NO_READ)) {
        errno = EIO;
        return -1;
    }
    ssize_t got = __real_pread64(fd, at, len, offset);
    bytes_read += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* --- files ------------------------------------------------------------------------------ */

enum { ROWS = 60, COLUMNS = 50, BYTES = ROWS * COLUMNS * 4 };

/* The tensors' sources: the file "plain", "packed", the same deflated, and "shard",
 * the same with an index of its SHARD_CHUNKS parts. */
#define SHARD_CHUNKS 6
struct world {
    uint8_t plain[BYTES];
    size_t packed;
    struct stored_file files[4];
    uint64_t shape[2], half[2], lower[2];
    int64_t strides[2];
    struct extent extents[2];
    uint32_t sums[2];
    char codec[64];
    struct grid grid;
    struct grid_value value;
    uint64_t row[2]; /* shape of a shard's chunks */
    uint8_t order[2];
};

static void world_make(struct world *w)
{
    uint8_t packed[BYTES + 1000];
    z_stream z = {0};
    *w = (struct world){.shape = {ROWS, COLUMNS},
                        .half = {ROWS / 2, COLUMNS},
                        .lower = {ROWS / 2, 0},
                        .strides = {1, ROWS}};
    for (size_t i = 0; i < BYTES; i++)
        w->plain[i] = (uint8_t)(i * 2654435761u >> 24);
    assert_int_equal(Z_OK, deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY));
    z.next_in = w->plain;
    z.avail_in = BYTES;
    z.next_out = packed;
    z.avail_out = sizeof(packed);
    assert_int_equal(Z_STREAM_END, deflate(&z, Z_FINISH));
    w->packed = z.total_out;
    deflateEnd(&z);
    write_file("plain", w->plain, BYTES);
    write_file("packed", packed, w->packed);
    write_file("strings",
               "\x02\x00\x03\x1b\x42\x8b\xca"
               "abcde",
               12);
    uint8_t shard[BYTES + SHARD_CHUNKS * 16 + 4];
    memcpy(shard, w->plain, BYTES);
    for (size_t i = 0; i < SHARD_CHUNKS; i++) {
        store_u64le(shard + BYTES + i * 16, i * (BYTES / SHARD_CHUNKS));
        store_u64le(shard + BYTES + i * 16 + 8, BYTES / SHARD_CHUNKS);
    }
    store_u32le(shard + sizeof(shard) - 4, crc32c_extend(0, shard + BYTES, SHARD_CHUNKS * 16));
    write_file("shard", shard, sizeof(shard));
    w->files[3] = file_now("shard");
    w->files[0] = file_now("plain");
    w->files[1] = file_now("packed");
    w->files[2] = file_now("strings");
}

static struct stored_tensor tensor_of(struct world *w, const char *dtype)
{
    struct stored_tensor t = {.checkpoint = "world",
                              .name = "t",
                              .rank = 2,
                              .shape = w->shape,
                              .elements = ROWS * COLUMNS,
                              .storage = STORAGE_RANGE,
                              .extents = w->extents,
                              .extent_count = 1,
                              .files = w->files,
                              .file_count = 4};
    dtype_find(dtype, &t.dtype);
    t.nbytes = BYTES;
    w->extents[0] = (struct extent){.file = 0, .stored = BYTES};
    return t;
}

static void be_flat(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
}

static void be_fortran(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    t->strides = w->strides;
}

static void be_pieces(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    t->storage = STORAGE_PIECES;
    t->extent_count = 2;
    t->codec = "swap:4";
    w->extents[0] = (struct extent){.stored = BYTES / 2, .shape = w->half};
    w->extents[1] = (struct extent){
        .stored = BYTES / 2, .offset = BYTES / 2, .shape = w->half, .origin = w->lower};
    t->sum_kind = "crc32c";
    t->sums = w->sums;
    w->sums[0] = crc32c_extend(0, w->plain, BYTES / 2);
    w->sums[1] = crc32c_extend(0, w->plain + BYTES / 2, BYTES / 2);
}

static void be_deflated(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    t->storage = STORAGE_CHUNKS;
    w->extents[0] = (struct extent){.file = 1, .stored = w->packed};
    snprintf(w->codec, sizeof(w->codec), "deflate:%d|swap:4", BYTES);
    t->codec = w->codec;
    t->sum_kind = "crc32";
    t->sums = w->sums;
    w->sums[0] = (uint32_t)crc32_z(0, w->plain, BYTES);
}

static void be_deflated_fortran(struct world *w, struct stored_tensor *t)
{
    be_deflated(w, t);
    t->strides = w->strides;
}

/* A stored zip member: the tensor begins 40 bytes into it. */
static void be_member(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    w->shape[0] = ROWS - 1;
    t->elements = (ROWS - 1) * COLUMNS;
    t->nbytes = t->elements * 4;
    w->extents[0] = (struct extent){.offset = BYTES - t->nbytes, .stored = t->nbytes};
    t->codec = "member:40";
    t->sum_kind = "crc32";
    t->sums = w->sums;
    size_t begin = BYTES - t->nbytes - 40;
    w->sums[0] = (uint32_t)crc32_z(0, w->plain + begin, BYTES - begin);
}

static void be_strings(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "string");
    w->shape[0] = 3;
    t->rank = 1;
    t->elements = 3;
    t->codec = "strings:tf";
    w->extents[0] = (struct extent){.file = 2, .stored = 12};
    t->sum_kind = "crc32c";
    t->sums = w->sums;
    w->sums[0] = crc32c_unmask(0x9D0ECFC3);
}

static void be_numpy_strings(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "string");
    t->codec = "strings:S4";
    t->strides = w->strides;
}

static void be_grid(struct world *w, struct stored_tensor *t, uint32_t file, uint64_t stored)
{
    t->storage = STORAGE_CHUNKS;
    t->extent_count = 0;
    t->grid = &w->grid;
    w->value = (struct grid_value){.file = file, .stored = stored};
    w->grid = (struct grid){.levels = 1,
                            .level = {{.shape = w->shape}},
                            .metadata = GRID_NO_FILE,
                            .values = &w->value,
                            .value_count = 1};
}

/* A chunk that goes through scratch memory. */
static void be_chunk(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    be_grid(w, t, 1, w->packed);
    w->order[0] = 1;
    w->order[1] = 0;
    w->grid.level[0].order = w->order;
    snprintf(w->codec, sizeof(w->codec), "deflate:%d|swap:4", BYTES);
    t->codec = w->codec;
}

static void be_shard(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "float32");
    be_grid(w, t, 3, BYTES + SHARD_CHUNKS * 16 + 4);
    w->row[0] = ROWS / SHARD_CHUNKS;
    w->row[1] = COLUMNS;
    w->grid.levels = 2;
    w->grid.level[0].index_summed = true;
    w->grid.level[1].shape = w->row;
}

static void be_string_chunk(struct world *w, struct stored_tensor *t)
{
    *t = tensor_of(w, "string");
    w->shape[0] = w->shape[1] = 1;
    t->elements = 1;
    be_grid(w, t, GRID_NO_FILE, 9);
    w->value.bytes = "\1\0\0\0\1\0\0\0a";
    t->codec = "strings:vlen";
}

static const struct {
    const char *name;
    void (*be)(struct world *, struct stored_tensor *);
} kinds[] = {
    {"flat", be_flat},
    {"fortran", be_fortran},
    {"pieces", be_pieces},
    {"deflated", be_deflated},
    {"deflated fortran", be_deflated_fortran},
    {"member", be_member},
    {"strings", be_strings},
    {"numpy strings", be_numpy_strings},
    {"chunk", be_chunk},
    {"shard", be_shard},
    {"string chunk", be_string_chunk},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- everything that can be done with a tensor ------------------------------------------------- */

static uint8_t got[BYTES];

static enum status use_strings(struct reader *r, struct error *err)
{
    struct string_table *table = NULL;
    struct bytes s;
    if (reader_strings(r, &table, err) == OK)
        for (uint64_t i = 0; i < string_count(table); i++)
            if (string_at(table, i, &s, err) != OK)
                break;
    string_table_close(table);
    return err->status;
}

static enum status use(const struct stored_tensor *t, struct error *err)
{
    struct reader *r = NULL;
    struct ckptdb_slice slices[2] = {{t->shape[0] - 1, t->shape[0] / 2, -2}, {3, COLUMNS / 7, 5}};
    uint64_t size = slice_elements(slices, 2) * 4;
    if (reader_open(t, NULL, &r, err) != OK)
        goto done;
    if (t->dtype.kind == DTYPE_STRING) {
        use_strings(r, err);
    } else {
        for (uint64_t at = 0; at < t->nbytes && err->status == OK; at += 3000) {
            size_t len = t->nbytes - at < 3000 ? (size_t)(t->nbytes - at) : 3000;
            reader_read(r, at, got + at, len, err);
        }
        uint8_t part[BYTES];
        if (err->status == OK)
            reader_read_slice(r, slices, 0, part, size, err);
    }
    if (err->status == OK)
        reader_verify(r, err);

done:
    reader_close(r);
    return err->status;
}

static void fail_everywhere(enum fault fault, enum status expected)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct world w;
        struct stored_tensor t;
        struct error err = {.offset = NO_OFFSET};
        world_make(&w);
        kinds[k].be(&w, &t);
        armed = fault;
        calls = fail_at = 0;
        enum status status = use(&t, &err);
        unsigned long all = calls;
        armed = NO_FAULT;
        printf("# %s: %lu calls\n", kinds[k].name, all);
        assert_int_equal(OK, status);
        for (unsigned long n = 1; n <= all; n++) {
            error_clear(&err);
            armed = fault;
            calls = 0;
            fail_at = n;
            status = use(&t, &err);
            armed = NO_FAULT;
            assert_int_equal(expected, status);
            assert_true(err.message[0]);
        }
    }
}

TEST(test_no_memory)
{
    fail_everywhere(NO_MEMORY, ERR_MEMORY);
}

TEST(test_no_read)
{
    fail_everywhere(NO_READ, ERR_IO);
}

/* --- damage ----------------------------------------------------------------------------- */

TEST(test_checksums)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct world w;
        struct stored_tensor t;
        struct reader *r = NULL;
        struct error err = {.offset = NO_OFFSET};
        world_make(&w);
        kinds[k].be(&w, &t);
        if (!t.sums)
            continue;
        printf("# %s\n", kinds[k].name);
        w.sums[t.extent_count - 1] ^= 0x100;
        assert_int_equal(ERR_CHECKSUM, use(&t, &err)); /* on the way */
        error_clear(&err);
        if (reader_open(&t, NULL, &r, &err) == OK) /* not in one that must be decoded to open */
            assert_int_equal(ERR_CHECKSUM, reader_verify(r, &err));
        assert_int_equal(ERR_CHECKSUM, err.status);
        reader_close(r);
    }
}

/* Data verified while it was read is not read again. */
TEST(test_verified_once)
{
    struct world w;
    struct stored_tensor t;
    struct reader *r = NULL;
    struct error err = {.offset = NO_OFFSET};
    world_make(&w);
    be_pieces(&w, &t);
    assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
    assert_int_equal(OK, reader_read(r, 0, got, BYTES, &err));
    bytes_read = 0;
    assert_int_equal(OK, reader_verify(r, &err));
    assert_int_equal(0, bytes_read);
    reader_close(r);
}

static enum status open_now(const struct stored_tensor *t, struct error *err)
{
    struct reader *r = NULL;
    error_clear(err);
    enum status status = reader_open(t, NULL, &r, err);
    reader_close(r);
    return status;
}

TEST(test_changed_files)
{
    struct world w;
    struct stored_tensor t;
    struct error err = {.offset = NO_OFFSET};
    world_make(&w);
    be_flat(&w, &t);
    assert_int_equal(OK, open_now(&t, &err));

    w.files[0].identity.mtime_ns--;
    assert_int_equal(ERR_CHANGED, open_now(&t, &err));
    assert_non_null(strstr(err.message, "import it again"));
    assert_string_equal("plain", err.source);

    w.files[0].checked = false; /* a chunk without an identity */
    assert_int_equal(OK, open_now(&t, &err));
    w.files[0] = file_now("plain");

    write_file("longer", w.plain, BYTES);
    assert_int_equal(0, rename("longer", "plain")); /* another inode */
    assert_int_equal(ERR_CHANGED, open_now(&t, &err));
    w.files[0] = file_now("plain");

    write_file("plain", w.plain, BYTES - 1);
    assert_int_equal(ERR_CHANGED, open_now(&t, &err));
    assert_int_equal(0, unlink("plain"));
    assert_int_equal(ERR_CHANGED, open_now(&t, &err));
    w.files[0].checked = false;
    assert_int_equal(ERR_MISSING, open_now(&t, &err));
    w.files[0].present = false;
    assert_int_equal(ERR_MISSING, open_now(&t, &err));
}

TEST(test_shrinking_file)
{
    struct world w;
    struct stored_tensor t;
    struct reader *r = NULL;
    struct error err = {.offset = NO_OFFSET};
    world_make(&w);
    be_flat(&w, &t);
    assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
    assert_int_equal(0, truncate("plain", 100));
    assert_int_equal(ERR_IO, reader_read(r, 0, got, BYTES, &err));
    reader_close(r);
}

/* --- economy ---------------------------------------------------------------------------- */

/* A slice reads what it needs of a large file, which is empty but for its length. */
TEST(test_slice_reads_little)
{
    static const struct {
        const char *what;
        struct ckptdb_slice slices[2];
        uint64_t most; /* bytes read */
    } cases[] = {
        {"a row", {{123456, 1, 1}, {0, 1000, 1}}, 4000},
        {"an element", {{999999, 1, 1}, {999, 1, 1}}, 4},
        {"ten elements far apart", {{0, 10, 100000}, {7, 1, 1}}, 40},
        {"a corner", {{0, 100, 1}, {0, 10, 1}}, 100 * 40},
        {"a corner, backward", {{99, 100, -1}, {9, 10, -1}}, 100 * 40},
        {"every second element of a row", {{5, 1, 1}, {0, 500, 2}}, 4000},
    };
    uint64_t shape[2] = {1000000, 1000};
    write_file("large", "", 0);
    assert_int_equal(0, truncate("large", INT64_C(4000000000)));
    struct stored_file file = file_now("large");
    struct extent extent = {.stored = 4000000000};
    struct stored_tensor t = {.checkpoint = "large",
                              .name = "t",
                              .rank = 2,
                              .shape = shape,
                              .elements = 1000000000,
                              .storage = STORAGE_RANGE,
                              .extents = &extent,
                              .extent_count = 1,
                              .files = &file,
                              .file_count = 1};
    dtype_find("float32", &t.dtype);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct reader *r = NULL;
        bytes_read = 0;
        assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
        assert_int_equal(OK, reader_read_slice(r, cases[i].slices, 0, got,
                                               slice_elements(cases[i].slices, 2) * 4, &err));
        printf("# %s: %llu bytes\n", cases[i].what, (unsigned long long)bytes_read);
        assert_true(bytes_read <= cases[i].most);
        reader_close(r);
    }
}

/* Only those pieces are read that a slice touches. */
TEST(test_slice_of_pieces)
{
    struct world w;
    struct stored_tensor t;
    struct reader *r = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct ckptdb_slice slices[2] = {{ROWS / 2, 2, 1}, {0, COLUMNS, 1}};
    world_make(&w);
    be_pieces(&w, &t);
    t.sums = NULL;
    bytes_read = 0;
    assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
    assert_int_equal(OK, reader_read_slice(r, slices, 0, got, 2 * COLUMNS * 4, &err));
    assert_int_equal(2 * COLUMNS * 4, bytes_read);
    reader_close(r);
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

enum {
    CACHED_FILES = 40 /* more than a cache keeps */
};

static enum status read_through(struct file_cache *cache, struct stored_file *file,
                                struct reader **out)
{
    static uint64_t shape[1] = {4};
    static struct extent extent = {.stored = 4};
    static struct stored_tensor tensors[CACHED_FILES];
    static size_t next;
    struct stored_tensor *t = &tensors[next++ % CACHED_FILES];
    struct error err = {.offset = NO_OFFSET};
    *t = (struct stored_tensor){.checkpoint = "cached",
                                .name = "t",
                                .rank = 1,
                                .shape = shape,
                                .elements = 4,
                                .storage = STORAGE_RANGE,
                                .extents = &extent,
                                .extent_count = 1,
                                .files = file,
                                .file_count = 1};
    dtype_find("uint8", &t->dtype);
    if (reader_open(t, cache, out, &err) == OK)
        reader_read(*out, 0, got, 4, &err);
    return err.status;
}

/* Files stay open from one tensor to the next, not too many, and not when they have changed. */
TEST(test_cache)
{
    struct stored_file files[CACHED_FILES];
    struct reader *readers[CACHED_FILES] = {NULL}, *r = NULL;
    char names[CACHED_FILES][8];
    struct file_cache *cache = file_cache_new();
    size_t before = open_files();
    for (size_t i = 0; i < CACHED_FILES; i++) {
        snprintf(names[i], sizeof(names[i]), "c%zu", i);
        write_file(names[i], &(uint32_t){(uint32_t)i}, 4);
        files[i] = file_now(names[i]);
    }
    for (size_t n = 0; n < (size_t)3 * CACHED_FILES; n++) {
        size_t i = n % CACHED_FILES;
        assert_int_equal(OK, read_through(cache, &files[i], &r));
        assert_int_equal(i, load_u32le(got));
        reader_close(r);
    }
    assert_int_equal(32, open_files() - before);
    for (size_t i = 0; i < CACHED_FILES; i++) {
        assert_int_equal(OK, read_through(cache, &files[i], &readers[i]));
        assert_int_equal(i, load_u32le(got));
    }
    assert_int_equal(CACHED_FILES, open_files() - before);
    for (size_t i = 0; i < CACHED_FILES; i++)
        reader_close(readers[i]);
    assert_int_equal(32, open_files() - before);
    assert_int_equal(OK, read_through(cache, &files[1], &r));
    reader_close(r);
    write_file("c1", "longer", 6);
    assert_int_equal(0, unlink("c2"));
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    r = NULL;
    assert_int_equal(ERR_CHANGED, read_through(cache, &files[1], &r));
    assert_int_equal(ERR_CHANGED, read_through(cache, &files[1], &r)); /* at once, too */
    assert_int_equal(ERR_CHANGED, read_through(cache, &files[2], &r));
    assert_null(r);
    file_cache_free(cache);
    assert_int_equal(before, open_files());
}

RUN_TESTS(enter_folder, leave_folder)
