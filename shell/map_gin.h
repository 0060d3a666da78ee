/*
 * map_gin.h - a T5X assignment map as it stands in a gin file:
 *
 *   utils.RestoreCheckpointConfig:
 *     assignment_map = [
 *         (r'state/.*', None),  # not restored
 *         (r'target/decoder/(.*)', r'target/\1'),
 *     ]
 */
#ifndef CKPTDB_SHELL_MAP_GIN_H
#define CKPTDB_SHELL_MAP_GIN_H

#include "catalog/base/text.h"

/* Whether the text binds an assignment_map. */
bool map_gin_recognise(const char *text);

/* The last such binding as a JSON rule set. False, with why and the line, where it is no
 * list of pairs of strings (macros and references are not followed). */
bool map_gin_read(const char *text, struct text *json, const char **why,
                  unsigned long *line);

#endif
