/*
 * pyliteral.c - the literals in the texts that an expression matches, put together from its parts'
 * literals. Knowing less is always right: literals that get too long or too many are dropped, and so are those
 * that find no memory, except in the end.
 */
#include <string.h>

#include "catalog/maps/regex/pyreader.h"
#include "catalog/maps/regex/pytext.h"

#define LITERAL_MOST 96 /* bytes */
#define INSIDE_MOST  6  /* sets */

static const char mark[] = {REGEX_BEGIN, REGEX_END};
static const struct regex_literal literal[] = {{"", 0}, {&mark[0], 1}, {&mark[1], 1}};
static const struct regex_literals empty = {&literal[0], 1};
const struct known known_begin = {.head = {&literal[1], 1}};
const struct known known_end = {.head = {&literal[2], 1}};

/* Set *out to each text of `a` with each of `b` after it; false: they are too many, or too long. */
static bool cross(struct pyreader *p, struct regex_literals a, struct regex_literals b,
                  struct regex_literals *out)
{
    const size_t count = (a.count ? a.count : 1) * (b.count ? b.count : 1);
    *out = a.count ? a : b;
    if (!a.count || !b.count)
        return true;
    struct regex_literal *at =
        count > REGEX_LITERALS ? NULL : arena_alloc(&p->memory, count * sizeof(*at));
    *out = (struct regex_literals){at, count};
    for (size_t i = 0; at && i < count; i++) {
        const struct regex_literal x = a.at[i / b.count], y = b.at[i % b.count];
        char *both =
            x.len + y.len > LITERAL_MOST ? NULL : arena_room(&p->memory, x.len + y.len + 1);
        if (!both)
            return false;
        memcpy(both, x.at, x.len);
        memcpy(both + x.len, y.at, y.len);
        at[i] = (struct regex_literal){both, x.len + y.len};
    }
    return at;
}

/* Set *out to the texts of both; false: they are too many. */
static bool unite(struct pyreader *p, struct regex_literals a, struct regex_literals b,
                  struct regex_literals *out)
{
    a = a.count ? a : empty;
    b = b.count ? b : empty;
    const size_t count = a.count + b.count;
    struct regex_literal *at =
        count > REGEX_LITERALS ? NULL : arena_alloc(&p->memory, count * sizeof(*at));
    if (!at)
        return false;
    memcpy(at, a.at, a.count * sizeof(*at));
    memcpy(at + a.count, b.at, b.count * sizeof(*at));
    *out = (struct regex_literals){at, count};
    return true;
}

/* Bytes of the shortest literal of a set, not counting marks; 0: the set says nothing. */
static size_t shortest(struct regex_literals set)
{
    size_t least = set.count ? SIZE_MAX : 0;
    for (size_t i = 0; i < set.count; i++) {
        const struct regex_literal l = set.at[i];
        size_t len = l.len;
        len -= l.len && l.at[0] == REGEX_BEGIN;
        len -= l.len && l.at[l.len - 1] == REGEX_END;
        least = len < least ? len : least;
    }
    return least;
}

/* The sets with one more; if they are many, without the one whose literals are shortest. */
static const struct regex_keys *add_inside(struct pyreader *p, const struct regex_keys *was,
                                           struct regex_literals set)
{
    const size_t count = was ? was->count : 0;
    struct regex_keys *keys;
    struct regex_literals *sets;
    if (!shortest(set) || !(keys = arena_alloc(&p->memory, sizeof(*keys))) ||
        !(sets = arena_alloc(&p->memory, (count + 1) * sizeof(*sets))))
        return was;
    if (was)
        memcpy(sets, was->set, count * sizeof(*sets));
    *keys = (struct regex_keys){sets, count};
    size_t at = count;
    if (count == INSIDE_MOST) {
        at = 0;
        for (size_t i = 1; i < count; i++)
            at = shortest(sets[i]) < shortest(sets[at]) ? i : at;
        if (shortest(set) <= shortest(sets[at]))
            return was;
    } else {
        keys->count++;
    }
    sets[at] = set;
    return keys;
}

static struct regex_literals tail_of(struct known k)
{
    return k.open ? k.tail : k.head;
}

struct known known_sum(struct pyreader *p, struct known a, struct known b)
{
    struct regex_literals both;
    if (!p->keys)
        return WIDTH_ONE.known;
    if (!a.open && !a.head.count)
        return b;
    if (!b.open && !b.head.count)
        return a;
    const bool fits = cross(p, tail_of(a), b.head, &both);
    if (fits && !a.open && !b.open)
        return (struct known){.head = both};
    struct known k = {.head = a.head, .tail = tail_of(b), .inside = a.inside, .open = true};
    for (size_t i = 0; b.inside && i < b.inside->count; i++)
        k.inside = add_inside(p, k.inside, b.inside->set[i]);
    if (!a.open && b.open && fits) {
        k.head = both;
    } else if (a.open && !b.open && fits) {
        k.tail = both;
    } else if (fits) {
        k.inside = add_inside(p, k.inside, both);
    } else {
        k.inside = a.open ? add_inside(p, k.inside, a.tail) : k.inside;
        k.inside = b.open ? add_inside(p, k.inside, b.head) : k.inside;
    }
    return k;
}

/* The set that says most about the expression. */
static struct regex_literals best_of(struct known k)
{
    struct regex_literals best = k.head;
    if (k.open && shortest(k.tail) > shortest(best))
        best = k.tail;
    for (size_t i = 0; k.inside && i < k.inside->count; i++)
        if (shortest(k.inside->set[i]) > shortest(best))
            best = k.inside->set[i];
    return best;
}

struct known known_either(struct pyreader *p, struct known a, struct known b)
{
    struct known k = {.open = a.open || b.open};
    struct regex_literals x = best_of(a), y = best_of(b), both;
    if (!p->keys)
        return WIDTH_ONE.known;
    if (!unite(p, a.head, b.head, &k.head)) {
        k.open = true;
        k.head.count = 0;
    }
    if (k.open && !unite(p, tail_of(a), tail_of(b), &k.tail))
        k.tail.count = 0;
    if (k.open && shortest(x) && shortest(y) && unite(p, x, y, &both))
        k.inside = add_inside(p, NULL, both);
    return k;
}

struct known known_repeat(struct pyreader *p, struct known k, uint64_t low, uint64_t high)
{
    if (low == 1 && high == 1)
        return k;
    if (low > 0)
        return (struct known){k.head, tail_of(k), k.inside, true};
    if (high == 1 && !k.open)
        return known_either(p, k, WIDTH_NONE.known);
    return WIDTH_ONE.known;
}

struct known known_member(struct pyreader *p)
{
    struct regex_literal *at = NULL;
    struct text text = {0};
    if (p->keys && p->members && p->members <= REGEX_LITERALS)
        at = arena_alloc(&p->memory, p->members * sizeof(*at));
    for (size_t i = 0; at && i < p->members; i++) {
        text_reset(&text);
        pytext_encode(&text, p->member[i]);
        at[i] = (struct regex_literal){
            text_str(&text) ? arena_copy(&p->memory, text.at, text.len) : NULL, text.len};
        at = at[i].at ? at : NULL;
    }
    text_release(&text);
    return at ? (struct known){.head = {at, p->members}} : WIDTH_ONE.known;
}

/* Copy a set to memory that outlives the reader, unless it says nothing. */
static bool keep_set(struct arena *arena, struct regex_literals set, struct regex_keys *keys,
                     struct regex_literals *to)
{
    if (!shortest(set))
        return true;
    struct regex_literal *at = arena_array(arena, set.count, sizeof(*at));
    for (size_t i = 0; at && i < set.count; i++) {
        at[i] =
            (struct regex_literal){arena_copy(arena, set.at[i].at, set.at[i].len), set.at[i].len};
        at = at[i].at ? at : NULL;
    }
    to[keys->count] = (struct regex_literals){at, set.count};
    keys->count += at != NULL;
    return at;
}

bool known_finish(struct pyreader *p, struct known k)
{
    struct regex_keys *out = p->keys->out;
    struct arena *arena = p->keys->arena;
    if (p->keys->how != REGEX_SEARCH)
        k = known_sum(p, known_begin, k);
    if (p->keys->how == REGEX_FULLMATCH)
        k = known_sum(p, k, known_end);
    const size_t inside = k.inside ? k.inside->count : 0;
    struct regex_literals *set = arena_array(arena, inside + 2, sizeof(*set));
    bool good = set && keep_set(arena, k.head, out, set) && keep_set(arena, k.tail, out, set);
    for (size_t i = 0; good && i < inside; i++)
        good = keep_set(arena, k.inside->set[i], out, set);
    out->set = set;
    return good;
}
