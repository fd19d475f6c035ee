/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules as their readers see them: everything that reads data.mdb through LMDB. Input: an
 * image and its damage (image.h).
 *
 * The environment stays open: opening it costs far more than reading it. A damaged file is
 * what another process committed meanwhile. It is checked as an opening does, and what does
 * not pass is what an opening refuses. (The target open opens.)
 */
#include "fuzz.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "image.h"
#include "pages/page_layout.h"
#include "pages/pages.h"
#include "store/cache.h"

enum { AGAIN = 5000, lock_at_txn = 8 + sizeof(pthread_mutex_t) };

static uint64_t
newest_txn(const struct fuzz_image *image)
{
	const uint64_t a = lc__get64(image->map + META_TXNID);
	const uint64_t b = lc__get64(image->map + 4096 + META_TXNID);

	return a > b ? a : b;
}

/* What stays open with an image. */
struct opened {
	lc_cache *cache;
	int fd;               /* of lock.mdb: closed last, as LMDB has locks on the file */
	unsigned char *lock;  /* a map of it: it tells readers the newest commit */
	uint32_t map_version; /* of the environment when it was opened */
	unsigned left;        /* inputs until it is opened anew */
};

static void
close_image(struct opened *opened)
{
	if (opened->cache == NULL)
		return;
	munmap(opened->lock, 4096);
	lc_discard(opened->cache);
	close(opened->fd);
	opened->cache = NULL;
}

/* The image is whole. */
static void
open_image(struct fuzz_image *image, struct opened *opened)
{
	lc_options options;
	char path[400];

	lc_options_init(&options);
	options.flags = LC_RDONLY;
	options.flush_interval_ms = 0;
	options.lru_bytes = 0;
	options.map_size = 16 << 20;
	fuzz_require(lc_open(image->root, "m", &options, &opened->cache) == LC_OK);
	snprintf(path, sizeof(path), "%s/m/lock.mdb", image->root);
	opened->fd = open(path, O_RDWR | O_CLOEXEC);
	fuzz_require(opened->fd != -1);
	opened->lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened->fd, 0);
	fuzz_require(opened->lock != MAP_FAILED);
	fuzz_require(lc__get64(opened->lock + lock_at_txn) == newest_txn(image));
	opened->map_version = lc__env_map_version(opened->cache->env);
	opened->left = AGAIN;
}

static struct opened *
opened_of(struct fuzz_image *image)
{
	struct opened *opened = image->user;

	if (opened == NULL) {
		opened = calloc(1, sizeof(*opened));
		if (opened == NULL)
			abort();
		image->user = opened;
	}
	if (opened->cache != NULL && (opened->left-- == 0 ||
	    lc__env_map_version(opened->cache->env) != opened->map_version))
		close_image(opened);
	if (opened->cache == NULL)
		open_image(image, opened);
	return opened;
}

/* ---- reading --------------------------------------------------------------------- */

static void
get_records(lc_cache *cache)
{
	for (int i = 0; i < FUZZ_IDS; i++) {
		const lc_value *value;
		lc_view view;

		(void)!lc_contains(cache, fuzz_ids[i], strlen(fuzz_ids[i]));
		if (lc_get(cache, fuzz_ids[i], strlen(fuzz_ids[i]), &view) == LC_OK) {
			if (view.kind == LC_TENSOR)
				fuzz_touch_tensor(&view.tensor);
			if (lc_view_value(&view, i % 3 == 0 ? "x" : NULL, &value) == LC_OK)
				fuzz_touch_value(value);
		}
		lc_view_release(&view);
	}
}

static void
walk_records(lc_cache *cache, unsigned flags)
{
	lc_iter *iter = NULL;
	lc_status status;
	lc_item item;
	unsigned corrupt = 0;

	if (lc_iter_open(cache, flags, NULL, 0, &iter) != LC_OK)
		return;
	while ((status = lc_iter_next(iter, &item)) == LC_OK || status == LC_CORRUPT) {
		const lc_value *value;

		/* It goes on behind damage, and so comes to an end. */
		fuzz_require(status == LC_OK || ++corrupt < 100000);
		if (status == LC_CORRUPT)
			continue;
		fuzz_touch(item.id.data, item.id.size);
		if (lc_iter_value(iter, NULL, &value) == LC_OK)
			fuzz_touch_value(value);
	}
	lc_iter_close(iter);
}

static int
see_input(void *ctx, const lc_input_info *info)
{
	(void)ctx;
	fuzz_touch(info->name, strlen(info->name));
	fuzz_touch(info->cursor.data, info->cursor.size);
	return 0;
}

static int
see_schema(void *ctx, const lc_schema_stats *stats)
{
	(void)ctx;
	fuzz_touch(stats->structure, strlen(stats->structure));
	return 0;
}

static void
ask(lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_counters counters = { .struct_size = sizeof(counters) };
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_fill fill = { .struct_size = sizeof(fill) };
	uint64_t count;

	(void)!lc_settings_get(cache, &settings);
	(void)!lc_counters_get(cache, &counters);
	(void)!lc_stat(cache, &stats);
	(void)!lc_fill_get(cache, &fill);
	(void)!lc_count(cache, &count);
	(void)!lc_inputs(cache, see_input, NULL);
	(void)!lc_schemas(cache, see_schema, NULL);
}

static void
stream(lc_cache *cache, uint8_t choice)
{
	lc_stream_options how;
	lc_reader_options reading;
	lc_source *source = NULL;
	lc_stream *opened = NULL;
	lc_reader *reader = NULL;
	const lc_batch *batch;

	lc_stream_options_init(&how);
	how.window = choice & 1 ? 5 : 0;
	how.shuffle = (lc_shuffle)(choice >> 1 & 3);
	how.block = 2;
	how.spread = 2;
	how.era_first = how.era_max = 4;
	how.batch = 3;
	how.limit = 60;
	lc_reader_options_init(&reading);
	reading.threads = 0;
	reading.documents = how.window > 0;
	if (lc_source_open_module(cache, NULL, &source) == LC_OK &&
	    lc_stream_open(&source, 1, &how, &opened) == LC_OK &&
	    lc_reader_open(opened, &reading, &reader) == LC_OK) {
		for (int i = 0; i < 20 && lc_reader_next(reader, &batch) == LC_OK; i++) {
			for (size_t k = 0; k < batch->n_fields; k++)
				if (batch->fields[k].data != NULL)
					fuzz_touch(batch->fields[k].data, batch->fields[k].nbytes);
			lc_batch_release(batch);
		}
	}
	lc_reader_close(reader);
	lc_stream_close(opened);
	lc_source_close(source);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct lc__pages_options options = { .free_list = true };
	struct fuzz_bytes in = { data, data + size };
	struct fuzz_image *image = fuzz_image_of(&in);
	struct opened *opened = opened_of(image);
	const uint8_t choice = size > 1 ? data[1] >> 1 : 0;
	struct lc__pages_report report;
	lc_verify_result verified;

	fuzz_image_damage(image, &in);
	if (lc__pages_check_map(image->map, image->whole.size, "data.mdb", &options,
	    &report) == LC_OK && report.meta.last_page < image->whole.size / 4096) {
		lc__set64(opened->lock + lock_at_txn, report.meta.txnid);
		lc__pool_empty_locked(lc__module_of(opened->cache->env)->pool);
		if (choice % 4 == 0)
			(void)!lc_verify(opened->cache, NULL, &verified);
		get_records(opened->cache);
		walk_records(opened->cache, choice & 8 ? LC_BY_COMMIT : LC_BY_KEY);
		if (choice % 4 == 1)
			ask(opened->cache);
		if (choice % 4 == 2)
			stream(opened->cache, choice >> 4);
		lc__pool_empty_locked(lc__module_of(opened->cache->env)->pool);
	}
	fuzz_image_restore(image);
	lc__set64(opened->lock + lock_at_txn, newest_txn(image));
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return fuzz_image_mutate(data, size, room, seed);
}
