/* fuzz_orderedcode.c - a run of codes, each kind in turn. */
#include "importer/format/tensorflow/orderedcode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned first = 0; first < 3; first++) {
        struct cursor c = cursor_over((struct bytes){data, size}, 0);
        struct text out = {.limit = size + 1};
        for (unsigned kind = first; cursor_left(&c); kind++) {
            if (kind % 3 == 0)
                orderedcode_number(&c);
            else if (kind % 3 == 1)
                orderedcode_string(&c, &out);
            else
                orderedcode_signed(&c);
        }
        text_release(&out);
    }
    return 0;
}
