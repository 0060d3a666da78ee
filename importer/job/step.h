/*
 * step.h - the training step that a name states.
 */
#ifndef CKPTDB_IMPORTER_STEP_H
#define CKPTDB_IMPORTER_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the folder that `path` lies in say a step, as trainers name them ("checkpoint-500",
 * "step_500", "global_step500")? *run_length is then the length of the part of `path`
 * that names the run's directory. */
bool step_of_folder(const char *path, int64_t *step, size_t *run_length);

/* Does a checkpoint of Flax, T5X or EasyLM of this name say a step: "checkpoint_0020",
 * "checkpoint_-5", "tiny.checkpoint_0", "streaming_params_5"? Not where it is a fraction. */
bool step_of_checkpoint(const char *name, int64_t *step);

#endif
