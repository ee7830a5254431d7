/* optim_bench.h - runs an optimizer on bare parameters, for its checks. */
#ifndef ABLATE_CHECK_OPTIM_BENCH_H
#define ABLATE_CHECK_OPTIM_BENCH_H
#include "network/check/internal.h"
#include "network/train/optim.h"

enum { OPTIM_FEW = 64, OPTIM_STEPS = 3, OPTIM_SHAPES = 8 };
extern const param optim_shapes[OPTIM_SHAPES]; /* parameters for rules that depend on shapes */

typedef struct { /* a model that has only parameters, no layers */
    model m;
    optimizer *o;
    void *grad; /* [n] */
    size_t n;   /* elements of a flat vector */
} optim_bench;

bool optim_elementwise(const plugin *p);
/* Opens the optimizer for the parameters `list`. cfg NULL: the defaults and the settings of -s. Returns 0, or -1 and e;
 * call optim_bench_close in either case. */
int optim_bench_open_with(optim_bench *b, const plugin *p, const param *list, size_t n, dtype type, void *cfg, err *e);
/* Calls optim_bench_open_with for one vector of n elements if the rule is elementwise, else for optim_shapes. */
int optim_bench_open(optim_bench *b, const plugin *p, size_t n, dtype type, void *cfg, err *e);
void optim_bench_close(optim_bench *b);
static inline double *optim_values(const optim_bench *b) { return b->m.params.value; }
static inline double *optim_gradient(const optim_bench *b) { return b->grad; }
/* Does element i belong to a parameter, not to a gap between two? */
bool optim_learned(const optim_bench *b, size_t i);
void optim_some_gradient(double *g, size_t n, int64_t step); /* g depends only on `step` */
/* Runs updates first .. last with the gradients of optim_some_gradient. */
void optim_steps(optim_bench *b, int64_t first, int64_t last, err *e);
#endif
