/*
 * dot_script.c - .read and .quit.
 */
#include <stdlib.h>

#include "shell/command/command.h"
#include "shell/command/script.h"

#define READING_MAX 16 /* depth of scripts that read other scripts */

static int read_run(struct session *s, const struct args *args)
{
    if (s->reading == READING_MAX) {
        complain("%s: more than %d scripts read each other", args->operand[0], READING_MAX);
        return STATUS_TROUBLE;
    }
    s->reading++;
    bool interactive = s->interactive;
    s->interactive = false;
    int status = script_run_file(s, args->operand[0]);
    s->interactive = interactive;
    s->reading--;
    return status;
}

const struct command command_read = {
    .name = "read",
    .args = "FILE",
    .summary = "run the statements and dot-commands of a file",
    .help = "- is stdin. The file ends at its first error (.bail off: it goes on).",
    .min_args = 1,
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS,
    .run = read_run,
};

static int quit_run(struct session *s, const struct args *args)
{
    char *end = NULL;
    long status = args->count ? strtol(args->operand[0], &end, 10) : 0;
    if (args->count && (*end || end == args->operand[0] || status < 0 || status > 255)) {
        complain("an exit status is a number from 0 to 255, not %s", args->operand[0]);
        return STATUS_TROUBLE;
    }
    s->quit = true;
    s->quit_status = (int)status;
    return STATUS_FINE;
}

const struct command command_quit = {
    .name = "quit",
    .args = "[STATUS]",
    .summary = "leave the shell, as Ctrl-D does",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS,
    .run = quit_run,
};
