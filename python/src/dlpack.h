/* SPDX-License-Identifier: BSD-2-Clause */
/* The structs of DLPack 1.1, by which array libraries hand each other tensors
 * (dmlc.github.io/dlpack, C API): names and layout are part of its ABI. */
#ifndef LMDBCACHE_PYTHON_DLPACK_H
#define LMDBCACHE_PYTHON_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1 }; /* device types */

enum { /* codes of element types */
	DL_INT = 0,
	DL_UINT = 1,
	DL_FLOAT = 2,
	DL_BFLOAT = 4,
	DL_COMPLEX = 5,
	DL_BOOL = 6,
	DL_FLOAT8_E4M3FN = 10,
	DL_FLOAT8_E4M3FNUZ = 11,
	DL_FLOAT8_E5M2 = 12,
	DL_FLOAT8_E5M2FNUZ = 13,
	DL_FLOAT8_E8M0FNU = 14,
	DL_FLOAT4_E2M1FN = 17
};

typedef struct {
	int32_t device_type;
	int32_t device_id;
} DLDevice;

typedef struct {
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
} DLDataType;

typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL: C order */
	uint64_t byte_offset;
} DLTensor;

/* In a capsule called "dltensor", "used_dltensor" once it is taken. */
typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct {
	uint32_t major, minor;
} DLPackVersion;

#define DL_FLAG_READ_ONLY UINT64_C(1)
#define DL_FLAG_IS_COPIED UINT64_C(2)

/* In a capsule called "dltensor_versioned", "used_dltensor_versioned" likewise. */
typedef struct DLManagedTensorVersioned {
	DLPackVersion version;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif
