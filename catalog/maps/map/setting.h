/*
 * setting.h - what a rule set needs from a checkpoint that names and shapes do not tell: how many
 * heads, which kind of model. Knows no SQLite.
 *
 * A set declares its settings in its options:
 *
 *   "settings": {
 *     "num_attention_heads": {"from": ["config.json:num_attention_heads"], "number": true},
 *     "num_key_value_heads": {"from": ["config.json:num_key_value_heads"], "number": true,
 *                             "like": "num_attention_heads"},
 *     "hidden_size":         {"from": ["config.json:hidden_size"], "number": true, "else": ""},
 *     "head_dim":            {"ratio": ["hidden_size", "num_attention_heads"], "else": "-1"}}
 *
 * Each is resolved for each checkpoint: by the user's value, else by the metadata keys
 * (`from`) that the checkpoint has, which must agree, else by `like` (the value of an earlier
 * setting, if the metadata has that one: the file is there and leaves this out), else by `ratio`
 * (one earlier setting divided by another, both not empty), else by `else`. A setting that nothing
 * states, on which two keys differ, or that is not a number where one is needed, has a fault:
 * the error of each name whose rule asks for it.
 *
 * A rule set bound to settings travels through SQL as a text, setting_bind(), which every function
 * takes in place of the set's name.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/base/cursor.h"
#include "catalog/base/error.h"
#include "catalog/base/text.h"

#define SETTINGS_MAX 32 /* of one rule set */

struct setting {
    const char *key;
    const char *value; /* NULL: see `fault` */
    const char *fault; /* "Type: text"; NULL: none */
    bool stated;       /* by the checkpoint's metadata */
};

struct settings {
    struct setting at[SETTINGS_MAX];
    unsigned count;
};

/* Sources of values; both return NULL for an absent one, and copy into the arena. */
struct setting_source {
    void *context;
    const char *(*given)(void *context, const char *key);
    const char *(*metadata)(void *context, const char *key, struct arena *);
};

/* The settings that a set's options declare, resolved. ERR_ARGUMENT: the declaration makes no
 * sense. Strings live in the arena. */
enum status settings_resolve(struct bytes options, const struct setting_source *, struct arena *,
                             struct settings *out, struct error *);

/* The set with its settings as one text; without any it is the set's name. */
bool setting_bind(struct text *out, const char *ruleset, const struct settings *);

/* The set's name, and its settings where `bound` has any (out->count is 0 where not). NULL: no
 * memory. */
const char *setting_unbind(const char *bound, struct arena *, struct settings *out);
