/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tensors of Python: the type Tensor, and what arrays of NumPy, torch and others are to the
 * engine. NumPy and torch are imported when they are asked for, never before.
 */
#include "core.h"

#include <stdio.h>
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
	[LC_F8_E8M0] = { NULL, DL_FLOAT8_E8M0FNU, "float8_e8m0fnu" },
	[LC_F8_E4M3FNUZ] = { NULL, DL_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz" },
	[LC_F8_E5M2FNUZ] = { NULL, DL_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz" },
	[LC_F4_E2M1_X2] = { NULL, DL_FLOAT4_E2M1FN, "float4_e2m1fn_x2" },
	[LC_C32] = { NULL, DL_COMPLEX, "complex32" },
};

/* One of lc_dtype_opaque(), which is in no table. */
static bool
is_opaque(lc_dtype dtype)
{
	return dtype >= LC_OPAQUE;
}

static const char *
format_of(lc_dtype dtype)
{
	return is_opaque(dtype) ? NULL : dtypes[dtype].format;
}

/* ---- NumPy and torch ---------------------------------------------------------- */

/* What each tensor of torch is asked, as texts of Python that are made once. */
enum question {
	IS_CPU,
	IS_CONJ,
	IS_NEG,
	IS_CONTIGUOUS,
	DTYPE,
	SHAPE,
	DATA_PTR,
	QUESTIONS
};

static struct {
	PyObject *asarray;      /* numpy.asarray */
	PyObject *void_name;    /* lmdbcache._numpy.void_name */
	PyObject *void_dtype;   /* lmdbcache._numpy.void_dtype */
	PyObject *from_dlpack;  /* torch.utils.dlpack.from_dlpack, or what it calls */
	PyObject *torch_tensor; /* the type */
	PyObject *torch;        /* its module's dict */
	PyObject *torch_dtype;  /* the type of dtypes */
	PyObject *dtypes;       /* dict: torch.dtype -> lc_dtype */
	PyObject *of[LC_DTYPE_COUNT]; /* torch.dtype of each, NULL if it has none */
	PyObject *question[QUESTIONS];
} other;

static void
replace(PyObject **place, PyObject *object)
{
	Py_XDECREF(*place);
	*place = object;
}

static int
load_numpy(void)
{
	PyObject *numpy, *own;

	if (other.asarray != NULL)
		return 0;
	numpy = PyImport_ImportModule("numpy");
	if (numpy == NULL)
		return -1;
	own = PyImport_ImportModule("lmdbcache._numpy");
	replace(&other.void_name,
	    own != NULL ? PyObject_GetAttrString(own, "void_name") : NULL);
	replace(&other.void_dtype,
	    own != NULL ? PyObject_GetAttrString(own, "void_dtype") : NULL);
	Py_XDECREF(own);
	/* Last: it says that all of them are there. */
	if (other.void_name != NULL && other.void_dtype != NULL)
		other.asarray = PyObject_GetAttrString(numpy, "asarray");
	Py_DECREF(numpy);
	return other.asarray != NULL ? 0 : -1;
}

static int
make_questions(void)
{
	static const char *const texts[QUESTIONS] = { "is_cpu", "is_conj", "is_neg",
		"is_contiguous", "dtype", "shape", "data_ptr" };

	for (int i = 0; i < QUESTIONS; i++) {
		if (other.question[i] == NULL)
			other.question[i] = PyUnicode_InternFromString(texts[i]);
		if (other.question[i] == NULL)
			return -1;
	}
	return 0;
}

static int
load_torch(void)
{
	PyObject *torch, *c = NULL, *map = NULL, *type, *names;
	int result = -1;

	if (other.dtypes != NULL)
		return 0;
	if (make_questions() < 0)
		return -1;
	torch = PyImport_ImportModule("torch");
	if (torch == NULL)
		return -1;
	map = PyDict_New();
	if (map == NULL)
		goto out;
	names = PyModule_GetDict(torch); /* borrowed */
	for (int i = 0; i < LC_DTYPE_COUNT; i++) {
		PyObject *dtype = PyDict_GetItemString(names, dtypes[i].torch);
		PyObject *number;
		int failed;

		if (dtype == NULL)
			continue;
		replace(&other.of[i], Py_NewRef(dtype));
		number = PyLong_FromLong(i);
		failed = number == NULL || PyDict_SetItem(map, dtype, number) < 0;
		Py_XDECREF(number);
		if (failed)
			goto out;
	}
	replace(&other.torch, Py_NewRef(names));
	type = PyObject_GetAttrString(torch, "dtype");
	if (type == NULL)
		goto out;
	replace(&other.torch_dtype, type);
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

/* The dtype of a numpy.dtype of bytes or fields, whose name the engine does not know; -1
 * with TypeError for all others. */
static int
dtype_of_void(PyObject *object)
{
	PyObject *name = NULL;
	const char *text;
	lc_dtype dtype;
	int result = -1;

	if (load_numpy() == 0)
		name = PyObject_CallFunctionObjArgs(other.void_name, object, NULL);
	else if (PyErr_ExceptionMatches(PyExc_ImportError))
		PyErr_Clear();
	else
		return -1;
	text = name != NULL && name != Py_None ? PyUnicode_AsUTF8AndSize(name, NULL)
					       : NULL;
	if (text != NULL && lc_dtype_parse(text, &dtype) == LC_OK)
		result = (int)dtype;
	else if (text != NULL)
		PyErr_Format(PyExc_TypeError, "dtype %R: %s", object,
		    lc_last_error()->text);
	else if (!PyErr_Occurred())
		PyErr_Format(PyExc_TypeError, "dtype: %R is not a dtype of the library",
		    object);
	Py_XDECREF(name);
	return result;
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
	if (word != NULL && lc_dtype_parse(word, &dtype) == LC_OK) {
		Py_DECREF(text);
		return (int)dtype;
	}
	Py_DECREF(text);
	if (word != NULL && PyUnicode_Check(object))
		PyErr_Format(PyExc_TypeError, "%s", lc_last_error()->text);
	else if (word != NULL)
		return dtype_of_void(object);
	return -1;
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

/* A capsule of a tensor, which frees its memory, or releases its holder. */
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
		/* Consumers may release it in any thread, or while the interpreter ends. */
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

/* A capsule that was never consumed. */
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

/* The capsule of a tensor, not of an opaque dtype, whose memory or holder it takes over, also when it fails. */
static PyObject *
capsule_of(const lc_tensor *tensor, void *memory, PyObject *holder, bool versioned,
    uint64_t flags)
{
	const uint16_t lanes = tensor->dtype == LC_F4_E2M1_X2 ? 2 : 1;
	const size_t size = lc_dtype_size(tensor->dtype);
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
		.dtype = { dtypes[tensor->dtype].code, (uint8_t)(8 * size / lanes),
		    lanes },
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

/* The dtype in torch, borrowed; NULL with TypeError if this torch has none. An opaque one is
 * a dtype of torch that the engine has no name for, if its own name says so. */
static PyObject *
torch_dtype_of(lc_dtype dtype)
{
	static const char torch[] = "torch.";
	const char *name = lc_dtype_name(dtype), *own = strchr(name, ':');
	PyObject *found = NULL, *size;
	long long bytes = 0;

	if (!is_opaque(dtype)) {
		found = other.of[dtype];
	} else if (own != NULL && strncmp(own + 1, torch, sizeof(torch) - 1) == 0) {
		found = PyDict_GetItemString(other.torch, own + sizeof(torch));
		if (found != NULL && (PyObject *)Py_TYPE(found) != other.torch_dtype)
			found = NULL;
		size = found != NULL ? PyObject_GetAttrString(found, "itemsize") : NULL;
		bytes = size != NULL ? PyLong_AsLongLong(size) : 0;
		Py_XDECREF(size);
		if (bytes != (long long)lc_dtype_size(dtype))
			found = NULL;
	}
	if (found == NULL && !PyErr_Occurred())
		PyErr_Format(PyExc_TypeError,
		    "torch has no dtype for %s: read it as \"numpy\" or \"buffer\"",
		    name);
	return found;
}

/* Does DLPack of every torch know it? */
static bool
is_common(lc_dtype dtype)
{
	return dtype < LC_F8_E4M3;
}

/* Integers of a size that every torch knows, in which elements are given to it. */
static lc_dtype
carrier_of(lc_dtype dtype)
{
	switch (lc_dtype_size(dtype)) {
	case 1: return LC_U8;
	case 2: return LC_I16;
	case 4: return LC_I32;
	default: return LC_I64;
	}
}

/* A tensor of torch. What not every torch takes by DLPack goes through integers. */
static PyObject *
torch_of(const lc_tensor *tensor, void *memory, PyObject *holder)
{
	PyObject *const dtype = torch_dtype_of(tensor->dtype);
	PyObject *capsule, *bits, *result;
	lc_tensor plain = *tensor;

	if (dtype == NULL) {
		free(memory);
		Py_XDECREF(holder);
		return NULL;
	}
	if (!is_common(tensor->dtype))
		plain.dtype = carrier_of(tensor->dtype);
	capsule = capsule_of(&plain, memory, holder, false, 0);
	if (capsule == NULL)
		return NULL;
	bits = PyObject_CallFunctionObjArgs(other.from_dlpack, capsule, NULL);
	Py_DECREF(capsule);
	if (bits == NULL || is_common(tensor->dtype))
		return bits;
	result = PyObject_CallMethod(bits, "view", "O", dtype);
	Py_DECREF(bits);
	return result;
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

/* An array over the same memory. Buffers have no format for elements of many bytes that
 * NumPy reads correctly: those come as bytes, with the dtype set afterwards. */
static PyObject *
numpy_of(struct tensor *self)
{
	const lc_tensor *tensor = &self->tensor;
	const uint64_t nbytes = tensor->nbytes;
	PyObject *shape, *bytes, *dtype = NULL, *flat = NULL, *array = NULL;
	struct tensor *lent;
	lc_tensor plain;

	if (!is_opaque(tensor->dtype))
		return PyObject_CallFunctionObjArgs(other.asarray, (PyObject *)self,
		    NULL);
	if (lc_tensor_init(&plain, LC_U8, 1, &nbytes, tensor->data) != LC_OK)
		return raise_status(LC_INVALID, NULL);
	lent = new_tensor(&plain);
	if (lent == NULL)
		return NULL;
	hold(lent, (PyObject *)self);
	lent->read_only = self->read_only;
	bytes = PyObject_CallFunctionObjArgs(other.asarray, (PyObject *)lent, NULL);
	Py_DECREF(lent);
	if (bytes != NULL)
		dtype = PyObject_CallFunction(other.void_dtype, "s",
		    lc_dtype_name(tensor->dtype));
	if (dtype != NULL)
		flat = PyObject_CallMethod(bytes, "view", "O", dtype);
	shape = flat != NULL ? shape_of(tensor) : NULL;
	if (shape != NULL)
		array = PyObject_CallMethod(flat, "reshape", "(O)", shape);
	Py_XDECREF(bytes);
	Py_XDECREF(dtype);
	Py_XDECREF(flat);
	Py_XDECREF(shape);
	return array;
}

static PyObject *
finish(struct tensor *self, enum like like)
{
	PyObject *array;

	if (self == NULL || like != LIKE_NUMPY ||
	    (format_of(self->tensor.dtype) == NULL && !is_opaque(self->tensor.dtype)))
		return (PyObject *)self;
	array = numpy_of(self);
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

int
shape_of_sizes(PyObject *object, uint64_t *shape, uint32_t *ndim)
{
	PyObject *sizes = PySequence_Tuple(object);
	const Py_ssize_t n = sizes != NULL ? PyTuple_Size(sizes) : 0;

	if (n > LC_MAX_NDIM)
		PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions",
		    LC_MAX_NDIM);
	for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
		shape[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(sizes, i));
	Py_XDECREF(sizes);
	*ndim = (uint32_t)n;
	return PyErr_Occurred() ? -1 : 0;
}

/* The shape that is asked for, or all of @p bytes in a row. */
static int
shape_from(PyObject *object, lc_dtype dtype, Py_ssize_t bytes, uint64_t *shape,
    uint32_t *ndim)
{
	if (object != Py_None)
		return shape_of_sizes(object, shape, ndim);
	*ndim = 1;
	shape[0] = (uint64_t)bytes / lc_dtype_size(dtype);
	return 0;
}

static PyObject *
tensor_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "data", "dtype", "shape", NULL };
	PyObject *data, *dtype_object, *shape_object = Py_None, *holder;
	struct tensor *self = NULL;
	uint64_t shape[LC_MAX_NDIM];
	lc_tensor tensor;
	Py_buffer view;
	uint32_t ndim;
	int dtype;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", names, &data,
		&dtype_object, &shape_object))
		return NULL;
	dtype = dtype_of(dtype_object);
	holder = dtype != -1 ? PyMemoryView_FromObject(data) : NULL;
	if (holder == NULL)
		return NULL;
	/* The memoryview keeps holding the buffer. */
	if (PyObject_GetBuffer(holder, &view, PyBUF_SIMPLE) < 0)
		goto out;
	PyBuffer_Release(&view);
	if (shape_from(shape_object, (lc_dtype)dtype, view.len, shape, &ndim) < 0)
		goto out;
	if (lc_tensor_init(&tensor, (lc_dtype)dtype, ndim, shape, view.buf) != LC_OK) {
		raise_status(LC_INVALID, NULL);
	} else if (tensor.nbytes != (size_t)view.len) {
		PyErr_Format(PyExc_ValueError,
		    "data: %zd bytes, not the %zu of a tensor of this dtype and shape",
		    view.len, tensor.nbytes);
	} else if ((self = new_tensor(&tensor)) != NULL) {
		hold(self, holder);
		self->read_only = view.readonly;
	}
out:
	Py_DECREF(holder);
	return (PyObject *)self;
}

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
	const char *format = format_of(self->tensor.dtype);
	static char empty[64];

	view->obj = NULL;
	if ((flags & PyBUF_WRITABLE) && self->read_only) {
		PyErr_SetString(PyExc_BufferError, "a view of a record is read-only");
		return -1;
	}
	if ((flags & PyBUF_FORMAT) && format == NULL) {
		PyErr_Format(PyExc_BufferError, "buffers have no format for %s: use %s",
		    lc_dtype_name(self->tensor.dtype),
		    is_opaque(self->tensor.dtype) ? "numpy()" : "torch(), or bits()");
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
	return load_numpy() < 0 ? NULL : numpy_of(self);
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
	const size_t size = lc_dtype_size(self->tensor.dtype);
	lc_tensor bits = self->tensor;
	struct tensor *out;

	if (size <= 8 && (size & (size - 1)) == 0) {
		bits.dtype = of_size[size];
	} else if (bits.ndim < LC_MAX_NDIM) {
		bits.dtype = LC_U8;
		bits.shape[bits.ndim++] = size;
	} else {
		PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions",
		    LC_MAX_NDIM);
		return NULL;
	}
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
	if (is_opaque(self->tensor.dtype)) {
		PyErr_Format(PyExc_BufferError, "DLPack has no dtype for %s",
		    lc_dtype_name(self->tensor.dtype));
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
		    "a view of a record is read-only, which this consumer does not support");
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
	    "numpy($self, /)\n--\n\n"
	    "A NumPy array over the same memory." },
	{ "torch", (PyCFunction)tensor_torch, METH_NOARGS,
	    "torch($self, /)\n--\n\n"
	    "A torch tensor over the same memory. torch has no read-only tensors: writing into\n"
	    "one of a view ends the process." },
	{ "bits", (PyCFunction)tensor_bits, METH_NOARGS,
	    "bits($self, /)\n--\n\nThe elements as unsigned integers of their size, read-only, over "
	    "the\nsame memory. Those of 3, 5 ... bytes have one more axis, of bytes." },
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
	{ "readonly", (getter)get_readonly, NULL,
	    "True for a view of a record, or of another read-only buffer.", NULL },
	{ 0 },
};

static PyType_Slot tensor_slots[] = {
	{ Py_tp_new, tensor_new },
	{ Py_tp_dealloc, tensor_dealloc },
	{ Py_tp_traverse, tensor_traverse },
	{ Py_tp_repr, tensor_repr },
	{ Py_tp_methods, tensor_methods },
	{ Py_tp_getset, tensor_getset },
	{ Py_bf_getbuffer, tensor_getbuffer },
	{ Py_tp_doc,
	    "Tensor(data, dtype, shape=None)\n--\n\n"
	    "A tensor: a dtype, a shape, and its own memory or that of a view.\n\n"
	    "It is a buffer (memoryview(), numpy.asarray()) and supports DLPack.\n\n"
	    "Created from the bytes of a buffer, to which it keeps a reference, and the name of\n"
	    "a dtype, also your own: \"opaque3:rgb\" names elements of 3 bytes without an\n"
	    "interpretation." },
	{ 0, NULL },
};

static PyType_Spec tensor_spec = {
	.name = "lmdbcache.Tensor",
	.basicsize = sizeof(struct tensor),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
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

/* The dtype of a format such as "12x", of bytes that NumPy calls a void; -1 for others. */
static int
dtype_of_padding(const char *format, Py_ssize_t size)
{
	char text[8];
	lc_dtype dtype;

	snprintf(text, sizeof(text), "%dx", size <= LC_OPAQUE_SIZE_MAX ? (int)size : 0);
	if (format == NULL || (strcmp(format, text) != 0 && strcmp(format, "x") != 0) ||
	    size < 1 || lc_dtype_opaque("void", (size_t)size, &dtype) != LC_OK)
		return -1;
	return (int)dtype;
}

static int
raise_size(void)
{
	raise_status(LC_INVALID, NULL);
	return -1;
}

/* Fill @p out from a held buffer. Returns 0 if its elements do not have a dtype. */
static int
tensor_of_buffer(const Py_buffer *view, lc_tensor *out)
{
	int dtype = dtype_of_format(view->format, view->itemsize);
	uint64_t shape[LC_MAX_NDIM];

	if (dtype == -1)
		dtype = dtype_of_padding(view->format, view->itemsize);
	if (dtype == -1)
		return 0;
	if (view->ndim > LC_MAX_NDIM) {
		PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions",
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

/* A truth that a tensor of torch has, or a method of it without arguments returns. */
static int
ask(PyObject *object, enum question question)
{
	PyObject *name = other.question[question];
	PyObject *answer = question == IS_CPU
	    ? PyObject_GetAttr(object, name)
	    : PyObject_CallMethodObjArgs(object, name, NULL);
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

/* A dtype of torch that the engine has no name for: "opaque1:torch.uint4". */
static int
add_torch_dtype(PyObject *dtype, lc_dtype *out)
{
	PyObject *text = PyObject_Str(dtype), *size = NULL, *number = NULL;
	const char *name = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
	int result = -1;

	size = name != NULL ? PyObject_GetAttrString(dtype, "itemsize") : NULL;
	if (size == NULL)
		goto out;
	if (lc_dtype_opaque(name, PyLong_AsSize_t(size), out) != LC_OK) {
		if (!PyErr_Occurred())
			raise_status(lc_last_error()->status, NULL);
		goto out;
	}
	number = PyLong_FromLong((long)*out);
	if (number != NULL)
		result = PyDict_SetItem(other.dtypes, dtype, number);
out:
	Py_XDECREF(text);
	Py_XDECREF(size);
	Py_XDECREF(number);
	return result;
}

/* The dtype of a tensor of torch. Quantized ones are refused: without their scales, which
 * are not elements, they are nothing. */
static int
dtype_of_torch(PyObject *object, lc_dtype *out)
{
	PyObject *dtype = PyObject_GetAttr(object, other.question[DTYPE]);
	PyObject *number, *quantized;
	int result = -1, is_quantized;

	if (dtype == NULL)
		return -1;
	number = PyDict_GetItemWithError(other.dtypes, dtype); /* borrowed */
	if (number != NULL) {
		*out = (lc_dtype)PyLong_AsLong(number);
		result = 0;
	} else if (!PyErr_Occurred()) {
		result = add_torch_dtype(dtype, out);
	}
	if (result == 0 && is_opaque(*out)) {
		quantized = PyObject_GetAttrString(object, "is_quantized");
		is_quantized = quantized != NULL ? PyObject_IsTrue(quantized) : -1;
		Py_XDECREF(quantized);
		if (is_quantized > 0)
			PyErr_Format(PyExc_TypeError,
			    "a quantized tensor of %S cannot be stored: store its "
			    "int_repr() and scales",
			    dtype);
		if (is_quantized != 0)
			result = -1;
	}
	Py_DECREF(dtype);
	return result;
}

/* The data of a torch tensor of a known dtype as it is in memory, which @p object keeps: its
 * address and shape. */
static int
read_torch(PyObject *object, lc_dtype dtype, lc_tensor *out)
{
	PyObject *shape = NULL, *address = NULL;
	uint64_t sizes[LC_MAX_NDIM];
	Py_ssize_t ndim;
	void *data;
	int result = -1;

	shape = PyObject_GetAttr(object, other.question[SHAPE]);
	ndim = shape != NULL ? PyTuple_Size(shape) : -1;
	if (ndim < 0)
		goto out;
	if (ndim > LC_MAX_NDIM) {
		PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions",
		    LC_MAX_NDIM);
		goto out;
	}
	for (Py_ssize_t i = 0; i < ndim; i++)
		sizes[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, i));
	address = PyObject_CallMethodObjArgs(object, other.question[DATA_PTR], NULL);
	data = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
	if (PyErr_Occurred())
		goto out;
	if (lc_tensor_init(out, dtype, (uint32_t)ndim, sizes, data) != LC_OK)
		raise_size();
	else
		result = 1;
out:
	Py_XDECREF(shape);
	Py_XDECREF(address);
	return result;
}

/* Replace *object, a new reference, by its bits as integers. */
static int
become_carrier(PyObject **object, lc_dtype dtype)
{
	PyObject *next = PyObject_CallMethod(*object, "view", "O",
	    other.of[carrier_of(dtype)]);

	Py_DECREF(*object);
	*object = next;
	return next == NULL ? -1 : 0;
}

/* Asking takes as long as much of the rest. */
static bool
may_be_conjugate(lc_dtype dtype)
{
	return is_opaque(dtype) || dtypes[dtype].code == DL_COMPLEX;
}

static int
borrow_torch(PyObject *object, struct borrowed *borrowed, lc_tensor *out)
{
	PyObject *dense;
	lc_dtype dtype = LC_U8;
	int answer;

	if (dtype_of_torch(object, &dtype) < 0)
		return -1;
	dense = Py_NewRef(object);
	/* On another device, or with the sign or the conjugate left to be done: a part of a
	 * conjugate has its sign left. */
	answer = ask(dense, IS_CPU);
	if (answer == 0)
		answer = become(&dense, "cpu");
	if (answer >= 0 && may_be_conjugate(dtype) && (answer = ask(dense, IS_CONJ)) > 0)
		answer = become(&dense, "resolve_conj");
	if (answer >= 0 && (answer = ask(dense, IS_NEG)) > 0)
		answer = become(&dense, "resolve_neg");
	if (answer >= 0 && (answer = ask(dense, IS_CONTIGUOUS)) == 0) {
		/* It does not move elements that it cannot compute with, but integers. */
		answer = is_common(dtype) ? 0 : become_carrier(&dense, dtype);
		if (answer >= 0)
			answer = become(&dense, "contiguous");
	}
	if (answer >= 0)
		answer = read_torch(dense, dtype, out);
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
	if ((PyType_GetFlags(Py_TYPE(object)) &
		(Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS |
		    Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS |
		    Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS)) != 0 ||
	    PyFloat_Check(object) || PyByteArray_Check(object) || object == Py_None)
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
		char bytes[8];
		const int dtype = name != NULL ? dtype_of(name) : -1;

		Py_XDECREF(name);
		if (dtype == -1)
			return -1;
		/* A dtype that buffers do name is here for its byte order. */
		if (format_of((lc_dtype)dtype) != NULL)
			bits = PyObject_CallMethod(object, "astype", "s",
			    dtypes[dtype].torch);
		else {
			snprintf(bytes, sizeof(bytes), "V%zu",
			    lc_dtype_size((lc_dtype)dtype));
			bits = PyObject_CallMethod(object, "view", "s", bytes);
		}
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
	lc_dtype dtype = LC_U8;
	int answer = is_torch(object);

	if (answer < 0)
		return -1;
	if (answer > 0) {
		answer = ask(object, IS_CPU);
		if (answer > 0)
			answer = ask(object, IS_CONTIGUOUS);
		if (answer < 0)
			return -1;
		if (answer == 0) {
			PyErr_SetString(PyExc_ValueError,
			    "out: not in C order, or not in the CPU's memory");
			return -1;
		}
		if (dtype_of_torch(object, &dtype) < 0 ||
		    read_torch(object, dtype, out) < 0)
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
		PyErr_SetString(PyExc_TypeError,
		    "out: the library has no dtype for its elements");
	return answer == 1 ? 1 : -1;
}
