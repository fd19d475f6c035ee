/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules to files of other systems and back, by the tool, beside cp of those files,
 * and beside a plain loop that puts the values of an import from memory.
 */
#include <err.h>
#include <fcntl.h>
#include <stdarg.h>
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

#define ROUNDS 5

static struct load loads[] = {
	{ .name = "131,072 B x 512", .samples = 512, .size = 131072, .commit = 100 },
	{ .name = "131,072 B x 4k", .samples = 4096, .size = 131072, .commit = 100 },
	{ .name = "3 MiB x 171", .samples = 171, .size = 3 << 20, .commit = 10 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static const struct format {
	const char *name, *target;
} formats[] = {
	{ "npy", "npy" },
	{ "npz", "all.npz" },
	{ "safetensors", "all.safetensors" },
	{ "webdataset", "all.tar" },
	{ "mds", "mds" },
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* A case: the module that is exported, and the files of a format. */
struct stand {
	const struct load *load;
	const struct format *format;
	const char *root;
	char name[60];    /* "131,072 B x 512, npz" */
	char files[4200]; /* an export that stays, to be copied and imported */
	char target[4300]; /* of what is measured */
	double bytes;     /* of the files */
};

/* ---- processes ---------------------------------------------------------------- */

/* Run a program whose arguments end with NULL, its output thrown away. */
static void
run(const char *program, ...)
{
	const char *args[16] = { program };
	const pid_t pid = fork();
	va_list list;
	int status;

	if (pid == 0) {
		va_start(list, program);
		for (int i = 1; (args[i] = va_arg(list, const char *)) != NULL; i++)
			;
		va_end(list);
		if (dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) == -1)
			_exit(127);
		execvp(program, (char *const *)args);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "%s failed", program);
}

/* As an export of a directory does, which makes one sync of many files. */
static void
sync_files(const char *path)
{
	const int fd = open(path, O_RDONLY);

	if (fd == -1 || syncfs(fd) != 0)
		err(1, "%s", path);
	close(fd);
}

/* ---- what is measured --------------------------------------------------------- */

static void
export(const struct stand *stand, const char *target)
{
	run(CACHEX, "--root", stand->root, "export", "samples", target, "--format",
	    stand->format->name, (char *)NULL);
}

static void
copy_files(const struct stand *stand)
{
	run("cp", "-r", "--reflink=never", stand->files, stand->target, (char *)NULL);
	sync_files(stand->target);
}

static void
export_files(const struct stand *stand)
{
	export(stand, stand->target);
}

static void
import_files(const struct stand *stand)
{
	run(CACHEX, "--root", stand->target, "import", "imported", stand->files,
	    (char *)NULL);
}

/* With the options of an import, which are the defaults. */
static void
put_values(const struct stand *stand)
{
	const struct load *load = stand->load;
	lc_cache *cache = module_open(stand->target, "imported", NULL);

	for (uint64_t i = 0; i < load->samples; i++) {
		const lc_tensor tensor = module_row(load_value(load, i), load->size);
		module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_flush(cache));
	module_must(lc_close(cache));
}

static const struct {
	const char *name;
	void (*run)(const struct stand *stand);
} ways[] = {
	{ "cp", copy_files },
	{ "lc_put", put_values },
	{ "export", export_files },
	{ "import", import_files },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
measure_way(struct bench *bench, const struct stand *stand, unsigned w)
{
	double start;

	scratch_remove(stand->target);
	sync();
	start = bench_seconds();
	ways[w].run(stand);
	bench_run(bench, stand->name, ways[w].name, "speed", "MB/s",
	    stand->bytes / (bench_seconds() - start) / 1e6);
}

/* ---- a case ------------------------------------------------------------------- */

/* That what was imported is what was exported. */
static void
check_import(const struct stand *stand)
{
	const lc_options options = module_options(stand->load->commit);
	lc_cache *cache;
	lc_view view;

	scratch_remove(stand->target);
	import_files(stand);
	cache = module_open(stand->target, "imported", &options);
	for (uint64_t i = 0; i < stand->load->samples; i += 17) {
		module_must(lc_get(cache, stand->load->keys[i], KEY_SIZE, &view));
		if (view.tensor.nbytes != stand->load->size ||
		    memcmp(view.tensor.data, load_value(stand->load, i),
		    stand->load->size) != 0)
			errx(1, "%s: another value came back", stand->name);
		lc_view_release(&view);
	}
	module_must(lc_close(cache));
}

static void
measure_format(struct bench *bench, struct stand *stand, unsigned rounds)
{
	snprintf(stand->name, sizeof(stand->name), "%s, %s", stand->load->name,
	    stand->format->name);
	snprintf(stand->files, sizeof(stand->files), "%s/%s", stand->root,
	    stand->format->target);
	/* The name tells the format, and stays with cp. */
	snprintf(stand->target, sizeof(stand->target), "%s/again-%s", stand->root,
	    stand->format->target);
	export(stand, stand->files);
	stand->bytes = scratch_size(stand->files);
	check_import(stand);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned w = 0; w < WAYS; w++)
			measure_way(bench, stand, (w + round) % WAYS);
	scratch_remove(stand->target);
	scratch_remove(stand->files);
}

static void
fill(const struct stand *stand)
{
	const struct load *load = stand->load;
	const lc_options options = module_options(load->commit);
	lc_cache *cache = module_open(stand->root, "samples", &options);

	for (uint64_t i = 0; i < load->samples; i++) {
		const lc_tensor tensor = module_row(load_value(load, i), load->size);
		module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_flush(cache));
	module_must(lc_close(cache));
}

static void
state_ratios(struct bench *bench, const char *name)
{
	static const struct {
		const char *ours, *theirs;
		double target;
	} wanted[] = {
		{ "export", "cp", 0.8 }, { "import", "cp", 0.5 }, { "import", "lc_put", 0.8 },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		bench_ratio(bench, bench_median(bench, name, wanted[w].ours, "speed") /
		    bench_median(bench, name, wanted[w].theirs, "speed"), ">=",
		    wanted[w].target, "%s: %s over %s", name, wanted[w].ours,
		    wanted[w].theirs);
}

/* Names of cases, which rows keep. */
static struct stand stands[LOADS][FORMATS];

static void
measure_load(struct bench *bench, struct load *load, struct stand *cases,
    unsigned rounds, const char *root)
{
	char module[4200];

	load_make(load);
	for (unsigned f = 0; f < FORMATS; f++)
		cases[f] = (struct stand){ load, &formats[f], .root = root };
	fill(&cases[0]);
	for (unsigned f = 0; f < FORMATS; f++) {
		measure_format(bench, &cases[f], rounds);
		bench_print(bench, cases[f].name);
	}
	snprintf(module, sizeof(module), "%s/samples", root);
	scratch_remove(module);
	load_free(load);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("exchange", choice.results);
	const char *root = scratch_make((uint64_t)3 << 30);

	printf("data on %s; all durable; MB/s of the files\n", scratch_filesystem());
	/* The smallest case says little: it is for quick runs only. */
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0) &&
		    (i > 0 || choice.quick || choice.cases != NULL))
			measure_load(bench, &loads[i], stands[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		for (unsigned f = 0; f < FORMATS; f++)
			if (stands[i][f].load != NULL)
				state_ratios(bench, stands[i][f].name);
	bench_finish(bench);
	scratch_end();
	return 0;
}
