#include "shell/command/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "shell/command/sql_hint.h"
#include "shell/session/human.h"

#define WORDS_MAX   256
#define CONTEXT_MAX 72 /* most bytes to show of the line with an error */

/* Where a unit comes from. */
struct origin {
    const char *name;
    unsigned line;
};

/* --- SQL ---------------------------------------------------------------------------------- */

/* Print the line of `sql` around byte `at`, with a mark below that byte. */
static void show_context(const char *sql, size_t at)
{
    size_t begin = at, end = at;
    while (begin > 0 && sql[begin - 1] != '\n' && at - begin < CONTEXT_MAX / 2)
        begin--;
    while ((sql[begin] & 0xC0) == 0x80) /* do not begin within a character */
        begin++;
    while (sql[end] && sql[end] != '\n' && end - begin < CONTEXT_MAX)
        end++;
    while (end > at && (sql[end] & 0xC0) == 0x80)
        end--;
    struct text line = {0}, before = {0};
    text_escape(&line, sql + begin, end - begin);
    text_escape(&before, sql + begin, at - begin);
    if (text_str(&line) && text_str(&before))
        fprintf(stderr, "    %s\n    %*s^\n", text_str(&line),
                (int)text_width(before.at ? before.at : "", before.len), "");
    text_release(&line);
    text_release(&before);
}

/* Report that SQLite refused the statement that begins at `sql + start`. */
static void say_refused(struct session *s, const char *sql, size_t start, const struct origin *from)
{
    int offset = sqlite3_error_offset(s->db);
    const char *why = ckptdb_why(s->open);
    size_t at = start + (offset > 0 ? (size_t)offset : 0);
    unsigned line = from->line;
    for (size_t i = 0; i < at; i++)
        line += sql[i] == '\n';
    if (from->name)
        complain("%s:%u: %s", from->name, line, why);
    else
        complain("%s", why);
    if (offset >= 0)
        show_context(sql, at);
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(s->db));
    if (message)
        sql_hint(s, message);
    sqlite3_free(message);
}

static double seconds_of(const struct timespec *t)
{
    return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

/* Run a statement, and print its time (if asked for) and hints. */
static int run_timed(struct session *s, sqlite3_stmt *stmt)
{
    struct timespec wall[2], cpu[2];
    bool reads = sqlite3_stmt_readonly(stmt) && !sqlite3_stmt_isexplain(stmt);
    char *sql = reads ? sqlite3_mprintf("%s", sqlite3_sql(stmt)) : NULL;
    clock_gettime(CLOCK_MONOTONIC, &wall[0]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
    int status = render_statement(s, stmt);
    clock_gettime(CLOCK_MONOTONIC, &wall[1]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
    if (s->timer)
        fprintf(stderr, "%.3f s, %.3f s of CPU time\n", seconds_of(&wall[1]) - seconds_of(&wall[0]),
                seconds_of(&cpu[1]) - seconds_of(&cpu[0]));
    if (sql && status == STATUS_FINE && s->err_is_terminal) {
        sql_not_known(s, sql);
        if (s->rows <= 1) /* none, or what an aggregate makes of none */
            sql_dtype_hint(sql);
    }
    sqlite3_free(sql);
    return status;
}

static int run_sql(struct session *s, const char *sql, const struct origin *from)
{
    if (!session_open_for_sql(s)) {
        s->failed = true;
        return STATUS_TROUBLE;
    }
    int status = STATUS_FINE;
    for (const char *at = sql; *at && status == STATUS_FINE;) {
        sqlite3_stmt *stmt;
        const char *tail;
        while (*at == ' ' || *at == '\n')
            at++;
        if (ckptdb_prepare(s->db, at, &stmt, &tail) != SQLITE_OK) {
            say_refused(s, sql, (size_t)(at - sql), from);
            s->failed = true;
            return STATUS_NO;
        }
        if (stmt)
            status = run_timed(s, stmt);
        if (status == STATUS_NO && from->name)
            complain("%s:%u: the statement that begins here failed", from->name, from->line);
        at = tail;
    }
    return status;
}

/* --- dot-commands ------------------------------------------------------------------------- */

/* Find a command by its name or, in the shell, by an unambiguous prefix. .exit and \q are .quit. */
static const struct command *dot_find(const struct session *s, const char *name)
{
    if (strcasecmp(name, "exit") == 0 || strcmp(name, "q") == 0)
        name = "quit";
    else if (strcasecmp(name, "help") == 0)
        name = "help";
    const struct command *found = command_find(name);
    size_t len = strlen(name), count = 0;
    for (size_t i = 0; !found && s->interactive && len > 0 && commands[i]; i++)
        count += strncmp(commands[i]->name, name, len) == 0;
    for (size_t i = 0; count == 1 && commands[i]; i++)
        if (strncmp(commands[i]->name, name, len) == 0)
            found = commands[i];
    return found;
}

static int run_words(struct session *s, char **words, int count)
{
    const struct command *c = count > 0 ? dot_find(s, words[0]) : NULL;
    if (c)
        return command_run(s, c, count - 1, (const char *const *)words + 1);
    const char *near = count > 0 ? command_nearest(words[0], true) : NULL;
    if (near)
        complain("there is no command .%s; the nearest is .%s", words[0], near);
    else
        complain("there is no command .%s; .help lists them", count > 0 ? words[0] : "");
    return STATUS_TROUBLE;
}

/* Run a command that takes the rest of its line unchanged. False: this is not one. */
static bool run_whole(struct session *s, const char *line, int *status)
{
    size_t len = strcspn(line, " \t");
    char *name = strndup(line, len);
    const struct command *c = name ? dot_find(s, name) : NULL;
    free(name);
    if (!c || !(c->traits & WHOLE_LINE))
        return false;
    const char *const words[] = {"--", line + len + strspn(line + len, " \t")};
    *status = command_run(s, c, *words[1] ? 2 : 0, words);
    return true;
}

static int run_dot(struct session *s, const char *line, const struct origin *from)
{
    char *words[WORDS_MAX];
    char *copy = strdup(line + strspn(line, " \t\v\f\r.\\"));
    if (!copy) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    /* People used to SQL end the line with ';', which is not part of the last word. */
    for (size_t len = strlen(copy); len > 0 && strchr("; \t", copy[len - 1]); len--)
        copy[len - 1] = '\0';
    int status = STATUS_TROUBLE, count = 0;
    bool whole = run_whole(s, copy, &status);
    if (!whole)
        count = split_words(copy, words, WORDS_MAX);
    if (count == -1)
        complain("%s: a quote is left open", line);
    else if (count == -2)
        complain("a dot-command has at most %d words", WORDS_MAX);
    else if (!whole)
        status = run_words(s, words, count);
    if (!session_flush(s))
        status = STATUS_TROUBLE;
    s->failed = s->failed || status == STATUS_TROUBLE;
    if (s->failed && from->name)
        complain("%s:%u: stopped by this command", from->name, from->line);
    free(copy);
    return status;
}

/* Whether a line sets something, for which .once waits. */
static bool is_setting(const struct session *s, const char *line)
{
    const char *word = line + strspn(line, " \t\v\f\r.\\");
    const size_t len = strcspn(word, " \t;");
    char *name = strndup(word, len);
    const struct command *c = name ? dot_find(s, name) : NULL;
    free(name);
    return c && (c->traits & SETTING) && word[len + strspn(word + len, " \t;")];
}

/* --- units -------------------------------------------------------------------------------- */

int script_run_unit(struct session *s, enum unit kind, struct splitter *p, const char *name)
{
    const struct origin from = {.name = name, .line = p->first};
    const bool once = s->once && !(kind == UNIT_DOT && is_setting(s, splitter_text(p)));
    int status = STATUS_NO;
    s->failed = false;
    if (kind == UNIT_BAD) {
        complain("%s:%u: not text: a NUL byte, or a statement too long", name ? name : "here",
                 p->line);
        s->failed = true;
    } else if (kind == UNIT_DOT) {
        status = run_dot(s, splitter_text(p), &from);
    } else {
        status = run_sql(s, splitter_text(p), &from);
    }
    if (once && !session_output(s, NULL))
        status = STATUS_TROUBLE;
    splitter_next(p);
    return status;
}

/* After a unit with this status: *status becomes the worst so far. False: the script ends here. */
static bool go_on(const struct session *s, int unit_status, int *status)
{
    *status = unit_status > *status ? unit_status : *status;
    if (s->quit || unit_status == STATUS_INTERRUPTED)
        return false;
    return !s->failed || s->keep_going || s->interactive;
}

int script_run_stream(struct session *s, FILE *in, const char *name)
{
    struct splitter p = {0};
    char *line = NULL;
    size_t space = 0;
    int status = STATUS_FINE;
    bool on = true;
    ssize_t len;
    while (on && !session_interrupted && (len = getline(&line, &space, in)) >= 0) {
        enum unit kind = splitter_line(&p, line, (size_t)len);
        if (kind != UNIT_MORE)
            on = go_on(s, script_run_unit(s, kind, &p, name), &status);
    }
    if (on && !feof(in) && !session_interrupted) { /* also lack of memory for a line */
        complain_errno(errno, name, "cannot read");
        status = STATUS_TROUBLE;
    } else if (on && !session_interrupted && splitter_end(&p) != UNIT_MORE) {
        go_on(s, script_run_unit(s, UNIT_SQL, &p, name), &status);
    }
    free(line);
    splitter_release(&p);
    return session_interrupted ? STATUS_INTERRUPTED : status;
}

int script_run_text(struct session *s, const char *text)
{
    struct splitter p = {0};
    int status = STATUS_FINE;
    bool on = true;
    while (on && *text) {
        size_t len = strcspn(text, "\n");
        len += text[len] == '\n';
        enum unit kind = splitter_line(&p, text, len);
        if (kind != UNIT_MORE)
            on = go_on(s, script_run_unit(s, kind, &p, NULL), &status);
        text += len;
    }
    if (on && splitter_end(&p) != UNIT_MORE)
        go_on(s, script_run_unit(s, UNIT_SQL, &p, NULL), &status);
    splitter_release(&p);
    return status;
}

int script_run_file(struct session *s, const char *path)
{
    if (strcmp(path, "-") == 0)
        return script_run_stream(s, stdin, "stdin");
    struct stat st;
    FILE *in = fopen(path, "r");
    int code = errno;
    if (in && fstat(fileno(in), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(in);
        in = NULL;
        code = EISDIR;
    }
    if (!in) {
        complain_errno(code, path, "cannot open");
        s->failed = true;
        return STATUS_TROUBLE;
    }
    int status = script_run_stream(s, in, path);
    fclose(in);
    return status;
}
