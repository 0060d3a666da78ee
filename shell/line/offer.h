/*
 * offer.h - the candidates for completing a word: names in the catalog, of commands, of files.
 */
#pragma once

#include "shell/command/command.h"
#include "shell/line/complete.h"

/* A word to complete, on its way through the sources of candidates. */
struct wanted {
    struct session *session;
    struct completion *out;
    char *prefix;
    const char *checkpoint; /* a NAME is one of its tensors; NULL: any */
    const char *levels;     /* characters that end a level of a name */
};

/* Take a candidate; all candidates count in what they have in common, the first are kept. */
void offer(struct wanted *, const char *text);

void offer_relations(struct wanted *);
void offer_columns(struct wanted *);
void offer_functions(struct wanted *);
void offer_table_functions(struct wanted *);
void offer_keywords(struct wanted *);
/* Names; or paths, where no name begins so. Of more than are kept, what follows up to the next '/',
 * '.' (tensors) or '@' (checkpoints): level by level. Tensors are
 * the checkpoint's, if one is given. */
void offer_checkpoints(struct wanted *);
void offer_tensors(struct wanted *);
void offer_rulesets(struct wanted *);
void offer_optimizers(struct wanted *);
void offer_dtypes(struct wanted *);
/* Or leave them to the shell that asks. */
void offer_files(struct wanted *);
void offer_commands(struct wanted *, const char *dot);
void offer_modes(struct wanted *, const char *before);

/* What a word in capitals in the usage of a command stands for: CHECKPOINT, FILE, ... */
void offer_kind(struct wanted *, const struct command *, const char *word, size_t len);
