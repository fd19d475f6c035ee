/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON that is read as text: base/json_scan.c, json_elements.c, json_string.c, and the
 * records of `cachex migrate`: migrate/entry.c. Input: a line. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json_elements.h"
#include "migrate/entry.h"

static void
read_member(const struct lc__json_member *member)
{
	static const lc_dtype dtypes[] = { LC_F32, LC_F16, LC_I8, LC_U64, LC_BOOL };
	struct lc__buf out = { 0 };
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;

	(void)lc__json_name_is(member->name, "dinov3");
	if (member->kind == LC__JSON_STRING)
		(void)!lc__json_unescape(member->value, &out);
	for (size_t i = 0; member->kind == LC__JSON_ARRAY &&
	    i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		out.size = 0;
		if (lc__json_elements(member->value, dtypes[i], &ndim, shape, &out) == LC_OK)
			fuzz_require(ndim <= LC_MAX_NDIM);
	}
	fuzz_touch(out.data, out.size);
	lc__buf_free(&out);
}

static void
read_entry(const char *line, size_t size)
{
	const struct lc__entry_news news = { .cut = true, .upgrade = true,
		.id = lc_id_of("an id"), .bucket = "512x512" };
	struct lc__line_entry entry = { 0 };
	struct lc__buf out = { 0 };

	if (lc__entry_read(line, size, "dinov3", &entry) == LC_OK &&
	    lc__entry_write(&entry, &news, &out) == LC_OK) {
		struct lc__line_entry again = { 0 };

		fuzz_require(lc__entry_read((char *)out.data, out.size, "dinov3",
		    &again) == LC_OK);
		fuzz_require(!again.array);
		lc__entry_free(&again);
	}
	lc__buf_free(&out);
	lc__entry_free(&entry);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_copy(data, size);
	struct lc__json_members members;
	struct lc__json_member member;

	if (lc__json_object(line, size, &members) == LC_OK)
		while (lc__json_next(&members, &member) == LC_OK)
			read_member(&member);
	read_entry(line, size);
	free(line);
	return 0;
}
