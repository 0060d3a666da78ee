/* zip_report.c - oddities of an archive that can be read all the same. */
#include <ctype.h>

#include "importer/container/zip.h"
#include "importer/job/job.h"

/* Whether a program that unpacks the archive might write outside the folder it was given. */
static bool leads_out(const char *name, size_t len)
{
    const bool drive = len > 1 && name[1] == ':' && isalpha((unsigned char)name[0]);
    bool out = drive || (len && (name[0] == '/' || name[0] == '\\'));
    for (size_t at = 0, end; at < len && !out; at = end + 1) {
        for (end = at; end < len && name[end] != '/' && name[end] != '\\';)
            end++;
        out = end - at == 2 && name[at] == '.' && name[at + 1] == '.';
    }
    return out;
}

void zip_report(struct job *job, const char *path, const struct zip *z, uint64_t base)
{
    const struct zip_member *first = NULL;
    uint64_t count = 0;
    job_trailing(job, path, base + z->source->size - z->trailing, z->trailing, "the archive");
    for (uint64_t i = 0; i < z->count; i++) {
        if (!leads_out(z->members[i].name, z->members[i].name_len))
            continue;
        first = first ? first : &z->members[i];
        count++;
    }
    if (count)
        job_issue(job, ISSUE_WARNING, path, base + first->header, "unsafe-name",
                  "%llu members have names that lead out of a folder, \"%.200s\" the first: "
                  "unpack it with care",
                  (unsigned long long)count, first->name);
}
