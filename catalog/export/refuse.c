#include "catalog/export/refuse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CAUSE_MAX 2048

static struct refusal *find_cause(struct refusals *r, const char *cause)
{
    for (size_t i = 0; i < r->kept; i++)
        if (strcmp(text_str(&r->shown[i].cause), cause) == 0)
            return &r->shown[i];
    if (r->kept == REFUSALS_SHOWN)
        return NULL;
    struct refusal *one = &r->shown[r->kept];
    if (!text_adds(&one->cause, cause) || !text_str(&one->cause)) {
        text_release(&one->cause);
        return NULL; /* without memory, only counted */
    }
    r->kept++;
    return one;
}

static void export_refuse_add(struct refusals *r, const char *name, const char *cause)
{
    r->count++;
    struct refusal *one = find_cause(r, cause);
    if (!one)
        return;
    if (one->count++ >= REFUSED_NAMED || !name)
        return;
    if (one->tensors.len)
        text_adds(&one->tensors, ", ");
    if (*name)
        text_add(&one->tensors, name, strnlen(name, 400));
    else
        text_adds(&one->tensors, "\"\"");
}

void refuse(struct refusals *r, const char *fmt, ...)
{
    char cause[CAUSE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(cause, sizeof(cause), fmt, args);
    va_end(args);
    export_refuse_add(r, NULL, cause);
}

void refuse_tensor(struct refusals *r, const char *name, const char *fmt, ...)
{
    char cause[CAUSE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(cause, sizeof(cause), fmt, args);
    va_end(args);
    export_refuse_add(r, name, cause);
}

static void add_escaped(struct text *out, const struct text *raw)
{
    text_escape(out, raw->at ? raw->at : "", raw->len);
}

void refusals_print(const struct refusals *r, struct text *out)
{
    uint64_t said = 0;
    for (size_t i = 0; i < r->kept; i++) {
        const struct refusal *one = &r->shown[i];
        said += one->count;
        add_escaped(out, &one->tensors);
        if (one->tensors.len && one->count > REFUSED_NAMED)
            text_addf(out, " and %" PRIu64 " more", one->count - REFUSED_NAMED);
        if (one->tensors.len)
            text_adds(out, ": ");
        add_escaped(out, &one->cause);
        text_addc(out, '\n');
    }
    if (r->count > said)
        text_addf(out, "and %" PRIu64 " more\n", r->count - said);
}

void refusals_release(struct refusals *r)
{
    for (size_t i = 0; i < r->kept; i++) {
        text_release(&r->shown[i].cause);
        text_release(&r->shown[i].tensors);
    }
    *r = (struct refusals){0};
}
