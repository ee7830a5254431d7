/* optim.c - checks an optimizer's update: in tiles and as a whole, element by element, each parameter alone, at zero,
 * on a quadratic, after a restart. */
#include "network/check/optim_bench.h"
#include "network/model/groups.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 2 * 4096 + 48 }; /* a multiple of PARAM_ALIGN, but not of the tile */

/* ---- tiles ---- */

typedef struct { /* the update as one tape over whole vectors */
    ab_ctx *c;
    ab_t p, g, slot[MOST_SLOTS], lr, step, new_p, new_slot[MOST_SLOTS];
} whole;

static void *find_sum(void *self, const char *name, size_t bytes)
{
    (void)bytes;
    return (double *)optim_sums(((optim_bench *)self)->o) + (name[strlen("measured")] - '0');
}

/* Traces the update. Assigned values are kept under other names, so a run overwrites nothing. */
static int whole_open(whole *t, optim_bench *b, err *e)
{
    const ab_optimizer_plugin *rule = &b->m.optimizer->iface.optimizer;
    ab_ctx *c = t->c = tape_new(&b->m.params, &cpu_backend, F64, false);
    int64_t n = (int64_t)b->n; /* an elementwise rule has a single vector */
    t->p = t_input(c, "p", F64, PHASE_STEP, 1, 1, 1, n);
    t->g = t_input(c, "g", F64, PHASE_STEP, 1, 1, 1, n);
    for (uint32_t i = 0; i < rule->n_slots; i++)
        t->slot[i] = t_input(c, arena_printf(&c->memory, "slot%u", i), F64, PHASE_STEP, 1, 1, 1, n);
    t->lr = t_input(c, "lr", F64, PHASE_STEP, 1, 1, 1, 1);
    t->step = t_input(c, "step", F64, PHASE_STEP, 1, 1, 1, 1);
    c->hook = AB_IN_UPDATE;
    c->sums = rule->measure ? SUMS_READ : NO_SUMS, c->n_sums = AB_MEASURED;
    rule->update(c, b->m.optimizer_cfg, t->p, t->g, t->slot, t->lr, t->step);
    int32_t end = c->n;
    for (int32_t i = 1; i < end; i++) {
        if (c->v[i].op != OP_ASSIGN) continue;
        c->v[i].live = false;
        ab_t value = t_reshape(c, (ab_t){c->v[i].i.ASSIGN.value}, c->v[i].dim); /* a new node, which can get a name */
        int32_t to = c->v[i].i.ASSIGN.to;
        t_keep(c, value, arena_printf(&c->memory, "new of %d", (int)to));
        if (to == t->p.id) t->new_p = value;
        for (uint32_t k = 0; k < rule->n_slots; k++)
            if (to == t->slot[k].id) t->new_slot[k] = value;
    }
    if (!t->new_p.id) tape_fail(c, "update never assigns p");
    for (uint32_t k = 0; k < rule->n_slots; k++)
        if (!t->new_slot[k].id) tape_fail(c, "update never assigns slot %u", k);
    return tape_plan(c, find_sum, b) ? fail(e, "%s", c->error.text) : 0;
}

static void store(ab_ctx *c, ab_t x, const double *v)
{
    node *n = tape_at(c, x);
    if (n->data) memcpy(n->data, v, (size_t)node_count(n) * sizeof *v);
}

/* One update of p and slots on the whole tape. The sums over all parameters come from the last update in tiles. */
static int whole_step(whole *t, double *p, const double *g, double *const *slot, uint32_t n_slots, double lr,
                      double step, err *e)
{
    ab_ctx *c = t->c;
    size_t bytes = (size_t)node_count(tape_at(c, t->p)) * sizeof *p;
    store(c, t->p, p), store(c, t->g, g), store(c, t->lr, &lr), store(c, t->step, &step);
    for (uint32_t i = 0; i < n_slots; i++) store(c, t->slot[i], slot[i]);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) return fail(e, "%s", c->error.text);
    memcpy(p, tape_at(c, t->new_p)->data, bytes);
    for (uint32_t i = 0; i < n_slots; i++) memcpy(slot[i], tape_at(c, t->new_slot[i])->data, bytes);
    return 0;
}

static void compare_vectors(const double *tiled, const double *all, size_t n, const char *what, int64_t step,
                            check_result *r)
{
    for (size_t i = 0; i < n; i++)
        if (check_beyond(r, fabs(tiled[i] - all[i]) / fmax(1, fabs(all[i]))))
            check_fail(r, "after step %lld %s at element %zu is %.12g by tiles and %.12g by the whole vector",
                       (long long)step, what, i, tiled[i], all[i]);
}

void check_tiles(const plugin *p, check_result *r)
{
    if (!optim_elementwise(p)) {
        check_none(r, "it is called per parameter");
        return;
    }
    if (p->iface.optimizer.refresh || p->iface.optimizer.shift) {
        check_none(r, "its refresh runs per parameter, or its shift comes before update");
        return;
    }
    CLEANUP(optim_bench_close) optim_bench b;
    whole t = {0};
    err e = {0};
    uint32_t n_slots = p->iface.optimizer.n_slots;
    double *mine = xcalloc(MANY, sizeof *mine), *slot[MOST_SLOTS] = {0};
    for (uint32_t i = 0; i < n_slots; i++) slot[i] = xcalloc(MANY, sizeof *slot[i]);
    if (!optim_bench_open(&b, p, MANY, F64, NULL, &e) && !whole_open(&t, &b, &e)) {
        memcpy(mine, optim_values(&b), MANY * sizeof *mine);
        for (int64_t step = 1; step <= OPTIM_STEPS && !e.text[0]; step++) {
            optim_some_gradient(optim_gradient(&b), MANY, step);
            if (optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e)) break;
            if (whole_step(&t, mine, optim_gradient(&b), slot, n_slots, 0.01, (double)step, &e)) break;
            compare_vectors(optim_values(&b), mine, MANY, "p", step, r);
            for (uint32_t i = 0; i < n_slots; i++)
                compare_vectors(b.m.params.slot[i], slot[i], MANY, "a slot", step, r);
        }
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    tape_free(t.c);
    free(mine);
    for (int i = 0; i < MOST_SLOTS; i++) free(slot[i]);
}

/* ---- element by element ---- */

void check_elementwise(const plugin *p, check_result *r)
{
    if (!optim_elementwise(p)) {
        check_none(r, "it is called per parameter");
        return;
    }
    CLEANUP(optim_bench_close) optim_bench b;
    err e = {0};
    if (!optim_bench_open(&b, p, MANY, F64, NULL, &e)) {
        /* elements with equal values and gradients, placed between different ones, must stay equal */
        for (size_t i = 0; i < MANY; i += 97) optim_values(&b)[i] = 0.25;
        for (int64_t step = 1; step <= OPTIM_STEPS && !e.text[0]; step++) {
            optim_some_gradient(optim_gradient(&b), MANY, step);
            for (size_t i = 0; i < MANY; i += 97) optim_gradient(&b)[i] = 0.5 / (double)step;
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        }
        for (size_t i = 0; i < MANY && !e.text[0]; i += 97)
            if (check_beyond(r, fabs(optim_values(&b)[i] - optim_values(&b)[0])))
                check_fail(
                    r,
                    "elements with equal value and gradient become %.12g at index 0 and %.12g at index %zu: the update "
                    "mixes elements or depends on the index, but AB_ELEMENTWISE promises that it does not",
                    optim_values(&b)[0], optim_values(&b)[i], i);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
}

/* ---- each parameter alone ---- */

/* Returns the number of steps: OPTIM_STEPS, or enough for two refreshes, but at most MOST. */
static int64_t last_step(const optim_bench *b)
{
    enum { MOST = 200 };
    const ab_optimizer_plugin *rule = &b->m.optimizer->iface.optimizer;
    int64_t n = rule->period ? rule->period(b->m.optimizer_cfg) + 2 : 0;
    return n < OPTIM_STEPS ? OPTIM_STEPS : n < MOST ? n : MOST;
}

/* Checks that a parameter gets the same values alone in a model as together with others. */
static void compare_alone(const optim_bench *all, const plugin *p, size_t k, const double *first, check_result *r)
{
    const param *q = &all->m.params.p[k];
    param one = optim_shapes[k];
    CLEANUP(optim_bench_close) optim_bench b;
    err e = {0};
    int64_t last = last_step(all);
    if (!optim_bench_open_with(&b, p, &one, 1, F64, NULL, &e)) {
        memcpy(optim_values(&b), first + q->at, q->count * sizeof *first);
        for (int64_t step = 1; step <= last && !e.text[0]; step++) {
            AUTOFREE double *g = xcalloc(all->n, sizeof *g);
            optim_some_gradient(g, all->n, step);
            memcpy(b.grad, g + q->at, q->count * sizeof *g);
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        }
        for (size_t i = 0; i < q->count && !e.text[0]; i++)
            if (check_beyond(r, fabs(optim_values(&b)[i] - optim_values(all)[q->at + i])))
                check_fail(r,
                           "after step %d element %zu of '%s' is %.17g among other parameters and %.17g alone: state "
                           "is carried from one parameter to the next",
                           (int)last, i, q->name, optim_values(all)[q->at + i], optim_values(&b)[i]);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
}

void check_apart(const plugin *p, check_result *r)
{
    if (optim_elementwise(p)) {
        check_none(r, "it works element by element");
        return;
    }
    if (p->iface.optimizer.measure) {
        check_none(r, "it measures all parameters");
        return;
    }
    CLEANUP(optim_bench_close) optim_bench b;
    err e = {0};
    if (!optim_bench_open(&b, p, OPTIM_FEW, F64, NULL, &e)) {
        AUTOFREE double *first = memcpy(xmalloc(b.n * sizeof *first), optim_values(&b), b.n * sizeof *first);
        optim_steps(&b, 1, last_step(&b), &e);
        for (size_t k = 0; k < OPTIM_SHAPES && !e.text[0]; k++) compare_alone(&b, p, k, first, r);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
    check_note(r, "%d parameters of different kinds and shapes", OPTIM_SHAPES);
}

/* ---- values and gradients of 0 ---- */

/* Values and gradients of 0 must stay finite in fp32: biases begin at 0, and unused words have gradients of 0. */
void check_zero(const plugin *p, check_result *r)
{
    CLEANUP(optim_bench_close) optim_bench b;
    err e = {0};
    if (!optim_bench_open(&b, p, OPTIM_FEW, F32, NULL, &e)) {
        memset(b.m.params.value, 0, params_bytes(&b.m.params, 0, F32));
        for (int64_t step = 1; step <= OPTIM_STEPS && !e.text[0]; step++)
            optim_update(b.o, b.grad, 1, 0.01, step, NULL, &e);
        for (size_t i = 0; i < b.n && !e.text[0]; i++)
            if (!isfinite(number_at(b.m.params.value, F32, i)))
                check_fail(r, "a value of 0 with a gradient of 0 becomes %g", number_at(b.m.params.value, F32, i));
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
}

/* ---- it minimises ---- */

static double quadratic(const optim_bench *b, double *grad)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!optim_learned(b, i)) continue;
        double curvature = 1.25 + 0.75 * check_hashed(81, i), away = optim_values(b)[i] - check_hashed(82, i);
        grad[i] = curvature * away;
        sum += curvature * away * away / 2;
    }
    return sum;
}

static int quadratic_again(void *self, err *e)
{
    (void)e;
    optim_bench *b = self;
    quadratic(b, b->m.params.grad);
    return 0;
}

/* The fraction of the loss left after 400 steps with a rate that falls to zero. */
static double left_over(const plugin *p, double lr, err *e)
{
    enum { UPDATES = 400 };
    CLEANUP(optim_bench_close) optim_bench b;
    double first = NAN, last = NAN;
    if (!optim_bench_open(&b, p, OPTIM_FEW, F64, NULL, e)) {
        optim_again(b.o, quadratic_again, &b);
        first = quadratic(&b, optim_gradient(&b));
        for (int64_t step = 1; step <= UPDATES && !e->text[0]; step++) {
            optim_update(b.o, b.grad, 1, lr * (1 - (double)(step - 1) / UPDATES), step, NULL, e);
            last = quadratic(&b, optim_gradient(&b));
        }
    }
    return last / first;
}

void check_minimises(const plugin *p, check_result *r)
{
    static const double rates[] = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
    double best = INFINITY, rate = 0, first = NAN;
    bool by_rate = false;
    err e = {0};
    for (size_t i = 0; i < LENGTH(rates) && !e.text[0]; i++) {
        double left = left_over(p, rates[i], &e);
        first = i ? first : left, by_rate = by_rate || left != first;
        if (left < best) best = left, rate = rates[i];
    }
    if (e.text[0])
        check_fail(r, "%s", e.text);
    else if (!by_rate)
        check_fail(r, "seven learning rates give equal values: the update does not use lr");
    else if (check_beyond(r, best))
        check_fail(r,
                   "after 400 updates %.3g of the loss of a well-conditioned quadratic is left at the best of seven "
                   "learning rates (%g)",
                   best, rate);
    else
        check_note(r, "share of a quadratic's loss that is left after 400 updates, learning rate %g", rate);
}

/* ---- a restart ---- */

void check_resumes(const plugin *p, check_result *r)
{
    CLEANUP(optim_bench_close) optim_bench through = {0}, again = {0};
    err e = {0};
    uint32_t n_slots = p->iface.optimizer.n_slots;
    if (!optim_bench_open(&through, p, OPTIM_FEW, F64, NULL, &e) &&
        !optim_bench_open(&again, p, OPTIM_FEW, F64, NULL, &e)) {
        int64_t cut = last_step(&through);
        optim_steps(&through, 1, cut, &e);
        memcpy(optim_values(&again), optim_values(&through), params_bytes(&through.m.params, 0, F64));
        for (uint32_t i = 0; i < n_slots; i++)
            memcpy(again.m.params.slot[i], through.m.params.slot[i], params_bytes(&through.m.params, i + 1, F64));
        optim_steps(&through, cut + 1, 2 * cut, &e);
        optim_steps(&again, cut + 1, 2 * cut, &e);
        for (size_t i = 0; i < through.n && !e.text[0]; i++)
            if (check_beyond(r, fabs(optim_values(&through)[i] - optim_values(&again)[i])))
                check_fail(r,
                           "from the same parameters and slots after step %d, step %d gives %.17g and %.17g: there is "
                           "state outside the slots, so a resumed run would differ",
                           (int)cut, (int)(2 * cut), optim_values(&through)[i], optim_values(&again)[i]);
    }
    if (e.text[0]) check_fail(r, "%s", e.text);
}
