/*
 * folds.c - the modules of a layout, with repeated ones folded (catalog/data/model/module_tree.h).
 *
 * A name with many components makes as many modules. If there are far more modules than
 * tensors, as in no real model, nothing is folded.
 */
#include <string.h>

#include "catalog/data/model/module_tree.h"
#include "importer/job/job_private.h"

char layout_separator(const struct batch_layout *l, char own)
{
    const char other = *(own == '/' ? "." : "/");
    bool others = false;
    for (uint64_t i = 0; i < l->tensor_count; i++) {
        const struct batch_tensor *t = &l->tensors[i];
        if (memchr(t->name, own, t->name_len))
            return own;
        others = others || memchr(t->name, other, t->name_len);
    }
    if (others)
        return other;
    return own;
}

#define MODULES_FREE 4096 /* allowed for any layout */
#define MODULES_EACH 8    /* and this many more per tensor */

struct listing {
    struct job *job;
    struct batch_layout *layout;
    size_t space;
};

static void add_fold(void *context, const struct module_visit *v, const struct module *m)
{
    struct listing *l = context;
    *PUSH(l->job->arena, l->layout->folds, l->layout->fold_count, l->space) =
        (struct batch_fold){arena_copy(l->job->arena, v->path, strlen(v->path)), v->depth,
                            m->tensors, m->parameters, m->nbytes};
}

void layout_fold(struct job *job, struct batch_layout *layout, char separator)
{
    struct module_tree tree = {0};
    struct listing l = {.job = job, .layout = layout};
    const uint64_t most = MODULES_FREE + MODULES_EACH * layout->tensor_count;
    bool good = module_tree_init(&tree, separator, layout->tensor_count);
    tree.borrows = true;
    for (uint64_t i = 0; good && i < layout->tensor_count && tree.count <= most; i++) {
        const struct batch_tensor *t = &layout->tensors[i];
        const struct batch_kind *k = t->kind;
        good = module_tree_add(&tree, t->name, k->dtype, k->shape_text ? k->shape_text : "",
                               k->counted ? k->elements : 0, k->nbytes);
    }
    if (good && tree.count <= most)
        good = module_tree_finish(&tree) && module_tree_modules(&tree, add_fold, &l);
    module_tree_release(&tree);
    if (!good)
        error_memory(job->err);
}
