/* Rules from examples (catalog/maps/infer/), without a catalog: names in, rules as text out. */

#include "catalog/base/text.h"
#include "catalog/maps/infer/infer.h"
#include "tests/unit/unit.h"

/*
 * Names are "OLD=NEW", "OLD=" (dropped), or "OLD=NEW,NEW" (parts), separated by spaces. Rules are
 * "PATTERN -> REPLACEMENT", with COMPUTE and OPS after it where there are some, parted by " | ". `form` and
 * `ops` are of names with several parts; of a join ("JOIN") keys count up from 0 for each new name.
 */
static const struct rule_case {
    const char *what, *names, *rules;
    enum infer_form form;
    const char *ops;
} rule_cases[] = {
    /* clang-format off */
    {"nothing", "", "", INFER_PLAIN, NULL},
    {"the same names", "a=a b.c=b.c", "(.+) -> \\1", INFER_PLAIN, NULL},
    {"one name", "a=b", "a -> b", INFER_PLAIN, NULL},
    {"layers", "h.0.w=l/0/k h.1.w=l/1/k h.10.w=l/10/k", "h\\.(\\d+)\\.w -> l/\\1/k", INFER_PLAIN, NULL},
    {"zeros before numbers", "b_000=l_0 b_011=l_11", "b_(\\d+) -> l_\\g<x1> [[\"x1\", \"int\", \"\\\\1\"]]", INFER_PLAIN, NULL},
    {"layers counted otherwise", "l.0=m.1 l.1=m.2", "l\\.(\\d+) -> m.\\g<x1> [[\"x1\", \"table\", \"t1\", \"\\\\1\"]]", INFER_PLAIN, NULL},
    {"two numbers change places", "e.0.1=f.1.0 e.2.5=f.5.2", "e\\.(\\d+)\\.(\\d+) -> f.\\2.\\1", INFER_PLAIN, NULL},
    {"a number that does not matter", "e.0.1=f.1 e.0.5=f.5", "e\\.0\\.(\\d+) -> f.\\1", INFER_PLAIN, NULL},
    {"a number says which", "b.0.0=x.0 b.1.0=x.1 b.0.1=y.0 b.1.1=y.1", "b\\.(\\d+)\\.(0|1) -> \\g<x1>.\\1 [[\"x1\", \"table\", \"t1\", \"\\\\2\"]]", INFER_PLAIN, NULL},
    {"a digit after a group", "l.3=m3 l.4=m4 a1=b2", "l\\.(\\d+) -> m\\1 | a1 -> b2", INFER_PLAIN, NULL},
    {"a wrapper's prefix", "module.a.w=a.w module.b=b module.c.d=c.d", "module\\.(.+) -> \\1", INFER_PLAIN, NULL},
    {"prefixes, and one exception", "m.a=a m.b=b m.c=c m.head=out.w", "m\\.head -> out.w | m\\.(.+) -> \\1", INFER_PLAIN, NULL},
    {"a word shared", "enc.a.w=x/enc/a dec.a.w=x/dec/a", "(dec|enc)\\.a\\.w -> x/\\1/a", INFER_PLAIN, NULL},
    {"a word through a table", "t.q.w=t.query t.k.w=t.key", "t\\.(k|q)\\.w -> t.\\g<x1> [[\"x1\", \"table\", \"t1\", \"\\\\1\"]]", INFER_PLAIN, NULL},
    {"what is dropped", "a.x=a.x a.y=a.y opt.m= opt.v.w=", "opt\\.(.+) -> - | (.+) -> \\1", INFER_PLAIN, NULL},
    {"all is dropped", "a= b.c= d=", "(.+) -> -", INFER_PLAIN, NULL},
    {"dots are dots", "a.b=x a/b=y", "a\\.b -> x | a/b -> y", INFER_PLAIN, NULL},
    {"what regexes mean stays text", "a+(b)=c[*]\\1", "a\\+\\(b\\) -> c[*]\\\\1", INFER_PLAIN, NULL},
    {"zeros that say something", "l.07=m.7 l.7=m.007", "l\\.(\\d+) -> m.\\g<x1> [[\"x1\", \"table\", \"t1\", \"\\\\1\"]]", INFER_PLAIN, NULL},
    {"operations part rules", "a.0=b.0 a.1=b.1", "a\\.(\\d+) -> b.\\1 [[\"transpose\"]]", INFER_PLAIN, "[[\"transpose\"]]"},
    {"unstacked", "l/w=l_0/w,l_1/w", "l/w -> l_\\g<part>/w [[\"part\", \"part\"]] [[\"unstack\",1]]", INFER_UNSTACK, "[[\"unstack\",1%]]"},
    {"unstacked from 1", "l=m1,m2 k=n1,n2", "l -> m\\g<part> [[\"part\", \"part\"]] [[\"unstack\",0,1]] | k -> n\\g<part> [[\"part\", \"part\"]] [[\"unstack\",0,1]]", INFER_UNSTACK, "[[\"unstack\",0%]]"},
    {"unstacked under words", "l=a.k,a.v", "l -> a.\\g<x1> [[\"part\", \"part\"], [\"x1\", \"table\", \"t1\", \"\\\\g<part>\", \"\"]] [[\"unstack\",0]]", INFER_UNSTACK, "[[\"unstack\",0%]]"},
    {"split with names", "h.0.c=h.0.q,h.0.k h.1.c=h.1.q,h.1.k", "h\\.(\\d+)\\.c -> h.\\1.\\g<part> [[\"part\", \"part\"]] [[\"split\",0,2,[\"q\",\"k\"]]]", INFER_SPLIT, "[[\"split\",0,2%]]"},
    {"copies", "w=in.w,out.w", "w -> \\g<part>.w [[\"part\", \"part\"]] [[\"copies\",[\"in\",\"out\"]]]", INFER_COPIES, "[[\"copies\",%]]"},
    {"stacked", "l.0.w=all.w l.1.w=all.w l.2.w=all.w", "l\\.(\\d+)\\.w -> all.w [[\"stack\",0,\"\\\\g<1>\"]]", INFER_JOIN, "[[\"stack\",0,%]]"},
    {"fused", "h.q=h.qkv h.k=h.qkv h.v=h.qkv", "h\\.(k|q|v) -> h.qkv [[\"x1\", \"table\", \"t1\", \"\\\\1\"]] [[\"concat\",0,\"\\\\g<x1>\"]]", INFER_JOIN, "[[\"concat\",0,%]]"},
    /* clang-format on */
};

#define NAMES_MAX 16

static size_t read_items(const struct rule_case *c, struct arena *arena, struct infer_item *item)
{
    char *text = arena_copy(arena, c->names, strlen(c->names)), *save, *rest;
    size_t n = 0;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        const char **made = arena_array(arena, NAMES_MAX, sizeof(*made));
        char *equals = strrchr(w, '=');
        *equals = 0;
        item[n] = (struct infer_item){.old = w, .made = made, .form = c->form, .ops = c->ops};
        for (char *m = strtok_r(equals + 1, ",", &rest); m; m = strtok_r(NULL, ",", &rest))
            made[item[n].count++] = m;
        item[n].key = (int64_t)n;
        n++;
    }
    return n;
}

static void print_rules(const struct ruleset *set, struct text *out)
{
    for (size_t i = 0; i < set->rules; i++) {
        const struct ruleset_rule *r = &set->rule[i];
        text_addf(out, "%s%s -> %s", i ? " | " : "", r->pattern,
                  r->replacement ? r->replacement : "-");
        text_addf(out, "%s%s", r->compute ? " " : "", r->compute ? r->compute : "");
        text_addf(out, "%s%s", r->ops ? " " : "", r->ops ? r->ops : "");
    }
}

TEST(finds_rules)
{
    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
        const struct rule_case *c = &rule_cases[i];
        struct arena arena = {0};
        struct ruleset set = {.arena = &arena, .name = "found"};
        struct error err = {.offset = NO_OFFSET};
        struct infer_item item[NAMES_MAX];
        struct text got = {0};
        assert_int_equal(infer_rules(item, read_items(c, &arena, item), &set, &err), OK);
        assert_int_equal(ruleset_check(&set, &err), OK);
        print_rules(&set, &got);
        if (strcmp(text_str(&got), c->rules) != 0)
            fail_msg("%s:\n is     %s\n wanted %s", c->what, text_str(&got), c->rules);
        text_release(&got);
        arena_release(&arena);
    }
}

/*
 * Tensors are "NAME:SHAPE:HASH", separated by spaces, with "-" for what is not known. Pairs are
 * "HOW OLD>NEW", separated by spaces, "-" where a side has no name.
 */
static const struct pair_case {
    const char *what, *a, *b, *pairs;
} pair_cases[] = {
    /* clang-format off */
    {"by content", "x:[2]:1 y:[2]:2", "p:[2]:2 q:[2]:1", "content x>q content y>p"},
    {"contents of other shapes are no pair", "x:[2,3]:1", "p:[6]:1", "- x>- - ->p"},
    {"of equal ones those with like names", "l.0.b:[2]:0 l.1.b:[2]:0 l.0.w:[2]:1 l.1.w:[2]:2", "m.1.b:[2]:0 m.0.b:[2]:0 m.0.w:[2]:1 m.1.w:[2]:2", "content l.0.b>m.0.b content l.1.b>m.1.b content l.0.w>m.0.w content l.1.w>m.1.w"},
    {"a copy", "w:[2]:1", "in:[2]:1 out:[2]:1", "content w>in content w>out"},
    {"one of two goes nowhere", "w:[2]:1 v:[2]:1", "v:[2]:1", "- w>- content v>v"},
    {"the same name, another content", "w:[2]:1", "w:[2]:2", "name w>w"},
    {"the same name, another shape", "w:[2]:1", "w:[3]:2", "- w>- - ->w"},
    {"guessed by shape", "a:[2]:- b:[3]:-", "p:[3]:- q:[2]:-", "guess a>q guess b>p"},
    {"guessed by words", "l.0.q:[2]:- l.0.k:[2]:-", "h.0.key:[2]:- h.0.query:[2]:-", "guess l.0.q>h.0.query guess l.0.k>h.0.key"},
    {"layers in their order", "l.2.w:[2]:- l.10.w:[3]:-", "m.10:[3]:- m.2:[2]:-", "guess l.2.w>m.2 guess l.10.w>m.10"},
    {"turned around", "w:[2,3]:-", "k:[3,2]:-", "guess w>k"},
    {"names alone", "a.w:-:- a.b:-:-", "x/b:-:- x/w:-:-", "guess a.w>x/w guess a.b>x/b"},
    {"layers on top of each other", "l.0:[3]:- l.1:[3]:-", "all:[2,3]:-", "guess l.0>all guess l.1>all"},
    {"an axis into layers", "all:[3,2]:-", "l.0:[3]:- l.1:[3]:-", "guess all>l.0 guess all>l.1"},
    {"stacks with numbers of their own", "w_0:[2,3]:- w_1:[2,3]:-", "l.0.w_0:[3]:- l.1.w_0:[3]:- l.0.w_1:[3]:- l.1.w_1:[3]:-", "guess w_0>l.0.w_0 guess w_0>l.1.w_0 guess w_1>l.0.w_1 guess w_1>l.1.w_1"},
    {"fused, as its name says", "h.0.q:[8,8]:- h.0.k:[2,8]:- h.0.v:[2,8]:- h.0.o:[8,8]:-", "l.1.dense:[8,8]:- l.1.qkv:[12,8]:-", "guess h.0.q>l.1.qkv guess h.0.k>l.1.qkv guess h.0.v>l.1.qkv guess h.0.o>l.1.dense"},
    {"fused in the name's order", "v:[2]:- gate:[4]:- q:[2]:- up:[4]:-", "vq:[4]:- up_gate:[8]:-", "guess v>vq guess gate>up_gate guess q>vq guess up>up_gate"},
    {"fused, as is the custom", "v:[2]:- k:[2]:- q:[2]:- x:[2]:-", "c_attn:[6]:-", "guess v>c_attn guess k>c_attn guess q>c_attn - x>-"},
    {"fused, all there are", "in_b:[3]:- in_a:[2]:-", "both:[5]:-", "guess in_b>both guess in_a>both"},
    {"split", "l.0.qkv:[12,8]:- l.1.qkv:[12,8]:-", "h.0.q:[8,8]:- h.0.k:[2,8]:- h.0.v:[2,8]:- h.1.q:[8,8]:- h.1.k:[2,8]:- h.1.v:[2,8]:-", "guess l.0.qkv>h.0.q guess l.0.qkv>h.0.k guess l.0.qkv>h.0.v guess l.1.qkv>h.1.q guess l.1.qkv>h.1.k guess l.1.qkv>h.1.v"},
    {"fused and turned around", "q:[3,4]:- k:[2,4]:-", "qk:[4,5]:- z:[7]:-", "guess q>qk guess k>qk - ->z"},
    {"those of the same module", "dec.q:[2]:- dec.k:[2]:- enc.q:[2]:- enc.k:[2]:-", "y.enc.qk:[4]:- y.dec.qk:[4]:-", "guess dec.q>y.dec.qk guess dec.k>y.dec.qk guess enc.q>y.enc.qk guess enc.k>y.enc.qk"},
    {"no siblings", "a.q:[2]:- b.c.k:[2]:-", "qk:[4]:-", "- a.q>- - b.c.k>- - ->qk"},
    {"does not add up", "q:[2]:- k:[2]:- v:[2]:-", "qkv:[7]:-", "- q>- - k>- - v>- - ->qkv"},
    {"fused in not every layer", "h.0.q:[2]:- h.0.k:[2]:- h.1.q:[2]:- h.1.k:[2]:-", "h.0.qk:[4]:- h.1.qk:[5]:-", "- h.0.q>- - h.0.k>- - h.1.q>- - h.1.k>- - ->h.0.qk - ->h.1.qk"},
    {"not as many", "l.0:[2]:- l.1:[2]:-", "m.0:[2]:-", "- l.0>- - l.1>- - ->m.0"},
    /* clang-format on */
};

static const char *known(const char *word)
{
    return strcmp(word, "-") == 0 ? NULL : word;
}

static void read_tensors(const char *text, struct arena *arena, struct infer_list *out)
{
    char *copy = arena_copy(arena, text, strlen(text)), *save, *rest;
    out->at = arena_array(arena, NAMES_MAX, sizeof(*out->at));
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        struct infer_tensor *t = &out->at[out->count++];
        t->name = strtok_r(w, ":", &rest);
        t->shape = known(strtok_r(NULL, ":", &rest));
        t->hash = known(strtok_r(NULL, ":", &rest));
        t->dtype = "float32";
        t->rank = t->shape ? 0 : INFER_RANK_MAX + 1;
        t->elements = 1;
        for (const char *at = t->shape; at && *at != ']';) {
            char *end;
            t->size[t->rank] = strtoull(at + 1, &end, 10);
            t->elements *= t->size[t->rank++];
            at = end;
        }
    }
}

TEST(pairs_tensors)
{
    static const char *const how[] = {"-", "content", "name", "guess"};
    for (size_t i = 0; i < sizeof(pair_cases) / sizeof(pair_cases[0]); i++) {
        const struct pair_case *c = &pair_cases[i];
        struct arena arena = {0};
        struct infer_task t = {.arena = &arena};
        struct error err = {.offset = NO_OFFSET};
        struct text got = {0};
        read_tensors(c->a, &arena, &t.a);
        read_tensors(c->b, &arena, &t.b);
        assert_int_equal(infer_pairs(&t, &err), OK);
        for (size_t k = 0; k < t.pairs; k++)
            text_addf(&got, "%s%s %s>%s", k ? " " : "", how[t.pair[k].how],
                      t.pair[k].a == INFER_NONE ? "-" : t.a.at[t.pair[k].a].name,
                      t.pair[k].b == INFER_NONE ? "-" : t.b.at[t.pair[k].b].name);
        if (strcmp(text_str(&got), c->pairs) != 0)
            fail_msg("%s:\n is     %s\n wanted %s", c->what, text_str(&got), c->pairs);
        text_release(&got);
        arena_release(&arena);
    }
}

/* All tensors have one content, so that any operation is right. */
static enum status digest_alike(void *context, const struct infer_probe *p, size_t count,
                                struct infer_digest *out, struct error *err)
{
    (void)context, (void)p;
    for (size_t i = 0; i < count; i++)
        out[i] = (struct infer_digest){.text = "alike"};
    return err->status;
}

/* An arena that is full at any point: an error, and nothing is followed that was not made. */
TEST(lacks_memory)
{
    for (size_t i = 0; i < sizeof(pair_cases) / sizeof(pair_cases[0]); i++) {
        enum status status = ERR_MEMORY;
        for (size_t more = 16; status != OK; more += more < 8192 ? 16 : more / 8) {
            struct arena lists = {0}, arena = {.ceiling = more};
            struct infer_task t = {.arena = &arena, .digest = digest_alike};
            struct error err = {.offset = NO_OFFSET};
            read_tensors(pair_cases[i].a, &lists, &t.a);
            read_tensors(pair_cases[i].b, &lists, &t.b);
            status = infer_pairs(&t, &err);
            assert_true(status == OK || status == ERR_MEMORY);
            arena_release(&arena);
            arena_release(&lists);
        }
    }
}

TEST(orders_numbers)
{
    assert_true(infer_name_order("a.2", "a.10") < 0);
    assert_true(infer_name_order("a.010", "a.10") == 0);
    assert_true(infer_name_order("a", "a.0") < 0);
    assert_true(infer_name_order("b.1", "a.2") > 0);
    assert_true(infer_likeness(NULL, "a.q", "a.query") > infer_likeness(NULL, "a.q", "a.key"));
    assert_true(infer_likeness(NULL, "h.1.w1", "h.1.x") > infer_likeness(NULL, "h.2.w1", "h.1.x"));
}

RUN_TESTS(NULL, NULL)
