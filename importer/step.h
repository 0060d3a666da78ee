/*
 * step.h - the training step that a folder's name states.
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

#endif
