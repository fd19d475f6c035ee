/* SPDX-License-Identifier: BSD-2-Clause */
/* Archives: format/archive.c, which is our use of libarchive. Input: the kind, then a file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"

enum { LIMIT = 1 << 20, MEMBERS = 1000 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const enum lc__archive_kind kind = (enum lc__archive_kind)(fuzz_u8(&in) % 3);
	const size_t left = fuzz_left(&in);
	void *file = fuzz_copy(in.at, left);
	struct lc__archive_member member;
	struct lc__archive *archive = NULL;
	int n = 0;

	if (lc__archive_open_bytes(kind, file, left, &archive) != LC_OK) {
		free(file);
		return 0;
	}
	while (n++ < MEMBERS && lc__archive_next(archive, &member) == LC_OK) {
		struct lc__buf bytes = { 0 };

		fuzz_touch(member.name, strlen(member.name));
		if (n % 4 != 0 && lc__archive_read(archive, LIMIT, &bytes) == LC_OK)
			fuzz_require(bytes.size <= LIMIT);
		fuzz_touch(bytes.data, bytes.size);
		lc__buf_free(&bytes);
	}
	lc__archive_close(archive);
	free(file);
	return 0;
}
