/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of opening a source and reading it through fails once: the call says
 * so, and what there is can be closed. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_malloc.h"
#include "filling.h"
#include "need.h"
#include "sample.h"
#include "stream/cursor.h"
#include "stream/source.h"

/* ---- what is read ------------------------------------------------------------------ */

struct given {
	lc_cache *cache;
	const char *shards; /* or NULL */
	bool list;          /* of the module, its shards and the module again */
};

static lc_cache *
open_module(lc_codec codec)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 8;
	options.codec = codec;
	return sample_open(run_scratch(), "m", &options);
}

static void
put_row(lc_cache *cache, unsigned i, uint64_t n)
{
	static uint16_t row[400];
	lc_tensor tensor;
	char id[16];
	const int size = snprintf(id, sizeof(id), "row%u", i);

	memset(row, (int)i, sizeof(row));
	need_ok(lc_tensor_init(&tensor, LC_U16, 1, &n, row));
	need_ok(lc_put(cache, id, (size_t)size, &tensor));
}

/* Coded, of many lengths, and some of them dead. */
static struct given
make_plain(void)
{
	struct given g = { .cache = open_module(LC_CODEC_LZ4) };

	for (unsigned i = 0; i < 24; i++)
		put_row(g.cache, i, 100 + 10 * i);
	for (unsigned i = 0; i < 24; i += 9)
		put_row(g.cache, i, 300);
	need_ok(lc_flush(g.cache));
	return g;
}

static struct given
make_inputs(void)
{
	struct given g = { .cache = open_module(LC_CODEC_NONE) };
	lc_writer *writer;

	need_ok(filling_declare(g.cache, 2));
	for (unsigned input = 0; input < 2; input++) {
		need_ok(filling_open(g.cache, input, &writer));
		for (unsigned i = 0; i < 3; i++)
			need_ok(filling_commit(writer, i == 2));
		lc_writer_close(writer);
	}
	return g;
}

static struct given
make_shards(void)
{
	struct given g = { .cache = open_module(LC_CODEC_NONE),
		.shards = run_scratch() };
	lc_export_options options;
	lc_export_result result;

	for (unsigned i = 0; i < 24; i++)
		put_row(g.cache, i, 300);
	lc_export_options_init(&options);
	options.shard_bytes = 8192;
	need_ok(lc_export(g.cache, g.shards, &options, &result));
	return g;
}

static struct given
make_list(void)
{
	struct given g = make_shards();

	g.list = true;
	return g;
}

static struct given (*const makes[])(void) = { make_plain, make_inputs, make_inputs,
	make_shards, make_list };

/* Inputs with lengths, which the module does not know, and without. */
static const char *const length_fields[] = { ".", ".", NULL, ".", "." };

/* ---- one pass ------------------------------------------------------------------------ */

static lc_status
read_chunk(struct lc__cursor *cursor, struct lc__layout *layout, uint64_t p)
{
	static const char *const fields[] = { "." };
	struct lc__chunk_row row;
	lc_status status = lc__layout_row(layout, p, &row);
	lc_tensor tensor;
	char **names = NULL;
	size_t n = 0;
	lc_id id;

	if (status == LC_OK)
		status = lc__cursor_go(cursor, p);
	for (uint64_t i = 0; status == LC_OK && i < row.records; i++)
		status = lc__cursor_read(cursor, i, fields, 1, NULL, &tensor, &id);
	if (status == LC_OK)
		status = lc__cursor_fields(cursor, 0, &names, &n);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return status;
}

static lc_status
read_source(lc_source *source)
{
	struct lc__layout *layout = lc__source_layout(source);
	const uint64_t chunks = lc__layout_info(layout)->chunks;
	struct lc__cursor *cursor = NULL;
	struct lc__pin *pin = NULL;
	lc_status status = lc__cursor_new(source, layout, &cursor);

	if (status == LC_OK)
		status = lc__cursor_begin(cursor);
	for (uint64_t p = 0; status == LC_OK && p < chunks; p++)
		status = read_chunk(cursor, layout, p);
	if (status == LC_OK)
		status = lc__cursor_pin(cursor, &pin);
	lc__pin_drop(pin);
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
	return status;
}

static lc_status
open_list(const struct given *g, const lc_source_options *options, lc_source **out)
{
	lc_source *members[3] = { NULL, NULL, NULL };
	lc_status status = lc_source_open_module(g->cache, options, &members[0]);

	if (status == LC_OK)
		status = lc_source_open_shards(g->shards, options, &members[1]);
	if (status == LC_OK)
		status = lc_source_open_module(g->cache, options, &members[2]);
	if (status == LC_OK)
		status = lc_source_open_list(members, 3, out);
	for (int i = 0; i < 3; i++)
		lc_source_close(members[i]);
	return status;
}

static lc_status
pass(const struct given *g, const char *length_field)
{
	lc_source_options options;
	lc_source *source = NULL;
	lc_status status;

	lc_source_options_init(&options);
	options.length_field = length_field;
	options.directory_bytes = 2000;
	if (g->list)
		status = open_list(g, &options, &source);
	else if (g->shards != NULL)
		status = lc_source_open_shards(g->shards, &options, &source);
	else
		status = lc_source_open_module(g->cache, &options, &source);
	if (status == LC_OK)
		status = read_source(source);
	if (status == LC_OK)
		status = lc_source_refresh(source);
	lc_source_close(source);
	return status;
}

START_TEST(every_allocation)
{
	const struct given g = makes[_i]();
	lc_status status;
	long n = 0;

	need_ok(pass(&g, length_fields[_i]));
	do {
		fail_malloc(++n, false);
		status = pass(&g, length_fields[_i]);
		if (fail_malloc_hits() > 0)
			need(status == LC_OK || status == LC_NO_MEMORY);
		else
			need(status == LC_OK);
	} while (fail_malloc_hits() > 0);
	fail_malloc(0, false);
	ck_assert_int_gt(n, 5);
	need_ok(lc_close(g.cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("source_chaos");
	TCase *t = tcase_create("memory");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, every_allocation, 0, 5);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
