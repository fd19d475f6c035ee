/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse_sources.h"

#include <stdio.h>
#include <string.h>

#include "warehouse/admission.h"

lc_status
warehouse_sources_look(lc_warehouse *warehouse,
    const lc_warehouse_options *options, struct warehouse_sources *out)
{
	memset(out, 0, sizeof(*out));
	out->listed = warehouse->has_about;
	out->found = lc__admit_sources(warehouse, options);
	out->seen = warehouse->info.sources_seen || out->found == LC_STALE;
	if (out->found == LC_OK)
		return LC_OK;
	snprintf(out->text, sizeof(out->text), "%s", lc_last_error()->text);
	return out->found == LC_STALE || out->found == LC_NOT_FOUND ||
	    out->found == LC_NO_FILE ||	    out->found == LC_CORRUPT ? LC_OK : out->found;
}

const char *
warehouse_sources_word(const struct warehouse_sources *sources)
{
	if (!sources->listed)
		return "not listed";
	if (sources->found == LC_STALE)
		return "changed";
	if (sources->found != LC_OK)
		return "not known";
	return sources->seen ? "not changed" : "not compared";
}
