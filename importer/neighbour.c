#include "importer/job.h"

void job_meta_neighbour(struct job *job, const char *name)
{
    (void)job;
    (void)name;
}
