/* torch_globals.c - the meaning of the names in a pickle, and an issue for each unknown one. */
#include <string.h>

#include "catalog/db/classes.h"
#include "importer/format/torch/torch.h"

static const struct {
    const char *name;
    enum torch_meaning meaning;
} known[] = {
#define GLOBAL(name, meaning) {name, meaning},
#include "importer/format/torch/torch_globals.def"
#undef GLOBAL
};

/* The name X of a dtype torch.X, and its canonical name. */
static const char *const dtypes[][2] = {
    {"float32", "float32"},
    {"float", "float32"},
    {"float64", "float64"},
    {"double", "float64"},
    {"float16", "float16"},
    {"half", "float16"},
    {"bfloat16", "bfloat16"},
    {"int64", "int64"},
    {"long", "int64"},
    {"int32", "int32"},
    {"int", "int32"},
    {"int16", "int16"},
    {"short", "int16"},
    {"int8", "int8"},
    {"uint8", "uint8"},
    {"uint16", "uint16"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"bool", "bool"},
    {"complex32", "complex32"},
    {"chalf", "complex32"},
    {"complex64", "complex64"},
    {"cfloat", "complex64"},
    {"complex128", "complex128"},
    {"cdouble", "complex128"},
    {"float8_e4m3fn", "float8_e4m3fn"},
    {"float8_e5m2", "float8_e5m2"},
    {"float8_e4m3fnuz", "float8_e4m3fnuz"},
    {"float8_e5m2fnuz", "float8_e5m2fnuz"},
    {"float8_e8m0fnu", "float8_e8m0fnu"},
    {"float4_e2m1fn_x2", "float4_e2m1fn_x2"},
    {"qint8", "qint8"},
    {"quint8", "quint8"},
    {"qint32", "qint32"},
    {"quint4x2", "quint4x2"},
    {"quint2x4", "quint2x4"},
    {"bits8", "bits8"},
    {"bits16", "bits16"},
    {"bits1x8", "bits1x8"},
    {"bits2x4", "bits2x4"},
    {"bits4x2", "bits4x2"},
};

/* Classes of storages and their dtypes; those without a dtype are runs of bytes. */
static const char *const storages[][2] = {
    {"DoubleStorage", "float64"},
    {"FloatStorage", "float32"},
    {"HalfStorage", "float16"},
    {"BFloat16Storage", "bfloat16"},
    {"LongStorage", "int64"},
    {"IntStorage", "int32"},
    {"ShortStorage", "int16"},
    {"CharStorage", "int8"},
    {"ByteStorage", "uint8"},
    {"BoolStorage", "bool"},
    {"ComplexDoubleStorage", "complex128"},
    {"ComplexFloatStorage", "complex64"},
    {"ComplexHalfStorage", "complex32"},
    {"QInt8Storage", "qint8"},
    {"QUInt8Storage", "quint8"},
    {"QInt32Storage", "qint32"},
    {"QUInt4x2Storage", "quint4x2"},
    {"QUInt2x4Storage", "quint2x4"},
    {"UntypedStorage", NULL},
    {"_UntypedStorage", NULL},
    {"TypedStorage", NULL},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool in_module(const struct pickle_global *g, const char *module)
{
    return g->module_len == strlen(module) && memcmp(g->name, module, g->module_len) == 0;
}

static bool torch_globals_begins(const struct pickle_global *g, const char *prefix)
{
    return strncmp(g->name, prefix, strlen(prefix)) == 0;
}

static int find_pair(const char *const list[][2], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i][0], name) == 0)
            return (int)i;
    return -1;
}

static bool dtype_named(const char *name)
{
    struct dtype dtype;
    dtype_find(name, &dtype);
    return dtype_sized(&dtype);
}

static enum torch_meaning meaning_of(const struct pickle_global *g)
{
    const char *name = g->name + g->module_len + 1;
    if (strlen(g->name) != g->len)
        return TORCH_UNKNOWN;
    bool torch = in_module(g, "torch");
    if (torch && find_pair(dtypes, COUNT(dtypes), name) >= 0)
        return TORCH_DTYPE;
    if ((torch || in_module(g, "torch.cuda") || in_module(g, "torch.storage")) &&
        find_pair(storages, COUNT(storages), name) >= 0)
        return TORCH_STORAGE;
    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(known[i].name, g->name) == 0)
            return known[i].meaning;
    if (in_module(g, "ml_dtypes") && dtype_named(name))
        return TORCH_CONSTANT;
    if (torch_globals_begins(g, "torch.nn.modules.") && name[0] >= 'A' && name[0] <= 'Z')
        return TORCH_MODULE;
    return torch_globals_begins(g, "__torch__.") ? TORCH_SCRIPT : TORCH_UNKNOWN;
}

enum torch_meaning torch_meaning_of(const struct pickle *p, pickle_ref ref)
{
    const struct pickle_node *n = pickle_at(p, ref);
    return n->kind == PICKLE_GLOBAL ? (enum torch_meaning)p->globals[n->integer].meaning
                                    : TORCH_UNKNOWN;
}

enum torch_meaning torch_callee(const struct pickle *p, pickle_ref ref)
{
    const struct pickle_node *n = pickle_at(p, ref);
    if (n->kind != PICKLE_CALL)
        return TORCH_UNKNOWN;
    enum torch_meaning meaning = torch_meaning_of(p, n->call->callee);
    /* object.__reduce_ex__ in protocols 0 and 1: _reconstructor(class, base, state of the base) */
    return meaning == TORCH_RECONSTRUCTOR ? torch_meaning_of(p, pickle_item(p, n->call->args, 0))
                                          : meaning;
}

bool torch_is_tensor(const struct pickle *p, pickle_ref ref)
{
    if (pickle_kind(p, ref) == PICKLE_PERSID)
        return pickle_at(p, ref)->flags & TORCH_IS_TENSOR;
    switch (torch_callee(p, ref)) {
    case TORCH_REBUILD:
    case TORCH_REBUILD_V3:
    case TORCH_REBUILD_QUANTISED:
    case TORCH_REBUILD_SPARSE:
    case TORCH_REBUILD_META:
    case TORCH_WRAP_FIRST:
    case TORCH_WRAP_TYPE:
    case TORCH_WRAP_TYPE_V2:
    case TORCH_TENSOR_CLASS:
    case NUMPY_RECONSTRUCT:
    case NUMPY_FROM_BUFFER:
    case JAX_ARRAY: return true;
    default: return false;
    }
}

const char *torch_dtype_of(const struct pickle *p, pickle_ref ref)
{
    enum torch_meaning meaning = torch_meaning_of(p, ref);
    if (meaning != TORCH_DTYPE && meaning != TORCH_STORAGE)
        return NULL;
    const struct pickle_global *g = &p->globals[pickle_at(p, ref)->integer];
    const char *name = g->name + g->module_len + 1;
    return meaning == TORCH_DTYPE ? dtypes[find_pair(dtypes, COUNT(dtypes), name)][1]
                                  : storages[find_pair(storages, COUNT(storages), name)][1];
}

/* getattr() is harmless in one use only: to name a member of an enumeration, as some versions of
 * Python pickle it. Whether all its calls are that. */
static bool getattr_is_tame(const struct pickle *p)
{
    for (pickle_ref ref = 1; ref < p->node_count; ref++) {
        const struct pickle_node *n = pickle_at(p, ref);
        if (n->kind == PICKLE_CALL && torch_meaning_of(p, n->call->callee) == TORCH_GETATTR &&
            torch_meaning_of(p, pickle_item(p, n->call->args, 0)) != DCP_ENUM)
            return false;
    }
    return true;
}

/* Report a name that loading the file in Python would import, and which part is not known to be harmless. */
static void report_global(struct torch_tree *t, const struct pickle_global *g)
{
    const char *why;
    const enum class_verdict verdict =
        classes_judge(t->job->classes, g->name, g->len, g->module_len, &why);
    const bool dangerous = verdict == CLASS_DANGEROUS;
    if (g->meaning == TORCH_GETATTR || (!dangerous && g->meaning != TORCH_UNKNOWN) ||
        verdict == CLASS_SAFE)
        return;
    t->dangerous |= dangerous;
    job_issue(t->job, dangerous ? ISSUE_ERROR : ISSUE_WARNING, t->path, g->offset,
              dangerous ? "dangerous-call" : "unknown-global",
              "the pickle %s \"%.200s\"%s%.80s%s%.60s%s: nothing was imported or executed "
              "here, but loading the file in Python would",
              g->called ? "calls" : "names", g->name, t->member ? " in " : "",
              t->member ? t->member : "", *why ? " (" : "", why, *why ? ")" : "");
}

/* Report what the pickle does besides calls. On anything but its own objects, a state or items
 * change a class, a module or a tensor's memory (CVE-2026-24747), or make Python refuse it. */
static void report_oddity(struct torch_tree *t, const struct pickle_oddity *o)
{
    const struct pickle *p = t->pickle;
    const struct pickle_node *n = pickle_at(p, o->node);
    const char *what = o->kind == PICKLE_STATE ? "a state" : "items";
    const char *in = t->member ? " in " : "", *member = t->member ? t->member : "";
    const bool tensor = n->kind == PICKLE_PERSID || torch_is_tensor(p, o->node) ||
                        torch_callee(p, o->node) == TORCH_STORAGE_BYTES;
    t->dangerous |= o->kind != PICKLE_NOT_UTF8 && (tensor || n->kind == PICKLE_GLOBAL);
    if (o->kind == PICKLE_NOT_UTF8)
        job_issue(t->job, ISSUE_ERROR, t->path, o->offset, "bad-pickle",
                  "bad pickle: a text%s%.80s is not UTF-8: Python refuses it", in, member);
    else if (n->kind == PICKLE_GLOBAL)
        job_issue(t->job, ISSUE_ERROR, t->path, o->offset, "dangerous-call",
                  "the pickle gives %s to %.200s%s%.80s, which it did not make: loading the "
                  "file in Python would change that",
                  what, p->globals[n->integer].name, in, member);
    else if (tensor)
        job_issue(t->job, ISSUE_ERROR, t->path, o->offset, "dangerous-call",
                  "the pickle gives %s to a tensor or a storage%s%.80s, which no honest file does: "
                  "loading the file in Python may write past its memory (CVE-2026-24747)",
                  what, in, member);
    else if (n->kind != PICKLE_CALL)
        job_issue(t->job, ISSUE_ERROR, t->path, o->offset, "bad-pickle",
                  "bad pickle: %s%s%.80s for something that takes none", what, in, member);
}

void torch_globals_learn(struct torch_tree *t)
{
    struct pickle *p = t->pickle;
    for (uint32_t i = 0; i < p->global_count; i++)
        p->globals[i].meaning = meaning_of(&p->globals[i]);
    for (uint32_t i = 0; i < p->global_count; i++) {
        struct pickle_global *g = &p->globals[i];
        if (g->meaning == TORCH_GETATTR && !getattr_is_tame(p))
            g->meaning = TORCH_UNKNOWN;
        if (!t->told)
            report_global(t, g);
    }
    for (size_t i = 0; i < p->oddity_count && !t->told; i++)
        report_oddity(t, &p->oddities[i]);
}
