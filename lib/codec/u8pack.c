/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/u8pack.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* A shorter run would hardly pay for its table; many of them show that the data is of
 * another kind. The last run may be shorter. */
#define MIN_RUN 2048

/* Elements that are looked up between two checks that all were found. */
#define STRIDE 256

/* How far ahead of the look-ups memory is prefetched. The processor's own prefetch stops
 * at the end of a page; prefetching halves the time for data that is not in the
 * caches. */
#define AHEAD 4096

/* 2^SLOT_BITS slots take 256 values without a collision after a few tries. Values can be
 * chosen so that every try collides: then the run ends. */
#define SLOT_BITS 14
#define TRIES 256

/* The numbers of the values of a run. No two values share a slot, so a look-up either
 * finds the value or shows that it is new. */
struct numbering {
	uint64_t table[256];                /* number to value */
	unsigned char slot[1 << SLOT_BITS]; /* hash to number; 0 where there is none */
	uint64_t factor;                    /* of the hash, odd */
	unsigned entries;                   /* values so far */
};

static inline __attribute__((always_inline)) uint64_t
get(const unsigned char *p, unsigned width)
{
	switch (width) {
	case 2: return lc__get16(p);
	case 4: return lc__get32(p);
	default: return lc__get64(p);
	}
}

static inline __attribute__((always_inline)) void
set(unsigned char *p, unsigned width, uint64_t value)
{
	switch (width) {
	case 2: lc__set16(p, (uint16_t)value); break;
	case 4: lc__set32(p, (uint32_t)value); break;
	default: lc__set64(p, value); break;
	}
}

/* ---- packing ------------------------------------------------------------------- */

static inline size_t
slot_of(uint64_t value, uint64_t factor)
{
	return (size_t)(value * factor >> (64 - SLOT_BITS));
}

/* Does another value occupy the value's slot? */
static bool
taken(const struct numbering *numbering, uint64_t value, unsigned entries)
{
	const size_t slot = slot_of(value, numbering->factor);
	const unsigned holder = numbering->slot[slot];

	return entries > 0 &&
	    slot_of(numbering->table[holder], numbering->factor) == slot;
}

/* Try other factors until no two values share a slot. False after TRIES of them. */
static bool
place_again(struct numbering *numbering)
{
	for (unsigned i = 0; i < TRIES; i++) {
		unsigned k = 0;

		numbering->factor = numbering->factor * UINT64_C(6364136223846793005) + 2;
		memset(numbering->slot, 0, sizeof(numbering->slot));
		for (; k < numbering->entries; k++) {
			const uint64_t value = numbering->table[k];

			if (taken(numbering, value, k))
				break;
			numbering->slot[slot_of(value, numbering->factor)] =
			    (unsigned char)k;
		}
		if (k == numbering->entries)
			return true;
	}
	return false;
}

/* Number a new value; false if the run must end before it. */
static bool
add(struct numbering *numbering, uint64_t value)
{
	const unsigned k = numbering->entries;
	const bool collides = taken(numbering, value, k);

	if (k == 256)
		return false;
	numbering->table[k] = value;
	numbering->entries++;
	numbering->slot[slot_of(value, numbering->factor)] = (unsigned char)k;
	if (collides && !place_again(numbering)) {
		numbering->entries--;
		return false;
	}
	return true;
}

/* Look up n elements; false if some are new: then the numbers are undefined. */
static inline __attribute__((always_inline)) bool
look_up(const struct numbering *numbering, const unsigned char *in, size_t n,
    unsigned width, unsigned char *out)
{
	const uint64_t factor = numbering->factor;
	uint64_t differ = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t value = get(in + i * width, width);
		const unsigned char k = numbering->slot[slot_of(value, factor)];
		differ |= numbering->table[k] ^ value;
		out[i] = k;
	}
	return differ == 0;
}

/* The same one by one, numbering new values; returns how many, up to the first that does
 * not fit. */
static size_t
learn(struct numbering *numbering, const unsigned char *in, size_t n, unsigned width,
    unsigned char *out)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t value = get(in + i * width, width);
		const size_t slot = slot_of(value, numbering->factor);
		out[i] = numbering->slot[slot];
		if (numbering->entries > 0 && numbering->table[out[i]] == value)
			continue;
		out[i] = (unsigned char)numbering->entries;
		if (!add(numbering, value))
			return i;
	}
	return n;
}

/* Number the longest run at the start of n elements; returns its length. */
static inline __attribute__((always_inline)) size_t
pack_run(struct numbering *numbering, const unsigned char *in, size_t n, unsigned width,
    unsigned char *out)
{
	size_t done = 0;

	memset(numbering->slot, 0, sizeof(numbering->slot));
	numbering->entries = 0;
	while (done < n) {
		const size_t here = n - done < STRIDE ? n - done : STRIDE;
		const size_t left = (n - done) * width;
		const unsigned char *from = in + done * width;

		for (size_t line = AHEAD; line < AHEAD + STRIDE * width && line < left;
		     line += 64)
			__builtin_prefetch(from + line);
		if (numbering->entries == 0 ||
		    !look_up(numbering, from, here, width, out + done)) {
			const size_t good = learn(numbering, from, here, width,
			    out + done);
			if (good < here)
				return done + good;
		}
		done += here;
	}
	return done;
}

static size_t
pack_run_of(struct numbering *numbering, const unsigned char *in, size_t n,
    unsigned width, unsigned char *out)
{
	switch (width) {
	case 2: return pack_run(numbering, in, n, 2, out);
	case 4: return pack_run(numbering, in, n, 4, out);
	default: return pack_run(numbering, in, n, 8, out);
	}
}

static bool
append_run(struct lc__buf *out, const struct numbering *numbering, size_t elements,
    unsigned width)
{
	unsigned char *place = lc__buf_append(out, NULL,
	    sizeof(uint64_t) + (size_t)numbering->entries * width);

	if (place == NULL)
		return false;
	lc__set64(place, (uint64_t)elements << 8 | (numbering->entries - 1));
	place += sizeof(uint64_t);
	for (unsigned k = 0; k < numbering->entries; k++)
		set(place + (size_t)k * width, width, numbering->table[k]);
	return true;
}

bool
lc__u8pack(const void *in, size_t n, unsigned width, struct lc__buf *out)
{
	const size_t start = out->size;
	struct numbering numbering;
	size_t length;

	if (lc__buf_append(out, NULL, n) == NULL)
		return false;
	numbering.factor = UINT64_C(0x9e3779b97f4a7c15);
	for (size_t done = 0; done < n; done += length) {
		length = pack_run_of(&numbering, (const unsigned char *)in + done * width,
		    n - done, width, out->data + start + done);
		if (length < MIN_RUN && length < n - done)
			return false;
		if (!append_run(out, &numbering, length, width))
			return false;
	}
	return true;
}

/* ---- unpacking ------------------------------------------------------------------- */

void
lc__runs_open(struct lc__runs *runs, const void *in, size_t size, unsigned width)
{
	runs->next = in;
	runs->size = size;
	runs->left = 0;
	runs->width = width;
}

/* Read the table of the next run. */
static bool
next_run(struct lc__runs *runs)
{
	uint64_t head;
	size_t table;

	if (runs->size < sizeof(head))
		return false;
	head = lc__get64(runs->next);
	runs->entries = (unsigned)(head & 255) + 1;
	runs->left = (size_t)(head >> 8);
	table = (size_t)runs->entries * runs->width;
	if (runs->left == 0 || runs->left != head >> 8 ||
	    runs->size - sizeof(head) < table)
		return false;
	memcpy(runs->table, runs->next + sizeof(head), table);
	runs->next += sizeof(head) + table;
	runs->size -= sizeof(head) + table;
	return true;
}

/* Are all numbers below the number of entries? */
static bool
in_table(const unsigned char *numbers, size_t n, unsigned entries)
{
	unsigned char most[16] = { 0 };
	size_t i;

	if (entries == 256)
		return true;
	for (i = 0; i + 16 <= n; i += 16)
		for (unsigned j = 0; j < 16; j++)
			most[j] = numbers[i + j] > most[j] ? numbers[i + j] : most[j];
	for (; i < n; i++)
		most[0] = numbers[i] > most[0] ? numbers[i] : most[0];
	for (unsigned j = 1; j < 16; j++)
		most[0] = most[j] > most[0] ? most[j] : most[0];
	return most[0] < entries;
}

static inline uint64_t
at16(const unsigned char *table, uint64_t numbers, unsigned i)
{
	return lc__get16(table + 2 * (numbers >> 8 * i & 255));
}

static inline uint64_t
at32(const unsigned char *table, uint64_t numbers, unsigned i)
{
	return lc__get32(table + 4 * (numbers >> 8 * i & 255));
}

/* Eight elements at a time: one load for the numbers, and one store for each 64 bits of
 * elements. */
static size_t
expand16(const unsigned char *table, const unsigned char *in, size_t n,
    unsigned char *out)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		const uint64_t k = lc__get64(in + i);
		lc__set64(out + 2 * i,
		    at16(table, k, 0) | at16(table, k, 1) << 16 |
			at16(table, k, 2) << 32 | at16(table, k, 3) << 48);
		lc__set64(out + 2 * i + 8,
		    at16(table, k, 4) | at16(table, k, 5) << 16 |
			at16(table, k, 6) << 32 | at16(table, k, 7) << 48);
	}
	return i;
}

static size_t
expand32(const unsigned char *table, const unsigned char *in, size_t n,
    unsigned char *out)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		const uint64_t k = lc__get64(in + i);
		unsigned char *to = out + 4 * i;
		lc__set64(to, at32(table, k, 0) | at32(table, k, 1) << 32);
		lc__set64(to + 8, at32(table, k, 2) | at32(table, k, 3) << 32);
		lc__set64(to + 16, at32(table, k, 4) | at32(table, k, 5) << 32);
		lc__set64(to + 24, at32(table, k, 6) | at32(table, k, 7) << 32);
	}
	return i;
}

bool
lc__runs_decode(struct lc__runs *runs, const unsigned char *numbers, size_t n,
    unsigned char *out)
{
	const unsigned width = runs->width;

	while (n > 0) {
		size_t here, i = 0;

		if (runs->left == 0 && !next_run(runs))
			return false;
		here = n < runs->left ? n : runs->left;
		if (!in_table(numbers, here, runs->entries))
			return false;
		if (width == 2)
			i = expand16(runs->table, numbers, here, out);
		else if (width == 4)
			i = expand32(runs->table, numbers, here, out);
		for (; i < here; i++)
			memcpy(out + i * width, runs->table + (size_t)numbers[i] * width,
			    width);
		runs->left -= here;
		numbers += here;
		out += here * width;
		n -= here;
	}
	return true;
}

bool
lc__runs_done(const struct lc__runs *runs)
{
	return runs->left == 0 && runs->size == 0;
}
