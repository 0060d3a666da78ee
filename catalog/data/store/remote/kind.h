/*
 * kind.h - what sets one kind of remote store apart; everything else is common to all.
 *
 * To add one: a file of this folder with its struct remote_kind, and a line in kinds[] of kind.c.
 */
#pragma once

#include "catalog/base/arena.h"
#include "catalog/data/store/remote/fetch.h"
#include "catalog/data/store/store.h"

#define PIN_MAX 80 /* bytes of a pin, with its NUL */

/* Which state of a file is requested; "" if unknown. */
struct remote_state {
    char tag[TAG_MAX]; /* its own, as a list or an answer said */
    char pin[PIN_MAX]; /* of everything around it: remote_kind.pin */
};

struct remote_entry {
    const char *name;
    bool folder;
    uint64_t size;    /* of a file: bytes */
    int64_t modified; /* seconds since 1970; 0: not told */
    const char *tag;  /* another one for each state of the file; "" */
};

/* What is in a folder: a list in an arena. */
struct remote_folder {
    struct arena arena; /* its `err` is the caller's */
    const char *path;
    char pin[PIN_MAX];            /* what it is a list of; "" */
    struct remote_entry *entries; /* sorted by name */
    size_t count, space;
};

struct remote_kind {
    const char *scheme; /* "s3://" */
    unsigned root;      /* components after it that are no folder of files: 1 in s3://BUCKET/a/b */
    bool tagged;        /* the tags of a list are the entity tags that files are sent with */
    /* The request for a file's bytes. The caller releases it after a failure, too. */
    enum status (*request)(const char *path, const struct remote_state *, struct request *,
                           struct error *err);
    /* A name for the present state of everything below a path's root (kind_root()), so that successive requests
     * see one state. NULL: there is no such name. */
    enum status (*pin)(const char *path, char pin[PIN_MAX], struct error *err);
    /* Everything in a folder, at folder->pin, by remote_add(); NULL: this store cannot list. */
    enum status (*list)(const char *path, struct remote_folder *, struct error *err);
};

extern const struct remote_kind remote_http, remote_https, remote_hub, remote_hub_data, remote_s3,
    remote_gs;

/* The kind of store that a path names, or NULL. */
const struct remote_kind *kind_named(const char *path);

/* Length of the scheme and the root, which has no folder above it: "https://HOST", "s3://BUCKET". */
size_t kind_root(const struct remote_kind *, const char *path);
/* The bucket of SCHEME://BUCKET/KEY, *len bytes, and the key. */
const char *kind_bucket(const char *path, size_t *len, const char **key);

/* Add an entry of a list. A name that could lead out of the folder, or break a message, is an error. */
void remote_add(struct remote_folder *, const char *name, size_t len, struct remote_entry);

/* The seconds since 1970 of "2024-01-31T12:00:00Z"; 0: it is no such time. */
int64_t remote_time(const char *text);

/* Ask for a list, page by page, and have each read into the folder. `next` holds the URL of the next page, if a
 * header names one, and gets it from read() otherwise; it must begin with the first `host` bytes of the request's.
 * Failures are the folder's. */
void remote_pages(struct remote_folder *, struct request *, size_t host,
                  void (*read)(struct remote_folder *, const void *context, const struct text *page,
                               struct text *next),
                  const void *context);
