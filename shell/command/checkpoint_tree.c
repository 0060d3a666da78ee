#include "shell/command/checkpoint_tree.h"

#include <string.h>

/* Context of see_format(): the format to find, and its separator. */
struct wanted_format {
    const char *name;
    char separator;
};

static bool see_format(void *context, const struct ckptdb_format *f)
{
    struct wanted_format *wanted = context;
    if (strcmp(f->name, wanted->name) != 0)
        return true;
    if (f->separator)
        wanted->separator = f->separator;
    return false;
}

/* The separator of the components of names: the format's own, or, if no name has that one,
 * '/' or '.' if any name has it. */
static char separator_of(struct session *s, int64_t checkpoint)
{
    char separator = '.';
    sqlite3_stmt *stmt = session_prepare(
        s,
        "SELECT format, max(instr(name, '/') > 0), max(instr(name, '.') > 0)"
        " FROM _checkpoints c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.id = ?1",
        "i", checkpoint);
    if (session_row(s, stmt)) {
        struct wanted_format format = {session_text(stmt, 0), separator};
        ckptdb_formats(see_format, &format);
        separator = format.separator;
        bool slash = sqlite3_column_int(stmt, 1), dot = sqlite3_column_int(stmt, 2);
        if (slash != dot)
            separator = slash ? '/' : '.';
    }
    sqlite3_finalize(stmt);
    return separator;
}

int checkpoint_tree(struct session *s, int64_t checkpoint, struct module_tree *tree)
{
    sqlite3_stmt *stmt = session_prepare(s,
                                         "SELECT name, dtype, shape, elements, nbytes,"
                                         " dtype IN ('string', 'variant', 'resource') "
                                         "FROM tensor WHERE checkpoint_id = ?1",
                                         "i", checkpoint);
    bool good = module_tree_init(tree, separator_of(s, checkpoint), 0);
    while (good && session_row(s, stmt))
        good = module_tree_add(
            tree, session_text(stmt, 0), session_text(stmt, 1), session_text(stmt, 2),
            sqlite3_column_int(stmt, 5) ? 0 : (uint64_t)sqlite3_column_int64(stmt, 3),
            (uint64_t)sqlite3_column_int64(stmt, 4));
    sqlite3_finalize(stmt);
    if (s->unread)
        return STATUS_TROUBLE;
    if (good && module_tree_finish(tree))
        return STATUS_FINE;
    complain("no memory for the tree");
    return STATUS_NO;
}
