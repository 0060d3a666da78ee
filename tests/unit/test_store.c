/*
 * Stores: the answers of a tree in memory, and that a folder in memory is imported like the same folder
 * on disk.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "catalog/base/text.h"
#include "catalog/data/store/store.h"
#include "importer/job/job_run.h"
#include "importer/walk/walk.h"
#include "tests/fuzz/store_memory.h"
#include "tests/unit/unit.h"

#define BYTES(s)                                                                                   \
    {                                                                                              \
        (const uint8_t *)(s), sizeof(s) - 1                                                        \
    }

static const struct memory_file small[] = {
    {"a/b/c", BYTES("inner")}, {"a-x", BYTES("dash")}, {"a/b/d/e", BYTES("")},
    {"z", BYTES("last")},      {"a/.hid", BYTES("h")}, {"a/b.c", BYTES("dot")},
};

static bool see(void *context, const struct directory_entry *e)
{
    char *seen = context;
    snprintf(seen + strlen(seen), 200 - strlen(seen), "%s%s:%llu ", e->name,
             e->kind == ENTRY_FOLDER ? "/" : "", (unsigned long long)e->identity.size);
    return strcmp(e->name, "stop") != 0;
}

TEST(test_listing)
{
    static const struct {
        const char *path, *names; /* NULL if absent */
    } cases[] = {
        {"memory:/t", "a/:0 a-x:4 z:4 "},
        {"memory:/t/", "a/:0 a-x:4 z:4 "},
        {"memory:/t/a", ".hid:1 b/:0 b.c:3 "},
        {"memory:/t/a/b", "c:5 d/:0 "},
        {"memory:/t/a/b/d", "e:0 "},
        {"memory:/t/a/b/c", NULL},
        {"memory:/t/a/", NULL},
        {"memory:/t/a/b/", NULL},
        {"memory:/t/a/bb", NULL},
        {"memory:/t/a/b/d/f", NULL},
        {"memory:/tt", NULL},
        {"memory:/", NULL},
    };
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(memory_mount("t", small, 6, &err), OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char seen[200] = "";
        enum status status = directory_list(cases[i].path, 0, NULL, see, seen, &err);
        if (i != 6 && i != 7) { /* a '/' too many is left as it is, but at the root */
            assert_int_equal(status, cases[i].names ? OK : ERR_MISSING);
            assert_string_equal(seen, cases[i].names ? cases[i].names : "");
        }
        error_clear(&err);
    }
    memory_unmount("t");
    assert_false(path_is("memory:/t", ENTRY_FOLDER));
}

/* A listing gives the same identity as a look; each file has its own, another tree has others. */
struct identities {
    struct file_identity at[20];
    size_t count;
};

static bool see_identity(void *context, const struct directory_entry *e)
{
    struct identities *all = context;
    all->at[all->count++] = e->identity;
    return true;
}

TEST(test_identities)
{
    static const char *const paths[] = {"a", "a-x", "z"};
    struct error err = {.offset = NO_OFFSET};
    struct identities all = {.count = 0};
    struct file_identity now, again;
    enum entry_kind kind;
    struct source *s = NULL;
    assert_int_equal(memory_mount("t", small, 6, &err), OK);
    assert_int_equal(directory_list("memory:/t", 0, NULL, see_identity, &all, &err), OK);
    for (size_t i = 0; i < 3; i++) {
        char path[40];
        snprintf(path, sizeof(path), "memory:/t/%s", paths[i]);
        assert_int_equal(path_look(path, &kind, &now, &err), OK);
        assert_true(file_same(&now, &all.at[i]));
        for (size_t k = 0; k < i; k++)
            assert_false(file_same(&now, &all.at[k]));
    }
    assert_int_equal(path_look("memory:/t/a", &kind, &now, &err), OK);
    assert_int_equal(path_look("memory:/t/a/b", &kind, &again, &err), OK);
    assert_false(file_same(&now, &again));
    assert_int_equal(source_open_file("memory:/t/z", 0, &s, &now, &err), OK);
    assert_int_equal(s->size, 4);
    assert_true(file_same(&now, &all.at[2]));
    source_close(s);
    assert_int_equal(source_open_file("memory:/t/a", 0, &s, NULL, &err), ERR_UNSUPPORTED);
    error_clear(&err);
    memory_unmount("t");
    assert_int_equal(memory_mount("t", small, 6, &err), OK);
    assert_int_equal(file_identify("memory:/t/z", &again, &err), OK);
    assert_false(file_same(&now, &again));
    memory_unmount("t");
}

/* Modification times that a file system may hold: 1901, 2262 and 2446 (the end of ext4's). */
TEST(test_far_times)
{
    static const int64_t seconds[] = {-2147483647, 9223372035, 9223372036, 9223372037, 15032385534};
    char path[] = "/tmp/test_store_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct file_identity now, next;
        const struct timespec times[2] = {{seconds[i], 999999999}, {seconds[i], 999999999}};
        const struct timespec later[2] = {{seconds[i], 5}, {seconds[i] - 1, 5}};
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(file_identify(path, &now, &err), OK);
        assert_int_equal(futimens(fd, later), 0);
        assert_int_equal(file_identify(path, &next, &err), OK);
        assert_false(file_same(&now, &next));
    }
    close(fd);
    unlink(path);
}

static bool see_kind(void *context, const struct directory_entry *e)
{
    *(enum entry_kind *)context = e->kind;
    return true;
}

/* Names that no file can have are remembered as absent; a path too long for a call is not. */
TEST(test_long_names)
{
    static const struct {
        size_t name, depth; /* bytes; folders of 100 above it */
        enum status status;
    } cases[] = {
        {255, 0, ERR_MISSING}, {256, 0, ERR_MISSING}, {3000, 0, ERR_MISSING}, {200, 45, ERR_IO}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct file_identity identity;
        struct source *s = NULL;
        struct text path = {0};
        text_adds(&path, "/tmp");
        for (size_t k = 0; k < cases[i].depth; k++)
            text_addf(&path, "/%0100d", 0);
        text_addf(&path, "/%0*d", (int)cases[i].name, 0);
        assert_int_equal(file_identify(text_str(&path), &identity, &err), cases[i].status);
        error_clear(&err);
        assert_int_equal(source_open_file(text_str(&path), 0, &s, NULL, &err), cases[i].status);
        error_clear(&err);
        assert_int_equal(directory_list(text_str(&path), 0, NULL, see_kind, NULL, &err),
                         cases[i].status);
        text_release(&path);
    }
}

TEST(test_long_link)
{
    char folder[] = "/tmp/test_store_XXXXXX", link[64], target[300];
    enum entry_kind kind = ENTRY_FILE;
    struct error err = {.offset = NO_OFFSET};
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof(link), "%s/link", folder);
    memset(target, 'x', sizeof(target));
    target[sizeof(target) - 1] = '\0';
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(directory_list(folder, 0, NULL, see_kind, &kind, &err), OK);
    assert_int_equal(kind, ENTRY_DANGLING);
    unlink(link);
    rmdir(folder);
}

TEST(test_refused)
{
    static const char *const bad[][2] = {
        {"", NULL},   {"/a", NULL}, {"a/", NULL}, {"a//b", NULL}, {".", NULL},      {"a/..", NULL},
        {"..", NULL}, {"a", "a"},   {"a", "a/b"}, {"a/b", "a"},   {"a/b/c", "a/b"}, {"./a", NULL},
    };
    struct error err = {.offset = NO_OFFSET};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct memory_file files[] = {{bad[i][0], BYTES("")}, {bad[i][1], BYTES("")}};
        assert_int_equal(memory_mount("t", files, bad[i][1] ? 2 : 1, &err), ERR_ARGUMENT);
        error_clear(&err);
    }
    assert_int_equal(memory_mount("a/b", small, 6, &err), ERR_ARGUMENT);
    error_clear(&err);
    assert_int_equal(memory_mount("t", small, 6, &err), OK);
    assert_int_equal(memory_mount("t", small, 6, &err), ERR_ARGUMENT);
    memory_unmount("t");
}

/* --- a folder in memory and on the disk ----------------------------------------------------- */

#define FILES_MAX 400

struct copy {
    struct memory_file files[FILES_MAX];
    size_t count;
    bool odd; /* it holds what no tree in memory can: a link, too many files */
};

static void copy_file(struct copy *c, const char *path, size_t skip)
{
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    c->files[c->count] = (struct memory_file){strdup(path + skip), {bytes, size}};
    assert_non_null(c->files[c->count++].path);
}

static void copy_folder(struct copy *c, const char *path, size_t skip)
{
    char full[4096];
    struct stat st;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(full, sizeof(full), "%s/%s", path, e->d_name);
        assert_int_equal(lstat(full, &st), 0);
        if (S_ISDIR(st.st_mode))
            copy_folder(c, full, skip);
        else if (!S_ISREG(st.st_mode) || c->count == FILES_MAX)
            c->odd = true;
        else
            copy_file(c, full, skip);
    }
    closedir(d);
}

static void release_copy(struct copy *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free((char *)c->files[i].path);
        free((uint8_t *)c->files[i].bytes.at);
    }
}

static void add_batch(struct text *out, const struct unit *u, const char *root)
{
    struct error err = {.offset = NO_OFFSET};
    struct batch *b = NULL;
    const struct job_request request = {
        .format = u->format,
        .path = u->primary,
        .checkpoint_path = u->path,
        .siblings = u->siblings,
        .sibling_count = u->sibling_count,
        .threads = 1,
    };
    job_run_index(&request, &b, &err);
    assert_non_null(b);
    text_addf(out, "%s %s failed %d\n", u->format->name, u->path + strlen(root), b->failed);
    for (size_t i = 0; b->layout && i < sizeof(b->layout->logical.at); i++)
        text_addf(out, "%02x%02x%02x", b->layout->logical.at[i], b->layout->placement.at[i],
                  b->meta_digest.at[i]);
    for (uint64_t i = 0; i < b->issue_count; i++)
        text_addf(out, "\n%s %s", b->issues[i].code,
                  b->issues[i].path ? b->issues[i].path + strlen(root) : "");
    text_addc(out, '\n');
    batch_free(b);
}

/* Everything that an import would make from a root, except the root's own path. */
static void index_root(const char *root, struct text *out)
{
    struct error err = {.offset = NO_OFFSET};
    struct known *known = NULL;
    struct walk *walk = NULL;
    assert_int_equal(known_load(NULL, "test", &known, &err), OK);
    const struct walk_options options = {.threads = 2, .known = known};
    assert_int_equal(walk_paths(&root, 1, &options, &walk, &err), OK);
    for (uint64_t i = 0; i < walk->unit_count; i++)
        add_batch(out, &walk->units[i], root);
    for (uint64_t i = 0; i < walk->issue_count; i++)
        text_addf(out, "%s %s\n", walk->issues[i].code, walk->issues[i].path + strlen(root));
    walk_free(walk);
    known_free(known);
}

/* Returns whether it could be compared. */
static bool compare_folder(const char *folder)
{
    struct error err = {.offset = NO_OFFSET};
    struct copy c = {.count = 0};
    struct text disk = {0}, memory = {0};
    copy_folder(&c, folder, strlen(folder) + 1);
    if (!c.odd) {
        assert_int_equal(memory_mount("copy", c.files, c.count, &err), OK);
        index_root(folder, &disk);
        index_root("memory:/copy", &memory);
        memory_unmount("copy");
        if (strcmp(text_str(&disk), text_str(&memory)) != 0)
            print_message("%s\n", folder);
        assert_string_equal(text_str(&disk), text_str(&memory));
    }
    text_release(&disk);
    text_release(&memory);
    release_copy(&c);
    return !c.odd;
}

TEST(test_as_on_disk)
{
    static const char *const formats_tested[] = {"zarr", "orbax", "ocdbt",
                                                 "t5x",  "dcp",   "jax_pytree"};
    const char *tests = getenv("TESTS");
    size_t compared = 0;
    for (size_t i = 0; i < sizeof(formats_tested) / sizeof(formats_tested[0]); i++) {
        char folder[2048], full[4096], *real;
        snprintf(folder, sizeof(folder), "%s/fixtures/%s", tests ? tests : "tests",
                 formats_tested[i]);
        DIR *d = opendir(folder);
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) {
            struct stat st;
            snprintf(full, sizeof(full), "%s/%s", folder, e->d_name);
            if (e->d_name[0] == '.' || lstat(full, &st) != 0 || !S_ISDIR(st.st_mode))
                continue;
            real = realpath(full, NULL);
            compared += compare_folder(real);
            free(real);
        }
        closedir(d);
    }
    assert_true(compared > 100);
}

RUN_TESTS(NULL, NULL)
