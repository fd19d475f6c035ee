/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers that follow two live writers, all of them killed at any moment and started
 * again, the readers also with another R: what they saw together is exactly the final
 * order, each example with the same content however often it was read.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#define INPUTS 2
#define MOST_READERS 5
#define MOST_TOKENS 4096
#define BATCH 8

static const uint64_t chunks_of[INPUTS] = { 60, 37 };
static const char *const input_names[INPUTS] = { "first", "second" };

/* One way to read. */
struct way {
	const char *name;
	uint64_t window, stride;
	uint32_t idealised;
	lc_shuffle shuffle;
};

static const struct way ways[] = {
	{ "records", 0, 0, 0, LC_SHUFFLE_NONE },
	{ "windows", 7, 3, 0, LC_SHUFFLE_NONE },
	{ "windows in eras", 5, 5, 0, LC_SHUFFLE_ERA },
	{ "records in eras", 0, 0, 0, LC_SHUFFLE_ERA },
};

/* Where a reader goes on: two places, of which one is whole at any moment. */
struct saved {
	atomic_uint which;
	unsigned char token[2][LC_TOKEN_SIZE];
	uint64_t batch[2]; /* that is the next; 0: no token yet */
};

/* What all processes share. */
struct shared {
	_Atomic uint64_t seen[MOST_TOKENS]; /* hash of each example, 0: not read yet */
	atomic_uint batches;                /* read, by all */
	atomic_uint chunks;                 /* written, by all */
	struct saved saved[MOST_READERS];
};

struct job {
	const char *root;
	const struct way *way;
	struct shared *shared;
	const void *token; /* to begin with */
	unsigned number, readers; /* of a reader: r and R; of a writer: its input */
};

/* ---- what is written -------------------------------------------------------- */

static uint64_t
mixed(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t state = a << 40 ^ b << 20 ^ c;

	return run_random(&state);
}

static uint64_t
records_of(unsigned input, uint64_t chunk)
{
	return 1 + mixed(input, chunk, 1000) % 6;
}

/* Tokens of a record: each says which it is. */
static uint64_t
make_record(unsigned input, uint64_t chunk, uint64_t record, uint32_t out[16])
{
	const uint64_t n = 1 + mixed(input, chunk, record) % 9;

	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint32_t)(input << 24 | chunk << 12 | record << 8 | i);
	return n;
}

static lc_cache *
open_module(const char *root)
{
	const lc_options options = sample_options();

	return sample_open(root, "m", &options);
}

static void
write_chunk(lc_writer *writer, unsigned input, uint64_t chunk)
{
	const uint64_t records = records_of(input, chunk);
	char cursor[32];

	for (uint64_t i = 0; i < records; i++) {
		uint32_t tokens[16];
		uint64_t n = make_record(input, chunk, i, tokens);
		lc_tensor tensor;

		need_ok(lc_tensor_init(&tensor, LC_U32, 1, &n, tokens));
		need_ok(lc_writer_put(writer, NULL, 0, &tensor));
	}
	need(snprintf(cursor, sizeof(cursor), "%u", (unsigned)chunk + 1) > 0);
	if (chunk + 1 < chunks_of[input])
		need_ok(lc_writer_commit(writer, cursor, strlen(cursor)));
	else
		need_ok(lc_writer_finish(writer, cursor, strlen(cursor)));
}

static void
write_input(void *ctx)
{
	const struct job *job = ctx;
	lc_cache *cache = open_module(job->root);
	const lc_input_info *info;
	lc_writer *writer;

	need_ok(lc_writer_open(cache, input_names[job->number], &writer));
	info = lc_writer_info(writer);
	if (info->chunks > 0)
		need(info->cursor.size > 0 && strtoull(info->cursor.data, NULL, 10) ==
		    info->chunks);
	for (uint64_t chunk = info->chunks; !lc_writer_info(writer)->finished;
	    chunk++) {
		write_chunk(writer, job->number, chunk);
		atomic_fetch_add(&job->shared->chunks, 1);
	}
	lc_writer_close(writer);
	need_ok(lc_close(cache));
}

static void
declare(const char *root)
{
	lc_input inputs[INPUTS] = { { 0 } };
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = open_module(root);

	assert_ok(lc_settings_get(cache, &settings));
	strcpy(settings.length_field, ".");
	assert_ok(lc_settings_set(cache, &settings));
	for (unsigned i = 0; i < INPUTS; i++)
		inputs[i].name = input_names[i];
	assert_ok(lc_inputs_declare(cache, INPUTS, inputs));
	assert_ok(lc_close(cache));
}

/* ---- what is read ----------------------------------------------------------- */

static uint64_t
hash_tokens(const uint32_t *tokens, uint64_t n)
{
	uint64_t state = n;

	for (uint64_t i = 0; i < n; i++) {
		state ^= tokens[i];
		state = run_random(&state);
	}
	return state | 1;
}

static void
note(struct shared *shared, uint64_t example, uint64_t hash)
{
	uint64_t before = 0;

	need(example < MOST_TOKENS);
	if (!atomic_compare_exchange_strong(&shared->seen[example], &before, hash))
		need(before == hash);
}

static void
note_batch(struct shared *shared, const struct way *way, const lc_batch *batch)
{
	const lc_batch_field *field = batch->fields;

	for (size_t row = 0; row < batch->filled; row++) {
		const uint32_t *tokens = field->data;
		uint64_t n = batch->lengths[row];

		if (way->window > 0) {
			tokens += row * way->window;
		} else if (field->offsets != NULL) {
			tokens += field->offsets[row];
			n = field->offsets[row + 1] - field->offsets[row];
		} else {
			n = field->shape[1];
			tokens += row * n;
		}
		note(shared, batch->examples[row], hash_tokens(tokens, n));
	}
}

static void
save_token(struct saved *saved, lc_reader *reader, uint64_t next_batch)
{
	const unsigned other = !atomic_load(&saved->which);

	need_ok(lc_reader_token(reader, saved->token[other]));
	saved->batch[other] = next_batch;
	atomic_store(&saved->which, other);
}

static lc_stream *
open_stream(lc_source *source, const struct way *way, const void *token)
{
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.window = way->window;
	options.stride = way->stride;
	options.idealised = way->idealised;
	options.shuffle = way->shuffle;
	options.block = 4;
	options.spread = 3;
	options.era_first = 16;
	options.era_max = 64;
	options.seed = 7;
	options.batch = BATCH;
	options.follow = 1;
	options.token = token;
	need_ok(lc_stream_open(&source, 1, &options, &stream));
	return stream;
}

static lc_reader *
open_reader(lc_stream *stream, unsigned number, unsigned readers)
{
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.reader = number;
	options.readers = readers;
	options.threads = number % 3;
	need_ok(lc_reader_open(stream, &options, &reader));
	return reader;
}

static void
read_batches(const struct job *job, lc_reader *reader)
{
	const lc_batch *batch;
	lc_status status;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK ||
	    status == LC_ABANDONED) {
		if (status == LC_ABANDONED) {
			usleep(1000); /* until somebody writes on */
			continue;
		}
		note_batch(job->shared, job->way, batch);
		save_token(&job->shared->saved[job->number], reader,
		    batch->number + 1);
		lc_batch_release(batch);
		atomic_fetch_add(&job->shared->batches, 1);
	}
	need_status(status, LC_END);
}

static void
read_share(void *ctx)
{
	const struct job *job = ctx;
	lc_cache *cache = open_module(job->root);
	lc_source *source;
	lc_stream *stream;
	lc_reader *reader;

	need_ok(lc_source_open_module(cache, NULL, &source));
	stream = open_stream(source, job->way, job->token);
	reader = open_reader(stream, job->number, job->readers);
	read_batches(job, reader);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
	need_ok(lc_close(cache));
}

/* ---- the processes ---------------------------------------------------------- */

/* Everything that runs; a pid of 0 has ended well. */
struct run {
	struct job base;
	uint64_t random;
	unsigned readers;
	struct job writer_jobs[INPUTS], reader_jobs[MOST_READERS];
	pid_t writer_pids[INPUTS], reader_pids[MOST_READERS];
};

static void
start_writer(struct run *run, unsigned input)
{
	run->writer_jobs[input] = run->base;
	run->writer_jobs[input].number = input;
	run->writer_pids[input] = child_start(write_input,
	    &run->writer_jobs[input]);
}

/* A reader goes on at its own token. */
static void
start_reader(struct run *run, unsigned number, const void *token)
{
	run->reader_jobs[number] = run->base;
	run->reader_jobs[number].number = number;
	run->reader_jobs[number].readers = run->readers;
	run->reader_jobs[number].token = token;
	run->reader_pids[number] = child_start(read_share,
	    &run->reader_jobs[number]);
}

static void
kill_hard(pid_t *pid)
{
	int status;

	if (*pid == 0)
		return;
	kill(*pid, SIGKILL);
	ck_assert_int_eq(waitpid(*pid, &status, 0), *pid);
	*pid = 0;
	ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0,
	    "a process failed");
}

/* The processes that ended by themselves; false while some run. */
static bool
all_ended(pid_t *pids, unsigned n)
{
	bool ended = true;

	for (unsigned i = 0; i < n; i++) {
		int status;

		if (pids[i] != 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
			ck_assert_int_eq(status, 0);
			pids[i] = 0;
		}
		ended &= pids[i] == 0;
	}
	return ended;
}

/* The token of the reader that is least far, for all of them; NULL: the start. */
static const void *
least_token(const struct run *run, unsigned char out[LC_TOKEN_SIZE])
{
	const struct saved *least = NULL;
	uint64_t batch = UINT64_MAX;

	for (unsigned r = 0; r < run->readers; r++) {
		const struct saved *saved = &run->base.shared->saved[r];
		const uint64_t next = saved->batch[atomic_load(&saved->which)];

		if (next < batch) {
			batch = next;
			least = saved;
		}
	}
	if (batch == 0 || least == NULL)
		return NULL;
	memcpy(out, least->token[atomic_load(&least->which)], LC_TOKEN_SIZE);
	return out;
}

/* Kill all readers and go on with another number of them. */
static void
change_readers(struct run *run, unsigned readers)
{
	static unsigned char token[LC_TOKEN_SIZE];
	const void *from;

	for (unsigned r = 0; r < run->readers; r++)
		kill_hard(&run->reader_pids[r]);
	from = least_token(run, token);
	memset(run->base.shared->saved, 0, sizeof(run->base.shared->saved));
	if (from != NULL)
		for (unsigned r = 0; r < readers; r++) {
			memcpy(run->base.shared->saved[r].token[0], from,
			    LC_TOKEN_SIZE);
			run->base.shared->saved[r].batch[0] = 1;
		}
	run->readers = readers;
	for (unsigned r = 0; r < readers; r++)
		start_reader(run, r, from);
}

static void
disturb_reader(struct run *run)
{
	static unsigned char tokens[MOST_READERS][LC_TOKEN_SIZE];
	const unsigned r = (unsigned)(run_random(&run->random) % run->readers);
	struct saved *saved = &run->base.shared->saved[r];
	unsigned which;

	if (run->reader_pids[r] == 0)
		return;
	kill_hard(&run->reader_pids[r]);
	which = atomic_load(&saved->which);
	memcpy(tokens[r], saved->token[which], LC_TOKEN_SIZE);
	start_reader(run, r, saved->batch[which] == 0 ? NULL : tokens[r]);
}

static void
disturb_writer(struct run *run)
{
	const unsigned input = (unsigned)(run_random(&run->random) % INPUTS);

	if (run->writer_pids[input] == 0)
		return;
	kill_hard(&run->writer_pids[input]);
	start_writer(run, input);
}

/* Let something happen: a random number of chunks or batches. */
static void
let_run(struct run *run)
{
	struct shared *shared = run->base.shared;
	const unsigned chunks = atomic_load(&shared->chunks) + 1 +
	    (unsigned)(run_random(&run->random) % 6);
	const unsigned batches = atomic_load(&shared->batches) + 1 +
	    (unsigned)(run_random(&run->random) % 12);

	while (atomic_load(&shared->chunks) < chunks &&
	    atomic_load(&shared->batches) < batches &&
	    !all_ended(run->writer_pids, INPUTS))
		usleep(200);
}

static void
run_disturbed(struct run *run, unsigned disturbances)
{
	for (unsigned i = 0; i < INPUTS; i++)
		start_writer(run, i);
	change_readers(run, 4);
	for (unsigned i = 0; i < disturbances; i++) {
		let_run(run);
		switch (run_random(&run->random) % 4) {
		case 0:
			change_readers(run, 1 + (unsigned)
			    (run_random(&run->random) % MOST_READERS));
			break;
		case 1:
			disturb_writer(run);
			break;
		default:
			disturb_reader(run);
		}
	}
	while (!all_ended(run->writer_pids, INPUTS) ||
	    !all_ended(run->reader_pids, run->readers))
		usleep(1000);
}

/* ---- what it should have been ------------------------------------------------ */

/* All tokens, and where each record begins, in the final order. */
struct final {
	uint32_t tokens[MOST_TOKENS];
	uint64_t ntokens;
	uint64_t first[MOST_TOKENS]; /* nrecords + 1 */
	uint64_t nrecords;
};

static void
add_chunk(struct final *final, unsigned input, uint64_t chunk)
{
	for (uint64_t i = 0; i < records_of(input, chunk); i++) {
		final->first[final->nrecords++] = final->ntokens;
		final->ntokens += make_record(input, chunk, i,
		    final->tokens + final->ntokens);
	}
}

static void
make_final(struct final *final)
{
	memset(final, 0, sizeof(*final));
	for (uint64_t round = 0; round < 100; round++)
		for (unsigned input = 0; input < INPUTS; input++)
			if (round < chunks_of[input])
				add_chunk(final, input, round);
	final->first[final->nrecords] = final->ntokens;
	ck_assert_uint_lt(final->ntokens, MOST_TOKENS - 16);
}

/* The hash of example @p i before it is shuffled; 0 behind the last. */
static uint64_t
hash_of(const struct final *final, const struct way *way, uint64_t i)
{
	uint64_t from, n;

	if (way->window == 0) {
		if (i >= final->nrecords)
			return 0;
		from = final->first[i];
		n = final->first[i + 1] - from;
	} else {
		from = i * way->stride;
		/* No token is left for one that begins so late. */
		if (i > 0 && from - way->stride + way->window >= final->ntokens)
			return 0;
		n = final->ntokens - from;
		if (n > way->window)
			n = way->window;
	}
	return hash_tokens(final->tokens + from, n);
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What was seen is the final order; shuffled, it is the same examples, and what one
 * undisturbed reader of the finished module sees. */
static void
compare(struct run *run)
{
	static uint64_t want[MOST_TOKENS], got[MOST_TOKENS];
	static struct final final;
	const struct way *way = run->base.way;
	struct job alone = run->base;
	uint64_t n = 0;

	make_final(&final);
	while ((want[n] = hash_of(&final, way, n)) != 0)
		n++;
	for (uint64_t i = 0; i < n; i++)
		got[i] = atomic_load(&run->base.shared->seen[i]);
	ck_assert_uint_eq(atomic_load(&run->base.shared->seen[n]), 0);
	/* It compares what it reads with what was seen. */
	alone.readers = 1;
	alone.number = 0;
	alone.token = NULL;
	ck_assert_int_eq(child_run(read_share, &alone), 0);
	if (way->shuffle != LC_SHUFFLE_NONE) {
		ck_assert_int_ne(memcmp(got, want, n * sizeof(*got)), 0);
		qsort(got, n, sizeof(*got), by_value);
		qsort(want, n, sizeof(*want), by_value);
	}
	ck_assert_mem_eq(got, want, n * sizeof(*got));
}

START_TEST(test_killed)
{
	struct run *run = calloc(1, sizeof(*run));
	char root[600];

	ck_assert_ptr_nonnull(run);
	run->random = run_seed() + (uint64_t)_i;
	ck_assert_int_lt(snprintf(root, sizeof(root), "%s/root-%d", run_scratch(),
	    _i), (int)sizeof(root));
	run->base.root = root;
	run->base.way = &ways[_i];
	run->base.shared = mmap(NULL, sizeof(*run->base.shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(run->base.shared, MAP_FAILED);
	declare(root);
	run_disturbed(run, sample_times(40));
	compare(run);
	munmap(run->base.shared, sizeof(*run->base.shared));
	free(run);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("follow killed");
	TCase *tests = tcase_create("killed");

	tcase_set_timeout(tests, 300);
	tcase_add_loop_test(tests, test_killed, 0,
	    (int)(sizeof(ways) / sizeof(ways[0])));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
