/*
 * torch.c - files of torch.save in all its forms, recognised by their bytes alone.
 *
 *   "PK\3\4"                  zip archive (torch_zip.c), TorchScript, torch.export
 *   the pickled magic number  the form before 1.6 (torch_legacy.c)
 *   tar with sys_info         the form before 0.2 (torch_tar.c)
 *
 * Before PyTorch 2.8, torch.export.save wrote a plain zip archive:
 *
 *   serialized_exported_program.json   the graph: always the first member
 *   serialized_state_dict.pt           a file of torch.save: parameters and buffers by name
 *                                      (PyTorch 2.1 and 2.2 name it .json nevertheless)
 *   serialized_constants.pt            another such file: other buffers and constants
 *
 * Example inputs are not part of the model.
 *
 * Source: torch/serialization.py; torch/_export/__init__.py and torch/export/__init__.py of
 * PyTorch 2.1 to 2.7.
 */
#include <string.h>

#include "catalog/base/text.h"
#include "importer/format/torch/torch_file.h"
#include "importer/format/torch/torch_legacy.h"

#define LOCAL_MAGIC "PK\3\4"
#define PROGRAM     "serialized_exported_program.json"

/* Whether the name of the first member (its length is the u16 at byte 26, the name begins at 30)
 * is ROOT/ and a name that torch writes. */
static bool is_archive(const struct probe *p)
{
    static const char *const parts[] = {
        "data.pkl",
        "data/",
        "version",
        "byteorder",
        ".format_version",
        ".data/",
        ".storage_alignment",
        "constants.pkl",
        "constants/",
        "code/",
        "archive_format",
        "archive_version",
        "models/",
        "bytecode.pkl",
    };
    if (p->head.len < 30 || memcmp(p->head.at, LOCAL_MAGIC, 4) != 0)
        return false;
    size_t len = load_u16le(p->head.at + 26);
    const char *name = (const char *)p->head.at + 30;
    const char *slash = len <= p->head.len - 30 ? memchr(name, '/', len) : NULL;
    if (!slash)
        return false;
    size_t left = len - (size_t)(slash + 1 - name);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t n = strlen(parts[i]);
        if (left >= n && memcmp(slash + 1, parts[i], n) == 0)
            return true;
    }
    return false;
}

static bool is_program(struct bytes head)
{
    const size_t name = 30, len = sizeof(PROGRAM) - 1;
    return head.len >= name + len && memcmp(head.at, "PK\3\4", 4) == 0 &&
           load_u16le(head.at + 26) == len && memcmp(head.at + name, PROGRAM, len) == 0;
}

/* A shard of a distributed checkpoint (.distcp) is several archives in a row, not a file of
 * torch.save. */
static int torch_probe(const struct probe *p)
{
    const size_t len = strlen(p->name);
    if (text_ends_in(p->name, len, ".distcp"))
        return 0;
    if (is_archive(p) || is_program(p->head))
        return 64;
    if (torch_legacy_magic(p->head))
        return 96;
    if (torch_tar_magic(p->head))
        return 64;
    bool named = text_ends_in(p->name, len, ".pt") || text_ends_in(p->name, len, ".pth") ||
                 text_ends_in(p->name, len, ".pt2");
    return named && p->head.len >= 4 && memcmp(p->head.at, LOCAL_MAGIC, 4) == 0 ? 8 : 0;
}

/* --- the forms -------------------------------------------------------------------- */

/* Report bytes after the last storage: torch reads only the first object of a file. */
static void report_rest(struct torch_tree *t, uint64_t end)
{
    uint8_t head[32];
    struct error ignored = {.offset = NO_OFFSET};
    uint64_t left = t->source->size > end ? t->source->size - end : 0;
    size_t len = left < sizeof(head) ? (size_t)left : sizeof(head);
    if (!len || source_read(t->source, end, head, len, &ignored) != OK)
        return;
    bool again = torch_legacy_magic((struct bytes){head, len});
    job_issue(t->job, ISSUE_WARNING, t->path, end, again ? "second-object" : "trailing-bytes",
              "%llu bytes follow%s", (unsigned long long)left,
              again ? ": another torch.save, which torch.load does not read" : " the last storage");
}

static void index_legacy(struct torch_tree *t, const struct source *s, struct error *err)
{
    struct torch_legacy l;
    t->source = s;
    if (torch_legacy_read(t, 0, &l, err)) {
        if (l.broken.status == OK && l.end > s->size)
            torch_fail(t, &l.broken, "truncated", "the last storage is cut short");
        struct error why = l.broken;
        l.cut = l.count && job_cut(t->job, t->run.file, &why);
        if (why.status != OK) {
            *err = why;
        } else {
            report_rest(t, l.cut ? s->size : l.end);
            torch_tree_state(t);
        }
    }
    strmap_release(&l.keys);
}

/* State everything in a member that is a file of torch.save. */
static void program_member(struct torch_tree *t, const struct zip *outer,
                           const struct zip_member *m, struct error *err)
{
    struct torch_tree inner = *t;
    struct torch_zip z = {0};
    struct source *source = NULL;
    if (m->method != ZIP_STORED) {
        error_set(err, ERR_UNSUPPORTED, outer->source->name, m->header,
                  "member \"%.100s\" is compressed: torch.export stores it", m->name);
    } else if (zip_check(outer, m, err) == OK &&
               source_open_view(outer->source, m->data, m->size, &source, err) == OK &&
               torch_zip_open(&inner, source,
                              &(struct torch_run){.file = t->run.file, .offset = m->data}, &z,
                              err) &&
               torch_zip_run(&inner, &z, "data", err)) {
        torch_tree_state(&inner);
    }
    torch_zip_close(&z);
    source_close(source);
    t->names = inner.names; /* keep them, so that tensors of both members have unique names */
    inner.names = (struct strmap){0};
    torch_tree_release(&inner);
}

static void state_program(struct torch_tree *t, const struct source *s, struct error *err)
{
    static const char *const members[][2] = {
        {"serialized_state_dict.pt", "serialized_state_dict.json"},
        {"serialized_constants.pt", "serialized_constants.json"},
    };
    struct zip zip;
    if (zip_open(s, ZIP_UNIQUE, t->arena, &zip, err) == OK)
        zip_report(t->job, t->path, &zip, 0);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && err->status == OK; i++) {
        const struct zip_member *m = zip_find(&zip, members[i][0]);
        m = m ? m : zip_find(&zip, members[i][1]);
        if (!m && i == 0) {
            error_set(err, ERR_CORRUPT, s->name, NO_OFFSET, "an exported program without \"%s\"",
                      members[i][0]);
            error_code(err, "bad-torch");
        } else if (m && m->size) {
            program_member(t, &zip, m, err);
        }
    }
}

void torch_file_state(struct torch_tree *t, const struct source *s, struct error *err)
{
    uint8_t bytes[512];
    size_t len = s->size < sizeof(bytes) ? (size_t)s->size : sizeof(bytes);
    struct bytes head = {bytes, len};
    struct torch_zip z = {0};
    t->arena = t->job->arena;
    t->whole_file = t->job->salvage;
    if (source_read(s, 0, bytes, len, err) != OK)
        return;
    if (torch_legacy_magic(head))
        index_legacy(t, s, err);
    else if (torch_tar_magic(head))
        torch_tar_state(t, s, err);
    else if (is_program(head))
        state_program(t, s, err);
    else if (len < 4 || memcmp(bytes, "PK", 2) != 0)
        error_set(err, ERR_CORRUPT, s->name, 0, "it is not a file of torch.save");
    else if (torch_zip_open(t, s, &(struct torch_run){.file = t->run.file}, &z, err) &&
             z.exported && z.cut)
        *err = z.lost_end;
    else if (z.exported)
        torch_export_state(t, &z);
    else if (err->status == OK && t->arena->err->status == OK &&
             torch_zip_run(t, &z, "data", err)) {
        if (z.script)
            torch_script_state(t, &z, err);
        else
            torch_tree_state(t);
    }
    torch_zip_close(&z);
    torch_tree_release(t);
}

static enum status torch_index(struct job *job)
{
    struct torch_tree t = {.job = job};
    job_sum_kind(job, "crc32");
    torch_file_state(&t, job->source, job->err);
    return job->err->status;
}

const struct format format_torch = {
    .name = "torch",
    .summary = "PyTorch: torch.save in all its forms, TorchScript, torch.export",
    .suffixes = ".pt .pth .pt2 .ckpt",
    .separator = '.',
    .beside = {"config.json", "generation_config.json", "adapter_config.json"},
    .probe = torch_probe,
    .index = torch_index,
};
