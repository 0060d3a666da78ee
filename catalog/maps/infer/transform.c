/*
 * transform.c - finds tensors that are equal after operations (transform.h).
 */
#include "catalog/maps/infer/transform.h"

enum status infer_transforms(struct infer_task *task, struct error *err)
{
    struct transforms x = {.task = task,
                           .sampled = {{.err = err}, {.err = err}},
                           .classes = {{.err = err}, {.err = err}},
                           .tried.err = err,
                           .ahead.err = err,
                           .err = err};
    const size_t most = task->a.count > task->b.count ? task->a.count : task->b.count;
    uint32_t *class = arena_array(task->arena, most + 1, sizeof(*class));
    x.next[0] = arena_array(task->arena, task->a.count + 1, sizeof(uint32_t));
    x.next[1] = arena_array(task->arena, task->b.count + 1, sizeof(uint32_t));
    if (!transforms_stopped(&x))
        transform_alone(&x, class);
    if (!transforms_stopped(&x))
        transform_pieces(&x, false, class);
    if (!transforms_stopped(&x))
        transform_pieces(&x, true, class);
    for (int side = 0; side < 2; side++) {
        strmap_release(&x.sampled[side]);
        strmap_release(&x.classes[side]);
    }
    strmap_release(&x.ahead);
    strmap_release(&x.tried);
    return err->status;
}
