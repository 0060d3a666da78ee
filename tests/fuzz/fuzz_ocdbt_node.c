/*
 * fuzz_ocdbt_node.c - a tree: the input is bodies of nodes, each after its length (u16
 * little-endian), which come one after another into a file under checksums that are right. The
 * last is the root, as high as there are nodes below it. And the input as a root that is a leaf
 * and as zstd data.
 */
#include <stdlib.h>

#include "tests/unit/ocdbt_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct path_of node_file = {"d/n", 0};

/* Does a step of the path go up? "1864../" does not. */
static bool goes_up(const char *path)
{
    for (; path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
        if (strncmp(path, "..", 2) == 0 && (!path[2] || path[2] == '/'))
            return true;
    return false;
}

/* What the reader promises of every entry. */
static void check(const struct ocdbt *db, const struct ocdbt_entry *e, struct text *last,
                  bool first)
{
    size_t common = e->key.len < last->len ? e->key.len : last->len;
    int order = common ? memcmp(last->at, e->key.at, common) : 0;
    if (!first && (order > 0 || (order == 0 && last->len >= e->key.len)))
        abort();
    last->len = 0;
    text_add(last, e->key.at, e->key.len);
    if (e->value.at)
        return;
    const char *path = ocdbt_file(db, e->file);
    if (*path == '/' || goes_up(path) || strstr(path, "//") || !*path)
        abort();
    if (e->offset > INT64_MAX || e->length > (uint64_t)INT64_MAX - e->offset)
        abort();
}

static void walk(struct database *d, struct stored root, unsigned height)
{
    struct error err = {.offset = NO_OFFSET};
    struct ocdbt *db = NULL;
    struct ocdbt_entry e;
    struct text last = {0};
    database_manifest(d, &(struct manifest_of){.height = height,
                                               .paths = {&node_file, 1},
                                               .offset = root.offset,
                                               .length = root.length,
                                               .keys = 1});
    struct ocdbt_files files = database_files(d);
    bool first = true;
    if (ocdbt_open(&files, &db, &err) == OK)
        for (; ocdbt_next(db, &e, &err) == OK && e.key.at; first = false)
            check(db, &e, &last, first);
    ocdbt_close(db);
    text_release(&last);
    database_release(d);
}

static void walk_tree(struct bytes all)
{
    struct database d = {0};
    struct cursor c = cursor_over(all, 0);
    struct stored root = {0};
    unsigned nodes = 0;
    while (cursor_left(&c) && nodes < 256) {
        uint64_t len = cursor_u16le(&c);
        size_t left = cursor_left(&c);
        root = database_node(&d, "d/n", cursor_take(&c, len < left ? len : left), PACK_RAW);
        nodes++;
    }
    walk(&d, root, nodes ? nodes - 1 : 0);
}

static void walk_root(struct bytes all, enum pack pack)
{
    struct database d = {0};
    struct stored root = database_node(&d, "d/n", all, pack);
    walk(&d, root, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes all = {data, size};
    walk_tree(all);
    walk_root(all, PACK_RAW);
    walk_root(all, PACK_ZSTD_BLOCKS);
    return 0;
}
