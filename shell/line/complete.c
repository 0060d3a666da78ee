#include "shell/line/complete.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command/statements.h"
#include "shell/line/offer.h"

/* --- commands ----------------------------------------------------------------------------- */

static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Offer values for the operand at `position` of a usage line: operands are in capitals,
 * and the last one may be repeated. */
static void offer_operand(struct wanted *w, const struct command *c, const char *usage,
                          size_t usage_len, int position)
{
    const char *found = NULL, *end = usage + usage_len;
    size_t found_len = 0;
    for (const char *at = usage; at < end && position >= 0;) {
        size_t word = strcspn(at, " \n"), skip = strspn(at, "[");
        if (at[skip] == '-')
            break;
        size_t len = strspn(at + skip, capitals);
        if (len > 0) {
            found = at + skip;
            found_len = len;
            position--;
        }
        at += word + strspn(at + word, " \n");
    }
    if (found)
        offer_kind(w, c, found, found_len);
}

static void offer_verbs(struct wanted *w, const struct command *c)
{
    size_t len;
    for (const char *at = c->args; (at = command_next_verb(at, &len)); at += len) {
        char *verb = strndup(at, strcspn(at, " \n|"));
        if (verb && strncmp(verb, w->prefix, strlen(w->prefix)) == 0)
            offer(w, verb);
        free(verb);
    }
}

static const struct option_spec *option_called(const struct option_spec *options, const char *name)
{
    for (const struct option_spec *o = options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static const char *const header_options[] = {"--header", "--no-header"};

static void offer_options(struct wanted *w, const struct option_spec *options, bool modes)
{
    for (const struct option_spec *o = options; o && o->name; o++)
        if (strncmp(o->name, w->prefix, strlen(w->prefix)) == 0)
            offer(w, o->name);
    if (!modes || !w->prefix[1])
        return;
    offer_modes(w, "--");
    for (int i = 0; i < 2; i++)
        if (strncmp(header_options[i], w->prefix, strlen(w->prefix)) == 0)
            offer(w, header_options[i]);
}

/* Complete the word that follows `count` others; words[0] is the command. */
static void complete_argument(struct wanted *w, const struct command *c, const char *const *words,
                              int count)
{
    const struct option_spec *before =
        count > 1 ? option_called(c->options, words[count - 1]) : NULL;
    if (before && before->argument) {
        offer_kind(w, c, before->argument, strlen(before->argument));
        return;
    }
    if (w->prefix[0] == '-') {
        offer_options(w, c->options, !(c->traits & NO_ROWS));
        return;
    }
    int position = 0;
    const char *verb = NULL;
    for (int i = 1; i < count; i++) {
        const struct option_spec *o = option_called(c->options, words[i]);
        if (words[i][0] != '-')
            w->checkpoint = words[i]; /* for NAME, which follows its CHECKPOINT */
        if (words[i][0] != '-' && position++ == 0)
            verb = words[i];
        i += o && o->argument;
    }
    size_t len = strlen(c->args);
    const char *usage = c->args;
    if (command_has_verbs(c)) {
        usage = verb ? command_verb(c, verb, &len) : NULL;
        position--;
    }
    if (usage)
        offer_operand(w, c, usage, len, position);
    else if (!verb)
        offer_verbs(w, c);
}

/* Where the last word of a dot-command begins, and in which quote,
 * by the rules of split_words(). */
static size_t last_word(const char *line, size_t len, char *quote)
{
    size_t word = 0;
    *quote = 0;
    for (size_t i = 0; i < len; i++) {
        char c = line[i];
        bool blank = c == ' ' || c == '\t';
        if (*quote) {
            if (*quote == '"' && c == '\\' && i + 1 < len)
                i++;
            else if (c == *quote)
                *quote = 0;
        } else if (c == '\'' || c == '"') {
            *quote = c;
            word = i + 1;
        } else if (blank) {
            word = i + 1;
        }
    }
    return word;
}

/* Put candidates with blanks or quotes in quotes. */
static void quote_items(struct completion *c)
{
    bool blank = false, single = false, twice = false;
    for (size_t i = 0; i < c->count; i++) {
        blank = blank || strpbrk(c->items[i], " \t;");
        single = single || strchr(c->items[i], '\'');
        twice = twice || strpbrk(c->items[i], "\"\\");
    }
    if (c->common && (blank || single || twice) && !(single && twice)) {
        c->quote = single ? '"' : '\'';
        c->after = c->quote;
    }
}

static void complete_dot(struct wanted *w, const char *line, size_t len)
{
    char *words[32], quote;
    size_t word = last_word(line, len, &quote);
    w->out->word = word;
    w->prefix = strndup(line + word, len - word);
    char *before = strndup(line, word - (quote != 0));
    int count = before && w->prefix ? split_words(before, words, 32) : -1;
    const struct command *c = count > 0 ? command_find(words[0] + (words[0][0] == '.')) : NULL;
    if (count == 0)
        offer_commands(w, ".");
    else if (c)
        complete_argument(w, c, (const char *const *)words, count);
    if (quote)
        w->out->after = quote;
    else
        quote_items(w->out);
    free(before);
}

/* --- SQL ---------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the word before `end` is followed by the name of a table. */
static bool wants_relation(const char *line, size_t end)
{
    static const char *const heads[] = {"from", "join", "into", "update", "table", "view"};
    while (end > 0 && line[end - 1] == ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && is_word(line[begin - 1]))
        begin--;
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        if (strlen(heads[i]) == end - begin &&
            strncasecmp(heads[i], line + begin, end - begin) == 0)
            return true;
    return false;
}

#define NO_STRING SIZE_MAX

/* Whether the string that begins at `string` is compared with a column of this name. */
static bool is_compared(const char *line, size_t string, const char *column)
{
    size_t end = string - 1, len = strlen(column);
    while (end > 0 && strchr(" =(", line[end - 1]))
        end--;
    if (end >= 2 && strncasecmp(line + end - 2, "in", 2) == 0 &&
        (end == 2 || !is_word(line[end - 3])))
        end -= 2;
    while (end > 0 && line[end - 1] == ' ')
        end--;
    return end >= len && strncasecmp(line + end - len, column, len) == 0 &&
           (end == len || !is_word(line[end - len - 1]));
}

/* Complete the open string: a rule set, an optimizer, a dtype, a checkpoint or a tensor. */
static void complete_string(struct wanted *w, const char *line, size_t len, size_t string)
{
    w->out->word = string;
    w->out->after = '\'';
    if (!(w->prefix = strndup(line + string, len - string)))
        return;
    if (is_compared(line, string, "ruleset")) {
        offer_rulesets(w);
    } else if (is_compared(line, string, "optimizer")) {
        offer_optimizers(w);
    } else if (is_compared(line, string, "dtype")) {
        offer_dtypes(w);
    } else {
        offer_checkpoints(w);
        offer_tensors(w);
        if (*w->prefix)
            offer_rulesets(w);
    }
}

static void complete_sql(struct wanted *w, const char *line, size_t len)
{
    size_t string = NO_STRING; /* where the one begins that is still open */
    for (size_t i = 0; i < len; i++)
        if (line[i] == '\'')
            string = string == NO_STRING ? i + 1 : NO_STRING;
    if (string != NO_STRING) {
        complete_string(w, line, len, string);
        return;
    }
    while (w->out->word > 0 && is_word(line[w->out->word - 1]))
        w->out->word--;
    size_t word = w->out->word;
    if (!(w->prefix = strndup(line + word, len - word)))
        return;
    if (word > 0 && line[word - 1] == '.') {
        offer_columns(w);
    } else if (wants_relation(line, word)) {
        offer_relations(w);
        if (*w->prefix)
            offer_table_functions(w);
    } else if (*w->prefix) {
        offer_keywords(w);
        offer_relations(w);
        offer_columns(w);
        offer_functions(w);
        offer_table_functions(w);
    }
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void complete_line(struct session *s, const char *line, size_t len, bool continued,
                   struct completion *out)
{
    *out = (struct completion){.word = len, .after = ' '};
    struct wanted w = {.session = s, .out = out};
    size_t blanks = 0;
    while (blanks < len && line[blanks] == ' ')
        blanks++;
    const bool bare =
        memchr(line + blanks, ' ', len - blanks) && command_begins(line + blanks, len - blanks);
    if (!continued && blanks < len && (line[blanks] == '.' || bare))
        complete_dot(&w, line, len);
    else
        complete_sql(&w, line, len);
    /* Commands without a dot: the shell understands them, too. */
    const bool first = !continued && out->word == blanks && w.prefix && *w.prefix;
    for (size_t i = 0; first && *w.prefix != '.' && commands[i]; i++)
        if (!(commands[i]->traits & SHELL_ONLY) &&
            strncmp(commands[i]->name, w.prefix, strlen(w.prefix)) == 0)
            offer(&w, commands[i]->name);
    if (out->count == 1 && out->items[0][strlen(out->items[0]) - 1] == '(')
        out->after = 0;
    qsort(out->items, out->count, sizeof(*out->items), compare_items);
    free(w.prefix);
}

/* --- other shells ------------------------------------------------------------------------- */

/* Complete a word before any command. */
static void complete_program(struct wanted *w, const struct option_spec *options,
                             const char *before)
{
    const struct option_spec *o = before ? option_called(options, before) : NULL;
    if (o && o->argument) {
        if (strcmp(before, "-d") == 0 || strcmp(before, "-f") == 0)
            offer_files(w);
    } else if (w->prefix[0] == '-') {
        offer_options(w, options, true);
    } else {
        offer_commands(w, "");
    }
}

void complete_words(struct session *s, const struct option_spec *options, const char *const *words,
                    int count, struct completion *out)
{
    *out = (struct completion){.outside = true};
    struct wanted w = {.session = s, .out = out, .prefix = strdup(words[count - 1])};
    const struct command *c = NULL;
    int at = 0;
    for (; w.prefix && at < count - 1 && !c; at++) {
        const struct option_spec *o = option_called(options, words[at]);
        if (o && o->argument)
            at++;
        else if (words[at][0] != '-' && !(c = command_find(words[at])))
            break; /* SQL */
    }
    if (c)
        complete_argument(&w, c, words + at - 1, count - at);
    else if (w.prefix && at >= count - 1)
        complete_program(&w, options, count > 1 ? words[count - 2] : NULL);
    qsort(out->items, out->count, sizeof(*out->items), compare_items);
    free(w.prefix);
}

void completion_release(struct completion *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i]);
    free(c->common);
    *c = (struct completion){0};
}
