/*
 * tf_state.c - files of TensorFlow that hold no checkpoint, known so that nobody wonders:
 *
 *   checkpoint             text: which prefixes of the directory are checkpoints. Those that
 *                          are there are found without it, and its paths may be those of
 *                          the machine that trained.
 *   train_ds-N-of-M.index  the place in the training data, kept by T5X
 *
 * Sources: tensorflow/python/training/checkpoint_state.proto, t5x/checkpoints.py.
 */
#include <string.h>

#include "importer/job/format.h"

static bool begins(struct bytes head, const char *text)
{
    size_t len = strlen(text);
    return head.len >= len && memcmp(head.at, text, len) == 0;
}

static bool is_digits(const char *at, size_t len)
{
    return len > 0 && strspn(at, "0123456789") >= len;
}

/* PREFIX digits "-of-" digits ".index"? */
static bool is_numbered_index(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    if (strncmp(name, prefix, len) != 0)
        return false;
    const char *of = strstr(name + len, "-of-");
    const char *end = of ? strstr(of, ".index") : NULL;
    return end && strcmp(end, ".index") == 0 &&
           is_digits(name + len, (size_t)(of - name) - len) &&
           is_digits(of + 4, (size_t)(end - of) - 4);
}

static int tf_state_probe(const struct probe *p)
{
    static const char *const texts[] = {"model_checkpoint_path:",
                                        "all_model_checkpoint_paths:"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (begins(p->head, texts[i]))
            return 8 * (int)strlen(texts[i]);
    return is_numbered_index(p->name, "train_ds-")
               ? 8 * (int)strlen("train_ds--of-.index")
               : 0;
}

const struct format format_tf_state = {
    .name = "tf_state",
    .summary = "TensorFlow's list of checkpoints: known and passed over",
    .suffixes = "",
    .separator = '/',
    .probe = tf_state_probe,
};
