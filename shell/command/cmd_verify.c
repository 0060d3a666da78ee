/*
 * cmd_verify.c - check that the indexed files are unchanged and undamaged.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/strmap.h"
#include "shell/command/command.h"
#include "shell/command/hashing.h"
#include "shell/session/read_text.h"

#define GOES_ON "; the next verify goes on after what is verified"

static int verify_all(struct session *s, const struct ckptdb_content_options *o)
{
    struct ckptdb_error err;
    struct byte_bar bar;
    uint64_t skipped = 0;
    bar_begin(&bar, s);
    ckptdb_verify(s->open, o, &skipped, &err);
    bar_end(&bar);
    if (skipped)
        complain("%" PRIu64 " checkpoint%s verified before an interruption: --again begins anew",
                 skipped, skipped == 1 ? " was" : "s were");
    return content_status(s, &err, true, GOES_ON);
}

/* --- manifests ------------------------------------------------------------------------------ */

#define SHA256_DIGITS 64

struct manifest {
    struct session *session;
    int64_t checkpoint;
    const char *path;
    char *text;          /* of the file; NUL-terminated lines once parsed */
    struct strmap lines; /* name -> offset of its line + 1; 0: compared */
    bool failed;         /* a finding could not be stored */
};

static void put_finding(struct manifest *m, const char *name, const char *message)
{
    struct ckptdb_error err;
    if (ckptdb_found(m->session->open, m->checkpoint, name, m->path, message, &err) != CKPTDB_OK &&
        !m->failed) {
        complain("cannot keep a finding: %s", err.message);
        m->failed = true;
    }
}

/* The place of a tensor's line in *at, NULL if absent; false without memory. */
static bool find_line(struct manifest *m, const char *name, uint64_t **at)
{
    struct text escaped = {0};
    text_escape(&escaped, name, strlen(name));
    const char *key = text_str(&escaped);
    *at = key ? strmap_get(&m->lines, key, strlen(key)) : NULL;
    m->failed = m->failed || !key;
    text_release(&escaped);
    return key != NULL;
}

static void compare_sum(void *context, const char *hex, const char *name)
{
    struct manifest *m = context;
    uint64_t *at;
    if (!find_line(m, name, &at))
        return;
    if (!at || !*at)
        put_finding(m, name, "the manifest has no line for it");
    else if (strncmp(m->text + *at - 1, hex, SHA256_DIGITS) != 0)
        put_finding(m, name, "its SHA-256 is not the one in the manifest");
    if (at)
        *at = 0;
}

static bool parse_manifest(struct manifest *m)
{
    unsigned long number = 0;
    for (char *line = m->text; *line;) {
        const size_t len = strcspn(line, "\n");
        const bool more = line[len] == '\n';
        bool added = true;
        line[len] = '\0';
        number++;
        /* the name can be empty: a checkpoint that is one array */
        const bool good = len >= SHA256_DIGITS + 2 &&
                          strspn(line, "0123456789abcdef") == SHA256_DIGITS &&
                          line[SHA256_DIGITS] == ' ' && strchr(" *", line[SHA256_DIGITS + 1]);
        uint64_t *at =
            good ? strmap_add(&m->lines, line + SHA256_DIGITS + 2, len - SHA256_DIGITS - 2, &added)
                 : NULL;
        if (!at || !added) {
            complain("%s: line %lu is not \"SHA-256, two spaces, name\", or has the name of an "
                     "earlier one",
                     m->path, number);
            return false;
        }
        *at = (uint64_t)(line - m->text) + 1;
        line += len + more;
    }
    return true;
}

/* Report the lines that have not been compared: their tensors
 * could not be read, or do not exist. */
static void report_rest(struct manifest *m, const char *end)
{
    sqlite3_stmt *names = session_prepare(
        m->session, "SELECT name FROM tensor WHERE checkpoint_id = ?1", "i", m->checkpoint);
    while (session_row(m->session, names)) {
        const char *name = session_text(names, 0);
        uint64_t *at;
        if (find_line(m, name, &at) && at && *at) {
            put_finding(m, name, "it is in the manifest, but could not be read");
            *at = 0;
        }
    }
    sqlite3_finalize(names);
    m->failed |= m->session->unread;
    for (const char *line = m->text; line < end; line += strlen(line) + 1) {
        const char *name = line + SHA256_DIGITS + 2;
        const uint64_t *at = strmap_get(&m->lines, name, strlen(name));
        if (at && *at)
            put_finding(m, name, "it is in the manifest, but no tensor has this name");
    }
}

static int check_lines(struct manifest *m, unsigned threads)
{
    const char *end = m->text + strlen(m->text);
    const struct ckptdb_content_options o = {.size = sizeof(o),
                                             .checkpoints = &m->checkpoint,
                                             .count = 1,
                                             .threads = threads,
                                             .sum = compare_sum,
                                             .context = m};
    if (!parse_manifest(m))
        return STATUS_TROUBLE;
    int status = content_run(m->session, ckptdb_sha256, &o, GOES_ON);
    if (status == STATUS_FINE || status == STATUS_NO) {
        report_rest(m, end); /* tensors that could not be read have lines left */
        status = STATUS_FINE;
    }
    return m->failed ? STATUS_TROUBLE : status;
}

static int check_manifest(struct session *s, const struct ckptdb_content_options *o,
                          const char *path)
{
    struct manifest m = {.session = s, .checkpoint = o->checkpoints[0], .path = path};
    struct text text = {.limit = (size_t)1 << 30};
    int status = STATUS_TROUBLE;
    const bool read = read_text(path, &text);
    const size_t len = text.len;
    m.text = text_steal(&text);
    if (read && (!m.text || strlen(m.text) != len))
        complain("%s: it is empty, or not text", path);
    else if (read)
        status = check_lines(&m, o->threads);
    strmap_release(&m.lines);
    free(m.text);
    return status;
}

/* --- the command ---------------------------------------------------------------------------- */

enum { QUICK, MANIFEST, AGAIN, QUIET, JOBS };

static const struct option_spec options[] = {
    [QUICK] = {"--quick", NULL, "only headers, indexes and their checksums: no tensor data"},
    [MANIFEST] = {"--manifest", "FILE",
                  "one checkpoint: compare with what `hash --manifest` wrote"},
    [AGAIN] = {"--again", NULL, "verify again what an interrupted run has verified"},
    [QUIET] = {"--quiet", NULL, "print no rows: the exit status is the answer"},
    [JOBS] = {"--jobs", "N", "number of threads (default: one per core; 32 for other machines)"},
    {NULL, NULL, NULL},
};

/* Print the findings, unless `quiet`. Without findings, people get a line that says so. */
static int print_findings(struct session *s, const struct ckptdb_content_options *o,
                          int status_so_far, bool quiet)
{
    const bool people = s->mode == MODE_AUTO && s->out_is_terminal;
    struct text list = {0};
    int status = STATUS_TROUBLE;
    const bool listed = content_ids(o, &list);
    const bool any = listed && session_number(s,
                                              "SELECT EXISTS (SELECT 1 FROM json_each(?1) j"
                                              " JOIN _damages d ON d.checkpoint = j.value)",
                                              "s", text_str(&list));
    if (listed && !s->unread && (quiet || (people && !any))) {
        status = STATUS_FINE;
        if (!quiet && status_so_far == STATUS_FINE)
            complain("%zu checkpoint%s verified, nothing found", o->count,
                     o->count == 1 ? "" : "s");
    } else if (listed && !s->unread) {
        status = render_query(s,
                              "SELECT d.checkpoint, d.name, d.file, d.offset, d.code, d.message"
                              " FROM json_each(?1) j JOIN damage d ON d.checkpoint_id = j.value"
                              " ORDER BY j.key, d.file, d.offset, d.name",
                              "s", text_str(&list));
    }
    text_release(&list);
    if (status_so_far != STATUS_FINE || status != STATUS_FINE)
        return status_so_far ? status_so_far : status;
    return any ? STATUS_NO : STATUS_FINE;
}

static int verify_command(struct session *s, const struct args *args)
{
    struct ckptdb_content_options o = {.size = sizeof(o),
                                       .again = args->value[AGAIN] != NULL,
                                       .quick = args->value[QUICK] != NULL};
    const char *manifest = args->value[MANIFEST];
    if (args->value[QUIET] && s->mode != MODE_AUTO) {
        complain("--quiet prints nothing: it excludes --json and the like");
        return STATUS_TROUBLE;
    }
    if (!hash_jobs(args->value[JOBS], &o.threads))
        return STATUS_TROUBLE;
    int64_t *ids = session_checkpoints(s, args->operand, args->count, &o.count);
    if (!ids)
        return STATUS_NO;
    o.checkpoints = ids;
    int status = STATUS_FINE;
    if (manifest && (o.count != 1 || o.quick)) {
        complain(o.count != 1 ? "a manifest belongs to one checkpoint: name it"
                              : "--quick reads no data, which --manifest is about");
        status = STATUS_TROUBLE;
    }
    if (status == STATUS_FINE)
        status = verify_all(s, &o);
    if (status == STATUS_FINE && manifest)
        status = check_manifest(s, &o, manifest);
    if (status != STATUS_TROUBLE)
        status = print_findings(s, &o, status, args->value[QUIET]);
    free(ids);
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .args = "[CHECKPOINT...] [--quick] [--manifest FILE] [--again] [--quiet] [--jobs N]",
    .summary = "find damage: checksums, headers, files that changed",
    .help =
        "Headers and indexes are read again and compared with the catalog, and all data\n"
        "is read: every checksum that a format stores, every codec, and the hashes in the\n"
        "catalog (`ckptdb hash`) are checked. Each problem is a row, also of the view\n"
        "`damage`, and makes the exit status 1. An interrupted run continues where it\n"
        "stopped. If the catalog cannot be written, nothing is kept, and a message says\n"
        "so. Without CHECKPOINT, all checkpoints are verified.\n"
        "\n"
        "Where a flipped bit in the data is found:\n"
        "  always        npz, Keras, torch's zip form and DCP, TensorFlow (both versions), zarr\n"
        "                with crc32c, HDF5 with fletcher32\n"
        "  compressed    zarr and OCDBT: if the codec notices (gzip, and zstd with a checksum:\n"
        "                always; Blosc, LZ4 and plain zstd: only if decoding fails)\n"
        "  never         safetensors, npy, GGUF, ONNX, Flax, other HDF5, torch's older forms,\n"
        "                raw chunks: hash them once, then verify finds every bit\n"
        "A flipped bit in a header without a checksum is found if it changes what is read or\n"
        "what an import would warn about: not in padding, nor in a fact that ckptdb ignores.\n"
        "A missing chunk is not an error in zarr; verify knows which chunks there were at\n"
        "import.\n"
        "\n"
        "  ckptdb verify --quick\n"
        "  ckptdb verify runs/t5@1000\n"
        "  ckptdb verify model.gguf --manifest model.sha256",
    .options = options,
    .max_args = -1,
    .catalog = CATALOG_KEEP,
    .run = verify_command,
};
