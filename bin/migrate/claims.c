/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/claims.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define PREFIX "id:"

/* A stored claim. */
struct claim {
	bool there;
	bool same_path;
	uint64_t generation, line;
	char path[200]; /* its start, for messages */
};

static lc_status
make_key(lc_id id, struct lc__buf *key)
{
	if (id.size > LC_MAX_ID - strlen(PREFIX))
		return lc__error(LC_INVALID, 0, "an image_id of %zu bytes is too long",
		    id.size);
	key->size = 0;
	lc__buf_append(key, PREFIX, strlen(PREFIX));
	lc__buf_append(key, id.data, id.size);
	return key->failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
look(const struct lc__claimant *who, const struct lc__buf *key, struct claim *out)
{
	const lc_value *value = NULL;
	const char *text;
	size_t size;
	lc_view view;
	lc_status status = lc_get(who->cache, key->data, key->size, &view);

	out->there = false;
	if (status == LC_NOT_FOUND)
		return LC_OK;
	if (status == LC_OK)
		status = lc_view_value(&view, NULL, &value);
	if (status == LC_OK)
		status = lc_value_as_str(lc_value_find(value, "path"), &text, &size);
	if (status == LC_OK)
		status = lc_value_as_unsigned(lc_value_find(value, "generation"),
		    &out->generation);
	if (status == LC_OK)
		status = lc_value_as_unsigned(lc_value_find(value, "line"), &out->line);
	if (status == LC_OK) {
		out->there = true;
		out->same_path = size == who->path.size &&
		    memcmp(text, who->path.data, size) == 0;
		snprintf(out->path, sizeof(out->path), "%s", text);
	}
	lc_view_release(&view);
	return status;
}

static bool
is_sure(const struct lc__claimant *who, const struct claim *claim)
{
	return claim->there && claim->generation == who->generation &&
	    claim->line == who->line && claim->same_path;
}

static lc_status
take(const struct lc__claimant *who, const struct lc__buf *key, const struct claim *claim,
    struct lc__claimed *out)
{
	lc_value *value;
	lc_status status;

	out->first = !claim->there;
	out->sure = is_sure(who, claim);
	if (out->sure)
		return LC_OK;
	value = lc_value_map();
	lc_value_set(value, "path", lc_value_strn(who->path.data, who->path.size));
	lc_value_set(value, "generation", lc_value_unsigned(who->generation));
	lc_value_set(value, "line", lc_value_unsigned(who->line));
	status = lc_put_value(who->cache, key->data, key->size, value);
	lc_value_free(value);
	return status;
}

/* ---- names ------------------------------------------------------------------- */

static lc_id
file_name(lc_id path)
{
	const char *text = path.data;
	const char *slash = memrchr(text, '/', path.size);

	if (slash == NULL)
		return path;
	return (lc_id){ slash + 1, path.size - (size_t)(slash + 1 - text) };
}

/* Dots at the start are no extension. */
static lc_id
without_extension(lc_id name)
{
	const char *text = name.data;
	const char *dot = memrchr(text, '.', name.size);
	size_t dots = 0;

	while (dots < name.size && text[dots] == '.')
		dots++;
	if (dot == NULL || (size_t)(dot - text) < dots)
		return name;
	return (lc_id){ text, (size_t)(dot - text) };
}

static lc_status
set_id(struct lc__buf *id, lc_id text)
{
	id->size = 0;
	lc__buf_append(id, text.data, text.size);
	return id->failed ? lc__no_memory(NULL) : LC_OK;
}

/* The n'th candidate, from 0. */
static lc_status
candidate(lc_id path, uint64_t turn, struct lc__buf *id)
{
	const lc_id name = file_name(path);

	if (turn == 0)
		return set_id(id, without_extension(name));
	if (turn == 1)
		return set_id(id, name);
	return_if_error(set_id(id, path));
	if (turn > 2)
		lc__buf_printf(id, "#%llu", (unsigned long long)turn - 1);
	return id->failed ? lc__no_memory(NULL) : LC_OK;
}

static bool
is_same(lc_id a, lc_id b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

bool
lc__claims_is_of(lc_id path, lc_id id)
{
	const lc_id name = file_name(path);
	const char *const text = id.data;

	if (name.size == 0)
		return false;
	if (is_same(id, without_extension(name)) || is_same(id, name) ||
	    is_same(id, path))
		return true;
	/* PATH#2 and on. */
	if (id.size < path.size + 2 || memcmp(text, path.data, path.size) != 0 ||
	    text[path.size] != '#' || text[path.size + 1] == '0')
		return false;
	for (size_t i = path.size + 1; i < id.size; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return id.size > path.size + 2 || text[path.size + 1] > '1';
}

/* ---- claiming ---------------------------------------------------------------- */

static lc_status
choose(const struct lc__claimant *who, struct lc__buf *id, struct lc__buf *key,
    struct lc__claimed *out)
{
	struct claim claim;
	bool may;

	for (uint64_t turn = 0;; turn++) {
		return_if_error(candidate(who->path, turn, id));
		return_if_error(make_key((lc_id){ id->data, id->size }, key));
		return_if_error(look(who, key, &claim));
		/* Is it free for the record: its own, or unused, or that of the same
		 * record in an older generation of the file, unless something else is
		 * stored there? */
		may = is_sure(who, &claim);
		if (!may) {
			may = !claim.there ||
			    (claim.generation != who->generation && claim.same_path);
			if (may && who->may != NULL)
				return_if_error(who->may(who->ctx,
				    (lc_id){ id->data, id->size }, &may));
		}
		if (may)
			return take(who, key, &claim, out);
		out->second = true;
	}
}

lc_status
lc__claims_choose(const struct lc__claimant *who, struct lc__buf *id,
    struct lc__claimed *out)
{
	struct lc__buf key = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	if (file_name(who->path).size == 0)
		return lc__error(LC_INVALID, 0, "image_path does not name a file");
	status = choose(who, id, &key, out);
	lc__buf_free(&key);
	return status;
}

lc_status
lc__claims_keep(const struct lc__claimant *who, lc_id id, struct lc__claimed *out)
{
	struct lc__buf key = { 0 };
	struct claim claim;
	lc_status status = make_key(id, &key);

	memset(out, 0, sizeof(*out));
	if (status == LC_OK)
		status = look(who, &key, &claim);
	if (status == LC_OK && claim.there && claim.generation == who->generation &&
	    !is_sure(who, &claim))
		status = lc__error(LC_EXISTS, 0, "image_id %s is also that of line %llu",
		    lc__quote_id(id.data, id.size), (unsigned long long)claim.line);
	if (status == LC_OK)
		status = take(who, &key, &claim, out);
	lc__buf_free(&key);
	return status;
}

static lc_status
find(const struct lc__claimant *who, struct lc__buf *id, struct lc__buf *key)
{
	struct claim claim = { .there = true };

	for (uint64_t turn = 0; claim.there; turn++) {
		return_if_error(candidate(who->path, turn, id));
		return_if_error(make_key((lc_id){ id->data, id->size }, key));
		return_if_error(look(who, key, &claim));
		if (is_sure(who, &claim))
			return LC_OK;
		/* An id that data uses may have no claim: try one more. */
		claim.there |= turn < 3;
	}
	return LC_NOT_FOUND;
}

lc_status
lc__claims_find(const struct lc__claimant *who, struct lc__buf *id)
{
	struct lc__buf key = { 0 };
	const lc_status status = file_name(who->path).size == 0 ? LC_NOT_FOUND
								: find(who, id, &key);

	lc__buf_free(&key);
	return status;
}

static lc_status
match(const struct lc__claimant *who, bool exact, struct lc__buf *id, struct lc__buf *key,
    struct lc__buf *turned)
{
	const lc_id name = file_name(who->path);
	struct claim claim = { .there = true };
	uint64_t claims = 0, found = 0;

	for (uint64_t turn = 0; claim.there; turn++) {
		/* Without an extension, or a directory, two of the candidates are
		 * equal. */
		if ((turn == 1 && is_same(name, without_extension(name))) ||
		    (turn == 2 && is_same(name, who->path)))
			continue;
		return_if_error(candidate(who->path, turn, turned));
		return_if_error(make_key((lc_id){ turned->data, turned->size }, key));
		return_if_error(look(who, key, &claim));
		claims += claim.there && claim.same_path;
		if (is_sure(who, &claim)) {
			return_if_error(
			    set_id(id, (lc_id){ turned->data, turned->size }));
			found++;
		}
		claim.there |= turn < 3;
	}
	return found == 1 && (exact || claims == 1) ? LC_OK : LC_NOT_FOUND;
}

lc_status
lc__claims_match(const struct lc__claimant *who, bool exact, struct lc__buf *id)
{
	struct lc__buf key = { 0 }, turned = { 0 };
	const lc_status status = file_name(who->path).size == 0
	    ? LC_NOT_FOUND
	    : match(who, exact, id, &key, &turned);

	lc__buf_free(&key);
	lc__buf_free(&turned);
	return status;
}

lc_status
lc__claims_check(const struct lc__claimant *who, lc_id id)
{
	struct lc__buf key = { 0 };
	struct claim claim;
	lc_status status = make_key(id, &key);

	if (status == LC_OK)
		status = look(who, &key, &claim);
	lc__buf_free(&key);
	return_if_error(status);
	if (!claim.there)
		return lc__error(LC_INVALID, 0, "image_id %s has no claim",
		    lc__quote_id(id.data, id.size));
	if (!claim.same_path || claim.line != who->line)
		return lc__error(LC_INVALID, 0,
		    "image_id %s is claimed for line %llu, %s",
		    lc__quote_id(id.data, id.size), (unsigned long long)claim.line,
		    claim.path);
	return LC_OK;
}
