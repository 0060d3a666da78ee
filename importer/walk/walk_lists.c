/*
 * walk_lists.c - fill the lists of a walk: units, issues, files passed over. Under the lock.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "importer/walk/recognise_private.h"
#include "importer/walk/unread.h"

/* --- filling the walk's lists (under the lock) ------------------------------------------ */

static void *grown(struct walker *w, void *list, uint64_t count, size_t *space, size_t size)
{
    void *larger = arena_grow(&w->walk->arena, list, count, space, size);
    if (!larger)
        w->failed = true;
    return larger;
}

static const char *kept(struct walker *w, const char *text)
{
    const char *copy = arena_copy(&w->walk->arena, text, strlen(text));
    if (!copy)
        w->failed = true;
    return copy;
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
    struct batch_issue issue = issue_of(w, path, warning, code, fmt, args);
    va_end(args);
    void *list = grown(w, walk->issues, walk->issue_count, &w->issue_space, sizeof(*walk->issues));
    if (!list || !issue.path || !issue.message)
        return;
    walk->issues = list;
    walk->issues[walk->issue_count++] = issue;
}

void walk_note(struct walker *w, const char *checkpoint, const char *path, const char *code,
               const char *fmt, ...)
{
    struct walk *walk = w->walk;
    va_list args;
    va_start(args, fmt);
    struct walk_note note = {kept(w, checkpoint), issue_of(w, path, true, code, fmt, args)};
    va_end(args);
    void *list = grown(w, walk->notes, walk->note_count, &w->note_space, sizeof(*walk->notes));
    if (!list || !note.checkpoint || !note.issue.path || !note.issue.message)
        return;
    walk->notes = list;
    walk->notes[walk->note_count++] = note;
}

void walk_remember(struct walker *w, struct strmap *set, const char *path)
{
    bool added;
    const char *key;
    if (!strmap_keep(set, &w->walk->arena, path, strlen(path), &key, &added))
        w->failed = true;
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
    void *list =
        grown(w, walk->passed, walk->passed_count, &w->passed_space, sizeof(*walk->passed));
    const char *copy = kept(w, path);
    if (!list || !copy)
        return;
    walk->passed = list;
    walk->passed[walk->passed_count++] =
        (struct batch_file){.path = copy, .identity = e->identity, .kind = e->unread};
}

void walk_add_unread(struct walker *w, const char *path, const struct entry *e)
{
    struct walk *walk = w->walk;
    void *list =
        grown(w, walk->unread, walk->unread_count, &w->unread_space, sizeof(*walk->unread));
    const char *copy = kept(w, path);
    if (!list || !copy)
        return;
    walk->unread = list;
    walk->unread[walk->unread_count++] = (struct unread_file){copy, e->unread};
}

void walk_add_unit(struct walker *w, struct unit u)
{
    struct walk *walk = w->walk;
    void *list = grown(w, walk->units, walk->unit_count, &w->unit_space, sizeof(*walk->units));
    u.path = kept(w, u.path);
    u.primary = kept(w, u.primary);
    if (!list || !u.path || !u.primary)
        return;
    walk->units = list;
    walk->units[walk->unit_count++] = u;
}
