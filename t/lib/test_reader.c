/* SPDX-License-Identifier: BSD-2-Clause */
/* Readers: shares of batches, their fields, errors and statistics. */
#include <stdio.h>
#include <stdlib.h>

#include "made_stream.h"
#include "run.h"

static struct made_stream made;

/* Three chunks of four records of five tokens each. */
static void
set_up(void)
{
	static const uint64_t fives[] = { 5, 5, 5, 5 };

	made_stream_new(&made, 1, false, true);
	for (int i = 0; i < 3; i++)
		made_stream_chunk(&made, fives, 4);
	made_stream_open(&made);
}

static void
tear_down(void)
{
	made_stream_close(&made);
}

static lc_stream *
stream_of(uint64_t batch, uint64_t window)
{
	lc_stream_options o;
	lc_stream *stream = NULL;

	lc_stream_options_init(&o);
	o.batch = batch;
	o.window = window;
	ck_assert_msg(lc_stream_open(&made.source, 1, &o, &stream) == LC_OK, "%s",
	    lc_last_error()->text);
	return stream;
}

static lc_reader *
reader_of(lc_stream *stream, const lc_reader_options *o)
{
	lc_reader *reader = NULL;

	ck_assert_msg(lc_reader_open(stream, o, &reader) == LC_OK, "%s",
	    lc_last_error()->text);
	return reader;
}

static const lc_batch *
next_of(lc_reader *reader)
{
	const lc_batch *batch = NULL;

	ck_assert_msg(lc_reader_next(reader, &batch) == LC_OK, "%s",
	    lc_last_error()->text);
	return batch;
}

static void
end(lc_reader *reader, lc_stream *stream)
{
	lc_reader_close(reader);
	lc_stream_close(stream);
}

/* ---- options ---------------------------------------------------------------------- */

static const char *const null_field[] = { "tokens", NULL };

static const struct {
	uint64_t window;
	lc_reader_options o;
	const char *text;
} bad_rows[] = {
	{ 0, { .reader = 2, .readers = 2, .ahead = 1 },
	    "reader: there is no reader 2 of 2" },
	{ 0, { .ahead = 1 }, "reader: there is no reader 0 of 0" },
	{ 0, { .readers = 1, .split = (lc_split)2, .ahead = 1 },
	    "reader: no split 2" },
	{ 0, { .readers = 1, .n_fields = 1, .ahead = 1 },
	    "reader: fields without names" },
	{ 0, { .readers = 1, .fields = null_field, .n_fields = 2, .ahead = 1 },
	    "reader: field 1 has no name" },
	{ 0, { .readers = 1, .threads = 1 },
	    "reader: threads that may not read ahead" },
	{ 0, { .readers = 1, .threads = 1025, .ahead = 1 },
	    "reader: at most 1024 threads and 65536 batches ahead" },
	{ 4, { .readers = 1, .views = 1, .ahead = 1 },
	    "reader: windows are not available as views" },
	{ 0, { .readers = 1, .documents = 1, .ahead = 1 },
	    "reader: documents are listed for windows only" },
};

START_TEST(contradictions)
{
	lc_reader_options o = bad_rows[_i].o;
	lc_stream *stream = stream_of(4, bad_rows[_i].window);
	lc_reader *reader = (void *)1;

	ck_assert_int_eq(lc_reader_open(stream, &o, &reader), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "reader: options were not made by lc_reader_options_init()");
	o.struct_size = sizeof(o);
	ck_assert_int_eq(lc_reader_open(stream, &o, &reader), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].text);
	ck_assert_ptr_eq(reader, (void *)1);
	lc_stream_close(stream);
	lc_reader_close(NULL);
	lc_batch_release(NULL);
}
END_TEST

/* ---- fields -------------------------------------------------------------------------- */

static const char *const two_fields[] = { "label", "tokens" };

/* Without a word, all tensors of the first record, in its order. */
START_TEST(default_fields)
{
	lc_stream *stream = stream_of(5, 0);
	lc_reader *reader = reader_of(stream, NULL);
	const lc_batch *batch = next_of(reader);
	const lc_batch_field *f = batch->fields;

	ck_assert_uint_eq(batch->n_fields, 3);
	ck_assert_str_eq(f[0].name, "tokens");
	ck_assert_str_eq(f[1].name, "pairs");
	ck_assert_str_eq(f[2].name, "label");
	ck_assert_uint_eq(f[0].ndim, 2);
	ck_assert_uint_eq(f[0].shape[0], 5);
	ck_assert_uint_eq(f[0].shape[1], 5);
	ck_assert_uint_eq(f[0].nbytes, 100);
	ck_assert_uint_eq(f[1].ndim, 3);
	ck_assert_uint_eq(f[1].shape[2], 2);
	ck_assert_uint_eq(f[2].ndim, 1);
	ck_assert_int_eq(f[2].dtype, LC_I64);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq((uintptr_t)f[i].data % 64, 0);
		ck_assert_ptr_null(f[i].offsets);
		ck_assert_ptr_null(f[i].rows);
	}
	for (int64_t row = 0; row < 5; row++)
		ck_assert_int_eq(((const int64_t *)f[2].data)[row], 1000 + row);
	lc_batch_release(batch);
	end(reader, stream);
}
END_TEST

START_TEST(named_fields)
{
	lc_stream *stream = stream_of(5, 0);
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch;
	static const char *const missing[] = { "tokens", "nothing" };

	lc_reader_options_init(&o);
	o.fields = two_fields;
	o.n_fields = 2;
	reader = reader_of(stream, &o);
	batch = next_of(reader);
	ck_assert_uint_eq(batch->n_fields, 2);
	ck_assert_str_eq(batch->fields[0].name, "label");
	ck_assert_str_eq(batch->fields[1].name, "tokens");
	lc_batch_release(batch);
	lc_reader_close(reader);
	o.n_fields = 0;
	reader = reader_of(stream, &o);
	batch = next_of(reader);
	ck_assert_uint_eq(batch->n_fields, 0);
	ck_assert_uint_eq(batch->filled, 5);
	ck_assert_mem_eq(batch->ids[4].data, "1-4", 3);
	lc_batch_release(batch);
	lc_reader_close(reader);
	o.fields = missing;
	o.n_fields = 2;
	reader = reader_of(stream, &o);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "nothing"));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'1-0'"));
	end(reader, stream);
}
END_TEST

/* The window is the length field's, unless others are named; a label is no token. */
START_TEST(fields_of_windows)
{
	lc_stream *stream = stream_of(5, 4);
	lc_reader_options o;
	lc_reader *reader = reader_of(stream, NULL);
	const lc_batch *batch = next_of(reader);

	ck_assert_uint_eq(batch->n_fields, 1);
	ck_assert_str_eq(batch->fields[0].name, "tokens");
	ck_assert_uint_eq(batch->fields[0].ndim, 2);
	ck_assert_uint_eq(batch->fields[0].shape[1], 4);
	ck_assert_ptr_null(batch->documents);
	ck_assert_ptr_null(batch->positions);
	lc_batch_release(batch);
	lc_reader_close(reader);
	lc_reader_options_init(&o);
	o.fields = two_fields;
	o.n_fields = 2;
	reader = reader_of(stream, &o);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "key '1-0': field 'label' is i64[], and the record's length is 5"));
	end(reader, stream);
}
END_TEST

/* ---- records that differ -------------------------------------------------------------- */

static void
put(const char *id, const char *name, lc_dtype dtype, uint32_t ndim,
    const uint64_t *shape)
{
	static const char zeros[1024];
	lc_value *value = lc_value_map();
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, zeros), LC_OK);
	lc_value_set(value, name, lc_value_tensor(&tensor));
	ck_assert_int_eq(lc_put_value(made.cache, id, strlen(id), value), LC_OK);
	lc_value_free(value);
}

/* The fourth batch has what differs. */
static const struct {
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[3];
	const char *text;
} differ_rows[] = {
	{ LC_F32, 1, { 5 }, "key 'odd': field 'tokens' is f32[5], and u32[5] in "
	    "other records of the batch" },
	{ LC_U32, 2, { 5, 1 }, "key 'odd': field 'tokens' is u32[5,1], and u32[5] "
	    "in other records of the batch" },
	{ LC_U32, 0, { 0 }, "key 'odd': field 'tokens' is u32[], and u32[5] in other "
	    "records of the batch" },
};

static const char *const tokens_only[] = { "tokens" };

START_TEST(records_that_differ)
{
	const uint64_t five[] = { 5 };
	lc_stream *stream;
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch;

	put("even", "tokens", LC_U32, 1, five);
	put("odd", "tokens", differ_rows[_i].dtype, differ_rows[_i].ndim,
	    differ_rows[_i].shape);
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	made_stream_open(&made);
	stream = stream_of(4, 0);
	for (unsigned threads = 0; threads < 3; threads++)
		for (int views = 0; views < 2; views++) {
			lc_reader_options_init(&o);
			o.fields = tokens_only;
			o.n_fields = 1;
			o.threads = threads;
			o.views = views;
			reader = reader_of(stream, &o);
			for (int i = 0; i < 3; i++)
				lc_batch_release(next_of(reader));
			for (int again = 0; again < 2; again++) {
				ck_assert_int_eq(lc_reader_next(reader, &batch),
				    LC_SCHEMA);
				ck_assert_msg(strstr(lc_last_error()->text,
				    differ_rows[_i].text) != NULL, "%s",
				    lc_last_error()->text);
			}
			ck_assert_int_eq(lc_reader_seek(reader, 1), LC_OK);
			batch = next_of(reader);
			ck_assert_uint_eq(batch->number, 1);
			lc_batch_release(batch);
			lc_reader_close(reader);
		}
	lc_stream_close(stream);
}
END_TEST

/* ---- shares ------------------------------------------------------------------------------ */

/* 12 records in batches of 5 for 7 readers: two have no rows, and in the last batch
 * more have padding alone; all have the same fields. */
START_TEST(more_readers_than_rows)
{
	lc_stream *stream = stream_of(5, 0);
	uint64_t seen = 0;

	for (uint32_t r = 0; r < 7; r++) {
		lc_reader_options o;
		lc_reader *reader;
		const lc_batch *batch;

		lc_reader_options_init(&o);
		o.reader = r;
		o.readers = 7;
		reader = reader_of(stream, &o);
		for (uint64_t b = 0; b < 3; b++) {
			batch = next_of(reader);
			ck_assert_uint_eq(batch->number, b);
			ck_assert_uint_eq(batch->rows, r < 5);
			ck_assert_uint_eq(batch->n_fields, 3);
			ck_assert_uint_eq(batch->fields[0].shape[0], r < 5);
			ck_assert_uint_eq(batch->fields[0].shape[1], 5);
			ck_assert_uint_eq(batch->filled, b * 5 + r < 12 && r < 5);
			if (batch->filled == 0 && r < 5)
				ck_assert_mem_eq(batch->fields[0].data,
				    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
			seen += batch->filled;
			lc_batch_release(batch);
		}
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_END);
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_END);
		lc_reader_close(reader);
	}
	ck_assert_uint_eq(seen, 12);
	lc_stream_close(stream);
}
END_TEST

/* ---- holding batches ------------------------------------------------------------------------ */

START_TEST(busy)
{
	lc_stream *stream = stream_of(1, 0);

	for (unsigned threads = 0; threads < 4; threads++) {
		lc_reader_options o;
		lc_reader *reader;
		const lc_batch *held[3], *more;

		lc_reader_options_init(&o);
		o.threads = threads;
		o.ahead = 3;
		reader = reader_of(stream, &o);
		for (int i = 0; i < 3; i++)
			held[i] = next_of(reader);
		ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
		ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
		/* That is of next() only. */
		ck_assert_int_eq(lc_reader_read(reader, 7, &more), LC_OK);
		ck_assert_mem_eq(more->ids[0].data, "1-7", 3);
		lc_batch_release(held[1]);
		held[1] = next_of(reader);
		ck_assert_uint_eq(held[1]->number, 3);
		ck_assert_mem_eq(held[0]->ids[0].data, "1-0", 3);
		ck_assert_mem_eq(held[2]->ids[0].data, "1-2", 3);
		lc_batch_release(more);
		for (int i = 2; i >= 0; i--)
			lc_batch_release(held[i]);
		end(reader, NULL);
	}
	lc_stream_close(stream);
}
END_TEST

static uint64_t
buffers_of(const lc_reader *reader)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };

	ck_assert_int_eq(lc_reader_stat(reader, &stats), LC_OK);
	return stats.buffer_bytes;
}

/* Batches of some KiB in a memory for two of them, and in one for none. */
START_TEST(memory)
{
	const uint64_t shape[] = { 1000 };
	static unsigned char bytes[1000];
	lc_tensor tensor;
	lc_stream *stream;

	ck_assert_int_eq(lc_tensor_init(&tensor, LC_U8, 1, shape, bytes), LC_OK);
	for (int i = 0; i < 200; i++) {
		char id[16];
		const int size = snprintf(id, sizeof(id), "x%d", i);

		ck_assert_int_eq(lc_put(made.cache, id, (size_t)size, &tensor),
		    LC_OK);
	}
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	made_stream_open(&made);
	stream = stream_of(4, 0);
	for (unsigned threads = 0; threads < 3; threads++)
		for (uint64_t bytes_at_most = 0; bytes_at_most < 12000;
		    bytes_at_most += 11000) {
			lc_reader_options o;
			lc_reader *reader;
			const uint64_t least = threads > 0 ? threads : 1;

			lc_reader_options_init(&o);
			o.threads = threads;
			o.memory = bytes_at_most;
			reader = reader_of(stream, &o);
			ck_assert_int_eq(lc_reader_seek(reader, 3), LC_OK);
			for (int i = 0; i < 50; i++) {
				const lc_batch *batch = next_of(reader);

				ck_assert_uint_eq(batch->number, 3 + i);
				ck_assert_uint_le(buffers_of(reader),
				    bytes_at_most > least * 5100 ?
				    bytes_at_most :
				    least * 5100);
				lc_batch_release(batch);
			}
			end(reader, NULL);
		}
	lc_stream_close(stream);
}
END_TEST

/* ---- views ---------------------------------------------------------------------------------------- */

/* What a view shows stays, whatever is written meanwhile. */
START_TEST(views_stay)
{
	lc_stream *stream = stream_of(4, 0);
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch;
	static const uint64_t fives[] = { 5, 5, 5, 5 };

	lc_reader_options_init(&o);
	o.views = 1;
	o.threads = 1;
	reader = reader_of(stream, &o);
	batch = next_of(reader);
	ck_assert_ptr_null(batch->fields[0].data);
	ck_assert_uint_eq(batch->fields[0].nbytes, 80);
	for (int i = 0; i < 20; i++)
		made_stream_chunk(&made, fives, 4);
	ck_assert_int_eq(lc_delete(made.cache, "1-1", 3), LC_OK);
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	for (uint64_t k = 0; k < 4; k++)
		for (uint64_t j = 0; j < 5; j++)
			ck_assert_uint_eq(((const uint32_t *)
			    batch->fields[0].rows[k])[j], made_token(1, k, j));
	/* Another snapshot has one record less. */
	ck_assert_int_eq(lc_reader_read(reader, 0, &(const lc_batch *){ NULL }),
	    LC_CHANGED);
	lc_batch_release(batch);
	end(reader, stream);
}
END_TEST

/* ---- tokens and statistics --------------------------------------------------------------------------- */

START_TEST(token_of_reader)
{
	lc_stream *stream = stream_of(5, 0);
	lc_reader *reader = reader_of(stream, NULL);
	unsigned char token[LC_TOKEN_SIZE], want[LC_TOKEN_SIZE];

	for (uint64_t b = 0; b < 4; b++) {
		ck_assert_int_eq(lc_reader_token(reader, token), LC_OK);
		ck_assert_int_eq(lc_stream_token(stream, b, want), LC_OK);
		ck_assert_mem_eq(token, want, LC_TOKEN_SIZE);
		if (b < 3)
			lc_batch_release(next_of(reader));
	}
	end(reader, stream);
}
END_TEST

/* Of 12 records in three chunks; batches of 5: 0-4, 5-9 and 10-11. */
START_TEST(statistics)
{
	lc_stream *stream = stream_of(5, 0);
	lc_reader_options o;

	for (unsigned threads = 0; threads < 3; threads++) {
		lc_reader_stats s = { .struct_size = sizeof(s) };
		lc_reader *reader;
		const lc_batch *batch;

		lc_reader_options_init(&o);
		o.threads = threads;
		o.fields = tokens_only;
		o.n_fields = 1;
		reader = reader_of(stream, &o);
		while (lc_reader_next(reader, &batch) == LC_OK)
			lc_batch_release(batch);
		ck_assert_int_eq(lc_reader_stat(reader, &s), LC_OK);
		ck_assert_uint_eq(s.batches, 3);
		ck_assert_uint_eq(s.examples, 12);
		ck_assert_uint_eq(s.bytes, 15 * 20);
		ck_assert_uint_eq(s.reads, 12);
		ck_assert_uint_eq(s.runs, 5);
		ck_assert_uint_eq(s.chunks, 5);
		ck_assert_uint_ge(s.stored_bytes, 12 * 48);
		ck_assert_uint_gt(s.directory_hits + s.directory_misses, 0);
		ck_assert_uint_gt(s.work_ns, 0);
		lc_reader_close(reader);
	}
	lc_stream_close(stream);
}
END_TEST

/* Whatever their order, all records of a batch are read in that of the chunks. */
START_TEST(neighbours_are_read_together)
{
	lc_reader_stats s = { .struct_size = sizeof(s) };
	lc_stream_options o;
	lc_stream *stream;
	lc_reader *reader;

	lc_stream_options_init(&o);
	o.batch = 12;
	o.shuffle = LC_SHUFFLE_FULL;
	ck_assert_int_eq(lc_stream_open(&made.source, 1, &o, &stream), LC_OK);
	reader = reader_of(stream, NULL);
	lc_batch_release(next_of(reader));
	ck_assert_int_eq(lc_reader_stat(reader, &s), LC_OK);
	ck_assert_uint_eq(s.reads, 12);
	ck_assert_uint_eq(s.runs, 3);
	ck_assert_uint_eq(s.chunks, 3);
	end(reader, stream);
}
END_TEST

START_TEST(struct_sizes)
{
	lc_stream *stream = stream_of(5, 0);
	lc_reader *reader = reader_of(stream, NULL);
	lc_reader_stats stats = { 0 };
	lc_stream_info info = { 0 };

	ck_assert_int_eq(lc_reader_stat(reader, &stats), LC_INVALID);
	ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_INVALID);
	end(reader, stream);
}
END_TEST

/* ---- coded tensors, and records without tensors ----------------------------------------------------------- */

START_TEST(coded)
{
	const uint64_t shape[] = { 4096 };
	static uint32_t words[4096];
	lc_tensor tensor;
	lc_stream *stream;
	lc_reader_options o;

	ck_assert_int_eq(lc_tensor_init(&tensor, LC_U32, 1, shape, words), LC_OK);
	for (int i = 0; i < 12; i++) {
		lc_value *value = lc_value_tensor(&tensor);
		char id[16];
		const int size = snprintf(id, sizeof(id), "c%02d", i);

		for (size_t j = 0; j < 4096; j++)
			words[j] = (uint32_t)i;
		ck_assert_int_eq(lc_put_coded(made.cache, id, (size_t)size, value,
		    LC_CODEC_LZ4, 0), LC_OK);
		lc_value_free(value);
	}
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	made_stream_open(&made);
	stream = stream_of(4, 0);
	for (int views = 0; views < 2; views++) {
		const lc_batch *batch;
		lc_reader *reader;

		lc_reader_options_init(&o);
		o.views = views;
		reader = reader_of(stream, &o);
		ck_assert_int_eq(lc_reader_seek(reader, 4), LC_OK);
		batch = next_of(reader);
		ck_assert_str_eq(batch->fields[0].name, ".");
		for (uint32_t row = 0; row < 4; row++) {
			const uint32_t *got = views ? batch->fields[0].rows[row] :
			    (const uint32_t *)batch->fields[0].data + 4096 * row;

			for (size_t j = 0; j < 4096; j++)
				ck_assert_uint_eq(got[j], 4 + row);
		}
		lc_batch_release(batch);
		lc_reader_close(reader);
	}
	lc_stream_close(stream);
}
END_TEST

START_TEST(no_tensors)
{
	lc_stream *stream;
	lc_reader *reader;
	const lc_batch *batch;

	for (int i = 0; i < 4; i++) {
		lc_value *value = lc_value_map();
		const char id = (char)('a' + i);

		lc_value_set(value, "n", lc_value_integer(i));
		ck_assert_int_eq(lc_put_value(made.cache, &id, 1, value), LC_OK);
		lc_value_free(value);
	}
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	made_stream_open(&made);
	stream = stream_of(4, 0);
	reader = reader_of(stream, NULL);
	ck_assert_int_eq(lc_reader_seek(reader, 3), LC_OK);
	batch = next_of(reader);
	ck_assert_uint_eq(batch->n_fields, 0);
	ck_assert_mem_eq(batch->ids[2].data, "c", 1);
	lc_batch_release(batch);
	end(reader, stream);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------ */

/* Change a byte of the module's file, where record k's tokens stand. */
static void
flip(const char *root, uint64_t k)
{
	uint32_t tokens[5];
	char path[600], *bytes, *at;
	size_t size;
	FILE *file;

	for (uint64_t j = 0; j < 5; j++)
		tokens[j] = made_token(1, k, j);
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	bytes = malloc(size);
	rewind(file);
	ck_assert_uint_eq(fread(bytes, 1, size, file), size);
	/* The fifth byte, which may be flipped back. */
	for (at = bytes; memcmp(at, tokens, 4) != 0 ||
	    memcmp(at + 8, tokens + 2, 12) != 0; at++)
		ck_assert_uint_lt((size_t)(at - bytes), size - 20);
	fseek(file, (long)(at - bytes) + 4, SEEK_SET);
	fputc(at[4] ^ 1, file);
	ck_assert_int_eq(fclose(file), 0);
	free(bytes);
}

/* None of the batch comes, the batches around it do, and it comes when it is whole. */
START_TEST(damage)
{
	lc_stream *stream = stream_of(4, 0);
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch = NULL;

	lc_reader_options_init(&o);
	o.threads = (unsigned)_i % 3;
	o.views = _i / 3;
	reader = reader_of(stream, &o);
	flip(made.root, 5);
	lc_batch_release(next_of(reader));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_CORRUPT);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'1-5'"));
		ck_assert_ptr_null(batch);
	}
	ck_assert_int_eq(lc_reader_read(reader, 2, &batch), LC_OK);
	lc_batch_release(batch);
	ck_assert_int_eq(lc_reader_seek(reader, 2), LC_OK);
	lc_batch_release(next_of(reader));
	ck_assert_int_eq(lc_reader_seek(reader, 1), LC_OK);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_CORRUPT);
	flip(made.root, 5);
	/* A worker may have tried it again already. */
	while (lc_reader_next(reader, &batch) == LC_CORRUPT)
		;
	ck_assert_uint_eq(batch->number, 1);
	ck_assert_mem_eq(batch->ids[1].data, "1-5", 3);
	lc_batch_release(batch);
	end(reader, stream);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("reader");
	TCase *tc = tcase_create("reader");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, contradictions, 0, ROWS(bad_rows));
	tcase_add_test(tc, default_fields);
	tcase_add_test(tc, named_fields);
	tcase_add_test(tc, fields_of_windows);
	tcase_add_loop_test(tc, records_that_differ, 0, ROWS(differ_rows));
	tcase_add_test(tc, more_readers_than_rows);
	tcase_add_test(tc, busy);
	tcase_add_test(tc, memory);
	tcase_add_test(tc, views_stay);
	tcase_add_test(tc, token_of_reader);
	tcase_add_test(tc, statistics);
	tcase_add_test(tc, neighbours_are_read_together);
	tcase_add_test(tc, struct_sizes);
	tcase_add_test(tc, coded);
	tcase_add_test(tc, no_tensors);
	tcase_add_loop_test(tc, damage, 0, 6);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
