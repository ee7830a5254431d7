/* test_attend.c - attention on packed rows against loops in double and finite differences; a sentence's bits do not
 * depend on the other sentences. */
#include "fused_case.h"
#include "tensor/graph/tape.h"

typedef struct {
    int64_t heads, d_k, d_v, n;
    int32_t q_len[8], k_len[8];
    bool self, causal;
    double p;
} shape;
typedef struct {
    shape s;
    int64_t q_rows, k_rows, longest, width;
    view q, kv, q_off, k_off, y, lse, dy, dq, dkv; /* self: q holds an unused column, then q, k and v; kv is q */
    call forward, back;
} attend_case;

static double times = 1; /* the scale is `times` / sqrt(the keys' width) */

static int64_t first_column(const shape *s) { return s->self ? 1 : 0; }

static attend_case attend_new(dtype type, const shape *s)
{
    attend_case c = {.s = *s};
    int32_t q_off[9] = {0}, k_off[9] = {0};
    for (int64_t b = 0; b < s->n; b++) {
        int32_t k_len = s->self ? s->q_len[b] : s->k_len[b];
        q_off[b + 1] = q_off[b] + s->q_len[b];
        k_off[b + 1] = k_off[b] + k_len;
        if (k_len > c.longest) c.longest = k_len;
    }
    c.q_rows = q_off[s->n] + 3, c.k_rows = s->self ? c.q_rows : k_off[s->n] + 2; /* dummy rows at the end */
    int64_t q_width = s->heads * s->d_k, kv_width = s->heads * (s->d_k + s->d_v), col = first_column(s);
    c.width = s->self ? col + q_width + kv_width : q_width;
    c.q = random_view(type, c.q_rows, c.width, 1);
    c.kv = s->self ? c.q : random_view(type, c.k_rows, kv_width, 2);
    c.q_off = ids_view(s->n + 1, q_off), c.k_off = ids_view(s->n + 1, k_off);
    c.y = random_view(type, c.q_rows, s->heads * s->d_v, 3), c.lse = random_view(sums_of(type), c.q_rows, s->heads, 4);
    c.dy = random_view(type, c.q_rows, s->heads * s->d_v, 5), c.dq = random_view(type, c.q_rows, c.width, 6);
    c.dkv = s->self ? (view){0} : random_view(type, c.k_rows, kv_width, 7);
    attr a = {.ATTEND = {.p = s->p,
                         .scale = times / sqrt((double)s->d_k),
                         .place = 21,
                         .q_column = col,
                         .k_column = s->self ? col + q_width : 0,
                         .v_column = s->self ? col + 2 * q_width : q_width,
                         .heads = s->heads,
                         .d_k = s->d_k,
                         .d_v = s->d_v,
                         .causal = s->causal,
                         .most_keys = c.longest}};
    c.forward = (call){.op = OP_ATTEND,
                       .n_in = 5,
                       .n_out = 2,
                       .in = {c.q, c.kv, c.kv, c.q_off, c.k_off},
                       .out = {c.y, c.lse},
                       .a = a,
                       .training = true,
                       .seed = 5,
                       .step = 6};
    c.back = (call){.op = OP_ATTEND_BACK,
                    .n_in = 8,
                    .n_out = 2,
                    .in = {c.q, c.kv, c.kv, c.q_off, c.k_off, c.y, c.lse, c.dy},
                    .out = {c.dq, c.dkv},
                    .a = a,
                    .training = true,
                    .seed = 5,
                    .step = 6};
    return c;
}
static void attend_free(attend_case *c)
{
    if (!c->s.self) free_views((view[]){c->kv, c->dkv}, 2);
    free_views((view[]){c->q, c->q_off, c->k_off, c->y, c->lse, c->dy, c->dq}, 7);
}

/* Dropout's factor of an element, by op.h: 0 or 1 / (1 - p). */
static double dropout_factor(double p, uint64_t element)
{
    uint64_t i = element / 8;
    uint32_t w[4];
    if (p == 0) return 1;
    philox((uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32), 21, 6}, (uint32_t[2]){5, 0}, w);
    uint32_t word = w[element % 8 / 2] >> (element % 2 * 16) & 0xffff;
    return word >= (uint32_t)floor(p * 65536) ? 1 / (1 - p) : 0;
}

static void by_loops(const attend_case *c, view *y, view *lse)
{
    const shape *s = &c->s;
    const attr *a = &c->forward.a;
    *y = new_view(F64, c->q_rows, s->heads * s->d_v), *lse = new_view(F64, c->q_rows, s->heads);
    double *p = xcalloc((size_t)c->longest + 1, sizeof *p), *keep = xcalloc((size_t)c->longest + 1, sizeof *keep);
    for (int64_t b = 0; b < s->n; b++)
        for (int64_t h = 0; h < s->heads; h++) {
            int64_t q0 = (int64_t)get(&c->q_off, b), q1 = (int64_t)get(&c->q_off, b + 1),
                    k0 = (int64_t)get(&c->k_off, b), k1 = (int64_t)get(&c->k_off, b + 1);
            for (int64_t r = q0; r < q1; r++) {
                int64_t n = s->causal && r - q0 + 1 < k1 - k0 ? r - q0 + 1 : k1 - k0;
                double sum = 0;
                for (int64_t j = 0; j < n; j++) {
                    double dot = 0;
                    for (int64_t i = 0; i < s->d_k; i++)
                        dot += get(&c->q, r * c->q.dim[3] + a->ATTEND.q_column + h * s->d_k + i) *
                               get(&c->kv, (k0 + j) * c->kv.dim[3] + a->ATTEND.k_column + h * s->d_k + i);
                    sum += p[j] = exp(dot * a->ATTEND.scale);
                    keep[j] = dropout_factor(s->p, (uint64_t)(r * s->heads + h) * ATTEND_KEYS + (uint64_t)j);
                }
                if (n) set(lse, r * s->heads + h, log(sum));
                for (int64_t i = 0; i < s->d_v; i++) {
                    double mix = 0;
                    for (int64_t j = 0; j < n; j++)
                        mix += p[j] / sum * keep[j] *
                               get(&c->kv, (k0 + j) * c->kv.dim[3] + a->ATTEND.v_column + h * s->d_v + i);
                    set(y, r * s->heads * s->d_v + h * s->d_v + i, mix);
                }
            }
        }
    free(p);
    free(keep);
}

static void check_zero_rows(const view *v, int64_t from)
{
    double sum = 0;
    for (int64_t i = from * v->dim[3]; i < count(v); i++) sum += fabs(get(v, i));
    CHECK_NEAR(sum, 0, 0);
}

static void check_attend(dtype type, const shape *s)
{
    attend_case c = attend_new(type, s);
    view y, lse;
    RUN(ATTEND, c.forward);
    by_loops(&c, &y, &lse);
    CHECK_ROWS(c.y, y, tolerance(type));
    CHECK_ROWS(c.lse, lse, type == F64 ? 1e-12 : type == F32 ? 1e-5 : 1e-2);
    check_zero_rows(&c.y, c.q_rows - 3);

    /* the gradient, compared with F64 from the same rounded inputs */
    RUN(ATTEND_BACK, c.back);
    attend_case exact = attend_new(F64, s);
    view qd = copy_as(&c.q, F64), kvd = s->self ? qd : copy_as(&c.kv, F64), dyd = copy_as(&c.dy, F64);
    exact.forward.in[0] = exact.back.in[0] = qd;
    for (int i = 1; i < 3; i++) exact.forward.in[i] = exact.back.in[i] = kvd;
    exact.back.in[7] = dyd;
    RUN(ATTEND, exact.forward);
    RUN(ATTEND_BACK, exact.back);
    CHECK_ROWS(c.dq, exact.dq, type == BF16 ? 3e-2 : tolerance(type));
    check_zero_rows(&c.dq, c.q_rows - 3);
    if (s->self) {
        double first = 0; /* the gradient of the unused column */
        for (int64_t r = 0; r < c.q_rows; r++) first += fabs(get(&c.dq, r * c.width));
        CHECK_NEAR(first, 0, 0);
    } else {
        CHECK_ROWS(c.dkv, exact.dkv, type == BF16 ? 3e-2 : tolerance(type));
        check_zero_rows(&c.dkv, c.k_rows - 2);
    }
    view y1 = copy_as(&c.y, type), dq1 = copy_as(&c.dq, type);
    RUN(ATTEND, c.forward);
    RUN(ATTEND_BACK, c.back);
    CHECK_SAME_BITS(c.y, y1);
    CHECK_SAME_BITS(c.dq, dq1);
    free_views((view[]){y, lse, qd, dyd, y1, dq1}, 6);
    if (!s->self) free(kvd.data);
    attend_free(&c);
    attend_free(&exact);
}

static double attend_loss(attend_case *c)
{
    double sum = 0;
    RUN(ATTEND, c->forward);
    for (int64_t i = 0; i < count(&c->y); i++) sum += get(&c->y, i) * get(&c->dy, i);
    return sum;
}
static void differ(attend_case *c, const view *x, const view *dx)
{
    const double h = 1e-5;
    for (int64_t i = 0; i < count(x); i++) {
        double old = get(x, i);
        set(x, i, old + h);
        double up = attend_loss(c);
        set(x, i, old - h);
        double slope = (up - attend_loss(c)) / (2 * h);
        set(x, i, old);
        CHECK_NEAR(get(dx, i), slope, 1e-6 * (1 + fabs(slope)));
    }
}
static void check_differences(const shape *s)
{
    attend_case c = attend_new(F64, s);
    for (int64_t i = (c.q_rows - 3) * c.dy.dim[3]; i < count(&c.dy); i++) set(&c.dy, i, 0);
    RUN(ATTEND, c.forward);
    RUN(ATTEND_BACK, c.back);
    differ(&c, &c.q, &c.dq);
    if (!s->self) differ(&c, &c.kv, &c.dkv);
    attend_free(&c);
}

/* most_keys and most_queries may exceed the longest sentences and change no bit, not even of dropout: so one tape can
 * serve batches of all lengths. */
static void check_bounds(dtype type)
{
    shape s = {.heads = 2, .d_k = 16, .d_v = 16, .n = 3, .q_len = {5, 37, 20}, .self = true, .causal = true, .p = 0.3};
    attend_case c = attend_new(type, &s);
    RUN(ATTEND, c.forward);
    RUN(ATTEND_BACK, c.back);
    view y = copy_as(&c.y, type), dq = copy_as(&c.dq, type);
    c.forward.a.ATTEND.most_keys = c.back.a.ATTEND.most_keys = 100;
    c.forward.a.ATTEND.most_queries = c.back.a.ATTEND.most_queries = 1000;
    RUN(ATTEND, c.forward);
    RUN(ATTEND_BACK, c.back);
    CHECK_SAME_BITS(c.y, y);
    CHECK_SAME_BITS(c.dq, dq);
    free_views((view[]){y, dq}, 2);
    attend_free(&c);
}

/* A sentence's rows have the same bits in any batch. */
static void check_company(dtype type)
{
    shape all = {.heads = 2, .d_k = 16, .d_v = 16, .n = 4, .q_len = {5, 37, 1, 20}, .self = true}, one = all;
    one.n = 1, one.q_len[0] = 37;
    attend_case a = attend_new(type, &all), b = attend_new(type, &one);
    size_t row = (size_t)a.width * dtype_size(type), y_row = 32 * dtype_size(type);
    memcpy(b.q.data, (char *)a.q.data + 5 * row, 37 * row);
    RUN(ATTEND, a.forward);
    RUN(ATTEND, b.forward);
    CHECK_INT(memcmp(b.y.data, (char *)a.y.data + 5 * y_row, 37 * y_row), 0);
    attend_free(&a);
    attend_free(&b);
}

/* A few queries, for which the kernel puts keys into lanes, have the bits that they have among many. */
static void check_few(dtype type, int32_t queries, int32_t keys, int64_t d_k, int64_t d_v)
{
    shape few = {.heads = 2, .d_k = d_k, .d_v = d_v, .n = 1, .q_len = {queries}, .k_len = {keys}}, many = few;
    many.q_len[0] = 40;
    attend_case a = attend_new(type, &few), b = attend_new(type, &many);
    memcpy(b.q.data, a.q.data, (size_t)(queries * a.width) * dtype_size(type));
    RUN(ATTEND, a.forward);
    RUN(ATTEND, b.forward);
    CHECK_INT(memcmp(a.y.data, b.y.data, (size_t)(queries * 2 * d_v) * dtype_size(type)), 0);
    CHECK_INT(memcmp(a.lse.data, b.lse.data, (size_t)(queries * 2) * dtype_size(sums_of(type))), 0);
    attend_free(&a);
    attend_free(&b);
}

/* Decoding step by step equals causal attention over the whole sentence, while two rows exchange their pasts. */
static void check_steps(dtype type, int64_t heads, int64_t d_k, int64_t d_v)
{
    enum { T = 9, CAP = 12 };
    int64_t width = heads * (2 * d_k + d_v), kv = heads * (d_k + d_v);
    view whole = random_view(type, T, width, 8), y = new_view(type, T, heads * d_v),
         lse = new_view(sums_of(type), T, heads), off = ids_view(2, (int32_t[]){0, T});
    attr a = {.ATTEND = {.scale = 0.3 * times,
                         .k_column = heads * d_k,
                         .v_column = 2 * heads * d_k,
                         .heads = heads,
                         .d_k = d_k,
                         .d_v = d_v,
                         .causal = 1,
                         .most_keys = T}};
    call full = {
        .op = OP_ATTEND, .n_in = 5, .n_out = 2, .in = {whole, whole, whole, off, off}, .out = {y, lse}, .a = a};
    RUN(ATTEND, full);
    view cache = random_view(type, 2 * CAP, kv, 9), now = new_view(type, 2, width),
         out = new_view(type, 2, heads * d_v), ancestor = new_view(I32, 2, CAP), t = new_view(I32, 1, 1);
    cache.dim[1] = 2, cache.dim[2] = CAP;
    call step = {.op = OP_ATTEND_STEP, .n_in = 4, .n_out = 1, .in = {now, cache, ancestor, t}, .out = {out}, .a = a};
    size_t row = (size_t)width * dtype_size(type);
    view found = new_view(type, T, heads * d_v);
    for (int64_t i = 0; i < T; i++) { /* the hypothesis moves from row 0 to row 1 and back; the other row holds noise */
        int64_t r = i % 2;
        view noise = random_view(type, 2, width, 100 + (uint64_t)i);
        memcpy(now.data, noise.data, 2 * row);
        memcpy((char *)now.data + (size_t)r * row, (char *)whole.data + (size_t)i * row, row);
        for (int64_t j = 0; j < CAP; j++)
            set(&ancestor, r * CAP + j, (double)(j % 2)), set(&ancestor, (1 - r) * CAP + j, (double)(1 - j % 2));
        set(&t, 0, (double)i);
        RUN(ATTEND_STEP, step);
        for (int64_t j = 0; j < heads * d_v; j++) set(&found, i * heads * d_v + j, get(&out, r * heads * d_v + j));
        free(noise.data);
    }
    view want = copy_as(&y, F64);
    CHECK_ROWS(found, want, type == BF16 ? 1e-2 : tolerance(type));
    set(&t, 0, CAP);
    err e = {""};
    CHECK_INT(cpu_ATTEND_STEP(&step, &e), -1);
    CHECK_HAS(e.text, "12 positions");
    free_views((view[]){whole, y, lse, off, cache, now, out, ancestor, t, found, want}, 11);
}

/* A whole sentence in one step, in any order, with a time for each row: each row attends to earlier times. */
static void check_block(dtype type, int64_t heads, int64_t d_k, int64_t d_v)
{
    enum { T = 9, CAP = 12 };
    int64_t width = heads * (2 * d_k + d_v), kv = heads * (d_k + d_v), wide = heads * d_v;
    view one = new_view(type, 1, width), out = new_view(type, 1, wide), all = random_view(type, T, width, 8),
         found = new_view(type, T, wide), cache = random_view(type, CAP, kv, 9), t = new_view(I32, 1, 1),
         ancestor = new_view(I32, 1, CAP), block_cache = random_view(type, T * CAP, kv, 10),
         times = new_view(I32, 1, T), ancestors = new_view(I32, T, CAP), want = new_view(type, T, wide);
    attr a = {.ATTEND = {.scale = 0.3, .heads = heads, .d_k = d_k, .d_v = d_v, .causal = 1}};
    cache.dim[1] = 1, cache.dim[2] = CAP;
    block_cache.dim[1] = T, block_cache.dim[2] = CAP;
    call single = {.op = OP_ATTEND_STEP, .n_in = 4, .n_out = 1, .in = {one, cache, ancestor, t}, .out = {out}, .a = a},
         block = {.op = OP_ATTEND_STEP,
                  .n_in = 4,
                  .n_out = 1,
                  .in = {all, block_cache, ancestors, times},
                  .out = {found},
                  .a = a};
    size_t row = (size_t)width * dtype_size(type), of = (size_t)wide * dtype_size(type);
    for (int64_t i = 0; i < T; i++) { /* token i is row T - 1 - i of the block */
        memcpy(one.data, (char *)all.data + (size_t)(T - 1 - i) * row, row);
        set(&t, 0, (double)i);
        set(&times, T - 1 - i, (double)i);
        RUN(ATTEND_STEP, single);
        memcpy((char *)want.data + (size_t)(T - 1 - i) * of, out.data, of);
        for (int64_t j = 0; j < T; j++) set(&ancestors, i * CAP + j, (double)(T - 1 - j));
    }
    RUN(ATTEND_STEP, block);
    CHECK(!memcmp(found.data, want.data, (size_t)T * of));
    set(&times, 3, CAP);
    err e = {""};
    CHECK_INT(cpu_ATTEND_STEP(&block, &e), -1);
    CHECK_HAS(e.text, "decoding step 12, but the cache has 12 positions");
    free_views((view[]){one, out, all, found, cache, t, ancestor, block_cache, times, ancestors, want}, 11);
}

int main(void)
{
    const shape shapes[] = {
        {.heads = 1, .d_k = 1, .d_v = 1, .n = 1, .q_len = {1}, .self = true},
        {.heads = 2, .d_k = 4, .d_v = 6, .n = 3, .q_len = {3, 1, 9}, .self = true, .p = 0.2},
        {.heads = 4, .d_k = 16, .d_v = 16, .n = 4, .q_len = {17, 40, 0, 5}, .self = true, .causal = true, .p = 0.1},
        {.heads = 3, .d_k = 20, .d_v = 33, .n = 3, .q_len = {5, 33, 64}, .k_len = {7, 1, 20}},
        {.heads = 2, .d_k = 64, .d_v = 64, .n = 4, .q_len = {30, 0, 12, 1}, .k_len = {25, 4, 0, 70}, .p = 0.1},
        {.heads = 2, .d_k = 32, .d_v = 32, .n = 5, .q_len = {31, 32, 33, 16, 15}, .self = true, .causal = true},
        {.heads = 2, .d_k = 64, .d_v = 64, .n = 3, .q_len = {48, 60, 5}, .self = true, .causal = true, .p = 0.1},
        {.heads = 8,
         .d_k = 64,
         .d_v = 64,
         .n = 6,
         .q_len = {30, 20, 11, 45, 28, 7},
         .k_len = {25, 14, 10, 70, 33, 9},
         .p = 0.1},
        {.heads = 3, .d_k = 12, .d_v = 20, .n = 5, .q_len = {1, 4, 2, 3, 1}, .k_len = {1, 16, 40, 17, 0}},
        {.heads = 1, .d_k = 128, .d_v = 96, .n = 2, .q_len = {40, 21}, .k_len = {64, 65}},
        {.heads = 1, .d_k = 512, .d_v = 512, .n = 2, .q_len = {9, 14}, .self = true},
        {.heads = 1, .d_k = 64, .d_v = 64, .n = 1, .q_len = {600}, .self = true, .causal = true, .p = 0.1},
        {.heads = 1, .d_k = 8, .d_v = 8, .n = 1, .q_len = {513}, .k_len = {530}},
        /* dropout's counters beyond 32 bits */
        {.heads = 64, .d_k = 4, .d_v = 4, .n = 2, .q_len = {513, 9}, .k_len = {3, 40}, .p = 0.2},
    };
    static const double scales[] = {1, 0, -1};
    for (size_t t = 0; t < LENGTH(row_types); t++) {
        for (size_t i = 0; i < LENGTH(scales); i++) {
            times = scales[i];
            for (size_t s = 0; s < LENGTH(shapes); s++) check_attend(row_types[t], &shapes[s]);
            check_steps(row_types[t], 2, 8, 8);
            check_block(row_types[t], 2, 8, 8);
            check_steps(row_types[t], 3, 20, 12);
            check_block(row_types[t], 3, 20, 12);
            check_steps(row_types[t], 1, 64, 64);
            check_block(row_types[t], 1, 64, 64);
        }
        times = 1;
        check_company(row_types[t]);
        for (int32_t queries = 1; queries < 6; queries++)
            for (int32_t keys = 1; keys < 70; keys += 17) {
                check_few(row_types[t], queries, keys, 32, 32);
                check_few(row_types[t], queries, keys, 20, 12);
            }
        check_bounds(row_types[t]);
    }
    check_differences(
        &(shape){.heads = 2, .d_k = 3, .d_v = 4, .n = 2, .q_len = {4, 2}, .self = true, .causal = true, .p = 0.3});
    check_differences(&(shape){.heads = 1, .d_k = 5, .d_v = 3, .n = 2, .q_len = {4, 1}, .k_len = {2, 6}, .p = 0.2});
    return test_end();
}
