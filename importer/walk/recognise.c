/*
 * recognise.c - find out what the files of a directory are.
 *
 *   1 known and unchanged files are what the catalog says; all others are probed by content
 *   2 index files claim their neighbours (shards)
 *   3 every recognised file that was not claimed is a checkpoint
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "catalog/base/name_list.h"
#include "catalog/base/search.h"
#include "catalog/base/text.h"
#include "catalog/base/threads.h"
#include "catalog/data/store/store.h"
#include "importer/job/job.h"
#include "importer/job/stray.h"
#include "importer/walk/unread.h"
#include "importer/walk/walker.h"

#define MANY_FILES 256 /* files in one directory; more are worth more threads */

/* --- probing ---------------------------------------------------------------------------- */

static void probe_bytes(struct walker *w, struct entry *e, struct source *s, uint8_t *head,
                        uint8_t *tail, struct error *err)
{
    struct probe p = {.name = e->name, .size = s->size};
    size_t len = s->size < PROBE_HEAD_BYTES ? (size_t)s->size : PROBE_HEAD_BYTES;
    if (source_read(s, 0, head, len, err) != OK)
        return;
    p.head = (struct bytes){head, len};
    e->format = format_for_file(&p);
    e->stray = stray_kind(&p);
    size_t end = s->size < PROBE_TAIL_BYTES ? (size_t)s->size : PROBE_TAIL_BYTES;
    if (!e->format && end && source_read(s, s->size - end, tail, end, err) == OK) {
        p.tail = (struct bytes){tail, end};
        e->format = format_for_file(&p);
    }
    if (!e->format && err->status == OK)
        e->unread = unread_kind_of(&p, s, err);
    for (size_t i = 0; formats[i] && !e->format && !e->unread && err->status == OK; i++)
        if (formats[i]->look && formats[i]->look(&p, s, w->options->classes))
            e->format = formats[i];
}

static void probe(struct walker *w, struct listing *l, struct entry *e)
{
    uint8_t head[PROBE_HEAD_BYTES], tail[PROBE_TAIL_BYTES];
    struct error err = {0};
    struct source *s = NULL;
    char *path = malloc(path_size(l->path, e->name)); /* the arena is another thread's */
    if (!path) {
        walk_lacks(w);
        return;
    }
    path_join(path, l->path, e->name);
    if (source_open_file(path, SOURCE_HEADERS, &s, NULL, &err) == OK)
        probe_bytes(w, e, s, head, tail, &err);
    source_close(s);
    e->probed = err.status == OK; /* otherwise it is unknown: do not remember it */
    e->in_doubt = !e->probed && err.status != ERR_MISSING;
    if (e->in_doubt) {
        pthread_mutex_lock(&w->lock);
        walk_unseen(w, path, err.message);
        pthread_mutex_unlock(&w->lock);
    }
    free(path);
}

/* The row of a file if the file has not changed. If there are several, prefer the one that
 * makes it a checkpoint's primary file. */
static const struct known_file *unchanged_row(const struct known *k, const char *path,
                                              const struct file_identity *now)
{
    const struct known_file *best = NULL;
    for (const struct known_file *f = known_file(k, path); f;
         f = f->next == KNOWN_NONE ? NULL : &k->files[f->next])
        if (f->present && file_same(&f->identity, now) &&
            (!best || (f->checkpoint != KNOWN_NONE && f->position == 0)))
            best = f;
    return best;
}

/* The first prefix from `low` to `high` whose byte at `at` is not less than `byte`. */
static uint64_t prefix_from(const struct listing *l, uint64_t low, uint64_t high, size_t at,
                            unsigned byte)
{
    uint64_t found;
    PARTITION_POINT(found, high - low, (unsigned char)l->only[low + found][at] < byte);
    return low + found;
}

/* Whether the name begins with one of the prefixes that were asked for. They are sorted, so
 * the prefixes that share the name's first bytes are a range, which shrinks byte by byte: of "a",
 * "ab", "b" the range for "ax" is first all three, then "a" and "ab", where "a" ends. */
static bool begins_as_asked(const struct listing *l, const char *name)
{
    uint64_t low = 0, high = l->only_count;
    for (size_t at = 0; low < high; at++) {
        if (!l->only[low][at])
            return true;
        if (!name[at])
            return false;
        unsigned byte = (unsigned char)name[at];
        low = prefix_from(l, low, high, at, byte);
        high = prefix_from(l, low, high, at, byte + 1);
    }
    return false;
}

/* Whether the file has to be looked at. Files without a suffix can
 * only be recognised by content. */
static bool recognise_wanted(const struct listing *l, const struct entry *e)
{
    if (listing_asks_for(l, e))
        return true;
    for (size_t i = 0; formats[i]; i++) /* an index file claims other files */
        if (formats[i]->set && format_has_suffix(formats[i], e->name))
            return true;
    switch (l->asked) {
    case ASKED_ALL: return true;
    case ASKED_FILE: return false;
    case ASKED_PARTS: return begins_as_asked(l, e->name);
    case ASKED_COMPANION: return !format_claims_name(e->name);
    }
    return false;
}

/* Whether the file is unchanged and catalogued as a part of a
 * checkpoint with another primary file. */
static bool known_as_part(const struct entry *e)
{
    return e->known && e->known->checkpoint != KNOWN_NONE && !known_is_primary(e->known);
}

/* Whether the file belongs to a checkpoint whose primary file is unchanged, or cannot be
 * read at the moment: then the file remains what it was. */
static bool is_part(const struct known *k, struct listing *l, const struct entry *e)
{
    if (!known_as_part(e))
        return false;
    const char *primary = k->files[k->checkpoints[e->known->checkpoint].first_file].path;
    const char *slash = strrchr(primary, '/');
    const struct entry *p = slash ? listing_file(l, slash + 1) : NULL;
    if (slash && listing_unseen(l, slash + 1))
        return true;
    return p && (p->in_doubt ||
                 (known_is_primary(p->known) && p->known->checkpoint == e->known->checkpoint));
}

/* Fill in what the catalog knows. True: a file of this directory is new, changed or gone,
 * so index files must be asked again what they claim. */
static bool look_up(struct walker *w, struct listing *l)
{
    bool dirty = false;
    const struct known *k = w->options->known;
    for (uint64_t i = 0; i < l->file_count; i++) {
        struct entry *e = &l->files[i];
        if (!recognise_wanted(l, e) || unfinished_name(e->name))
            continue;
        e->known = unchanged_row(k, listing_path(l, e->name), &e->identity);
        if (known_is_primary(e->known))
            e->format = format_named(k->checkpoints[e->known->checkpoint].format);
        dirty |= !e->known;
    }
    return dirty;
}

static void probe_unless_settled(struct walker *w, struct listing *l, struct entry *e)
{
    /* Look again at a shard whose index is gone, and at a file that was passed over
     * and is now asked for by name. */
    bool passed = e->known && e->known->checkpoint == KNOWN_NONE && !listing_asks_for(l, e) &&
                  !w->options->salvage;
    bool settled = passed || (e->known && e->format) || is_part(w->options->known, l, e);
    if (!settled && !e->probed && !e->in_doubt && !e->claimed && recognise_wanted(l, e) &&
        !unfinished_name(e->name))
        probe(w, l, e);
}

/* The order in which a directory's files are probed. */
enum turn {
    PROBE_NAMED, /* files that were asked for by name, known or not */
    PROBE_OTHERS,
    PROBE_PARTS, /* files that are catalogued as parts of a checkpoint: whether they need a
                    look depends on whether their index could be read */
};

/* A job for threads: to probe some of a directory's files. */
struct probing {
    struct walker *walker;
    struct listing *listing;
    enum turn turn;
    atomic_uint_fast64_t next;
};

static void probe_some(void *argument)
{
    struct probing *p = argument;
    struct listing *l = p->listing;
    for (uint64_t i; (i = atomic_fetch_add(&p->next, 1)) < l->file_count;) {
        struct entry *e = &l->files[i];
        if (p->turn == PROBE_NAMED && listing_asks_for(l, e) && !unfinished_name(e->name))
            probe(p->walker, l, e);
        else if (p->turn != PROBE_NAMED && known_as_part(e) == (p->turn == PROBE_PARTS))
            probe_unless_settled(p->walker, l, e);
    }
}

/* `many`: there may be enough files for more threads to help. All folders that are probed at one time share as many
 * as the walk has. */
static void probe_all(struct walker *w, struct listing *l, bool many, enum turn turn)
{
    struct probing p = {.walker = w, .listing = l, .turn = turn};
    const uint64_t worth = path_is_local(l->path) ? MANY_FILES : 2;
    unsigned helpers = 0;
    pthread_mutex_lock(&w->lock);
    for (; many && l->file_count >= worth && helpers + 1 < l->file_count &&
           w->probing + 1 < w->options->threads;
         helpers++)
        w->probing++;
    pthread_mutex_unlock(&w->lock);
    struct threads *threads = helpers ? threads_start(helpers, probe_some, &p) : NULL;
    probe_some(&p);
    threads_join(threads);
    pthread_mutex_lock(&w->lock);
    w->probing -= helpers;
    pthread_mutex_unlock(&w->lock);
}

/* --- units ------------------------------------------------------------------------------ */

/* Whether a file has changed. IN_DOUBT: it cannot be looked at now; unless the listing has
 * reported that, *trouble says why. */
enum sameness { SAME, OTHER, IN_DOUBT };

static enum sameness file_sameness(struct listing *l, const struct known_file *f,
                                   struct error *trouble)
{
    const char *slash = strrchr(f->path, '/');
    size_t dir = strlen(l->path);
    struct file_identity now;
    struct error err = {.offset = NO_OFFSET};
    bool same;
    if (l->whole && slash && (size_t)(slash - f->path) == dir &&
        memcmp(f->path, l->path, dir) == 0) {
        if (listing_unseen(l, slash + 1))
            return IN_DOUBT;
        const struct entry *e = listing_file(l, slash + 1);
        if (!e)
            e = listing_dir(l, slash + 1);
        same = e ? f->present && file_same(&f->identity, &e->identity) : !f->present;
    } else if (file_identify(f->path, &now, &err) == OK) {
        same = f->present && file_same(&f->identity, &now);
    } else if (status_passes(err.status)) {
        if (trouble->status == OK)
            *trouble = err;
        return IN_DOUBT;
    } else {
        same = !f->present;
    }
    return same ? SAME : OTHER;
}

/* Whether the checkpoint has a file of this path. Other checkpoints may have it, too, such as a
 * config.json. */
static bool has_row(const struct known *k, const struct known_checkpoint *c, const char *path)
{
    uint32_t owner = (uint32_t)(c - k->checkpoints);
    for (const struct known_file *f = known_file(k, path); f;
         f = f->next == KNOWN_NONE ? NULL : &k->files[f->next])
        if (f->checkpoint == owner)
            return true;
    return false;
}

/* Whether a file that describes the checkpoint is new beside it. */
static bool described_anew(struct walker *w, struct listing *l, const struct unit *u,
                           const struct known_checkpoint *c)
{
    const bool folder = strcmp(u->primary, l->path) == 0;
    const char *name;
    for (size_t i = 0; (name = job_beside(u->format, u->path, i)); i++) {
        if (!folder && !listing_file(l, name))
            continue;
        const char *path =
            folder ? job_beside_path(l->arena, u->primary, name) : listing_path(l, name);
        if (path && !has_row(w->options->known, c, path))
            return true;
    }
    for (size_t i = 0; folder && (name = u->format->placed_by[i]); i++) {
        const char *path = job_beside_path(l->arena, u->primary, name);
        if (path && !has_row(w->options->known, c, path))
            return true;
    }
    return false;
}

/* Whether the unit is still the catalogued checkpoint of its path. */
static bool unit_unchanged(struct walker *w, struct listing *l, const struct unit *u,
                           const struct entry *primary, bool dirty, struct error *trouble)
{
    const struct known *k = w->options->known;
    const struct known_checkpoint *c = known_checkpoint(k, u->path);
    if (!c || strcmp(c->format, u->format->name) != 0 || !c->file_count)
        return false;
    /* If one of its files is in doubt, the whole is: what was known stays until the file can be
     * looked at. */
    enum sameness same = SAME;
    for (uint32_t i = 0; i < c->file_count && same != IN_DOUBT; i++) {
        const enum sameness one = file_sameness(l, &k->files[c->first_file + i], trouble);
        same = one == SAME ? same : one;
    }
    if (same == IN_DOUBT)
        return true;
    if (same != SAME || c->again)
        return false;
    if (described_anew(w, l, u, c))
        return false;
    /* A new neighbour may be a shard that the index claims now. */
    for (uint64_t i = 0; dirty && u->format->claim && i < l->file_count; i++) {
        const struct entry *e = &l->files[i];
        const bool own = e->claimed && (e->claimer == primary || e->claimed_twice);
        const char *path = own ? listing_path(l, e->name) : "";
        if (own && !known_file(k, path) && !has_row(k, c, path))
            return false;
    }
    return true;
}

/* NULL: no memory. */
static const char *checkpoint_path(struct listing *l, const struct entry *e)
{
    struct text name = {0};
    const bool own = e->format->checkpoint_name && e->format->checkpoint_name(e->name, &name);
    const char *path = listing_path(l, own && !name.failed ? text_str(&name) : e->name);
    if (name.failed)
        arena_fail(l->arena);
    text_release(&name);
    return path;
}

static bool ends_with_one_of(const char *name, const char *const *suffixes, size_t count)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(suffixes[i]);
        if (len > n && strcasecmp(name + len - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* Whether a stray file is worth a report though no format claims its name. Web pages named as
 * such, and empty files (markers, locks; an OpenVINO model.bin), are common; but an empty
 * pytorch_model.bin is not. */
static bool out_of_place(const struct entry *e)
{
    static const char *const pages[] = {".html", ".htm", ".xhtml", ".shtml", ".php"};
    static const char *const weights[] = {".pkl", ".tar", ".distcp"};
    if (strcmp(e->stray, "git-lfs-pointer") == 0)
        return true;
    if (strcmp(e->stray, "html-page") == 0)
        return !ends_with_one_of(e->name, pages, sizeof(pages) / sizeof(pages[0]));
    return strcmp(e->stray, "empty-file") == 0 &&
           (strstr(e->name, "pytorch_model") || strstr(e->name, "adapter_model") ||
            ends_with_one_of(e->name, weights, sizeof(weights) / sizeof(weights[0])));
}

static void report_stray(struct walker *w, struct listing *l, const struct entry *e,
                         const char *path)
{
    bool own = format_claims_name(e->name) || listing_asks_for(l, e) ||
               (l->asked == ASKED_PARTS && walk_prefixes(w->walk, path));
    if (e->stray && (own || out_of_place(e))) {
        const char *what =
            strcmp(e->stray, "empty-file") == 0 ? "an empty file"
            : strcmp(e->stray, "html-page") == 0
                ? "a web page, not a checkpoint: download the file again"
            : strcmp(e->stray, "error-page") == 0
                ? "a server's error message, not a checkpoint: download the file again"
                : "a git-lfs pointer, not a checkpoint: run `git lfs pull`";
        walk_issue(w, path, false, e->stray, "%s", what);
    } else if (own) {
        walk_issue(w, path, false, "unrecognised",
                   "not a checkpoint of any format that is read here, whatever its name says");
    }
}

/* State shared while settling the files of a folder. */
struct folder {
    bool dirty;
    const char *const *siblings; /* listed when the first of its files is to be indexed */
};

/* Add a note if there is a neighbour that the framework loads instead of this checkpoint. */
static void note_shadow(struct walker *w, struct listing *l, const struct entry *e,
                        const char *checkpoint)
{
    struct text name = {0};
    const struct entry *other =
        e->format->loaded_first(e->format, e->name, &name) && text_str(&name)
            ? listing_file(l, text_str(&name))
            : NULL;
    if (other && other->claimer != e)
        walk_note(w, checkpoint, listing_path(l, other->name), "shadowed",
                  "the libraries load this file in place of %s, which does not name it", e->name);
    text_release(&name);
}

/* Settle a file that is not a checkpoint of a readable format. */
static void settle_passed(struct walker *w, struct listing *l, struct entry *e, const char *path)
{
    if (!e->probed && e->known && e->known->checkpoint == KNOWN_NONE)
        e->unread = unread_kind_named(e->known->kind);
    if (e->unread && (l->asked == ASKED_ALL || listing_asks_for(l, e)))
        walk_add_unread(w, path, e);
    else if (e->probed && !e->format && !e->unread)
        report_stray(w, l, e, path);
    else if (!e->probed && listing_asks_for(l, e) && unfinished_name(e->name))
        walk_issue(w, path, true, "unfinished", "an unfinished save: not indexed");
    if (e->probed)
        walk_add_passed(w, path, e);
}

static void recognise_settle(struct walker *w, struct listing *l, struct folder *f, struct entry *e,
                             bool claims_only)
{
    const char *path = listing_path(l, e->name);
    w->walk->files++;
    if (e->claimed)
        return;
    if (!e->format || !e->format->index) {
        settle_passed(w, l, e, path);
        return;
    }
    struct unit u = {.format = e->format, .path = checkpoint_path(l, e), .primary = path};
    const char *slash = strrchr(u.path, '/');
    if (l->asked != ASKED_ALL && l->asked != ASKED_COMPANION && !claims_only &&
        !listing_asks_for(l, e) && !(slash && names_hold(l->only, l->only_count, slash + 1)))
        return; /* another unit than an argument named */
    const struct known_checkpoint *known = known_checkpoint(w->options->known, u.path);
    u.known = known ? known->id : 0;
    struct error trouble = {.offset = NO_OFFSET};
    u.unchanged = unit_unchanged(w, l, &u, e, f->dirty, &trouble);
    if (u.unchanged && trouble.status != OK)
        walk_unseen(w, trouble.source, trouble.message);
    if (!f->siblings && !u.unchanged)
        f->siblings = listing_names(l, &w->walk->arena);
    u.siblings = f->siblings;
    u.sibling_count = u.siblings ? l->file_count : 0;
    if (e->format->loaded_first)
        note_shadow(w, l, e, u.path);
    walk_add_unit(w, u);
}

/* Whether the directory would be something else than `format` if the entries that could not be looked at
 * were files: one may make it a checkpoint, or keep it from being one. */
static bool perhaps_other(struct listing *l, const struct format *format)
{
    struct listing all = *l;
    struct error trouble = {.offset = NO_OFFSET};
    if (!l->unseen_count)
        return false;
    all.files = arena_array(l->arena, l->file_count + l->unseen_count, sizeof(*all.files));
    if (!all.files)
        return true;
    if (l->file_count)
        memcpy(all.files, l->files, l->file_count * sizeof(*all.files));
    memcpy(all.files + l->file_count, l->unseen, l->unseen_count * sizeof(*all.files));
    all.file_count += l->unseen_count;
    listing_sort(&all);
    return directory_format(&all, &trouble) != format || trouble.status != OK;
}

/* Whether the directory is one checkpoint; *whole: including everything below it. It is not
 * read again while it is unchanged, or while that cannot be determined. */
static bool recognise_directory(struct walker *w, struct listing *l, bool *whole)
{
    const struct known_checkpoint *known = known_checkpoint(w->options->known, l->path);
    char text[1200];
    struct error trouble = {.offset = NO_OFFSET};
    struct unit u = {.path = l->path, .primary = l->path, .known = known ? known->id : 0};
    if (known && (u.format = format_named(known->format)) && u.format->probe_dir)
        u.unchanged = unit_unchanged(w, l, &u, NULL, false, &trouble);
    *whole = true;
    if (!u.unchanged)
        u.format = directory_format(l, &trouble);
    if (trouble.status != OK || (!u.unchanged && perhaps_other(l, u.format))) {
        /* Incomplete evidence decides nothing: the directory remains what it was. */
        pthread_mutex_lock(&w->lock);
        walk_unseen(w, l->path,
                    trouble.status == OK ? NULL : error_text(&trouble, text, sizeof(text)));
        pthread_mutex_unlock(&w->lock);
        if (!u.unchanged)
            return true;
    }
    if (u.format) {
        pthread_mutex_lock(&w->lock);
        if (!u.unchanged)
            u.siblings = listing_names(l, &w->walk->arena);
        u.sibling_count = u.siblings ? l->file_count : 0;
        w->walk->files += l->file_count;
        if (!u.format->flat)
            walk_remember(w, &w->walk->whole, l->path);
        walk_add_unit(w, u);
        pthread_mutex_unlock(&w->lock);
        *whole = !u.format->flat;
    }
    return u.format;
}

/* Find the checkpoints among the files that are wanted. */
static void recognise_files(struct walker *w, struct listing *l)
{
    bool *claims_only = arena_array(l->arena, l->file_count, sizeof(*claims_only));
    if (!claims_only)
        return;
    bool dirty = look_up(w, l);
    if (!dirty)
        claim_all(w, l, false, claims_only);
    probe_all(w, l, dirty, PROBE_OTHERS);
    probe_all(w, l, dirty, PROBE_PARTS);
    if (dirty)
        claim_all(w, l, true, claims_only);
    struct folder folder = {.dirty = dirty};
    pthread_mutex_lock(&w->lock);
    for (uint64_t i = 0; i < l->file_count; i++)
        if (recognise_wanted(l, &l->files[i]))
            recognise_settle(w, l, &folder, &l->files[i], claims_only[i]);
    report_unread(w, l);
    pthread_mutex_unlock(&w->lock);
}

/* Warn of a named companion file without a checkpoint beside it: what it lists may lie elsewhere,
 * but such paths belong to the machine that wrote them. */
static void report_lone_companion(struct walker *w, struct listing *l)
{
    for (uint64_t i = 0; i < l->file_count; i++)
        if (l->files[i].format && l->files[i].format->index)
            return;
    pthread_mutex_lock(&w->lock);
    walk_issue(w, listing_path(l, l->only[0]), true, "not-read",
               "it stands for the checkpoints of its folder, and there are none: name "
               "them by their own paths");
    pthread_mutex_unlock(&w->lock);
}

/* The same for names that stand for several files each, apart from the other names. */
static void recognise_several(struct walker *w, const struct listing *l, enum asked asked,
                              const char *const *names, uint64_t count)
{
    struct arena arena = {
        .err = l->arena->err}; /* one for each call: there can be thousands of companions */
    struct listing own = *l;
    own.arena = &arena;
    own.files = arena_array(&arena, l->file_count, sizeof(*own.files));
    own.asked = asked;
    own.only = names;
    own.only_count = count;
    if (own.files) {
        memcpy(own.files, l->files, l->file_count * sizeof(*own.files));
        recognise_files(w, &own);
        if (asked == ASKED_COMPANION)
            report_lone_companion(w, &own);
    }
    arena_release(&arena);
}

/* Probe the files that were asked for by name, to find out what the names mean. */
static void recognise_named(struct walker *w, struct listing *l)
{
    const char **names = arena_array(l->arena, l->only_count, sizeof(*names));
    const char **prefixes = arena_array(l->arena, l->only_count, sizeof(*prefixes));
    uint64_t kept = 0, prefix_count = 0;
    if (!names || !prefixes)
        return;
    probe_all(w, l, l->only_count >= MANY_FILES, PROBE_NAMED);
    for (uint64_t i = 0; i < l->only_count; i++) {
        const struct entry *e = listing_file(l, l->only[i]);
        if (!e)
            prefixes[prefix_count++] = l->only[i];
        else if (e->format && !e->format->index)
            recognise_several(w, l, ASKED_COMPANION, &l->only[i], 1);
        else
            names[kept++] = l->only[i];
    }
    if (prefix_count)
        recognise_several(w, l, ASKED_PARTS, prefixes, prefix_count);
    l->only = names;
    l->only_count = kept;
    if (kept)
        recognise_files(w, l);
}

bool recognise(struct walker *w, struct listing *l)
{
    bool whole;
    if (l->asked == ASKED_ALL && recognise_directory(w, l, &whole))
        return whole;
    if (l->file_count && l->asked == ASKED_ALL)
        recognise_files(w, l);
    else if (l->file_count)
        recognise_named(w, l);
    return false;
}
