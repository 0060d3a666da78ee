/*
 * gs.c - buckets of Google Cloud Storage.
 *
 *   gs://BUCKET/OBJECT
 *   GET https://storage.googleapis.com/storage/v1/b/BUCKET/o?delimiter=/&prefix=FOLDER/[&pageToken=T]  a folder
 *   GET .../o/OBJECT?alt=media&ifGenerationMatch=G                                                     a file
 *
 * A file's state is its generation. Credentials come from $GOOGLE_APPLICATION_CREDENTIALS or gcloud's own file:
 * a service account, which signs for itself, or a user who has logged in; each gets a token for an hour. Without
 * either, and on $STORAGE_EMULATOR_HOST, requests are anonymous.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/base/json.h"
#include "catalog/data/store/loaded.h"
#include "catalog/data/store/remote/kind.h"

#define TOKEN_BYTES       8192
#define CREDENTIALS_BYTES ((size_t)65536)
#define MARGIN_SECONDS    120 /* a token is not used this shortly before it expires */

/* --- signing, by OpenSSL, whose headers a build need not have --------------------------------- */

struct libcrypto {
    void *(*open)(const void *bytes, int len);
    int (*close)(void *file);
    void *(*read_key)(void *file, void **key, int (*ask)(char *, int, int, void *), void *password);
    void (*free_key)(void *key);
    void *(*begin)(void);
    void (*end)(void *job);
    const void *(*sha256)(void);
    int (*set)(void *job, void **context, const void *digest, void *engine, void *key);
    int (*sign)(void *job, uint8_t *to, size_t *len, const uint8_t *what, size_t what_len);
};

static const struct loaded_symbol crypto_symbols[] = {
    {"BIO_new_mem_buf", offsetof(struct libcrypto, open)},
    {"BIO_free", offsetof(struct libcrypto, close)},
    {"PEM_read_bio_PrivateKey", offsetof(struct libcrypto, read_key)},
    {"EVP_PKEY_free", offsetof(struct libcrypto, free_key)},
    {"EVP_MD_CTX_new", offsetof(struct libcrypto, begin)},
    {"EVP_MD_CTX_free", offsetof(struct libcrypto, end)},
    {"EVP_sha256", offsetof(struct libcrypto, sha256)},
    {"EVP_DigestSignInit", offsetof(struct libcrypto, set)},
    {"EVP_DigestSign", offsetof(struct libcrypto, sign)},
};

/* RSA's signature (PKCS #1, SHA-256) by a key as PEM. False: this is no such key. */
static bool sign(const struct libcrypto *c, const struct json_value *pem, const struct text *what,
                 uint8_t *out, size_t *len)
{
    static char no_password[] = ""; /* else OpenSSL asks for one */
    void *file = pem->text.len < INT_MAX ? c->open(pem->text.at, (int)pem->text.len) : NULL;
    void *key = file ? c->read_key(file, NULL, NULL, no_password) : NULL;
    void *job = key ? c->begin() : NULL;
    const bool good = job && c->set(job, NULL, c->sha256(), NULL, key) == 1 &&
                      c->sign(job, out, len, (const uint8_t *)what->at, what->len) == 1;
    c->end(job);
    c->free_key(key);
    c->close(file);
    return good;
}

/* --- credentials ------------------------------------------------------------------------------ */

/* A member that must be a text without NUL; NULL and an error. */
static const char *credential(const struct json_value *file, const char *name, const char *path,
                              struct error *err)
{
    const struct json_value *v = json_get(file, name);
    if (json_type_of(v) == JSON_STRING && !memchr(v->text.at, '\0', v->text.len))
        return (const char *)v->text.at;
    error_set(err, ERR_CORRUPT, path, NO_OFFSET, "has no \"%s\": not Google's credentials", name);
    return NULL;
}

/* A service account's signed claim, for the token server. */
static void add_assertion(struct text *form, const struct json_value *file, const char *uri,
                          const char *path, struct error *err)
{
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so", NULL};
    static struct libcrypto table;
    static struct loaded_library library = {.names = names,
                                            .package = "Debian package libssl3",
                                            .symbols = crypto_symbols,
                                            .symbol_count =
                                                sizeof(crypto_symbols) / sizeof(*crypto_symbols),
                                            .functions = &table};
    static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
    const char *email = credential(file, "client_email", path, err);
    const char *key = credential(file, "private_key", path, err);
    const struct libcrypto *c =
        email && key ? loaded_library(&library, "a service account of Google", path, NO_OFFSET, err)
                     : NULL;
    const long long now = (long long)time(NULL);
    uint8_t signature[2048];
    size_t len = sizeof(signature);
    struct text claims = {0}, signed_part = {0};
    text_adds(&claims, "{\"iss\":");
    text_json(&claims, email ? email : "", email ? strlen(email) : 0);
    text_adds(&claims,
              ",\"scope\":\"https://www.googleapis.com/auth/devstorage.read_only\",\"aud\":");
    text_json(&claims, uri, strlen(uri));
    text_addf(&claims, ",\"iat\":%lld,\"exp\":%lld}", now, now + 3600);
    text_base64(&signed_part, (const uint8_t *)head, sizeof(head) - 1, true);
    text_addc(&signed_part, '.');
    text_base64(&signed_part, (const uint8_t *)claims.at, claims.len, true);
    if (claims.failed || signed_part.failed)
        error_memory_at(err, path);
    else if (c && !sign(c, json_get(file, "private_key"), &signed_part, signature, &len))
        error_set(err, ERR_CORRUPT, path, NO_OFFSET, "its private_key cannot sign");
    text_adds(form, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
    text_add(form, signed_part.at, signed_part.len);
    text_addc(form, '.');
    text_base64(form, signature, err->status == OK ? len : 0, true);
    text_release(&claims);
    text_release(&signed_part);
}

static void add_refresh(struct text *form, const struct json_value *file, const char *path,
                        struct error *err)
{
    static const char *const names[] = {"client_id", "client_secret", "refresh_token"};
    text_adds(form, "grant_type=refresh_token");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && err->status == OK; i++) {
        const char *value = credential(file, names[i], path, err);
        text_addf(form, "&%s=", names[i]);
        fetch_escape(form, value ? value : "", value ? strlen(value) : 0, "");
    }
}

struct token {
    char value[TOKEN_BYTES]; /* "": anonymous */
    time_t until;
};

static void take_token(struct token *t, const struct json_value *v, const char *path,
                       struct error *err)
{
    const struct json_value *token = json_get(v, "access_token"), *life = json_get(v, "expires_in");
    bool good = json_type_of(token) == JSON_STRING && token->text.len < TOKEN_BYTES;
    for (size_t i = 0; good && i < token->text.len; i++)
        good = token->text.at[i] > ' ' && token->text.at[i] < 0x7f;
    if (!good && err->status == OK)
        error_set(err, ERR_IO, path, NO_OFFSET, "the server of its token_uri sends no token");
    if (!good)
        return;
    const long long seconds =
        json_type_of(life) == JSON_NUMBER ? strtoll((const char *)life->text.at, NULL, 10) : 0;
    memcpy(t->value, token->text.at, token->text.len + 1);
    t->until = time(NULL) + (time_t)(seconds > 0 && seconds < 86400 ? seconds : 600);
}

/* Ask for a token with the contents of the credentials file. */
static void ask_token(struct token *t, const struct text *json, const char *path, struct error *err)
{
    static const char user_uri[] = "https://oauth2.googleapis.com/token";
    struct arena arena = {.err = err};
    struct error ignored = {0};
    const struct json_value *file =
        json_read_tree((struct bytes){(const uint8_t *)json->at, json->len}, &arena, &ignored);
    struct request q = {.path = path,
                        .denied = "the account is not known, or its key is not valid"};
    const char *type = credential(file, "type", path, err), *uri = user_uri;
    if (type && strcmp(type, "service_account") == 0) {
        uri = credential(file, "token_uri", path, err);
        add_assertion(&q.form, file, uri ? uri : "", path, err);
    } else if (type && strcmp(type, "authorized_user") == 0) {
        if (json_get(file, "token_uri"))
            uri = credential(file, "token_uri", path, err);
        add_refresh(&q.form, file, path, err);
    } else if (type) {
        error_set(err, ERR_UNSUPPORTED, path, NO_OFFSET,
                  "its \"type\" is neither service_account nor authorized_user");
    }
    text_adds(&q.url, uri ? uri : "");
    if (err->status == OK)
        take_token(t, fetch_json(&q, &arena, err), path, err);
    request_release(&q);
    arena_release(&arena);
}

static void read_file(struct text *out, const char *path, bool must, struct error *err)
{
    char part[4096];
    size_t n = 0;
    FILE *f = fopen(path, "re");
    while (f && (n = fread(part, 1, sizeof(part), f)))
        text_add(out, part, n);
    if ((!f && must) || (f && ferror(f)) || out->failed)
        error_set(err, ERR_IO, path, NO_OFFSET,
                  "these credentials of Google's cannot be read ($GOOGLE_APPLICATION_CREDENTIALS)");
    if (f)
        fclose(f);
}

/* One token for all threads. */
static void add_token(struct request *q, struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct token token;
    const char *named = fetch_variable("GOOGLE_APPLICATION_CREDENTIALS");
    const char *folder = fetch_variable("CLOUDSDK_CONFIG"), *home = fetch_variable("HOME");
    struct text path = {.limit = 8192}, file = {.limit = CREDENTIALS_BYTES};
    if (named)
        text_adds(&path, named);
    else if (folder || home)
        text_addf(&path, "%s%s/application_default_credentials.json", folder ? folder : home,
                  folder ? "" : "/.config/gcloud");
    pthread_mutex_lock(&lock);
    if (path.len && !path.failed && time(NULL) > token.until - MARGIN_SECONDS) {
        read_file(&file, path.at, named != NULL, err);
        token = (struct token){0};
        if (err->status == OK && (named || file.len))
            ask_token(&token, &file, path.at, err);
    }
    if (*token.value)
        text_addf(&q->headers[0], "Authorization: Bearer %s", token.value);
    pthread_mutex_unlock(&lock);
    text_release(&path);
    text_release(&file);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The URL of a bucket's objects, and the credentials. Returns the length of the host. */
static size_t gs_begin(struct request *q, const char *bucket, size_t len, struct error *err)
{
    static const char api[] = "/storage/v1";
    const char *emulator = fetch_variable("STORAGE_EMULATOR_HOST");
    const char *other = fetch_variable("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
    if (emulator && !strstr(emulator, "://"))
        text_adds(&q->url, "http://");
    fetch_endpoint(&q->url, emulator ? emulator : other ? other : "https://storage.googleapis.com");
    if (!emulator && q->url.len && text_ends_in(q->url.at, q->url.len, api))
        q->url.at[q->url.len -= sizeof(api) - 1] = '\0';
    const size_t host = q->url.len;
    text_addf(&q->url, "%s/b/", api);
    fetch_escape(&q->url, bucket, len, "");
    text_adds(&q->url, "/o");
    q->denied = "the account of $GOOGLE_APPLICATION_CREDENTIALS may not read it, or there is none";
    if (!emulator)
        add_token(q, err);
    return host;
}

static enum status gs_request(const char *path, const struct remote_state *is, struct request *q,
                              struct error *err)
{
    size_t len;
    const char *object, *bucket = kind_bucket(path, &len, &object);
    gs_begin(q, bucket, len, err);
    text_addc(&q->url, '/');
    fetch_escape(&q->url, object, strlen(object), "");
    text_adds(&q->url, "?alt=media");
    if (*is->tag)
        text_addf(&q->url, "&ifGenerationMatch=%s", is->tag);
    return err->status;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct gs_list {
    const char *url;    /* up to the token of a page */
    const char *folder; /* "" or "a/b/" */
};

/* A name is the folder's, then the entry's. False: it is elsewhere. */
static bool gs_listed(struct remote_folder *f, const struct gs_list *l, const struct json_value *v,
                      struct remote_entry e)
{
    const size_t skip = strlen(l->folder);
    size_t len = json_type_of(v) == JSON_STRING ? v->text.len : 0;
    const bool inside = len >= skip && len && memcmp(v->text.at, l->folder, skip) == 0;
    if (inside && e.folder && v->text.at[len - 1] == '/')
        len--;
    if (inside && len > skip) /* else what stands for the folder itself */
        remote_add(f, (const char *)v->text.at + skip, len - skip, e);
    return inside;
}

/* {"name", "size", "generation", "updated"}: numbers are strings in this list. */
static bool add_item(struct remote_folder *f, const struct gs_list *l, const struct json_value *v)
{
    const struct json_value *updated = json_get(v, "updated");
    const char *numbers[] = {"size", "generation"};
    for (size_t i = 0; i < 2; i++) {
        const struct json_value *n = json_get(v, numbers[i]);
        const size_t len = json_type_of(n) == JSON_STRING ? n->text.len : 0;
        numbers[i] = len && len < 20 && strspn((const char *)n->text.at, "0123456789") == len
                         ? (const char *)n->text.at
                         : NULL;
    }
    struct remote_entry e = {.tag = numbers[1]};
    e.size = numbers[0] ? strtoull(numbers[0], NULL, 10) : 0;
    if (json_type_of(updated) == JSON_STRING)
        e.modified = remote_time((const char *)updated->text.at);
    return numbers[0] && numbers[1] && e.size < INT64_MAX &&
           gs_listed(f, l, json_get(v, "name"), e);
}

static void gs_page(struct remote_folder *f, const void *context, const struct text *page,
                    struct text *next)
{
    const struct gs_list *l = context;
    struct error *err = f->arena.err, ignored = {0};
    struct arena arena = {.err = err};
    const struct json_value *list =
        json_read_tree((struct bytes){(const uint8_t *)page->at, page->len}, &arena, &ignored);
    const struct json_value *items = json_get(list, "items"),
                            *prefixes = json_get(list, "prefixes");
    const struct json_value *token = json_get(list, "nextPageToken");
    bool good = json_type_of(list) == JSON_OBJECT;
    for (const struct json_value *v = items ? items->first : NULL; v && good; v = v->next)
        good = add_item(f, l, v);
    for (const struct json_value *v = prefixes ? prefixes->first : NULL; v && good; v = v->next)
        good = gs_listed(f, l, v, (struct remote_entry){.folder = true, .tag = ""});
    if (!good)
        error_set(err, ERR_CORRUPT, f->path, NO_OFFSET, "the bucket's list is malformed");
    if (json_type_of(token) == JSON_STRING && token->text.len) {
        text_addf(next, "%s&pageToken=", l->url);
        fetch_escape(next, (const char *)token->text.at, token->text.len, "");
    }
    if (next->failed)
        error_memory_at(err, f->path);
    arena_release(&arena);
}

static enum status gs_list(const char *path, struct remote_folder *f, struct error *err)
{
    size_t len;
    const char *object, *bucket = kind_bucket(path, &len, &object);
    struct request q = {.path = path};
    struct text folder = {0};
    const size_t host = gs_begin(&q, bucket, len, err);
    text_addf(&folder, *object ? "%s/" : "%s", object);
    text_adds(&q.url,
              "?delimiter=%2F&fields=items(name%2Csize%2Cgeneration%2Cupdated)%2Cprefixes%2C"
              "nextPageToken&prefix=");
    fetch_escape(&q.url, folder.at, folder.len, "");
    char *url = strdup(text_str(&q.url) ? q.url.at : "");
    if (!url || folder.failed || q.url.failed)
        error_memory_at(err, path);
    if (err->status == OK) {
        const struct gs_list l = {url, folder.len ? folder.at : ""};
        remote_pages(f, &q, host, gs_page, &l);
    }
    if (err->status == OK && !f->count && *object)
        error_set(err, ERR_MISSING, path, NO_OFFSET, "no such folder");
    free(url);
    request_release(&q);
    text_release(&folder);
    return err->status;
}

const struct remote_kind remote_gs = {
    .scheme = "gs://", .root = 1, .request = gs_request, .list = gs_list};
