/* SPDX-License-Identifier: BSD-2-Clause */
/* The state file: the manifest of a build that is not finished yet. */
#include <stdlib.h>
#include <string.h>

#include "shard/building.h"

bool
lc__shard_done(const struct lc__building *b, size_t i)
{
	const struct lc__manifest_shard *shard = &b->manifest.shards[i];

	return (b->build->no_sha256 ? shard->xxh3 : shard->sha256)[0] != '\0';
}

lc_status
lc__state_write(const struct lc__building *b)
{
	struct lc__manifest state = b->manifest;
	struct lc__buf text = { 0 };
	lc_status status;

	state.export_state = (char *)b->build->state;
	status = lc__manifest_format(&state, &text);
	if (status == LC_OK)
		status = lc__outdir_write(&b->dir, LC__STATE_NAME, &text);
	lc__buf_free(&text);
	return status;
}
