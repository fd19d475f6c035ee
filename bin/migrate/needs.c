/* SPDX-License-Identifier: BSD-2-Clause */
/* What a migration needs on the disk, by its first lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "build/disk.h"
#include "migrate/migration.h"

/* So much of the file is looked at. */
#define SAMPLE ((uint64_t)8 << 20)

/* Of the sample. */
struct seen {
	uint64_t bytes; /* of all its lines */
	uint64_t records, arrays;
	uint64_t cut;     /* bytes of arrays */
	uint64_t latents; /* bytes */
};

static void
note(const struct lc__stage2 *how, const struct lc__line_entry *entry, struct seen *seen)
{
	seen->records++;
	if (entry->array && how->pass[LC__PASS_MIGRATE])
		seen->cut += entry->members[LC__ENTRY_ARRAY].value.size;
	seen->arrays += entry->array || how->encoder[LC__PASS_DINOV3] != NULL;
	seen->latents += (uint64_t)16 * (entry->height / 8) * (entry->width / 8) * 2;
}

static lc_status
look(const struct lc__stage2 *how, struct lc__lines *lines, struct lc__line_entry *entry,
    struct seen *seen)
{
	struct lc__text_line line;
	lc_status status = LC_OK;

	while (lines->offset < SAMPLE && (status = lc__lines_next(lines, &line)) == LC_OK)
		if (!lc__text_line_is_blank(&line) &&
		    lc__entry_read(line.text, line.size, how->field, entry) == LC_OK)
			note(how, entry, seen);
	seen->bytes = lines->offset;
	return status == LC_END ? LC_OK : status;
}

/* A record's own bytes besides its tensor's: its head, its key, its index entry. */
static uint64_t
stored(uint64_t records, double tensor)
{
	return (uint64_t)((double)records * (tensor + 300));
}

static void
estimate(const struct lc__stage2 *how, const struct seen *seen, uint64_t size,
    struct lc__stage2_needs *out)
{
	const double scale = seen->bytes > 0 ? (double)size / (double)seen->bytes : 0;
	const double arrays = (double)seen->arrays * scale;
	double array = (double)lc_dtype_size(how->dtype);

	for (uint32_t i = 0; i < how->ndim; i++)
		array *= (double)how->shape[i];
	out->records = (uint64_t)((double)seen->records * scale);
	if (how->pass[LC__PASS_MIGRATE])
		out->lines = size - (uint64_t)((double)seen->cut * scale) +
		    out->records * 100;
	if (how->pass[LC__PASS_MIGRATE] || how->pass[LC__PASS_DINOV3])
		out->modules[LC__PASS_DINOV3] = stored((uint64_t)arrays, array);
	if (how->pass[LC__PASS_VAE] && how->encoder[LC__PASS_VAE] != NULL)
		out->modules[LC__PASS_VAE] = stored(out->records,
		    seen->records == 0 ? 0
				       : (double)seen->latents / (double)seen->records);
	if (how->pass[LC__PASS_T5] && how->encoder[LC__PASS_T5] != NULL)
		out->modules[LC__PASS_T5] = stored(out->records, 77 * 1024 * 2);
}

lc_status
lc__migration_needs(const struct lc__stage2 *how, int fd, uint64_t size,
    struct lc__stage2_needs *out)
{
	struct lc__lines lines = lc__migrate_lines(fd, how->file);
	struct lc__line_entry entry = { .count = 0 };
	struct seen seen = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = lc__lines_seek(&lines, 0, 0);
	if (status == LC_OK)
		status = look(how, &lines, &entry, &seen);
	estimate(how, &seen, size, out);
	lc__lines_free(&lines);
	lc__entry_free(&entry);
	return status;
}

/* Less what the modules and the new file have already. */
static lc_status
left(const struct lc__migration *run, uint64_t *lines, uint64_t *tensors)
{
	const struct lc__stage2_needs *needs = &run->done->needs;
	const uint64_t done = run->state.rewriting ? run->state.out : 0;

	*lines = run->state.phase > LC__STAGE2_LINES || needs->lines < done
	    ? 0
	    : needs->lines - done;
	*tensors = 0;
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		lc_stats stats = { .struct_size = sizeof(stats), .live_bytes = 0 };
		if (run->modules[p] != NULL)
			return_if_error(lc_stat(run->modules[p], &stats));
		if (needs->modules[p] > stats.live_bytes)
			*tensors += needs->modules[p] - stats.live_bytes;
	}
	return LC_OK;
}

/* "12 lines: 1234 bytes; ..." The file's directory, as what it holds may be a link. */
lc_status
lc__migration_check_space(const struct lc__migration *run)
{
	uint64_t lines, tensors;
	struct stat file, dir;
	char what[100];

	return_if_error(left(run, &lines, &tensors));
	if (stat(run->state.file, &file) == -1 || stat(run->how->dir, &dir) == -1)
		return lc__error_sys(errno, "%s: stat", run->how->dir);
	snprintf(what, sizeof(what), "about %" PRIu64 " records",
	    run->done->needs.records);
	if (file.st_dev == dir.st_dev)
		return lc__space_check(run->how->dir, lines + tensors, what);
	return_if_error(lc__space_check(run->how->dir, tensors, what));
	return lc__space_check(run->state.file, lines, "the new lines");
}
