#include "shell/command/diff_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "catalog/data/model/module_tree.h"
#include "shell/command/command.h"
#include "shell/render/render.h"
#include "shell/session/fold.h"
#include "shell/session/human.h"

#define NAME_COLUMNS 60 /* longer names do not move the rest further right */
#define ROW_COLUMNS  65 /* of most rows behind the names: numbers, dtype, shape, distances */
#define BOLD         "\033[1m"
#define PLAIN        "\033[0m"
#define NAMES_SHOWN  3 /* how many names to list that keep a checkpoint from loading */

/* --- the tree ------------------------------------------------------------------------------------ */

/* Distances, summed up over all tensors of a node. */
struct apart {
    double rel_l2, most; /* the largest; `most` of max_abs, for an adapter of delta_l2 */
    uint64_t known;      /* number of tensors with known distances */
    uint64_t rows; /* the most rows that one has in common with the other side's; 0: all are */
    int rank;      /* the largest rank in rows_sql */
};

struct picture {
    struct session *session;
    bool adapter;
    struct module_tree tree;
    struct apart *apart; /* by node */
    bool narrow;         /* there is no room for `bytes` */
    bool tight;          /* nor for more than one distance */
    size_t names;        /* columns */
    struct text line;
};

/* One row per tensor: its name, its status and details, by which modules are folded.
 * (Numbers in new names become '#', so that the same renaming of several layers folds.) The
 * last column is a rank for sorting: first what keeps a checkpoint from loading, then
 * values, then names. A distance without a rel_l2 is one from zeros, or not finite. */
static const char rows_sql[] =
    "SELECT coalesce(name_a, name_b), iif(?2 AND status = 'value', dtype_b, status),"
    " CASE status WHEN 'shape' THEN coalesce(shape_a, '?') || ' -> ' || coalesce(shape_b, '?')"
    "  WHEN 'dtype' THEN dtype_a || ' -> ' || dtype_b"
    "  WHEN 'renamed' THEN '-> ' || regexp_replace('\\d+', name_b, '#')"
    "  ELSE coalesce(shape_a, shape_b, '') END, coalesce(nbytes_a, nbytes_b, 0),"
    " coalesce(distance ->> '$.rel_l2', 9e999), coalesce(distance ->> iif(?2, '$.delta_l2', '$.max_abs'), 9e999),"
    " distance IS NOT NULL, coalesce(distance ->> '$.rows', 0),"
    " CASE WHEN status IN ('same', 'unread') THEN 0 WHEN status = 'renamed' THEN 1"
    "  WHEN status = 'value' THEN 2 ELSE 3 END"
    " FROM temp.difference WHERE ?1 OR status NOT IN ('same', 'unread') ORDER BY rowid";

/* The separator of names: '/' or '.', whichever more names contain. */
static char common_separator(struct session *s)
{
    return session_number(s,
                          "SELECT sum(instr(coalesce(name_a, name_b), '/') > 0) >"
                          " sum(instr(coalesce(name_a, name_b), '.') > 0) FROM temp.difference",
                          "")
               ? '/'
               : '.';
}

static bool add_rows(struct picture *p, sqlite3_stmt *rows)
{
    bool good = true;
    while (good && session_row(p->session, rows))
        good = module_tree_add(&p->tree, session_text(rows, 0), session_text(rows, 1),
                               session_text(rows, 2), 0, (uint64_t)sqlite3_column_int64(rows, 3));
    sqlite3_reset(rows);
    return good && !p->session->unread && module_tree_finish(&p->tree);
}

/* Add each tensor's distance to its node and to all nodes above that. */
static bool add_distances(struct picture *p, sqlite3_stmt *rows)
{
    p->apart = calloc(p->tree.count, sizeof(*p->apart));
    while (p->apart && session_row(p->session, rows)) {
        const double rel = sqlite3_column_double(rows, 4), most = sqlite3_column_double(rows, 5);
        const bool known = sqlite3_column_int(rows, 6) != 0;
        const uint64_t common = (uint64_t)sqlite3_column_int64(rows, 7);
        const int rank = sqlite3_column_int(rows, 8);
        uint32_t node = module_tree_shown(&p->tree, session_text(rows, 0));
        for (; node; node = p->tree.nodes[node].parent) {
            struct apart *a = &p->apart[node];
            a->rank = rank > a->rank ? rank : a->rank;
            if (!known)
                continue;
            a->known++;
            a->rows = common > a->rows ? common : a->rows;
            a->rel_l2 = fmax(a->rel_l2, rel);
            a->most = fmax(a->most, most);
        }
    }
    return p->apart && !p->session->unread;
}

/* --- sorting ------------------------------------------------------------------------------------- */

struct sibling {
    struct apart apart;
    uint64_t nbytes;
    uint32_t node; /* its number: the order of the tree */
};

/* The largest differences first; otherwise the order of the tree. */
static int compare_siblings(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->apart.rank != y->apart.rank)
        return y->apart.rank - x->apart.rank;
    if (x->apart.rel_l2 != y->apart.rel_l2)
        return x->apart.rel_l2 < y->apart.rel_l2 ? 1 : -1;
    if (x->apart.rank && x->nbytes != y->nbytes)
        return x->nbytes < y->nbytes ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool sort_tree(struct picture *p)
{
    struct sibling *room = calloc(p->tree.count, sizeof(*room));
    struct module *nodes = p->tree.nodes;
    for (uint32_t parent = 0; room && parent < p->tree.count; parent++) {
        size_t count = 0;
        for (uint32_t i = nodes[parent].first; i; i = nodes[i].next)
            room[count++] = (struct sibling){p->apart[i], nodes[i].nbytes, i};
        qsort(room, count, sizeof(*room), compare_siblings);
        for (size_t i = count, next = 0; i-- > 0; next = room[i].node) {
            nodes[room[i].node].next = (uint32_t)next;
            nodes[parent].first = room[i].node;
        }
    }
    free(room);
    return room != NULL;
}

/* --- drawing ------------------------------------------------------------------------------------- */

static size_t draw_branch(struct picture *p, const struct module_visit *v)
{
    text_reset(&p->line);
    for (unsigned i = 1; i < v->depth; i++)
        text_adds(&p->line, v->rail[i - 1] ? "│  " : "   ");
    text_adds(&p->line, v->rail[v->depth - 1] ? "├─ " : "└─ ");
    text_escape(&p->line, v->label, strlen(v->label));
    return text_str(&p->line) ? text_width(p->line.at, p->line.len) : 0;
}

static void measure_branch(void *context, const struct module_visit *v)
{
    struct picture *p = context;
    size_t width = draw_branch(p, v);
    width = width < NAME_COLUMNS ? width : NAME_COLUMNS;
    p->names = width > p->names ? width : p->names;
}

static void draw_distances(struct picture *p, const struct module *m, const struct apart *a)
{
    struct text *out = &p->line;
    if (a->known)
        text_addf(out, "  %s %s%.3g", p->adapter ? "rel" : "rel_l2", m->tensors > 1 ? "up to " : "",
                  a->rel_l2);
    if (a->known && !p->tight)
        text_addf(out, ", %s %.3g", p->adapter ? "delta_l2" : "max_abs", a->most);
    if (a->rows && m->kind)
        text_addf(out, " in the first %llu rows", (unsigned long long)a->rows);
}

/* Write the row of a node to p->line. Returns the number of columns it takes. */
static size_t draw_row(struct picture *p, const struct module_visit *v)
{
    const struct module *m = &p->tree.nodes[v->node];
    const struct apart *a = &p->apart[v->node];
    const bool bold = p->session->color && m->kind;
    const char *kind = module_tree_dtype(&p->tree, m), *shape = module_tree_shape(&p->tree, m);
    char bytes[HUMAN_MAX];
    struct text *out = &p->line;
    const size_t width = draw_branch(p, v);
    text_addf(out, "%*s%8llu", width < p->names ? (int)(p->names - width) : 0, "",
              (unsigned long long)m->tensors);
    if (!p->narrow)
        text_addf(out, " %10s", human_bytes(m->nbytes, bytes));
    if (m->kind && !(p->tight && a->known && strcmp(kind, "value") == 0))
        text_addf(out, "  %s%s%s", bold ? BOLD : "", kind, bold ? PLAIN : "");
    if (m->kind && *shape)
        text_addf(out, "%s%s", p->tight ? "  " : " ", shape);
    draw_distances(p, m, a);
    return text_str(out) ? text_width(out->at, out->len) - (bold ? strlen(BOLD PLAIN) : 0) : 0;
}

static void measure_row(void *context, const struct module_visit *v)
{
    struct picture *p = context;
    p->tight = p->tight || draw_row(p, v) > render_columns();
}

static void draw_node(void *context, const struct module_visit *v)
{
    struct picture *p = context;
    const size_t width = draw_row(p, v);
    const bool folds = p->session->out_is_terminal && width > render_columns();
    if (text_str(&p->line))
        fold_line(p->session->out, p->line.at, p->line.len, folds ? render_columns() : 0,
                  p->names + 10);
}

static int draw_picture(struct picture *p)
{
    if (!p->tree.nodes[0].tensors)
        return STATUS_FINE;
    const bool terminal = p->session->out_is_terminal;
    bool whole = module_tree_visit(&p->tree, measure_branch, p);
    p->narrow = terminal && p->names + ROW_COLUMNS > render_columns();
    whole = whole && (!terminal || module_tree_visit(&p->tree, measure_row, p));
    fprintf(p->session->out, "%*s%8s%s\n", (int)p->names, "", "tensors",
            p->narrow ? "" : "      bytes");
    if (!whole || !module_tree_visit(&p->tree, draw_node, p)) {
        complain("no memory for the tree");
        return STATUS_TROUBLE;
    }
    if (p->tight)
        complain("%s is left out, as the screen is narrow: %s shows all",
                 p->adapter ? "delta_l2" : "max_abs",
                 p->session->interactive ? ".mode line" : "--line");
    return session_flush(p->session) ? STATUS_FINE : STATUS_TROUBLE;
}

int diff_picture(struct session *s, bool all, bool adapter)
{
    struct picture p = {.session = s, .adapter = adapter, .names = 8};
    int status = STATUS_TROUBLE;
    sqlite3_stmt *rows = session_prepare(s, rows_sql, "ii", (int64_t)all, (int64_t)adapter);
    if (rows && module_tree_init(&p.tree, common_separator(s), 0) && add_rows(&p, rows) &&
        add_distances(&p, rows) && sort_tree(&p))
        status = draw_picture(&p);
    else if (!s->unread)
        complain("no memory for the tree");
    sqlite3_finalize(rows);
    free(p.apart);
    text_release(&p.line);
    module_tree_release(&p.tree);
    return status;
}

/* --- whether it loads ---------------------------------------------------------------------------- */

/* Append, e.g., "2 missing (a, b)" for a status, after a comma if there is text before it. */
static void add_reason(struct session *s, const char *status, const char *what, struct text *out)
{
    static const char sql[] =
        "SELECT count(*) OVER (), coalesce(name_b, name_a) FROM temp.difference"
        " WHERE status = ?1 ORDER BY rowid";
    sqlite3_stmt *stmt = session_prepare(s, sql, "s", status);
    sqlite3_int64 count = 0;
    int shown = 0;
    while (shown < NAMES_SHOWN && session_row(s, stmt)) {
        const char *name = session_text(stmt, 1);
        count = sqlite3_column_int64(stmt, 0);
        if (!shown++)
            text_addf(out, "%s%lld %s (", out->len ? ", " : "", count, what);
        else
            text_adds(out, ", ");
        text_escape(out, name, strlen(name));
    }
    if (shown)
        text_adds(out, count > shown ? ", ...)" : ")");
    sqlite3_finalize(stmt);
}

/* The name of a checkpoint, and whether it is a skeleton. Free it with sqlite3_free(). */
static char *skeleton_name(struct session *s, int64_t id, bool *skeleton)
{
    char *name = NULL;
    sqlite3_stmt *stmt =
        session_prepare(s, "SELECT name, format = 'names' FROM checkpoint WHERE id = ?1", "i", id);
    if (session_row(s, stmt)) {
        name = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
        *skeleton = sqlite3_column_int(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return name;
}

void diff_says_whether_it_loads(struct session *s, int64_t a, int64_t b)
{
    bool model_a = false, model_b = false;
    /* Mostly neither is, and to look up their names takes longer than this. */
    if (!session_number(s, "SELECT 1 FROM _checkpoints WHERE id IN (?1, ?2) AND format = 'names'",
                        "ii", a, b))
        return;
    char *name_a = skeleton_name(s, a, &model_a), *name_b = skeleton_name(s, b, &model_b);
    struct text why = {0};
    if (name_a && name_b && (model_a || model_b)) {
        const bool into_b = model_b;
        add_reason(s, into_b ? "only_b" : "only_a", "missing", &why);
        add_reason(s, into_b ? "only_a" : "only_b", "unexpected", &why);
        add_reason(s, "shape", "of another shape", &why);
        if (!s->unread)
            complain("%s %s into %s: %s", into_b ? name_a : name_b,
                     why.len ? "does not load" : "loads", into_b ? name_b : name_a,
                     why.len ? text_str(&why) : "it has every name, and no other, with its shape");
    }
    text_release(&why);
    sqlite3_free(name_a);
    sqlite3_free(name_b);
}
