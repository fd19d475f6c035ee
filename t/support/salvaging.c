/* SPDX-License-Identifier: BSD-2-Clause */
#include "salvaging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/fileio.h"
#include "need.h"
#include "run.h"
#include "sample.h"

/* ---- making --------------------------------------------------------------- */

static void
put_tensor(lc_cache *cache, unsigned key, uint64_t version)
{
	char id[32];
	const int size = snprintf(id, sizeof(id), "key-%u", key);

	need_ok(sample_put(cache, id, (size_t)size, version, SAMPLE_SMALL));
}

static void
put_value(lc_cache *cache, unsigned key, unsigned kind)
{
	uint16_t data[6] = { (uint16_t)key, (uint16_t)kind, 1, 2, 3, 4 };
	lc_value *map = lc_value_map();
	const uint64_t shape[2] = { 2, 3 };
	lc_tensor tensor;
	char id[32];
	const int size = snprintf(id, sizeof(id), "value-%u", key);

	need_ok(lc_tensor_init(&tensor, LC_U16, 2, shape, data));
	if (kind == 0) {
		lc_value_set(map, "a", lc_value_tensor(&tensor));
		lc_value_set(map, "n", lc_value_integer(key));
	} else if (kind == 1) {
		/* The same shape under another name: no structure may stand for
		 * another one. */
		lc_value_set(map, "b", lc_value_tensor(&tensor));
		lc_value_set(map, "m", lc_value_integer(key));
	} else {
		lc_value_set(map, "text", lc_value_str("some text"));
	}
	need_ok(lc_put_value(cache, id, (size_t)size, map));
	lc_value_free(map);
}

static void
make_commits(lc_cache *cache, uint64_t *seed)
{
	lc_compact_options options;
	uint64_t version = 0;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.chunk_bytes = 65536;
	for (unsigned i = 0; i < 90; i++) {
		for (unsigned n = (unsigned)(run_random(seed) % 8) + 1; n > 0; n--) {
			const unsigned key = (unsigned)(run_random(seed) % 60);
			char id[32];
			const int size = snprintf(id, sizeof(id), "key-%u", key);

			if (run_random(seed) % 4 == 0) {
				const lc_status status = lc_delete(cache, id,
				    (size_t)size);

				need(status == LC_OK || status == LC_NOT_FOUND);
			} else
				put_tensor(cache, key, ++version);
		}
		need_ok(lc_flush(cache));
		if (i == 50)
			need_ok(lc_compact(cache, &options, NULL));
	}
}

static void
make_inputs(lc_cache *cache)
{
	const lc_input inputs[2] = { { .name = "one" }, { .name = "two" } };

	need_ok(lc_inputs_declare(cache, 2, inputs));
	for (unsigned i = 0; i < 2; i++) {
		lc_writer *writer;
		uint8_t data[4] = { (uint8_t)i, 1, 2, 3 };
		const lc_tensor tensor = sample_bytes(data, sizeof(data));

		need_ok(lc_writer_open(cache, inputs[i].name, &writer));
		for (unsigned k = 0; k < 4; k++) {
			data[1] = (uint8_t)k;
			need_ok(lc_writer_put(writer, NULL, 0, &tensor));
			need_ok(lc_writer_put(writer, NULL, 0, &tensor));
			need_ok(lc_writer_commit(writer, "c", 1));
		}
		lc_writer_close(writer);
	}
}

static void
make_settings(lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	need_ok(lc_settings_get(cache, &settings));
	settings.codec = LC_CODEC_LZ4;
	settings.max_bytes = (uint64_t)1 << 30;
	settings.evict = LC_EVICT_UNREAD;
	need_ok(lc_settings_set(cache, &settings));
}

void
salvaging_make(const char *root, enum salvaging_kind kind, uint64_t *seed)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.durability = LC_DURABLE_RELAXED;
	if (kind == SALVAGING_CODED)
		options.codec = LC_CODEC_LZ4;
	cache = sample_open(root, "m", &options);
	switch (kind) {
	case SALVAGING_PLAIN:
		for (unsigned i = 0; i < 6; i++)
			put_tensor(cache, i, i + 1);
		break;
	case SALVAGING_COMMITS:
		make_commits(cache, seed);
		break;
	case SALVAGING_VALUES:
		make_settings(cache);
		for (unsigned i = 0; i < 12; i++) {
			put_value(cache, i, i % 3);
			if (i % 4 == 3)
				need_ok(lc_flush(cache));
		}
		break;
	case SALVAGING_CODED:
		for (unsigned i = 0; i < 6; i++) {
			static const uint8_t zeros[9000];
			const lc_tensor tensor = sample_bytes(zeros, 3000 + 1000 * i);
			char id[2] = { 'z', (char)('a' + i) };

			need_ok(lc_put(cache, id, 2, &tensor));
			need_ok(lc_flush(cache));
		}
		break;
	default:
		make_inputs(cache);
	}
	need_ok(lc_close(cache));
}

/* ---- looking -------------------------------------------------------------- */

static int
by_id(const void *a, const void *b)
{
	return memcmp(a, b, 2 * sizeof(uint64_t));
}

/* The records that salvage takes, by cache_id. */
static lc_status
look(const unsigned char *bytes, size_t size, struct salvaging_record **out,
    uint64_t *count, unsigned char **reached, uint32_t *page_size,
    lc_salvage_result *result)
{
	struct lc__salvage_file file = {
		.fd = -1, .bytes = bytes, .size = size, .path = "bytes"
	};
	struct lc__salvage s;
	const lc_status status = lc__salvage_find(&s, &file, false, NULL, result);

	*count = 0;
	*out = NULL;
	if (status == LC_OK) {
		*out = malloc((s.nrecords + 1) * sizeof(**out));
		for (uint64_t i = 0; i < s.nrecords; i++) {
			const struct lc__salvage_record *r = &s.records[i];

			if (!r->taken)
				continue;
			(*out)[*count] = (struct salvaging_record) {
				.hash = { r->hash[0], r->hash[1] }, .at = r->at,
				.size = r->size, .checksum = lc__get64(bytes + r->at)
			};
			++*count;
		}
		qsort(*out, *count, sizeof(**out), by_id);
		if (reached != NULL) {
			*reached = s.reached;
			*page_size = s.page_size;
			s.reached = NULL;
		}
	}
	lc__salvage_free(&s);
	return status;
}

void
salvaging_load(const char *root, struct salvaging *out)
{
	struct lc__buf file = { 0 };
	lc_salvage_result result = { 0 };
	char path[4200];

	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	need_ok(lc__read_file(path, (uint64_t)1 << 30, &file));
	out->bytes = file.data;
	out->size = file.size;
	need_ok(look(out->bytes, out->size, &out->live, &out->nlive,
	    &out->reached, &out->page_size, &result));
	need(result.undecided == 0 && result.lost == 0 && !result.uncertain &&
	    result.damaged == 0 && result.stale == 0);
	need(out->nlive == result.records);
}

void
salvaging_free(struct salvaging *s)
{
	free(s->bytes);
	free(s->live);
	free(s->reached);
}

struct salvaging_result
salvaging_try(const struct salvaging *s, const unsigned char *bytes, size_t size)
{
	struct salvaging_result out = { .missing = 0 };
	struct salvaging_record *taken;
	uint64_t count, matched = 0, j = 0;

	out.status = look(bytes, size, &taken, &count, NULL, NULL, &out.result);
	for (uint64_t i = 0; i < s->nlive; i++) {
		const struct salvaging_record *live = &s->live[i];

		while (j < count && by_id(&taken[j], live) < 0)
			j++;
		if (j < count && by_id(&taken[j], live) == 0 &&
		    taken[j].checksum == live->checksum &&
		    taken[j].size == live->size)
			matched++;
		else if (live->at + live->size <= size && memcmp(s->bytes + live->at,
		    bytes + live->at, live->size) == 0)
			out.missing++;
	}
	out.extra = count - matched;
	free(taken);
	return out;
}

void
salvaging_compare(const char *root, const char *original, const char *salvaged)
{
	lc_options options = sample_options();
	lc_verify_result verified;
	lc_cache *a, *b;
	lc_iter *iter;
	lc_item item;
	uint64_t count = 0, wanted;
	lc_status status;

	options.flags = 0;
	a = sample_open(root, original, &options);
	b = sample_open(root, salvaged, &options);
	need_ok(lc_verify(b, NULL, &verified));
	need_ok(lc_count(a, &wanted));
	need_ok(lc_iter_open(b, 0, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		const lc_value *ours, *theirs;
		lc_view view;

		need_ok(lc_get(a, item.id.data, item.id.size, &view));
		need_ok(lc_view_value(&view, NULL, &theirs));
		need_ok(lc_iter_value(iter, NULL, &ours));
		need(lc_value_equal(ours, theirs));
		lc_view_release(&view);
		count++;
	}
	need_status(status, LC_END);
	lc_iter_close(iter);
	need(count == wanted);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
