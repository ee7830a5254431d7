/* test_window.c - score programs with windows give the bits of scores that hide the same keys, and read nothing
 * outside. Programs with chosen blocks of keys give the same but for rounding. */
#include "fused_case.h"
#include "tensor/graph/score.h"

enum { HEADS = 2, D = 16, WIDTH = 3 * HEADS * D, MOST = 90, SENTENCES = 4 };
static const int32_t offset[SENTENCES + 1] = {0, 1, 25, 65, 65 + MOST};
enum { ROWS = 65 + MOST };

/* A program whose leaf 0 holds windows; or whose score is t + leaf 0, where leaf 0 hides the same keys. */
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
              .in = {*qkv, *qkv, *qkv, off, off},
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
    for (int i = 0; i < f->n_leaves; i++) k.in[INPUT(ATTEND_PROGRAM, leaf) + i] = leaf[i];
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
/* for the first queries no key of the window exists */
static range farther_back(int64_t b, int64_t i) { return (void)b, (range){i - 40, i - 29}; }
/* in short sentences the window is empty */
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

/* Returns a leaf that adds -1e9 to scores of keys outside of windows; for a query whose window has no visible key it
 * adds 0. */
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

/* Windows and scores that hide the same keys give the same bits. */
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

/* Keys that no query sees are not read: they may be NaN. */
static void check_skipped(dtype type)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2),
         bounds = bounds_of(type, late_keys, false);
    score_program windows = program(true);
    outcome a = attend(&qkv, &dy, &bounds, &windows, false);
    enum { UNSEEN = 16 }; /* the kernel skips them in groups of eight */
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

/* If every key of a query is hidden, its weights are equal; their gradient must be that in double, whose log-sum-exp
 * still has digits left. */
static void check_hidden(dtype type)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2),
         leaf = new_view(sums_of(type), MOST, MOST);
    for (int64_t i = 0; i < count(&qkv); i++) /* in fp32, nothing of a score is left after adding -1e9 */
        if (i % WIDTH < HEADS * D) set(&qkv, i, get(&qkv, i) * 1e-6);
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

/* ---- chosen blocks ---- */

typedef bool (*choice_fn)(int64_t sentence, int64_t head, int64_t query, int64_t block);
static bool every(int64_t b, int64_t h, int64_t i, int64_t k) { return (void)b, (void)h, (void)i, (void)k, true; }
/* the choice differs between queries; some queries have no visible key in their blocks */
static bool scattered(int64_t b, int64_t h, int64_t i, int64_t k) { return (b * 7 + h * 5 + i * 3 + k * 11) % 13 < 3; }
/* all queries of a tile have the same choice */
static bool by_tile(int64_t b, int64_t h, int64_t i, int64_t k) { return (b + h + i / 32 + k) % 3 == 0; }
static bool first_only(int64_t b, int64_t h, int64_t i, int64_t k) { return (void)b, (void)h, (void)i, k == 0; }
static bool far_apart(int64_t b, int64_t h, int64_t i, int64_t k) { return (void)b, (void)h, (void)i, k % 40 == 1; }

typedef struct {
    choice_fn f;
    /* size: of a block; the others: lengths of the tensor's axes, each the full length or 1 */
    int64_t size, sentences, heads, queries;
    window_fn window;  /* NULL: none */
    bool causal, step; /* step: the program also adds a number per key */
} chosen;

static bool allows(const chosen *x, int64_t b, int64_t h, int64_t i, int64_t j)
{
    return x->f(x->sentences > 1 ? b : 0, x->heads > 1 ? h : 0, x->queries > 1 ? i : 0, j / x->size);
}
/* Is the key visible by time and window? A window without a visible key hides nothing. */
static bool may_see(const chosen *x, int64_t b, int64_t i, int64_t j)
{
    int64_t n = offset[b + 1] - offset[b], seen = x->causal && i + 1 < n ? i + 1 : n;
    range w = x->window ? x->window(0, i) : (range){0, MOST};
    if ((w.from > 0 ? w.from : 0) >= (w.to < seen ? w.to : seen)) w = (range){0, MOST};
    return j < seen && j >= w.from && j < w.to;
}

/* Fills a program's leaves: the chosen blocks and the window, or numbers that hide the same keys; if `step`, also a
 * number per key. */
static int leaves_of(const chosen *x, dtype type, bool hiding, view *leaf)
{
    int64_t blocks = (MOST - 1) / x->size + 1, width = hiding ? MOST : blocks,
            sentences = hiding ? SENTENCES : x->sentences, heads = hiding ? HEADS : x->heads,
            queries = hiding ? MOST : x->queries;
    int n = 0;
    leaf[n] = new_view(sums_of(type), sentences * heads * queries, width);
    leaf[n].dim[0] = sentences, leaf[n].dim[1] = heads, leaf[n].dim[2] = queries;
    bool some = false;
    for (int64_t at = 0; at < sentences * heads * queries * width; at++) {
        int64_t b = at / width / queries / heads, h = at / width / queries % heads, i = at / width % queries,
                j = at % width;
        if (!j) some = false;
        for (int64_t k = 0; k < MOST && hiding && !j; k++) some |= may_see(x, b, i, k) && allows(x, b, h, i, k);
        bool sees = !hiding ? x->f(b, h, i, j) : may_see(x, b, i, j) && (!some || allows(x, b, h, i, j));
        set(&leaf[n], at, hiding ? (sees ? 0 : -1e9) : sees);
    }
    n++;
    if (x->window && !hiding) leaf[n++] = bounds_of(type, x->window, false);
    if (x->step) {
        leaf[n] = new_view(sums_of(type), 1, MOST);
        for (int64_t j = 0; j < MOST; j++) set(&leaf[n], j, (double)(j * 7 % 11) * 0.1);
        n++;
    }
    return n;
}
static score_program program_of_choice(const chosen *x, bool hiding, int n_leaves)
{
    score_program f = program(!hiding);
    int last = VALUE_SCORE;
    f.window = x->window && !hiding ? 1 : -1, f.n_leaves = n_leaves, f.n_steps = 0;
    if (!hiding) f.blocks = 0, f.block = x->size;
    for (int i = 0; i < 2; i++) {
        if (i ? !hiding : !x->step) continue;
        int leaf = i ? 0 : n_leaves - 1;
        f.step[f.n_steps] =
            (score_step){.op = OP_ADD, .n_in = 2, .in = {last, VALUE_LEAF + leaf}, .runs = {[PASS_FORWARD] = true}};
        f.reads[PASS_FORWARD][leaf] = true;
        last = VALUE_STEP + f.n_steps++;
    }
    f.result = last;
    return f;
}

static void check_choice(dtype type, const chosen *x, weights_kind weights)
{
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2), leaf[2][SCORE_LEAVES];
    outcome o[2];
    int n[2];
    for (int hiding = 0; hiding < 2; hiding++) {
        n[hiding] = leaves_of(x, type, hiding, leaf[hiding]);
        score_program f = program_of_choice(x, hiding, n[hiding]);
        f.weights = weights;
        o[hiding] = attend(&qkv, &dy, leaf[hiding], &f, x->causal);
    }
    CHECK_ROWS(o[0].y, o[1].y, tolerance(type));
    CHECK_ROWS(o[0].lse, o[1].lse, tolerance(type));
    CHECK_ROWS(o[0].d, o[1].d, tolerance(type));
    for (int hiding = 0; hiding < 2; hiding++) free_outcome(&o[hiding]), free_views(leaf[hiding], n[hiding]);
    free_views((view[]){qkv, dy}, 2);
}

static void check_choices(dtype type)
{
    static const choice_fn fs[] = {every, scattered, by_tile, first_only, far_apart};
    static const int64_t sizes[] = {1, 2, 3, 8, 16, 29, 64, 1000};
    for (size_t i = 0; i < LENGTH(fs); i++)
        for (size_t s = 0; s < LENGTH(sizes); s++) {
            chosen x = {fs[i],
                        sizes[s],
                        (i + s) % 2 ? SENTENCES : 1,
                        (i + s) % 3 ? HEADS : 1,
                        (i + s) % 4 ? MOST : 1,
                        (i + s) % 5 == 2 ? farther_back : NULL,
                        s % 2 == 0,
                        (i + s) % 3 == 1};
            check_choice(type, &x, WEIGHTS_SOFTMAX);
            if (s == i) check_choice(type, &x, WEIGHTS_ENTMAX15);
        }
}

/* Keys in blocks that no query chose may be NaN, and have gradient 0. */
static void check_left_out(dtype type)
{
    enum { SIZE = 8, FROM = SIZE, TO = MOST };
    chosen x = {first_only, SIZE, 1, 1, 1, NULL, false, false};
    view qkv = random_view(type, ROWS, WIDTH, 1), dy = random_view(type, ROWS, HEADS * D, 2), leaf;
    score_program f = program_of_choice(&x, false, leaves_of(&x, type, false, &leaf));
    outcome a = attend(&qkv, &dy, &leaf, &f, false);
    for (int64_t r = offset[3] + FROM; r < offset[3] + TO; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) set(&qkv, r * WIDTH + i, NAN);
    outcome b = attend(&qkv, &dy, &leaf, &f, false);
    CHECK_SAME_BITS(a.y, b.y);
    CHECK_SAME_BITS(a.d, b.d);
    double sum = 0;
    for (int64_t r = offset[3] + FROM; r < offset[3] + TO; r++)
        for (int64_t i = HEADS * D; i < WIDTH; i++) sum += fabs(get(&a.d, r * WIDTH + i));
    CHECK_NEAR(sum, 0, 0);
    free_outcome(&a), free_outcome(&b);
    free_views((view[]){qkv, dy, leaf}, 3);
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
            check_choices(row_types[t]);
            check_left_out(row_types[t]);
        }
    }
    return test_end();
}
