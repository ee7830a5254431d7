/* DELTA_SCAN and its gradient against the recurrence itself, one position at a time in double; also DELTA_SCAN composed
 * of other operations against this recurrence. */
#include "tensors.h"

typedef struct {
    bool beta, decay, backwards;
    int64_t time, d_k, d_v, chunk;
} scan_case;
enum { BATCH = 2, HEADS = 3, INPUTS = 5 };
typedef struct {
    /* numbers of all heads; state: the states of one head, before each step */
    double *x[INPUTS], *dx[INPUTS], *y, *dy, *state;
} numbers;

static int64_t width_of_input(const scan_case *s, int k) { return k < 2 ? s->d_k : k == 2 ? s->d_v : 1; }
static bool has(const scan_case *s, int k) { return k < 3 || (k == 3 ? s->beta : s->decay); }

/* ---- the recurrence: S_t = a S + beta k' w, w = v - a k S ---- */

typedef struct {
    const double *q, *k, *v, *S; /* S: the state before the step */
    double beta, a;
} step_of;
static step_of at_step(const scan_case *s, const numbers *n, int64_t head, int64_t t, int64_t done)
{
    int64_t row = head * s->time + t;
    return (step_of){n->x[0] + row * s->d_k,     n->x[1] + row * s->d_k,
                     n->x[2] + row * s->d_v,     n->state + done * s->d_k * s->d_v,
                     s->beta ? n->x[3][row] : 1, s->decay ? exp(n->x[4][row]) : 1};
}
static double w_of(const scan_case *s, const step_of *p, int64_t j)
{
    double kept = 0;
    for (int64_t i = 0; i < s->d_k; i++) kept += p->k[i] * p->S[i * s->d_v + j];
    return s->beta ? p->v[j] - p->a * kept : p->v[j];
}
static int64_t time_of(const scan_case *s, int64_t done) { return s->backwards ? s->time - 1 - done : done; }

static void forward(const scan_case *s, numbers *n, int64_t head)
{
    memset(n->state, 0, (size_t)(s->d_k * s->d_v) * sizeof *n->state);
    for (int64_t done = 0; done < s->time; done++) {
        int64_t t = time_of(s, done);
        step_of p = at_step(s, n, head, t, done);
        double *next = n->state + (done + 1) * s->d_k * s->d_v;
        for (int64_t j = 0; j < s->d_v; j++) {
            double w = w_of(s, &p, j), y = 0;
            for (int64_t i = 0; i < s->d_k; i++) {
                next[i * s->d_v + j] = p.a * p.S[i * s->d_v + j] + p.beta * p.k[i] * w;
                y += p.q[i] * next[i * s->d_v + j];
            }
            n->y[(head * s->time + t) * s->d_v + j] = y;
        }
    }
}

static void back(const scan_case *s, numbers *n, int64_t head)
{
    double *dS = xcalloc((size_t)(s->d_k * s->d_v), sizeof *dS);
    for (int64_t done = s->time - 1; done >= 0; done--) {
        int64_t t = time_of(s, done), row = head * s->time + t;
        step_of p = at_step(s, n, head, t, done);
        const double *next = p.S + s->d_k * s->d_v, *dy = n->dy + row * s->d_v;
        double *dq = n->dx[0] + row * s->d_k, *dk = n->dx[1] + row * s->d_k, *dv = n->dx[2] + row * s->d_v, da = 0,
               dbeta = 0;
        for (int64_t j = 0; j < s->d_v; j++) {
            double w = w_of(s, &p, j), du = 0, kept = 0;
            for (int64_t i = 0; i < s->d_k; i++) {
                int64_t at = i * s->d_v + j;
                dS[at] += p.q[i] * dy[j];
                dq[i] += next[at] * dy[j];
                dk[i] += p.beta * w * dS[at];
                du += p.k[i] * dS[at];
                kept += p.k[i] * p.S[at];
                da += dS[at] * p.S[at];
            }
            double dw = p.beta * du, lost = s->beta ? dw : 0;
            dbeta += du * w;
            dv[j] = dw;
            da -= kept * lost;
            for (int64_t i = 0; i < s->d_k; i++) {
                dk[i] -= p.a * p.S[i * s->d_v + j] * lost;
                dS[i * s->d_v + j] = p.a * dS[i * s->d_v + j] - p.a * p.k[i] * lost;
            }
        }
        n->dx[3][row] = dbeta, n->dx[4][row] = p.a * da;
    }
    free(dS);
}

/* ---- the kernel, and the composed form on a tape ---- */

static void compare_all(const char *how, op o, const scan_case *s, const numbers *n, const view *y, const view *dx,
                        double tolerance)
{
    static const char *const names[] = {"dq", "dk", "dv", "dbeta", "ddecay"};
    char what[128];
    snprintf(what, sizeof what, "%s%s%s%s, chunks of %d: y", how, s->beta ? ", beta" : "", s->decay ? ", decay" : "",
             s->backwards ? ", backwards" : "", (int)s->chunk);
    compare(o, y, n->y, tolerance, what);
    for (int k = 0; k < INPUTS; k++) {
        strcpy(strrchr(what, ':') + 2, names[k]);
        if (has(s, k)) compare(o, &dx[k], n->dx[k], tolerance, what);
    }
}

static void check_kernel(const scan_case *s, const numbers *n, dtype type)
{
    int64_t chunks = (s->time + s->chunk - 1) / s->chunk;
    attr a = {.DELTA_SCAN = {.chunk = s->chunk, .backwards = s->backwards}};
    call f = {.op = OP_DELTA_SCAN, .n_in = 5, .n_out = 3, .a = a},
         g = {.op = OP_DELTA_SCAN_BACK, .n_in = 8, .n_out = 5, .a = a};
    for (int k = 0; k < INPUTS; k++) {
        if (!has(s, k)) continue;
        f.in[k] = g.in[k] = tensor(type, BATCH, HEADS, s->time, width_of_input(s, k));
        g.out[k] = tensor(type, BATCH, HEADS, s->time, width_of_input(s, k));
        for (int64_t i = 0; i < size_of(&f.in[k]); i++) set(&f.in[k], i, n->x[k][i]);
    }
    f.out[0] = tensor(type, BATCH, HEADS, s->time, s->d_v);
    if (s->beta) f.out[1] = tensor(type, BATCH, HEADS, s->time, s->d_v);
    f.out[2] = tensor(type, BATCH, HEADS, chunks * s->d_k, s->d_v);
    g.in[5] = f.out[1], g.in[6] = f.out[2], g.in[7] = tensor(type, BATCH, HEADS, s->time, s->d_v);
    for (int64_t i = 0; i < size_of(&g.in[7]); i++) set(&g.in[7], i, n->dy[i]);
    err e = {""};
    CHECK_INT(cpu_DELTA_SCAN(&f, &e), 0);
    CHECK_INT(cpu_DELTA_SCAN_BACK(&g, &e), 0);
    CHECK_TEXT(e.text, "");
    compare_all("kernel", OP_DELTA_SCAN, s, n, &f.out[0], g.out, allowed(type, 1e-4));
    omp_set_num_threads(3);
    view y = f.out[0], again = f.out[0] = like(type, &y);
    CHECK_INT(cpu_DELTA_SCAN(&f, &e), 0);
    CHECK(same_bits(&y, &again));
    omp_set_num_threads(1);
    RELEASE(y, again, f.out[1], f.out[2], g.in[7]);
    for (int k = 0; k < INPUTS; k++) RELEASE(f.in[k], g.out[k]);
}

/* Checks the composed form and its gradient, with the loss sum(y dy). */
static void check_composed(const scan_case *s, const numbers *n)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    ab_t in[INPUTS] = {{0}};
    for (int k = 0; k < INPUTS; k++) {
        if (!has(s, k)) continue;
        in[k] = t_input(c, arena_printf(&c->memory, "in%d", k), F64, PHASE_STEP, BATCH, HEADS, s->time,
                        width_of_input(s, k));
        tape_at(c, in[k])->needs = true;
    }
    ab_t y = t_delta_scan_composed(c, in[0], in[1], in[2], in[3], in[4], s->backwards, s->chunk);
    CHECK_TEXT(c->error.text, "");
    ab_t weighted = t_binary(c, OP_MUL, y, t_const(c, tape_at(c, y)->dim, n->dy));
    ab_t loss = t_sum_to(c, weighted, (int64_t[4]){1, 1, 1, 1});
    t_keep(c, y, "y"), t_keep(c, loss, "loss");
    CHECK_INT(tape_backward(c, loss), 0);
    view dx[INPUTS] = {{0}};
    for (int k = 0; k < INPUTS; k++)
        if (in[k].id) t_keep(c, (ab_t){c->grad[in[k].id]}, arena_printf(&c->memory, "d%d", k));
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    for (int k = 0; k < INPUTS; k++)
        if (in[k].id) tape_write(c, in[k], n->x[k], (size_t)node_count(tape_at(c, in[k])) * 8);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    for (int k = 0; k < INPUTS; k++)
        if (in[k].id) {
            const node *v = tape_at(c, (ab_t){c->grad[in[k].id]});
            dx[k] = (view){.data = v->data, .type = F64, .dim = {v->dim[0], v->dim[1], v->dim[2], v->dim[3]}};
        }
    const node *v = tape_at(c, y);
    view out = {.data = v->data, .type = F64, .dim = {v->dim[0], v->dim[1], v->dim[2], v->dim[3]}};
    compare_all("composed", OP_NONE, s, n, &out, dx, 1e-11);
    tape_free(c);
    params_free(&none);
}

static void check(const scan_case *s)
{
    numbers n = {0};
    int64_t rows = BATCH * HEADS * s->time;
    for (int k = 0; k < INPUTS; k++) {
        int64_t count = rows * width_of_input(s, k);
        n.x[k] = xcalloc((size_t)count, sizeof(double)), n.dx[k] = xcalloc((size_t)count, sizeof(double));
        /* keys of length about 1; beta in (0,1); some decays as strong as e^-30 */
        for (int64_t i = 0; i < count; i++) {
            double u = rng_uniform(&dice);
            n.x[k][i] = (float)(k == 0   ? 2 * u - 1
                                : k == 1 ? (2 * u - 1) * 1.7 / sqrt((double)s->d_k)
                                : k == 2 ? 2 * u - 1
                                : k == 3 ? u
                                         : (u > 0.9 ? -30 * u : -u));
        }
    }
    n.y = xcalloc((size_t)(rows * s->d_v), sizeof(double)), n.dy = xcalloc((size_t)(rows * s->d_v), sizeof(double));
    n.state = xcalloc((size_t)((s->time + 1) * s->d_k * s->d_v), sizeof(double));
    for (int64_t i = 0; i < rows * s->d_v; i++) n.dy[i] = (float)(2 * rng_uniform(&dice) - 1);
    for (int64_t head = 0; head < BATCH * HEADS; head++) forward(s, &n, head), back(s, &n, head);
    check_kernel(s, &n, F64);
    check_kernel(s, &n, F32);
    check_composed(s, &n);
    for (int k = 0; k < INPUTS; k++) free(n.x[k]), free(n.dx[k]);
    free(n.y), free(n.dy), free(n.state);
}

int main(void)
{
    static const struct {
        int64_t time, d_k, d_v, chunk;
    } shapes[] = {{1, 1, 1, 32},    {5, 3, 2, 2},     {7, 8, 16, 4},   {32, 16, 16, 32}, {33, 5, 19, 32},
                  {64, 16, 16, 16}, {71, 24, 40, 32}, {40, 33, 7, 13}, {3, 64, 64, 32}};
    dice = rng_seed(21, 0);
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t i = 0; i < LENGTH(shapes); i++)
            for (int form = 0; form < 8; form++)
                check(&(scan_case){.beta = form & 1,
                                   .decay = form & 2,
                                   .backwards = form & 4,
                                   .time = shapes[i].time,
                                   .d_k = shapes[i].d_k,
                                   .d_v = shapes[i].d_v,
                                   .chunk = shapes[i].chunk});
    }
    print_errors();
    return test_end();
}
