/* SPDX-License-Identifier: BSD-2-Clause */
/* What each reader of an order of shares has, and what a cache of it needs and saves. The
 * formulas are those of lmdbcache_stream(3). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cmd/plan.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* All readers together. */
struct sums {
	uint64_t chunks; /* of them all; those of two readers count twice */
	double bytes, fetched_lru, fetched_belady;
};

/* A reader. */
struct node {
	uint64_t chunks;
	double bytes, least;
	bool enough; /* the cache has the least, and what follows is known */
	double fetched_lru, fetched_belady; /* bytes over all epochs */
};

static double
largest_chunk(const struct plan_chunks *chunks)
{
	double most = 0;

	for (uint64_t i = 0; i < chunks->n; i++)
		most = chunks->bytes[i] > most ? chunks->bytes[i] : most;
	return most;
}

/* What is fetched of a byte in each epoch but the first, with the part @p c of all bytes in
 * the cache: if what was used longest ago goes, and if what is needed last goes. */
static double
again_lru(double c)
{
	return c >= 1 ? 0 : 1 - c - (1 - c) * log(1 - c);
}

static double
again_belady(double c)
{
	return c >= 1 ? 0 : 1 - c;
}

static void
find_node(const struct plan *plan, const struct plan_nodes *how, const uint64_t *list,
    struct node *node)
{
	const double shares = (double)how->shares / plan->readers;
	const double further = (double)(how->epochs - 1);
	const double cache = (double)how->cache;
	double c;

	for (uint64_t i = 0; i < node->chunks; i++)
		node->bytes += plan->chunks->bytes[list[i]];
	node->least = (shares * (double)how->spread + (double)how->ahead) *
	    largest_chunk(plan->chunks);
	if (node->least > node->bytes)
		node->least = node->bytes;
	node->enough = how->cache > 0 && cache >= node->least;
	if (!node->enough || how->epochs == 0)
		return;
	c = node->bytes > 0 ? cache / node->bytes : 1;
	node->fetched_lru = node->bytes * (1 + further * again_lru(c));
	node->fetched_belady = node->bytes * (1 + further * again_belady(c));
}

/* ---- as text or JSON ---------------------------------------------------------------- */

static void
begin(const struct plan *plan, const struct plan_nodes *how, struct json *json)
{
	const struct plan_chunks *chunks = plan->chunks;
	const uint64_t each = how->shares / plan->readers;
	char size[SIZE_TEXT];

	if (settings.json) {
		jw_open(json, NULL, '{');
		jw_text(json, "order", "shares");
		jw_count(json, "shares", how->shares);
		jw_count(json, "spread", how->spread);
		jw_count(json, "ahead", how->ahead);
		jw_count(json, "chunks", chunks->n);
		jw_count(json, "largest_chunk", (uint64_t)largest_chunk(chunks));
		jw_count(json, "epochs", how->epochs);
		if (how->cache > 0)
			jw_count(json, "cache_size", how->cache);
		jw_open(json, "readers", '[');
		return;
	}
	printf("%s: %llu shares, %llu a reader, in windows of %s\n",
	    plan->sources->all[0].name, (unsigned long long)how->shares,
	    (unsigned long long)each,
	    count_human(how->spread, "chunk", size, sizeof(size)));
	printf("  chunks       %llu, the largest %s\n", (unsigned long long)chunks->n,
	    size_human(largest_chunk(chunks), size, sizeof(size)));
	printf("  least cache  for %llu times %llu chunks, and %llu ahead\n",
	    (unsigned long long)each, (unsigned long long)how->spread,
	    (unsigned long long)how->ahead);
	if (how->cache > 0 && how->epochs > 0)
		printf("  fetched      in %llu epoch%s, with %s of cache a reader\n",
		    (unsigned long long)how->epochs, how->epochs == 1 ? "" : "s",
		    size_human((double)how->cache, size, sizeof(size)));
	printf("reader  chunks       bytes  least cache         LRU      Belady\n");
}

/* Bytes, or a dash for what is not known. */
static const char *
bytes_text(bool known, double bytes, char out[SIZE_TEXT])
{
	return known ? size_human(bytes, out, SIZE_TEXT) : "-";
}

static void
show_node(const struct plan_nodes *how, uint32_t reader, const struct node *node,
    struct json *json)
{
	const bool known = node->enough && how->epochs > 0;
	char bytes[SIZE_TEXT], least[SIZE_TEXT], lru[SIZE_TEXT], belady[SIZE_TEXT];

	if (!settings.json) {
		printf("%6u %7llu %11s  %11s %11s %11s\n", reader,
		    (unsigned long long)node->chunks,
		    size_human(node->bytes, bytes, sizeof(bytes)),
		    size_human(node->least, least, sizeof(least)),
		    bytes_text(known, node->fetched_lru, lru),
		    bytes_text(known, node->fetched_belady, belady));
		return;
	}
	jw_open(json, NULL, '{');
	jw_count(json, "reader", reader);
	jw_count(json, "chunks", node->chunks);
	jw_count(json, "bytes", (uint64_t)node->bytes);
	jw_count(json, "least_cache", (uint64_t)node->least);
	if (how->cache > 0)
		jw_flag(json, "enough", node->enough);
	if (known) {
		jw_count(json, "fetched_lru", (uint64_t)node->fetched_lru);
		jw_count(json, "fetched_belady", (uint64_t)node->fetched_belady);
	}
	jw_close(json, '}');
}

static void
end(const struct plan_nodes *how, const struct sums *sums, bool enough, struct json *json)
{
	const bool known = enough && how->epochs > 0;
	char bytes[SIZE_TEXT], lru[SIZE_TEXT], belady[SIZE_TEXT];

	if (settings.json) {
		jw_close(json, ']');
		jw_count(json, "bytes", (uint64_t)sums->bytes);
		jw_end_line(json);
		return;
	}
	printf("   all %7llu %11s  %11s %11s %11s\n", (unsigned long long)sums->chunks,
	    size_human(sums->bytes, bytes, sizeof(bytes)), "",
	    bytes_text(known, sums->fetched_lru, lru),
	    bytes_text(known, sums->fetched_belady, belady));
	if (how->cache > 0 && !enough)
		printf(
		    "with less cache than the least, chunks are fetched again within an "
		    "epoch\n");
}

/* ---- all readers -------------------------------------------------------------------- */

lc_status
plan_nodes(const struct plan *plan, const struct plan_nodes *how, lc_stream *stream)
{
	const uint64_t n = plan->chunks->n;
	uint64_t *list = malloc((n + 1) * sizeof(*list));
	struct json json = { stdout, false };
	struct sums sums = { 0 };
	bool enough = how->cache > 0;
	lc_status status = list != NULL ? LC_OK : lc__no_memory(NULL);

	for (uint32_t r = 0; r < plan->readers && status == LC_OK; r++) {
		struct node node = { 0 };
		size_t chunks = 0;

		status = lc_stream_share_chunks(stream, r, plan->readers, list, n,
		    &chunks);
		if (status != LC_OK)
			break;
		if (r == 0)
			begin(plan, how, &json);
		node.chunks = chunks;
		find_node(plan, how, list, &node);
		show_node(how, r, &node, &json);
		sums.chunks += node.chunks;
		sums.bytes += node.bytes;
		sums.fetched_lru += node.fetched_lru;
		sums.fetched_belady += node.fetched_belady;
		enough = enough && node.enough;
	}
	if (status == LC_OK)
		end(how, &sums, enough, &json);
	free(list);
	return status;
}
