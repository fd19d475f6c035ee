/* SPDX-License-Identifier: BSD-2-Clause */
/* salvage: creates a new module from the records that are left in a damaged file. */
#include "life/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/locks.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/decode.h"
#include "store/flush.h"
#include "store/settings.h"

/* A salvage and its options. */
struct job {
	struct lc__salvage_file file;
	struct lc__salvage found;
	const lc_salvage_options *options;
	lc_salvage_result result;
	lc_settings settings;     /* of the module, or the defaults */
	lc_cache *to;             /* NULL for a dry run */
	struct lc__known **known; /* structures in the new module by id in the old one;
	                              malloc'ed */
	bool *missed; /* by id: a structure that records need is missing; malloc'ed */
};

void
lc_salvage_options_init(lc_salvage_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
}

void
lc__salvage_free(struct lc__salvage *s)
{
	for (uint32_t i = 0; i < s->nschema; i++)
		lc__schema_free(s->schema[i]);
	free(s->schema);
	free(s->chunks);
	free(s->values);
	free(s->runs);
	free(s->states.row);
	free(s->settings.row);
	free(s->schemas.row);
	free(s->inputs.row);
	free(s->anchors.row);
	free(s->records);
	free(s->disputed);
	free(s->tree_pages);
	free(s->inside);
	free(s->free);
	free(s->reached);
	free(s->reach);
	lc__state_free(&s->state);
}

lc_status
lc__salvage_find(struct lc__salvage *s, struct lc__salvage_file *file, bool stale,
    const lc_progress *progress, lc_salvage_result *out)
{
	memset(s, 0, sizeof(*s));
	s->file = file;
	s->progress = progress;
	s->total = 3 * file->size;
	return_if_error(lc__salvage_read_metas(s));
	return_if_error(lc__salvage_scan(s));
	return_if_error(lc__salvage_read_records(s));
	return_if_error(lc__salvage_classify(s));
	return_if_error(lc__salvage_read_schemas(s));
	return lc__salvage_decide(s, stale, out);
}

/* ---- settings and structures ---------------------------------------------- */

static lc_status
read_settings(struct job *job)
{
	struct lc__salvage *s = &job->found;
	const struct lc__salvage_row *best = NULL;
	const unsigned char *bytes;
	bool damaged = false, old = false;

	lc__settings_default(&job->settings);
	for (uint64_t i = 0; i < s->settings.count; i++) {
		const struct lc__salvage_row *row = &s->settings.row[i];

		old |= row->use == LC__USE_FREED;
		if (row->use == LC__USE_FREED)
			continue;
		if (row->number != 0)
			damaged = true;
		else if (best == NULL || row->use > best->use)
			best = row;
	}
	if (best != NULL) {
		return_if_error(lc__salvage_at(s->file, best->at, best->size, &bytes));
		(void)lc__settings_parse(bytes, best->size, &job->settings);
		return LC_OK;
	}
	/* The state row is on the same page, or close to it. */
	job->result.settings_lost = damaged || (old && !s->state_found);
	if (job->result.settings_lost)
		lc__progress_damage(s->progress,
		    "the settings are damaged or missing: the new "
		    "module has the defaults");
	return LC_OK;
}

/* The structures keep their ids as long as all earlier ones are known: in a strict module
 * the first one has a special meaning. */
static lc_status
store_schemas(struct lc__change *change, void *ctx)
{
	struct lc__snapshot *s = &change->snapshot;
	const struct lc__salvage *found = &((struct job *)ctx)->found;

	for (uint32_t i = 0; i < found->nschema && found->schema[i] != NULL; i++) {
		for (uint32_t j = 0; j < i; j++)
			if (lc__schema_equal(found->schema[i], found->schema[j]))
				return LC_OK;
		return_if_error(lc__schema_row_put(s->txn, i, found->schema[i]));
		s->state.next_schema = i + 1;
	}
	return LC_OK;
}

/* The structure of a record; NULL if it is missing, which is reported once. */
static const struct lc__schema *
schema_of(struct job *job, const struct lc__record *record)
{
	const struct lc__salvage *s = &job->found;

	if (record->schema < s->nschema && s->schema[record->schema] != NULL)
		return s->schema[record->schema];
	if (record->schema >= LC__SCHEMAS_MAX || job->missed[record->schema])
		return NULL;
	job->missed[record->schema] = true;
	job->result.schemas++;
	lc__progress_damage(s->progress,
	    "structure %u is missing: its records cannot be read", record->schema);
	return NULL;
}

/* ---- records -------------------------------------------------------------- */

/* Can the record be decoded into a value? Its checksum proves that its bytes are
 * unchanged, but not that they are valid. */
static lc_status
check_value(struct job *job, const struct lc__record *record,
    const struct lc__schema *schema, bool *good)
{
	struct lc__decoder decoder = { .record = *record };
	const lc_value *value;
	lc_status status;

	*good = lc__record_fits(record, schema);
	if (!*good || !record->has_parts || job->to == NULL)
		return LC_OK;
	status = lc__decoder_open_memory(&decoder, job->to, schema);
	if (status == LC_OK) {
		status = lc__decoder_value(&decoder, NULL, &value);
		lc__decoder_close(&decoder);
	}
	*good = status == LC_OK;
	return status == LC_CORRUPT ? LC_OK : status;
}

static lc_status
put_record(struct job *job, const struct lc__salvage_record *from)
{
	struct lc__salvage *s = &job->found;
	const struct lc__schema *schema;
	const unsigned char *bytes;
	struct lc__record record;
	struct lc__known **known;
	struct lc__schema *same;
	bool good = false;

	return_if_error(lc__salvage_at(s->file, from->at, from->size, &bytes));
	if (!lc__record_parse(bytes, from->size, &record) || !lc__record_intact(&record))
		return lc__error(LC_CORRUPT, 0, "%s: changed while it was read",
		    s->file->path);
	schema = schema_of(job, &record);
	if (schema != NULL)
		return_if_error(check_value(job, &record, schema, &good));
	if (!good) {
		job->result.unreadable++;
		job->result.records--;
		job->result.undecided -= from->doubted;
		job->result.stale -= from->old;
		lc__progress_damage(s->progress, "key %s: its structure is %s",
		    lc__quote_id(record.id.data, record.id.size),
		    schema == NULL ? "missing" : "another one");
		return LC_OK;
	}
	if (from->doubted || from->old)
		lc__progress_damage(s->progress, "key %s: %s",
		    lc__quote_id(record.id.data, record.id.size),
		    from->old ? "an old version" : "may have been deleted or replaced");
	if (job->to == NULL)
		return LC_OK;
	/* The equal structure in the new module. */
	known = &job->known[record.schema];
	if (*known == NULL) {
		return_if_error(lc__schema_decode(schema->bytes, schema->size, &same));
		return_if_error(lc__schemas_intern(lc__module_of(job->to->env)->schemas,
		    same, known));
	}
	return lc__flush_add_record(job->to, &record, *known);
}

static int
by_location(const void *a, const void *b)
{
	const struct lc__salvage_record *x = a, *y = b;

	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Write the records in the order of their commits. */
static lc_status
put_records(struct job *job)
{
	struct lc__salvage *s = &job->found;
	uint64_t taken = 0, bytes = 0;

	for (uint64_t i = 0; i < s->nrecords; i++)
		if (s->records[i].taken)
			s->records[taken++] = s->records[i];
	s->nrecords = taken;
	if (taken > 0)
		qsort(s->records, taken, sizeof(*s->records), by_location);
	for (uint64_t i = 0; i < taken; i++) {
		return_if_error(put_record(job, &s->records[i]));
		bytes += s->records[i].size;
		if (bytes >= (uint64_t)1 << 20 || i + 1 == taken) {
			return_if_error(lc__salvage_step(s, bytes));
			bytes = 0;
		}
	}
	return LC_OK;
}

/* ---- the new module ------------------------------------------------------- */

/* Remove the result of a failure. */
static void
remove_module(const char *dir)
{
	static const char *const names[] = { "data.mdb", "lock.mdb" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = lc__path_join(dir, names[i]);

		if (path != NULL)
			(void)unlink(path);
		free(path);
	}
	(void)rmdir(dir);
}

static lc_status
make_module(struct job *job, const char *root, const char *module_id, const char *dir)
{
	lc_settings settings = job->settings;
	lc_options options;
	lc_error error;
	lc_status status;

	/* Budget and policy come last, so that neither excludes a record. */
	settings.policy = LC_EVOLVE;
	settings.max_bytes = 0;
	return_if_error(lc__make_dirs(root));
	if (mkdir(dir, 0777) == -1)
		return lc__error_sys(errno, "salvage: %s: create", dir);
	lc_options_init(&options);
	options.flush_interval_ms = 0;
	options.rank = 0;
	options.lru_bytes = 0;
	status = lc_open(root, module_id, &options, &job->to);
	if (status == LC_OK)
		status = lc_settings_set(job->to, &settings);
	if (status == LC_OK)
		status = lc__change_run(job->to->env, LC_DURABLE_FULL, store_schemas,
		    job);
	if (status == LC_OK)
		status = put_records(job);
	if (status == LC_OK)
		status = lc__flush_all(job->to);
	if (status == LC_OK)
		status = lc_settings_set(job->to, &job->settings);
	if (status == LC_OK)
		return lc_close(job->to);
	error = *lc_last_error();
	lc_discard(job->to);
	remove_module(dir);
	return lc__error_raise(&error);
}

/* Report what was found and, unless it is a dry run, create the module. */
static lc_status
salvage(struct job *job, const char *root, const char *module_id, const char *dir)
{
	const lc_salvage_options *options = job->options;
	struct lc__salvage *s = &job->found;

	return_if_error(lc__salvage_find(s, &job->file, options->stale != 0,
	    &options->progress, &job->result));
	return_if_error(read_settings(job));
	job->known = calloc((size_t)s->nschema + 1, sizeof(struct lc__known *));
	job->missed = calloc(LC__SCHEMAS_MAX, sizeof(*job->missed));
	if (job->known == NULL || job->missed == NULL)
		return lc__no_memory("salvage");
	return options->dry_run ? put_records(job)
				: make_module(job, root, module_id, dir);
}

/* ---- the old file --------------------------------------------------------- */

/* Prevent other processes from opening the module, as far as that is possible without
 * writing: a file that is not called data.mdb does not belong to a module. */
static lc_status
lock_module(const char *path, const struct stat *data, int *dir_fd)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	lc_status status;
	char *dir;

	if (strcmp(name, "data.mdb") != 0)
		return LC_OK;
	dir = slash == NULL ? strdup(".")
			    : strndup(path, (size_t)(slash - path) + (slash == path));
	if (dir == NULL)
		return lc__no_memory("salvage");
	status = lc__lock_directory(dir, dir_fd);
	if (status != LC_BUSY)
		status = lc__env_check_idle(dir, data);
	free(dir);
	return status;
}

static lc_status
salvage_file(struct job *job, const char *path, const char *root, const char *module_id,
    const char *dir)
{
	/* Do not follow a link at the end of the path, and do not wait for anything but a
	 * file. */
	const int fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	int dir_fd = -1;
	struct stat st;
	lc_status status = LC_OK;

	if (fd == -1 && errno == ELOOP)
		status = lc__error(LC_NOT_MODULE, 0, "%s: a symbolic link, not a file",
		    path);
	else if (fd == -1 || fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a file", path);
	if (status == LC_OK)
		status = lock_module(path, &st, &dir_fd);
	if (status == LC_OK) {
		job->file = (struct lc__salvage_file){
			.fd = fd,
			.size = (uint64_t)st.st_size,
			.path = path,
		};
		status = salvage(job, root, module_id, dir);
	}
	lc__salvage_free(&job->found);
	free(job->known);
	free(job->missed);
	free(job->file.window);
	if (fd != -1)
		close(fd);
	lc__unlock_directory(dir_fd);
	return status;
}

lc_status
lc_salvage(const char *from, const char *root, const char *module_id,
    const lc_salvage_options *options, lc_salvage_result *out)
{
	struct job job = { .options = options };
	lc_salvage_options defaults;
	char *path = NULL, *dir;
	lc_status status;
	struct stat st;

	if (options == NULL) {
		lc_salvage_options_init(&defaults);
		job.options = &defaults;
	}
	if (job.options->struct_size != sizeof(*job.options))
		return lc__error(LC_INVALID, 0,
		    "salvage: option struct_size: not "
		    "set by lc_salvage_options_init() of this version");
	if (from == NULL || *from == '\0' || root == NULL || *root == '\0' ||
	    module_id == NULL)
		return lc__error(LC_INVALID, 0, "salvage: no file, root or module");
	return_if_error(lc__check_module_id(module_id));
	st.st_mode = 0;
	/* Opening a missing file gives the reason. */
	if (stat(from, &st) == -1 && errno != ENOENT && errno != ELOOP)
		return lc__error_sys(errno, "%s: stat", from);
	dir = lc__path_join(root, module_id);
	path = S_ISDIR(st.st_mode) ? lc__path_join(from, "data.mdb") : strdup(from);
	if (dir == NULL || path == NULL)
		status = lc__no_memory("salvage");
	else if (lstat(dir, &st) == 0)
		status = lc__error(LC_EXISTS, 0,
		    "salvage: %s: exists already; name a new module", dir);
	else if (errno != ENOENT && errno != ENOTDIR)
		status = lc__error_sys(errno, "salvage: %s: stat", dir);
	else
		status = salvage_file(&job, path, root, module_id, dir);
	free(path);
	free(dir);
	if (status == LC_OK && out != NULL)
		*out = job.result;
	return status;
}
