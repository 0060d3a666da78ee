/*
 * cmd_map.c - rule sets: load, list, show, run, check, why.
 */

#include "shell/command/cmd_map.h"
#include "shell/command/set_option.h"
#include "shell/session/read_text.h"

static const struct option_spec options[] = {
    [TARGET] = {"--target", "CHECKPOINT", "the model to map onto (assignment maps)"},
    [SET] = {"--set", PAIR, "run, check, why: a number that the checkpoint does not state"},
    [MAP] = {"--map", "RULESET", "why: ask only this rule set"},
    [FORMAT] = {"--format", "F", "show: sql, json, gin, key_mapping, new_to_old or transforms"},
    [NAME] = {"--name", "RULESET", "infer: keep the rules as this set"},
    [OUT] = {"-o", "FILE", "infer: write the rules to FILE, for map load"},
    [NAMES] = {"--names", NULL, "check: a line for every name concerned"},
    [JOBS] = {"--jobs", "N", "infer: number of threads (default: one per core)"},
    {0},
};

static int list(struct session *s, const struct args *args)
{
    (void)args;
    return render_query(s,
                        "SELECT name, dialect,"
                        " (SELECT count(*) FROM rule WHERE ruleset = name) AS rules,"
                        " iif(shipped, 'shipped', 'own') AS origin FROM ruleset ORDER BY name",
                        "");
}

/* Print the set as a file that `map load` reads. */
static int map_write(struct session *s, const char *name, const char *format)
{
    struct ckptdb_error err;
    char *text;
    size_t len;
    if (s->one_command && s->mode != MODE_AUTO) {
        complain("--format %s writes a file, not rows: no --json or the like", format);
        return STATUS_TROUBLE;
    }
    if (ckptdb_map_write(s->open, name, format, &text, &len, &err) != CKPTDB_OK) {
        complain_status(&err);
        return STATUS_TROUBLE;
    }
    fwrite(text, 1, len, s->out);
    ckptdb_free(text);
    return session_flush(s) ? STATUS_FINE : STATUS_TROUBLE;
}

static int map_show(struct session *s, const struct args *args)
{
    char *dialect = session_dialect(s, args->operand[1]);
    if (!dialect)
        return STATUS_NO;
    sqlite3_free(dialect);
    if (args->value[FORMAT])
        return map_write(s, args->operand[1], args->value[FORMAT]);
    return render_query(s,
                        "SELECT ord, pattern, replacement, compute, ops FROM rule"
                        " WHERE ruleset = ?1 ORDER BY ord",
                        "s", args->operand[1]);
}

/* Replaces a set with this name; nothing changes if the file is refused. */
static int map_load(struct session *s, const struct args *args)
{
    const char *name = args->operand[1], *path = args->operand[2];
    struct ckptdb_error err;
    struct text file = {0};
    int status = STATUS_TROUBLE;
    if (!must_have_name(args->operand[1], "map load") || !must_write(s, "map load"))
        return STATUS_TROUBLE;
    if (read_text(path, &file) && session_open(s, CKPTDB_CREATE)) {
        if (ckptdb_map_load(s->open, name, text_str(&file), file.len, path, &err) != CKPTDB_OK) {
            complain_status(&err);
            status = STATUS_NO;
        } else {
            status =
                render_report_of(s,
                                 "SELECT json_object('loaded', name, 'dialect', dialect, 'rules',"
                                 " (SELECT count(*) FROM rule WHERE ruleset = name))"
                                 " FROM ruleset WHERE name = ?1",
                                 name);
        }
    }
    s->failed = s->failed || status != STATUS_FINE;
    text_release(&file);
    return status;
}

/* Print the rows; then the query `bad` tells whether a row makes the status 1. */
static int run_query(struct session *s, const char *rows, const char *bad, const char *name,
                     int64_t checkpoint, int64_t target)
{
    const int status = render_query(s, rows, "sii", name, checkpoint, target);
    if (status == STATUS_FINE && session_number(s, bad, "sii", name, checkpoint, target))
        return STATUS_NO;
    return status;
}

/* The checkpoints that `run` and `check` are about, `target` 0 if none was given; --set is given to the
 * map. Other than STATUS_FINE, with the reason printed. */
static int find_sides(struct session *s, const struct args *args, int64_t *source, int64_t *target)
{
    const char *model = args->value[TARGET];
    *source = session_checkpoint(s, args->operand[2]);
    *target = *source && model ? session_checkpoint(s, model) : 0;
    if (!*source || (model && !*target))
        return STATUS_NO;
    return settings_give(s, args, args->operand[1], *source);
}

static int map_run_set(struct session *s, const struct args *args)
{
    const char *name = args->operand[1];
    const enum ckptdb_dialect_kind kind = session_map(s, name);
    int64_t source, target;
    if (kind == CKPTDB_DIALECT_UNKNOWN)
        return STATUS_NO;
    if ((kind == CKPTDB_ASSIGNS) != (args->value[TARGET] != NULL)) {
        complain(kind == CKPTDB_ASSIGNS
                     ? "'%s' maps onto a model: say which with --target CHECKPOINT"
                     : "'%s' translates names and has no use for --target",
                 name);
        return STATUS_TROUBLE;
    }
    const int found = find_sides(s, args, &source, &target);
    if (found != STATUS_FINE)
        return found;
    if (kind == CKPTDB_ASSIGNS)
        return run_query(s,
                         "SELECT new_name, status, old_name, dtype, shape, rule, error, note"
                         " FROM assignment"
                         " WHERE ruleset = ?1 AND source_id = ?2 AND target_id = ?3",
                         "SELECT 1 FROM assignment WHERE ruleset = ?1 AND source_id = ?2"
                         " AND target_id = ?3 AND status = 'error' LIMIT 1",
                         name, source, target);
    if (kind == CKPTDB_CONVERTS)
        return run_query(s,
                         "SELECT old_name, status, new_name, dtype, shape, part, parts, ops, rule, "
                         "error, note FROM conversion WHERE ruleset = ?1 AND checkpoint_id = ?2"
                         " ORDER BY ord, new_name",
                         "SELECT 1 FROM conversion WHERE ruleset = ?1 AND checkpoint_id = ?2"
                         " AND status IN ('error', 'unmatched') LIMIT 1",
                         name, source, 0);
    return run_query(s,
                     "SELECT old_name, status, new_name, dtype, shape, rule, error, note"
                     " FROM translation WHERE ruleset = ?1 AND checkpoint_id = ?2"
                     " ORDER BY ord, tensor_id",
                     "SELECT 1 FROM translation WHERE ruleset = ?1 AND checkpoint_id = ?2"
                     " AND status IN ('error', 'unmatched') LIMIT 1",
                     name, source, 0);
}

/* All findings as JSON, so that they are computed only once, and
 * whether one is more than a note. */
static const char gather[] =
    "SELECT json_group_array(json_array(severity, finding, rule, count, names, meaning, advice)),"
    " max(severity <> 'note') FROM map_check(?1, ?2, ?3, ?4)";
static const char show_findings[] =
    "SELECT value ->> 0 AS severity, value ->> 1 AS finding, value ->> 2 AS rule,"
    " value ->> 3 AS count, value ->> 4 AS names, value ->> 5 AS meaning,"
    " value ->> 6 AS advice FROM json_each(?1)";
static const char show_names[] =
    "SELECT f.value ->> 0 AS severity, f.value ->> 1 AS finding, f.value ->> 2 AS rule,"
    " n.value AS name FROM json_each(?1) f LEFT JOIN json_each(f.value ->> 4) n";
/* For people, rules with the same finding are merged into one row. */
static const char show_to_people[] =
    "SELECT value ->> 0 AS severity, value ->> 1 AS finding,"
    " CASE WHEN count(*) = 1 THEN value ->> 2"
    "  WHEN count(*) <= 6 THEN group_concat(value ->> 2, ', ')"
    "  ELSE min(value ->> 2) || ' .. ' || max(value ->> 2) || ' (' || count(*) || ')'"
    " END AS rule, value ->> 3 AS count, value ->> 4 AS names, value ->> 5 AS meaning,"
    " value ->> 6 AS advice FROM json_each(?1)"
    " GROUP BY value ->> 0, value ->> 1, value ->> 3, value ->> 4, value ->> 5, value ->> 6,"
    "  iif(value ->> 2 IS NULL, key, -1) ORDER BY min(key)";

/* Print the findings; the status is 1 if one is more than a note. */
static int map_check_command(struct session *s, const struct args *args)
{
    const char *name = args->operand[1];
    const enum ckptdb_dialect_kind kind = session_map(s, name);
    int64_t source, target;
    if (kind == CKPTDB_DIALECT_UNKNOWN)
        return STATUS_NO;
    if (kind == CKPTDB_ASSIGNS && !args->value[TARGET]) {
        complain("'%s' maps onto a model: say which with --target CHECKPOINT", name);
        return STATUS_TROUBLE;
    }
    const int found = find_sides(s, args, &source, &target);
    if (found != STATUS_FINE)
        return found;
    const bool names = args->value[NAMES];
    sqlite3_stmt *stmt = session_prepare(s, gather, "siii", name, source, target, (int64_t)names);
    if (!stmt)
        return STATUS_NO;
    int status = STATUS_NO;
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        bool people = s->out_is_terminal && s->mode == MODE_AUTO;
        status = render_json(s,
                             names    ? show_names
                             : people ? show_to_people
                                      : show_findings,
                             (const char *)sqlite3_column_text(stmt, 0));
        if (status == STATUS_FINE && sqlite3_column_int(stmt, 1))
            status = STATUS_NO;
    } else {
        complain("%s", ckptdb_why(s->open));
    }
    sqlite3_finalize(stmt);
    return status;
}

static int delete (struct session *s, const struct args *args)
{
    const char *name = args->operand[1];
    if (!must_write(s, "map delete"))
        return STATUS_TROUBLE;
    char *dialect = session_dialect(s, name);
    if (!dialect)
        return STATUS_NO;
    sqlite3_free(dialect);
    sqlite3_stmt *stmt =
        session_prepare(s, "DELETE FROM ruleset WHERE name = ?1 RETURNING shipped", "s", name);
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    bool shipped = rc == SQLITE_ROW && sqlite3_column_int64(stmt, 0) != 0;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(stmt);
    if (stmt && rc != SQLITE_DONE)
        complain("%s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    if (shipped && rc == SQLITE_DONE)
        complain("'%s' came with the program: the next import brings it back", name);
    return rc == SQLITE_DONE ? render_report_of(s, "SELECT json_object('deleted', ?1)", name)
                             : STATUS_NO;
}

extern const struct command command_map;

static int map_run(struct session *s, const struct args *args)
{
    static const struct verb verbs[] = {
        {"load NAME FILE", 2, CKPTDB_CREATE, 0, map_load}, /* once it has read the file */
        {"list", 0, CKPTDB_READ, 0, list},
        {"show NAME [--format F]", 1, CKPTDB_READ, 1 << FORMAT, map_show},
        {"run NAME CHECKPOINT [--target MODEL]", 2, CKPTDB_READ, 1 << TARGET | 1 << SET,
         map_run_set},
        {"check NAME CHECKPOINT [--target MODEL] [--names]", 2, CKPTDB_READ,
         1 << TARGET | 1 << SET | 1 << NAMES, map_check_command},
        {"why CHECKPOINT NAME [--map RULESET] [--target MODEL]", 2, CKPTDB_READ,
         1 << TARGET | 1 << SET | 1 << MAP, map_why},
        {"infer A B [-o FILE] [--name RULESET] [--jobs N]", 2, CKPTDB_WRITE,
         1 << NAME | 1 << OUT | 1 << JOBS, map_infer},
        {"delete NAME", 1, CKPTDB_WRITE, 0, delete},
        {0},
    };
    return verb_run(s, &command_map, verbs, args);
}

const struct command command_map = {
    .name = "map",
    .args = "load RULESET FILE | list | show RULESET [--format F]\n"
            "| run RULESET CHECKPOINT | check RULESET CHECKPOINT [--names]\n"
            "| why CHECKPOINT NAME [--map RULESET] | infer CHECKPOINT CHECKPOINT | delete RULESET",
    .summary = "rename the tensors of checkpoints by rules",
    .help = "load reads a rule set from a file and replaces one with the same name: SQL, JSON,\n"
            "a gin file's assignment_map, Kauldron's new_to_old, Hugging Face's key_mapping:\n"
            "  {\"dialect\": \"t5x-assignment\", \"options\": {\"require_all\": true},\n"
            "   \"rules\": [[\"new name's regex\", \"old name's template\" or null], ...]}\n"
            "show --format writes a rule set as such a file.\n"
            "run shows what becomes of every tensor; its exit status is 1 if the original\n"
            "program would fail. The same rows are in a view: `conversion` if the set's dialect\n"
            "(`map list`) is convert, `assignment` if it needs --target, else\n"
            "`translation`.\n"
            "check looks for probable mistakes: names that no rule matches, collisions, rules\n"
            "that decide nothing, shapes that the model does not have, patterns that match\n"
            "inside a name. Its exit status is 1 unless it finds only notes. --names lists\n"
            "every name that a finding is about, one per line.\n"
            "why says which rule and which bytes made a tensor, or, if nothing makes it,\n"
            "which names are similar.\n"
            "infer finds the rules that turn A into B: first by equal contents (also\n"
            "transposed, split, joined or cast), then by shape, order and name. It says what\n"
            "is only a guess.\n"
            "\n"
            "  ckptdb map run t5_to_t5x t5/model.ckpt-1000\n"
            "  ckptdb map load mine mine.json\n"
            "  ckptdb map show mine --format gin >mine.gin\n"
            "  ckptdb map run mine run@latest --target model.json\n"
            "  ckptdb map check mine run@latest --target model.json\n"
            "  ckptdb map why t5/model.ckpt-1000 target/token_embedder/embedding\n"
            "  ckptdb map infer hf/model.safetensors model.gguf --name hf_to_gguf",
    .options = options,
    .max_args = 3,
    .catalog = CATALOG_NONE,
    .traits = PAGES,
    .run = map_run,
};
