/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch.h"

#include <string.h>

#include "base/clock.h"
#include "ui/settings.h"

lc_status
watch_take(const char *module, struct watch_sample *out)
{
	lc_options options;
	lc_cache *cache;
	lc_status status;

	memset(out, 0, sizeof(*out));
	out->stats.struct_size = sizeof(out->stats);
	out->counters.struct_size = sizeof(out->counters);
	out->fill.struct_size = sizeof(out->fill);
	lc_options_init(&options);
	options.flags = LC_RDONLY | (settings.force_fs ? LC_FORCE_FS : 0);
	options.lru_bytes = 0;
	/* Open it each time, because another process may have replaced the module. */
	status = lc_open(settings.root, module, &options, &cache);
	if (status != LC_OK)
		return status;
	out->ns = lc__clock_ns();
	status = lc_stat(cache, &out->stats);
	if (status == LC_OK)
		status = lc_counters_get(cache, &out->counters);
	if (status == LC_OK)
		status = lc_fill_get(cache, &out->fill);
	/* Do not count this handle as a reader. */
	if (out->stats.readers > 0)
		out->stats.readers--;
	if (status != LC_OK) {
		lc_discard(cache);
		return status;
	}
	return lc_close(cache);
}

static uint64_t
more(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

struct watch_change
watch_between(const struct watch_sample *before, const struct watch_sample *after)
{
	const lc_counters *a, *b = &after->counters;

	if (before == NULL ||
	    memcmp(before->stats.uuid, after->stats.uuid, sizeof(after->stats.uuid)) != 0)
		return (struct watch_change){ 0 };
	a = &before->counters;
	return (struct watch_change){
		.seconds = (double)more(before->ns, after->ns) / 1e9,
		.puts = more(a->puts, b->puts),
		.deletes = more(a->deletes, b->deletes),
		.put_bytes = more(a->put_bytes, b->put_bytes),
		.commits = more(a->commits, b->commits),
		.lookups = more(a->hits, b->hits) + more(a->misses, b->misses),
	};
}

double
watch_rate(const struct watch_change *change, uint64_t n)
{
	return change->seconds > 0 ? (double)n / change->seconds : 0;
}

unsigned
watch_dead_share(const struct watch_sample *sample)
{
	const double dead = (double)sample->stats.dead_bytes;
	const double all = dead + (double)sample->stats.live_bytes;

	return all > 0 ? (unsigned)(100 * dead / all + 0.5) : 0;
}

void
watch_json(struct json *json, const struct watch_sample *before,
    const struct watch_sample *after)
{
	const lc_stats *stats = &after->stats;
	const lc_counters *counters = &after->counters;
	const struct watch_change change = watch_between(before, after);
	const struct {
		const char *key;
		uint64_t total, new;
	} counts[] = {
		{ "puts", counters->puts, change.puts },
		{ "deletes", counters->deletes, change.deletes },
		{ "put_bytes", counters->put_bytes, change.put_bytes },
		{ "commits", counters->commits, change.commits },
		{ "lookups", counters->hits + counters->misses, change.lookups },
	};
	const size_t n = sizeof(counts) / sizeof(counts[0]);

	jw_count(json, "records", stats->records);
	jw_count(json, "dead_records", stats->dead_records);
	jw_count(json, "chunks", stats->chunks);
	jw_count(json, "live_bytes", stats->live_bytes);
	jw_count(json, "dead_bytes", stats->dead_bytes);
	jw_count(json, "file_bytes", stats->file_bytes);
	jw_count(json, "readers", stats->readers);
	for (size_t i = 0; i < n; i++)
		jw_count(json, counts[i].key, counts[i].total);
	if (after->fill.inputs > 0) {
		jw_count(json, "inputs", after->fill.inputs);
		jw_count(json, "finished", after->fill.finished);
		jw_count(json, "held", after->fill.held);
	}
	if (before == NULL)
		return;
	jw_real(json, "seconds", change.seconds);
	jw_open(json, "new", '{');
	for (size_t i = 0; i < n; i++)
		jw_count(json, counts[i].key, counts[i].new);
	jw_close(json, '}');
	jw_open(json, "rates", '{');
	for (size_t i = 0; i < n; i++)
		jw_real(json, counts[i].key, watch_rate(&change, counts[i].new));
	jw_close(json, '}');
}
