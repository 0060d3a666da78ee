/*
 * walk_private.h - the inside of a walk: walk.c reads directories, recognise.c finds out
 * what their files are.
 */
#ifndef CKPTDB_WALK_PRIVATE_H
#define CKPTDB_WALK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "catalog/data/store/directory.h"
#include "importer/walk/walk.h"

/* A directory in the queue. */
struct task {
    const char *path;
    const char **only; /* the names in it that were asked for; NULL: everything */
    uint64_t only_count;
    size_t only_space;
    struct task *next;
};

struct walker {
    const struct walk_options *options;
    struct walk *walk; /* its lists and arena: under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *tasks;
    uint64_t open_tasks;   /* queued or in progress */
    struct strmap named;   /* directories of names asked for: positions in by_name */
    struct task **by_name; /* their tasks */
    size_t by_name_space;
    struct strmap around;  /* directories named: length of the path of the checkpoint that
                             each is in, or 0 */
    struct strmap visited; /* directories, by device and inode: ends loops of links */
    size_t unit_space, passed_space, unread_space, issue_space, note_space;
    bool stopped, interrupted;
    atomic_bool failed;
};

struct entry {
    const char *name; /* must be first: name_list.h */
    bool linked;      /* a symbolic link */
    struct file_identity identity;
    /* Filled in by recognise.c. */
    const struct format *format;
    const struct known_file *known; /* its row, if unchanged, or NULL */
    const char *stray;
    const char *unread;          /* its kind, if that is not read here; static */
    const struct entry *claimer; /* the primary file that it belongs to */
    bool in_doubt;               /* could not be read, for a passing reason */
    bool probed, claimed, claimed_twice;
};

/* What was asked for in a directory. */
enum asked {
    ASKED_ALL,
    ASKED_FILE,      /* the files of those names, or the checkpoints they belong to */
    ASKED_PARTS,     /* there are no such files: files that begin with one of the names */
    ASKED_COMPANION, /* a companion file, which stands for all checkpoints of its program here */
};

/* A directory's entries; in the working thread's arena. */
struct listing {
    const char *path;
    enum asked asked;
    const char *const *only; /* the names that were asked for, sorted; NULL: ASKED_ALL */
    uint64_t only_count;     /* 1 for ASKED_COMPANION */
    struct arena *arena;
    struct entry *files, *dirs; /* sorted by name */
    uint64_t file_count, dir_count;
    size_t file_space, dir_space;
    struct entry *unseen; /* there, but the system did not say what they are; sorted */
    uint64_t unseen_count;
    size_t unseen_space;
};

/* Report the files that are not read in this directory, in one issue per kind. Under the lock. */
void report_unread(struct walker *, struct listing *);

/* Find the checkpoints in a directory and add them to the walk. True: the directory is one
 * itself, including everything below it. */
bool recognise(struct walker *, struct listing *);

/* The format of a directory that is one checkpoint, found by names and by what probers peek
 * at. NULL: it is none. *trouble: a file could not be read, so the answer may be wrong. */
const struct format *directory_format(struct listing *, struct error *trouble);

/* Shorten a directory's path to the checkpoint around it. False, and an
 * unchanged path, if there is none. */
bool checkpoint_around(char *path);

/* The path of an entry; NULL without memory. */
const char *walk_join(struct arena *, const char *directory, const char *name);

bool listing_add(struct listing *, const struct directory_entry *);
void listing_sort(struct listing *);
struct entry *listing_file(const struct listing *, const char *name);
struct entry *listing_dir(const struct listing *, const char *name);
struct entry *listing_unseen(const struct listing *, const char *name);

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

bool unfinished_name(const char *name);

#endif
