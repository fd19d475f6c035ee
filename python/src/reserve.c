/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that are written in place: reserve() of a Cache. */
#include "core.h"

static PyTypeObject *reservation_type, *loan_type;

struct reservation {
	PyObject_HEAD
	_Atomic(lc_reservation *) open; /* NULL: it has ended, or is about to */
	lc_reservation *left; /* an ended one whose memory is lent; NULL: none */
	atomic_uint loans;    /* of its memory */
	lc_tensor tensor;     /* its data is the memory */
	PyObject *cache;
	PyObject *key;
	PyObject *kept; /* what id borrows from, or NULL */
	lc_id id;
};

/* ---- lending the memory ----------------------------------------------------- */

/* What tensors over the memory keep. */
struct loan {
	PyObject_HEAD
	struct reservation *from;
};

static void
loan_dealloc(struct loan *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	atomic_fetch_sub(&self->from->loans, 1);
	Py_DECREF((PyObject *)self->from);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *
ended(void)
{
	PyErr_SetString(PyExc_ValueError, "the reservation has ended");
	return NULL;
}

static PyObject *
get_tensor(struct reservation *self, void *Py_UNUSED(none))
{
	struct loan *loan = PyObject_New(struct loan, loan_type);
	PyObject *tensor = NULL;

	if (loan == NULL)
		return NULL;
	loan->from = (struct reservation *)Py_NewRef((PyObject *)self);
	/* Before the check: the thread that ends the reservation checks for loans after that. */
	atomic_fetch_add(&self->loans, 1);
	if (atomic_load(&self->open) == NULL)
		ended();
	else
		tensor = tensor_lent(&self->tensor, (PyObject *)loan,
		    cache_like(self->cache));
	Py_DECREF((PyObject *)loan);
	return tensor;
}

/* ---- ending ----------------------------------------------------------------- */

/* End a reservation, whose memory stays as long as it is lent. */
static void
cancel(struct reservation *self, lc_reservation *open)
{
	if (atomic_load(&self->loans) > 0)
		self->left = open;
	else
		lc_reserve_cancel(open);
}

/* Put the record: in place, or a copy if its memory may still be written to. */
static int
commit(struct reservation *self)
{
	struct wait wait = cache_wait(self->cache, "put");
	lc_reservation *open = atomic_exchange(&self->open, NULL);
	lc_cache *cache;
	lc_status status;
	bool lent;

	if (open == NULL) {
		ended();
		return -1;
	}
	lent = atomic_load(&self->loans) > 0;
	cache = cache_enter(self->cache);
	if (cache == NULL) {
		atomic_store(&self->open, open);
		return -1;
	}
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lent ? lc_put(cache, self->id.data, self->id.size, &self->tensor)
			      : lc_reserve_commit(open);
		Py_END_ALLOW_THREADS
	} while (status == LC_TIMEOUT && cache_again(self->cache, &wait, &status));
	cache_leave(self->cache);
	if (status != LC_OK) {
		atomic_store(&self->open, open);
		raise_status(status, self->key);
		return -1;
	}
	if (lent)
		cancel(self, open);
	return 0;
}

static PyObject *
reservation_commit(struct reservation *self, PyObject *Py_UNUSED(none))
{
	return commit(self) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
reservation_cancel(struct reservation *self, PyObject *Py_UNUSED(none))
{
	lc_reservation *open = atomic_exchange(&self->open, NULL);

	if (open != NULL)
		cancel(self, open);
	return Py_NewRef(Py_None);
}

static PyObject *
reservation_enter(struct reservation *self, PyObject *Py_UNUSED(none))
{
	return Py_NewRef((PyObject *)self);
}

static PyObject *
reservation_exit(struct reservation *self, PyObject *args)
{
	PyObject *type, *exception, *trace;
	int result = 0;

	if (!PyArg_ParseTuple(args, "OOO", &type, &exception, &trace))
		return NULL;
	/* The block may have ended it. */
	if (type == Py_None && atomic_load(&self->open) != NULL)
		result = commit(self);
	Py_DECREF(reservation_cancel(self, NULL));
	return result < 0 ? NULL : Py_NewRef(Py_None);
}

static void
reservation_dealloc(struct reservation *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	lc_reserve_cancel(atomic_load(&self->open));
	lc_reserve_cancel(self->left);
	Py_XDECREF(self->cache);
	Py_XDECREF(self->key);
	Py_XDECREF(self->kept);
	PyObject_Free(self);
	Py_DECREF(type);
}

/* ---- beginning -------------------------------------------------------------- */

static PyObject *
cache_reserve(PyObject *cache, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "id", "shape", "dtype", NULL };
	PyObject *key, *shape_object, *dtype_object;
	struct reservation *self;
	uint64_t shape[LC_MAX_NDIM];
	lc_reservation *open;
	lc_cache *handle;
	lc_status status;
	uint32_t ndim;
	void *data;
	int dtype;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO", names, &key, &shape_object,
		&dtype_object))
		return NULL;
	dtype = dtype_of(dtype_object);
	if (dtype < 0 || shape_of_sizes(shape_object, shape, &ndim) < 0)
		return NULL;
	self = PyObject_New(struct reservation, reservation_type);
	if (self == NULL)
		return NULL;
	atomic_init(&self->open, NULL);
	atomic_init(&self->loans, 0);
	self->left = NULL;
	self->kept = NULL;
	self->cache = Py_NewRef(cache);
	self->key = Py_NewRef(key);
	if (id_from(key, &self->id, &self->kept) < 0)
		goto failed;
	if (lc_tensor_init(&self->tensor, (lc_dtype)dtype, ndim, shape, NULL) != LC_OK) {
		raise_status(LC_INVALID, key);
		goto failed;
	}
	handle = cache_enter(cache);
	if (handle == NULL)
		goto failed;
	Py_BEGIN_ALLOW_THREADS
	status = lc_reserve(handle, self->id.data, self->id.size, &self->tensor, &data,
	    &open);
	Py_END_ALLOW_THREADS
	cache_leave(cache);
	if (status != LC_OK) {
		raise_status(status, key);
		goto failed;
	}
	self->tensor.data = data;
	atomic_store(&self->open, open);
	return (PyObject *)self;
failed:
	Py_DECREF((PyObject *)self);
	return NULL;
}

/* ---- the types -------------------------------------------------------------- */

static PyMethodDef methods[] = {
	{ "commit", (PyCFunction)reservation_commit, METH_NOARGS,
	    "commit($self, /)\n--\n\n"
	    "Put the record, like Cache.put(). If a tensor over its memory still exists, the\n"
	    "record is copied, which takes as long as put(); otherwise not. ValueError if the\n"
	    "reservation has ended; after another error it remains." },
	{ "cancel", (PyCFunction)reservation_cancel, METH_NOARGS,
	    "cancel($self, /)\n--\n\n"
	    "Store nothing. Does nothing if the reservation has ended." },
	{ "__enter__", (PyCFunction)reservation_enter, METH_NOARGS,
	    "__enter__($self, /)\n--\n\n"
	    "Itself." },
	{ "__exit__", (PyCFunction)reservation_exit, METH_VARARGS,
	    "__exit__($self, type, exception, trace, /)\n--\n\n"
	    "commit(), unless the reservation has ended; cancel() after an exception, or if\n"
	    "commit() fails." },
	{ 0 },
};

static PyGetSetDef getset[] = {
	{ "tensor", (getter)get_tensor, NULL,
	    "The uninitialised memory of the record, to write to: a NumPy array, a torch tensor\n"
	    "or a Tensor, according to the Cache. Do not keep it: `place.tensor[:] = image`,\n"
	    "`file.readinto(place.tensor)`. ValueError if the reservation has ended.",
	    NULL },
	{ 0 },
};

static PyType_Slot reservation_slots[] = {
	{ Py_tp_doc, "A record that is being written in place, from Cache.reserve()." },
	{ Py_tp_dealloc, reservation_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, getset },
	{ 0, NULL },
};

static PyType_Spec reservation_spec = {
	.name = "lmdbcache._core.Reservation",
	.basicsize = sizeof(struct reservation),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = reservation_slots,
};

static PyType_Slot loan_slots[] = {
	{ Py_tp_dealloc, loan_dealloc },
	{ 0, NULL },
};

static PyType_Spec loan_spec = {
	.name = "lmdbcache._core.Loan",
	.basicsize = sizeof(struct loan),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = loan_slots,
};

static PyMethodDef of_cache[] = {
	{ "reserve", (PyCFunction)(void (*)(void))cache_reserve,
	    METH_VARARGS | METH_KEYWORDS,
	    "reserve($self, id, shape, dtype)\n--\n\n"
	    "Begin a put of a tensor before its elements exist. Returns a Reservation; decode,\n"
	    "read or copy the elements from a device into its memory, and they are not copied\n"
	    "again.\n\n"
	    "    with cache.reserve(\"frame-1\", (480, 640, 3), \"u8\") as place:\n"
	    "        file.readinto(place.tensor)\n\n"
	    "The end of the block puts the record; an exception cancels the put. Nothing is\n"
	    "stored before, and flush() does not wait for it. There may be many reservations at\n"
	    "once, in any thread." },
	{ 0 },
};

int
reserve_init(PyObject *module)
{
	reservation_type = (PyTypeObject *)PyType_FromSpec(&reservation_spec);
	loan_type = (PyTypeObject *)PyType_FromSpec(&loan_spec);
	if (reservation_type == NULL || loan_type == NULL ||
	    cache_add_methods(of_cache) < 0)
		return -1;
	return PyModule_AddObjectRef(module, "Reservation", (PyObject *)reservation_type);
}
