/* test_optimizer.c - the engine of optimizers on tables of cases: rows in, rows out. */

#include <time.h>

#include "catalog/maps/optimizer/chain.h"
#include "catalog/maps/optimizer/difference.h"
#include "catalog/maps/optimizer/optimizer.h"
#include "catalog/maps/optimizer/state_layout.h"
#include "tests/unit/unit.h"

/* clang-format off */
/* A table of transformations for this test. */
static const struct optax_function functions[] = {
    {"adam", "optimizer", "moments, rate", "{\"rate\": 0.0, \"mu_dtype\": null}"},
    {"sgd", "optimizer", "trace if momentum given, identity if momentum null, rate", "{\"rate\": 0.0, \"momentum\": null}"},
    {"both", "optimizer", "decay(mask=other_mask weight=rate), sgd", "{\"rate\": 1, \"other_mask\": null, \"momentum\": 0.5}"},
    {"ring", "optimizer", "ring", "{}"},
    {"flood", "optimizer", "flood, flood, flood, flood", "{}"},
    {"moments", "transformation", "", "{\"mu_dtype\": null}"},
    {"identity", "transformation", "", "{}"},
    {"trace", "transformation", "", "{}"},
    {"rate", "transformation", "", "{\"rate\": null}"},
    {"decay", "transformation", "", "{\"weight\": 0, \"mask\": null}"},
    {"factored", "transformation", "", "{\"min_dim_size_to_factor\": 3, \"factored\": true}"},
    {"planes", "transformation", "", "{}"},
};
static const struct optax_slot slots[] = {
    {"moments", "count", "one", "[]", "int32", ""},
    {"moments", "mu", "param", "same", "@mu_dtype", ""},
    {"moments", "nu", "param", "[]", "@", ""},
    {"trace", "trace", "param", "same", "@", ""},
    {"rate", "count", "one", "[]", "int32", "rate schedule"},
    {"decay", "count", "one", "[]", "int32", "weight schedule and mask null"},
    {"decay", "inner", "one", "[]", "int32", "weight schedule and mask given"},
    {"factored", "row", "param", "rows", "@", ""},
    {"factored", "col", "param", "columns", "@", ""},
    {"factored", "v", "param", "unfactored", "@", ""},
    {"planes", "mu", "param", "dimensions", "@", ""},
    {"multi_steps", "step", "one", "[]", "int32", ""},
    {"inject_hyperparams", "count", "one", "[]", "int32", ""},
};
static const struct optax_unregistered unregistered[] = {{"trace", "TraceState", "momentum true"}};
static const struct adafactor_argument arguments[] = {
    {"factored"}, {"beta1"}, {"min_dim_size_to_factor"}, {"dtype_momentum"}, {"factor_map"}, {"logical_factor_rules"}};
static const struct adafactor_axis axes[] = {
    {"mlp", "column"}, {"heads", "column"}, {"kv", "column"}, {"embed", "row"}, {"relpos_buckets", "none"}, {"layers", "batch"}};
/* clang-format on */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
static const struct optimizer_tables tables = {
    functions,        slots,        unregistered,        arguments,        axes,
    COUNT(functions), COUNT(slots), COUNT(unregistered), COUNT(arguments), COUNT(axes)};

/* Parameters in one line: "NAME SHAPE [DTYPE]; …", in JAX's order. */
static void add_params(struct optimizer_params *params, const char *line)
{
    while (*line) {
        char name[64], shape[64], dtype[64] = "float32";
        size_t len = strcspn(line, ";");
        char one[200];
        snprintf(one, sizeof(one), "%.*s", (int)len, line);
        int n = sscanf(one, " %63s %63s %63s", name, shape, dtype);
        assert_true(n >= 2);
        optimizer_add_param(params, name, strlen(name), shape, dtype);
        line += len + (line[len] == ';');
    }
}

/* Rows in one line: "NAME=DTYPE SHAPE, …", without what is before the last "param_states/". */
static void show(const struct optimizer_rows *rows, struct text *out)
{
    static const char root[] = "state/param_states/";
    for (size_t i = 0; i < rows->count; i++) {
        const struct optimizer_row *row = &rows->at[i];
        struct text name = {0};
        optimizer_row_name(row, &name);
        const char *shown = text_str(&name);
        if (strcmp(shown, "state/step") == 0) {
            text_release(&name);
            continue;
        }
        shown += strncmp(shown, root, strlen(root)) == 0 ? strlen(root) : 0;
        text_adds(out, out->len ? ", " : "");
        text_adds(out, shown);
        text_adds(out, *shown ? "=" : "");
        if (row->error)
            text_adds(out, row->error);
        else if (row->dtype && row->shape)
            text_addf(out, "%s%s%s", strcmp(row->dtype, "float32") == 0 ? "" : row->dtype,
                      row->shape, row->axes ? row->axes : "");
        else
            text_adds(out, "null");
        text_release(&name);
    }
}

static void expect(const char *spec, const char *params_line, const char *rows_line)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.err = &err};
    struct optimizer_params params = {.arena = &arena};
    struct optimizer_rows rows = {.arena = &arena};
    struct text shown = {0};
    struct bytes bytes = {(const uint8_t *)spec, strlen(spec)};
    add_params(&params, params_line);
    assert_int_equal(optimizer_state(bytes, &params, &tables, &rows), OK);
    show(&rows, &shown);
    if (strcmp(text_str(&shown), rows_line) != 0)
        fail_msg("%s of %s:\n%s, not\n%s", spec, params_line, text_str(&shown), rows_line);
    text_release(&shown);
    optimizer_release_params(&params);
    arena_release(&arena);
}

/* clang-format off */
#define MAP(rule)   "\"factor_map\": [[\"p\", " rule "]]"
#define RANK3       "ValueError: A parameter with rank strictly higher than 2 must have an explicit factorization rule: p, (24, 4, 16)"
#define STANDARD    "\"logical_factor_rules\": \"standard\""
#define S(a, b, c)  "p/v_row=" a ", p/v_col=" b ", p/v=" c ", p/m=[1]"
#define WHOLE(s)    S("[1]", "[1]", s)
#define FACTORED(a, b) S(a, b, "[1]")

static const struct {
    const char *args, *axes, *params, *rows;
} adafactor[] = {
    {"", NULL, "p []", WHOLE("[]")},
    {"", NULL, "p [128]", WHOLE("[128]")},
    {"\"min_dim_size_to_factor\": 8", NULL, "p [24,16]", FACTORED("[16]", "[24]")},
    {"\"min_dim_size_to_factor\": 32", NULL, "p [24,16]", WHOLE("[24,16]")},
    {"", NULL, "p [32128,512]", FACTORED("[512]", "[32128]")},
    {"", NULL, "p [512,512]", FACTORED("[512]", "[512]")},
    {"", NULL, "p [127,4096]", WHOLE("[127,4096]")},
    {"", NULL, "p [128,128]", FACTORED("[128]", "[128]")},
    {"\"beta1\": 0.0", NULL, "p [2]", "p/v_row=[1], p/v_col=[1], p/v=[2], p/m=[2]"},
    {"\"beta1\": 0.9, \"dtype_momentum\": \"bfloat16\"", NULL, "p [2]", "p/v_row=[1], p/v_col=[1], p/v=[2], p/m=bfloat16[2]"},
    {"\"beta1\": 0.9, \"dtype_momentum\": \"float64\"", NULL, "p [2]", "p/v_row=[1], p/v_col=[1], p/v=[2], p/m=[2]"},
    {"\"factored\": false", NULL, "p [4,512,512]", WHOLE("[4,512,512]")},
    {"", NULL, "p [24,4,16]", "p=" RANK3},
    {MAP("[\"COLUMN\", \"BATCH\", \"ROW\"]"), NULL, "p [24,4,16]", FACTORED("[4,16]", "[24,4]")},
    {MAP("[\"ROW\", \"BATCH\", \"COL\"]"), NULL, "p [24,4,16]", FACTORED("[24,4]", "[4,16]")},
    {MAP("[\"COLUMN\", \"ROW\", \"ROW\"]"), NULL, "p [24,4,16]", FACTORED("[4,16]", "[24]")},
    {MAP("[\"NONE\", \"NONE\", \"none\"]"), NULL, "p [24,4,16]", WHOLE("[24,4,16]")},
    {MAP("[\"ROW\", \"NONE\", \"NONE\"]"), NULL, "p [24,4,16]", FACTORED("[24,4,16]", "[4,16]")},
    {MAP("[\"NONE\", \"NONE\"]"), NULL, "p [256,256]", FACTORED("[256]", "[256]")},
    {MAP("[\"BATCH\", \"NONE\"]"), NULL, "p [12,512]", WHOLE("[12,512]")},
    {MAP("null"), NULL, "p [256,256]", WHOLE("[256,256]")},
    {MAP("\"Heuristic\""), NULL, "p [8,32]", WHOLE("[8,32]")},
    {MAP("[\"ROW\"]"), NULL, "p [256,256]", "p=ValueError: Factorization rule (<FactorDim.ROW: 2>,) has incorrect rank for param of rank 2: p, (256, 256)"},
    {"\"factor_map\": [[\"q\", null]]", NULL, "p [2]", "p=KeyError: 'No factor rule found for parameter: p'"},
    {"\"factor_map\": [[\"(\", null]]", NULL, "p [2]", "error: missing ), unterminated subpattern at position 0"},
    {MAP("3"), NULL, "p [2]", "factor_map has [\"p\",3], which is no [regex, rule]: a rule is null, \"heuristic\" or a list of \"ROW\", \"COLUMN\", \"BATCH\" and \"NONE\""},
    {"\"beta3\": 1", NULL, "p [2]", "TypeError: Adafactor.__init__() got an unexpected keyword argument 'beta3'"},
    {"\"factored\": false, " MAP("null"), NULL, "p [2]", "ValueError: Adafactor factored is False but factorization rules have been provided."},
    {STANDARD, "\"layers\", \"embed\", \"mlp\"", "p [12,512,2048]", FACTORED("[12,512]", "[12,2048]")},
    {STANDARD, "\"embed\", \"heads\", \"kv\"", "p [512,8,64]", FACTORED("[512]", "[8,64]")},
    {STANDARD, "\"layers\", \"heads\", \"relpos_buckets\"", "p [12,8,32]", S("[1]", "[1]", "[12,8,32][\"layers\",\"heads\",\"relpos_buckets\"]")},
    {STANDARD, "\"embed\", \"mlp\", \"relpos_buckets\"", "p [4,5,6]", "ValueError: Incomplete adafactor spec (<FactorDim.ROW: 2>, <FactorDim.COLUMN: 3>, <FactorDim.NONE: None>) for P('embed', 'mlp', 'relpos_buckets')!"},
    {STANDARD, "\"foo\", \"embed\"", "p [4,5]", "KeyError: 'foo'"},
    {STANDARD, "\"embed\"", "p [4,5]", "p=ValueError: Factorization rule (<FactorDim.NONE: None>,) has incorrect rank for param of rank 2: p, (4, 5)"},
    {STANDARD, "\"embed\", \"mlp\"", "p [4,5]; q [2]", S("[1]", "[1]", "[4,5][\"embed\",\"mlp\"]") ", q=KeyError: 'q'"},
    /* An unknown word matters only when an axis gets it. */
    {"\"logical_factor_rules\": {\"a\": \"Across\"}", NULL, "p [2]", WHOLE("[2]")},
    {"\"logical_factor_rules\": {\"a\": \"Across\", \"b\": \"Row\"}", "\"b\"", "p [2]", S("[1]", "[1]", "[2][\"b\"]")},
    {"\"logical_factor_rules\": {\"a\": \"Across\", \"b\": \"Row\"}", "\"b\", \"a\"", "p [2,2]", "KeyError: 'across'"},
};

/* clang-format on */
TEST(test_adafactor)
{
    for (size_t i = 0; i < COUNT(adafactor); i++) {
        struct text spec = {0};
        text_addf(&spec, "{\"adafactor\": {%s}", adafactor[i].args);
        if (adafactor[i].axes)
            text_addf(&spec, ", \"axes\": {\"p\": [%s]}", adafactor[i].axes);
        text_addc(&spec, '}');
        expect(text_str(&spec), adafactor[i].params, adafactor[i].rows);
        text_release(&spec);
    }
}

/* clang-format off */
#define PART(filter, optimizer) "{\"filter\": " filter ", \"optimizer\": " optimizer "}"
#define ADA                     "{\"adafactor\": {}}"
#define TREE                    "d/k [4,4]; e/b [2]; e/k [3]"
#define V(p, s)                 p "/v_row=[1], " p "/v_col=[1], " p "/v=" s ", " p "/m=[1]"
#define TUPLE                   "AssertionError: expected (frozen)dict; got <class 'tuple'>"

static const struct {
    const char *parts, *params, *rows;
} multi[] = {
    {PART("{\"contains\": \"k\"}", ADA), TREE, V("d/k", "[4,4]") ", " V("e/k", "[3]") ", e/b=null"},
    {PART("{\"contains\": \"k\"}", ADA) ", " PART("{\"startswith\": \"/e\"}", ADA), TREE, "ValueError: Multiple optimizers match the same leaves : {'d': {'k': [0]}, 'e': {'b': [1], 'k': [0, 1]}}"},
    {PART("{\"contains\": \"none\"}", ADA), TREE, "d/k=null, e/b=null, e/k=null"},
    {PART("{\"not\": {\"search\": \"e.[bk]$\"}}", ADA), TREE, V("d/k", "[4,4]") ", e/b=null, e/k=null"},
    {PART("{\"search\": \"(\"}", ADA), TREE, "error: missing ), unterminated subpattern at position 0"},
    {PART("{\"contains\": \"none\"}", "{\"lion\": {}}"), TREE, "a part of \"multi\" has the optimizer 'lion', which is not adafactor"},
    /* With a part of Optax: the first error, of construction, overlap, or the parts in turn. */
    {PART("{\"contains\": \"none\"}", "{\"optax\": {\"opt\": \"adam\"}}"), TREE, TUPLE ", d/k=null, e/b=null, e/k=null"},
    {PART("{\"contains\": \"e\"}", "{\"optax\": {\"opt\": \"adam\"}}") ", " PART("{\"contains\": \"k\"}", "{\"adafactor\": {\"beta3\": 1}}"), TREE, "TypeError: Adafactor.__init__() got an unexpected keyword argument 'beta3'"},
    {PART("{\"contains\": \"e\"}", "{\"optax\": {\"opt\": \"lamp\"}}"), TREE, "unknown optimizer 'lamp'"},
    {PART("{\"contains\": \"e\"}", "{\"optax\": {\"chain\": []}}"), TREE, "ValueError: not enough values to unpack (expected 2, got 0)"},
    {PART("{\"contains\": \"k\"}", "{\"optax\": {\"opt\": \"adam\"}}") ", " PART("{\"contains\": \"e\"}", ADA), "e/k [2]", "ValueError: Multiple optimizers match the same leaves : {'e': {'k': [0, 1]}}"},
    {PART("{\"contains\": \"d\"}", ADA) ", " PART("{\"contains\": \"e\"}", "{\"optax\": {\"opt\": \"adam\"}}"), "d [2,2,2]; e [2]", "d=ValueError: A parameter with rank strictly higher than 2 must have an explicit factorization rule: d, (2, 2, 2), " TUPLE},
    {PART("{\"contains\": \"p\"}", "{\"optax\": {\"inject_hyperparams\": \"adam\"}}"), "p [] bfloat16; pp [] float16", "ValueError: bfloat16 and float16 parameters have no common dtype, " TUPLE},
};

/* clang-format on */
TEST(test_multi)
{
    for (size_t i = 0; i < COUNT(multi); i++) {
        struct text spec = {0};
        text_addf(&spec, "{\"multi\": [%s]}", multi[i].parts);
        expect(text_str(&spec), multi[i].params, multi[i].rows);
        text_release(&spec);
    }
}

/* clang-format off */
#define PARAMS "a/k [4,3]; b [2] bfloat16"

static const struct {
    const char *tx, *rows;
} optax[] = {
    {"{\"opt\": \"adam\"}", "0/count=int32[], 0/mu/a/k=[4,3], 0/mu/b=bfloat16[2], 0/nu/a/k=[], 0/nu/b=bfloat16[]"},
    {"{\"opt\": \"adam\", \"args\": {\"mu_dtype\": \"float16\", \"rate\": {\"$schedule\": 1}}}", "0/count=int32[], 0/mu/a/k=float16[4,3], 0/mu/b=float16[2], 0/nu/a/k=[], 0/nu/b=bfloat16[], 1/count=int32[]"},
    {"{\"opt\": \"sgd\"}", ""},
    {"{\"opt\": \"sgd\", \"args\": {\"momentum\": 0}}", "0/trace/a/k=[4,3], 0/trace/b=bfloat16[2]"},
    {"{\"opt\": \"both\", \"args\": {\"rate\": {\"$schedule\": 1}}}", "0/count=int32[], 1/0/trace/a/k=[4,3], 1/0/trace/b=bfloat16[2], 1/1/count=int32[]"},
    {"{\"opt\": \"both\", \"args\": {\"rate\": {\"$schedule\": 1}, \"other_mask\": true, \"momentum\": null}}", "0/inner=int32[], 1/1/count=int32[]"},
    {"{\"transform\": \"factored\"}", "row/a/k=[3], row/b=bfloat16[1], col/a/k=[4], col/b=bfloat16[1], v/a/k=[1], v/b=bfloat16[2]"},
    {"{\"transform\": \"factored\", \"args\": {\"factored\": false}}", "row/a/k=[1], row/b=bfloat16[1], col/a/k=[1], col/b=bfloat16[1], v/a/k=[4,3], v/b=bfloat16[2]"},
    {"{\"transform\": \"planes\"}", "mu/a/k/0=[4], mu/a/k/1=[3], mu/b/0=bfloat16[2]"},
    {"{\"chain\": [{\"transform\": \"identity\"}, {\"transform\": \"trace\"}]}", "1/trace/a/k=[4,3], 1/trace/b=bfloat16[2]"},
    {"{\"named_chain\": [[\"x\", {\"transform\": \"trace\"}]]}", "x/trace/a/k=[4,3], x/trace/b=bfloat16[2]"},
    {"{\"masked\": {\"transform\": \"trace\"}, \"mask\": {\"contains\": \"k\"}}", "inner_state/trace/a/k=[4,3]"},
    {"{\"multi_transform\": [[true, {\"transform\": \"trace\"}], [0, {\"transform\": \"moments\"}]], \"filter\": {\"endswith\": \"b\"}}", "inner_states/True/inner_state/trace/b=bfloat16[2], inner_states/0/inner_state/count=int32[], inner_states/0/inner_state/mu/a/k=[4,3], inner_states/0/inner_state/nu/a/k=[]"},
    {"{\"multi_steps\": {\"transform\": \"trace\"}}", "step=int32[], inner_opt_state/trace/a/k=[4,3], inner_opt_state/trace/b=bfloat16[2]"},
    {"{\"inject_hyperparams\": \"sgd\", \"args\": {\"rate\": {\"$schedule\": 1}, \"momentum\": 1}}", "count=int32[], hyperparams/rate=[], hyperparams/momentum=int32[], hyperparams_states/rate/count=int32[], inner_state/0/trace/a/k=[4,3], inner_state/0/trace/b=bfloat16[2]"},
    {"{\"opt\": \"trace\"}", "unknown optimizer 'trace'"},
    {"{\"opt\": \"sgd\", \"args\": {\"eta\": 1}, \"more\": 2}", "unknown key 'more' beside \"opt\", TypeError: sgd() got an unexpected keyword argument 'eta'"},
    /* Tables written by somebody else. */
    {"{\"opt\": \"ring\"}", "the links of 'ring' do not end"},
    {"{\"opt\": \"flood\"}", "the links of 'flood' do not end"},
};

/* clang-format on */
TEST(test_optax)
{
    for (size_t i = 0; i < COUNT(optax); i++) {
        struct text spec = {0};
        text_addf(&spec, "{\"optax\": %s}", optax[i].tx);
        expect(text_str(&spec), PARAMS, optax[i].rows);
        text_release(&spec);
    }
    expect("{\"optax\": {\"transform\": \"trace\"}, \"axes\": {\"b\": [\"x\"]}}", "b [2]",
           "trace/b=[2][\"x\"]");
}

/* clang-format off */
static const struct {
    const char *spec, *error;
} specs[] = {
    {"{}", "a spec has one of \"adafactor\", \"multi\" and \"optax\""},
    {"[]", "a spec has one of \"adafactor\", \"multi\" and \"optax\""},
    {"{\"axes\": {}, \"multi\": {}}", "'multi' is not a list"},
    {"{\"sgd\": {}}", "unknown optimizer 'sgd': a spec has one of \"adafactor\", \"multi\" and \"optax\""},
};

/* clang-format on */
TEST(test_specs)
{
    for (size_t i = 0; i < COUNT(specs); i++)
        expect(specs[i].spec, "", specs[i].error);
}

/* Shapes that none of our programs wrote. */
TEST(test_shapes)
{
    static const char *const bad[] = {"", "2", "[2", "[2,]", "[,]", "[2]]", "[-1]", "[a]", "[ 2]"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct arena arena = {.err = &err};
        struct optimizer_params params = {.arena = &arena};
        optimizer_add_param(&params, "p", 1, bad[i], NULL);
        assert_null(params.at[0].shape);
        optimizer_release_params(&params);
        arena_release(&arena);
    }
}

/* --- comparison: leaves "NAME SHAPE DTYPE" or "NAME null" against Adafactor's state of p [2] ------ */

/* clang-format off */
#define SLOT(name, shape) "state/param_states/p/" name " " shape " float32; "
#define STEP              "state/step [] int32; "
#define SAME              STEP SLOT("v_row", "[1]") SLOT("v_col", "[1]")

static const struct {
    const char *leaves, *differences;
} comparisons[] = {
    {SAME SLOT("v", "[2]") SLOT("m", "[1]"), ""},
    {SAME SLOT("v", "[2]"), "missing state/param_states/p/m float32[1] -, "},
    {SAME SLOT("v", "[3]") SLOT("m", "[1]"), "shape state/param_states/p/v float32[2] float32[3], "},
    {SAME "state/param_states/p/v [2] int8; " SLOT("m", "[1]"), "dtype state/param_states/p/v float32[2] int8[2], "},
    {SAME SLOT("v", "[2]") SLOT("m", "[1]") "state/x [] int8; ", "unexpected state/x - int8[], "},
    {STEP "state/param_states/p null x; ", "null state/param_states/p/v_row float32[1] null, null state/param_states/p/v_col float32[1] null, null state/param_states/p/v float32[2] null, null state/param_states/p/m float32[1] null, "},
};

/* clang-format on */
static void add_leaves(struct optimizer_held *held, const char *line)
{
    while (*line) {
        char name[64], shape[64], dtype[64];
        assert_int_equal(sscanf(line, " %63s %63s %63[^;];", name, shape, dtype), 3);
        bool null = strcmp(shape, "null") == 0;
        struct optimizer_leaf leaf = {name, strlen(name), null ? NULL : shape, null ? NULL : dtype,
                                      null};
        optimizer_add_leaf(held, &leaf);
        line += strcspn(line, ";") + 2;
    }
}

TEST(test_compare)
{
    static const char spec[] = "{\"adafactor\": {}}";
    for (size_t i = 0; i < COUNT(comparisons); i++) {
        struct error err = {.offset = NO_OFFSET};
        struct arena arena = {.err = &err};
        struct optimizer_params params = {.arena = &arena};
        struct optimizer_rows rows = {.arena = &arena};
        struct optimizer_held held = {.arena = &arena};
        struct optimizer_differences found = {.arena = &arena};
        struct text shown = {0};
        add_params(&params, "p [2]");
        add_leaves(&held, comparisons[i].leaves);
        struct bytes bytes = {(const uint8_t *)spec, strlen(spec)};
        assert_int_equal(optimizer_state(bytes, &params, &tables, &rows), OK);
        assert_int_equal(optimizer_compare(&rows, &held, &found), OK);
        for (size_t k = 0; k < found.count; k++) {
            text_addf(&shown, "%s ", optimizer_problem_name(found.at[k].problem));
            optimizer_difference_name(&found.at[k], &shown);
            text_addc(&shown, ' ');
            if (!optimizer_difference_expected(&found.at[k], &shown))
                text_addc(&shown, '-');
            text_addc(&shown, ' ');
            if (!optimizer_difference_found(&found.at[k], &shown))
                text_addc(&shown, '-');
            text_adds(&shown, ", ");
        }
        assert_string_equal(text_str(&shown), comparisons[i].differences);
        text_release(&shown);
        optimizer_release_held(&held);
        optimizer_release_params(&params);
        arena_release(&arena);
    }
}

/* Chains in a chain: each is a place, and is found without looking at the leaves of all the others. */
TEST(test_many_chains)
{
    enum { CHAINS = 200, LINKS = 250 };
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.err = &err};
    struct optimizer_held held = {.arena = &arena};
    struct optimizer_params none = {.arena = &arena};
    struct optimizer_layout layout = {.arena = &arena};
    const clock_t begin = clock();
    for (int i = 0; i < CHAINS * LINKS; i++) {
        char name[64];
        const int len = snprintf(name, sizeof(name), "opt_state/%d/%d/mu/a", i / LINKS, i % LINKS);
        optimizer_add_leaf(&held,
                           &(struct optimizer_leaf){name, (size_t)len, "[2]", "float32", false});
    }
    optimizer_add_leaf(&held, &(struct optimizer_leaf){"params/a", 8, "[2]", "float32", false});
    assert_int_equal(OK, optimizer_find_layout(&held, &none, &tables, &layout));
    assert_int_equal(layout.count, CHAINS);
    for (size_t i = 0; i < layout.count; i++)
        assert_int_equal(layout.at[i].held.count, LINKS);
    print_message("%.1f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 6);
    optimizer_release_layout(&layout);
    optimizer_release_held(&held);
    optimizer_release_params(&none);
    arena_release(&arena);
}

/* --- lack of memory ------------------------------------------------------------------------- */

static int fail_at, calls; /* the call that fails, from 1 on (0: none), and how many there were */
static bool in_arena;      /* whose own calls count as one */

static bool lacks(void)
{
    return fail_at && !in_arena && ++calls == fail_at;
}

#define WRAP(name, parameters, arguments, lacking)                                                 \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        if (lacks())                                                                               \
            return lacking;                                                                        \
        const bool within = in_arena;                                                              \
        in_arena = true;                                                                           \
        void *memory = __real_##name arguments;                                                    \
        in_arena = within;                                                                         \
        return memory;                                                                             \
    }

WRAP(malloc, (size_t size), (size), NULL)
WRAP(calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(realloc, (void *old, size_t size), (old, size), NULL)
WRAP(arena_room, (struct arena * a, size_t size), (a, size), arena_fail(a))

/* Find the places of a state, compare each with what the spec wants, and describe its chain. */
static enum status answer(const char *spec, const char *leaves, struct text *shown)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.err = &err};
    struct optimizer_held held = {.arena = &arena};
    struct optimizer_params none = {.arena = &arena};
    struct optimizer_layout layout = {.arena = &arena};
    add_params(&none, PARAMS);
    add_leaves(&held, leaves);
    optimizer_find_layout(&held, &none, &tables, &layout);
    for (size_t i = 0; err.status == OK && i < layout.count; i++) {
        const struct optimizer_place *place = &layout.at[i];
        struct optimizer_rows rows = {.arena = &arena};
        struct optimizer_differences found = {.arena = &arena};
        struct optimizer_chain chain = {NULL, NULL};
        if (optimizer_state((struct bytes){(const uint8_t *)spec, strlen(spec)}, &place->params,
                            &tables, &rows) != OK ||
            optimizer_compare(&rows, &place->held, &found) != OK ||
            optimizer_chain_of(place, &tables, &arena, &chain) != OK)
            break;
        text_addf(shown, "%s: %zu rows, %zu differ, %s; ",
                  place->params.root ? place->params.root : "T5X", rows.count, found.count,
                  chain.label ? chain.label : "no chain");
    }
    optimizer_release_layout(&layout);
    optimizer_release_held(&held);
    optimizer_release_params(&none);
    arena_release(&arena);
    return err.status;
}

#define MOMENTS(at) at "count [] int32; " at "mu/p [2] float32; " at "nu/p [] float32; "

TEST(test_any_one_lack)
{
    static const struct {
        const char *spec, *leaves;
    } cases[] = {
        {"{\"optax\": {\"opt\": \"adam\"}}", MOMENTS("opt_state/0/") "params/p [2] float32; "},
        {"{\"optax\": {\"chain\": [{\"transform\": \"moments\"}]}}", MOMENTS("0/")},
        {"{\"optax\": {\"masked\": {\"transform\": \"moments\"}, \"mask\": {\"search\": \"p\"}}}",
         MOMENTS("opt_state/inner_state/") "params/p [2] float32; "},
        {"{\"optax\": {\"multi_transform\": [[\"a\", {\"transform\": \"moments\"}], [\"b\", "
         "{\"transform\": \"trace\"}]], \"filter\": {\"contains\": \"p\"}}}",
         MOMENTS(
             "opt_state/inner_states/a/inner_state/") "opt_state/inner_states/b/inner_state/trace/q [3] float32; params/p [2] float32; "
                                                      "params/q [3] float32; "},
        {"{\"optax\": {\"inject_hyperparams\": \"sgd\", \"args\": {\"momentum\": 1}}, \"axes\": "
         "{\"p\": [\"x\"]}}",
         MOMENTS("opt_state/0/") "opt_state/1/trace/p [2] float32; params/p [2] float32; "},
        {"{\"adafactor\": {" STANDARD ", " MAP("null") "}, \"axes\": {\"b\": [\"embed\"]}}",
         SAME SLOT("v", "[3]") "state/param_states/b null x; "},
        {"{\"multi\": [" PART("{\"contains\": \"k\"}",
                              ADA) ", " PART("{\"not\": {\"search\": \"^b\"}}", ADA) "]}",
         SAME SLOT("v", "[3]")},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text whole = {0};
        fail_at = 0;
        assert_int_equal(answer(cases[i].spec, cases[i].leaves, &whole), OK);
        assert_true(whole.len > 0);
        for (int at = 1;; at++) {
            struct text shown = {0};
            calls = 0;
            fail_at = at;
            const enum status status = answer(cases[i].spec, cases[i].leaves, &shown);
            const bool lacked = calls >= at;
            fail_at = 0;
            if (status == OK && !shown.failed)
                assert_string_equal(text_str(&shown), text_str(&whole));
            else
                assert_true(lacked && (status == ERR_MEMORY || shown.failed));
            text_release(&shown);
            if (!lacked)
                break;
        }
        text_release(&whole);
    }
}

RUN_TESTS(NULL, NULL)
