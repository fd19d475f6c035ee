/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mpack.h"

enum { state_head = 64, run_row = 32 };

/* ---- checksums ------------------------------------------------------------ */

uint64_t
lc__row_seed(const char *name)
{
	return lc__hash64(name, strlen(name));
}

uint64_t
lc__row_sum(const void *bytes, size_t size, uint64_t seed)
{
	return lc__hash64_seed(bytes, size, seed);
}

bool
lc__row_intact(const void *row, size_t size, uint64_t seed)
{
	const unsigned char *p = row;

	return size >= LC__ROW_SUM &&
	    lc__get64(p + size - LC__ROW_SUM) == lc__row_sum(p, size - LC__ROW_SUM, seed);
}

/* For larger rows it would take too long. */
enum { mendable = 6144 };

bool
lc__row_mend(unsigned char *row, size_t size, uint64_t seed)
{
	if (size <= LC__ROW_SUM || size > mendable)
		return false;
	for (size_t i = 0; i < size; i++) {
		const unsigned char was = row[i];

		for (unsigned change = 1; change < 256; change++) {
			row[i] = (unsigned char)(was ^ change);
			if (lc__row_intact(row, size, seed))
				return true;
		}
		row[i] = was;
	}
	return false;
}

/* ---- the state ------------------------------------------------------------ */

bool
lc__state_encode(const struct lc__state *state, struct lc__buf *out)
{
	lc__buf_append64(out, state->generation);
	lc__buf_append64(out, state->live);
	lc__buf_append64(out, state->records);
	lc__buf_append64(out, state->live_bytes);
	lc__buf_append64(out, state->bytes);
	lc__buf_append64(out, state->next_chunk);
	lc__buf_append64(out, state->next_run);
	lc__buf_append64(out, (uint64_t)state->next_schema << 32 | state->nruns);
	for (uint32_t i = 0; i < state->nruns; i++) {
		lc__buf_append64(out, state->runs[i].id);
		lc__buf_append64(out, state->runs[i].entries);
		lc__buf_append64(out, state->runs[i].bytes);
		lc__buf_append64(out, state->runs[i].level);
	}
	if (!out->failed)
		lc__buf_append64(out,
		    lc__row_sum(out->data, out->size, lc__row_seed("state")));
	return !out->failed;
}

lc_status
lc__state_decode(const void *bytes, size_t size, struct lc__state *state)
{
	const unsigned char *p = bytes;
	uint64_t counts;

	if (size < state_head + LC__ROW_SUM ||
	    (size - state_head - LC__ROW_SUM) % run_row != 0 ||
	    !lc__row_intact(p, size, lc__row_seed("state")))
		return lc__error(LC_CORRUPT, 0, "checksum mismatch");
	counts = lc__get64(p + 56);
	if ((uint32_t)counts != (size - state_head - LC__ROW_SUM) / run_row)
		return lc__error(LC_CORRUPT, 0, "wrong number of runs");
	if (lc__get64(p) >= LC__RUN_ID_MAX || lc__get64(p + 40) == 0 ||
	    lc__get64(p + 40) > LC__CHUNK_ID_MAX + 1 || lc__get64(p + 48) == 0 ||
	    lc__get64(p + 48) >= LC__RUN_ID_MAX || counts >> 32 > LC__SCHEMAS_MAX)
		return lc__error(LC_CORRUPT, 0, "ids out of range");
	return_if_error(
	    lc__array_reserve(&state->runs, &state->room, (uint32_t)counts, NULL));
	state->generation = lc__get64(p);
	state->live = lc__get64(p + 8);
	state->records = lc__get64(p + 16);
	state->live_bytes = lc__get64(p + 24);
	state->bytes = lc__get64(p + 32);
	state->next_chunk = lc__get64(p + 40);
	state->next_run = lc__get64(p + 48);
	state->nruns = (uint32_t)counts;
	state->next_schema = (uint32_t)(counts >> 32);
	p += state_head;
	for (uint32_t i = 0; i < state->nruns; i++, p += run_row) {
		state->runs[i].id = lc__get64(p);
		state->runs[i].entries = lc__get64(p + 8);
		state->runs[i].bytes = lc__get64(p + 16);
		state->runs[i].level = (uint32_t)lc__get64(p + 24);
	}
	return LC_OK;
}

bool
lc__state_push_run(struct lc__state *state, const struct lc__run_row *run)
{
	if (lc__array_reserve(&state->runs, &state->room, (size_t)state->nruns + 1,
		NULL) != LC_OK)
		return false;
	state->runs[state->nruns++] = *run;
	return true;
}

void
lc__state_drop_runs(struct lc__state *state, uint32_t from, uint32_t n)
{
	if (n == 0)
		return;
	memmove(state->runs + from, state->runs + from + n,
	    (state->nruns - from - n) * sizeof(*state->runs));
	state->nruns -= n;
}

void
lc__state_free(struct lc__state *state)
{
	free(state->runs);
	memset(state, 0, sizeof(*state));
}

/* ---- the ledger ----------------------------------------------------------- */

void
lc__ledger_encode(const struct lc__ledger_row *row, uint64_t chunk,
    unsigned char out[LC__LEDGER_ROW])
{
	lc__set64(out, row->records);
	lc__set64(out + 8, row->live);
	lc__set64(out + 16, row->bytes);
	lc__set64(out + 24, row->live_bytes);
	lc__set64(out + 32, row->source);
	lc__set64(out + 40, row->ordinal);
	lc__set64(out + 48, row->hash);
	lc__set64(out + 56, row->time_ms);
	lc__set64(out + 64, row->read_ms);
	lc__set64(out + 72, row->length);
	lc__set64(out + 80, lc__row_sum(out, 80, chunk));
}

bool
lc__ledger_decode(const void *bytes, size_t size, uint64_t chunk,
    struct lc__ledger_row *out)
{
	const unsigned char *p = bytes;

	if (size != LC__LEDGER_ROW || !lc__row_intact(p, size, chunk))
		return false;
	out->records = lc__get64(p);
	out->live = lc__get64(p + 8);
	out->bytes = lc__get64(p + 16);
	out->live_bytes = lc__get64(p + 24);
	out->source = lc__get64(p + 32);
	out->ordinal = lc__get64(p + 40);
	out->hash = lc__get64(p + 48);
	out->time_ms = lc__get64(p + 56);
	out->read_ms = lc__get64(p + 64);
	out->length = lc__get64(p + 72);
	return out->live <= out->records && out->live_bytes <= out->bytes;
}

/* ---- the module ----------------------------------------------------------- */

void
lc__module_encode(const struct lc__module_row *row, struct lc__buf *out)
{
	lc__mpack_map(out, 3);
	lc__mpack_str(out, "format");
	lc__mpack_uint(out, row->format);
	lc__mpack_str(out, "uuid");
	lc__mpack_bin(out, row->uuid, sizeof(row->uuid));
	lc__mpack_str(out, "created_ms");
	lc__mpack_uint(out, row->created_ms);
	if (!out->failed)
		lc__buf_append64(out,
		    lc__row_sum(out->data, out->size, lc__row_seed("module")));
}

static bool
text_is(const struct lc__mpack_token *token, const char *text)
{
	return token->kind == LC__TOKEN_STR && token->size == strlen(text) &&
	    memcmp(token->bytes, text, token->size) == 0;
}

/* Read a map with these members, and possibly others. out->format is set if it is known,
 * else 0: the rest of the row may differ in a later format. */
static bool
read_module(struct lc__tokens in, struct lc__module_row *out)
{
	bool uuid = false, created = false;
	struct lc__mpack_token map, name, value;

	out->format = 0;
	if (!lc__token_next_any(&in, &map) || map.kind != LC__TOKEN_MAP)
		return false;
	for (uint32_t i = 0; i < map.size; i++) {
		struct lc__tokens member;

		if (!lc__token_next_any(&in, &name))
			return false;
		member = in;
		if (!lc__token_skip_any(&in) || !lc__token_next_any(&member, &value))
			return false;
		if (text_is(&name, "format") && value.kind == LC__TOKEN_UINT) {
			out->format = value.number < UINT32_MAX ? (uint32_t)value.number
								: UINT32_MAX;
		} else if (text_is(&name, "uuid") && value.kind == LC__TOKEN_BIN &&
		    value.size == sizeof(out->uuid)) {
			memcpy(out->uuid, value.bytes, sizeof(out->uuid));
			uuid = true;
		} else if (text_is(&name, "created_ms") && value.kind == LC__TOKEN_UINT) {
			out->created_ms = value.number;
			created = true;
		}
	}
	return in.at == in.end && out->format != 0 && uuid && created;
}

lc_status
lc__module_decode(const void *bytes, size_t size, struct lc__module_row *out)
{
	const unsigned char *p = bytes;
	bool whole;

	if (!lc__row_intact(p, size, lc__row_seed("module")))
		return lc__error(LC_CORRUPT, 0, "checksum mismatch");
	whole = read_module((struct lc__tokens){ p, p + size - LC__ROW_SUM }, out);
	if (out->format > LC__FORMAT)
		return lc__error(LC_VERSION, 0,
		    "format %u is newer than this library's %u", out->format, LC__FORMAT);
	return whole ? LC_OK : lc__error(LC_CORRUPT, 0, "fields are missing");
}
