/*
 * cmd_hash.c - content hashes of tensors and checkpoints, and SHA-256 manifests.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/command/hashing.h"

static void show_bytes(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct byte_bar *b = context;
    if (strcmp(doing, b->doing) != 0) {
        progress_free(b->bar);
        b->bar = progress_new(b->session, strcmp(doing, "checking") ? doing : "verifying",
                              strcmp(doing, "checking") ? "B" : "checkpoints");
        snprintf(b->doing, sizeof(b->doing), "%s", doing);
    }
    progress_set(b->bar, done, total);
}

void bar_begin(struct byte_bar *b, struct session *s)
{
    const struct ckptdb_watch watch = {.size = sizeof(watch), .context = b, .progress = show_bytes};
    *b = (struct byte_bar){.session = s};
    session_watch(s->open, &watch);
}

void bar_end(struct byte_bar *b)
{
    progress_free(b->bar);
    session_watch(b->session->open, NULL);
}

int content_status(const struct session *s, const struct ckptdb_error *err, bool all,
                   const char *kept)
{
    if (err->status == CKPTDB_INTERRUPTED) {
        complain("interrupted%s", s->db_mode == CKPTDB_READ ? "" : kept);
        return STATUS_INTERRUPTED;
    }
    if (err->status != CKPTDB_OK) {
        complain_status(err);
        return STATUS_TROUBLE;
    }
    return all ? STATUS_FINE : STATUS_NO;
}

/* --- hashes ----------------------------------------------------------------------------------- */

bool content_for_people(const struct session *s)
{
    return s->mode == MODE_AUTO
               ? s->out_is_terminal
               : s->mode == MODE_BOX || s->mode == MODE_TABLE || s->mode == MODE_MARKDOWN;
}

bool content_ids(const struct ckptdb_content_options *o, struct text *out)
{
    for (size_t i = 0; i < o->count; i++)
        text_addf(out, "%s%lld", i ? "," : "[", (long long)o->checkpoints[i]);
    text_adds(out, o->count ? "]" : "[]");
    if (text_str(out))
        return true;
    complain("no memory");
    return false;
}

int content_print(struct session *s, const struct ckptdb_content_options *o, int status,
                  const char *sql, const char *text)
{
    struct text list = {0};
    int printed = STATUS_TROUBLE;
    if (status != STATUS_TROUBLE && content_ids(o, &list))
        printed = render_query(s, sql, "ss", text_str(&list), text);
    text_release(&list);
    return status ? status : printed;
}

int content_run(struct session *s, content_work *work, const struct ckptdb_content_options *o,
                const char *kept)
{
    struct ckptdb_error err;
    struct byte_bar bar;
    bool all = false;
    bar_begin(&bar, s);
    work(s->open, o, &all, &err);
    bar_end(&bar);
    return content_status(s, &err, all, kept);
}

/* --- manifests -------------------------------------------------------------------------------- */

static void add_line(void *context, const char *hex, const char *name)
{
    struct text *lines = context;
    text_addf(lines, "%s  ", hex);
    text_escape(lines, name, strlen(name));
    text_addc(lines, '\n');
}

static int write_manifest(struct session *s, const char *path, const struct text *lines)
{
    struct ckptdb_error err;
    ckptdb_file *out = NULL;
    if (!path || strcmp(path, "-") == 0) {
        fwrite(lines->at, 1, lines->len, s->out);
        return session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
    }
    const bool good = ckptdb_file_create(path, &out, &err) == CKPTDB_OK &&
                      ckptdb_file_write(out, lines->at, lines->len, &err) == CKPTDB_OK &&
                      ckptdb_file_finish(out, &err) == CKPTDB_OK;
    ckptdb_file_close(out);
    if (!good)
        complain_status(&err);
    return good ? STATUS_FINE : STATUS_TROUBLE;
}

static int manifest(struct session *s, struct ckptdb_content_options *o, const char *path)
{
    struct text lines = {0};
    o->sum = add_line;
    o->context = &lines;
    int status = content_run(s, ckptdb_sha256, o, "; nothing was written");
    if (status == STATUS_FINE && !text_str(&lines)) {
        complain("no memory");
        status = STATUS_TROUBLE;
    }
    if (status == STATUS_FINE)
        status = write_manifest(s, path, &lines);
    text_release(&lines);
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

enum { SHA256, MANIFEST, AGAIN, JOBS };

static const struct option_spec options[] = {
    [SHA256] = {"--sha256", NULL,
                "print the SHA-256 of each tensor of one checkpoint; keep nothing"},
    [MANIFEST] = {"--manifest", "FILE", "write this manifest to FILE"},
    [AGAIN] = {"--again", NULL, "compute known hashes, too"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core; 32 for other machines)"},
    {NULL, NULL, NULL},
};

bool hash_jobs(const char *text, unsigned *threads)
{
    char *end;
    const long value = text ? strtol(text, &end, 10) : 0;
    *threads = (unsigned)value;
    if (!text || (*text >= '0' && *text <= '9' && !*end && value >= 1 && value <= 1024))
        return true;
    complain("--jobs takes a number from 1 to 1024, not '%s'", text);
    return false;
}

static int hash_run(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {.size = sizeof(o), .again = args->value[AGAIN] != NULL};
    const bool sums = args->value[SHA256] || args->value[MANIFEST];
    if (!hash_jobs(args->value[JOBS], &o.threads))
        return STATUS_TROUBLE;
    if (sums && s->mode != MODE_AUTO) {
        complain("a manifest is lines of text: --json and the like have no meaning here");
        return STATUS_TROUBLE;
    }
    int64_t *ids = session_checkpoints(s, args->operand, args->count, &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    int status = sums ? manifest(s, &o, args->value[MANIFEST])
                      : content_run(s, ckptdb_hash, &o, HASHES_KEPT);
    if (!sums)
        status = content_print(s, &o, status,
                               "SELECT c.hash, c.name, c.tensors, c.nbytes FROM json_each(?1) j"
                               " JOIN checkpoint c ON c.id = j.value ORDER BY j.key",
                               NULL);
    free(ids);
    return status;
}

const struct command command_hash = {
    .name = "hash",
    .args = "[CHECKPOINT...] [--sha256] [--manifest FILE] [--again] [--jobs N]",
    .summary = "hash the contents of tensors, so that copies are found",
    .help =
        "The hash depends on a tensor's values alone: it is the same in every container,\n"
        "sharding, chunking and compression. It is kept in the catalog (column `hash` of\n"
        "tensor and checkpoint; view `content` to look one up) until the file is imported\n"
        "again. Known hashes are not computed again, so an interrupted run continues\n"
        "where it stopped. If the catalog cannot be written, nothing is kept, and a\n"
        "message says so. Without CHECKPOINT, all checkpoints are hashed.\n"
        "\n"
        "The hash finds copies; it is no protection against deliberate forgery.\n"
        "For that, --sha256 prints a manifest of one checkpoint, as sha256sum does.\n"
        "\n"
        "  ckptdb hash model.safetensors\n"
        "  ckptdb \"SELECT checkpoint, name FROM tensor t JOIN content c ON c.tensor_id = t.id\n"
        "          AND t.checkpoint_id = c.checkpoint_id WHERE c.hash = '…'\"\n"
        "  ckptdb hash model.safetensors --manifest model.sha256",
    .options = options,
    .max_args = -1,
    .catalog = CATALOG_KEEP,
    .run = hash_run,
};
