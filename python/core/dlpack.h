/* dlpack.h: the structures of DLPack 1.0, https://dmlc.github.io/dlpack/latest/c_api.html; Debian
 * 12 has a version without the versioned ones */
#pragma once
#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_CUDA_HOST = 3 };
enum { DLPACK_READ_ONLY = 1, DLPACK_COPIED = 2 };

typedef struct {
  int32_t type;
  int32_t id;
} DLPackDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLPackType;

typedef struct {
  void *data;
  DLPackDevice device;
  int32_t n_dims;
  DLPackType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLPackTensor;

typedef struct DLPackManaged DLPackManaged;
struct DLPackManaged {
  DLPackTensor tensor;
  void *context;
  void (*deleter) (DLPackManaged *self);
};

typedef struct DLPackVersioned DLPackVersioned;
struct DLPackVersioned {
  uint32_t major;
  uint32_t minor;
  void *context;
  void (*deleter) (DLPackVersioned *self);
  uint64_t flags;
  DLPackTensor tensor;
};
