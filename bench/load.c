/* SPDX-License-Identifier: BSD-2-Clause */
#include "load.h"

#include <err.h>
#include <string.h>
#include <sys/mman.h>

#define SEED 0x6361636865780000u

/* Larger than the caches near a processor, as fresh results of a model would be. */
#define POOL ((size_t)64 << 20)

/* splitmix64's mixing: a bijection, so different numbers give different keys. */
static uint64_t
mixed(uint64_t z)
{
	z += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static void *
shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%zu bytes", size);
	return memory;
}

static uint64_t
keys_of(const struct load *load)
{
	return load->samples + load->more * load->commit;
}

static void
make_key(char *key, uint64_t i)
{
	const uint64_t bits = mixed(SEED + i);

	for (int c = 0; c < KEY_SIZE; c++)
		key[c] = "0123456789abcdef"[bits >> (60 - 4 * c) & 15];
}

static void
make_order(struct load *load)
{
	for (uint64_t i = 0; i < load->samples; i++)
		load->order[i] = (uint32_t)i;
	for (uint64_t i = load->samples - 1; i > 0; i--) {
		const uint64_t j = mixed(~SEED + i) % (i + 1);
		const uint32_t kept = load->order[i];
		load->order[i] = load->order[j];
		load->order[j] = kept;
	}
}

void
load_make(struct load *load)
{
	load->keys = shared(keys_of(load) * KEY_SIZE);
	load->order = shared(load->samples * sizeof(*load->order));
	load->pool = shared(POOL);
	for (uint64_t i = 0; i < keys_of(load); i++)
		make_key(load->keys[i], i);
	make_order(load);
	for (size_t at = 0; at < POOL; at += sizeof(uint64_t)) {
		const uint64_t bits = mixed(SEED ^ at);
		memcpy(load->pool + at, &bits, sizeof(bits));
	}
}

void
load_pixels(struct load *load)
{
	for (size_t at = 0; at < POOL; at += sizeof(float)) {
		const float pixel = (float)load->pool[at] / 255;
		memcpy(load->pool + at, &pixel, sizeof(pixel));
	}
}

void
load_free(struct load *load)
{
	munmap(load->keys, keys_of(load) * KEY_SIZE);
	munmap(load->order, load->samples * sizeof(*load->order));
	munmap(load->pool, POOL);
}

const unsigned char *
load_value(const struct load *load, uint64_t i)
{
	const size_t places = (POOL - load->size) / 64;

	return load->pool + mixed(i) % places * 64;
}

uint64_t
load_sum(const void *value, size_t size)
{
	const unsigned char *at = value, *end = at + size;
	uint64_t sum[4] = { 0 }, words[4];

	for (; at < end; at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		for (unsigned i = 0; i < 4; i++)
			sum[i] += words[i];
	}
	return sum[0] + sum[1] + sum[2] + sum[3];
}
