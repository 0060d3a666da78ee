/* Names to ids: the map that an import keeps of them, and a writer whose map is full. */

#include "catalog/db/write_private.h"
#include "catalog/sql/open.h"
#include "tests/unit/unit.h"

#define NAMES 300000

static uint32_t *add(struct name_map *m, const char *name, size_t len)
{
    struct hash_key key = hash_key(name, len);
    return name_map_add(m, &key);
}

static void map_keeps_ids(void **state)
{
    (void)state;
    struct name_map m = {0};
    char name[32];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < NAMES; i++) {
            int len = snprintf(name, sizeof(name), "layers.%u.weight", i);
            uint32_t *id = add(&m, name, (size_t)len);
            assert_non_null(id);
            assert_int_equal(*id, round ? i + 1 : 0);
            *id = i + 1;
        }
        assert_int_equal(m.count, NAMES);
    }
    /* Neither length nor NUL is lost: these are three names. */
    uint32_t *id = add(&m, "", 0);
    assert_int_equal(*id, 0);
    *id = NAMES + 1;
    id = add(&m, "\0", 1);
    assert_int_equal(*id, 0);
    *id = NAMES + 2;
    assert_int_equal(*add(&m, "\0\0", 2), 0);
    name_map_release(&m);
}

/* Texts of a few letters that differ in few bits, all of them up to a length: each has its own key. */
static void short_texts_differ(void **state)
{
    (void)state;
    static const char letters[] = {'a', 'b', 'e', '/'};
    struct strmap seen = {0};
    struct arena arena = {0};
    const char *kept;
    bool added;
    for (size_t len = 0, texts = 1; len <= 8; len++, texts *= sizeof(letters))
        for (size_t i = 0; i < texts; i++) {
            char text[8];
            for (size_t k = 0, rest = i; k < len; k++, rest /= sizeof(letters))
                text[k] = letters[rest % sizeof(letters)];
            struct hash_key key = hash_key(text, len);
            assert_non_null(strmap_keep(&seen, &arena, (const char *)&key, sizeof(key),
                                        &kept, &added));
            assert_true(added);
        }
    strmap_release(&seen);
    arena_release(&arena);
}

/* Two words that are exchanged, and what lengths differ by put into the words. */
static void words_do_not_cancel(void **state)
{
    (void)state;
    const uint8_t text[16] = "encoder/decoder/";
    for (unsigned flip = 0; flip < 256; flip++) {
        uint8_t other[16];
        for (size_t i = 0; i < 16; i++)
            other[i] = (uint8_t)(text[i ^ 8] ^ (i % 8 ? 0 : flip));
        struct hash_key a = hash_key(text, 16), b = hash_key(other, 16);
        assert_memory_not_equal(&a, &b, sizeof(a));
    }
    for (unsigned flip = 0; flip < 256; flip++) {
        uint8_t other[16];
        for (size_t i = 0; i < 15; i++)
            other[i] = (uint8_t)(text[i] ^ (i == 7 ? flip : 0));
        struct hash_key a = hash_key(text, 16), b = hash_key(other, 15);
        assert_memory_not_equal(&a, &b, sizeof(a));
    }
}

/* Each byte counts, and so does the length, at every length up to several words. */
static void hash_sees_all(void **state)
{
    (void)state;
    struct strmap seen = {0};
    struct hash_key keys[70 * 71];
    char bytes[70] = {0};
    size_t count = 0;
    bool added;
    for (size_t len = 0; len < sizeof(bytes); len++) {
        keys[count++] = hash_key(bytes, len);
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (char)0x80;
            keys[count++] = hash_key(bytes, len);
            bytes[i] = 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_non_null(
            strmap_add(&seen, (const char *)&keys[i], sizeof(keys[i]), &added));
        assert_true(added);
    }
    strmap_release(&seen);
}

#define TENSORS     6
#define CHECKPOINTS 40

/* Checkpoint k has the names k/3 to k/3 + 5: most are met again, some after the map was emptied. */
static void put(struct writer *w, int k)
{
    char path[32], name[TENSORS][16];
    struct batch_tensor tensor[TENSORS] = {0};
    const struct batch_kind kind = {
        .dtype = "float32", .shape_text = "[]", .elements = (uint64_t)k};
    for (int i = 0; i < TENSORS; i++) {
        int len = snprintf(name[i], sizeof(name[i]), "n%d", k / 3 + i);
        tensor[i] = (struct batch_tensor){.name = name[i],
                                          .name_len = (uint32_t)len,
                                          .key = hash_key(name[i], (size_t)len),
                                          .file = NO_FILE,
                                          .kind = &kind};
    }
    struct batch_layout layout = {.tensors = tensor, .tensor_count = TENSORS};
    memcpy(layout.logical.at, &k, sizeof(k));
    struct batch batch = {.path = path, .format = "safetensors", .layout = &layout};
    struct error err = {.offset = NO_OFFSET};
    snprintf(path, sizeof(path), "/checkpoint%02d", k);
    assert_int_equal(writer_put(w, &batch, &err), OK);
}

/* `most`: what the map may hold; 0: as many as it likes. */
static void write_all(size_t most)
{
    sqlite3 *db = NULL;
    struct writer *w = NULL;
    struct error err = {.offset = NO_OFFSET};
    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &err), OK);
    assert_int_equal(writer_open(db, "test", NULL, NULL, &w, &err), OK);
    if (most)
        w->names_most = most;
    for (int k = 0; k < CHECKPOINTS; k++)
        put(w, k);
    assert_int_equal(w->names_known, most == 0);
    if (most)
        assert_true(w->names.count <= most);
    assert_int_equal(writer_close(w, &err), OK);
    assert_int_equal(asked(db, "SELECT count(*) FROM names"),
                     (CHECKPOINTS - 1) / 3 + TENSORS);
    assert_int_equal(
        asked(db, "SELECT count(*) FROM tensor t WHERE name = 'n' || "
                  "((checkpoint_id - 1) / 3 + ord) AND elements = checkpoint_id - 1"),
        CHECKPOINTS * TENSORS);
    assert_int_equal(asked(db, "SELECT count(*) FROM tensor WHERE name = 'n7'"), 18);
    sqlite3_close(db);
}

static void writer_knows_all(void **state)
{
    (void)state;
    write_all(0);
}

static void writer_forgets(void **state)
{
    (void)state;
    write_all(TENSORS);
    write_all(TENSORS + 1);
    write_all(20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_keeps_ids),       cmocka_unit_test(short_texts_differ),
        cmocka_unit_test(words_do_not_cancel), cmocka_unit_test(hash_sees_all),
        cmocka_unit_test(writer_knows_all),    cmocka_unit_test(writer_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
