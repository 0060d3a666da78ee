/*
 * lay_strings.c - the data of string tensors: texts of a layout, as their sizes are known once they are read.
 */

#include "catalog/export/export_layout.h"

/* What the look-up found, or finds again. */
static const struct stored_tensor *stored_of(struct export_layout *l, const struct export_tensor *t,
                                             struct arena *arena)
{
    const struct export_loader *loader = &l->plan->loader;
    if (t->stored)
        return t->stored;
    struct stored_tensor *s = arena_alloc(arena, sizeof(*s));
    if (s)
        loader->load(loader->context, t->id, t->recipe, arena, s, l->err);
    return s;
}

void lay_each_string(struct export_layout *l, const struct export_tensor *t,
                     void (*each)(void *context, struct bytes), void *context)
{
    struct arena arena = {.err = l->err};
    struct reader *reader = NULL;
    struct string_table *table = NULL;
    if (!lay_ok(l))
        return;
    const struct stored_tensor *s = stored_of(l, t, &arena);
    if (lay_ok(l) && reader_open(s, l->plan->files, &reader, l->err) == OK &&
        reader_strings(reader, &table, l->err) == OK) {
        const uint64_t count = string_count(table);
        struct bytes text;
        for (uint64_t i = 0; i < count && lay_ok(l) && string_at(table, i, &text, l->err) == OK;
             i++)
            each(context, text);
        if (lay_ok(l))
            reader_verify(reader, l->err);
    }
    if (!lay_ok(l))
        error_prefix(l->err, t->old_name);
    string_table_close(table);
    reader_close(reader);
    arena_release(&arena);
}

void lay_begin_strings(struct export_layout *l, struct export_tensor *t)
{
    lay_tensor(l, t); /* of 0 bytes: what follows is text */
    t->lead_len = 0;
}

void lay_end_strings(struct export_layout *l, struct export_tensor *t)
{
    t->laid = l->at - t->offset;
    l->nbytes += t->laid;
}
