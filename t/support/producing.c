/* SPDX-License-Identifier: BSD-2-Clause */
#include "producing.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "run.h"

#define ID_ROOM 32

const char *
producing_program(const char *name)
{
	static char paths[8][4200];
	static unsigned turn;
	char *const path = paths[turn++ % 8];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(paths[0]), "%s/%s", builddir != NULL ? builddir : ".", name);
	return path;
}

static void
hear(void *ctx, unsigned child, const char *line)
{
	struct producing *p = ctx;

	lc__buf_printf(&p->lines, "%u: %s\n", child, line);
}

void
producing_init(struct producing *p, size_t items, size_t batch, const char *format, ...)
{
	static char command[5000];
	va_list args;
	int n;

	memset(p, 0, sizeof(*p));
	ck_assert_uint_le(items, PRODUCING_MAX);
	n = snprintf(command, sizeof(command), "exec %s ",
	    producing_program("t/support/bad_producer"));
	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
	va_end(args);
	p->items = items;
	p->batch = batch;
	p->how = (struct lc__producers){
		.command = command, .module = "demo", .children = 1, .ahead = 1,
		.retries = 1, .frame_max = 1 << 24, .line = hear, .line_ctx = p
	};
}

static void
name_item(const struct producing *p, size_t i, char id[ID_ROOM])
{
	if (p->name != NULL)
		snprintf(id, ID_ROOM, "%s", p->name);
	else
		snprintf(id, ID_ROOM, "item-%04zu", p->twins ? i / 2 : i);
}

/* Ids and payloads one behind the other. */
static void
set_item(const struct producing *p, struct lc__items *batch, size_t i)
{
	const size_t each = ID_ROOM + p->payload;
	struct lc__item *item = &batch->items[i];
	char *id = (char *)batch->memory + i * each;

	name_item(p, p->made + i, id);
	item->id = lc_id_of(id);
	item->tag = p->made + i;
	if (p->payload > 0) {
		memset(id + ID_ROOM, 'a' + (int)((p->made + i) % 26), p->payload);
		item->key = "text";
		item->payload = (lc_id){ id + ID_ROOM, p->payload };
	}
}

static lc_status
next(void *ctx, struct lc__items **out)
{
	struct producing *p = ctx;
	const size_t left = p->items - p->made;
	const size_t n = left < p->batch ? left : p->batch;
	struct lc__items *batch;

	if (p->next_fails != LC_OK && p->made > 0)
		return lc__error(p->next_fails, 0, "no next one");
	if (left == 0)
		return LC_END;
	if (p->hold > 0 && p->out == p->hold)
		return LC_BUSY;
	batch = lc__items_new(n);
	ck_assert_ptr_nonnull(batch);
	batch->memory = malloc(n * (ID_ROOM + p->payload));
	ck_assert_ptr_nonnull(batch->memory);
	for (size_t i = 0; i < n; i++)
		set_item(p, batch, i);
	p->made += n;
	p->out++;
	*out = batch;
	return LC_OK;
}

static lc_status
check(void *ctx, const struct lc__item *item, const lc_value *value)
{
	const struct producing *p = ctx;
	char id[ID_ROOM];

	ck_assert_int_eq(lc_value_check(value), LC_OK);
	name_item(p, item->tag, id);
	if (p->refused != NULL && strcmp(id, p->refused) == 0)
		return lc__error(LC_INVALID, 0, "NaN at [%zu]", (size_t)item->tag);
	return LC_OK;
}

static void
note(struct producing *p, const struct lc__items *batch, const struct lc__item *item)
{
	const size_t i = item->tag;

	ck_assert_int_eq(p->outcome[i], LC__ITEM_OPEN);
	ck_assert_int_ne(item->outcome, LC__ITEM_OPEN);
	p->outcome[i] = item->outcome;
	p->attempts[i] = item->attempts;
	ck_assert((item->outcome == LC__ITEM_DONE) == (item->value != NULL));
	ck_assert((item->outcome == LC__ITEM_FAILED) == (item->why != NULL));
	if (item->value != NULL) {
		p->value[i] = lc_value_copy(item->value);
		return;
	}
	p->why[i] = strdup(item->why);
	snprintf(p->standard_error, sizeof(p->standard_error), "%.*s",
	    (int)batch->standard_error.size, batch->standard_error.size > 0 ?
	    (const char *)batch->standard_error.data : "");
}

static lc_status
done(void *ctx, struct lc__items *batch)
{
	struct producing *p = ctx;

	for (size_t i = 0; i < batch->count; i++)
		note(p, batch, &batch->items[i]);
	if (p->given_back == 0 && p->store_ms > 0)
		usleep(p->store_ms * 1000);
	p->given_back++;
	p->out--;
	lc__items_free(batch);
	return LC_OK;
}

static lc_status
idle(void *ctx)
{
	struct producing *p = ctx;

	if (++p->idled == p->idle_stops)
		return lc__error(LC_CANCELLED, 0, "stopped");
	return LC_OK;
}

void
producing_run(struct producing *p)
{
	const struct lc__work work = {
		.next = next, .check = check, .done = done, .idle = idle, .ctx = p
	};

	p->status = lc__produce(&p->how, &work, &p->produced);
	if (p->status != LC_OK)
		snprintf(p->error, sizeof(p->error), "%s", lc_last_error()->text);
	lc__buf_append(&p->lines, "", 1);
	/* No child is left, nor a zombie. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_uint_eq(p->produced.batches, p->given_back);
	if (p->status == LC_OK)
		ck_assert_uint_eq(producing_count(p, LC__ITEM_OPEN), 0);
}

size_t
producing_count(const struct producing *p, enum lc__item_outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < p->items; i++)
		n += p->outcome[i] == outcome;
	return n;
}

static void
check_payload(const char *bytes, size_t size, char letter)
{
	size_t same = 0;

	while (same < size && bytes[same] == letter)
		same++;
	ck_assert_uint_eq(same, size);
}

void
producing_check_values(const struct producing *p)
{
	for (size_t i = 0; i < p->items; i++) {
		char id[ID_ROOM];
		lc_tensor tensor;
		if (p->outcome[i] != LC__ITEM_DONE)
			continue;
		name_item(p, i, id);
		ck_assert_int_eq(lc_value_as_tensor(p->value[i], &tensor), LC_OK);
		ck_assert_int_eq(tensor.dtype, LC_U8);
		ck_assert_uint_eq(tensor.ndim, 1);
		ck_assert_uint_eq(tensor.nbytes, strlen(id) + p->payload);
		ck_assert_mem_eq(tensor.data, id, strlen(id));
		check_payload((const char *)tensor.data + strlen(id), p->payload,
		    (char)('a' + i % 26));
	}
}

void
producing_free(struct producing *p)
{
	for (size_t i = 0; i < p->items; i++) {
		lc_value_free(p->value[i]);
		free(p->why[i]);
	}
	lc__buf_free(&p->lines);
}
