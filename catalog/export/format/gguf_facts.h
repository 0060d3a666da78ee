/*
 * gguf_facts.h - the metadata of a GGUF file to be written: keys, and values with types.
 *
 * A type is stated as u8 i8 u16 i16 u32 i32 f32 bool str u64 i64 f64 (or as NumPy does), and an array of
 * it by [] after it, whose value is then JSON.
 */
#pragma once

#include "catalog/db/statement.h"
#include "catalog/export/export.h"

/*
 * The facts that llama.cpp looks for, from the files of a Hugging Face model (gguf_model.c): rows of key, type and
 * value (of u8[]: a blob, or base64); NULL: the last checkpoint is not such a model. To be finalized before the arena goes.
 */
sqlite3_stmt *gguf_model(const struct export_subject *, struct arena *, struct error *err);

/* The divisors of a head's frequencies, if positions are stretched as in Llama 3: float32, as llama.cpp's
 * conversion computes it. `how`: a head's dimensions, the base, the factor, those for low and for high frequencies, the
 * length at first. False: there are no such divisors. */
bool gguf_rope_factors(const float how[6], struct text *out);

/* As exporter.describe(). */
enum status gguf_describe(const struct export_subject *, struct arena *,
                          struct export_description *out, struct error *err);
