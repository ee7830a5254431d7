/* Token mixers against their formulas, written out here position by position, with the plugin's own learned values and
 * two sentences of different lengths. */
#include "services.h"
#include "network/check/block.h"
#include "network/settings/config.h"
#include <math.h>

enum { H = 2, D = 3, WIDTH = 6, SENTENCES = 2, MOST_ROWS = 75 };
static const int32_t usual[SENTENCES] = {7, 5}, over_chunks[SENTENCES] = {70, 5};

typedef struct {
    block b;
    uint32_t role;
    const double *x; /* rows of the current sentence, [n,WIDTH] */
    int64_t n;
} mixer;

static const double *values(mixer *m, const char *name)
{
    static const double none[4096];
    const param *p = params_find(&m->b.values, name);
    if (!p) printf("no parameter '%s'\n", name);
    CHECK(p != NULL);
    return p ? (const double *)m->b.values.value + p->at : none;
}

/* Returns element j of row times the linear map `name` with `columns` outputs, plus its bias if it has one. */
static double product(mixer *m, const double *row, int64_t inputs, const char *name, int64_t columns, int64_t j,
                      bool bias)
{
    char w[32], b[32];
    snprintf(w, sizeof w, "%s.w", name), snprintf(b, sizeof b, "%s.b", name);
    const double *v = values(m, w);
    double y = bias ? values(m, b)[j] : 0;
    for (int64_t i = 0; i < inputs; i++) y += row[i] * v[i * columns + j];
    return y;
}
static const double *row_of(const mixer *m, int64_t t) { return m->x + t * WIDTH; }
static double sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double projected(mixer *m, int64_t t, int which, int64_t h, int64_t i) /* which: 0 query, 1 key, 2 value */
{
    return product(m, row_of(m, t), WIDTH, "qkv", 3 * H * D, which * H * D + h * D + i, true);
}
static bool visible(const mixer *m, int64_t i, int64_t j) { return m->role != AB_CAUSAL || j <= i; }

/* ---- mixers whose state decays ---- */

static double log_kept(mixer *m, bool gated, int64_t t, int64_t h, int64_t i)
{
    if (!gated) return log(1 - pow(2, -5 - (double)h));
    double low[16];
    for (int64_t r = 0; r < 16; r++) low[r] = product(m, row_of(m, t), WIDTH, "alpha_down", 16, r, false);
    return log(sigmoid(product(m, low, 16, "alpha_up", H * D, h * D + i, true))) / 16;
}

/* The weight of position j for position i: a sum over the key's elements, each decayed at all positions between. */
static double decayed_weight(mixer *m, bool gated, int64_t h, int64_t i, int64_t j)
{
    double weight = 0;
    for (int64_t r = 0; r < D; r++) {
        double decay = 0;
        for (int64_t s = (i < j ? i : j) + 1; s <= (i < j ? j : i); s++) decay += log_kept(m, gated, s, h, r);
        weight += projected(m, i, 0, h, r) / sqrt(D) * projected(m, j, 1, h, r) * exp(decay);
    }
    return weight;
}

static void decayed_row(mixer *m, bool gated, int64_t i, double *out)
{
    double y[H * D] = {0};
    for (int64_t h = 0; h < H; h++) {
        double mean = 0, variance = 0, *v = y + h * D;
        for (int64_t j = 0; j < m->n; j++)
            for (int64_t d = 0; d < D && visible(m, i, j); d++)
                v[d] += decayed_weight(m, gated, h, i, j) * projected(m, j, 2, h, d);
        for (int64_t d = 0; d < D; d++) mean += v[d] / D;
        for (int64_t d = 0; d < D; d++) variance += (v[d] - mean) * (v[d] - mean) / D;
        for (int64_t d = 0; d < D; d++) v[d] = (v[d] - mean) / sqrt(variance + 1e-4);
    }
    for (int64_t d = 0; d < H * D; d++) {
        double gate = product(m, row_of(m, i), WIDTH, "gate", H * D, d, gated);
        y[d] *= gate * sigmoid(gate);
    }
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "out", WIDTH, d, false);
}
static void retention(mixer *m, int64_t i, double *out) { decayed_row(m, false, i, out); }
static void gated_linear(mixer *m, int64_t i, double *out) { decayed_row(m, true, i, out); }

/* ---- mixers that correct their state: token after token ---- */

typedef enum { DELTA_NET, GATED_DELTA_NET, MAMBA2 } delta_kind;
static double swish(double a) { return a * sigmoid(a); }
static double softplus(double a) { return log1p(exp(a)); }

/* Head h of a token's projection `name`, after a convolution over four tokens, normalised to length 1 if `unit`. */
static void mixed(mixer *m, int64_t t, const char *name, int64_t columns, int64_t h, bool unit, double out[D])
{
    char conv[16];
    double sum = 1e-6;
    snprintf(conv, sizeof conv, "%s.conv", name);
    for (int64_t d = 0; d < D; d++) {
        double y = 0;
        for (int64_t i = 0; i < 4; i++) {
            int64_t at = t + i - (m->role == AB_CAUSAL ? 3 : 2), j = h * D + d;
            if (at < 0 || at >= m->n) continue;
            y += values(m, conv)[i * columns + j] * product(m, row_of(m, at), WIDTH, name, columns, j, false);
        }
        out[d] = swish(y), sum += out[d] * out[d];
    }
    for (int64_t d = 0; d < D && unit; d++) out[d] /= sqrt(sum);
}

typedef struct {
    double q[D], k[D], v[D], x[D], beta, kept; /* x: v before its multiplication by a factor */
} delta_token;
static delta_token token_at(mixer *m, delta_kind kind, int64_t t, int64_t h)
{
    delta_token s = {.beta = 1, .kept = 1};
    double dt = kind == DELTA_NET ? 0
                                  : softplus(product(m, row_of(m, t), WIDTH, "dt", H, h, false) +
                                             values(m, "dt_bias")[h] + log(expm1(h ? 0.1 : 0.001)));
    if (kind != DELTA_NET) s.kept = exp(-exp(values(m, "A")[h] + (double)h * log(16)) * dt);
    if (kind == MAMBA2) {
        mixed(m, t, "x", H * D, h, false, s.x);
        mixed(m, t, "B", D, 0, false, s.k);
        mixed(m, t, "C", D, 0, false, s.q);
        for (int64_t d = 0; d < D; d++) s.v[d] = dt * s.x[d];
    } else {
        mixed(m, t, "q", H * D, h, true, s.q);
        mixed(m, t, "k", H * D, h, true, s.k);
        mixed(m, t, "v", H * D, h, false, s.v);
        s.beta = sigmoid(product(m, row_of(m, t), WIDTH, "beta", H, h, false));
    }
    return s;
}

/* Adds the output of token i: what it reads from the state, which has the tokens from one end of the sentence up to
 * i. */
static void read_state(mixer *m, delta_kind kind, int64_t h, int64_t i, bool backwards, double y[D])
{
    double S[D][D] = {{0}};
    for (int64_t done = 0; done <= (backwards ? m->n - 1 - i : i); done++) {
        delta_token s = token_at(m, kind, backwards ? m->n - 1 - done : done, h);
        for (int64_t j = 0; j < D; j++) {
            double stored = 0;
            for (int64_t d = 0; d < D; d++) S[d][j] *= s.kept, stored += s.k[d] * S[d][j];
            for (int64_t d = 0; d < D; d++) S[d][j] += s.k[d] * s.beta * (s.v[j] - (kind == MAMBA2 ? 0 : stored));
        }
    }
    delta_token s = token_at(m, kind, i, h);
    for (int64_t d = 0; d < D; d++)
        for (int64_t j = 0; j < D; j++) y[j] += s.q[d] * S[d][j];
}

static void normalise(mixer *m, double *y, int64_t n)
{
    double sum = 0;
    for (int64_t d = 0; d < n; d++) sum += y[d] * y[d] / (double)n;
    for (int64_t d = 0; d < n; d++) y[d] *= values(m, "gain")[d] / sqrt(sum + 1e-5);
}

static void delta_row(mixer *m, delta_kind kind, int64_t i, double *out)
{
    double y[H * D] = {0};
    for (int64_t h = 0; h < H; h++) {
        double *v = y + h * D;
        read_state(m, kind, h, i, false, v);
        if (m->role != AB_CAUSAL) read_state(m, kind, h, i, true, v);
        if (kind != MAMBA2) normalise(m, v, D);
        for (int64_t d = 0; d < D && kind == MAMBA2; d++) v[d] += values(m, "D")[h] * token_at(m, kind, i, h).x[d];
    }
    for (int64_t d = 0; d < H * D && kind != DELTA_NET; d++)
        y[d] *= swish(product(m, row_of(m, i), WIDTH, "gate", H * D, d, false));
    if (kind == MAMBA2) normalise(m, y, H * D);
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "out", WIDTH, d, false);
}
static void delta_net(mixer *m, int64_t i, double *out) { delta_row(m, DELTA_NET, i, out); }
static void gated_delta_net(mixer *m, int64_t i, double *out) { delta_row(m, GATED_DELTA_NET, i, out); }
static void mamba2(mixer *m, int64_t i, double *out) { delta_row(m, MAMBA2, i, out); }

/* ---- running sums: phi(q) phi(k), phi = elu + 1 ---- */

static double phi(double a) { return a > 0 ? a + 1 : exp(a); }
static void linear(mixer *m, int64_t i, double *out)
{
    double y[H * D] = {0};
    for (int64_t h = 0; h < H; h++) {
        double sum = 1e-6;
        for (int64_t j = 0; j < m->n && visible(m, i, j); j++) {
            double weight = 0;
            for (int64_t d = 0; d < D; d++) weight += phi(projected(m, i, 0, h, d)) * phi(projected(m, j, 1, h, d));
            for (int64_t d = 0; d < D; d++) y[h * D + d] += weight * projected(m, j, 2, h, d);
            sum += weight;
        }
        for (int64_t d = 0; d < D; d++) y[h * D + d] /= sum;
    }
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "o", WIDTH, d, true);
}

/* ---- convolutions of width 3 and dilation 2: positions i - 4, i - 2, i, or in the encoder i - 2, i, i + 2 ---- */

static void under_kernel(const mixer *m, int64_t i, double seen[3][WIDTH])
{
    for (int64_t j = 0; j < 3; j++) {
        int64_t at = i + 2 * j - (m->role == AB_CAUSAL ? 4 : 2);
        for (int64_t d = 0; d < WIDTH; d++) seen[j][d] = at >= 0 && at < m->n ? row_of(m, at)[d] : 0;
    }
}
static void dilated(mixer *m, int64_t i, double *out)
{
    double seen[3][WIDTH];
    under_kernel(m, i, seen);
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, seen[0], 3 * WIDTH, "w", WIDTH, d, true);
}
static void separable(mixer *m, int64_t i, double *out)
{
    double seen[3][WIDTH], y[WIDTH] = {0};
    under_kernel(m, i, seen);
    for (int64_t j = 0; j < 3; j++)
        for (int64_t d = 0; d < WIDTH; d++) y[d] += seen[j][d] * values(m, "depthwise")[j * WIDTH + d];
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, WIDTH, "w", WIDTH, d, true);
}

/* ---- hyena: gated long convolutions ---- */

enum { ORDER = 2, COLUMNS = H * D, BANDS = 2, UNITS = 3 }; /* hyena.bands, hyena.width; hyena.length is 8 */
static double sine_unit(mixer *m, const char *name, const double *z, int64_t inputs, int64_t u)
{
    return sin(14 * product(m, z, inputs, name, UNITS, u, true));
}
/* The weight of the position `lag` earlier (later, if negative) in filter k, column j. */
static double hyena_tap(mixer *m, int64_t lag, int64_t k, int64_t j)
{
    double t = (double)lag / 8, feature[1 + 2 * BANDS] = {t}, first[UNITS], second[UNITS];
    for (int64_t f = 1; f <= BANDS; f++)
        feature[2 * f - 1] = cos(2 * acos(-1) * (double)f * t), feature[2 * f] = sin(2 * acos(-1) * (double)f * t);
    for (int64_t u = 0; u < UNITS; u++) first[u] = sine_unit(m, "filter.in", feature, 1 + 2 * BANDS, u);
    for (int64_t u = 0; u < UNITS; u++) second[u] = sine_unit(m, "filter.hidden", first, UNITS, u);
    double share = (double)j / (COLUMNS - 1), rate = log(100) * ((1 - share) / 1.5 + share / 0.3);
    return (exp(-rate * fabs(t)) + 0.05) *
           product(m, second, UNITS, "filter.out", ORDER * COLUMNS, k * COLUMNS + j, false);
}
static double hyena_input(mixer *m, int64_t t, int64_t column)
{
    double y = 0;
    for (int64_t i = 0; i < 3; i++) {
        int64_t at = t + i - (m->role == AB_CAUSAL ? 2 : 1), columns = (ORDER + 1) * COLUMNS;
        if (at < 0 || at >= m->n) continue;
        y += values(m, "conv")[i * columns + column] * product(m, row_of(m, at), WIDTH, "in", columns, column, true);
    }
    return y;
}
static void hyena(mixer *m, int64_t i, double *out)
{
    /* computed for the whole sentence when its first row is requested */
    static double z[ORDER + 1][MOST_ROWS][COLUMNS];
    for (int64_t k = 0; k <= ORDER && !i; k++)
        for (int64_t t = 0; t < m->n; t++)
            for (int64_t j = 0; j < COLUMNS; j++) {
                double x = hyena_input(m, t, k * COLUMNS + j), seen = 0;
                for (int64_t s = 0; s < m->n && k; s++)
                    if (visible(m, t, s)) seen += hyena_tap(m, t - s, k - 1, j) * z[k - 1][s][j];
                z[k][t][j] = k ? x * (seen + values(m, "skip")[(k - 1) * COLUMNS + j] * z[k - 1][t][j]) : x;
            }
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, z[ORDER][i], COLUMNS, "out", WIDTH, d, true);
}

/* ---- attentions with other scores ---- */

enum { PLACES = 9 }; /* synthesizer.max_len */

static double dense_score(mixer *m, int64_t h, int64_t i, int64_t j)
{
    double s = 0;
    for (int64_t r = 0; r < D; r++) {
        double hidden = product(m, row_of(m, i), WIDTH, "hidden", H * D, h * D + r, true);
        s += (hidden > 0 ? hidden : 0) * values(m, "places")[(h * D + r) * PLACES + j];
    }
    return s;
}
static double random_score(mixer *m, int64_t h, int64_t i, int64_t j)
{
    return values(m, "pairs")[(i * H + h) * PLACES + j];
}
static double dot_score(mixer *m, int64_t h, int64_t i, int64_t j)
{
    double s = 0;
    for (int64_t d = 0; d < D; d++) s += projected(m, i, 0, h, d) * projected(m, j, 1, h, d) / sqrt(D);
    return s;
}
static double kerple_score(mixer *m, int64_t h, int64_t i, int64_t j)
{
    double r1 = log(1 + exp(values(m, "kerple_r1")[h])), r2 = log(1 + exp(values(m, "kerple_r2")[h]));
    return dot_score(m, h, i, j) - r1 * log(1 + r2 * fabs((double)(i - j)));
}

static void weighted(mixer *m, int64_t i, double *out, double (*score)(mixer *m, int64_t h, int64_t i, int64_t j),
                     bool own_values)
{
    double y[H * D] = {0};
    for (int64_t h = 0; h < H; h++) {
        double sum = 0;
        for (int64_t j = 0; j < m->n; j++) sum += visible(m, i, j) ? exp(score(m, h, i, j)) : 0;
        for (int64_t j = 0; j < m->n; j++)
            for (int64_t d = 0; d < D && visible(m, i, j); d++) {
                double v = own_values ? product(m, row_of(m, j), WIDTH, "v", H * D, h * D + d, true)
                                      : projected(m, j, 2, h, d);
                y[h * D + d] += exp(score(m, h, i, j)) / sum * v;
            }
    }
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "o", WIDTH, d, true);
}
static void dense(mixer *m, int64_t i, double *out) { weighted(m, i, out, dense_score, true); }
static void random_table(mixer *m, int64_t i, double *out) { weighted(m, i, out, random_score, true); }
static void kerple(mixer *m, int64_t i, double *out) { weighted(m, i, out, kerple_score, false); }

/* ---- attentions whose weights are no softmax over the keys ---- */

static void with_weights(mixer *m, int64_t i, double *out, double (*weight)(mixer *m, int64_t h, int64_t i, int64_t j))
{
    double y[H * D] = {0};
    for (int64_t h = 0; h < H; h++)
        for (int64_t j = 0; j < m->n; j++)
            for (int64_t d = 0; d < D && visible(m, i, j); d++)
                y[h * D + d] += weight(m, h, i, j) * projected(m, j, 2, h, d);
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "o", WIDTH, d, true);
}

static double sigmoid_weight(mixer *m, int64_t h, int64_t i, int64_t j)
{
    return sigmoid(dot_score(m, h, i, j) - log((double)(m->role == AB_CAUSAL ? i + 1 : m->n)));
}
static double unbiased_weight(mixer *m, int64_t h, int64_t i, int64_t j) { return sigmoid(dot_score(m, h, i, j)); }
static double with_sink(mixer *m, int64_t h, int64_t i, int64_t j, double sink)
{
    double sum = exp(sink);
    for (int64_t k = 0; k < m->n; k++) sum += visible(m, i, k) ? exp(dot_score(m, h, i, k)) : 0;
    return exp(dot_score(m, h, i, j)) / sum;
}
static double sink_weight(mixer *m, int64_t h, int64_t i, int64_t j)
{
    return with_sink(m, h, i, j, values(m, "sink")[h]);
}
static double zero_weight(mixer *m, int64_t h, int64_t i, int64_t j) { return with_sink(m, h, i, j, 0); }
static void sigmoid_row(mixer *m, int64_t i, double *out) { with_weights(m, i, out, sigmoid_weight); }
static void unbiased_row(mixer *m, int64_t i, double *out) { with_weights(m, i, out, unbiased_weight); }
static void sink_row(mixer *m, int64_t i, double *out) { with_weights(m, i, out, sink_weight); }
static void zero_row(mixer *m, int64_t i, double *out) { with_weights(m, i, out, zero_weight); }

enum { HALF = 2 }; /* D / 2, with D rounded up to an even number */
static double map_score(mixer *m, int64_t which, int64_t h, int64_t i, int64_t j)
{
    double s = 0;
    for (int64_t d = 0; d < HALF; d++) {
        int64_t column = (which * H + h) * HALF + d;
        s += product(m, row_of(m, i), WIDTH, "q", 2 * H * HALF, column, true) *
             product(m, row_of(m, j), WIDTH, "k", 2 * H * HALF, column, true) / sqrt(HALF);
    }
    return s;
}
static double map_weight(mixer *m, int64_t which, int64_t h, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < m->n; k++) sum += visible(m, i, k) ? exp(map_score(m, which, h, i, k)) : 0;
    return exp(map_score(m, which, h, i, j)) / sum;
}
static void differential(mixer *m, int64_t i, double *out)
{
    double y[H * D] = {0}, a = 0, b = 0, initial = 0.8 - 0.6;
    for (int64_t d = 0; d < HALF; d++) {
        a += values(m, "lambda_q1")[d] * values(m, "lambda_k1")[d];
        b += values(m, "lambda_q2")[d] * values(m, "lambda_k2")[d];
    }
    double lambda = exp(a) - exp(b) + initial;
    for (int64_t h = 0; h < H; h++) {
        double squares = 0, *v = y + h * D;
        for (int64_t j = 0; j < m->n; j++)
            for (int64_t d = 0; d < D && visible(m, i, j); d++)
                v[d] += (map_weight(m, 0, h, i, j) - lambda * map_weight(m, 1, h, i, j)) *
                        product(m, row_of(m, j), WIDTH, "v", H * D, h * D + d, true);
        for (int64_t d = 0; d < D; d++) squares += v[d] * v[d] / D;
        for (int64_t d = 0; d < D; d++) v[d] *= values(m, "norm")[d] * (1 - initial) / sqrt(squares + 1e-5);
    }
    for (int64_t d = 0; d < WIDTH; d++) out[d] = product(m, y, H * D, "o", WIDTH, d, true);
}

/* ---- all mixers ---- */

#define HYENA                                                                                                          \
    {"hyena.length", "8"}, {"hyena.bands", "2"}, { "hyena.width", "3" }

typedef struct {
    const char *name, *attention, *position, *set[3][2];
    void (*row)(mixer *m, int64_t i, double *out);
    const int32_t *lengths; /* NULL: usual */
} form;

static void compare(mixer *m, const form *f)
{
    double found[MOST_ROWS * WIDTH], expected[WIDTH];
    const int32_t *lengths = f->lengths ? f->lengths : usual;
    int64_t numbers = (lengths[0] + lengths[1]) * WIDTH;
    for (int64_t i = 0; i < numbers; i++) m->b.x[i] = cos((double)(i * i + 3 * i));
    /* moves all parameters off their first values: biases are 0 at first */
    for (size_t i = 0; i < m->b.values.total; i++) ((double *)m->b.values.value)[i] += 0.05 * sin((double)i);
    err e = {0};
    CHECK_INT(block_run(&m->b, &e), 0);
    memcpy(found, m->b.y, (size_t)numbers * sizeof *found);
    for (int32_t s = 0, first = 0; s < SENTENCES; first += lengths[s++]) {
        m->x = m->b.x + first * WIDTH, m->n = lengths[s];
        for (int64_t i = 0; i < m->n; i++) {
            f->row(m, i, expected);
            for (int64_t d = 0; d < WIDTH; d++) CHECK_NEAR(found[(first + i) * WIDTH + d], expected[d], 1e-12);
        }
    }
}

static void check_form(const form *f, uint32_t role)
{
    err e = {0};
    arena a = {0};
    settings set = {0};
    const plugin *p = plugin_find(AB_ATTENTION, f->attention, &e),
                 *position = f->position ? plugin_find(AB_POSITION, f->position, &e) : NULL;
    CHECK_TEXT(e.text, "");
    if (!p) return;
    for (size_t i = 0; i < LENGTH(f->set) && f->set[i][0]; i++) settings_set(&set, f->set[i][0], f->set[i][1], &a);
    void *cfg = arena_alloc(&a, p->desc.cfg_size + 16);
    CHECK_INT(config_bind(&set, p->desc.name, p->desc.params, cfg, &a, &e), 0);
    block_spec s = {.attention = p,
                    .position = position,
                    .attention_cfg = cfg,
                    .role = role,
                    .heads = H,
                    .d_k = D,
                    .d_v = D,
                    .d_model = WIDTH,
                    .batch = SENTENCES,
                    .time = f->lengths ? f->lengths[0] : usual[0],
                    .length = f->lengths ? f->lengths : usual};
    mixer m = {.role = role};
    if (block_trace(&m.b, &s, &e) || block_plan(&m.b, 1, &e)) {
        printf("%s: %s\n", f->name, e.text);
        CHECK(!"the call is traced");
        return;
    }
    int failed = test_failed;
    compare(&m, f);
    printf("%-20s %-8s %s\n", f->name, role == AB_CAUSAL ? "causal" : "full",
           test_failed == failed ? "as expected" : "differs");
    block_close(&m.b);
    arena_free(&a);
}

int main(void)
{
    static const form forms[] = {
        {"retention", "retention", NULL, {{"retention.chunk", "2"}}, retention, NULL},
        {"retention, one chunk", "retention", NULL, {{0}}, retention, NULL},
        {"gated_linear", "gated_linear", NULL, {{"gated_linear.chunk", "2"}}, gated_linear, NULL},
        {"delta_net", "delta_net", NULL, {{0}}, delta_net, NULL},
        {"gated_delta_net", "gated_delta_net", NULL, {{0}}, gated_delta_net, NULL},
        {"mamba2", "mamba2", NULL, {{0}}, mamba2, NULL},
        {"linear", "linear", NULL, {{0}}, linear, NULL},
        {"hyena", "hyena", NULL, {HYENA}, hyena, NULL},
        {"hyena, transformed", "hyena", NULL, {HYENA}, hyena, over_chunks},
        {"linear, two chunks", "linear", NULL, {{0}}, linear, over_chunks},
        {"dilated", "convolutional", NULL, {{"convolutional.dilation", "2"}}, dilated, NULL},
        {"separable",
         "convolutional",
         NULL,
         {{"convolutional.dilation", "2"}, {"convolutional.separable", "true"}},
         separable,
         NULL},
        {"dense synthesizer", "synthesizer", NULL, {{"synthesizer.max_len", "9"}}, dense, NULL},
        {"random synthesizer",
         "synthesizer",
         NULL,
         {{"synthesizer.max_len", "9"}, {"synthesizer.kind", "random"}},
         random_table,
         NULL},
        {"kerple", "scaled_dot", "kerple", {{0}}, kerple, NULL},
        {"sigmoid", "sigmoid", NULL, {{0}}, sigmoid_row, NULL},
        {"sigmoid, no bias", "sigmoid", NULL, {{"sigmoid.bias", "none"}}, unbiased_row, NULL},
        {"sink", "sink", NULL, {{0}}, sink_row, NULL},
        {"sink at 0", "sink", NULL, {{"sink.logit", "zero"}}, zero_row, NULL},
        {"differential", "differential", NULL, {{0}}, differential, NULL},
    };
    use_plugins();
    for (size_t i = 0; i < LENGTH(forms); i++) check_form(&forms[i], AB_CAUSAL), check_form(&forms[i], AB_SELF);
    return test_end();
}
