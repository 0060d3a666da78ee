/*
 * fuzz_pickle.c - the symbolic pickle machine, over any bytes.
 */
#include <stdlib.h>

#include "importer/format/torch/pickle_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every node refers to nodes and globals that exist. */
static void check_nodes(const struct pickle *p)
{
    for (pickle_ref ref = 1; ref < p->node_count; ref++) {
        const struct pickle_node *n = pickle_at(p, ref);
        pickle_ref item;
        for (uint32_t i = 0; (item = pickle_item(p, ref, i)); i++)
            if (item >= p->node_count)
                abort();
        if (n->kind == PICKLE_GLOBAL && (uint64_t)n->integer >= p->global_count)
            abort();
        if (n->kind == PICKLE_CALL &&
            (n->call->callee >= p->node_count || n->call->args >= p->node_count ||
             n->call->state >= p->node_count))
            abort();
        if (n->kind == PICKLE_TEXT)
            pickle_text_offset(n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = (size_t)1 << 28, .err = &err};
    struct source *source = NULL;
    struct pickle p;
    if (source_open_memory("fuzzed", (struct bytes){data, size}, false, &source, &err) != OK)
        return 0;
    if (pickle_run(source, 0, 0, &arena, &p, &err) == OK && !p.root)
        abort();
    if (p.node_count)
        check_nodes(&p);
    source_close(source);
    arena_release(&arena);
    return 0;
}
