#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shell/render/progress.h"
#include "shell/session/human.h"

#define FIRST_MS 500 /* show nothing before */
#define EVERY_MS 100

struct progress {
    pthread_mutex_t lock;
    const char *what, *unit;
    int64_t start, shown; /* in milliseconds; shown 0: not shown yet */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct progress *progress_new(struct session *s, const char *what, const char *unit)
{
    if (!s->err_is_terminal)
        return NULL;
    struct progress *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->what = what;
    p->unit = unit;
    p->start = now_ms();
    return p;
}

static void print_amount(const struct progress *p, unsigned long long amount)
{
    char human[HUMAN_MAX];
    if (strcmp(p->unit, "B") == 0)
        fputs(human_bytes(amount, human), stderr);
    else
        fprintf(stderr, "%llu %s", amount, p->unit);
}

static void print_line(const struct progress *p, unsigned long long done, unsigned long long total,
                       int64_t ms)
{
    char human[HUMAN_MAX];
    double rate = (double)done * 1000 / (double)ms;
    fprintf(stderr, "\r%s  ", p->what);
    print_amount(p, done);
    if (total) {
        fputs(" of ", stderr);
        print_amount(p, total);
        fprintf(stderr, "  %.0f%%", (double)done * 100 / (double)total);
    }
    fputs("  ", stderr);
    print_amount(p, (unsigned long long)rate);
    fputs("/s", stderr);
    if (total > done && rate >= 1)
        fprintf(stderr, "  %s to go", human_time((uint64_t)((double)(total - done) / rate), human));
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_set(struct progress *p, unsigned long long done, unsigned long long total)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    int64_t now = now_ms();
    if (now - p->start >= FIRST_MS && now - p->shown >= EVERY_MS) {
        p->shown = now;
        print_line(p, done, total, now - p->start);
    }
    pthread_mutex_unlock(&p->lock);
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    if (p->shown)
        fputs("\r\033[K", stderr);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
