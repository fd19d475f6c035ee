/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>

#include "base/fileio.h"
#include "need.h"
#include "power.h"
#include "power_mark.h"
#include "run.h"

static void
mark(enum record_kind kind, const struct power_mark *what)
{
	void (*const note)(enum record_kind, const void *, size_t) =
	    (__typeof__(&record_io_mark))dlsym(RTLD_DEFAULT, "record_io_mark");

	need(note != NULL);
	note(kind, what, sizeof(*what));
}

void
power_open(struct power *p, const char *dir, unsigned place,
    const lc_options *options)
{
	char root[4096];

	p->dir = dir;
	p->place = place;
	p->full = options->durability == LC_DURABLE_FULL;
	snprintf(root, sizeof(root), "%s/r%u", dir, place);
	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_OPENING,
	    .place = place });
	p->cache = sample_open(root, "m", options);
	mark(RECORD_PROMISE, &(struct power_mark){ .kind = POWER_MADE,
	    .place = place });
}

void
power_put(struct power *p, unsigned key, struct sample_range sizes)
{
	static uint64_t version;
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	const struct power_mark change = { .kind = POWER_CHANGE,
		.place = p->place, .key = key, .version = ++version,
		.min = (uint32_t)sizes.min, .max = (uint32_t)sizes.max };

	mark(RECORD_MARK, &change);
	need_ok(sample_put(p->cache, id, size, change.version, sizes));
}

void
power_delete(struct power *p, unsigned key)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	lc_status status;

	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_CHANGE,
	    .place = p->place, .key = key });
	status = lc_delete(p->cache, id, size);
	need(status == LC_OK || status == LC_NOT_FOUND);
}

void
power_change(struct power *p, unsigned n, struct sample_range sizes)
{
	static uint64_t random;

	if (random == 0)
		random = run_seed();
	for (unsigned i = 0; i < n; i++) {
		const unsigned key = (unsigned)(run_random(&random) % POWER_KEYS);

		if (run_random(&random) % 5 == 0)
			power_delete(p, key);
		else
			power_put(p, key, sizes);
	}
}

static void
mark_flushed(const struct power *p)
{
	mark(RECORD_PROMISE, &(struct power_mark){ .kind = POWER_FLUSHED,
	    .place = p->place, .full = p->full });
}

void
power_flush(struct power *p)
{
	need_ok(lc_flush(p->cache));
	mark_flushed(p);
}

void
power_close(struct power *p)
{
	need_ok(lc_close(p->cache));
	mark_flushed(p);
}

void
power_clear(struct power *p)
{
	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_CHANGE,
	    .place = p->place, .key = POWER_KEYS });
	need_ok(lc_clear(p->cache));
	mark_flushed(p);
}

void
power_compact(struct power *p)
{
	lc_compact_options options;
	lc_compact_result result;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.chunk_bytes = 64 << 10;
	need_ok(lc_compact(p->cache, &options, &result));
	need(result.rewritten > 0);
	mark_flushed(p);
}

void
power_shrink(const struct power *p)
{
	uint64_t before, after;
	char root[4096];

	snprintf(root, sizeof(root), "%s/r%u", p->dir, p->place);
	need_ok(lc_shrink(root, "m", &before, &after));
	mark_flushed(p);
}

void
power_set(struct power *p, int value)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	struct power_mark setting = { .kind = POWER_SETTING, .place = p->place,
		.key = (uint32_t)value };

	need_ok(lc_settings_get(p->cache, &settings));
	settings.level = value;
	mark(RECORD_MARK, &setting);
	need_ok(lc_settings_set(p->cache, &settings));
	setting.kind = POWER_SET;
	mark(RECORD_PROMISE, &setting);
}

void
power_backup(struct power *p, unsigned place, unsigned flags)
{
	char root[4096];

	power_flush(p);
	snprintf(root, sizeof(root), "%s/r%u", p->dir, place);
	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_COPYING,
	    .place = place, .from = p->place });
	need_ok(lc_backup(p->cache, root, flags));
	mark(RECORD_PROMISE, &(struct power_mark){ .kind = POWER_MADE,
	    .place = place });
}

void
power_declare(struct power *p)
{
	lc_input inputs[] = { { "a", { NULL, 0 } }, { "b", { "2", 1 } } };

	need_ok(lc_inputs_declare(p->cache, 2, inputs));
	/* That of the first becomes known. */
	inputs[0].fingerprint = lc_id_of("1");
	need_ok(lc_inputs_declare(p->cache, 2, inputs));
}

static void
fill_key(struct power *p, lc_writer *writer, unsigned key,
    struct sample_range sizes)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	lc_tensor tensor;

	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_CHANGE,
	    .place = p->place, .key = key, .version = 1,
	    .min = (uint32_t)sizes.min, .max = (uint32_t)sizes.max });
	sample_make(&tensor, id, size, 1, sizes);
	need_ok(lc_writer_put(writer, id, size, &tensor));
	sample_free(&tensor);
}

void
power_fill(struct power *p, const char *input, unsigned first, unsigned n,
    struct sample_range sizes)
{
	lc_writer *writer;
	uint64_t chunks;

	need_ok(lc_writer_open(p->cache, input, &writer));
	for (unsigned key = first; key < first + n; key++)
		fill_key(p, writer, key, sizes);
	chunks = lc_writer_info(writer)->chunks + 1;
	need_ok(lc_writer_commit(writer, &chunks, sizeof(chunks)));
	lc_writer_close(writer);
	mark_flushed(p);
}

static void
put_images(lc_cache *cache)
{
	const uint64_t shape[3] = { 3, 8, 8 };
	float data[3 * 8 * 8];
	lc_tensor image;

	for (unsigned i = 0; i < 60; i++) {
		char id[20];
		const int size = snprintf(id, sizeof(id), "image-%u", i);

		sample_fill(data, sizeof(data), i);
		need_ok(lc_tensor_init(&image, LC_F32, 3, shape, data));
		need_ok(lc_put(cache, id, (size_t)size, &image));
	}
	need_ok(lc_flush(cache));
}

void
power_export(const char *dir)
{
	lc_options options = sample_options();
	char src[4096], out[4096];
	lc_cache *cache;

	snprintf(src, sizeof(src), "%s/src", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	cache = sample_open(src, "m", &options);
	put_images(cache);
	mark(RECORD_MARK, &(struct power_mark){ .kind = POWER_EXPORTING });
	need_ok(power_export_module(cache, out));
	mark(RECORD_PROMISE, &(struct power_mark){ .kind = POWER_EXPORTED });
	need_ok(lc_close(cache));
}

lc_status
power_export_module(lc_cache *cache, const char *dir)
{
	lc_export_options options;
	lc_export_result result;

	lc_export_options_init(&options);
	options.shard_bytes = 16384;
	options.threads = 2;
	return lc_export(cache, dir, &options, &result);
}
