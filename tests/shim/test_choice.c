/* test_choice.c - cublaslt_multiply.c with a library that refuses, fails, or gives bits that depend on the number of
 * rows: it takes the next algorithm, then our own kernels, and returns no error. Also the file that stores chosen
 * algorithms. The library is fake_cublaslt.c. */
#include "tensor/cuda/product.h"
#include "shim_test.h"
#ifdef HAVE_CUBLASLT
#include "tensor/cuda/cublaslt.h"
#include <dlfcn.h>
#include <unistd.h>

static char choices[] = "/tmp/ablate-choices-XXXXXX";
static int64_t (*used)(void); /* the candidate that multiplied last */

static void reopen(const char *knobs)
{
    err e = {{0}};
    setenv("FAKE_CUBLASLT", knobs, 1);
    product_close();
    CHECK_THAT(!product_open(&e), "the stand-in does not open: %s", e.text);
}

typedef struct {
    view x, w, y, expected;
    void *gx, *gw, *gy;
} problem;

static problem problem_of(int64_t rows, int64_t n, int64_t k)
{
    problem q = {.x = randoms(tensor(F32, 1, 1, rows, k)),
                 .w = randoms(tensor(F32, 1, 1, k, n)),
                 .y = tensor(F32, 1, 1, rows, n),
                 .expected = tensor(F32, 1, 1, rows, n)};
    q.gx = gpu_copy_of(q.x.data, bytes_of_view(&q.x)), q.gw = gpu_copy_of(q.w.data, bytes_of_view(&q.w)),
    q.gy = gpu_alloc(bytes_of_view(&q.y));
    call c = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .in = {q.x, q.w, {.param = -1}}, .out = {q.expected}};
    err e = {{0}};
    CHECK_THAT(!cpu_LINEAR(&c, &e), "%s", e.text);
    return q;
}
static void problem_free(problem *q)
{
    gpu_release(q->gx), gpu_release(q->gw), gpu_release(q->gy);
    free(q->x.data), free(q->w.data), free(q->y.data), free(q->expected.data);
}

/* Multiplies the first `rows` rows of the problem, and compares the result. */
static void multiply(const char *what, problem *q, int64_t rows, int exact)
{
    int64_t n = q->w.dim[3], k = q->w.dim[2];
    product p = {.m = rows,
                 .n = n,
                 .k = k,
                 .a = q->gx,
                 .b = q->gw,
                 .c = q->gy,
                 .row_a = k,
                 .row_b = n,
                 .row_c = n,
                 .batch = 1,
                 .alpha = 1,
                 .exact = exact};
    CHECK_THAT(!gpu_product(&p), "%s: %s", what, gpu_error() ? gpu_error() : "no words");
    gpu_copy_out(q->y.data, q->gy, (size_t)(rows * n) * 4);
    view found = q->y, expected = q->expected;
    found.dim[2] = expected.dim[2] = rows;
    check_views(what, &found, &expected, 1e-6);
}

/* Checks how many products the library and our kernels made, and how many failed, since the last reopen. */
static void check_made(const char *what, int64_t library, int64_t own, int64_t failures)
{
    product_count c = product_counts();
    CHECK_THAT(c.library == library && c.own == own,
               "%s: %lld products by the library, %lld by our own kernels, expected %lld, %lld", what,
               (long long)c.library, (long long)c.own, (long long)library, (long long)own);
    CHECK_THAT(product_failures() == failures, "%s: %lld failures counted, expected %lld", what,
               (long long)product_failures(), (long long)failures);
    CHECK_THAT(!gpu_error(), "%s: an error stayed: %s", what, gpu_error());
}

/* If a candidate fails, the next one is tried; after the last candidate our own kernels multiply. A candidate that has
 * failed is not tried again. */
static void test_failures(void)
{
    problem q = problem_of(20, 24, 16);
    reopen("");
    multiply("the first candidate", &q, 20, 0);
    CHECK_THAT(used() == 1, "candidate %lld multiplied, expected 1", (long long)used());
    check_made("the first candidate", 1, 0, 0);
    reopen("fail=2");
    multiply("two candidates fail", &q, 20, 0);
    multiply("two candidates fail, again", &q, 20, 0);
    CHECK_THAT(used() == 3, "candidate %lld multiplied, expected 3", (long long)used());
    check_made("two candidates fail", 2, 0, 2);
    reopen("fail=12");
    multiply("all fail", &q, 20, 0);
    multiply("all fail, again", &q, 20, 0);
    check_made("all fail", 0, 2, 12);
    reopen("refuse=14"); /* CUBLAS_STATUS_INTERNAL_ERROR */
    multiply("the heuristic fails", &q, 20, 0);
    check_made("the heuristic fails", 0, 1, 1);
    reopen("refuse=15"); /* CUBLAS_STATUS_NOT_SUPPORTED, which counts as no failure */
    multiply("no algorithm", &q, 20, 0);
    check_made("no algorithm", 0, 1, 0);
    reopen("describe=7"); /* CUBLAS_STATUS_INVALID_VALUE */
    multiply("a shape that cannot be described", &q, 20, 0);
    check_made("a shape that cannot be described", 0, 1, 1);
    problem_free(&q);
}

/* Candidates 1, 3 and 4 divide k by the number of tiles, candidate 2 adds partial sums. If the product must be exact,
 * candidate 5 is chosen for any number of rows. */
static void test_exact(void)
{
    problem q = problem_of(300, 24, 16);
    reopen("tiles=4");
    static const int64_t some[] = {300, 1, 17, 256};
    for (size_t i = 0; i < LENGTH(some); i++) {
        multiply("an exact product", &q, some[i], 1);
        CHECK_THAT(used() == 5, "%lld rows: candidate %lld multiplied, expected 5", (long long)some[i],
                   (long long)used());
    }
    reopen("tiles=12");
    multiply("no candidate is exact", &q, 17, 1);
    check_made("no candidate is exact", 0, 1, 0);
    reopen("check=1000");
    multiply("no candidate takes 1000 rows", &q, 17, 1);
    check_made("no candidate takes 1000 rows", 0, 1, 0);
    /* a failure at a new number of rows: the next candidates are tried, then our own kernels multiply */
    reopen("check=9");
    multiply("9 rows", &q, 9, 1);
    multiply("9 rows, then 10", &q, 10, 1);
    check_made("9 rows", 0, 2, 1);
    problem_free(&q);
}

/* Computes max(0, x W + b), its gradient with respect to x and, for each half of the rows, the gradients of W and b.
 * The library computes each of these in one call. If it cannot, it multiplies only, and our kernels do the rest. The
 * numbers are the same. */
static void run_at_once(const char *what, int expected, view found[3], const view in[5])
{
    int64_t rows = in[0].dim[2], k = in[0].dim[3], n = in[1].dim[3];
    err e = {{0}};
    view g[5], y = {.dim = {1, 1, rows, n}, .type = BF16, .param = -1},
               out[3] = {y, {.dim = {1, 2, k, n}, .param = -1}, {.dim = {1, 1, 2, n}, .param = -1}};
    out[1].type = out[2].type = F32;
    for (int i = 0; i < 5; i++) g[i] = in[i], g[i].data = gpu_copy_of(in[i].data, bytes_of_view(&in[i]));
    for (int i = 0; i < 3; i++) out[i].data = gpu_alloc(bytes_of_view(&out[i]));
    y.data = gpu_alloc(bytes_of_view(&y));
    product_count before = product_counts();
    call forward = {.op = OP_LINEAR,
                    .n_in = 3,
                    .n_out = 1,
                    .in = {g[0], g[1], g[2]},
                    .out = {y},
                    .a.LINEAR = {.relu = 1},
                    .training = true};
    call back = {.op = OP_LINEAR_DX,
                 .n_in = 4,
                 .n_out = 1,
                 .in = {g[3], g[4], {.param = -1}, y},
                 .out = {out[0]},
                 .training = true};
    call weights = {.op = OP_LINEAR_DW,
                    .n_in = 2,
                    .n_out = 2,
                    .in = {g[0], out[0]},
                    .out = {out[1], out[2]},
                    .training = true,
                    .batch = 2};
    weights.in[0].dim[2] /= 2, weights.in[1].dim[2] /= 2, weights.out[0].dim[1] = weights.out[1].dim[2] = 1;
    for (int i = 0; i < 2; i++)
        weights.stride[i] = (int64_t)bytes_of_view(&weights.in[i]),
        weights.stride[2 + i] = (int64_t)bytes_of_view(&weights.out[i]);
    CHECK_THAT(!cuda_LINEAR(&forward, &e) && !cuda_LINEAR_DX(&back, &e) && !cuda_LINEAR_DW(&weights, &e), "%s: %s",
               what, e.text);
    int64_t library = product_counts().library - before.library, at_once = product_counts().at_once - before.at_once;
    CHECK_THAT(library == 3 && at_once == expected,
               "%s: %lld products by the library, %lld of them with more, expected 3, %d", what, (long long)library,
               (long long)at_once, expected);
    for (int i = 0; i < 3; i++) {
        found[i] = out[i], found[i].data = xmalloc(bytes_of_view(&out[i]));
        gpu_copy_out(found[i].data, out[i].data, bytes_of_view(&out[i]));
        gpu_release(out[i].data);
    }
    for (int i = 0; i < 5; i++) gpu_release(g[i].data);
    gpu_release(y.data);
}

static void test_at_once(void)
{
    enum { ROWS = 70, K = 24, N = 40, D = 16 };
    static const char *const parts[] = {"dx", "dW", "sums over rows"};
    view in[5] = {randoms(tensor(BF16, 1, 1, ROWS, K)), randoms(tensor(F32, 1, 1, K, N)),
                  randoms(tensor(F32, 1, 1, 1, N)), randoms(tensor(BF16, 1, 1, ROWS, D)),
                  randoms(tensor(F32, 1, 1, N, D))};
    view at_once[3], apart[3];
    reopen("");
    run_at_once("at once", 3, at_once, in);
    reopen("plain=1");
    run_at_once("one after another", 0, apart, in);
    int64_t zeros = 0;
    for (int64_t j = 0; j < size_of(&apart[0]); j++) zeros += get(&apart[0], j) == 0;
    CHECK_THAT(zeros > ROWS * N / 4, "%lld of %d elements below the ReLU are 0, expected about half", (long long)zeros,
               ROWS * N);
    for (int i = 0; i < 3; i++) {
        check_views(parts[i], &at_once[i], &apart[i], 1e-6);
        free(at_once[i].data);
        free(apart[i].data);
    }
    for (int i = 0; i < 5; i++) free(in[i].data);
}

/* Computes max(0, x W) into `to`, in that type, as in training, where the library may store a mask of the ReLU. */
static void put_relu(dtype type, int64_t rows, const view *x, const view *w, void *to)
{
    err e = {{0}};
    view in[2] = {*x, *w}, y = {.data = to, .dim = {1, 1, rows, w->dim[3]}, .type = type, .param = -1};
    in[0].dim[2] = rows;
    call k = {.op = OP_LINEAR,
              .n_in = 3,
              .n_out = 1,
              .in = {in[0], in[1], {.param = -1}},
              .out = {y},
              .a.LINEAR = {.relu = 1},
              .training = true};
    CHECK_THAT(!cuda_LINEAR(&k, &e), "%s", e.text);
}

/* Tapes reuse addresses. If a ReLU of fp32 rows follows one of bf16 rows at the same address, its gradient must not use
 * the old mask. If a mask is replaced by a larger one, it is kept, since graphs may refer to it, but only until
 * closing. */
static void test_reused(void)
{
    enum { ROWS = 70, K = 24, N = 40, D = 16 };
    err e = {{0}};
    view x16 = randoms(tensor(BF16, 1, 1, ROWS, K)), x = randoms(tensor(F32, 1, 1, ROWS, K)),
         w = randoms(tensor(F32, 1, 1, K, N)), dy = randoms(tensor(F32, 1, 1, ROWS, D)),
         v = randoms(tensor(F32, 1, 1, N, D)), y = tensor(F32, 1, 1, ROWS, N), dx = y, found = y;
    dx.data = xmalloc(bytes_of_view(&dx)), found.data = xmalloc(bytes_of_view(&found));
    call forward = {.op = OP_LINEAR, .n_in = 3, .n_out = 1, .in = {x, w, {.param = -1}}, .out = {y}};
    forward.a.LINEAR.relu = 1;
    call back = {.op = OP_LINEAR_DX, .n_in = 4, .n_out = 1, .in = {dy, v, {.param = -1}, y}, .out = {dx}};
    CHECK_THAT(!cpu_LINEAR(&forward, &e) && !cpu_LINEAR_DX(&back, &e), "%s", e.text);

    view *all[] = {&x16, &x, &w, &dy, &v};
    void *host[LENGTH(all)], *at = gpu_alloc(bytes_of_view(&y)), *to = gpu_alloc(bytes_of_view(&dx));
    for (size_t i = 0; i < LENGTH(all); i++)
        host[i] = all[i]->data, all[i]->data = gpu_copy_of(host[i], bytes_of_view(all[i]));
    int64_t blocks[3];
    for (int round = 0; round < 3; round++) {
        reopen("");
        put_relu(BF16, ROWS / 2, &x16, &w, at);
        put_relu(BF16, ROWS, &x16, &w, at);
        product_count before = product_counts();
        put_relu(F32, ROWS, &x, &w, at);
        call k = back;
        k.in[0] = dy, k.in[1] = v, k.in[3].data = at, k.out[0].data = to, k.training = true;
        CHECK_THAT(!cuda_LINEAR_DX(&k, &e), "%s", e.text);
        CHECK_THAT(product_counts().library - before.library == 2, "%lld products by the library, expected 2",
                   (long long)(product_counts().library - before.library));
        gpu_copy_out(found.data, to, bytes_of_view(&found));
        check_views("the gradient below a ReLU of fp32 rows", &found, &dx, 1e-5);
        product_close();
        blocks[round] = gpu_done.blocks;
    }
    CHECK_THAT(blocks[2] == blocks[1], "%lld blocks of memory after one more close, %lld before", (long long)blocks[2],
               (long long)blocks[1]);
    for (size_t i = 0; i < LENGTH(all); i++) gpu_release(all[i]->data), free(host[i]);
    gpu_release(at), gpu_release(to);
    free(y.data), free(dx.data), free(found.data);
}

/* The fastest of eight algorithms is written to the file; a program that finds an algorithm in the file measures
 * nothing; an invalid file gives an error that names the line. */
static void test_file(void)
{
    problem q = problem_of(20, 24, 16);
    err e = {{0}};
    str text = {0};
    setenv("ABLATE_CUBLASLT_CHOICES", choices, 1);
    reopen("fast=6");
    multiply("timed", &q, 20, 0);
    CHECK_THAT(used() == 6, "candidate %lld multiplied, expected 6, which is fast", (long long)used());
    multiply("timed, exact", &q, 20, 1);
    CHECK_THAT(used() == 6, "candidate %lld multiplied, expected 6, which is fast", (long long)used());
    CHECK_THAT(!file_read(choices, &text, &e), "%s", e.text);
    int64_t lines = 0;
    for (const char *c = str_text(&text); *c; c++) lines += *c == '\n';
    CHECK_THAT(lines == 2 && strstr(str_text(&text), "\tm=20 n=24 k=16 ") &&
                   strstr(str_text(&text), "\tm=0 n=24 k=16 ") && strstr(str_text(&text), "\tid=6 tile=7 "),
               "%lld lines, expected 2 for 20 x 24 x 16 and any rows x 24 x 16, with algorithm 6:\n%s",
               (long long)lines, str_text(&text));
    reopen("fast=3");
    multiply("from the file", &q, 20, 0);
    CHECK_THAT(used() == 6, "candidate %lld multiplied, expected 6, which the file has", (long long)used());
    str_add(&text, "GPU\t130000\tm=1\tid=1 tile=2\t0.1\t0.1\n");
    CHECK_THAT(!file_write(choices, text.s, text.n, &e), "%s", e.text);
    product_close();
    char words[512];
    snprintf(words, sizeof words, "%s:3: algorithm 'id=1 tile=2', expected nine numbers", choices);
    CHECK_REFUSED(product_open(&e), &e, words);
    unsetenv("ABLATE_CUBLASLT_CHOICES");
    str_free(&text);
    problem_free(&q);
}

/* FAKE_CUBLASLT=plain=1: the library only multiplies, and what comes before or after a product is a launch of its
 * own. */
static void test_plain(void)
{
    for (int plain = 0; plain < 2; plain++) {
        setenv("ABLATE_PRODUCT", plain ? "plain" : "library", 1);
        reopen("");
        CHECK_THAT(product_may_fuse() != plain, "ABLATE_PRODUCT=%s: may products be fused? found %d",
                   plain ? "plain" : "library", product_may_fuse());
    }
    setenv("ABLATE_PRODUCT", "library", 1);
}

int main(void)
{
    start();
    setenv("ABLATE_CUBLASLT", BUILD_DIR "/fake_cublaslt.so", 1);
    setenv("ABLATE_PRODUCT", "library", 1);
    void *library = dlopen(BUILD_DIR "/fake_cublaslt.so", RTLD_NOW);
    CHECK_THAT(library, "%s", dlerror());
    if (library) *(void **)&used = dlsym(library, "fake_cublaslt_used");
    int file = mkstemp(choices);
    if (library && file >= 0) {
        close(file);
        remove(choices);
        test_failures();
        test_exact();
        test_at_once();
        test_reused();
        test_file();
        remove(choices);
        test_plain();
    }
    product_close();
    return finish();
}
#else
int main(void)
{
    printf("no header of cuBLASLt, or a real GPU, where the library is the real one\n");
    return 77;
}
#endif
