/*
 * set_option.h - --set KEY=VALUE of commands that take a map (catalog/maps/map/setting.h).
 */
#pragma once

#include "shell/command/command.h"

/* Give the map what --set says, for all checkpoints, until settings_forget(), which every command
 * ends with. `ruleset` NULL: whichever map has such a setting. Other than STATUS_FINE, with the reason printed:
 * STATUS_TROUBLE, the map has no such setting; STATUS_NO, it would take one from a config.json of
 * the checkpoint that is not the file that was indexed. */
int settings_give(struct session *, const struct args *, const char *ruleset,
                  sqlite3_int64 checkpoint);
void settings_forget(struct session *);
