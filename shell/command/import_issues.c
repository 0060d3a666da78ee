/*
 * import_issues.c - what is wrong with what was imported, as lines on stderr.
 */
#include "shell/command/import_issues.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define ISSUES_SHOWN 50

/* The nearest folder above a path that is still there, in place; how much of it that is. */
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
                 text_str(&i->folder), i->gone, i->gone == 1 ? " is" : "s are",
                 text_str(&i->first), i->gone > 1 ? ", ..." : "");
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

void import_issues_add(struct import_issues *all, const struct ckptdb_issue *i)
{
    if (strcmp(i->code, "vanished") == 0)
        add_gone(all, i->path);
    else if (all->shown++ >= ISSUES_SHOWN)
        all->left++;
    else if (i->offset < 0)
        complain("%s: %s: %s", i->severity, i->path, i->message);
    else
        complain("%s: %s: %s (at byte %lld)", i->severity, i->path, i->message,
                 (long long)i->offset);
}

void import_issues_end(struct import_issues *all)
{
    say_gone(all);
    if (all->left > 0)
        complain("%" PRIu64 " more issues: SELECT * FROM issue", all->left);
}
