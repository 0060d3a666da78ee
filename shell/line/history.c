#include "shell/line/history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/base/text.h"
#include "shell/session/session.h"

#define NEWLINE '\1' /* stands for a newline inside an entry */

static void replace(char *text, char from, char to)
{
    for (char *at = text; (at = strchr(at, from)); at++)
        *at = to;
}

char *history_path(void)
{
    const char *state = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");
    struct text path = {0};
    if (state && *state == '/')
        text_addf(&path, "%s/ckptdb/history", state);
    else if (home && *home == '/')
        text_addf(&path, "%s/.local/state/ckptdb/history", home);
    else
        return NULL;
    char *result = text_steal(&path);
    /* Its folders are the user's alone. */
    for (char *slash = result; slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(result, 0700);
        *slash = '/';
    }
    return result;
}

static FILE *open_private(const char *path, int flags, const char *mode)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* Replace the file by one with the last lines only. */
static void cut_back(const char *path, char *const *ring, size_t count)
{
    struct text temporary = {0};
    text_addf(&temporary, "%s.new", path);
    FILE *out = text_str(&temporary)
                    ? open_private(text_str(&temporary), O_WRONLY | O_CREAT | O_TRUNC, "w")
                    : NULL;
    for (size_t i = count - HISTORY_LINES; out && i < count; i++)
        fprintf(out, "%s\n", ring[i % HISTORY_LINES]);
    if (out && fclose(out) == 0)
        rename(text_str(&temporary), path);
    text_release(&temporary);
}

void history_load(const char *path, void (*take)(void *context, const char *line), void *context)
{
    char **ring = calloc(HISTORY_LINES, sizeof(*ring)), *line = NULL;
    FILE *in = ring ? fopen(path, "re") : NULL;
    size_t count = 0, space = 0;
    ssize_t len;
    while (in && (len = getline(&line, &space, in)) > 0) {
        line[len - (line[len - 1] == '\n')] = '\0';
        free(ring[count % HISTORY_LINES]);
        ring[count++ % HISTORY_LINES] = line;
        line = NULL;
        space = 0;
    }
    if (in)
        fclose(in);
    if (count > (size_t)2 * HISTORY_LINES)
        cut_back(path, ring, count);
    for (size_t i = count > HISTORY_LINES ? count - HISTORY_LINES : 0; i < count; i++) {
        replace(ring[i % HISTORY_LINES], NEWLINE, '\n');
        take(context, ring[i % HISTORY_LINES]);
    }
    for (size_t i = 0; ring && i < HISTORY_LINES; i++)
        free(ring[i]);
    free(ring);
    free(line);
}

void history_append(const char *path, const char *entry)
{
    char *line = strdup(entry);
    FILE *out = line ? open_private(path, O_WRONLY | O_CREAT | O_APPEND, "a") : NULL;
    if (out) {
        replace(line, '\n', NEWLINE);
        fprintf(out, "%s\n", line);
        fclose(out);
    }
    free(line);
}
