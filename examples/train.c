/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A training loop over a module of byte-level tokens, with R reader processes. It
 * starts while the module is still being filled, may be killed at any moment, and goes
 * on from its checkpoint with another R: the model that comes out is the same.
 *
 *     train [-r READERS] [-s STEPS] [-c CHECKPOINT] [-q] ROOT MODULE
 *
 * The "model" is a number that depends on every byte of every example and on their
 * order. Each reader works on its share of a batch and sends a hash an example; the
 * parent puts them together in the order of examples, as an all-reduce would.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lmdbcache.h>

#define WINDOW 256 /* tokens an example */
#define BATCH 48   /* examples a batch, over all readers */
#define SEED 42
#define MAX_READERS 64

/* What is saved: the position and the model belong together. */
struct checkpoint {
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t model;
};

/* What a reader sends for each batch, followed by `filled` results. */
struct share {
	uint64_t batch; /* UINT64_MAX: there are no more */
	uint64_t filled;
	unsigned char token[LC_TOKEN_SIZE]; /* behind this batch */
};

struct result {
	uint64_t example; /* its number */
	uint64_t hash;    /* of its tokens */
};

static struct {
	const char *root, *module;
	uint32_t readers;
	const void *token; /* to go on from; NULL: from the start */
} job = { .readers = 1 };

static void
fail(const char *what)
{
	errx(1, "%s: %s", what, lc_last_error()->text);
}

/* All of it, or the other side is gone. */
static int
transfer(int fd, void *bytes, size_t size, int writing)
{
	unsigned char *p = bytes;

	while (size > 0) {
		const ssize_t n = writing ? write(fd, p, size) : read(fd, p, size);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		p += n;
		size -= (size_t)n;
	}
	return 1;
}

/* ---- a reader's process ---------------------------------------------------- */

static uint64_t
hash_tokens(const unsigned char *tokens, uint64_t n)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (uint64_t i = 0; i < n; i++)
		hash = (hash ^ tokens[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void
send_batch(int fd, lc_reader *reader, const lc_batch *batch)
{
	struct share share = { .batch = batch->number, .filled = batch->filled };
	struct result results[BATCH];
	const unsigned char *tokens = batch->n_fields > 0 ? batch->fields[0].data : NULL;

	for (size_t i = 0; i < batch->filled; i++)
		results[i] = (struct result){ batch->examples[i],
			hash_tokens(tokens + i * WINDOW, batch->lengths[i]) };
	if (lc_reader_token(reader, share.token) != LC_OK)
		fail("token");
	if (!transfer(fd, &share, sizeof(share), 1) ||
	    !transfer(fd, results, batch->filled * sizeof(results[0]), 1))
		exit(1);
}

/* The order is one for a source that grows, so that nobody waits for the end. */
static lc_stream *
open_stream(lc_source *source)
{
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.window = WINDOW;
	options.shuffle = LC_SHUFFLE_ERA;
	options.block = 16;
	options.spread = 8;
	options.era_first = 512;
	options.era_max = 4096;
	options.seed = SEED;
	options.batch = BATCH;
	options.follow = 1;
	options.token = job.token;
	if (lc_stream_open(&source, 1, &options, &stream) != LC_OK)
		fail("stream");
	return stream;
}

static void
send_all(int fd, lc_reader *reader)
{
	struct share last = { .batch = UINT64_MAX };
	const lc_batch *batch;
	lc_status status;

	/* LC_ABANDONED: the writers were killed, and will be started again. */
	while ((status = lc_reader_next(reader, &batch)) == LC_OK ||
	    status == LC_ABANDONED) {
		if (status == LC_ABANDONED) {
			usleep(10000);
			continue;
		}
		send_batch(fd, reader, batch);
		lc_batch_release(batch);
	}
	if (status != LC_END)
		fail("read");
	transfer(fd, &last, sizeof(last), 1);
}

static void
read_share(uint32_t number, int fd)
{
	lc_cache *cache;
	lc_source *source = NULL;
	lc_stream *stream;
	lc_reader *reader;
	lc_options open;
	lc_reader_options options;

	lc_options_init(&open);
	open.flags = LC_RDONLY;
	if (lc_open(job.root, job.module, &open, &cache) != LC_OK ||
	    lc_source_open_module(cache, NULL, &source) != LC_OK)
		fail(job.module);
	stream = open_stream(source);
	lc_reader_options_init(&options);
	options.reader = number;
	options.readers = job.readers;
	options.threads = 1;
	if (lc_reader_open(stream, &options, &reader) != LC_OK)
		fail("reader");
	send_all(fd, reader);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
	if (lc_close(cache) != LC_OK)
		fail("close");
}

/* Its pipe. Started before this process opens anything. */
static int
start_reader(uint32_t number)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		err(1, "pipe");
	switch (fork()) {
	case -1: err(1, "fork");
	case 0:
		close(fds[0]);
		read_share(number, fds[1]);
		exit(0);
	}
	close(fds[1]);
	return fds[0];
}

/* ---- the checkpoint --------------------------------------------------------- */

static int
load(const char *path, struct checkpoint *out)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int whole;

	if (fd == -1 && errno == ENOENT)
		return 0;
	if (fd == -1)
		err(1, "%s", path);
	whole = transfer(fd, out, sizeof(*out), 0);
	close(fd);
	if (!whole)
		errx(1, "%s: too short", path);
	return 1;
}

/* Under another name first: what has this name is always whole. */
static void
save(const char *path, struct checkpoint *checkpoint)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s.new", path);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd == -1 || !transfer(fd, checkpoint, sizeof(*checkpoint), 1) ||
	    fsync(fd) == -1 || close(fd) == -1 || rename(name, path) == -1)
		err(1, "%s", path);
}

/* ---- the loop --------------------------------------------------------------- */

static int
by_example(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return x->example < y->example ? -1 : x->example > y->example;
}

/* All shares of the next batch; how many examples, 0 at the end. */
static size_t
collect(const int *pipes, struct result *results, struct share *share)
{
	struct share first;
	size_t n = 0;

	for (uint32_t r = 0; r < job.readers; r++) {
		if (!transfer(pipes[r], share, sizeof(*share), 0))
			errx(1, "reader %" PRIu32 " is gone", r);
		if (r == 0)
			first = *share;
		if (share->batch != first.batch || n + share->filled > BATCH ||
		    memcmp(share->token, first.token, LC_TOKEN_SIZE) != 0)
			errx(1, "reader %" PRIu32 " is at another place", r);
		if (share->batch != UINT64_MAX &&
		    !transfer(pipes[r], results + n, share->filled * sizeof(*results), 0))
			errx(1, "reader %" PRIu32 " is gone", r);
		n += share->filled;
	}
	qsort(results, n, sizeof(*results), by_example);
	return share->batch == UINT64_MAX ? 0 : n;
}

static uint64_t
step(uint64_t model, const struct result *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		model = (model ^ results[i].hash ^ results[i].example) *
			UINT64_C(0x9E3779B97F4A7C15) +
		    1;
	return model;
}

static void
train(const int *pipes, struct checkpoint *at, const char *path, long steps, int quiet)
{
	struct result results[BATCH];
	struct share share;
	size_t n;

	while (steps-- != 0 && (n = collect(pipes, results, &share)) > 0) {
		at->model = step(at->model, results, n);
		memcpy(at->token, share.token, LC_TOKEN_SIZE);
		if (!quiet)
			printf("batch %" PRIu64 ": %zu examples, model %016" PRIx64 "\n",
			    share.batch, n, at->model);
		if (path != NULL)
			save(path, at);
	}
}

static void
usage(void)
{
	errx(2, "usage: train [-r READERS] [-s STEPS] [-c CHECKPOINT] [-q] ROOT MODULE");
}

int
main(int argc, char **argv)
{
	struct checkpoint at = { .model = 0 };
	const char *path = NULL;
	int pipes[MAX_READERS], option, quiet = 0;
	long steps = -1;

	while ((option = getopt(argc, argv, "c:qr:s:")) != -1) {
		if (option == 'c')
			path = optarg;
		else if (option == 'q')
			quiet = 1;
		else if (option == 'r')
			job.readers = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 's')
			steps = strtol(optarg, NULL, 10);
		else
			usage();
	}
	if (argc - optind != 2 || job.readers < 1 || job.readers > MAX_READERS)
		usage();
	job.root = argv[optind];
	job.module = argv[optind + 1];
	if (path != NULL && load(path, &at))
		job.token = at.token;
	setlinebuf(stdout);
	for (uint32_t r = 0; r < job.readers; r++)
		pipes[r] = start_reader(r);
	train(pipes, &at, path, steps, quiet);
	/* Readers that are not done yet find their pipe closed. */
	for (uint32_t r = 0; r < job.readers; r++)
		close(pipes[r]);
	while (wait(NULL) != -1)
		continue;
	printf("model %016" PRIx64 "\n", at.model);
	return 0;
}
