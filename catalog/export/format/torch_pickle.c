/*
 * torch_pickle.c - a tensor as torch.save pickles it:
 *
 *   _rebuild_tensor_v2(storage, offset, shape, strides, False, OrderedDict())
 *   _rebuild_tensor_v3(...the same..., dtype)
 *
 * where storage is a persistent id: ("storage", torch.FloatStorage, KEY, "cpu", elements). An
 * UntypedStorage counts bytes.
 */
#include "catalog/export/format/torch_pickle.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *dtype, *global;
    const char *storage; /* its class; NULL: untyped */
} torch_dtypes[] = {
    {"float32", "torch\nfloat32\n", "torch\nFloatStorage\n"},
    {"bfloat16", "torch\nbfloat16\n", "torch\nBFloat16Storage\n"},
    {"float16", "torch\nfloat16\n", "torch\nHalfStorage\n"},
    {"float64", "torch\nfloat64\n", "torch\nDoubleStorage\n"},
    {"int64", "torch\nint64\n", "torch\nLongStorage\n"},
    {"int32", "torch\nint32\n", "torch\nIntStorage\n"},
    {"int16", "torch\nint16\n", "torch\nShortStorage\n"},
    {"int8", "torch\nint8\n", "torch\nCharStorage\n"},
    {"uint8", "torch\nuint8\n", "torch\nByteStorage\n"},
    {"bool", "torch\nbool\n", "torch\nBoolStorage\n"},
    {"complex64", "torch\ncomplex64\n", "torch\nComplexFloatStorage\n"},
    {"complex128", "torch\ncomplex128\n", "torch\nComplexDoubleStorage\n"},
    {"complex32", "torch\ncomplex32\n", NULL},
    {"uint16", "torch\nuint16\n", NULL},
    {"uint32", "torch\nuint32\n", NULL},
    {"uint64", "torch\nuint64\n", NULL},
    {"float8_e4m3fn", "torch\nfloat8_e4m3fn\n", NULL},
    {"float8_e5m2", "torch\nfloat8_e5m2\n", NULL},
    {"float8_e4m3fnuz", "torch\nfloat8_e4m3fnuz\n", NULL},
    {"float8_e5m2fnuz", "torch\nfloat8_e5m2fnuz\n", NULL},
    {"float8_e8m0fnu", "torch\nfloat8_e8m0fnu\n", NULL},
    {"float4_e2m1fn_x2", "torch\nfloat4_e2m1fn_x2\n", NULL},
};

#define TORCH_DTYPES (sizeof(torch_dtypes) / sizeof(torch_dtypes[0]))

static size_t torch_dtype_row(const struct dtype *d)
{
    size_t i = 0;
    while (i < TORCH_DTYPES && strcmp(torch_dtypes[i].dtype, d->name) != 0)
        i++;
    return i;
}

const char *torch_dtype_global(const struct dtype *d)
{
    const size_t row = torch_dtype_row(d);
    return row < TORCH_DTYPES ? torch_dtypes[row].global : NULL;
}

bool export_torch_holds(const struct export_tensor *t, struct text *why, const char **instead)
{
    if (torch_dtype_global(&t->to))
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "PyTorch has no such dtype that it saves by itself");
}

/* Refer to what is written already; false: it is new, and gets the next number. */
static bool said_before(struct torch_pickle *p, const char *what)
{
    unsigned i = 0;
    while (i < p->count && strcmp(p->said[i], what) != 0)
        i++;
    if (i < p->count) {
        text_addc(&p->text, 'h');
        text_addc(&p->text, (char)i);
    }
    return i < p->count;
}

static void say_again(struct torch_pickle *p, const char *what)
{
    if (p->count == TORCH_PICKLE_SAID)
        return;
    text_addc(&p->text, 'q');
    text_addc(&p->text, (char)p->count);
    p->said[p->count++] = what;
}

void torch_pickle_global(struct torch_pickle *p, const char *name)
{
    if (said_before(p, name))
        return;
    text_addc(&p->text, 'c');
    text_adds(&p->text, name);
    say_again(p, name);
}

void torch_pickle_string(struct torch_pickle *p, const char *string)
{
    const size_t len = strlen(string);
    uint8_t head[5] = {'X'};
    store_u32le(head + 1, (uint32_t)len);
    text_add(&p->text, head, sizeof(head));
    text_add(&p->text, string, len);
}

void torch_pickle_word(struct torch_pickle *p, const char *word)
{
    if (said_before(p, word))
        return;
    torch_pickle_string(p, word);
    say_again(p, word);
}

/* BININT1, BININT or LONG1. */
void torch_pickle_number(struct torch_pickle *p, uint64_t value)
{
    uint8_t bytes[11] = {'K', (uint8_t)value};
    size_t len = 2;
    if (value > INT32_MAX) {
        bytes[0] = 0x8a;
        bytes[1] = 9; /* with a byte for the sign */
        store_u64le(bytes + 2, value);
        len = sizeof(bytes);
    } else if (value > UINT8_MAX) {
        bytes[0] = 'J';
        store_u32le(bytes + 1, (uint32_t)value);
        len = 5;
    }
    text_add(&p->text, bytes, len);
}

void torch_pickle_numbers(struct torch_pickle *p, const uint64_t *values, unsigned count)
{
    text_addc(&p->text, '(');
    for (unsigned i = 0; i < count; i++)
        torch_pickle_number(p, values[i]);
    text_addc(&p->text, 't');
}

static void add_strides(struct torch_pickle *p, const struct export_tensor *t)
{
    text_addc(&p->text, '(');
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t stride = 1;
        for (unsigned i = d + 1; i < t->rank; i++)
            if (!mul_u64(stride, t->shape[i] ? t->shape[i] : 1, &stride) || stride > INT64_MAX)
                stride = 1; /* of an empty tensor, where any will do */
        torch_pickle_number(p, stride);
    }
    text_addc(&p->text, 't');
}

static void add_storage(struct torch_pickle *p, const struct export_tensor *t, uint64_t key)
{
    const char *storage = torch_dtypes[torch_dtype_row(&t->to)].storage;
    char name[24];
    snprintf(name, sizeof(name), "%llu", (unsigned long long)key);
    text_addc(&p->text, '(');
    torch_pickle_word(p, "storage");
    torch_pickle_global(p, storage ? storage : "torch.storage\nUntypedStorage\n");
    torch_pickle_string(p, name);
    torch_pickle_word(p, "cpu");
    torch_pickle_number(p, storage ? t->elements : t->nbytes);
    text_adds(&p->text, "tQ");
}

void torch_pickle_tensor(struct torch_pickle *p, const struct export_tensor *t, uint64_t key)
{
    const bool typed = torch_dtypes[torch_dtype_row(&t->to)].storage;
    torch_pickle_global(p, typed ? "torch._utils\n_rebuild_tensor_v2\n"
                                 : "torch._utils\n_rebuild_tensor_v3\n");
    text_addc(&p->text, '(');
    add_storage(p, t, key);
    torch_pickle_number(p, 0); /* elements before it in its storage */
    torch_pickle_numbers(p, t->shape, t->rank);
    add_strides(p, t);
    text_addc(&p->text, (char)0x89); /* needs no gradient */
    torch_pickle_global(p, "collections\nOrderedDict\n");
    text_adds(&p->text, ")R"); /* no hooks */
    if (!typed)
        torch_pickle_global(p, torch_dtype_global(&t->to));
    text_adds(&p->text, "tR");
}
