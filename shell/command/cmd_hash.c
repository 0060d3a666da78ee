/*
 * cmd_hash.c - content hashes of tensors and checkpoints, and SHA-256 manifests.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/content/content.h"
#include "catalog/export/refuse.h"
#include "catalog/store/output.h"
#include "shell/command/command.h"
#include "shell/command/hashing.h"

struct hashing {
    struct session *session;
    struct progress *bar;
    const char *name;       /* of the checkpoint at hand */
    struct text *lines;     /* of a manifest; NULL: none */
    bool trouble;           /* some tensor could not be read */
    struct refusals causes; /* why, of the checkpoint at hand */
};

static bool interrupted(void *context)
{
    (void)context;
    return session_interrupted != 0;
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    progress_set(((struct hashing *)context)->bar, done, total);
}

/* A tensor, or (NULL) the checkpoint. */
static void take_trouble(void *context, const char *tensor, const struct error *err)
{
    struct hashing *h = context;
    char text[sizeof(err->source) + sizeof(err->message) + 64];
    h->trouble = true;
    error_text(err, text, sizeof(text));
    if (tensor)
        refuse_tensor(&h->causes, tensor, "%s", text);
    else
        refuse(&h->causes, "%s", text);
}

/* A line a cause, of the checkpoint at hand. */
static void say_trouble(struct hashing *h)
{
    struct text lines = {0};
    refusals_print(&h->causes, &lines);
    for (char *at = lines.at, *end; text_str(&lines) && at && (end = strchr(at, '\n'));
         at = end + 1) {
        *end = '\0';
        complain("%s: %s", h->name, at);
    }
    text_release(&lines);
    refusals_release(&h->causes);
}

static void add_line(void *context, const char *hex, const char *name)
{
    struct hashing *h = context;
    text_addf(h->lines, "%s  ", hex);
    text_escape(h->lines, name, strlen(name));
    text_addc(h->lines, '\n');
}

static struct content_work work_of(struct hashing *h, unsigned threads, bool again)
{
    return (struct content_work){
        .db = h->session->db,
        .threads = threads,
        .again = again,
        .stop = interrupted,
        .progress = show_progress,
        .trouble = take_trouble,
        .context = h,
    };
}

/* A checkpoint's name for messages; to be freed with sqlite3_free(). */
static char *name_of(struct session *s, sqlite3_int64 id)
{
    char *name = NULL;
    sqlite3_stmt *stmt =
        session_prepare(s, "SELECT name FROM checkpoint WHERE id = ?1", "i", (int64_t)id);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        name = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return name;
}

static int ending(const struct hashing *h, const struct error *err)
{
    if (err->status == ERR_INTERRUPTED) {
        complain("interrupted; what was hashed so far is kept");
        return STATUS_INTERRUPTED;
    }
    if (err->status != OK) {
        complain_error(err);
        return STATUS_TROUBLE;
    }
    return h->trouble ? STATUS_NO : STATUS_FINE;
}

/* --- hashes ----------------------------------------------------------------------------------- */

bool hash_id_list(const struct hash_request *r, struct text *out)
{
    for (size_t i = 0; i < r->count; i++)
        text_addf(out, "%s%lld", i ? "," : "[", (long long)r->ids[i]);
    text_adds(out, r->count ? "]" : "[]");
    return text_str(out) != NULL;
}

static int print_hashes(struct session *s, const struct hash_request *r)
{
    struct text list = {0};
    int status = STATUS_TROUBLE;
    if (hash_id_list(r, &list))
        status =
            render_query(s,
                         "SELECT c.hash, c.name, c.tensors, c.nbytes FROM json_each(?1) j"
                         " JOIN checkpoint c ON c.id = j.value ORDER BY j.key",
                         "s", text_str(&list));
    text_release(&list);
    return status;
}

int hash_request(struct session *s, const struct hash_request *r)
{
    struct hashing h = {.session = s, .bar = progress_new(s, "hashing", "B")};
    struct error err = {.offset = NO_OFFSET};
    struct content_work w = work_of(&h, r->threads, r->again);
    time_t begun;
    w.begun = &begun;
    w.twins = r->twins;
    if (w.twins)
        content_find_twins(s->db, &err);
    for (size_t i = 0; i < r->count && err.status == OK; i++) {
        bool complete = false;
        char *name = name_of(s, r->ids[i]);
        h.name = name ? name : "";
        content_hash(&w, r->ids[i], &complete, &err);
        say_trouble(&h);
        sqlite3_free(name);
    }
    content_commit(s->db, &err);
    progress_free(h.bar);
    return ending(&h, &err);
}

static int hash_all(struct session *s, const struct hash_request *r)
{
    const int status = hash_request(s, r);
    const int printed = status == STATUS_TROUBLE ? status : print_hashes(s, r);
    return status ? status : printed;
}

/* --- manifests -------------------------------------------------------------------------------- */

static int write_manifest(struct session *s, const char *path, const struct text *lines)
{
    struct error err = {.offset = NO_OFFSET};
    struct output *out = NULL;
    if (!path || strcmp(path, "-") == 0) {
        fwrite(lines->at, 1, lines->len, s->out);
        return session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
    }
    if (output_open(path, NULL, &out, &err) == OK &&
        output_write(out, 0, lines->at, lines->len, false, &err) == OK)
        output_commit(out, false, &err);
    output_close(out);
    if (err.status == OK)
        return STATUS_FINE;
    complain_error(&err);
    return STATUS_TROUBLE;
}

static int manifest(struct session *s, const struct hash_request *r, const char *path)
{
    struct text lines = {0};
    struct hashing h = {.session = s, .lines = &lines};
    struct error err = {.offset = NO_OFFSET};
    bool complete = false;
    if (r->count != 1) {
        complain("a manifest is of one checkpoint: name it");
        return STATUS_TROUBLE;
    }
    char *name = name_of(s, r->ids[0]);
    h.name = name ? name : "";
    h.bar = progress_new(s, "SHA-256", "B");
    const struct content_work w = work_of(&h, r->threads, true);
    content_sha256(&w, r->ids[0], add_line, &complete, &err);
    say_trouble(&h);
    progress_free(h.bar);
    int status = ending(&h, &err);
    if (status == STATUS_FINE && !text_str(&lines)) {
        complain("no memory");
        status = STATUS_TROUBLE;
    }
    if (status == STATUS_FINE)
        status = write_manifest(s, path, &lines);
    sqlite3_free(name);
    text_release(&lines);
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

enum {
    SHA256,
    MANIFEST,
    AGAIN,
    JOBS
};

static const struct option_spec options[] = {
    [SHA256] = {"--sha256", NULL,
                "print the SHA-256 of each tensor of one checkpoint; keep nothing"},
    [MANIFEST] = {"--manifest", "FILE", "write these lines to FILE"},
    [AGAIN] = {"--again", NULL, "compute what is known, too"},
    [JOBS] = {"--jobs", "N", "threads (default: one a core)"},
    {NULL, NULL, NULL},
};

bool hash_jobs(const char *text, unsigned *threads)
{
    char *end;
    const long value = text ? strtol(text, &end, 10) : 0;
    *threads = (unsigned)value;
    if (!text || (*text && !*end && value >= 1 && value <= 1024))
        return true;
    complain("--jobs wants a number from 1 to 1024, not '%s'", text);
    return false;
}

static int hash_run(struct session *s, const struct args *args)
{
    struct hash_request r = {.again = args->value[AGAIN] != NULL};
    if (!hash_jobs(args->value[JOBS], &r.threads))
        return STATUS_TROUBLE;
    r.ids = session_checkpoints(s, args->operand, args->count, &r.count);
    if (!r.ids)
        return STATUS_NO;
    const bool sums = args->value[SHA256] || args->value[MANIFEST];
    const int status = sums ? manifest(s, &r, args->value[MANIFEST]) : hash_all(s, &r);
    free(r.ids);
    return status;
}

const struct command command_hash = {
    .name = "hash",
    .args = "[CHECKPOINT...] [--sha256] [--manifest FILE] [--again] [--jobs N]",
    .summary = "hash what the tensors hold, so that copies are found",
    .help =
        "The hash is of a tensor's values alone: equal in every container, sharding, chunking\n"
        "and compression. It is kept in the catalog (columns `hash` of tensor and checkpoint,\n"
        "view `content` to look one up) until the file is imported anew. What is known is not\n"
        "computed again; interrupted, it goes on where it was. Without CHECKPOINT: all.\n"
        "\n"
        "It finds copies, and proves nothing against somebody who wants to deceive: for that,\n"
        "--sha256 prints a manifest of one checkpoint, as sha256sum does.\n"
        "\n"
        "  ckptdb hash model.safetensors\n"
        "  ckptdb \"SELECT checkpoint, name FROM tensor t JOIN content c ON c.tensor_id = t.id\n"
        "          AND t.checkpoint_id = c.checkpoint_id WHERE c.hash = '…'\"\n"
        "  ckptdb hash model.safetensors --manifest model.sha256",
    .options = options,
    .min_args = 0,
    .max_args = -1,
    .catalog = CATALOG_WRITE,
    .run = hash_run,
};
