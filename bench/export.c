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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define PASSES 3 /* of every way of reading, a round */
#define ROUNDS 5
#define MOST_SHARDS 64

/* Shards of a quarter of the payload, so that two threads have two each. */
static struct load loads[] = {
	{ .name = "131,072 B x 512", .samples = 512, .size = 131072, .commit = 100 },
	{ .name = "131,072 B x 8k", .samples = 8192, .size = 131072, .commit = 100 },
	{ .name = "3 MiB x 342", .samples = 342, .size = 3 << 20, .commit = 10 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* Ways of writing. */
static const struct {
	const char *name;
	unsigned threads; /* 0: cp(1) */
	bool sha256;
} writers[] = {
	{ "cp", 0, false },
	{ "export", 1, false },
	{ "export, two threads", 2, false },
	{ "export, SHA-256", 1, true },
	{ "export, SHA-256, two threads", 2, true },
};
#define WRITERS (sizeof(writers) / sizeof(writers[0]))

/* A case: a module, the shards that were made of it, and where copies go. */
struct stand {
	const struct load *load;
	lc_cache *cache;
	char shards[4200], copy[4200]; /* directories */
	double bytes;                  /* of all shards */
	lc_shard *shard[MOST_SHARDS];
	unsigned n;                    /* shards */
	uint64_t first[MOST_SHARDS + 1]; /* sample of each */
	const unsigned char *images[MOST_SHARDS]; /* where its samples start */
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

/* The bytes of sample i, in its shard's map. */
typedef const unsigned char *find_fn(const struct stand *stand, uint64_t i);

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

static unsigned
shard_of(const struct stand *stand, uint64_t i)
{
	unsigned s = 0;

	while (i >= stand->first[s + 1])
		s++;
	return s;
}

/* Where the sample must be, without asking. */
static const unsigned char *
find_plain(const struct stand *stand, uint64_t i)
{
	const unsigned s = shard_of(stand, i);

	return stand->images[s] + (i - stand->first[s]) * stand->load->size;
}

static const unsigned char *
find_sample(const struct stand *stand, uint64_t i)
{
	const unsigned s = shard_of(stand, i);
	lc_sample sample;

	module_must(lc_shard_sample(stand->shard[s], i - stand->first[s], &sample));
	return sample.image.data;
}

static const unsigned char *
find_verified(const struct stand *stand, uint64_t i)
{
	const unsigned s = shard_of(stand, i);

	module_must(lc_shard_verify_sample(stand->shard[s], i - stand->first[s]));
	return find_sample(stand, i);
}

static const struct {
	const char *name, *metric;
	find_fn *find;
	bool copies;
} readers[] = {
	{ "plain", "sum", find_plain, false },
	{ "cachex", "sum", find_sample, false },
	{ "cachex, verified", "sum", find_verified, false },
	{ "plain", "copy", find_plain, true },
	{ "cachex", "copy", find_sample, true },
	{ "cachex, verified", "copy", find_verified, true },
};
#define READERS (sizeof(readers) / sizeof(readers[0]))

/* All samples in a random order. */
static void
measure_reading(struct bench *bench, const struct stand *stand, unsigned r)
{
	const struct load *load = stand->load;
	const double start = bench_seconds();
	double seconds;
	uint64_t total = 0;
	static uint64_t expected;

	for (uint64_t i = 0; i < load->samples; i++) {
		const unsigned char *data = readers[r].find(stand, load->order[i]);
		if (readers[r].copies)
			total += *(unsigned char *)memcpy(stand->room, data, load->size);
		else
			total += sum(data, load->size);
	}
	seconds = bench_seconds() - start;
	if (readers[r].find == find_plain)
		expected = total;
	if (total != expected)
		errx(1, "%s: %s read other bytes", load->name, readers[r].name);
	bench_run(bench, load->name, readers[r].name, readers[r].metric, "GB/s",
	    (double)(load->samples * load->size) / seconds / 1e9);
}

static void
open_shards(struct stand *stand)
{
	struct stat st;
	lc_sample sample;
	char path[4300];

	stand->bytes = 0;
	for (stand->n = 0;; stand->n++) {
		const unsigned s = stand->n;
		snprintf(path, sizeof(path), "%s/shard-%06u.twh1", stand->shards, s);
		if (stat(path, &st) != 0)
			return;
		if (s == MOST_SHARDS)
			errx(1, "%s: too many shards", stand->shards);
		module_must(lc_shard_open(path, &stand->shard[s]));
		stand->first[s + 1] = stand->first[s] +
		    lc_shard_info_of(stand->shard[s])->samples;
		stand->bytes += (double)st.st_size;
		module_must(lc_shard_sample(stand->shard[s], 0, &sample));
		stand->images[s] = sample.image.data;
	}
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
	open_shards(stand);
}

static void
end(struct stand *stand, const char *root)
{
	char path[4300];

	for (unsigned s = 0; s < stand->n; s++)
		lc_shard_close(stand->shard[s]);
	module_must(lc_close(stand->cache));
	free(stand->room);
	scratch_remove(stand->shards);
	scratch_remove(stand->copy);
	snprintf(path, sizeof(path), "%s/samples", root);
	scratch_remove(path);
}

static void
measure_load(struct bench *bench, struct load *load, unsigned rounds,
    const char *root)
{
	struct stand stand = { .load = load };

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
state_ratios(struct bench *bench, const char *name)
{
	static const struct {
		const char *ours, *theirs, *metric;
		double target;
	} wanted[] = {
		{ "export", "cp", "write", 0.9 },
		{ "export, SHA-256, two threads", "cp", "write", 0.5 },
		{ "cachex", "plain", "sum", 0.9 },
		{ "cachex, verified", "plain", "sum", 0.6 },
		{ "cachex", "plain", "copy", 0.9 },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		bench_ratio(bench, bench_median(bench, name, wanted[w].ours,
		    wanted[w].metric) / bench_median(bench, name, wanted[w].theirs,
		    wanted[w].metric), ">=", wanted[w].target, "%s: %s, %s over %s",
		    name, wanted[w].metric, wanted[w].ours, wanted[w].theirs);
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
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		state_ratios(bench, loads[i].name);
	bench_finish(bench);
	scratch_end();
	return 0;
}
