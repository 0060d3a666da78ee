/*
 * http.c - files of web servers, which list no folders.
 */
#include <string.h>

#include "catalog/data/store/remote/kind.h"

/* A URL is taken as it is written; what cannot be sent so is escaped. */
static enum status http_request(const char *path, const struct remote_state *is, struct request *q,
                                struct error *err)
{
    (void)is;
    (void)err;
    fetch_escape(&q->url, path, strlen(path), "%/:[]!$&'()*+,;=@");
    q->netrc = true;
    return OK;
}

const struct remote_kind remote_http = {
    .scheme = "http://", .root = 1, .tagged = true, .request = http_request};
const struct remote_kind remote_https = {
    .scheme = "https://", .root = 1, .tagged = true, .request = http_request};
