/*
 * api_sql.c - statements of users. SQLite 3.40 tells a virtual table that a DISTINCT wants only values
 * that differ, but not that count(DISTINCT x) does: it reads x from every row. Counting what a
 * SELECT DISTINCT returns is the same, and takes no longer anywhere.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/ckptdb.h"
#include "catalog/db/statement.h"

/* A statement that returns such a count only: EXPLAIN, the count, its column, that column's bare name, an alias,
 * and what comes after. Words that say more about the one row are left alone wherever they stand. */
enum { WHOLE, EXPLAIN, COUNT, COLUMN, BARE, ALIAS, FROM, PARTS };
struct part {
    PCRE2_SIZE begin, end;
};
static const char only_count[] =
    "(?xi) \\s*+ ((?:EXPLAIN \\s++ (?:QUERY \\s++ PLAN \\s++)?+)?+) SELECT \\s++"
    "(count \\s*+ \\( \\s*+ DISTINCT \\s++ ((?:\\w++ \\.)?+ (?!(?:rowid|_rowid_|oid)\\b) (\\w++)) \\s*+ \\))"
    "(?:(?:\\s++ AS)? \\s++ (?!FROM\\b) (\\w++))?+ \\s++"
    "(FROM \\b (?:'[^']*+' | \"[^\"]*+\" | (?!--|/\\*|\\b(?:GROUP|HAVING|ORDER|LIMIT|UNION|EXCEPT|"
    "INTERSECT|WINDOW)\\b) [^;'\"`\\[])++) ;?+";

static bool match(const char *sql, size_t len, struct part at[static PARTS])
{
    int code;
    PCRE2_SIZE offset;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)only_count, PCRE2_ZERO_TERMINATED,
                                   PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &offset, NULL);
    pcre2_match_data *found = re ? pcre2_match_data_create_from_pattern(re, NULL) : NULL;
    const bool yes = found && pcre2_match(re, (PCRE2_SPTR)sql, len, 0, 0, found, NULL) == PARTS;
    if (yes)
        memcpy(at, pcre2_get_ovector_pointer(found), PARTS * sizeof *at);
    pcre2_match_data_free(found);
    pcre2_code_free(re);
    return yes;
}

/* Put the other statement for the same count into `out`, if there is one. */
static void count_distinct(sqlite3 *db, const char *sql, size_t len, sqlite3_stmt **out)
{
    struct part at[PARTS];
    if (!match(sql, len, at))
        return;
#define PART(which) (int)(at[which].end - at[which].begin), sql + at[which].begin
    const int name = at[ALIAS].begin == PCRE2_UNSET ? COUNT : ALIAS;
    struct text other = {0};
    text_addf(&other, "%.*sSELECT count(%.*s) AS \"%.*s\" FROM (SELECT DISTINCT %.*s %.*s)",
              PART(EXPLAIN), PART(BARE), PART(name), PART(COLUMN), PART(FROM));
#undef PART
    sqlite3_stmt *better = NULL;
    if (text_str(&other) &&
        sqlite3_prepare_v2(db, text_str(&other), -1, &better, NULL) == SQLITE_OK) {
        sqlite3_finalize(*out);
        *out = better;
    }
    text_release(&other);
}

int ckptdb_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out,
                   const char **rest)
{
    const char *end;
    const int rc = sqlite3_prepare_v2(db, sql, -1, out, &end);
    if (rc == SQLITE_OK && *out && sqlite3_strlike("%distinct%", sql, 0) == 0)
        count_distinct(db, sql, (size_t)(end - sql), out);
    if (rest)
        *rest = end;
    return rc;
}
