/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of very many shards: what each command that works on one takes of time and memory.
 * Its shards are hard links to a few small ones.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "large_set.h"
#include "module.h"
#include "scratch.h"

#define ROUNDS 3
#define FEW 16   /* different shards */
#define ROWS 4   /* samples of each */
#define VALUE 256 /* elements of a sample */

static const struct set {
	const char *name;
	uint64_t shards;
} sets[] = {
	{ "20,000 shards", 20000 },
	{ "400,000 shards", 400000 },
};
#define SETS (sizeof(sets) / sizeof(sets[0]))

/* In the words of the tool; SET is the set, OUT another directory. */
static const struct way {
	const char *name;
	const char *args[16];
	bool opens; /* it reads a few rows at most: it has a second and 100 MB */
} ways[] = {
	{ "a row", { "read", "SET", "--limit", "1", "--batch", "1", "--sum" }, true },
	{ "rows of all", { "read", "SET", "--limit", "64", "--batch", "64", "--shuffle",
	    "full", "--sum" }, true },
	{ "blocks", { "read", "SET", "--limit", "64", "--batch", "64", "--shuffle",
	    "block", "--sum" }, true },
	{ "plan", { "plan", "SET", "--batch", "256", "--shuffle", "block" }, false },
	{ "plan shares", { "plan", "SET", "--batch", "1024", "--shuffle", "block",
	    "--shares", "1024", "--readers", "1024", "--cache-size", "64G", "--epochs",
	    "8" }, false },
	{ "union", { "shard", "union", "OUT", "SET", "SET" }, true },
	{ "inspect", { "warehouse", "inspect", "SET" }, true },
	{ "shard verify", { "shard", "verify", "SET" }, false },
	{ "read all", { "read", "SET", "--batch", "256", "--sum" }, false },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* ---- processes ---------------------------------------------------------------- */

/* Run the tool, its output thrown away. */
static void
run(struct bench *bench, const struct set *set, const struct way *way, const char *dir,
    const char *out)
{
	const char *args[20] = { CACHEX, "--quiet" };
	struct rusage usage;
	const double start = bench_seconds();
	pid_t pid;
	int status;

	for (unsigned i = 0; way->args[i] != NULL; i++)
		args[i + 2] = strcmp(way->args[i], "SET") == 0 ? dir
		    : strcmp(way->args[i], "OUT") == 0	       ? out
							       : way->args[i];
	pid = fork();
	if (pid == 0) {
		if (dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) == -1)
			_exit(127);
		execv(args[0], (char *const *)args);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
		errx(1, "%s failed", way->name);
	bench_run(bench, set->name, way->name, "time", "s", bench_seconds() - start);
	bench_run(bench, set->name, way->name, "processor", "s",
	    (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
	    (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6);
	/* Of the files that are mapped too, as far as they were in memory at once. */
	bench_run(bench, set->name, way->name, "memory", "MB",
	    (double)usage.ru_maxrss / 1e3);
}

/* ---- a set --------------------------------------------------------------------- */

/* A few shards of some rows each. */
static void
make_few(const char *root, const char *dir)
{
	const lc_options options = module_options(FEW * ROWS);
	lc_cache *cache = module_open(root, "few", &options);
	lc_export_options how;
	lc_export_result result;
	float value[VALUE];
	char id[20];

	for (unsigned i = 0; i < FEW * ROWS; i++) {
		lc_tensor tensor = module_row(value, sizeof(value));

		for (unsigned k = 0; k < VALUE; k++)
			value[k] = (float)(i * VALUE + k);
		snprintf(id, sizeof(id), "%06u", i);
		module_must(lc_put(cache, id, strlen(id), &tensor));
	}
	module_must(lc_flush(cache));
	lc_export_options_init(&how);
	how.shard_bytes = 4096 + ROWS * sizeof(value);
	module_must(lc_export(cache, dir, &how, &result));
	if (result.shards < FEW / 2)
		errx(1, "a module became %llu shards", (unsigned long long)result.shards);
	module_must(lc_close(cache));
}

static void
measure_set(struct bench *bench, const struct set *set, unsigned rounds, const char *root)
{
	char few[4200], dir[4200], out[4200], module[4200];

	snprintf(few, sizeof(few), "%s/shards", root);
	snprintf(dir, sizeof(dir), "%s/set", root);
	snprintf(out, sizeof(out), "%s/union", root);
	snprintf(module, sizeof(module), "%s/few", root);
	make_few(root, few);
	module_must(large_set_make(few, dir, set->shards, LARGE_SET_LINKS));
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned w = 0; w < WAYS; w++)
			if (ways[w].opens || round == 0)
				run(bench, set, &ways[w], dir, out);
	bench_print(bench, set->name);
	for (unsigned w = 0; w < WAYS; w++) {
		if (ways[w].opens)
			bench_ratio(bench,
			    bench_median(bench, set->name, ways[w].name, "processor"),
			    "<=", 1, "%s: seconds, %s", set->name, ways[w].name);
		bench_ratio(bench,
		    bench_median(bench, set->name, ways[w].name, "memory"), "<=", 100,
		    "%s: MB, %s", set->name, ways[w].name);
	}
	scratch_remove(dir);
	scratch_remove(out);
	scratch_remove(few);
	scratch_remove(module);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("sets", choice.results);
	const char *root = scratch_make((uint64_t)2 << 30);

	for (unsigned i = 0; i < SETS; i++)
		if (choice_has(&choice, sets[i].name, i == 0))
			measure_set(bench, &sets[i], choice.rounds, root);
	bench_finish(bench);
	scratch_end();
	return 0;
}
