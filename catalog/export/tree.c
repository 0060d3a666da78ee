#include "catalog/export/tree.h"

#include <string.h>

/* EXPORT_BY_TREE sorts '/' first, so whatever is below a name follows it immediately. */
enum status export_check_tree(struct export_plan *p, struct error *err)
{
    struct export_scan *scan = NULL;
    struct export_tensor *t;
    struct text before = {0};
    bool first = true;
    if (export_scan_open(p->rows, EXPORT_BY_TREE, EXPORT_ALL, &scan, err) != OK)
        return err->status;
    while (export_scan_next(scan, &t, err) == OK && t) {
        bool below =
            !first && (!before.len || (strncmp(t->name, text_str(&before), before.len) == 0 &&
                                       t->name[before.len] == '/'));
        if (below)
            refuse_tensor(&p->refusals, t->name,
                          "below \"%.400s\", which is a tensor and cannot hold others; "
                          "--names or --where can leave one of them out",
                          text_str(&before));
        text_reset(&before);
        if (!text_adds(&before, t->name)) {
            error_memory(err);
            break;
        }
        first = false;
    }
    text_release(&before);
    export_scan_close(scan);
    return err->status;
}
