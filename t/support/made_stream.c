/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "run.h"

uint32_t
made_token(uint32_t tag, uint64_t k, uint64_t j)
{
	uint64_t state = ((uint64_t)tag << 56) ^ (k << 24) ^ j;

	return (uint32_t)run_random(&state) | 1; /* never 0, which is padding */
}

void
made_stream_new(struct made_stream *m, uint32_t tag, bool plain, bool has_lengths)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options;

	memset(m, 0, sizeof(*m));
	m->tag = tag;
	m->plain = plain;
	lc_options_init(&options);
	options.durability = LC_DURABLE_RELAXED;
	options.flush_interval_ms = 0;
	options.flush_every = 1000000;
	m->root = run_scratch();
	ck_assert_int_eq(lc_open(m->root, "m", &options, &m->cache), LC_OK);
	ck_assert_int_eq(lc_settings_get(m->cache, &settings), LC_OK);
	if (has_lengths)
		strcpy(settings.length_field, plain ? "." : "tokens");
	ck_assert_int_eq(lc_settings_set(m->cache, &settings), LC_OK);
}

void
made_stream_input(struct made_stream *m)
{
	const lc_input input = { .name = "in" };

	ck_assert_int_eq(lc_inputs_declare(m->cache, 1, &input), LC_OK);
	ck_assert_int_eq(lc_writer_open(m->cache, "in", &m->writer), LC_OK);
}

void
made_stream_finish(struct made_stream *m)
{
	ck_assert_int_eq(lc_writer_finish(m->writer, NULL, 0), LC_OK);
}

static lc_status
put_record(struct made_stream *m, lc_id id, const lc_tensor *tokens,
    const lc_value *value)
{
	if (m->writer != NULL)
		return m->plain ?
		    lc_writer_put(m->writer, id.data, id.size, tokens) :
		    lc_writer_put_value(m->writer, id.data, id.size, value);
	return m->plain ? lc_put(m->cache, id.data, id.size, tokens) :
	    lc_put_value(m->cache, id.data, id.size, value);
}

static void
put(struct made_stream *m, uint64_t k, uint64_t length)
{
	uint32_t *words = malloc(4 * (size_t)length + 4);
	const uint64_t shape[] = { length, 2 };
	int64_t label = (int64_t)(1000 * (uint64_t)m->tag + k);
	lc_tensor tokens, pairs, scalar;
	lc_value *value = lc_value_map();
	char id[64];
	const int size = snprintf(id, sizeof(id), "%u-%llu", m->tag,
	    (unsigned long long)k);

	for (uint64_t j = 0; j < length; j++)
		words[j] = made_token(m->tag, k, j);
	ck_assert_int_eq(lc_tensor_init(&tokens, LC_U32, 1, shape, words), LC_OK);
	ck_assert_int_eq(lc_tensor_init(&pairs, LC_U16, 2, shape, words), LC_OK);
	ck_assert_int_eq(lc_tensor_init(&scalar, LC_I64, 0, NULL, &label), LC_OK);
	lc_value_set(value, "tokens", lc_value_tensor(&tokens));
	lc_value_set(value, "pairs", lc_value_tensor(&pairs));
	lc_value_set(value, "label", lc_value_tensor(&scalar));
	ck_assert_int_eq(put_record(m, (lc_id){ id, (size_t)size }, &tokens, value),
	    LC_OK);
	lc_value_free(value);
	free(words);
}

void
made_stream_chunk(struct made_stream *m, const uint64_t *lengths, size_t n)
{
	if (n == 0)
		return;
	m->room = m->records + n;
	m->lengths = realloc(m->lengths, (size_t)m->room * sizeof(*m->lengths));
	m->keys = realloc(m->keys, (size_t)m->room * sizeof(*m->keys));
	m->chunks = realloc(m->chunks, (m->n + 1) * sizeof(*m->chunks));
	m->chunks[m->n++] = (struct made_chunk){ m->records, n };
	for (size_t i = 0; i < n; i++, m->records++) {
		m->lengths[m->records] = lengths[i];
		m->keys[m->records] = m->records;
		put(m, m->records, lengths[i]);
	}
	ck_assert_int_eq(m->writer != NULL ? lc_writer_commit(m->writer, NULL, 0) :
	    lc_flush(m->cache), LC_OK);
}

/* What is behind it in its chunk, and in all, comes one nearer; a chunk without records
 * is none. */
static void
forget(struct made_stream *m, uint64_t record)
{
	size_t c = 0;

	for (uint64_t i = record; i + 1 < m->records; i++) {
		m->lengths[i] = m->lengths[i + 1];
		m->keys[i] = m->keys[i + 1];
	}
	m->records--;
	while (record >= m->chunks[c].first + m->chunks[c].records)
		c++;
	m->chunks[c].records--;
	for (size_t i = c + 1; i < m->n; i++)
		m->chunks[i].first--;
	if (m->chunks[c].records > 0)
		return;
	for (m->n--; c < m->n; c++)
		m->chunks[c] = m->chunks[c + 1];
}

void
made_stream_delete(struct made_stream *m, uint64_t record)
{
	char id[64];
	const int size = snprintf(id, sizeof(id), "%u-%llu", m->tag,
	    (unsigned long long)m->keys[record]);

	ck_assert_int_eq(lc_delete(m->cache, id, (size_t)size), LC_OK);
	ck_assert_int_eq(lc_flush(m->cache), LC_OK);
	forget(m, record);
}

void
made_stream_open(struct made_stream *m)
{
	if (m->source != NULL)
		ck_assert_int_eq(lc_source_refresh(m->source), LC_OK);
	else
		ck_assert_int_eq(lc_source_open_module(m->cache, NULL,
		    &m->source), LC_OK);
}

void
made_stream_close(struct made_stream *m)
{
	lc_source_close(m->source);
	lc_writer_close(m->writer);
	ck_assert_int_eq(lc_close(m->cache), LC_OK);
	free(m->lengths);
	free(m->keys);
	free(m->chunks);
}

void
made_stream_unit(const struct made_stream *m, uint64_t chunk, uint64_t unit,
    uint64_t *record, uint64_t *at)
{
	const struct made_chunk *c = &m->chunks[chunk];

	for (uint64_t i = c->first; i < c->first + c->records; i++) {
		if (unit < m->lengths[i]) {
			*record = i;
			*at = unit;
			return;
		}
		unit -= m->lengths[i];
	}
	ck_abort_msg("chunk %llu has no such unit", (unsigned long long)chunk);
}
