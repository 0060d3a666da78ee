/*
 * deepspeed.c - a folder of DeepSpeed (global_step123): the files that each rank saved with
 * torch.save.
 *
 *   mp_rank_MM_model_states.pt                        the model of a rank of tensor parallelism
 *   zero_pp_rank_D_mp_rank_MM_optim_states.pt         ZeRO: flattened parts of weights and moments
 *   bf16_zero_pp_rank_D_mp_rank_MM_optim_states.pt    the same
 *   zero_pp_rank_D_mp_rank_MM_model_states.pt         stage 3, where the model has no values
 *   layer_NN-model_MM-model_states.pt                 a layer of a pipeline
 *   layer_L_expert_E_mp_rank_MM_model_states.pt       an expert
 *
 * Tensors are named as in their files, prefixed with the file's rank, layer or expert if there are
 * several. What ZeRO flattens becomes zero.PARAMETER.fp32, zero.PARAMETER.exp_avg, … (zero.h), the
 * names of DeepSpeed's universal checkpoints; tied parameters have their fp32 under each name, as
 * zero_to_fp32.py gives them. Stage 3's fragments of frozen parameters become
 * frozen_param_fragments.PARAMETER, which is the name of the whole parameter in the other stages.
 *
 * Source: deepspeed/runtime/engine.py, deepspeed/checkpoint/constants.py, zero_to_fp32.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/text.h"
#include "importer/format/ranks/zero.h"
#include "importer/format/torch/torch_file.h"

#define RANKS_MAX 65536
#define FROZEN    "frozen_param_fragments."

enum part {
    PART_NONE,
    PART_MODEL,
    PART_LAYER,
    PART_EXPERT,
    PART_STAGE3, /* model states of a rank of stage 3 */
    PART_OPTIM,
};

struct part_file {
    const char *name; /* in the folder */
    enum part part;
    unsigned mp, dp;
    bool lost; /* it could not be read */
};

struct deepspeed {
    struct job *job;
    struct part_file *files;
    size_t count, space;
    bool several;     /* ranks of tensor parallelism */
    struct zero zero; /* of the current rank of tensor parallelism */
    struct zero_frozen frozen;
    const struct part_file *file;
    bool met_stage, learned; /* this rank's metadata of ZeRO */
    struct strmap seen;      /* stage 3: name of a tensor -> hash of its dtype and shape */
    uint64_t passed;         /* tensors of all files that get no row */
    char first_passed[320];
};

/* --- names of files ------------------------------------------------------------------------- */

/* Take `word` and a number of up to 5 digits from *at: "mp_rank_" and 12 from "mp_rank_12_model"
 * leave "_model". False: something else comes. */
static bool deepspeed_take_number(const char **at, const char *word, unsigned *out)
{
    const size_t len = strlen(word),
                 digits = strlen(word) <= strlen(*at) ? strspn(*at + len, "0123456789") : 0;
    if (!digits || digits > 5 || strncmp(*at, word, len) != 0)
        return false;
    *out = (unsigned)strtoul(*at + len, NULL, 10);
    *at += len + digits;
    return true;
}

static bool parse_zero(const char *at, struct part_file *out)
{
    if (strncmp(at, "bf16_", 5) == 0)
        at += 5;
    if (!deepspeed_take_number(&at, "zero_pp_rank_", &out->dp) ||
        !deepspeed_take_number(&at, "_mp_rank_", &out->mp))
        return false;
    out->part = strcmp(at, "_optim_states.pt") == 0   ? PART_OPTIM
                : strcmp(at, "_model_states.pt") == 0 ? PART_STAGE3
                                                      : PART_NONE;
    return out->part != PART_NONE;
}

static bool parse_part(const char *name, struct part_file *out)
{
    const char *at = name;
    unsigned layer;
    *out = (struct part_file){.name = name};
    if (deepspeed_take_number(&at, "mp_rank_", &out->mp))
        out->part = strcmp(at, "_model_states.pt") == 0 ? PART_MODEL : PART_NONE;
    else if (parse_zero(name, out))
        return true;
    else if (deepspeed_take_number(&at, "layer_", &layer) &&
             deepspeed_take_number(&at, "-model_", &out->mp))
        out->part = strcmp(at, "-model_states.pt") == 0 ? PART_LAYER : PART_NONE;
    else if ((at = name, deepspeed_take_number(&at, "layer_", &layer)) &&
             deepspeed_take_number(&at, "_expert_", &out->dp) &&
             deepspeed_take_number(&at, "_mp_rank_", &out->mp))
        out->part = strcmp(at, "_model_states.pt") == 0 ? PART_EXPERT : PART_NONE;
    return out->part != PART_NONE;
}

/* A folder is DeepSpeed's if it has both a model's file and a file of another kind. A model's
 * file alone is an ordinary file of torch.save; stage 3's counts as both. */
static int deepspeed_probe(const struct probe_dir *p)
{
    unsigned models = 0, others = 0;
    struct part_file f;
    for (uint64_t i = 0; i < p->file_count; i++) {
        if (!parse_part(p->files[i], &f))
            continue;
        models += f.part == PART_MODEL || f.part == PART_STAGE3;
        others += f.part != PART_MODEL;
    }
    return models && others ? 64 : 0;
}

/* The order in which files are read: models first, as the others need their shapes. */
static int by_part(const void *a, const void *b)
{
    const struct part_file *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->mp != y->mp)
        return x->mp < y->mp ? -1 : 1;
    if (x->dp != y->dp)
        return x->dp < y->dp ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* --- the metadata of ZeRO ------------------------------------------------------------------- */

/* The dict that a node is, or the pairs of an OrderedDict; 0: neither. */
static pickle_ref dict_of(const struct pickle *p, pickle_ref ref)
{
    if (ref && pickle_kind(p, ref) == PICKLE_CALL)
        ref = pickle_at(p, ref)->call->dict;
    return ref && pickle_kind(p, ref) == PICKLE_DICT ? ref : 0;
}

static bool add_group(struct deepspeed *d, const struct pickle *p, pickle_ref group,
                      unsigned number)
{
    uint64_t shape[TENSOR_RANK_MAX];
    pickle_ref name;
    for (uint32_t i = 0; (name = pickle_item(p, group, i)); i += 2) {
        const struct pickle_node *n = pickle_at(p, name);
        unsigned rank = 0;
        if (pickle_kind(p, name) != PICKLE_TEXT ||
            !torch_numbers(p, pickle_item(p, group, i + 1), shape, &rank))
            continue;
        /* Shared groups in the pickle would count their parameters once per reference. */
        if (d->zero.param_count >= p->node_count) {
            job_issue(d->zero.job, ISSUE_ERROR, NULL, NO_OFFSET, "limit",
                      "param_shapes repeats its groups: the rest is left out");
            return false;
        }
        zero_add_param(&d->zero, n->text, n->count, number, shape, rank);
    }
    return d->job->err->status == OK;
}

static void learn_frozen(struct deepspeed *d, const struct pickle *p, pickle_ref root)
{
    const pickle_ref shapes = dict_of(p, pickle_get(p, root, "frozen_param_shapes"));
    uint64_t shape[TENSOR_RANK_MAX];
    pickle_ref name;
    for (uint32_t i = 0; shapes && (name = pickle_item(p, shapes, i)); i += 2) {
        const struct pickle_node *n = pickle_at(p, name);
        unsigned rank = 0;
        if (pickle_kind(p, name) == PICKLE_TEXT &&
            torch_numbers(p, pickle_item(p, shapes, i + 1), shape, &rank))
            zero_frozen_add(&d->frozen, n->text, n->count, shape, rank);
    }
}

/* Read shared_params: for the name of a tied parameter, the name under which it is kept. */
static void learn_aliases(struct deepspeed *d, const struct pickle *p, pickle_ref root)
{
    const pickle_ref shared = dict_of(p, pickle_get(p, root, "shared_params"));
    struct strmap kept = {.err = d->job->err};
    bool added;
    for (size_t i = 0; shared && i < d->zero.param_count; i++) {
        const struct zero_param *x = &d->zero.params[i];
        uint64_t *at = strmap_add(&kept, x->name, x->len, &added);
        if (added)
            *at = i;
    }
    /* Each alias is put before the others of its parameter. */
    for (uint32_t i = shared ? pickle_at(p, shared)->count : 0; i >= 2; i -= 2) {
        const struct pickle_node *alias = pickle_at(p, pickle_item(p, shared, i - 2)),
                                 *own = pickle_at(p, pickle_item(p, shared, i - 1));
        if (alias->kind != PICKLE_TEXT || own->kind != PICKLE_TEXT)
            continue;
        const uint64_t *at = strmap_get(&kept, own->text, own->count);
        struct zero *frozen = zero_frozen_find(&d->frozen, own->text, own->count);
        if (at)
            zero_add_alias(&d->zero, &d->zero.params[*at], alias->text, alias->count);
        else if (frozen && frozen->param_count)
            zero_add_alias(frozen, &frozen->params[0], alias->text, alias->count);
    }
    strmap_release(&kept);
}

/* Read param_shapes: a list with a dict for each group, or, in older versions, one dict. */
static void learn_params(struct torch_tree *t)
{
    struct deepspeed *d = t->set;
    const struct pickle *p = t->pickle;
    const pickle_ref root = dict_of(p, p->root);
    const pickle_ref shapes = root ? pickle_get(p, root, "param_shapes") : 0;
    if (root && d->file->part == PART_STAGE3)
        learn_frozen(d, p, root);
    if (!root || d->learned)
        return;
    pickle_ref group;
    if (dict_of(p, shapes))
        add_group(d, p, dict_of(p, shapes), 0);
    else
        for (uint32_t i = 0; shapes && (group = pickle_item(p, shapes, i)); i++)
            if (!add_group(d, p, dict_of(p, group), i))
                break;
    d->learned = d->zero.param_count || d->frozen.count;
    if (d->learned)
        learn_aliases(d, p, root);
}

/* The number that a node is, or the largest of a list; 0: it is neither. */
static uint64_t largest(const struct pickle *p, pickle_ref ref)
{
    uint64_t number = 0, most = 0;
    if (torch_number(p, ref, &most))
        return most;
    for (uint32_t i = 0; ref && pickle_item(p, ref, i); i++)
        if (torch_number(p, pickle_item(p, ref, i), &number) && number > most)
            most = number;
    return most;
}

static void learn_stage(struct torch_tree *t)
{
    struct deepspeed *d = t->set;
    const struct pickle *p = t->pickle;
    const pickle_ref root = dict_of(p, p->root);
    const pickle_ref state = root ? pickle_get(p, root, "optimizer_state_dict") : 0;
    const pickle_ref dict = dict_of(p, state);
    if (!dict || d->met_stage)
        return;
    const uint64_t stage = largest(p, pickle_get(p, dict, "zero_stage"));
    const uint64_t ranks = largest(p, pickle_get(p, dict, "partition_count"));
    d->met_stage = true;
    d->zero.stage = stage > 3 ? 0 : (unsigned)stage;
    if (ranks && ranks <= RANKS_MAX)
        d->zero.ranks = (unsigned)ranks;
}

/* --- tensors -------------------------------------------------------------------------------- */

/* Parse the name of a flat run: "optimizer_state_dict.base_optimizer_state.0.exp_avg" is slot
 * "exp_avg" of group 0. */
static bool parse_flat(const char *name, const char **slot, unsigned *group)
{
    static const struct {
        const char *before;
        bool weights;
    } forms[] = {{"optimizer_state_dict.single_partition_of_fp32_groups.", true},
                 {"optimizer_state_dict.fp32_flat_groups.", true},
                 {"optimizer_state_dict.base_optimizer_state.state.", false},
                 {"optimizer_state_dict.base_optimizer_state.", false},
                 {"optimizer_state_dict.optimizer_state_dict.state.", false}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const char *at = name;
        if (!deepspeed_take_number(&at, forms[i].before, group))
            continue;
        *slot = forms[i].weights ? "fp32" : at + 1;
        return forms[i].weights ? !*at : *at == '.' && at[1] && !strchr(at + 1, '.');
    }
    return false;
}

/* Add a rank's run of elements, of a group or of one frozen parameter. */
static void deepspeed_add_run(struct torch_tree *t, struct zero *z, struct zero_run *run,
                              const struct tensor_claim *claim)
{
    struct deepspeed *d = t->set;
    struct dtype dtype;
    dtype_find(claim->dtype, &dtype);
    run->rank = d->file->dp;
    run->file = claim->file;
    run->offset = claim->offset;
    run->dtype = claim->dtype;
    run->elements = claim->shape[0];
    if (claim->storage != STORAGE_RANGE || (claim->codec && *claim->codec) || claim->strides ||
        !dtype_sized(&dtype) || dtype.block_elems != 1) {
        job_issue(t->job, ISSUE_ERROR, t->path, NO_OFFSET, "unsupported",
                  "\"%.200s\" is not a plain run of elements: its slot is listed without data",
                  claim->name);
        z->lost = true;
    }
    zero_add_run(z, run);
}

/* Count a tensor that gets no row, unless it is empty or one number: a step count or a scale. */
static void deepspeed_pass(struct deepspeed *d, const struct tensor_claim *claim)
{
    uint64_t elements = 2;
    if (shape_elements(claim->shape, claim->rank, &elements) && elements <= 1)
        return;
    if (!d->passed++)
        snprintf(d->first_passed, sizeof(d->first_passed), "%.*s\" of \"%.100s",
                 (int)(claim->name_len < 200 ? claim->name_len : 200), claim->name, d->file->name);
}

static void emit_flat(struct torch_tree *t, const struct tensor_claim *claim)
{
    struct deepspeed *d = t->set;
    struct zero_run run = {0};
    if (!parse_flat(claim->name, &run.slot, &run.group) || claim->rank != 1) {
        deepspeed_pass(d, claim);
        return;
    }
    run.slot = arena_copy(t->job->arena, run.slot, strlen(run.slot));
    deepspeed_add_run(t, &d->zero, &run, claim);
}

/* Emit a tensor of stage 3's model states that is not cut: the ranks have copies, and the
 * first one is listed. */
static void emit_copied(struct torch_tree *t, const struct tensor_claim *claim, bool fragment)
{
    struct deepspeed *d = t->set;
    const char *kept;
    bool added;
    const uint64_t seed = hash_seed(),
                   kind = hash_bytes(claim->shape, claim->rank * sizeof(*claim->shape), seed) ^
                          hash_bytes(claim->dtype, strlen(claim->dtype), ~seed);
    uint64_t *first =
        strmap_keep(&d->seen, t->job->arena, claim->name, claim->name_len, &kept, &added);
    if (added) {
        *first = kind;
        job_tensor(t->job, claim);
    } else if (*first != kind || fragment) {
        deepspeed_pass(d, claim);
    }
}

static void emit_model(struct torch_tree *t, const struct tensor_claim *claim)
{
    static const size_t frozen = sizeof(FROZEN) - 1;
    struct deepspeed *d = t->set;
    uint64_t elements = 1;
    if (d->file->part != PART_STAGE3) {
        job_tensor(t->job, claim);
        return;
    }
    const size_t skip = t->prefix ? strlen(t->prefix) + 1 : 0;
    const bool fragment =
        claim->name_len > skip + frozen && memcmp(claim->name + skip, FROZEN, frozen) == 0;
    if (claim->rank == 1 && fragment) {
        struct zero *z = zero_frozen_find(&d->frozen, claim->name + skip + frozen,
                                          claim->name_len - skip - frozen);
        struct zero_run run = {.slot = z && z->param_count ? z->params[0].name : ""};
        if (z) {
            deepspeed_add_run(t, z, &run, claim);
            return;
        }
    }
    /* Stage 3 leaves an empty tensor in the place of every weight. */
    if (!shape_elements(claim->shape, claim->rank, &elements) || elements)
        emit_copied(t, claim, fragment);
}

/* The prefix of the names of a file's tensors; NULL: none. */
static const char *prefix_of(struct deepspeed *d, const struct part_file *f)
{
    char prefix[160];
    if ((f->part == PART_MODEL || f->part == PART_STAGE3) && d->several)
        snprintf(prefix, sizeof(prefix), "mp_rank_%02u", f->mp);
    else if (f->part == PART_LAYER)
        snprintf(prefix, sizeof(prefix), d->several ? "%.*s-model_%02u" : "%.*s",
                 (int)strcspn(f->name, "-"), f->name, f->mp);
    else if (f->part == PART_EXPERT)
        snprintf(prefix, sizeof(prefix), "%.*s",
                 (int)(d->several ? strlen(f->name) - strlen("_model_states.pt")
                                  : (size_t)(strstr(f->name, "_mp_rank_") - f->name)),
                 f->name);
    else
        return NULL;
    return arena_copy(d->job->arena, prefix, strlen(prefix));
}

/* Whether the file's other values become facts: the first rank's model states' do. */
static bool has_facts(const struct deepspeed *d, const struct part_file *f)
{
    if (f->part == PART_STAGE3 && d->files[0].part != PART_MODEL)
        return !f->mp && !f->dp;
    return f->part == PART_MODEL && !f->mp;
}

static void read_part(struct deepspeed *d, struct part_file *f)
{
    struct error err = {.offset = NO_OFFSET};
    struct source *s = NULL;
    uint32_t file;
    d->file = f;
    if (job_open(d->job, f->name, "data", &s, &file, &err) == ERR_MISSING)
        error_code(&err, "missing-shard");
    if (err.status == OK) {
        struct torch_tree t = {.job = d->job,
                               .path = s->name,
                               .prefix = prefix_of(d, f),
                               .run = {.file = file},
                               .emit = f->part == PART_OPTIM ? emit_flat : emit_model,
                               .look = f->part == PART_OPTIM ? learn_stage : learn_params,
                               .set = d,
                               .no_facts = !has_facts(d, f)};
        torch_file_state(&t, s, &err);
    }
    if (err.status == OK || d->job->err->status != OK)
        return;
    const struct error plain = err;
    f->lost = true;
    d->zero.lost |= f->part == PART_OPTIM;
    error_prefix(&err, f->name);
    job_issue_error(d->job, ISSUE_ERROR, &err);
    if (plain.status == ERR_MEMORY)
        *d->job->err = plain;
}

/* --- all ------------------------------------------------------------------------------------ */

/* The files of one kind that ranks have saved. */
struct saved {
    unsigned met, next; /* number of files; rank of the last one, plus 1 */
    bool lost;          /* one could not be read */
};

static struct saved saved_of(const struct deepspeed *d, enum part part, unsigned mp)
{
    struct saved s = {0};
    for (size_t i = 0; i < d->count; i++) {
        const struct part_file *f = &d->files[i];
        if (f->part != part || f->mp != mp)
            continue;
        s.met++;
        s.next = f->dp + 1;
        s.lost |= f->lost;
    }
    return s;
}

static bool all_saved(const struct saved *s, unsigned ranks)
{
    return s->met == ranks && s->next == ranks;
}

/* Report missing optimizer states: every rank must have saved its part. */
static void find_missing(struct deepspeed *d, unsigned mp)
{
    const struct saved s = saved_of(d, PART_OPTIM, mp);
    if (!d->zero.ranks)
        d->zero.ranks = s.next;
    if (all_saved(&s, d->zero.ranks))
        return;
    d->zero.lost = true;
    job_issue(d->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-shard",
              "%u of %u ranks have optimizer states here (mp_rank_%02u): what ZeRO keeps "
              "flat is listed without data",
              s.met, d->zero.ranks, mp);
}

/* Emit the frozen parameters, whose fragments are in the model states of every rank. */
static void put_frozen(struct deepspeed *d, unsigned mp)
{
    const struct saved s = saved_of(d, PART_STAGE3, mp);
    const unsigned ranks = d->zero.ranks ? d->zero.ranks : s.next;
    if (!d->frozen.count)
        return;
    if (!all_saved(&s, ranks))
        job_issue(d->job, ISSUE_ERROR, NULL, NO_OFFSET, "missing-shard",
                  "%u of %u ranks have model states here (mp_rank_%02u): frozen "
                  "parameters are listed without data",
                  s.met, ranks, mp);
    zero_frozen_emit(&d->frozen, ranks, s.lost || !all_saved(&s, ranks));
}

static void read_model(struct deepspeed *d, unsigned mp)
{
    char prefix[32], frozen[64];
    bool optim = false;
    snprintf(prefix, sizeof(prefix), d->several ? "mp_rank_%02u.zero." : "zero.", mp);
    snprintf(frozen, sizeof(frozen), d->several ? "mp_rank_%02u." FROZEN : FROZEN, mp);
    d->zero = (struct zero){.job = d->job, .prefix = prefix};
    d->frozen = (struct zero_frozen){.job = d->job, .prefix = frozen, .index.err = d->job->err};
    d->seen = (struct strmap){.err = d->job->err};
    d->met_stage = d->learned = false;
    for (size_t i = 0; i < d->count && d->job->err->status == OK; i++) {
        if (d->files[i].mp != mp)
            continue;
        optim |= d->files[i].part == PART_OPTIM;
        read_part(d, &d->files[i]);
    }
    if (d->job->err->status == OK)
        put_frozen(d, mp);
    strmap_release(&d->frozen.index);
    strmap_release(&d->seen);
    if (!optim || d->job->err->status != OK)
        return;
    find_missing(d, mp);
    if (!d->zero.param_count)
        job_issue(d->job, ISSUE_ERROR, NULL, NO_OFFSET, "bad-metadata",
                  "no file says the shapes of the parameters (mp_rank_%02u): what ZeRO "
                  "keeps flat is left out",
                  mp);
    zero_emit(&d->zero);
}

/* The first rank of tensor parallelism from *mp on that has a file. */
static bool next_model(const struct deepspeed *d, unsigned *mp)
{
    bool found = false;
    unsigned least = 0;
    for (size_t i = 0; i < d->count; i++) {
        const unsigned at = d->files[i].mp;
        if (at >= *mp && (!found || at < least)) {
            found = true;
            least = at;
        }
    }
    *mp = least;
    return found;
}

static enum status deepspeed_index(struct job *job)
{
    struct deepspeed d = {.job = job};
    job_sum_kind(job, "crc32");
    uint64_t count;
    const char *const *names = job_siblings(d.job, &count);
    for (uint64_t i = 0; i < count; i++) {
        struct part_file f;
        if (!parse_part(names[i], &f))
            continue;
        *PUSH(d.job->arena, d.files, d.count, d.space) = f;
        d.several |= d.count && f.mp != d.files[0].mp;
    }
    if (d.count)
        qsort(d.files, d.count, sizeof(*d.files), by_part);
    for (unsigned mp = 0; job->err->status == OK && next_model(&d, &mp); mp++)
        read_model(&d, mp);
    if (d.passed && job->err->status == OK)
        job_issue(job, ISSUE_WARNING, NULL, NO_OFFSET, "unsupported",
                  "%llu tensors that are in no known place of ZeRO, or differ from the first "
                  "rank's, are left out, \"%s\" the first",
                  (unsigned long long)d.passed, d.first_passed);
    return job->err->status;
}

const struct format format_deepspeed = {
    .name = "deepspeed",
    .summary = "DeepSpeed: what the ranks of one step saved, ZeRO's parts put together",
    .suffixes = "",
    .separator = '.',
    .probe_dir = deepspeed_probe,
    .flat = true,
    .index = deepspeed_index,
};
