/* test_moves.c - the CPU's operations that move numbers: axes, ids and tables, heads, caches, and operations of
 * plugins. */
#include "tensors.h"

/* ---- axes ---- */

static void check_axes(dtype t, const int64_t n[4])
{
    view x = t == I32 ? ids_below(tensor(t, n[0], n[1], n[2], n[3]), 1000) : randoms(tensor(t, n[0], n[1], n[2], n[3]));
    double *expected = xmalloc((size_t)size_of(&x) * 4 * sizeof *expected);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            int64_t to[4] = {n[0], n[1], n[2], n[3]}, p[4];
            to[i] = n[j];
            to[j] = n[i];
            view y = tensor(t, to[0], to[1], to[2], to[3]);
            EACH(y)
            {
                memcpy(p, (int64_t[]){a, b, d, e}, sizeof p);
                int64_t s = p[i];
                p[i] = p[j], p[j] = s;
                expected[place(&y, a, b, d, e)] = at(&x, p[0], p[1], p[2], p[3]);
            }
            attr k = {.TRANSPOSE = {.axis1 = i - 4, .axis2 = j - 4}};
            CHECK_INT(RUN(TRANSPOSE, &k, &y, x), 0);
            compare(OP_TRANSPOSE, &y, expected, 0, "");
            RELEASE(y);
        }
        int64_t first = (int64_t)rng_below(&dice, (uint64_t)n[i]),
                cut = 1 + (int64_t)rng_below(&dice, (uint64_t)(n[i] - first));
        int64_t to[4] = {n[0], n[1], n[2], n[3]}, shift[4] = {0};
        to[i] = cut;
        shift[i] = first;
        view part = tensor(t, to[0], to[1], to[2], to[3]), back = like(t, &x);
        attr k = {.SLICE = {.axis = i - 4, .from = first}};
        EACH(part)
        expected[place(&part, a, b, d, e)] = at(&x, a + shift[0], b + shift[1], d + shift[2], e + shift[3]);
        CHECK_INT(RUN(SLICE, &k, &part, x), 0);
        compare(OP_SLICE, &part, expected, 0, "");
        memset(expected, 0, (size_t)size_of(&x) * sizeof *expected);
        EACH(part)
        expected[place(&x, a + shift[0], b + shift[1], d + shift[2], e + shift[3])] = at(&part, a, b, d, e);
        CHECK_INT(RUN(PAD, &k, &back, part), 0);
        compare(OP_PAD, &back, expected, 0, "");
        to[i] = n[i] + cut;
        view both = tensor(t, to[0], to[1], to[2], to[3]);
        EACH(both)
        {
            int64_t p[4] = {a, b, d, e};
            bool late = p[i] >= n[i];
            if (late) p[i] -= n[i];
            expected[place(&both, a, b, d, e)] = at(late ? &part : &x, p[0], p[1], p[2], p[3]);
        }
        CHECK_INT(RUN(CONCAT, &k, &both, x, part), 0);
        compare(OP_CONCAT, &both, expected, 0, "");
        RELEASE(part, back, both);
    }
    free(expected);
    RELEASE(x);
}

static void test_axes(void)
{
    for (int t = F32; t <= I32; t++) {
        for (int n = 0; n < 12; n++)
            check_axes(t, (int64_t[4]){1 + (int64_t)rng_below(&dice, 3), 1 + (int64_t)rng_below(&dice, 4), length(),
                                       length()});
        check_axes(t, (int64_t[4]){2, 30, 8, 64});
        check_axes(t, (int64_t[4]){1, 1, 190, 181});
        check_axes(t, (int64_t[4]){1, 1, 1, 33000});
    }
    for (int t = F32; t <= BF16; t++)
        for (int n = 0; n < 12; n++) {
            int64_t half = length();
            view x = randoms(n ? tensor(t, 2, 3, length(), 2 * half) : tensor(t, 3, 4, 50, 2 * (half = 32))),
                 y = like(t, &x);
            double *expected = xmalloc((size_t)size_of(&x) * sizeof *expected);
            EACH(x)
            expected[place(&x, a, b, d, e)] = e < half ? -at(&x, a, b, d, e + half) : at(&x, a, b, d, e - half);
            CHECK_INT(RUN(ROTATE_HALF, NULL, &y, x), 0);
            compare(OP_ROTATE_HALF, &y, expected, 0, "");
            free(expected);
            RELEASE(x, y);
        }
}

/* ---- ids and tables ---- */

static void check_table(dtype t, int64_t n, int64_t width, int64_t n_ids)
{
    view table = randoms(tensor(t, 1, 1, n, width)), ids = ids_below(tensor(I32, 1, 1, 1, n_ids), n),
         y = tensor(t, 1, 1, n_ids, width);
    view dy = randoms(like(t, &y)), back = like(t, &table);
    double *expected = xcalloc((size_t)(size_of(&table) + size_of(&y)), sizeof *expected);
    EACH(y) expected[d * width + e] = at(&table, 0, 0, (int64_t)get(&ids, d), e);
    if (n == 1) EACH(y) expected[d * width + e] = get(&table, e);
    CHECK_INT(RUN(EMBEDDING, NULL, &y, table, ids), 0);
    compare(OP_EMBEDDING, &y, expected, 0, "");
    memset(expected, 0, (size_t)size_of(&table) * sizeof *expected);
    EACH(dy) expected[(int64_t)get(&ids, d) * width + e] += get(&dy, d * width + e);
    CHECK_INT(RUN(EMBEDDING_BACK, NULL, &back, dy, ids), 0);
    compare(OP_EMBEDDING_BACK, &back, expected, allowed(t, 1e-5), "");
    set(&ids, n_ids - 1, (double)n);
    CHECK_INT(RUN(EMBEDDING, NULL, &y, table, ids), -1);
    CHECK_HAS(call_error.text, "expected 0 to");
    set(&ids, 0, -1);
    CHECK_INT(RUN(EMBEDDING_BACK, NULL, &back, dy, ids), -1);
    CHECK_HAS(call_error.text, "id -1 at index 0");
    free(expected);
    RELEASE(table, ids, y, dy, back);
}

static void check_positions(dtype t, int64_t nq, int64_t nk)
{
    view q = ids_below(tensor(I32, 1, 1, 1, nq), 50), k = ids_below(tensor(I32, 1, 1, 1, nk), 50), real = like(t, &q);
    view gap = tensor(t, 1, 1, nq, nk), dist = tensor(I32, 1, 1, nq, nk);
    double *expected = xmalloc((size_t)(size_of(&gap) + nq) * sizeof *expected);
    for (int64_t i = 0; i < nq; i++) expected[i] = get(&q, i);
    CHECK_INT(RUN(TO_FLOAT, NULL, &real, q), 0);
    compare(OP_TO_FLOAT, &real, expected, 0, "");
    EACH(gap) expected[d * nk + e] = get(&k, e) - get(&q, d);
    CHECK_INT(RUN(RELATIVE_POSITION, NULL, &gap, q, k), 0);
    compare(OP_RELATIVE_POSITION, &gap, expected, 0, "");
    EACH(dist) expected[d * nk + e] = fmax(-7, fmin(7, get(&k, e) - get(&q, d))) + 7;
    attr clip = {.CLIPPED_RELATIVE_POSITION = {.clip = 7}};
    CHECK_INT(RUN(CLIPPED_RELATIVE_POSITION, &clip, &dist, q, k), 0);
    compare(OP_CLIPPED_RELATIVE_POSITION, &dist, expected, 0, "");
    free(expected);
    RELEASE(q, k, real, gap, dist);
}

static void check_choice(dtype t, int64_t na, int64_t nb, int64_t nq, int64_t nk, int64_t n)
{
    view x = randoms(tensor(t, na, nb, nq, n)), ids = ids_below(tensor(I32, 1, 1, nq, nk), n),
         y = tensor(t, na, nb, nq, nk);
    view p = randoms(like(t, &y)), sums = like(t, &x);
    double *expected = xcalloc((size_t)(size_of(&x) + size_of(&y)), sizeof *expected);
    EACH(y)
    expected[place(&y, a, b, d, e)] = get(&x, ((a * nb + b) * nq + d) * n + (int64_t)get(&ids, d * nk + e));
    CHECK_INT(RUN(GATHER, NULL, &y, x, ids), 0);
    compare(OP_GATHER, &y, expected, 0, "");
    memset(expected, 0, (size_t)size_of(&x) * sizeof *expected);
    EACH(p) expected[((a * nb + b) * nq + d) * n + (int64_t)get(&ids, d * nk + e)] += at(&p, a, b, d, e);
    attr buckets = {.SCATTER_ADD = {.n = n}};
    CHECK_INT(RUN(SCATTER_ADD, &buckets, &sums, p, ids), 0);
    compare(OP_SCATTER_ADD, &sums, expected, allowed(t, 5e-6), "");
    set(&ids, 0, (double)n);
    CHECK_INT(RUN(GATHER, NULL, &y, x, ids), -1);
    free(expected);
    RELEASE(x, ids, y, p, sums);
}

static void check_mask(dtype t, int64_t nb, int64_t nh, int64_t nq, int64_t nk, int causal)
{
    view s = randoms(tensor(t, nb, nh, nq, nk)), q = ids_below(tensor(I32, 1, 1, 1, nq), nk),
         k = ids_below(tensor(I32, 1, 1, 1, nk), nk);
    view len = ids_below(tensor(I32, 1, 1, 1, nb), nk + 3), y = like(t, &s);
    double *expected = xmalloc((size_t)size_of(&s) * sizeof *expected);
    EACH(s)
    expected[place(&s, a, b, d, e)] =
        e >= get(&len, a) || (causal && get(&k, e) > get(&q, d)) ? -INFINITY : at(&s, a, b, d, e);
    attr c = {.MASK = {.causal = causal}};
    CHECK_INT(RUN(MASK, &c, &y, s, q, k, len), 0);
    compare(OP_MASK, &y, expected, 0, causal ? "causal" : "");
    free(expected);
    RELEASE(s, q, k, len, y);
}

static void test_ids(void)
{
    for (int t = F32; t <= F64; t++) {
        for (int n = 0; n < 20; n++) {
            check_table(t, length(), length(), length());
            check_positions(t, length(), length());
            check_choice(t, 2, 3, length(), length(), length());
            check_mask(t, 3, 2, length(), length(), n % 2);
        }
        check_table(t, 33, 64, 1800);
        check_positions(t, 190, 200);
        check_choice(t, 4, 4, 45, 50, 17);
        check_mask(t, 5, 4, 45, 50, 1);
    }
}

/* ---- heads ---- */

static view some_offsets(int64_t batch, int64_t longest)
{
    view o = tensor(I32, 1, 1, 1, batch + 1);
    set(&o, 0, 0);
    for (int64_t b = 0; b < batch; b++) set(&o, b + 1, get(&o, b) + (double)rng_below(&dice, (uint64_t)longest + 1));
    return o;
}

static void check_heads(dtype rows_type, dtype t, int64_t batch, int64_t heads, int64_t time, int64_t width,
                        int64_t col, int64_t spare)
{
    view off = some_offsets(batch, time);
    int64_t used = (int64_t)get(&off, batch), n = used + spare, cols = col + heads * width + spare;
    view rows = randoms(tensor(rows_type, 1, 1, n, cols)), y = tensor(t, batch, heads, time, width),
         back = like(rows_type, &rows);
    double *expected = xcalloc((size_t)(size_of(&rows) + size_of(&y)), sizeof *expected);
    EACH(y)
    {
        int64_t first = (int64_t)get(&off, a), len = (int64_t)get(&off, a + 1) - first;
        if (d < len)
            expected[((a * heads + b) * time + d) * width + e] = get(&rows, (first + d) * cols + col + b * width + e);
    }
    attr k = {.HEADS = {.column = col, .heads = heads, .width = width, .time = time}};
    CHECK_INT(RUN(HEADS, &k, &y, rows, off), 0);
    compare(OP_HEADS, &y, expected, allowed(t, 1e-7), "");
    randoms(y);
    memset(expected, 0, (size_t)size_of(&rows) * sizeof *expected);
    EACH(y)
    {
        int64_t first = (int64_t)get(&off, a), len = (int64_t)get(&off, a + 1) - first;
        if (d < len)
            expected[(first + d) * cols + col + b * width + e] = get(&y, ((a * heads + b) * time + d) * width + e);
    }
    CHECK_INT(RUN(MERGE, &k, &back, y, off), 0);
    compare(OP_MERGE, &back, expected, allowed(rows_type, 1e-7), "");
    set(&off, batch, (double)n + 1);
    CHECK_INT(RUN(HEADS, &k, &y, rows, off), -1);
    CHECK_HAS(call_error.text, "the number of rows");
    free(expected);
    RELEASE(off, rows, y, back);
}

/* ---- ROTATE ---- */

/* Compares ROTATE with op.h's definition element by element, in place and not. */
static void check_rotate(dtype type, int64_t batch, int64_t heads, int64_t time, int64_t half, int64_t col,
                         int64_t spare, bool adjoint)
{
    view off = some_offsets(batch, time);
    int64_t n = (int64_t)get(&off, batch) + spare, d = 2 * half, cols = col + heads * d + spare;
    dtype sums = type == F64 ? F64 : F32;
    view x = randoms(tensor(type, 1, 1, n, cols)), y = like(type, &x), cosine = randoms(tensor(sums, 1, 1, time, d)),
         sine = randoms(like(sums, &cosine));
    double *expected = xmalloc((size_t)size_of(&x) * sizeof *expected);
    for (int64_t i = 0; i < size_of(&x); i++) expected[i] = get(&x, i);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t r = (int64_t)get(&off, b), t = 0; r < (int64_t)get(&off, b + 1); r++, t++)
            for (int64_t i = 0; i < heads * half; i++) {
                int64_t j = i % half, first = r * cols + col + i / half * d + j, second = first + half;
                double c1 = get(&cosine, t * d + j), s1 = get(&sine, t * d + j), c2 = get(&cosine, t * d + half + j),
                       s2 = get(&sine, t * d + half + j);
                expected[first] = get(&x, first) * c1 + (adjoint ? s2 : -s1) * get(&x, second);
                expected[second] = get(&x, second) * c2 + (adjoint ? -s1 : s2) * get(&x, first);
            }
    attr k = {.ROTATE = {.column = col, .heads = heads, .width = d, .adjoint = adjoint}};
    CHECK_INT(RUN(ROTATE, &k, &y, x, cosine, sine, off), 0);
    compare(OP_ROTATE, &y, expected, allowed(type, 1e-6), "");
    CHECK_INT(RUN(ROTATE, &k, &x, x, cosine, sine, off), 0);
    compare(OP_ROTATE, &x, expected, allowed(type, 1e-6), "in place");
    set(&off, batch, (double)n + 1);
    CHECK_INT(RUN(ROTATE, &k, &y, x, cosine, sine, off), -1);
    CHECK_HAS(call_error.text, "rotate: sentence ");
    free(expected);
    RELEASE(off, x, y, cosine, sine);
}

static void test_rotate(void)
{
    static const dtype types[] = {F32, F64, BF16};
    for (size_t i = 0; i < LENGTH(types); i++)
        for (int n = 0; n < 8; n++)
            check_rotate(types[i], 1 + (int64_t)rng_below(&dice, 4), length(), 1 + length(), n < 2 ? 16 : length(),
                         (int64_t)rng_below(&dice, 4), (int64_t)rng_below(&dice, 3), n % 2);
}

static void test_heads(void)
{
    static const dtype types[][2] = {{F32, F32}, {F64, F64}, {BF16, F32}, {BF16, BF16}, {F32, F64}};
    for (size_t i = 0; i < LENGTH(types); i++) {
        for (int n = 0; n < 12; n++)
            check_heads(types[i][0], types[i][1], 1 + (int64_t)rng_below(&dice, 5), length(), length(), length(), n % 3,
                        n % 4);
        check_heads(types[i][0], types[i][1], 20, 4, 25, 32, 128, 0);
    }
}

/* ---- decoding ---- */

static void check_memory(dtype t, dtype cache_type, int64_t rows, int64_t heads, int64_t width, int64_t cap,
                         int64_t time, int64_t seen)
{
    view x = randoms(tensor(t, rows, heads, 1, width)),
         cache = randoms(tensor(cache_type, 1, rows + 1, cap, heads * width));
    view who = ids_below(tensor(I32, 1, 1, rows, cap), rows + 1), now = tensor(I32, 1, 1, 1, 1),
         y = tensor(t, rows, heads, seen, width);
    set(&now, 0, (double)time);
    view before = copy_of(&cache);
    double *expected = xcalloc((size_t)(size_of(&y) + size_of(&cache)), sizeof *expected);
    EACH(y)
    {
        double *to = &expected[((a * heads + b) * seen + d) * width + e];
        if (d == time) *to = get(&x, (a * heads + b) * width + e);
        if (d < time) *to = get(&cache, (((int64_t)get(&who, a * cap + d)) * cap + d) * heads * width + b * width + e);
    }
    CHECK_INT(RUN(KV_CACHE_APPEND, NULL, &y, x, cache, who, now), 0);
    compare(OP_KV_CACHE_APPEND, &y, expected, allowed(cache_type, 1e-7), "");
    int wrong = 0;
    EACH(cache)
    {
        int64_t i = (b * cap + d) * heads * width + e;
        double is = b < rows && d == time ? get(&x, b * heads * width + e) : get(&before, i);
        wrong += fabs(get(&cache, i) - is) > allowed(cache_type, 1e-7) * 2;
    }
    CHECK_INT(wrong, 0);
    set(&now, 0, (double)seen);
    CHECK_INT(RUN(KV_CACHE_APPEND, NULL, &y, x, cache, who, now), -1);
    CHECK_HAS(call_error.text, "KV_CACHE_APPEND: time");
    set(&now, 0, (double)time);
    if (time > 0) {
        set(&who, 0, (double)rows + 1);
        CHECK_INT(RUN(KV_CACHE_APPEND, NULL, &y, x, cache, who, now), -1);
        CHECK_HAS(call_error.text, "ancestor of row 0");
    }
    free(expected);
    RELEASE(x, cache, who, now, y, before);
}

static void check_states(dtype t, int64_t rows, int64_t n, bool leading)
{
    view state = randoms(leading ? tensor(t, rows, 2, 1, n) : tensor(t, 1, 1, rows, 2 * n)),
         parents = ids_below(tensor(I32, 1, 1, 1, rows), rows);
    view y = like(t, &state), out = like(t, &state);
    double *expected = xmalloc((size_t)size_of(&state) * sizeof *expected);
    for (int64_t i = 0; i < size_of(&state); i++)
        expected[i] = get(&state, (int64_t)get(&parents, i / (2 * n)) * 2 * n + i % (2 * n));
    CHECK_INT(RUN(CACHE_REORDER, NULL, &y, state, parents), 0);
    compare(OP_CACHE_REORDER, &y, expected, 0, "");
    CHECK_INT(RUN(STATE_WRITE, NULL, &out, state, y), 0);
    compare(OP_STATE_WRITE, &state, expected, 0, "");
    randoms(y);
    CHECK_INT(RUN(ASSIGN, NULL, &out, state, y), 0);
    CHECK(same_bits(&state, &y));
    CHECK_INT(RUN(ASSIGN, NULL, &out, state, state), 0);
    CHECK(same_bits(&state, &y));
    y.dim[3]++;
    CHECK_INT(RUN(ASSIGN, NULL, &out, state, y), -1);
    CHECK_HAS(call_error.text, "do not fit");
    free(expected);
    RELEASE(state, parents, y, out);
}

static void test_decoding(void)
{
    static const dtype types[][2] = {{F32, F32}, {F64, F64}, {F32, BF16}};
    for (size_t i = 0; i < LENGTH(types); i++)
        for (int64_t time = 0; time < 6; time++)
            check_memory(types[i][0], types[i][1], length(), 3, length(), 6, time, time + 1 + time % 2);
    check_memory(F32, F32, 40, 8, 64, 30, 20, 24);
    for (int t = F32; t <= I32; t++)
        for (int n = 0; n < 10; n++) check_states(t, length(), length(), n % 2);
    check_states(F32, 60, 400, true);
}

/* ---- plugins' calls ---- */

static int twice_plus(const ab_run *r) /* out = 2 in[0] + in[1] + attr, F32 only */
{
    if (r->out.dtype != F32) return -1;
    for (int64_t i = 0; i < r->out.dim[3]; i++)
        ((float *)r->out.data)[i] =
            2 * ((float *)r->in[0].data)[i] + ((float *)r->in[1].data)[i] + *(const float *)r->attr;
    return r->n_in == 2 && r->in[1].dim[3] == r->out.dim[3] && !r->stream ? 0 : -1;
}

static void test_call(void)
{
    ab_op o = {.name = "twice_plus", .n_in = 2, .cpu = twice_plus};
    for (int t = F32; t <= F64; t++) {
        view a = randoms(tensor(t, 1, 1, 1, 9)), b = randoms(like(t, &a)), y = like(t, &a);
        call k = {
            .op = OP_CALL, .n_in = 2, .n_out = 1, .in = {a, b}, .out = {y}, .call = &o, .call_attr = &(float){0.5f}};
        err e = {{0}};
        CHECK_INT(cpu_CALL(&k, &e), t == F32 ? 0 : -1);
        if (t == F32)
            CHECK_NEAR(get(&y, 4), 2 * get(&a, 4) + get(&b, 4) + 0.5, 1e-6);
        else
            CHECK_HAS(e.text, "'twice_plus'");
        RELEASE(a, b, y);
    }
}

int main(void)
{
    dice = rng_seed(7, 2);
    test_axes();
    test_ids();
    test_heads();
    test_rotate();
    test_decoding();
    test_call();
    print_errors();
    return test_end();
}
