/* SPDX-License-Identifier: BSD-2-Clause */
/* The only writer through libarchive. */
#include "formats/archive_write.h"

#include <errno.h>
#include <stdlib.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"
#include "formats/charset.h"

struct lc__archive_writer {
	struct archive *archive;
	struct archive_entry *entry; /* of all members, one after another */
	mode_t mode;                 /* of members */
	locale_t charset;            /* of names */
	lc__archive_sink sink;
	void *ctx;
	lc_status status;            /* the sink's first failure, LC_CANCELLED once given up:
	                                nothing is passed on any more */
};

/* What libarchive said, or the sink before it; errno was 0 before the call. */
static lc_status
result(const struct lc__archive_writer *writer, bool done)
{
	const char *text = archive_error_string(writer->archive);

	if (writer->status != LC_OK || done)
		return writer->status;
	/* It gives a reason for everything but, in places, a lack of memory. */
	if (text == NULL || archive_errno(writer->archive) == ENOMEM || errno == ENOMEM)
		return lc__no_memory(NULL);
	return lc__error(LC_IO, 0, "%s", text);
}

/* libarchive is never told of a failure: it would not free all that it has then. */
static la_ssize_t
pass_on(struct archive *archive, void *ctx, const void *data, size_t size)
{
	struct lc__archive_writer *writer = ctx;

	(void)archive;
	if (writer->status == LC_OK)
		writer->status = writer->sink(writer->ctx, data, size);
	return (la_ssize_t)size;
}

static bool
is_set_up(struct lc__archive_writer *writer, enum lc__archive_kind kind)
{
	struct archive *a = writer->archive;

	if (kind == LC__ARCHIVE_ZIP) {
		if (archive_write_set_format_zip(a) != ARCHIVE_OK ||
		    archive_write_zip_set_compression_store(a) != ARCHIVE_OK)
			return false;
	} else if (archive_write_set_format_pax_restricted(a) != ARCHIVE_OK) {
		return false;
	}
	/* Without blocks of its own it passes large data on where it lies. */
	return archive_write_set_options(a, "hdrcharset=UTF-8") == ARCHIVE_OK &&
	    archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
	    archive_write_open(a, writer, NULL, pass_on, NULL) == ARCHIVE_OK;
}

lc_status
lc__archive_create(enum lc__archive_kind kind, lc__archive_sink sink, void *ctx,
    struct lc__archive_writer **out)
{
	struct lc__archive_writer *writer = calloc(1, sizeof(*writer));
	locale_t old;
	lc_status status = LC_OK;

	if (writer == NULL)
		return lc__no_memory(NULL);
	writer->sink = sink;
	writer->ctx = ctx;
	/* Data sets in tar archives are not there to be changed. */
	writer->mode = kind == LC__ARCHIVE_TAR ? 0444 : 0644;
	writer->charset = lc__charset_new();
	errno = 0;
	writer->archive = archive_write_new();
	writer->entry = archive_entry_new();
	old = lc__charset_enter(writer->charset);
	if (writer->archive == NULL || writer->entry == NULL)
		status = lc__no_memory(NULL);
	else
		status = result(writer, is_set_up(writer, kind));
	lc__charset_leave(old);
	if (status == LC_OK)
		*out = writer;
	else
		lc__archive_discard(writer);
	return status;
}

lc_status
lc__archive_add(struct lc__archive_writer *writer, const char *name, uint64_t size)
{
	struct archive_entry *entry = archive_entry_clear(writer->entry);
	const locale_t old = lc__charset_enter(writer->charset);
	lc_status status;

	/* Without memory for the directory of a zip archive, archive_write_zip_header() of
	 * libarchive 3.6.2 writes through NULL: it does not look at what cd_alloc() gives. */
	errno = 0;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, writer->mode);
	archive_entry_set_size(entry, (la_int64_t)size);
	status = result(writer, archive_write_header(writer->archive, entry) ==
	    ARCHIVE_OK);
	lc__charset_leave(old);
	return status;
}

lc_status
lc__archive_append(struct lc__archive_writer *writer, const void *data, size_t size)
{
	errno = 0;
	return result(writer, size == 0 || archive_write_data(writer->archive, data,
	    size) == (la_ssize_t)size);
}

lc_status
lc__archive_finish(struct lc__archive_writer *writer)
{
	const locale_t old = lc__charset_enter(writer->charset);
	const bool done = (errno = 0, archive_write_close(writer->archive)) == ARCHIVE_OK;
	const lc_status status = result(writer, done);

	lc__charset_leave(old);
	lc__archive_discard(writer);
	return status;
}

void
lc__archive_discard(struct lc__archive_writer *writer)
{
	if (writer == NULL)
		return;
	/* Freeing writes the end. */
	if (writer->status == LC_OK)
		writer->status = LC_CANCELLED;
	archive_write_free(writer->archive);
	archive_entry_free(writer->entry);
	lc__charset_free(writer->charset);
	free(writer);
}
