/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "format/twh1.h"
#include "outdir_files.h"
#include "shard/writer.h"
#include "shard_fixture.h"
#include "value/tensor.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static char *
in_scratch(const char *name)
{
	return lc__path_join(run_scratch(), name);
}

/* Neither atomic nor synced, and the old file is written over, not truncated
 * first, which some file systems take as a wish to sync: a test writes thousands. */
static void
write_file(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT, 0666);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

/* ---- a source of samples in memory ----------------------------------------- */

struct memory {
	lc_tensor type;              /* of every image */
	const unsigned char *images; /* one after the other */
	bool bytes;                  /* images are u8, to be made u16 */
	const unsigned char *boxes;  /* NULL: there are none */
	const unsigned char *mask;
	struct lc__twh1_sizes sizes; /* of one sample */
};

static lc_status
memory_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	static const char ids[] = "abcdefghijklmnopqrstuvwxyz";
	const struct memory *m = ctx;

	memset(out, 0, sizeof(*out));
	out->cache_id = (lc_id){ ids + i % 26, 1 };
	out->has_shape = true;
	out->ndim = m->type.ndim;
	memcpy(out->shape, m->type.shape, sizeof(out->shape));
	return LC_OK;
}

static lc_status
memory_image(void *ctx, uint64_t i, void *room, const void **out)
{
	const struct memory *m = ctx;

	(void)room;
	*out = m->images + i * m->sizes.image / (m->bytes ? 2 : 1);
	return LC_OK;
}

/* A piece that ends with 0xff is refused. */
static lc_status
memory_convert(void *ctx, const uint8_t *from, size_t n, void *to)
{
	uint16_t *elements = to;

	(void)ctx;
	for (size_t i = 0; i < n; i++)
		elements[i] = (uint16_t)(from[i] * 251);
	return from[n - 1] == 0xff ? LC_UNSUPPORTED : LC_OK;
}

static lc_status
memory_boxes(void *ctx, uint64_t i, const void **boxes, const void **mask)
{
	const struct memory *m = ctx;

	if (m->boxes != NULL) {
		*boxes = m->boxes + i * m->sizes.boxes;
		*mask = m->mask + i * m->sizes.mask;
	}
	return LC_OK;
}

static uint64_t
bytes_of_rows(struct memory *m, uint64_t samples)
{
	struct lc__twh1_row row;
	struct lc__buf buf = { 0 };
	uint64_t size;

	for (uint64_t i = 0; i < samples; i++) {
		ck_assert_int_eq(memory_row(m, i, &row), LC_OK);
		lc__twh1_row_encode(&row, &buf);
	}
	size = buf.size;
	lc__buf_free(&buf);
	return size;
}

static void
write_shard(const char *path, struct memory *m, uint32_t version, bool metadata,
    uint32_t max_boxes, uint64_t samples)
{
	const struct lc__shard_source source = { .ctx = m, .row = memory_row,
		.image = memory_image, .boxes = memory_boxes,
		.convert = m->bytes ? memory_convert : NULL };
	struct lc__shard_job job = { .path = path, .source = &source };
	uint32_t chw[3];
	struct lc__digest_text sums;

	ck_assert_int_eq(lc__twh1_chw(&m->type, chw), LC_OK);
	job.info = (lc_shard_info){ .version = version, .dtype = m->type.dtype,
		.channels = chw[0], .height = chw[1], .width = chw[2],
		.max_boxes = max_boxes, .boxes_dtype = m->type.dtype,
		.samples = samples };
	job.row_bytes = metadata ? bytes_of_rows(m, samples) : 0;
	ck_assert_int_eq(lc__twh1_layout(&job.info, metadata, job.row_bytes),
	    LC_OK);
	ck_assert(lc__twh1_sizes_of(&job.info, &m->sizes));
	ck_assert_int_eq(lc__shard_write(&job, &sums), LC_OK);
	ck_assert_uint_eq(strlen(sums.sha256), 64);
}

static void
assert_file_is(const char *path, const unsigned char *bytes, size_t size)
{
	struct lc__buf got = { 0 };

	ck_assert_int_eq(lc__read_file(path, 1 << 20, &got), LC_OK);
	ck_assert_uint_eq(got.size, size);
	ck_assert_mem_eq(got.data, bytes, size);
	lc__buf_free(&got);
}

/* ---- writing --------------------------------------------------------------- */

START_TEST(writes_fixture_v1)
{
	char *path = in_scratch("v1.twh1");
	const uint64_t shape[1] = { 2 };
	struct memory m = { .images = fixture_v1() + 4096,
		.boxes = fixture_v1() + 4112, .mask = fixture_v1() + 4144 };

	ck_assert_int_eq(lc_tensor_init(&m.type, LC_F32, 1, shape, NULL), LC_OK);
	write_shard(path, &m, 1, false, 1, 2);
	assert_file_is(path, fixture_v1(), FIXTURE_V1_SIZE);
	free(path);
}
END_TEST

START_TEST(writes_fixture_v2)
{
	char *path = in_scratch("v2.twh1");
	const uint64_t shape[1] = { 2 };
	struct memory m = { .images = fixture_v2() + 4096 };

	ck_assert_int_eq(lc_tensor_init(&m.type, LC_F16, 1, shape, NULL), LC_OK);
	write_shard(path, &m, 2, true, 0, 2);
	assert_file_is(path, fixture_v2(), FIXTURE_V2_SIZE);
	free(path);
}
END_TEST

static const struct {
	uint32_t ndim;
	uint64_t shape[5];
} rank_rows[] = {
	{ 0, { 0 } }, { 1, { 5 } }, { 1, { 0 } }, { 2, { 7, 3 } },
	{ 3, { 3, 33, 65 } }, { 3, { 3, 0, 65 } }, { 4, { 2, 3, 5, 7 } },
	{ 5, { 1, 2, 3, 4, 5 } },
};

/* Every dtype with every rank class, in both versions where there are two. */
static void
round_trip(lc_dtype dtype, uint32_t ndim, const uint64_t *shape,
    uint32_t version, bool metadata)
{
	char *path = in_scratch("x.twh1");
	uint64_t seed = 1;
	struct memory m = { 0 };
	unsigned char *images;
	lc_shard *shard;
	lc_sample sample;

	ck_assert_int_eq(lc_tensor_init(&m.type, dtype, ndim, shape, NULL), LC_OK);
	m.images = images = malloc(9 * m.type.nbytes + 1);
	for (size_t i = 0; i < 9 * m.type.nbytes; i++)
		images[i] = (unsigned char)run_random(&seed);
	write_shard(path, &m, version, metadata, 0, 9);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->samples, 9);
	for (uint64_t i = 0; i < 9; i++) {
		ck_assert_int_eq(lc_shard_sample(shard, i, &sample), LC_OK);
		ck_assert_uint_eq(sample.image.nbytes, m.type.nbytes);
		ck_assert(m.type.nbytes == 0 || memcmp(sample.image.data,
		    images + i * m.type.nbytes, m.type.nbytes) == 0);
		ck_assert_uint_eq(sample.boxes.nbytes, 0);
		ck_assert_uint_eq(sample.id.size, metadata ? 1 : 0);
		ck_assert_uint_eq(sample.image.ndim, metadata ? ndim : 3);
		if (metadata)
			ck_assert(lc__tensor_same_type(&sample.image, &m.type));
		ck_assert_int_eq(lc_shard_verify_sample(shard, i),
		    metadata ? LC_OK : LC_UNSUPPORTED);
	}
	ck_assert_int_eq(lc_shard_sample(shard, 9, &sample), LC_NOT_FOUND);
	ck_assert_int_eq(lc_shard_verify(shard, NULL),
	    metadata ? LC_OK : LC_UNSUPPORTED);
	lc_shard_close(shard);
	free(images);
	free(path);
}

START_TEST(round_trips)
{
	const lc_dtype dtype = (lc_dtype)_i;

	for (int r = 0; r < COUNT(rank_rows); r++) {
		const uint32_t ndim = rank_rows[r].ndim;
		round_trip(dtype, ndim, rank_rows[r].shape, 2, true);
		round_trip(dtype, ndim, rank_rows[r].shape, 2, false);
		if (dtype == LC_F32 || dtype == LC_F16)
			round_trip(dtype, ndim, rank_rows[r].shape, 1, false);
	}
}
END_TEST

START_TEST(boxes_and_masks)
{
	char *path = in_scratch("boxes.twh1");
	lc_shard *shard;
	lc_sample sample;

	write_file(path, fixture_v1(), FIXTURE_V1_SIZE);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_int_eq(lc_shard_sample(shard, 0, &sample), LC_OK);
	ck_assert_uint_eq(sample.image.ndim, 3);
	ck_assert_uint_eq(sample.boxes.ndim, 2);
	ck_assert_uint_eq(sample.boxes.shape[0], 1);
	ck_assert_uint_eq(sample.boxes.shape[1], 4);
	ck_assert_float_eq(((const float *)sample.boxes.data)[3], 0.75f);
	ck_assert_float_eq(((const float *)sample.mask.data)[0], 1);
	ck_assert_int_eq(lc_shard_sample(shard, 1, &sample), LC_OK);
	ck_assert_float_eq(((const float *)sample.image.data)[1], 4);
	ck_assert_float_eq(((const float *)sample.mask.data)[0], 0);
	ck_assert_int_eq(lc_shard_verify_sample(shard, 0), LC_UNSUPPORTED);
	lc_shard_close(shard);
	free(path);
}
END_TEST

/* ---- opening what is no shard ---------------------------------------------- */

START_TEST(opens_refused)
{
	lc_shard *shard = NULL;
	char *path = in_scratch("nothing");

	ck_assert_int_eq(lc_shard_open(path, &shard), LC_NO_FILE);
	ck_assert_int_eq(lc_shard_open(run_scratch(), &shard), LC_NOT_MODULE);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_NOT_MODULE);
	ck_assert_int_eq(unlink(path), 0);
	write_file(path, "", 0);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_NOT_MODULE);
	write_file(path, "TWH1", 4);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_CORRUPT);
	ck_assert_ptr_null(shard);
	lc_shard_close(NULL);
	free(path);
}
END_TEST

/* ---- damage ---------------------------------------------------------------- */

struct damages {
	int lines;       /* reported */
	char first[300]; /* the first of them */
};

static void
count_damage(void *ctx, const char *line)
{
	struct damages *d = ctx;

	if (d->lines++ == 0)
		snprintf(d->first, sizeof(d->first), "%s", line);
}

/* 200 KiB of u8 in 4 blocks: 50 samples of 4 KiB. */
static char *
four_blocks(void)
{
	static unsigned char images[50 * 4096];
	char *path = in_scratch("four.twh1");
	const uint64_t shape[1] = { 4096 };
	struct memory m = { .images = images };
	uint64_t seed = 7;

	for (size_t i = 0; i < sizeof(images); i++)
		images[i] = (unsigned char)run_random(&seed);
	ck_assert_int_eq(lc_tensor_init(&m.type, LC_U8, 1, shape, NULL), LC_OK);
	write_shard(path, &m, 2, true, 0, 50);
	return path;
}

static void
flip(const char *path, off_t at)
{
	const int fd = open(path, O_RDWR);
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

START_TEST(damaged_block)
{
	char *path = four_blocks();
	struct damages damages = { 0 };
	const lc_progress progress = { .damage = count_damage, .ctx = &damages };
	lc_shard *shard;

	/* In sample 20, which is the fifth of the second block. */
	flip(path, 4096 + 20 * 4096 + 5);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->checksum_offset % 64, 0);
	for (uint64_t i = 0; i < 50; i++) {
		const bool shares = i >= 15 && i <= 30;
		ck_assert_int_eq(lc_shard_verify_sample(shard, i),
		    shares ? LC_CORRUPT : LC_OK);
	}
	ck_assert_int_eq(lc_shard_verify_sample(shard, 50), LC_NOT_FOUND);
	ck_assert_int_eq(lc_shard_verify(shard, &progress), LC_CORRUPT);
	ck_assert_int_eq(damages.lines, 1);
	ck_assert_ptr_nonnull(strstr(damages.first,
	    "bytes 65536 to 131071 do not match their checksum"));
	lc_shard_close(shard);
	free(path);
}
END_TEST

static int
stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	ck_assert_uint_le(done, total);
	return 1;
}

START_TEST(verify_cancelled)
{
	char *path = four_blocks();
	const lc_progress progress = { .step = stop_at_once };
	lc_shard *shard;

	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_int_eq(lc_shard_verify(shard, &progress), LC_CANCELLED);
	lc_shard_close(shard);
	free(path);
}
END_TEST

static void
read_samples(const lc_shard *shard)
{
	volatile unsigned char sum = 0;
	lc_sample s;

	for (uint64_t i = 0; i < lc_shard_info_of(shard)->samples && i < 8; i++) {
		if (lc_shard_verify_sample(shard, i) == LC_OK)
			sum++;
		if (lc_shard_sample(shard, i, &s) != LC_OK)
			continue;
		if (s.image.nbytes > 0)
			sum += ((const unsigned char *)s.image.data)[s.image.nbytes - 1];
		if (s.mask.nbytes > 0)
			sum += ((const unsigned char *)s.mask.data)[s.mask.nbytes - 1];
	}
	(void)sum;
}

START_TEST(mutated_files)
{
	char *path = in_scratch("mutant.twh1");
	uint64_t seed = run_seed();

	for (int round = 0; round < 20000; round++) {
		const bool v1 = round % 4 == 0;
		size_t size = v1 ? FIXTURE_V1_SIZE : FIXTURE_V2_SIZE;
		unsigned char *bytes = fixture_copy(v1 ? fixture_v1() :
		    fixture_v2(), size);
		lc_shard *shard;

		for (uint64_t n = run_random(&seed) % 3 + 1; n > 0; n--) {
			const uint64_t r = run_random(&seed);
			bytes[r % 2 ? r / 2 % 80 : r / 2 % size] ^=
			    (unsigned char)(1u << (r >> 60) % 8);
		}
		if (run_random(&seed) % 8 == 0)
			size -= run_random(&seed) % size;
		write_file(path, bytes, size);
		if (lc_shard_open(path, &shard) == LC_OK) {
			read_samples(shard);
			/* Bits that differ never pass for whole; the same bit
			 * may have been flipped twice. */
			if (!v1 && lc_shard_verify(shard, NULL) == LC_OK)
				ck_assert_mem_eq(bytes, fixture_v2(),
				    FIXTURE_V2_SIZE);
			lc_shard_close(shard);
		}
		free(bytes);
	}
	free(path);
}
END_TEST

/* ---- failures of the writer ------------------------------------------------ */

static lc_status
refuse_step(void *ctx, uint64_t bytes)
{
	(void)ctx;
	(void)bytes;
	return LC_CANCELLED;
}

/* Images larger than the writer's buffers, made of others in pieces. */
START_TEST(converts_images)
{
	char *path = in_scratch("x.twh1");
	const uint64_t shape[3] = { 3, 333, 255 };
	const size_t elements = 3 * 333 * 255;
	struct memory m = { .bytes = true };
	unsigned char *images = malloc(3 * elements);
	uint64_t seed = run_seed();
	lc_shard *shard;
	lc_sample sample;

	for (size_t i = 0; i < 3 * elements; i++)
		images[i] = (unsigned char)(run_random(&seed) % 255);
	m.images = images;
	ck_assert_int_eq(lc_tensor_init(&m.type, LC_U16, 3, shape, NULL), LC_OK);
	write_shard(path, &m, 2, true, 0, 3);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	for (uint64_t i = 0; i < 3; i++) {
		ck_assert_int_eq(lc_shard_sample(shard, i, &sample), LC_OK);
		for (size_t k = 0; k < elements; k++)
			ck_assert_uint_eq(((const uint16_t *)sample.image.data)[k],
			    images[i * elements + k] * 251);
	}
	ck_assert_int_eq(lc_shard_verify(shard, NULL), LC_OK);
	lc_shard_close(shard);
	free(images);
	free(path);
}
END_TEST

START_TEST(failed_write_leaves_nothing)
{
	char *path = in_scratch("x.twh1");
	const uint64_t shape[1] = { 2 };
	struct memory m = { .images = fixture_v2() + 4096 };
	struct lc__shard_source source = { .ctx = &m, .row = memory_row,
		.image = memory_image, .boxes = memory_boxes };
	struct lc__shard_job job = { .path = path, .source = &source,
		.step = refuse_step };
	struct lc__digest_text sums;

	write_file(path, "old", 3);
	ck_assert_int_eq(lc_tensor_init(&m.type, LC_F16, 1, shape, NULL), LC_OK);
	job.info = (lc_shard_info){ .version = 2, .dtype = LC_F16,
		.channels = 1, .height = 1, .width = 2, .samples = 2 };
	job.row_bytes = bytes_of_rows(&m, 2);
	ck_assert_int_eq(lc__twh1_layout(&job.info, true, job.row_bytes), LC_OK);
	ck_assert(lc__twh1_sizes_of(&job.info, &m.sizes));
	ck_assert_int_eq(lc__shard_write(&job, &sums), LC_CANCELLED);
	assert_file_is(path, (const unsigned char *)"old", 3);
	/* Metadata that is not what the layout was made for is refused. */
	job.step = NULL;
	job.row_bytes++;
	ck_assert_int_eq(lc__shard_write(&job, &sums), LC_CORRUPT);
	assert_file_is(path, (const unsigned char *)"old", 3);
	/* So is an image that cannot be converted. */
	m.bytes = true;
	m.images = (const unsigned char *)"\xff\xff\xff\xff";
	source.convert = memory_convert;
	ck_assert_int_eq(lc__shard_write(&job, &sums), LC_UNSUPPORTED);
	assert_file_is(path, (const unsigned char *)"old", 3);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(outdir_count_unfinished(path), 0);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shard");
	TCase *tc = tcase_create("shard");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, writes_fixture_v1);
	tcase_add_test(tc, writes_fixture_v2);
	tcase_add_loop_test(tc, round_trips, 0, LC_DTYPE_COUNT);
	tcase_add_test(tc, boxes_and_masks);
	tcase_add_test(tc, opens_refused);
	tcase_add_test(tc, damaged_block);
	tcase_add_test(tc, verify_cancelled);
	tcase_add_test(tc, mutated_files);
	tcase_add_test(tc, converts_images);
	tcase_add_test(tc, failed_write_leaves_nothing);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
