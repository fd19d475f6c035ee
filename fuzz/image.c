/* SPDX-License-Identifier: BSD-2-Clause */
#include "image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "mend.h"
#include "pages/page_layout.h"

enum { PAGE = 4096, HEAD = 2, EDIT = 5, DEPTH = 8, VALUES = 4000 };

/* A number in the image. */
struct fuzz_place {
	uint16_t page, offset;
};

/* In the place of the C library's: the check of the meta pages reads damaged ones several
 * times, as another process may be writing them. Here nobody is. */
int
nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)wanted;
	(void)left;
	return 0;
}

/* ---- the values in a file ------------------------------------------------------- */

/* A row: the first letter of its table, and its bytes. */
struct row {
	char table;
	const unsigned char *key;
	uint64_t key_size;
	unsigned char *value;
	uint64_t size;
};

typedef void (*found_fn)(struct fuzz_image *image, const struct row *row);

struct walk {
	struct fuzz_image *image;
	found_fn found;
	unsigned left; /* values to come at most */
};

/* Each page once: a tree may be no tree, and a page that leads to itself takes as long as
 * a thousand others. */
static bool
is_new(struct fuzz_image *image, uint64_t page)
{
	if (page >= image->whole.size / PAGE || image->seen[page])
		return false;
	image->seen[page] = true;
	return true;
}

static void walk_tree(struct walk *walk, uint64_t number, char table, int depth);

/* A node of a leaf: of the main table the record of another one. */
static void
walk_node(struct walk *walk, unsigned char *node, uint64_t room, char table, int depth)
{
	struct fuzz_image *image = walk->image;
	const uint64_t key = lc__get16(node + NODE_KEY_SIZE);
	const unsigned flags = lc__get16(node + NODE_FLAGS);
	const uint64_t size = lc__get32(node);
	unsigned char *value = node + NODE_HEADER + key;
	struct row row = { table, node + NODE_HEADER, key, value, size };
	uint64_t at;

	if (NODE_HEADER + key + 8 > room || walk->left == 0)
		return;
	walk->left--;
	if (flags & NODE_TREE) {
		if (table == 0 && key > 0 && NODE_HEADER + key + 48 <= room)
			walk_tree(walk, lc__get64(value + 40), (char)node[NODE_HEADER],
			    depth + 1);
	} else if (flags & NODE_OVERFLOW) {
		at = lc__get64(value);
		if (!is_new(image, at))
			return;
		at = at * PAGE + PAGE_HEADER;
		row.value = image->map + at;
		if (size <= image->whole.size - at)
			walk->found(image, &row);
	} else if (size <= room - NODE_HEADER - key) {
		walk->found(image, &row);
	}
}

static void
walk_tree(struct walk *walk, uint64_t number, char table, int depth)
{
	unsigned char *page;
	unsigned nodes;

	if (depth > DEPTH || !is_new(walk->image, number))
		return;
	page = walk->image->map + number * PAGE;
	nodes = lc__get16(page + PAGE_LOWER);
	nodes = nodes < PAGE_HEADER || nodes > PAGE ? 0 : (nodes - PAGE_HEADER) / 2;
	for (unsigned i = 0; i < nodes; i++) {
		const unsigned at = lc__get16(page + PAGE_HEADER + 2 * i);

		if (at > PAGE - NODE_HEADER)
			continue;
		if (page[PAGE_FLAGS] & PAGE_BRANCH)
			walk_tree(walk, lc__get32(page + at) |
			    (uint64_t)lc__get16(page + at + 4) << 32, table, depth + 1);
		else
			walk_node(walk, page + at, PAGE - at, table, depth);
	}
}

static unsigned char *
newest_meta(struct fuzz_image *image)
{
	unsigned char *meta = image->map;

	return lc__get64(meta + PAGE + META_TXNID) > lc__get64(meta + META_TXNID) ?
	    meta + PAGE : meta;
}

static void
walk_values(struct fuzz_image *image, found_fn found)
{
	struct walk walk = { image, found, VALUES };

	memset(image->seen, 0, image->whole.size / PAGE);
	walk_tree(&walk, lc__get64(newest_meta(image) + META_MAIN_TREE + 40), 0, 0);
}

/* ---- places for the mutator ------------------------------------------------------ */

static void
add_place(struct fuzz_image *image, size_t at)
{
	if (at + 8 > image->whole.size)
		return;
	/* A power of two is full. */
	if ((image->n_places & (image->n_places - 1)) == 0)
		image->places = realloc(image->places,
		    (image->n_places == 0 ? 1 : image->n_places * 2) * sizeof(*image->places));
	if (image->places == NULL)
		abort();
	image->places[image->n_places++] = (struct fuzz_place){ (uint16_t)(at / PAGE),
		(uint16_t)(at % PAGE) };
}

/* The beginning of each value, where its numbers are; of chunks and runs more. */
static void
add_value(struct fuzz_image *image, const struct row *row)
{
	const size_t start = (size_t)(row->value - image->map);
	const uint64_t most = row->table == 'c' || row->table == 'i' ? 512 : 128;

	for (uint64_t i = 0; i < row->size && i < most; i += 4)
		add_place(image, start + i);
}

static void
find_places(struct fuzz_image *image)
{
	static const unsigned meta[] = { META_MAGIC, META_VERSION, META_MAP_SIZE,
		META_FREE_TREE, META_FREE_TREE + 4, META_FREE_TREE + 16, META_FREE_TREE + 32,
		META_FREE_TREE + 40, META_MAIN_TREE, META_MAIN_TREE + 4, META_MAIN_TREE + 6,
		META_MAIN_TREE + 32, META_MAIN_TREE + 40, META_LAST_PAGE, META_TXNID };

	for (size_t i = 0; i < 2 * sizeof(meta) / sizeof(meta[0]); i++)
		add_place(image, (i & 1) * PAGE + meta[i / 2]);
	for (size_t page = 0; page < image->whole.size / PAGE; page++) {
		const unsigned char *p = image->map + page * PAGE;
		unsigned end = lc__get16(p + PAGE_LOWER);

		for (unsigned at = 0; at < PAGE_HEADER; at += 2)
			add_place(image, page * PAGE + at);
		/* Within a large value it may be anything. */
		if ((p[PAGE_FLAGS] & (PAGE_BRANCH | PAGE_LEAF)) == 0 || end > PAGE)
			end = 0;
		for (unsigned at = PAGE_HEADER; at < end; at += 2) {
			add_place(image, page * PAGE + at);
			/* The node: its size, flags, size of the key, and its key. */
			for (unsigned i = 0; i < 16; i += 2)
				add_place(image, page * PAGE + lc__get16(p + at) + i);
		}
	}
	walk_values(image, add_value);
}

/* ---- images ---------------------------------------------------------------------- */

static void
map_file(struct fuzz_image *image)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/m/data.mdb", image->root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	fuzz_require(fd != -1);
	image->map = mmap(NULL, image->whole.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fuzz_require(image->map != MAP_FAILED);
	close(fd);
}

static void
make_image(struct fuzz_image *image, unsigned kind, bool foreign)
{
	char path[400];

	image->foreign = foreign;
	snprintf(image->root, sizeof(image->root), "%s/%s%u", fuzz_dir(),
	    foreign ? "env" : "image", kind);
	if (foreign)
		fuzz_env_make((enum fuzz_env)kind, image->root, "m");
	else
		fuzz_module_make((enum fuzz_module)kind, image->root, "m");
	snprintf(path, sizeof(path), "%s/m/data.mdb", image->root);
	fuzz_require(lc__read_file(path, 1 << 28, &image->whole) == LC_OK);
	image->dirty = calloc(image->whole.size / PAGE, sizeof(*image->dirty));
	image->seen = calloc(image->whole.size / PAGE, sizeof(*image->seen));
	if (image->dirty == NULL || image->seen == NULL)
		abort();
	map_file(image);
	find_places(image);
}

static struct fuzz_image *
image_at(uint8_t choice, bool foreign)
{
	static struct fuzz_image modules[FUZZ_MODULES], envs[FUZZ_ENVS];
	const unsigned kind = choice % (foreign ? FUZZ_ENVS : FUZZ_MODULES);
	struct fuzz_image *image = foreign ? &envs[kind] : &modules[kind];

	if (image->map == NULL)
		make_image(image, kind, foreign);
	return image;
}

struct fuzz_image *
fuzz_image_of(struct fuzz_bytes *in)
{
	return image_at(fuzz_u8(in), false);
}

struct fuzz_image *
fuzz_image_of_env(struct fuzz_bytes *in)
{
	return image_at(fuzz_u8(in), true);
}

void
fuzz_image_restore(struct fuzz_image *image)
{
	for (size_t page = 0; page < image->whole.size / PAGE; page++) {
		if (image->dirty[page])
			memcpy(image->map + page * PAGE, image->whole.data + page * PAGE, PAGE);
		image->dirty[page] = false;
	}
}

void
fuzz_image_rewrite(struct fuzz_image *image)
{
	char path[400];

	munmap(image->map, image->whole.size);
	snprintf(path, sizeof(path), "%s/m/data.mdb", image->root);
	unlink(path);
	fuzz_require(lc__write_file_atomic(path, image->whole.data, image->whole.size) == LC_OK);
	map_file(image);
	memset(image->dirty, 0, image->whole.size / PAGE);
}

/* ---- damage ---------------------------------------------------------------------- */

/* The seed of a row's checksum: its key. */
static uint64_t
seed_of(const struct row *row)
{
	if (row->table == 'm')
		return lc__hash64(row->key, (size_t)row->key_size);
	return row->key_size == 8 ? lc__get64(row->key) :
	    row->key_size == 4 ? lc__get32(row->key) : 0;
}

/* Values that were changed, or are near to what was, get their checksums. */
static void
mend_value(struct fuzz_image *image, const struct row *row)
{
	unsigned char *const value = row->value;
	const uint64_t size = row->size;
	const size_t first = (size_t)(value - image->map) / PAGE;
	const size_t last = (size_t)(value - image->map + (size == 0 ? 0 : size - 1)) / PAGE;
	bool dirty = false;

	for (size_t page = first; page <= last; page++)
		dirty = dirty || image->dirty[page];
	if (!dirty)
		return;
	if (row->table == 'c')
		mend_chunk(value, size);
	else if (row->table == 'i' && size >= 48 && memcmp(value, "LCIX", 4) == 0)
		mend_run(value, size);
	else
		mend_row(value, size, seed_of(row));
	for (size_t page = first; page <= last; page++)
		image->dirty[page] = true;
}

static void
edit(struct fuzz_image *image, struct fuzz_bytes *in)
{
	const size_t size = image->whole.size, pages = size / PAGE;
	const uint8_t op = fuzz_u8(in) % 8;
	const size_t page = fuzz_u16(in) % pages, offset = fuzz_u16(in) % PAGE;
	unsigned char *at = image->map + page * PAGE + offset;
	unsigned char bytes[8];
	size_t n = PAGE - offset, from;

	image->dirty[page] = true;
	switch (op) {
	case 0: case 1: case 2: case 3: /* a number of 1, 2, 4, 8 bytes */
		lc__set64(bytes, op == 3 ? fuzz_u64(in) : op == 2 ? fuzz_u32(in) :
		    op == 1 ? fuzz_u16(in) : fuzz_u8(in));
		memcpy(at, bytes, (size_t)1 << op < n ? (size_t)1 << op : n);
		break;
	case 4: /* one bit */
		*at ^= (unsigned char)(1u << fuzz_u8(in) % 8);
		break;
	case 5: /* a little more or less */
		*at = (unsigned char)(*at + (int8_t)fuzz_u8(in));
		break;
	case 6: /* bytes from elsewhere */
		from = fuzz_u16(in) % pages * PAGE + fuzz_u16(in) % PAGE;
		n = fuzz_u8(in) < n ? 1 : n; /* one byte or up to the end of the page */
		n = n < PAGE - from % PAGE ? n : PAGE - from % PAGE;
		memmove(at, image->map + from, n);
		break;
	default: /* a page from elsewhere, under this page's number */
		from = fuzz_u16(in) % pages * PAGE;
		memmove(image->map + page * PAGE + 8, image->map + from + 8, PAGE - 8);
	}
}

void
fuzz_image_damage(struct fuzz_image *image, struct fuzz_bytes *in)
{
	const bool mend = (fuzz_u8(in) & 1) == 0;

	for (int n = 0; n < 64 && fuzz_left(in) > EDIT; n++)
		edit(image, in);
	if (mend && !image->foreign)
		walk_values(image, mend_value);
}

/* ---- the mutator ----------------------------------------------------------------- */

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* An edit of a place that means something; its size. */
static size_t
make_edit(const struct fuzz_image *image, uint64_t *state, uint8_t *out)
{
	static const uint64_t values[] = { 0, 1, 2, 8, 16, 0x7f, 0x80, 0xff, 0x7fff, 0x8000,
		0xffff, 0x10000, INT32_MAX, UINT32_MAX, (uint64_t)1 << 32, INT64_MAX, UINT64_MAX,
		(uint64_t)1 << 39, 4096, 64, 48 };
	const struct fuzz_place *place = &image->places[next(state) % image->n_places];
	const struct fuzz_place *other = &image->places[next(state) % image->n_places];
	const uint8_t op = (uint8_t)(next(state) % 8);
	const size_t pages = image->whole.size / PAGE;
	uint64_t value = values[next(state) % (sizeof(values) / sizeof(values[0]))];

	if (next(state) % 4 == 0)
		value = next(state) % (pages + 2);
	out[0] = op;
	lc__set16(out + 1, place->page);
	lc__set16(out + 3, place->offset);
	if (op == 5)
		value = next(state) % 2 == 0 ? 1 + next(state) % 16 : 256 - next(state) % 16;
	if (op < 6) {
		lc__set64(out + EDIT, op == 4 ? next(state) : value);
		return EDIT + (op < 4 ? (size_t)1 << op : 1);
	}
	lc__set16(out + EDIT, other->page);
	lc__set16(out + EDIT + 2, other->offset);
	out[EDIT + 4] = (uint8_t)next(state);
	return op == 6 ? EDIT + 5 : EDIT + 2;
}

static size_t
mutate(uint8_t *data, size_t size, size_t room, unsigned seed, bool foreign)
{
	uint64_t state = seed * 2654435761u + 1;
	uint8_t more[16];
	size_t n, at;

	next(&state);
	if (size < HEAD || room < 64) {
		memset(data, 0, HEAD);
		data[0] = (uint8_t)next(&state);
		size = HEAD;
	}
	if (next(&state) % 3 == 0)
		return LLVMFuzzerMutate(data, size, room);
	n = make_edit(image_at(data[0], foreign), &state, more);
	/* Behind all others, mostly, or instead of them. */
	at = next(&state) % 4 == 0 ? HEAD : size;
	if (at + n > room)
		return LLVMFuzzerMutate(data, size, room);
	memcpy(data + at, more, n);
	return at + n;
}

size_t
fuzz_image_mutate(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return mutate(data, size, room, seed, false);
}

size_t
fuzz_image_mutate_env(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return mutate(data, size, room, seed, true);
}
