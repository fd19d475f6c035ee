/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/plan_table.h"

#include <stdio.h>

#include "ui/json.h"
#include "ui/settings.h"
#include "ui/size.h"

/* Seconds to read an epoch, one place after the other; negative if not known. */
static double
predict(const struct plan_cost *cost, const struct plan_disk *disk)
{
	if (disk->mbps <= 0 || cost->epoch_batches <= 0)
		return -1;
	return cost->epoch_batches * (cost->bytes / (disk->mbps * 1e6) +
	    cost->runs * disk->seek);
}

/* Hundredths of a second count only for small modules. */
static const char *
seconds_text(double seconds, char out[SIZE_TEXT])
{
	if (seconds >= 100)
		return time_human(seconds, out, SIZE_TEXT);
	snprintf(out, SIZE_TEXT, "%.2f s", seconds);
	return out;
}

static const char *
order_name(const struct plan_order *order, char out[SIZE_TEXT])
{
	snprintf(out, SIZE_TEXT, order->idealised ? "%s=%llu" : "%s", order->name,
	    (unsigned long long)order->idealised);
	return out;
}

/* The reader that has most against the mean of all. */
static double
imbalance(const struct plan *plan, const struct plan_cost *cost)
{
	double most = 0, sum = 0;

	for (uint32_t r = 0; r < plan->readers; r++) {
		const double bytes = cost->readers[r].bytes;
		sum += bytes;
		most = bytes > most ? bytes : most;
	}
	return sum > 0 ? most * plan->readers / sum : 1;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void
json_readers(struct json *json, const struct plan *plan,
    const struct plan_cost *cost)
{
	jw_open(json, "readers", '[');
	for (uint32_t r = 0; r < plan->readers; r++) {
		jw_open(json, NULL, '{');
		jw_count(json, "reader", r);
		jw_real(json, "chunks", cost->readers[r].chunks);
		jw_real(json, "bytes", cost->readers[r].bytes);
		jw_close(json, '}');
	}
	jw_close(json, ']');
	jw_real(json, "imbalance", imbalance(plan, cost));
}

static void
show_json(const struct plan *plan, const struct plan_order *order,
    const struct plan_disk *disk)
{
	const struct plan_cost *cost = order->cost;
	const double seconds = predict(cost, disk);
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "order", order->name);
	if (order->idealised > 0)
		jw_count(&json, "idealised", order->idealised);
	jw_count(&json, "batches", cost->batches);
	jw_count(&json, "examples", cost->examples);
	jw_real(&json, "chunks", cost->chunks);
	jw_count(&json, "chunks_p50", cost->p50);
	jw_count(&json, "chunks_p99", cost->p99);
	jw_count(&json, "chunks_max", cost->most);
	jw_real(&json, "runs", cost->runs);
	jw_real(&json, "bytes", cost->bytes);
	jw_count(&json, "stored_bytes", (uint64_t)cost->all_bytes);
	jw_real(&json, "examples_a_visit", cost->visit);
	jw_count(&json, "within", plan->within);
	jw_real(&json, "again", cost->again);
	jw_real(&json, "read_whole", cost->whole);
	jw_count(&json, "cache_chunks", plan->kept);
	jw_real(&json, "read_cached", cost->cached);
	json_readers(&json, plan, cost);
	if (seconds >= 0)
		jw_real(&json, "epoch_seconds", seconds);
	jw_end_line(&json);
}

/* ---- text --------------------------------------------------------------------------------- */

static void
show_readers(const struct plan *plan, const struct plan_cost *cost)
{
	char text[SIZE_TEXT];

	for (uint32_t r = 0; r < plan->readers && plan->readers > 1; r++)
		printf("  reader %-13u %.1f chunks, %s a batch\n", r,
		    cost->readers[r].chunks, size_human(cost->readers[r].bytes, text,
		    sizeof(text)));
	if (plan->readers > 1)
		printf("  imbalance            %.3f\n", imbalance(plan, cost));
}

static void
show_seconds(const struct plan_cost *cost, const struct plan_disk *disk)
{
	const double seconds = predict(cost, disk);
	char text[SIZE_TEXT];

	if (seconds >= 0)
		printf("  an epoch             %s, at %g MB/s and %g ms a place, nothing "
		    "in memory\n", seconds_text(seconds, text),
		    disk->mbps, disk->seek * 1e3);
}

void
plan_table_one(const struct plan *plan, const struct plan_order *order,
    const struct plan_disk *disk)
{
	const struct plan_cost *cost = order->cost;
	char text[SIZE_TEXT];

	if (settings.json) {
		show_json(plan, order, disk);
		return;
	}
	printf("%s: order %s\n", plan->streaming->sources[0].name,
	    order_name(order, text));
	printf("  batches looked at    %llu, with %s\n",
	    (unsigned long long)cost->batches, count_human(cost->examples,
	    "example", text, sizeof(text)));
	printf("  chunks a batch       mean %.1f, p50 %llu, p99 %llu, max %llu\n",
	    cost->chunks, (unsigned long long)cost->p50,
	    (unsigned long long)cost->p99, (unsigned long long)cost->most);
	printf("  places a batch       %.1f\n", cost->runs);
	printf("  bytes a batch        %s\n", size_human(cost->bytes, text,
	    sizeof(text)));
	printf("  examples a visit     %.1f\n", cost->visit);
	printf("  visited again        %.1f %% within %llu batches\n",
	    100 * cost->again, (unsigned long long)plan->within);
	printf("  read whole           %.2f times the bytes\n", cost->whole);
	printf("  with %-5llu in memory %.2f times the bytes\n",
	    (unsigned long long)plan->kept, cost->cached);
	show_readers(plan, cost);
	show_seconds(cost, disk);
}

void
plan_table_row(const struct plan *plan, const struct plan_order *order,
    const struct plan_disk *disk, bool first)
{
	const struct plan_cost *cost = order->cost;
	const double seconds = predict(cost, disk);
	char text[SIZE_TEXT];

	if (settings.json) {
		show_json(plan, order, disk);
		return;
	}
	if (first)
		printf("order       chunks   p99   max   places       bytes  again   "
		    "whole  cached%s\n", seconds >= 0 ? "  an epoch" : "");
	printf("%-10s %7.1f %5llu %5llu %8.1f", order_name(order, text), cost->chunks,
	    (unsigned long long)cost->p99, (unsigned long long)cost->most,
	    cost->runs);
	printf(" %11s %5.1f%% %7.2f %7.2f", size_human(cost->bytes, text,
	    sizeof(text)), 100 * cost->again, cost->whole, cost->cached);
	if (seconds >= 0)
		printf("  %s", seconds_text(seconds, text));
	putchar('\n');
}
