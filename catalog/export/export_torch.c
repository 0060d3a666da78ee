/*
 * export_torch.c - the zip form of torch.save: a dict of tensors by name, in the order of the selection.
 *
 *   archive/data.pkl     a pickle of protocol 2: {NAME: _rebuild_tensor_v2(storage, offset, shape, strides,
 *                        False, OrderedDict()), ...}, where storage is a persistent id:
 *                        ("storage", torch.FloatStorage, KEY, "cpu", elements)
 *   archive/byteorder    "little"
 *   archive/data/KEY     the bytes of a storage, at a multiple of 64, for torch.load(mmap=True)
 *   archive/version      "3"
 *
 * Dtypes that have no class of storage are rebuilt by _rebuild_tensor_v3 from an UntypedStorage, which
 * counts bytes, and end in the dtype. Tensors that share their bytes in the source share a storage.
 * In several files, an index says which has which tensor, as transformers reads it.
 *
 * Source: torch/serialization.py, torch/_utils.py, torch/_weights_only_unpickler.py (what it allows),
 * caffe2/serialize/inline_container.h.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/export/zip_layout.h"

#define FOLDER "archive/"

/* What a pickle says again and again: it is written once, and then found by its number. */
enum memo {
    MEMO_STORAGE,
    MEMO_CPU,
    MEMO_HOOKS,
    MEMO_REBUILD,
    MEMO_REBUILD_UNTYPED,
    MEMO_UNTYPED,
    MEMO_DTYPES, /* and above: by row of the table below */
};

/* The global that stands for a dtype: a class of storages, or, untyped, the dtype. */
static const struct {
    const char *dtype, *global;
    bool untyped;
} torch_globals[] = {
    {"float32", "torch\nFloatStorage\n", false},
    {"bfloat16", "torch\nBFloat16Storage\n", false},
    {"float16", "torch\nHalfStorage\n", false},
    {"float64", "torch\nDoubleStorage\n", false},
    {"int64", "torch\nLongStorage\n", false},
    {"int32", "torch\nIntStorage\n", false},
    {"int16", "torch\nShortStorage\n", false},
    {"int8", "torch\nCharStorage\n", false},
    {"uint8", "torch\nByteStorage\n", false},
    {"bool", "torch\nBoolStorage\n", false},
    {"complex64", "torch\nComplexFloatStorage\n", false},
    {"complex128", "torch\nComplexDoubleStorage\n", false},
    {"complex32", "torch\ncomplex32\n", true},
    {"uint16", "torch\nuint16\n", true},
    {"uint32", "torch\nuint32\n", true},
    {"uint64", "torch\nuint64\n", true},
    {"float8_e4m3fn", "torch\nfloat8_e4m3fn\n", true},
    {"float8_e5m2", "torch\nfloat8_e5m2\n", true},
    {"float8_e4m3fnuz", "torch\nfloat8_e4m3fnuz\n", true},
    {"float8_e5m2fnuz", "torch\nfloat8_e5m2fnuz\n", true},
    {"float8_e8m0fnu", "torch\nfloat8_e8m0fnu\n", true},
    {"float4_e2m1fn_x2", "torch\nfloat4_e2m1fn_x2\n", true},
};

#define GLOBALS (sizeof(torch_globals) / sizeof(torch_globals[0]))

static size_t global_of(const struct dtype *d)
{
    size_t i = 0;
    while (i < GLOBALS && strcmp(torch_globals[i].dtype, d->name) != 0)
        i++;
    return i;
}

static bool export_torch_holds(const struct export_tensor *t, struct text *why,
                               const char **instead)
{
    if (global_of(&t->to) < GLOBALS)
        return true;
    *instead = export_dtype_instead(&t->to);
    return !text_adds(why, "PyTorch has no such dtype that it saves by itself");
}

/* --- the pickle ------------------------------------------------------------------------- */

struct pickle_text {
    struct text text;
    bool said[MEMO_DTYPES + GLOBALS];
};

/* A global ("module\nname\n") or, with the opcode 'X', a string. */
static void add_once(struct pickle_text *p, unsigned memo, char opcode, const char *what)
{
    const uint32_t len = (uint32_t)strlen(what);
    uint8_t size[4];
    store_u32le(size, len);
    if (!p->said[memo]) {
        text_addc(&p->text, opcode);
        text_add(&p->text, size, opcode == 'X' ? sizeof(size) : 0);
        text_add(&p->text, what, len);
    }
    text_addc(&p->text, p->said[memo] ? 'h' : 'q');
    text_addc(&p->text, (char)memo);
    p->said[memo] = true;
}

static void add_string(struct pickle_text *p, const char *what)
{
    const size_t len = strlen(what);
    uint8_t head[5] = {'X'};
    store_u32le(head + 1, (uint32_t)len);
    text_add(&p->text, head, sizeof(head));
    text_add(&p->text, what, len);
}

/* BININT1, BININT, LONG1. */
static void add_number(struct pickle_text *p, uint64_t value)
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

static void add_shape_and_strides(struct pickle_text *p, const struct export_tensor *t)
{
    text_addc(&p->text, '(');
    for (unsigned d = 0; d < t->rank; d++)
        add_number(p, t->shape[d]);
    text_adds(&p->text, "t(");
    for (unsigned d = 0; d < t->rank; d++) {
        uint64_t stride = 1;
        for (unsigned i = d + 1; i < t->rank; i++)
            if (!mul_u64(stride, t->shape[i] ? t->shape[i] : 1, &stride))
                p->text.failed = true; /* of an empty tensor: more than any offset */
        add_number(p, stride);
    }
    text_addc(&p->text, 't');
}

static void add_storage(struct pickle_text *p, const struct export_tensor *t, size_t row,
                        uint64_t key)
{
    char name[24];
    snprintf(name, sizeof(name), "%llu", (unsigned long long)key);
    text_addc(&p->text, '(');
    add_once(p, MEMO_STORAGE, 'X', "storage");
    if (torch_globals[row].untyped)
        add_once(p, MEMO_UNTYPED, 'c', "torch.storage\nUntypedStorage\n");
    else
        add_once(p, MEMO_DTYPES + (unsigned)row, 'c', torch_globals[row].global);
    add_string(p, name);
    add_once(p, MEMO_CPU, 'X', "cpu");
    add_number(p, torch_globals[row].untyped ? t->nbytes : t->elements);
    text_adds(&p->text, "tQ");
}

static void export_torch_add_tensor(struct pickle_text *p, const struct export_tensor *t,
                                    uint64_t key)
{
    const size_t row = global_of(&t->to);
    const bool untyped = torch_globals[row].untyped;
    add_string(p, t->name);
    if (untyped)
        add_once(p, MEMO_REBUILD_UNTYPED, 'c', "torch._utils\n_rebuild_tensor_v3\n");
    else
        add_once(p, MEMO_REBUILD, 'c', "torch._utils\n_rebuild_tensor_v2\n");
    text_addc(&p->text, '(');
    add_storage(p, t, row, key);
    add_number(p, 0); /* elements before it in its storage */
    add_shape_and_strides(p, t);
    text_addc(&p->text, (char)0x89); /* needs no gradient */
    add_once(p, MEMO_HOOKS, 'c', "collections\nOrderedDict\n");
    text_adds(&p->text, ")R");
    if (untyped)
        add_once(p, MEMO_DTYPES + (unsigned)row, 'c', torch_globals[row].global);
    text_adds(&p->text, "tR");
}

/* --- the files -------------------------------------------------------------------------- */

/* Whether a tensor is the storage of another one of this file, which precedes it. */
static bool is_tied(const struct export_tensor *t)
{
    return t->twin && t->twin->file == t->file;
}

/* The pickle of the tensors of one file. Storages have their tensor's place in the plan as key. */
static void put_pickle(struct zip_layout *zip, uint32_t part)
{
    const struct export_plan *plan = zip->l->plan;
    struct pickle_text p = {0};
    text_adds(&p.text, "\x80\x02}(");
    for (size_t i = 0; i < plan->count; i++) {
        const struct export_tensor *t = &plan->tensor[i];
        if (t->file == part)
            export_torch_add_tensor(&p, t, (uint64_t)((is_tied(t) ? t->twin : t) - plan->tensor));
    }
    text_adds(&p.text, "u.");
    if (p.text.failed)
        error_memory_at(zip->l->err, zip->l->path);
    zip_member(zip, FOLDER "data.pkl", (struct bytes){(const uint8_t *)p.text.at, p.text.len},
               NULL);
    text_release(&p.text);
}

static void put_storages(struct zip_layout *zip, uint32_t part)
{
    const struct export_plan *plan = zip->l->plan;
    char name[sizeof(FOLDER) + 32];
    for (size_t i = 0; i < plan->count && lay_ok(zip->l); i++) {
        struct export_tensor *t = &plan->tensor[i];
        if (t->file != part)
            continue;
        snprintf(name, sizeof(name), FOLDER "data/%zu", i);
        if (is_tied(t))
            lay_tied(t);
        else
            zip_member(zip, name, (struct bytes){0}, t);
    }
}

static void put_line(struct zip_layout *zip, const char *name, const char *text)
{
    zip_member(zip, name, (struct bytes){(const uint8_t *)text, strlen(text)}, NULL);
}

static void export_torch_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    const char **paths = arena_array(l->arena, count, sizeof(*paths));
    for (uint32_t i = 0; i < count && lay_ok(l); i++) {
        struct zip_layout zip = {.l = l};
        paths[i] = lay_part_path(l, i, count);
        lay_file(l, paths[i]);
        put_pickle(&zip, i);
        put_line(&zip, FOLDER "byteorder", "little");
        put_storages(&zip, i);
        put_line(&zip, FOLDER "version", "3\n");
        zip_finish(&zip);
    }
    if (count > 1)
        lay_index(l, paths);
}

static const char *const more_suffixes[] = {".pth", ".ckpt", ".bin", NULL};

const struct exporter exporter_torch = {
    .name = "torch",
    .suffix = ".pt",
    .more_suffixes = more_suffixes,
    .summary = "PyTorch, as torch.load(weights_only=True, mmap=True) takes it",
    .parts = true,
    .ties = true,
    .holds = export_torch_holds,
    .lay_out = export_torch_lay_out,
};
