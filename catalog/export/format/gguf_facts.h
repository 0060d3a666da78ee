/*
 * gguf_facts.h - what a GGUF file says of itself, as it is written: keys, and values of their types.
 *
 * A type is stated as u8 i8 u16 i16 u32 i32 f32 bool str u64 i64 f64 (or as NumPy does), and an array of
 * it by [] after it, whose value is then JSON.
 */
#ifndef CKPTDB_GGUF_FACTS_H
#define CKPTDB_GGUF_FACTS_H

#include "catalog/db/statement.h"
#include "catalog/export/export.h"

/*
 * What llama.cpp looks for and the files of a model of Hugging Face say (gguf_model.c), as rows of key, type and
 * value; NULL: the last checkpoint is not such a model. To be finalized before the arena goes.
 */
sqlite3_stmt *gguf_model(const struct export_subject *, struct arena *, struct error *err);

/* As exporter.describe(). */
enum status gguf_describe(const struct export_subject *, struct arena *,
                          struct export_description *out, struct error *err);

#endif
