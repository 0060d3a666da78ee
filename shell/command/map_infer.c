/*
 * map_infer.c - hash both checkpoints, infer rules, keep or write them, and say how certain
 * they are.
 */
#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/cmd_map.h"
#include "shell/command/hashing.h"

#define NAMES_SHOWN 20 /* how many names to list of each kind */
#define TRIALS_MAX  UINT64_C(50000000)
#define TRIED_AS    "inferred, not kept" /* name of a rule set that is only checked */

struct inferring {
    struct session *session;
    const char *name, *file; /* --name: keep the rules so; -o: write them there. NULL: do not */
    int64_t a, b;
    unsigned threads;
    ckptdb_inferred *result;
    struct text check; /* findings of map check, as a JSON list */
    bool check_finds;  /* one is more than a note */
    struct ckptdb_error err;
};

/* --- the pairs ----------------------------------------------------------------------------------- */

/* The pairs of one kind. */
struct pairs {
    const char *how;
    size_t count;
    const char *word; /* prefix of the lines for the first ones; NULL: only count */
    struct text *out; /* a JSON list of all; NULL: none */
};

static void put_string(struct text *t, const char *value)
{
    if (value)
        text_json(t, value, strlen(value));
    else
        text_adds(t, "null");
}

static void put_pair(struct text *out, const struct ckptdb_pair *p, bool first)
{
    text_adds(out, first ? "" : ", ");
    if (p->old_name && p->new_name)
        text_adds(out, "{\"old_name\": ");
    put_string(out, p->old_name ? p->old_name : p->new_name);
    if (!p->old_name || !p->new_name)
        return;
    text_adds(out, ", \"new_name\": ");
    put_string(out, p->new_name);
    text_addc(out, '}');
}

static bool see_pair(void *context, const struct ckptdb_pair *p)
{
    struct pairs *all = context;
    if (strcmp(p->how, all->how) != 0)
        return true;
    if (all->out)
        put_pair(all->out, p, !all->count);
    if (all->count++ >= NAMES_SHOWN || !all->word)
        return true;
    if (p->old_name && p->new_name)
        complain("%s: %s -> %s", all->word, p->old_name, p->new_name);
    else
        complain("%s: %s", all->word, p->old_name ? p->old_name : p->new_name);
    return true;
}

/* The number of pairs of a kind. */
static size_t count_pairs(const struct inferring *i, const char *how)
{
    struct pairs all = {.how = how};
    ckptdb_inferred_pairs(i->result, see_pair, &all);
    return all.count;
}

static void say_pairs(const struct inferring *i, const char *how, const char *word)
{
    struct pairs all = {.how = how, .word = word};
    ckptdb_inferred_pairs(i->result, see_pair, &all);
    if (all.count > NAMES_SHOWN)
        complain("%s: %zu more: SELECT * FROM infer_pairs(%lld, %lld) WHERE how = '%s'", word,
                 all.count - NAMES_SHOWN, (long long)i->a, (long long)i->b, how);
}

/* --- the rules ----------------------------------------------------------------------------------- */

static bool put_rule(void *context, const struct ckptdb_rule *r)
{
    struct text *out = context;
    text_addf(out, "%s[%lld, ", out->len > 1 ? ",\n" : "", (long long)r->ord);
    put_string(out, r->pattern);
    text_adds(out, ", ");
    put_string(out, r->replacement);
    text_adds(out, ", ");
    put_string(out, r->compute);
    text_adds(out, ", ");
    put_string(out, r->ops);
    text_addc(out, ']');
    return true;
}

static int print_rules(struct inferring *i)
{
    struct text rows = {0};
    int status = STATUS_TROUBLE;
    text_addc(&rows, '[');
    ckptdb_inferred_rules(i->result, put_rule, &rows);
    text_addc(&rows, ']');
    if (text_str(&rows))
        status = render_json(i->session,
                             "SELECT value ->> 0 AS ord, value ->> 1 AS pattern,"
                             " value ->> 2 AS replacement, value ->> 3 AS compute,"
                             " value ->> 4 AS ops FROM json_each(?1)",
                             text_str(&rows));
    else
        complain("no memory for the rules");
    text_release(&rows);
    return status;
}

/* Print everything as one JSON object. */
static int print_object(struct inferring *i)
{
    static const char *const counts[] = {"content", "name", "guess", "dropped", "missing"};
    static const char *const lists[] = {"guess", "dropped", "missing"};
    struct text out = {0};
    text_adds(&out, "{\"ruleset\":\n");
    text_adds(&out, ckptdb_inferred_info(i->result)->map);
    text_adds(&out, ", \"pairs\": {");
    for (size_t k = 0; k < 5; k++)
        text_addf(&out, "%s\"%s\": %zu", k ? ", " : "", counts[k], count_pairs(i, counts[k]));
    text_addc(&out, '}');
    for (size_t k = 0; k < 3; k++) {
        struct pairs all = {.how = lists[k], .out = &out};
        text_addf(&out, ",\n \"%s\": [", lists[k]);
        ckptdb_inferred_pairs(i->result, see_pair, &all);
        text_addc(&out, ']');
    }
    text_addf(&out, ",\n \"check\": %s}", text_str(&i->check) ? i->check.at : "null");
    out.failed = out.failed || i->check.failed;
    for (size_t k = 0; i->session->mode == MODE_JSONL && k < out.len; k++)
        if (out.at[k] == '\n') /* between values: one object per line */
            out.at[k] = ' ';
    text_addc(&out, '\n');
    const bool good = text_str(&out);
    if (good)
        fwrite(out.at, 1, out.len, i->session->out);
    text_release(&out);
    return good && session_flush(i->session) ? STATUS_FINE : STATUS_TROUBLE;
}

static bool write_file(struct inferring *i)
{
    const char *map = ckptdb_inferred_info(i->result)->map;
    ckptdb_file *file = NULL;
    if (strcmp(i->file, "-") == 0) {
        fputs(map, i->session->out);
        return true;
    }
    const bool good = ckptdb_file_create(i->file, &file, &i->err) == CKPTDB_OK &&
                      ckptdb_file_write(file, map, strlen(map), &i->err) == CKPTDB_OK &&
                      ckptdb_file_finish(file, &i->err) == CKPTDB_OK;
    ckptdb_file_close(file);
    return good;
}

/* --- map check ----------------------------------------------------------------------------------- */

/* Record SQLite's error, unless there is one already. */
static bool sql_failed(struct inferring *i)
{
    if (i->err.status == CKPTDB_OK) {
        i->err.status = session_interrupted ? CKPTDB_INTERRUPTED : CKPTDB_IO;
        i->err.offset = CKPTDB_NO_OFFSET;
        snprintf(i->err.message, sizeof(i->err.message), "map check: %s",
                 ckptdb_why(i->session->open));
    }
    return false;
}

static bool run_sql(struct inferring *i, const char *sql)
{
    return sqlite3_exec(i->session->db, sql, NULL, NULL, NULL) == SQLITE_OK || sql_failed(i);
}

/* map check tries each rule on each name, which takes too long if there are very many of both. */
static bool is_too_much(struct inferring *i)
{
    const struct ckptdb_inferred_info *info = ckptdb_inferred_info(i->result);
    const uint64_t rules = info->rules, names = info->old_names;
    if (rules * names <= TRIALS_MAX)
        return false;
    complain(
        "map check was not run: %llu rules for %llu names, which hardly have anything in common",
        (unsigned long long)rules, (unsigned long long)names);
    text_adds(&i->check, "[]");
    return true;
}

static void find_faults(struct inferring *i, const char *name)
{
    static const char sql[] =
        "SELECT json_group_array(json_object('severity', severity, 'finding', finding, 'rule', rule,"
        " 'count', count, 'names', json(names), 'meaning', meaning, 'advice', advice)),"
        " max(severity <> 'note') FROM map_check(?1, ?2)";
    sqlite3_stmt *s = session_prepare(i->session, sql, "si", name, i->a);
    const char *found =
        s && sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (found) {
        text_adds(&i->check, found);
        i->check_finds = sqlite3_column_int(s, 1);
    } else {
        sql_failed(i);
    }
    sqlite3_finalize(s);
}

/* Store the rule set, either under the name that was asked for, or only to check it. */
static bool keep_and_check(struct inferring *i)
{
    const char *name = i->name ? i->name : TRIED_AS;
    if (!session_may_write(i->session)) {
        text_adds(&i->check, "[]");
        return true;
    }
    if (!run_sql(i, "SAVEPOINT infer"))
        return false;
    if (ckptdb_inferred_keep(i->session->open, i->result, name, &i->err) == CKPTDB_OK &&
        !is_too_much(i))
        find_faults(i, name);
    if (i->err.status != CKPTDB_OK || !i->name)
        run_sql(i, "ROLLBACK TO infer");
    run_sql(i, "RELEASE infer");
    return i->err.status == CKPTDB_OK;
}

static void say_check(struct inferring *i)
{
    static const char sql[] =
        "SELECT format('%s, %s: %s%s%.300s', value ->> 'severity', value ->> 'finding',"
        "  value ->> 'meaning', iif(value ->> 'names' IS NULL, '', ': '), value ->> 'names')"
        " FROM json_each(?1)";
    sqlite3_stmt *s = session_prepare(i->session, sql, "s", text_str(&i->check));
    while (session_row(i->session, s))
        complain("map check: %s", sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

/* --- the command --------------------------------------------------------------------------------- */

static int hash_sides(struct inferring *i)
{
    /* Where both are hashed, nothing has to be read and stored. */
    static const char hashed[] =
        "SELECT ?1 = ?2 OR count(hash) = 2 FROM checkpoint WHERE id IN (?1, ?2)";
    const struct ckptdb_content_options o = {.size = sizeof(o),
                                             .checkpoints = (int64_t[]){i->a, i->b},
                                             .count = 2,
                                             .threads = i->threads};
    if (session_may_write(i->session) || session_number(i->session, hashed, "ii", i->a, i->b))
        return content_run(i->session, ckptdb_hash, &o, HASHES_KEPT);
    if (i->session->unread)
        return STATUS_TROUBLE;
    complain("contents are not compared: they are not hashed, and the catalog is not to "
             "be written");
    return STATUS_FINE;
}

static int print_all(struct inferring *i)
{
    const enum output_mode mode = i->session->mode;
    int status = STATUS_FINE;
    if (mode == MODE_JSON || mode == MODE_JSONL)
        status = print_object(i);
    else if (!i->file && !i->name)
        status = print_rules(i);
    if (mode != MODE_JSON && mode != MODE_JSONL) {
        const struct ckptdb_inferred_info *info = ckptdb_inferred_info(i->result);
        complain(
            "%zu rules of dialect %s: %zu tensors paired by content, %zu by name, %zu guessed; "
            "%zu dropped, %zu missing",
            info->rules, info->dialect, count_pairs(i, "content"), count_pairs(i, "name"),
            count_pairs(i, "guess"), count_pairs(i, "dropped"), count_pairs(i, "missing"));
        say_pairs(i, "guess", "only a guess");
        say_pairs(i, "dropped", "dropped, nothing left in B is like it");
        say_pairs(i, "missing", "missing, nothing left in A is like it");
        say_check(i);
    }
    return status;
}

static int infer_both(struct inferring *i)
{
    const int hashed = hash_sides(i);
    if (hashed != STATUS_FINE) {
        if (hashed == STATUS_NO)
            complain("contents that cannot be read are not compared: nothing was inferred");
        return hashed == STATUS_NO ? STATUS_TROUBLE : hashed;
    }
    ckptdb_infer_on(i->session->open, i->a, i->b, i->threads, &i->result, &i->err);
    if (!i->result || !keep_and_check(i) || (i->file && !write_file(i))) {
        const int status = complain_status(&i->err);
        return status == STATUS_INTERRUPTED || session_interrupted ? STATUS_INTERRUPTED
                                                                   : STATUS_TROUBLE;
    }
    const int printed = print_all(i);
    if (printed != STATUS_FINE)
        return printed;
    return count_pairs(i, "dropped") || count_pairs(i, "missing") ? STATUS_NO : STATUS_FINE;
}

int map_infer(struct session *s, const struct args *args)
{
    struct inferring i = {.session = s, .name = args->value[NAME], .file = args->value[OUT]};
    if (i.name &&
        (!must_have_name(i.name, "map infer --name") || !must_write(s, "map infer --name")))
        return STATUS_TROUBLE;
    i.a = session_checkpoint(s, args->operand[1]);
    i.b = i.a ? session_checkpoint(s, args->operand[2]) : 0;
    int status = STATUS_NO;
    if (i.a && i.b)
        status = hash_jobs(args->value[JOBS], &i.threads) ? infer_both(&i) : STATUS_TROUBLE;
    ckptdb_inferred_close(i.result);
    text_release(&i.check);
    return status;
}
