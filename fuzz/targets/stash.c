/* SPDX-License-Identifier: BSD-2-Clause */
/* What producers answered and no chunk has yet: fill/stash.c. Input: the
 * file's entries, their checksums put right. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "fill/stash.h"

#define SOURCE 0x1122334455667788
enum {
	LINES = 12, FIRST = 10,
	at_hash = 8, at_size = 16, at_source = 24, at_items = 32, at_frames = 36,
	item_head = 20, frame_row = 16
};

/* Put an entry's checksums right, as far as it says where its parts are; its bytes. */
static size_t
mend_entry(unsigned char *entry, size_t room)
{
	uint64_t at = LC__STASHED_HEAD, size;
	uint32_t frames;
	unsigned char *table;

	if (room < LC__STASHED_HEAD)
		return 0;
	size = lc__get64(entry + at_size);
	if (size < LC__STASHED_HEAD || size > room)
		size = room;
	lc__set64(entry + at_source, SOURCE);
	for (uint32_t n = lc__get32(entry + at_items); n > 0 && size - at >= item_head; n--) {
		const uint32_t id = lc__get32(entry + at + 16);

		if (id > size - at - item_head)
			return (size_t)size;
		at += item_head + id;
	}
	frames = lc__get32(entry + at_frames);
	if (frames > (size - at) / frame_row)
		return (size_t)size;
	table = entry + at;
	at += (uint64_t)frames * frame_row;
	for (uint64_t to = at, i = 0; i < frames; i++) {
		const uint64_t n = lc__get64(table + i * frame_row);

		if (n > size - to)
			break;
		lc__set64(table + i * frame_row + 8, lc__hash64(entry + to, (size_t)n));
		to += n;
	}
	lc__set64(entry + at_hash, lc__hash64(entry + at_size, (size_t)at - at_size));
	return (size_t)size;
}

static void
recall(struct lc__stash *stash)
{
	struct lc__items *batch = lc__items_new(LINES);
	struct lc__line_place behind[LINES];
	char text[LINES][64];
	size_t found = 0;

	if (batch == NULL)
		abort();
	for (size_t i = 0; i < LINES; i++) {
		struct lc__item *item = &batch->items[i];
		const unsigned line = FIRST + (unsigned)i;

		item->id = (lc_id){ text[i], (size_t)snprintf(text[i], 32, "s:%u", line) };
		item->payload = (lc_id){ text[i] + 32, (size_t)snprintf(text[i] + 32, 32,
		    "text of %u", line) };
		item->key = "text";
		item->tag = i;
		behind[i] = (struct lc__line_place){ 100 * (line + 1), line + 1 };
	}
	fuzz_require(lc__stash_recall(stash, NULL, NULL, batch, behind, &found) == LC_OK);
	fuzz_require(found <= LINES);
	for (size_t i = 0; i < LINES; i++)
		if (batch->items[i].value != NULL)
			fuzz_touch_value(batch->items[i].value);
	lc__items_free(batch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *file = fuzz_copy(data, size);
	struct lc__stash *stash = NULL;
	struct lc__stashed entry;
	const char *path;

	for (size_t at = 0, n = 1; n > 0 && at < size; at += n)
		n = mend_entry(file + at, size - at);
	if (size >= LC__STASHED_HEAD && lc__stashed_size(file, size) == size)
		(void)lc__stashed_read(file, size, &entry);
	path = fuzz_file("fill.0.part", file, size);
	fuzz_require(lc__stash_open(path, SOURCE, FIRST, &stash) == LC_OK);
	recall(stash);
	lc__stash_forget(stash, FIRST + 4);
	lc__stash_close(stash);
	free(file);
	return 0;
}
