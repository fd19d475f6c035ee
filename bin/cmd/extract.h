/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes the samples of a shard out into files. */
#ifndef CACHEX_CMD_EXTRACT_H
#define CACHEX_CMD_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

struct extract {
	const char *dir;  /* where the files go; made if missing */
	uint64_t sample;  /* only this one; OPT_UNSET for all */
	bool raw;         /* plain bytes, not .npy */
	bool bits;        /* .npy: bf16 and f8 as raw bits */
	bool force;       /* replace files that exist */
	bool dry_run;     /* name the files only */
};

/** Reports; an exit status. */
int extract_shard(const char *path, const struct extract *how);

#endif
