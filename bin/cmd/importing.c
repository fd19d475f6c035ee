/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/importing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ui/describe.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

bool
importing_passes(const struct importing *import, lc_id id)
{
	return import->there != NULL &&
	    lc_contains(import->there, id.data, id.size) == LC_OK;
}

/* The module is made only when the first good record arrives. */
static int
put(struct importing *import, lc_id id, const lc_value *value)
{
	lc_status stored;
	int status = EXIT_DONE;

	if (import->dry_run)
		return EXIT_DONE;
	if (import->cache == NULL)
		status = module_create(import->module, &import->cache);
	if (status != EXIT_DONE)
		return status;
	stored = lc_put_value(import->cache, id.data, id.size, value);
	return stored == LC_OK ? EXIT_DONE : report_status(stored);
}

/* Bytes of a value's tensors, strings and bytes. */
static uint64_t
weight(const lc_value *value)
{
	const void *data;
	const char *text;
	uint64_t sum = 0;
	size_t size;

	if (lc_value_kind(value) == LC_TENSOR)
		return describe_bytes(value);
	if (lc_value_as_bytes(value, &data, &size) == LC_OK ||
	    lc_value_as_str(value, &text, &size) == LC_OK)
		return size;
	for (size_t i = 0; i < lc_value_count(value); i++)
		sum += weight(lc_value_at(value, i));
	return sum;
}

static void
say(const char *path, lc_id id, const lc_value *value)
{
	char *text = describe_value(value);

	report_note("%s: %s as %s", path, text ? text : "?",
	    lc__quote_id(id.data, id.size));
	free(text);
}

int
importing_store(struct importing *import, const char *path, lc_id id,
    const lc_value *value)
{
	const int status = put(import, id, value);

	if (status == EXIT_DATA)
		import->bad++;
	if (status != EXIT_DONE)
		return status;
	import->stored++;
	import->bytes += weight(value);
	if (settings.verbose)
		say(path, id, value);
	return EXIT_DONE;
}

/* Without memory, space or descriptors the next file would be no better. */
static bool
is_of_one_file(lc_status status, int sys)
{
	return status == LC_PERMISSION ||
	    (status == LC_IO && sys != EMFILE && sys != ENFILE);
}

int
importing_bad(struct importing *import, lc_status status)
{
	const int sys = lc_last_error()->sys;
	const int code = status == LC_NO_FILE ? report_library(EXIT_DATA) :
	    report_status(status);

	if (code != EXIT_SYSTEM) {
		import->bad++;
		return EXIT_DATA;
	}
	if (!is_of_one_file(status, sys))
		return EXIT_SYSTEM;
	import->unreadable++;
	return import->keep_going ? EXIT_DATA : EXIT_SYSTEM;
}

bool
importing_goes_on(const struct importing *import, int status)
{
	return status == EXIT_DONE || (status == EXIT_DATA && !import->strict);
}

int
importing_step(struct importing *import)
{
	import->done++;
	if (import->all > 0)
		progress_items(import->done, import->all);
	else
		progress_rate("records", import->done);
	return progress_step(NULL, import->bytes, 0) == 0 ? EXIT_DONE :
	    interrupt_status();
}
