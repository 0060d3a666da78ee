/* torch_zip.c - see torch_zip.h for the layout. Source: caffe2/serialize/inline_container.cc,
 * torch/serialization.py. */
#include "importer/format/torch/torch_zip.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define VERSION_MAX 10 /* of archives; torch reads no later version */

static bool torch_zip_refuse(const struct torch_zip *z, struct error *err, uint64_t offset,
                             const char *what)
{
    error_set(err, ERR_CORRUPT, z->zip.source->name, offset, "%s", what);
    error_code(err, "bad-torch");
    return false;
}

/* --- members ---------------------------------------------------------------------------- */

const struct zip_member *torch_zip_member(const struct torch_zip *z, const char *name, size_t len)
{
    const uint64_t *at = strmap_get(&z->members, name, len);
    return at ? &z->zip.members[*at] : NULL;
}

static const struct zip_member *named(const struct torch_zip *z, const char *name)
{
    return torch_zip_member(z, name, strlen(name));
}

/* The name of a member below the root; NULL: it is not there. */
static const char *below_root(const struct torch_zip *z, const struct zip_member *m)
{
    return m->name_len > z->root_len && memcmp(m->name, z->root, z->root_len) == 0 &&
                   m->name[z->root_len] == '/'
               ? m->name + z->root_len + 1
               : NULL;
}

/* torch ignores case when it searches a name, so two names that differ only in case are
 * ambiguous. */
static void add_member(struct torch_zip *z, struct strmap *folded, uint64_t i, struct error *err)
{
    const struct zip_member *m = &z->zip.members[i];
    const char *name = below_root(z, m);
    bool added = true;
    size_t len = name ? m->name_len - z->root_len - 1 : 0;
    char *lower = name ? arena_room(z->arena, len) : NULL;
    if (!lower)
        return;
    for (size_t k = 0; k < len; k++)
        lower[k] = (char)tolower((unsigned char)name[k]);
    *strmap_add(&z->members, name, len, &added) = i;
    strmap_add(folded, lower, len, &added);
    if (!added)
        torch_zip_refuse(z, err, m->header, "two members have names that differ in case alone");
}

static bool add_members(struct torch_zip *z, struct error *err)
{
    struct strmap folded = {.err = z->arena->err};
    if (!z->zip.count && z->cut)
        *err = z->lost_end;
    if (!z->zip.count)
        return torch_zip_refuse(z, err, NO_OFFSET, "an empty zip archive");
    const char *slash = memchr(z->zip.members[0].name, '/', z->zip.members[0].name_len);
    if (!slash)
        return torch_zip_refuse(z, err, z->zip.members[0].header,
                                "a zip archive without the folder that torch.save makes");
    z->root = z->zip.members[0].name;
    z->root_len = (size_t)(slash - z->root);
    for (uint64_t i = 0; i < z->zip.count && err->status == OK; i++)
        add_member(z, &folded, i, err);
    strmap_release(&folded);
    return err->status == OK && z->arena->err->status == OK;
}

/* Read a short member as text, without white space at its end. False: it is missing, or, with
 * *err set, it cannot be read. */
static bool short_text(const struct torch_zip *z, const char *name, char *out, size_t room,
                       struct error *err)
{
    const struct zip_member *m = named(z, name);
    struct error damage = {.offset = NO_OFFSET};
    size_t len = 0;
    if (!m || m->cut || zip_head(&z->zip, m, out, room - 1, &len, &damage) != OK) {
        if (damage.status != OK && err->status == OK)
            *err = damage;
        return false;
    }
    while (len && isspace((unsigned char)out[len - 1]))
        len--;
    out[len] = '\0';
    return true;
}

static void check_version(struct torch_tree *t, const struct torch_zip *z, struct error *err)
{
    char text[32];
    char *end;
    if (!short_text(z, ".data/version", text, sizeof(text), err) &&
        !short_text(z, "version", text, sizeof(text), err)) {
        if (err->status == OK && !z->cut)
            job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "no-version",
                      "the archive does not say its version: torch may refuse it");
        return;
    }
    const char *digits = text + strspn(text, " \t\n\v\f\r");
    const unsigned version = (unsigned)strtoul(digits, &end, 10);
    if (end == digits || *end || end - digits > 9)
        torch_zip_refuse(z, err, NO_OFFSET, "the archive's version is not a number");
    else if (version < 1 || version > VERSION_MAX)
        error_set(err, ERR_UNSUPPORTED, z->zip.source->name, NO_OFFSET,
                  "version %u of torch's archives: 1 to %d can be read", version, VERSION_MAX);
}

/* Report pickles that are not read: a malware scanner may have looked only at one. */
static void report_pickles(struct torch_tree *t, const struct torch_zip *z)
{
    for (uint64_t i = 0; i < z->zip.count; i++) {
        const struct zip_member *m = &z->zip.members[i];
        const char *name = below_root(z, m);
        if (m->name_len < 4 || memcmp(m->name + m->name_len - 4, ".pkl", 4) != 0)
            continue;
        if (named(z, "data.pkl") == m || (z->script && m == named(z, "constants.pkl")) ||
            (z->script && m == named(z, "bytecode.pkl")) ||
            (z->script && name && strncmp(name, "code/", 5) == 0))
            continue;
        job_issue(t->job, ISSUE_WARNING, t->path, m->header, "second-pickle",
                  "member \"%.200s\" is a pickle too: it was not looked into", m->name);
    }
}

/* --- opening ---------------------------------------------------------------------------- */

/* Open the directory; without it, take the members that are left. */
static void open_members(struct torch_tree *t, const struct source *source, struct torch_zip *out,
                         struct error *err)
{
    const bool begun = out->place.codec || (t->whole_file && !out->base);
    if (zip_open(source, ZIP_UNIQUE, t->arena, &out->zip, err) != OK && begun &&
        strcmp(error_word(err), "truncated") == 0) {
        out->cut = true;
        out->lost_end = *err;
        error_clear(err);
        zip_salvage(source, t->arena, &out->zip, err);
    }
    if (err->status == OK)
        zip_report(t->job, t->path, &out->zip, out->base);
}

bool torch_zip_open(struct torch_tree *t, const struct source *source,
                    const struct torch_run *place, struct torch_zip *out, struct error *err)
{
    char text[16];
    *out = (struct torch_zip){.arena = t->arena,
                              .members.err = t->arena->err,
                              .place = *place,
                              .base = place->codec ? 0 : place->offset};
    open_members(t, source, out, err);
    const bool added = err->status == OK && add_members(out, err);
    if (added)
        check_version(t, out, err);
    /* Offsets in errors are those in the archive, which may begin anywhere in its file. */
    if (err->status != OK && err->offset != NO_OFFSET)
        err->offset += place->offset;
    if (!added || err->status != OK)
        return false;
    out->exported =
        short_text(out, "archive_format", text, sizeof(text), err) && strcmp(text, "pt2") == 0;
    out->script = named(out, "constants.pkl") != NULL;
    if (short_text(out, "byteorder", text, sizeof(text), err) && strcmp(text, "little") != 0) {
        out->big_endian = strcmp(text, "big") == 0;
        if (!out->big_endian)
            torch_zip_refuse(out, err, NO_OFFSET,
                             "the archive's byte order is neither big nor little");
    }
    return err->status == OK;
}

void torch_zip_close(struct torch_zip *z)
{
    strmap_release(&z->members);
    source_close(z->pickle_source);
}

/* The run of `size` bytes at `offset` of an archive that is coded: to decode it up to there is enough,
 * and of the rest it is only known that more follows. */
static bool coded_run(const struct torch_zip *z, uint64_t offset, uint64_t size,
                      struct torch_run *out)
{
    char chain[CHAIN_BYTES];
    const uint64_t all = z->cut ? offset + size + 1 : z->zip.source->size;
    const int len =
        snprintf(chain, sizeof(chain), "%s:%llu|cut:%llu,%llu", z->place.codec,
                 (unsigned long long)all, (unsigned long long)offset, (unsigned long long)size);
    *out = z->place;
    out->size = size;
    out->codec = arena_copy(z->arena, chain, (size_t)len);
    return out->codec;
}

bool torch_zip_member_run(const struct torch_zip *z, const struct zip_member *m,
                          struct torch_run *out, struct error *err)
{
    struct zip_run run;
    if (zip_run(&z->zip, m, &run, err) != OK)
        return false;
    if (z->place.codec && !*run.codec)
        return coded_run(z, run.offset, run.stored, out);
    if (z->place.codec) {
        error_set(err, ERR_UNSUPPORTED, z->zip.source->name, z->place.offset,
                  "a member \"%.100s\" that is compressed twice", m->name);
        return false;
    }
    *out = (struct torch_run){.file = z->place.file,
                              .offset = z->base + run.offset,
                              .stored = run.stored,
                              .size = m->size,
                              .crc = m->crc};
    if (*run.codec)
        out->codec = arena_copy(z->arena, run.codec, strlen(run.codec));
    return true;
}

static bool find_storage(struct torch_tree *t, const struct torch_key *key, struct torch_run *out,
                         struct error *err)
{
    const struct torch_zip *z = t->container;
    char name[256];
    int len = snprintf(name, sizeof(name), "%s/%.*s", z->part, key->len < 200 ? (int)key->len : 0,
                       key->key);
    const struct zip_member *m = torch_zip_member(z, name, (size_t)len);
    if (z->cut && (!m || m->cut) && key->bytes <= INT64_MAX) {
        /* It ends, or begins, behind the end of the file: the job sees which tensors do. */
        const bool begins = m && m->method == ZIP_STORED && !(m->flags & ZIP_ENCRYPTED);
        if (z->place.codec)
            return begins ? coded_run(z, m->data, key->bytes, out)
                          : torch_fail(t, err, "unsupported",
                                       "its storage \"%.40s\" is far from the archive's beginning, "
                                       "which alone was decoded",
                                       key->key);
        *out = (struct torch_run){.file = z->place.file,
                                  .offset = begins ? m->data : z->zip.source->size,
                                  .stored = key->bytes,
                                  .size = key->bytes};
        return true;
    }
    if (!m || key->len >= 200 || memchr(key->key, '/', key->len) ||
        memchr(key->key, '\0', key->len))
        return torch_fail(t, err, "missing-storage", "its storage \"%.40s\" is not in the archive",
                          key->key);
    return torch_zip_member_run(z, m, out, err);
}

/* --- the object ------------------------------------------------------------------------- */

/* A pickle of ordinary size is read at once and its checksum compared. Of a large one, which must
 * hold arrays, only the parts that are needed are read. */
static bool open_pickle(struct torch_tree *t, struct torch_zip *z, const struct zip_member *m,
                        struct error *err)
{
    struct bytes all;
    if (zip_check(&z->zip, m, err) != OK)
        return false;
    if (m->method == ZIP_STORED && m->size > LIMIT_PICKLE_AT_ONCE)
        return source_open_view(z->zip.source, m->data, m->size, &z->pickle_source, err) == OK;
    if (zip_read(&z->zip, m, LIMIT_PICKLE_INFLATE, z->arena, &all, err) != OK)
        return false;
    if (m->crc && crc32_z(0, all.at, all.len) != m->crc)
        job_issue(t->job, ISSUE_WARNING, t->path, z->base + m->header, "checksum",
                  "member \"%.200s\" does not have the checksum that the archive states", m->name);
    return source_open_memory(z->zip.source->name, all, false, &z->pickle_source, err) == OK;
}

bool torch_zip_run(struct torch_tree *t, struct torch_zip *z, const char *part, struct error *err)
{
    char name[32];
    snprintf(name, sizeof(name), "%s.pkl", part);
    const struct zip_member *m = named(z, name);
    if (!m && z->cut)
        *err = z->lost_end;
    if (!m)
        return torch_zip_refuse(z, err, NO_OFFSET,
                                "a zip archive without the data.pkl of torch.save");
    if (!z->part)
        report_pickles(t, z);
    z->part = part;
    source_close(z->pickle_source);
    z->pickle_source = NULL;
    if (!open_pickle(t, z, m, err) || !torch_zip_member_run(z, m, &t->run, err))
        return false;
    t->run.crc = 0;
    t->big_endian = z->big_endian;
    t->member = m->name;
    t->source = z->pickle_source;
    t->pickle = &z->pickle;
    t->find = find_storage;
    t->container = z;
    torch_run_pickle(t, 0, t->run.codec ? 0 : t->run.offset, &z->pickle, err);
    if (m->cut && err->status == ERR_CORRUPT)
        *err = z->lost_end;
    if (z->cut && !z->place.codec && err->status == OK)
        job_cut(t->job, z->place.file, &z->lost_end);
    if (err->status == OK && z->pickle.end < t->source->size && !m->cut)
        job_issue(t->job, ISSUE_WARNING, t->path, t->run.offset + z->pickle.end, "trailing-bytes",
                  "%llu bytes follow the pickle in %s",
                  (unsigned long long)(t->source->size - z->pickle.end), name);
    return err->status == OK;
}
