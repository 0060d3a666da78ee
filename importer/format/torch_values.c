/*
 * torch_values.c - the tree below a pickle's root: names of tensors, and all else as facts.
 *
 * Names are keys and positions joined by '.'. A key may hold dots, so that two paths can have
 * one name: the later tensor's dots are then escaped ("a\.b"). What would be called is looked
 * into, for tensors hide in its arguments and its state. A module (a call whose state has
 * _parameters and _modules) has the names of its state_dict.
 *
 * The graph is shared and may have cycles. A first pass marks what tensors and dicts are
 * below each node; the second goes only where something is, never into a node that it is in,
 * and stops at limits that no honest file reaches.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/format/torch.h"

/* Flags of nodes. */
enum {
    SEEN = 2,
    HAS_TENSOR = 4,
    HAS_DICT = 8, /* or an object with a state: something with names */
    OPEN = 16,    /* on the path */
};

/* --- children --------------------------------------------------------------------------- */

static bool is_call(const struct pickle *p, pickle_ref ref)
{
    return pickle_kind(p, ref) == PICKLE_CALL;
}

/* Child i of any node; false past the last. The child may be 0. */
static bool child_of(const struct pickle *p, pickle_ref ref, uint32_t i,
                     pickle_ref *child)
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
    pickle_ref owner; /* whose OPEN flag ends with the frame; 0: none */
    uint32_t next;
    uint8_t kind;
    bool joined;     /* a '.' comes before its keys */
    size_t name_len; /* of what stands before them */
};

enum frame_kind {
    FRAME_PAIRS,      /* a dict */
    FRAME_ITEMS,      /* by position */
    FRAME_KEYED,      /* a list of [key, value] */
    FRAME_PARAMETERS, /* of a module: only tensors */
    FRAME_BUFFERS,    /* the same; the node is the module's state */
    FRAME_MODULES,    /* of a module: by name */
};

struct walk {
    struct torch_tree *t;
    struct frame *frames;
    size_t depth, space;
    struct text name;
    bool joined;                /* the name has a part: what is below comes after a '.' */
    struct torch_tensor tensor; /* large: not one a call */
};

static bool push(struct walk *w, struct frame f)
{
    if (w->depth == w->space) {
        size_t space = w->space ? 2 * w->space : 64;
        struct frame *frames = realloc(w->frames, space * sizeof(*frames));
        if (!frames) {
            error_set(w->t->job->err, ERR_MEMORY, w->t->job->path, NO_OFFSET,
                      "no memory");
            return false;
        }
        w->frames = frames;
        w->space = space;
    }
    w->frames[w->depth++] = f;
    return true;
}

/* --- first pass ------------------------------------------------------------------------- */

static void leave(struct pickle *p, struct walk *w)
{
    struct pickle_node *n = pickle_at(p, w->frames[--w->depth].node);
    if (w->depth)
        pickle_at(p, w->frames[w->depth - 1].node)->flags |=
            n->flags & (HAS_TENSOR | HAS_DICT);
}

static void enter(struct pickle *p, struct walk *w, pickle_ref ref)
{
    struct pickle_node *n = pickle_at(p, ref);
    n->flags |= SEEN;
    if (n->kind == PICKLE_PERSID || torch_is_tensor(p, ref))
        n->flags |= HAS_TENSOR;
    if ((n->kind == PICKLE_DICT && n->count) ||
        (n->kind == PICKLE_CALL && (n->call->state || n->call->dict)))
        n->flags |= HAS_DICT;
    push(w, (struct frame){.node = ref});
}

static enum status look_ahead(struct walk *w)
{
    struct pickle *p = w->t->pickle;
    enter(p, w, p->root);
    while (w->depth && w->t->job->err->status == OK) {
        struct frame *top = &w->frames[w->depth - 1];
        pickle_ref child, node = top->node;
        if (!child_of(p, node, top->next++, &child)) {
            leave(p, w);
            continue;
        }
        if (pickle_at(p, child)->flags & SEEN)
            pickle_at(p, node)->flags |=
                pickle_at(p, child)->flags & (HAS_TENSOR | HAS_DICT);
        else if (child)
            enter(p, w, child);
    }
    w->depth = 0;
    return w->t->job->err->status;
}

static bool has(const struct pickle *p, pickle_ref ref, unsigned flags)
{
    return pickle_at(p, ref)->flags & flags;
}

/* --- limits ----------------------------------------------------------------------------- */

/* More names than any number of honest aliases makes: said once, and the rest is left out. */
static bool within_limits(struct walk *w)
{
    struct torch_tree *t = w->t;
    t->visits++;
    t->name_bytes += w->name.len;
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

/* --- text of values --------------------------------------------------------------------- */

static void add_real(struct text *out, double value)
{
    char digits[40];
    if (isnan(value) || isinf(value)) {
        text_adds(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_adds(out, digits);
    if (!strpbrk(digits, ".en"))
        text_adds(out, ".0");
}

/* "torch.float32" and the like. */
static void add_global(struct text *out, const struct pickle *p, pickle_ref ref)
{
    const struct pickle_global *g = &p->globals[pickle_at(p, ref)->integer];
    text_add(out, g->name, g->len < 200 ? g->len : 200);
}

/* A key of a dict as part of a name. */
static void add_key(struct walk *w, pickle_ref ref)
{
    const struct pickle *p = w->t->pickle;
    const struct pickle_node *n = pickle_at(p, ref);
    switch (n->kind) {
    case PICKLE_TEXT:
    case PICKLE_BIGINT:
        text_add(&w->name, n->text, n->count);
        break;
    case PICKLE_INT:
        text_addf(&w->name, "%lld", (long long)n->integer);
        break;
    case PICKLE_FLOAT:
        add_real(&w->name, n->real);
        break;
    case PICKLE_NONE:
        text_adds(&w->name, "None");
        break;
    case PICKLE_TRUE:
    case PICKLE_FALSE:
        text_adds(&w->name, n->kind == PICKLE_TRUE ? "True" : "False");
        break;
    case PICKLE_GLOBAL:
        add_global(&w->name, p, ref);
        break;
    case PICKLE_TUPLE:
        text_addc(&w->name, '(');
        for (uint32_t i = 0; i < n->count && i < 64; i++) {
            if (i)
                text_addc(&w->name, ',');
            if (pickle_kind(p, n->items[i]) != PICKLE_TUPLE)
                add_key(w, n->items[i]);
        }
        text_addc(&w->name, ')');
        break;
    default:
        text_addf(&w->name, "<key %u>", ref);
    }
}

/* --- facts ------------------------------------------------------------------------------ */

/* Facts end at a limit too; the tensors do not. */
static bool room_for_fact(struct torch_tree *t, size_t bytes)
{
    uint64_t before = t->fact_bytes;
    t->fact_bytes += bytes;
    if (t->fact_bytes <= LIMIT_FACTS_BYTES)
        return true;
    if (before <= LIMIT_FACTS_BYTES)
        job_issue(
            t->job, ISSUE_WARNING, t->path, NO_OFFSET, "limit",
            "more than %llu bytes of values beside the tensors: the rest is left out",
            (unsigned long long)LIMIT_FACTS_BYTES);
    return false;
}

/* A key that SQLite can show. */
static const char *fact_key(struct walk *w, struct text *safe)
{
    if (!memchr(w->name.at ? w->name.at : "", '\0', w->name.len) &&
        utf8_valid(w->name.at ? w->name.at : "", w->name.len))
        return text_str(&w->name);
    text_escape(safe, w->name.at, w->name.len);
    return text_str(safe);
}

static void state_text(struct walk *w, const char *text, size_t len)
{
    struct torch_tree *t = w->t;
    struct text key = {0};
    const char *name = fact_key(w, &key);
    if (name && room_for_fact(t, len + w->name.len))
        job_meta_text(t->job, name, text, len);
    text_release(&key);
}

static void state_number(struct walk *w, bool is_integer, int64_t integer, double real)
{
    struct text key = {0};
    const char *name = fact_key(w, &key);
    if (name && room_for_fact(w->t, w->name.len + 8)) {
        if (is_integer)
            job_meta_integer(w->t->job, name, integer);
        else if (isfinite(real))
            job_meta_real(w->t->job, name, real);
        else
            state_text(w,
                       isnan(real) ? "NaN"
                       : real < 0  ? "-Infinity"
                                   : "Infinity",
                       isnan(real) ? 3
                       : real < 0  ? 9
                                   : 8);
    }
    text_release(&key);
}

/* A node without items as JSON. False: it is one with. */
static bool add_scalar(struct walk *w, pickle_ref ref, struct text *out)
{
    struct torch_tree *t = w->t;
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    double real = 0;
    int64_t integer = 0;
    bool is_integer = false;
    switch (n->kind) {
    case PICKLE_TEXT:
        return text_json(out, n->text, n->count), true;
    case PICKLE_INT:
        return text_addf(out, "%lld", (long long)n->integer), true;
    case PICKLE_BIGINT:
        return text_add(out, n->text, n->count), true;
    case PICKLE_FLOAT:
        return add_real(out, n->real), true;
    case PICKLE_NONE:
        return text_adds(out, "null"), true;
    case PICKLE_TRUE:
    case PICKLE_FALSE:
        return text_adds(out, n->kind == PICKLE_TRUE ? "true" : "false"), true;
    case PICKLE_BYTES:
        return text_addf(out, "\"<%llu bytes>\"", (unsigned long long)n->data->len), true;
    case PICKLE_GLOBAL:
        text_addc(out, '"');
        add_global(out, t->pickle, ref);
        return text_addc(out, '"'), true;
    case PICKLE_CALL:
        if (torch_callee(t->pickle, ref) == NUMPY_SCALAR &&
            torch_numpy_scalar(t, ref, &real, &integer, &is_integer)) {
            if (is_integer)
                text_addf(out, "%lld", (long long)integer);
            else
                add_real(out, real);
            return true;
        }
        return false;
    default:
        return false;
    }
}

/* What stands for a list in a call: its own items, or its first argument; or a dict. */
static pickle_ref list_of(const struct pickle *p, pickle_ref ref)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct pickle_node *n = pickle_at(p, ref);
        if (n->kind == PICKLE_TUPLE || n->kind == PICKLE_LIST || n->kind == PICKLE_SET ||
            n->kind == PICKLE_DICT)
            return ref;
        if (n->kind != PICKLE_CALL)
            return 0;
        if (n->call->list)
            return n->call->list;
        if (torch_callee(p, ref) != TORCH_SEQUENCE)
            return 0;
        ref = pickle_item(p, n->call->args, 0);
    }
    return 0;
}

/* A list of plain values as JSON; anything else in it by what it is. A text that grows past
 * its limit fails, which is seen at the end. */
static void add_json(struct walk *w, pickle_ref ref, struct text *out)
{
    const struct pickle *p = w->t->pickle;
    size_t bottom = w->depth;
    if (!push(w, (struct frame){.node = ref}))
        return;
    text_addc(out, '[');
    while (w->depth > bottom && !out->failed) {
        struct frame *top = &w->frames[w->depth - 1];
        uint32_t i = top->next++;
        pickle_ref item = pickle_item(p, top->node, i);
        if (!item) {
            text_addc(out, ']');
            w->depth--;
            continue;
        }
        if (i)
            text_addc(out, ',');
        if (add_scalar(w, item, out))
            continue;
        pickle_ref inner = pickle_kind(p, item) == PICKLE_DICT ? 0 : list_of(p, item);
        if (inner && pickle_item(p, inner, 0) && w->depth - bottom < 1000) {
            text_addc(out, '[');
            if (!push(w, (struct frame){.node = inner}))
                return;
        } else {
            text_adds(out, inner                                 ? "[]"
                           : pickle_kind(p, item) == PICKLE_DICT ? "{}"
                                                                 : "null");
        }
    }
    w->depth = bottom;
}

static void state_list(struct walk *w, pickle_ref list)
{
    /* In proportion to the pickle: shared lists can make any text of it. */
    const struct pickle *p = w->t->pickle;
    uint64_t most = 65536 + 4 * p->text_bytes + 64 * (uint64_t)p->node_count;
    struct text json = {.limit = most < LIMIT_PICKLE_FACT ? most : LIMIT_PICKLE_FACT};
    add_json(w, list, &json);
    if (text_str(&json))
        state_text(w, text_str(&json), json.len);
    else
        state_text(w, "(a list too long to show)", 25);
    text_release(&json);
}

/* Parts of a path, joined. */
static void state_path(struct walk *w, pickle_ref args)
{
    const struct pickle *p = w->t->pickle;
    struct text path = {.limit = LIMIT_FACT_KEY};
    pickle_ref part;
    for (uint32_t i = 0; (part = pickle_item(p, args, i)); i++) {
        const struct pickle_node *n = pickle_at(p, part);
        if (i && path.len && path.at[path.len - 1] != '/')
            text_addc(&path, '/');
        if (n->kind == PICKLE_TEXT)
            text_add(&path, n->text, n->count);
    }
    if (text_str(&path))
        state_text(w, text_str(&path), path.len);
    text_release(&path);
}

/* A call that stands for one value. False: none of those. */
static bool state_call(struct walk *w, pickle_ref ref)
{
    struct torch_tree *t = w->t;
    const struct pickle *p = t->pickle;
    const struct pickle_call *call = pickle_at(p, ref)->call;
    const struct pickle_node *first = pickle_at(p, pickle_item(p, call->args, 0));
    double real = 0;
    int64_t integer = 0;
    bool is_integer = false;
    switch (torch_callee(p, ref)) {
    case TORCH_PATH:
        return state_path(w, call->args), true;
    case TORCH_TEXT:
    case TORCH_DEVICE:
        if (first->kind == PICKLE_TEXT)
            state_text(w, first->text, first->count);
        return true;
    case TORCH_COMPLEX:
        return state_list(w, call->args), true;
    case TORCH_ENCODE:
        return true;
    case NUMPY_SCALAR:
        if (torch_numpy_scalar(t, ref, &real, &integer, &is_integer))
            state_number(w, is_integer, integer, real);
        return true;
    case NUMPY_DTYPE:
        if (first->kind == PICKLE_TEXT)
            state_text(w, first->text, first->count);
        return true;
    default:
        return false;
    }
}

static void state_value(struct walk *w, pickle_ref ref)
{
    struct torch_tree *t = w->t;
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    struct text text = {0}, key = {0};
    const char *name;
    switch (n->kind) {
    case PICKLE_TEXT:
    case PICKLE_BIGINT:
        state_text(w, n->text, n->count);
        break;
    case PICKLE_INT:
        state_number(w, true, n->integer, 0);
        break;
    case PICKLE_FLOAT:
        state_number(w, false, 0, n->real);
        break;
    case PICKLE_NONE:
        name = fact_key(w, &key);
        if (name && room_for_fact(t, w->name.len))
            job_meta_null(t->job, name);
        break;
    case PICKLE_TRUE:
    case PICKLE_FALSE:
        state_text(w, n->kind == PICKLE_TRUE ? "true" : "false",
                   n->kind == PICKLE_TRUE ? 4 : 5);
        break;
    case PICKLE_BYTES:
        text_addf(&text, "<%llu bytes>", (unsigned long long)n->data->len);
        state_text(w, text_str(&text), text.len);
        break;
    case PICKLE_GLOBAL:
        add_global(&text, t->pickle, ref);
        state_text(w, text_str(&text), text.len);
        break;
    case PICKLE_DICT:
        state_text(w, "{}", 2);
        break;
    default:
        break;
    }
    text_release(&text);
    text_release(&key);
}

/* --- tensors ---------------------------------------------------------------------------- */

/* The same with the dots of its keys escaped, which the frames know. */
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

/* Make the name one that no tensor has yet. */
static bool claim_name(struct walk *w, struct text *out)
{
    struct torch_tree *t = w->t;
    const char *kept;
    bool added = false;
    text_add(out, w->name.at, w->name.len);
    for (unsigned round = 0; !added; round++) {
        if (round == 1) {
            text_reset(out);
            escape_dots(w, out);
        } else if (round > 1) {
            text_addf(out, "#%u", round);
        }
        if (!text_str(out) || !strmap_keep(&t->names, t->arena, out->at ? out->at : "",
                                           out->len, &kept, &added)) {
            error_set(t->job->err, ERR_MEMORY, t->job->path, NO_OFFSET, "no memory");
            return false;
        }
        if (round && added)
            job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "name-collision",
                      "two tensors are named \"%.200s\": this one is \"%.200s\"",
                      w->name.at, out->at);
    }
    return true;
}

static enum status add_tensor(struct walk *w, pickle_ref ref)
{
    struct torch_tree *t = w->t;
    struct error err = {.offset = NO_OFFSET};
    struct text name = {0};
    bool fine = torch_tensor_read(t, ref, &w->tensor, &err);
    if (err.status == ERR_MEMORY || err.status == ERR_IO) {
        *t->job->err = err;
        return err.status;
    }
    if (!fine && !w->tensor.known) {
        char what[320];
        snprintf(what, sizeof(what), "tensor \"%.240s\"", w->name.at ? w->name.at : "");
        error_prefix(&err, what);
        job_issue_error(t->job, ISSUE_ERROR, &err);
        return OK;
    }
    if (claim_name(w, &name))
        torch_emit(t, name.at ? name.at : "", name.len, &w->tensor, &err);
    text_release(&name);
    return t->job->err->status;
}

/* --- second pass ------------------------------------------------------------------------ */

static bool go_into(struct walk *w, pickle_ref node, enum frame_kind kind)
{
    if (!node)
        return true;
    return push(w, (struct frame){.node = node,
                                  .kind = (uint8_t)kind,
                                  .joined = w->joined,
                                  .name_len = w->name.len});
}

static bool is_module(const struct pickle *p, pickle_ref ref)
{
    pickle_ref state = is_call(p, ref) ? pickle_at(p, ref)->call->state : 0;
    return state && pickle_get(p, state, "_parameters") &&
           pickle_get(p, state, "_modules");
}

/* A dict, or a call that made one. */
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
        job_issue(
            t->job, ISSUE_WARNING, t->path, NO_OFFSET, "whole-module",
            "\"%.100s\" is a whole module (class %.200s), not a state_dict: the names "
            "are those of its state_dict",
            w->name.at ? w->name.at : "",
            pickle_kind(p, callee) == PICKLE_GLOBAL
                ? p->globals[pickle_at(p, callee)->integer].name
                : "?");
}

/* Frames run last first. */
static bool enter_module(struct walk *w, pickle_ref ref)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref state = pickle_at(p, ref)->call->state;
    pickle_ref buffers = pickle_get(p, state, "_buffers");
    return go_into(w, pairs_of(p, pickle_get(p, state, "_modules")), FRAME_MODULES) &&
           go_into(w, buffers ? state : 0, FRAME_BUFFERS) &&
           go_into(w, pairs_of(p, pickle_get(p, state, "_parameters")), FRAME_PARAMETERS);
}

/* A dict that a call made; Python 2: the pairs are the argument. */
static bool enter_dict(struct walk *w, const struct pickle_call *call)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref pairs = pickle_item(p, call->args, 0);
    if (!go_into(w, call->dict, FRAME_PAIRS))
        return false;
    if (pickle_kind(p, pairs) == PICKLE_DICT)
        return go_into(w, pairs, FRAME_PAIRS);
    return pickle_kind(p, pairs) != PICKLE_LIST || go_into(w, pairs, FRAME_KEYED);
}

static bool enter_call(struct walk *w, pickle_ref ref)
{
    const struct pickle *p = w->t->pickle;
    const struct pickle_call *call = pickle_at(p, ref)->call;
    bool tensors = has(p, ref, HAS_TENSOR);
    bool named = call->state && pickle_kind(p, call->state) == PICKLE_DICT;
    pickle_ref args = tensors && has(p, call->args, HAS_TENSOR) ? call->args : 0;
    pickle_ref state = 0, more = 0;
    if (torch_callee(p, ref) == TORCH_DICT)
        return enter_dict(w, call);
    if (call->state && !named && pickle_kind(p, call->state) == PICKLE_TUPLE) {
        state = pickle_item(p, call->state, 0); /* (dict, slots) */
        more = pickle_item(p, call->state, 1);
        named =
            pickle_kind(p, state) == PICKLE_DICT || pickle_kind(p, more) == PICKLE_DICT;
        if (!named)
            return go_into(w, tensors ? call->state : 0, FRAME_ITEMS) &&
                   go_into(w, args, FRAME_ITEMS);
    } else {
        state = named ? call->state : 0;
    }
    if (pickle_kind(p, state) != PICKLE_DICT)
        state = 0;
    if (pickle_kind(p, more) != PICKLE_DICT)
        more = 0;
    if (call->more_state && pickle_kind(p, call->more_state) == PICKLE_DICT)
        more = call->more_state;
    return go_into(w, more, FRAME_PAIRS) &&
           go_into(w, state ? state : pairs_of(p, call->kwargs), FRAME_PAIRS) &&
           go_into(w, call->dict, FRAME_PAIRS) && go_into(w, call->list, FRAME_ITEMS) &&
           go_into(w, args, FRAME_ITEMS);
}

/* An optimizer's state is kept by number; where the groups tell the parameters' names, they
 * are facts beside it: "optimizer.state.12" is "layers.0.weight". */
static void name_parameters(struct walk *w, pickle_ref dict)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref groups = list_of(p, pickle_get(p, dict, "param_groups")), group, number,
               name;
    size_t len = w->name.len;
    if (!groups || !pickle_get(p, dict, "state") || w->t->no_facts)
        return;
    for (uint32_t g = 0; (group = pickle_item(p, groups, g)); g++) {
        pickle_ref numbers = list_of(p, pickle_get(p, group, "params"));
        pickle_ref names = list_of(p, pickle_get(p, group, "param_names"));
        for (uint32_t i = 0; numbers && names && (number = pickle_item(p, numbers, i)) &&
                             (name = pickle_item(p, names, i));
             i++) {
            const struct pickle_node *n = pickle_at(p, name);
            if (pickle_kind(p, number) != PICKLE_INT || n->kind != PICKLE_TEXT)
                continue;
            text_addf(&w->name, w->joined ? ".state.%lld" : "state.%lld",
                      (long long)pickle_at(p, number)->integer);
            state_text(w, n->text, n->count);
            w->name.len = len;
        }
    }
    if (w->name.at)
        w->name.at[len] = '\0';
}

/* Whatever has items. */
static bool enter_container(struct walk *w, pickle_ref ref, bool within_module)
{
    struct pickle *p = w->t->pickle;
    size_t depth = w->depth;
    bool ok;
    if (has(p, ref, OPEN))
        return true; /* a cycle */
    if (is_module(p, ref)) {
        if (!within_module)
            say_module(w, ref);
        ok = enter_module(w, ref);
    } else if (is_call(p, ref) && torch_callee(p, ref) != TORCH_SEQUENCE) {
        ok = enter_call(w, ref);
    } else {
        pickle_ref list = list_of(p, ref);
        if (pickle_kind(p, list) == PICKLE_DICT)
            name_parameters(w, list);
        ok = go_into(w, list,
                     pickle_kind(p, list) == PICKLE_DICT ? FRAME_PAIRS : FRAME_ITEMS);
    }
    if (ok && w->depth > depth) {
        w->frames[depth].owner = ref; /* the lowest of its frames is the last to end */
        pickle_at(p, ref)->flags |= OPEN;
    }
    return ok;
}

/* One value under the name that is spelt out. */
static void visit(struct walk *w, pickle_ref ref, bool module)
{
    struct torch_tree *t = w->t;
    const struct pickle *p = t->pickle;
    const struct pickle_node *n = pickle_at(p, ref);
    if (!within_limits(w))
        return;
    if (torch_is_tensor(p, ref)) {
        add_tensor(w, ref);
        if (!w->tensor.opaque || !is_call(p, ref))
            return;
    }
    if (module) {
        enter_container(w, ref, true);
        return;
    }
    bool inside = has(p, ref, HAS_TENSOR | (t->no_facts ? 0 : HAS_DICT));
    if (inside && n->kind == PICKLE_CALL && state_call(w, ref))
        return;
    if (inside) {
        enter_container(w, ref, false);
        return;
    }
    if (t->no_facts || (n->kind == PICKLE_CALL && state_call(w, ref)))
        return;
    if (n->kind != PICKLE_DICT && list_of(p, ref))
        state_list(w, list_of(p, ref));
    else
        state_value(w, ref);
}

static void spell(struct walk *w, const struct frame *f, pickle_ref key,
                  uint32_t position)
{
    w->name.len = f->name_len;
    if (f->joined)
        text_addc(&w->name, '.');
    if (key)
        add_key(w, key);
    else
        text_addf(&w->name, "%u", position);
}

/* Whether a later pair of the dict has the same key: then that one counts. */
static bool is_overwritten(const struct pickle *p, const struct pickle_node *dict,
                           uint32_t i)
{
    const struct pickle_node *key = pickle_at(p, dict->items[i]);
    if (key->kind != PICKLE_TEXT || dict->count > 64)
        return false;
    for (uint32_t k = i + 2; k < dict->count; k += 2) {
        const struct pickle_node *other = pickle_at(p, dict->items[k]);
        if (other->kind == PICKLE_TEXT && other->count == key->count &&
            memcmp(other->text, key->text, key->count) == 0)
            return true;
    }
    return false;
}

/* A module's buffers without those that state_dict() leaves out. */
static bool step_buffers(struct walk *w, struct frame *f)
{
    const struct pickle *p = w->t->pickle;
    pickle_ref buffers = pairs_of(p, pickle_get(p, f->node, "_buffers"));
    pickle_ref left_out =
        list_of(p, pickle_get(p, f->node, "_non_persistent_buffers_set"));
    uint32_t i = f->next;
    pickle_ref key = pickle_item(p, buffers, i), value = pickle_item(p, buffers, i + 1),
               out;
    if (!value)
        return false;
    f->next += 2;
    for (uint32_t k = 0; (out = left_out ? pickle_item(p, left_out, k) : 0); k++)
        if (pickle_kind(p, key) == PICKLE_TEXT && pickle_kind(p, out) == PICKLE_TEXT &&
            pickle_is_text(p, out, pickle_at(p, key)->text))
            return true;
    struct frame now = *f;
    spell(w, &now, key, 0);
    w->joined = true;
    if (torch_is_tensor(p, value))
        visit(w, value, false);
    return true;
}

/* The next child of the top frame; false at its end. */
static bool step(struct walk *w)
{
    const struct pickle *p = w->t->pickle;
    struct frame *f = &w->frames[w->depth - 1];
    struct frame now = *f;
    const struct pickle_node *n = pickle_at(p, f->node);
    pickle_ref key = 0, value;
    if (f->kind == FRAME_BUFFERS)
        return step_buffers(w, f);
    bool pairs = f->kind != FRAME_ITEMS && f->kind != FRAME_KEYED;
    value = pickle_item(p, f->node, f->next + pairs);
    if (!value)
        return false;
    if (pairs)
        key = pickle_item(p, f->node, f->next);
    f->next += 1 + pairs;
    if (now.kind == FRAME_KEYED) {
        key = pickle_item(p, value, 0);
        value = pickle_item(p, value, 1);
        if (!key || !value)
            return true;
    }
    if (pairs && is_overwritten(p, n, now.next))
        return true;
    spell(w, &now, key, now.next);
    w->joined = true;
    if (now.kind == FRAME_PARAMETERS ? torch_is_tensor(p, value)
        : now.kind == FRAME_MODULES  ? is_module(p, value)
                                     : true)
        visit(w, value, now.kind == FRAME_MODULES);
    return true;
}

static void walk(struct walk *w)
{
    struct torch_tree *t = w->t;
    text_adds(&w->name, t->prefix ? t->prefix : "");
    w->joined = t->prefix != NULL;
    visit(w, t->pickle->root, false);
    while (w->depth && t->job->err->status == OK && !t->stopped) {
        size_t depth = w->depth;
        if (step(w))
            continue;
        pickle_ref owner = w->frames[depth - 1].owner;
        if (owner)
            pickle_at(t->pickle, owner)->flags &= (uint8_t)~OPEN;
        w->depth--;
    }
}

enum status torch_tree_state(struct torch_tree *t)
{
    struct walk w = {.t = t};
    if (t->look)
        t->look(t);
    if (look_ahead(&w) == OK)
        walk(&w);
    if (t->without_data && t->job->err->status == OK)
        job_issue(
            t->job, ISSUE_WARNING, t->path, NO_OFFSET, "no-data",
            "%llu tensors, \"%.100s\" the first, have no data: they were saved on the "
            "device \"meta\"",
            (unsigned long long)t->without_data, t->first_without);
    free(w.frames);
    text_release(&w.name);
    return t->job->err->status;
}

void torch_tree_release(struct torch_tree *t)
{
    strmap_release(&t->embedded);
    strmap_release(&t->names);
}
