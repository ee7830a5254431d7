/* dnn_load.c - cuDNN's functions, its handle, and its error messages. */
#ifdef HAVE_CUDNN
#include "tensor/cuda/runtime.h"
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "tensor/cuda/library.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>

static dnn_functions table;
static void *library;
static cudnnHandle_t handle;
static str path;
static char described[512];
static err refused; /* why cuDNN is missing; the search runs once */

static int load(err *e)
{
#ifdef CUDNN_FILE
    setenv("ABLATE_CUDNN", CUDNN_FILE, 0); /* a stand-in, for tests */
#endif
    const char *wish = getenv("ABLATE_CUDNN");
    if (wish && same(wish, "none")) return fail(e, "cuDNN: disabled by ABLATE_CUDNN=none");
    static const char *const names[] = {DNN_FUNCTIONS(LIBRARY_NAME) NULL};
    void *found = library_functions(&library_dnn, names, &table, &path, e);
    if (!found) return -1;
    size_t version = table.cudnnGetVersion(); /* 91900 is 9.19.0 */
    if (version < DNN_OLDEST)
        return fail(e, "cuDNN: %s is version %zu.%zu, expected at least %d.%d", str_text(&path), version / 10000,
                    version / 100 % 100, DNN_OLDEST / 10000, DNN_OLDEST / 100 % 100);
    snprintf(described, sizeof described, "cuDNN %zu.%zu.%zu (%.400s)", version / 10000, version / 100 % 100,
             version % 100, str_text(&path));
    static const char *const needs[] = {
        "libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13", /* CUDA 13's or 12's */
        "libnvrtc.so.12", "libcublasLt.so.12", "libcublas.so.12", NULL};
    library_open_needs(str_text(&path), needs);
    library = found;
    return 0;
}

const dnn_functions *dnn_load(err *e)
{
    if (!library && (refused.text[0] || load(&refused))) {
        fail(e, "%s", refused.text);
        return NULL;
    }
    return &table;
}

const char *dnn_library(void)
{
    err e = {{0}};
    return dnn_load(&e) ? described : refused.text;
}

int dnn_failed(err *e, const char *doing, cudnnStatus_t s)
{
    char more[1024] = "";
    table.cudnnGetLastErrorString(more, sizeof more);
    return fail(e, "%s cannot %s: %s%s%s", described, doing, table.cudnnGetErrorString(s), more[0] ? ": " : "", more);
}

cudnnHandle_t dnn_handle(err *e)
{
    gpu_flush(); /* cuDNN launches without LAUNCH, which would flush */
    if (handle || !dnn_load(e)) return handle;
    cudnnStatus_t s = table.cudnnCreate(&handle);
    if (s == CUDNN_STATUS_SUCCESS) s = table.cudnnSetStream(handle, (cudaStream_t)gpu_stream());
    if (s != CUDNN_STATUS_SUCCESS) {
        dnn_failed(e, "be started", s);
        handle = NULL;
    }
    return handle;
}

void dnn_close(void)
{
    dnn_attend_close();
    if (handle) table.cudnnDestroy(handle);
    handle = NULL;
}
#else
#include "tensor/cuda/cudnn/dnn_attend.h"
const char *dnn_library(void) { return "cuDNN: this was built without its header, cudnn.h"; }
void dnn_close(void) { dnn_attend_close(); }
#endif
