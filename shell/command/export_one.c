#include "shell/command/export_one.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "shell/session/human.h"

struct showing {
    struct session *session;
    struct progress *bar;
    int status; /* of printing the plan */
};

static void show_progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    (void)doing;
    progress_set(((struct showing *)context)->bar, done, total);
}

static void show_plan(void *context, struct sqlite3_stmt *rows)
{
    struct showing *showing = context;
    showing->status = render_listing(showing->session, rows);
}

void export_report(struct text *t, const char *path, const struct export_result *r)
{
    text_adds(t, "\"path\":");
    text_json(t, path, strlen(path));
    text_adds(t, ",\"format\":");
    text_json(t, r->done.format, strlen(r->done.format));
    text_addf(
        t, ",\"tensors\":%" PRIu64 ",\"nbytes\":%" PRIu64 ",\"files\":%" PRIu64 ",\"seconds\":%.3f",
        r->done.tensors, r->done.nbytes, r->done.files, r->seconds);
}

/* One line about the file written, or to be written. */
static void say_result(const struct export_result *r, bool dry)
{
    const struct ckptdb_exported *done = &r->done;
    char bytes[HUMAN_MAX], time[40] = "";
    if (!dry)
        snprintf(time, sizeof(time), " in %.1f s", r->seconds);
    complain("%s%" PRIu64 " tensor%s, %s, %" PRIu64 " file%s%s", dry ? "would write " : "",
             done->tensors, done->tensors == 1 ? "" : "s", human_bytes(done->nbytes, bytes),
             done->files, done->files == 1 ? "" : "s", time);
}

int export_one(struct session *s, const char *path, struct ckptdb_export_options *o,
               struct export_result *result)
{
    struct showing showing = {.session = s, .bar = progress_new(s, "export", "B")};
    const struct ckptdb_watch watch = {
        .size = sizeof(watch), .context = &showing, .progress = show_progress};
    struct ckptdb_error err;
    struct timespec begun, ended;
    o->planned = result->listed ? show_plan : NULL;
    o->context = &showing;
    o->done = &result->done;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    session_watch(s->open, &watch);
    ckptdb_export(s->open, path, o, &err);
    session_watch(s->open, NULL);
    progress_free(showing.bar);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    if (err.status != CKPTDB_OK) {
        snprintf(result->error, sizeof(result->error), "%s", err.message);
        return complain_status(&err);
    }
    result->seconds =
        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    say_result(result, o->dry_run);
    return showing.status;
}
