/*
 * test_pickle.c - every opcode, as the graph it makes; files that are not pickles; pickles that ask for
 * more than they have.
 */
#include "catalog/base/text.h"
#include "importer/format/torch/pickle_graph.h"
#include "tests/unit/unit.h"

static void print_node(struct text *out, const struct pickle *p, pickle_ref ref, int depth);

static void print_items(struct text *out, const struct pickle *p, pickle_ref ref, const char *open,
                        const char *close, int depth)
{
    pickle_ref item;
    text_adds(out, open);
    for (uint32_t i = 0; (item = pickle_item(p, ref, i)); i++) {
        if (i)
            text_addc(out, ' ');
        print_node(out, p, item, depth + 1);
    }
    text_adds(out, close);
}

static void print_call(struct text *out, const struct pickle *p, const struct pickle_call *c,
                       int depth)
{
    const pickle_ref parts[] = {c->kwargs, c->state, c->more_state, c->list, c->dict};
    const char *const names[] = {" kwargs=", " state=", " more=", " list=", " dict="};
    text_adds(out, "call(");
    print_node(out, p, c->callee, depth + 1);
    text_addc(out, ' ');
    print_node(out, p, c->args, depth + 1);
    for (int i = 0; i < 5; i++) {
        if (!parts[i])
            continue;
        text_adds(out, names[i]);
        print_node(out, p, parts[i], depth + 1);
    }
    text_addc(out, ')');
}

static void print_node(struct text *out, const struct pickle *p, pickle_ref ref, int depth)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (depth > 4) {
        text_adds(out, "...");
        return;
    }
    switch (n->kind) {
    case PICKLE_NONE: text_adds(out, "None"); break;
    case PICKLE_FALSE: text_adds(out, "False"); break;
    case PICKLE_TRUE: text_adds(out, "True"); break;
    case PICKLE_INT: text_addf(out, "%lld", (long long)n->integer); break;
    case PICKLE_BIGINT: text_addf(out, "big %s", n->text); break;
    case PICKLE_FLOAT: text_addf(out, "%g", n->real); break;
    case PICKLE_TEXT:
        text_addf(out, n->flags & PICKLE_STR8 ? "s'" : "'");
        text_escape(out, n->text, n->count);
        text_addc(out, '\'');
        break;
    case PICKLE_BYTES:
        text_addf(out, "bytes %llu+%llu", (unsigned long long)n->data->offset,
                  (unsigned long long)n->data->len);
        break;
    case PICKLE_TUPLE: print_items(out, p, ref, "(", ")", depth); break;
    case PICKLE_LIST: print_items(out, p, ref, "[", "]", depth); break;
    case PICKLE_SET: print_items(out, p, ref, "<", ">", depth); break;
    case PICKLE_DICT: print_items(out, p, ref, "{", "}", depth); break;
    case PICKLE_PERSID: print_items(out, p, ref, "persid(", ")", depth); break;
    case PICKLE_GLOBAL:
        text_addf(out, "%s%s", p->globals[n->integer].name,
                  p->globals[n->integer].called ? "!" : "");
        break;
    case PICKLE_CALL: print_call(out, p, n->call, depth); break;
    default: text_adds(out, "nothing");
    }
}

/* The graph, or the error's word; the caller frees it. */
static char *run(const char *bytes, size_t len, char *globals, size_t room)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = (size_t)1 << 24, .err = &err};
    struct text out = {0};
    struct source *source = NULL;
    struct pickle p;
    assert_int_equal(source_open_memory("test", (struct bytes){(const uint8_t *)bytes, len}, false,
                                        &source, &err),
                     OK);
    if (pickle_run(source, 0, 0, &arena, &p, &err) == OK)
        print_node(&out, &p, p.root, 0);
    else
        text_addf(&out, "!%s", error_word(&err));
    for (size_t i = 0; i < p.oddity_count && err.status == OK; i++)
        text_addf(&out, "%s%llu",
                  p.oddities[i].kind == PICKLE_STATE   ? ", state at "
                  : p.oddities[i].kind == PICKLE_ITEMS ? ", items at "
                                                       : ", not UTF-8 at ",
                  (unsigned long long)p.oddities[i].offset);
    for (size_t i = 0, used = 0; globals && i < p.global_count && used < room; i++)
        used += (size_t)snprintf(globals + used, room - used, "%s%s ", p.globals[i].name,
                                 p.globals[i].called ? "!" : "");
    source_close(source);
    arena_release(&arena);
    return text_steal(&out);
}

static const struct {
    const char *bytes;
    size_t len;
    const char *want;
} cases[] = {
#define CASE(bytes, want)                                                                          \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, want                                                             \
    }
    /* values */
    CASE("N.", "None"),
    CASE("\x80\x02\x88.", "True"),
    CASE("\x89.", "False"),
    CASE("I01\n.", "True"),
    CASE("I00\n.", "False"),
    CASE("I-12\n.", "-12"),
    CASE("L12L\n.", "12"),
    CASE("L-123456789012345678901234567890L\n.", "big -123456789012345678901234567890"),
    CASE("K\xff.", "255"),
    CASE("M\x01\x02.", "513"),
    CASE("J\xff\xff\xff\xff.", "-1"),
    CASE("\x8a\x00.", "0"),
    CASE("\x8a\x01\xff.", "-1"),
    CASE("\x8a\x02\xff\x00.", "255"),
    CASE("I9223372036854775807\n.", "9223372036854775807"),
    CASE("L-9223372036854775808L\n.", "-9223372036854775808"),
    CASE("I9223372036854775808\n.", "big 9223372036854775808"),
    CASE("L-9223372036854775809L\n.", "big -9223372036854775809"),
    CASE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.", "big 9223372036854775808"),
    CASE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff.", "big -18446744073709551616"),
    CASE("\x8a\x0a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00.", "1"),
    CASE("\x8b\x01\x00\x00\x00\x07.", "7"),
    CASE("F1.5\n.", "1.5"),
    CASE("G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
    /* texts and bytes */
    CASE("X\x02\x00\x00\x00"
         "ab.",
         "'ab'"),
    CASE("\x8c\x02"
         "ab.",
         "'ab'"),
    CASE("\x8d\x02\x00\x00\x00\x00\x00\x00\x00"
         "ab.",
         "'ab'"),
    CASE("Va\\u00e9\\U0001F600\xe9\n.", "'a\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9'"),
    CASE("S'a\\x41\\n\\''\n.", "s'aA\\x0a''"),
    CASE("U\x02"
         "ab.",
         "s'ab'"),
    CASE("T\x02\x00\x00\x00"
         "ab.",
         "s'ab'"),
    CASE("C\x03"
         "abc.",
         "bytes 2+3"),
    CASE("B\x03\x00\x00\x00"
         "abc.",
         "bytes 5+3"),
    CASE("\x8e\x01\x00\x00\x00\x00\x00\x00\x00z.", "bytes 9+1"),
    CASE("\x96\x01\x00\x00\x00\x00\x00\x00\x00z.", "bytes 9+1"),
    /* containers */
    CASE(").", "()"),
    CASE("K\x01\x85.", "(1)"),
    CASE("K\x01K\x02\x86.", "(1 2)"),
    CASE("K\x01K\x02K\x03\x87.", "(1 2 3)"),
    CASE("(K\x01K\x02K\x03K\x04t.", "(1 2 3 4)"),
    CASE("].", "[]"),
    CASE("(K\x01K\x02l.", "[1 2]"),
    CASE("]K\x01"
         "a(K\x02K\x03"
         "eK\x04"
         "a.",
         "[1 2 3 4]"),
    CASE("}K\x01K\x02s(K\x03K\x04u.", "{1 2 3 4}"),
    CASE("(K\x01K\x02"
         "d.",
         "{1 2}"),
    CASE("\x8f(K\x01K\x02\x90.", "<1 2>"),
    CASE("(K\x01\x91.", "<1>"),
    /* the stack */
    CASE("K\x01K\x02"
         "0.",
         "1"),
    CASE("K\x01(K\x02K\x03"
         "1.",
         "1"),
    CASE("K\x01(0.", "1"),
    CASE("K\x01"
         "2\x86.",
         "(1 1)"),
    CASE("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", "None"),
    /* the memo */
    CASE("K\x07q\x05"
         "0h\x05.",
         "7"),
    CASE("K\x07p5\n0g5\n.", "7"),
    CASE("K\x07r\xff\xff\xff\xff"
         "0j\xff\xff\xff\xff.",
         "7"),
    CASE("K\x07\x94K\x08\x94"
         "00h\x00h\x01\x86.",
         "(7 8)"),
    CASE("]q\x00h\x00"
         "a.",
         "[[[[[...]]]]]"),
    CASE("}q\x00K\x01h\x00s.", "{1 {1 {1 {1 {... ...}}}}}"),
    /* names and calls */
    CASE("cos\nsystem\n.", "os.system"),
    CASE("c__builtin__\nset\n.", "builtins.set"),
    CASE("ccommands\nPopen\n.", "subprocess.Popen"),
    CASE("cnumpy._core.multiarray\nx\n.", "numpy.core.multiarray.x"),
    CASE("\x8c\x02os\x8c\x06system\x93.", "os.system"),
    CASE("cos\nsystem\nK\x01\x85R.", "call(os.system! (1))"),
    CASE("cm\nC\n)\x81}b.", "call(m.C! () state={})"),
    CASE("cm\nC\n)\x81}bNb.", "call(m.C! () state={} more=None)"),
    CASE("cm\nC\n)}\x92.", "call(m.C! () kwargs={})"),
    CASE("(K\x01im\nC\n.", "call(m.C! (1))"),
    CASE("(cm\nC\nK\x01o.", "call(m.C! (1))"),
    CASE("cm\nC\n)RK\x01"
         "aK\x02K\x03s.",
         "call(m.C! () list=[1] dict={2 3}), items at 9"),
    CASE("K\x01Q.", "persid(1)"),
    CASE("Pabc\n.", "persid('abc')"),
    /* not a pickle */
    CASE("", "!truncated"),
    CASE("N", "!truncated"),
    CASE(".", "!bad-pickle"),
    CASE("0.", "!bad-pickle"),
    CASE("t.", "!bad-pickle"),
    CASE("\x86.", "!bad-pickle"),
    CASE("(K\x01\x86.", "!bad-pickle"),
    CASE("K\x01(\x85.", "!bad-pickle"),
    CASE("h\x00.", "!bad-pickle"),
    CASE("q\x00.", "!bad-pickle"),
    CASE("}(K\x01u.", "!bad-pickle"),
    CASE("(K\x01"
         "d.",
         "!bad-pickle"),
    /* what Python refuses, or what reaches beyond the pickle */
    CASE("NK\x01"
         "a.",
         "None, items at 3"),
    CASE(")K\x01"
         "a.",
         "(), items at 3"),
    CASE("]K\x01K\x02s.", "[], items at 5"),
    CASE("NNb.", "None, state at 2"),
    CASE("cos\nenviron\n}b(NNNNuNNs.", "os.environ, state at 13, items at 19"),
    CASE("X\2\0\0\0\xc3\x28.", "'\\xc3(', not UTF-8 at 0"),
    CASE("\x8c\3\xed\xa0\x80.", "'\\xed\\xa0\\x80'"),
    CASE("\x8c\2\xed\xa0.", "'\\xed\\xa0', not UTF-8 at 0"),
    CASE("U\1\xff.", "s'\\xff'"),
    /* not a pickle */
    CASE("NNR.", "call(None None)"),
    CASE("K\x01K\x02\x93.", "!bad-pickle"),
    CASE("Ix\n.", "!bad-pickle"),
    CASE("I\n.", "!bad-pickle"),
    CASE("F1x\n.", "!bad-pickle"),
    CASE("S'a\n.", "!bad-pickle"),
    CASE("V\\u12\n.", "!bad-pickle"),
    CASE("gx\n.", "!bad-pickle"),
    CASE("\xff.", "!bad-pickle"),
    CASE("X\xff\xff\xff\xff"
         "a.",
         "!truncated"),
    CASE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
         "a.",
         "!truncated"),
    CASE("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
         "a.",
         "!truncated"),
    CASE("\x8b\xff\xff\xff\xff.", "!limit"),
    CASE("Iabc", "!truncated"),
    CASE("\x80\x06N.", "!unsupported"),
    CASE("\x82\x01.", "!unsupported"),
    CASE("\x97.", "!unsupported"),
    CASE("\x98.", "!unsupported"),
};

TEST(test_opcodes)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = run(cases[i].bytes, cases[i].len, NULL, 0);
        if (strcmp(got, cases[i].want) != 0)
            print_error("case %zu: %s\n", i, cases[i].want);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

/* A call that leaves no trace is still known. */
TEST(test_traces)
{
    static const struct {
        const char *bytes, *globals;
    } traces[] = {
        {"cos\nsystem\n)R0N.", "os.system! "},
        {"cos\nsystem\n)R", "os.system! "},
        {"cos\nsystem\n)R\xff", "os.system! "},
        {"cos\nsystem\n0cos\nsystem\n)R0cm\nC\n.", "os.system! m.C "},
    };
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        char globals[256] = "";
        free(run(traces[i].bytes, strlen(traces[i].bytes), globals, sizeof(globals)));
        assert_string_equal(globals, traces[i].globals);
    }
}

/* `count` times `piece` between two ends: memory and time grow with the bytes. */
static void repeat(const char *begin, const char *piece, size_t count, const char *end,
                   const char *want)
{
    struct text t = {.limit = (size_t)1 << 28};
    text_adds(&t, begin);
    for (size_t i = 0; i < count; i++)
        text_adds(&t, piece);
    text_adds(&t, end);
    char *got = run(text_str(&t), t.len, NULL, 0);
    assert_string_equal(got, want);
    free(got);
    text_release(&t);
}

TEST(test_depth)
{
    repeat("N", "\x85", 200000, ".", "(((((...)))))");
    repeat("", "(", 200000, "Nt0N.", "None"); /* as Python: marks may be left */
    repeat("", "]", 100000, "N.", "None");
    repeat("]q\x01",
           "]q\x02h\x01"
           "ah\x01"
           "ah\x02q\x01",
           40, "0N.", "None");
    repeat("](", "h", 0, "e.", "[]");
}

/* Texts, lines and lists around the size of the window and of a page. */
TEST(test_sizes)
{
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 32767, 32768, 32769, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i];
        struct text in = {0}, want = {0};
        text_adds(&in, "V");
        text_adds(&want, "('");
        for (size_t k = 0; k < n; k++) {
            text_addc(&in, (char)('a' + k % 26));
            text_addc(&want, (char)('a' + k % 26));
        }
        text_adds(&in, "\n\x85.");
        text_adds(&want, "')");
        char *got = run(in.at, in.len, NULL, 0);
        assert_string_equal(got, text_str(&want));
        free(got);
        text_release(&in);
        text_release(&want);
        struct text list = {0};
        text_adds(&list, "](");
        for (size_t k = 0; k < n; k++)
            text_adds(&list, "NK\x05\x86");
        text_adds(&list, "e.");
        struct error err = {.offset = NO_OFFSET};
        struct arena arena = {.err = &err};
        struct source *source = NULL;
        struct pickle p;
        assert_int_equal(source_open_memory("list",
                                            (struct bytes){(const uint8_t *)list.at, list.len},
                                            false, &source, &err),
                         OK);
        assert_int_equal(pickle_run(source, 0, 0, &arena, &p, &err), OK);
        assert_int_equal(pickle_at(&p, p.root)->count, n);
        assert_int_equal(p.end, list.len);
        if (n)
            assert_int_equal(
                pickle_at(&p, pickle_item(&p, pickle_item(&p, p.root, (uint32_t)n - 1), 1))
                    ->integer,
                5);
        assert_int_equal(pickle_item(&p, p.root, (uint32_t)n), 0);
        source_close(source);
        arena_release(&arena);
        text_release(&list);
    }
}

RUN_TESTS(NULL, NULL)
