/*
 * pickle_graph.c - run the opcodes of protocols 0 to 5 (listed in pickletools.py) symbolically.
 *
 *   stack    nodes; MARK records a height, below which nothing is popped
 *   memo     number -> node, a hash table: the file chooses the numbers
 *
 * An opcode that builds something pops its parts and pushes one node. Numbers, None, booleans
 * and the empty tuple are immutable, so equal ones may share a node.
 */
#include "importer/format/torch/pickle_graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/format/torch/pickle_private.h"

/* --- running ---------------------------------------------------------------------------- */

/* Opcodes that push one value from the bytes that follow. */
static bool run_value(struct machine *m, uint8_t op)
{
    switch (op) {
    case 'N':
        return pickle_push(m, NODE_NONE);
    case 0x88:
        return pickle_push(m, NODE_TRUE);
    case 0x89:
        return pickle_push(m, NODE_FALSE);
    case 'I':
        return pickle_push_decimal(m, false);
    case 'L':
        return pickle_push_decimal(m, true);
    case 'J':
        return pickle_int_of(m, 4);
    case 'K':
        return pickle_int_of(m, 1);
    case 'M':
        return pickle_int_of(m, 2);
    case 0x8a:
        return pickle_long_of(m, 1);
    case 0x8b:
        return pickle_long_of(m, 4); /* a negative length is over the limit */
    case 'F':
        return pickle_push_float_text(m);
    case 'G':
        return pickle_push_binary_float(m);
    case 'S':
        return pickle_push_quoted(m);
    case 'T':
        return pickle_text_of(m, 4, PICKLE_STR8);
    case 'U':
        return pickle_text_of(m, 1, PICKLE_STR8);
    case 'V':
        return pickle_push_raw_unicode(m);
    case 'X':
        return pickle_text_of(m, 4, 0);
    case 0x8c:
        return pickle_text_of(m, 1, 0);
    case 0x8d:
        return pickle_text_of(m, 8, 0);
    case 'B':
        return pickle_bytes_of(m, 4);
    case 'C':
        return pickle_bytes_of(m, 1);
    case 0x8e:
    case 0x96:
        return pickle_bytes_of(m, 8);
    case 'c':
        return pickle_do_global(m);
    case 'P':
        return pickle_push_persid(m, true);
    default:
        return pickle_fail(m, ERR_CORRUPT, "a byte that is not an opcode");
    }
}

/* Opcodes that build on what is on the stack. */
static bool run_container(struct machine *m, uint8_t op)
{
    switch (op) {
    case ')':
        return pickle_gather(m, PICKLE_TUPLE, 0);
    case 0x85:
    case 0x86:
    case 0x87:
        return pickle_gather(m, PICKLE_TUPLE, op - 0x84u);
    case 't':
        return pickle_gather_marked(m, PICKLE_TUPLE);
    case ']':
        return pickle_gather(m, PICKLE_LIST, 0);
    case 'l':
        return pickle_gather_marked(m, PICKLE_LIST);
    case 'a':
        return pickle_put_items(m, PICKLE_LIST, 1);
    case 'e':
        return pickle_put_marked(m, PICKLE_LIST);
    case '}':
        return pickle_gather(m, PICKLE_DICT, 0);
    case 'd':
        return pickle_gather_marked(m, PICKLE_DICT);
    case 's':
        return pickle_put_items(m, PICKLE_DICT, 2);
    case 'u':
        return pickle_put_marked(m, PICKLE_DICT);
    case 0x8f:
        return pickle_gather(m, PICKLE_SET, 0);
    case 0x90:
        return pickle_put_marked(m, PICKLE_SET);
    case 0x91:
        return pickle_gather_marked(m, PICKLE_SET);
    case 'Q':
        return pickle_push_persid(m, false);
    default:
        return run_value(m, op);
    }
}

static bool run_opcode(struct machine *m, uint8_t op)
{
    switch (op) {
    case '(':
        return pickle_mark(m);
    case '0':
        return pickle_do_pop(m);
    case '1':
        return pickle_do_pop_mark(m);
    case '2':
        return pickle_do_dup(m);
    case 'p':
        return pickle_memo_of(m, 0, pickle_memo_put);
    case 'q':
        return pickle_memo_of(m, 1, pickle_memo_put);
    case 'r':
        return pickle_memo_of(m, 4, pickle_memo_put);
    case 0x94:
        return pickle_memo_put(m, m->memo_count);
    case 'g':
        return pickle_memo_of(m, 0, pickle_memo_get);
    case 'h':
        return pickle_memo_of(m, 1, pickle_memo_get);
    case 'j':
        return pickle_memo_of(m, 4, pickle_memo_get);
    case 'R':
    case 0x81:
        return pickle_do_call(m);
    case 0x92:
        return pickle_do_newobj_ex(m);
    case 'i':
        return pickle_do_inst(m, true);
    case 'o':
        return pickle_do_inst(m, false);
    case 'b':
        return pickle_do_build(m);
    case 0x93:
        return pickle_do_stack_global(m);
    case 0x80:
        return pickle_do_proto(m);
    case 0x95:
        return pickle_take(m, 8) != NULL; /* a frame's size: not needed */
    case 0x82:
    case 0x83:
    case 0x84:
        return pickle_fail(m, ERR_UNSUPPORTED, "an extension code, which no file explains");
    case 0x97:
    case 0x98:
        return pickle_fail(m, ERR_UNSUPPORTED, "a buffer that is not in the file");
    default:
        return run_container(m, op);
    }
}

/* Create the nodes 0 to NODE_EMPTY_TUPLE. */
static bool fixed_nodes(struct machine *m)
{
    static const enum pickle_kind kinds[] = {PICKLE_NOTHING, PICKLE_NONE, PICKLE_FALSE, PICKLE_TRUE,
                                             PICKLE_TUPLE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (pickle_new_node(m, kinds[i]) != i)
            return false;
    return true;
}

static bool pickle_interpret(struct machine *m)
{
    m->stack = malloc(STACK_START * sizeof(*m->stack));
    m->stack_space = m->stack ? STACK_START : 0;
    if (!m->stack)
        return pickle_no_memory(m);
    if (!fixed_nodes(m))
        return false;
    for (;;) {
        m->op_at = m->at;
        const uint8_t *op = pickle_take(m, 1);
        if (!op)
            return false;
        if (*op == '.')
            return pickle_pop(m, &m->p->root);
        if (!run_opcode(m, *op))
            return false;
    }
}

/* --- dicts ------------------------------------------------------------------------------ */

#define FEW_PAIRS 8 /* so many keys are compared with each other */

static bool same_key(const struct pickle_node *a, const struct pickle_node *b)
{
    if (a->kind == PICKLE_TEXT)
        return b->kind == PICKLE_TEXT && a->count == b->count &&
               memcmp(a->text, b->text, a->count) == 0;
    return a->kind == PICKLE_INT && b->kind == PICKLE_INT && a->integer == b->integer;
}

static bool repeats_key(const struct pickle *p, const struct pickle_node *dict)
{
    for (uint32_t i = 2; i < dict->count; i += 2)
        for (uint32_t k = 0; k < i; k += 2)
            if (same_key(pickle_at(p, dict->items[k]), pickle_at(p, dict->items[i])))
                return true;
    return false;
}

/* Keep one pair of each key: the last value, in the place of the first. */
static bool settle_dict(struct machine *m, struct pickle_node *dict)
{
    struct strmap texts = {0}, numbers = {0};
    uint32_t kept = 0;
    bool ok = strmap_reserve(&texts, dict->count / 2);
    for (uint32_t i = 0; ok && i < dict->count; i += 2) {
        const struct pickle_node *key = pickle_at(m->p, dict->items[i]);
        uint64_t *at = NULL, to = kept;
        const bool text = key->kind == PICKLE_TEXT, number = key->kind == PICKLE_INT;
        bool added = true;
        if (text)
            at = strmap_add(&texts, key->text, key->count, &added);
        else if (number)
            at = strmap_add(&numbers, (const char *)&key->integer, sizeof(key->integer), &added);
        ok = at || !(text || number);
        if (at && !added)
            to = *at;
        else if (at)
            *at = kept;
        dict->items[to] = dict->items[added ? i : to];
        dict->items[to + 1] = dict->items[i + 1];
        kept += added ? 2 : 0;
    }
    dict->count = ok ? kept : dict->count;
    strmap_release(&texts);
    strmap_release(&numbers);
    return ok || pickle_no_memory(m);
}

static bool settle_dicts(struct machine *m)
{
    for (pickle_ref ref = 1; ref < m->p->node_count; ref++) {
        struct pickle_node *n = pickle_at(m->p, ref);
        if (n->kind == PICKLE_DICT && (n->count > 2 * FEW_PAIRS || repeats_key(m->p, n)) &&
            !settle_dict(m, n))
            return false;
    }
    return true;
}

enum status pickle_run(const struct source *source, uint64_t offset, uint64_t base,
                       struct arena *arena, struct pickle *out, struct error *err)
{
    *out = (struct pickle){.arena = arena};
    struct machine m = {.p = out,
                        .source = source,
                        .err = err,
                        .at = offset,
                        .base = base,
                        .window = malloc(WINDOW_BYTES),
                        .seed = hash_seed() | 1};
    if (!m.window)
        pickle_no_memory(&m);
    else if (offset > source->size)
        pickle_cut_short(&m);
    else if (pickle_interpret(&m))
        settle_dicts(&m);
    out->end = m.at;
    free(m.window);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    return err->status;
}

void pickle_release(struct pickle *p)
{
    strmap_release(&p->global_names);
}

/* --- look-ups --------------------------------------------------------------------------- */

pickle_ref pickle_item(const struct pickle *p, pickle_ref ref, uint32_t i)
{
    const struct pickle_node *n = pickle_at(p, ref);
    bool has = n->kind == PICKLE_TUPLE || n->kind == PICKLE_LIST || n->kind == PICKLE_DICT ||
               n->kind == PICKLE_SET || n->kind == PICKLE_PERSID;
    return has && i < n->count ? n->items[i] : 0;
}

bool pickle_is_text(const struct pickle *p, pickle_ref ref, const char *text)
{
    const struct pickle_node *n = pickle_at(p, ref);
    return n->kind == PICKLE_TEXT && n->count == strlen(text) &&
           memcmp(n->text, text, n->count) == 0;
}

pickle_ref pickle_get(const struct pickle *p, pickle_ref dict, const char *key)
{
    const struct pickle_node *n = pickle_at(p, dict);
    for (uint32_t i = 0; n->kind == PICKLE_DICT && i < n->count; i += 2)
        if (pickle_is_text(p, n->items[i], key))
            return n->items[i + 1];
    return 0;
}
