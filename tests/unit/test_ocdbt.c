/*
 * OCDBT databases that a small builder writes into memory, walked and printed:
 *
 *   KEY=VALUE                    inline
 *   KEY@FILE+OFFSET:LENGTH       in a file
 */
#include <time.h>

#include "tests/unit/ocdbt_builder.h"
#include "tests/unit/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PATHS(a) ((struct paths_of){a, COUNT(a)})

static enum status walk(struct database *d, struct text *out, struct error *err)
{
    struct ocdbt *db = NULL;
    struct ocdbt_entry e;
    struct ocdbt_files files = database_files(d);
    if (ocdbt_open(&files, &db, err) == OK)
        while (ocdbt_next(db, &e, err) == OK && e.key.at) {
            text_add(out, e.key.at, e.key.len);
            if (e.value.at) {
                assert_int_equal(e.length, e.value.len);
                text_addc(out, '=');
                text_add(out, e.value.at, e.value.len);
            } else {
                assert_non_null(ocdbt_file(db, e.file));
                text_addf(out, "@%s+%llu:%llu", ocdbt_file(db, e.file),
                          (unsigned long long)e.offset, (unsigned long long)e.length);
            }
            text_addc(out, '\n');
        }
    ocdbt_close(db);
    return err->status;
}

/* Walk and compare; what is reported comes after a line "--". */
static void expect(struct database *d, enum status status, const char *want)
{
    struct text got = {0};
    struct error err = {.offset = NO_OFFSET};
    enum status is = walk(d, &got, &err);
    if (d->reports.len)
        text_addf(&got, "--\n%s", text_str(&d->reports));
    if (is != status)
        print_message("status %s: %s\n", status_name(is), err.message);
    assert_int_equal(is, status);
    assert_true(is == OK || err.message[0]);
    assert_string_equal(text_str(&got), want);
    text_release(&got);
    text_reset(&d->reports);
    d->warnings = d->errors = 0;
}

/* --- well-formed ------------------------------------------------------------------------ */

/* A database as another writer writes it. */
TEST(by_the_byte)
{
    struct database d = {0};
    put_hex(&database_file(&d, OCDBT_MANIFEST)->bytes,
            "0cdb3a2a42000000000000000000000102030405060708090a0b0c0d0e0f0064808080040400010300642f"
            "6e01010000003102310601000000000000000002d56d8e");
    put_hex(&database_file(&d, "d/n")->bytes,
            "0cdb20de3100000000000000000000010502702f642f7802020901772f2e7a617272617930020600010002"
            "7b7d0d74bd00");
    expect(&d, OK, "w/.zarray={}\nw/0@p/d/x+2:6\n");
    database_release(&d);
}

static const struct path_of one_path[] = {{"d/n", 0}};

/* A database whose root is a leaf with these entries. */
static void build_leaf(struct database *d, const struct entry_of *e, size_t count, enum pack pack)
{
    struct text body = {0};
    put_leaf(&body, PATHS(one_path), e, count);
    struct stored root = database_node(d, "d/n", text_bytes(&body), pack);
    database_manifest(d, &(struct manifest_of){.paths = PATHS(one_path),
                                               .offset = root.offset,
                                               .length = root.length,
                                               .keys = count});
    text_release(&body);
}

/* clang-format off */
static const struct entry_of some[] = {
    {.key = "",       .value = "the empty key"                },
    {.key = "a/0",    .offset = 7,             .length = 9    },
    {.key = "a/1",    .offset = 0,             .length = 1    },
    {.key = "a/10",   .value = ""                             },
    {.key = "ab",     .length = 0                             },
    {.key = "\xff/z", .offset = 1u << 30,      .length = 70000},
};
/* clang-format on */
#define SOME                                                                                       \
    "=the empty "                                                                                  \
    "key\na/0@d/n+7:9\na/1@d/n+0:1\na/10=\nab=\n\xff/z@d/n+1073741824:70000\n"

TEST(leaves)
{
    static const enum pack packs[] = {PACK_RAW, PACK_ZSTD};
    for (size_t i = 0; i < COUNT(packs); i++) {
        struct database d = {0};
        build_leaf(&d, some, COUNT(some), packs[i]);
        expect(&d, OK, SOME);
        database_release(&d);
    }
}

TEST(manifests)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct manifest_of m;
        enum pack pack;
    } cases[] = {
        {"16 versions",              {.versions = 16},                                 PACK_RAW },
        {"16 late versions",         {.versions = 16, .generation = UINT64_MAX},       PACK_RAW },
        {"older versions elsewhere", {.versions = 3, .generation = 500, .history = 3}, PACK_RAW },
        {"compressed",               {.versions = 3},                                  PACK_ZSTD},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct database d = {0};
        struct manifest_of m = cases[i].m;
        build_leaf(&d, some, COUNT(some), PACK_RAW);
        m.paths = PATHS(one_path);
        m.length = d.files[0].bytes.len;
        m.keys = COUNT(some);
        database_manifest_as(&d, OCDBT_MANIFEST, &m, cases[i].pack);
        expect(&d, OK, SOME);
        database_release(&d);
    }
}

TEST(empty_database)
{
    struct database d = {0};
    database_manifest(&d, &(struct manifest_of){.empty = true});
    expect(&d, OK, "");
    database_release(&d);
}

/* --- trees ------------------------------------------------------------------------------ */

/* Two levels over three leaves in two other databases:
 *
 *   root in d/n:   ""      -> own/n1          (height 1, own base)
 *                  "w/b"   -> {p/}d/x         (height 1, base p/, prefix "w/")
 *   own/n1:        ""      -> {}d/leaves
 *   {p/}d/x:       "b", "c" of prefix "w/" -> {q/}d/y, d/z
 */
static void build_tree(struct database *d)
{
    static const struct path_of leaf_paths[] = {
        {"d/v", 0},
        {"r/d/v2", 2},
    };
    static const struct path_of x_paths[] = {
        {"d/z", 0},
        {"q/d/y", 2},
    };
    static const struct path_of root_paths[] = {
        {"own/n1", 0},
        {"p/d/x", 2},
    };
    static const struct path_of n1_paths[] = {{"d/leaves", 0}};
    struct text body = {0};
    struct stored leaf[3];
    static const struct entry_of first[] = {
        {.key = "a", .value = "1"},
        {.key = "w/a", .file = 0, .offset = 3, .length = 4},
    };
    put_leaf(&body, PATHS(leaf_paths), first, 2);
    leaf[0] = database_node(d, "d/leaves", text_bytes(&body), PACK_ZSTD);
    text_reset(&body);
    static const struct entry_of second[] = {
        {.key = "/0", .file = 1, .offset = 5, .length = 6},
        {.key = "/1", .file = 0, .offset = 7, .length = 8},
    };
    put_leaf(&body, PATHS(leaf_paths), second, 2);
    leaf[1] = database_node(d, "p/q/d/y", text_bytes(&body), PACK_RAW);
    text_reset(&body);
    static const struct entry_of third[] = {
        {.key = "c0", .value = "0"},
        {.key = "d", .file = 0, .offset = 9, .length = 10},
    };
    put_leaf(&body, PATHS(leaf_paths), third, 2);
    leaf[2] = database_node(d, "p/d/z", text_bytes(&body), PACK_RAW);
    text_reset(&body);
    const struct entry_of n1[] = {
        {.key = "", .file = 0, .offset = leaf[0].offset, .length = leaf[0].length, .keys = 2}};
    put_inner(&body, 1, PATHS(n1_paths), n1, 1);
    struct stored left = database_node(d, "own/n1", text_bytes(&body), PACK_RAW);
    text_reset(&body);
    const struct entry_of x[] = {
        {.key = "b",
         .file = 1,
         .offset = leaf[1].offset,
         .length = leaf[1].length,
         .keys = 2,
         .common = 1},
        {.key = "c",
         .file = 0,
         .offset = leaf[2].offset,
         .length = leaf[2].length,
         .keys = 2,
         .common = 0},
    };
    put_inner(&body, 1, PATHS(x_paths), x, 2);
    struct stored right = database_node(d, "p/d/x", text_bytes(&body), PACK_ZSTD);
    text_reset(&body);
    const struct entry_of root[] = {
        {.key = "",
         .file = 0,
         .offset = left.offset,
         .length = left.length,
         .keys = 2,
         .common = 0},
        {.key = "w/b",
         .file = 1,
         .offset = right.offset,
         .length = right.length,
         .keys = 4,
         .common = 2},
    };
    put_inner(&body, 2, PATHS(root_paths), root, 2);
    struct stored top = database_node(d, "d/n", text_bytes(&body), PACK_RAW);
    text_release(&body);
    database_manifest(d, &(struct manifest_of){.height = 2,
                                               .paths = PATHS(one_path),
                                               .offset = top.offset,
                                               .length = top.length,
                                               .keys = 6});
}

#define TREE_LEFT   "a=1\nw/a@d/v+3:4\n"
#define TREE_MIDDLE "w/b/0@p/q/r/d/v2+5:6\nw/b/1@p/q/d/v+7:8\n"
#define TREE_RIGHT  "w/c0=0\nw/d@p/d/v+9:10\n"
#define LOST(key)   "--\nerror: the keys from \"" key "\" on are lost: "

TEST(trees)
{
    struct database d = {0};
    build_tree(&d);
    expect(&d, OK, TREE_LEFT TREE_MIDDLE TREE_RIGHT);
    database_release(&d);
}

/* An unreadable node loses everything below it and nothing else. */
TEST(lost_nodes)
{
#define BAD_SUM "checksum of an OCDBT node does not match: the file is damaged\n"
    static const struct {
        const char *file;
        bool missing;
        const char *want;
    } cases[] = {
        {"d/leaves", false, TREE_MIDDLE TREE_RIGHT LOST("") BAD_SUM},
        {"own/n1", true, TREE_MIDDLE TREE_RIGHT LOST("") "no such file\n"},
        {"p/q/d/y", false, TREE_LEFT TREE_RIGHT LOST("w/b") BAD_SUM},
        {"p/d/z", true, TREE_LEFT TREE_MIDDLE LOST("w/c") "no such file\n"},
        {"p/d/x", false, TREE_LEFT LOST("w/b") BAD_SUM},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s %s\n", cases[i].file, cases[i].missing ? "missing" : "damaged");
        struct database d = {0};
        build_tree(&d);
        struct memory_file *f = database_file(&d, cases[i].file);
        f->missing = cases[i].missing;
        f->bytes.at[f->bytes.len - 6] ^= 1;
        expect(&d, OK, cases[i].want);
        database_release(&d);
    }
}

TEST(lost_root)
{
    struct database d = {0};
    build_tree(&d);
    struct memory_file *root = database_file(&d, "d/n");
    root->missing = true;
    expect(&d, ERR_MISSING, "");
    root->missing = false;
    root->bytes.len--;
    expect(&d, ERR_CORRUPT, "");
    database_release(&d);
}

/* Every cut is an error or reported. So is every changed bit, unless it changes nothing. */
TEST(damage)
{
    struct database d = {0};
    build_tree(&d);
    for (size_t f = 0; f < d.count; f++) {
        struct text *bytes = &d.files[f].bytes;
        for (size_t bit = 0; bit < bytes->len * 8; bit++) {
            struct text got = {0};
            struct error err = {.offset = NO_OFFSET};
            bytes->at[bit / 8] ^= (char)(1 << bit % 8);
            if (walk(&d, &got, &err) == OK && !d.errors)
                assert_string_equal(text_str(&got), TREE_LEFT TREE_MIDDLE TREE_RIGHT);
            bytes->at[bit / 8] ^= (char)(1 << bit % 8);
            d.errors = 0;
            text_release(&got);
        }
        for (size_t len = bytes->len, cut = 0; cut < len; cut++) {
            struct text got = {0};
            struct error err = {.offset = NO_OFFSET};
            bytes->len = cut;
            assert_true(walk(&d, &got, &err) != OK || d.errors);
            bytes->len = len;
            d.errors = 0;
            text_release(&got);
        }
    }
    database_release(&d);
}

/* --- inner nodes that lie --------------------------------------------------------------- */

/* A root of height 1 over one leaf of the keys "b" and "c". */
static void build_pair(struct database *d, const struct entry_of *over, size_t count,
                       unsigned height)
{
    static const struct entry_of leaf[] = {
        {.key = "b", .value = "1"},
        {.key = "c", .value = "2"},
    };
    struct text body = {0};
    struct entry_of e[4];
    put_leaf(&body, (struct paths_of){0}, leaf, 2);
    struct stored below = database_node(d, "d/n", text_bytes(&body), PACK_RAW);
    text_reset(&body);
    uint64_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        e[i] = over[i];
        e[i].offset += below.offset;
        e[i].length += below.length;
        keys += e[i].keys;
    }
    put_inner(&body, height, PATHS(one_path), e, count);
    struct stored root = database_node(d, "d/n", text_bytes(&body), PACK_RAW);
    text_release(&body);
    database_manifest(d, &(struct manifest_of){.height = height,
                                               .paths = PATHS(one_path),
                                               .offset = root.offset,
                                               .length = root.length,
                                               .keys = keys});
}

TEST(bad_parents)
{
#define ORDER "the keys of an OCDBT node are not in order\n"
#define ALL   "b=1\nc=2\n"
    /* clang-format off */
    static const struct {
        const char *name;
        struct entry_of e[2];
        size_t count;
        unsigned height;
        const char *want;
    } cases[] = {
        {"a good one", {{.key = "", .keys = 2}}, 1, 1, ALL},
        {"the first key itself", {{.key = "b", .keys = 2}}, 1, 1, ALL},
        {"a prefix", {{.key = "ab", .keys = 2, .common = 1}}, 1, 1, "ab=1\nac=2\n"},
        {"a lower bound that is none", {{.key = "bb", .keys = 2}}, 1, 1,
         LOST("bb") ORDER},
        {"a height that is another", {{.key = "", .keys = 2}}, 1, 2,
         LOST("") "an OCDBT node is damaged: its height in the tree is not the one that it states\n"},
        {"a count that is another", {{.key = "", .keys = 3}}, 1, 1,
         ALL "--\nwarning: an OCDBT node has 2 entries below it where 3 should be\n"},
        {"one leaf twice", {{.key = "", .keys = 2}, {.key = "a", .keys = 2}}, 2, 1,
         ALL LOST("a") ORDER},
        {"one leaf under two prefixes",
         {{.key = "x", .keys = 2, .common = 1}, {.key = "y", .keys = 2, .common = 1}}, 2,
         1, "xb=1\nxc=2\nyb=1\nyc=2\n"},
        {"one leaf in the other, by its prefix",
         {{.key = "a", .keys = 2, .common = 0}, {.key = "b", .keys = 2, .common = 1}}, 2,
         1, ALL LOST("b") ORDER},
        {"past the end of the file", {{.key = "", .length = 1000}}, 1, 1,
         LOST("") "an OCDBT node of 1032 bytes at byte 0 ends past the end of its file: "
                  "cut short?\n"},
        {"an offset that overflows", {{.key = "", .offset = UINT64_MAX}}, 1, 1,
         LOST("") "an OCDBT node of 32 bytes at byte 18446744073709551615 ends past the "
                  "end of its file: cut short?\n"},
        {"not all of it", {{.key = "", .length = (uint64_t)-1}}, 1, 1,
         LOST("") "the length in an OCDBT node is not the 31 bytes that it has: cut short?\n"},
        {"nothing of it", {{.key = "", .length = (uint64_t)-32}}, 1, 1,
         LOST("") "this is not an OCDBT node: its magic number is another\n"},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct database d = {0};
        build_pair(&d, cases[i].e, cases[i].count, cases[i].height);
        expect(&d, OK, cases[i].want);
        database_release(&d);
    }
}

/* --- bodies that lie, under checksums that are right ------------------------------------ */

static void build_root(struct database *d, struct bytes body, unsigned height, enum pack pack)
{
    struct stored root = database_node(d, "d/n", body, pack);
    database_manifest(d, &(struct manifest_of){.height = height,
                                               .paths = PATHS(one_path),
                                               .offset = root.offset,
                                               .length = root.length,
                                               .keys = 1});
}

TEST(bad_bodies)
{
#define NO_FILES "\0"
#define ONE_FILE "\1\1\0x"
#define HUGE_10  "\377\377\377\377\377\377\377\377\377\1"
    /* clang-format off */
    const struct {
        const char *name;
        struct bytes body;
        unsigned height;
        enum status status;
    } cases[] = {
        {"one inline value", LITERAL("\0" NO_FILES "\1\1k\1\0v"), 0, OK},
        {"one value in a file", LITERAL("\0" ONE_FILE "\1\1k\1\1\0\0"), 0, OK},
        {"nothing", LITERAL(""), 0, ERR_CORRUPT},
        {"a height alone", LITERAL("\0"), 0, ERR_CORRUPT},
        {"another height", LITERAL("\1" NO_FILES "\1\1k\1\0v"), 0, ERR_CORRUPT},
        {"no entries", LITERAL("\0" NO_FILES "\0"), 0, ERR_CORRUPT},
        {"2^20 entries in no bytes", LITERAL("\0" NO_FILES "\200\200\100"), 0, ERR_CORRUPT},
        {"2^64 - 1 files", LITERAL("\0" HUGE_10 "\1\1k\1\0v"), 0, ERR_CORRUPT},
        {"a byte after", LITERAL("\0" NO_FILES "\1\1k\1\0v\0"), 0, ERR_CORRUPT},
        {"a value cut short", LITERAL("\0" NO_FILES "\1\1k\2\0v"), 0, ERR_CORRUPT},
        {"a kind that is none", LITERAL("\0" NO_FILES "\1\1k\1\2v"), 0, ERR_CORRUPT},
        {"a key past the end", LITERAL("\0" NO_FILES "\1\177k\1\0v"), 0, ERR_CORRUPT},
        {"a key of 65536 bytes", LITERAL("\0" NO_FILES "\1\200\200\4k\1\0v"), 0,
         ERR_CORRUPT},
        {"two keys in order", LITERAL("\0" NO_FILES "\2\1\1\1kl\0\0\0\0"), 0, OK},
        {"a key twice", LITERAL("\0" NO_FILES "\2\1\1\0k\0\0\0\0"), 0, ERR_CORRUPT},
        {"keys that fall", LITERAL("\0" NO_FILES "\2\0\1\1lk\0\0\0\0"), 0, ERR_CORRUPT},
        {"a key that shares more than there is", LITERAL("\0" NO_FILES "\2\2\1\1kl\0\0\0\0"),
         0, ERR_CORRUPT},
        {"a file that is none", LITERAL("\0" ONE_FILE "\1\1k\1\1\1\0"), 0, ERR_CORRUPT},
        {"a file of no table", LITERAL("\0" NO_FILES "\1\1k\1\1\0\0"), 0, ERR_CORRUPT},
        {"an empty value of no file", LITERAL("\0\1\0\0\1\1k\0\1\0\0"), 0, OK},
        {"a value of no file", LITERAL("\0\1\0\0\1\1k\1\1\0\0"), 0, ERR_CORRUPT},
        {"a range past 2^63", LITERAL("\0" ONE_FILE "\1\1k\1\1\0" HUGE_10), 0, ERR_CORRUPT},
        {"a base path longer than its path", LITERAL("\0\1\1\2x\1\1k\1\1\0\0"), 0,
         ERR_CORRUPT},
        {"paths that share more than there is", LITERAL("\0\2\2\1\1\0\0xy\1\1k\1\0v"), 0,
         ERR_CORRUPT},
        {"paths that share past differing bases", LITERAL("\0\2\1\1\1\1\0xy\1\1k\1\0v"), 0,
         ERR_CORRUPT},
        {"paths that share one base and more", LITERAL("\0\2\2\2\1\1\1xyz\1\1k\1\0v"), 0,
         OK},
        {"an inner node without files", LITERAL("\1" NO_FILES "\1\0\0\0\0\0\0\0\0"), 1,
         ERR_CORRUPT},
        {"a prefix longer than its key", LITERAL("\1" ONE_FILE "\1\1\2k\0\0\0\0\0\0"), 1,
         ERR_CORRUPT},
        {"a node in a file that is none", LITERAL("\1" ONE_FILE "\1\1\0k\1\0\0\0\0\0"), 1,
         ERR_CORRUPT},
        {"columns that are missing", LITERAL("\1" ONE_FILE "\1\1\0k\0\0\0\0\0"), 1,
         ERR_CORRUPT},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct database d = {0};
        struct text got = {0};
        struct error err = {.offset = NO_OFFSET};
        build_root(&d, cases[i].body, cases[i].height, PACK_RAW);
        assert_int_equal(walk(&d, &got, &err), cases[i].status);
        text_release(&got);
        database_release(&d);
    }
}

/* A path that leads out of the directory is refused, whatever its source. */
TEST(unsafe_paths)
{
    /* clang-format off */
    static const struct {
        struct path_of path;
        enum status status;
    } cases[] = {
        {{"x", 0},                  OK         },
        {{"a/b.c/..d/...", 4},      OK         },
        {{"/etc/passwd", 0},        ERR_CORRUPT},
        {{"../x", 0},               ERR_CORRUPT},
        {{"..", 0},                 ERR_CORRUPT},
        {{"a/../../x", 5},          ERR_CORRUPT},
        {{"a/..", 2},               ERR_CORRUPT},
        {{"a/./x", 0},              ERR_CORRUPT},
        {{"a//x", 2},               ERR_CORRUPT},
        {{"a/", 2},                 ERR_CORRUPT},
        {{"a\\x", 0},               ERR_CORRUPT},
        {{"", 0},                   ERR_CORRUPT},
    };
    /* clang-format on */
    static const struct entry_of e = {.key = "k", .length = 1};
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("\"%s\"\n", cases[i].path.path);
        struct database d = {0};
        struct text body = {0}, got = {0};
        struct error err = {.offset = NO_OFFSET};
        put_leaf(&body, (struct paths_of){&cases[i].path, 1}, &e, 1);
        build_root(&d, text_bytes(&body), 0, PACK_RAW);
        assert_int_equal(walk(&d, &got, &err), cases[i].status);
        text_release(&got);
        text_release(&body);
        database_release(&d);
    }
}

TEST(path_with_nul)
{
    struct database d = {0};
    build_root(&d, LITERAL("\0\1\3\0a\0b\1\1k\1\1\0\0"), 0, PACK_RAW);
    expect(&d, ERR_CORRUPT, "");
    database_release(&d);
}

TEST(path_too_long)
{
    struct database d = {0};
    struct text body = {0};
    text_add(&body, "\0\1\200\40\0", 5);
    for (int i = 0; i < 4096; i++)
        text_addc(&body, 'x');
    text_add(&body, "\1\1k\1\1\0\0", 7);
    build_root(&d, text_bytes(&body), 0, PACK_RAW);
    expect(&d, ERR_CORRUPT, "");
    text_release(&body);
    database_release(&d);
}

TEST(bad_manifests)
{
#define UUID     "0123456789abcdef"
#define CONFIG   UUID "\0\144\200\200\200\4\4\0"
#define EMPTY_AT HUGE_10 HUGE_10 "\0\0\0"
#define TIME     "\0\0\0\0\0\0\0\0"
#define NO_ROOT  "\1\0\0" /* one file: "" */
    /* clang-format off */
    const struct {
        const char *name;
        struct bytes body;
        enum status status;
    } cases[] = {
        {"empty", LITERAL(CONFIG NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"), OK},
        {"with a level", LITERAL(UUID "\0\1\2\1\1\3\0\0\0" NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"),
         OK},
        {"two versions", LITERAL(CONFIG NO_ROOT "\2\1\2\0\0\0\0" HUGE_10 HUGE_10
                              HUGE_10 HUGE_10
                                 "\0\0\0\0\0\0" TIME TIME "\0"), OK},
        {"older ones", LITERAL(CONFIG NO_ROOT "\1\7\0\0" EMPTY_AT TIME "\2\1\2\0\0\0\0\1\1\1\1"
                               TIME TIME "\2\1"), OK},
        {"cut in the configuration", LITERAL(UUID "\0\144"), ERR_CORRUPT},
        {"another kind", LITERAL(UUID "\2\1\2\1\0"), ERR_CORRUPT},
        {"arity 0", LITERAL(UUID "\0\1\2\0\0" NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"),
         ERR_CORRUPT},
        {"arity 17", LITERAL(UUID "\0\1\2\21\0" NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"),
         ERR_CORRUPT},
        {"another compression", LITERAL(UUID "\0\1\2\1\2" NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"),
         ERR_CORRUPT},
        {"inline values of 2^21 bytes",
         LITERAL(UUID "\0\200\200\200\1\2\1\0" NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0"),
         ERR_CORRUPT},
        {"no files", LITERAL(CONFIG "\0\1\1\0\0" EMPTY_AT TIME "\0"), ERR_CORRUPT},
        {"no version", LITERAL(CONFIG NO_ROOT "\0\0"), ERR_CORRUPT},
        {"17 versions", LITERAL(CONFIG NO_ROOT "\21\0"), ERR_CORRUPT},
        {"generation 0", LITERAL(CONFIG NO_ROOT "\1\0\0\0" EMPTY_AT TIME "\0"), ERR_CORRUPT},
        {"versions that fall", LITERAL(CONFIG NO_ROOT "\2\2\1\0\0\0\0" HUGE_10 HUGE_10
                              HUGE_10 HUGE_10
                                       "\0\0\0\0\0\0" TIME TIME "\0"), ERR_CORRUPT},
        {"a root in a file that is none", LITERAL(CONFIG NO_ROOT "\1\1\0\1" EMPTY_AT TIME "\0"),
         ERR_CORRUPT},
        {"entries of no root", LITERAL(CONFIG NO_ROOT "\1\1\0\0" HUGE_10 HUGE_10 "\1\0\0" TIME "\0"),
         ERR_CORRUPT},
        {"no root, height 1", LITERAL(CONFIG NO_ROOT "\1\1\1\0" EMPTY_AT TIME "\0"), ERR_CORRUPT},
        {"no list of older ones", LITERAL(CONFIG NO_ROOT "\1\1\0\0" EMPTY_AT TIME), ERR_CORRUPT},
        {"too many older ones", LITERAL(CONFIG NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\17"), ERR_CORRUPT},
        {"older ones that rise", LITERAL(CONFIG NO_ROOT "\1\7\0\0" EMPTY_AT TIME "\2\1\2\0\0\0\0\1\1\1\1"
                                         TIME TIME "\1\2"), ERR_CORRUPT},
        {"an older one of height 0", LITERAL(CONFIG NO_ROOT "\1\7\0\0" EMPTY_AT TIME "\1\1\0\0\1\1"
                                             TIME "\0"), ERR_CORRUPT},
        {"a byte after", LITERAL(CONFIG NO_ROOT "\1\1\0\0" EMPTY_AT TIME "\0\0"), ERR_CORRUPT},
        {"a byte after a numbered one", LITERAL(UUID "\1\1\2\1\0\0"), ERR_CORRUPT},
        {"numbered, without others", LITERAL(UUID "\1\1\2\1\0"), ERR_MISSING},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct database d = {0};
        put_frame(&database_file(&d, OCDBT_MANIFEST)->bytes, OCDBT_MAGIC_MANIFEST, cases[i].body,
                  PACK_RAW);
        expect(&d, cases[i].status, "");
        database_release(&d);
    }
}

/* A frame around a good body whose head says something else; the checksum is right. */
TEST(bad_frames)
{
    static const struct {
        const char *name;
        size_t at;
        uint8_t to;
        enum status status;
    } cases[] = {
        {"as it is", 13, 0, OK},
        {"another magic", 3, 0x2B, ERR_CORRUPT},
        {"a node's magic", 2, 0x20, ERR_CORRUPT},
        {"another length", 5, 1, ERR_CORRUPT},
        {"a length of 2^63", 11, 0x80, ERR_CORRUPT},
        {"version 1", 12, 1, ERR_UNSUPPORTED},
        {"compression 2", 13, 2, ERR_UNSUPPORTED},
        {"zstd, and it is not", 13, 1, ERR_CORRUPT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct database d = {0};
        database_manifest(&d, &(struct manifest_of){.empty = true});
        struct text *bytes = &d.files[0].bytes;
        bytes->at[cases[i].at] = (char)cases[i].to;
        bytes->len -= 4;
        put_u32(bytes, crc32c_extend(0, bytes->at, bytes->len));
        expect(&d, cases[i].status, "");
        database_release(&d);
    }
}

/* --- numbered manifests ----------------------------------------------------------------- */

/* Versions 9 to 11 of a leaf; their names end in 9, a and b. */
static void build_numbered(struct database *d)
{
    struct manifest_of m = {.paths = PATHS(one_path), .keys = COUNT(some)};
    build_leaf(d, some, COUNT(some), PACK_RAW);
    m.length = d->files[0].bytes.len;
    for (m.generation = 9; m.generation <= 11; m.generation++) {
        char name[64];
        snprintf(name, sizeof(name), "manifest.%016llx", (unsigned long long)m.generation);
        m.empty = m.generation == 9;
        m.keys = m.empty ? 0 : COUNT(some);
        database_manifest_as(d, name, &m, PACK_RAW);
    }
    database_manifest(d, &(struct manifest_of){.numbered = true});
    database_file(d, "manifest.000000000000000B");
    database_file(d, "manifest.000000000000000bb");
    database_file(d, "manifest.fff");
}

#define NAME_9 "manifest.0000000000000009"
#define NAME_A "manifest.000000000000000a"
#define NAME_B "manifest.000000000000000b"

TEST(numbered)
{
    struct database d = {0};
    build_numbered(&d);
    expect(&d, OK, SOME);
    print_message("the newest is damaged\n");
    database_file(&d, NAME_B)->bytes.at[30] ^= 1;
#define WARN_SUM "warning: checksum of an OCDBT manifest does not match: the file is damaged\n"
    expect(&d, OK, SOME "--\n" WARN_SUM);
    print_message("the two newest\n");
    database_file(&d, NAME_A)->missing = true;
    expect(&d, OK, "--\n" WARN_SUM "warning: no such file\n");
    print_message("all\n");
    database_file(&d, NAME_9)->missing = true;
    expect(&d, ERR_MISSING, "--\n" WARN_SUM "warning: no such file\nwarning: no such file\n");
    database_release(&d);
}

TEST(numbered_wrongly)
{
    static const struct manifest_of wrong[] = {
        {.empty = true, .generation = 12}, /* another number */
        {.numbered = true},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct database d = {0};
        build_numbered(&d);
        database_manifest_as(&d, NAME_B, &wrong[i], PACK_RAW);
        expect(&d, OK,
               SOME "--\nwarning: this OCDBT manifest has another version than its name says\n");
        database_release(&d);
    }
}

/* --- zstd ------------------------------------------------------------------------------- */

TEST(bad_zstd)
{
    static const struct entry_of e = {.key = "k", .value = "v"};
    struct text body = {0}, packed = {0};
    put_leaf(&body, (struct paths_of){0}, &e, 1);
    put_zstd(&packed, text_bytes(&body));
    struct bytes whole = text_bytes(&packed);
    for (size_t len = 0; len < whole.len; len++) {
        struct database d = {0};
        build_root(&d, (struct bytes){whole.at, len}, 0, PACK_ZSTD_BLOCKS);
        expect(&d, ERR_CORRUPT, "");
        database_release(&d);
    }
    struct database d = {0};
    build_root(&d, whole, 0, PACK_ZSTD_BLOCKS);
    expect(&d, OK, "k=v\n");
    print_message("a byte after\n");
    text_addc(&packed, 0);
    build_root(&d, text_bytes(&packed), 0, PACK_ZSTD_BLOCKS);
    expect(&d, ERR_CORRUPT, "");
    print_message("the stream twice\n");
    packed.len--;
    put_zstd(&packed, text_bytes(&body));
    build_root(&d, text_bytes(&packed), 0, PACK_ZSTD_BLOCKS);
    expect(&d, ERR_CORRUPT, "");
    database_release(&d);
    text_release(&packed);
    text_release(&body);
}

/* Blocks of 128 KiB, 4 bytes each in the file. */
static enum status expand(unsigned blocks, uint64_t node_bytes)
{
    struct database d = {0};
    struct text packed = {0}, got = {0};
    struct error err = {.offset = NO_OFFSET};
    put_zstd_head(&packed);
    for (unsigned i = 0; i < blocks; i++) {
        put_zstd_block(&packed, 1, 128 << 10, i + 1 == blocks);
        text_addc(&packed, 0);
    }
    struct stored root = database_node(&d, "d/n", text_bytes(&packed), PACK_ZSTD_BLOCKS);
    database_manifest(&d, &(struct manifest_of){.paths = PATHS(one_path),
                                                .node_bytes = node_bytes,
                                                .length = root.length,
                                                .keys = 1});
    walk(&d, &got, &err);
    text_release(&packed);
    text_release(&got);
    database_release(&d);
    return err.status;
}

TEST(zstd_bombs)
{
    assert_int_equal(expand(512, 0), ERR_CORRUPT); /* 64 MiB of zeros are not a node */
    assert_int_equal(expand(513, 0), ERR_LIMIT);
    assert_int_equal(expand(513, 100000000), ERR_CORRUPT);
    assert_int_equal(expand(2049, UINT32_MAX), ERR_LIMIT);
}

/* --- small files that ask for much ------------------------------------------------------ */

/* `height` nodes, each with twice the one below: under an own prefix each, so that all keys
 * are in order. */
TEST(dag)
{
    struct database d = {0};
    struct text body = {0}, got = {0};
    struct error err = {.offset = NO_OFFSET};
    static const struct entry_of leaf = {.key = "k", .value = ""};
    put_leaf(&body, (struct paths_of){0}, &leaf, 1);
    struct stored below = database_node(&d, "d/n", text_bytes(&body), PACK_RAW);
    uint64_t keys = 1;
    for (unsigned height = 1; height <= 40; height++, keys *= 2) {
        const struct entry_of e[] = {
            {.key = "a", .offset = below.offset, .length = below.length, .keys = keys, .common = 1},
            {.key = "b", .offset = below.offset, .length = below.length, .keys = keys, .common = 1},
        };
        text_reset(&body);
        put_inner(&body, height, PATHS(one_path), e, 2);
        below = database_node(&d, "d/n", text_bytes(&body), PACK_RAW);
    }
    database_manifest(&d, &(struct manifest_of){.height = 40,
                                                .paths = PATHS(one_path),
                                                .offset = below.offset,
                                                .length = below.length,
                                                .keys = keys});
    clock_t begin = clock();
    assert_int_equal(walk(&d, &got, &err), ERR_LIMIT);
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
    text_release(&got);
    text_release(&body);
    database_release(&d);
}

/* `count` keys or paths of 65000 or 4000 bytes that differ in the last three. */
static void put_grown(struct text *out, unsigned count, unsigned len, bool bases)
{
    put_varint(out, count);
    put_column(out, count - 1, len - 3);
    put_varint(out, len);
    put_column(out, count - 1, 3);
    if (bases)
        put_column(out, count, 0);
    for (unsigned i = 0; i < len - 3; i++)
        text_addc(out, 'x');
    for (unsigned i = 0; i < count; i++) {
        text_addc(out, (char)('a' + i / 26 / 26));
        text_addc(out, (char)('a' + i / 26 % 26));
        text_addc(out, (char)('a' + i % 26));
    }
}

static enum status grown_keys(unsigned count, unsigned len)
{
    struct database d = {0};
    struct text body = {0}, got = {0};
    struct error err = {.offset = NO_OFFSET};
    text_add(&body, "\0\0", 2);
    put_grown(&body, count, len, false);
    put_column(&body, 2 * (uint64_t)count, 0);
    build_root(&d, text_bytes(&body), 0, PACK_ZSTD);
    walk(&d, &got, &err);
    text_release(&body);
    text_release(&got);
    database_release(&d);
    return err.status;
}

static enum status grown_paths(unsigned count, unsigned len)
{
    struct database d = {0};
    struct text body = {0}, got = {0};
    struct error err = {.offset = NO_OFFSET};
    text_addc(&body, 0);
    put_grown(&body, count, len, true);
    put_grown(&body, count, 4, false);
    put_column(&body, 2 * (uint64_t)count, 1); /* lengths, kinds */
    for (unsigned i = 0; i < count; i++)
        put_varint(&body, i);
    put_column(&body, count, 0);
    build_root(&d, text_bytes(&body), 0, PACK_RAW);
    walk(&d, &got, &err);
    text_release(&body);
    text_release(&got);
    database_release(&d);
    return err.status;
}

TEST(growth)
{
    assert_int_equal(grown_keys(250, 60000), OK); /* 15 MB are free */
    assert_int_equal(grown_keys(1000, 60000), ERR_LIMIT);
    assert_int_equal(grown_keys(5000, 200), OK);
    assert_int_equal(grown_paths(4000, 4000), OK);
    assert_int_equal(grown_paths(8000, 4000), ERR_LIMIT);
    assert_int_equal(grown_paths(8000, 100), OK);
}

/* --- files ------------------------------------------------------------------------------ */

/* 40 leaves in 40 files: each is opened once. */
TEST(opened_once)
{
    struct database d = {0};
    struct path_of paths[41] = {{"d/n", 0}};
    struct entry_of e[40];
    char names[40][8], keys[40][8];
    struct text body = {0}, want = {0};
    for (unsigned i = 0; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "d/%02u", i);
        snprintf(keys[i], sizeof(keys[i]), "k%02u", i);
        const struct entry_of leaf = {.key = keys[i], .value = "v"};
        text_reset(&body);
        put_leaf(&body, (struct paths_of){0}, &leaf, 1);
        struct stored below = database_node(&d, names[i], text_bytes(&body), PACK_ZSTD);
        paths[i] = (struct path_of){names[i], 0};
        e[i] = (struct entry_of){
            .key = keys[i], .file = i, .offset = below.offset, .length = below.length, .keys = 1};
        text_addf(&want, "%s=v\n", keys[i]);
    }
    text_reset(&body);
    put_inner(&body, 1, (struct paths_of){paths, 40}, e, 40);
    struct stored root = database_node(&d, "d/n", text_bytes(&body), PACK_RAW);
    database_manifest(&d, &(struct manifest_of){.height = 1,
                                                .paths = PATHS(one_path),
                                                .offset = root.offset,
                                                .length = root.length,
                                                .keys = 40});
    expect(&d, OK, text_str(&want));
    for (size_t i = 0; i < d.count; i++)
        assert_int_equal(d.files[i].opened, 1);
    text_release(&body);
    text_release(&want);
    database_release(&d);
}

TEST(values)
{
    /* clang-format off */
    static const struct {
        struct entry_of e;
        uint64_t limit;
        enum status status;
        const char *want;
    } cases[] = {
        {{.key = "k", .value = "inline"}, 6, OK, "inline"},
        {{.key = "k", .value = "inline"}, 5, ERR_LIMIT, NULL},
        {{.key = "k", .offset = 0, .length = 3}, 100, OK, "\x0c\xdb\x20"},
        {{.key = "k", .offset = 40, .length = 300}, 1000, ERR_CORRUPT, NULL},
        {{.key = "k", .offset = 0, .length = 101}, 100, ERR_LIMIT, NULL},
        {{.key = "k", .length = 0}, 0, OK, ""},
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%zu\n", i);
        struct database d = {0};
        struct ocdbt *db = NULL;
        struct ocdbt_entry e;
        struct bytes got = {0};
        struct error err = {.offset = NO_OFFSET};
        build_leaf(&d, &cases[i].e, 1, PACK_RAW);
        struct ocdbt_files files = database_files(&d);
        assert_int_equal(ocdbt_open(&files, &db, &err), OK);
        assert_int_equal(ocdbt_next(db, &e, &err), OK);
        assert_int_equal(ocdbt_value(db, &e, cases[i].limit, &got, &err), cases[i].status);
        if (cases[i].want) {
            assert_int_equal(got.len, strlen(cases[i].want));
            assert_memory_equal(got.at, cases[i].want, got.len);
        }
        ocdbt_close(db);
        database_release(&d);
    }
}

RUN_TESTS(NULL, NULL)
