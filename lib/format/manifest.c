/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/manifest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_tree.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "value/dtype.h"

#define NEWEST_SHARD 2

/* The digest is on the second line of the text: DIGEST_HEAD (which includes the first
 * line), 64 hex digits and DIGEST_TAIL. It is the SHA-256 of the text without that
 * line. */
#define DIGEST "manifest_sha256"
#define FIRST_LINE "{\n"
#define DIGEST_HEAD FIRST_LINE "  \"" DIGEST "\": \""
#define DIGEST_TAIL "\",\n"
#define DIGEST_SIZE (sizeof(DIGEST_HEAD) - 1 + 64 + sizeof(DIGEST_TAIL) - 1)

/* ---- the digest ------------------------------------------------------------- */

/* The digest of a manifest whose text continues with @p rest after its second line. */
static lc_status
digest_of(const char *rest, size_t size, char out[65])
{
	struct lc__checksum *sha;
	lc_status status;

	if (lc__checksum_new("sha256", &sha) != LC_OK)
		return lc__error_prefix("manifest");
	status = lc__checksum_update(sha, FIRST_LINE, strlen(FIRST_LINE));
	if (status == LC_OK)
		status = lc__checksum_update(sha, rest, size);
	if (status == LC_OK)
		status = lc__checksum_hex(sha, out);
	lc__checksum_free(sha);
	return status;
}

/* ---- reading --------------------------------------------------------------- */

/* The object in which fields are looked up, and the start of its messages. */
struct scope {
	const char *name;            /* the file */
	const struct lc__json *json; /* the object */
	const char *list;            /* the array that it is in; NULL for the top */
	size_t at;                   /* its index there */
};

static lc_status
bad_field(const struct scope *s, const char *key, const char *what)
{
	if (s->list != NULL)
		return lc__error(LC_CORRUPT, 0, "%s: %s[%zu]: %s %s", s->name, s->list,
		    s->at, key, what);
	return lc__error(LC_CORRUPT, 0, "%s: %s %s", s->name, key, what);
}

static lc_status
get_string(const struct scope *s, const char *key, char **out)
{
	const struct lc__json *value = lc__json_get(s->json, key);

	if (!lc__json_is(value, LC__JSON_STRING))
		return bad_field(s, key, value ? "is not a string" : "is missing");
	*out = strdup(value->string);
	return *out != NULL ? LC_OK : lc__no_memory(s->name);
}

static lc_status
get_number(const struct scope *s, const char *key, uint64_t limit, uint64_t *out)
{
	const struct lc__json *value = lc__json_get(s->json, key);
	uint64_t number;

	if (!lc__json_is_integer(value))
		return bad_field(s, key, value ? "is not an integer" : "is missing");
	if (!lc__json_uint64(value, &number) || number > limit)
		return bad_field(s, key, "is out of range");
	*out = number;
	return LC_OK;
}

static lc_status
get_u32(const struct scope *s, const char *key, uint32_t *out)
{
	uint64_t v;

	return_if_error(get_number(s, key, UINT32_MAX, &v));
	*out = (uint32_t)v;
	return LC_OK;
}

/* Any JSON value, as text without blanks; null if it is absent. */
static lc_status
get_json(const struct scope *s, const char *key, char **out)
{
	const struct lc__json *value = lc__json_get(s->json, key);
	struct lc__buf text = { 0 };

	if (value != NULL)
		lc__json_put_compact(&text, value->source);
	else
		lc__buf_printf(&text, "null");
	lc__buf_append(&text, "", 1);
	if (text.failed) {
		lc__buf_free(&text);
		return lc__no_memory(s->name);
	}
	*out = (char *)text.data;
	return LC_OK;
}

static lc_status
get_version(const struct scope *s, const char *key, uint32_t *out)
{
	return_if_error(get_u32(s, key, out));
	if (*out > NEWEST_SHARD)
		return lc__error(LC_VERSION, 0, "%s: %s %u is newer than this library",
		    s->name, key, *out);
	return *out > 0 ? LC_OK : bad_field(s, key, "is 0");
}

static void
change_case(char *text, int (*change)(int))
{
	for (; *text != '\0'; text++)
		*text = (char)change((unsigned char)*text);
}

/* "F32": our name in upper case, and only so. */
static lc_status
get_dtype(const struct scope *s, const char *key, lc_dtype *out)
{
	char *text;
	bool found = false;

	return_if_error(get_string(s, key, &text));
	for (int i = 0; i < LC_DTYPE_COUNT && !found; i++) {
		char name[LC__DTYPE_TEXT];
		strcpy(name, lc_dtype_name((lc_dtype)i));
		change_case(name, toupper);
		found = strcmp(name, text) == 0;
		if (found)
			*out = (lc_dtype)i;
	}
	free(text);
	return found ? LC_OK : bad_field(s, key, "is not a known dtype");
}

/* Optional: absent, null and empty all mean "not known". Room for a terminator. */
static lc_status
get_hex(const struct scope *s, const char *key, size_t digits, char *out)
{
	const struct lc__json *value = lc__json_get(s->json, key);
	const char *text = lc__json_text(value);
	char what[40];

	out[0] = '\0';
	if (value == NULL || lc__json_is(value, LC__JSON_NULL) || (text && *text == '\0'))
		return LC_OK;
	if (text == NULL || strlen(text) != digits ||
	    strspn(text, "0123456789abcdefABCDEF") != digits) {
		snprintf(what, sizeof(what), "is not %zu hex digits", digits);
		return bad_field(s, key, what);
	}
	strcpy(out, text);
	change_case(out, tolower);
	return LC_OK;
}

bool
lc__manifest_path_ok(const char *path)
{
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (path[n] == '\0')
			return true;
	}
}

bool
lc__manifest_part_path_ok(const char *path)
{
	while (strncmp(path, "../", 3) == 0)
		path += 3;
	return lc__manifest_path_ok(path);
}

/* A directory: that of the manifest, one above it, or one next to or below those. */
static bool
base_ok(const char *path)
{
	if (*path == '\0' || strcmp(path, ".") == 0)
		return true;
	while (strncmp(path, "../", 3) == 0)
		path += 3;
	return strcmp(path, "..") == 0 || lc__manifest_path_ok(path);
}

static lc_status
get_layout(const struct scope *s, struct lc__manifest_layout *out)
{
	if (!lc__json_is(s->json, LC__JSON_OBJECT))
		return lc__error(LC_CORRUPT, 0, "%s: layout is %s", s->name,
		    s->json ? "not an object" : "missing");
	return_if_error(get_u32(s, "width", &out->width));
	return_if_error(get_u32(s, "height", &out->height));
	return_if_error(get_u32(s, "channels", &out->channels));
	return_if_error(get_u32(s, "max_boxes", &out->max_boxes));
	return_if_error(get_dtype(s, "dtype", &out->dtype));
	out->boxes_dtype = out->dtype;
	if (lc__json_get(s->json, "boxes_dtype") != NULL)
		return get_dtype(s, "boxes_dtype", &out->boxes_dtype);
	return LC_OK;
}

static lc_status
get_shard(const struct scope *s, struct lc__manifest_shard *out)
{
	const char *order = lc__json_text(lc__json_get(s->json, "endianness"));
	const uint64_t limit = INT64_MAX;

	if (!lc__json_is(s->json, LC__JSON_OBJECT))
		return bad_field(s, "entry", "is not an object");
	return_if_error(get_string(s, "id", &out->id));
	return_if_error(get_string(s, "relative_path", &out->relative_path));
	if (!lc__manifest_path_ok(out->relative_path))
		return bad_field(s, "relative_path",
		    "does not stay inside the directory");
	return_if_error(get_version(s, "shard_version", &out->shard_version));
	return_if_error(get_number(s, "samples", limit, &out->samples));
	return_if_error(get_u32(s, "width", &out->width));
	return_if_error(get_u32(s, "height", &out->height));
	return_if_error(get_u32(s, "channels", &out->channels));
	return_if_error(get_u32(s, "max_boxes", &out->max_boxes));
	return_if_error(get_dtype(s, "dtype", &out->dtype));
	if (order == NULL || (strcmp(order, "Little") != 0 && strcmp(order, "Big") != 0))
		return bad_field(s, "endianness", "is neither Little nor Big");
	out->big_endian = *order == 'B';
	out->boxes_dtype = out->dtype;
	if (lc__json_get(s->json, "boxes_dtype") != NULL)
		return_if_error(get_dtype(s, "boxes_dtype", &out->boxes_dtype));
	return_if_error(get_hex(s, "checksum_sha256", 64, out->sha256));
	return_if_error(get_hex(s, "checksum_xxh3", 32, out->xxh3));
	return_if_error(get_hex(s, "section_xxh3", 16, out->section_xxh3));
	return_if_error(get_hex(s, "samples_hash", 32, out->samples_hash));
	out->has_bytes = lc__json_get(s->json, "bytes") != NULL;
	if (out->has_bytes)
		return_if_error(get_number(s, "bytes", limit, &out->bytes));
	return LC_OK;
}

static int
by_path(const void *a, const void *b)
{
	const struct lc__manifest_shard *const *x = a, *const *y = b;

	return strcmp((*x)->relative_path, (*y)->relative_path);
}

/* The same file twice would be verified and counted twice. In a store, where files are
 * named by their content, equal shards are one file, and both count. */
static lc_status
check_distinct(const char *name, const struct lc__manifest *m)
{
	const struct lc__manifest_shard **shards = calloc(m->n ? m->n : 1,
	    sizeof(*shards));
	lc_status status = LC_OK;

	if (shards == NULL)
		return lc__no_memory(name);
	for (size_t i = 0; i < m->n; i++)
		shards[i] = &m->shards[i];
	qsort(shards, m->n, sizeof(*shards), by_path);
	for (size_t i = 1; i < m->n && status == LC_OK; i++)
		if (by_path(&shards[i - 1], &shards[i]) == 0 &&
		    (shards[i]->sha256[0] == '\0' ||
			strcmp(shards[i - 1]->sha256, shards[i]->sha256) != 0))
			status = lc__error(LC_CORRUPT, 0, "%s: shard %s is listed twice",
			    name, shards[i]->relative_path);
	free(shards);
	return status;
}

static lc_status
get_shards(const struct scope *top, struct lc__manifest *m)
{
	const struct lc__json *list = lc__json_get(top->json, "shards"), *item;

	m->shards = calloc(list->count ? list->count : 1, sizeof(*m->shards));
	if (m->shards == NULL)
		return lc__no_memory(top->name);
	lc__json_each(item, list)
	{
		const struct scope s = { top->name, item, "shards", m->n };
		/* Counted before it is filled, so that a half-read entry is freed as
		 * well. */
		return_if_error(get_shard(&s, &m->shards[m->n++]));
	}
	return check_distinct(top->name, m);
}

/* There is a count for each shard, and their sum is the number of samples. */
static lc_status
check_counts(const struct scope *s, const struct lc__manifest_part *part)
{
	uint64_t shards = 0, samples = 0, each, n;
	const char *at = part->counts;

	while (lc__manifest_counts_next(&at, &each, &n)) {
		shards += n;
		if (n == 0 || n > LC__MANIFEST_PART_LIMIT || shards > part->shards ||
		    !lc__mul64(each, n, &each) || !lc__add64(samples, each, &samples))
			return bad_field(s, "counts", "is out of range");
	}
	if (*at != '\0')
		return bad_field(s, "counts", "is not a list of numbers");
	if (shards != part->shards)
		return bad_field(s, "counts", "does not have as many shards as the part");
	if (samples != part->samples)
		return bad_field(s, "counts", "does not sum up to its samples");
	return LC_OK;
}

static lc_status
get_part(const struct scope *s, struct lc__manifest_part *out)
{
	if (!lc__json_is(s->json, LC__JSON_OBJECT))
		return bad_field(s, "entry", "is not an object");
	return_if_error(get_string(s, "relative_path", &out->relative_path));
	if (!lc__manifest_part_path_ok(out->relative_path))
		return bad_field(s, "relative_path", "is not a path of a part");
	return_if_error(get_string(s, "base", &out->base));
	if (!base_ok(out->base))
		return bad_field(s, "base", "is not a path of a directory");
	return_if_error(get_hex(s, "sha256", 64, out->sha256));
	if (out->sha256[0] == '\0')
		return bad_field(s, "sha256", "is missing");
	return_if_error(get_number(s, "samples", INT64_MAX, &out->samples));
	return_if_error(get_number(s, "bytes", INT64_MAX, &out->bytes));
	return_if_error(get_number(s, "shards", LC__MANIFEST_PART_LIMIT, &out->shards));
	return_if_error(get_string(s, "counts", &out->counts));
	return check_counts(s, out);
}

static lc_status
get_parts(const struct scope *top, struct lc__manifest *m)
{
	const struct lc__json *list = lc__json_get(top->json, "parts"), *item;
	const struct scope layout = {
		.name = top->name,
		.json = lc__json_get(top->json, "layout"),
	};
	uint64_t shards = 0, samples = 0, bytes = 0;

	return_if_error(get_layout(&layout, &m->layout));
	m->parts = calloc(list->count ? list->count : 1, sizeof(*m->parts));
	if (m->parts == NULL)
		return lc__no_memory(top->name);
	lc__json_each(item, list)
	{
		const struct scope s = { top->name, item, "parts", m->n_parts };
		/* Counted before it is filled, so that a half-read entry is freed as
		 * well. */
		struct lc__manifest_part *part = &m->parts[m->n_parts++];

		return_if_error(get_part(&s, part));
		shards += part->shards;
		samples += part->samples;
		bytes += part->bytes;
		if (shards > LC__MANIFEST_SHARDS_LIMIT || samples > INT64_MAX ||
		    bytes > INT64_MAX)
			return bad_field(&s, "entry", "is one too many");
	}
	return LC_OK;
}

/* The version decides whether a manifest has shards or parts. */
static lc_status
get_kind(const struct scope *s, struct lc__manifest *m)
{
	const struct lc__json *shards = lc__json_get(s->json, "shards");
	const struct lc__json *parts = lc__json_get(s->json, "parts");

	if (!lc__json_is(shards != NULL ? shards : parts, LC__JSON_ARRAY))
		return lc__error(LC_NOT_MODULE, 0, "%s: not a shard manifest", s->name);
	if (lc__json_get(s->json, "manifest_version") != NULL)
		return_if_error(get_u32(s, "manifest_version", &m->manifest_version));
	if (m->manifest_version > LC__MANIFEST_OF_PARTS)
		return lc__error(LC_VERSION, 0,
		    "%s: manifest_version %u is newer than this library", s->name,
		    m->manifest_version);
	if (m->manifest_version == LC__MANIFEST_OF_PARTS ? shards != NULL : !shards)
		return lc__error(LC_CORRUPT, 0,
		    "%s: a manifest of version %u does not have %s", s->name,
		    m->manifest_version, shards != NULL ? "shards" : "parts");
	return LC_OK;
}

static lc_status
get_manifest(const struct scope *s, struct lc__manifest *m)
{
	return_if_error(get_kind(s, m));
	return_if_error(get_string(s, "dataset_root", &m->dataset_root));
	return_if_error(get_json(s, "transform", &m->transform));
	return_if_error(get_string(s, "version", &m->version));
	return_if_error(get_string(s, "version_recipe", &m->version_recipe));
	return_if_error(get_string(s, "code_version", &m->code_version));
	return_if_error(get_dtype(s, "default_dtype", &m->default_dtype));
	return_if_error(
	    get_version(s, "default_shard_version", &m->default_shard_version));
	return_if_error(get_number(s, "created_at_ms", INT64_MAX, &m->created_at_ms));
	return_if_error(get_json(s, "thresholds", &m->thresholds));
	return_if_error(get_json(s, "summary", &m->summary));
	if (lc__json_get(s->json, "warehouse") != NULL)
		return_if_error(get_json(s, "warehouse", &m->warehouse));
	if (lc__json_get(s->json, "export_state") != NULL)
		return_if_error(get_string(s, "export_state", &m->export_state));
	return m->manifest_version == LC__MANIFEST_OF_PARTS ? get_parts(s, m)
							    : get_shards(s, m);
}

/* Our own manifests have a digest. Those of other programs may have one; then it is
 * checked: each byte of the second line against its form, all other bytes by the
 * digest. */
static lc_status
check_unchanged(const struct scope *s, const struct lc__manifest *m, const char *text,
    size_t size)
{
	const char *const hex = text + strlen(DIGEST_HEAD);
	char digest[65];

	if (lc__json_get(s->json, DIGEST) == NULL) {
		if (m->manifest_version == 0 && m->warehouse == NULL &&
		    m->export_state == NULL)
			return LC_OK;
		return lc__error(LC_CORRUPT, 0,
		    "%s: " DIGEST " is missing: the file was changed after it "
		    "was written; restore it or create it again",
		    s->name);
	}
	if (size >= DIGEST_SIZE && memcmp(text, DIGEST_HEAD, strlen(DIGEST_HEAD)) == 0 &&
	    memcmp(hex + 64, DIGEST_TAIL, strlen(DIGEST_TAIL)) == 0) {
		return_if_error(
		    digest_of(text + DIGEST_SIZE, size - DIGEST_SIZE, digest));
		if (memcmp(hex, digest, 64) == 0)
			return LC_OK;
	}
	return lc__error(LC_CORRUPT, 0,
	    "%s: the file was changed after it "
	    "was written (wrong " DIGEST "); restore it or create it again",
	    s->name);
}

lc_status
lc__manifest_parse_any(const void *text, size_t size, const char *name,
    struct lc__manifest *out)
{
	struct lc__manifest m = { 0 };
	struct lc__json_tree tree = { 0 };
	lc_status status = lc__json_parse(text, size, NULL, &tree);
	const struct scope top = { .name = name, .json = tree.values };

	if (status == LC_NO_MEMORY)
		status = lc__no_memory(name);
	else if (status != LC_OK)
		status = lc__error(LC_CORRUPT, 0, "%s: line %zu: %s", name, tree.line,
		    tree.wrong);
	else
		status = get_manifest(&top, &m);
	if (status == LC_OK)
		status = check_unchanged(&top, &m, text, size);
	lc__json_free(&tree);
	if (status == LC_OK)
		*out = m;
	else
		lc__manifest_free(&m);
	return status;
}

lc_status
lc__manifest_parse(const void *text, size_t size, const char *name,
    struct lc__manifest *out)
{
	struct lc__manifest m;

	return_if_error(lc__manifest_parse_any(text, size, name, &m));
	if (m.manifest_version == LC__MANIFEST_OF_PARTS) {
		lc__manifest_free(&m);
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: is a manifest of parts; a manifest of shards is needed", name);
	}
	*out = m;
	return LC_OK;
}

void
lc__manifest_free(struct lc__manifest *m)
{
	for (size_t i = 0; i < m->n_parts; i++) {
		free(m->parts[i].relative_path);
		free(m->parts[i].base);
		free(m->parts[i].counts);
	}
	free(m->parts);
	for (size_t i = 0; i < m->n; i++) {
		free(m->shards[i].id);
		free(m->shards[i].relative_path);
	}
	free(m->shards);
	free(m->dataset_root);
	free(m->transform);
	free(m->version);
	free(m->version_recipe);
	free(m->code_version);
	free(m->thresholds);
	free(m->summary);
	free(m->warehouse);
	free(m->export_state);
	memset(m, 0, sizeof(*m));
}

/* ---- writing --------------------------------------------------------------- */

/* Text without blanks that lc__json_put_indented() lays out. */
struct writer {
	struct lc__buf text;
	const char *wrong; /* the first member that cannot be written, and the reason */
};

static void
put_key(struct writer *w, const char *key)
{
	const unsigned char last = w->text.size > 0 ? w->text.data[w->text.size - 1]
						    : '{';

	lc__buf_printf(&w->text, "%s\"%s\":", last == '{' ? "" : ",", key);
}

static void
put_string(struct writer *w, const char *key, const char *text)
{
	const char *value = text != NULL ? text : "";

	if (!lc__utf8_valid(value, strlen(value)))
		w->wrong = "a text is not UTF-8";
	put_key(w, key);
	lc__json_put_string(&w->text, value, strlen(value), LC__JSON_LETTERS);
}

static void
put_dtype(struct writer *w, const char *key, lc_dtype dtype)
{
	char name[LC__DTYPE_TEXT];

	strcpy(name, lc_dtype_name(dtype));
	change_case(name, toupper);
	put_string(w, key, name);
}

static void
put_number(struct writer *w, const char *key, uint64_t number)
{
	put_key(w, key);
	lc__buf_printf(&w->text, "%llu", (unsigned long long)number);
}

/* A value that is JSON already; NULL becomes null. */
static void
put_json(struct writer *w, const char *key, const char *json)
{
	const char *text = json != NULL ? json : "null";
	struct lc__json_scan scan = {
		.at = text,
		.begin = text,
		.end = text + strlen(text),
	};

	if (!lc__json_skip_value(&scan) || lc__json_peek(&scan) != -1)
		w->wrong = "a text is not JSON";
	put_key(w, key);
	lc__json_put_compact(&w->text, (struct lc__json_slice){ text, strlen(text) });
}

static void
put_shard(struct writer *w, const struct lc__manifest_shard *s)
{
	put_string(w, "id", s->id);
	put_string(w, "relative_path", s->relative_path);
	put_number(w, "shard_version", s->shard_version);
	put_number(w, "samples", s->samples);
	put_number(w, "width", s->width);
	put_number(w, "height", s->height);
	put_number(w, "channels", s->channels);
	put_number(w, "max_boxes", s->max_boxes);
	put_dtype(w, "dtype", s->dtype);
	put_string(w, "endianness", s->big_endian ? "Big" : "Little");
	if (s->sha256[0])
		put_string(w, "checksum_sha256", s->sha256);
	else
		put_json(w, "checksum_sha256", NULL);
	if (s->has_bytes)
		put_number(w, "bytes", s->bytes);
	if (s->boxes_dtype != s->dtype)
		put_dtype(w, "boxes_dtype", s->boxes_dtype);
	if (s->xxh3[0])
		put_string(w, "checksum_xxh3", s->xxh3);
	if (s->section_xxh3[0])
		put_string(w, "section_xxh3", s->section_xxh3);
	if (s->samples_hash[0])
		put_string(w, "samples_hash", s->samples_hash);
}

static void
put_part(struct writer *w, const struct lc__manifest_part *part)
{
	put_string(w, "relative_path", part->relative_path);
	put_string(w, "base", part->base);
	put_string(w, "sha256", part->sha256);
	put_number(w, "samples", part->samples);
	put_number(w, "bytes", part->bytes);
	put_number(w, "shards", part->shards);
	put_string(w, "counts", part->counts);
}

static void
put_parts(struct writer *w, const struct lc__manifest *m)
{
	const struct lc__manifest_layout *layout = &m->layout;

	put_key(w, "layout");
	lc__buf_append(&w->text, "{", 1);
	put_number(w, "width", layout->width);
	put_number(w, "height", layout->height);
	put_number(w, "channels", layout->channels);
	put_number(w, "max_boxes", layout->max_boxes);
	put_dtype(w, "dtype", layout->dtype);
	if (layout->boxes_dtype != layout->dtype)
		put_dtype(w, "boxes_dtype", layout->boxes_dtype);
	lc__buf_append(&w->text, "}", 1);
	put_key(w, "parts");
	for (size_t i = 0; i < m->n_parts; i++) {
		lc__buf_append(&w->text, i > 0 ? ",{" : "[{", 2);
		put_part(w, &m->parts[i]);
		lc__buf_append(&w->text, "}", 1);
	}
	lc__buf_append(&w->text, m->n_parts > 0 ? "]" : "[]", m->n_parts > 0 ? 1 : 2);
}

static void
put_shards(struct writer *w, const struct lc__manifest *m)
{
	put_key(w, "shards");
	for (size_t i = 0; i < m->n; i++) {
		lc__buf_append(&w->text, i > 0 ? ",{" : "[{", 2);
		put_shard(w, &m->shards[i]);
		lc__buf_append(&w->text, "}", 1);
	}
	lc__buf_append(&w->text, m->n > 0 ? "]" : "[]", m->n > 0 ? 1 : 2);
}

static void
put_manifest(struct writer *w, const struct lc__manifest *m)
{
	lc__buf_append(&w->text, "{", 1);
	put_string(w, "dataset_root", m->dataset_root);
	put_json(w, "transform", m->transform);
	put_string(w, "version", m->version);
	put_string(w, "version_recipe", m->version_recipe);
	put_string(w, "code_version", m->code_version);
	put_dtype(w, "default_dtype", m->default_dtype);
	put_number(w, "default_shard_version", m->default_shard_version);
	put_number(w, "created_at_ms", m->created_at_ms);
	put_json(w, "thresholds", m->thresholds);
	put_json(w, "summary", m->summary);
	if (m->manifest_version == LC__MANIFEST_OF_PARTS)
		put_parts(w, m);
	else
		put_shards(w, m);
	if (m->warehouse != NULL)
		put_json(w, "warehouse", m->warehouse);
	if (m->manifest_version != 0)
		put_number(w, "manifest_version", m->manifest_version);
	if (m->export_state != NULL)
		put_string(w, "export_state", m->export_state);
	lc__buf_append(&w->text, "}", 1);
}

lc_status
lc__manifest_format(const struct lc__manifest *manifest, struct lc__buf *out)
{
	struct writer w = { .wrong = NULL };
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;

	put_manifest(&w, manifest);
	if (!w.text.failed)
		lc__json_put_indented(&text,
		    (struct lc__json_slice){ (const char *)w.text.data, w.text.size });
	lc__buf_append(&text, "\n", 1);
	if (w.wrong != NULL) {
		status = lc__error(LC_INVALID, 0, "manifest: %s", w.wrong);
	} else if (w.text.failed || text.failed) {
		status = lc__no_memory("manifest");
	} else {
		/* The text with its digest as the second line. */
		const char *const rest = (const char *)text.data + strlen(FIRST_LINE);
		const size_t size = text.size - strlen(FIRST_LINE);
		char digest[65];

		status = digest_of(rest, size, digest);
		if (status == LC_OK) {
			lc__buf_printf(out, DIGEST_HEAD "%s" DIGEST_TAIL, digest);
			lc__buf_append(out, rest, size);
			if (out->failed)
				status = lc__no_memory("manifest");
		}
	}
	lc__buf_free(&w.text);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__manifest_quote(const char *text, struct lc__buf *out)
{
	if (!lc__utf8_valid(text, strlen(text)))
		return lc__error(LC_INVALID, 0, "%s is not UTF-8",
		    lc__quote_id(text, strlen(text)));
	lc__json_put_string(out, text, strlen(text), LC__JSON_LETTERS);
	return out->failed ? lc__no_memory("manifest") : LC_OK;
}

/* ---- parts ----------------------------------------------------------------- */

/* A number at *at, which moves past it. */
static bool
next_number(const char **at, uint64_t *out)
{
	const char *const begin = *at;
	uint64_t number = 0;

	for (; **at >= '0' && **at <= '9'; ++*at) {
		const unsigned digit = (unsigned)(**at - '0');

		if (number > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out = number;
	return *at > begin;
}

bool
lc__manifest_counts_next(const char **at, uint64_t *samples, uint64_t *shards)
{
	const char *p = *at;
	uint64_t n = 1;

	if (!next_number(&p, samples) || (*p == 'x' && (p++, !next_number(&p, &n))) ||
	    (*p != '\0' && (*p != ' ' || *++p == '\0')))
		return false;
	*shards = n;
	*at = p;
	return true;
}

char *
lc__manifest_part_base(const char *dir, const struct lc__manifest_part *part)
{
	char *path;

	if (*part->base != '\0')
		return lc__path_join(dir, part->base);
	path = lc__path_join(dir, part->relative_path);
	if (path != NULL)
		*strrchr(path, '/') = '\0';
	return path;
}

static void
put_run(struct lc__buf *counts, uint64_t samples, uint64_t shards)
{
	if (shards == 0)
		return;
	lc__buf_printf(counts, "%s%llu", counts->size > 0 ? " " : "",
	    (unsigned long long)samples);
	if (shards > 1)
		lc__buf_printf(counts, "x%llu", (unsigned long long)shards);
}

lc_status
lc__manifest_describe_part(const struct lc__manifest *m, const char *name,
    struct lc__manifest_part *out)
{
	struct lc__manifest_part part = { .shards = m->n };
	struct lc__buf counts = { 0 };
	uint64_t each = 0, run = 0;

	if (m->n > LC__MANIFEST_PART_LIMIT)
		return lc__error(LC_INVALID, 0, "%s: has more than %llu shards", name,
		    (unsigned long long)LC__MANIFEST_PART_LIMIT);
	for (size_t i = 0; i < m->n; i++, run++) {
		const struct lc__manifest_shard *s = &m->shards[i];

		/* Each is at most INT64_MAX, so a sum cannot wrap before it is
		 * checked. */
		part.samples += s->samples;
		part.bytes += s->bytes;
		if (part.samples > INT64_MAX || part.bytes > INT64_MAX) {
			lc__buf_free(&counts);
			return lc__error(LC_INVALID, 0, "%s: has too many samples", name);
		}
		if (s->samples != each) {
			put_run(&counts, each, run);
			each = s->samples;
			run = 0;
		}
	}
	put_run(&counts, each, run);
	lc__buf_append(&counts, "", 1);
	if (counts.failed) {
		lc__buf_free(&counts);
		return lc__no_memory(name);
	}
	part.counts = (char *)counts.data;
	*out = part;
	return LC_OK;
}

struct lc__manifest_layout
lc__manifest_shard_layout(const struct lc__manifest_shard *s)
{
	return (struct lc__manifest_layout){ s->width, s->height, s->channels,
		s->max_boxes, s->dtype, s->boxes_dtype };
}

const char *
lc__manifest_layout_differs(const struct lc__manifest_layout *a,
    const struct lc__manifest_layout *b)
{
	if (a->dtype != b->dtype)
		return "dtype";
	if (a->channels != b->channels)
		return "channels";
	if (a->height != b->height)
		return "height";
	if (a->width != b->width)
		return "width";
	if (a->max_boxes != b->max_boxes)
		return "max_boxes";
	return a->max_boxes > 0 && a->boxes_dtype != b->boxes_dtype ? "boxes_dtype"
								    : NULL;
}

lc_status
lc__manifest_layout_of(const struct lc__manifest *m, const char *name,
    struct lc__manifest_layout *out)
{
	struct lc__manifest_layout first;

	if (m->n == 0)
		return lc__error(LC_INVALID, 0, "%s: has no shards", name);
	first = lc__manifest_shard_layout(&m->shards[0]);
	for (size_t i = 1; i < m->n; i++) {
		const struct lc__manifest_layout other = lc__manifest_shard_layout(
		    &m->shards[i]);
		const char *differs = lc__manifest_layout_differs(&first, &other);

		if (differs != NULL)
			return lc__error(LC_INVALID, 0,
			    "%s: %s: its %s is not that of %s", name,
			    m->shards[i].relative_path, differs,
			    m->shards[0].relative_path);
	}
	*out = first;
	return LC_OK;
}

/* ---- a part's file --------------------------------------------------------- */

/* Check that the part has the number of shards, the samples in each, and the layout that
 * the set's manifest says. Its digest was checked before, but the program that wrote the
 * set's manifest may have made a mistake. */
static lc_status
check_part(const struct lc__manifest *set, const struct lc__manifest_part *said,
    const char *path, const struct lc__manifest *m)
{
	struct lc__manifest_layout layout;
	const char *counts = said->counts, *differs;
	uint64_t samples = 0, same = 0;

	if (m->n != said->shards)
		return lc__error(LC_CORRUPT, 0,
		    "%s: has %zu shards, the manifest that names it says %llu", path,
		    m->n, (unsigned long long)said->shards);
	for (size_t i = 0; i < m->n; i++, same--) {
		/* The counts cover as many shards: that was checked when they were
		 * read. */
		if (same == 0)
			(void)lc__manifest_counts_next(&counts, &samples, &same);
		if (m->shards[i].samples != samples)
			return lc__error(LC_CORRUPT, 0,
			    "%s: %s: samples is %llu, the manifest that names it says %llu",
			    path, m->shards[i].relative_path,
			    (unsigned long long)m->shards[i].samples,
			    (unsigned long long)samples);
	}
	if (m->n == 0)
		return LC_OK;
	return_if_error(lc__manifest_layout_of(m, path, &layout));
	differs = lc__manifest_layout_differs(&layout, &set->layout);
	if (differs != NULL)
		return lc__error(LC_CORRUPT, 0,
		    "%s: its %s is not that of the manifest that names it", path,
		    differs);
	return LC_OK;
}

lc_status
lc__manifest_read_part(const struct lc__manifest *set,
    const struct lc__manifest_part *said, const char *path, struct lc__manifest *out)
{
	struct lc__manifest m = { 0 };
	struct lc__buf text = { 0 };
	char sha256[65];
	lc_status status = lc__read_regular(path, LC__MANIFEST_PART_BYTES, &text);

	if (status == LC_OK)
		status = lc__sha256_of(text.data, text.size, sha256);
	if (status == LC_OK && strcmp(sha256, said->sha256) != 0)
		status = lc__error(LC_CORRUPT, 0,
		    "%s: SHA-256 differs from the manifest that names it", path);
	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, path, &m);
	lc__buf_free(&text);
	if (status == LC_OK)
		status = check_part(set, said, path, &m);
	if (status == LC_OK) {
		*out = m;
		return LC_OK;
	}
	lc__manifest_free(&m);
	if (status == LC_IO || status == LC_NO_MEMORY || status == LC_PERMISSION)
		return status;
	return lc__error_as(LC_CORRUPT);
}
