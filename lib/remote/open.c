/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls for sources in a store. */
#include <string.h>

#include "base/error.h"
#include "objects/store.h"
#include "remote/remote.h"

void
lc_fetch_options_init(lc_fetch_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->ahead = LC__REMOTE_AHEAD;
	options->threads = LC__REMOTE_THREADS;
}

static lc_status
check(const lc_fetch_options *fetch)
{
	if (fetch == NULL || fetch->struct_size != sizeof(*fetch))
		return lc__error(LC_INVALID, 0,
		    "store: fetch options without lc_fetch_options_init()");
	if (fetch->cache == NULL || *fetch->cache == '\0' || fetch->cache_bytes == 0)
		return lc__error(LC_INVALID, 0,
		    "store: the options name no directory of copies, or no size of it");
	if (fetch->ahead == 0 || fetch->ahead > 65536 || fetch->threads == 0 ||
	    fetch->threads > 1024)
		return lc__error(LC_INVALID, 0,
		    "store: 1 to 65,536 shards ahead and 1 to 1,024 threads are allowed");
	return LC_OK;
}

lc_status
lc_source_open_store(lc_store *store, const lc_fetch_options *fetch,
    const lc_source_options *options, lc_source **out)
{
	struct lc__remote_options how;

	return_if_error(check(fetch));
	how = (struct lc__remote_options){
		.cache = fetch->cache,
		.limit = fetch->cache_bytes,
		.shared = fetch->shared != 0,
		.generation = fetch->generation,
		.ahead = fetch->ahead,
		.threads = fetch->threads,
		.ranges = fetch->ranges != 0,
	};
	return_if_error(lc__remote_source(lc__store_objects(store), &how, options, out));
	lc__store_forget(store);
	return LC_OK;
}

lc_status
lc_source_fetch_stats(const lc_source *source, lc_fetch_stats *out)
{
	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "store: struct_size of the statistics is not set");
	return lc__remote_stats(source, out);
}
