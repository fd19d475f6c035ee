/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts what the readers of an order of shares have, and what their caches need and fetch,
 * over all visits to chunks. Readers that share a cache count as one with all their shares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/plan.h"
#include "stream/cache_model.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* Whether there are numbers to print for this cache and these epochs. */
static bool
is_counted(const struct plan_nodes *how)
{
	return how->cache > 0 && how->epochs > 0;
}

/* The chunks that the readers of a cache fetch before they need them. */
static uint64_t
ahead_of_all(const struct plan_nodes *how)
{
	return how->ahead * how->together;
}

uint32_t
plan_caches(const struct plan_counting *c)
{
	return c->plan->readers / c->how->together;
}

const char *
plan_readers_name(const struct plan_counting *c, uint32_t cache, char out[SIZE_TEXT])
{
	const uint32_t first = cache * c->how->together;

	if (c->how->together == 1)
		snprintf(out, SIZE_TEXT, "%u", first);
	else
		snprintf(out, SIZE_TEXT, "%u-%u", first, first + c->how->together - 1);
	return out;
}

/* ---- counting ------------------------------------------------------------------------ */

/* When a chunk that is requested at @p asked arrives, from a store that is busy until
 * *idle. */
static double
arrives(const struct plan_nodes *how, double asked, double bytes, double *idle)
{
	const double ready = asked + how->latency;

	*idle = (ready > *idle ? ready : *idle) + bytes / (how->mbps * 1e6);
	return *idle;
}

/* The chunk of visit k is requested when the readers come to the visit `ahead` before
 * it. */
static lc_status
run_visits(const struct plan_counting *c, struct lc__visits *visits,
    struct lc__cache_model *lru, struct lc__cache_model *belady,
    lc_status (*seen)(void *ctx, uint64_t k, const struct lc__visit *visit, bool fetched),
    void *ctx, struct plan_fetched *out)
{
	const struct plan_nodes *how = c->how;
	const uint64_t ahead = ahead_of_all(how), ring = ahead + 1;
	double idle = 0, now, there;
	struct lc__visit visit;
	lc_status status;
	uint64_t at = 0; /* shares are of one source */
	bool fetched;

	for (uint64_t k = 0; (status = lc__visits_next(visits, &at, &visit)) == LC_OK;
	     k++) {
		if (progress_step(NULL, k, 0))
			return lc__error(LC_CANCELLED, 0, "interrupted");
		lc__visits_forget(visits, 0, k);
		return_if_error(lc__cache_model_visit(lru, k, &visit, &fetched));
		return_if_error(lc__cache_model_visit(belady, k, &visit, &fetched));
		if (seen != NULL)
			return_if_error(seen(ctx, k, &visit, fetched));
		now = (double)visit.first * c->batch + out->stalled;
		c->came[k % ring] = now;
		if (!fetched || how->mbps <= 0)
			continue;
		there = arrives(how, k < ahead ? 0 : c->came[(k + 1) % ring],
		    (double)c->sizes[visit.chunk], &idle);
		if (there > now) {
			out->stalled += there - now;
			c->came[k % ring] = there;
		}
	}
	if (status != LC_END)
		return status;
	out->lru = (double)lc__cache_model_counts(lru)->bytes;
	out->belady = (double)lc__cache_model_counts(belady)->bytes;
	out->requests = lc__cache_model_counts(belady)->fetches;
	out->seconds = (double)c->batches * c->batch;
	return LC_OK;
}

lc_status
plan_count(const struct plan_counting *c, uint32_t cache,
    lc_status (*seen)(void *ctx, uint64_t k, const struct lc__visit *visit, bool fetched),
    void *ctx, struct plan_fetched *out)
{
	const uint32_t together = c->how->together;
	const uint64_t room = c->how->cache;
	struct lc__cache_model *lru = NULL, *belady = NULL;
	struct lc__visits *visits = NULL;
	lc_status status;

	status = lc__visits_of_stream(c->stream,
	    (struct lc__ranks){ cache * together, together, c->plan->readers }, 0, NULL,
	    0, &visits);
	if (status == LC_OK)
		status = lc__cache_model_new(LC__EVICT_OLDEST, room, c->sizes, &lru);
	if (status == LC_OK)
		status = lc__cache_model_new(LC__EVICT_FARTHEST, room, c->sizes, &belady);
	if (status == LC_OK)
		status = run_visits(c, visits, lru, belady, seen, ctx, out);
	lc__cache_model_free(lru);
	lc__cache_model_free(belady);
	lc__visits_free(visits);
	return status;
}

/* The chunks that the readers of a cache have. */
struct chunk_set {
	uint64_t *list; /* room for the chunks of one reader */
	bool *has;      /* of each chunk: one of the readers has it */
	uint64_t n;     /* chunks of all sources */
};

/* Add the chunks of the readers of a cache to the counts, each once. */
static lc_status
add_chunks(const struct plan_counting *c, uint32_t cache, struct chunk_set *set,
    struct plan_node *node)
{
	const uint32_t together = c->how->together;

	memset(set->has, 0, set->n * sizeof(*set->has));
	for (uint32_t r = cache * together; r < (cache + 1) * together; r++) {
		size_t chunks = 0;

		return_if_error(lc_stream_share_chunks(c->stream, r, c->plan->readers,
		    set->list, set->n, &chunks));
		for (size_t i = 0; i < chunks; i++) {
			if (set->has[set->list[i]])
				continue;
			set->has[set->list[i]] = true;
			node->chunks++;
			node->bytes += (double)c->sizes[set->list[i]];
		}
	}
	return LC_OK;
}

static lc_status
find_node(const struct plan_counting *c, uint32_t cache, struct chunk_set *set,
    struct plan_node *node)
{
	const struct plan_nodes *how = c->how;
	const double shares = (double)how->shares / plan_caches(c);

	return_if_error(add_chunks(c, cache, set, node));
	node->least = (shares * (double)how->spread + (double)ahead_of_all(how)) *
	    (double)c->largest;
	if (node->least > node->bytes)
		node->least = node->bytes;
	node->enough = how->cache > 0 && (double)how->cache >= node->least;
	if (!node->enough || !is_counted(how))
		return LC_OK;
	return_if_error(plan_count(c, cache, NULL, NULL, &node->fetched));
	/* When an epoch begins, the cache holds at most its size of the chunks that the
	 * epoch needs; the rest is fetched. With --limit, less than an epoch may be
	 * read. */
	node->fetched.best = node->bytes;
	if ((double)how->cache < node->bytes)
		node->fetched.best += (double)(how->epochs - 1) *
		    (node->bytes - (double)how->cache);
	if (node->fetched.best > node->fetched.belady)
		node->fetched.best = node->fetched.belady;
	return LC_OK;
}

static void
add_node(struct plan_node *sum, const struct plan_node *node)
{
	sum->chunks += node->chunks;
	sum->bytes += node->bytes;
	sum->enough = sum->enough && node->enough;
	sum->fetched.lru += node->fetched.lru;
	sum->fetched.belady += node->fetched.belady;
	sum->fetched.best += node->fetched.best;
	sum->fetched.requests += node->fetched.requests;
	if (sum->fetched.seconds < node->fetched.seconds)
		sum->fetched.seconds = node->fetched.seconds;
	if (sum->fetched.stalled < node->fetched.stalled)
		sum->fetched.stalled = node->fetched.stalled;
}

const char *
plan_seconds(double seconds, char out[SIZE_TEXT])
{
	if (seconds >= 100)
		return time_human(seconds, out, SIZE_TEXT);
	snprintf(out, SIZE_TEXT, "%.2f s", seconds);
	return out;
}

/* ---- as text or JSON ---------------------------------------------------------------- */

static void
begin(const struct plan_counting *c, struct json *json)
{
	const struct plan_nodes *how = c->how;
	const uint64_t each = how->shares / c->plan->readers;
	char size[SIZE_TEXT];

	if (settings.json) {
		jw_open(json, NULL, '{');
		jw_text(json, "order", "shares");
		jw_count(json, "shares", how->shares);
		jw_count(json, "spread", how->spread);
		jw_count(json, "ahead", how->ahead);
		jw_count(json, "cache_readers", how->together);
		jw_count(json, "chunks", c->plan->chunks->n);
		jw_count(json, "largest_chunk", c->largest);
		jw_count(json, "epochs", how->epochs);
		if (how->cache > 0)
			jw_count(json, "cache_size", how->cache);
		jw_open(json, "readers", '[');
		return;
	}
	printf("%s: %llu shares, %llu a reader, in windows of %s\n",
	    c->plan->sources->all[0].name, (unsigned long long)how->shares,
	    (unsigned long long)each,
	    count_human(how->spread, "chunk", size, sizeof(size)));
	printf("  chunks       %llu, the largest %s\n",
	    (unsigned long long)c->plan->chunks->n,
	    size_human((double)c->largest, size, sizeof(size)));
	if (how->together > 1)
		printf("  caches       %u, each of %u readers\n", plan_caches(c),
		    how->together);
	printf("  least cache  for %llu times %llu chunks, and %llu ahead\n",
	    (unsigned long long)each * how->together, (unsigned long long)how->spread,
	    (unsigned long long)ahead_of_all(how));
	if (is_counted(how))
		printf("  fetched      in %llu epoch%s, with %s of cache %s\n",
		    (unsigned long long)how->epochs, how->epochs == 1 ? "" : "s",
		    size_human((double)how->cache, size, sizeof(size)),
		    how->together == 1 ? "a reader" : "each");
	printf("reader  chunks       bytes  least cache         LRU      Belady     "
	       "at best  requests%s%s\n",
	    how->rate > 0 ? "    MB/s" : "", how->mbps > 0 ? "   stalled" : "");
}

double
plan_needed_mbps(const struct plan_fetched *fetched)
{
	return fetched->seconds > 0 ? fetched->belady / fetched->seconds / 1e6 : 0;
}

/* Print numbers, or dashes if they are unknown. */
static void
show_fetched(const struct plan_nodes *how, const struct plan_node *node)
{
	const struct plan_fetched *fetched = &node->fetched;
	char lru[SIZE_TEXT], belady[SIZE_TEXT], best[SIZE_TEXT], stalled[SIZE_TEXT];

	if (!node->enough || !is_counted(how)) {
		printf(" %11s %11s %11s %9s%s%s\n", "-", "-", "-", "-",
		    how->rate > 0 ? "       -" : "", how->mbps > 0 ? "         -" : "");
		return;
	}
	printf(" %11s %11s %11s %9llu", size_human(fetched->lru, lru, sizeof(lru)),
	    size_human(fetched->belady, belady, sizeof(belady)),
	    size_human(fetched->best, best, sizeof(best)),
	    (unsigned long long)fetched->requests);
	if (how->rate > 0)
		printf(" %7.1f", plan_needed_mbps(fetched));
	if (how->mbps > 0)
		printf(" %9s", plan_seconds(fetched->stalled, stalled));
	putchar('\n');
}

static void
show_node_json(const struct plan_nodes *how, const struct plan_node *node,
    struct json *json)
{
	const struct plan_fetched *fetched = &node->fetched;

	if (!node->enough || !is_counted(how))
		return;
	jw_count(json, "fetched_lru", (uint64_t)fetched->lru);
	jw_count(json, "fetched_belady", (uint64_t)fetched->belady);
	jw_count(json, "fetched_best", (uint64_t)fetched->best);
	jw_count(json, "requests", fetched->requests);
	if (how->rate > 0)
		jw_real(json, "mbps", plan_needed_mbps(fetched));
	if (how->mbps > 0)
		jw_real(json, "stalled_seconds", fetched->stalled);
}

static void
show_node(const struct plan_counting *c, uint32_t cache, const struct plan_node *node,
    struct json *json)
{
	const struct plan_nodes *how = c->how;
	char bytes[SIZE_TEXT], least[SIZE_TEXT], name[SIZE_TEXT];

	if (!settings.json) {
		printf("%6s %7llu %11s  %11s", plan_readers_name(c, cache, name),
		    (unsigned long long)node->chunks,
		    size_human(node->bytes, bytes, sizeof(bytes)),
		    size_human(node->least, least, sizeof(least)));
		show_fetched(how, node);
		return;
	}
	jw_open(json, NULL, '{');
	jw_count(json, "reader", cache * how->together);
	jw_count(json, "chunks", node->chunks);
	jw_count(json, "bytes", (uint64_t)node->bytes);
	jw_count(json, "least_cache", (uint64_t)node->least);
	if (how->cache > 0)
		jw_flag(json, "enough", node->enough);
	show_node_json(how, node, json);
	jw_close(json, '}');
}

static void
end(const struct plan_nodes *how, const struct plan_node *sum, struct json *json)
{
	char bytes[SIZE_TEXT];

	if (settings.json) {
		jw_close(json, ']');
		jw_count(json, "bytes", (uint64_t)sum->bytes);
		show_node_json(how, sum, json);
		jw_end_line(json);
		return;
	}
	printf("   all %7llu %11s  %11s", (unsigned long long)sum->chunks,
	    size_human(sum->bytes, bytes, sizeof(bytes)), "");
	show_fetched(how, sum);
	if (how->cache > 0 && !sum->enough)
		printf(
		    "with less than the least cache, chunks are fetched again within an "
		    "epoch\n");
}

/* ---- all readers -------------------------------------------------------------------- */

lc_status
plan_nodes(struct plan_counting *c, struct plan_node *all, struct plan_node *sum)
{
	const uint64_t n = c->plan->chunks->n;
	struct chunk_set set = {
		.list = calloc(n + 1, sizeof(*set.list)),
		.has = calloc(n + 1, sizeof(*set.has)),
		.n = n,
	};
	struct json json = { stdout, false };
	lc_status status = set.list != NULL && set.has != NULL ? LC_OK
							       : lc__no_memory(NULL);

	*sum = (struct plan_node){ .enough = c->how->cache > 0 };
	progress_begin("plan");
	for (uint32_t i = 0; i < plan_caches(c) && status == LC_OK; i++) {
		struct plan_node node = { 0 };

		status = find_node(c, i, &set, &node);
		if (status != LC_OK)
			break;
		if (i == 0)
			begin(c, &json);
		show_node(c, i, &node, &json);
		add_node(sum, &node);
		if (all != NULL)
			all[i] = node;
	}
	if (status == LC_OK)
		end(c->how, sum, &json);
	progress_end();
	free(set.list);
	free(set.has);
	return status;
}

lc_status
plan_counting_open(const struct plan *plan, const struct plan_nodes *how,
    lc_stream *stream, struct plan_counting *out)
{
	lc_stream_info info = { .struct_size = sizeof(info) };

	*out = (struct plan_counting){
		.plan = plan,
		.how = how,
		.stream = stream,
		.sizes = calloc(plan->chunks->n + 1, sizeof(*out->sizes)),
		.came = calloc(ahead_of_all(how) + 1, sizeof(*out->came)),
	};
	if (out->sizes == NULL || out->came == NULL)
		return lc__no_memory(NULL);
	for (uint64_t i = 0; i < plan->chunks->n; i++) {
		out->sizes[i] = (uint64_t)(plan->chunks->bytes[i] + 0.5);
		if (out->sizes[i] > out->largest)
			out->largest = out->sizes[i];
	}
	if (how->rate > 0)
		out->batch = (double)plan->batch / plan->readers / how->rate;
	return_if_error(lc_stream_info_get(stream, &info));
	out->batches = info.batches;
	return LC_OK;
}

void
plan_counting_close(struct plan_counting *c)
{
	free(c->came);
	free(c->sizes);
}
