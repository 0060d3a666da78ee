/*
 * cmd_optimizer.c - optimizers, as specs in the table `optimizer`: load, list, show,
 * delete; and compare their state with that in a checkpoint (schema/optimizers.md).
 */
#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/command.h"
#include "shell/session/read_text.h"
#include "shell/session/resolve.h"

static int list(struct session *s, const struct args *args)
{
    (void)args;
    return render_query(s,
                        "SELECT name, (SELECT group_concat(key, ', ') FROM json_each(spec)"
                        "  WHERE key <> 'axes') AS form, spec FROM optimizer ORDER BY name",
                        "");
}

/* Whether there is such an optimizer; complains if not. */
static bool known(struct session *s, const char *name)
{
    const bool found = session_number(s, "SELECT 1 FROM optimizer WHERE name = ?1", "s", name);
    if (!found && !s->unread) {
        complain("no optimizer is called '%s'; `optimizer list` lists them", name);
        say_near(session_prepare(s, "SELECT name FROM optimizer", ""), name, false);
    }
    return found;
}

static int optimizer_show(struct session *s, const struct args *args)
{
    if (!known(s, args->operand[1]))
        return STATUS_NO;
    return render_query(s, "SELECT spec FROM optimizer WHERE name = ?1", "s", args->operand[1]);
}

/* Whether a spec is valid. Errors that do not depend on parameters show up as rows with
 * `error` for a checkpoint without parameters (there is no id 0). */
static bool spec_good(struct session *s, const char *path, const char *spec)
{
    sqlite3_stmt *stmt = session_prepare(
        s,
        "SELECT CASE WHEN NOT json_valid(?1) THEN 'this is not JSON'"
        " WHEN json_type(?1) <> 'object' THEN 'the spec is not an object' ELSE"
        " (SELECT error FROM optimizer_state_rows(?1, 0) WHERE error IS NOT NULL) END",
        "s", spec);
    if (!stmt)
        return false;
    bool good = false;
    if (sqlite3_step(stmt) != SQLITE_ROW)
        complain("%s: %s", path, ckptdb_why(s->open));
    else if (sqlite3_column_text(stmt, 0))
        complain("%s: %s", path, sqlite3_column_text(stmt, 0));
    else
        good = true;
    sqlite3_finalize(stmt);
    return good;
}

static bool store(struct session *s, const char *name, const char *spec)
{
    sqlite3_stmt *stmt = session_prepare(s,
                                         "INSERT INTO optimizer(name, spec) VALUES (?1, json(?2))"
                                         " ON CONFLICT(name) DO UPDATE SET spec = excluded.spec",
                                         "ss", name, spec);
    bool stored = stmt && sqlite3_step(stmt) == SQLITE_DONE;
    if (stmt && !stored)
        complain("cannot store the optimizer: %s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    return stored;
}

static int optimizer_load(struct session *s, const struct args *args)
{
    const char *name = args->operand[1], *path = args->operand[2];
    struct text file = {0};
    int status = STATUS_TROUBLE;
    if (must_have_name(name, "optimizer load") && must_write(s, "optimizer load") &&
        read_text(path, &file) && session_open(s, CKPTDB_CREATE))
        status = strlen(text_str(&file)) == file.len ? STATUS_FINE : STATUS_NO;
    if (status == STATUS_NO)
        complain("%s: a NUL character; is this text?", path);
    if (status == STATUS_FINE &&
        (!spec_good(s, path, text_str(&file)) || !store(s, name, text_str(&file))))
        status = STATUS_NO;
    if (status == STATUS_FINE)
        status = render_report_of(s, "SELECT json_object('loaded', ?1)", name);
    s->failed = s->failed || status != STATUS_FINE;
    text_release(&file);
    return status;
}

/* As JSON, so that it is computed only once. */
static int verify_state(struct session *s, const struct args *args)
{
    sqlite3_int64 checkpoint =
        known(s, args->operand[1]) ? session_checkpoint(s, args->operand[2]) : 0;
    sqlite3_stmt *stmt =
        checkpoint
            ? session_prepare(s,
                              "SELECT json_group_array(json_array(name, problem, expected, found,"
                              " hint)), count(*) FROM verify_state(?1, ?2)",
                              "si", args->operand[1], (int64_t)checkpoint)
            : NULL;
    if (!stmt)
        return STATUS_NO;
    int status = STATUS_NO;
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        status = render_json(s,
                             "SELECT value ->> 0 AS name, value ->> 1 AS problem,"
                             " value ->> 2 AS expected, value ->> 3 AS found,"
                             " value ->> 4 AS hint FROM json_each(?1)",
                             (const char *)sqlite3_column_text(stmt, 0));
        if (status == STATUS_FINE && sqlite3_column_int64(stmt, 1) > 0)
            status = STATUS_NO;
    } else {
        complain("%s", ckptdb_why(s->open));
    }
    sqlite3_finalize(stmt);
    return status;
}

static int delete_one(struct session *s, const struct args *args)
{
    if (!must_write(s, "optimizer delete") || !session_open(s, CKPTDB_WRITE))
        return STATUS_TROUBLE;
    if (!known(s, args->operand[1]))
        return STATUS_NO;
    sqlite3_stmt *stmt =
        session_prepare(s, "DELETE FROM optimizer WHERE name = ?1", "s", args->operand[1]);
    bool gone = stmt && sqlite3_step(stmt) == SQLITE_DONE;
    if (stmt && !gone)
        complain("cannot delete the optimizer: %s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    return gone ? render_report_of(s, "SELECT json_object('deleted', ?1)", args->operand[1])
                : STATUS_TROUBLE;
}

/* All rows as JSON, so that they are computed only once; whether there is any; whether a
 * column for the place is needed. NULL after an error message. */
static sqlite3_stmt *infer_all(struct session *s, sqlite3_int64 checkpoint)
{
    sqlite3_stmt *stmt = session_prepare(
        s,
        "SELECT json_group_array(json_array(optimizer, fits, differences, missing, unexpected,"
        " shape, dtype, \"null\", error, first, place)), count(*), count(place)"
        " FROM infer_optimizer(?1)",
        "i", (int64_t)checkpoint);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        return stmt;
    if (stmt)
        complain("%s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    return NULL;
}

#define INFERRED                                                                                   \
    "SELECT value ->> 0 AS optimizer, value ->> 1 AS fits, value ->> 2 AS differences,"            \
    " value ->> 3 AS missing, value ->> 4 AS unexpected, value ->> 5 AS shape,"                    \
    " value ->> 6 AS dtype, value ->> 7 AS \"null\", value ->> 8 AS error,"                        \
    " value ->> 9 AS first"

static int optimizer_infer(struct session *s, const struct args *args)
{
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[1]);
    sqlite3_stmt *stmt = checkpoint ? infer_all(s, checkpoint) : NULL;
    if (!stmt)
        return STATUS_NO;
    int status = STATUS_NO;
    if (sqlite3_column_int64(stmt, 1) == 0)
        complain("%s holds no state of a known optimizer, or no parameters beside it",
                 args->operand[1]);
    else
        status = render_json(s,
                             sqlite3_column_int64(stmt, 2) ? INFERRED
                                 ", value ->> 10 AS place FROM json_each(?1)"
                                                           : INFERRED " FROM json_each(?1)",
                             (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return status;
}

extern const struct command command_optimizer;

static int optimizer_run(struct session *s, const struct args *args)
{
    static const struct verb verbs[] = {
        {"load NAME FILE", 2, CKPTDB_CREATE, 0, optimizer_load},
        {"list", 0, CKPTDB_READ, 0, list},
        {"show NAME", 1, CKPTDB_READ, 0, optimizer_show},
        {"delete NAME", 1, CKPTDB_CREATE, 0, delete_one},
        {"verify-state NAME CHECKPOINT", 2, CKPTDB_READ, 0, verify_state},
        {"infer CHECKPOINT", 1, CKPTDB_READ, 0, optimizer_infer},
        {0},
    };
    return verb_run(s, &command_optimizer, verbs, args);
}

const struct command command_optimizer = {
    .name = "optimizer",
    .args = "load OPTIMIZER FILE | list | show OPTIMIZER | delete OPTIMIZER\n"
            "| verify-state OPTIMIZER CHECKPOINT | infer CHECKPOINT",
    .summary = "what state an optimizer keeps, and which optimizer a state is from",
    .help = "load stores a spec (JSON), replacing one with the same name: T5X's Adafactor and\n"
            "MultiOptimizer, and Optax as T5X wraps it:\n"
            "  {\"adafactor\": {\"beta1\": 0.9, \"factor_map\": [[\"regex\", \"heuristic\"]]}}\n"
            "  {\"multi\": [{\"filter\": {\"contains\": \"kernel\"}, \"optimizer\": SPEC}, ...]}\n"
            "  {\"optax\": {\"opt\": \"adamw\", \"args\": {\"learning_rate\": 0.001}}}\n"
            "The view `optimizer_state` then has the state it would keep for every\n"
            "checkpoint:\n"
            "names, shapes and dtypes, computed without reading any data.\n"
            "verify-state compares that with the checkpoint's own state, under state/; its\n"
            "exit status is 1 if they differ.\n"
            "infer compares the state that T5X, Flax, Orbax, NNX or PyTorch wrote with the\n"
            "usual optimizers and those that were loaded, and lists the best first. Its exit\n"
            "status is 1 if there is no state, or none of the parameters that the state\n"
            "belongs to.\n"
            "\n"
            "  ckptdb optimizer load mine mine.json\n"
            "  ckptdb optimizer verify-state mine run@latest\n"
            "  ckptdb optimizer infer run@latest\n"
            "  ckptdb \"SELECT name, shape FROM optimizer_state\n"
            "          WHERE optimizer = 'mine' AND checkpoint_id = 1\"",
    .min_args = 1,
    .max_args = 3,
    .catalog = CATALOG_NONE,
    .traits = PAGES,
    .run = optimizer_run,
};
