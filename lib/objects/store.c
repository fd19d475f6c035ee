/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "objects/calls.h"
#include "objects/url.h"

struct lc_store {
	struct lc__objects *objects;
};

void
lc_store_options_init(lc_store_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->tries = 5;
	options->retry_s = 60;
	options->connect_ms = 10000;
	options->stall_s = 30;
}

static lc_status
check_options(const lc_store_options *options)
{
	if (options->struct_size != sizeof(*options))
		return lc__error(LC_INVALID, 0,
		    "store: options without lc_store_options_init()");
	if (options->tries < 1 || options->tries > 1000 || options->connect_ms < 1 ||
	    options->retry_s > 86400 || options->connect_ms > 3600000 ||
	    options->stall_s < 1 || options->stall_s > 3600)
		return lc__error(LC_INVALID, 0,
		    "store: 1 to 1,000 tries, for up to a day, and other times up to an hour "
		    "are allowed");
	if (options->path_style > LC_PATH_STYLE_NO)
		return lc__error(LC_INVALID, 0, "store: no such path style");
	return LC_OK;
}

static lc_status
make(lc_store **out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? LC_OK : lc__no_memory("store");
}

lc_status
lc_store_open(const char *url, const lc_store_options *options, lc_store **out)
{
	lc_store_options defaults;
	lc_store *store;
	lc_status status;

	if (url == NULL || out == NULL)
		return lc__error(LC_INVALID, 0, "store: no URL");
	lc_store_options_init(&defaults);
	if (options == NULL)
		options = &defaults;
	return_if_error(check_options(options));
	return_if_error(make(&store));
	status = lc__objects_open(url, options, false, &store->objects);
	if (status == LC_OK)
		*out = store;
	else
		free(store);
	return status;
}

lc_status
lc_store_open_calls(const lc_store_calls *calls, void *ctx, const char *url,
    lc_store **out)
{
	lc_store *store;
	lc_status status;

	if (calls == NULL || url == NULL || out == NULL)
		return lc__error(LC_INVALID, 0, "store: no calls or URL");
	return_if_error(make(&store));
	status = lc__calls_open(calls, ctx, url, &store->objects);
	if (status == LC_OK)
		*out = store;
	else
		free(store);
	return status;
}

lc_status
lc_store_error(lc_status status, const char *text)
{
	return lc__error(status, 0, "%s", text);
}

lc_status
lc_store_check(lc_store *store)
{
	return lc__objects_check(store->objects);
}

void
lc_store_stats_of(const lc_store *store, lc_store_stats *out)
{
	const struct lc__traffic *traffic = &store->objects->traffic;

	*out = (lc_store_stats){
		.requests = traffic->requests,
		.retries = traffic->retries,
		.retry_wait_ns = traffic->waited_ns,
		.received = traffic->received,
		.sent = traffic->sent,
	};
}

void
lc_store_close(lc_store *store)
{
	if (store == NULL)
		return;
	lc__objects_close(store->objects);
	free(store);
}

struct lc__objects *
lc__store_objects(const lc_store *store)
{
	return store->objects;
}

void
lc__store_forget(lc_store *store)
{
	free(store);
}
