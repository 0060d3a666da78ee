/*
 * torch_tree.c - walks the values of a pickle: tensors get names, all other values become facts.
 *
 * Names are keys and positions joined by '.'. A key may hold dots, so two paths can make the same
 * name; the dots in the later tensor's keys are then escaped ("a\.b"). Calls are looked into, as
 * tensors may be in their arguments and state. A module (a call whose state has _parameters and
 * _modules) gets the names of its state_dict.
 *
 * Nodes may be shared, and may form cycles. A first pass marks the nodes that have tensors or
 * dicts below them; the second enters only these, never a node that it is inside of, and stops at
 * limits that no honest file reaches.
 */
#include <stdio.h>
#include <stdlib.h>

#include "catalog/base/list.h"
#include "importer/format/torch/torch_facts.h"

/* Flags of nodes. */
enum {
    SEEN = 2,
    HAS_TENSOR = 4,
    HAS_DICT = 8, /* or an object with a state: something with names */
    OPEN = 16,    /* the walk is inside it */
    /* Of the state of an object, as several may share one. */
    ASKED = 64,      /* whether it is a module's */
    OF_MODULE = 128, /* it is */
};

/* --- children --------------------------------------------------------------------------- */

static bool is_call(const struct pickle *p, pickle_ref ref)
{
    return pickle_kind(p, ref) == PICKLE_CALL;
}

bool torch_child(const struct pickle *p, pickle_ref ref, uint32_t i, pickle_ref *child)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (n->kind == PICKLE_CALL) {
        const struct pickle_call *c = n->call;
        const pickle_ref parts[] = {c->callee,     c->args, c->kwargs, c->state,
                                    c->more_state, c->list, c->dict};
        if (i >= sizeof(parts) / sizeof(parts[0]))
            return false;
        *child = parts[i];
        return true;
    }
    *child = pickle_item(p, ref, i);
    return *child != 0;
}

/* --- a stack ---------------------------------------------------------------------------- */

struct frame {
    pickle_ref node;
    pickle_ref owner; /* its OPEN flag is cleared when the frame ends; 0: none */
    uint32_t next;
    uint8_t kind;
    bool joined;     /* a '.' comes before its keys */
    size_t name_len; /* length of the name before its keys */
};

enum frame_kind {
    FRAME_PAIRS,      /* a dict */
    FRAME_ITEMS,      /* a list, named by position */
    FRAME_KEYED,      /* a list of [key, value] */
    FRAME_PARAMETERS, /* a module's dict, where only tensors count */
    FRAME_BUFFERS,    /* the same for buffers: without those in w->left_out */
    FRAME_MODULES,    /* a dict of a module's submodules */
};

struct walk {
    struct torch_tree *t;
    struct frame *frames;
    size_t depth, space;
    struct text name;
    bool joined;                /* the name has a part, so a '.' comes before the next */
    struct strmap left_out;     /* buffers of the last module that state_dict() leaves out */
    struct torch_tensor tensor; /* large: not one per call */
};

/* --- first pass ------------------------------------------------------------------------- */

static void torch_tree_enter(struct pickle *p, struct walk *w, pickle_ref ref)
{
    struct pickle_node *n = pickle_at(p, ref);
    n->flags |= SEEN;
    if (n->kind == PICKLE_PERSID || torch_is_tensor(p, ref))
        n->flags |= HAS_TENSOR;
    if ((n->kind == PICKLE_DICT && n->count) ||
        (n->kind == PICKLE_CALL && (n->call->state || n->call->dict)))
        n->flags |= HAS_DICT;
    *LIST_PUSH(w->t->job->err, w->frames, w->depth, w->space) = (struct frame){.node = ref};
}

static void look_ahead(struct walk *w)
{
    struct pickle *p = w->t->pickle;
    torch_tree_enter(p, w, p->root);
    while (w->depth && w->t->job->err->status == OK) {
        struct frame *top = &w->frames[w->depth - 1];
        pickle_ref child, node = top->node;
        if (!torch_child(p, node, top->next++, &child)) {
            if (--w->depth)
                pickle_at(p, w->frames[w->depth - 1].node)->flags |=
                    pickle_at(p, node)->flags & (HAS_TENSOR | HAS_DICT);
            continue;
        }
        if (pickle_at(p, child)->flags & SEEN)
            pickle_at(p, node)->flags |= pickle_at(p, child)->flags & (HAS_TENSOR | HAS_DICT);
        else if (child)
            torch_tree_enter(p, w, child);
    }
    w->depth = 0;
}

static bool torch_tree_has(const struct pickle *p, pickle_ref ref, unsigned flags)
{
    return pickle_at(p, ref)->flags & flags;
}

/* --- limits ----------------------------------------------------------------------------- */

/* Shared nodes can make exponentially many names. Past limits that no honest sharing reaches, the
 * rest is left out, which is reported once. `steps` is work that was done on the way. */
static bool within_limits(struct walk *w, uint64_t steps)
{
    struct torch_tree *t = w->t;
    t->visits += steps;
    if (t->visits <= LIMIT_PICKLE_VISITS + 8 * (uint64_t)t->pickle->node_count &&
        t->name_bytes <= LIMIT_PICKLE_NAMES + 64 * t->pickle->text_bytes &&
        w->name.len < LIMIT_NAME_BYTES / 2)
        return true;
    if (!t->stopped)
        job_issue(t->job, ISSUE_ERROR, t->path, NO_OFFSET, "limit",
                  "the pickle repeats its parts more often than this program follows: "
                  "names after \"%.100s\" are left out",
                  w->name.at ? w->name.at : "");
    t->stopped = true;
    return false;
}

/* --- tensors ---------------------------------------------------------------------------- */

/* Copy the name with the dots inside keys escaped. The frames know where each key begins: of the
 * name "a.b.c", if the keys are "a.b" and "c", "a\.b.c" is made. */
static void escape_dots(struct walk *w, struct text *out)
{
    size_t at = 0;
    for (size_t i = 0; i <= w->depth; i++) {
        size_t end = i < w->depth ? w->frames[i].name_len : w->name.len;
        for (bool first = at > 0; at < end; at++, first = false) {
            if (w->name.at[at] == '.' && !first)
                text_addc(out, '\\');
            text_addc(out, w->name.at[at]);
        }
    }
}

/* The name, changed if another tensor already has it. */
static const char *claim_name(struct walk *w, struct text *out)
{
    struct torch_tree *t = w->t;
    const char *name = "", *kept;
    bool added = false;
    t->names.err = t->job->err;
    text_add(out, w->name.at, w->name.len);
    for (unsigned round = 0; !added; round++) {
        if (round == 1) {
            text_reset(out);
            escape_dots(w, out);
        } else if (round > 1) {
            text_addf(out, "#%u", round);
        }
        name = text_str(out);
        if (!name) {
            error_memory(t->job->err);
            return "";
        }
        strmap_keep(&t->names, t->arena, name, out->len, &kept, &added);
        if (round && added && t->job->err->status == OK)
            job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "name-collision",
                      "two tensors are named \"%.200s\": this one is \"%.200s\"", w->name.at, name);
    }
    return name;
}

static void torch_tree_add_tensor(struct walk *w, pickle_ref ref)
{
    struct torch_tree *t = w->t;
    struct error err = {.offset = NO_OFFSET};
    struct text name = {0};
    bool fine = torch_tensor_read(t, ref, &w->tensor, &err);
    if (err.status == ERR_MEMORY || err.status == ERR_IO)
        *t->job->err = err;
    if (t->job->err->status != OK)
        return;
    if (!fine && !w->tensor.known) {
        char what[320];
        snprintf(what, sizeof(what), "tensor \"%.240s\"", w->name.at ? w->name.at : "");
        error_prefix(&err, what);
        job_issue_error(t->job, ISSUE_ERROR, &err);
        return;
    }
    const char *claimed = claim_name(w, &name);
    torch_emit(t, claimed, name.len, &w->tensor, &err);
    text_release(&name);
}

/* --- second pass ------------------------------------------------------------------------ */

/* Node 0 is absent. */
static void go_into(struct walk *w, pickle_ref node, enum frame_kind kind)
{
    if (node)
        *LIST_PUSH(w->t->job->err, w->frames, w->depth, w->space) = (struct frame){
            .node = node, .kind = (uint8_t)kind, .joined = w->joined, .name_len = w->name.len};
}

static bool is_module(const struct pickle *p, pickle_ref ref)
{
    const pickle_ref state = is_call(p, ref) ? pickle_at(p, ref)->call->state : 0;
    if (!state)
        return false;
    struct pickle_node *n = pickle_at(p, state);
    if (!(n->flags & ASKED) && pickle_get(p, state, "_parameters") &&
        pickle_get(p, state, "_modules"))
        n->flags |= OF_MODULE;
    n->flags |= ASKED;
    return n->flags & OF_MODULE;
}

/* The dict that a node is, or that a call made; 0: neither. */
static pickle_ref pairs_of(const struct pickle *p, pickle_ref ref)
{
    const struct pickle_node *n = pickle_at(p, ref);
    return n->kind == PICKLE_DICT ? ref : n->kind == PICKLE_CALL ? n->call->dict : 0;
}

static void say_module(struct walk *w, pickle_ref ref)
{
    struct torch_tree *t = w->t;
    const struct pickle *p = t->pickle;
    pickle_ref callee = pickle_at(p, ref)->call->callee;
    if (pickle_kind(p, callee) == PICKLE_PERSID) /* ('module', class, file, source) */
        callee = pickle_item(p, pickle_item(p, callee, 0), 1);
    if (torch_callee(p, ref) == TORCH_UNKNOWN || torch_callee(p, ref) == TORCH_MODULE)
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "whole-module",
                  "\"%.100s\" is a whole module (class %.200s), not a state_dict: the names "
                  "are from its state_dict",
                  w->name.at ? w->name.at : "",
                  pickle_kind(p, callee) == PICKLE_GLOBAL
                      ? p->globals[pickle_at(p, callee)->integer].name
                      : "?");
}

/* Learn which buffers of a module state_dict() leaves out. No module lies inside a buffer, so that
 * one list is enough. */
static bool learn_left_out(struct walk *w, pickle_ref state)
{
    const struct pickle *p = w->t->pickle;
    const pickle_ref set = torch_list_of(p, pickle_get(p, state, "_non_persistent_buffers_set"));
    pickle_ref name;
    bool added;
    strmap_release(&w->left_out);
    w->left_out = (struct strmap){.err = w->t->job->err};
    for (uint32_t i = 0; (name = set ? pickle_item(p, set, i) : 0); i++) {
        const struct pickle_node *n = pickle_at(p, name);
        if (n->kind == PICKLE_TEXT)
            strmap_add(&w->left_out, n->text, n->count, &added);
    }
    return within_limits(w, set ? pickle_at(p, set)->count : 0);
}

/* The last frame pushed is walked first: parameters, then buffers, then submodules. */
static void enter_module(struct walk *w, pickle_ref ref)
{
    const struct pickle *p = w->t->pickle;
    const pickle_ref state = pickle_at(p, ref)->call->state,
                     buffers = pairs_of(p, pickle_get(p, state, "_buffers"));
    if (!within_limits(w, pickle_at(p, state)->count / 2) || (buffers && !learn_left_out(w, state)))
        return;
    go_into(w, pairs_of(p, pickle_get(p, state, "_modules")), FRAME_MODULES);
    go_into(w, buffers, FRAME_BUFFERS);
    go_into(w, pairs_of(p, pickle_get(p, state, "_parameters")), FRAME_PARAMETERS);
}

/* Enter a dict that a call makes. In Python 2 its pairs are the argument. */
static void enter_dict(struct walk *w, const struct pickle_call *call)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref pairs = pickle_item(p, call->args, 0);
    go_into(w, call->dict, FRAME_PAIRS);
    if (pickle_kind(p, pairs) == PICKLE_DICT)
        go_into(w, pairs, FRAME_PAIRS);
    else if (pickle_kind(p, pairs) == PICKLE_LIST)
        go_into(w, pairs, FRAME_KEYED);
}

/* Enter the tensors that a wrapper is made of, or that an ordinary tensor has as attributes. They
 * are named by the attributes. */
static void enter_attributes(struct walk *w, pickle_ref tensor)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref parts[2], call = torch_attributed(p, tensor);
    for (unsigned i = 0; call && i < TORCH_WRAPS_MAX; i++) {
        torch_wrapper_parts(p, call, parts);
        go_into(w, parts[1], FRAME_PARAMETERS);
        go_into(w, parts[0], FRAME_PARAMETERS);
        call = torch_attributed(p, torch_inside(p, call));
    }
}

static void enter_call(struct walk *w, pickle_ref ref)
{
    const struct pickle *p = w->t->pickle;
    const struct pickle_call *call = pickle_at(p, ref)->call;
    bool tensors = torch_tree_has(p, ref, HAS_TENSOR);
    bool named = call->state && pickle_kind(p, call->state) == PICKLE_DICT;
    pickle_ref args = tensors && torch_tree_has(p, call->args, HAS_TENSOR) ? call->args : 0;
    pickle_ref state = 0, more = 0;
    if (torch_callee(p, ref) == TORCH_DICT) {
        enter_dict(w, call);
        return;
    }
    if (call->state && !named && pickle_kind(p, call->state) == PICKLE_TUPLE) {
        state = pickle_item(p, call->state, 0); /* (dict, slots) */
        more = pickle_item(p, call->state, 1);
        named = pickle_kind(p, state) == PICKLE_DICT || pickle_kind(p, more) == PICKLE_DICT;
        if (!named) {
            go_into(w, tensors ? call->state : 0, FRAME_ITEMS);
            go_into(w, args, FRAME_ITEMS);
            return;
        }
    } else {
        state = named ? call->state : 0;
    }
    if (pickle_kind(p, state) != PICKLE_DICT)
        state = 0;
    if (pickle_kind(p, more) != PICKLE_DICT)
        more = 0;
    if (call->more_state && pickle_kind(p, call->more_state) == PICKLE_DICT)
        more = call->more_state;
    go_into(w, more, FRAME_PAIRS);
    go_into(w, state ? state : pairs_of(p, call->kwargs), FRAME_PAIRS);
    go_into(w, call->dict, FRAME_PAIRS);
    go_into(w, call->list, FRAME_ITEMS);
    go_into(w, args, FRAME_ITEMS);
}

/* An optimizer's state is keyed by numbers. If its groups have the names of the parameters, state
 * them as facts: the key "optimizer.state.12" has the value "layers.0.weight". */
static void name_parameters(struct walk *w, pickle_ref dict)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref groups = torch_list_of(p, pickle_get(p, dict, "param_groups")), group, number, name;
    size_t len = w->name.len;
    if (!groups || !pickle_get(p, dict, "state") || w->t->no_facts)
        return;
    for (uint32_t g = 0; (group = pickle_item(p, groups, g)); g++) {
        pickle_ref numbers = torch_list_of(p, pickle_get(p, group, "params"));
        pickle_ref names = torch_list_of(p, pickle_get(p, group, "param_names"));
        for (uint32_t i = 0; numbers && names && (number = pickle_item(p, numbers, i)) &&
                             (name = pickle_item(p, names, i));
             i++) {
            const struct pickle_node *n = pickle_at(p, name);
            w->t->name_bytes += w->name.len;
            if (!within_limits(w, 1)) /* groups may be shared, too */
                return;
            if (pickle_kind(p, number) != PICKLE_INT || n->kind != PICKLE_TEXT)
                continue;
            text_addf(&w->name, w->joined ? ".state.%lld" : "state.%lld",
                      (long long)pickle_at(p, number)->integer);
            torch_fact_text(w->t, &w->name, n->text, n->count);
            w->name.len = len;
        }
    }
    if (w->name.at)
        w->name.at[len] = '\0';
}

/* Enter a node that has items. */
static void enter_container(struct walk *w, pickle_ref ref, bool within_module)
{
    struct pickle *p = w->t->pickle;
    size_t depth = w->depth;
    if (torch_tree_has(p, ref, OPEN))
        return; /* a cycle */
    if (is_module(p, ref)) {
        if (!within_module)
            say_module(w, ref);
        enter_module(w, ref);
    } else if (torch_attributed(p, ref)) {
        enter_attributes(w, ref);
    } else if (is_call(p, ref) && torch_callee(p, ref) != TORCH_SEQUENCE) {
        enter_call(w, ref);
    } else {
        pickle_ref list = torch_list_of(p, ref);
        if (pickle_kind(p, list) == PICKLE_DICT)
            name_parameters(w, list);
        go_into(w, list, pickle_kind(p, list) == PICKLE_DICT ? FRAME_PAIRS : FRAME_ITEMS);
    }
    if (w->depth > depth) {
        w->frames[depth].owner = ref; /* its lowest frame is the last to end */
        pickle_at(p, ref)->flags |= OPEN;
    }
}

/* State the scale and zero point of a quantised tensor, by torch.Tensor's names. If each
 * channel has its own, scales and zero points are tensors inside the tensor, not of the state: a
 * row of theirs would be a name that torch.load() does not give. */
static void add_quantiser(struct walk *w, pickle_ref quantiser)
{
    static const char *const names[2][4] = {{".qscheme", ".q_scale", ".q_zero_point", NULL},
                                            {".qscheme", NULL, NULL, ".q_per_channel_axis"}};
    const struct pickle *p = w->t->pickle;
    const size_t len = w->name.len;
    const bool channels = torch_is_tensor(p, pickle_item(p, quantiser, 1));
    pickle_ref part;
    for (uint32_t i = 0; i < 4; i++) {
        const char *name = names[channels][i];
        part = name ? pickle_item(p, quantiser, i) : 0;
        if (!part || !within_limits(w, 1))
            continue;
        w->name.len = len;
        text_adds(&w->name, name);
        /* a fact of the tensor, so that no_facts does not concern it */
        torch_fact_value(w->t, &w->name, part);
    }
    w->name.len = len;
    if (w->name.at)
        w->name.at[len] = '\0';
}

/* State that a tensor, whose name is the current one, is not in the state dict. */
static void mark_left_out(struct walk *w)
{
    const size_t len = w->name.len;
    text_adds(&w->name, ".state_dict");
    torch_fact_text(w->t, &w->name, "false", 5);
    w->name.len = len;
    if (w->name.at)
        w->name.at[len] = '\0';
}

/* Visit a value under the current name. */
static void torch_tree_visit(struct walk *w, pickle_ref ref, bool module)
{
    struct torch_tree *t = w->t;
    const struct pickle *p = t->pickle;
    const struct pickle_node *n = pickle_at(p, ref);
    t->name_bytes += w->name.len;
    if (!within_limits(w, 1))
        return;
    if (torch_is_tensor(p, ref)) {
        torch_tree_add_tensor(w, ref);
        const bool opaque = w->tensor.opaque;
        if (w->tensor.quantiser)
            add_quantiser(w, w->tensor.quantiser);
        if (!is_call(p, ref) || (!opaque && (torch_wrapper(p, ref) || !torch_attributed(p, ref))))
            return;
    }
    if (module) {
        enter_container(w, ref, true);
        return;
    }
    bool inside = torch_tree_has(p, ref, HAS_TENSOR | (t->no_facts ? 0 : HAS_DICT));
    if (inside && n->kind == PICKLE_CALL && torch_fact_call(t, &w->name, ref))
        return;
    if (inside) {
        enter_container(w, ref, false);
        return;
    }
    if (t->no_facts || (n->kind == PICKLE_CALL && torch_fact_call(t, &w->name, ref)))
        return;
    torch_fact_value(t, &w->name, ref);
}

/* Whether a child counts in a frame. */
static bool torch_tree_counts(const struct walk *w, const struct frame *f, pickle_ref key,
                              pickle_ref value)
{
    const struct pickle *p = w->t->pickle;
    const struct pickle_node *name = pickle_at(p, key);
    switch (f->kind) {
    case FRAME_BUFFERS:
        if (name->kind == PICKLE_TEXT && strmap_get(&w->left_out, name->text, name->count))
            return false;
        return torch_is_tensor(p, value);
    case FRAME_PARAMETERS: return torch_is_tensor(p, value);
    case FRAME_MODULES: return is_module(p, value);
    default: return value != 0;
    }
}

/* Visit the next child of the top frame; false at its end. */
static bool torch_tree_step(struct walk *w)
{
    const struct pickle *p = w->t->pickle;
    struct frame *f = &w->frames[w->depth - 1];
    const struct frame now = *f;
    const bool pairs = f->kind != FRAME_ITEMS && f->kind != FRAME_KEYED;
    pickle_ref key = pairs ? pickle_item(p, f->node, f->next) : 0;
    pickle_ref value = pickle_item(p, f->node, f->next + pairs);
    if (!value)
        return false;
    f->next += 1 + pairs;
    if (now.kind == FRAME_KEYED) {
        key = pickle_item(p, value, 0);
        value = pickle_item(p, value, 1);
    }
    if (!torch_tree_counts(w, &now, key, value)) {
        w->t->visits++;
        return true;
    }
    w->name.len = now.name_len;
    if (now.joined)
        text_addc(&w->name, '.');
    if (key)
        torch_add_key(&w->name, p, key);
    else
        text_addf(&w->name, "%u", now.next);
    w->joined = true;
    if (w->t->left_out && key && now.owner && is_call(p, now.owner) && torch_is_tensor(p, value) &&
        w->t->left_out(w->t, now.owner, key))
        mark_left_out(w);
    torch_tree_visit(w, value, now.kind == FRAME_MODULES);
    return true;
}

void torch_tree_state(struct torch_tree *t)
{
    struct walk w = {.t = t};
    if (t->look)
        t->look(t);
    look_ahead(&w);
    text_adds(&w.name, t->prefix ? t->prefix : "");
    w.joined = t->prefix != NULL;
    if (t->job->err->status == OK)
        torch_tree_visit(&w, t->pickle->root, false);
    while (w.depth && t->job->err->status == OK && !t->stopped) {
        size_t depth = w.depth;
        if (torch_tree_step(&w))
            continue;
        pickle_ref owner = w.frames[depth - 1].owner;
        if (owner)
            pickle_at(t->pickle, owner)->flags &= (uint8_t)~OPEN;
        w.depth--;
    }
    if (t->without_data && t->job->err->status == OK)
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "no-data",
                  "%llu tensors, \"%.100s\" the first, have no data: they were saved on the "
                  "device \"meta\"",
                  (unsigned long long)t->without_data, t->first_without);
    free(w.frames);
    strmap_release(&w.left_out);
    text_release(&w.name);
}
