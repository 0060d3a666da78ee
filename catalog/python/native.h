/*
 * native.h - what the Python package needs in C besides libckptdb: rows in batches, and a way to be
 * interrupted.
 *
 * A statement's rows cross to Python by columns: one call steps up to `most` rows, without Python's lock,
 * and leaves each column's values in arrays that NumPy, pandas and Arrow take as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_stmt;
struct ckptdb_checkpoint;

/* Values of one column in a batch. types[i] is SQLite's: 1 integer, 2 real, 3 text, 4 blob, 5 NULL. */
struct native_column {
    uint8_t *types;
    int64_t *numbers; /* of each row: an integer, or the bits of a double */
    /* rows + 1 numbers: bytes[ends[i]] to bytes[ends[i + 1]] are row i's text or blob */
    int64_t *ends;
    char *bytes;
    size_t byte_space;
    unsigned kinds; /* 1 << type of each type that occurs */
};

struct native_rows {
    struct native_column *column;
    int columns;
    size_t rows, most;
    bool done; /* there are no more rows */
};

/* Room for batches of `most` rows; NULL: no memory. */
struct native_rows *native_rows_new(int columns, size_t most);
/* The next batch, in place of the last one. Returns SQLite's code: 0, or an error. `bytes_most`: the batch
 * ends early once it holds this many bytes of text. */
int native_rows_next(struct native_rows *, struct sqlite3_stmt *, size_t bytes_most);
void native_rows_free(struct native_rows *);

/* Read a whole plain tensor into as many bytes: with fewer arguments to convert than ckptdb_checkpoint_read(). */
bool native_read(struct ckptdb_checkpoint *, size_t tensor, void *buffer);

/* The context of a ckptdb_watch: `stop` is true once `asked` is set. Every 50 ms it calls `signals`, but only on the thread
 * that called native_call_begin(), where alone Python's signal handlers run. */
struct native_call {
    bool (*signals)(void); /* Python's handlers raised something */
    /* Both may be NULL; they are given `handle`. Where `progress` returns false, the work ends. */
    bool (*progress)(void *handle, const char *doing, uint64_t done, uint64_t total);
    void (*say)(void *handle, const char *line);
    void *handle;
    int asked;
    uint64_t thread;
    int64_t looked, told; /* ns */
};
void native_call_begin(struct native_call *);
bool native_stop(void *context);
/* Waits of this thread for other machines end when Python's signal handlers raise something, also outside of a catalog's
 * calls. Call it again once that was raised. */
void native_stoppable(bool (*signals)(void));

/* For ckptdb_watch.progress: calls `progress` ten times a second, and at the end. */
void native_progress(void *context, const char *doing, uint64_t done, uint64_t total);

/* For ckptdb_watch.say. */
void native_say(void *context, const char *line);
