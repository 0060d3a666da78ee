/*
 * test_import.c - the walk, the threads and the writer together, on small files made here.
 */
#include "tests/unit/import_place.h"

#include <sys/stat.h>
#include <time.h>

#include "catalog/data/model/step.h"
#include "catalog/db/write/writer.h"
#include "catalog/sql/open.h"

/* --- cases ------------------------------------------------------------------------------ */

TEST_IN(test_layouts_are_shared, place_setup, place_teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "1.safetensors", TWO, 24);
    put_safetensors(p, "2.safetensors", TWO "  ", 24); /* other header, same layout */
    put_safetensors(p, "3.safetensors", OTHER, 24);
    expect_report(import(p, "", plain), "3 new 0 changed 0 same 0 failed 0 gone");
    expect(p, "SELECT count(*) FROM _layouts", "2");
    expect(p, "SELECT count(*), sum(nbytes), sum(tensors) FROM checkpoint", "3|72|5");
    expect(p,
           "SELECT id - (checkpoint_id << 24), name, dtype, shape, rank, offset FROM tensor"
           " WHERE path LIKE '%/2.safetensors' ORDER BY ord",
           "0|a.w|float32|[2,2]|2|126 1|a.b|float32|[2]|1|142");
    expect(p, "SELECT count(*) FROM tensor WHERE name = 'a.b'", "2");
    expect(p, "SELECT module, depth, tensors, nbytes FROM by_module WHERE checkpoint_id = 1",
           "a|1|2|24");
    expect(p, "SELECT dtype, tensors, parameters FROM by_dtype WHERE checkpoint_id = 3",
           "int64|1|3");
    expect(p, "SELECT count(*) FROM issue", "0");
    expect(p, "PRAGMA journal_mode", "delete");
    expect(p, "SELECT count(*) FROM sqlite_schema WHERE name = '_layout_tensors_by_name'", "1");
}

TEST_IN(test_again, place_setup, place_teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "1.safetensors", TWO, 24);
    put_safetensors(p, "2.safetensors", TWO, 24);
    put_file(p, "notes.txt", "hello", 5);
    import(p, "", plain);
    expect(p, "SELECT count(*) FROM _passed", "1");
    expect_report(import(p, "", plain), "0 new 0 changed 2 same 0 failed 0 gone");
    put_safetensors(p, "2.safetensors", OTHER, 24);
    expect_report(import(p, "", plain), "0 new 1 changed 1 same 0 failed 0 gone");
    expect(p, "SELECT id, tensors FROM checkpoint ORDER BY id", "1|2 2|1");
    put_safetensors(p, "1.safetensors", OTHER, 24);
    import(p, "", plain);
    /* Unused rows are gone. */
    expect(p, "SELECT group_concat(name) FROM _layout_tensors", "c");
    expect(p, "SELECT count(*) FROM _layout_tensors", "1");
}

TEST_IN(test_vanished_and_back, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct import_options prune = {.prune = true};
    put_safetensors(p, "1.safetensors", TWO, 24);
    put_safetensors(p, "2.safetensors", TWO, 24);
    import(p, "", plain);
    shell_out("mv %s/2.safetensors %s.kept", p->root, p->root);
    expect_report(import(p, "", plain), "0 new 0 changed 1 same 0 failed 1 gone");
    expect(p, "SELECT checkpoint_id, severity, code FROM issue", "2|warning|gone");
    shell_out("mv %s.kept %s/2.safetensors", p->root, p->root);
    expect_report(import(p, "", plain), "0 new 0 changed 2 same 0 failed 0 gone");
    expect(p, "SELECT count(*) FROM issue", "0");
    shell_out("rm %s/2.safetensors", p->root);
    import(p, "", prune);
    expect(p, "SELECT id FROM checkpoint", "1");
    expect(p, "SELECT count(*) FROM _files", "1");
}

/* A file that no format recognises any longer is damaged, not gone: it is not pruned. */
TEST_IN(test_overwritten, place_setup, place_teardown)
{
    static const char index[] = "{\"weight_map\":{\"a.w\":\"3.safetensors\","
                                "\"a.b\":\"3.safetensors\"}}";
    const struct place *p = *state;
    struct import_options prune = {.prune = true}, dry = {.dry_run = true, .prune = true};
    put_safetensors(p, "1.safetensors", TWO, 24);
    put_safetensors(p, "2.safetensors", TWO, 24);
    put_safetensors(p, "3.safetensors", TWO, 24);
    put_file(p, "m.safetensors.index.json", index, strlen(index));
    expect_report(import(p, "", plain), "3 new 0 changed 0 same 0 failed 0 gone");
    put_file(p, "1.safetensors", "garbage garbage", 15);
    put_file(p, "2.safetensors", "version https://git-lfs.github.com/spec/v1\noid", 46);
    expect_report(import(p, "", dry), "0 new 0 changed 1 same 2 failed 0 gone");
    for (int i = 0; i < 3; i++) {
        expect_report(import(p, "", i ? prune : plain), "0 new 0 changed 1 same 2 failed 0 gone");
        expect(p, "SELECT id, state FROM checkpoint ORDER BY id", "1|damaged 2|damaged 3|complete");
        expect(p, "SELECT checkpoint_id, severity, code FROM issue ORDER BY 1",
               "1|error|unrecognised 2|error|git-lfs-pointer");
    }
    put_safetensors(p, "1.safetensors", TWO, 24);
    shell_out("rm %s/2.safetensors", p->root);
    /* The parts of a set whose index is damaged are checkpoints of their own: the set is gone. */
    put_file(p, "m.safetensors.index.json", "garbage", 7);
    expect_report(import(p, "", prune), "1 new 1 changed 0 same 0 failed 2 gone");
    expect(p, "SELECT id, state FROM checkpoint ORDER BY id", "1|complete 4|complete");
}

TEST_IN(test_bad_files, place_setup, place_teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "cut.safetensors", TWO, 20);
    put_safetensors(p, "good.safetensors", TWO, 24);
    put_file(p, "page.safetensors", "<!DOCTYPE html><html>", 21);
    put_file(p, "pointer.bin", "version https://git-lfs.github.com/spec/v1\noid", 46);
    put_file(p, "empty.npy", "", 0);
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 1 failed 0 gone");
    expect(p,
           "SELECT replace(path, rtrim(path, replace(path, '/', '')), '') FROM issue"
           " WHERE severity = 'error' ORDER BY path",
           "cut.safetensors empty.npy page.safetensors pointer.bin");
    /* Asked again, nothing is opened and the issues are still there. */
    expect_report(import(p, "", plain), "0 new 0 changed 1 same 0 failed 0 gone");
    expect(p, "SELECT count(*) FROM issue", "4");
    /* Mended: the issue goes. */
    put_safetensors(p, "cut.safetensors", TWO, 24);
    expect_report(import(p, "", plain), "1 new 0 changed 1 same 0 failed 0 gone");
    shell_out("rm %s/empty.npy", p->root);
    import(p, "", plain);
    expect(p, "SELECT count(*) FROM issue", "2");
    /* Broken: what was catalogued stays, with an issue. */
    put_safetensors(p, "good.safetensors", TWO, 20);
    expect_report(import(p, "", plain), "0 new 0 changed 1 same 1 failed 0 gone");
    expect(p, "SELECT tensors FROM checkpoint WHERE path LIKE '%/good.safetensors'", "2");
    expect(p, "SELECT count(*) FROM issue WHERE checkpoint_id IS NOT NULL", "1");
}

TEST_IN(test_links, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct import_options follow = {.follow = true};
    shell_out("mkdir -p %s/hub/blobs %s/hub/snapshots/abc %s/loop", p->root, p->root, p->root);
    put_safetensors(p, "hub/blobs/0123", TWO, 24);
    shell_out("ln -s ../../blobs/0123 %s/hub/snapshots/abc/model.safetensors", p->root);
    shell_out("ln -s .. %s/loop/up; ln -s nowhere %s/loop/dangling.safetensors", p->root, p->root);
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    expect(p,
           "SELECT count(*) FROM checkpoint"
           " WHERE path LIKE '%/hub/snapshots/abc/model.safetensors'",
           "1");
    expect_report(import(p, "", follow), "0 new 0 changed 1 same 0 failed 0 gone");
}

/* A shard whose link leads nowhere is one issue, in a new catalog, an old one, and again. */
TEST_IN(test_dangling_shard, place_setup, place_teardown)
{
    static const char all[] =
        "SELECT group_concat(code) FROM issue WHERE path LIKE '%/model-2.safetensors'";
    const struct place *p = *state;
    shell_out("mkdir -p %s/set %s/other", p->root, p->root);
    put_safetensors(p, "other/one.safetensors", TWO, 24);
    import(p, "/other", plain);
    for (int again = 0; again < 4; again++) {
        static const char index[] = "{\"weight_map\":{\"b\":\"model-2.safetensors\"}}";
        put_file(p, "set/model.safetensors.index.json", index, strlen(index));
        shell_out("ln -sf nowhere %s/set/model-2.safetensors", p->root);
        if (again == 2)
            shell_out("rm -f '%s'*", p->catalog);
        import(p, "/set", plain);
        expect(p, all, "missing-shard");
    }
}

TEST_IN(test_named_file, place_setup, place_teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "1.safetensors", TWO, 24);
    put_safetensors(p, "2.safetensors", TWO, 24);
    expect_report(import(p, "/2.safetensors", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    put_file(p, "notes.txt", "hello", 5);
    import(p, "/notes.txt", plain);
    expect(p, "SELECT code FROM issue", "unrecognised");
}

TEST_IN(test_step_of_path, place_setup, place_teardown)
{
    static const struct {
        const char *path;
        int64_t step; /* -1: none */
        const char *run, *item, *row;
    } cases[] = {
        {"/r/checkpoint-500/model.safetensors", 500, "/r", "model", ""},
        {"/a/b/checkpoint_0042/x.npz", 42, "/a/b", "x", ""},
        {"/a/global_step7/x.npz", 7, "/a", "x", ""},
        {"/a/step-3/x.npz", 3, "/a", "x", ""},
        {"/a/ckpt9/x.npz", 9, "/a", "x", ""},
        {"/a/checkpoint/x.npz", -1, NULL, NULL, NULL},
        {"/a/checkpoint-/x.npz", -1, NULL, NULL, NULL},
        {"/a/checkpoint-5.tmp/x.npz", -1, NULL, NULL, NULL},
        {"/a/checkpoints-5/x.npz", -1, NULL, NULL, NULL},
        {"/a/step-1234567890123456789/x.npz", -1, NULL, NULL, NULL},
        {"/step-3", -1, NULL, NULL, NULL},
        {"/step-3/x.npz", -1, NULL, NULL, NULL}, /* its run would be the root */
        {"/a/step-3", 3, "/a", "", ""},
        {"/r/checkpoint-30/pytorch_model.bin.index.json", 30, "/r", "pytorch_model", ""},
        {"/r/checkpoint-30/pytorch_model_fsdp_0", 30, "/r", "pytorch_model_fsdp", ""},
        {"/r/checkpoint-30/rng_state_0.pth", 30, "/r", "rng_state_0", ""},
        {"/r/checkpoint-30/global_step30", 30, "/r", "deepspeed", ""},
        {"/r/checkpoints/checkpoint_0/model.safetensors", 0, "/r", "model", ""},
        {"/r/iter_0000100/mp_rank_00/model_optim_rng.pt", 100, "/r", "mp_rank_00", ""},
        {"/lt/version_0/checkpoints/epoch=1-step=100.ckpt", 100, "/lt/version_0", "", "step"},
        {"/lt/version_0/checkpoints/epoch=1-val_loss=0.25.ckpt", 1, "/lt/version_0", "", "epoch"},
        {"/lt/version_0/checkpoints/epoch=1-step=100-v1.ckpt", 100, "/lt/version_0", "", "step"},
        {"/lt/last.ckpt", -1, NULL, NULL, NULL},
        {"/w/epoch_3.pt", 3, "/w", "", "epoch"},
        {"/w/gen_epoch_3.pt", 3, "/w", "", "gen_epoch"},
        {"/w/step-00500.pt", 500, "/w", "", "step"},
        {"/w/model_0001000.pth", 1000, "/w", "", "model"},
        {"/w/ckpt-300.pt", 300, "/w", "", "ckpt"},
        {"/w/checkpoint7.pt", 7, "/w", "", "checkpoint"},
        {"/w/model-1.json", -1, NULL, NULL, NULL},
        {"/w/supermodel_7.pt", -1, NULL, NULL, NULL},
        {"/w/model-00001-of-00002.safetensors", -1, NULL, NULL, NULL},
        {"/w/consolidated.00.pth", -1, NULL, NULL, NULL},
        {"/w/ggml-model-q4_0.gguf", -1, NULL, NULL, NULL},
        {"/w/tiny.checkpoint_0", -1, NULL, NULL, NULL}, /* its format says it */
        {"/epoch_3.pt", -1, NULL, NULL, NULL},
        {"epoch_3", -1, NULL, NULL, NULL},
        {"/", -1, NULL, NULL, NULL},
    };
    const struct place *p = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step_place place;
        bool found = step_of_path(cases[i].path, &place);
        print_message("%s\n", cases[i].path);
        assert_int_equal(found ? place.step : -1, cases[i].step);
        if (!found)
            continue;
        assert_int_equal(place.run, strlen(cases[i].run));
        assert_int_equal(place.epoch,
                         strstr(cases[i].path, "epoch_3") || strstr(cases[i].path, "val_loss"));
        assert_int_equal(place.item.len, strlen(cases[i].item));
        assert_memory_equal(place.item.at ? place.item.at : "", cases[i].item, place.item.len);
        assert_int_equal(place.row.len, strlen(cases[i].row));
        assert_memory_equal(place.row.at ? place.row.at : "", cases[i].row, place.row.len);
    }
    shell_out("mkdir -p %s/run/checkpoint-20 %s/run/checkpoint-3", p->root, p->root);
    put_safetensors(p, "run/checkpoint-20/model.safetensors", TWO, 24);
    put_safetensors(p, "run/checkpoint-3/model.safetensors", TWO, 24);
    import(p, "", plain);
    expect(p, "SELECT step, run_path LIKE '%/run' FROM checkpoint ORDER BY step", "3|1 20|1");
}

TEST_IN(test_missing_path, place_setup, place_teardown)
{
    const struct place *p = *state;
    sqlite3 *db = NULL;
    struct error err = {.offset = NO_OFFSET};
    struct import_report report;
    const char *paths[] = {"/nowhere/at/all"};
    struct import_options options = {.paths = paths, .path_count = 1};
    assert_int_equal(db_open(p->catalog, DB_CREATE, &db, &err), OK);
    assert_int_equal(import_run(db, &options, &report, &err), ERR_MISSING);
    assert_null(report.walk);
    db_close(db);
}

static void put_index(const struct place *p, const char *map)
{
    put_file(p, "model.safetensors.index.json", map, strlen(map));
}

TEST_IN(test_sets, place_setup, place_teardown)
{
    const struct place *p = *state;
    put_safetensors(p, "model-00001-of-00002.safetensors", TWO, 24);
    put_safetensors(p, "model-00002-of-00002.safetensors", OTHER, 24);
    put_index(p, "{\"weight_map\":{\"a.w\":\"model-00001-of-00002.safetensors\","
                 "\"a.b\":\"model-00001-of-00002.safetensors\","
                 "\"c\":\"model-00002-of-00002.safetensors\"}}");
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    expect(p, "SELECT tensors, files FROM checkpoint", "3|3");
    expect_report(import(p, "", plain), "0 new 0 changed 1 same 0 failed 0 gone");
    expect_report(import(p, "/model-00002-of-00002.safetensors", plain),
                  "0 new 0 changed 1 same 0 failed 0 gone");
    /* A shard goes: the set changes. */
    shell_out("mv %s/model-00002-of-00002.safetensors %s.kept", p->root, p->root);
    expect_report(import(p, "", plain), "0 new 1 changed 0 same 0 failed 0 gone");
    expect(p, "SELECT count(*) > 0 FROM issue", "1");
    expect_report(import(p, "", plain), "0 new 0 changed 1 same 0 failed 0 gone");
    shell_out("mv %s.kept %s/model-00002-of-00002.safetensors", p->root, p->root);
    expect_report(import(p, "", plain), "0 new 1 changed 0 same 0 failed 0 gone");
    expect(p, "SELECT count(*) FROM issue", "0");
    /* The index goes: its shards are files of their own. */
    shell_out("rm %s/model.safetensors.index.json", p->root);
    expect_report(import(p, "", plain), "2 new 0 changed 0 same 0 failed 1 gone");
}

/* A new set beside a set does not change it. */
TEST_IN(test_sets_side_by_side, place_setup, place_teardown)
{
    static const char first[] = "{\"weight_map\":{\"c\":\"one-00001-of-00001.safetensors\"}}";
    static const char second[] = "{\"weight_map\":{\"c\":\"two-00001-of-00001.safetensors\"}}";
    const struct place *p = *state;
    put_safetensors(p, "one-00001-of-00001.safetensors", OTHER, 24);
    put_file(p, "one.safetensors.index.json", first, strlen(first));
    put_file(p, "one_temp", "", 0); /* a save in progress is not reported each time */
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    put_safetensors(p, "two-00001-of-00001.safetensors", OTHER, 24);
    put_file(p, "two.safetensors.index.json", second, strlen(second));
    expect_report(import(p, "", plain), "1 new 0 changed 1 same 0 failed 0 gone");
    expect_report(import(p, "", plain), "0 new 0 changed 2 same 0 failed 0 gone");
}

/* Every row of the storage tables except the time of the import. */
static char *dump(const struct place *p, unsigned jobs)
{
    struct import_options options = {.jobs = jobs};
    shell_out("rm -f '%s'*", p->catalog);
    import(p, "", options);
    char name[128], command[512];
    snprintf(name, sizeof(name), "%s.dump%u", p->root, jobs);
    snprintf(
        command, sizeof(command),
        "sqlite3 '%s' 'UPDATE _checkpoints SET imported = 0; DELETE FROM _page_sums' .dump > '%s'",
        p->catalog, name);
    assert_int_equal(system(command), 0);
    return strdup(name);
}

TEST_IN(test_threads_do_not_matter, place_setup, place_teardown)
{
    const struct place *p = *state;
    if (system("command -v sqlite3 >/dev/null") != 0)
        skip();
    for (int i = 0; i < 400; i++) {
        char name[64], header[256];
        shell_out("mkdir -p %s/d%d", p->root, i % 7);
        snprintf(name, sizeof(name), "d%d/m%d.safetensors", i % 7, i);
        snprintf(header, sizeof(header),
                 "{\"x.%d.w\":{\"dtype\":\"F32\",\"shape\":[2,%d],\"data_offsets\":[0,%d]}}",
                 i % 11, i % 5, 8 * (i % 5));
        put_safetensors(p, name, header, (size_t)(8 * (i % 5)) + (i % 97 == 0));
    }
    char *one = dump(p, 1), *many = dump(p, 16);
    shell_out("cmp '%s' '%s'; rc=$?; rm '%s' '%s'; exit $rc", one, many, one, many);
    free(one);
    free(many);
}

/* Entries beyond the list's size are counted, not lost. */
TEST_IN(test_too_many_issues, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct text index = {0};
    text_adds(&index, "{\"weight_map\":{");
    for (int i = 0; i < 1100; i++)
        text_addf(&index, "%s\"t%d\":\"gone-%d.safetensors\"", i ? "," : "", i, i);
    text_adds(&index, "}}");
    put_file(p, "model.safetensors.index.json", index.at, index.len);
    text_release(&index);
    import(p, "", plain);
    expect(p, "SELECT code, count(*) FROM issue GROUP BY code ORDER BY code",
           "missing-shard|1000 more-issues|1");
    expect(p, "SELECT message FROM issue WHERE code = 'more-issues'",
           "100 more issues of this checkpoint are not listed");
}

/* Between two commits of one import comes another one, of names that the first also has. */
static void import_between(void *context, const char *doing, uint64_t done, uint64_t total)
{
    const struct place *p = context;
    if (strcmp(doing, "indexing") != 0 || total != 3)
        return;
    if (done == 1) /* the next one is old enough to be committed */
        nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 100000000}, NULL);
    if (done == 2)
        import(p, "/b", plain);
}

TEST_IN(test_two_writers, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct import_options first = plain;
    shell_out("mkdir %s/a %s/b", p->root, p->root);
    put_safetensors(p, "a/1.safetensors", OTHER, 24);
    put_safetensors(p, "a/2.safetensors", OTHER " ", 24);
    put_safetensors(p, "a/3.safetensors", TWO, 24);
    put_safetensors(p, "b/1.safetensors", TWO " ", 24);
    put_safetensors(p, "b/2.safetensors", OTHER, 24);
    first.progress = import_between;
    first.context = *state;
    import(p, "/a", first);
    expect(p, "SELECT count(*), count(DISTINCT path), sum(tensors) FROM checkpoint", "5|5|7");
    expect(p, "SELECT count(*) FROM _files", "5");
    expect(
        p,
        "SELECT group_concat(name) FROM (SELECT DISTINCT name FROM _layout_tensors ORDER BY name)",
        "a.b,a.w,c");
    expect(p, "SELECT count(*) FROM _layouts", "2");
    expect(p, "SELECT count(*) FROM sqlite_schema WHERE name = '_layout_tensors_by_name'", "1");
    expect(p, "PRAGMA journal_mode", "delete");
}

/* --- the writer over several commits ------------------------------------------------------- */

static void put_batch(struct writer *w, const char *path, const char *name)
{
    struct error err = {.offset = NO_OFFSET};
    const struct batch_kind kind = {.dtype = "int8", .shape_text = "[]"};
    struct batch_tensor tensor = {.name = name, .name_len = (uint32_t)strlen(name), .kind = &kind};
    struct batch_layout layout = {.tensors = &tensor, .tensor_count = 1};
    snprintf((char *)layout.logical.at, sizeof(layout.logical.at), "%.15s", path);
    struct batch b = {.path = path, .format = "x", .layout = &layout};
    assert_int_equal(OK, writer_put(w, &b, &err));
}

static void expect_said(sqlite3 *db, const char *sql, const char *wanted)
{
    sqlite3_stmt *s = NULL;
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &s, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(s));
    assert_string_equal((const char *)sqlite3_column_text(s, 0), wanted);
    sqlite3_finalize(s);
}

/* After two seconds the first rows are committed and the journal changes its way: the indexes
 * still wait for the end. */
TEST_IN(test_new_catalog_over_commits, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    struct writer *w = NULL;
    const char *indexed =
        "SELECT count(*) FROM sqlite_schema WHERE name = '_layout_tensors_by_name'";
    assert_int_equal(OK, db_open(p->catalog, DB_CREATE, &db, &err));
    assert_int_equal(OK, writer_open(db, NULL, NULL, NULL, &w, &err));
    put_batch(w, "/1", "a");
    nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    put_batch(w, "/2", "b");
    expect_said(db, "PRAGMA journal_mode", "wal");
    put_batch(w, "/3", "a");
    put_batch(w, "/4", "c");
    expect_said(db, indexed, "0");
    assert_int_equal(OK, writer_close(w, &err));
    expect_said(db, indexed, "1");
    expect_said(
        db,
        "SELECT group_concat(name) FROM (SELECT +name AS name FROM _layout_tensors ORDER BY id)",
        "a,b,a,c");
    expect_said(db, "SELECT count(*) FROM tensor WHERE name = 'a'", "2");
    expect_said(db, "PRAGMA integrity_check", "ok");
    db_close(db);
}

/* An import of the root replaces all issues of the root and everything below it. */
TEST_IN(test_root_is_cleared, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    struct writer *w = NULL;
    assert_int_equal(OK, db_open(p->catalog, DB_CREATE, &db, &err));
    assert_int_equal(OK, db_exec(db,
                                 "INSERT INTO _issues (path, severity, code, message)"
                                 " SELECT value, 'warning', 'gone', '' FROM json_each("
                                 "'[\"/\", \"/a\", \"/a/b\", \"memory:/a\"]')",
                                 &err));
    assert_int_equal(OK, writer_open(db, NULL, NULL, NULL, &w, &err));
    writer_clear_walked(w, "/", &err);
    assert_int_equal(OK, err.status);
    assert_int_equal(OK, writer_close(w, &err));
    expect_said(db, "SELECT group_concat(path) FROM _issues", "memory:/a");
    db_close(db);
}

/* Modules have the length, in characters, that they give; kinds are told apart: names of any length
 * before, in and after characters of several bytes, of three shapes and two dtypes. */
TEST_IN(test_modules_and_kinds, place_setup, place_teardown)
{
    const struct place *p = *state;
    struct text header = {0};
    unsigned end = 0;
    text_addc(&header, '{');
    for (unsigned i = 0; i < 60; i++) {
        const unsigned shape = i % 3, size = (i % 2 ? 4 : 2) * (shape + 1);
        text_addf(&header, "%s\"%.*s%s%.*s.m%u.n%u\":{\"dtype\":\"%s\",", i ? "," : "", i / 3,
                  "abcdefghijklmnopqrstu", i % 2 ? "é" : "日", i % 7, "1234567", i % 4, i,
                  i % 2 ? "F32" : "F16");
        text_addf(&header, "\"shape\":[1,%u],\"data_offsets\":[%u,%u]}", shape + 1, end,
                  end + size);
        end += size;
    }
    text_addc(&header, '}');
    put_safetensors(p, "m.safetensors", text_str(&header), end);
    text_release(&header);
    expect_report(import(p, "", plain), "1 new 0 changed 0 same 0 failed 0 gone");
    expect(p,
           "SELECT count(*), sum(m.tensors <> (SELECT count(*) FROM tensor t"
           " WHERE substr(t.name, 1, length(m.module) + 1) = m.module || '.')) FROM by_module m",
           "120|0");
    expect(p, "SELECT sum(tensors), sum(nbytes) FROM by_folded_module WHERE depth = 1", "60|360");
    expect(p,
           "SELECT dtype, shape, count(*), count(DISTINCT nbytes) FROM tensor"
           " GROUP BY dtype, shape",
           "float16|[1,1]|10|1 float16|[1,2]|10|1 float16|[1,3]|10|1"
           " float32|[1,1]|10|1 float32|[1,2]|10|1 float32|[1,3]|10|1");
}

RUN_TESTS(NULL, NULL)
