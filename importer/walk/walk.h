/*
 * walk.h - from paths to checkpoints: which files and folders under some roots are
 * checkpoints, which belong to one, and which are passed over.
 *
 * Directories are read and unknown files probed on several threads; the result is sorted by
 * path, so it does not depend on the order of the threads. Files that the catalog knows and
 * that have not changed are not opened.
 */
#pragma once

#include "catalog/base/strmap.h"
#include "catalog/data/model/batch.h"
#include "importer/job/format.h"
#include "importer/job/known.h"

/* A checkpoint that was found. */
struct unit {
    const struct format *format;
    const char *path;            /* its path in the catalog; absolute */
    const char *primary;         /* its primary file, or its directory */
    const char *const *siblings; /* all files of its directory, sorted */
    uint64_t sibling_count;
    int64_t known;  /* id of the catalogued checkpoint with this path; 0: new */
    bool unchanged; /* nothing to do */
    /* Of a dry run: why it would be no checkpoint; "": it only has facts of another. NULL: it would be one. */
    const char *refused;
};

/* A file of a kind that is not read (unread.h). */
struct unread_file {
    const char *path, *kind;
};

/* A note about a found checkpoint that comes from its neighbours; becomes an issue. */
struct walk_note {
    const char *checkpoint; /* its path */
    struct batch_issue issue;
};

struct walk_options {
    unsigned threads;
    bool follow;         /* enter linked directories */
    bool salvage;        /* look again at files that were refused */
    const char *catalog; /* the file that is written to; NULL or "": none */
    const struct known *known;
    const struct classes *classes; /* NULL: none is known */
    /* Called from any thread now and then; false stops the walk. NULL: never. */
    bool (*tick)(void *context, uint64_t files);
    void *context;
};

struct walk {
    struct arena arena;
    struct error err;   /* the first lack of memory */
    struct unit *units; /* sorted by path */
    uint64_t unit_count;
    struct batch_file *passed; /* looked at and not recognised: to be remembered */
    uint64_t passed_count;
    struct unread_file *unread; /* sorted by path, each once */
    uint64_t unread_count;
    struct batch_issue *issues; /* sorted by path */
    uint64_t issue_count;
    struct walk_note *notes; /* about found checkpoints, by their path */
    uint64_t note_count;
    const char **roots; /* absolute, what the arguments became: vanished files are
                           looked for below them */
    uint64_t root_count;
    struct strmap rooted;   /* the same, to be looked up */
    struct strmap prefixes; /* roots that are not files, but prefixes of a set's files */
    struct strmap listed;   /* directories whose entries were read */
    struct strmap whole;    /* directories that are one checkpoint: not searched */
    struct strmap unseen;   /* paths that could not, or were not to, be looked at */
    struct strmap back;     /* links to what the walk comes to by its own path */
    uint64_t files;         /* number of files seen */
};

/* ERR_MISSING if an argument is neither a path nor the prefix of a set's files. */
void walk_find(const char *path, struct error *err);

/* ERR_MISSING with the path of an argument that does not exist; ERR_INTERRUPTED. */
enum status walk_paths(const char *const *paths, int count, const struct walk_options *,
                       struct walk **out, struct error *err);
void walk_free(struct walk *);

/* Whether a path is one of the roots or below one. */
bool walk_covers(const struct walk *, const char *path);

/* Whether an argument is a prefix that names this file of a set: PREFIX.index or
 * PREFIX-00000-of-00002. Such a file is beside the root, not below it. */
bool walk_prefixes(const struct walk *, const char *path);

/* Whether what is, or was, at a path could be looked at. False: nothing is known
 * about it and what is below it. */
bool walk_saw(const struct walk *, const char *path);

/* Whether a path is below a link whose contents have their own paths in this walk. */
bool walk_leads_back(const struct walk *, const char *path);

/* Whether a path is inside a directory that is one checkpoint. */
bool walk_inside(const struct walk *, const char *path);

/* Whether the entries of a path, or of its directory, were read. */
bool walk_listed(const struct walk *, const char *path);
