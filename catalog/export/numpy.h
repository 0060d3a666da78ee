/*
 * numpy.h - what .npy and .npz have in common.
 */
#ifndef CKPTDB_NUMPY_H
#define CKPTDB_NUMPY_H

#include "catalog/export/export.h"

bool export_numpy_holds(const struct export_tensor *, struct text *why, const char **instead);

#endif
