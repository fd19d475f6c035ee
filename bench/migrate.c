/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of records is migrated: arrays to a module, lines to a new file, all durable;
 * beside jansson, where it is there, which only parses the same file line by line and drops
 * what it reads.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice.h"
#include "harness.h"
#include "migrate/stage2.h"
#include "scratch.h"

#define ROUNDS 5

static const struct set {
	const char *name;
	unsigned records, elements;
} sets[] = {
	{ "f32[1024] x 1k", 1000, 1024 },
	{ "f32[1024] x 20k", 20000, 1024 },
	{ "f32[64] x 100k", 100000, 64 },
};
#define SETS (sizeof(sets) / sizeof(sets[0]))

struct stand {
	const struct set *set;
	char source[4200], file[4200], dir[4200];
	double bytes;
};

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 11;
}

/* As Python writes them: singles as doubles that read back as the same. */
static void
write_record(FILE *out, const struct set *set, unsigned i, uint64_t *random)
{
	fprintf(out, "{\"image_path\": \"images/%02u/%08u.jpg\", \"dinov3_embedding\": [",
	    i % 97, i);
	for (unsigned e = 0; e < set->elements; e++) {
		const float value = (float)((double)next_random(random) * 0x1p-52 - 1);
		fprintf(out, "%s%.17g", e > 0 ? ", " : "", (double)value);
	}
	fprintf(out, "], \"caption\": \"A caption of picture %u, which is neither long nor "
	    "short.\", \"t5_attention_mask\": [1, 1, 1, 1, 1, 1, 0, 0], \"height\": %u, "
	    "\"width\": %u}\n", i, 512 + i % 1500, 512 + i % 1700);
}

static void
make_source(struct stand *stand)
{
	FILE *out = fopen(stand->source, "w");
	uint64_t random = 1;
	struct stat st;

	if (out == NULL)
		err(1, "%s", stand->source);
	for (unsigned i = 0; i < stand->set->records; i++)
		write_record(out, stand->set, i, &random);
	if (fclose(out) != 0 || stat(stand->source, &st) != 0)
		err(1, "%s", stand->source);
	stand->bytes = (double)st.st_size;
}

/* ---- contenders ------------------------------------------------------------------- */

#ifdef HAVE_JANSSON
static double
parse(const struct stand *stand)
{
	const double start = bench_seconds();
	FILE *in = fopen(stand->source, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t size;

	if (in == NULL)
		err(1, "%s", stand->source);
	while ((size = getline(&line, &room, in)) > 0) {
		json_error_t error;
		json_t *json = json_loadb(line, (size_t)size, 0, &error);
		if (json == NULL)
			errx(1, "%s: %s", stand->source, error.text);
		json_decref(json);
	}
	free(line);
	fclose(in);
	return bench_seconds() - start;
}
#endif

static double
migrate(const struct stand *stand, uint64_t expected)
{
	const uint64_t shape[] = { stand->set->elements };
	const struct lc__stage2 how = {
		.file = stand->file, .dir = stand->dir, .field = "dinov3_embedding",
		.dtype = LC_F32, .ndim = 1, .shape = shape,
		.module = { "dinov3", "vae_latents", "t5_hidden" },
		.pass = { [LC__PASS_DINOV3] = true, [LC__PASS_MIGRATE] = true },
		.expect = { { .path = "", .dtype = LC_F32, .ndim = 1,
		    .ellipsis = UINT32_MAX, .shape = { stand->set->elements } } },
	};
	const double start = bench_seconds();
	struct lc__stage2_done done;

	if (lc__stage2_run(&how, &done) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	if (done.total != stand->set->records || done.counts.migrated != expected)
		errx(1, "%s: %" PRIu64 " records were migrated", stand->file,
		    done.counts.migrated);
	return bench_seconds() - start;
}

/* A second name for the file: the migration replaces its own. */
static void
renew(const struct stand *stand)
{
	char path[4300];

	scratch_remove(stand->dir);
	unlink(stand->file);
	snprintf(path, sizeof(path), "%s.stage1.backup", stand->file);
	unlink(path);
	if (link(stand->source, stand->file) != 0)
		err(1, "%s", stand->file);
	sync();
}

static void
measure(struct bench *bench, const struct stand *stand)
{
	const char *name = stand->set->name;
	double seconds;

#ifdef HAVE_JANSSON
	bench_run(bench, name, "jansson parses", "read", "MB/s",
	    stand->bytes / parse(stand) / 1e6);
#endif
	renew(stand);
	seconds = migrate(stand, stand->set->records);
	bench_run(bench, name, "migrated", "read", "MB/s", stand->bytes / seconds / 1e6);
	bench_run(bench, name, "migrated", "records", "1/s",
	    stand->set->records / seconds);
	seconds = migrate(stand, 0);
	bench_run(bench, name, "again", "records", "1/s", stand->set->records / seconds);
}

static void
measure_set(struct bench *bench, const struct set *set, unsigned rounds, const char *root)
{
	struct stand stand = { .set = set };

	snprintf(stand.source, sizeof(stand.source), "%s/source.jsonl", root);
	snprintf(stand.file, sizeof(stand.file), "%s/records.jsonl", root);
	snprintf(stand.dir, sizeof(stand.dir), "%s/out", root);
	make_source(&stand);
	for (unsigned round = 0; round < rounds; round++)
		measure(bench, &stand);
	renew(&stand);
	unlink(stand.file);
	unlink(stand.source);
	bench_print(bench, set->name);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("migrate", choice.results);
	const char *root = scratch_make((uint64_t)2 << 30);

	printf("data on %s; one thread, all durable\n", scratch_filesystem());
	for (unsigned i = 0; i < SETS; i++)
		if (choice_has(&choice, sets[i].name, i == 0) &&
		    (i > 0 || choice.quick || choice.cases != NULL))
			measure_set(bench, &sets[i], choice.rounds, root);
#ifdef HAVE_JANSSON
	for (unsigned i = 0; i < SETS; i++)
		bench_ratio(bench, bench_median(bench, sets[i].name, "migrated", "read") /
		    bench_median(bench, sets[i].name, "jansson parses", "read"), ">=", 0.8,
		    "%s: migrated over jansson parses", sets[i].name);
#endif
	bench_finish(bench);
	scratch_end();
	return 0;
}
