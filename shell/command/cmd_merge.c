/*
 * cmd_merge.c - other catalogs into this one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"

static const struct option_spec options[] = {
    {"--relocate", "OLD=NEW", "paths below OLD there are below NEW here (repeatable)"},
    {"--host", "NAME",
     "the catalogs come from another machine: its other paths become file://NAME/..."},
    {"--keep-both", NULL, "keep a rule set that differs from this catalog's as NAME@CATALOG"},
    {NULL, NULL, NULL},
};
enum { RELOCATE, HOST, KEEP_BOTH };

/* The pairs, each a malloc'ed text that is cut at its '='. */
static bool read_relocations(const struct args *args, struct ckptdb_relocation *list)
{
    bool good = true;
    for (int i = 0; i < args->pairs && good; i++) {
        char *text = strdup(args->pair[i].text), *equals = text ? strchr(text, '=') : NULL;
        list[i].from = text;
        good = equals && equals > text && equals[1];
        if (good) {
            *equals = '\0';
            list[i].to = equals + 1;
        } else {
            complain("merge: --relocate takes OLD=NEW, not: %s", args->pair[i].text);
        }
    }
    return good;
}

/* A mistyped path must not leave an empty catalog behind. */
static bool any_exists(const struct args *args)
{
    int i = 0;
    while (i < args->count && access(args->operand[i], F_OK) != 0)
        i++;
    if (i == args->count)
        complain("%s: no such catalog%s", args->operand[0],
                 i > 1 ? "; nor is there any of the others" : "");
    return i < args->count;
}

static void say_failed(void *context, const struct ckptdb_error *err)
{
    (void)context;
    complain_status(err);
}

static int merge_all(struct session *s, const struct ckptdb_joining *o)
{
    struct ckptdb_joined r = {.size = sizeof(r)};
    struct ckptdb_error err;
    struct text json = {0};
    ckptdb_join(s->open, o, &r, &err);
    if (err.status != CKPTDB_OK && err.status != CKPTDB_INTERRUPTED && !r.failed)
        return complain_status(&err), STATUS_TROUBLE;
    complain("%" PRIu64 " new, %" PRIu64 " changed, %" PRIu64 " known", r.added, r.changed,
             r.known);
    if (r.kept)
        complain("%" PRIu64 " kept as NAME@CATALOG: they differ from those of the same name here",
                 r.kept);
    if (err.status == CKPTDB_INTERRUPTED)
        complain("interrupted: the catalogs that are counted here were taken");
    else if (r.failed)
        complain("left out: %" PRIu64 " of %zu catalogs", r.failed, o->path_count);
    text_addf(&json,
              "{\"new\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"known\":%" PRIu64 ",\"kept\":%" PRIu64
              ",\"failed\":%" PRIu64 "}",
              r.added, r.changed, r.known, r.kept, r.failed);
    const int printed = render_report(s, &json);
    text_release(&json);
    return printed != STATUS_FINE             ? printed
           : err.status == CKPTDB_INTERRUPTED ? STATUS_INTERRUPTED
           : r.failed                         ? STATUS_NO
                                              : STATUS_FINE;
}

static int merge_run(struct session *s, const struct args *args)
{
    struct ckptdb_relocation list[PAIRS_MAX] = {{0}};
    const struct ckptdb_joining o = {
        .size = sizeof(o),
        .paths = args->operand,
        .path_count = (size_t)args->count,
        .failed = say_failed,
        .relocations = list,
        .relocation_count = (size_t)args->pairs,
        .host = args->value[HOST],
        .keep_both = args->value[KEEP_BOTH] != NULL,
    };
    int status = STATUS_TROUBLE;
    if (s->readonly)
        complain("merge writes to the catalog: --readonly forbids it");
    else if (read_relocations(args, list) && any_exists(args) && session_open(s, CKPTDB_CREATE))
        status = merge_all(s, &o);
    for (int i = 0; i < args->pairs; i++)
        free((void *)list[i].from);
    return status;
}

const struct command command_merge = {
    .name = "merge",
    .args = "CATALOG...",
    .summary = "add the contents of other catalogs to this one",
    .help =
        "Checkpoints come over with their issues, facts, hashes, statistics and findings of\n"
        "verify; so do the user's rule sets, optimizers and known classes. The same checkpoint\n"
        "(by its path, or because its files are the same) comes once: the later import counts,\n"
        "and hashes and statistics are kept where size, time, inode and device of its\n"
        "files are the same. Each catalog is merged whole or not at all, one after the other;\n"
        "merging it again changes nothing. CATALOG is only read, also while others write it;\n"
        "one of an older version is brought up to date in a copy. A missing catalog is made.\n"
        "\n"
        "Without --host, paths are taken for paths of this machine. With it, /data/x is\n"
        "file://NAME/data/x here, so that /data/x of two machines are two checkpoints, and\n"
        "equal numbers of devices and inodes mean nothing; `relocate file://NAME/data\n"
        "/mnt/NAME` follows them to where they can be read. --relocate comes first: paths\n"
        "below OLD are below NEW here, on this machine, whatever --host says, and a file\n"
        "with the same size and time there counts as the same file. A folder that all machines\n"
        "share is relocated to itself, because its device number differs on each.\n"
        "\n"
        "A rule set or optimizer that differs from its namesake here is an error, and\n"
        "its catalog is left out, unless --keep-both keeps it as NAME@CATALOG. A class that\n"
        "is safe in one and dangerous in the other then stays as it is here.\n"
        "\n"
        "  ckptdb merge gpu01.db gpu02.db --relocate /mnt/shared=/mnt/shared\n"
        "  ckptdb merge gpu07.db --host gpu07 --relocate /scratch=/mnt/gpu07/scratch\n"
        "  ckptdb -d all.db merge catalogs/*.db --keep-both",
    .options = options,
    .min_args = 1,
    .max_args = -1,
    .catalog = CATALOG_NONE, /* opened by merge_run() */
    .run = merge_run,
};
