/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of MDS to import: a sample is a record. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "formats/archive.h"
#include "formats/formats.h"
#include "formats/mds.h"
#include "formats/outfile.h"

#define STEP ((size_t)1 << 20) /* bytes read at once */
#define MAX_INDEX ((uint64_t)1 << 30)
#define ID "id" /* the column of cache_ids unless another is named */
#define NONE SIZE_MAX

/* ---- shards ------------------------------------------------------------------------ */

/* A shard that is read: compared with the index, and inflated if only the compressed file
 * exists. SHARD_NONE is closed. */
struct shard_file {
	int fd;              /* of its bytes as they are; -1 if it is closed */
	char *path;          /* for messages */
	uint32_t samples;    /* number of samples in the shard */
	unsigned char *head; /* where they are */
};

#define SHARD_NONE \
	{ \
		.fd = -1 \
	}

static lc_status
read_at(int fd, uint64_t at, void *out, size_t size, const char *path)
{
	size_t got;

	if (lseek(fd, (off_t)at, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", path);
	return_if_error(lc__read_full(fd, out, size, &got, path));
	return got == size ? LC_OK : lc__error(LC_CORRUPT, 0, "%s: ends early", path);
}

/* Checksums of unknown kinds are ignored. */
static lc_status
check_hash(int fd, const struct lc__mds_hash *hash, const char *path)
{
	char hex[LC__CHECKSUM_HEX];
	struct lc__checksum *sum;
	unsigned char *bytes;
	size_t got = STEP;
	lc_status status = lc__checksum_new(hash->algorithm, &sum);

	if (status != LC_OK)
		return status == LC_UNSUPPORTED ? LC_OK : status;
	bytes = malloc(STEP);
	if (bytes == NULL)
		status = lc__no_memory(path);
	else if (lseek(fd, 0, SEEK_SET) == -1)
		status = lc__error_sys(errno, "%s: seek", path);
	while (status == LC_OK && got == STEP) {
		status = lc__read_full(fd, bytes, STEP, &got, path);
		if (status == LC_OK)
			status = lc__checksum_update(sum, bytes, got);
	}
	free(bytes);
	if (status == LC_OK)
		status = lc__checksum_hex(sum, hex);
	if (status == LC_OK && strcasecmp(hex, hash->hex) != 0)
		status = lc__error(LC_CORRUPT, 0,
		    "%s: %s is %s, not %s as the index has it", path, hash->algorithm,
		    hex, hash->hex);
	lc__checksum_free(sum);
	return status;
}

static lc_status
check_file(int fd, const struct lc__mds_file *file, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if ((uint64_t)st.st_size != file->bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %jd bytes, of which the index has %" PRIu64, path,
		    (intmax_t)st.st_size, file->bytes);
	for (size_t i = 0; i < file->hashes; i++)
		return_if_error(check_hash(fd, &file->hash[i], path));
	return LC_OK;
}

/* Inflate the bytes that the index states, and one step more to see that no more
 * follow. */
static lc_status
inflate_into(struct lc__spill *spill, struct lc__archive *archive, uint64_t limit)
{
	struct lc__buf bytes = { 0 };
	struct lc__archive_member member;
	lc_status status = lc__archive_next(archive, &member);

	if (status == LC_END)
		status = lc__error(LC_CORRUPT, 0, "nothing in it");
	bytes.size = STEP;
	while (status == LC_OK && bytes.size == STEP && spill->size <= limit) {
		bytes.size = 0;
		status = lc__archive_read_some(archive, STEP, &bytes);
		if (status == LC_OK)
			status = lc__spill_write(spill, bytes.data, bytes.size);
	}
	lc__buf_free(&bytes);
	if (status == LC_OK && spill->size != limit)
		status = lc__error(LC_CORRUPT, 0,
		    "inflated it is not of the %" PRIu64 " bytes that the index has",
		    limit);
	return status == LC_OK ? lc__spill_flush(spill) : status;
}

static lc_status
inflate(const struct lc__mds_shard *shard, struct shard_file *file)
{
	static const char *const known[] = { "gz", "bz2", "zstd" };
	const size_t count = sizeof(known) / sizeof(known[0]);
	const size_t size = strcspn(shard->compression, ":"); /* the level follows */
	struct lc__spill spill = LC__SPILL_NONE;
	struct lc__archive *archive;
	size_t i = 0;
	lc_status status;
	int fd;

	while (i < count &&
	    (strlen(known[i]) != size || memcmp(known[i], shard->compression, size) != 0))
		i++;
	if (i == count)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: compressed by %s, which is not read here", file->path,
		    lc__quote_id(shard->compression, strlen(shard->compression)));
	return_if_error(lc__open_regular(file->path, &fd));
	status = check_file(fd, &shard->zip, file->path);
	close(fd);
	return_if_error(status);

	status = lc__archive_open_file(LC__ARCHIVE_RAW, file->path, &archive);
	if (status != LC_OK)
		return lc__error_prefix("%s", file->path);
	status = lc__spill_open(NULL, &spill);
	if (status == LC_OK)
		status = inflate_into(&spill, archive, shard->raw.bytes);
	lc__archive_close(archive);
	if (status == LC_OK) {
		file->fd = spill.fd;
		spill.fd = -1;
	}
	lc__spill_close(&spill);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", file->path);
}

/* Open a closed one; the caller closes it, also after a failure. */
static lc_status
shard_open(const char *dir, const struct lc__mds_shard *shard, struct shard_file *out)
{
	const uint64_t size = lc__mds_head_size(shard->samples);
	lc_status status;

	/* The plain file if it exists, else the compressed one. */
	out->path = lc__path_join(dir, shard->raw.name);
	if (out->path == NULL)
		return lc__no_memory(dir);
	status = lc__open_regular(out->path, &out->fd);
	if (status == LC_NO_FILE && shard->compression != NULL) {
		free(out->path);
		out->path = lc__path_join(dir, shard->zip.name);
		status = out->path != NULL ? inflate(shard, out) : lc__no_memory(dir);
	}
	return_if_error(status);
	return_if_error(check_file(out->fd, &shard->raw, out->path));

	if (size > shard->raw.bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %" PRIu64 " bytes cannot have %" PRIu32 " samples", out->path,
		    shard->raw.bytes, shard->samples);
	out->head = malloc(size);
	if (out->head == NULL)
		return lc__no_memory(out->path);
	return_if_error(read_at(out->fd, 0, out->head, size, out->path));
	if (lc__mds_check_head(out->head, shard->samples, shard->raw.bytes) != LC_OK)
		return lc__error_prefix("%s", out->path);
	out->samples = shard->samples;
	return LC_OK;
}

static uint64_t
shard_size(const struct shard_file *file, uint32_t sample)
{
	uint64_t begin, end;

	lc__mds_place(file->head, sample, &begin, &end);
	return end - begin;
}

static lc_status
shard_read(const struct shard_file *file, uint32_t sample, uint64_t at, void *out,
    size_t size)
{
	uint64_t begin, end;

	lc__mds_place(file->head, sample, &begin, &end);
	return read_at(file->fd, begin + at, out, size, file->path);
}

static void
shard_close(struct shard_file *file)
{
	if (file->fd != -1)
		close(file->fd);
	free(file->path);
	free(file->head);
	*file = (struct shard_file)SHARD_NONE;
}

/* ---- samples as records ------------------------------------------------------------ */

struct mds_in {
	char *dir;
	struct lc__incoming_how how;
	char *id_name; /* the column of cache_ids; NULL for places */
	struct lc__mds_index index;
	bool nested;              /* names of columns are paths */
	size_t shard, next_shard; /* the current one, the next one */
	uint32_t sample, next_sample;
	struct shard_file file;
	struct lc__mds_piece *pieces; /* of the sample, if the flag says so */
	bool split;
	struct lc__buf id; /* of the sample */
};

/* The columns of the current shard. */
static const struct lc__mds_columns *
columns_of(const struct mds_in *in)
{
	return &in->index.columns[in->index.shard[in->shard].columns];
}

static lc_status
at_sample(const struct mds_in *in)
{
	return lc__error_prefix("%s: sample %" PRIu32, in->file.path, in->sample);
}

/* ---- opening ------------------------------------------------------------------- */

/* Is there a first shard, as it is or compressed? */
static lc_status
has_shard(const char *dir, bool *has)
{
	static const char *const names[] = { "shard.00000.mds", "shard.00000.mds.zstd",
		"shard.00000.mds.gz", "shard.00000.mds.bz2" };
	struct stat st;

	*has = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !*has; i++) {
		char *path = lc__path_join(dir, names[i]);

		if (path == NULL)
			return lc__no_memory(dir);
		*has = stat(path, &st) == 0 && S_ISREG(st.st_mode);
		free(path);
	}
	return LC_OK;
}

/* A path to index.json means its directory. A directory with shards but without an index
 * is recognised too: opening it fails with an error that names the index. */
static lc_status
is_mds(const char *path, const void *first, size_t size, bool *is)
{
	const char *slash = strrchr(path, '/');
	lc_status status = LC_OK;
	struct stat st;
	char *index;

	if (first != NULL) {
		*is = strcmp(slash ? slash + 1 : path, LC__MDS_INDEX) == 0 &&
		    lc__mds_index_is(first, size);
		return LC_OK;
	}
	index = lc__path_join(path, LC__MDS_INDEX);
	if (index == NULL)
		return lc__no_memory(path);
	*is = false;
	status = lc__no_lost_link(index);
	/* The open below refuses a FIFO. */
	if (status == LC_OK && stat(index, &st) == 0)
		*is = !S_ISDIR(st.st_mode);
	else if (status == LC_OK && errno != ENOENT && errno != ENOTDIR)
		status = lc__error_sys(errno, "%s: stat", index);
	else if (status == LC_OK)
		status = has_shard(path, is);
	free(index);
	return status;
}

static void
close_mds(void *file)
{
	struct mds_in *in = file;

	if (in == NULL)
		return;
	shard_close(&in->file);
	lc__mds_index_free(&in->index);
	lc__buf_free(&in->id);
	free(in->pieces);
	free(in->id_name);
	free(in->dir);
	free(in);
}

static lc_status
read_index(struct mds_in *in, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct lc__buf text = { 0 };
	struct stat st;
	char *file;
	lc_status status;

	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (S_ISDIR(st.st_mode))
		in->dir = strdup(path);
	else
		in->dir = slash == NULL ? strdup(".")
		    : slash == path     ? strdup("/")
					: strndup(path, (size_t)(slash - path));
	if (in->dir == NULL)
		return lc__no_memory(path);
	file = lc__path_join(in->dir, LC__MDS_INDEX);
	if (file == NULL)
		return lc__no_memory(in->dir);
	status = lc__read_regular(file, MAX_INDEX, &text);
	if (status == LC_OK &&
	    lc__mds_index_read(text.data, text.size, &in->index) != LC_OK)
		status = lc__error_prefix("%s", in->dir);
	lc__buf_free(&text);
	free(file);
	return status;
}

/* Choose the column of cache_ids: all shards have it, and its kind can be a cache_id. */
static lc_status
choose_id(struct mds_in *in)
{
	const char *name = in->how.id != NULL ? in->how.id : ID;
	bool all = true;
	size_t i;

	for (size_t set = 0; all && set < in->index.column_sets; set++) {
		const struct lc__mds_columns *columns = &in->index.columns[set];
		const struct lc__mds_encoding *encoding;

		all = lc__mds_find(columns, name, &i);
		if (!all)
			break;
		encoding = &columns->column[i].encoding;
		all = encoding->kind == LC__MDS_STR || encoding->kind == LC__MDS_BYTES ||
		    encoding->kind == LC__MDS_INT || encoding->kind == LC__MDS_STR_INT ||
		    (encoding->kind == LC__MDS_NUMBER && encoding->type.dtype != LC_F16 &&
			encoding->type.dtype != LC_F32 && encoding->type.dtype != LC_F64);
	}
	if (!all)
		return in->how.id == NULL
		    ? LC_OK
		    : lc__error(LC_INVALID, 0,
			  "%s: no column %s of text, bytes or integers in every shard",
			  in->dir, lc__quote_id(name, strlen(name)));
	in->id_name = strdup(name);
	return in->id_name != NULL ? LC_OK : lc__no_memory(in->dir);
}

static bool
is_id(const struct mds_in *in, const struct lc__mds_column *column)
{
	return in->id_name != NULL && strcmp(column->name, in->id_name) == 0;
}

/* Are all names paths of one value? The same for all shards, so that their records have
 * one structure. */
static lc_status
choose_names(struct mds_in *in)
{
	size_t most = 0;

	in->nested = true;
	for (size_t set = 0; set < in->index.column_sets; set++) {
		const struct lc__mds_columns *columns = &in->index.columns[set];
		struct lc__parts parts = { 0 };
		lc_status status = LC_OK;

		for (size_t i = 0; status == LC_OK && i < columns->count; i++)
			if (!is_id(in, &columns->column[i]))
				status = lc__parts_add(&parts, columns->column[i].name,
				    lc_value_nil());
		lc__parts_free(&parts);
		if (status != LC_OK && status != LC_INVALID)
			return lc__error_prefix("%s", in->dir);
		in->nested &= status == LC_OK;
		if (columns->count > most)
			most = columns->count;
		for (size_t i = 0; i < columns->count; i++)
			if (*columns->column[i].name == '\0')
				return lc__error(LC_UNSUPPORTED, 0,
				    "%s: a column without a name", in->dir);
	}
	in->pieces = calloc(most + 1, sizeof(*in->pieces));
	return in->pieces != NULL ? LC_OK : lc__no_memory(in->dir);
}

static lc_status
open_mds(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct mds_in *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(path);
	in->file = (struct shard_file)SHARD_NONE;
	in->how = *how;
	in->shard = NONE;
	status = read_index(in, path);
	if (status == LC_OK)
		status = choose_id(in);
	if (status == LC_OK)
		status = choose_names(in);
	if (status == LC_OK)
		*out = in;
	else
		close_mds(in);
	return status;
}

/* ---- samples ------------------------------------------------------------------- */

/* Go to a sample; LC_END after the last one of the last shard. */
static lc_status
step(struct mds_in *in)
{
	while (in->shard == NONE || in->next_sample >= in->file.samples) {
		shard_close(&in->file);
		if (in->next_shard == in->index.shards)
			return LC_END;
		in->shard = in->next_shard++;
		in->next_sample = 0;
		return_if_error(
		    shard_open(in->dir, &in->index.shard[in->shard], &in->file));
	}
	in->sample = in->next_sample++;
	in->split = false;
	return LC_OK;
}

static lc_status
split(struct mds_in *in)
{
	const struct lc__mds_columns *columns = columns_of(in);
	const uint64_t size = shard_size(&in->file, in->sample);
	unsigned char *sizes;
	lc_status status;

	if (in->split)
		return LC_OK;
	if (size < columns->sizes * 4)
		return lc__error(LC_CORRUPT, 0,
		    "%s: sample %" PRIu32 ": %" PRIu64 " bytes are not %zu sizes",
		    in->file.path, in->sample, size, columns->sizes);
	sizes = malloc(columns->sizes * 4 + 1);
	if (sizes == NULL)
		return lc__no_memory(in->dir);
	status = shard_read(&in->file, in->sample, 0, sizes, columns->sizes * 4);
	if (status == LC_OK &&
	    lc__mds_split(columns, sizes, (size_t)size, in->pieces) != LC_OK)
		status = at_sample(in);
	free(sizes);
	in->split = status == LC_OK;
	return status;
}

/* The digits of a number; text and bytes unchanged. */
static lc_status
id_text(struct mds_in *in, const struct lc__mds_encoding *encoding,
    const unsigned char *bytes, size_t size)
{
	lc_value *value = NULL;
	uint64_t natural;
	int64_t integer;

	if (encoding->kind != LC__MDS_INT && encoding->kind != LC__MDS_NUMBER) {
		lc__buf_append(&in->id, bytes, size);
		return LC_OK;
	}
	return_if_error(lc__mds_decode(encoding, bytes, size, NULL, &value));
	if (lc_value_as_integer(value, &integer) == LC_OK)
		lc__buf_printf(&in->id, "%" PRId64, integer);
	else if (lc_value_as_unsigned(value, &natural) == LC_OK)
		lc__buf_printf(&in->id, "%" PRIu64, natural);
	lc_value_free(value);
	return LC_OK;
}

static lc_status
read_id(struct mds_in *in)
{
	const struct lc__mds_columns *columns = columns_of(in);
	unsigned char *bytes;
	size_t i = 0;
	lc_status status;

	return_if_error(split(in));
	(void)lc__mds_find(columns, in->id_name, &i);
	if (in->pieces[i].size == 0 || in->pieces[i].size > LC_MAX_ID)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: sample %" PRIu32 ": %s of %zu "
		    "bytes is not a cache_id of 1 to %d bytes",
		    in->file.path, in->sample, in->id_name, in->pieces[i].size,
		    LC_MAX_ID);
	bytes = malloc(in->pieces[i].size);
	if (bytes == NULL)
		return lc__no_memory(in->dir);
	status = shard_read(&in->file, in->sample, in->pieces[i].at, bytes,
	    in->pieces[i].size);
	if (status == LC_OK &&
	    id_text(in, &columns->column[i].encoding, bytes, in->pieces[i].size) != LC_OK)
		status = at_sample(in);
	free(bytes);
	return status;
}

/* After a failure, step() goes to the next sample or the next shard. */
static lc_status
next_sample(void *file, lc_id *id)
{
	struct mds_in *in = file;

	in->id.size = 0;
	return_if_error(step(in));
	if (in->id_name != NULL)
		return_if_error(read_id(in));
	else
		lc__buf_printf(&in->id, "%s:%" PRIu32,
		    in->index.shard[in->shard].raw.name, in->sample);
	if (in->id.failed)
		return lc__no_memory(in->dir);
	*id = (lc_id){ in->id.data, in->id.size };
	return LC_OK;
}

/* ---- values -------------------------------------------------------------------- */

/* A single column is the value; several columns are a map. */
static lc_status
build(struct mds_in *in, const unsigned char *sample, struct lc__loaded *out)
{
	const struct lc__mds_columns *columns = columns_of(in);
	const bool alone = columns->count - (in->id_name != NULL) == 1;
	struct lc__parts parts = { 0 };
	lc_value *flat = alone || in->nested ? NULL : lc_value_map(), *part;
	lc_status status = LC_OK;

	for (size_t i = 0; status == LC_OK && i < columns->count; i++) {
		const struct lc__mds_column *column = &columns->column[i];
		const unsigned char *bytes = sample + in->pieces[i].at;

		if (is_id(in, column))
			continue;
		if (lc__mds_is_image(column->encoding.kind))
			status = lc__mds_image(column->encoding.kind, bytes,
			    in->pieces[i].size, &in->how, out, &part);
		else
			status = lc__mds_decode(&column->encoding, bytes,
			    in->pieces[i].size, out, &part);
		if (status != LC_OK)
			lc__error_prefix("column %s",
			    lc__quote_id(column->name, strlen(column->name)));
		else if (alone)
			out->value = part;
		else if (in->nested)
			status = lc__parts_add(&parts, column->name, part);
		else
			lc_value_set(flat, column->name, part);
	}
	if (status == LC_OK && !alone && in->nested)
		status = lc__parts_build(&parts, &out->value);
	lc__parts_free(&parts);
	if (flat != NULL)
		out->value = flat;
	return status;
}

static lc_status
load_sample(void *file, struct lc__loaded *out)
{
	struct mds_in *in = file;
	unsigned char *sample;
	uint64_t size;
	lc_status status;

	size = shard_size(&in->file, in->sample);
	if (size > in->how.limit)
		return lc__error(LC_INVALID, 0,
		    "%s: sample %" PRIu32 ": %" PRIu64
		    " bytes, more than the limit of %" PRIu64,
		    in->file.path, in->sample, size, in->how.limit);
	return_if_error(split(in));
	sample = malloc((size_t)size + 1);
	if (sample == NULL)
		return lc__no_memory(in->dir);
	status = shard_read(&in->file, in->sample, 0, sample, (size_t)size);
	if (status == LC_OK && build(in, sample, out) != LC_OK)
		status = at_sample(in);
	free(sample);
	return status;
}

static uint64_t
count_samples(const void *file)
{
	return ((const struct mds_in *)file)->index.samples;
}

const struct lc__incoming_format lc__incoming_mds = {
	.name = "mds",
	.what = "directories of MDS (MosaicML streaming)",
	.is = is_mds,
	.open = open_mds,
	.next = next_sample,
	.load = load_sample,
	.count = count_samples,
	.close = close_mds,
};
