/* dnn_attend.c - attention on packed rows by cuDNN, for long sentences, which fill its tiles of 128 x 128.
 *
 * The graphs are the ones that cuDNN knows as flash attention (its documentation, "Scaled Dot-Product Attention"):
 * scores, scale, padding, causal mask, softmax, product; the backward pass computes the weights again from the
 * log-sum-exp. Our own kernels write the same log-sum-exp, so cuDNN and our kernels can compute one pass each. A plan
 * is kept per shape, and also the fact that cuDNN has none. Rows are bf16, without dropout (cuDNN would draw other bits
 * than the CPU). The backward pass is the variant that sums in a fixed order; its working memory is [sentences, heads,
 * queries, keys], hence WORKSPACE_MOST. */
#include "tensor/cuda/cudnn/dnn_attend.h"
#include <stdlib.h>

static dnn_attend_count count;
static int by_cudnn(const gpu_attention *a, const attend_extent *x, attend_wish wish, bool backward, err *e);
dnn_attend_count dnn_attend_counts(void) { return count; }
void dnn_attend_count_wgmma(void) { count.wgmma++; }

attend_wish attention_wish(err *e)
{
    static const char *const words[ATTEND_WISHES] = {"auto", "own", "cudnn", "wgmma"};
    const char *text = getenv("ABLATE_ATTENTION");
    if (!text || !*text) return ATTEND_AUTO;
    for (int i = 0; i < ATTEND_WISHES; i++)
        if (same(text, words[i])) return (attend_wish)i;
    fail(e, "ABLATE_ATTENTION=%s: expected own, cudnn, wgmma or auto", text);
    return ATTEND_OWN;
}

int dnn_attend(const gpu_attention *a, const attend_extent *x, bool backward, err *e)
{
    attend_wish wish = attention_wish(e);
    int rc = e->text[0] ? -1 : by_cudnn(a, x, wish, backward, e);
    count.library += !rc, count.own += rc == 1;
    return rc;
}

#ifdef HAVE_CUDNN
#include "tensor/cuda/cudnn/dnn.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/services.h"
#include <math.h>
#include <string.h>

enum {
    LONG = 128 /* rows of a tile */,
    WIDEST = 256,
    WORKSPACE_MOST = 1 << 30,
    BESIDE = 3 /* lists of sentences for tensors that are not rows */
};

/* ---- the choice ---- */

/* Is cuDNN selected? "cudnn": wherever cuDNN can compute. "auto", the default: if the tape has room for LONG rows per
 * sentence on average, because in short sentences most of cuDNN's tiles would be empty. */
static bool wanted(const gpu_attention *a, attend_wish wish)
{
    int64_t rows = a->rows > a->keys ? a->rows : a->keys;
    return wish == ATTEND_AUTO ? rows >= (int64_t)LONG * a->sentences : wish == ATTEND_CUDNN;
}

/* The tensors of rows. Those of the forward pass come first. */
enum { Q, K, V, Y, DY, DQ, DK, DV, FORWARD = Y + 1, BACKWARD = DV + 1 };
static bool is_of_keys(int i) { return i == K || i == V || i == DK || i == DV; }
static bool is_of_values(int i) { return i == V || i == Y || i == DY || i == DV; }
static const gpu_columns *columns(const gpu_attention *a, int i)
{
    const gpu_columns *all[BACKWARD] = {&a->q, &a->k, &a->v, &a->y, &a->dy, &a->dq, &a->dk, &a->dv};
    return all[i];
}

static bool can_take(const gpu_attention *a, const attend_extent *x)
{
    for (int i = 0; i < BACKWARD; i++)
        if (columns(a, i)->stride * (int64_t)(a->rows > a->keys ? a->rows : a->keys) > INT32_MAX) return false;
    return a->type == BF16 && rows_fit(a) && !a->drop.least && a->d_k % 16 == 0 && a->d_v % 16 == 0 &&
           a->d_k <= WIDEST && a->d_v <= WIDEST && a->sentences > 0 && x->queries > 0 && x->keys > 0;
}

/* ---- graphs ---- */

typedef struct { /* zeroed before it is filled in: compared as bytes */
    int64_t sentences, heads, queries, keys, d_k, d_v;
    int64_t stride[BACKWARD]; /* 0: the tensor is absent */
    float scale;
    int32_t causal;
} shape_key;

typedef struct {
    shape_key key;
    bool refused;
    dnn_graph *graph;
    /* the graph's tensors: rows, their offsets, and others */
    dnn_tensor rows[BACKWARD], off[BACKWARD], lse, off_lse, sums, queries, keys;
} plan;
static plan *plans;
static size_t n_plans, plans_cap;

static dnn_tensor numbers(plan *p, int64_t n)
{
    return dnn_given(p->graph, CUDNN_DATA_INT32, (dnn_shape){{n, 1, 1, 1}, {1, 1, 1, 1}}, 0);
}
/* Transposes the last two axes, as products need their second factor. */
static dnn_shape turned(dnn_shape s)
{
    return (dnn_shape){{s.dim[0], s.dim[1], s.dim[3], s.dim[2]}, {s.stride[0], s.stride[1], s.stride[3], s.stride[2]}};
}
static dnn_shape rows_shape(const shape_key *k, int i)
{
    int64_t n = is_of_keys(i) ? k->keys : k->queries, width = is_of_values(i) ? k->d_v : k->d_k, step = k->stride[i];
    return (dnn_shape){{k->sentences, k->heads, n, width}, {n * step, width, step, 1}};
}
static void describe_rows(plan *p, int i, dnn_shape s)
{
    p->off[i] = numbers(p, p->key.sentences + 1);
    p->rows[i] = dnn_given(p->graph, CUDNN_DATA_BFLOAT16, s, p->off[i]);
}
/* [B,H,Tq,1] stored as [rows, heads] */
static dnn_tensor per_query(plan *p)
{
    dnn_shape s = {{p->key.sentences, p->key.heads, p->key.queries, 1},
                   {p->key.queries * p->key.heads, 1, p->key.heads, 1}};
    return dnn_given(p->graph, CUDNN_DATA_FLOAT, s, p->off_lse);
}
/* The shape of weights [B,H,Tq,Tk]. */
static dnn_shape weights_shape(const shape_key *k)
{
    return (dnn_shape){{k->sentences, k->heads, k->queries, k->keys},
                       {k->heads * k->queries * k->keys, k->queries * k->keys, k->keys, 1}};
}

static void describe_inputs(plan *p)
{
    const shape_key *k = &p->key;
    p->queries = numbers(p, k->sentences);
    p->keys = numbers(p, k->sentences);
    p->off_lse = numbers(p, k->sentences + 1);
    p->lse = per_query(p);
    describe_rows(p, Q, rows_shape(k, Q));
    describe_rows(p, K, turned(rows_shape(k, K)));
}

static dnn_tensor scaled_scores(plan *p)
{
    dnn_graph *g = p->graph;
    dnn_tensor s = dnn_product(g, p->rows[Q], p->rows[K], p->queries, p->keys, 0, 0);
    return dnn_map(g, CUDNN_POINTWISE_MUL, s, dnn_number(g, p->key.scale), 0);
}
static dnn_tensor hide_padding(plan *p, dnn_tensor s)
{
    dnn_graph *g = p->graph;
    dnn_tensor row = dnn_index(g, s, 2), column = dnn_index(g, s, 3);
    dnn_tensor a = dnn_compare(g, CUDNN_POINTWISE_CMP_LT, row, p->queries),
               b = dnn_compare(g, CUDNN_POINTWISE_CMP_LT, column, p->keys);
    return dnn_select(g, dnn_compare(g, CUDNN_POINTWISE_LOGICAL_AND, a, b), s, dnn_number(g, -INFINITY));
}
static dnn_tensor hide_future(plan *p, dnn_tensor s)
{
    dnn_graph *g = p->graph;
    if (!p->key.causal) return s;
    dnn_tensor row = dnn_index(g, s, 2), column = dnn_index(g, s, 3);
    return dnn_select(g, dnn_compare(g, CUDNN_POINTWISE_CMP_GE, row, column), s, dnn_number(g, -INFINITY));
}

static void describe_forward(plan *p)
{
    const shape_key *k = &p->key;
    dnn_graph *g = p->graph;
    describe_inputs(p);
    describe_rows(p, V, rows_shape(k, V));
    describe_rows(p, Y, rows_shape(k, Y));
    dnn_tensor s = hide_future(p, hide_padding(p, scaled_scores(p)));
    dnn_tensor most = dnn_reduce(g, CUDNN_REDUCE_TENSOR_MAX, s, 0);
    dnn_tensor e = dnn_map(g, CUDNN_POINTWISE_EXP, dnn_map(g, CUDNN_POINTWISE_SUB, s, most, 0), 0, 0);
    dnn_tensor sum = dnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, e, 0);
    dnn_map(g, CUDNN_POINTWISE_ADD, most, dnn_map(g, CUDNN_POINTWISE_LOG, sum, 0, 0), p->lse);
    dnn_tensor w = dnn_map(g, CUDNN_POINTWISE_DIV, e, sum, dnn_inner(g, CUDNN_DATA_BFLOAT16, weights_shape(k), 0));
    dnn_product(g, w, p->rows[V], p->queries, 0, p->keys, p->rows[Y]);
}

/* dV = P' dY; dP = dY V'; dS = scale P (dP - rows' sums of dY Y); dK = dS' Q; dQ = dS K */
static void describe_backward(plan *p)
{
    const shape_key *k = &p->key;
    dnn_graph *g = p->graph;
    describe_inputs(p);
    describe_rows(p, V, turned(rows_shape(k, V)));
    for (int i = Y; i < BACKWARD; i++) describe_rows(p, i, rows_shape(k, i));
    p->sums = per_query(p);

    dnn_tensor dy = p->rows[DY];
    dnn_tensor both = dnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, dnn_map(g, CUDNN_POINTWISE_MUL, dy, p->rows[Y], 0), 0);
    dnn_map(g, CUDNN_POINTWISE_MUL, both, dnn_number(g, 1), p->sums);

    dnn_tensor s = hide_padding(p, scaled_scores(p));
    dnn_tensor w = dnn_map(g, CUDNN_POINTWISE_EXP, hide_future(p, dnn_map(g, CUDNN_POINTWISE_SUB, s, p->lse, 0)), 0, 0);
    dnn_shape turn = turned(weights_shape(k));
    dnn_product(g, dnn_relayout(g, w, turn, 0), dy, p->keys, 0, p->queries, p->rows[DV]);

    dnn_tensor dp = dnn_product(g, dy, p->rows[V], p->queries, p->keys, 0, 0);
    dnn_tensor ds = dnn_map(g, CUDNN_POINTWISE_MUL, dnn_map(g, CUDNN_POINTWISE_SUB, dp, p->sums, 0), w, 0);
    ds = dnn_map(g, CUDNN_POINTWISE_MUL, ds, dnn_number(g, k->scale), 0);
    dnn_product(g, dnn_relayout(g, ds, turn, 0), p->rows[Q], p->keys, 0, p->queries, p->rows[DK]);
    dnn_tensor by_rows = dnn_relayout(g, p->rows[K], rows_shape(k, K), p->off[K]);
    dnn_product(g, ds, by_rows, p->queries, 0, p->keys, p->rows[DQ]);
}

/* ---- plans by shape ---- */

static int make_plan(plan *p, bool backward, const char *device, err *e)
{
    p->graph = dnn_graph_new();
    if (backward)
        describe_backward(p);
    else
        describe_forward(p);
    int rc = dnn_plan(p->graph, device, e);
    p->refused = rc == 1 || (rc == 0 && dnn_workspace(p->graph) > WORKSPACE_MOST);
    if (!p->refused && rc == 0) return 0;
    dnn_graph_free(p->graph);
    p->graph = NULL;
    return rc < 0 ? -1 : 1;
}

static shape_key key_of(const gpu_attention *a, const attend_extent *x, bool backward)
{
    shape_key k;
    memset(&k, 0, sizeof k);
    k.sentences = a->sentences, k.heads = a->heads, k.queries = x->queries, k.keys = x->keys, k.d_k = a->d_k,
    k.d_v = a->d_v;
    for (int i = 0; i < (backward ? BACKWARD : FORWARD); i++) k.stride[i] = columns(a, i)->stride;
    k.scale = a->scale;
    k.causal = a->causal;
    return k;
}

/* The shape's plan; NULL if cuDNN has none, or after an error. */
static plan *find_plan(const gpu_attention *a, const attend_extent *x, bool backward, err *e)
{
    shape_key key = key_of(a, x, backward);
    for (size_t i = 0; i < n_plans; i++)
        if (!memcmp(&plans[i].key, &key, sizeof key)) return plans[i].refused ? NULL : &plans[i];
    plan p = {.key = key};
    int rc = make_plan(&p, backward, NULL, e);
    if (rc < 0) return NULL;
    plans = grow(plans, &plans_cap, n_plans + 1, sizeof *plans);
    plans[n_plans++] = p;
    return rc ? NULL : &plans[n_plans - 1];
}

void dnn_attend_close(void)
{
    for (size_t i = 0; i < n_plans; i++) dnn_graph_free(plans[i].graph);
    free(plans);
    plans = NULL;
    n_plans = plans_cap = 0;
    count = (dnn_attend_count){0};
}

/* ---- running ---- */

/* Writes the lists of sentences that the graph's tensors need to `at`, one after another, `one` bytes each. */
static int list_sentences(const gpu_attention *a, plan *p, int n_rows, char *at, size_t one)
{
    const dnn_tensor beside[BESIDE] = {p->queries, p->keys, p->off_lse};
    ragged_list lists[BESIDE + BACKWARD];
    _Static_assert((int)LENGTH(lists) <= (int)RAGGED_MOST, "a list for every tensor, in one launch");
    for (int i = 0; i < BESIDE + n_rows; i++) {
        int r = i - BESIDE;
        int64_t by = r >= 0 ? columns(a, r)->stride : beside[i] == p->off_lse ? a->heads : 0;
        bool of_keys = r >= 0 ? is_of_keys(r) : beside[i] == p->keys;
        lists[i] = (ragged_list){of_keys ? a->k_off : a->q_off, by, (int32_t *)(at + (size_t)i * one)};
        dnn_at(p->graph, r >= 0 ? p->off[r] : beside[i], lists[i].to);
    }
    return gpu_ragged(a->sentences, BESIDE + n_rows, lists);
}

/* Reserves a part of a call's scratch memory and returns its start. */
static size_t part_of_scratch(size_t *used, size_t bytes)
{
    enum { ALIGNMENT = 256 };
    size_t at = *used;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static int run(const gpu_attention *a, plan *p, bool backward, err *e)
{
    int n = backward ? BACKWARD : FORWARD;
    size_t used = 0, one = 0;
    part_of_scratch(&one, (size_t)(a->sentences + 1) * sizeof(int32_t));
    part_of_scratch(&used, (size_t)(BESIDE + n) * one);
    size_t sums = part_of_scratch(&used, backward ? (size_t)a->rows * (size_t)a->heads * sizeof(float) : 0);
    size_t work = part_of_scratch(&used, dnn_workspace(p->graph));
    char *at = gpu_scratch(SCRATCH_DNN, used);
    if (list_sentences(a, p, n, at, one)) return launched(-1, e);
    for (int i = 0; i < n; i++) dnn_at(p->graph, p->rows[i], columns(a, i)->at);
    dnn_at(p->graph, p->lse, a->lse);
    dnn_at(p->graph, p->sums, at + sums);
    return dnn_run(p->graph, at + work, e);
}

/* Is cuDNN available? If not, logs once that long sentences use our own kernels. */
static bool is_there(attend_wish wish)
{
    static bool said;
    err why = {{0}};
    const dnn_functions *f = dnn_load(&why);
    if (f && (wish == ATTEND_CUDNN || f->cudnnGetVersion() >= DNN_BY_ITSELF)) return true;
    if (f) fail(&why, "%s, expected 9.25 or newer; ABLATE_ATTENTION=cudnn uses it", dnn_library());
    if (!said && !same(getenv("ABLATE_CUDNN"), "none"))
        log_line(LOG_WARN, "attention over long sentences runs on our own kernels: %s", why.text);
    said = true;
    return false;
}

static int by_cudnn(const gpu_attention *a, const attend_extent *x, attend_wish wish, bool backward, err *e)
{
    bool may = wanted(a, wish) && can_take(a, x) && is_there(wish);
    plan *p = may ? find_plan(a, x, backward, e) : NULL;
    if (!p) return e->text[0] ? -1 : 1;
    for (size_t i = 0; i < LENGTH(x->clear); i++)
        if (x->clear[i].bytes) gpu_zero(x->clear[i].at, x->clear[i].bytes);
    return run(a, p, backward, e);
}
#else
void dnn_attend_close(void) { count = (dnn_attend_count){0}; }
static int by_cudnn(const gpu_attention *a, const attend_extent *x, attend_wish wish, bool backward, err *e)
{
    (void)a, (void)x, (void)backward;
    if (wish != ATTEND_CUDNN) return 1;
    return fail(e, "ABLATE_ATTENTION=cudnn: this was built without cuDNN's header, expected own, wgmma or auto");
}
#endif
