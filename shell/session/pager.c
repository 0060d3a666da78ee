/* fopencookie() */
#define _GNU_SOURCE /* NOLINT(bugprone-*,cert-*,readability-*): the name is glibc's */
#include "shell/session/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "catalog/base/text.h"

/* Defaults for `less`, unless the user has set others: leave if all fits on the screen,
 * pass colours on, and leave the text on the screen at the end. */
#define SURROUNDINGS                                                                               \
    "LESS=\"${LESS-FRX}\" LESSCHARSET=\"${LESSCHARSET-utf-8}\"; "                                  \
    "export LESS LESSCHARSET; "

/* There is only one terminal, so only one pager at a time. */
static struct pager {
    unsigned depth; /* of nested pager_begin() */
    const char *command;
    FILE *stream; /* s->out while paging; NULL: not paging */
    FILE *pipe;   /* to the running pager; NULL: not started */
    bool through; /* no pager: write straight to stdout */
    bool left;    /* the user quit the pager early */
    struct text held;
    size_t lines, column; /* position on the screen after `held` */
    struct winsize screen;
} pager;

const char *pager_usual(void)
{
    const char *set = getenv("PAGER"); /* NOLINT(concurrency-mt-unsafe): nothing sets it */
    return set ? set : "less";
}

static const char *pager_command(const struct session *s)
{
    const char *command = s->pager ? s->pager : pager_usual();
    const char *term = environment("TERM");
    if (!s->pager && (!term || strcmp(term, "dumb") == 0))
        return NULL; /* the pager could only complain */
    return *command ? command : NULL;
}

/* Count the screen lines that the text takes, including wrapped ones. */
static void count_lines(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool continues = ((unsigned char)at[i] & 0xC0) == 0x80;
        pager.column += !continues;
        if (at[i] == '\n' || pager.column > pager.screen.ws_col) {
            pager.lines++;
            pager.column = at[i] != '\n';
        }
    }
}

static void release_held(FILE *to)
{
    fwrite(pager.held.at ? pager.held.at : "", 1, pager.held.len, to);
    text_release(&pager.held);
}

static void start_pager(void)
{
    struct text command = {0};
    const bool name = strcspn(pager.command, " \t\"'`$&;|<>()=\\") == strlen(pager.command);
    text_adds(&command, SURROUNDINGS);
    if (name) /* what is not installed would take the output with it */
        text_addf(&command, "command -v %s >/dev/null || exec cat; ", pager.command);
    text_adds(&command, pager.command);
    fflush(stdout);
    if (text_str(&command))
        pager.pipe = popen(text_str(&command), "w"); /* NOLINT(cert-env33-c): the user's */
    pager.through = !pager.pipe;
    if (pager.pipe)
        signal(SIGPIPE, SIG_IGN); /* quitting the pager must not end the shell */
    release_held(pager.pipe ? pager.pipe : stdout);
    text_release(&command);
}

/* The write function of pager.stream. */
static ssize_t take_output(void *unused, const char *at, size_t len)
{
    (void)unused;
    if (!pager.pipe && !pager.through) {
        if (!text_add(&pager.held, at, len))
            return 0;
        count_lines(at, len);
        if (pager.lines >= pager.screen.ws_row)
            start_pager();
        return (ssize_t)len;
    }
    FILE *to = pager.pipe ? pager.pipe : stdout;
    if (fwrite(at, 1, len, to) == len && (!pager.pipe || fflush(to) == 0))
        return (ssize_t)len;
    pager.left = pager.pipe != NULL;
    errno = EPIPE;
    return 0;
}

void pager_begin(struct session *s)
{
    if (pager.depth++ > 0)
        return;
    const char *command = pager_command(s);
    if (!command || s->out != stdout || !s->out_is_terminal || !isatty(STDIN_FILENO) ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &pager.screen) != 0 || pager.screen.ws_row < 2 ||
        pager.screen.ws_col < 2)
        return;
    pager.stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take_output});
    if (!pager.stream)
        return;
    pager.command = command;
    s->out = pager.stream;
}

void pager_end(struct session *s)
{
    if (--pager.depth > 0 || !pager.stream)
        return;
    fclose(pager.stream);
    s->out = stdout;
    if (pager.pipe) {
        pclose(pager.pipe);
        signal(SIGPIPE, SIG_DFL);
    } else {
        release_held(stdout);
        fflush(stdout);
    }
    text_release(&pager.held);
    pager = (struct pager){0};
}

bool pager_left(const struct session *s)
{
    return s->out == pager.stream && pager.stream && pager.left;
}

FILE *pager_talk(void)
{
    if (!pager.stream || !isatty(STDERR_FILENO))
        return stderr;
    fflush(pager.stream);
    if (pager.pipe)
        return pager.pipe;
    pager.through = true;
    release_held(stdout);
    fflush(stdout);
    return stderr;
}
