/*
 * session.h - one run of the program: its catalog, where output goes and how it looks, and
 * the helpers that every command shares.
 */
#pragma once

#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "catalog/base/error.h"
#include "catalog/ckptdb.h"

/* What a command or a statement ends with: the exit status, too. */
enum {
    STATUS_FINE = 0,
    STATUS_NO = 1,      /* the answer is no, or something was reported */
    STATUS_TROUBLE = 2, /* usage, a PATH that does not exist, what cannot be opened */
    STATUS_INTERRUPTED = 130,
};

enum output_mode {
    MODE_AUTO, /* box on a terminal, else list of plain rows, tab separated */
    MODE_BOX,
    MODE_TABLE,
    MODE_CSV,
    MODE_TSV,
    MODE_JSON,
    MODE_JSONL,
    MODE_MARKDOWN,
    MODE_LINE,
    MODE_LIST,
};

enum header_choice {
    HEADERS_AUTO, /* in every mode but list and plain rows */
    HEADERS_ON,
    HEADERS_OFF,
};

#define WIDTHS_MAX 64 /* columns that .width is about */

/* Files that no catalog holds, which the running command names: they are imported into a catalog in memory,
 * and the command is run again on that one (shell/command/unheld.c). */
struct unheld {
    bool taken;      /* the running command does not change the catalog: it may name such files */
    char **paths;    /* what the command named; malloc'ed, as is each */
    size_t count;    /* of those paths */
    size_t imported; /* the first N were: what is not found there now is not in them */
    bool replaces;   /* a catalog in memory is in the place of */
    ckptdb *catalog; /* the user's, which was open so; NULL: the user has none */
    enum ckptdb_mode mode;
};

struct session {
    const char *catalog;      /* path; never NULL once options are read */
    bool default_place;       /* the default: its folders are made with it */
    bool catalog_given;       /* by -d */
    bool one_command;         /* the program runs one command word, and nothing else */
    ckptdb *open;             /* the catalog; NULL: not open yet */
    sqlite3 *db;              /* its connection */
    enum ckptdb_mode db_mode; /* how it is open */
    bool in_memory;           /* it is one in memory, gone with the program or the command */
    struct unheld unheld;     /* files that no catalog holds */
    bool readonly;            /* --readonly */
    enum output_mode mode;
    enum header_choice headers; /* .headers */
    FILE *out;                  /* results; stdout unless .output says otherwise */
    bool out_is_pipe;           /* out is to be closed with pclose() */
    bool once;                  /* .once: out lasts for one statement */
    bool out_is_terminal, err_is_terminal;
    bool color;
    bool interactive; /* the shell on a terminal */
    bool keep_going;  /* a script goes on after an error */
    bool timer;       /* .timer */
    bool failed;      /* the running command or statement could not do its work;
                                   a script stops here, as it does not after a mere "no" */
    /* A statement of the running command failed, which was said: what it did not find
     * may be there, and the command ends with STATUS_TROUBLE */
    bool unread;
    unsigned long long rows; /* of the last statement that was printed */
    bool quit;               /* .quit was seen */
    int quit_status;
    unsigned reading;      /* how many .read are inside each other */
    bool settings;         /* session_set() gave some */
    char *opened;          /* the catalog's path, where .open named it */
    char *pager;           /* .pager's command, "" for none; NULL: $PAGER */
    char *null_text;       /* .nullvalue; NULL: NULL for people, nothing for programs */
    int width[WIDTHS_MAX]; /* .width; 0: what the cells need */
};

/* Set by SIGINT; commands on long work look at it and end with STATUS_INTERRUPTED. */
extern atomic_int session_interrupted;

/* An environment variable; NULL where it is not set or empty. */
static inline const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nothing sets any */
    return value && *value ? value : NULL;
}

/* Catch SIGINT, end quietly on SIGPIPE. */
void session_signals(void);

/* Open the catalog at least as `mode` allows (reopening for writing when needed); says why
 * not on stderr. */
bool session_open(struct session *, enum ckptdb_mode mode);
/* False if --readonly or the system forbids writing to an existing catalog. */
bool session_may_write(const struct session *);
/* The same for statements that may do anything: read-only if it must. Only a shell for people
 * creates a missing one, with a message. */
bool session_open_for_sql(struct session *);
void session_close(struct session *);
/* Another catalog in place of the one that is open, which stays where that cannot be opened;
 * `make`: a missing one is made. */
bool session_reopen(struct session *, const char *path, bool make);
/* Everything, at the end. */
void session_release(struct session *);
/* Let Ctrl-C end what the library does, and print its lines, as from the opening on; `progress` and
 * its context as in struct ckptdb_watch, or NULL. */
void session_watch(ckptdb *, const struct ckptdb_watch *progress);

/* Results go to `target`: a path, or a command after '|'; NULL: back to stdout. */
bool session_output(struct session *, const char *target);
/* Flush results; false, after saying so, when they could not all be written. A reader that
 * went away is not worth a word. */
bool session_flush(struct session *);

/* "ckptdb: text" on stderr, control characters escaped. */
void complain(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* "ckptdb: path: doing: text of errno"; `path` may be NULL. Returns false. */
bool complain_errno(int code, const char *path, const char *doing);
/* An error of the library, and the status that a command then ends with. */
int complain_status(const struct ckptdb_error *);

#define ERRNO_TEXT 128
char *errno_text(int code, char out[ERRNO_TEXT]);

/* Prepare `sql` with bound parameters given as text/integer pairs: types is a string of 's'
 * (const char *, NULL binds NULL), 'i' (int64_t), one a parameter. NULL after saying why not. */
sqlite3_stmt *session_prepare(struct session *, const char *sql, const char *types, ...);
sqlite3_stmt *session_vprepare(struct session *, const char *sql, const char *types, va_list);
/* The same on any connection, without a word. */
sqlite3_stmt *query_vprepare(sqlite3 *, const char *sql, const char *types, va_list);

/* Step to the next row. False after the last row, if a row cannot be read (`unread`, once the
 * reason is printed), or if `stmt` is NULL. */
bool session_row(struct session *, sqlite3_stmt *stmt);
/* The number in a query's first row; 0 if absent or unreadable. */
int64_t session_number(struct session *, const char *sql, const char *types, ...);
/* A column as text, "" for NULL. */
static inline const char *session_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}
/* The ids in the first column of a statement, which is finalized. malloc'ed; NULL where they cannot be
 * read (`unread`). */
int64_t *session_ids(struct session *, sqlite3_stmt *stmt, size_t *found);

/* Whether Python would compile this pattern (NULL: no pattern); false after saying why not, so
 * that a bad one is found before anything is read, and where there is no name to try it on. */
bool session_regex(struct session *, const char *regex);

/* Whether the running command named a file that has to be imported first: it ends without a word. */
static inline bool session_wants_import(const struct session *s)
{
    return s->unheld.imported < s->unheld.count;
}

/* The id of a checkpoint named as users name them: an id, its name, a path as catalogued, a
 * unique suffix of one at a '/', a folder (or its suffix) that holds exactly one, RUN@STEP,
 * RUN@latest, either with :ITEM after it, the end of a name, a run (its latest step, which is said). 0, after
 * saying why not (candidates of an ambiguous
 * name are listed). A path that no catalog holds is left to session_wants_import(). */
sqlite3_int64 session_checkpoint(struct session *, const char *name);

/* The path that can be imported of a name: the whole, or what is before its last @ (a step); malloc'ed.
 * NULL: there is none. */
char *session_importable(const char *name);

/* The ids of all checkpoints that words mean, each a name as above or a glob over names and
 * paths (CHECKPOINT_GLOB), once each; without words, all ids. malloc'ed; NULL after saying
 * that a word means no checkpoint. */
int64_t *session_checkpoints(struct session *, const char *const *words, int count, size_t *found);

/* Whether the glob ?1 means a checkpoint: its name, or whole components anywhere in its path. */
#define CHECKPOINT_GLOB                                                                            \
    "(name GLOB ?1 OR path GLOB ?1 OR path GLOB '*/' || ?1 OR path GLOB ?1 || '/*' OR "            \
    "path GLOB '*/' || ?1 || '/*')"

/* For the help of commands. */
#define CHECKPOINT_HELP                                                                            \
    "CHECKPOINT is a name or an id as `ls` shows it, a path or its last components, a\n"           \
    "folder that holds exactly one, RUN@STEP or RUN@latest (RUN@STEP:ITEM). RUN alone is\n"        \
    "its latest step, where one is wanted. A path (or PATH@STEP) that is not catalogued is\n"      \
    "read for this one command, and nothing is kept.\n"

/* The id of a tensor of a checkpoint; -1 after saying why not, with the nearest names. Without a
 * name (NULL) the only one is meant. */
sqlite3_int64 session_tensor(struct session *, sqlite3_int64 checkpoint, const char *name);

/* The rule set ?1 where it is one of this view, which refuses others; else NULL. */
#define SET_OF(view)                                                                               \
    "(SELECT name FROM ruleset WHERE name = ?1 AND dialect_is(dialect, '" view "'))"

/* The dialect of a rule set, to be freed with sqlite3_free(); NULL after saying that there is no
 * such set. */
char *session_dialect(struct session *, const char *ruleset);
/* What it is for; CKPTDB_DIALECT_UNKNOWN after saying that there is no such set, or that this program
 * does not run its dialect: the views have no rows for it. */
enum ckptdb_dialect_kind session_map(struct session *, const char *ruleset);

/* What a map that renames, and then renames (either NULL: none), make of the checkpoint under this name. NULL,
 * with the reason printed: nothing. */
ckptdb_tensor *session_mapped(struct session *, const char *map, const char *renames,
                              sqlite3_int64 checkpoint, const char *name);
