/* The gradient of every operation against central differences in double precision, for every element of every input. */
#include "samples.h"
#include "tensor/graph/score.h"

typedef op_sample op_case;

static void put_values(ab_ctx *c, const ab_t *in, const op_case *o)
{
    for (int k = 0; k < sample_inputs(o); k++)
        for (int64_t i = 0; data(c, in[k]) && i < node_count(tape_at(c, in[k])); i++)
            data(c, in[k])[i] = sample_value(o, k, i);
}

static double loss_of(ab_ctx *c, ab_t loss)
{
    if (run(c)) {
        printf("%s\n", c->error.text);
        return NAN;
    }
    const node *v = tape_at(c, loss);
    double sum = 0; /* a CE's losses are [R, 2], of which the smoothed column counts, with norm 1 */
    for (int64_t i = 0; i < node_count(v); i += v->op == OP_CE ? 2 : 1) sum += ((const double *)v->data)[i];
    return sum;
}

static void compare(ab_ctx *c, const ab_t *in, const ab_t *grad, int n, ab_t loss)
{
    for (int k = 0; k < n; k++) {
        if (!data(c, in[k])) continue;
        int64_t count = node_count(tape_at(c, in[k]));
        double *claimed = xcalloc((size_t)count, sizeof *claimed);
        loss_of(c, loss);
        for (int64_t i = 0; grad[k].id && i < count; i++) claimed[i] = data(c, grad[k])[i];
        for (int64_t i = 0; i < count; i++) {
            double *x = data(c, in[k]) + i, old = *x, h = 1e-5;
            *x = old + h;
            double high = loss_of(c, loss);
            *x = old - h;
            double low = loss_of(c, loss);
            *x = old;
            CHECK_NEAR(claimed[i], (high - low) / (2 * h), 1e-8 * fmax(1, fabs(claimed[i])));
        }
        free(claimed);
    }
}

static void check_case(const op_case *o)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, o->training);
    ab_t in[MOST_INPUTS] = {{0}}, grad[MOST_INPUTS] = {{0}};
    int n = sample_inputs(o), failed = test_failed;
    for (int k = 0; k < n; k++) in[k] = input(c, k, o->dim[k]);
    ab_t y = o->build(c, in), loss = y.id && tape_at(c, y)->op == OP_CE ? y : weighed(c, y);
    CHECK_INT(tape_backward(c, loss), 0);
    for (int k = 0; k < n && !c->error.text[0]; k++) {
        grad[k] = (ab_t){c->grad[in[k].id]};
        if (grad[k].id) /* copies the gradient, since two inputs may share one node */
            t_keep(c, t_add_scalar(c, grad[k], 0), "gradient");
        if (grad[k].id) grad[k] = (ab_t){c->n - 1};
    }
    t_keep(c, loss, "loss");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    if (c->error.text[0]) {
        printf("%s: %s\n", o->name, c->error.text);
    } else {
        put_values(c, in, o);
        compare(c, in, grad, n, loss);
    }
    if (test_failed > failed) printf("^ %s\n", o->name);
    tape_free(c);
    params_free(&none);
}

/* ---- gradients on bf16 rows, as in a product, are near gradients on fp32 rows ---- */

static void check_bf16(const op_case *o)
{
    sample_outcome fine = sample_run(o, true, &cpu_backend, F32, NULL),
                   rough = sample_run(o, true, &cpu_backend, BF16, NULL);
    check_outcome("bf16", o, &rough, &fine, 0.03);
}

/* ---- samples: every operation has one beside its builder ---- */

/* Operations tested elsewhere: operations of decoding steps, of fused scores and of plugins, and the gradient of an
 * embedding that only devices have. */
static const op has_own_test[] = {OP_ATTEND_PROGRAM,  OP_ATTEND_PROGRAM_BACK, OP_ATTEND_STEP, OP_ATTEND_PROGRAM_STEP,
                                  OP_KV_CACHE_APPEND, OP_CACHE_REORDER,       OP_STATE_WRITE, OP_CALL,
                                  OP_ASSIGN};

static void check_samples(void)
{
    bool seen[OP_COUNT] = {0};
    for (size_t i = 0; i < LENGTH(all_samples); i++)
        for (const op_sample *o = all_samples[i].list; o->build; o++) {
            bool casts = all_samples[i].casts;
            check_case(o);
            sample_outcome exact = sample_run(o, casts, &cpu_backend, F64, NULL),
                           fine = sample_run(o, casts, &cpu_backend, F32, seen),
                           rough = sample_run(o, casts, &cpu_backend, BF16, seen);
            check_outcome("fp32", o, &fine, &exact, 1e-5);
            check_outcome("bf16", o, &rough, &exact, 0.03);
        }
    for (size_t i = 0; i < LENGTH(has_own_test); i++) seen[has_own_test[i]] = true;
    for (int o = 0; o < OP_COUNT; o++)
        if (cpu_backend.kernels[o] && !seen[o]) {
            printf("%s has no sample beside its builder (op_sample, tensor/graph/grad.h)\n", op_names[o]);
            CHECK(seen[o]);
        }
}

/* ---- attention with several maps, as one operation or as one per map ---- */

enum { MAPS = 3, MAP_HEADS = 2, MAP_D = 3, MAP_V = 5, MAP_KEYS = 4 };
static const double map_factor[MAPS] = {1, -0.5, 2};
static bool maps_as_one, maps_causal, maps_biased;

/* in: q and k of all maps; v; a number for each query and head, for map 1; a number for each key, which is added to
 * scores. */
static ab_t sum_of_maps(ab_ctx *c, const ab_t *in)
{
    const int64_t width = MAP_HEADS * MAP_D;
    ab_t rows = t_cast(c, in[0], c->compute), v = t_cast(c, in[1], c->compute), offsets = SAMPLE_IDS(0, 4, 6),
         leaf[SCORE_LEAVES] = {in[3], in[2]}, sum = {0};
    score_draft d;
    score_draft_open(&d, c);
    ab_t bias = score_draft_leaf(&d, true);
    score_program *f = score_draft_close(&d, c, maps_biased ? t_binary(d.tape, OP_ADD, d.score, bias) : d.score);
    attend_spec s = {{0, MAPS * width, 0}, MAP_HEADS, MAP_D, MAP_V, 0.7, 0.3, maps_causal, MAP_KEYS, MAP_KEYS};
    if (maps_as_one) {
        f->maps = MAPS, f->n_leaves = 2;
        for (int m = 0; m < MAPS; m++) f->factor[m] = map_factor[m], f->number[m] = m == 1 ? 1 : -1;
        return t_attend_program(c, rows, rows, v, offsets, offsets, &s, 5, f, (ab_t){0}, leaf);
    }
    for (int m = 0; m < MAPS; m++, s.col[0] += width, s.col[1] += width) {
        ab_t y = t_attend_program(c, rows, rows, v, offsets, offsets, &s, 5, f, (ab_t){0}, leaf);
        y = t_mul_scalar(c, t_heads(c, y, offsets, 0, MAP_HEADS, MAP_V, MAP_KEYS), map_factor[m]);
        if (m == 1) y = t_binary(c, OP_MUL, y, in[2]);
        sum = m ? t_binary(c, OP_ADD, sum, y) : y;
    }
    return t_merge(c, sum, offsets, 7, 0, MAP_HEADS * MAP_V);
}

static void check_sums_of_maps(void)
{
    op_case o = {"a sum of attention's maps", sum_of_maps,
                 .dim = {{1, 1, 7, 2 * MAPS * MAP_HEADS * MAP_D},
                         {1, 1, 7, MAP_HEADS * MAP_V},
                         {2, MAP_HEADS, MAP_KEYS, 1},
                         {1, MAP_HEADS, 1, MAP_KEYS}}};
    for (int i = 0; i < 8; i++) {
        o.training = i & 1, maps_causal = i & 2, maps_biased = i & 4;
        maps_as_one = false;
        sample_outcome apart = sample_run(&o, false, &cpu_backend, F64, NULL);
        maps_as_one = true;
        check_case(&o);
        sample_outcome exact = sample_run(&o, false, &cpu_backend, F64, NULL),
                       fine = sample_run(&o, false, &cpu_backend, F32, NULL),
                       rough = sample_run(&o, false, &cpu_backend, BF16, NULL);
        check_outcome("fp64", &o, &exact, &apart, 1e-12);
        check_outcome("fp32", &o, &fine, &apart, 1e-5);
        check_outcome("bf16", &o, &rough, &apart, 0.03);
    }
}

/* ---- elementwise operations in every pattern of broadcasting ---- */

static op the_op;
static ab_t binary(ab_ctx *c, const ab_t *in) { return t_binary(c, the_op, in[0], in[1]); }

static void check_binary(void)
{
    static const int64_t pairs[][2][4] = {
        {{2, 3, 2, 4}, {2, 3, 2, 4}}, {{2, 3, 2, 4}, {1, 1, 1, 4}}, {{1, 1, 2, 4}, {2, 3, 2, 4}},
        {{2, 1, 2, 1}, {1, 3, 1, 4}}, {{1, 1, 1, 1}, {2, 3, 2, 4}}, {{2, 3, 2, 4}, {2, 3, 2, 1}},
        {{2, 1, 1, 4}, {2, 3, 2, 1}}, {{1, 1, 1, 1}, {1, 1, 1, 1}},
    };
    static const op ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MINIMUM};
    for (size_t i = 0; i < LENGTH(ops); i++)
        for (size_t k = 0; k < LENGTH(pairs); k++) {
            op_case o = {.name = op_names[ops[i]], .build = binary, .positive = ops[i] == OP_DIV};
            memcpy(o.dim, pairs[k], sizeof pairs[k]);
            the_op = ops[i];
            check_case(&o);
            if (!i) check_bf16(&o);
        }
}

/* Selection by a condition: the result and its gradient are exact for any numbers in the branch that is not taken. */
static ab_t select_by(ab_ctx *c, const ab_t *in)
{
    ab_t zero = t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){0});
    return t_where(c, t_binary(c, OP_LESS_THAN, zero, in[0]), in[1], in[2]);
}
static void check_where(void)
{
    check_case(&(op_case){"WHERE", select_by, {{2, 3, 2, 4}, {2, 3, 2, 4}, {2, 3, 2, 4}}, false, false});
    check_case(&(op_case){"WHERE", select_by, {{1, 1, 2, 4}, {2, 3, 1, 1}, {1, 3, 2, 4}}, false, false});
    check_case(&(op_case){"WHERE", select_by, {{2, 3, 2, 1}, {1, 1, 1, 4}, {1, 1, 1, 1}}, false, false});
    for (dtype type = F32; type <= F64; type++) {
        params none = {0};
        ab_ctx *c = tape_new(&none, &cpu_backend, type, false);
        int64_t d[4] = {1, 1, 1, 2};
        ab_t y = t_where(c, t_const(c, d, (double[]){1, 0}), t_const(c, d, (double[]){0.1, NAN}),
                         t_const(c, d, (double[]){-1e9, 0.7}));
        t_keep(c, y, "y");
        CHECK(!tape_plan(c, NULL, NULL) && !tape_run(c, &(run_options){.from = PHASE_CONST}));
        double found[2], wanted[2] = {type == F64 ? 0.1 : 0.1f, type == F64 ? 0.7 : 0.7f};
        for (int i = 0; i < 2; i++)
            found[i] = type == F64 ? ((double *)tape_at(c, y)->data)[i] : (double)((float *)tape_at(c, y)->data)[i];
        CHECK_NEAR(found[0], wanted[0], 0);
        CHECK_NEAR(found[1], wanted[1], 0);
        tape_free(c);
        params_free(&none);
    }
}

static ab_fn the_fn;
static ab_t map(ab_ctx *c, const ab_t *in) { return t_map(c, in[0], the_fn); }
static void check_maps(void)
{
    for (ab_fn f = AB_EXP; f <= AB_FLOOR; f++) {
        if (f == AB_SIGN || f == AB_FLOOR) continue; /* no gradient */
        the_fn = f;
        check_case(&(op_case){"MAP", map, {{2, 3, 2, 5}}, false, f == AB_LOG || f == AB_SQRT || f == AB_RECIP});
    }
}

/* ---- axes ---- */

static int the_axis, the_other;
static ab_t sum(ab_ctx *c, const ab_t *in)
{
    int64_t d[4] = {2, 3, 2, 4};
    d[4 + the_axis] = d[4 + the_other] = 1;
    return t_sum_to(c, in[0], d);
}
static ab_t spread(ab_ctx *c, const ab_t *in) { return t_broadcast_to(c, in[0], (int64_t[4]){2, 3, 2, 4}); }
static ab_t swap(ab_ctx *c, const ab_t *in) { return t_transpose(c, in[0], the_axis, the_other); }
static ab_t slice(ab_ctx *c, const ab_t *in) { return t_slice(c, in[0], the_axis, 1, 2); }
static ab_t join(ab_ctx *c, const ab_t *in) { return t_concat(c, in[0], in[1], the_axis); }
static ab_t place(ab_ctx *c, const ab_t *in)
{
    int64_t d[4] = {2, 3, 2, 4};
    d[4 + the_axis] += 3;
    return tape_push(c, OP_PAD, F64, d, 1, in, &(attr){.SLICE = {.axis = the_axis, .from = 2}});
}
static void check_axes(void)
{
    for (the_axis = -4; the_axis < 0; the_axis++) {
        op_case sliced = {"SLICE", slice, {{3, 3, 3, 3}}, false, false};
        op_case joined = {"JOIN", join, {{2, 3, 2, 4}, {2, 3, 2, 4}}, false, false};
        op_case spread_over = {"BROADCAST_TO", spread, {{2, 3, 2, 4}}, false, false};
        joined.dim[1][4 + the_axis] = 1;
        spread_over.dim[0][4 + the_axis] = 1;
        check_case(&sliced), check_case(&joined), check_case(&spread_over);
        check_bf16(&sliced), check_bf16(&joined), check_bf16(&spread_over);
        check_case(&(op_case){"PLACE", place, {{2, 3, 2, 4}}, false, false});
        for (the_other = -4; the_other < 0; the_other++) {
            check_case(&(op_case){"SUM_TO", sum, {{2, 3, 2, 4}}, false, false});
            check_case(&(op_case){"TRANSPOSE", swap, {{2, 3, 2, 4}}, false, false});
            check_bf16(&(op_case){"SUM_TO", sum, {{2, 3, 2, 4}}, false, false});
            check_bf16(&(op_case){"TRANSPOSE", swap, {{2, 3, 2, 4}}, false, false});
        }
    }
}

/* ---- products ---- */

static int the_ta, the_tb;
static ab_t product(ab_ctx *c, const ab_t *in) { return t_matmul(c, in[0], in[1], the_ta, the_tb); }
static void check_products(void)
{
    static const int64_t outer[][4] = {{2, 3, 2, 3}, {2, 3, 1, 1}, {1, 3, 2, 1}, {1, 1, 2, 3}, {1, 1, 1, 1}};
    for (the_ta = 0; the_ta < 2; the_ta++)
        for (the_tb = 0; the_tb < 2; the_tb++)
            for (size_t i = 0; i < LENGTH(outer); i++) {
                const int64_t *d = outer[i];
                op_case o = {
                    "MATMUL",
                    product,
                    {{d[0], d[1], the_ta ? 5 : 3, the_ta ? 3 : 5}, {d[2], d[3], the_tb ? 4 : 5, the_tb ? 5 : 4}},
                    false,
                    false};
                check_case(&o);
                check_bf16(&o);
            }
}

/* ---- other operations ---- */

static ab_t ids(ab_ctx *c, int64_t n, const int32_t *v) { return t_ids(c, n, v); }
#define IDS(c, ...) ids(c, (int64_t)LENGTH(((int32_t[]){__VA_ARGS__})), (int32_t[]){__VA_ARGS__})

/* ids that are computed from numbers: their order in each line, or along all axes */
static ab_t pick_for_each(ab_ctx *c, const ab_t *in)
{
    return t_map(c, t_gather(c, in[0], t_top_k(c, in[1], 2, true)), AB_SIN);
}
static ab_t sum_by_order(ab_ctx *c, const ab_t *in)
{
    return t_map(c, t_scatter_add(c, in[0], t_top_k(c, in[0], 4, true), 4), AB_SIN);
}
static ab_t linear_twice(ab_ctx *c, const ab_t *in) /* the second gradient of x is added to the first one in place */
{
    ab_t a = t_linear(c, in[0], in[1], (ab_t){0}, 0, 0), b = t_linear(c, in[0], in[2], (ab_t){0}, 1, 0);
    return t_binary(c, OP_MUL, a, t_binary(c, OP_ADD, b, t_linear(c, in[0], in[1], (ab_t){0}, 0, 1)));
}
static ab_t embed_twice(ab_ctx *c, const ab_t *in) /* one table used twice: gradients are added in place */
{
    ab_t x = t_embed_tokens(c, in[0], IDS(c, 2, 0, 0, 1), (ab_t){0}, 1.5),
         y = t_embed_tokens(c, in[0], IDS(c, 1, -1, 3, 0), (ab_t){0}, 0.5);
    return t_linear(c, t_binary(c, OP_MUL, x, y), in[0], (ab_t){0}, 1, 0);
}

static ab_t entropy(ab_ctx *c, const ab_t *in, double smoothing, int others)
{
    ab_t one = t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){1});
    return t_ce(c, t_mul_scalar(c, in[0], 2), IDS(c, 1, -1, 4, 0), one, smoothing, others);
}
static ab_t ce(ab_ctx *c, const ab_t *in) { return entropy(c, in, 0, 0); }
static ab_t ce_others(ab_ctx *c, const ab_t *in) { return entropy(c, in, 0.1, 1); }

static ab_t diamond(ab_ctx *c, const ab_t *in)
{
    ab_t a = t_binary(c, OP_ADD, in[0], in[0]), b = t_binary(c, OP_MUL, a, in[0]), s = t_map(c, a, AB_SIN);
    return t_binary(c, OP_SUB, t_binary(c, OP_MUL, b, s),
                    t_reshape(c, t_reshape(c, a, (int64_t[4]){1, 1, 1, 12}), (int64_t[4]){1, 1, 3, 4}));
}
/* both terms of the sum get the same gradient node, and one term's gradient then gets a further addend */
static ab_t shared_gradient(ab_ctx *c, const ab_t *in)
{
    ab_t s = t_binary(c, OP_ADD, in[0], in[1]);
    return t_binary(c, OP_ADD, s, t_linear(c, in[0], in[2], (ab_t){0}, 0, 0));
}

/* a fused x y^2 with a kernel, its reference, and its own gradient */
static ab_t square_lower(ab_ctx *c, const ab_t *in, const void *a)
{
    return t_mul_scalar(c, t_binary(c, OP_MUL, in[0], t_map(c, in[1], AB_SQUARE)), *(const double *)a);
}
static void square_grad(ab_ctx *c, const ab_t *in, ab_t y, ab_t dy, ab_t *din, const void *a)
{
    (void)y;
    ab_t d = t_mul_scalar(c, t_binary(c, OP_MUL, dy, in[1]), *(const double *)a);
    din[0] = t_binary(c, OP_MUL, d, in[1]);
    din[1] = t_mul_scalar(c, t_binary(c, OP_MUL, d, in[0]), 2);
}
static int square_cpu(const ab_run *r)
{
    if (r->out.dtype != 1) return -1;
    int64_t n = r->out.dim[0] * r->out.dim[1] * r->out.dim[2] * r->out.dim[3];
    const double *x = r->in[0].data, *y = r->in[1].data;
    for (int64_t i = 0; i < n; i++) ((double *)r->out.data)[i] = *(const double *)r->attr * x[i] * y[i] * y[i];
    return 0;
}
static int declines(const ab_run *r)
{
    (void)r;
    return -1;
}
static const ab_op by_meaning = {.name = "xyy", .n_in = 2, .reference = square_lower},
                   by_kernel = {.name = "xyy", .n_in = 2, .reference = square_lower, .cpu = square_cpu},
                   by_rule = {.name = "xyy",
                              .n_in = 2,
                              .reference = square_lower,
                              .cpu = square_cpu,
                              .grad = square_grad},
                   by_nothing = {.name = "xyy", .n_in = 2, .reference = square_lower, .cpu = declines};
static const ab_op *the_call;
static ab_t called(ab_ctx *c, const ab_t *in)
{
    double by = 0.5;
    return t_map(c, t_call(c, the_call, in, &by, sizeof by), AB_SIN);
}
static void check_calls(void)
{
    static const ab_op *const ops[] = {&by_meaning, &by_kernel, &by_rule, &by_nothing};
    for (size_t i = 0; i < LENGTH(ops); i++) {
        the_call = ops[i];
        check_case(&(op_case){"CALL", called, {{2, 1, 3, 2}, {2, 1, 3, 2}}, false, false});
    }
}

static const op_case cases[] = {
    {"GATHER by ids of each head, of one for all sentences", pick_for_each, {{1, 2, 3, 4}, {2, 1, 3, 4}}, false, false},
    {"SCATTER_ADD by ids of each head", sum_by_order, {{2, 2, 3, 4}}, false, false},
    {"a value used three times", diamond, {{1, 1, 3, 4}}, false, false},
};
static const op_case rows_cases[] = {
    {"LINEAR three times", linear_twice, {{1, 1, 5, 3}, {1, 1, 3, 4}, {1, 1, 4, 3}}, false, false},
    {"EMBED, tied", embed_twice, {{1, 1, 4, 3}}, false, false},
    {"CE", ce, {{1, 1, 4, 5}}, true, false},
    {"CE, smoothed over the others", ce_others, {{1, 1, 4, 5}}, true, false},
    {"one gradient for two values", shared_gradient, {{1, 1, 3, 4}, {1, 1, 3, 4}, {1, 1, 4, 4}}, false, false},
};

int main(void)
{
    check_samples();
    check_sums_of_maps();
    check_binary();
    check_where();
    check_maps();
    check_axes();
    check_products();
    for (size_t i = 0; i < LENGTH(cases); i++) check_case(&cases[i]), check_bf16(&cases[i]);
    for (size_t i = 0; i < LENGTH(rows_cases); i++) check_case(&rows_cases[i]);
    check_calls();
    return test_end();
}
