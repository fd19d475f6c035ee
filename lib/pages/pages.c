/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a snapshot, from its meta page to its free list. */
#include "pages/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

/*
 * A bit for each page finds pages that are used twice: two tables that share a page, or a
 * page both used and free, which a writer would allocate again. Files above 1 TiB (32 MiB
 * of bits) are checked without it unless the check is thorough.
 */
static lc_status
make_used(struct lc__page_walk *walk)
{
	const uint64_t limit = (uint64_t)1 << 28;
	const uint64_t pages = walk->report->meta.last_page + 1;

	if (pages > limit && !walk->options->thorough)
		return LC_OK;
	walk->used = calloc(pages / 64 + 1, sizeof(*walk->used));
	if (walk->used == NULL)
		return lc__error(LC_NO_MEMORY, 0,
		    "out of memory: %llu pages cannot be checked",
		    (unsigned long long)pages);
	return LC_OK;
}

static lc_status
check_free(struct lc__page_walk *walk)
{
	const struct lc__pages_options *options = walk->options;
	const bool ends_early = walk->file_pages <= walk->report->meta.last_page;
	lc_status status;

	if (!options->thorough && !options->free_list && !ends_early)
		return LC_OK;
	status = lc__walk_free_list(walk);
	if (status == LC_CORRUPT && options->damage != NULL) {
		options->damage(options->damage_ctx, lc_last_error()->text);
		if (walk->first.status == LC_OK)
			walk->first = *lc_last_error();
	}
	return status;
}

/* Check the snapshot in out->meta, of a file of size bytes mapped at map. */
static lc_status
check_snapshot(const void *map, uint64_t size, const struct lc__pages_options *options,
    struct lc__pages_report *out)
{
	const uint64_t pages = out->meta.last_page + 1;
	const uint64_t file_pages = size / out->meta.page_size;
	struct lc__page_walk walk = {
		.map = map,
		.file_pages = file_pages,
		.end = file_pages < pages ? file_pages : pages,
		.options = options,
		.report = out,
	};
	lc_status status;

	out->complete = out->main_complete = true;
	return_if_error(make_used(&walk));
	status = lc__walk_tables(&walk);
	if (status == LC_OK)
		status = check_free(&walk);
	if (status == LC_OK && !options->main_only)
		status = lc__walk_check_rollback(&walk);
	if (walk.first.status != LC_OK)
		status = lc__error_raise(&walk.first);
	free(walk.used);
	return status;
}

lc_status
lc__pages_check_map(const void *map, uint64_t size, const char *path,
    const struct lc__pages_options *options, struct lc__pages_report *out)
{
	struct lc__pages_report report = { .complete = false };
	lc_status status = lc__walk_find_meta(map, size, path, &report.meta);

	if (status == LC_OK)
		status = check_snapshot(map, size, options, &report);
	if (status != LC_OK)
		return lc__error_prefix("%s", path);
	*out = report;
	return LC_OK;
}

lc_status
lc__pages_check(int fd, const char *path, const struct lc__pages_options *options,
    struct lc__pages_report *out)
{
	struct lc__pages_report report = { .complete = false };
	lc_status status;
	struct stat st;
	void *map;

	return_if_error(lc__pages_check_header(fd, path, &report.meta));
	if (fstat(fd, &st) != 0)
		return lc__error_sys(errno, "%s: stat", path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return lc__error_sys(errno, "%s: map", path);
	/* Tree pages are scattered: read-ahead would read values. */
	(void)madvise(map, (size_t)st.st_size, MADV_RANDOM);
	status = check_snapshot(map, (uint64_t)st.st_size, options, &report);
	munmap(map, (size_t)st.st_size);
	if (status != LC_OK)
		return lc__error_prefix("%s", path);
	*out = report;
	return LC_OK;
}
