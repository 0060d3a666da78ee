/*
 * rename_option.h - --rename and --prefix of commands that rename in passing.
 */
#pragma once

#include "shell/command/command.h"

#define RENAME_OPTION(after)                                                                       \
    {                                                                                              \
        "--rename", "REGEX=NEW", "new names by Python's re.sub" after "; \\= is = in REGEX"        \
    }
#define PREFIX_OPTION                                                                              \
    {                                                                                              \
        "--prefix", "OLD=NEW", "the beginning OLD of names becomes NEW (either may be empty)"      \
    }

/* What they say, in their order, as the library takes it: [["REGEX", "TEMPLATE"], ...]; nothing where they are
 * not given. False: one is wrong, and why was printed. */
bool renames_take(struct session *, const struct args *, struct text *json);

/* Name the options, or the map (NULL: none), that change no name of the checkpoint. */
void renames_say_idle(struct session *, sqlite3_int64 checkpoint, const char *map,
                      const char *renames);

/* Whether they, after the map, give each name once; else say which they do not. */
bool renames_apart(struct session *, sqlite3_int64 checkpoint, const char *map,
                   const char *renames);
