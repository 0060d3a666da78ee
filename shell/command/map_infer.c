/*
 * map_infer.c - hash both, infer, keep or write what came of it, and say what is certain.
 */
#include "shell/command/map_infer.h"

#include <string.h>

#include "catalog/base/text.h"
#include "catalog/infer/run.h"
#include "catalog/map/form.h"
#include "catalog/sql/rules_store.h"
#include "catalog/store/output.h"
#include "shell/command/hashing.h"

#define NAMES_SHOWN 20 /* of what was dropped, is missing or a guess */
#define TRIALS_MAX  UINT64_C(50000000)
#define TRIED_AS    "inferred, not kept" /* a set that is only checked */

struct inferring {
    struct session *session;
    const struct map_infer *asked;
    int64_t a, b;
    struct inferred result;
    struct text check; /* what map check finds: JSON list of rows */
    bool check_finds;  /* more than notes */
    struct error err;
};

static bool infer_interrupted(void *context)
{
    (void)context;
    return session_interrupted != 0;
}

/* --- what was found --------------------------------------------------------------------------- */

static const struct infer_tensor *side_tensor(const struct inferring *i, bool of_b,
                                              uint32_t at)
{
    const struct infer_list *l = of_b ? &i->result.task.b : &i->result.task.a;
    return at == INFER_NONE ? NULL : &l->at[at];
}

/* How many pairs are of a kind; `form`: INFER_NOT with "dropped" or "missing". */
static size_t count_pairs(const struct inferring *i, const char *how)
{
    size_t n = 0;
    for (size_t k = 0; k < i->result.task.pairs; k++)
        n += strcmp(infer_how_name(&i->result.task.pair[k]), how) == 0;
    return n;
}

static void put_string(struct text *t, const char *value)
{
    if (value)
        text_json(t, value, strlen(value));
    else
        text_adds(t, "null");
}

/* Pairs of a kind as a JSON list: names, or objects of two names. */
static void put_pairs(const struct inferring *i, const char *how, struct text *out)
{
    const char *sep = "";
    text_addc(out, '[');
    for (size_t k = 0; k < i->result.task.pairs; k++) {
        const struct infer_pair *p = &i->result.task.pair[k];
        const struct infer_tensor *a = side_tensor(i, false, p->a),
                                  *b = side_tensor(i, true, p->b);
        if (strcmp(infer_how_name(p), how) != 0)
            continue;
        text_adds(out, sep);
        sep = ", ";
        if (a && b)
            text_adds(out, "{\"old_name\": ");
        put_string(out, a ? a->name : b->name);
        if (!a || !b)
            continue;
        text_adds(out, ", \"new_name\": ");
        put_string(out, b->name);
        text_addc(out, '}');
    }
    text_addc(out, ']');
}

static void say_pairs(const struct inferring *i, const char *how, const char *word)
{
    size_t shown = 0, all = count_pairs(i, how);
    for (size_t k = 0; k < i->result.task.pairs && shown < NAMES_SHOWN; k++) {
        const struct infer_pair *p = &i->result.task.pair[k];
        const struct infer_tensor *a = side_tensor(i, false, p->a),
                                  *b = side_tensor(i, true, p->b);
        if (strcmp(infer_how_name(p), how) != 0)
            continue;
        shown++;
        if (a && b)
            complain("%s: %s -> %s", word, a->name, b->name);
        else
            complain("%s: %s", word, a ? a->name : b->name);
    }
    if (all > shown)
        complain("%s: %zu more: SELECT * FROM infer_pairs(%lld, %lld) WHERE how = '%s'",
                 word, all - shown, (long long)i->a, (long long)i->b, how);
}

static void say_summary(const struct inferring *i)
{
    complain(
        "%zu rules of dialect %s: %zu tensors paired by content, %zu by name, %zu guessed; "
        "%zu dropped, %zu missing",
        i->result.set.rules, i->result.set.dialect, count_pairs(i, "content"),
        count_pairs(i, "name"), count_pairs(i, "guess"), count_pairs(i, "dropped"),
        count_pairs(i, "missing"));
    say_pairs(i, "guess", "only a guess");
    say_pairs(i, "dropped", "dropped, B has nothing like it");
    say_pairs(i, "missing", "missing, A has nothing like it");
}

/* --- the rules ----------------------------------------------------------------------------------- */

static void put_rules(const struct inferring *i, struct text *out)
{
    text_addc(out, '[');
    for (size_t k = 0; k < i->result.set.rules; k++) {
        const struct ruleset_rule *r = &i->result.set.rule[k];
        text_addf(out, "%s[%lld, ", k ? ",\n" : "", (long long)r->ord);
        put_string(out, r->pattern);
        text_adds(out, ", ");
        put_string(out, r->replacement);
        text_adds(out, ", ");
        put_string(out, r->compute);
        text_adds(out, ", ");
        put_string(out, r->ops);
        text_addc(out, ']');
    }
    text_addc(out, ']');
}

static int print_rules(struct inferring *i)
{
    struct text rows = {0};
    int status = STATUS_TROUBLE;
    put_rules(i, &rows);
    if (text_str(&rows))
        status = render_json(i->session,
                             "SELECT value ->> 0 AS ord, value ->> 1 AS pattern,"
                             " value ->> 2 AS replacement, value ->> 3 AS compute,"
                             " value ->> 4 AS ops FROM json_each(?1)",
                             text_str(&rows));
    text_release(&rows);
    return status;
}

/* All of it as one object. */
static int print_object(struct inferring *i)
{
    static const char *const counts[] = {"content", "name", "guess", "dropped",
                                         "missing"};
    static const char *const lists[] = {"guess", "dropped", "missing"};
    struct text out = {0};
    text_adds(&out, "{\"ruleset\":\n");
    form_write(form_find("json"), &i->result.set, &out, &i->err);
    text_adds(&out, ", \"pairs\": {");
    for (size_t k = 0; k < 5; k++)
        text_addf(&out, "%s\"%s\": %zu", k ? ", " : "", counts[k],
                  count_pairs(i, counts[k]));
    text_addc(&out, '}');
    for (size_t k = 0; k < 3; k++) {
        text_addf(&out, ",\n \"%s\": ", lists[k]);
        put_pairs(i, lists[k], &out);
    }
    text_addf(&out, ",\n \"check\": %s}\n", text_str(&i->check));
    const bool good = i->err.status == OK && text_str(&out);
    if (good)
        fwrite(out.at, 1, out.len, i->session->out);
    text_release(&out);
    return good && session_flush(i->session) ? STATUS_FINE : STATUS_TROUBLE;
}

static enum status write_file(struct inferring *i)
{
    struct text out = {0};
    struct output *file = NULL;
    if (form_write(form_find("json"), &i->result.set, &out, &i->err) != OK) {
        text_release(&out);
        return i->err.status;
    }
    if (strcmp(i->asked->file, "-") == 0) {
        fwrite(text_str(&out), 1, out.len, i->session->out);
    } else if (output_open(i->asked->file, NULL, &file, &i->err) == OK &&
               output_write(file, 0, out.at, out.len, false, &i->err) == OK) {
        output_commit(file, false, &i->err);
    }
    output_close(file);
    text_release(&out);
    return i->err.status;
}

/* --- map check ----------------------------------------------------------------------------------- */

static bool run_sql(struct inferring *i, const char *sql)
{
    return db_exec(i->session->db, sql, &i->err) == OK;
}

/* Each rule is tried on each name: with very many of both, that is not worth the wait. */
static bool is_too_much(struct inferring *i)
{
    const uint64_t rules = i->result.set.rules, names = i->result.task.a.count;
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
    const char *found = s && sqlite3_step(s) == SQLITE_ROW
                            ? (const char *)sqlite3_column_text(s, 0)
                            : NULL;
    if (found) {
        text_adds(&i->check, found);
        i->check_finds = sqlite3_column_int(s, 1);
    } else {
        db_error(i->session->db, "map check", &i->err);
    }
    sqlite3_finalize(s);
}

/* Keep the set, as the name asked for or only to check it. */
static enum status keep_and_check(struct inferring *i)
{
    const char *name = i->asked->name ? i->asked->name : TRIED_AS;
    if (i->session->readonly) {
        text_adds(&i->check, "[]");
        return OK;
    }
    if (!run_sql(i, "SAVEPOINT infer"))
        return i->err.status;
    if (rules_store(i->session->db, name, &i->result.set, &i->err) == OK &&
        !is_too_much(i))
        find_faults(i, name);
    struct error failed = i->err;
    if (i->err.status != OK || !i->asked->name) {
        error_clear(&i->err);
        run_sql(i, "ROLLBACK TO infer");
    }
    run_sql(i, "RELEASE infer");
    if (failed.status != OK)
        i->err = failed;
    return i->err.status;
}

static void say_check(struct inferring *i)
{
    static const char sql[] =
        "SELECT format('%s, %s: %s%s%.300s', value ->> 'severity', value ->> 'finding',"
        "  value ->> 'meaning', iif(value ->> 'names' IS NULL, '', ': '), value ->> 'names')"
        " FROM json_each(?1)";
    sqlite3_stmt *s = session_prepare(i->session, sql, "s", text_str(&i->check));
    while (s && sqlite3_step(s) == SQLITE_ROW)
        complain("map check: %s", sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

/* --- the command -------------------------------------------------------------------------------- */

static int hash_sides(struct inferring *i)
{
    int64_t ids[] = {i->a, i->b};
    struct hash_request r = {.ids = ids, .count = 2};
    if (!hash_jobs(i->asked->threads, &r.threads))
        return STATUS_TROUBLE;
    return i->session->readonly ? STATUS_FINE : hash_request(i->session, &r);
}

static int print_all(struct inferring *i)
{
    const enum output_mode mode = i->session->mode;
    int status = STATUS_FINE;
    if (mode == MODE_JSON || mode == MODE_JSONL)
        status = print_object(i);
    else if (!i->asked->file && !i->asked->name)
        status = print_rules(i);
    if (mode != MODE_JSON && mode != MODE_JSONL) {
        say_summary(i);
        say_check(i);
    }
    return status;
}

static int infer_both(struct inferring *i)
{
    const int hashed = hash_sides(i);
    if (hashed != STATUS_FINE) {
        if (hashed == STATUS_NO)
            complain(
                "contents that cannot be read are not compared: nothing was inferred");
        return hashed == STATUS_NO ? STATUS_TROUBLE : hashed;
    }
    if (infer_run(i->session->db, i->a, i->b, &i->result, &i->err) != OK ||
        keep_and_check(i) != OK || (i->asked->file && write_file(i) != OK)) {
        complain_error(&i->err);
        return i->err.status == ERR_INTERRUPTED || session_interrupted
                   ? STATUS_INTERRUPTED
                   : STATUS_TROUBLE;
    }
    const int printed = print_all(i);
    if (printed != STATUS_FINE)
        return printed;
    return count_pairs(i, "dropped") || count_pairs(i, "missing") ? STATUS_NO
                                                                  : STATUS_FINE;
}

int map_infer(struct session *s, const struct map_infer *asked)
{
    struct inferring i = {.session = s,
                          .asked = asked,
                          .err = {.offset = NO_OFFSET},
                          .result = {.stop = infer_interrupted}};
    if (s->readonly && asked->name) {
        complain("map infer --name writes the catalog, and --readonly forbids that");
        return STATUS_TROUBLE;
    }
    i.a = session_checkpoint(s, asked->a);
    i.b = i.a ? session_checkpoint(s, asked->b) : 0;
    const int status = i.a && i.b ? infer_both(&i) : STATUS_NO;
    infer_release(&i.result);
    text_release(&i.check);
    return status;
}
