/* SPDX-License-Identifier: BSD-2-Clause */
/* An import's counts, and its files and directories of many records each. */
#include "cmd/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/idset.h"
#include "base/json_write.h"
#include "formats/formats.h"
#include "ui/columns.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/opt.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

/* ---- storing and counting ---------------------------------------------------------- */

bool
import_passes(const struct import *import, lc_id id)
{
	return import->there != NULL &&
	    lc_contains(import->there, id.data, id.size) == LC_OK;
}

int
import_store(struct import *import, const char *path, lc_id id, const lc_value *value)
{
	int status = EXIT_DONE;
	char *text;

	/* Create the module when the first good record comes, not before. */
	if (!import->dry_run && import->cache == NULL)
		status = module_create(import->module, &import->cache);
	if (!import->dry_run && status == EXIT_DONE) {
		const lc_status stored = lc_put_value(import->cache, id.data, id.size,
		    value);

		status = stored == LC_OK ? EXIT_DONE : report_status(stored);
	}
	if (status == EXIT_DATA)
		import->bad++;
	if (status != EXIT_DONE)
		return status;
	import->stored++;
	import->bytes += describe_bytes(value);
	if (settings.verbose) {
		text = describe_value(value);
		report_note("%s: %s as %s", path, text ? text : "?",
		    lc__quote_id(id.data, id.size));
		free(text);
	}
	return EXIT_DONE;
}

int
import_bad(struct import *import, lc_status status)
{
	const int sys = lc_last_error()->sys;
	const int code = status == LC_NO_FILE ? report_library(EXIT_DATA)
					      : report_status(status);

	if (code != EXIT_SYSTEM) {
		import->bad++;
		return EXIT_DATA;
	}
	/* Without memory, space or descriptors the next file would fail, too. */
	if (status != LC_PERMISSION &&
	    (status != LC_IO || sys == EMFILE || sys == ENFILE))
		return EXIT_SYSTEM;
	import->unreadable++;
	return import->keep_going ? EXIT_DATA : EXIT_SYSTEM;
}

bool
import_goes_on(const struct import *import, int status)
{
	return status == EXIT_DONE || (status == EXIT_DATA && !import->strict);
}

int
import_step(struct import *import)
{
	import->done++;
	if (import->all > 0)
		progress_items(import->done, import->all);
	else
		progress_rate("records", import->done);
	return progress_step(NULL, import->bytes, 0) == 0 ? EXIT_DONE
							  : interrupt_status();
}

/* ---- containers -------------------------------------------------------------------- */

int
containers_add(struct containers *containers, const char *path,
    const struct lc__incoming_format *format)
{
	if (lc__array_reserve(&containers->items, &containers->room,
		containers->count + 1, NULL) != LC_OK)
		return report_no_memory();
	containers->items[containers->count++] = (struct container){ path, format };
	return EXIT_DONE;
}

void
containers_free(struct containers *containers)
{
	free(containers->items);
	memset(containers, 0, sizeof(*containers));
}

/*
 * The cache_ids of this import and where each came from: the number of a container,
 * or after those the number of a file. It takes about 40 bytes a record.
 */
struct taken {
	const struct containers *containers;
	const struct sources *sources;
	struct lc__idset seen;
};

static const char *
path_of(const struct taken *taken, uint32_t number)
{
	const size_t n = taken->containers->count;

	return number < n ? taken->containers->items[number].path
			  : taken->sources->items[number - n].path;
}

static lc_status
take(struct taken *taken, lc_id id, size_t number)
{
	uint32_t first;
	bool added;

	return_if_error(
	    lc__idset_add(&taken->seen, id, (uint32_t)number, &added, &first));
	return added
	    ? LC_OK
	    : lc__error(LC_EXISTS, 0, "%s: same cache_id %s as %s",
		  path_of(taken, (uint32_t)number), lc__quote_id(id.data, id.size),
		  first == number ? "earlier in it" : path_of(taken, first));
}

/* Of two records of one cache_id the first that is good is stored. */
static int
store_record(struct import *import, struct taken *taken, size_t number, void *file,
    lc_id id)
{
	const struct container *container = &taken->containers->items[number];
	struct lc__loaded loaded = { 0 };
	lc_status status = container->format->load(file, &loaded);
	int result;

	if (status == LC_OK)
		status = take(taken, id, number);
	result = status == LC_OK ? import_store(import, container->path, id, loaded.value)
				 : import_bad(import, status);
	lc__loaded_free(&loaded);
	return result;
}

static int
take_record(struct import *import, struct taken *taken, size_t number, void *file,
    lc_id id)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < import->skip_keys->count; i++)
		if (strlen(import->skip_keys->items[i]) == id.size &&
		    memcmp(import->skip_keys->items[i], id.data, id.size) == 0) {
			import->skipped++;
			return EXIT_DONE;
		}
	if (id.size == 0 || id.size > LC_MAX_ID)
		status = lc__error(LC_INVALID, 0,
		    "%s: the name %s of %zu bytes is not a cache_id of 1 to %d bytes",
		    taken->containers->items[number].path, lc__quote_id(id.data, id.size),
		    id.size, LC_MAX_ID);
	if (status == LC_OK && !import_passes(import, id))
		return store_record(import, taken, number, file, id);
	if (status == LC_OK)
		status = take(taken, id, number);
	if (status != LC_OK)
		return import_bad(import, status);
	import->skipped++;
	return EXIT_DONE;
}

/* "PATH":{"name":"text"} */
static void
keep_metadata(struct import *import, const char *path, lc_id members)
{
	struct lc__buf *out = &import->metadata;
	char *quoted = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&quoted, &size);

	if (text == NULL)
		return;
	lc__json_string(text, path, strlen(path));
	fclose(text);
	lc__buf_append(out, ",", out->size > 0);
	lc__buf_append(out, quoted, size);
	lc__buf_printf(out, ":{");
	lc__buf_append(out, members.data, members.size);
	lc__buf_append(out, "}", 1);
	free(quoted);
}

static int
take_container(struct import *import, struct taken *taken, size_t number)
{
	const struct container *container = &taken->containers->items[number];
	const struct lc__incoming_format *format = container->format;
	lc_id id = { NULL, 0 };
	int worst = EXIT_DONE;
	void *file;
	lc_status step = format->open(container->path, &import->how, &file);

	if (step != LC_OK)
		return import_bad(import, step);

	/* Metadata are not stored: the records of a module may come from many files. */
	if (format->metadata != NULL)
		id = format->metadata(file);
	if (id.size > 0 && settings.json)
		keep_metadata(import, container->path, id);
	else if (id.size > 0 && (import->dry_run || settings.verbose))
		report_note("%s: metadata {%.*s}", container->path, (int)id.size,
		    (const char *)id.data);

	import->all = taken->containers->count == 1 && taken->sources->count == 0 &&
		format->count != NULL
	    ? format->count(file)
	    : 0;
	while ((step = format->next(file, &id)) != LC_END) {
		int status = step == LC_OK ? take_record(import, taken, number, file, id)
					   : import_bad(import, step);

		worst = report_worse(worst, status);
		if (!import_goes_on(import, status))
			break;
		status = import_step(import);
		if (status != EXIT_DONE) {
			worst = status;
			break;
		}
	}
	format->close(file);
	return worst;
}

int
import_containers(struct import *import, const struct containers *containers,
    const struct sources *sources)
{
	struct taken taken = { .containers = containers, .sources = sources };
	int worst = EXIT_DONE;
	lc_status status = LC_OK;

	if (containers->count == 0)
		return EXIT_DONE;
	for (size_t i = 0; i < sources->count && status == LC_OK; i++)
		status = take(&taken,
		    (lc_id){ sources->items[i].id, sources->items[i].id_size },
		    containers->count + i);
	if (status != LC_OK)
		worst = report_status(status);
	for (size_t i = 0; i < containers->count && import_goes_on(import, worst); i++)
		worst = report_worse(worst, take_container(import, &taken, i));
	lc__idset_free(&taken.seen);
	return worst;
}
