/* The common tensors of two lists, by the digests of their blocks: the same as by value, and diff()
 * finds the same differences with blocks and without. */

#include <stdlib.h>

#include "catalog/data/model/blocks.h"
#include "catalog/db/db.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

#define MOST   2600
#define TRIALS (300 / SAMPLE)

/* A tensor is a number for each of its name, dtype, shape (0: not known) and hash (0: none). */
struct row {
    unsigned name, dtype, shape, hash;
};

struct side {
    struct row rows[MOST];
    unsigned count;
    uint8_t *blocks;
    size_t len;
};

static uint32_t seed = 20261122;

static unsigned any(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return below ? seed % below : 0;
}

static const char *name_of(unsigned n)
{
    static char text[64];
    snprintf(text, sizeof(text), "layers.%u.part%u.weight", n / 10, n % 10);
    return text;
}

static const char *dtype_of(unsigned n)
{
    static const char *const names[] = {NULL, "float32", "bfloat16", "int8"};
    return names[n];
}

static const char *shape_of(unsigned n)
{
    static char text[32];
    snprintf(text, sizeof(text), "[%u]", n);
    return n ? text : NULL;
}

static void make_blocks(struct side *s)
{
    struct blocks b;
    blocks_begin(&b);
    for (unsigned i = 0; i < s->count; i++) {
        const struct row *r = &s->rows[i];
        blocks_add(&b, (struct block_row){name_of(r->name), strlen(name_of(r->name)),
                                          dtype_of(r->dtype), shape_of(r->shape)});
    }
    const struct bytes all = blocks_end(&b);
    assert_non_null(all.at);
    free(s->blocks);
    s->blocks = malloc(all.len + 1);
    assert_non_null(s->blocks);
    memcpy(s->blocks, all.at, all.len);
    s->len = all.len;
    blocks_release(&b);
}

static struct blocks_side given(const struct side *s)
{
    return (struct blocks_side){{s->blocks, s->len}, s->count};
}

/* --- pairs of lists ------------------------------------------------------------------------ */

static void random_side(struct side *s, unsigned count, bool hashed)
{
    s->count = count;
    for (unsigned i = 0; i < count; i++)
        s->rows[i] = (struct row){i, 1 + any(3), any(4), hashed && any(4) ? 1 + any(9999) : 0};
}

static void drop(struct side *s, unsigned at)
{
    memmove(&s->rows[at], &s->rows[at + 1], (--s->count - at) * sizeof(s->rows[0]));
}

static void put_in(struct side *s, unsigned at, struct row row)
{
    if (s->count == MOST)
        return;
    memmove(&s->rows[at + 1], &s->rows[at], (s->count++ - at) * sizeof(s->rows[0]));
    s->rows[at] = row;
}

/* A stretch to another place. */
static void move_some(struct side *s)
{
    const unsigned n = 1 + any(s->count < 200 ? s->count : 200), from = any(s->count - n + 1);
    for (unsigned i = 0, to = any(s->count - n + 1); i < n; i++) {
        const struct row row = s->rows[from];
        drop(s, from);
        put_in(s, to <= from ? to + i : to + n - 1, row);
    }
}

static void change(struct side *s, unsigned next_name)
{
    const unsigned at = any(s->count);
    switch (s->count ? any(7) : 0) {
    case 0:
        put_in(s, s->count ? at : 0, (struct row){next_name, 1, 1, any(2) ? 1 + any(9999) : 0});
        break;
    case 1: drop(s, at); break;
    case 2: s->rows[at].name = next_name; break;
    case 3: s->rows[at].dtype = any(4); break;
    case 4: s->rows[at].shape = any(4); break;
    case 5: s->rows[at].hash = any(3) ? 1 + any(9999) : 0; break;
    default: move_some(s);
    }
}

/* Sizes about a block's, and differences from nothing to everything. */
static void random_pair(unsigned trial, struct side *a, struct side *b)
{
    static const unsigned sizes[] = {0, 1, 2, 63, 64, 65, 128, 300, 1023, 1024, 1025, 2500};
    static const unsigned changes[] = {0, 0, 1, 1, 2, 5, 20, 100};
    random_side(a, sizes[trial % 12], any(2));
    memcpy(b->rows, a->rows, sizeof(a->rows));
    b->count = a->count;
    for (unsigned i = 0, n = changes[any(8)]; i < n; i++)
        change(any(4) ? b : a, 3000 + i);
    if (any(20) == 0)
        for (unsigned i = 0; i < b->count; i++)
            b->rows[i].name += 5000;
    make_blocks(a);
    make_blocks(b);
}

/* --- runs ---------------------------------------------------------------------------------- */

static void mark(unsigned char *seen, uint32_t at, uint32_t rows, unsigned count)
{
    assert_in_range(at, 0, count);
    assert_in_range(rows, 0, count - at);
    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(seen[at + i]++, 0);
}

/* Every tensor is in one run; tensors of equal runs are the same. Returns their count. */
static unsigned check_runs(const struct side *a, const struct side *b,
                           const struct blocks_run *runs, size_t count)
{
    static unsigned char seen[2][MOST];
    unsigned alike = 0;
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < count; i++) {
        const struct blocks_run *r = &runs[i];
        mark(seen[0], r->a, r->a_rows, a->count);
        mark(seen[1], r->b, r->b_rows, b->count);
        for (uint32_t k = 0; r->alike && k < r->a_rows; k++) {
            struct row x = a->rows[r->a + k], y = b->rows[r->b + k];
            x.hash = y.hash = 0;
            assert_int_equal(r->a_rows, r->b_rows);
            assert_memory_equal(&x, &y, sizeof(x));
            alike++;
        }
    }
    for (unsigned i = 0; i < MOST; i++) {
        assert_int_equal(seen[0][i], i < a->count);
        assert_int_equal(seen[1][i], i < b->count);
    }
    return alike;
}

static unsigned compared(const struct side *a, const struct side *b)
{
    size_t count = 0;
    struct blocks_run *runs = blocks_compare(given(a), given(b), &count);
    assert_non_null(runs);
    const unsigned alike = check_runs(a, b, runs, count);
    free(runs);
    return alike;
}

static struct side one, two;

TEST(test_runs)
{
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        random_pair(trial, &one, &two);
        compared(&one, &two);
        assert_int_equal(compared(&one, &one), one.count);
    }
}

/* One tensor inserted anywhere costs its block, of about 64 tensors. */
TEST(test_little_is_lost)
{
    unsigned lost = 0, most = 0;
    for (unsigned trial = 0; trial < 100; trial++) {
        random_side(&one, 2500, false);
        memcpy(two.rows, one.rows, sizeof(one.rows));
        two.count = one.count;
        put_in(&two, any(two.count), (struct row){9000 + trial, 1, 1, 0});
        make_blocks(&one);
        make_blocks(&two);
        const unsigned own = one.count - compared(&one, &two);
        lost += own;
        most = own > most ? own : most;
    }
    assert_in_range(lost / 100, 20, 250); /* long blocks are hit more often */
    assert_in_range(most, 20, 800);
}

/* Blocks that cannot belong to the tensors are not believed. */
TEST(test_not_believed)
{
    random_side(&one, 2500, false);
    memcpy(&two.rows, one.rows, sizeof(one.rows));
    two.count = one.count;
    make_blocks(&one);
    make_blocks(&two);
    assert_int_equal(compared(&one, &two), 2500);
    two.len--;
    assert_int_equal(compared(&one, &two), 0);
    two.len -= BLOCK_BYTES - 1; /* one block less */
    assert_int_equal(compared(&one, &two), 0);
    make_blocks(&two);
    store_u32le(two.blocks + FIELDS_DIGEST, 0);
    assert_int_equal(compared(&one, &two), 0);
    store_u32le(two.blocks + FIELDS_DIGEST, UINT32_MAX);
    assert_int_equal(compared(&one, &two), 0);
    make_blocks(&two);
    two.blocks[two.len - BLOCK_BYTES] ^= 1;
    assert_in_range(compared(&one, &two), 1, 2499);
    free(two.blocks);
    two.blocks = NULL;
    two.len = 0;
    assert_int_equal(compared(&one, &two), 0);
    assert_int_equal(compared(&two, &one), 0);
}

/* --- diff(1, 2) ---------------------------------------------------------------------------- */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void fill_side(sqlite3 *db, int id, const struct side *s, bool blocks)
{
    char sql[256];
    sqlite3_stmt *put, *hash;
    snprintf(sql, sizeof(sql),
             "INSERT INTO _layouts VALUES (%d, x'%02d', x'00', %u, 0, 0, 0);"
             "INSERT INTO _checkpoints VALUES (%d, '/%d', 'names', NULL, NULL, NULL, %d, NULL,"
             " 0, 0, 0, 0, 0)",
             id, id, s->count, id, id, id);
    run(db, sql);
    sqlite3_prepare_v2(db,
                       "INSERT INTO _layout_tensors(id, name, dtype, shape, storage)"
                       " VALUES ((?1 << 24) + ?2, ?3, ?4, ?5, 0)",
                       -1, &put, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO _tensor_hashes VALUES ((?1 << 24) + ?2, ?3)", -1, &hash,
                       NULL);
    for (unsigned i = 0; i < s->count; i++) {
        const struct row *r = &s->rows[i];
        sqlite3_bind_int(put, 1, id);
        sqlite3_bind_int(put, 2, (int)i);
        sqlite3_bind_text(put, 3, name_of(r->name), -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(put, 4, dtype_of(r->dtype), -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(put, 5, shape_of(r->shape), -1, SQLITE_TRANSIENT);
        assert_int_equal(sqlite3_step(put), SQLITE_DONE);
        sqlite3_reset(put);
        sqlite3_bind_int(hash, 1, id);
        sqlite3_bind_int(hash, 2, (int)i);
        sqlite3_bind_int(hash, 3, (int)r->hash);
        assert_int_equal(r->hash ? sqlite3_step(hash) : SQLITE_DONE, SQLITE_DONE);
        sqlite3_reset(hash);
    }
    sqlite3_finalize(put);
    sqlite3_finalize(hash);
    if (!blocks)
        return;
    sqlite3_prepare_v2(db, "INSERT INTO _layout_blocks VALUES (?1, ?2)", -1, &put, NULL);
    sqlite3_bind_int(put, 1, id);
    sqlite3_bind_blob(put, 2, s->blocks, (int)s->len, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(put), SQLITE_DONE);
    sqlite3_finalize(put);
}

/* The whole list of diff() looks at every tensor by name; the others look at what unlike() finds. */
static void check_diff(sqlite3 *db, unsigned trial, const char *pair)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "WITH whole AS MATERIALIZED (SELECT * FROM diff(%s) WHERE status NOT IN ('same', 'unread')),"
        " few AS MATERIALIZED (SELECT * FROM diff(%s) WHERE different = 1),"
        " fewer AS MATERIALIZED (SELECT * FROM differing(%s))"
        "SELECT (SELECT count(*) FROM (SELECT * FROM whole EXCEPT SELECT * FROM few))"
        " + (SELECT count(*) FROM (SELECT * FROM few EXCEPT SELECT * FROM whole))"
        " + abs((SELECT count(*) FROM whole) - (SELECT count(*) FROM few))"
        " + abs((SELECT count(*) FROM whole) - (SELECT count(*) FROM fewer))"
        " + (SELECT count(*) FROM (SELECT * FROM fewer EXCEPT SELECT status, name_a, name_b, dtype_a,"
        "    dtype_b, shape_a, shape_b, nbytes_a, nbytes_b, tensor_a, tensor_b FROM whole))",
        pair, pair, pair);
    if (asked(db, sql) != 0)
        fail_msg("trial %u, diff(%s)", trial, pair);
}

TEST(test_diff)
{
    struct error err = {.offset = NO_OFFSET};
    sqlite3 *db = NULL;
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &err), OK);
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        const unsigned with = any(8); /* mostly both */
        random_pair(trial, &one, &two);
        run(db, "BEGIN; DELETE FROM _tensor_hashes; DELETE FROM _checkpoints;"
                "DELETE FROM _layout_blocks; DELETE FROM _layout_tensors; DELETE FROM _layouts");
        fill_side(db, 1, &one, with != 1);
        fill_side(db, 2, &two, with != 2);
        run(db, "COMMIT");
        check_diff(db, trial, "1, 2");
        check_diff(db, trial, "2, 1");
        check_diff(db, trial, "1, 1");
    }
    assert_int_equal(asked(db, "SELECT count(*) FROM unlike(1, 7)"), one.count);
    assert_int_equal(asked(db, "SELECT count(*) FROM unlike(7, 2)"), two.count);
    assert_int_equal(asked(db, "SELECT count(*) FROM unlike(7, 8)"), 0);
    db_close(db);
    free(one.blocks);
    free(two.blocks);
}

RUN_TESTS(NULL, NULL)
