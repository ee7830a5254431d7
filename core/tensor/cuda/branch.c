/* branch.c - see branch.h. */
#include "tensor/cuda/branch.h"
#include <stdlib.h>

bool branch_takes(op o) { return o == OP_LINEAR_DW && same(getenv("ABLATE_BRANCH"), "1"); }

/* ---- what must wait for what ---- */

static bool overlap(const ab_ctx *c, int32_t i, int32_t j)
{
    const node *u = &c->v[i], *v = &c->v[j];
    const char *a = i ? u->data : NULL, *b = j ? v->data : NULL;
    if (!a || !b) return false;
    return a < b + (size_t)node_count(v) * dtype_size(v->type) && b < a + (size_t)node_count(u) * dtype_size(u->type);
}
static bool reads(const ab_ctx *c, int32_t reader, int32_t i)
{
    const node *v = &c->v[reader];
    for (int k = 0; k < v->n_in; k++)
        if (overlap(c, v->in[k], i)) return true;
    return false;
}
static bool writes(const ab_ctx *c, int32_t writer, int32_t i)
{
    for (int k = 0; k < c->v[writer].n_out; k++)
        if (overlap(c, writer + k, i)) return true;
    return false;
}
/* Is input k written, too? */
static bool changes(const ab_ctx *c, const node *v, int k)
{
    int32_t root = c->v[v->in[k]].alias;
    return (v->op == OP_ASSIGN && k == 0) || c->v[root].op == OP_STATE;
}

/* Must node `later` wait for node `earlier`, which runs beside it? */
static bool depends(const ab_ctx *c, int32_t later, int32_t earlier)
{
    const node *v = &c->v[later];
    for (int k = 0; k < v->n_out; k++)
        if (reads(c, earlier, later + k) || writes(c, earlier, later + k)) return true;
    for (int k = 0; k < v->n_in; k++)
        if (writes(c, earlier, v->in[k]) || (changes(c, v, k) && reads(c, earlier, v->in[k]))) return true;
    return false;
}

/* ---- running ---- */

/* The branch's numbers below `end` are waited for: it runs them in order. */
static int join_before(branch *b, unsigned end)
{
    if (end == b->joined) return 0;
    b->joined = end;
    return gpu_side_join_mark((int)((end - 1) % GPU_MARKS));
}

static int run_beside(branch *b, ab_ctx *c, int32_t i, const run_options *o)
{
    if (b->begun - b->joined == GPU_MARKS && join_before(b, b->joined + 1)) return -1;
    if (gpu_side_begin(GPU_BRANCH)) return -1;
    int mark = (int)(b->begun % GPU_MARKS), bad = tape_run_node(c, i, o, gpu_wait);
    gpu_side_end();
    b->node[mark] = i;
    b->begun++;
    return gpu_side_mark(GPU_BRANCH, mark) || bad ? -1 : 0;
}

int branch_run(branch *b, ab_ctx *c, int32_t i, const run_options *o)
{
    if (b->wanted && branch_takes(c->v[i].op)) return run_beside(b, c, i, o);
    unsigned end = b->begun;
    while (end > b->joined && !depends(c, i, b->node[(end - 1) % GPU_MARKS])) end--;
    return join_before(b, end) || tape_run_node(c, i, o, gpu_wait) ? -1 : 0;
}

int branch_join(branch *b) { return join_before(b, b->begun); }
