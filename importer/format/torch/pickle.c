/*
 * pickle.c - a plain pickle of tensors or NumPy arrays: pickle.dump(state_dict), Paddle, old
 * research code. torch.c reads what torch.save wrote.
 *
 * Recognised by the first bytes of a pickle and a name from torch or NumPy close after them. Other
 * pickles are data sets and the like, and are passed over, unless loading them in Python would run
 * what the table known_class calls dangerous.
 *
 * And the variables of a layer as Keras pickles them into an .npz, for its own format: an array of one object,
 *
 *   {"0": VARIABLE, "1": VARIABLE, ...}
 *
 * A VARIABLE is an array (Keras before 3), or a keras.Variable, whose attribute _value is its backend's: an
 * array of JAX, a tensor of PyTorch, or of TensorFlow a call with the array, or scalar, as its initial_value.
 *
 * Source: keras/src/saving/saving_lib.py (NpzIOStore), files of Keras 3.15.
 */
#include <string.h>

#include "catalog/db/classes.h"
#include "importer/format/torch/torch_facts.h"
#include "importer/format/torch/torch_file.h"
#include "importer/format/torch/torch_legacy.h"

#define PARTS_MAX 256 /* nodes of a variable that are looked at */

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

/* Whether the file may be a pickle: its name says so, or its first bytes do. */
static bool may_be_pickle(const struct probe *p)
{
    static const char *const suffixes[] = {".pkl", ".pickle", ".p",    ".pt",     ".pth",
                                           ".bin", ".ckpt",   ".data", ".joblib", ".dat"};
    bool named = begins_pickle(p) || (p->head.len > 2 && p->head.at[0] == 0x80 &&
                                      p->head.at[1] >= 2 && p->head.at[1] <= 5);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && !named; i++)
        named = text_ends_in(p->name, strlen(p->name), suffixes[i]);
    return named && p->head.len;
}

/* Whether loading a pickle would run something dangerous. A file that only looks like a pickle (a text that
 * begins with 'c') names things, perhaps, but calls none. */
static bool pickle_look(const struct probe *p, const struct source *s,
                        const struct classes *classes)
{
    struct error err = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = LIMIT_PICKLE_LOOK, .err = &err};
    struct pickle pickle;
    const char *why;
    bool found = false;
    if (!may_be_pickle(p))
        return false;
    const bool whole = pickle_run(s, 0, 0, &arena, &pickle, &err) == OK;
    for (uint32_t i = 0; i < pickle.global_count && !found; i++) {
        const struct pickle_global *g = &pickle.globals[i];
        found = (whole || g->called) &&
                (strcmp(g->name, "torch.storage._load_from_bytes") == 0 ||
                 classes_judge(classes, g->name, g->len, g->module_len, &why) == CLASS_DANGEROUS);
    }
    for (size_t i = 0; i < pickle.oddity_count && whole && !found; i++)
        found = pickle_kind(&pickle, pickle.oddities[i].node) == PICKLE_GLOBAL;
    arena_release(&arena);
    return found;
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
    torch_run_pickle(&t, 0, 0, &pickle, job->err);
    if (job->err->status == OK && pickle.end < job->source->size)
        job_issue(job, ISSUE_WARNING, NULL, pickle.end, "trailing-bytes",
                  "%llu bytes follow the pickle",
                  (unsigned long long)(job->source->size - pickle.end));
    if (job->err->status == OK)
        torch_tree_state(&t);
    if (job->err->status == OK && !t.names.count && t.dangerous)
        torch_fail(&t, job->err, "no-tensors", "a pickle without tensors");
    torch_tree_release(&t);
    return job->err->status;
}

/* --- Keras's variables ---------------------------------------------------------------------- */

/* A key may spell the name of another layer's variable. */
static void emit_checked(struct torch_tree *t, const struct tensor_claim *claim)
{
    struct tensor_claim checked = *claim;
    checked.unique = false;
    job_tensor(t->job, &checked);
}

static bool is_array(const struct pickle *p, pickle_ref ref)
{
    return torch_is_tensor(p, ref) || torch_callee(p, ref) == NUMPY_SCALAR;
}

/* The array that a variable is, or holds; 0: none. */
static pickle_ref array_of(const struct pickle *p, pickle_ref variable)
{
    pickle_ref open[PARTS_MAX], child;
    unsigned count = 1;
    open[0] = variable;
    if (pickle_kind(p, variable) == PICKLE_CALL && !is_array(p, variable))
        open[0] = pickle_get(p, pickle_at(p, variable)->call->state, "_value");
    for (unsigned steps = 0; count && steps < PARTS_MAX; steps++) {
        const pickle_ref ref = open[--count];
        if (is_array(p, ref))
            return ref;
        for (uint32_t i = 0; count < PARTS_MAX && torch_child(p, ref, i, &child); i++)
            open[count++] = child;
    }
    return 0;
}

static void state_variable(struct torch_tree *t, const struct text *name, pickle_ref variable)
{
    struct torch_tensor tensor = {.run.file = t->run.file};
    struct error err = {.offset = NO_OFFSET};
    const pickle_ref array = array_of(t->pickle, variable);
    if (!array)
        torch_fail(t, &err, "not-an-array", "variable \"%.200s\" holds no array", name->at);
    else if (torch_callee(t->pickle, array) == NUMPY_SCALAR
                 ? torch_numpy_read(t, array, &tensor, &err)
                 : torch_tensor_read(t, array, &tensor, &err) || tensor.known)
        torch_emit(t, name->at, name->len, &tensor, &err);
    if (status_passes(err.status))
        *t->job->err = err;
    else if (err.status != OK && !tensor.known)
        job_issue_error(t->job, ISSUE_ERROR, &err);
}

void torch_variables_state(struct torch_tree *t, struct error *err)
{
    struct pickle p;
    struct text name = {0};
    pickle_ref key;
    t->emit = emit_checked;
    t->find = find_nothing;
    if (torch_run_pickle(t, 0, t->run.codec ? 0 : t->run.offset, &p, err) != OK)
        return;
    t->pickle = &p;
    const pickle_ref state =
        pickle_kind(&p, p.root) == PICKLE_CALL ? pickle_at(&p, p.root)->call->state : 0;
    const pickle_ref pairs = pickle_item(&p, pickle_item(&p, state, 4), 0);
    if (pickle_kind(&p, pairs) != PICKLE_DICT)
        torch_fail(t, err, "not-an-array", "an array of objects that is not a dict of variables");
    for (uint32_t i = 0; pickle_kind(&p, pairs) == PICKLE_DICT && t->job->err->status == OK &&
                         (key = pickle_item(&p, pairs, i));
         i += 2) {
        text_reset(&name);
        text_adds(&name, t->prefix);
        torch_add_key(&name, &p, key);
        if (text_str(&name))
            state_variable(t, &name, pickle_item(&p, pairs, i + 1));
        else
            error_memory(t->job->err);
    }
    text_release(&name);
}

const struct format format_pickle = {
    .name = "pickle",
    .summary = "a plain pickle of PyTorch tensors or arrays",
    .suffixes = "",
    .separator = '.',
    .probe = pickle_probe,
    .look = pickle_look,
    .index = pickle_index,
};
