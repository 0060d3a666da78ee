/*
 * jax_tree.c - `pytreedef.json`, in the forms that JAX has written since 2025.
 *
 *   {"__jax_pytreedef_repr": TREE, "__jax_leaf_ids": [LEAF, ...]}
 *
 * TREE is a FlatBuffer in base64, or in the first version JSON:
 *
 *   {"node_type": "leaf", "leaf_id": ...}
 *   {"name": "builtins.dict", "node_aux_data": KEYS, "node_type": "node", "children": [...]}
 *
 * where KEYS of a dict is the list of its keys, or [null, the list]. The FlatBuffer has the schema
 *
 *   table PyTreeDef {
 *     kind: byte            0 leaf, 1 none, 2 tuple, 3 list, 4 dict, 5 custom
 *     children: [PyTreeDef]
 *     children_names: [string]      of a dict
 *     custom_name: string
 *     custom_auxdata: [byte]
 *   }
 *
 * and this encoding: the buffer begins with a u32, the distance to the root table. A table begins
 * with an i32, the distance back to its vtable. A vtable is a u16, its own size, a u16, the
 * table's size, and a u16 for each field, the field's distance from the start of the table (0:
 * absent). A field that is a vector, string or table is a u32, the distance from the field to it;
 * vectors and strings begin with a u32, their length.
 *
 * LEAF describes a leaf; they are in the order of the tree. It is "Array(float32[2, 3])", and the
 * array's name in the store is the leaf's position; or "Array[[2, 3], float32] -> 0", "int -> 1",
 * "null -> 2", and the name is the number; or only that number; or null, for None.
 *
 * Children of a dict are named by their keys, others by their positions: the names that a custom
 * node gives its children are not in the file.
 *
 * Sources: jax/_src/export/serialization.fbs, jax/experimental/array_serialization/
 * {pytree_serialization,pytree_serialization_utils}.py; FlatBuffers, internals.md.
 */
#include "importer/format/orbax/jax_tree.h"

#include <stdio.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/data/codec/base64.h"
#include "catalog/data/model/dtype.h"
#include "catalog/data/model/tensor.h"
#include "importer/job/name_tree.h"

#define LEAVES_KEY "__jax_leaf_ids"
#define ID_ARROW   " -> "

enum kind {
    KIND_LEAF,
    KIND_NONE,
    KIND_TUPLE,
    KIND_LIST,
    KIND_DICT,
    KIND_CUSTOM,
};

/* An open node: its children are being read. */
struct node {
    uint64_t count;  /* FlatBuffer: of all children, */
    uint64_t vector; /* the offset of their vector, */
    uint64_t names;  /* and of the vector of their names; 0: they have none */
    struct bytes *keys;
    size_t key_count, key_space; /* JSON: the names of the children */
    bool leaf, none, dict, inside;
};

struct parsing {
    struct arena *arena;
    struct error *err;
    const char *source;
    struct name_tree names;
    struct node nodes[LIMIT_JSON_DEPTH]; /* by depth of `names` */
    struct jax_tree *tree;
    size_t space;
    struct bytes *ids; /* the LEAF texts */
    size_t id_count, id_space;
    bool has_tree, has_ids;
};

static bool jax_tree_fail(struct parsing *p, const char *message)
{
    error_set(p->err, ERR_CORRUPT, p->source, NO_OFFSET, "%s", message);
    error_code(p->err, "bad-tree");
    return false;
}

/* --- the tree ----------------------------------------------------------------------- */

/* Add a leaf, or a node without children, with the current path. */
static bool jax_tree_add_leaf(struct parsing *p, const char *empty)
{
    struct jax_tree *t = p->tree;
    const struct text *path = &p->names.path;
    if (!name_tree_count(&p->names, NO_OFFSET))
        return false;
    *PUSH(p->arena, t->leaves, t->count, p->space) = (struct jax_leaf){
        .name = arena_copy(p->arena, path->at, path->len), .len = path->len, .empty = empty};
    return p->err->status == OK;
}

/* Open a node at the current path. */
static struct node *jax_tree_push(struct parsing *p)
{
    struct node *n = &p->nodes[p->names.depth];
    if (!name_tree_enter(&p->names, false, NO_OFFSET))
        return NULL;
    *n = (struct node){0};
    return n;
}

/* --- FlatBuffer --------------------------------------------------------------------- */

struct flat {
    struct bytes all;
    bool failed;
};

static uint64_t flat_load(struct flat *f, uint64_t at, unsigned width)
{
    if (at > f->all.len || width > f->all.len - at) {
        f->failed = true;
        return 0;
    }
    const uint8_t *b = f->all.at + at;
    return width == 1 ? *b : width == 2 ? load_u16le(b) : load_u32le(b);
}

/* The offset of the table, vector or string that the field at `at` refers to. */
static uint64_t flat_follow(struct flat *f, uint64_t at)
{
    return at + flat_load(f, at, 4);
}

/* The offset of a table's field; 0: the field is absent. */
static uint64_t flat_field(struct flat *f, uint64_t table, unsigned slot)
{
    int64_t back = (int32_t)flat_load(f, table, 4);
    uint64_t vtable = table - (uint64_t)back; /* if it wraps, every load from it fails */
    unsigned at = 4 + 2 * slot;
    if (flat_load(f, vtable, 2) < at + 2)
        return 0;
    uint64_t offset = flat_load(f, vtable + at, 2);
    return offset ? table + offset : 0;
}

/* The offset of the elements of the vector in a field, and how many there are, of 4 bytes each. */
static uint64_t flat_vector(struct flat *f, uint64_t field, uint64_t *count)
{
    *count = 0;
    if (!field)
        return 0;
    uint64_t vector = flat_follow(f, field);
    *count = flat_load(f, vector, 4);
    if (*count > f->all.len / 4)
        f->failed = true;
    return vector + 4;
}

static struct bytes flat_string(struct flat *f, uint64_t at)
{
    uint64_t begin = flat_follow(f, at), len = flat_load(f, begin, 4);
    if (f->failed || len > f->all.len - begin - 4) {
        f->failed = true;
        return (struct bytes){0};
    }
    return (struct bytes){f->all.at + begin + 4, (size_t)len};
}

/* Read the table of the node at the current path: add a leaf, or open the node. */
static bool flat_node(struct parsing *p, struct flat *f, uint64_t table)
{
    static const char *const empty[] = {
        [KIND_NONE] = "null", [KIND_TUPLE] = "list",  [KIND_LIST] = "list",
        [KIND_DICT] = "dict", [KIND_CUSTOM] = "list",
    };
    uint64_t field = flat_field(f, table, 0), count, names = 0;
    uint64_t kind = field ? flat_load(f, field, 1) : KIND_LEAF;
    uint64_t vector = flat_vector(f, flat_field(f, table, 1), &count);
    uint64_t names_at = flat_vector(f, flat_field(f, table, 2), &names);
    if (f->failed || kind > KIND_CUSTOM || (kind == KIND_DICT && names != count))
        return jax_tree_fail(p, "the tree of names is damaged");
    if (kind == KIND_LEAF)
        return jax_tree_add_leaf(p, NULL);
    if (kind == KIND_NONE || count == 0)
        return jax_tree_add_leaf(p, empty[kind]);
    struct node *n = jax_tree_push(p);
    if (!n)
        return false;
    n->count = count;
    n->vector = vector;
    n->names = kind == KIND_DICT ? names_at : 0;
    return true;
}

static bool flat_tree(struct parsing *p, struct bytes all)
{
    struct flat f = {.all = all};
    uint64_t nodes = 0;
    if (!flat_node(p, &f, flat_follow(&f, 0)))
        return false;
    while (p->names.depth) {
        struct node *n = &p->nodes[p->names.depth - 1];
        uint64_t next = p->names.levels[p->names.depth - 1].next, child = next * 4;
        if (next == n->count) {
            name_tree_leave(&p->names);
            continue;
        }
        struct bytes key = {0};
        if (n->names)
            key = flat_string(&f, n->names + child);
        if (!name_tree_child(&p->names, n->names ? &key : NULL, NO_OFFSET))
            return false;
        uint64_t table = flat_follow(&f, n->vector + child);
        /* A table takes at least 4 bytes. More nodes than that: tables are shared, or loop. */
        if (f.failed || ++nodes > all.len / 4)
            return jax_tree_fail(p, "the tree of names is damaged");
        if (!flat_node(p, &f, table))
            return false;
    }
    return true;
}

static bool parse_flat(struct parsing *p, struct bytes text)
{
    size_t room = text.len / 4 * 3;
    uint8_t *bytes = arena_alloc(p->arena, room ? room : 1);
    if (!bytes)
        return false;
    size_t len = base64_decode(text, bytes, room);
    if (len == SIZE_MAX)
        return jax_tree_fail(p, "the tree of names is not base64");
    return flat_tree(p, (struct bytes){bytes, len});
}

/* --- JSON --------------------------------------------------------------------------- */

/* Read the keys of a dict: the list whose bracket was just read, or a list inside it. */
static bool json_keys(struct parsing *p, struct json *j, struct node *n)
{
    unsigned inside = 1;
    enum json_type type = JSON_ARRAY;
    while (inside && (type = json_next(j)) != JSON_FAIL) {
        if (type == JSON_ARRAY)
            inside++;
        else if (type == JSON_ARRAY_END)
            inside--;
        else if (type == JSON_STRING || type == JSON_NUMBER)
            *PUSH(p->arena, n->keys, n->key_count, n->key_space) = j->text;
        else if (!json_skip(j))
            return false;
    }
    return type != JSON_FAIL;
}

/* Read a member of a node; its key was just read. */
static bool json_member(struct parsing *p, struct json *j, struct node *n)
{
    bool type = json_is(j, "node_type"), name = json_is(j, "name");
    bool keys = json_is(j, "node_aux_data");
    if (json_is(j, "children")) {
        n->inside = true;
        return json_want(j, JSON_ARRAY, "the children of a node");
    }
    if (json_next(j) == JSON_FAIL)
        return false;
    if (type)
        n->leaf = json_is(j, "leaf");
    if (name) {
        n->none = json_is(j, "builtins.NoneType");
        n->dict = json_is(j, "builtins.dict") || json_is(j, "collections.OrderedDict");
    }
    if (keys && n->dict && j->type == JSON_ARRAY)
        return json_keys(p, j, n);
    return json_skip(j);
}

static bool json_end(struct parsing *p, const struct node *n)
{
    bool empty = name_tree_leave(&p->names)->next == 0;
    if (n->leaf)
        return jax_tree_add_leaf(p, NULL);
    return !empty || jax_tree_add_leaf(p, n->none ? "null" : n->dict ? "dict" : "list");
}

/* Read the tree; the brace of its root was just read. */
static bool json_tree(struct parsing *p, struct json *j)
{
    struct name_tree *names = &p->names;
    bool good = jax_tree_push(p) != NULL;
    while (good && names->depth) {
        struct node *n = &p->nodes[names->depth - 1];
        enum json_type type = json_next(j);
        uint64_t next = names->levels[names->depth - 1].next;
        if (type == JSON_FAIL)
            good = false;
        else if (!n->inside)
            good = type == JSON_KEY ? json_member(p, j, n) : json_end(p, n);
        else if (type == JSON_ARRAY_END)
            n->inside = false;
        else if (type == JSON_OBJECT)
            good = name_tree_child(names, next < n->key_count ? &n->keys[next] : NULL, NO_OFFSET) &&
                   jax_tree_push(p);
        else
            good = jax_tree_fail(p, "a child of a node of the tree is not a node");
    }
    return good;
}

/* --- leaves ------------------------------------------------------------------------- */

static bool read_ids(void *context, struct json *j)
{
    static const struct bytes null = {(const uint8_t *)"null", 4};
    struct parsing *p = context;
    enum json_type type;
    if (p->has_ids)
        return json_pass(j);
    p->has_ids = true;
    if (!json_want(j, JSON_ARRAY, "a list of leaves"))
        return false;
    while ((type = json_next(j)) == JSON_STRING || type == JSON_NUMBER || type == JSON_NULL)
        *PUSH(p->arena, p->ids, p->id_count, p->id_space) = type == JSON_NULL ? null : j->text;
    return type == JSON_ARRAY_END ||
           json_fail(j, ERR_CORRUPT, "bad-tree", "a text or a number expected");
}

/* Parse the type of a leaf: "Array(float32[2, 3])" and "Array[[2, 3], float32]" are arrays, other
 * types are not. */
static bool read_type(struct parsing *p, struct jax_leaf *leaf)
{
    const char *shape, *dtype, *type = leaf->type;
    size_t len;
    if (strncmp(type, "Array(", 6) == 0) {
        dtype = type + 6;
        len = strcspn(dtype, "[");
        shape = dtype + len;
    } else if (strncmp(type, "Array[", 6) == 0) {
        shape = type + 6;
        dtype = shape + strcspn(shape, "]");
        dtype += strspn(dtype, "], ");
        len = strcspn(dtype, "]");
    } else {
        return true;
    }
    char *list = arena_copy(p->arena, shape, strcspn(shape, "]") + (*shape == '['));
    leaf->dtype = arena_copy(p->arena, dtype, len);
    leaf->array = shape_parse(list, p->arena, &leaf->shape, &leaf->rank);
    return leaf->array || jax_tree_fail(p, "the type of a leaf is damaged");
}

static bool jax_tree_read_leaf(struct parsing *p, struct jax_leaf *leaf, uint64_t position)
{
    struct bytes id = p->ids[position];
    char number[24];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)position);
    char *type = arena_copy(p->arena, id.at, id.len);
    leaf->key = arena_copy(p->arena, number, strlen(number));
    if (strlen(type) != id.len)
        return jax_tree_fail(p, "the type of a leaf is damaged");
    leaf->type = type;
    char *arrow = strstr(type, ID_ARROW);
    if (arrow) {
        *arrow = '\0';
        leaf->key = arrow + strlen(ID_ARROW);
    } else if (*type && type[strspn(type, "0123456789")] == '\0') {
        leaf->key = type;
        leaf->array = true;
    }
    return read_type(p, leaf);
}

static bool read_leaves(struct parsing *p)
{
    uint64_t position = 0;
    for (uint64_t i = 0; i < p->tree->count; i++) {
        struct jax_leaf *leaf = &p->tree->leaves[i];
        if (leaf->empty)
            continue;
        if (position == p->id_count)
            break;
        if (!jax_tree_read_leaf(p, leaf, position++))
            return false;
    }
    uint64_t leaves = 0;
    for (uint64_t i = 0; i < p->tree->count; i++)
        leaves += !p->tree->leaves[i].empty;
    return leaves == p->id_count ||
           jax_tree_fail(p, "the tree and the list of leaves have different leaves");
}

static bool read_tree(void *context, struct json *j)
{
    struct parsing *p = context;
    if (p->has_tree)
        return json_pass(j);
    p->has_tree = true;
    enum json_type type = json_next(j);
    return type == JSON_STRING   ? parse_flat(p, j->text)
           : type == JSON_OBJECT ? json_tree(p, j)
                                 : jax_tree_fail(p, "the tree of names is malformed");
}

enum status jax_tree_parse(struct bytes json, const char *source, struct arena *arena,
                           struct jax_tree *out, struct error *err)
{
    static const struct json_member table[] = {
        {JAX_TREE_KEY, read_tree}, {LEAVES_KEY, read_ids}, {0}};
    struct json j;
    struct jax_tree tree = {0};
    struct parsing p = {.arena = arena, .err = err, .source = source, .tree = &tree};
    json_init(&j, cursor_over(json, 0), arena, source, err);
    name_tree_init(&p.names, '/', source, err);
    p.names.size = json.len;
    p.names.deepest = LIMIT_JSON_DEPTH;
    if (json_object(&j, "a tree", table, &p) && json_want(&j, JSON_END, "the end") &&
        ((p.has_tree && p.has_ids) ||
         jax_tree_fail(&p, "a tree or its list of leaves is missing")) &&
        read_leaves(&p) && err->status == OK)
        *out = tree;
    name_tree_release(&p.names);
    return err->status;
}
