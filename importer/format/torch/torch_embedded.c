/*
 * torch_embedded.c - byte strings in a pickle, and the storages that some of them hold.
 *
 * A pickle stores a byte string as it is, or, in protocols 0 to 2, as text:
 * _codecs.encode(TEXT, 'latin1'). torch.storage._load_from_bytes(BYTES) is a storage that was not
 * pickled by torch.save: BYTES is a complete legacy file of one storage. For Python it is any file that
 * torch.load takes, which runs its pickles.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "importer/container/zip.h"
#include "importer/format/torch/torch_legacy.h"

struct torch_embedded {
    struct torch_key key;
    struct torch_run run;
};

/* Append a codec step to a run; its result has `size` bytes. */
static bool add_step(struct torch_tree *t, struct torch_run *run, const char *step, uint64_t size,
                     struct error *err)
{
    char chain[CHAIN_BYTES];
    int n = snprintf(chain, sizeof(chain), "%s%s%s", run->codec ? run->codec : "",
                     run->codec ? "|" : "", step);
    if (n >= (int)sizeof(chain))
        return torch_fail(t, err, "unsupported", "bytes in too many layers");
    run->codec = arena_copy(t->arena, chain, (size_t)n);
    run->size = size;
    run->crc = 0;
    return true;
}

/* Set *out to the bytes [offset, offset + len) of a run. */
static bool part_of(struct torch_tree *t, const struct torch_run *run, uint64_t offset,
                    uint64_t len, struct torch_run *out, struct error *err)
{
    char step[64];
    *out = *run;
    if (run->codec && !run->inlined) {
        snprintf(step, sizeof(step), "cut:%llu,%llu", (unsigned long long)offset,
                 (unsigned long long)len);
        return add_step(t, out, step, len, err);
    }
    if (run->inlined)
        out->inlined += offset;
    else
        out->offset += offset;
    out->size = out->stored = len;
    out->crc = 0;
    return true;
}

/* Encode a text as Latin-1, one byte per character. False: it has others. */
static bool encode_text(const struct pickle_node *text, uint8_t *to, size_t *len)
{
    const uint8_t *in = (const uint8_t *)text->text;
    *len = 0;
    for (uint32_t i = 0; i < text->count; i++) {
        uint8_t c = in[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == text->count || (in[i + 1] & 0xc0) != 0x80)
                return false;
            c = (uint8_t)(c << 6 | (in[++i] & 0x3f));
        }
        to[(*len)++] = c;
    }
    return true;
}

/* The text as Latin-1 in the arena. It is kept, as many tensors may share one text. */
static bool encode(struct torch_tree *t, const struct pickle_node *text, struct bytes *out,
                   struct error *err)
{
    bool added;
    const char *kept;
    t->encoded.err = t->job->err;
    uint64_t *at =
        strmap_keep(&t->encoded, t->arena, (const char *)&text, sizeof(text), &kept, &added);
    if (added) {
        uint8_t *to = arena_room(t->arena, text->count + 1u);
        size_t len;
        if (to && encode_text(text, to, &len))
            *PUSH(t->arena, t->texts, t->text_count, t->text_space) = (struct bytes){to, len};
        else
            PUSH(t->arena, t->texts, t->text_count, t->text_space);
        *at = t->text_count - 1;
    }
    if (t->job->err->status != OK)
        return false;
    *out = t->texts[*at];
    return out->at ||
           torch_fail(t, err, "bad-bytes", "its bytes are text with characters past U+00FF");
}

/* The node that holds the content, inside the calls around it: bytes, a text of 8-bit characters,
 * or a text to be encoded (*encoded). */
static pickle_ref content(const struct pickle *p, pickle_ref ref, bool *encoded)
{
    *encoded = false;
    for (unsigned i = 0; i < 4 && pickle_kind(p, ref) == PICKLE_CALL; i++) {
        enum torch_meaning meaning = torch_callee(p, ref);
        if (meaning != TORCH_ENCODE && meaning != TORCH_SEQUENCE)
            return 0;
        pickle_ref args = pickle_at(p, ref)->call->args;
        ref = pickle_item(p, args, 0);
        *encoded = meaning == TORCH_ENCODE || pickle_item(p, args, 1);
    }
    return ref;
}

static bool inline_run(struct torch_tree *t, struct bytes bytes, struct torch_run *out,
                       struct error *err)
{
    if (bytes.len > LIMIT_PICKLE_INLINE)
        return torch_fail(t, err, "unsupported",
                          "%zu bytes written as text with escapes, which cannot be read "
                          "where they are",
                          bytes.len);
    *out = (struct torch_run){
        .file = t->run.file, .stored = bytes.len, .size = bytes.len, .inlined = bytes.at};
    return true;
}

static bool text_run(struct torch_tree *t, const struct pickle_node *n, bool encoded,
                     struct torch_run *out, struct error *err)
{
    char step[64];
    uint64_t offset = pickle_text_offset(n);
    struct bytes bytes = {(const uint8_t *)n->text, n->count};
    if (encoded && !(n->flags & PICKLE_STR8) && !encode(t, n, &bytes, err))
        return false;
    if (offset == NO_OFFSET)
        return inline_run(t, bytes, out, err);
    if (!part_of(t, &t->run, offset, n->count, out, err))
        return false;
    snprintf(step, sizeof(step), "latin1:%zu", bytes.len);
    return bytes.len == n->count || add_step(t, out, step, bytes.len, err);
}

bool torch_bytes_run(struct torch_tree *t, pickle_ref ref, struct torch_run *out, struct error *err)
{
    bool encoded;
    pickle_ref inner = content(t->pickle, ref, &encoded);
    const struct pickle_node *n = pickle_at(t->pickle, inner);
    if (n->kind == PICKLE_BYTES)
        return part_of(t, &t->run, n->data->offset, n->data->len, out, err);
    if (n->kind == PICKLE_TEXT && (encoded || n->flags & PICKLE_STR8))
        return text_run(t, n, encoded, out, err);
    if (torch_callee(t->pickle, ref) == TORCH_SEQUENCE && !inner)
        return inline_run(t, (struct bytes){(const uint8_t *)"", 0}, out, err);
    return torch_fail(t, err, "bad-bytes", "its data is not a byte string");
}

bool torch_bytes_source(struct torch_tree *t, pickle_ref ref, struct source **out,
                        struct error *err)
{
    bool encoded;
    pickle_ref inner = content(t->pickle, ref, &encoded);
    const struct pickle_node *n = pickle_at(t->pickle, inner);
    struct bytes bytes = {(const uint8_t *)"", 0};
    if (n->kind == PICKLE_BYTES)
        return source_open_view(t->source, n->data->offset, n->data->len, out, err) == OK;
    if (n->kind == PICKLE_TEXT && n->flags & PICKLE_STR8)
        bytes = (struct bytes){(const uint8_t *)n->text, n->count};
    else if (n->kind != PICKLE_TEXT || !encoded || !encode(t, n, &bytes, err))
        return err->status == OK &&
               torch_fail(t, err, "bad-bytes", "its data is not a byte string");
    return source_open_memory(t->source->name, bytes, false, out, err) == OK;
}

/* Whether a storage lies in the byte string: a legacy file states its number of elements. */
static bool is_whole(struct torch_tree *t, const struct torch_legacy *legacy,
                     const struct torch_key *key, const struct torch_run *where, uint64_t size,
                     struct error *err)
{
    if (legacy->broken.status != OK) {
        *err = legacy->broken;
        return false;
    }
    return (key->bytes <= where->size && where->offset <= size &&
            key->bytes <= size - where->offset) ||
           torch_fail(t, err, "truncated", "its storage is cut short");
}

/* Find the only storage of the legacy file in a byte string. */
static bool torch_embedded_load(struct torch_tree *t, pickle_ref bytes, struct torch_embedded *out,
                                struct error *err)
{
    struct source *source = NULL;
    struct torch_run all = {0};
    struct torch_legacy legacy;
    struct torch_run where;
    if (!torch_bytes_run(t, bytes, &all, err) || !torch_bytes_source(t, bytes, &source, err) ||
        !source)
        return false;
    struct torch_tree inner = {
        .job = t->job, .arena = t->arena, .path = t->path, .source = source, .told = true};
    bool ok = torch_legacy_read(&inner, 0, &legacy, err) &&
              torch_key_read(&inner, legacy.object.root, &out->key, err) &&
              torch_legacy_find(&inner, &out->key, &where, err) &&
              is_whole(t, &legacy, &out->key, &where, source->size, err) &&
              part_of(t, &all, where.offset, out->key.bytes, &out->run, err);
    /* The node belongs to the inner pickle, which is released. */
    out->key.node = 0;
    strmap_release(&legacy.keys);
    source_close(source);
    return ok;
}

/* --- what they would do ------------------------------------------------------------------- */

#define NESTED_MAX     8 /* pickles inside each other that are looked into */
#define LEGACY_PICKLES 5 /* of a file of the form before 1.6 */

/* Run the pickle of an archive as torch.load finds it, by a name in any case. */
static void look_into_archive(struct torch_tree *inner, const struct source *s, struct error *err)
{
    static const char name[] = "/data.pkl";
    struct zip zip;
    struct bytes all;
    uint64_t left = LIMIT_PICKLE_INFLATE;
    zip_open(s, inner->arena, &zip, err);
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

void torch_embedded_look(struct torch_tree *t, uint64_t base)
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
        pickle_ref inner = content(p, bytes, &added);
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

/* --- storages ------------------------------------------------------------------------------ */

bool torch_embedded(struct torch_tree *t, pickle_ref call, struct torch_key *key,
                    struct torch_run *run, struct error *err)
{
    bool added;
    const char *kept;
    t->embedded.err = t->job->err;
    uint64_t *at =
        strmap_keep(&t->embedded, t->arena, (const char *)&call, sizeof(call), &kept, &added);
    if (added) {
        pickle_ref bytes = pickle_item(t->pickle, pickle_at(t->pickle, call)->call->args, 0);
        struct torch_embedded new = {.run = {.lost = true}};
        const bool loaded = torch_embedded_load(t, bytes, &new, err);
        new.run.lost |= !loaded; /* of other tensors that share it nothing more is said */
        *at = t->load_count;
        *PUSH(t->arena, t->loads, t->load_count, t->load_space) = new;
        if (!loaded)
            return false;
    }
    if (t->job->err->status != OK)
        return false;
    *key = t->loads[*at].key;
    *run = t->loads[*at].run;
    return true;
}
