/*
 * step.h - the training step that a name states.
 */
#ifndef CKPTDB_STEP_H
#define CKPTDB_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the folder that holds `path` names a step, as trainers write it
 * ("checkpoint-500", "step_500", "global_step500"). *run_length is then the length of the
 * part of `path` that names the run's directory. */
bool step_of_folder(const char *path, int64_t *step, size_t *run_length);

/* Whether a checkpoint of Flax, T5X or EasyLM has a step in its name: "checkpoint_0020",
 * "checkpoint_-5", "tiny.checkpoint_0", "streaming_params_5". Fractions do not count. */
bool step_of_checkpoint(const char *name, int64_t *step);

#endif
