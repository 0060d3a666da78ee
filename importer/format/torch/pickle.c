/*
 * pickle.c - a plain pickle of tensors or NumPy arrays: pickle.dump(state_dict), Paddle, old
 * research code. torch.c reads what torch.save wrote.
 *
 * Recognised by the first bytes of a pickle and a name from torch or NumPy close after them. Other
 * pickles are data sets and the like, and are passed over.
 */
#include <string.h>

#include "importer/format/torch/torch_legacy.h"

/* Protocols 2 to 5 begin with 0x80 and their number. Protocols 0 and 1 begin with an opcode:
 * "(dp0", "}q", "ccollections", … */
static bool begins_pickle(const struct probe *p)
{
    if (p->head.len < 4)
        return false;
    if (p->head.at[0] == 0x80)
        return p->head.at[1] >= 2 && p->head.at[1] <= 5 &&
               strchr("}](c\x95\x8a\x8c)", p->head.at[2]) && p->head.at[2];
    if (p->head.at[0] == '(' || p->head.at[0] == '}' || p->head.at[0] == ']')
        return strchr("dltpqU(X", p->head.at[1]) && p->head.at[1];
    return p->head.at[0] == 'c' && memchr(p->head.at, '\n', p->head.len < 64 ? p->head.len : 64);
}

static int pickle_probe(const struct probe *p)
{
    static const char *const words[] = {"multiarray", "_rebuild_tensor", "_load_from_bytes",
                                        "numpy.core", "numpy._core",     "torch._utils"};
    if (!begins_pickle(p) || torch_legacy_magic(p->head))
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (probe_holds(p, words[i]))
            return 40;
    return 0;
}

static bool find_nothing(struct torch_tree *t, const struct torch_key *key, struct torch_run *out,
                         struct error *err)
{
    (void)out;
    return torch_fail(t, err, "missing-storage", "its storage \"%.40s\" is not in the pickle",
                      key->key);
}

static enum status pickle_index(struct job *job)
{
    struct pickle pickle;
    struct torch_tree t = {.job = job,
                           .arena = job->arena,
                           .pickle = &pickle,
                           .source = job->source,
                           .run = {.stored = job->source->size, .size = job->source->size},
                           .find = find_nothing};
    pickle_run(job->source, 0, 0, job->arena, &pickle, job->err);
    torch_globals_learn(&t); /* even after an error: unknown names are worth a warning */
    if (job->err->status == OK && pickle.end < job->source->size)
        job_issue(job, ISSUE_WARNING, NULL, pickle.end, "trailing-bytes",
                  "%llu bytes follow the pickle",
                  (unsigned long long)(job->source->size - pickle.end));
    if (job->err->status == OK)
        torch_tree_state(&t);
    torch_tree_release(&t);
    return job->err->status;
}

const struct format format_pickle = {
    .name = "pickle",
    .summary = "a plain pickle of PyTorch tensors or NumPy arrays",
    .suffixes = "",
    .separator = '.',
    .probe = pickle_probe,
    .index = pickle_index,
};
