/*
 * torch_text.c - values in a pickle as text: keys as parts of names, lists as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/format/torch/torch_facts.h"

#define LIST_DEPTH 1000 /* levels of nested lists that are shown */

void torch_add_real(struct text *out, double value)
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

void torch_add_global(struct text *out, const struct pickle *p, pickle_ref ref)
{
    const struct pickle_global *g = &p->globals[pickle_at(p, ref)->integer];
    text_add(out, g->name, g->len < 200 ? g->len : 200);
}

void torch_add_key(struct text *out, const struct pickle *p, pickle_ref ref)
{
    const struct pickle_node *n = pickle_at(p, ref);
    switch (n->kind) {
    case PICKLE_TEXT:
    case PICKLE_BIGINT: text_add(out, n->text, n->count); break;
    case PICKLE_INT: text_addf(out, "%lld", (long long)n->integer); break;
    case PICKLE_FLOAT: torch_add_real(out, n->real); break;
    case PICKLE_NONE: text_adds(out, "None"); break;
    case PICKLE_TRUE:
    case PICKLE_FALSE: text_adds(out, n->kind == PICKLE_TRUE ? "True" : "False"); break;
    case PICKLE_GLOBAL: torch_add_global(out, p, ref); break;
    case PICKLE_TUPLE:
        text_addc(out, '(');
        for (uint32_t i = 0; i < n->count && i < 64; i++) {
            if (i)
                text_addc(out, ',');
            if (pickle_kind(p, n->items[i]) != PICKLE_TUPLE)
                torch_add_key(out, p, n->items[i]);
        }
        text_addc(out, ')');
        break;
    default: text_addf(out, "<key %u>", ref);
    }
}

/* Append a value without items as JSON. False: it is not such a value. */
static bool add_scalar(struct torch_tree *t, pickle_ref ref, struct text *out)
{
    const struct pickle_node *n = pickle_at(t->pickle, ref);
    struct element number;
    enum element_type type = ELEMENT_NONE;
    switch (n->kind) {
    case PICKLE_TEXT: return text_json(out, n->text, n->count), true;
    case PICKLE_INT: return text_addf(out, "%lld", (long long)n->integer), true;
    case PICKLE_BIGINT: return text_add(out, n->text, n->count), true;
    case PICKLE_FLOAT: return torch_add_real(out, n->real), true;
    case PICKLE_NONE: return text_adds(out, "null"), true;
    case PICKLE_TRUE:
    case PICKLE_FALSE: return text_adds(out, n->kind == PICKLE_TRUE ? "true" : "false"), true;
    case PICKLE_BYTES:
        return text_addf(out, "\"<%llu bytes>\"", (unsigned long long)n->data->len), true;
    case PICKLE_GLOBAL:
        text_addc(out, '"');
        torch_add_global(out, t->pickle, ref);
        return text_addc(out, '"'), true;
    case PICKLE_CALL:
        if (torch_callee(t->pickle, ref) == NUMPY_SCALAR)
            type = torch_numpy_scalar(t, ref, &number);
        if (type == ELEMENT_INTEGER)
            text_addf(out, "%lld", (long long)number.integer);
        else if (type == ELEMENT_LARGE)
            text_addf(out, "%llu", (unsigned long long)number.large);
        else if (type == ELEMENT_REAL)
            torch_add_real(out, number.real);
        return type == ELEMENT_INTEGER || type == ELEMENT_LARGE || type == ELEMENT_REAL;
    default: return false;
    }
}

pickle_ref torch_list_of(const struct pickle *p, pickle_ref ref)
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

void torch_add_list(struct torch_tree *t, pickle_ref list, struct text *out)
{
    const struct pickle *p = t->pickle;
    struct {
        pickle_ref list;
        uint32_t next;
    } open[LIST_DEPTH] = {{list, 0}};
    unsigned depth = 1;
    text_addc(out, '[');
    while (depth && !out->failed) {
        uint32_t i = open[depth - 1].next++;
        pickle_ref item = pickle_item(p, open[depth - 1].list, i);
        if (!item) {
            text_addc(out, ']');
            depth--;
            continue;
        }
        if (i)
            text_addc(out, ',');
        if (add_scalar(t, item, out))
            continue;
        bool dict = pickle_kind(p, item) == PICKLE_DICT;
        pickle_ref inner = dict ? 0 : torch_list_of(p, item);
        if (inner && pickle_item(p, inner, 0) && depth < LIST_DEPTH) {
            text_addc(out, '[');
            open[depth].list = inner;
            open[depth++].next = 0;
        } else {
            text_adds(out, inner ? "[]" : dict ? "{}" : "null");
        }
    }
}
