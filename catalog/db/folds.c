#include "catalog/db/folds.h"

#include "catalog/base/module_tree.h"
#include "catalog/db/ids.h"
#include "catalog/db/statement.h"

/* The layouts without folds, each with the character that separates components in its names: the
 * one after a module that is stored; or, if the format's separator is in no name, '.' or '/',
 * whichever is. */
static const char wanting_sql[] =
    "SELECT l.id, coalesce("
    "  (SELECT substr(n.name, m.length + 1, 1) FROM layout_modules m JOIN layout_tensors n"
    "   ON n.id = (l.id" ID_FIRST ") + m.tensor"
    "   WHERE m.id BETWEEN l.id" ID_FIRST "AND l.id" ID_LAST "LIMIT 1),"
    "  (SELECT substr(t.name, t.module + 1, 1) FROM layout_tensors t"
    "   WHERE t.id BETWEEN l.id" ID_FIRST "AND l.id" ID_LAST "AND t.module LIMIT 1),"
    "  (SELECT substr(ltrim(t.name, replace(replace(t.name, '.', ''), '/', '')), 1, 1)"
    "   FROM layout_tensors t"
    "   WHERE t.id BETWEEN l.id" ID_FIRST "AND l.id" ID_LAST
    "   AND (instr(t.name, '.') OR instr(t.name, '/')) LIMIT 1))"
    " AS separator FROM layouts l WHERE separator IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM layout_folds f"
    "  WHERE f.id BETWEEN l.id" ID_FIRST "AND l.id" ID_LAST ")";

static const char tensors_sql[] =
    "SELECT t.name, coalesce(t.dtype, ''), coalesce(t.shape, ''),"
    " iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0)),"
    " coalesce(t.nbytes, 0) FROM layout_tensors t"
    " WHERE t.id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST;

static const char put_sql[] = "INSERT INTO layout_folds VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

struct folding {
    sqlite3 *db;
    sqlite3_stmt *wanting, *tensors, *put;
    sqlite3_int64 next;
    int rc;
};

static void put_fold(void *context, const struct module_visit *v, const struct module *m)
{
    struct folding *f = context;
    if (f->rc != SQLITE_DONE)
        return;
    sqlite3_bind_int64(f->put, 1, f->next++);
    sqlite3_bind_text(f->put, 2, v->path, -1, SQLITE_STATIC);
    sqlite3_bind_int64(f->put, 3, v->depth);
    sqlite3_bind_int64(f->put, 4, (sqlite3_int64)m->tensors);
    sqlite3_bind_int64(f->put, 5, (sqlite3_int64)m->parameters);
    sqlite3_bind_int64(f->put, 6, (sqlite3_int64)m->nbytes);
    f->rc = sqlite3_step(f->put);
    sqlite3_reset(f->put);
}

static void fold_layout(struct folding *f, sqlite3_int64 layout, const char *separator)
{
    struct module_tree tree = {0};
    bool good = module_tree_init(&tree, *separator, 0);
    sqlite3_bind_int64(f->tensors, 1, layout);
    while (good && (f->rc = sqlite3_step(f->tensors)) == SQLITE_ROW)
        good = module_tree_add(&tree, (const char *)sqlite3_column_text(f->tensors, 0),
                               (const char *)sqlite3_column_text(f->tensors, 1),
                               (const char *)sqlite3_column_text(f->tensors, 2),
                               (uint64_t)sqlite3_column_int64(f->tensors, 3),
                               (uint64_t)sqlite3_column_int64(f->tensors, 4));
    sqlite3_reset(f->tensors);
    f->next = layout << TENSOR_ORD_BITS;
    good = good && f->rc == SQLITE_DONE && module_tree_finish(&tree) &&
           module_tree_modules(&tree, put_fold, f);
    if (!good && f->rc == SQLITE_DONE)
        f->rc = SQLITE_NOMEM;
    module_tree_release(&tree);
}

enum status folds_renew(sqlite3 *db, struct error *err)
{
    struct folding f = {.db = db, .rc = SQLITE_DONE};
    if (sqlite3_prepare_v2(db, wanting_sql, -1, &f.wanting, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, tensors_sql, -1, &f.tensors, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, put_sql, -1, &f.put, NULL) == SQLITE_OK) {
        int rc = SQLITE_DONE;
        while (f.rc == SQLITE_DONE && (rc = sqlite3_step(f.wanting)) == SQLITE_ROW) {
            const char *separator = (const char *)sqlite3_column_text(f.wanting, 1);
            fold_layout(&f, sqlite3_column_int64(f.wanting, 0),
                        separator ? separator : ".");
        }
        if (f.rc == SQLITE_DONE)
            f.rc = rc;
    } else {
        f.rc = SQLITE_ERROR;
    }
    if (f.rc != SQLITE_DONE)
        db_error(db, "cannot fold modules", err);
    sqlite3_finalize(f.wanting);
    sqlite3_finalize(f.tensors);
    sqlite3_finalize(f.put);
    return err->status;
}
