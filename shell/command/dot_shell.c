/*
 * dot_shell.c - other catalogs and programs: .open, .shell and .pager.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/command/command.h"
#include "shell/session/pager.h"

static const struct option_spec open_options[] = {
    {"--new", NULL, "create it if it does not exist"},
    {0},
};

extern const struct command command_open;

static int open_run(struct session *s, const struct args *args)
{
    const char *path = args->operand[0];
    bool make = args_option(&command_open, args, "--new");
    if (make && s->readonly) {
        complain("--new writes a catalog: --readonly forbids it");
        return STATUS_TROUBLE;
    }
    if (!make && access(path, F_OK) != 0) {
        complain("there is no catalog at %s; --new makes one", path);
        return STATUS_TROUBLE;
    }
    return session_reopen(s, path, make) ? STATUS_FINE : STATUS_TROUBLE;
}

const struct command command_open = {
    .name = "open",
    .args = "FILE [--new]",
    .summary = "open another catalog in place of this one",
    .help = "  .open others/catalog.db",
    .options = open_options,
    .min_args = 1,
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS,
    .run = open_run,
};

static int shell_run(struct session *s, const struct args *args)
{
    const char *shell = environment("SHELL");
    fflush(s->out);
    fflush(stdout);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): the user's own command */
    int status = system(args->count ? args->operand[0] : shell ? shell : "sh");
    if (status == 0)
        return STATUS_FINE;
    if (WIFEXITED(status))
        complain("the command ended with status %d", WEXITSTATUS(status));
    else
        complain(status < 0 ? "the command could not be run" : "the command was killed");
    return STATUS_NO;
}

const struct command command_shell = {
    .name = "shell",
    .args = "[COMMAND]",
    .summary = "run a system command, or $SHELL",
    .help = "The rest of the line is the command, unchanged.\n"
            "\n"
            "  .shell ls -l runs | head",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | WHOLE_LINE,
    .run = shell_run,
};

static int pager_run(struct session *s, const struct args *args)
{
    const char *given = args->count ? args->operand[0] : NULL, *usual = pager_usual();
    if (!given) {
        const char *now = s->pager ? s->pager : usual;
        fprintf(s->out, "%s\n", *now ? now : "off");
        return STATUS_FINE;
    }
    char *pager = strdup(strcmp(given, "off") == 0  ? ""
                         : strcmp(given, "on") != 0 ? given
                         : *usual                   ? usual
                                                    : "less");
    if (!pager) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    free(s->pager);
    s->pager = pager;
    return STATUS_FINE;
}

const struct command command_pager = {
    .name = "pager",
    .args = "[on | off | COMMAND]",
    .summary = "what shows results that are longer than the screen",
    .help = "At the start $PAGER, or less where that is not set; none where it is empty.\n"
            "\n"
            "  .pager less -S",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | WHOLE_LINE,
    .run = pager_run,
};
