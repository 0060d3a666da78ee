/*
 * walk_lists.c - the lists of a walk: filled while it runs (units, issues, files passed over), and
 * asked about paths.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importer/container/shard_name.h"
#include "importer/walk/walker.h"

/* --- filling them, under the lock ------------------------------------------------------- */

void walk_lacks(struct walker *w)
{
    pthread_mutex_lock(&w->lock);
    error_memory(&w->walk->err);
    pthread_mutex_unlock(&w->lock);
}

static const char *kept(struct walker *w, const char *text)
{
    return arena_copy(&w->walk->arena, text, strlen(text));
}

/* Make an issue; control characters in its message are escaped. */
PRINTF_LIKE(5, 0)
static struct batch_issue issue_of(struct walker *w, const char *path, bool warning,
                                   const char *code, const char *fmt, va_list args)
{
    struct error safe = {.offset = NO_OFFSET};
    char raw[sizeof(safe.message)];
    vsnprintf(raw, sizeof(raw), fmt, args);
    error_set(&safe, ERR_CORRUPT, NULL, NO_OFFSET, "%s", raw);
    return (struct batch_issue){.path = kept(w, path),
                                .offset = NO_OFFSET,
                                .warning = warning,
                                .code = code,
                                .message = kept(w, safe.message)};
}

void walk_issue(struct walker *w, const char *path, bool warning, const char *code, const char *fmt,
                ...)
{
    struct walk *walk = w->walk;
    va_list args;
    va_start(args, fmt);
    *PUSH(&walk->arena, walk->issues, walk->issue_count, w->issue_space) =
        issue_of(w, path, warning, code, fmt, args);
    va_end(args);
}

void walk_note(struct walker *w, const char *checkpoint, const char *path, const char *code,
               const char *fmt, ...)
{
    struct walk *walk = w->walk;
    va_list args;
    va_start(args, fmt);
    *PUSH(&walk->arena, walk->notes, walk->note_count, w->note_space) =
        (struct walk_note){kept(w, checkpoint), issue_of(w, path, true, code, fmt, args)};
    va_end(args);
}

void walk_remember(struct walker *w, struct strmap *set, const char *path)
{
    bool added;
    const char *key;
    strmap_keep(set, &w->walk->arena, path, strlen(path), &key, &added);
}

void walk_unseen(struct walker *w, const char *path, const char *why)
{
    walk_remember(w, &w->walk->unseen, path);
    if (why)
        walk_issue(w, path, false, "unreadable", "%s", why);
}

void walk_avoided(struct walker *w, const char *path)
{
    pthread_mutex_lock(&w->lock);
    walk_unseen(w, path, NULL);
    pthread_mutex_unlock(&w->lock);
}

void walk_led_back(struct walker *w, const char *path)
{
    pthread_mutex_lock(&w->lock);
    walk_remember(w, &w->walk->back, path);
    pthread_mutex_unlock(&w->lock);
}

void walk_add_passed(struct walker *w, const char *path, const struct entry *e)
{
    struct walk *walk = w->walk;
    *PUSH(&walk->arena, walk->passed, walk->passed_count, w->passed_space) =
        (struct batch_file){.path = kept(w, path), .identity = e->identity, .kind = e->unread};
}

void walk_add_unread(struct walker *w, const char *path, const struct entry *e)
{
    struct walk *walk = w->walk;
    *PUSH(&walk->arena, walk->unread, walk->unread_count, w->unread_space) =
        (struct unread_file){kept(w, path), e->unread};
}

void walk_add_unit(struct walker *w, struct unit u)
{
    struct walk *walk = w->walk;
    u.path = kept(w, u.path);
    u.primary = kept(w, u.primary);
    *PUSH(&walk->arena, walk->units, walk->unit_count, w->unit_space) = u;
}

/* --- asking about paths ----------------------------------------------------------------- */

/* Whether a set of directories contains one that `path` is in; with `itself`, or `path` itself. */
static bool covers(const struct strmap *set, const char *path, bool itself)
{
    size_t len = set->count ? strlen(path) : 0;
    if (len && itself && strmap_get(set, path, len))
        return true;
    while (len) {
        while (len && path[--len] != '/')
            ;
        if (len && strmap_get(set, path, len))
            return true;
    }
    return false;
}

bool walk_covers(const struct walk *walk, const char *path)
{
    return covers(&walk->rooted, path, true) || strmap_get(&walk->rooted, "/", 1);
}

bool walk_prefixes(const struct walk *walk, const char *path)
{
    static const char index[] = ".index";
    const size_t len = walk->prefixes.count ? strlen(path) : 0;
    const size_t stem = len > strlen(index) ? len - strlen(index) : 0;
    struct shard_name shard;
    if (stem && strcmp(path + stem, index) == 0 && strmap_get(&walk->prefixes, path, stem))
        return true;
    return len && shard_name(path, &shard) && !strchr(shard.rest, '/') &&
           strmap_get(&walk->prefixes, path, shard.stem);
}

bool walk_saw(const struct walk *walk, const char *path)
{
    return !covers(&walk->unseen, path, true);
}

bool walk_leads_back(const struct walk *walk, const char *path)
{
    return covers(&walk->back, path, true);
}

bool walk_inside(const struct walk *walk, const char *path)
{
    return covers(&walk->whole, path, false);
}

bool walk_listed(const struct walk *walk, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t parent = slash && slash != path ? (size_t)(slash - path) : 1;
    return strmap_get(&walk->listed, path, strlen(path)) || strmap_get(&walk->listed, path, parent);
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    strmap_release(&walk->listed);
    strmap_release(&walk->unseen);
    strmap_release(&walk->back);
    strmap_release(&walk->whole);
    strmap_release(&walk->prefixes);
    strmap_release(&walk->rooted);
    arena_release(&walk->arena);
    free(walk);
}
