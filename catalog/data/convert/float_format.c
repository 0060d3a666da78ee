#include "catalog/data/convert/float_format.h"

#include <stddef.h>

/* name, bits, mantissa, bias, max, overflow, nan, payload, minus zero */
static const struct float_format formats[] = {
    {"float16", 16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, 0x3FF, true},
    {"bfloat16", 16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, 0x7F, true},
    {"float8_e5m2", 8, 2, 15, 0x7B, 0x7C, 0x7E, 0, true},
    {"float8_e4m3fn", 8, 3, 7, 0x7E, 0x7F, 0x7F, 0, true},
    {"float8_e4m3fnuz", 8, 3, 8, 0x7F, 0x80, 0x80, 0, false},
    {"float8_e5m2fnuz", 8, 2, 16, 0x7F, 0x80, 0x80, 0, false},
    {"float8_e4m3b11fnuz", 8, 3, 11, 0x7F, 0x80, 0x80, 0, false},
    {"float8_e3m4", 8, 4, 3, 0x6F, 0x70, 0x78, 0, true},
    {"float8_e4m3", 8, 3, 7, 0x77, 0x78, 0x7C, 0, true},
    {"float4_e2m1fn", 4, 1, 1, 0x7, 0x7, 0, 0, true},
};

const struct float_format *float_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
