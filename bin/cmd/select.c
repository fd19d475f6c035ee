/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ui/report.h"

static int
make_room(size_t n, struct selected *out)
{
	out->items = calloc(n ? n : 1, sizeof(*out->items));
	if (out->items != NULL)
		return EXIT_DONE;
	return report_no_memory();
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int
select_from(const struct select *how, uint64_t count, struct selected *out)
{
	if (how->from >= count)
		return report_error(EXIT_NO, "there is no sample %llu: there are %llu",
		    (unsigned long long)how->from, (unsigned long long)count);
	if (make_room(smaller(how->most, count - how->from), out) != EXIT_DONE)
		return EXIT_SYSTEM;
	while (out->count < smaller(how->most, count - how->from)) {
		out->items[out->count] = how->from + out->count;
		out->count++;
	}
	return EXIT_DONE;
}

/* ---- at random ------------------------------------------------------------------ */

/* splitmix64: the same choice for a seed on every machine. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static bool
is_selected(const struct selected *selected, uint64_t item)
{
	for (size_t i = 0; i < selected->count; i++)
		if (selected->items[i] == item)
			return true;
	return false;
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Floyd's way: every set of that size is as likely, and n numbers are drawn. */
static int
select_random(const struct select *how, uint64_t count, struct selected *out)
{
	const uint64_t n = smaller(how->most, count);
	uint64_t state = how->random;

	if (make_room(n, out) != EXIT_DONE)
		return EXIT_SYSTEM;
	for (uint64_t last = count - n; last < count; last++) {
		const uint64_t item = next_random(&state) % (last + 1);
		const bool again = is_selected(out, item);
		out->items[out->count++] = again ? last : item;
	}
	qsort(out->items, out->count, sizeof(*out->items), by_number);
	return EXIT_DONE;
}

/* ---- by name -------------------------------------------------------------------- */

/* "run-1/frame" names "0123456789ab/run-1/frame", too. */
static bool
is_named(lc_id id, const char *name)
{
	const size_t n = strlen(name);
	const char *text = id.data;

	if (n == 0 || n > id.size || memcmp(text + id.size - n, name, n) != 0)
		return false;
	return n == id.size || text[id.size - n - 1] == '/';
}

/* The first sample that each name names. */
static void
note_id(const struct select *how, lc_id id, uint64_t i, struct selected *out)
{
	for (size_t k = 0; k < how->ids->count; k++)
		if (out->items[k] == SELECT_NONE && is_named(id, how->ids->items[k]))
			out->items[k] = i;
}

static int
select_ids(const struct select *how, const struct samples *samples,
    struct selected *out)
{
	lc_sample sample;

	if (make_room(how->ids->count, out) != EXIT_DONE)
		return EXIT_SYSTEM;
	while (out->count < how->ids->count)
		out->items[out->count++] = SELECT_NONE;
	for (uint64_t i = 0; i < samples->count; i++) {
		if (samples_get(samples, i, &sample) != LC_OK)
			continue;
		note_id(how, sample.id, i, out);
		samples_release(samples, &sample);
	}
	return EXIT_DONE;
}

int
select_samples(const struct select *how, const struct samples *samples,
    struct selected *out)
{
	memset(out, 0, sizeof(*out));
	if (how->ids->count > 0)
		return select_ids(how, samples, out);
	if (samples->count == 0)
		return report_error(EXIT_NO, "there are no samples");
	if (how->random != OPT_UNSET)
		return select_random(how, samples->count, out);
	return select_from(how, samples->count, out);
}

void
selected_free(struct selected *selected)
{
	free(selected->items);
	memset(selected, 0, sizeof(*selected));
}
