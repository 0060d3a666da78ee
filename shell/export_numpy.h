/*
 * export_numpy.h - what .npy and .npz have in common.
 */
#ifndef CKPTDB_SHELL_EXPORT_NUMPY_H
#define CKPTDB_SHELL_EXPORT_NUMPY_H

#include "shell/export.h"

bool export_numpy_holds(const struct export_tensor *, struct text *why,
                        const char **instead);

#endif
