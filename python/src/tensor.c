/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tensors of Python: the type Tensor, and what arrays of NumPy, torch and others are to the
 * engine. NumPy and torch are imported when they are asked for, never before.
 */
#include "core.h"

#include <stdlib.h>

#include "dlpack.h"

struct tensor {
	PyObject_HEAD
	lc_tensor tensor;
	void *memory;     /* NULL if the data is borrowed */
	PyObject *holder; /* of borrowed data */
	bool read_only;
	Py_ssize_t shape[LC_MAX_NDIM], strides[LC_MAX_NDIM];
};

PyTypeObject *tensor_type;

/* A dtype as buffers and DLPack call it; NULL: buffers have no name for it. A long has 8
 * bytes, and is what NumPy takes for its int64. */
static const struct {
	const char *format;
	uint8_t code;
	const char *torch; /* its name in torch */
} dtypes[LC_DTYPE_COUNT] = {
	[LC_BOOL] = { "?", DL_BOOL, "bool" },
	[LC_U8] = { "B", DL_UINT, "uint8" },
	[LC_I8] = { "b", DL_INT, "int8" },
	[LC_U16] = { "H", DL_UINT, "uint16" },
	[LC_I16] = { "h", DL_INT, "int16" },
	[LC_U32] = { "I", DL_UINT, "uint32" },
	[LC_I32] = { "i", DL_INT, "int32" },
	[LC_U64] = { "L", DL_UINT, "uint64" },
	[LC_I64] = { "l", DL_INT, "int64" },
	[LC_F16] = { "e", DL_FLOAT, "float16" },
	[LC_BF16] = { NULL, DL_BFLOAT, "bfloat16" },
	[LC_F32] = { "f", DL_FLOAT, "float32" },
	[LC_F64] = { "d", DL_FLOAT, "float64" },
	[LC_C64] = { "Zf", DL_COMPLEX, "complex64" },
	[LC_C128] = { "Zd", DL_COMPLEX, "complex128" },
	[LC_F8_E4M3] = { NULL, DL_FLOAT8_E4M3FN, "float8_e4m3fn" },
	[LC_F8_E5M2] = { NULL, DL_FLOAT8_E5M2, "float8_e5m2" },
};

/* ---- NumPy and torch ---------------------------------------------------------- */

static struct {
	PyObject *asarray;      /* numpy.asarray */
	PyObject *from_dlpack;  /* torch.utils.dlpack.from_dlpack, or what it calls */
	PyObject *torch_tensor; /* the type */
	PyObject *dtypes;       /* dict: torch.dtype -> lc_dtype */
	PyObject *of[LC_DTYPE_COUNT]; /* torch.dtype of each */
} other;

static int
load_numpy(void)
{
	PyObject *numpy;

	if (other.asarray != NULL)
		return 0;
	numpy = PyImport_ImportModule("numpy");
	if (numpy == NULL)
		return -1;
	other.asarray = PyObject_GetAttrString(numpy, "asarray");
	Py_DECREF(numpy);
	return other.asarray != NULL ? 0 : -1;
}

static int
load_torch(void)
{
	PyObject *torch, *c = NULL, *map = NULL, *type;
	int result = -1;

	if (other.dtypes != NULL)
		return 0;
	torch = PyImport_ImportModule("torch");
	if (torch == NULL)
		return -1;
	map = PyDict_New();
	if (map == NULL)
		goto out;
	for (int i = 0; i < LC_DTYPE_COUNT; i++) {
		PyObject *number = PyLong_FromLong(i);
		int failed;

		Py_XDECREF(other.of[i]);
		other.of[i] = PyObject_GetAttrString(torch, dtypes[i].torch);
		failed = number == NULL || other.of[i] == NULL ||
		    PyDict_SetItem(map, other.of[i], number) < 0;
		Py_XDECREF(number);
		if (failed)
			goto out;
	}
	/* What torch.utils.dlpack.from_dlpack() calls, without its checks in Python. */
	c = PyObject_GetAttrString(torch, "_C");
	if (c == NULL)
		goto out;
	other.from_dlpack = PyObject_GetAttrString(c, "_from_dlpack");
	if (other.from_dlpack == NULL)
		goto out;
	type = PyObject_GetAttrString(torch, "Tensor");
	if (type == NULL)
		goto out;
	other.torch_tensor = type;
	other.dtypes = Py_NewRef(map);
	result = 0;
out:
	Py_XDECREF(map);
	Py_XDECREF(c);
	Py_DECREF(torch);
	return result;
}

/* Is it a tensor of torch? Without torch imported nothing is. */
static int
is_torch(PyObject *object)
{
	PyObject *modules, *torch;

	if (other.dtypes == NULL) {
		modules = PySys_GetObject("modules"); /* borrowed */
		torch = modules ? PyDict_GetItemString(modules, "torch") : NULL;
		if (torch == NULL || !PyObject_HasAttrString(torch, "Tensor"))
			return 0;
		if (load_torch() < 0)
			return -1;
	}
	if ((PyObject *)Py_TYPE(object) == other.torch_tensor)
		return 1;
	return PyObject_IsInstance(object, other.torch_tensor);
}

int
like_of(PyObject *name)
{
	const char *text;

	if (name == Py_None) {
		if (load_numpy() == 0)
			return LIKE_NUMPY;
		if (!PyErr_ExceptionMatches(PyExc_ImportError))
			return -1;
		PyErr_Clear();
		return LIKE_BUFFER;
	}
	text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	if (text != NULL && strcmp(text, "buffer") == 0)
		return LIKE_BUFFER;
	if (text != NULL && strcmp(text, "numpy") == 0)
		return load_numpy() < 0 ? -1 : LIKE_NUMPY;
	if (text != NULL && strcmp(text, "torch") == 0)
		return load_torch() < 0 ? -1 : LIKE_TORCH;
	PyErr_Format(PyExc_ValueError, "like: %R, not \"numpy\", \"torch\" or \"buffer\"",
	    name);
	return -1;
}

PyObject *
like_name(enum like like)
{
	static const char *const names[] = { "buffer", "numpy", "torch" };

	return PyUnicode_FromString(names[like]);
}

int
dtype_of(PyObject *object)
{
	PyObject *text = NULL, *name;
	const char *word;
	lc_dtype dtype;

	if (PyUnicode_Check(object)) {
		text = Py_NewRef(object);
	} else {
		/* numpy.dtype has a name, torch.dtype is "torch.float32". */
		name = PyObject_GetAttrString(object, "name");
		if (name != NULL && PyUnicode_Check(name)) {
			text = name;
		} else {
			Py_XDECREF(name);
			PyErr_Clear();
			text = PyObject_Str(object);
		}
	}
	if (text == NULL)
		return -1;
	word = PyUnicode_AsUTF8AndSize(text, NULL);
	if (word != NULL && strncmp(word, "torch.", 6) == 0)
		word += 6;
	if (word == NULL || lc_dtype_parse(word, &dtype) != LC_OK) {
		PyErr_Format(PyExc_TypeError, "dtype: %R is not one of the engine's",
		    object);
		Py_DECREF(text);
		return -1;
	}
	Py_DECREF(text);
	return (int)dtype;
}

/* ---- making tensors ------------------------------------------------------------ */

void *
tensor_memory(size_t size)
{
	const size_t room = size == 0 ? 64 : (size + 63) & ~(size_t)63;

	return room < size ? NULL : aligned_alloc(64, room);
}

static struct tensor *
new_tensor(const lc_tensor *tensor)
{
	struct tensor *self = PyObject_GC_New(struct tensor, tensor_type);
	Py_ssize_t stride = (Py_ssize_t)lc_dtype_size(tensor->dtype);

	if (self == NULL)
		return NULL;
	self->tensor = *tensor;
	self->memory = NULL;
	self->holder = NULL;
	self->read_only = true;
	for (uint32_t i = tensor->ndim; i-- > 0;) {
		self->shape[i] = (Py_ssize_t)tensor->shape[i];
		self->strides[i] = stride;
		stride *= self->shape[i];
	}
	return self;
}

/* Keep what the data is borrowed from. Only if that can be a part of a cycle is the tensor
 * one for the collector. */
static void
hold(struct tensor *self, PyObject *holder)
{
	self->holder = Py_NewRef(holder);
	if (PyObject_GC_IsTracked(holder))
		PyObject_GC_Track(self);
}

/* A capsule of a tensor, which frees its memory, or lets go of its holder. */
struct managed {
	union {
		DLManagedTensor plain;
		DLManagedTensorVersioned versioned;
	} as;
	void *memory;
	PyObject *holder;
	int64_t shape[LC_MAX_NDIM], strides[LC_MAX_NDIM];
};

static void
free_managed(struct managed *managed)
{
	free(managed->memory);
	if (managed->holder != NULL) {
		/* Consumers may let go in any thread, or as the interpreter ends. */
		if (Py_IsInitialized()) {
			PyGILState_STATE state = PyGILState_Ensure();

			Py_DECREF(managed->holder);
			PyGILState_Release(state);
		}
	}
	free(managed);
}

static void
delete_plain(DLManagedTensor *self)
{
	free_managed(self->manager_ctx);
}

static void
delete_versioned(DLManagedTensorVersioned *self)
{
	free_managed(self->manager_ctx);
}

/* A capsule that nobody took. */
static void
drop_plain(PyObject *capsule)
{
	DLManagedTensor *plain = PyCapsule_IsValid(capsule, "dltensor")
	    ? PyCapsule_GetPointer(capsule, "dltensor")
	    : NULL;

	if (plain != NULL)
		plain->deleter(plain);
}

static void
drop_versioned(PyObject *capsule)
{
	DLManagedTensorVersioned *versioned = PyCapsule_IsValid(capsule,
						  "dltensor_versioned")
	    ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
	    : NULL;

	if (versioned != NULL)
		versioned->deleter(versioned);
}

/* The capsule of a tensor whose memory or holder it takes over, also when it fails. */
static PyObject *
capsule_of(const lc_tensor *tensor, void *memory, PyObject *holder, bool versioned,
    uint64_t flags)
{
	struct managed *managed = malloc(sizeof(*managed));
	PyObject *capsule;
	DLTensor *out;
	int64_t stride = 1;

	if (managed == NULL) {
		free(memory);
		Py_XDECREF(holder);
		return PyErr_NoMemory();
	}
	managed->memory = memory;
	managed->holder = holder;
	if (versioned) {
		managed->as.versioned = (DLManagedTensorVersioned){
			.version = { 1, 0 },
			.manager_ctx = managed,
			.deleter = delete_versioned,
			.flags = flags,
		};
		out = &managed->as.versioned.dl_tensor;
	} else {
		managed->as.plain = (DLManagedTensor){
			.manager_ctx = managed,
			.deleter = delete_plain,
		};
		out = &managed->as.plain.dl_tensor;
	}
	*out = (DLTensor){
		.data = memory != NULL ? memory : (void *)(uintptr_t)tensor->data,
		.device = { DL_CPU, 0 },
		.ndim = (int32_t)tensor->ndim,
		.dtype = { dtypes[tensor->dtype].code,
		    (uint8_t)(8 * lc_dtype_size(tensor->dtype)), 1 },
		.shape = managed->shape,
		.strides = managed->strides,
	};
	for (uint32_t i = tensor->ndim; i-- > 0;) {
		managed->shape[i] = (int64_t)tensor->shape[i];
		managed->strides[i] = stride;
		stride *= managed->shape[i];
	}
	if (versioned)
		capsule = PyCapsule_New(&managed->as, "dltensor_versioned",
		    drop_versioned);
	else
		capsule = PyCapsule_New(&managed->as, "dltensor", drop_plain);
	if (capsule == NULL)
		free_managed(managed);
	return capsule;
}

/* A tensor of torch. What this torch does not take by DLPack goes through bytes. */
static PyObject *
torch_of(const lc_tensor *tensor, void *memory, PyObject *holder)
{
	const bool odd = tensor->dtype == LC_F8_E4M3 || tensor->dtype == LC_F8_E5M2;
	PyObject *capsule, *bytes, *result;
	lc_tensor plain = *tensor;

	if (odd)
		plain.dtype = LC_U8;
	capsule = capsule_of(&plain, memory, holder, false, 0);
	if (capsule == NULL)
		return NULL;
	bytes = PyObject_CallFunctionObjArgs(other.from_dlpack, capsule, NULL);
	Py_DECREF(capsule);
	if (bytes == NULL || !odd)
		return bytes;
	result = PyObject_CallMethod(bytes, "view", "O", other.of[tensor->dtype]);
	Py_DECREF(bytes);
	return result;
}

static PyObject *
finish(struct tensor *self, enum like like)
{
	PyObject *array;

	if (self == NULL || like != LIKE_NUMPY ||
	    dtypes[self->tensor.dtype].format == NULL)
		return (PyObject *)self;
	array = PyObject_CallFunctionObjArgs(other.asarray, (PyObject *)self, NULL);
	Py_DECREF(self);
	return array;
}

PyObject *
tensor_own(const lc_tensor *tensor, void *memory, enum like like)
{
	struct tensor *self;

	if (like == LIKE_TORCH)
		return torch_of(tensor, memory, NULL);
	self = new_tensor(tensor);
	if (self == NULL) {
		free(memory);
		return NULL;
	}
	self->memory = memory;
	self->read_only = false;
	self->tensor.data = memory;
	return finish(self, like);
}

PyObject *
tensor_view(const lc_tensor *tensor, PyObject *holder, enum like like)
{
	struct tensor *self;

	if (like == LIKE_TORCH)
		return torch_of(tensor, NULL, Py_NewRef(holder));
	self = new_tensor(tensor);
	if (self != NULL)
		hold(self, holder);
	return finish(self, like);
}

PyObject *
tensor_lent(const lc_tensor *tensor, PyObject *holder, enum like like)
{
	struct tensor *self;

	if (like == LIKE_TORCH)
		return torch_of(tensor, NULL, Py_NewRef(holder));
	self = new_tensor(tensor);
	if (self != NULL) {
		self->read_only = false;
		hold(self, holder);
	}
	return finish(self, like);
}

/* ---- the type ------------------------------------------------------------------- */

static int
tensor_traverse(struct tensor *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE((PyObject *)self));
	Py_VISIT(self->holder);
	return 0;
}

static void
tensor_dealloc(struct tensor *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	PyObject_GC_UnTrack(self);
	free(self->memory);
	Py_XDECREF(self->holder);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static int
tensor_getbuffer(struct tensor *self, Py_buffer *view, int flags)
{
	const char *format = dtypes[self->tensor.dtype].format;
	static char empty[64];

	view->obj = NULL;
	if ((flags & PyBUF_WRITABLE) && self->read_only) {
		PyErr_SetString(PyExc_BufferError, "a view of a record is read-only");
		return -1;
	}
	if ((flags & PyBUF_FORMAT) && format == NULL) {
		PyErr_Format(PyExc_BufferError,
		    "buffers have no format for %s: use torch(), or bits()",
		    lc_dtype_name(self->tensor.dtype));
		return -1;
	}
	view->buf = self->tensor.data != NULL ? (void *)(uintptr_t)self->tensor.data
					      : empty;
	view->len = (Py_ssize_t)self->tensor.nbytes;
	view->readonly = self->read_only;
	view->itemsize = (Py_ssize_t)lc_dtype_size(self->tensor.dtype);
	view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)format : NULL;
	view->ndim = (int)self->tensor.ndim;
	view->shape = (flags & PyBUF_ND) ? self->shape : NULL;
	view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
	view->suboffsets = NULL;
	view->internal = NULL;
	view->obj = Py_NewRef((PyObject *)self);
	return 0;
}

static PyObject *
shape_of(const lc_tensor *tensor)
{
	PyObject *shape = PyTuple_New((Py_ssize_t)tensor->ndim);

	for (uint32_t i = 0; shape != NULL && i < tensor->ndim; i++) {
		PyObject *size = PyLong_FromUnsignedLongLong(tensor->shape[i]);

		if (size == NULL || PyTuple_SetItem(shape, (Py_ssize_t)i, size) < 0)
			Py_CLEAR(shape);
	}
	return shape;
}

static PyObject *
tensor_repr(struct tensor *self)
{
	PyObject *shape = shape_of(&self->tensor), *text;

	if (shape == NULL)
		return NULL;
	text = PyUnicode_FromFormat("<lmdbcache.Tensor %s %R%s>",
	    lc_dtype_name(self->tensor.dtype), shape,
	    self->read_only ? ", read-only" : "");
	Py_DECREF(shape);
	return text;
}

static PyObject *
tensor_numpy(struct tensor *self, PyObject *Py_UNUSED(none))
{
	if (load_numpy() < 0)
		return NULL;
	return PyObject_CallFunctionObjArgs(other.asarray, (PyObject *)self, NULL);
}

static PyObject *
tensor_torch(struct tensor *self, PyObject *Py_UNUSED(none))
{
	if (load_torch() < 0)
		return NULL;
	return torch_of(&self->tensor, NULL, Py_NewRef((PyObject *)self));
}

static PyObject *
tensor_bits(struct tensor *self, PyObject *Py_UNUSED(none))
{
	static const lc_dtype
	    of_size[] = { [1] = LC_U8, [2] = LC_U16, [4] = LC_U32, [8] = LC_U64 };
	lc_tensor bits = self->tensor;
	struct tensor *out;

	if (lc_dtype_size(bits.dtype) > 8) {
		PyErr_SetString(PyExc_TypeError, "bits: elements of 16 bytes");
		return NULL;
	}
	bits.dtype = of_size[lc_dtype_size(bits.dtype)];
	out = new_tensor(&bits);
	if (out != NULL)
		hold(out, (PyObject *)self);
	return (PyObject *)out;
}

/* Is (type, number) the CPU? */
static bool
is_cpu_device(PyObject *device)
{
	PyObject *type = PySequence_GetItem(device, 0);
	const long code = type != NULL ? PyLong_AsLong(type) : -1;

	Py_XDECREF(type);
	return code == DL_CPU;
}

static PyObject *
tensor_dlpack(struct tensor *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
	PyObject *stream = Py_None, *version = Py_None, *device = Py_None,
		 *copy = Py_None;
	const bool read_only = self->read_only;
	long major = 0;
	int copied;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version,
		&device, &copy))
		return NULL;
	if (version != Py_None) {
		PyObject *first = PySequence_GetItem(version, 0);

		major = first != NULL ? PyLong_AsLong(first) : -1;
		Py_XDECREF(first);
		if (major == -1 && PyErr_Occurred())
			return NULL;
	}
	if (device != Py_None && !is_cpu_device(device)) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_BufferError,
			    "the data is in the CPU's memory");
		return NULL;
	}
	copied = copy != Py_None ? PyObject_IsTrue(copy) : 0;
	if (copied < 0)
		return NULL;
	if (copied) {
		void *memory = tensor_memory(self->tensor.nbytes);

		if (memory == NULL)
			return PyErr_NoMemory();
		memcpy(memory, self->tensor.data, self->tensor.nbytes);
		return capsule_of(&self->tensor, memory, NULL, major >= 1,
		    DL_FLAG_IS_COPIED);
	}
	if (read_only && major < 1) {
		PyErr_SetString(PyExc_BufferError,
		    "a view of a record is read-only, which this consumer does not know");
		return NULL;
	}
	return capsule_of(&self->tensor, NULL, Py_NewRef((PyObject *)self), major >= 1,
	    read_only ? DL_FLAG_READ_ONLY : 0);
}

static PyObject *
tensor_device(struct tensor *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
	return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyObject *
get_dtype(struct tensor *self, void *Py_UNUSED(none))
{
	return PyUnicode_FromString(lc_dtype_name(self->tensor.dtype));
}

static PyObject *
get_shape(struct tensor *self, void *Py_UNUSED(none))
{
	return shape_of(&self->tensor);
}

static PyObject *
get_nbytes(struct tensor *self, void *Py_UNUSED(none))
{
	return PyLong_FromSize_t(self->tensor.nbytes);
}

static PyObject *
get_readonly(struct tensor *self, void *Py_UNUSED(none))
{
	return PyBool_FromLong(self->read_only);
}

static PyMethodDef tensor_methods[] = {
	{ "numpy", (PyCFunction)tensor_numpy, METH_NOARGS,
	    "numpy($self, /)\n--\n\nAn array of NumPy over the same memory." },
	{ "torch", (PyCFunction)tensor_torch, METH_NOARGS,
	    "torch($self, /)\n--\n\nA tensor of torch over the same memory. torch knows no read-only\n"
	    "tensors: to write into one of a view ends the process." },
	{ "bits", (PyCFunction)tensor_bits, METH_NOARGS,
	    "bits($self, /)\n--\n\nThe elements as unsigned integers of their size, read-only, over "
	    "the\nsame memory." },
	{ "__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack,
	    METH_VARARGS | METH_KEYWORDS,
	    "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
	    "See the array API standard." },
	{ "__dlpack_device__", (PyCFunction)tensor_device, METH_NOARGS,
	    "__dlpack_device__($self, /)\n--\n\nThe CPU." },
	{ 0 },
};

static PyGetSetDef tensor_getset[] = {
	{ "dtype", (getter)get_dtype, NULL,
	    "Name of the element type: \"f32\", \"bf16\" ...", NULL },
	{ "shape", (getter)get_shape, NULL, "Tuple of sizes.", NULL },
	{ "nbytes", (getter)get_nbytes, NULL, "Bytes of all elements.", NULL },
	{ "readonly", (getter)get_readonly, NULL, "Is it a view of a record?", NULL },
	{ 0 },
};

static PyType_Slot tensor_slots[] = {
	{ Py_tp_dealloc, tensor_dealloc },
	{ Py_tp_traverse, tensor_traverse },
	{ Py_tp_repr, tensor_repr },
	{ Py_tp_methods, tensor_methods },
	{ Py_tp_getset, tensor_getset },
	{ Py_bf_getbuffer, tensor_getbuffer },
	{ Py_tp_doc,
	    "A tensor of the engine: a dtype, a shape, and memory of its own or of a view.\n\n"
	    "It is a buffer (memoryview(), numpy.asarray()) and speaks DLPack." },
	{ 0, NULL },
};

static PyType_Spec tensor_spec = {
	.name = "lmdbcache.Tensor",
	.basicsize = sizeof(struct tensor),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
	    Py_TPFLAGS_HAVE_GC,
	.slots = tensor_slots,
};

int
tensor_init(PyObject *module)
{
	tensor_type = (PyTypeObject *)PyType_FromSpec(&tensor_spec);
	return tensor_type == NULL
	    ? -1
	    : PyModule_AddObjectRef(module, "Tensor", (PyObject *)tensor_type);
}

/* ---- tensors of others ------------------------------------------------------------ */

void
borrowed_release(struct borrowed *borrowed)
{
	for (size_t i = 0; i < borrowed->n_buffers; i++)
		PyBuffer_Release(&borrowed->buffers[i]);
	PyMem_Free(borrowed->buffers);
	Py_CLEAR(borrowed->kept);
	borrowed->buffers = NULL;
	borrowed->n_buffers = borrowed->buffers_room = 0;
}

/* Keep an object; takes over the reference, also when it fails. */
static int
keep(struct borrowed *borrowed, PyObject *object)
{
	int failed;

	if (object == NULL)
		return -1;
	if (borrowed->kept == NULL)
		borrowed->kept = PyList_New(0);
	failed = borrowed->kept == NULL || PyList_Append(borrowed->kept, object) < 0;
	Py_DECREF(object);
	return failed ? -1 : 0;
}

static Py_buffer *
new_buffer(struct borrowed *borrowed)
{
	if (borrowed->n_buffers == borrowed->buffers_room) {
		const size_t room = borrowed->buffers_room == 0
		    ? 4
		    : 2 * borrowed->buffers_room;
		Py_buffer *grown = PyMem_Realloc(borrowed->buffers,
		    room * sizeof(*grown));

		if (grown == NULL) {
			PyErr_NoMemory();
			return NULL;
		}
		borrowed->buffers = grown;
		borrowed->buffers_room = room;
	}
	return &borrowed->buffers[borrowed->n_buffers];
}

/* The dtype of a format of struct and its element size; -1 if there is none. */
static int
dtype_of_format(const char *format, Py_ssize_t size)
{
	if (format == NULL)
		return size == 1 ? LC_U8 : -1;
	if (*format == '@' || *format == '=' || *format == '<')
		format++;
	else if ((*format == '>' || *format == '!') && size > 1)
		return -1;
	switch (*format == 'Z'                           ? 'Z'
		: format[0] != '\0' && format[1] == '\0' ? *format
							 : 0) {
	case '?': return LC_BOOL;
	case 'e': return LC_F16;
	case 'f': return LC_F32;
	case 'd': return LC_F64;
	case 'Z': return size == 8 ? LC_C64 : size == 16 ? LC_C128 : -1;
	case 'b':
	case 'h':
	case 'i':
	case 'l':
	case 'q':
		return size == 1 ? LC_I8
		    : size == 2  ? LC_I16
		    : size == 4  ? LC_I32
		    : size == 8  ? LC_I64
				 : -1;
	case 'B':
	case 'H':
	case 'I':
	case 'L':
	case 'Q':
		return size == 1 ? LC_U8
		    : size == 2  ? LC_U16
		    : size == 4  ? LC_U32
		    : size == 8  ? LC_U64
				 : -1;
	default: return -1;
	}
}

static int
raise_size(void)
{
	raise_status(LC_INVALID, NULL);
	return -1;
}

/* Fill @p out from a buffer that is held. Returns 0 if its elements are no dtype. */
static int
tensor_of_buffer(const Py_buffer *view, lc_tensor *out)
{
	const int dtype = dtype_of_format(view->format, view->itemsize);
	uint64_t shape[LC_MAX_NDIM];

	if (dtype == -1)
		return 0;
	if (view->ndim > LC_MAX_NDIM) {
		PyErr_Format(PyExc_ValueError, "a tensor has %d dimensions at most",
		    LC_MAX_NDIM);
		return -1;
	}
	for (int i = 0; i < view->ndim; i++)
		shape[i] = (uint64_t)view->shape[i];
	if (lc_tensor_init(out, (lc_dtype)dtype, (uint32_t)view->ndim, shape,
		view->buf) != LC_OK)
		return raise_size();
	return 1;
}

/* An array, or anything else with a typed buffer. */
static int
borrow_buffer(PyObject *object, struct borrowed *borrowed, lc_tensor *out)
{
	Py_buffer *view = new_buffer(borrowed);
	int answer;

	if (view == NULL)
		return -1;
	if (PyObject_GetBuffer(object, view, PyBUF_FULL_RO) < 0) {
		PyErr_Clear();
		return 0;
	}
	borrowed->n_buffers++;
	answer = tensor_of_buffer(view, out);
	if (answer != 1 || PyBuffer_IsContiguous(view, 'C'))
		return answer;
	/* A copy in C order. */
	{
		PyObject *bytes = PyBytes_FromStringAndSize(NULL, view->len);
		char *to;
		Py_ssize_t size;

		if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &to, &size) < 0 ||
		    PyBuffer_ToContiguous(to, view, view->len, 'C') < 0) {
			Py_XDECREF(bytes);
			return -1;
		}
		out->data = to;
		return keep(borrowed, bytes) < 0 ? -1 : 1;
	}
}

/* A truth that a method without arguments returns. */
static int
ask(PyObject *object, const char *method)
{
	PyObject *answer = PyObject_CallMethod(object, method, NULL);
	int truth = answer != NULL ? PyObject_IsTrue(answer) : -1;

	Py_XDECREF(answer);
	return truth;
}

/* Replace *object, a new reference, by what a method of it without arguments returns. */
static int
become(PyObject **object, const char *method)
{
	PyObject *next = PyObject_CallMethod(*object, method, NULL);

	Py_DECREF(*object);
	*object = next;
	return next == NULL ? -1 : 0;
}

/* The data of a torch tensor as it is in memory, which @p object keeps: its address, shape
 * and dtype. */
static int
read_torch(PyObject *object, lc_tensor *out)
{
	PyObject *dtype = PyObject_GetAttrString(object, "dtype"), *number = NULL;
	PyObject *shape = NULL, *address = NULL;
	uint64_t sizes[LC_MAX_NDIM];
	Py_ssize_t ndim;
	void *data;
	int result = -1;

	number = dtype ? PyDict_GetItemWithError(other.dtypes, dtype)
		       : NULL; /* borrowed */
	if (number == NULL) {
		if (dtype != NULL && !PyErr_Occurred())
			PyErr_Format(PyExc_TypeError, "a tensor of %S cannot be stored",
			    dtype);
		goto out;
	}
	shape = PyObject_GetAttrString(object, "shape");
	ndim = shape != NULL ? PyTuple_Size(shape) : -1;
	if (ndim < 0)
		goto out;
	if (ndim > LC_MAX_NDIM) {
		PyErr_Format(PyExc_ValueError, "a tensor has %d dimensions at most",
		    LC_MAX_NDIM);
		goto out;
	}
	for (Py_ssize_t i = 0; i < ndim; i++)
		sizes[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, i));
	address = PyObject_CallMethod(object, "data_ptr", NULL);
	data = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
	if (PyErr_Occurred())
		goto out;
	if (lc_tensor_init(out, (lc_dtype)PyLong_AsLong(number), (uint32_t)ndim, sizes,
		data) != LC_OK)
		raise_size();
	else
		result = 1;
out:
	Py_XDECREF(dtype);
	Py_XDECREF(shape);
	Py_XDECREF(address);
	return result;
}

static int
borrow_torch(PyObject *object, struct borrowed *borrowed, lc_tensor *out)
{
	PyObject *dense = Py_NewRef(object), *cpu;
	int answer;

	/* On another device, or with the sign or the conjugate left to be done. */
	cpu = PyObject_GetAttrString(dense, "is_cpu");
	answer = cpu != NULL ? PyObject_IsTrue(cpu) : -1;
	Py_XDECREF(cpu);
	if (answer == 0)
		answer = become(&dense, "cpu");
	if (answer >= 0 && (answer = ask(dense, "is_conj")) > 0)
		answer = become(&dense, "resolve_conj");
	if (answer >= 0 && (answer = ask(dense, "is_neg")) > 0)
		answer = become(&dense, "resolve_neg");
	if (answer >= 0 && (answer = ask(dense, "is_contiguous")) == 0)
		answer = become(&dense, "contiguous");
	if (answer >= 0)
		answer = read_torch(dense, out);
	if (answer < 0) {
		Py_XDECREF(dense);
		return -1;
	}
	return keep(borrowed, dense) < 0 ? -1 : 1;
}

int
tensor_borrow(PyObject *object, struct borrowed *borrowed, lc_tensor *out)
{
	int answer;

	if (Py_TYPE(object) == tensor_type) {
		*out = ((struct tensor *)object)->tensor;
		return keep(borrowed, Py_NewRef(object)) < 0 ? -1 : 1;
	}
	if (PyBytes_Check(object) || PyByteArray_Check(object) ||
	    PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
	    object == Py_None || PyDict_Check(object) || PyList_Check(object) ||
	    PyTuple_Check(object))
		return 0;
	answer = is_torch(object);
	if (answer != 0)
		return answer < 0 ? -1 : borrow_torch(object, borrowed, out);
	if (PyObject_CheckBuffer(object)) {
		answer = borrow_buffer(object, borrowed, out);
		if (answer != 0)
			return answer;
	}
	/* Arrays whose dtype buffers have no name for: their bits, under its name. */
	if (PyObject_HasAttrString(object, "dtype") &&
	    PyObject_HasAttrString(object, "view")) {
		PyObject *name = PyObject_GetAttrString(object, "dtype"), *bits;
		const int dtype = name != NULL ? dtype_of(name) : -1;

		Py_XDECREF(name);
		if (dtype == -1)
			return -1;
		/* A dtype that buffers do name is here for its byte order. */
		if (dtypes[dtype].format != NULL)
			bits = PyObject_CallMethod(object, "astype", "s",
			    dtypes[dtype].torch);
		else
			bits = PyObject_CallMethod(object, "view", "s",
			    lc_dtype_size((lc_dtype)dtype) == 1 ? "uint8" : "uint16");
		if (bits == NULL)
			return -1;
		answer = borrow_buffer(bits, borrowed, out);
		Py_DECREF(bits);
		if (answer == 1 &&
		    lc_dtype_size(out->dtype) == lc_dtype_size((lc_dtype)dtype))
			out->dtype = (lc_dtype)dtype;
		return answer;
	}
	return 0;
}

int
tensor_borrow_writable(PyObject *object, struct borrowed *borrowed, lc_tensor *out)
{
	Py_buffer *view;
	int answer = is_torch(object);

	if (answer < 0)
		return -1;
	if (answer > 0) {
		PyObject *cpu = PyObject_GetAttrString(object, "is_cpu");

		answer = cpu != NULL ? PyObject_IsTrue(cpu) : -1;
		Py_XDECREF(cpu);
		if (answer > 0)
			answer = ask(object, "is_contiguous");
		if (answer < 0)
			return -1;
		if (answer == 0) {
			PyErr_SetString(PyExc_ValueError,
			    "out: not in C order, or not in the CPU's memory");
			return -1;
		}
		if (read_torch(object, out) < 0)
			return -1;
		return keep(borrowed, Py_NewRef(object)) < 0 ? -1 : 1;
	}
	view = new_buffer(borrowed);
	if (view == NULL ||
	    PyObject_GetBuffer(object, view,
		PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	borrowed->n_buffers++;
	answer = tensor_of_buffer(view, out);
	if (answer == 0)
		PyErr_SetString(PyExc_TypeError, "out: its elements have no dtype here");
	return answer == 1 ? 1 : -1;
}
