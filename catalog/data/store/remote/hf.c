/*
 * hf.c - repositories of the Hugging Face hub.
 *
 *   hf://ORG/REPO[@REVISION]/PATH     hf://datasets/ORG/REPO[@REVISION]/PATH
 *   GET $HF_ENDPOINT/api/models/ORG/REPO/revision/REVISION         which commit that is
 *   GET $HF_ENDPOINT/api/models/ORG/REPO/tree/COMMIT/FOLDER        what is in a folder, in pages
 *   GET $HF_ENDPOINT/ORG/REPO/resolve/COMMIT/PATH                  a file, mostly by a redirect to another host
 *
 * A file's state is its object: its SHA-256 where it is stored with git-lfs, else git's object id. It is the
 * same in every commit that does not change the file. All requests name one commit, so a branch may move meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"
#include "catalog/data/store/remote/kind.h"

#define TOKEN_BYTES 512
#define HEX         "0123456789abcdef"
#define COMMIT_LEN  ((size_t)40)

struct hub_place {
    const char *api; /* "models", "datasets" */
    const char *web; /* what is before ORG in the address of a page: "", "datasets/" */
    const char *repo, *revision, *below;
    size_t repo_len, revision_len;
};

static struct hub_place hub_place(const char *path)
{
    static const char datasets[] = "hf://datasets/";
    const bool data = strncmp(path, datasets, sizeof(datasets) - 1) == 0;
    struct hub_place p = {.api = data ? "datasets" : "models", .web = data ? "datasets/" : ""};
    p.repo = path + (data ? sizeof(datasets) - 1 : strlen("hf://"));
    const char *slash = strchr(p.repo, '/');
    const size_t len =
        slash ? (size_t)(slash + 1 - p.repo) + strcspn(slash + 1, "/") : strlen(p.repo);
    const char *at = memchr(p.repo, '@', len);
    p.repo_len = at ? (size_t)(at - p.repo) : len;
    p.revision = at ? at + 1 : "main";
    p.revision_len = at ? len - p.repo_len - 1 : strlen("main");
    p.below = p.repo + len + (p.repo[len] == '/');
    return p;
}

/* The token of this user: one word; "" if there is none. */
static void read_token(char out[TOKEN_BYTES])
{
    const char *given = fetch_variable("HF_TOKEN"), *file = fetch_variable("HF_TOKEN_PATH");
    const char *home = fetch_variable("HF_HOME"), *cache = fetch_variable("XDG_CACHE_HOME"),
               *user = fetch_variable("HOME");
    struct text path = {.limit = 8192};
    out[0] = '\0';
    if (file)
        text_adds(&path, file);
    else if (home)
        text_addf(&path, "%s/token", home);
    else
        text_addf(&path, "%s%s/huggingface/token",
                  cache  ? cache
                  : user ? user
                         : "",
                  cache ? "" : "/.cache");
    FILE *f = given || !text_str(&path) ? NULL : fopen(path.at, "re");
    if (given)
        snprintf(out, TOKEN_BYTES, "%s", given);
    else if (f && !fgets(out, TOKEN_BYTES, f))
        out[0] = '\0';
    if (f)
        fclose(f);
    out[strcspn(out, " \t\r\n")] = '\0';
    text_release(&path);
}

/* The beginning of each URL, and the credentials. */
static void begin_request(struct request *q)
{
    char token[TOKEN_BYTES];
    const char *endpoint = fetch_variable("HF_ENDPOINT");
    fetch_endpoint(&q->url, endpoint ? endpoint : "https://huggingface.co");
    q->denied =
        "gated or private, or there is no such repository: accept its terms on its page, and set HF_TOKEN "
        "to a token that may read it";
    read_token(token);
    if (*token)
        text_addf(&q->headers[0], "Authorization: Bearer %s", token);
}

static enum status hub_pin(const char *path, char pin[PIN_MAX], struct error *err)
{
    const struct hub_place p = hub_place(path);
    struct request q = {.path = path};
    struct arena arena = {.err = err};
    if (!p.repo_len || !memchr(p.repo, '/', p.repo_len))
        return error_set(err, ERR_ARGUMENT, path, NO_OFFSET, "no repository: hf://ORG/REPO is one");
    if (p.revision_len == COMMIT_LEN && strspn(p.revision, HEX) >= COMMIT_LEN) {
        memcpy(pin, p.revision, COMMIT_LEN);
        pin[COMMIT_LEN] = '\0';
        return OK;
    }
    begin_request(&q);
    text_addf(&q.url, "/api/%s/", p.api);
    fetch_escape(&q.url, p.repo, p.repo_len, "/");
    text_adds(&q.url, "/revision/");
    fetch_escape(&q.url, p.revision, p.revision_len, "%");
    text_adds(&q.url, "?expand=sha");
    const struct json_value *sha = json_get(fetch_json(&q, &arena, err), "sha");
    const size_t len = json_type_of(sha) == JSON_STRING ? sha->text.len : 0;
    if (len && len < PIN_MAX && strspn((const char *)sha->text.at, HEX) == len)
        memcpy(pin, sha->text.at, len + 1);
    else if (err->status == OK)
        error_set(err, ERR_CORRUPT, path, NO_OFFSET, "the hub does not say which commit it is");
    request_release(&q);
    arena_release(&arena);
    return err->status;
}

static enum status hub_request(const char *path, const struct remote_state *is, struct request *q,
                               struct error *err)
{
    (void)err;
    const struct hub_place p = hub_place(path);
    begin_request(q);
    text_addf(&q->url, "/%s", p.web);
    fetch_escape(&q->url, p.repo, p.repo_len, "/");
    text_adds(&q->url, "/resolve/");
    text_addf(&q->url, "%s/", is->pin);
    fetch_escape(&q->url, p.below, strlen(p.below), "/");
    return OK;
}

/* One file or folder; its path is the repository's. False: it lies elsewhere. */
static bool add_object(struct remote_folder *f, const char *below, const struct json_value *v)
{
    const struct json_value *path = json_get(v, "path"), *lfs = json_get(v, "lfs");
    const struct json_value *id = json_get(v, "oid"), *size = json_get(v, "size");
    const size_t len = strlen(below), skip = len ? len + 1 : 0;
    char tag[TAG_MAX] = "";
    if (json_get(lfs, "oid"))
        id = json_get(lfs, "oid");
    if (json_type_of(path) != JSON_STRING || path->text.len <= skip ||
        (len && (memcmp(path->text.at, below, len) != 0 || path->text.at[len] != '/')))
        return false;
    struct remote_entry e = {.folder = json_string_is(json_get(v, "type"), "directory"),
                             .tag = tag};
    if (json_type_of(size) == JSON_NUMBER)
        e.size = strtoull((const char *)size->text.at, NULL, 10);
    if (json_type_of(id) == JSON_STRING)
        snprintf(tag, sizeof(tag), "%s", (const char *)id->text.at);
    remote_add(f, (const char *)path->text.at + skip, path->text.len - skip, e);
    return true;
}

static void read_page(struct remote_folder *f, const void *context, const struct text *page,
                      struct text *next)
{
    const struct hub_place *p = context;
    struct error *err = f->arena.err;
    struct arena arena = {.err = err};
    (void)next; /* a Link, which it holds already */
    const struct json_value *list =
        json_read_tree((struct bytes){(const uint8_t *)page->at, page->len}, &arena, err);
    bool good = json_type_of(list) == JSON_ARRAY;
    for (const struct json_value *v = good ? list->first : NULL; v && good && err->status == OK;
         v = v->next)
        good = add_object(f, p->below, v);
    if (!good)
        error_set(err, ERR_CORRUPT, f->path, NO_OFFSET, "the hub's list is malformed");
    arena_release(&arena);
}

static enum status hub_list(const char *path, struct remote_folder *f, struct error *err)
{
    const struct hub_place p = hub_place(path);
    struct request q = {.path = path};
    begin_request(&q);
    const size_t host = q.url.len;
    text_addf(&q.url, "/api/%s/", p.api);
    fetch_escape(&q.url, p.repo, p.repo_len, "/");
    text_adds(&q.url, "/tree/");
    text_adds(&q.url, f->pin);
    if (*p.below)
        text_addc(&q.url, '/');
    fetch_escape(&q.url, p.below, strlen(p.below), "/");
    remote_pages(f, &q, host, read_page, &p);
    request_release(&q);
    return err->status;
}

const struct remote_kind remote_hub = {
    .scheme = "hf://", .root = 2, .request = hub_request, .pin = hub_pin, .list = hub_list};
const struct remote_kind remote_hub_data = {.scheme = "hf://datasets/",
                                            .root = 2,
                                            .request = hub_request,
                                            .pin = hub_pin,
                                            .list = hub_list};
