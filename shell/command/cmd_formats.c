#include <string.h>

#include "catalog/export/export.h"
#include "importer/job/format.h"
#include "importer/walk/unread.h"
#include "shell/command/command.h"
#include "shell/render/render.h"

/* What is known under one name: a format that is read, one that is written, both or neither. */
struct known {
    const char *name;
    const struct format *read;
    const struct exporter *written;
    const struct unread_kind *unread; /* of neither */
};

static void add_settings(struct text *json, const struct exporter *e)
{
    struct text list = {0};
    for (const struct export_setting *s = e ? e->settings : NULL; s && s->key; s++)
        text_addf(&list, "%s%s=%s (%s)", list.len ? ", " : "", s->key, s->values,
                  s->summary);
    text_json(json, list.len ? list.at : "", list.len);
    json->failed = json->failed || list.failed;
    text_release(&list);
}

static void add_known(struct text *json, const struct known *k)
{
    const char *suffixes = k->read && k->read->suffixes ? k->read->suffixes : "";
    const char *summary = k->read      ? k->read->summary
                          : k->written ? k->written->summary
                                       : k->unread->what;
    const char *const facts[] = {
        k->name, k->read ? "yes" : "no", k->written ? "yes" : "no", summary,
        *suffixes || !k->written ? suffixes : k->written->suffix};
    text_adds(json, json->len > 1 ? ",[" : "[");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        text_json(json, facts[i], strlen(facts[i]));
        text_addc(json, ',');
    }
    add_settings(json, k->written);
    text_addc(json, ']');
}

static bool is_read(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->index && strcmp(formats[i]->name, name) == 0)
            return true;
    return false;
}

static int formats_run(struct session *s, const struct args *args)
{
    (void)args;
    struct text json = {0};
    text_addc(&json, '[');
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->index)
            add_known(&json, &(struct known){formats[i]->name, formats[i],
                                             exporter_find(formats[i]->name), NULL});
    for (size_t i = 0; exporters[i]; i++)
        if (!is_read(exporters[i]->name))
            add_known(&json,
                      &(struct known){exporters[i]->name, NULL, exporters[i], NULL});
    for (const struct unread_kind *k = unread_kinds; k->name; k++)
        if (k->what)
            add_known(&json, &(struct known){k->name, NULL, NULL, k});
    text_addc(&json, ']');
    int status = render_json(s,
                             "SELECT value ->> 0 AS name, value ->> 1 AS read,"
                             " value ->> 2 AS written, value ->> 3 AS summary,"
                             " value ->> 4 AS suffixes, value ->> 5 AS options"
                             " FROM json_each(?1)",
                             text_str(&json));
    text_release(&json);
    return status;
}

const struct command command_formats = {
    .name = "formats",
    .args = "",
    .summary = "list the formats that import reads and export writes",
    .help =
        "A file is recognised by what is in it; the suffixes only decide whether one that\n"
        "nothing recognises is worth a complaint, and which format export writes. The options\n"
        "are those of export --option. What is neither read nor written, import counts and\n"
        "passes over.\n"
        "\n"
        "  ckptdb formats\n"
        "  ckptdb formats --json",
    .pages = true,
    .run = formats_run,
};
