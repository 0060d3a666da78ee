/*
 * fuzz_map_form.c - files of maps: a set that one form reads and the rules accept must read the same again
 * after any form that can hold it has written it.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/form/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void write_and_read(const struct form *form, const struct ruleset *set)
{
    struct arena arena = {.ceiling = (size_t)1 << 28};
    struct ruleset again = {.arena = &arena, .name = "again"};
    struct error err = {.offset = NO_OFFSET};
    struct text file = {0};
    if (form_write(form, set, &file, &err) != OK || !form->read)
        goto done;
    if (form_for_text(text_str(&file)) != form ||
        form_read(form, file.at, "again", &again, &err) != OK || again.rules != set->rules ||
        !same(again.dialect, set->dialect))
        abort();
    for (size_t i = 0; i < set->rules; i++)
        if (form->dialect == NULL && (!same(again.rule[i].pattern, set->rule[i].pattern) ||
                                      !same(again.rule[i].replacement, set->rule[i].replacement)))
            abort();
done:
    text_release(&file);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[] = {"sql",         "json",       "gin",
                                        "key_mapping", "new_to_old", "transforms"};
    struct arena arena = {.ceiling = (size_t)1 << 28};
    struct ruleset set = {.arena = &arena, .name = "fuzzed"};
    struct error err = {.offset = NO_OFFSET};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const struct form *form = form_for_text(text);
    if (strlen(text) == size && form->read && form_read(form, text, "fuzzed", &set, &err) == OK &&
        ruleset_check(&set, &err) == OK)
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
            write_and_read(form_find(forms[i]), &set);
    free(text);
    arena_release(&arena);
    return 0;
}
