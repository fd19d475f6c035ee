/* SPDX-License-Identifier: BSD-2-Clause */
/* Small modules, and environments of other programs, the same bytes in every run: what
 * targets damage. */
#ifndef FUZZ_MODULE_H
#define FUZZ_MODULE_H

#include "base/buf.h"

/** Which module. */
enum fuzz_module {
	FUZZ_TENSORS, /* tensors alone, some replaced and deleted */
	FUZZ_VALUES,  /* values with plain data, every codec, lengths, several structures */
	FUZZ_INPUTS,  /* filled by inputs, of which one is not finished */
	FUZZ_MANY,    /* many commits: branch pages, merged runs, free pages */
	FUZZ_MODULES
};

/** Make the module @p name in directory @p root. */
void fuzz_module_make(enum fuzz_module kind, const char *root, const char *name);
/** The same in memory: all of its data.mdb. */
void fuzz_module_image(enum fuzz_module kind, struct lc__buf *out);

/** Which environment of another program. */
enum fuzz_env {
	FUZZ_PAIRS,  /* one leaf; a value of no bytes and one on pages of its own */
	FUZZ_TREE,   /* branch pages of two levels, free pages */
	FUZZ_TABLES, /* named tables, one of several values a key; it keeps its lock file */
	FUZZ_ENVS
};

/** Make the environment @p name in directory @p root, with liblmdb alone. */
void fuzz_env_make(enum fuzz_env kind, const char *root, const char *name);

/** Ids that are in each module, or were; FUZZ_IDS of them. */
extern const char *const fuzz_ids[];
enum { FUZZ_IDS = 12 };

#endif
