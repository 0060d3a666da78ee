/*
 * map_load.c - a file becomes a rule set in a database of its own, in memory, where SQL from
 * anywhere can do no harm; what is right about it is then copied into the catalog.
 */
#include "shell/map_load.h"

#include <string.h>

#include "catalog/base/text.h"
#include "catalog/db/schema.h"
#include "shell/command/command.h"
#include "shell/map_gin.h"
#include "shell/session/read_text.h"

static const char *const dialects[] = {"t5x-translator", "t5x-assignment", "orbax",
                                       "kauldron", "convert"};

bool map_dialect_known(const char *dialect)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(dialect, dialects[i]) == 0)
            return true;
    return false;
}

bool map_dialect_assigns(const char *dialect)
{
    return strcmp(dialect, "t5x-translator") != 0 && strcmp(dialect, "convert") != 0;
}

/* --- the database in memory -------------------------------------------------------------- */

static bool scratch_open(sqlite3 **db)
{
    struct error err;
    error_clear(&err);
    if (sqlite3_open(":memory:", db) != SQLITE_OK)
        error_set(&err, ERR_MEMORY, NULL, NO_OFFSET, "no memory");
    for (const struct schema_file *f = schema_files; err.status == OK && f->path; f++)
        if (strstr(f->path, "/00_"))
            db_exec(*db, f->text, &err);
    if (err.status != OK)
        complain_error(&err);
    /* No ATTACH, and so no VACUUM INTO: nothing here reaches a file. */
    sqlite3_limit(*db, SQLITE_LIMIT_ATTACHED, 0);
    return err.status == OK;
}

/* The first value of a statement with ?1 bound, as text to free; NULL: no row, or NULL. */
static char *ask(sqlite3 *db, const char *sql, const char *argument)
{
    sqlite3_stmt *s = NULL;
    char *answer = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_bind_text(s, 1, argument, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
        answer = sqlite3_mprintf("%s", sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return answer;
}

/* What is wrong with the shape of a JSON document; no row when nothing is. */
static const char json_faults[] =
    "SELECT CASE WHEN NOT json_valid(?1) THEN 'this is no JSON'"
    " WHEN json_type(?1) <> 'object' THEN 'the document is no object'"
    " WHEN json_type(?1, '$.dialect') IS NOT 'text' THEN '\"dialect\" is missing'"
    " WHEN ifnull(json_type(?1, '$.options'), 'object') <> 'object'"
    "  THEN '\"options\" is no object'"
    " WHEN ?1 ->> 'dialect' = 'orbax' AND json_type(?1, '$.transforms') = 'object'"
    "  AND json_type(?1, '$.rules') IS NULL THEN NULL"
    " WHEN json_type(?1, '$.rules') IS NOT 'array' THEN '\"rules\" is no list'"
    " ELSE (SELECT 'nobody knows \"' || key || '\"' FROM json_each(?1)"
    "  WHERE key NOT IN ('dialect', 'options', 'rules')"
    "  UNION ALL SELECT 'rule ' || (key + 1) ||"
    "   ' is no [\"pattern\", \"replacement\" or null], with {\"ord\", \"compute\", "
    "\"ops\"} or without'"
    "  FROM json_each(?1, '$.rules') r"
    "  WHERE type <> 'array' OR json_type(value, '$[0]') IS NOT 'text'"
    "   OR ifnull(json_type(value, '$[1]'), '') NOT IN ('text', 'null')"
    "   OR ifnull(json_type(value, '$[2]'), 'object') <> 'object'"
    "   OR json_array_length(value) > 3"
    "   OR EXISTS (SELECT 1 FROM json_each(r.value, '$[2]') o"
    "    WHERE o.type IS NOT CASE o.key WHEN 'ord' THEN 'integer'"
    "     WHEN 'compute' THEN 'array' WHEN 'ops' THEN 'array' END)) END";

/* Orbax's own form, a tree of transforms: its leaves are objects with these keys alone. */
#define TRANSFORMS                                                                       \
    "WITH RECURSIVE node(path, turn, value, type) AS ("                                  \
    " SELECT key, key, value, type FROM json_each(?1, '$.transforms')"                   \
    " UNION ALL SELECT n.path || '/' || e.key, n.turn || char(1)"                        \
    "  || iif(n.type = 'array', format('%08d', e.key), e.key), e.value, e.type"          \
    " FROM node n JOIN json_each(n.value) e"                                             \
    " WHERE n.type IN ('object', 'array') AND NOT " IS_LEAF(                             \
        "n") "), leaf(path, turn, original, fallback, ops, fault) AS ("                  \
             " SELECT path, turn, value -> 'original_key', value ->> 'use_fallback', "   \
             "value "                                                                    \
             "-> 'value',"                                                               \
             "  CASE WHEN type <> 'object' THEN 'is no transform'"                       \
             "   WHEN EXISTS (SELECT 1 FROM json_each(n.value)"                          \
             "    WHERE key NOT IN ('original_key', 'use_fallback', 'value'))"           \
             "    THEN 'has other keys than original_key, use_fallback and value'"       \
             "   WHEN value ->> 'use_fallback' AND (value ->> 'original_key' IS NOT "    \
             "NULL"                                                                      \
             "    OR value ->> 'value' IS NOT NULL) THEN 'has more than use_fallback'"   \
             "   WHEN ifnull(json_type(value, '$.original_key'), 'null')"                \
             "    NOT IN ('null', 'text', 'array') THEN 'has an original_key that is "   \
             "no name'"                                                                  \
             "  END"                                                                     \
             " FROM node n WHERE type NOT IN ('object', 'array') OR " IS_LEAF("n") ") "
#define IS_LEAF(node)                                                                    \
    "(" node ".type = 'object' AND (" node ".value = '{}' OR EXISTS ("                   \
    " SELECT 1 FROM json_each(" node ".value) WHERE key IN ('original_key',"             \
    " 'use_fallback') OR (key = 'value' AND type = 'array'))))"

/* Whether any of the keys has others below it: the rule set has to sort them so. */
#define IS_NESTED                                                                        \
    "EXISTS (SELECT 1 FROM json_each(?1, '$.transforms') x"                              \
    " WHERE x.type IN ('object', 'array') AND NOT " IS_LEAF("x") ")"

static const char transform_faults[] =
    TRANSFORMS "SELECT 'the transform of \"' || path || '\" ' || fault FROM leaf"
               " WHERE fault IS NOT NULL UNION ALL"
               " SELECT 'the transforms are nested, and a \"/\" in a key sorts \"'"
               "  || path || '\" elsewhere than their names joined do'"
               " FROM (SELECT path, row_number() OVER (ORDER BY turn) AS place,"
               "  row_number() OVER (ORDER BY replace(path, '/', char(1))) AS found"
               "  FROM leaf WHERE " IS_NESTED ") WHERE place <> found LIMIT 1";

static const char *const json_inserts[] = {
    "INSERT INTO ruleset(name, dialect, options)"
    " SELECT '', ?1 ->> 'dialect', iif(" IS_NESTED
    ", json_set(ifnull(?1 -> 'options', '{}'),"
    "  '$.nested', json('true')), ifnull(?1 -> 'options', '{}'))",
    "INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops)"
    " SELECT '', ifnull(value ->> '$[2].ord', key + 1), value ->> 0, value ->> 1,"
    "  value -> '$[2].compute',"
    "  value -> '$[2].ops' FROM json_each(?1, '$.rules')",
    "INSERT INTO rule(ruleset, ord, pattern, replacement, ops) " TRANSFORMS
    "SELECT '', row_number() OVER (ORDER BY turn), path,"
    " CASE WHEN fallback THEN NULL WHEN original IS NULL OR original = 'null'"
    "  THEN '\\g<0>' WHEN json_type(original) = 'array'"
    "  THEN (SELECT group_concat(value, '/') FROM json_each(original))"
    "  ELSE original ->> '$' END,"
    " nullif(ops, 'null') FROM leaf",
};

/*
 * Maps as others keep them, turned into a rule set of ours. Kauldron's is an object with
 * "new_to_old". Hugging Face's key mapping is an object of texts alone: the first pattern
 * that is found anywhere in a name decides, by re.sub; other names stay.
 */
static const char as_ours[] =
    "SELECT CASE"
    " WHEN NOT json_valid(?1) OR json_type(?1) <> 'object' OR ?1 ->> 'dialect' IS NOT "
    "NULL"
    "  THEN ?1"
    " WHEN json_type(?1, '$.new_to_old') = 'object' THEN json_object('dialect', "
    "'kauldron',"
    "  'options', json_remove(?1, '$.new_to_old'), 'rules',"
    "  (SELECT json_group_array(json_array(key, value)) FROM json_each(?1, "
    "'$.new_to_old')))"
    " WHEN EXISTS (SELECT 1 FROM json_each(?1)) AND NOT EXISTS"
    "  (SELECT 1 FROM json_each(?1) WHERE type NOT IN ('text', 'null'))"
    "  THEN json_object('dialect', 't5x-translator', 'rules', (SELECT "
    "json_group_array(json(rule))"
    "   FROM (SELECT json(iif(type = 'null', json_array('(?s:.*?)(?:' || key || "
    "')(?s:.*)',"
    "     NULL), json_array('(?s:.*?)(?:' || key || ')(?s:.*)', '\\g<new>',"
    "     json_object('compute', json_array(json_array('new', 'sub', key, value,"
    "      '\\g<0>')))))) AS rule FROM json_each(?1)"
    "    UNION ALL SELECT json_array('(?s:(.*))', '\\1'))))"
    " ELSE ?1 END";

static bool from_json(sqlite3 *db, const char *path, const char *text)
{
    char *document = ask(db, as_ours, text);
    char *fault = document ? ask(db, json_faults, document) : NULL;
    if (document && !fault)
        fault = ask(db, transform_faults, document);
    bool good = document && !fault;
    if (!good)
        complain("%s: %s", path, fault ? fault : sqlite3_errmsg(db));
    sqlite3_free(fault);
    for (size_t i = 0; good && i < sizeof(json_inserts) / sizeof(json_inserts[0]); i++) {
        sqlite3_free(ask(db, json_inserts[i], document));
        good = sqlite3_errcode(db) == SQLITE_OK;
        if (!good)
            complain("%s: %s", path, sqlite3_errmsg(db));
    }
    sqlite3_free(document);
    return good;
}

static bool from_gin(sqlite3 *db, const char *path, const char *text)
{
    struct text json = {0};
    const char *why = NULL;
    unsigned long line = 0;
    bool good = map_gin_read(text, &json, &why, &line);
    if (!good)
        complain("%s: line %lu: %s", path, line, why);
    else if (!(good = text_str(&json) != NULL))
        complain("%s: no memory", path);
    good = good && from_json(db, path, text_str(&json));
    text_release(&json);
    return good;
}

static bool from_sql(sqlite3 *db, const char *path, const char *sql)
{
    char *message = NULL;
    int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
    if (rc != SQLITE_OK)
        complain("%s: %s", path, message ? message : sqlite3_errstr(rc));
    sqlite3_free(message);
    return rc == SQLITE_OK;
}

/* The set to take: the one called `name`, or the only one there is. */
static char *choose(sqlite3 *db, const char *path, const char *name)
{
    char *chosen = ask(db,
                       "SELECT name FROM ruleset WHERE name = ?1 UNION ALL"
                       " SELECT max(name) FROM ruleset HAVING count(*) = 1 LIMIT 1",
                       name);
    char *all = chosen ? NULL
                       : ask(db,
                             "SELECT group_concat(name, ', ') FROM ruleset"
                             " WHERE ?1 <> ''",
                             name);
    if (!chosen && all)
        complain("%s: no rule set is called '%s'; there are %s", path, name, all);
    else if (!chosen)
        complain("%s: it makes no rule set", path);
    sqlite3_free(all);
    return chosen;
}

static bool known_dialect(sqlite3 *db, const char *path, const char *chosen)
{
    char *dialect = ask(db, "SELECT dialect FROM ruleset WHERE name = ?1", chosen);
    struct text known = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        found = found || (dialect && strcmp(dialect, dialects[i]) == 0);
        text_addf(&known, "%s%s", i ? ", " : "", dialects[i]);
    }
    if (!found)
        complain("%s: maps of dialect '%s' are not known here, only %s", path,
                 dialect ? dialect : "", text_str(&known));
    text_release(&known);
    sqlite3_free(dialect);
    return found;
}

/* --- into the catalog -------------------------------------------------------------------- */

/* Every row of `select` (?1 is `chosen`) into `insert`, whose ?1 is the new name. */
static bool copy_rows(sqlite3 *from, const char *select, const char *chosen, sqlite3 *to,
                      const char *insert, const char *name)
{
    sqlite3_stmt *in = NULL, *out = NULL;
    int rc = SQLITE_ERROR;
    if (sqlite3_prepare_v2(from, select, -1, &in, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(to, insert, -1, &out, NULL) != SQLITE_OK)
        goto done;
    sqlite3_bind_text(in, 1, chosen, -1, SQLITE_STATIC);
    sqlite3_bind_text(out, 1, name, -1, SQLITE_STATIC);
    while ((rc = sqlite3_step(in)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(in); i++)
            sqlite3_bind_value(out, i + 2, sqlite3_column_value(in, i));
        if (sqlite3_step(out) != SQLITE_DONE)
            break;
        sqlite3_reset(out);
    }
done:
    sqlite3_finalize(in);
    sqlite3_finalize(out);
    return rc == SQLITE_DONE;
}

static bool copy_set(sqlite3 *from, const char *chosen, sqlite3 *to, const char *name)
{
    struct error err;
    error_clear(&err);
    if (db_exec(to, "SAVEPOINT map_load", &err) != OK) {
        complain_error(&err);
        return false;
    }
    bool good =
        copy_rows(from, "SELECT 1 WHERE ?1 <> ''", "once", to,
                  "DELETE FROM ruleset WHERE name = ?1 AND ?2", name) &&
        copy_rows(from, "SELECT dialect, options FROM ruleset WHERE name = ?1", chosen,
                  to, "INSERT INTO ruleset(name, dialect, options) VALUES (?1, ?2, ?3)",
                  name) &&
        copy_rows(from,
                  "SELECT ord, pattern, replacement, compute, ops FROM rule"
                  " WHERE ruleset = ?1 ORDER BY ord",
                  chosen, to,
                  "INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                  name);
    if (!good) {
        complain("cannot store the rule set: %s", sqlite3_errmsg(to));
        sqlite3_exec(to, "ROLLBACK TO map_load", NULL, NULL, NULL);
    }
    if (db_exec(to, "RELEASE map_load", &err) != OK)
        complain_error(&err);
    return good && err.status == OK;
}

int map_load(struct session *s, const char *name, const char *path)
{
    struct text file = {0};
    sqlite3 *scratch = NULL;
    char *chosen = NULL;
    int status = STATUS_TROUBLE;
    if (!read_text(path, &file) || !session_open(s, DB_CREATE) || !scratch_open(&scratch))
        goto done;
    status = STATUS_NO;
    const char *begin = text_str(&file) + strspn(text_str(&file), " \t\r\n");
    if (strlen(text_str(&file)) != file.len)
        complain("%s: a NUL character; is this text?", path);
    else if (*begin == '{'              ? from_json(scratch, path, begin)
             : map_gin_recognise(begin) ? from_gin(scratch, path, begin)
                                        : from_sql(scratch, path, begin))
        chosen = choose(scratch, path, name);
    if (chosen && known_dialect(scratch, path, chosen) &&
        copy_set(scratch, chosen, s->db, name))
        status = STATUS_FINE;
done:
    s->failed = s->failed || status != STATUS_FINE;
    sqlite3_free(chosen);
    sqlite3_close(scratch);
    text_release(&file);
    return status;
}
