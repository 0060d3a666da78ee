/*
 * zip_layout.h - a zip archive as an export's file: members that are stored, not compressed, whose data
 * begins at multiples of 64, so that it can be mapped.
 *
 *   struct zip_layout zip = {.l = l};
 *   zip_member(&zip, "w.npy", lead, t);     lead, then the bytes of the tensor
 *   zip_member(&zip, "version", text, NULL);
 *   zip_finish(&zip);
 *
 * The date is always 1980-01-01, so that equal content gives equal files.
 */
#pragma once

#include "catalog/export/export_layout.h"

#define ZIP_NAME_MAX 65535 /* bytes */

struct zip_layout {
    struct export_layout *l;
    uint64_t base; /* where it begins in its file */
    struct zip_member *member;
    size_t count, space;
    struct text text;
};

/* Place a member: `lead`, then the tensor (NULL: none), whose first bytes the member's header and `lead` become
 * lead_len. */
void zip_member(struct zip_layout *, const char *name, struct bytes lead, struct export_tensor *t);

/* The directory, and the end of the file. */
void zip_finish(struct zip_layout *);
