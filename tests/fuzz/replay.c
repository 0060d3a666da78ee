/*
 * replay.c - run a fuzz target over kept files, on machines without a fuzzer.
 *
 *   replay_NAME FILE-OR-FOLDER...
 *
 * Every input is in a block of its own size, so that a sanitizer sees each byte too
 * far. An input is named before it runs: the last line tells which one crashed.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        perror(path);
        if (f)
            fclose(f);
        return 1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    int failed = !data || fread(data, 1, size, f) != size;
    printf("%s\n", path);
    fflush(stdout);
    if (!failed)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    fclose(f);
    return failed;
}

static int replay(const char *path);

static int replay_folder(const char *path)
{
    char full[PATH_MAX];
    int failed = 0, count = 0;
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return 1;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        int len = snprintf(full, sizeof(full), "%s/%s", path, e->d_name);
        failed |= len < 0 || (size_t)len >= sizeof(full) || replay(full);
        count++;
    }
    closedir(dir);
    return failed || !count;
}

static int replay(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? replay_folder(path) : replay_file(path);
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
