/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill_producer.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "load.h"

/* {"id": str of KEY_SIZE}, and then ["value": …] */
#define ID_BYTES (1 + 3 + 1 + KEY_SIZE)
#define HEAD_BYTES 4
/* {"batch": u32, "items": [, at most; of an answer "results" */
#define FRONT_BYTES (1 + 6 + 5 + 8 + 5)

struct answer {
	unsigned char *value; /* "value": {…}, as it follows every id */
	uint64_t value_size;
	unsigned char *frame;
	uint64_t room;
};

bool
fill_producer_read(int fd, void *data, uint64_t size)
{
	for (uint64_t at = 0; at < size;) {
		const ssize_t got = read(fd, (char *)data + at, size - at);
		if (got < 0)
			err(1, "read");
		if (got == 0)
			return false;
		at += (uint64_t)got;
	}
	return true;
}

bool
fill_producer_write(int fd, const void *data, uint64_t size)
{
	for (uint64_t at = 0; at < size;) {
		const ssize_t put = write(fd, (const char *)data + at, size - at);
		if (put < 0)
			return false;
		at += (uint64_t)put;
	}
	return true;
}

void
fill_producer_tensor(unsigned char *data, uint64_t size)
{
	for (uint64_t i = 0; i < size / sizeof(float); i++) {
		const float element = (float)(i % 256) / 255;
		memcpy(data + i * sizeof(float), &element, sizeof(float));
	}
}

/* Bytes of "value": {"$tensor": "f32[N]", "data": bin}, of which the last are data. */
static uint64_t
value_bytes(uint64_t size)
{
	char type[32];

	return 6 + 1 + 8 + 1 +
	    (uint64_t)snprintf(type, sizeof(type), "f32[%llu]",
	        (unsigned long long)size / sizeof(float)) + 5 + 5 + size;
}

uint64_t
fill_producer_request(uint64_t items)
{
	return HEAD_BYTES + FRONT_BYTES + items * ID_BYTES;
}

uint64_t
fill_producer_answer(uint64_t items, uint64_t size)
{
	return HEAD_BYTES + FRONT_BYTES + 2 + items * (ID_BYTES + value_bytes(size));
}

/* Memory for @p size bytes at least; what was in it is lost. */
static void
make_room(unsigned char **data, uint64_t *room, uint64_t size)
{
	if (*room >= size)
		return;
	free(*data);
	*data = malloc(size);
	if (*data == NULL)
		err(1, NULL);
	*room = size;
}

/* ---- the producer -------------------------------------------------------------- */

static unsigned char *
put_text(unsigned char *at, const char *text)
{
	const size_t size = strlen(text);

	*at = (unsigned char)(0xa0 | size);
	memcpy(at + 1, text, size);
	return at + 1 + size;
}

static unsigned char *
put32(unsigned char *at, unsigned code, uint64_t number)
{
	*at++ = (unsigned char)code;
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (unsigned char)(number >> shift);
	return at;
}

static struct answer
answer_of(uint64_t size)
{
	struct answer answer = { .value_size = value_bytes(size) };
	char type[32];
	unsigned char *at;

	at = answer.value = malloc(answer.value_size);
	if (at == NULL)
		err(1, NULL);
	snprintf(type, sizeof(type), "f32[%llu]",
	    (unsigned long long)size / sizeof(float));
	at = put_text(at, "value");
	*at++ = 0x82;
	at = put_text(put_text(put_text(at, "$tensor"), type), "data");
	at = put32(at, 0xc6, size);
	fill_producer_tensor(at, size);
	if (at + size != answer.value + answer.value_size)
		errx(1, "a value of other bytes than were counted");
	return answer;
}

/* The words that this bench's requests have, and no others. */
static const unsigned char *
expect(const unsigned char *at, const unsigned char *end, const char *bytes, size_t size)
{
	if ((size_t)(end - at) < size || memcmp(at, bytes, size) != 0)
		errx(1, "a request of another form");
	return at + size;
}

/* A number of MessagePack, or the length of an array, as big-endian bytes behind a
 * code, or in it. */
static const unsigned char *
take_number(const unsigned char *at, const unsigned char *end, unsigned first16,
    uint64_t *out)
{
	const unsigned code = at < end ? *at++ : 0xc1;
	const unsigned size = code == 0xcc ? 1 : code == first16 ? 2 :
	    code == first16 + 1 ? 4 : 0;

	*out = code & (first16 == 0xdc ? 0x0f : 0x7f);
	if ((size == 0 && code >= 0xa0) || (unsigned)(end - at) < size)
		errx(1, "a request of another form");
	if (size > 0)
		*out = 0;
	for (unsigned i = 0; i < size; i++)
		*out = *out << 8 | *at++;
	return at;
}

static uint64_t
write_answer(struct answer *answer, const unsigned char *request, uint64_t size)
{
	const unsigned char *const end = request + size;
	uint64_t batch, items;
	unsigned char *at;

	request = expect(request, end, "\x82\xa5" "batch", 7);
	request = take_number(request, end, 0xcd, &batch);
	request = expect(request, end, "\xa5" "items", 6);
	request = take_number(request, end, 0xdc, &items);
	if ((uint64_t)(end - request) != items * ID_BYTES)
		errx(1, "a request of another form");
	make_room(&answer->frame, &answer->room,
	    HEAD_BYTES + FRONT_BYTES + 2 + items * (ID_BYTES + answer->value_size));
	at = answer->frame + HEAD_BYTES;
	*at++ = 0x82;
	at = put32(put_text(at, "batch"), 0xce, batch);
	at = put32(put_text(at, "results"), 0xdd, items);
	for (; items > 0; items--, request += ID_BYTES, at += answer->value_size) {
		memcpy(at, request, ID_BYTES);
		*at = 0x82;
		at += ID_BYTES;
		memcpy(at, answer->value, answer->value_size);
	}
	size = (uint64_t)(at - answer->frame);
	lc__set32(answer->frame, (uint32_t)(size - HEAD_BYTES));
	return size;
}

void
fill_producer_run(uint64_t size)
{
	struct answer answer = answer_of(size);
	unsigned char head[HEAD_BYTES], *request = NULL;
	uint64_t room = 0;

	while (fill_producer_read(STDIN_FILENO, head, sizeof(head))) {
		const uint64_t n = lc__get32(head);
		uint64_t bytes;
		make_room(&request, &room, n);
		if (!fill_producer_read(STDIN_FILENO, request, n))
			break;
		bytes = write_answer(&answer, request, n);
		if (!fill_producer_write(STDOUT_FILENO, answer.frame, bytes))
			break;
	}
	_exit(0);
}

void
fill_producer_echo(int in, int out, uint64_t size)
{
	unsigned char head[HEAD_BYTES], *request = NULL, *frame = NULL;
	uint64_t room = 0, frame_room = 0;

	while (fill_producer_read(in, head, sizeof(head))) {
		const uint64_t n = lc__get32(head);
		const uint64_t items = (n - FRONT_BYTES) / ID_BYTES;
		const uint64_t bytes = fill_producer_answer(items, size);
		make_room(&request, &room, n);
		make_room(&frame, &frame_room, bytes);
		lc__set32(frame, (uint32_t)(bytes - HEAD_BYTES));
		if (!fill_producer_read(in, request, n) ||
		    !fill_producer_write(out, frame, bytes))
			break;
	}
	_exit(0);
}
