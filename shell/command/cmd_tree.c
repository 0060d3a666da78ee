#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "shell/command/checkpoint_tree.h"
#include "shell/command/command.h"
#include "shell/render/render.h"
#include "shell/session/fold.h"
#include "shell/session/human.h"

#define NAME_COLUMNS 72 /* longer names do not move the numbers further right */

/* The tree being printed. */
struct drawing {
    struct session *session;
    struct module_tree *tree;
    unsigned depth;   /* number of levels to show */
    size_t names;     /* width of the column of names */
    size_t facts;     /* of the column of dtypes and shapes */
    bool counts;      /* there is room for `tensors` */
    bool parameters;  /* and for `parameters` */
    bool unknown;     /* neither parameters nor bytes are known */
    struct text text; /* current line, or all rows as JSON */
    bool lacked;      /* there was no memory for a line */
};

/* --- as rows ------------------------------------------------------------------------------ */

static void add_row(void *context, const struct module_visit *v)
{
    struct drawing *d = context;
    const struct module *m = &d->tree->nodes[v->node];
    if (v->depth > d->depth)
        return;
    text_adds(&d->text, d->text.len > 1 ? ",[" : "[");
    text_json(&d->text, v->path, strlen(v->path));
    text_addf(&d->text, ",%llu,%llu,%llu", (unsigned long long)m->tensors,
              (unsigned long long)m->parameters, (unsigned long long)m->nbytes);
    const char *const facts[] = {module_tree_dtype(d->tree, m), module_tree_shape(d->tree, m)};
    for (size_t i = 0; i < 2; i++) {
        text_addc(&d->text, ',');
        if (*facts[i])
            text_json(&d->text, facts[i], strlen(facts[i]));
        else
            text_adds(&d->text, "null");
    }
    text_addc(&d->text, ']');
}

static int print_rows(struct drawing *d)
{
    text_addc(&d->text, '[');
    const bool whole = module_tree_visit(d->tree, add_row, d);
    text_addc(&d->text, ']');
    if (!whole || !text_str(&d->text)) {
        complain("no memory for the tree");
        return STATUS_NO;
    }
    return render_json(d->session,
                       "SELECT value ->> 0 AS module, value ->> 1 AS tensors,"
                       " value ->> 2 AS parameters, value ->> 3 AS nbytes,"
                       " value ->> 4 AS dtype, value ->> 5 AS shape FROM json_each(?1)",
                       text_str(&d->text));
}

/* --- as a drawing ------------------------------------------------------------------------- */

/* Draw the branches and name of a node. Returns the number of columns they take. */
static size_t draw_name(struct drawing *d, const struct module_visit *v)
{
    text_reset(&d->text);
    for (unsigned i = 1; i < v->depth; i++)
        text_adds(&d->text, v->rail[i - 1] ? "│  " : "   ");
    text_adds(&d->text, v->rail[v->depth - 1] ? "├─ " : "└─ ");
    if (*v->label)
        text_escape(&d->text, v->label, strlen(v->label));
    else
        text_adds(&d->text, "\"\"");
    d->lacked = d->lacked || !text_str(&d->text);
    return text_str(&d->text) ? text_width(text_str(&d->text), d->text.len) : 0;
}

static void measure_name(void *context, const struct module_visit *v)
{
    struct drawing *d = context;
    if (v->depth > d->depth)
        return;
    size_t width = draw_name(d, v);
    width = width < NAME_COLUMNS ? width : NAME_COLUMNS;
    d->names = width > d->names ? width : d->names;
    const struct module *m = &d->tree->nodes[v->node];
    const char *dtype = module_tree_dtype(d->tree, m), *shape = module_tree_shape(d->tree, m);
    width = text_width(dtype, strlen(dtype)) + 1 + text_width(shape, strlen(shape));
    d->facts = width > d->facts ? width : d->facts;
}

static void draw_numbers(struct drawing *d, const struct module *m)
{
    FILE *out = d->session->out;
    char parameters[HUMAN_MAX], nbytes[HUMAN_MAX];
    if (d->counts)
        fprintf(out, "%8llu", (unsigned long long)m->tensors);
    if (d->unknown)
        return;
    if (!d->session->out_is_terminal)
        fprintf(out, " %14llu %15llu", (unsigned long long)m->parameters,
                (unsigned long long)m->nbytes);
    else
        fprintf(out, d->parameters ? " %10s %10s" : "%.0s %10s",
                human_count(m->parameters, parameters), human_bytes(m->nbytes, nbytes));
}

static void draw_line(void *context, const struct module_visit *v)
{
    struct drawing *d = context;
    const struct module *m = &d->tree->nodes[v->node];
    if (v->depth > d->depth)
        return;
    size_t width = draw_name(d, v);
    fprintf(d->session->out, "%s%*s", text_str(&d->text) ? text_str(&d->text) : "",
            width < d->names ? (int)(d->names - width) : 0, "");
    draw_numbers(d, m);
    const char *dtype = module_tree_dtype(d->tree, m);
    const char *shape = module_tree_shape(d->tree, m);
    if (*dtype || *shape) {
        bool color = d->session->color;
        fprintf(d->session->out, "  %s%s%s%s%s", color ? "\033[2m" : "", dtype,
                *dtype && *shape ? " " : "", shape, color ? "\033[0m" : "");
    }
    fputc('\n', d->session->out);
}

static int draw(struct drawing *d)
{
    bool terminal = d->session->out_is_terminal;
    if (!module_tree_visit(d->tree, measure_name, d)) {
        complain("no memory for the tree");
        return STATUS_NO;
    }
    const size_t room = terminal ? render_columns() : SIZE_MAX;
    d->parameters = !d->unknown && d->names + 30 + 2 + d->facts <= room;
    d->counts = d->unknown || d->names + 19 + 2 + d->facts <= room;
    fprintf(d->session->out, "%*s%s", (int)d->names, "", d->counts ? " tensors" : "");
    if (d->unknown)
        fputc('\n', d->session->out);
    else if (terminal)
        fprintf(d->session->out, "%s %10s\n", d->parameters ? " parameters" : "", "bytes");
    else
        fprintf(d->session->out, " %14s %15s\n", "parameters", "bytes");
    const bool whole = module_tree_visit(d->tree, draw_line, d);
    fprintf(d->session->out, "%-*s", (int)d->names, "all");
    draw_numbers(d, &d->tree->nodes[0]);
    fputc('\n', d->session->out);
    if (!whole || d->lacked)
        complain("no memory for the tree");
    return whole && !d->lacked ? STATUS_FINE : STATUS_NO;
}

/* --- what an adapter changes --------------------------------------------------------------- */

/* A row for each tensor that changes: its name, what changes it (in the place of a dtype), its shape, its
 * numbers; and the base. Modules that change alike are folded. */
static const char changes_sql[] =
    "SELECT a.name, a.kind || coalesce(' r' || a.rank, '') || iif(a.scale IS NULL, '', printf(' x%g', a.scale)),"
    " coalesce(t.shape, ''), coalesce(t.elements, 0), coalesce(t.nbytes, 0),"
    " coalesce(c.name, a.base_name, 'a base that it does not state'),"
    " nullif(a.status, 'ok') FROM adapter a LEFT JOIN tensor t ON t.id = a.base_tensor"
    " LEFT JOIN checkpoint c ON c.id = a.base WHERE a.checkpoint_id = ?1";

static int draw_changes(struct session *s, sqlite3_int64 checkpoint, unsigned depth)
{
    struct module_tree tree = {0};
    struct drawing d = {.session = s, .tree = &tree, .names = 3, .depth = depth};
    int status = STATUS_FINE;
    sqlite3_stmt *stmt = session_prepare(s, changes_sql, "i", (int64_t)checkpoint);
    struct text title = {0}, last = {0};
    bool good = module_tree_init(&tree, '.', 0);
    while (good && session_row(s, stmt)) {
        const char *base = session_text(stmt, 5), *why = session_text(stmt, 6);
        if (!text_str(&last) || strcmp(text_str(&last), base) != 0) {
            text_reset(&last);
            text_adds(&last, base);
            text_adds(&title, title.len ? ", " : "changes in ");
            text_escape(&title, base, strlen(base));
            text_adds(&title, *why ? " (" : "");
            text_escape(&title, why, strlen(why));
            text_adds(&title, *why ? ")" : "");
        }
        good = module_tree_add(&tree, session_text(stmt, 0), session_text(stmt, 1),
                               session_text(stmt, 2), (uint64_t)sqlite3_column_int64(stmt, 3),
                               (uint64_t)sqlite3_column_int64(stmt, 4));
    }
    sqlite3_finalize(stmt);
    good = good && module_tree_finish(&tree);
    if (!good)
        complain("no memory for the tree");
    if (good && title.len) {
        text_addc(&title, ':');
        fputc('\n', s->out);
        fold_line(s->out, text_str(&title) ? title.at : "", title.len,
                  s->out_is_terminal ? render_columns() : 0, 2);
        d.unknown = tree.nodes[0].nbytes == 0;
        status = draw(&d);
    }
    text_release(&title);
    text_release(&last);
    text_release(&d.text);
    module_tree_release(&tree);
    return good ? s->unread ? STATUS_TROUBLE : status : STATUS_NO;
}

static bool parse_depth(const char *text, unsigned *depth)
{
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : MODULE_DEPTH;
    *depth = n < MODULE_DEPTH ? (unsigned)n : MODULE_DEPTH;
    if (!text || (*text >= '1' && *text <= '9' && !*end))
        return true;
    complain("--depth is a number from 1 on, not %s", text);
    return false;
}

static int tree_run(struct session *s, const struct args *args)
{
    struct module_tree tree = {0};
    struct drawing d = {.session = s, .tree = &tree, .names = 3};
    int status;
    if (!parse_depth(args->value[0], &d.depth))
        return STATUS_TROUBLE;
    sqlite3_int64 checkpoint = session_checkpoint(s, args->operand[0]);
    if (!checkpoint)
        return STATUS_NO;
    status = checkpoint_tree(s, checkpoint, &tree);
    if (status == STATUS_FINE)
        status = s->mode == MODE_AUTO ? draw(&d) : print_rows(&d);
    if (status == STATUS_FINE && s->mode == MODE_AUTO)
        status = draw_changes(s, checkpoint, d.depth);
    text_release(&d.text);
    module_tree_release(&tree);
    return status;
}

static const struct option_spec options[] = {
    {"--depth", "N", "show N levels and no more"},
    {NULL, NULL, NULL},
};

const struct command command_tree = {
    .name = "tree",
    .args = "CHECKPOINT [--depth N]",
    .summary = "show the modules of a checkpoint, with counts and bytes",
    .help = "Layers with the same contents are folded: layers.{0..31} stands for 32 layers,\n"
            "and the numbers beside and below it count all 32. For an adapter (LoRA), a second\n"
            "tree shows the tensors of its base that it changes (view `adapter`).\n"
            "\n"
            "  ckptdb tree llama/model.safetensors --depth 3",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .catalog = CATALOG_READ,
    .traits = PAGES,
    .run = tree_run,
};
