/* test_window.c - score programs with windows: the bits of scores that hide the same keys, and nothing outside is
 * read. */
#include "fused_case.h"
#include "tensor/graph/score.h"

enum { HEADS = 2, D = 16, WIDTH = 3 * HEADS * D, MOST = 90, SENTENCES = 4 };
static const int32_t offset[SENTENCES + 1] = {0, 1, 25, 65, 65 + MOST};
enum { ROWS = 65 + MOST };

/* Windows as a leaf; or t = score + leaf 0, which hides the same keys. */
static score_program program(bool windows)
{
    score_program f = {.n_leaves = 1,
                       .result = windows ? VALUE_SCORE : VALUE_STEP,
                       .window = windows ? 0 : -1,
                       .keys = -1,
                       .values = -1,
                       .sink = -1,
                       .hiding = -1,
                       .d_score = VALUE_GRADIENT,
                       .d_leaf = {-1, -1, -1, -1}};
    if (windows) return f;
    f.n_steps = 1;
    f.step[0] = (score_step){.op = OP_ADD, .n_in = 2, .in = {VALUE_SCORE, VALUE_LEAF}, .runs = {[PASS_FORWARD] = true}};
    f.reads[PASS_FORWARD][0] = true;
    return f;
}

typedef struct {
    view y, lse, d;
} outcome;

static outcome attend(const view *qkv, const view *dy, const view *leaf, const score_program *f, bool causal)
{
    dtype type = qkv->type;
    outcome o = {new_view(type, ROWS, HEADS * D), new_view(sums_of(type), ROWS, HEADS), new_view(type, ROWS, WIDTH)};
    view off = ids_view(SENTENCES + 1, offset);
    call k = {.n_in = INPUT(ATTEND_PROGRAM_BACK, dz) + 1,
              .n_out = 3,
              .in = {*qkv, *qkv, *qkv, off, off, [INPUT(ATTEND_PROGRAM, leaf)] = *leaf},
              .out = {o.y, o.lse},
              .a = {.ATTEND = {.p = 0.2,
                               .scale = 0.3,
                               .place = 2,
                               .k_column = HEADS * D,
                               .v_column = 2 * HEADS * D,
                               .heads = HEADS,
                               .d_k = D,
                               .d_v = D,
                               .causal = causal,
                               .most_keys = MOST,
                               .most_queries = MOST}},
              .training = true,
              .seed = 9,
              .call_attr = f};
    err e = {""};
    CHECK_INT(cpu_ATTEND_PROGRAM(&k, &e), 0);
    k.i.ATTEND_PROGRAM_BACK.lse = o.lse, k.i.ATTEND_PROGRAM_BACK.dy = *dy, k.out[0] = o.d, k.out[1] = (view){0};
    CHECK_INT(cpu_ATTEND_PROGRAM_BACK(&k, &e), 0);
    CHECK_TEXT(e.text, "");
    free(off.data);
    return o;
}

static void free_outcome(outcome *o) { free_views((view[]){o->y, o->lse, o->d}, 3); }

typedef struct {
    int64_t from, to;
} range;
typedef range (*window_fn)(int64_t sentence, int64_t query);
static range near_only(int64_t b, int64_t i) { return (void)b, (range){i - 3, i + 6}; }
/* the first queries see nothing of theirs */
static range farther_back(int64_t b, int64_t i) { return (void)b, (range){i - 40, i - 29}; }
/* short sentences have none */
static range late_keys(int64_t b, int64_t i) { return (void)b, (void)i, (range){20, 1000}; }
static range one_key(int64_t b, int64_t i) { return (range){i - b, i - b + 1}; }
static range backwards(int64_t b, int64_t i) { return (range){MOST - i - 2 * b, MOST - i + 3}; }

static view bounds_of(dtype type, window_fn f, bool of_sentence)
{
    int64_t sentences = of_sentence ? SENTENCES : 1;
    view v = new_view(sums_of(type), sentences * MOST, 2);
    for (int64_t i = 0; i < sentences * MOST; i++) {
        range w = f(i / MOST, i % MOST);
        set(&v, 2 * i, (double)w.from);
        set(&v, 2 * i + 1, (double)w.to);
    }
    v.dim[0] = sentences, v.dim[2] = MOST;
    return v;
}

/* -1e9 outside of windows; where a query can see nothing of its own, 0. */
static view hiding_leaf(dtype type, window_fn f, bool of_sentence, bool causal)
{
    view v = new_view(sums_of(type), SENTENCES * MOST, MOST);
    for (int64_t b = 0; b < SENTENCES; b++)
        for (int64_t i = 0; i < MOST; i++) {
            range w = f(of_sentence ? b : 0, i);
            int64_t n = offset[b + 1] - offset[b], seen = causal && i + 1 < n ? i + 1 : n;
            bool some = (w.from > 0 ? w.from : 0) < (w.to < seen ? w.to : seen);
            for (int64_t j = 0; j < MOST; j++)
                set(&v, (b * MOST + i) * MOST + j, some && (j < w.from || j >= w.to) ? -1e9 : 0);
        }
    v.dim[0] = SENTENCES, v.dim[2] = MOST;
    return v;
}

/* The bits of scores that hide the same keys. */
static void check_bits(dtype type, window_fn fn, bool of_sentence, bool causal)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2),
         bounds = bounds_of(type, fn, of_sentence), leaf = hiding_leaf(type, fn, of_sentence, causal);
    score_program windows = program(true), hiding = program(false);
    outcome a = attend(&qkv, &dy, &bounds, &windows, causal), b = attend(&qkv, &dy, &leaf, &hiding, causal);
    CHECK_SAME_BITS(a.y, b.y);
    CHECK_SAME_BITS(a.lse, b.lse);
    CHECK_SAME_BITS(a.d, b.d);
    free_outcome(&a), free_outcome(&b);
    free_views((view[]){qkv, dy, bounds, leaf}, 4);
}

/* Keys that no query sees may hold anything: they are not looked at. */
static void check_skipped(dtype type)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2),
         bounds = bounds_of(type, late_keys, false);
    score_program windows = program(true);
    outcome a = attend(&qkv, &dy, &bounds, &windows, false);
    enum { UNSEEN = 16 }; /* whole eights of them are left out */
    for (int64_t r = offset[3]; r < offset[3] + UNSEEN; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) set(&qkv, r * WIDTH + i, NAN);
    outcome b = attend(&qkv, &dy, &bounds, &windows, false);
    CHECK_SAME_BITS(a.y, b.y);
    CHECK_SAME_BITS(a.lse, b.lse);
    CHECK_SAME_BITS(a.d, b.d);
    double sum = 0;
    for (int64_t r = offset[3]; r < offset[3] + UNSEEN; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) sum += fabs(get(&a.d, r * WIDTH + i));
    CHECK_NEAR(sum, 0, 0);
    free_outcome(&a), free_outcome(&b);
    free_views((view[]){qkv, dy, bounds}, 3);
}

/* Every key of each third query hidden: the gradient of its weights, which are all alike, as in double, whose
 * log-sum-exp has digits left. */
static void check_hidden(dtype type)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2),
         leaf = new_view(sums_of(type), MOST, MOST);
    for (int64_t i = 0; i < count(&qkv); i++)
        if (i % WIDTH < HEADS * D) set(&qkv, i, get(&qkv, i) * 1e-6); /* -1e9 leaves no more of a score in fp32 */
    for (int64_t i = 0; i < count(&leaf); i++) set(&leaf, i, i / MOST % 3 ? 0 : -1e9);
    view exact[] = {copy_as(&qkv, F64), copy_as(&dy, F64), copy_as(&leaf, F64)};
    score_program hiding = program(false);
    outcome found = attend(&qkv, &dy, &leaf, &hiding, true),
            want = attend(&exact[0], &exact[1], &exact[2], &hiding, true);
    CHECK_ROWS(found.y, want.y, tolerance(type));
    CHECK_ROWS(found.d, want.d, tolerance(type));
    free_outcome(&found), free_outcome(&want);
    free_views((view[]){qkv, dy, leaf, exact[0], exact[1], exact[2]}, 6);
}

int main(void)
{
    static const window_fn windows[] = {near_only, farther_back, late_keys, one_key, backwards};
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t t = 0; t < LENGTH(row_types); t++) {
            for (size_t i = 0; i < LENGTH(windows); i++)
                for (int causal = 0; causal < 2; causal++)
                    check_bits(row_types[t], windows[i], (int)i % 2 == causal, causal);
            check_skipped(row_types[t]);
            check_hidden(row_types[t]);
        }
    }
    return test_end();
}
