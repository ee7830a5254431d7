/* Output heads: logits and losses equal values that are computed here from the usual head's logits in the same
 * model. */
#include "passes.h"
#include <string.h>

static void open_both(model *m, pass *p, const char *head, const char *key, const char *value, bool training)
{
    err e = {0};
    open_model(m, &(pairing){.head = head, .key = key, .value = value});
    /* with these values multi_token adds 0 to the rows, so its logits are the usual ones */
    double *values = params_host(&m->params, 0, &e);
    for (size_t i = 0; i < m->params.n; i++)
        if (has_prefix(m->params.p[i].name, "head."))
            memset(values + m->params.p[i].at, 0, m->params.p[i].count * sizeof *values);
    params_host_done(&m->params, 0, values, true);
    open_pass(m, p, training);
}

static double log_z(const double *row)
{
    double sum = 0;
    for (int i = 0; i < CHECK_VOCAB; i++) sum += exp(row[i]);
    return log(sum);
}

/* Returns the usual head's logits; the caller frees them. */
static double *usual_logits(packed *at)
{
    model m;
    pass p;
    open_both(&m, &p, "softmax", NULL, NULL, false);
    size_t n = (size_t)p.p.b.shape.tgt_rows * CHECK_VOCAB * sizeof(double);
    double *logits = xmalloc(n);
    memcpy(logits, p.c->v[tape_find(p.c, "logits").id].data, n);
    *at = p.p;
    close_both(&m, &p);
    return logits;
}

static void check_softcap(const double *usual)
{
    model m;
    pass p;
    double largest = 0;
    open_both(&m, &p, "logit_softcap", "logit_softcap.cap", "2", false);
    const double *capped = p.c->v[tape_find(p.c, "logits").id].data;
    for (int64_t i = 0; i < p.p.real_rows * CHECK_VOCAB; i++)
        largest = fmax(largest, fabs(capped[i] - 2 * tanh(usual[i] / 2)));
    CHECK(largest < 1e-12);
    close_both(&m, &p);
}

static void check_z_loss(const double *usual)
{
    model m;
    pass p;
    double sum = 0;
    open_both(&m, &p, "z_loss", "z_loss.weight", "0.25", true);
    for (int64_t i = 0; i < p.p.real_rows; i++) sum += log_z(usual + i * CHECK_VOCAB) * log_z(usual + i * CHECK_VOCAB);
    CHECK_NEAR(kept(&p, RECORDED "z_loss.z"), sum / (double)p.p.real_rows, 1e-12);
    CHECK_NEAR(kept(&p, "auxiliary"), 0.25 * sum, 1e-10);
    close_both(&m, &p);
}

/* Mean loss over rows whose sentence has a token `ahead` positions later. */
static double mean_ahead(const double *usual, const packed *at, int64_t ahead)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t b = 0; b < at->b.shape.batch; b++)
        for (int64_t r = at->off[b]; r + ahead < at->off[b + 1]; r++, n++)
            sum += log_z(usual + r * CHECK_VOCAB) - usual[r * CHECK_VOCAB + at->out[r + ahead]];
    return sum / ((double)n + 1e-6);
}

static void check_multi_token(const double *usual, const packed *at)
{
    model m;
    pass p;
    open_both(&m, &p, "multi_token", "multi_token.ahead", "2", true);
    CHECK_NEAR(kept(&p, RECORDED "multi_token.ahead_1"), mean_ahead(usual, at, 1), 1e-12);
    CHECK_NEAR(kept(&p, RECORDED "multi_token.ahead_2"), mean_ahead(usual, at, 2), 1e-12);
    CHECK(fabs(mean_ahead(usual, at, 1) - mean_ahead(usual, at, 2)) > 1e-3);
    close_both(&m, &p);
    /* in evaluation multi_token adds no loss, but has all its parameters */
    open_both(&m, &p, "multi_token", NULL, NULL, false);
    CHECK(isnan(kept(&p, "auxiliary")));
    bool known = false;
    for (size_t i = 0; i < m.params.n; i++) known |= same(m.params.p[i].name, "head.ahead_1.w");
    CHECK(known);
    close_both(&m, &p);
}

/* ---- adaptive: every row's log-probabilities by plain loops over the model's own values ---- */

enum { WIDTH = 12 }; /* d_model of check_model_open */

/* Returns a copy of a parameter's values, which the caller frees. Ends the test if it is missing or has another
 * shape. */
static double *values_of(model *m, const char *name, int64_t rows, int64_t columns)
{
    err e = {0};
    const param *p = params_find(&m->params, name);
    CHECK_TEXT(p ? p->name : "", name);
    if (!p) exit(test_end());
    CHECK_INT(p->dim[2], rows);
    CHECK_INT(p->dim[3], columns);
    if (p->dim[2] != rows || p->dim[3] != columns) exit(test_end());
    double *all = params_host(&m->params, 0, &e), *y = xmalloc(p->count * sizeof *y);
    memcpy(y, all + p->at, p->count * sizeof *y);
    params_host_done(&m->params, 0, all, false);
    return y;
}

/* Returns the head's input rows [rows,WIDTH], which the caller frees: the logits of a softmax whose table begins with
 * the identity. */
static double *last_rows(void)
{
    model m;
    pass p;
    err e = {0};
    open_model(&m, &(pairing){.head = "softmax", .key = "share_embeddings", .value = "none"});
    const param *table = params_find(&m.params, "softmax");
    CHECK(table != NULL);
    double *all = params_host(&m.params, 0, &e);
    for (int64_t i = 0; i < CHECK_VOCAB * WIDTH; i++)
        /* the first WIDTH rows are the identity; the logits of later rows are not read */
        all[table->at + (size_t)i] = i / WIDTH == i % WIDTH;
    params_host_done(&m.params, 0, all, true);
    open_pass(&m, &p, false);
    const double *logits = p.c->v[tape_find(p.c, "logits").id].data;
    double *x = xmalloc((size_t)p.p.real_rows * WIDTH * sizeof *x);
    for (int64_t i = 0; i < p.p.real_rows * WIDTH; i++) x[i] = logits[i / WIDTH * CHECK_VOCAB + i % WIDTH];
    close_both(&m, &p);
    return x;
}

static void normalise(double *row, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(row[i]);
    for (int64_t i = 0; i < n; i++) row[i] -= log(sum);
}

typedef struct {
    const char *key, *value, *table; /* a setting, and the table that holds the short list's vectors */
    int64_t table_rows, clusters;
    /* begin: first token of each cluster, then the end of the last; columns: inner width of each cluster */
    int64_t begin[5], columns[4];
} cut;

typedef struct { /* learned values: vectors [token or cluster,WIDTH], matrices [in,out] */
    double *tokens, *clusters, *narrow[4], *tail[4];
} learned;

static void expected_row(const cut *k, const learned *w, const double *x, double *y)
{
    double first[CHECK_VOCAB + 4] = {0};
    int64_t n = k->begin[0];
    for (int64_t j = 0; j < n + k->clusters; j++)
        for (int64_t i = 0; i < WIDTH; i++)
            first[j] += x[i] * (j < n ? w->tokens[j * WIDTH + i] : w->clusters[(j - n) * WIDTH + i]);
    normalise(first, n + k->clusters);
    memcpy(y, first, (size_t)n * sizeof *y);
    for (int64_t t = 0; t < k->clusters; t++) {
        double inner[WIDTH] = {0}, *to = y + k->begin[t];
        int64_t columns = k->columns[t], size = k->begin[t + 1] - k->begin[t];
        for (int64_t h = 0; h < columns; h++)
            for (int64_t i = 0; i < WIDTH; i++) inner[h] += x[i] * w->narrow[t][i * columns + h];
        memset(to, 0, (size_t)size * sizeof *to);
        for (int64_t j = 0; j < size; j++)
            for (int64_t h = 0; h < columns; h++) to[j] += inner[h] * w->tail[t][h * size + j];
        normalise(to, size);
        for (int64_t j = 0; j < size; j++) to[j] += first[n + t];
    }
}

static void check_adaptive(const cut *k, const double *x)
{
    model m;
    pass p;
    learned w = {0};
    char name[64];
    double largest = 0, off_one = 0, y[CHECK_VOCAB];
    open_model(&m, &(pairing){.head = "adaptive", .key = k->key, .value = k->value});
    CHECK(params_find(&m.params, "softmax") == NULL);
    w.tokens = values_of(&m, k->table, k->table_rows, WIDTH);
    w.clusters = values_of(&m, "head.clusters", k->clusters, WIDTH);
    for (int64_t t = 0; t < k->clusters; t++) {
        snprintf(name, sizeof name, "head.narrow_%d.w", (int)t + 1);
        w.narrow[t] = values_of(&m, name, WIDTH, k->columns[t]);
        snprintf(name, sizeof name, "head.tail_%d.w", (int)t + 1);
        w.tail[t] = values_of(&m, name, k->columns[t], k->begin[t + 1] - k->begin[t]);
    }
    open_pass(&m, &p, false);
    const double *logits = p.c->v[tape_find(p.c, "logits").id].data;
    for (int64_t r = 0; r < p.p.real_rows; r++, logits += CHECK_VOCAB) {
        double sum = 0;
        expected_row(k, &w, x + r * WIDTH, y);
        for (int j = 0; j < CHECK_VOCAB; j++) {
            largest = fmax(largest, fabs(logits[j] - y[j]));
            sum += exp(logits[j]);
        }
        off_one = fmax(off_one, fabs(sum - 1));
    }
    CHECK_NEAR(largest, 0, 1e-12);
    CHECK_NEAR(off_one, 0, 1e-12);
    close_both(&m, &p);
    free(w.tokens), free(w.clusters);
    for (int t = 0; t < 4; t++) free(w.narrow[t]), free(w.tail[t]);
}

/* Logits of 1,000 and more do not overflow exp. */
static void check_adaptive_far(void)
{
    model m;
    pass p;
    err e = {0};
    double off_one = 0, lowest = 0;
    open_model(&m, &(pairing){.head = "adaptive"});
    double *all = params_host(&m.params, 0, &e);
    for (size_t i = 0; i < m.params.n; i++) {
        const param *q = &m.params.p[i];
        for (size_t j = 0; j < q->count && has_prefix(q->name, "head."); j++) all[q->at + j] *= 1000;
    }
    params_host_done(&m.params, 0, all, true);
    open_pass(&m, &p, false);
    const double *logits = p.c->v[tape_find(p.c, "logits").id].data;
    for (int64_t r = 0; r < p.p.real_rows; r++, logits += CHECK_VOCAB) {
        double sum = 0;
        for (int j = 0; j < CHECK_VOCAB; j++) sum += exp(logits[j]), lowest = fmin(lowest, logits[j]);
        off_one = sum >= 0 ? fmax(off_one, fabs(sum - 1)) : INFINITY;
    }
    CHECK_NEAR(off_one, 0, 1e-9);
    CHECK(lowest < -1000);
    close_both(&m, &p);
}

int main(void)
{
    static const cut own = {"share_embeddings", "none", "head.short", 3, 2, {3, 8, 13}, {3, 1}},
                     shared = {"adaptive.clusters", "3", "tgt.embed", CHECK_VOCAB, 3, {3, 6, 9, 13}, {3, 1, 1}};
    use_plugins();
    static packed at;
    double *usual = usual_logits(&at);
    check_softcap(usual);
    check_z_loss(usual);
    check_multi_token(usual, &at);
    double *x = last_rows();
    check_adaptive(&own, x);
    check_adaptive(&shared, x);
    check_adaptive_far();
    free(x);
    free(usual);
    return test_end();
}
