#include "shell/command/command.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/nearest.h"
#include "shell/command/set_option.h"
#include "shell/command/unheld.h"
#include "shell/render/render.h"
#include "shell/session/fold.h"
#include "shell/session/pager.h"

#define COMMAND(x) extern const struct command command_##x;
#include "shell/command/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(x) &command_##x,
#include "shell/command/commands.def"
#undef COMMAND
    NULL,
};

/* In the order of enum output_mode, starting with MODE_BOX. */
const char *const mode_names[] = {
    "box", "table", "csv", "tsv", "json", "jsonl", "markdown", "line", "list", NULL,
};

bool mode_find(const char *name, enum output_mode *mode)
{
    for (int i = 0; mode_names[i]; i++) {
        if (strcmp(mode_names[i], name) == 0) {
            *mode = (enum output_mode)(MODE_BOX + i);
            return true;
        }
    }
    return false;
}

bool headers_find(const char *word, enum header_choice *headers)
{
    const bool no = strncmp(word, "--no-", 5) == 0;
    const char *name = word + (no ? 5 : 2);
    if (strncmp(word, "--", 2) != 0 ||
        (strcmp(name, "header") != 0 && strcmp(name, "headers") != 0))
        return false;
    *headers = no ? HEADERS_OFF : HEADERS_ON;
    return true;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

bool command_begins(const char *line, size_t len)
{
    size_t word = 0;
    while (word < len && !strchr("; \t\r\n", line[word]))
        word++;
    for (size_t i = 0; word && commands[i]; i++)
        if (!(commands[i]->traits & SHELL_ONLY) && strlen(commands[i]->name) == word &&
            memcmp(line, commands[i]->name, word) == 0)
            return true;
    return false;
}

bool command_has_verbs(const struct command *c)
{
    return !(c->traits & SHELL_ONLY) && *c->args >= 'a' && *c->args <= 'z';
}

const char *command_next_verb(const char *at, size_t *len)
{
    at += strspn(at, "| \n");
    *len = strcspn(at, "|");
    const char *usage = *at ? at : NULL;
    while (*len > 0 && strchr(" \n", at[*len - 1]))
        --*len;
    return usage;
}

const char *command_verb(const struct command *c, const char *verb, size_t *len)
{
    size_t verb_len = strlen(verb);
    const char *at = command_has_verbs(c) ? c->args : "";
    for (; (at = command_next_verb(at, len)); at += *len)
        if (verb_len > 0 && strcspn(at, " \n|") == verb_len && memcmp(at, verb, verb_len) == 0)
            return at;
    return NULL;
}

const char *command_nearest(const char *name, bool dots)
{
    const char *best = NULL;
    unsigned least = 3;
    for (size_t i = 0; commands[i]; i++) {
        unsigned distance = edit_distance(name, commands[i]->name, 2);
        if (distance < least && (dots || !(commands[i]->traits & SHELL_ONLY))) {
            least = distance;
            best = commands[i]->name;
        }
    }
    return best;
}

static const struct option_spec no_options[] = {{0}};

static const struct option_spec *options_of(const struct command *c)
{
    return c->options ? c->options : no_options;
}

/* --- help --------------------------------------------------------------------------------- */

static void help_list(FILE *out, bool shell_only)
{
    for (size_t i = 0; commands[i]; i++)
        if (!(commands[i]->traits & SHELL_ONLY) == !shell_only)
            fprintf(out, "  %s%-10s  %s\n", shell_only ? "." : "", commands[i]->name,
                    commands[i]->summary);
}

static void help_write(FILE *out, const struct command *c)
{
    if (!c) {
        fputs("Commands, also as .COMMAND in the shell and in scripts:\n", out);
        help_list(out, false);
        fputs("In the shell and in scripts only:\n", out);
        help_list(out, true);
        fputs("`help COMMAND` says more.\n", out);
        return;
    }
    const bool verbs = command_has_verbs(c);
    fprintf(out, "%s%s%s%s - %s\n", c->traits & SHELL_ONLY ? "." : "ckptdb ", c->name,
            *c->args && !verbs ? " " : "", verbs ? "" : c->args, c->summary);
    size_t len;
    if (verbs)
        fputc('\n', out);
    for (const char *at = verbs ? c->args : ""; (at = command_next_verb(at, &len)); at += len)
        fprintf(out, "  ckptdb %s %.*s\n", c->name, (int)len, at);
    const struct option_spec *o = options_of(c);
    if (o->name && o->help)
        fputc('\n', out);
    for (; o->name && o->help; o++) {
        int width = fprintf(out, "  %s%s%s", o->name, o->argument ? " " : "",
                            o->argument ? o->argument : "");
        fprintf(out, "%*s%s\n", width < 22 ? 24 - width : 2, "", o->help);
    }
    if (c->help)
        fprintf(out, "\n%s%s", c->help, c->help[strlen(c->help) - 1] == '\n' ? "" : "\n");
    if (strstr(c->args, "CHECKPOINT") || (c->help && strstr(c->help, "CHECKPOINT")))
        fputs("\n" CHECKPOINT_HELP, out);
}

void help_print(FILE *out, const struct command *c, size_t columns)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = columns ? open_memstream(&text, &len) : NULL;
    help_write(memory ? memory : out, c);
    if (memory && fclose(memory) == 0)
        fold_print(out, text, columns);
    free(text);
}

/* --- options ------------------------------------------------------------------------------ */

/* A command line being parsed. */
struct parse {
    struct session *session;
    const struct command *command;
    struct args *args;
    const char **operands;
    const char *mode_given; /* the mode option, if there was one */
    bool headers_given;
    bool help;
};

static int usage(const struct command *c)
{
    fprintf(stderr, "usage: %s%s%s%s\n", c->traits & SHELL_ONLY ? "." : "ckptdb ", c->name,
            *c->args ? " " : "", c->args);
    return STATUS_TROUBLE;
}

/* Length of the option's name in "--name=value" or "--name". */
static size_t name_length(const char *word)
{
    return word[1] == '-' ? strcspn(word, "=") : strlen(word);
}

static const struct option_spec *option_find(const struct command *c, const char *word)
{
    size_t len = name_length(word);
    for (const struct option_spec *o = options_of(c); o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, word, len) == 0)
            return o;
    return NULL;
}

static int unknown_option(const struct command *c, const char *word)
{
    const char *best = NULL;
    unsigned least = 4;
    for (const struct option_spec *o = options_of(c); o->name; o++) {
        unsigned distance = edit_distance(word, o->name, 3);
        if (distance < least) {
            least = distance;
            best = o->name;
        }
    }
    if (best)
        complain("%s: no such option: %s; the nearest is %s", c->name, word, best);
    else
        complain("%s: no such option: %s (an operand that begins with - goes after --)", c->name,
                 word);
    return usage(c);
}

int command_refuses_mode(const struct command *c, const char *option)
{
    const bool format = option_find(c, "--format") != NULL;
    complain("%s prints no rows: %s has no meaning here%s", c->name, option,
             format ? "; --format says in what form its elements are printed" : "");
    return STATUS_TROUBLE;
}

/* Options such as --json, which apply to this command only. */
static int parse_mode(struct parse *p, const char *word)
{
    enum output_mode mode;
    enum header_choice headers;
    const bool names = headers_find(word, &headers);
    if (!names && (strncmp(word, "--", 2) != 0 || !mode_find(word + 2, &mode)))
        return unknown_option(p->command, word);
    if (p->command->traits & NO_ROWS)
        return command_refuses_mode(p->command, word);
    if (names) {
        p->headers_given = true;
        p->session->headers = headers;
        return STATUS_FINE;
    }
    if (p->mode_given && strcmp(p->mode_given, word) != 0) {
        complain("%s: %s and %s exclude each other", p->command->name, p->mode_given, word);
        return STATUS_TROUBLE;
    }
    p->mode_given = word;
    p->session->mode = mode;
    return STATUS_FINE;
}

/* -d, --readonly and --offline belong before the command, but people also type them after it. (In the
 * shell and in scripts the catalog is already open.) False: it is not one of these;
 * *status is set if one is wrong. */
static bool parse_global(struct parse *p, int argc, const char *const *argv, int *at, int *status)
{
    struct session *s = p->session;
    if (!s->one_command)
        return false;
    if (strcmp(argv[*at], "--readonly") == 0) {
        s->readonly = true;
        return true;
    }
    if (strcmp(argv[*at], "--offline") == 0) {
        *status = setenv("CKPTDB_OFFLINE", "1", 1) == 0 ? STATUS_FINE : STATUS_TROUBLE;
        return true;
    }
    if (strcmp(argv[*at], "-d") != 0)
        return false;
    if (*at + 1 >= argc || !*argv[*at + 1] || s->catalog_given) {
        complain("%s: -d %s", p->command->name,
                 s->catalog_given ? "is given twice" : "needs a path");
        *status = STATUS_TROUBLE;
        return true;
    }
    s->catalog = argv[++*at];
    s->catalog_given = true;
    s->default_place = false;
    return true;
}

static int parse_pair(struct parse *p, const struct option_spec *spec, const char *text)
{
    struct args *a = p->args;
    const bool keyed = strcmp(spec->argument, PAIR) == 0;
    size_t key = strcspn(text, "=");
    if (strchr(spec->argument, '=') && (!text[key] || (keyed && key == 0))) {
        complain("%s: %s %s: %s is wanted", p->command->name, spec->name, text, spec->argument);
        return STATUS_TROUBLE;
    }
    for (int i = 0; keyed && i < a->pairs; i++)
        if (strcmp(a->pair[i].option, spec->name) == 0 &&
            strncmp(a->pair[i].text, text, key + 1) == 0 && strcmp(a->pair[i].text, text) != 0) {
            complain("%s: %s %s contradicts %s %s", p->command->name, spec->name, text, spec->name,
                     a->pair[i].text);
            return STATUS_TROUBLE;
        }
    if (a->pairs == PAIRS_MAX) {
        complain("%s: more than %d times %s", p->command->name, PAIRS_MAX, spec->name);
        return STATUS_TROUBLE;
    }
    a->pair[a->pairs++] = (struct arg_pair){spec->name, text};
    return STATUS_FINE;
}

/* Parse the option argv[*at]; *at is moved to the last word that belongs to it. */
static int parse_option(struct parse *p, int argc, const char *const *argv, int *at)
{
    const char *word = argv[*at];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        p->help = true;
        return STATUS_FINE;
    }
    const struct option_spec *spec = option_find(p->command, word);
    int status = STATUS_FINE;
    if (!spec)
        return parse_global(p, argc, argv, at, &status) ? status : parse_mode(p, word);
    size_t len = name_length(word);
    const char *value = word[len] ? word + len + 1 : NULL;
    const char **slot = &p->args->value[spec - options_of(p->command)];
    bool pair = spec->argument && strpbrk(spec->argument, "=:");
    if (*slot && spec->argument && !pair) {
        complain("%s: %s is given twice", p->command->name, spec->name);
        return STATUS_TROUBLE;
    }
    if (!spec->argument && value) {
        complain("%s: %s takes no value", p->command->name, spec->name);
        return STATUS_TROUBLE;
    }
    if (spec->argument && !value && *at + 1 >= argc) {
        complain("%s: %s needs a value: %s", p->command->name, spec->name, spec->argument);
        return usage(p->command);
    }
    if (!spec->argument)
        value = "";
    if (!value)
        value = argv[++*at];
    if (!*slot)
        *slot = value;
    return pair ? parse_pair(p, spec, value) : STATUS_FINE;
}

static int parse_words(struct parse *p, int argc, const char *const *argv)
{
    bool options = true;
    int status = STATUS_FINE;
    for (int i = 0; i < argc && status == STATUS_FINE; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            status = parse_option(p, argc, argv, &i);
        else
            p->operands[p->args->count++] = argv[i];
    }
    return status;
}

/* Find the name of an operand in `args` by its position: names are capitals outside of
 * brackets. *len is its length, 0 if absent. */
static const char *operand_name(const char *args, int position, size_t *len)
{
    for (*len = 0; *args && *args != '[' && *args != '-' && *args != '|'; args += *len) {
        args += strspn(args, " ");
        *len = strspn(args, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (*len == 0 || position-- == 0)
            break;
    }
    return args;
}

static int check_operands(const struct command *c, const struct args *args)
{
    if (args->count < c->min_args) {
        size_t len;
        const char *missing = operand_name(c->args, args->count, &len);
        complain("%s: %.*s is missing", c->name, len ? (int)len : 11,
                 len ? missing : "an argument");
        return usage(c);
    }
    if (c->max_args >= 0 && args->count > c->max_args) {
        complain("%s: too many arguments: %s", c->name, args->operand[c->max_args]);
        return usage(c);
    }
    return STATUS_FINE;
}

static bool verb_is_well_used(const struct command *c, const struct verb *v,
                              const struct args *args)
{
    const int verb = (int)strcspn(v->usage, " ");
    const char *missing = v->usage + verb;
    size_t len;
    bool good = args->count == v->operands + 1;
    if (args->count <= v->operands) {
        missing = operand_name(missing, args->count - 1, &len);
        complain("%s %.*s: %.*s is missing", c->name, verb, v->usage, (int)len, missing);
    } else if (!good) {
        complain("%s %.*s: too many arguments: %s", c->name, verb, v->usage,
                 args->operand[v->operands + 1]);
    }
    for (int i = 0; good && options_of(c)[i].name; i++)
        good = !args->value[i] || v->options >> i & 1;
    if (!good)
        complain("usage: %s %s", c->name, v->usage);
    return good;
}

static int say_no_verb(const struct command *c, const struct verb *verbs, const char *word)
{
    struct text names = {0};
    if (!word)
        complain("%s needs one of:", c->name);
    for (const struct verb *v = verbs; v->usage; v++) {
        if (!word)
            complain("  %s %s", c->name, v->usage);
        text_adds(&names, v == verbs ? "" : v[1].usage ? ", " : " and ");
        text_add(&names, v->usage, strcspn(v->usage, " "));
    }
    if (word)
        complain("%s has no '%s'; there are %s", c->name, word,
                 text_str(&names) ? text_str(&names) : "others");
    text_release(&names);
    return STATUS_TROUBLE;
}

int verb_run(struct session *s, const struct command *c, const struct verb *verbs,
             const struct args *args)
{
    const char *word = args->count ? args->operand[0] : "";
    const size_t len = strlen(word);
    const struct verb *v = verbs;
    while (v->usage && (strcspn(v->usage, " ") != len || memcmp(v->usage, word, len) != 0))
        v++;
    if (!v->usage)
        return say_no_verb(c, verbs, args->count ? word : NULL);
    if (!verb_is_well_used(c, v, args))
        return STATUS_TROUBLE;
    if (v->catalog != CKPTDB_CREATE &&
        !unheld_open(s, s->readonly ? CKPTDB_READ : v->catalog, args))
        return STATUS_TROUBLE;
    return v->run(s, args);
}

static const enum ckptdb_mode modes_of_need[] = {
    [CATALOG_READ] = CKPTDB_READ,
    [CATALOG_KEEP] = CKPTDB_USE,
    [CATALOG_WRITE] = CKPTDB_WRITE,
    [CATALOG_CREATE] = CKPTDB_CREATE,
};

bool must_write(const struct session *s, const char *command)
{
    if (s->readonly)
        complain("%s writes to the catalog: --readonly forbids it", command);
    else if (!session_may_write(s))
        complain("%s writes to the catalog: %s cannot be written", command, s->catalog);
    return session_may_write(s);
}

bool must_have_name(const char *name, const char *command)
{
    if (!*name)
        complain("%s: an empty name, where a variable was not set?", command);
    return *name != '\0';
}

static int open_for(struct session *s, const struct command *c, const struct args *args)
{
    enum ckptdb_mode mode = modes_of_need[c->catalog];
    if (c->catalog == CATALOG_NONE)
        return STATUS_FINE;
    if (s->readonly && c->catalog > CATALOG_KEEP) {
        complain("%s writes to the catalog: --readonly forbids it", c->name);
        return STATUS_TROUBLE;
    }
    if (c->catalog == CATALOG_KEEP && !session_may_write(s))
        mode = CKPTDB_READ;
    return unheld_open(s, mode, args) ? STATUS_FINE : STATUS_TROUBLE;
}

int command_run(struct session *s, const struct command *c, int argc, const char *const *argv)
{
    const enum output_mode mode_before = s->mode;
    const enum header_choice headers_before = s->headers;
    const bool unread_before = s->unread; /* of the .read that runs this command */
    struct args args = {0};
    int status = STATUS_TROUBLE;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    if (!operands) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    args.operand = operands;
    struct parse p = {.session = s, .command = c, .args = &args, .operands = operands};
    s->unread = false;
    status = parse_words(&p, argc, argv);
    const bool helps = status == STATUS_FINE && p.help, pages = helps || (c->traits & PAGES);
    if (status == STATUS_FINE && !helps)
        status = check_operands(c, &args);
    s->unheld.taken = c->catalog != CATALOG_WRITE;
    if (status == STATUS_FINE && !helps)
        status = open_for(s, c, &args);
    if (pages)
        pager_begin(s);
    if (helps)
        help_print(s->out, c, s->out_is_terminal ? render_columns() : 0);
    else if (status == STATUS_FINE)
        status = unheld_run(s, c, &args);
    if (pages)
        pager_end(s);
    if (s->unread)
        status = session_interrupted ? STATUS_INTERRUPTED : STATUS_TROUBLE;
    if (s->open)
        ckptdb_content_forget(s->open);
    settings_forget(s);
    unheld_end(s);
    s->unread = unread_before;
    if (p.mode_given)
        s->mode = mode_before;
    if (p.headers_given)
        s->headers = headers_before;
    free(operands);
    return status;
}

const char *args_option(const struct command *c, const struct args *args, const char *name)
{
    const struct option_spec *o = options_of(c);
    for (int i = 0; o[i].name; i++)
        if (strcmp(o[i].name, name) == 0)
            return args->value[i];
    return NULL;
}
