#include "importer/container/shard_name.h"

#include <string.h>

#define DIGITS_MAX 18 /* so that no number overflows */

static bool shard_name_number(const char **at, unsigned digits, uint64_t *value)
{
    size_t len = strspn(*at, "0123456789");
    if (len < digits || len == 0 || len > DIGITS_MAX)
        return false;
    *value = 0;
    for (size_t i = 0; i < len; i++)
        *value = *value * 10 + (uint64_t)((*at)[i] - '0');
    *at += len;
    return true;
}

bool shard_number(const char *text, unsigned digits, struct shard_name *out)
{
    static const char of[] = "-of-";
    struct shard_name s = {.rest = text + 1};
    if (*text != '-' || !shard_name_number(&s.rest, digits, &s.part) ||
        strncmp(s.rest, of, sizeof(of) - 1) != 0)
        return false;
    s.rest += sizeof(of) - 1;
    if (!shard_name_number(&s.rest, digits, &s.count))
        return false;
    *out = s;
    return true;
}

bool shard_name(const char *name, struct shard_name *out)
{
    for (size_t at = strlen(name); at-- > 0;) {
        if (name[at] == '-' && shard_number(name + at, SHARD_DIGITS, out)) {
            out->stem = at;
            return true;
        }
    }
    return false;
}
