#include "catalog/data/store/remote/fetch.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "catalog/base/threads.h"
#include "catalog/base/version.h"
#include "catalog/data/store/loaded.h"

#define TRIES           5
#define PAUSE_MS        200   /* before the second try; doubles */
#define PAUSE_MOST_MS   20000 /* also where the server asks for more */
#define CONNECT_SECONDS 15
#define SILENT_SECONDS  30 /* of fewer than SILENT_BYTES a second; $CKPTDB_TIMEOUT */
#define SILENT_BYTES    512
#define REDIRECTS       8
#define HEADERS_MOST    262144 /* bytes of headers of all answers of one transfer */
#define IDLE_MOST       64     /* handles, each with its connections, that are kept */

/* --- the library ----------------------------------------------------------------------------- */

#define CURL_FUNCTIONS(F)                                                                          \
    F(libcurl, curl_global_init, start)                                                            \
    F(libcurl, curl_easy_init, open)                                                               \
    F(libcurl, curl_easy_cleanup, close)                                                           \
    F(libcurl, curl_easy_reset, reset)                                                             \
    F(libcurl, curl_easy_setopt, set)                                                              \
    F(libcurl, curl_easy_perform, perform)                                                         \
    F(libcurl, curl_easy_getinfo, info)                                                            \
    F(libcurl, curl_easy_strerror, message)                                                        \
    F(libcurl, curl_slist_append, append)                                                          \
    F(libcurl, curl_slist_free_all, release)

struct libcurl {
    CURL_FUNCTIONS(LOADED_FUNCTION)
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static CURL *idle[IDLE_MOST];
static size_t idle_count;
static bool started;
static pid_t owner; /* of the idle handles: a fork must not use their connections */

static const struct libcurl *library(const char *path, struct error *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl.so", NULL};
    static const struct loaded_symbol symbols[] = {CURL_FUNCTIONS(LOADED_SYMBOL)};
    static struct libcurl table;
    static struct loaded_library curl = {.names = names,
                                         .package = "Debian package libcurl4",
                                         .symbols = symbols,
                                         .symbol_count = sizeof(symbols) / sizeof(*symbols),
                                         .functions = &table};
    const struct libcurl *c =
        loaded_library(&curl, "a path of another machine", path, NO_OFFSET, err);
    pthread_mutex_lock(&pool_lock);
    if (c && !started)
        started = c->start(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    pthread_mutex_unlock(&pool_lock);
    return c;
}

static CURL *take_handle(const struct libcurl *c)
{
    CURL *handle = NULL;
    pthread_mutex_lock(&pool_lock);
    if (owner != getpid())
        idle_count = 0;
    owner = getpid();
    if (idle_count)
        handle = idle[--idle_count];
    pthread_mutex_unlock(&pool_lock);
    return handle ? handle : c->open();
}

static void give_handle(const struct libcurl *c, CURL *handle)
{
    c->reset(handle); /* its connections stay */
    pthread_mutex_lock(&pool_lock);
    const bool kept = idle_count < IDLE_MOST && owner == getpid();
    if (kept)
        idle[idle_count++] = handle;
    pthread_mutex_unlock(&pool_lock);
    if (!kept)
        c->close(handle);
}

/* --- one answer ------------------------------------------------------------------------------ */

enum fault {
    NO_FAULT,
    FAULT_RANGES,   /* none */
    FAULT_RANGE,    /* another than was asked for */
    FAULT_LONG,     /* more than was asked for, or than it said */
    FAULT_ENCODING, /* packed, though that was not asked for */
    FAULT_HEADERS,  /* without end */
    FAULT_MEMORY,
};

struct exchange {
    struct reply *reply;
    uint8_t *to;     /* where a range goes */
    uint64_t offset; /* and what it is */
    size_t len;
    struct text *text; /* where a whole answer goes; NULL: a range */
    long status;
    uint64_t first, last, header_bytes, wait; /* of Content-Range; Retry-After in seconds */
    bool ranged, encoded;
    enum fault fault;
};

/* The value of a header if it has this name, without the space around it. */
static bool is_header(const char *line, size_t len, const char *name, char *value, size_t space)
{
    const size_t n = strlen(name);
    if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return false;
    for (line += n + 1, len -= n + 1; len && (*line == ' ' || *line == '\t'); len--)
        line++;
    while (len && strchr(" \t\r\n", line[len - 1]))
        len--;
    len = len < space ? len : space - 1;
    memcpy(value, line, len);
    value[len] = '\0';
    return true;
}

/* <URL>; rel="next" among the links. */
static void see_next_page(struct text *next, const char *value)
{
    for (const char *at = value; (at = strchr(at, '<'));) {
        const char *end = strchr(at, '>'), *more = end ? strchr(end, '<') : NULL;
        const char *rel = end ? strstr(end, "rel=\"next\"") : NULL;
        if (rel && (!more || rel < more)) {
            text_reset(next);
            text_add(next, at + 1, (size_t)(end - at - 1));
            return;
        }
        if (!end)
            return;
        at = end;
    }
}

/* An answer begins: what an answer before it said, a redirect's, does not count. */
static void begin_answer(struct exchange *x, const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    x->status = space ? strtol(space, NULL, 10) : 0;
    x->ranged = x->encoded = false;
    x->wait = 0;
    x->reply->size = 0;
    x->reply->tag[0] = '\0';
    text_reset(&x->reply->next);
}

/* A number at the beginning of a text, which goes on behind it. */
static bool header_number(const char **at, uint64_t *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return *out < INT64_MAX;
}

/* "bytes 0-99/1000"; where there is no such range, an asterisk is in its place. */
static void take_range(struct exchange *x, const char *value)
{
    x->ranged = strncmp(value, "bytes ", 6) == 0;
    value += 6;
    if (x->ranged && *value == '*')
        value++;
    else if (x->ranged)
        x->ranged =
            header_number(&value, &x->first) && *value++ == '-' && header_number(&value, &x->last);
    x->ranged = x->ranged && *value++ == '/' && header_number(&value, &x->reply->size);
}

static size_t see_header(char *line, size_t one, size_t len, void *context)
{
    struct exchange *x = context;
    char value[2048] = "";
    (void)one;
    x->header_bytes += len;
    if (x->header_bytes > HEADERS_MOST) {
        x->fault = FAULT_HEADERS;
        return 0;
    }
    if (len > 5 && strncmp(line, "HTTP/", 5) == 0)
        begin_answer(x, line, len);
    else if (is_header(line, len, "etag", value, sizeof(value)))
        snprintf(x->reply->tag, sizeof(x->reply->tag), "%.*s", TAG_MAX - 1, value);
    else if (is_header(line, len, "retry-after", value, sizeof(value)))
        x->wait = strtoull(value, NULL, 10);
    else if (is_header(line, len, "content-encoding", value, sizeof(value)))
        x->encoded = *value && strcasecmp(value, "identity") != 0;
    else if (is_header(line, len, "link", value, sizeof(value)))
        see_next_page(&x->reply->next, value);
    else if (is_header(line, len, "content-range", value, sizeof(value)))
        take_range(x, value);
    return len;
}

/* Whether the headers match the request. */
static enum fault headers_fault(const struct exchange *x)
{
    if (x->encoded)
        return FAULT_ENCODING;
    if (x->text)
        return NO_FAULT;
    if (x->status == 200)
        return FAULT_RANGES;
    const uint64_t most = x->offset + x->len - 1;
    const uint64_t last = x->reply->size && most >= x->reply->size ? x->reply->size - 1 : most;
    return x->ranged && x->first == x->offset && x->last == last && x->last < x->reply->size
               ? NO_FAULT
               : FAULT_RANGE;
}

static size_t see_body(char *bytes, size_t one, size_t len, void *context)
{
    struct exchange *x = context;
    (void)one;
    if (x->status < 200 || x->status > 299)
        return (x->reply->got += len) > HEADERS_MOST ? 0 : len; /* a page that explains */
    if ((x->fault = headers_fault(x)) != NO_FAULT)
        return 0;
    if (x->text ? x->text->len + len > x->text->limit : x->reply->got + len > x->len) {
        x->fault = FAULT_LONG;
        return 0;
    }
    if (!x->text)
        memcpy(x->to + x->reply->got, bytes, len);
    else if (!text_add(x->text, bytes, len)) {
        x->fault = FAULT_MEMORY;
        return 0;
    }
    x->reply->got += len;
    return len;
}

/* --- one try --------------------------------------------------------------------------------- */

static void set_limits(const struct libcurl *c, CURL *h)
{
    const char *seconds = fetch_variable("CKPTDB_TIMEOUT");
    const long silent = seconds ? strtol(seconds, NULL, 10) : 0;
    c->set(h, CURLOPT_NOSIGNAL, 1L);
    c->set(h, CURLOPT_CONNECTTIMEOUT,
           silent > 0 && silent < CONNECT_SECONDS ? silent : CONNECT_SECONDS);
    c->set(h, CURLOPT_LOW_SPEED_LIMIT, (long)SILENT_BYTES);
    c->set(h, CURLOPT_LOW_SPEED_TIME, silent > 0 ? silent : SILENT_SECONDS);
    c->set(h, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    c->set(h, CURLOPT_TCP_KEEPALIVE, 1L);
    c->set(h, CURLOPT_BUFFERSIZE, 262144L);
}

/* Variables that the program `curl` reads from the environment, beside those of its library. */
static void set_certificates(const struct libcurl *c, CURL *h)
{
    const char *file = fetch_variable("CURL_CA_BUNDLE"), *folder = fetch_variable("SSL_CERT_DIR");
    if (!file)
        file = fetch_variable("SSL_CERT_FILE");
    if (file)
        c->set(h, CURLOPT_CAINFO, file);
    if (folder)
        c->set(h, CURLOPT_CAPATH, folder);
}

/* False: this libcurl is too old to be told what redirects may lead to, or to sign. */
static bool set_request(const struct libcurl *c, CURL *h, const struct request *q)
{
    const bool secure = strncmp(q->url.at, "https:", 6) == 0;
    c->set(h, CURLOPT_USERAGENT, "ckptdb/" CKPTDB_VERSION);
    c->set(h, CURLOPT_URL, q->url.at);
    /* Signatures and credentials for one host must not reach another. */
    c->set(h, CURLOPT_FOLLOWLOCATION, q->form.len || q->credentials.len ? 0L : 1L);
    if (q->form.len) {
        c->set(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->form.len);
        c->set(h, CURLOPT_POSTFIELDS, q->form.at);
    }
    if (q->netrc)
        c->set(h, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    if (q->credentials.len && (c->set(h, CURLOPT_AWS_SIGV4, q->signing.at) != CURLE_OK ||
                               c->set(h, CURLOPT_USERPWD, q->credentials.at) != CURLE_OK))
        return false;
    return c->set(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           c->set(h, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https") == CURLE_OK;
}

/* False: no memory. */
static bool set_headers(const struct libcurl *c, CURL *h, const struct request *q,
                        struct curl_slist **list)
{
    char match[TAG_MAX + 16];
    snprintf(match, sizeof(match), "If-Match: %s", q->match ? q->match : "");
    const char *lines[2 + sizeof(q->headers) / sizeof(*q->headers)] = {"Accept-Encoding: identity"};
    size_t count = 1;
    if (q->match && *q->match == '"') /* a weak tag cannot be asked for */
        lines[count++] = match;
    for (size_t i = 0; i < sizeof(q->headers) / sizeof(*q->headers); i++)
        if (q->headers[i].len)
            lines[count++] = q->headers[i].at;
    for (size_t i = 0; i < count; i++) {
        struct curl_slist *longer = c->append(*list, lines[i]);
        if (!longer)
            return false;
        *list = longer;
    }
    c->set(h, CURLOPT_HTTPHEADER, *list);
    return true;
}

/* libcurl asks whenever something comes, and every second. */
static int see_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                        curl_off_t up)
{
    (void)context, (void)total, (void)now, (void)up_total, (void)up;
    return threads_stopped();
}

static CURLcode perform(const struct libcurl *c, CURL *h, const struct request *q,
                        struct exchange *x, char *why)
{
    char range[64];
    struct curl_slist *list = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    curl_off_t modified = -1;
    set_limits(c, h);
    set_certificates(c, h);
    snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, x->offset, x->offset + x->len - 1);
    if (!x->text)
        c->set(h, CURLOPT_RANGE, range);
    c->set(h, CURLOPT_FILETIME, 1L);
    c->set(h, CURLOPT_HEADERFUNCTION, see_header);
    c->set(h, CURLOPT_HEADERDATA, x);
    c->set(h, CURLOPT_WRITEFUNCTION, see_body);
    c->set(h, CURLOPT_WRITEDATA, x);
    c->set(h, CURLOPT_NOPROGRESS, 0L);
    c->set(h, CURLOPT_XFERINFOFUNCTION, see_progress);
    c->set(h, CURLOPT_ERRORBUFFER, why);
    if (!set_request(c, h, q))
        code = CURLE_UNKNOWN_OPTION;
    else if (set_headers(c, h, q, &list))
        code = c->perform(h);
    c->info(h, CURLINFO_FILETIME_T, &modified);
    x->reply->modified = modified > 0 ? modified : 0;
    c->release(list);
    return code;
}

/* --- judging the answer ---------------------------------------------------------------------- */

/* Whether to try again. */
static bool may_pass(const struct exchange *x, CURLcode code)
{
    if (x->fault != NO_FAULT)
        return false;
    if (code == CURLE_OK)
        return x->status == 429 || (x->status >= 500 && x->status != 501 && x->status != 505) ||
               (!x->text && x->status == 206 && x->reply->got != x->last - x->first + 1);
    return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_GOT_NOTHING || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
}

static enum status say_fault(const struct request *q, const struct exchange *x, struct error *err)
{
    switch (x->fault) {
    case FAULT_RANGES:
        return error_set(err, ERR_IO, q->path, NO_OFFSET,
                         "the server has no ranges: it answers a request for a part with the whole "
                         "file, which is not read");
    case FAULT_RANGE:
        return error_set(err, ERR_IO, q->path, x->offset,
                         "the server answers with a range other than the requested one");
    case FAULT_LONG:
        return error_set(err, ERR_IO, q->path, x->offset,
                         "the server sends more than was requested");
    case FAULT_ENCODING:
        return error_set(err, ERR_IO, q->path, x->offset,
                         "the server compresses its answer, though that was not requested");
    case FAULT_HEADERS:
        return error_set(err, ERR_IO, q->path, NO_OFFSET, "the server's headers do not end");
    case FAULT_MEMORY:
    case NO_FAULT: break;
    }
    return error_memory_at(err, q->path);
}

static enum status say_status(const struct request *q, const struct exchange *x, struct error *err)
{
    switch (x->status) {
    case 404:
    case 410: return error_set(err, ERR_MISSING, q->path, NO_OFFSET, "no such file");
    case 401:
    case 403:
        if (q->denied)
            return error_set(err, ERR_IO, q->path, NO_OFFSET, "the server answers %ld: %s",
                             x->status, q->denied);
        return error_set(err, ERR_IO, q->path, NO_OFFSET, "the server answers %ld: %s", x->status,
                         x->status == 401 ? "it requires credentials"
                                          : "these credentials may not read it");
    case 412:
        return error_set(err, ERR_CHANGED, q->path, NO_OFFSET,
                         "changed while it was read; import it again");
    default: return error_set(err, ERR_IO, q->path, NO_OFFSET, "the server answers %ld", x->status);
    }
}

/* The last try's result. */
static enum status settle(const struct request *q, const struct exchange *x, CURLcode code,
                          const char *why, struct error *err)
{
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return error_set(err, ERR_INTERRUPTED, NULL, NO_OFFSET, "interrupted");
    if (x->fault != NO_FAULT)
        return say_fault(q, x, err);
    if (code == CURLE_OUT_OF_MEMORY)
        return error_memory_at(err, q->path);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(err, ERR_IO, q->path, NO_OFFSET, "the server is silent, or too slow: %s",
                         why);
    if (code == CURLE_UNKNOWN_OPTION)
        return error_set(err, ERR_IO, q->path, NO_OFFSET, "needs libcurl 7.85 or newer");
    if (code != CURLE_OK)
        return error_set(err, ERR_IO, q->path, NO_OFFSET, "cannot be fetched: %s", why);
    if (!x->text && x->status == 416 && x->ranged && x->reply->size <= x->offset)
        return OK; /* nothing is there: an empty file */
    if (x->status < 200 || x->status > 299)
        return say_status(q, x, err);
    if (x->text)
        return OK;
    if (x->status == 200 && !x->reply->got)
        return OK; /* an empty file, which no range lies in */
    enum fault fault = headers_fault(x);
    const struct exchange last = {.fault = fault, .offset = x->offset};
    if (fault != NO_FAULT)
        return say_fault(q, &last, err);
    if (x->reply->got != x->last - x->first + 1)
        return error_set(err, ERR_IO, q->path, x->offset,
                         "the server sends %" PRIu64 " bytes of a range of %" PRIu64, x->reply->got,
                         x->last - x->first + 1);
    return OK;
}

static void pause_before(unsigned try, uint64_t wished)
{
    uint64_t ms = (uint64_t)PAUSE_MS << try;
    ms += ms * ((uint64_t)getpid() % 64) / 128; /* so that many programs do not come back at once */
    if (wished > ms / 1000)
        ms = wished < PAUSE_MOST_MS / 1000 ? wished * 1000 : PAUSE_MOST_MS;
    for (uint64_t step; ms && !threads_stopped(); ms -= step) {
        step = ms < PAUSE_MS ? ms : PAUSE_MS;
        nanosleep(&(struct timespec){0, (long)step * 1000000}, NULL);
    }
}

static enum status transfer(const struct request *q, struct exchange *x, struct error *err)
{
    char why[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OUT_OF_MEMORY;
    const char *offline = fetch_variable("CKPTDB_OFFLINE");
    if (offline && strcmp(offline, "0") != 0)
        return error_set(err, ERR_ARGUMENT, q->path, NO_OFFSET,
                         "on another machine, which --offline (or CKPTDB_OFFLINE) forbids");
    if (!q->url.at || q->url.failed || q->form.failed)
        return error_memory_at(err, q->path);
    const struct libcurl *c = library(q->path, err);
    CURL *h = c ? take_handle(c) : NULL;
    if (c && !h)
        error_memory_at(err, q->path);
    const struct exchange begun = *x;
    for (unsigned try = 0; h && try < TRIES; try++) {
        if (try)
            pause_before(try - 1, x->wait);
        const struct text next = x->reply->next;
        *x = begun;
        *x->reply = (struct reply){.next = next};
        if (x->text)
            text_reset(x->text);
        code = perform(c, h, q, x, why);
        c->reset(h);
        if (!may_pass(x, code))
            break;
    }
    if (h) {
        give_handle(c, h);
        settle(q, x, code, *why ? why : c->message(code), err);
    }
    return err->status;
}

enum status fetch_range(const struct request *q, uint64_t offset, void *to, size_t len,
                        struct reply *reply, struct error *err)
{
    struct exchange x = {.reply = reply, .to = to, .offset = offset, .len = len};
    transfer(q, &x, err);
    text_release(&reply->next);
    return err->status;
}

enum status fetch_text(const struct request *q, struct text *to, struct reply *reply,
                       struct error *err)
{
    struct exchange x = {.reply = reply, .text = to};
    return transfer(q, &x, err);
}

const struct json_value *fetch_json(const struct request *q, struct arena *arena, struct error *err)
{
    struct text answer = {.limit = 16 << 20};
    struct reply reply = {0};
    struct error ignored = {0};
    const struct json_value *v = NULL;
    if (fetch_text(q, &answer, &reply, err) == OK)
        v = json_read_tree((struct bytes){(const uint8_t *)answer.at, answer.len}, arena, &ignored);
    text_release(&reply.next);
    text_release(&answer);
    return v;
}

const char *fetch_variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets one meanwhile */
    return value && *value ? value : NULL;
}

void fetch_endpoint(struct text *url, const char *endpoint)
{
    size_t len = strlen(endpoint);
    while (len && endpoint[len - 1] == '/')
        len--;
    text_add(url, endpoint, len);
}

void fetch_escape(struct text *url, const char *text, size_t len, const char *plain)
{
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            (c && (strchr("-._~", c) || strchr(plain, c))))
            text_addc(url, c);
        else
            text_addf(url, "%%%02X", (unsigned char)c);
    }
}

void request_release(struct request *q)
{
    text_release(&q->url);
    text_release(&q->form);
    for (size_t i = 0; i < sizeof(q->headers) / sizeof(*q->headers); i++)
        text_release(&q->headers[i]);
    text_release(&q->credentials);
    text_release(&q->signing);
}
