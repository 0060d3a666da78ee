#include "shell/view/page.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "catalog/base/strmap.h"

#define COLUMNS_MAX  24
#define LEVEL        4 /* of zlib: half the time of the usual one, 5 % more bytes */
#define PACKED_BYTES ((size_t)48 << 10) /* encoded at a time: a multiple of three */
#define WORDS_BYTES  ((size_t)4 << 20)  /* of a column's words that are remembered */

struct column {
    char kind;
    struct text cells;   /* of this block */
    struct text before;  /* the name before */
    struct strmap words; /* to their codes */
    uint64_t next_code;
    size_t word_bytes;
};

struct page {
    struct sink *sink;
    z_stream zlib;
    unsigned char packed[PACKED_BYTES];
    struct arena arena; /* words of the table that is being written */
    struct column column[COLUMNS_MAX];
    unsigned columns; /* 0: no table is being written */
    unsigned at;      /* the column that comes next */
    unsigned rows;    /* in this block */
    struct module_tree *tree;
    double *shown; /* by node of the tree: its row */
    double visited;
};

/* --- bytes ------------------------------------------------------------------------------------ */

static void send_packed(struct page *p)
{
    text_base64(&p->sink->pending, p->packed, PACKED_BYTES - p->zlib.avail_out, false);
    sink_flush(p->sink);
    p->zlib.next_out = p->packed;
    p->zlib.avail_out = PACKED_BYTES;
}

/* Compress what is in a text, and empty it. */
static void send(struct page *p, struct text *t)
{
    if (!text_str(t))
        sink_fail(p->sink, CKPTDB_MEMORY, "no memory for the page");
    p->zlib.next_in = (unsigned char *)(t->failed ? NULL : t->at);
    p->zlib.avail_in = t->failed ? 0 : (unsigned)t->len;
    while (p->zlib.avail_in && p->sink->err.status == CKPTDB_OK) {
        deflate(&p->zlib, Z_NO_FLUSH);
        if (!p->zlib.avail_out)
            send_packed(p);
    }
    text_reset(t);
}

static void add_counted(struct text *t, const char *string, size_t len)
{
    text_varint(t, len);
    text_add(t, string, len);
}

static bool is_number(char kind)
{
    return kind == 'd' || kind == 'r';
}

/* --- cells ------------------------------------------------------------------------------------ */

static void put_name(struct column *c, const char *name, size_t len)
{
    size_t same = 0;
    while (same < len && same < c->before.len && name[same] == c->before.at[same])
        same++;
    text_varint(&c->cells, same);
    add_counted(&c->cells, name + same, len - same);
    text_reset(&c->before);
    text_add(&c->before, name, len);
}

static void put_word(struct page *p, struct column *c, const char *word, size_t len)
{
    bool added = false;
    uint64_t *code = strmap_get(&c->words, word, len);
    if (!code && c->word_bytes < WORDS_BYTES) {
        const char *kept;
        code = strmap_keep(&c->words, &p->arena, word, len, &kept, &added);
        if (code)
            *code = c->next_code;
        else
            sink_fail(p->sink, CKPTDB_MEMORY, "no memory for the page");
        c->word_bytes += len;
    }
    text_varint(&c->cells, code && !added ? *code : 1);
    if (code && !added)
        return;
    c->next_code++;
    add_counted(&c->cells, word, len);
}

/* Give the numbers of a block as few bytes as say the same, or enough. */
static void narrow(struct column *c, unsigned rows)
{
    float narrowed[PAGE_BLOCK];
    bool good = true, alike = true;
    for (unsigned i = 0; i < rows && good; i++) {
        double number;
        memcpy(&number, c->cells.at + i * sizeof(number), sizeof(number));
        narrowed[i] = (float)number;
        good = (double)narrowed[i] == number || isnan(number) ||
               (c->kind == 'r' && isnormal(narrowed[i]));
        alike &= narrowed[i] == narrowed[0] || (isnan(narrowed[i]) && isnan(narrowed[0]));
    }
    if (!good)
        return;
    text_reset(&c->cells);
    text_add(&c->cells, (const char *)narrowed, (alike ? 1 : rows) * sizeof(*narrowed));
}

static void finish_block(struct page *p)
{
    struct text head = {0};
    text_varint(&head, p->rows);
    for (unsigned i = 0; i < p->columns && p->rows; i++) {
        struct column *c = &p->column[i];
        if (is_number(c->kind) && text_str(&c->cells))
            narrow(c, p->rows);
        text_varint(&head, c->cells.len);
        send(p, &head);
        send(p, &c->cells);
        text_reset(&c->before);
    }
    send(p, &head);
    text_release(&head);
    p->rows = 0;
}

/* The next cell of the row; a row that is full ends. `text` NULL: the cell is NULL, or a number. */
static void put(struct page *p, const char *text, double number)
{
    struct column *c = &p->column[p->at];
    const size_t len = text ? strlen(text) : 0;
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    if (c->kind == 'n')
        put_name(c, text ? text : "", len);
    else if (is_number(c->kind))
        text_le(&c->cells, bits, sizeof(bits));
    else if (text)
        put_word(p, c, text, len);
    else
        text_varint(&c->cells, 0);
    p->at = (p->at + 1) % p->columns;
    if (p->at == 0 && ++p->rows == PAGE_BLOCK)
        finish_block(p);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void end_table(struct page *p)
{
    if (!p->columns)
        return;
    if (p->rows)
        finish_block(p);
    finish_block(p);
    for (unsigned i = 0; i < p->columns; i++) {
        text_release(&p->column[i].cells);
        text_release(&p->column[i].before);
        strmap_release(&p->column[i].words);
    }
    arena_release(&p->arena);
    p->arena = (struct arena){0};
    memset(p->column, 0, sizeof(p->column));
    p->columns = 0;
}

static void begin_table(struct page *p, const char *table, const char *kinds,
                        const char *(*name)(void *context, int column), void *context)
{
    struct text head = {0};
    end_table(p);
    p->columns = (unsigned)strlen(kinds);
    add_counted(&head, table, strlen(table));
    text_varint(&head, p->columns);
    for (unsigned i = 0; i < p->columns; i++) {
        const char *called = name(context, (int)i);
        p->column[i].kind = kinds[i];
        if (kinds[i] == 't')
            p->column[i].kind = 'd';
        p->column[i].next_code = 2;
        add_counted(&head, called, strlen(called));
        text_addc(&head, p->column[i].kind);
    }
    send(p, &head);
    text_release(&head);
}

/* A column's name in a list of names. */
static const char *listed(void *context, int column)
{
    const char *const *names = context;
    return names[column];
}

void page_facts(struct page *p, const char *table)
{
    const char *names[] = {"key", "value"};
    begin_table(p, table, "nn", listed, names);
}

void page_fact(struct page *p, const char *key, const char *value)
{
    put(p, key, 0);
    put(p, value, 0);
}

static const char *column_name(void *stmt, int column)
{
    return sqlite3_column_name(stmt, column);
}

void page_rows(struct page *p, const char *table, const char *kinds, sqlite3_stmt *stmt)
{
    struct session *s = p->sink->session;
    if (!stmt)
        return;
    begin_table(p, table, kinds, column_name, stmt);
    while (p->sink->err.status == CKPTDB_OK && session_row(s, stmt))
        for (int i = 0; kinds[i]; i++) {
            const char *text =
                is_number(kinds[i]) ? NULL : (const char *)sqlite3_column_text(stmt, i);
            const bool null = sqlite3_column_type(stmt, i) == SQLITE_NULL;
            if (kinds[i] == 't')
                put(p, NULL, p->shown[module_tree_shown(p->tree, text ? text : "")]);
            else
                put(p, text, null ? NAN : sqlite3_column_double(stmt, i));
        }
    sqlite3_finalize(stmt);
    end_table(p);
}

static void put_module(void *context, const struct module_visit *v)
{
    struct page *p = context;
    const struct module *m = &p->tree->nodes[v->node];
    p->shown[v->node] = p->visited++;
    put(p, v->label, 0);
    put(p, NULL, v->depth);
    put(p, NULL, m->tensors);
    put(p, NULL, (double)m->parameters);
    put(p, NULL, (double)m->nbytes);
    put(p, m->kind ? module_tree_dtype(p->tree, m) : NULL, 0);
    put(p, m->kind ? module_tree_shape(p->tree, m) : NULL, 0);
}

void page_tree(struct page *p, struct module_tree *tree)
{
    const char *names[] = {"label", "depth", "tensors", "parameters", "nbytes", "dtype", "shape"};
    p->tree = tree;
    p->shown = calloc(tree->count, sizeof(*p->shown));
    begin_table(p, "tree", "nddddww", listed, names);
    if (p->shown)
        p->shown[0] = NAN; /* of names that it does not have */
    if (!p->shown || !module_tree_visit(tree, put_module, p))
        sink_fail(p->sink, CKPTDB_MEMORY, "no memory for the tree");
    end_table(p);
}

/* --- the page --------------------------------------------------------------------------------- */

struct page *page_begin(struct sink *sink)
{
    struct page *p = calloc(1, sizeof(*p));
    if (!p || deflateInit(&p->zlib, LEVEL) != Z_OK) {
        sink_fail(sink, CKPTDB_MEMORY, "no memory for the page");
        free(p);
        return NULL;
    }
    p->sink = sink;
    p->zlib.next_out = p->packed;
    p->zlib.avail_out = PACKED_BYTES;
    text_adds(&sink->pending, page_head);
    return p;
}

/* End a stream, and write what stands behind it. */
static void end_stream(struct page *p, const char *behind)
{
    struct text end = {0};
    end_table(p);
    text_varint(&end, 0);
    send(p, &end);
    text_release(&end);
    while (p->sink->err.status == CKPTDB_OK && deflate(&p->zlib, Z_FINISH) != Z_STREAM_END)
        send_packed(p);
    send_packed(p);
    text_adds(&p->sink->pending, behind);
}

void page_later(struct page *p)
{
    end_stream(p, page_middle);
    deflateReset(&p->zlib);
}

void page_end(struct page *p)
{
    if (!p)
        return;
    end_stream(p, page_tail);
    deflateEnd(&p->zlib);
    free(p->shown);
    free(p);
}
