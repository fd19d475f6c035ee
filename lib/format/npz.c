/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of libarchive. */
#include "format/npz.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"
#include "format/npy.h"
#include "format/part_path.h"
#include "format/parts.h"
#include "format/utf8.h"

#define SUFFIX ".npy"
#define SUFFIX_SIZE (sizeof(SUFFIX) - 1)
#define STEP ((size_t)1 << 20) /* bytes inflated at once */

/* libarchive takes names for text of the locale: UTF-8, whatever the caller's is. */
struct charset {
	locale_t utf8, old;
};

static struct charset
charset_enter(void)
{
	struct charset charset = { newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0),
	    (locale_t)0 };

	if (charset.utf8 != (locale_t)0)
		charset.old = uselocale(charset.utf8);
	return charset;
}

static void
charset_leave(struct charset charset)
{
	if (charset.utf8 == (locale_t)0)
		return;
	uselocale(charset.old);
	freelocale(charset.utf8);
}

static lc_status
archive_failed(lc_status status, struct archive *archive)
{
	const char *text = archive_error_string(archive);

	if (archive_errno(archive) == ENOMEM)
		status = LC_NO_MEMORY;
	return lc__error(status, 0, "%s", text ? text : "damaged archive");
}

/* ---- reading ---------------------------------------------------------------- */

bool
lc__npz_is(const void *bytes, size_t size)
{
	return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 ||
	    memcmp(bytes, "PK\5\6", 4) == 0);
}

/* An archive without members, which libarchive does not know. */
static bool
is_empty(const void *bytes, size_t size)
{
	static const char empty[22] = "PK\5\6";

	return size == sizeof(empty) && memcmp(bytes, empty, size) == 0;
}

struct unpacking {
	struct archive *archive;
	int raw_dtype;            /* of raw bits */
	uint64_t left;            /* bytes that may still be inflated */
	struct lc__parts parts;   /* what has been read */
	struct lc__loaded *loaded;
};

/* Append up to @p size bytes of the member; less at its end. */
static lc_status
inflate_some(struct unpacking *u, struct lc__buf *out, size_t size)
{
	la_ssize_t got;
	void *place;

	if (size > u->left)
		return lc__error(LC_UNSUPPORTED, 0, "larger than the limit");
	place = lc__buf_append(out, NULL, size);
	if (place == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	got = archive_read_data(u->archive, place, size);
	out->size -= got < 0 ? size : size - (size_t)got;
	if (got < 0)
		return archive_failed(LC_CORRUPT, u->archive);
	u->left -= (uint64_t)got;
	return LC_OK;
}

/* The header decides how much more there may be. */
static lc_status
inflate(struct unpacking *u, struct lc__buf *out)
{
	struct lc__npy_info info;
	size_t before = 0, want;

	return_if_error(inflate_some(u, out, LC__NPY_MAX_HEADER + 16 < u->left ?
	    LC__NPY_MAX_HEADER + 16 : (size_t)u->left));
	return_if_error(lc__npy_decode_header(out->data, out->size, &info));
	if (info.nbytes > u->left + out->size)
		return lc__error(LC_UNSUPPORTED, 0, "larger than the limit");
	want = info.data_offset + info.nbytes;
	while (out->size < want && out->size > before) {
		before = out->size;
		return_if_error(inflate_some(u, out, want - before < STEP ?
		    want - before : STEP));
	}
	/* The checksum is compared at the end, which must be looked for. */
	if (out->size == want && u->left > 0)
		return_if_error(inflate_some(u, out, 1));
	if (out->size > want)
		return lc__error(LC_CORRUPT, 0, "bytes behind the last element");
	return LC_OK;
}

static lc_status
read_tensor(struct unpacking *u, lc_tensor *out)
{
	struct lc__buf file = { 0 };
	const lc_status status = inflate(u, &file);

	if (status != LC_OK) {
		lc__buf_free(&file);
		return status;
	}
	return lc__loaded_npy(u->loaded, &file, u->raw_dtype, out);
}

static lc_status
read_member(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	const size_t size = strlen(name);
	char *path;
	lc_tensor tensor;
	lc_status status;

	if (archive_entry_is_encrypted(entry))
		return lc__error(LC_UNSUPPORTED, 0, "encrypted");
	if (size <= SUFFIX_SIZE || strcmp(name + size - SUFFIX_SIZE, SUFFIX) != 0)
		return lc__error(LC_UNSUPPORTED, 0, "not a .npy file");
	return_if_error(read_tensor(u, &tensor));
	path = strndup(name, size - SUFFIX_SIZE);
	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	status = lc__parts_add(&u->parts, path, lc_value_tensor(&tensor));
	free(path);
	return status;
}

/* Step to the next member; LC_NOT_FOUND at the end. */
static lc_status
next_member(struct unpacking *u, struct archive_entry **entry, const char **name)
{
	const int step = archive_read_next_header(u->archive, entry);

	if (step == ARCHIVE_EOF)
		return LC_NOT_FOUND;
	if (step < ARCHIVE_WARN)
		return archive_failed(LC_CORRUPT, u->archive);
	*name = archive_entry_pathname(*entry);
	if (*name == NULL)
		return lc__error(LC_UNSUPPORTED, 0,
		    "the name of a member is not UTF-8");
	return LC_OK;
}

static lc_status
read_members(struct unpacking *u)
{
	struct archive_entry *entry;
	const char *name = NULL;
	lc_status status;

	while ((status = next_member(u, &entry, &name)) == LC_OK) {
		if (archive_entry_filetype(entry) == AE_IFDIR)
			continue;
		status = read_member(u, entry, name);
		if (status != LC_OK)
			return lc__error_prefix("%s", name);
	}
	return status == LC_NOT_FOUND ?
	    lc__parts_build(&u->parts, &u->loaded->value) : status;
}

lc_status
lc__npz_read(const void *bytes, size_t size, int raw_dtype, uint64_t limit,
    struct lc__loaded *out)
{
	const struct charset charset = charset_enter();
	struct unpacking u = { .archive = archive_read_new(),
	    .raw_dtype = raw_dtype, .left = limit, .loaded = out };
	lc_status status;

	if (u.archive == NULL)
		status = lc__error(LC_NO_MEMORY, 0, "out of memory");
	else if (is_empty(bytes, size))
		status = lc__parts_build(&u.parts, &out->value);
	else if (archive_read_support_format_zip_seekable(u.archive) != ARCHIVE_OK ||
	    archive_read_open_memory(u.archive, bytes, size) != ARCHIVE_OK)
		status = archive_failed(LC_CORRUPT, u.archive);
	else
		status = read_members(&u);
	lc__parts_free(&u.parts);
	archive_read_free(u.archive);
	charset_leave(charset);
	return status;
}

/* ---- walking ---------------------------------------------------------------- */

/* Called with every tensor of a value in order and the path to it. */
typedef lc_status (*tensor_fn)(void *ctx, const char *path,
    const lc_tensor *tensor);

static lc_status
cannot_hold(const struct lc__buf *path, const char *what)
{
	const char *text = lc__path_text(path);

	return lc__error(LC_UNSUPPORTED, 0, "%s%s.npz cannot hold %s", text,
	    *text ? ": " : "", what);
}

static lc_status
check_name(const char *name, const struct lc__buf *path)
{
	if (strpbrk(name, ".\\") != NULL)
		return cannot_hold(path, "a name with a dot or a backslash");
	if (!lc__utf8_valid(name, strlen(name)))
		return cannot_hold(path, "a name that is not UTF-8");
	return LC_OK;
}

/* Names that read as the positions of a list. */
static bool
reads_as_list(const lc_value *map)
{
	const size_t n = lc_value_count(map);
	size_t position;

	for (size_t i = 0; i < n; i++)
		if (!lc__path_position(lc_value_name(map, i), &position) ||
		    position >= n)
			return false;
	return true;
}

static lc_status
check_parts(const lc_value *value, const struct lc__buf *path)
{
	const lc_kind kind = lc_value_kind(value);

	if (kind == LC_TUPLE)
		return cannot_hold(path, "a tuple");
	if (kind != LC_MAP && kind != LC_LIST)
		return cannot_hold(path, "plain data");
	if (lc_value_count(value) == 0 && (path->size > 0 || kind == LC_LIST))
		return cannot_hold(path, "an empty part");
	if (kind == LC_MAP && lc_value_count(value) > 0 && reads_as_list(value))
		return cannot_hold(path, "a map that would read as a list");
	return LC_OK;
}

static lc_status
walk(const lc_value *value, struct lc__buf *path, tensor_fn fn, void *ctx)
{
	const size_t size = path->size;
	lc_tensor tensor;

	if (lc_value_kind(value) == LC_TENSOR) {
		return_if_error(lc_value_as_tensor(value, &tensor));
		return fn(ctx, lc__path_text(path), &tensor);
	}
	return_if_error(check_parts(value, path));
	for (size_t i = 0; i < lc_value_count(value); i++) {
		const char *name = lc_value_name(value, i);
		if (name != NULL)
			lc__path_name(path, name);
		else
			lc__path_index(path, i);
		if (path->failed)
			return lc__error(LC_NO_MEMORY, 0, "out of memory");
		if (name != NULL)
			return_if_error(check_name(name, path));
		return_if_error(walk(lc_value_at(value, i), path, fn, ctx));
		lc__path_cut(path, size);
	}
	return LC_OK;
}

static lc_status
walk_all(const lc_value *value, tensor_fn fn, void *ctx)
{
	struct lc__buf path = { 0 };
	lc_status status;

	if (lc_value_kind(value) == LC_TENSOR)
		return cannot_hold(&path, "a tensor without a name");
	status = walk(value, &path, fn, ctx);
	lc__buf_free(&path);
	return status;
}

static lc_status
check_tensor(void *ctx, const char *path, const lc_tensor *tensor)
{
	const bool *bits = ctx;
	struct lc__buf header = { 0 };
	const lc_status status = lc__npy_encode_header(tensor, *bits, &header);

	lc__buf_free(&header);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", path);
}

lc_status
lc__npz_check(const lc_value *value, bool bits)
{
	return walk_all(value, check_tensor, &bits);
}

/* ---- writing ---------------------------------------------------------------- */

struct packing {
	struct archive *archive;
	bool bits;
};

static lc_status
write_bytes(struct archive *archive, const void *data, size_t size)
{
	if (size > 0 && archive_write_data(archive, data, size) != (la_ssize_t)size)
		return archive_failed(LC_IO, archive);
	return LC_OK;
}

/* No time of day: the same value makes the same bytes. */
static lc_status
write_member(struct packing *p, const char *name, const struct lc__buf *header,
    const lc_tensor *tensor)
{
	struct archive_entry *entry = archive_entry_new();
	lc_status status = LC_OK;

	if (entry == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)(header->size + tensor->nbytes));
	if (archive_write_header(p->archive, entry) != ARCHIVE_OK)
		status = archive_failed(LC_IO, p->archive);
	archive_entry_free(entry);
	return_if_error(status);
	return_if_error(write_bytes(p->archive, header->data, header->size));
	return write_bytes(p->archive, tensor->data, tensor->nbytes);
}

static lc_status
write_tensor(void *ctx, const char *path, const lc_tensor *tensor)
{
	struct packing *p = ctx;
	struct lc__buf name = { 0 }, header = { 0 };
	lc_status status = lc__npy_encode_header(tensor, p->bits, &header);

	lc__buf_append(&name, path, strlen(path));
	lc__buf_append(&name, SUFFIX, sizeof(SUFFIX));
	if (status == LC_OK && name.failed)
		status = lc__error(LC_NO_MEMORY, 0, "out of memory");
	if (status == LC_OK)
		status = write_member(p, (const char *)name.data, &header, tensor);
	lc__buf_free(&name);
	lc__buf_free(&header);
	return status;
}

lc_status
lc__npz_write(FILE *out, const lc_value *value, bool bits)
{
	const struct charset charset = charset_enter();
	struct packing p = { archive_write_new(), bits };
	lc_status status;

	if (p.archive == NULL)
		status = lc__error(LC_NO_MEMORY, 0, "out of memory");
	else if (archive_write_set_format_zip(p.archive) != ARCHIVE_OK ||
	    archive_write_zip_set_compression_store(p.archive) != ARCHIVE_OK ||
	    archive_write_set_options(p.archive, "hdrcharset=UTF-8") != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(p.archive, 0) != ARCHIVE_OK ||
	    archive_write_open_FILE(p.archive, out) != ARCHIVE_OK)
		status = archive_failed(LC_IO, p.archive);
	else
		status = walk_all(value, write_tensor, &p);
	if (status == LC_OK && archive_write_close(p.archive) != ARCHIVE_OK)
		status = archive_failed(LC_IO, p.archive);
	archive_write_free(p.archive);
	charset_leave(charset);
	return status;
}
