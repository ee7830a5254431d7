/* ops_product.c - LINEAR, LINEAR_DX, LINEAR_DW and MATMUL, and the choice between cuBLASLt and our own kernels. */
#include "tensor/cuda/product.h"
#include "tensor/cuda/cublaslt.h"
#include "tensor/cuda/ops.h"
#include <stdlib.h>
#include <string.h>

/* ---- choosing between the library and our own kernels ---- */

enum { MOST_BATCH = 65535 }; /* products of one launch: a grid's third axis */
static product_count counts;
product_count product_counts(void) { return counts; }
void product_count_own(void) { counts.own++; }
static bool plain_wanted; /* ABLATE_PRODUCT=plain: nothing is fused with a product */
int product_may_fuse(void) { return !plain_wanted; }
static void forget_bits(void);

#ifdef GPU_ON_CPU
enum { OWN_UNLESS_ASKED = true }; /* the emulation's library is a stand-in: used only if ABLATE_PRODUCT says so */
#else
enum { OWN_UNLESS_ASKED = false };
#endif
static bool own_wanted = OWN_UNLESS_ASKED; /* ABLATE_PRODUCT=own */
int64_t product_failures(void) { return lt_failures(); }

static int read_wish(err *e)
{
    const char *wish = getenv("ABLATE_PRODUCT");
    bool own = same(wish, "own"), library = same(wish, "library");
    plain_wanted = same(wish, "plain");
    own_wanted = own || (OWN_UNLESS_ASKED && !library && !plain_wanted);
    if (!wish || !*wish || own || library || plain_wanted) return 0;
    return fail(e, "ABLATE_PRODUCT is \"%s\", expected \"own\", \"library\" or \"plain\"", wish);
}
int product_open(err *e)
{
    if (read_wish(e)) return -1;
    return own_wanted ? 0 : lt_open(e);
}
void product_close(void)
{
    forget_bits();
    counts = (product_count){0};
    lt_close();
}
const char *product_library(void)
{
    static err e;
    e.text[0] = 0;
    if (read_wish(&e)) return e.text;
    if (own_wanted) return OWN_UNLESS_ASKED ? "own kernels" : "own kernels (ABLATE_PRODUCT=own)";
    return lt_load_functions(&e) ? e.text : lt_description();
}
static int by_library(const product *p)
{
    /* exact batches are ours: the library's choice depends on the batch */
    bool ours = own_wanted || !p->k || (p->exact && (p->batch > 1 || p->turn_a));
    return ours ? 1 : lt_product(p);
}

/* ---- masks of ReLUs, as the library writes them. A mask is found by the address of the ReLU's output, which stays
 * until its gradient has been computed ---- */

enum { MOST_BITS = 1024 };
static struct {
    const void *y;
    void *bits;
    size_t bytes;
    bool written;
} relus[MOST_BITS];
static int n_relus;
static void **outgrown; /* masks that graphs may use: kept until product_close */
static size_t n_outgrown, outgrown_cap;

static int find_bits(const void *y)
{
    int i = 0;
    while (i < n_relus && relus[i].y != y) i++;
    return i;
}
/* Memory for the mask of y [m,n]; NULL if there are too many masks. */
static void *room_for_bits(const void *y, int64_t m, int64_t n)
{
    int i = find_bits(y);
    size_t bytes = (size_t)(m * RELU_BITS(n) / 8);
    if (i == MOST_BITS) return NULL;
    if (i == n_relus) relus[n_relus++].y = y;
    if (relus[i].bytes < bytes) {
        if (relus[i].bits) {
            outgrown = grow(outgrown, &outgrown_cap, n_outgrown + 1, sizeof *outgrown);
            outgrown[n_outgrown++] = relus[i].bits;
        }
        relus[i].bits = gpu_alloc(bytes), relus[i].bytes = bytes;
    }
    return relus[i].bits;
}
/* Records whether the mask at this address belongs to this product. */
static void record_bits(const product *p, bool written)
{
    int i = find_bits(p->c);
    if (i < n_relus) relus[i].written = written && p->bits;
}
static void *bits_of(const void *y)
{
    int i = find_bits(y);
    return i < n_relus && relus[i].written ? relus[i].bits : NULL;
}
static void forget_bits(void)
{
    for (int i = 0; i < n_relus; i++) gpu_release(relus[i].bits);
    for (size_t i = 0; i < n_outgrown; i++) gpu_release(outgrown[i]);
    free(outgrown);
    memset(relus, 0, sizeof relus);
    n_relus = 0, outgrown = NULL, n_outgrown = outgrown_cap = 0;
}

static view rows_at(const void *at, dtype type, int64_t rows, int64_t width)
{
    return (view){.data = (void *)(uintptr_t)at, .dim = {1, 1, rows, width}, .type = type, .param = -1};
}

static const void *moved(const void *p, int64_t elements, dtype type)
{
    return (const char *)p + (size_t)elements * dtype_size(type);
}

static int sum_columns(const view *x, const view *sums, err *e)
{
    return cuda_COLUMN_SUM(&(call){.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {*x}, .out = {*sums}}, e);
}

/* Runs the parts of the operation that the library did not fuse. */
static int finish_product(const product *p)
{
    view y = rows_at(p->positive, p->type_c, p->m, p->n), c = rows_at(p->c, p->type_c, p->m, p->n);
    err e = {{0}};
    call back = {.op = OP_RELU_BACK, .n_in = 2, .n_out = 1, .in = {y, c}, .out = {c}};
    int bad = p->positive && cuda_RELU_BACK(&back, &e);
    for (int64_t i = 0; i < p->batch && p->sums && !bad; i++) {
        view b = rows_at(moved(p->b, i * p->step_b, p->type), p->type, p->k, p->n),
             sums = rows_at(p->sums + i * p->step_sums, F32, 1, p->n);
        bad = sum_columns(&b, &sums, &e);
    }
    return bad ? -1 : 0;
}

/* Is nothing fused with the product? The library may support a product only without fused parts. */
static bool is_plain(const product *p) { return !p->positive && !p->sums && !p->bits; }

static int multiply(const product *p)
{
    product plain = *p;
    plain.positive = NULL, plain.sums = NULL, plain.bits = NULL;
    /* the library reads a mask as bits only, not a ReLU's output */
    bool at_once = !is_plain(p) && !plain_wanted && (!p->positive || p->bits);
    int rc = at_once ? by_library(p) : 1;
    if (rc == 1) {
        rc = by_library(&plain);
        if (!rc) rc = finish_product(p);
        at_once = false;
    }
    if (rc <= 0) {
        counts.library += !rc, counts.at_once += !rc && at_once;
        if (p->relu) record_bits(p, !rc && at_once);
        return rc;
    }
    if (p->relu) record_bits(p, false);
    rc = gpu_own_product(p);
    counts.own += !rc;
    return rc;
}

int gpu_product(const product *p)
{
    if (!p->m || !p->n || !p->batch) return gpu_launched();
    product q = *p;
    for (int64_t done = 0; done < p->batch; done += MOST_BATCH) {
        q.batch = p->batch - done < MOST_BATCH ? p->batch - done : MOST_BATCH;
        q.a = moved(p->a, done * p->step_a, p->type);
        q.b = moved(p->b, done * p->step_b, p->type);
        q.c = (void *)(uintptr_t)moved(p->c, done * p->step_c, p->type_c);
        q.sums = p->sums ? p->sums + done * p->step_sums : NULL;
        if (multiply(&q)) return -1;
    }
    return 0;
}

/* ---- parameters in bf16 ---- */

/* Bytes of an input in SCRATCH_WEIGHTS, which has a place for every input that may need a cast. */
static size_t cast_bytes(const view *v)
{
    return v->data && v->type == F32 ? ((size_t)count_of(v) * sizeof(uint16_t) + 255) / 256 * 256 : 0;
}

const void *cuda_as_bf16(const call *k, int i, err *e)
{
    const view *v = &k->in[i];
    const params *s = k->params;
    if (v->type == BF16) return v->data;
    if (v->type != F32) {
        fail(e, "input %d of a bf16 product is %s, expected bf16 or fp32", i, dtype_name(v->type));
        return NULL;
    }
    if (v->param >= 0 && s && s->shadow) return (const uint16_t *)s->shadow + s->p[v->param].at;
    size_t before = 0, all = 0;
    for (int j = 0; j < k->n_in; j++) {
        if (j == i) before = all;
        all += cast_bytes(&k->in[j]);
    }
    char *to = (char *)gpu_scratch(SCRATCH_WEIGHTS, all) + before;
    call cast = {.op = OP_CAST, .n_in = 1, .n_out = 1, .in = {*v}, .out = {rows_at(to, BF16, rows_of(v), width_of(v))}};
    return cuda_CAST(&cast, e) ? NULL : to;
}

/* ---- rows times a learned matrix ---- */

/* Input i as the rows' type: biases and weights are F32, but the library needs c's type. NULL after an error. */
static const void *as_rows(const call *k, int i, dtype type, err *e)
{
    if (type == BF16) return cuda_as_bf16(k, i, e);
    if (k->in[i].type == F32) return k->in[i].data;
    fail(e, "input %d of a product of fp32 rows is %s", i, dtype_name(k->in[i].type));
    return NULL;
}

/* The product of two matrices given as views. */
static product product_of(const view *a, const view *b, const view *c)
{
    return (product){.a = a->data,
                     .b = b->data,
                     .c = c->data,
                     .row_a = a->dim[3],
                     .row_b = b->dim[3],
                     .row_c = c->dim[3],
                     .batch = 1,
                     .type = a->type,
                     .type_c = c->type,
                     .alpha = 1};
}

int cuda_LINEAR(const call *k, err *e)
{
    const view *x = &k->i.LINEAR.x, *w = &k->i.LINEAR.w, *y = &k->o.LINEAR.y;
    if (want_types(k, "r", "r", e)) return -1;
    product p = product_of(x, w, y);
    p.m = rows_of(x), p.n = y->dim[3] - k->a.LINEAR.padding, p.k = x->dim[3];
    p.turn_b = k->a.LINEAR.transposed != 0, p.relu = k->a.LINEAR.relu != 0, p.exact = k->batch_invariant;
    if (!p.m || !p.n) return 0;
    if (p.relu && k->training && x->type == BF16 && !own_wanted) p.bits = room_for_bits(p.c, p.m, p.n);
    if (!(p.b = as_rows(k, 1, x->type, e))) return -1;
    if (k->i.LINEAR.b.data && !(p.bias = as_rows(k, 2, x->type, e))) return -1;
    return launched(gpu_product(&p), e);
}

int cuda_LINEAR_DX(const call *k, err *e)
{
    const view *dy = &k->i.LINEAR_DX.dy, *w = &k->i.LINEAR_DX.w, *base = &k->i.LINEAR_DX.base, *y = &k->i.LINEAR_DX.y,
               *dx = &k->o.LINEAR_DX.y;
    if (want_types(k, "r.rr", "r", e)) return -1;
    product p = product_of(dy, w, dx);
    p.m = rows_of(dy), p.n = dx->dim[3], p.k = dy->dim[3] - k->a.LINEAR.padding;
    p.turn_b = k->a.LINEAR.transposed == 0, p.beta = base->data ? 1 : 0;
    p.positive = y->data, p.bits = y->data ? bits_of(y->data) : NULL;
    if (!p.m || !p.n) return 0;
    if (base->data && base->data != dx->data)
        gpu_copy(dx->data, base->data, (size_t)count_of(dx) * dtype_size(dx->type));
    if (!(p.b = as_rows(k, 1, dy->type, e))) return -1;
    return launched(gpu_product(&p), e);
}

int cuda_LINEAR_DW(const call *k, err *e)
{
    const view *x = &k->i.LINEAR_DW.x, *dy = &k->i.LINEAR_DW.dy, *dw = &k->o.LINEAR_DW.dw;
    if (want_types(k, "rr", "ff", e)) return -1;
    const view *a = k->a.LINEAR.transposed ? dy : x, *b = k->a.LINEAR.transposed ? x : dy, *sums = &k->o.LINEAR_DW.db;
    int64_t padding[2] = {k->a.LINEAR.transposed ? k->a.LINEAR.padding : 0,
                          k->a.LINEAR.transposed ? 0 : k->a.LINEAR.padding}; /* dy's */
    product p = product_of(a, b, dw);
    p.m = a->dim[3] - padding[0], p.n = b->dim[3] - padding[1], p.k = rows_of(x);
    p.row_c = b->dim[3], p.turn_a = 1, p.batch = k->batch > 1 ? k->batch : 1;
    p.step_c = k->stride[2] / (int64_t)sizeof(float), p.step_sums = k->stride[3] / (int64_t)sizeof(float);
    int64_t step_x = k->stride[0] / (int64_t)dtype_size(x->type), step_dy = k->stride[1] / (int64_t)dtype_size(x->type);
    p.step_a = a == x ? step_x : step_dy, p.step_b = b == x ? step_x : step_dy;
    bool own = sums->data && (b != dy || !p.m || !p.n); /* else the product computes the sums, too */
    for (int64_t i = 0; i < p.batch && own; i++) {
        view from = *dy, to = *sums;
        from.data = (char *)dy->data + i * k->stride[1], to.data = (char *)sums->data + i * k->stride[3];
        if (sum_columns(&from, &to, e)) return -1;
    }
    if (!own) p.sums = sums->data;
    return launched(gpu_product(&p), e);
}

/* ---- MATMUL ---- */

/* Can the two axes be joined to one with equal steps? */
static bool uniform(const int64_t step[4], const int64_t n[2])
{
    return n[0] == 1 || n[1] == 1 || step[0] == n[1] * step[1];
}

int cuda_MATMUL(const call *k, err *e)
{
    const view *a = &k->i.MATMUL.a, *b = &k->i.MATMUL.b, *c = &k->o.MATMUL.y;
    if (want_types(k, "ff", "f", e) || want_factors(k, e)) return -1;
    int turn_a = k->a.MATMUL.transpose_a != 0, turn_b = k->a.MATMUL.transpose_b != 0;
    product p = product_of(a, b, c);
    p.m = c->dim[2], p.n = c->dim[3], p.k = a->dim[turn_a ? 2 : 3];
    p.turn_a = turn_a, p.turn_b = turn_b, p.exact = k->batch_invariant;
    if (!count_of(c)) return 0;
    int64_t n[2] = {c->dim[0], c->dim[1]}, sa[4], sb[4], sc[4];
    strides_of(a, sa), strides_of(b, sb), strides_of(c, sc);
    if (b->dim[0] == 1 && b->dim[1] == 1 &&
        !turn_a) { /* b has no batch: one product with the rows of all of a's batch */
        p.m *= n[0] * n[1], p.batch = 1;
        return launched(gpu_product(&p), e);
    }
    if (uniform(sa, n) && uniform(sb, n) && uniform(sc, n)) {
        int axis = n[1] > 1;
        p.batch = n[0] * n[1], p.step_a = sa[axis], p.step_b = sb[axis], p.step_c = sc[axis];
        return launched(gpu_product(&p), e);
    }
    int many = n[1] >= n[0], few = !many; /* one batched call along the longer axis; a loop over the other axis */
    p.batch = n[many], p.step_a = sa[many], p.step_b = sb[many], p.step_c = sc[many];
    for (int64_t i = 0; i < n[few]; i++) {
        p.a = (const float *)a->data + i * sa[few];
        p.b = (const float *)b->data + i * sb[few];
        p.c = (float *)c->data + i * sc[few];
        if (gpu_product(&p)) return launched(-1, e);
    }
    return 0;
}
