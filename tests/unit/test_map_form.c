/* test_map_form.c - files of maps without the shell: what each form makes from a text, and from a set. */

#include "catalog/maps/form/form.h"
#include "tests/unit/unit.h"

/* A text, its form, and the set as another form writes it; or, after '!', why it is refused. */
static const struct {
    const char *text, *form, *as, *written;
} cases[] = {
    {" {\"dialect\": \"orbax\", \"rules\": [[\"a\", null]]}", "json", "json",
     "{\"dialect\": \"orbax\",\n \"rules\": [\n  [\"a\", null]\n]}\n"},
    {"{\"dialect\":\"orbax\",\"transforms\":{\"b\":{},\"a\":{\"c\":{\"use_fallback\":true}}}}",
     "transforms", "json",
     "{\"dialect\": \"orbax\",\n \"options\": {\"nested\":true},\n \"rules\": [\n"
     "  [\"a/c\", null],\n  [\"b\", \"\\\\g<0>\"]\n]}\n"},
    {"{\"dialect\":\"orbax\",\"transforms\":{\"a\":[{\"original_key\":[\"x\",\"y\"]}]}}",
     "transforms", "transforms",
     "{\"dialect\": \"orbax\",\n \"options\": {\"nested\":true},\n \"transforms\": {\n"
     "  \"a\": {\"0\": {\"original_key\": \"x/y\"}}\n }}\n"},
    {"\n{\"new_to_old\": {\"a\": \"b\"}, \"mode\": \"strict\"}", "new_to_old", "json",
     "{\"dialect\": \"kauldron\",\n \"options\": {\"mode\":\"strict\"},\n \"rules\": [\n"
     "  [\"a\", \"b\"]\n]}\n"},
    {"{\"a\": \"b\", \"c\": null}", "key_mapping", "key_mapping",
     "{\n  \"a\": \"b\",\n  \"c\": null\n}\n"},
    {"x.assignment_map = [('a', None)]", "gin", "sql",
     "INSERT INTO ruleset(name, dialect, options) VALUES ('it''s', 't5x-assignment', '{}');\n"
     "INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES\n"
     "('it''s', 1, 'a', NULL, NULL, NULL);\n"},
    {"{\"new_to_old\": {\"a\": \"b\"}}", "new_to_old", "gin",
     "!gin holds assignment maps of T5X alone, and this set is of dialect kauldron; json holds it"},
    {"{\"a\": \"b\"}", "key_mapping", "transforms",
     "!transforms holds transforms of Orbax alone, and this set is of dialect t5x-translator; json "
     "holds it"},
    {"{\"new_to_old\": {\"a\": 1}}", "new_to_old", "json", "!the old path of \"a\" is not text"},
    {"{\"dialect\": \"orbax\", \"rules\": [[\"a\", \"b\\u0000\"]]}", "json", "sql",
     "!rule 1 has a NUL character, which no file holds"},
    {"{\"a\": 1}", "json", "json", "!\"dialect\" is missing"},
    {"{", "json", "json",
     "!line 1, column 2: this is not JSON: the text ends before everything is closed"},
    {"", "sql", NULL, NULL},
    {"SELECT 1", "sql", NULL, NULL},
};

TEST(texts)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena = {0};
        struct ruleset set = {.arena = &arena, .name = "it's"};
        struct error err = {.offset = NO_OFFSET};
        struct text out = {0};
        const char *text = cases[i].text, *written = cases[i].written;
        const struct form *form = form_for_text(text + strspn(text, " \n"));
        print_message("%s\n", text);
        assert_string_equal(form->name, cases[i].form);
        if (written && form_read(form, text, "file", &set, &err) == OK)
            form_write(form_find(cases[i].as), &set, &out, &err);
        if (written && *written == '!')
            assert_string_equal(err.message, written + 1);
        else if (written)
            assert_int_equal(err.status, OK);
        if (written && *written != '!')
            assert_string_equal(text_str(&out), written);
        text_release(&out);
        arena_release(&arena);
    }
}

TEST(names)
{
    struct error err = {.offset = NO_OFFSET};
    assert_null(form_find("yaml"));
    assert_int_equal(form_unknown("yaml", &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "there is no form \"yaml\"; there are sql, "));
#define FORM(x) assert_non_null(strstr(err.message, #x));
#include "catalog/maps/form/forms.def"
#undef FORM
}

RUN_TESTS(NULL, NULL)
