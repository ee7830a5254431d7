/* ops_rows.c - NORM, NORM_BACK, DROPOUT_ADD, COLUMN_SUM, EMBED_TOKENS, EMBED_TOKENS_BACK and CE on the GPU: calls
 * unpacked for rows.h. */
#include "tensor/cuda/generic.h"
#include "tensor/cuda/ops.h"
#include "tensor/cuda/rows.h"

/* Rows must be F32 or BF16, and the views named beside them of the type expected. */
static int check_rows(const char *what, const view *rows, err *e)
{
    if (is_row_type(rows->type)) return 0;
    return fail(e, "%s: rows of %s, expected fp32 or bf16", what, dtype_name(rows->type));
}
static int check_type(const char *what, const view *v, dtype type, err *e)
{
    if (!v->data || v->type == type) return 0;
    return fail(e, "%s is %s, expected %s", what, dtype_name(v->type), dtype_name(type));
}
/* Kernels have a block a row or so: a grid has less than 2^31. */
static int check_count(const char *what, int64_t rows, err *e)
{
    return rows <= INT32_MAX ? 0 : fail(e, "%s: %lld rows, expected at most 2147483647", what, (long long)rows);
}

static gpu_dropping dropping_of(const call *k, double p, int64_t place)
{
    if (!k->training) p = 0;
    return (gpu_dropping){
        .place = (unsigned)place, .least = (unsigned)(p * 65536), .scale = p > 0 ? (float)(1 / (1 - p)) : 1};
}

int cuda_NORM(const call *k, err *e)
{
    const view *x = &k->i.NORM.x, *s = &k->i.NORM.s, *gain = &k->i.NORM.gain, *bias = &k->i.NORM.bias,
               *stats = &k->o.NORM.stats;
    if (check_rows("norm", x, e) || check_type("norm: the sublayer's result", s, x->type, e) ||
        check_type("norm: the gain", gain, F32, e) || check_type("norm: the bias", bias, F32, e) ||
        check_type("norm: the statistics", stats, F32, e) || check_count("norm", rows_of(x), e))
        return -1;
    return launched(gpu_NORM((int)x->type, rows_of(x), width_of(x), x->data, s->data, gain->data, bias->data,
                             k->o.NORM.y.data, s->data ? k->o.NORM.z.data : NULL, stats->data, (float)k->a.NORM.eps,
                             dropping_of(k, k->a.NORM.p, k->a.NORM.place)),
                    e);
}

int cuda_NORM_BACK(const call *k, err *e)
{
    const view *z = &k->i.NORM_BACK.z, *stats = &k->i.NORM_BACK.stats, *gain = &k->i.NORM_BACK.gain,
               *dy = &k->i.NORM_BACK.dy;
    if (check_rows("gradient of norm", z, e) || check_type("gradient of norm: dy", dy, z->type, e) ||
        check_type("gradient of norm: the gain", gain, F32, e) ||
        check_type("gradient of norm: the statistics", stats, F32, e) ||
        check_type("gradient of norm: d gain", &k->o.NORM_BACK.d_gain, F32, e) ||
        check_type("gradient of norm: d bias", &k->o.NORM_BACK.d_bias, F32, e) ||
        check_type("gradient of norm: sums of ds", &k->o.NORM_BACK.sums, F32, e) ||
        check_count("gradient of norm", rows_of(z), e))
        return -1;
    int64_t rows = rows_of(z), width = width_of(z);
    float *sums = gpu_scratch(SCRATCH_SUMS, gpu_norm_sums(rows, width));
    return launched(gpu_NORM_BACK((int)z->type, rows, width, z->data, stats->data, gain->data, dy->data,
                                  k->o.NORM_BACK.dz.data, k->a.NORM.has_sublayer ? k->o.NORM_BACK.ds.data : NULL,
                                  k->o.NORM_BACK.d_gain.data, k->o.NORM_BACK.d_bias.data, k->o.NORM_BACK.sums.data,
                                  dropping_of(k, k->a.NORM.p, k->a.NORM.place), sums),
                    e);
}

int cuda_DROPOUT_ADD(const call *k, err *e)
{
    const view *x = &k->i.DROPOUT_ADD.x, *s = &k->i.DROPOUT_ADD.s;
    if (check_rows("dropadd", x, e) || check_type("dropadd: the sublayer's result", s, x->type, e)) return -1;
    return launched(gpu_DROPOUT_ADD((int)x->type, count_of(x), x->data, s->data, k->o.DROPOUT_ADD.y.data,
                                    dropping_of(k, k->a.DROPOUT.p, k->a.DROPOUT.place)),
                    e);
}

int cuda_COLUMN_SUM(const call *k, err *e)
{
    const view *x = &k->i.COLUMN_SUM.x;
    if (check_rows("colsum", x, e) || check_type("colsum: the sums", &k->o.COLUMN_SUM.y, F32, e)) return -1;
    float *sums = gpu_scratch(SCRATCH_SUMS, gpu_column_sums(rows_of(x), width_of(x)));
    return launched(gpu_COLUMN_SUM((int)x->type, rows_of(x), width_of(x), x->data, k->o.COLUMN_SUM.y.data, sums), e);
}

int cuda_EMBED_TOKENS(const call *k, err *e)
{
    const view *table = &k->i.EMBED_TOKENS.table, *id = &k->i.EMBED_TOKENS.ids,
               *positions = &k->i.EMBED_TOKENS.positions, *place = &k->i.EMBED_TOKENS.position_ids,
               *y = &k->o.EMBED_TOKENS.y;
    if (check_rows("embedding", y, e) || check_type("embedding: the table", table, F32, e) ||
        check_type("embedding: ids", id, I32, e) || check_type("embedding: positions", positions, F32, e) ||
        check_type("embedding: places", place, I32, e))
        return -1;
    gpu_embedding g = {.type = (int)y->type,
                       .rows = rows_of(y),
                       .words = rows_of(table),
                       .width = width_of(y),
                       .n = rows_of(positions),
                       .table = table->data,
                       .positions = positions->data,
                       .id = id->data,
                       .place = place->data,
                       .by = (float)k->a.EMBED_TOKENS.scale,
                       .y = y->data,
                       .drop = dropping_of(k, k->a.EMBED_TOKENS.p, k->a.EMBED_TOKENS.place)};
    return launched(gpu_EMBED_TOKENS(&g), e);
}

int cuda_EMBED_TOKENS_BACK(const call *k, err *e)
{
    const view *base = &k->i.EMBED_TOKENS_BACK.base, *dy = &k->i.EMBED_TOKENS_BACK.dy,
               *id = &k->i.EMBED_TOKENS_BACK.ids, *sorted = &k->i.EMBED_TOKENS_BACK.sorted,
               *y = &k->o.EMBED_TOKENS_BACK.y;
    if (check_type("gradient of embedding: sorted ids", sorted, I32, e) || check_rows("gradient of embedding", dy, e) ||
        check_type("gradient of embedding: the base", base, F32, e) ||
        check_type("gradient of embedding: the sums", y, F32, e) ||
        check_type("gradient of embedding: ids", id, I32, e))
        return -1;
    if (base->data && base->data != y->data) gpu_copy(y->data, base->data, (size_t)count_of(y) * sizeof(float));
    return launched(gpu_sum_rows_by_id(y->data, base->data != NULL, dy->data, (int)dy->type, id->data, sorted->data,
                                       rows_of(dy), rows_of(y), width_of(y), (float)k->a.EMBED_TOKENS.scale),
                    e);
}

int cuda_CE(const call *k, err *e)
{
    const view *x = &k->i.CE.logits, *target = &k->i.CE.targets, *norm = &k->i.CE.norm, *losses = &k->o.CE.losses;
    if (check_rows("cross-entropy", x, e) || check_type("cross-entropy: targets", target, I32, e) ||
        check_type("cross-entropy: norm", norm, F32, e) || check_type("cross-entropy: losses", losses, F32, e) ||
        check_type("cross-entropy: the gradient", &k->o.CE.d_logits, k->a.CE.gradient ? x->type : k->o.CE.d_logits.type,
                   e) ||
        check_count("cross-entropy", rows_of(x), e))
        return -1;
    int64_t words = width_of(x) - k->a.CE.padding;
    double eps = k->a.CE.smoothing,
           others = k->a.CE.others ? eps / (double)(words > 1 ? words - 1 : 1) : eps / (double)words;
    double on = 1 - eps - (k->a.CE.others ? others : 0);
    return launched(gpu_CE((int)x->type, rows_of(x), words, width_of(x), x->data, target->data, norm->data,
                           losses->data, k->a.CE.gradient ? k->o.CE.d_logits.data : NULL, (float)on, (float)others),
                    e);
}
