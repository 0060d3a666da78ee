/*
 * dot_output.c - how results look, and where they go: .mode, .headers, .timer, .bail,
 * .nullvalue, .width, .output, .once.
 */
#include <stdlib.h>
#include <string.h>

#include "shell/command/command.h"

static int print_setting(struct session *s, const char *value)
{
    fprintf(s->out, "%s\n", value);
    return STATUS_FINE;
}

static int mode_run(struct session *s, const struct args *args)
{
    if (args->count == 0)
        return print_setting(s, s->mode == MODE_AUTO ? "auto" : mode_names[s->mode - MODE_BOX]);
    if (strcmp(args->operand[0], "auto") == 0) {
        s->mode = MODE_AUTO;
        return STATUS_FINE;
    }
    if (mode_find(args->operand[0], &s->mode))
        return STATUS_FINE;
    complain("there is no mode %s; .help mode lists them", args->operand[0]);
    return STATUS_TROUBLE;
}

const struct command command_mode = {
    .name = "mode",
    .args = "[MODE]",
    .summary = "how rows are printed",
    .help = "MODE is auto (box on a terminal, else plain rows), box, table, csv, tsv, json,\n"
            "jsonl, markdown, line or list. Each is also an option of the program and of every\n"
            "command that prints rows: --json.",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = mode_run,
};

/* Read "on" or "off". */
static bool parse_switch(const char *word, bool *on)
{
    *on = strcmp(word, "on") == 0;
    if (*on || strcmp(word, "off") == 0)
        return true;
    complain("on or off, not %s", word);
    return false;
}

static int headers_run(struct session *s, const struct args *args)
{
    static const char *const names[] = {"auto", "on", "off"};
    bool on;
    if (args->count == 0)
        return print_setting(s, names[s->headers]);
    if (strcmp(args->operand[0], "auto") == 0) {
        s->headers = HEADERS_AUTO;
        return STATUS_FINE;
    }
    if (!parse_switch(args->operand[0], &on))
        return STATUS_TROUBLE;
    s->headers = on ? HEADERS_ON : HEADERS_OFF;
    return STATUS_FINE;
}

const struct command command_headers = {
    .name = "headers",
    .args = "[on | off | auto]",
    .summary = "whether the names of columns are printed",
    .help = "auto, as at the start: in every mode but list and plain rows.",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = headers_run,
};

static int switch_run(struct session *s, const struct args *args, bool *setting)
{
    if (args->count == 0)
        return print_setting(s, *setting ? "on" : "off");
    return parse_switch(args->operand[0], setting) ? STATUS_FINE : STATUS_TROUBLE;
}

static int timer_run(struct session *s, const struct args *args)
{
    return switch_run(s, args, &s->timer);
}

const struct command command_timer = {
    .name = "timer",
    .args = "[on | off]",
    .summary = "print after each statement how long it took",
    .help = "It also prints how to ask without listing all tensors of the catalog, where a way\n"
            "is known. Even when off, that is printed after statements that took over half a\n"
            "second of CPU time.",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = timer_run,
};

static int bail_run(struct session *s, const struct args *args)
{
    bool bail = !s->keep_going;
    int status = switch_run(s, args, &bail);
    s->keep_going = !bail;
    return status;
}

const struct command command_bail = {
    .name = "bail",
    .args = "[on | off]",
    .summary = "whether a script ends at its first error",
    .help = "On at the start, unless the program was started with --keep-going. A command\n"
            "that only reports something (issues, differences) is not an error.",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = bail_run,
};

static int nullvalue_run(struct session *s, const struct args *args)
{
    if (args->count == 0)
        return print_setting(s, s->null_text ? s->null_text : "auto");
    char *text = NULL;
    if (strcmp(args->operand[0], "auto") != 0 && !(text = strdup(args->operand[0]))) {
        complain("no memory");
        return STATUS_TROUBLE;
    }
    free(s->null_text);
    s->null_text = text;
    return STATUS_FINE;
}

const struct command command_nullvalue = {
    .name = "nullvalue",
    .args = "[TEXT | auto]",
    .summary = "how NULL is shown",
    .help = "auto, as at the start: NULL in box, table, markdown and line, nothing in rows for\n"
            "programs. JSON always has null.",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = nullvalue_run,
};

static int width_run(struct session *s, const struct args *args)
{
    int width[WIDTHS_MAX] = {0};
    if (args->count > WIDTHS_MAX) {
        complain("at most %d columns have a width of their own", WIDTHS_MAX);
        return STATUS_TROUBLE;
    }
    for (int i = 0; i < args->count; i++) {
        char *end;
        unsigned long n = strtoul(args->operand[i], &end, 10);
        if (*end || end == args->operand[i] || n > 10000) {
            complain("a width is a number of columns of the screen, not %s", args->operand[i]);
            return STATUS_TROUBLE;
        }
        width[i] = (int)n;
    }
    memcpy(s->width, width, sizeof(width));
    return STATUS_FINE;
}

const struct command command_width = {
    .name = "width",
    .args = "[N...]",
    .summary = "how wide the columns of box and table are",
    .help = "One number per column, for statements and commands alike; longer texts are cut. 0\n"
            "means as wide as the contents need, and so do columns without a number. .width\n"
            "alone resets all widths.\n"
            "\n"
            "  .width 40 0 12",
    .max_args = -1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = width_run,
};

static int output_run(struct session *s, const struct args *args)
{
    return session_output(s, args->count ? args->operand[0] : NULL) ? STATUS_FINE : STATUS_TROUBLE;
}

const struct command command_output = {
    .name = "output",
    .args = "[FILE | '|COMMAND']",
    .summary = "send results to a file or a program; without one, back here",
    .help = "  .output rows.csv\n"
            "  .output '|less -S'",
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = output_run,
};

static int once_run(struct session *s, const struct args *args)
{
    if (!session_output(s, args->operand[0]))
        return STATUS_TROUBLE;
    s->once = true;
    return STATUS_FINE;
}

const struct command command_once = {
    .name = "once",
    .args = "FILE | '|COMMAND'",
    .summary = "like .output, for the next statement or command only",
    .help = "Commands that say how results look (.mode csv) may come between.",
    .min_args = 1,
    .max_args = 1,
    .traits = SHELL_ONLY | NO_ROWS | SETTING,
    .run = once_run,
};
