/* gradient.c - compares the gradient of the whole loss with central differences, in double precision. */
#include "network/check/internal.h"
#include <math.h>
#include <string.h>

enum { ELEMENTS = 3 }; /* elements checked per tensor, besides one random direction */

typedef struct {
    model *m;
    pass *forward; /* the pass that computes the loss */
    uint64_t seed; /* seed of the pass's dropout */
    const double *grad;
    err e;
    int tried, jumped; /* tried: elements checked; jumped: those that disagree in a plugin with AB_DISCONTINUOUS */
} gradient_probe;

/* The loss with parameter p moved by `by`: along element j, or (j < 0) along a unit vector of random signs. */
static double loss_at(gradient_probe *q, const param *p, int64_t j, double by)
{
    double *v = (double *)q->m->params.value + p->at;
    AUTOFREE double *old = memcpy(xmalloc(p->count * sizeof *old), v, p->count * sizeof *old);
    if (j >= 0) {
        v[j] += by;
    } else {
        for (size_t i = 0; i < p->count; i++) v[i] += by / sqrt((double)p->count) * (check_hashed(55, i) < 0 ? -1 : 1);
    }
    q->m->params.version++;
    double loss = pass_run(q->forward, q->seed, &q->e) ? NAN : pass_loss(q->forward);
    memcpy(v, old, p->count * sizeof *old);
    q->m->params.version++;
    return loss;
}

static double claimed(const gradient_probe *q, const param *p, int64_t j)
{
    const double *g = q->grad + p->at;
    if (j >= 0) return g[j];
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) sum += g[i] * (check_hashed(55, i) < 0 ? -1 : 1);
    return sum / sqrt((double)p->count);
}

/* The smallest relative error over a few step widths, because a step may cross a ReLU's kink. */
static double error_of(gradient_probe *q, const param *p, int64_t j, double bound, double *difference)
{
    static const double widths[] = {1e-5, 1e-4, 2e-6, 3e-5, 4e-7};
    double g = claimed(q, p, j), best = INFINITY;
    for (size_t i = 0; i < LENGTH(widths) && !(best < bound / 4); i++) {
        double h = widths[i], d = (loss_at(q, p, j, h) - loss_at(q, p, j, -h)) / (2 * h);
        double scale = fmax(fmax(fabs(d), fabs(g)), 0.03), error = fabs(d - g) / scale;
        if (error < best || i == 0) best = error, *difference = d;
    }
    return best;
}

static void compare_tensor(gradient_probe *q, const param *p, const pairing *w, check_result *r)
{
    size_t largest = 0;
    for (size_t i = 1; i < p->count; i++)
        if (fabs(q->grad[p->at + i]) > fabs(q->grad[p->at + largest])) largest = i;
    double along = 0;
    if (q->grad[p->at + largest] == 0 && error_of(q, p, -1, r->bound, &along) <= r->bound)
        check_fail(
            r,
            "%s: the gradient of %s is 0 everywhere, so it learns nothing: its result is not used, or multiplied "
            "by 0; in C, 1 / in->d_k is 0: write 1.0 / in->d_k",
            w->name, p->name);
    for (int k = -1; k < ELEMENTS && r->outcome != CHECK_FAIL; k++) {
        int64_t j = k < 0    ? -1
                    : k == 0 ? (int64_t)largest
                             : (int64_t)((check_hashed(66, (uint64_t)k) + 1) / 2 * (double)p->count);
        double d = 0, error = error_of(q, p, j, r->bound, &d);
        if (q->e.text[0]) {
            check_fail(r, "%s: %s", w->name, q->e.text);
        } else if (q->tried++, w->claims & AB_DISCONTINUOUS && !(error <= r->bound)) {
            q->jumped++;
        } else if (check_beyond(r, error)) {
            char where[32] = "along a random direction";
            if (j >= 0) snprintf(where, sizeof where, "at element %lld", (long long)j);
            check_fail(r,
                       "%s: the gradient of %s %s is %.9g, differences of the loss give %.9g; %s; if it is not meant "
                       "to be the derivative, claim AB_SURROGATE_GRADIENT; if the result jumps, AB_DISCONTINUOUS",
                       w->name, p->name, where, claimed(q, p, j), d,
                       claimed(q, p, j) != 0
                           ? "if the plugin's own operations have a grad, look there"
                           : "no gradient reaches it: ab_detach, ids or an operation without grad cut it off");
        }
    }
}

/* A surrogate gradient, which is not the derivative, must be finite and not all 0. */
static void check_surrogate(const model *m, const double *grad, const pairing *w, check_result *r)
{
    double size = 0;
    for (size_t i = 0; i < m->params.learned; i++) size += grad[i] * grad[i];
    if (!isfinite(size) || !(size > 0))
        check_fail(r, "%s: its surrogate gradient (AB_SURROGATE_GRADIENT) is %s", w->name,
                   size == 0 ? "0 everywhere" : "not finite");
}

static void compare_gradients(model *m, pass *gradient, pass *forward, const pairing *w, check_result *r)
{
    gradient_probe q = {.m = m, .forward = forward, .seed = 5};
    if (pass_run(gradient, q.seed, &q.e)) {
        check_fail(r, "%s: %s", w->name, q.e.text);
        return;
    }
    size_t bytes = m->params.total * sizeof(double);
    AUTOFREE double *grad = memcpy(xmalloc(bytes), m->params.grad, bytes);
    q.grad = grad;
    bool surrogate = w->claims & AB_SURROGATE_GRADIENT;
    if (surrogate) check_surrogate(m, grad, w, r);
    for (size_t k = 0; k < m->params.n && r->outcome != CHECK_FAIL && !surrogate; k++)
        if (!m->params.p[k].buffer) compare_tensor(&q, &m->params.p[k], w, r);
    if (4 * q.jumped > q.tried)
        check_fail(r,
                   "%s: %d of %d elements of the gradient differ from differences of the loss, more than a quarter: "
                   "too many for jumps (AB_DISCONTINUOUS)",
                   w->name, q.jumped, q.tried);
}

/* Does the loss differ between training and evaluation without dropout in the settings? A plugin may have dropout,
 * noise or losses of its own, or compute differently. */
static bool trains_otherwise(const ab_ctx *training, const ab_ctx *plain)
{
    for (int32_t i = 1; i < training->forward_n; i++)
        if (training->v[i].op == OP_DROPOUT || training->v[i].op == OP_RANDOM || i >= plain->n ||
            training->v[i].op != plain->v[i].op)
            return true;
    return false;
}

static void with_model(const pairing *w, check_result *r, double dropout)
{
    CLEANUP(model_free) model m;
    CLEANUP(pass_close) pass training = {0}, plain = {0};
    sentences s;
    err e = {0};
    check_sentences(&s);
    if (!check_has_model(&m, w, &(model_kind){.compute = F64, .dropout = dropout}, r)) return;
    if (pass_open(&training, &m, &s, true, 2, 0, &e) || pass_open(&plain, &m, &s, false, 2, 0, &e))
        check_fail(r, "%s: %s", w->name, e.text);
    for (size_t k = 0; k < m.params.n && training.c; k++)
        if (m.params.p[k].buffer && !m.params.p[k].sets)
            check_fail(r, "%s: no step of training sets the buffer %s (ab_set_buffer)", w->name, m.params.p[k].name);
    if (r->outcome != CHECK_FAIL)
        compare_gradients(&m, &training, dropout > 0 || trains_otherwise(training.c, plain.c) ? &training : &plain, w,
                          r);
}

void check_gradient(const pairing *w, check_result *r) { with_model(w, r, 0); }
void check_dropout(const pairing *w, check_result *r) { with_model(w, r, 0.2); }
