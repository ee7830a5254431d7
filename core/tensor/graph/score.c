/* score.c - records and differentiates score programs; the operation that runs them, with its gradient rule. */
#include "tensor/graph/score.h"
#include "tensor/graph/grad.h"
#include "tensor/graph/op.h"
#include <stdlib.h>
#include <string.h>

/* ---- the draft: a tape of single numbers ---- */

static ab_t one_number(ab_ctx *c, const char *name, bool needs)
{
    ab_t y = t_input(c, name, generic_type(c), PHASE_STEP, 1, 1, 1, 1);
    tape_at(c, y)->needs = needs;
    return y;
}

void score_draft_open(score_draft *d, const ab_ctx *c)
{
    *d = (score_draft){0};
    d->tape = tape_new(&d->none, c->backend, generic_type(c), false);
    d->score = one_number(d->tape, "score", true);
    d->gradient = one_number(d->tape, "gradient", false);
}

ab_t score_draft_leaf(score_draft *d, bool wants_gradient)
{
    return d->leaf[d->n_leaves++] = one_number(d->tape, "leaf", wants_gradient);
}

/* Marks x and all values that x is computed from. */
static void mark(const score_draft *d, int32_t x, bool *wanted)
{
    const node *v = &d->tape->v[x];
    if (!x || wanted[x]) return;
    wanted[x] = true;
    for (int k = 0; k < v->n_in; k++) mark(d, v->in[k], wanted);
}

static int32_t gradient_of(const score_draft *d, ab_t x)
{
    const ab_ctx *p = d->tape;
    return (size_t)x.id < p->grad_cap ? p->grad[x.id] : 0;
}

/* The last term h of a result x + h; 0 if h depends on scores or on learned values. */
static int32_t last_addend(const score_draft *d, int32_t result)
{
    const node *v = &d->tape->v[result];
    for (int k = 0; k < 2 && v->op == OP_ADD; k++)
        if (!d->tape->v[v->in[k]].needs) return v->in[k];
    return 0;
}

static bool in_some_pass(bool *const wanted[PASSES], int32_t i)
{
    bool yes = false;
    for (int pass = 0; pass < PASSES; pass++) yes |= wanted[pass][i];
    return yes;
}

static bool claim_steps(const score_draft *d, bool *const wanted[PASSES], int *value, score_program *f)
{
    const ab_ctx *p = d->tape;
    for (int32_t i = 1; i < p->n; i++) {
        const node *v = &p->v[i];
        if (v->op == OP_INPUT || !in_some_pass(wanted, i)) continue;
        if (!op_elementwise(v->op) || f->n_steps == SCORE_STEPS) return false;
        score_step *s = &f->step[f->n_steps];
        *s = (score_step){.op = v->op, .n_in = v->n_in, .by = node_by(v), .fn = node_function(v)};
        for (int pass = 0; pass < PASSES; pass++) s->runs[pass] = wanted[pass][i];
        for (int k = 0; k < v->n_in; k++) s->in[k] = value[v->in[k]];
        value[i] = VALUE_STEP + f->n_steps++;
    }
    return true;
}

static bool take(score_draft *d, ab_t result, score_program *f)
{
    ab_ctx *p = d->tape;
    int32_t forward_n = p->n, hiding = last_addend(d, result.id);
    grad_replace(p, result.id, d->gradient);
    grad_sweep(p, 1, forward_n);
    if (p->error.text[0]) return false;
    bool *wanted[PASSES];
    for (int pass = 0; pass < PASSES; pass++) wanted[pass] = xcalloc((size_t)p->n, 1);
    int *value = xcalloc((size_t)p->n, sizeof *value);
    mark(d, result.id, wanted[PASS_FORWARD]);
    mark(d, gradient_of(d, d->score), wanted[PASS_BACKWARD]);
    for (int i = 0; i < d->n_leaves; i++) mark(d, gradient_of(d, d->leaf[i]), wanted[PASS_BACKWARD]);
    mark(d, hiding, wanted[PASS_HIDING]);
    if (wanted[PASS_HIDING][d->score.id]) hiding = 0;
    value[d->score.id] = VALUE_SCORE;
    value[d->gradient.id] = VALUE_GRADIENT;
    f->n_leaves = d->n_leaves;
    for (int i = 0; i < d->n_leaves; i++) {
        value[d->leaf[i].id] = VALUE_LEAF + i;
        for (int pass = 0; pass < PASSES; pass++) f->reads[pass][i] = wanted[pass][d->leaf[i].id];
    }
    bool all = claim_steps(d, wanted, value, f);
    f->result = value[result.id];
    f->window = f->blocks = f->keys = f->values = f->sink = -1;
    f->hiding = hiding ? value[hiding] : -1;
    f->back_reads_score = wanted[PASS_BACKWARD][d->score.id];
    f->d_score = gradient_of(d, d->score) ? value[gradient_of(d, d->score)] : -1;
    for (int i = 0; i < SCORE_LEAVES; i++) {
        bool is_wanted = i < d->n_leaves && tape_at(p, d->leaf[i])->needs && gradient_of(d, d->leaf[i]);
        f->d_leaf[i] = is_wanted ? value[gradient_of(d, d->leaf[i])] : -1;
    }
    for (int pass = 0; pass < PASSES; pass++) free(wanted[pass]);
    free(value);
    return all;
}

score_program *score_draft_close(score_draft *d, ab_ctx *c, ab_t result)
{
    score_program *f = arena_alloc(&c->memory, sizeof *f);
    bool good = result.id && take(d, result, f);
    tape_free(d->tape);
    d->tape = NULL;
    return good ? f : NULL;
}

/* ---- the operation ---- */

static const int64_t nothing[4];

ab_t t_attend_program(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t q_off, ab_t k_off, const attend_spec *s, int64_t place,
                      const score_program *f, ab_t ids, const ab_t *leaf)
{
    GIVEN2(q, k);
    GIVEN2(v, q_off);
    GIVEN1(k_off);
    if (k.id != v.id && (q.id == v.id || !c->backend->takes_weights))
        return tape_fail(c, "attend: keys and values must be columns of one tensor");
    if (f->maps > 1 && !c->backend->takes_maps)
        return tape_fail(c, "attention: %s sums no maps of weights", c->backend->name);
    if (s->dropout > 0 && s->longest_key > ATTEND_KEYS)
        return tape_fail(c, "attention with dropout: found a sentence of %lld keys, expected at most %d",
                         (long long)s->longest_key, ATTEND_KEYS);
    int64_t rows = tape_at(c, q)->dim[2], d[4] = {1, 1, rows, s->heads * s->d_v};
    attr a = t_attend_attr(s, rows);
    a.ATTEND.place = place, a.ATTEND.maps = f->maps ? f->maps : 1;
    ab_t in[INPUT(ATTEND_PROGRAM, leaf) + SCORE_LEAVES] = {q, k, v, q_off, k_off, ids};
    for (int i = 0; i < f->n_leaves; i++) in[INPUT(ATTEND_PROGRAM, leaf) + i] = leaf[i];
    ab_t y = tape_push(c, OP_ATTEND_PROGRAM, c->compute, d, LENGTH(in), in, &a);
    tape_at(c, y)->call_attr = f;
    shape_part(c, y, OUTPUT(ATTEND_PROGRAM, lse), sum_type(c), (int64_t[4]){1, 1, rows, s->heads * a.ATTEND.maps});
    shape_part(c, y, OUTPUT(ATTEND_PROGRAM, z), sum_type(c), nothing);
    return y;
}

ab_t t_attend_program_step(ab_ctx *c, ab_t qkv, ab_t cache, ab_t ancestors, ab_t time, const attend_spec *s,
                           const score_program *f, ab_t ids, const ab_t *leaf)
{
    GIVEN2(qkv, cache);
    GIVEN2(ancestors, time);
    int64_t d[4] = {1, 1, tape_at(c, qkv)->dim[2], s->heads * s->d_v};
    attr a = t_attend_attr(s, 1);
    a.ATTEND.p = 0, a.ATTEND.most_queries = 1, a.ATTEND.maps = 1;
    ab_t in[INPUT(ATTEND_PROGRAM_STEP, leaf) + SCORE_LEAVES] = {qkv, cache, ancestors, time,
                                                                [INPUT(ATTEND_PROGRAM_STEP, ids)] = ids};
    for (int i = 0; i < f->n_leaves; i++) in[INPUT(ATTEND_PROGRAM, leaf) + i] = leaf[i];
    ab_t y = tape_push(c, OP_ATTEND_PROGRAM_STEP, c->compute, d, LENGTH(in), in, &a);
    tape_at(c, y)->call_attr = f;
    shape_part(c, y, OUTPUT(ATTEND_PROGRAM, lse), sum_type(c), nothing);
    shape_part(c, y, OUTPUT(ATTEND_PROGRAM, z), sum_type(c), nothing);
    return y;
}

ab_t t_attend_counts(ab_ctx *c, ab_t y, int64_t batch, int64_t q_time, int64_t n)
{
    GIVEN1(y);
    shape_part(c, y, OUTPUT(ATTEND_PROGRAM, z), sum_type(c),
               (int64_t[4]){batch, tape_at(c, y)->a.ATTEND.heads, q_time, n});
    ab_t z = tape_part(c, y, OUTPUT(ATTEND_PROGRAM, z));
    tape_at(c, z)->needs = tape_at(c, y)->needs;
    return z;
}

ab_t t_attend_values(ab_ctx *c, ab_t y, ab_t table)
{
    GIVEN2(y, table);
    node v = *tape_at(c, y);
    const score_program *before = v.call_attr;
    if (before->n_leaves == SCORE_LEAVES || before->values >= 0) return (ab_t){0};
    score_program *f = arena_alloc(&c->memory, sizeof *f);
    *f = *before;
    f->values = f->n_leaves++;
    f->d_leaf[f->values] = -1;
    ab_t in[INPUT(ATTEND_PROGRAM, leaf) + SCORE_LEAVES];
    for (int i = 0; i < v.n_in; i++) in[i] = (ab_t){v.in[i]};
    in[INPUT(ATTEND_PROGRAM, leaf) + f->values] = table;
    ab_t again = tape_push(c, OP_ATTEND_PROGRAM, v.type, v.dim, v.n_in, in, &v.a);
    tape_at(c, again)->call_attr = f;
    shape_part(c, again, OUTPUT(ATTEND_PROGRAM, lse), sum_type(c),
               tape_at(c, tape_part(c, y, OUTPUT(ATTEND_PROGRAM, lse)))->dim);
    shape_part(c, again, OUTPUT(ATTEND_PROGRAM, z), sum_type(c), nothing);
    return again;
}

void attend_program_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    const score_program *f = v.call_attr;
    ab_t q = {v.i.ATTEND_PROGRAM.q}, k = {v.i.ATTEND_PROGRAM.k}, counts = tape_part(c, y, OUTPUT(ATTEND_PROGRAM, z)),
         in[INPUTS(ATTEND_PROGRAM_BACK)] = {{0}};
    ab_t values = {v.i.ATTEND_PROGRAM.v};
    for (int i = 0; i < v.n_in; i++) in[i] = (ab_t){v.in[i]};
    in[INPUT(ATTEND_PROGRAM_BACK, lse)] = tape_part(c, y, OUTPUT(ATTEND_PROGRAM, lse));
    in[INPUT(ATTEND_PROGRAM_BACK, dy)] = dy;
    in[INPUT(ATTEND_PROGRAM_BACK, y)] = y;
    if (node_count(tape_at(c, counts))) {
        in[INPUT(ATTEND_PROGRAM_BACK, dz)] = (ab_t){c->grad[counts.id]};
        in[INPUT(ATTEND_PROGRAM_BACK, z)] = counts;
    }
    ab_t g = tape_push(c, OP_ATTEND_PROGRAM_BACK, v.type, tape_at(c, q)->dim, LENGTH(in), in, &v.a);
    tape_at(c, g)->call_attr = f;
    shape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, dkv), v.type, q.id == k.id ? nothing : tape_at(c, k)->dim);
    shape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, dv), v.type, values.id == k.id ? nothing : tape_at(c, values)->dim);
    for (int i = 0; i < SCORE_LEAVES; i++) {
        ab_t leaf = {v.i.ATTEND_PROGRAM.leaf[i]};
        bool reached = f->d_leaf[i] >= 0 || i == f->values || score_number(f, i),
             wanted = i < f->n_leaves && reached && grad_wanted(c, leaf.id);
        shape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, d_leaf) + i, sum_type(c),
                   wanted ? tape_at(c, leaf)->dim : nothing);
    }
    grad_add(c, q.id, g);
    if (q.id != k.id) grad_add(c, k.id, tape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, dkv)));
    if (values.id != k.id) grad_add(c, values.id, tape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, dv)));
    for (int i = 0; i < f->n_leaves; i++) {
        ab_t dleaf = tape_part(c, g, OUTPUT(ATTEND_PROGRAM_BACK, d_leaf) + i);
        if (node_count(tape_at(c, dleaf))) grad_add(c, v.i.ATTEND_PROGRAM.leaf[i], dleaf);
    }
}
