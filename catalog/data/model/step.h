/*
 * step.h - what the path of a checkpoint says about the save that it belongs to: run, step, item.
 *
 *   RUN/checkpoint-30/optimizer.pt          step 30 of RUN, item "optimizer"
 *   RUN/checkpoint-30/global_step30         step 30 of RUN, item "deepspeed"
 *   RUN/iter_0000100/mp_rank_00/FILE        step 100 of RUN, item "mp_rank_00"
 *   RUN/checkpoints/epoch=1-step=100.ckpt   step 100 of RUN
 *   RUN/gen_epoch_3.pt                      step 3 of RUN, row "gen_epoch"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a path, or static text; len 0: none. */
struct step_word {
    const char *at;
    size_t len;
};

struct step_place {
    int64_t step;
    size_t run;            /* bytes of the path that name the run's directory */
    struct step_word item; /* which part of a step's folder it is */
    struct step_word row;  /* what a file's name has before its number */
    bool epoch;            /* the number is one of epochs */
};

/* Whether the path of a checkpoint, a file or a directory, names a step as trainers write it. The step of
 * a file `epoch=1-step=100.ckpt` is 100. */
bool step_of_path(const char *path, struct step_place *out);

/* Whether an item is DeepSpeed's folder. */
bool step_is_deepspeed(struct step_word item);

/* The length of a run's directory without a last component that only says that checkpoints are in it:
 * "checkpoints" or the like. */
size_t step_run(const char *path, size_t len);

/* What a file, or a folder, would be called as an item: its name without suffixes. */
struct step_word step_item(const char *path);

/* How likely an item is to be the model of its step: 0 is the likeliest name, STEP_NO_MODEL a name
 * that is no model's. */
#define STEP_NO_MODEL 100
unsigned step_model_rank(struct step_word item);

/* Whether a checkpoint of Flax, T5X or EasyLM has a step in its name: "checkpoint_0020",
 * "checkpoint_-5", "tiny.checkpoint_0", "streaming_params_5". Fractions do not count. *run is what stands
 * before it: "tiny", or nothing. */
bool step_of_checkpoint(const char *name, int64_t *step, struct step_word *run);
