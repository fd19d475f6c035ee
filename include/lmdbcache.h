/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file lmdbcache.h
 * @brief liblmdbcache: an embedded cache of tensors on LMDB.
 *
 * A *module* is a named collection of *records*; it lives in one LMDB
 * environment, the directory ROOT/MODULE_ID. A record is one *value* under one
 * *cache_id*, a string of 1 to 65,536 arbitrary bytes. A value is a tensor, or maps,
 * lists and tuples, nested in any way, of tensors and plain data. A get returns the
 * bits that were put: dtype, shape and byte order are never converted.
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
 *   it. Views, iterators, sources and writers of a handle may outlive it, see
 *   lc_close(). An iterator belongs to one thread at a time.
 * - Processes: any number of processes may read and write one module at once.
 *   Every read sees the newest commit, whichever process made it. The handles of one
 *   process read each other's pending writes at once; other processes see them after
 *   the commit.
 * - fork: after fork() the child may use the handle. It reopens the environment on
 *   first use and drops its copy of the pending writes, which the parent commits. Views
 *   and iterators belong to the process that created them: a child may release them or
 *   leave them; they keep nothing open in the child. A child does not have the threads
 *   of its parent's stream readers: it may close such a reader, and use, detach and
 *   release the batches that the parent held, which frees nothing; every other call on
 *   it returns LC_INVALID.
 * - Descriptors: the library's are 3 or higher, even if the program has closed some of
 *   0 to 2, and are closed by exec.
 * - Views pin a snapshot: while one is held, space that later commits free is not
 *   reused. Release views soon; copy data that you keep for long.
 * - Trust: data.mdb is checked structurally when opened and every record is
 *   verified when read, so accidental damage is reported as LC_CORRUPT. Even so, open
 *   only modules from writers that you trust; shards and .npy files may come from
 *   anywhere.
 * - Maps: data.mdb, lock.mdb and shards are read through maps. If a program shortens
 *   one while it is open, a process that reads the missing part gets SIGBUS: replace
 *   such files by rename, never write over them.
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
	LC_BUSY = 9,          /**< no reader slot is free, or another holder has the
	                           resource */
	LC_PERMISSION = 10,   /**< the system refused access */
	LC_IO = 11,           /**< any other failure of the system; lc_error.sys holds errno */
	LC_NO_MEMORY = 12,    /**< allocation failed */
	LC_FILESYSTEM = 13,   /**< network or FUSE file system, refused without LC_FORCE_FS */
	LC_CANCELLED = 14,    /**< a progress callback asked to stop */
	LC_UNSUPPORTED = 15,  /**< valid, but not representable in the format asked for */
	LC_SCHEMA = 16,       /**< the structure of a value differs from the one asked
	                           for, or from that of a strict module; the error shows
	                           both */
	LC_FAILED = 17,       /**< the caller's function failed in lc_get_or_compute(),
	                           or a warehouse exceeds its validation limits */
	LC_STALE = 18,        /**< the sources that it was computed from have changed */
	LC_EXISTS = 19,       /**< the cache_id, or the file or name, exists and may not
	                           be replaced */
	LC_TIMEOUT = 20,      /**< the wait was longer than the time limit */
	LC_ABANDONED = 21,    /**< the wait would not end: no writer has the unfinished
	                           input open */
	LC_OTHER_CACHE = 22,  /**< a token of another module or other shards */
	LC_OTHER_ORDER = 23,  /**< a token of another order or seed */
	LC_CHANGED = 24,      /**< the data read before has changed: records were
	                           replaced, deleted or regrouped */
	LC_END = 25,          /**< the end of an iteration or a stream: a result, not a failure */
	LC_NO_FILE = 26       /**< no such file or directory: a module, a shard, a warehouse; the
	                           error names it */
} lc_status;

/** The last error of a thread. */
typedef struct lc_error {
	lc_status status; /**< as returned by the call */
	int sys;          /**< errno or the LMDB code that caused it, 0 if none */
	size_t item;      /**< position of the item of a batch that failed; the text
	                       begins with it, "item 7: "; SIZE_MAX if the error is not
	                       about an item */
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
 * A dtype for elements that the library does not interpret. They are stored and
 * returned bit for bit; operations on numbers, and formats without such a dtype, refuse
 * it. The same name and size always give the same dtype in a process; files hold the
 * name and the size, not the number. It stays registered until the process ends.
 * @param name  1 to LC_OPAQUE_NAME_MAX letters, digits and `_.,:+-<>|`
 * @param size  bytes per element, 1 to LC_OPAQUE_SIZE_MAX
 * @return LC_OK; LC_INVALID; LC_UNSUPPORTED if the process has LC_OPAQUE_MAX of them;
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_dtype_opaque(const char *name, size_t size,
    lc_dtype *out);

/** Bytes per element, 0 if @p dtype is not a dtype. */
LC_API size_t lc_dtype_size(lc_dtype dtype);

/** "f32", "u8", "c64", "f8_e4m3"; size and name for an opaque one: "opaque16:pose".
 *  NULL if @p dtype is not a dtype. The string is never freed. */
LC_API const char *lc_dtype_name(lc_dtype dtype);

/**
 * The dtype of a name as lc_dtype_name() writes it, or as NumPy and PyTorch
 * do: "float32", "int64", "bfloat16", "float8_e4m3fn" …
 * @return LC_OK; LC_INVALID with the name in the error; for the name of an opaque dtype
 * as lc_dtype_opaque().
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

/** Free the data of a tensor that lc_get_copy() returned. NULL data is allowed. */
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
 * You need not check each step of building a value: a failure (no memory, a duplicate
 * name, a child of a value that cannot have children) marks the tree, NULL is accepted
 * everywhere, and lc_value_check() or the put reports the first failure.
 *
 * A tree belongs to one thread while it is built; after that any number of
 * threads may read it. The nesting is at most LC_MAX_DEPTH deep. A value has at most
 * 65,535 tensors, with ranks that sum to at most 65,535, and 1,048,576 parts (a list
 * without tensors in it counts as one).
 */

/** The kind of a value or of a part of one. */
typedef enum lc_kind {
	LC_TENSOR = 0,  /**< a tensor */
	LC_MAP = 1,     /**< named values, in the order in which they were set */
	LC_LIST = 2,    /**< values */
	LC_TUPLE = 3,   /**< values; distinct from a list */
	LC_NIL = 4,     /**< nothing */
	LC_BOOLEAN = 5, /**< false or true */
	LC_INTEGER = 6, /**< -2^63 to 2^64-1 */
	LC_FLOAT = 7,   /**< binary64; the bits of a NaN are kept */
	LC_STRING = 8,  /**< bytes that are text, by convention UTF-8 */
	LC_BYTES = 9,   /**< bytes */
	LC_TAGGED = 10, /**< one value with a name, its tag, that says what the value
	                     represents: for programs and languages with more types than
	                     these */
	LC_PAIRS = 11   /**< keys alternating with values: a map with keys of any plain data */
} lc_kind;

/** "tensor", "map", "list" …; NULL if @p kind is not one of lc_kind. */
LC_API const char *lc_kind_name(lc_kind kind);

/** The deepest nesting of a value; a tensor alone has depth 1. */
#define LC_MAX_DEPTH 64

/** A value or a part of one. */
typedef struct lc_value lc_value;

/**
 * Create a value; NULL without memory. Strings and bytes are copied. A tensor's data is
 * borrowed: it must stay unchanged until the tree has been put, copied or freed. Free
 * the root with lc_value_free().
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
 * Add a named child to a map, or a child to a list or tuple. The parent owns the child
 * from then on. That also holds when the call fails: then the parent is marked, the
 * child is freed unless it is already part of a value, and NULL is returned.
 * @param name  not empty, without a NUL; copied
 * @return the child, so that the caller can fill it.
 */
LC_API lc_value *lc_value_set(lc_value *map, const char *name, lc_value *child);
LC_API lc_value *lc_value_append(lc_value *list, lc_value *child);

/**
 * Create a tagged value with its one child, which it owns from then on. A failure marks
 * it. NULL without memory: then the child is freed.
 * @param tag  not empty, without a NUL; copied. The library gives it no meaning: choose
 *             one that no other program uses, such as "py.set"
 */
LC_API lc_value *lc_value_tagged(const char *tag, lc_value *child);

/**
 * Add a key and its value to pairs, which own both from then on, as with
 * lc_value_append(). Keys are not compared: duplicates are allowed.
 * @param key  any plain data except a map; it must not hold a tensor
 * @return the child
 */
LC_API lc_value *lc_value_pair(lc_value *pairs, lc_value *key, lc_value *child);

/**
 * Check whether the tree was built without a failure.
 * @return LC_OK; LC_NO_MEMORY (also for NULL); LC_INVALID with the reason in the error.
 */
LC_API LC_CHECKED lc_status lc_value_check(const lc_value *value);

/** Free a tree that was built or copied. NULL is allowed. Not for children. */
LC_API void lc_value_free(lc_value *value);

/** A deep copy, including the data of tensors (64-byte aligned); NULL without memory.
 *  Free with lc_value_free(). */
LC_API lc_value *lc_value_copy(const lc_value *value);

/** 1 if structure and bytes are equal, else 0. A map's order counts, -0.0 differs from
 *  0.0. */
LC_API int lc_value_equal(const lc_value *a, const lc_value *b);

/** Bytes of a key that lc_value_key() writes, its terminator included. */
#define LC_KEY_SIZE 36

/**
 * Compute a cache_id from content: "k1-" and 32 hex digits, the same for equal values
 * in every process, on every machine and in every version of the library. The order of
 * a map or of pairs does not count; all else counts as in lc_value_equal(): kinds,
 * dtypes, shapes, the bits of floats. The digits are an XXH3-128: different values have
 * different keys unless an attacker searches for a collision. lmdbcache_value(3)
 * defines the bytes that are hashed. A later derivation would get another number after
 * the "k".
 * @param out  LC_KEY_SIZE bytes, terminated
 * @return LC_OK; LC_INVALID or LC_NO_MEMORY if building the value failed; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_value_key(const lc_value *value, char out[LC_KEY_SIZE]);

/** Its kind; LC_NIL for NULL. */
LC_API lc_kind lc_value_kind(const lc_value *value);

/** The number of children of a map, list or tuple; 1 for a tagged value; for pairs,
 *  keys and values together, twice the number of pairs; 0 for anything else. */
LC_API size_t lc_value_count(const lc_value *value);

/** Child @p i in order, NULL after the last. */
LC_API const lc_value *lc_value_at(const lc_value *value, size_t i);

/** The name of child @p i of a map, the tag of a tagged value for 0, else NULL. */
LC_API const char *lc_value_name(const lc_value *map, size_t i);

/**
 * The part at a path: names and positions separated by dots, as in
 * "boxes.0.score". A dot or a backslash in a name is written `\.` or `\\`. The step to
 * the child of a tagged value is its tag; in pairs both keys and values have positions.
 * NULL or "" is the value itself. NULL if there is no such part.
 */
LC_API const lc_value *lc_value_find(const lc_value *value, const char *path);

/**
 * The content of a part, borrowed from it.
 * @return LC_OK; LC_SCHEMA if the part has another kind, also for NULL; LC_INVALID for
 * an integer outside the range of the type.
 */
LC_API LC_CHECKED lc_status lc_value_as_tensor(const lc_value *value, lc_tensor *out);
LC_API LC_CHECKED lc_status lc_value_as_boolean(const lc_value *value, int *out);
LC_API LC_CHECKED lc_status lc_value_as_integer(const lc_value *value, int64_t *out);
LC_API LC_CHECKED lc_status lc_value_as_unsigned(const lc_value *value, uint64_t *out);
LC_API LC_CHECKED lc_status lc_value_as_float(const lc_value *value, double *out);
/** Terminated by a NUL that @p size does not count; @p size may be NULL. */
LC_API LC_CHECKED lc_status lc_value_as_str(const lc_value *value, const char **out, size_t *size);
LC_API LC_CHECKED lc_status lc_value_as_bytes(const lc_value *value, const void **out, size_t *size);

/** A part of a value, as lc_value_parts() lists it. Its pointers are borrowed from the
 *  value. */
typedef struct lc_part {
	lc_kind kind;      /**< its kind */
	uint32_t negative; /**< 1: an integer below 0, in of.integer; other integers are
	                        in of.natural */
	size_t size;       /**< lc_value_count(); bytes of a string or bytes */
	union {
		const lc_tensor *tensor;
		const void *bytes; /**< of a string or bytes; a NUL follows them */
		double number;     /**< a float */
		uint64_t natural;  /**< an integer; 0 or 1 for a boolean */
		int64_t integer;
	} of;
} lc_part;

/**
 * List all parts of a value in one call, for bindings that create objects of another
 * language: the value itself, then its children in order, each followed by its own
 * children. The name of a child, in a map or a tagged value, comes before it as a
 * string.
 * @param parts  gets the first @p room of them; may be NULL if that is 0
 * @return how many there are; 0 for NULL.
 */
LC_API size_t lc_value_parts(const lc_value *value, lc_part *parts, size_t room);

/**
 * The structure of a value as one line: "{features: f32[512], boxes: [f16[4],
 * f16[4]], model: string, tags: list}"; with shapes, not only ranks. A tagged value is
 * "(tag: f16[4])", pairs are "<integer: f16[4]>". A part that has children, is not a
 * map and holds no tensor is written as its kind alone.
 * @return as snprintf().
 */
LC_API int lc_value_describe(const lc_value *value, char *out, size_t room);

/* ------------------------------------------------------------------------
 * Codecs and other settings of a module
 * ------------------------------------------------------------------------ */

/** How the bytes of a tensor are stored. The numbers are stored in files. */
typedef enum lc_codec {
	LC_CODEC_NONE = 0,        /**< as they are: read in place */
	LC_CODEC_LZ4 = 1,         /**< LZ4 */
	LC_CODEC_SHUFFLE_LZ4 = 2, /**< bytes regrouped by their place in the element,
	                               then LZ4 */
	LC_CODEC_U8PACK = 3,      /**< floats with at most 256 values, such as scale * k
	                               + offset for an 8-bit k: stored as k and a
	                               table */
	LC_CODEC_U8PACK_LZ4 = 4,  /**< the same, then LZ4 */
	LC_CODEC_AUTO = 254,      /**< the codec that compresses a sample of the tensor
	                               best */
	LC_CODEC_DEFAULT = 255    /**< the codec of the handle, or of the module if that is this, too */
} lc_codec;

#define LC_CODEC_COUNT 5

/** "none", "lz4", "shuffle-lz4", "u8pack", "u8pack-lz4", "auto", "default";
 *  NULL for anything else. */
LC_API const char *lc_codec_name(lc_codec codec);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_codec_parse(const char *name, lc_codec *out);

/** What a module does with a value that differs in structure from its first value. */
typedef enum lc_policy {
	LC_EVOLVE = 0, /**< store it; the module gets one more schema */
	LC_STRICT = 1  /**< refuse it with LC_SCHEMA; the order of a map's names does
	                    not count. The structure is that of the first value ever
	                    put */
} lc_policy;

/** "evolve", "strict"; NULL for anything else. */
LC_API const char *lc_policy_name(lc_policy policy);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_policy_parse(const char *name, lc_policy *out);

/** Which chunks are evicted first when a module is above its max_bytes. */
typedef enum lc_evict {
	LC_EVICT_OLDEST = 0, /**< those committed first */
	LC_EVICT_UNREAD = 1  /**< those not read for the longest time, to the second;
	                          reads by handles opened with LC_RDONLY do not count */
} lc_evict;

/** "oldest", "unread"; NULL for anything else. */
LC_API const char *lc_evict_name(lc_evict evict);

/** @return LC_OK, or LC_INVALID with the name in the error. */
LC_API LC_CHECKED lc_status lc_evict_parse(const char *name, lc_evict *out);

/** Longest lc_settings.length_field, in bytes. */
#define LC_LENGTH_FIELD_MAX 255

/** Settings that a module stores, for all processes that use it. */
typedef struct lc_settings {
	size_t struct_size; /**< set by the caller to sizeof(lc_settings) */
	lc_codec codec;     /**< for puts that do not name a codec; default
	                         LC_CODEC_NONE */
	int level;          /**< 0 the codec's default, 1 to 12 high compression, -1 to
	                         -65537 acceleration of LZ4; default 0 */
	lc_policy policy;   /**< default LC_EVOLVE */
	lc_evict evict;     /**< default LC_EVICT_OLDEST */
	uint64_t max_bytes; /**< limit in bytes for all records, live and dead; 0, the
	                         default, for no limit. Each commit checks it and drops
	                         at most 64 chunks, never the newest. Held views stay
	                         valid */
	int auto_compact;   /**< 1, the default: each commit frees the chunks whose last live
	                         record it replaces or deletes, and while more than half of all
	                         data is dead it rewrites some chunks without their dead
	                         records; see lmdbcache_module(3). 0: only lc_compact()
	                         does this */
	char length_field[LC_LENGTH_FIELD_MAX + 1]; /**< the tensor whose first axis is a
	                         record's length, such as its tokens: a path as for
	                         lc_value_find(), "." for a record that is a tensor itself;
	                         "" for none, the default. The ledger stores the sum of
	                         the lengths of each chunk, so that streams of windows
	                         can seek. It can be set or changed only in a module
	                         without records */
} lc_settings;

/* ------------------------------------------------------------------------
 * Opening and closing a module
 * ------------------------------------------------------------------------ */

/** An open module. */
typedef struct lc_cache lc_cache;

/** lc_options.flags */
#define LC_RDONLY   0x01u /**< never write; the module must exist */
#define LC_CREATE   0x02u /**< create root and module if missing (default without
	                       options) */
#define LC_FORCE_FS 0x04u /**< accept network and FUSE file systems */

/** What survives a loss of power; see lmdbcache(3), DURABILITY. */
typedef enum lc_durability {
	LC_DURABLE_FULL = 0,   /**< every acknowledged flush survives */
	LC_DURABLE_RELAXED = 1 /**< consistent, but the last commit may be lost */
} lc_durability;

#define LC_RANK_ANY (-1)

/** When reads compare data with its checksum; see lmdbcache(3), VERIFYING. */
typedef enum lc_verify_mode {
	LC_VERIFY_NEVER = 0,  /**< damage to a tensor's bytes is not noticed; lengths
	                           and offsets are still checked */
	LC_VERIFY_ALWAYS = 1, /**< each time */
	LC_VERIFY_ONCE = 2    /**< at the first read in this process; later damage, on
	                           the disk or in memory, is not noticed */
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
	uint64_t flush_every;       /**< records per commit, at least 1; default 2048 */
	uint64_t chunk_bytes;       /**< bytes per commit, 64 KiB to 64 MiB; default 4
	                                MiB */
	uint64_t flush_interval_ms; /**< commit pending writes that are this old; 0
	                                never, default 1000 */
	uint64_t timeout_ms;        /**< the longest that a call waits, see
	                                lc_set_timeout(); default UINT64_MAX, without
	                                limit */
	uint64_t map_size;          /**< address space for the map in bytes; grows when
	                                needed; default 1 TiB, halved until the system
	                                accepts it */
	uint64_t pin_warn_ms;       /**< log a view or walk held longer than this; 0 never, default 60000 */
	lc_codec codec;             /**< for the puts of this handle; default
	                                LC_CODEC_DEFAULT */
	int level;                  /**< of codec, as in lc_settings; default 0 */
	uint64_t lru_bytes;         /**< memory for decoded tensors, and for puts on a
	                                rank that does not write; 0 off, default 64
	                                MiB */
	int rank;                   /**< of this process; default the environment
	                                variable RANK, or 0 if that is not a decimal
	                                number that fits */
	int writer_rank;            /**< the rank that writes, or LC_RANK_ANY; default
	                                 LC_RANK_ANY. On other ranks puts and deletes reach
	                                 the LRU only (with lru_bytes 0 they are forgotten),
	                                 and flush does nothing; other calls that write,
	                                 such as lc_clear(), return LC_READONLY */
	void (*log)(void *ctx, const char *line); /**< gets a line for each unusual
	                                event; default NULL. Called from any thread;
	                                must not call the library */
	void *log_ctx;              /**< its first argument */
	int (*stop)(void *ctx);     /**< called every few records by calls that read
	                                many: lc_get_batch(), lc_contains_batch(),
	                                lc_gather() and similar calls. Non-zero ends the
	                                call with LC_CANCELLED, which is then the status
	                                of all remaining items. Called in the calling
	                                thread, without a lock; default NULL */
	void *stop_ctx;             /**< its argument */
} lc_options;

/** Set every field of @p options to its default. */
LC_API void lc_options_init(lc_options *options);

/**
 * Open a module, and create it if the options allow that.
 *
 * @param root       the directory that holds modules
 * @param module_id  `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`
 * @param options    NULL for the defaults
 * @param out        the handle; close it with lc_close() or lc_discard()
 *
 * Handles of one process on one module, opened by any path, share the environment and
 * the pending writes: each sees the puts of all others at once, the last call on a key
 * counts, and a flush by one flushes all. Each has its own options. The limits
 * flush_every, chunk_bytes and flush_interval_ms of a handle are checked when that
 * handle puts something. A commit is durable as LC_DURABLE_FULL if one of the handles
 * with a put in it has that option.
 *
 * The files of a module must be regular files: symbolic links are not followed. Readers
 * too write to lock.mdb: without write permission the call returns LC_PERMISSION, and
 * without space for the file LC_NO_SPACE. If creating a new module fails, its files are
 * removed.
 *
 * Opening reads at most about 64 pages of the file, whatever its size. So damage to the
 * structure of a large module may be found later: by the call that reads the damaged
 * page, or by the first commit of the process, which checks the whole structure first.
 *
 * @return LC_OK; LC_INVALID for a bad name or option; LC_NO_FILE if the module does not
 * exist and the options do not allow creating it; LC_NOT_MODULE, LC_VERSION,
 * LC_CORRUPT, LC_FILESYSTEM, LC_PERMISSION, LC_NO_SPACE, LC_IO, LC_NO_MEMORY;
 * LC_TIMEOUT.
 */
LC_API LC_CHECKED lc_status lc_open(const char *root, const char *module_id,
    const lc_options *options, lc_cache **out);

/**
 * Set timeout_ms of an open handle: the longest that a call on it waits, in
 * milliseconds; 0 does not wait, UINT64_MAX waits without limit. It applies to waits
 * that begin later, in any thread. With a short limit a caller can handle other events,
 * such as signals, and call again.
 *
 * The limit applies to each wait for the handle's commits, which may themselves wait
 * for a writer of another process: by a put or delete while two commits' worth is
 * pending, by lc_flush() and lc_close(), and by calls that flush first, such as
 * lc_count() and lc_iter_open(). It applies to the wait of lc_get_or_compute() for
 * other threads, and, as timeout_ms of its options, to each wait of lc_open() for a
 * process that opens or rewrites the module. (If a process was stopped while it created
 * the module, lc_open() waits for it without a limit.) The call then returns
 * LC_TIMEOUT, and nothing is lost: the put was not accepted, or the commit continues in
 * the background and the next flush waits for it. Calls that write on their own, such
 * as lc_clear(), lc_settings_set() and lc_compact(), wait for other writers without a
 * limit. lc_copy() keeps waiting for its target, and calls its progress function each
 * time; lc_discard() waits for a commit that has begun.
 */
LC_API void lc_set_timeout(lc_cache *cache, uint64_t timeout_ms);

/**
 * Flush and close the handle. If the flush fails, the handle is closed all the same,
 * the first error is returned, and pending writes are lost, unless this process has
 * another handle that writes to the module: then they stay pending there. A handle that
 * only reads flushes nothing. The call saves the counters, and waits for that while
 * another process commits. NULL is allowed.
 *
 * Views, iterators, sources with their streams and readers, and writers remain usable:
 * use and release them as before, in any order and from any thread; a reservation can
 * only be cancelled. All other calls on the handle must have returned before this call.
 * The module stays open until the last of these objects is released, so that lc_drop(),
 * lc_shrink() and similar calls return LC_BUSY until then. A tensor that was decoded,
 * or was pending, is a copy in memory and does not keep the module open.
 *
 * @return LC_OK; LC_TIMEOUT: the handle stays open and nothing is lost: close it again,
 * or discard it; otherwise as lc_flush().
 */
LC_API lc_status lc_close(lc_cache *cache);

/** As lc_close(), without committing pending writes: they are lost if this was the last
 *  handle of this process that writes to the module. NULL is allowed. */
LC_API void lc_discard(lc_cache *cache);

/**
 * Call @p fn with every module_id under @p root, in byte order, until it
 * returns non-zero. The name is valid during the call. A directory that is not a module
 * is skipped. A root that does not exist counts as empty.
 * @return LC_OK, LC_CANCELLED if @p fn stopped it, LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_modules(const char *root,
    int (*fn)(void *ctx, const char *module_id), void *ctx);

/** Read the settings of a module. @p out->struct_size must be set. */
LC_API LC_CHECKED lc_status lc_settings_get(lc_cache *cache, lc_settings *out);

/**
 * Change the settings of a module, durable on LC_OK. Other processes use them from
 * their next commit on. Stored records do not change; lc_compact() can recode them.
 * @return LC_OK; LC_INVALID, also for LC_CODEC_DEFAULT; LC_CORRUPT if the stored
 * settings are damaged; LC_READONLY; LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_settings_set(lc_cache *cache, const lc_settings *settings);

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/**
 * Store @p tensor under a cache_id, in place of an earlier record. The bytes are
 * copied; the record is pending until the next commit, and the handles of this process
 * can read it at once. A thread of the library commits at flush_every records, at
 * chunk_bytes bytes and after flush_interval_ms; puts wait while two commits' worth is
 * pending.
 *
 * @return LC_OK; LC_INVALID for an empty or too long id or a bad tensor, and in a
 * module that is filled by its inputs; LC_SCHEMA if the module is strict and has
 * another structure (only this item is affected); LC_READONLY; or the error of an
 * earlier commit, reported once to each handle: then this record was not accepted, and
 * the next commit tries the pending writes again. LC_TIMEOUT if there was no room in
 * time: then it was not accepted either.
 */
LC_API LC_CHECKED lc_status lc_put(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor);

/**
 * Store a value under a cache_id, as lc_put() stores a tensor. A value that is one
 * tensor gives the same record as lc_put(). A module holds at most 4,096 structures,
 * each with at most 32 MiB of names. A stored record is less than 2 GiB; a tensor that
 * is coded may have up to 16 GiB before coding.
 * @return as lc_put(); LC_INVALID or LC_NO_MEMORY if building the value failed;
 * LC_SCHEMA if the module is strict and has another structure, or if it already holds
 * the maximum number of structures.
 */
LC_API LC_CHECKED lc_status lc_put_value(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value);

/**
 * lc_put_value() with a codec for this value's tensors. A tensor that the codec cannot
 * make smaller is stored uncoded.
 * @param level  as in lc_settings
 */
LC_API LC_CHECKED lc_status lc_put_coded(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value, lc_codec codec, int level);

/**
 * Store @p n tensors. A bad item does not stop the others; after an item fails with
 * LC_TIMEOUT all later ones get LC_TIMEOUT, too, without being tried.
 * @param statuses  NULL, or room for n results, always filled
 * @return LC_OK, or the status of the first item that failed; the error begins with its
 * position: "item 7: ".
 */
LC_API LC_CHECKED lc_status lc_put_batch(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_tensor *tensors, lc_status *statuses);

/** lc_put_batch() of values. */
LC_API LC_CHECKED lc_status lc_put_values(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_value *const *values, lc_status *statuses);

/**
 * lc_put_batch() of @p n tensors of one dtype and shape that lie one after another in
 * memory.
 * @param row   dtype and shape of each; its data is ignored
 * @param rows  their elements: n times row's bytes
 */
LC_API LC_CHECKED lc_status lc_put_gathered(lc_cache *cache, size_t n,
    const lc_id *ids, const lc_tensor *row, const void *rows, lc_status *statuses);

/**
 * lc_put() and lc_flush() in one call: on LC_OK the record, and all earlier puts, are
 * durable. Tensors of 256 KiB or more are copied once, straight into the file's pages,
 * and hashed during the copy; lc_put() copies them twice. Threads that call it at the
 * same time share a commit. With a time limit, see lc_set_timeout(), it does the same
 * as the two calls.
 * @return as lc_put(), or as lc_flush(): after an error of the flush the record is
 * pending, as after lc_put(), and the next commit tries again; @p tensor is no longer
 * used.
 */
LC_API LC_CHECKED lc_status lc_put_durable(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor);

/** lc_put_value() and lc_flush() in one call, as lc_put_durable(). */
LC_API LC_CHECKED lc_status lc_put_value_durable(lc_cache *cache, const void *id,
    size_t id_size, const lc_value *value);

/** A record that is being written in place; see lc_reserve(). */
typedef struct lc_reservation lc_reservation;

/**
 * Begin a put of a large tensor: get memory into which the caller writes the elements
 * from a file, a decoder or a device. This saves the copy that lc_put() would do.
 * Nothing is stored and no key is locked before lc_reserve_commit().
 *
 * @param tensor  dtype and shape; its data is ignored
 * @param data    gets 64-byte aligned, uninitialised memory for the elements; the
 *              caller may write there until the reservation ends
 * @param out     to be ended by lc_reserve_commit() or lc_reserve_cancel()
 *
 * There may be any number of reservations, also of one key; each takes the memory of
 * its record: the size of the tensor and up to a page more. Different threads may write
 * to different reservations, and any thread may end one. Neither lc_flush() nor
 * lc_close() waits for reservations: after its handle is closed, a reservation can only
 * be cancelled. After fork() parent and child each have a copy, and each ends its own.
 *
 * @return as lc_put(), but the call does not wait and does not report an earlier
 * commit; LC_INVALID also for a tensor with a record above 2 GiB; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_reserve(lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor, void **data, lc_reservation **out);

/**
 * Put the record, as an lc_put() at this moment: it replaces earlier puts of the key,
 * and is durable after lc_flush(). Write all elements before; the memory belongs to the
 * library again afterwards. A codec encodes the elements now, and a tensor of less than
 * 64 KiB is copied.
 * @return LC_OK: the reservation has ended. An error as from lc_put(): the reservation
 * remains and its elements are unchanged: commit it again, or cancel it.
 */
LC_API LC_CHECKED lc_status lc_reserve_commit(lc_reservation *reservation);

/** End a reservation and store nothing. NULL is allowed. */
LC_API void lc_reserve_cancel(lc_reservation *reservation);

/**
 * Delete a record. Pending like a put, durable after lc_flush().
 * @return LC_OK; LC_NOT_FOUND if there was no such record; otherwise as lc_put().
 */
LC_API LC_CHECKED lc_status lc_delete(lc_cache *cache, const void *id,
    size_t id_size);

/**
 * Delete @p n records. A bad item does not stop the others.
 * @param statuses  NULL, or room for n results: LC_OK, LC_NOT_FOUND or an error
 * @return LC_OK when each was deleted or did not exist; otherwise as lc_put_batch().
 */
LC_API LC_CHECKED lc_status lc_delete_batch(lc_cache *cache, size_t n,
    const lc_id *ids, lc_status *statuses);

/**
 * Commit all puts and deletes before this call, on any handle of this process; they are
 * durable on LC_OK, also if an earlier commit of them had failed. On failure nothing is
 * lost: the writes stay pending and the next flush tries again. While one commit runs,
 * new puts and flushes of all threads and handles of this process gather for the next
 * one, which commits them together. A call without a time limit commits in its own
 * thread.
 * @return LC_OK, or the error of the commit that failed: LC_NO_SPACE,
 * LC_MAP_FULL, LC_IO, LC_NO_MEMORY …; LC_TIMEOUT while the commit continues. The second
 * of two calls also covers puts of other threads between them.
 */
LC_API LC_CHECKED lc_status lc_flush(lc_cache *cache);

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

/**
 * One record in place. `tensor.data` is 64-byte aligned and points into the
 * map (or at a copy, for a record that is still pending or was decoded); it is
 * read-only and valid until lc_view_release(), also after lc_close(). Allocated by the
 * caller; any thread may release it. It may be moved: copy the struct and use only the
 * copy, so that it is released once.
 */
typedef struct lc_view {
	lc_status status;  /**< of this item; the view is held only when LC_OK */
	lc_kind kind;      /**< LC_TENSOR: tensor is filled; otherwise lc_view_value()
	                        reads it */
	lc_tensor tensor;  /**< the record's tensor; data NULL and nbytes 0 without one */
	void *lc_private[4];
} lc_view;

/**
 * Read one record as a view of the newest commit. out->status is always set to the
 * returned status.
 * @return LC_OK; LC_NOT_FOUND; LC_INVALID for an empty or too long id;
 * LC_CORRUPT with the key in the error; LC_BUSY without a reader slot;
 * LC_MAP_FULL if another process grew the map and this one cannot map it again while
 * its views are held; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_get(lc_cache *cache, const void *id,
    size_t id_size, lc_view *out);

/**
 * Read a held view as a value, or one part of it. Only the bytes of tensors in
 * that part are touched: verified, and decoded if they are coded.
 * @param path  as for lc_value_find(); NULL for everything
 * @param out   valid until lc_view_release(); do not free it
 *
 * Only one thread at a time may read a view.
 * @return LC_OK; LC_NOT_FOUND if the value has no such part; LC_INVALID if the view
 * is not held; LC_CORRUPT with the key in the error; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_view_value(lc_view *view, const char *path,
    const lc_value **out);

/** Release a view. Does nothing if it is not held, or is already released. */
LC_API void lc_view_release(lc_view *view);

/**
 * Read one tensor into 64-byte aligned memory that lc_tensor_free() frees.
 * @return as lc_get(); LC_SCHEMA if the record is not a single tensor.
 */
LC_API LC_CHECKED lc_status lc_get_copy(lc_cache *cache, const void *id,
    size_t id_size, lc_tensor *out);

/**
 * Read one tensor into the caller's memory.
 * @param buf   room for @p room bytes; out->data will point to it. The bytes are
 *             verified during the copy: after LC_CORRUPT the content of the buffer is
 *             undefined
 * @return as lc_get_copy(); LC_INVALID if it needs more than @p room bytes.
 */
LC_API LC_CHECKED lc_status lc_get_into(lc_cache *cache, const void *id,
    size_t id_size, void *buf, size_t room, lc_tensor *out);

/**
 * Read @p n records from one snapshot. Faster than n calls of lc_get(), because it
 * overlaps their memory accesses.
 *
 * @param views      room for n views; views[i].status is LC_OK, LC_NOT_FOUND or
 *                   an error. Always filled. Release with lc_views_release().
 * @param missing    NULL, or room for n positions; gets those not found, ascending
 * @param n_missing  NULL, or gets their number
 * @return LC_OK when each item was found or is missing; otherwise the error of the
 * first item that failed, which begins with its position: "item 7: ". Release the held
 * views even then.
 */
LC_API LC_CHECKED lc_status lc_get_batch(lc_cache *cache, size_t n,
    const lc_id *ids, lc_view *views, size_t *missing, size_t *n_missing);

/** lc_view_release() on each of @p n views. */
LC_API void lc_views_release(lc_view *views, size_t n);

/** The results of one call of an lc_compute_fn, which fills them. */
typedef struct lc_results lc_results;

/**
 * Compute values that are missing in the cache.
 * @param keys     all keys of the lc_get_or_compute() call
 * @param missing  positions in @p keys to compute, ascending
 * @param n        how many
 * @param results  where to store result j, of keys[missing[j]], with
 *                 lc_result_tensor(), lc_result_value() or lc_result_fail()
 * @return LC_OK. Any other status fails every result that was not set; results that
 * were set are stored even then.
 */
typedef lc_status (*lc_compute_fn)(void *ctx, const lc_id *keys,
    const size_t *missing, size_t n, lc_results *results);

/** Set result @p j; the tensor or value is copied before the call returns. @return
 *  LC_OK; LC_INVALID for a bad value, a position outside the call or a second result
 *  for it; LC_SCHEMA; LC_NO_MEMORY. After an error the result counts as failed. */
LC_API lc_status lc_result_tensor(lc_results *results, size_t j, const lc_tensor *tensor);
LC_API lc_status lc_result_value(lc_results *results, size_t j, const lc_value *value);
/** Say that result @p j cannot be computed, and why. */
LC_API void lc_result_fail(lc_results *results, size_t j, const char *why);

/**
 * Read @p n records; compute and store those that are missing or damaged.
 *
 * @param keys  cache_ids; a duplicate is computed once
 * @param fn    called at most once with exactly the missing positions, and again only
 *            for keys that another thread was computing when it failed. Called in the
 *            calling thread, without a lock. It may use the library, but must not
 *            request the keys that it is computing.
 * @param out   room for n views in the order of @p keys, always filled: LC_OK, or
 *             LC_FAILED for a key that fn failed to compute, or an error. Release them.
 *
 * If another thread is computing a key, through any handle of this process, the call
 * waits for that result and does not compute it again. Results are pending like puts.
 * On a rank that does not write they reach the LRU only, and the call waits only for
 * threads that use the same handle. When the wait for a key, or for room for its
 * result, is longer than the handle's timeout_ms, the key gets LC_TIMEOUT and its
 * result is not stored: request it again.
 * @return LC_OK when every view is held, otherwise the status of the first item that
 * failed; the error names the key and the number of failures.
 */
LC_API LC_CHECKED lc_status lc_get_or_compute(lc_cache *cache, const lc_id *keys,
    size_t n, lc_compute_fn fn, void *ctx, lc_view *out);

/**
 * Ask the system to read @p n records from disk before they are used. A hint: missing
 * and bad ids are ignored.
 */
LC_API LC_CHECKED lc_status lc_prefetch(lc_cache *cache, size_t n,
    const lc_id *ids);

/**
 * Copy @p n tensors of one dtype and shape into one block of memory, row after row.
 * They are looked up together, and verified and copied in one pass.
 *
 * @param field      the tensor within structured values, a path as for
 *                   lc_value_find(); NULL for records that are tensors
 * @param row        dtype and shape of each; its data is ignored
 * @param rows       the block: n times row's bytes, all written; a row without a record
 *              is set to 0
 * @param room       size of the block in bytes
 * @param threads    how many threads share the work, including the calling one; 0 means
 *                 1. Each handles at least 64 ids, and reads the newest commit at the
 *                 time it begins
 * @param statuses   NULL, or room for n results: LC_OK, LC_NOT_FOUND or an error
 * @param n_missing  NULL, or gets the number of those not found
 * @return as lc_get_batch(); LC_SCHEMA for a record with another dtype or shape, or
 * without that field; LC_INVALID if the rows do not fit.
 */
LC_API LC_CHECKED lc_status lc_gather(lc_cache *cache, size_t n, const lc_id *ids,
    const char *field, const lc_tensor *row, void *rows, size_t room, unsigned threads,
    lc_status *statuses, size_t *n_missing);

/** A part that lc_gather_columns() copies from each record. */
typedef struct lc_column {
	const char *field; /**< the tensor within structured values, a path as for
	                        lc_value_find(); NULL for records that are tensors */
	lc_tensor row;     /**< dtype and shape of each; its data is ignored */
	void *rows;        /**< the block: n times row's bytes, all written */
	size_t room;       /**< size of the block in bytes */
} lc_column;

/**
 * lc_gather() of @p n_columns parts of each record at once. A record without one of
 * them, or with another dtype or shape of it, gets LC_SCHEMA, and its rows in all
 * blocks are set to 0.
 */
LC_API LC_CHECKED lc_status lc_gather_columns(lc_cache *cache, size_t n, const lc_id *ids,
    const lc_column *columns, size_t n_columns, unsigned threads, lc_status *statuses,
    size_t *n_missing);

/**
 * Find the dtype and shape to gather: those of the first of @p n records that exists.
 * @param out  its data is NULL
 * @return LC_OK; LC_NOT_FOUND if none exists; otherwise as lc_gather().
 */
LC_API LC_CHECKED lc_status lc_gather_row(lc_cache *cache, size_t n, const lc_id *ids,
    const char *field, lc_tensor *out);

/** LC_OK if the cache_id is stored or pending, LC_NOT_FOUND if not. */
LC_API LC_CHECKED lc_status lc_contains(lc_cache *cache, const void *id,
    size_t id_size);

/**
 * Find those of @p n cache_ids that are neither stored nor pending. Reads only the
 * index and the headers of records.
 * @param missing    NULL, or room for n positions; gets those not found, ascending
 * @param n_missing  NULL, or gets their number
 * @return as lc_get_batch().
 */
LC_API LC_CHECKED lc_status lc_contains_batch(lc_cache *cache, size_t n,
    const lc_id *ids, size_t *missing, size_t *n_missing);

/** The number of cache_ids in the module. Flushes pending writes first. */
LC_API LC_CHECKED lc_status lc_count(lc_cache *cache, uint64_t *out);

/** Sizes and counts of a module at its newest commit; in bytes unless stated
 *  otherwise. */
typedef struct lc_stats {
	size_t struct_size;       /**< set by the caller to sizeof(lc_stats) */
	uint8_t uuid[16];         /**< the module's identity, random */
	uint64_t created_ms;      /**< when it was created, ms since 1970 */
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
	uint64_t free_bytes;      /**< the part of file_bytes that commits can reuse */
	uint64_t map_bytes;       /**< address space of the map */
	uint64_t pending_records; /**< puts and deletes of this process not yet durable */
	uint64_t pending_bytes;   /**< their encoded size */
	uint32_t readers;         /**< reader slots in use, all processes */
	uint32_t max_readers;     /**< reader slots in all */
	uint64_t oldest_pin_ms;   /**< age of the oldest view or walk held in this process */
} lc_stats;

/** Fill @p out; set its struct_size first. */
LC_API LC_CHECKED lc_status lc_stat(lc_cache *cache, lc_stats *out);

/**
 * Counts of a module since it was created: by this process, and by all processes that
 * have since committed or closed a writing handle. If a process is killed, its counts
 * since its last commit are lost; the counts of a process that only reads (LC_RDONLY)
 * are visible in that process alone.
 */
typedef struct lc_counters {
	size_t struct_size;      /**< set by the caller to sizeof(lc_counters) */
	uint64_t hits;           /**< records requested and found */
	uint64_t misses;         /**< records requested and not found */
	uint64_t puts;           /**< records committed */
	uint64_t deletes;        /**< deletes committed */
	uint64_t put_bytes;      /**< bytes of the records committed */
	uint64_t commits;        /**< commits of puts and deletes */
	uint64_t evicted_records, evicted_bytes; /**< to stay below max_bytes */
	uint64_t flush_us[4];    /**< duration of a commit: 50th, 90th and 99th percentile
	                              and maximum, microseconds, upper bounds of a histogram
	                              with 4 steps a power of two */
	uint64_t lru_hits, lru_misses; /**< of this handle, since it was opened */
	uint64_t lru_evictions;  /**< of this handle */
	uint64_t lru_records;    /**< decoded tensors and records held now */
	uint64_t lru_bytes;      /**< their memory, never above the limit */
	uint64_t computed, compute_failures; /**< by lc_get_or_compute() of this handle */
	uint64_t awaited;        /**< keys that another thread was computing */
} lc_counters;

/** Fill @p out; set its struct_size first. */
LC_API LC_CHECKED lc_status lc_counters_get(lc_cache *cache, lc_counters *out);

/** What a module stores with one structure, including dead records. */
typedef struct lc_schema_stats {
	uint32_t id;           /**< schema id */
	const char *structure; /**< "{features: f32[*], label: plain}": ranks, not shapes;
	                            "f32[*,*,*]" has rank 3; valid during the callback */
	uint64_t records;      /**< in chunks */
	uint64_t raw_bytes;    /**< of their tensors, after decoding */
	uint64_t stored_bytes; /**< of their tensors, as stored */
	uint64_t tensors[LC_CODEC_COUNT]; /**< how many are stored with each codec */
} lc_schema_stats;

/**
 * Call @p fn with each schema of the newest commit in the order of ids, until it
 * returns non-zero. Flushes pending writes first.
 * @return LC_OK; LC_CANCELLED if @p fn stopped it; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_schemas(lc_cache *cache,
    int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx);

/* ------------------------------------------------------------------------
 * Iterating
 * ------------------------------------------------------------------------ */

/** An iterator over one snapshot of a module. Used by one thread at a time; it may
 *  outlive its handle, see lc_close(). */
typedef struct lc_iter lc_iter;

/** lc_iter_open() flags */
#define LC_BY_KEY      0x00u /**< cache_ids in byte order (memcmp, shorter first) */
#define LC_BY_COMMIT   0x01u /**< chunks in commit order, records in put order */
#define LC_BY_ORDER    0x04u /**< in a module with inputs: chunks in the published
	                          order, then, input by input, those not yet published;
	                          records in put order. In other modules as
	                          LC_BY_COMMIT */
#define LC_BY_INPUT    0x08u /**< the same, one input after another from the start */
#define LC_ITER_LISTED 0x02u /**< do not read the data: checksums are not verified */

/** The current record of an iterator; borrowed until the next call on it. */
typedef struct lc_item {
	lc_id id;             /**< the cache_id */
	lc_kind kind;         /**< LC_TENSOR: tensor is filled; otherwise see
	                           lc_iter_value() */
	lc_codec codec;       /**< of the (first) tensor */
	lc_tensor tensor;     /**< 64-byte aligned; in place, or decoded into memory of the
	                           iterator. Data is NULL if it is coded and the
	                           iterator is LC_ITER_LISTED; nbytes is the size after
	                           decoding */
	uint64_t chunk;       /**< chunk number, ascending in commit order */
	uint64_t stored_size; /**< bytes of the record in the chunk */
} lc_item;

/**
 * Open an iterator. Flushes pending writes first. Holds a snapshot until
 * lc_iter_close().
 * @param prefix  only cache_ids that start with these @p prefix_size bytes;
 *                NULL and 0 for all
 */
LC_API LC_CHECKED lc_status lc_iter_open(lc_cache *cache, unsigned flags,
    const void *prefix, size_t prefix_size, lc_iter **out);

/**
 * Get the next record. After LC_CORRUPT, with the record in the error, the next call
 * continues after the damage.
 * @return LC_OK; LC_END; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_iter_next(lc_iter *iter, lc_item *out);

/**
 * Read the current record as a value, or one part of it, like lc_view_value(); with
 * LC_ITER_LISTED its tensors have no data. Valid until lc_iter_next() or
 * lc_iter_close().
 */
LC_API LC_CHECKED lc_status lc_iter_value(lc_iter *iter, const char *path,
    const lc_value **out);

/** Close an iterator. NULL is allowed. */
LC_API void lc_iter_close(lc_iter *iter);

/* ------------------------------------------------------------------------
 * Verifying
 * ------------------------------------------------------------------------ */

/**
 * Callbacks of long operations; any member may be NULL. They may be called from another
 * thread than the one that called the operation, but never two at once.
 */
typedef struct lc_progress {
	/** Called from time to time with the work done and the total, in bytes;
	 *  non-zero stops the operation with LC_CANCELLED. */
	int (*step)(void *ctx, uint64_t done, uint64_t total);
	/** Called for each damaged place with one line that names it. */
	void (*damage)(void *ctx, const char *line);
	void *ctx; /**< first argument of all */
	/** Called when a phase of the work begins, with its name in a word or two; the
	 *  string stays valid. The numbers of step start again. */
	void (*phase)(void *ctx, const char *name);
} lc_progress;

/** What lc_verify() counted. */
typedef struct lc_verify_result {
	uint64_t chunks;  /**< chunks read */
	uint64_t records; /**< records read, live and dead */
	uint64_t live;    /**< those of them that the index refers to */
	uint64_t bytes;   /**< bytes hashed */
	uint64_t damaged; /**< damaged places found */
} lc_verify_result;

/**
 * Read everything of the newest commit: the pages of the B-trees and the free
 * list, every chunk and record, every index entry, the ledger and the counters,
 * and compare them with one another. Changes nothing. Up to 8 threads read the chunks;
 * only the calling thread runs the callbacks.
 * @return LC_OK; LC_CORRUPT if damage was found (out is filled); LC_CANCELLED;
 * LC_IO.
 */
LC_API LC_CHECKED lc_status lc_verify(lc_cache *cache,
    const lc_progress *progress, lc_verify_result *out);

/* ------------------------------------------------------------------------
 * Copying a module
 * ------------------------------------------------------------------------ */

/** lc_backup() flags */
#define LC_BACKUP_COMPACT 0x01u /**< omit free pages: smaller, slower */

/**
 * Write a consistent copy of the newest commit to ROOT/MODULE_ID, durable on
 * LC_OK. Flushes pending writes first. Other processes can read and write during the
 * copy. Holds a snapshot while it runs. The copy has the module's uuid.
 * @param root  a directory, created if it is missing
 * @return LC_OK; LC_INVALID if there is already a module; LC_NO_SPACE, LC_PERMISSION,
 * LC_IO: then no copy is left.
 */
LC_API LC_CHECKED lc_status lc_backup(lc_cache *cache, const char *root,
    unsigned flags);

/* ------------------------------------------------------------------------
 * The life of a module
 * ------------------------------------------------------------------------ */

/** How to compact. Fill with lc_compact_options_init(). */
typedef struct lc_compact_options {
	size_t struct_size; /**< set by lc_compact_options_init() */
	double live_ratio;  /**< rewrite chunks with a smaller fraction of live bytes, 0
	                         to 1; default 0.5; 1 rewrites every chunk that has a
	                         dead record */
	uint64_t chunk_bytes; /**< neighbouring chunks are joined up to this size, 64 KiB
	                         to 64 MiB; default 4 MiB */
	lc_codec recode;    /**< encode all tensors again with this codec; default
	                         LC_CODEC_DEFAULT: leave them as they are */
	int level;          /**< of recode; default 0 */
	int dry_run;        /**< count, write nothing; the savings of recode are then
	                         not known */
	lc_progress progress; /**< bytes of chunks examined; damage names the chunks
	                           left as they are */
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
 * Rewrite chunks that have many dead records, in transactions of about chunk_bytes
 * each; other processes can read at any time, and write between transactions. The
 * commit order of records does not change. Later commits reuse the space that becomes
 * free; the file does not shrink (see lc_shrink()). Flushes pending writes first.
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_READONLY, LC_INVALID; LC_CANCELLED, LC_NO_SPACE, LC_IO …: chunks
 * rewritten so far stay rewritten.
 */
LC_API LC_CHECKED lc_status lc_compact(lc_cache *cache,
    const lc_compact_options *options, lc_compact_result *out);

/**
 * Return the free pages of a module to the file system: a copy without them replaces
 * data.mdb atomically. No process, including this one, may have the module open. Either
 * size may be NULL.
 * @return LC_OK; LC_BUSY if the module is open; LC_NO_SPACE, LC_IO …: then the module
 * is unchanged.
 */
LC_API LC_CHECKED lc_status lc_shrink(const char *root, const char *module_id,
    uint64_t *bytes_before, uint64_t *bytes_after);

/**
 * Remove a module: its directory with all files in it, also if it is damaged. Other
 * processes see all of it or nothing. No process, including this one, may have it open.
 * @return LC_OK; LC_NO_FILE; LC_BUSY if a process has it open or is opening it;
 * LC_NOT_MODULE if it is not a module, or contains directories; LC_INVALID;
 * LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_drop(const char *root, const char *module_id);

/**
 * Rename a module within its root, atomically; durable on LC_OK. Its uuid does not
 * change.
 * @return as lc_drop(); LC_EXISTS if the new name exists in the root; it is never
 * replaced.
 */
LC_API LC_CHECKED lc_status lc_rename(const char *root, const char *module_id,
    const char *new_id);

/** Which users, besides its owner, may use a module. Readers also write to lock.mdb. */
typedef enum lc_share {
	LC_SHARE_OWNER = 0, /**< no others: modes 0700, files 0600 */
	LC_SHARE_GROUP = 1, /**< its group reads and writes: 02770, files 0660 */
	LC_SHARE_ALL = 2    /**< its group reads and writes, all others read: 02775, files
	                         0664, lock.mdb 0666 */
} lc_share;

/**
 * Find which users may use a module, from the modes of its directory, data.mdb and
 * lock.mdb: LC_SHARE_ALL if all can read it, LC_SHARE_GROUP if its group can, otherwise
 * LC_SHARE_OWNER.
 * @return LC_OK; LC_INVALID for a bad name; LC_NO_FILE, LC_PERMISSION, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_share_get(const char *root, const char *module_id,
    lc_share *out);

/**
 * Set the modes of a module's directory and files, also while it is in use. Files
 * created in it later get the matching modes, whatever the umask. The group of the
 * files and the directories above the module do not change.
 * @return LC_OK; LC_INVALID for a bad name or value; LC_NO_FILE; LC_PERMISSION if the
 * caller is not its owner, or not in its group; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_share_set(const char *root, const char *module_id,
    lc_share share);

/**
 * Delete all records, inputs and their order in one commit; schemas, settings and
 * counters stay. Also drops the pending writes of this process (if the call fails they
 * stay pending; puts and flushes of other threads wait until it ends), and removes the
 * files fill.N.part that hold the values of a running cachex fill until they are in
 * chunks.
 * @return LC_OK; LC_BUSY if a writer holds an input; LC_READONLY, LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_clear(lc_cache *cache);

/** What lc_copy() does with a key that exists in the target. */
typedef enum lc_conflict {
	LC_KEEP = 0,    /**< keep the target's record */
	LC_REPLACE = 1, /**< use the source's record */
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
	lc_progress progress; /**< bytes of records; damage names records that are
	                           skipped */
} lc_copy_options;

LC_API void lc_copy_options_init(lc_copy_options *options);

/** What lc_copy() did. */
typedef struct lc_copy_result {
	uint64_t copied;   /**< records that were new */
	uint64_t replaced; /**< records that replaced one in the target */
	uint64_t kept;     /**< records of the target that were kept, including equal
	                        ones */
	uint64_t damaged;  /**< damaged records of the source, skipped */
	uint64_t bytes;    /**< of records written */
} lc_copy_result;

/**
 * Copy the live records of one module into another, in commit order, from one
 * snapshot of the source; coded tensors stay coded. Flushes the target at the end. A
 * conflict stops the copy before it writes anything.
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_INVALID for a conflict, and for a target that is filled by its
 * inputs; LC_SCHEMA if the target is strict;
 * LC_CORRUPT if damaged records were skipped and all others copied; LC_READONLY,
 * LC_CANCELLED, LC_NO_SPACE, LC_IO: records copied so far stay.
 */
LC_API LC_CHECKED lc_status lc_copy(lc_cache *from, lc_cache *to,
    const lc_copy_options *options, lc_copy_result *out);

/** What lc_recover() found. */
typedef struct lc_recover_result {
	uint64_t records;   /**< live records afterwards */
	uint64_t rescued;   /**< of them, those with a damaged index entry */
	uint64_t lost;      /**< live records that are damaged, or in a damaged chunk */
	uint64_t runs;      /**< damaged index runs that were replaced */
	uint64_t rows;      /**< other damaged rows and frames of chunks that were
	                         rebuilt, and rows that were moved back to their own
	                         key */
	uint64_t unknown;   /**< damaged places that may have held records with unknown
	                         keys, or live records known only from a count */
	uint64_t reset;     /**< of the rows, those with lost content: settings, which
	                         are the defaults again, counters, names of inputs */
	uint64_t kept;      /**< n: the old file was kept as data.mdb.damaged-n; 0: not
	                         replaced */
} lc_recover_result;

/**
 * Rebuild the index, ledger and counters of a module from its chunks. The intact part
 * of the index still decides which records are live; a key with a damaged index entry
 * gets its newest record back, even if it had been deleted. Rows stored under a wrong
 * key are moved back if their content tells the right one. progress->damage gets a line
 * for each rescued and each lost item. Damaged records are dropped.
 *
 * A module that lc_verify() finds good is not changed. Otherwise the call rebuilds a
 * copy in the directory recover.part next to data.mdb. Only if lc_verify() finds the
 * copy good does it replace data.mdb, by one rename; the old file is kept as
 * data.mdb.damaged-N. If the process dies, data.mdb is one of the two files, complete.
 * No process, including this one, may have the module open.
 * @param dry_run   rebuild the copy, then remove it
 * @param progress  may be NULL
 * @param out       filled on LC_OK; may be NULL
 * @return LC_OK: lc_verify() now finds the module good. On any other status the module
 * is unchanged: LC_CORRUPT if it is too damaged, for example in the pages of the file
 * itself: restore a backup, or use lc_salvage(); LC_CANCELLED; LC_BUSY if a process, or
 * this one, has it open; LC_NO_SPACE without room for a copy; LC_IO …
 */
LC_API LC_CHECKED lc_status lc_recover(const char *root, const char *module_id,
    int dry_run, const lc_progress *progress, lc_recover_result *out);

/** How to salvage. Fill with lc_salvage_options_init(). */
typedef struct lc_salvage_options {
	size_t struct_size; /**< set by lc_salvage_options_init() */
	int dry_run;        /**< only count the records that could be rescued; default
	                         0 */
	int stale;          /**< take the newest version found of a key if its current
	                         record is lost, and keys found only in pages of old
	                         commits; default 0 */
	lc_progress progress; /**< damage gets a line for each lost or doubtful item;
	                           default none */
} lc_salvage_options;

/** Set every field of @p options to its default. */
LC_API void lc_salvage_options_init(lc_salvage_options *options);

/** What lc_salvage() found. All counts except records may need a closer look. */
typedef struct lc_salvage_result {
	uint64_t records;    /**< in the new module */
	uint64_t stale;      /**< of them, old versions, taken with the option stale */
	uint64_t undecided;  /**< of them, those that may have been deleted or replaced:
	                          that part of the index is lost */
	uint64_t lost;       /**< keys with a damaged or missing newest record, as far
	                          as the index is readable */
	uint64_t damaged;    /**< records with a wrong checksum, including dead ones */
	uint64_t unreadable; /**< intact records that are left out because their
	                          structure is not in the file, or does not match */
	uint64_t schemas;    /**< structures that are not in the file */
	uint64_t versions;   /**< keys that the file has in more than one version */
	uint64_t left;       /**< keys that are left out because all their records are
	                          old versions: deleted, evicted, or replaced by a lost
	                          record */
	uint64_t inputs;     /**< inputs; their order is not kept */
	int settings_lost;   /**< the settings row is damaged: the new module has the
	                          defaults */
	int uncertain;       /**< commits, or parts of the index, are missing; their
	                          content is unknown */
} lc_salvage_result;

/**
 * Rescue the records of a module with a file that cannot be opened or read. The pages
 * of the file are read as plain bytes, without LMDB and without trusting its trees.
 * Every record with a correct checksum that is the newest of its key is stored, in its
 * stored form, in the new module ROOT/MODULE_ID. The file is never written to, and no
 * lock file is needed. A module with inputs becomes a module of plain records, in
 * commit order.
 *
 * The index decides which record is the newest: if it is intact, exactly the live
 * records are taken. A key with a lost entry keeps its newest record, even if it had
 * been deleted; such a record is counted as undecided.
 *
 * Memory: 64 bytes per record found, including old versions, and twice the largest
 * record; at most four times the file size, also for a file crafted to use much memory.
 *
 * @param from     the data file, or the directory that holds data.mdb
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK, also if records are lost; LC_EXISTS if there is a directory of that
 * name already; LC_NOT_MODULE if the file has no page of a module; LC_BUSY if a process
 * has the module open (no process can open it during the salvage); LC_CANCELLED;
 * LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_SPACE, LC_NO_MEMORY. After a failure there is
 * no new module.
 */
LC_API LC_CHECKED lc_status lc_salvage(const char *from, const char *root,
    const char *module_id, const lc_salvage_options *options,
    lc_salvage_result *out);

/* ------------------------------------------------------------------------
 * TWH1 shards: flat files of equally shaped samples (twh1(5))
 * ------------------------------------------------------------------------ */

/** A shard opened for reading; any number of threads may use it at once. */
typedef struct lc_shard lc_shard;

/** The header of a shard. */
typedef struct lc_shard_info {
	uint32_t version;         /**< shard_version, 1 or 2 */
	lc_dtype dtype;           /**< of images */
	lc_dtype boxes_dtype;     /**< of boxes and mask; in version 1 the same */
	uint32_t channels, height, width; /**< shape of one image, CHW */
	uint32_t max_boxes;       /**< rows of boxes per sample, 0 for none */
	uint64_t samples;         /**< how many */
	uint64_t image_offset, boxes_offset, mask_offset; /**< bytes from the file's start */
	uint64_t meta_offset;     /**< 0 without metadata */
	uint64_t checksum_offset; /**< 0 without block checksums */
	uint64_t file_size;       /**< bytes */
} lc_shard_info;

/** One sample in place, valid until lc_shard_close(). */
typedef struct lc_sample {
	lc_tensor image; /**< [channels, height, width], or the shape in the metadata */
	lc_tensor boxes; /**< [max_boxes, 4]: x0, y0, x1, y1 */
	lc_tensor mask;  /**< [max_boxes]: 1 where there is a box */
	lc_id id;        /**< cache_id; empty in version 1 */
	lc_id meta;      /**< the sample's whole metadata row, MessagePack; empty in version 1 */
	void *keeps;     /**< for the library: holds the sample in place; may be NULL */
} lc_sample;

/**
 * Map a shard and check its header, sizes and offsets against the file. If the file is
 * truncated while it is mapped, reading the missing part raises SIGBUS.
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

/** Unmap the shard. NULL is allowed. */
LC_API void lc_shard_close(lc_shard *shard);

/** How to export. Fill with lc_export_options_init(). */
typedef struct lc_export_options {
	size_t struct_size;     /**< set by lc_export_options_init() */
	uint64_t shard_bytes;   /**< target size of a shard, 4 KiB to 1 TiB; default 192 MiB */
	uint32_t shard_version; /**< 0, the default, chooses 1 for f16 and f32 without
	                             metadata, otherwise 2 */
	int metadata;           /**< keep cache_ids and block checksums (version 2); default 1 */
	unsigned threads;       /**< shards written in parallel; 0 for the number of
	                             processors */
	unsigned order;         /**< LC_BY_ORDER (default), LC_BY_COMMIT or LC_BY_KEY */
	int by_input;           /**< separate shards for each input, in a directory
	                             `NAME.shards`; their bytes depend on that input
	                             alone; with LC_BY_ORDER; default 0 */
	const char *input;      /**< with by_input: write only the shards of this input;
	                             NULL for all */
	const char *dataset_root; /**< the manifest's dataset_root; default the module's name */
	int dry_run;            /**< plan and report, write nothing */
	int no_sha256;          /**< omit the SHA-256 of the files from the manifest;
	                             block checksums stay; default 0 */
	lc_progress progress;   /**< bytes written */
} lc_export_options;

/** Set every field to its default. */
LC_API void lc_export_options_init(lc_export_options *options);

/** What lc_export() did. */
typedef struct lc_export_result {
	uint64_t shards;  /**< shards that the manifest names */
	uint64_t reused;  /**< of them, those found complete from an interrupted run, or
	                       taken from an older build */
	uint64_t samples; /**< in all shards */
	uint64_t bytes;   /**< of all shards */
} lc_export_result;

/**
 * Write the records of a module as TWH1 shards into @p dir, then manifest.json.
 *
 * All records must be tensors of the same dtype and shape. A tensor of rank 3 is CHW; a
 * lower rank gets leading dimensions of 1; a higher rank has its leading dimensions
 * joined. The same records and options give the same bytes, for any number of threads.
 * In a module with inputs, in the default order, that also holds however many processes
 * filled it and however often they were interrupted. The manifest is written last and
 * atomically: each shard in it is complete and durable. An interrupted export continues
 * where it stopped.
 *
 * @return LC_OK; LC_INVALID for a bad option, no records, by_input without inputs, or
 * mixed shapes (the error names both); LC_NOT_FOUND for an input that does not exist;
 * LC_SCHEMA for a record that is not a tensor; LC_UNSUPPORTED for a dtype that the
 * shard version does not have; LC_CORRUPT for a damaged record; LC_BUSY while another
 * export writes to the directory; LC_NO_SPACE, LC_PERMISSION, LC_IO, LC_CANCELLED.
 */
LC_API LC_CHECKED lc_status lc_export(lc_cache *cache, const char *dir,
    const lc_export_options *options, lc_export_result *out);

/**
 * Check a directory of shards against its manifest.json: every shard's existence, size,
 * header, samples and SHA-256 (or the checksum used instead of it), and that there are
 * no other shards in it or in the directories of its shards. For a manifest of parts,
 * check each part's manifest and all its shards, but do not look for other shards.
 * @return LC_OK; LC_CORRUPT (progress->damage gets a line for each damaged place);
 * LC_NO_FILE without a manifest; LC_NOT_MODULE, LC_VERSION, LC_CANCELLED, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_manifest_verify(const char *dir,
    const lc_progress *progress);

/** What lc_shard_union() joined. */
typedef struct lc_union_result {
	uint64_t parts;   /**< manifests that the union names */
	uint64_t shards;  /**< in them */
	uint64_t samples; /**< of all shards */
	uint64_t bytes;   /**< of all shards, according to their manifests */
} lc_union_result;

/**
 * Join sets of shards without copying them: write @p dir/manifest.json, a manifest of
 * parts, see twh1(5), that names the manifests of the sets by relative paths. Reading
 * @p dir gives the samples of the sets one after another. No shard is opened; if a set
 * is itself a union, its parts are named. The sets must not change or move relative to
 * @p dir.
 * @param dir   created if it is missing; an earlier union in it is replaced
 * @param sets  @p n directories with a manifest, or warehouses; duplicates are allowed
 * @return LC_OK; LC_INVALID if shards differ in dtype or shape, naming the set, if no
 * set has a shard, and for a path that is not UTF-8; LC_CORRUPT for a damaged manifest;
 * LC_EXISTS if
 * @p dir has shards of its own; LC_NO_FILE, LC_NOT_MODULE, LC_VERSION for a directory that
 * is not a set; LC_BUSY while another process writes there; LC_NO_SPACE, LC_PERMISSION,
 * LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_shard_union(const char *dir, const char *const *sets,
    size_t n, lc_union_result *out);

/**
 * The origin of a sample, from its metadata row. Strings point into the row and are not
 * terminated by a NUL.
 */
typedef struct lc_sample_origin {
	lc_id run_id;             /**< UTF-8; empty if there is none */
	int has_frame_id;         /**< 1 if frame_id is set */
	uint64_t frame_id;        /**< number of the frame in its run */
	uint32_t original_width, original_height; /**< of the upright source image, pixels; 0
	                             if unknown */
	uint64_t boxes_total;     /**< boxes of the source, including those above
	                               max_boxes */
	uint32_t n_classes;       /**< class ids in the row: one per stored box */
	lc_id labels;             /**< a MessagePack map of the label's other fields, or empty */
} lc_sample_origin;

/**
 * Read a sample's metadata row.
 * @param class_ids  gets the first @p room class ids, -1 for a box without one; may
 *                   be NULL with room 0
 * @return LC_OK, also for a sample without metadata: its origin is empty; LC_CORRUPT
 * for a damaged row.
 */
LC_API LC_CHECKED lc_status lc_sample_read_origin(const lc_sample *sample,
    lc_sample_origin *out, int64_t *class_ids, size_t room);

/* ------------------------------------------------------------------------
 * Warehouses: versions of a labelled dataset as shards (lmdbcache_warehouse(3))
 * ------------------------------------------------------------------------ */

/** A warehouse opened for training; any number of threads may use it at once. */
typedef struct lc_warehouse lc_warehouse;

/** How a warehouse reads its samples. */
typedef enum lc_warehouse_mode {
	LC_WAREHOUSE_MAP = 0,    /**< map the shards: samples in place, pages loaded on
	                              first access */
	LC_WAREHOUSE_STREAM = 1, /**< read() one sample at a time into buffers of the
	                              handle: for file systems on which maps are slow */
	LC_WAREHOUSE_MEMORY = 2  /**< read all shards into memory when opening */
} lc_warehouse_mode;

/** How to check the sources that a warehouse was built from. */
typedef enum lc_warehouse_sources {
	LC_SOURCES_STAT = 0,    /**< compare sizes and times of files, and the content
	                             of files where these differ; nothing if the dataset
	                             is not on this machine */
	LC_SOURCES_CONTENT = 1, /**< read every file; the dataset must be on this
	                             machine */
	LC_SOURCES_IGNORE = 2   /**< do not check: a stale warehouse opens */
} lc_warehouse_sources;

/** How to open a warehouse. Fill with lc_warehouse_options_init(). */
typedef struct lc_warehouse_options {
	size_t struct_size;      /**< set by lc_warehouse_options_init() */
	lc_warehouse_mode mode;  /**< default LC_WAREHOUSE_MAP */
	lc_verify_mode verify;   /**< for the blocks of a sample; default
	                              LC_VERIFY_ONCE: when the handle first reads a
	                              block. A shard without block checksums is compared
	                              with its checksum in the manifest when it is
	                              opened, unless LC_VERIFY_NEVER */
	int verify_files;        /**< compare every file with its checksum in the manifest
	                              when it is opened; default 0 */
	lc_warehouse_sources sources; /**< default LC_SOURCES_STAT */
	const char *dataset;     /**< where the sources are now; default their path when
	                              the warehouse was built */
	const char *version;     /**< open only this version: its key in hex, or the
	                              first 8 or more digits of it; NULL for any */
	int ignore_thresholds;   /**< open even if validation limits are exceeded */
	uint32_t open_shards;    /**< shards that are open at the same time, see
	                              lc_warehouse_open(); 0, the default, means
	                              1,024 */
	lc_progress progress;    /**< bytes read while opening; damage names what is stale or
	                              damaged, a line each */
} lc_warehouse_options;

/** Set every field to its default. */
LC_API void lc_warehouse_options_init(lc_warehouse_options *options);

/** Properties of a warehouse. Strings are valid until lc_warehouse_close(). */
typedef struct lc_warehouse_info {
	const char *path;         /**< the directory of the version */
	const char *version;      /**< the version key: SHA-256 of the recipe, hex */
	const char *recipe;       /**< its JSON text */
	const char *fingerprint;  /**< SHA-256 of the sources' content, hex */
	const char *dataset_root; /**< as given to the build */
	const char *summary, *thresholds, *transform; /**< JSON text of the manifest */
	uint64_t created_at_ms;   /**< ms since 1970 */
	uint64_t samples;         /**< of all series */
	uint64_t shards;          /**< files */
	uint64_t bytes;           /**< of all files */
	uint32_t series;          /**< sizes of image, 1 without buckets */
	uint32_t max_boxes;       /**< rows of boxes per sample */
	lc_dtype dtype;           /**< of images */
	lc_dtype boxes_dtype;     /**< of boxes and mask */
	int sources_seen;         /**< 1 if the sources were compared, 0 if they are not
	                               on this machine or the options skip them */
	uint64_t classes;         /**< number of class names; 0 if they are not known */
} lc_warehouse_info;

/** Samples of one image size; the samples of a series are consecutive. */
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
	uint64_t bytes_mapped;    /**< of the open shards, in mode MAP */
	uint64_t bytes_read;      /**< by read(), at opening and later */
	uint64_t bytes_verified;  /**< by checksums */
	uint64_t samples_read;    /**< calls of lc_warehouse_sample() and _copy() */
	uint64_t slowest_shard_ns; /**< the longest time to open one shard; 0 if shards
	                                are not opened with the warehouse */
	const char *slowest_shard; /**< its path, or NULL */
} lc_warehouse_stats;

/**
 * Open a warehouse, at the version that its `current` points to, or the directory of
 * one version. The call fails, with the file in the error, for a missing or damaged
 * manifest or shard and for another version than requested, and, unless the options
 * allow it, for exceeded thresholds and for sources that were changed, added or removed
 * since the build.
 *
 * If there are more shards than options->open_shards, in the modes MAP and STREAM, this
 * call opens no shard. Each shard is opened, and compared with the manifest, when one
 * of its samples is read. Reading a sample of a missing or damaged shard returns
 * LC_CORRUPT; all others can be read. To open the next shard, the least recently used
 * one is closed; samples that were not released keep their shards open, even more than
 * open_shards of them. A shard that is opened again is verified again. With
 * verify_files this call reads all shards.
 *
 * @return LC_OK; LC_NO_FILE; LC_NOT_MODULE if it is not a warehouse; LC_NOT_FOUND if it
 * has no list of its sources, which LC_SOURCES_CONTENT needs; LC_CORRUPT; LC_VERSION
 * for a newer format or another version than options->version; LC_STALE if the sources
 * differ; LC_FAILED if thresholds are exceeded; LC_CANCELLED; LC_INVALID for bad
 * options; LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_warehouse_open(const char *path,
    const lc_warehouse_options *options, lc_warehouse **out);

/** Its properties; valid until lc_warehouse_close(). */
LC_API const lc_warehouse_info *lc_warehouse_info_of(const lc_warehouse *warehouse);

/** Series @p s. LC_NOT_FOUND if @p s is not below the number of series. */
LC_API LC_CHECKED lc_status lc_warehouse_series(const lc_warehouse *warehouse,
    uint32_t s, lc_series_info *out);

/**
 * The name of a class, from the manifest; NULL if the manifest has no name for the id.
 * Valid until lc_warehouse_close(). Ids below info->classes may have names.
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

/** Release a sample. Does nothing where samples stay valid until
 *  lc_warehouse_close(). */
LC_API void lc_warehouse_release(lc_warehouse *warehouse, lc_sample *sample);

/**
 * Copy sample @p i into the caller's memory: as many bytes as its image, boxes and mask
 * have; NULL skips one. Verified as by lc_warehouse_sample().
 */
LC_API LC_CHECKED lc_status lc_warehouse_copy(lc_warehouse *warehouse,
    uint64_t i, void *image, void *boxes, void *mask);

/** Ask the system to load samples [first, first + n). A hint. */
LC_API void lc_warehouse_prefetch(lc_warehouse *warehouse, uint64_t first,
    uint64_t n);

/** What was read so far. */
LC_API LC_CHECKED lc_status lc_warehouse_stat(const lc_warehouse *warehouse,
    lc_warehouse_stats *out);

/** Close a warehouse. Release its samples before. NULL is allowed. */
LC_API void lc_warehouse_close(lc_warehouse *warehouse);

/* ------------------------------------------------------------------------
 * Inputs: filling a module in an order that readers can rely on
 * ------------------------------------------------------------------------
 *
 * The *inputs* of a module are the files, or parts of a corpus, that its records are
 * computed from. One writer at a time reads an input; several threads or processes may
 * write different inputs at once. Inputs are declared before anything is stored. A
 * writer commits one *chunk* after another, each with a *cursor*: bytes of its own that
 * say where to resume. After a crash the next writer of the input starts after the last
 * stored document.
 *
 * The global order of chunks is round robin over the inputs: the first chunk of
 * each, then the second of each; an input that is finished and has no more drops
 * out. The part of the order that later commits cannot change is *published*, by the
 * commit that makes it final; streams read published chunks only.
 *
 * Only writers fill a module with inputs: lc_put() and lc_delete() return LC_INVALID,
 * and its chunks are neither evicted nor regrouped. A module without inputs has one
 * implicit input: its chunks in commit order, never final.
 */

/** Longest name, fingerprint and cursor of an input, in bytes. */
#define LC_INPUT_NAME_MAX 1024
#define LC_INPUT_FINGERPRINT_MAX 64
#define LC_INPUT_CURSOR_MAX 4096

/** An input to declare. */
typedef struct lc_input {
	const char *name;   /**< unique; 1 to LC_INPUT_NAME_MAX bytes without control
	                         characters, such as a path */
	lc_id fingerprint;  /**< identifies the content of the input, such as a hash;
	                         empty: not known */
} lc_input;

/**
 * Declare the inputs of a module that has no records. Declaring the same inputs again
 * returns LC_OK, so each worker may do it. Flushes the handle first. An empty
 * fingerprint, in the call or in the module, is not compared; the module keeps the
 * first known fingerprint of each input. So a worker that reads some of the inputs
 * declares all of them, and needs to know only the fingerprints of those that it reads.
 * @param n  1 to 65,536
 * @return LC_OK; LC_STALE if an input was declared with another fingerprint; LC_INVALID
 * for other names or another order, for a bad name, and for a module with records of
 * plain puts; LC_READONLY, LC_NO_SPACE, LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_inputs_declare(lc_cache *cache, size_t n,
    const lc_input *inputs);

/** The state of an input. Pointers are valid during the callback, or until the next
 *  call with the writer. */
typedef struct lc_input_info {
	uint32_t index;     /**< its position in the round robin, from 0 */
	const char *name;
	lc_id fingerprint;
	lc_id cursor;       /**< of the last commit; empty at first */
	uint64_t chunks;    /**< committed */
	uint64_t records;   /**< in them */
	uint64_t length;    /**< the sum of their lengths; see lc_settings.length_field */
	int finished;       /**< no more chunks will come */
	int held;           /**< a writer has it open, in any process */
} lc_input_info;

/**
 * Call @p fn with each input in order until it returns non-zero. A module without
 * declared inputs has none.
 * @return LC_OK; LC_CANCELLED if @p fn stopped it; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_inputs(lc_cache *cache,
    int (*fn)(void *ctx, const lc_input_info *info), void *ctx);

/** The progress of filling a module. */
typedef struct lc_fill {
	size_t struct_size;   /**< set by the caller to sizeof(lc_fill) */
	uint32_t inputs;      /**< declared; 0 for a module of plain puts */
	uint32_t finished;    /**< of them */
	uint32_t held;        /**< not finished, and open in a writer */
	int final;            /**< all inputs are finished: the order is complete */
	uint64_t committed;   /**< chunks */
	uint64_t published;   /**< of them, published in the order */
	uint64_t records;     /**< in published chunks */
	uint64_t length;      /**< sum of their lengths */
	uint64_t prefix_hash; /**< of the published order: equal if the chunks are the
	                           same */
} lc_fill;

/**
 * Fill @p out; set its struct_size first. For a module of plain puts this reads the
 * whole ledger.
 * @return LC_OK; LC_INVALID if struct_size is not set; LC_CORRUPT; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_fill_get(lc_cache *cache, lc_fill *out);

/** Writes one input. Used by one thread at a time; it may outlive its handle, see
 *  lc_close(). */
typedef struct lc_writer lc_writer;

/**
 * Open an input for writing. The writer holds it until lc_writer_close(), or until the
 * process ends in any way.
 * @return LC_OK; LC_NOT_FOUND if it is not declared; LC_BUSY if another writer
 * holds it; LC_READONLY; LC_IO.
 */
LC_API LC_CHECKED lc_status lc_writer_open(lc_cache *cache, const char *name,
    lc_writer **out);

/** The committed state of the input: where to resume. */
LC_API const lc_input_info *lc_writer_info(const lc_writer *writer);

/**
 * Add a record to the next chunk, like lc_put() and lc_put_value().
 * @param id  NULL and 0 for "INPUT:CHUNK:RECORD", numbers from 0 in decimal
 * @return LC_OK; LC_EXISTS if the chunk has the cache_id already; LC_INVALID, also if
 * the input is finished, if the chunk would reach 512 MiB, and in a child process
 * forked after lc_writer_open(); LC_SCHEMA; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_writer_put(lc_writer *writer, const void *id,
    size_t id_size, const lc_tensor *tensor);
LC_API LC_CHECKED lc_status lc_writer_put_value(lc_writer *writer,
    const void *id, size_t id_size, const lc_value *value);

/** The number of records put and not yet committed, and their bytes. */
LC_API void lc_writer_pending(const lc_writer *writer, uint64_t *records,
    uint64_t *bytes);

/**
 * Store the pending records as the next chunk of the input, together with the cursor,
 * the index entries and the chunks that this publishes, in one transaction; durable on
 * LC_OK according to lc_options.durability of the handle. Without records only the
 * cursor changes. On any status except LC_OK nothing is stored and the records stay
 * pending.
 * @param cursor  copied; up to LC_INPUT_CURSOR_MAX bytes
 * @return LC_OK; LC_EXISTS with the key if one of the cache_ids is in the module;
 * LC_NO_SPACE, LC_MAP_FULL, LC_IO: call again, or lc_writer_forget(); LC_INVALID if the
 * cursor is too long, if the input is finished or no longer declared, or in a forked
 * child; LC_BUSY if the writer lost its lock on the input and another writer has
 * committed since; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_writer_commit(lc_writer *writer,
    const void *cursor, size_t cursor_size);

/** Drop the records put since the last commit. */
LC_API void lc_writer_forget(lc_writer *writer);

/** lc_writer_commit() that also marks the input as finished, in the same
 *  transaction. */
LC_API LC_CHECKED lc_status lc_writer_finish(lc_writer *writer,
    const void *cursor, size_t cursor_size);

/** Release the input; uncommitted records are dropped. NULL is allowed. */
LC_API void lc_writer_close(lc_writer *writer);

/**
 * Mark all inputs as finished: those that are not finished can get no more chunks. This
 * completes the order.
 * @return LC_OK; LC_BUSY if a writer holds an unfinished input; LC_INVALID for a module
 * without inputs; LC_READONLY, LC_NO_SPACE, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_inputs_finish(lc_cache *cache);

/** How to merge inputs. Fill with lc_merge_options_init(). */
typedef struct lc_merge_options {
	size_t struct_size;   /**< set by lc_merge_options_init() */
	int dry_run;          /**< check everything but the records, write nothing */
	unsigned flags;       /**< of lc_options for the sources, LC_FORCE_FS; default 0 */
	lc_progress progress; /**< bytes of records; damage names each input that is
	                           finished in none of the modules */
} lc_merge_options;

LC_API void lc_merge_options_init(lc_merge_options *options);

/** What lc_inputs_merge() did, or would do. */
typedef struct lc_merge_result {
	uint64_t inputs;  /**< taken from the sources */
	uint64_t there;   /**< inputs that were already finished in the target */
	uint64_t chunks;  /**< stored by this call */
	uint64_t records; /**< in them */
	uint64_t bytes;   /**< of these records */
} lc_merge_result;

/**
 * Join modules that hold parts of one declared list of inputs. The target gets each
 * input from the module that finished it. The result is the module that a single
 * machine would have filled: same chunks, same order, same hash, same batches. Records
 * are copied in their stored form, with many chunks per commit. If the target has no
 * inputs, the list is declared in it, and if its settings are the defaults, it gets
 * those of the first source; the target may also be one of the parts. Everything except
 * the records is compared before anything is written, and nothing is published before
 * all records have been read and verified. If the call fails or the process is killed,
 * the records stored so far remain, and the same call continues from there; until then
 * writers cannot open the inputs that are copied only in part.
 *
 * The sources are opened for reading, one at a time, and may grow during the call. No
 * writer may hold an input of the target.
 * @param to       NULL for a new module, with dry_run
 * @param n, from  directories of modules: ROOT/MODULE_ID
 * @param options  NULL for the defaults
 * @param out      may be NULL
 * @return LC_OK; LC_NOT_FOUND if an input is finished in none of the modules;
 * LC_INVALID for other inputs or another order of them, an input with different
 * contents, different length fields, or records of plain puts; LC_STALE for an input
 * with different fingerprints; LC_EXISTS for a cache_id in two inputs; LC_SCHEMA if the
 * target is strict; LC_CORRUPT if a source is damaged; LC_BUSY; LC_READONLY,
 * LC_CANCELLED, LC_NO_SPACE, LC_IO, LC_NO_MEMORY; as lc_open().
 */
LC_API LC_CHECKED lc_status lc_inputs_merge(lc_cache *to, size_t n,
    const char *const *from, const lc_merge_options *options, lc_merge_result *out);

/* ------------------------------------------------------------------------
 * Streams: the same batches for any number of readers (lmdbcache_stream(3))
 * ------------------------------------------------------------------------
 *
 * A *source* is a module or a directory of shards, or a list of these, read as a
 * sequence of chunks of records. A *stream* is an order of examples over one source, or
 * over a mixture of several: a function without state from (seed, example) to records.
 * A *reader* is one of R readers that share each batch; the batches do not depend on R.
 * A *token* is a position, the same on every reader.
 */

/** What a stream reads. Any number of threads may use it at once. */
typedef struct lc_source lc_source;

/** lc_source_options.generation: the newest one. */
#define LC_NEWEST UINT64_MAX

/** How to open a source. Fill with lc_source_options_init(). */
typedef struct lc_source_options {
	size_t struct_size;       /**< set by lc_source_options_init() */
	const char *length_field; /**< as in lc_settings: NULL, the default, for the
	                               module's own, "" for none. For any other field,
	                               opening the source reads the headers of all
	                               records. In shards only ".": the width of samples
	                               with 1 channel and height 1; none by default */
	uint64_t generation;      /**< read only up to this generation, a value that
	                               lc_source_info.generation had. The source stays
	                               there and counts as final. Default LC_NEWEST */
	uint64_t directory_bytes; /**< memory for the offsets of records within chunks;
	                               default 64 MiB */
	lc_verify_mode verify;    /**< of records that the source reads itself, not those
	                               of lc_source_get() in a module; default
	                               LC_VERIFY_ONCE */
	lc_warehouse_sources sources; /**< of the shards of a warehouse, as in
	                               lc_warehouse_options; default LC_SOURCES_STAT */
	const char *dataset;      /**< where the sources of the warehouse are now; NULL,
	                               the default: their path when it was built */
	int ignore_thresholds;    /**< read a warehouse even if it exceeds its
	                               validation limits; default 0 */
	uint32_t open_shards;     /**< shards that are open at the same time, as in
	                               lc_warehouse_options; 0, the default, means
	                               1,024 */
	lc_progress progress;     /**< bytes read while a warehouse is opened; damage names
	                               what is stale or damaged, a line each; default none */
	const char *part;         /**< read only this part of a split; NULL, the
	                               default, for all. Opening then reads all
	                               cache_ids once, and the source does not grow */
	const char *split;        /**< the split, "train=0.9,val=0.1", see lc_split_part(); NULL
	                               for the one that a warehouse was built with */
	uint64_t split_seed;      /**< of split; default 0 */
	int split_by_run;         /**< split by the run of a sample instead of its
	                               cache_id, so that frames of one run stay
	                               together; shards only; default 0 */
	int (*stop)(void *ctx);   /**< called every few records by lc_source_gather()
	                               and lc_source_find(). Non-zero ends the call with
	                               LC_CANCELLED. Called in the calling thread,
	                               without a lock; default NULL */
	void *stop_ctx;           /**< its argument */
} lc_source_options;

LC_API void lc_source_options_init(lc_source_options *options);

/**
 * Find the part of a split that a record is in.
 *
 * With h = XXH3-64 of the key's bytes with the seed, the shares s as integers and their
 * sum W, it is the first part k with h W / 2^64 < s_0 + ... + s_k, computed exactly. So
 * parts are disjoint, and a record stays in its part when others are added or removed.
 *
 * @param split  names and shares, "train=0.9,val=0.1"; shares sum to 1 or are whole
 *               numbers, up to 64 of them
 * @param key    the cache_id, or with split_by_run the name of the run
 * @param out    gets the number of the part, from 0
 * @return LC_OK; LC_INVALID for an invalid split.
 */
LC_API LC_CHECKED lc_status lc_split_part(const char *split, uint64_t seed,
    const void *key, size_t size, size_t *out);

/** Properties of a source. */
typedef struct lc_source_info {
	size_t struct_size;   /**< set by the caller to sizeof(lc_source_info) */
	uint8_t uuid[16];     /**< of the module; for a module with inputs, a hash of
	                           their names; for shards, the first bytes of the
	                           SHA-256 over the list of shards in their manifest;
	                           for a list, a hash of its members' uuids */
	uint64_t generation;  /**< the state that the numbers below describe: the count
	                           of published chunks, or of chunks of a list; in a
	                           module of plain puts, the number of the newest
	                           chunk */
	uint64_t chunks;      /**< with records */
	uint64_t records;
	uint64_t length;      /**< sum of their lengths; the number of records if there
	                           is no length field */
	uint64_t prefix_hash; /**< of the chunks' order and their records: equal if these
	                           are the same */
	int final;            /**< 1 if no more records will follow: all inputs are
	                           finished, or it was opened at a generation; always 1
	                           for shards */
	int has_lengths;      /**< 1 if there is a length field */
	uint64_t dropped;     /**< records of the first module that are left out of a
	                           join, or of the joins in a list; 0 for other
	                           sources */
} lc_source_info;

/**
 * Open a module as a source, with the chunks that are published now. Modules of plain
 * puts have one implicit input: chunks in commit order, live records in put order.
 * Flushes the handle first; the source may outlive it, see lc_close().
 * @param options  NULL for the defaults
 * @return LC_OK; LC_NOT_FOUND if options->generation is not reached; LC_INVALID;
 * LC_CORRUPT; LC_NO_MEMORY, LC_IO; errors of lc_flush().
 */
LC_API LC_CHECKED lc_status lc_source_open_module(lc_cache *cache,
    const lc_source_options *options, lc_source **out);

/**
 * Open the shards of a directory with a manifest, an export or a version of a
 * warehouse, in the manifest's order; or one shard file. A shard is a chunk. Images may
 * have several sizes; lc_stream_open() then reads batches of one size each. A record
 * has the fields "image", "boxes" and "mask", the latter two if there are boxes. Shards
 * with metadata also have these fields, for readers that name them in
 * lc_reader_options.fields: "class_ids", i64 [max_boxes], -1 where there is no box or
 * no class; "frame_id", i64, -1 if there is none, otherwise the bits of the number;
 * "run_id", u8 [256], UTF-8 padded with zeros; "original_size", i64 [2], width and
 * height of the upright source image, 0 if unknown.
 *
 * A warehouse, or one series of it, is refused for the same reasons as by
 * lc_warehouse_open(), unless the options allow it: LC_STALE if its sources changed
 * since the build, LC_FAILED if it exceeds its thresholds. A single shard file is not
 * compared with a manifest.
 *
 * If there are more shards than options->open_shards, each shard is opened when one of
 * its records is read, and closed again, as described for lc_warehouse_open(); a
 * missing or damaged shard is then an error of its records only. Batches, views and
 * readers keep the shards of their records open. This call takes the properties of the
 * shards from the manifest; it opens a shard only if the manifest does not have its
 * size or the checksum of its checksum section. The manifests of parts are read when
 * they are needed, and then take about 300 bytes of memory per shard. To read a part of
 * a split, this call opens all shards.
 * @return as lc_warehouse_open(); also LC_INVALID for a length field that the shards do
 * not have, and LC_NOT_FOUND if options->generation is not reached.
 */
LC_API LC_CHECKED lc_status lc_source_open_shards(const char *path,
    const lc_source_options *options, lc_source **out);

/** One module of a join. */
typedef struct lc_join {
	const char *name;  /**< the prefix of its fields: its module_id, or any other
	                        name that is unique in the join */
	lc_cache *cache;   /**< handle */
} lc_join;

/** What a join does with records of the first module without a partner in another
 *  one. */
typedef enum lc_missing {
	LC_MISSING_REFUSE = 0, /**< fail; the error gives their number */
	LC_MISSING_DROP = 1    /**< leave them out and count them */
} lc_missing;

/** "refuse", "drop"; NULL for anything else. */
LC_API const char *lc_missing_name(lc_missing missing);
LC_API LC_CHECKED lc_status lc_missing_parse(const char *name, lc_missing *out);

/**
 * Open several modules as one source: each record of the first module is joined with
 * the records of the others that have the same cache_id. Records of the others without
 * one in the first are not read.
 *
 * The first module gives the chunks and the order. A field is called "name.path", or
 * "name" if a record of that module is one tensor; dots and backslashes in a name are
 * escaped with a backslash. Streams over a join work as over its first module: the
 * batches are the same for any number of readers, and tokens resume them.
 *
 * A join uses the newest commit of each module at the time of opening, does not grow,
 * and counts as final. It holds a snapshot of each of the other modules, as a view
 * does, until it is closed. Opening reads all cache_ids of the first module and looks
 * each one up in the others, about a microsecond per record and module; LC_MISSING_DROP
 * takes up to 3 bytes of memory per record. So the records left out are known before
 * the first batch, and do not change.
 *
 * The uuid in lc_source_info is computed from the uuids and names of all modules, and
 * the prefix_hash covers the locations of their records: a token gives LC_OTHER_CACHE
 * with other modules, names or another order of modules, and LC_CHANGED if a record of
 * any of them has since been replaced, deleted or moved by a compaction. Tokens stay
 * valid if modules only grew, except with LC_MISSING_DROP if a missing partner was
 * added.
 *
 * @param modules  @p n of them, at least 1; borrowed for the call
 * @param missing  what to do with records that have no partner
 * @param options  for the first module; length_field begins with its name; NULL for the
 *                 defaults
 * @return LC_OK; LC_INVALID for two modules with the same name, or a length field of
 * another module than the first; LC_SCHEMA with the counts if partners are missing
 * under LC_MISSING_REFUSE; otherwise as lc_source_open_module().
 */
LC_API LC_CHECKED lc_status lc_source_open_join(const lc_join *modules, size_t n,
    lc_missing missing, const lc_source_options *options, lc_source **out);

/**
 * The number of records of the first module that have no partner in module @p i of a
 * join; 0 for the first one itself.
 * @return LC_OK; LC_INVALID if the source is not a join of more than @p i modules.
 */
LC_API LC_CHECKED lc_status lc_source_missing(const lc_source *source, size_t i,
    uint64_t *out);

/**
 * Open several sources in a given order as one: the records of the first, then those of the
 * second, and so on. A list can be used like any source: its batches are those of one
 * module with the same records in the same chunks.
 *
 * Members are sources of any kind except lists, with images of one size and the same
 * length field; each keeps its own options. Only the last one may grow. A module of
 * plain puts that is not the last is read as it was when the list was opened; a module
 * with inputs that is not the last must be finished, or opened at a generation. The
 * members may be closed before the list.
 *
 * The uuid in lc_source_info is computed from those of the members, and the prefix_hash
 * from the hashes of all members, so that a token gives LC_OTHER_CACHE with other
 * members or another order of them, and LC_CHANGED if a member other than the last now
 * has more or other records. The generation is a number of chunks. lc_source_find()
 * returns the first record that has the cache_id. Errors name the member.
 *
 * @param members  @p n of them, 1 to 65,536; borrowed for the call. A list of one
 *                 member is that member itself, with one more reference
 * @return LC_OK; LC_INVALID for a member that a list cannot have; LC_CORRUPT, LC_IO,
 * LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_source_open_list(lc_source *const *members, size_t n,
    lc_source **out);

/** Fill @p out for the current generation of the source; set @p out->struct_size
 *  first. */
LC_API LC_CHECKED lc_status lc_source_info_get(const lc_source *source,
    lc_source_info *out);

/**
 * Advance to the newest generation. Streams that do not follow, and a source that was
 * opened at a generation, do not change.
 * @return LC_OK, also if nothing is new; LC_CHANGED if records of the known chunks were
 * replaced, deleted or moved: then the source is unchanged; LC_CORRUPT, LC_IO,
 * LC_NO_MEMORY.
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
 * View a record by its ordinal, its position in the order of the source: from 0 to
 * lc_source_info.records - 1, plain puts in put order, samples of shards in the order
 * of shards and samples. The ordinals do not change when the source grows. Reads the
 * newest commit, like lc_get(); the record is verified according to the options of the
 * handle. out->status is always set to the returned status. Any number of threads at
 * once.
 *
 * A sample of a shard with boxes is a map of "image", "boxes" and "mask"; without boxes
 * it is one tensor. Its data is in the mapped file, with the alignment that it has
 * there. A view may outlive the source and the handle.
 * @return LC_OK; LC_INVALID if there is no such record; LC_CHANGED if the records of
 * its chunk have changed since the source read it; LC_CORRUPT with the key, or with the
 * shard and the number of the sample; LC_UNSUPPORTED for a join of several modules;
 * otherwise as lc_get().
 */
LC_API LC_CHECKED lc_status lc_source_get(lc_source *source, uint64_t ordinal,
    lc_view *out);

/**
 * The cache_id of a record by its ordinal, in sources of all kinds; empty in shards of
 * version 1.
 * @param out   @p room bytes; LC_MAX_ID are always enough
 * @param size  gets how many bytes it has, also when that is more than @p room
 * @return LC_OK; LC_INVALID, also if @p room is too small; otherwise as
 * lc_source_get().
 */
LC_API LC_CHECKED lc_status lc_source_id(lc_source *source, uint64_t ordinal,
    void *out, size_t room, size_t *size);

/**
 * Copy @p n tensors of one dtype and shape into one block of memory, row after row, by
 * the ordinals of their records. They are read in storage order, and verified and
 * copied in one pass. Works for all sources, including joins.
 *
 * @param ordinals  in any order; duplicates are allowed
 * @param field     the tensor within a record, as in lc_reader_options.fields; NULL or "."
 *                  for records that are tensors, and for the images of shards
 * @param row       dtype and shape of each; its data is ignored
 * @param rows      the block: n times row's bytes, all written; a row is set to 0 if
 *              its record cannot be read
 * @param room      size of the block in bytes
 * @param threads   how many threads share the work, including the calling one; 0 means
 *                 1. Each handles at least 64 records, and reads the newest commit at
 *                 the time it begins
 * @param statuses  NULL, or room for n results
 * @return LC_OK, or the first failing row's status; the error begins with its position:
 * "item 7: ". LC_INVALID for an ordinal after the last, and if the rows do not fit;
 * LC_SCHEMA for a record with another dtype or shape, or without that field; LC_CHANGED
 * if the records of its chunk have changed since the source read it; LC_CORRUPT with
 * the key; LC_IO, LC_NO_MEMORY; LC_CANCELLED, also as the status of all remaining rows,
 * when lc_source_options.stop ended the call.
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
 * @param ordinals  room for n; UINT64_MAX for a cache_id that is not in the source,
 *                  also if it was added or replaced later
 * @return LC_OK; LC_UNSUPPORTED for shards, joins, parts of a split and modules with
 * inputs, which have no index of their order, and for lists of these; LC_CANCELLED;
 * otherwise as lc_source_get(), and the error begins with the position: "item 7: ".
 */
LC_API LC_CHECKED lc_status lc_source_find(lc_source *source, size_t n, const lc_id *ids,
    uint64_t *ordinals);

/** Close a source. It stays open inside until the last stream over it and the last view
 *  of it are closed, which may happen later. NULL is allowed. */
LC_API void lc_source_close(lc_source *source);

/** How examples are shuffled; lmdbcache_stream(3) has the formulas. */
typedef enum lc_shuffle {
	LC_SHUFFLE_NONE = 0,  /**< in order */
	LC_SHUFFLE_FULL = 1,  /**< the whole epoch by one permutation */
	LC_SHUFFLE_BLOCK = 2, /**< permute blocks of neighbouring examples, then the
	                           examples within each window of blocks: reads stay
	                           local */
	LC_SHUFFLE_ERA = 3    /**< block shuffle within eras that double in size, for a
	                           source that still grows */
} lc_shuffle;

/** "none", "full", "block", "era"; NULL for anything else. */
LC_API const char *lc_shuffle_name(lc_shuffle shuffle);
LC_API LC_CHECKED lc_status lc_shuffle_parse(const char *name, lc_shuffle *out);

/** Size of a token, in bytes. */
#define LC_TOKEN_SIZE 96

/** Options of an order. Fill with lc_stream_options_init(). */
typedef struct lc_stream_options {
	size_t struct_size;  /**< set by lc_stream_options_init() */
	uint64_t window;     /**< units per example: of the length field, or records if
	                          there is none; 0, the default: an example is one
	                          record */
	uint64_t stride;     /**< units from one window to the next; 0: window */
	int drop_short;      /**< omit a last window that is not full; default 0 */
	uint32_t idealised;  /**< R*, the idealised number of readers, at most 65,536;
	                          0, the default, for the flat order. Not with shuffles
	                          or epochs: its streams never end */
	lc_shuffle shuffle;  /**< default LC_SHUFFLE_NONE */
	uint64_t block;      /**< B: examples per block; default 256 */
	uint64_t spread;     /**< W: blocks per window of the shuffle; default 16 */
	uint32_t shares;     /**< C: with LC_SHUFFLE_BLOCK, deal the chunks once into
	                          this number of shares, at most 65,536, which the
	                          readers divide among themselves. The option block then
	                          has no effect, and windows of units end with their
	                          chunk. For one source only, with a batch that is a
	                          multiple of C. 0, the default: no shares */
	uint64_t era_first, era_max; /**< examples of the first and of the largest era;
	                          default 65,536 and 1,048,576 */
	uint64_t seed;       /**< default 0 */
	uint64_t epochs;     /**< passes over the data, each with its own shuffle; 0:
	                          without end; default 1. A mixture and R* allow only
	                          0 */
	uint64_t limit;      /**< examples in all, 0 for no limit; default 0 */
	const uint64_t *weights; /**< of the sources of a mixture, each 1 to 2^32; NULL:
	                              all equal */
	uint64_t mixture_block; /**< M: in each M examples of a mixture the proportions
	                             are exact to one example; default 1,024 */
	uint64_t batch;      /**< B: examples per batch, over all readers; default
	                          256 */
	int follow;          /**< continue while the source grows, until it is final.
	                          Not with LC_SHUFFLE_FULL or LC_SHUFFLE_BLOCK, which
	                          need to know the end, nor with mixtures; default 0 */
	const void *token;   /**< resume from here: LC_TOKEN_SIZE bytes; NULL to start
	                          at the beginning */
} lc_stream_options;

LC_API void lc_stream_options_init(lc_stream_options *options);

/** An order over sources; any number of threads may use it at once. */
typedef struct lc_stream lc_stream;

/**
 * Open a stream over @p n sources; more than one make a mixture. Unless it follows, it
 * reads the records that the sources have now, or had when options->token was taken.
 *
 * Example x of batch b has number bB + x; the numbers continue across epochs, so that
 * only the very last batch is padded.
 *
 * If the images of a source have several sizes, each batch has one size, the same on
 * all readers; the last batch of each size in an epoch may have padding, which takes
 * numbers too. Without a shuffle the sizes follow one another, with one their batches
 * are interleaved at random. Windows, mixtures and R* give LC_INVALID; a token holds
 * for the same batch size only, otherwise LC_OTHER_ORDER; a limit counts padding.
 *
 * @return LC_OK; LC_INVALID for options that contradict one another, for an order
 * without examples (a source, or one of the R* streams, that has no data), and for a
 * token that is not at the start of a batch of this size; for the token also
 * LC_CORRUPT, LC_VERSION, LC_OTHER_CACHE, LC_OTHER_ORDER (also for another seed),
 * LC_CHANGED; LC_NO_MEMORY, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_stream_open(lc_source *const *sources, size_t n,
    const lc_stream_options *options, lc_stream **out);

/** Numbers of a stream. */
typedef struct lc_stream_info {
	size_t struct_size;     /**< set by the caller to sizeof(lc_stream_info) */
	uint64_t examples;      /**< in all epochs; UINT64_MAX if without end, or while
	                             it follows a source that is not final */
	uint64_t batches;       /**< in all epochs; UINT64_MAX likewise */
	uint64_t epoch_examples; /**< of an epoch, with shares including those that
	                              occur twice in it; 0 while it is not known or if
	                              there are no epochs */
	uint64_t known;         /**< examples that can be read now */
	uint64_t first_batch;   /**< the position of the token; 0 without one */
	uint64_t batch;         /**< examples per batch */
	uint64_t order_hash;    /**< of all options that define the order, without
	                             batch, limit, seed and follow */
} lc_stream_info;

LC_API LC_CHECKED lc_status lc_stream_info_get(const lc_stream *stream,
    lc_stream_info *out);

/**
 * Wait until examples 0 to @p examples - 1 can be read. Refreshes the source of a
 * stream that follows.
 * @return as lc_source_wait(); LC_END if the stream will never have that many.
 */
LC_API LC_CHECKED lc_status lc_stream_wait(lc_stream *stream,
    uint64_t examples, uint64_t timeout_ms);

/** A part of an example: consecutive units in one chunk. */
typedef struct lc_piece {
	uint32_t source;   /**< which of the stream's sources */
	uint64_t epoch;    /**< of that source */
	uint64_t chunk;    /**< position in the order of chunks, from 0 */
	uint64_t chunk_id; /**< number of the chunk in the module, or of the shard */
	uint64_t first;    /**< first unit, from the chunk's start; without windows the
	                        number of the record */
	uint64_t units;    /**< how many */
} lc_piece;

/**
 * Find the parts of chunks that an example consists of, in order, without reading them.
 * @param pieces  room for @p room of them
 * @param n       gets how many there are, also when that is more than @p room
 * @return LC_OK; LC_END after the last example; LC_TIMEOUT if a stream that
 * follows does not know it yet; LC_INVALID if there are more than @p room, then none is
 * written; LC_CHANGED, LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_locate(lc_stream *stream,
    uint64_t example, lc_piece *pieces, size_t room, size_t *n);

/**
 * Find the chunks that one of @p readers reads from a stream with shares. They are the
 * same in all epochs, so they can be copied to the machine of the reader.
 * @param chunks  gets their positions in the order of chunks, ascending; room for @p room
 * @param n       gets how many there are, also when that is more than @p room
 * @return LC_OK; LC_INVALID without shares, if there is no such reader, if the number
 * of shares is not a multiple of @p readers, or if there are more than @p room chunks,
 * then none is written; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_share_chunks(lc_stream *stream, uint32_t reader,
    uint32_t readers, uint64_t *chunks, size_t room, size_t *n);

/**
 * The token of a position: batch @p batch is the next. The same on every reader, for
 * any R, and valid after appends. lmdbcache_stream(3) describes its bytes. All
 * positions after the last batch count as the end.
 * @param out  LC_TOKEN_SIZE bytes
 * @return LC_OK; LC_TIMEOUT if a stream that follows does not yet know all examples
 * before it; LC_CHANGED, LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_stream_token(lc_stream *stream, uint64_t batch,
    void *out);

/** Close a stream. It stays open inside until its last reader is closed, which may
 *  happen later. NULL is allowed. */
LC_API void lc_stream_close(lc_stream *stream);

/** How readers share a batch. */
typedef enum lc_split {
	LC_SPLIT_STRIDED = 0,   /**< reader r gets x = r, r + R, r + 2R … */
	LC_SPLIT_CONTIGUOUS = 1 /**< consecutive equal shares; the first B mod R readers
	                             get one example more */
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
	const char *const *fields; /**< tensors to read: paths, "." for a record that is
	                                a tensor itself; for windows over a length
	                                field, tensors with a first axis of that length.
	                                NULL for all tensors of the first record that is
	                                read; for windows, the length field */
	size_t n_fields;      /**< number of fields; 0 with fields not NULL: read no
	                           tensors, for a list of the records */
	int views;            /**< return pointers to records in place instead of one
	                           array; not with windows; default 0 */
	int documents;        /**< for windows: report where documents begin; default
	                           0 */
	unsigned threads;     /**< threads that read ahead; 0: lc_reader_next() reads
	                           itself; default 2 */
	unsigned ahead;       /**< maximum number of batches read ahead; default 8 */
	uint64_t memory;      /**< maximum bytes of their buffers, but at least one
	                           batch per thread; default 256 MiB */
	uint64_t timeout_ms;  /**< how long lc_reader_next() waits for a source to grow;
	                           default UINT64_MAX, without limit */
	/**
	 * Functions for the memory of fields' data, such as memory that a device can read
	 * from; both or neither. @p size is a multiple of 64 and not 0. alloc() returns
	 * memory aligned to 64 bytes, or NULL, which makes the call return
	 * LC_NO_MEMORY; unaligned memory is freed again, and the call returns
	 * LC_INVALID. free() gets the same size. Both are called by the reader's
	 * threads and by those that call its functions, several at once, and without a
	 * lock of the reader. lc_batch_release() frees the memory of a detached batch,
	 * possibly after the reader is closed. While the reader is being closed they
	 * must not call its functions. Default NULL: the heap.
	 */
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *memory, size_t size);
	void *alloc_ctx;      /**< their first argument */
} lc_reader_options;

LC_API void lc_reader_options_init(lc_reader_options *options);

/** One tensor field of this reader's examples in a batch. */
typedef struct lc_batch_field {
	const char *name;      /**< as in lc_reader_options.fields */
	lc_dtype dtype;
	uint32_t ndim;         /**< of shape */
	uint64_t shape[LC_MAX_NDIM + 1]; /**< [rows, …]: rows, then the record's shape
	                                or [window, …]. In a ragged field shape[0] is
	                                the sum of all first axes, and there is no axis
	                                of rows */
	uint64_t nbytes;       /**< of data */
	void *data;            /**< 64-byte aligned, C order; the caller may change it;
	                            padding is 0. NULL with views */
	const void *const *rows; /**< with views: each record's data in place,
	                              read-only, NULL for padding; otherwise NULL */
	const uint64_t *offsets; /**< for a ragged field, with records that differ in
	                              their first axis: rows + 1 positions on axis 0;
	                              otherwise NULL */
} lc_batch_field;

/** A reader's share of a batch. Valid until lc_batch_release(), which must come before
 *  the reader is closed unless the batch is detached. */
typedef struct lc_batch {
	uint64_t number;          /**< b */
	uint64_t first;           /**< first example of the whole batch */
	size_t rows;              /**< of this reader: its share of B, possibly 0 */
	size_t filled;            /**< rows that are examples; the others are padding */
	const uint8_t *mask;      /**< for each row: 1 example, 0 padding */
	const uint64_t *examples; /**< for each row: its number; UINT64_MAX for
	                               padding */
	const uint64_t *epochs;   /**< for each row: its epoch */
	const uint32_t *sources;  /**< for each row: the source of the mixture, from
	                               0 */
	const uint64_t *lengths;  /**< for each row: the number of units, 1 without
	                               windows; the rest of a window is padding */
	const lc_id *ids;         /**< for each row: cache_id of its record, or of the
	                               first one in its window; empty for padding and in
	                               shards of version 1 */
	const uint32_t *documents; /**< [rows, window]: number of the record within the window,
	                               from 0, UINT32_MAX for padding; NULL without
	                               lc_reader_options.documents */
	const uint32_t *positions; /**< [rows, window]: position within the record
	                                modulo 2^32, counted from its start even if that
	                                is before the window; NULL likewise */
	size_t n_fields;
	const lc_batch_field *fields;
	void *lc_private;
} lc_batch;

/** Reads one share of the batches of a stream. */
typedef struct lc_reader lc_reader;

/**
 * Open a reader at the stream's first batch. Threads start with the first
 * lc_reader_next().
 * @return LC_OK; LC_INVALID for options that contradict one another; LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_reader_open(lc_stream *stream,
    const lc_reader_options *options, lc_reader **out);

/**
 * Get the next batch, in order. One thread at a time; release the batch with
 * lc_batch_release(), in any order and from any thread. Held batches count as read
 * ahead: if all of these are held, the call returns LC_BUSY. To hold more, detach them
 * with lc_batch_detach(). A batch consists of the records that the stream had when it
 * was opened; if they have changed, the call returns LC_CHANGED.
 * @return LC_OK; LC_END; LC_TIMEOUT and LC_ABANDONED for a stream that follows: call
 * again; LC_SCHEMA with the key if fields are missing in a record, or differ from those
 * of the others; LC_CHANGED; LC_CORRUPT with the key: the next call tries the same
 * batch again, lc_reader_seek() can skip it; LC_NO_MEMORY, LC_IO.
 */
LC_API LC_CHECKED lc_status lc_reader_next(lc_reader *reader,
    const lc_batch **out);

/**
 * Release a batch, or free a detached one. From any thread; before its reader is
 * closed, unless it is detached. NULL is allowed.
 */
LC_API void lc_batch_release(const lc_batch *batch);

/**
 * Give the caller ownership of a batch of lc_reader_next() or lc_reader_read(). It no
 * longer counts as read ahead, and its memory no longer counts as the reader's, so the
 * caller can hold any number of batches. It stays valid until lc_batch_release(), also
 * after the reader, the stream, the source and the handle are closed. From any thread;
 * a second call has no effect. NULL is allowed.
 *
 * With lc_reader_options.views the batch keeps pinning its records, as a view does,
 * until it is released.
 * @return LC_OK; LC_NO_MEMORY: then the batch is unchanged.
 */
LC_API LC_CHECKED lc_status lc_batch_detach(const lc_batch *batch);

/** Continue at batch @p batch. Any number is accepted; lc_reader_next() returns LC_END
 *  if there is no such batch. */
LC_API LC_CHECKED lc_status lc_reader_seek(lc_reader *reader, uint64_t batch);

/**
 * Read any batch, from any thread, without changing the position of lc_reader_next().
 * Release it with lc_batch_release().
 * @return as lc_reader_next(), but without waiting: LC_TIMEOUT if the batch is not
 * complete yet.
 */
LC_API LC_CHECKED lc_status lc_reader_read(lc_reader *reader, uint64_t batch,
    const lc_batch **out);

/** The token of the position after the last batch that lc_reader_next() returned. */
LC_API LC_CHECKED lc_status lc_reader_token(lc_reader *reader, void *out);

/** What reading cost. */
typedef struct lc_reader_stats {
	size_t struct_size;    /**< set by the caller to sizeof(lc_reader_stats) */
	uint64_t batches;      /**< read, including those read ahead */
	uint64_t examples;     /**< of this reader in these batches */
	uint64_t bytes;        /**< of tensors delivered */
	uint64_t stored_bytes; /**< stored size of the records that were read or
	                            verified for them */
	uint64_t reads;        /**< records, or parts of them, that examples needed */
	uint64_t runs;         /**< sequences of adjacent reads, each counted once */
	uint64_t chunks;       /**< chunks read, counted once per batch */
	uint64_t directory_hits, directory_misses; /**< offsets of records within
	                                chunks: found in memory, or read from the
	                                chunk */
	uint64_t wait_ns;      /**< time that lc_reader_next() waited for batches */
	uint64_t work_ns;      /**< time spent reading, sum over all threads */
	uint64_t buffer_bytes; /**< current memory of batches */
} lc_reader_stats;

LC_API LC_CHECKED lc_status lc_reader_stat(const lc_reader *reader,
    lc_reader_stats *out);

/** Stop and close a reader. Release or detach all its batches before. Its threads give up
 *  what they wait for: requests to a server, and times until they are repeated. NULL is
 *  allowed. */
LC_API void lc_reader_close(lc_reader *reader);

/* ------------------------------------------------------------------------
 * Stores: named objects in a place that many machines share
 * ------------------------------------------------------------------------ */

/**
 * A store of objects: a directory, an S3 bucket, or functions of the caller.
 * cachex-store(5) describes the objects that cachex stores. Any number of threads may
 * use it at once. After fork() the child must not use a store that its parent opened.
 */
typedef struct lc_store lc_store;

/** Where requests to S3 have the name of the bucket. */
typedef enum lc_path_style {
	LC_PATH_STYLE_AUTO = 0, /**< in the path if an endpoint is set, or if the name
	                             is not valid in a host name; otherwise in the host
	                             name */
	LC_PATH_STYLE_YES = 1,  /**< in the path: http://HOST/BUCKET/KEY */
	LC_PATH_STYLE_NO = 2    /**< in the host name: http://BUCKET.HOST/KEY */
} lc_path_style;

/** How to reach a store. Fill with lc_store_options_init(). Fields that are NULL or 0
 *  come from the environment, then from the profile: see lmdbcache_store(3). */
typedef struct lc_store_options {
	size_t struct_size;     /**< set by lc_store_options_init() */
	const char *endpoint;   /**< "http://HOST:PORT" or "https://HOST" of an
	                             S3-compatible server; NULL: AWS_ENDPOINT_URL_S3,
	                             AWS_ENDPOINT_URL, or Amazon's endpoint of the
	                             region */
	const char *region;     /**< NULL: AWS_REGION, AWS_DEFAULT_REGION, "us-east-1" */
	const char *profile;    /**< of ~/.aws/credentials and ~/.aws/config; its keys
	                             take precedence over those of the environment.
	                             NULL: AWS_PROFILE, or "default"; then the
	                             environment takes precedence */
	const char *ca_file;    /**< file of CA certificates, PEM; NULL: AWS_CA_BUNDLE,
	                             or the system's */
	lc_path_style path_style; /**< default LC_PATH_STYLE_AUTO */
	unsigned tries;         /**< attempts of a request that fails for a temporary
	                             reason, at least; default 5 */
	uint32_t retry_s;       /**< a request fails only after this many seconds of
	                             attempts if the server has answered any request
	                             before; 0 to 86,400; default 60 */
	uint32_t connect_ms;    /**< time limit to connect; default 10,000 */
	uint32_t stall_s;       /**< end a transfer that is slower than 1 KiB/s for this
	                             many seconds; default 30 */
	int single_publisher;   /**< put without conditions, for a store that does not
	                             support them: then the caller must make sure that
	                             only one process at a time pushes or publishes;
	                             default 0 */
	/** Called about once a second while a request waits, in the waiting thread;
	 *  non-zero ends the request with LC_CANCELLED. Default NULL. */
	int (*cancelled)(void *ctx);
	void *cancelled_ctx;    /**< its argument */
} lc_store_options;

/** Set every field to its default. */
LC_API void lc_store_options_init(lc_store_options *options);

/** An object. */
typedef struct lc_store_object {
	const char *name; /**< letters, digits, "-_." and "/", at most 255 bytes */
	uint64_t size;    /**< bytes */
	uint64_t time_ms; /**< when it was put, by the store's clock, ms since 1970 */
} lc_store_object;

/** The content of a put. */
typedef struct lc_store_body {
	uint64_t size;
	/** Write the next @p size bytes to @p out. Offsets start at 0 and continue
	 *  where the last call ended, or start again at 0. A status other than LC_OK
	 *  ends the put with that status. */
	lc_status (*read)(void *ctx, uint64_t offset, void *out, size_t size);
	void *ctx;
	const char *sha256; /**< of all bytes, in hex, if it is known; otherwise NULL */
} lc_store_body;

/**
 * A store implemented by functions of the caller. Any number of threads call them at
 * once. They return LC_OK, LC_NO_FILE for an object that does not exist, LC_PERMISSION,
 * LC_NO_SPACE, LC_NO_MEMORY, or LC_IO; lc_store_error() sets the text of the error.
 */
typedef struct lc_store_calls {
	size_t struct_size; /**< sizeof(lc_store_calls) */
	/** Read @p size bytes from @p offset on; *got is less only at the end of the
	 *  object. A call with size 0 requests only its size and time.
	 *  @param about  gets these, without a name; never NULL */
	lc_status (*get_range)(void *ctx, const char *name, uint64_t offset, void *out,
	    size_t size, size_t *got, lc_store_object *about);
	/** Put an object, completely or not at all, unless the name exists: then
	 *  LC_EXISTS. Of several calls at once, on any machines, exactly one returns
	 *  LC_OK. LC_UNSUPPORTED if the store cannot guarantee that. */
	lc_status (*put_new)(void *ctx, const char *name, const lc_store_body *body);
	/** Put an object, completely or not at all, replacing one of the same name. */
	lc_status (*put)(void *ctx, const char *name, const lc_store_body *body);
	/** Call @p fn for each object with a name that begins with @p prefix until it
	 *  returns a status other than LC_OK; return that status. */
	lc_status (*list)(void *ctx, const char *prefix,
	    lc_status (*fn)(void *fn_ctx, const lc_store_object *object), void *fn_ctx);
	/** Remove an object; LC_OK also if it does not exist. */
	lc_status (*remove)(void *ctx, const char *name);
	/** Set the time of an object to now. NULL: the object is read and put again. */
	lc_status (*touch)(void *ctx, const char *name);
	/** Called when the store is closed. May be NULL. */
	void (*close)(void *ctx);
} lc_store_calls;

/**
 * Open a store. Nothing is read or sent: a missing bucket or directory becomes an error
 * of later calls.
 * @param url      "s3://BUCKET/PREFIX", "file:///DIR", "file:DIR" or the path of a
 *                 directory; copied
 * @param options  NULL for the defaults; copied
 * @return LC_OK; LC_INVALID for a bad URL or option; LC_UNSUPPORTED for S3 in a build
 * without libcurl; LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_store_open(const char *url,
    const lc_store_options *options, lc_store **out);

/**
 * Open a store that functions of the caller implement.
 * @param calls  copied
 * @param ctx    for them; the caller's until calls->close()
 * @param url    what messages call the store; copied
 * @return LC_OK; LC_INVALID if a function is missing; LC_NO_MEMORY. On failure close()
 * is not called.
 */
LC_API LC_CHECKED lc_status lc_store_open_calls(const lc_store_calls *calls, void *ctx,
    const char *url, lc_store **out);

/** For functions of lc_store_calls: set the text of the error, one line, and return @p
 *  status. */
LC_API lc_status lc_store_error(lc_status status, const char *text);

/**
 * Check that a store keeps its promises: put an object of a new name twice, the second time
 * without effect, read, replace, list and remove it.
 * @return LC_OK; LC_UNSUPPORTED, in one line, if lc_store_calls.put_new() replaces an
 * object that exists or the store does not return what was put; errors of the store.
 */
LC_API LC_CHECKED lc_status lc_store_check(lc_store *store);

/** Counts of a store since it was opened. For a directory they are 0. */
typedef struct lc_store_stats {
	uint64_t requests; /**< sent to the server, or calls of the caller's functions */
	uint64_t retries;  /**< of them, repeated requests */
	uint64_t retry_wait_ns; /**< time that threads waited before repeated requests */
	uint64_t received; /**< bytes of objects and listings, including broken
	                        transfers */
	uint64_t sent;     /**< likewise */
} lc_store_stats;

/** Fill @p out; from any thread, at any time. */
LC_API void lc_store_stats_of(const lc_store *store, lc_store_stats *out);

/** Close a store, after its last use. NULL is allowed. */
LC_API void lc_store_close(lc_store *store);

/** How the shards of a store are fetched. Fill with lc_fetch_options_init(). */
typedef struct lc_fetch_options {
	size_t struct_size;   /**< set by lc_fetch_options_init() */
	const char *cache;    /**< the directory of copies, created if it is missing;
	                           all processes of a host may share one, and then fetch
	                           each object once. Not on NFS or SMB. No default */
	uint64_t cache_bytes; /**< maximum size on disk of all copies in the directory;
	                           no default */
	int shared;           /**< 1: other users may also write to the directory; 0,
	                           the default: it has mode 0700 */
	uint64_t generation;  /**< the one to read; 0, the default, for the newest */
	uint32_t ahead;       /**< number of shards to fetch before a reader needs them;
	                           default 4 */
	uint32_t threads;     /**< number of threads that fetch; default 4 */
	int ranges;           /**< read rows by ranges, and keep no shard, whatever the size of
	                           the cache; default 0 */
} lc_fetch_options;

/** Set every field to its default. */
LC_API void lc_fetch_options_init(lc_fetch_options *options);

/**
 * Open a generation of a store as a source of streams.
 *
 * A reader knows which shards it will need, in all epochs. They are fetched in that
 * order, before it needs them, into the directory of copies, and hashed during the
 * transfer. To make room, the copies that all readers of the host that share the
 * directory need last are removed. In an order that cannot be predicted (a mixture, R*,
 * or images of several sizes) shards are fetched when they are read.
 *
 * The least cache of a reader is the size of the shards that it needs at the same time
 * and ahead. If cache_bytes is smaller, no copies are kept: rows are read from the
 * store by ranges, and each block is verified. lmdbcache_stream(3) has the formulas;
 * cachex-plan(1) computes the numbers.
 *
 * A shard that is missing or damaged in the store is an error of its rows. A copy that
 * is damaged on the disk is repaired from the store. After fork() the child must not
 * use the source.
 *
 * @param store    on success it belongs to the source, and lc_source_close() closes it
 * @param options  as of lc_source_open_shards(); NULL for the defaults
 * @return LC_OK; LC_NO_FILE if there is no such generation; LC_INVALID; LC_CORRUPT for a
 * damaged manifest; LC_FILESYSTEM for a directory on a file system with locks that are
 * not local to one host; LC_PERMISSION, LC_NO_SPACE, LC_IO, LC_NO_MEMORY.
 */
LC_API LC_CHECKED lc_status lc_source_open_store(lc_store *store,
    const lc_fetch_options *fetch, const lc_source_options *options, lc_source **out);

/** Costs of fetching since the source was opened; of a list, the sums over its stores. */
typedef struct lc_fetch_stats {
	size_t struct_size;   /**< set by the caller to sizeof(lc_fetch_stats) */
	uint64_t generation;  /**< the one that is read; of a list, that of its first
	                           store */
	uint64_t least_bytes; /**< the least cache of the last reader, for all sources
	                           of its stream that share the directory; 0: not
	                           known */
	int ranges;           /**< 1 if rows are read by ranges because the cache is
	                           smaller */
	uint64_t hits;        /**< times that a shard was opened with its copy
	                           present */
	uint64_t misses;      /**< times that its copy was missing */
	uint64_t fetched;     /**< objects fetched completely */
	uint64_t fetched_bytes;  /**< from the store, including ranges and broken
	                              transfers */
	uint64_t range_requests; /**< requests for ranges of shards */
	uint64_t evicted;     /**< copies removed to make room */
	uint64_t refetched;   /**< objects that arrived damaged and were requested
	                           again */
	uint64_t resumed;     /**< transfers that continued where an earlier one
	                           stopped */
	uint64_t mended;      /**< blocks of copies damaged on the disk and repaired */
	uint64_t failed;      /**< fetches that ended with an error */
	uint64_t stall_ns;    /**< time that reads waited for shards */
	uint64_t requests, retries, retry_wait_ns; /**< as in lc_store_stats */
} lc_fetch_stats;

/** Fill @p out, with struct_size set; from any thread. LC_UNSUPPORTED if the source
 *  does not read a store. */
LC_API LC_CHECKED lc_status lc_source_fetch_stats(const lc_source *source,
    lc_fetch_stats *out);

/* ------------------------------------------------------------------------
 * Aspect buckets: a few image sizes; each image gets the nearest one
 * ------------------------------------------------------------------------ */

/** Width and height in pixels, 1 to 65,535 each. */
typedef struct lc_bucket {
	uint32_t width, height;
} lc_bucket;

/** The largest number of buckets to learn. */
#define LC_BUCKETS_MAX 64

/**
 * The seven sizes of about 1024 x 1024 pixels with sides of multiples of 64:
 * 1024x1024, 832x1216, 1216x832, 768x1280, 1280x768, 704x1344, 1344x704.
 * @param n  gets 7; may be NULL
 * @return a static array.
 */
LC_API const lc_bucket *lc_buckets_default(size_t *n);

/**
 * The index of the bucket with the width / height nearest to that of the image; the
 * first of equally near ones. Computed exactly, without rounding.
 * @param n  at least 1; buckets and image have sides of 1 to 2^32 - 1
 */
LC_API size_t lc_bucket_nearest(const lc_bucket *buckets, size_t n,
    uint32_t width, uint32_t height);

/**
 * Learn buckets from images: k-means on log(width / height), started at the middles of
 * k equal parts of the sorted ratios so that the same ratios give the same buckets; a
 * centre that loses all its images restarts at the image farthest from its own centre.
 * Each centre then becomes a size of about @p area pixels with sides that are multiples
 * of @p quantum, at most 65,535. Equal sizes are merged.
 * @param ratios   width / height of each image, > 0; sorted in place
 * @param k        how many to learn, 1 to LC_BUCKETS_MAX
 * @param area     in pixels, at least 1, such as 1024 * 1024
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
