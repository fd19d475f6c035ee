/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/join_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/decode.h"
#include "stream/source_join.h"

struct lc__join_records {
	struct lc__join_source *source;
	lc_cache *const *partners;
	size_t n;
	struct lc__decoder readings[]; /* one a partner */
};

lc_status
lc__join_records_new(lc_source *join, lc_cache *const *partners, size_t n,
    struct lc__join_records **out)
{
	struct lc__join_records *records = calloc(1,
	    sizeof(*records) + n * sizeof(records->readings[0]));

	if (records == NULL)
		return lc__no_memory(NULL);
	records->source = lc__join_source_of(join);
	records->partners = partners;
	records->n = n;
	*out = records;
	return LC_OK;
}

lc_status
lc__join_records_read(struct lc__join_records *records, size_t i, lc_id id, bool listed,
    const lc_value **out)
{
	struct lc__join_partner *partner = &records->source->partners[i];
	struct lc__decoder *reading = &records->readings[i];
	struct lc__lookup lookup;

	return_if_error(lc__join_find(partner, id, &lookup));
	reading->record = lookup.record;
	return_if_error(lc__decoder_open(reading, records->partners[i], partner->snapshot,
	    lookup.location, !listed));
	reading->listed = listed;
	return lc__decoder_value(reading, NULL, out);
}

void
lc__join_records_end(struct lc__join_records *records)
{
	for (size_t i = 0; i < records->n; i++) {
		lc__decoder_close(&records->readings[i]);
		memset(&records->readings[i], 0, sizeof(records->readings[i]));
	}
}

void
lc__join_records_free(struct lc__join_records *records)
{
	if (records == NULL)
		return;
	lc__join_records_end(records);
	free(records);
}
