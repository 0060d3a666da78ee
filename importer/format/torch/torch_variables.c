/*
 * torch_variables.c - the variables of a layer as Keras pickles them into an .npz: an array of one object,
 *
 *   {"0": VARIABLE, "1": VARIABLE, ...}
 *
 * A VARIABLE is an array (Keras before 3), or a keras.Variable, whose attribute _value is its backend's: an
 * array of JAX, a tensor of PyTorch, or of TensorFlow a call with the array, or scalar, as its initial_value.
 *
 * Source: keras/src/saving/saving_lib.py (NpzIOStore), files of Keras 3.15.
 */
#include "importer/format/torch/torch_facts.h"
#include "importer/format/torch/torch_file.h"

#define PARTS_MAX 256 /* nodes of a variable that are looked at */

/* A key may spell the name of another layer's variable. */
static void emit_checked(struct torch_tree *t, const struct tensor_claim *claim)
{
    struct tensor_claim checked = *claim;
    checked.unique = false;
    job_tensor(t->job, &checked);
}

static bool find_nothing(struct torch_tree *t, const struct torch_key *key, struct torch_run *out,
                         struct error *err)
{
    (void)out;
    return torch_fail(t, err, "missing-storage", "its storage \"%.40s\" is not in the pickle",
                      key->key);
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
        torch_fail(t, err, "not-an-array", "an array of objects that is no dict of variables");
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
