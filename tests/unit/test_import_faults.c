/*
 * test_import_faults.c - the import while the machine fails: a file that cannot be read for a passing
 * reason is an issue, is not remembered and not taken for gone. The linker puts __wrap_X in the
 * place of X (Makefile), so that this works for root too.
 */
#include "catalog/ckptdb.h"
#include "catalog/sql/open.h"
#include "importer/verify/verify.h"
#include "tests/unit/import_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* --- faults ----------------------------------------------------------------------------- */

enum call { NO_CALL, OPEN, READ, OPENDIR, READDIR, LOOK };

static struct {
    enum call call;
    const char *where; /* the end of a path */
    int code;
    int from;          /* the first call of the kind that fails, from 1 on */
    bool once;         /* and the last */
    const char *under; /* the beginning of a path */
    int calls;
} fault;

static bool fails(enum call call, const char *path)
{
    const char *where = fault.where ? fault.where : "";
    size_t len = strlen(path), end = strlen(where);
    const char *under = fault.under ? fault.under : "";
    if (fault.call != call || len < end || strcmp(path + len - end, where) != 0 ||
        strncmp(path, under, strlen(under)) != 0)
        return false;
    int turn = __atomic_add_fetch(&fault.calls, 1, __ATOMIC_SEQ_CST);
    bool now = fault.once ? turn == fault.from : turn >= fault.from;
    if (now)
        errno = fault.code;
    return now;
}

/* The path of a descriptor. */
static const char *path_of(int fd, char out[512])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, out, 511);
    out[len < 0 ? 0 : len] = '\0';
    return out;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    return fails(OPEN, path) ? -1 : __real_open64(path, flags, 0600);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    return fails(OPENDIR, path) ? NULL : __real_opendir(path);
}

ssize_t __real_pread64(int fd, void *at, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *at, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *at, size_t len, off_t offset)
{
    char path[512];
    return fails(READ, path_of(fd, path)) ? -1 : __real_pread64(fd, at, len, offset);
}

int __real_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags)
{
    char path[512];
    return fails(LOOK, path_of(fd, path)) || fails(LOOK, name)
               ? -1
               : __real_fstatat64(fd, name, st, flags);
}

struct dirent *__real_readdir64(DIR *d);
struct dirent *__wrap_readdir64(DIR *d);
struct dirent *__wrap_readdir64(DIR *d)
{
    char path[512];
    return fails(READDIR, path_of(dirfd(d), path)) ? NULL : __real_readdir64(d);
}

static void arm(enum call call, const char *where, int code, int from)
{
    fault.call = call;
    fault.where = where;
    fault.code = code;
    fault.from = from;
    fault.calls = 0;
}

static void disarm(void)
{
    fault.call = NO_CALL;
    fault.once = false;
    fault.under = NULL;
}

static int teardown(void **state)
{
    disarm();
    return place_teardown(state);
}

/* --- cases ------------------------------------------------------------------------------ */

/* The first opening is the walk's, the second the job's. */
static const struct {
    enum call call;
    int code, from;
} troubles[] = {
    {OPEN, EMFILE, 1}, {OPEN, EMFILE, 2}, {OPEN, ENOMEM, 2}, {OPEN, EACCES, 1},
    {OPEN, EACCES, 2}, {READ, EIO, 1},    {READ, EIO, 2},    {READ, EIO, 3},
};

/* A file that could not be read comes in as soon as it can be, by its folder and by name, and
 * its issue is gone. */
TEST_IN(test_passing_trouble, place_setup, teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "1.safetensors", TWO, 24);
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        for (int named = 0; named < 2; named++) {
            const char *below = named ? "/1.safetensors" : "";
            shell_out("rm -f %s*", p->catalog);
            arm(troubles[i].call, "/1.safetensors", troubles[i].code, troubles[i].from);
            struct import_report r = import(p, "", plain);
            disarm();
            print_message("trouble %zu, named %d\n", i, named);
            assert_int_equal(r.added, 0);
            expect(p, "SELECT count(*) FROM issue", "1");
            expect(p, "SELECT count(*) FROM _passed", "0");
            expect_report(import(p, below, plain), "1 new 0 changed 0 same 0 failed 0 gone");
            expect(p, "SELECT count(*) FROM issue", "0");
        }
    }
}

/* A set with a shard that could not be read is read again. */
TEST_IN(test_passing_trouble_of_a_shard, place_setup, teardown)
{
    static const char index[] = "{\"weight_map\":{\"a.w\":\"m-00001-of-00002.safetensors\","
                                "\"a.b\":\"m-00001-of-00002.safetensors\","
                                "\"c\":\"m-00002-of-00002.safetensors\"}}";
    const struct place *p = *state;
    put_safetensors(p, "m-00001-of-00002.safetensors", TWO, 24);
    put_safetensors(p, "m-00002-of-00002.safetensors", OTHER, 24);
    put_file(p, "m.safetensors.index.json", index, strlen(index));
    for (int from = 1; from < 4; from++) {
        shell_out("rm -f %s*", p->catalog);
        arm(READ, "m-00002-of-00002.safetensors", EIO, from);
        import(p, "", plain);
        disarm();
        expect(p, "SELECT count(*) > 0 FROM issue", "1");
        import(p, "", plain);
        expect(p, "SELECT tensors FROM checkpoint", "3");
        expect(p, "SELECT count(*) FROM issue", "0");
        expect_report(import(p, "", plain), "0 new 0 changed 1 same 0 failed 0 gone");
    }
}

/* A file that cannot be looked at is not gone: it is an issue, and --prune leaves it. */
TEST_IN(test_prune_drops_what_is_gone_alone, place_setup, teardown)
{
    static const struct {
        enum call call;
        const char *where;
        int code;
        bool changed; /* files are rewritten before */
    } cases[] = {
        {OPEN, "/1.safetensors", EACCES, true}, {READ, "/1.safetensors", EIO, true},
        {LOOK, "/sub", EACCES, false},          {LOOK, "/sub/deep", EACCES, false},
        {LOOK, "1.safetensors", EIO, false},    {OPENDIR, "/sub", EACCES, false},
        {OPENDIR, "/sub/deep", EMFILE, false},  {READDIR, "/sub", EIO, false},
        {READDIR, "/sub/deep", EIO, false},
    };
    struct import_options prune = {.prune = true};
    const struct place *p = *state;
    shell_out("mkdir -p %s/sub/deep/er", p->root);
    put_safetensors(p, "sub/1.safetensors", TWO, 24);
    put_safetensors(p, "sub/deep/1.safetensors", TWO, 24);
    put_safetensors(p, "sub/deep/er/2.safetensors", TWO, 24);
    import(p, "", plain);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].changed) {
            put_safetensors(p, "sub/1.safetensors", TWO " ", 24);
            put_safetensors(p, "sub/deep/1.safetensors", TWO " ", 24);
        }
        arm(cases[i].call, cases[i].where, cases[i].code, 1);
        struct import_report r = import(p, "", prune);
        disarm();
        print_message("case %zu\n", i);
        assert_int_equal(r.pruned, 0);
        expect(p, "SELECT count(*) FROM checkpoint", "3");
        expect(p, "SELECT count(*) > 0 FROM issue WHERE severity = 'error'", "1");
        r = import(p, "", prune);
        assert_int_equal(r.unchanged + r.changed, 3);
        expect(p, "SELECT count(*) FROM issue", "0");
        if (cases[i].changed) {
            put_safetensors(p, "sub/1.safetensors", TWO, 24);
            put_safetensors(p, "sub/deep/1.safetensors", TWO, 24);
            import(p, "", plain);
        }
    }
    /* Half a listing is not used: an index would be read without its shards. */
    arm(READDIR, "/sub/deep", EIO, 4);
    import(p, "", prune);
    disarm();
    expect(p, "SELECT count(*) FROM checkpoint", "3");
    shell_out("rm -r %s/sub/deep", p->root);
    assert_int_equal(import(p, "", prune).pruned, 2);
}

static void put_array(const struct place *p, const char *directory)
{
    static const char metadata[] =
        "{\"zarr_format\":2,\"shape\":[2],\"chunks\":[2],\"dtype\":\"<f4\","
        "\"compressor\":null,\"fill_value\":0,\"order\":\"C\",\"filters\":null}";
    char name[128];
    shell_out("mkdir -p %s/%s", p->root, directory);
    snprintf(name, sizeof(name), "%s/.zarray", directory);
    put_file(p, name, metadata, strlen(metadata));
    snprintf(name, sizeof(name), "%s/0", directory);
    put_file(p, name, "12345678", 8);
}

/* A directory's format is not decided from half of the evidence. */
TEST_IN(test_trouble_with_evidence, place_setup, teardown)
{
    struct import_options prune = {.prune = true};
    const struct place *p = *state;
    put_array(p, "step/a");
    put_array(p, "step/b");
    import(p, "", plain);
    expect(p, "SELECT format, tensors FROM checkpoint", "zarr|2");
    for (int after = 1; after < 3; after++) {
        put_array(p, after == 1 ? "step/c" : "step/d"); /* changed: asked again */
        arm(OPEN, "step/a/.zarray", EIO, 1);
        import(p, "", prune);
        disarm();
        expect(p, "SELECT format, tensors FROM checkpoint", after == 1 ? "zarr|2" : "zarr|3");
        expect(p, "SELECT count(*) FROM issue", "1");
        import(p, "", prune);
        expect(p, "SELECT format, tensors FROM checkpoint", after == 1 ? "zarr|3" : "zarr|4");
        expect(p, "SELECT count(*) FROM issue", "0");
    }
}

/* Files that a program with other formats passed over are looked at again. */
TEST_IN(test_other_formats, place_setup, teardown)
{
    const struct place *p = *state;
    char path[128], sql[512];
    struct stat st;
    put_file(p, "notes.txt", "hello", 5);
    put_safetensors(p, "1.safetensors", TWO, 24);
    snprintf(path, sizeof(path), "%s/1.safetensors", p->root);
    assert_int_equal(stat(path, &st), 0);
    import(p, "/notes.txt", plain);
    snprintf(sql, sizeof(sql), "INSERT INTO _passed VALUES ('%s', %lld, %lld, %lld, %lld)", path,
             (long long)st.st_size, (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
             (long long)st.st_ino, (long long)st.st_dev);
    query(p, sql);
    /* Remembered by this program: it need not look. */
    expect_report(import(p, "", plain), "0 new 0 changed 0 same 0 failed 0 gone");
    query(p, "UPDATE _looked SET looker = '0.0.9 npy npz'");
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    expect(p, "SELECT count(*) FROM _passed", "1");
    expect(p, "SELECT count(*) FROM _looked", "1");
}

/* What was known of a checkpoint, its hashes included, stays when a part cannot be looked at,
 * opened or read for once; that is an issue until it can. */
TEST_IN(test_known_stays, place_setup, teardown)
{
    static const struct {
        enum call call;
        const char *where;
        int code;
        bool changed; /* it is rewritten before, so that all is read again */
    } cases[] = {
        {LOOK, "m-00002-of-00002.safetensors", EIO, false},
        {LOOK, "m-00002-of-00002.safetensors", ENOMEM, true},
        {LOOK, "m.safetensors.index.json", EIO, false},
        {OPEN, "/m-00002-of-00002.safetensors", EMFILE, true},
        {OPEN, "/m-00002-of-00002.safetensors", EACCES, true},
        {READ, "/m-00001-of-00002.safetensors", EIO, true},
        {OPEN, "/m.safetensors.index.json", EACCES, true},
        {READ, "/m.safetensors.index.json", EIO, true},
    };
    static const char index[] = "{\"weight_map\":{\"a.w\":\"m-00001-of-00002.safetensors\","
                                "\"a.b\":\"m-00001-of-00002.safetensors\","
                                "\"c\":\"m-00002-of-00002.safetensors\"}}   ";
    static const char known[] =
        "SELECT format, tensors, state, (SELECT count(*) FROM _tensor_hashes WHERE id >> 24 = c.id)"
        " FROM checkpoint c ORDER BY format";
    struct import_options prune = {.prune = true};
    const struct place *p = *state;
    put_safetensors(p, "m-00001-of-00002.safetensors", TWO, 24);
    put_safetensors(p, "m-00002-of-00002.safetensors", OTHER, 24);
    put_array(p, "step/a");
    put_array(p, "step/b");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("case %zu\n", i);
        shell_out("rm -f %s*", p->catalog);
        put_file(p, "m.safetensors.index.json", index, strlen(index) - 1);
        import(p, "", plain);
        query(p, "INSERT INTO _content_hashes VALUES (1, 'x');"
                 "INSERT INTO _tensor_hashes SELECT id, 1 FROM tensor");
        expect(p, known, "safetensors-sharded|3|complete|3 zarr|2|complete|2");
        if (cases[i].changed)
            put_file(p, "m.safetensors.index.json", index, strlen(index));
        arm(cases[i].call, cases[i].where, cases[i].code, 1);
        import(p, "", prune);
        disarm();
        expect(p, "SELECT count(*) > 0 FROM issue WHERE severity = 'error'", "1");
        expect(p, known, "safetensors-sharded|3|complete|3 zarr|2|complete|2");
        import(p, "", prune);
        if (!cases[i].changed)
            expect(p, known, "safetensors-sharded|3|complete|3 zarr|2|complete|2");
        expect(p, "SELECT count(*) FROM issue", "0");
    }
}

/* The same where the primary file does not have the checkpoint's name. */
TEST_IN(test_known_stays_by_prefix, place_setup, teardown)
{
    static const char known[] =
        "SELECT format, tensors, state, (SELECT count(*) FROM file f WHERE f.checkpoint_id = c.id)"
        " FROM checkpoint c";
    struct import_options prune = {.prune = true};
    const struct place *p = *state;
    shell_out("cp $TESTS/fixtures/real/tf/v2_sharded3/data/* %s/; chmod -R u+w %s", p->root,
              p->root);
    import(p, "", plain);
    char *before = catalogued(p);
    shell_out("for i in %s/*.index; do cp $i $i.new; mv $i.new $i; done", p->root);
    static const enum call calls[] = {OPEN, READ, LOOK};
    for (size_t i = 0; i < 3; i++) {
        arm(calls[i], ".index", EACCES, 1);
        import(p, "", prune);
        disarm();
        expect(p, "SELECT count(*) > 0 FROM issue WHERE severity = 'error'", "1");
        expect(p, known, "tf_bundle|25|complete|4");
    }
    import(p, "", prune);
    char *after = catalogued(p);
    assert_string_equal(after, before);
    free(after);
    free(before);
}

/* An entry that cannot be looked at may make a directory one checkpoint: its parts do not
 * come in by themselves. */
TEST_IN(test_directory_in_doubt, place_setup, teardown)
{
    static const char *const fixtures[] = {"real/torch/dcp_two/data", "real/jax/zarr3_groups/data"};
    static const enum call calls[] = {LOOK, OPEN, READ};
    static const char *const marks[] = {".metadata", "zarr.json"};
    const struct place *p = *state;
    for (size_t i = 0; i < 2; i++) {
        shell_out("rm -rf %s/* %s*; cp -r $TESTS/fixtures/%s %s/", p->root, p->catalog, fixtures[i],
                  p->root);
        for (size_t k = 0; k < 3; k++) {
            shell_out("rm -f %s*", p->catalog);
            arm(calls[k], marks[i], EIO, 1);
            import(p, "", plain);
            disarm();
            print_message("%s, call %zu\n", fixtures[i], k);
            /* Shards alone make a folder DCP's, whose metadata is opened by its name. */
            expect(p, "SELECT count(*) FROM checkpoint WHERE path NOT LIKE '%/tree.zarr'",
                   i == 0 && calls[k] == LOOK ? "2" : "0");
            expect(p, "SELECT count(*) > 0 FROM issue WHERE severity = 'error'", "1");
            import(p, "", plain);
            expect(p, "SELECT format, state FROM checkpoint",
                   i == 0 ? "dcp|complete dcp|complete" : "zarr|complete");
        }
    }
}

/* Such an entry may also keep a directory from being one: shards alone are DCP's, and beside a
 * file of another format they are not. */
TEST_IN(test_neighbour_in_doubt, place_setup, teardown)
{
    const struct place *p = *state;
    shell_out("cp $TESTS/fixtures/real/torch/dcp_two/data/sharded/*.distcp %s/", p->root);
    put_safetensors(p, "model.safetensors", TWO, 24);
    arm(LOOK, "model.safetensors", EIO, 1);
    import(p, "", plain);
    disarm();
    expect(p, "SELECT count(*) FROM checkpoint", "0");
    expect(p, "SELECT DISTINCT severity, code FROM issue", "error|unreadable");
    import(p, "", plain);
    expect(p, "SELECT count(*) FROM checkpoint WHERE format = 'dcp'", "0");
    expect(p, "SELECT tensors, state FROM checkpoint WHERE format = 'safetensors'", "2|complete");
}

/* The copies in a .zmetadata, which may be all that says what an array is: not being able to read
 * them is an issue, and not remembered. */
TEST_IN(test_copies_that_cannot_be_read, place_setup, teardown)
{
    const struct place *p = *state;
    shell_out("mkdir %s/a; cd %s; echo '{\"zarr_format\":2}' >.zgroup; printf 1234 >a/0;"
              " echo '{\"metadata\":{\"a/.zarray\":{\"zarr_format\":2,\"shape\":[1],"
              "\"chunks\":[1],\"dtype\":\"<f4\",\"order\":\"C\",\"compressor\":null,"
              "\"fill_value\":0,\"filters\":null}}}' >.zmetadata",
              p->root, p->root);
    for (enum call call = OPEN; call <= READ; call++) {
        shell_out("rm -f %s*", p->catalog);
        arm(call, "/.zmetadata", EIO, 1);
        import(p, "", plain);
        disarm();
        expect(p, "SELECT count(*) FROM tensor", "0");
        expect(p, "SELECT count(*) > 0 FROM issue WHERE instr(message, 'Input/output error')", "1");
        import(p, "", plain);
        expect(p, "SELECT name FROM tensor", "a");
        expect(p, "SELECT count(*) FROM issue WHERE code = 'io'", "0");
    }
}

/* One call fails, whichever it is: the catalog is as it would be without the failure, or an issue says
 * what happened; and the next import has all. */
TEST_IN(test_any_one_trouble, place_setup, teardown)
{
    static const char *const fixtures[] = {
        "torch/y_big_endian.pt",    "real/orbax/composite/data",  "real/torch/old_1_13_zip/data",
        "real/jax/t5x_inline/data", "real/jax/zarr3_groups/data", "real/tf/v2_sharded3/data",
    };
    static const enum call calls[] = {READ, OPEN, OPENDIR, READDIR};
    const struct place *p = *state;
    char under[FOLDER_BYTES + 1];
    snprintf(under, sizeof(under), "%s/", p->root);
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
        shell_out("rm -rf %s/* %s*; cp -r $TESTS/fixtures/%s %s/", p->root, p->catalog, fixtures[i],
                  p->root);
        import(p, "", plain);
        char *wanted = catalogued(p);
        for (int k = 0; k < 4; k++) {
            bool more = true;
            for (int at = 1; more && at < 100; at += 1 + at / 4) {
                shell_out("rm -f %s*", p->catalog);
                arm(calls[k], "", EIO, at);
                fault.once = true;
                fault.under = under;
                import(p, "", plain);
                more = fault.calls >= at;
                disarm();
                char *found = catalogued(p);
                if (strcmp(found, wanted) != 0 && !strstr(found, "Input/output error"))
                    fail_msg("%s, call %d of kind %d", fixtures[i], at, k);
                free(found);
                import(p, "", plain);
                found = catalogued(p);
                if (strcmp(found, wanted) != 0)
                    fail_msg("%s, after call %d of kind %d", fixtures[i], at, k);
                free(found);
            }
        }
        free(wanted);
    }
}

/* The sum of the values of a tensor; -1: it cannot be read. */
static double sum_of(const struct place *p)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_open(p->catalog, DB_WRITE, &db, &err), OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT coalesce(sum(value), -1) FROM tensor, tensor_values(tensor.id)",
                           -1, &s, NULL),
        SQLITE_OK);
    double sum = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_double(s, 0) : -1;
    sqlite3_finalize(s);
    db_close(db);
    return sum;
}

/* The databases of the processes of an Orbax item are listed only in part: chunks that were not seen
 * are not taken for zeros. */
TEST_IN(test_processes_not_all_listed, place_setup, teardown)
{
    const struct place *p = *state;
    char item[FOLDER_BYTES + 8];
    snprintf(item, sizeof(item), "%s/item", p->root);
    shell_out("cp -r $TESTS/fixtures/orbax/n_unmerged_chunks_of_processes %s", item);
    bool more = true, lost = false;
    for (int at = 1; more; at++) {
        shell_out("rm -f %s*", p->catalog);
        arm(READDIR, "/item", EIO, at);
        fault.once = true;
        import(p, "", plain);
        more = fault.calls >= at;
        disarm();
        double sum = sum_of(p);
        lost |= sum < 0;
        if (sum != 15 && sum != -1)
            fail_msg("call %d: %f", at, sum);
        import(p, "", plain);
        assert_true(sum_of(p) == 15);
    }
    assert_true(lost);
}

/* Neighbours that could not be listed, or archives that could not be opened again, are findings; they do
 * not make facts and members seem to be gone, or good. */
TEST_IN(test_trouble_of_verify, place_setup, teardown)
{
    static const struct {
        enum call call;
        const char *where;
        int from;
    } cases[] = {{OPENDIR, "/sub", 1}, {OPEN, "/sub/a.npz", 3}};
    const struct place *p = *state;
    shell_out("mkdir %s/sub; cp $TESTS/fixtures/npz/y_lzma_unmarked.npz %s/sub/a.npz", p->root,
              p->root);
    put_safetensors(p, "sub/b.safetensors", OTHER, 24);
    put_file(p, "sub/config.json", "{\"a\":1}", 7);
    import(p, "", plain);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t ids[] = {1, 2};
        struct verify_options options = {.ids = ids, .count = 2, .threads = 1};
        sqlite3 *db = NULL;
        struct error err = {.offset = NO_OFFSET};
        size_t skipped;
        assert_int_equal(db_open(p->catalog, DB_WRITE, &db, &err), OK);
        assert_int_equal(db_open("", DB_SCRATCH, &options.scratch, &err), OK);
        arm(cases[i].call, cases[i].where, EACCES, cases[i].from);
        fault.once = true;
        verify_run(db, &options, &skipped, &err);
        disarm();
        db_close(options.scratch);
        db_close(db);
        assert_int_equal(err.status, OK);
        expect(p, "SELECT DISTINCT code FROM damage", "io");
    }
}

/* A directory is listed once, though a checkpoint below it lies between those in it. */
TEST_IN(test_verify_lists_once, place_setup, teardown)
{
    const struct place *p = *state;
    const int64_t ids[] = {1, 2, 3};
    struct verify_options options = {.ids = ids, .count = 3, .threads = 1};
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    size_t skipped;
    shell_out("mkdir -p %s/sub/a", p->root);
    put_safetensors(p, "sub/a.safetensors", OTHER, 24);
    put_safetensors(p, "sub/a/x.safetensors", OTHER, 24);
    put_safetensors(p, "sub/b.safetensors", OTHER, 24);
    put_file(p, "sub/config.json", "{\"a\":1}", 7);
    import(p, "", plain);
    assert_int_equal(db_open(p->catalog, DB_WRITE, &db, &err), OK);
    assert_int_equal(db_open("", DB_SCRATCH, &options.scratch, &err), OK);
    arm(OPENDIR, "/sub", EACCES, INT_MAX); /* counts, and fails none */
    verify_run(db, &options, &skipped, &err);
    assert_int_equal(fault.calls, 1);
    disarm();
    db_close(options.scratch);
    db_close(db);
    assert_int_equal(err.status, OK);
    expect(p, "SELECT count(*) FROM verification WHERE findings = 0", "3");
}

/* The progress that a watcher of a hashing saw. */
struct seen {
    uint64_t done, total;
    bool steady; /* it never went back, and the total stayed */
};

static void see(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct seen *seen = context;
    (void)doing;
    seen->steady &= done >= seen->done && done <= total && (!seen->total || seen->total == total);
    seen->done = done;
    seen->total = total;
}

/* Hash `count` checkpoints from `first` on in a fresh catalog; returns how often their files were read. */
static int reads_of_hashing(const struct place *p, int64_t first, size_t count, bool twins,
                            struct seen *seen)
{
    const int64_t ids[] = {first, first + 1, first + 2, first + 3, first + 4, first + 5};
    const struct ckptdb_content_options options = {
        .size = sizeof(options), .checkpoints = ids, .count = count, .threads = 1, .twins = twins};
    const struct ckptdb_watch watch = {.size = sizeof(watch), .context = seen, .progress = see};
    ckptdb *c = NULL;
    bool all;
    *seen = (struct seen){.steady = true};
    shell_out("rm -f %s*", p->catalog);
    import(p, "", plain);
    assert_int_equal(ckptdb_open(p->catalog, CKPTDB_CREATE, &c, NULL), CKPTDB_OK);
    ckptdb_watch(c, &watch);
    arm(READ, ".safetensors", EIO, INT_MAX); /* counts, and fails none */
    assert_int_equal(ckptdb_hash(c, &options, &all, NULL), CKPTDB_OK);
    disarm();
    ckptdb_close(c);
    return fault.calls;
}

/* A file with five names is read once, and all its names have its hashes; a copy is read. How far the work
 * has come counts all checkpoints. */
TEST_IN(test_links_are_hashed_once, place_setup, teardown)
{
    const struct place *p = *state;
    struct seen seen;
    put_safetensors(p, "1.safetensors", TWO, 24);
    shell_out("for i in 2 3 4 5; do ln %s/1.safetensors %s/$i.safetensors; done", p->root, p->root);
    put_safetensors(p, "6.safetensors", TWO, 24);
    const int once = reads_of_hashing(p, 1, 1, false, &seen);
    assert_true(once > 0);
    assert_int_equal(reads_of_hashing(p, 1, 5, false, &seen), once);
    expect(p, "SELECT count(hash), count(DISTINCT hash) FROM tensor WHERE checkpoint_id < 6",
           "10|2");
    expect(p, "SELECT count(hash), count(DISTINCT hash) FROM checkpoint", "5|1");
    assert_int_equal(reads_of_hashing(p, 1, 6, true, &seen), 2 * once);
    expect(p, "SELECT count(hash), count(DISTINCT hash) FROM tensor", "12|2");
    assert_int_equal(seen.total, 2 * 24); /* links are not read again */
    assert_int_equal(seen.done, seen.total);
    assert_true(seen.steady);
}

static struct {
    int calls, at;
} broken;

static int break_off(void *unused)
{
    (void)unused;
    return ++broken.calls == broken.at;
}

/* One statement of the import breaks off, whichever it is: the import says so, or it is as if nothing had
 * happened. What was known of unchanged files (hashes, too) stays known, and what is new does not take the
 * place of what is there. */
TEST_IN(test_a_statement_breaks_off, place_setup, teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "1.safetensors", TWO, 24);
    import(p, "", plain);
    query(p, "INSERT INTO _content_hashes VALUES (1, 'x');"
             "INSERT INTO _tensor_hashes SELECT id, 1 FROM tensor");
    shell_out("cp %s %s.kept", p->catalog, p->catalog);
    put_safetensors(p, "2.safetensors", OTHER, 24);
    broken.calls = 1;
    for (broken.at = 1; broken.calls >= broken.at && broken.at < 2000;
         broken.at += 1 + broken.at / 200) {
        sqlite3 *db = NULL;
        struct error err = {.offset = NO_OFFSET};
        struct import_report report = {0};
        const char *paths[] = {p->root};
        struct import_options options = plain;
        options.paths = paths;
        options.path_count = 1;
        shell_out("rm -f %s-* && cp %s.kept %s", p->catalog, p->catalog, p->catalog);
        assert_int_equal(db_open(p->catalog, DB_CREATE, &db, &err), OK);
        broken.calls = 0;
        sqlite3_progress_handler(db, 1, break_off, NULL);
        import_run(db, &options, &report, &err);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        walk_free(report.walk);
        db_close(db);
        import(p, "", plain);
        expect(p, "SELECT count(*), count(hash) FROM tensor", "3|2");
        expect(p,
               "SELECT group_concat(tensors) FROM (SELECT tensors FROM checkpoint ORDER BY path)",
               "2,1");
    }
}

RUN_TESTS(NULL, NULL)
