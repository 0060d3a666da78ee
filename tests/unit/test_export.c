#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "catalog/export/export_layout.h"
#include "tests/unit/unit.h"

/* A checkpoint in memory: tensors whose bytes are in the catalog itself. */
struct fake {
    const char *name, *dtype;
    unsigned rank;
    uint64_t shape[3];
    const void *bytes;
};

struct shop {
    const struct fake *tensors;
    size_t count;
    bool renamed;             /* the catalog changed after the plan was made */
    bool chunked;             /* tensors lie in chunks of a row each */
    struct stored_file *file; /* the only tensor lies in it, at FILE_OFFSET */
};

#define FILE_OFFSET 1000

#define CHECKPOINT INT64_C(7)
#define ID(i)      (CHECKPOINT << TENSOR_ORD_BITS | (int64_t)(i))

/* The same bytes as a list of rows. */
static void cut_in_chunks(const struct fake *f, struct arena *arena, struct stored_tensor *t)
{
    struct grid *g = t->grid = arena_alloc(arena, sizeof(*g));
    uint64_t *box = arena_array(arena, 3, sizeof(*box)), row = t->nbytes / f->shape[0];
    memcpy(box, f->shape, sizeof(f->shape));
    box[0] = 1;
    *g = (struct grid){.levels = 1,
                       .level = {{.shape = box}},
                       .metadata = GRID_NO_FILE,
                       .value_count = f->shape[0],
                       .values = arena_array(arena, f->shape[0], sizeof(*g->values))};
    for (uint64_t i = 0; i < f->shape[0]; i++)
        g->values[i] = (struct grid_value){.index = i,
                                           .file = GRID_NO_FILE,
                                           .stored = row,
                                           .bytes = (const uint8_t *)f->bytes + i * row};
    t->storage = STORAGE_CHUNKS;
}

static enum status fake_load(void *context, int64_t id, const char *recipe, struct arena *arena,
                             struct stored_tensor *out, struct error *err)
{
    (void)recipe;
    const struct shop *shop = context;
    uint64_t i = (uint64_t)(id & TENSOR_ORD_MASK);
    if (i >= shop->count)
        return error_set(err, ERR_MISSING, NULL, NO_OFFSET, "no tensor %lld", (long long)id);
    const struct fake *f = &shop->tensors[i];
    *out = (struct stored_tensor){.id = id,
                                  .checkpoint = "/models/fake",
                                  .name = shop->renamed ? "another" : f->name,
                                  .rank = f->rank,
                                  .storage = f->bytes ? STORAGE_INLINE : STORAGE_NONE};
    dtype_find(f->dtype, &out->dtype);
    out->shape = arena_array(arena, 3, sizeof(*out->shape));
    memcpy(out->shape, f->shape, sizeof(f->shape));
    assert_true(shape_elements(f->shape, f->rank, &out->elements));
    dtype_nbytes(&out->dtype, out->elements, &out->nbytes);
    if (shop->chunked && f->rank && f->shape[0]) {
        cut_in_chunks(f, arena, out);
    } else if (shop->file) {
        out->storage = STORAGE_RANGE;
        out->files = shop->file;
        out->file_count = 1;
        out->extents = arena_array(arena, 1, sizeof(*out->extents));
        out->extents[0] = (struct extent){.offset = FILE_OFFSET, .stored = out->nbytes};
        out->extent_count = 1;
    } else if (f->bytes) {
        out->extents = arena_array(arena, 1, sizeof(*out->extents));
        out->extents[0] =
            (struct extent){.file = NO_FILE, .stored = out->nbytes, .bytes = f->bytes};
        out->extent_count = 1;
    }
    return OK;
}

static size_t files_here(void)
{
    size_t count = 0;
    DIR *d = opendir(".");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

/* What a plan is refused for; valid until the next call. */
static const char *lines_of(const struct export_plan *plan)
{
    static struct text lines;
    text_reset(&lines);
    refusals_print(&plan->refusals, &lines);
    return text_str(&lines);
}

/* Plan all tensors of a shop under their own names and write them. */
static enum status run_as(struct shop *shop, const struct exporter *exporter, const char *path,
                          const char *dtype, const struct export_options *options,
                          struct error *err)
{
    struct export_plan plan = {.loader = {.load = fake_load, .context = shop}};
    *err = (struct error){.offset = NO_OFFSET};
    assert_non_null(exporter);
    for (size_t i = 0; i < shop->count; i++)
        assert_int_equal(export_plan_add(&plan, ID(i), NULL, shop->tensors[i].name, NULL, err), OK);
    if (dtype)
        assert_int_equal(export_plan_cast(&plan, dtype, err), OK);
    assert_int_equal(export_plan_check(&plan, exporter, err), OK);
    if (plan.refusals.count)
        printf("%s", lines_of(&plan));
    assert_int_equal(plan.refusals.count, 0);
    export_write(&plan, exporter, path, options, false, err);
    export_plan_release(&plan);
    return err->status;
}

static enum status run(struct shop *shop, const char *path, const char *dtype,
                       const struct export_options *options, struct error *err)
{
    return run_as(shop, exporter_for_path(path), path, dtype, options, err);
}

static const struct fake small[] = {
    {"b", "uint8", 1, {3}, "\1\2\3"},
    {"a \"q\"", "float32", 2, {1, 2}, "\0\0\x80\x3f\0\0\0\x40"},
    {"c", "int64", 0, {0}, "\7\0\0\0\0\0\0\0"},
    {"empty", "float32", 2, {0, 5}, ""},
};

TEST_IN(test_safetensors_bytes, enter_folder, leave_folder)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"c\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"a \\\"q\\\"\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,16]},"
        "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[16,16]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]}}";
    struct shop shop = {.tensors = small, .count = 4};
    struct export_options options = {.metadata = metadata};
    struct error err;
    size_t len;
    assert_int_equal(run(&shop, "x.safetensors", NULL, &options, &err), OK);
    uint8_t *bytes = read_file("x.safetensors", &len);
    uint64_t padded = load_u64le(bytes);
    assert_int_equal(padded, (strlen(header) + 7) / 8 * 8);
    assert_memory_equal(bytes + 8, header, strlen(header));
    for (size_t i = 8 + strlen(header); i < 8 + padded; i++)
        assert_int_equal(bytes[i], ' ');
    assert_int_equal(len, 8 + padded + 19);
    assert_memory_equal(bytes + 8 + padded, "\7\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\x40\1\2\3", 19);
    free(bytes);
}

/* Chunked tensors come out the same as others, by any number of threads. */
TEST_IN(test_chunks, enter_folder, leave_folder)
{
    enum { COUNT = 24, FLOATS = 300000 };
    static float numbers[FLOATS];
    static const char *const dtypes[] = {NULL, "bfloat16"};
    struct fake tensors[COUNT];
    char names[COUNT][8];
    for (size_t i = 0; i < FLOATS; i++)
        numbers[i] = (float)i / 7;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%zu", i);
        tensors[i] = (struct fake){names[i], "float32", 2, {i * i, 300}, numbers + i};
    }
    for (size_t i = 0; i < 2; i++) {
        struct shop plain = {.tensors = tensors, .count = COUNT};
        struct shop chunked = {.tensors = tensors, .count = COUNT, .chunked = true};
        struct export_options options = {.threads = 4};
        struct error err;
        size_t len, len_chunked;
        assert_int_equal(run(&plain, "p.safetensors", dtypes[i], &options, &err), OK);
        assert_int_equal(run(&chunked, "c.safetensors", dtypes[i], &options, &err), OK);
        uint8_t *bytes = read_file("p.safetensors", &len);
        uint8_t *bytes_chunked = read_file("c.safetensors", &len_chunked);
        assert_int_equal(len, len_chunked);
        assert_memory_equal(bytes, bytes_chunked, len);
        free(bytes);
        free(bytes_chunked);
        unlink("p.safetensors");
        unlink("c.safetensors");
    }
}

TEST_IN(test_npy_bytes, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small + 1, .count = 1};
    struct export_options options = {0};
    struct error err;
    size_t len;
    assert_int_equal(run(&shop, "x.npy", "float16", &options, &err), OK);
    uint8_t *bytes = read_file("x.npy", &len);
    assert_int_equal(len, 128 + 4);
    assert_memory_equal(bytes + 10, "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2), }",
                        59);
    assert_memory_equal(bytes + 128, "\0\x3c\0\x40", 4);
    free(bytes);
}

/* Walk the archive by its directory and compare what it says with what is there. */
TEST_IN(test_npz_bytes, enter_folder, leave_folder)
{
    static const char *const names[] = {"a \"q\".npy", "b.npy", "c.npy", "empty.npy"};
    static const uint64_t sizes[] = {8, 3, 8, 0};
    struct shop shop = {.tensors = small, .count = 4};
    struct export_options options = {0};
    struct error err;
    size_t len;
    assert_int_equal(run(&shop, "x.npz", NULL, &options, &err), OK);
    uint8_t *bytes = read_file("x.npz", &len);
    const uint8_t *end = bytes + len - 22;
    assert_memory_equal(end, "PK\5\6\0\0\0\0\4\0\4\0", 12);
    const uint8_t *entry = bytes + load_u32le(end + 16);
    for (size_t i = 0; i < 4; i++) {
        printf("member %s\n", names[i]);
        size_t name_len = strlen(names[i]);
        assert_memory_equal(entry, "PK\1\2", 4);
        assert_int_equal(load_u16le(entry + 28), name_len);
        assert_memory_equal(entry + 46, names[i], name_len);
        const uint8_t *local = bytes + load_u32le(entry + 42);
        assert_memory_equal(local, "PK\3\4", 4);
        assert_memory_equal(local + 6, entry + 8, 20); /* flags, method, date, crc, sizes */
        assert_memory_equal(local + 6, "\0\x08\0\0\0\0\x21\0", 8);
        const uint8_t *npy = local + 30 + load_u16le(local + 26) + load_u16le(local + 28);
        assert_memory_equal(local + 30, names[i], name_len);
        assert_int_equal((npy - bytes) % 64, 0);
        assert_memory_equal(npy, "\x93NUMPY\1\0", 8);
        assert_int_equal(load_u32le(local + 18), 128 + sizes[i]);
        assert_int_equal(load_u32le(local + 14), crc32(0, npy, (uInt)(128 + sizes[i])));
        entry += 46 + name_len + load_u16le(entry + 30);
    }
    assert_ptr_equal(entry, end);
    free(bytes);
}

/* Sizes, places and counts that 32 or 16 bits do not hold: laid out, not written. All
 * members are empty but the second. */
#define ZIP64_COUNT 70000
#define ZIP64_LARGE (UINT64_C(5) << 30)

/* What was laid out. */
struct zip64 {
    struct export_plan plan;
    struct export_layout layout;
    uint64_t *offsets;
    uint32_t *leads;
    struct text lead, tail; /* of the large one; all after the last member */
};

/* The large one has its true sizes after its name. */
static void check_large_lead(const struct zip64 *z)
{
    assert_int_equal(z->lead.len, z->leads[1]);
    assert_int_equal(z->offsets[1] % 64, 0);
    const uint8_t *local = (const uint8_t *)z->lead.at;
    assert_int_equal(load_u16le(local + 4), 45);
    assert_int_equal(load_u32le(local + 18), UINT32_MAX);
    assert_int_equal(load_u32le(local + 22), UINT32_MAX);
    const uint8_t *extra = local + 30 + load_u16le(local + 26);
    assert_int_equal(load_u16le(extra), 1);
    assert_int_equal(load_u16le(extra + 2), 16);
    assert_int_equal(load_u64le(extra + 4), 128 + ZIP64_LARGE);
    assert_int_equal(load_u64le(extra + 12), 128 + ZIP64_LARGE);
}

/* The entry of member `i`; returns the next one. */
static const uint8_t *check_entry(const uint8_t *at, const struct zip64 *z, size_t i)
{
    uint64_t place = load_u32le(at + 42);
    const uint8_t *wide = at + 46 + load_u16le(at + 28) + 4;
    char name[8];
    snprintf(name, sizeof(name), "%05zu", i);
    assert_memory_equal(at, "PK\1\2", 4);
    assert_memory_equal(at + 46, name, 5);
    assert_int_equal(load_u16le(at + 30), i == 0 ? 0 : i == 1 ? 20 : 12);
    if (i == 1)
        assert_int_equal(load_u64le(wide), 128 + ZIP64_LARGE);
    if (i > 1) {
        assert_int_equal(place, UINT32_MAX);
        place = load_u64le(wide);
    }
    assert_int_equal(place, z->offsets[i] - z->leads[i]);
    return at + 46 + load_u16le(at + 28) + load_u16le(at + 30);
}

static void check_directory(const struct zip64 *z)
{
    const uint8_t *at = (const uint8_t *)z->tail.at;
    uint64_t size = z->layout.at, end = z->offsets[ZIP64_COUNT - 1];
    assert_int_equal(z->tail.len, size - end);
    for (size_t i = 0; i < ZIP64_COUNT; i++)
        at = check_entry(at, z, i);
    assert_memory_equal(at, "PK\6\6", 4);
    assert_int_equal(load_u64le(at + 4), 44);
    assert_int_equal(load_u64le(at + 24), ZIP64_COUNT);
    assert_int_equal(load_u64le(at + 32), ZIP64_COUNT);
    assert_int_equal(load_u64le(at + 48), end);
    assert_memory_equal(at + 56, "PK\6\7", 4);
    assert_int_equal(load_u64le(at + 64), size - 22 - 20 - 56);
    assert_memory_equal(at + 76, "PK\5\6\0\0\0\0\xff\xff\xff\xff", 12);
    assert_int_equal(load_u32le(at + 92), UINT32_MAX);
}

static void collect(struct export_layout *l, uint64_t at, struct bytes text)
{
    struct zip64 *z = l->context;
    if (at == z->offsets[1] - z->leads[1])
        text_add(&z->lead, text.at, text.len);
    if (at >= z->offsets[ZIP64_COUNT - 1])
        text_add(&z->tail, text.at, text.len);
}

static void lay_out(struct zip64 *z, void (*put)(struct export_layout *, uint64_t, struct bytes))
{
    static const struct export_options options;
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.err = &err};
    z->layout = (struct export_layout){.plan = &z->plan,
                                       .exporter = exporter_find("npz"),
                                       .options = &options,
                                       .path = "x.npz",
                                       .err = &err,
                                       .arena = &arena,
                                       .put = put,
                                       .context = z};
    z->layout.exporter->lay_out(&z->layout);
    lay_finish(&z->layout);
    assert_int_equal(err.status, OK);
    lay_release(&z->layout);
    arena_release(&arena);
}

TEST(test_zip64)
{
    struct zip64 z = {.plan = {.count = ZIP64_COUNT}};
    char(*names)[8] = calloc(ZIP64_COUNT, sizeof(*names));
    z.plan.tensor = calloc(ZIP64_COUNT, sizeof(*z.plan.tensor));
    z.offsets = calloc(ZIP64_COUNT, sizeof(*z.offsets));
    z.leads = calloc(ZIP64_COUNT, sizeof(*z.leads));
    for (size_t i = 0; i < ZIP64_COUNT; i++) {
        struct export_tensor *t = &z.plan.tensor[i];
        snprintf(names[i], sizeof(names[i]), "%05d", (int)i);
        *t = (struct export_tensor){.name = names[i],
                                    .old_name = names[i],
                                    .checkpoint = "c",
                                    .rank = 1,
                                    .elements = i == 1 ? ZIP64_LARGE : 0};
        t->shape = &t->elements;
        t->nbytes = t->elements;
        dtype_find("uint8", &t->from);
        t->to = t->from;
    }
    lay_out(&z, NULL);
    for (size_t i = 0; i < ZIP64_COUNT; i++) {
        z.offsets[i] = z.plan.tensor[i].offset;
        z.leads[i] = z.plan.tensor[i].lead_len;
    }
    lay_out(&z, collect);
    check_large_lead(&z);
    check_directory(&z);
    text_release(&z.lead);
    text_release(&z.tail);
    free(names);
    free(z.offsets);
    free(z.leads);
    export_plan_release(&z.plan);
}

/* Blocks of every kind, on one thread and on many, all give the result of one conversion. */
TEST_IN(test_blocks, enter_folder, leave_folder)
{
    enum { COUNT = 300001 };
    static const char *const dtypes[] = {NULL, "float64", "bfloat16", "float8_e5m2"};
    float *values = malloc(COUNT * sizeof(*values));
    struct fake tensors[40];
    struct shop shop = {.tensors = tensors, .count = 40};
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)i / 7;
    for (size_t i = 0; i < 40; i++) {
        char *name = malloc(8);
        snprintf(name, 8, "t%02zu", i);
        tensors[i] = (struct fake){name, "float32", 1, {i < 3 ? COUNT - i : i}, values};
    }
    for (size_t d = 0; d < 4; d++) {
        uint8_t *first = NULL;
        size_t len, first_len = 0;
        for (unsigned threads = 1; threads <= 8; threads *= 2) {
            struct export_options options = {.threads = threads, .force = true, .sync = true};
            struct error err;
            printf("%s with %u threads\n", dtypes[d] ? dtypes[d] : "as stored", threads);
            assert_int_equal(run(&shop, "x.npz", dtypes[d], &options, &err), OK);
            uint8_t *bytes = read_file("x.npz", &len);
            if (first) {
                assert_int_equal(len, first_len);
                assert_memory_equal(bytes, first, len);
                free(bytes);
            } else {
                first = bytes;
                first_len = len;
            }
        }
        free(first);
    }
    struct export_options options = {.force = true};
    struct error err;
    size_t len;
    shop.count = 1;
    assert_int_equal(run(&shop, "x.npy", "float64", &options, &err), OK);
    uint8_t *bytes = read_file("x.npy", &len);
    for (size_t i = 0; i < COUNT; i++) {
        double wide;
        memcpy(&wide, bytes + 128 + i * 8, 8);
        assert_true(wide == (double)values[i]);
    }
    free(bytes);
    for (size_t i = 0; i < 40; i++)
        free((void *)tensors[i].name);
    free(values);
}

static const struct {
    const char *format, *name, *dtype;
    unsigned rank;
    uint64_t shape[3];
    const char *new_name, *cast, *why; /* part of the refusal; NULL: none */
} refusals[] = {
    {"safetensors", "x", "float32", 1, {2}, "y", NULL, NULL},
    {"safetensors", "x", "float32", 1, {2}, "__metadata__", NULL, "for itself"},
    {"safetensors", "x", "float32", 1, {2}, "\xff", NULL, "UTF-8"},
    {"safetensors", "x", "string", 1, {2}, "y", NULL, "dtype <> 'string'"},
    {"safetensors",
     "x",
     "variant",
     1,
     {2},
     "y",
     NULL,
     "cannot be exported; --names or --where can leave it out"},
    {"safetensors", "x", "int4", 1, {2}, "y", NULL, "no such dtype; --dtype int8 converts"},
    {"safetensors", "x", "int4", 1, {2}, "y", "int8", NULL},
    {"safetensors", "x", "complex128", 1, {2}, "y", NULL, "complex64"},
    {"safetensors", "x", "complex64", 1, {2}, "y", "float32", "complex"},
    {"safetensors", "x", "float4_e2m1fn", 1, {3}, "y", NULL, "whole bytes"},
    {"safetensors", "x", "float4_e2m1fn", 1, {4}, "y", NULL, NULL},
    {"safetensors", "x", "float4_e2m1fn_x2", 0, {0}, "y", NULL, "without a dimension"},
    {"npz", "x", "complex32", 1, {2}, "y", NULL, "complex64"},
    {"npz", "x", "uint2", 1, {2}, "y", NULL, "--dtype uint8"},
    {"npz", "x", "string", 1, {2}, "y", NULL, "dtype <> 'string'"},
    {"npy", "x", "float32", 1, {2}, "y", NULL, NULL},
    {"zarr", "x", "int4", 1, {2}, "y", NULL, "--dtype int8"},
    {"zarr", "x", "complex32", 1, {2}, "y", NULL, "complex64"},
    {"zarr3", "x", "float8_e8m0fnu", 1, {2}, "y", NULL, "--dtype float32"},
    {"zarr3", "x", "string", 1, {2}, "y", NULL, "no such dtype"},
    {"zarr", "x", "bfloat16", 1, {2}, "a/b", NULL, NULL},
    {"zarr", "x", "float8_e5m2", 1, {2}, "a/zarr.json", NULL, NULL},
    {"zarr3", "x", "float8_e5m2", 1, {2}, "a/zarr.json", NULL, "for itself"},
};

TEST_IN(test_refusals, enter_folder, leave_folder)
{
    static const uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct fake fake = {refusals[i].name, refusals[i].dtype, refusals[i].rank, {0}, bytes};
        memcpy(fake.shape, refusals[i].shape, sizeof(fake.shape));
        struct shop shop = {.tensors = &fake, .count = 1};
        struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
        struct error err = {.offset = NO_OFFSET};
        const char *lines;
        printf("case %zu: %s %s\n", i, refusals[i].format, refusals[i].new_name);
        assert_int_equal(export_plan_add(&plan, ID(0), NULL, refusals[i].new_name, NULL, &err), OK);
        if (refusals[i].cast)
            assert_int_equal(export_plan_cast(&plan, refusals[i].cast, &err), OK);
        assert_int_equal(export_plan_check(&plan, exporter_find(refusals[i].format), &err), OK);
        lines = lines_of(&plan);
        if (!refusals[i].why != !plan.refusals.count)
            printf("%s", lines);
        assert_int_equal(plan.refusals.count, refusals[i].why != NULL);
        if (refusals[i].why && !strstr(lines, refusals[i].why))
            printf("%s", lines);
        assert_true(!refusals[i].why || strstr(lines, refusals[i].why));
        export_plan_release(&plan);
    }
}

/* A format of two dtypes, which names a common one for all others. */
static bool two_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (strcmp(t->to.name, "float32") == 0 || strcmp(t->to.name, "int64") == 0)
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "no such dtype");
}

/* Only a dtype that the format then holds is recommended. */
TEST(test_instead)
{
    static const struct exporter two = {.name = "two", .holds = two_holds};
    static const uint8_t bytes[16];
    static const struct {
        const char *dtype, *why;
    } cases[] = {
        {"float64", "(float64) no such dtype; --dtype float32 converts\n"},
        {"int16", "(int16) no such dtype; --dtype int64 converts\n"},
        {"int4", "(int4) no such dtype; --names or --where can leave it out\n"},
        {"uint16", "(uint16) no such dtype; --names or --where can leave it out\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake fake = {"x", cases[i].dtype, 1, {2}, bytes};
        struct shop shop = {.tensors = &fake, .count = 1};
        struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
        struct error err = {.offset = NO_OFFSET};
        export_plan_add(&plan, ID(0), NULL, "x", NULL, &err);
        assert_int_equal(export_plan_check(&plan, &two, &err), OK);
        assert_non_null(strstr(lines_of(&plan), cases[i].why));
        export_plan_release(&plan);
    }
}

TEST_IN(test_whole_plan, enter_folder, leave_folder)
{
    static const struct fake tensors[] = {
        {"a", "float32", 1, {1}, "\0\0\0\0"},
        {"b", "float32", 1, {1}, "\0\0\0\0"},
        {"lost", "float32", 1, {1}, NULL},
    };
    struct shop shop = {.tensors = tensors, .count = 3};
    struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(export_plan_check(&plan, exporter_find("npz"), &err), OK);
    assert_string_equal(lines_of(&plan), "no tensor is selected\n");
    export_plan_release(&plan);

    export_plan_add(&plan, ID(0), NULL, "new", NULL, &err);
    export_plan_add(&plan, ID(1), NULL, "new", NULL, &err);
    export_plan_add(&plan, ID(2), NULL, "lost", NULL, &err);
    export_plan_add(&plan, ID(99), NULL, "unknown", NULL, &err);
    assert_int_equal(export_plan_check(&plan, exporter_find("npy"), &err), OK);
    const char *lines = lines_of(&plan);
    assert_non_null(strstr(lines, "lost: the catalog knows no bytes"));
    assert_non_null(strstr(lines, "unknown: no tensor"));
    assert_non_null(strstr(lines, "2 tensors are selected; a file of format npy holds 1"));
    assert_non_null(strstr(
        lines, "a of /models/fake, b of /models/fake: the new name of all is new; --names or"));
    assert_int_equal(plan.refusals.count, 5);
    export_plan_release(&plan);

    /* numpy.load() could not tell these apart. */
    export_plan_add(&plan, ID(0), NULL, "x", NULL, &err);
    export_plan_add(&plan, ID(1), NULL, "x.npy", NULL, &err);
    assert_int_equal(export_plan_check(&plan, exporter_find("npz"), &err), OK);
    assert_non_null(strstr(lines_of(&plan), "x and x.npy are the same key"));
    export_plan_release(&plan);
}

/* One line per cause; the first tensors are named, the others counted. */
TEST(test_causes)
{
    struct export_plan plan = {0};
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "t%d\n", i);
        refuse_tensor(&plan.refusals, name, "%s", "/a: gone");
    }
    refuse_tensor(&plan.refusals, "alone", "lost");
    refuse_tensor(&plan.refusals, "", "nameless");
    assert_string_equal(lines_of(&plan), "t0\\x0a, t1\\x0a, t2\\x0a and 9 more: /a: gone\n"
                                         "alone: lost\n\"\": nameless\n");
    for (int i = 0; i < REFUSALS_SHOWN; i++)
        refuse(&plan.refusals, "cause %d", i);
    assert_non_null(strstr(lines_of(&plan), "cause 16\nand 3 more\n"));
    assert_int_equal(plan.refusals.count, 14 + REFUSALS_SHOWN);
    refusals_release(&plan.refusals);
}

/* However many tensors, the plan takes the same memory, and the file is written. */
TEST_IN(test_many, enter_folder, leave_folder)
{
    enum { COUNT = 40000 };
    struct fake *tensors = calloc(COUNT, sizeof(*tensors));
    char(*names)[64] = calloc(COUNT, sizeof(*names));
    struct shop shop = {.tensors = tensors, .count = COUNT};
    struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
    struct export_options options = {0};
    struct error err = {.offset = NO_OFFSET};
    size_t len, before = mallinfo2().uordblks;
    for (size_t i = 0; i < COUNT; i++) {
        size_t n = i * 7919 % COUNT; /* not in their order */
        snprintf(names[i], sizeof(names[i]), "a/name/of/some/length/%05zu/weights", n);
        tensors[i] = (struct fake){names[i], "uint16", 1, {1}, names[i] + 22};
        assert_int_equal(export_plan_add(&plan, ID(i), NULL, names[i], NULL, &err), OK);
    }
    assert_int_equal(export_plan_check(&plan, exporter_find("npz"), &err), OK);
    assert_int_equal(plan.refusals.count, 0);
    size_t taken = mallinfo2().uordblks - before;
    printf("%zu bytes for %d tensors\n", taken, COUNT);
    assert_true(taken < (size_t)40 << 20); /* 1 KiB a tensor */
    assert_int_equal(
        export_write(&plan, exporter_find("safetensors"), "x.safetensors", &options, false, &err),
        OK);
    export_plan_release(&plan);
    uint8_t *bytes = read_file("x.safetensors", &len);
    uint64_t header = load_u64le(bytes);
    assert_int_equal(len, 8 + header + (size_t)COUNT * 2);
    for (size_t n = 0; n < COUNT; n++) { /* their first two digits, by name */
        char digits[8];
        snprintf(digits, sizeof(digits), "%05zu", n);
        assert_memory_equal(bytes + 8 + header + n * 2, digits, 2);
    }
    free(bytes);
    free(names);
    free(tensors);
}

/* A floating-point dtype is for floating-point tensors, unless the file has no such tensor. */
TEST_IN(test_cast, enter_folder, leave_folder)
{
    static const struct fake tensors[] = {
        {"f", "float32", 1, {1}, "\0\0\0\0"},
        {"i", "int64", 1, {1}, "\0\0\0\0\0\0\0\0"},
        {"b", "bool", 1, {1}, "\0"},
    };
    static const struct {
        size_t first, count;
        const char *cast, *want[3];
        uint64_t uncast;
    } cases[] = {
        {0, 3, "bfloat16", {"bfloat16", "int64", "bool"}, 2},
        {1, 2, "bfloat16", {"bfloat16", "bfloat16"}, 0},
        {0, 3, "int32", {"int32", "int32", "int32"}, 0},
    };
    for (size_t c = 0; c < 3; c++) {
        struct shop shop = {.tensors = tensors, .count = 3};
        struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
        struct error err = {.offset = NO_OFFSET};
        printf("case %zu\n", c);
        for (size_t i = 0; i < cases[c].count; i++)
            export_plan_add(&plan, ID(cases[c].first + i), NULL, "n", NULL, &err);
        assert_int_equal(export_plan_cast(&plan, cases[c].cast, &err), OK);
        for (size_t i = 0; i < cases[c].count; i++)
            assert_string_equal(plan.tensor[i].to.name, cases[c].want[i]);
        assert_int_equal(plan.uncast, cases[c].uncast);
        assert_int_equal(export_plan_cast(&plan, "flaot32", &err), ERR_ARGUMENT);
        export_plan_release(&plan);
    }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

TEST_IN(test_errors_while_streaming, enter_folder, leave_folder)
{
    float values[100000] = {0};
    struct fake fake = {"weights", "float32", 1, {100000}, values};
    struct shop shop = {.tensors = &fake, .count = 1};
    struct export_options options = {0};
    struct error err;
    values[70001] = 300;
    assert_int_equal(run(&shop, "x.npy", "int8", &options, &err), ERR_VALUE);
    assert_non_null(strstr(err.message, "weights"));
    assert_non_null(strstr(err.message, "70001"));
    assert_int_equal(files_here(), 0);
    options.stop = always;
    assert_int_equal(run(&shop, "x.npy", NULL, &options, &err), ERR_INTERRUPTED);
    assert_int_equal(files_here(), 0);
}

/* The catalog is written to between the plan and the data. Tensors kept in the plan are written as they
 * were then; those it has no room for are looked up again, and must be the same. */
TEST_IN(test_catalog_changed, enter_folder, leave_folder)
{
    for (int kept = 0; kept < 2; kept++) {
        struct shop shop = {.tensors = small, .count = 4};
        struct export_plan plan = {.loader = {.load = fake_load, .context = &shop}};
        struct export_options options = {0};
        struct error err = {.offset = NO_OFFSET};
        if (!kept)
            plan.found.used = SIZE_MAX / 2;
        export_plan_add(&plan, ID(0), NULL, "x", NULL, &err);
        assert_int_equal(plan.tensor[0].stored != NULL, kept);
        assert_int_equal(export_plan_check(&plan, exporter_find("npy"), &err), OK);
        shop.renamed = true;
        assert_int_equal(export_write(&plan, exporter_find("npy"), "x.npy", &options, false, &err),
                         kept ? OK : ERR_CHANGED);
        assert_int_equal(files_here(), kept);
        if (!kept) {
            error_clear(&err);
            shop.renamed = false;
            assert_int_equal(
                export_write(&plan, exporter_find("npy"), "x.npy", &options, false, &err), OK);
            assert_int_equal(unlink("x.npy"), 0);
        }
        export_plan_release(&plan);
    }
    unlink("x.npy");
}

TEST_IN(test_what_is_there, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 1};
    struct export_options options = {0};
    struct error err;
    size_t len;
    write_file("x.npy", "precious", 8);
    assert_int_equal(run(&shop, "x.npy", NULL, &options, &err), ERR_ARGUMENT);
    assert_file_is("x.npy", "precious");
    options.force = true;
    assert_int_equal(run(&shop, "x.npy", NULL, &options, &err), OK);
    uint8_t *bytes = read_file("x.npy", &len);
    assert_int_equal(len, 128 + 3);
    free(bytes);
    assert_int_equal(mkdir("d.npy", 0777), 0);
    assert_int_equal(run(&shop, "d.npy", NULL, &options, &err), ERR_ARGUMENT);
    assert_int_equal(mkfifo("f.npy", 0666), 0);
    assert_int_equal(run(&shop, "f.npy", NULL, &options, &err), ERR_ARGUMENT);
    assert_int_equal(run(&shop, "no/x.npy", NULL, &options, &err), ERR_ARGUMENT);
    assert_int_equal(files_here(), 3);
}

TEST_IN(test_parts, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct export_options options = {.shard_size = 8};
    struct error err;
    assert_int_equal(run(&shop, "m.safetensors", NULL, &options, &err), OK);
    assert_int_equal(files_here(), 4);
    assert_int_equal(access("m-00001-of-00003.safetensors", R_OK), 0);
    assert_int_equal(access("m-00003-of-00003.safetensors", R_OK), 0);
    assert_file_is("m.safetensors.index.json",
                   "{\n  \"metadata\": {\n    \"total_size\": 19\n  },\n"
                   "  \"weight_map\": {\n"
                   "    \"a \\\"q\\\"\": \"m-00002-of-00003.safetensors\",\n"
                   "    \"b\": \"m-00001-of-00003.safetensors\",\n"
                   "    \"c\": \"m-00003-of-00003.safetensors\",\n"
                   "    \"empty\": \"m-00003-of-00003.safetensors\"\n  }\n}\n");
    assert_int_equal(run(&shop, "m.safetensors", NULL, &options, &err), ERR_ARGUMENT);
    /* One part needs no index. */
    options.shard_size = 1000;
    assert_int_equal(run(&shop, "one.safetensors", NULL, &options, &err), OK);
    assert_int_equal(files_here(), 5);
}

/* The system fails at the n-th call, whichever that is. */
static struct {
    _Atomic int calls;
    int fail_at, code;
    bool unnamed, steal;
    int deadly; /* not an error: this signal */
} fault;

static bool fails(void)
{
    errno = fault.code;
    if (fault.calls++ != fault.fail_at)
        return false;
    if (!fault.deadly)
        return true;
    raise(fault.deadly);
    return false;
}
static int fault_open_unnamed(int directory_fd)
{
    errno = EOPNOTSUPP;
    return fault.unnamed && !fails() ? output_system.open_unnamed(directory_fd) : -1;
}
static int fault_open_named(int directory_fd, const char *name)
{
    return fails() ? -1 : output_system.open_named(directory_fd, name);
}
static int fault_reserve(int fd, uint64_t size)
{
    return fails() ? -1 : output_system.reserve(fd, size);
}
/* Half a block is written before the disk is full. */
static ssize_t fault_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    if (!fails())
        return output_system.pwrite(fd, bytes, len > 1 ? len / 2 : len, offset);
    errno = fault.code;
    return -1;
}
static ssize_t fault_copy(int from, off_t from_offset, int fd, off_t offset, size_t len)
{
    return fails() ? -1 : output_system.copy(from, from_offset, fd, offset, len);
}
static int fault_writeback(int fd)
{
    return fails() ? -1 : output_system.start_writeback(fd);
}
static int fault_fsync(int fd)
{
    return fails() ? -1 : output_system.fsync(fd);
}
static int fault_link(int fd, int directory_fd, const char *name)
{
    if (fault.steal && name[0] != '.')
        write_file(name, "somebody else's", 15);
    return fails() ? -1 : output_system.link(fd, directory_fd, name);
}
static int fault_rename(int directory_fd, const char *from, const char *to, bool replace)
{
    if (fault.steal)
        write_file(to, "somebody else's", 15);
    return fails() ? -1 : output_system.rename(directory_fd, from, to, replace);
}

static int fault_make_folder(int directory_fd, const char *name)
{
    return fails() ? -1 : output_system.make_folder(directory_fd, name);
}
static int fault_exchange(int directory_fd, const char *a, const char *b)
{
    return fails() ? -1 : output_system.exchange(directory_fd, a, b);
}
static int fault_sync_all(int fd)
{
    return fails() ? -1 : output_system.sync_all(fd);
}

static const struct output_io faulty = {
    .open_unnamed = fault_open_unnamed,
    .open_named = fault_open_named,
    .reserve = fault_reserve,
    .pwrite = fault_pwrite,
    .copy = fault_copy,
    .start_writeback = fault_writeback,
    .fsync = fault_fsync,
    .link = fault_link,
    .rename = fault_rename,
    .make_folder = fault_make_folder,
    .exchange = fault_exchange,
    .sync_all = fault_sync_all,
};

static int unlink_here(int directory_fd, const char *name)
{
    return output_system.unlink(directory_fd, name);
}

/* Let call 0, 1, 2, ... fail until one run has no call left to fail. */
static void inject(const char *path, bool unnamed, uint64_t shard_size, bool force)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct output_io io = faulty;
    io.unlink = unlink_here;
    for (int n = 0; n < 200; n++) {
        struct export_options options = {
            .io = &io, .sync = true, .threads = 1, .shard_size = shard_size, .force = force};
        struct error err;
        fault.calls = 0;
        fault.fail_at = n;
        fault.code = n % 2 ? ENOSPC : EIO;
        fault.unnamed = unnamed;
        fault.steal = false;
        if (run(&shop, path, NULL, &options, &err) != OK) {
            if (files_here())
                printf("call %d failed: %s\n", n, err.message);
            /* The last one concerns the directory: by then the whole file is in its place. */
            bool last = strstr(err.message, "directory to the disk") != NULL;
            assert_int_equal(files_here(), last ? (shard_size ? 4 : 1) : 0);
        } else if (n >= fault.calls) {
            printf("%s: %d calls\n", path, fault.calls);
            return;
        }
        if (files_here()) {
            leave_folder(NULL);
            enter_folder(NULL);
        }
    }
    fail_msg("no run without a fault");
}

TEST_IN(test_faults, enter_folder, leave_folder)
{
    inject("x.npz", true, 0, false);
    leave_folder(NULL), enter_folder(NULL);
    inject("x.npz", false, 0, false);
    leave_folder(NULL), enter_folder(NULL);
    inject("x.npz", true, 0, true);
    leave_folder(NULL), enter_folder(NULL);
    inject("x.safetensors", true, 8, false);
    leave_folder(NULL), enter_folder(NULL);
    inject("x.safetensors", false, 8, false);
}

/* Somebody takes the name while the data is written. */
TEST_IN(test_race, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct output_io io = faulty;
    io.unlink = unlink_here;
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        struct export_options options = {.io = &io, .threads = 1};
        struct error err;
        fault.fail_at = -1;
        fault.unnamed = unnamed;
        fault.steal = true;
        assert_int_equal(run(&shop, "x.npz", NULL, &options, &err), ERR_ARGUMENT);
        assert_int_equal(files_here(), 1);
        assert_file_is("x.npz", "somebody else's");
        unlink("x.npz");
    }
}

/* --- copies by the system ---------------------------------------------------------------- */

#define COPIED (3 << 20) /* bytes */

/* How the system copies: the n-th call fails, is short, or somebody changes the source at it. */
static struct {
    _Atomic int calls;
    int refuse_at, code; /* 0: the end of the file */
    size_t most;
    void (*meanwhile)(void);
} copying;

static ssize_t copy_oddly(int from, off_t from_offset, int fd, off_t offset, size_t len)
{
    const int call = copying.calls++;
    if (call == 1 && copying.meanwhile)
        copying.meanwhile();
    errno = copying.code;
    if (call >= copying.refuse_at)
        return copying.code ? -1 : 0;
    return output_system.copy(from, from_offset, fd, offset,
                              copying.most && len > copying.most ? copying.most : len);
}

static void touch_source(void)
{
    const struct timespec then[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    utimensat(AT_FDCWD, "source", then, 0);
}

static void cut_source(void)
{
    assert_int_equal(truncate("source", 1 << 20), 0);
}

/* Whatever the system copies, refuses or cuts short, the bytes are the source's; if the source differs at
 * the end, there is no export. */
TEST_IN(test_copies, enter_folder, leave_folder)
{
    static const struct {
        int refuse_at, code;
        size_t most;
        void (*meanwhile)(void);
        enum status status;
    } cases[] = {
        {INT_MAX, 0, 0, NULL, OK},
        {INT_MAX, 0, 4095, NULL, OK},
        {0, EXDEV, 0, NULL, OK},
        {1, EINVAL, 100, NULL, OK},
        {2, EOPNOTSUPP, 5000, NULL, OK},
        {3, 0, 70000, NULL, OK},
        {INT_MAX, 0, 1 << 20, touch_source, ERR_CHANGED},
        {1, ENOSYS, 0, touch_source, ERR_CHANGED},
        {INT_MAX, 0, 1 << 19, cut_source, ERR_IO},
        {INT_MAX, 0, 0, cut_source, ERR_IO},
    };
    uint8_t *bytes = malloc(COPIED + FILE_OFFSET), *back = malloc(COPIED);
    assert_true(bytes && back);
    for (size_t i = 0; i < COPIED + FILE_OFFSET; i++)
        bytes[i] = (uint8_t)(i * 2654435761U >> 24);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct fake tensor = {"w", "uint8", 1, {COPIED}, bytes};
        char path[PATH_MAX];
        struct output_io io = output_system;
        struct error err;
        unlink("source");
        write_file("source", bytes, COPIED + FILE_OFFSET);
        assert_non_null(realpath("source", path));
        struct stored_file file = {.path = path, .checked = true, .present = true};
        assert_int_equal(file_identify(path, &file.identity, &err), OK);
        struct shop shop = {.tensors = &tensor, .count = 1, .file = &file};
        struct export_options options = {.io = &io, .threads = 2};
        io.copy = copy_oddly;
        copying.calls = 0;
        copying.refuse_at = cases[i].refuse_at;
        copying.code = cases[i].code;
        copying.most = cases[i].most;
        copying.meanwhile = cases[i].meanwhile;
        const char *out = "x.safetensors";
        assert_int_equal(run(&shop, out, NULL, &options, &err), cases[i].status);
        assert_int_equal(files_here(), cases[i].status == OK ? 2 : 1);
        if (cases[i].status != OK)
            continue;
        assert_true(copying.calls > 0);
        struct stat st;
        int fd = open(out, O_RDONLY);
        assert_int_equal(fstat(fd, &st), 0);
        const off_t at = st.st_size - COPIED;
        assert_int_equal(at % 4096, FILE_OFFSET);
        assert_int_equal(pread(fd, back, COPIED, at), COPIED);
        assert_memory_equal(back, bytes + FILE_OFFSET, COPIED);
        close(fd);
        unlink(out);
    }
    free(bytes);
    free(back);
}

/* Kill the program at call 0, 1, 2, ...: the name is there with all its bytes, or not. */
TEST_IN(test_kill, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct output_io io = faulty;
    io.unlink = unlink_here;
    for (int round = 0; round < 140; round++) {
        struct export_options options = {.io = &io, .threads = 1, .sync = true};
        struct error err;
        int status;
        fault.calls = 0;
        fault.fail_at = round / 2;
        fault.unnamed = round % 2;
        fault.steal = false;
        pid_t child = fork();
        if (!child) {
            fault.deadly = SIGKILL;
            run(&shop, "x.safetensors", NULL, &options, &err);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        bool there = access("x.safetensors", F_OK) == 0;
        size_t others = files_here() - there;
        if (others > !fault.unnamed || (WIFEXITED(status) && !there))
            printf("call %d, status %d: %zu files\n", round / 2, status, others);
        assert_true(others == 0 || !fault.unnamed);
        if (there) {
            size_t len;
            uint8_t *bytes = read_file("x.safetensors", &len);
            assert_int_equal(len, 8 + load_u64le(bytes) + 19);
            assert_memory_equal(bytes + len - 3, "\1\2\3", 3);
            free(bytes);
        } else {
            assert_false(WIFEXITED(status));
        }
        leave_folder(NULL);
        enter_folder(NULL);
    }
}

/* --- zarr --------------------------------------------------------------------------------- */

/* "2.zarr/t/0.1", "3.zarr/t/c.0.1" */
static size_t chunk_path(char *path, size_t size, const uint64_t *at, unsigned rank, bool three)
{
    size_t len =
        (size_t)snprintf(path, size, three ? "3.zarr/t/c" : "2.zarr/t/%s", rank ? "" : "0");
    for (unsigned d = 0; d < rank; d++)
        len += (size_t)snprintf(path + len, size - len, "%s%llu", three || d ? "." : "",
                                (unsigned long long)at[d]);
    return len;
}

/* The chunks of a tensor as its format cuts it, read one by one: all elements in their places,
 * zeros after the edge. Each element is its own number. */
static void check_chunks(const uint64_t *shape, unsigned rank, const uint64_t *chunk, bool three)
{
    uint64_t at[3] = {0}, elements = 1;
    for (unsigned d = 0; d < rank; d++)
        elements *= chunk[d];
    for (;;) {
        char path[100];
        size_t len;
        assert_true(chunk_path(path, sizeof(path), at, rank, three) < sizeof(path));
        uint16_t *have = (uint16_t *)(void *)read_file(path, &len);
        assert_int_equal(len, elements * sizeof(*have));
        for (uint64_t i = 0; i < elements; i++) {
            uint64_t left = i, number = 0, factor = 1;
            bool inside = true;
            for (unsigned d = rank; d--;) {
                uint64_t position = at[d] * chunk[d] + left % chunk[d];
                left /= chunk[d];
                inside = inside && position < shape[d];
                number += position * factor;
                factor *= shape[d];
            }
            assert_int_equal(have[i], inside ? (uint16_t)number : 0);
        }
        free(have);
        unsigned d = rank;
        while (d && (at[d - 1] + 1) * chunk[d - 1] >= shape[d - 1])
            at[--d] = 0;
        if (!d)
            return;
        at[d - 1]++;
    }
}

TEST_IN(test_zarr_chunks, enter_folder, leave_folder)
{
    static uint16_t numbers[60000];
    static const struct {
        uint64_t shape[3];
        unsigned rank;
        const char *bytes; /* of a chunk */
        uint64_t chunk[3];
    } cases[] = {
        {{0}, 0, "1", {0}},
        {{7}, 1, "14", {7}},
        {{7}, 1, "13", {4}}, /* two, nearly of one length */
        {{7}, 1, "2", {1}},
        {{5, 3}, 2, "30", {5, 3}},
        {{5, 3}, 2, "29", {3, 3}},
        {{5, 3}, 2, "6", {1, 3}},
        {{5, 3}, 2, "5", {1, 2}},
        {{3, 4, 5}, 3, "1000", {3, 4, 5}},
        {{3, 4, 5}, 3, "80", {2, 4, 5}},
        {{3, 4, 5}, 3, "39", {1, 2, 5}},
        {{3, 4, 5}, 3, "9", {1, 1, 3}},
        {{200, 300}, 2, "64KiB", {100, 300}},
        {{1, 60000}, 2, "65534", {1, 30000}},
        {{60000, 1}, 2, "128KiB", {60000, 1}},
        {{2, 1, 30000}, 3, "59999", {1, 1, 15000}},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        numbers[i] = (uint16_t)i;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        bool three = i % 2;
        const uint64_t *shape = cases[i / 2].shape;
        struct fake fake = {"t", "uint16", cases[i / 2].rank, {0}, numbers};
        memcpy(fake.shape, shape, sizeof(fake.shape));
        struct shop shop = {.tensors = &fake, .count = 1};
        const char *const settings[] = {"chunk", cases[i / 2].bytes, "codec", "none", NULL};
        struct export_options options = {
            .settings = settings, .force = true, .threads = 1 + (unsigned)i % 4};
        struct error err;
        printf("case %zu\n", i);
        const struct exporter *exporter = exporter_find(three ? "zarr3" : "zarr");
        assert_int_equal(run_as(&shop, exporter, three ? "3.zarr" : "2.zarr", NULL, &options, &err),
                         OK);
        check_chunks(shape, fake.rank, cases[i / 2].chunk, three);
    }
}

/* As on a file system that cannot. */
static int no_exchange(int directory_fd, const char *a, const char *b)
{
    (void)directory_fd;
    (void)a;
    (void)b;
    errno = EINVAL;
    return -1;
}

/* A fault anywhere leaves nothing, or the earlier file. */
TEST_IN(test_zarr_faults, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct output_io io = faulty;
    const char *const settings[] = {"chunk", "4", NULL};
    io.unlink = unlink_here;
    for (int way = 0; way < 3; way++) {
        bool faultless = false, force = way > 0;
        io.exchange = way == 2 ? no_exchange : faulty.exchange;
        for (int n = 0; n < 200 && !faultless; n++) {
            struct export_options options = {
                .io = &io, .sync = true, .threads = 1, .settings = settings, .force = force};
            struct error err;
            if (force && access("x.zarr/old", F_OK) != 0) {
                leave_folder(NULL), enter_folder(NULL);
                assert_int_equal(mkdir("x.zarr", 0777), 0);
                write_file("x.zarr/.zgroup", "{}", 2);
                write_file("x.zarr/old", "", 0);
            }
            fault.calls = 0;
            fault.fail_at = n;
            fault.code = n % 2 ? ENOSPC : EIO;
            fault.steal = false;
            if (run(&shop, "x.zarr", NULL, &options, &err) == OK) {
                faultless = n >= fault.calls;
                assert_int_equal(access("x.zarr/.zmetadata", F_OK), 0);
                assert_int_equal(access("x.zarr/old", F_OK), -1);
            } else if (strstr(err.message, "directory to the disk")) {
                assert_int_equal(access("x.zarr/.zmetadata", F_OK), 0);
            } else {
                assert_int_equal(access("x.zarr/old", F_OK), force ? 0 : -1);
                assert_int_equal(files_here(), force);
                continue;
            }
            assert_int_equal(files_here(), 1);
            leave_folder(NULL), enter_folder(NULL);
        }
        assert_true(faultless);
        leave_folder(NULL), enter_folder(NULL);
    }
}

/* More parts than files may be open. */
TEST_IN(test_many_parts, enter_folder, leave_folder)
{
    enum { COUNT = 300 };
    static uint8_t bytes[COUNT];
    struct fake tensors[COUNT];
    char names[COUNT][8];
    struct shop shop = {.tensors = tensors, .count = COUNT};
    struct export_options options = {.shard_size = 1, .sync = true, .threads = 4};
    struct rlimit limit, few;
    struct error err;
    size_t len;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%zu", i);
        bytes[i] = (uint8_t)(i * 7);
        tensors[i] = (struct fake){names[i], "uint8", 1, {1}, &bytes[i]};
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){64, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    run(&shop, "m.safetensors", NULL, &options, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(err.status, OK);
    assert_int_equal(files_here(), COUNT + 1);
    for (size_t i = 0; i < COUNT; i++) {
        char path[64];
        snprintf(path, sizeof(path), "m-%05zu-of-00300.safetensors", i + 1);
        uint8_t *part = read_file(path, &len);
        assert_int_equal(part[len - 1], bytes[i]);
        free(part);
    }
}

/* The next export removes what killed exports left, but nothing that somebody holds or named. */
TEST_IN(test_leftovers, enter_folder, leave_folder)
{
    static const char file[] = ".tmp-ckptdb-0123456789abcdef01234567";
    static const char folder[] = ".tmp-ckptdb-0123456789abcdef01234568";
    static const char held[] = ".tmp-ckptdb-0123456789abcdef01234569";
    static const char *const others[] = {".tmp-ckptdb-0123456789abcdef0123456",
                                         ".tmp-ckptdb-0123456789abcdef0123456x",
                                         "tmp-ckptdb-0123456789abcdef01234567"};
    struct shop shop = {.tensors = small, .count = 4};
    struct error err;
    for (uint64_t shard_size = 0; shard_size <= 8; shard_size += 8) {
        struct export_options options = {.shard_size = shard_size, .force = true};
        char below[100];
        write_file(file, "x", 1);
        assert_int_equal(mkdir(folder, 0777), 0);
        snprintf(below, sizeof(below), "%s/a", folder);
        assert_int_equal(mkdir(below, 0777), 0);
        snprintf(below, sizeof(below), "%s/a/b", folder);
        write_file(below, "x", 1);
        write_file(held, "x", 1);
        for (size_t i = 0; i < 3; i++)
            write_file(others[i], "x", 1);
        int fd = open(held, O_RDONLY);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(run(&shop, "x.safetensors", NULL, &options, &err), OK);
        close(fd);
        assert_int_equal(access(file, F_OK), -1);
        assert_int_equal(access(folder, F_OK), -1);
        assert_int_equal(access(held, F_OK), 0);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(access(others[i], F_OK), 0);
    }
}

static atomic_int interrupts;

static void count_interrupt(int signal_number)
{
    (void)signal_number;
    interrupts++;
}

static bool was_interrupted(void *context)
{
    (void)context;
    return interrupts != 0;
}

TEST_IN(test_interrupt, enter_folder, leave_folder)
{
    struct shop shop = {.tensors = small, .count = 4};
    struct output_io io = faulty;
    struct export_options options = {/* threads of their own would block the signal */
                                     .io = &io,
                                     .threads = 1,
                                     .stop = was_interrupted,
                                     .sync = true};
    struct error err;
    io.unlink = unlink_here;
    signal(SIGINT, count_interrupt);
    fault.deadly = SIGINT;
    fault.steal = false;
    for (fault.fail_at = 0; fault.fail_at < 10; fault.fail_at++) {
        fault.calls = 0;
        fault.unnamed = fault.fail_at % 2;
        interrupts = 0;
        assert_int_equal(run(&shop, "x.safetensors", NULL, &options, &err), ERR_INTERRUPTED);
        assert_int_equal(files_here(), 0);
    }
    fault.deadly = 0;
    signal(SIGINT, SIG_DFL);
}

RUN_TESTS(NULL, NULL)
