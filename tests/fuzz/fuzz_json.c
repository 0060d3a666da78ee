/*
 * fuzz_json.c - the JSON scanner: what it accepts it must be able to write and accept again.
 */
#include <stdlib.h>

#include "catalog/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool scan(struct bytes text, struct arena *arena, struct text *copy)
{
    struct error err = {.offset = NO_OFFSET};
    struct json j;
    uint64_t u;
    int64_t i;
    double d;
    json_init(&j, cursor_over(text, 0), arena, "fuzzed", &err);
    struct json again = j;
    for (enum json_type t = json_next(&j); t != JSON_END; t = json_next(&j)) {
        if (t == JSON_FAIL) {
            if (err.status == OK)
                abort();
            return false;
        }
        json_u64(&j, &u);
        json_i64(&j, &i);
        json_real(&j, &d);
    }
    if (json_next(&again) == JSON_FAIL || !json_copy(&again, copy) || json_next(&again) != JSON_END)
        abort();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {.ceiling = (size_t)1 << 28};
    struct text copy = {0}, second = {0};
    if (scan((struct bytes){data, size}, &arena, &copy)) {
        struct bytes written = {(const uint8_t *)copy.at, copy.len};
        if (!scan(written, &arena, &second))
            abort();
    }
    text_release(&copy);
    text_release(&second);
    arena_release(&arena);
    return 0;
}
