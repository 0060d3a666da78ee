#include "shell/line/complete.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/command/statements.h"

/* A word to complete, on its way through the sources of candidates. */
struct wanted {
    struct session *session;
    struct completion *out;
    char *prefix;
};

static void offer(struct wanted *w, const char *text)
{
    struct completion *c = w->out;
    if (!text)
        return;
    if (!c->common) {
        c->common = strdup(text);
    } else {
        size_t same = 0;
        while (c->common[same] && c->common[same] == text[same])
            same++;
        c->common[same] = '\0';
    }
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i], text) == 0)
            return;
    if (c->count == COMPLETION_SHOWN) {
        c->more = true;
        return;
    }
    if ((c->items[c->count] = strdup(text)))
        c->count++;
}

static bool begins(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* Offer the first column of every row; ?1 is the prefix. */
static void offer_rows(struct wanted *w, const char *sql)
{
    sqlite3_stmt *stmt;
    if (!w->session->db ||
        sqlite3_prepare_v2(w->session->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_text(stmt, 1, w->prefix, -1, SQLITE_STATIC);
    while (sqlite3_step(stmt) == SQLITE_ROW && !session_interrupted)
        offer(w, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* --- sources ------------------------------------------------------------------------------ */

static void offer_relations(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                  " AND lower(substr(name, 1, length(?1))) = lower(?1)");
}

static void offer_columns(struct wanted *w)
{
    offer_rows(w, "SELECT c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
                  " WHERE m.type IN ('table', 'view')"
                  " AND lower(substr(c.name, 1, length(?1))) = lower(?1)");
}

static void offer_functions(struct wanted *w)
{
    offer_rows(
        w,
        "SELECT name || '(' FROM pragma_function_list"
        " WHERE lower(substr(name, 1, length(?1))) = lower(?1) AND name GLOB '[a-z]*'");
}

/* In the letters that the word was begun with. */
static void offer_keywords(struct wanted *w)
{
    bool lower = w->prefix[0] >= 'a';
    for (int i = 0; *w->prefix && i < sqlite3_keyword_count(); i++) {
        const char *name;
        char word[64];
        int len;
        if (sqlite3_keyword_name(i, &name, &len) != SQLITE_OK || len >= (int)sizeof(word))
            continue;
        for (int k = 0; k < len; k++)
            word[k] = (char)(name[k] | (lower && name[k] >= 'A' ? 0x20 : 0));
        word[len] = '\0';
        if (begins(word, w->prefix))
            offer(w, word);
    }
}

/* Names, whole paths, and what follows one of their '/'. */
static void offer_checkpoints(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM labels WHERE substr(name, 1, length(?1)) = ?1");
    if (!*w->prefix)
        return;
    offer_rows(w, "SELECT path FROM checkpoints WHERE substr(path, 1, length(?1)) = ?1");
    if (*w->prefix != '/')
        offer_rows(w, "SELECT substr(path, instr(path, '/' || ?1) + 1) FROM checkpoints"
                      " WHERE instr(path, '/' || ?1) > 0");
}

/* The first and the last of the range bound what all have in common, however many. */
static void offer_tensors(struct wanted *w)
{
    offer_rows(
        w, "SELECT min(name) FROM names WHERE name >= ?1 AND name < ?1 || char(1114111)");
    offer_rows(
        w, "SELECT max(name) FROM names WHERE name >= ?1 AND name < ?1 || char(1114111)");
    offer_rows(w, "SELECT name FROM names WHERE name >= ?1 AND name < ?1 || char(1114111)"
                  " ORDER BY name LIMIT 119");
    w->out->more |= w->out->count >= COMPLETION_SHOWN - 1;
}

static void offer_rulesets(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM ruleset WHERE substr(name, 1, length(?1)) = ?1");
}

static void offer_optimizers(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM optimizer WHERE substr(name, 1, length(?1)) = ?1");
}

static void offer_file(struct wanted *w, const char *folder, const char *name)
{
    struct text path = {0};
    struct stat st;
    text_addf(&path, "%s%s", folder, name);
    if (text_str(&path) && stat(text_str(&path), &st) == 0 && S_ISDIR(st.st_mode))
        text_addc(&path, '/');
    offer(w, text_str(&path));
    text_release(&path);
}

static void offer_files(struct wanted *w)
{
    const char *slash = strrchr(w->prefix, '/'), *base = slash ? slash + 1 : w->prefix;
    char *folder = strndup(w->prefix, (size_t)(base - w->prefix));
    DIR *dir = folder ? opendir(*folder ? folder : ".") : NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, its own directory */
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strncmp(e->d_name, base, strlen(base)) == 0 &&
            (e->d_name[0] != '.' || *base == '.') && strcmp(e->d_name, ".") != 0 &&
            strcmp(e->d_name, "..") != 0)
            offer_file(w, folder, e->d_name);
    if (dir)
        closedir(dir);
    free(folder);
    if (w->out->count == 1 && w->out->items[0][strlen(w->out->items[0]) - 1] == '/')
        w->out->after = 0;
}

static void offer_commands(struct wanted *w, const char *dot)
{
    for (size_t i = 0; commands[i]; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%s", dot, commands[i]->name);
        if (begins(name, w->prefix))
            offer(w, name);
    }
}

static void offer_commands_bare(struct wanted *w)
{
    offer_commands(w, "");
}

static void offer_modes(struct wanted *w)
{
    for (int i = 0; mode_names[i]; i++)
        if (begins(mode_names[i], w->prefix))
            offer(w, mode_names[i]);
}

/* --- dot-commands ------------------------------------------------------------------------- */

/* What stands for what in `args` and in the arguments of options. */
static const struct {
    const char *word;
    void (*offer)(struct wanted *);
} kinds[] = {
    {"CHECKPOINT", offer_checkpoints},
    {"A", offer_checkpoints},
    {"B", offer_checkpoints},
    {"NAME", offer_tensors},
    {"PATH", offer_files},
    {"FILE", offer_files},
    {"OUT", offer_files},
    {"OLD", offer_files},
    {"NEW", offer_files},
    {"COMMAND", offer_commands_bare},
    {"RULESET", offer_rulesets},
    {"OPTIMIZER", offer_optimizers},
    {"MODE", offer_modes},
    {"GLOB", offer_relations},
};

static void offer_kind(struct wanted *w, const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strlen(kinds[i].word) == len && memcmp(kinds[i].word, word, len) == 0)
            kinds[i].offer(w);
}

/* The operand at `position` of a usage line: its capital letters; the last repeats. */
static void offer_operand(struct wanted *w, const struct command *c, int position)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *found = NULL;
    size_t found_len = 0;
    for (const char *at = c->args; *at && position >= 0;) {
        size_t word = strcspn(at, " "), skip = strspn(at, "[");
        if (at[skip] == '-')
            break;
        size_t len = strspn(at + skip, capitals);
        if (len > 0) {
            found = at + skip;
            found_len = len;
            position--;
        }
        at += word + strspn(at + word, " ");
    }
    if (found)
        offer_kind(w, found, found_len);
}

static const struct option_spec *option_called(const struct command *c, const char *name)
{
    for (const struct option_spec *o = c->options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static void complete_argument(struct wanted *w, const struct command *c, char **words,
                              int count)
{
    const struct option_spec *before =
        count > 1 ? option_called(c, words[count - 1]) : NULL;
    if (before && before->argument) {
        offer_kind(w, before->argument, strlen(before->argument));
        return;
    }
    if (w->prefix[0] == '-') {
        for (const struct option_spec *o = c->options; o && o->name; o++)
            if (begins(o->name, w->prefix))
                offer(w, o->name);
        return;
    }
    int position = 0;
    for (int i = 1; i < count; i++) {
        const struct option_spec *o = option_called(c, words[i]);
        position += words[i][0] != '-';
        i += o && o->argument;
    }
    offer_operand(w, c, position);
}

static void complete_dot(struct wanted *w, const char *line, size_t len)
{
    char *words[32];
    while (w->out->word > 0 && !strchr(" \t'\"", line[w->out->word - 1]))
        w->out->word--;
    w->prefix = strndup(line + w->out->word, len - w->out->word);
    bool quoted = w->out->word > 0 && strchr("'\"", line[w->out->word - 1]);
    char *before = strndup(line, w->out->word - quoted);
    if (quoted)
        w->out->after = line[w->out->word - 1];
    int count = before && w->prefix ? split_words(before, words, 32) : -1;
    const struct command *c = count > 0 ? command_find(words[0] + 1) : NULL;
    if (count == 0)
        offer_commands(w, ".");
    else if (c)
        complete_argument(w, c, words, count);
    free(before);
}

/* --- SQL ---------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Whether the word before `end` is one after which a table's name comes. */
static bool wants_relation(const char *line, size_t end)
{
    static const char *const heads[] = {"from",   "join",  "into",
                                        "update", "table", "view"};
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

/* Where the string begins that is open at the end of the line; `len` if none is. */
static size_t open_string(const char *line, size_t len)
{
    size_t begin = len;
    for (size_t i = 0; i < len; i++)
        if (line[i] == '\'')
            begin = begin == len ? i + 1 : len;
    return begin;
}

static void complete_sql(struct wanted *w, const char *line, size_t len)
{
    size_t string = open_string(line, len);
    if (string < len || (len > 0 && line[len - 1] == '\'')) {
        w->out->word = string;
        w->out->after = '\'';
        if ((w->prefix = strndup(line + string, len - string))) {
            offer_checkpoints(w);
            offer_tensors(w);
        }
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
    } else if (*w->prefix) {
        offer_keywords(w);
        offer_relations(w);
        offer_columns(w);
        offer_functions(w);
    }
}

static int compare(const void *a, const void *b)
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
    if (!continued && blanks < len && line[blanks] == '.')
        complete_dot(&w, line, len);
    else
        complete_sql(&w, line, len);
    if (out->count == 1 && out->items[0][strlen(out->items[0]) - 1] == '(')
        out->after = 0;
    qsort(out->items, out->count, sizeof(*out->items), compare);
    free(w.prefix);
}

void completion_release(struct completion *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->items[i]);
    free(c->common);
    *c = (struct completion){0};
}
