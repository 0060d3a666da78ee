/*
 * zarr.c - directories of zarr arrays, one checkpoint each.
 *
 *   NAME.zarr/            a group or an array of version 2 (.zgroup, .zarray) or 3
 *                         (zarr.json), with groups and arrays below it
 *   NAME-000001000/       big_vision: one directory per array, '~' in its name for '/'
 *   NAME/                 arrays side by side and no other folder, as JAX's array serialization
 *                         writes them
 *   step-1000/            Levanter: metadata.json and arrays at any depth
 *   NAME.zarr.zip         any of these in one zip archive (array/array_zip.c)
 *
 * Those without metadata of their own are recognised only by the arrays in them. Directories of Orbax and OCDBT hold
 * zarr arrays too, but are not of this format.
 */
#include <stdio.h>
#include <string.h>

#include "catalog/base/text.h"
#include "importer/array/array.h"

#define LOCAL_MAGIC  "PK\3\4"
#define LOCAL_BYTES  30 /* of a zip member's header, before its name */
#define ARCHIVE_NAME ".zarr.zip"

/* --- recognising ------------------------------------------------------------------------ */

/* An archive is one if a member whose header is in the head is metadata. If none is, as where a folder
 * was packed in its own order, the archive's name decides. */
static int zarr_probe(const struct probe *p)
{
    const bool named = text_ends_in(p->name, strlen(p->name), ARCHIVE_NAME) ||
                       text_ends_in(p->name, strlen(p->name), ".zarr");
    const size_t magic = sizeof(LOCAL_MAGIC) - 1;
    size_t node_len;
    if (p->head.len < LOCAL_BYTES || memcmp(p->head.at, LOCAL_MAGIC, magic) != 0)
        return 0;
    for (size_t at = 0; at + LOCAL_BYTES <= p->head.len; at++) {
        const uint8_t *header = p->head.at + at;
        const size_t len = load_u16le(header + 26);
        if (*header == *LOCAL_MAGIC && memcmp(header, LOCAL_MAGIC, magic) == 0 &&
            len <= p->head.len - at - LOCAL_BYTES &&
            array_key_kind((struct bytes){header + LOCAL_BYTES, len}, &node_len) != ARRAY_VALUE)
            return at ? 48 : 64;
    }
    return named ? 32 : 0;
}

static bool is_node(const struct probe_dir *p)
{
    return probe_dir_has_file(p, ".zgroup") || probe_dir_has_file(p, ".zarray") ||
           probe_dir_has_file(p, "zarr.json") || probe_dir_has_file(p, ".zmetadata");
}

static bool is_of_another_format(const struct probe_dir *p)
{
    static const char process[] = "ocdbt.process_";
    for (uint64_t i = 0; i < p->dir_count; i++)
        if (strncmp(p->dirs[i], process, sizeof(process) - 1) == 0 &&
            !array_probe_node(p, p->dirs[i]))
            return true;
    return probe_dir_has_file(p, "_METADATA") || probe_dir_has_file(p, "manifest.ocdbt") ||
           probe_dir_has_file(p, "pytreedef.json");
}

static bool zarr_holds(struct bytes head, const char *word)
{
    struct probe p = {.head = head};
    return head.at && probe_holds(&p, word);
}

/* Whether `head` is the beginning of a JSON object that has this key itself. Keys of nested
 * objects (a group's consolidated copies of its arrays' metadata) do not count. */
static bool has_key(struct bytes head, const char *key)
{
    size_t len = strlen(key), begin = 0;
    unsigned depth = 0;
    bool text = false;
    for (size_t i = 0; i < head.len; i++) {
        uint8_t c = head.at[i];
        if (text && c == '\\') {
            i++;
        } else if (c == '"') {
            text = !text;
            if (text)
                begin = i + 1;
            else if (depth == 1 && i - begin == len && memcmp(head.at + begin, key, len) == 0)
                return true;
        } else if (!text) {
            depth += c == '{' || c == '[';
            depth -= (c == '}' || c == ']') && depth;
        }
    }
    return false;
}

static bool child_is_array(const struct probe_dir *p, const char *name)
{
    char path[512];
    if (snprintf(path, sizeof(path), "%s/.zarray", name) >= (int)sizeof(path))
        return false;
    if (p->peek(p, path).at)
        return true;
    snprintf(path, sizeof(path), "%s/zarr.json", name);
    return has_key(p->peek(p, path), "data_type");
}

/* Whether the directory holds two or more arrays and nothing else. Otherwise each array is a
 * checkpoint of its own, and so is whatever lies beside it; a NAME.zarr always is one. */
static bool holds_arrays(const struct probe_dir *p)
{
    uint64_t seen = 0;
    for (uint64_t i = 0; i < p->file_count; i++)
        if (format_claims_name(p->files[i]))
            return false;
    for (uint64_t i = 0; i < p->dir_count; i++) {
        const char *name = p->dirs[i];
        if (*name == '.')
            continue;
        if (text_ends_in(name, strlen(name), ".zarr") || !child_is_array(p, name))
            return false;
        seen++;
    }
    return seen > 1;
}

static bool is_levanter(const struct probe_dir *p)
{
    if (!p->dir_count || !probe_dir_has_file(p, "metadata.json"))
        return false;
    struct bytes head = p->peek(p, "metadata.json");
    return zarr_holds(head, "\"step\"") && zarr_holds(head, "\"timestamp\"");
}

static int probe_dir(const struct probe_dir *p)
{
    if (is_of_another_format(p))
        return 0;
    if (is_node(p))
        return 56; /* bits of ".zarray", the shortest of these names */
    return is_levanter(p) ? 48 : holds_arrays(p) ? 40 : 0;
}

/* --- step and run ----------------------------------------------------------------------- */

/* "NAME-000001000" */
static bool nine_digits(const char *name, int64_t *step)
{
    const char *dash = strrchr(name, '-');
    if (!dash || dash == name || strlen(dash + 1) != 9 || strspn(dash + 1, "0123456789") != 9)
        return false;
    *step = 0;
    for (const char *at = dash + 1; *at; at++)
        *step = *step * 10 + (*at - '0');
    return true;
}

static void state_step(struct job *job)
{
    const char *slash = strrchr(job->path, '/');
    int64_t step;
    if (!slash || slash == job->path || !nine_digits(slash + 1, &step))
        return; /* other names are as in all formats */
    job_step(job, step);
    job_run(job, arena_copy(job->arena, job->path, (size_t)(slash - job->path)), NULL);
}

/* --- indexing --------------------------------------------------------------------------- */

/* The name of a node: its path. Below a bare root '~' is written for '/'. */
static const char *zarr_shown(struct job *job, const char *path, bool bare)
{
    char *name = arena_copy(job->arena, path, strlen(path));
    for (char *at = name; bare && (at = strchr(at, '~'));)
        *at = '/';
    return name;
}

static void state_attributes(struct job *job, const struct array_attributes *a, bool bare)
{
    struct error err = {.offset = NO_OFFSET};
    struct text file = {0};
    uint32_t number;
    const char *name = *a->path ? zarr_shown(job, a->path, bare) : "";
    text_addf(&file, "%s%s%s/%s", job->path, *a->path ? "/" : "", a->path, a->file);
    if (!text_str(&file))
        error_memory(job->err);
    if (text_str(&file) && !a->recorded)
        job_seen(job, text_str(&file), "index", &a->identity, &number);
    if (text_str(&file) && a->text.len)
        array_attributes_state(job, text_str(&file), name, a->text, &err);
    if (err.status != OK)
        job_issue_error(job, ISSUE_WARNING, &err);
    text_release(&file);
}

static enum status zarr_index(struct job *job)
{
    if (job->source)
        return array_emit_archive(job);
    struct array_tree tree;
    struct probe_dir p = {0};
    p.files = job_siblings(job, &p.file_count);
    const bool bare = !is_node(&p); /* a plain folder of zarr nodes, not a node itself */
    if (array_tree_scan(job, job->path, &tree) == OK) {
        array_groups_record(job, job->path, &tree);
        job_expect(job, tree.count);
        for (uint64_t i = 0; i < tree.count && job->err->status == OK; i++) {
            const struct array_site *site = &tree.sites[i];
            const char *name = zarr_shown(job, site->path, bare);
            array_emit_site(job, job->path, site, name, strlen(name), NULL);
        }
    }
    if (job->err->status != OK)
        return job->err->status;
    for (uint64_t i = 0; i < tree.attribute_count; i++)
        state_attributes(job, &tree.attributes[i], bare);
    if (bare)
        job_meta_neighbour(job, "metadata.json");
    array_tree_report(job, job->path, &tree);
    state_step(job);
    return job->err->status;
}

const struct format format_zarr = {
    .name = "zarr",
    .summary = "zarr 2 and 3: groups, single arrays, arrays side by side, in folders or one zip",
    .suffixes = ".zarr " ARCHIVE_NAME,
    .separator = '/',
    .part = true,
    .probe = zarr_probe,
    .probe_dir = probe_dir,
    .index = zarr_index,
};
