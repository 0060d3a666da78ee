/*
 * The public header, called as another program calls it: nothing else of ours is included.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "catalog/ckptdb.h"
#include "tests/unit/unit.h"

/* A safetensors file of float32 "w" [3,4] with 0 to 11, and "n", three int32 that are 1, 2, 70000. */
static void write_model(const char *name)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[0,48]},"
                               "\"n\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[48,60]}}";
    const int32_t n[] = {1, 2, 70000};
    struct text model = {0};
    float w[12];
    char path[128];
    for (int i = 0; i < 12; i++)
        w[i] = (float)i;
    snprintf(path, sizeof(path), "%s/%s", own_folder, name);
    put_u64(&model, sizeof(head) - 1);
    text_adds(&model, head);
    text_add(&model, w, sizeof(w));
    text_add(&model, n, sizeof(n));
    write_file(path, model.at, model.len);
    text_release(&model);
}

/* A catalog in memory of own_folder, in which there are this many checkpoints. */
static ckptdb *open_imported(size_t count)
{
    const char *paths[] = {own_folder};
    struct ckptdb_import_options o = {.size = sizeof(o), .paths = paths, .path_count = 1};
    struct ckptdb_import_report report = {.size = sizeof(report)};
    struct ckptdb_error err;
    ckptdb *db;
    assert_int_equal(ckptdb_open(NULL, CKPTDB_READ, &db, &err), CKPTDB_OK);
    assert_int_equal(ckptdb_import(db, &o, &report, &err), CKPTDB_OK);
    assert_int_equal(report.added, count);
    assert_int_equal(report.issues, 0);
    return db;
}

/* A catalog in memory with these files in it. */
static ckptdb *open_with(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_model(names[i]);
    return open_imported(count);
}

static ckptdb *open_one(int64_t *model)
{
    static const char *const names[] = {"model.safetensors"};
    ckptdb *db = open_with(names, 1);
    assert_int_equal(ckptdb_find(db, "model.safetensors", model, 1, NULL, NULL), CKPTDB_OK);
    return db;
}

static ckptdb_tensor *open_tensor(ckptdb *db, int64_t model, const char *name)
{
    int64_t id;
    ckptdb_tensor *t;
    assert_int_equal(ckptdb_find_tensor(db, model, name, &id, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_tensor_open(db, id, &t, NULL), CKPTDB_OK);
    return t;
}

TEST_IN(test_opening, enter_folder, leave_folder)
{
    struct ckptdb_error err;
    char path[128], text[300];
    ckptdb *db;
    snprintf(path, sizeof(path), "%s/none.db", own_folder);
    assert_int_equal(ckptdb_open(path, CKPTDB_READ, &db, &err), CKPTDB_MISSING);
    assert_null(db);
    assert_string_equal(err.source, path);
    assert_non_null(strstr(ckptdb_error_text(&err, text, sizeof(text)), path));
    assert_int_equal(ckptdb_open(path, (enum ckptdb_mode)99, &db, &err), CKPTDB_ARGUMENT);
    write_model("a.safetensors");
    snprintf(path, sizeof(path), "%s/a.safetensors", own_folder);
    assert_int_equal(ckptdb_open(path, CKPTDB_WRITE, &db, NULL), CKPTDB_ARGUMENT);
    assert_int_equal(ckptdb_open("", CKPTDB_CREATE, &db, NULL), CKPTDB_ARGUMENT);
    assert_null(db);
    ckptdb_close(NULL);
    assert_string_equal(ckptdb_version(), "0.1.0");
}

TEST_IN(test_finding, enter_folder, leave_folder)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    struct ckptdb_error err;
    ckptdb *db = open_with(names, 3);
    int64_t ids[2] = {0}, one;
    size_t count;
    assert_int_equal(ckptdb_find(db, "b.safetensors", ids, 2, &count, &err), CKPTDB_OK);
    assert_int_equal(count, 1);
    one = ids[0];
    assert_int_equal(ckptdb_find(db, strrchr(own_folder, '/') + 1, ids, 2, &count, &err),
                     CKPTDB_ARGUMENT);
    assert_int_equal(count, 3); /* and room for two */
    assert_int_equal(ckptdb_find(db, "d.safetensors", ids, 2, &count, &err), CKPTDB_MISSING);
    assert_int_equal(count, 0);
    assert_int_equal(ckptdb_find(db, "", ids, 2, &count, &err), CKPTDB_MISSING);
    assert_int_equal(ckptdb_find_tensor(db, one, "none", ids, &err), CKPTDB_MISSING);
    assert_int_equal(ckptdb_tensor_open(db, INT64_MAX, &(ckptdb_tensor *){0}, &err),
                     CKPTDB_MISSING);
    assert_int_equal(ckptdb_forget(db, &one, 1, &err), CKPTDB_OK);
    assert_int_equal(ckptdb_find(db, "b.safetensors", ids, 2, &count, &err), CKPTDB_MISSING);
    ckptdb_close(db);
}

static bool count_first(void *context, const struct ckptdb_tensor_info *t)
{
    ++*(int *)context;
    assert_string_equal(t->name, "w");
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->shape[0] * 100 + t->shape[1], 304);
    assert_int_equal(t->nbytes, 48);
    return false;
}

TEST_IN(test_listing, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    int seen = 0;
    assert_int_equal(ckptdb_tensors(db, model, count_first, &seen, NULL), CKPTDB_OK);
    assert_int_equal(seen, 1);
    ckptdb_close(db);
}

static bool see_unknown(void *context, const struct ckptdb_tensor_info *t)
{
    ++*(int *)context;
    assert_string_equal(t->name, "x");
    assert_string_equal(t->dtype, "?");
    assert_int_equal(t->rank, 0);
    assert_null(t->shape);
    return true;
}

/* A checkpoint of names whose tensor has neither a dtype nor a shape. */
TEST_IN(test_unknown, enter_folder, leave_folder)
{
    static const char names[] = "{\"ckptdb\": \"names\", \"tensors\": {\"x\": {}}}";
    char path[128];
    int64_t found;
    int seen = 0;
    snprintf(path, sizeof(path), "%s/names.json", own_folder);
    write_file(path, names, sizeof(names) - 1);
    ckptdb *db = open_imported(1);
    assert_int_equal(ckptdb_find(db, "names.json", &found, 1, NULL, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_tensors(db, found, see_unknown, &seen, NULL), CKPTDB_OK);
    assert_int_equal(seen, 1);
    ckptdb_tensor *t = open_tensor(db, found, "x");
    assert_string_equal(ckptdb_tensor_info(t)->dtype, "?");
    ckptdb_tensor_close(t);
    ckptdb_close(db);
}

/* Slices that a caller computed, and what they may not do. */
TEST_IN(test_slices, enter_folder, leave_folder)
{
    static const struct {
        struct ckptdb_slice row, column;
        enum ckptdb_status status;
        double sum;
    } cases[] = {
        {{0, 3, 1}, {0, 4, 1}, CKPTDB_OK, 66},
        {{2, 3, -1}, {3, 2, -3}, CKPTDB_OK, 33},
        {{2, 1, 1}, {3, 1, 9}, CKPTDB_OK, 11},
        {{0, 0, 1}, {0, 4, 1}, CKPTDB_OK, 0},
        {{0, 4, 1}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{3, 1, 1}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{0, 2, -1}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{0, 2, 3}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{0, 2, 0}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{0, 2, INT64_MIN}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{0, UINT64_MAX, 1}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
        {{UINT64_MAX, 1, 1}, {0, 4, 1}, CKPTDB_ARGUMENT, 0},
    };
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t = open_tensor(db, model, "w");
    ckptdb_close(db); /* an open tensor does not need it */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ckptdb_slice part[] = {cases[i].row, cases[i].column};
        double values[12], sum = 0;
        uint64_t bytes;
        assert_int_equal(ckptdb_read_size(t, part, "float64", &bytes, NULL), cases[i].status);
        assert_true(bytes <= sizeof(values));
        assert_int_equal(ckptdb_read(t, part, "float64", values, bytes, NULL), cases[i].status);
        for (size_t k = 0; k < bytes / sizeof(*values); k++)
            sum += values[k];
        assert_true(sum == cases[i].sum);
    }
    ckptdb_tensor_close(t);
}

TEST_IN(test_reading, enter_folder, leave_folder)
{
    struct ckptdb_slice part[2];
    bool drop[2];
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *w = open_tensor(db, model, "w"), *n = open_tensor(db, model, "n");
    struct ckptdb_error err;
    float f[12];
    uint8_t bytes[3];
    assert_int_equal(ckptdb_slice_parse(w, "-1, ::2", part, drop, &err), CKPTDB_OK);
    assert_true(drop[0] && !drop[1] && part[1].count == 2);
    assert_int_equal(ckptdb_read(w, part, NULL, f, 8, &err), CKPTDB_OK);
    assert_true(f[0] == 8 && f[1] == 10);
    assert_int_equal(ckptdb_slice_parse(w, "9", part, NULL, &err), CKPTDB_ARGUMENT);
    assert_int_equal(ckptdb_read(w, NULL, NULL, f, sizeof(f) - 1, &err), CKPTDB_ARGUMENT);
    assert_int_equal(ckptdb_read(w, NULL, "flaot32", f, sizeof(f), &err), CKPTDB_ARGUMENT);
    assert_int_equal(ckptdb_read(n, NULL, "uint8", bytes, 3, &err), CKPTDB_VALUE);
    assert_non_null(strstr(err.message, "n: "));
    assert_int_equal(ckptdb_strings(n, NULL, NULL, &err), CKPTDB_ARGUMENT);
    ckptdb_tensor_close(w);
    ckptdb_tensor_close(n);
    ckptdb_close(db);
}

TEST_IN(test_stream, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t = open_tensor(db, model, "n");
    ckptdb_stream *s;
    const void *block;
    size_t len;
    double sum = 0;
    assert_int_equal(ckptdb_stream_open(t, NULL, "float64", &s, NULL), CKPTDB_OK);
    while (ckptdb_stream_next(s, &block, &len, NULL) == CKPTDB_OK && len)
        for (size_t i = 0; i < len / sizeof(double); i++)
            sum += ((const double *)block)[i];
    assert_true(sum == 70003);
    ckptdb_stream_close(s);
    ckptdb_tensor_close(t);
    ckptdb_close(db);
}

/* A file that is not the one that was indexed. */
/* A file that is written to, in its place, while it is read: what was read may be of both. */
TEST_IN(test_changed_meanwhile, enter_folder, leave_folder)
{
    static const struct ckptdb_slice part[] = {{0, 2, 1}, {0, 4, 1}};
    const struct ckptdb_slice *const slices[] = {NULL, part};
    for (int i = 0; i < 2; i++) {
        int64_t model;
        ckptdb *db = open_one(&model);
        ckptdb_tensor *t = open_tensor(db, model, "w");
        ckptdb_stream *s;
        ckptdb_cells *cells;
        sqlite3_stmt *values = NULL;
        const void *block;
        const char *text;
        size_t len;
        char path[128];
        assert_int_equal(ckptdb_stream_open(t, slices[i], "float64", &s, NULL), CKPTDB_OK);
        assert_int_equal(ckptdb_cells_open(t, slices[i], NULL, 1, &cells, NULL), CKPTDB_OK);
        assert_int_equal(ckptdb_stream_next(s, &block, &len, NULL), CKPTDB_OK);
        assert_int_equal(ckptdb_cell(cells, 0, CKPTDB_AS_TEXT, &text, &len, NULL), CKPTDB_OK);
        assert_int_equal(sqlite3_prepare_v2(ckptdb_sqlite(db),
                                            "SELECT value FROM tensor_values(1 << 24, 0, 2)", -1,
                                            &values, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(values), SQLITE_ROW);
        snprintf(path, sizeof(path), "%s/model.safetensors", own_folder);
        assert_int_equal(
            utimensat(AT_FDCWD, path, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0), 0);
        assert_int_equal(ckptdb_stream_next(s, &block, &len, NULL), CKPTDB_CHANGED);
        assert_int_equal(ckptdb_cell(cells, 5, CKPTDB_AS_TEXT, &text, &len, NULL), CKPTDB_CHANGED);
        assert_int_equal(sqlite3_step(values), SQLITE_ROW); /* of the same block */
        assert_int_equal(sqlite3_step(values), SQLITE_ERROR);
        sqlite3_finalize(values);
        ckptdb_cells_close(cells);
        ckptdb_stream_close(s);
        ckptdb_tensor_close(t);
        ckptdb_close(db);
    }
}

TEST_IN(test_changed, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t = open_tensor(db, model, "w");
    char path[128];
    float f[12];
    snprintf(path, sizeof(path), "%s/model.safetensors", own_folder);
    append_file(path, "", 1);
    assert_int_equal(ckptdb_read(t, NULL, NULL, f, sizeof(f), NULL), CKPTDB_CHANGED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ckptdb_read(t, NULL, NULL, f, sizeof(f), NULL), CKPTDB_CHANGED);
    ckptdb_tensor_close(t);
    ckptdb_close(db);
}

static void *read_often(void *tensor)
{
    float f[12];
    intptr_t bad = 0;
    for (int i = 0; i < 200; i++)
        bad += ckptdb_read(tensor, NULL, NULL, f, sizeof(f), NULL) != CKPTDB_OK || f[11] != 11;
    return (void *)bad;
}

TEST_IN(test_threads, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        t[i] = open_tensor(db, model, "w");
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, t[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
        ckptdb_tensor_close(t[i]);
    }
    ckptdb_close(db);
}

/* --- maps ---------------------------------------------------------------------------------- */

static const char map_text[] =
    "{\"dialect\": \"t5x-translator\", \"rules\": [[\"w\", \"model/w\"]]}";

static bool see_mapped(void *context, const struct ckptdb_mapped *m)
{
    char *seen = context;
    snprintf(seen + strlen(seen), 200 - strlen(seen), "%s>%s:%s ", m->old_name,
             m->new_name ? m->new_name : "", m->status);
    return true;
}

TEST_IN(test_maps, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    struct ckptdb_error err;
    ckptdb_tensor *t;
    char seen[200] = "", *text;
    size_t len;
    float f[12];
    assert_int_equal(ckptdb_map_load(db, "m", map_text, sizeof(map_text) - 1, NULL, &err),
                     CKPTDB_OK);
    struct ckptdb_map_options o = {
        .size = sizeof(o), .map = "m", .checkpoint = model, .each = see_mapped, .context = seen};
    assert_int_equal(ckptdb_map(db, &o, &err), CKPTDB_OK);
    assert_string_equal(seen, "w>model/w:ok n>:unmatched ");
    o.target = model;
    assert_int_equal(ckptdb_map(db, &o, &err), CKPTDB_ARGUMENT);
    o.map = "none";
    assert_int_equal(ckptdb_map(db, &o, &err), CKPTDB_MISSING);
    assert_int_equal(ckptdb_tensor_open_mapped(db, "m", model, "model/w", &t, &err), CKPTDB_OK);
    assert_int_equal(ckptdb_read(t, NULL, NULL, f, sizeof(f), &err), CKPTDB_OK);
    assert_true(f[11] == 11);
    ckptdb_tensor_close(t);
    assert_int_equal(ckptdb_tensor_open_mapped(db, "m", model, "w", &t, &err), CKPTDB_MISSING);
    assert_null(t);
    const char *renames = "[[\"^model/\", \"\"], [\"w\", \"W\"]]";
    struct ckptdb_naming n = {sizeof(n), model, "m", renames};
    assert_int_equal(ckptdb_tensor_open_renamed(db, &n, "W", &t, &err), CKPTDB_OK);
    assert_string_equal(ckptdb_tensor_info(t)->name, "w");
    ckptdb_tensor_close(t);
    assert_int_equal(ckptdb_tensor_open_renamed(db, &n, "w", &t, &err), CKPTDB_MISSING);
    n.map = n.renames = NULL;
    assert_int_equal(ckptdb_tensor_open_renamed(db, &n, "w", &t, &err), CKPTDB_OK);
    ckptdb_tensor_close(t);
    n.renames = "[[\".\", \"x\"]]";
    assert_int_equal(ckptdb_tensor_open_renamed(db, &n, "x", &t, &err), CKPTDB_ARGUMENT);
    assert_null(t);
    assert_int_equal(ckptdb_map_write(db, "m", "json", &text, &len, &err), CKPTDB_OK);
    assert_non_null(strstr(text, "model/w"));
    ckptdb_free(text);
    assert_int_equal(ckptdb_map_write(db, "m", "gin", &text, &len, &err), CKPTDB_UNSUPPORTED);
    assert_int_equal(ckptdb_map_write(db, "m", "nix", &text, &len, &err), CKPTDB_UNSUPPORTED);
    assert_int_equal(ckptdb_map_load(db, "x", "a\0b", 3, NULL, &err), CKPTDB_ARGUMENT);
    ckptdb_close(db);
}

/* --- watching, exporting ------------------------------------------------------------------- */

struct heard {
    char lines[500];
    bool stop;
    int progress;
};

static void hear(void *context, const char *line)
{
    struct heard *h = context;
    snprintf(h->lines + strlen(h->lines), sizeof(h->lines) - strlen(h->lines), "%s\n", line);
}

static bool stop_it(void *context)
{
    return ((struct heard *)context)->stop;
}

static void progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    (void)doing;
    (void)done;
    (void)total;
    ((struct heard *)context)->progress++;
}

static void see_plan(void *context, struct sqlite3_stmt *rows)
{
    while (sqlite3_step(rows) == SQLITE_ROW)
        ++*(int *)context;
    sqlite3_finalize(rows);
}

TEST_IN(test_exporting, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    struct ckptdb_error err;
    struct heard heard = {.stop = false};
    const struct ckptdb_watch watch = {.size = sizeof(watch),
                                       .context = &heard,
                                       .stop = stop_it,
                                       .progress = progress,
                                       .say = hear};
    int planned = 0;
    struct ckptdb_export_options o = {.size = sizeof(o),
                                      .checkpoint = model,
                                      .names = "w",
                                      .dry_run = true,
                                      .planned = see_plan,
                                      .context = &planned};
    char path[128];
    snprintf(path, sizeof(path), "%s/out.npy", own_folder);
    ckptdb_watch(db, &watch);
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_OK);
    assert_int_equal(planned, 1);
    assert_int_equal(access(path, F_OK), -1);
    o.dry_run = false;
    heard.stop = true;
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_INTERRUPTED);
    heard.stop = false;
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_ARGUMENT); /* it is there */
    o.force = true;
    o.names = NULL; /* two tensors are too many for a .npy */
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_UNSUPPORTED);
    assert_string_equal(err.message, "nothing was written");
    assert_non_null(strstr(heard.lines, "npy"));
    ckptdb_watch(db, NULL); /* nobody was told why */
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_UNSUPPORTED);
    assert_string_equal(err.message, "nothing was written: 2 tensors are selected; a file "
                                     "of format npy holds 1: use --names, or another format");
    struct ckptdb_exported done = {0};
    o.done = &done;
    o.renames = "[[\"^\", \"a.\"]]";
    snprintf(path, sizeof(path), "%s/done.npz", own_folder);
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_OK);
    assert_string_equal(done.format, "npz");
    assert_int_equal(done.tensors, 2);
    assert_int_equal(done.files, 1);
    o.force = true;
    o.renames = "[[\"(\", \"a.\"]]";
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_ARGUMENT);
    o.size = offsetof(struct ckptdb_export_options, names); /* an older program's */
    snprintf(path, sizeof(path), "%s/out.npz", own_folder);
    assert_int_equal(ckptdb_export(db, path, &o, &err), CKPTDB_OK);
    ckptdb_close(db);
}

TEST_IN(test_stopping, enter_folder, leave_folder)
{
    const char *paths[] = {own_folder};
    struct ckptdb_import_options o = {.size = sizeof(o), .paths = paths, .path_count = 1};
    struct heard heard = {.stop = true};
    const struct ckptdb_watch watch = {.size = sizeof(watch), .context = &heard, .stop = stop_it};
    ckptdb *db;
    write_model("model.safetensors");
    assert_int_equal(ckptdb_open(NULL, CKPTDB_CREATE, &db, NULL), CKPTDB_OK);
    ckptdb_watch(db, &watch);
    assert_int_equal(ckptdb_import(db, &o, NULL, NULL), CKPTDB_INTERRUPTED);
    assert_int_equal(sqlite3_exec(ckptdb_sqlite(db),
                                  "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL"
                                  " SELECT i + 1 FROM n) SELECT sum(i) FROM n",
                                  NULL, NULL, NULL),
                     SQLITE_INTERRUPT);
    ckptdb_watch(db, NULL);
    assert_int_equal(ckptdb_import(db, &o, NULL, NULL), CKPTDB_OK);
    ckptdb_close(db);
}

static bool find_npz(void *context, const struct ckptdb_format *f)
{
    bool *found = context;
    *found = strcmp(f->name, "npz") == 0 && f->reads && f->writes;
    return !*found;
}

/* --set of `map run`, and which map has such a setting. */
TEST_IN(test_settings, enter_folder, leave_folder)
{
    static const struct {
        const char *map, *key, *value;
        enum ckptdb_status status;
    } cases[] = {
        {"llama_hf_to_gguf", "num_attention_heads", "4", CKPTDB_OK},
        {NULL, "num_attention_heads", "4", CKPTDB_OK},
        {"llama_hf_to_gguf", "num_attention_heads", "four", CKPTDB_ARGUMENT},
        {"llama_hf_to_gguf", "num_attention_heads", "", CKPTDB_ARGUMENT},
        {"llama_hf_to_gguf", "heads", "4", CKPTDB_ARGUMENT},
        {"t5_to_t5x", "num_attention_heads", "4", CKPTDB_ARGUMENT},
        {"none", "num_attention_heads", "4", CKPTDB_ARGUMENT},
    };
    int64_t model;
    ckptdb *db = open_one(&model);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(ckptdb_map_set(db, cases[i].map, cases[i].key, cases[i].value, NULL),
                         cases[i].status);
    ckptdb_map_unset(db);
    assert_int_equal(ckptdb_map_current(db, "llama_hf_to_gguf", model, NULL), CKPTDB_OK);
    ckptdb_close(db);
}

TEST(test_words)
{
    const char *near;
    assert_true(ckptdb_dtype("bfloat16", &near));
    assert_true(ckptdb_dtype("fp16", &near));
    assert_string_equal(near, "float16");
    assert_false(ckptdb_dtype("float17", &near));
    assert_string_equal(near, "float16");
    assert_false(ckptdb_dtype("", NULL));
    assert_int_equal(ckptdb_dialect("t5x-translator"), CKPTDB_TRANSLATES);
    assert_int_equal(ckptdb_dialect("t5x-assignment"), CKPTDB_ASSIGNS);
    assert_int_equal(ckptdb_dialect("transformers"), CKPTDB_DIALECT_UNKNOWN);
}

/* Elements as text, a file that is not there until it is finished, a header of NumPy's. */
TEST_IN(test_cells, enter_folder, leave_folder)
{
    const struct ckptdb_slice part[] = {{2, 2, -1}, {1, 1, 1}};
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t = open_tensor(db, model, "w");
    ckptdb_cells *cells;
    const char *text;
    size_t len;
    assert_int_equal(ckptdb_cells_open(t, part, "int8", 1, &cells, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_cells_count(cells), 2);
    assert_int_equal(ckptdb_cell(cells, 1, CKPTDB_AS_JSON, &text, &len, NULL), CKPTDB_OK);
    assert_string_equal(text, "5");
    assert_int_equal(ckptdb_cell(cells, 0, CKPTDB_AS_TEXT, &text, &len, NULL), CKPTDB_OK);
    assert_string_equal(text, "9");
    assert_int_equal(ckptdb_cell(cells, 2, CKPTDB_AS_TEXT, &text, &len, NULL), CKPTDB_ARGUMENT);
    ckptdb_cells_close(cells);
    assert_int_equal(ckptdb_cells_open(t, NULL, "int99", 1, &cells, NULL), CKPTDB_ARGUMENT);
    assert_null(cells);
    ckptdb_tensor_close(t);
    ckptdb_close(db);
}

TEST_IN(test_files, enter_folder, leave_folder)
{
    const uint64_t shape[] = {3, 4};
    char path[128], *header;
    size_t len;
    ckptdb_file *f;
    assert_int_equal(ckptdb_npy_header("float32", shape, 2, &header, &len, NULL), CKPTDB_OK);
    assert_int_equal(len % 64, 0);
    assert_memory_equal(header, "\x93NUMPY", 6);
    snprintf(path, sizeof(path), "%s/x.npy", own_folder);
    for (int finish = 0; finish < 2; finish++) {
        assert_int_equal(ckptdb_file_create(path, &f, NULL), CKPTDB_OK);
        assert_int_equal(ckptdb_file_write(f, header, len, NULL), CKPTDB_OK);
        assert_int_equal(access(path, F_OK), -1);
        if (finish)
            assert_int_equal(ckptdb_file_finish(f, NULL), CKPTDB_OK);
        ckptdb_file_close(f);
        assert_int_equal(access(path, F_OK), finish - 1);
    }
    ckptdb_free(header);
    assert_int_equal(ckptdb_file_create(path, &f, NULL), CKPTDB_ARGUMENT);
    assert_int_equal(ckptdb_npy_header("q4_0", shape, 2, &header, &len, NULL), CKPTDB_UNSUPPORTED);
}

TEST_IN(test_places, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    ckptdb_tensor *t = open_tensor(db, model, "n");
    char *json, moved[100], path[200];
    uint64_t count;
    assert_int_equal(ckptdb_tensor_places(t, 1, &json, NULL), CKPTDB_OK);
    assert_non_null(strstr(json, "\"plain\":true,\"count\":1,"));
    assert_non_null(strstr(json, "\"stored\":12"));
    ckptdb_free(json);
    assert_int_equal(ckptdb_tensor_places(t, 0, &json, NULL), CKPTDB_OK);
    assert_non_null(strstr(json, "\"extents\":[]"));
    ckptdb_free(json);
    ckptdb_tensor_close(t);
    snprintf(moved, sizeof(moved), "%s.moved", own_folder);
    assert_int_equal(ckptdb_relocate(db, "/no/such", moved, false, &count, NULL), CKPTDB_MISSING);
    assert_int_equal(ckptdb_relocate(db, own_folder, moved, true, &count, NULL), CKPTDB_OK);
    assert_int_equal(count, 1);
    assert_int_equal(ckptdb_relocate(db, own_folder, moved, false, NULL, NULL), CKPTDB_OK);
    snprintf(path, sizeof(path), "%s/model.safetensors", moved);
    assert_int_equal(ckptdb_find(db, path, &model, 1, NULL, NULL), CKPTDB_OK);
    ckptdb_close(db);
}

static void add_sum(void *context, const char *hex, const char *name)
{
    struct heard *h = context;
    snprintf(h->lines + strlen(h->lines), sizeof(h->lines) - strlen(h->lines), "%.8s %s ", hex,
             name);
}

TEST_IN(test_contents, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    struct heard sums = {.stop = false}, said = {.stop = false};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &said, .progress = progress, .say = hear};
    struct ckptdb_content_options o = {
        .size = sizeof(o), .checkpoints = &model, .count = 1, .sum = add_sum, .context = &sums};
    uint64_t skipped = 9;
    char path[128];
    bool all;
    ckptdb_watch(db, &watch);
    assert_int_equal(ckptdb_sha256(db, &o, &all, NULL), CKPTDB_OK);
    assert_true(all);
    assert_string_equal(sums.lines, "29e18891 w 313a9de5 n ");
    assert_int_equal(ckptdb_hash(db, &o, &all, NULL), CKPTDB_OK);
    assert_true(all && said.progress);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM tensor WHERE hash IS NOT NULL"),
                     2);
    o.names = "^n$";
    assert_int_equal(ckptdb_statistics(db, &o, &all, NULL), CKPTDB_OK);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT max FROM stats"), 70000);
    assert_int_equal(ckptdb_verify(db, &o, &skipped, NULL), CKPTDB_OK);
    assert_int_equal(skipped, 0);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM damage"), 0);
    snprintf(path, sizeof(path), "%s/model.safetensors", own_folder);
    assert_int_equal(truncate(path, 100), 0);
    o.again = true;
    assert_int_equal(ckptdb_hash(db, &o, &all, NULL), CKPTDB_OK);
    assert_false(all);
    assert_non_null(strstr(said.lines, "model.safetensors: "));
    ckptdb_close(db);
    snprintf(path, sizeof(path), "%s/catalog.db", own_folder);
    const char *paths[] = {own_folder};
    struct ckptdb_import_options import = {.size = sizeof(import), .paths = paths, .path_count = 1};
    write_model("model.safetensors");
    assert_int_equal(ckptdb_open(path, CKPTDB_CREATE, &db, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_import(db, &import, NULL, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_find(db, "model.safetensors", &model, 1, NULL, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_verify(db, &o, NULL, NULL), CKPTDB_OK);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM damage"), 0);
    snprintf(path, sizeof(path), "%s/model.safetensors", own_folder);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(ckptdb_verify(db, &o, NULL, NULL), CKPTDB_OK);
    assert_true(asked(ckptdb_sqlite(db), "SELECT count(*) FROM damage") > 0);
    ckptdb_close(db);
}

/* A statement can be stopped within a function that reads much, not only between its steps. */
TEST_IN(test_long_functions, enter_folder, leave_folder)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[8388608],"
                               "\"data_offsets\":[0,33554432]}}      ";
    static const char *const asked_of[] = {
        "SELECT tensor_sha256(16777216)",
        "SELECT length(tensor_bytes(16777216))",
        "SELECT tensor_distance(16777216, 16777216)",
        "SELECT * FROM diff(1, 1) d, (SELECT tensor_distance(16777216, 16777216))",
    };
    struct heard heard = {.stop = false};
    const struct ckptdb_watch watch = {.size = sizeof(watch), .context = &heard, .stop = stop_it};
    const char *paths[] = {own_folder};
    struct ckptdb_import_options o = {.size = sizeof(o), .paths = paths, .path_count = 1};
    struct text model = {0};
    char path[128];
    ckptdb *db;
    put_u64(&model, sizeof(head) - 1);
    text_adds(&model, head);
    snprintf(path, sizeof(path), "%s/large.safetensors", own_folder);
    write_file(path, model.at, model.len);
    assert_int_equal(truncate(path, (off_t)model.len + 33554432), 0);
    text_release(&model);
    assert_int_equal(ckptdb_open(NULL, CKPTDB_READ, &db, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_import(db, &o, NULL, NULL), CKPTDB_OK);
    ckptdb_watch(db, &watch);
    for (size_t i = 0; i < sizeof(asked_of) / sizeof(*asked_of); i++)
        for (int stop = 0; stop < 2; stop++) {
            sqlite3_stmt *s = NULL;
            heard.stop = stop;
            assert_int_equal(sqlite3_prepare_v2(ckptdb_sqlite(db), asked_of[i], -1, &s, NULL),
                             SQLITE_OK);
            assert_int_equal(sqlite3_step(s), stop ? SQLITE_INTERRUPT : SQLITE_ROW);
            sqlite3_finalize(s);
        }
    ckptdb_close(db);
}

struct second {
    pthread_t caller;
    int calls; /* by the one thread that computes */
};

static bool stop_at_second(void *context)
{
    struct second *s = context;
    return !pthread_equal(pthread_self(), s->caller) && ++s->calls > 1;
}

/* A tensor that is read as one piece is not read to its end: the first call comes earlier. */
TEST_IN(test_stopping_inside, enter_folder, leave_folder)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],"
                               "\"data_offsets\":[0,8]}}12345678";
    static enum ckptdb_status (*const run[])(ckptdb *, const struct ckptdb_content_options *,
                                             bool *, struct ckptdb_error *) = {
        ckptdb_sha256, ckptdb_hash, ckptdb_statistics};
    struct heard sums = {.stop = false};
    struct text model = {0};
    int64_t one = 1;
    char path[128];
    put_u64(&model, sizeof(head) - 9);
    text_adds(&model, head);
    snprintf(path, sizeof(path), "%s/one.safetensors", own_folder);
    write_file(path, model.at, model.len);
    text_release(&model);
    ckptdb *db = open_imported(1);
    const struct ckptdb_content_options o = {.size = sizeof(o),
                                             .checkpoints = &one,
                                             .count = 1,
                                             .threads = 1,
                                             .sum = add_sum,
                                             .context = &sums};
    for (size_t i = 0; i < sizeof(run) / sizeof(*run); i++) {
        struct second second = {.caller = pthread_self()};
        const struct ckptdb_watch watch = {
            .size = sizeof(watch), .context = &second, .stop = stop_at_second};
        ckptdb_watch(db, &watch);
        assert_int_equal(run[i](db, &o, NULL, NULL), CKPTDB_INTERRUPTED);
        ckptdb_watch(db, NULL);
        assert_string_equal(sums.lines, "");
    }
    ckptdb_close(db);
}

/* --- what another program does meanwhile --- */

struct meanwhile {
    char path[128]; /* of the catalog */
    int64_t gone, renewed;
    bool done;
    char said[300];
};

/* Once the headers were read again, another program forgets one checkpoint and imports another. */
static void interfere(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct meanwhile *m = context;
    char sql[200];
    sqlite3 *plain;
    ckptdb *other;
    (void)doing, (void)done, (void)total;
    if (m->done)
        return;
    m->done = true;
    assert_int_equal(ckptdb_open(m->path, CKPTDB_WRITE, &other, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_forget(other, &m->gone, 1, NULL), CKPTDB_OK);
    snprintf(sql, sizeof(sql),
             "UPDATE _checkpoints SET imported = imported + 1, mtime_ns = 0 WHERE id = %lld;"
             "UPDATE _files SET size = 1 WHERE id >> 24 = %lld",
             (long long)m->renewed, (long long)m->renewed);
    assert_int_equal(sqlite3_exec(ckptdb_sqlite(other), sql, NULL, NULL, NULL), SQLITE_AUTH);
    assert_non_null(strstr(ckptdb_refused(other), "_checkpoints is not for SQL to change"));
    ckptdb_close(other);
    assert_int_equal(sqlite3_open(m->path, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(plain);
}

static void hear_last(void *context, const char *line)
{
    struct meanwhile *m = context;
    snprintf(m->said, sizeof(m->said), "%s", line);
}

TEST_IN(test_meanwhile, enter_folder, leave_folder)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    const char *paths[] = {own_folder};
    struct ckptdb_import_options o = {.size = sizeof(o), .paths = paths, .path_count = 1};
    struct meanwhile m = {.gone = 2, .renewed = 3};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &m, .progress = interfere, .say = hear_last};
    const int64_t ids[] = {1, 2, 3};
    const struct ckptdb_content_options all = {.size = sizeof(all), .checkpoints = ids, .count = 3};
    struct ckptdb_error err;
    ckptdb *db;
    for (size_t i = 0; i < 3; i++)
        write_model(names[i]);
    snprintf(m.path, sizeof(m.path), "%s/catalog.db", own_folder);
    assert_int_equal(ckptdb_open(m.path, CKPTDB_CREATE, &db, &err), CKPTDB_OK);
    assert_int_equal(ckptdb_import(db, &o, NULL, &err), CKPTDB_OK);
    ckptdb_watch(db, &watch);
    assert_int_equal(ckptdb_verify(db, &all, NULL, &err), CKPTDB_OK);
    assert_true(m.done);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM _damages"), 0);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT sum(id) FROM _verifications"), 1);
    assert_non_null(strstr(m.said, "c.safetensors was imported anew"));
    /* The next checkpoint may get the number of the deleted one. */
    ckptdb_watch(db, NULL);
    assert_int_equal(ckptdb_hash(db, &all, NULL, &err), CKPTDB_MISSING);
    assert_string_equal(err.message, "there is no checkpoint 2");
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM _checkpoint_hashes"), 0);
    ckptdb_close(db);
}

/* Another program has locked the catalog: opening it reports that, and can be stopped. */
static bool stop_once_told(void *context)
{
    return strstr(((struct heard *)context)->lines, "waiting") != NULL;
}

TEST_IN(test_opening_waits, enter_folder, leave_folder)
{
    struct heard heard = {.stop = false};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &heard, .stop = stop_once_told, .say = hear};
    struct ckptdb_error err;
    char path[128];
    ckptdb *db, *late;
    snprintf(path, sizeof(path), "%s/catalog.db", own_folder);
    assert_int_equal(ckptdb_open(path, CKPTDB_CREATE, &db, &err), CKPTDB_OK);
    assert_int_equal(sqlite3_exec(ckptdb_sqlite(db), "BEGIN EXCLUSIVE", NULL, NULL, NULL),
                     SQLITE_OK);
    for (int mode = CKPTDB_READ; mode <= CKPTDB_USE; mode++) {
        heard.lines[0] = 0;
        assert_int_equal(ckptdb_open_watched(path, (enum ckptdb_mode)mode, &watch, &late, &err),
                         CKPTDB_INTERRUPTED);
        assert_null(late);
        assert_non_null(strstr(heard.lines, "another program is writing the catalog"));
    }
    assert_int_equal(sqlite3_exec(ckptdb_sqlite(db), "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    heard.lines[0] = 0;
    assert_int_equal(ckptdb_open_watched(path, CKPTDB_WRITE, &watch, &late, &err), CKPTDB_OK);
    assert_string_equal(heard.lines, "");
    ckptdb_close(late);
    ckptdb_close(db);
}

/* An old catalog is brought up to date as a whole, or, if stopped, not at all. */
TEST_IN(test_renewal_stops, enter_folder, leave_folder)
{
    struct heard heard = {.stop = true};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &heard, .stop = stop_it, .say = hear};
    struct ckptdb_error err;
    char path[128], dump_path[140], *dump;
    sqlite3 *old;
    size_t len;
    ckptdb *db;
    snprintf(path, sizeof(path), "%s/old.db", own_folder);
    assert_int_equal(sqlite3_open(path, &old), SQLITE_OK);
    shell_out("sed s#WORK#/models# $TESTS/catalogs/v8.sql >%s.sql", path);
    snprintf(dump_path, sizeof(dump_path), "%s.sql", path);
    dump = (char *)read_file(dump_path, &len);
    dump = realloc(dump, len + 1);
    assert_non_null(dump);
    dump[len] = '\0';
    assert_int_equal(sqlite3_exec(old, dump, NULL, NULL, NULL), SQLITE_OK);
    free(dump);
    assert_int_equal(
        sqlite3_exec(
            old,
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
            " INSERT INTO layout_tensors SELECT (9 << 24) + i, 'name' || i, 'uint8', '[1]', 1,"
            " 1, NULL, 1, 0, 0, 1, NULL, NULL, NULL FROM n",
            NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(ckptdb_open_watched(path, CKPTDB_USE, &watch, &db, &err), CKPTDB_INTERRUPTED);
    assert_null(db);
    assert_int_equal(asked(old, "PRAGMA user_version"), 8);
    assert_int_equal(asked(old, "SELECT count(*) FROM layout_tensors INDEXED BY "
                                "layout_tensors_by_name WHERE name LIKE 'name%'"),
                     5000);
    heard.stop = false;
    assert_int_equal(ckptdb_open_watched(path, CKPTDB_USE, &watch, &db, &err), CKPTDB_OK);
    assert_int_equal(
        asked(ckptdb_sqlite(db), "SELECT count(*) FROM _layout_tensors WHERE name LIKE 'name%'"),
        5000);
    ckptdb_close(db);
    sqlite3_close(old);
}

static bool see_pair(void *context, const struct ckptdb_pair *p)
{
    struct heard *h = context;
    snprintf(h->lines + strlen(h->lines), sizeof(h->lines) - strlen(h->lines), "%s %s %s ", p->how,
             p->old_name ? p->old_name : "-", p->new_name ? p->new_name : "-");
    return true;
}

static bool count_rule(void *context, const struct ckptdb_rule *r)
{
    assert_non_null(r->pattern);
    ++*(size_t *)context;
    return true;
}

TEST_IN(test_inferring, enter_folder, leave_folder)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors"};
    ckptdb *db = open_with(names, 2);
    struct heard pairs = {.stop = false};
    ckptdb_inferred *i;
    int64_t ids[2];
    size_t rules = 0;
    for (int k = 0; k < 2; k++)
        assert_int_equal(ckptdb_find(db, names[k], &ids[k], 1, NULL, NULL), CKPTDB_OK);
    const struct ckptdb_content_options o = {.size = sizeof(o), .checkpoints = ids, .count = 2};
    assert_int_equal(ckptdb_hash(db, &o, NULL, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_infer(db, ids[0], ids[1], &i, NULL), CKPTDB_OK);
    assert_int_equal(ckptdb_inferred_info(i)->old_names, 2);
    ckptdb_inferred_pairs(i, see_pair, &pairs);
    assert_string_equal(pairs.lines, "content w w content n n ");
    ckptdb_inferred_rules(i, count_rule, &rules);
    assert_int_equal(rules, ckptdb_inferred_info(i)->rules);
    assert_int_equal(ckptdb_inferred_keep(db, i, "same", NULL), CKPTDB_OK);
    assert_int_equal(asked(ckptdb_sqlite(db),
                           "SELECT count(*) FROM translation WHERE ruleset = 'same'"
                           " AND checkpoint_id = 1 AND old_name = new_name"),
                     2);
    ckptdb_inferred_close(i);
    assert_int_equal(ckptdb_infer(db, ids[0], 99, &i, NULL), CKPTDB_MISSING);
    assert_null(i);
    ckptdb_close(db);
}

TEST(test_formats)
{
    bool found = false;
    ckptdb_formats(find_npz, &found);
    assert_true(found);
    assert_int_equal(ckptdb_size("5KB"), 5000);
    assert_int_equal(ckptdb_size("5 apples"), 0);
}

/* --- what makes no sense --- */

static bool never_listed(void *context, const struct ckptdb_tensor_info *t)
{
    (void)context, (void)t;
    fail();
    return false;
}

static bool never_mapped(void *context, const struct ckptdb_mapped *m)
{
    (void)context, (void)m;
    fail();
    return false;
}

/* An unknown id changes nothing, and is an error. */
TEST_IN(test_unknown_ids, enter_folder, leave_folder)
{
    const int64_t none = 99;
    int64_t model, id;
    char path[128];
    ckptdb *db = open_one(&model);
    const struct ckptdb_content_options c = {.size = sizeof(c), .checkpoints = &none, .count = 1};
    const struct ckptdb_map_options m = {
        .size = sizeof(m), .map = "t5_to_t5x", .checkpoint = none, .each = never_mapped};
    struct ckptdb_export_options e = {.size = sizeof(e), .checkpoint = none};
    snprintf(path, sizeof(path), "%s/out.npz", own_folder);
    const enum ckptdb_status got[] = {
        ckptdb_tensors(db, none, never_listed, NULL, NULL),
        ckptdb_find_tensor(db, none, "w", &id, NULL),
        ckptdb_tensor_open(db, none << 24, &(ckptdb_tensor *){0}, NULL),
        ckptdb_tensor_open_mapped(db, "t5_to_t5x", none, "w", &(ckptdb_tensor *){0}, NULL),
        ckptdb_hash(db, &c, NULL, NULL),
        ckptdb_statistics(db, &c, NULL, NULL),
        ckptdb_sha256(db, &c, NULL, NULL),
        ckptdb_map(db, &m, NULL),
        ckptdb_export(db, path, &e, NULL),
    };
    for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++)
        assert_int_equal(got[i], CKPTDB_MISSING);
    e.checkpoint = model;
    e.map = "t5_to_t5x";
    e.target = none;
    assert_int_equal(ckptdb_export(db, path, &e, NULL), CKPTDB_MISSING);
    assert_int_equal(access(path, F_OK), -1);
    ckptdb_close(db);
}

static void run_sql(ckptdb *db, const char *sql, int rc)
{
    assert_int_equal(sqlite3_exec(ckptdb_sqlite(db), sql, NULL, NULL, NULL), rc);
}

/* The caller's transaction is neither committed nor rolled back. */
TEST_IN(test_own_transaction, enter_folder, leave_folder)
{
    const char *paths[] = {own_folder};
    int64_t model;
    ckptdb *db = open_one(&model);
    const struct ckptdb_import_options i = {.size = sizeof(i), .paths = paths, .path_count = 1};
    const struct ckptdb_content_options c = {.size = sizeof(c), .checkpoints = &model, .count = 1};
    run_sql(db, "BEGIN; INSERT INTO ruleset(name, dialect) VALUES ('own', 'convert')", SQLITE_OK);
    const enum ckptdb_status got[] = {
        ckptdb_import(db, &i, NULL, NULL),     ckptdb_hash(db, &c, NULL, NULL),
        ckptdb_statistics(db, &c, NULL, NULL), ckptdb_verify(db, &c, NULL, NULL),
        ckptdb_forget(db, &model, 1, NULL),
    };
    for (size_t k = 0; k < sizeof(got) / sizeof(got[0]); k++)
        assert_int_equal(got[k], CKPTDB_ARGUMENT);
    run_sql(db, "ROLLBACK", SQLITE_OK);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM ruleset WHERE name = 'own'"),
                     0);
    assert_int_equal(asked(ckptdb_sqlite(db), "SELECT count(*) FROM checkpoint"), 1);
    assert_int_equal(ckptdb_hash(db, &c, NULL, NULL), CKPTDB_OK);
    ckptdb_close(db);
}

/* Options without their size would be taken for empty. */
TEST_IN(test_without_size, enter_folder, leave_folder)
{
    const char *paths[] = {own_folder};
    int64_t model;
    ckptdb *db = open_one(&model), *late;
    const struct ckptdb_import_options i = {.paths = paths, .path_count = 1};
    const struct ckptdb_export_options e = {.checkpoint = model};
    const struct ckptdb_content_options c = {.checkpoints = &model, .count = 1};
    const struct ckptdb_map_options m = {.map = "t5_to_t5x", .each = never_mapped};
    const struct ckptdb_watch w = {0};
    struct ckptdb_import_report report = {.size = sizeof(report), .added = 9};
    char path[128];
    snprintf(path, sizeof(path), "%s/out.npz", own_folder);
    for (int some = 0; some < 2; some++) {
        const enum ckptdb_status got[] = {
            ckptdb_import(db, some ? &i : NULL, &report, NULL),
            ckptdb_export(db, path, some ? &e : NULL, NULL),
            ckptdb_hash(db, some ? &c : NULL, NULL, NULL),
            ckptdb_statistics(db, some ? &c : NULL, NULL, NULL),
            ckptdb_verify(db, some ? &c : NULL, NULL, NULL),
            ckptdb_sha256(db, some ? &c : NULL, NULL, NULL),
            ckptdb_map(db, some ? &m : NULL, NULL),
            ckptdb_open_watched(NULL, CKPTDB_CREATE, &w, &late, NULL),
        };
        for (size_t k = 0; k < sizeof(got) / sizeof(got[0]); k++)
            assert_int_equal(got[k], CKPTDB_ARGUMENT);
        assert_int_equal(report.added, 0);
    }
    ckptdb_close(db);
}

/* A failed call clears its report, and does not claim that it read everything. */
TEST_IN(test_refused_reports, enter_folder, leave_folder)
{
    static enum ckptdb_status (*const run[])(ckptdb *, const struct ckptdb_content_options *,
                                             bool *, struct ckptdb_error *) = {
        ckptdb_sha256, ckptdb_hash, ckptdb_statistics};
    int64_t model, none;
    ckptdb *db = open_one(&model);
    const struct ckptdb_content_options refused[] = {
        {.checkpoints = &model, .count = 1}, /* without a size */
        {.size = sizeof(refused[0]), .checkpoints = &none, .count = 1},
    };
    const struct ckptdb_content_options empty = {.size = sizeof(empty)};
    bool all = true;
    none = model + 99;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        const enum ckptdb_status why = i ? CKPTDB_MISSING : CKPTDB_ARGUMENT;
        uint64_t skipped = 9;
        for (size_t k = 0; k < sizeof(run) / sizeof(*run); k++, all = true) {
            assert_int_equal(run[k](db, &refused[i], &all, NULL), why);
            assert_false(all);
        }
        assert_int_equal(ckptdb_verify(db, &refused[i], &skipped, NULL), why);
        assert_int_equal(skipped, 0);
    }
    assert_int_equal(ckptdb_sha256(db, &empty, &all, NULL), CKPTDB_ARGUMENT);
    assert_false(all);
    ckptdb_close(db);
}

/* All tensors at once: as one by one, and each read looks whether the file has changed. */
TEST_IN(test_at_once, enter_folder, leave_folder)
{
    int64_t model;
    ckptdb *db = open_one(&model);
    struct ckptdb_error err;
    ckptdb_checkpoint *c = NULL;
    uint8_t ours[64], theirs[64];
    char path[128];
    assert_int_equal(ckptdb_checkpoint_open(db, 99, &c, &err), CKPTDB_MISSING);
    assert_null(c);
    assert_int_equal(ckptdb_checkpoint_open(db, model, &c, &err), CKPTDB_OK);
    const struct ckptdb_columns *in = ckptdb_checkpoint_columns(c);
    assert_true(in->count > 1);
    for (size_t i = 0; i < in->count; i++) {
        const char *name = in->names + in->name_at[i];
        ckptdb_tensor *t = open_tensor(db, model, name);
        const struct ckptdb_tensor_info *info = ckptdb_tensor_info(t);
        const struct ckptdb_kind *k = in->kinds[in->kind[i]];
        assert_int_equal(in->id[i], info->id);
        assert_string_equal(k->dtype, info->dtype);
        assert_string_equal(k->storage, "range");
        assert_int_equal(k->rank, info->rank);
        assert_memory_equal(k->shape, info->shape, k->rank * sizeof(*k->shape));
        assert_int_equal(k->elements, info->elements);
        assert_int_equal(k->nbytes, info->nbytes);
        assert_true(in->plain[i]);
        assert_int_equal(ckptdb_read(t, NULL, NULL, theirs, info->nbytes, &err), CKPTDB_OK);
        assert_int_equal(ckptdb_checkpoint_read(c, i, 0, ours, info->nbytes, &err), CKPTDB_OK);
        assert_memory_equal(ours, theirs, info->nbytes);
        assert_int_equal(ckptdb_checkpoint_read(c, i, 3, ours, info->nbytes - 3, &err), CKPTDB_OK);
        assert_memory_equal(ours, theirs + 3, info->nbytes - 3);
        assert_int_equal(ckptdb_checkpoint_read(c, i, 1, ours, info->nbytes, &err),
                         CKPTDB_ARGUMENT);
        assert_int_equal(ckptdb_checkpoint_read(c, i, UINT64_MAX, ours, 2, &err), CKPTDB_ARGUMENT);
        ckptdb_tensor_close(t);
    }
    assert_int_equal(ckptdb_checkpoint_read(c, in->count, 0, ours, 0, &err), CKPTDB_ARGUMENT);
    ckptdb_close(db); /* which it outlives */
    assert_int_equal(ckptdb_checkpoint_read(c, 0, 0, ours, 1, &err), CKPTDB_OK);
    snprintf(path, sizeof(path), "%s/model.safetensors", own_folder);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(ckptdb_checkpoint_read(c, 0, 0, ours, 1, &err), CKPTDB_CHANGED);
    assert_non_null(strstr(err.source, "model.safetensors"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ckptdb_checkpoint_read(c, 0, 0, ours, 1, &err), CKPTDB_CHANGED);
    assert_non_null(strstr(err.message, "gone"));
    ckptdb_checkpoint_close(c);
    ckptdb_checkpoint_close(NULL);
}

RUN_TESTS(NULL, NULL)
