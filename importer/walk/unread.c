#include "importer/walk/unread.h"

#include <string.h>

#include "catalog/base/limits.h"
#include "importer/walk/walker.h"

#define TAR_BLOCK   512
#define NAMES_SHOWN 3 /* how many names to list of a folder's files of one kind */

struct sign {
    const char *bytes;
    size_t offset, len;
};

struct line {
    struct sign first, second;
    const char *member; /* a member of a tar archive; NULL: only the signs count */
};

#define SIGN(offset, bytes)                                                                        \
    {                                                                                              \
        bytes, offset, sizeof(bytes) - 1                                                           \
    }

const struct unread_kind unread_kinds[] = {
#define KIND(name, what, a, x, b, y) {name, what},
#define TAR(name, what, member)      {name, what},
#include "importer/walk/unread.def"
#undef KIND
#undef TAR
    {NULL, NULL},
};

static const struct line lines[] = {
#define KIND(name, what, a, x, b, y) {SIGN(a, x), SIGN(b, y), NULL},
#define TAR(name, what, member)      {SIGN(257, "ustar"), SIGN(0, ""), member},
#include "importer/walk/unread.def"
#undef KIND
#undef TAR
};

static bool unread_holds(struct bytes head, const struct sign *s)
{
    return s->offset <= head.len && s->len <= head.len - s->offset &&
           memcmp(head.at + s->offset, s->bytes, s->len) == 0;
}

/* Octal digits, or base 256 if the first bit is set (GNU). */
static bool tar_size(const uint8_t *field, uint64_t *size)
{
    *size = 0;
    if (field[0] & 0x80) {
        for (int i = 4; i < 12; i++)
            *size = *size << 8 | field[i];
        return field[0] == 0x80 && !field[1] && !field[2] && !field[3];
    }
    for (int i = 0; i < 12 && field[i] >= '0' && field[i] <= '7'; i++)
        *size = *size << 3 | (uint64_t)(field[i] - '0');
    return field[0] == ' ' || (field[0] >= '0' && field[0] <= '7');
}

/* Whether an archive has a member of this name at its root. */
static bool tar_holds(const struct source *s, const char *name, struct error *err)
{
    uint8_t header[TAR_BLOCK];
    const size_t len = strlen(name) + 1; /* short, so inside the field */
    uint64_t at = 0, size;
    for (uint64_t i = 0; i < LIMIT_TAR_MEMBERS; i++) {
        if (at > s->size || s->size - at < TAR_BLOCK ||
            source_read(s, at, header, TAR_BLOCK, err) != OK ||
            memcmp(header + 257, "ustar", 5) != 0)
            return false;
        if (memcmp(header + (memcmp(header, "./", 2) == 0 ? 2 : 0), name, len) == 0)
            return true;
        at += TAR_BLOCK;
        if (!tar_size(header + 124, &size) || size > s->size - at)
            return false;
        at += (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return false;
}

const char *unread_kind_of(const struct probe *p, const struct source *s, struct error *err)
{
    for (size_t i = 0; unread_kinds[i].name && err->status == OK; i++) {
        const struct line *line = &lines[i];
        if (unread_holds(p->head, &line->first) && unread_holds(p->head, &line->second) &&
            (!line->member || tar_holds(s, line->member, err)))
            return unread_kinds[i].name;
    }
    return NULL;
}

const char *unread_kind_named(const char *name)
{
    for (size_t i = 0; name && unread_kinds[i].name; i++)
        if (strcmp(unread_kinds[i].name, name) == 0)
            return unread_kinds[i].name;
    return NULL;
}

/* List the names of a folder's files of one kind; returns their number. */
static uint64_t list_kind(const struct listing *l, const char *kind, struct text *names)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < l->file_count; i++) {
        const struct entry *e = &l->files[i];
        if (!e->unread || e->claimed || strcmp(e->unread, kind) != 0)
            continue;
        if (count++ < NAMES_SHOWN)
            text_addf(names, "%s%s", names->len ? ", " : "", e->name);
    }
    if (count > NAMES_SHOWN)
        text_addf(names, " and %llu more", (unsigned long long)count - NAMES_SHOWN);
    return count;
}

void report_unread(struct walker *w, struct listing *l)
{
    bool any = false;
    for (uint64_t i = 0; i < l->only_count; i++) {
        const struct entry *e = listing_file(l, l->only[i]);
        for (const struct unread_kind *k = unread_kinds; e && e->unread && k->name; k++)
            if (k->what && strcmp(k->name, e->unread) == 0)
                walk_issue(w, listing_path(l, e->name), true, "not-read",
                           "%s: %s, which is not read here", k->name, k->what);
    }
    for (uint64_t i = 0; !l->only && !any && i < l->file_count; i++)
        any = l->files[i].unread;
    for (const struct unread_kind *k = unread_kinds; any && k->name; k++) {
        struct text names = {0};
        const uint64_t count = k->what ? list_kind(l, k->name, &names) : 0;
        if (names.failed)
            error_memory(&w->walk->err);
        else if (count)
            walk_issue(w, l->path, true, "not-read", "%llu %s %s not read: %s",
                       (unsigned long long)count, k->name, count == 1 ? "file is" : "files are",
                       text_str(&names));
        text_release(&names);
    }
}

void unread_summary(const struct walk *walk, struct text *out)
{
    uint64_t total = walk->unread_count, told = 0;
    for (size_t i = 0; unread_kinds[i].name && told < total; i++) {
        uint64_t count = 0;
        for (uint64_t j = 0; unread_kinds[i].what && j < total; j++)
            count += strcmp(walk->unread[j].kind, unread_kinds[i].name) == 0;
        if (count)
            text_addf(out, "%s%llu %s", told ? ", " : "", (unsigned long long)count,
                      unread_kinds[i].name);
        told += count;
    }
    if (total)
        text_adds(out, total == 1 ? " file is not read" : " files are not read");
}
