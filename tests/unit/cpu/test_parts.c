/* test_parts.c - attention where a weight depends on its own score only (such as sigmoid) processes keys in chunks. Its
 * results are compared with plain sums, and have the same bits as with all keys in one chunk. */
#include "fused_case.h"
#include "tensor/graph/score.h"

enum { HEADS = 2, MOST = 300, SENTENCES = 4, ROWS = 1 + 129 + 40 + MOST };
static const int32_t offset[SENTENCES + 1] = {0, 1, 130, 170, ROWS};
static const double scale = 0.3;

/* w = sigmoid(score + number), or score^2 */
typedef enum { SIGMOID, SQUARE } program_kind;

/* A program that gives weights w. at_once: adds an unused table of key vectors, which makes the kernel process all keys
 * at once. */
static score_program program(program_kind kind, bool at_once)
{
    bool sigmoid = kind == SIGMOID;
    score_program f = {.n_leaves = at_once ? 2 : 1,
                       .gathered = {false, at_once},
                       .weights = WEIGHTS_PLAIN,
                       .sink = -1,
                       .window = -1,
                       .keys = at_once ? 1 : -1,
                       .values = -1,
                       .keys_scale = 1,
                       .hiding = -1,
                       .d_leaf = {-1, -1, -1, -1}};
    int n = 0;
    if (sigmoid) {
        f.reads[PASS_FORWARD][0] = f.reads[PASS_BACKWARD][0] = true;
        f.step[n++] = (score_step){
            .op = OP_ADD, .n_in = 2, .in = {VALUE_SCORE, VALUE_LEAF}, .runs = {true, [PASS_BACKWARD] = true}};
    }
    int x = n ? VALUE_STEP : VALUE_SCORE;
    f.result = VALUE_STEP + n;
    f.step[n++] = (score_step){.op = OP_MAP,
                               .n_in = 1,
                               .in = {x},
                               .fn = sigmoid ? AB_SIGMOID : AB_SQUARE,
                               .runs = {true, [PASS_BACKWARD] = sigmoid}};
    int read = sigmoid ? f.result : x;
    f.d_score = VALUE_STEP + n;
    if (sigmoid) f.d_leaf[0] = f.d_score;
    f.step[n++] = (score_step){.op = OP_MAP_BACK,
                               .n_in = 3,
                               .in = {read, read, VALUE_GRADIENT},
                               .fn = sigmoid ? AB_SIGMOID : AB_SQUARE,
                               .runs = {[PASS_BACKWARD] = true}};
    f.back_reads_score = true;
    f.n_steps = n;
    return f;
}

typedef struct {
    view y, lse, d, d_leaf;
} outcome;
static void free_outcome(outcome *o) { free_views((view[]){o->y, o->lse, o->d, o->d_leaf}, 4); }

static outcome new_outcome(dtype type, int64_t width)
{
    return (outcome){new_view(type, ROWS, HEADS * width), new_view(sums_of(type), ROWS, HEADS),
                     new_view(type, ROWS, 3 * HEADS * width), new_view(sums_of(type), MOST, 1)};
}

typedef struct {
    program_kind kind;
    dtype type;
    int64_t width; /* width of a head */
    bool causal;
    double dropout;
    view qkv, dy, number; /* number: one per query [1,1,MOST,1] */
} attention;

static outcome attend(const attention *a, bool at_once)
{
    int64_t columns = HEADS * a->width;
    score_program f = program(a->kind, at_once);
    outcome o = new_outcome(a->type, a->width);
    view off = ids_view(SENTENCES + 1, offset), table = new_view(sums_of(a->type), 1, a->width),
         ids = new_view(I32, MOST, MOST);
    call k = {.n_in = INPUT(ATTEND_PROGRAM_BACK, dz) + 1,
              .n_out = OUTPUT(ATTEND_PROGRAM_BACK, d_leaf) + 1,
              .in = {a->qkv, a->qkv, a->qkv, off, off, ids, [INPUT(ATTEND_PROGRAM, leaf)] = a->number, table},
              .out = {o.y, o.lse},
              .a = {.ATTEND = {.p = a->dropout,
                               .scale = scale,
                               .place = 2,
                               .k_column = columns,
                               .v_column = 2 * columns,
                               .heads = HEADS,
                               .d_k = a->width,
                               .d_v = a->width,
                               .causal = a->causal,
                               .most_keys = MOST,
                               .most_queries = MOST}},
              .training = true,
              .seed = 9,
              .call_attr = &f};
    err e = {""};
    CHECK_INT(cpu_ATTEND_PROGRAM(&k, &e), 0);
    k.i.ATTEND_PROGRAM_BACK.lse = o.lse, k.i.ATTEND_PROGRAM_BACK.dy = a->dy, k.out[0] = o.d, k.out[1] = (view){0};
    if (a->kind == SIGMOID) k.o.ATTEND_PROGRAM_BACK.d_leaf[0] = o.d_leaf;
    CHECK_INT(cpu_ATTEND_PROGRAM_BACK(&k, &e), 0);
    CHECK_TEXT(e.text, "");
    free_views((view[]){off, table, ids}, 3);
    return o;
}

/* ---- the sums, pair by pair ---- */

static double dot(const view *x, int64_t i, const view *y, int64_t j, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++) sum += get(x, i + c) * get(y, j + c);
    return sum;
}
static void add(const view *to, int64_t i, double by, const view *x, int64_t j, int64_t n)
{
    for (int64_t c = 0; c < n; c++) set(to, i + c, get(to, i + c) + by * get(x, j + c));
}

/* Adds a pair of the sentence from row r0 on to the expected sums: query i, key j, head h; `a` in double. */
static void add_pair(const attention *a, const outcome *o, int64_t r0, int64_t i, int64_t j, int64_t h)
{
    int64_t n = a->width, row = 3 * HEADS * n, q = (r0 + i) * row + h * n, k = (r0 + j) * row + (HEADS + h) * n,
            v = k + HEADS * n, y = (r0 + i) * HEADS * n + h * n;
    double s = scale * dot(&a->qkv, q, &a->qkv, k, n), dw = dot(&a->dy, y, &a->qkv, v, n);
    double w = a->kind == SQUARE ? s * s : 1 / (1 + exp(-s - get(&a->number, i)));
    double ds = dw * (a->kind == SQUARE ? 2 * s : w * (1 - w));
    add(&o->y, y, w, &a->qkv, v, n);
    add(&o->d, v, w, &a->dy, y, n);
    add(&o->d, q, ds * scale, &a->qkv, k, n);
    add(&o->d, k, ds * scale, &a->qkv, q, n);
    if (a->kind == SIGMOID) set(&o->d_leaf, i, get(&o->d_leaf, i) + ds);
}

static outcome written_out(const attention *a)
{
    attention x = *a;
    x.qkv = copy_as(&a->qkv, F64), x.dy = copy_as(&a->dy, F64), x.number = copy_as(&a->number, F64);
    outcome o = new_outcome(F64, a->width);
    for (int64_t b = 0; b < SENTENCES; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t i = 0, n = offset[b + 1] - offset[b]; i < n; i++)
                for (int64_t j = 0; j < (a->causal ? i + 1 : n); j++) add_pair(&x, &o, offset[b], i, j, h);
    free_views((view[]){x.qkv, x.dy, x.number}, 3);
    return o;
}

/* ---- both ---- */

static void check(attention a)
{
    a.qkv = random_view(a.type, ROWS, 3 * HEADS * a.width, 1), a.dy = random_view(a.type, ROWS, HEADS * a.width, 2);
    a.number = random_view(sums_of(a.type), MOST, 1, 3);
    outcome parts = attend(&a, false), whole = attend(&a, true);
    CHECK_SAME_BITS(parts.y, whole.y);
    CHECK_SAME_BITS(parts.lse, whole.lse);
    CHECK_SAME_BITS(parts.d, whole.d);
    CHECK_ROWS(parts.d_leaf, whole.d_leaf, 1e-5); /* keys may be summed in other chunks */
    if (a.dropout == 0) {
        outcome want = written_out(&a);
        CHECK_ROWS(parts.y, want.y, tolerance(a.type));
        CHECK_ROWS(parts.d, want.d, tolerance(a.type));
        CHECK_ROWS(parts.d_leaf, want.d_leaf, tolerance(a.type == BF16 ? F32 : a.type));
        free_outcome(&want);
    }
    free_outcome(&parts), free_outcome(&whole);
    free_views((view[]){a.qkv, a.dy, a.number}, 3);
}

int main(void)
{
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t t = 0; t < LENGTH(row_types); t++)
            for (int kind = SIGMOID; kind <= SQUARE; kind++)
                for (int causal = 0; causal < 2; causal++)
                    for (int drops = 0; drops < 2; drops++)
                        check((attention){.kind = (program_kind)kind,
                                          .type = row_types[t],
                                          .width = drops == causal ? 8 : 5,
                                          .causal = causal,
                                          .dropout = drops ? 0.2 : 0});
    }
    return test_end();
}
