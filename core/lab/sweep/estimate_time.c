/* estimate_time.c - times updates of a row on random batches whose lengths are like the data's. */
#include "text/data/random_batches.h"
#include "lab/sweep/estimate_child.h"
#include "network/train/train.h"
#include "text/metric/stats.h"
#include <math.h>

enum { MOST_TOKENS = 1024, FEWEST_TOKENS = 128, SHAPES = 3, MOST_ROUNDS = 20 };
static const double MOST_FLOPS = 2e10; /* most FLOPs of a timed batch, if it has more than FEWEST_TOKENS */
/* Time of one hypothesis's token relative to a training token of both sides: the median of experiments/recorded, most
 * of whose rows lie between 0.6 and 2.5. */
static const double DECODING = 1.2;
/* Seconds of an update beside its passes: the next batch, its events to the host, the learning rate. */
static const double AROUND = 5e-5;
static const double shares[SHAPES] = {0.7, 1, 1.3}; /* shares of the mean length */

int64_t row_number(const spec_row *row, const char *key)
{
    int64_t n = 0;
    const char *text = settings_get(&row->placed, key);
    return text && parse_int(text, &n) ? n : 0;
}

/* Returns the mean length of a training pair's side; windows are always full. Without a source: the target's. */
static double mean_length(const group *g, bool source)
{
    const split_size *s = &g->split[AB_TRAIN];
    double length = !s->lines || g->windows ? (double)g->length : (source && g->src ? s->src : s->tgt) / s->lines;
    return length < 2 ? 2 : length;
}

/* Returns a share of the mean length, at most the longest, because positions may end there. */
static double share_of(const group *g, double share, bool source)
{
    const split_size *s = &g->split[AB_TRAIN];
    double mean = mean_length(g, source), longest = source && g->src ? s->longest_src : s->longest_tgt;
    if (!s->lines || g->windows) longest = mean;
    return fmax(1, fmin(round(share * mean), fmax(longest, mean)));
}

/* Are all sentences equally long? Then the shape of a batch does not change from step to step. */
static bool uniform(const group *g)
{
    return g->split[AB_TRAIN].lines > 0 &&
           (g->windows || (!g->src && g->split[AB_TRAIN].longest_tgt < 1.01 * mean_length(g, false)));
}

static model_shape shape_of(const group *g, double tokens, double share)
{
    double src = share_of(g, share, true), tgt = share_of(g, share, false);
    double n = fmax(1, floor(tokens / fmax(src, tgt)));
    return (model_shape){(int64_t)n, (int64_t)(n * src), (int64_t)(n * tgt), (int64_t)src, (int64_t)tgt};
}

int count_shape(const spec_row *row, const group *g, const backend *on, dtype compute, const model_shape *shape,
                model_costs *out, err *e)
{
    model m = {0};
    if (model_open_to_count(&m, &row->placed, g->src, g->tgt, compute, on, e)) return -1;
    int bad = model_count_costs(&m, shape, out, e);
    model_free(&m);
    return bad;
}

static double accumulated(const spec_row *row)
{
    int64_t n = row_number(row, "gradient_accumulation");
    return n > 1 ? (double)n : 1;
}

double tokens_of_update(const group *g, double batch_tokens)
{
    model_shape x = shape_of(g, batch_tokens, 1);
    return (double)x.tgt_rows + (g->src ? (double)x.src_rows : 0);
}

int count_update(const spec_row *row, const group *g, const backend *on, dtype compute, model_costs *out, err *e)
{
    model_shape shape = shape_of(g, (double)row_number(row, "batch_tokens"), 1);
    return count_shape(row, g, on, compute, &shape, out, e);
}

double update_flops(const spec_row *row, const model_costs *update) { return costs_total(update) * accumulated(row); }

typedef struct {
    double gradient, update; /* gradient: seconds of all shapes' gradients; update: seconds of one update */
    double flops;            /* FLOPs of all shapes */
    double busy;             /* row_speed's */
} timed;

/* Measures medians over several rounds. Shapes change from step to step, as in training. */
static int time_steps(model *m, const group *g, double tokens, int64_t shapes, double patience, double most, timed *out,
                      err *e)
{
    recorded r[SHAPES] = {{0}};
    if (*m->cfg.teacher) m->cfg.teacher = TEACHER_MADE_UP; /* excludes the time of the teacher's pass */
    train_step *s = train_step_open(m, e);
    /* processor time includes waiting for the CPU's kernels, but not for a device's */
    double (*const time)(void) = on_device(m->backend) ? ticks : processor_ticks;
    double spent = 0, counted = 0, gradient[SHAPES][MOST_ROUNDS], update[SHAPES * MOST_ROUNDS];
    int64_t vocab = g->src && g->src < g->tgt ? g->src : g->tgt, step = 1;
    int bad = !s, rounds = -1; /* round -1 is not counted: it plans memory and packs weights */
    const double most_rounds = fmax(1, fmin(MOST_ROUNDS, most / (double)shapes));
    *out = (timed){0};
    for (int64_t i = 0; i < shapes; i++) {
        model_shape x = shape_of(g, tokens, shapes == 1 ? 1 : shares[i]);
        recorded_make(&r[i], x.batch, x.src_time, x.tgt_time, vocab);
    }
    for (; !bad && rounds < most_rounds && spent < patience; rounds++) {
        double began = ticks(), from = time();
        for (int64_t i = 0; i < shapes && !bad; i++, step++) {
            const double(*sums)[2];
            const batch *b = &r[i].b[0];
            double start = time();
            bad = train_step_gradient(s, b, step, e) || train_step_losses(s, &sums, e) < 0;
            double middle = time();
            bad = bad || train_step_update(s, (double)b->tgt_rows, step, e) || train_step_losses(s, &sums, e) < 0;
            if (rounds < 0) continue;
            gradient[i][rounds] = middle - start;
            update[rounds * shapes + i] = time() - middle;
        }
        if (rounds >= 0) spent += ticks() - began, counted += time() - from;
    }
    for (int64_t i = 0; i < shapes && !bad; i++) {
        model_costs c;
        model_shape x = shape_of(g, tokens, shapes == 1 ? 1 : shares[i]);
        out->gradient += stats_median(gradient[i], (size_t)rounds);
        bad = model_count_costs(m, &x, &c, e);
        out->flops += costs_total(&c);
    }
    if (!bad)
        out->update = stats_median(update, (size_t)(rounds * shapes)), out->busy = counted > 0 ? spent / counted : 1;
    if (s) train_step_close(s);
    for (int64_t i = 0; i < shapes; i++) recorded_free(&r[i]);
    return bad ? -1 : 0;
}

/* Returns the tokens of a timed batch, for a row whose update has `tokens` and `flops`. */
static double tokens_to_time(double tokens, double flops)
{
    double n = fmin(tokens, MOST_TOKENS);
    return flops * n / tokens > MOST_FLOPS ? fmax(fmin(tokens, FEWEST_TOKENS), tokens * MOST_FLOPS / flops) : n;
}

double timing_memory(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                     err *e)
{
    model_costs c = {.learned = full->learned};
    double tokens = (double)row_number(row, "batch_tokens");
    if (on_device(on)) return 0;
    model_shape shape = shape_of(g, shares[SHAPES - 1] * tokens_to_time(tokens, costs_total(full)), 1);
    if (PROGRAM + (double)c.learned < MOST_TO_TIME && count_shape(row, g, on, compute, &shape, &c, e)) return NAN;
    return PROGRAM + (double)(c.values + c.learned);
}

row_speed time_row(const spec_row *row, const group *g, const backend *on, dtype compute, const model_costs *full,
                   double patience, double most, err *e)
{
    row_speed none = {NAN, NAN, NAN, 1};
    model m = {0};
    timed t;
    double tokens = (double)row_number(row, "batch_tokens");
    double flops = costs_total(full), timed_tokens = tokens_to_time(tokens, flops);
    if (model_open(&m, &row->placed, g->src, g->tgt, compute, on, e)) return none;
    bool large = flops * timed_tokens / tokens > MOST_FLOPS / 4;
    int bad = time_steps(&m, g, timed_tokens, large || uniform(g) ? 1 : SHAPES, patience, most, &t, e);
    model_free(&m);
    if (bad) return none;
    double gradient = t.gradient * flops / t.flops, forward = 0;
    for (int i = 0; i < COST_PARTS; i++) forward += full->forward[i];
    model_shape x = shape_of(g, tokens, 1);
    double predicted = (double)x.tgt_rows, both = predicted + (g->src ? (double)x.src_rows : 0);
    return (row_speed){gradient * accumulated(row) + t.update + AROUND, gradient * forward / flops / predicted,
                       DECODING * gradient / both, t.busy};
}
