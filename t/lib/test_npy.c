/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/npy.h"

/* A file made by hand: magic, version, length, text, then the elements. */
static void
make_file(struct lc__buf *out, int version, const char *text, size_t size,
    const void *data, size_t nbytes)
{
	unsigned char length[4];

	lc__set32(length, (uint32_t)size);
	lc__buf_append(out, "\x93NUMPY", 6);
	lc__buf_append(out, (const char[]){ (char)version, 0 }, 2);
	lc__buf_append(out, length, version == 1 ? 2 : 4);
	lc__buf_append(out, text, size);
	lc__buf_append(out, data, nbytes);
	ck_assert(!out->failed);
}

/* ---- headers that are read --------------------------------------------------- */

static const struct {
	int version;
	const char *text;
	lc_dtype dtype;
	bool big_endian, fortran;
	uint32_t ndim;
	uint64_t shape[LC_MAX_NDIM];
} good_rows[] = {
	{ 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n",
	    LC_F32, false, false, 2, { 3, 4 } },
	{ 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n",
	    LC_F32, false, false, 2, { 3, 4 } },
	{ 3, "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }\n",
	    LC_F64, true, true, 2, { 3, 4 } },
	/* Any order of keys, both quotes, no comma at the end, no newline. */
	{ 1, "{'shape': (5,), 'descr': '>i2', 'fortran_order': True}",
	    LC_I16, true, true, 1, { 5 } },
	{ 1, "{\"fortran_order\":False,\"shape\":(),\"descr\":\"|b1\"}",
	    LC_BOOL, false, false, 0, { 0 } },
	/* White space anywhere, new lines too. */
	{ 1, " \t{ 'descr'\n:\r'|u1' ,\n 'fortran_order' : False , 'shape' "
	     ": ( 2 ,\f3 , ) , } \n\n", LC_U8, false, false, 2, { 2, 3 } },
	{ 1, "{'descr':'=u4','fortran_order':False,'shape':(0,)}",
	    LC_U32, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, false, 1, { 0 } },
	{ 1, "{'descr':'c16','fortran_order':False,'shape':(1,2)}",
	    LC_C128, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, false, 2, { 1, 2 } },
	{ 1, "{'descr':'float16','fortran_order':False,'shape':(7,)}",
	    LC_F16, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, false, 1, { 7 } },
	/* One byte has no order. */
	{ 1, "{'descr':'>i1','fortran_order':False,'shape':(7,)}",
	    LC_I8, false, false, 1, { 7 } },
	/* Python 2: long integers and unicode strings. */
	{ 1, "{'descr': '<i8', u'fortran_order': False, 'shape': (10L, 2L), }",
	    LC_I64, false, false, 2, { 10, 2 } },
	{ 2, "{'descr': u'<u8', 'fortran_order': False, 'shape': (10L,), }",
	    LC_U64, false, false, 1, { 10 } },
	{ 1, "{'descr':'<c8','fortran_order':False,'shape':"
	     "(1,2,3,4,5,6,7,8,9,1,1,1,1,1,1,2)}", LC_C64, false, false, 16,
	    { 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 1, 1, 1, 2 } },
};

START_TEST(good_header)
{
	struct lc__buf file = { 0 };
	struct lc__npy_info info;

	make_file(&file, good_rows[_i].version, good_rows[_i].text,
	    strlen(good_rows[_i].text), NULL, 0);
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info), LC_OK);
	ck_assert(!info.raw);
	ck_assert_int_eq(info.dtype, good_rows[_i].dtype);
	ck_assert_uint_eq(info.item, lc_dtype_size(info.dtype));
	ck_assert_int_eq(info.big_endian, good_rows[_i].big_endian);
	ck_assert_int_eq(info.fortran, good_rows[_i].fortran);
	ck_assert_uint_eq(info.ndim, good_rows[_i].ndim);
	for (uint32_t i = 0; i < info.ndim; i++)
		ck_assert_uint_eq(info.shape[i], good_rows[_i].shape[i]);
	ck_assert_uint_eq(info.data_offset, file.size);
	lc__buf_free(&file);
}
END_TEST

/* ---- headers that are refused ------------------------------------------------ */

#define REST "'fortran_order': False, 'shape': (2,)}"
#define SHAPE "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct {
	const char *text;
	lc_status status;
	const char *message;
} bad_rows[] = {
	{ "", LC_CORRUPT, "header ends where a dictionary must be" },
	{ "[1, 2]", LC_CORRUPT, "header has '[1, 2]' where a dictionary must be" },
	{ "{", LC_CORRUPT, "header ends where a key must be" },
	{ "{}", LC_CORRUPT, "header has no key 'descr'" },
	{ "{,}", LC_CORRUPT, "header has ',}' where a key must be" },
	{ "{'descr': '<f4', 'shape': (2,)}", LC_CORRUPT,
	    "header has no key 'fortran_order'" },
	{ "{'descr': '<f4', 'fortran_order': False}", LC_CORRUPT,
	    "header has no key 'shape'" },
	{ "{'descr': '<f4', 'descr': '<f4', " REST, LC_CORRUPT,
	    "header has the key 'descr' twice" },
	{ "{'order': 'C', 'descr': '<f4', " REST, LC_CORRUPT,
	    "header has an unknown key 'order'" },
	{ "{b'descr': '<f4', " REST, LC_CORRUPT,
	    "header has 'b'descr': '<f4', 'fortra' where a key must be" },
	{ "{descr: '<f4', " REST, LC_CORRUPT, NULL },
	{ "{'descr' '<f4', " REST, LC_CORRUPT, NULL },
	{ "{'descr': '<f4' " REST, LC_CORRUPT, NULL },
	{ "{'descr': '<f4', " REST " x", LC_CORRUPT,
	    "header has 'x' where the end of the header must be" },
	{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", LC_CORRUPT,
	    "header ends where a comma or the end of the dictionary must be" },
	{ "{'descr': '<f4", LC_CORRUPT, "header has a string without an end" },
	{ "{'descr': '\\x3cf4', " REST, LC_CORRUPT,
	    "header has an escape or a line break in string '\\x5cx3cf4'" },
	{ "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", LC_CORRUPT,
	    "header has '0, 'shape': (2,)}' where True or False for "
	    "fortran_order must be" },
	{ "{'descr': '<f4', 'fortran_order': true, 'shape': (2,)}", LC_CORRUPT,
	    NULL },
	/* shapes */
	{ SHAPE "5}", LC_CORRUPT,
	    "header has '5}' where a tuple for shape must be" },
	{ SHAPE "(5)}", LC_CORRUPT,
	    "shape is a number, not a tuple: its comma is missing" },
	{ SHAPE "[5]}", LC_CORRUPT, NULL },
	{ SHAPE "None}", LC_CORRUPT, NULL },
	{ SHAPE "(,)}", LC_CORRUPT, "header has ',)}' where a dimension must be" },
	{ SHAPE "(3 4)}", LC_CORRUPT,
	    "header has '4)}' where a comma or the end of the shape must be" },
	{ SHAPE "(3, -1)}", LC_CORRUPT, "dimension 1 is negative" },
	{ SHAPE "(3.0,)}", LC_CORRUPT, NULL },
	{ SHAPE "(1e3,)}", LC_CORRUPT, NULL },
	{ SHAPE "(03,)}", LC_CORRUPT, "header has '03,)}' where a dimension must be" },
	{ SHAPE "('3',)}", LC_CORRUPT, NULL },
	{ SHAPE "(3l,)}", LC_CORRUPT, NULL },
	{ SHAPE "(3,", LC_CORRUPT, "header ends where a dimension must be" },
	{ SHAPE "(18446744073709551616,)}", LC_UNSUPPORTED,
	    "dimension 0 is too large" },
	{ SHAPE "(1, 99999999999999999999999999)}", LC_UNSUPPORTED,
	    "dimension 1 is too large" },
	{ SHAPE "(4611686018427387904,)}", LC_UNSUPPORTED, "shape is too large" },
	{ SHAPE "(4294967296, 4294967296)}", LC_UNSUPPORTED, "shape is too large" },
	{ SHAPE "(0, 4294967296, 4294967296)}", LC_UNSUPPORTED,
	    "shape is too large" },
	{ SHAPE "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", LC_UNSUPPORTED,
	    "rank is above 16" },
	/* element types */
	{ "{'descr': '|O', " REST, LC_UNSUPPORTED,
	    "descr '|O': Python objects cannot be stored" },
	{ "{'descr': 'object', " REST, LC_UNSUPPORTED,
	    "descr 'object': Python objects cannot be stored" },
	{ "{'descr': [('a', '<f4'), ('b', '<i2')], " REST, LC_UNSUPPORTED,
	    "structured elements cannot be stored" },
	{ "{'descr': ('<f4', (2,)), " REST, LC_UNSUPPORTED,
	    "structured elements cannot be stored" },
	{ "{'descr': '|S10', " REST, LC_UNSUPPORTED,
	    "descr '|S10': byte strings cannot be stored" },
	{ "{'descr': '<U3', " REST, LC_UNSUPPORTED,
	    "descr '<U3': text cannot be stored" },
	{ "{'descr': '<M8[ns]', " REST, LC_UNSUPPORTED,
	    "descr '<M8[ns]': dates cannot be stored" },
	{ "{'descr': '<m8', " REST, LC_UNSUPPORTED,
	    "descr '<m8': time spans cannot be stored" },
	{ "{'descr': '<f16', " REST, LC_UNSUPPORTED,
	    "descr '<f16': long doubles cannot be stored" },
	{ "{'descr': '<c32', " REST, LC_UNSUPPORTED,
	    "descr '<c32': long doubles cannot be stored" },
	{ "{'descr': '|V65', " REST, LC_UNSUPPORTED,
	    "descr '|V65': raw elements other than of 1 to 64 bytes cannot be stored" },
	{ "{'descr': '|V0', " REST, LC_UNSUPPORTED,
	    "descr '|V0': raw elements other than of 1 to 64 bytes cannot be stored" },
	{ "{'descr': '|V012', " REST, LC_UNSUPPORTED,
	    "descr '|V012': raw elements other than of 1 to 64 bytes cannot be stored" },
	{ "{'descr': '|V', " REST, LC_UNSUPPORTED,
	    "descr '|V': raw elements other than of 1 to 64 bytes cannot be stored" },
	{ "{'descr': '<f3', " REST, LC_CORRUPT,
	    "descr '<f3' is not an element type" },
	{ "{'descr': '', " REST, LC_CORRUPT, "descr '' is not an element type" },
	{ "{'descr': '<', " REST, LC_CORRUPT, "descr '<' is not an element type" },
	{ "{'descr': '<<f4', " REST, LC_CORRUPT,
	    "descr '<<f4' is not an element type" },
	/* Names of this library that mean something else in NumPy, or nothing. */
	{ "{'descr': 'f16', " REST, LC_UNSUPPORTED,
	    "descr 'f16': long doubles cannot be stored" },
	{ "{'descr': 'u16', " REST, LC_CORRUPT,
	    "descr 'u16' is not an element type" },
	{ "{'descr': '<float32', " REST, LC_CORRUPT,
	    "descr '<float32' is not an element type" },
	{ "{'descr': None, " REST, LC_CORRUPT,
	    "header has 'None, 'fortran_order': F' where a string for descr must be" },
};

START_TEST(bad_header)
{
	struct lc__buf file = { 0 };
	struct lc__npy_info info = { .nbytes = 12345 };

	make_file(&file, 1, bad_rows[_i].text, strlen(bad_rows[_i].text),
	    "12345678", 8);
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    bad_rows[_i].status);
	if (bad_rows[_i].message != NULL)
		ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	ck_assert_uint_eq(info.nbytes, 12345);
	lc__buf_free(&file);
}
END_TEST

START_TEST(versions)
{
	static const char text[] = "{'descr': '<f4', 'fortran_order': False, "
	    "'shape': (2L,)}";
	struct lc__buf file = { 0 };
	struct lc__npy_info info;

	make_file(&file, 3, text, strlen(text), NULL, 0);
	/* Python 2 is older than version 3. */
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    LC_CORRUPT);
	file.data[6] = 4;
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    LC_VERSION);
	ck_assert_str_eq(lc_last_error()->text, ".npy version 4.0 is unknown");
	file.data[6] = 1;
	file.data[7] = 1;
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    LC_VERSION);
	file.data[5] = 'y';
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "not a .npy file");
	lc__buf_free(&file);
}
END_TEST

/* A header of the limit is read, one byte more is not, in any version. */
START_TEST(header_limit)
{
	static const char text[] = "{'descr': '<f4', 'fortran_order': False, "
	    "'shape': ()}";
	char *padded = malloc(LC__NPY_MAX_HEADER + 1);
	struct lc__buf file = { 0 };
	struct lc__npy_info info;

	memset(padded, ' ', LC__NPY_MAX_HEADER + 1);
	memcpy(padded, text, strlen(text));
	make_file(&file, 2, padded, LC__NPY_MAX_HEADER, NULL, 0);
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info), LC_OK);
	file.size = 0;
	make_file(&file, 3, padded, LC__NPY_MAX_HEADER + 1, NULL, 0);
	ck_assert_int_eq(lc__npy_decode_header(file.data, file.size, &info),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "header of 65537 bytes is above the limit of 65536");
	lc__buf_free(&file);
	free(padded);
}
END_TEST

/* ---- elements ---------------------------------------------------------------- */

/* Every cut of a file is an error that says how much is missing. */
START_TEST(cut_files)
{
	static const char text[] = "{'descr': '<f4', 'fortran_order': False, "
	    "'shape': (2, 3)}";
	struct lc__buf file = { 0 };
	const size_t start = 10 + strlen(text);
	char message[80];
	lc_tensor tensor;
	void *owned;

	make_file(&file, 1, text, strlen(text), "123456789012345678901234+", 25);
	for (size_t size = 0; size < file.size - 1; size++) {
		/* A block of its own, so that a read behind it is seen. */
		unsigned char *cut = malloc(size + (size == 0));
		memcpy(cut, file.data, size);
		ck_assert_int_eq(lc__npy_read(cut, size, LC__NPY_ANY_DTYPE, &tensor,
		    &owned), LC_CORRUPT);
		snprintf(message, sizeof(message), size < start ?
		    "the file ends in its header, %zu bytes short" :
		    "%zu of 24 data bytes are missing",
		    (size < 12 ? 12 : size < start ? start : start + 24) - size);
		ck_assert_str_eq(lc_last_error()->text, message);
		free(cut);
	}
	/* One byte behind the data is ignored. */
	ck_assert_int_eq(lc__npy_read(file.data, file.size, LC__NPY_ANY_DTYPE,
	    &tensor, &owned), LC_OK);
	ck_assert_ptr_null(owned);
	ck_assert_ptr_eq(tensor.data, file.data + start);
	ck_assert_uint_eq(tensor.nbytes, 24);
	lc__buf_free(&file);
}
END_TEST

/* Elements of 2 x 3, read as {descr, order}; the wanted bytes by hand. */
static const struct {
	const char *head;
	const char *data, *want;
	size_t nbytes;
	bool borrowed;
} element_rows[] = {
	{ "'|u1', 'fortran_order': False", "abcdef", "abcdef", 6, true },
	{ "'|u1', 'fortran_order': True", "adbecf", "abcdef", 6, false },
	{ "'<i2', 'fortran_order': False", "a1b2c3d4e5f6", "a1b2c3d4e5f6", 12, true },
	{ "'>i2', 'fortran_order': False", "a1b2c3d4e5f6", "1a2b3c4d5e6f", 12, false },
	{ "'>i2', 'fortran_order': True", "a1d4b2e5c3f6", "1a2b3c4d5e6f", 12, false },
	{ "'>f4', 'fortran_order': True", "a123d456b123e456c123f456",
	    "321a321b321c654d654e654f", 24, false },
	{ "'>c8', 'fortran_order': False",
	    "a123A123b123B123c123C123d123D123e123E123f123F123",
	    "321a321A321b321B321c321C321d321D321e321E321f321F", 48, false },
	{ "'>f8', 'fortran_order': False",
	    "a123456Ab123456Bc123456Cd123456De123456Ef123456F",
	    "A654321aB654321bC654321cD654321dE654321eF654321f", 48, false },
};

START_TEST(elements_by_hand)
{
	struct lc__buf file = { 0 };
	char text[100];
	lc_tensor tensor;
	void *owned;

	snprintf(text, sizeof(text), "{'shape': (2, 3), 'descr': %s}",
	    element_rows[_i].head);
	make_file(&file, 1, text, strlen(text), element_rows[_i].data,
	    element_rows[_i].nbytes);
	ck_assert_int_eq(lc__npy_read(file.data, file.size, LC__NPY_ANY_DTYPE,
	    &tensor, &owned), LC_OK);
	ck_assert_uint_eq(tensor.nbytes, element_rows[_i].nbytes);
	ck_assert_mem_eq(tensor.data, element_rows[_i].want, tensor.nbytes);
	ck_assert_int_eq(owned == NULL, element_rows[_i].borrowed);
	if (owned != NULL) {
		ck_assert_ptr_eq(owned, tensor.data);
		ck_assert_uint_eq((uintptr_t)owned % 64, 0);
	}
	free(owned);
	lc__buf_free(&file);
}
END_TEST

static const char *const type_codes[] = { "b1", "u1", "i1", "u2", "i2", "u4",
	"i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16" };

#define TYPES (sizeof(type_codes) / sizeof(type_codes[0]))

/* Shapes of each rank, some larger than a block of the reordering. */
static void
random_shape(uint64_t *seed, uint32_t ndim, uint64_t *shape)
{
	uint64_t elements = 1;

	for (uint32_t i = 0; i < ndim; i++) {
		const uint64_t most = 60000 / elements;
		shape[i] = 1 + run_random(seed) % (ndim > 4 ? 3 : 300);
		if (run_random(seed) % 40 == 0)
			shape[i] = 0;
		if (shape[i] > most)
			shape[i] = most;
		elements *= shape[i] ? shape[i] : 1;
	}
}

/* Byte b of the element at a C index is a hash of both. */
static unsigned char
element_byte(size_t index, size_t b)
{
	uint64_t state = index * 16 + b;

	return (unsigned char)run_random(&state);
}

/* Write the elements as a file of this order holds them, one by one. */
static void
write_elements(unsigned char *out, const lc_tensor *t, bool fortran, size_t swap)
{
	const size_t unit = lc_dtype_size(t->dtype);

	for (size_t i = 0; i < t->nbytes / unit; i++) {
		size_t rest = i, place = 0, step = t->nbytes / unit;
		for (uint32_t axis = t->ndim; axis-- > 0;) {
			step /= t->shape[axis];
			place += rest % t->shape[axis] * step;
			rest /= t->shape[axis];
		}
		for (size_t b = 0; b < unit; b++) {
			const size_t at = swap ? b / swap * swap + swap - 1 - b % swap : b;
			out[(fortran ? place : i) * unit + at] = element_byte(i, b);
		}
	}
}

static void
check_elements(unsigned type, const lc_tensor *shape, bool fortran, bool big)
{
	const size_t unit = lc_dtype_size(shape->dtype);
	const size_t swap = !big || unit == 1 ? 0 :
	    type_codes[type][0] == 'c' ? unit / 2 : unit;
	unsigned char *data = malloc(shape->nbytes + 1);
	struct lc__buf text = { 0 }, file = { 0 };
	lc_tensor got;
	void *owned;

	write_elements(data, shape, fortran, swap);
	lc__buf_printf(&text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
	    big ? '>' : '<', type_codes[type], fortran ? "True" : "False");
	for (uint32_t i = 0; i < shape->ndim; i++)
		lc__buf_printf(&text, "%llu,", (unsigned long long)shape->shape[i]);
	lc__buf_printf(&text, ")}");
	make_file(&file, 1, (char *)text.data, text.size, data, shape->nbytes);
	ck_assert_int_eq(lc__npy_read(file.data, file.size, LC__NPY_ANY_DTYPE, &got,
	    &owned), LC_OK);
	ck_assert_int_eq(got.dtype, shape->dtype);
	ck_assert_uint_eq(got.ndim, shape->ndim);
	ck_assert_uint_eq(got.nbytes, shape->nbytes);
	write_elements(data, shape, false, 0);
	ck_assert(got.nbytes == 0 || memcmp(got.data, data, got.nbytes) == 0);
	free(owned);
	free(data);
	lc__buf_free(&text);
	lc__buf_free(&file);
}

/* Every element type in every rank, both byte orders and both index orders. */
START_TEST(elements_of_every_kind)
{
	static const lc_dtype dtypes[TYPES] = { LC_BOOL, LC_U8, LC_I8, LC_U16,
		LC_I16, LC_U32, LC_I32, LC_U64, LC_I64, LC_F16, LC_F32, LC_F64,
		LC_C64, LC_C128 };
	uint64_t seed = run_seed() + (uint64_t)_i, shape[LC_MAX_NDIM];
	lc_tensor tensor;

	for (unsigned type = 0; type < TYPES; type++) {
		random_shape(&seed, (uint32_t)_i, shape);
		ck_assert_int_eq(lc_tensor_init(&tensor, dtypes[type], (uint32_t)_i,
		    shape, NULL), LC_OK);
		for (int kind = 0; kind < 4; kind++)
			check_elements(type, &tensor, kind & 1, kind & 2);
	}
}
END_TEST

/* ---- raw elements ------------------------------------------------------------ */

static const struct {
	const char *descr;
	int dtype;
	lc_status status;
	const char *message; /* or the wanted bytes */
} raw_rows[] = {
	{ "<V2", LC_BF16, LC_OK, "a1b2" },
	{ "|V2", LC_F16, LC_OK, "a1b2" },
	{ ">V2", LC_BF16, LC_OK, "1a2b" },
	{ "<V1", LC_F8_E4M3, LC_OK, "a1" },
	{ "<f1", LC_F8_E5M2, LC_OK, "a1" },
	{ "<f2", LC_F16, LC_OK, "a1b2" },
	{ "|V2", LC__NPY_ANY_DTYPE, LC_UNSUPPORTED,
	    "raw elements of 2 bytes: their dtype must be given (bf16, opaque2:NAME)" },
	{ "|V1", LC__NPY_ANY_DTYPE, LC_UNSUPPORTED,
	    "raw elements of 1 byte: their dtype must be given (f8_e4m3, f8_e5m2, "
	    "opaque1:NAME)" },
	{ "|V4", LC__NPY_ANY_DTYPE, LC_UNSUPPORTED,
	    "raw elements of 4 bytes: their dtype must be given (c32, opaque4:NAME)" },
	{ "|V64", LC__NPY_ANY_DTYPE, LC_UNSUPPORTED,
	    "raw elements of 64 bytes: their dtype must be given (opaque64:NAME)" },
	{ "|V4", LC_BF16, LC_INVALID, "raw elements of 4 bytes cannot be bf16" },
	{ "|V2", LC_F8_E4M3, LC_INVALID, "raw elements of 2 bytes cannot be f8_e4m3" },
	{ "|V1", LC_BF16, LC_INVALID, "raw elements of 1 byte cannot be bf16" },
	{ "<u2", LC_BF16, LC_INVALID, "holds u16, not bf16" },
	{ "<u2", 99, LC_INVALID, "unknown dtype 99" },
};

START_TEST(raw_elements)
{
	struct lc__buf file = { 0 };
	char text[100];
	lc_tensor tensor;
	void *owned = NULL;

	snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, "
	    "'shape': (2,)}", raw_rows[_i].descr);
	make_file(&file, 1, text, strlen(text), "a1b2", 4);
	ck_assert_int_eq(lc__npy_read(file.data, file.size, raw_rows[_i].dtype,
	    &tensor, &owned), raw_rows[_i].status);
	if (raw_rows[_i].status == LC_OK) {
		ck_assert_int_eq((int)tensor.dtype, raw_rows[_i].dtype);
		ck_assert_uint_eq(tensor.nbytes, strlen(raw_rows[_i].message));
		ck_assert_mem_eq(tensor.data, raw_rows[_i].message, tensor.nbytes);
	} else {
		ck_assert_str_eq(lc_last_error()->text, raw_rows[_i].message);
	}
	free(owned);
	lc__buf_free(&file);
}
END_TEST

/* Of any size, in both orders of axes; their bytes have no order. */
START_TEST(opaque_elements)
{
	const size_t size = (size_t)_i;
	unsigned char elements[6 * 64];
	lc_dtype dtype;

	ck_assert_int_eq(lc_dtype_opaque("x", size, &dtype), LC_OK);
	for (size_t i = 0; i < sizeof(elements); i++)
		elements[i] = (unsigned char)(i * 5 + 1);
	for (int fortran = 0; fortran < 2; fortran++) {
		struct lc__buf file = { 0 };
		void *owned = NULL;
		lc_tensor tensor;
		char text[100];

		/* '>' is for two bytes only, which may be a bf16. */
		snprintf(text, sizeof(text), "{'descr': '%cV%zu', 'fortran_order': %s, "
		    "'shape': (2, 3)}", size == 2 ? '|' : '>', size,
		    fortran ? "True" : "False");
		make_file(&file, 1, text, strlen(text), elements, 6 * size);
		ck_assert_int_eq(lc__npy_read(file.data, file.size, (int)dtype, &tensor,
		    &owned), LC_OK);
		ck_assert_int_eq(tensor.dtype, dtype);
		ck_assert_uint_eq(tensor.nbytes, 6 * size);
		for (size_t i = 0; i < 2; i++)
			for (size_t j = 0; j < 3; j++)
				ck_assert_mem_eq(
				    (const char *)tensor.data + (3 * i + j) * size,
				    elements + (fortran ? 2 * j + i : 3 * i + j) * size,
				    size);
		free(owned);
		lc__buf_free(&file);
	}
}
END_TEST

START_TEST(opaque_headers)
{
	const uint64_t nine = 9;
	struct lc__buf got = { 0 };
	lc_tensor tensor;
	lc_dtype dtype;

	ck_assert_int_eq(lc_dtype_opaque("x", 12, &dtype), LC_OK);
	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, 1, &nine, NULL), LC_OK);
	ck_assert_int_eq(lc__npy_encode_header(&tensor, false, &got), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    ".npy has no name for opaque12:x; it can hold the raw bits");
	ck_assert_int_eq(lc__npy_encode_header(&tensor, true, &got), LC_OK);
	ck_assert_mem_eq(got.data + 10,
	    "{'descr': '|V12', 'fortran_order': False, 'shape': (9,), }", 58);
	lc__buf_free(&got);
}
END_TEST

/* ---- writing ----------------------------------------------------------------- */

/* As numpy.save() writes them; t/bin/npy.sh compares with NumPy itself. */
static const struct {
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[LC_MAX_NDIM];
	size_t length; /* of the header's text */
	const char *text;
} write_rows[] = {
	{ LC_F32, 2, { 3, 4 }, 118,
	    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" },
	{ LC_U8, 1, { 5 }, 118,
	    "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }" },
	{ LC_BOOL, 0, { 0 }, 118,
	    "{'descr': '|b1', 'fortran_order': False, 'shape': (), }" },
	{ LC_C128, 2, { 0, 1 }, 118,
	    "{'descr': '<c16', 'fortran_order': False, 'shape': (0, 1), }" },
	/* Room for the first dimension to grow: 20 more digits, then 18. */
	{ LC_I8, 12, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 4000 }, 118,
	    "{'descr': '|i1', 'fortran_order': False, "
	    "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 4000), }" },
	{ LC_I8, 12, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 40000 }, 182,
	    "{'descr': '|i1', 'fortran_order': False, "
	    "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 40000), }" },
	{ LC_I8, 12, { 123, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 4000 }, 118,
	    "{'descr': '|i1', 'fortran_order': False, "
	    "'shape': (123, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 4000), }" },
	{ LC_I8, 12, { 1234, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 40000 }, 182,
	    "{'descr': '|i1', 'fortran_order': False, "
	    "'shape': (1234, 1, 1, 1, 1, 1, 1, 1, 1, 200, 300, 40000), }" },
	{ LC_BF16, 1, { 9 }, 118,
	    "{'descr': '<V2', 'fortran_order': False, 'shape': (9,), }" },
	{ LC_F8_E5M2, 1, { 9 }, 118,
	    "{'descr': '<V1', 'fortran_order': False, 'shape': (9,), }" },
	{ LC_F8_E8M0, 1, { 9 }, 118,
	    "{'descr': '<V1', 'fortran_order': False, 'shape': (9,), }" },
	{ LC_C32, 1, { 9 }, 118,
	    "{'descr': '<V4', 'fortran_order': False, 'shape': (9,), }" },
};

START_TEST(written_bytes)
{
	struct lc__buf got = { 0 }, want = { 0 };
	char text[256];
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, write_rows[_i].dtype,
	    write_rows[_i].ndim, write_rows[_i].shape, NULL), LC_OK);
	ck_assert_int_eq(lc__npy_encode_header(&tensor, true, &got), LC_OK);
	memset(text, ' ', sizeof(text));
	memcpy(text, write_rows[_i].text, strlen(write_rows[_i].text));
	text[write_rows[_i].length - 1] = '\n';
	make_file(&want, 1, text, write_rows[_i].length, NULL, 0);
	ck_assert_uint_eq(got.size, want.size);
	ck_assert_mem_eq(got.data, want.data, want.size);
	lc__buf_free(&got);
	lc__buf_free(&want);
}
END_TEST

/* What is written is read again, in place, for every dtype and rank. */
START_TEST(written_and_read)
{
	uint64_t shape[LC_MAX_NDIM];
	struct lc__buf file = { 0 };
	lc_tensor tensor, got;
	void *owned;

	for (uint32_t ndim = 0; ndim <= LC_MAX_NDIM; ndim++) {
		for (uint32_t i = 0; i < ndim; i++)
			shape[i] = 1 + (i * 7 + ndim) % 2;
		ck_assert_int_eq(lc_tensor_init(&tensor, (lc_dtype)_i, ndim, shape,
		    NULL), LC_OK);
		file.size = 0;
		ck_assert_int_eq(lc__npy_encode_header(&tensor, true, &file), LC_OK);
		ck_assert_uint_eq(file.size % 64, 0);
		memset(lc__buf_append(&file, NULL, tensor.nbytes), _i, tensor.nbytes);
		ck_assert_int_eq(lc__npy_read(file.data, file.size, _i, &got, &owned),
		    LC_OK);
		ck_assert_ptr_null(owned);
		ck_assert_int_eq((int)got.dtype, _i);
		ck_assert_uint_eq(got.ndim, ndim);
		ck_assert_mem_eq(got.shape, tensor.shape, sizeof(got.shape));
		ck_assert_ptr_eq(got.data, file.data + file.size - got.nbytes);
	}
	lc__buf_free(&file);
}
END_TEST

START_TEST(unnamed_dtypes_and_bad_tensors)
{
	struct lc__buf out = { 0 };
	lc_tensor tensor = { .dtype = LC_BF16 };

	ck_assert_int_eq(lc__npy_encode_header(&tensor, false, &out),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    ".npy has no name for bf16; it can hold the raw bits");
	tensor.dtype = (lc_dtype)77;
	ck_assert_int_eq(lc__npy_encode_header(&tensor, true, &out), LC_INVALID);
	tensor.dtype = LC_U8;
	tensor.ndim = LC_MAX_NDIM + 1;
	ck_assert_int_eq(lc__npy_encode_header(&tensor, true, &out), LC_INVALID);
	ck_assert_uint_eq(out.size, 0);
	lc__buf_free(&out);
}
END_TEST

/* ---- damage ------------------------------------------------------------------ */

/* Change, insert or remove a few bytes; half of the new ones from the alphabet
 * of headers, which goes deeper than noise. */
static void
mutate(uint64_t *seed, struct lc__buf *file)
{
	static const char alphabet[] = "{}()'\",: L0123456789-<>=|fiucbVOTrueFals\\";

	for (unsigned n = 1 + run_random(seed) % 3; n > 0; n--) {
		const size_t at = run_random(seed) % file->size;
		const uint64_t pick = run_random(seed);
		const char byte = pick & 1 ? alphabet[(pick >> 8) % strlen(alphabet)] :
		    (char)(pick >> 16);
		if (pick % 16 == 2) {
			memmove(file->data + at, file->data + at + 1,
			    file->size - at - 1);
			file->size--;
		} else if (pick % 16 == 3) {
			lc__buf_append(file, "", 1);
			memmove(file->data + at + 1, file->data + at,
			    file->size - at - 1);
			file->data[at] = (unsigned char)byte;
		} else {
			file->data[at] = (unsigned char)byte;
		}
	}
}

/* Whatever is read lies inside the file or is owned, and has its size. */
static void
check_damaged(const struct lc__buf *file)
{
	unsigned char *exact = malloc(file->size);
	const unsigned char *data;
	size_t sum = 0;
	lc_tensor tensor;
	void *owned = NULL;

	memcpy(exact, file->data, file->size);
	if (lc__npy_read(exact, file->size, LC__NPY_ANY_DTYPE, &tensor, &owned) ==
	    LC_OK) {
		data = tensor.data;
		ck_assert_uint_le(tensor.ndim, LC_MAX_NDIM);
		if (owned == NULL)
			ck_assert(data >= exact &&
			    data + tensor.nbytes <= exact + file->size);
		else
			ck_assert_ptr_eq(owned, data);
		for (size_t i = 0; i < tensor.nbytes; i++)
			sum += data[i];
		ck_assert_uint_le(sum, 255 * tensor.nbytes);
	} else {
		ck_assert_str_ne(lc_last_error()->text, "");
		ck_assert_ptr_null(strchr(lc_last_error()->text, '\n'));
	}
	free(owned);
	free(exact);
}

START_TEST(random_damage)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };
	static const char elements[1000];

	for (int round = 0; round < 20000; round++) {
		const size_t row = run_random(&seed) %
		    (sizeof(good_rows) / sizeof(good_rows[0]));
		file.size = 0;
		make_file(&file, good_rows[row].version, good_rows[row].text,
		    strlen(good_rows[row].text), elements,
		    run_random(&seed) % sizeof(elements));
		mutate(&seed, &file);
		check_damaged(&file);
	}
	lc__buf_free(&file);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("npy");
	TCase *tc = tcase_create("npy");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, good_header, 0, ROWS(good_rows));
	tcase_add_loop_test(tc, bad_header, 0, ROWS(bad_rows));
	tcase_add_test(tc, versions);
	tcase_add_test(tc, header_limit);
	tcase_add_test(tc, cut_files);
	tcase_add_loop_test(tc, elements_by_hand, 0, ROWS(element_rows));
	tcase_add_loop_test(tc, elements_of_every_kind, 0, LC_MAX_NDIM + 1);
	tcase_add_loop_test(tc, raw_elements, 0, ROWS(raw_rows));
	tcase_add_loop_test(tc, opaque_elements, 1, LC_OPAQUE_SIZE_MAX + 1);
	tcase_add_test(tc, opaque_headers);
	tcase_add_loop_test(tc, written_bytes, 0, ROWS(write_rows));
	tcase_add_loop_test(tc, written_and_read, 0, LC_DTYPE_COUNT);
	tcase_add_test(tc, unnamed_dtypes_and_bad_tensors);
	tcase_add_test(tc, random_damage);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
