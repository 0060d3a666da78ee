#include "catalog/data/model/step.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define STEP_DIGITS 18 /* more do not fit */

static const char deepspeed[] = "deepspeed";

static bool word_is(struct step_word w, const char *text)
{
    return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

static bool step_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_at(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && step_digit(*at))
        at++;
    return (size_t)(at - begin);
}

static bool take_number(const char *at, size_t count, int64_t *value)
{
    if (count == 0 || count > STEP_DIGITS)
        return false;
    for (*value = 0; count; count--)
        *value = *value * 10 + (*at++ - '0');
    return true;
}

/* The component of a path that ends at `end`. */
static struct step_word component(const char *path, const char *end)
{
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return (struct step_word){begin, (size_t)(end - begin)};
}

/* --- folders ------------------------------------------------------------------------------ */

/* "checkpoint-500", "step_500", "global_step500". */
static bool names_step(struct step_word w, struct step_place *out)
{
    static const char *const words[] = {"checkpoint", "ckpt",  "global_step", "step",
                                        "iter",       "epoch", "iteration"};
    const char *end = w.at + w.len;
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t len = strlen(words[i]);
        if (w.len <= len || memcmp(w.at, words[i], len) != 0)
            continue;
        const char *digits = w.at + len;
        digits += digits[0] == '-' || digits[0] == '_';
        size_t count = digits_at(digits, end);
        out->epoch = strcmp(words[i], "epoch") == 0;
        if (digits + count == end && take_number(digits, count, &out->step))
            return true;
    }
    return false;
}

/* The name up to its first dot; of a folder, whose number is the model's, without that:
 * pytorch_model_fsdp_0. */
static struct step_word stem_of(struct step_word name)
{
    const char *dot = name.len > 1 ? memchr(name.at + 1, '.', name.len - 1) : NULL;
    struct step_word w = {name.at, dot ? (size_t)(dot - name.at) : name.len};
    if (!dot && w.len > 2 && w.at[w.len - 2] == '_' && w.at[w.len - 1] == '0')
        w.len -= 2;
    return w;
}

/* A part of a step's folder. */
static bool part_of_step(const char *path, struct step_word name, struct step_place *out)
{
    struct step_word rank = {0}, folder;
    struct step_place inner;
    if (name.at == path)
        return false;
    folder = component(path, name.at - 1);
    if (folder.len > 8 && memcmp(folder.at, "mp_rank_", 8) == 0 && folder.at > path) {
        rank = folder; /* Megatron has a folder for each rank in the step's */
        folder = component(path, folder.at - 1);
    }
    if (folder.at <= path + 1 || !names_step(folder, out))
        return false;
    out->run = (size_t)(folder.at - 1 - path);
    out->item = rank.len ? rank : stem_of(name);
    if (!rank.len && names_step(name, &inner) && inner.step == out->step)
        out->item = (struct step_word){deepspeed, strlen(deepspeed)};
    return true;
}

/* --- files -------------------------------------------------------------------------------- */

/* The digits after the last `key` in a name: "step=" of "epoch=1-step=100". */
static bool keyed_number(struct step_word name, const char *key, struct step_place *out)
{
    const size_t len = strlen(key);
    for (size_t at = name.len; at-- > 0;) {
        if (name.len - at <= len || memcmp(name.at + at, key, len) != 0 ||
            (at && name.at[at - 1] != '-' && name.at[at - 1] != '_'))
            continue;
        const char *digits = name.at + at + len;
        out->row = (struct step_word){name.at + at, len - 1};
        out->epoch = word_is(out->row, "epoch");
        return take_number(digits, digits_at(digits, name.at + name.len), &out->step);
    }
    return false;
}

/* "epoch_3", "model-00500", "gen_step3": a word that counts saves, and the number at the end. */
static bool ends_in_step(struct step_word name, struct step_place *out)
{
    static const struct {
        const char *word;
        size_t least; /* digits: "model-1" counts models */
    } words[] = {{"epoch", 1}, {"step", 1},       {"iter", 1}, {"iteration", 1},
                 {"ckpt", 1},  {"checkpoint", 1}, {"model", 3}};
    size_t digits = 0, end;
    while (digits < name.len && step_digit(name.at[name.len - 1 - digits]))
        digits++;
    end = name.len - digits;
    end -= end && strchr("-_=.", name.at[end - 1]);
    for (size_t i = 0; i < COUNT(words); i++) {
        const size_t len = strlen(words[i].word);
        if (digits < words[i].least || end < len ||
            memcmp(name.at + end - len, words[i].word, len) != 0 ||
            (end > len && !strchr("-_.", name.at[end - len - 1])))
            continue;
        out->row = (struct step_word){name.at, end};
        out->epoch = strcmp(words[i].word, "epoch") == 0;
        return take_number(name.at + name.len - digits, digits, &out->step);
    }
    return false;
}

static bool numbered_file(const char *path, struct step_word name, struct step_place *out)
{
    size_t stem = name.len;
    while (stem > 1 && name.at[stem - 1] != '.')
        stem--;
    if (stem < 2 || name.at <= path + 1)
        return false;
    name.len = stem - 1;
    out->run = (size_t)(name.at - 1 - path);
    return keyed_number(name, "step=", out) || keyed_number(name, "epoch=", out) ||
           ends_in_step(name, out);
}

/* ------------------------------------------------------------------------------------------ */

size_t step_run(const char *path, size_t len)
{
    static const char *const words[] = {"checkpoints", "checkpoint", "ckpts", "ckpt"};
    const struct step_word last = component(path, path + len);
    for (size_t i = 0; i < COUNT(words); i++)
        if (word_is(last, words[i]) && last.at > path + 1)
            return (size_t)(last.at - 1 - path);
    return len;
}

bool step_of_path(const char *path, struct step_place *out)
{
    const struct step_word name = component(path, path + strlen(path));
    *out = (struct step_place){0};
    if (!part_of_step(path, name, out)) {
        if (name.at > path + 1 && names_step(name, out))
            out->run = (size_t)(name.at - 1 - path);
        else if (!numbered_file(path, name, out))
            return false;
    }
    out->run = step_run(path, out->run);
    return true;
}

bool step_is_deepspeed(struct step_word item)
{
    return word_is(item, deepspeed);
}

struct step_word step_item(const char *path)
{
    return stem_of(component(path, path + strlen(path)));
}

unsigned step_model_rank(struct step_word item)
{
    static const char *const names[] = {
        "model",         "pytorch_model",           "pytorch_model_fsdp",
        "adapter_model", "diffusion_pytorch_model", "tf_model",
        "flax_model"};
    for (unsigned i = 0; i < COUNT(names); i++)
        if (word_is(item, names[i]))
            return i;
    return STEP_NO_MODEL;
}

bool step_of_checkpoint(const char *name, int64_t *step, struct step_word *run)
{
    static const char *const names[] = {"checkpoint_", "streaming_params_",
                                        "streaming_train_state_"};
    const char *inner = strstr(name, ".checkpoint_");
    const char *begin = inner ? inner + 1 : name;
    *run = (struct step_word){name, inner ? (size_t)(inner - name) : 0};
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(begin, names[i], len) != 0)
            continue;
        const char *digits = begin + len + (begin[len] == '-');
        size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > STEP_DIGITS || digits[count])
            return false;
        *step = strtoll(begin + len, NULL, 10);
        return true;
    }
    return false;
}
