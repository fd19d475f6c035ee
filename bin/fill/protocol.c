/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sent to a producer and received from it: cachex-producer(5). */
#include "fill/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mpack.h"
#include "base/utf8.h"
#include "fill/items.h"
#include "fill/value_mpack.h"

/* ---- frames ------------------------------------------------------------------------ */

/* Most of what is sent is ASCII, which is checked eight bytes at a time. */
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

/* Do all lengths fit into 32 bits, including that of the frame? */
static bool
fits(const struct lc__subbatch *subbatch)
{
	uint64_t sum = 64;

	for (size_t i = 0; i < subbatch->count; i++) {
		const struct lc__item *item = lc__subbatch_item(subbatch, i);
		const uint64_t around = 32 + (item->key != NULL ? strlen(item->key) : 0);
		if (!lc__add64(sum, item->id.size, &sum) ||
		    !lc__add64(sum, item->payload.size, &sum) ||
		    !lc__add64(sum, around, &sum))
			return false;
	}
	return sum <= UINT32_MAX;
}

lc_status
lc__request_write(const struct lc__subbatch *subbatch, uint64_t number,
    struct lc__buf *out)
{
	const size_t start = out->size;

	if (!fits(subbatch))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%zu items from %s on are too large for a request of 4 GiB",
		    subbatch->count,
		    lc__quote_id(lc__subbatch_item(subbatch, 0)->id.data,
			lc__subbatch_item(subbatch, 0)->id.size));
	lc__buf_append(out, NULL, LC__FRAME_HEAD);
	lc__mpack_map(out, 2);
	lc__mpack_strn(out, "batch", 5);
	lc__mpack_uint(out, number);
	lc__mpack_strn(out, "items", 5);
	lc__mpack_array(out, (uint32_t)subbatch->count);
	for (size_t i = 0; i < subbatch->count; i++)
		write_item(out, lc__subbatch_item(subbatch, i));
	if (out->failed)
		return lc__no_memory(NULL);
	lc__set32(out->data + start, (uint32_t)(out->size - start - LC__FRAME_HEAD));
	return LC_OK;
}

/* ---- messages ---------------------------------------------------------------------- */

static void
end_line(struct lc__messages *m)
{
	if (m->open_size == 0)
		return;
	m->open[m->open_size] = '\0';
	m->open_size = 0;
	if (m->line != NULL)
		m->line(m->ctx, m->child, m->open);
}

/* A carriage return ends a line too: progress bars write nothing else for a long time. */
static bool
ends_line(char c)
{
	return c == '\n' || c == '\r';
}

static void
add_lines(struct lc__messages *m, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (ends_line(text[i]) || m->open_size + 1 == sizeof(m->open))
			end_line(m);
		if (!ends_line(text[i]))
			m->open[m->open_size++] = text[i] == '\0' ? ' ' : text[i];
	}
}

static void
keep_last(struct lc__messages *m, const char *text, size_t size)
{
	size_t kept;

	if (size > sizeof(m->last)) {
		text += size - sizeof(m->last);
		size = sizeof(m->last);
	}
	kept = sizeof(m->last) - size;
	if (kept > m->last_size)
		kept = m->last_size;
	memmove(m->last, m->last + m->last_size - kept, kept);
	memcpy(m->last + kept, text, size);
	m->last_size = kept + size;
}

void
lc__messages_add(struct lc__messages *m, const char *text, size_t size)
{
	add_lines(m, text, size);
	keep_last(m, text, size);
}

void
lc__messages_end(struct lc__messages *m)
{
	end_line(m);
}

void
lc__messages_last_line(const struct lc__messages *m, char *out, size_t room)
{
	size_t end = m->last_size, start;

	while (end > 0 && (ends_line(m->last[end - 1]) || m->last[end - 1] == ' '))
		end--;
	for (start = end; start > 0 && !ends_line(m->last[start - 1]); start--)
		;
	snprintf(out, room, "%.*s", (int)(end - start), m->last + start);
	for (; *out != '\0'; out++)
		if ((unsigned char)*out < ' ' || *out == 0x7f)
			*out = ' ';
}

/* ---- answers ----------------------------------------------------------------------- */

/* ---- finding items by their ids -------------------------------------------------- */

static bool
has_id(const struct lc__subbatch *subbatch, size_t i, const struct lc__mpack_token *id)
{
	const lc_id *own = &lc__subbatch_item(subbatch, i)->id;

	return own->size == id->size && memcmp(own->data, id->bytes, own->size) == 0;
}

static lc_status
make_slots(struct lc__answer *a, size_t count)
{
	size_t slots = 16;

	while (slots < 2 * count)
		slots *= 2;
	if (slots > a->slots) {
		uint32_t *slot = realloc(a->slot, slots * sizeof(*slot));
		if (slot == NULL)
			return lc__no_memory(NULL);
		a->slot = slot;
		a->slots = slots;
	}
	memset(a->slot, 0, a->slots * sizeof(*a->slot));
	return LC_OK;
}

static lc_status
index_ids(struct lc__answer *a, const struct lc__subbatch *subbatch)
{
	return_if_error(make_slots(a, subbatch->count));
	for (size_t i = 0; i < subbatch->count; i++) {
		const lc_id *id = &lc__subbatch_item(subbatch, i)->id;
		size_t at = lc__hash64(id->data, id->size) & (a->slots - 1);
		while (a->slot[at] != 0)
			at = (at + 1) & (a->slots - 1);
		a->slot[at] = (uint32_t)i + 1;
	}
	a->indexed = true;
	return LC_OK;
}

/* The item with that id which has no result yet: ids may be repeated. */
static lc_status
search(struct lc__answer *a, const struct lc__subbatch *subbatch,
    const struct lc__mpack_token *id, size_t *out)
{
	size_t at = lc__hash64(id->bytes, id->size);
	bool seen = false;

	if (!a->indexed)
		return_if_error(index_ids(a, subbatch));
	for (; a->slot[at & (a->slots - 1)] != 0; at++) {
		const size_t i = a->slot[at & (a->slots - 1)] - 1;
		if (!has_id(subbatch, i, id))
			continue;
		seen = true;
		if (!a->result[i].there) {
			*out = i;
			return LC_OK;
		}
	}
	return lc__error(LC_INVALID, 0,
	    seen ? "it has %s twice" : "it has %s, which was not requested",
	    lc__quote_id(id->bytes, id->size));
}

/* Results usually come in the order of the items. */
static lc_status
find(struct lc__answer *a, const struct lc__subbatch *subbatch,
    const struct lc__mpack_token *id, size_t guess, size_t *out)
{
	if (guess >= subbatch->count || a->result[guess].there ||
	    !has_id(subbatch, guess, id))
		return search(a, subbatch, id, out);
	*out = guess;
	return LC_OK;
}

/* ---- reading ---------------------------------------------------------------------- */

static lc_status
malformed(void)
{
	return lc__error(LC_INVALID, 0, "it is not one MessagePack object");
}

static bool
is_named(const struct lc__mpack_token *name, const char *text)
{
	return name->kind == LC__TOKEN_STR && name->size == strlen(text) &&
	    memcmp(name->bytes, text, name->size) == 0;
}

/* The name of a pair, and the position of its value. */
static bool
next_pair(struct lc__tokens *in, struct lc__mpack_token *name, struct lc__tokens *value)
{
	value->at = in->at;
	if (!lc__token_next_any(in, name))
		return false;
	if (name->kind == LC__TOKEN_ARRAY || name->kind == LC__TOKEN_MAP) {
		in->at = value->at;
		if (!lc__token_skip_any(in))
			return false;
	}
	value->at = in->at;
	if (!lc__token_skip_any(in))
		return false;
	value->end = in->at;
	return true;
}

static lc_status
set_error(struct lc__tokens value, struct lc__answer_item *out)
{
	static const char other[] = "the producer gave an error that is not text";
	struct lc__mpack_token text;

	if (!lc__token_next_any(&value, &text))
		return malformed();
	if (text.kind == LC__TOKEN_NIL)
		return LC_OK;
	out->error = other;
	out->error_size = sizeof(other) - 1;
	if (text.kind == LC__TOKEN_STR || text.kind == LC__TOKEN_BIN) {
		out->error = text.bytes;
		out->error_size = text.size;
	}
	return LC_OK;
}

/* One member of "results". */
static lc_status
read_result(struct lc__tokens *in, struct lc__mpack_token *id,
    struct lc__answer_item *out)
{
	struct lc__mpack_token map, name;
	struct lc__tokens value;

	id->bytes = NULL;
	memset(out, 0, sizeof(*out));
	if (!lc__token_next_any(in, &map))
		return malformed();
	if (map.kind != LC__TOKEN_MAP)
		return lc__error(LC_INVALID, 0, "it has a result that is not a map");
	for (uint32_t i = 0; i < map.size; i++) {
		if (!next_pair(in, &name, &value))
			return malformed();
		if (is_named(&name, "value")) {
			out->value = value.at;
			out->value_size = (size_t)(value.end - value.at);
		} else if (is_named(&name, "error")) {
			return_if_error(set_error(value, out));
		} else if (is_named(&name, "id") && lc__token_next_any(&value, id) &&
		    id->kind != LC__TOKEN_STR && id->kind != LC__TOKEN_BIN) {
			id->bytes = NULL;
		}
	}
	return id->bytes != NULL
	    ? LC_OK
	    : lc__error(LC_INVALID, 0, "it has a result without an id");
}

static lc_status
read_results(struct lc__answer *a, const struct lc__subbatch *subbatch,
    struct lc__tokens in)
{
	struct lc__mpack_token array, id;
	struct lc__answer_item result;
	size_t i = 0;

	if (!lc__token_next_any(&in, &array))
		return malformed();
	if (array.kind != LC__TOKEN_ARRAY)
		return lc__error(LC_INVALID, 0, "its results are not an array");
	for (uint32_t n = 0; n < array.size; n++) {
		return_if_error(read_result(&in, &id, &result));
		return_if_error(find(a, subbatch, &id, n, &i));
		a->result[i] = result;
		a->result[i].there = true;
	}
	return LC_OK;
}

/* The members of an answer; without "batch", "results" or "metrics" these are all zero. */
struct frame {
	struct lc__tokens batch, results, metrics;
};

static lc_status
read_frame(struct lc__tokens in, struct frame *out)
{
	struct lc__mpack_token map, name;
	struct lc__tokens value;

	if (!lc__token_next_any(&in, &map))
		return malformed();
	if (map.kind != LC__TOKEN_MAP)
		return lc__error(LC_INVALID, 0, "it is not a map");
	for (uint32_t i = 0; i < map.size; i++) {
		if (!next_pair(&in, &name, &value))
			return malformed();
		if (is_named(&name, "batch"))
			out->batch = value;
		else if (is_named(&name, "results"))
			out->results = value;
		else if (is_named(&name, "metrics"))
			out->metrics = value;
	}
	return in.at == in.end ? LC_OK : malformed();
}

static lc_status
read_number(struct lc__tokens in, uint64_t *out)
{
	struct lc__mpack_token batch;

	if (in.at == NULL || !lc__token_next_any(&in, &batch) ||
	    batch.kind != LC__TOKEN_UINT)
		return lc__error(LC_INVALID, 0, "it does not name its batch");
	*out = batch.number;
	return LC_OK;
}

static lc_status
check_batch(struct lc__tokens in, uint64_t number)
{
	uint64_t got = 0;

	return_if_error(read_number(in, &got));
	if (got != number)
		return lc__error(LC_INVALID, 0, "it is for batch %llu instead of %llu",
		    (unsigned long long)got, (unsigned long long)number);
	return LC_OK;
}

lc_status
lc__answer_number(const void *bytes, size_t size, uint64_t *out)
{
	const struct lc__tokens in = { bytes, (const unsigned char *)bytes + size };
	struct frame frame = { 0 };

	return_if_error(read_frame(in, &frame));
	return read_number(frame.batch, out);
}

/* Is it a name that needs no escape anywhere? */
static bool
is_plain(const struct lc__mpack_token *name)
{
	const char *text = (const char *)name->bytes;

	if (name->kind != LC__TOKEN_STR || name->size == 0 ||
	    name->size >= sizeof(((struct lc__reported *)NULL)->name))
		return false;
	for (uint32_t i = 0; i < name->size; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') &&
		    !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !(text[i] >= '0' && text[i] <= '9') &&
		    memchr("_./-", text[i], 4) == NULL)
			return false;
	return true;
}

/* The numbers that the producer reports; what is not one is ignored. */
static void
read_metrics(struct lc__answer *a, struct lc__tokens in)
{
	struct lc__mpack_token map, name, number;
	struct lc__tokens value;

	a->n_reported = 0;
	if (in.at == NULL || !lc__token_next_any(&in, &map) || map.kind != LC__TOKEN_MAP)
		return;
	for (uint32_t i = 0; i < map.size && a->n_reported < LC__REPORTED_MOST; i++) {
		struct lc__reported *out = &a->reported[a->n_reported];

		if (!next_pair(&in, &name, &value) ||
		    !lc__token_next_any(&value, &number))
			return;
		if (!is_plain(&name))
			continue;
		if (number.kind == LC__TOKEN_UINT)
			out->value = (double)number.number;
		else if (number.kind == LC__TOKEN_NEGATIVE)
			out->value = (double)(int64_t)number.number;
		else if (number.kind == LC__TOKEN_FLOAT)
			memcpy(&out->value, &number.number, sizeof(out->value));
		else
			continue;
		memcpy(out->name, name.bytes, name.size);
		out->name[name.size] = '\0';
		a->n_reported++;
	}
}

static lc_status
make_results(struct lc__answer *a, size_t count)
{
	return_if_error(lc__array_reserve(&a->result, &a->room, count, NULL));
	memset(a->result, 0, count * sizeof(*a->result));
	return LC_OK;
}

lc_status
lc__answer_read(struct lc__answer *a, const struct lc__subbatch *subbatch,
    const void *bytes, size_t size)
{
	const struct lc__tokens in = { bytes, (const unsigned char *)bytes + size };
	struct frame frame = { 0 };

	a->indexed = false;
	a->n_reported = 0;
	lc__value_reader_forget(&a->reader);
	return_if_error(make_results(a, subbatch->count));
	return_if_error(read_frame(in, &frame));
	return_if_error(check_batch(frame.batch, subbatch->number));
	if (frame.results.at == NULL)
		return lc__error(LC_INVALID, 0, "it has no results");
	return_if_error(read_results(a, subbatch, frame.results));
	read_metrics(a, frame.metrics);
	return LC_OK;
}

/* ---- accepting values ------------------------------------------------------------ */

/* Its value, or LC_INVALID with the reason why it has none. */
static lc_status
read_value(struct lc__answer *a, const struct lc__answer_item *result, lc_value **out)
{
	if (result->error != NULL)
		return lc__error(LC_INVALID, 0, "%.*s",
		    (int)(result->error_size < 1000 ? result->error_size : 1000),
		    (const char *)result->error);
	if (result->value == NULL)
		return lc__error(LC_INVALID, 0,
		    "the producer gave neither a value nor an error");
	if (lc__value_mpack_read(&a->reader, result->value, result->value_size, out) !=
	    LC_OK)
		return lc__error_prefix("value");
	return LC_OK;
}

static lc_status
take_one(struct lc__answer *a, const struct lc__answer_item *result,
    struct lc__item *item,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx)
{
	lc_status status = read_value(a, result, &item->value);

	if (status == LC_OK && check != NULL)
		status = check(ctx, item, item->value);
	if (status == LC_OK) {
		item->outcome = LC__ITEM_DONE;
		return LC_OK;
	}
	lc_value_free(item->value);
	item->value = NULL;
	if (status == LC_NO_MEMORY)
		return status;
	return lc__item_fail(item, lc_last_error()->text, SIZE_MAX);
}

lc_status
lc__answer_take(struct lc__answer *a, const struct lc__subbatch *subbatch,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__answered *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < subbatch->count; i++) {
		struct lc__item *item = lc__subbatch_item(subbatch, i);
		if (!a->result[i].there) {
			out->lacking++;
			continue;
		}
		return_if_error(take_one(a, &a->result[i], item, check, ctx));
		if (item->outcome == LC__ITEM_DONE)
			out->done++;
		else
			out->failed++;
	}
	return LC_OK;
}

void
lc__answer_free(struct lc__answer *a)
{
	free(a->result);
	free(a->slot);
	lc__value_reader_free(&a->reader);
	memset(a, 0, sizeof(*a));
}
