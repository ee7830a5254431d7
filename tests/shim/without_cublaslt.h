/* without_cublaslt.h - implements cublaslt.h for an emulation built without NVIDIA's header. */
#ifndef ABLATE_WITHOUT_CUBLASLT_H
#define ABLATE_WITHOUT_CUBLASLT_H
static inline int lt_load_functions(err *e) { return fail(e, "cuBLASLt: this was built without its header"); }
static inline const char *lt_description(void) { return ""; }
static inline int lt_open(err *e) { return lt_load_functions(e); }
static inline void lt_close(void) {}
static inline int lt_product(const product *p) { return (void)p, 1; }
static inline int64_t lt_failures(void) { return 0; }
#endif
