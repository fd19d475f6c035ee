/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a producer costs: values that come through one that does nothing, beside the
 * same values put by a plain loop, and the same bytes through plain pipes.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choice.h"
#include "fill/fill.h"
#include "fill_producer.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define ROUNDS 5
#define COMMIT 2048
#define PIPE ((int)1 << 20)
#define AHEAD 1 /* batches that a producer has beyond the one it works on */

static struct load loads[] = {
	{ .name = "2,048 B", .samples = 200000, .size = 2048 },
	{ .name = "131,072 B", .samples = 8192, .size = 131072 },
};

static const struct shape {
	const char *name;
	struct load *load;
	uint64_t batch;
	double overhead; /* us a record that a producer may take beyond plain pipes */
} shapes[] = {
	{ "2,048 B, batches of 256", &loads[0], 256, 2 },
	{ "2,048 B, batches of 64", &loads[0], 64, 2 },
	{ "2,048 B, batches of 1,024", &loads[0], 1024, 2 },
	{ "131,072 B, batches of 64", &loads[1], 64, 50 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct stand {
	const struct shape *shape;
	const char *root, *dir;   /* dir: of the module */
	unsigned char *value;     /* that every item comes to */
	uint64_t next;            /* sample */
	uint64_t done;            /* samples that came back good */
};

/* ---- plain puts --------------------------------------------------------------- */

static lc_cache *
open_module(const struct stand *stand)
{
	const lc_options options = module_options(COMMIT);

	return module_open(stand->root, "filled", &options);
}

static void
put_all(struct stand *stand, unsigned children)
{
	const struct load *load = stand->shape->load;
	const lc_tensor tensor = module_row(stand->value, load->size);
	lc_cache *cache = open_module(stand);

	(void)children;
	for (uint64_t i = 0; i < load->samples; i++)
		module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
	module_must(lc_flush(cache));
	module_must(lc_close(cache));
}

/* ---- plain pipes -------------------------------------------------------------- */

static void
make_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[1], F_SETPIPE_SZ, PIPE) < 0)
		err(1, "pipe");
}

static pid_t
start_echo(uint64_t size, int *to, int *from)
{
	int down[2], up[2];
	pid_t pid;

	make_pipe(down);
	make_pipe(up);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		close(down[1]);
		close(up[0]);
		fill_producer_echo(down[0], up[1], size);
	}
	close(down[0]);
	close(up[1]);
	*to = down[1];
	*from = up[0];
	return pid;
}

/* Items of batch @p b. */
static uint64_t
items_of(const struct shape *shape, uint64_t b)
{
	const uint64_t left = shape->load->samples - b * shape->batch;

	return left < shape->batch ? left : shape->batch;
}

static void
send_frame(int fd, unsigned char *frame, uint64_t items)
{
	const uint64_t size = fill_producer_request(items);
	const uint32_t n = (uint32_t)(size - sizeof(n));

	memcpy(frame, &n, sizeof(n));
	if (!fill_producer_write(fd, frame, size))
		err(1, "write");
}

/* One batch more than what is waited for is on its way, as with producers. */
static void
pipe_all(struct stand *stand, unsigned children)
{
	const struct shape *shape = stand->shape;
	const uint64_t size = shape->load->size;
	const uint64_t batches = (shape->load->samples + shape->batch - 1) / shape->batch;
	unsigned char *request = calloc(1, fill_producer_request(shape->batch));
	unsigned char *answer = malloc(fill_producer_answer(shape->batch, size));
	int to, from, status;
	const pid_t pid = start_echo(size, &to, &from);

	(void)children;
	if (request == NULL || answer == NULL)
		err(1, NULL);
	for (uint64_t b = 0; b < batches + AHEAD; b++) {
		if (b < batches)
			send_frame(to, request, items_of(shape, b));
		if (b >= AHEAD && !fill_producer_read(from, answer,
		    fill_producer_answer(items_of(shape, b - AHEAD), size)))
			errx(1, "the echo ended");
	}
	close(to);
	close(from);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "the echo failed");
	free(request);
	free(answer);
}

/* ---- producers ---------------------------------------------------------------- */

static struct lc__producers
producers_of(const struct stand *stand, unsigned children)
{
	static char command[4300];
	char self[4096];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		err(1, "/proc/self/exe");
	self[n] = '\0';
	snprintf(command, sizeof(command), "exec '%s' --produce %zu", self,
	    stand->shape->load->size);
	return (struct lc__producers){ .command = command, .children = children,
		.ahead = AHEAD, .give_up = 1, .frame_max = (uint64_t)1 << 30 };
}

static lc_id
next_id(struct stand *stand)
{
	return (lc_id){ stand->shape->load->keys[stand->next++], KEY_SIZE };
}

/* Values are only counted. */
static lc_status
next_batch(void *ctx, struct lc__items **out)
{
	struct stand *stand = ctx;
	const uint64_t left = stand->shape->load->samples - stand->next;
	struct lc__items *batch;

	if (left == 0)
		return LC_END;
	batch = lc__items_new(left < stand->shape->batch ? left : stand->shape->batch);
	if (batch == NULL)
		err(1, NULL);
	for (size_t i = 0; i < batch->count; i++)
		batch->items[i].id = next_id(stand);
	*out = batch;
	return LC_OK;
}

static lc_status
batch_done(void *ctx, struct lc__items *batch)
{
	struct stand *stand = ctx;

	for (size_t i = 0; i < batch->count; i++)
		stand->done += batch->items[i].outcome == LC__ITEM_DONE;
	lc__items_free(batch);
	return LC_OK;
}

static lc_status
nothing(void *ctx)
{
	(void)ctx;
	return LC_OK;
}

static void
produce_all(struct stand *stand, unsigned children)
{
	const struct lc__producers producers = producers_of(stand, children);
	const struct lc__work work = { .next = next_batch, .done = batch_done,
		.idle = nothing, .ctx = stand };
	struct lc__produced produced;

	stand->next = stand->done = 0;
	module_must(lc__produce(&producers, &work, &produced));
	if (stand->done != stand->shape->load->samples)
		errx(1, "produced: items failed");
}

static lc_status
next_item(void *ctx, struct lc__item *out)
{
	struct stand *stand = ctx;

	if (stand->next == stand->shape->load->samples)
		return LC_END;
	out->id = next_id(stand);
	return LC_OK;
}

static void
fill_all(struct stand *stand, unsigned children)
{
	const struct lc__producers producers = producers_of(stand, children);
	lc_cache *cache = open_module(stand);
	const struct lc__fill fill = {
		.cache = cache, .producers = &producers, .next = next_item,
		.ctx = stand, .batch = stand->shape->batch,
		.batch_bytes = (uint64_t)64 << 20
	};
	struct lc__filled filled;

	stand->next = 0;
	module_must(lc__fill_run(&fill, &filled));
	if (filled.stored != stand->shape->load->samples)
		errx(1, "filled: items failed");
	module_must(lc_close(cache));
}

/* ---- what is measured --------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(struct stand *stand, unsigned children);
	unsigned children;
	bool stores;
} ways[] = {
	{ "lc_put", put_all, 0, true },
	{ "fill -j1", fill_all, 1, true },
	{ "fill -j2", fill_all, 2, true },
	{ "pipes", pipe_all, 0, false },
	{ "produce -j1", produce_all, 1, false },
	{ "produce -j2", produce_all, 2, false },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
check_last(const struct stand *stand)
{
	const struct load *load = stand->shape->load;
	lc_cache *cache = open_module(stand);
	lc_view view;

	module_must(lc_get(cache, load->keys[load->samples - 1], KEY_SIZE, &view));
	if (view.tensor.nbytes != load->size || view.tensor.dtype != LC_F32 ||
	    memcmp(view.tensor.data, stand->value, load->size) != 0)
		errx(1, "another value than was produced");
	lc_view_release(&view);
	module_must(lc_close(cache));
}

static void
measure_way(struct bench *bench, struct stand *stand, unsigned w)
{
	double seconds;

	scratch_remove(stand->dir);
	sync();
	seconds = bench_seconds();
	ways[w].run(stand, ways[w].children);
	seconds = bench_seconds() - seconds;
	bench_run(bench, stand->shape->name, ways[w].name, "records", "1/s",
	    (double)stand->shape->load->samples / seconds);
	bench_run(bench, stand->shape->name, ways[w].name, "time a record", "us",
	    seconds * 1e6 / (double)stand->shape->load->samples);
	if (ways[w].stores)
		check_last(stand);
}

static void
measure_shape(struct bench *bench, const struct shape *shape, unsigned rounds,
    const char *root)
{
	struct stand stand = { .shape = shape, .root = root };
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/filled", root);
	stand.dir = dir;
	stand.value = aligned_alloc(64, shape->load->size);
	if (stand.value == NULL)
		err(1, NULL);
	fill_producer_tensor(stand.value, shape->load->size);
	load_make(shape->load);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned w = 0; w < WAYS; w++)
			measure_way(bench, &stand, (w + round) % WAYS);
	load_free(shape->load);
	scratch_remove(dir);
	free(stand.value);
	bench_print(bench, shape->name);
}

/* ---- ratios ------------------------------------------------------------------- */

static void
state_ratios(struct bench *bench, const struct shape *shape)
{
	static const char *const fills[] = { "fill -j1", "fill -j2" };
	const char *const time = "time a record";

	for (unsigned f = 0; f < 2; f++)
		bench_ratio(bench, bench_median(bench, shape->name, fills[f], "records") /
		    bench_median(bench, shape->name, "lc_put", "records"), ">=", 0.8,
		    "%s: records of %s over lc_put", shape->name, fills[f]);
	bench_ratio(bench, bench_median(bench, shape->name, "produce -j1", time) -
	    bench_median(bench, shape->name, "pipes", time), "<=", shape->overhead,
	    "%s: us a record that a producer takes beyond pipes", shape->name);
}

int
main(int argc, char **argv)
{
	struct choice choice;
	struct bench *bench;
	const char *root;

	if (argc == 3 && strcmp(argv[1], "--produce") == 0)
		fill_producer_run(strtoull(argv[2], NULL, 10));
	choice = choice_parse(argc, argv, ROUNDS);
	bench = bench_start("fill", choice.results);
	root = scratch_make((uint64_t)3 << 30);
	signal(SIGPIPE, SIG_IGN);
	printf("data on %s; commits of %d records, all durable; one batch ahead\n",
	    scratch_filesystem(), COMMIT);
	for (unsigned i = 0; i < SHAPES; i++)
		if (choice_has(&choice, shapes[i].name, i == 0))
			measure_shape(bench, &shapes[i], choice.rounds, root);
	for (unsigned i = 0; i < SHAPES; i++)
		state_ratios(bench, &shapes[i]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
