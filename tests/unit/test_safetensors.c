/*
 * test_safetensors.c - what no small fixture shows: a shared header, and headers as
 * large as they come.
 */
#include "catalog/base/text.h"
#include "importer/job/job_run.h"
#include "tests/unit/unit.h"

extern const struct format format_safetensors;

/* Length, header, and `data` zeros after it. */
static char *make_file(struct text *header, size_t data, size_t *len)
{
    char *file = calloc(1, 8 + header->len + data + 1);
    assert_non_null(text_str(header));
    store_u64le(file, header->len);
    memcpy(file + 8, header->at, header->len);
    *len = 8 + header->len + data;
    return file;
}

static struct batch *index_file(const char *file, size_t len, struct reuse *reuse,
                                struct error *err)
{
    struct batch *batch = NULL;
    struct source *source = NULL;
    *err = (struct error){.offset = NO_OFFSET};
    assert_int_equal(source_open_memory("/m/model.safetensors",
                                        (struct bytes){(const uint8_t *)file, len}, false, &source,
                                        err),
                     OK);
    struct job_request request = {
        .format = &format_safetensors,
        .path = "/m/model.safetensors",
        .checkpoint_path = "/m/model.safetensors",
        .source = source,
        .reuse = reuse,
    };
    job_run_index(&request, &batch, err);
    return batch;
}

/* The second file with the same header takes the first one's layout; a file that lost its
 * end, or grew, is not accepted as that file. */
TEST(test_shared_header)
{
    struct text header = {0};
    struct error err;
    struct reuse *reuse = reuse_new();
    size_t len;
    text_adds(&header, "{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}");
    char *file = make_file(&header, 4, &len);
    struct batch *first = index_file(file, len, reuse, &err);
    assert_int_equal(err.status, OK);
    struct batch *second = index_file(file, len, reuse, &err);
    assert_int_equal(err.status, OK);
    assert_ptr_equal(first->layout, second->layout);
    assert_int_equal(second->meta_count, 1);
    assert_string_equal(second->metas[0].text, "pt");
    batch_free(first);

    struct batch *cut = index_file(file, len - 1, reuse, &err);
    assert_int_equal(err.status, ERR_CORRUPT);
    assert_string_equal(error_word(&err), "truncated");
    assert_true(cut->failed);
    batch_free(cut);
    struct batch *more = index_file(file, len + 1, reuse, &err);
    assert_string_equal(error_word(&err), "trailing-bytes");
    batch_free(more);

    assert_string_equal(second->layout->tensors[0].name, "a");
    batch_free(second);
    reuse_free(reuse);
    free(file);
    text_release(&header);
}

/* Facts that are not the header's first member are shared with its layout. */
TEST(test_shared_facts)
{
    struct text header = {0};
    struct error err;
    struct reuse *reuse = reuse_new();
    size_t len;
    text_adds(&header, "{\"A\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                       "\"__metadata__\":{\"format\":\"mlx\"}}");
    char *file = make_file(&header, 4, &len);
    struct batch *first = index_file(file, len, reuse, &err);
    struct batch *second = index_file(file, len, reuse, &err);
    assert_int_equal(err.status, OK);
    assert_ptr_equal(first->layout, second->layout);
    assert_int_equal(first->meta_count, 1);
    assert_int_equal(second->meta_count, 1);
    assert_string_equal(second->metas[0].text, "mlx");
    batch_free(first);
    batch_free(second);
    reuse_free(reuse);
    free(file);
    text_release(&header);
}

#define LARGE 60 /* headers of a mebibyte each */

/* The header number `i`: its name is its own, and it is padded. */
static struct batch *index_large(int i, struct reuse *reuse)
{
    struct text header = {0};
    struct error err;
    size_t len;
    text_addf(&header, "{\"n%d\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", i);
    const size_t used = header.len, space = (size_t)1 << 20;
    char *padding = malloc(space - used);
    memset(padding, ' ', space - used);
    text_add(&header, padding, space - used);
    char *file = make_file(&header, 4, &len);
    struct batch *batch = index_file(file, len, reuse, &err);
    assert_int_equal(err.status, OK);
    free(file);
    free(padding);
    text_release(&header);
    return batch;
}

/* How many of LARGE layouts are shared while all are in use; their batches in `list`. */
static int count_shared(struct batch *list[LARGE], int from, struct reuse *reuse)
{
    int shared = 0;
    for (int i = 0; i < LARGE; i++) {
        list[i] = index_large(from + i, reuse);
        shared += list[i]->shared != NULL;
    }
    return shared;
}

static void free_all(struct batch *list[LARGE])
{
    for (int i = 0; i < LARGE; i++)
        batch_free(list[i]);
}

/* The memory of layouts that are shared is bounded, more so until one was found again; old ones make room
 * for new ones, unless they are in use. */
TEST(test_room_for_shared)
{
    struct reuse *reuse = reuse_new();
    struct batch *list[LARGE];
    for (int i = 0; i < LARGE; i++) {
        struct batch *batch = index_large(i, reuse);
        assert_non_null(batch->shared);
        batch_free(batch);
    }
    assert_in_range(count_shared(list, LARGE, reuse), 12, 16);
    free_all(list);
    struct batch *first = index_large(-1, reuse), *second = index_large(-1, reuse);
    assert_non_null(first->shared);
    assert_ptr_equal(first->layout, second->layout);
    assert_string_equal(second->layout->tensors[0].name, "n-1");
    batch_free(first);
    assert_in_range(count_shared(list, 2 * LARGE, reuse), 40, 48);
    assert_string_equal(second->layout->tensors[0].name, "n-1");
    reuse_free(reuse);
    free_all(list);
    batch_free(second);
}

/* A million empty tensors: names and sizes are checked in linear time. */
TEST(test_a_million)
{
    struct text header = {0};
    struct error err;
    size_t len;
    text_addc(&header, '{');
    for (int i = 0; i < 1000000; i++)
        text_addf(&header, "%s\"t%d\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}",
                  i ? "," : "", i);
    text_addc(&header, '}');
    char *file = make_file(&header, 0, &len);
    struct batch *batch = index_file(file, len, NULL, &err);
    assert_int_equal(err.status, OK);
    assert_int_equal(batch->layout->tensor_count, 1000000);
    batch_free(batch);
    free(file);
    text_release(&header);
}

/* Names as long as the limit are kept; one byte more is the limit, and says so. */
TEST(test_long_name)
{
    for (size_t over = 0; over <= 1; over++) {
        struct text header = {0};
        struct error err;
        size_t len;
        text_adds(&header, "{\"");
        for (size_t i = 0; i < LIMIT_NAME_BYTES + over; i++)
            text_addc(&header, 'x');
        text_adds(&header, "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}");
        char *file = make_file(&header, 0, &len);
        struct batch *batch = index_file(file, len, NULL, &err);
        assert_int_equal(err.status, over ? ERR_LIMIT : OK);
        batch_free(batch);
        free(file);
        text_release(&header);
    }
}

RUN_TESTS(NULL, NULL)
