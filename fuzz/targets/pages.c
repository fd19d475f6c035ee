/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of LMDB's pages, and the reading of rows from pages that were not checked: pages/.
 * Input: options, then an image and its damage (image.h). */
#include "fuzz.h"

#include <lmdb.h>
#include <string.h>

#include "image.h"
#include "pages/pages.h"
#include "pages/row_reader.h"

static const struct lc__pages_table tables[] = {
	{ "meta", 0, 0 }, { "schema", MDB_INTEGERKEY, 4 },
	{ "chunk", MDB_INTEGERKEY, 8 }, { "ledger", MDB_INTEGERKEY, 8 },
	{ "index", MDB_INTEGERKEY, 8 }, { "input", MDB_INTEGERKEY, 8 },
	{ "order", MDB_INTEGERKEY, 8 },
};

static void
ignore(void *ctx, const char *line)
{
	(void)ctx;
	fuzz_touch(line, strlen(line));
}

/* Read a table that begins at a page. */
static void
read_rows(const struct fuzz_image *image, uint64_t pages, uint64_t root, unsigned depth,
    uint32_t key_size)
{
	const struct lc__pages_tree tree = { .root = root, .depth = (uint16_t)depth };
	struct lc__row_place place = {
		.map = { image->map, 4096, pages },
		.key_size = key_size,
	};
	struct lc__pages_row row;
	const uint64_t key = 0;
	lc_status status = lc__row_seek(&place, &tree, &key, key_size);

	while (status == LC_OK && (status = lc__row_at(&place, &row)) == LC_OK) {
		fuzz_touch(row.key, row.key_size);
		fuzz_touch(row.value, (size_t)row.size);
		status = lc__row_next(&place);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	struct fuzz_image *image = fuzz_image_of(&in);
	const uint8_t choice = size > 1 ? data[1] >> 1 : 0;
	const struct lc__pages_options options = {
		.thorough = choice & 1, .free_list = choice & 2, .main_only = choice & 4,
		.max_pages = choice & 8 ? 5 : 0, .damage = choice & 16 ? ignore : NULL,
		.tables = choice & 32 ? NULL : tables,
		.table_count = choice & 32 ? 0 : sizeof(tables) / sizeof(tables[0])
	};
	struct lc__pages_report report;
	size_t whole;

	fuzz_image_damage(image, &in);
	/* A file may end early, too. */
	whole = image->whole.size - (choice & 64 ? fuzz_u8(&in) % 8 * 4096u : 0);
	if (lc__pages_check_map(image->map, whole, "f", &options, &report) == LC_OK)
		fuzz_require(report.meta.page_size >= 256);
	for (uint64_t page = 0; page < whole / 4096; page++)
		for (unsigned depth = 1; depth <= 2; depth++)
			read_rows(image, whole / 4096, page, depth,
			    choice & 8 ? 0 : 8);
	fuzz_image_restore(image);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return fuzz_image_mutate(data, size, room, seed);
}
