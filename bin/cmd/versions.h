/* SPDX-License-Identifier: BSD-2-Clause */
/* The versions in a warehouse. */
#ifndef CACHEX_CMD_VERSIONS_H
#define CACHEX_CMD_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct version {
	char *name;      /* "v20261121-0123456789ab", malloc'ed */
	bool current;    /* `current` points to it */
	bool finished;   /* it has a manifest, which could be read; without one, and not
	                    damaged, it is what a removal that was stopped has left */
	bool damaged;    /* it has one, which could not */
	char key[65];    /* the version key, as far as that is one */
	uint64_t samples, shards, bytes; /* bytes of the shards */
	uint64_t created_at_ms;
};

struct versions {
	struct version *all; /* by time, oldest first; unfinished ones last */
	size_t n;
};

/** List them. Reports; an exit status, EXIT_NO if one is damaged or lacks a shard whose
 *  size its manifest does not have. @p out can be freed in any case. */
int versions_read(const char *warehouse, struct versions *out);

void versions_free(struct versions *versions);

#endif
