/*
 * walk_private.h - the inside of a walk: walk.c reads directories, recognise.c decides what
 * their files are.
 */
#ifndef CKPTDB_IMPORTER_WALK_PRIVATE_H
#define CKPTDB_IMPORTER_WALK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "catalog/store/directory.h"
#include "importer/walk/walk.h"

/* A directory to be read. */
struct task {
    const char *path;
    const char *only; /* NULL, or the one name in it that was asked for */
    bool recursive;
    struct task *next;
};

struct walker {
    const struct walk_options *options;
    struct walk *walk; /* its lists and arena: under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *tasks;
    uint64_t open_tasks;   /* queued or being worked on */
    struct strmap visited; /* directories, by device and inode: loops of links end */
    size_t unit_space, passed_space, unread_space, issue_space, note_space;
    bool stopped, interrupted;
    atomic_bool failed;
};

struct entry {
    const char *name; /* first: names.h */
    bool linked;      /* a symbolic link */
    struct file_identity identity;
    /* What recognise.c finds out. */
    const struct format *format;
    const struct known_file *known; /* its unchanged row, or NULL */
    const char *stray;
    const char *unread;          /* the kind that it is of, which is not read; static */
    const struct entry *claimer; /* the primary file whose own this is */
    bool in_doubt; /* could not be read, for a reason that may pass */
    bool probed, claimed, claimed_twice;
};

/* What of a directory is asked for. */
enum asked {
    ASKED_ALL,
    ASKED_FILE,  /* the file of that name, or the checkpoint that it belongs to */
    ASKED_PARTS, /* nothing is called so: files are its parts if they begin so */
    ASKED_COMPANION, /* a companion file, which stands for all checkpoints of its program here */
};

/* A directory as read; lives in the working thread's arena. */
struct listing {
    const char *path;
    enum asked asked;
    const char *only; /* the name; NULL: ASKED_ALL */
    struct arena *arena;
    struct entry *files, *dirs; /* sorted by name */
    uint64_t file_count, dir_count;
    size_t file_space, dir_space;
    struct entry *unseen; /* there, but the system did not say what they are; sorted */
    uint64_t unseen_count;
    size_t unseen_space;
};

/* One issue a kind of what is not read in this directory. Under the lock. */
void report_unread(struct walker *, struct listing *);

/* Find the checkpoints of a directory and put them into the walk. True: the directory is one
 * itself, with all that is below it. */
bool recognise(struct walker *, struct listing *);

/* The format of a directory that is one checkpoint; only its names are looked at, and what
 * the probers ask for. NULL: it is none. *trouble: a file could not be looked into, so that
 * the answer may be wrong. */
const struct format *directory_format(struct listing *, struct error *trouble);

/* Cut a directory's path back to the checkpoint around it. False, and the path as it was,
 * where there is none. */
bool checkpoint_around(char *path);

/* The path of an entry; NULL without memory. */
const char *walk_join(struct arena *, const char *directory, const char *name);

bool listing_add(struct listing *, const struct directory_entry *);
void listing_sort(struct listing *);
struct entry *listing_file(const struct listing *, const char *name);
struct entry *listing_dir(const struct listing *, const char *name);
struct entry *listing_unseen(const struct listing *, const char *name);

/* Something to know about a found checkpoint; `path` is where it was noticed. Under the lock. */
void walk_note(struct walker *, const char *checkpoint, const char *path,
               const char *code, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* What is at a path, or below it, cannot be looked at: an issue, and nothing of it counts as
 * gone. Under the lock. */
void walk_unseen(struct walker *, const char *path, const char *why);
/* The same, since nobody asked for it: no issue. Takes the lock. */
void walk_avoided(struct walker *, const char *path);

/* Under the lock. */
void walk_issue(struct walker *, const char *path, bool warning, const char *code,
                const char *fmt, ...) PRINTF_LIKE(5, 6);

bool unfinished_name(const char *name);

#endif
