/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/digests.h"

#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "shard/digest.h"

#define PIECE ((uint64_t)1 << 20)        /* hashed between two steps */
#define LONGEST_TEXT ((uint64_t)4 << 30) /* no list of a dataset is longer */

bool
lc__digest_known(const struct lc__manifest_shard *said)
{
	return said->sha256[0] != '\0' || said->xxh3[0] != '\0';
}

static lc_status
check_known(const char *path, const struct lc__manifest_shard *said)
{
	if (lc__digest_known(said))
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: the manifest has no checksum of it", path);
}

static lc_status
compare(const char *path, const struct lc__manifest_shard *said,
    const struct lc__digest_text *has)
{
	const bool sha256 = said->sha256[0] != '\0';

	if (strcmp(sha256 ? has->sha256 : has->xxh3,
		sha256 ? said->sha256 : said->xxh3) == 0)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: %s differs from the manifest", path,
	    sha256 ? "SHA-256" : "XXH3");
}

lc_status
lc__digest_file(const char *path, const struct lc__manifest_shard *said,
    struct lc__team *team)
{
	struct lc__digest_text has;

	return_if_error(check_known(path, said));
	return_if_error(lc__file_digest(path, said->sha256[0] == '\0', team, &has));
	return compare(path, said, &has);
}

static lc_status
update(struct lc__digest *digest, const unsigned char *bytes, uint64_t size,
    struct lc__team *team)
{
	while (size > 0) {
		const uint64_t n = size < PIECE ? size : PIECE;

		return_if_error(lc__digest_update(digest, bytes, (size_t)n));
		return_if_error(lc__team_step(team, n));
		bytes += n;
		size -= n;
	}
	return LC_OK;
}

lc_status
lc__digest_memory(const char *path, const void *bytes, uint64_t size,
    const struct lc__manifest_shard *said, struct lc__team *team)
{
	struct lc__digest digest = { 0 };
	struct lc__digest_text has;
	lc_status status;

	return_if_error(check_known(path, said));
	status = lc__digest_begin(&digest, said->sha256[0] == '\0');
	if (status == LC_OK)
		status = update(&digest, bytes, size, team);
	if (status == LC_OK)
		status = lc__digest_end(&digest, &has);
	lc__digest_free(&digest);
	return_if_error(status);
	return compare(path, said, &has);
}

lc_status
lc__digest_text(const char *path, const char *sha256, struct lc__buf *out)
{
	struct lc__buf text = { 0 };
	char has[65];
	lc_status status = lc__read_regular(path, LONGEST_TEXT, &text);

	/* The manifest names it: without it, or with something else in its place, the
	 * version is damaged. */
	if (status == LC_NO_FILE || status == LC_INVALID)
		status = lc__error_as(LC_CORRUPT);
	if (status == LC_OK)
		status = lc__sha256_of(text.data, text.size, has);
	if (status == LC_OK && strcmp(has, sha256) != 0)
		status = lc__error(LC_CORRUPT, 0, "%s: SHA-256 differs from the manifest",
		    path);
	if (status == LC_OK && out != NULL)
		*out = text;
	else
		lc__buf_free(&text);
	return status;
}
