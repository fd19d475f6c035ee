/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for all stores. */
#include "objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/newfile.h"

#define PIECE ((size_t)1 << 20) /* that is read at once */

bool
lc__object_name_ok(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
				      "WXYZ0123456789-_.";
	size_t n;

	if (strlen(name) >= LC__OBJECT_NAME)
		return false;
	for (;; name += n + 1) {
		n = strspn(name, letters);
		if (n == 0 || name[0] == '.' || (name[n] != '/' && name[n] != '\0'))
			return false;
		if (name[n] == '\0')
			return true;
	}
}

lc_status
lc__object_check_name(const struct lc__objects *objects, const char *name)
{
	if (!lc__object_name_ok(name))
		return lc__error(LC_INVALID, 0, "%s: %s is not a name of an object",
		    objects->url, lc__quote_id(name, strlen(name)));
	return LC_OK;
}

lc_status
lc__object_find(struct lc__objects *objects, const char *name, struct lc__object *about)
{
	size_t got;

	return objects->get_range(objects, name, 0, NULL, 0, &got, about);
}

/* A whole object being read into a buffer. */
struct reading {
	struct lc__objects *objects;
	const char *name;
	uint64_t limit;
	struct lc__buf *out;
	struct lc__object about;
};

static lc_status
check_size(const struct reading *r)
{
	if (r->about.size <= r->limit)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s/%s: has %llu bytes, more than %llu",
	    r->objects->url, r->name, (unsigned long long)r->about.size,
	    (unsigned long long)r->limit);
}

static lc_status
append_bytes(void *ctx, const void *data, size_t size)
{
	struct reading *r = ctx;

	return_if_error(check_size(r));
	lc__buf_append(r->out, data, size);
	return r->out->failed ? lc__no_memory(r->name) : LC_OK;
}

lc_status
lc__object_read(struct lc__objects *objects, const char *name, uint64_t limit,
    struct lc__buf *out)
{
	struct reading r = { objects, name, limit, out, { NULL, 0, 0 } };
	const struct lc__object_sink sink = { append_bytes, &r, NULL };
	const size_t before = out->size;

	return_if_error(objects->get(objects, name, 0, &sink, &r.about));
	return_if_error(check_size(&r));
	if (out->size - before != r.about.size)
		return lc__error(LC_CHANGED, 0, "%s/%s: became shorter while it was read",
		    objects->url, name);
	return LC_OK;
}

lc_status
lc__object_get(struct lc__objects *objects, const char *name, uint64_t offset,
    const struct lc__object_sink *sink, struct lc__object *about)
{
	struct lc__object first, now;
	unsigned char *room = malloc(PIECE);
	size_t got;
	lc_status status;

	if (room == NULL)
		return lc__no_memory(name);
	status = objects->get_range(objects, name, offset, room, PIECE, &got, &first);
	if (status == LC_OK && about != NULL)
		*about = first;
	while (status == LC_OK && got > 0) {
		status = sink->write(sink->ctx, room, got);
		offset += got;
		if (status != LC_OK || offset >= first.size)
			break;
		status = objects->get_range(objects, name, offset, room, PIECE, &got,
		    &now);
		if (status == LC_OK && (now.size != first.size || got == 0))
			status = lc__error(LC_CHANGED, 0,
			    "%s/%s: became another one while it was read", objects->url,
			    name);
	}
	free(room);
	return status;
}

/* ---- bytes in memory ---------------------------------------------------------------- */

static lc_status
read_bytes(void *ctx, uint64_t offset, void *out, size_t size)
{
	if (size > 0)
		memcpy(out, (const unsigned char *)ctx + offset, size);
	return LC_OK;
}

lc_status
lc__object_add(struct lc__objects *objects, const char *name, const void *data,
    size_t size)
{
	const struct lc__body body = { size, read_bytes, (void *)(uintptr_t)data, NULL };

	return objects->put_new(objects, name, &body);
}

lc_status
lc__object_replace(struct lc__objects *objects, const char *name, const void *data,
    size_t size)
{
	const struct lc__body body = { size, read_bytes, (void *)(uintptr_t)data, NULL };

	return objects->put(objects, name, &body);
}

/* ---- probing an unknown store -------------------------------------------------------- */

static const char first[] = "first", second[] = "second";

static bool
is_text(const struct lc__buf *buf, const char *text)
{
	return buf->size == strlen(text) && memcmp(buf->data, text, buf->size) == 0;
}

/* LC_UNSUPPORTED unless the first put of the name is kept, and stays. */
static lc_status
put_twice(struct lc__objects *objects, const char *name)
{
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(lc__object_add(objects, name, first, strlen(first)));
	status = lc__object_add(objects, name, second, strlen(second));
	if (status != LC_OK && status != LC_EXISTS)
		return status;
	if (status == LC_EXISTS)
		status = lc__object_read(objects, name, 1000, &text);
	else
		lc__buf_append(&text, second, strlen(second));
	if (status == LC_OK && is_text(&text, second))
		status = lc__error(LC_UNSUPPORTED, 0,
		    "%s: puts an object although there is one of its name: parts that "
		    "two machines push would be lost; %s",
		    objects->url, objects->advice);
	else if (status == LC_OK && !is_text(&text, first))
		status = lc__error(LC_CORRUPT, 0, "%s/%s: has other bytes than were put",
		    objects->url, name);
	lc__buf_free(&text);
	return status;
}

static void
name_probe(char out[LC__OBJECT_NAME])
{
	strcpy(out, LC__PROBES "XXXXXX");
	lc__random_name(out);
}

lc_status
lc__objects_probe(struct lc__objects *objects)
{
	char name[LC__OBJECT_NAME];
	lc_status status = LC_EXISTS, removed;
	lc_error kept;

	for (int i = 0; i < 10 && status == LC_EXISTS; i++) {
		name_probe(name);
		status = put_twice(objects, name);
	}
	kept = *lc_last_error();
	removed = status != LC_EXISTS ? objects->remove(objects, name) : LC_OK;
	return status != LC_OK ? lc__error_raise(&kept) : removed;
}

/* An object expected in a listing, and its size. */
struct listed {
	const char *url, *name;
	uint64_t size;
};

static lc_status
check_listed(void *ctx, const struct lc__object *object)
{
	const struct listed *wanted = ctx;

	if (strcmp(object->name, wanted->name) != 0 || object->size == wanted->size)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s/%s: is listed with %llu bytes, and has %llu",
	    wanted->url, wanted->name, (unsigned long long)object->size,
	    (unsigned long long)wanted->size);
}

static lc_status
replace_and_list(struct lc__objects *objects, const char *name)
{
	struct listed wanted = { objects->url, name, strlen(second) };
	struct lc__object about;
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(lc__object_replace(objects, name, first, strlen(first)));
	return_if_error(lc__object_replace(objects, name, second, strlen(second)));
	status = lc__object_read(objects, name, 1000, &text);
	if (status == LC_OK && !is_text(&text, second))
		status = lc__error(LC_CORRUPT, 0, "%s/%s: has other bytes than were put",
		    objects->url, name);
	lc__buf_free(&text);
	if (status == LC_OK)
		status = objects->list(objects, LC__PROBES, check_listed, &wanted);
	return_if_error(status);
	return_if_error(objects->remove(objects, name));
	status = lc__object_find(objects, name, &about);
	if (status == LC_OK)
		return lc__error(LC_CORRUPT, 0, "%s/%s: is there after it was removed",
		    objects->url, name);
	return status == LC_NO_FILE ? LC_OK : status;
}

lc_status
lc__objects_check(struct lc__objects *objects)
{
	char name[LC__OBJECT_NAME];
	lc_status status;
	lc_error kept;

	return_if_error(lc__objects_probe(objects));
	name_probe(name);
	status = replace_and_list(objects, name);
	if (status == LC_OK)
		return LC_OK;
	kept = *lc_last_error();
	(void)objects->remove(objects, name);
	return lc__error_raise(&kept);
}

lc_status
lc__objects_now(struct lc__objects *objects, uint64_t *ms)
{
	struct lc__object about;
	char name[LC__OBJECT_NAME];
	lc_status status, removed;
	lc_error kept;

	name_probe(name);
	/* Not put_new(), which some stores do not have: no other process uses this
	 * name. */
	status = lc__object_replace(objects, name, first, strlen(first));
	if (status == LC_OK)
		status = lc__object_find(objects, name, &about);
	kept = *lc_last_error();
	/* Also after a failed put: a directory created for it is removed. */
	removed = objects->remove(objects, name);
	if (status != LC_OK)
		return lc__error_raise(&kept);
	return_if_error(removed);
	*ms = about.time_ms;
	return LC_OK;
}

void
lc__objects_close(struct lc__objects *objects)
{
	if (objects != NULL)
		objects->close(objects);
}
