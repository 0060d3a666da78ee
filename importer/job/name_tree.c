/* name_tree.c - see name_tree.h. */
#include "importer/job/name_tree.h"

#include "catalog/base/limits.h"

void name_tree_init(struct name_tree *t, char separator, const char *source, struct error *err)
{
    *t = (struct name_tree){.path.limit = LIMIT_NAME_BYTES,
                            .separator = separator,
                            .deepest = NAME_TREE_DEPTH,
                            .source = source,
                            .err = err};
    if (!text_adds(&t->path, "") && err)
        error_memory_at(err, source);
}

void name_tree_release(struct name_tree *t)
{
    text_release(&t->path);
}

bool name_tree_fits(struct name_tree *t, uint64_t at)
{
    if (t->path.failed && t->err)
        error_set(t->err, ERR_LIMIT, t->source, at, "a name of more than %llu bytes",
                  (unsigned long long)LIMIT_NAME_BYTES);
    return !t->path.failed || !t->err;
}

bool name_tree_count(struct name_tree *t, uint64_t at)
{
    uint64_t most = LIMIT_KEYS_FREE + t->size * LIMIT_KEY_GROWTH;
    most = most < LIMIT_NAMES_BYTES ? most : LIMIT_NAMES_BYTES;
    t->bytes += t->path.len;
    if (t->bytes <= most)
        return name_tree_fits(t, at);
    error_set(t->err, ERR_LIMIT, t->source, at, "nested names of more than %llu bytes in all",
              (unsigned long long)most);
    return false;
}

bool name_tree_enter(struct name_tree *t, bool list, uint64_t at)
{
    if (t->depth == t->deepest) {
        error_set(t->err, ERR_LIMIT, t->source, at, "nested more than %u levels deep", t->deepest);
        return false;
    }
    t->levels[t->depth++] = (struct name_level){.path = t->path.len, .list = list};
    return true;
}

struct name_level *name_tree_leave(struct name_tree *t)
{
    struct name_level *l = &t->levels[--t->depth];
    t->path.len = l->path;
    return l;
}

void name_tree_next(struct name_tree *t)
{
    struct name_level *l = &t->levels[t->depth - 1];
    l->next++;
    t->path.len = l->path;
    if (t->depth > 1 || t->prefixed)
        text_addc(&t->path, t->separator);
}

bool name_tree_child(struct name_tree *t, const struct bytes *key, uint64_t at)
{
    name_tree_next(t);
    if (key)
        text_add(&t->path, key->at, key->len);
    else
        text_addf(&t->path, "%llu", (unsigned long long)t->levels[t->depth - 1].next - 1);
    return name_tree_fits(t, at);
}

/* One token, which was just read. */
static bool name_tree_token(struct name_tree *t, struct json *j, bool (*see)(void *context),
                            void *context)
{
    switch (j->type) {
    case JSON_FAIL: return false;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END: return name_tree_leave(t)->next || see(context);
    case JSON_KEY:
        t->path.len = t->levels[t->depth - 1].path;
        return see(context) && (j->type != JSON_KEY || name_tree_child(t, &j->text, j->at));
    default:
        if (t->depth && t->levels[t->depth - 1].list && !name_tree_child(t, NULL, j->at))
            return false;
        if (!see(context))
            return false;
        if (j->type == JSON_OBJECT || j->type == JSON_ARRAY)
            return name_tree_enter(t, j->type == JSON_ARRAY, j->at);
        return true;
    }
}

bool name_tree_json(struct name_tree *t, struct json *j, bool (*see)(void *context), void *context)
{
    do {
        json_next(j);
        if (!name_tree_token(t, j, see, context))
            return false;
    } while (t->depth);
    return true;
}
