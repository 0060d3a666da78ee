/*
 * npy_header.c - the header of a .npy file, version 1.0.
 *
 *   "\x93NUMPY"  6 bytes
 *   version      u8 1, u8 0
 *   header_len   u16le, of all that follows
 *   header       "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", spaces, '\n'
 *
 * Source: numpy/lib/format.py, "Format Version 1.0".
 */
#include "catalog/export/format/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/bits.h"

#define ALIGNMENT     64
#define PREAMBLE_SIZE 10

/* NumPy's letter for a kind of dtype; 'V': raw bytes. */
static char kind_letter(const struct dtype *d)
{
    switch (d->kind) {
    case DTYPE_BOOL: return 'b';
    case DTYPE_INT: return 'i';
    case DTYPE_UINT: return 'u';
    case DTYPE_FLOAT: /* NumPy itself has the IEEE types of 16 bits and more */
        return d->bits > 8 && strcmp(d->name, "bfloat16") != 0 ? 'f' : 'V';
    case DTYPE_COMPLEX: return 'c';
    case DTYPE_TIME: return d->name[0] == 'd' ? 'M' : 'm';
    default: return 'V';
    }
}

/* "[25us]" of "datetime64[25us]", "" if there is no unit. NULL if it has characters that could
 * end the string in the header. */
static const char *time_unit(const struct dtype *d)
{
    const char *unit = d->kind == DTYPE_TIME ? strchr(d->name, '[') : NULL;
    if (!unit)
        return "";
    size_t plain = strspn(unit + 1, "0123456789abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return strcmp(unit + 1 + plain, "]") == 0 ? unit : NULL;
}

bool npy_descr(const struct dtype *d, char out[64])
{
    bool whole = d->block_elems == 1 && d->block_bytes && d->kind != DTYPE_BLOCK;
    if (!whole || (d->kind == DTYPE_COMPLEX && d->bits == 32))
        return false;
    char letter = kind_letter(d);
    char order = letter == 'V' || d->block_bytes == 1 ? '|' : '<';
    const char *unit = time_unit(d);
    if (!unit)
        return false;
    int len = snprintf(out, 64, "%c%c%u%s", order, letter, d->block_bytes, unit);
    return len > 0 && len < 64;
}

bool npy_header(struct text *out, const char *descr, const uint64_t *shape, unsigned rank)
{
    struct text dict = {.limit = UINT16_MAX};
    text_addf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (unsigned d = 0; d < rank; d++)
        text_addf(&dict, d ? ", %llu" : "%llu", (unsigned long long)shape[d]);
    text_adds(&dict, rank == 1 ? ",), }" : "), }");
    while ((PREAMBLE_SIZE + dict.len + 1) % ALIGNMENT && text_addc(&dict, ' '))
        continue;
    text_addc(&dict, '\n');
    uint8_t preamble[PREAMBLE_SIZE] = "\x93NUMPY\x01";
    store_u16le(preamble + 8, (uint16_t)dict.len);
    bool ok = !dict.failed && text_add(out, preamble, sizeof(preamble)) &&
              text_add(out, dict.at, dict.len);
    text_release(&dict);
    return ok;
}
