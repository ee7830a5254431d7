/* cost_rows.c - runs operations on rows (norms, sums, embedding, loss, products), the optimizer, the choice of tokens
 * in decoding and the small kernels around a step (uploads, sums of losses and ranks), for the cost model. */
#include "cost_calls.h"
#include "tensor/cuda/optim.h"
#include "tensor/cuda/product.h"
#include "tensor/cuda/services.h"
#include "tensor/cuda/select.h"

static void cost_norm(dtype type, int64_t rows, int64_t width)
{
    view x = random_rows(type, rows, width), s = random_rows(type, rows, width), gain = random_rows(F32, 1, width),
         stats = moved(randoms_in(tensor(F32, 1, 1, rows, 2), 0.3, 1.2));
    attr a = {.NORM = {.p = 0.1, .eps = 1e-6, .place = 5, .has_sublayer = 1}};
    counted_call("norm", cuda_NORM,
                 (call){.op = OP_NORM,
                        .n_in = 4,
                        .n_out = 3,
                        .a = a,
                        .in = {x, s, gain, gain},
                        .out = {space(type, rows, width), space(type, rows, width), space(F32, rows, 2)}});
    counted_call("gradient of norm", cuda_NORM_BACK,
                 (call){.op = OP_NORM_BACK,
                        .n_in = 4,
                        .n_out = 5,
                        .a = a,
                        .in = {x, stats, gain, s},
                        .out = {space(type, rows, width), space(type, rows, width), space(F32, 1, width),
                                space(F32, 1, width), space(F32, 1, width)}});
    counted_call("dropout and sum", cuda_DROPOUT_ADD,
                 (call){.op = OP_DROPOUT_ADD,
                        .n_in = 2,
                        .n_out = 1,
                        .a = {.DROPOUT = {.p = 0.1, .place = 2}},
                        .in = {x, s},
                        .out = {space(type, rows, width)}});
    counted_call("sum of columns", cuda_COLUMN_SUM,
                 (call){.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {x}, .out = {space(F32, 1, width)}});
}

/* [2,n]: positions sorted by their ids, then these ids. */
static view sorted_by(int64_t n, const int32_t *id)
{
    view v = tensor(I32, 1, 1, 2, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < n; j++) at += id[j] < id[i] || (id[j] == id[i] && j < i);
        set(&v, at, (double)i), set(&v, n + at, id[i]);
    }
    return moved(v);
}

static void cost_embedding(dtype type)
{
    enum { N = 192, FEW = 300 };
    int32_t id[N];
    for (int i = 0; i < N; i++)
        id[i] = rng_below(&dice, 3) ? (int32_t)rng_below(&dice, FEW) : 7; /* one id is frequent */
    view table = random_rows(F32, FEW, WIDTH), ids = moved(ids_of(N, id)), dy = random_rows(type, N, WIDTH);
    attr a = {.EMBED_TOKENS = {.scale = 3, .p = 0.1, .place = 4}};
    counted_call("embedding", cuda_EMBED_TOKENS,
                 (call){.op = OP_EMBED_TOKENS,
                        .n_in = 5,
                        .n_out = 1,
                        .a = a,
                        .in = {table, ids, none, random_rows(F32, 64, WIDTH), random_ids(N, 64)},
                        .out = {space(type, N, WIDTH)}});
    counted_call("gradient of embedding", cuda_EMBED_TOKENS_BACK,
                 (call){.op = OP_EMBED_TOKENS_BACK,
                        .n_in = 4,
                        .n_out = 1,
                        .a = a,
                        .in = {table, dy, ids, sorted_by(N, id)},
                        .out = {table}});
    gpu_order order;
    view many = random_ids(2048, 5000);
    COUNTED("ids sorted", gpu_rows_by_id(many.data, 2048, 5000, &order));
}

static void cost_loss(dtype type, int64_t rows, int64_t words)
{
    counted_call("loss", cuda_CE,
                 (call){.op = OP_CE,
                        .n_in = 3,
                        .n_out = 2,
                        .a = {.CE = {.smoothing = 0.1, .gradient = 1}},
                        .in = {random_rows(type, rows, words), random_ids(rows, words), random_rows(F32, 1, 1)},
                        .out = {space(F32, rows, 2), space(type, rows, words)}});
}

/* Runs, as a step of decoding does, the product after attention, its sum with the residual, and the norm. */
static void cost_product_and_norm(int64_t rows, int64_t width)
{
    view x = random_rows(BF16, rows, width), gain = random_rows(F32, 1, width), s = space(BF16, rows, width);
    call product = {.op = OP_LINEAR,
                    .n_in = 3,
                    .n_out = 1,
                    .in = {x, random_rows(BF16, width, width), random_rows(BF16, 1, width)},
                    .out = {s}};
    counted_call("product and norm", cuda_NORM,
                 (call){.op = OP_NORM,
                        .n_in = 4,
                        .n_out = 3,
                        .a = {.NORM = {.eps = 1e-6}},
                        .in = {x, s, gain, gain},
                        .out = {space(BF16, rows, width), none, space(F32, rows, 2)},
                        .product = &product});
}

static void cost_product(dtype type)
{
    enum { K = 128, N = 128 };
    view x = random_rows(type, ROWS, K), w = random_rows(F32, K, N), dy = random_rows(type, ROWS, N);
    counted_call("product", cuda_LINEAR,
                 (call){.op = OP_LINEAR,
                        .n_in = 3,
                        .n_out = 1,
                        .in = {x, w, random_rows(F32, 1, N)},
                        .out = {space(type, ROWS, N)}});
    counted_call(
        "gradient of a product's rows", cuda_LINEAR_DX,
        (call){.op = OP_LINEAR_DX, .n_in = 4, .n_out = 1, .in = {dy, w, none, none}, .out = {space(type, ROWS, K)}});
    counted_call(
        "gradient of a product's weights", cuda_LINEAR_DW,
        (call){.op = OP_LINEAR_DW, .n_in = 2, .n_out = 2, .in = {x, dy}, .out = {space(F32, K, N), space(F32, 1, N)}});
}

void cost_rows(void)
{
    err e = {{0}};
    dice = rng_seed(3, 0);
    if (product_open(&e)) printf("%s\n", e.text), exit(1);
    for (int t = F32; t <= BF16; t += BF16) {
        static const int64_t widths[] = {128, 256, 512, 1024, 2048};
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) cost_norm((dtype)t, ROWS, widths[w]);
        cost_embedding((dtype)t);
        cost_product((dtype)t);
        cost_loss((dtype)t, 8, 8192);
        cost_loss((dtype)t, 2, 32000);
    }
    cost_product_and_norm(ROWS, 256);
    cost_product_and_norm(ROWS, WIDTH);
    product_close();
}

/* ---- services ---- */

/* Momentum: v = 0.9 v + g, p = p - lr v, and a bf16 copy of p. Vectors: p, g, v. */
void cost_optimizer(void)
{
    dice = rng_seed(7, 0);
    enum { N = 1 << 14, P = 0, G = 1, V = 2 };
    update_program u = {.n_registers = 4, .n_scalars = 1, .n_vectors = 3, .shadowed = P, .read = 7, .count = N};
    const update_step steps[] = {
        {.what = OP_MUL_SCALAR, .in = {V, UPDATE_BY}, .out = 3, .vector = UPDATE_NOWHERE, .by = 0.9f},
        {.what = OP_ADD, .in = {3, G}, .out = 3, .vector = V},
        {.what = OP_MUL, .in = {3, UPDATE_SCALAR}, .out = 3, .vector = UPDATE_NOWHERE},
        {.what = OP_SUB, .in = {P, 3}, .out = UPDATE_NOWHERE, .vector = P}};
    u.n_steps = sizeof steps / sizeof *steps;
    memcpy(u.step, steps, sizeof steps);
    for (int i = 0; i < 3; i++) u.vector[i] = random_rows(F32, 1, N).data;
    u.scalar[0] = random_rows(F32, 1, 1).data, u.shadow = space(BF16, 1, N).data;
    COUNTED("update", gpu_run_update(&u));
    double *sum = gpu_alloc(sizeof *sum);
    COUNTED("sum of squares", gpu_sum_squares_to(sum, u.vector[0], N));
    COUNTED("clipping", gpu_clip_scale(gpu_alloc(4), sum, 1, 1));
}

static int followed(int64_t rows, int64_t capacity)
{
    int32_t *parents = xcalloc((size_t)rows, sizeof *parents);
    size_t bytes = (size_t)(rows * capacity) * sizeof *parents;
    for (int64_t r = 0; r < rows; r++) parents[r] = (int32_t)(r / 4 * 4 + rng_below(&dice, 4));
    gpu_follow(gpu_alloc(bytes), gpu_alloc(bytes), random_ids(rows * capacity, rows).data, parents, rows, capacity, 40);
    gpu_flush();
    free(parents);
    return 0;
}

static void cost_choice(dtype type)
{
    enum { BEAM = 4, SENTENCES = 4, MANY = BEAM * SENTENCES, K = 8 };
    static const int32_t never[2] = {0, 1};
    view logits = random_rows(type, MANY, WORDS);
    gpu_choice *best = gpu_alloc(MANY * K * sizeof *best);
    double *sums = gpu_alloc(MANY * sizeof *sums), *so_far = moved(randoms(tensor(F64, 1, 1, 1, MANY))).data;
    continuation *out = gpu_alloc(SENTENCES * K * sizeof *out);
    choosing c = {.sentences = SENTENCES, .beam = BEAM, .v = WORDS, .k = K, .wanted = K, .log_prob = so_far};
    COUNTED("best tokens", gpu_select_best(type, &c, logits.data, never, best, sums, out));
}

void cost_choices(void)
{
    dice = rng_seed(8, 0);
    cost_choice(F32);
    cost_choice(BF16);
}

static int uploaded(size_t bytes)
{
    char *host = xcalloc(bytes, 1);
    gpu_copy_in(gpu_alloc(bytes), host, bytes);
    gpu_flush();
    free(host);
    return 0;
}

void cost_services(void)
{
    dice = rng_seed(4, 0);
    COUNTED("few numbers uploaded", uploaded(512));
    COUNTED("ids uploaded", uploaded(16384));
    COUNTED("rows followed", followed(16, 64));
    COUNTED("more rows followed", followed(512, 64));
    COUNTED("losses added", (gpu_add_columns(gpu_alloc(16), random_rows(F32, 2048, 2).data, 2048), gpu_launched()));
    COUNTED("ranks added",
            gpu_add_ranks(random_rows(F32, 1, 8192).data, random_rows(F32, 3, 8192).data, 1, 3, 8192, 8192));
    view off = moved(offsets(100, 30, 3000));
    ragged_list lists[] = {{off.data, 0, gpu_alloc(400)}, {off.data, 512, gpu_alloc(404)}};
    COUNTED("lengths", gpu_ragged(100, 2, lists));
}
