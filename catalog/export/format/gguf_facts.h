/*
 * gguf_facts.h - what a GGUF file says of itself, as it is written: keys, and values of their types.
 *
 * A type is stated as u8 i8 u16 i16 u32 i32 f32 bool str u64 i64 f64 (or as NumPy does), and an array of
 * it by [] after it, whose value is then JSON.
 */
#ifndef CKPTDB_GGUF_FACTS_H
#define CKPTDB_GGUF_FACTS_H

#include "catalog/base/arena.h"
#include "catalog/base/strmap.h"
#include "catalog/export/export.h"
#include "catalog/export/format/gguf_header.h"

struct gguf_kind {
    enum gguf_type type; /* or of the elements */
    bool array;
};

struct gguf_fact;

/* By key, in the order in which they were first stated. All in the arena. */
struct gguf_facts {
    struct arena *arena; /* with an `err` */
    struct error *err;
    struct gguf_fact *list;
    size_t count, space;
    struct strmap index; /* key -> position + 1 */
    const char **wanted; /* keys that a model needs, and nothing stated at first */
    size_t wanting, wanted_space;
};

/* The type of this name of `len` bytes. */
bool gguf_kind_called(const char *name, size_t len, struct gguf_kind *out);

/* State a fact; an earlier one of the key is replaced. False, and nothing is changed: `value` is none of
 * this type. */
bool gguf_state(struct gguf_facts *, const char *key, struct gguf_kind kind, const char *value);

bool gguf_states(const struct gguf_facts *, const char *key);

/* State what the files of a model of Hugging Face say (gguf_model.c). */
void gguf_model(struct gguf_facts *, const struct export_subject *);

/* As exporter.describe(). */
enum status gguf_describe(const struct export_subject *, struct arena *,
                          struct export_description *out, struct error *err);

#endif
