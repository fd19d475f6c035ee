/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of tokens over documents of random length, beside memcpy. */
#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module.h"
#include "order/shuffle.h"
#include "order_part.h"
#include "order_set.h"
#include "order_stream.h"
#include "scratch.h"

#define MODULE "documents"
#define DOCUMENTS 262144
#define QUICK_DOCUMENTS 16384
#define MEAN 700 /* tokens, exponentially distributed */
#define LONGEST 16384
#define COMMIT 2048
#define WINDOW 2048 /* tokens, and from one to the next */
#define NBYTES (WINDOW * sizeof(uint16_t))

static const struct {
	const char *name;
	lc_shuffle shuffle;
} cases[] = {
	{ "windows, in order", LC_SHUFFLE_NONE },
	{ "windows, block-shuffled", LC_SHUFFLE_BLOCK },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static const struct way {
	const char *name;
	bool verify, documents;
} ways[] = {
	{ "windows", false, false },
	{ "verified", true, false },
	{ "verified, documents", true, true },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct {
	const char *metric, *tokens;
	unsigned threads;
} rows[] = {
	{ "1 reader", "1 reader, tokens", 0 },
	{ "1 reader, 1 thread", "1 reader, 1 thread, tokens", 1 },
	{ "1 reader, 2 threads", "1 reader, 2 threads, tokens", 2 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* The module's file as a whole, for memcpy. */
struct stand {
	struct bench *bench;
	const char *root;
	unsigned c;       /* of cases */
	const unsigned char *map;
	size_t size;
	uint64_t windows; /* full ones that as many bytes make as there are tokens */
	unsigned char *room; /* a batch */
};

/* ---- the documents ----------------------------------------------------------------- */

static uint64_t
random_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static uint64_t
random_length(uint64_t *state)
{
	const double u = (double)(random_bits(state) >> 11) / (double)(1ull << 53);
	const double length = 1 - MEAN * log1p(-u);

	return length < LONGEST ? (uint64_t)length : LONGEST;
}

static lc_cache *
new_module(const char *root)
{
	const lc_options options = module_options(COMMIT);
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = module_open(root, MODULE, &options);

	module_must(lc_settings_get(cache, &settings));
	strcpy(settings.length_field, ".");
	module_must(lc_settings_set(cache, &settings));
	return cache;
}

/* Returns the number of tokens. */
static uint64_t
fill(const char *root, uint64_t documents)
{
	lc_cache *cache = new_module(root);
	uint16_t *tokens = malloc(LONGEST * sizeof(*tokens));
	uint64_t state = ORDER_SEED, total = 0;

	if (tokens == NULL)
		err(1, NULL);
	for (uint64_t d = 0; d < documents; d++) {
		const uint64_t length = random_length(&state);
		lc_tensor tensor;
		for (uint64_t i = 0; i < length; i++)
			tokens[i] = (uint16_t)random_bits(&state);
		module_must(lc_tensor_init(&tensor, LC_U16, 1, &length, tokens));
		module_must(lc_put(cache, &d, sizeof(d), &tensor));
		total += length;
	}
	module_must(lc_close(cache));
	free(tokens);
	return total;
}

static void
map_file(struct stand *stand)
{
	char path[4200];
	struct stat st;
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/" MODULE "/data.mdb", stand->root);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		err(1, "%s", path);
	stand->size = (size_t)st.st_size;
	map = mmap(NULL, stand->size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	stand->map = map;
}

/* ---- measuring ----------------------------------------------------------------------- */

static void
note(const struct stand *stand, const char *contender, unsigned row, double seconds)
{
	const double tokens = (double)(stand->windows * WINDOW);

	bench_run(stand->bench, cases[stand->c].name, contender, rows[row].metric,
	    "GB/s", tokens * sizeof(uint16_t) / seconds / 1e9);
	bench_run(stand->bench, cases[stand->c].name, contender, rows[row].tokens,
	    "10^6/s", tokens / seconds / 1e6);
}

/* As many bytes from the same map, in the same order, into one batch again and again. */
static double
seconds_of_copy(const struct stand *stand)
{
	const struct lc__shuffle_rule rule = { .kind = cases[stand->c].shuffle,
		.block = 256, .spread = 16, .seed = ORDER_SEED };
	struct lc__shuffle shuffle;
	const double start = bench_seconds();

	lc__shuffle_init(&shuffle, &rule, stand->windows, 0);
	for (uint64_t x = 0; x < stand->windows; x++)
		memcpy(stand->room + x % ORDER_BATCH * NBYTES,
		    stand->map + lc__shuffle_at(&shuffle, x) * NBYTES, NBYTES);
	return bench_seconds() - start;
}

static lc_reader *
open_reader(const struct order_stream *stream, const struct way *way, unsigned threads)
{
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.threads = threads;
	options.documents = way->documents;
	module_must(lc_reader_open(stream->stream, &options, &reader));
	return reader;
}

static double
seconds_of_windows(const struct stand *stand, const struct order_stream *stream,
    const struct way *way, unsigned threads)
{
	const double start = bench_seconds();
	lc_reader *reader = open_reader(stream, way, threads);
	const lc_batch *batch;
	uint64_t filled = 0;
	lc_status status;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		filled += batch->filled;
		lc_batch_release(batch);
	}
	if (status != LC_END)
		module_must(status);
	lc_reader_close(reader);
	if (filled != stand->windows)
		errx(1, "%ju windows of %ju", (uintmax_t)filled,
		    (uintmax_t)stand->windows);
	return bench_seconds() - start;
}

static void
open_streams(const struct stand *stand, struct order_stream *streams)
{
	lc_stream_options options;

	lc_stream_options_init(&options);
	options.window = WINDOW;
	options.drop_short = 1;
	options.shuffle = cases[stand->c].shuffle;
	options.seed = ORDER_SEED;
	options.batch = ORDER_BATCH;
	for (unsigned w = 0; w < WAYS; w++) {
		order_module_source(&streams[w], stand->root, MODULE, ways[w].verify);
		order_stream_open(&streams[w], &options);
		(void)seconds_of_windows(stand, &streams[w], &ways[w], 0);
	}
}

static void
measure_round(const struct stand *stand, const struct order_stream *streams)
{
	note(stand, "memcpy", 0, seconds_of_copy(stand));
	for (unsigned r = 0; r < ROWS; r++)
		for (unsigned w = 0; w < WAYS; w++)
			note(stand, ways[w].name, r, seconds_of_windows(stand,
			    &streams[w], &ways[w], rows[r].threads));
}

static void
measure_case(struct stand *stand, unsigned rounds)
{
	struct order_stream streams[WAYS];

	open_streams(stand, streams);
	(void)seconds_of_copy(stand);
	for (unsigned round = 0; round < rounds; round++)
		measure_round(stand, streams);
	for (unsigned w = 0; w < WAYS; w++)
		order_stream_close(&streams[w]);
	bench_print(stand->bench, cases[stand->c].name);
}

static void
begin(struct stand *stand, const struct choice *choice)
{
	const uint64_t documents = choice->quick ? QUICK_DOCUMENTS : DOCUMENTS;
	const uint64_t tokens = fill(stand->root, documents);

	printf("%ju documents of u16, %.0f tokens each in the mean, windows of %d\n",
	    (uintmax_t)documents, (double)tokens / (double)documents, WINDOW);
	map_file(stand);
	stand->windows = tokens / WINDOW;
	stand->room = aligned_alloc(64, ORDER_BATCH * NBYTES);
	if (stand->room == NULL)
		err(1, NULL);
}

static void
end(struct stand *stand)
{
	char dir[4200];

	munmap((void *)stand->map, stand->size);
	free(stand->room);
	snprintf(dir, sizeof(dir), "%s/" MODULE, stand->root);
	scratch_remove(dir);
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	struct stand stand = { .bench = bench, .root = root };
	bool any = false;

	for (unsigned i = 0; i < CASES; i++)
		any |= choice_has(choice, cases[i].name, true);
	if (!any)
		return;
	begin(&stand, choice);
	for (stand.c = 0; stand.c < CASES; stand.c++)
		if (choice_has(choice, cases[stand.c].name, true))
			measure_case(&stand, choice->rounds);
	end(&stand);
}

static void
ratios(struct bench *bench)
{
	for (unsigned c = 0; c < CASES; c++)
		for (unsigned w = 0; w < 2; w++)
			bench_ratio(bench, bench_median(bench, cases[c].name,
			    ways[w].name, rows[0].metric) / bench_median(bench,
			    cases[c].name, "memcpy", rows[0].metric), ">=", 0.5,
			    "%s: %s over memcpy, 1 reader", cases[c].name, ways[w].name);
}

const struct order_part order_windows = { measure, ratios };
