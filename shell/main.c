/*
 * main.c - the program: read its options, choose the catalog, run what was asked for in order.
 */
#include <locale.h>
#ifdef __GLIBC__
#    include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "catalog/base/nearest.h"
#include "shell/command/script.h"
#include "shell/line/complete.h"
#include "shell/line/repl.h"
#include "shell/session/fold.h"
#include "shell/session/heap.h"

/* A -c, a -f or positional SQL. */
struct action {
    bool file;
    const char *what;
};

/* The parsed command line. */
struct request {
    struct action *actions;
    int action_count;
    const struct command *command; /* NULL: no command */
    int command_argc;
    const char *const *command_argv;
    const char *catalog, *color, *mode_given;
    bool readonly, keep_going, no_rc, help, version;
};

/* The program's own options; the output modes are in mode_names. */
static const struct option_spec program_options[] = {
    {"-d", "CATALOG", "the catalog; else $CKPTDB, else a file in your data folder"},
    {"-c", "SQL", "run statements or a dot-command; may be repeated"},
    {"-f", "FILE", "run a file of statements; - is stdin; may be repeated"},
    {"--readonly", NULL, "never write to the catalog"},
    {"--offline", NULL, "ask no other machine, whatever a path says; also CKPTDB_OFFLINE=1"},
    {"--keep-going", NULL, "after an error, run the rest of a script"},
    {"--header", NULL, "print the names of columns in every mode, also in plain rows"},
    {"--no-header", NULL, "print them in no mode"},
    {"--color", "WHEN", "auto, always or never"},
    {"--no-rc", NULL, "the shell does not begin with ~/.config/ckptdb/rc"},
    {"--help", NULL, "print this; also -h"},
    {"--version", NULL, "print versions and formats; also -V"},
    {NULL, NULL, NULL},
};

static void print_help(FILE *out)
{
    fputs("ckptdb - an SQL catalog of machine-learning checkpoints\n\n"
          "  ckptdb import ~/models                    index what lies there\n"
          "  ckptdb ls '*t5*'                          find checkpoints\n"
          "  ckptdb tree t5_small/checkpoint_1000      look into one\n"
          "  ckptdb --json 'SELECT * FROM largest LIMIT 5'\n"
          "  ckptdb                                    the shell\n\n"
          "usage: ckptdb [-d CATALOG] [OPTIONS] COMMAND [ARGS]\n"
          "       ckptdb [-d CATALOG] [OPTIONS] ['SELECT ...' | -c SQL | -f FILE]...\n\n",
          out);
    for (const struct option_spec *o = program_options; o->name; o++)
        fprintf(out, "  %-12s %-8s  %s\n", o->name, o->argument ? o->argument : "", o->help);
    fputs("  ", out);
    for (int i = 0; mode_names[i]; i++)
        fprintf(out, "--%s ", mode_names[i]);
    fputs("\n                         how rows are printed: box on a terminal, else plain rows\n\n",
          out);
    help_print(out, NULL, fold_columns(out));
}

static bool print_format(void *out, const struct ckptdb_format *f)
{
    if (f->reads)
        fprintf(out, " %s", f->name);
    return true;
}

static void print_version(FILE *out)
{
    char pcre2[64];
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    pcre2[strcspn(pcre2, " ")] = '\0';
    fprintf(out, "ckptdb %s\nSQLite %s, PCRE2 %s\nformats:", ckptdb_version(), sqlite3_libversion(),
            pcre2);
    ckptdb_formats(print_format, out);
    fputc('\n', out);
}

/* --- reading the command line ------------------------------------------------------------- */

static int program_refuse(const char *why, const char *word)
{
    complain("%s: %s (ckptdb --help)", why, word);
    return STATUS_TROUBLE;
}

static int unknown_option(const char *word)
{
    const char *best = NULL;
    unsigned least = 3;
    for (const struct option_spec *o = program_options; o->name; o++) {
        unsigned distance = edit_distance(word, o->name, 2);
        if (strncmp(o->name, "--", 2) == 0 && distance < least) {
            least = distance;
            best = o->name + 2;
        }
    }
    for (int i = 0; mode_names[i] && strncmp(word, "--", 2) == 0; i++) {
        unsigned distance = edit_distance(word + 2, mode_names[i], 2);
        if (distance < least) {
            least = distance;
            best = mode_names[i];
        }
    }
    if (!best)
        return program_refuse("no such option", word);
    complain("no such option: %s; the nearest is --%s", word, best);
    return STATUS_TROUBLE;
}

static int add_action(struct request *q, bool file, const char *what)
{
    q->actions[q->action_count++] = (struct action){.file = file, .what = what};
    return STATUS_FINE;
}

static int set_once(const char **slot, const char *value, const char *name)
{
    if (*slot)
        return program_refuse("given twice", name);
    *slot = value;
    return STATUS_FINE;
}

/* Act on one of program_options. */
static int take_option(struct request *q, const char *name, const char *value)
{
    if (strcmp(name, "-d") == 0)
        return *value ? set_once(&q->catalog, value, name) : program_refuse("needs a path", name);
    if (strcmp(name, "-c") == 0)
        return add_action(q, false, value);
    if (strcmp(name, "-f") == 0)
        return add_action(q, true, value);
    if (strcmp(name, "--color") == 0)
        return set_once(&q->color, value, name);
    q->readonly |= strcmp(name, "--readonly") == 0;
    if (strcmp(name, "--offline") == 0 && setenv("CKPTDB_OFFLINE", "1", 1) != 0)
        return program_refuse("no memory", name);
    q->keep_going |= strcmp(name, "--keep-going") == 0;
    q->no_rc |= strcmp(name, "--no-rc") == 0;
    q->help |= strcmp(name, "--help") == 0;
    q->version |= strcmp(name, "--version") == 0;
    return STATUS_FINE;
}

/* Read the option argv[*at]; *at is moved to the last word that belongs to it. */
static int read_option(struct request *q, struct session *s, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    enum output_mode mode;
    word = strcmp(word, "-h") == 0 ? "--help" : strcmp(word, "-V") == 0 ? "--version" : word;
    if (strncmp(word, "--", 2) == 0 && mode_find(word + 2, &mode)) {
        if (s->mode != MODE_AUTO && s->mode != mode)
            return program_refuse("only one way to print rows can be chosen", word);
        s->mode = mode;
        q->mode_given = word;
        return STATUS_FINE;
    }
    size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
    if (headers_find(word, &s->headers))
        return STATUS_FINE;
    for (const struct option_spec *o = program_options; o->name; o++) {
        if (strlen(o->name) != len || memcmp(o->name, word, len) != 0)
            continue;
        if (!o->argument)
            return word[len] ? program_refuse("takes no value", o->name)
                             : take_option(q, o->name, "");
        if (word[len])
            return take_option(q, o->name, word + len + 1);
        if (*at + 1 >= argc)
            return program_refuse("needs a value", word);
        return take_option(q, o->name, argv[++*at]);
    }
    return unknown_option(word);
}

/* Whether a word begins a statement: then it was not quoted, and the
 * rest is in the next arguments. */
static bool begins_statement(const char *word)
{
    static const char *const beginnings[] = {"SELECT", "WITH",   "VALUES", "INSERT", "REPLACE",
                                             "UPDATE", "DELETE", "CREATE", "DROP",   "ALTER",
                                             "PRAGMA", "ATTACH", "DETACH", "EXPLAIN"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
        if (strcasecmp(word, beginnings[i]) == 0)
            return true;
    return false;
}

/* The first operand is a command or SQL. */
static int read_operand(struct request *q, const char *word, bool *command)
{
    const struct command *c = command_find(word);
    *command = c && !(c->traits & SHELL_ONLY);
    if (*command) {
        q->command = c;
        return STATUS_FINE;
    }
    const size_t len = strlen(word);
    const size_t fits =
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (len > 0 && fits == len && !sqlite3_keyword_check(word, (int)len)) { /* a mistyped command */
        const char *near = command_nearest(word, false);
        if (!near)
            return program_refuse("no such command", word);
        complain("no such command: %s; the nearest is %s", word, near);
        return STATUS_TROUBLE;
    }
    if (begins_statement(word)) {
        complain("%s: a statement is one argument, in quotes: ckptdb '%s ...'", word, word);
        return STATUS_TROUBLE;
    }
    return add_action(q, false, word);
}

static int read_arguments(struct request *q, struct session *s, int argc, char **argv)
{
    bool options = true, command = false;
    int status = STATUS_FINE;
    for (int i = 1; i < argc && status == STATUS_FINE && !command; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            status = read_option(q, s, argc, argv, &i);
        else
            status = read_operand(q, argv[i], &command);
        q->command_argc = argc - i - 1;
        q->command_argv = (const char *const *)argv + i + 1;
    }
    if (status != STATUS_FINE || !q->command)
        return status;
    if (q->action_count > 0)
        return program_refuse("a command word and SQL exclude each other", q->command->name);
    if (q->keep_going)
        return program_refuse("means nothing for a single command", "--keep-going");
    if (q->mode_given && (q->command->traits & NO_ROWS))
        return command_refuses_mode(q->command, q->mode_given);
    return status;
}

/* --- environment -------------------------------------------------------------------------- */

/* The default catalog, a file in the user's data folder; malloc'ed.
 * NULL if there is no such folder. */
static char *default_catalog(void)
{
    const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");
    struct text path = {0};
    if (data && *data == '/')
        text_addf(&path, "%s/ckptdb/catalog.db", data);
    else if (home)
        text_addf(&path, "%s/.local/share/ckptdb/catalog.db", home);
    else
        return NULL;
    return text_steal(&path);
}

/* `--complete WORD...`, called by bash, zsh and fish to complete the last word. Prints one
 * candidate per line, and ":files" if files are wanted. */
static int run_complete(struct session *s, int count, const char *const *words)
{
    struct completion found;
    if (count < 1)
        return STATUS_TROUBLE;
    for (int i = 0; i + 2 < count; i++)
        if (strcmp(words[i], "-d") == 0)
            s->catalog = words[i + 1];
    if (s->catalog && access(s->catalog, R_OK) == 0)
        session_open(s, CKPTDB_READ);
    complete_words(s, program_options, words, count, &found);
    if (found.files)
        puts(":files");
    for (size_t i = 0; i < found.count; i++)
        puts(found.items[i]);
    completion_release(&found);
    return STATUS_FINE;
}

static bool set_color(struct session *s, const char *when)
{
    const char *force = environment("CLICOLOR_FORCE"), *term = environment("TERM");
    if (!when || strcmp(when, "auto") == 0) {
        bool dumb = term && strcmp(term, "dumb") == 0;
        s->color = s->out_is_terminal && !environment("NO_COLOR") && !dumb;
        s->color |= force && strcmp(force, "0") != 0;
        return true;
    }
    s->color = strcmp(when, "always") == 0;
    return s->color || strcmp(when, "never") == 0;
}

static int run_actions(struct session *s, const struct request *q)
{
    int status = STATUS_FINE;
    for (int i = 0; i < q->action_count; i++) {
        const struct action *a = &q->actions[i];
        int one = a->file ? script_run_file(s, a->what) : script_run_text(s, a->what);
        status = one > status ? one : status;
        if (s->quit || one == STATUS_INTERRUPTED || (s->failed && !s->keep_going))
            break;
    }
    return s->quit ? s->quit_status : status;
}

static int program_run(struct session *s, const struct request *q)
{
    if (q->help || q->version) {
        (q->help ? print_help : print_version)(stdout);
        return STATUS_FINE;
    }
    if (!set_color(s, q->color))
        return program_refuse("--color is auto, always or never", q->color);
    if (!s->catalog) {
        complain("neither $CKPTDB nor $HOME says where the catalog is: give -d FILE");
        return STATUS_TROUBLE;
    }
    if (q->command)
        return command_run(s, q->command, q->command_argc, q->command_argv);
    if (q->action_count)
        return run_actions(s, q);
    s->interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (s->interactive && !session_open_for_sql(s))
        return STATUS_TROUBLE;
    const int status =
        s->interactive ? repl_run(s, !q->no_rc) : script_run_stream(s, stdin, "stdin");
    return s->quit ? s->quit_status : status;
}

/* One heap for all threads: a heap per thread costs address space (which users limit), and
 * grows and shrinks by one system call per page. SQLite's memory accounting is off: nobody
 * reads it, and it takes a lock per allocation. Blocks below 4 MiB are not mapped separately:
 * those allocated and freed for each checkpoint would be, with a page fault for each page.
 * (The C library adapts to that by itself, unless any of these settings is made.) SQLite gets
 * pages one by one: each temporary table would have 20 of its own, with the page faults. */
static void tune_memory(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    heap_for_sqlite();
#ifdef __GLIBC__
    /* NOLINTBEGIN(concurrency-mt-unsafe): before there are threads */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 1 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 22);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    /* NOLINTEND(concurrency-mt-unsafe) */
#endif
}

int main(int argc, char **argv)
{
    struct session s = {.out = stdout,
                        .out_is_terminal = isatty(STDOUT_FILENO),
                        .err_is_terminal = isatty(STDERR_FILENO)};
    struct request q = {.actions = calloc((size_t)argc + 1, sizeof(*q.actions))};
    char *catalog = NULL;
    int status = STATUS_TROUBLE;
    if (!q.actions) {
        complain("no memory");
        goto done;
    }
    tune_memory();
    session_signals();
    bool completes = argc > 1 && strcmp(argv[1], "--complete") == 0;
    status = completes ? STATUS_FINE : read_arguments(&q, &s, argc, argv);
    if (status == STATUS_FINE) {
        s.catalog = q.catalog ? q.catalog : environment("CKPTDB");
        s.catalog_given = q.catalog != NULL;
        s.one_command = q.command != NULL;
        s.default_place = !s.catalog;
        if (!s.catalog)
            s.catalog = catalog = default_catalog();
        s.readonly = q.readonly;
        s.keep_going = q.keep_going;
        status = completes ? run_complete(&s, argc - 2, (const char *const *)argv + 2)
                           : program_run(&s, &q);
    }
    if (!session_flush(&s))
        status = STATUS_TROUBLE;
    session_release(&s);
done:
    free(catalog);
    free(q.actions);
    return session_interrupted && status != STATUS_FINE ? STATUS_INTERRUPTED : status;
}
