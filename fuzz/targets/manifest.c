/* SPDX-License-Identifier: BSD-2-Clause */
/* Manifests of shards: format/manifest.c, and the texts in them: format/summary.c,
 * format/thresholds.c. Input: a file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/manifest.h"
#include "format/summary.h"

static void
read_summary(const char *text)
{
	struct lc__summary summary = { 0 };
	struct lc__buf out = { 0 };

	if (lc__summary_parse(text, "f", &summary) == LC_OK)
		fuzz_require(lc__summary_format(&summary, &out) == LC_OK);
	lc__summary_free(&summary);
	lc__buf_free(&out);
}

static void
read_thresholds(const char *text, const struct lc__counts *counts)
{
	struct lc__thresholds limits = { 0 };
	struct lc__buf out = { 0 };

	if (lc__thresholds_parse(text, "f", &limits) == LC_OK) {
		fuzz_require(lc__thresholds_format(&limits, &out) == LC_OK);
		(void)!lc__thresholds_check(&limits, counts);
	}
	lc__buf_free(&out);
}

/* What was written is read again, and then written as the same text. */
static void
check_again(const struct lc__manifest *manifest)
{
	struct lc__manifest again = { 0 };
	struct lc__buf text = { 0 }, twice = { 0 };

	if (lc__manifest_format(manifest, &text) == LC_OK) {
		fuzz_require(
		    lc__manifest_parse_any(text.data, text.size, "f", &again) == LC_OK);
		fuzz_require(lc__manifest_format(&again, &twice) == LC_OK);
		fuzz_require(text.size == twice.size &&
		    memcmp(text.data, twice.data, text.size) == 0);
	}
	lc__manifest_free(&again);
	lc__buf_free(&text);
	lc__buf_free(&twice);
}

/* The counts of a part that was taken are those of its shards. */
static void
count_shards(const struct lc__manifest_part *part)
{
	uint64_t samples, n, sum = 0, shards = 0;
	const char *at = part->counts;

	while (lc__manifest_counts_next(&at, &samples, &n)) {
		sum += samples * n;
		shards += n;
	}
	fuzz_require(*at == '\0' && sum == part->samples && shards == part->shards);
}

/* Described as a part, a manifest of shards has the same samples. */
static void
check_parts(const struct lc__manifest *manifest)
{
	struct lc__manifest_part part = { 0 };
	struct lc__manifest_layout layout;

	if (manifest->n_parts > 0 ||
	    lc__manifest_describe_part(manifest, "f", &part) != LC_OK)
		return;
	count_shards(&part);
	fuzz_require(part.shards == manifest->n);
	(void)!lc__manifest_layout_of(manifest, "f", &layout);
	free(part.counts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct lc__counts counts = { .total = 100, .invalid = 7,
		.missing_image = 1, .missing_file = 2, .empty = 3, .non_empty = 87 };
	struct lc__manifest manifest = { 0 };
	void *file = fuzz_copy(data, size);

	if (lc__manifest_parse_any(file, size, "f", &manifest) == LC_OK) {
		if (manifest.summary != NULL)
			read_summary(manifest.summary);
		if (manifest.thresholds != NULL)
			read_thresholds(manifest.thresholds, &counts);
		for (size_t i = 0; i < manifest.n; i++)
			(void)lc__manifest_path_ok(manifest.shards[i].relative_path);
		for (size_t i = 0; i < manifest.n_parts; i++)
			count_shards(&manifest.parts[i]);
		check_parts(&manifest);
		check_again(&manifest);
		lc__manifest_free(&manifest);
	}
	free(file);
	return 0;
}
