/*
 * ruleset.h - a rule set as it is stored: the rows of `ruleset` and `rule` as structs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/base/arena.h"
#include "catalog/base/error.h"
#include "catalog/maps/map/rules.h"

struct ruleset_rule {
    int64_t ord;
    const char *pattern;
    const char *replacement;   /* NULL: none */
    const char *compute, *ops; /* JSON; NULL: none */
    bool nul;                  /* a NUL character was in it, which no text here holds */
};

struct ruleset {
    struct arena *arena; /* of all its strings */
    const char *name, *dialect;
    const char *options; /* JSON */
    struct ruleset_rule *rule;
    size_t rules, space;
};

/* A rule at the end; strings are not copied. False: no memory. */
bool ruleset_add(struct ruleset *, struct ruleset_rule);

/* Whether this program runs maps of a dialect; the second with ERR_ARGUMENT, which names all. */
bool ruleset_dialect_known(const char *dialect);
enum status ruleset_check_dialect(const char *dialect, struct error *err);
/* Whether its maps fill the names of a model, rather than making new ones. */
bool ruleset_dialect_assigns(const char *dialect);
/* Whether they do more to tensors than rename them. */
bool ruleset_dialect_converts(const char *dialect);
/* How its patterns are tried; false: not one name at a time. */
bool ruleset_shape(const char *dialect, enum rules_shape *shape);

/* Compile the set, tables included; rules_free(). NULL: no memory. A fault of a rule is
 * an error of the names that reach it. */
struct rules *ruleset_compile(const struct ruleset *, enum rules_shape);

/* Whether the dialect has these options (JSON) with these values: ERR_ARGUMENT names the first
 * that it lacks. `paths`: also the patterns among them, at which Kauldron looks only when it needs
 * one. Sets of an unknown dialect are not checked. */
enum status ruleset_check_options(const char *dialect, const char *options, bool paths,
                                  struct error *);
/* Whether dialect, options and every rule make sense: patterns and templates compile, groups and
 * steps exist, operations are known. ERR_ARGUMENT names the rule and the position. */
enum status ruleset_check(const struct ruleset *, struct error *);
