/*
 * test_formats.c - every case of tests/fixtures/FORMAT, by the verdict in its name
 * (tests/fixtures/README.md), and every y_ file cut and changed in many ways.
 *
 * CKPTDB_SEED chooses what a sanitizer's run changes (unit.h). TESTS is the tests folder; without it,
 * the one of the working directory.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "importer/job/job_run.h"
#include "tests/unit/unit.h"

/* At a file's beginning; its end is cut and changed too. */
#define MUTATED_BYTES 4096
static unsigned seed;

#define FORMAT(x) extern const struct format format_##x;
#include "importer/formats.def"
#undef FORMAT

static const struct {
    const char *folder;
    const struct format *format;
} all[] = {
#define FORMAT(x) {#x, &format_##x},
#include "importer/formats.def"
#undef FORMAT
};

/* One case, or one file of a case that is a folder. */
struct run {
    const struct format *format; /* that it is under */
    const char *path;            /* absolute */
    struct listing {
        const char *names[4096];
        uint64_t count;
    } beside; /* plain files of its folder */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int len = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return len > 0 && len < PATH_MAX;
}

/* Entries of a folder, sorted. */
static void list_folder(const char *path, bool files_only, struct listing *out)
{
    char full[PATH_MAX];
    struct stat st;
    DIR *dir = opendir(path);
    out->count = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            !join(full, path, e->d_name) || stat(full, &st) != 0 ||
            (files_only && !S_ISREG(st.st_mode)))
            continue;
        assert_true(out->count < 4096);
        out->names[out->count++] = strdup(e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(out->names, out->count, sizeof(out->names[0]), by_name);
}

static void listing_free(struct listing *l)
{
    for (uint64_t i = 0; i < l->count; i++)
        free((char *)l->names[i]);
    l->count = 0;
}

static const struct format *recognise(const char *path, const uint8_t *bytes, size_t len)
{
    const char *slash = strrchr(path, '/');
    size_t head = len < PROBE_HEAD_BYTES ? len : PROBE_HEAD_BYTES;
    size_t tail = len < PROBE_TAIL_BYTES ? len : PROBE_TAIL_BYTES;
    struct probe p = {{bytes, head}, {0}, slash ? slash + 1 : path, len, NULL};
    const struct format *f = format_for_file(&p);
    p.tail = (struct bytes){bytes + len - tail, tail};
    return f ? f : format_for_file(&p);
}

/* `bytes` NULL: a directory. The batch is the caller's. */
static struct batch *index_bytes(const struct run *r, const uint8_t *bytes, size_t len,
                                 struct error *err)
{
    struct batch *batch = NULL;
    struct source *source = NULL;
    *err = (struct error){.offset = NO_OFFSET};
    if (bytes)
        assert_int_equal(
            source_open_memory(r->path, (struct bytes){bytes, len}, false, &source, err), OK);
    struct job_request request = {
        .format = r->format,
        .path = r->path,
        .checkpoint_path = r->path,
        .siblings = r->beside.names,
        .sibling_count = r->beside.count,
        .source = source,
    };
    job_run_index(&request, &batch, err);
    return batch;
}

/* Whatever the bytes were: rows, or a reason why not. */
static bool ended_well(const struct batch *batch, const struct error *err)
{
    if (!batch)
        return false;
    if (err->status == OK)
        return batch->layout && !batch->failed;
    return batch->failed && batch->issue_count && err->message[0];
}

static bool mutate(const struct run *r, const uint8_t *bytes, size_t len)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xFF};
    size_t most = len < MUTATED_BYTES ? len : MUTATED_BYTES;
    uint8_t *copy = malloc(len + 1);
    bool good = true;
    for (size_t i = seed % SAMPLE; i < most * 4 && good; i += SAMPLE) {
        size_t at = i / 4, cut = i % 4 == 3 ? at : len;
        struct error err;
        memcpy(copy, bytes, len);
        if (i % 4 < 3)
            copy[at] ^= masks[i % 4];
        /* A block of its own size, so that a sanitizer sees each byte too far. */
        uint8_t *exact = malloc(cut ? cut : 1);
        memcpy(exact, copy, cut);
        struct batch *batch = index_bytes(r, exact, cut, &err);
        good = ended_well(batch, &err);
        if (!good)
            print_error("%s: byte %zu, mutation %zu\n", r->path, at, i % 4);
        batch_free(batch);
        free(exact);
    }
    free(copy);
    return good;
}

static bool has_code(const struct batch *batch, const char *code, size_t len)
{
    for (uint64_t i = 0; i < batch->issue_count; i++)
        if (strncmp(batch->issues[i].code, code, len) == 0 && !batch->issues[i].code[len])
            return true;
    return false;
}

static void print_outcome(const char *path, const struct batch *batch)
{
    print_error("%s: not what its name says; issues:\n", path);
    for (uint64_t i = 0; i < batch->issue_count; i++)
        print_error("    %s: %s\n", batch->issues[i].code, batch->issues[i].message);
}

/* A case recognised as its format: y_WHAT or n_CODE_WHAT. */
static bool judge(const struct run *r, const char *name, const uint8_t *bytes, size_t len)
{
    struct error err;
    struct batch *batch = index_bytes(r, bytes, len, &err);
    bool good = ended_well(batch, &err);
    if (name[0] == 'y')
        good = good && err.status == OK && batch->issue_count == 0;
    else
        good = good && has_code(batch, name + 2, strcspn(name + 2, "_"));
    if (!good)
        print_outcome(r->path, batch);
    batch_free(batch);
    return good && (name[0] != 'y' || !bytes || mutate(r, bytes, len));
}

/* The file of a folder that is recognised as `format`; false: none. */
static bool find_primary(const char *folder, const struct format *format, char path[PATH_MAX])
{
    struct listing files;
    bool found = false;
    list_folder(folder, true, &files);
    for (uint64_t i = 0; i < files.count && !found; i++) {
        size_t len;
        assert_true(join(path, folder, files.names[i]));
        uint8_t *bytes = read_file(path, &len);
        found = recognise(path, bytes, len) == format;
        free(bytes);
    }
    listing_free(&files);
    return found;
}

static bool run_file(const struct format *format, const char *name, const char *path)
{
    static struct run r; /* too big for a stack under a sanitizer */
    char folder[PATH_MAX];
    size_t len;
    uint8_t *bytes = read_file(path, &len);
    const struct format *got = recognise(path, bytes, len);
    bool unknown = strncmp(name, "n_unrecognised_", 15) == 0;
    bool good = got == (unknown ? NULL : format);
    if (!good)
        print_error("%s: recognised as %s\n", path, got ? got->name : "nothing");
    if (good && !unknown) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
        r.format = format;
        r.path = path;
        list_folder(folder, true, &r.beside);
        good = judge(&r, name, bytes, len);
        listing_free(&r.beside);
    }
    free(bytes);
    return good;
}

/* --- folders ---------------------------------------------------------------------------- */

static uint8_t head_bytes[PROBE_HEAD_BYTES];

static struct bytes peek(const struct probe_dir *p, const char *name)
{
    char path[PATH_MAX];
    struct bytes head = {0};
    FILE *f = join(path, p->looking, name) ? fopen(path, "rb") : NULL;
    if (f) {
        head.at = head_bytes;
        head.len = fread(head_bytes, 1, sizeof(head_bytes), f);
        fclose(f);
    }
    return head;
}

/* Is the folder itself a checkpoint of the format? */
static bool is_folder_of(const struct format *format, char *path)
{
    static struct listing files, dirs;
    bool is = false;
    list_folder(path, true, &files);
    list_folder(path, false, &dirs);
    for (uint64_t i = dirs.count; i-- > 0;) /* the files among them */
        if (bsearch(&dirs.names[i], files.names, files.count, sizeof(files.names[0]), by_name)) {
            free((char *)dirs.names[i]);
            memmove(&dirs.names[i], &dirs.names[i + 1], (--dirs.count - i) * sizeof(dirs.names[0]));
        }
    struct probe_dir p = {.name = strrchr(path, '/') + 1,
                          .files = files.names,
                          .file_count = files.count,
                          .dirs = dirs.names,
                          .dir_count = dirs.count,
                          .peek = peek,
                          .looking = path};
    is = format->probe_dir && format->probe_dir(&p) > 0;
    listing_free(&files);
    listing_free(&dirs);
    return is;
}

static bool run_case(const struct format *format, const char *folder, const char *name)
{
    static struct run r;
    char path[PATH_MAX], primary[PATH_MAX];
    struct stat st;
    if (!join(path, folder, name) || stat(path, &st) != 0)
        return false;
    if (!S_ISDIR(st.st_mode))
        return run_file(format, name, path);
    if (is_folder_of(format, path)) {
        r = (struct run){.format = format, .path = path};
        list_folder(path, true, &r.beside);
        const bool good = judge(&r, name, NULL, 0);
        listing_free(&r.beside);
        return good;
    }
    if (find_primary(path, format, primary))
        return run_file(format, name, primary);
    print_error("%s: nothing in it is recognised as %s\n", path, format->name);
    return false;
}

TEST(test_cases)
{
    static struct listing cases;
    char base[PATH_MAX], fixtures[PATH_MAX], folder[PATH_MAX];
    const char *tests = getenv("TESTS");
    unsigned count = 0, failed = 0;
    seed = choose_seed();
    assert_non_null(realpath(tests ? tests : "tests", base));
    assert_true(join(fixtures, base, "fixtures"));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_true(join(folder, fixtures, all[i].folder));
        list_folder(folder, false, &cases);
        for (uint64_t k = 0; k < cases.count; k++) {
            const char *name = cases.names[k];
            if (strncmp(name, "y_", 2) != 0 && strncmp(name, "n_", 2) != 0)
                continue;
            failed += !run_case(all[i].format, folder, name);
            count++;
        }
        listing_free(&cases);
    }
    print_message("%u cases\n", count);
    assert_int_equal(failed, 0);
    assert_true(count > 300);
}

RUN_TESTS(NULL, NULL)
