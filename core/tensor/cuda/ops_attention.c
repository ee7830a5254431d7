/* ops_attention.c - ATTEND, ATTEND_BACK, ATTEND_STEP: converts calls to arguments of attention.h's launchers. */
#include "tensor/cuda/ops_attention.h"
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "tensor/cuda/ops.h"

/* Checks the limits of all kernels here: type of the rows, widths of the heads, `blocks` in one launch. */
static int check_shape(const call *k, int64_t blocks, err *e)
{
    dtype t = k->i.ATTEND.q.type;
    int64_t heads = k->a.ATTEND.heads, d_k = k->a.ATTEND.d_k, d_v = k->a.ATTEND.d_v;
    if (!is_row_type(t)) return fail(e, "attention on the GPU: rows are %s, expected f32 or bf16", dtype_name(t));
    if (d_k < 1 || d_v < 1 || d_k > ATTEND_WIDEST || d_v > ATTEND_WIDEST)
        return fail(e, "attention on the GPU: heads of width d_k %lld and d_v %lld, expected 1 to %d", (long long)d_k,
                    (long long)d_v, ATTEND_WIDEST);
    if (heads < 1 || blocks > INT32_MAX)
        return fail(e, "attention on the GPU: %lld heads and %lld rows are too many for one launch", (long long)heads,
                    (long long)rows_of(&k->i.ATTEND.q));
    return 0;
}

int cuda_attention(const call *k, gpu_attention *a, err *e)
{
    const attr *t = &k->a;
    int64_t rows = rows_of(&k->i.ATTEND.q), keys = rows_of(&k->i.ATTEND.k),
            sentences = k->i.ATTEND.q_offsets.dim[3] - 1;
    /* at most one block per tile of 16 rows and 64 columns, on both sides */
    if (check_shape(k, 2 * ((rows > keys ? rows : keys) / 16 + sentences + 2) * t->ATTEND.heads * (ATTEND_WIDEST / 64),
                    e))
        return -1;
    *a = (gpu_attention){.type = k->i.ATTEND.q.type,
                         .heads = (int)t->ATTEND.heads,
                         .d_k = (int)t->ATTEND.d_k,
                         .d_v = (int)t->ATTEND.d_v,
                         .sentences = (int)sentences,
                         .rows = (int)rows,
                         .keys = (int)keys,
                         .causal = t->ATTEND.causal != 0,
                         .scale = (float)t->ATTEND.scale,
                         .drop = dropping_of(k, t->ATTEND.p, t->ATTEND.place),
                         .q_off = k->i.ATTEND.q_offsets.data,
                         .k_off = k->i.ATTEND.k_offsets.data,
                         .q = columns_of(&k->i.ATTEND.q, t->ATTEND.q_column),
                         .k = columns_of(&k->i.ATTEND.k, t->ATTEND.k_column),
                         .v = columns_of(&k->i.ATTEND.v, t->ATTEND.v_column)};
    return 0;
}

/* ---- choosing an implementation ---- */

bool attention_by_wgmma(const call *k)
{
    enum { LONG = 256 };
    static bool said;
    gpu_attention a;
    err e = {{0}};
    if (k->op != OP_ATTEND || k->batch_invariant || attention_wish(&e) != ATTEND_WGMMA ||
        (k->a.ATTEND.most_queries < LONG && k->a.ATTEND.most_keys < LONG) || cuda_attention(k, &a, &e))
        return false;
    a.y = columns_of(&k->o.ATTEND.y, 0);
    bool fits = a.type == BF16 && a.d_k == a.d_v && (a.d_k == 64 || a.d_k == 128) && a.keys > 0 && rows_fit(&a);
    if (!fits && !said)
        log_line(LOG_WARN,
                 "ABLATE_ATTENTION=wgmma: attention over long sentences runs on our other kernels: %s rows, heads of "
                 "width d_k %d and d_v %d, expected bf16, 64 or 128 for both, and rows at multiples of 16 bytes",
                 dtype_name(a.type), a.d_k, a.d_v);
    said |= !fits;
    return fits;
}

static int attend_by_wgmma(const call *k, gpu_attention *a, err *e)
{
    int capability = gpu_capability();
    if (capability != 90)
        return fail(e, "ABLATE_ATTENTION=wgmma: this GPU has compute capability %d.%d, expected 9.0", capability / 10,
                    capability % 10);
    dnn_attend_count_wgmma();
    return launched(attend_tables_find(k, a) || gpu_ATTEND_WGMMA(a), e);
}

int cuda_ATTEND(const call *k, err *e)
{
    gpu_attention a;
    if (cuda_attention(k, &a, e)) return -1;
    a.y = columns_of(&k->o.ATTEND.y, 0);
    a.lse = k->o.ATTEND.lse.data;
    attend_extent x = {.queries = k->a.ATTEND.most_queries, .keys = k->a.ATTEND.most_keys};
    for (int i = 0; i < 2; i++) x.clear[i].at = k->out[i].data, x.clear[i].bytes = bytes_of(&k->out[i]);
    int rc =
        k->batch_invariant ? 1 : dnn_attend(&a, &x, false, e); /* with cuDNN a row's bits may depend on other rows */
    if (rc != 1) return rc;
    if (attention_by_wgmma(k)) return attend_by_wgmma(k, &a, e);
    return launched(attend_tables_find(k, &a) || gpu_ATTEND(&a), e);
}

/* Clears v if attention does not write all of its columns. */
static void zero_others(const view *v, int64_t written)
{
    if (written != v->dim[3] && bytes_of(v)) gpu_zero(v->data, bytes_of(v));
}

/* Returns the tensor that has dk and dv. */
static const view *name_gradients(const call *k, gpu_attention *a)
{
    const view *q = &k->o.ATTEND_BACK.dq, *kv = k->o.ATTEND_BACK.dkv.data ? &k->o.ATTEND_BACK.dkv : q;
    a->dq = columns_of(q, k->a.ATTEND.q_column);
    a->dk = columns_of(kv, k->a.ATTEND.k_column);
    a->dv = columns_of(kv, k->a.ATTEND.v_column);
    return kv;
}

void cuda_attention_gradients(const call *k, gpu_attention *a)
{
    const view *q = &k->o.ATTEND_BACK.dq, *kv = name_gradients(k, a);
    int64_t q_width = k->a.ATTEND.heads * k->a.ATTEND.d_k,
            kv_width = k->a.ATTEND.heads * (k->a.ATTEND.d_k + k->a.ATTEND.d_v);
    zero_others(q, kv == q ? q_width + kv_width : q_width);
    if (kv != q) zero_others(kv, kv_width);
}

int cuda_ATTEND_BACK(const call *k, err *e)
{
    gpu_attention a;
    if (cuda_attention(k, &a, e)) return -1;
    const view *q = &k->o.ATTEND_BACK.dq, *kv = name_gradients(k, &a);
    a.y = columns_of(&k->i.ATTEND_BACK.y, 0);
    a.lse = k->i.ATTEND_BACK.lse.data;
    a.dy = columns_of(&k->i.ATTEND_BACK.dy, 0);
    attend_extent x = {
        .queries = k->a.ATTEND.most_queries, .keys = k->a.ATTEND.most_keys, .clear = {{q->data, bytes_of(q)}}};
    if (kv != q) x.clear[1].at = kv->data, x.clear[1].bytes = bytes_of(kv);
    int rc = dnn_attend(&a, &x, true, e);
    if (rc != 1) return rc;
    cuda_attention_gradients(k, &a);
    return launched(attend_tables_find(k, &a) || gpu_ATTEND_BACK(&a), e);
}

int cuda_attention_step(const call *k, gpu_attention_step *a, err *e)
{
    const attr *t = &k->a;
    int64_t rows = rows_of(&k->i.ATTEND_STEP.qkv);
    if (check_shape(k, rows * t->ATTEND.heads, e)) return -1;
    if (k->i.ATTEND_STEP.time.dim[3] != 1) return no_kernel(k, e);
    *a = (gpu_attention_step){.type = k->i.ATTEND_STEP.qkv.type,
                              .rows = (int)rows,
                              .heads = (int)t->ATTEND.heads,
                              .d_k = (int)t->ATTEND.d_k,
                              .d_v = (int)t->ATTEND.d_v,
                              .capacity = k->i.ATTEND_STEP.cache.dim[2],
                              .scale = (float)t->ATTEND.scale,
                              .qkv = k->i.ATTEND_STEP.qkv.data,
                              .cache = k->i.ATTEND_STEP.cache.data,
                              .y = k->o.ATTEND_STEP.y.data,
                              .ancestors = k->i.ATTEND_STEP.ancestors.data,
                              .time = k->i.ATTEND_STEP.time.data};
    return 0;
}

int cuda_ATTEND_STEP(const call *k, err *e)
{
    gpu_attention_step a;
    return cuda_attention_step(k, &a, e) ? -1 : launched(gpu_ATTEND_STEP(&a), e);
}
