/* json_tree.c - see json_tree.h. */
#include "catalog/base/json_tree.h"

#include "catalog/base/limits.h"

/* By depth: the open object or array, and the link where its next value is appended. */
struct nest {
    struct json_value *owner[LIMIT_JSON_DEPTH + 1];
    const struct json_value **tail[LIMIT_JSON_DEPTH + 1];
    unsigned depth;
};

static bool json_tree_keep(struct json *j, struct bytes *text)
{
    char *copy = arena_copy(j->arena, j->text.at, j->text.len);
    *text = (struct bytes){(const uint8_t *)copy, j->text.len};
    if (!copy)
        error_memory(j->err);
    return copy != NULL;
}

/* The value whose first token was just read; NULL without memory. */
static struct json_value *json_tree_value_of(struct json *j, const char *key)
{
    struct json_value *v = arena_alloc(j->arena, sizeof(*v));
    if (!v)
        error_memory(j->err);
    if (!v || ((j->type == JSON_STRING || j->type == JSON_NUMBER) && !json_tree_keep(j, &v->text)))
        return NULL;
    v->type = j->type;
    v->key = key;
    return v;
}

static void hang(struct nest *n, struct json_value *v)
{
    if (n->owner[n->depth])
        n->owner[n->depth]->count++;
    *n->tail[n->depth] = v;
    n->tail[n->depth] = &v->next;
    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return;
    n->depth++;
    n->owner[n->depth] = v;
    n->tail[n->depth] = &v->first;
}

const struct json_value *json_tree(struct bytes text, struct arena *arena, struct error *err)
{
    const struct json_value *root = NULL;
    struct nest nest = {.tail = {&root}};
    struct bytes key = {0};
    struct json j;
    json_init(&j, cursor_over(text, 0), arena, NULL, err);
    for (;;) {
        enum json_type type = json_next(&j);
        if (type == JSON_FAIL || type == JSON_END)
            return type == JSON_END ? root : NULL;
        if (type == JSON_OBJECT_END || type == JSON_ARRAY_END) {
            nest.depth -= nest.depth > 0;
        } else if (type == JSON_KEY) {
            if (!json_tree_keep(&j, &key))
                return NULL;
        } else {
            struct json_value *v = json_tree_value_of(&j, (const char *)key.at);
            if (!v)
                return NULL;
            key.at = NULL;
            hang(&nest, v);
        }
    }
}

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    if (json_type_of(object) != JSON_OBJECT)
        return NULL;
    for (const struct json_value *v = object->first; v; v = v->next)
        if (strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

bool json_string_is(const struct json_value *v, const char *word)
{
    return json_type_of(v) == JSON_STRING && v->text.len == strlen(word) &&
           memcmp(v->text.at, word, v->text.len) == 0;
}

bool json_write(const struct json_value *v, struct text *out)
{
    switch (json_type_of(v)) {
    case JSON_TRUE:
        return text_adds(out, "true");
    case JSON_FALSE:
        return text_adds(out, "false");
    case JSON_NUMBER:
        return text_add(out, (const char *)v->text.at, v->text.len);
    case JSON_STRING:
        return text_json(out, (const char *)v->text.at, v->text.len);
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    default:
        return text_adds(out, "null");
    }
    text_addc(out, v->type == JSON_OBJECT ? '{' : '[');
    for (const struct json_value *e = v->first; e; e = e->next) {
        if (e != v->first)
            text_addc(out, ',');
        if (e->key)
            text_json(out, e->key, strlen(e->key)), text_addc(out, ':');
        json_write(e, out);
    }
    return text_addc(out, v->type == JSON_OBJECT ? '}' : ']');
}
