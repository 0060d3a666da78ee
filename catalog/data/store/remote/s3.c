/*
 * s3.c - buckets of Amazon S3, and of servers that speak its protocol.
 *
 *   s3://BUCKET/KEY
 *   GET https://BUCKET.s3.REGION.amazonaws.com/KEY, or $AWS_ENDPOINT_URL/BUCKET/KEY
 *   GET ?list-type=2&delimiter=/&prefix=FOLDER/[&continuation-token=T]       what is in a folder, in pages
 *
 * Keys and region come from $AWS_* or the profile in ~/.aws/credentials and ~/.aws/config; without keys nothing
 * is signed. libcurl signs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/data/store/remote/kind.h"

#define VALUE_BYTES 2048 /* of a setting, with its NUL: session tokens are long */

struct s3_settings {
    char key[VALUE_BYTES], secret[VALUE_BYTES], token[VALUE_BYTES], region[VALUE_BYTES];
    char endpoint[VALUE_BYTES];
};

/* --- what ~/.aws and the environment say ------------------------------------------------------ */

static void set_unless_set(char out[VALUE_BYTES], const char *value)
{
    if (value && !*out)
        snprintf(out, VALUE_BYTES, "%s", value);
}

/* "name = value" of a line; the value without space around it, or NULL. */
static const char *value_of(char *line, const char *name)
{
    char *at = line + strspn(line, " \t");
    const size_t len = strlen(name);
    if (strncmp(at, name, len) != 0)
        return NULL;
    at += len;
    at += strspn(at, " \t");
    if (*at != '=')
        return NULL;
    at += 1 + strspn(at + 1, " \t");
    at[strcspn(at, "\r\n")] = '\0';
    for (size_t n = strlen(at); n && (at[n - 1] == ' ' || at[n - 1] == '\t');)
        at[--n] = '\0';
    return at;
}

/* Take the settings of a file's section that are not set yet. */
static void read_profile(struct s3_settings *s, const char *path, const char *section)
{
    char line[2 * VALUE_BYTES];
    bool inside = false;
    const struct {
        const char *name;
        char *out;
    } names[] = {{"aws_access_key_id", s->key},
                 {"aws_secret_access_key", s->secret},
                 {"aws_session_token", s->token},
                 {"region", s->region},
                 {"endpoint_url", s->endpoint}};
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof(line), f)) {
        const char *end = *line == '[' ? strchr(line, ']') : NULL;
        if (end)
            inside = strlen(section) == (size_t)(end - line - 1) &&
                     strncmp(line + 1, section, strlen(section)) == 0;
        for (size_t i = 0; inside && !end && i < sizeof(names) / sizeof(*names); i++)
            set_unless_set(names[i].out, value_of(line, names[i].name));
    }
    if (f)
        fclose(f);
}

/* The file that a variable names, or one in ~/.aws. */
static void read_aws_file(struct s3_settings *s, const char *variable, const char *name,
                          const char *section)
{
    struct text path = {.limit = 8192};
    const char *given = fetch_variable(variable), *home = fetch_variable("HOME");
    if (given)
        text_adds(&path, given);
    else if (home)
        text_addf(&path, "%s/.aws/%s", home, name);
    read_profile(s, text_str(&path), section);
    text_release(&path);
}

static void read_settings(struct s3_settings *s)
{
    char section[256];
    const char *profile = fetch_variable("AWS_PROFILE");
    *s = (struct s3_settings){0};
    set_unless_set(s->key, fetch_variable("AWS_ACCESS_KEY_ID"));
    set_unless_set(s->secret, *s->key ? fetch_variable("AWS_SECRET_ACCESS_KEY") : NULL);
    set_unless_set(s->token, *s->key ? fetch_variable("AWS_SESSION_TOKEN") : NULL);
    set_unless_set(s->region, fetch_variable("AWS_REGION"));
    set_unless_set(s->region, fetch_variable("AWS_DEFAULT_REGION"));
    set_unless_set(s->endpoint, fetch_variable("AWS_ENDPOINT_URL_S3"));
    set_unless_set(s->endpoint, fetch_variable("AWS_ENDPOINT_URL"));
    struct s3_settings files = {0};
    read_aws_file(&files, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
                  profile ? profile : "default");
    snprintf(section, sizeof(section), "%s%s", profile ? "profile " : "",
             profile ? profile : "default");
    read_aws_file(&files, "AWS_CONFIG_FILE", "config", section);
    set_unless_set(s->region, files.region);
    set_unless_set(s->endpoint, files.endpoint);
    if (!*s->key) { /* a key and its secret come from one place */
        memcpy(s->key, files.key, VALUE_BYTES);
        memcpy(s->secret, files.secret, VALUE_BYTES);
        memcpy(s->token, files.token, VALUE_BYTES);
    }
    set_unless_set(s->region, "us-east-1");
}

/* --- requests --------------------------------------------------------------------------------- */

/* The URL of a bucket, and the credentials; the length of the host in *host, which no later page may leave. */
static void begin_request(struct request *q, const char *bucket, size_t len, size_t *host)
{
    struct s3_settings s;
    read_settings(&s);
    for (size_t n = strlen(s.endpoint); n && s.endpoint[n - 1] == '/';)
        s.endpoint[--n] = '\0';
    if (*s.endpoint) {
        text_adds(&q->url, s.endpoint);
        *host = q->url.len;
        text_addc(&q->url, '/');
        fetch_escape(&q->url, bucket, len, "");
    } else if (memchr(bucket, '.', len)) { /* such a host has no certificate */
        text_addf(&q->url, "https://s3.%s.amazonaws.com", s.region);
        *host = q->url.len;
        text_addc(&q->url, '/');
        fetch_escape(&q->url, bucket, len, "");
    } else {
        text_adds(&q->url, "https://");
        fetch_escape(&q->url, bucket, len, "");
        text_addf(&q->url, ".s3.%s.amazonaws.com", s.region);
        *host = q->url.len;
    }
    q->denied = "the keys of $AWS_* or ~/.aws/credentials may not read it, or there are none";
    if (*s.key && *s.secret) {
        text_addf(&q->credentials, "%s:%s", s.key, s.secret);
        text_addf(&q->signing, "aws:amz:%s:s3", s.region);
        if (*s.token)
            text_addf(&q->headers[0], "x-amz-security-token: %s", s.token);
        text_adds(&q->headers[1], "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    }
    memset(&s, 0, sizeof(s));
}

static enum status s3_request(const char *path, const struct remote_state *is, struct request *q,
                              struct error *err)
{
    size_t len, host;
    const char *key, *bucket = kind_bucket(path, &len, &key);
    (void)is;
    (void)err;
    begin_request(q, bucket, len, &host);
    text_addc(&q->url, '/');
    fetch_escape(&q->url, key, strlen(key), "/");
    return OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Put one character in place of the `len` bytes at `at`. */
static void replace_by(struct text *t, size_t at, size_t len, char c)
{
    t->at[at] = c;
    memmove(t->at + at + 1, t->at + at + len, t->len - at - len + 1);
    t->len -= len - 1;
}

/* &quot; and the like of XML. */
static void decode_entities(struct text *t)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&quot;", '"'},  {"&amp;", '&'}, {"&lt;", '<'},   {"&gt;", '>'},
                    {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}, {"&#38;", '&'}};
    for (size_t at = 0; at < t->len; at++)
        for (size_t i = 0; t->at[at] == '&' && i < sizeof(entities) / sizeof(*entities); i++) {
            const size_t len = strlen(entities[i].name);
            if (strncmp(t->at + at, entities[i].name, len) == 0) {
                replace_by(t, at, len, entities[i].c);
                break;
            }
        }
}

/* %XX and + of a list that says so. */
static void decode_url(struct text *t)
{
    for (size_t at = 0; at < t->len; at++) {
        char digits[3] = "", *end = digits;
        if (t->at[at] == '%' && at + 2 < t->len)
            memcpy(digits, t->at + at + 1, 2);
        const unsigned long code = strtoul(digits, &end, 16);
        if (end == digits + 2)
            replace_by(t, at, 3, (char)code);
        else if (t->at[at] == '+')
            t->at[at] = ' ';
    }
}

/* The text of the next <NAME>text</NAME>; *at moves behind it. False: there is none. */
static bool next_element(const char **at, const char *name, struct text *out)
{
    char tag[64];
    snprintf(tag, sizeof(tag), "<%s>", name);
    const char *begin = strstr(*at, tag);
    begin += begin ? strlen(tag) : 0;
    snprintf(tag, sizeof(tag), "</%s>", name);
    const char *stop = begin ? strstr(begin, tag) : NULL;
    text_reset(out);
    if (!stop || !text_add(out, begin, (size_t)(stop - begin)))
        return false;
    *at = stop + strlen(tag);
    return true;
}

struct s3_list {
    const char *url;    /* up to the query */
    const char *tail;   /* the query without the token */
    const char *folder; /* "" or "a/b/" */
};

/* A text that is to be freed with the others of a page. */
struct s3_texts {
    struct text element, value, tag;
    bool escaped; /* names are */
};

/* The value of a member of the element, decoded; "" if it has none. */
static const char *member(struct s3_texts *t, const char *name, struct text *out)
{
    const char *at = t->element.len ? t->element.at : "";
    if (next_element(&at, name, out))
        decode_entities(out);
    return out->len ? out->at : "";
}

/* An element's name is the folder's, then the entry's. */
static void add_listed(struct remote_folder *f, const struct s3_list *l, struct s3_texts *t,
                       const char *name_is, struct remote_entry e)
{
    const size_t skip = strlen(l->folder);
    member(t, name_is, &t->value);
    if (t->escaped)
        decode_url(&t->value);
    size_t len = t->value.len;
    if (e.folder && len && t->value.at[len - 1] == '/')
        len--;
    if (len < skip || memcmp(t->value.at, l->folder, skip) != 0)
        error_set(f->arena.err, ERR_CORRUPT, f->path, NO_OFFSET,
                  "the bucket lists an object outside the folder");
    else if (len > skip) /* else what stands for the folder itself */
        remote_add(f, t->value.at + skip, len - skip, e);
}

static void read_page(struct remote_folder *f, const void *context, const struct text *page,
                      struct text *next)
{
    const struct s3_list *l = context;
    struct s3_texts t = {0};
    const char *at = page->len ? page->at : "";
    if (!page->len || strlen(page->at) != page->len || !strstr(at, "<ListBucketResult"))
        error_set(f->arena.err, ERR_CORRUPT, f->path, NO_OFFSET,
                  "the server's answer is not a bucket's list");
    t.escaped = strstr(at, "<EncodingType>url</EncodingType>");
    while (f->arena.err->status == OK && next_element(&at, "Contents", &t.element)) {
        struct remote_entry e = {.size = strtoull(member(&t, "Size", &t.value), NULL, 10)};
        e.modified = remote_time(member(&t, "LastModified", &t.value));
        e.tag = member(&t, "ETag", &t.tag);
        add_listed(f, l, &t, "Key", e);
    }
    at = page->len ? page->at : "";
    while (f->arena.err->status == OK && next_element(&at, "CommonPrefixes", &t.element))
        add_listed(f, l, &t, "Prefix", (struct remote_entry){.folder = true, .tag = ""});
    at = page->len ? page->at : "";
    if (next_element(&at, "NextContinuationToken", &t.value)) {
        decode_entities(&t.value);
        text_addf(next, "%s?continuation-token=", l->url);
        fetch_escape(next, t.value.at, t.value.len, "");
        text_addf(next, "&%s", l->tail);
    }
    if (t.element.failed || t.value.failed || t.tag.failed || next->failed)
        error_memory_at(f->arena.err, f->path);
    text_release(&t.element);
    text_release(&t.value);
    text_release(&t.tag);
}

static enum status s3_list(const char *path, struct remote_folder *f, struct error *err)
{
    size_t len, host;
    const char *key, *bucket = kind_bucket(path, &len, &key);
    struct request q = {.path = path};
    struct text url = {0}, tail = {0}, folder = {0};
    begin_request(&q, bucket, len, &host);
    if (q.url.len == host)
        text_addc(&q.url, '/');
    text_adds(&url, q.url.failed ? "" : q.url.at);
    text_addf(&folder, *key ? "%s/" : "%s", key);
    text_adds(&tail, "delimiter=%2F&encoding-type=url&list-type=2&prefix=");
    if (text_str(&folder))
        fetch_escape(&tail, folder.at, folder.len, "");
    if (url.failed || tail.failed || folder.failed) {
        error_memory_at(err, path);
    } else {
        const struct s3_list l = {url.at, tail.at, folder.at};
        text_addf(&q.url, "?%s", tail.at);
        remote_pages(f, &q, host, read_page, &l);
    }
    if (err->status == OK && !f->count && *key)
        error_set(err, ERR_MISSING, path, NO_OFFSET, "no such folder");
    request_release(&q);
    text_release(&url);
    text_release(&tail);
    text_release(&folder);
    return err->status;
}

const struct remote_kind remote_s3 = {
    .scheme = "s3://", .root = 1, .tagged = true, .request = s3_request, .list = s3_list};
