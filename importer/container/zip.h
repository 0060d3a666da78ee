/*
 * zip.h - the directory of a zip archive: which members there are and where their bytes lie.
 *
 * Read from the central directory, and strict about it, because two readers that disagree
 * on one archive are how a scanner is bypassed: nothing before the archive, one directory,
 * no duplicate names, no member over another or over the directory, and the local header
 * must have the same name and method; on another machine it is read only where PyTorch's alignment does
 * not tell where the data is. Only zip_head() and zip_read() decompress anything.
 * Where an archive is written like a folder (zarr), a file that changes becomes a second member.
 */
#pragma once

#include <stdbool.h>

#include "catalog/base/arena.h"
#include "catalog/base/bits.h"
#include "catalog/base/error.h"
#include "catalog/data/store/source.h"

#define ZIP_STORED  0
#define ZIP_DEFLATE 8
#define ZIP_BZIP2   12
#define ZIP_LZMA    14

#define ZIP_ENCRYPTED 0x0001

/* Of an archive's end, read at first: the directory of few members is in it, too. */
#define ZIP_END_BYTES ((size_t)4 << 10)

struct zip_member {
    const char *name; /* as stored, NUL-terminated; not to be trusted as a path */
    size_t name_len;  /* may hold NUL */
    uint16_t flags, method;
    uint32_t crc;    /* of the decoded bytes */
    uint64_t stored; /* bytes in the archive */
    uint64_t size;   /* decoded bytes, as declared */
    uint64_t header; /* offset of the local header */
    uint64_t data;   /* offset of the first stored byte */
    bool inferred;   /* where the data are, without a look at the local header */
    bool cut;        /* zip_salvage(): the file ends before the member, as far as is known */
    bool replaced;   /* ZIP_REWRITTEN: a later member has the same name, and counts instead */
};

struct zip {
    const struct source *source;
    struct zip_member *members; /* in the order of the directory; in the arena */
    uint64_t count;
    uint64_t trailing; /* bytes after the archive */
};

enum zip_names {
    ZIP_UNIQUE,   /* a name that repeats is an error */
    ZIP_REWRITTEN /* the last member of a name counts, as for Python's zipfile */
};

/* Offsets are relative to `source`, which must outlive the zip. ERR_CORRUPT (with the codes
 * "truncated", "duplicate-member", "overlap"), ERR_LIMIT. */
enum status zip_open(const struct source *source, enum zip_names, struct arena *, struct zip *out,
                     struct error *);

/* For an archive that lost its end and so its directory (zip_open(): "truncated"), the members as
 * their local headers tell, up to the first that is not whole: `cut`. If that one's bytes are stored, it
 * has what is left, its checksum being unknown. Reads all of the file if the sizes follow the data.
 * Only for archives that nobody else can read either: there is no directory that could disagree. */
enum status zip_salvage(const struct source *source, struct arena *, struct zip *out,
                        struct error *);

struct job;
/* Warn of bytes after an archive, which begins at `base` of its file, and of members whose names lead out
 * of a folder. `path` as for job_issue(). */
void zip_report(struct job *, const char *path, const struct zip *, uint64_t base);

/* NULL: no such member. Linear. */
const struct zip_member *zip_find(const struct zip *, const char *name);

/* Whether the member's bytes can be read: ERR_UNSUPPORTED for encryption and unknown
 * methods, ERR_CORRUPT for sizes that are impossible for its method. */
enum status zip_check(const struct zip *, const struct zip_member *, struct error *);

/* Where a member's bytes are, and the codec that decodes them. */
#define ZIP_CODEC_BYTES 80
struct zip_run {
    uint64_t offset, stored;
    char codec[ZIP_CODEC_BYTES]; /* "": none */
};
enum status zip_run(const struct zip *, const struct zip_member *, struct zip_run *,
                    struct error *);

/* The member's first `len` decoded bytes, or all there are (*got). */
enum status zip_head(const struct zip *, const struct zip_member *, void *dst, size_t len,
                     size_t *got, struct error *);

/* All decoded bytes, in the arena; ERR_LIMIT if they are more than
 * `limit`. The checksum is not compared. */
enum status zip_read(const struct zip *, const struct zip_member *, uint64_t limit, struct arena *,
                     struct bytes *out, struct error *);
