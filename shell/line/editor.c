#include "shell/line/editor.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>
#include <wchar.h>

#include "catalog/base/text.h"
#include "shell/line/complete.h"
#include "shell/line/highlight.h"
#include "shell/line/history.h"
#include "shell/line/paint.h"
#include "shell/session/human.h"

/* --- libedit ------------------------------------------------------------------------------ */

/* The part of libedit's interface that is used here (histedit.h,
 * libedit.so.2, unchanged since 2009). */
typedef struct editline EditLine;
typedef struct history History;

struct hist_event {
    int number;
    const char *text;
};

struct line_info {
    const char *buffer, *cursor, *last;
};

enum {
    EL_EDITOR = 2,
    EL_BIND = 4,
    EL_ADDFN = 9,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_CLIENTDATA = 14,
    EL_PROMPT_ESC = 21,

    H_SETSIZE = 1,
    H_ENTER = 10,
    H_SETUNIQUE = 20,

    CC_REDISPLAY = 8,
    CC_REFRESH = 4,
    CC_REFRESH_BEEP = 9,
};

struct libedit {
    EditLine *(*init)(const char *, FILE *, FILE *, FILE *);
    void (*end)(EditLine *);
    int (*set)(EditLine *, int, ...);
    int (*get)(EditLine *, int, ...);
    const char *(*gets)(EditLine *, int *);
    const struct line_info *(*line)(EditLine *);
    int (*insert)(EditLine *, const char *);
    void (*erase)(EditLine *, int); /* this many characters before the cursor */
    void (*resize)(EditLine *);
    int (*source)(EditLine *, const char *);
    History *(*history_init)(void);
    void (*history_end)(History *);
    int (*history)(History *, struct hist_event *, int, ...);
};

static bool libedit_load(struct libedit *lib)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"el_init", &lib->init},
        {"el_end", &lib->end},
        {"el_set", &lib->set},
        {"el_get", &lib->get},
        {"el_gets", &lib->gets},
        {"el_line", &lib->line},
        {"el_insertstr", &lib->insert},
        {"el_deletestr", &lib->erase},
        {"el_resize", &lib->resize},
        {"el_source", &lib->source},
        {"history_init", &lib->history_init},
        {"history_end", &lib->history_end},
        {"history", &lib->history},
    };
    void *handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *found = dlsym(handle, symbols[i].name);
        memcpy(symbols[i].slot, &found, sizeof(found)); /* POSIX: function pointers fit */
        if (!found)
            return false;
    }
    return handle != NULL; /* never closed: used until the program ends */
}

/* --- the editor --------------------------------------------------------------------------- */

struct editor {
    struct session *session;
    struct libedit lib;
    EditLine *line; /* NULL: plain lines */
    History *history;
    char *history_path; /* NULL: not kept */
    bool continued;
    char inside; /* if the line begins in a quote or comment: which */
    char *plain; /* getline()'s buffer */
    size_t plain_space;
};

/* libedit passes only its own handle to callbacks, and el_get() is known only once the
 * library is loaded: its address, the same for all editors, is kept here. */
static int (*el_get)(EditLine *, int, ...);

static struct editor *editor_of(EditLine *line)
{
    struct editor *e = NULL;
    el_get(line, EL_CLIENTDATA, &e);
    return e;
}

/* '\1' encloses what takes no columns. */
static char *prompt(EditLine *line)
{
    static char plain[] = "ckptdb> ", more[] = "   ...> ";
    static char colored[] = "\1\033[1;36m\1ckptdb>\1\033[0m\1 ";
    const struct editor *e = editor_of(line);
    return e->continued ? more : e->session->color ? colored : plain;
}

/* Wait for a byte; false if Ctrl-C came first. SIGINT is unblocked only while waiting, so
 * that it cannot arrive between the check of the flag and the wait. */
static bool wait_for_byte(void)
{
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    int ready = -1;
    while (ready < 0 && !session_interrupted) {
        fd_set in;
        FD_ZERO(&in);
        FD_SET(STDIN_FILENO, &in);
        ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &before);
        if (ready < 0 && errno != EINTR)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !session_interrupted;
}

#define PROMPT_COLUMNS 8    /* width of both prompts */
#define PAINTED_MAX    4096 /* longer lines are not coloured */

/* Unless more input is waiting, paint colours over the line that libedit has drawn. */
static void paint_line(struct editor *e)
{
    const struct line_info *info = e->lib.line(e->line);
    size_t len = (size_t)(info->last - info->buffer);
    unsigned char what[PAINTED_MAX];
    struct winsize screen;
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    if (len == 0 || len > sizeof(what) || poll(&more, 1, 0) != 0 ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) != 0)
        return;
    highlight(info->buffer, len, e->inside, e->continued, what);
    const struct painting p = {
        .line = info->buffer,
        .len = len,
        .cursor = (size_t)(info->cursor - info->buffer),
        .prompt = PROMPT_COLUMNS,
        .rows = screen.ws_row,
        .columns = screen.ws_col,
        .what = what,
    };
    struct text out = {0};
    paint(&p, &out);
    if (out.len && text_str(&out))
        fwrite(text_str(&out), 1, out.len, stdout);
    fflush(stdout);
    text_release(&out);
}

/* Read one character, byte by byte. */
static int read_character(EditLine *line, wchar_t *out)
{
    mbstate_t state = {0};
    struct editor *e = editor_of(line);
    if (e && e->session->color)
        paint_line(e);
    for (;;) {
        char byte;
        if (!wait_for_byte() || read(STDIN_FILENO, &byte, 1) <= 0)
            return 0;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): it has a state of its own */
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-2)
            continue;
        if (used == (size_t)-1)
            *out = L'?';
        return 1;
    }
}

/* Print the candidates in columns below the line. */
static void show_items(const struct completion *c)
{
    size_t widest = 1;
    for (size_t i = 0; i < c->count; i++) {
        size_t width = text_width(c->items[i], strlen(c->items[i]));
        widest = width > widest ? width : widest;
    }
    size_t across = 80 / (widest + 2) ? 80 / (widest + 2) : 1;
    size_t down = (c->count + across - 1) / across;
    putchar('\n');
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < c->count; i += down) {
            const size_t len = strlen(c->items[i]), has = text_width(c->items[i], len);
            const size_t width = i + down < c->count ? widest + 2 : 0;
            struct text safe = {0};
            if (text_escape(&safe, c->items[i], len) && text_str(&safe))
                printf("%s%*s", text_str(&safe), has < width ? (int)(width - has) : 0, "");
            text_release(&safe);
        }
        putchar('\n');
    }
    if (c->more)
        puts("...");
    fflush(stdout);
}

/* Replace what was typed of the word by what all candidates begin with. */
static void put_word(struct editor *e, const char *typed, const struct completion *c, bool only)
{
    const char quote[2] = {c->quote}, after[2] = {(char)(only ? c->after : 0)};
    int characters = 0;
    for (const char *at = typed; *at; at++)
        characters += ((unsigned char)*at & 0xC0) != 0x80;
    e->lib.erase(e->line, characters);
    e->lib.insert(e->line, quote);
    e->lib.insert(e->line, c->common);
    e->lib.insert(e->line, after);
}

/* Tab: insert what all candidates begin with; if that adds nothing, list them. */
static unsigned char on_tab(EditLine *line, int key)
{
    (void)key;
    struct editor *e = editor_of(line);
    const struct line_info *info = e->lib.line(line);
    size_t len = (size_t)(info->cursor - info->buffer);
    char *text = strndup(info->buffer, len);
    unsigned char result = CC_REFRESH_BEEP;
    struct completion c = {0};
    if (text)
        complete_line(e->session, text, len, e->continued, &c);
    if (c.common) {
        size_t typed = len - c.word, common = strlen(c.common);
        bool only = c.count == 1 && !c.more;
        if (common > typed || (only && c.after)) {
            put_word(e, text + c.word, &c, only);
            result = CC_REFRESH;
        } else if (c.count > 1) {
            show_items(&c);
            result = CC_REDISPLAY;
        }
    }
    completion_release(&c);
    free(text);
    return result;
}

static void remember(void *context, const char *line)
{
    struct editor *e = context;
    struct hist_event event;
    e->lib.history(e->history, &event, H_ENTER, line);
}

static void bind_keys(struct editor *e)
{
    static const char *const keys[][2] = {
        {"^I", "ckptdb-complete"},         {"^R", "em-inc-search-prev"},
        {"\\e[3~", "ed-delete-next-char"}, {"\\e[H", "ed-move-to-beg"},
        {"\\e[F", "ed-move-to-end"},       {"\\e[1;5D", "ed-prev-word"},
        {"\\e[1;5C", "em-next-word"},
    };
    e->lib.set(e->line, EL_ADDFN, "ckptdb-complete", "complete", on_tab);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        e->lib.set(e->line, EL_BIND, keys[i][0], keys[i][1], NULL);
}

/* Leaves e->line NULL if there is no libedit or the terminal cannot be used with it. */
static void start_libedit(struct editor *e)
{
    const char *term = environment("TERM");
    struct hist_event event;
    if (!term || strcmp(term, "dumb") == 0 || !libedit_load(&e->lib))
        return;
    /* Only the encoding of the terminal's characters.
     * NOLINTNEXTLINE(concurrency-mt-unsafe): before there are threads */
    setlocale(LC_CTYPE, "");
    el_get = e->lib.get;
    e->line = e->lib.init("ckptdb", stdin, stdout, stderr);
    e->history = e->lib.history_init();
    if (!e->line || !e->history)
        return;
    e->lib.history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    e->lib.history(e->history, &event, H_SETUNIQUE, 1);
    e->lib.set(e->line, EL_CLIENTDATA, e);
    e->lib.set(e->line, EL_PROMPT_ESC, prompt, '\1');
    e->lib.set(e->line, EL_EDITOR, "emacs");
    e->lib.set(e->line, EL_HIST, e->lib.history, e->history);
    e->lib.set(e->line, EL_GETCFN, read_character);
    bind_keys(e);
    e->lib.source(e->line, NULL); /* ~/.editrc */
    e->history_path = history_path();
    if (e->history_path)
        history_load(e->history_path, remember, e);
}

struct editor *editor_open(struct session *s)
{
    struct editor *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->session = s;
    start_libedit(e);
    return e;
}

void editor_close(struct editor *e)
{
    if (!e)
        return;
    if (e->history)
        e->lib.history_end(e->history);
    if (e->line)
        e->lib.end(e->line);
    free(e->history_path);
    free(e->plain);
    free(e);
}

void editor_keep(struct editor *e, const char *text)
{
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\n", text[len - 1]))
        len--;
    char *copy = e->line && e->history && len > 0 ? strndup(text, len) : NULL;
    if (copy) {
        remember(e, copy);
        if (e->history_path)
            history_append(e->history_path, copy);
    }
    free(copy);
}

static enum line_end plain_line(struct editor *e, const char **line, size_t *len)
{
    fputs(e->continued ? "   ...> " : "ckptdb> ", stdout);
    fflush(stdout);
    ssize_t got = getline(&e->plain, &e->plain_space, stdin);
    *line = e->plain;
    *len = got > 0 ? (size_t)got : 0;
    if (got < 0)
        clearerr(stdin);
    return got >= 0 ? LINE_READ : LINE_EOF;
}

enum line_end editor_line(struct editor *e, bool continued, char inside, const char **line,
                          size_t *len)
{
    e->continued = continued;
    e->inside = inside;
    session_interrupted = 0;
    bool edits = e->line && e->history;
    enum line_end end;
    if (edits) {
        int count = 0;
        e->lib.resize(e->line);
        *line = e->lib.gets(e->line, &count);
        *len = count > 0 ? (size_t)count : 0;
        end = *line && count > 0 ? LINE_READ : LINE_EOF;
    } else {
        end = plain_line(e, line, len);
    }
    if (session_interrupted && end != LINE_READ) {
        puts(edits ? "^C" : "");
        end = LINE_DROPPED;
    }
    session_interrupted = 0;
    return end;
}
