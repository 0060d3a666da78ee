/*
 * codec.h - the steps between stored bytes and elements. Each turns a source into a
 * source. To add one: one file, one line in codecs.def.
 *
 * A chain is text, "step:argument|step:argument", applied left to right:
 *   deflate:N   raw deflate of exactly N decoded bytes (zip members)
 *   skip:N      leave N bytes out at the front (an npy header inside a member)
 *   swap:W      reverse every W bytes (big-endian elements)
 *   member:N    no change; the checksum covers N bytes before the extent too
 *   unpack:B    one element a byte with B significant low bits, to packed B-bit elements
 *   strings:X   not a codec: the last step of string tensors (strings.h)
 */
#ifndef CKPTDB_CODEC_CODEC_H
#define CKPTDB_CODEC_CODEC_H

#include "catalog/store/source.h"

struct codec {
    const char *name;
    /* Owns `inner`: closes it with *out, and on failure. `argument` is the text behind
     * ':' ("" where there is none). A decoder that keeps state takes a lock. */
    enum status (*open)(struct source *inner, const char *argument, struct source **out,
                        struct error *err);
};

extern const struct codec *const codecs[]; /* ends in NULL */

/* Apply a chain (NULL: none) up to its end or to a "strings:" step, whose argument is put
 * into *strings (malloc'ed; NULL where there is none; `strings` NULL: refuse such a step).
 * Owns `inner`. */
enum status codec_chain_open(struct source *inner, const char *chain, struct source **out,
                             char **strings, struct error *err);

#endif
