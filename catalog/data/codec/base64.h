/*
 * base64.h - bytes written as text (RFC 4648, the standard alphabet, with its padding).
 */
#pragma once

#include "catalog/base/bits.h"

/* Returns the number of bytes written, or SIZE_MAX if the text is not
 * base64 or decodes to more than `room`. */
size_t base64_decode(struct bytes text, uint8_t *out, size_t room);
