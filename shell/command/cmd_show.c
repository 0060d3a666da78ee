#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/render/render.h"

#define ARENA_BYTES   ((size_t)1 << 30)
#define EXTENTS_SHOWN 20

/* By its name, which has an index, and its place, which makes it the only one. */
#define THIS_TENSOR " checkpoint_id = ?1 >> 24 AND name = ?2 AND ord = ?1 & 16777215"

static const char sql_facts[] =
    "SELECT id, checkpoint, name, dtype, shape, rank, elements, nbytes, stored, storage,"
    " file, offset FROM tensor WHERE" THIS_TENSOR;
static const char sql_all[] =
    "SELECT id, checkpoint, name, dtype, shape, rank, elements, nbytes, stored, storage,"
    " file, offset, ?3 ->> 'codec' AS codec, ?3 ->> 'strides' AS strides,"
    " ?3 -> 'extents' AS extents, ?4 AS issues"
    " FROM tensor WHERE" THIS_TENSOR;
/* Issues of this tensor's files, or that name it. */
#define ISSUES                                                                           \
    " FROM issue WHERE checkpoint_id = ?1 >> 24 AND (path IN (SELECT value FROM"         \
    " json_each(?2, '$.files')) OR instr(message, ?3) > 0)"
static const char sql_issues[] = "SELECT severity, code, path, offset, message" ISSUES
                                 " ORDER BY instr(message, ?3) = 0, id LIMIT 20";
static const char sql_issue_list[] = "SELECT json_group_array(json_object('severity', "
                                     "severity, 'code', code, 'path', path,"
                                     " 'offset', offset, 'message', message))" ISSUES;
static const char sql_extents[] =
    "SELECT value ->> 'file' AS file, value ->> 'offset' AS offset,"
    " value ->> 'stored' AS stored, value ->> 'origin' AS origin, value ->> 'shape' AS "
    "shape,"
    " value ->> 'checksum' AS checksum FROM json_each(?1, '$.extents')";

static void add_numbers(struct text *json, const char *key, const uint64_t *numbers,
                        unsigned rank)
{
    text_addf(json, ",\"%s\":", key);
    if (numbers)
        shape_print(json, numbers, rank);
    else
        text_adds(json, "null");
}

static void add_strides(struct text *json, const int64_t *strides, unsigned rank)
{
    text_adds(json, ",\"strides\":");
    for (unsigned i = 0; strides && i < rank; i++)
        text_addf(json, "%c%lld", i ? ',' : '[', (long long)strides[i]);
    text_adds(json, !strides ? "null" : rank ? "]" : "[]");
}

static void add_extent(struct text *json, const struct stored_tensor *t, uint64_t i)
{
    const struct extent *e = &t->extents[i];
    bool has_file = e->file < t->file_count && !e->bytes;
    text_adds(json, i ? ",{\"file\":" : "{\"file\":");
    if (has_file)
        text_json(json, t->files[e->file].path, strlen(t->files[e->file].path));
    else
        text_adds(json, "null");
    text_adds(json, ",\"offset\":");
    if (has_file)
        text_addf(json, "%llu", (unsigned long long)e->offset + t->files[e->file].base);
    else
        text_adds(json, "null");
    text_addf(json, ",\"stored\":%llu", (unsigned long long)e->stored);
    add_numbers(json, "origin", e->origin, t->rank);
    add_numbers(json, "shape", e->shape, t->rank);
    if (e->codec) {
        text_adds(json, ",\"codec\":");
        text_json(json, e->codec, strlen(e->codec));
    }
    if (e->strides)
        add_strides(json, e->strides, t->rank);
    if (t->sums && t->sums[i])
        text_addf(json, ",\"checksum\":\"%s:%08x\"", t->sum_kind, t->sums[i]);
    text_addc(json, '}');
}

/* What the reader knows of a tensor, as JSON: codec, strides, extents, files. */
static void describe(struct text *json, const struct stored_tensor *t, uint64_t extents)
{
    text_adds(json, "{\"codec\":");
    if (t->codec)
        text_json(json, t->codec, strlen(t->codec));
    else
        text_adds(json, "null");
    add_strides(json, t->strides, t->rank);
    text_adds(json, ",\"extents\":[");
    for (uint64_t i = 0; i < extents; i++)
        add_extent(json, t, i);
    text_adds(json, "],\"files\":[");
    for (uint64_t i = 0; i < t->extent_count; i++) {
        uint32_t file = t->extents[i].file;
        if (file >= t->file_count || (i > 0 && t->extents[i - 1].file == file))
            continue;
        text_adds(json, json->at[json->len - 1] == '[' ? "" : ",");
        text_json(json, t->files[file].path, strlen(t->files[file].path));
    }
    text_adds(json, "]}");
}

/* One row with everything in it. */
static int show_row(struct session *s, const struct stored_tensor *t, const char *json)
{
    sqlite3_stmt *issues =
        session_prepare(s, sql_issue_list, "iss", t->id, json, t->name);
    int status = STATUS_NO;
    if (issues && sqlite3_step(issues) == SQLITE_ROW)
        status = render_query(s, sql_all, "isss", t->id, t->name, json,
                              (const char *)sqlite3_column_text(issues, 0));
    sqlite3_finalize(issues);
    return status;
}

/* For people: facts one below the other, then a table of each list that has more to say. */
static int show_lists(struct session *s, const struct stored_tensor *t, const char *json)
{
    s->mode = MODE_LINE;
    int status = render_query(s, sql_facts, "is", t->id, t->name);
    if (status == STATUS_FINE && t->codec)
        fprintf(s->out, "\ncodec: %s\n", t->codec);
    s->mode = s->out_is_terminal ? MODE_AUTO : MODE_TABLE;
    if (status == STATUS_FINE && t->extent_count > 0 &&
        (t->storage != STORAGE_RANGE || t->sums)) {
        fputc('\n', s->out);
        status = render_json(s, sql_extents, json);
    }
    if (t->extent_count > EXTENTS_SHOWN)
        fprintf(s->out, "and %llu more: SELECT * FROM extent WHERE tensor_id = %lld\n",
                (unsigned long long)(t->extent_count - EXTENTS_SHOWN), (long long)t->id);
    sqlite3_stmt *any = session_prepare(s, sql_issues, "iss", t->id, json, t->name);
    bool has_issues = any && sqlite3_step(any) == SQLITE_ROW;
    sqlite3_finalize(any);
    if (status == STATUS_FINE && has_issues) {
        fputc('\n', s->out);
        status = render_query(s, sql_issues, "iss", t->id, json, t->name);
    }
    s->mode = MODE_AUTO;
    return status;
}

static int show(struct session *s, const struct stored_tensor *t)
{
    struct text json = {0};
    int status = STATUS_NO;
    bool people = s->mode == MODE_AUTO;
    describe(&json, t,
             people && t->extent_count > EXTENTS_SHOWN ? EXTENTS_SHOWN : t->extent_count);
    if (!text_str(&json))
        complain("%s: no memory for its extents", t->name);
    else if (people)
        status = show_lists(s, t, text_str(&json));
    else
        status = show_row(s, t, text_str(&json));
    text_release(&json);
    return status;
}

static int show_run(struct session *s, const struct args *args)
{
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    sqlite3_int64 id = checkpoint ? session_tensor(s, checkpoint, args->operand[1]) : -1;
    if (id < 0)
        return STATUS_NO;
    struct arena arena = {.ceiling = ARENA_BYTES};
    struct lookup *lookup = NULL;
    struct stored_tensor tensor;
    struct error err;
    int status = STATUS_NO;
    error_clear(&err);
    if (lookup_open(s->db, &lookup, &err) == OK &&
        lookup_tensor(lookup, id, &arena, &tensor, &err) == OK)
        status = show(s, &tensor);
    else
        complain_error(&err);
    lookup_close(lookup);
    arena_release(&arena);
    return status;
}

const struct command command_show = {
    .name = "show",
    .args = "CHECKPOINT NAME",
    .summary = "tell everything about one tensor",
    .help =
        "Where its bytes lie, how they are stored, what is wrong with them. With an "
        "output\n"
        "mode (--json) one row holds it all, extents and issues as JSON.\n\n"
        "  ckptdb show t5_small/checkpoint_1000 target/encoder/layers_0/mlp/wi/kernel",
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .pages = true,
    .run = show_run,
};
