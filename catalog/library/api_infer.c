/*
 * api_infer.c - infers the map from one checkpoint's names to another's (catalog/maps/infer/).
 */
#include <stdlib.h>

#include "catalog/base/text.h"
#include "catalog/content/infer_run.h"
#include "catalog/library/library.h"
#include "catalog/maps/form/form.h"
#include "catalog/sql/rules_store.h"

struct ckptdb_inferred {
    struct inferred result;
    struct text map; /* as the text of a file */
    struct ckptdb_inferred_info info;
};

enum ckptdb_status ckptdb_infer(ckptdb *c, int64_t a, int64_t b, ckptdb_inferred **out,
                                struct ckptdb_error *error)
{
    return ckptdb_infer_on(c, a, b, 0, out, error);
}

enum ckptdb_status ckptdb_infer_on(ckptdb *c, int64_t a, int64_t b, unsigned threads,
                                   ckptdb_inferred **out, struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    ckptdb_inferred *i = calloc(1, sizeof(*i));
    *out = NULL;
    if (!i) {
        error_memory(&err);
        return library_end(&err, error);
    }
    i->result.stop = library_stopped;
    i->result.context = c;
    i->result.threads = threads;
    if (library_known(c, (int64_t[]){a, b}, 2, &err) == OK &&
        infer_run(c->db, a, b, &i->result, &err) == OK &&
        form_write(form_find("json"), &i->result.set, &i->map, &err) == OK && !text_str(&i->map))
        error_memory(&err);
    if (err.status == OK) {
        i->info = (struct ckptdb_inferred_info){
            .rules = i->result.set.rules,
            .old_names = i->result.task.a.count,
            .dialect = i->result.set.dialect,
            .map = text_str(&i->map),
        };
        *out = i;
    } else {
        ckptdb_inferred_close(i);
    }
    return library_end(&err, error);
}

void ckptdb_inferred_close(ckptdb_inferred *i)
{
    if (!i)
        return;
    arena_release(&i->result.arena);
    text_release(&i->map);
    free(i);
}

const struct ckptdb_inferred_info *ckptdb_inferred_info(const ckptdb_inferred *i)
{
    return &i->info;
}

static const char *name_at(const struct infer_list *l, uint32_t at)
{
    return at == INFER_NONE ? NULL : l->at[at].name;
}

void ckptdb_inferred_pairs(const ckptdb_inferred *i,
                           bool (*each)(void *, const struct ckptdb_pair *), void *context)
{
    const struct infer_task *t = &i->result.task;
    for (size_t k = 0; k < t->pairs; k++) {
        const struct ckptdb_pair pair = {
            .how = infer_how_name(&t->pair[k]),
            .old_name = name_at(&t->a, t->pair[k].a),
            .new_name = name_at(&t->b, t->pair[k].b),
        };
        if (!each(context, &pair))
            return;
    }
}

void ckptdb_inferred_rules(const ckptdb_inferred *i,
                           bool (*each)(void *, const struct ckptdb_rule *), void *context)
{
    for (size_t k = 0; k < i->result.set.rules; k++) {
        const struct ruleset_rule *r = &i->result.set.rule[k];
        const struct ckptdb_rule rule = {r->ord, r->pattern, r->replacement, r->compute, r->ops};
        if (!each(context, &rule))
            return;
    }
}

enum ckptdb_status ckptdb_inferred_keep(ckptdb *c, const ckptdb_inferred *i, const char *name,
                                        struct ckptdb_error *error)
{
    struct error err = {.offset = NO_OFFSET};
    rules_store(c->db, name, &i->result.set, &err);
    return library_end(&err, error);
}
