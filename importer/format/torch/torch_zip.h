/*
 * torch_zip.h - torch.save since 1.6, TorchScript and torch.export: a zip archive whose
 * members are in one folder, the root.
 *
 *   data.pkl             the object; persistent ids name storages
 *   data/KEY             a storage
 *   version, byteorder   texts
 *   constants.pkl, code/ TorchScript
 *   archive_format       "pt2": torch.export (torch_export.c)
 */
#pragma once

#include "importer/container/zip.h"
#include "importer/format/torch/torch.h"

struct torch_zip {
    struct zip zip;
    struct arena *arena;
    const char *root; /* not NUL-terminated, without the '/' */
    size_t root_len;
    struct strmap members; /* name below the root -> position in the zip */
    /* Of the archive: its file, and where in it; with a codec, its bytes too */
    struct torch_run place;
    uint64_t base; /* offset of the archive in its file; 0 if it is coded */
    bool big_endian, exported, script;
    /* The archive is a file that has lost its end, as this says: members that it lacks were there. */
    bool cut;
    struct error lost_end;
    const char *part;     /* whose pickle and storages are in use: "data" */
    struct pickle pickle; /* data.pkl */
    struct source *pickle_source;
};

/* Open the archive that is the whole of `source`, and begins at place->offset of a file. If place->codec is
 * a codec's name ("zstd"), the archive is decoded from place->stored bytes, and `source` is the archive, or
 * its beginning. */
bool torch_zip_open(struct torch_tree *, const struct source *source, const struct torch_run *place,
                    struct torch_zip *out, struct error *);
/* Run NAME.pkl ("data", "constants"), whose storages are NAME/KEY: sets t->pickle, t->source, t->run, t->find
 * and t->container. */
bool torch_zip_run(struct torch_tree *t, struct torch_zip *, const char *name, struct error *);
void torch_zip_close(struct torch_zip *);

/* A member below the root; NULL: none. */
const struct zip_member *torch_zip_member(const struct torch_zip *, const char *name, size_t len);
/* The run of a member's bytes; false after setting *err. */
bool torch_zip_member_run(const struct torch_zip *, const struct zip_member *, struct torch_run *,
                          struct error *);

/* torch_script.c: the same as torch_tree_state() for a TorchScript archive, whose data.pkl was run. */
void torch_script_state(struct torch_tree *, struct torch_zip *, struct error *);

/* torch_export.c: emit the tensors that an exported program's JSON files list. */
void torch_export_state(struct torch_tree *, struct torch_zip *);
