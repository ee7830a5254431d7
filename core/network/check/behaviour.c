/* behaviour.c - checks that later tokens, padding, other sentences and fusion do not change a loss; also checks equal
 * seeds and number types. */
#include "network/check/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const model_kind exact = {.compute = F64};

typedef struct {
    model m;
    sentences s;
    pass p;
} opened_pass;

static void opened_close(opened_pass *o)
{
    pass_close(&o->p);
    model_free(&o->m);
}

/* Runs a model on `s` (NULL: four sentences of different lengths). Returns false and sets r if that fails. The caller
 * closes o in either case. */
static bool open_on(opened_pass *o, const pairing *w, const model_kind *k, const sentences *s, bool training,
                    check_result *r)
{
    err e = {0};
    o->p.c = NULL;
    if (!check_has_model(&o->m, w, k, r)) return false;
    if (s)
        o->s = *s;
    else
        check_sentences(&o->s);
    if (!pass_open(&o->p, &o->m, &o->s, training, 2, 0, &e) && !pass_run(&o->p, 1, &e)) return true;
    check_fail(r, "%s: %s", w->name, e.text);
    return false;
}

/* ---- build ---- */

void check_build(const pairing *w, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    if (!open_on(&o, w, &exact, NULL, true, r)) return;
    char place[320] = "";
    if (!isfinite(pass_loss(&o.p))) {
        tape_find_not_finite(o.p.c, &(run_options){.seed = 1, .step = 1, .from = PHASE_CONST}, place, sizeof place);
        check_fail(r, "%s: the loss of random values is not finite%s%s", w->name, *place ? ": " : "", place);
    }
}

/* ---- a block calls every sublayer of its layer ---- */

void check_sublayers(const pairing *w, check_result *r)
{
    static const char *const parts[] = {"enc.0.self.", "enc.0.ffn.", "dec.1.self.", "dec.1.cross.", "dec.1.ffn."};
    CLEANUP(model_free) model m;
    if (!check_has_model(&m, w, &exact, r)) return;
    for (size_t i = 0; i < LENGTH(parts); i++) {
        bool found = strstr(parts[i], "ffn") && same(w->feed_forward, "none");
        for (size_t k = 0; k < m.params.n; k++) found |= has_prefix(m.params.p[k].name, parts[i]);
        if (!found)
            check_fail(r,
                       "%s: no learned value below %s: the block must call ab_self_attention, ab_cross_attention if "
                       "ab_info(c)->cross, and ab_feed_forward(c, x, \"ffn\") if ab_info(c)->feed_forward",
                       w->name, parts[i]);
    }
}

/* ---- the future ---- */

static void compare_past(const pass *a, const pass *b, int32_t first, const pairing *w, check_result *r)
{
    for (int64_t i = 0; i < a->p.b.shape.batch; i++)
        for (int32_t row = a->p.off[i], t = 0; row < a->p.off[i + 1] && t < first; row++, t++)
            if (check_beyond(r, fabs(pass_row(a, row) - pass_row(b, b->p.off[i] + t))))
                check_fail(r,
                           "%s: %s target tokens from number %d on changes the loss of token %d by %.2g: the "
                           "decoder sees the future; scores need ab_mask (or ab_scores, ab_attend), sums over a "
                           "sentence end with the token itself, and its length is ab_qpos + 1, not ab_klen",
                           w->name, b->p.real_rows < a->p.real_rows ? "removing" : "changing", (int)first, (int)t,
                           fabs(pass_row(a, row) - pass_row(b, b->p.off[i] + t)));
}

void check_future(const pairing *w, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    if (!open_on(&o, w, &exact, NULL, false, r)) return;
    for (int32_t first = 1; first < 8; first += first < 5 ? 2 : 1) {
        sentences changed = o.s;
        CLEANUP(pass_close) pass b = {0};
        err e = {0};
        check_change_from(&changed, first);
        for (int64_t i = 0; i < changed.n && first > 5; i++) /* the last times, they are removed */
            if (changed.tgt_n[i] > first) changed.tgt_n[i] = first;
        if (pass_open(&b, &o.m, &changed, false, 2, 0, &e) || pass_run(&b, 1, &e))
            check_fail(r, "%s: %s", w->name, e.text);
        else
            compare_past(&o.p, &b, first, w, r);
    }
}

/* ---- padding, company ---- */

static double apart(const pass *a, int64_t row, const pass *b, int64_t row_b)
{
    double x = pass_row(a, row), y = pass_row(b, row_b);
    return fabs(x - y) / fmax(1, fabs(x));
}

void check_padding(const pairing *w, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    CLEANUP(pass_close) pass b = {0};
    err e = {0};
    if (!open_on(&o, w, &exact, NULL, false, r)) return;
    if (pass_open(&b, &o.m, &o.s, false, 9, 4, &e) || pass_run(&b, 1, &e)) {
        check_fail(r, "%s: padded further: %s", w->name, e.text);
    } else {
        for (int64_t i = 0; i < o.p.p.real_rows; i++)
            if (check_beyond(r, apart(&o.p, i, &b, i)))
                check_fail(r,
                           "%s: four more positions of padding change the loss of target row %lld from %.12g to %.12g: "
                           "something depends on positions without a token; use ab_mask, ab_klen for the number of "
                           "keys, ab_row_mask for rows",
                           w->name, (long long)i, pass_row(&o.p, i), pass_row(&b, i));
    }
}

void check_batch(const pairing *w, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    sentences one;
    if (!open_on(&o, w, &exact, NULL, false, r)) return;
    for (int64_t i = 0; i < o.s.n; i++) {
        CLEANUP(pass_close) pass p = {0};
        const pass *all = &o.p;
        err e = {0};
        check_one(&o.s, i, &one);
        if (pass_open(&p, &o.m, &one, false, 0, 0, &e) || pass_run(&p, 1, &e)) {
            check_fail(r, "%s: one sentence alone: %s", w->name, e.text);
        } else {
            for (int64_t t = 0; t < p.p.real_rows; t++)
                if (check_beyond(r, apart(&p, t, all, all->p.off[i] + t)))
                    check_fail(r,
                               "%s: sentence %lld alone has loss %.12g at token %lld, in a batch of four %.12g: "
                               "sentences of a batch are mixed; the batch axis must stay separate",
                               w->name, (long long)i, pass_row(&p, t), (long long)t, pass_row(all, all->p.off[i] + t));
        }
    }
}

/* ---- equal seeds give equal bits ---- */

void check_same_seed(const pairing *w, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    err e = {0};
    if (!open_on(&o, w, &(model_kind){.compute = F64, .dropout = 0.2}, NULL, true, r)) return;
    pass *p = &o.p;
    size_t bytes = o.m.params.total * sizeof(double);
    double first = pass_loss(p);
    AUTOFREE void *grad = memcpy(xmalloc(bytes), o.m.params.grad, bytes);
    if (pass_run(p, 2, &e)) check_fail(r, "%s: %s", w->name, e.text);
    double other = pass_loss(p);
    if (pass_run(p, 1, &e)) check_fail(r, "%s: %s", w->name, e.text);
    if (pass_loss(p) != first || memcmp(grad, o.m.params.grad, bytes))
        check_fail(r,
                   "%s: two runs with one seed differ (losses %.17g and %.17g): an operation keeps state between calls",
                   w->name, first, pass_loss(p));
    if (other == first) check_fail(r, "%s: another seed gives the same loss under dropout 0.2", w->name);
}

/* ---- other ways to compute a loss ---- */

void pass_outcome_free(pass_outcome *o) { free(o->grad); }

bool check_compute(const sentences *s, const pairing *w, const model_kind *k, pass_outcome *out, check_result *r)
{
    CLEANUP(opened_close) opened_pass o;
    err e = {0};
    *out = (pass_outcome){0};
    if (!open_on(&o, w, k, s, true, r)) return false;
    const params *all = &o.m.params;
    out->loss = pass_loss(&o.p);
    out->n = all->total;
    out->n_rows = (size_t)o.p.p.real_rows;
    out->grad = xcalloc(out->n + out->n_rows, sizeof *out->grad);
    for (size_t i = 0; i < out->n_rows; i++) out->grad[out->n + i] = pass_row(&o.p, (int64_t)i);
    out->row = out->grad + out->n;
    size_t bytes = out->n * dtype_size(all->type);
    AUTOFREE void *grad = xmalloc(bytes + 1);
    if (backend_read(o.m.backend, grad, all->grad, bytes, &e)) check_fail(r, "%s: %s", w->name, e.text);
    for (size_t i = 0; i < all->n && !e.text[0]; i++)
        for (size_t j = 0; j < all->p[i].count && !all->p[i].buffer; j++) {
            size_t at = all->p[i].at + j;
            out->grad[at] = number_at(grad, all->type, at);
            out->size += out->grad[at] * out->grad[at];
        }
    out->size = sqrt(out->size);
    for (int32_t i = 1; i < o.p.c->n; i++) {
        op at = o.p.c->v[i].op;
        out->fused |= at == OP_ATTEND || at == OP_ATTEND_PROGRAM || at == OP_DELTA_SCAN;
    }
    return !e.text[0];
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The third quartile of the differences between rows; NaN if a difference is not a number. */
static double most_rows_apart(const pass_outcome *a, const pass_outcome *b)
{
    AUTOFREE double *d = xcalloc(a->n_rows + 1, sizeof *d);
    bool finite = isfinite(a->size) && isfinite(b->size);
    for (size_t i = 0; i < a->n_rows; i++) {
        d[i] = fabs(a->row[i] - b->row[i]) / fmax(1, fabs(a->row[i]));
        finite &= isfinite(d[i]) != 0;
    }
    qsort(d, a->n_rows, sizeof *d, by_size);
    return finite && a->n_rows ? d[a->n_rows * 3 / 4] : NAN;
}

double check_distance(const pairing *w, const pass_outcome *a, const pass_outcome *b)
{
    double sum = 0;
    if (a->n != b->n || a->n_rows != b->n_rows) return NAN;
    if (w->claims & AB_DISCONTINUOUS) return most_rows_apart(a, b);
    for (size_t i = 0; i < a->n; i++) sum += (a->grad[i] - b->grad[i]) * (a->grad[i] - b->grad[i]);
    return check_larger(fabs(a->loss - b->loss) / fabs(a->loss), sqrt(sum) / a->size);
}

/* Returns check_distance between passes over s of model kinds k and `than`; -1 if a pass cannot be computed. */
static double distance_between(const sentences *s, const pairing *w, const model_kind *k, const model_kind *than,
                               bool *fused, check_result *r)
{
    CLEANUP(pass_outcome_free) pass_outcome a = {0}, b = {0};
    bool done = check_compute(s, w, than, &a, r) && check_compute(s, w, k, &b, r);
    if (fused) *fused = a.fused || b.fused;
    return done ? check_distance(w, &a, &b) : -1;
}

static void fused(const pairing *w, check_result *r)
{
    static const struct {
        dtype type;
        double allowed;
    } types[] = {{F64, 1e-10}, {F32, 1e-5}};
    for (size_t i = 0; i < LENGTH(types); i++) {
        bool any = false;
        double d = distance_between(NULL, w, &(model_kind){.compute = types[i].type},
                                    &(model_kind){.compute = types[i].type, .generic = true}, &any, r);
        if (r->outcome == CHECK_FAIL || !any) return;
        r->measured = fmax(r->measured, 0);
        if (check_beyond(r, d / types[i].allowed))
            check_fail(r, "%s: fused and composed operations differ by %.2g in %s, allowed %.0e", w->name, d,
                       dtype_name(types[i].type), types[i].allowed);
    }
}
void check_fused(const plugin *p, check_result *r)
{
    check_each_pairing(p, r, fused);
    if (r->outcome == CHECK_OK && r->measured < 0)
        check_none(r, "nothing is fused");
    else if (r->outcome == CHECK_OK)
        snprintf(r->message, sizeof r->message, "the difference divided by the tolerance (fp64 1e-10, fp32 1e-5)");
}

void check_fp32(const pairing *w, check_result *r)
{
    double d = distance_between(NULL, w, &(model_kind){.compute = F32}, &exact, NULL, r);
    if (r->outcome != CHECK_FAIL && check_beyond(r, d))
        check_fail(r,
                   "%s: loss or gradient in fp32 differs from fp64 by %.2g (relative): numbers too large or too small "
                   "for fp32",
                   w->name, fabs(d));
}

enum { LONG = 256 };
/* Checks a sentence of LONG tokens, in which sums and products over time may overflow fp32. */
static void long_sentence(const pairing *w, check_result *r)
{
    sentences s = {.n = 1, .src_n = {LONG}, .tgt_n = {LONG}};
    for (int32_t j = 0; j < LONG; j++)
        s.src[0][j] = check_token(103, (uint64_t)j), s.tgt[0][j] = check_token(104, (uint64_t)j);
    double d = distance_between(&s, w, &(model_kind){.compute = F32}, &exact, NULL, r);
    if (r->outcome != CHECK_FAIL && check_beyond(r, d))
        check_fail(r,
                   "%s: with %d tokens, loss or gradient in fp32 differs from fp64 by %.2g (relative): numbers too "
                   "large or too small for fp32",
                   w->name, LONG, fabs(d));
}
void check_one_partner(const plugin *p, pairing_check *each, int tokens, check_result *r)
{
    size_t before = check_given.most_pairings;
    check_given.most_pairings = 1;
    const ab_option *q = param_find(p->desc.params, "max_len"); /* raised to at least LONG */
    if (q && q->type == AB_INT && q->def < LONG && q->max >= LONG) check_try(p, q->name, "256");
    check_each_pairing(p, r, each);
    check_try(p, NULL, NULL);
    check_given.most_pairings = before;
    if (r->outcome == CHECK_OK) snprintf(r->message, sizeof r->message, "%d tokens, with one partner", tokens);
}
void check_long(const plugin *p, check_result *r) { check_one_partner(p, long_sentence, LONG, r); }

void check_bf16(const pairing *w, check_result *r)
{
    double d = distance_between(NULL, w, &(model_kind){.compute = BF16}, &exact, NULL, r);
    if (r->outcome != CHECK_FAIL && check_beyond(r, d))
        check_fail(r,
                   "%s: loss or gradient in bf16 differs from fp64 by %.2g (relative); ab_fp32 keeps a product from "
                   "being rounded; if the result jumps by design, claim AB_DISCONTINUOUS",
                   w->name, d);
}
