/*
 * merge_recipe.c - reads the steps by which adapters are merged into a tensor, and checks that they fit it.
 */
#include "catalog/data/compose/merge_recipe.h"

#include <math.h>
#include <string.h>

#include "catalog/data/compose/shapes.h"
#include "catalog/data/convert/convert.h"

#define STEP_ELEMENTS 7 /* of the longest step */

static enum status merge_refuse(struct error *err, const char *why)
{
    return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "%s", why);
}

static bool is_word(const struct argument *a, const char *word)
{
    return a->text && a->len == strlen(word) && memcmp(a->at, word, a->len) == 0;
}

/* Find a tensor of an adapter; its numbers are read as float32. */
static struct stored_tensor *load_number(const struct composer *from, struct arena *arena,
                                         const struct argument *id, struct error *err)
{
    struct stored_tensor *t = arena_alloc(arena, sizeof(*t));
    struct converter to_single;
    struct dtype single;
    if (!id->whole)
        merge_refuse(err, "a step names tensors by their ids");
    if (!t || err->status != OK || from->load(from->context, id->integer, arena, t, err) != OK)
        return NULL;
    dtype_find("float32", &single);
    if (converter_find(&t->dtype, &single, &to_single, err) != OK)
        error_prefix(err, t->name);
    return t;
}

static void refuse_shape(const struct stored_tensor *t, const struct stored_tensor *base,
                         struct error *err)
{
    struct text shapes[2] = {{.limit = 1000}, {.limit = 1000}};
    shape_print(&shapes[0], t->shape, t->rank);
    shape_print(&shapes[1], base->shape, base->rank);
    const char *own = text_str(&shapes[0]), *other = text_str(&shapes[1]);
    error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET,
              "%.300s has shape %.200s, which does not fit %.200s", t->name, own ? own : "?",
              other ? other : "?");
    text_release(&shapes[0]);
    text_release(&shapes[1]);
}

/* Whether a tensor is a matrix of these rows and columns; a kernel of a convolution has more axes. */
static bool is_matrix(const struct stored_tensor *t, uint64_t rows, uint64_t columns)
{
    uint64_t elements;
    return t->rank >= 2 && t->shape[0] == rows && mul_u64(rows, columns, &elements) &&
           t->elements == elements;
}

static void check_lora(const struct merging *m, struct merge_step *s, struct error *err)
{
    const uint64_t out = s->turned ? m->columns : m->rows, in = s->turned ? m->rows : m->columns;
    s->terms = s->a->rank ? s->a->shape[0] : 0;
    if (!s->terms || !is_matrix(s->a, s->terms, in))
        refuse_shape(s->a, m->base, err);
    else if (!is_matrix(s->b, out, s->terms) || s->b->shape[1] != s->terms)
        refuse_shape(s->b, m->base, err);
    else if (s->magnitude && s->magnitude->elements != out)
        refuse_shape(s->magnitude, m->base, err);
    else if (s->alpha && s->alpha->elements != 1)
        refuse_shape(s->alpha, m->base, err);
}

/* The elements of one step, in `e`; those that it lacks are zero. */
static void read_step(struct merging *m, const struct argument e[STEP_ELEMENTS],
                      const struct composer *from, struct arena *arena, struct merge_step *s,
                      struct error *err)
{
    const bool lora = is_word(&e[0], "lora");
    s->kind = lora ? MERGE_LORA : is_word(&e[0], "add") ? MERGE_ADD : MERGE_REPLACE;
    s->scale = e[1].number;
    if (!lora && s->kind == MERGE_REPLACE && !is_word(&e[0], "replace")) {
        merge_refuse(err, "a step is lora, add or replace");
        return;
    }
    if (!isfinite(s->scale)) {
        merge_refuse(err, "a step has no finite scale");
        return;
    }
    s->turned = lora && e[2].whole && e[2].integer;
    s->a = load_number(from, arena, &e[lora ? 3 : 2], err);
    s->b = lora && err->status == OK ? load_number(from, arena, &e[4], err) : NULL;
    if (lora && err->status == OK && e[5].whole)
        s->magnitude = load_number(from, arena, &e[5], err);
    if (lora && err->status == OK && e[6].whole)
        s->alpha = load_number(from, arena, &e[6], err);
    if (err->status == OK && lora)
        check_lora(m, s, err);
    else if (err->status == OK &&
             (s->a->rank != m->base->rank ||
              memcmp(s->a->shape, m->base->shape, s->a->rank * sizeof(*s->a->shape)) != 0))
        refuse_shape(s->a, m->base, err);
}

static void read_steps(struct merging *m, struct elements *rest, const struct composer *from,
                       struct arena *arena, struct error *err)
{
    const char *at;
    size_t len, space = 0;
    int more = 0;
    while (err->status == OK && (more = elements_next(rest, &at, &len)) > 0) {
        struct argument e[STEP_ELEMENTS] = {0};
        struct elements step;
        elements_of(&step, at, len);
        for (unsigned i = 0; i < STEP_ELEMENTS && elements_next(&step, &at, &len) > 0; i++)
            argument_read(&e[i], at, len);
        read_step(m, e, from, arena, PUSH(arena, m->step, m->count, space), err);
    }
    if (more < 0)
        merge_refuse(err, "the steps of a merge are a JSON list");
}

/* Quantised blocks are decoded by the reader of composed tensors, as the one part of a composition. */
static void decode_base(struct stored_tensor *t, struct arena *arena, struct error *err)
{
    struct composition *c = arena_alloc(arena, sizeof(*c));
    struct composed_part *part = arena_alloc(arena, sizeof(*part));
    struct stored_tensor *blocks = arena_alloc(arena, sizeof(*blocks));
    if (!c || !part || !blocks || shapes_dtype(&t->dtype, 1, 0, err) != OK ||
        view_init(&part->view, t->shape, t->rank, err) != OK)
        return;
    *blocks = *t;
    part->tensor = blocks;
    part->length = t->elements;
    *c = (struct composition){part, .count = 1, .rows = 1, .length = t->elements, .scale = 1};
    *t = (struct stored_tensor){
        .id = t->id,
        .checkpoint = t->checkpoint,
        .name = t->name,
        .rank = t->rank,
        .shape = t->shape,
        .elements = t->elements,
        .storage = STORAGE_COMPOSED,
        .composition = c,
    };
    dtype_find("float32", &t->dtype);
    if (!dtype_nbytes(&t->dtype, t->elements, &t->nbytes))
        merge_refuse(err, "the shape overflows");
}

static void check_base(struct merging *m, struct error *err)
{
    const struct stored_tensor *t = m->base;
    if (err->status == OK &&
        (t->dtype.kind != DTYPE_FLOAT || t->dtype.block_elems != 1 || t->dtype.bits > 32))
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET, "nothing can be merged into %s elements",
                  t->dtype.name);
    m->rows = t->rank ? t->shape[0] : 1;
    m->columns = m->rows ? t->elements / m->rows : 0;
}

enum status merge(const char *steps, const struct composer *from, struct arena *arena,
                  struct stored_tensor *t, struct error *err)
{
    struct error *const before = arena->err;
    struct elements list;
    struct argument dtype = {0};
    const char *at;
    size_t len;
    arena->err = err;
    struct merging *m = arena_alloc(arena, sizeof(*m));
    struct stored_tensor *base = arena_alloc(arena, sizeof(*base));
    elements_of(&list, steps, strlen(steps));
    if (m && base && elements_next(&list, &at, &len) > 0) {
        argument_read(&dtype, at, len);
        *base = *t;
        m->base = base;
        if (base->dtype.kind == DTYPE_BLOCK)
            decode_base(base, arena, err);
        check_base(m, err);
        read_steps(m, &list, from, arena, err);
    } else if (m && base) {
        merge_refuse(err, "the steps of a merge are a JSON list");
    }
    arena->err = before;
    arena->failed = arena->failed && before; /* without one, the next tensor is composed anew */
    if (err->status != OK || !base)
        return err->status;
    *t = (struct stored_tensor){
        .id = t->id,
        .checkpoint = t->checkpoint,
        .name = t->name,
        .dtype = base->dtype,
        .rank = base->rank,
        .shape = base->shape,
        .elements = base->elements,
        .storage = STORAGE_COMPOSED,
        .merging = m,
    };
    if (is_word(&dtype, "float32"))
        dtype_find("float32", &t->dtype);
    dtype_nbytes(&t->dtype, t->elements, &t->nbytes);
    return OK;
}
