/*
 * fuzz_regex.c - pattern, template and text, divided by bytes 0xFF (which UTF-8 never
 * has). Whatever they are: an answer or an error, spans inside the text, and an end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
    const char *at;
    size_t len;
};

static struct part next_part(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0xFF, *size) : NULL;
    struct part p = {(const char *)*data, end ? (size_t)(end - *data) : *size};
    *data += p.len + (end != NULL);
    *size -= p.len + (end != NULL);
    return p;
}

static void check_spans(const struct regex *re, size_t len)
{
    for (unsigned g = 0; g <= regex_groups(re) + 1; g++) {
        size_t begin = 0, end = 0;
        if (regex_span(re, g, &begin, &end) && (begin > end || end > len))
            abort();
    }
}

static void run(struct regex *re, struct part source, struct part text)
{
    struct error err = {.offset = NO_OFFSET}, bad = {.offset = NO_OFFSET};
    struct template *t = NULL;
    struct text out = {.limit = 1 << 20};
    bool index_error = false;
    enum status status = template_compile(source.at, source.len, re, &t, &index_error, &bad);
    if ((status == OK) != (t != NULL) || (status != OK && !bad.message[0]))
        abort();
    int found = regex_exec(re, text.at, text.len, 0, &err);
    for (int i = 0; found == 1 && i < 20; i++) {
        check_spans(re, text.len);
        if (t)
            template_expand(t, re, text.at, &out);
        found = regex_exec_next(re, text.at, text.len, &err);
    }
    if ((found < 0) != (err.status != OK))
        abort();
    text_release(&out);
    template_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part pattern = next_part(&data, &size), source = next_part(&data, &size);
    struct part text = next_part(&data, &size);
    for (int how = REGEX_SEARCH; how <= REGEX_FULLMATCH; how++) {
        struct regex *re = NULL;
        struct error err = {.offset = NO_OFFSET};
        enum status status = regex_compile(pattern.at, pattern.len, (enum regex_how)how, &re, &err);
        if ((status == OK) != (re != NULL) || (status != OK && !err.message[0]))
            abort();
        if (re)
            run(re, source, text);
        regex_free(re);
    }
    return 0;
}
