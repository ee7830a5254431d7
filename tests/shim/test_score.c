/* test_score.c - ATTEND_PROGRAM, ATTEND_PROGRAM_BACK and ATTEND_PROGRAM_STEP: attention whose scores go through
 * programs. Gradients of leaves of every shape, of tables gathered by distance, and of vectors weighted and summed by
 * distance; windows; programs with the largest allowed number of live values. */
#include "tensor/cuda/compiled.h"
#include "tensor/cuda/score_program.h"
#include "tensor/graph/score.h"
#include "shim_test.h"
#ifdef GPU_ON_CPU
#include "by_cxx.h"
#endif
#include <elf.h>
#include <glob.h>
#include <unistd.h>

enum { HEADS = 2, CLIP = 3, DISTANCES = 2 * CLIP + 1, GATHERED = -2, PLAIN = -1 };
typedef struct {
    int64_t sentences, tq, tk;
} sizes;

/* ---- programs: each function writes a program's operations to a draft; B, H, Q, K as a leaf's axes mean the batch's
 * sizes ---- */

enum { B = -1, H = -3, Q = -4, K = -5, N = -6 };
typedef struct {
    const char *name;
    ab_t (*write)(ab_ctx *c, ab_t s, const ab_t *leaf);
    int64_t leaf[SCORE_LEAVES][4]; /* lengths of each leaf's axes; all 0: this and later leaves do not exist */
    bool constant[SCORE_LEAVES];   /* the leaf needs no gradient */
    bool counts;
    double (*fill[SCORE_LEAVES])(int64_t query, int64_t key); /* NULL: random */
    int sink; /* 1 + the leaf that is a sink; 0: none; PLAIN: weights without a sum */
} score_case;

static ab_t add_first(ab_ctx *c, ab_t s, const ab_t *l) { return t_binary(c, OP_ADD, s, l[0]); }
static ab_t times_first(ab_ctx *c, ab_t s, const ab_t *l) { return t_binary(c, OP_MUL, s, l[0]); }
static ab_t bent(ab_ctx *c, ab_t s, const ab_t *l)
{
    (void)l;
    return t_mul_scalar(c, t_map(c, t_mul_scalar(c, s, 0.5), AB_TANH), 2);
}
static ab_t sloped(ab_ctx *c, ab_t s, const ab_t *l)
{
    return t_binary(c, OP_ADD, s, t_binary(c, OP_MUL, l[0], t_map(c, l[1], AB_ABS)));
}
static ab_t all_four(ab_ctx *c, ab_t s, const ab_t *l)
{
    ab_t x = t_binary(c, OP_MUL, s, t_map(c, l[0], AB_SIGMOID));
    return t_binary(c, OP_SUB, t_binary(c, OP_MUL, x, l[1]),
                    t_binary(c, OP_MINIMUM, l[2], t_binary(c, OP_MUL, l[3], x)));
}
static ab_t two_gathered(ab_ctx *c, ab_t s, const ab_t *l)
{
    return t_binary(c, OP_ADD, t_binary(c, OP_MUL, s, l[1]), l[0]);
}
/* Hides pairs whose distance exceeds the limit. */
static ab_t within(ab_ctx *c, ab_t s, const ab_t *l)
{
    return t_binary(c, OP_ADD, s, t_binary(c, OP_MUL, t_binary(c, OP_LESS_THAN, l[1], t_map(c, l[0], AB_ABS)), l[2]));
}
/* Computes values that are all alive at once, then their sum. */
static ab_t many_values(ab_ctx *c, ab_t s, const ab_t *l)
{
    enum { MANY = 8 };
    ab_t x[MANY];
    for (int i = 0; i < MANY; i++) x[i] = t_add_scalar(c, i ? x[i - 1] : s, 0.1 * i);
    ab_t y = t_binary(c, OP_MUL, s, l[0]);
    for (int i = 0; i < MANY; i++) y = t_binary(c, OP_ADD, y, x[i]);
    return t_mul_scalar(c, y, 1.0 / MANY);
}
static ab_t as_it_is(ab_ctx *c, ab_t s, const ab_t *l) { return (void)c, (void)l, s; }
static ab_t smoothed(ab_ctx *c, ab_t s, const ab_t *l) { return t_map(c, add_first(c, s, l), AB_SIGMOID); }
static double apart(int64_t i, int64_t j) { return (double)(j - i); }
/* queries of a short sentence see no key */
static double later_only(int64_t i, int64_t j) { return (double)(j - i - 20); }
static double five(int64_t i, int64_t j) { return (void)i, (void)j, 5; }
static double hide(int64_t i, int64_t j) { return (void)i, (void)j, -1e9; }

static const score_case cases[] = {
    {"bias of every pair", add_first, {{1, H, Q, K}}, {0}, false, {0}, 0},
    {"bias of every pair, one for all heads", add_first, {{1, 1, Q, K}}, {0}, false, {0}, 0},
    {"bias of each sentence's pairs", add_first, {{B, 1, Q, K}}, {0}, false, {0}, 0},
    {"factor of a head", times_first, {{1, H, 1, 1}}, {0}, false, {0}, 0},
    {"factor of all", times_first, {{1, 1, 1, 1}}, {0}, false, {0}, 0},
    {"factor of a sentence", times_first, {{B, 1, 1, 1}}, {0}, false, {0}, 0},
    {"bent", bent, {{0}}, {0}, false, {0}, 0},
    {"slopes", sloped, {{1, H, 1, 1}, {1, 1, Q, K}}, {true, true}, false, {NULL, apart}, 0},
    {"of head, query, key and pair",
     all_four,
     {{1, H, 1, 1}, {B, H, Q, 1}, {1, 1, 1, K}, {B, H, 1, K}},
     {0},
     false,
     {0},
     0},
    {"of query, key and sentence",
     all_four,
     {{B, 1, 1, 1}, {1, H, Q, 1}, {B, 1, 1, K}, {1, 1, Q, 1}},
     {0},
     false,
     {0},
     0},
    {"gathered", add_first, {{1, H, Q, N}}, {0}, true, {0}, 0},
    {"gathered, each sentence's own", two_gathered, {{B, H, Q, N}, {1, 1, Q, N}}, {0}, true, {0}, 0},
    {"window", within, {{1, 1, Q, K}, {1, 1, 1, 1}, {1, 1, 1, 1}}, {true, true, true}, false, {apart, five, hide}, 0},
    {"window beyond the sentence",
     within,
     {{1, 1, Q, K}, {1, 1, 1, 1}, {1, 1, 1, 1}},
     {true, true, true},
     false,
     {later_only, five, hide},
     0},
    {"many values at once", many_values, {{1, H, 1, 1}}, {0}, false, {0}, 0},
    {"sink of a head", as_it_is, {{1, H, 1, 1}}, {0}, false, {0}, 1},
    {"sink of each query, and a bias", add_first, {{1, H, Q, K}, {B, H, Q, 1}}, {0}, false, {0}, 2},
    {"sink of a sentence, and sums by id", add_first, {{1, H, Q, N}, {B, 1, 1, 1}}, {0}, true, {0}, 2},
    {"weights without a sum", smoothed, {{1, H, 1, 1}}, {0}, false, {0}, PLAIN},
    {"weights without a sum, by id", smoothed, {{1, H, Q, N}}, {0}, true, {0}, PLAIN},
};

static view leaf_of(const score_case *s, int k, const sizes *z)
{
    int64_t d[4];
    for (int i = 0; i < 4; i++) {
        int64_t x = s->leaf[k][i];
        d[i] = x == B ? z->sentences : x == H ? HEADS : x == Q ? z->tq : x == K ? z->tk : x == N ? DISTANCES : x;
    }
    view v = randoms_in(tensor(F32, d[0], d[1], d[2], d[3]), -1, 1);
    for (int64_t i = 0; i < size_of(&v) && s->fill[k]; i++) set(&v, i, s->fill[k](i / d[3] % d[2], i % d[3]));
    return v;
}

/* Compiles the program without operations that gather: the kernel does that. */
static score_program *program_of(const score_case *s, ab_ctx *c)
{
    score_draft d;
    ab_t leaf[SCORE_LEAVES];
    score_draft_open(&d, c);
    for (int k = 0; k < SCORE_LEAVES && s->leaf[k][0]; k++) leaf[k] = score_draft_leaf(&d, !s->constant[k]);
    score_program *f = score_draft_close(&d, c, s->write(d.tape, d.score, leaf));
    CHECK_THAT(f != NULL, "%s: no program", s->name);
    if (f) f->sink = s->sink == PLAIN ? -1 : s->sink - 1;
    if (f && s->sink == PLAIN) f->weights = WEIGHTS_PLAIN, f->hiding = -1;
    for (int k = 0; k < SCORE_LEAVES && f; k++) f->gathered[k] = s->leaf[k][3] == N;
    return f;
}

typedef struct {
    const char *name;
    int64_t d;
    int64_t gap; /* unused columns in front of q */
    bool self, causal;
    double p;
    int n;
    int32_t q[8], k[8];
} setting;

static view offsets_of(int n, const int32_t *length, int64_t *longest)
{
    view off = tensor(I32, 1, 1, 1, n + 1);
    int64_t at = 0;
    *longest = 1;
    for (int i = 0; i <= n; i++) {
        set(&off, i, (double)at);
        if (i < n && length[i] > *longest) *longest = length[i];
        at += i < n ? length[i] : 0;
    }
    return off;
}
static view rows_with_dummies(dtype type, int64_t rows, int64_t dummies, int64_t width)
{
    view v = randoms_in(tensor(type, 1, 1, rows + dummies, width), -1, 1);
    memset((char *)v.data + (size_t)(rows * width) * dtype_size(type), 0xff,
           (size_t)(dummies * width) * dtype_size(type));
    return v;
}
static view nothing(void) { return (view){.type = F32, .param = -1}; }

/* ---- programs compiled to code ---- */

/* The interpreter and the compiled program give the same bits. */
static void check_written(const char *what, kernel on_gpu, const call *k)
{
    check_block b[MAX_IN + MAX_OUT] = {{0}};
    call g = *k;
    int n = check_collect(&g, b);
    err e = {{0}};
    for (int j = 0; j < n; j++) b[j].device = gpu_alloc(b[j].bytes);
    for (int i = 0; i < k->n_in; i++) g.in[i].data = check_device(b, n, k->in[i].data);
    for (int i = 0; i < k->n_out; i++) g.out[i].data = check_device(b, n, k->out[i].data);
    gpu_set_counter(k->seed, k->step);
    for (int run = 0; run < 2; run++) {
        for (int j = 0; j < n; j++) {
            b[j].back[run] = xmalloc(b[j].bytes + 1);
            memcpy(b[j].back[run], b[j].host, b[j].bytes);
            if (!strcmp(b[j].role, "out")) memset(b[j].back[run], 0xff, b[j].bytes);
            gpu_copy_in(b[j].device, b[j].back[run], b[j].bytes);
        }
        setenv("ABLATE_SCORE", run ? "compiled" : "interpreted", 1);
        CHECK_THAT(!on_gpu(&g, &e), "%s: %s", what, e.text);
        setenv("ABLATE_SCORE", "interpreted", 1);
        for (int j = 0; j < n; j++) gpu_copy_out(b[j].back[run], b[j].device, b[j].bytes);
    }
    for (int j = 0; j < n; j++) {
        char name[256];
        snprintf(name, sizeof name, "%s, written out, %s %d", what, b[j].role, b[j].index);
        check_same_bits(name, b[j].back[1], b[j].back[0], b[j].bytes);
        gpu_release(b[j].device);
        free(b[j].back[0]), free(b[j].back[1]);
    }
}

/* whether check_case compares compiled programs with the interpreter: 0: it does not; 1: forward; 2: forward and
 * backward */
static int written;

static void check_case(dtype type, const score_case *s, const setting *how)
{
    char name[160];
    static params none;
    roll((uint64_t)(s - cases));
    ab_ctx *c = tape_new(&none, &cpu_backend, F32, true);
    snprintf(name, sizeof name, "%s, %s, %s", s->name, how->name, dtype_name(type));
    sizes z = {.sentences = how->n};
    view q_off = offsets_of(how->n, how->q, &z.tq), k_off = how->self ? q_off : offsets_of(how->n, how->k, &z.tk);
    if (how->self) z.tk = z.tq;
    int64_t used_q = (int64_t)get(&q_off, how->n), used_k = (int64_t)get(&k_off, how->n), width = HEADS * how->d;
    view q = rows_with_dummies(type, used_q, 3, how->gap + width + (how->self ? 2 * width : 0));
    view kv = how->self ? q : rows_with_dummies(type, used_k, 19, 2 * width);
    int64_t k_column = how->self ? how->gap + width : 0;
    score_program *f = program_of(s, c);
    call k = {.op = OP_ATTEND_PROGRAM,
              .n_in = INPUT(ATTEND_PROGRAM_BACK, lse),
              .n_out = 3,
              .in = {q, kv, kv, q_off, k_off},
              .training = true,
              .seed = 99,
              .step = 3,
              .a = {.ATTEND = {.p = how->p,
                               .scale = 1 / sqrt((double)how->d),
                               .place = 21,
                               .q_column = how->gap,
                               .k_column = k_column,
                               .v_column = k_column + width,
                               .heads = HEADS,
                               .d_k = how->d,
                               .d_v = how->d,
                               .causal = how->causal,
                               .most_keys = z.tk,
                               .most_queries = z.tq}},
              .call_attr = f};
    bool gathers = s->counts;
    k.i.ATTEND_PROGRAM.ids = nothing();
    for (int i = 0; i < SCORE_LEAVES; i++) {
        k.i.ATTEND_PROGRAM.leaf[i] = s->leaf[i][0] ? leaf_of(s, i, &z) : nothing();
        gathers |= s->leaf[i][3] == N;
    }
    if (gathers) {
        view ids = k.i.ATTEND_PROGRAM.ids = tensor(I32, 1, 1, z.tq, z.tk);
        for (int64_t i = 0; i < size_of(&ids); i++) {
            int64_t apart = i % z.tk - i / z.tk;
            set(&ids, i, (double)(CLIP + (apart < -CLIP ? -CLIP : apart > CLIP ? CLIP : apart)));
        }
    }
    view y = tensor(type, 1, 1, used_q + 3, width), lse = tensor(F32, 1, 1, used_q + 3, HEADS);
    view sums = s->counts ? tensor(F32, z.sentences, HEADS, z.tq, DISTANCES) : nothing();
    k.out[0] = y, k.out[1] = lse, k.o.ATTEND_PROGRAM.z = sums;
    check_call(name, cpu_ATTEND_PROGRAM, cuda_ATTEND_PROGRAM, &k, type == F32 ? 1e-5 : 4e-3);

    if (written) check_written(name, cuda_ATTEND_PROGRAM, &k);
    view dy = rows_with_dummies(type, used_q, 3, width), dq = tensor(type, 1, 1, used_q + 3, q.dim[3]);
    call back = k;
    back.op = OP_ATTEND_PROGRAM_BACK, back.n_in = INPUTS(ATTEND_PROGRAM_BACK),
    back.n_out = OUTPUT(ATTEND_PROGRAM_BACK, d_leaf) + SCORE_LEAVES;
    back.i.ATTEND_PROGRAM_BACK.lse = lse, back.i.ATTEND_PROGRAM_BACK.dy = dy, back.i.ATTEND_PROGRAM_BACK.y = y,
    back.i.ATTEND_PROGRAM_BACK.z = sums;
    back.i.ATTEND_PROGRAM_BACK.dz =
        s->counts ? randoms_in(tensor(F32, sums.dim[0], sums.dim[1], sums.dim[2], sums.dim[3]), -1, 1) : nothing();
    back.o.ATTEND_PROGRAM_BACK.dv = nothing();
    back.out[0] = dq,
    back.out[1] = how->self ? (view){.type = type, .param = -1} : tensor(type, 1, 1, used_k + 19, 2 * width);
    for (int i = 0; i < SCORE_LEAVES; i++) {
        const int64_t *d = k.i.ATTEND_PROGRAM.leaf[i].dim;
        back.o.ATTEND_PROGRAM_BACK.d_leaf[i] =
            f->d_leaf[i] >= 0 || i == f->sink ? tensor(F32, d[0], d[1], d[2], d[3]) : nothing();
    }
    strncat(name, ", backward", sizeof name - strlen(name) - 1);
    /* In bf16 a query's sum of dy y uses a rounded y. Its error, 2^-9 / sqrt(3) of |dy y|, is the same for all pairs of
     * the query. It remains in sums over queries that nearly cancel, such as the gradient of one number per head: there
     * an error of 5e-4 in 0.045 was found. */
    check_call(name, cpu_ATTEND_PROGRAM_BACK, cuda_ATTEND_PROGRAM_BACK, &back,
               type == F32                        ? 3e-5
               : s->leaf[0][0] && !s->constant[0] ? 2e-2
                                                  : 1e-2);
    if (written > 1) check_written(name, cuda_ATTEND_PROGRAM_BACK, &back);
    release_views(&back);
    tape_free(c);
}

/* Row r of a step is at position `time`; its past lies in the caches of other rows. */
static void check_step(dtype type, const score_case *s, int64_t d, int32_t time)
{
    enum { ROWS = 5, CAPACITY = 40 };
    char name[160];
    static params none;
    roll((uint64_t)(s - cases));
    ab_ctx *c = tape_new(&none, &cpu_backend, F32, true);
    snprintf(name, sizeof name, "step %d, %s, width %d, %s", time, s->name, (int)d, dtype_name(type));
    sizes z = {.sentences = ROWS, .tq = 1, .tk = CAPACITY};
    int64_t width = HEADS * d;
    call k = {.op = OP_ATTEND_PROGRAM_STEP,
              .n_in = INPUT(ATTEND_PROGRAM_BACK, lse),
              .n_out = 3,
              .a = {.ATTEND = {.scale = 0.3,
                               .k_column = width,
                               .v_column = 2 * width,
                               .heads = HEADS,
                               .d_k = d,
                               .d_v = d,
                               .causal = 1,
                               .most_keys = CAPACITY,
                               .most_queries = 1}},
              .in = {randoms_in(tensor(type, 1, 1, ROWS, 3 * width), -1, 1),
                     randoms_in(tensor(type, 1, ROWS, CAPACITY, 2 * width), -1, 1),
                     ids_below(tensor(I32, 1, 1, ROWS, CAPACITY), ROWS), ids_of(1, &time), nothing(), nothing()},
              .out = {tensor(type, 1, 1, ROWS, width), nothing(),
                      s->counts ? tensor(F32, ROWS, HEADS, 1, DISTANCES) : nothing()},
              .call_attr = program_of(s, c)};
    bool gathers = s->counts;
    for (int i = 0; i < SCORE_LEAVES; i++) {
        k.i.ATTEND_PROGRAM.leaf[i] = s->leaf[i][0] ? leaf_of(s, i, &z) : nothing();
        gathers |= s->leaf[i][3] == N;
    }
    if (gathers) k.i.ATTEND_PROGRAM.ids = ids_below(tensor(I32, 1, 1, 1, CAPACITY), DISTANCES);
    check_call(name, cpu_ATTEND_PROGRAM_STEP, cuda_ATTEND_PROGRAM_STEP, &k, type == F32 ? 1e-5 : 4e-3);
    release_views(&k);
    tape_free(c);
}

/* Programs are compiled once and kept. If NVRTC is installed, it compiles them for a GPU, which needs no GPU. */
static void check_compiled(bool all)
{
    static const setting wide = {"written, wide", 72, 0, true, true, 0.1, 2, {19, 3}, {0}};
    static const setting one = {"written", 16, 0, true, true, 0.2, 3, {17, 0, 5}, {0}};
#if defined GPU_ON_CPU && !defined __SANITIZE_ADDRESS__
    static char folder[] = "/tmp/ablate_scoreXXXXXX";
    bool made = mkdtemp(folder) != NULL;
    CHECK_THAT(made, "%s cannot be made", folder);
    if (!made) return;
    char *kept = xprintf("%s/kept", folder), *command = xprintf("rm -rf %s", folder);
    setenv("ABLATE_KERNELS", kept, 1);
    kernel_use_compiler(compile_by_cxx);
    written = all ? 2 : 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool chosen = !strcmp(cases[i].name, "window beyond the sentence");
        if (chosen || (all && test_drawn(i, 4))) check_case(F32, &cases[i], &one);
        if (all && test_drawn(i, 8)) check_case(BF16, &cases[i], &one);
        if (all && test_drawn(i + 1, 8)) check_case(BF16, &cases[i], &wide);
    }
    written = 0;
    kernel_use_compiler(kernel_compile);
    char *pattern = xprintf("%s/*.cubin", kept);
    glob_t files = {0};
    bool found = !glob(pattern, 0, NULL, &files);
    CHECK_THAT(found && (int64_t)files.gl_pathc == kernel_compilations(),
               "%s: %zu files, expected one for each of %lld compilations", pattern, files.gl_pathc,
               (long long)kernel_compilations());
    CHECK_THAT(!system(command), "%s failed", command);
    globfree(&files);
    free(kept), free(command), free(pattern);
#endif
    err e = {{0}};
    str image = {0}, name = {0};
    if (!kernel_compiler_found(&e)) {
        printf("skipped, compiling for a GPU: %s\n", e.text);
        return;
    }
#ifndef GPU_ON_CPU
    setenv("ABLATE_KERNELS", "", 1); /* no file of an earlier test is used */
    written = 2;
    for (size_t i = 0; i < LENGTH(cases); i += 4) check_case(BF16, &cases[i], i % 8 ? &wide : &one);
    written = 0;
#endif
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static params none;
        static const char *const kernels[] = {"score_forward<bf16, 64, 1, written_program>",
                                              "score_back_q<float, 64, 1, written_program>",
                                              "score_back_k<bf16, 64, 2, written_program>"};
        if (i && !(all && test_drawn(i, 8))) continue;
        ab_ctx *c = tape_new(&none, &cpu_backend, F32, true);
        gpu_score f;
        str source = {0};
        gpu_score_of(program_of(&cases[i], c), &f);
        score_source(&f, &source);
        for (size_t k = 0; k < (all ? sizeof kernels / sizeof *kernels : 1); k++) {
            int bad = kernel_compile(str_text(&source), kernels[k], 90, &image, &name, &e);
            CHECK_THAT(!bad && image.n > 1000 && strstr(str_text(&name), "written_program"), "%s: %s", cases[i].name,
                       e.text);
        }
        str_free(&source);
        tape_free(c);
    }
    str_free(&image), str_free(&name);
    (void)one, (void)wide;
}

/* Counts how often an opcode occurs in a cubin's section. The low bits of every second word of 64 bits are the
 * opcode. */
static int count_opcode(const str *image, const char *section, uint64_t opcode)
{
    Elf64_Ehdr head;
    int n = 0;
    memcpy(&head, image->s, sizeof head);
    Elf64_Shdr all[head.e_shnum];
    memcpy(all, image->s + head.e_shoff, sizeof all);
    for (int i = 0; i < head.e_shnum; i++) {
        if (strcmp(image->s + all[head.e_shstrndx].sh_offset + all[i].sh_name, section)) continue;
        for (size_t at = 0; at + 16 <= all[i].sh_size; at += 16) {
            uint64_t word;
            memcpy(&word, image->s + all[i].sh_offset + at, sizeof word);
            n += (word & 0x1ff) == opcode;
        }
    }
    return n;
}

/* NVRTC must not contract a multiplication and an addition. */
static void check_contraction(void)
{
    static const char source[] = "extern \"C\" __global__ void f(float *x) { x[0] = x[0] * x[1] + x[2]; }\n";
    /* opcodes of compute capability 9.0, for all kinds of operands */
    enum { FMUL = 0x020, FADD = 0x021, FFMA = 0x023 };
    str image = {0}, name = {0};
    err e = {{0}};
    if (!kernel_compiler_found(&e)) return;
    CHECK_THAT(!kernel_compile(source, "f", 90, &image, &name, &e), "%s", e.text);
    if (image.n < SELFMAG || memcmp(image.s, ELFMAG, SELFMAG)) { /* tests/ptx: its NVRTC gives PTX */
        puts("skipped, contraction: this compiler makes no machine code");
        str_free(&image), str_free(&name);
        return;
    }
    int muls = count_opcode(&image, ".text.f", FMUL), adds = count_opcode(&image, ".text.f", FADD),
        fmas = count_opcode(&image, ".text.f", FFMA);
    CHECK_THAT(muls == 1 && adds == 1 && !fmas, "x y + z: %d FMUL, %d FADD, %d FFMA, expected 1, 1, 0", muls, adds,
               fmas);
    str_free(&image), str_free(&name);
}

/* Checks the messages for a missing compiler and for an unknown value of ABLATE_SCORE. Must run before a compiler is
 * loaded. */
static void check_words(void)
{
    static const char *const settings[][3] = {
        {"ABLATE_NVRTC", "/nowhere/libnvrtc.so", "/nowhere/libnvrtc.so"},
        {"ABLATE_NVRTC", "/nowhere/libnvrtc.so", "ABLATE_SCORE=interpreted runs score programs slowly"},
        {"ABLATE_SCORE", "quick", "ABLATE_SCORE is \"quick\", expected \"compiled\" or \"interpreted\""}};
    static params none;
    for (size_t i = 0; i < LENGTH(settings); i++) {
        ab_ctx *c = tape_new(&none, &cpu_backend, F32, true);
        gpu_score f;
        void *kernel;
        gpu_score_of(program_of(&cases[0], c), &f);
        setenv("ABLATE_SCORE", "compiled", 1);
        setenv(settings[i][0], settings[i][1], 1);
        int bad = gpu_written_kernel("score_forward<float, 64, 1, written_program>", &f, &kernel);
        CHECK_THAT(bad == -1 && strstr(gpu_error(), settings[i][2]), "found %d and \"%s\", expected -1 and \"%s\"", bad,
                   gpu_error() ? gpu_error() : "", settings[i][2]);
        gpu_clear_refusal();
        unsetenv("ABLATE_SCORE"), unsetenv("ABLATE_NVRTC");
        tape_free(c);
    }
}

int main(void)
{
    start();
    check_words();
    setenv("ABLATE_SCORE", "interpreted", 1); /* compiling takes seconds, so only some cases below are compiled */
    static const setting settings[] = {
        {"self", 16, 0, true, false, 0, 6, {1, 15, 16, 37, 0, 3}, {0}},
        {"causal, dropout", 32, 8, true, true, 0.3, 5, {40, 17, 0, 2, 33}, {0}},
        {"cross, dropout", 20, 0, false, false, 0.1, 5, {3, 0, 35, 1, 17}, {35, 4, 0, 40, 16}},
        {"wide heads", 72, 0, true, true, 0.1, 2, {19, 3}, {0}},
        {"widest heads", 136, 0, false, true, 0.1, 1, {18}, {5}},
    };
    enum { SETTINGS = sizeof settings / sizeof *settings };
    bool all = test_long();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        /* each case is run in one setting, half of the cases in bf16, too; `ablate test --all` draws more settings */
        for (size_t j = 0; j < SETTINGS; j++) {
            bool drawn = all && test_drawn(i * SETTINGS + j, 10);
            if (drawn || i % SETTINGS == j) check_case(F32, &cases[i], &settings[j]);
            if (drawn || (i % 2 && (i + 1) % SETTINGS == j)) check_case(BF16, &cases[i], &settings[j]);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_step(F32, &cases[i], 20, i % 2 ? 0 : 39);
        check_step(BF16, &cases[i], i == 1 ? 300 : 16, 17);
    }
    check_compiled(all);
    check_contraction();
    return finish();
}
