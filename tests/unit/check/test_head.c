/* Heads: their logits and losses against those computed here from the usual head's logits of the same model. */
#include "passes.h"
#include <string.h>

static void open_both(model *m, pass *p, const char *head, const char *key, const char *value, bool training)
{
    err e = {0};
    open_model(m, &(pairing){.head = head, .key = key, .value = value});
    double *values =
        params_host(&m->params, 0, &e); /* what multi_token adds is then 0, so its rows are the usual ones */
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

/* The rows of the usual head's logits, the caller frees. */
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

/* The mean over the rows that have a token so far behind their own in the sentence. */
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
    open_both(&m, &p, "multi_token", NULL, NULL, false); /* in evaluation nothing is added, all is known by name */
    CHECK(isnan(kept(&p, "auxiliary")));
    bool known = false;
    for (size_t i = 0; i < m.params.n; i++) known |= same(m.params.p[i].name, "head.ahead_1.w");
    CHECK(known);
    close_both(&m, &p);
}

int main(void)
{
    use_plugins();
    static packed at;
    double *usual = usual_logits(&at);
    check_softcap(usual);
    check_z_loss(usual);
    check_multi_token(usual, &at);
    free(usual);
    return test_end();
}
