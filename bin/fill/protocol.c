/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/protocol.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mpack.h"
#include "base/utf8.h"

/* Most of what is sent is ASCII, which eight bytes at a time tell. */
static bool
is_text(const unsigned char *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= 8 && (lc__get64(bytes + at) & 0x8080808080808080u) == 0)
		at += 8;
	return lc__utf8_valid(bytes + at, size - at);
}

static void
write_bytes(struct lc__buf *out, lc_id bytes)
{
	if (is_text(bytes.data, bytes.size))
		lc__mpack_strn(out, bytes.data, bytes.size);
	else
		lc__mpack_bin(out, bytes.data, bytes.size);
}

static void
write_item(struct lc__buf *out, const struct lc__item *item)
{
	lc__mpack_map(out, item->key != NULL ? 2 : 1);
	lc__mpack_strn(out, "id", 2);
	write_bytes(out, item->id);
	if (item->key != NULL) {
		lc__mpack_str(out, item->key);
		write_bytes(out, item->payload);
	}
}

/* Do all lengths fit into 32 bits, that of the frame too? */
static bool
fits(const struct lc__portion *portion)
{
	uint64_t sum = 64;

	for (size_t i = 0; i < portion->count; i++) {
		const struct lc__item *item = lc__portion_item(portion, i);
		const uint64_t around = 32 + (item->key != NULL ? strlen(item->key) : 0);
		if (!lc__add64(sum, item->id.size, &sum) ||
		    !lc__add64(sum, item->payload.size, &sum) ||
		    !lc__add64(sum, around, &sum))
			return false;
	}
	return sum <= UINT32_MAX;
}

lc_status
lc__request_write(const struct lc__portion *portion, uint64_t number,
    struct lc__buf *out)
{
	const size_t start = out->size;

	if (!fits(portion))
		return lc__error(LC_UNSUPPORTED, 0, "%zu items from %s on are too large "
		    "for a request of 4 GiB", portion->count,
		    lc__quote_id(lc__portion_item(portion, 0)->id.data,
		    lc__portion_item(portion, 0)->id.size));
	lc__buf_append(out, NULL, LC__FRAME_HEAD);
	lc__mpack_map(out, 2);
	lc__mpack_strn(out, "batch", 5);
	lc__mpack_uint(out, number);
	lc__mpack_strn(out, "items", 5);
	lc__mpack_array(out, (uint32_t)portion->count);
	for (size_t i = 0; i < portion->count; i++)
		write_item(out, lc__portion_item(portion, i));
	if (out->failed)
		return lc__no_memory(NULL);
	lc__set32(out->data + start, (uint32_t)(out->size - start - LC__FRAME_HEAD));
	return LC_OK;
}
