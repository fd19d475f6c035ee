/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file lmdbcache.h
 * @brief liblmdbcache: an embedded cache of tensors on LMDB.
 *
 * A *module* is a named collection of *records*; it lives in one LMDB
 * environment, the directory ROOT/MODULE_ID. A record is one *value* under one
 * *cache_id*, a string of 1 to 65,536 arbitrary bytes. A value is a tensor, or
 * any nesting of maps, lists, tuples and the like of tensors and plain data. What is put
 * comes out bit for bit: no conversion of dtype, shape or byte order ever
 * happens.
 *
 * Worked example: put a tensor, make it durable, read it back in place.
 *
 *     lc_cache *cache = NULL;
 *     lc_tensor in;
 *     lc_view view;
 *     float feature[512] = { 0 };
 *     uint64_t shape[1] = { 512 };
 *
 *     if (lc_open("/var/cache/models", "resnet50-v2", NULL, &cache) != LC_OK)
 *         errx(1, "%s", lc_last_error()->text);
 *     if (lc_tensor_init(&in, LC_F32, 1, shape, feature) != LC_OK ||
 *         lc_put(cache, "img-000001", 10, &in) != LC_OK ||
 *         lc_flush(cache) != LC_OK)
 *         errx(1, "%s", lc_last_error()->text);
 *     if (lc_get(cache, "img-000001", 10, &view) == LC_OK) {
 *         use(view.tensor.data, view.tensor.nbytes);
 *         lc_view_release(&view);
 *     }
 *     if (lc_close(cache) != LC_OK)
 *         errx(1, "%s", lc_last_error()->text);
 *
 * ## What to know before linking
 *
 * - Threads: every function may be called from any thread at any time on one
 *   handle, except lc_close() and lc_discard(), which must be the last call on
 *   it. What was made of it may outlive it, see lc_close(). An iterator belongs to one
 *   thread at a time.
 * - Processes: any number of processes may read and write one module at once.
 *   Every read sees the newest commit of any process. The handles of one process
 *   read each other's pending writes at once; other processes see them after the
 *   commit.
 * - fork: after fork() the child may go on using the handle. It reopens the
 *   environment on first use and forgets the parent's pending writes, which the
 *   parent commits. Views and iterators belong to the process that made them:
 *   a child may release them, or leave it; they keep nothing open there. Readers of
 *   streams have threads, which a child has not: there they may be closed, and their
 *   batches read, detached and released, which frees nothing; all else is LC_INVALID.
 * - Descriptors: those of the library are 3 or higher, whichever of 0 to 2 the
 *   program has closed, and are closed by exec.
 * - Views pin a snapshot: while one is held, space that later commits free is
 *   not reused. Release views soon; copy what is kept for long.
 * - Trust: data.mdb is checked structurally when opened and every record is
 *   verified when read, so accidental damage is reported as LC_CORRUPT. Open
 *   only modules whose writers you trust nevertheless; shards and .npy files
 *   may come from anywhere.
 * - Maps: data.mdb, lock.mdb and shards are read through maps. A program that makes
 *   one shorter while it is open brings SIGBUS to whoever reads there: replace such
 *   files by rename, never write over them.
 * - Every function that can fail returns an lc_status and leaves the text of
 *   the failure in lc_last_error() of the calling thread. Out-parameters are
 *   written only on success unless said otherwise.
 *
 * The byte formats are described in lmdbcache(5) and twh1(5).
 */
#ifndef LMDBCACHE_H
#define LMDBCACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LC_API __attribute__((visibility("default")))
#define LC_CHECKED __attribute__((warn_unused_result))
#else
#define LC_API
#define LC_CHECKED
#endif

/* ------------------------------------------------------------------------
 * Status and errors
 * ------------------------------------------------------------------------ */

/** The result of every call that can fail. The numbers are part of the ABI. */
typedef enum lc_status {
	LC_OK = 0,            /**< done */
	LC_NOT_FOUND = 1,     /**< no such cache_id, part, sample, series or input: a result, not
	                           a failure */
	LC_INVALID = 2,       /**< the caller's mistake: argument, option, dtype, shape or name */
	LC_CORRUPT = 3,       /**< stored bytes are damaged; never returned together with data */
	LC_NOT_MODULE = 4,    /**< the path exists but holds no module, shard or manifest */
	LC_VERSION = 5,       /**< written by a newer format than this library reads */
	LC_READONLY = 6,      /**< a write on a handle opened with LC_RDONLY */
	LC_NO_SPACE = 7,      /**< the file system is full, or a quota or file size limit is reached */
	LC_MAP_FULL = 8,      /**< the map must grow but views pin it, and did so for 100 ms;
	                           release them and call again */
	LC_BUSY = 9,          /**< no reader slot is free, or a resource is held elsewhere */
	LC_PERMISSION = 10,   /**< the system refused access */
	LC_IO = 11,           /**< any other failure of the system; lc_error.sys holds errno */
	LC_NO_MEMORY = 12,    /**< allocation failed */
	LC_FILESYSTEM = 13,   /**< network or FUSE file system, refused without LC_FORCE_FS */
	LC_CANCELLED = 14,    /**< a progress callback asked to stop */
	LC_UNSUPPORTED = 15,  /**< valid, but not representable in the format asked for */
	LC_SCHEMA = 16,       /**< a value of another structure than asked for, or than a
	                           strict module holds; the error shows both */
	LC_FAILED = 17,       /**< a function of the caller failed: lc_get_or_compute();
	                           a warehouse exceeds its validation limits */
	LC_STALE = 18,        /**< made from sources that are no longer the same */
	LC_EXISTS = 19,       /**< the cache_id is there and may not be replaced */
	LC_TIMEOUT = 20,      /**< what was waited for did not come in time */
	LC_ABANDONED = 21,    /**< what was waited for does not come: nobody writes it */
	LC_OTHER_CACHE = 22,  /**< a token of another module or other shards */
	LC_OTHER_ORDER = 23,  /**< a token of another order or seed */
	LC_CHANGED = 24,      /**< what was read before is no longer what it was: records
	                           in it were replaced, deleted or regrouped */
	LC_END = 25,          /**< the end of an iteration or a stream: a result, not a failure */
	LC_NO_FILE = 26       /**< no such file or directory: a module, a shard, a warehouse; the
	                           error names it */
} lc_status;

/** What went wrong last on this thread. */
typedef struct lc_error {
	lc_status status; /**< as returned by the call */
	int sys;          /**< errno or the LMDB code behind it, 0 if none */
	size_t item;      /**< position of the item of a batch that failed, which the text
	                       begins with: "item 7: "; SIZE_MAX if it is about none */
	char text[1000];  /**< one line: operation, file or key, what is wrong */
} lc_error;

/**
 * The error of the last failed call on the calling thread. Never NULL; valid
 * until the thread's next failing call. A call that succeeds leaves it alone.
 */
LC_API const lc_error *lc_last_error(void);

/** A short lower-case English name of a status, "corrupt" for LC_CORRUPT. */
LC_API const char *lc_status_name(lc_status status);

/** The library's version, "0.1.0". */
LC_API const char *lc_version(void);

/* ------------------------------------------------------------------------
 * dtypes and tensors
 * ------------------------------------------------------------------------ */

/** Element types. The numbers are stored in files (lmdbcache(5)). */
typedef enum lc_dtype {
	LC_BOOL = 0,     /**< one byte, 0 or 1 */
	LC_U8 = 1,
	LC_I8 = 2,
	LC_U16 = 3,
	LC_I16 = 4,
	LC_U32 = 5,
	LC_I32 = 6,
	LC_U64 = 7,
	LC_I64 = 8,
	LC_F16 = 9,      /**< IEEE 754 binary16 */
	LC_BF16 = 10,    /**< the upper half of binary32 */
	LC_F32 = 11,
	LC_F64 = 12,
	LC_C64 = 13,     /**< two f32: real, imaginary */
	LC_C128 = 14,    /**< two f64: real, imaginary */
	LC_F8_E4M3 = 15, /**< OCP 8-bit float, "fn" variant */
	LC_F8_E5M2 = 16,
	LC_F8_E8M0 = 17, /**< OCP scale: a power of two, without a sign */
	LC_F8_E4M3FNUZ = 18, /**< exponents 1 less than in LC_F8_E4M3; 0x80 is the NaN */
	LC_F8_E5M2FNUZ = 19, /**< likewise of LC_F8_E5M2, and without infinities */
	LC_F4_E2M1_X2 = 20,  /**< two OCP 4-bit floats in a byte, the first in its low bits */
	LC_C32 = 21,     /**< two f16: real, imaginary */
	LC_OPAQUE = 4096 /**< from here on: opaque dtypes, see lc_dtype_opaque() */
} lc_dtype;

#define LC_DTYPE_COUNT 22 /**< dtypes below LC_OPAQUE */

/** The most opaque dtypes of a process, the longest name of one, its largest element. */
#define LC_OPAQUE_MAX 4096
#define LC_OPAQUE_NAME_MAX 127
#define LC_OPAQUE_SIZE_MAX 64

/**
 * A dtype whose elements are bytes that mean something to the caller alone. They are
 * stored and given back bit for bit; what takes elements for numbers, and formats that
 * have no such dtype, refuse it. Of one name and one size it is the same in a process;
 * files have the name and the size, not the number. It is known until the process ends.
 * @param name  1 to LC_OPAQUE_NAME_MAX letters, digits and `_.,:+-<>|`
 * @param size  bytes an element, 1 to LC_OPAQUE_SIZE_MAX
 * @return LC_OK; LC_INVALID; LC_UNSUPPORTED if the process has LC_OPAQUE_MAX of them;
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_dtype_opaque(const char *name, size_t size,
    lc_dtype *out);

/** Bytes an element, 0 if @p dtype is none. */
LC_API size_t lc_dtype_size(lc_dtype dtype);

/** "f32", "u8", "c64", "f8_e4m3"; of an opaque one size and name: "opaque16:pose". NULL
 *  if @p dtype is none. For ever. */
LC_API const char *lc_dtype_name(lc_dtype dtype);

/**
 * The dtype of a name as lc_dtype_name() writes it, or as NumPy and PyTorch
 * do: "float32", "int64", "bfloat16", "float8_e4m3fn" …
 * @return LC_OK, LC_INVALID with the name in the error; of an opaque one as
 * lc_dtype_opaque().
 */
LC_API LC_CHECKED lc_status lc_dtype_parse(const char *name, lc_dtype *out);

/** The largest rank of a tensor. */
#define LC_MAX_NDIM 16

/**
 * A dense tensor in row-major (C) order, elements little-endian. Rank 0 is one
 * element; any dimension may be 0, and then there are no bytes.
 */
typedef struct lc_tensor {
	lc_dtype dtype;              /**< element type */
	uint32_t ndim;               /**< rank, 0 to LC_MAX_NDIM */
	uint64_t shape[LC_MAX_NDIM]; /**< the first ndim entries count */
	const void *data;            /**< the elements; may be NULL if nbytes is 0 */
	size_t nbytes;               /**< product of shape times element size */
} lc_tensor;

/**
 * Fill @p out from its parts and compute nbytes. Borrows @p data.
 * @return LC_OK; LC_INVALID for an unknown dtype, a rank above LC_MAX_NDIM, or
 * a size that overflows.
 */
LC_API LC_CHECKED lc_status lc_tensor_init(lc_tensor *out, lc_dtype dtype,
    uint32_t ndim, const uint64_t *shape, const void *data);

/** Free the data of a tensor that lc_get_copy() returned. NULL data is fine. */
LC_API void lc_tensor_free(lc_tensor *tensor);

/** A borrowed cache_id: 1 to LC_MAX_ID bytes of any value. */
typedef struct lc_id {
	const void *data; /**< the bytes */
	size_t size;      /**< how many */
} lc_id;

#define LC_MAX_ID 65536

/** An lc_id of a C string, without its terminator. Borrows @p text. */
static inline lc_id
lc_id_of(const char *text)
{
	lc_id id = { text, strlen(text) };
	return id;
}

/* ------------------------------------------------------------------------
 * Values: tensors and plain data in maps, lists, tuples, tagged values and pairs
 * ------------------------------------------------------------------------
 *
 * Worked example: the output of a detector, built, stored and read.
 *
 *     lc_value *out = lc_value_map();
 *     lc_value_set(out, "features", lc_value_tensor(&features));
 *     lc_value_set(out, "model", lc_value_str("yolo-x"));
 *     lc_value *boxes = lc_value_set(out, "boxes", lc_value_list());
 *     for (size_t i = 0; i < nboxes; i++)
 *         lc_value_append(boxes, lc_value_tensor(&box[i]));
 *     if (lc_put_value(cache, "img-1", 5, out) != LC_OK)
 *         errx(1, "%s", lc_last_error()->text);
 *     lc_value_free(out);
 *
 *     lc_view view;
 *     const lc_value *field;
 *     lc_tensor features;
 *     if (lc_get(cache, "img-1", 5, &view) == LC_OK) {
 *         if (lc_view_value(&view, "features", &field) == LC_OK &&
 *             lc_value_as_tensor(field, &features) == LC_OK)
 *             use(features.data, features.nbytes);
 *         lc_view_release(&view);
 *     }
 *
 * Building never has to be checked step by step: what fails (no memory, a name
 * twice, a child of something that has none) marks the tree, NULL is accepted
 * everywhere, and lc_value_check() or the put reports the first failure.
 *
 * A tree belongs to one thread while it is built; after that any number of
 * threads may read it. The nesting is at most LC_MAX_DEPTH deep, and a value has
 * at most 65,535 tensors, whose ranks sum to at most 65,535, and 1,048,576 parts
 * (a list without tensors in it counts as one).
 */

/** What a value, or a part of one, is. */
typedef enum lc_kind {
	LC_TENSOR = 0,  /**< a tensor */
	LC_MAP = 1,     /**< named values, in the order in which they were set */
	LC_LIST = 2,    /**< values */
	LC_TUPLE = 3,   /**< values; told apart from a list */
	LC_NIL = 4,     /**< nothing */
	LC_BOOLEAN = 5, /**< false or true */
	LC_INTEGER = 6, /**< -2^63 to 2^64-1 */
	LC_FLOAT = 7,   /**< binary64; the bits of a NaN are kept */
	LC_STRING = 8,  /**< bytes that are text, by convention UTF-8 */
	LC_BYTES = 9,   /**< bytes */
	LC_TAGGED = 10, /**< one value under a name, its tag, that says what it stands for:
	                     for a program or a language that has more types than these */
	LC_PAIRS = 11   /**< keys and values in turn: a map whose keys are any plain data */
} lc_kind;

/** "tensor", "map", "list" …; NULL if @p kind is not one of lc_kind. */
LC_API const char *lc_kind_name(lc_kind kind);

/** The deepest nesting of a value; a tensor alone has depth 1. */
#define LC_MAX_DEPTH 64

/** A value or a part of one. */
typedef struct lc_value lc_value;

/**
 * Make a value; NULL without memory. Strings and bytes are copied. A tensor's
 * data is borrowed: it must stay as it is until the tree has been put, copied
 * or freed. Free the root with lc_value_free().
 */
LC_API lc_value *lc_value_tensor(const lc_tensor *tensor);
LC_API lc_value *lc_value_map(void);
LC_API lc_value *lc_value_list(void);
LC_API lc_value *lc_value_tuple(void);
LC_API lc_value *lc_value_pairs(void);
LC_API lc_value *lc_value_nil(void);
LC_API lc_value *lc_value_boolean(int truth);
LC_API lc_value *lc_value_integer(int64_t number);
LC_API lc_value *lc_value_unsigned(uint64_t number);
LC_API lc_value *lc_value_float(double number);
LC_API lc_value *lc_value_str(const char *text);
LC_API lc_value *lc_value_strn(const char *text, size_t size);
LC_API lc_value *lc_value_bytes(const void *data, size_t size);

/**
 * Add a named child to a map, or a child to a list or tuple. The parent owns the
 * child from then on, also when this fails: then the parent is marked, the
 * child is freed unless it is part of a value already, and NULL is returned.
 * @param name  not empty, without a NUL; copied
 * @return the child, so that what is nested can be filled.
 */
LC_API lc_value *lc_value_set(lc_value *map, const char *name, lc_value *child);
LC_API lc_value *lc_value_append(lc_value *list, lc_value *child);

/**
 * Make a tagged value of a child, which it owns from then on as a parent does; it has no
 * other. What fails marks it. NULL without memory: then the child is freed.
 * @param tag  not empty, without a NUL; copied. The engine gives it no meaning: choose one
 *             that nobody else uses, such as "py.set"
 */
LC_API lc_value *lc_value_tagged(const char *tag, lc_value *child);

/**
 * Add a key and its value to pairs, which own both, as lc_value_append() does one.
 * Keys are not compared: whether one comes twice is the caller's business.
 * @param key  any plain data but a map: nothing with a tensor in it
 * @return the child
 */
LC_API lc_value *lc_value_pair(lc_value *pairs, lc_value *key, lc_value *child);

/**
 * Was the tree built without a failure?
 * @return LC_OK; LC_NO_MEMORY (also for NULL); LC_INVALID with what is wrong.
 */
LC_API LC_CHECKED lc_status lc_value_check(const lc_value *value);

/** Free a tree that was built or copied. NULL is harmless. Not for children. */
LC_API void lc_value_free(lc_value *value);

/** A copy of everything, tensors' data (64-byte aligned) included; NULL without
 *  memory. Free with lc_value_free(). */
LC_API lc_value *lc_value_copy(const lc_value *value);

/** Same structure, same bytes? A map's order counts, -0.0 differs from 0.0. */
LC_API int lc_value_equal(const lc_value *a, const lc_value *b);

/** Bytes of a key that lc_value_key() writes, its terminator included. */
#define LC_KEY_SIZE 36

/**
 * A cache_id made of content: "k1-" and 32 hex digits, the same for equal values in every
 * process, on every machine and in every version of the library. The order of a map or of
 * pairs does not count; all else does as in lc_value_equal(): kinds, dtypes, shapes, the bits of floats.
 * The digits are an XXH3-128, so that different values have different keys unless somebody
 * sets out to find two that have not. lmdbcache_value(3) defines the bytes that are hashed.
 * Another derivation would have another number after the "k".
 * @param out  LC_KEY_SIZE bytes, terminated
 * @return LC_OK; LC_INVALID or LC_NO_MEMORY if building the value failed; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_value_key(const lc_value *value, char out[LC_KEY_SIZE]);

/** What it is; LC_NIL for NULL. */
LC_API lc_kind lc_value_kind(const lc_value *value);

/** Children of a map, list or tuple; 1 of a tagged value; of pairs keys and values, twice
 *  as many as there are pairs; 0 for anything else. */
LC_API size_t lc_value_count(const lc_value *value);

/** Child @p i in order, NULL behind the last. */
LC_API const lc_value *lc_value_at(const lc_value *value, size_t i);

/** The name of child @p i of a map, the tag of a tagged value for 0, else NULL. */
LC_API const char *lc_value_name(const lc_value *map, size_t i);

/**
 * The part at a path: names and positions separated by dots, as in
 * "boxes.0.score". A dot or a backslash in a name is written `\.` or `\\`. The step to
 * the child of a tagged value is its tag; pairs have positions, of keys too.
 * NULL or "" is the value itself. NULL if there is no such part.
 */
LC_API const lc_value *lc_value_find(const lc_value *value, const char *path);

/**
 * The content of a part; borrowed from it.
 * @return LC_OK; LC_SCHEMA if it is of another kind, LC_INVALID for an integer
 * outside the type asked for. NULL is of no kind.
 */
LC_API LC_CHECKED lc_status lc_value_as_tensor(const lc_value *value, lc_tensor *out);
LC_API LC_CHECKED lc_status lc_value_as_boolean(const lc_value *value, int *out);
LC_API LC_CHECKED lc_status lc_value_as_integer(const lc_value *value, int64_t *out);
LC_API LC_CHECKED lc_status lc_value_as_unsigned(const lc_value *value, uint64_t *out);
LC_API LC_CHECKED lc_status lc_value_as_float(const lc_value *value, double *out);
/** Terminated by a NUL that @p size does not count; @p size may be NULL. */
LC_API LC_CHECKED lc_status lc_value_as_str(const lc_value *value, const char **out, size_t *size);
LC_API LC_CHECKED lc_status lc_value_as_bytes(const lc_value *value, const void **out, size_t *size);

/** A part of a value, as lc_value_parts() lists it. What it points to is the value's. */
typedef struct lc_part {
	lc_kind kind;      /**< what it is */
	uint32_t negative; /**< 1: an integer below 0, in of.integer; else it is in of.natural */
	size_t size;       /**< lc_value_count(); bytes of a string or bytes */
	union {
		const lc_tensor *tensor;
		const void *bytes; /**< of a string or bytes; a NUL follows them */
		double number;     /**< a float */
		uint64_t natural;  /**< an integer; 0 or 1 of a boolean */
		int64_t integer;
	} of;
} lc_part;

/**
 * All parts of a value in one call, for bindings that make objects of another language:
 * the value itself, then its children in order, each followed by its own. Before a child
 * with a name, of a map or a tagged value, that name comes as a string.
 * @param parts  gets the first @p room of them; may be NULL if that is 0
 * @return how many there are; 0 for NULL.
 */
LC_API size_t lc_value_parts(const lc_value *value, lc_part *parts, size_t room);

/**
 * The structure of a value as one line: "{features: f32[512], boxes: [f16[4],
 * f16[4]], model: string, tags: list}"; with shapes, not only ranks. A tagged value is
 * "(tag: f16[4])", pairs are "<integer: f16[4]>". What has children, is not a map and
 * has no tensor in it is told by its kind only.
 * @return as snprintf().
 */
LC_API int lc_value_describe(const lc_value *value, char *out, size_t room);

/* ------------------------------------------------------------------------
 * Codecs and other settings of a module
 * ------------------------------------------------------------------------ */

/** How the bytes of a tensor are stored. The numbers stand in files. */
typedef enum lc_codec {
	LC_CODEC_NONE = 0,        /**< as they are: read in place */
	LC_CODEC_LZ4 = 1,         /**< LZ4 */
	LC_CODEC_SHUFFLE_LZ4 = 2, /**< bytes of equal weight together, then LZ4 */
	LC_CODEC_U8PACK = 3,      /**< floats that take few values, such as scale * k + offset
	                               for an 8-bit k: as that k and a table */
	LC_CODEC_U8PACK_LZ4 = 4,  /**< the same, then LZ4 */
	LC_CODEC_AUTO = 254,      /**< the one that shrinks a sample of the tensor best */
	LC_CODEC_DEFAULT = 255    /**< what the module's settings say */
} lc_codec;

#define LC_CODEC_COUNT 5

/** "none", "lz4", "shuffle-lz4", "u8pack", "u8pack-lz4", "auto", "default";
 *  NULL for anything else. */
LC_API const char *lc_codec_name(lc_codec codec);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_codec_parse(const char *name, lc_codec *out);

/** What happens when a value of another structure than the first comes. */
typedef enum lc_policy {
	LC_EVOLVE = 0, /**< it is stored; the module gets one more schema */
	LC_STRICT = 1  /**< LC_SCHEMA, and nothing is stored; the order of a map's
	                    names does not count. The first structure is that of the first
	                    value ever stored; in a new module the first put makes it */
} lc_policy;

/** "evolve", "strict"; NULL for anything else. */
LC_API const char *lc_policy_name(lc_policy policy);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_policy_parse(const char *name, lc_policy *out);

/** Which chunks leave first when a module is above its max_bytes. */
typedef enum lc_evict {
	LC_EVICT_OLDEST = 0, /**< those committed first */
	LC_EVICT_UNREAD = 1  /**< those read the longest ago, by the second; reads of handles
	                          opened with LC_RDONLY are not seen */
} lc_evict;

/** "oldest", "unread"; NULL for anything else. */
LC_API const char *lc_evict_name(lc_evict evict);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_evict_parse(const char *name, lc_evict *out);

/** Longest lc_settings.length_field, in bytes. */
#define LC_LENGTH_FIELD_MAX 255

/** What a module keeps for all its users. */
typedef struct lc_settings {
	size_t struct_size; /**< set by the caller to sizeof(lc_settings) */
	lc_codec codec;     /**< of puts that name none; default LC_CODEC_NONE */
	int level;          /**< 0 the codec's default, 1 to 12 high compression, -1 to
	                         -65537 acceleration of LZ4; default 0 */
	lc_policy policy;   /**< default LC_EVOLVE */
	lc_evict evict;     /**< default LC_EVICT_OLDEST */
	uint64_t max_bytes; /**< budget of all records, live and dead, 0 for none; default 0.
	                         Checked by each commit, which drops 64 chunks at most; the
	                         newest chunk stays. What a view shows stays valid */
	int auto_compact;   /**< 1, the default: each commit frees the chunks whose last live
	                         record it replaces or deletes, and while more than half of all
	                         data is dead it rewrites some chunks without their dead
	                         records; see lmdbcache_module(3). 0: only lc_compact() does */
	char length_field[LC_LENGTH_FIELD_MAX + 1]; /**< the tensor whose first axis is a
	                         record's length, such as its tokens: a path as for
	                         lc_value_find(), "." for a record that is a tensor itself;
	                         "" for none, the default. The ledger sums the lengths of
	                         each chunk, so that streams of windows seek in it. Only a
	                         module without records can be given one or another */
} lc_settings;

/* ------------------------------------------------------------------------
 * Opening and closing a module
 * ------------------------------------------------------------------------ */

/** An open module. */
typedef struct lc_cache lc_cache;

/** lc_options.flags */
#define LC_RDONLY   0x01u /**< never write; the module must exist */
#define LC_CREATE   0x02u /**< make root and module if missing (default without options) */
#define LC_FORCE_FS 0x04u /**< accept network and FUSE file systems */

/** What survives a loss of power; see lmdbcache(3), DURABILITY. */
typedef enum lc_durability {
	LC_DURABLE_FULL = 0,   /**< every acknowledged flush survives */
	LC_DURABLE_RELAXED = 1 /**< consistent, but the last commit may be lost */
} lc_durability;

#define LC_RANK_ANY (-1)

/** When what is read is compared with its checksum; see lmdbcache(3), VERIFYING. */
typedef enum lc_verify_mode {
	LC_VERIFY_NEVER = 0,  /**< damage to a tensor's bytes goes unseen; lengths and
	                           offsets are checked all the same */
	LC_VERIFY_ALWAYS = 1, /**< each time */
	LC_VERIFY_ONCE = 2    /**< at the first read in this process; what is damaged after
	                           that, on the disk or in memory, goes unseen */
} lc_verify_mode;

/** "never", "always", "once"; NULL for anything else. */
LC_API const char *lc_verify_mode_name(lc_verify_mode mode);
LC_API LC_CHECKED lc_status lc_verify_mode_parse(const char *name, lc_verify_mode *out);

/** How to open a module. Fill with lc_options_init(), then change fields. */
typedef struct lc_options {
	size_t struct_size;         /**< sizeof(lc_options), set by lc_options_init() */
	unsigned flags;             /**< LC_RDONLY, LC_CREATE, LC_FORCE_FS; default LC_CREATE */
	lc_verify_mode verify;      /**< default LC_VERIFY_ALWAYS */
	lc_durability durability;   /**< default LC_DURABLE_FULL */
	uint64_t flush_every;       /**< records a commit, at least 1; default 2048 */
	uint64_t chunk_bytes;       /**< bytes a commit, 64 KiB to 64 MiB; default 4 MiB */
	uint64_t flush_interval_ms; /**< commit pending writes this old; 0 never, default 1000 */
	uint64_t timeout_ms;        /**< the most that a call waits, see lc_set_timeout();
	                                 default UINT64_MAX, for ever */
	uint64_t map_size;          /**< address space for the map in bytes, grows when needed;
	                                 default 1 TiB, halved while the system refuses it */
	uint64_t pin_warn_ms;       /**< log a view or walk held longer than this; 0 never, default 60000 */
	lc_codec codec;             /**< of this handle's puts; default LC_CODEC_DEFAULT */
	int level;                  /**< of codec, as in lc_settings; default 0 */
	uint64_t lru_bytes;         /**< memory for decoded tensors and for what another rank
	                                 puts; 0 off, default 64 MiB */
	int rank;                   /**< of this process; default RANK of the environment, or 0
	                                 if that is not a decimal number that fits */
	int writer_rank;            /**< the rank that writes, or LC_RANK_ANY; default
	                                 LC_RANK_ANY. On other ranks puts and deletes reach
	                                 the LRU only (with lru_bytes 0 they are forgotten),
	                                 and flush has nothing to do; what would write all
	                                 the same, such as lc_clear(), is LC_READONLY */
	void (*log)(void *ctx, const char *line); /**< told of unusual events; default NULL.
	                                 Called from any thread; must not call the library */
	void *log_ctx;              /**< its first argument */
	int (*stop)(void *ctx);     /**< asked again and again, every few records, by calls that
	                                 read many: lc_get_batch(), lc_contains_batch(),
	                                 lc_gather() and their like. Non-zero ends the call with
	                                 LC_CANCELLED, and all items that are left have that
	                                 status. In the calling thread, without a lock;
	                                 default NULL */
	void *stop_ctx;             /**< its argument */
} lc_options;

/** Set every field of @p options to its default. */
LC_API void lc_options_init(lc_options *options);

/**
 * Open a module, making it if the options allow.
 *
 * @param root       the directory that holds modules
 * @param module_id  `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`
 * @param options    NULL for the defaults
 * @param out        the handle; close it with lc_close() or lc_discard()
 *
 * Handles of one process on one module, by whatever path, share the environment and
 * what is pending: each reads at once what is put through any of them, the last call
 * on a key counts, and a flush by one is a flush of all. Each has its own options. The
 * limits flush_every, chunk_bytes and flush_interval_ms are looked at when something is
 * put through their handle; a commit is as durable as the most careful handle with a
 * put in it asks.
 *
 * The files of a module must be regular files: links are not followed. Readers too need to write lock.mdb, and the space for it: without
 * the one it is LC_PERMISSION, without the other LC_NO_SPACE, and what was made of a
 * new module is taken away.
 *
 * Opening reads at most some 64 pages of the file, whatever the module holds. So damage to
 * the structure of a large module may be found later: by the call that reads there, or by
 * the first commit of the process, which has the whole structure checked before.
 *
 * @return LC_OK; LC_INVALID for a bad name or option; LC_NO_FILE if the
 * module does not exist and may not be made; LC_NOT_MODULE, LC_VERSION,
 * LC_CORRUPT, LC_FILESYSTEM, LC_PERMISSION, LC_NO_SPACE, LC_IO, LC_NO_MEMORY; LC_TIMEOUT.
 */
LC_API LC_CHECKED lc_status lc_open(const char *root, const char *module_id,
    const lc_options *options, lc_cache **out);

/**
 * Set timeout_ms of an open handle: the most that a call on it waits, in milliseconds;
 * 0 does not wait, UINT64_MAX is for ever. It holds for waits that begin later, of any
 * thread. With a short limit a caller can look after other things, such as signals,
 * and call again.
 *
 * What is limited is each wait for the handle's commits, which may wait in turn for a
 * writer of another process: by a put or delete that finds two commits' worth pending,
 * lc_flush(), lc_close(), and the calls that flush first, such as lc_count() and
 * lc_iter_open(); the wait of lc_get_or_compute() for other threads; and each wait of
 * lc_open(), with timeout_ms of its options, for a process that opens or rewrites the
 * module. (Behind a process that was stopped while it made a new module,
 * lc_open() waits without a limit.) The call returns LC_TIMEOUT then, and nothing is
 * lost: a put was not taken; a commit goes on in the background, and the next flush
 * waits for the same one. Calls that write
 * themselves, such as lc_clear(), lc_settings_set() and lc_compact(), wait for other
 * writers without a limit; lc_copy() goes on waiting for its target, and asks its
 * progress function each time; so does lc_discard() for a commit that has begun.
 */
LC_API void lc_set_timeout(lc_cache *cache, uint64_t timeout_ms);

/**
 * Flush and close the handle, also when the flush fails; then the first error is returned,
 * and what was pending is lost, unless this process has another handle that writes the
 * module: there it stays pending. A handle that only reads flushes nothing. Counters are saved, for which it waits
 * while another process commits. NULL is harmless.
 *
 * Views, iterators, sources with their streams and readers, and writers may be held
 * meanwhile, and after: they are used and released as before, in any order and from any
 * thread; a reservation can then only be cancelled. All other calls on the handle have returned before. The module stays open for
 * what is held, so that lc_drop(), lc_shrink() and the like say LC_BUSY, until the last is
 * released. A tensor that was decoded, or was pending, is a copy in memory,
 * which needs no module.
 *
 * @return LC_OK; LC_TIMEOUT: the handle stays open and has lost nothing, close it
 * again or discard it; else as lc_flush().
 */
LC_API lc_status lc_close(lc_cache *cache);

/** As lc_close() without committing what is pending: it is lost with the last handle of
 *  this process that writes the module. NULL is harmless. */
LC_API void lc_discard(lc_cache *cache);

/**
 * Call @p fn with every module_id under @p root, in byte order, until it
 * returns non-zero. The name is valid during the call. A directory that is not
 * a module is passed over. A root that does not exist holds no modules.
 * @return LC_OK, LC_CANCELLED if @p fn stopped it, LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_modules(const char *root,
    int (*fn)(void *ctx, const char *module_id), void *ctx);

/** Read the settings of a module. @p out->struct_size must be set. */
LC_API LC_CHECKED lc_status lc_settings_get(lc_cache *cache, lc_settings *out);

/**
 * Change the settings of a module, durable on LC_OK. Other processes follow at
 * their next commit. Records that are stored stay as they are; lc_compact() can
 * code them anew.
 * @return LC_OK; LC_INVALID, also for LC_CODEC_DEFAULT; LC_CORRUPT if the stored
 * settings are damaged; LC_READONLY; LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_settings_set(lc_cache *cache, const lc_settings *settings);

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/**
 * Store @p tensor under a cache_id, replacing what stood there. The bytes are
 * copied; the record is pending until the next commit and the handles of this process
 * read it at once. Commits happen at flush_every records, chunk_bytes bytes or
 * flush_interval_ms, on a thread of the library's; puts wait while two commits'
 * worth is pending.
 *
 * @return LC_OK; LC_INVALID for an empty or too long id or a bad tensor, and in a
 * module that is filled by its inputs; LC_SCHEMA if the module is strict and holds
 * something else (this item only, nothing else is affected); LC_READONLY; or the
 * error of an earlier commit, reported once to each handle: then this record
 * was not taken, and what was pending is tried again at the next commit. LC_TIMEOUT if
 * there was no room in time: then it was not taken either.
 */
LC_API LC_CHECKED lc_status lc_put(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor);

/**
 * Store a value under a cache_id, as lc_put() does a tensor. A root that is a
 * tensor is the same record as lc_put() makes. A module holds 4,096 structures at
 * most, each with 32 MiB of names at most; a record takes less than 2 GiB as it is
 * stored, and a tensor that is coded may have 16 GiB before.
 * @return as lc_put(); LC_INVALID or LC_NO_MEMORY if building the value failed;
 * LC_SCHEMA if the module is strict and the structure is another one, or if it
 * holds as many as it may.
 */
LC_API LC_CHECKED lc_status lc_put_value(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value);

/**
 * lc_put_value() with a codec for this value's tensors. A tensor that it cannot
 * shrink is stored as it is.
 * @param level  as in lc_settings
 */
LC_API LC_CHECKED lc_status lc_put_coded(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value, lc_codec codec, int level);

/**
 * Store @p n tensors. A bad item does not stop the others; after one that is LC_TIMEOUT
 * all are, and were not tried.
 * @param statuses  NULL, or room for n results, always filled
 * @return LC_OK, or the first failing item's status; the error begins with its
 * position: "item 7: ".
 */
LC_API LC_CHECKED lc_status lc_put_batch(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_tensor *tensors, lc_status *statuses);

/** lc_put_batch() of values. */
LC_API LC_CHECKED lc_status lc_put_values(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_value *const *values, lc_status *statuses);

/**
 * lc_put_batch() of @p n tensors that are alike and lie one after another.
 * @param row   dtype and shape of each; its data is not looked at
 * @param rows  their elements: n times row's bytes
 */
LC_API LC_CHECKED lc_status lc_put_gathered(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_tensor *row, const void *rows, lc_status *statuses);

/**
 * lc_put() and lc_flush() in one call: the record is durable on LC_OK, and so is all that
 * was put before. From 256 KiB on the elements are copied once, straight into the file's
 * pages, and hashed on the way; lc_put() copies them twice. Threads that call it at the
 * same time share a commit. With lc_set_timeout() it is the same as the two calls.
 * @return as lc_put(), or as lc_flush(): then the record is pending, as after lc_put(), and
 * the next commit tries again; @p tensor is no longer used.
 */
LC_API LC_CHECKED lc_status lc_put_durable(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor);

/** lc_put_value() and lc_flush() in one call, as lc_put_durable(). */
LC_API LC_CHECKED lc_status lc_put_value_durable(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value);

/** A record that is being written in place; see lc_reserve(). */
typedef struct lc_reservation lc_reservation;

/**
 * Begin a put of a large tensor: get memory for its elements, and write them there, from a
 * file, a decoder or a device. lc_put() would copy them once more. Nothing is stored, and
 * no key is locked, before lc_reserve_commit().
 *
 * @param tensor  dtype and shape; its data is not looked at
 * @param data    gets 64-byte aligned memory for the elements, which the caller writes
 *                until the reservation ends. Its bytes are not set
 * @param out     to be ended by lc_reserve_commit() or lc_reserve_cancel()
 *
 * There may be any number of reservations, also of one key; each takes the memory of its
 * record, as much as the tensor and up to a page more. Different threads may write
 * different ones, and any thread may end one. A flush does not wait for them, and neither
 * does lc_close(): a reservation whose handle was closed can only be cancelled. After fork()
 * parent and child each have a copy, and each ends its own.
 *
 * @return as lc_put(), but it waits for nothing, and reports no earlier commit; LC_INVALID
 * also for a tensor whose record is above 2 GiB; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_reserve(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor, void **data, lc_reservation **out);

/**
 * Put the record, as lc_put() does at this moment: it replaces what was put before, and is
 * durable after lc_flush(). All elements have been written; the memory belongs to the
 * library again. With a codec they are coded now, and a tensor of less than 64 KiB is
 * copied.
 * @return LC_OK: the reservation has ended; as lc_put(): it has not, and neither have the
 * elements changed: commit it again, or cancel it.
 */
LC_API LC_CHECKED lc_status lc_reserve_commit(lc_reservation *reservation);

/** End a reservation and store nothing. NULL is harmless. */
LC_API void lc_reserve_cancel(lc_reservation *reservation);

/**
 * Forget a cache_id. Pending like a put, durable after lc_flush().
 * @return LC_OK; LC_NOT_FOUND if it was not there; otherwise as lc_put().
 */
LC_API LC_CHECKED lc_status lc_delete(lc_cache *cache, const void *id,
    size_t id_size);

/**
 * Forget @p n cache_ids. A bad item does not stop the others.
 * @param statuses  NULL, or room for n results: LC_OK, LC_NOT_FOUND or an error
 * @return LC_OK when each was forgotten or not there; else as lc_put_batch().
 */
LC_API LC_CHECKED lc_status lc_delete_batch(lc_cache *cache, size_t n,
    const lc_id *ids, lc_status *statuses);

/**
 * Commit everything put or deleted before the call, on any handle of this process; it is
 * durable on LC_OK, also when an earlier commit of it had failed. On failure
 * nothing is lost: the writes stay pending and the next flush tries again. While one commit
 * runs, all that threads and handles of this process put and flush waits for the next one,
 * which serves them together. A call without a time limit commits in its own thread.
 * @return LC_OK, or the error of the commit that failed: LC_NO_SPACE,
 * LC_MAP_FULL, LC_IO, LC_NO_MEMORY …; LC_TIMEOUT while the commit goes on. What
 * other threads put between two calls counts for the second.
 */
LC_API LC_CHECKED lc_status lc_flush(lc_cache *cache);

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

/**
 * One record in place. `tensor.data` is 64-byte aligned and points into the
 * map (or at a copy, for a record that is still pending or was decoded); it is
 * read-only and valid until lc_view_release(), also after lc_close(). Allocated by the
 * caller; released from any thread. It may be moved: copy the struct and forget the old
 * one, so that one of them is released.
 */
typedef struct lc_view {
	lc_status status;  /**< of this item; the view is held only when LC_OK */
	lc_kind kind;      /**< LC_TENSOR: tensor is filled; else lc_view_value() reads it */
	lc_tensor tensor;  /**< the record's tensor; data NULL and nbytes 0 without one */
	void *lc_private[4];
} lc_view;

/**
 * Read one record as a view of the newest commit. out->status is always set to
 * what is returned.
 * @return LC_OK; LC_NOT_FOUND; LC_INVALID for an empty or too long id;
 * LC_CORRUPT with the key in the error; LC_BUSY without a reader slot;
 * LC_MAP_FULL if another process grew the map and views of this one keep it
 * from following; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_get(lc_cache *cache, const void *id,
    size_t id_size, lc_view *out);

/**
 * Read a held view as a value, or one part of it. Only the bytes of tensors in
 * that part are touched: verified, and decoded if they are coded.
 * @param path  as for lc_value_find(); NULL for everything
 * @param out   valid until lc_view_release(); not to be freed
 *
 * One view is read by one thread at a time.
 * @return LC_OK; LC_NOT_FOUND if the value has no such part; LC_INVALID if the view
 * is not held; LC_CORRUPT with the key in the error; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_view_value(lc_view *view, const char *path,
    const lc_value **out);

/** Give a view back. Harmless on one that is not held, or twice. */
LC_API void lc_view_release(lc_view *view);

/**
 * Read one tensor into 64-byte aligned memory that lc_tensor_free() frees.
 * @return as lc_get(); LC_SCHEMA if the record is no single tensor.
 */
LC_API LC_CHECKED lc_status lc_get_copy(lc_cache *cache, const void *id,
    size_t id_size, lc_tensor *out);

/**
 * Read one tensor into the caller's memory.
 * @param buf   room for @p room bytes; out->data will point at it. A copy is verified as
 *              it is made: after LC_CORRUPT the buffer may hold anything
 * @return as lc_get_copy(); LC_INVALID if it needs more than @p room bytes.
 */
LC_API LC_CHECKED lc_status lc_get_into(lc_cache *cache, const void *id,
    size_t id_size, void *buf, size_t room, lc_tensor *out);

/**
 * Read @p n records under one snapshot. Memory latency is overlapped across
 * the batch, so this beats n calls of lc_get().
 *
 * @param views      room for n views; views[i].status is LC_OK, LC_NOT_FOUND or
 *                   an error. Always filled. Release with lc_views_release().
 * @param missing    NULL, or room for n positions; gets those not found, ascending
 * @param n_missing  NULL, or gets their number
 * @return LC_OK when each item was found or is missing; else the first item's
 * error, which begins with its position: "item 7: ". Even then the held views must be
 * released.
 */
LC_API LC_CHECKED lc_status lc_get_batch(lc_cache *cache, size_t n,
    const lc_id *ids, lc_view *views, size_t *missing, size_t *n_missing);

/** lc_view_release() on each of @p n views. */
LC_API void lc_views_release(lc_view *views, size_t n);

/** The results of one call of an lc_compute_fn, to be filled by it. */
typedef struct lc_results lc_results;

/**
 * Compute values that the cache lacks.
 * @param keys     all keys of the lc_get_or_compute() call
 * @param missing  positions in @p keys to compute, ascending
 * @param n        how many
 * @param results  where to store result j, of keys[missing[j]], with
 *                 lc_result_tensor(), lc_result_value() or lc_result_fail()
 * @return LC_OK. Anything else fails every result that was not set; those that
 * were set are stored all the same.
 */
typedef lc_status (*lc_compute_fn)(void *ctx, const lc_id *keys,
    const size_t *missing, size_t n, lc_results *results);

/** Set result @p j; what is given is copied before the call returns.
 *  @return LC_OK; LC_INVALID for a bad value, a position outside the call or a
 *  second result for it; LC_SCHEMA; LC_NO_MEMORY. Then the result is failed. */
LC_API lc_status lc_result_tensor(lc_results *results, size_t j, const lc_tensor *tensor);
LC_API lc_status lc_result_value(lc_results *results, size_t j, const lc_value *value);
/** Say that result @p j cannot be computed, and why. */
LC_API void lc_result_fail(lc_results *results, size_t j, const char *why);

/**
 * Read @p n records; compute and store those that are missing or damaged.
 *
 * @param keys  cache_ids; one that comes twice is computed once
 * @param fn    called at most once with exactly the missing positions; again only
 *              for keys that another thread was computing and failed. Called in
 *              the calling thread, without locks held. It may use the library,
 *              but not ask for the keys that it is computing.
 * @param out   room for n views in the order of @p keys, always filled: LC_OK, or
 *              LC_FAILED for a key that fn failed, or an error. To be released.
 *
 * A key that another thread is computing, through any handle of this process, is
 * awaited, not computed again. Results are pending like puts; on a rank that does not
 * write they reach the LRU only, and keys are awaited within the handle. A key that is awaited, or whose result finds no room,
 * for longer than the handle's timeout_ms is LC_TIMEOUT: ask for it again. That
 * result was not stored.
 * @return LC_OK when every view is held, else the first failing item's status;
 * the error names the key and how many failed.
 */
LC_API LC_CHECKED lc_status lc_get_or_compute(lc_cache *cache, const lc_id *keys,
    size_t n, lc_compute_fn fn, void *ctx, lc_view *out);

/**
 * Ask the system to read @p n records from disk ahead of their use. A hint:
 * ids that are missing or bad are passed over.
 */
LC_API LC_CHECKED lc_status lc_prefetch(lc_cache *cache, size_t n,
    const lc_id *ids);

/**
 * Copy @p n tensors of one dtype and shape into one block of memory, row after row:
 * looked up together, verified and copied in one pass.
 *
 * @param field      the tensor within structured values, a path as for
 *                   lc_value_find(); NULL for records that are tensors
 * @param row        dtype and shape of each; its data is not looked at
 * @param rows       the block: n times row's bytes, all written; a row without a
 *                   record is 0
 * @param room       size of the block in bytes
 * @param threads    how many share the work, the calling one included; 0 is 1. Each
 *                   has 64 ids at least, and reads the commit that is the newest when
 *                   it begins
 * @param statuses   NULL, or room for n results: LC_OK, LC_NOT_FOUND or an error
 * @param n_missing  NULL, or gets the number of those not found
 * @return as lc_get_batch(); LC_SCHEMA for a record of another dtype or shape, or
 * without that field; LC_INVALID if the rows do not fit.
 */
LC_API LC_CHECKED lc_status lc_gather(lc_cache *cache, size_t n, const lc_id *ids,
    const char *field, const lc_tensor *row, void *rows, size_t room, unsigned threads,
    lc_status *statuses, size_t *n_missing);

/** What lc_gather_columns() takes out of each record. */
typedef struct lc_column {
	const char *field; /**< the tensor within structured values, a path as for
	                        lc_value_find(); NULL for records that are tensors */
	lc_tensor row;     /**< dtype and shape of each; its data is not looked at */
	void *rows;        /**< the block: n times row's bytes, all written */
	size_t room;       /**< size of the block in bytes */
} lc_column;

/**
 * lc_gather() of @p n_columns parts of each record at once. A record that lacks one of
 * them, or has it in another dtype or shape, is LC_SCHEMA, and is 0 in all blocks.
 */
LC_API LC_CHECKED lc_status lc_gather_columns(lc_cache *cache, size_t n, const lc_id *ids,
    const lc_column *columns, size_t n_columns, unsigned threads, lc_status *statuses,
    size_t *n_missing);

/**
 * The dtype and shape to gather: those of the first of @p n records that is there.
 * @param out  its data is NULL
 * @return LC_OK; LC_NOT_FOUND if none is there; otherwise as lc_gather().
 */
LC_API LC_CHECKED lc_status lc_gather_row(lc_cache *cache, size_t n, const lc_id *ids,
    const char *field, lc_tensor *out);

/** LC_OK if the cache_id is stored or pending, LC_NOT_FOUND if not. */
LC_API LC_CHECKED lc_status lc_contains(lc_cache *cache, const void *id,
    size_t id_size);

/**
 * Which of @p n cache_ids are neither stored nor pending? Only the index and the
 * heads of records are read.
 * @param missing    NULL, or room for n positions; gets those not there, ascending
 * @param n_missing  NULL, or gets their number
 * @return as lc_get_batch().
 */
LC_API LC_CHECKED lc_status lc_contains_batch(lc_cache *cache, size_t n,
    const lc_id *ids, size_t *missing, size_t *n_missing);

/** The number of cache_ids in the module; pending writes are flushed first. */
LC_API LC_CHECKED lc_status lc_count(lc_cache *cache, uint64_t *out);

/** Facts of a module, of its newest commit. Bytes unless said otherwise. */
typedef struct lc_stats {
	size_t struct_size;       /**< set by the caller to sizeof(lc_stats) */
	uint8_t uuid[16];         /**< the module's identity, random */
	uint64_t created_ms;      /**< when it was made, ms since 1970 */
	uint32_t format;          /**< format version of the module */
	uint32_t schemas;         /**< distinct structures of values */
	uint64_t generation;      /**< commits so far */
	uint64_t records;         /**< live records, as lc_count() */
	uint64_t dead_records;    /**< replaced or deleted, still on disk */
	uint64_t chunks;          /**< runs of records in commit order */
	uint64_t live_bytes;      /**< of live records, headers included */
	uint64_t dead_bytes;      /**< of dead records */
	uint64_t index_bytes;     /**< of the index runs */
	uint64_t index_runs;      /**< how many sorted runs the index has */
	uint64_t file_bytes;      /**< size of data.mdb */
	uint64_t free_bytes;      /**< of it, pages that commits can reuse */
	uint64_t map_bytes;       /**< address space of the map */
	uint64_t pending_records; /**< puts and deletes of this process not yet durable */
	uint64_t pending_bytes;   /**< their encoded size */
	uint32_t readers;         /**< reader slots in use, all processes */
	uint32_t max_readers;     /**< reader slots there are */
	uint64_t oldest_pin_ms;   /**< age of the oldest view or walk held in this process */
} lc_stats;

/** Fill @p out, whose struct_size the caller has set. */
LC_API LC_CHECKED lc_status lc_stat(lc_cache *cache, lc_stats *out);

/**
 * What happened to a module since it was made, by all processes that have
 * committed or closed a writing handle since, and by this process. The counts of
 * a process that is killed are lost from its last commit on, and those of one
 * that only reads (LC_RDONLY) are seen by itself only.
 */
typedef struct lc_counters {
	size_t struct_size;      /**< set by the caller to sizeof(lc_counters) */
	uint64_t hits;           /**< records that were asked for and read */
	uint64_t misses;         /**< that were not there */
	uint64_t puts;           /**< records committed */
	uint64_t deletes;        /**< deletes committed */
	uint64_t put_bytes;      /**< bytes of the records committed */
	uint64_t commits;        /**< commits of puts and deletes */
	uint64_t evicted_records, evicted_bytes; /**< for the budget */
	uint64_t flush_us[4];    /**< duration of a commit: 50th, 90th and 99th percentile
	                              and maximum, microseconds, upper bounds of a histogram
	                              with 4 steps a power of two */
	uint64_t lru_hits, lru_misses; /**< of this handle, since it was opened */
	uint64_t lru_evictions;  /**< of this handle */
	uint64_t lru_records;    /**< decoded tensors and records held now */
	uint64_t lru_bytes;      /**< memory that they take, never above the limit */
	uint64_t computed, compute_failures; /**< by lc_get_or_compute() of this handle */
	uint64_t awaited;        /**< keys that another thread was computing */
} lc_counters;

/** Fill @p out, whose struct_size the caller has set. */
LC_API LC_CHECKED lc_status lc_counters_get(lc_cache *cache, lc_counters *out);

/** What a module stores under one structure; dead records included. */
typedef struct lc_schema_stats {
	uint32_t id;           /**< schema id */
	const char *structure; /**< "{features: f32[*], label: plain}": ranks, not shapes;
	                            "f32[*,*,*]" has rank 3; valid during the callback */
	uint64_t records;      /**< in chunks */
	uint64_t raw_bytes;    /**< of their tensors, decoded */
	uint64_t stored_bytes; /**< of their tensors, as stored */
	uint64_t tensors[LC_CODEC_COUNT]; /**< how many are stored with each codec */
} lc_schema_stats;

/**
 * Call @p fn with each schema of the newest commit in the order of ids, until it
 * returns non-zero. Pending writes are flushed first.
 * @return LC_OK; LC_CANCELLED if @p fn stopped it; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_schemas(lc_cache *cache,
    int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx);

/* ------------------------------------------------------------------------
 * Iterating
 * ------------------------------------------------------------------------ */

/** A walk over one snapshot of a module. Used by one thread at a time; it may outlive its
 *  handle, see lc_close(). */
typedef struct lc_iter lc_iter;

/** lc_iter_open() flags */
#define LC_BY_KEY      0x00u /**< cache_ids in byte order (memcmp, shorter first) */
#define LC_BY_COMMIT   0x01u /**< chunks in commit order, records in put order */
#define LC_BY_ORDER    0x04u /**< of a module with inputs: chunks in the published order, then,
                                  input by input, those that wait for their place; records
                                  in put order. Of other modules as LC_BY_COMMIT */
#define LC_BY_INPUT    0x08u /**< the same, one input after another from the start */
#define LC_ITER_LISTED 0x02u /**< do not touch the data: checksums are not verified */

/** What an iterator stands on; borrowed until the next call on it. */
typedef struct lc_item {
	lc_id id;             /**< the cache_id */
	lc_kind kind;         /**< LC_TENSOR: tensor is filled; else see lc_iter_value() */
	lc_codec codec;       /**< of the (first) tensor */
	lc_tensor tensor;     /**< 64-byte aligned; in place, or decoded into memory of the
	                           iterator. Data is NULL if it is coded and the walk is
	                           LC_ITER_LISTED; nbytes is that of the decoded tensor */
	uint64_t chunk;       /**< chunk number, rising in commit order */
	uint64_t stored_size; /**< bytes of the record in the chunk */
} lc_item;

/**
 * Start a walk. Pending writes are flushed first. Holds a
 * snapshot until lc_iter_close().
 * @param prefix  only cache_ids that start with these @p prefix_size bytes;
 *                NULL and 0 for all
 */
LC_API LC_CHECKED lc_status lc_iter_open(lc_cache *cache, unsigned flags,
    const void *prefix, size_t prefix_size, lc_iter **out);

/**
 * Step. After LC_CORRUPT, which names the record in the error, the next call
 * goes on behind the damage.
 * @return LC_OK; LC_END; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_iter_next(lc_iter *iter, lc_item *out);

/**
 * The record that the iterator stands on as a value, or one part of it, as
 * lc_view_value() does; in a walk that is LC_ITER_LISTED its tensors have no data.
 * Valid until lc_iter_next() or lc_iter_close().
 */
LC_API LC_CHECKED lc_status lc_iter_value(lc_iter *iter, const char *path,
    const lc_value **out);

/** End a walk. NULL is harmless. */
LC_API void lc_iter_close(lc_iter *iter);

/* ------------------------------------------------------------------------
 * Verifying
 * ------------------------------------------------------------------------ */

/**
 * Callbacks of long operations; any member may be NULL. They may be called from
 * another thread than the operation's caller, never two at once.
 */
typedef struct lc_progress {
	/** Called now and then with work done and to do, in bytes; non-zero stops
	 *  the operation with LC_CANCELLED. */
	int (*step)(void *ctx, uint64_t done, uint64_t total);
	/** Called for each damage found with one line that names it. */
	void (*damage)(void *ctx, const char *line);
	void *ctx; /**< first argument of all */
	/** Called when a part of the work begins, with its name in a word or two, which
	 *  stays; the numbers of step begin anew. */
	void (*phase)(void *ctx, const char *name);
} lc_progress;

/** What lc_verify() counted. */
typedef struct lc_verify_result {
	uint64_t chunks;  /**< chunks read */
	uint64_t records; /**< records read, live and dead */
	uint64_t live;    /**< of them, those that the index names */
	uint64_t bytes;   /**< bytes hashed */
	uint64_t damaged; /**< damages found */
} lc_verify_result;

/**
 * Read everything of the newest commit: the pages of the B-trees and the free
 * list, every chunk and record, every index entry, the ledger and the counters,
 * and compare them with one another. Nothing is changed. Up to 8 threads read the
 * chunks; only the calling one calls back.
 * @return LC_OK; LC_CORRUPT if damage was found (out is filled); LC_CANCELLED;
 * LC_IO.
 */
LC_API LC_CHECKED lc_status lc_verify(lc_cache *cache,
    const lc_progress *progress, lc_verify_result *out);

/* ------------------------------------------------------------------------
 * Copying a module
 * ------------------------------------------------------------------------ */

/** lc_backup() flags */
#define LC_BACKUP_COMPACT 0x01u /**< leave out free pages: smaller, slower */

/**
 * Write a consistent copy of the newest commit to ROOT/MODULE_ID, durable on
 * LC_OK. Pending writes are flushed first; readers and writers go
 * on meanwhile. Holds a snapshot while it runs. The copy has the module's uuid.
 * @param root  a directory, made if it is missing
 * @return LC_OK; LC_INVALID if a module stands there; LC_NO_SPACE,
 * LC_PERMISSION, LC_IO: then no copy is there.
 */
LC_API LC_CHECKED lc_status lc_backup(lc_cache *cache, const char *root,
    unsigned flags);

/* ------------------------------------------------------------------------
 * The life of a module
 * ------------------------------------------------------------------------ */

/** How to compact. Fill with lc_compact_options_init(). */
typedef struct lc_compact_options {
	size_t struct_size; /**< set by lc_compact_options_init() */
	double live_ratio;  /**< chunks with a smaller share of live bytes are rewritten,
	                         0 to 1; default 0.5; 1 rewrites every chunk with a dead
	                         record */
	uint64_t chunk_bytes; /**< neighbouring chunks are joined up to this size, 64 KiB
	                         to 64 MiB; default 4 MiB */
	lc_codec recode;    /**< code all tensors anew with this; default LC_CODEC_DEFAULT:
	                         leave them as they are */
	int level;          /**< of recode; default 0 */
	int dry_run;        /**< count, write nothing; what recode saves is not known then */
	lc_progress progress; /**< bytes of chunks looked at; damage names what is left */
} lc_compact_options;

LC_API void lc_compact_options_init(lc_compact_options *options);

/** What lc_compact() did. */
typedef struct lc_compact_result {
	uint64_t chunks_before, chunks_after; /**< in the module */
	uint64_t rewritten;   /**< chunks that were rewritten or joined */
	uint64_t moved;       /**< live records copied */
	uint64_t dropped;     /**< dead records that are gone */
	uint64_t bytes_before, bytes_after; /**< of all records */
	uint64_t damaged;     /**< chunks left as they are because a record is damaged */
} lc_compact_result;

/**
 * @param options  NULL for the defaults
 * @param out      may be NULL
 *
 * Rewrite chunks that have many dead records, in transactions of about
 * chunk_bytes each; readers and writers go on in between. The order of records
 * by commit stays. Space that becomes free is reused by later commits; the file
 * does not shrink (lc_shrink()). Pending writes are flushed first.
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_READONLY, LC_INVALID; LC_CANCELLED, LC_NO_SPACE, LC_IO …:
 * then what was rewritten so far stands.
 */
LC_API LC_CHECKED lc_status lc_compact(lc_cache *cache,
    const lc_compact_options *options, lc_compact_result *out);

/**
 * Give the free pages of a module back to the file system: a copy without them
 * replaces data.mdb atomically. Nobody may have the module open. Either size may
 * be NULL.
 * @return LC_OK; LC_BUSY if somebody has; LC_NO_SPACE, LC_IO …: then the module
 * is as it was.
 */
LC_API LC_CHECKED lc_status lc_shrink(const char *root, const char *module_id,
    uint64_t *bytes_before, uint64_t *bytes_after);

/**
 * Remove a module: its directory with all files in it, also where it is damaged. Other
 * processes see all of it or nothing. Nobody may have it open, this process included.
 * @return LC_OK; LC_NO_FILE; LC_BUSY if somebody has it open or is opening it;
 * LC_NOT_MODULE if it is none, or holds directories; LC_INVALID; LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_drop(const char *root, const char *module_id);

/**
 * Give a module another name in its root, atomically; on disk on LC_OK. Its uuid stays.
 * @return as lc_drop(); LC_EXISTS if something in the root has the new name, which is
 * never replaced.
 */
LC_API LC_CHECKED lc_status lc_rename(const char *root, const char *module_id,
    const char *new_id);

/** Who besides its owner may use a module. Readers write lock.mdb as well. */
typedef enum lc_share {
	LC_SHARE_OWNER = 0, /**< nobody: modes 0700, files 0600 */
	LC_SHARE_GROUP = 1, /**< its group reads and writes: 02770, files 0660 */
	LC_SHARE_ALL = 2    /**< its group reads and writes, all others read: 02775, files
	                         0664, lock.mdb 0666 */
} lc_share;

/**
 * Who may use a module, by the modes of its directory, data.mdb and lock.mdb: LC_SHARE_ALL
 * if all can read it, LC_SHARE_GROUP if its group can, else LC_SHARE_OWNER.
 * @return LC_OK; LC_INVALID for a bad name; LC_NO_FILE, LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_share_get(const char *root, const char *module_id,
    lc_share *out);

/**
 * Set the modes of a module's directory and files, also while it is in use. Files that
 * are made in it later get the modes that belong to them, whatever the umask. Its group
 * stays, and the directories above it are not changed.
 * @return LC_OK; LC_INVALID for a bad name or value; LC_NO_FILE; LC_PERMISSION for who
 * is not its owner, or not of its group; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_share_set(const char *root, const char *module_id,
    lc_share share);

/**
 * Delete every record in one commit, with the inputs and their order; schemas,
 * settings and counters stay. Pending writes of this process are dropped with it (they stay
 * pending if it fails; puts and flushes of other threads wait meanwhile), and so are the
 * files fill.N.part in which cachex fill keeps what is on its way into chunks.
 * @return LC_OK; LC_BUSY if a writer holds an input; LC_READONLY, LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_clear(lc_cache *cache);

/** What lc_copy() does with a key that the target has. */
typedef enum lc_conflict {
	LC_KEEP = 0,    /**< keep the target's record */
	LC_REPLACE = 1, /**< take the source's */
	LC_SAME = 2,    /**< fail with LC_INVALID and the key unless both are equal */
	LC_FAIL = 3     /**< fail with LC_INVALID and the key */
} lc_conflict;

/** "keep", "replace", "same", "fail"; NULL for anything else. */
LC_API const char *lc_conflict_name(lc_conflict conflict);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_conflict_parse(const char *name, lc_conflict *out);

/** How to copy records. Fill with lc_copy_options_init(). */
typedef struct lc_copy_options {
	size_t struct_size;   /**< set by lc_copy_options_init() */
	lc_conflict conflict; /**< default LC_FAIL */
	const void *prefix;   /**< only cache_ids that start with this; default NULL */
	size_t prefix_size;   /**< its bytes */
	int dry_run;          /**< count, write nothing */
	lc_progress progress; /**< bytes of records; damage names records passed over */
} lc_copy_options;

LC_API void lc_copy_options_init(lc_copy_options *options);

/** What lc_copy() did. */
typedef struct lc_copy_result {
	uint64_t copied;   /**< records that were new */
	uint64_t replaced; /**< records that took another's place */
	uint64_t kept;     /**< records of the target that stayed, equal ones included */
	uint64_t damaged;  /**< records of the source passed over */
	uint64_t bytes;    /**< of records written */
} lc_copy_result;

/**
 * Copy the live records of one module into another, in commit order, from one
 * snapshot of the source; coded tensors stay coded. The target is flushed at the
 * end. A conflict stops the copy before anything of it is written.
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_INVALID for a conflict, and for a target that is filled by its
 * inputs; LC_SCHEMA if the target is strict;
 * LC_CORRUPT if damaged records were passed over, the others being copied;
 * LC_READONLY, LC_CANCELLED, LC_NO_SPACE, LC_IO: what was copied so far stands.
 */
LC_API LC_CHECKED lc_status lc_copy(lc_cache *from, lc_cache *to,
    const lc_copy_options *options, lc_copy_result *out);

/** What lc_recover() found. */
typedef struct lc_recover_result {
	uint64_t records;   /**< live records afterwards */
	uint64_t rescued;   /**< of them, those whose index entry was damaged */
	uint64_t lost;      /**< live records that are damaged, or in a chunk that is */
	uint64_t runs;      /**< damaged index runs that were replaced */
	uint64_t rows;      /**< other damaged rows and frames of chunks that were rebuilt,
	                         and rows that went back to their own key */
	uint64_t unknown;   /**< damaged places that may have held records, or live records
	                         that only a count knows: no key tells */
	uint64_t reset;     /**< of the rows, those whose content is lost: settings that are
	                         the defaults again, counters, names of inputs */
	uint64_t kept;      /**< n: the file as it was is data.mdb.damaged-n; 0: none */
} lc_recover_result;

/**
 * Rebuild index, ledger and counters of a module from its chunks. What is intact
 * of the index decides as before; a key whose index entry is damaged gets its
 * newest record back, also if it had been deleted. Rows that are under another key
 * than their own go back to it, if their content says where they belong. Everything
 * rescued and everything lost goes to progress->damage, a line each. Damaged records
 * are dropped.
 *
 * A module that lc_verify() passes is left as it is. Of any other, a copy is rebuilt,
 * in the directory recover.part beside data.mdb. Only if lc_verify() passes the copy
 * does it take the place of data.mdb, by one rename; the old file is kept as
 * data.mdb.damaged-N. A process that dies meanwhile leaves one of the two as data.mdb,
 * whole. Nobody may have the module open.
 * @param dry_run   do the same in a copy, which is removed
 * @param progress  may be NULL
 * @param out       filled on LC_OK; may be NULL
 * @return LC_OK: lc_verify() passes now. Else the module is as it was: LC_CORRUPT if
 * it is too damaged, as when the pages of the file itself are: a backup helps then;
 * LC_CANCELLED; LC_BUSY if anybody has it open, this process too; LC_NO_SPACE without
 * room for a copy; LC_IO …
 */
LC_API LC_CHECKED lc_status lc_recover(const char *root, const char *module_id,
    int dry_run, const lc_progress *progress, lc_recover_result *out);

/** How to salvage. Fill with lc_salvage_options_init(). */
typedef struct lc_salvage_options {
	size_t struct_size; /**< set by lc_salvage_options_init() */
	int dry_run;        /**< only say what would be rescued; default 0 */
	int stale;          /**< take the newest version that there is of a key whose own
	                         record is lost, and of keys that only pages of old commits
	                         have; default 0 */
	lc_progress progress; /**< told of what is lost or in doubt; default none */
} lc_salvage_options;

/** Set every field of @p options to its default. */
LC_API void lc_salvage_options_init(lc_salvage_options *options);

/** What lc_salvage() found. All but records count what may need a look. */
typedef struct lc_salvage_result {
	uint64_t records;    /**< in the new module */
	uint64_t stale;      /**< of them, old versions: the option asked for them */
	uint64_t undecided;  /**< of them, those that may have been deleted or replaced: the
	                          part of the index that knew is lost */
	uint64_t lost;       /**< keys whose newest record is damaged or missing, as far as
	                          the index tells */
	uint64_t damaged;    /**< records whose checksum does not hold; also dead ones */
	uint64_t unreadable; /**< whole records that are left out, since their structure is
	                          not in the file, or does not fit */
	uint64_t schemas;    /**< structures that are not in the file */
	uint64_t versions;   /**< keys that the file has in more than one version */
	uint64_t left;       /**< keys that are left out since all their records are old
	                          versions: deleted, replaced by what is lost, or evicted */
	uint64_t inputs;     /**< inputs whose order is not kept */
	int settings_lost;   /**< the settings row is damaged: the new module has the
	                          defaults */
	int uncertain;       /**< commits, or parts of the index, are missing: nobody knows
	                          what they held */
} lc_salvage_result;

/**
 * Rescue the records of a module whose file cannot be opened, or not be read. The
 * pages of the file are read as plain bytes, without LMDB and without trust in its
 * trees; every record whose checksum holds, and that is the newest of its key, goes
 * into the new module ROOT/MODULE_ID as it is stored. The file is never written to,
 * and needs no lock file. The records of a module with inputs become plain ones, in
 * the order of their commits.
 *
 * What is newest, the index says: where it is whole, exactly the live records are
 * taken. A key whose entry is lost keeps its newest record, also if it had been
 * deleted; that is counted as undecided.
 *
 * Memory: 64 bytes a record found, old versions included, and twice the largest
 * record; at most four times the size of a file that was made to need it.
 *
 * @param from     the data file, or the directory that holds data.mdb
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK, also if records are lost; LC_EXISTS if there is a directory of that
 * name already; LC_NOT_MODULE if the file has no page of a module; LC_BUSY if somebody
 * has the module open (while it is salvaged, nobody can open it); LC_CANCELLED;
 * LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_SPACE, LC_NO_MEMORY. After a failure there
 * is no new module.
 */
LC_API LC_CHECKED lc_status lc_salvage(const char *from, const char *root,
    const char *module_id, const lc_salvage_options *options,
    lc_salvage_result *out);

/* ------------------------------------------------------------------------
 * TWH1 shards: flat files of equally shaped samples (twh1(5))
 * ------------------------------------------------------------------------ */

/** A shard opened for reading; its functions may be used by many threads. */
typedef struct lc_shard lc_shard;

/** The header of a shard. */
typedef struct lc_shard_info {
	uint32_t version;         /**< shard_version, 1 or 2 */
	lc_dtype dtype;           /**< of images */
	lc_dtype boxes_dtype;     /**< of boxes and mask; in version 1 the same */
	uint32_t channels, height, width; /**< shape of one image, CHW */
	uint32_t max_boxes;       /**< rows of boxes a sample, 0 for none */
	uint64_t samples;         /**< how many */
	uint64_t image_offset, boxes_offset, mask_offset; /**< bytes from the file's start */
	uint64_t meta_offset;     /**< 0 without metadata */
	uint64_t checksum_offset; /**< 0 without block checksums */
	uint64_t file_size;       /**< bytes */
} lc_shard_info;

/** One sample in place, valid until lc_shard_close(). */
typedef struct lc_sample {
	lc_tensor image; /**< [channels, height, width], or the shape the metadata gives */
	lc_tensor boxes; /**< [max_boxes, 4]: x0, y0, x1, y1 */
	lc_tensor mask;  /**< [max_boxes]: 1 where a box is */
	lc_id id;        /**< cache_id; empty in version 1 */
	lc_id meta;      /**< the sample's whole metadata row, MessagePack; empty in version 1 */
	void *keeps;     /**< for the library: keeps the sample in place; may be NULL */
} lc_sample;

/**
 * Map a shard and check its header, sizes and offsets against the file. Whoever
 * cuts the file short while it is mapped makes its readers die of SIGBUS.
 * @return LC_OK; LC_NOT_MODULE if it is not a shard; LC_VERSION; LC_CORRUPT
 * with what is wrong; LC_PERMISSION, LC_NO_FILE, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_shard_open(const char *path, lc_shard **out);

/** The header; valid until lc_shard_close(). */
LC_API const lc_shard_info *lc_shard_info_of(const lc_shard *shard);

/**
 * Sample @p i, without a copy and without reading its bytes.
 * @return LC_OK; LC_NOT_FOUND if i >= samples; LC_CORRUPT for a bad metadata row.
 */
LC_API LC_CHECKED lc_status lc_shard_sample(const lc_shard *shard, uint64_t i,
    lc_sample *out);

/**
 * Compare the block checksums that cover sample @p i. In a shard without
 * checksums this returns LC_UNSUPPORTED.
 */
LC_API LC_CHECKED lc_status lc_shard_verify_sample(const lc_shard *shard,
    uint64_t i);

/**
 * Compare all block checksums and read all metadata of a shard.
 * @return LC_OK; LC_CORRUPT; LC_UNSUPPORTED for a shard without checksums;
 * LC_CANCELLED.
 */
LC_API LC_CHECKED lc_status lc_shard_verify(const lc_shard *shard,
    const lc_progress *progress);

/** Unmap. NULL is harmless. */
LC_API void lc_shard_close(lc_shard *shard);

/** How to export. Fill with lc_export_options_init(). */
typedef struct lc_export_options {
	size_t struct_size;     /**< set by lc_export_options_init() */
	uint64_t shard_bytes;   /**< target size of a shard, 4 KiB to 1 TiB; default 192 MiB */
	uint32_t shard_version; /**< 0 chooses: 1 for f16 and f32 without metadata, else 2;
	                             default 0 */
	int metadata;           /**< keep cache_ids and block checksums (version 2); default 1 */
	unsigned threads;       /**< shards written at once; 0 for the number of processors */
	unsigned order;         /**< LC_BY_ORDER (default), LC_BY_COMMIT or LC_BY_KEY */
	int by_input;           /**< shards of their own for each input, in a directory
	                             `NAME.shards`, which depend on that input alone; with
	                             LC_BY_ORDER; default 0 */
	const char *input;      /**< with by_input: write only the shards of this input; NULL: of all */
	const char *dataset_root; /**< the manifest's dataset_root; default the module's name */
	int dry_run;            /**< plan and report, write nothing */
	int no_sha256;          /**< leave SHA-256 of the files out of the manifest; block
	                             checksums stay; default 0 */
	lc_progress progress;   /**< bytes written */
} lc_export_options;

/** Set every field to its default. */
LC_API void lc_export_options_init(lc_export_options *options);

/** What lc_export() did. */
typedef struct lc_export_result {
	uint64_t shards;  /**< shards that the manifest names */
	uint64_t reused;  /**< of them, found whole from an interrupted run, or taken from
	                       an older build */
	uint64_t samples; /**< in all shards */
	uint64_t bytes;   /**< of all shards */
} lc_export_result;

/**
 * Write the records of a module as TWH1 shards into @p dir, then manifest.json.
 *
 * All records must be tensors of the same dtype and shape. A tensor of rank 3 is CHW; a
 * lower rank gets leading dimensions of 1; a higher rank, its leading dimensions
 * joined. Same records, same options: the same bytes, for any number of
 * threads; of a module with inputs, in the default order, also whoever filled it and
 * however often that was interrupted. The manifest is written last and atomically: it never names a shard
 * that is not whole and durable. An interrupted export goes on where it was.
 *
 * @return LC_OK; LC_INVALID for a bad option, no records, by_input without inputs, or
 * mixed shapes (the error names both); LC_NOT_FOUND for an input that is not there;
 * LC_SCHEMA for a record that is no tensor; LC_UNSUPPORTED for a dtype that the version lacks;
 * LC_CORRUPT for a damaged record; LC_BUSY while another export writes there;
 * LC_NO_SPACE, LC_PERMISSION, LC_IO, LC_CANCELLED.
 */
LC_API LC_CHECKED lc_status lc_export(lc_cache *cache, const char *dir,
    const lc_export_options *options, lc_export_result *out);

/**
 * Check a directory of shards against its manifest.json: every shard's
 * existence, size, header, samples and SHA-256 (or what stands in its place), and
 * that there is no other shard there or in the directories of its shards. For a manifest
 * of parts, each part's manifest and all its shards; other shards are not looked for.
 * @return LC_OK; LC_CORRUPT (each damage goes to progress->damage);
 * LC_NO_FILE without a manifest; LC_NOT_MODULE, LC_VERSION, LC_CANCELLED, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_manifest_verify(const char *dir,
    const lc_progress *progress);

/** What lc_shard_union() joined. */
typedef struct lc_union_result {
	uint64_t parts;   /**< manifests that the union names */
	uint64_t shards;  /**< in them */
	uint64_t samples; /**< of all shards */
	uint64_t bytes;   /**< of all shards, as their manifests say it */
} lc_union_result;

/**
 * Join sets of shards without copying a byte: write @p dir/manifest.json, a manifest of
 * parts, see twh1(5), that names the manifests of the sets by relative paths. Reading @p dir
 * gives the samples of the sets one after another. No shard is opened; of a set that is
 * itself a union, its parts are named. The sets must not change, and must keep their places
 * relative to @p dir.
 * @param dir   is made if it is missing; an earlier union there is replaced
 * @param sets  @p n directories with a manifest, or warehouses; one may be given twice
 * @return LC_OK; LC_INVALID if shards differ in dtype or shape, naming the set, if none has
 * a shard, and for a path that is not UTF-8; LC_CORRUPT for a damaged manifest; LC_EXISTS if
 * @p dir has shards of its own; LC_NO_FILE, LC_NOT_MODULE, LC_VERSION for a directory that
 * is not a set; LC_BUSY while another process writes there; LC_NO_SPACE, LC_PERMISSION,
 * LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_shard_union(const char *dir, const char *const *sets,
    size_t n, lc_union_result *out);

/**
 * What a sample's metadata row says of where it came from. Strings lead into the
 * row and are not ended by a NUL.
 */
typedef struct lc_sample_origin {
	lc_id run_id;             /**< UTF-8; empty if there is none */
	int has_frame_id;         /**< frame_id counts */
	uint64_t frame_id;        /**< number of the frame in its run */
	uint32_t original_width, original_height; /**< of the upright source image, pixels; 0
	                             if unknown */
	uint64_t boxes_total;     /**< boxes of the source, those above max_boxes included */
	uint32_t n_classes;       /**< class ids that the row has: one a box written */
	lc_id labels;             /**< a MessagePack map of the label's other fields, or empty */
} lc_sample_origin;

/**
 * Read a sample's metadata row.
 * @param class_ids  gets the first @p room class ids, -1 for a box without one; may
 *                   be NULL with room 0
 * @return LC_OK, also for a sample without metadata, whose origin is empty;
 * LC_CORRUPT for a damaged row.
 */
LC_API LC_CHECKED lc_status lc_sample_read_origin(const lc_sample *sample,
    lc_sample_origin *out, int64_t *class_ids, size_t room);

/* ------------------------------------------------------------------------
 * Warehouses: versions of a labelled dataset as shards (lmdbcache_warehouse(3))
 * ------------------------------------------------------------------------ */

/** A warehouse opened for training; its functions may be used by many threads. */
typedef struct lc_warehouse lc_warehouse;

/** Where a warehouse's samples are read from. */
typedef enum lc_warehouse_mode {
	LC_WAREHOUSE_MAP = 0,    /**< shards mapped: samples in place, pages as they are
	                              touched */
	LC_WAREHOUSE_STREAM = 1, /**< read() of one sample at a time into buffers of the
	                              handle: for file systems where maps are slow */
	LC_WAREHOUSE_MEMORY = 2  /**< all shards read into memory when opened */
} lc_warehouse_mode;

/** How the sources that a warehouse was made of are looked at. */
typedef enum lc_warehouse_sources {
	LC_SOURCES_STAT = 0,    /**< sizes and times of files; content where those differ;
	                             nothing if the dataset is not on this machine */
	LC_SOURCES_CONTENT = 1, /**< every file is read; the dataset must be there */
	LC_SOURCES_IGNORE = 2   /**< not at all: a stale warehouse opens */
} lc_warehouse_sources;

/** How to open a warehouse. Fill with lc_warehouse_options_init(). */
typedef struct lc_warehouse_options {
	size_t struct_size;      /**< set by lc_warehouse_options_init() */
	lc_warehouse_mode mode;  /**< default LC_WAREHOUSE_MAP */
	lc_verify_mode verify;   /**< for the blocks that a sample is in; default LC_VERIFY_ONCE,
	                              when the handle first reads a block. A shard without
	                              checksums of blocks is compared with that of the manifest
	                              when it is opened, unless LC_VERIFY_NEVER */
	int verify_files;        /**< compare every file with its checksum in the manifest
	                              when it is opened; default 0 */
	lc_warehouse_sources sources; /**< default LC_SOURCES_STAT */
	const char *dataset;     /**< where the sources stand now; default where they stood
	                              when the warehouse was built */
	const char *version;     /**< refuse another one: the version key in hex or its
	                              beginning, 8 digits at least; NULL for any */
	int ignore_thresholds;   /**< open although validation limits are exceeded */
	uint32_t open_shards;    /**< shards that are open at a time, see
	                              lc_warehouse_open(); 0, the default, for 1,024 */
	lc_progress progress;    /**< bytes read while opening; damage names what is stale or
	                              damaged, a line each */
} lc_warehouse_options;

/** Set every field to its default. */
LC_API void lc_warehouse_options_init(lc_warehouse_options *options);

/** What a warehouse is. Strings live until lc_warehouse_close(). */
typedef struct lc_warehouse_info {
	const char *path;         /**< the directory of the version */
	const char *version;      /**< the version key: SHA-256 of the recipe, hex */
	const char *recipe;       /**< its JSON text */
	const char *fingerprint;  /**< SHA-256 of the sources' content, hex */
	const char *dataset_root; /**< as it was given to the build */
	const char *summary, *thresholds, *transform; /**< JSON text of the manifest */
	uint64_t created_at_ms;   /**< ms since 1970 */
	uint64_t samples;         /**< of all series */
	uint64_t shards;          /**< files */
	uint64_t bytes;           /**< of all files */
	uint32_t series;          /**< sizes of image, 1 without buckets */
	uint32_t max_boxes;       /**< rows of boxes a sample */
	lc_dtype dtype;           /**< of images */
	lc_dtype boxes_dtype;     /**< of boxes and mask */
	int sources_seen;         /**< 1 if the sources were compared, 0 if they are not here
	                               or were not to be looked at */
	uint64_t classes;         /**< names of classes; 0 if they are not known */
} lc_warehouse_info;

/** Samples of one size; those of a series follow each other. */
typedef struct lc_series_info {
	uint32_t channels, height, width; /**< shape of an image */
	uint64_t first;   /**< its first sample */
	uint64_t samples; /**< how many */
} lc_series_info;

/** What reading cost. */
typedef struct lc_warehouse_stats {
	size_t struct_size;       /**< set by the caller: sizeof(lc_warehouse_stats) */
	uint64_t open_ns;         /**< the whole of lc_warehouse_open() */
	uint64_t sources_ns;      /**< of it, comparing sources */
	uint64_t verify_ns;       /**< comparing checksums, at opening and later */
	uint64_t shards_open;     /**< now */
	uint64_t bytes_mapped;    /**< of them, in mode MAP */
	uint64_t bytes_read;      /**< by read(), at opening and later */
	uint64_t bytes_verified;  /**< by checksums */
	uint64_t samples_read;    /**< calls of lc_warehouse_sample() and _copy() */
	uint64_t slowest_shard_ns; /**< the longest time one shard took to open; 0 if they are
	                                not opened with the warehouse */
	const char *slowest_shard; /**< its path, or NULL */
} lc_warehouse_stats;

/**
 * Open a warehouse, by the version that its `current` points to, or one version's
 * directory. Refused, with the file named, unless the options say otherwise: a
 * missing or damaged manifest or shard, another version than asked for, exceeded
 * thresholds, and sources that changed, came or went since the build.
 *
 * With more shards than options->open_shards, in the modes MAP and STREAM, no shard is
 * opened now. Each is opened, and compared with the manifest, when one of its samples is
 * read. Reading a sample of a missing or damaged shard is LC_CORRUPT; all others can be
 * read. The shard that was not used for the longest time is closed for the next one; samples
 * that were not released keep their shards open, even if these are more than open_shards. A
 * shard that is opened again is verified again. With verify_files all shards are read now.
 *
 * @return LC_OK; LC_NO_FILE; LC_NOT_MODULE if it is no warehouse; LC_NOT_FOUND if it has no
 * list of its sources and LC_SOURCES_CONTENT needs one; LC_CORRUPT;
 * LC_VERSION for a newer format or another version than options->version;
 * LC_STALE if the sources differ; LC_FAILED if thresholds are exceeded;
 * LC_CANCELLED; LC_INVALID for bad options; LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_warehouse_open(const char *path,
    const lc_warehouse_options *options, lc_warehouse **out);

/** What it is; valid until lc_warehouse_close(). */
LC_API const lc_warehouse_info *lc_warehouse_info_of(const lc_warehouse *warehouse);

/** Series @p s. LC_NOT_FOUND if there are not so many. */
LC_API LC_CHECKED lc_status lc_warehouse_series(const lc_warehouse *warehouse,
    uint32_t s, lc_series_info *out);

/**
 * The name of a class, which the manifest has of the dataset; NULL if it has none, or the
 * id is none. Valid until lc_warehouse_close(). Ids below info->classes may have names.
 */
LC_API const char *lc_warehouse_class(const lc_warehouse *warehouse, int64_t class_id);

/**
 * Sample @p i of all series, without a copy: image [channels, height, width] with
 * values 0..1 (0..255 for u8), boxes [max_boxes, 4] as x0, y0, x1, y1 in 0..1 of
 * the image's width and height, mask [max_boxes], cache_id and metadata row. Valid
 * until lc_warehouse_release(), in mode MEMORY, and in mode MAP if all shards are open,
 * until lc_warehouse_close().
 * @return LC_OK; LC_NOT_FOUND if i >= samples; LC_CORRUPT with the file and the
 * sample, and no bytes; LC_IO, LC_NO_MEMORY (STREAM).
 */
LC_API LC_CHECKED lc_status lc_warehouse_sample(lc_warehouse *warehouse,
    uint64_t i, lc_sample *out);

/** Give a sample back. Costs nothing where it stays valid. */
LC_API void lc_warehouse_release(lc_warehouse *warehouse, lc_sample *sample);

/**
 * Copy sample @p i into the caller's memory: as many bytes as its image, boxes and
 * mask have; NULL passes one over. Verified as lc_warehouse_sample().
 */
LC_API LC_CHECKED lc_status lc_warehouse_copy(lc_warehouse *warehouse,
    uint64_t i, void *image, void *boxes, void *mask);

/** Ask the system to have samples [first, first + n) ready. A hint. */
LC_API void lc_warehouse_prefetch(lc_warehouse *warehouse, uint64_t first,
    uint64_t n);

/** What was read so far. */
LC_API LC_CHECKED lc_status lc_warehouse_stat(const lc_warehouse *warehouse,
    lc_warehouse_stats *out);

/** Close; samples are given back before. NULL is harmless. */
LC_API void lc_warehouse_close(lc_warehouse *warehouse);

/* ------------------------------------------------------------------------
 * Inputs: filling a module in an order that readers can rely on
 * ------------------------------------------------------------------------
 *
 * The *inputs* of a module are the source shards that it is made of: files or
 * parts of a corpus, each read by one writer at a time, several of them by several
 * threads or processes at once. They are declared before anything is stored. A
 * writer commits one *chunk* after another, and with it a *cursor*, bytes of its
 * own that say where to go on: after a crash the next writer of the input starts
 * behind the last document that is stored.
 *
 * The global order of chunks is round robin over the inputs: the first chunk of
 * each, then the second of each; an input that is finished and has no more drops
 * out. The part of it that no later commit can change is *published* in the commit
 * that settles it; streams read published chunks only.
 *
 * A module with inputs is filled by writers alone: lc_put() and lc_delete() are
 * LC_INVALID, and its chunks are neither evicted nor regrouped. A module without
 * inputs has one implicit input: its chunks in commit order, never final.
 */

/** Longest name, fingerprint and cursor of an input, in bytes. */
#define LC_INPUT_NAME_MAX 1024
#define LC_INPUT_FINGERPRINT_MAX 64
#define LC_INPUT_CURSOR_MAX 4096

/** An input to be declared. */
typedef struct lc_input {
	const char *name;   /**< unique; 1 to LC_INPUT_NAME_MAX bytes without control
	                         characters, such as a path */
	lc_id fingerprint;  /**< what says that the input is still the same, such as a
	                         hash; empty: not known here */
} lc_input;

/**
 * Declare the inputs of a module that has no records. Declaring the same again is
 * LC_OK, so each worker may do it. The handle is flushed before. A fingerprint that is
 * empty, in the call or in the module, is not compared; the module keeps the first known
 * fingerprint of each input. So a worker that reads some of the inputs declares all of
 * them, and needs to know only the fingerprints of those that it reads.
 * @param n  1 to 65,536
 * @return LC_OK; LC_STALE if an input that is declared has another fingerprint;
 * LC_INVALID for other names or another order of them, for a bad name, and for a
 * module with records of plain puts; LC_READONLY, LC_NO_SPACE, LC_CORRUPT, LC_IO,
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_inputs_declare(lc_cache *cache, size_t n,
    const lc_input *inputs);

/** What became of an input. Pointers are valid during the callback, or until the
 *  next call with the writer. */
typedef struct lc_input_info {
	uint32_t index;     /**< its place in the round, from 0 */
	const char *name;
	lc_id fingerprint;
	lc_id cursor;       /**< as committed last; empty at first */
	uint64_t chunks;    /**< committed */
	uint64_t records;   /**< in them */
	uint64_t length;    /**< the sum of their lengths; see lc_settings.length_field */
	int finished;       /**< no more chunks will come */
	int held;           /**< a writer has it open, in any process */
} lc_input_info;

/**
 * Call @p fn with each input in order until it returns non-zero. None for a module
 * without declared inputs.
 * @return LC_OK; LC_CANCELLED if @p fn stopped it; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_inputs(lc_cache *cache,
    int (*fn)(void *ctx, const lc_input_info *info), void *ctx);

/** How far a module is filled. */
typedef struct lc_fill {
	size_t struct_size;   /**< set by the caller to sizeof(lc_fill) */
	uint32_t inputs;      /**< declared; 0 for a module of plain puts */
	uint32_t finished;    /**< of them */
	uint32_t held;        /**< of them, those that a writer has open */
	int final;            /**< all inputs are finished: the order is complete */
	uint64_t committed;   /**< chunks */
	uint64_t published;   /**< of them, those that have their place in the order */
	uint64_t records;     /**< in published chunks */
	uint64_t length;      /**< sum of their lengths */
	uint64_t prefix_hash; /**< of the published order: equal if it is the same chunks */
} lc_fill;

/**
 * Fill @p out, whose struct_size the caller has set. Of a module of plain puts the
 * ledger is walked.
 * @return LC_OK; LC_INVALID if struct_size is not set; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_fill_get(lc_cache *cache, lc_fill *out);

/** Writes one input. Used by one thread at a time; it may outlive its handle, see
 *  lc_close(). */
typedef struct lc_writer lc_writer;

/**
 * Open an input for writing. It is held until lc_writer_close(), or until the
 * process ends, however that happens.
 * @return LC_OK; LC_NOT_FOUND if it is not declared; LC_BUSY if another writer
 * holds it; LC_READONLY; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_writer_open(lc_cache *cache, const char *name,
    lc_writer **out);

/** The input as committed: where to go on. */
LC_API const lc_input_info *lc_writer_info(const lc_writer *writer);

/**
 * Add a record to the next chunk, as lc_put() and lc_put_value() do to the handle.
 * @param id  NULL and 0 for "INPUT:CHUNK:RECORD", numbers from 0 in decimal
 * @return LC_OK; LC_EXISTS if the chunk has the cache_id already; LC_INVALID, also
 * when the input is finished, when the chunk would take 512 MiB, and in a child that
 * was forked since lc_writer_open(); LC_SCHEMA; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_writer_put(lc_writer *writer, const void *id,
    size_t id_size, const lc_tensor *tensor);
LC_API LC_CHECKED lc_status lc_writer_put_value(lc_writer *writer,
    const void *id, size_t id_size, const lc_value *value);

/** Records that were put and not committed, and the bytes that they take. */
LC_API void lc_writer_pending(const lc_writer *writer, uint64_t *records,
    uint64_t *bytes);

/**
 * Store what was put as the next chunk of the input, together with the cursor, the
 * index entries, and the places in the order that it settles, in one transaction;
 * durable on LC_OK as lc_options.durability of the handle says. Without records only
 * the cursor moves. Unless it is LC_OK nothing is stored and the records stay pending.
 * @param cursor  copied; up to LC_INPUT_CURSOR_MAX bytes
 * @return LC_OK; LC_EXISTS with the key if one of the cache_ids is in the module;
 * LC_NO_SPACE, LC_MAP_FULL, LC_IO: call again, or lc_writer_forget(); LC_INVALID if
 * the cursor is too long, the input is finished or not declared any more, or in a
 * child that was forked; LC_BUSY if the claim was lost and somebody else has written;
 * LC_CORRUPT; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_writer_commit(lc_writer *writer,
    const void *cursor, size_t cursor_size);

/** Drop what was put since the last commit. */
LC_API void lc_writer_forget(lc_writer *writer);

/** lc_writer_commit(), and the input is finished by the same transaction. */
LC_API LC_CHECKED lc_status lc_writer_finish(lc_writer *writer,
    const void *cursor, size_t cursor_size);

/** Let go of the input; what was not committed is dropped. NULL is harmless. */
LC_API void lc_writer_close(lc_writer *writer);

/**
 * Finish all inputs as they are: nobody will go on with those that are not. The
 * order is complete then.
 * @return LC_OK; LC_BUSY if a writer holds one that is not finished; LC_INVALID
 * for a module without inputs; LC_READONLY, LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_inputs_finish(lc_cache *cache);

/** How to merge inputs. Fill with lc_merge_options_init(). */
typedef struct lc_merge_options {
	size_t struct_size;   /**< set by lc_merge_options_init() */
	int dry_run;          /**< check everything but the records, write nothing */
	unsigned flags;       /**< of lc_options for the sources, LC_FORCE_FS; default 0 */
	lc_progress progress; /**< bytes of records; damage names each input that no module
	                           has finished */
} lc_merge_options;

LC_API void lc_merge_options_init(lc_merge_options *options);

/** What lc_inputs_merge() did, or would do. */
typedef struct lc_merge_result {
	uint64_t inputs;  /**< that were taken from the sources */
	uint64_t there;   /**< that the target had finished already */
	uint64_t chunks;  /**< that were stored */
	uint64_t records; /**< in them */
	uint64_t bytes;   /**< of these records */
} lc_merge_result;

/**
 * Join modules that hold parts of one declared list of inputs. The target gets each input
 * from the module that finished it, and becomes the module that one machine would have
 * filled: same chunks, same order, same hash, same batches. Records are stored as they are,
 * many chunks a commit. If the target has no inputs, the list is declared in it, and if its
 * settings are the defaults, it gets those of the first source; the target may also be one
 * of the parts. Everything but the records is compared before anything is written, and
 * nothing is published before all records have been read and verified. If the call fails or
 * the process is killed, the records that it stored remain, and the same call goes on from
 * there; until then no writer can open the inputs that are copied only in part.
 *
 * The sources are opened for reading, one at a time, and may grow meanwhile. No writer may
 * hold an input of the target.
 * @param to       NULL for a new module, with dry_run
 * @param n, from  directories of modules: ROOT/MODULE_ID
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_NOT_FOUND if an input is finished in none of the modules; LC_INVALID
 * for other inputs or another order of them, an input with two contents, lengths that
 * are those of different fields, records of plain puts; LC_STALE for an input with two
 * fingerprints; LC_EXISTS for a cache_id in two inputs; LC_SCHEMA if the target is
 * strict; LC_CORRUPT if a source is damaged; LC_BUSY; LC_READONLY, LC_CANCELLED,
 * LC_NO_SPACE, LC_IO, LC_NO_MEMORY; as lc_open().
 */
LC_API LC_CHECKED lc_status lc_inputs_merge(lc_cache *to, size_t n,
    const char *const *from, const lc_merge_options *options, lc_merge_result *out);

/* ------------------------------------------------------------------------
 * Streams: the same batches for any number of readers (lmdbcache_stream(3))
 * ------------------------------------------------------------------------
 *
 * A *source* is a module or a directory of shards, or a list of these, as a sequence of
 * chunks of records. A *stream* is an order of examples over one source, or over a
 * mixture of several: a function without state from (seed, example) to records. A
 * *reader* is one of R that share each batch; the batches do not depend on R. A *token*
 * is a position, the same on every reader.
 */

/** What a stream reads. Its functions may be used by many threads. */
typedef struct lc_source lc_source;

/** lc_source_options.generation: the newest one. */
#define LC_NEWEST UINT64_MAX

/** How to open a source. Fill with lc_source_options_init(). */
typedef struct lc_source_options {
	size_t struct_size;       /**< set by lc_source_options_init() */
	const char *length_field; /**< as in lc_settings: NULL, the default, for the
	                               module's own, "" for none. Any other one has the
	                               heads of all records read when the source is opened.
	                               In shards only ".": the width of a sample whose
	                               channels and height are 1; none by default */
	uint64_t generation;      /**< read so much only: lc_source_info.generation of
	                               another time. The source stays there and counts as
	                               final. Default LC_NEWEST */
	uint64_t directory_bytes; /**< memory for the places of records within chunks;
	                               default 64 MiB */
	lc_verify_mode verify;    /**< of records that the source reads itself, not those
	                               of lc_source_get() in a module; default
	                               LC_VERIFY_ONCE */
	lc_warehouse_sources sources; /**< of the shards of a warehouse, as in
	                               lc_warehouse_options; default LC_SOURCES_STAT */
	const char *dataset;      /**< where its sources stand now; NULL, the default: where
	                               they stood when it was built */
	int ignore_thresholds;    /**< read a warehouse although it exceeds its validation
	                               limits; default 0 */
	uint32_t open_shards;     /**< shards that are open at a time, as in
	                               lc_warehouse_options; 0, the default, for 1,024 */
	lc_progress progress;     /**< bytes read while a warehouse is opened; damage names
	                               what is stale or damaged, a line each; default none */
	const char *part;         /**< read only this part of a split; NULL, the default, for
	                               all. Takes one look at all cache_ids when the source is
	                               opened, and the source does not grow */
	const char *split;        /**< the split, "train=0.9,val=0.1", see lc_split_part(); NULL
	                               for the one that a warehouse was built with */
	uint64_t split_seed;      /**< of split; default 0 */
	int split_by_run;         /**< by the run of a sample, so that frames of one run stay
	                               together, not by its cache_id; shards only; default 0 */
	int (*stop)(void *ctx);   /**< asked again and again, every few records, by
	                               lc_source_gather() and lc_source_find(). Non-zero ends
	                               the call with LC_CANCELLED. In the calling thread,
	                               without a lock; default NULL */
	void *stop_ctx;           /**< its argument */
} lc_source_options;

LC_API void lc_source_options_init(lc_source_options *options);

/**
 * Which part of a split has a record.
 *
 * With h = XXH3-64 of the key's bytes with the seed, the shares s as integers and their
 * sum W, it is the first part k with h W / 2^64 < s_0 + ... + s_k, computed exactly. So
 * parts are disjoint, and a record stays in its part when others come or go.
 *
 * @param split  names and shares, "train=0.9,val=0.1"; shares sum to 1 or are whole
 *               numbers, up to 64 of them
 * @param key    the cache_id, or with split_by_run the name of the run
 * @param out    gets the number of the part, from 0
 * @return LC_OK; LC_INVALID for a split that is none.
 */
LC_API LC_CHECKED lc_status lc_split_part(const char *split, uint64_t seed,
    const void *key, size_t size, size_t *out);

/** What is known of a source. */
typedef struct lc_source_info {
	size_t struct_size;   /**< set by the caller to sizeof(lc_source_info) */
	uint8_t uuid[16];     /**< of the module; of one with inputs, a hash of their names; of
	                           shards, the beginning of the SHA-256 over their manifest's
	                           list of shards; of a list, a hash of its members' */
	uint64_t generation;  /**< what the numbers below belong to: published chunks, or
	                           those of a list; in a module of plain puts, the number of
	                           the newest chunk */
	uint64_t chunks;      /**< with records */
	uint64_t records;
	uint64_t length;      /**< sum of their lengths; their number without lengths */
	uint64_t prefix_hash; /**< of the chunks' order and their records: equal if these
	                           are the same */
	int final;            /**< nothing will come behind them: all inputs are finished,
	                           or it was opened at a generation; shards always */
	int has_lengths;      /**< there is a length field */
	uint64_t dropped;     /**< records of the first module that are left out of a join, or
	                           of the joins in a list; 0 of other sources */
} lc_source_info;

/**
 * Open a module as a source, as it is published now. Modules of plain puts have one
 * implicit input: chunks in commit order, live records in put order. The handle is
 * flushed before; the source may outlive it, see lc_close().
 * @param options  NULL for the defaults
 * @return LC_OK; LC_NOT_FOUND if options->generation is not reached; LC_INVALID;
 * LC_CORRUPT; LC_NO_MEMORY, LC_IO; what lc_flush() returns.
 */
LC_API LC_CHECKED lc_status lc_source_open_module(lc_cache *cache,
    const lc_source_options *options, lc_source **out);

/**
 * Open the shards of a directory with a manifest, an export or a version of a
 * warehouse, in the manifest's order; or one shard file. A shard is a chunk. Images
 * may be of several sizes, which lc_stream_open() reads in batches of one size each.
 * A record has the fields "image", "boxes" and "mask", the latter two if there are boxes.
 * Where shards have metadata, there are these too, for readers that name them in
 * lc_reader_options.fields: "class_ids", i64 [max_boxes], -1 where there is no box or no
 * class; "frame_id", i64, -1 if there is none, else the bits of the number; "run_id", u8
 * [256], UTF-8 and zeros after it; "original_size", i64 [2], width and height of the
 * upright source image, 0 if unknown.
 *
 * A warehouse, or one series of it, is refused for the same reasons as by
 * lc_warehouse_open(), unless the options say otherwise: LC_STALE if its sources
 * changed since the build, LC_FAILED if it exceeds its thresholds. A shard that is
 * opened alone is not compared with anything.
 *
 * With more shards than options->open_shards each shard is opened when one of its records
 * is read, and closed again, as lc_warehouse_open() says; a missing or damaged shard is an
 * error of its records. Batches, views and readers keep the shards of their records open.
 * Opening takes the properties of the shards from the manifest; a shard whose size, or whose
 * checksum of its checksum section, is not in the manifest is opened once for it. The
 * manifests of parts are read when they are needed, and then take about 300 bytes of memory
 * a shard. To read a part of a split, all shards are opened.
 * @return as lc_warehouse_open(). Also LC_INVALID for a length field that they have not, and LC_NOT_FOUND if
 * options->generation is not reached.
 */
LC_API LC_CHECKED lc_status lc_source_open_shards(const char *path,
    const lc_source_options *options, lc_source **out);

/** One module of a join. */
typedef struct lc_join {
	const char *name;  /**< what its fields begin with: its module_id, or any other name
	                        that no other module of the join has */
	lc_cache *cache;   /**< handle */
} lc_join;

/** What becomes of records that lack a partner. */
typedef enum lc_missing {
	LC_MISSING_REFUSE = 0, /**< the join is not opened; the error counts them */
	LC_MISSING_DROP = 1    /**< they are left out, and counted */
} lc_missing;

/** "refuse", "drop"; NULL for anything else. */
LC_API const char *lc_missing_name(lc_missing missing);
LC_API LC_CHECKED lc_status lc_missing_parse(const char *name, lc_missing *out);

/**
 * Open several modules as one source: each record of the first module with the records
 * of the others that have its cache_id. Records of the others that the first does not
 * have are not read.
 *
 * The first module gives the chunks and the order. A field is called "name.path", and
 * "name" where a module's record is one tensor; dots and backslashes in a name are
 * escaped by a backslash. Streams over a join are as over its first module: the same
 * for any number of readers, and tokens go on.
 *
 * A join stands on the commit of each module that was the newest when it was opened,
 * does not grow, and counts as final. It holds a snapshot of each of the other modules,
 * as a view does, until it is closed. Opening reads all cache_ids of the first module
 * and looks each one up in the others, about a microsecond a record and module; with
 * LC_MISSING_DROP it remembers up to 3 bytes a record. So what is left out is known
 * before the first batch, and stays the same.
 *
 * The uuid of lc_source_info is made of the uuids and names of all modules, and the
 * prefix_hash covers where their records are: a token is LC_OTHER_CACHE with other
 * modules, names or another order of modules, and LC_CHANGED if a record of any of them
 * was replaced, deleted or moved by a compaction since. Modules that only grew do no
 * harm, except with LC_MISSING_DROP if a missing partner came.
 *
 * @param modules  @p n of them, 1 at least; borrowed for the call
 * @param missing  what becomes of records that lack a partner
 * @param options  of the first module; length_field begins with its name; NULL for the
 *                 defaults
 * @return LC_OK; LC_INVALID for two modules of one name, or a length field of another
 * module than the first; LC_SCHEMA if partners are missing and refused, with their
 * numbers; else as lc_source_open_module().
 */
LC_API LC_CHECKED lc_status lc_source_open_join(const lc_join *modules, size_t n,
    lc_missing missing, const lc_source_options *options, lc_source **out);

/**
 * How many records of the first module the module @p i of a join lacks, 0 for the
 * first one itself.
 * @return LC_OK; LC_INVALID if the source is no join of so many modules.
 */
LC_API LC_CHECKED lc_status lc_source_missing(const lc_source *source, size_t i,
    uint64_t *out);

/**
 * Open several sources in a given order as one: the records of the first, then those of the
 * second, and so on. All that is done with a source can be done with a list: its batches are
 * those of one module that has the same records in the same chunks.
 *
 * Members are sources of any kind but lists, of images of one size, and have the same
 * length field; each keeps its own options. They are used as they are now: only the last
 * one may grow. A module of plain puts that is not the last stays as it was when the list
 * was opened; one that is filled by inputs must be finished, or opened at a generation. The
 * members may be closed before the list.
 *
 * The uuid of lc_source_info is made of those of the members, and the prefix_hash of the
 * hashes of all members, so that a token is LC_OTHER_CACHE with other members or another
 * order of them, and LC_CHANGED if a member other than the last has more or other records
 * now. The generation is a number of chunks. lc_source_find() gives the first record that
 * has the cache_id. Errors name the member.
 *
 * @param members  @p n of them, 1 to 65,536; borrowed for the call. One is that member
 *                 itself, held once more
 * @return LC_OK; LC_INVALID for a member that a list cannot have; LC_CORRUPT, LC_IO,
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_source_open_list(lc_source *const *members, size_t n,
    lc_source **out);

/** What the source stands on. @p out->struct_size must be set. */
LC_API LC_CHECKED lc_status lc_source_info_get(const lc_source *source,
    lc_source_info *out);

/**
 * Go on to the newest generation; streams that do not follow stay where they are, and
 * so does a source that was opened at a generation.
 * @return LC_OK, also when nothing is new; LC_CHANGED if the chunks that were known no
 * longer have just the records that they had, and the source stays as it is; LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_source_refresh(lc_source *source);

/**
 * Refresh until the source has @p records, or @p timeout_ms have passed.
 * @return LC_OK; LC_TIMEOUT; LC_END if it is final with fewer; LC_ABANDONED
 * if inputs are not finished and no writer holds one; else as lc_source_refresh().
 */
LC_API LC_CHECKED lc_status lc_source_wait(lc_source *source,
    uint64_t records, uint64_t timeout_ms);

/**
 * View a record by its ordinal, its place in the order of the source: from 0 to
 * lc_source_info.records - 1, those of plain puts in put order, those of shards as the
 * samples follow one another. The numbers stay when the source grows. Stands on the
 * newest commit, as lc_get() does; the record is verified as the handle says. out->status
 * is always set to what is returned. Any thread, several at once.
 *
 * A sample of shards with boxes is a map of "image", "boxes" and "mask", one without a
 * tensor, in the map of the shard and aligned as there. A view may outlive the source and
 * the handle.
 * @return LC_OK; LC_INVALID if there is no such record; LC_CHANGED if the records of its
 * chunk are no longer those that the source knows; LC_CORRUPT with the key, or with the
 * shard and the number of the sample; LC_UNSUPPORTED for a join of several modules; else
 * as lc_get().
 */
LC_API LC_CHECKED lc_status lc_source_get(lc_source *source, uint64_t ordinal,
    lc_view *out);

/**
 * The cache_id of a record by its ordinal, of all sources; empty in shards of version 1.
 * @param out   @p room bytes; LC_MAX_ID are always enough
 * @param size  gets how many bytes it has, also when that is more than @p room
 * @return LC_OK; LC_INVALID, also if there is not room enough; else as lc_source_get().
 */
LC_API LC_CHECKED lc_status lc_source_id(lc_source *source, uint64_t ordinal,
    void *out, size_t room, size_t *size);

/**
 * Copy @p n tensors of one dtype and shape into one block of memory, row after row, by the
 * ordinals of their records: read in the order in which they are stored, verified and
 * copied in one pass. Of all sources, joins too.
 *
 * @param ordinals  in any order; one may come several times
 * @param field     the tensor within a record, as in lc_reader_options.fields; NULL or "."
 *                  for records that are tensors, and for the images of shards
 * @param row       dtype and shape of each; its data is not looked at
 * @param rows      the block: n times row's bytes, all written; a row whose record
 *                  cannot be read is 0
 * @param room      size of the block in bytes
 * @param threads   how many share the work, the calling one included; 0 is 1. Each has 64
 *                  records at least, and reads the commit that is the newest when it begins
 * @param statuses  NULL, or room for n results
 * @return LC_OK, or the first failing row's status; the error begins with its position:
 * "item 7: ". LC_INVALID for an ordinal beyond the last, and if the rows do not fit;
 * LC_SCHEMA for a record of another dtype or shape, or without that field; LC_CHANGED if
 * the records of its chunk are no longer those that the source knows; LC_CORRUPT with the
 * key; LC_IO, LC_NO_MEMORY; LC_CANCELLED, which the rows that are left have, too, when
 * lc_source_options.stop has ended it.
 */
LC_API LC_CHECKED lc_status lc_source_gather(lc_source *source, size_t n,
    const uint64_t *ordinals, const char *field, const lc_tensor *row, void *rows,
    size_t room, unsigned threads, lc_status *statuses);

/**
 * The dtype and shape to gather: those of one record.
 * @param out  its data is NULL
 * @return as lc_source_gather().
 */
LC_API LC_CHECKED lc_status lc_source_gather_row(lc_source *source, uint64_t ordinal,
    const char *field, lc_tensor *out);

/**
 * The ordinals of @p n cache_ids, by the index of the module.
 * @param ordinals  room for n; UINT64_MAX for one that the source has not, also if it came
 *                  or was replaced later
 * @return LC_OK; LC_UNSUPPORTED for shards, joins, parts of a split and modules that are
 * filled by inputs, which have no index of their order, and for lists of them; LC_CANCELLED; else as
 * lc_source_get(), and the error begins with the position: "item 7: ".
 */
LC_API LC_CHECKED lc_status lc_source_find(lc_source *source, size_t n, const lc_id *ids,
    uint64_t *ordinals);

/** Close, when the last stream on it, and the last view of it, is closed too: these need
 *  not be closed before. NULL is harmless. */
LC_API void lc_source_close(lc_source *source);

/** How examples are shuffled; lmdbcache_stream(3) has the formulas. */
typedef enum lc_shuffle {
	LC_SHUFFLE_NONE = 0,  /**< in order */
	LC_SHUFFLE_FULL = 1,  /**< all of an epoch by one permutation */
	LC_SHUFFLE_BLOCK = 2, /**< blocks of neighbours are permuted, then the examples
	                           within each window of blocks: reads stay local */
	LC_SHUFFLE_ERA = 3    /**< block-shuffled within eras that double, for a source that
	                           still grows */
} lc_shuffle;

/** "none", "full", "block", "era"; NULL for anything else. */
LC_API const char *lc_shuffle_name(lc_shuffle shuffle);
LC_API LC_CHECKED lc_status lc_shuffle_parse(const char *name, lc_shuffle *out);

/** Size of a token, in bytes. */
#define LC_TOKEN_SIZE 96

/** An order. Fill with lc_stream_options_init(). */
typedef struct lc_stream_options {
	size_t struct_size;  /**< set by lc_stream_options_init() */
	uint64_t window;     /**< units an example: of the length field, or records where
	                          there is none; 0: an example is one record; default 0 */
	uint64_t stride;     /**< units from one window to the next; 0: window */
	int drop_short;      /**< leave out a last window that is not full; default 0 */
	uint32_t idealised;  /**< R*, the idealised number of readers, at most 65,536; 0 for
	                          the flat order, the default. Not with shuffles or epochs:
	                          its streams run on for ever */
	lc_shuffle shuffle;  /**< default LC_SHUFFLE_NONE */
	uint64_t block;      /**< B: examples a block; default 256 */
	uint64_t spread;     /**< W: blocks a window of the shuffle; default 16 */
	uint32_t shares;     /**< C: with LC_SHUFFLE_BLOCK, deal the chunks once to this number
	                          of shares, at most 65,536, which the readers divide. The
	                          option block has no effect then, and windows of units end with
	                          their chunk. For one source, and batches of a multiple of C.
	                          0, the default: no shares */
	uint64_t era_first, era_max; /**< examples of the first and of the largest era;
	                          default 65,536 and 1,048,576 */
	uint64_t seed;       /**< default 0 */
	uint64_t epochs;     /**< times over the data, each shuffled anew; 0 for ever;
	                          default 1. A mixture and R* have 0 only */
	uint64_t limit;      /**< examples in all, 0 for no limit; default 0 */
	const uint64_t *weights; /**< of the sources of a mixture, each 1 to 2^32; NULL: all
	                          alike */
	uint64_t mixture_block; /**< M: in each M examples of a mixture the shares are exact
	                          to one example; default 1,024 */
	uint64_t batch;      /**< B: examples a batch, over all readers; default 256 */
	int follow;          /**< go on while the source grows, until it is final. Not with
	                          LC_SHUFFLE_FULL or LC_SHUFFLE_BLOCK, which need to know the
	                          end, nor with mixtures; default 0 */
	const void *token;   /**< go on from here: LC_TOKEN_SIZE bytes; NULL to start */
} lc_stream_options;

LC_API void lc_stream_options_init(lc_stream_options *options);

/** An order over sources; its functions may be used by many threads. */
typedef struct lc_stream lc_stream;

/**
 * Make a stream over @p n sources, more than one for a mixture. Unless it follows,
 * it stands on what the sources have now, or had when options->token was taken.
 *
 * Example x of batch b is number bB + x; examples of all epochs are numbered on, so
 * that only the very last batch is padded.
 *
 * Of a source with images of several sizes each batch is of one size, the same on all
 * readers; the last one of each size in an epoch may have padding, which takes numbers
 * too. Without a shuffle the sizes follow one another, with one their batches are
 * interleaved at random. No windows, mixtures or R*, which are LC_INVALID; a token is of
 * this size of batches only, or else LC_OTHER_ORDER; a limit counts padding.
 *
 * @return LC_OK; LC_INVALID for options that contradict one another, for an order
 * without examples (a source, or one of the R* streams, that has no data), and for
 * a token that no batch of this size begins with; and of the token LC_CORRUPT,
 * LC_VERSION, LC_OTHER_CACHE, LC_OTHER_ORDER (also another seed), LC_CHANGED;
 * LC_NO_MEMORY, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_stream_open(lc_source *const *sources, size_t n,
    const lc_stream_options *options, lc_stream **out);

/** Numbers of a stream. */
typedef struct lc_stream_info {
	size_t struct_size;     /**< set by the caller to sizeof(lc_stream_info) */
	uint64_t examples;      /**< in all epochs; UINT64_MAX for ever, or while it follows a
	                             source that is not final */
	uint64_t batches;       /**< of them; UINT64_MAX likewise */
	uint64_t epoch_examples; /**< of an epoch, with shares also those that come twice in it;
	                             0 while that is not known or with none */
	uint64_t known;         /**< examples that can be read now */
	uint64_t first_batch;   /**< where the token stood; 0 without */
	uint64_t batch;         /**< examples a batch */
	uint64_t order_hash;    /**< of all options that make the order, not of batch, limit,
	                             seed or follow */
} lc_stream_info;

LC_API LC_CHECKED lc_status lc_stream_info_get(const lc_stream *stream,
    lc_stream_info *out);

/**
 * Wait until examples 0 to @p examples - 1 can be read; refreshes the source of a
 * stream that follows.
 * @return as lc_source_wait(); LC_END if there will not be so many.
 */
LC_API LC_CHECKED lc_status lc_stream_wait(lc_stream *stream,
    uint64_t examples, uint64_t timeout_ms);

/** A part of an example: units that stand in one chunk. */
typedef struct lc_piece {
	uint32_t source;   /**< which of the stream's sources */
	uint64_t epoch;    /**< of that source */
	uint64_t chunk;    /**< position in the order of chunks, from 0 */
	uint64_t chunk_id; /**< number of the chunk in the module, or of the shard */
	uint64_t first;    /**< first unit, from the chunk's start; without windows that is
	                        the record */
	uint64_t units;    /**< how many */
} lc_piece;

/**
 * Which parts of which chunks make an example, in order, without reading them.
 * @param pieces  room for @p room of them
 * @param n       gets how many there are, also when that is more than @p room
 * @return LC_OK; LC_END after the last example; LC_TIMEOUT if a stream that
 * follows does not know it yet; LC_INVALID if there are more than @p room, and none is
 * written; LC_CHANGED, LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_locate(lc_stream *stream,
    uint64_t example, lc_piece *pieces, size_t room, size_t *n);

/**
 * Which chunks one of @p readers of a stream of shares reads: the same in all epochs, so that
 * they can be fetched to where it runs.
 * @param chunks  gets their positions in the order of chunks, ascending; room for @p room
 * @param n       gets how many there are, also when that is more than @p room
 * @return LC_OK; LC_INVALID without shares, if there is no such reader, if the shares are no
 * multiple of the readers, or if there are more than @p room, and none is written;
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_share_chunks(lc_stream *stream, uint32_t reader,
    uint32_t readers, uint64_t *chunks, size_t room, size_t *n);

/**
 * The token of a position: batch @p batch is the next. The same on every reader, for
 * any R, and valid after appends. lmdbcache_stream(3) has its bytes. Behind the last
 * batch all positions are the end.
 * @param out  LC_TOKEN_SIZE bytes
 * @return LC_OK; LC_TIMEOUT if a stream that follows does not know all examples before
 * it yet; LC_CHANGED, LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_token(lc_stream *stream, uint64_t batch,
    void *out);

/** Close, when its last reader is closed too: these need not be closed before. NULL is
 *  harmless. */
LC_API void lc_stream_close(lc_stream *stream);

/** How readers share a batch. */
typedef enum lc_split {
	LC_SPLIT_STRIDED = 0,   /**< reader r has x = r, r + R, r + 2R … */
	LC_SPLIT_CONTIGUOUS = 1 /**< equal shares one after another; the first B mod R readers
	                             have one example more */
} lc_split;

/** "strided", "contiguous"; NULL for anything else. */
LC_API const char *lc_split_name(lc_split split);
LC_API LC_CHECKED lc_status lc_split_parse(const char *name, lc_split *out);

/** How to read. Fill with lc_reader_options_init(). */
typedef struct lc_reader_options {
	size_t struct_size;   /**< set by lc_reader_options_init() */
	uint32_t reader;      /**< r, from 0; default 0 */
	uint32_t readers;     /**< R; default 1 */
	lc_split split;       /**< default LC_SPLIT_STRIDED */
	const char *const *fields; /**< tensors to read: paths, "." for a record that is a
	                           tensor itself; of windows over a length field, tensors whose
	                           first axis is as long. NULL for all of the first record that
	                           is read; of windows, the length field */
	size_t n_fields;      /**< of fields; 0 with fields that are not NULL: no tensors, as
	                           for a list of what there is */
	int views;            /**< give pointers to records in place instead of one array;
	                           not with windows; default 0 */
	int documents;        /**< of windows: tell where documents begin; default 0 */
	unsigned threads;     /**< that read ahead; 0: none, next() reads itself; default 2 */
	unsigned ahead;       /**< batches read ahead at most; default 8 */
	uint64_t memory;      /**< bytes of their buffers at most, though never less than one
	                           batch a thread; default 256 MiB */
	uint64_t timeout_ms;  /**< how long next() waits for a source to grow; default
	                           UINT64_MAX, for ever */
	/**
	 * Functions for the memory of fields' data, such as memory that a device can read
	 * from; both or neither. @p size is a multiple of 64 and not 0. alloc() returns
	 * memory aligned to 64 bytes, or NULL, which makes the call LC_NO_MEMORY; what is
	 * not aligned is given back, and the call is LC_INVALID. free() gets the same size.
	 * Both are called by the reader's threads and by those that call its functions,
	 * several at once, and without a lock of the reader. The memory of a detached batch
	 * is freed by lc_batch_release(), maybe after the reader closed. They must not call
	 * functions of the reader while it is closed. Default NULL: the heap.
	 */
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *memory, size_t size);
	void *alloc_ctx;      /**< handed to them */
} lc_reader_options;

LC_API void lc_reader_options_init(lc_reader_options *options);

/** One tensor of all examples of a batch that are this reader's. */
typedef struct lc_batch_field {
	const char *name;      /**< as in lc_reader_options.fields */
	lc_dtype dtype;
	uint32_t ndim;         /**< of shape */
	uint64_t shape[LC_MAX_NDIM + 1]; /**< [rows, …]: the record's shape follows, or
	                            [window, …]. Of a ragged field shape[0] is the sum of all
	                            first axes and rows are not an axis */
	uint64_t nbytes;       /**< of data */
	void *data;            /**< 64-byte aligned, C order, the caller's to change; what is
	                            padding is 0. NULL with views */
	const void *const *rows; /**< with views: each record's data in place, read-only, NULL
	                            for padding; else NULL */
	const uint64_t *offsets; /**< of a ragged field, whose records differ in their first
	                            axis: rows + 1 positions on axis 0; else NULL */
} lc_batch_field;

/** A reader's share of a batch. Valid until lc_batch_release(); before the reader closes,
 *  unless it is detached. */
typedef struct lc_batch {
	uint64_t number;          /**< b */
	uint64_t first;           /**< first example of the whole batch */
	size_t rows;              /**< of this reader: its share of B, maybe 0 */
	size_t filled;            /**< of them, examples; the others are padding */
	const uint8_t *mask;      /**< of each row: 1 example, 0 padding */
	const uint64_t *examples; /**< of each row: its number; UINT64_MAX for padding */
	const uint64_t *epochs;   /**< of each row */
	const uint32_t *sources;  /**< of each row: which source of the mixture */
	const uint64_t *lengths;  /**< of each row: units that are there, 1 without windows;
	                               the rest of a window is padding */
	const lc_id *ids;         /**< of each row: cache_id of its record, or of the first one
	                               in its window; empty for padding and in shards of
	                               version 1 */
	const uint32_t *documents; /**< [rows, window]: number of the record within the window,
	                               from 0, UINT32_MAX for padding; NULL unless asked for */
	const uint32_t *positions; /**< [rows, window]: position within the record modulo 2^32,
	                               also if it began before the window; NULL likewise */
	size_t n_fields;
	const lc_batch_field *fields;
	void *lc_private;
} lc_batch;

/** Reads one share of the batches of a stream. */
typedef struct lc_reader lc_reader;

/**
 * Start reading at the stream's first batch. Threads start with the first
 * lc_reader_next().
 * @return LC_OK; LC_INVALID for options that contradict one another; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_reader_open(lc_stream *stream,
    const lc_reader_options *options, lc_reader **out);

/**
 * The next batch, in order. One thread at a time; give it back with
 * lc_batch_release(), in any order and from any thread. Batches that are held count
 * as read ahead: with all of them held this is LC_BUSY. To hold more, detach them:
 * lc_batch_detach(). A batch is made of the records
 * that the stream was opened on, or is LC_CHANGED.
 * @return LC_OK; LC_END; LC_TIMEOUT and LC_ABANDONED of a stream
 * that follows: call again; LC_SCHEMA with the key if a record has not the fields,
 * or not as the others; LC_CHANGED; LC_CORRUPT with the key: the same batch is tried
 * again by the next call, lc_reader_seek() passes it over; LC_NO_MEMORY, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_reader_next(lc_reader *reader,
    const lc_batch **out);

/**
 * Give a batch back, or free a detached one. From any thread; before its reader closes,
 * unless it is detached. NULL is harmless.
 */
LC_API void lc_batch_release(const lc_batch *batch);

/**
 * Make a batch of lc_reader_next() or lc_reader_read() the caller's. It no longer counts
 * as read ahead, nor its memory as the reader's, so that any number of batches can be
 * held. It stays as it is until lc_batch_release(), also after the reader, the stream,
 * the source and the handle are closed. From any thread; a second time changes nothing.
 * NULL is harmless.
 *
 * With lc_reader_options.views the batch goes on pinning the records that it shows, as a
 * view does, until it is released.
 * @return LC_OK; LC_NO_MEMORY, and the batch is as before.
 */
LC_API LC_CHECKED lc_status lc_batch_detach(const lc_batch *batch);

/** Go on at batch @p batch. Any batch may be sought; next() tells if there is none. */
LC_API LC_CHECKED lc_status lc_reader_seek(lc_reader *reader, uint64_t batch);

/**
 * Read any batch, from any thread, without a word to lc_reader_next(). Release it
 * with lc_batch_release().
 * @return as lc_reader_next(), without waiting: LC_TIMEOUT if it is not there yet.
 */
LC_API LC_CHECKED lc_status lc_reader_read(lc_reader *reader, uint64_t batch,
    const lc_batch **out);

/** lc_stream_token() behind the last batch that lc_reader_next() returned. */
LC_API LC_CHECKED lc_status lc_reader_token(lc_reader *reader, void *out);

/** What reading cost. */
typedef struct lc_reader_stats {
	size_t struct_size;    /**< set by the caller to sizeof(lc_reader_stats) */
	uint64_t batches;      /**< read, also ahead */
	uint64_t examples;     /**< in them, of this reader */
	uint64_t bytes;        /**< of tensors delivered */
	uint64_t stored_bytes; /**< of records, as stored, that were read or compared with
	                            checksums for them */
	uint64_t reads;        /**< records or parts of them that examples asked for */
	uint64_t runs;         /**< reads of neighbours count as one: places gone to */
	uint64_t chunks;       /**< chunks gone to, a batch each */
	uint64_t directory_hits, directory_misses; /**< places of records within chunks:
	                            known, or read from the chunk */
	uint64_t wait_ns;      /**< that next() waited for batches */
	uint64_t work_ns;      /**< of all threads, reading */
	uint64_t buffer_bytes; /**< memory of batches now */
} lc_reader_stats;

LC_API LC_CHECKED lc_status lc_reader_stat(const lc_reader *reader,
    lc_reader_stats *out);

/** Stop and close. All batches are released or detached before. NULL is harmless. */
LC_API void lc_reader_close(lc_reader *reader);

/* ------------------------------------------------------------------------
 * Stores: objects under names, on a place that many machines share
 * ------------------------------------------------------------------------ */

/**
 * A store of objects: a directory, a bucket of S3, or functions of the caller.
 * cachex-store(5) says what cachex keeps in one. Any number of threads may use it at
 * once. A child of fork() does not use what its parent has opened.
 */
typedef struct lc_store lc_store;

/** Where the name of the bucket is in requests to S3. */
typedef enum lc_path_style {
	LC_PATH_STYLE_AUTO = 0, /**< in the path where an endpoint is given, or where no host
	                             can have the name; else in the name of the host */
	LC_PATH_STYLE_YES = 1,  /**< in the path: http://HOST/BUCKET/KEY */
	LC_PATH_STYLE_NO = 2    /**< in the name of the host: http://BUCKET.HOST/KEY */
} lc_path_style;

/** How to reach a store. Fill with lc_store_options_init(). What is NULL or 0 is taken from
 *  the environment, then from the profile: lmdbcache_store(3). */
typedef struct lc_store_options {
	size_t struct_size;     /**< set by lc_store_options_init() */
	const char *endpoint;   /**< "http://HOST:PORT" or "https://HOST" of a server that
	                             speaks the language of S3; NULL: AWS_ENDPOINT_URL_S3,
	                             AWS_ENDPOINT_URL, or Amazon's of the region */
	const char *region;     /**< NULL: AWS_REGION, AWS_DEFAULT_REGION, "us-east-1" */
	const char *profile;    /**< of ~/.aws/credentials and ~/.aws/config, whose keys come
	                             before those of the environment; NULL: AWS_PROFILE, or
	                             "default", whose keys come after them */
	const char *ca_file;    /**< certificates of authorities, PEM; NULL: AWS_CA_BUNDLE, or
	                             the system's */
	lc_path_style path_style; /**< default LC_PATH_STYLE_AUTO */
	unsigned tries;         /**< of a request that fails for a reason that may pass;
	                             default 5 */
	uint32_t connect_ms;    /**< to connect; default 10,000 */
	uint32_t stall_s;       /**< a transfer of less than 1 KiB/s for so long is ended;
	                             default 30 */
	int single_publisher;   /**< put without conditions, into a store that has none: then
	                             one process at a time may push and publish, which the
	                             caller sees to; default 0 */
	/** Asked about once a second while a request waits, by the thread that does: not 0 ends
	 *  it with LC_CANCELLED. NULL: nobody is asked. Default NULL. */
	int (*cancelled)(void *ctx);
	void *cancelled_ctx;    /**< for it */
} lc_store_options;

/** Set every field to its default. */
LC_API void lc_store_options_init(lc_store_options *options);

/** An object. */
typedef struct lc_store_object {
	const char *name; /**< letters, digits, "-_." and "/", at most 255 bytes */
	uint64_t size;    /**< bytes */
	uint64_t time_ms; /**< when it was put, by the store's clock, ms since 1970 */
} lc_store_object;

/** Bytes to be put. */
typedef struct lc_store_body {
	uint64_t size;
	/** Hand out the next bytes: offsets begin with 0 and go on where the last call ended,
	 *  or begin again with 0. What it returns but LC_OK ends the put with that status. */
	lc_status (*read)(void *ctx, uint64_t offset, void *out, size_t size);
	void *ctx;
	const char *sha256; /**< of all of them, in hex, if it is known; else NULL */
} lc_store_body;

/**
 * A store that the caller's functions make. They are called by any number of threads at
 * once. They return LC_OK, LC_NO_FILE for an object that is not there, LC_PERMISSION,
 * LC_NO_SPACE, LC_NO_MEMORY, or LC_IO; lc_store_error() says why.
 */
typedef struct lc_store_calls {
	size_t struct_size; /**< sizeof(lc_store_calls) */
	/** Read up to @p size bytes from @p offset on; *got is less only where the object
	 *  ends. With size 0 only its size and time are asked for.
	 *  @param about  gets them, without a name; never NULL */
	lc_status (*get_range)(void *ctx, const char *name, uint64_t offset, void *out,
	    size_t size, size_t *got, lc_store_object *about);
	/** Put it, whole or not at all, unless there is one of the name: then LC_EXISTS. Of
	 *  several calls at once, on whatever machines, exactly one is LC_OK. LC_UNSUPPORTED
	 *  where the store cannot do that. */
	lc_status (*put_new)(void *ctx, const char *name, const lc_store_body *body);
	/** Put it, whole or not at all, in the place of any. */
	lc_status (*put)(void *ctx, const char *name, const lc_store_body *body);
	/** Call @p fn for each object whose name begins with @p prefix until it returns
	 *  something else than LC_OK, and return that. */
	lc_status (*list)(void *ctx, const char *prefix,
	    lc_status (*fn)(void *fn_ctx, const lc_store_object *object), void *fn_ctx);
	/** Remove it; LC_OK also if it is not there. */
	lc_status (*remove)(void *ctx, const char *name);
	/** Its time is now. NULL: the object is read and put again. */
	lc_status (*touch)(void *ctx, const char *name);
	/** The store is closed. May be NULL. */
	void (*close)(void *ctx);
} lc_store_calls;

/**
 * Open a store. Nothing is read or sent: a bucket or directory that is not there shows in
 * what is done with the store.
 * @param url      "s3://BUCKET/PREFIX", "file:///DIR", "file:DIR" or the path of a
 *                 directory; copied
 * @param options  NULL for the defaults; copied
 * @return LC_OK; LC_INVALID for a bad URL or option; LC_UNSUPPORTED for S3 in a build
 * without libcurl; LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_store_open(const char *url,
    const lc_store_options *options, lc_store **out);

/**
 * Open a store that functions of the caller make.
 * @param calls  copied
 * @param ctx    for them; the caller's until calls->close()
 * @param url    what messages call the store; copied
 * @return LC_OK; LC_INVALID if a function is missing; LC_NO_MEMORY. Without LC_OK close() is
 * not called.
 */
LC_API LC_CHECKED lc_status lc_store_open_calls(const lc_store_calls *calls, void *ctx,
    const char *url, lc_store **out);

/** For functions of lc_store_calls: say why, in one line, and return @p status. */
LC_API lc_status lc_store_error(lc_status status, const char *text);

/** What a store has done since it was opened. A directory counts nothing. */
typedef struct lc_store_stats {
	uint64_t requests; /**< sent to the server, or calls of the caller's functions */
	uint64_t retries;  /**< of them, those that were sent again */
	uint64_t received; /**< bytes of objects and listings, broken transfers too */
	uint64_t sent;     /**< likewise */
} lc_store_stats;

/** Count; any thread, at any time. */
LC_API void lc_store_stats_of(const lc_store *store, lc_store_stats *out);

/** Close; nothing uses it any more. NULL is harmless. */
LC_API void lc_store_close(lc_store *store);

/** How the shards of a store are fetched. Fill with lc_fetch_options_init(). */
typedef struct lc_fetch_options {
	size_t struct_size;   /**< set by lc_fetch_options_init() */
	const char *cache;    /**< the directory of copies, which is made if it is not there;
	                           all processes of a host may share one, each object is
	                           fetched once then. Not on NFS or SMB. No default */
	uint64_t cache_bytes; /**< that the copies of all of them take on the disk, at most;
	                           no default */
	int shared;           /**< other users may write to the directory, too; else it has
	                           mode 0700; default 0 */
	uint64_t generation;  /**< to be read; 0, the default, for the newest */
	uint32_t ahead;       /**< shards that are fetched before a reader needs them;
	                           default 4 */
	uint32_t threads;     /**< that fetch; default 4 */
} lc_fetch_options;

/** Set every field to its default. */
LC_API void lc_fetch_options_init(lc_fetch_options *options);

/**
 * Open a generation of a store as a source of streams.
 *
 * A reader knows which shards it will need, in all epochs. They are fetched in that order,
 * before it needs them, into the directory of copies, and are hashed while they arrive; the
 * copies that are needed last, by any reader of the host that shares the directory, are
 * removed for them. An order whose future is not known, a mixture, R* or several sizes of
 * image, has its shards fetched when they are read.
 *
 * What a reader needs at once and ahead is its least cache. If cache_bytes are less,
 * nothing is kept: rows are read by ranges from the store, and each block is verified.
 * lmdbcache_stream(3) has the formulas, cachex-plan(1) the numbers.
 *
 * A shard that is missing or damaged in the store is an error of its rows. A copy that is
 * damaged on the disk is mended from the store. A child of fork() must not use the source.
 *
 * @param store    belongs to the source, on success: lc_source_close() closes it
 * @param options  as of lc_source_open_shards(); NULL for the defaults
 * @return LC_OK; LC_NO_FILE if there is no such generation; LC_INVALID; LC_CORRUPT for a
 * damaged manifest; LC_FILESYSTEM for a directory whose locks are not those of one host;
 * LC_PERMISSION, LC_NO_SPACE, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_source_open_store(lc_store *store,
    const lc_fetch_options *fetch, const lc_source_options *options, lc_source **out);

/** What fetching has cost since the source was opened. */
typedef struct lc_fetch_stats {
	size_t struct_size;   /**< set by the caller to sizeof(lc_fetch_stats) */
	uint64_t generation;  /**< that is read */
	uint64_t least_bytes; /**< the least cache of the last reader; 0: not known */
	int ranges;           /**< rows are read by ranges, as the cache is smaller */
	uint64_t hits;        /**< times that a shard was opened and its copy was there */
	uint64_t misses;      /**< times that it was not */
	uint64_t fetched;     /**< objects that were fetched whole */
	uint64_t fetched_bytes;  /**< from the store, ranges and broken transfers too */
	uint64_t range_requests; /**< ranges of shards that were asked for */
	uint64_t evicted;     /**< copies that were removed to make room */
	uint64_t refetched;   /**< objects that came damaged and were asked for again */
	uint64_t resumed;     /**< transfers that went on from where one had stopped */
	uint64_t mended;      /**< blocks of copies that were damaged on the disk */
	uint64_t failed;      /**< fetches that ended with an error */
	uint64_t stall_ns;    /**< that reading waited for shards */
	uint64_t requests, retries; /**< as in lc_store_stats */
} lc_fetch_stats;

/** Count; any thread. LC_UNSUPPORTED if the source is not of a store. */
LC_API LC_CHECKED lc_status lc_source_fetch_stats(const lc_source *source,
    lc_fetch_stats *out);

/* ------------------------------------------------------------------------
 * Aspect buckets: a few sizes of image, of which each image gets the nearest
 * ------------------------------------------------------------------------ */

/** Width and height in pixels, 1 to 65,535 each. */
typedef struct lc_bucket {
	uint32_t width, height;
} lc_bucket;

/** The most buckets that are learned at once. */
#define LC_BUCKETS_MAX 64

/**
 * The seven sizes of about 1024 x 1024 pixels with sides of multiples of 64:
 * 1024x1024, 832x1216, 1216x832, 768x1280, 1280x768, 704x1344, 1344x704.
 * @param n  gets 7; may be NULL
 * @return them, for ever.
 */
LC_API const lc_bucket *lc_buckets_default(size_t *n);

/**
 * The index of the bucket whose width / height is nearest to the image's; of equally
 * near ones the first. Exact: no rounding takes part.
 * @param n  1 at least; buckets and image have sides of 1 to 2^32 - 1
 */
LC_API size_t lc_bucket_nearest(const lc_bucket *buckets, size_t n,
    uint32_t width, uint32_t height);

/**
 * Learn buckets from images: k-means on log(width / height), begun at the middles
 * of k equal parts of the sorted ratios so that the same ratios give the same
 * buckets; a centre that loses its images begins again where they are farthest from
 * theirs. Each centre then becomes the size of @p area pixels with sides of multiples
 * of @p quantum, at most 65,535. Equal ones are joined.
 * @param ratios   width / height of each image, > 0; sorted in place
 * @param k        how many are wanted, 1 to LC_BUCKETS_MAX
 * @param area     in pixels, 1 at least, such as 1024 * 1024
 * @param quantum  in pixels, such as 64; 1 to 65,535
 * @param out      room for k, in ascending order of width / height
 * @param n        gets how many there are, 1 to k
 * @return LC_OK; LC_INVALID for no images or an argument outside its range;
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_buckets_learn(double *ratios, size_t count,
    size_t k, uint64_t area, uint32_t quantum, lc_bucket *out, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
