/* nccl_header.c - compiled where NCCL's header is installed: checks that cuda/nccl.h declares the same functions. */
#include <nccl.h>
#include "tensor/cuda/nccl.h"

_Static_assert((int)NCCL_SUCCESS == (int)ncclSuccess && (int)NCCL_INVALID_USAGE == (int)ncclInvalidUsage, "codes");
_Static_assert((int)NCCL_REMOTE_ERROR == (int)ncclRemoteError && (int)NCCL_IN_PROGRESS == (int)ncclInProgress, "codes");
_Static_assert((int)NCCL_INT8 == (int)ncclInt8 && (int)NCCL_FLOAT32 == (int)ncclFloat32, "types of elements");
_Static_assert(sizeof(nccl_code) == sizeof(ncclResult_t) && sizeof(nccl_type) == sizeof(ncclDataType_t),
               "enumerations");
_Static_assert(sizeof(nccl_id) == sizeof(ncclUniqueId) && _Alignof(nccl_id) == _Alignof(ncclUniqueId), "the id");
#define SAME(function, type) _Static_assert(__builtin_types_compatible_p(__typeof__(&function), type), #function)
SAME(ncclGetVersion, ncclResult_t (*)(int *));
SAME(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *));
SAME(ncclCommInitRank, ncclResult_t (*)(nccl_comm *, int, ncclUniqueId, int));
SAME(ncclCommDestroy, ncclResult_t (*)(nccl_comm));
SAME(ncclCommAbort, ncclResult_t (*)(nccl_comm));
SAME(ncclCommGetAsyncError, ncclResult_t (*)(nccl_comm, ncclResult_t *));
SAME(ncclGetErrorString, const char *(*)(ncclResult_t));
SAME(ncclGroupStart, ncclResult_t (*)(void));
SAME(ncclGroupEnd, ncclResult_t (*)(void));
SAME(ncclSend, ncclResult_t (*)(const void *, size_t, ncclDataType_t, int, nccl_comm, cudaStream_t));
SAME(ncclRecv, ncclResult_t (*)(void *, size_t, ncclDataType_t, int, nccl_comm, cudaStream_t));
