/*
 * t5_restore.c - T5X's restore_from_t5_checkpoint: translate a checkpoint, add the
 * missing optimizer slots, correct the names of relative position biases, and update a
 * model's state.
 *
 * The original works on one dict, in which a value that replaces another keeps its position. It
 * stops at the first error; here all errors of the first step that has any are reported, and later
 * steps are skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/map/dialect.h"
#include "catalog/maps/regex/pytext.h"
#include "catalog/maps/regex/regex.h"

#define LIST_ALWAYS                                                                                \
    100 /* with at most this many unmapped names, errors list them all; else only the first */

/* A key of the dict. */
struct item {
    struct map_text name, was; /* `was`: before the correction of biases */
    int64_t turn;              /* when the key entered the dict */
    size_t leaf;               /* the last leaf translated to this name; ZEROS: none */
    bool zeros;                /* its value was replaced by zeros */
    bool kept;                 /* no other key was corrected to the same name later */
};

#define ZEROS SIZE_MAX

struct restoring {
    struct map_task *task;
    struct item *item;
    size_t items, space;
    struct strmap index;   /* `was` to item, plus 1 */
    struct strmap renamed; /* `name` to the item that is kept, plus 1 */
    struct strmap model;
    struct map_row *leaf; /* what the translation gives, in order */
    size_t leaves;
};

/* --- 1: translate ------------------------------------------------------------------------ */

static bool is_ok(const struct map_row *row)
{
    return map_is(row, "ok");
}

static bool any(const struct restoring *r, const char *status)
{
    for (size_t i = 0; i < r->leaves; i++)
        if (map_is(&r->leaf[i], status))
            return true;
    return false;
}

/* The original's error, which lists the names that no rule matches. */
static struct map_text unmapped(struct restoring *r, size_t *count)
{
    struct text out = {0};
    text_adds(&out, "ValueError: Unmapped tensor keys exist: {");
    *count = 0;
    for (size_t i = 0; i < r->leaves; i++) {
        const struct map_row *row = &r->leaf[i];
        if (!map_is(row, "unmatched"))
            continue;
        text_adds(&out, (*count)++ ? ", " : "");
        map_repr(&out, row->old_name);
        if (row->old->kind != MAP_TENSOR) {
            text_adds(&out, ": None");
            continue;
        }
        text_adds(&out, ": LazyThreadPoolArray(shape=");
        if (row->shape)
            map_tuple(&out, row->shape);
        text_addf(&out, "%s, dtype=%s)", row->shape ? "" : "None",
                  row->dtype ? row->dtype : "None");
    }
    text_addc(&out, '}');
    return map_keep(r->task, &out);
}

/* Add the rows of leaves that are dropped or in error; `tell_unmatched`: leaves that no rule
 * matches are errors as well (otherwise the rules' errors come first). */
static void say_untranslated(struct restoring *r, bool tell_unmatched)
{
    struct map_text list = {0};
    size_t count = 0;
    bool listed = false;
    if (tell_unmatched)
        list = unmapped(r, &count);
    for (size_t i = 0; i < r->leaves; i++) {
        bool unmatched = map_is(&r->leaf[i], "unmatched");
        if (is_ok(&r->leaf[i]) || (unmatched && !tell_unmatched))
            continue;
        struct map_row *row = map_add(r->task, r->leaf[i].status);
        *row = r->leaf[i];
        row->ops = NULL;
        if (!unmatched)
            continue;
        row->status = "error";
        row->error = count <= LIST_ALWAYS || !listed
                         ? list
                         : map_say(r->task, "ValueError: Unmapped tensor keys exist: {...}");
        listed = true;
    }
}

/* --- the dict ---------------------------------------------------------------------------- */

static struct item *item_called(struct restoring *r, struct map_text name)
{
    const uint64_t *found = strmap_get(&r->index, name.at, name.len);
    return found ? &r->item[*found - 1] : NULL;
}

/* Put a value into the dict; an existing key keeps its position. */
static void t5_restore_put(struct restoring *r, struct map_text name, int64_t turn, size_t leaf)
{
    bool added;
    uint64_t *value = strmap_add(&r->index, name.at, name.len, &added);
    struct item *grown =
        arena_grow(&r->task->arena, r->item, r->items, &r->space, sizeof(*r->item));
    r->task->failed = r->task->failed || !value || !grown;
    if (r->task->failed)
        return;
    r->item = grown;
    if (added) {
        r->item[r->items++] = (struct item){.name = name, .was = name, .turn = turn, .leaf = leaf};
        *value = r->items;
    }
    struct item *item = &r->item[*value - 1];
    item->zeros = leaf == ZEROS;
    item->leaf = leaf == ZEROS ? item->leaf : leaf;
}

/* --- 2: zeros for missing slots (the original overwrites some that exist) ----------------- */

static struct map_text slot(struct restoring *r, const struct map_row *owner, const char *of)
{
    struct text name = {0};
    text_adds(&name, "state/param_states");
    text_add(&name, owner->new_name.at + strlen("target"), owner->new_name.len - strlen("target"));
    text_addc(&name, '/');
    text_adds(&name, of);
    return map_keep(r->task, &name);
}

/* Whether the translation gave the owner this slot; slots added as zeros do not count. */
static bool has_slot(struct restoring *r, const struct map_row *owner, const char *of, size_t items)
{
    const struct item *item = item_called(r, slot(r, owner, of));
    return item && item < r->item + items;
}

static void add_zeros(struct restoring *r)
{
    size_t items = r->items; /* the translation's; all added below are zeros */
    for (size_t i = 0; i < items && !r->task->failed; i++) {
        struct map_row owner = {.new_name = r->item[i].name};
        int64_t turn = (INT64_C(1) << 60) + r->item[i].turn * 4;
        if (owner.new_name.len < 6 || memcmp(owner.new_name.at, "target", 6) != 0)
            continue;
        t5_restore_put(r, slot(r, &owner, "m"), turn, ZEROS);
        if (has_slot(r, &owner, "v", items)) {
            t5_restore_put(r, slot(r, &owner, "v_row"), turn + 1, ZEROS);
            t5_restore_put(r, slot(r, &owner, "v_col"), turn + 2, ZEROS);
        } else if (has_slot(r, &owner, "v_row", items)) {
            t5_restore_put(r, slot(r, &owner, "v"), turn + 3, ZEROS);
        }
    }
}

/* --- 3: if only layer 0 has a relative position bias, all layers share it ----------------- */

/* Whether the number of a layer is 0, in digits of any script (\d matches them all). */
static bool is_zero(const char *at, size_t len)
{
    struct text number = {0};
    bool zero = pytext_int(at, len, &number) && strcmp(number.at, "0") == 0;
    text_release(&number);
    return zero;
}

static bool is_shared(struct restoring *r, struct regex *layer)
{
    struct error err = {0};
    size_t begin, end;
    for (size_t i = 0; i < r->items; i++) {
        struct map_text name = r->item[i].name;
        if (regex_exec(layer, name.at, name.len, 0, &err) > 0 &&
            regex_span(layer, 1, &begin, &end) && !is_zero(name.at + begin, end - begin))
            return false;
    }
    return true;
}

static void correct(struct restoring *r, struct regex *layer, const struct template *plain)
{
    struct error err = {0};
    for (size_t i = 0; i < r->items && !r->task->failed; i++) {
        struct item *item = &r->item[i];
        struct text name = {0};
        if (regex_exec(layer, item->name.at, item->name.len, 0, &err) <= 0)
            continue;
        regex_replace(layer, plain, item->name.at, item->name.len, &name, &err);
        item->name = map_keep(r->task, &name);
    }
}

static int t5_restore_by_turn(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* If several keys get the same name, the last to enter is kept, at the position of the first. */
static void t5_restore_merge(struct restoring *r)
{
    bool added;
    if (r->items)
        qsort(r->item, r->items, sizeof(*r->item), t5_restore_by_turn);
    for (size_t i = 0; i < r->items && !r->task->failed; i++) {
        struct item *item = &r->item[i];
        uint64_t *value = strmap_add(&r->renamed, item->name.at, item->name.len, &added);
        r->task->failed = !value;
        if (!value)
            break;
        if (!added) {
            r->item[*value - 1].kept = false;
            int64_t first = r->item[*value - 1].turn;
            r->item[*value - 1].turn = item->turn;
            item->turn = first;
        }
        item->kept = true;
        *value = i + 1;
    }
    strmap_release(&r->index);
    for (size_t i = 0; i < r->items && !r->task->failed; i++) {
        uint64_t *value = strmap_add(&r->index, r->item[i].was.at, r->item[i].was.len, &added);
        r->task->failed = !value;
        if (value)
            *value = i + 1;
    }
}

static void correct_biases(struct restoring *r)
{
    static const char pattern[] = "layers_(\\d+)/relpos_bias", replacement[] = "relpos_bias";
    struct regex *layer = NULL;
    struct template *plain = NULL;
    struct error err = {0};
    if (regex_compile(pattern, strlen(pattern), REGEX_SEARCH, &layer, &err) != OK ||
        template_compile(replacement, strlen(replacement), layer, &plain, NULL, &err) != OK)
        r->task->failed = true;
    else if (is_shared(r, layer))
        correct(r, layer, plain);
    template_free(plain);
    regex_free(layer);
    if (!r->task->failed)
        t5_restore_merge(r);
}

/* --- 4: the model decides which names and shapes are accepted ----------------------------- */

static void say_unknown(struct restoring *r, struct map_row *row)
{
    struct text error = {0};
    if (!r->task->strict) {
        row->status = "dropped";
        row->note = "the model has no such name";
        return;
    }
    text_adds(&error, "KeyError: ");
    map_repr(&error, row->new_name);
    row->status = "error";
    row->error = map_keep(r->task, &error);
}

static void update(struct restoring *r, const struct item *item)
{
    const struct map_tree *model = &r->task->target;
    struct map_row *row = map_add(r->task, "ok");
    if (item->zeros) {
        row->origin = "zeros";
        row->dtype = "float32";
        row->shape = "[1]";
    } else {
        *row = r->leaf[item->leaf];
    }
    row->new_name = item->name;
    row->turn = item->turn;
    if (!r->task->has_target)
        return;
    const struct map_leaf *leaf = map_leaf_called(model, &r->model, item->name);
    if (!leaf) {
        say_unknown(r, row);
    } else if (leaf->shape && row->shape && strcmp(leaf->shape, row->shape) != 0) {
        struct text error = {0};
        text_adds(&error, "ValueError: Variable ");
        text_add(&error, row->new_name.at, row->new_name.len);
        text_adds(&error, " has shape ");
        map_tuple(&error, row->shape);
        text_adds(&error, " != ");
        map_tuple(&error, leaf->shape);
        row->status = "error";
        row->error = map_keep(r->task, &error);
    }
}

/* Add a row for a leaf whose value was replaced. */
static void say_hidden(struct restoring *r, size_t i)
{
    const struct item *item = item_called(r, r->leaf[i].new_name);
    bool later = item->leaf != i;
    if (!later && !item->zeros && item->kept)
        return;
    struct map_row *row = map_add(r->task, "dropped");
    *row = r->leaf[i];
    row->status = "dropped";
    row->new_name = item->name;
    row->ops = NULL;
    row->note = later         ? "hidden by a later name that becomes the same"
                : item->zeros ? "replaced by zeros: its parameter has other slots"
                              : "hidden: a later name without its layer becomes the same";
}

static void update_state(struct restoring *r)
{
    struct map_task *t = r->task;
    if (!map_index(t, &r->model, &t->target))
        return;
    for (size_t i = 0; i < r->items && !t->failed; i++)
        if (r->item[i].kept)
            update(r, &r->item[i]);
    for (size_t i = 0; i < r->leaves && !t->failed; i++)
        if (is_ok(&r->leaf[i]))
            say_hidden(r, i);
}

/* --- all --------------------------------------------------------------------------------- */

static int t5_restore_by_place(const void *a, const void *b)
{
    const struct map_row *x = a, *y = b;
    int x_bad = !is_ok(x), y_bad = !is_ok(y);
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x_bad != y_bad)
        return x_bad - y_bad;
    if (!x->old_name.at || !y->old_name.at)
        return (x->old_name.at != NULL) - (y->old_name.at != NULL);
    return map_compare(x->old_name, y->old_name);
}

static void restore(struct restoring *r)
{
    struct map_task *t = r->task;
    for (size_t i = 0; i < r->leaves && !t->failed; i++)
        if (is_ok(&r->leaf[i]))
            t5_restore_put(r, r->leaf[i].new_name, r->leaf[i].turn, i);
    add_zeros(r);
    if (!t->failed)
        correct_biases(r);
    if (!t->failed)
        update_state(r);
}

void t5_restore(struct map_task *t)
{
    struct restoring r = {.task = t, .leaf = t->row, .leaves = t->rows};
    for (size_t i = 0; i < r.leaves; i++) {
        r.leaf[i].origin = "translated";
        r.leaf[i].turn = r.leaf[i].old->place;
    }
    t->row = NULL;
    t->rows = t->row_space = 0;
    bool failed = any(&r, "error"), unmatched = any(&r, "unmatched");
    say_untranslated(&r, !failed);
    if (!failed && !unmatched)
        restore(&r);
    if (t->rows)
        qsort(t->row, t->rows, sizeof(*t->row), t5_restore_by_place);
    strmap_release(&r.index);
    strmap_release(&r.renamed);
    strmap_release(&r.model);
}
