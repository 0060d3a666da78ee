/* params.c - lists of parameters, and the names of rows (optimizer.h). */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/optimizer/optimizer.h"

/* Parse the dimensions of "[2,3]" into the shape. False: the text is not a shape. */
static bool params_read_sizes(struct optimizer_shape *shape)
{
    const char *at = shape->text;
    if (*at++ != '[')
        return false;
    if (strcmp(at, "]") == 0)
        return true;
    for (;;) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        shape->size[shape->rank++] = strtoull(at, &end, 10);
        if (*end == ']')
            return end[1] == 0;
        if (*end != ',')
            return false;
        at = end + 1;
    }
}

static void order_sizes(struct optimizer_shape *s)
{
    for (unsigned k = 1; k < s->rank; k++)
        if (s->size[k] >= s->size[s->largest])
            s->largest = k;
    s->second = s->largest == 0;
    for (unsigned k = 0; k < s->rank; k++)
        if (k != s->largest && s->size[k] >= s->size[s->second])
            s->second = k;
}

/* Find or add the shape of this text; NULL if it is no shape. */
static const struct optimizer_shape *keep_shape(struct optimizer_params *p, const char *text)
{
    const char *kept;
    bool added;
    uint64_t *at = strmap_keep(&p->shapes, p->arena, text, strlen(text), &kept, &added);
    if (added) {
        struct optimizer_shape *s = arena_alloc(p->arena, sizeof(*s));
        /* Each dimension takes at least two characters. */
        uint64_t *size = arena_array(p->arena, strlen(text) / 2 + 1, sizeof(*size));
        if (!s || !size)
            return NULL;
        *s = (struct optimizer_shape){.text = kept, .size = size};
        if (params_read_sizes(s)) {
            order_sizes(s);
            *at = (uintptr_t)s;
        }
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a map's values are numbers */
    return (const struct optimizer_shape *)(uintptr_t)*at;
}

void optimizer_add_param(struct optimizer_params *p, const char *name, size_t len,
                         const char *shape, const char *dtype)
{
    struct optimizer_param param = {.name = arena_copy(p->arena, name, len), .len = len};
    bool added;
    p->shapes.err = p->dtypes.err = p->arena->err;
    if (shape)
        param.shape = keep_shape(p, shape);
    if (dtype)
        strmap_keep(&p->dtypes, p->arena, dtype, strlen(dtype), &param.dtype, &added);
    if (p->arena->err->status == OK) /* else the name is shorter than `len` */
        *PUSH(p->arena, p->at, p->count, p->space) = param;
}

void optimizer_release_params(struct optimizer_params *p)
{
    strmap_release(&p->shapes);
    strmap_release(&p->dtypes);
    *p = (struct optimizer_params){.arena = p->arena, .root = p->root};
}

bool optimizer_row_name(const struct optimizer_row *row, struct text *out)
{
    text_adds(out, row->path ? row->path : "");
    if (row->param) {
        text_addc(out, '/');
        text_add(out, row->param->name, row->param->len);
    }
    return text_adds(out, row->slot ? row->slot : "");
}
