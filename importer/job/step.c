#include "importer/job/step.h"

#include <stdlib.h>
#include <string.h>

/* What trainers write before the number; '-' or '_' may follow. */
static const char *const prefixes[] = {"checkpoint", "ckpt", "global_step", "step", "iter"};

static bool step_number(const char *at, const char *end, int64_t *value)
{
    if (at < end && (*at == '-' || *at == '_'))
        at++;
    if (at == end || end - at > 18)
        return false;
    for (*value = 0; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *value = *value * 10 + (*at - '0');
    }
    return true;
}

bool step_of_folder(const char *path, int64_t *step, size_t *run_length)
{
    const char *end = strrchr(path, '/');
    const char *begin = end;
    while (begin && begin > path && begin[-1] != '/')
        begin--;
    if (!begin || begin <= path + 1)
        return false;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t len = strlen(prefixes[i]);
        if ((size_t)(end - begin) > len && memcmp(begin, prefixes[i], len) == 0 &&
            step_number(begin + len, end, step)) {
            *run_length = (size_t)(begin - 1 - path);
            return true;
        }
    }
    return false;
}

bool step_of_checkpoint(const char *name, int64_t *step)
{
    static const char *const names[] = {"checkpoint_", "streaming_params_",
                                        "streaming_train_state_"};
    const char *inner = strstr(name, ".checkpoint_");
    const char *begin = inner ? inner + 1 : name;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(begin, names[i], len) != 0)
            continue;
        const char *digits = begin + len + (begin[len] == '-');
        size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > 18 || digits[count])
            return false;
        *step = strtoll(begin + len, NULL, 10);
        return true;
    }
    return false;
}
