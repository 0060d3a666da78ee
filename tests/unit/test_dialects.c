/* The results of dialects (catalog/maps/map/), without a catalog: trees and rules as words, rows as text. */

#include "catalog/maps/map/dialect.h"
#include "tests/unit/unit.h"

/*
 * Rules are "PATTERN=REPLACEMENT", or "PATTERN" without one, separated by spaces. Leaves are
 * "NAME[SHAPE]", "NAME" (a scalar), "NAME~" (null), "NAME{}" (an empty dict). Rows are
 * "NEW<OLD STATUS", with what is wrong or worth knowing after a colon. A restore is one of the
 * dialect's second settler.
 */
static const struct settle_case {
    const char *what, *dialect, *options, *rules, *source, *target, *rows;
} cases[] =
    {
/* clang-format off */
#define T5X "t5x-assignment"
    {"swap", T5X, "{}", "a=b b=a", "a b", "a b", "a<b mapped|b<a mapped"},
    {"one for two", T5X, "{}", "(a|b)=x", "x", "a b", "a<x mapped|b<x mapped"},
    {"what no rule takes goes along", T5X, "{}", "", "a b", "a", "a<a kept|b<b kept: the target has no such name"},
    {"what the source lacks", T5X, "{}", "", "a", "a b", "a<a kept|b<- missing"},
    {"undone", T5X, "{}", "a=b", "a b", "a", "a<b dropped: undone: no rule takes the source's own value of this name, which replaces it|a<a kept"},
    {"dropped", T5X, "{}", "a", "a b", "a b", "a<- dropped: the source's own value of this name is left out too|b<b kept"},
    {"unused", T5X, "{}", "a=a x=a", "a", "a", "a<a mapped|-<- error: ValueError: Unused patterns in `assignment_map`: {'x'}"},
    {"unused, and fine", T5X, "{\"require_all\": false}", "x=a", "a", "a", "a<a kept"},
    {"one pattern twice", T5X, "{}", "a=a a=b", "a b", "a", "a<a mapped|b<b kept: the target has no such name|-<- error: ValueError: Unused patterns in `assignment_map`: {}"},
    {"no such parameter", T5X, "{}", "a=y", "c b", "a", "a<y error: ValueError: Parameter 'y' does not exist in restore checkpoint. Must be one of: ['b', 'c']|c<c kept: the target has no such name|b<b kept: the target has no such name"},
    {"a later leaf hides", T5X, "{}", "a/b=x", "x a", "a/b", "a/b<x dropped: hidden by the later leaf 'a'|a<a kept: the target has no such name"},
    {"a leaf is no folder", T5X, "{}", "a=x", "x[4] a/b a/c/d", "a", "a<x mapped|a/b<a/b error: TypeError: 'LazyArray' object does not support item assignment|a/c/d<a/c/d error: TypeError: argument of type 'LazyArray' is not iterable"},
    {"nor is a null", T5X, "{}", "a=x", "x~ a/b", "a", "a<x mapped|a/b<a/b error: TypeError: 'NoneType' object does not support item assignment"},
    {"the topmost that was there", T5X, "{}", "a=x a/b=y", "x y a/b/c", "a a/b", "a<x mapped|a/b<y error: TypeError: 'int' object does not support item assignment|a/b/c<a/b/c error: TypeError: argument of type 'int' is not iterable"},
    {"resuming", T5X, "{\"is_resuming\": true}", "(=x", "a b/c b", "a", "a<a kept|b/c<b/c kept|b<b kept"},
    {"nothing at all", T5X, "{}", "", "", "", ""},
#define ORBAX "orbax"
    {"the last of sorted patterns", ORBAX, "{}", "a=c (a|z)=b", "b c", "a", "a<c mapped: another rule that matches it too is overruled"},
    {"an earlier error", ORBAX, "{}", "(.*)=zz/\\1 a=b", "b", "a", "a<zz/a error: ValueError: Transformation key \"zz/a\" not found in origin tree."},
    {"fallback undoes nothing", ORBAX, "{}", "a=b a|q", "b", "a", "a<b mapped"},
    {"fallback to the original", ORBAX, "{\"default_to_original\": false}", "a", "a b", "a b", "a<a kept|b<- missing"},
    {"which is not there", ORBAX, "{\"default_to_original\": false}", "f", "a", "f", "f<f error: ValueError: f not found in origin tree (`use_fallback` requested)."},
    {"nulls take no part", ORBAX, "{}", "", "a~ b", "a b~", "a<- missing"},
    {"strict", ORBAX, "{\"mode\": \"strict\"}", "q=a", "a", "a", "a<a kept|-<- error: ValueError: no leaf matches 'q'"},
    {"as one dict", ORBAX, "{}", "a\\x2fb=y a/.=x", "x y", "a/b", "a/b<y mapped: another rule that matches it too is overruled"},
#define KD "kauldron"
    {"a subtree", KD, "{}", "p=old", "old/a old/b", "p/a p/b s", "p/a<old/a mapped|p/b<old/b mapped|s<- missing"},
    {"a later rule inside", KD, "{}", "p=old p.b=old.a", "old/a old/b", "p/a p/b", "p/a<old/a mapped|p/b<old/a mapped"},
    {"the last element", KD, "{}", "l[+0]=l[-1]", "l/0 l/1 l/2", "l/0", "l/0<l/2 mapped"},
    {"a slice", KD, "{}", "l=l[::2]", "l/0/w l/1/w l/2/w", "l/0/w l/1/w", "l/0/w<l/0/w mapped|l/1/w<l/2/w mapped"},
    {"no list", KD, "{}", "a=l[-1]", "l/x", "a", "a<- error: KeyError: Could not find path 'l[-1]' in the dict object."},
    {"an empty key", KD, "{}", "a=o['']", "o//w", "a/w", "a/w<o//w mapped"},
    {"the root has no empty key", KD, "{}", "a=['']", "o", "a", "a<- error: KeyError: Could not find path '['']' in the dict object."},
    {"a leaf is no dict", KD, "{}", "a=a", "a", "a/z", "a/z<- error: TypeError: 'int' object is not subscriptable"},
    {"a leaf grows", KD, "{}", "a=a", "a/z", "a", "a/z<a/z mapped: the model has a leaf here: its structure changes"},
    {"shapes", KD, "{}", "a=a", "a[2]", "a[3]", "a<a error: ValueError: Requested shape: (3,) is not compatible with the stored shape: (2,). Truncating/padding is disabled."},
    {"missing, ignored", KD, "{\"ignore_model_keys\": [\"**.b\"]}", "p=p", "p/a", "p/a p/b", "p/a<p/a mapped|p/b<- missing: ignored: the model keeps its own"},
    {"a leaf over what is empty", KD, "{\"ignore_model_keys\": [\"**.b\"]}", "p=p", "p/a", "p/a{}", "p/a<p/a mapped: of model and source one is empty here: the structure changes"},
    {"a leaf over a subtree", KD, "{\"ignore_model_keys\": [\"**\"]}", "p=p", "p/a", "p/a/b", "p/a/b<- error: TypeError: 'int' object is not subscriptable"},
    {"a leaf over a subtree of nothing", KD, "{\"ignore_model_keys\": [\"**\"]}", "p=p", "p/a", "p/a/b~", "p/a/b<- error: TypeError: 'int' object is not subscriptable"},
    {"the end of a longer list", KD, "{}", "l=l l[-1]=x", "l/0 l/1 l/2 x", "l/0 l/1", "l/0<l/0 mapped|l/1<l/1 mapped"},
    {"the end of a shorter list", KD, "{}", "l=l l[-1]=x", "l/0 l/1 x", "l/0 l/1 l/2", "l/0<l/0 mapped|l/1<x mapped|l/2<- error: IndexError: list index out of range"},
    {"from the end into a longer list", KD, "{}", "l=l l[-1].w=x", "l/0/w l/1/w l/2/w x", "l/0/w l/1/w", "l/0/w<l/0/w mapped|l/1/w<l/1/w mapped"},
    {"before a shorter list", KD, "{}", "l=l l[-3].w=x", "l/0/w l/1/w x", "l/0/w l/1/w l/2/w", "l/0/w<- error: IndexError: Error trying to mutate path l[-3].w: Error accessing -3 in <class 'list'>: list index out of range (rule 1 wrote there before)|l/1/w<l/1/w mapped|l/2/w<- error: IndexError: list index out of range"},
    {"past a shorter list", KD, "{}", "l=l l[1]=x", "l/0 x", "l/0 l/1", "l/0<l/0 mapped|l/1<- error: KeyError: Error trying to mutate path l[1]: Key 1 out of range (length 1) (rule 1 wrote there before)"},
    {"a list become a dict takes -1 for a key", KD, "{}", "l=o l[-1]=x", "o/a x", "l/0 l/1", "l/0<- error: KeyError: '0'|l/1<- error: KeyError: '1'"},
    {"with a name besides 0 too", KD, "{}", "l=o l[-1]=x", "o/0 o/a x", "l/0", "l/0<o/0 mapped"},
    {"a list become a leaf", KD, "{}", "l=x l[-2]=x", "x", "l/0 l/1", "l/0<- error: ValueError: Error trying to mutate path l[-2]: Cannot mutate leaf <class 'int'>. Tried to overwrite key -2. Only dict, list can be recursed into. (rule 1 wrote there before)|l/1<- error: TypeError: 'int' object is not subscriptable"},
    {"a list become nothing", KD, "{}", "l=l[5:] l[0].a=x", "l/0 x", "l/0/a", "l/0/a<- error: IndexError: Error trying to mutate path l[0].a: Error accessing 0 in <class 'list'>: list index out of range (rule 1 wrote there before)"},
    {"a dict become a list", KD, "{}", "p=l p.a=x", "l/0 x", "p/a", "p/a<- error: TypeError: Error trying to mutate path p.a: Expected list index, got 'a'. (rule 1 wrote there before)"},
    {"a dict become a list on the way", KD, "{}", "p=l p.a.b=x", "l/0 x", "p/a/b", "p/a/b<- error: TypeError: Error trying to mutate path p.a.b: Error accessing 'a' in <class 'list'>: list indices must be integers or slices, not str (rule 1 wrote there before)"},
    {"through a leaf", KD, "{}", "p=x p.a.b=x", "x", "p/a/b", "p/a/b<- error: RuntimeError: Error trying to mutate path p.a.b: Error accessing 'a' in <class 'int'>: it is a leaf (rule 1 wrote there before)"},
    {"through what is not there", KD, "{}", "p=o p.a.b=x", "o/z x", "p/a/b", "p/a/b<- error: KeyError: Error trying to mutate path p.a.b: Error accessing 'a' in <class 'dict'>: no such key (rule 1 wrote there before)"},
    {"a leaf, then a dict again", KD, "{}", "p=x p=p p.a.b=x", "x p/a/c", "p/a/b", "p/a/b<x mapped"},
    {"into a leaf over a subtree", KD, "{\"ignore_model_keys\": [\"**\"]}", "p=p p.a.z=o", "p/a o/w", "p/a/z/w", "p/a/z/w<- error: ValueError: Error trying to mutate path p.a.z: Cannot mutate leaf <class 'int'>. Tried to overwrite key 'z'. Only dict, list can be recursed into. (rule 1 wrote there before)"},
    {"into one that is ignored", KD, "{\"ignore_restored_keys\": [\"a\"],\"ignore_model_keys\": [\"**\"]}", "p=p p.a.z=o", "p/a o/w", "p/a/z/w", "p/a/z/w<o/w mapped"},
    {"a leaf grows, and is written into", KD, "{}", "l=l l[-2].w=y", "l/0/w l/1/v l/1/w l/2 y/a y/b", "l/0/w l/1{}", "l/0/w<l/0/w mapped|l/1/v<l/1/v mapped: the model has a leaf here: its structure changes|l/1/w/a<y/a mapped: the model has a leaf here: its structure changes|l/1/w/b<y/b mapped: the model has a leaf here: its structure changes"},
    {"a name in a list", KD, "{}", "p=l", "l/0/w l/1", "p/x", "p/x<- error: TypeError: list indices must be integers or slices, not str"},
    {"a name in a slice", KD, "{}", "p=l[:1]", "l/0/w l/1", "p/x p/1", "p/x<- error: TypeError: list indices must be integers or slices, not str|p/1<- error: IndexError: list index out of range"},
    {"a name in what has other names", KD, "{}", "p=l", "l/0/w l/a", "p/x p/1", "p/x<- error: KeyError: 'x'|p/1<- error: KeyError: '1'"},
    {"a name in numbers without 0", KD, "{}", "p=l", "l/1 l/01", "p/x p/1", "p/x<- error: KeyError: 'x'|p/1<l/1 mapped"},
    {"the optimizer comes last", KD, "{}", "opt_state.a=x ['opt_state']=y", "x y/a", "opt_state/a", "opt_state/a<x mapped"},
    {"restore: zeros", "restore", "{}", "(.*)=\\1", "target/w[2]", NULL, "target/w<target/w ok|state/param_states/w/m<- ok"},
    {"over slots that are there", "restore", "{}", "(.*)=\\1", "target/w state/param_states/w/v[2] state/param_states/w/v_row[2]", NULL,
     "target/w<target/w ok|state/param_states/w/v<state/param_states/w/v ok|state/param_states/w/v_row<- ok|state/param_states/w/v_row<state/param_states/w/v_row dropped: replaced by zeros: its parameter has other slots|state/param_states/w/m<- ok|state/param_states/w/v_col<- ok"},
    {"a shared bias", "restore", "{}", "(.*)=\\1", "e/layers_0/relpos_bias/x", NULL, "e/relpos_bias/x<e/layers_0/relpos_bias/x ok"},
    {"not shared", "restore", "{}", "(.*)=\\1", "e/layers_1/relpos_bias/x d/layers_0/relpos_bias/x", NULL, "e/layers_1/relpos_bias/x<e/layers_1/relpos_bias/x ok|d/layers_0/relpos_bias/x<d/layers_0/relpos_bias/x ok"},
    {"unmapped", "restore", "{}", "a=b", "a z[2]", NULL, "-<z error: ValueError: Unmapped tensor keys exist: {'z': LazyThreadPoolArray(shape=(2,), dtype=int8)}"},
    {"a model", "restore", "{}", "(.*)=\\1", "w[2] z", "w[3]", "w<w error: ValueError: Variable w has shape (2,) != (3,)|z<z error: KeyError: 'z'"},
#define CONVERT "convert"
    {"renamed", CONVERT, "{}", "a=b", "a", NULL, "b<a ok"},
    {"one name for two", CONVERT, "{}", ".=x", "a b", NULL, "x<a error: ValueError: 'x' is the new name of 'a' and of 'b'|x<b error: ValueError: 'x' is the new name of 'a' and of 'b'"},
    {"kept", CONVERT, "{\"unmatched\": \"keep\"}", "", "a", NULL, "a<a ok: no rule matches; kept"},
    {"dropped", CONVERT, "{\"unmatched\": \"drop\"}", "", "a", NULL, "-<a dropped: no rule matches"},
    {"unmatched", CONVERT, "{}", "", "a", NULL, "-<a unmatched"},
        /* clang-format on */
};

/* Cuts "a b c" into words, in the arena. */
static size_t words_of(struct arena *arena, const char *text, char ***out)
{
    char *copy = arena_copy(arena, text, strlen(text)), *state = NULL;
    size_t count = 0;
    *out = arena_array(arena, strlen(text) + 1, sizeof(**out));
    for (char *word = strtok_r(copy, " ", &state); word; word = strtok_r(NULL, " ", &state))
        (*out)[count++] = word;
    return count;
}

static struct map_leaf leaf_of(char *word, size_t at)
{
    struct map_leaf leaf = {.dtype = "int8", .shape = "[]"};
    char *shape = strstr(word, "[+") || strstr(word, "['") ? NULL : strchr(word, '[');
    size_t len = strlen(word);
    if (shape)
        leaf.shape = shape;
    if (len && word[len - 1] == '~')
        leaf = (struct map_leaf){.kind = MAP_NULL};
    if (len && word[len - 1] == '}')
        leaf = (struct map_leaf){.kind = MAP_EMPTY_DICT};
    leaf.place = (int64_t)at << 25 | (leaf.kind == MAP_TENSOR) << 24;
    leaf.name = (struct map_text){word, shape ? (size_t)(shape - word) : strcspn(word, "~{")};
    return leaf;
}

static struct map_tree tree_of(struct map_task *t, const char *text)
{
    char **word;
    struct map_tree tree = {.count = words_of(&t->arena, text ? text : "", &word)};
    tree.leaf = arena_array(&t->arena, tree.count + 1, sizeof(*tree.leaf));
    for (size_t i = 0; i < tree.count; i++)
        tree.leaf[i] = leaf_of(word[i], i);
    return tree;
}

static void add_rules(struct map_task *t, const char *text)
{
    char **word;
    struct map_rule *rule;
    t->rules = words_of(&t->arena, text, &word);
    t->rule = rule = arena_array(&t->arena, t->rules + 1, sizeof(*rule));
    for (size_t i = 0; i < t->rules; i++) {
        char *replacement = strchr(word[i], '=');
        if (replacement)
            *replacement++ = '\0';
        rule[i] = (struct map_rule){.ord = (int64_t)i + 1, .pattern = word[i]};
        if (replacement)
            rule[i].replacement = (struct map_text){replacement, strlen(replacement)};
    }
}

/* What map_load.c does elsewhere: each rule, or the first that matches, on each name. */
static void match(struct map_task *t, const struct dialect *d, struct map_tree *tree)
{
    struct map_match *found =
        arena_array(&t->arena, tree->count * (t->rules + 1) + 1, sizeof(*found));
    struct rules *rules = rules_new(d->trial == MAP_MATCH ? RULES_TRANSLATOR : RULES_FULLMATCH);
    size_t count = 0;
    for (size_t i = 0; i < t->rules; i++)
        rules_add(rules, t->rule[i].ord, t->rule[i].pattern, t->rule[i].replacement.at, NULL, NULL);
    for (size_t i = 0; i < tree->count && d->trial != MAP_PATH; i++) {
        struct map_leaf *leaf = &tree->leaf[i];
        leaf->match = (uint32_t)count;
        for (size_t k = 0; k < t->rules; k++) {
            const struct rule_result *r =
                d->each ? rules_apply_one(rules, t->rule[k].ord, leaf->name.at, leaf->name.len)
                        : rules_apply(rules, leaf->name.at, leaf->name.len);
            if (r->outcome != RULE_UNMATCHED)
                found[count++] =
                    (struct map_match){r->outcome,
                                       r->ord,
                                       {arena_copy(&t->arena, r->text, r->len), r->len},
                                       NULL,
                                       NULL};
            if (!d->each)
                break;
        }
        leaf->matches = (uint32_t)(count - leaf->match);
    }
    t->match = found;
    rules_free(rules);
}

/* What schema/map/translation.sql does elsewhere. */
static void translate(struct map_task *t)
{
    for (size_t i = 0; i < t->source.count; i++) {
        const struct map_leaf *leaf = &t->source.leaf[i];
        const struct map_match *by = leaf->matches ? &t->match[leaf->match] : NULL;
        struct map_row *row = map_add(t, by ? map_status(by->outcome) : "unmatched");
        map_take(row, leaf);
        row->old_name = leaf->name;
        row->new_name = by ? by->text : row->new_name;
    }
}

static void print(struct text *out, const struct map_row *row)
{
    text_adds(out, out->len ? "|" : "");
    text_add(out, row->new_name.at ? row->new_name.at : "-",
             row->new_name.at ? row->new_name.len : 1);
    text_addc(out, '<');
    text_add(out, row->old_name.at ? row->old_name.at : "-",
             row->old_name.at ? row->old_name.len : 1);
    text_addf(out, " %s", row->status);
    if (row->error.at || row->note)
        text_addf(out, ": %s", row->error.at ? row->error.at : row->note);
}

static void check(const struct settle_case *c)
{
    bool restores = strcmp(c->dialect, "restore") == 0;
    const struct dialect *d = dialect_find(restores ? "t5x-translator" : c->dialect);
    struct map_task t = {.options = c->options, .strict = true};
    struct text rows = {0};
    assert_non_null(d);
    t.has_target = restores && c->target;
    add_rules(&t, c->rules);
    t.source = tree_of(&t, c->source);
    t.target = tree_of(&t, c->target);
    match(&t, d, d->from_model ? &t.target : &t.source);
    if (restores)
        translate(&t);
    (restores ? d->restore : d->settle)(&t);
    assert_false(t.failed);
    for (size_t i = 0; i < t.rows; i++)
        print(&rows, &t.row[i]);
    print_message("%s: %s\n", c->dialect, c->what);
    assert_string_equal(rows.at ? rows.at : "", c->rows);
    text_release(&rows);
    arena_release(&t.arena);
}

TEST(settled)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
}

/* As many names as an assignment may have: how many are not kept as they are. */
static size_t not_kept(size_t names, const char *more)
{
    const struct dialect *d = dialect_find("t5x-assignment");
    struct map_task t = {0};
    struct text list = {0};
    size_t lost = 0;
    for (size_t i = 0; i < names; i++)
        text_addf(&list, "d%zu/e/w ", i);
    text_adds(&list, more);
    add_rules(&t, "");
    t.source = tree_of(&t, list.at);
    t.target = tree_of(&t, list.at);
    match(&t, d, &t.target);
    d->settle(&t);
    assert_false(t.failed);
    for (size_t i = 0; i < t.rows; i++)
        lost += !map_is(&t.row[i], "kept");
    text_release(&list);
    arena_release(&t.arena);
    return lost;
}

/* A leaf that is also a folder of others is noticed, however many leaves there are. */
TEST(folders_among_many)
{
    static const size_t counts[] = {1, 62, 63, 64, 65, 66, 127, 128, 129, 5000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        print_message("%zu names\n", counts[i]);
        assert_int_equal(not_kept(counts[i], ""), 0);
        assert_int_equal(not_kept(counts[i], "d0/e/w/b"), 1);
        assert_int_equal(not_kept(counts[i], "d0"), 1);
        assert_int_equal(not_kept(counts[i], "d0/e/w/b d0/e/w/c/d"), 2);
    }
}

/* Every second element of a long list grows where the model has one leaf: how many bytes that takes. */
static size_t bytes_of_slice(size_t elements)
{
    const struct dialect *d = dialect_find("kauldron");
    struct map_task t = {.options = "{}"};
    struct text list = {0};
    for (size_t i = 0; i < elements; i++)
        text_addf(&list, "l/%zu/w ", i);
    add_rules(&t, "a=l[::-2]");
    t.source = tree_of(&t, list.at);
    t.target = tree_of(&t, "a");
    const size_t before = t.arena.used;
    d->settle(&t);
    assert_false(t.failed);
    assert_int_equal(t.rows, elements / 2);
    for (size_t i = 0; i < t.rows; i++)
        assert_true(strncmp(t.row[i].new_name.at, "a/", 2) == 0);
    const size_t used = t.arena.used - before;
    text_release(&list);
    arena_release(&t.arena);
    return used;
}

TEST(memory_of_slices)
{
    const size_t small = bytes_of_slice(500), large = bytes_of_slice(4000);
    print_message("%zu bytes, %zu bytes\n", small, large);
    assert_true(large < 12 * small);
}

/* An option that cannot be read for lack of memory is not taken for a missing one. */
TEST(options_without_memory)
{
    static const char options[] = "{\"mo\\u0064e\": \"strict\", \"ke\\u0079s\": [\"a\\u0062\"]}";
    struct map_text *list;
    for (int room = 1; room >= 0; room--) {
        struct map_task strict = {.options = options}, keys = {.options = options};
        strict.arena.ceiling = keys.arena.ceiling = room ? 0 : 1;
        assert_int_equal(map_strict(&strict), room);
        assert_int_equal(strict.failed, !room);
        assert_int_equal(map_list(&keys, "keys", &list), room);
        assert_int_equal(keys.failed, !room);
        arena_release(&strict.arena);
        arena_release(&keys.arena);
    }
}

RUN_TESTS(NULL, NULL)
