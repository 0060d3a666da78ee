/*
 * fetch.h - one answer of a server over HTTP, by libcurl, which is loaded when it is first needed.
 *
 * Connections are kept from one transfer to the next. Answers 429 and 5xx, connections that were reset and
 * bodies that ended early are tried again, a few times, after a growing pause. A server that lies about a
 * length or a range, or that has no ranges, is an ERR_IO that says so. Redirects are followed to http and https
 * only, never from https to http. Credentials go to no other host, and signed or posted requests are
 * not redirected. No message shows a header that was sent.
 *
 * Any thread may call these at any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "catalog/base/json.h"
#include "catalog/base/text.h"

#define TAG_MAX 200 /* bytes of an entity tag, with its NUL; a longer one is cut */

struct request {
    const char *path;        /* as the catalog has it: for messages */
    struct text url;         /* as the server has it, escaped */
    struct text form;        /* to POST; empty: GET */
    struct text headers[3];  /* "Name: value"; those that are empty are not sent */
    struct text credentials; /* "KEY:SECRET" to sign with, for this host only; empty: unsigned */
    struct text signing;     /* what libcurl signs for: CURLOPT_AWS_SIGV4 */
    bool netrc;              /* ~/.netrc may know this host */
    const char *denied;      /* what to do about an answer 401 or 403; NULL: no advice */
    const char *match;       /* only if its entity tag is this; NULL or "": any */
};

struct reply {
    uint64_t size;     /* of the whole file */
    uint64_t got;      /* bytes received */
    int64_t modified;  /* seconds since 1970; 0: not told */
    char tag[TAG_MAX]; /* its entity tag, with quotes; "" */
    struct text next;  /* URL of the next page of a list; empty: the last */
};

void request_release(struct request *);

/* Bytes [offset, offset + len) of a file, as far as it has them, into `to`. ERR_MISSING: there is no
 * such file; ERR_CHANGED: its tag is not `match`. */
enum status fetch_range(const struct request *, uint64_t offset, void *to, size_t len,
                        struct reply *, struct error *err);

/* A whole answer of at most `to->limit` bytes; reply->next is the caller's to release. */
enum status fetch_text(const struct request *, struct text *to, struct reply *, struct error *err);

/* A whole answer as a tree in the arena. NULL: an error, or it is not JSON. */
const struct json_value *fetch_json(const struct request *, struct arena *, struct error *err);

/* A variable of the environment; NULL if it is not set, or empty. */
const char *fetch_variable(const char *name);

/* Append the beginning of all URLs of a place, without "/" at its end. */
void fetch_endpoint(struct text *url, const char *endpoint);

/* Append text to a URL; all characters but letters, digits, "-._~" and `plain` become %XX. */
void fetch_escape(struct text *url, const char *text, size_t len, const char *plain);
