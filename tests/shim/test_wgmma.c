/* test_wgmma.c - ATTEND by TMA and wgmma (attend_wgmma.h; ABLATE_ATTENTION=wgmma): long sentences beside short and
 * empty ones, ends at all offsets in a tile, and NaN in rows outside of sentences. Which calls it takes, and which
 * requests are refused. Skipped on GPUs whose capability is not 9.0, and under the address sanitizer, which cannot open
 * generated code. */
#include "attend_setting.h"
#include "tensor/cuda/compiled.h"
#include "tensor/cuda/cudnn/dnn_attend.h"
#include "tensor/cuda/ops_attention.h"
#ifdef GPU_ON_CPU
#include "by_cxx.h"
#endif

static void check_taken(const setting *s, dtype type, bool expected)
{
    int64_t before = dnn_attend_counts().wgmma;
    check_setting(type, s, false);
    CHECK_THAT((dnn_attend_counts().wgmma > before) == expected, "%s, %s: by wgmma %lld calls, expected %s", s->name,
               dtype_name(type), (long long)(dnn_attend_counts().wgmma - before), expected ? "some" : "none");
}

/* The backward pass of our other kernels can use wgmma's log-sums. */
static void check_backward(void)
{
    static const setting s = {"backward", 1, 64, 64, 0, true, true, 0.1, 2, {257, 3}, {0}};
    check_setting(BF16, &s, true);
}

/* Which kernel computes 256 rows: other kernels, if a row's bits must not depend on the longest sentence. The emulation
 * checks this before the kernel is loaded: without a compiler, or on another GPU, the call is refused. */
static void check_choice(void)
{
    view q = randoms(tensor(BF16, 1, 1, 256, 192)), off = ids_of(2, (int32_t[]){0, 256}),
         y = tensor(BF16, 1, 1, 256, 64), lse = tensor(F32, 1, 1, 256, 1);
    call k = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {q, q, q, off, off},
              .out = {y, lse},
              .a = {.ATTEND = {.scale = 0.1,
                               .k_column = 64,
                               .v_column = 128,
                               .heads = 1,
                               .d_k = 64,
                               .d_v = 64,
                               .most_keys = 256,
                               .most_queries = 256}}};
    CHECK_THAT(attention_by_wgmma(&k), "256 rows of bf16 are not wgmma's");
    k.batch_invariant = true;
    CHECK_THAT(!attention_by_wgmma(&k), "rows that must have bits of their own are wgmma's");
    k.batch_invariant = false;
    unsetenv("ABLATE_ATTENTION");
    CHECK_THAT(!attention_by_wgmma(&k), "wgmma without a word from the user");
    setenv("ABLATE_ATTENTION", "wgmma", 1);
#ifdef GPU_ON_CPU
    err e = {{0}};
    setenv("ABLATE_EMULATED_CAPABILITY", "80", 1);
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, "ABLATE_ATTENTION=wgmma: this GPU has compute capability 8.0, expected 9.0");
    unsetenv("ABLATE_EMULATED_CAPABILITY");
    e = (err){{0}};
    setenv("ABLATE_NVRTC", "/nowhere", 1);
    kernel_use_compiler(kernel_compile);
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, "/nowhere: ");
    e = (err){{0}};
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, ". ABLATE_ATTENTION=own needs no compiler");
    kernel_use_compiler(compile_by_cxx);
    unsetenv("ABLATE_NVRTC");
#endif
    release_views(&k);
}

/* Compiles the kernels for a GPU, which needs no GPU. */
static void check_compiled(void)
{
    static const char *const kernels[] = {"attend_wgmma<64>", "attend_wgmma<128>"};
    err e = {{0}};
    str image = {0}, name = {0};
    if (!kernel_compiler_found(&e)) {
        printf("skipped, compiling for a GPU: %s\n", e.text);
        return;
    }
    for (size_t i = 0; i < (test_long() ? LENGTH(kernels) : 1); i++) {
        int bad = kernel_compile("#include \"tensor/cuda/attend_wgmma.h\"\n", kernels[i], 90, &image, &name, &e);
        CHECK_THAT(!bad && image.n > 1000 && strstr(str_text(&name), "attend_wgmma"), "%s: %s", kernels[i], e.text);
    }
    bool refused = kernel_compile("#include \"tensor/cuda/attend_wgmma.h\"\n", kernels[0], 80, &image, &name, &e);
    CHECK_THAT(refused, "capability 8.0 has wgmma");
    str_free(&image), str_free(&name);
}

/* argument "breaks": runs one sentence, for kernels with a planted mistake (wgmma_breaks.sh). */
int main(int argc, char **argv)
{
#ifdef __SANITIZE_ADDRESS__
    return 77;
#endif
    start();
    if (gpu_capability() != 90) return 77;
#ifdef GPU_ON_CPU
    kernel_use_compiler(compile_by_cxx);
    setenv("ABLATE_KERNELS", "", 1);
#endif
    static const setting settings[] = {
        {"d 128, causal, dropout", 1, 128, 128, 8, true, true, 0.1, 2, {31, 300}, {0}},
        {"all ends, two heads", 2, 64, 64, 8, true, false, 0, 5, {300, 0, 1, 64, 65}, {0}},
        {"causal, two heads", 2, 64, 64, 0, true, true, 0, 3, {129, 511, 5}, {0}},
        {"cross", 1, 64, 64, 0, false, false, 0, 4, {5, 300, 63, 0}, {511, 17, 128, 9}},
        {"cross, causal", 1, 64, 64, 8, false, true, 0, 3, {300, 70, 130}, {40, 256, 1}},
        {"without keys", 1, 64, 64, 0, false, false, 0, 2, {300, 2}, {0, 33}},
        {"d 128, dropout", 2, 128, 128, 0, true, false, 0.2, 2, {257, 40}, {0}},
        {"256 and 257", 1, 64, 64, 0, true, false, 0, 2, {256, 257}, {0}},
        {"dropout, cross", 1, 64, 64, 0, false, false, 0.3, 2, {130, 3}, {33, 270}},
    };
    static const setting broken = {"d 128", 1, 128, 128, 0, true, true, 0, 1, {257}, {0}};
    static const setting others[] = {{"short", 1, 64, 64, 0, true, false, 0, 2, {255, 3}, {0}},
                                     {"d 32", 1, 32, 32, 0, true, false, 0, 1, {256}, {0}},
                                     {"d 64 and 128", 1, 64, 128, 0, true, false, 0, 1, {256}, {0}},
                                     {"odd columns", 1, 64, 64, 3, true, false, 0, 1, {256}, {0}}};
    setenv("ABLATE_ATTENTION", "wgmma", 1);
    if (argc > 1 && same(argv[1], "breaks")) {
        check_taken(&broken, BF16, true);
        return finish();
    }
    check_choice();
    for (size_t i = 0; i < LENGTH(settings); i++)
        if (i < 2 || test_long()) check_taken(&settings[i], BF16, true);
    if (test_long()) {
        times = -1; /* the largest score comes from the smallest product */
        check_taken(&settings[1], BF16, true);
        times = 1;
    }
    for (size_t i = 0; i < LENGTH(others); i++)
        if (!i || test_long()) check_taken(&others[i], BF16, false);
    if (test_long()) check_taken(&settings[0], F32, false);
    if (test_long()) check_backward();
    check_compiled();
    dnn_attend_close();
    CHECK_THAT(!dnn_attend_counts().wgmma, "the next run begins with %lld calls", (long long)dnn_attend_counts().wgmma);
    return finish();
}
