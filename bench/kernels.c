/* kernels.c - time of every fused CPU kernel at the sizes of a training step, to find the most expensive one.
 *
 *     bench_kernels [bf16|fp32] [rows] [sentence length] [threads] [only names that contain this]
 *
 * One line per kernel: least time of several runs, and the arithmetic and memory traffic of its shapes (every view
 * read or written once).
 */
#include "tensor/cpu/cpu.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 5, MOST_RUNS = 200 };
#define MOST_SECONDS 0.15
static params store = {.version = 1};
static dtype row_type = BF16;
static int64_t n_rows = 4096, length = 24;
static bool cpu_seconds;
static const char *only = "";

static view new_view(dtype type, int64_t rows, int64_t width)
{
    view v = {.data = cpu_backend.alloc((size_t)(rows * width) * dtype_size(type)),
              .dim = {1, 1, rows, width},
              .type = type,
              .param = -1};
    rng r = rng_seed(1, (uint64_t)(rows * width));
    for (int64_t i = 0; i < rows * width; i++) {
        float x = (float)(rng_uniform(&r) - 0.5);
        if (type == F32)
            ((float *)v.data)[i] = x;
        else if (type == I32)
            ((int32_t *)v.data)[i] = 0;
        else
            memcpy((uint16_t *)v.data + i, (char *)&x + 2, 2);
    }
    return v;
}
static view rows_view(int64_t width) { return new_view(row_type, n_rows, width); }
static view weight_view(int64_t rows, int64_t width, int32_t index)
{
    view v = new_view(F32, rows, width);
    v.param = index;
    return v;
}

/* Returns seconds: processor time if there is one thread, since other programs disturb it less; else the clock. */
static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(cpu_seconds ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_call(const char *name, kernel run, call *k)
{
    err e = {""};
    double best = 1e9;
    if (!strstr(name, only)) return;
    k->params = &store;
    k->seed = 1, k->step = 1;
    double until = ticks() + MOST_SECONDS;
    for (int i = 0; i < LEAST_RUNS || (i < MOST_RUNS && ticks() < until); i++) {
        double start = seconds_now();
        if (run(k, &e)) {
            printf("%-22s %s\n", name, e.text);
            return;
        }
        double seconds = seconds_now() - start;
        if (i && seconds < best) best = seconds;
    }
    printf("  %-22s %9.1f us %8.0f GFLOP/s %8.1f GB/s\n", name, best * 1e6, call_flops(k, &cpu_backend) / best * 1e-9,
           call_bytes(k) / best * 1e-9);
}
static void release(call *k, int n)
{
    for (int c = 0; c < n; c++) {
        for (int i = 0; i < k[c].n_in; i++) cpu_backend.release(k[c].in[i].data);
        for (int i = 0; i < k[c].n_out; i++) cpu_backend.release(k[c].out[i].data);
    }
}

static void time_products(int64_t k, int64_t n, bool tied)
{
    static int32_t next;
    char name[64];
    view w = tied ? weight_view(n, k, next++) : weight_view(k, n, next++), x = rows_view(k), y = rows_view(n),
         b = new_view(F32, 1, n);
    call f = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .in = {x, w, b}, .out = {y}, .a.LINEAR = {.transposed = tied}};
    snprintf(name, sizeof name, "LINEAR %lldx%lld", (long long)k, (long long)n);
    time_call(name, cpu_LINEAR, &f);
    call dx = {
        .op = OP_LINEAR_DX, .n_in = 3, .n_out = 1, .in = {y, w, x}, .out = {x}, .a.LINEAR = {.transposed = tied}};
    time_call("  _DX, added", cpu_LINEAR_DX, &dx);
    call dw = {.op = OP_LINEAR_DW, .n_in = 2, .n_out = 1, .in = {x, y}, .out = {w}, .a.LINEAR = {.transposed = tied}};
    time_call("  _DW", cpu_LINEAR_DW, &dw);
    call sum = {.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1, .in = {y}, .out = {b}};
    time_call("  COLUMN_SUM", cpu_COLUMN_SUM, &sum);
    w.param = -1; /* no packed copy is kept: shows what packing costs a product of few rows */
    f.in[1] = w, f.in[0].dim[2] = f.out[0].dim[2] = 16;
    time_call("  packing, 16 rows", cpu_LINEAR, &f);
    release(&f, 1);
}

static void time_rows(int64_t d, int64_t d_ff)
{
    view gain = new_view(F32, 1, d), stats = new_view(F32, n_rows, 2);
    attr a = {.NORM = {.p = 0.1, .eps = 1e-5, .place = 1, .has_sublayer = 1}};
    call norm = {.op = OP_NORM,
                 .n_in = 4,
                 .n_out = 3,
                 .in = {rows_view(d), rows_view(d), gain, new_view(F32, 1, d)},
                 .out = {rows_view(d), rows_view(d), stats},
                 .a = a,
                 .training = true};
    time_call("NORM, dropout", cpu_NORM, &norm);
    call back = {.op = OP_NORM_BACK,
                 .n_in = 4,
                 .n_out = 4,
                 .in = {norm.out[1], stats, gain, norm.out[0]},
                 .a = a,
                 .training = true,
                 .out = {rows_view(d), rows_view(d), new_view(F32, 1, d), new_view(F32, 1, d)}};
    time_call("NORM_BACK, dropout", cpu_NORM_BACK, &back);
    norm.training = back.training = false;
    time_call("NORM", cpu_NORM, &norm);
    time_call("NORM_BACK", cpu_NORM_BACK, &back);
    call drop = {.op = OP_DROPOUT,
                 .n_in = 1,
                 .n_out = 1,
                 .in = {rows_view(d_ff)},
                 .out = {rows_view(d_ff)},
                 .a = a,
                 .training = true};
    time_call("DROPOUT d_ff", cpu_DROPOUT, &drop);
    call relu = {
        .op = OP_RELU_BACK, .n_in = 2, .n_out = 1, .in = {rows_view(d_ff), rows_view(d_ff)}, .out = {rows_view(d_ff)}};
    time_call("RELU_BACK d_ff", cpu_RELU_BACK, &relu);
    release(&norm, 1);
    back.n_in = 0;
    release((call[]){back, drop, relu}, 3);
}

static void time_attention(int64_t d, int64_t heads, bool causal)
{
    int64_t n = n_rows / length, d_k = d / heads;
    view off = new_view(I32, 1, n + 1), qkv = rows_view(3 * d), y = rows_view(d), lse = new_view(F32, n_rows, heads);
    for (int64_t b = 0; b < n; b++) /* lengths around the mean */
        ((int32_t *)off.data)[b + 1] =
            (int32_t)((b + 1) * length + (b + 1 < n ? b * 7 % (length / 2 + 1) - length / 4 : 0));
    call f = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {qkv, qkv, qkv, off, off},
              .out = {y, lse},
              .training = true,
              .a = {.ATTEND = {.p = 0.1,
                               .scale = 0.125,
                               .place = 1,
                               .k_column = d,
                               .v_column = 2 * d,
                               .heads = heads,
                               .d_k = d_k,
                               .d_v = d_k,
                               .causal = causal,
                               .most_keys = length + length / 2}}};
    time_call(causal ? "ATTEND causal, dropout" : "ATTEND, dropout", cpu_ATTEND, &f);
    call g = {.op = OP_ATTEND_BACK,
              .n_in = 8,
              .n_out = 1,
              .in = {qkv, qkv, qkv, off, off, y, lse, rows_view(d)},
              .out = {rows_view(3 * d)},
              .training = true,
              .a = f.a};
    time_call("ATTEND_BACK", cpu_ATTEND_BACK, &g);
    f.training = g.training = false;
    time_call("ATTEND", cpu_ATTEND, &f);
    time_call("ATTEND_BACK", cpu_ATTEND_BACK, &g);
    for (int i = 0; i < 5; i++)
        if (i == 0 || i == 3) cpu_backend.release(f.in[i].data);
    for (int i = 5; i < 8; i++) cpu_backend.release(g.in[i].data);
    cpu_backend.release(g.out[0].data);
}

static void time_vocabulary(int64_t d, int64_t v)
{
    view ids = new_view(I32, 1, n_rows), table = new_view(F32, v, d), y = rows_view(d);
    for (int64_t r = 0; r < n_rows; r++) ((int32_t *)ids.data)[r] = (int32_t)(r * r % v);
    call embed = {
        .op = OP_EMBED_TOKENS, .n_in = 2, .n_out = 1, .in = {table, ids}, .out = {y}, .a.EMBED_TOKENS = {.scale = 3}};
    time_call("EMBED", cpu_EMBED_TOKENS, &embed);
    call back = {.op = OP_EMBED_TOKENS_BACK,
                 .n_in = 3,
                 .n_out = 1,
                 .in = {table, y, ids},
                 .out = {table},
                 .a.EMBED_TOKENS = {.scale = 3}};
    time_call("EMBED_TOKENS_BACK, added", cpu_EMBED_TOKENS_BACK, &back);
    view logits = rows_view(v);
    call ce = {.op = OP_CE,
               .n_in = 3,
               .n_out = 2,
               .in = {logits, ids, new_view(F32, 1, 1)},
               .out = {new_view(F32, n_rows, 2), logits},
               .a = {.CE = {.smoothing = 0.1, .gradient = 1}}};
    time_call("CE with gradient", cpu_CE, &ce);
    embed.n_out = 1;
    release(&embed, 1);
    ce.n_out = 1;
    ce.in[1] = new_view(I32, 1, 1);
    release(&ce, 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && same(argv[1], "fp32")) row_type = F32;
    if (argc > 2) parse_int(argv[2], &n_rows);
    if (argc > 3) parse_int(argv[3], &length);
    int64_t threads = 0;
    if (argc > 4) parse_int(argv[4], &threads);
    cpu_threads((int)threads);
    cpu_seconds = threads == 1;
    if (argc > 5) only = argv[5];
    printf("%s; %s, %lld rows, sentences of %lld\n", cpu_description(), dtype_name(row_type), (long long)n_rows,
           (long long)length);
    const int64_t sizes[][3] = {{128, 512, 4}, {256, 1024, 4}, {512, 2048, 8}}; /* d_model, d_ff, heads */
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        int64_t d = sizes[i][0], d_ff = sizes[i][1], heads = sizes[i][2];
        printf("d_model %lld, d_ff %lld, %lld heads\n", (long long)d, (long long)d_ff, (long long)heads);
        time_products(d, 3 * d, false);
        time_products(d, d, false);
        time_products(d, d_ff, false);
        time_products(d_ff, d, false);
        time_products(d, 10000, true);
        time_rows(d, d_ff);
        time_attention(d, heads, false);
        time_attention(d, heads, true);
        time_vocabulary(d, 10000);
    }
    return 0;
}
