#include "catalog/data/store/loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Held while a library is loaded. `loaded` only ever goes from false to true. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Keep dlopen()'s message, unless it only says that there is no such file. */
static void keep_why(struct loaded_library *l)
{
    const char *why =
        dlerror(); /* NOLINT(concurrency-mt-unsafe): under the lock, and of a thread */
    if (why && !strstr(why, "No such file"))
        snprintf(l->why, sizeof(l->why), "%s", why);
}

static bool library_load(struct loaded_library *l)
{
    void *handle = NULL;
    l->why[0] = '\0';
    for (size_t i = 0; !handle && l->names[i]; i++)
        if (!(handle = dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL)))
            keep_why(l);
    for (size_t i = 0; handle && i < l->symbol_count; i++) {
        void *found = dlsym(handle, l->symbols[i].name);
        if (!found) {
            keep_why(l);
            return false;
        }
        /* POSIX: a function's address fits */
        memcpy((char *)l->functions + l->symbols[i].at, &found, sizeof(found));
    }
    return handle != NULL;
}

const void *loaded_library(struct loaded_library *l, const char *user, const char *source,
                           uint64_t offset, struct error *err)
{
    pthread_mutex_lock(&lock);
    const time_t now = time(NULL);
    if (!l->loaded && l->tried != now) {
        l->loaded = library_load(l);
        l->tried = now;
    }
    bool loaded = l->loaded;
    if (!loaded && err && *l->why)
        error_set(err, ERR_IO, source, offset, "%s needs %s (%s), which cannot be loaded: %s", user,
                  l->names[0], l->package, l->why);
    else if (!loaded && err)
        error_set(err, ERR_IO, source, offset, "%s needs %s, which is not installed (%s)", user,
                  l->names[0], l->package);
    pthread_mutex_unlock(&lock);
    return loaded ? l->functions : NULL;
}
