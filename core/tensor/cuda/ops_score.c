/* ops_score.c - ATTEND_PROGRAM, ATTEND_PROGRAM_STEP and ATTEND_PROGRAM_BACK: converts calls to arguments of score.h's
 * launchers. Gradients of leaves: tiles of queries compute partial sums, which are then added in order. */
#include "tensor/cuda/ops.h"
#include "tensor/cuda/ops_attention.h"
#include "tensor/cuda/score_program.h"

static void load_leaves(const call *k, gpu_score *f)
{
    const score_program *p = k->call_attr;
    for (int i = 0; i < f->n_leaves; i++) {
        const view *v = &k->i.ATTEND_PROGRAM.leaf[i];
        int64_t step[4];
        strides_of(v, step);
        f->leaf[i] = (gpu_score_leaf){.at = v->data,
                                      .sentence = step[0],
                                      .head = step[1],
                                      .query = step[2],
                                      .key = (int)step[3],
                                      .gathered = p->gathered[i],
                                      .of_sentence = v->dim[0] > 1,
                                      .of_query = v->dim[2] > 1};
    }
}

static int unpack_program(const call *k, gpu_score *f, err *e)
{
    const view *ids = &k->i.ATTEND_PROGRAM.ids;
    for (int i = 0; i < SCORE_LEAVES; i++) {
        const view *v = &k->i.ATTEND_PROGRAM.leaf[i];
        if (v->data && v->type != F32)
            return fail(e, "attention on the GPU: inputs of the score program are %s, expected f32",
                        dtype_name(v->type));
    }
    gpu_score_of(k->call_attr, f);
    load_leaves(k, f);
    f->ids = ids->data, f->ids_row = ids->dim[3];
    return 0;
}

static int unpack(const call *k, gpu_attention *a, gpu_score *f, err *e)
{
    return cuda_attention(k, a, e) || unpack_program(k, f, e) ? -1 : 0;
}

static void set_counts(gpu_score *f, const view *z)
{
    f->counts_row = z->dim[3], f->counts_head = z->dim[2] * z->dim[3];
}

int cuda_ATTEND_PROGRAM(const call *k, err *e)
{
    gpu_attention a;
    gpu_score f;
    const view *z = &k->o.ATTEND_PROGRAM.z;
    if (unpack(k, &a, &f, e)) return -1;
    a.y = columns_of(&k->o.ATTEND_PROGRAM.y, 0);
    a.lse = k->o.ATTEND_PROGRAM.lse.data;
    if (z->data && bytes_of(z)) {
        set_counts(&f, z);
        f.counts = z->data;
        gpu_zero(z->data, bytes_of(z));
    }
    return launched(attend_tables_find(k, &a) || gpu_ATTEND_PROGRAM(&a, &f), e);
}

int cuda_ATTEND_PROGRAM_STEP(const call *k, err *e)
{
    gpu_attention_step a;
    gpu_score f;
    const view *z = &k->o.ATTEND_PROGRAM_STEP.z;
    if (cuda_attention_step(k, &a, e) || unpack_program(k, &f, e)) return -1;
    if (z->data && bytes_of(z)) set_counts(&f, z), f.counts = z->data;
    float *scores = gpu_scratch(SCRATCH_SCORE, (size_t)(a.rows * a.heads * a.capacity) * sizeof *scores);
    return launched(gpu_ATTEND_PROGRAM_STEP(&a, &f, scores), e);
}

/* ---- gradients of leaves ---- */

/* The partial sums of leaf i's gradient, by tiles of queries: [sentences or chunks, H, Tq or tiles, Tk or n or 1]. */
static view parts_of(const call *k, const gpu_score *f, int i, int chunks)
{
    const view *v = &k->i.ATTEND_PROGRAM_BACK.leaf[i];
    return (view){.type = F32,
                  .param = -1,
                  .dim = {v->dim[0] > 1 ? v->dim[0] : chunks, k->a.ATTEND.heads, v->dim[2] > 1 ? v->dim[2] : f->tiles,
                          v->dim[3]}};
}
static bool is_result(const call *k, int i, const view *parts)
{
    return !memcmp(parts->dim, k->i.ATTEND_PROGRAM_BACK.leaf[i].dim, sizeof parts->dim);
}

/* Chooses as many chunks as keep a GPU busy, while their partial sums stay small. */
static void choose_chunks(const call *k, gpu_score *f, int64_t sentences)
{
    enum { MOST_CHUNKS = 128, MOST_NUMBERS = 1 << 23 };
    int64_t largest = 1;
    f->tiles = (int)((k->a.ATTEND.most_queries + GPU_SCORE_TILE - 1) / GPU_SCORE_TILE);
    if (f->tiles < 1) f->tiles = 1;
    for (int i = 0; i < f->n_leaves; i++) {
        view one = parts_of(k, f, i, 1);
        if (k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data && k->i.ATTEND_PROGRAM_BACK.leaf[i].dim[0] == 1 &&
            count_of(&one) > largest)
            largest = count_of(&one);
    }
    int64_t n = MOST_NUMBERS / largest;
    if (n > MOST_CHUNKS) n = MOST_CHUNKS;
    if (n > sentences + 1) n = sentences + 1;
    f->chunks = n < 1 ? 1 : (int)n;
}

static void open_sums(const call *k, gpu_score *f, view *parts, size_t queries) /* queries: over all heads */
{
    size_t before = (3 * queries * sizeof(float) + 255) / 256 * 256, bytes = before;
    for (int i = 0; i < f->n_leaves; i++) {
        parts[i] = parts_of(k, f, i, f->chunks);
        if (k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data && !is_result(k, i, &parts[i]))
            bytes += (bytes_of(&parts[i]) + 255) / 256 * 256;
    }
    char *at = gpu_scratch(SCRATCH_SCORE, bytes);
    f->terms = (float *)at;
    f->delta = f->terms + 2 * queries;
    at += before;
    for (int i = 0; i < f->n_leaves; i++) {
        void *result = k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data;
        if (!result) continue;
        parts[i].data = is_result(k, i, &parts[i]) ? result : at;
        if (parts[i].data == at) at += (bytes_of(&parts[i]) + 255) / 256 * 256;
        gpu_zero(parts[i].data, bytes_of(&parts[i]));
        gpu_score_leaf *l = &f->leaf[i];
        const int64_t *d = parts[i].dim;
        l->sum = parts[i].data, l->line = d[3], l->sum_head = d[2] * d[3], l->part = d[1] * d[2] * d[3];
    }
}

static int finish_leaves(const call *k, const gpu_score *f, const view *parts, err *e)
{
    for (int i = 0; i < f->n_leaves; i++) {
        call sum = {
            .op = OP_SUM_TO, .n_in = 1, .n_out = 1, .in = {parts[i]}, .out = {k->o.ATTEND_PROGRAM_BACK.d_leaf[i]}};
        if (sum.out[0].data && sum.out[0].data != parts[i].data && cuda_SUM_TO(&sum, e)) return -1;
    }
    return 0;
}

int cuda_ATTEND_PROGRAM_BACK(const call *k, err *e)
{
    gpu_attention a;
    gpu_score f;
    view parts[SCORE_LEAVES] = {{0}};
    if (unpack(k, &a, &f, e)) return -1;
    const view *dz = &k->i.ATTEND_PROGRAM_BACK.dz;
    a.y = columns_of(&k->i.ATTEND_PROGRAM_BACK.y, 0);
    a.lse = k->i.ATTEND_PROGRAM_BACK.lse.data;
    a.dy = columns_of(&k->i.ATTEND_PROGRAM_BACK.dy, 0);
    cuda_attention_gradients(k, &a);
    if (dz->data && bytes_of(dz)) {
        set_counts(&f, dz);
        f.dz = dz->data, f.z = k->i.ATTEND_PROGRAM_BACK.z.data;
    }
    bool sums = false;
    for (int i = 0; i < f.n_leaves; i++)
        sums |= k->o.ATTEND_PROGRAM_BACK.d_leaf[i].data && bytes_of(&k->o.ATTEND_PROGRAM_BACK.d_leaf[i]);
    if (sums) choose_chunks(k, &f, a.sentences);
    open_sums(k, &f, parts, (size_t)(a.rows * a.heads));
    return launched(attend_tables_find(k, &a) || gpu_ATTEND_PROGRAM_BACK(&a, &f), e) || finish_leaves(k, &f, parts, e)
               ? -1
               : 0;
}
