/*
 * torch_program.c - the form of torch.export.save before PyTorch 2.8: a plain zip archive.
 *
 *   serialized_exported_program.json   the graph: always the first member
 *   serialized_state_dict.pt           a file of torch.save: parameters and buffers by name
 *                                      (PyTorch 2.1 and 2.2 name it .json nevertheless)
 *   serialized_constants.pt            another such file: other buffers and constants
 *
 * Example inputs are not part of the model.
 *
 * Source: torch/_export/__init__.py and torch/export/__init__.py of PyTorch 2.1 to 2.7.
 */
#include <string.h>

#include "importer/format/torch/torch_file.h"

#define FIRST "serialized_exported_program.json"

bool torch_program_magic(struct bytes head)
{
    const size_t name = 30, len = sizeof(FIRST) - 1;
    return head.len >= name + len && memcmp(head.at, "PK\3\4", 4) == 0 &&
           load_u16le(head.at + 26) == len && memcmp(head.at + name, FIRST, len) == 0;
}

/* State everything in a member that is a file of torch.save. */
static void read_member(struct torch_tree *t, const struct zip *outer, const struct zip_member *m,
                        struct error *err)
{
    struct torch_tree inner = *t;
    struct torch_zip z = {0};
    struct source *source = NULL;
    if (m->method != ZIP_STORED) {
        error_set(err, ERR_UNSUPPORTED, outer->source->name, m->header,
                  "member \"%.100s\" is compressed: torch.export stores it", m->name);
    } else if (zip_check(outer, m, err) == OK &&
               source_open_view(outer->source, m->data, m->size, &source, err) == OK &&
               torch_zip_open(&inner, source, t->run.file, m->data, &z, err) &&
               torch_zip_run(&inner, &z, "data", err)) {
        torch_tree_state(&inner);
    }
    torch_zip_close(&z);
    source_close(source);
    t->names = inner.names; /* keep them, so that tensors of both members have unique names */
    inner.names = (struct strmap){0};
    torch_tree_release(&inner);
}

void torch_program_state(struct torch_tree *t, const struct source *s, struct error *err)
{
    static const char *const members[][2] = {
        {"serialized_state_dict.pt", "serialized_state_dict.json"},
        {"serialized_constants.pt", "serialized_constants.json"},
    };
    struct zip zip;
    if (zip_open(s, t->arena, &zip, err) == OK)
        zip_report(t->job, t->path, &zip, 0);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && err->status == OK; i++) {
        const struct zip_member *m = zip_find(&zip, members[i][0]);
        m = m ? m : zip_find(&zip, members[i][1]);
        if (!m && i == 0) {
            error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "an exported program without \"%s\"",
                      members[i][0]);
            error_code(err, "bad-torch");
        } else if (m && m->size) {
            read_member(t, &zip, m, err);
        }
    }
}
