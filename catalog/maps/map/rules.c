#include "catalog/maps/map/rules_private.h"

#include <stdlib.h>

#include "catalog/base/search.h"

struct rules *rules_new(enum rules_shape shape)
{
    struct rules *s = calloc(1, sizeof(*s));
    if (s)
        s->shape = shape;
    return s;
}

void rules_free(struct rules *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        struct rule *r = &s->rule[i];
        rules_expansion_release(&r->replacement);
        for (size_t j = 0; j < r->ops; j++)
            rules_expansion_release(&r->op[j].text);
        for (size_t j = 0; j < r->steps; j++) {
            for (unsigned k = 0; k < r->step[j].args; k++)
                rules_expansion_release(&r->step[j].arg[k]);
            text_release(&r->step[j].own);
            template_free(r->step[j].template);
            regex_free(r->step[j].regex);
        }
        regex_free(r->regex);
    }
    text_release(&s->key);
    text_release(&s->number);
    text_release(&s->out);
    text_release(&s->ops);
    text_release(&s->name);
    text_release(&s->part);
    rule_index_free(s->index);
    arena_release(&s->arena);
    free(s);
}

/* --- building ---------------------------------------------------------------------------- */

bool rules_add(struct rules *s, int64_t ord, const char *pattern, const char *replacement,
               const char *cast, const char *fault)
{
    struct rule *grown = arena_grow(&s->arena, s->rule, s->count, &s->space, sizeof(*s->rule));
    if (!grown)
        return false;
    s->rule = grown;
    s->answered = s->marked = false;
    rule_index_free(s->index);
    s->index = NULL;
    struct rule *r = &s->rule[s->count];
    *r = (struct rule){
        .ord = ord,
        .pattern = rules_keep(s, pattern),
        .drops = !replacement,
        .replacement = rules_expansion(s, replacement),
        .cast = rules_keep(s, cast),
        .fault = rules_keep(s, fault),
    };
    if (!r->pattern || (replacement && !r->replacement.source) || (cast && !r->cast) ||
        (fault && !r->fault))
        return false;
    s->count++;
    return true;
}

bool rules_add_ops(struct rules *s, const char *text, bool number)
{
    struct rule *r = &s->rule[s->count - 1];
    struct op_piece *grown = arena_grow(&s->arena, r->op, r->ops, &r->op_space, sizeof(*r->op));
    if (!grown)
        return false;
    r->op = grown;
    r->op[r->ops] = (struct op_piece){rules_expansion(s, text), number};
    s->answered = false;
    return r->op[r->ops++].text.source != NULL;
}

bool rules_add_value(struct rules *s, const char *table, const char *key, const char *value,
                     bool listed)
{
    struct value *grown =
        arena_grow(&s->arena, s->value, s->values, &s->value_space, sizeof(*s->value));
    if (!grown)
        return false;
    s->value = grown;
    s->sorted = s->answered = false;
    struct value *v = &s->value[s->values];
    *v = (struct value){
        .table = rules_keep(s, table),
        .key = rules_keep(s, key),
        .text = rules_keep(s, value),
        .key_len = strlen(key),
        .text_len = value ? strlen(value) : 0,
        .order = s->values,
        .listed = listed,
    };
    if (!v->table || !v->key || (value && !v->text))
        return false;
    s->values++;
    return true;
}

bool rules_add_setting(struct rules *s, const char *key, const char *value, const char *fault)
{
    struct known *grown =
        arena_grow(&s->arena, s->setting, s->settings, &s->setting_space, sizeof(*s->setting));
    if (!grown)
        return false;
    s->setting = grown;
    s->answered = false;
    struct known *k = &s->setting[s->settings];
    *k = (struct known){rules_keep(s, key), rules_keep(s, value), rules_keep(s, fault)};
    if (!k->key || (value && !k->value) || (!value && !k->fault))
        return false;
    s->settings++;
    return true;
}

/* --- applying ---------------------------------------------------------------------------- */

/* Run the steps and operations of a rule that matched; *out is the new name. Errors are in
 * s->out. */
static enum rule_outcome run_rule(struct rules *s, struct rule *r, struct run *out)
{
    if (r->fault) {
        rules_fail(s, r->fault);
        return RULE_ERROR;
    }
    s->dropped = r->drops;
    for (size_t i = 0; i < r->steps; i++)
        if (!rules_run_step(s, r, i))
            return RULE_ERROR;
    if (s->dropped)
        return RULE_DROPPED;
    if (r->ops && !rules_run_ops(s, r))
        return RULE_ERROR;
    if (!rules_expand(s, r, r->steps, &r->replacement, &s->out, out))
        return RULE_ERROR;
    if (out->at != s->out.at) { /* in another text, and not NUL-terminated */
        rules_append(&s->out, *out);
        *out = (struct run){s->out.at, s->out.len};
    }
    return RULE_OK;
}

static void compile(struct rules *s, struct rule *r)
{
    struct text pattern = {0};
    struct error err = {0};
    const enum regex_how how = rules_pattern(s, r, &pattern);
    if (!text_str(&pattern))
        r->pattern_fault = rules_no_memory;
    else if (regex_compile(text_str(&pattern), pattern.len, how, &r->regex, &err) != OK)
        r->pattern_fault = rules_fault_from(s, &err);
    text_release(&pattern);
}

/* Whether the rule decides the name in s->name: it matches, or trying it is an error. *outcome
 * says how, and *out is the new name. Errors are in s->out. */
static bool decide(struct rules *s, struct rule *r, enum rule_outcome *outcome, struct run *out)
{
    struct error err;
    if (!r->regex && !r->pattern_fault)
        compile(s, r);
    *outcome = RULE_ERROR;
    if (r->pattern_fault) {
        rules_fail(s, r->pattern_fault);
        if (r->pattern_fault == rules_no_memory)
            r->pattern_fault = NULL;
        return true;
    }
    err.status = OK; /* clear only these: it is large, and this is the inner loop */
    err.code = NULL;
    int matched = s->known ? regex_exec_known(r->regex, s->name.at, s->name.len, &err)
                           : regex_exec(r->regex, s->name.at, s->name.len, 0, &err);
    if (matched < 0)
        rules_fail_match(s, &err);
    else if (matched > 0)
        *outcome = run_rule(s, r, out);
    return matched != 0;
}

/* Set *result if the rule decides the name. */
static bool ask_rule(struct rules *s, struct rule *r, struct rule_result *result)
{
    struct run out = {"", 0};
    enum rule_outcome outcome = RULE_UNMATCHED;
    if (!decide(s, r, &outcome, &out))
        return false;
    if (outcome == RULE_ERROR)
        out = (struct run){s->out.at, s->out.len};
    *result = (struct rule_result){.outcome = outcome,
                                   .ord = r->ord,
                                   .text = out.at,
                                   .len = out.len,
                                   .cast = outcome == RULE_OK ? r->cast : NULL,
                                   .ops = outcome == RULE_OK && r->ops ? s->ops.at : NULL};
    return true;
}

/* NULL: there is no such rule. (Rules are added in the order of `ord`.) */
static struct rule *rule_called(struct rules *s, int64_t ord)
{
    size_t at = s->after;
    if (at >= s->count || s->rule[at].ord != ord)
        PARTITION_POINT(at, s->count, s->rule[at].ord < ord);
    s->after = at + 1;
    return at < s->count && s->rule[at].ord == ord ? &s->rule[at] : NULL;
}

static const struct rule_result unmatched = {.outcome = RULE_UNMATCHED, .text = ""};

/* Mark the rules that the name could match. A name that is not UTF-8 is an error of the first rule. */
static bool mark(struct rules *s)
{
    if (!s->index) {
        s->shared = 0;
        if (!(s->index = rule_index_new(s)))
            return rules_fail(s, rules_no_memory);
    }
    rule_index_mark(s->index, s->name.at, s->name.len, s->shared);
    return s->marked = true;
}

/* The answer of the first rule from number *at on; *at is set to the number after it. */
static struct rule_result find_result(struct rules *s, size_t *at)
{
    struct rule_result result = unmatched;
    struct rule *one = s->one ? rule_called(s, s->asked) : NULL;
    if (one)
        ask_rule(s, one, &result);
    if (s->one || (s->known && !s->marked && !mark(s)))
        return result;
    bool decided = false;
    while (!decided && *at < s->count) {
        const size_t i = s->known ? rule_index_next(s->index, *at) : *at;
        *at = i < s->count ? i + 1 : s->count;
        decided = i < s->count && ask_rule(s, &s->rule[i], &result);
    }
    return result;
}

/* The number of leading bytes that two names share. */
static size_t shared_bytes(const struct text *last, const char *name, size_t len)
{
    const size_t most = last->len < len ? last->len : len;
    size_t i = 0;
    for (uint64_t a, b; i + sizeof(a) <= most; i += sizeof(a)) {
        memcpy(&a, last->at + i, sizeof(a));
        memcpy(&b, name + i, sizeof(b));
        if (a != b)
            break;
    }
    while (i < most && last->at[i] == name[i])
        i++;
    return i;
}

static const struct rule_result *apply(struct rules *s, size_t *at, const char *name, size_t len)
{
    const size_t shared = shared_bytes(&s->name, name, len);
    text_reset(&s->out);
    s->lacked = s->part.failed;
    if (!s->name.at || shared < len || len < s->name.len) {
        s->shared = s->marked || shared < s->shared ? shared : s->shared;
        text_reset(&s->name);
        rules_append(&s->name, (struct run){name, len});
        size_t from = s->known ? shared : 0; /* the last character that both have, or before it */
        while (from && (name[--from] & 0xC0) == 0x80)
            ;
        s->known = utf8_valid(name + from, len - from);
        s->marked = false;
    }
    if (!s->name.failed)
        s->result = find_result(s, at);
    s->answered = !s->name.failed && !s->out.failed && !s->lacked;
    if (!s->answered)
        s->result = (struct rule_result){.outcome = RULE_ERROR,
                                         .text = rules_no_memory,
                                         .len = strlen(rules_no_memory),
                                         .no_memory = true};
    return &s->result;
}

const struct rule_result *rules_apply(struct rules *s, const char *name, size_t len)
{
    if (s->answered && !s->one && !s->part.len && s->name.len == len &&
        memcmp(s->name.at, name, len) == 0)
        return &s->result;
    size_t first = 0;
    return rules_apply_from(s, &first, name, len);
}

const struct rule_result *rules_apply_from(struct rules *s, size_t *at, const char *name,
                                           size_t len)
{
    const bool first = *at == 0;
    s->one = false;
    text_reset(&s->part);
    apply(s, at, name, len);
    s->answered = s->answered && first;
    return &s->result;
}

const struct rule_result *rules_apply_part(struct rules *s, const char *part, const char *name,
                                           size_t len)
{
    size_t at = 0;
    s->one = false;
    text_reset(&s->part);
    text_adds(&s->part, part);
    return apply(s, &at, name, len);
}

const struct rule_result *rules_apply_one(struct rules *s, int64_t ord, const char *name,
                                          size_t len)
{
    if (s->answered && s->one && s->asked == ord && s->name.len == len &&
        memcmp(s->name.at, name, len) == 0)
        return &s->result;
    size_t at = 0;
    s->one = true;
    s->asked = ord;
    text_reset(&s->part);
    return apply(s, &at, name, len);
}

/* --- looking for faults ------------------------------------------------------------------- */

/* What is wrong with the template, which may refer to the first `steps` steps; NULL: nothing. */
static const char *expansion_fault(struct rules *s, struct rule *r, size_t steps,
                                   struct expansion *e)
{
    if (!e->ready)
        rules_prepare(s, r, steps, e);
    return e->fault;
}

static const char *step_fault(struct rules *s, struct rule *r, size_t at)
{
    struct step *step = &r->step[at];
    bool sub = step->form && step->form->kind == STEP_SUB;
    if (!step->fault && sub && !step->template)
        rules_compile_sub(s, step);
    const char *fault = step->fault;
    for (unsigned i = sub ? 2 : 0; !fault && i < step->args; i++)
        fault = expansion_fault(s, r, at, &step->arg[i]);
    return fault;
}

static const char *rule_fault(struct rules *s, struct rule *r, const char **what)
{
    const char *fault = r->fault;
    *what = "operations";
    if (fault)
        return fault;
    *what = "pattern";
    if (!r->regex && !r->pattern_fault)
        compile(s, r);
    if (r->pattern_fault)
        return r->pattern_fault;
    *what = "compute";
    for (size_t i = 0; i < r->steps && !fault; i++)
        fault = step_fault(s, r, i);
    if (fault)
        return fault;
    *what = "operations";
    for (size_t i = 0; i < r->ops && !fault; i++)
        fault = r->op[i].number ? expansion_fault(s, r, r->steps, &r->op[i].text) : NULL;
    if (fault || r->drops)
        return fault;
    *what = "replacement";
    return expansion_fault(s, r, r->steps, &r->replacement);
}

const char *rules_fault(struct rules *s, int64_t *ord, const char **what)
{
    const char *fault = NULL;
    for (size_t i = 0; i < s->count && !fault; i++) {
        fault = rule_fault(s, &s->rule[i], what);
        *ord = s->rule[i].ord;
    }
    return fault;
}
