#include "shell/command/command.h"
#include "shell/render/render.h"

static int help_run(struct session *s, const struct args *args)
{
    const size_t columns = s->out_is_terminal ? render_columns() : 0;
    if (args->count == 0) {
        help_print(s->out, NULL, columns);
        return STATUS_FINE;
    }
    const char *name = args->operand[0] + (args->operand[0][0] == '.');
    const struct command *c = command_find(name);
    if (c) {
        size_t len;
        const char *verb = args->count > 1 ? args->operand[1] : NULL;
        const char *usage = verb ? command_verb(c, verb, &len) : NULL;
        if (verb && !usage) {
            complain("%s has no '%s'; `help %s` says what it has", c->name, verb, c->name);
            return STATUS_TROUBLE;
        }
        if (usage)
            fprintf(s->out, "ckptdb %s %.*s\n\n", c->name, (int)len, usage);
        help_print(s->out, c, columns);
        return STATUS_FINE;
    }
    const char *near = command_nearest(name, true);
    if (near)
        complain("there is no command %s; the nearest is %s", name, near);
    else
        complain("there is no command %s; `help` lists them", name);
    return STATUS_TROUBLE;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND [VERB]]",
    .summary = "say what a command does",
    .help = "Without COMMAND it lists all commands.\n"
            "\n"
            "  ckptdb help import\n"
            "  ckptdb help map load\n"
            "  ckptdb export --help",
    .max_args = 2,
    .traits = NO_ROWS | PAGES,
    .run = help_run,
};
