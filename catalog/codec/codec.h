/*
 * codec.h - the steps between stored bytes and elements. To add one: one file, one line in
 * codecs.def.
 *
 * A chain is text, "step:argument|step:argument", applied left to right. N is the number of
 * bytes that a step makes: exactly N, or at most N where it says "<N".
 *
 *   deflate:N   raw deflate (zip members)
 *   gzip:N      one or more gzip members
 *   zlib:N      a zlib stream
 *   zstd:N      one or more Zstandard frames
 *   blosc:N     a Blosc 1 frame
 *   lz4:N       the decoded size in 4 bytes, and an LZ4 block
 *   bz2:N       one or more bzip2 streams
 *   lzma:N      one or more .xz streams, or one of .lzma
 *   rawlzma:N,F,F  LZMA without a header: its filters are stated (rawlzma.c)
 *   crc32c:end  verify and leave out the checksum that is after the bytes ("start": in
 *               front); also crc32, adler32, fletcher32, jenkins_lookup3
 *   shuffle:W   bytes sorted by their place in their element of W bytes
 *   delta:D,S  fixedscaleoffset:SCALE,OFFSET,D,S  astype:D,S
 *               numcodecs' filters; D and S are the decoded and stored type (number.c)
 *   pcodec:N    a file of pco: numbers as bins and offsets (pcodec.h)
 *   lzf:N       an LZF block
 *   scaleoffset:T,D,N[,F]  HDF5's packed integers and rounded floats (scaleoffset.c)
 *   szip:N,MASK,BLOCK,BITS,LINE  HDF5's szip (szip.c)
 *   nbit:T,P,N  HDF5's integers of which P bits are stored
 *   lz4blocks:N  LZ4 as HDF5's filter 32004 has it
 *   bitshuffle:N,E,B[,lz4|zstd]  bits sorted by their place in their element (bitshuffle.c)
 *   packbits:bool   eight bools a byte, to one
 *   skip:N      leave N bytes out at the front (an npy header inside a member)
 *   swap:W      reverse every W bytes (big-endian elements)
 *   member:N    no change; the checksum covers N bytes before the extent too
 *   unpack:B    one element a byte with B significant low bits, to packed B-bit elements
 *   sstable     a block of an SSTable with its trailer: checksum verified, Snappy undone
 *   cut:A,N     N bytes from byte A on; a chain in the catalog says "cut", and each extent
 *               has the numbers (tensor.h)
 *   field:F     a protobuf message: the contents of its fields of number F, one after the other
 *   varints:W   LEB128 numbers to integers of W bytes
 *   lists:F.G.W,...  lists in messages inside a protobuf message, one after the other (lists.c)
 *   flip:W,B    reverse the top bit of byte B of every W: conjugates and negatives of floats
 *   latin1:N    UTF-8 text whose characters are N bytes (old pickles)
 *   append:A,N,STEPS  the bytes, then what STEPS (joined by '+') make of N of them (append.c)
 *   sparse:...  a sparse tensor to the dense one (sparse.c)
 *   strings:X   not a codec: the last step of string tensors (strings.h)
 *
 * A codec works on a source (open: bytes at any offset), on a block (all bytes are in memory:
 * block.h), or on both. Chains over sources have each step work in the way it can.
 */
#ifndef CKPTDB_CODEC_CODEC_H
#define CKPTDB_CODEC_CODEC_H

#include "catalog/store/source.h"

/* How many bytes a step makes. */
struct codec_size {
    uint64_t most;
    bool exact; /* `most`, no less */
};

/* A step that is being done on a block. */
struct codec_step {
    const char *codec, *argument;
    const char *name; /* of the file that the stored bytes are of, and where they begin */
    uint64_t offset;
    void **state; /* what the codec keeps for the next block: NULL at first */
};

struct codec {
    const char *name;
    /* Owns `inner`: closes it with *out, and on failure. `argument` is the text after
     * ':' ("" where there is none). A decoder that keeps state takes a lock. NULL: the
     * source is decoded as a block. */
    enum status (*open)(struct source *inner, const char *argument, struct source **out,
                        struct error *err);

    /* Blocks. Either `size` and `decode`, or `trim`. */

    /* What comes out of `in` bytes. False: a bad argument. */
    bool (*size)(const char *argument, uint64_t in, struct codec_size *size);
    /* Decode all of `in` into `out`. *made says how many bytes; a number above `room`: so
     * many there are (or room + 1: more than room), but they were not made. */
    enum status (*decode)(const struct codec_step *step, struct bytes in, uint8_t *out,
                          size_t room, size_t *made, struct error *err);
    bool in_place; /* out may be in.at, where as many bytes come out as go in */
    /* Leave out what is not data at either end of `bytes`. */
    enum status (*trim)(const struct codec_step *step, struct bytes *bytes,
                        struct error *err);
    /* Memory that decoding into `out` bytes needs beside `out`. NULL: none but the state,
     * which has no more than 1 MiB. */
    uint64_t (*memory)(uint64_t out);
    void (*release)(void *state); /* NULL: there is no state */

    /* The other way round (encode.h, which says what the arguments are). NULL: not here. */

    /* What comes of `in` bytes at most. False: a bad argument. */
    bool (*bound)(const char *argument, uint64_t in, uint64_t *most);
    /* Encode all of `in`; `room` is what bound() said. */
    enum status (*encode)(const struct codec_step *step, struct bytes in, uint8_t *out,
                          size_t room, size_t *made, struct error *err);
    void (*encode_release)(void *state);
};

extern const struct codec *const codecs[]; /* ends in NULL */

/* Apply a chain (NULL: none) up to its end or to a "strings:" step, whose argument is put
 * into *strings (malloc'ed; NULL where there is none; `strings` NULL: refuse such a step).
 * Owns `inner`. */
enum status codec_chain_open(struct source *inner, const char *chain, struct source **out,
                             char **strings, struct error *err);

#define CODEC_STEP_BYTES 192 /* of one step's text; longer ones are no codec's */

/* Walk a chain: the next step's word into `name` (CODEC_STEP_BYTES), its argument after it.
 * False at the end. */
bool codec_chain_next(const char **chain, char *name, const char **argument);

/* Whether the chain has such a step. */
bool codec_chain_has(const char *chain, const char *step);

/* The number that `step` has as its argument; false where the chain has no such step. */
bool codec_chain_argument(const char *chain, const char *step, uint64_t *value);

/* The codec of that name; NULL: there is none. */
const struct codec *codec_find(const char *name);

/* `inner` decoded as a block into memory, for a codec without `open`. Owns `inner`. */
enum status codec_open_whole(struct source *inner, const struct codec *codec,
                             const char *argument, struct source **out,
                             struct error *err);

/* For codecs: a decimal number and nothing else; N or <N as the `size` of a step; and ways to
 * fail, of which two close `inner`. */
bool codec_number(const char *text, uint64_t *value);
bool codec_stated_size(const char *argument, uint64_t in, struct codec_size *size);
/* A level from `least` to `most`, and nothing else. */
bool codec_level(const char *text, int least, int most, int *level);
enum status codec_bad_argument(struct source *inner, const char *name,
                               const char *argument, struct error *err);
enum status codec_no_memory(struct source *inner, struct error *err);
enum status codec_corrupt(const struct codec_step *step, struct error *err,
                          const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
