/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fault in the data.mdb of any module: flipped bits, changed bytes, rows whose values
 * are exchanged, pages that are lost, torn or in another's place. Nobody is given a byte
 * that was not put, verify tells, recover ends with a module that verifies or leaves the
 * file alone, and salvage finds all that is whole.
 */
#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "salvaging.h"
#include "victim.h"

enum { FAULTS, SEEN, RECOVERED, WHOLE, REFUSED, SALVAGED };

#define PAGE 4096u
#define SECTOR 512u
#define FAULTS_A_ROUND 25u

/* ---- faults ----------------------------------------------------------------- */

static void
flip(unsigned char *at, size_t size, uint64_t *random)
{
	at[run_random(random) % size] ^= (unsigned char)(1u << run_random(random) % 8);
}

static void
change(unsigned char *bytes, size_t size, uint64_t *random)
{
	size_t at = run_random(random) % size;

	for (uint64_t n = 1 + run_random(random) % 16; n > 0 && at < size; n--)
		bytes[at++] = (unsigned char)run_random(random);
}

/* A byte of a row, so that the small tables get their share. */
static void
change_row(const struct victim *v, unsigned char *bytes, uint64_t *random)
{
	const struct victim_row *row = &v->rows[run_random(random) % v->nrows];

	if (row->key_size > 0 && run_random(random) % 3 == 0)
		flip(bytes + row->key, row->key_size, random);
	else if (row->value_size > 0)
		flip(bytes + row->value, row->value_size, random);
}

/* Two rows of a table get each other's values: those on overflow pages by the numbers
 * of their pages, others by their bytes if they are as long. In LMDB's main table, two
 * tables get each other's names. */
static void
exchange_rows(const struct victim *v, unsigned char *bytes, uint64_t *random)
{
	for (unsigned tries = 0; tries < 100; tries++) {
		const struct victim_row *a = &v->rows[run_random(random) % v->nrows];
		const struct victim_row *b = &v->rows[run_random(random) % v->nrows];
		const bool a_big = a->value != a->key + a->key_size;
		const bool b_big = b->value != b->key + b->key_size;
		unsigned char *one = bytes + a->key + a->key_size;
		unsigned char *two = bytes + b->key + b->key_size;
		size_t size = a->value_size;
		unsigned char kept[PAGE];

		if (a == b || strcmp(a->table, b->table) != 0 || a_big != b_big ||
		    (!a_big && a->value_size != b->value_size))
			continue;
		if (a_big) {
			size = 8;
			memcpy(kept, bytes + a->key - 8, 4);
			memcpy(bytes + a->key - 8, bytes + b->key - 8, 4);
			memcpy(bytes + b->key - 8, kept, 4);
		}
		memcpy(kept, one, size);
		memcpy(one, two, size);
		memcpy(two, kept, size);
		return;
	}
}

/* False if the page is lost; else another one, or some of it, is there. */
static bool
change_page(const struct victim *v, unsigned char *bytes, uint64_t *random)
{
	const uint64_t pages = v->size / PAGE;
	unsigned char *page = bytes + run_random(random) % pages * PAGE;
	unsigned char *other = bytes + run_random(random) % pages * PAGE;
	unsigned char kept[PAGE];

	memcpy(kept, page, PAGE);
	switch (run_random(random) % 4) {
	case 0: /* lost */
		memset(page, 0, PAGE);
		return false;
	case 1: /* in another's place */
		memcpy(page, other, PAGE);
		memcpy(other, kept, PAGE);
		break;
	case 2: /* written twice */
		memcpy(page, other, PAGE);
		break;
	default: /* torn */
		for (unsigned i = 0; i < PAGE; i += SECTOR)
			if (run_random(random) % 2 == 0)
				memcpy(page + i, other + i, SECTOR);
	}
	return true;
}

/* ---- a round ---------------------------------------------------------------- */

struct bed {
	const char *dir;
	struct victim victim;
	struct salvaging sound; /* the same file, as salvage sees it */
	unsigned char *bytes;
	struct victim_tally tally;
};

static void
make_bed(struct bed *bed, const char *dir, uint64_t *random)
{
	memset(bed, 0, sizeof(*bed));
	bed->dir = dir;
	victim_make(&bed->victim, dir, run_random(random));
	salvaging_load(dir, &bed->sound);
	bed->bytes = malloc(bed->victim.size);
	need(bed->bytes != NULL);
}

static void
free_bed(struct bed *bed)
{
	torture_count(FAULTS, bed->tally.rounds);
	torture_count(SEEN, bed->tally.seen);
	torture_count(RECOVERED, bed->tally.recovered);
	torture_count(WHOLE, bed->tally.whole);
	torture_count(REFUSED, bed->tally.refused);
	salvaging_free(&bed->sound);
	victim_free(&bed->victim);
	free(bed->bytes);
}

/* Salvage the faulty file, look at it, recover it. @p moved: something is sound, and in
 * the place of something else: an index of an older commit, say. */
static void
suffer(struct bed *bed, bool moved)
{
	const struct victim *v = &bed->victim;
	const struct salvaging_result found =
	    salvaging_try(&bed->sound, bed->bytes, v->size);
	lc_salvage_result result;
	char made[4200];

	need(moved || found.status != LC_OK || (found.missing == 0 &&
	    found.extra <= found.result.undecided));
	victim_write(bed->dir, bed->bytes, v->size);
	if (victim_salvage(v, bed->dir, moved, &result) == LC_OK)
		torture_count(SALVAGED, 1);
	snprintf(made, sizeof(made), "%s/salvaged", bed->dir);
	torture_remove(made);
	victim_round(v, bed->dir, moved, &bed->tally);
}

static void
bytes_round(uint64_t seed, const char *dir)
{
	uint64_t random = seed;
	struct bed bed;

	make_bed(&bed, dir, &random);
	for (unsigned i = 0; i < FAULTS_A_ROUND; i++) {
		memcpy(bed.bytes, bed.victim.bytes, bed.victim.size);
		for (uint64_t n = run_random(&random) % 6 / 3; n < 2; n++)
			switch (run_random(&random) % 4) {
			case 0:
				flip(bed.bytes, bed.victim.size, &random);
				break;
			case 1:
				change(bed.bytes, bed.victim.size, &random);
				break;
			default:
				change_row(&bed.victim, bed.bytes, &random);
			}
		suffer(&bed, false);
	}
	free_bed(&bed);
}

static void
rows_round(uint64_t seed, const char *dir)
{
	uint64_t random = seed;
	struct bed bed;

	make_bed(&bed, dir, &random);
	for (unsigned i = 0; i < FAULTS_A_ROUND; i++) {
		memcpy(bed.bytes, bed.victim.bytes, bed.victim.size);
		exchange_rows(&bed.victim, bed.bytes, &random);
		suffer(&bed, false);
	}
	free_bed(&bed);
}

static void
pages_round(uint64_t seed, const char *dir)
{
	uint64_t random = seed;
	struct bed bed;
	bool moved;

	make_bed(&bed, dir, &random);
	for (unsigned i = 0; i < FAULTS_A_ROUND; i++) {
		memcpy(bed.bytes, bed.victim.bytes, bed.victim.size);
		moved = change_page(&bed.victim, bed.bytes, &random);
		suffer(&bed, moved);
	}
	free_bed(&bed);
}

int
main(void)
{
	static const struct torture_case cases[] = {
		{ "bytes", bytes_round, 6 },
		{ "rows", rows_round, 4 },
		{ "pages", pages_round, 4 },
		{ NULL, NULL, 0 }
	};
	static const struct torture attack = {
		.name = "flips", .cases = cases, .seconds = 120,
		.counts = { "faulty files", "seen by verify", "recovered",
		    "of them without a loss", "refused by recover", "salvaged" }
	};

	return torture_run(&attack);
}
