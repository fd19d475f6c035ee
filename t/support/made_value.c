/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_value.h"

#include <stdio.h>
#include <string.h>

#include "run.h"

/* What tensors point at: any bits will do for any dtype. */
static unsigned char bytes[4096] __attribute__((aligned(64)));

static lc_value *
make_tensor(uint64_t *seed)
{
	uint64_t shape[3];
	const uint32_t ndim = (uint32_t)(run_random(seed) % 4);
	const lc_dtype dtype = (lc_dtype)(run_random(seed) % LC_F8_E4M3);
	lc_tensor tensor;

	/* NumPy has no bf16: tests that write .npy want it back as it was. */
	for (uint32_t i = 0; i < ndim; i++)
		shape[i] = run_random(seed) % 5;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = bytes[i] ? bytes[i] : (unsigned char)(i * 7 + 1);
	if (lc_tensor_init(&tensor, dtype == LC_BF16 ? LC_F16 : dtype, ndim, shape,
	    bytes + run_random(seed) % 32 * 64) != LC_OK)
		return NULL;
	return lc_value_tensor(&tensor);
}

/* Numbers at the edges, any bits, and small ones. */
static uint64_t
make_bits(uint64_t *seed)
{
	static const uint64_t edges[] = { 0, 1, UINT64_MAX, INT64_MAX,
		(uint64_t)INT64_MAX + 1, UINT64_C(0x7ff0000000000000),
		UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000000),
		UINT64_C(0xfff8000000000001), UINT64_C(0x8000000000000000),
		UINT64_C(0x3ff0000000000000), UINT64_C(0x7fefffffffffffff) };
	const uint64_t bits = run_random(seed);

	switch (bits % 3) {
	case 0: return edges[run_random(seed) % (sizeof(edges) / sizeof(edges[0]))];
	case 1: return run_random(seed) % 1000;
	default: return run_random(seed);
	}
}

static lc_value *
make_float(uint64_t *seed)
{
	const uint64_t bits = make_bits(seed);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return lc_value_float(run_random(seed) % 2 ? number : (double)bits);
}

static const char *const texts[] = { "", "a", "cat", "é€😀", "\"\\/\b\n\t\x7f",
	"$", "$tensor", "\xff\xfe", "0", "1", "a.b", "\\", "null", "\xed\xa0\x80" };

static const char *
make_text(uint64_t *seed)
{
	return texts[run_random(seed) % (sizeof(texts) / sizeof(texts[0]))];
}

static lc_value *
make_plain(uint64_t *seed)
{
	switch (run_random(seed) % 7) {
	case 0: return lc_value_nil();
	case 1: return lc_value_boolean((int)(run_random(seed) % 2));
	case 2: return lc_value_integer((int64_t)make_bits(seed));
	case 3: return lc_value_unsigned(make_bits(seed));
	case 4: return make_float(seed);
	case 5: return run_random(seed) % 9 ? lc_value_str(make_text(seed)) :
		    lc_value_strn("with\0NUL", 8);
	default: return lc_value_bytes(bytes, run_random(seed) % 20);
	}
}

static void
fill(uint64_t *seed, struct made_value how, lc_value *value)
{
	const bool map = lc_value_kind(value) == LC_MAP;
	const size_t n = run_random(seed) % 5 + !how.plain;

	how.deep--;
	for (size_t i = 0; i < n; i++) {
		/* Every name once: a number of its own behind it. */
		char name[64];
		snprintf(name, sizeof(name), "%s%c%zu",
		    how.plain ? make_text(seed) : "é name", how.plain ? '.' : '-', i);
		if (map)
			lc_value_set(value, name, make_value(seed, how));
		else if (lc_value_kind(value) == LC_PAIRS)
			lc_value_pair(value, make_plain(seed), make_value(seed, how));
		else
			lc_value_append(value, make_value(seed, how));
	}
}

lc_value *
make_value(uint64_t *seed, struct made_value how)
{
	const uint64_t kind = run_random(seed) % 8;
	lc_value *value;
	const char *tag;

	if (how.deep <= 1 || kind < 4)
		return how.tensors && (kind % 2 || !how.plain) ?
		    make_tensor(seed) : make_plain(seed);
	if (how.plain && run_random(seed) % 4 == 0) {
		if (kind % 2) {
			tag = make_text(seed);
			how.deep--;
			return lc_value_tagged(*tag ? tag : "$", make_value(seed, how));
		}
		value = lc_value_pairs();
	} else if (kind == 4 || !how.plain)
		value = kind % 2 ? lc_value_list() : lc_value_map();
	else
		value = kind == 5 ? lc_value_list() :
		    kind == 6 ? lc_value_tuple() : lc_value_map();
	fill(seed, how, value);
	return value;
}
