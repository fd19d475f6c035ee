/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/cursor.h"

#include <string.h>

#include "base/error.h"
#include "base/mpack.h"
#include "base/mpack_read.h"

void
lc__cursor_encode(const struct lc__line_place *place, struct lc__buf *out)
{
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "offset");
	lc__mpack_uint(out, place->offset);
	lc__mpack_str(out, "line");
	lc__mpack_uint(out, place->line);
}

static bool
take_member(struct lc__tokens *in, const char *name, uint64_t *out)
{
	struct lc__mpack_token token;

	if (!lc__token_expect(in, LC__TOKEN_STR, &token) ||
	    token.size != strlen(name) ||
	    memcmp(token.bytes, name, token.size) != 0 ||
	    !lc__token_expect(in, LC__TOKEN_UINT, &token))
		return false;
	*out = token.number;
	return true;
}

lc_status
lc__cursor_decode(lc_id cursor, struct lc__line_place *out)
{
	struct lc__tokens in = {
		cursor.data, (const unsigned char *)cursor.data + cursor.size
	};
	struct lc__line_place place = { 0, 0 };
	struct lc__mpack_token token;

	/* Each line takes a byte at least. */
	if (cursor.size > 0 && (!lc__token_expect(&in, LC__TOKEN_MAP, &token) ||
	    token.size != 2 || !take_member(&in, "offset", &place.offset) ||
	    !take_member(&in, "line", &place.line) || in.at != in.end ||
	    place.line > place.offset || place.offset > INT64_MAX))
		return lc__error(LC_CORRUPT, 0, "its cursor is none of cachex fill");
	*out = place;
	return LC_OK;
}
