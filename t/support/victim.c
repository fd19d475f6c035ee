/* SPDX-License-Identifier: BSD-2-Clause */
#include "victim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "filling.h"
#include "need.h"
#include "random_value.h"
#include "run.h"
#include "sample.h"

/* ---- learning ------------------------------------------------------------- */

static struct victim_key *
find_key(const struct victim *v, const void *id, size_t size)
{
	for (size_t i = 0; i < v->nkeys; i++)
		if (v->keys[i].id_size == size &&
		    memcmp(v->keys[i].id, id, size) == 0)
			return &v->keys[i];
	return NULL;
}

static struct victim_key *
add_key(struct victim *v, const void *id, size_t size)
{
	struct victim_key *key;

	v->keys = realloc(v->keys, (v->nkeys + 1) * sizeof(*v->keys));
	need(v->keys != NULL);
	key = &v->keys[v->nkeys++];
	*key = (struct victim_key){ .id = malloc(size), .id_size = size };
	need(key->id != NULL);
	memcpy(key->id, id, size);
	return key;
}

/* Position of a value in the history of a key, counted from 1; 0: never put. */
static size_t
version_of(const struct victim_key *key, const lc_value *value)
{
	for (size_t i = key->count; i > 0; i--)
		if (lc_value_equal(key->values[i - 1], value))
			return i;
	return 0;
}

/* The newest value of a key, which may have had it before. */
static void
add_value(struct victim_key *key, const lc_value *value)
{
	const size_t version = version_of(key, value);
	lc_value *newest;

	if (version == 0) {
		key->values = realloc(key->values, (key->count + 1) * sizeof(*key->values));
		need(key->values != NULL);
		key->values[key->count++] = lc_value_copy(value);
		return;
	}
	newest = key->values[version - 1];
	memmove(&key->values[version - 1], &key->values[version],
	    (key->count - version) * sizeof(*key->values));
	key->values[key->count - 1] = newest;
}

/* What the module holds after a flush. */
static void
learn(struct victim *v, lc_cache *cache)
{
	const lc_value *value;
	lc_iter *iter;
	lc_item item;
	lc_status status;

	for (size_t i = 0; i < v->nkeys; i++)
		v->keys[i].live = false;
	v->nlive = 0;
	need_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		struct victim_key *key = find_key(v, item.id.data, item.id.size);

		need_ok(lc_iter_value(iter, NULL, &value));
		if (key == NULL)
			key = add_key(v, item.id.data, item.id.size);
		add_value(key, value);
		key->live = true;
		v->nlive++;
	}
	need_status(status, LC_END);
	lc_iter_close(iter);
}

/* ---- the file ------------------------------------------------------------- */

static uint64_t
get(const unsigned char *p, unsigned width)
{
	uint64_t n = 0;

	memcpy(&n, p, width); /* the tests run on little-endian machines only */
	return n;
}

static void
add_row(struct victim *v, const char *table, size_t node)
{
	const unsigned char *n = v->bytes + node;
	struct victim_row *row;

	v->rows = realloc(v->rows, (v->nrows + 1) * sizeof(*v->rows));
	need(v->rows != NULL);
	row = &v->rows[v->nrows++];
	memset(row, 0, sizeof(*row));
	snprintf(row->table, sizeof(row->table), "%s", table);
	row->key = node + 8;
	row->key_size = (size_t)get(n + 6, 2);
	row->value = row->key + row->key_size;
	row->value_size = (size_t)get(n, 4);
	if (get(n + 4, 2) == 1)
		row->value = (size_t)get(v->bytes + row->value, 8) * 4096 + 16;
}

/* The rows below a page; of the main tree those of its tables too. */
static void
add_tree(struct victim *v, const char *table, uint64_t number)
{
	const size_t page = (size_t)number * 4096;
	const unsigned nodes = ((unsigned)get(v->bytes + page + 12, 2) - 16) / 2;

	for (unsigned i = 0; i < nodes; i++) {
		const size_t node = page + (size_t)get(v->bytes + page + 16 + 2 * i, 2);
		char name[8] = "";

		if (get(v->bytes + page + 10, 2) & 1) {
			add_tree(v, table, get(v->bytes + node, 4));
			continue;
		}
		add_row(v, table, node);
		if (strcmp(table, "main") != 0)
			continue;
		memcpy(name, v->bytes + node + 8, get(v->bytes + node + 6, 2));
		if (get(v->bytes + v->rows[v->nrows - 1].value + 40, 8) != UINT64_MAX)
			add_tree(v, name, get(v->bytes +
			    v->rows[v->nrows - 1].value + 40, 8));
	}
}

static char *
data_path(const char *root)
{
	char *path;

	need(asprintf(&path, "%s/m/data.mdb", root) > 0);
	return path;
}

static void
read_data(const char *root, struct lc__buf *out)
{
	char *path = data_path(root);

	*out = (struct lc__buf){ 0 };
	need_ok(lc__read_file(path, 1 << 30, out));
	free(path);
}

static void
learn_file(struct victim *v, const char *root)
{
	const unsigned char *meta;
	struct lc__buf file;

	read_data(root, &file);
	v->bytes = file.data;
	v->size = file.size;
	meta = v->bytes;
	if (get(meta + 4096 + 144, 8) > get(meta + 144, 8))
		meta += 4096;
	add_tree(v, "main", get(meta + 88 + 40, 8));
}

/* ---- making --------------------------------------------------------------- */

static lc_value *
make_value(uint64_t *random, unsigned how, const void *id, size_t size)
{
	lc_value *value = lc_value_map(), *copy;
	lc_tensor tensor;

	if (how == 0) {
		lc_value_free(value);
		return random_value(random, 2);
	}
	sample_make(&tensor, id, size, run_random(random), (struct sample_range){ 8, 900 });
	if (how == 1) {
		lc_value_free(value);
		value = lc_value_tensor(&tensor);
	} else {
		lc_value_set(value, "x", lc_value_tensor(&tensor));
		if (run_random(random) % 2)
			lc_value_set(value, "n", lc_value_integer(7));
	}
	copy = lc_value_copy(value);
	lc_value_free(value);
	sample_free(&tensor);
	return copy;
}

static void
put_some(struct victim *v, lc_cache *cache, uint64_t *random, unsigned how)
{
	for (unsigned n = 1 + (unsigned)(run_random(random) % 6); n > 0; n--) {
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, run_random(random) % 12);
		struct victim_key *key;
		lc_value *value;

		if (run_random(random) % 5 == 0) {
			need(lc_delete(cache, id, size) != LC_CORRUPT);
			continue;
		}
		value = make_value(random, how, id, size);
		need_ok(lc_put_value(cache, id, size, value));
		key = find_key(v, id, size);
		add_value(key != NULL ? key : add_key(v, id, size), value);
		lc_value_free(value);
	}
	need_ok(lc_flush(cache));
	learn(v, cache);
}

static void
fill_some(lc_cache *cache, uint64_t *random)
{
	const unsigned inputs = 1 + (unsigned)(run_random(random) % 3);
	lc_writer *writer;

	need_ok(filling_declare(cache, inputs));
	for (unsigned i = 0; i < inputs; i++) {
		const unsigned chunks = 1 + (unsigned)(run_random(random) % 3);
		const int finish = run_random(random) % 2 == 0;

		need_ok(filling_open(cache, i, &writer));
		for (unsigned k = 1; k <= chunks; k++)
			need_ok(filling_commit(writer, finish && k == chunks));
		lc_writer_close(writer);
	}
}

static void
choose_settings(lc_cache *cache, uint64_t *random, unsigned how)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	need_ok(lc_settings_get(cache, &settings));
	settings.codec = (lc_codec[]){ LC_CODEC_NONE, LC_CODEC_LZ4,
	    LC_CODEC_NONE }[run_random(random) % 3];
	if (how == 1 || run_random(random) % 2)
		settings.max_bytes = (uint64_t)1 << 40;
	if (how == 3)
		snprintf(settings.length_field, sizeof(settings.length_field), "x");
	need_ok(lc_settings_set(cache, &settings));
}

void
victim_make(struct victim *v, const char *root, uint64_t seed)
{
	uint64_t random = seed;
	const unsigned how = (unsigned)(run_random(&random) % 5);
	lc_options options = sample_options();
	lc_cache *cache;

	memset(v, 0, sizeof(*v));
	v->settings.struct_size = sizeof(v->settings);
	options.durability = LC_DURABLE_RELAXED;
	options.map_size = 1 << 24;
	cache = sample_open(root, "m", &options);
	choose_settings(cache, &random, how);
	if (how == 4)
		fill_some(cache, &random);
	for (unsigned n = 1 + (unsigned)(run_random(&random) % 12); how != 4 && n > 0;
	    n--)
		put_some(v, cache, &random, how);
	learn(v, cache);
	need_ok(lc_settings_get(cache, &v->settings));
	v->fill = filling_state(cache);
	need_ok(lc_close(cache));
	learn_file(v, root);
}

void
victim_free(struct victim *v)
{
	for (size_t i = 0; i < v->nkeys; i++) {
		for (size_t k = 0; k < v->keys[i].count; k++)
			lc_value_free(v->keys[i].values[k]);
		free(v->keys[i].values);
		free(v->keys[i].id);
	}
	free(v->keys);
	free(v->bytes);
	free(v->rows);
}

/* ---- a round -------------------------------------------------------------- */

void
victim_write(const char *root, const void *bytes, size_t size)
{
	char *path = data_path(root);
	struct dirent *entry;
	char dir[4200];
	DIR *handle;
	int fd;

	snprintf(dir, sizeof(dir), "%s/m", root);
	handle = opendir(dir);
	need(handle != NULL);
	while ((entry = readdir(handle)) != NULL)
		if (entry->d_name[0] != '.')
			need(unlinkat(dirfd(handle), entry->d_name, 0) == 0);
	closedir(handle);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	need(fd != -1);
	need_ok(lc__write_full(fd, bytes, size, path));
	close(fd);
	free(path);
}

/* What reading finds. */
struct look {
	bool opens, good; /* the module; verify */
	bool settings, fill; /* as they were */
	size_t right;     /* live records with their value */
	size_t old;       /* records with a value that was replaced or deleted */
	size_t old_met;   /* the same in walks and streams */
};

static void
judge(const struct victim *v, const lc_id *id, const lc_value *value,
    struct look *look)
{
	const struct victim_key *key = find_key(v, id->data, id->size);
	size_t version;

	need(key != NULL);
	version = version_of(key, value);
	need(version != 0); /* bytes that were never put */
	if (key->live && version == key->count)
		look->right++;
	else
		look->old++;
}

static void
get_all(const struct victim *v, lc_cache *cache, struct look *look)
{
	for (size_t i = 0; i < v->nkeys; i++) {
		const lc_id id = { v->keys[i].id, v->keys[i].id_size };
		const lc_value *value;
		lc_view view;

		if (lc_get(cache, id.data, id.size, &view) != LC_OK)
			continue;
		if (lc_view_value(&view, NULL, &value) == LC_OK)
			judge(v, &id, value, look);
		lc_view_release(&view);
	}
}

/* A tensor that a stream gives is one of the record's. */
static void
judge_field(const struct victim *v, const lc_id *id, const lc_batch_field *field,
    struct look *look)
{
	const struct victim_key *key = find_key(v, id->data, id->size);
	lc_tensor tensor;
	lc_value *value;
	size_t version;

	need(key != NULL);
	if (field->offsets != NULL || field->ndim == 0)
		return;
	need_ok(lc_tensor_init(&tensor, field->dtype, field->ndim - 1, field->shape + 1,
	    field->data));
	value = lc_value_tensor(&tensor);
	need(value != NULL);
	for (version = key->count; version > 0; version--) {
		const lc_value *is = key->values[version - 1];

		if (strcmp(field->name, ".") != 0)
			is = lc_value_find(is, field->name);
		if (is != NULL && lc_value_equal(is, value))
			break;
	}
	need(version != 0);
	look->old += version < key->count || !key->live;
	lc_value_free(value);
}

/* A stream over the module meets nothing else either. */
static void
stream(const struct victim *v, lc_cache *cache, struct look *look)
{
	lc_stream_options how;
	lc_reader_options reading;
	lc_source *source = NULL;
	lc_stream *opened = NULL;
	lc_reader *reader = NULL;
	const lc_batch *batch;

	lc_stream_options_init(&how);
	how.batch = 1;
	how.limit = 1000;
	lc_reader_options_init(&reading);
	reading.threads = 0;
	if (lc_source_open_module(cache, NULL, &source) == LC_OK &&
	    lc_stream_open(&source, 1, &how, &opened) == LC_OK &&
	    lc_reader_open(opened, &reading, &reader) == LC_OK) {
		for (unsigned n = 0; lc_reader_next(reader, &batch) == LC_OK; n++) {
			need(n < 1000);
			for (size_t i = 0; i < batch->n_fields && batch->filled == 1; i++)
				judge_field(v, &batch->ids[0], &batch->fields[i], look);
			lc_batch_release(batch);
		}
	}
	lc_reader_close(reader);
	lc_stream_close(opened);
	lc_source_close(source);
}

/* A walk meets nothing else; what it does not meet is damage that it tells of. */
static void
walk(const struct victim *v, lc_cache *cache, unsigned flags, struct look *look)
{
	const lc_value *value;
	lc_status status;
	lc_iter *iter;
	lc_item item;

	if (lc_iter_open(cache, flags, NULL, 0, &iter) != LC_OK)
		return;
	for (unsigned steps = 0; steps < 10000 && ((status = lc_iter_next(iter,
	    &item)) == LC_OK || status == LC_CORRUPT); steps++) {
		need(steps < 9999);
		if (status == LC_OK && lc_iter_value(iter, NULL, &value) == LC_OK)
			judge(v, &item.id, value, look);
	}
	lc_iter_close(iter);
}

static void
print_line(void *ctx, const char *line)
{
	if (getenv("T_LINES") != NULL)
		printf("# %s%s\n", (const char *)ctx, line);
}

static struct look
look_at(const struct victim *v, const char *root, const char *module)
{
	const lc_progress progress = { .damage = print_line, .ctx = (char[]){ "verify: " } };
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_fill fill = { .struct_size = sizeof(fill) };
	struct look look = { .opens = false }, others = { .opens = false };
	lc_options options = sample_options();
	lc_verify_result verified;
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_cache *cache;

	options.flags = LC_RDONLY;
	options.map_size = 1 << 24;
	if (lc_open(root, module, &options, &cache) != LC_OK) {
		if (getenv("T_LINES") != NULL)
			printf("# open: %s\n", lc_last_error()->text);
		return look;
	}
	look.opens = true;
	look.good = lc_verify(cache, &progress, &verified) == LC_OK;
	get_all(v, cache, &look);
	walk(v, cache, LC_BY_COMMIT, &others);
	walk(v, cache, 0, &others);
	stream(v, cache, &others);
	look.old_met = others.old;
	(void)!lc_stat(cache, &stats); /* LC_CORRUPT at most */
	look.settings = lc_settings_get(cache, &settings) == LC_OK &&
	    memcmp(&settings, &v->settings, sizeof(settings)) == 0;
	look.fill = lc_fill_get(cache, &fill) == LC_OK &&
	    memcmp(&fill, &v->fill, sizeof(fill)) == 0;
	lc_discard(cache);
	return look;
}

/* A writer may be refused, and must not do harm. */
static void
write_some(const struct victim *v, const char *root)
{
	lc_options options = sample_options();
	lc_compact_options compact;
	lc_cache *cache;

	options.map_size = 1 << 24;
	options.durability = LC_DURABLE_RELAXED;
	if (lc_open(root, "m", &options, &cache) != LC_OK)
		return;
	lc_compact_options_init(&compact);
	(void)!lc_compact(cache, &compact, NULL);
	if (v->nkeys > 0)
		(void)!lc_delete(cache, v->keys[0].id, v->keys[0].id_size);
	if (v->nkeys > 1)
		(void)!lc_put_value(cache, v->keys[1].id, v->keys[1].id_size,
		    v->keys[1].values[0]);
	(void)!lc_flush(cache);
	walk(v, cache, 0, &(struct look){ .opens = true });
	lc_discard(cache);
}

static void
check_unchanged(const char *root, const struct lc__buf *before)
{
	struct dirent *entry;
	struct lc__buf after;
	char dir[4200];
	DIR *handle;

	read_data(root, &after);
	need(after.size == before->size);
	need(memcmp(after.data, before->data, after.size) == 0);
	lc__buf_free(&after);
	snprintf(dir, sizeof(dir), "%s/m", root);
	handle = opendir(dir);
	need(handle != NULL);
	while ((entry = readdir(handle)) != NULL)
		need(entry->d_name[0] == '.' || strcmp(entry->d_name, "data.mdb") == 0 ||
		    strcmp(entry->d_name, "lock.mdb") == 0);
	closedir(handle);
}

static void
check_kept(const char *root, unsigned long long number,
    const struct lc__buf *before)
{
	struct lc__buf kept = { 0 };
	char path[4200];

	snprintf(path, sizeof(path), "%s/m/data.mdb.damaged-%llu", root, number);
	need_ok(lc__read_file(path, 1 << 30, &kept));
	need(kept.size == before->size);
	need(memcmp(kept.data, before->data, kept.size) == 0);
	lc__buf_free(&kept);
}

void
victim_round(const struct victim *v, const char *root, bool moved,
    struct victim_tally *tally)
{
	const lc_progress progress = { .damage = print_line, .ctx = (char[]){ "recover: " } };
	lc_recover_result result = { 0 };
	struct lc__buf file;
	struct look before, after;
	lc_status status;

	read_data(root, &file);
	before = look_at(v, root, "m");
	need(moved || (before.old == 0 && before.old_met == 0)); /* what was replaced or deleted is not given out */
	if (before.good) /* then nothing is missing, and it behaves as it did */
		need(before.right == v->nlive && before.settings && before.fill);
	status = lc_recover(root, "m", 0, &progress, &result);
	if (status != LC_OK && getenv("T_LINES") != NULL)
		printf("# recover: %s\n", lc_last_error()->text);
	tally->rounds++;
	tally->seen += !before.good;
	if (status != LC_OK) {
		need(!before.good);
		tally->refused++;
		check_unchanged(root, &file);
		write_some(v, root);
		lc__buf_free(&file);
		return;
	}
	after = look_at(v, root, "m");
	need(after.opens && after.good);
	need(after.right >= before.right);
	/* With a part of the index, the entry that says that a record was deleted may be
	 * lost. An older run still names the record: it comes back, and is not counted as
	 * rescued. */
	need(moved || result.runs > 0 || after.old <= result.rescued);
	need(result.records == after.right + after.old);
	need(after.right + after.old + result.lost + result.unknown >= v->nlive);
	if (result.lost + result.unknown + result.reset == 0)
		need(after.right + result.rescued >= v->nlive);
	need(after.settings || result.reset > 0);
	if (before.good)
		check_unchanged(root, &file);
	else
		check_kept(root, (unsigned long long)result.kept, &file);
	tally->recovered++;
	tally->whole += after.right == v->nlive && after.old == 0;
	write_some(v, root);
	lc__buf_free(&file);
}

lc_status
victim_salvage(const struct victim *v, const char *root, bool moved,
    lc_salvage_result *result)
{
	struct look look;
	lc_status status;
	char from[4200];

	snprintf(from, sizeof(from), "%s/m", root);
	status = lc_salvage(from, root, "salvaged", NULL, result);
	need(status == LC_OK || status == LC_NOT_MODULE);
	if (status != LC_OK)
		return status;
	look = look_at(v, root, "salvaged");
	need(look.opens && look.good);
	need(look.right + look.old == result->records);
	need(moved || look.old <= result->undecided);
	return status;
}
