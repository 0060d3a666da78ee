/*
 * torch_run.c - run a pickle, and report what loading it in Python would do: what it calls, and what the
 * pickles inside it do. torch.storage._load_from_bytes(BYTES) loads any file that torch.load takes, whether
 * a tensor needs it or not.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "importer/container/zip.h"
#include "importer/format/torch/torch.h"

#define NESTED_MAX     8 /* pickles inside each other that are looked into */
#define LEGACY_PICKLES 5 /* of a file of the form before 1.6 */

/* Run the pickle of an archive as torch.load finds it, by a name in any case. */
static void look_into_archive(struct torch_tree *inner, const struct source *s, struct error *err)
{
    static const char name[] = "/data.pkl";
    struct zip zip;
    struct bytes all;
    uint64_t left = LIMIT_PICKLE_INFLATE;
    zip_open(s, ZIP_UNIQUE, inner->arena, &zip, err);
    for (uint64_t i = 0; err->status == OK && i < zip.count; i++) {
        const struct zip_member *m = &zip.members[i];
        struct source *pickle = NULL;
        struct pickle p;
        if (m->name_len < strlen(name) ||
            strcasecmp(m->name + m->name_len - strlen(name), name) != 0 ||
            zip_read(&zip, m, left, inner->arena, &all, err) != OK ||
            source_open_memory(s->name, all, false, &pickle, err) != OK)
            continue;
        left -= all.len;
        inner->source = pickle;
        torch_run_pickle(inner, 0, 0, &p, err);
        source_close(pickle);
    }
}

/* Run all pickles of a source, as torch.load does. */
static void look_into(struct torch_tree *inner, const struct source *s, uint64_t base,
                      struct error *err)
{
    uint8_t head[4];
    uint64_t at = 0;
    if (s->size >= sizeof(head) && source_read(s, 0, head, sizeof(head), err) == OK &&
        memcmp(head, "PK\3\4", sizeof(head)) == 0) {
        look_into_archive(inner, s, err);
        return;
    }
    inner->source = s;
    for (unsigned i = 0; i < LEGACY_PICKLES && err->status == OK && at < s->size; i++) {
        struct pickle p;
        torch_run_pickle(inner, at, base, &p, err);
        at = p.end;
    }
}

/* Run all pickles in byte strings of the tree's, whether a tensor needs them or not. */
static void look_inside(struct torch_tree *t, uint64_t base)
{
    const struct pickle *p = t->pickle;
    struct strmap seen = {.err = t->job->err};
    bool added;
    for (pickle_ref ref = 1; ref < p->node_count && t->job->err->status == OK; ref++) {
        struct error err = {.offset = NO_OFFSET};
        struct source *s = NULL;
        struct arena arena = {.ceiling = t->arena->ceiling, .err = t->job->err};
        char member[100];
        if (torch_callee(p, ref) != TORCH_STORAGE_BYTES)
            continue;
        const pickle_ref bytes = pickle_item(p, pickle_at(p, ref)->call->args, 0);
        pickle_ref inner = torch_bytes_node(p, bytes, &added);
        const struct pickle_node *n = pickle_at(p, inner);
        strmap_add(&seen, (const char *)&inner, sizeof(inner), &added);
        if (!added)
            continue;
        snprintf(member, sizeof(member), "%.60s%s", t->member ? t->member : "",
                 t->member ? ", _load_from_bytes" : "_load_from_bytes");
        struct torch_tree in = {.job = t->job,
                                .arena = &arena,
                                .path = t->path,
                                .member = member,
                                .nested = t->nested + 1};
        if (in.nested > NESTED_MAX)
            torch_fail(t, &err, "limit", "pickles inside pickles, deeper than is looked into");
        else if (torch_bytes_source(t, bytes, &s, &err) && s)
            look_into(&in, s, base + (n->kind == PICKLE_BYTES ? n->data->offset : 0), &err);
        if (err.status != OK)
            job_issue_error(t->job, in.nested > NESTED_MAX ? ISSUE_ERROR : ISSUE_WARNING, &err);
        t->dangerous |= in.dangerous;
        source_close(s);
        torch_tree_release(&in);
        arena_release(&arena);
    }
    strmap_release(&seen);
}

enum status torch_run_pickle(struct torch_tree *t, uint64_t offset, uint64_t base,
                             struct pickle *out, struct error *err)
{
    struct pickle *const others = t->pickle;
    pickle_run(t->source, offset, base, t->arena, out, err);
    t->pickle = out;
    torch_globals_learn(t);
    if (!t->told)
        look_inside(t, base);
    t->pickle = others;
    return err->status;
}

void torch_tree_release(struct torch_tree *t)
{
    strmap_release(&t->encoded);
    strmap_release(&t->embedded);
    strmap_release(&t->names);
}
