/*
 * import_issues.c - print the issues of an import on stderr.
 */
#include "shell/command/import_issues.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define ISSUES_SHOWN 50

/* Length of the part of a path that is the nearest folder above it that still exists. */
static size_t folder_left(const char *path)
{
    struct text folder = {0};
    struct stat st;
    size_t len = strlen(path);
    do {
        while (len > 0 && path[len - 1] != '/')
            len--;
        len -= len > 1;
        text_reset(&folder);
        text_add(&folder, path, len);
    } while (len > 1 && text_str(&folder) &&
             (stat(text_str(&folder), &st) != 0 || !S_ISDIR(st.st_mode)));
    text_release(&folder);
    return len;
}

static void say_gone(struct import_issues *i)
{
    if (i->gone > 0 && text_str(&i->folder) && text_str(&i->first))
        complain("warning: %s: %" PRIu64 " checkpoint%s no longer there: %s%s",
                 text_str(&i->folder), i->gone, i->gone == 1 ? " is" : "s are", text_str(&i->first),
                 i->gone > 1 ? ", ..." : "");
    text_release(&i->folder);
    text_release(&i->first);
    i->gone = 0;
}

static void add_gone(struct import_issues *i, const char *path)
{
    size_t folder = folder_left(path);
    if (i->gone > 0 && (i->folder.len != folder || !text_str(&i->folder) ||
                        memcmp(text_str(&i->folder), path, folder) != 0))
        say_gone(i);
    if (i->gone++ > 0)
        return;
    text_add(&i->folder, path, folder);
    text_adds(&i->first, path + folder + (path[folder] == '/'));
}

/* --- files with the same issue ------------------------------------------------------------ */

static const char *name_at(struct import_issues *all, uint64_t i)
{
    const char *name = text_str(&all->alike.name[i]);
    return name ? name : "?";
}

static void say_alike(struct import_issues *all)
{
    struct alike_issues *a = &all->alike;
    const char *severity = text_str(&a->cause);
    if (severity && a->count <= ALIKE_NAMED)
        for (uint64_t i = 0; i < a->count; i++)
            complain("%s: %s/%s: %s", severity, severity + a->folder, name_at(all, i),
                     severity + a->message);
    else if (severity)
        complain("%s: %s: %" PRIu64 " files, %s, %s, ...: %s", severity, severity + a->folder,
                 a->count, name_at(all, 0), name_at(all, 1), severity + a->message);
    a->count = 0;
    text_reset(&a->cause);
}

/* Store "severity", "folder" and "message" of an issue, each NUL-terminated,
 * and the offsets of the last two. */
static bool take_cause(const struct ckptdb_issue *i, size_t folder, struct alike_issues *out)
{
    text_add(&out->cause, i->severity, strlen(i->severity) + 1);
    out->folder = out->cause.len;
    text_add(&out->cause, i->path, folder);
    text_add(&out->cause, "", 1);
    out->message = out->cause.len;
    text_adds(&out->cause, i->message);
    return text_str(&out->cause) != NULL;
}

/* An issue about a whole file is not printed until the next issue turns out to be another one. */
static void add_alike(struct import_issues *all, const struct ckptdb_issue *i)
{
    struct alike_issues *a = &all->alike, next = {0};
    const char *slash = strrchr(i->path, '/');
    bool taken = take_cause(i, slash ? (size_t)(slash - i->path) : 0, &next);
    bool same = taken && a->count > 0 && next.cause.len == a->cause.len &&
                memcmp(text_str(&next.cause), text_str(&a->cause), next.cause.len) == 0;
    if (!same) {
        say_alike(all);
        text_release(&a->cause);
        a->cause = next.cause;
        a->folder = next.folder;
        a->message = next.message;
    } else {
        text_release(&next.cause);
    }
    if (a->count < ALIKE_NAMED) {
        text_reset(&a->name[a->count]);
        text_adds(&a->name[a->count], slash ? slash + 1 : i->path);
        all->shown++;
    }
    a->count++;
}

/* --- classes that pickles name --------------------------------------------------------------- */

/* The message has the name of the class in quotes. False: no memory. */
static bool add_class(struct import_issues *all, const struct ckptdb_issue *i)
{
    const char *quote = strchr(i->message, '"');
    const char *name = quote ? quote + 1 : i->message, *kept;
    bool added = false;
    uint64_t *at =
        strmap_keep(&all->by_class, &all->arena, name, strcspn(name, "\""), &kept, &added);
    if (!at)
        return false;
    if (added) {
        *at = all->class_count;
        *PUSH(&all->arena, all->classes, all->class_count, all->class_space) =
            (struct class_issues){.error = strcmp(i->severity, "error") == 0};
        if (all->arena.failed)
            return false;
    }
    struct class_issues *c = &all->classes[*at];
    if (added) {
        text_adds(&c->path, i->path);
        text_adds(&c->line, i->message);
        if (i->offset >= 0)
            text_addf(&c->line, " (at byte %" PRId64 ")", i->offset);
    } else if (!text_str(&c->last) || strcmp(text_str(&c->last), i->path) != 0) {
        c->more++;
    }
    text_reset(&c->last);
    text_adds(&c->last, i->path);
    return true;
}

static void say_classes(struct import_issues *all, bool error)
{
    for (size_t i = 0; i < all->class_count; i++) {
        struct class_issues *c = &all->classes[i];
        const char *path = text_str(&c->path), *line = text_str(&c->line);
        if (c->error != error || !path || !line)
            continue;
        if (!error && all->shown >= ISSUES_SHOWN)
            all->left += c->more + 1;
        else if (c->more)
            complain("%s: %s and %" PRIu64 " more file%s: %s", error ? "error" : "warning", path,
                     c->more, c->more == 1 ? "" : "s", line);
        else
            complain("%s: %s: %s", error ? "error" : "warning", path, line);
        all->shown += !error;
    }
}

static void free_classes(struct import_issues *all)
{
    for (size_t i = 0; i < all->class_count; i++) {
        text_release(&all->classes[i].path);
        text_release(&all->classes[i].line);
        text_release(&all->classes[i].last);
    }
    strmap_release(&all->by_class);
    arena_release(&all->arena);
}

/* --- all issues --------------------------------------------------------------------------- */

void import_issues_add(struct import_issues *all, const struct ckptdb_issue *i)
{
    const bool of_class =
        strcmp(i->code, "unknown-global") == 0 || strcmp(i->code, "dangerous-call") == 0;
    if (strcmp(i->code, "gone") == 0) {
        add_gone(all, i->path);
    } else if (of_class && add_class(all, i)) {
        return;
    } else if (all->shown >= ISSUES_SHOWN) {
        all->left++;
    } else if (i->offset < 0) {
        add_alike(all, i);
    } else {
        say_alike(all);
        all->shown++;
        complain("%s: %s: %s (at byte %lld)", i->severity, i->path, i->message,
                 (long long)i->offset);
    }
}

void import_issues_end(struct import_issues *all)
{
    say_alike(all);
    say_gone(all);
    say_classes(all, true);
    say_classes(all, false);
    free_classes(all);
    if (all->left > 0)
        complain("%" PRIu64 " more issues: SELECT * FROM issue", all->left);
    text_release(&all->alike.cause);
    for (size_t i = 0; i < ALIKE_NAMED; i++)
        text_release(&all->alike.name[i]);
}
