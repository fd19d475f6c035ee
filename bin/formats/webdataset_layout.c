/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/webdataset_layout.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "format/npy.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/value_json.h"
#include "formats/webdataset_sample.h"
#include "value/path.h"

/* A walk over a record. */
struct layout {
	struct lc__wds_files *out;
	struct lc__buf path; /* of the part, ended by a NUL; empty for the record */
};

static const char *
text_of(const struct lc__buf *path)
{
	return path->size > 0 ? (const char *)path->data : "";
}

static lc_status
refuse(const struct layout *l, const char *what)
{
	const char *path = text_of(&l->path);

	return lc__error(LC_UNSUPPORTED, 0, "%s%s%s", path, *path ? ": " : "", what);
}

/* ---- what becomes several files ---------------------------------------------------- */

static bool
reads_as_list(const lc_value *map)
{
	const size_t n = lc_value_count(map);
	size_t position;

	for (size_t i = 0; i < n; i++)
		if (!lc__path_position(lc_value_name(map, i), &position) || position >= n)
			return false;
	return n > 0;
}

/* Why it cannot be part of an extension; NULL if it can. */
static const char *
name_fault(const char *name)
{
	if (strpbrk(name, "./") != NULL)
		return "a name with a dot or a slash cannot be an extension";
	if (strpbrk(name, "\r\n") != NULL)
		return "a name with a line break cannot be an extension";
	if (!lc__utf8_valid(name, strlen(name)))
		return "a name that is not UTF-8 cannot be an extension";
	return NULL;
}

static bool
is_group(const lc_value *value)
{
	const lc_kind kind = lc_value_kind(value);

	return kind == LC_MAP || kind == LC_LIST || kind == LC_TUPLE ||
	    kind == LC_TAGGED || kind == LC_PAIRS;
}

/* Does it hold tensors, or bytes outside of lists, which need files of their own? */
static bool
has_files(const lc_value *value, bool bytes)
{
	const lc_kind kind = lc_value_kind(value);

	if (!is_group(value))
		return kind == LC_TENSOR || (kind == LC_BYTES && bytes);
	for (size_t i = 0; i < lc_value_count(value); i++)
		if (has_files(lc_value_at(value, i), bytes && kind == LC_MAP))
			return true;
	return false;
}

/* Divide the record into files if its names allow it, and the values in it only if they
 * must be. */
static bool
is_taken_apart(const struct layout *l, const lc_value *value)
{
	bool apart = l->path.size == 0 && lc_value_kind(value) == LC_MAP &&
	    lc_value_count(value) > 0 && !reads_as_list(value);

	if (has_files(value, true))
		return is_group(value);
	for (size_t i = 0; apart && i < lc_value_count(value); i++)
		apart = name_fault(lc_value_name(value, i)) == NULL &&
		    *lc_value_name(value, i) != '_';
	return apart;
}

/* ---- files --------------------------------------------------------------------------- */

static enum lc__wds_form
form_of(const lc_value *value)
{
	const char *text;
	size_t size;

	switch (lc_value_kind(value)) {
	case LC_TENSOR: return LC__WDS_AS_NPY;
	case LC_BYTES: return LC__WDS_AS_BYTES;
	case LC_STRING:
		if (lc_value_as_str(value, &text, &size) == LC_OK &&
		    lc__utf8_valid(text, size))
			return LC__WDS_AS_TEXT;
		return LC__WDS_AS_JSON;
	default: return LC__WDS_AS_JSON;
	}
}

/* The path serves as the name until all files are known. */
static lc_status
add_file(struct layout *l, const lc_value *value)
{
	struct lc__wds_files *out = l->out;
	const char *path = text_of(&l->path);

	if (out->count == LC__WDS_MEMBERS)
		return refuse(l, "more parts than a sample has members");
	return_if_error(lc__array_reserve(&out->files, &out->room, out->count + 1, NULL));
	out->files[out->count++] = (struct lc__wds_file){
		.name = out->names.size,
		.form = form_of(value),
		.value = value,
	};
	return lc__buf_append(&out->names, path, strlen(path) + 1) != NULL
	    ? LC_OK
	    : lc__no_memory(NULL);
}

static lc_status
enter(struct layout *l, const lc_value *group, size_t i)
{
	const char *name = lc_value_name(group, i);

	if (name != NULL && name_fault(name) != NULL) {
		const char *fault = name_fault(name);

		lc__path_name(&l->path, name);
		return refuse(l, fault);
	}
	if (l->path.size > 0)
		l->path.data[l->path.size - 1] = '.';
	if (name != NULL)
		lc__buf_append(&l->path, name, strlen(name));
	else
		lc__buf_printf(&l->path, "%zu", i);
	if (lc__buf_append(&l->path, "", 1) == NULL)
		return lc__no_memory(NULL);
	return *text_of(&l->path) != '_'
	    ? LC_OK
	    : refuse(l, "names that begin with _ are WebDataset's own");
}

static lc_status
walk(struct layout *l, const lc_value *value)
{
	const size_t size = l->path.size;

	if (!is_taken_apart(l, value))
		return add_file(l, value);
	if (lc_value_kind(value) == LC_TUPLE)
		return refuse(l, "a tuple with tensors would come back as a list");
	if (lc_value_kind(value) == LC_TAGGED)
		return refuse(l, "a tagged value with tensors would come back as a map");
	if (lc_value_kind(value) == LC_PAIRS)
		return refuse(l, "pairs with tensors would come back as a list");
	if (lc_value_kind(value) == LC_MAP && reads_as_list(value))
		return refuse(l, "a map of such names would come back as a list");
	for (size_t i = 0; i < lc_value_count(value); i++) {
		return_if_error(enter(l, value, i));
		return_if_error(walk(l, lc_value_at(value, i)));
		lc__path_cut(&l->path, size);
	}
	return LC_OK;
}

/* ---- extensions ---------------------------------------------------------------------- */

/* Is the part's name the extension of its own type? Readers compare in lower case. */
static bool
names_its_type(const struct lc__wds_file *file, const char *path)
{
	const enum lc__wds_type type = lc__wds_type_of(path);

	for (const char *p = path; *p != '\0'; p++)
		if (*p == '.' || (*p >= 'A' && *p <= 'Z'))
			return false;
	switch (file->form) {
	case LC__WDS_AS_NPY: return type == LC__WDS_NPY;
	case LC__WDS_AS_TEXT: return type == LC__WDS_TEXT;
	case LC__WDS_AS_JSON:
		return type == LC__WDS_JSON ||
		    (type == LC__WDS_INTEGER && lc_value_kind(file->value) == LC_INTEGER);
	default: return false;
	}
}

static const char *
extension_of_bytes(const struct lc__wds_file *file, const char *path)
{
	const enum lc__wds_type type = lc__wds_type_of(path);
	enum lc__image_type image;
	const void *bytes = NULL;
	size_t size = 0;

	/* Readers can be asked to keep these as bytes, whatever the name. */
	if (*path != '\0')
		return type == LC__WDS_OTHER || type == LC__WDS_IMAGE ||
			type == LC__WDS_PICKLE
		    ? ""
		    : "bin";
	if (lc_value_as_bytes(file->value, &bytes, &size) != LC_OK)
		return "bin";
	image = lc__image_sniff(bytes, size);
	return image != LC__IMAGE_NONE ? lc__image_formats[image].extension : "bin";
}

/* Turn the paths into names: KEY.PATH.EXTENSION. */
static lc_status
name_files(lc_id id, struct lc__wds_files *files)
{
	const struct lc__buf paths = files->names;
	struct lc__buf names = { 0 };

	for (size_t i = 0; i < files->count; i++) {
		const char *path = (const char *)paths.data + files->files[i].name;
		const struct lc__wds_file *file = &files->files[i];
		const char *extension;

		if (files->count > 1 && names_its_type(file, path))
			extension = "";
		else if (file->form == LC__WDS_AS_BYTES)
			extension = extension_of_bytes(file, path);
		else
			extension = file->form == LC__WDS_AS_NPY ? "npy"
			    : file->form == LC__WDS_AS_TEXT      ? "txt"
								 : "json";
		files->files[i].name = names.size;
		lc__buf_append(&names, id.data, id.size);
		lc__buf_printf(&names, ".%s%s%s", path,
		    *path != '\0' && *extension != '\0' ? "." : "", extension);
		lc__buf_append(&names, "", 1);
	}
	lc__buf_free(&files->names);
	files->names = names;
	return names.failed ? lc__no_memory(NULL) : LC_OK;
}

static int
by_lower_case(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* Some readers compare in lower case: for them names that differ only in case are
 * equal. */
static lc_status
check_twice(const struct lc__wds_files *files)
{
	const char **names = calloc(files->count, sizeof(*names));
	lc_status status = LC_OK;

	if (names == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < files->count; i++)
		names[i] = lc__wds_file_name(files, i);
	qsort(names, files->count, sizeof(*names), by_lower_case);
	for (size_t i = 1; i < files->count && status == LC_OK; i++)
		if (strcasecmp(names[i - 1], names[i]) == 0)
			status = lc__error(LC_UNSUPPORTED, 0,
			    "%s and %s are one name for WebDataset",
			    lc__quote_id(names[i - 1], strlen(names[i - 1])),
			    lc__quote_id(names[i], strlen(names[i])));
	free(names);
	return status;
}

/* Would a reader find this cache_id in the names of the record's files? */
static lc_status
check_id(lc_id id, const struct lc__wds_files *files)
{
	const char *fault = lc__name_fault(LC__NAME_MEMBER, id.data, id.size, "");
	size_t size = 0;

	if (fault == NULL &&
	    (memchr(id.data, '\n', id.size) != NULL ||
		memchr(id.data, '\r', id.size) != NULL))
		fault = "it has a line break";
	for (size_t i = 0; i < files->count && fault == NULL; i++) {
		const char *name = lc__wds_file_name(files, i);

		if (!lc__wds_split(name, &size))
			fault = "nothing is between its last slash and the extension";
		else if (size != id.size)
			fault = "it would end at the first dot after its last slash";
		else if (lc__wds_is_meta(name))
			fault = "names between double underscores are skipped";
	}
	return fault == NULL
	    ? LC_OK
	    : lc__error(LC_UNSUPPORTED, 0, "WebDataset cannot have this key: %s", fault);
}

lc_status
lc__wds_layout(lc_id id, const lc_value *value, struct lc__wds_files *out)
{
	struct layout l = { .out = out };
	lc_status status;

	out->count = 0;
	out->names.size = 0;
	status = walk(&l, value);
	lc__buf_free(&l.path);
	if (status == LC_OK)
		status = name_files(id, out);
	if (status == LC_OK)
		status = check_id(id, out);
	if (status == LC_OK)
		status = check_twice(out);
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s", lc__quote_id(id.data, id.size));
}

const char *
lc__wds_file_name(const struct lc__wds_files *files, size_t i)
{
	return (const char *)files->names.data + files->files[i].name;
}

void
lc__wds_files_free(struct lc__wds_files *files)
{
	free(files->files);
	lc__buf_free(&files->names);
	memset(files, 0, sizeof(*files));
}

/* ---- bytes ----------------------------------------------------------------------------- */

lc_status
lc__wds_file_bytes(const struct lc__wds_file *file, bool bits, struct lc__buf *head,
    const void **data, size_t *size)
{
	lc_tensor tensor;
	char *text;
	bool done;

	*data = NULL;
	*size = 0;
	switch (file->form) {
	case LC__WDS_AS_NPY:
		return_if_error(lc_value_as_tensor(file->value, &tensor));
		*data = tensor.data;
		*size = tensor.nbytes;
		return lc__npy_encode_header(&tensor, bits, head);
	case LC__WDS_AS_TEXT:
		return lc_value_as_str(file->value, (const char **)data, size);
	case LC__WDS_AS_BYTES: return lc_value_as_bytes(file->value, data, size);
	default:
		text = lc__value_json_text(file->value);
		done = text != NULL && lc__buf_append(head, text, strlen(text)) != NULL;
		free(text);
		return done ? LC_OK : lc__no_memory(NULL);
	}
}
