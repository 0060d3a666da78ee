#include "catalog/data/codec/codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODEC(x) extern const struct codec codec_##x;
#include "catalog/data/codec/codecs.def"
#undef CODEC

const struct codec *const codecs[] = {
#define CODEC(x) &codec_##x,
#include "catalog/data/codec/codecs.def"
#undef CODEC
    NULL,
};

bool codec_take_number(const char **at, uint64_t *value)
{
    const char *first = *at;
    for (*value = 0; **at >= '0' && **at <= '9'; ++*at)
        if (!mul_u64(*value, 10, value) || !add_u64(*value, (uint64_t)(**at - '0'), value))
            return false;
    return *at != first;
}

bool codec_number(const char *text, uint64_t *value)
{
    return codec_take_number(&text, value) && !*text;
}

bool codec_level(const char *text, int least, int most, int *level)
{
    uint64_t number;
    bool minus = *text == '-';
    if (!codec_number(text + minus, &number) || number > 100)
        return false;
    *level = minus ? -(int)number : (int)number;
    return *level >= least && *level <= most;
}

/* One field of a form, except for "*"; moves both past it. */
static bool take_field(const char **form, const char **at, struct codec_args *out, uint64_t *number)
{
    uint64_t least = 0, most = UINT64_MAX;
    char kind = **form;
    if (kind == '=') {
        /* The word at *at, as its place among the words of *form, "=end|start". */
        size_t len = strcspn(*at, ","), own;
        bool found = false;
        for (uint64_t i = 0; **form == '=' || **form == '|'; i++, *form += own) {
            own = strcspn(++*form, "|,?");
            if (own != len || strncmp(*form, *at, len) != 0)
                continue;
            *number = i;
            found = true;
        }
        *at += len;
        return found;
    }
    if (!codec_take_number(form, &least))
        ++*form; /* a letter */
    else if (*++*form && **form != ',')
        codec_take_number(form, &most);
    if (kind == 'R') {
        const char *begin = *at;
        const double value = strtod(begin, (char **)at);
        memcpy(number, &value, sizeof(value));
        return *at != begin;
    }
    if (kind == 'S' && **at == '<')
        out->at_most = *(*at)++;
    if (kind == 'D')
        codec_take_number(form, &most);
    bool minus = kind == 'D' && **at == '-';
    *at += minus;
    if (!codec_take_number(at, number) || *number < least || *number > most)
        return false;
    *number = minus ? -*number : *number;
    return true;
}

bool codec_args_parse(const struct codec *codec, const char *text, struct codec_args *out)
{
    const char *form = codec->args, *at = text;
    *out = (struct codec_args){.text = text, .rest = ""};
    if (!*form)
        return !*text;
    for (uint64_t *number = out->number; *form != '*'; number++) {
        if (!take_field(&form, &at, out, number))
            return false;
        out->rest = at;
        if (*form == '?' || !*form)
            return !*at || (*form && *at == ',');
        if (*at++ != *form++) /* the comma */
            return false;
    }
    out->rest = at;
    return true;
}

bool codec_step_size(const struct codec *codec, const struct codec_args *args, uint64_t in,
                     struct codec_size *size)
{
    *size = (struct codec_size){args->number[0], !args->at_most};
    return !codec->size || codec->size(args, in, size);
}

bool codec_same_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    (void)args;
    *size = (struct codec_size){in, true};
    return true;
}

uint8_t *codec_read(const struct source *s, uint64_t offset, uint64_t len, struct error *err)
{
    uint8_t *bytes = len < SIZE_MAX ? malloc((size_t)len + !len) : NULL;
    if (!bytes)
        error_memory_at(err, s->name);
    else if (source_read(s, offset, bytes, (size_t)len, err) == OK)
        return bytes;
    free(bytes);
    return NULL;
}

bool codec_chain_next(const char **chain, char *name, const char **argument)
{
    const char *at = *chain;
    if (!at || !*at)
        return false;
    size_t len = strcspn(at, "|");
    *chain = at[len] ? at + len + 1 : NULL;
    if (len >= CODEC_STEP_BYTES)
        len = 0; /* too long to be any codec: an empty name, which no codec has */
    memcpy(name, at, len);
    name[len] = '\0';
    char *colon = strchr(name, ':');
    *argument = colon ? colon + 1 : name + len;
    if (colon)
        *colon = '\0';
    return true;
}

bool codec_chain_has(const char *chain, const char *step)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    while (codec_chain_next(&chain, name, &argument))
        if (strcmp(name, step) == 0)
            return true;
    return false;
}

bool codec_chain_argument(const char *chain, const char *step, uint64_t *value)
{
    char name[CODEC_STEP_BYTES];
    const char *argument;
    while (codec_chain_next(&chain, name, &argument))
        if (strcmp(name, step) == 0)
            return codec_number(argument, value);
    return false;
}

const struct codec *codec_find(const char *name)
{
    for (size_t i = 0; codecs[i]; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

enum status codec_bad_argument(const struct source *inner, const char *name, const char *argument,
                               struct error *err)
{
    return error_set(err, ERR_CORRUPT, inner->name, NO_OFFSET, "codec %s: bad argument \"%s\"",
                     name, argument);
}

enum status codec_corrupt(const struct codec_step *step, struct error *err, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return error_set(err, ERR_CORRUPT, step->name, step->offset, "%s: %s", step->codec, text);
}
