#include "shell/session/session.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/session/fold.h"
#include "shell/session/pager.h"

atomic_int session_interrupted;

/* --- messages ----------------------------------------------------------------------------- */

void complain(const char *fmt, ...)
{
    struct text raw = {0}, safe = {0};
    va_list args;
    va_start(args, fmt);
    char small[1024];
    int len = vsnprintf(small, sizeof(small), fmt, args);
    va_end(args);
    va_start(args, fmt);
    if (len >= (int)sizeof(small) && (raw.at = malloc((size_t)len + 1)))
        vsnprintf(raw.at, (size_t)len + 1, fmt, args);
    va_end(args);
    const char *message = raw.at ? raw.at : small;
    text_escape(&safe, message, strlen(message));
    FILE *to = pager_talk();
    fflush(stdout); /* keeps the order of the two streams */
    struct text line = {0};
    text_addf(&line, "ckptdb: %s", text_str(&safe) ? safe.at : "no memory");
    fputs(to == stderr && isatty(STDERR_FILENO) ? "\r\033[K" : "", to);
    if (text_str(&line))
        fold_line(to, line.at, line.len, fold_columns(to), 2);
    text_release(&line);
    text_release(&raw);
    text_release(&safe);
}

char *errno_text(int code, char out[ERRNO_TEXT])
{
    if (strerror_r(code, out, ERRNO_TEXT) != 0)
        snprintf(out, ERRNO_TEXT, "error %d", code);
    return out;
}

bool complain_errno(int code, const char *path, const char *doing)
{
    char why[ERRNO_TEXT];
    complain("%s%s%s: %s", path ? path : "", path ? ": " : "", doing, errno_text(code, why));
    return false;
}

int complain_status(const struct ckptdb_error *err)
{
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    if (err->status == CKPTDB_INTERRUPTED)
        return STATUS_INTERRUPTED;
    complain("%s", ckptdb_error_text(err, text, sizeof(text)));
    return err->status == CKPTDB_ARGUMENT || err->status == CKPTDB_IO ? STATUS_TROUBLE : STATUS_NO;
}

/* --- environment -------------------------------------------------------------------------- */

/* The first interrupt asks everything to stop in good order. The fourth ends the program. */
static void on_interrupt(int number)
{
    if (session_interrupted >= 3)
        _exit(128 + number);
    session_interrupted++;
}

static bool is_interrupted(void *context)
{
    (void)context;
    return session_interrupted != 0;
}

void session_signals(void)
{
    struct sigaction act = {.sa_handler = on_interrupt};
    sigemptyset(&act.sa_mask);
    ckptdb_stopping(is_interrupted, NULL);
    sigaction(SIGINT, &act, NULL); /* no SA_RESTART: terminal reads return */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* hitting a file size limit is an ordinary error */
}

static void say_line(void *context, const char *line)
{
    (void)context;
    complain("%s", line);
}

/* --- catalog ------------------------------------------------------------------------------ */

/* Make the parent folders of a path, like `mkdir -p`. Errors show when the file is opened. */
static void make_parents(const char *path)
{
    struct text part = {0};
    for (const char *c = path; *c; c++) {
        if (*c == '/' && c > path && text_str(&part))
            mkdir(text_str(&part), 0777);
        text_addc(&part, *c);
    }
    text_release(&part);
}

static struct ckptdb_watch watch_with(const struct ckptdb_watch *progress)
{
    struct ckptdb_watch watch = {.size = sizeof(watch)};
    if (progress)
        watch = *progress;
    watch.stop = is_interrupted;
    watch.say = say_line;
    return watch;
}

bool session_open(struct session *s, enum ckptdb_mode mode)
{
    if (s->db && (mode == CKPTDB_READ || s->db_mode != CKPTDB_READ))
        return true;
    struct ckptdb_error err;
    ckptdb *catalog;
    const bool in_memory = strcmp(s->catalog, ":memory:") == 0;
    bool made = mode == CKPTDB_CREATE && access(s->catalog, F_OK) != 0;
    if (mode == CKPTDB_CREATE && s->default_place)
        make_parents(s->catalog);
    const struct ckptdb_watch watch = watch_with(NULL);
    ckptdb_open_watched(in_memory ? NULL : s->catalog, mode, &watch, &catalog, &err);
    if (catalog && made && !in_memory && s->interactive)
        complain("made a new catalog, %s", s->catalog);
    if (err.status == CKPTDB_MISSING && access(s->catalog, F_OK) != 0)
        complain("there is no catalog at %s; `ckptdb import PATH` makes one, -d FILE or $CKPTDB "
                 "names another",
                 s->catalog);
    else if (!catalog)
        complain_status(&err);
    if (!catalog)
        return false;
    ckptdb_close(s->open);
    s->open = catalog;
    s->db = ckptdb_sqlite(catalog);
    s->db_mode = in_memory ? CKPTDB_CREATE : mode;
    s->in_memory = in_memory;
    return true;
}

void session_watch(ckptdb *catalog, const struct ckptdb_watch *progress)
{
    const struct ckptdb_watch watch = watch_with(progress);
    ckptdb_watch(catalog, &watch);
}

bool session_may_write(const struct session *s)
{
    return s->in_memory ||
           (!s->readonly && (access(s->catalog, W_OK) == 0 || access(s->catalog, R_OK) != 0));
}

bool session_open_for_sql(struct session *s)
{
    return session_open(s, !session_may_write(s) ? CKPTDB_READ
                           : s->interactive      ? CKPTDB_CREATE
                                                 : CKPTDB_USE);
}

void session_close(struct session *s)
{
    ckptdb_close(s->open);
    s->open = NULL;
    s->db = NULL;
}

bool session_reopen(struct session *s, const char *path, bool make)
{
    struct session before = *s;
    char *copy = strdup(path);
    if (!copy) {
        complain("no memory");
        return false;
    }
    s->open = NULL;
    s->db = NULL;
    s->catalog = copy;
    s->default_place = false;
    if (!(make ? session_open(s, CKPTDB_CREATE) : session_open_for_sql(s))) {
        *s = before;
        free(copy);
        return false;
    }
    ckptdb_close(before.open);
    free(before.opened);
    s->opened = copy;
    return true;
}

void session_release(struct session *s)
{
    session_output(s, NULL);
    session_close(s);
    free(s->opened);
    free(s->pager);
    free(s->null_text);
}

/* --- output ------------------------------------------------------------------------------- */

bool session_flush(struct session *s)
{
    int code = fflush(s->out) == 0 ? 0 : errno;
    if (code == 0 && !ferror(s->out))
        return true;
    clearerr(s->out);
    if (s->out_is_pipe || pager_left(s))
        return true;
    s->failed = true;
    if (code)
        return complain_errno(code, NULL, "cannot write all of the output");
    complain("cannot write all of the output");
    return false;
}

/* Close the output and go back to stdout. */
static void output_close(struct session *s)
{
    if (s->out == stdout)
        return;
    session_flush(s);
    if (s->out_is_pipe)
        pclose(s->out);
    else if (fclose(s->out) != 0)
        complain("cannot write all of the output");
    if (s->out_is_pipe)
        signal(SIGPIPE, SIG_DFL);
    s->out = stdout;
    s->out_is_pipe = false;
    s->out_is_terminal = isatty(STDOUT_FILENO);
}

bool session_output(struct session *s, const char *target)
{
    output_close(s);
    s->once = false;
    if (!target)
        return true;
    bool pipe = target[0] == '|';
    fflush(stdout);
    if (pipe)
        signal(SIGPIPE, SIG_IGN);             /* its end must not end the shell */
    FILE *out = pipe ? popen(target + 1, "w") /* NOLINT(cert-env33-c): the user's own command */
                     : fopen(target, "w");
    if (!out) {
        s->failed = true;
        return complain_errno(errno, target, pipe ? "cannot run" : "cannot open for writing");
    }
    s->out = out;
    s->out_is_pipe = pipe;
    s->out_is_terminal = false;
    return true;
}

/* --- queries ------------------------------------------------------------------------------ */

/* Print the connection's error. An interrupt needs no message. */
static void say_unread(struct session *s)
{
    if (!session_interrupted)
        complain("%s", ckptdb_why(s->open));
    s->unread = s->failed = true;
}

bool session_row(struct session *s, sqlite3_stmt *stmt)
{
    const int rc = stmt ? sqlite3_step(stmt) : SQLITE_DONE;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        say_unread(s);
    return rc == SQLITE_ROW;
}

sqlite3_stmt *query_vprepare(sqlite3 *db, const char *sql, const char *types, va_list args)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    for (int i = 0; rc == SQLITE_OK && types[i]; i++) {
        rc = types[i] == 'i'
                 ? sqlite3_bind_int64(stmt, i + 1, va_arg(args, int64_t))
                 : sqlite3_bind_text(stmt, i + 1, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
        if (rc == SQLITE_RANGE) /* queries may use fewer than others */
            rc = SQLITE_OK;
    }
    if (rc == SQLITE_OK)
        return stmt;
    sqlite3_finalize(stmt);
    return NULL;
}

sqlite3_stmt *session_vprepare(struct session *s, const char *sql, const char *types, va_list args)
{
    sqlite3_stmt *stmt = query_vprepare(s->db, sql, types, args);
    if (!stmt)
        say_unread(s);
    return stmt;
}

sqlite3_stmt *session_prepare(struct session *s, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *stmt = session_vprepare(s, sql, types, args);
    va_end(args);
    return stmt;
}

int64_t session_number(struct session *s, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *stmt = session_vprepare(s, sql, types, args);
    va_end(args);
    const int64_t number = session_row(s, stmt) ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return number;
}

bool session_regex(struct session *s, const char *regex)
{
    if (regex)
        session_number(s, "SELECT regexp_match(?1, '')", "s", regex);
    return !s->unread;
}
