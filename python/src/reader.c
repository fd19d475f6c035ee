/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a stream: the type Reader, which has its sources and its stream, and the batches
 * that it gives. lmdbcache_stream(3) says what the options mean.
 */
#include "core.h"

#include <stddef.h>
#include <stdlib.h>

struct reader {
	PyObject_HEAD
	lc_source **sources;
	Py_ssize_t n_sources;
	lc_stream *stream;
	lc_reader *reader; /* NULL: closed */
	uint32_t rank, world;
	PyObject *timeout; /* of next(), in seconds; None: for ever */
	bool views;
	bool closing; /* close() was called; it is done once nothing is in the way */
	Py_ssize_t running;    /* calls that threads are in */
	struct batch *batches; /* those that are not their holders' own */
};

/* A batch, which the tensors of its fields keep. */
struct batch {
	PyObject_HEAD
	struct reader *reader; /* NULL: its holder's own */
	struct batch *before, *after;
	const lc_batch *batch;
};

static PyTypeObject *reader_type, *batch_type;

/* How long a wait lasts before signals are looked for, in ms. */
#define SLICE_MS 100

static int
enter(struct reader *self)
{
	if (self->reader == NULL || self->closing) {
		PyErr_SetString(PyExc_ValueError, "the reader is closed");
		return 0;
	}
	self->running++;
	return 1;
}

static lc_status close_idle(struct reader *self);

static void
leave(struct reader *self)
{
	self->running--;
	(void)close_idle(self);
}

/* A status as the end of a function that returns -1 with an exception. */
static int
checked(lc_status status)
{
	if (status == LC_OK)
		return 0;
	raise_status(status, NULL);
	return -1;
}

/* ---- opening ------------------------------------------------------------------------- */

static int
open_sources(struct reader *self, PyObject *list, PyObject *dict)
{
	const Py_ssize_t n = PyList_Size(list);

	self->sources = calloc((size_t)(n > 0 ? n : 1), sizeof(lc_source *));
	if (self->sources == NULL) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		if (source_open(PyList_GetItem(list, i), dict, &self->sources[i]) < 0)
			return -1;
		self->n_sources++;
	}
	return 0;
}

/* The weights of a mixture, to be freed; *out is NULL without. */
static int
read_weights(PyObject *dict, Py_ssize_t n, uint64_t **out)
{
	PyObject *list = option(dict, "weights");

	*out = NULL;
	if (list == NULL)
		return 0;
	if (!PyList_Check(list) || PyList_Size(list) != n) {
		PyErr_SetString(PyExc_ValueError, "weights: not one for each source");
		return -1;
	}
	*out = calloc((size_t)n, sizeof(**out));
	if (*out == NULL) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		(*out)[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(list, i));
	return PyErr_Occurred() ? -1 : 0;
}

static int
open_stream(struct reader *self, PyObject *dict)
{
	PyObject *token = option(dict, "token");
	const char *shuffle = NULL;
	lc_stream_options options;
	uint64_t *weights = NULL;
	Py_ssize_t size;
	char *bytes;
	lc_status status;
	int result = -1;

	lc_stream_options_init(&options);
	if (option_u64(dict, "window", &options.window) < 0 ||
	    option_u64(dict, "stride", &options.stride) < 0 ||
	    option_bool(dict, "drop_short", &options.drop_short) < 0 ||
	    option_u32(dict, "idealised", &options.idealised) < 0 ||
	    option_text(dict, "shuffle", &shuffle) < 0 ||
	    option_u64(dict, "block", &options.block) < 0 ||
	    option_u64(dict, "spread", &options.spread) < 0 ||
	    option_u32(dict, "shares", &options.shares) < 0 ||
	    option_u64(dict, "era_first", &options.era_first) < 0 ||
	    option_u64(dict, "era_max", &options.era_max) < 0 ||
	    option_u64(dict, "seed", &options.seed) < 0 ||
	    option_u64(dict, "epochs", &options.epochs) < 0 ||
	    option_u64(dict, "limit", &options.limit) < 0 ||
	    option_u64(dict, "mixture_block", &options.mixture_block) < 0 ||
	    option_u64(dict, "batch", &options.batch) < 0 ||
	    option_bool(dict, "follow", &options.follow) < 0 ||
	    read_weights(dict, self->n_sources, &weights) < 0)
		goto done;
	options.weights = weights;
	if (shuffle != NULL && checked(lc_shuffle_parse(shuffle, &options.shuffle)) < 0)
		goto done;
	if (token != NULL) {
		if (PyBytes_AsStringAndSize(token, &bytes, &size) < 0)
			goto done;
		if (size != LC_TOKEN_SIZE) {
			PyErr_Format(PyExc_ValueError, "token: not %d bytes",
			    LC_TOKEN_SIZE);
			goto done;
		}
		options.token = bytes;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_stream_open(self->sources, (size_t)self->n_sources, &options,
	    &self->stream);
	Py_END_ALLOW_THREADS
	result = checked(status);
done:
	free(weights);
	return result;
}

static int
open_reader(struct reader *self, PyObject *dict)
{
	PyObject *fields = option(dict, "fields");
	const char *split = NULL, **names = NULL;
	lc_reader_options options;
	lc_status status;
	int result = -1;

	lc_reader_options_init(&options);
	options.timeout_ms = SLICE_MS;
	if (option_u32(dict, "rank", &options.reader) < 0 ||
	    option_u32(dict, "world", &options.readers) < 0 ||
	    option_text(dict, "share", &split) < 0 ||
	    option_bool(dict, "views", &options.views) < 0 ||
	    option_bool(dict, "documents", &options.documents) < 0 ||
	    option_u32(dict, "threads", &options.threads) < 0 ||
	    option_u32(dict, "ahead", &options.ahead) < 0 ||
	    option_u64(dict, "memory", &options.memory) < 0)
		return -1;
	if (split != NULL && checked(lc_split_parse(split, &options.split)) < 0)
		return -1;
	if (fields != NULL) {
		const Py_ssize_t n = PyList_Size(fields);

		if (n < 0)
			return -1;
		names = calloc((size_t)n + 1, sizeof(*names));
		if (names == NULL) {
			PyErr_NoMemory();
			return -1;
		}
		for (Py_ssize_t i = 0; i < n; i++) {
			names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(fields, i),
			    NULL);
			if (names[i] == NULL)
				goto done;
		}
		options.fields = names;
		options.n_fields = (size_t)n;
	}
	self->views = options.views != 0;
	self->rank = options.reader;
	self->world = options.readers;
	Py_BEGIN_ALLOW_THREADS
	status = lc_reader_open(self->stream, &options, &self->reader);
	Py_END_ALLOW_THREADS
	result = checked(status);
done:
	free(names);
	return result;
}

static void
close_all(struct reader *self)
{
	lc_reader *reader = self->reader;
	lc_stream *stream = self->stream;
	lc_source **sources = self->sources;
	const Py_ssize_t n = self->n_sources;

	self->reader = NULL;
	self->stream = NULL;
	self->sources = NULL;
	self->n_sources = 0;
	Py_BEGIN_ALLOW_THREADS
	lc_reader_close(reader);
	lc_stream_close(stream);
	for (Py_ssize_t i = 0; i < n; i++)
		lc_source_close(sources[i]);
	Py_END_ALLOW_THREADS
	free(sources);
}

static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *sources, *dict;
	struct reader *self;

	if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &sources, &PyDict_Type, &dict))
		return NULL;
	self = (struct reader *)alloc(type, 0);
	if (self == NULL)
		return NULL;
	self->timeout = Py_NewRef(Py_None);
	if (option(dict, "timeout") != NULL) {
		Py_DECREF(self->timeout);
		self->timeout = Py_NewRef(option(dict, "timeout"));
	}
	if (open_sources(self, sources, dict) < 0 || open_stream(self, dict) < 0 ||
	    open_reader(self, dict) < 0)
		Py_CLEAR(self);
	return (PyObject *)self;
}

static int
reader_traverse(struct reader *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE((PyObject *)self));
	Py_VISIT(self->timeout);
	return 0;
}

static void
reader_dealloc(struct reader *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(self);
	/* Each batch has a reference: none is held any more. */
	close_all(self);
	Py_XDECREF(self->timeout);
	release(self);
	Py_DECREF(type);
}

/* ---- batches ---------------------------------------------------------------------------- */

/* A new object of a batch. */
static PyObject *
batch_object(struct reader *self, const lc_batch *batch)
{
	struct batch *object = PyObject_GC_New(struct batch, batch_type);

	if (object == NULL) {
		lc_batch_release(batch);
		return NULL;
	}
	object->reader = (struct reader *)Py_NewRef((PyObject *)self);
	object->batch = batch;
	object->before = NULL;
	object->after = self->batches;
	if (self->batches != NULL)
		self->batches->before = object;
	self->batches = object;
	PyObject_GC_Track(object);
	return (PyObject *)object;
}

/* It is its reader's no more. */
static void
unlink_batch(struct batch *batch)
{
	struct reader *reader = batch->reader;

	if (batch->before != NULL)
		batch->before->after = batch->after;
	else
		reader->batches = batch->after;
	if (batch->after != NULL)
		batch->after->before = batch->before;
	batch->reader = NULL;
	Py_DECREF((PyObject *)reader);
}

/* Detach all held batches. The caller holds the reader; views keep holding it, because their
 * data belongs to its sources. */
static lc_status
detach_batches(struct reader *self)
{
	struct batch *batch = self->batches, *after;

	for (; batch != NULL; batch = after) {
		const lc_status status = lc_batch_detach(batch->batch);

		if (status != LC_OK)
			return status;
		after = batch->after;
		if (!self->views)
			unlink_batch(batch);
	}
	return LC_OK;
}

static int
batch_traverse(struct batch *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE((PyObject *)self));
	Py_VISIT(self->reader);
	return 0;
}

static void
batch_dealloc(struct batch *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	PyObject *reader = Py_XNewRef((PyObject *)self->reader);

	PyObject_GC_UnTrack(self);
	lc_batch_release(self->batch);
	if (reader != NULL) {
		unlink_batch(self);
		(void)close_idle((struct reader *)reader);
		Py_DECREF(reader);
	}
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

/* Close what close() was called on, unless a call runs or views of it are held: then the last
 * of them does. */
static lc_status
close_idle(struct reader *self)
{
	lc_status status = LC_OK;

	if (!self->closing || self->running > 0)
		return LC_OK;
	if (!self->views)
		status = detach_batches(self);
	if (status == LC_OK && self->batches == NULL)
		close_all(self);
	return status;
}

static PyObject *
reader_close(struct reader *self, PyObject *Py_UNUSED(none))
{
	self->closing = true;
	if (checked(close_idle(self)) < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* The next batch. With as many held as may be, those become their holders' own. */
static lc_status
next_batch(struct reader *self, const lc_batch **out)
{
	lc_status status;

	for (;;) {
		Py_BEGIN_ALLOW_THREADS
		status = lc_reader_next(self->reader, out);
		Py_END_ALLOW_THREADS
		if (status != LC_BUSY)
			return status;
		status = detach_batches(self);
		if (status != LC_OK)
			return status;
	}
}

static PyObject *
reader_next(struct reader *self)
{
	double left = -1; /* seconds; negative: for ever */
	PyObject *object = NULL;
	const lc_batch *batch;
	lc_status status;

	if (self->timeout != Py_None) {
		left = PyFloat_AsDouble(self->timeout);
		if (PyErr_Occurred())
			return NULL;
		if (left < 0)
			left = 0;
	}
	if (!enter(self))
		return NULL;
	for (;;) {
		status = next_batch(self, &batch);
		if (status != LC_TIMEOUT)
			break;
		if (PyErr_CheckSignals() < 0)
			goto done;
		if (self->closing) {
			PyErr_SetString(PyExc_ValueError,
			    "the reader was closed during the call");
			goto done;
		}
		if (left >= 0 && (left -= SLICE_MS / 1000.0) <= 0)
			break;
	}
	if (status == LC_OK)
		object = batch_object(self, batch);
	else if (status != LC_END)
		raise_status(status, NULL);
done:
	leave(self);
	return object;
}

static PyObject *
reader_read(struct reader *self, PyObject *number)
{
	const uint64_t at = PyLong_AsUnsignedLongLong(number);
	PyObject *object = NULL;
	const lc_batch *batch;
	lc_status status;

	if (PyErr_Occurred() || !enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_reader_read(self->reader, at, &batch);
	Py_END_ALLOW_THREADS
	if (status == LC_OK)
		object = batch_object(self, batch);
	else if (status == LC_END)
		PyErr_SetString(PyExc_IndexError, "there is no such batch");
	else
		raise_status(status, NULL);
	leave(self);
	return object;
}

static PyObject *
reader_seek(struct reader *self, PyObject *number)
{
	const uint64_t at = PyLong_AsUnsignedLongLong(number);
	lc_status status;

	if (PyErr_Occurred() || !enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_reader_seek(self->reader, at);
	Py_END_ALLOW_THREADS
	if (status != LC_OK)
		raise_status(status, NULL);
	leave(self);
	if (status != LC_OK)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *
reader_token(struct reader *self, PyObject *args)
{
	PyObject *number = Py_None;
	char token[LC_TOKEN_SIZE];
	uint64_t at = 0;
	lc_status status;

	if (!PyArg_ParseTuple(args, "|O", &number))
		return NULL;
	if (number != Py_None) {
		at = PyLong_AsUnsignedLongLong(number);
		if (PyErr_Occurred())
			return NULL;
	}
	if (!enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = number == Py_None ? lc_reader_token(self->reader, token)
				   : lc_stream_token(self->stream, at, token);
	Py_END_ALLOW_THREADS
	if (status != LC_OK)
		raise_status(status, NULL);
	leave(self);
	if (status != LC_OK)
		return NULL;
	return PyBytes_FromStringAndSize(token, sizeof(token));
}

static PyObject *
reader_info(struct reader *self, PyObject *Py_UNUSED(none))
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	lc_status status;

	if (!enter(self))
		return NULL;
	status = lc_stream_info_get(self->stream, &info);
	if (status != LC_OK)
		raise_status(status, NULL);
	leave(self);
	if (status != LC_OK)
		return NULL;
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "examples",
	    (unsigned long long)info.examples, "batches",
	    (unsigned long long)info.batches, "epoch_examples",
	    (unsigned long long)info.epoch_examples, "known",
	    (unsigned long long)info.known, "first_batch",
	    (unsigned long long)info.first_batch, "batch", (unsigned long long)info.batch,
	    "order_hash", (unsigned long long)info.order_hash);
}

static PyObject *
list_of(const uint64_t *numbers, size_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (size_t i = 0; list != NULL && i < n; i++) {
		PyObject *number = PyLong_FromUnsignedLongLong(numbers[i]);

		if (number == NULL || PyList_SetItem(list, (Py_ssize_t)i, number) < 0)
			Py_CLEAR(list);
	}
	return list;
}

/* The first call says how many there are. */
static PyObject *
reader_chunks(struct reader *self, PyObject *Py_UNUSED(none))
{
	PyObject *list = NULL;
	uint64_t *chunks = NULL;
	size_t n = 0;
	lc_status status;

	if (!enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_stream_share_chunks(self->stream, self->rank, self->world, NULL, 0,
	    &n);
	if (n > 0) {
		chunks = malloc(n * sizeof(*chunks));
		if (chunks != NULL)
			status = lc_stream_share_chunks(self->stream, self->rank,
			    self->world, chunks, n, &n);
	}
	Py_END_ALLOW_THREADS
	if (n > 0 && chunks == NULL)
		PyErr_NoMemory();
	else if (status != LC_OK)
		raise_status(status, NULL);
	else
		list = list_of(chunks, n);
	leave(self);
	free(chunks);
	return list;
}

static PyObject *
reader_fetch_stats(struct reader *self, PyObject *Py_UNUSED(none))
{
	PyObject *stats;

	if (!enter(self))
		return NULL;
	stats = fetch_stats(self->sources[0]);
	leave(self);
	return stats;
}

/* An array of the batch as a tensor that keeps it. */
static PyObject *
array_of(struct batch *self, lc_dtype dtype, uint64_t n, uint64_t width, const void *data,
    enum like like)
{
	const uint64_t shape[2] = { n, width };
	lc_tensor tensor;

	if (data == NULL && n > 0)
		return Py_NewRef(Py_None);
	if (checked(lc_tensor_init(&tensor, dtype, width > 0 ? 2 : 1, shape, data)) < 0)
		return NULL;
	return tensor_view(&tensor, (PyObject *)self, like);
}

/* The data of a field: one tensor, or with views a list of one a row. */
static PyObject *
field_data(struct batch *self, const lc_batch_field *field, enum like like)
{
	lc_tensor tensor;
	PyObject *list;

	if (field->rows == NULL) {
		if (field->ndim > LC_MAX_NDIM) {
			PyErr_SetString(PyExc_ValueError,
			    "a field has too many dimensions for a batch");
			return NULL;
		}
		if (checked(lc_tensor_init(&tensor, field->dtype, field->ndim,
			field->shape, field->data)) < 0)
			return NULL;
		return tensor_lent(&tensor, (PyObject *)self, like);
	}
	list = PyList_New(0);
	for (size_t i = 0; list != NULL && i < self->batch->rows; i++) {
		PyObject *row;

		if (field->rows[i] == NULL) {
			row = Py_NewRef(Py_None);
		} else if (checked(lc_tensor_init(&tensor, field->dtype, field->ndim - 1,
			       field->shape + 1, field->rows[i])) < 0) {
			row = NULL;
		} else {
			row = tensor_view(&tensor, (PyObject *)self, like);
		}
		if (row == NULL || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list;
}

static PyObject *
batch_fields(struct batch *self, PyObject *like_object)
{
	const int like = like_of(like_object);
	PyObject *dict;

	if (like < 0)
		return NULL;
	dict = PyDict_New();
	for (size_t i = 0; dict != NULL && i < self->batch->n_fields; i++) {
		const lc_batch_field *field = &self->batch->fields[i];
		PyObject *data = field_data(self, field, (enum like)like);

		if (data != NULL && field->offsets != NULL) {
			PyObject *offsets = array_of(self, LC_U64, self->batch->rows + 1,
			    0, field->offsets, (enum like)like);
			PyObject *pair = offsets != NULL ? PyTuple_Pack(2, data, offsets)
							 : NULL;

			Py_XDECREF(offsets);
			Py_DECREF(data);
			data = pair;
		}
		if (data == NULL || PyDict_SetItemString(dict, field->name, data) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(data);
	}
	return dict;
}

static PyObject *
batch_ids(struct batch *self, void *Py_UNUSED(none))
{
	PyObject *list = PyList_New((Py_ssize_t)self->batch->rows);

	for (size_t i = 0; list != NULL && i < self->batch->rows; i++) {
		const lc_id *id = &self->batch->ids[i];
		PyObject *key = id->size > 0 ? id_to(id, false) : Py_NewRef(Py_None);

		if (key == NULL || PyList_SetItem(list, (Py_ssize_t)i, key) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *
batch_number(struct batch *self, void *Py_UNUSED(none))
{
	return PyLong_FromUnsignedLongLong(self->batch->number);
}

static PyObject *
batch_rows(struct batch *self, void *Py_UNUSED(none))
{
	return PyLong_FromSize_t(self->batch->rows);
}

static PyObject *
batch_filled(struct batch *self, void *Py_UNUSED(none))
{
	return PyLong_FromSize_t(self->batch->filled);
}

/* A member of lc_batch with an element for each row. */
struct column {
	lc_dtype dtype;
	size_t offset;
	bool windows; /* [rows, window] */
};

static PyObject *
batch_column(struct batch *self, void *closure)
{
	const struct column *column = closure;
	const lc_batch *batch = self->batch;
	uint64_t width = 0;
	const void *data;

	memcpy(&data, (const char *)batch + column->offset, sizeof(data));
	if (column->windows) {
		if (data == NULL || batch->n_fields == 0)
			return Py_NewRef(Py_None);
		width = batch->fields[0].shape[1];
	}
	return array_of(self, column->dtype, batch->rows, width, data, LIKE_BUFFER);
}

#define COLUMN(name, dtype, windows, doc) \
	{ \
#name, (getter)batch_column, NULL, doc, &(struct column) \
		{ \
			dtype, offsetof(lc_batch, name), windows \
		} \
	}

static PyGetSetDef batch_getset[] = {
	{ "number", (getter)batch_number, NULL, "Number of the batch.", NULL },
	{ "rows", (getter)batch_rows, NULL, "Rows of this reader, including padding.",
	    NULL },
	{ "filled", (getter)batch_filled, NULL, "Rows that are examples.", NULL },
	{ "ids", (getter)batch_ids, NULL, "cache_id of each row, None for padding.",
	    NULL },
	COLUMN(mask, LC_U8, false, "For each row: 1 for an example, 0 for padding."),
	COLUMN(examples, LC_U64, false,
	    "For each row: the number of its example in the stream; 2**64 - 1 for padding."),
	COLUMN(epochs, LC_U64, false, "For each row: its epoch."),
	COLUMN(sources, LC_U32, false,
	    "For each row: its source in the mixture, from 0."),
	COLUMN(lengths, LC_U64, false,
	    "For each row: the number of units, 1 without windows; the rest is padding."),
	COLUMN(documents, LC_U32, true,
	    "[rows, window]: number of the record within the window, from 0; None without\n"
	    "documents=True."),
	COLUMN(positions, LC_U32, true,
	    "[rows, window]: position within the record, counted from its start even if that is\n"
	    "before the window; None without documents=True."),
	{ 0 },
};

static PyMethodDef batch_methods[] = {
	{ "fields", (PyCFunction)batch_fields, METH_O,
	    "fields($self, like, /)\n--\n\n"
	    "A dict of the tensors [rows, ...], which keep the batch alive; with views a list\n"
	    "with one tensor per row; for a ragged field the tensor and the offsets of its\n"
	    "rows." },
	{ 0 },
};

static PyType_Slot batch_slots[] = {
	{ Py_tp_dealloc, batch_dealloc },
	{ Py_tp_traverse, batch_traverse },
	{ Py_tp_methods, batch_methods },
	{ Py_tp_getset, batch_getset },
	{ Py_tp_doc, "A reader's share of a batch." },
	{ 0, NULL },
};

static PyType_Spec batch_spec = {
	.name = "lmdbcache.Batch",
	.basicsize = sizeof(struct batch),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
	    Py_TPFLAGS_HAVE_GC,
	.slots = batch_slots,
};

static PyMethodDef reader_methods[] = {
	{ "read", (PyCFunction)reader_read, METH_O,
	    "read($self, number, /)\n--\n\n"
	    "The batch with this number. Any thread may call it; the position of next() does\n"
	    "not change." },
	{ "seek", (PyCFunction)reader_seek, METH_O,
	    "seek($self, number, /)\n--\n\n"
	    "Make the next next() return the batch with this number." },
	{ "token", (PyCFunction)reader_token, METH_VARARGS,
	    "token($self, number=None, /)\n--\n\n"
	    "The position after the last returned batch, or before batch `number`: 96 bytes,\n"
	    "the same on every rank." },
	{ "info", (PyCFunction)reader_info, METH_NOARGS,
	    "info($self, /)\n--\n\n"
	    "A dict of numbers of the stream: \"examples\", \"batches\" and \"epoch_examples\", where\n"
	    "2**64 - 1 means without end; \"known\", the examples that can be read now;\n"
	    "\"first_batch\", the position of the token; \"batch\", examples per batch;\n"
	    "\"order_hash\", a hash of the options that define the order." },
	{ "chunks", (PyCFunction)reader_chunks, METH_NOARGS,
	    "chunks($self, /)\n--\n\n"
	    "With shares: the chunks that this rank reads, the same in all epochs, by their\n"
	    "positions in the source, ascending; for shards, the positions in the manifest of\n"
	    "those that have samples. ValueError without shares." },
	{ "fetch_stats", (PyCFunction)reader_fetch_stats, METH_NOARGS,
	    "fetch_stats($self, /)\n--\n\n"
	    "For a store: a dict of the costs of fetching since it was opened, see\n"
	    "lmdbcache_store(3); \"stalled\" and \"retry_wait\" are in seconds. UnsupportedError "
	    "for other sources." },
	{ "close", (PyCFunction)reader_close, METH_NOARGS,
	    "close($self, /)\n--\n\n"
	    "Stop reading: calls of other threads end, and the sources are released after the\n"
	    "last batch of views. Other batches stay valid." },
	{ 0 },
};

static PyType_Slot reader_slots[] = {
	{ Py_tp_new, reader_new },
	{ Py_tp_dealloc, reader_dealloc },
	{ Py_tp_traverse, reader_traverse },
	{ Py_tp_methods, reader_methods },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, reader_next },
	{ Py_tp_doc, "Reads a stream over modules or shards, batch by batch." },
	{ 0, NULL },
};

static PyType_Spec reader_spec = {
	.name = "lmdbcache._core.Reader",
	.basicsize = sizeof(struct reader),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = reader_slots,
};

int
reader_init(PyObject *module)
{
	reader_type = (PyTypeObject *)PyType_FromSpec(&reader_spec);
	batch_type = (PyTypeObject *)PyType_FromSpec(&batch_spec);
	if (reader_type == NULL || batch_type == NULL ||
	    PyModule_AddObjectRef(module, "Batch", (PyObject *)batch_type) < 0)
		return -1;
	return PyModule_AddObjectRef(module, "Reader", (PyObject *)reader_type);
}
