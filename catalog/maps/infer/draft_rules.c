/*
 * draft_rules.c - writes drafts as rules: regular expressions, templates, steps, operations. Several
 * sets are made, and of those that pass the proof (proof.c) the shortest is taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/infer/inference.h"
#include "catalog/maps/map/dialect.h"

#define PROOF_MAX                                                                                  \
    UINT64_C(200000000)    /* rules times names: above it, rules are exact and are not run */
#define PATTERN_MAX  65536 /* bytes; the limit of regex.h */
#define RULE_COST    64    /* fixed cost of a rule, in bytes */
#define COMPARED_MAX 20000 /* names; with more, the first correct set is taken */

/* --- examples ---------------------------------------------------------------------------------- */

static uint32_t id_of(struct inference *f, const char *text)
{
    return words_id(&f->words, text, strlen(text));
}

/* The id of an operations' text, with the '%' filled in. */
static uint32_t ops_id(struct inference *f, const char *ops, const char *filled)
{
    struct text t = {0};
    for (; ops && *ops; ops++)
        *ops == '%' ? text_adds(&t, filled) : text_addc(&t, *ops);
    return words_take(&f->words, &t);
}

/* How a division's labels are passed to the operations, and how the new name takes them: as
 * numbers if they are consecutive; as they are if the operation can list them; otherwise as
 * numbers that a table maps to labels. */
static struct token part_token(struct inference *f, const struct infer_item *item,
                               const char *const *label, uint32_t *ops)
{
    struct text fill = {0};
    struct token token = {TOKEN_PART, 0, 0};
    unsigned long first = 0;
    const bool counts = infer_labels_count(label, item->count, &first);
    const bool listed =
        item->form == INFER_COPIES || (item->form == INFER_SPLIT && !(counts && !first));
    if (listed) {
        text_adds(&fill, item->form == INFER_SPLIT ? ",[" : "[");
        for (size_t i = 0; i < item->count; i++) {
            text_adds(&fill, i ? "," : "");
            text_json(&fill, label[i], strlen(label[i]));
        }
        text_addc(&fill, ']');
    } else if (counts && first) {
        text_addf(&fill, ",%lu", first);
    } else if (!counts) {
        struct draft_entry *entry = arena_array(f->words.arena, item->count, sizeof(*entry));
        for (size_t i = 0; entry && i < item->count; i++) {
            char number[32];
            int len = snprintf(number, sizeof(number), "%zu", i);
            entry[i] =
                (struct draft_entry){arena_copy(f->words.arena, number, (size_t)len), label[i]};
        }
        token.kind = TOKEN_PARTS;
        token.id = !entry ? 0 : draft_table(&f->words, entry, item->count);
    }
    if (fill.failed)
        arena_fail(f->words.arena);
    *ops = ops_id(f, item->ops, fill.len ? fill.at : "");
    text_release(&fill);
    return token;
}

static void example_of_parts(struct inference *f, const struct infer_item *item, struct example *e)
{
    const struct parted p = infer_parted(f, item);
    const char **label = arena_array(f->words.arena, item->count, sizeof(*label));
    e->new = arena_array(f->words.arena, p.count + 1, sizeof(*e->new));
    if (words_failed(&f->words))
        return;
    for (size_t i = 0; i < item->count; i++)
        label[i] = infer_label(f, &p, item->made[i]);
    memcpy(e->new, p.first, p.head * sizeof(*e->new));
    e->new[p.head] = part_token(f, item, label, &e->ops);
    memcpy(e->new + p.head + 1, p.first + p.count - p.tail, p.tail * sizeof(*e->new));
    e->news = (uint32_t)(p.head + 1 + p.tail);
}

static void example_of_join(struct inference *f, const struct infer_item *item, struct example *e)
{
    char number[32];
    snprintf(number, sizeof(number), "%lld", (long long)item->key);
    struct token *name = e->new;
    e->new = arena_array(f->words.arena, e->news + 2, sizeof(*e->new));
    if (!e->new)
        return;
    if (name)
        memcpy(e->new, name, e->news * sizeof(*name));
    e->new[e->news++] = (struct token){TOKEN_KEY, 0, 0};
    e->new[e->news++] = (struct token){TOKEN_NUMBER, id_of(f, number), 0};
}

/* A text that equal token lists share, whatever their numbers are: its id. */
static uint32_t skeleton(struct inference *f, const struct token *t, size_t count, uint32_t ops,
                         bool drops)
{
    struct text s = {0};
    text_addf(&s, "%u%c", ops, drops ? '-' : '+');
    for (size_t i = 0; i < count; i++)
        text_addf(&s, "/%d.%u", (int)t[i].kind, t[i].kind == TOKEN_NUMBER ? 0 : t[i].id);
    return words_take(&f->words, &s);
}

static void fill_example(struct inference *f, size_t i, struct example *e)
{
    const struct infer_item *item = &f->item[i];
    size_t count;
    *e = (struct example){.turn = (uint32_t)i, .drops = !item->count};
    e->ops = ops_id(f, item->form == INFER_JOIN ? NULL : item->ops, "");
    e->old = words_split(&f->words, item->old, &count);
    e->olds = (uint32_t)count;
    if (item->count && (item->form == INFER_PLAIN || item->form == INFER_JOIN)) {
        e->new = words_split(&f->words, item->made[0], &count);
        e->news = (uint32_t)count;
    }
    if (words_failed(&f->words))
        return;
    if (item->form == INFER_JOIN) {
        e->ops = id_of(f, item->ops);
        example_of_join(f, item, e);
    } else if (item->count && item->form != INFER_PLAIN) {
        example_of_parts(f, item, e);
    }
    /* Rules of a translator may cast, but have no other operations. */
    f->converts |= item->ops && item->count &&
                   (strncmp(item->ops, "[[\"cast\",", 9) != 0 || strstr(item->ops, "],["));
    if (words_failed(&f->words))
        return;
    e->skeleton = skeleton(f, e->old, e->olds, 0, false);
    e->outcome = skeleton(f, e->new, e->news, e->ops, e->drops);
}

/* --- writing rules --------------------------------------------------------------------------- */

/* The number of the table with this JSON text; new ones are added to the option "tables". */
static uint64_t table_name(struct inference *f, uint32_t id)
{
    bool added = false;
    uint64_t *number = strmap_add(&f->table_names, (const char *)&f->words.word[id].at,
                                  sizeof(f->words.word[id].at), &added);
    if (added) {
        *number = f->table_names.count;
        text_addf(&f->tables, "%s\n    \"t%llu\": ", f->tables.len ? "," : "",
                  (unsigned long long)*number);
        text_add(&f->tables, f->words.word[id].at, f->words.word[id].len);
    }
    return *number;
}

/* State of writing a rule. */
struct writing {
    struct inference *f;
    const struct draft *d;
    struct text pattern, replacement, compute;
    unsigned steps;
    struct {
        struct token token;
        unsigned number;
    } step[16]; /* steps that were written, to use them again */
    bool part;
};

/* The template by which a table is looked up, inside of a JSON string. */
static void put_table_key(struct writing *w, const struct token *t)
{
    const char *sep = "";
    if (t->group) {
        text_addf(&w->compute, "\\\\%u", t->group);
        return;
    }
    for (uint32_t i = 0; i < w->d->olds; i++)
        if (w->d->old[i].kind == TOKEN_DIGITS) {
            text_addf(&w->compute, "%s\\\\%u", sep, w->d->old[i].group);
            sep = ",";
        }
}

static void put_step(struct writing *w, const struct token *t)
{
    text_adds(&w->compute, w->compute.len ? ", " : "[");
    if (t->kind == TOKEN_INT) {
        text_addf(&w->compute, "[\"x%u\", \"int\", \"\\\\%u\"]", w->steps, t->group);
        return;
    }
    text_addf(&w->compute, "[\"x%u\", \"table\", \"t%llu\", \"", w->steps,
              (unsigned long long)table_name(w->f, t->id));
    if (t->kind == TOKEN_PARTS) {
        /* Names are also tried without a part: then the key is "" */
        text_adds(&w->compute, "\\\\g<part>\", \"\"]");
        return;
    }
    put_table_key(w, t);
    text_adds(&w->compute, "\"]");
}

static void need_part(struct writing *w)
{
    if (!w->part)
        text_adds(&w->compute, w->compute.len ? ", [\"part\", \"part\"]" : "[[\"part\", \"part\"]");
    w->part = true;
}

/* The number of the step that computes a token, which is written if it is new. */
static unsigned step_of(struct writing *w, const struct token *t)
{
    const unsigned most = sizeof(w->step) / sizeof(w->step[0]);
    for (unsigned i = 0; i < w->steps && i < most; i++)
        if (token_same(&w->step[i].token, t))
            return w->step[i].number;
    if (t->kind == TOKEN_PARTS)
        need_part(w);
    w->steps++;
    put_step(w, t);
    if (w->steps <= most) {
        w->step[w->steps - 1].token = *t;
        w->step[w->steps - 1].number = w->steps;
    }
    return w->steps;
}

/* Append a token of the new name to a template. */
static void put_template(struct writing *w, const struct token *t, struct text *out)
{
    const struct word *word = &w->f->words.word[t->id];
    if (t->kind == TOKEN_TEXT) {
        for (size_t i = 0; i < word->len; i++)
            text_adds(out, word->at[i] == '\\' ? "\\" : ""), text_addc(out, word->at[i]);
    } else if (t->kind == TOKEN_COPY) {
        text_addf(out, "\\g<%u>", t->group);
    } else if (t->kind == TOKEN_PART) {
        need_part(w);
        text_adds(out, "\\g<part>");
    } else {
        text_addf(out, "\\g<x%u>", step_of(w, t));
    }
}

static void put_pattern(struct writing *w)
{
    for (uint32_t i = 0; i < w->d->olds; i++) {
        const struct token *t = &w->d->old[i];
        const struct word *word = &w->f->words.word[t->id];
        if (t->kind == TOKEN_DIGITS)
            text_adds(&w->pattern, "(\\d+)");
        else if (t->kind == TOKEN_REST)
            text_adds(&w->pattern, "(.+)");
        else if (t->kind == TOKEN_CHOICE)
            text_addf(&w->pattern, "(%s)", word->at);
        else
            draft_escape(&w->pattern, word->at, word->len);
    }
}

/* Write \g<1> as \1 if no digit follows: it is easier to read. */
static void shorten_references(struct text *t, struct text *out)
{
    const char *at = text_str(t) ? text_str(t) : "";
    while (*at) {
        size_t digits = strncmp(at, "\\g<", 3) == 0 ? strspn(at + 3, "0123456789") : 0;
        if (at[0] == '\\' && at[1] == '\\') {
            text_add(out, at, 2);
            at += 2;
        } else if (digits && at[3 + digits] == '>' &&
                   !(at[4 + digits] >= '0' && at[4 + digits] <= '9')) {
            text_addc(out, '\\');
            text_add(out, at + 3, digits);
            at += digits + 4;
        } else {
            text_addc(out, *at++);
        }
    }
}

/* The key of a join, as the operation takes it: a number, or a template. */
static void put_key(struct writing *w, uint32_t at, struct text *out)
{
    struct text key = {0};
    bool plain = true;
    for (uint32_t i = at; i < w->d->news; i++) {
        plain = plain && w->d->new[i].kind == TOKEN_TEXT;
        put_template(w, &w->d->new[i], &key);
    }
    if (plain)
        text_add(out, key.at, key.len);
    else if (text_str(&key))
        text_json(out, key.at, key.len);
    text_release(&key);
}

static const char *infer_rules_keep_text(struct inference *f, struct text *t)
{
    const char *kept = t->len ? arena_copy(f->set->arena, t->at, t->len) : NULL;
    if (t->failed || (t->len && !kept))
        arena_fail(f->words.arena);
    text_release(t);
    return kept;
}

static void write_rule(struct inference *f, const struct draft *d)
{
    struct writing w = {.f = f, .d = d};
    struct text replacement = {0};
    struct ruleset_rule rule = {.ord = (int64_t)f->set->rules + 1};
    uint32_t key = 0;
    put_pattern(&w);
    for (; key < d->news && d->new[key].kind != TOKEN_KEY; key++)
        put_template(&w, &d->new[key], &w.replacement);
    shorten_references(&w.replacement, &replacement);
    struct text ops = {0};
    for (const char *at = w.f->words.word[w.d->ops].at; *at; at++)
        *at == '%' && key < w.d->news ? put_key(&w, key + 1, &ops) : (void)text_addc(&ops, *at);
    rule.ops = infer_rules_keep_text(w.f, &ops);
    if (w.compute.len)
        text_addc(&w.compute, ']');
    rule.compute = infer_rules_keep_text(f, &w.compute);
    rule.pattern = infer_rules_keep_text(f, &w.pattern);
    rule.replacement = infer_rules_keep_text(f, &replacement);
    if (!rule.replacement && !d->drops)
        rule.replacement = "";
    rule.pattern = rule.pattern ? rule.pattern : "";
    text_release(&w.replacement);
    f->too_long = f->too_long || strlen(rule.pattern) > PATTERN_MAX;
    if (!ruleset_add(f->set, rule))
        arena_fail(f->words.arena);
}

/* --- the order of rules ---------------------------------------------------------------------- */

/* Rules that end in a group for anything come last, longest prefix first; others are in the order
 * of their names. */
static int by_reach(const void *a, const void *b)
{
    const struct draft *x = a, *y = b;
    bool wide_x = x->olds && x->old[x->olds - 1].kind == TOKEN_REST;
    bool wide_y = y->olds && y->old[y->olds - 1].kind == TOKEN_REST;
    if (wide_x != wide_y)
        return wide_x - wide_y;
    if (wide_x && x->olds != y->olds)
        return x->olds < y->olds ? 1 : -1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* --- the whole draft -------------------------------------------------------------------------- */

/* Ways to reduce the drafts. None is best in all cases, so the set that is shortest to write is
 * taken. The last way reduces nothing, in case the others get names wrong. */
static const struct strategy {
    bool widens, merges, shortest;
} strategies[] = {
    {true, true, true},   {false, true, true},   {true, true, false},
    {false, true, false}, {false, false, false},
};
#define STRATEGIES (sizeof(strategies) / sizeof(strategies[0]))

static void make_drafts(struct inference *f, struct drafts *d, const struct strategy *how)
{
    struct example *example = arena_array(f->words.arena, f->count + 1, sizeof(*example));
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < f->count && !words_failed(&f->words); i++)
        fill_example(f, i, &example[i]);
    f->example = example;
    if (!words_failed(&f->words))
        drafts_make(d, example, f->count);
    while (!words_failed(&f->words) && how->widens && d->count < before) {
        before = d->count;
        drafts_widen(d);
    }
    if (!words_failed(&f->words) && how->merges)
        drafts_merge(d, how->shortest);
}

/* Names that the rules get wrong get rules of their own, in front of all others. */
static void add_exceptions(struct inference *f, struct drafts *d, const bool *wrong)
{
    const size_t rules = d->count;
    struct ruleset_rule *rest = f->set->rule;
    const size_t count = f->set->rules;
    f->set->rule = NULL;
    f->set->rules = f->set->space = 0;
    for (size_t i = 0; i < f->count && !words_failed(&f->words); i++) {
        struct example e;
        struct drafts own = {.words = &f->words};
        if (!wrong[i])
            continue;
        fill_example(f, i, &e);
        if (!words_failed(&f->words))
            drafts_make(&own, &e, 1);
        if (!words_failed(&f->words))
            write_rule(f, &own.at[0]);
    }
    for (size_t i = 0; i < count && !words_failed(&f->words); i++) {
        rest[i].ord = (int64_t)f->set->rules + 1;
        if (!ruleset_add(f->set, rest[i]))
            arena_fail(f->words.arena);
    }
    d->count = rules;
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

/* The length of a set as written; each rule adds RULE_COST. */
static size_t cost_of(const struct ruleset *set)
{
    size_t cost = length_of(set->options);
    for (size_t i = 0; i < set->rules; i++)
        cost += RULE_COST + length_of(set->rule[i].pattern) + length_of(set->rule[i].replacement) +
                length_of(set->rule[i].compute) + length_of(set->rule[i].ops);
    return cost;
}

/* Whether this way makes correct rules. */
static bool infer_by(struct inference *f, const struct strategy *how, bool *wrong)
{
    struct drafts d = {.words = &f->words};
    struct text options = {0};
    make_drafts(f, &d, how);
    if (words_failed(&f->words))
        return false;
    f->set->rules = 0;
    if (d.count)
        qsort(d.at, d.count, sizeof(*d.at), by_reach);
    for (size_t i = 0; i < d.count && !words_failed(&f->words); i++)
        write_rule(f, &d.at[i]);
    f->set->dialect = f->converts ? dialect_convert.name : dialect_t5x_translator.name;
    if (f->tables.failed)
        options.failed = true;
    else if (f->tables.len)
        text_addf(&options, "{\n  \"tables\": {%s}}", f->tables.at);
    else
        text_adds(&options, "{}");
    f->set->options = infer_rules_keep_text(f, &options);
    if (words_failed(&f->words) || f->too_long)
        return false;
    if ((uint64_t)d.count * f->count > PROOF_MAX)
        return !how->merges;
    const size_t bad = infer_try_rules(f, wrong);
    if (bad && (bad * 8 <= d.count || !how->merges)) {
        add_exceptions(f, &d, wrong);
        return !words_failed(&f->words) && infer_try_rules(f, wrong) == 0;
    }
    return !words_failed(&f->words) && bad == 0;
}

enum status infer_rules(const struct infer_item *item, size_t count, struct ruleset *set,
                        struct error *err)
{
    struct ruleset best = {0};
    bool *wrong = arena_array(set->arena, count + 1, sizeof(*wrong));
    for (size_t i = 0; wrong && err->status == OK && i < STRATEGIES; i++) {
        struct arena arena = {.err = err};
        struct inference f = {.item = item,
                              .count = count,
                              .set = set,
                              .words.arena = &arena,
                              .table_names.err = err};
        if (best.dialect && (!strategies[i].merges || count > COMPARED_MAX))
            break;
        set->rule = NULL;
        set->rules = set->space = 0;
        id_of(&f, ""); /* id 0 is the empty text: no operations */
        if (infer_by(&f, &strategies[i], wrong) && (!best.dialect || cost_of(set) < cost_of(&best)))
            best = *set;
        strmap_release(&f.words.map);
        strmap_release(&f.table_names);
        text_release(&f.tables);
        arena_release(&arena);
    }
    if (!wrong || set->arena->failed)
        error_memory(err);
    else if (!best.dialect)
        error_set(err, ERR_UNSUPPORTED, NULL, NO_OFFSET,
                  "no rules can say this: a name is longer than a pattern may be");
    if (err->status == OK)
        *set = best;
    return err->status;
}
