/*
 * export_dcp.c - a folder as torch.distributed.checkpoint saves a flat dict of tensors from one rank.
 *
 *   OUT/__0_0.distcp, __0_1.distcp, ...   tensors, each an archive of torch.save
 *   OUT/.metadata                         a pickle: dtypes, sizes, and which archive is where
 *
 * Tensors of one shape that share their bytes in the source share an archive.
 *
 * Source: torch/distributed/checkpoint/metadata.py, filesystem.py (FileSystemReader), default_planner.py.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/export/format/torch_pickle.h"
#include "catalog/export/format/zip_layout.h"

#define FOLDER   "archive/"
#define METADATA "torch.distributed.checkpoint.metadata\n"

/* Where the archive of a tensor lies in its file. */
struct archive {
    uint64_t at, len;
};

static bool is_shared(const struct export_tensor *t)
{
    return t->twin && t->twin->file == t->file && t->twin->rank == t->rank &&
           memcmp(t->twin->shape, t->shape, t->rank * sizeof(*t->shape)) == 0;
}

static void put_text_member(struct zip_layout *zip, const char *name, const void *text, size_t len)
{
    zip_member(zip, name, (struct bytes){text, len}, NULL);
}

static void put_archive(struct export_layout *l, struct export_tensor *t, struct archive *archive)
{
    struct zip_layout zip = {.l = l, .base = l->at};
    struct torch_pickle p = {0};
    text_adds(&p.text, "\x80\x02");
    torch_pickle_tensor(&p, t, 0);
    text_addc(&p.text, '.');
    if (p.text.failed)
        error_memory_at(l->err, l->path);
    put_text_member(&zip, FOLDER "data.pkl", p.text.at, p.text.len);
    put_text_member(&zip, FOLDER "byteorder", "little", strlen("little"));
    zip_member(&zip, FOLDER "data/0", (struct bytes){0}, t);
    put_text_member(&zip, FOLDER "version", "3\n", strlen("3\n"));
    zip_finish(&zip);
    text_release(&p.text);
    *archive = (struct archive){zip.base, l->at - zip.base};
}

/* --- .metadata -------------------------------------------------------------------------- */

/* An instance of a class, up to the state that follows it: a dict, to be closed with "ub". */
static void begin_object(struct torch_pickle *p, const char *global)
{
    torch_pickle_global(p, global);
    text_adds(&p->text, ")\x81}(");
}

static void add_size(struct torch_pickle *p, const uint64_t *size, unsigned rank)
{
    torch_pickle_global(p, "torch\nSize\n");
    torch_pickle_numbers(p, size, rank);
    text_adds(&p->text, "\x85R");
}

/* dtype, layout, requires_grad, memory format, pin_memory */
static void add_properties(struct torch_pickle *p, const struct export_tensor *t)
{
    torch_pickle_global(p, METADATA "TensorProperties\n");
    text_adds(&p->text, ")\x81(");
    torch_pickle_global(p, torch_dtype_global(&t->to));
    torch_pickle_global(p, "torch.serialization\n_get_layout\n");
    torch_pickle_word(p, "torch.strided");
    text_adds(&p->text, "\x85R\x89");
    torch_pickle_global(p, METADATA "_MEM_FORMAT_ENCODING\n");
    torch_pickle_number(p, 0);
    text_adds(&p->text, "\x85R\x89tb");
}

/* A tensor in one chunk. */
static void add_tensor(struct torch_pickle *p, const struct export_tensor *t, const uint64_t *zeros)
{
    torch_pickle_string(p, t->name);
    begin_object(p, METADATA "TensorStorageMetadata\n");
    torch_pickle_word(p, "properties");
    add_properties(p, t);
    torch_pickle_word(p, "size");
    add_size(p, t->shape, t->rank);
    torch_pickle_word(p, "chunks");
    text_addc(&p->text, ']');
    begin_object(p, METADATA "ChunkStorageMetadata\n");
    torch_pickle_word(p, "offsets");
    add_size(p, zeros, t->rank);
    torch_pickle_word(p, "sizes");
    add_size(p, t->shape, t->rank);
    text_adds(&p->text, "ubaub");
}

static void add_storage_place(struct torch_pickle *p, const struct export_tensor *t,
                              const uint64_t *zeros, const struct archive *archive)
{
    char file[32];
    snprintf(file, sizeof(file), "__0_%u.distcp", t->file);
    begin_object(p, METADATA "MetadataIndex\n");
    torch_pickle_word(p, "fqn");
    torch_pickle_string(p, t->name);
    torch_pickle_word(p, "index");
    torch_pickle_number(p, 0);
    torch_pickle_word(p, "offset");
    add_size(p, zeros, t->rank);
    text_adds(&p->text, "ub");
    begin_object(p, "torch.distributed.checkpoint.filesystem\n_StorageInfo\n");
    torch_pickle_word(p, "relative_path");
    torch_pickle_string(p, file);
    torch_pickle_word(p, "offset");
    torch_pickle_number(p, archive->at);
    torch_pickle_word(p, "length");
    torch_pickle_number(p, archive->len);
    text_adds(&p->text, "ub");
}

enum { ADD_TENSOR, ADD_PLANNER, ADD_PLACE };

static void put_dict(struct export_layout *l, struct torch_pickle *p, const char *key, int what,
                     const struct archive *archives)
{
    static const uint64_t zeros[TENSOR_RANK_MAX];
    torch_pickle_word(p, key);
    text_adds(&p->text, "}(");
    for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
        const struct export_tensor *t = &l->plan->tensor[i];
        const struct export_tensor *held = is_shared(t) ? t->twin : t;
        if (what == ADD_TENSOR)
            add_tensor(p, t, zeros);
        else if (what ==
                 ADD_PLANNER) { /* the keys of a nested dict; of a flat one the name alone */
            torch_pickle_string(p, t->name);
            torch_pickle_string(p, t->name);
            text_addc(&p->text, (char)0x85);
        } else
            add_storage_place(p, t, zeros, &archives[held - l->plan->tensor]);
        lay_add(l, &p->text);
    }
    text_addc(&p->text, 'u');
}

static void put_metadata(struct export_layout *l, const struct archive *archives)
{
    struct torch_pickle p = {0};
    lay_file(l, ".metadata");
    text_adds(&p.text, "\x80\x02");
    begin_object(&p, METADATA "Metadata\n");
    put_dict(l, &p, "state_dict_metadata", ADD_TENSOR, archives);
    put_dict(l, &p, "planner_data", ADD_PLANNER, archives);
    put_dict(l, &p, "storage_data", ADD_PLACE, archives);
    torch_pickle_word(&p, "storage_meta");
    text_addc(&p.text, 'N');
    torch_pickle_word(&p, "version");
    torch_pickle_word(&p, "1.0.0");
    text_adds(&p.text, "ub.");
    lay_add(l, &p.text);
    text_release(&p.text);
}

static void export_dcp_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    struct archive *archives = arena_array(l->arena, l->plan->count, sizeof(*archives));
    for (uint32_t part = 0; part < count && lay_ok(l); part++) {
        char path[32];
        snprintf(path, sizeof(path), "__0_%u.distcp", part);
        lay_file(l, path);
        for (size_t i = 0; i < l->plan->count && lay_ok(l); i++) {
            struct export_tensor *t = &l->plan->tensor[i];
            if (t->file == part && is_shared(t))
                lay_tied(t);
            else if (t->file == part)
                put_archive(l, t, &archives[i]);
        }
    }
    if (lay_ok(l))
        put_metadata(l, archives);
}

static const char *const marks[] = {".metadata", NULL};

const struct exporter exporter_dcp = {
    .name = "dcp",
    .suffix = ".dcp",
    .summary = "PyTorch Distributed Checkpoint, as torch.distributed.checkpoint.load takes it",
    .parts = true,
    .ties = true,
    .folder_marks = marks,
    .holds = export_torch_holds,
    .lay_out = export_dcp_lay_out,
};
