/*
 * test_array_tree.c - trees of zarr directories, made here: which arrays and chunks are
 * found, what is reported, and that the number of threads changes nothing.
 */
#include <sys/stat.h>

#include "catalog/base/text.h"
#include "importer/job/job_run.h"
#include "tests/unit/unit.h"

extern const struct format format_zarr;

#define GROUP2 "{\"zarr_format\":2}"
#define ARRAY2(shape, chunks, rest)                                                                \
    "{\"zarr_format\":2,\"shape\":" shape ",\"chunks\":" chunks                                    \
    ",\"dtype\":\"<f4\",\"order\":\"C\",\"compressor\":null,\"filters\":null," rest "}"
#define FILLED  "\"fill_value\":0,\"dimension_separator\":\".\""
#define NULLED  "\"fill_value\":null,\"dimension_separator\":\".\""
#define SLASHED "\"fill_value\":0,\"dimension_separator\":\"/\""
#define GUESSED "\"fill_value\":0"
#define ARRAY3                                                                                     \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4,4],\"data_type\":"                    \
    "\"int8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":"            \
    "[2,2]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                      \
    "\"codecs\":[\"bytes\"],\"attributes\":{\"scale\":0.5,\"deep\":{\"a\":[1,NaN]}}}"

/* PATH TEXT: a file; a path that ends in '/' is a directory; "PATH -> TARGET" a link. */
struct item {
    const char *path, *text;
};

struct tree_case {
    const char *name;
    struct item items[16];
    /* "NAME dtype shape runs", then "file ROLE PATH" in their order, "KEY = value",
     * "issue CODE PATH"; a line each. */
    const char *expected;
};

static void put(const char *root, const struct item *item)
{
    char path[512];
    const char *slash = strrchr(item->path, '/');
    snprintf(path, sizeof(path), "%s/%s", root, item->path);
    shell_out("mkdir -p '%s/%.*s'", root, slash ? (int)(slash - item->path) : 0, item->path);
    if (slash && !slash[1])
        return;
    if (strncmp(item->text, "-> ", 3) == 0) {
        assert_int_equal(symlink(item->text + 3, path), 0);
        return;
    }
    write_file(path, item->text, strlen(item->text));
}

static const char *below(const char *path, const char *root)
{
    size_t len = strlen(root);
    return path[len] == '/' ? path + len + 1 : ".";
}

static void describe_tensor(struct text *t, const struct batch_tensor *b)
{
    struct extent_list list = {0};
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    text_addf(t, "%s %s %s", b->name, b->kind->dtype, b->kind->shape_text);
    if (b->storage == STORAGE_CHUNKS) {
        assert_int_equal(
            extents_unpack(b->coding->extents, b->kind->shape, b->kind->rank, &arena, &list, &err),
            OK);
        assert_non_null(list.grid);
        text_addf(t, " @%u", list.grid->directory);
        for (uint64_t i = 0; i < list.grid->run_count; i++)
            text_addf(t, " %llu+%llu", (unsigned long long)list.grid->runs[i].first,
                      (unsigned long long)list.grid->runs[i].count);
        if (list.grid->incomplete)
            text_adds(t, " incomplete");
    }
    text_addc(t, '\n');
    arena_release(&arena);
}

static void describe_fact(struct text *t, const struct batch_meta *m)
{
    text_addf(t, "%s = ", m->key);
    if (m->type == FACT_INTEGER)
        text_addf(t, "%lld\n", (long long)m->integer);
    else if (m->type == FACT_REAL)
        text_addf(t, "%g\n", m->real);
    else
        text_addf(t, "%s\n", m->type == FACT_TEXT ? m->text : "null");
}

static char *describe(const struct batch *b, const char *root)
{
    struct text t = {0};
    for (uint64_t i = 0; b->layout && i < b->layout->tensor_count; i++)
        describe_tensor(&t, &b->layout->tensors[i]);
    for (uint64_t i = 0; i < b->file_count; i++)
        text_addf(&t, "%s%s %s\n", b->files[i].role, b->files[i].present ? "" : " (gone)",
                  below(b->files[i].path, root));
    for (uint64_t i = 0; i < b->meta_count; i++)
        describe_fact(&t, &b->metas[i]);
    for (uint64_t i = 0; i < b->issue_count; i++)
        text_addf(&t, "%s %s %s\n", b->issues[i].warning ? "warning" : "error", b->issues[i].code,
                  below(b->issues[i].path, root));
    if (b->has_step)
        text_addf(&t, "step %lld\n", (long long)b->step);
    return text_steal(&t);
}

static char *indexed(const char *root, unsigned threads)
{
    struct batch *batch = NULL;
    struct error err = {.offset = NO_OFFSET};
    const char *none[] = {""};
    const char *group[] = {".zgroup"};
    char path[512];
    struct stat st;
    snprintf(path, sizeof(path), "%s/.zgroup", root);
    bool grouped = stat(path, &st) == 0;
    struct job_request request = {.format = &format_zarr,
                                  .path = root,
                                  .checkpoint_path = root,
                                  .siblings = grouped ? group : none,
                                  .sibling_count = 1,
                                  .threads = threads};
    job_run_index(&request, &batch, &err);
    if (err.status != OK)
        print_error("%s\n", err.message);
    assert_int_equal(err.status, OK);
    char *got = describe(batch, root);
    batch_free(batch);
    return got;
}

static const struct tree_case cases[] = {
    {"groups and arrays",
     {{".zgroup", GROUP2},
      {".zattrs", "{\"step\":3}"},
      {"b/.zgroup", GROUP2},
      {"b/w/.zarray", ARRAY2("[4,4]", "[2,2]", FILLED)},
      {"b/w/.zattrs", "{}"},
      {"b/w/0.0", ""},
      {"b/w/0.1", ""},
      {"b/w/1.1", ""},
      {"a/.zarray", ARRAY2("[]", "[]", FILLED)},
      {"a/0", ""},
      {"empty/", ""}},
     "a float32 [] @3 0+1\nb/w float32 [4,4] @5 0+2 3+1\n"
     "directory .\ndirectory b\ndirectory empty\nchunks a\nindex a/.zarray\nchunks b/w\n"
     "index b/w/.zarray\nindex .zattrs\nindex b/w/.zattrs\nstep = 3\n"},
    {"the root is an array",
     {{".zarray", ARRAY2("[3]", "[2]", FILLED)}, {"0", ""}, {"1", ""}},
     " float32 [3] @0 0+2\nchunks .\nindex .zarray\n"},
    {"keys with slashes",
     {{".zgroup", GROUP2},
      {"a/.zarray", ARRAY2("[4,4]", "[2,2]", SLASHED)},
      {"a/0/0", ""},
      {"a/1/1", ""},
      {"a/inner/.zarray", ARRAY2("[2]", "[2]", FILLED)},
      {"a/inner/0", ""},
      {"old/.zarray", ARRAY2("[4,4]", "[2,2]", GUESSED)},
      {"old/1/0", ""},
      {"dots/.zarray", ARRAY2("[4,4]", "[2,2]", GUESSED)},
      {"dots/1.0", ""},
      {"dots/0/", ""}},
     "a float32 [4,4] @2 0+1 3+1\na/inner float32 [2] @6 0+1\ndots float32 [4,4] @8 2+1\n"
     "old float32 [4,4] @10 2+1\n"
     "directory .\ndirectory dots/0\nchunks a\nindex a/.zarray\nchunks a/0\nchunks a/1\n"
     "chunks a/inner\nindex a/inner/.zarray\nchunks dots\nindex dots/.zarray\n"
     "chunks old\nindex old/.zarray\nchunks old/1\n"},
    {"version 3, attributes",
     {{"zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{}}"},
      {"x/zarr.json", ARRAY3},
      {"x/c/0/1", ""},
      {"x/c/1/0", ""},
      {"x/c/1/1", ""}},
     "x int8 [4,4] @1 1+3\ndirectory .\nchunks x\nindex x/zarr.json\nchunks x/c\n"
     "chunks x/c/0\nchunks x/c/1\nindex zarr.json\nx:scale = 0.5\nx:deep/a = [1,\"NaN\"]\n"},
    {"strangers, a lost chunk, a link",
     {{".zgroup", GROUP2},
      {"a/.zarray", ARRAY2("[4]", "[2]", NULLED)},
      {"a/1", ""},
      {"a/01", ""},
      {"a/7", ""},
      {"a/.hidden", ""},
      {"b", "-> a"},
      {"c/.zarray", ARRAY2("[4]", "[2]", FILLED)},
      {"c/1", "-> ../a/1"},
      {"c/0", "-> nowhere"}},
     "a float32 [4] @1 1+1 incomplete\nc float32 [4] @3 1+1 incomplete\ndirectory .\n"
     "chunks a\nindex a/.zarray\nchunks c\nindex c/.zarray\nwarning stray-file a\n"
     "error missing-chunk a\nerror bad-chunk c\nwarning linked-directory .\n"},
    {"links to directories of chunks",
     {{".zgroup", GROUP2},
      {"a/.zarray", ARRAY2("[4,4]", "[2,2]", SLASHED)},
      {"a/.a", "-> ../far"},
      {"a/0", "-> ../far"},
      {"a/1", "-> ../far"},
      {"a/inner", "-> ../far"},
      {"b/zarr.json", ARRAY3},
      {"b/c/0", "-> ../../far"},
      {"b/c/1/0", ""},
      {"old/.zarray", ARRAY2("[4,4]", "[2,2]", GUESSED)},
      {"old/1", "-> ../far"},
      {"far/0", ""}},
     "a float32 [4,4] @2 incomplete\nb int8 [4,4] @4 2+1 incomplete\n"
     "old float32 [4,4] @8 incomplete\ndirectory .\ndirectory far\nchunks a\n"
     "index a/.zarray\nchunks b\nindex b/zarr.json\nchunks b/c\nchunks b/c/1\nchunks old\n"
     "index old/.zarray\nb:scale = 0.5\nb:deep/a = [1,\"NaN\"]\nerror bad-chunk a\n"
     "error bad-chunk b\nerror bad-chunk old\nwarning linked-directory .\n"},
    {"metadata that is damaged, structured, or of something unknown",
     {{".zgroup", GROUP2},
      {"a/.zarray", "{"},
      {"b/.zarray", "{\"zarr_format\":2,\"shape\":[1],\"chunks\":[1],\"order\":\"C\","
                    "\"dtype\":[[\"x\",\"<f4\"]]}"},
      {"c/.zarray", ARRAY2("[1]", "[1]", "\"fill_value\":\"what\",\"dimension_separator\":\".\"")},
      {"c/0", ""}},
     "c float32 [1]\ndirectory .\nchunks a\nindex a/.zarray\nchunks b\nindex b/.zarray\n"
     "chunks c\nindex c/.zarray\nerror corrupt a/.zarray\nerror structured-dtype b/.zarray\n"
     "error unsupported c\n"},
    {"metadata that only the root has",
     {{".zgroup", GROUP2},
      {".zmetadata",
       "{\"metadata\":{\".zattrs\":{\"x\":NaN},\"a/.zarray\":" ARRAY2("[4]", "[2]", FILLED) ",\"gone/.zarray\":" ARRAY2(
           "[4]", "[2]",
           FILLED) ",\"b/.zarray\":" ARRAY2("[9]", "[2]",
                                            FILLED) ",\"../x/.zarray\":{},\"g/.zgroup\":{}}}"},
      {"a/0", ""},
      {"b/.zarray", ARRAY2("[4]", "[2]", FILLED)},
      {"b/1", ""}},
     "a float32 [4] @1 0+1\nb float32 [4] @2 1+1\ngone float32 [4] @4 incomplete\n"
     "directory .\nchunks a\nchunks b\nindex b/.zarray\nchunks (gone) gone\n"
     "warning no-metadata a\nwarning no-metadata gone\nerror missing-chunk gone\n"},
    {"names with '~'",
     {{"params~a~w/.zarray", ARRAY2("[2]", "[2]", NULLED)},
      {"params~a~w/0", ""},
      {"step/.zarray", ARRAY2("[]", "[]", NULLED)},
      {"step/0", ""}},
     "params/a/w float32 [2] @1 0+1\nstep float32 [] @3 0+1\ndirectory .\n"
     "chunks params~a~w\nindex params~a~w/.zarray\nchunks step\nindex step/.zarray\n"},
};

TEST(test_trees)
{
    unsigned bad = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char root[FOLDER_BYTES];
        folder_make(root);
        for (const struct item *item = cases[i].items; item->path; item++)
            put(root, item);
        char *one = indexed(root, 1), *eight = indexed(root, 8);
        if (strcmp(one, cases[i].expected) != 0 || strcmp(one, eight) != 0) {
            print_error("%s:\n%s--- with 8 threads\n%s--- expected\n%s", cases[i].name, one, eight,
                        cases[i].expected);
            bad++;
        }
        free(one);
        free(eight);
        folder_remove(root);
    }
    assert_int_equal(bad, 0);
}

/* Hundreds of arrays: what is found does not depend on which thread was first. */
TEST(test_many)
{
    char root[FOLDER_BYTES];
    folder_make(root);
    shell_out("cd %s && printf '%%s' '%s' >.zgroup && for i in $(seq 300); do d=g$((i %% 7))/a$i;"
              " mkdir -p $d; printf '%%s' '%s' >$d/.zarray; : >$d/0; : >$d/1; done",
              root, GROUP2, ARRAY2("[4]", "[2]", FILLED));
    char *one = indexed(root, 1);
    for (unsigned threads = 2; threads <= 16; threads *= 2) {
        char *more = indexed(root, threads);
        assert_string_equal(one, more);
        free(more);
    }
    free(one);
    folder_remove(root);
}

RUN_TESTS(NULL, NULL)
