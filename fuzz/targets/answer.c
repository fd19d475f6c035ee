/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of producers: bin/fill/protocol.c, bin/fill/value_mpack.c,
 * lib/base/mpack.c. Input: a frame without its length. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "fill/protocol.h"
#include "fill/value_mpack.h"

static const char *const ids[] = { "a", "b", "c", "img/1.jpg" };
enum { ITEMS = sizeof(ids) / sizeof(ids[0]) };

/* A request for a few items; the corpus answers it. */
static struct lc__subbatch *
make_subbatch(void)
{
	struct lc__items *batch = lc__items_new(ITEMS);
	struct lc__subbatch *subbatch;

	if (batch == NULL)
		abort();
	for (size_t i = 0; i < ITEMS; i++)
		batch->items[i].id = lc_id_of(ids[i]);
	subbatch = lc__subbatch_of(batch);
	if (subbatch == NULL)
		abort();
	subbatch->number = 7;
	return subbatch;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lc__subbatch *subbatch = make_subbatch();
	struct lc__items *batch = subbatch->batch;
	struct lc__value_reader reader = { 0 };
	struct lc__answer answer = { 0 };
	struct lc__answered answered = { 0 };
	void *frame = fuzz_copy(data, size);
	lc_value *value = NULL;
	uint64_t number;

	(void)!lc__answer_number(frame, size, &number);
	if (lc__answer_read(&answer, subbatch, frame, size) == LC_OK) {
		fuzz_require(lc__answer_take(&answer, subbatch, NULL, NULL, &answered) == LC_OK);
		fuzz_require(answered.done + answered.failed + answered.lacking == ITEMS);
		for (size_t i = 0; i < ITEMS; i++) {
			const struct lc__item *item = &batch->items[i];

			if (item->value != NULL)
				fuzz_touch_value(item->value);
			if (item->why != NULL)
				fuzz_touch(item->why, strlen(item->why));
		}
	}
	if (lc__value_mpack_read(&reader, frame, size, &value) == LC_OK) {
		fuzz_touch_value(value);
		lc_value_free(value);
	}
	lc__value_reader_free(&reader);
	lc__answer_free(&answer);
	lc__subbatch_free(subbatch);
	lc__items_free(batch);
	free(frame);
	return 0;
}
