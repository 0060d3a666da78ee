/* pairing.c - what the files that find pairs share: noting a pair, and orders of axes. */
#include "catalog/maps/infer/transform.h"

bool infer_add(struct infer_task *t, struct infer_pair p)
{
    *PUSH(t->arena, t->pair, t->pairs, t->pair_space) = p;
    if (p.a != INFER_NONE)
        t->used_a[p.a]++;
    if (p.b != INFER_NONE)
        t->used_b[p.b] = true;
    return !t->arena->failed;
}

bool order_next(unsigned *axis, unsigned rank)
{
    unsigned i = rank - 1, k = rank - 1;
    while (i > 0 && axis[i - 1] >= axis[i])
        i--;
    if (i == 0)
        return false;
    while (axis[k] <= axis[i - 1])
        k--;
    unsigned swap = axis[i - 1];
    axis[i - 1] = axis[k];
    axis[k] = swap;
    for (k = rank - 1; i < k; i++, k--) {
        swap = axis[i];
        axis[i] = axis[k];
        axis[k] = swap;
    }
    return true;
}

static bool order_is_reversed(const unsigned *axis, unsigned rank)
{
    for (unsigned i = 0; i < rank; i++)
        if (axis[i] != rank - 1 - i)
            return false;
    return true;
}

void order_put(struct text *out, const unsigned *axis, unsigned rank)
{
    if (order_is_reversed(axis, rank)) {
        text_adds(out, "[\"transpose\"]");
        return;
    }
    text_adds(out, "[\"permute\",[");
    for (unsigned i = 0; i < rank; i++)
        text_addf(out, "%s%u", i ? "," : "", axis[i]);
    text_adds(out, "]]");
}
