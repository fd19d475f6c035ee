/* SPDX-License-Identifier: BSD-2-Clause */
/* Small modules, the same bytes in every run: what targets damage. */
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

/** Ids that are in each module, or were; FUZZ_IDS of them. */
extern const char *const fuzz_ids[];
enum { FUZZ_IDS = 12 };

#endif
