/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "need.h"
#include "power.h"
#include "power_mark.h"

/* The version of each key, 0 where there is none. */
struct content {
	uint64_t versions[POWER_KEYS];
};

/* What the marks so far say of a place. */
struct place {
	bool known;   /* may be there */
	bool copy;    /* made by a copy: as a whole, by nothing else */
	bool made;    /* must be there */
	struct power_mark *changes;
	size_t count;
	size_t promised;       /* so many changes must be there */
	int setting, set;      /* the value that the setting may, or must, have */
	struct content newest; /* of the newest commit that the program itself saw */
	struct content before; /* and of the one before */
};

struct power_model {
	const struct replay_log *log;
	size_t seen; /* events whose marks are in the places */
	struct place places[POWER_PLACES];
	bool exporting, exported;
	char why[1500];
};

struct power_model *
power_model_new(const struct replay_log *log)
{
	struct power_model *model = calloc(1, sizeof(*model));

	need(model != NULL);
	model->log = log;
	for (unsigned i = 0; i < POWER_PLACES; i++) {
		model->places[i].changes = calloc(log->count + 1,
		    sizeof(*model->places[i].changes));
		need(model->places[i].changes != NULL);
	}
	return model;
}

void
power_model_free(struct power_model *model)
{
	for (unsigned i = 0; i < POWER_PLACES; i++)
		free(model->places[i].changes);
	free(model);
}

static const char *
wrong(struct power_model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *
wrong(struct power_model *model, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(model->why, sizeof(model->why), format, ap);
	va_end(ap);
	return model->why;
}

/* ---- the marks ------------------------------------------------------------------ */

static void
content_after(const struct place *place, size_t changes, struct content *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < changes; i++) {
		if (place->changes[i].key == POWER_KEYS)
			memset(out, 0, sizeof(*out));
		else
			out->versions[place->changes[i].key] =
			    place->changes[i].version;
	}
}

static void
copy_place(struct place *to, const struct place *from)
{
	memcpy(to->changes, from->changes, from->count * sizeof(*from->changes));
	to->count = to->promised = from->count;
	content_after(to, to->count, &to->newest);
	to->before = to->newest;
	to->setting = from->setting;
	to->set = from->set;
	to->copy = true;
}

static void
take_mark(struct power_model *model, const struct power_mark *mark)
{
	struct place *place;

	need(mark->place < POWER_PLACES && mark->from < POWER_PLACES &&
	    mark->key <= POWER_KEYS);
	place = &model->places[mark->place];
	switch ((enum power_mark_kind)mark->kind) {
	case POWER_OPENING:
		place->known = true;
		break;
	case POWER_CHANGE:
		place->changes[place->count++] = *mark;
		break;
	case POWER_COPYING:
		place->known = true;
		copy_place(place, &model->places[mark->from]);
		break;
	case POWER_MADE:
		place->made = true;
		break;
	case POWER_FLUSHED:
		if (mark->full)
			place->promised = place->count;
		break;
	case POWER_SETTING:
		place->setting = (int)mark->key;
		break;
	case POWER_SET:
		place->set = (int)mark->key;
		break;
	case POWER_EXPORTING:
		model->exporting = true;
		break;
	case POWER_EXPORTED:
		model->exported = true;
		break;
	}
}

static void
take_marks(struct power_model *model, size_t cut)
{
	for (; model->seen < cut; model->seen++) {
		const struct replay_event *event = &model->log->events[model->seen];
		struct power_mark mark;

		if (event->kind != RECORD_MARK && event->kind != RECORD_PROMISE)
			continue;
		need(event->size == sizeof(mark));
		memcpy(&mark, event->data, sizeof(mark));
		take_mark(model, &mark);
	}
}

/* ---- what a module holds ---------------------------------------------------------- */

static const struct power_mark *
find_change(const struct place *place, unsigned key, uint64_t version)
{
	for (size_t i = 0; i < place->count; i++)
		if (place->changes[i].key == key &&
		    place->changes[i].version == version)
			return &place->changes[i];
	return NULL;
}

static const char *
read_key(struct power_model *model, const struct place *place, lc_cache *cache,
    unsigned key, uint64_t *version)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	const struct power_mark *put;
	lc_view view;
	const lc_status status = lc_get(cache, id, size, &view);
	bool same;

	*version = 0;
	if (status == LC_NOT_FOUND)
		return NULL;
	if (status != LC_OK)
		return wrong(model, "get: %s", lc_last_error()->text);
	*version = sample_version(&view.tensor);
	put = find_change(place, key, *version);
	same = put != NULL && sample_is(&view.tensor, id, size, *version,
	    (struct sample_range){ put->min, put->max });
	lc_view_release(&view);
	return same ? NULL : wrong(model, "key %u holds what was never put", key);
}

static const char *
read_content(struct power_model *model, const struct place *place,
    lc_cache *cache, struct content *out)
{
	uint64_t live = 0, count = 0;
	const char *why = NULL;

	for (unsigned key = 0; key < POWER_KEYS && why == NULL; key++) {
		why = read_key(model, place, cache, key, &out->versions[key]);
		live += out->versions[key] != 0;
	}
	if (why == NULL && lc_count(cache, &count) != LC_OK)
		return wrong(model, "count: %s", lc_last_error()->text);
	if (why == NULL && count != live)
		return wrong(model, "%llu records, and %llu keys that were put",
		    (unsigned long long)count, (unsigned long long)live);
	return why;
}

/* ---- what it should hold ------------------------------------------------------------ */

/* The last change after which this was the content; -1 if it never was. */
static long
find_content(const struct place *place, const struct content *content)
{
	struct content at;

	for (size_t i = place->count + 1; i > 0; i--) {
		content_after(place, i - 1, &at);
		if (memcmp(&at, content, sizeof(at)) == 0)
			return (long)i - 1;
	}
	return -1;
}

static bool
same_content(const struct content *a, const struct content *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The newest commit, or the one before if that one was the promise. */
static const char *
check_content(struct power_model *model, struct place *place,
    const struct content *content, bool whole)
{
	const long changes = find_content(place, content);

	if (changes < 0)
		return wrong(model, "holds what no number of changes gives");
	if ((size_t)changes < place->promised)
		return wrong(model, "holds %ld changes, %zu were promised",
		    changes, place->promised);
	if (whole && !same_content(content, &place->newest)) {
		place->before = place->newest;
		place->newest = *content;
	}
	if (!same_content(content, &place->newest) &&
	    !same_content(content, &place->before))
		return wrong(model, "holds %ld changes: more than a commit is lost",
		    changes);
	return NULL;
}

static const char *
check_setting(struct power_model *model, const struct place *place,
    lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	if (lc_settings_get(cache, &settings) != LC_OK)
		return wrong(model, "settings: %s", lc_last_error()->text);
	if (settings.level != place->set && settings.level != place->setting)
		return wrong(model, "setting %d, %d was promised",
		    settings.level, place->set);
	return NULL;
}

/* Chunks and cursor are of one commit, and another one can follow. */
static lc_status
write_input(const char *name, lc_cache *cache)
{
	const uint64_t one = 1;
	const lc_tensor tensor = sample_bytes(&one, sizeof(one));
	const lc_input_info *info;
	lc_writer *writer;
	uint64_t chunks = 0;
	lc_status status = lc_writer_open(cache, name, &writer);

	if (status != LC_OK)
		return status;
	info = lc_writer_info(writer);
	if (info->cursor.size == sizeof(chunks))
		memcpy(&chunks, info->cursor.data, sizeof(chunks));
	status = chunks == info->chunks ? LC_OK :
	    lc__error(LC_CORRUPT, 0, "the cursor is of another chunk");
	if (status == LC_OK)
		status = lc_writer_put(writer, NULL, 0, &tensor);
	if (status == LC_OK)
		status = lc_writer_finish(writer, NULL, 0);
	lc_writer_close(writer);
	return status;
}

static lc_status
write_probe(lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	lc_status status = lc_fill_get(cache, &fill);

	if (status == LC_OK && fill.inputs == 0)
		status = sample_put(cache, "probe", 5, 1, SAMPLE_SMALL);
	else if (status == LC_OK)
		status = write_input("a", cache);
	if (status == LC_OK && fill.inputs > 0)
		status = write_input("b", cache);
	return status == LC_OK ? lc_flush(cache) : status;
}

static const char *
check_usable(struct power_model *model, lc_cache *cache)
{
	lc_verify_result result;

	if (lc_verify(cache, NULL, &result) != LC_OK)
		return wrong(model, "verify: %s", lc_last_error()->text);
	if (write_probe(cache) != LC_OK)
		return wrong(model, "put: %s", lc_last_error()->text);
	if (lc_verify(cache, NULL, &result) != LC_OK)
		return wrong(model, "verify after a put: %s",
		    lc_last_error()->text);
	return NULL;
}

static const char *
check_open(struct power_model *model, struct place *place, lc_cache *cache,
    bool whole)
{
	struct content content;
	const char *why = read_content(model, place, cache, &content);

	if (why == NULL)
		why = check_content(model, place, &content, whole);
	if (why == NULL)
		why = check_setting(model, place, cache);
	return why != NULL ? why : check_usable(model, cache);
}

/* ---- a state ---------------------------------------------------------------------------- */

static lc_status
open_place(const struct replay_state *state, unsigned i, bool create,
    lc_cache **out)
{
	lc_options options = sample_options();
	char root[4096];

	options.flags = create ? LC_CREATE : 0;
	snprintf(root, sizeof(root), "%s/r%u", state->dir, i);
	return lc_open(root, "m", &options, out);
}

static const char *
check_place(struct power_model *model, const struct replay_state *state, unsigned i)
{
	struct place *place = &model->places[i];
	lc_cache *cache = NULL;
	lc_status status = open_place(state, i, false, &cache);
	const char *why;

	/* Making it was cut off: it can be made. */
	if (!place->made && (status == LC_NO_FILE || status == LC_NOT_MODULE)) {
		if (place->copy)
			return NULL;
		status = open_place(state, i, true, &cache);
	}
	if (status != LC_OK)
		return wrong(model, "open: %s", lc_last_error()->text);
	why = check_open(model, place, cache, state->whole);
	if (lc_close(cache) != LC_OK && why == NULL)
		why = wrong(model, "close: %s", lc_last_error()->text);
	return why;
}

/* A manifest is there once all is, and the export goes on from whatever there is. */
static const char *
check_export(struct power_model *model, const struct replay_state *state)
{
	lc_options options = sample_options();
	lc_cache *cache = NULL;
	char src[4096], out[4096];
	lc_status status;

	snprintf(src, sizeof(src), "%s/src", state->dir);
	snprintf(out, sizeof(out), "%s/out", state->dir);
	status = lc_manifest_verify(out, NULL);
	if (status != LC_OK && (model->exported || status != LC_NO_FILE))
		return wrong(model, "manifest: %s", lc_last_error()->text);
	options.flags = 0;
	if (lc_open(src, "m", &options, &cache) != LC_OK)
		return wrong(model, "open: %s", lc_last_error()->text);
	status = power_export_module(cache, out);
	lc_discard(cache);
	if (status != LC_OK)
		return wrong(model, "export: %s", lc_last_error()->text);
	if (lc_manifest_verify(out, NULL) != LC_OK)
		return wrong(model, "after export: %s", lc_last_error()->text);
	return NULL;
}

const char *
power_model_check(struct power_model *model, const struct replay_state *state)
{
	const char *why = NULL;

	take_marks(model, state->cut);
	for (unsigned i = 0; i < POWER_PLACES && why == NULL; i++)
		if (model->places[i].known)
			why = check_place(model, state, i);
	if (why == NULL && model->exporting)
		why = check_export(model, state);
	return why;
}
