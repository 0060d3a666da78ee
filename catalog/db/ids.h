/*
 * ids.h - ids in SQL that is written in C. Tensors, files, facts and everything else that has an
 * owner are numbered by the owner and their position in it (catalog/base/limits.h). The files of
 * schema/ have the same four names, as functions (schema/embed.sh); here they come after their
 * argument:
 *
 *   "SELECT path FROM _files WHERE id BETWEEN ?1" ID_FIRST "AND ?1" ID_LAST
 *   "JOIN _layout_tensors t ON t.id = (c.layout" ID_FIRST ") + (x.id" ID_ORD ")"
 *
 * They bind like <<: less tightly than +, more tightly than = and AND.
 */
#pragma once

#include "catalog/base/limits.h"

#define ID_TEXT(number)  #number
#define ID_SHIFT(number) ID_TEXT(number)
#define ID_BITS          ID_SHIFT(TENSOR_ORD_BITS)
#define ID_MASK          "(1 << " ID_BITS ") - 1"

/* Of an owner: the first and the last id that its rows can have. */
#define ID_FIRST " << " ID_BITS " "
#define ID_LAST  " << " ID_BITS " | " ID_MASK " "
/* Of an id: its owner, and its position there, from 0. */
#define ID_OWNER " >> " ID_BITS " "
#define ID_ORD   " & " ID_MASK " "
