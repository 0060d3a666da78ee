/*
 * pickle_build.c - opcodes that build from what is on the stack: globals, calls, containers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/format/torch/pickle_private.h"

/* --- names ------------------------------------------------------------------------------ */

static const struct {
    const char *old, *today;
} modules[] = {
    {"__builtin__", "builtins"},
    {"copy_reg", "copyreg"},
    {"torch.tensor", "torch._tensor"},
    {"numpy._core", "numpy.core"},
    {"numpy._core.multiarray", "numpy.core.multiarray"},
    {"numpy._core.numeric", "numpy.core.numeric"},
};

/* "module.name", with the module's present name; false without memory. */
static bool pickle_build_spell(struct machine *m, const char *module, size_t module_len,
                               const char *name, size_t name_len, struct pickle_global *out)
{
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (strlen(modules[i].old) == module_len &&
            memcmp(modules[i].old, module, module_len) == 0) {
            module = modules[i].today;
            module_len = strlen(module);
            break;
        }
    }
    char *text = arena_room(m->p->arena, module_len + name_len + 2);
    if (!text)
        return pickle_no_memory(m);
    memcpy(text, module, module_len);
    text[module_len] = '.';
    memcpy(text + module_len + 1, name, name_len);
    text[module_len + 1 + name_len] = '\0';
    *out = (struct pickle_global){.name = text,
                                  .len = module_len + 1 + name_len,
                                  .module_len = module_len,
                                  .offset = m->base + m->op_at};
    return true;
}

static bool push_global(struct machine *m, const char *module, size_t module_len, const char *name,
                        size_t name_len)
{
    struct pickle *p = m->p;
    struct pickle_global found = {0};
    bool added;
    if (!pickle_build_spell(m, module, module_len, name, name_len, &found))
        return false;
    uint64_t *at = strmap_add(&p->global_names, found.name, found.len, &added);
    if (!at)
        return pickle_no_memory(m);
    if (added) {
        void *list = arena_grow(p->arena, p->globals, p->global_count, &p->global_space,
                                sizeof(*p->globals));
        if (!list)
            return pickle_no_memory(m);
        p->globals = list;
        *at = p->global_count;
        p->globals[p->global_count++] = found;
    }
    int64_t index = (int64_t)*at;
    pickle_ref ref = pickle_new_node(m, PICKLE_GLOBAL);
    if (!ref)
        return false;
    pickle_at(p, ref)->integer = index;
    return pickle_push(m, ref);
}

bool pickle_do_global(struct machine *m)
{
    size_t module_len = 0, name_len = 0;
    const char *module = pickle_take_line(m, &module_len);
    const char *name = module ? pickle_take_line(m, &name_len) : NULL;
    return name && push_global(m, module, module_len, name, name_len);
}

bool pickle_do_stack_global(struct machine *m)
{
    pickle_ref name = 0, module = 0;
    if (!pickle_pop(m, &name) || !pickle_pop(m, &module))
        return false;
    const struct pickle_node *a = pickle_at(m->p, module), *b = pickle_at(m->p, name);
    if (a->kind != PICKLE_TEXT || b->kind != PICKLE_TEXT)
        return pickle_fail(m, ERR_CORRUPT, "a class whose name is not text");
    return push_global(m, a->text, a->count, b->text, b->count);
}

/* --- calls ------------------------------------------------------------------------------ */

static bool push_call(struct machine *m, pickle_ref callee, pickle_ref args, pickle_ref kwargs)
{
    const struct pickle_node *c = pickle_at(m->p, callee);
    if (c->kind == PICKLE_GLOBAL)
        m->p->globals[c->integer].called = true;
    struct pickle_call *call = arena_alloc(m->p->arena, sizeof(*call));
    if (!call) /* before there is a node, so that each has its call */
        return pickle_no_memory(m);
    pickle_ref ref = pickle_new_node(m, PICKLE_CALL);
    if (!ref)
        return false;
    *call = (struct pickle_call){.callee = callee, .args = args, .kwargs = kwargs};
    pickle_at(m->p, ref)->call = call;
    return pickle_push(m, ref);
}

bool pickle_do_call(struct machine *m)
{
    pickle_ref args, callee;
    return pickle_pop(m, &args) && pickle_pop(m, &callee) && push_call(m, callee, args, 0);
}

bool pickle_do_newobj_ex(struct machine *m)
{
    pickle_ref kwargs, args, callee;
    return pickle_pop(m, &kwargs) && pickle_pop(m, &args) && pickle_pop(m, &callee) &&
           push_call(m, callee, args, kwargs);
}

bool pickle_do_inst(struct machine *m, bool named)
{
    size_t count;
    pickle_ref callee, args;
    if (named) {
        if (!pickle_do_global(m) || !pickle_pop(m, &callee) || !pickle_unmark(m, &count) ||
            !pickle_gather(m, PICKLE_TUPLE, count) || !pickle_pop(m, &args))
            return false;
        return push_call(m, callee, args, 0);
    }
    if (!pickle_unmark(m, &count))
        return false;
    if (!count)
        return pickle_fail(m, ERR_CORRUPT, "an object without a class");
    return pickle_gather(m, PICKLE_TUPLE, count - 1) && pickle_pop(m, &args) &&
           pickle_pop(m, &callee) && push_call(m, callee, args, 0);
}

bool pickle_do_build(struct machine *m)
{
    pickle_ref state;
    if (!pickle_pop(m, &state))
        return false;
    if (m->depth <= m->fence)
        return pickle_fail(m, ERR_CORRUPT, "a state for nothing");
    const struct pickle_node *n = pickle_at(m->p, m->stack[m->depth - 1]);
    if (n->kind != PICKLE_CALL)
        return pickle_fail(m, ERR_CORRUPT, "a state for something that has none");
    if (n->call->state)
        n->call->more_state = state;
    else
        n->call->state = state;
    return true;
}

/* --- items ------------------------------------------------------------------------------ */

/* The container, below the top `count` values, that takes them. If it is an object, that is
 * the object's own list or dict. */
static pickle_ref container(struct machine *m, size_t count, enum pickle_kind kind)
{
    if (m->depth - m->fence <= count) {
        pickle_fail(m, ERR_CORRUPT, "items for a container that is not there");
        return 0;
    }
    pickle_ref ref = m->stack[m->depth - count - 1];
    const struct pickle_node *n = pickle_at(m->p, ref);
    if (n->kind == kind)
        return ref;
    if (n->kind != PICKLE_CALL) {
        pickle_fail(m, ERR_CORRUPT, "items for something that holds none of the kind");
        return 0;
    }
    struct pickle_call *call = n->call;
    pickle_ref *own = kind == PICKLE_DICT ? &call->dict : &call->list;
    if (!*own)
        *own = pickle_new_node(m, kind == PICKLE_DICT ? PICKLE_DICT : PICKLE_LIST);
    return *own;
}

bool pickle_put_items(struct machine *m, enum pickle_kind kind, size_t count)
{
    if (kind == PICKLE_DICT && count % 2)
        return pickle_fail(m, ERR_CORRUPT, "an odd number of keys and values");
    pickle_ref into = container(m, count, kind);
    if (!into || !pickle_add_items(m, into, m->stack + m->depth - count, count))
        return false;
    m->depth -= count;
    return true;
}

bool pickle_put_marked(struct machine *m, enum pickle_kind kind)
{
    size_t count;
    return pickle_unmark(m, &count) && pickle_put_items(m, kind, count);
}

bool pickle_gather_marked(struct machine *m, enum pickle_kind kind)
{
    size_t count;
    if (!pickle_unmark(m, &count))
        return false;
    if (kind == PICKLE_DICT && count % 2)
        return pickle_fail(m, ERR_CORRUPT, "an odd number of keys and values");
    return pickle_gather(m, kind, count);
}

bool pickle_do_pop(struct machine *m)
{
    size_t count;
    pickle_ref ignored;
    return m->depth > m->fence || !m->mark_count ? pickle_pop(m, &ignored)
                                                 : pickle_unmark(m, &count);
}

bool pickle_do_pop_mark(struct machine *m)
{
    size_t count;
    if (!pickle_unmark(m, &count))
        return false;
    m->depth -= count;
    return true;
}

bool pickle_do_dup(struct machine *m)
{
    if (m->depth <= m->fence)
        return pickle_fail(m, ERR_CORRUPT, "it takes more than there is on its stack");
    return pickle_push(m, m->stack[m->depth - 1]);
}
