/* fuzz_snappy.c - raw Snappy blocks. */
#include <stdlib.h>

#include "catalog/data/codec/snappy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes block = {data, size};
    uint64_t len;
    if (!snappy_length(block, &len))
        return 0;
    if (len > size * 22) /* a block is never allowed to ask for more */
        abort();
    uint8_t *out = malloc(len ? len : 1);
    if (out)
        snappy_decode(block, out, len);
    free(out);
    return 0;
}
