/*
 * listing.h - the entries of one directory, in the arena of the thread that works on it.
 */
#pragma once

#include "catalog/data/store/directory.h"
#include "importer/job/format.h"
#include "importer/job/known.h"

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

/* Which entries of a directory are requested. */
enum asked {
    ASKED_ALL,
    ASKED_FILE,      /* the files of those names, or the checkpoints they belong to */
    ASKED_PARTS,     /* without such files: the files that begin with one of the names */
    ASKED_COMPANION, /* a companion file, which stands for all checkpoints of its program here */
};

/* A directory's entries; in the working thread's arena. */
struct listing {
    const char *path;
    bool whole; /* has all entries of the directory, not only the requested ones: path_lists() */
    enum asked asked;
    const char *const *only;    /* the names that were asked for, sorted; NULL: ASKED_ALL */
    uint64_t only_count;        /* 1 for ASKED_COMPANION */
    struct arena *arena;        /* it has an `err` */
    struct entry *files, *dirs; /* sorted by name */
    uint64_t file_count, dir_count;
    size_t file_space, dir_space;
    struct entry *unseen; /* there, but the system did not say what they are; sorted */
    uint64_t unseen_count;
    size_t unseen_space;
};

void listing_add(struct listing *, const struct directory_entry *);
void listing_sort(struct listing *);
struct entry *listing_file(const struct listing *, const char *name);
struct entry *listing_dir(const struct listing *, const char *name);
struct entry *listing_unseen(const struct listing *, const char *name);

/* The path of an entry, in the listing's arena. */
const char *listing_path(const struct listing *, const char *name);
/* The names of all files, in this arena. NULL: no memory. */
const char **listing_names(const struct listing *, struct arena *);
/* Whether the entry has a name that was asked for. */
bool listing_asks_for(const struct listing *, const struct entry *);

/* Whether frameworks give this name to saves in progress. */
bool unfinished_name(const char *name);
