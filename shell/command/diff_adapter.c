#include "shell/command/diff_adapter.h"

/* (An AND would compute both its sides.) */
static const char is_adapter_sql[] =
    "SELECT iif(likely, EXISTS (SELECT 1 FROM adapter_part(?1) WHERE kind <> 'replace'), 0)"
    " FROM adapter_likely(?1)";

bool diff_has_adapter(struct session *s, int64_t a, int64_t b)
{
    return session_number(s, is_adapter_sql, "i", b) && !session_number(s, is_adapter_sql, "i", a);
}

/* The tensor is compared with the sum before the sum is rounded to the tensor's dtype. In the place of b's dtype
 * stands the kind of change. */
static const char fill_sql[] =
    "CREATE TEMP TABLE difference AS SELECT"
    " CASE m.status WHEN 'ok' THEN 'value' WHEN 'added' THEN 'only_b' ELSE 'refused' END AS status,"
    " t.name AS name_a, m.name AS name_b, t.dtype AS dtype_a, m.kind || coalesce(' r' || m.rank, '') AS dtype_b, t.shape AS shape_a,"
    " coalesce(t.shape, o.shape) AS shape_b, t.nbytes AS nbytes_a,"
    " coalesce(t.nbytes, o.nbytes) AS nbytes_b, t.id AS tensor_a,"
    " '[[[' || t.id || ',null,[\"float32\",' || m.steps || ']]],null,null]' AS tensor_b,"
    " NULL AS distance, m.status = 'ok' AS wanted, m.kind, m.rank, m.scale, m.status AS why"
    " FROM merged(json_array(json_array(?2, 1)), ?1) m LEFT JOIN tensor t ON t.id = m.tensor_id"
    " LEFT JOIN tensor o ON o.id = m.own"
    " WHERE m.status <> 'elsewhere' AND (?3 IS NULL OR regexp_match(?3, m.name)) ORDER BY t.id IS NULL, t.id";

static const char refused_sql[] = "SELECT why, count(*), min(name_b) FROM temp.difference"
                                  " WHERE status = 'refused' GROUP BY why ORDER BY 2 DESC LIMIT 3";

const char diff_adapter_rows[] =
    "SELECT status, name_b AS name, kind, dtype_a AS dtype, shape_b AS shape, rank, scale,"
    " distance ->> '$.delta_l2' AS delta_l2, distance ->> '$.rel_l2' AS rel"
    " FROM temp.difference WHERE ?1 OR status NOT IN ('same', 'unread') ORDER BY rowid";

bool diff_adapter_fill(struct session *s, int64_t base, int64_t adapter, const char *names)
{
    sqlite3_stmt *stmt = session_prepare(s, fill_sql, "iis", base, adapter, names);
    bool good = stmt && sqlite3_step(stmt) == SQLITE_DONE;
    if (stmt && !good && !session_interrupted)
        complain("%s", ckptdb_why(s->open));
    sqlite3_finalize(stmt);
    stmt = good ? session_prepare(s, refused_sql, "") : NULL;
    while (session_row(s, stmt)) {
        complain("the adapter cannot be merged into it: %s: %lld tensors, such as %s",
                 session_text(stmt, 0), (long long)sqlite3_column_int64(stmt, 1),
                 session_text(stmt, 2));
        good = false;
    }
    sqlite3_finalize(stmt);
    return good;
}
