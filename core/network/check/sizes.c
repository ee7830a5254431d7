/* sizes.c - checks that later tokens, padding and other sentences do not change a loss, in evaluation and training,
 * with 1 to 12 layers, 1 to 16 sentences and up to 1,024 tokens. The checks 'future', 'padding' and 'batch' try every
 * partner in one size; this one tries every size with few partners. */
#include "network/check/internal.h"
#include <math.h>
#include <string.h>

typedef struct {
    int layers, heads;
    int32_t n, longest; /* n: number of sentences; longest: tokens of the longest one */
    double spread;      /* scale of the learned values */
    dtype compute;
    bool source; /* sources have up to `longest` tokens; false: up to 5 */
} size_case;

static const size_case sizes[] = {
    {1, 3, 4, 9, 1, F64, true},    {2, 1, 8, 7, 3, F64, true},     {3, 3, 2, 40, 1, F64, true},
    {4, 2, 3, 8, 1, F64, true},    {5, 3, 5, 6, 3, F64, true},     {6, 1, 1, 12, 1, F64, true},
    {7, 2, 4, 5, 1, F64, true},    {8, 3, 3, 9, 1, F64, true},     {12, 4, 2, 4, 1, F64, true},
    {1, 1, 16, 6, 1, F64, true},   {1, 2, 2, 130, 1, F64, true},   {2, 1, 2, 320, 1, F64, false},
    {1, 1, 1, 600, 1, F32, false}, {1, 1, 1, 1024, 1, F32, false},
};

typedef struct {
    const size_case *z;
    const pairing *w;
    bool training;
    check_result *r;
    model *m;
    const sentences *s;
} probe;

static void fill(sentences *s, const size_case *z)
{
    memset(s, 0, sizeof *s);
    s->n = z->n;
    for (int64_t i = 0; i < s->n; i++) {
        int32_t longest =
            i == s->n / 2 ? z->longest : 1 + (int32_t)((check_hashed(301, (uint64_t)i) + 1) / 2 * z->longest);
        s->tgt_n[i] = longest;
        s->src_n[i] = z->source ? 1 + (longest + 2 * (int32_t)i) % z->longest : 5;
        for (int32_t j = 0; j < z->longest; j++) {
            s->src[i][j] = check_token(302, (uint64_t)(i * MOST_TOKENS + j));
            s->tgt[i][j] = check_token(303, (uint64_t)(i * MOST_TOKENS + j));
        }
    }
}

static const char *size_text(const probe *q, char out[160])
{
    snprintf(out, 160, "%s, %d layer%s, %d head%s, %d sentence%s of up to %d tokens",
             q->training ? "in training" : "in evaluation", q->z->layers, q->z->layers == 1 ? "" : "s", q->z->heads,
             q->z->heads == 1 ? "" : "s", q->z->n, q->z->n == 1 ? "" : "s", q->z->longest);
    return out;
}

/* The losses of all target rows after a run; the caller frees. Returns NULL and sets r on failure. */
static double *losses(probe *q, pass *p)
{
    err e = {0};
    if (pass_run(p, 1, &e)) {
        check_fail(q->r, "%s: %s", q->w->name, e.text);
        return NULL;
    }
    const node *v = &p->c->v[tape_find(p->c, "losses").id];
    double *out = xcalloc((size_t)p->p.real_rows + 1, sizeof *out);
    for (int64_t i = 0; i < p->p.real_rows; i++) out[i] = number_at(v->data, v->type, (size_t)(2 * i));
    return out;
}

static double *open_losses(probe *q, pass *p, const sentences *s, int64_t more_rows, int64_t more_time)
{
    err e = {0};
    *p = (pass){0};
    if (!pass_open(p, q->m, s, q->training, more_rows, more_time, &e)) return losses(q, p);
    check_fail(q->r, "%s: %s", q->w->name, e.text);
    return NULL;
}

/* ---- the future ---- */

static void compare_losses(probe *q, const pass *p, const double *before, const double *after, int32_t first)
{
    char message[160];
    for (int64_t i = 0; i < q->s->n; i++)
        for (int32_t row = p->p.off[i], t = 0; row < p->p.off[i + 1] && t < first; row++, t++)
            if (before[row] != after[row] && !isnan(before[row])) { /* the checks 'fp32' and 'long' report NaN */
                q->r->measured = fabs(before[row] - after[row]);
                check_fail(q->r,
                           "%s (%s): changing target tokens from number %d on changes the loss of token %d by %.2g: it "
                           "sees the future%s",
                           q->w->name, size_text(q, message), (int)first, (int)t, fabs(before[row] - after[row]),
                           q->training ? "; if that is meant (statistics of a batch), claim AB_TRAINS_ON_BATCH" : "");
            }
}

static void see_future(probe *q, pass *p, const double *before)
{
    int32_t n = q->z->longest, firsts[] = {1, n / 4, n / 2, 3 * n / 4 + 1, n - 1};
    AUTOFREE sentences *changed = xmalloc(sizeof *changed);
    for (size_t k = 0; k < LENGTH(firsts) && q->r->outcome != CHECK_FAIL; k++) {
        if (firsts[k] < 1) continue;
        *changed = *q->s;
        check_change_from(changed, firsts[k]);
        pass_fill(p, changed);
        AUTOFREE double *after = losses(q, p);
        if (after) compare_losses(q, p, before, after, firsts[k]);
    }
}

/* ---- padding, company ---- */

static bool random_inside(const ab_ctx *c)
{
    for (int32_t i = 1; i < c->n; i++)
        if (c->v[i].live && (c->v[i].op == OP_DROPOUT || c->v[i].op == OP_RANDOM)) return true;
    return false;
}

static bool other(const probe *q, double x, double y)
{
    return !isnan(x) && !(fabs(x - y) <= (q->z->compute == F64 ? 1e-11 : 1e-4) * fmax(1, fabs(x)));
}

static void pad_further(probe *q, const double *before)
{
    CLEANUP(pass_close) pass p;
    char message[160];
    AUTOFREE double *after = open_losses(q, &p, q->s, 11, 21);
    for (int64_t i = 0; after && i < p.p.real_rows; i++)
        if (other(q, before[i], after[i]))
            check_fail(q->r,
                       "%s (%s): 21 more positions of padding change the loss of target row %lld from %.12g to %.12g: "
                       "something depends on positions without a token; use ab_mask, ab_klen, ab_row_mask",
                       q->w->name, size_text(q, message), (long long)i, before[i], after[i]);
}

static void leave_company(probe *q, const pass *all, const double *together)
{
    char message[160];
    AUTOFREE sentences *one = xmalloc(sizeof *one);
    for (int64_t i = 0; i < q->s->n && q->s->n > 1 && q->r->outcome != CHECK_FAIL; i += q->s->n > 4 ? 3 : 1) {
        CLEANUP(pass_close) pass p;
        check_one(q->s, i, one);
        AUTOFREE double *alone = open_losses(q, &p, one, 0, 0);
        for (int64_t t = 0; alone && t < p.p.real_rows; t++)
            if (other(q, alone[t], together[all->p.off[i] + t]))
                check_fail(q->r,
                           "%s (%s): sentence %lld alone has loss %.12g at token %lld, in its batch %.12g: sentences "
                           "of a batch are mixed%s",
                           q->w->name, size_text(q, message), (long long)i, alone[t], (long long)t,
                           together[all->p.off[i] + t],
                           q->training ? "; if that is meant in training, claim AB_TRAINS_ON_BATCH" : "");
    }
}

static void one_size(const size_case *z, const pairing *w, bool training, double dropout, check_result *r)
{
    static const int widths[] = {12, 16, 32, 64, 128};
    model_kind k = {.compute = z->compute,
                    .layers = z->layers,
                    .heads = z->heads,
                    .dropout = dropout,
                    .width = widths[(size_t)(z - sizes) % LENGTH(widths)],
                    .spread = z->spread};
    AUTOFREE sentences *s = xmalloc(sizeof *s);
    CLEANUP(model_free) model m;
    fill(s, z);
    if (!check_has_model(&m, w, &k, r)) return;
    probe q = {z, w, training, r, &m, s};
    CLEANUP(pass_close) pass p;
    AUTOFREE double *before = open_losses(&q, &p, s, 2, 0);
    if (before) see_future(&q, &p, before);
    if (!before || r->outcome == CHECK_FAIL || (training && random_inside(p.c))) return;
    if (z->longest <= 320) pad_further(&q, before);
    if (r->outcome != CHECK_FAIL) leave_company(&q, &p, before);
}

/* The longest sentence that the plugin's table of positions allows, after raising max_len to 2,048 if possible. */
static int64_t reach_of(const plugin *p)
{
    const ab_option *q = param_find(p->desc.params, "max_len");
    if (!q || q->type != AB_INT) return INT64_MAX;
    if (q->max < 2 * MOST_TOKENS) return (int64_t)q->def;
    check_try(p, q->name, "2048");
    return INT64_MAX;
}

static bool has_table(const pairing *w)
{
    err none = {0};
    const plugin *p = plugin_find(AB_POSITION, w->position, &none);
    return p && param_find(p->desc.params, "max_len");
}

void check_sizes(const plugin *p, check_result *r)
{
    AUTOFREE pairing *all = NULL;
    size_t n = check_pairings(p, &all, r), free_one = 0, done = 0;
    while (free_one + 1 < n && has_table(&all[free_one])) free_one++;
    int64_t reach = reach_of(p);
    bool on_batch = p->desc.claims & AB_TRAINS_ON_BATCH;
    for (size_t i = 0; i < LENGTH(sizes) && r->outcome != CHECK_FAIL; i++) {
        const pairing *with = sizes[i].longest > 100 ? &all[free_one] : &all[i % n];
        if (sizes[i].longest + 21 > reach || sizes[i].longest > check_given.most_tokens) continue;
        one_size(&sizes[i], with, false, 0, r);
        if (!on_batch && r->outcome != CHECK_FAIL) one_size(&sizes[i], with, true, 0, r);
        if (!on_batch && r->outcome != CHECK_FAIL && sizes[i].longest < 10) one_size(&sizes[i], with, true, 0.3, r);
        done++;
    }
    check_try(p, NULL, NULL);
    check_note(r, "%zu sizes: 1 to 12 layers, up to 16 sentences, 1,024 tokens; evaluation%s", done,
               on_batch ? " (it claims AB_TRAINS_ON_BATCH)" : " and training");
}
