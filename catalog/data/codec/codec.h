/*
 * codec.h - the steps between stored bytes and elements. To add one: one file, one line in
 * codecs.def.
 *
 * A chain is text, "step:argument|step:argument", applied left to right. N is the number of
 * bytes that a step produces: exactly N, or at most N if it is written "<N".
 *
 *   deflate:N   raw deflate (zip members)
 *   gzip:N      one or more gzip members
 *   zlib:N      a zlib stream
 *   zstd:N      one or more Zstandard frames
 *   blosc:N     a Blosc 1 frame
 *   blosc2:N    a Blosc2 contiguous frame of one chunk
 *   lz4:N       the decoded size in 4 bytes, and an LZ4 block
 *   bz2:N       one or more bzip2 streams
 *   lzma:N      one or more .xz streams, or one of .lzma
 *   rawlzma:N,F,F  LZMA without a header: its filters are stated (rawlzma.c)
 *   crc32c:end  verify and remove the checksum after the bytes ("start": before them)
 *             ; also crc32, adler32, fletcher32, jenkins_lookup3
 *   shuffle:W   bytes sorted by their position in elements of W bytes
 *   delta:D,S  fixedscaleoffset:SCALE,OFFSET,D,S  astype:D,S
 *               numcodecs' filters; D and S are the decoded and stored type (number.c)
 *   lzf:N       an LZF block
 *   scaleoffset:T,D,N[,F]  HDF5's packed integers and rounded floats (scaleoffset.c)
 *   szip:N,MASK,BLOCK,BITS,LINE  HDF5's szip (szip.c)
 *   nbit:T,P,N  HDF5's integers, each stored in P bits
 *   bits:T,P,O  integers that are P bits of T, from bit O on
 *   lz4blocks:N  LZ4 as HDF5's filter 32004 has it
 *   bitshuffle:N,E,B[,lz4|zstd]  bits sorted by their position in an element (bitshuffle.c)
 *   packbits:bool   eight bools per byte, to one per byte
 *   skip:N      drop N bytes at the front (an npy header inside a member)
 *   swap:W      reverse every W bytes (big-endian elements)
 *   member:N    no change; the checksum covers N bytes before the extent too
 *   unpack:B    one element per byte, in its low B bits, to packed B-bit elements
 *   sstable     a block of an SSTable with its trailer: checksum verified, Snappy undone
 *   cut:A,N     N bytes from byte A on; a chain in the catalog says "cut", and each extent
 *               has the numbers (tensor.h)
 *   field:F     a protobuf message: the contents of its fields of number F, one after the other
 *   varints:W   LEB128 numbers to integers of W bytes
 *   lists:F.G.W,...  lists in messages inside a protobuf message, one after the other (lists.c)
 *   flip:W,B    reverse the top bit of byte B of every W: conjugates and negatives of floats
 *   latin1:N    UTF-8 text whose characters are N bytes (old pickles)
 *   append:A,N,STEPS  the bytes, then N from byte A on, decoded by STEPS (joined by '+': append.c)
 *   sparse:...  a sparse tensor to the dense one (sparse.c)
 *   strings:X   not a codec: the last step of string tensors (strings.h)
 *
 * A codec works on a source (open: bytes at any offset), on a block (all bytes in memory: block.h),
 * or on both. In a chain over sources each step works in whichever way it can.
 */
#pragma once

#include "catalog/data/store/source.h"

/* How many bytes a step produces. */
struct codec_size {
    uint64_t most;
    bool exact; /* `most`, no less */
};

/* The argument of a step: the text after ':', or "", and what the codec's `args` declares in it. */
#define CODEC_NUMBERS 6
struct codec_args {
    const char *text;
    uint64_t number[CODEC_NUMBERS];
    bool at_most;     /* the size is "<N" */
    const char *rest; /* after the numbers */
};

/* A step applied to a block. */
struct codec_step {
    const char *codec;
    struct codec_args args; /* when encoding, the text alone */
    const char *name;       /* of the file with the stored bytes, and where they begin */
    uint64_t offset;
    void **state; /* what the codec keeps for the next block: NULL at first */
};

struct codec {
    const char *name;
    /* What the argument is: fields between commas. "N": a number, "A-B": one from A to B (or "A-"),
     * "S": the size of the output, N or <N; "D9": from -9 to 9 (two's complement); "R": the bits
     * of a double; "=end|start": one of these words, as its place; at the end "*" for text that the
     * codec parses, "?" if a comma and text may follow. */
    const char *args;

    /* Sources, in one of three ways; none: the source is decoded as a block. */

    /* A source over `inner`, which it need not close: that is closed with *out, or on failure by the
     * caller. *out may be `inner` itself. */
    enum status (*open)(struct source *inner, const struct codec_args *, struct source **out,
                        struct error *err);
    /* A source of `source_bytes` bytes, zeroed, whose `base` has come from its inner one: begin() sets
     * what is different. It is closed on failure too. Decoders with state need a lock. */
    const struct source_ops *source;
    size_t source_bytes;
    enum status (*begin)(struct source *base, const struct codec_args *, struct error *err);
    const struct stream_codec *stream; /* stream.h */

    /* Blocks. Either `decode`, or `trim`. */

    /* How many bytes `in` bytes decode to. False: a bad argument. NULL: the first number is the size. */
    bool (*size)(const struct codec_args *, uint64_t in, struct codec_size *size);
    /* Decode all of `in` into `out`. *made is set to the number of bytes. If that is above
     * `room`, they were not written; room + 1 may stand for any such number. */
    enum status (*decode)(const struct codec_step *step, struct bytes in, uint8_t *out, size_t room,
                          size_t *made, struct error *err);
    unsigned padded; /* a compressor's input may be N times its output; 0: once */
    bool in_place;   /* `out` may be in.at if as many bytes come out as go in */
    /* Cut off what is not data at either end of `bytes`. */
    enum status (*trim)(const struct codec_step *step, struct bytes *bytes, struct error *err);
    /* Memory that decoding to `out` bytes needs besides the output. NULL: only the state, at
     * most 1 MiB. */
    uint64_t (*memory)(uint64_t out);
    void (*release)(void *state); /* NULL: there is no state */

    /* Encoding (encode.h says what the arguments are). NULL: this codec cannot encode. */

    /* The most bytes that `in` bytes can encode to. False: a bad argument. */
    bool (*bound)(const char *argument, uint64_t in, uint64_t *most);
    /* Encode all of `in`; `room` is what bound() returned. */
    enum status (*encode)(const struct codec_step *step, struct bytes in, uint8_t *out, size_t room,
                          size_t *made, struct error *err);
    void (*encode_release)(void *state);
};

extern const struct codec *const codecs[]; /* ends in NULL */

/* Apply a chain (NULL: none) up to its end or to a "strings:" step, whose argument goes to
 * *strings (malloc'ed; NULL if there is no such step; `strings` NULL: refuse such a step).
 * Takes ownership of `inner`. */
enum status codec_chain_open(struct source *inner, const char *chain, struct source **out,
                             char **strings, struct error *err);

#define CODEC_STEP_BYTES 192 /* of one step's text; no codec has longer ones */

/* Walk a chain: the name of the next step goes to `name` (CODEC_STEP_BYTES), followed by its
 * argument. False at the end. */
bool codec_chain_next(const char **chain, char *name, const char **argument);

/* Whether the chain has such a step. */
bool codec_chain_has(const char *chain, const char *step);

/* The number that `step` has as its argument; false if the chain has no such step. */
bool codec_chain_argument(const char *chain, const char *step, uint64_t *value);

/* The codec with this name; NULL if absent. */
const struct codec *codec_find(const char *name);

/* Parse an argument as `codec->args` declares it. False if it does not match. */
bool codec_args_parse(const struct codec *codec, const char *text, struct codec_args *out);
/* How many bytes a step makes of `in` bytes. False: a bad argument. */
bool codec_step_size(const struct codec *codec, const struct codec_args *args, uint64_t in,
                     struct codec_size *size);

/* For codecs: a decimal number and nothing else, a level from `least` to `most` and nothing else,
 * and ways to fail. */
bool codec_number(const char *text, uint64_t *value);
/* The decimal number at *at, moved past it. */
bool codec_take_number(const char **at, uint64_t *value);
bool codec_level(const char *text, int least, int most, int *level);
/* A codec's `size`: as many bytes as go in. */
bool codec_same_size(const struct codec_args *args, uint64_t in, struct codec_size *size);
/* `len` bytes of the source from `offset` on, malloc'ed; NULL after an error. */
uint8_t *codec_read(const struct source *, uint64_t offset, uint64_t len, struct error *err);
enum status codec_bad_argument(const struct source *inner, const char *name, const char *argument,
                               struct error *err);
enum status codec_corrupt(const struct codec_step *step, struct error *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* The `width` bits from *bit on, moved past them; the highest bit of a byte is the first. The caller has
 * checked that they exist. */
static inline uint64_t codec_take_bits(const uint8_t *at, uint64_t *bit, unsigned width)
{
    uint64_t number = 0;
    while (width) {
        unsigned left = 8 - (unsigned)(*bit % 8), n = left < width ? left : width;
        number = number << n | (uint64_t)(at[*bit / 8] >> (left - n) & ((1u << n) - 1));
        *bit += n;
        width -= n;
    }
    return number;
}
