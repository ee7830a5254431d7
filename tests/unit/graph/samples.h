/* samples.h - runs the samples of operations (op_sample of grad.h) on a backend, in one type. */
#ifndef ABLATE_TEST_SAMPLES_H
#define ABLATE_TEST_SAMPLES_H
#include "tensor/graph/grad.h"
#include "tapes.h"

enum { MOST_INPUTS = 4 };
static const struct {
    const op_sample *list;
    /* casts inputs to the tape's type, as these operations' builders expect; other builders take learned values in
     * F32 */
    bool casts;
} all_samples[] = {{generic_samples, true},
                   {shape_samples, true},
                   {rows_samples, false},
                   {sentence_samples, false},
                   {delta_samples, true}};

static inline int sample_inputs(const op_sample *o)
{
    int n = 0;
    while (n < MOST_INPUTS && o->dim[n][0]) n++;
    return n;
}
static inline double sample_value(const op_sample *o, int input, int64_t i)
{
    double u = hashed((uint64_t)input + 1, (uint64_t)i);
    return o->positive ? 0.3 + fabs(u) : u;
}

typedef struct {
    double loss,
        /* a loss; and for each input a weighted sum over all elements of its gradient */
        gradient[MOST_INPUTS];
    char refused[256]; /* the message if planning was refused, or "" */
} sample_outcome;

/* Returns the sum of x; for a CE's result [R, 2] the sum of the smoothed column. */
static inline double sample_number(ab_ctx *c, ab_t x, err *e)
{
    double sum = 0;
    if (!x.id) return 0;
    const node *v = tape_at(c, x);
    size_t size = dtype_size(v->type), n = (size_t)node_count(v);
    char *numbers = xmalloc(n * size);
    if (tape_read(c, x, numbers, n * size, e)) sum = NAN;
    for (size_t i = 0; i < n; i += v->op == OP_CE ? 2 : 1)
        sum += v->type == F64 ? ((double *)numbers)[i] : (double)((float *)numbers)[i];
    free(numbers);
    return sum;
}

/* Runs the sample on a tape of this type. seen [OP_COUNT] (or NULL): set to true for each operation on the tape. */
static inline sample_outcome sample_run(const op_sample *o, bool casts, const backend *b, dtype type, bool *seen)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, b, type, o->training);
    ab_t in[MOST_INPUTS] = {{0}}, given[MOST_INPUTS] = {{0}}, kept[1 + MOST_INPUTS] = {{0}};
    sample_outcome out = {.refused = ""};
    int n = sample_inputs(o);
    for (int k = 0; k < n; k++) {
        const int64_t *d = o->dim[k];
        in[k] = t_input(c, arena_printf(&c->memory, "in%d", k), type == F64 ? F64 : F32, PHASE_STEP, d[0], d[1], d[2],
                        d[3]);
        tape_at(c, in[k])->needs = true;
        given[k] = casts ? t_cast(c, in[k], type) : in[k];
    }
    ab_t y = o->build(c, given);
    kept[0] = y.id && tape_at(c, y)->op == OP_CE ? y : weighed(c, y);
    CHECK_INT(tape_backward(c, kept[0]), 0);
    for (int k = 0; k < n && !c->error.text[0]; k++) kept[1 + k] = weighed(c, (ab_t){c->grad[in[k].id]});
    for (int k = 0; k <= n; k++) t_keep(c, kept[k], arena_printf(&c->memory, "kept%d", k));
    for (int32_t i = 1; seen && i < c->n; i++) seen[c->v[i].op] = true;
    if (c->error.text[0]) {
        printf("%s: %s\n", o->name, c->error.text);
    } else if (tape_plan(c, NULL, NULL)) {
        snprintf(out.refused, sizeof out.refused, "%.255s", c->error.text);
    } else {
        for (int k = 0; k < n; k++) {
            size_t size = type == F64 ? 8 : 4, count = (size_t)node_count(tape_at(c, in[k]));
            double *numbers = xmalloc(count * sizeof *numbers);
            for (size_t i = 0; i < count; i++) {
                double u = sample_value(o, k, (int64_t)i);
                if (type == F64)
                    numbers[i] = u;
                else
                    ((float *)numbers)[i] = (float)u;
            }
            if (tape_at(c, in[k])->data) tape_write(c, in[k], numbers, count * size);
            free(numbers);
        }
        CHECK_INT(run(c), 0);
        out.loss = sample_number(c, kept[0], &c->error);
        for (int k = 0; k < n; k++) out.gradient[k] = sample_number(c, kept[1 + k], &c->error);
    }
    if (c->error.text[0] && !out.refused[0]) CHECK_TEXT(c->error.text, "");
    tape_free(c);
    params_free(&none);
    return out;
}

/* Checks that the outcome is close to the reference's. tolerance: for a number of about 1. */
static inline void check_outcome(const char *what, const op_sample *o, const sample_outcome *found,
                                 const sample_outcome *reference, double tolerance)
{
    int failed = test_failed;
    CHECK_TEXT(found->refused, "");
    CHECK_NEAR(found->loss, reference->loss, tolerance * fmax(1, fabs(reference->loss)));
    for (int k = 0; k < sample_inputs(o); k++)
        CHECK_NEAR(found->gradient[k], reference->gradient[k], tolerance * fmax(1, fabs(reference->gradient[k])));
    if (test_failed > failed) printf("^ %s, %s\n", o->name, what);
}
#endif
