/*
 * ocdbt_files.c - the files of an OCDBT database, by number, and the frames in them.
 */
#include "importer/format/orbax/ocdbt_files.h"

#include <stdlib.h>

bool ocdbt_path_is_safe(const char *at, size_t len)
{
    size_t begin = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && (at[i] == '\0' || at[i] == '\\'))
            return false;
        if (i < len && at[i] != '/')
            continue;
        size_t part = i - begin;
        if (part == 0 || (part == 1 && at[begin] == '.') ||
            (part == 2 && at[begin] == '.' && at[begin + 1] == '.'))
            return false;
        begin = i + 1;
    }
    return true;
}

enum status ocdbt_number(struct ocdbt_store *o, const char *path, size_t len, uint32_t *out,
                         struct error *err)
{
    bool added = false;
    const char *kept = NULL;
    uint64_t *number = strmap_keep(&o->numbers, &o->arena, path, len, &kept, &added);
    if (!number || o->known_count >= OCDBT_FILES_MOST)
        return error_memory(err);
    if (added) {
        struct ocdbt_file *list =
            arena_grow(&o->arena, o->known, o->known_count, &o->known_space, sizeof(*list));
        if (!list)
            return error_memory(err);
        o->known = list;
        *number = o->known_count;
        list[o->known_count++] = (struct ocdbt_file){.path = kept, .len = (uint32_t)len};
    }
    *out = (uint32_t)*number;
    return OK;
}

enum status ocdbt_open_file(struct ocdbt_store *o, uint32_t number, struct source **out,
                            struct error *err)
{
    struct ocdbt_open *oldest = &o->open[0];
    for (struct ocdbt_open *f = o->open; f < o->open + OCDBT_OPEN_FILES; f++) {
        if (f->source && f->number == number) {
            f->used = ++o->clock;
            *out = f->source;
            return OK;
        }
        if (f->used < oldest->used)
            oldest = f;
    }
    struct source *source = NULL;
    struct ocdbt_file *known = &o->known[number];
    enum status status = o->files.read(o->files.context, number, known->path, &source, err);
    if (status != OK)
        return status;
    if (!known->counted && !add_u64(o->there, source->size, &o->there))
        o->there = UINT64_MAX;
    known->counted = true;
    source_close(oldest->source);
    *oldest = (struct ocdbt_open){source, number, ++o->clock};
    *out = source;
    return OK;
}

enum status ocdbt_read_frame(struct ocdbt_store *o, const struct ocdbt_frame_at *f,
                             struct buffer *memory, struct bytes *body, struct error *err)
{
    struct ocdbt_place at = {f->source->name, f->offset};
    struct buffer *stored = &o->stored;
    bool compressed = false;
    if (f->length > f->most)
        return error_set(err, ERR_LIMIT, at.name, at.offset,
                         "an OCDBT node of %llu bytes, the most is %llu",
                         (unsigned long long)f->length, (unsigned long long)f->most);
    stored->len = (size_t)f->length;
    if (!buffer_reserve(stored, stored->len))
        return error_memory(err);
    struct bytes all = {stored->at, stored->len};
    if (source_read(f->source, f->offset, stored->at, stored->len, err) != OK ||
        ocdbt_frame(all, f->magic, at, body, &compressed, err) != OK)
        return err->status;
    if (!compressed) {
        struct buffer swap = *memory;
        *memory = *stored;
        *stored = swap;
    } else if (ocdbt_inflate(&o->inflater, *body, f->most, at, memory, err) == OK) {
        *body = (struct bytes){memory->at, memory->len};
    }
    return err->status;
}

void ocdbt_store_release(struct ocdbt_store *o)
{
    for (struct ocdbt_open *f = o->open; f < o->open + OCDBT_OPEN_FILES; f++)
        source_close(f->source);
    free(o->stored.at);
    inflater_release(&o->inflater);
    strmap_release(&o->numbers);
    arena_release(&o->arena);
}
