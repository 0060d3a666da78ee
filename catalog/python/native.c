#include "native.h"
#include "catalog/ckptdb.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIGNALS_NS  50000000  /* how often Python is asked for signals */
#define PROGRESS_NS 100000000 /* and told how far the work has come */

void native_rows_free(struct native_rows *r)
{
    for (int i = 0; r && r->column && i < r->columns; i++) {
        free(r->column[i].types);
        free(r->column[i].numbers);
        free(r->column[i].ends);
        free(r->column[i].bytes);
    }
    if (r)
        free(r->column);
    free(r);
}

struct native_rows *native_rows_new(int columns, size_t most)
{
    struct native_rows *r = calloc(1, sizeof(*r));
    bool good = r && (r->column = calloc((size_t)columns + 1, sizeof(*r->column)));
    if (good)
        r->columns = columns, r->most = most;
    for (int i = 0; good && i < columns; i++) {
        struct native_column *c = &r->column[i];
        c->types = malloc(most);
        c->numbers = malloc(most * sizeof(*c->numbers));
        c->ends = calloc(most + 1, sizeof(*c->ends));
        good = c->types && c->numbers && c->ends;
    }
    if (!good) {
        native_rows_free(r);
        return NULL;
    }
    return r;
}

/* Append a text or blob. */
static bool column_add(struct native_column *c, size_t row, const void *bytes, size_t len)
{
    const size_t used = (size_t)c->ends[row];
    if (len > c->byte_space - used) {
        const size_t space = (used + len) * 2 + 4096;
        char *more = realloc(c->bytes, space);
        if (!more)
            return false;
        c->bytes = more;
        c->byte_space = space;
    }
    if (len)
        memcpy(c->bytes + used, bytes, len);
    c->ends[row + 1] = (int64_t)(used + len);
    return true;
}

static bool column_take(struct native_column *c, size_t row, sqlite3_stmt *s, int i)
{
    const int type = sqlite3_column_type(s, i);
    double real;
    c->types[row] = (uint8_t)type;
    c->kinds |= 1u << type;
    c->numbers[row] = 0;
    c->ends[row + 1] = c->ends[row];
    switch (type) {
    case SQLITE_INTEGER: c->numbers[row] = sqlite3_column_int64(s, i); return true;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(s, i);
        memcpy(&c->numbers[row], &real, sizeof(real));
        return true;
    case SQLITE_TEXT: {
        const void *text = sqlite3_column_text(s, i);
        return text && column_add(c, row, text, (size_t)sqlite3_column_bytes(s, i));
    }
    case SQLITE_BLOB: {
        const void *blob = sqlite3_column_blob(s, i);
        return column_add(c, row, blob, (size_t)sqlite3_column_bytes(s, i));
    }
    default: return true;
    }
}

int native_rows_next(struct native_rows *r, sqlite3_stmt *s, size_t bytes_most)
{
    int rc = SQLITE_ROW;
    size_t bytes = 0;
    r->rows = 0;
    for (int i = 0; i < r->columns; i++)
        r->column[i].kinds = 0;
    while (r->rows < r->most && bytes < bytes_most && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        bytes = 0;
        for (int i = 0; i < r->columns; i++) {
            if (!column_take(&r->column[i], r->rows, s, i))
                return SQLITE_NOMEM;
            bytes += (size_t)r->column[i].ends[r->rows + 1];
        }
        r->rows++;
    }
    r->done = rc == SQLITE_DONE;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

bool native_read(ckptdb_checkpoint *c, size_t tensor, void *buffer)
{
    const struct ckptdb_columns *in = ckptdb_checkpoint_columns(c);
    return !ckptdb_checkpoint_read(c, tensor, 0, buffer, in->kinds[in->kind[tensor]]->nbytes, NULL);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void native_call_begin(struct native_call *call)
{
    call->thread = (uint64_t)pthread_self();
    call->looked = call->told = now();
    call->asked = 0;
}

void native_stoppable(bool (*signals)(void))
{
    static _Thread_local struct native_call call; /* lives as long as the thread */
    call.signals = signals;
    native_call_begin(&call);
    ckptdb_stopping(native_stop, &call);
}

bool native_stop(void *context)
{
    struct native_call *call = context;
    int64_t at;
    if (__atomic_load_n(&call->asked, __ATOMIC_RELAXED))
        return true;
    if ((uint64_t)pthread_self() != call->thread || (at = now()) - call->looked < SIGNALS_NS)
        return false;
    call->looked = at;
    if (call->signals())
        __atomic_store_n(&call->asked, 1, __ATOMIC_RELAXED);
    return call->asked;
}

void native_progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct native_call *call = context;
    int64_t at = now();
    if (!call->progress ||
        (done != total && at - __atomic_load_n(&call->told, __ATOMIC_RELAXED) < PROGRESS_NS))
        return;
    __atomic_store_n(&call->told, at, __ATOMIC_RELAXED);
    if (!call->progress(call->handle, doing, done, total))
        __atomic_store_n(&call->asked, 1, __ATOMIC_RELAXED);
}

void native_say(void *context, const char *line)
{
    struct native_call *call = context;
    if (call->say)
        call->say(call->handle, line);
}
