/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What passes a whole module once: backups beside cp of its file, both durable, and
 * verification, in pages that are in memory.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define MODULE "samples"
#define ROUNDS 7

static struct load loads[] = {
	{ .name = "2,048 B x 20k", .samples = 20000, .size = 2048, .commit = 2048 },
	{ .name = "2,048 B x 400k", .samples = 400000, .size = 2048, .commit = 2048 },
	{ .name = "131,072 B x 8k", .samples = 8192, .size = 131072, .commit = 100 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* A case: a module, and where copies of it go. */
struct stand {
	const struct load *load;
	const char *root;
	char data[4200], copy[4200]; /* its file, and a directory */
	double bytes;                /* of the file */
};

static void
fill(const struct stand *stand)
{
	const struct load *load = stand->load;
	const lc_options options = module_options(load->commit);
	lc_cache *cache = module_open(stand->root, MODULE, &options);

	for (uint64_t i = 0; i < load->samples; i++) {
		const lc_tensor tensor = module_row(load_value(load, i), load->size);
		module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_close(cache));
}

/* ---- contenders: each in a process of its own, for its CPU time ------------------- */

static void
copy_by_cp(const struct stand *stand)
{
	char path[4300];

	snprintf(path, sizeof(path), "%s/data.mdb", stand->copy);
	if (mkdir(stand->copy, 0777) != 0)
		err(1, "%s", stand->copy);
	execlp("sh", "sh", "-c", "cp --reflink=never \"$0\" \"$1\" && sync \"$1\"",
	    stand->data, path, (char *)NULL);
	err(127, "sh");
}

static lc_cache *
open_filled(const struct stand *stand)
{
	const lc_options options = module_options(1);

	return module_open(stand->root, MODULE, &options);
}

static void
back_up(const struct stand *stand)
{
	lc_cache *cache = open_filled(stand);

	module_must(lc_backup(cache, stand->copy, 0));
	module_must(lc_close(cache));
}

static void
verify(const struct stand *stand)
{
	lc_cache *cache = open_filled(stand);
	lc_verify_result result;

	module_must(lc_verify(cache, NULL, &result));
	if (result.live != stand->load->samples)
		errx(1, "verify counted %llu", (unsigned long long)result.live);
	module_must(lc_close(cache));
}

static const struct {
	const char *name, *metric;
	void (*run)(const struct stand *stand);
} contenders[] = {
	{ "cp and sync", "copy", copy_by_cp },
	{ "lc_backup", "copy", back_up },
	{ "lc_verify", "read", verify },
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static const char *const cpu_metrics[] = { "copy, CPU", "copy, CPU", "read, CPU" };

static double
seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void
measure(struct bench *bench, const struct stand *stand, unsigned c)
{
	const char *name = stand->load->name;
	struct rusage usage;
	double start;
	int status;
	pid_t pid;

	scratch_remove(stand->copy);
	sync();
	start = bench_seconds();
	pid = fork();
	if (pid == 0) {
		contenders[c].run(stand);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
		errx(1, "%s failed", contenders[c].name);
	bench_run(bench, name, contenders[c].name, contenders[c].metric, "GB/s",
	    stand->bytes / (bench_seconds() - start) / 1e9);
	bench_run(bench, name, contenders[c].name, cpu_metrics[c], "ms/GB",
	    (seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)) * 1e3 /
		(stand->bytes / 1e9));
}

/* ---- a case ---------------------------------------------------------------------- */

static void
measure_load(struct bench *bench, struct load *load, unsigned rounds, const char *root)
{
	struct stand stand = { .load = load, .root = root };
	struct stat st;
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/" MODULE, root);
	snprintf(stand.data, sizeof(stand.data), "%s/" MODULE "/data.mdb", root);
	snprintf(stand.copy, sizeof(stand.copy), "%s/copy", root);
	load_make(load);
	fill(&stand);
	if (stat(stand.data, &st) != 0)
		err(1, "%s", stand.data);
	stand.bytes = (double)st.st_size;
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned c = 0; c < CONTENDERS; c++)
			measure(bench, &stand, (c + round) % CONTENDERS);
	scratch_remove(stand.copy);
	scratch_remove(dir);
	load_free(load);
	bench_print(bench, load->name);
}

static void
state_ratio(struct bench *bench, const char *name)
{
	bench_ratio(bench, bench_median(bench, name, "lc_backup", "copy") /
	    bench_median(bench, name, "cp and sync", "copy"), ">=", 0.95,
	    "%s: lc_backup over cp and sync", name);
	bench_ratio(bench, bench_median(bench, name, "lc_verify", "read"), ">=", 6,
	    "%s: lc_verify, GB/s", name);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("bulk", choice.results);
	const char *root = scratch_make((uint64_t)3 << 30);

	printf("data on %s\n", scratch_filesystem());
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0))
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 1; i < LOADS; i++)
		state_ratio(bench, loads[i].name);
	bench_finish(bench);
	scratch_end();
	return 0;
}
