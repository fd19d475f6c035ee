/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex plan: what reading in an order would cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/plan.h"
#include "cmd/stores.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/** An order and its cost. */
struct plan_order {
	const char *name;   /* "block" */
	uint64_t idealised; /* of "R*", else 0 */
	const struct plan_cost *cost;
};

/* More examples are examined only if --over says so. */
#define MOST_EXAMPLES (1u << 22)

static struct stream_order order = STREAM_ORDER_DEFAULT(256);
static uint64_t readers = 1;
static int share;
static const char *show;
static uint64_t over = OPT_UNSET;
static uint64_t within = 16;
static uint64_t kept = 16;
static int compare;
static uint64_t ahead = 4;
static uint64_t together = 1;
static uint64_t rate, store_mbps, store_ms;
static const char *report;
static int force;
static uint64_t disk_mbps = OPT_UNSET;
static const char *seek_ms;
static struct opt_list fields;
static int ids;
static int verify = LC_VERIFY_ONCE;

static struct opt options[] = {
	{ "", "show", OPT_TEXT, &show, .value = "BATCH[-LAST]",
	    .help =
		"print the parts of chunks that each reader reads for these batches" },
	{ "", "compare", OPT_FLAG, &compare,
	    .help = "print the cost of several orders, one line each" },
	{ "", "over", OPT_COUNT, &over, .value = "N", .least = 1, .most = 1u << 24,
	    .help = "number of batches to examine; default up to 1000" },
	{ "r", "readers", OPT_COUNT, &readers, .value = "R", .least = 1, .most = 65536,
	    .help = "number of readers that divide a batch" },
	{ "", "share", OPT_CHOICE, &share, .value = "strided|contiguous",
	    .help = "how readers divide a batch: in turn, or one contiguous part each" },
	{ "", "within", OPT_COUNT, &within, .value = "K", .least = 1,
	    .help = "count chunks that are visited again within K batches" },
	{ "", "cache-chunks", OPT_COUNT, &kept, .value = "M",
	    .help = "number of chunks that stay in memory" },
	{ "", "cache-size", OPT_SIZE, &store_fetch.cache_size, .value = "SIZE",
	    .least = 1,
	    .help = "with --shares: print what a reader with this cache fetches" },
	{ "", "cache-readers", OPT_COUNT, &together, .value = "N", .least = 1,
	    .most = 65536,
	    .help = "with --shares: number of readers that share a cache; default 1" },
	{ "", "ahead", OPT_COUNT, &ahead, .value = "Q", .most = 1u << 24,
	    .help = "with --shares: chunks to fetch before they are needed" },
	STORE_FETCH_OPTIONS,
	{ "", "rate", OPT_COUNT, &rate, .value = "N", .least = 1,
	    .help = "with --cache-size: examples per second of a reader" },
	{ "", "store-mbps", OPT_COUNT, &store_mbps, .value = "N", .least = 1,
	    .help = "with --rate: MB per second that a cache gets from the store" },
	{ "", "store-ms", OPT_COUNT, &store_ms, .value = "MS",
	    .help = "latency of the store; default 0" },
	{ "", "report", OPT_FILE, &report, .value = "FILE",
	    .help = "with --cache-size: also write a page that draws it" },
	{ "f", "force", OPT_FLAG, &force, .help = "replace FILE of --report" },
	{ "", "disk-mbps", OPT_COUNT, &disk_mbps, .value = "N", .least = 1,
	    .help = "predict an epoch on a disk that reads N MB per second" },
	{ "", "seek-ms", OPT_TEXT, &seek_ms, .value = "MS",
	    .help = "time of the disk for each place; default 0.1" },
	{ "1", "ids", OPT_FLAG, &ids, .help = "count what is read for cache_ids only" },
	{ "", "field", OPT_LIST, &fields, .value = "PATH",
	    .help = "count what is read for this tensor; may be repeated; default all of "
		    "the first record, for windows the length field" },
	{ "", "verify", OPT_CHOICE, &verify, .value = "never|always|once",
	    .help = "when checksums are compared, which adds to what is read; default "
		    "once" },
	STREAM_ORDER_OPTIONS(order),
	STREAM_SHARES_OPTIONS(order),
	STREAM_PART_OPTIONS(order),
	STREAM_MIX_OPTIONS(order),
	STREAM_WAREHOUSE_OPTIONS(order),
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

/* The disk of a prediction. */
static struct {
	double mbps; /* 0: no prediction */
	double seek; /* seconds for each place */
} disk;

/* ---- what orders cost, as text or JSON --------------------------------------------- */

/* Seconds to read an epoch, one place after another; negative if not known. */
static double
predict(const struct plan_cost *cost)
{
	if (disk.mbps <= 0 || cost->epoch_batches <= 0)
		return -1;
	return cost->epoch_batches *
	    (cost->bytes / (disk.mbps * 1e6) + cost->runs * disk.seek);
}

static const char *
order_name(const struct plan_order *named, char out[SIZE_TEXT])
{
	snprintf(out, SIZE_TEXT, named->idealised ? "%s=%llu" : "%s", named->name,
	    (unsigned long long)named->idealised);
	return out;
}

/* The most that one reader reads, relative to the mean of all. */
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

static void
show_json(const struct plan *plan, const struct plan_order *named)
{
	const struct plan_cost *cost = named->cost;
	const double seconds = predict(cost);
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "order", named->name);
	if (named->idealised > 0)
		jw_count(&json, "idealised", named->idealised);
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
	jw_open(&json, "readers", '[');
	for (uint32_t r = 0; r < plan->readers; r++) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "reader", r);
		jw_real(&json, "chunks", cost->readers[r].chunks);
		jw_real(&json, "bytes", cost->readers[r].bytes);
		jw_close(&json, '}');
	}
	jw_close(&json, ']');
	jw_real(&json, "imbalance", imbalance(plan, cost));
	if (seconds >= 0)
		jw_real(&json, "epoch_seconds", seconds);
	jw_end_line(&json);
}

/* All of one order. */
static void
plan_table_one(const struct plan *plan, const struct plan_order *named)
{
	const struct plan_cost *cost = named->cost;
	const double seconds = predict(cost);
	char text[SIZE_TEXT];

	if (settings.json) {
		show_json(plan, named);
		return;
	}
	printf("%s: order %s\n", plan->sources->all[0].name, order_name(named, text));
	printf("  batches examined     %llu, with %s\n",
	    (unsigned long long)cost->batches,
	    count_human(cost->examples, "example", text, sizeof(text)));
	printf("  chunks a batch       mean %.1f, p50 %llu, p99 %llu, max %llu\n",
	    cost->chunks, (unsigned long long)cost->p50, (unsigned long long)cost->p99,
	    (unsigned long long)cost->most);
	printf("  places a batch       %.1f\n", cost->runs);
	printf("  bytes a batch        %s\n",
	    size_human(cost->bytes, text, sizeof(text)));
	printf("  examples a visit     %.1f\n", cost->visit);
	printf("  visited again        %.1f %% within %llu batches\n", 100 * cost->again,
	    (unsigned long long)plan->within);
	printf("  read whole           %.2f times the bytes\n", cost->whole);
	printf("  with %-5llu in memory %.2f times the bytes\n",
	    (unsigned long long)plan->kept, cost->cached);
	for (uint32_t r = 0; r < plan->readers && plan->readers > 1; r++)
		printf("  reader %-13u %.1f chunks, %s a batch\n", r,
		    cost->readers[r].chunks,
		    size_human(cost->readers[r].bytes, text, sizeof(text)));
	if (plan->readers > 1)
		printf("  imbalance            %.3f\n", imbalance(plan, cost));
	if (seconds >= 0)
		printf("  an epoch             %s, at %g MB/s and %g ms a place, nothing "
		       "in memory\n",
		    plan_seconds(seconds, text), disk.mbps, disk.seek * 1e3);
}

/* A line of the table of several orders; the first is preceded by the heading. */
static void
plan_table_row(const struct plan *plan, const struct plan_order *named, bool first)
{
	const struct plan_cost *cost = named->cost;
	const double seconds = predict(cost);
	char text[SIZE_TEXT];

	if (settings.json) {
		show_json(plan, named);
		return;
	}
	if (first)
		printf("order       chunks   p99   max   places       bytes  again   "
		       "whole  cached%s\n",
		    seconds >= 0 ? "  an epoch" : "");
	printf("%-10s %7.1f %5llu %5llu %8.1f", order_name(named, text), cost->chunks,
	    (unsigned long long)cost->p99, (unsigned long long)cost->most, cost->runs);
	printf(" %11s %5.1f%% %7.2f %7.2f", size_human(cost->bytes, text, sizeof(text)),
	    100 * cost->again, cost->whole, cost->cached);
	if (seconds >= 0)
		printf("  %s", plan_seconds(seconds, text));
	putchar('\n');
}

/* ---- options ------------------------------------------------------------------------------ */

static int
read_disk(void)
{
	char *end = NULL;

	disk.mbps = disk_mbps == OPT_UNSET ? 0 : (double)disk_mbps;
	disk.seek = 0.1e-3;
	if (seek_ms == NULL)
		return EXIT_DONE;
	disk.seek = strtod(seek_ms, &end) / 1e3;
	if (*seek_ms < '0' || *seek_ms > '9' || *end != '\0' ||
	    !(disk.seek >= 0 && disk.seek < 1e6))
		return report_usage("--seek-ms: '%s' is not a number", seek_ms);
	return EXIT_DONE;
}

/* "5" or "5-9". */
static int
read_show(uint64_t *first, uint64_t *last)
{
	char text[24] = "";
	const char *dash = strchr(show, '-');
	const size_t n = dash != NULL ? (size_t)(dash - show) : strlen(show);

	if (n < sizeof(text))
		memcpy(text, show, n);
	*last = 0;
	if (!count_parse(text, first) || *first >= UINT64_MAX / order.batch ||
	    (dash != NULL &&
		(!count_parse(dash + 1, last) || *last < *first ||
		    *last >= UINT64_MAX / order.batch)))
		return report_usage("--show: '%s' is neither BATCH nor BATCH-LAST", show);
	if (dash == NULL)
		*last = *first;
	return EXIT_DONE;
}

/* ---- one order ---------------------------------------------------------------------------- */

static int
open_stream(const struct stream_sources *sources, const struct stream_order *opts,
    lc_stream **out)
{
	lc_stream_options how;
	const int status = stream_order_fill(opts, &how);
	lc_status opened;

	if (status != EXIT_DONE)
		return status;
	opened = stream_sources_start(sources, &how, out);
	return opened == LC_OK ? EXIT_DONE : report_argument(opened);
}

static int
show_batches(const struct plan *plan)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	uint64_t first, last;
	lc_stream *stream;
	lc_status got;
	int status = read_show(&first, &last);

	if (status == EXIT_DONE)
		status = open_stream(plan->sources, &order, &stream);
	if (status != EXIT_DONE)
		return status;
	got = lc_stream_info_get(stream, &info);
	if (got != LC_OK) {
		status = report_status(got);
	} else if (first >= info.batches) {
		status = report_error(EXIT_NO, "no batch %llu; the last is %llu",
		    (unsigned long long)first, (unsigned long long)info.batches - 1);
	} else {
		status = plan_show(plan, stream, first,
		    last < info.batches ? last : info.batches - 1);
	}
	lc_stream_close(stream);
	return status;
}

/* The batches of an epoch, also of an order without an end. */
static double
epoch_batches(const struct plan *plan, const struct stream_order *opts)
{
	const uint64_t stride = opts->window == 0 ? 1
	    : opts->stride                        ? opts->stride
						  : opts->window;

	return (opts->window == 0 ? plan->chunks->records : plan->chunks->units) /
	    (double)stride / (double)plan->batch;
}

static int
find_cost(const struct plan *plan, const struct stream_order *opts, struct plan_cost *out)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	const double epoch = epoch_batches(plan, opts) + 1;
	struct plan bounded = *plan;
	lc_status status;
	lc_stream *stream;
	const int opened = open_stream(plan->sources, opts, &stream);

	memset(out, 0, sizeof(*out));
	if (opened != EXIT_DONE)
		return opened;
	progress_begin("plan");
	status = lc_stream_info_get(stream, &info);
	/* At most one epoch of an order without an end. */
	if (info.batches == UINT64_MAX && epoch < (double)plan->over)
		bounded.over = (uint64_t)epoch;
	if (status == LC_OK)
		status = plan_cost(&bounded, stream, info.batches, out);
	progress_end();
	out->epoch_batches = plan->sources->n > 1 ? 0 : epoch_batches(plan, opts);
	lc_stream_close(stream);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static struct plan_order
name_of(const struct stream_order *opts, const struct plan_cost *cost)
{
	return (struct plan_order){ opts->idealised
		    ? "R*"
		    : lc_shuffle_name((lc_shuffle)opts->shuffle),
		opts->idealised, cost };
}

/* ---- shares -------------------------------------------------------------------------------- */

static int
show_nodes(const struct plan *plan)
{
	lc_stream_options how;
	struct plan_nodes nodes = {
		.shares = order.shares,
		.spread = order.spread,
		.together = (uint32_t)together,
		.ahead = ahead,
		.cache = store_fetch.cache_size,
		.rate = (double)rate,
		.mbps = (double)store_mbps,
		.latency = (double)store_ms / 1e3,
	};
	struct plan_counting counting = { .plan = NULL };
	struct plan_node *all = NULL, sum;
	struct output output;
	lc_stream *stream;
	lc_status shown;
	int status = stream_order_fill(&order, &how);

	if (status == EXIT_DONE)
		status = open_stream(plan->sources, &order, &stream);
	if (status != EXIT_DONE)
		return status;
	nodes.epochs = how.epochs;
	if (report != NULL && nodes.epochs == 0)
		status = report_usage(
		    "--report: an order without an end has no sums to draw");
	else if (report != NULL)
		status = output_open(&output, report, force);
	if (status != EXIT_DONE) {
		lc_stream_close(stream);
		return status;
	}
	if (report != NULL)
		all = calloc(plan->readers / together, sizeof(*all));
	shown = report != NULL && all == NULL
	    ? lc__no_memory(NULL)
	    : plan_counting_open(plan, &nodes, stream, &counting);
	if (shown == LC_OK)
		shown = plan_nodes(&counting, all, &sum);
	if (shown == LC_OK && report != NULL)
		shown = plan_report(&counting, all, &sum, output.stream);
	if (shown != LC_OK)
		status = report_argument(shown);
	if (report != NULL)
		status = output_end(&output, status);
	plan_counting_close(&counting);
	free(all);
	lc_stream_close(stream);
	return status;
}

/* ---- several orders ------------------------------------------------------------------------ */

/* All shuffles, and R* with the given number, or that of the readers, or 16. */
static int
compare_orders(const struct plan *plan)
{
	static const lc_shuffle shuffles[] = { LC_SHUFFLE_NONE, LC_SHUFFLE_BLOCK,
		LC_SHUFFLE_ERA, LC_SHUFFLE_FULL, LC_SHUFFLE_NONE };
	const size_t n = plan->sources->n > 1 ? 4 : 5;
	int status = EXIT_DONE;

	for (size_t i = 0; i < n && status == EXIT_DONE; i++) {
		struct stream_order each = order;
		struct plan_cost cost;
		struct plan_order named;
		each.shuffle = (int)shuffles[i];
		each.idealised = i < 4 ? 0
		    : order.idealised  ? order.idealised
		    : readers > 1      ? readers
				       : 16;
		each.epochs = i < 4 ? order.epochs : NULL;
		named = name_of(&each, &cost);
		status = find_cost(plan, &each, &cost);
		if (status == EXIT_DONE)
			plan_table_row(plan, &named, i == 0);
		plan_cost_free(&cost);
	}
	return status;
}

/* ---- the command --------------------------------------------------------------------------- */

static int
plan_sources(const struct stream_sources *sources)
{
	static const char *const none[] = { NULL };
	const uint64_t most = MOST_EXAMPLES / order.batch;
	struct plan_chunks chunks;
	const struct plan plan = {
		.sources = sources,
		.chunks = &chunks,
		.readers = (uint32_t)readers,
		.split = (lc_split)share,
		.windows = order.window > 0,
		.batch = order.batch,
		.fields = ids ? none : fields.items,
		.n_fields = fields.count,
		.within = within,
		.kept = kept,
		.over = over != OPT_UNSET ? over
		    : most < 8            ? 8
		    : most < 1000         ? most
					  : 1000,
	};
	const lc_status loaded = plan_chunks_load(sources,
	    order.shares > 0 || order.part != NULL, &chunks);
	struct plan_cost cost;
	int status;

	if (loaded != LC_OK)
		status = report_status(loaded);
	else if (show != NULL)
		status = show_batches(&plan);
	else if (compare)
		status = compare_orders(&plan);
	else if (order.shares > 0)
		status = show_nodes(&plan);
	else
		status = find_cost(&plan, &order, &cost);
	if (loaded == LC_OK && show == NULL && !compare && order.shares == 0) {
		const struct plan_order named = name_of(&order, &cost);

		if (status == EXIT_DONE)
			plan_table_one(&plan, &named);
		plan_cost_free(&cost);
	}
	plan_chunks_free(&chunks);
	return status;
}

static int
run_plan(int argc, char **argv)
{
	struct stream_sources sources;
	int status = read_disk();

	if (ids && fields.count > 0)
		return report_usage("--ids and --field exclude each other");
	if (show != NULL && compare)
		return report_usage("--show and --compare exclude each other");
	if (compare && order.shares > 0)
		return report_usage("--shares and --compare exclude each other");
	if (order.shares % readers != 0)
		return report_usage(
		    "--readers: %llu shares are not a multiple of %llu readers",
		    (unsigned long long)order.shares, (unsigned long long)readers);
	if (order.shares > 0 && share == LC_SPLIT_CONTIGUOUS)
		return report_usage(
		    "--share: with --shares a reader has every R'th share");
	if (store_fetch.cache_size > 0 && order.shares == 0)
		return report_usage("--cache-size needs --shares");
	if (together > 1 && order.shares == 0)
		return report_usage("--cache-readers needs --shares");
	if (readers % together != 0)
		return report_usage("--cache-readers: %llu readers are not a multiple of "
				    "%llu",
		    (unsigned long long)readers, (unsigned long long)together);
	if (report != NULL && store_fetch.cache_size == 0)
		return report_usage("--report needs --cache-size");
	if (report != NULL && strcmp(report, "-") == 0)
		return report_usage("--report needs the name of a file");
	if (rate > 0 && store_fetch.cache_size == 0)
		return report_usage("--rate needs --cache-size");
	if ((store_mbps > 0 && rate == 0) || (store_ms > 0 && store_mbps == 0))
		return report_usage(
		    "--store-ms needs --store-mbps, and --store-mbps needs --rate");
	for (int i = 0; i < argc; i++)
		if (stream_name_is_join(argv[i]))
			return report_usage("%s: a join; plan its modules one by one",
			    argv[i]);
	if (status == EXIT_DONE)
		status = stream_sources_open(&sources, argv, (size_t)argc, &order,
		    (lc_verify_mode)verify);
	if (status != EXIT_DONE)
		return status;
	return stream_sources_close(&sources, plan_sources(&sources));
}

const struct command cmd_plan = {
	.name = "plan",
	.operands = "SOURCE...",
	.summary = "predict the cost of reading in an order",
	.text =
	    "Computes which parts of the chunks of SOURCE the batches of an order read, from "
	    "the sizes of chunks and the positions of records in them. It reads no tensors, "
	    "and headers of records only if --ids, --field or --window exclude parts of "
	    "them. The options of the order are those of cachex read; several sources are a "
	    "list, as there.\n"
	    "It prints the chunks and places that a batch reads, its bytes, and how often "
	    "chunks are visited again; and the bytes read for each byte needed if whole "
	    "chunks are read, with none and with the last --cache-chunks of them in memory. "
	    "For a long stream it examines four parts. --compare prints this for all "
	    "shuffles and for R*; --show lists the parts of chunks that each reader reads "
	    "for a batch.\n"
	    "With --shares it prints instead for each reader: its chunks and bytes, the "
	    "smallest cache that it needs, and with --cache-size how much it fetches in all "
	    "epochs, if the cache evicts the least recently used chunk or the chunk that is "
	    "needed again last; with --rate also the rate of fetching, and with --store-mbps "
	    "the time that it waits for the store. --report draws this as a page.\n"
	    "Bytes are stored bytes of records, headers included, that are read or verified "
	    "by checksums, as counted by cachex read --stats.",
	.examples =
	    "cachex plan faces --shuffle block --batch 512\n"
	    "cachex plan tokens --window 1024 --compare --disk-mbps 500 --seek-ms 0.1\n"
	    "cachex plan faces --readers 4 --show 0-3 --json\n"
	    "cachex plan ./shards/ --shuffle block --shares 64 --readers 16 --cache-size 64G "
	    "--epochs 8 --report plan.html",
	.completes = "s",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_plan,
};
