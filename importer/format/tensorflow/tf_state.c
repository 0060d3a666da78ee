/*
 * tf_state.c - files of TensorFlow that hold no checkpoint; they are recognised and skipped:
 *
 *   checkpoint             text: which prefixes of the directory are checkpoints. Checkpoints are
 *                          found without it, and its paths may be another machine's.
 *   train_ds-N-of-M.index  the position in the training data, saved by T5X
 *
 * Sources: tensorflow/python/training/checkpoint_state.proto, t5x/checkpoints.py.
 */
#include <string.h>

#include "importer/container/shard_name.h"
#include "importer/job/format.h"

#define TRAIN_DS "train_ds"

static int tf_state_probe(const struct probe *p)
{
    static const char *const texts[] = {"model_checkpoint_path:", "all_model_checkpoint_paths:"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t len = strlen(texts[i]);
        if (p->head.len >= len && memcmp(p->head.at, texts[i], len) == 0)
            return 8 * (int)len;
    }
    /* "train_ds-000-of-001.index"; T5X prints three digits */
    struct shard_name s;
    const size_t begin = strlen(TRAIN_DS);
    const bool position = strncmp(p->name, TRAIN_DS, begin) == 0 &&
                          shard_number(p->name + begin, 1, &s) && strcmp(s.rest, ".index") == 0;
    return position ? 8 * (int)strlen(TRAIN_DS "--of-.index") : 0;
}

const struct format format_tf_state = {
    .name = "tf_state",
    .summary = "TensorFlow's list of checkpoints: known and passed over",
    .suffixes = "",
    .separator = '/',
    .probe = tf_state_probe,
};
