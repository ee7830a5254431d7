/* fake_cudnn.h - descriptors of the stand-in for cuDNN (see fake_cudnn.c). */
#ifndef ABLATE_FAKE_CUDNN_H
#define ABLATE_FAKE_CUDNN_H
#include "tensor/cuda/runtime.h"
#include <cudnn.h>
#include <stdbool.h>

enum { FAKE_ATTRIBUTES = 12, FAKE_WORKSPACE = 1000 /* bytes */ };
typedef struct {
    int name;
    cudnnBackendAttributeType_t type;
    int64_t n;
    void *values;
} fake_attribute;
typedef struct fake {
    cudnnBackendDescriptorType_t type;
    bool finalized;
    int n;
    fake_attribute at[FAKE_ATTRIBUTES];
    struct fake *graph; /* set in an engine's configuration */
    int engine;
} fake;

cudnnStatus_t fake_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const fake_attribute *fake_find(const fake *d, int name);
const void *fake_get(const fake *d, int name);  /* the attribute's values, or NULL */
fake *fake_descriptor(const fake *d, int name); /* the attribute's one value, a descriptor */
#endif
