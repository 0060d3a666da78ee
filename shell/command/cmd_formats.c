#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"

static bool add_format(void *context, const struct ckptdb_format *f)
{
    struct text *json = context;
    const char *const facts[] = {
        f->name,   f->reads ? "yes" : "no", f->writes ? "yes" : "no", f->summary, f->suffixes,
        f->options};
    text_adds(json, json->len > 1 ? ",[" : "[");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        text_adds(json, i ? "," : "");
        text_json(json, facts[i], strlen(facts[i]));
    }
    text_addc(json, ']');
    return true;
}

static int formats_run(struct session *s, const struct args *args)
{
    (void)args;
    struct text json = {0};
    text_addc(&json, '[');
    ckptdb_formats(add_format, &json);
    text_addc(&json, ']');
    int status = render_json(s,
                             "SELECT value ->> 0 AS name, value ->> 1 AS read,"
                             " value ->> 2 AS written, value ->> 3 AS summary,"
                             " value ->> 4 AS suffixes, value ->> 5 AS options FROM json_each(?1)",
                             text_str(&json));
    text_release(&json);
    return status;
}

const struct command command_formats = {
    .name = "formats",
    .args = "",
    .summary = "list the formats that import reads and export writes",
    .help = "A file is recognised by its contents. Its suffix decides only whether a file\n"
            "that nothing recognises is reported, and which format export writes. The options\n"
            "go after export --option. Files of kinds that are not read are counted by\n"
            "import and skipped.\n"
            "\n"
            "  ckptdb formats\n"
            "  ckptdb formats --json",
    .traits = PAGES,
    .run = formats_run,
};
