/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/group.h"

#include <string.h>

#include "base/error.h"

static bool
is_sparse(const struct lc__ledger_row *row, const lc_compact_options *options)
{
	return row->live == 0 || (double)row->live_bytes <
	    options->live_ratio * (double)row->bytes ||
	    options->recode != LC_CODEC_DEFAULT;
}

/* Two that are not small would not fit together. */
static bool
is_small(const struct lc__ledger_row *row, const lc_compact_options *options)
{
	return row->live_bytes <= options->chunk_bytes / 2;
}

static bool
fits(const struct lc__group *group, const struct lc__ledger_row *row,
    const lc_compact_options *options)
{
	return group->count == 0 || (group->count < LC__GROUP_CHUNKS &&
	    group->source == 0 && row->source == 0 &&
	    group->live_bytes + row->live_bytes <= options->chunk_bytes &&
	    group->bytes + row->bytes <= LC__GROUP_BYTES);
}

/* What an input brought may be coded anew, alone and whole. */
static bool
may_change(const struct lc__group *group, const struct lc__ledger_row *row,
    const lc_compact_options *options)
{
	return row->source == 0 || (group->count == 0 &&
	    row->live == row->records && options->recode != LC_CODEC_DEFAULT);
}

bool
lc__group_add(struct lc__group *group, uint64_t id,
    const struct lc__ledger_row *row, const lc_compact_options *options)
{
	const bool sparse = is_sparse(row, options);

	if ((!sparse && !is_small(row, options)) || !fits(group, row, options) ||
	    !may_change(group, row, options))
		return false;
	group->ids[group->count++] = id;
	group->sparse |= sparse;
	group->source = row->source;
	group->records += row->records;
	group->live += row->live;
	group->bytes += row->bytes;
	group->live_bytes += row->live_bytes;
	return true;
}

bool
lc__group_worth(const struct lc__group *group)
{
	return group->sparse || group->count > 1;
}

lc_status
lc__group_next(struct lc__snapshot *s, const lc_compact_options *options,
    uint64_t *next, uint64_t *looked, struct lc__group *out)
{
	struct lc__ledger_row row;
	lc_status status;
	bool intact;
	uint64_t id = 0;

	memset(out, 0, sizeof(*out));
	while ((status = lc__ledger_seek(s, *next, &id, &row, &intact)) == LC_OK) {
		if (!intact || !lc__group_add(out, id, &row, options)) {
			if (lc__group_worth(out))
				return LC_OK;
			/* It may be the first of another group. */
			memset(out, 0, sizeof(*out));
			if (intact)
				(void)lc__group_add(out, id, &row, options);
		}
		*looked += row.bytes;
		/* A larger one is of no chunk, and the last. */
		if (id > LC__CHUNK_ID_MAX)
			return LC_END;
		*next = id + 1;
	}
	return status == LC_END && lc__group_worth(out) ? LC_OK : status;
}
