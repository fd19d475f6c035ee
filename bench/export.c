/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module's samples to shards beside cp of the same files, and the shards' samples
 * read beside plain loops over the same bytes in a map.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define PASSES 3 /* of every way of reading, a round */
#define ROUNDS 5

/* Shards of a quarter of the payload, so that two threads have two each. */
static struct load loads[] = {
	{ .name = "131,072 B x 512", .samples = 512, .size = 131072, .commit = 100 },
	{ .name = "131,072 B x 8k", .samples = 8192, .size = 131072, .commit = 100 },
	{ .name = "3 MiB x 342", .samples = 342, .size = 3 << 20, .commit = 10 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static const char *const readings[LOADS] = {
	"reading 131,072 B x 512", "reading 131,072 B x 8k", "reading 3 MiB x 342"
};

/* Ways of writing. */
static const struct {
	const char *name;
	unsigned threads; /* 0: cp(1) */
	bool sha256;
} writers[] = {
	{ "cp", 0, false },
	{ "export", 1, false },
	{ "export, two threads", 2, false },
	{ "SHA-256", 1, true },
	{ "SHA-256, two threads", 2, true },
};
#define WRITERS (sizeof(writers) / sizeof(writers[0]))

/* A case: a module, the shards that were made of it, and where copies go. */
struct stand {
	const struct load *load;
	const char *reading;           /* name of the case's other half */
	lc_cache *cache;
	char shards[4200], copy[4200]; /* directories */
	double bytes;                  /* of all shards */
	lc_warehouse *trusting;        /* the shards, verified never */
	lc_warehouse *verified;        /* all samples were, before */
	lc_warehouse *fresh;           /* none was, when a pass begins */
	const unsigned char **images;  /* of each sample, in trusting's map */
	const unsigned char **unseen;  /* the same in a map of which no page is there */
	void *room;                    /* one sample fits */
};

static uint64_t
shard_bytes(const struct load *load)
{
	const uint64_t payload = load->samples * load->size;

	return payload / 4 + payload / 64;
}

/* ---- writing ----------------------------------------------------------------- */

static void
fill(const struct stand *stand)
{
	const struct load *load = stand->load;

	for (uint64_t i = 0; i < load->samples; i++) {
		const lc_tensor tensor = module_row(load_value(load, i), load->size);
		module_must(lc_put(stand->cache, load->keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_flush(stand->cache));
}

static void
export(const struct stand *stand, const char *dir, unsigned threads, bool sha256)
{
	lc_export_options options;

	lc_export_options_init(&options);
	options.shard_bytes = shard_bytes(stand->load);
	options.threads = threads;
	options.no_sha256 = !sha256;
	module_must(lc_export(stand->cache, dir, &options, NULL));
}

/* What an export waits for as well. */
static void
sync_files(const char *dir)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;

	if (stream == NULL)
		err(1, "%s", dir);
	while ((entry = readdir(stream)) != NULL) {
		const int fd = openat(dirfd(stream), entry->d_name, O_RDONLY);
		if (fd == -1 || fsync(fd) != 0)
			err(1, "%s/%s", dir, entry->d_name);
		close(fd);
	}
	closedir(stream);
}

static void
copy(const struct stand *stand, const char *dir)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("cp", "cp", "-r", "--reflink=never", stand->shards, dir,
		    (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "cp failed");
	sync_files(dir);
}

static void
measure_writing(struct bench *bench, const struct stand *stand, unsigned w)
{
	double start;

	scratch_remove(stand->copy);
	sync();
	start = bench_seconds();
	if (writers[w].threads == 0)
		copy(stand, stand->copy);
	else
		export(stand, stand->copy, writers[w].threads, writers[w].sha256);
	bench_run(bench, stand->load->name, writers[w].name, "write", "MB/s",
	    stand->bytes / (bench_seconds() - start) / 1e6);
}

/* ---- reading ------------------------------------------------------------------- */

static uint64_t
sum(const void *data, size_t size)
{
	const uint64_t *words = data;
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = 0; i + 4 <= size / 8; i += 4) {
		a += words[i];
		b += words[i + 1];
		c += words[i + 2];
		d += words[i + 3];
	}
	return a + b + c + d;
}

static uint64_t
sum_of(lc_warehouse *warehouse, uint64_t i)
{
	lc_sample sample;
	uint64_t total;

	module_must(lc_warehouse_sample(warehouse, i, &sample));
	total = sum(sample.image.data, sample.image.nbytes);
	lc_warehouse_release(warehouse, &sample);
	return total;
}

/* The first word copied, so that the copies can be compared. */
static uint64_t
copy_of(const struct stand *stand, lc_warehouse *warehouse, uint64_t i)
{
	module_must(lc_warehouse_copy(warehouse, i, stand->room, NULL, NULL));
	return *(const uint64_t *)stand->room;
}

/* Ways of reading. What sample i comes to: */
typedef uint64_t read_fn(const struct stand *stand, uint64_t i);

static uint64_t
sum_plain(const struct stand *stand, uint64_t i)
{
	return sum(stand->images[i], stand->load->size);
}

static uint64_t
sum_unseen(const struct stand *stand, uint64_t i)
{
	return sum(stand->unseen[i], stand->load->size);
}

static uint64_t
sum_trusting(const struct stand *stand, uint64_t i)
{
	return sum_of(stand->trusting, i);
}

static uint64_t
sum_verified(const struct stand *stand, uint64_t i)
{
	return sum_of(stand->verified, i);
}

static uint64_t
sum_fresh(const struct stand *stand, uint64_t i)
{
	return sum_of(stand->fresh, i);
}

static uint64_t
copy_plain(const struct stand *stand, uint64_t i)
{
	memcpy(stand->room, stand->images[i], stand->load->size);
	return *(const uint64_t *)stand->room;
}

static uint64_t
copy_trusting(const struct stand *stand, uint64_t i)
{
	return copy_of(stand, stand->trusting, i);
}

static uint64_t
copy_verified(const struct stand *stand, uint64_t i)
{
	return copy_of(stand, stand->verified, i);
}

/* Each plain one before those that must come to the same. */
static const struct {
	const char *name, *metric;
	read_fn *read;
} readers[] = {
	{ "plain", "sum", sum_plain },
	{ "trusted", "sum", sum_trusting },
	{ "verified before", "sum", sum_verified },
	{ "plain, new map", "sum", sum_unseen },
	{ "verified now, new map", "sum", sum_fresh },
	{ "plain", "copy", copy_plain },
	{ "trusted", "copy", copy_trusting },
	{ "verified before", "copy", copy_verified },
};
#define READERS (sizeof(readers) / sizeof(readers[0]))

static lc_warehouse *
open_shards(const struct stand *stand, lc_verify_mode verify)
{
	lc_warehouse_options options;
	lc_warehouse *warehouse;

	lc_warehouse_options_init(&options);
	options.verify = verify;
	options.sources = LC_SOURCES_IGNORE;
	module_must(lc_warehouse_open(stand->shards, &options, &warehouse));
	return warehouse;
}

/* Where the images are in a warehouse's map. */
static const unsigned char **
find_images(const struct stand *stand, lc_warehouse *warehouse)
{
	const unsigned char **images = calloc(stand->load->samples, sizeof(*images));
	lc_sample sample;

	if (images == NULL)
		err(1, NULL);
	for (uint64_t i = 0; i < stand->load->samples; i++) {
		module_must(lc_warehouse_sample(warehouse, i, &sample));
		images[i] = sample.image.data;
		lc_warehouse_release(warehouse, &sample);
	}
	return images;
}

/* All samples in a random order. */
static double
seconds_of(const struct stand *stand, unsigned r)
{
	const double start = bench_seconds();
	double seconds;
	uint64_t total = 0;
	static uint64_t expected;

	for (uint64_t i = 0; i < stand->load->samples; i++)
		total += readers[r].read(stand, stand->load->order[i]);
	seconds = bench_seconds() - start;
	if (strncmp(readers[r].name, "plain", 5) == 0)
		expected = total;
	if (total != expected)
		errx(1, "%s: %s read other bytes", stand->load->name, readers[r].name);
	return seconds;
}

static void
measure_reading(struct bench *bench, struct stand *stand, unsigned r)
{
	const double bytes = (double)(stand->load->samples * stand->load->size);
	lc_warehouse *unseen = open_shards(stand, LC_VERIFY_NEVER);

	stand->fresh = open_shards(stand, LC_VERIFY_ONCE);
	stand->unseen = find_images(stand, unseen);
	bench_run(bench, stand->reading, readers[r].name, readers[r].metric, "GB/s",
	    bytes / seconds_of(stand, r) / 1e9);
	free(stand->unseen);
	lc_warehouse_close(stand->fresh);
	lc_warehouse_close(unseen);
}

/* All pages are in the maps afterwards, as a training has them from its second pass
 * on, and in one handle all samples are verified. */
static void
open_all(struct stand *stand)
{
	stand->trusting = open_shards(stand, LC_VERIFY_NEVER);
	stand->verified = open_shards(stand, LC_VERIFY_ONCE);
	stand->images = find_images(stand, stand->trusting);
	for (uint64_t i = 0; i < stand->load->samples; i++)
		if (sum_of(stand->verified, i) != sum_of(stand->trusting, i))
			errx(1, "%s: samples differ", stand->load->name);
	stand->bytes = (double)lc_warehouse_info_of(stand->trusting)->bytes;
}

/* ---- a case ---------------------------------------------------------------------- */

static void
begin(struct stand *stand, const char *root)
{
	const lc_options options = module_options(stand->load->commit);

	snprintf(stand->shards, sizeof(stand->shards), "%s/shards", root);
	snprintf(stand->copy, sizeof(stand->copy), "%s/copy", root);
	stand->cache = module_open(root, "samples", &options);
	stand->room = aligned_alloc(4096, stand->load->size);
	if (stand->room == NULL)
		err(1, NULL);
	fill(stand);
	export(stand, stand->shards, 2, true);
	open_all(stand);
}

static void
end(struct stand *stand, const char *root)
{
	char path[4300];

	lc_warehouse_close(stand->trusting);
	lc_warehouse_close(stand->verified);
	free(stand->images);
	module_must(lc_close(stand->cache));
	free(stand->room);
	scratch_remove(stand->shards);
	scratch_remove(stand->copy);
	snprintf(path, sizeof(path), "%s/samples", root);
	scratch_remove(path);
}

static void
measure_load(struct bench *bench, struct load *load, const char *reading,
    unsigned rounds, const char *root)
{
	struct stand stand = { .load = load, .reading = reading };

	load_make(load);
	begin(&stand, root);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned w = 0; w < WRITERS; w++)
			measure_writing(bench, &stand, (w + round) % WRITERS);
		for (unsigned pass = 0; pass < PASSES; pass++)
			for (unsigned r = 0; r < READERS; r++)
				measure_reading(bench, &stand, r);
	}
	end(&stand, root);
	load_free(load);
	bench_print(bench, load->name);
	bench_print(bench, reading);
}

/* Room for the module, its shards and a copy of them. */
static uint64_t
room_needed(const struct choice *choice)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(choice, loads[i].name, i == 0) &&
		    loads[i].samples * loads[i].size > most)
			most = loads[i].samples * loads[i].size;
	return most * 4;
}

/* ---- ratios ------------------------------------------------------------------------ */

static void
state_ratios(struct bench *bench, const char *name, const char *reading)
{
	const struct {
		const char *name, *ours, *theirs, *metric;
		double target;
	} wanted[] = {
		{ name, "export", "cp", "write", 1 },
		{ name, "SHA-256, two threads", "cp", "write", 0.75 },
		{ reading, "trusted", "plain", "sum", 0.9 },
		{ reading, "verified before", "plain", "sum", 0.9 },
		{ reading, "verified now, new map", "plain, new map", "sum", 0.6 },
		{ reading, "trusted", "plain", "copy", 0.9 },
		{ reading, "verified before", "plain", "copy", 0.9 },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		bench_ratio(bench, bench_median(bench, wanted[w].name, wanted[w].ours,
		    wanted[w].metric) / bench_median(bench, wanted[w].name,
		    wanted[w].theirs, wanted[w].metric), ">=", wanted[w].target,
		    "%s: %s, %s over %s", wanted[w].name, wanted[w].metric,
		    wanted[w].ours, wanted[w].theirs);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("export", choice.results);
	const char *root = scratch_make(room_needed(&choice));

	printf("data on %s; shards of a quarter of the samples, all durable\n",
	    scratch_filesystem());
	/* The smallest case says little: it is for quick runs only. */
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0) &&
		    (i > 0 || choice.quick || choice.cases != NULL))
			measure_load(bench, &loads[i], readings[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		state_ratios(bench, loads[i].name, readings[i]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
