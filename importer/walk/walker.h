/*
 * walker.h - a walk at work: walk.c reads directories, around.c says which are checkpoints,
 * recognise.c finds out what the files are, claim.c lets index files claim their neighbours, and
 * walk_lists.c keeps what was found.
 *
 * Threads have arenas of their own; walk_lacks() reports a failure in any arena.
 */
#pragma once

#include "catalog/base/threads.h"
#include "importer/walk/listing.h"
#include "importer/walk/walk.h"

/* A directory in the queue. */
struct task {
    struct task_link link;
    const char *path;
    const char **only; /* the names in it that were asked for; NULL: everything */
    uint64_t only_count;
    size_t only_space;
};

#define OWN_FILES 4

struct walker {
    const struct walk_options *options;
    struct walk *walk; /* its lists, arena and err: under the lock */
    pthread_mutex_t lock;
    struct tasks tasks;
    struct strmap named;   /* directories of names asked for: positions in by_name */
    struct task **by_name; /* their tasks */
    size_t by_name_count, by_name_space;
    struct strmap around;  /* directories named: length of the path of the checkpoint that
                             each is in, or 0 */
    struct strmap visited; /* directories, by device and inode: ends loops of links */
    size_t unit_space, passed_space, unread_space, issue_space, note_space;
    struct file_identity own[OWN_FILES]; /* of the catalog; inode 0: there is none */
    unsigned probing;                    /* threads that help with large folders */
    bool interrupted;
};

/* Report the files that are not read in this directory, in one issue per kind. Under the lock. */
void report_unread(struct walker *, struct listing *);

/* Find the checkpoints in a directory and add them to the walk. True: the directory is one
 * itself, including everything below it. */
bool recognise(struct walker *, struct listing *);

/* The format of a directory that is one checkpoint, found by names and by what probers peek
 * at. NULL if it is not one. *trouble: a file could not be read, so the answer may be wrong. */
const struct format *directory_format(struct listing *, struct error *trouble);

/* Shorten a directory's path to the checkpoint around it. False, with the path
 * unchanged, if no checkpoint is around it. */
bool checkpoint_around(struct walker *, char *path);

/* Let all index files claim. claims_only[i]: file i claimed the name that was asked for. */
void claim_all(struct walker *, struct listing *, bool dirty, bool *claims_only);

/* Note a failure of this thread's memory. Takes the lock. */
void walk_lacks(struct walker *);

/* Under the lock. */
void walk_remember(struct walker *, struct strmap *set, const char *path);
void walk_add_passed(struct walker *, const char *path, const struct entry *);
void walk_add_unread(struct walker *, const char *path, const struct entry *);
void walk_add_unit(struct walker *, struct unit);

/* Add a note about a found checkpoint; `path` is where it was noticed. Under the lock. */
void walk_note(struct walker *, const char *checkpoint, const char *path, const char *code,
               const char *fmt, ...) PRINTF_LIKE(5, 6);

/* What is at a path, or below it, cannot be looked at: make an issue, and count nothing
 * there as gone. Under the lock. */
void walk_unseen(struct walker *, const char *path, const char *why);
/* The same without an issue, as nobody asked for it. Takes the lock. */
void walk_avoided(struct walker *, const char *path);
/* Remember a link that leads to what the walk comes to. Takes the lock. */
void walk_led_back(struct walker *, const char *path);

/* Under the lock. */
void walk_issue(struct walker *, const char *path, bool warning, const char *code, const char *fmt,
                ...) PRINTF_LIKE(5, 6);
