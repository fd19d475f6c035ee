/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/npz.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "format/npy.h"
#include "formats/archive.h"
#include "formats/formats.h"
#include "formats/loaded.h"
#include "value/path.h"

#define SUFFIX ".npy"
#define SUFFIX_SIZE (sizeof(SUFFIX) - 1)
#define STEP ((size_t)1 << 20) /* bytes inflated at once */

/* ---- reading ---------------------------------------------------------------- */

bool
lc__npz_is(const void *bytes, size_t size)
{
	return size >= 4 &&
	    (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* Append up to @p size bytes of the current member, at most *left, and deduct them. */
static lc_status
inflate_some(struct lc__archive *archive, uint64_t *left, size_t size,
    struct lc__buf *out)
{
	const size_t before = out->size;

	if (size > *left)
		return lc__error(LC_UNSUPPORTED, 0, "larger than the limit");
	return_if_error(lc__archive_read_some(archive, size, out));
	*left -= out->size - before;
	return LC_OK;
}

/*
 * Read the current member of an archive, a .npy file, into an empty buffer: never more
 * than its header says, nor than *left bytes, from which those read are deducted.
 */
static lc_status
read_npy(struct lc__archive *archive, uint64_t *left, struct lc__buf *out)
{
	struct lc__npy_info info;
	size_t before = 0, want;

	return_if_error(inflate_some(archive, left,
	    LC__NPY_MAX_HEADER + 16 < *left ? LC__NPY_MAX_HEADER + 16 : (size_t)*left,
	    out));
	return_if_error(lc__npy_decode_header(out->data, out->size, &info));
	if (info.nbytes > *left + out->size)
		return lc__error(LC_UNSUPPORTED, 0, "larger than the limit");
	want = info.data_offset + info.nbytes;
	while (out->size < want && out->size > before) {
		before = out->size;
		return_if_error(inflate_some(archive, left,
		    want - before < STEP ? want - before : STEP, out));
	}
	/* libarchive compares the checksum only at the end of the member, so read on to
	 * it. */
	if (out->size == want && *left > 0)
		return_if_error(inflate_some(archive, left, 1, out));
	if (out->size > want)
		return lc__error(LC_CORRUPT, 0, "bytes after the last element");
	return LC_OK;
}

struct unpacking {
	struct lc__archive *archive;
	int raw_dtype;          /* of raw bits */
	uint64_t left;          /* bytes that may still be inflated */
	struct lc__parts parts; /* what has been read */
	struct lc__loaded *loaded;
};

/* The tensor of the archive's current member, in memory that @p out owns. */
static lc_status
read_tensor(struct lc__archive *archive, const struct lc__archive_member *member,
    int raw_dtype, uint64_t *left, struct lc__loaded *out, lc_tensor *tensor)
{
	struct lc__buf file = { 0 };
	lc_status status;

	if (!member->regular)
		return lc__error(LC_UNSUPPORTED, 0, "not a file");
	if (member->encrypted)
		return lc__error(LC_UNSUPPORTED, 0, "encrypted");
	status = read_npy(archive, left, &file);
	if (status == LC_OK)
		return lc__loaded_npy(out, &file, raw_dtype, tensor);
	lc__buf_free(&file);
	return status;
}

/* Directories among the members are skipped. */
static bool
is_directory(const struct lc__archive_member *member)
{
	const size_t size = strlen(member->name);

	return !member->regular && size > 0 && member->name[size - 1] == '/';
}

static bool
is_npy_name(const char *name)
{
	const size_t size = strlen(name);

	return size > SUFFIX_SIZE && strcmp(name + size - SUFFIX_SIZE, SUFFIX) == 0;
}

static lc_status
read_member(struct unpacking *u, const struct lc__archive_member *member)
{
	char *path;
	lc_tensor tensor;
	lc_status status;

	if (member->regular && !member->encrypted && !is_npy_name(member->name))
		return lc__error(LC_UNSUPPORTED, 0, "not a .npy file");
	return_if_error(
	    read_tensor(u->archive, member, u->raw_dtype, &u->left, u->loaded, &tensor));
	path = strndup(member->name, strlen(member->name) - SUFFIX_SIZE);
	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__parts_add(&u->parts, path, lc_value_tensor(&tensor));
	free(path);
	return status;
}

lc_status
lc__npz_read(const void *bytes, size_t size, int raw_dtype, uint64_t limit,
    struct lc__loaded *out)
{
	struct unpacking u = { .raw_dtype = raw_dtype, .left = limit, .loaded = out };
	struct lc__archive_member member;
	lc_status status = lc__archive_open_bytes(LC__ARCHIVE_ZIP, bytes, size,
	    &u.archive);

	while (
	    status == LC_OK && (status = lc__archive_next(u.archive, &member)) == LC_OK) {
		if (is_directory(&member))
			continue;
		status = read_member(&u, &member);
		if (status != LC_OK)
			lc__error_prefix("%s", member.name);
	}
	if (status == LC_END)
		status = lc__parts_build(&u.parts, &out->value);
	lc__parts_free(&u.parts);
	lc__archive_close(u.archive);
	return status;
}

/* ---- walking ---------------------------------------------------------------- */

/* Called with every tensor of a value in order and the path to it. */
typedef lc_status (*tensor_fn)(void *ctx, const char *path, const lc_tensor *tensor);

static lc_status
cannot_hold(const struct lc__buf *path, const char *what)
{
	const char *text = lc__path_text(path);

	return lc__error(LC_UNSUPPORTED, 0, "%s%s.npz cannot hold %s", text,
	    *text ? ": " : "", what);
}

/* Names that read as the positions of a list. */
static bool
reads_as_list(const lc_value *map)
{
	const size_t n = lc_value_count(map);
	size_t position;

	for (size_t i = 0; i < n; i++)
		if (!lc__path_position(lc_value_name(map, i), &position) || position >= n)
			return false;
	return true;
}

static lc_status
check_parts(const lc_value *value, const struct lc__buf *path)
{
	const lc_kind kind = lc_value_kind(value);

	if (kind == LC_TUPLE)
		return cannot_hold(path, "a tuple");
	if (kind == LC_TAGGED)
		return cannot_hold(path, "a tagged value");
	if (kind == LC_PAIRS)
		return cannot_hold(path, "pairs");
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
			return lc__no_memory(NULL);
		if (name != NULL && strpbrk(name, ".\\") != NULL)
			return cannot_hold(path, "a name with a dot or a backslash");
		if (name != NULL && !lc__utf8_valid(name, strlen(name)))
			return cannot_hold(path, "a name that is not UTF-8");
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
	struct lc__archive_writer *archive;
	bool bits;
};

static lc_status
write_bytes(void *ctx, const void *data, size_t size)
{
	if (fwrite(data, 1, size, ctx) != size)
		return lc__error(LC_IO, 0, "it takes no more");
	return LC_OK;
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
		status = lc__no_memory(NULL);
	if (status == LC_OK)
		status = lc__archive_add(p->archive, (const char *)name.data,
		    header.size + tensor->nbytes);
	if (status == LC_OK)
		status = lc__archive_append(p->archive, header.data, header.size);
	if (status == LC_OK)
		status = lc__archive_append(p->archive, tensor->data, tensor->nbytes);
	lc__buf_free(&name);
	lc__buf_free(&header);
	return status;
}

lc_status
lc__npz_write(FILE *out, const lc_value *value, bool bits)
{
	struct packing p = { NULL, bits };
	lc_status status;

	return_if_error(
	    lc__archive_create(LC__ARCHIVE_ZIP, write_bytes, out, &p.archive));
	status = walk_all(value, write_tensor, &p);
	if (status == LC_OK)
		return lc__archive_finish(p.archive);
	lc__archive_discard(p.archive);
	return status;
}

/* ---- .npz files to import: the member NAME.npy is the record NAME ---------------- */

struct npz_in {
	char *path;
	struct lc__incoming_how how;
	struct lc__archive *archive;
	struct lc__archive_member member; /* the current one */
	bool ended;                       /* after a failure nothing more can be read */
};

static lc_status
is_npz(const char *path, const void *first, size_t size, bool *is)
{
	(void)path;
	*is = first != NULL && lc__npz_is(first, size);
	return LC_OK;
}

static void
close_npz(void *ctx)
{
	struct npz_in *in = ctx;

	lc__archive_close(in->archive);
	free(in->path);
	free(in);
}

static lc_status
open_npz(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct npz_in *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in != NULL)
		in->path = strdup(path);
	if (in == NULL || in->path == NULL) {
		free(in);
		return lc__no_memory(path);
	}
	in->how = *how;
	status = lc__archive_open_file(LC__ARCHIVE_ZIP, path, &in->archive);
	if (status == LC_OK)
		*out = in;
	else
		close_npz(in);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", path);
}

/* A member that is not a .npy file is a record that load() refuses, so that the members
 * after it are read. */
static lc_status
next_member(void *ctx, lc_id *id)
{
	struct npz_in *in = ctx;
	size_t size;
	lc_status status;

	if (in->ended)
		return LC_END;
	do {
		status = lc__archive_next(in->archive, &in->member);
	} while (status == LC_OK && is_directory(&in->member));
	in->ended = status != LC_OK;
	if (status == LC_END)
		return status;
	if (status != LC_OK)
		return lc__error_prefix("%s", in->path);
	size = strlen(in->member.name);
	*id = (lc_id){ in->member.name,
		is_npy_name(in->member.name) ? size - SUFFIX_SIZE : size };
	return LC_OK;
}

static lc_status
load_record(void *ctx, struct lc__loaded *out)
{
	struct npz_in *in = ctx;
	uint64_t left = in->how.limit;
	lc_tensor tensor;
	lc_status status = read_tensor(in->archive, &in->member, in->how.raw_dtype, &left,
	    out, &tensor);

	if (status == LC_OK) {
		out->value = lc_value_tensor(&tensor);
		status = out->value != NULL ? LC_OK : lc__no_memory(NULL);
	}
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s: %s", in->path, in->member.name);
}

const struct lc__incoming_format lc__incoming_npz = {
	.name = "npz",
	.what = ".npz files",
	.is = is_npz,
	.open = open_npz,
	.next = next_member,
	.load = load_record,
	.close = close_npz,
};
