/* torch_file.h - PyTorch's readers for other families: one file of torch.save, whatever its form; Keras's pickles. */
#pragma once

#include "importer/format/torch/torch_zip.h"

/* State everything in the file: tensors (by t->emit, or job_tensor()), facts, issues. The caller
 * sets job, path and run.file of the tree; errors that concern the whole file go to *err. */
void torch_file_state(struct torch_tree *t, const struct source *, struct error *err);

/* pickle.c */
/* State the variables of a layer that Keras has pickled into an .npz, under t->prefix and their keys. The caller
 * sets job, arena, source (the pickle), run, prefix and member of the tree, and releases it. */
void torch_variables_state(struct torch_tree *t, struct error *err);

/* torch_tar.c */
bool torch_tar_magic(struct bytes head);
void torch_tar_state(struct torch_tree *t, const struct source *, struct error *err);
