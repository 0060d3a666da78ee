
#include "shell/command/command.h"

#define EXTENTS_SHOWN 20

static const char sql_facts[] =
    "SELECT id, checkpoint, path, name, dtype, shape, rank, elements, nbytes, stored, storage,"
    " file, offset FROM tensor WHERE id = ?1";
static const char sql_all[] =
    "SELECT id, checkpoint, path, name, dtype, shape, rank, elements, nbytes, stored, storage,"
    " file, offset, ?2 ->> 'codec' AS codec, ?2 ->> 'strides' AS strides,"
    " ?2 -> 'extents' AS extents, ?3 AS issues FROM tensor WHERE id = ?1";
/* Issues of this tensor's files, or whose message contains its name. */
#define ISSUES                                                                                     \
    " FROM issue WHERE checkpoint_id = tensor_checkpoint(?1) AND (path IN (SELECT value FROM"      \
    " json_each(?2, '$.files')) OR instr(message, ?3) > 0)"
static const char sql_issues[] = "SELECT severity, code, path, offset, message" ISSUES
                                 " ORDER BY instr(message, ?3) = 0, id LIMIT 20";
static const char sql_issue_list[] = "SELECT json_group_array(json_object('severity', "
                                     "severity, 'code', code, 'path', path,"
                                     " 'offset', offset, 'message', message))" ISSUES;
static const char sql_extents[] =
    "SELECT value ->> 'file' AS file, value ->> 'offset' AS offset,"
    " value ->> 'stored' AS stored, value ->> 'origin' AS origin, value ->> 'shape' AS "
    "shape, value ->> 'checksum' AS checksum FROM json_each(?1, '$.extents')";

/* The tensor to show. */
struct shown {
    const struct ckptdb_tensor_info *info;
    char *json; /* from ckptdb_tensor_places() */
};

/* For programs: one row with everything. */
static int show_row(struct session *s, const struct shown *t)
{
    sqlite3_stmt *issues =
        session_prepare(s, sql_issue_list, "iss", t->info->id, t->json, t->info->name);
    int status = STATUS_NO;
    if (session_row(s, issues)) {
        const char *list = (const char *)sqlite3_column_text(issues, 0);
        if (list)
            status = render_query(s, sql_all, "iss", t->info->id, t->json, list);
        else /* never NULL in SQL: an empty list is "[]" */
            complain("no memory for the issues");
    }
    sqlite3_finalize(issues);
    return status;
}

/* Print the codec, and the extents unless the facts already say where the data is. */
static int show_places(struct session *s, const struct shown *t)
{
    static const char sql[] = "SELECT ?1 ->> 'codec', ?1 ->> 'count', ?1 ->> 'plain'";
    sqlite3_stmt *row = session_prepare(s, sql, "s", t->json);
    int status = STATUS_NO;
    if (session_row(s, row)) {
        const char *codec = (const char *)sqlite3_column_text(row, 0);
        const sqlite3_int64 count = sqlite3_column_int64(row, 1);
        status = STATUS_FINE;
        if (codec)
            fprintf(s->out, "\ncodec: %s\n", codec);
        s->mode = s->out_is_terminal ? MODE_AUTO : MODE_TABLE;
        if (count > 0 && !sqlite3_column_int(row, 2)) {
            fputc('\n', s->out);
            status = render_json(s, sql_extents, t->json);
        }
        if (count > EXTENTS_SHOWN)
            fprintf(s->out, "and %lld more: SELECT * FROM extent WHERE tensor_id = %lld\n",
                    (long long)count - EXTENTS_SHOWN, (long long)t->info->id);
    }
    sqlite3_finalize(row);
    return status;
}

/* For people: the facts, one per line, then tables of extents and issues. */
static int show_lists(struct session *s, const struct shown *t)
{
    const int64_t id = t->info->id;
    const char *name = t->info->name;
    s->mode = MODE_LINE;
    int status = render_query(s, sql_facts, "i", id);
    if (status == STATUS_FINE)
        status = show_places(s, t);
    if (status == STATUS_FINE &&
        session_number(s, "SELECT count(*)" ISSUES, "iss", id, t->json, name)) {
        fputc('\n', s->out);
        status = render_query(s, sql_issues, "iss", id, t->json, name);
    }
    s->mode = MODE_AUTO;
    return status;
}

static int show_run(struct session *s, const struct args *args)
{
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    sqlite3_int64 id = checkpoint ? session_tensor(s, checkpoint, args->operand[1]) : -1;
    const bool people = s->mode == MODE_AUTO;
    struct ckptdb_error err;
    ckptdb_tensor *tensor = NULL;
    struct shown t = {.json = NULL};
    int status;
    if (id < 0)
        return STATUS_NO;
    if (ckptdb_tensor_open(s->open, id, &tensor, &err) == CKPTDB_OK &&
        ckptdb_tensor_places(tensor, people ? EXTENTS_SHOWN : UINT64_MAX, &t.json, &err) ==
            CKPTDB_OK) {
        t.info = ckptdb_tensor_info(tensor);
        status = people ? show_lists(s, &t) : show_row(s, &t);
    } else {
        complain_status(&err);
        status = STATUS_NO;
    }
    ckptdb_free(t.json);
    ckptdb_tensor_close(tensor);
    return status;
}

const struct command command_show = {
    .name = "show",
    .args = "CHECKPOINT NAME",
    .summary = "show everything about one tensor",
    .help = "Where its bytes lie, how they are stored, and what is wrong with them. With an\n"
            "output mode (--json) one row has everything, extents and issues as JSON.\n"
            "\n"
            "  ckptdb show t5_small/checkpoint_1000 target/encoder/layers_0/mlp/wi/kernel",
    .min_args = 2,
    .max_args = 2,
    .catalog = CATALOG_READ,
    .traits = PAGES,
    .run = show_run,
};
