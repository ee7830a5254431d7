/* cost_generic.c - runs elementwise operations, sums, softmax, and copies for the cost model. */
#include "cost_calls.h"

#define UNARY(name, NAME, x, y, ...)                                                                                   \
    counted_call(name, cuda_##NAME,                                                                                    \
                 (call){.op = OP_##NAME, .n_in = 1, .n_out = 1, .in = {x}, .out = {y}, .a = __VA_ARGS__})
#define BINARY(name, NAME, x, z, y, ...)                                                                               \
    counted_call(name, cuda_##NAME,                                                                                    \
                 (call){.op = OP_##NAME, .n_in = 2, .n_out = 1, .in = {x, z}, .out = {y}, .a = __VA_ARGS__})

static view randoms_of(dtype type, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return moved(randoms(tensor(type, a, b, c, d)));
}

static void cost_sums(void)
{
    view x = randoms_of(F32, 1, 1, ROWS, WIDTH);
    UNARY("sum of columns", SUM_TO, x, space(F32, 1, WIDTH), (attr){0});
    UNARY("sum of rows", SUM_TO, x, space(F32, ROWS, 1), (attr){0});
    UNARY("sum over pairs of axes", SUM_TO, randoms_of(F32, 4, 8, 64, 8), moved(tensor(F32, 1, 8, 1, 8)), (attr){0});
    UNARY("sum of short lines", SUM_TO, randoms_of(F32, 1, 1, 2048, 16), space(F32, 2048, 1), (attr){0});
    static const int64_t widths[] = {28, 64, 256, 512, 1024, 2048};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        view s = random_rows(F32, 32, widths[i]), t = random_rows(F32, 32, widths[i]);
        UNARY("softmax", SOFTMAX, s, space(F32, 32, widths[i]), (attr){0});
        BINARY("gradient of softmax", SOFTMAX_BACK, s, t, space(F32, 32, widths[i]), (attr){0});
    }
}

void cost_elementwise(void)
{
    dice = rng_seed(1, 0);
    view f = random_rows(F32, ROWS, WIDTH), g = random_rows(F32, ROWS, WIDTH), h = random_rows(BF16, ROWS, WIDTH),
         k = random_rows(BF16, ROWS, WIDTH), y = space(F32, ROWS, WIDTH), z = space(BF16, ROWS, WIDTH);
    BINARY("sum of two", ADD, f, g, y, (attr){0});
    BINARY("sum of two", ADD, h, k, z, (attr){0});
    BINARY("bias", ADD, f, random_rows(F32, 1, WIDTH), y, (attr){0});
    BINARY("bias", ADD, h, random_rows(BF16, 1, WIDTH), z, (attr){0});
    BINARY("ReLU's gradient", RELU_BACK, h, k, z, (attr){0});
    UNARY("function", MAP, f, y, (attr){.MAP = {.function = AB_TANH}});
    counted_call("gradient of a function", cuda_MAP_BACK,
                 (call){.op = OP_MAP_BACK,
                        .n_in = 3,
                        .n_out = 1,
                        .in = {f, g, f},
                        .out = {y},
                        .a = {.MAP = {.function = AB_TANH}}});
    counted_call("where", cuda_WHERE, (call){.op = OP_WHERE, .n_in = 3, .n_out = 1, .in = {f, g, f}, .out = {y}});
    UNARY("cast", CAST, f, z, (attr){0});
    UNARY("cast", CAST, h, y, (attr){0});
    UNARY("dropout", DROPOUT, f, y, (attr){.DROPOUT = {.p = 0.1, .place = 3}});
    UNARY("dropout", DROPOUT, h, z, (attr){.DROPOUT = {.p = 0.1, .place = 3}});
    cost_sums();
}

/* ---- moves ---- */

static void cost_axes(dtype type)
{
    enum { B = 2, T = 32, D = 64 };
    view x = randoms_of(type, B, HEADS, T, D);
    UNARY("last axes swapped", TRANSPOSE, x, moved(tensor(type, B, HEADS, D, T)),
          (attr){.TRANSPOSE = {.axis1 = -1, .axis2 = -2}});
    UNARY("inner axes swapped", TRANSPOSE, x, moved(tensor(type, B, T, HEADS, D)),
          (attr){.TRANSPOSE = {.axis1 = -2, .axis2 = -3}});
    UNARY("slice", SLICE, x, moved(tensor(type, B, HEADS, T, D / 2)), (attr){.SLICE = {.axis = -1, .from = D / 4}});
    UNARY("half turn", ROTATE_HALF, x, moved(tensor(type, B, HEADS, T, D)), (attr){0});
    BINARY("rows by id", EMBEDDING, random_rows(type, 100, WIDTH), random_ids(ROWS, 100), space(type, ROWS, WIDTH),
           (attr){0});
    view rows = random_rows(type, B * T, 3 * HEADS * D), off = moved(ids_of(3, (int32_t[]){0, 28, 60})),
         heads = randoms_of(F32, B, HEADS, T, D);
    BINARY("heads", HEADS, rows, off, moved(tensor(F32, B, HEADS, T, D)),
           (attr){.HEADS = {.column = HEADS * D, .heads = HEADS, .width = D, .time = T}});
    BINARY("merge", MERGE, heads, off, space(type, B * T, 3 * HEADS * D), (attr){.HEADS = {.column = HEADS * D}});
    counted_call("append to a cache", cuda_KV_CACHE_APPEND,
                 (call){.op = OP_KV_CACHE_APPEND,
                        .n_in = 4,
                        .n_out = 1,
                        .in = {randoms_of(F32, 8, HEADS, 1, D), randoms_of(type, 1, 8, 16, HEADS * D),
                               moved(ids_below(tensor(I32, 1, 1, 8, 16), 8)), moved(ids_of(1, (int32_t[]){9}))},
                        .out = {moved(tensor(F32, 8, HEADS, 16, D))}});
}

void cost_shapes(void)
{
    enum { B = 2, T = 32, BUCKETS = 32 };
    dice = rng_seed(2, 0);
    cost_axes(F32);
    cost_axes(BF16);
    view x = randoms_of(F32, B, HEADS, T, BUCKETS), p = randoms_of(F32, B, HEADS, T, T);
    /* clipped distances: neighbours have consecutive ids, as in Shaw's and T5's positions */
    view near = tensor(I32, 1, 1, T, T);
    for (int64_t i = 0; i < size_of(&near); i++) {
        int64_t apart = i % T - i / T + BUCKETS / 2;
        set(&near, i, (double)(apart < 0 ? 0 : apart < BUCKETS ? apart : BUCKETS - 1));
    }
    view ids = moved(near);
    BINARY("gather", GATHER, x, ids, moved(tensor(F32, B, HEADS, T, T)), (attr){0});
    BINARY("scatter", SCATTER_ADD, p, ids, moved(tensor(F32, B, HEADS, T, BUCKETS)),
           (attr){.SCATTER_ADD = {.n = BUCKETS}});
    UNARY("top k", TOP_K, random_rows(F32, 16, 64), moved(tensor(I32, 1, 1, 16, 8)), (attr){.TOP_K = {.k = 8}});
    UNARY("to ids", TO_IDS, random_rows(F32, ROWS, 64), moved(tensor(I32, 1, 1, ROWS, 64)), (attr){0});
    counted_call("random numbers", cuda_RANDOM,
                 (call){.op = OP_RANDOM, .n_out = 1, .a = {.RANDOM = {.place = 3}}, .out = {space(F32, ROWS, WIDTH)}});
    UNARY("ids to numbers", TO_FLOAT, random_ids(4096, 99), space(F32, 1, 4096), (attr){0});
    BINARY("distances", RELATIVE_POSITION, random_ids(T, T), random_ids(T, T), space(F32, T, T), (attr){0});
    counted_call("mask", cuda_MASK,
                 (call){.op = OP_MASK,
                        .n_in = 4,
                        .n_out = 1,
                        .a = {.MASK = {.causal = 1}},
                        .in = {p, random_ids(T, T), random_ids(T, T), moved(ids_of(B, (int32_t[]){T, 20}))},
                        .out = {moved(tensor(F32, B, HEADS, T, T))}});
}
