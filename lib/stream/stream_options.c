/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/stream_options.h"

#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

void
lc_stream_options_init(lc_stream_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->block = 256;
	options->spread = 16;
	options->era_first = 65536;
	options->era_max = 1048576;
	options->epochs = 1;
	options->mixture_block = 1024;
	options->batch = 256;
}

static lc_status
contradiction(const char *what)
{
	return lc__error(LC_INVALID, 0, "stream: %s", what);
}

static lc_status
check_windows(const lc_stream_options *o)
{
	if (o->window > UINT32_MAX)
		return contradiction("a window has at most 4294967295 units");
	if (o->window == 0 && o->stride != 0)
		return contradiction("a stride without a window");
	if (o->window == 0 && o->drop_short)
		return contradiction("no short window to drop without a window");
	if (o->stride > INT64_MAX)
		return contradiction("the stride is above 2^63 - 1");
	return LC_OK;
}

static lc_status
check_shuffle(const lc_stream_options *o)
{
	uint64_t product;

	if (lc_shuffle_name(o->shuffle) == NULL)
		return lc__error(LC_INVALID, 0, "stream: no shuffle %d",
		    (int)o->shuffle);
	if (o->shuffle != LC_SHUFFLE_BLOCK && o->shuffle != LC_SHUFFLE_ERA)
		return LC_OK;
	if (o->block == 0 || o->spread == 0)
		return contradiction("block and spread are at least 1");
	if (!lc__mul64(o->block, o->spread, &product) || product > INT64_MAX)
		return contradiction("block times spread is above 2^63 - 1");
	if (o->shuffle == LC_SHUFFLE_ERA &&
	    (o->era_first == 0 || o->era_first > o->era_max))
		return contradiction("the first era has at least one example and no "
		    "more than the largest");
	if (o->shuffle == LC_SHUFFLE_ERA && o->era_max > INT64_MAX)
		return contradiction("the largest era is above 2^63 - 1");
	return LC_OK;
}

static lc_status
check_idealised(const lc_stream_options *o)
{
	if (o->idealised == 0)
		return LC_OK;
	if (o->idealised > LC__MOST_IDEALISED)
		return contradiction("at most 65536 idealised readers");
	if (o->shuffle != LC_SHUFFLE_NONE)
		return contradiction("idealised readers do not shuffle");
	if (o->epochs != 0)
		return contradiction("idealised readers run for ever: epochs is 0");
	return LC_OK;
}

static lc_status
check_mixture(const lc_stream_options *o, size_t sources)
{
	for (size_t i = 0; o->weights != NULL && i < sources; i++)
		if (o->weights[i] == 0 || o->weights[i] > LC__MOST_WEIGHT)
			return lc__error(LC_INVALID, 0, "stream: weight %zu is not "
			    "1 to 4294967296", i);
	if (sources == 1)
		return LC_OK;
	if (o->epochs != 0)
		return contradiction("a mixture runs for ever: epochs is 0");
	if (o->follow)
		return contradiction("a mixture does not follow its sources");
	if (o->mixture_block < sources)
		return contradiction("a block of the mixture has fewer examples than "
		    "there are sources");
	return LC_OK;
}

static lc_status
check(const lc_stream_options *o, size_t sources)
{
	if (o->struct_size != sizeof(*o))
		return contradiction("options were not made by "
		    "lc_stream_options_init()");
	if (sources == 0 || sources > UINT32_MAX)
		return contradiction("no sources");
	if (o->batch == 0 || o->batch > UINT32_MAX)
		return contradiction("a batch has 1 to 4294967295 examples");
	return_if_error(check_windows(o));
	return_if_error(check_shuffle(o));
	return_if_error(check_idealised(o));
	return_if_error(check_mixture(o, sources));
	if (o->follow && (o->shuffle == LC_SHUFFLE_FULL ||
	    o->shuffle == LC_SHUFFLE_BLOCK))
		return contradiction("a shuffle that needs to know the end does not "
		    "follow: shuffle in eras");
	return LC_OK;
}

lc_status
lc__stream_options_take(const lc_stream_options *given, size_t sources,
    lc_stream_options *out)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	if (given != NULL)
		o = *given;
	return_if_error(check(&o, sources));
	if (o.stride == 0)
		o.stride = o.window;
	*out = o;
	return LC_OK;
}

/* ---- what the order depends on ----------------------------------------------- */

static void
add_shuffle(struct lc__buf *buf, const lc_stream_options *o)
{
	const int blocks = o->shuffle == LC_SHUFFLE_BLOCK ||
	    o->shuffle == LC_SHUFFLE_ERA;
	const int eras = o->shuffle == LC_SHUFFLE_ERA;

	lc__buf_append64(buf, o->shuffle);
	lc__buf_append64(buf, blocks ? o->block : 0);
	lc__buf_append64(buf, blocks ? o->spread : 0);
	lc__buf_append64(buf, eras ? o->era_first : 0);
	lc__buf_append64(buf, eras ? o->era_max : 0);
}

/* One source alone has no weight. */
static void
add_sources(struct lc__buf *buf, const lc_stream_options *o, size_t sources,
    const char *const *length_fields)
{
	lc__buf_append64(buf, sources);
	lc__buf_append64(buf, sources > 1 ? o->mixture_block : 0);
	for (size_t i = 0; i < sources; i++) {
		const char *field = o->window > 0 ? length_fields[i] : "";

		lc__buf_append64(buf, sources > 1 && o->weights != NULL ?
		    o->weights[i] : 1);
		lc__buf_append64(buf, strlen(field));
		lc__buf_append(buf, field, strlen(field));
	}
}

lc_status
lc__stream_order_hash(const lc_stream_options *o, size_t sources,
    const char *const *length_fields, uint64_t *out)
{
	struct lc__buf buf = { 0 };
	bool failed;

	lc__buf_append64(&buf, o->window);
	lc__buf_append64(&buf, o->stride);
	lc__buf_append64(&buf, o->drop_short && o->idealised == 0);
	lc__buf_append64(&buf, o->idealised);
	add_shuffle(&buf, o);
	add_sources(&buf, o, sources, length_fields);
	failed = buf.failed;
	if (!failed)
		*out = lc__hash64(buf.data, buf.size);
	lc__buf_free(&buf);
	return failed ? lc__no_memory("stream") :
	    LC_OK;
}
