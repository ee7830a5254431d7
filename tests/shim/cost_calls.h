/* cost_calls.h - calls of the CUDA backend on random numbers for the cost model (cost.cc), which ignores their results.
 * Views are in host memory (shim_test.h) until moved() moves them. */
#ifndef ABLATE_COST_CALLS_H
#define ABLATE_COST_CALLS_H
#include "tensor/cuda/runtime.h"
#include "shim_test.h"

/* Sizes of the base model: rows, columns, heads, words of the vocabulary [multiples of 8, as in training]. */
enum { ROWS = 64, WIDTH = 512, HEADS = 8, WORDS = 10000 };
static const view none = {.param = -1};

/* Copies a view to device memory, where it stays until the program ends, and frees the host's. */
static inline view moved(view v)
{
    void *host = v.data;
    v.data = host ? gpu_copy_of(host, bytes_of_view(&v)) : NULL;
    free(host);
    return v;
}
static inline view random_rows(dtype type, int64_t rows, int64_t width)
{
    return moved(randoms(tensor(type, 1, 1, rows, width)));
}
static inline view random_ids(int64_t n, int64_t below) { return moved(ids_below(tensor(I32, 1, 1, 1, n), below)); }
static inline view space(dtype type, int64_t rows, int64_t width) { return moved(tensor(type, 1, 1, rows, width)); }

/* Counts the launches of f, but not uploads that were queued before. A failure ends the program. */
#define COUNTED(name, f)                                                                                               \
    do {                                                                                                               \
        gpu_flush();                                                                                                   \
        gpu_label = (name);                                                                                            \
        int rc_ = (f);                                                                                                 \
        gpu_label = "";                                                                                                \
        if (rc_ || gpu_error()) fprintf(stderr, "%s: %d, %s\n", (name), rc_, gpu_error() ? gpu_error() : ""), exit(1); \
    } while (0)
static inline void counted_call(const char *name, kernel on_gpu, call k)
{
    err e = {{0}};
    k.training = true, k.seed = 5, k.step = 3;
    gpu_set_counter(k.seed, k.step);
    gpu_flush();
    gpu_label = name;
    int rc = on_gpu(&k, &e);
    gpu_label = "";
    if (rc) fprintf(stderr, "%s: %s\n", name, e.text), exit(1);
}

void cost_print(void); /* prints the counts of cost.cc to standard output (cost.h) */
/* Each of these runs and counts some kernels. */
void cost_elementwise(void), cost_shapes(void);                                      /* cost_generic.c */
void cost_rows(void), cost_optimizer(void), cost_choices(void), cost_services(void); /* cost_rows.c */
void cost_attention(void), cost_steps(void), cost_scores(void);                      /* cost_attention.c */
#endif
