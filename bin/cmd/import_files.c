/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/import_files.h"

#include <errno.h>
#include <string.h>

#include "cmd/decode.h"
#include "ui/report.h"

static bool
is_stored(void *ctx, const struct source *source)
{
	return importing_passes(ctx, (lc_id) { source->id, source->id_size });
}

void
import_drop_files(struct importing *import, struct sources *sources)
{
	if (import->there != NULL)
		import->skipped += sources_drop(sources, is_stored, import);
}

static int
take_next(struct importing *import, struct decode *decode,
    const struct source *source)
{
	struct lc__loaded loaded;
	const lc_status status = decode_next(decode, &loaded);
	int result;

	if (status != LC_OK)
		return importing_bad(import, status);
	result = importing_store(import, source->path,
	    (lc_id) { source->id, source->id_size }, loaded.value);
	lc__loaded_free(&loaded);
	return result;
}

static int
take_all(struct importing *import, const struct sources *sources,
    struct decode *decode)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < sources->count; i++) {
		int status = take_next(import, decode, &sources->items[i]);
		worst = report_worse(worst, status);
		if (!importing_goes_on(import, status))
			break;
		status = importing_step(import);
		if (status != EXIT_DONE)
			return status;
	}
	return worst;
}

int
import_files(struct importing *import, const struct sources *sources,
    unsigned threads)
{
	struct decode *decode;
	int status;

	if (sources->count == 0)
		return EXIT_DONE;
	decode = decode_begin(sources, &import->how, threads);
	if (decode == NULL)
		return report_error(EXIT_SYSTEM, "no thread can be started: %s", strerror(errno));
	status = take_all(import, sources, decode);
	decode_end(decode);
	return status;
}
