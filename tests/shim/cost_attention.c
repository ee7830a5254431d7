/* cost_attention.c - runs attention for the cost model: training, decoding, score programs. Contains main(). */
#include "cost_calls.h"
#include "tensor/cuda/score_program.h"
#include "tensor/graph/score.h"

/* Self-attention over packed sentences, one of them longer than one step of the backward pass covers. shift: q, k and v
 * begin that many elements later, so that bf16 rows must be copied. */
static void cost_heads(dtype type, int64_t heads, int64_t d, int64_t shift)
{
    enum { SENTENCES = 4 };
    static const int32_t starts[SENTENCES + 1] = {0, 28, 59, 123, 210};
    int64_t rows = starts[SENTENCES] + 6, width = heads * d;
    view off = moved(ids_of(SENTENCES + 1, starts)), qkv = random_rows(type, rows, 3 * width + shift),
         y = space(type, rows, width), lse = space(F32, rows, heads);
    call k = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {qkv, qkv, qkv, off, off},
              .out = {y, lse},
              .a = {.ATTEND = {.p = 0.1,
                               .scale = 0.1,
                               .place = 21,
                               .q_column = shift,
                               .k_column = shift + width,
                               .v_column = shift + 2 * width,
                               .heads = heads,
                               .d_k = d,
                               .d_v = d,
                               .causal = 1,
                               .most_keys = 87}}};
    counted_call("attention", cuda_ATTEND, k);
    k.op = OP_ATTEND_BACK, k.n_in = 8;
    k.in[5] = y, k.in[6] = lse, k.in[7] = random_rows(type, rows, width);
    k.out[0] = space(type, rows, 3 * width + shift), k.out[1] = (view){.type = type, .param = -1};
    counted_call("gradient of attention", cuda_ATTEND_BACK, k);
}

static call step_of(dtype type, int64_t heads, int64_t d)
{
    enum { MANY = 8, CAPACITY = 48 };
    int64_t width = heads * d;
    return (call){.op = OP_ATTEND_STEP,
                  .n_in = 4,
                  .n_out = 1,
                  .in = {random_rows(type, MANY, 3 * width), moved(randoms(tensor(type, 1, MANY, CAPACITY, 2 * width))),
                         moved(ids_below(tensor(I32, 1, 1, MANY, CAPACITY), MANY)), moved(ids_of(1, (int32_t[]){40}))},
                  .out = {space(type, MANY, width)},
                  .a = {.ATTEND = {.scale = 0.1,
                                   .k_column = width,
                                   .v_column = 2 * width,
                                   .heads = heads,
                                   .d_k = d,
                                   .d_v = d,
                                   .causal = 1,
                                   .most_keys = CAPACITY,
                                   .most_queries = 1}}};
}

void cost_attention(void)
{
    dice = rng_seed(5, 0);
    for (int t = F32; t <= BF16; t += BF16) {
        cost_heads((dtype)t, 2, 32, 0);
        cost_heads((dtype)t, 2, 64, 0);
        cost_heads((dtype)t, 1, 128, 0);
    }
    cost_heads(F32, 2, 64, 3);
    cost_heads(BF16, 2, 64, 3);
}
void cost_steps(void)
{
    dice = rng_seed(9, 0);
    for (int t = F32; t <= BF16; t += BF16)
        counted_call("attention of a step", cuda_ATTEND_STEP, step_of((dtype)t, HEADS, 64));
}

/* Scores plus a learned number for every pair of positions, by head. */
static void cost_scores_of(dtype type, int64_t d)
{
    enum { SCORE_HEADS = 2, T = 64, SENTENCES = 2, PAIRS = SCORE_HEADS * T * T };
    static params no_params;
    score_draft draft;
    ab_ctx *c = tape_new(&no_params, &cpu_backend, F32, true);
    score_draft_open(&draft, c);
    ab_t leaf = score_draft_leaf(&draft, true);
    score_program *f = score_draft_close(&draft, c, t_binary(draft.tape, OP_ADD, draft.score, leaf));
    int64_t width = SCORE_HEADS * d, rows = SENTENCES * T;
    view off = moved(ids_of(SENTENCES + 1, (int32_t[]){0, T, 2 * T - 20})), qkv = random_rows(type, rows, 3 * width),
         y = space(type, rows, width), lse = space(F32, rows, SCORE_HEADS), no_view = {.type = F32, .param = -1};
    call k = {.op = OP_ATTEND_PROGRAM,
              .n_in = INPUT(ATTEND_PROGRAM_BACK, lse),
              .n_out = 3,
              .in = {qkv, qkv, qkv, off, off},
              .out = {y, lse, no_view},
              .a = {.ATTEND = {.p = 0.1,
                               .scale = 0.1,
                               .place = 21,
                               .k_column = width,
                               .v_column = 2 * width,
                               .heads = SCORE_HEADS,
                               .d_k = d,
                               .d_v = d,
                               .most_keys = T,
                               .most_queries = T}},
              .call_attr = f};
    k.i.ATTEND_PROGRAM.ids = no_view;
    for (int i = 0; i < SCORE_LEAVES; i++)
        k.i.ATTEND_PROGRAM.leaf[i] = i ? no_view : moved(randoms(tensor(F32, 1, SCORE_HEADS, T, T)));
    counted_call("scores", cuda_ATTEND_PROGRAM, k);
    call back = k;
    back.op = OP_ATTEND_PROGRAM_BACK, back.n_in = INPUTS(ATTEND_PROGRAM_BACK),
    back.n_out = OUTPUT(ATTEND_PROGRAM_BACK, d_leaf) + SCORE_LEAVES, back.o.ATTEND_PROGRAM_BACK.dv = no_view;
    back.i.ATTEND_PROGRAM_BACK.lse = lse, back.i.ATTEND_PROGRAM_BACK.dy = random_rows(type, rows, width);
    back.i.ATTEND_PROGRAM_BACK.y = y, back.i.ATTEND_PROGRAM_BACK.z = no_view, back.i.ATTEND_PROGRAM_BACK.dz = no_view;
    back.out[0] = space(type, rows, 3 * width), back.out[1] = (view){.type = type, .param = -1};
    for (int i = 0; i < SCORE_LEAVES; i++)
        back.o.ATTEND_PROGRAM_BACK.d_leaf[i] = i ? no_view : moved(tensor(F32, 1, SCORE_HEADS, T, T));
    counted_call("gradient of scores", cuda_ATTEND_PROGRAM_BACK, back);
    call step = step_of(type, SCORE_HEADS, d);
    step.op = OP_ATTEND_PROGRAM_STEP, step.n_in = INPUT(ATTEND_PROGRAM_BACK, lse), step.n_out = 3;
    step.call_attr = f, step.in[4] = step.in[5] = step.out[1] = step.out[2] = no_view;
    for (int i = 0; i < SCORE_LEAVES; i++)
        step.i.ATTEND_PROGRAM.leaf[i] = i ? no_view : moved(randoms(tensor(F32, 1, SCORE_HEADS, 1, 48)));
    step.i.ATTEND_PROGRAM.ids = no_view;
    counted_call("scores of a step", cuda_ATTEND_PROGRAM_STEP, step);
    tape_free(c);
}

/* Runs score programs by the interpreter, which accesses rows as compiled programs do. */
void cost_scores(void)
{
    dice = rng_seed(6, 0);
    setenv("ABLATE_SCORE", "interpreted", 1);
    cost_scores_of(F32, 64);
    cost_scores_of(BF16, 64);
    cost_scores_of(BF16, 128);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*f)(void);
    } parts[] = {{"elementwise", cost_elementwise}, {"shapes", cost_shapes},   {"rows", cost_rows},
                 {"optimizer", cost_optimizer},     {"choices", cost_choices}, {"services", cost_services},
                 {"attention", cost_attention},     {"steps", cost_steps},     {"scores", cost_scores}};
    start();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted = wanted || !strcmp(argv[a], parts[i].name);
        if (wanted) parts[i].f();
    }
    cost_print();
    gpu_close();
    return 0;
}
