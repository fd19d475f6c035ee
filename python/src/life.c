/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a module needs now and then: settings, schemas, and long calls such as verify, copy
 * and recover. Each long call is a task: Ctrl-C stops it, and the functions of the caller
 * for its progress run in the thread that waits for it.
 */
#include "core.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- results as dicts ------------------------------------------------------------------ */

struct number {
	const char *name;
	size_t offset;
};

#define NUMBER(type, field) \
	{ \
#field, offsetof(type, field) \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int
add(PyObject *dict, const char *name, PyObject *object)
{
	const int failed = object == NULL || PyDict_SetItemString(dict, name, object) < 0;

	Py_XDECREF(object);
	return failed ? -1 : 0;
}

static PyObject *
numbers(const void *from, const struct number *list, size_t n)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict != NULL && i < n; i++) {
		uint64_t number;

		memcpy(&number, (const char *)from + list[i].offset, sizeof(number));
		if (add(dict, list[i].name, PyLong_FromUnsignedLongLong(number)) < 0)
			Py_CLEAR(dict);
	}
	return dict;
}

/* ---- tasks that tell how far they are -------------------------------------------------- */

struct line {
	struct line *next;
	char text[];
};

struct job {
	struct task task;
	struct handle *handle, *other; /* which it is a call on; NULL: on none */
	lc_cache *cache, *to;
	char *text[3];  /* paths and names; malloc'ed */
	size_t n_paths; /* that text[0] points to, of a merge */
	int dry_run;
	unsigned flags;
	union {
		lc_compact_options compact;
		lc_copy_options copy;
		lc_merge_options merge;
		lc_export_options export;
		lc_salvage_options salvage;
	} how;
	union {
		lc_verify_result verify;
		lc_compact_result compact;
		lc_copy_result copy;
		lc_merge_result merge;
		lc_export_result export;
		lc_recover_result recover;
		lc_salvage_result salvage;
		uint64_t bytes[2];
	} out;
	/* Borrowed from the caller, which waits while they are used; or NULL. */
	PyObject *progress, *damage;
	pthread_mutex_t lock; /* guards what follows */
	uint64_t done, total;
	const char *phase;
	bool moved; /* since poll() looked */
	struct line *lines, **last_line;
};

static int
step(void *ctx, uint64_t done, uint64_t total)
{
	struct job *job = ctx;

	if (job->progress != NULL) {
		pthread_mutex_lock(&job->lock);
		job->done = done;
		job->total = total;
		job->moved = true;
		pthread_mutex_unlock(&job->lock);
	}
	return atomic_load_explicit(&job->task.stop, memory_order_relaxed);
}

static void
phase(void *ctx, const char *name)
{
	struct job *job = ctx;

	pthread_mutex_lock(&job->lock);
	job->phase = name;
	job->done = job->total = 0;
	job->moved = true;
	pthread_mutex_unlock(&job->lock);
}

static void
damage(void *ctx, const char *text)
{
	const size_t size = strlen(text) + 1;
	struct line *line = malloc(sizeof(*line) + size);
	struct job *job = ctx;

	if (line == NULL)
		return;
	line->next = NULL;
	memcpy(line->text, text, size);
	pthread_mutex_lock(&job->lock);
	*job->last_line = line;
	job->last_line = &line->next;
	pthread_mutex_unlock(&job->lock);
}

static struct line *
take_lines(struct job *job)
{
	struct line *lines;

	pthread_mutex_lock(&job->lock);
	lines = job->lines;
	job->lines = NULL;
	job->last_line = &job->lines;
	pthread_mutex_unlock(&job->lock);
	return lines;
}

/* Call the caller's functions with what came since. */
static int
poll_job(struct task *task)
{
	struct job *job = (struct job *)task;
	struct line *lines = take_lines(job), *next;
	unsigned long long done, total;
	const char *name;
	PyObject *answer;
	bool moved;
	int result = 0;

	for (; lines != NULL; lines = next) {
		next = lines->next;
		if (result == 0) {
			PyObject *text = PyUnicode_DecodeUTF8(lines->text,
			    (Py_ssize_t)strlen(lines->text), "backslashreplace");

			answer = text != NULL
			    ? PyObject_CallFunctionObjArgs(job->damage, text, NULL)
			    : NULL;
			result = answer == NULL ? -1 : 0;
			Py_XDECREF(text);
			Py_XDECREF(answer);
		}
		free(lines);
	}
	pthread_mutex_lock(&job->lock);
	moved = job->moved;
	job->moved = false;
	done = job->done;
	total = job->total;
	name = job->phase;
	pthread_mutex_unlock(&job->lock);
	if (result < 0 || !moved || job->progress == NULL)
		return result;
	answer = PyObject_CallFunction(job->progress, "sKK", name, done, total);
	Py_XDECREF(answer);
	return answer == NULL ? -1 : 0;
}

static void
drop_job(struct task *task)
{
	struct job *job = (struct job *)task;
	struct line *lines = take_lines(job), *next;

	for (; lines != NULL; lines = next) {
		next = lines->next;
		free(lines);
	}
	if (job->handle != NULL)
		handle_end(job->handle);
	if (job->other != NULL)
		handle_end(job->other);
	for (size_t i = 0; i < COUNT(job->text); i++)
		free(job->text[i]);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

/* None means no function. */
static int
function_of(PyObject *object, const char *name, PyObject **out)
{
	*out = NULL;
	if (object == NULL || object == Py_None)
		return 0;
	if (!PyCallable_Check(object)) {
		PyErr_Format(PyExc_TypeError, "%s: %R is not a function", name, object);
		return -1;
	}
	*out = object;
	return 0;
}

/* A new job, on a Cache or without one (NULL). The functions are None or NULL, or borrowed. */
static struct job *
new_job(PyObject *cache, lc_status (*work)(struct task *task), PyObject *progress,
    PyObject *damage_fn)
{
	PyObject *step_fn, *line_fn;
	struct job *job;

	if (function_of(progress, "progress", &step_fn) < 0 ||
	    function_of(damage_fn, "damage", &line_fn) < 0)
		return NULL;
	job = calloc(1, sizeof(*job));
	if (job == NULL) {
		PyErr_NoMemory();
		return NULL;
	}
	if (cache != NULL) {
		job->handle = cache_begin(cache, &job->cache);
		if (job->handle == NULL) {
			free(job);
			return NULL;
		}
	}
	pthread_mutex_init(&job->lock, NULL);
	job->last_line = &job->lines;
	job->phase = "";
	job->progress = step_fn;
	job->damage = line_fn;
	job->task.work = work;
	job->task.drop = drop_job;
	task_init(&job->task);
	if (step_fn != NULL || line_fn != NULL)
		job->task.poll = poll_job;
	job->task.progress.step = step;
	job->task.progress.phase = step_fn != NULL ? phase : NULL;
	job->task.progress.damage = line_fn != NULL ? damage : NULL;
	return job;
}

/* Give up a job that was not run; returns NULL with the exception that is set. */
static PyObject *
abandon(struct job *job)
{
	job->task.ended = true;
	task_drop(&job->task);
	return NULL;
}

/* Keep a path, given as bytes of the file system, or a text. */
static int
keep_text(struct job *job, size_t i, PyObject *bytes)
{
	const char *text = PyBytes_Check(bytes) ? PyBytes_AsString(bytes)
						: PyUnicode_AsUTF8AndSize(bytes, NULL);

	if (text == NULL)
		return -1;
	job->text[i] = strdup(text);
	if (job->text[i] != NULL)
		return 0;
	PyErr_NoMemory();
	return -1;
}

/* Run it; it is gone after a failure, which is -1 with an exception. */
static int
run_job(struct job *job)
{
	lc_status status;

	job->task.also = job->other;
	status = task_run(&job->task, job->handle);
	if (status == LC_OK)
		return 0;
	/* Even after a failure the caller's functions hear the rest. */
	raise_error(status, &job->task.error);
	task_drop(&job->task);
	return -1;
}

/* A job that is done: its result, and the end of it. */
static PyObject *
done_with(struct job *job, PyObject *result)
{
	task_drop(&job->task);
	return result;
}

/* Did its call time out, in the flush that comes first? */
static bool
once_more(struct task *task, lc_status status)
{
	return status == LC_TIMEOUT && !atomic_load(&task->stop);
}

/* ---- verify, compact, backup, clear ------------------------------------------------------ */

static lc_status
verify_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	do
		status = lc_verify(job->cache, &task->progress, &job->out.verify);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_verify(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "progress", "damage", NULL };
	static const struct number list[] = {
		NUMBER(lc_verify_result, chunks),
		NUMBER(lc_verify_result, records),
		NUMBER(lc_verify_result, live),
		NUMBER(lc_verify_result, bytes),
		NUMBER(lc_verify_result, damaged),
	};
	PyObject *progress = NULL, *damage_fn = NULL;
	struct job *job;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &progress,
		&damage_fn))
		return NULL;
	job = new_job(self, verify_work, progress, damage_fn);
	if (job == NULL || run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.verify, list, COUNT(list)));
}

static lc_status
compact_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	job->how.compact.progress = task->progress;
	do
		status = lc_compact(job->cache, &job->how.compact, &job->out.compact);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_compact(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "live_ratio", "chunk_bytes", "codec", "level", "dry_run",
		"progress", "damage", NULL };
	static const struct number list[] = {
		NUMBER(lc_compact_result, chunks_before),
		NUMBER(lc_compact_result, chunks_after),
		NUMBER(lc_compact_result, rewritten),
		NUMBER(lc_compact_result, moved),
		NUMBER(lc_compact_result, dropped),
		NUMBER(lc_compact_result, bytes_before),
		NUMBER(lc_compact_result, bytes_after),
		NUMBER(lc_compact_result, damaged),
	};
	PyObject *progress = NULL, *damage_fn = NULL;
	unsigned long long chunk_bytes = 0;
	const char *codec = NULL;
	lc_compact_options how;
	struct job *job;

	lc_compact_options_init(&how);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|d$KzipOO", names,
		&how.live_ratio, &chunk_bytes, &codec, &how.level, &how.dry_run,
		&progress, &damage_fn))
		return NULL;
	if (chunk_bytes != 0)
		how.chunk_bytes = chunk_bytes;
	if (codec != NULL && lc_codec_parse(codec, &how.recode) != LC_OK)
		return raise_status(LC_INVALID, NULL);
	job = new_job(self, compact_work, progress, damage_fn);
	if (job == NULL)
		return NULL;
	job->how.compact = how;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.compact, list, COUNT(list)));
}

static lc_status
backup_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	do
		status = lc_backup(job->cache, job->text[0], job->flags);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_backup(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "root", "compact", NULL };
	PyObject *path = NULL;
	struct job *job;
	int compact = 0, failed;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|p", names,
		PyUnicode_FSConverter, &path, &compact))
		return NULL;
	job = new_job(self, backup_work, NULL, NULL);
	failed = job == NULL || keep_text(job, 0, path) < 0;
	Py_DECREF(path);
	if (failed)
		return job != NULL ? abandon(job) : NULL;
	job->flags = compact ? LC_BACKUP_COMPACT : 0;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

static lc_status
clear_work(struct task *task)
{
	lc_status status;

	do
		status = lc_clear(((struct job *)task)->cache);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_clear(PyObject *self, PyObject *Py_UNUSED(none))
{
	struct job *job = new_job(self, clear_work, NULL, NULL);

	if (job == NULL || run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

/* ---- copy and export ---------------------------------------------------------------------- */

static lc_status
copy_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	job->how.copy.progress = task->progress;
	do
		status = lc_copy(job->cache, job->to, &job->how.copy, &job->out.copy);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "to", "conflict", "prefix", "dry_run", "progress",
		"damage", NULL };
	static const struct number list[] = {
		NUMBER(lc_copy_result, copied),
		NUMBER(lc_copy_result, replaced),
		NUMBER(lc_copy_result, kept),
		NUMBER(lc_copy_result, damaged),
		NUMBER(lc_copy_result, bytes),
	};
	PyObject *to, *prefix = NULL, *progress = NULL, *damage_fn = NULL, *kept = NULL;
	const char *conflict = "fail";
	lc_id start = { NULL, 0 };
	lc_copy_options how;
	struct job *job;

	lc_copy_options_init(&how);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|s$OpOO", names, &to, &conflict,
		&prefix, &how.dry_run, &progress, &damage_fn))
		return NULL;
	if (!cache_is(to)) {
		PyErr_Format(PyExc_TypeError, "copy: to is a Cache, not %R", to);
		return NULL;
	}
	if (lc_conflict_parse(conflict, &how.conflict) != LC_OK)
		return raise_status(LC_INVALID, NULL);
	if (prefix != NULL && id_from(prefix, &start, &kept) < 0)
		return NULL;
	job = new_job(self, copy_work, progress, damage_fn);
	if (job != NULL) {
		job->how.copy = how;
		job->other = cache_begin(to, &job->to);
		job->text[0] = malloc(start.size + 1);
		if (job->other != NULL && job->text[0] == NULL)
			PyErr_NoMemory();
	}
	if (job == NULL || job->other == NULL || job->text[0] == NULL) {
		Py_XDECREF(kept);
		return job != NULL ? abandon(job) : NULL;
	}
	if (start.size > 0) {
		memcpy(job->text[0], start.data, start.size);
		job->how.copy.prefix = job->text[0];
		job->how.copy.prefix_size = start.size;
	}
	Py_XDECREF(kept);
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.copy, list, COUNT(list)));
}

static lc_status
merge_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	job->how.merge.progress = task->progress;
	do
		status = lc_inputs_merge(job->cache, job->n_paths,
		    (const char *const *)(void *)job->text[0], &job->how.merge,
		    &job->out.merge);
	while (once_more(task, status));
	return status;
}

/* Replace the paths in a list by their bytes, and add up what they take. */
static int
encode_paths(PyObject *list, size_t *size)
{
	const Py_ssize_t n = PyList_Size(list);

	*size = 0;
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *bytes = NULL;

		if (!PyUnicode_FSConverter(PyList_GetItem(list, i), &bytes))
			return -1;
		*size += sizeof(char *) + (size_t)PyBytes_Size(bytes) + 1;
		if (PyList_SetItem(list, i, bytes) < 0)
			return -1;
	}
	return 0;
}

/* An array of paths, followed by the paths, in one block of memory. */
static char *
join_paths(PyObject *list, size_t size)
{
	const Py_ssize_t n = PyList_Size(list);
	char **paths = malloc(size > 0 ? size : 1), *at;

	if (paths == NULL) {
		PyErr_NoMemory();
		return NULL;
	}
	at = (char *)(paths + n);
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *bytes = PyList_GetItem(list, i);
		const size_t length = (size_t)PyBytes_Size(bytes);

		paths[i] = at;
		memcpy(at, PyBytes_AsString(bytes), length + 1);
		at += length + 1;
	}
	return (char *)(void *)paths;
}

static PyObject *
life_merge_inputs(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "modules", "dry_run", "force_fs", "progress", "damage",
		NULL };
	static const struct number list[] = {
		NUMBER(lc_merge_result, inputs),
		NUMBER(lc_merge_result, there),
		NUMBER(lc_merge_result, chunks),
		NUMBER(lc_merge_result, records),
		NUMBER(lc_merge_result, bytes),
	};
	PyObject *modules, *paths, *progress = NULL, *damage_fn = NULL;
	lc_merge_options how;
	struct job *job;
	int force_fs = 0;
	size_t size = 0;

	lc_merge_options_init(&how);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$ppOO", names, &modules,
		&how.dry_run, &force_fs, &progress, &damage_fn))
		return NULL;
	if (PyUnicode_Check(modules) || PyBytes_Check(modules)) {
		PyErr_SetString(PyExc_TypeError,
		    "merge_inputs: modules is a list of paths, not one path");
		return NULL;
	}
	paths = PySequence_List(modules);
	if (paths == NULL || encode_paths(paths, &size) < 0) {
		Py_XDECREF(paths);
		return NULL;
	}
	job = new_job(self, merge_work, progress, damage_fn);
	if (job != NULL) {
		job->how.merge = how;
		job->how.merge.flags = force_fs ? LC_FORCE_FS : 0;
		job->n_paths = (size_t)PyList_Size(paths);
		job->text[0] = join_paths(paths, size);
	}
	Py_DECREF(paths);
	if (job == NULL || job->text[0] == NULL)
		return job != NULL ? abandon(job) : NULL;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.merge, list, COUNT(list)));
}

static lc_status
export_work(struct task *task)
{
	struct job *job = (struct job *)task;
	lc_status status;

	job->how.export.progress = task->progress;
	job->how.export.dataset_root = job->text[1];
	do
		status = lc_export(job->cache, job->text[0], &job->how.export,
		    &job->out.export);
	while (once_more(task, status));
	return status;
}

static PyObject *
life_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "dir", "shard_bytes", "shard_version", "metadata",
		"threads", "order", "by_input", "dataset_root", "dry_run", "sha256",
		"progress", NULL };
	static const struct number list[] = {
		NUMBER(lc_export_result, shards),
		NUMBER(lc_export_result, reused),
		NUMBER(lc_export_result, samples),
		NUMBER(lc_export_result, bytes),
	};
	PyObject *path = NULL, *dataset_root = Py_None, *progress = NULL;
	unsigned long long shard_bytes = 0;
	const char *order = "published";
	lc_export_options how;
	struct job *job;
	int sha256 = 1, failed;

	lc_export_options_init(&how);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$KIpIspOppO", names,
		PyUnicode_FSConverter, &path, &shard_bytes, &how.shard_version,
		&how.metadata, &how.threads, &order, &how.by_input, &dataset_root,
		&how.dry_run, &sha256, &progress))
		return NULL;
	if (shard_bytes != 0)
		how.shard_bytes = shard_bytes;
	how.no_sha256 = !sha256;
	how.order = strcmp(order, "key") == 0 ? LC_BY_KEY
	    : strcmp(order, "commit") == 0    ? LC_BY_COMMIT
					      : LC_BY_ORDER;
	if (how.order == LC_BY_ORDER && strcmp(order, "published") != 0) {
		Py_DECREF(path);
		PyErr_SetString(PyExc_ValueError,
		    "order: \"published\", \"commit\" or \"key\"");
		return NULL;
	}
	job = new_job(self, export_work, progress, NULL);
	failed = job == NULL || keep_text(job, 0, path) < 0 ||
	    (dataset_root != Py_None && keep_text(job, 1, dataset_root) < 0);
	Py_DECREF(path);
	if (failed)
		return job != NULL ? abandon(job) : NULL;
	job->how.export = how;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.export, list, COUNT(list)));
}

/* ---- settings -------------------------------------------------------------------------------- */

static lc_status
get_settings(PyObject *cache, lc_settings *out)
{
	lc_cache *handle = cache_enter(cache);
	lc_status status;

	if (handle == NULL)
		return LC_CANCELLED;
	out->struct_size = sizeof(*out);
	Py_BEGIN_ALLOW_THREADS
	status = lc_settings_get(handle, out);
	Py_END_ALLOW_THREADS
	cache_leave(cache);
	if (status == LC_OK)
		return LC_OK;
	raise_status(status, NULL);
	return LC_CANCELLED;
}

static PyObject *
life_settings(PyObject *self, PyObject *Py_UNUSED(none))
{
	lc_settings s;

	if (get_settings(self, &s) != LC_OK)
		return NULL;
	return Py_BuildValue("{s:s,s:i,s:s,s:s,s:K,s:N,s:s}", "codec",
	    lc_codec_name(s.codec), "level", s.level, "policy", lc_policy_name(s.policy),
	    "evict", lc_evict_name(s.evict), "max_bytes", (unsigned long long)s.max_bytes,
	    "auto_compact", PyBool_FromLong(s.auto_compact), "length_field",
	    s.length_field);
}

static lc_status
change_work(struct task *task)
{
	struct job *job = (struct job *)task;

	return lc_settings_set(job->cache, (const lc_settings *)(void *)job->text[0]);
}

static int
read_settings(PyObject *changes, lc_settings *s)
{
	static const char *const known[] = { "codec", "level", "policy", "evict",
		"max_bytes", "auto_compact", "length_field" };
	const char *codec = NULL, *policy = NULL, *evict = NULL, *field = NULL;
	PyObject *key, *value;
	Py_ssize_t at = 0;

	while (PyDict_Next(changes, &at, &key, &value)) {
		const char *name = PyUnicode_Check(key)
		    ? PyUnicode_AsUTF8AndSize(key, NULL)
		    : NULL;
		size_t i = 0;

		while (name != NULL && i < COUNT(known) && strcmp(name, known[i]) != 0)
			i++;
		if (name == NULL || i == COUNT(known)) {
			PyErr_Clear();
			PyErr_Format(PyExc_KeyError, "there is no setting %R", key);
			return -1;
		}
		if (value == Py_None) {
			PyErr_Format(PyExc_TypeError, "setting %s: None", name);
			return -1;
		}
	}
	if (option_text(changes, "codec", &codec) < 0 ||
	    option_int(changes, "level", &s->level) < 0 ||
	    option_text(changes, "policy", &policy) < 0 ||
	    option_text(changes, "evict", &evict) < 0 ||
	    option_u64(changes, "max_bytes", &s->max_bytes) < 0 ||
	    option_bool(changes, "auto_compact", &s->auto_compact) < 0 ||
	    option_text(changes, "length_field", &field) < 0)
		return -1;
	if ((codec != NULL && lc_codec_parse(codec, &s->codec) != LC_OK) ||
	    (policy != NULL && lc_policy_parse(policy, &s->policy) != LC_OK) ||
	    (evict != NULL && lc_evict_parse(evict, &s->evict) != LC_OK)) {
		raise_status(LC_INVALID, NULL);
		return -1;
	}
	if (field != NULL && strlen(field) > LC_LENGTH_FIELD_MAX) {
		raise_text(LC_INVALID, "length_field: longer than %d bytes",
		    LC_LENGTH_FIELD_MAX);
		return -1;
	}
	if (field != NULL)
		strcpy(s->length_field, field);
	return 0;
}

static PyObject *
life_change_settings(PyObject *self, PyObject *changes)
{
	struct job *job;
	lc_settings s;

	if (!PyDict_Check(changes)) {
		PyErr_SetString(PyExc_TypeError, "settings: not a dict");
		return NULL;
	}
	if (get_settings(self, &s) != LC_OK || read_settings(changes, &s) < 0)
		return NULL;
	/* It may wait for writers of other processes. */
	job = new_job(self, change_work, NULL, NULL);
	if (job == NULL)
		return NULL;
	job->text[0] = malloc(sizeof(s));
	if (job->text[0] == NULL) {
		PyErr_NoMemory();
		return abandon(job);
	}
	memcpy(job->text[0], &s, sizeof(s));
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

/* ---- schemas and counters ---------------------------------------------------------------------- */

struct schemas {
	struct {
		lc_schema_stats stats;
		char *structure; /* malloc'ed */
	} * all;
	size_t n;
	bool failed;
};

static void
free_schemas(struct schemas *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->all[i].structure);
	free(list->all);
	*list = (struct schemas){ 0 };
}

static int
keep_schema(void *ctx, const lc_schema_stats *stats)
{
	struct schemas *list = ctx;
	void *grown = realloc(list->all, (list->n + 1) * sizeof(*list->all));

	if (grown != NULL)
		list->all = grown;
	list->failed = grown == NULL;
	if (list->failed)
		return 1;
	list->all[list->n].stats = *stats;
	list->all[list->n].structure = strdup(stats->structure);
	list->failed = list->all[list->n].structure == NULL;
	list->n += !list->failed;
	return list->failed;
}

static PyObject *
schema_dict(const lc_schema_stats *stats, const char *structure)
{
	PyObject *codecs = PyDict_New(), *dict;

	for (int i = 0; codecs != NULL && i < LC_CODEC_COUNT; i++)
		if (stats->tensors[i] > 0 &&
		    add(codecs, lc_codec_name((lc_codec)i),
			PyLong_FromUnsignedLongLong(stats->tensors[i])) < 0)
			Py_CLEAR(codecs);
	if (codecs == NULL)
		return NULL;
	dict = Py_BuildValue("{s:I,s:K,s:K,s:K,s:O}", "id", (unsigned)stats->id,
	    "records", (unsigned long long)stats->records, "raw_bytes",
	    (unsigned long long)stats->raw_bytes, "stored_bytes",
	    (unsigned long long)stats->stored_bytes, "codecs", codecs);
	Py_DECREF(codecs);
	if (dict != NULL &&
	    add(dict, "structure",
		PyUnicode_DecodeUTF8(structure, (Py_ssize_t)strlen(structure),
		    "backslashreplace")) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *
life_schemas(PyObject *self, PyObject *Py_UNUSED(none))
{
	struct wait wait = cache_wait(self, "schemas");
	struct schemas schemas = { 0 };
	PyObject *list = NULL;
	lc_cache *handle = cache_enter(self);
	lc_status status;

	if (handle == NULL)
		return NULL;
	do {
		free_schemas(&schemas);
		Py_BEGIN_ALLOW_THREADS
		status = lc_schemas(handle, keep_schema, &schemas);
		Py_END_ALLOW_THREADS
	} while (cache_again(self, &wait, &status));
	cache_leave(self);
	if (schemas.failed)
		PyErr_NoMemory();
	else if (status != LC_OK)
		raise_status(status, NULL);
	else
		list = PyList_New(0);
	for (size_t i = 0; list != NULL && i < schemas.n; i++) {
		PyObject *dict = schema_dict(&schemas.all[i].stats,
		    schemas.all[i].structure);

		if (dict == NULL || PyList_Append(list, dict) < 0)
			Py_CLEAR(list);
		Py_XDECREF(dict);
	}
	free_schemas(&schemas);
	return list;
}

static PyObject *
life_counters(PyObject *self, PyObject *Py_UNUSED(none))
{
	static const struct number list[] = {
		NUMBER(lc_counters, hits),
		NUMBER(lc_counters, misses),
		NUMBER(lc_counters, puts),
		NUMBER(lc_counters, deletes),
		NUMBER(lc_counters, put_bytes),
		NUMBER(lc_counters, commits),
		NUMBER(lc_counters, evicted_records),
		NUMBER(lc_counters, evicted_bytes),
		NUMBER(lc_counters, lru_hits),
		NUMBER(lc_counters, lru_misses),
		NUMBER(lc_counters, lru_evictions),
		NUMBER(lc_counters, lru_records),
		NUMBER(lc_counters, lru_bytes),
		NUMBER(lc_counters, computed),
		NUMBER(lc_counters, compute_failures),
		NUMBER(lc_counters, awaited),
	};
	lc_counters counters = { .struct_size = sizeof(counters) };
	lc_cache *handle = cache_enter(self);
	PyObject *dict;
	lc_status status;

	if (handle == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_counters_get(handle, &counters);
	Py_END_ALLOW_THREADS
	cache_leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	dict = numbers(&counters, list, COUNT(list));
	if (dict != NULL &&
	    add(dict, "flush_us",
		Py_BuildValue("(KKKK)", (unsigned long long)counters.flush_us[0],
		    (unsigned long long)counters.flush_us[1],
		    (unsigned long long)counters.flush_us[2],
		    (unsigned long long)counters.flush_us[3])) < 0)
		Py_CLEAR(dict);
	return dict;
}

/* ---- modules of a root ----------------------------------------------------------------------- */

struct names {
	char **all;
	size_t n;
	bool failed;
};

static int
keep_name(void *ctx, const char *name)
{
	struct names *list = ctx;
	char **grown = realloc(list->all, (list->n + 1) * sizeof(*grown));

	if (grown != NULL)
		list->all = grown;
	if (grown != NULL)
		grown[list->n] = strdup(name);
	list->failed = grown == NULL || grown[list->n] == NULL;
	list->n += !list->failed;
	return list->failed;
}

static PyObject *
life_modules(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct names names = { 0 };
	PyObject *path, *list = NULL;
	const char *root;
	lc_status status;

	if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
		return NULL;
	root = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS
	status = lc_modules(root, keep_name, &names);
	Py_END_ALLOW_THREADS
	Py_DECREF(path);
	if (names.failed)
		PyErr_NoMemory();
	else if (status != LC_OK)
		raise_status(status, NULL);
	else
		list = PyList_New(0);
	for (size_t i = 0; i < names.n; i++) {
		PyObject *name = list != NULL ? PyUnicode_FromString(names.all[i]) : NULL;

		if (list != NULL && (name == NULL || PyList_Append(list, name) < 0))
			Py_CLEAR(list);
		Py_XDECREF(name);
		free(names.all[i]);
	}
	free(names.all);
	return list;
}

/* A job on a root and a module, and with the format "...s" on another name. */
static struct job *
module_job(PyObject *args, const char *format, lc_status (*work)(struct task *task))
{
	PyObject *path;
	const char *name, *other = NULL;
	struct job *job;

	if (!PyArg_ParseTuple(args, format, PyUnicode_FSConverter, &path, &name, &other))
		return NULL;
	job = new_job(NULL, work, NULL, NULL);
	if (job != NULL) {
		job->text[0] = strdup(PyBytes_AsString(path));
		job->text[1] = strdup(name);
		job->text[2] = other != NULL ? strdup(other) : NULL;
		if (job->text[0] == NULL || job->text[1] == NULL ||
		    (other != NULL && job->text[2] == NULL)) {
			PyErr_NoMemory();
			abandon(job);
			job = NULL;
		}
	}
	Py_DECREF(path);
	return job;
}

static lc_status
drop_work(struct task *task)
{
	const struct job *job = (const struct job *)task;

	return lc_drop(job->text[0], job->text[1]);
}

static PyObject *
life_drop(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct job *job = module_job(args, "O&s", drop_work);

	if (job == NULL || run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

static lc_status
rename_work(struct task *task)
{
	const struct job *job = (const struct job *)task;

	return lc_rename(job->text[0], job->text[1], job->text[2]);
}

static PyObject *
life_rename(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct job *job = module_job(args, "O&ss", rename_work);

	if (job == NULL || run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

static lc_status
shrink_work(struct task *task)
{
	struct job *job = (struct job *)task;

	return lc_shrink(job->text[0], job->text[1], &job->out.bytes[0],
	    &job->out.bytes[1]);
}

static PyObject *
life_shrink(PyObject *Py_UNUSED(module), PyObject *args)
{
	struct job *job = module_job(args, "O&s", shrink_work);

	if (job == NULL || run_job(job) < 0)
		return NULL;
	return done_with(job,
	    Py_BuildValue("(KK)", (unsigned long long)job->out.bytes[0],
		(unsigned long long)job->out.bytes[1]));
}

/* ---- recover and salvage ----------------------------------------------------------------------- */

static lc_status
recover_work(struct task *task)
{
	struct job *job = (struct job *)task;

	return lc_recover(job->text[0], job->text[1], job->dry_run, &task->progress,
	    &job->out.recover);
}

static PyObject *
life_recover(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "root", "module", "dry_run", "progress", "damage",
		NULL };
	static const struct number list[] = {
		NUMBER(lc_recover_result, records),
		NUMBER(lc_recover_result, rescued),
		NUMBER(lc_recover_result, lost),
		NUMBER(lc_recover_result, runs),
		NUMBER(lc_recover_result, rows),
		NUMBER(lc_recover_result, unknown),
		NUMBER(lc_recover_result, reset),
		NUMBER(lc_recover_result, kept),
	};
	PyObject *path, *name, *progress = NULL, *damage_fn = NULL;
	int dry_run = 0, failed;
	struct job *job;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&U|$pOO", names,
		PyUnicode_FSConverter, &path, &name, &dry_run, &progress, &damage_fn))
		return NULL;
	job = new_job(NULL, recover_work, progress, damage_fn);
	failed = job == NULL || keep_text(job, 0, path) < 0 ||
	    keep_text(job, 1, name) < 0;
	Py_DECREF(path);
	if (failed)
		return job != NULL ? abandon(job) : NULL;
	job->dry_run = dry_run;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, numbers(&job->out.recover, list, COUNT(list)));
}

static lc_status
salvage_work(struct task *task)
{
	struct job *job = (struct job *)task;

	job->how.salvage.progress = task->progress;
	return lc_salvage(job->text[0], job->text[1], job->text[2], &job->how.salvage,
	    &job->out.salvage);
}

static PyObject *
life_salvage(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "source", "root", "module", "stale", "dry_run",
		"progress", "damage", NULL };
	static const struct number list[] = {
		NUMBER(lc_salvage_result, records),
		NUMBER(lc_salvage_result, stale),
		NUMBER(lc_salvage_result, undecided),
		NUMBER(lc_salvage_result, lost),
		NUMBER(lc_salvage_result, damaged),
		NUMBER(lc_salvage_result, unreadable),
		NUMBER(lc_salvage_result, schemas),
		NUMBER(lc_salvage_result, versions),
		NUMBER(lc_salvage_result, left),
		NUMBER(lc_salvage_result, inputs),
	};
	PyObject *from, *root, *name, *progress = NULL, *damage_fn = NULL, *dict;
	lc_salvage_options how;
	struct job *job;
	int failed;

	lc_salvage_options_init(&how);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&U|$ppOO", names,
		PyUnicode_FSConverter, &from, PyUnicode_FSConverter, &root, &name,
		&how.stale, &how.dry_run, &progress, &damage_fn))
		return NULL;
	job = new_job(NULL, salvage_work, progress, damage_fn);
	failed = job == NULL || keep_text(job, 0, from) < 0 ||
	    keep_text(job, 1, root) < 0 || keep_text(job, 2, name) < 0;
	Py_DECREF(from);
	Py_DECREF(root);
	if (failed)
		return job != NULL ? abandon(job) : NULL;
	job->how.salvage = how;
	if (run_job(job) < 0)
		return NULL;
	dict = numbers(&job->out.salvage, list, COUNT(list));
	if (dict != NULL &&
	    (add(dict, "settings_lost", PyBool_FromLong(job->out.salvage.settings_lost)) <
		    0 ||
		add(dict, "uncertain", PyBool_FromLong(job->out.salvage.uncertain)) < 0))
		Py_CLEAR(dict);
	return done_with(job, dict);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static lc_status
verify_file(const char *path, const lc_progress *progress)
{
	lc_shard *shard;
	lc_status status = lc_shard_open(path, &shard);

	if (status != LC_OK)
		return status;
	status = lc_shard_verify(shard, progress);
	lc_shard_close(shard);
	return status;
}

static lc_status
verify_warehouse(const char *path, const lc_progress *progress)
{
	lc_warehouse_options options;
	lc_warehouse *warehouse;
	lc_status status;

	lc_warehouse_options_init(&options);
	options.verify_files = 1;
	options.sources = LC_SOURCES_IGNORE;
	options.ignore_thresholds = 1;
	options.progress = *progress;
	status = lc_warehouse_open(path, &options, &warehouse);
	if (status == LC_OK)
		lc_warehouse_close(warehouse);
	return status;
}

/* A shard, a directory with a manifest, or a warehouse, whose file `current` says where the
 * manifest is. */
static lc_status
verify_shards_work(struct task *task)
{
	const struct job *job = (const struct job *)task;
	const char *path = job->text[0];
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return verify_file(path, &task->progress);
	return stat(job->text[1], &st) == 0 ? verify_warehouse(path, &task->progress)
					    : lc_manifest_verify(path, &task->progress);
}

static PyObject *
life_verify_shards(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "path", "progress", "damage", NULL };
	PyObject *path, *current, *progress = NULL, *damage_fn = NULL;
	struct job *job;
	int failed;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|OO", names,
		PyUnicode_FSConverter, &path, &progress, &damage_fn))
		return NULL;
	job = new_job(NULL, verify_shards_work, progress, damage_fn);
	current = PyBytes_FromFormat("%s/current", PyBytes_AsString(path));
	failed = job == NULL || current == NULL || keep_text(job, 0, path) < 0 ||
	    keep_text(job, 1, current) < 0;
	Py_DECREF(path);
	Py_XDECREF(current);
	if (failed)
		return job != NULL ? abandon(job) : NULL;
	if (run_job(job) < 0)
		return NULL;
	return done_with(job, Py_NewRef(Py_None));
}

/* ---- their names --------------------------------------------------------------------------------- */

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f)), METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
	{ "verify", KEYWORDS(life_verify),
	    "verify($self, progress=None, damage=None)\n--\n\n"
	    "Read and compare everything. Returns a dict with the numbers of \"chunks\",\n"
	    "\"records\", \"live\" records and \"bytes\", and \"damaged\": 0. Damage raises\n"
	    "CorruptError; damage() gets a line for each damaged place." },
	{ "compact", KEYWORDS(life_compact),
	    "compact($self, live_ratio=0.5, *, chunk_bytes=0, codec=None, level=0,\n"
	    "        dry_run=False, progress=None, damage=None)\n--\n\n"
	    "Rewrite the chunks with a smaller fraction of live bytes than live_ratio, so that\n"
	    "later commits reuse the space of dead records, and join neighbours up to\n"
	    "chunk_bytes; with a codec, encode all tensors again. Other threads and processes\n"
	    "can read and write. Returns a dict: chunks \"rewritten\", records \"dropped\",\n"
	    "\"bytes_before\", \"bytes_after\" and others." },
	{ "backup", KEYWORDS(life_backup),
	    "backup($self, root, compact=False)\n--\n\n"
	    "Write a copy of the newest commit to a module with this name in another root,\n"
	    "which is created; InvalidError if the module exists there. compact=True omits free\n"
	    "pages. Other threads and processes can read and write." },
	{ "clear", life_clear, METH_NOARGS,
	    "clear($self, /)\n--\n\n"
	    "Delete all records in one commit, including pending ones." },
	{ "copy", KEYWORDS(life_copy),
	    "copy($self, to, conflict='fail', *, prefix='', dry_run=False, progress=None,\n"
	    "     damage=None)\n--\n\n"
	    "Copy the records with cache_ids that begin with prefix into another Cache, in\n"
	    "their stored form, in commit order. A record that exists there is a conflict:\n"
	    "'keep' keeps it, 'replace' replaces it, 'same' fails unless both are equal, 'fail'\n"
	    "fails; then nothing is copied. CorruptError if damaged records were skipped." },
	{ "merge_inputs", KEYWORDS(life_merge_inputs),
	    "merge_inputs($self, modules, *, dry_run=False, force_fs=False, progress=None,\n"
	    "             damage=None)\n--\n\n"
	    "Join modules that hold parts of one list of inputs, from `cachex fill --shard`,\n"
	    "given by their directories ROOT/MODULE. The result is the module that a single\n"
	    "machine would have filled, with the same chunks in the same order and the same\n"
	    "tokens. Each input comes from the module that finished it.\n\n"
	    "The dict has the numbers of inputs taken, of inputs already there, and of chunks,\n"
	    "records and bytes stored, or with dry_run to be stored. NotFoundError if an input\n"
	    "is finished in none of the modules; damage() gets a line for each. Another Error\n"
	    "if the modules contradict each other. After a failure the records stored so far\n"
	    "stay, and the same call continues." },
	{ "export", KEYWORDS(life_export),
	    "export($self, dir, *, shard_bytes=0, shard_version=0, metadata=True, threads=0,\n"
	    "       order='published', by_input=False, dataset_root=None, dry_run=False,\n"
	    "       sha256=True, progress=None)\n--\n\n"
	    "Write the records, tensors of one dtype and shape, as TWH1 shards with a manifest;\n"
	    "source() opens them. An interrupted export continues where it stopped. The\n"
	    "published order is that of a module's inputs, however it was filled; by_input\n"
	    "writes separate shards for each input." },
	{ "schemas", life_schemas, METH_NOARGS,
	    "schemas($self, /)\n--\n\n"
	    "The structures of values in the module: a dict for each, with structure\n"
	    "(\"{features: f32[*], label: plain}\"), id, records, raw_bytes, stored_bytes, and\n"
	    "codecs, the number of tensors stored with each. Includes dead records." },
	{ "counters", life_counters, METH_NOARGS,
	    "counters($self, /)\n--\n\n"
	    "Counts since the module was created: hits, misses, puts ..." },
	{ "_settings", life_settings, METH_NOARGS, NULL },
	{ "_change_settings", life_change_settings, METH_O, NULL },
	{ 0 },
};

static PyMethodDef functions[] = {
	{ "modules", life_modules, METH_VARARGS,
	    "modules(root, /)\n--\n\nThe names of the modules in a root directory, in byte "
	    "order." },
	{ "drop", life_drop, METH_VARARGS,
	    "drop(root, module, /)\n--\n\n"
	    "Remove a module with its files, also a damaged one. BusyError if a process has it\n"
	    "open, or a view of it is held." },
	{ "rename", life_rename, METH_VARARGS,
	    "rename(root, module, new, /)\n--\n\n"
	    "Rename a module within its root." },
	{ "shrink", life_shrink, METH_VARARGS,
	    "shrink(root, module, /)\n--\n\n"
	    "Return the free pages of a module's file to the file system. BusyError if a\n"
	    "process has it open. Returns the sizes before and after, in bytes." },
	{ "recover", KEYWORDS(life_recover),
	    "recover(root, module, *, dry_run=False, progress=None, damage=None)\n--\n\n"
	    "Rebuild the index of a damaged module from its chunks, in a copy that replaces it\n"
	    "if the copy verifies; the old file is kept next to it. damage() gets a line for\n"
	    "each rescued and each lost record. BusyError if a process has the module open." },
	{ "salvage", KEYWORDS(life_salvage),
	    "salvage(source, root, module, *, stale=False, dry_run=False, progress=None,\n"
	    "        damage=None)\n--\n\n"
	    "Rescue the records of a data.mdb that cannot be opened into a new module; the file\n"
	    "is never written to. stale takes old versions of keys with a lost newest one." },
	{ "verify_shards", KEYWORDS(life_verify_shards),
	    "verify_shards(path, progress=None, damage=None)\n--\n\n"
	    "Compare a shard, or all shards of a directory or a warehouse, with their\n"
	    "checksums." },
	{ 0 },
};

int
life_init(PyObject *module)
{
	if (cache_add_methods(methods) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
