#include <zlib.h>

#include "catalog/data/compose/compose.h"
#include "catalog/data/compose/parts.h"
#include "catalog/data/read/read.h"
#include "tests/unit/unit.h"

/*
 * Random operations on tensors whose elements are their own numbers, compared with the same
 * operations on arrays, element by element.
 */
#define RANK_MOST     5
#define ELEMENTS_MOST 4096
#define PARTS_MOST    5

/* --- arrays, done plainly ---------------------------------------------------------------- */

struct array {
    unsigned rank;
    uint64_t shape[2 * RANK_MOST];
    uint32_t element[ELEMENTS_MOST];
};

static uint64_t count_of(const struct array *a)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < a->rank; d++)
        n *= a->shape[d];
    return n;
}

static uint64_t position_of(const struct array *a, const uint64_t *index)
{
    uint64_t at = 0;
    for (unsigned d = 0; d < a->rank; d++)
        at = at * a->shape[d] + index[d];
    return at;
}

static void index_of(const struct array *a, uint64_t at, uint64_t *index)
{
    for (unsigned d = a->rank; d-- > 0; at /= a->shape[d])
        index[d] = at % a->shape[d];
}

static void plain_permute(struct array *a, const unsigned *order)
{
    struct array out = *a;
    uint64_t index[RANK_MOST] = {0}, from[RANK_MOST] = {0};
    for (unsigned d = 0; d < a->rank; d++)
        out.shape[d] = a->shape[order[d]];
    for (uint64_t i = 0; i < count_of(a); i++) {
        index_of(&out, i, index);
        for (unsigned d = 0; d < a->rank; d++)
            from[order[d]] = index[d];
        out.element[i] = a->element[position_of(a, from)];
    }
    *a = out;
}

static void plain_slice(struct array *a, unsigned axis, uint64_t start, uint64_t stop, bool drop)
{
    struct array out = *a;
    uint64_t index[RANK_MOST] = {0};
    out.shape[axis] = stop - start;
    for (uint64_t i = 0; i < count_of(&out); i++) {
        index_of(&out, i, index);
        index[axis] += start;
        out.element[i] = a->element[position_of(a, index)];
    }
    if (drop) {
        memmove(out.shape + axis, out.shape + axis + 1, (out.rank - axis - 1) * sizeof(*out.shape));
        out.rank--;
    }
    *a = out;
}

/* --- random operations ------------------------------------------------------------------- */

static void random_shape(struct array *a)
{
    a->rank = (unsigned)random_below(RANK_MOST);
    for (unsigned d = 0; d < a->rank; d++)
        a->shape[d] = random_below(20) ? 1 + random_below(6) : 0;
}

/* Another shape of as many elements. */
static void random_reshape(struct array *a, struct text *ops)
{
    uint64_t left = count_of(a);
    text_adds(ops, "[\"reshape\",[");
    unsigned rank = 0;
    while (left > 1 && rank + 1 < RANK_MOST && random_below(5)) {
        uint64_t n = 1 + random_below(left);
        while (left % n)
            n--;
        a->shape[rank++] = n;
        left /= n;
    }
    a->shape[rank++] = left;
    a->rank = rank;
    unsigned open = (unsigned)random_below(3 * rank);
    for (unsigned d = 0; d < rank; d++)
        text_addf(ops, "%s%d", d ? "," : "", d == open && count_of(a) ? -1 : (int)a->shape[d]);
    text_adds(ops, "]]");
}

static void random_permute(struct array *a, struct text *ops)
{
    unsigned order[RANK_MOST];
    text_adds(ops, "[\"permute\",[");
    for (unsigned d = 0; d < a->rank; d++) {
        unsigned at = (unsigned)random_below(d + 1);
        memmove(order + at + 1, order + at, (d - at) * sizeof(*order));
        order[at] = d;
    }
    for (unsigned d = 0; d < a->rank; d++)
        text_addf(ops, "%s%d", d ? "," : "",
                  random_below(2) ? (int)order[d] : (int)order[d] - (int)a->rank);
    text_adds(ops, "]]");
    plain_permute(a, order);
}

static void random_part(struct array *a, struct text *ops)
{
    unsigned axis = (unsigned)random_below(a->rank);
    uint64_t start = random_below(a->shape[axis] + 1);
    uint64_t stop = start + random_below(a->shape[axis] - start + 1);
    if (stop > start && random_below(3) == 0) {
        text_addf(ops, "[\"take\",%u,%d]", axis,
                  (int)start - (random_below(2) ? (int)a->shape[axis] : 0));
        plain_slice(a, axis, start, start + 1, true);
    } else {
        text_addf(ops, "[\"slice\",%u,%d,%d]", axis, (int)start, (int)stop);
        plain_slice(a, axis, start, stop, false);
    }
}

static void random_flatten(struct array *a, struct text *ops)
{
    unsigned from = (unsigned)random_below(a->rank);
    unsigned to = from + (unsigned)random_below(a->rank - from);
    text_addf(ops, "[\"flatten\",%u,%d]", from, (int)to - (int)a->rank);
    for (unsigned d = from + 1; d <= to; d++)
        a->shape[from] *= a->shape[d];
    memmove(a->shape + from + 1, a->shape + to + 1, (a->rank - to - 1) * sizeof(*a->shape));
    a->rank -= to - from;
}

static void random_transpose(struct array *a, struct text *ops)
{
    unsigned order[RANK_MOST];
    for (unsigned d = 0; d < a->rank; d++)
        order[d] = a->rank - 1 - d;
    text_adds(ops, "[\"transpose\"]");
    plain_permute(a, order);
}

static void random_operations(struct array *a, struct text *ops)
{
    text_addc(ops, '[');
    for (uint64_t n = random_below(6); n > 0; n--) {
        text_adds(ops, ops->len > 1 ? ", " : "");
        switch (a->rank ? random_below(5) : 0) {
        case 0:
            if (count_of(a)) /* a size of 0 keeps an axis */
                random_reshape(a, ops);
            else
                random_transpose(a, ops);
            break;
        case 1: random_permute(a, ops); break;
        case 2: random_part(a, ops); break;
        case 3: random_flatten(a, ops); break;
        default: random_transpose(a, ops);
        }
    }
    text_addc(ops, ']');
}

/* --- stored tensors ---------------------------------------------------------------------- */

struct stock {
    struct stored_tensor t[PARTS_MOST];
    struct extent extent[PARTS_MOST];
    uint64_t shape[PARTS_MOST][2 * RANK_MOST];
    int64_t strides[PARTS_MOST][2 * RANK_MOST];
    uint8_t *store[PARTS_MOST];
    char codec[PARTS_MOST][32];
    unsigned count;
};

static size_t squeeze(const void *from, size_t len, uint8_t *to, size_t room)
{
    z_stream z = {0};
    assert_int_equal(Z_OK, deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY));
    z.next_in = (Bytef *)from;
    z.avail_in = (uInt)len;
    z.next_out = to;
    z.avail_out = (uInt)room;
    assert_int_equal(Z_STREAM_END, deflate(&z, Z_FINISH));
    size_t used = room - z.avail_out;
    deflateEnd(&z);
    return used;
}

/* Store the array in C order, in Fortran order, or deflated. */
static void stock_add(struct stock *s, const struct array *a)
{
    unsigned i = s->count++;
    uint64_t n = count_of(a), step = 1, index[2 * RANK_MOST] = {0};
    size_t bytes = (size_t)n * 4, room = bytes + 1024;
    uint32_t *order = malloc(bytes + 1);
    uint64_t how = n ? random_below(3) : 0;
    s->store[i] = malloc(room);
    assert_true(order && s->store[i]);
    memcpy(s->shape[i], a->shape, sizeof(s->shape[i]));
    memcpy(order, a->element, bytes);
    s->extent[i] = (struct extent){.file = NO_FILE, .stored = bytes, .bytes = s->store[i]};
    s->t[i] = (struct stored_tensor){
        .id = i,
        .checkpoint = "stock",
        .name = "t",
        .rank = a->rank,
        .shape = s->shape[i],
        .elements = n,
        .nbytes = bytes,
        .storage = STORAGE_INLINE,
        .extents = &s->extent[i],
        .extent_count = 1,
    };
    dtype_find("uint32", &s->t[i].dtype);
    if (how == 1 && a->rank) {
        for (unsigned d = 0; d < a->rank; step *= a->shape[d++])
            s->strides[i][d] = (int64_t)step;
        for (uint64_t at = 0; at < n; at++) {
            uint64_t to = 0;
            index_of(a, at, index);
            for (unsigned d = 0; d < a->rank; d++)
                to += index[d] * (uint64_t)s->strides[i][d];
            order[to] = a->element[at];
        }
        s->t[i].strides = s->strides[i];
    }
    memcpy(s->store[i], order, bytes);
    if (how == 2) {
        snprintf(s->codec[i], sizeof(s->codec[i]), "deflate:%zu", bytes);
        s->t[i].codec = s->codec[i];
        s->extent[i].stored = squeeze(order, bytes, s->store[i], room);
    }
    free(order);
}

static enum status stock_load(void *context, int64_t id, struct arena *arena,
                              struct stored_tensor *out, struct error *err)
{
    (void)arena;
    const struct stock *s = context;
    if (id < 0 || id >= s->count)
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "no tensor %d", (int)id);
    *out = s->t[id];
    return OK;
}

static void stock_release(struct stock *s)
{
    while (s->count)
        free(s->store[--s->count]);
}

/* --- comparing --------------------------------------------------------------------------- */

static void compare_reads(struct reader *r, const struct array *want)
{
    uint64_t n = count_of(want);
    uint32_t got[ELEMENTS_MOST];
    struct error err = {.offset = NO_OFFSET};
    for (int turn = 0; turn < 4; turn++) {
        uint64_t from = turn ? random_below(n * 4 + 1) : 0;
        size_t len = (size_t)(turn ? random_below(n * 4 - from + 1) : n * 4);
        assert_int_equal(OK, reader_read(r, from, got, len, &err));
        assert_memory_equal(got, (const uint8_t *)want->element + from, len);
    }
    for (uint64_t at = 0, step; at < n; at += step) { /* front to back, as an export does */
        step = 1 + random_below(n - at);
        assert_int_equal(OK, reader_read(r, at * 4, got, (size_t)step * 4, &err));
        assert_memory_equal(got, want->element + at, step * 4);
    }
}

static void compare_slice(struct reader *r, const struct array *want)
{
    struct ckptdb_slice slices[2 * RANK_MOST];
    uint32_t got[ELEMENTS_MOST];
    uint64_t index[2 * RANK_MOST] = {0};
    struct array out = *want;
    struct error err = {.offset = NO_OFFSET};
    for (unsigned d = 0; d < want->rank; d++) {
        int64_t step = random_below(2) ? 1 : (int64_t)random_below(5) - 2;
        uint64_t start = random_below(want->shape[d] + 1), count = 0;
        if (start < want->shape[d] && step)
            count = 1 + random_below(step > 0 ? (want->shape[d] - start - 1) / (uint64_t)step + 1
                                              : start / (uint64_t)-step + 1);
        slices[d] = (struct ckptdb_slice){count ? start : 0, count, step ? step : 1};
        out.shape[d] = count;
    }
    uint64_t n = count_of(&out);
    for (uint64_t i = 0; i < n; i++) {
        index_of(&out, i, index);
        for (unsigned d = 0; d < want->rank; d++)
            index[d] = slices[d].start + index[d] * (uint64_t)slices[d].step;
        out.element[i] = want->element[position_of(want, index)];
    }
    assert_int_equal(OK, reader_read_slice(r, slices, 0, got, (size_t)n * 4, &err));
    assert_memory_equal(got, out.element, n * 4);
}

/* False: the recipe is refused, for cutting across what was put together. */
static bool compare(struct stock *s, const char *recipe, const struct array *want)
{
    struct arena arena = {0};
    struct stored_tensor t;
    struct reader *r = NULL;
    struct error err = {.offset = NO_OFFSET};
    const struct composer composer = {stock_load, s};
    bool made = compose(recipe, &composer, &arena, &t, &err) == OK;
    if (!made && !strstr(err.message, "put together"))
        fail_msg("%s: %s", recipe, err.message);
    if (made) {
        assert_int_equal(t.rank, want->rank);
        for (unsigned d = 0; d < t.rank; d++)
            assert_int_equal(t.shape[d], want->shape[d]);
        if (reader_open(&t, NULL, &r, &err) != OK)
            fail_msg("%s: %s", recipe, err.message);
        compare_reads(r, want);
        compare_slice(r, want);
        assert_int_equal(OK, reader_verify(r, &err));
    }
    reader_close(r);
    arena_release(&arena);
    return made;
}

static void number(struct array *a, uint32_t from)
{
    for (uint64_t i = 0; i < count_of(a); i++)
        a->element[i] = from + (uint32_t)i;
}

TEST(one_tensor)
{
    int refused = 0, turns = 20000;
    for (int turn = 0; turn < turns; turn++) {
        struct stock s = {0};
        struct array a = {0};
        struct text ops = {0}, recipe = {0};
        random_shape(&a);
        number(&a, 1);
        stock_add(&s, &a);
        random_operations(&a, &ops);
        text_addf(&recipe, "[[[0,%s]],null,null]", text_str(&ops));
        refused += !compare(&s, text_str(&recipe), &a);
        text_release(&ops);
        text_release(&recipe);
        stock_release(&s);
    }
    if (refused > turns / 5)
        fail_msg("%d of %d refused", refused, turns);
}

/* Parts that have one shape except along the joined axis, which operations turn around. */
struct parts {
    bool stack, turned, flat;
    unsigned axis;
    uint64_t count;
    struct array part[PARTS_MOST], whole;
    struct stock stock;
    struct text recipe;
};

static void choose_parts(struct parts *p)
{
    struct array *whole = &p->whole;
    *p = (struct parts){.stack = random_below(2), .turned = random_below(2)};
    p->count = 1 + random_below(PARTS_MOST);
    do
        random_shape(whole);
    while (!p->stack && !whole->rank);
    p->axis = (unsigned)random_below(whole->rank + p->stack);
    for (uint64_t i = 0; i < p->count; i++) {
        p->part[i] = *whole;
        if (!p->stack)
            p->part[i].shape[p->axis] = random_below(5);
        number(&p->part[i], (uint32_t)i * 100000 + 1);
    }
    if (p->stack) {
        memmove(whole->shape + p->axis + 1, whole->shape + p->axis,
                (whole->rank - p->axis) * sizeof(*whole->shape));
        whole->rank++;
    }
    whole->shape[p->axis] = p->stack ? p->count : 0;
    for (uint64_t i = 0; i < p->count && !p->stack; i++)
        whole->shape[p->axis] += p->part[i].shape[p->axis];
    p->flat = count_of(whole) && random_below(2);
}

static void store_parts(struct parts *p)
{
    static const char *const operations[] = {"null", "[[\"transpose\"]]"};
    text_adds(&p->recipe, "[[");
    for (uint64_t i = 0; i < p->count; i++) {
        struct array stored = p->part[i];
        struct text unused = {0};
        if (p->turned)
            random_transpose(&stored, &unused);
        stock_add(&p->stock, &stored);
        text_release(&unused);
        text_addf(&p->recipe, "%s[%d,%s]", i ? "," : "", (int)i, operations[p->turned]);
    }
    text_addf(&p->recipe, "],[\"%s\",%u],%s]", p->stack ? "stack" : "concat", p->axis,
              p->flat ? "[[\"reshape\",[-1]]]" : "null");
}

static void join_plainly(struct parts *p)
{
    struct array *whole = &p->whole;
    uint64_t index[2 * RANK_MOST] = {0}, n = count_of(whole);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t which = 0;
        index_of(whole, i, index);
        if (p->stack) {
            which = index[p->axis];
            memmove(index + p->axis, index + p->axis + 1,
                    (whole->rank - p->axis - 1) * sizeof(*index));
        }
        while (!p->stack && index[p->axis] >= p->part[which].shape[p->axis])
            index[p->axis] -= p->part[which++].shape[p->axis];
        whole->element[i] = p->part[which].element[position_of(&p->part[which], index)];
    }
    if (p->flat) {
        whole->rank = 1;
        whole->shape[0] = n;
    }
}

TEST(several)
{
    for (int turn = 0; turn < 5000; turn++) {
        static struct parts p;
        choose_parts(&p);
        if (count_of(&p.whole) <= ELEMENTS_MOST) {
            store_parts(&p);
            join_plainly(&p);
            assert_true(compare(&p.stock, text_str(&p.recipe), &p.whole));
        }
        text_release(&p.recipe);
        stock_release(&p.stock);
    }
}

/* --- values ------------------------------------------------------------------------------ */

TEST(values)
{
    static const float stored[6] = {1, -2, 3, 0.5f, 1e30f, 7};
    static const struct {
        const char *recipe;
        float want[6];
    } cases[] = {
        {"[[[0,[[\"scale\",0.5]]]],null,null]", {0.5f, -1, 1.5f, 0.25f, 5e29f, 3.5f}},
        {"[[[0,[[\"scale\",\"-2\"],[\"scale\",2]]]],null,null]", {-4, 8, -12, -2, -4e30f, -28}},
        {"[[[0,[[\"zeros\"]]]],null,null]", {0, 0, 0, 0, 0, 0}},
        {"[[[0,[[\"add\",1]]]],null,null]", {2, -1, 4, 1.5f, 1e30f, 8}},
        {"[[[0,[[\"scale\",2],[\"add\",\"-1\"]]]],null,null]", {1, -5, 5, 0, 2e30f, 13}},
        {"[[[0,[[\"add\",1],[\"scale\",2]]]],null,null]", {4, -2, 8, 3, 2e30f, 16}},
        {"[[[0,[[\"scale\",3],[\"zeros\",[2,3]]]]],null,null]", {0, 0, 0, 0, 0, 0}},
    };
    struct stock s = {.count = 1, .shape = {{2, 3}}};
    s.extent[0] = (struct extent){.file = NO_FILE, .stored = 24, .bytes = stored};
    s.t[0] = (struct stored_tensor){.checkpoint = "stock",
                                    .name = "t",
                                    .rank = 2,
                                    .shape = s.shape[0],
                                    .elements = 6,
                                    .nbytes = 24,
                                    .storage = STORAGE_INLINE,
                                    .extents = s.extent,
                                    .extent_count = 1};
    dtype_find("float32", &s.t[0].dtype);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena = {0};
        struct stored_tensor t;
        struct reader *r = NULL;
        struct error err = {.offset = NO_OFFSET};
        const struct composer composer = {stock_load, &s};
        float got[6];
        print_message("%s\n", cases[i].recipe);
        assert_int_equal(OK, compose(cases[i].recipe, &composer, &arena, &t, &err));
        assert_int_equal(OK, reader_open(&t, NULL, &r, &err));
        assert_int_equal(OK, reader_read(r, 0, got, sizeof(got), &err));
        assert_memory_equal(got, cases[i].want, sizeof(got));
        reader_close(r);
        arena_release(&arena);
    }
}

/* If memory runs out inside a recipe, its operations are not taken for none. */
TEST(lack)
{
    char recipe[65536];
    snprintf(recipe, sizeof(recipe),
             "[[[0,[[\"reshape\",%100s[3,2]]]]],null,[[\"reshape\",%60000s[6]]]]", "", "");
    struct stock s = {.count = 1, .shape = {{2, 3}}};
    s.t[0] = (struct stored_tensor){.checkpoint = "stock",
                                    .name = "t",
                                    .rank = 2,
                                    .shape = s.shape[0],
                                    .elements = 6,
                                    .nbytes = 24};
    dtype_find("float32", &s.t[0].dtype);
    enum status status = ERR_MEMORY;
    for (size_t ceiling = 16; status != OK; ceiling += 64) {
        struct arena arena = {.ceiling = ceiling};
        struct stored_tensor t;
        struct error err = {.offset = NO_OFFSET};
        const struct composer composer = {stock_load, &s};
        status = compose(recipe, &composer, &arena, &t, &err);
        if (status == OK)
            assert_int_equal(1, t.rank);
        else
            assert_int_equal(ERR_MEMORY, status);
        arena_release(&arena);
        assert_true(ceiling < 100000);
    }
}

/* --- nonsense ---------------------------------------------------------------------------- */

TEST(refused)
{
    static const struct {
        const char *recipe, *why;
    } cases[] = {
        {"", "a recipe is a JSON list"},
        {"[", "a recipe is a JSON list"},
        {"[[],null]", "a recipe is a JSON list"},
        {"[[],null,null]", "a recipe without parts"},
        {"[{\"a\":[0,null]},null,null]", "a recipe without parts"},
        {"[[[0,null],[0,x]],null,null]", "a recipe is a JSON list"},
        {"[[[0,[[\"take\",0,0],]]],null,null]", "a recipe is a JSON list"},
        {"[[[0,[[\"take\",{\"a\":[0]},0]]]],null,null]", "no such axis"},
        {"[[[0,{\"take\":[0,0]}]],null,null]", "a list of lists"},
        {"[[[0,[{\"take\":[0,0]}]]],null,null]", "an operation is a list"},
        {"[[[0,[[\"permute\",{\"a\":0}]]]],null,null]", "as many axes"},
        {"[[7],null,null]", "a part is a list"},
        {"[[[]],null,null]", "a part is a list"},
        {"[[[\"x\",null]],null,null]", "a part is a list"},
        {"[[[9,null]],null,null]", "no tensor 9"},
        {"[[[0,null],[0,null]],null,null]", "no join"},
        {"[[[0,[[\"fold\"]]]],null,null]", "unknown operation 'fold'"},
        {"[[[0,[[]]]],null,null]", "begins with its name"},
        {"[[[0,[7]]],null,null]", "an operation is a list"},
        {"[[[0,7]],null,null]", "a list of lists"},
        {"[[[0,[[\"permute\"]]]],null,null]", "wrong number of arguments"},
        {"[[[0,[[\"permute\",[0,0]]]]],null,null]", "each axis is wanted once"},
        {"[[[0,[[\"permute\",[0]]]]],null,null]", "as many axes"},
        {"[[[0,[[\"transpose\",0]]]],null,null]", "two axes are wanted"},
        {"[[[0,[[\"transpose\",0,2]]]],null,null]", "no such axis"},
        {"[[[0,[[\"reshape\",[4]]]]],null,null]", "6 elements cannot have this shape"},
        {"[[[0,[[\"reshape\",[-1,-1]]]]],null,null]", "such sizes make no shape"},
        {"[[[0,[[\"reshape\",[-2]]]]],null,null]", "such sizes make no shape"},
        {"[[[0,[[\"reshape\",[2,3,0]]]]],null,null]", "such sizes make no shape"},
        {"[[[0,[[\"reshape\",6]]]],null,null]", "a list of sizes"},
        {"[[[0,[[\"reshape\",[4294967296,4294967296,4294967296]]]]],null,null]", "overflows"},
        {"[[[0,[[\"flatten\",1,0]]]],null,null]", "comes before the first"},
        {"[[[0,[[\"take\",0,2]]]],null,null]", "not that long"},
        {"[[[0,[[\"take\",0,-3]]]],null,null]", "not that long"},
        {"[[[0,[[\"take\",0,1.5]]]],null,null]", "not that long"},
        {"[[[0,[[\"slice\",0,1,3]]]],null,null]", "not that long"},
        {"[[[0,[[\"slice\",0,1,0]]]],null,null]", "ends before it begins"},
        {"[[[0,[[\"scale\",\"x\"]]]],null,null]", "a number is wanted"},
        {"[[[0,[[\"scale\",2]]]],null,null]", "uint32 elements cannot be scaled"},
        {"[[[0,[[\"add\",[1]]]]],null,null]", "a number is wanted"},
        {"[[[0,[[\"add\",1]]]],null,null]", "uint32 elements cannot be added to"},
        {"[[[0,[[\"zeros\",[-1]]]]],null,null]", "a size is negative"},
        {"[[[0,[[\"zeros\",[4294967296,4294967296]]]]],null,null]", "overflows"},
        {"[[[0,[[\"unstack\",0]]]],null,null]", "only a map of dialect convert"},
        {"[[[0,null],[1,null]],[\"stack\",0],null]", "shapes or dtypes differ"},
        {"[[[0,null],[0,null]],[\"stack\",3],null]", "no such axis"},
        {"[[[0,null],[0,null]],[\"take\",0,0],null]", "joined by stack or concat"},
        {"[[[0,null],[0,null]],[\"stack\",0],[[\"transpose\"]]]", "can follow stack and concat"},
        {"[[[0,[[\"transpose\"],[\"flatten\",0,1],[\"reshape\",[4,-1]]]]],null,null]",
         "cannot have this shape"},
        {"[[[1,[[\"transpose\"],[\"reshape\",[3,8]]]]],null,null]", "put together"},
    };
    struct stock s = {0};
    struct array a = {.rank = 2, .shape = {2, 3}}, b = {.rank = 2, .shape = {6, 4}};
    number(&a, 0);
    number(&b, 0);
    stock_add(&s, &a);
    stock_add(&s, &b);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena = {0};
        struct stored_tensor t;
        struct error err = {.offset = NO_OFFSET};
        const struct composer composer = {stock_load, &s};
        print_message("%s\n", cases[i].recipe);
        assert_int_not_equal(OK, compose(cases[i].recipe, &composer, &arena, &t, &err));
        if (!strstr(err.message, cases[i].why))
            fail_msg("%s", err.message);
        arena_release(&arena);
    }
    stock_release(&s);
}

/* Labels and numbers of the parts; "": the operations are refused. */
TEST(divided)
{
    static const struct {
        const char *operations, *labels;
    } cases[] = {
        {"[[\"unstack\",0]]", "0 1 "},
        {"[[\"unstack\",0,1]]", "1 2 "},
        {"[[\"unstack\",0,\"7\"]]", "7 8 "},
        {"[[\"unstack\",0,1.5]]", ""},
        {"[[\"unstack\",0,\"1x\"]]", ""},
        {"[[\"unstack\",0,-1]]", ""},
        {"[[\"unstack\",0,[1]]]", ""},
        {"[[\"split\",1,3]]", "0 1 2 "},
        {"[[\"split\",1,3,[\"q\",\"k\",\"v\"]]]", "q k v "},
        {"[[\"split\",1,[2,1],[5,\"k\"]]]", "5 k "},
        {"[[\"split\",1,3,[\"q\",\"k\"]]]", ""},
        {"[[\"split\",1,3,[]]]", ""},
        {"[[\"split\",1,3,\"qkv\"]]", ""},
        {"[[\"split\",1,3,[\"q\",\"k\",\"v\",\"w\"]]]", ""},
        {"[[\"copies\",[\"a\",\"b\"]]]", "a b "},
        {"[[\"copies\",[]]]", ""},
        {"[[\"copies\",\"a\"]]", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena = {0};
        struct operation_part *part = NULL;
        struct error err = {.offset = NO_OFFSET};
        char labels[64] = "";
        size_t count = 0;
        print_message("%s\n", cases[i].operations);
        parts_of(cases[i].operations, "[2,3]", &arena, &part, &count, &err);
        for (size_t k = 0; k < count; k++)
            snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "%s ",
                     part[k].label);
        assert_string_equal(cases[i].labels, labels);
        assert_int_equal(*cases[i].labels ? OK : ERR_ARGUMENT, err.status);
        arena_release(&arena);
    }
}

/* Arbitrary text: cut off, and with bytes changed. */
TEST(any_text)
{
    static const char good[] = "[[[0,[[\"reshape\",[3,2]],[\"permute\",[1,0]],[\"slice\",0,0,"
                               "1]]],[1,[[\"take\",1,2],[\"scale\",\"2\"]]]],[\"concat\",-1],"
                               "[[\"flatten\",0,-1]]]";
    static const char other[] = "[]\",0-9.e\\ \nnul{}:ax";
    struct stock s = {0};
    struct array a = {.rank = 2, .shape = {2, 3}};
    number(&a, 0);
    stock_add(&s, &a);
    stock_add(&s, &a);
    for (int turn = 0; turn < 50000; turn++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        for (uint64_t n = random_below(4); n > 0; n--)
            text[random_below(sizeof(good) - 1)] = other[random_below(sizeof(other) - 1)];
        if (random_below(3) == 0)
            text[random_below(sizeof(good))] = '\0';
        struct arena arena = {0};
        struct stored_tensor t;
        struct error err = {.offset = NO_OFFSET};
        const struct composer composer = {stock_load, &s};
        if (compose(text, &composer, &arena, &t, &err) == OK)
            assert_int_equal(t.elements * 4, t.nbytes);
        arena_release(&arena);
    }
    stock_release(&s);
}

RUN_TESTS(NULL, NULL)
