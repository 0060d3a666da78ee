#include <string.h>

#include "importer/job/format.h"
#include "shell/command/command.h"
#include "shell/render/render.h"

static void add_format(struct text *json, const struct format *f)
{
    const char *const facts[] = {f->name, f->summary, f->suffixes ? f->suffixes : ""};
    text_addc(json, json->len > 1 ? ',' : ' ');
    for (size_t i = 0; i < 3; i++) {
        text_addc(json, i == 0 ? '[' : ',');
        text_json(json, facts[i], strlen(facts[i]));
    }
    text_addc(json, ']');
}

static int formats_run(struct session *s, const struct args *args)
{
    (void)args;
    struct text json = {0};
    text_addc(&json, '[');
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->index)
            add_format(&json, formats[i]);
    text_addc(&json, ']');
    int status = render_json(s,
                             "SELECT value ->> 0 AS name, value ->> 1 AS summary,"
                             " value ->> 2 AS suffixes FROM json_each(?1)",
                             text_str(&json));
    text_release(&json);
    return status;
}

const struct command command_formats = {
    .name = "formats",
    .args = "",
    .summary = "list the formats that import reads",
    .help = "A file is recognised by what is in it; the suffixes only decide whether one "
            "that\n"
            "nothing recognises is worth a complaint.\n"
            "\n"
            "  ckptdb formats\n"
            "  ckptdb formats --json",
    .run = formats_run,
};
