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
 *   snappy      a raw Snappy block, which states its decoded size
 *   cut:A,N     N bytes from byte A on; a chain in the catalog says "cut", and each extent
 *               has the numbers (tensor.h)
 *   field:F     a protobuf message: the contents of its fields of number F, one behind the other
 *   varints:W   LEB128 numbers to integers of W bytes
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

#define CODEC_STEP_BYTES 64 /* of one step's text; longer ones are no codec's */

/* Walk a chain: the next step's word into `name` (CODEC_STEP_BYTES), its argument behind it.
 * False at the end. */
bool codec_chain_next(const char **chain, char *name, const char **argument);

/* The number that `step` has as its argument; false where the chain has no such step. */
bool codec_chain_argument(const char *chain, const char *step, uint64_t *value);

/* For codecs: a decimal number and nothing else; and two ways to fail that close `inner`. */
bool codec_number(const char *text, uint64_t *value);
enum status codec_bad_argument(struct source *inner, const char *name,
                               const char *argument, struct error *err);
enum status codec_no_memory(struct source *inner, struct error *err);

#endif
