/* SPDX-License-Identifier: BSD-2-Clause */
#include "random_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "run.h"
#include "sample.h"

#define POOL 16384

static uint64_t
below(uint64_t *state, uint64_t limit)
{
	return run_random(state) % limit;
}

/* Bytes for tensors and strings; the value is copied before it is returned. */
static const unsigned char *
pool(uint64_t *state, size_t size)
{
	static unsigned char bytes[POOL];

	if (bytes[0] == 0) {
		sample_fill(bytes, sizeof(bytes), 1);
		bytes[0] = 1;
	}
	need(size < POOL);
	return bytes + below(state, POOL - size);
}

static lc_value *
random_tensor(uint64_t *state)
{
	const lc_dtype dtype = (lc_dtype)below(state, LC_DTYPE_COUNT);
	const uint32_t ndim = (uint32_t)below(state, LC_MAX_NDIM + 1);
	uint64_t shape[LC_MAX_NDIM], elements = 1;
	lc_tensor tensor;

	for (uint32_t i = 0; i < ndim; i++) {
		shape[i] = elements < 200 ? below(state, 5) : 1;
		if (shape[i] == 0 && below(state, 4) != 0)
			shape[i] = 1;
		elements *= shape[i] > 0 ? shape[i] : 1;
	}
	need_ok(lc_tensor_init(&tensor, dtype, ndim, shape, NULL));
	tensor.data = pool(state, tensor.nbytes);
	return lc_value_tensor(&tensor);
}

/* Small, around a power of two, or anything. */
static lc_value *
random_integer(uint64_t *state)
{
	const uint64_t number = run_random(state) >> below(state, 64);
	const uint64_t edge = (UINT64_C(1) << below(state, 64)) + below(state, 5) - 2;
	const uint64_t pick = below(state, 2) ? number : edge;

	return below(state, 2) ? lc_value_unsigned(pick) :
	    lc_value_integer((int64_t)pick);
}

static lc_value *
random_float(uint64_t *state)
{
	const uint64_t odd[] = {
		0, 0x8000000000000000, 0x7ff0000000000000, 0x7ff8000000000001,
		0xfff4000000000123, 1, run_random(state)
	};
	double number;

	memcpy(&number, &odd[below(state, 7)], sizeof(number));
	return lc_value_float(number);
}

/* Sizes around where MessagePack changes its form. */
static lc_value *
random_text(uint64_t *state, bool string)
{
	static const size_t sizes[] = { 0, 1, 2, 5, 31, 32, 33, 255, 256, 300 };
	const size_t size = sizes[below(state, 10)];
	const void *bytes = pool(state, size);

	return string ? lc_value_strn(bytes, size) : lc_value_bytes(bytes, size);
}

static lc_value *
random_leaf(uint64_t *state, bool plain)
{
	switch (below(state, plain ? 6 : 10)) {
	case 0:
		return lc_value_nil();
	case 1:
		return lc_value_boolean((int)below(state, 2));
	case 2:
		return random_integer(state);
	case 3:
		return random_float(state);
	case 4:
		return random_text(state, true);
	case 5:
		return random_text(state, false);
	default:
		return random_tensor(state);
	}
}

static void
random_name(uint64_t *state, uint64_t i, char *out, size_t room)
{
	static const char *const odd[] = {
		"", "a.b", "\\", "\\.", ".", " ", "\xc3\xa9\xff", "\x01\n", "0", "-",
		"a name that takes more than thirty-one bytes in MessagePack"
	};

	snprintf(out, room, "%s%llu", odd[below(state, 11)], (unsigned long long)i);
}

/* Children of a group; more than a few at times. */
static size_t
random_count(uint64_t *state)
{
	switch (below(state, 20)) {
	case 0:
		return 15 + below(state, 4);
	case 1:
		return below(state, 50);
	default:
		return below(state, 5);
	}
}

static lc_value *random_key(uint64_t *state, int depth);

static lc_value *
build(uint64_t *state, int depth, bool plain)
{
	lc_value *group;
	size_t count;
	char name[100];

	if (depth <= 1 || below(state, 3) == 0)
		return random_leaf(state, plain);
	switch (below(state, 5)) {
	case 0:
		group = lc_value_map();
		break;
	case 1:
		group = lc_value_list();
		break;
	case 2:
		random_name(state, 0, name, sizeof(name));
		return lc_value_tagged(name, build(state, depth - 1, plain));
	case 3:
		group = lc_value_pairs();
		break;
	default:
		group = lc_value_tuple();
		break;
	}
	plain = plain || below(state, 4) == 0;
	count = random_count(state);
	if (count > 5)
		depth = 2;
	for (size_t i = 0; i < count; i++) {
		lc_value *child = build(state, depth - 1, plain);
		random_name(state, i, name, sizeof(name));
		if (lc_value_kind(group) == LC_MAP)
			lc_value_set(group, name, child);
		else if (lc_value_kind(group) == LC_PAIRS)
			lc_value_pair(group, random_key(state, depth - 1), child);
		else
			lc_value_append(group, child);
	}
	return group;
}

static lc_value *
random_key(uint64_t *state, int depth)
{
	lc_value *key = build(state, depth, true), *tuple;

	if (lc_value_kind(key) != LC_MAP)
		return key;
	lc_value_free(key);
	tuple = lc_value_tuple();
	if (depth > 2)
		lc_value_append(tuple, lc_value_map());
	return tuple;
}

lc_value *
random_value(uint64_t *state, int depth)
{
	lc_value *built = build(state, depth, false);
	lc_value *copy = lc_value_copy(built);

	need_ok(lc_value_check(copy));
	lc_value_free(built);
	return copy;
}

static char *
append_step(char *path, const char *end, const lc_value *group, size_t i)
{
	const char *name = lc_value_name(group, i);

	if (name == NULL)
		return path + snprintf(path, (size_t)(end - path), "%zu", i);
	for (; *name != '\0'; name++) {
		need(end - path > 3);
		if (*name == '.' || *name == '\\')
			*path++ = '\\';
		*path++ = *name;
	}
	*path = '\0';
	return path;
}

const lc_value *
random_part(uint64_t *state, const lc_value *value, char *path, size_t room)
{
	const char *const start = path, *const end = path + room;

	*path = '\0';
	while (lc_value_count(value) > 0 && below(state, 4) != 0) {
		const size_t i = below(state, lc_value_count(value));
		if (path > start)
			*path++ = '.';
		path = append_step(path, end, value, i);
		need(path < end);
		value = lc_value_at(value, i);
	}
	return value;
}
