/* nccl.h - the NCCL functions used, loaded at run time, as declared by nccl.h of NCCL 2.28.9 (CUDA 13.0). They are
 * unchanged since 2.7, the first version with ncclSend. Declared here so that every build has the module; if NCCL's
 * header is installed, tests/shim/nccl_header.c compares both. */
#ifndef ABLATE_CUDA_NCCL_H
#define ABLATE_CUDA_NCCL_H

enum { NCCL_OLDEST = 2700 }; /* as ncclGetVersion counts */
typedef enum { NCCL_SUCCESS, NCCL_INVALID_USAGE = 5, NCCL_REMOTE_ERROR, NCCL_IN_PROGRESS } nccl_code; /* ncclResult_t */
typedef enum { NCCL_INT8, NCCL_FLOAT32 = 7 } nccl_type; /* ncclDataType_t */
typedef struct {
    char bytes[128];
} nccl_id; /* ncclUniqueId */
/* ncclComm_t; streams are cudaStream_t */
typedef struct ncclComm *nccl_comm;

#define NCCL_FUNCTIONS(X)                                                                                              \
    X(nccl_code, ncclGetVersion, (int *version))                                                                       \
    X(nccl_code, ncclGetUniqueId, (nccl_id * id))                                                                      \
    X(nccl_code, ncclCommInitRank, (nccl_comm * comm, int size, nccl_id id, int rank))                                 \
    X(nccl_code, ncclCommDestroy, (nccl_comm comm))                                                                    \
    X(nccl_code, ncclCommAbort, (nccl_comm comm))                                                                      \
    X(nccl_code, ncclCommGetAsyncError, (nccl_comm comm, nccl_code * found))                                           \
    X(const char *, ncclGetErrorString, (nccl_code code))                                                              \
    X(nccl_code, ncclGroupStart, (void))                                                                               \
    X(nccl_code, ncclGroupEnd, (void))                                                                                 \
    X(nccl_code, ncclSend, (const void *from, size_t n, nccl_type type, int to, nccl_comm comm, void *stream))         \
    X(nccl_code, ncclRecv, (void *to, size_t n, nccl_type type, int from, nccl_comm comm, void *stream))
#endif
