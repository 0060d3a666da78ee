/*
 * export_torch.c - the zip form of torch.save: a dict of tensors by name, in the order of the selection.
 *
 *   archive/data.pkl     a pickle of protocol 2: {NAME: tensor, ...} (torch_pickle.h)
 *   archive/byteorder    "little"
 *   archive/data/KEY     the bytes of a storage, at a multiple of 64, for torch.load(mmap=True)
 *   archive/version      "3"
 *
 * Tensors that share their bytes in the source share a storage. In several files, an index says which
 * has which tensor, as transformers reads it.
 *
 * Source: torch/serialization.py, caffe2/serialize/inline_container.h.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/export/format/torch_pickle.h"
#include "catalog/export/format/zip_layout.h"

#define FOLDER       "archive/"
#define PARTS_SUFFIX ".bin"

/* Whether a tensor is the storage of another one of this file, which precedes it. */
static bool is_tied(const struct export_tensor *t)
{
    return t->twin && t->twin->file == t->file;
}

/* The pickle of the tensors of one file. Storages have their tensor's place in the plan as key. */
static void put_pickle(struct zip_layout *zip, uint32_t part)
{
    const struct export_plan *plan = zip->l->plan;
    struct torch_pickle p = {0};
    text_adds(&p.text, "\x80\x02}(");
    for (size_t i = 0; i < plan->count; i++) {
        const struct export_tensor *t = &plan->tensor[i];
        if (t->file == part) {
            torch_pickle_string(&p, t->name);
            torch_pickle_tensor(&p, t, (uint64_t)((is_tied(t) ? t->twin : t) - plan->tensor));
        }
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

static void put_record(struct zip_layout *zip, const char *name, const char *text)
{
    zip_member(zip, name, (struct bytes){(const uint8_t *)text, strlen(text)}, NULL);
}

static void export_torch_lay_out(struct export_layout *l)
{
    const uint32_t count = lay_parts(l);
    const char **paths = arena_array(l->arena, count, sizeof(*paths));
    if (count > 1 && !text_ends_in(l->path, strlen(l->path), PARTS_SUFFIX))
        error_set(l->err, ERR_ARGUMENT, l->path, NO_OFFSET,
                  "with --shard-size it must end in " PARTS_SUFFIX
                  ", as pytorch_model.bin, whose index transformers reads");
    for (uint32_t i = 0; i < count && lay_ok(l); i++) {
        struct zip_layout zip = {.l = l};
        paths[i] = lay_part_path(l, i, count);
        lay_file(l, paths[i]);
        put_pickle(&zip, i);
        put_record(&zip, FOLDER "byteorder", "little");
        put_storages(&zip, i);
        put_record(&zip, FOLDER "version", "3\n");
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
