/*
 * command.h - what a command is. Each is one struct, and one line in commands.def; it is a
 * command word, a dot-command in the shell, and a page of `help`, all from that struct.
 * Nothing else prints usage. Commands are in cmd_NAME.c, what only the shell has in dot_*.c.
 *
 * Where a word of `args` is CHECKPOINT, NAME, PATH, FILE, OUT, COMMAND, RULESET, OPTIMIZER or
 * MODE, the shell completes it so.
 *
 * A command prints data on session->out and talk on stderr, and returns the exit status:
 * STATUS_FINE, STATUS_NO or STATUS_TROUBLE.
 */
#pragma once

#include <stdbool.h>

#include "shell/render/progress.h"
#include "shell/render/query.h"
#include "shell/session/session.h"

/* An option, always long. One whose argument has a '=' or ':' may be given several times; of KEY=VALUE each
 * KEY has one value. */
#define PAIR "KEY=VALUE"
struct option_spec {
    const char *name;     /* "--names" or "-o" */
    const char *argument; /* "REGEX"; NULL: it takes none */
    const char *help;     /* one line; NULL ends the table's use in help only */
};

#define ARGS_MAX  64
#define PAIRS_MAX 64 /* such options of one command line */

/* One of these, as given. */
struct arg_pair {
    const char *option; /* "--set" */
    const char *text;
};

/* A parsed command line: operands in order, options by position in the spec table. */
struct args {
    const char *const *operand;
    int count;
    /* Of options[i]; NULL: not given; "" : given, takes none */
    const char *value[ARGS_MAX];
    struct arg_pair pair[PAIRS_MAX]; /* in order; value[] has the first of an option */
    int pairs;
};

enum catalog_need {
    CATALOG_NONE,   /* works without one */
    CATALOG_READ,   /* must exist */
    CATALOG_KEEP,   /* must exist; what is computed is kept in it, where it may be written */
    CATALOG_WRITE,  /* must exist, is written */
    CATALOG_CREATE, /* made if missing */
};

enum command_trait {
    SHELL_ONLY = 1, /* a dot-command that is not a command word */
    NO_ROWS = 2,    /* prints no rows: --json and its like are refused, not ignored */
    PAGES = 4,      /* may use the pager: it has no progress to show beside it */
    WHOLE_LINE = 8, /* in the shell: the rest of the line is one operand, as typed */
    SETTING = 16,   /* with a value it only says how results look or where they go */
};

struct command {
    const char *name;                  /* "import" */
    const char *args;                  /* "PATH... [--prune]" */
    const char *summary;               /* one line, lower case, no full stop */
    const char *help;                  /* what else to know, and examples; several lines */
    const struct option_spec *options; /* ends in {0}; NULL: none */
    int min_args, max_args;            /* operands; max -1: any number */
    enum catalog_need catalog;
    unsigned traits; /* of enum command_trait */
    int (*run)(struct session *, const struct args *);
};

extern const struct command *const commands[]; /* ends in NULL; order of commands.def */

const struct command *command_find(const char *name);

/* Whether a line begins with the word of one that needs no dot outside of the shell. */
bool command_begins(const char *line, size_t len);

/* Commands such as `map` have verbs: `args` is a usage each, with '|' between them. */
bool command_has_verbs(const struct command *);
/* The usage of one, "load RULESET FILE" (*len bytes); NULL if it has no such verb. */
const char *command_verb(const struct command *, const char *verb, size_t *len);
/* The first usage at or after `at` in such an `args`; NULL if absent. */
const char *command_next_verb(const char *at, size_t *len);

/* Print a command's page on `out`; with NULL the list of all. */
void help_print(FILE *out, const struct command *, size_t columns);
/* The name in the registry nearest to a mistyped one; NULL if none is near. */
const char *command_nearest(const char *name, bool dots);

/* The mode called `name` ("json") in *mode; false if absent. */
bool mode_find(const char *name, enum output_mode *mode);
/* What --header and --no-header (or --headers) ask for; false: the word is another one. */
bool headers_find(const char *word, enum header_choice *headers);
/* Says that a command without rows takes no such option; STATUS_TROUBLE. */
int command_refuses_mode(const struct command *, const char *option);
/* "--box --table ..." of all modes, in order; ends in NULL. */
extern const char *const mode_names[];

/* Parse argv (without the command's own word) and run. Says what is wrong and returns
 * STATUS_TROUBLE on bad usage. Opens the catalog as the command needs. */
int command_run(struct session *, const struct command *, int argc, const char *const *argv);

/* Whether a command that opened the catalog with CATALOG_KEEP may write to it; else says why not. */
bool must_write(const struct session *, const char *command);

/* Whether something that is to be kept has a name; else says that it lacks one: '' is what an unset
 * variable becomes. */
bool must_have_name(const char *name, const char *command);

/* args->value by option name; NULL when not given. */
const char *args_option(const struct command *, const struct args *, const char *name);

/* A verb of a command that has verbs. */
struct verb {
    const char *usage;        /* "load NAME FILE" */
    int operands;             /* how many follow it */
    enum ckptdb_mode catalog; /* CKPTDB_CREATE: it opens the catalog itself */
    unsigned options;         /* the options that it takes, one bit each */
    int (*run)(struct session *, const struct args *);
};
/* Run the verb that the first operand names; the last of `verbs` is {0}. */
int verb_run(struct session *, const struct command *, const struct verb *verbs,
             const struct args *);
