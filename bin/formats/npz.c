/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/npz.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "format/npy.h"
#include "formats/archive.h"
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

/* Append up to @p size bytes of the member, of which @p left may come. */
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

/* The header decides how much more there may be. */
lc_status
lc__npz_member(struct lc__archive *archive, uint64_t *left, struct lc__buf *out)
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
	/* The checksum is compared at the end, which must be looked for. */
	if (out->size == want && *left > 0)
		return_if_error(inflate_some(archive, left, 1, out));
	if (out->size > want)
		return lc__error(LC_CORRUPT, 0, "bytes behind the last element");
	return LC_OK;
}

struct unpacking {
	struct lc__archive *archive;
	int raw_dtype;          /* of raw bits */
	uint64_t left;          /* bytes that may still be inflated */
	struct lc__parts parts; /* what has been read */
	struct lc__loaded *loaded;
};

static lc_status
read_tensor(struct unpacking *u, lc_tensor *out)
{
	struct lc__buf file = { 0 };
	const lc_status status = lc__npz_member(u->archive, &u->left, &file);

	if (status != LC_OK) {
		lc__buf_free(&file);
		return status;
	}
	return lc__loaded_npy(u->loaded, &file, u->raw_dtype, out);
}

static lc_status
read_member(struct unpacking *u, const struct lc__archive_member *member)
{
	const size_t size = strlen(member->name);
	char *path;
	lc_tensor tensor;
	lc_status status;

	if (!member->regular)
		return lc__error(LC_UNSUPPORTED, 0, "not a file");
	if (member->encrypted)
		return lc__error(LC_UNSUPPORTED, 0, "encrypted");
	if (size <= SUFFIX_SIZE || strcmp(member->name + size - SUFFIX_SIZE, SUFFIX) != 0)
		return lc__error(LC_UNSUPPORTED, 0, "not a .npy file");
	return_if_error(read_tensor(u, &tensor));
	path = strndup(member->name, size - SUFFIX_SIZE);
	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__parts_add(&u->parts, path, lc_value_tensor(&tensor));
	free(path);
	return status;
}

static lc_status
read_members(struct unpacking *u)
{
	struct lc__archive_member member;
	lc_status status;

	while ((status = lc__archive_next(u->archive, &member)) == LC_OK) {
		if (!member.regular && *member.name != '\0' &&
		    member.name[strlen(member.name) - 1] == '/')
			continue;
		status = read_member(u, &member);
		if (status != LC_OK)
			return lc__error_prefix("%s", member.name);
	}
	return status == LC_END ? lc__parts_build(&u->parts, &u->loaded->value) : status;
}

lc_status
lc__npz_read(const void *bytes, size_t size, int raw_dtype, uint64_t limit,
    struct lc__loaded *out)
{
	struct unpacking u = { .raw_dtype = raw_dtype, .left = limit, .loaded = out };
	lc_status status = lc__archive_open_bytes(LC__ARCHIVE_ZIP, bytes, size,
	    &u.archive);

	if (status == LC_OK)
		status = read_members(&u);
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
