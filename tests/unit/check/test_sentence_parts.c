/* The feed-forwards soft_moe and mixture_of_depths against their papers' formulas, written out here sentence by
 * sentence: encoder and decoder, training and evaluation, sentences of different lengths with dummy rows at the batch's
 * end. `ablate check` tests that decoding gives the results of whole sentences. */
#include "network/check/internal.h"
#include "services.h"
#include "network/plugin/attention_context.h"
#include "network/settings/config.h"
#include <math.h>

enum { D = 3, FF = 4, SENTENCES = 4, TOKENS = 14, ROWS = TOKENS + 2 };
static const int32_t offset[] = {0, 4, 5, 12, TOKENS};

typedef struct {
    const char *plugin, *settings[4][2]; /* settings: keys without the plugin's name, and values */
    uint32_t role;
    bool training;
    int64_t time; /* length of padded sentences; the longest has 7 tokens */
    double scale; /* soft_moe's learned scale */
} call_case;

typedef struct {
    params values;
    ab_ctx *c;
    const double *x, *y; /* [ROWS,D] */
} desk;

static void *settings_of(const plugin *p, const call_case *k, arena *a)
{
    settings set = {0};
    err e = {0};
    void *cfg = arena_alloc(a, p->desc.cfg_size + 16);
    for (size_t i = 0; i < LENGTH(k->settings) && k->settings[i][0]; i++)
        settings_set(&set, arena_printf(a, "%s.%s", p->desc.name, k->settings[i][0]), k->settings[i][1], a);
    CHECK_INT(config_bind(&set, p->desc.name, p->desc.params, cfg, a, &e), 0);
    CHECK_TEXT(e.text, "");
    return cfg;
}

static double *values(const desk *d, const char *name)
{
    const param *p = params_find(&d->values, name);
    CHECK_THAT(p, "no parameter '%s'", name);
    if (!p) exit(test_end());
    return (double *)d->values.value + p->at;
}

static void open_desk(desk *d, const call_case *k)
{
    err e = {0};
    arena memory = {0};
    int32_t ids[ROWS], length[SENTENCES];
    const plugin *p = plugin_find(AB_FEED_FORWARD, k->plugin, &e);
    CHECK_TEXT(e.text, "");
    if (!p) exit(test_end());
    *d = (desk){.values = {0}};
    ab_ctx *c = d->c = tape_new(&d->values, &cpu_backend, F64, k->training);
    ab_t x = t_input(c, "x", F64, PHASE_STEP, 1, 1, ROWS, D), off = t_ids(c, SENTENCES + 1, offset);
    for (int i = 0; i < ROWS; i++) ids[i] = i < TOKENS ? 5 : AB_ID_PAD;
    for (int i = 0; i < SENTENCES; i++) length[i] = offset[i + 1] - offset[i];
    attn_context context = {.info = {.heads = 1,
                                     .d_k = D,
                                     .d_v = D,
                                     .d_model = D,
                                     .d_ff = FF,
                                     .n_layers = 1,
                                     .role = k->role,
                                     .training = k->training},
                            .plugin = k->plugin,
                            .tokens = t_ids(c, ROWS, ids),
                            .x = x,
                            .mem = x,
                            .q_rows = ROWS,
                            .k_rows = ROWS,
                            .batch = SENTENCES,
                            .q_time = k->time,
                            .k_time = k->time,
                            .q_off = off,
                            .k_off = off,
                            .klen = t_ids(c, SENTENCES, length),
                            .mixes_tokens = true};
    c->attn = &context, c->hook = AB_IN_FEED_FORWARD, c->scope = "";
    t_keep(c, p->iface.feed_forward.forward(c, settings_of(p, k, &memory), x), "y");
    c->attn = NULL, c->hook = AB_IN_HOST;
    for (noted *n = c->recorded; n; n = n->next) t_keep(c, n->value, n->name);
    params_alloc(&d->values, F64, 0, 3, &cpu_backend);
    for (size_t i = 0; i < d->values.total; i++) ((double *)d->values.value)[i] = check_hashed(2, i);
    if (k->scale) *values(d, "scale") = k->scale;
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    double *in = tape_at(c, tape_find(c, "x"))->data;
    for (int i = 0; i < ROWS * D; i++) in[i] = check_hashed(1, (uint64_t)i);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    if (c->error.text[0]) exit(test_end());
    d->x = in, d->y = tape_at(c, tape_find(c, "y"))->data;
    arena_free(&memory);
}

static void close_desk(desk *d)
{
    tape_free(d->c);
    params_free(&d->values);
}

/* out [D] += weight * f(row [D]), where f is a layer with ReLU whose parameters are `prefix`1.w ... */
static void add_layer(const desk *d, const char *prefix, const double *row, double weight, double *out)
{
    char name[4][16];
    for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%s%d.%c", prefix, 1 + i / 2, "wb"[i % 2]);
    const double *w1 = values(d, name[0]), *b1 = values(d, name[1]), *w2 = values(d, name[2]), *b2 = values(d, name[3]);
    for (int j = 0; j < D; j++) out[j] += weight * b2[j];
    for (int f = 0; f < FF; f++) {
        double h = b1[f];
        for (int i = 0; i < D; i++) h += row[i] * w1[i * FF + f];
        for (int j = 0; j < D && h > 0; j++) out[j] += weight * h * w2[f * D + j];
    }
}

static void check_row(const desk *d, const call_case *k, int r, const double *expected)
{
    for (int j = 0; j < D; j++) {
        double found = d->y[r * D + j];
        CHECK_THAT(fabs(found - expected[j]) < 1e-12,
                   "%s, role %u, training %d, row %d, column %d: %.15g, expected %.15g", k->plugin, k->role,
                   k->training, r, j, found, expected[j]);
    }
}

/* ---- soft_moe ---- */

enum { EXPERTS = 2, SLOTS = 3, ALL = EXPERTS * SLOTS };

/* The cosine of x and column s of phi, times the scale. */
static double score(const desk *d, const double *x, int s, double scale)
{
    const double *phi = values(d, "phi");
    double dot = 0, xx = 1e-12, pp = 1e-12;
    for (int i = 0; i < D; i++) {
        double p = phi[i * ALL + s];
        dot += x[i] * p, xx += x[i] * x[i], pp += p * p;
    }
    return scale * dot / sqrt(xx * pp);
}

/* Adds the output for row r from the tokens from .. to - 1. Subtracts the largest weight before exp, as a stable
 * softmax does. */
static void soft_row(const desk *d, int r, int from, int to, double scale, double *out)
{
    double combine[ALL], all = 0;
    for (int s = 0; s < ALL; s++) all += combine[s] = exp(score(d, d->x + r * D, s, scale) - fabs(scale));
    for (int s = 0; s < ALL; s++) {
        double slot[D] = {0}, sum = 0;
        char prefix[8];
        for (int t = from; t < to; t++) {
            double w = exp(score(d, d->x + t * D, s, scale) - fabs(scale));
            sum += w;
            for (int i = 0; i < D; i++) slot[i] += w * d->x[t * D + i];
        }
        for (int i = 0; i < D; i++) slot[i] /= sum;
        snprintf(prefix, sizeof prefix, "%d.", s / SLOTS);
        add_layer(d, prefix, slot, combine[s] / all, out);
    }
}

static void check_soft(uint32_t role, int64_t time, double scale)
{
    const call_case k = {.plugin = "soft_moe",
                         .settings = {{"experts", "2"}, {"slots", "3"}},
                         .role = role,
                         .time = time,
                         .scale = scale};
    double used = role == AB_CAUSAL ? fmax(-30, fmin(30, scale)) : scale;
    desk d;
    open_desk(&d, &k);
    for (int s = 0; s < SENTENCES; s++)
        for (int r = offset[s]; r < offset[s + 1]; r++) {
            double expected[D] = {0};
            soft_row(&d, r, offset[s], role == AB_CAUSAL ? r + 1 : offset[s + 1], used, expected);
            check_row(&d, &k, r, expected);
        }
    for (int i = TOKENS * D; i < ROWS * D; i++) CHECK(isfinite(d.y[i]));
    close_desk(&d);
}

/* ---- mixture_of_depths ---- */

static double router(const desk *d, int r)
{
    double sum = *values(d, "router.b");
    for (int i = 0; i < D; i++) sum += d->x[r * D + i] * values(d, "router.w")[i];
    return sum;
}

/* Is row r among the rows from .. to - 1 of its sentence with the largest router values? */
static bool is_best(const desk *d, int r, int from, int to, double capacity)
{
    int before = 0;
    for (int t = from; t < to; t++) before += router(d, t) > router(d, r);
    return before < (int)ceil(capacity * (to - from));
}

static double kept(const desk *d, const char *name)
{
    ab_t x = tape_find(d->c, name);
    return x.id ? *(const double *)tape_at(d->c, x)->data : NAN;
}

static void check_depths(uint32_t role, bool training, int64_t time, const char *capacity)
{
    const call_case k = {.plugin = "mixture_of_depths",
                         .settings = {{"capacity", capacity}, {"auxiliary", "0.25"}},
                         .role = role,
                         .training = training,
                         .time = time};
    int chosen = 0, missed = 0;
    double entropy = 0;
    desk d;
    open_desk(&d, &k);
    for (int s = 0; s < SENTENCES; s++)
        for (int r = offset[s]; r < offset[s + 1]; r++) {
            double expected[D] = {0}, p = 1 / (1 + exp(-router(&d, r)));
            bool best = is_best(&d, r, offset[s], offset[s + 1], atof(capacity)), above = p > 0.5;
            if (role == AB_CAUSAL && !training ? above : best) add_layer(&d, "", d.x + r * D, p, expected);
            check_row(&d, &k, r, expected);
            chosen += best, missed += best != above, entropy -= log(best ? p : 1 - p);
        }
    if (role != AB_CAUSAL || training)
        for (int r = TOKENS; r < ROWS; r++) check_row(&d, &k, r, (double[D]){0});
    printf("mixture_of_depths, role %u, training %d, capacity %s: %d of %d tokens, %d missed\n", role, training,
           capacity, chosen, TOKENS, missed);
    /* for some tokens the two ways to choose must differ, or the cases would not tell them apart */
    CHECK(atof(capacity) == 1 || (missed > 0 && missed < TOKENS));
    if (training) {
        CHECK_NEAR(kept(&d, "mixture_of_depths.chosen"), (double)chosen / TOKENS, 1e-12);
        CHECK_NEAR(kept(&d, "mixture_of_depths.missed"), (double)missed / TOKENS, 1e-12);
        CHECK_NEAR(kept(&d, "mixture_of_depths.router"), entropy / TOKENS, 1e-12);
        CHECK_NEAR(d.c->recorded ? d.c->recorded->weight : NAN, 0.25, 0);
    } else {
        CHECK(!d.c->recorded);
    }
    close_desk(&d);
}

int main(void)
{
    static const uint32_t roles[] = {AB_SELF, AB_CAUSAL};
    static const int64_t times[] = {7, 10};
    static const double scales[] = {1, 2.5, -4, 80};
    static const char *const capacities[] = {"0.01", "0.3", "0.5", "1"};
    use_plugins();
    for (size_t i = 0; i < LENGTH(roles); i++)
        for (size_t t = 0; t < LENGTH(times); t++) {
            for (size_t s = 0; s < LENGTH(scales); s++) check_soft(roles[i], times[t], scales[s]);
            for (size_t k = 0; k < LENGTH(capacities); k++)
                for (int training = 0; training < 2; training++)
                    check_depths(roles[i], training, times[t], capacities[k]);
        }
    return test_end();
}
