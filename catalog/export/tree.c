#include "catalog/export/tree.h"

#include <string.h>

int export_by_tree(const struct export_tensor *a, const struct export_tensor *b)
{
    size_t at = 0;
    while (a->name[at] && a->name[at] == b->name[at])
        at++;
    const unsigned char p = (unsigned char)a->name[at], q = (unsigned char)b->name[at];
    return p == q || !p || !q ? p - q : p == '/' ? -1 : q == '/' ? 1 : p - q;
}

/* Whatever is below a name follows it at once in the order of the tree. */
enum status export_check_tree(struct export_plan *p, struct error *err)
{
    struct export_tensor **order = export_order(p, export_by_tree, err);
    for (size_t i = 1; order && i < p->count; i++) {
        const char *above = order[i - 1]->name, *name = order[i]->name;
        const size_t len = strlen(above);
        if (!len || (strncmp(name, above, len) == 0 && name[len] == '/'))
            refuse_tensor(&p->refusals, name,
                          "below \"%.400s\", which is a tensor and cannot hold others; "
                          "--names or --where can leave one of them out",
                          above);
    }
    return err->status;
}
