/* test_shape.c - operations on axes, ids and tables, heads and caches of the CUDA backend against the CPU's. */
#include "shim_test.h"
#include "tensor/cuda/services.h"

static view tensor_of(dtype t, const int64_t d[4]) { return tensor(t, d[0], d[1], d[2], d[3]); }
static view at(view v, void *device) /* returns v with its data at `device` */
{
    v.data = device;
    return v;
}
static view any(view v) { return v.type == I32 ? ids_below(v, 1000) : randoms(v); }

static void check(const char *what, op o, kernel cpu, kernel gpu, attr a, int n_in, const view *in, view out,
                  double tolerance)
{
    call k = {.op = o, .n_in = n_in, .n_out = 1, .a = a};
    for (int i = 0; i < n_in; i++) k.in[i] = in[i];
    k.out[0] = out;
    check_call(what, cpu, gpu, &k, tolerance);
    release_views(&k);
}

/* ---- axes ---- */

static void check_swap(dtype t, const int64_t d[4], int a, int b)
{
    char what[128];
    int64_t dy[4] = {d[0], d[1], d[2], d[3]};
    dy[4 + a] = d[4 + b], dy[4 + b] = d[4 + a];
    snprintf(what, sizeof what, "TRANSPOSE %s [%d,%d,%d,%d] axes %d %d", dtype_name(t), (int)d[0], (int)d[1], (int)d[2],
             (int)d[3], a, b);
    view x = any(tensor_of(t, d));
    check(what, OP_TRANSPOSE, cpu_TRANSPOSE, cuda_TRANSPOSE, (attr){.TRANSPOSE = {.axis1 = a, .axis2 = b}}, 1, &x,
          tensor_of(t, dy), 0);
}

static void check_along(dtype t, const int64_t d[4], int axis)
{
    char what[128];
    int64_t n = d[4 + axis], from = n / 3, some = n - from - n / 4, e[4] = {d[0], d[1], d[2], d[3]},
            y[4] = {d[0], d[1], d[2], d[3]};
    snprintf(what, sizeof what, "SLICE, PAD, CONCAT %s [%d,%d,%d,%d] axis %d", dtype_name(t), (int)d[0], (int)d[1],
             (int)d[2], (int)d[3], axis);
    e[4 + axis] = some;
    view x = any(tensor_of(t, d)), part = any(tensor_of(t, e)), a = any(tensor_of(t, d)), b = any(tensor_of(t, e));
    check(what, OP_SLICE, cpu_SLICE, cuda_SLICE, (attr){.SLICE = {.axis = axis, .from = from}}, 1, &x, tensor_of(t, e),
          0);
    check(what, OP_PAD, cpu_PAD, cuda_PAD, (attr){.SLICE = {.axis = axis, .from = from}}, 1, &part, tensor_of(t, d), 0);
    y[4 + axis] = n + some;
    check(what, OP_CONCAT, cpu_CONCAT, cuda_CONCAT, (attr){.CONCAT = {.axis = axis}}, 2, (view[]){a, b},
          tensor_of(t, y), 0);
}

static void test_axes(void)
{
    static const dtype types[] = {F32, BF16, I32};
    static const int64_t shapes[][4] = {{2, 3, 4, 5}, {2, 8, 7, 64},  {3, 2, 40, 33}, {1, 1, 70, 66},
                                        {1, 5, 1, 9}, {2, 4, 16, 16}, {1, 2, 3, 1},   {1, 1, 1, 1}};
    for (size_t t = 0; t < LENGTH(types); t++)
        for (size_t i = 0; i < LENGTH(shapes); i++) {
            for (int a = -4; a < 0; a++)
                for (int b = a; b < 0; b++) check_swap(types[t], shapes[i], a, b);
            for (int a = -4; a < 0; a++) check_along(types[t], shapes[i], a);
        }
    check_swap(F32, (int64_t[4]){0, 2, 3, 4}, -1, -2);
    check_along(F32, (int64_t[4]){0, 2, 3, 4}, -1);
    static const int64_t halves[] = {1, 3, 4, 32, 37};
    for (size_t i = 0; i < LENGTH(halves); i++)
        for (int t = F32; t <= BF16; t += BF16) {
            view x = randoms(tensor((dtype)t, 2, 1, 7, 2 * halves[i]));
            check("ROTATE_HALF", OP_ROTATE_HALF, cpu_ROTATE_HALF, cuda_ROTATE_HALF, (attr){0}, 1, &x,
                  tensor((dtype)t, 2, 1, 7, 2 * halves[i]), 0);
        }
}

/* ---- rows of a table ---- */

static void check_rows(dtype t, int64_t rows, int64_t width, int64_t n)
{
    char what[128];
    snprintf(what, sizeof what, "EMBEDDING %s [%d,%d] by %d ids", dtype_name(t), (int)rows, (int)width, (int)n);
    view table = any(tensor(t, 1, 1, rows, width)), ids = ids_below(tensor(I32, 1, 1, 1, n), rows);
    check(what, OP_EMBEDDING, cpu_EMBEDDING, cuda_EMBEDDING, (attr){0}, 2, (view[]){table, ids},
          tensor(t, 1, 1, n, width), 0);
}

/* ids are below `most`: if it is small, ids repeat often */
static void check_rows_back(int64_t rows, int64_t width, int64_t n, int64_t most)
{
    char what[128];
    snprintf(what, sizeof what, "EMBEDDING_BACK [%d,%d] from %d ids below %d", (int)rows, (int)width, (int)n,
             (int)most);
    view dy = randoms_in(tensor(F32, 1, 1, n, width), 0.1, 1), ids = ids_below(tensor(I32, 1, 1, 1, n), most);
    check(what, OP_EMBEDDING_BACK, cpu_EMBEDDING_BACK, cuda_EMBEDDING_BACK, (attr){0}, 2, (view[]){dy, ids},
          tensor(F32, 1, 1, rows, width), 2e-6);
}

static void test_rows(void)
{
    static const int64_t widths[] = {1, 3, 8, 33, 64};
    for (size_t i = 0; i < LENGTH(widths); i++) {
        check_rows(F32, 20, widths[i], 33), check_rows(BF16, 7, widths[i], 50), check_rows(F32, 1, widths[i], 1),
            check_rows(I32, 9, widths[i], 0);
        check_rows_back(20, widths[i], 33, 20), check_rows_back(700, widths[i], 70, 700),
            check_rows_back(3, widths[i], 200, 3);
        check_rows_back(40, widths[i], 100, 2), check_rows_back(5, widths[i], 0, 5),
            check_rows_back(1, widths[i], 1, 1);
    }
    check_rows_back(300, 600, 97, 300);
    check_rows_back(255, 4, 1300, 255), check_rows_back(256, 4, 1030, 30), check_rows_back(257, 4, 600, 257);
    check_rows_back(70000, 2, 600, 70000);
}

/* Compares gpu_rows_by_id with a plain loop: rows sorted by id, stable, ids out of range last. */
static void check_order(int64_t n, int64_t rows, bool some_outside)
{
    int32_t *id = xmalloc((size_t)n * 4 + 4), *order = xmalloc((size_t)n * 4 + 4), *key = xmalloc((size_t)n * 4 + 4);
    for (int64_t i = 0; i < n; i++) id[i] = (int32_t)rng_below(&dice, (uint64_t)rows);
    for (int64_t i = 0; i < n && some_outside; i += 5) id[i] = i % 2 ? -1 - (int32_t)i : (int32_t)(rows + i % 3);
    void *g = gpu_copy_of(id, (size_t)n * 4);
    gpu_order o;
    CHECK_THAT(!gpu_rows_by_id(g, n, rows, &o), "%s", gpu_error());
    gpu_copy_out(order, o.order, (size_t)n * 4), gpu_copy_out(key, o.key, (size_t)n * 4);
    int64_t at = 0;
    for (int64_t v = 0; v <= rows; v++)
        for (int64_t i = 0; i < n; i++) {
            bool here = v < rows ? id[i] == v : id[i] < 0 || id[i] >= rows;
            if (!here) continue;
            CHECK_THAT(order[at] == i && key[at] == v,
                       "%d ids below %d: place %d: found position %d of id %d, expected %d of %d", (int)n, (int)rows,
                       (int)at, order[at], key[at], (int)i, (int)v);
            at++;
        }
    gpu_release(g);
    free(id), free(order), free(key);
}

static void test_order(void)
{
    for (int reversed = 0; reversed < 2; reversed++) {
#ifdef GPU_ON_CPU
        gpu_reversed = reversed;
#endif
        check_order(1, 1, false), check_order(600, 40, true), check_order(512, 255, true), check_order(1200, 256, true),
            check_order(40, 700, true);
        check_order(30, 66000, true), check_order(9000, 250, true);
    }
#ifdef GPU_ON_CPU
    gpu_reversed = 0;
#endif
}

/* Adds an embedding's gradient, from bf16 rows times a factor, to what the table holds; ignores ids out of range. */
static void test_sum_onto(void)
{
    enum { T = 150, ROWS = 12, D = 9 };
    view dy = randoms_in(tensor(BF16, 1, 1, T, D), 0.1, 1), table = randoms(tensor(F32, 1, 1, ROWS, D)),
         ids = ids_below(tensor(I32, 1, 1, 1, T), 5);
    view expected = tensor(F32, 1, 1, ROWS, D);
    for (int i = 0; i < T; i += 7) set(&ids, i, i % 2 ? -1 : ROWS);
    for (int i = 0; i < ROWS * D; i++) set(&expected, i, get(&table, i));
    for (int v = 0; v < ROWS; v++)
        for (int j = 0; j < D; j++) {
            double sum = 0;
            for (int i = 0; i < T; i++)
                if (get(&ids, i) == v) sum += get(&dy, i * D + j);
            set(&expected, v * D + j, get(&table, v * D + j) + 3 * sum);
        }
    void *g_dy = gpu_copy_of(dy.data, bytes_of_view(&dy)), *g_table = gpu_copy_of(table.data, bytes_of_view(&table)),
         *g_ids = gpu_copy_of(ids.data, T * 4);
    call k = {.op = OP_EMBED_TOKENS_BACK, .n_in = 4, .n_out = 1, .a = {.EMBED_TOKENS = {.scale = 3}}};
    k.i.EMBED_TOKENS_BACK.base = k.o.EMBED_TOKENS_BACK.y = at(table, g_table);
    k.i.EMBED_TOKENS_BACK.dy = at(dy, g_dy), k.i.EMBED_TOKENS_BACK.ids = at(ids, g_ids);
    err e = {{0}};
    CHECK_THAT(!cuda_EMBED_TOKENS_BACK(&k, &e), "%s", e.text);
    gpu_copy_out(table.data, g_table, bytes_of_view(&table));
    check_views("sum of rows onto a table", &table, &expected, 1e-6);
    gpu_release(g_dy), gpu_release(g_table), gpu_release(g_ids);
    release_views(&(call){.n_in = 4, .in = {dy, table, ids, expected}});
}

/* ---- ids as numbers, numbers by ids ---- */

static void check_pairs(int64_t n_q, int64_t n_k)
{
    view q = ids_below(tensor(I32, 1, 1, 1, n_q), 60), k = ids_below(tensor(I32, 1, 1, 1, n_k), 60),
         i = ids_below(tensor(I32, 1, 1, 3, n_k), 500);
    view q2 = ids_below(tensor(I32, 1, 1, 1, n_q), 60), k2 = ids_below(tensor(I32, 1, 1, 1, n_k), 60);
    check("RELATIVE_POSITION", OP_RELATIVE_POSITION, cpu_RELATIVE_POSITION, cuda_RELATIVE_POSITION, (attr){0}, 2,
          (view[]){q, k}, tensor(F32, 1, 1, n_q, n_k), 0);
    check("CLIPPED_RELATIVE_POSITION", OP_CLIPPED_RELATIVE_POSITION, cpu_CLIPPED_RELATIVE_POSITION,
          cuda_CLIPPED_RELATIVE_POSITION, (attr){.CLIPPED_RELATIVE_POSITION = {.clip = 16}}, 2, (view[]){q2, k2},
          tensor(I32, 1, 1, n_q, n_k), 0);
    check("TO_FLOAT", OP_TO_FLOAT, cpu_TO_FLOAT, cuda_TO_FLOAT, (attr){0}, 1, &i, tensor(F32, 1, 1, 3, n_k), 0);
}

static void check_choice(int64_t a, int64_t b, int64_t n_q, int64_t n_k, int64_t n)
{
    char what[128];
    snprintf(what, sizeof what, "GATHER, SCATTER_ADD [%d,%d,%d] %d keys, %d ids", (int)a, (int)b, (int)n_q, (int)n_k,
             (int)n);
    view x = randoms(tensor(F32, a, b, n_q, n)), ids = ids_below(tensor(I32, 1, 1, n_q, n_k), n),
         p = randoms_in(tensor(F32, a, b, n_q, n_k), 0.1, 1);
    view ids2 = ids_below(tensor(I32, 1, 1, n_q, n_k), n);
    check(what, OP_GATHER, cpu_GATHER, cuda_GATHER, (attr){0}, 2, (view[]){x, ids}, tensor(F32, a, b, n_q, n_k), 0);
    check(what, OP_SCATTER_ADD, cpu_SCATTER_ADD, cuda_SCATTER_ADD, (attr){.SCATTER_ADD = {.n = n}}, 2,
          (view[]){p, ids2}, tensor(F32, a, b, n_q, n), 0);
}

static void check_own_ids(int64_t a, int64_t b, int64_t own_a, int64_t own_b)
{
    char what[128];
    snprintf(what, sizeof what, "GATHER, SCATTER_ADD [%d,%d] by ids [%d,%d]", (int)a, (int)b, (int)own_a, (int)own_b);
    view x = randoms(tensor(F32, a, b, 3, 6)), ids = ids_below(tensor(I32, own_a, own_b, 3, 35), 6),
         p = randoms_in(tensor(F32, a, b, 3, 35), 0.1, 1);
    view ids2 = ids_below(tensor(I32, own_a, own_b, 3, 35), 6);
    check(what, OP_GATHER, cpu_GATHER, cuda_GATHER, (attr){0}, 2, (view[]){x, ids}, tensor(F32, a, b, 3, 35), 0);
    check(what, OP_SCATTER_ADD, cpu_SCATTER_ADD, cuda_SCATTER_ADD, (attr){.SCATTER_ADD = {.n = 6}}, 2,
          (view[]){p, ids2}, tensor(F32, a, b, 3, 6), 0);
}

static void check_top_k(int64_t lines, int64_t n, int64_t k, bool odd)
{
    for (int smallest = 0; smallest < 2; smallest++) {
        view x = randoms(tensor(F32, 1, 2, lines, n)), y = randoms_in(tensor(F32, 1, 2, lines, n), -9, 9);
        for (int64_t i = 0; i < size_of(&x) && odd; i++) { /* equal elements, infinities and NaN */
            double v = (double)rng_below(&dice, 6);
            set(&x, i, v == 5 ? NAN : v == 4 ? -INFINITY : v);
        }
        for (int64_t i = 0; i < size_of(&y) && odd; i++) set(&y, i, i % 3 ? (double)i / 2 : i % 2 ? 4e9 : NAN);
        check("TOP_K", OP_TOP_K, cpu_TOP_K, cuda_TOP_K, (attr){.TOP_K = {.k = k, .smallest = smallest}}, 1, &x,
              tensor(I32, 1, 2, lines, k), 0);
        check("TO_IDS", OP_TO_IDS, cpu_TO_IDS, cuda_TO_IDS, (attr){0}, 1, &y, tensor(I32, 1, 2, lines, n), 0);
    }
}

static void check_noise(int64_t n, int64_t normal)
{
    call k = {.op = OP_RANDOM,
              .n_out = 1,
              .a = (attr){.RANDOM = {.place = 3, .normal = normal}},
              .training = true,
              .seed = 0x123456789abcull,
              .step = 7,
              .out = {tensor(F32, 1, 1, 1, n)}};
    check_call(normal ? "RANDOM normal" : "RANDOM uniform", cpu_RANDOM, cuda_RANDOM, &k, 1e-6);
    release_views(&k);
}

static void check_mask(int64_t batch, int64_t heads, int64_t n_q, int64_t n_k, bool causal)
{
    char what[128];
    snprintf(what, sizeof what, "MASK [%d,%d,%d,%d]%s", (int)batch, (int)heads, (int)n_q, (int)n_k,
             causal ? " causal" : "");
    view s = randoms(tensor(F32, batch, heads, n_q, n_k)), q = ids_below(tensor(I32, 1, 1, 1, n_q), n_q + 1),
         k = tensor(I32, 1, 1, 1, n_k);
    /* lengths of 0, some keys, all keys, and one more than all */
    view len = ids_below(tensor(I32, 1, 1, 1, batch), n_k + 2);
    for (int64_t i = 0; i < n_k; i++) set(&k, i, (double)i);
    check(what, OP_MASK, cpu_MASK, cuda_MASK, (attr){.MASK = {.causal = causal}}, 4, (view[]){s, q, k, len},
          tensor(F32, batch, heads, n_q, n_k), 0);
}

static void test_ids(void)
{
    check_pairs(7, 9), check_pairs(1, 64), check_pairs(33, 33), check_pairs(0, 5);
    check_choice(2, 3, 5, 7, 4), check_choice(1, 2, 9, 40, 33), check_choice(1, 1, 3, 65, 65),
        check_choice(2, 1, 4, 31, 200), check_choice(0, 1, 3, 3, 2);
    for (int64_t own = 0; own < 4; own++) check_own_ids(2, 3, own & 1 ? 2 : 1, own & 2 ? 3 : 1);
    for (int odd = 0; odd < 2; odd++)
        check_top_k(5, 7, 3, odd), check_top_k(2, 40, 40, odd), check_top_k(1, 300, 20, odd), check_top_k(3, 1, 1, odd);
    for (int normal = 0; normal < 2; normal++) check_noise(1, normal), check_noise(1027, normal);
    for (int causal = 0; causal < 2; causal++)
        check_mask(3, 2, 5, 7, causal), check_mask(4, 1, 8, 12, causal), check_mask(1, 3, 1, 33, causal),
            check_mask(0, 3, 2, 3, causal);
    float found[4]; /* ids out of range give NaN */
    void *x = gpu_copy_of((float[]){1, 2}, 8), *ids = gpu_copy_of((int32_t[]){1, -1, 2, 0}, 16), *y = gpu_alloc(16);
    view numbers = {.data = x, .dim = {1, 1, 1, 2}, .type = F32, .param = -1}, four = {ids, {1, 1, 1, 4}, I32, -1},
         chosen = {y, {1, 1, 1, 4}, F32, -1}, rows = {x, {1, 1, 2, 1}, F32, -1};
    call gather = {.op = OP_GATHER, .n_in = 2, .n_out = 1, .in = {numbers, four}, .out = {chosen}},
         embed = {.op = OP_EMBEDDING, .n_in = 2, .n_out = 1, .in = {rows, four}, .out = {chosen}};
    err e = {{0}};
    CHECK_THAT(!cuda_GATHER(&gather, &e), "%s", e.text);
    gpu_copy_out(found, y, 16);
    CHECK_THAT(found[0] == 2 && isnan(found[1]) && isnan(found[2]) && found[3] == 1,
               "GATHER: found %g %g %g %g, expected 2 nan nan 1", found[0], found[1], found[2], found[3]);
    CHECK_THAT(!cuda_EMBEDDING(&embed, &e), "%s", e.text);
    gpu_copy_out(found, y, 16);
    CHECK_THAT(found[0] == 2 && isnan(found[1]) && isnan(found[2]) && found[3] == 1,
               "EMBEDDING: found %g %g %g %g, expected 2 nan nan 1", found[0], found[1], found[2], found[3]);
    gpu_release(x), gpu_release(ids), gpu_release(y);
}

/* ---- HEADS, MERGE ---- */

static void check_heads(dtype t, int64_t batch, int64_t heads, int64_t time, int64_t width, int64_t col, int64_t after,
                        int64_t first)
{
    char what[128];
    int64_t cols = col + heads * width + after, rows = batch * time + 3;
    snprintf(what, sizeof what, "HEADS, MERGE %s [%d,%d,%d,%d] from column %d of %d", dtype_name(t), (int)batch,
             (int)heads, (int)time, (int)width, (int)col, (int)cols);
    view x = randoms(tensor(t, 1, 1, rows, cols)), off = offsets(batch, time + (first != 0), rows - 2 - first),
         off2 = tensor(I32, 1, 1, 1, batch + 1);
    for (int64_t i = 0; i <= batch; i++) set(&off, i, get(&off, i) + (double)first), set(&off2, i, get(&off, i));
    view y = randoms(tensor(F32, batch, heads, time, width));
    check(what, OP_HEADS, cpu_HEADS, cuda_HEADS,
          (attr){.HEADS = {.column = col, .heads = heads, .width = width, .time = time}}, 2, (view[]){x, off},
          tensor(F32, batch, heads, time, width), 0);
    check(what, OP_MERGE, cpu_MERGE, cuda_MERGE, (attr){.HEADS = {.column = col}}, 2, (view[]){y, off2},
          tensor(t, 1, 1, rows, cols), 0);
}

static void test_heads(void)
{
    for (int t = F32; t <= BF16; t += BF16) {
        check_heads((dtype)t, 4, 2, 7, 16, 0, 0, 0), check_heads((dtype)t, 5, 3, 6, 8, 24, 24, 0),
            check_heads((dtype)t, 3, 2, 5, 7, 3, 1, 0);
        check_heads((dtype)t, 1, 1, 9, 1, 0, 0, 0), check_heads((dtype)t, 6, 1, 4, 5, 0, 2, 2),
            check_heads((dtype)t, 9, 4, 3, 32, 128, 0, 1);
    }
    view x = tensor(F32, 1, 1, 4, 8), off = ids_of(3, (int32_t[]){0, 2, 4}), y = tensor(F32, 2, 2, 2, 8);
    err e = {{0}};
    call k = {.op = OP_HEADS, .n_in = 2, .n_out = 1, .in = {x, off}, .out = {y}};
    CHECK_REFUSED(cuda_HEADS(&k, &e), &e, "found columns 0 to 16, but rows have 8 columns");
    k.out[0].dim[0] = 3, e.text[0] = 0;
    CHECK_REFUSED(cuda_HEADS(&k, &e), &e, "found offsets of 2 sentences, expected 3");
    release_views(&k);
}

/* ---- decoding ---- */

static void check_remember(dtype cache_type, int64_t rows, int64_t cached, int64_t cap, int64_t heads, int64_t seen,
                           int64_t width, int64_t now)
{
    char what[128];
    snprintf(what, sizeof what, "KV_CACHE_APPEND %s, %d rows, time %d of %d", dtype_name(cache_type), (int)rows,
             (int)now, (int)cap);
    view x = randoms(tensor(F32, rows, heads, 1, width)),
         cache = randoms(tensor(cache_type, 1, cached, cap, heads * width));
    view who = ids_below(tensor(I32, 1, 1, rows, cap), cached), time = ids_of(1, (int32_t[]){(int32_t)now});
    check(what, OP_KV_CACHE_APPEND, cpu_KV_CACHE_APPEND, cuda_KV_CACHE_APPEND, (attr){0}, 4,
          (view[]){x, cache, who, time}, tensor(F32, rows, heads, seen, width), 0);
}

static void check_recall(dtype t, const int64_t d[4], int64_t rows)
{
    view state = any(tensor_of(t, d)), parents = ids_below(tensor(I32, 1, 1, 1, rows), rows);
    check("CACHE_REORDER", OP_CACHE_REORDER, cpu_CACHE_REORDER, cuda_CACHE_REORDER, (attr){0}, 2,
          (view[]){state, parents}, tensor_of(t, d), 0);
}

static void test_decoding(void)
{
    for (int t = F32; t <= BF16; t += BF16)
        for (int64_t now = 0; now < 5; now += 2)
            check_remember((dtype)t, 6, 8, 7, 3, now + 1 + now % 4, 5, now),
                check_remember((dtype)t, 1, 1, 5, 1, 5, 8, now);
    check_recall(F32, (int64_t[4]){6, 2, 3, 5}, 6), check_recall(F32, (int64_t[4]){1, 4, 3, 8}, 4),
        check_recall(BF16, (int64_t[4]){1, 1, 5, 7}, 5);
    view x = tensor(F32, 2, 1, 1, 4), cache = tensor(F32, 1, 2, 3, 4), who = ids_below(tensor(I32, 1, 1, 2, 3), 2),
         time = ids_of(1, (int32_t[]){0});
    call k = {
        .op = OP_KV_CACHE_APPEND, .n_in = 4, .n_out = 1, .in = {x, cache, who, time}, .out = {tensor(F32, 2, 1, 9, 4)}};
    err e = {{0}};
    CHECK_REFUSED(cuda_KV_CACHE_APPEND(&k, &e), &e, "9 steps are read, but the cache has 3");
    release_views(&k);
}

int main(void)
{
    start();
    test_axes();
    test_rows();
    test_order();
    test_sum_onto();
    test_ids();
    test_heads();
    test_decoding();
    return finish();
}
