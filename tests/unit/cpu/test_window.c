/* test_window.c - score programs that hide keys outside of windows: nothing outside is read, and all else keeps its bits. */
#include "fused_case.h"
#include "graph/score.h"

enum { HEADS = 2, D = 16, WIDTH = 3 * HEADS * D, MOST = 90, SENTENCES = 4 };
static const int32_t offset[SENTENCES + 1] = {0, 1, 25, 65, 65 + MOST};
enum { ROWS = 65 + MOST };

/* t = score + leaf 0 */
static score_program hiding_program(bool known)
{
    score_program f = {.n_leaves = 1, .n_steps = 1, .result = VALUE_STEP, .hiding = known ? VALUE_LEAF : -1, .inside = VALUE_SCORE,
                       .d_score = VALUE_GRADIENT, .d_leaf = {-1, -1, -1, -1}};
    f.step[0] = (score_step){.op = OP_ADD, .n_in = 2, .in = {VALUE_SCORE, VALUE_LEAF}, .runs = {[PASS_FORWARD] = true}};
    f.reads[PASS_FORWARD][0] = f.reads[PASS_HIDING][0] = true;
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
    call k = {.n_in = PROGRAM_D_COUNTS + 1, .n_out = 3, .in = {*qkv, *qkv, *qkv, off, off, [PROGRAM_LEAF] = *leaf}, .out = {o.y, o.lse},
              .a = {.f = {0.2, 0.3, 2}, .i = {0, HEADS * D, 2 * HEADS * D, HEADS, D, D, causal, MOST, MOST}}, .training = true, .seed = 9, .call_attr = f};
    err e = {""};
    CHECK_INT(cpu_ATTEND_PROGRAM(&k, &e), 0);
    k.in[PROGRAM_LSE] = o.lse, k.in[PROGRAM_DY] = *dy, k.out[0] = o.d, k.out[1] = (view){0};
    CHECK_INT(cpu_ATTEND_PROGRAM_BACK(&k, &e), 0);
    CHECK_TEXT(e.text, "");
    free(off.data);
    return o;
}

static void free_outcome(outcome *o) { free_views((view[]){o->y, o->lse, o->d}, 3); }

typedef double (*leaf_fn)(int64_t query, int64_t key);
static double near_only(int64_t i, int64_t j) { return j < i - 3 || j > i + 5 ? -1e9 : 0; }
static double farther_back(int64_t i, int64_t j) { return j < i - 40 || j > i - 30 ? -1e9 : 0; } /* the first queries see nothing */
static double with_a_gap(int64_t i, int64_t j) { return (i - j) % 7 ? -1e9 : 0; }
static double biased(int64_t i, int64_t j) { return j > i + 4 ? -1e9 : -0.01 * (double)(i > j ? i - j : j - i); }
static double late_keys(int64_t i, int64_t j) { (void)i; return j < 20 ? -1e9 : 0; } /* short sentences have none */

static view leaf_of(dtype type, leaf_fn f)
{
    view v = new_view(sums_of(type), MOST, MOST);
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t j = 0; j < MOST; j++) set(&v, i * MOST + j, f(i, j));
    return v;
}

/* The same bits whether the program is known to hide or not. */
static void check_bits(dtype type, leaf_fn fn, bool causal)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2), leaf = leaf_of(type, fn);
    score_program known = hiding_program(true), unknown = hiding_program(false);
    outcome a = attend(&qkv, &dy, &leaf, &known, causal), b = attend(&qkv, &dy, &leaf, &unknown, causal);
    CHECK_SAME_BITS(a.y, b.y);
    CHECK_SAME_BITS(a.lse, b.lse);
    CHECK_SAME_BITS(a.d, b.d);
    free_outcome(&a), free_outcome(&b);
    free_views((view[]){qkv, dy, leaf}, 3);
}

/* Keys that no query sees may hold anything: they are not looked at. */
static void check_skipped(dtype type)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2), leaf = leaf_of(type, late_keys);
    score_program known = hiding_program(true);
    outcome a = attend(&qkv, &dy, &leaf, &known, false);
    enum { UNSEEN = 16 }; /* whole eights of them are left out */
    for (int64_t r = offset[3]; r < offset[3] + UNSEEN; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) set(&qkv, r * WIDTH + i, NAN);
    outcome b = attend(&qkv, &dy, &leaf, &known, false);
    CHECK_SAME_BITS(a.y, b.y);
    CHECK_SAME_BITS(a.lse, b.lse);
    CHECK_SAME_BITS(a.d, b.d);
    double sum = 0;
    for (int64_t r = offset[3]; r < offset[3] + UNSEEN; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) sum += fabs(get(&a.d, r * WIDTH + i));
    CHECK_NEAR(sum, 0, 0);
    free_outcome(&a), free_outcome(&b);
    free_views((view[]){qkv, dy, leaf}, 3);
}

int main(void)
{
    static const leaf_fn leaves[] = {near_only, farther_back, with_a_gap, biased, late_keys};
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t t = 0; t < LENGTH(row_types); t++) {
            for (size_t i = 0; i < LENGTH(leaves); i++)
                for (int causal = 0; causal < 2; causal++) check_bits(row_types[t], leaves[i], causal);
            check_skipped(row_types[t]);
        }
    }
    return test_end();
}
