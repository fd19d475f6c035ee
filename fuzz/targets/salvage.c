/* SPDX-License-Identifier: BSD-2-Clause */
/* Salvage of damaged modules: lib/life/salvage*.c, what is found and decided from bytes in
 * memory; one input in sixteen writes the new module, too, which is slow.
 * Input: an image and its damage (image.h). */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "image.h"
#include "life/salvage.h"

static void
see_damage(void *ctx, const char *line)
{
	(void)ctx;
	fuzz_touch(line, strlen(line));
}

/* @p size: files are also cut short. */
static void
find(const unsigned char *bytes, uint64_t size, bool stale)
{
	const lc_progress progress = { .damage = see_damage };
	struct lc__salvage_file file = {
		.fd = -1, .bytes = fuzz_copy(bytes, size), .size = size, .path = "data.mdb"
	};
	lc_salvage_result result = { 0 };
	struct lc__salvage s;

	if (lc__salvage_find(&s, &file, stale, &progress, &result) == LC_OK) {
		fuzz_require(result.stale <= result.records);
		fuzz_require(result.undecided <= result.records);
		fuzz_require(result.records <= s.nrecords);
		fuzz_require(stale || result.stale == 0);
	}
	lc__salvage_free(&s);
	free((void *)(uintptr_t)file.bytes);
}

/* What it wrote is whole, and holds as many records as it says. */
static void
check_new(const char *root, const lc_salvage_result *result)
{
	lc_verify_result verified;
	lc_options options;
	lc_cache *cache;
	uint64_t count;

	lc_options_init(&options);
	options.flags = LC_RDONLY;
	options.flush_interval_ms = 0;
	fuzz_require(lc_open(root, "new", &options, &cache) == LC_OK);
	fuzz_require(lc_verify(cache, NULL, &verified) == LC_OK);
	fuzz_require(lc_count(cache, &count) == LC_OK && count == result->records);
	lc_discard(cache);
}

static void
salvage(const struct fuzz_image *image, bool stale)
{
	static const char *const names[] = { "new/data.mdb", "new/lock.mdb", "new" };
	lc_salvage_options options;
	lc_salvage_result result;
	char path[400];

	lc_salvage_options_init(&options);
	options.stale = stale;
	options.progress.damage = see_damage;
	snprintf(path, sizeof(path), "%s/m", image->root);
	if (lc_salvage(path, image->root, "new", &options, &result) == LC_OK)
		check_new(image->root, &result);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", image->root, names[i]);
		(void)!remove(path);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	struct fuzz_image *image = fuzz_image_of(&in);
	const uint8_t choice = size > 1 ? data[1] >> 1 : 0;
	uint64_t cut = 0;

	if (choice & 2)
		cut = fuzz_u16(&in) % image->whole.size;
	fuzz_image_damage(image, &in);
	if ((choice >> 2) % 16 == 0)
		salvage(image, choice & 1);
	else
		find(image->map, image->whole.size - cut, choice & 1);
	fuzz_image_restore(image);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return fuzz_image_mutate(data, size, room, seed);
}
