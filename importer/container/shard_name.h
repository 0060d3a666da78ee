/*
 * shard_name.h - the number in the name of one file of a set: "-00001-of-00003".
 *
 * Who writes it, and how:
 *   Hugging Face     STEM-00001-of-00005.safetensors, .bin, .msgpack   parts from 1
 *   llama.cpp        STEM-00001-of-00003.gguf                          parts from 1
 *   TensorFlow V2    PREFIX.data-00000-of-00002                        parts from 0
 *   TensorFlow V1    PREFIX-00000-of-00002                             parts from 0
 * All print "%05d": five digits, more where the number needs them. T5X prints three
 * (train_ds-000-of-001): a shorter number is taken where the caller allows it.
 *
 *   struct shard_name s;
 *   if (shard_name(name, &s) && strcmp(s.rest, ".gguf") == 0)
 *       ... the first s.stem bytes of name; s.part of s.count ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARD_DIGITS 5

struct shard_name {
    size_t stem;          /* bytes of the name before "-00001-of-00003" */
    uint64_t part, count; /* as written; part < count is not checked */
    const char *rest;     /* what follows the number, in the name; "" for nothing */
};

/* Find the last such number in a name. */
bool shard_name(const char *name, struct shard_name *out);

/* The same for a text that begins with the number's dash; stem is 0. Numbers
 * need at least `digits` digits. */
bool shard_number(const char *text, unsigned digits, struct shard_name *out);
