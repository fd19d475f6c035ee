/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main program of a target without libFuzzer: runs files, and then simple mutations of
 * them. TAP on standard output.
 *
 *     replay_NAME               the committed corpus of the target, then mutations
 *     replay_NAME FILE|DIR...   these files only
 *
 * T_SEED chooses the mutations and FUZZ_RUNS their number. An input that ends the program
 * is left in the file "fuzz-NAME.crash".
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS 4000          /* mutations */
#define MOST_NS 2000000000 /* and no more than fit into this time */
#define ROOM 65536         /* bytes of a mutated input */
#define HANG_S 60          /* for one input */

#pragma weak LLVMFuzzerCustomMutator

struct input {
	char *name;
	unsigned char *data;
	size_t size;
};

static struct input *inputs;
static size_t count;
static uint64_t state;
static char crash_path[200];
static const unsigned char *now_data; /* what is running */
static size_t now_size;

/* ---- inputs ------------------------------------------------------------------ */

static void
give_up(const char *what)
{
	perror(what);
	exit(99);
}

static void
add_file(const char *path, const struct stat *st)
{
	FILE *file = fopen(path, "rb");
	struct input *in;

	inputs = realloc(inputs, (count + 1) * sizeof(*inputs));
	if (file == NULL || inputs == NULL)
		give_up(path);
	in = &inputs[count++];
	in->name = strdup(path);
	in->size = (size_t)st->st_size;
	in->data = malloc(in->size + 1);
	if (in->name == NULL || in->data == NULL ||
	    fread(in->data, 1, in->size, file) != in->size)
		give_up(path);
	fclose(file);
}

static void
add(const char *path)
{
	struct dirent **names = NULL;
	struct stat st;
	int n;

	if (stat(path, &st) != 0)
		give_up(path);
	if (!S_ISDIR(st.st_mode)) {
		add_file(path, &st);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		give_up(path);
	for (int i = 0; i < n; i++) {
		char *below;

		if (names[i]->d_name[0] != '.') {
			if (asprintf(&below, "%s/%s", path, names[i]->d_name) < 0)
				abort();
			add(below);
			free(below);
		}
		free(names[i]);
	}
	free(names);
}

/* ---- running ----------------------------------------------------------------- */

/* Leave what was running for whoever looks into it. Only calls that a signal handler
 * may make. */
static void
on_signal(int sig)
{
	const int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd != -1) {
		(void)!write(fd, now_data, now_size);
		close(fd);
		(void)!write(2, "input: ", 7);
		(void)!write(2, crash_path, strlen(crash_path));
		(void)!write(2, "\n", 1);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
run(const unsigned char *data, size_t size)
{
	unsigned char *copy = malloc(size > 0 ? size : 1); /* of exactly this size */

	if (copy == NULL)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	now_data = copy;
	now_size = size;
	alarm(HANG_S);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
}

/* ---- mutations --------------------------------------------------------------- */

static uint64_t
draw(uint64_t below)
{
	uint64_t z = state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	z ^= z >> 31;
	return below == 0 ? 0 : z % below;
}

/* Put a part of another input in, over what is there or before it. */
static size_t
mix_in(unsigned char *data, size_t size, size_t room)
{
	const struct input *from = &inputs[draw(count)];
	const size_t begin = draw(from->size + 1), at = draw(size + 1);
	size_t n = draw(from->size - begin + 1);

	n = n < 512 ? n : 512;
	if (draw(2) == 0) {
		n = n < room - size ? n : room - size;
		memmove(data + at + n, data + at, size - at);
		size += n;
	} else if (n > size - at) {
		n = size - at;
	}
	memcpy(data + at, from->data + begin, n);
	return size;
}

static size_t
mutate_once(unsigned char *data, size_t size, size_t room)
{
	static const uint64_t edges[] = { 0, 1, UINT64_MAX, INT64_MAX, INT32_MAX, UINT32_MAX,
		0x8000, 0x7f, 0x80, 0x100, 0x10000, 4096 };
	const size_t at = draw(size);
	size_t width = (size_t)1 << draw(4), n;
	uint64_t edge = edges[draw(sizeof(edges) / sizeof(edges[0]))] + draw(3) - 1;

	switch (size == 0 ? 5 : draw(8)) {
	case 0:
		data[at] ^= (unsigned char)(1u << draw(8));
		return size;
	case 1:
		data[at] = (unsigned char)draw(256);
		return size;
	case 2:
		width = width < size - at ? width : size - at;
		memcpy(data + at, &edge, width);
		return size;
	case 3:
		n = draw(size - at < 64 ? size - at : 64);
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	case 4:
		return draw(8) == 0 ? at : size;
	default:
		return mix_in(data, size, room);
	}
}

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
	for (uint64_t n = 1 + draw(4); n > 0; n--)
		size = mutate_once(data, size, room);
	return size;
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t
run_mutations(uint64_t runs)
{
	static unsigned char data[ROOM];
	const uint64_t end = now_ns() + MOST_NS;
	uint64_t done = 0;

	while (done < runs && now_ns() < end) {
		const struct input *in = &inputs[draw(count)];
		size_t size = in->size < ROOM ? in->size : ROOM;

		memcpy(data, in->data, size);
		if (LLVMFuzzerCustomMutator != NULL)
			size = LLVMFuzzerCustomMutator(data, size, ROOM, (unsigned)draw(1u << 31));
		else
			size = LLVMFuzzerMutate(data, size, ROOM);
		run(data, size);
		done++;
	}
	return done;
}

/* ---- the program ------------------------------------------------------------- */

static uint64_t
choose_seed(void)
{
	const char *given = getenv("T_SEED");
	uint64_t seed = 0;

	if (given != NULL)
		return strtoull(given, NULL, 0);
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed;
}

/* "npy" of ".../replay_npy". */
static const char *
target_of(const char *program)
{
	const char *name = strstr(program, "replay_");

	return name != NULL ? name + strlen("replay_") : program;
}

static void
add_corpus(const char *target)
{
	const char *srcdir = getenv("srcdir");
	char *path;

	if (asprintf(&path, "%s/fuzz/corpus/%s", srcdir != NULL ? srcdir : ".", target) < 0)
		abort();
	add(path);
	free(path);
}

int
main(int argc, char **argv)
{
	static const int signals[] = { SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV };
	const char *target = target_of(argv[0]), *given = getenv("FUZZ_RUNS");
	const uint64_t runs = given != NULL ? strtoull(given, NULL, 0) : RUNS;

	snprintf(crash_path, sizeof(crash_path), "fuzz-%s.crash", target);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
	for (int i = 1; i < argc; i++)
		add(argv[i]);
	if (argc == 1)
		add_corpus(target);
	printf("1..%d\n", argc == 1 ? 2 : 1);
	fflush(stdout);
	for (size_t i = 0; i < count; i++)
		run(inputs[i].data, inputs[i].size);
	printf("ok 1 - %s: %zu inputs\n", target, count);
	if (argc == 1) {
		state = choose_seed();
		printf("# T_SEED=%llu\n", (unsigned long long)state);
		fflush(stdout);
		printf("ok 2 - %s: %llu mutations\n", target,
		    (unsigned long long)run_mutations(runs));
	}
	while (count > 0) {
		free(inputs[--count].name);
		free(inputs[count].data);
	}
	free(inputs);
	return 0;
}
