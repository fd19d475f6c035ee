/* SPDX-License-Identifier: BSD-2-Clause */
/* Small rows: env/rows.c, store/inputs.c. Input: which row, then its
 * bytes without the hash that ends it. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "env/rows.h"
#include "mend.h"
#include "store/inputs.h"

static void
read_state(const unsigned char *row, size_t size)
{
	struct lc__state state = { 0 };
	struct lc__buf again = { 0 };

	if (lc__state_decode(row, size, &state) == LC_OK) {
		fuzz_require(lc__state_encode(&state, &again));
		fuzz_touch(again.data, again.size);
	}
	lc__buf_free(&again);
	lc__state_free(&state);
}

static void
read_input(const unsigned char *row, size_t size, uint32_t index)
{
	struct lc__input_row input;

	if (!lc__input_decode(row, size, index, &input))
		return;
	fuzz_touch(input.name.data, input.name.size);
	fuzz_touch(input.fingerprint.data, input.fingerprint.size);
	fuzz_touch(input.cursor.data, input.cursor.size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	static const char *const names[] = { "state", NULL, "module", NULL, "fill", NULL };
	const uint8_t choice = fuzz_u8(&in) % 6;
	const size_t left = fuzz_left(&in), whole = left + 8;
	const uint64_t seed = names[choice] == NULL ? 1 : lc__row_seed(names[choice]);
	unsigned char *row = mend_appended(fuzz_copy(in.at, left), left, seed);
	struct lc__module_row module;
	struct lc__ledger_row ledger;
	struct lc__order_row order;
	struct lc__fill_row fill;

	switch (choice) {
	case 0:
		read_state(row, whole);
		break;
	case 1:
		if (lc__ledger_decode(row, whole, seed, &ledger))
			fuzz_require(ledger.live <= ledger.records);
		break;
	case 2:
		(void)!lc__module_decode(row, whole, &module);
		break;
	case 3:
		(void)lc__order_decode(row, whole, seed, &order);
		break;
	case 4:
		(void)lc__fill_decode(row, whole, &fill);
		break;
	default:
		read_input(row, whole, (uint32_t)seed);
	}
	free(row);
	return 0;
}
