#include "shell/line/offer.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "catalog/base/text.h"

/* Shorten c->common to what it and `text` begin with. */
static void fold_common(struct completion *c, const char *text)
{
    if (!c->common) {
        c->common = strdup(text);
        return;
    }
    size_t same = 0;
    while (c->common[same] && c->common[same] == text[same])
        same++;
    while (same > 0 && ((unsigned char)c->common[same] & 0xC0) == 0x80)
        same--; /* do not cut within a character */
    c->common[same] = '\0';
}

void offer(struct wanted *w, const char *text)
{
    struct completion *c = w->out;
    for (const char *at = text; at && *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return; /* nobody types these, and terminals obey them */
    if (!text)
        return;
    fold_common(c, text);
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i], text) == 0)
            return;
    if (c->count == COMPLETION_SHOWN) {
        c->more = true;
        return;
    }
    if ((c->items[c->count] = strdup(text)))
        c->count++;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* session_prepare() that says nothing; NULL also if no catalog is open, or without `sql`. */
static sqlite3_stmt *ask_quietly(struct wanted *w, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *stmt =
        sql && w->session->db ? query_vprepare(w->session->db, sql, types, args) : NULL;
    va_end(args);
    return stmt;
}

/* Offer the first column of every row; ?1 is the prefix. */
static void offer_rows(struct wanted *w, const char *sql)
{
    sqlite3_stmt *stmt = ask_quietly(w, sql, "s", w->prefix);
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW && !session_interrupted)
        offer(w, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

/* --- sources ------------------------------------------------------------------------------ */

void offer_relations(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                  " AND (?1 GLOB '_*' OR name NOT GLOB '_*')"
                  " AND lower(substr(name, 1, length(?1))) = lower(?1)");
}

void offer_columns(struct wanted *w)
{
    offer_rows(w, "SELECT c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
                  " WHERE m.type IN ('table', 'view') AND m.name NOT GLOB '_*'"
                  " AND lower(substr(c.name, 1, length(?1))) = lower(?1)");
}

void offer_functions(struct wanted *w)
{
    offer_rows(w, "SELECT name || '(' FROM pragma_function_list"
                  " WHERE lower(substr(name, 1, length(?1))) = lower(?1) AND name GLOB '[a-z]*'");
}

/* The catalog's own functions: not those that only views use, nor SQLite's. */
void offer_table_functions(struct wanted *w)
{
    offer_rows(w, "SELECT name || '(' FROM pragma_module_list"
                  " WHERE lower(substr(name, 1, length(?1))) = lower(?1)"
                  " AND name NOT GLOB '*_rows' AND name NOT GLOB '* *'"
                  " AND name NOT GLOB 'pragma_*' AND name NOT GLOB 'ckptdb_*'"
                  " AND name NOT GLOB 'fts*' AND name NOT GLOB 'rtree*'"
                  " AND name NOT IN ('dbstat', 'sqlite_stmt', 'tensor_extents')");
}

/* Keywords are offered in the case in which the word begins. */
void offer_keywords(struct wanted *w)
{
    bool lower = w->prefix[0] >= 'a';
    for (int i = 0; *w->prefix && i < sqlite3_keyword_count(); i++) {
        const char *name;
        char word[64];
        int len;
        if (sqlite3_keyword_name(i, &name, &len) != SQLITE_OK || len >= (int)sizeof(word))
            continue;
        for (int k = 0; k < len; k++)
            word[k] = (char)(name[k] | (lower && name[k] >= 'A' ? 0x20 : 0));
        word[len] = '\0';
        if (begins_with(word, w->prefix))
            offer(w, word);
    }
}

/* The end of the level that begins at offset `from` of a name: just after the next
 * separator. Level ends of "a/b/c" from 0: 2, from 2: 4, from 4: 5. */
static size_t level_end(const struct wanted *w, const char *name, size_t from)
{
    size_t end = from + strcspn(name + from, w->levels);
    return end + (name[end] != '\0');
}

#define LAST "char(1114111)" /* sorts after anything that follows a prefix */

/* The first name (or the `last`) in a table that begins with `prefix` and comes after
 * `after`. If `after` ends with a separator, all names that begin with it are
 * skipped, too. malloc'ed; NULL if absent. */
static char *next_name(struct wanted *w, const char *table, const char *prefix, const char *after,
                       bool last)
{
    bool level = after && *after && strchr(w->levels, after[strlen(after) - 1]);
    char *sql = sqlite3_mprintf("SELECT %s(name) FROM \"%w\" WHERE name >= ?1 || %s"
                                " AND name >= ?2 AND name < ?2 || " LAST,
                                last ? "max" : "min", table,
                                level   ? LAST
                                : after ? "char(1)"
                                        : "''");
    sqlite3_stmt *stmt = ask_quietly(w, sql, "ss", after ? after : prefix, prefix);
    char *found = NULL;
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        found = strdup((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return found;
}

/* The length of the common beginning of the first and the last name, in whole levels. It saves
 * a query for each of those levels. */
static size_t shared_levels(const struct wanted *w, const char *first, const char *last)
{
    size_t from = strlen(w->prefix), end;
    while (first[from] && strcmp(first, last) != 0 &&
           (end = level_end(w, first, from)) == level_end(w, last, from) &&
           strncmp(first, last, end) == 0)
        from = end;
    return from;
}

/* Offer the possible next levels of names with the prefix. Each takes one look-up in the
 * index, however many names begin with it. */
static void offer_levels(struct wanted *w, const char *table)
{
    char *last = next_name(w, table, w->prefix, NULL, true);
    char *name = next_name(w, table, w->prefix, NULL, false);
    size_t from = name && last ? shared_levels(w, name, last) : 0;
    char *shared = name ? strndup(name, from) : NULL;
    for (size_t n = 0; shared && name && n < COMPLETION_SHOWN && !session_interrupted; n++) {
        name[level_end(w, name, from)] = '\0';
        offer(w, name);
        char *next = next_name(w, table, shared, name, false);
        free(name);
        name = next;
    }
    w->out->more |= name != NULL;
    if (last)
        fold_common(w->out, last);
    free(shared);
    free(name);
    free(last);
}

/* Offer all names if they are few, otherwise by levels. */
static void offer_names(struct wanted *w, const char *table)
{
    char *sql =
        sqlite3_mprintf("SELECT count(*) FROM (SELECT DISTINCT name FROM \"%w\" WHERE name >= ?1"
                        " AND name < ?1 || " LAST " LIMIT %d)",
                        table, COMPLETION_SHOWN);
    char *all = sqlite3_mprintf("SELECT DISTINCT name FROM \"%w\" WHERE name >= ?1"
                                " AND name < ?1 || " LAST,
                                table);
    sqlite3_stmt *stmt = ask_quietly(w, sql, "s", w->prefix);
    const bool many =
        stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == COMPLETION_SHOWN;
    sqlite3_finalize(stmt);
    if (many)
        offer_levels(w, table);
    else
        offer_rows(w, all);
    sqlite3_free(sql);
    sqlite3_free(all);
}

/* The checkpoint whose name or id is the given word; 0: none. */
static sqlite3_int64 checkpoint_called(struct wanted *w, const char *name)
{
    sqlite3_stmt *stmt =
        ask_quietly(w,
                    "SELECT id FROM _labels WHERE name = ?1 OR id = CAST(?1 AS INTEGER)"
                    " AND CAST(CAST(?1 AS INTEGER) AS TEXT) = ?1",
                    "s", name);
    const bool row = stmt && sqlite3_step(stmt) == SQLITE_ROW;
    const sqlite3_int64 id = row ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return id;
}

#define WHOLE SIZE_MAX

/* The first and the last of some names; malloc'ed. */
struct ends {
    char *first, *last;
};

static void keep_ends(struct ends *e, const char *name)
{
    char **slots[] = {!e->first || strcmp(name, e->first) < 0 ? &e->first : NULL,
                      !e->last || strcmp(name, e->last) > 0 ? &e->last : NULL};
    for (size_t i = 0; i < 2; i++) {
        if (!slots[i])
            continue;
        free(*slots[i]);
        *slots[i] = strdup(name);
    }
}

/* Offer names that no index finds: the first column of a statement about the prefix (?1)
 * and a number (?2). If there are many, offer them by levels. */
static void offer_by_scan(struct wanted *w, const char *sql, sqlite3_int64 number)
{
    sqlite3_stmt *stmt = ask_quietly(w, sql, "si", w->prefix, (int64_t)number);
    struct ends ends = {0};
    size_t count = 0;
    for (; stmt && sqlite3_step(stmt) == SQLITE_ROW && !session_interrupted; count++) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (name)
            keep_ends(&ends, name);
    }
    sqlite3_reset(stmt);
    bool levels = count >= COMPLETION_SHOWN && ends.first && ends.last;
    const size_t from = levels ? shared_levels(w, ends.first, ends.last) : WHOLE;
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW && !session_interrupted) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        char *name = text ? strdup(text) : NULL;
        if (name && from != WHOLE)
            name[level_end(w, name, from)] = '\0';
        offer(w, name);
        free(name);
    }
    sqlite3_finalize(stmt);
    free(ends.first);
    free(ends.last);
}

void offer_checkpoints(struct wanted *w)
{
    w->levels = "/@";
    offer_names(w, "_labels");
    if (!*w->prefix)
        return;
    if (strchr("./", *w->prefix))
        offer_files(w); /* relative to the current directory */
    if (w->out->count > 0)
        return; /* a name is shorter than a path */
    w->levels = "/";
    if (*w->prefix == '/')
        offer_by_scan(w, "SELECT path FROM _checkpoints WHERE substr(path, 1, length(?1)) = ?1", 0);
    else
        offer_by_scan(w,
                      "SELECT substr(path, instr(path, '/' || ?1) + 1) FROM _checkpoints"
                      " WHERE instr(path, '/' || ?1) > 0",
                      0);
}

void offer_tensors(struct wanted *w)
{
    sqlite3_int64 checkpoint = checkpoint_called(w, w->checkpoint);
    w->levels = "/.";
    if (checkpoint)
        offer_by_scan(w,
                      "SELECT name FROM tensor WHERE checkpoint_id = ?2"
                      " AND name >= ?1 AND name < ?1 || " LAST,
                      checkpoint);
    else
        offer_names(w, "_layout_tensors");
}

void offer_rulesets(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM ruleset WHERE substr(name, 1, length(?1)) = ?1");
}

void offer_optimizers(struct wanted *w)
{
    offer_rows(w, "SELECT name FROM optimizer WHERE substr(name, 1, length(?1)) = ?1");
}

static bool offer_dtype(void *context, const char *name)
{
    struct wanted *w = context;
    if (begins_with(name, w->prefix))
        offer(w, name);
    return true;
}

void offer_dtypes(struct wanted *w)
{
    ckptdb_dtypes(offer_dtype, w);
}

void offer_files(struct wanted *w)
{
    if (w->out->outside) {
        w->out->files = true;
        return;
    }
    const char *slash = strrchr(w->prefix, '/'), *base = slash ? slash + 1 : w->prefix;
    char *folder = strndup(w->prefix, (size_t)(base - w->prefix));
    DIR *dir = folder ? opendir(*folder ? folder : ".") : NULL;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, its own directory */
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strncmp(e->d_name, base, strlen(base)) == 0 && (e->d_name[0] != '.' || *base == '.') &&
            strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            struct text path = {0};
            struct stat st;
            text_addf(&path, "%s%s", folder, e->d_name);
            if (text_str(&path) && stat(text_str(&path), &st) == 0 && S_ISDIR(st.st_mode))
                text_addc(&path, '/');
            offer(w, text_str(&path));
            text_release(&path);
        }
    if (dir)
        closedir(dir);
    free(folder);
    if (w->out->count == 1 && w->out->items[0][strlen(w->out->items[0]) - 1] == '/')
        w->out->after = 0;
}

void offer_commands(struct wanted *w, const char *dot)
{
    for (size_t i = 0; commands[i]; i++) {
        if (w->out->outside && (commands[i]->traits & SHELL_ONLY))
            continue;
        char name[64];
        snprintf(name, sizeof(name), "%s%s", dot, commands[i]->name);
        if (begins_with(name, w->prefix))
            offer(w, name);
    }
}

static void offer_command_names(struct wanted *w)
{
    offer_commands(w, "");
}

void offer_modes(struct wanted *w, const char *before)
{
    for (int i = 0; mode_names[i]; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%s", before, mode_names[i]);
        if (begins_with(name, w->prefix))
            offer(w, name);
    }
}

static void offer_mode_names(struct wanted *w)
{
    offer_modes(w, "");
}

static const struct {
    const char *word;
    void (*offer)(struct wanted *);
} kinds[] = {
    {"CHECKPOINT", offer_checkpoints},
    {"RUN", offer_checkpoints},
    {"A", offer_checkpoints},
    {"B", offer_checkpoints},
    {"MODEL", offer_checkpoints},
    {"ADAPTER[:FACTOR]", offer_checkpoints},
    {"NAME", offer_tensors},
    {"PATH", offer_files},
    {"FILE", offer_files},
    {"OUT", offer_files},
    {"CATALOG", offer_files},
    {"OLD", offer_files},
    {"NEW", offer_files},
    {"COMMAND", offer_command_names},
    {"RULESET", offer_rulesets},
    {"OPTIMIZER", offer_optimizers},
    {"MODE", offer_mode_names},
    {"D", offer_dtypes},
    {"GLOB", offer_checkpoints},
};

void offer_kind(struct wanted *w, const struct command *c, const char *word, size_t len)
{
    if ((c->traits & SHELL_ONLY) && len == 4 && memcmp(word, "GLOB", 4) == 0) {
        offer_relations(w);
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strlen(kinds[i].word) == len && memcmp(kinds[i].word, word, len) == 0)
            kinds[i].offer(w);
}
