/* SPDX-License-Identifier: BSD-2-Clause */
/* Archives through libarchive, read and written: the only file that includes it. */
#include "config.h"

#include "formats/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/lazy.h"

/* Loaded on first use: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(archive_entry_clear) X(archive_entry_filetype) X(archive_entry_free) \
	X(archive_entry_hardlink) X(archive_entry_is_encrypted) X(archive_entry_new) \
	X(archive_entry_new2) X(archive_entry_pathname) X(archive_entry_set_filetype) \
	X(archive_entry_set_pathname) X(archive_entry_set_perm) X(archive_entry_set_size) \
	X(archive_entry_size) X(archive_entry_size_is_set) X(archive_errno) \
	X(archive_error_string) X(archive_filter_bytes) X(archive_read_data) \
	X(archive_read_free) X(archive_read_header_position) X(archive_read_new) \
	X(archive_read_next_header2) X(archive_read_open1) X(archive_read_open_memory) \
	X(archive_read_set_callback_data) X(archive_read_set_read_callback) \
	X(archive_read_set_seek_callback) X(archive_read_set_skip_callback) \
	X(archive_read_support_filter_bzip2) X(archive_read_support_filter_gzip) \
	X(archive_read_support_filter_xz) X(archive_read_support_filter_zstd) \
	X(archive_read_support_format_raw) X(archive_read_support_format_tar) \
	X(archive_read_support_format_zip_seekable) X(archive_set_error) \
	X(archive_write_close) X(archive_write_data) X(archive_write_free) \
	X(archive_write_header) X(archive_write_new) X(archive_write_open) \
	X(archive_write_set_bytes_per_block) X(archive_write_set_format_pax_restricted) \
	X(archive_write_set_format_zip) X(archive_write_set_options) \
	X(archive_write_zip_set_compression_store)
/* clang-format on */
LC__LAZY(lib, "libarchive", LIBARCHIVE_FILE, CALLS)

#define BLOCK ((size_t)1 << 20)  /* bytes of one read from a file */
#define STEP ((size_t)1 << 20)   /* bytes reserved if the size of a member is not known */
#define AHEAD ((size_t)64 << 20) /* and at most if it is known, because it may be wrong */

struct lc__archive {
	struct archive *archive;
	struct archive_entry *entry; /* of all members, one after another */
	enum lc__archive_kind kind;
	locale_t charset;     /* of names */
	int fd;               /* -1 for bytes */
	bool seekable;        /* a regular file */
	unsigned char *block; /* of the last read */
	int sys;              /* errno of a read that failed: libarchive may report it as
	                       * a truncated file */
	bool empty; /* a zip archive without members, which libarchive does not recognise
	             * */
	bool sized; /* of the current member */
	uint64_t size;
};

/* libarchive converts names by the locale of the thread. Between enter and leave this is
 * C.UTF-8, or on a system without C.UTF-8 the locale of the caller: (locale_t)0 changes
 * nothing. */
static locale_t
charset_new(void)
{
	return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static void
charset_free(locale_t charset)
{
	if (charset != (locale_t)0)
		freelocale(charset);
}

/* Returns the locale to restore. */
static locale_t
charset_enter(locale_t charset)
{
	return charset != (locale_t)0 ? uselocale(charset) : (locale_t)0;
}

static void
charset_leave(locale_t old)
{
	if (old != (locale_t)0)
		uselocale(old);
}

static lc_status
failed(const struct lc__archive *archive)
{
	const char *text = lib.archive_error_string(archive->archive);
	const int sys = lib.archive_errno(archive->archive);

	if (archive->sys != 0)
		return lc__error_sys(archive->sys, "read");
	if (sys == ENOMEM || (text == NULL && errno == ENOMEM))
		return lc__no_memory(NULL);
	if (text == NULL)
		text = "damaged archive";
	/* Some of libarchive's messages end with a line break. */
	return lc__error(LC_CORRUPT, 0, "%.*s", (int)strcspn(text, "\n"), text);
}

/* ---- reading a file ----------------------------------------------------------- */

static la_ssize_t
read_block(struct archive *a, void *ctx, const void **out)
{
	struct lc__archive *archive = ctx;
	ssize_t got;

	do
		got = read(archive->fd, archive->block, BLOCK);
	while (got == -1 && errno == EINTR);
	if (got == -1) {
		archive->sys = errno;
		lib.archive_set_error(a, errno, "read");
		return ARCHIVE_FATAL;
	}
	*out = archive->block;
	return got;
}

static la_int64_t
seek_to(struct archive *a, void *ctx, la_int64_t offset, int whence)
{
	struct lc__archive *archive = ctx;
	const off_t at = lseek(archive->fd, (off_t)offset, whence);

	if (at == -1) {
		archive->sys = errno;
		lib.archive_set_error(a, errno, "seek");
		return ARCHIVE_FATAL;
	}
	return at;
}

/* Returns how much was skipped; libarchive reads the rest. */
static la_int64_t
skip_over(struct archive *a, void *ctx, la_int64_t request)
{
	struct lc__archive *archive = ctx;
	const off_t at = archive->seekable ? lseek(archive->fd, 0, SEEK_CUR) : -1;
	const off_t end = at != -1 ? lseek(archive->fd, 0, SEEK_END) : -1;

	(void)a;
	if (at == -1)
		return 0;
	if (end != -1 && request > end - at)
		request = end - at;
	if (end == -1 || lseek(archive->fd, at + (off_t)request, SEEK_SET) == -1) {
		archive->sys = errno;
		lib.archive_set_error(a, errno, "seek");
		return ARCHIVE_FATAL;
	}
	return request;
}

static bool
open_archive(struct lc__archive *archive)
{
	struct archive *a = archive->archive;

	archive->block = malloc(BLOCK);
	if (archive->block == NULL) {
		archive->sys = ENOMEM;
		return false;
	}
	return lib.archive_read_set_read_callback(a, read_block) == ARCHIVE_OK &&
	    lib.archive_read_set_skip_callback(a, skip_over) == ARCHIVE_OK &&
	    (!archive->seekable ||
		lib.archive_read_set_seek_callback(a, seek_to) == ARCHIVE_OK) &&
	    lib.archive_read_set_callback_data(a, archive) == ARCHIVE_OK &&
	    lib.archive_read_open1(a) == ARCHIVE_OK;
}

/* ---- opening ------------------------------------------------------------------ */

#define ZIP_END 22 /* bytes of the record that ends a zip archive, without its comment */

/* An archive without members is this record alone: all its counts and offsets are 0. */
static bool
is_empty_zip(const unsigned char *bytes, size_t size, uint64_t all)
{
	static const unsigned char end[20] = "PK\5\6";

	return size >= ZIP_END && memcmp(bytes, end, sizeof(end)) == 0 &&
	    lc__get16(bytes + 20) == all - ZIP_END;
}

static lc_status
make(enum lc__archive_kind kind, struct lc__archive **out)
{
	struct lc__archive *archive;

	return_if_error(lib_load());
	archive = calloc(1, sizeof(*archive));
	if (archive == NULL)
		return lc__no_memory(NULL);
	archive->fd = -1;
	archive->kind = kind;
	archive->charset = charset_new();
	archive->archive = lib.archive_read_new();
	/* libarchive uses the entry that it makes itself even if there was no memory for
	 * it. */
	if (archive->archive != NULL)
		archive->entry = lib.archive_entry_new2(archive->archive);
	if (archive->entry == NULL) {
		lc__archive_close(archive);
		return lc__no_memory(NULL);
	}
	*out = archive;
	return LC_OK;
}

/* A filter that libarchive was built without fails only when a file needs it. */
static bool
support(const struct lc__archive *archive)
{
	struct archive *a = archive->archive;

	if (archive->kind == LC__ARCHIVE_ZIP)
		return lib.archive_read_support_format_zip_seekable(a) == ARCHIVE_OK;
	lib.archive_read_support_filter_gzip(a);
	lib.archive_read_support_filter_bzip2(a);
	lib.archive_read_support_filter_xz(a);
	lib.archive_read_support_filter_zstd(a);
	if (archive->kind == LC__ARCHIVE_RAW)
		return lib.archive_read_support_format_raw(a) == ARCHIVE_OK;
	return lib.archive_read_support_format_tar(a) == ARCHIVE_OK;
}

lc_status
lc__archive_open_bytes(enum lc__archive_kind kind, const void *bytes, size_t size,
    struct lc__archive **out)
{
	struct lc__archive *archive;
	locale_t old;
	lc_status status = LC_OK;

	return_if_error(make(kind, &archive));
	archive->empty = kind == LC__ARCHIVE_ZIP && is_empty_zip(bytes, size, size);
	old = charset_enter(archive->charset);
	if (!archive->empty &&
	    (!support(archive) ||
		lib.archive_read_open_memory(archive->archive, bytes, size) !=
		    ARCHIVE_OK))
		status = failed(archive);
	charset_leave(old);
	if (status == LC_OK)
		*out = archive;
	else
		lc__archive_close(archive);
	return status;
}

static lc_status
open_fd(struct lc__archive *archive, const char *path, bool pipe)
{
	unsigned char end[ZIP_END];
	struct stat st;

	archive->fd = lc__open(path, O_RDONLY | (pipe ? 0 : O_NONBLOCK | O_NOCTTY));
	if (archive->fd == -1 && (errno == ENXIO || errno == ENODEV))
		return lc__error(LC_INVALID, 0, "not a regular file");
	if (archive->fd == -1)
		return lc__error_sys(errno, "open");
	if (fstat(archive->fd, &st) == -1)
		return lc__error_sys(errno, "stat");
	if (S_ISDIR(st.st_mode))
		return lc__error_sys(EISDIR, "open");
	archive->seekable = S_ISREG(st.st_mode);
	if (!archive->seekable && !pipe)
		return lc__error(LC_INVALID, 0, "not a regular file");
	if (archive->kind == LC__ARCHIVE_ZIP &&
	    pread(archive->fd, end, ZIP_END, 0) == ZIP_END)
		archive->empty = is_empty_zip(end, ZIP_END, (uint64_t)st.st_size);
	return LC_OK;
}

static lc_status
open_path(enum lc__archive_kind kind, const char *path, bool pipe,
    struct lc__archive **out)
{
	struct lc__archive *archive;
	locale_t old;
	lc_status status;

	return_if_error(make(kind, &archive));
	status = open_fd(archive, path, pipe);
	old = charset_enter(archive->charset);
	if (status == LC_OK && !archive->empty &&
	    (!support(archive) || !open_archive(archive)))
		status = failed(archive);
	charset_leave(old);
	if (status == LC_OK)
		*out = archive;
	else
		lc__archive_close(archive);
	return status;
}

lc_status
lc__archive_open_file(enum lc__archive_kind kind, const char *path,
    struct lc__archive **out)
{
	return open_path(kind, path, false, out);
}

lc_status
lc__archive_open_pipe(const char *path, struct lc__archive **out)
{
	return open_path(LC__ARCHIVE_TAR, path, true, out);
}

void
lc__archive_close(struct lc__archive *archive)
{
	if (archive == NULL)
		return;
	lib.archive_entry_free(archive->entry);
	lib.archive_read_free(archive->archive);
	charset_free(archive->charset);
	free(archive->block);
	if (archive->fd != -1)
		close(archive->fd);
	free(archive);
}

/* ---- members ------------------------------------------------------------------ */

/* A tar archive ends with two blocks of zeros. If there are none, members may be
 * missing. */
static lc_status
at_end(const struct lc__archive *archive)
{
	if (archive->kind == LC__ARCHIVE_TAR &&
	    lib.archive_filter_bytes(archive->archive, 0) ==
		lib.archive_read_header_position(archive->archive))
		return lc__error(LC_CORRUPT, 0, "the end of the archive is missing");
	return LC_END;
}

static lc_status
describe(struct lc__archive *archive, struct lc__archive_member *out)
{
	struct archive_entry *entry = archive->entry;
	const char *name = lib.archive_entry_pathname(entry);

	if (name == NULL)
		return lc__error(LC_UNSUPPORTED, 0, "the name of a member is not UTF-8");
	archive->sized = lib.archive_entry_size_is_set(entry);
	archive->size = archive->sized ? (uint64_t)lib.archive_entry_size(entry) : 0;
	*out = (struct lc__archive_member){
		.name = name,
		.regular = lib.archive_entry_filetype(entry) == AE_IFREG &&
		    lib.archive_entry_hardlink(entry) == NULL,
		.encrypted = lib.archive_entry_is_encrypted(entry),
		.sized = archive->sized,
		.size = archive->size,
	};
	return LC_OK;
}

/* A warning concerns a name or a date that cannot be converted; the data is good. */
lc_status
lc__archive_next(struct lc__archive *archive, struct lc__archive_member *out)
{
	const locale_t old = charset_enter(archive->charset);
	lc_status status;
	int step = ARCHIVE_EOF;

	if (!archive->empty)
		step = lib.archive_read_next_header2(archive->archive, archive->entry);
	if (step == ARCHIVE_EOF)
		status = archive->empty ? LC_END : at_end(archive);
	else if (step != ARCHIVE_OK && step != ARCHIVE_WARN)
		status = failed(archive);
	else
		status = describe(archive, out);
	charset_leave(old);
	return status;
}

lc_status
lc__archive_read_some(struct lc__archive *archive, size_t size, struct lc__buf *out)
{
	void *place = lc__buf_append(out, NULL, size);
	locale_t old;
	la_ssize_t got;

	if (place == NULL)
		return lc__no_memory(NULL);
	old = charset_enter(archive->charset);
	got = lib.archive_read_data(archive->archive, place, size);
	out->size -= got < 0 ? size : size - (size_t)got;
	charset_leave(old);
	return got < 0 ? failed(archive) : LC_OK;
}

/* Read one byte more than expected, to see the end of the member. */
static size_t
next_step(const struct lc__archive *archive, uint64_t got, uint64_t limit)
{
	uint64_t step = STEP;

	if (archive->sized && got <= archive->size)
		step = archive->size - got < AHEAD ? archive->size - got + 1 : AHEAD;
	return (size_t)(limit - got < step ? limit - got + 1 : step);
}

lc_status
lc__archive_read(struct lc__archive *archive, uint64_t limit, struct lc__buf *out)
{
	const size_t start = out->size;
	uint64_t got = 0;
	size_t step, before;

	if (archive->sized && archive->size > limit)
		return lc__error(LC_INVALID, 0, "larger than %llu bytes",
		    (unsigned long long)limit);
	do {
		step = next_step(archive, got, limit);
		before = out->size;
		return_if_error(lc__archive_read_some(archive, step, out));
		got = out->size - start;
		if (got > limit)
			return lc__error(LC_INVALID, 0, "larger than %llu bytes",
			    (unsigned long long)limit);
		if (archive->sized && got > archive->size)
			return lc__error(LC_CORRUPT, 0, "longer than it says");
	} while (out->size - before == step);
	if (archive->sized && got < archive->size)
		return lc__error(LC_CORRUPT, 0, "shorter than it says");
	return LC_OK;
}

/* ---- writing ------------------------------------------------------------------ */

struct lc__archive_writer {
	struct archive *archive;
	struct archive_entry *entry; /* of all members, one after another */
	mode_t mode;                 /* of members */
	locale_t charset;            /* of names */
	lc__archive_sink sink;
	void *ctx;
	lc_status status; /* the first failure of the sink, or LC_CANCELLED: nothing more
	                   * is passed to it */
};

/* The error of the sink, or else of libarchive; errno was 0 before the call. */
static lc_status
result(const struct lc__archive_writer *writer, bool done)
{
	const char *text = lib.archive_error_string(writer->archive);

	if (writer->status != LC_OK || done)
		return writer->status;
	/* libarchive always gives a reason, except sometimes when memory runs out. */
	if (text == NULL || lib.archive_errno(writer->archive) == ENOMEM ||
	    errno == ENOMEM)
		return lc__no_memory(NULL);
	return lc__error(LC_IO, 0, "%s", text);
}

/* Failures are hidden from libarchive, because after one it does not free all its
 * memory. */
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
		if (lib.archive_write_set_format_zip(a) != ARCHIVE_OK ||
		    lib.archive_write_zip_set_compression_store(a) != ARCHIVE_OK)
			return false;
	} else if (lib.archive_write_set_format_pax_restricted(a) != ARCHIVE_OK) {
		return false;
	}
	/* Without blocks libarchive passes large data on without a copy. */
	return lib.archive_write_set_options(a, "hdrcharset=UTF-8") == ARCHIVE_OK &&
	    lib.archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
	    lib.archive_write_open(a, writer, NULL, pass_on, NULL) == ARCHIVE_OK;
}

lc_status
lc__archive_create(enum lc__archive_kind kind, lc__archive_sink sink, void *ctx,
    struct lc__archive_writer **out)
{
	struct lc__archive_writer *writer;
	locale_t old;
	lc_status status = LC_OK;

	return_if_error(lib_load());
	writer = calloc(1, sizeof(*writer));
	if (writer == NULL)
		return lc__no_memory(NULL);
	writer->sink = sink;
	writer->ctx = ctx;
	/* Files of a data set are not meant to be changed after they are unpacked. */
	writer->mode = kind == LC__ARCHIVE_TAR ? 0444 : 0644;
	writer->charset = charset_new();
	errno = 0;
	writer->archive = lib.archive_write_new();
	writer->entry = lib.archive_entry_new();
	old = charset_enter(writer->charset);
	if (writer->archive == NULL || writer->entry == NULL)
		status = lc__no_memory(NULL);
	else
		status = result(writer, is_set_up(writer, kind));
	charset_leave(old);
	if (status == LC_OK)
		*out = writer;
	else
		lc__archive_discard(writer);
	return status;
}

lc_status
lc__archive_add(struct lc__archive_writer *writer, const char *name, uint64_t size)
{
	struct archive_entry *entry = lib.archive_entry_clear(writer->entry);
	const locale_t old = charset_enter(writer->charset);
	lc_status status;

	/* If no memory is left for the directory of a zip archive,
	 * archive_write_zip_header() of libarchive 3.6.2 writes through NULL: it ignores
	 * the result of cd_alloc(). */
	errno = 0;
	lib.archive_entry_set_pathname(entry, name);
	lib.archive_entry_set_filetype(entry, AE_IFREG);
	lib.archive_entry_set_perm(entry, writer->mode);
	lib.archive_entry_set_size(entry, (la_int64_t)size);
	status = result(writer,
	    lib.archive_write_header(writer->archive, entry) == ARCHIVE_OK);
	charset_leave(old);
	return status;
}

lc_status
lc__archive_append(struct lc__archive_writer *writer, const void *data, size_t size)
{
	errno = 0;
	return result(writer,
	    size == 0 ||
		lib.archive_write_data(writer->archive, data, size) == (la_ssize_t)size);
}

lc_status
lc__archive_finish(struct lc__archive_writer *writer)
{
	const locale_t old = charset_enter(writer->charset);
	const bool done = (errno = 0, lib.archive_write_close(writer->archive)) ==
	    ARCHIVE_OK;
	const lc_status status = result(writer, done);

	charset_leave(old);
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
	lib.archive_write_free(writer->archive);
	lib.archive_entry_free(writer->entry);
	charset_free(writer->charset);
	free(writer);
}
