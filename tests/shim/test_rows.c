/* test_rows.c - NORM, NORM_BACK, DROPOUT_ADD, COLUMN_SUM, EMBED_TOKENS, EMBED_TOKENS_BACK and CE of the CUDA backend
 * against the CPU's. */
#include "shim_test.h"

static const dtype types[] = {F32, BF16};
static const view none = {.param = -1};

static view random_rows(dtype type, int64_t rows, int64_t width) { return randoms(tensor(type, 1, 1, rows, width)); }

/* ---- norm ---- */

enum { WITHOUT_S, WITH_S, DROPPED, NOT_TRAINING, WAYS };
static const char *const ways[] = {"without s", "with s", "dropped", "not training"};

static void test_norm(dtype type, int64_t rows, int64_t width, int way)
{
    char what[128];
    snprintf(what, sizeof what, "norm %s [%lld,%lld] %s", dtype_name(type), (long long)rows, (long long)width,
             ways[way]);
    view x = random_rows(type, rows, width), s = way == WITHOUT_S ? none : random_rows(type, rows, width),
         gain = random_rows(F32, 1, width);
    call k = {.op = OP_NORM,
              .n_in = 4,
              .n_out = 3,
              .a = {.NORM = {.p = way >= DROPPED ? 0.3 : 0, .eps = 1e-6, .place = 5}},
              .seed = 77 + (1ull << 40),
              .step = 3,
              .training = way != NOT_TRAINING};
    k.in[0] = x, k.in[1] = s, k.in[2] = gain, k.in[3] = random_rows(F32, 1, width);
    k.out[0] = like(&x), k.out[1] = s.data ? like(&x) : none, k.out[2] = tensor(F32, 1, 1, rows, 2);
    /* with one or two columns 1 / sd may be up to 1000, so the normalised rows are mostly rounding errors */
    check_call(what, cpu_NORM, cuda_NORM, &k, width < 3 ? 1e-3 : 1e-5);
    release_views(&k);
}

static void test_norm_back(dtype type, int64_t rows, int64_t width, int way)
{
    char what[128];
    snprintf(what, sizeof what, "norm_back %s [%lld,%lld] %s", dtype_name(type), (long long)rows, (long long)width,
             ways[way]);
    view z = random_rows(type, rows, width), stats = randoms_in(tensor(F32, 1, 1, rows, 2), 0.3, 1.2);
    call k = {.op = OP_NORM_BACK,
              .n_in = 4,
              .n_out = 5,
              .a = {.NORM = {.p = way >= DROPPED ? 0.25 : 0, .place = 9, .has_sublayer = way != WITHOUT_S}},
              .seed = 5,
              .step = 1ull << 20,
              .training = way != NOT_TRAINING};
    k.in[0] = z, k.in[1] = stats, k.in[2] = random_rows(F32, 1, width), k.in[3] = random_rows(type, rows, width);
    k.out[0] = like(&z), k.out[1] = way == WITHOUT_S ? none : like(&z);
    k.out[2] = tensor(F32, 1, 1, 1, width), k.out[3] = tensor(F32, 1, 1, 1, width);
    k.out[4] = rng_below(&dice, 2) ? tensor(F32, 1, 1, 1, width) : none;
    /* in bf16 ds is rounded before it is summed: if one element is rounded the other way, the sum changes */
    check_call(what, cpu_NORM_BACK, cuda_NORM_BACK, &k, type == BF16 && k.out[4].data ? 1e-3 : 1e-5);
    release_views(&k);
}

static void test_norms(void)
{
    static const int64_t widths[] = {1, 2, 7, 128, 250, 256, 264, 512, 1000, 1024, 1025, 2504};
    static const int64_t many[] = {0, 1, 9};
    for (size_t t = 0; t < 2; t++)
        for (size_t w = 0; w < LENGTH(widths); w++)
            for (size_t r = 0; r < LENGTH(many); r++) {
                int way = (int)(rng_below(&dice, WAYS));
                test_norm(types[t], many[r], widths[w], way);
                test_norm_back(types[t], many[r], widths[w], (way + 1) % WAYS);
            }
    for (int way = 0; way < WAYS; way++) /* more rows than warps, so that each warp processes several */
        for (size_t t = 0; t < 2; t++) {
            test_norm(types[t], 140, 23 + way % 2, way);
            test_norm_back(types[t], 140, 23 + way % 2, way);
            test_norm_back(types[t], 70, 261 + 3 * way, way);
            test_norm_back(types[t], 40, 1024 - 4 * way, way);
        }
}

/* ---- dropadd, colsum ---- */

static void test_dropadd(dtype type, int64_t rows, int64_t width, double p, bool in_place)
{
    char what[128];
    snprintf(what, sizeof what, "dropadd %s [%lld,%lld] p %g%s", dtype_name(type), (long long)rows, (long long)width, p,
             in_place ? " in place" : "");
    view x = random_rows(type, rows, width);
    call k = {.op = OP_DROPOUT_ADD,
              .n_in = 2,
              .n_out = 1,
              .a = {.DROPOUT = {.p = p, .place = 2}},
              .seed = 1ull << 33,
              .step = 12,
              .training = true};
    k.in[0] = x, k.in[1] = random_rows(type, rows, width), k.out[0] = in_place ? x : like(&x);
    check_call(what, cpu_DROPOUT_ADD, cuda_DROPOUT_ADD, &k, 1e-6);
    release_views(&k);
}

static void test_colsum(dtype type, int64_t rows, int64_t width)
{
    char what[128];
    snprintf(what, sizeof what, "colsum %s [%lld,%lld]", dtype_name(type), (long long)rows, (long long)width);
    call k = {.op = OP_COLUMN_SUM, .n_in = 1, .n_out = 1};
    k.in[0] = random_rows(type, rows, width), k.out[0] = tensor(F32, 1, 1, 1, width);
    check_call(what, cpu_COLUMN_SUM, cuda_COLUMN_SUM, &k, 1e-5);
    release_views(&k);
}

static void test_sums(void)
{
    static const int64_t rows[] = {0, 1, 31, 600}, widths[] = {1, 8, 77, 256, 520};
    for (size_t t = 0; t < 2; t++)
        for (size_t r = 0; r < LENGTH(rows); r++)
            for (size_t w = 0; w < LENGTH(widths); w++) {
                test_colsum(types[t], rows[r], widths[w]);
                test_dropadd(types[t], rows[r], widths[w], w % 2 ? 0.1 : 0.5, r % 2);
            }
    test_dropadd(F32, 3, 5, 0, false);
}

/* ---- embedding ---- */

static view some_ids(int64_t rows, int64_t words) /* random ids; one in five is -1 */
{
    view id = ids_below(tensor(I32, 1, 1, 1, rows), words);
    for (int64_t i = 0; i < rows; i++)
        if (rng_below(&dice, 5) == 0) set(&id, i, -1);
    return id;
}

/* Returns [2,rows]: first the numbers of the rows in the order of the rows' ids, rows with id < 0 last; then these
 * ids. */
static view sorted_by(const view *ids)
{
    int64_t rows = size_of(ids);
    const int32_t *id = ids->data;
    view v = tensor(I32, 1, 1, 2, rows);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < rows; j++) at += (uint32_t)id[j] < (uint32_t)id[i] || (id[j] == id[i] && j < i);
        set(&v, at, (double)i), set(&v, rows + at, id[i] < 0 ? INT32_MAX : id[i]);
    }
    return v;
}

/* Computes EMBED_TOKENS with positions and dropout from other operations, since the CPU has no kernel for it. */
static int embed_in_parts(const call *k, err *e)
{
    const view *table = &k->in[0], *id = &k->in[1], *positions = &k->in[3], *place = &k->in[4];
    view out = k->out[0], *y = &out;
    view sum = tensor(F32, 1, 1, y->dim[2], y->dim[3]);
    for (int64_t i = 0; i < size_of(y); i++) {
        int64_t row = i / y->dim[3], column = i % y->dim[3];
        double token =
            get(id, row) < 0 ? 0 : k->a.EMBED_TOKENS.scale * get(table, (int64_t)get(id, row) * y->dim[3] + column);
        set(&sum, i, token + get(positions, (int64_t)get(place, row) * y->dim[3] + column));
    }
    call drop = {.op = OP_DROPOUT,
                 .n_in = 1,
                 .n_out = 1,
                 .in = {sum},
                 .out = {sum},
                 .a = {.DROPOUT = {.p = k->a.EMBED_TOKENS.p, .place = k->a.EMBED_TOKENS.place}},
                 .training = k->training,
                 .seed = k->seed,
                 .step = k->step};
    int rc = cpu_DROPOUT(&drop, e);
    for (int64_t i = 0; i < size_of(y); i++) set(y, i, get(&sum, i));
    free(sum.data);
    return rc;
}

static void test_embed_fused(dtype type, int64_t rows, int64_t words, int64_t width, double p)
{
    enum { PLACES = 7 };
    char what[128];
    snprintf(what, sizeof what, "embed %s [%lld,%lld] with positions, dropout %g", dtype_name(type), (long long)rows,
             (long long)width, p);
    call k = {.op = OP_EMBED_TOKENS,
              .n_in = 5,
              .n_out = 1,
              .a = {.EMBED_TOKENS = {.scale = 3, .p = p, .place = 4}},
              .training = true,
              .seed = 3,
              .step = 1};
    k.in[0] = random_rows(F32, words, width), k.in[1] = some_ids(rows, words),
    k.out[0] = tensor(type, 1, 1, rows, width);
    k.in[3] = random_rows(F32, PLACES, width), k.in[4] = ids_below(tensor(I32, 1, 1, 1, rows), PLACES);
    check_call(what, embed_in_parts, cuda_EMBED_TOKENS, &k, 1e-6);
    release_views(&k);
}

static void test_embed(dtype type, int64_t rows, int64_t words, int64_t width)
{
    test_embed_fused(type, rows, words, width, 0);
    test_embed_fused(type, rows, words, width, 0.3);
    char what[128];
    snprintf(what, sizeof what, "embed %s [%lld,%lld] of %lld words", dtype_name(type), (long long)rows,
             (long long)width, (long long)words);
    call k = {.op = OP_EMBED_TOKENS, .n_in = 2, .n_out = 1, .a = {.EMBED_TOKENS = {.scale = sqrt((double)width)}}};
    k.in[0] = random_rows(F32, words, width), k.in[1] = some_ids(rows, words),
    k.out[0] = tensor(type, 1, 1, rows, width);
    check_call(what, cpu_EMBED_TOKENS, cuda_EMBED_TOKENS, &k, 1e-6);
    release_views(&k);
    /* base 0: the gradient is added to nothing; 1: to its own output; 2: to another tensor */
    for (int base = 0; base < 3; base++) {
        snprintf(what, sizeof what, "embed_back %s [%lld,%lld] of %lld words, base %d", dtype_name(type),
                 (long long)rows, (long long)width, (long long)words, base);
        call b = {.op = OP_EMBED_TOKENS_BACK, .n_in = 4, .n_out = 1, .a = {.EMBED_TOKENS = {.scale = 1.5}}};
        b.in[0] = base ? random_rows(F32, words, width) : none;
        b.in[1] = random_rows(type, rows, width), b.in[2] = some_ids(rows, words);
        b.in[3] = base == 1 ? sorted_by(&b.in[2]) : none;
        b.out[0] = base == 1 ? b.in[0] : tensor(F32, 1, 1, words, width);
        check_call(what, cpu_EMBED_TOKENS_BACK, cuda_EMBED_TOKENS_BACK, &b, 1e-5);
        release_views(&b);
    }
}

/* ---- cross-entropy ---- */

enum { NO_GRADIENT, IN_PLACE, ELSEWHERE };
/* The padding behind a row of an odd vocabulary must be neither read nor written. */
static void test_ce_padded(dtype type, int64_t rows, int64_t words, int64_t padding)
{
    char what[160];
    snprintf(what, sizeof what, "ce %s [%lld,%lld] padding %lld", dtype_name(type), (long long)rows, (long long)words,
             (long long)padding);
    view x = randoms(tensor(type, 1, 1, rows, words));
    call k = {.op = OP_CE,
              .n_in = 3,
              .n_out = 2,
              .a = {.CE = {.smoothing = 0.1, .gradient = 1, .padding = padding}},
              .training = true};
    k.in[0] = padded(&x, padding), k.in[1] = some_ids(rows, words),
    k.in[2] = randoms_in(tensor(F32, 1, 1, 1, 1), 0.5, 1);
    k.out[0] = tensor(F32, 1, 1, rows, 2), k.out[1] = tensor(type, 1, 1, rows, words + padding);
    without = (without_padding){cpu_CE, {&k.in[0], &k.out[1]}, padding};
    check_call(what, cpu_without_padding, cuda_CE, &k, 1e-5);
    release_views(&k);
    free(x.data);
}

static void test_ce(dtype type, int64_t rows, int64_t words, double smoothing, int others, int gradient, double size)
{
    char what[160];
    snprintf(what, sizeof what, "ce %s [%lld,%lld] smoothing %g others %d gradient %d logits to %g", dtype_name(type),
             (long long)rows, (long long)words, smoothing, others, gradient, size);
    view x = randoms_in(tensor(type, 1, 1, rows, words), -size, size);
    call k = {.op = OP_CE,
              .n_in = 3,
              .n_out = 2,
              .a = {.CE = {.smoothing = smoothing, .others = others, .gradient = gradient != NO_GRADIENT}},
              .training = true};
    k.in[0] = x, k.in[1] = some_ids(rows, words), k.in[2] = randoms_in(tensor(F32, 1, 1, 1, 1), 0.5, 1);
    k.out[0] = tensor(F32, 1, 1, rows, 2);
    k.out[1] = gradient == IN_PLACE ? x : gradient == ELSEWHERE ? like(&x) : none;
    /* F32 sums are in another order, and a bf16 gradient is rounded from them; probabilities near 1/V may differ by
     * this rounding */
    check_call(what, cpu_CE, cuda_CE, &k, 1e-5);
    release_views(&k);
}

static void test_losses(void)
{
    static const int64_t words[] = {2, 5, 8, 37, 1000, 1001, 2051, 8200};
    /* Exactly 48 KiB of shared memory, with the kernel's own. These run first: wider rows raise the kernel's limit on a
     * GPU. */
    test_ce(F32, 1, 12250, 0.1, 0, IN_PLACE, 2);
    test_ce(BF16, 1, 24500, 0.1, 0, IN_PLACE, 2);
    for (size_t t = 0; t < 2; t++)
        for (size_t w = 0; w < LENGTH(words); w++)
            for (int gradient = NO_GRADIENT; gradient <= ELSEWHERE; gradient++)
                test_ce(types[t], 7, words[w], gradient ? 0.1 : 0, (int)(w % 2), gradient, w % 3 ? 2 : 60);
    for (int others = 0; others < 2; others++) { /* rows too wide for shared memory, F32 and BF16 */
        test_ce(F32, 2, 30001, 0.1, others, IN_PLACE, 8);
        test_ce(BF16, 3, 50001 + others, 0.1, others, IN_PLACE, 8);
    }
    test_ce_padded(F32, 5, 37, 3);
    test_ce_padded(BF16, 5, 37, 3);
    test_ce_padded(BF16, 3, 30001, 7);
    test_ce(F32, 0, 40, 0.1, 0, IN_PLACE, 2);
    test_ce(BF16, 1, 40, 0.1, 0, IN_PLACE, 2);
}

/* ---- calls that the CPU's kernels lack ---- */

static view at_device(dtype type, int64_t rows, int64_t width, void *at)
{
    return (view){.data = at, .dim = {1, 1, rows, width}, .type = type, .param = -1};
}
static void run(const char *what, kernel gpu, const call *k)
{
    err e = {{0}};
    CHECK_THAT(!gpu(k, &e), "%s: %s", what, e.text);
}

/* Ids outside of the table are noticed on the device only: the result is NaN. */
static void test_strange_ids(void)
{
    enum { WIDTH = 9 };
    int32_t id[3] = {1, 4, -1};
    float table[4 * WIDTH], y[3 * WIDTH], loss[6], one = 1;
    for (int i = 0; i < 4 * WIDTH; i++) table[i] = (float)i;
    void *d_id = gpu_copy_of(id, sizeof id), *d_table = gpu_copy_of(table, sizeof table), *d_y = gpu_alloc(sizeof y);
    void *d_loss = gpu_alloc(sizeof loss), *d_norm = gpu_copy_of(&one, sizeof one);
    call embed = {.op = OP_EMBED_TOKENS,
                  .n_in = 5,
                  .n_out = 1,
                  .in = {at_device(F32, 4, WIDTH, d_table), at_device(I32, 1, 3, d_id)},
                  .out = {at_device(F32, 3, WIDTH, d_y)},
                  .a = {.EMBED_TOKENS = {.scale = 2}}};
    run("EMBED_TOKENS", cuda_EMBED_TOKENS, &embed);
    gpu_copy_out(y, d_y, sizeof y);
    for (int i = 0; i < WIDTH; i++) {
        CHECK_THAT(y[i] == 2 * table[WIDTH + i], "embed, id 1, column %d: found %g, expected %g", i, (double)y[i],
                   (double)(2 * table[WIDTH + i]));
        CHECK_THAT(isnan(y[WIDTH + i]), "embed, id past the table, column %d: found %g, expected NaN", i,
                   (double)y[WIDTH + i]);
        CHECK_THAT(y[2 * WIDTH + i] == 0, "embed, no id, column %d: found %g, expected 0", i, (double)y[2 * WIDTH + i]);
    }
    call ce = {.op = OP_CE,
               .n_in = 3,
               .n_out = 2,
               .in = {at_device(F32, 3, 4, d_table), at_device(I32, 1, 3, d_id), at_device(F32, 1, 1, d_norm)},
               .out = {at_device(F32, 3, 2, d_loss), none}};
    run("CE", cuda_CE, &ce);
    gpu_copy_out(loss, d_loss, sizeof loss);
    CHECK_THAT(isfinite(loss[0]) && loss[1] > 0, "ce, target 1: found %g and %g, expected numbers", (double)loss[0],
               (double)loss[1]);
    CHECK_THAT(isnan(loss[2]) && isnan(loss[3]), "ce, target past the vocabulary: found %g and %g, expected NaN",
               (double)loss[2], (double)loss[3]);
    CHECK_THAT(loss[4] == 0 && loss[5] == 0, "ce, no target: found %g and %g, expected 0", (double)loss[4],
               (double)loss[5]);
    gpu_release(d_id), gpu_release(d_table), gpu_release(d_y), gpu_release(d_loss), gpu_release(d_norm);
}

/* Rows that do not begin at multiples of 16 bytes take a slower path to the same bits. */
static void test_unaligned(void)
{
    enum { ROWS = 11, WIDTH = 40, N = ROWS * WIDTH };
    view x = random_rows(BF16, 1, N + 8), s = random_rows(BF16, 1, N + 8), g = random_rows(F32, 1, WIDTH),
         id = some_ids(ROWS, WIDTH);
    char *dx = gpu_alloc(2 * N + 16), *ds = gpu_alloc(2 * N + 16), *y = gpu_alloc(2 * N + 16),
         *z = gpu_alloc(2 * N + 16);
    float *gain = gpu_copy_of(g.data, bytes_of_view(&g)), *stats = gpu_alloc(ROWS * 8), *losses = gpu_alloc(ROWS * 8);
    float *dgain = gpu_alloc(4 * WIDTH), *dbias = gpu_alloc(4 * WIDTH);
    void *target = gpu_copy_of(id.data, bytes_of_view(&id));
    uint16_t back[2][5][N];
    for (int off = 0; off < 2; off++) { /* distances of 0 and 6 bytes */
        char *at[4] = {dx + 6 * off, ds + 6 * off, y + 6 * off, z + 6 * off};
        gpu_copy_in(at[0], x.data, 2 * N);
        gpu_copy_in(at[1], s.data, 2 * N);
        view v[4], by = at_device(F32, 1, WIDTH, gain), two = at_device(F32, ROWS, 2, stats);
        for (int i = 0; i < 4; i++) v[i] = at_device(BF16, ROWS, WIDTH, at[i]);
        attr a = {.NORM = {.p = 0.3, .place = 3, .eps = 1e-6, .has_sublayer = 1}};
        call k = {.op = OP_NORM,
                  .n_in = 4,
                  .n_out = 3,
                  .in = {v[0], v[1], by, by},
                  .out = {v[2], v[3], two},
                  .a = a,
                  .training = true};
        run("NORM", cuda_NORM, &k);
        gpu_copy_out(back[off][0], at[2], 2 * N);
        gpu_copy_out(back[off][1], at[3], 2 * N);
        k = (call){.op = OP_NORM_BACK,
                   .n_in = 4,
                   .n_out = 5,
                   .in = {v[0], two, by, v[1]},
                   .out = {v[2], v[3], at_device(F32, 1, WIDTH, dgain), at_device(F32, 1, WIDTH, dbias), none},
                   .a = a,
                   .training = true};
        run("NORM_BACK", cuda_NORM_BACK, &k);
        gpu_copy_out(back[off][2], at[3], 2 * N);
        k = (call){.op = OP_DROPOUT_ADD,
                   .n_in = 2,
                   .n_out = 1,
                   .in = {v[0], v[1]},
                   .out = {v[2]},
                   .a = {.DROPOUT = {.p = 0.3, .place = 3}},
                   .training = true};
        run("DROPOUT_ADD", cuda_DROPOUT_ADD, &k);
        gpu_copy_out(back[off][3], at[2], 2 * N);
        k = (call){.op = OP_CE,
                   .n_in = 3,
                   .n_out = 2,
                   .in = {v[0], at_device(I32, 1, ROWS, target), at_device(F32, 1, 1, gain)},
                   .out = {at_device(F32, ROWS, 2, losses), v[0]},
                   .a = {.CE = {.smoothing = 0.1, .gradient = 1}}};
        run("CE", cuda_CE, &k);
        gpu_copy_out(back[off][4], at[0], 2 * N);
    }
    static const char *const names[] = {"norm", "norm's z", "gradient of norm", "dropadd", "ce"};
    for (int i = 0; i < 5; i++) {
        int at = 0;
        while (at < N - 1 && back[0][i][at] == back[1][i][at]) at++;
        CHECK_THAT(back[0][i][at] == back[1][i][at], "%s, unaligned: element %d: found %04x, expected %04x", names[i],
                   at, back[1][i][at], back[0][i][at]);
    }
    void *all[] = {dx, ds, y, z, gain, stats, losses, dgain, dbias, target};
    for (size_t i = 0; i < LENGTH(all); i++) gpu_release(all[i]);
    free(x.data), free(s.data), free(g.data), free(id.data);
}

static void test_refusals(void)
{
    view x = tensor(F64, 1, 1, 2, 3), f = tensor(F32, 1, 1, 2, 3), h = tensor(BF16, 1, 1, 2, 3);
    err e = {{0}};
    call k = {.op = OP_NORM, .n_in = 4, .n_out = 3, .in = {x, none, f, f}, .out = {x, none, f}};
    CHECK_REFUSED(cuda_NORM(&k, &e), &e, "NORM on the GPU: input 0 is fp64, expected fp32 or bf16");
    e.text[0] = 0;
    k.in[0] = f, k.in[1] = h;
    CHECK_REFUSED(cuda_NORM(&k, &e), &e, "NORM on the GPU: input 1 is bf16, expected fp32");
    e.text[0] = 0;
    k.in[1] = none, k.in[2] = h;
    CHECK_REFUSED(cuda_NORM(&k, &e), &e, "NORM on the GPU: input 2 is bf16, expected fp32");
    e.text[0] = 0;
    call c = {.op = OP_CE, .n_in = 3, .n_out = 2, .in = {h, f, f}, .out = {f, none}};
    CHECK_REFUSED(cuda_CE(&c, &e), &e, "CE on the GPU: input 1 is fp32, expected int32");
    free(x.data), free(f.data), free(h.data);
}

int main(void)
{
    start();
    test_norms();
    test_sums();
    for (size_t t = 0; t < 2; t++) {
        test_embed(types[t], 50, 13, 24);
        test_embed(types[t], 300, 200, 19);
        test_embed(types[t], 1, 1, 1);
        test_embed(types[t], 0, 3, 8);
    }
    test_losses();
    test_strange_ids();
    test_unaligned();
    test_refusals();
    return finish();
}
