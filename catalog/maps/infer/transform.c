/*
 * transform.c - finds tensors that are equal after operations (transform.h).
 */
#include "catalog/maps/infer/transform.h"

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

enum status infer_transforms(struct infer_task *task, struct error *err)
{
    struct transforms x = {.task = task, .err = err};
    const size_t most = task->a.count > task->b.count ? task->a.count : task->b.count;
    uint32_t *class = arena_array(task->arena, most + 1, sizeof(*class));
    x.next[0] = arena_array(task->arena, task->a.count + 1, sizeof(uint32_t));
    x.next[1] = arena_array(task->arena, task->b.count + 1, sizeof(uint32_t));
    if (!class || !x.next[0] || !x.next[1]) {
        transforms_no_room(&x);
    } else {
        transform_alone(&x, class);
        if (!transforms_stopped(&x))
            transform_pieces(&x, false, class);
        if (!transforms_stopped(&x))
            transform_pieces(&x, true, class);
    }
    for (int side = 0; side < 2; side++) {
        strmap_release(&x.sampled[side]);
        strmap_release(&x.classes[side]);
    }
    strmap_release(&x.ahead);
    strmap_release(&x.tried);
    return err->status;
}
