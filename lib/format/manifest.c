/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/manifest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "format/digits.h"
#include "format/json_parse.h"

#define NEWEST_SHARD 2

/* The digest is the second line of the text, DIGEST_HEAD (with the first line), 64 hex
 * digits and DIGEST_TAIL. It is the SHA-256 of the text without that line. */
#define DIGEST "manifest_sha256"
#define FIRST_LINE "{\n"
#define DIGEST_HEAD FIRST_LINE "  \"" DIGEST "\": \""
#define DIGEST_TAIL "\",\n"
#define DIGEST_SIZE (sizeof(DIGEST_HEAD) - 1 + 64 + sizeof(DIGEST_TAIL) - 1)

/* ---- the digest ------------------------------------------------------------- */

/* The digest of a manifest whose text goes on with @p rest after its second line. */
static lc_status
digest_of(const char *rest, size_t size, char out[65])
{
	struct lc__sha256 *sha;
	lc_status status;

	if (lc__sha256_new(&sha) != LC_OK)
		return lc__error_prefix("manifest");
	status = lc__sha256_update(sha, FIRST_LINE, strlen(FIRST_LINE));
	if (status == LC_OK)
		status = lc__sha256_update(sha, rest, size);
	if (status == LC_OK)
		status = lc__sha256_hex(sha, out);
	lc__sha256_free(sha);
	return status;
}

/* Every byte of the text is checked: those of the second line against its form, all
 * others by the digest. */
static lc_status
check_digest(const char *text, size_t size, const char *name)
{
	const char *const hex = text + strlen(DIGEST_HEAD);
	char digest[65];
	bool same = size >= DIGEST_SIZE &&
	    memcmp(text, DIGEST_HEAD, strlen(DIGEST_HEAD)) == 0 &&
	    memcmp(hex + 64, DIGEST_TAIL, strlen(DIGEST_TAIL)) == 0;

	if (same) {
		return_if_error(digest_of(text + DIGEST_SIZE, size - DIGEST_SIZE, digest));
		same = memcmp(hex, digest, 64) == 0;
	}
	return same ? LC_OK : lc__error(LC_CORRUPT, 0, "%s: it was changed after it was "
	    "written, as its " DIGEST " shows; restore it or make it again", name);
}

/* ---- reading --------------------------------------------------------------- */

/* Where a field is looked for, and what its messages begin with. */
struct scope {
	const char *name;   /* the file */
	const json_t *json; /* the object */
	size_t shard;       /* its place in shards, from 1; 0 for the top */
};

static lc_status
bad_field(const struct scope *s, const char *key, const char *what)
{
	if (s->shard > 0)
		return lc__error(LC_CORRUPT, 0, "%s: shards[%zu]: %s %s", s->name,
		    s->shard - 1, key, what);
	return lc__error(LC_CORRUPT, 0, "%s: %s %s", s->name, key, what);
}

static lc_status
get_string(const struct scope *s, const char *key, char **out)
{
	const json_t *value = json_object_get(s->json, key);

	if (!json_is_string(value))
		return bad_field(s, key, value ? "is not a string" : "is missing");
	*out = strdup(json_string_value(value));
	return *out != NULL ? LC_OK : lc__no_memory(s->name);
}

static lc_status
get_number(const struct scope *s, const char *key, uint64_t limit, uint64_t *out)
{
	const json_t *value = json_object_get(s->json, key);

	if (!json_is_integer(value))
		return bad_field(s, key, value ? "is not an integer" : "is missing");
	if (json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > limit)
		return bad_field(s, key, "is out of range");
	*out = (uint64_t)json_integer_value(value);
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

/* Any JSON value, as text; absent is null. */
static lc_status
get_json(const struct scope *s, const char *key, char **out)
{
	const json_t *value = json_object_get(s->json, key);

	*out = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
	    lc__json_digits(value)) : strdup("null");
	return *out != NULL ? LC_OK : lc__no_memory(s->name);
}

static lc_status
get_version(const struct scope *s, const char *key, uint32_t *out)
{
	return_if_error(get_u32(s, key, out));
	if (*out > NEWEST_SHARD)
		return lc__error(LC_VERSION, 0,
		    "%s: %s %u is newer than this library", s->name, key, *out);
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
		char name[16];
		strcpy(name, lc_dtype_name((lc_dtype)i));
		change_case(name, toupper);
		found = strcmp(name, text) == 0;
		if (found)
			*out = (lc_dtype)i;
	}
	free(text);
	return found ? LC_OK : bad_field(s, key, "is not a known dtype");
}

static lc_status
get_endianness(const struct scope *s, bool *big)
{
	const char *text = json_string_value(json_object_get(s->json, "endianness"));

	if (text == NULL || (strcmp(text, "Little") != 0 && strcmp(text, "Big") != 0))
		return bad_field(s, "endianness", "is neither Little nor Big");
	*big = *text == 'B';
	return LC_OK;
}

/* Optional: absent, null and empty are all "not known". Room for a terminator. */
static lc_status
get_hex(const struct scope *s, const char *key, size_t digits, char *out)
{
	const json_t *value = json_object_get(s->json, key);
	const char *text = json_string_value(value);
	char what[40];

	out[0] = '\0';
	if (value == NULL || json_is_null(value) || (text && *text == '\0'))
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

static lc_status
get_shard(const struct scope *s, struct lc__manifest_shard *out)
{
	uint64_t limit = INT64_MAX;

	if (!json_is_object(s->json))
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
	return_if_error(get_endianness(s, &out->big_endian));
	out->boxes_dtype = out->dtype;
	if (json_object_get(s->json, "boxes_dtype") != NULL)
		return_if_error(get_dtype(s, "boxes_dtype", &out->boxes_dtype));
	return_if_error(get_hex(s, "checksum_sha256", 64, out->sha256));
	return_if_error(get_hex(s, "checksum_xxh3", 32, out->xxh3));
	return_if_error(get_hex(s, "section_xxh3", 16, out->section_xxh3));
	return_if_error(get_hex(s, "samples_hash", 32, out->samples_hash));
	out->has_bytes = json_object_get(s->json, "bytes") != NULL;
	if (out->has_bytes)
		return_if_error(get_number(s, "bytes", limit, &out->bytes));
	return LC_OK;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same file twice would be verified and counted twice. */
static lc_status
check_distinct(const char *name, const struct lc__manifest *m)
{
	char **paths = calloc(m->n ? m->n : 1, sizeof(*paths));
	lc_status status = LC_OK;

	if (paths == NULL)
		return lc__no_memory(name);
	for (size_t i = 0; i < m->n; i++)
		paths[i] = m->shards[i].relative_path;
	qsort(paths, m->n, sizeof(*paths), by_path);
	for (size_t i = 1; i < m->n && status == LC_OK; i++)
		if (strcmp(paths[i - 1], paths[i]) == 0)
			status = lc__error(LC_CORRUPT, 0, "%s: shard %s stands twice",
			    name, paths[i]);
	free(paths);
	return status;
}

static lc_status
get_shards(const struct scope *top, struct lc__manifest *m)
{
	const json_t *list = json_object_get(top->json, "shards");
	const size_t n = json_array_size(list);

	m->shards = calloc(n ? n : 1, sizeof(*m->shards));
	if (m->shards == NULL)
		return lc__no_memory(top->name);
	for (m->n = 0; m->n < n;) {
		const struct scope s = { top->name, json_array_get(list, m->n),
		    m->n + 1 };
		/* Counted first, so that a half-read entry is freed as well. */
		return_if_error(get_shard(&s, &m->shards[m->n++]));
	}
	return check_distinct(top->name, m);
}

static lc_status
get_manifest(const struct scope *s, struct lc__manifest *m)
{
	if (json_object_get(s->json, "manifest_version") != NULL)
		return_if_error(get_u32(s, "manifest_version",
		    &m->manifest_version));
	if (m->manifest_version > LC__MANIFEST_VERSION)
		return lc__error(LC_VERSION, 0,
		    "%s: manifest_version %u is newer than this library", s->name,
		    m->manifest_version);
	return_if_error(get_string(s, "dataset_root", &m->dataset_root));
	return_if_error(get_json(s, "transform", &m->transform));
	return_if_error(get_string(s, "version", &m->version));
	return_if_error(get_string(s, "version_recipe", &m->version_recipe));
	return_if_error(get_string(s, "code_version", &m->code_version));
	return_if_error(get_dtype(s, "default_dtype", &m->default_dtype));
	return_if_error(get_version(s, "default_shard_version",
	    &m->default_shard_version));
	return_if_error(get_number(s, "created_at_ms", INT64_MAX,
	    &m->created_at_ms));
	return_if_error(get_json(s, "thresholds", &m->thresholds));
	return_if_error(get_json(s, "summary", &m->summary));
	if (json_object_get(s->json, "warehouse") != NULL)
		return_if_error(get_json(s, "warehouse", &m->warehouse));
	if (json_object_get(s->json, "export_state") != NULL)
		return_if_error(get_string(s, "export_state", &m->export_state));
	return get_shards(s, m);
}

/* Our own manifests have a digest. Those of other programs need not have one, but if
 * they do it is checked. */
static lc_status
check_unchanged(const struct scope *s, const struct lc__manifest *m, const char *text,
    size_t size)
{
	if (json_object_get(s->json, DIGEST) != NULL)
		return check_digest(text, size, s->name);
	if (m->manifest_version == 0 && m->warehouse == NULL && m->export_state == NULL)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: " DIGEST " is missing: it was changed after it "
	    "was written; restore it or make it again", s->name);
}

lc_status
lc__manifest_parse(const void *text, size_t size, const char *name,
    struct lc__manifest *out)
{
	struct lc__manifest m = { 0 };
	json_error_t error;
	json_t *json = lc__json_parse(text, size, JSON_REJECT_DUPLICATES, &error);
	const struct scope top = { name, json, 0 };
	lc_status status;

	if (json == NULL && json_error_code(&error) == json_error_out_of_memory)
		return lc__no_memory(name);
	if (json == NULL)
		return lc__error(LC_CORRUPT, 0, "%s: line %d: %s", name, error.line,
		    error.text);
	if (!json_is_array(json_object_get(json, "shards")))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a shard manifest",
		    name);
	else
		status = get_manifest(&top, &m);
	if (status == LC_OK)
		status = check_unchanged(&top, &m, text, size);
	json_decref(json);
	if (status == LC_OK)
		*out = m;
	else
		lc__manifest_free(&m);
	return status;
}

void
lc__manifest_free(struct lc__manifest *m)
{
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

static json_t *
json_of_text(const char *text)
{
	return text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : json_null();
}

static json_t *
json_of_string(const char *text)
{
	return json_string(text != NULL ? text : "");
}

static json_t *
json_of_dtype(lc_dtype dtype)
{
	char name[16];

	strcpy(name, lc_dtype_name(dtype));
	change_case(name, toupper);
	return json_string(name);
}

static json_t *
json_of_number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* json_object_set_new() takes the value, NULL included, and then fails. */
static bool
set_shard(json_t *o, const struct lc__manifest_shard *s)
{
	return json_object_set_new(o, "id", json_of_string(s->id)) == 0 &&
	    json_object_set_new(o, "relative_path",
	        json_of_string(s->relative_path)) == 0 &&
	    json_object_set_new(o, "shard_version",
	        json_of_number(s->shard_version)) == 0 &&
	    json_object_set_new(o, "samples", json_of_number(s->samples)) == 0 &&
	    json_object_set_new(o, "width", json_of_number(s->width)) == 0 &&
	    json_object_set_new(o, "height", json_of_number(s->height)) == 0 &&
	    json_object_set_new(o, "channels", json_of_number(s->channels)) == 0 &&
	    json_object_set_new(o, "max_boxes", json_of_number(s->max_boxes)) == 0 &&
	    json_object_set_new(o, "dtype", json_of_dtype(s->dtype)) == 0 &&
	    json_object_set_new(o, "endianness",
	        json_string(s->big_endian ? "Big" : "Little")) == 0 &&
	    json_object_set_new(o, "checksum_sha256",
	        s->sha256[0] ? json_string(s->sha256) : json_null()) == 0 &&
	    (!s->has_bytes ||
	        json_object_set_new(o, "bytes", json_of_number(s->bytes)) == 0) &&
	    (s->boxes_dtype == s->dtype || json_object_set_new(o, "boxes_dtype",
	        json_of_dtype(s->boxes_dtype)) == 0) &&
	    (!s->xxh3[0] || json_object_set_new(o, "checksum_xxh3",
	        json_string(s->xxh3)) == 0) &&
	    (!s->section_xxh3[0] || json_object_set_new(o, "section_xxh3",
	        json_string(s->section_xxh3)) == 0) &&
	    (!s->samples_hash[0] || json_object_set_new(o, "samples_hash",
	        json_string(s->samples_hash)) == 0);
}

static bool
set_shards(json_t *top, const struct lc__manifest *m)
{
	json_t *list = json_array();

	if (json_object_set_new(top, "shards", list) != 0)
		return false;
	for (size_t i = 0; i < m->n; i++) {
		json_t *o = json_object();
		if (json_array_append_new(list, o) != 0 ||
		    !set_shard(o, &m->shards[i]))
			return false;
	}
	return true;
}

static bool
set_manifest(json_t *o, const struct lc__manifest *m)
{
	return json_object_set_new(o, "dataset_root",
	        json_of_string(m->dataset_root)) == 0 &&
	    json_object_set_new(o, "transform", json_of_text(m->transform)) == 0 &&
	    json_object_set_new(o, "version", json_of_string(m->version)) == 0 &&
	    json_object_set_new(o, "version_recipe",
	        json_of_string(m->version_recipe)) == 0 &&
	    json_object_set_new(o, "code_version",
	        json_of_string(m->code_version)) == 0 &&
	    json_object_set_new(o, "default_dtype",
	        json_of_dtype(m->default_dtype)) == 0 &&
	    json_object_set_new(o, "default_shard_version",
	        json_of_number(m->default_shard_version)) == 0 &&
	    json_object_set_new(o, "created_at_ms",
	        json_of_number(m->created_at_ms)) == 0 &&
	    json_object_set_new(o, "thresholds", json_of_text(m->thresholds)) == 0 &&
	    json_object_set_new(o, "summary", json_of_text(m->summary)) == 0 &&
	    set_shards(o, m) &&
	    (m->warehouse == NULL || json_object_set_new(o, "warehouse",
	        json_of_text(m->warehouse)) == 0) &&
	    (m->manifest_version == 0 || json_object_set_new(o, "manifest_version",
	        json_of_number(m->manifest_version)) == 0) &&
	    (m->export_state == NULL || json_object_set_new(o, "export_state",
	        json_of_string(m->export_state)) == 0);
}

static int
append_text(const char *text, size_t size, void *out)
{
	return lc__buf_append(out, text, size) != NULL ? 0 : -1;
}

/* Append a text with its digest as the second line. */
static lc_status
append_signed(const struct lc__buf *text, struct lc__buf *out)
{
	const char *const rest = (const char *)text->data + strlen(FIRST_LINE);
	const size_t size = text->size - strlen(FIRST_LINE);
	char digest[65];

	return_if_error(digest_of(rest, size, digest));
	lc__buf_printf(out, DIGEST_HEAD "%s" DIGEST_TAIL, digest);
	lc__buf_append(out, rest, size);
	return out->failed ? lc__no_memory("manifest") : LC_OK;
}

lc_status
lc__manifest_format(const struct lc__manifest *manifest, struct lc__buf *out)
{
	struct lc__buf text = { 0 };
	json_t *o;
	lc_status status = LC_OK;

	/* jansson refuses what is not UTF-8, and when memory runs out. */
	errno = 0;
	o = json_object();
	if (o == NULL || !set_manifest(o, manifest))
		status = errno == ENOMEM ? lc__no_memory("manifest") :
		    lc__error(LC_INVALID, 0, "manifest: a text is not UTF-8");
	else if (json_dump_callback(o, append_text, &text,
	        JSON_INDENT(2) | lc__json_digits(o)) != 0 ||
	    lc__buf_append(&text, "\n", 1) == NULL)
		status = lc__no_memory("manifest");
	json_decref(o);
	if (status == LC_OK)
		status = append_signed(&text, out);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__manifest_quote(const char *text, struct lc__buf *out)
{
	json_t *value;
	int rc;

	errno = 0;
	value = json_string(text);
	if (value == NULL && errno == ENOMEM)
		return lc__no_memory("manifest");
	if (value == NULL)
		return lc__error(LC_INVALID, 0, "%s is not UTF-8",
		    lc__quote_id(text, strlen(text)));
	rc = json_dump_callback(value, append_text, out, JSON_ENCODE_ANY);
	json_decref(value);
	return rc == 0 ? LC_OK : lc__no_memory("manifest");
}
