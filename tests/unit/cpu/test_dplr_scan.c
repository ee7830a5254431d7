/* DPLR_SCAN and its gradient against the recurrence itself, one position at a time in double, with decays from none to
 * e^-80 a step; also DPLR_SCAN composed of other operations against this recurrence. SOLVE_LOWER against substitution
 * by hand. */
#include "tensors.h"

enum { Q, K, V, A, B, W, INPUTS, BATCH = 2, HEADS = 2 };
typedef struct {
    int64_t time, d_k, d_v, chunk;
    int backwards;
    double strong; /* share of strong decays */
} scan_case;
typedef struct {
    double *x[INPUTS], *dx[INPUTS], *y, *dy, *state;
} numbers;

static int64_t width(const scan_case *s, int k) { return k == V ? s->d_v : s->d_k; }

/* Computes one head: S_t = diag(exp(w_t)) S + a_t' (b_t S) + k_t' v_t, and its gradient. */
static void head_of(const scan_case *s, numbers *n, int64_t head)
{
    int64_t N = s->d_k * s->d_v, T = s->time;
    memset(n->state, 0, (size_t)N * sizeof(double));
    double *dS = xcalloc((size_t)N, sizeof *dS);
    for (int64_t pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < T; i++) {
            int64_t done = pass ? T - 1 - i : i, t = head * T + (s->backwards ? T - 1 - done : done);
            double *S = n->state + done * N, *next = S + N, *x[INPUTS], *dx[INPUTS];
            for (int k = 0; k < INPUTS; k++) x[k] = n->x[k] + t * width(s, k), dx[k] = n->dx[k] + t * width(s, k);
            for (int64_t j = 0; j < s->d_v; j++) {
                double u = 0, du = 0;
                for (int64_t r = 0; r < s->d_k; r++) u += x[B][r] * S[r * s->d_v + j];
                for (int64_t r = 0; r < s->d_k && !pass; r++) {
                    int64_t at = r * s->d_v + j;
                    next[at] = exp(x[W][r]) * S[at] + x[A][r] * u + x[K][r] * x[V][j];
                    n->y[t * s->d_v + j] += x[Q][r] * next[at];
                }
                for (int64_t r = 0; r < s->d_k && pass; r++) {
                    int64_t at = r * s->d_v + j;
                    dx[Q][r] += next[at] * n->dy[t * s->d_v + j];
                    dS[at] += x[Q][r] * n->dy[t * s->d_v + j];
                    dx[K][r] += dS[at] * x[V][j], dx[V][j] += dS[at] * x[K][r];
                    dx[A][r] += dS[at] * u, du += dS[at] * x[A][r];
                    dx[W][r] += dS[at] * exp(x[W][r]) * S[at];
                    dS[at] *= exp(x[W][r]);
                }
                for (int64_t r = 0; r < s->d_k && pass; r++) {
                    dx[B][r] += du * S[r * s->d_v + j];
                    dS[r * s->d_v + j] += du * x[B][r];
                }
            }
        }
    free(dS);
}

static const char *const names[] = {"dq", "dk", "dv", "da", "db", "ddecay"};
static void compare_all(const char *how, op o, const scan_case *s, const numbers *n, const view *y, const view *dx,
                        double tolerance)
{
    char what[128];
    for (int k = -1; k < INPUTS; k++) {
        snprintf(what, sizeof what, "%s, %d positions, %d x %d, chunks of %d%s, strong %g: %s", how, (int)s->time,
                 (int)s->d_k, (int)s->d_v, (int)s->chunk, s->backwards ? ", backwards" : "", s->strong,
                 k < 0 ? "y" : names[k]);
        compare(o, k < 0 ? y : &dx[k], k < 0 ? n->y : n->dx[k], tolerance, what);
    }
}

static void check_kernel(const scan_case *s, const numbers *n, dtype type)
{
    int64_t chunks = (s->time + s->chunk - 1) / s->chunk;
    attr a = {.DELTA_SCAN = {.chunk = s->chunk, .backwards = s->backwards}};
    call f = {.op = OP_DPLR_SCAN, .n_in = 6, .n_out = 3, .a = a},
         g = {.op = OP_DPLR_SCAN_BACK, .n_in = 9, .n_out = 6, .a = a};
    for (int k = 0; k < INPUTS; k++) {
        f.in[k] = g.in[k] = tensor(type, BATCH, HEADS, s->time, width(s, k));
        g.out[k] = tensor(type, BATCH, HEADS, s->time, width(s, k));
        for (int64_t i = 0; i < size_of(&f.in[k]); i++) set(&f.in[k], i, n->x[k][i]);
    }
    for (int k = 0; k < 2; k++) f.out[k] = tensor(type, BATCH, HEADS, s->time, s->d_v);
    f.out[2] = tensor(type, BATCH, HEADS, chunks * s->d_k, s->d_v);
    g.in[6] = f.out[1], g.in[7] = f.out[2], g.in[8] = tensor(type, BATCH, HEADS, s->time, s->d_v);
    for (int64_t i = 0; i < size_of(&g.in[8]); i++) set(&g.in[8], i, n->dy[i]);
    err e = {""};
    CHECK_INT(cpu_DPLR_SCAN(&f, &e), 0);
    CHECK_INT(cpu_DPLR_SCAN_BACK(&g, &e), 0);
    CHECK_TEXT(e.text, "");
    compare_all(type == F64 ? "double" : "float", OP_DPLR_SCAN, s, n, &f.out[0], g.out, allowed(type, 2e-4));
    omp_set_num_threads(3);
    view y = f.out[0], again = f.out[0] = like(type, &y);
    CHECK_INT(cpu_DPLR_SCAN(&f, &e), 0);
    CHECK(same_bits(&y, &again));
    /* later positions change no bit of earlier ones, whatever their decay */
    if (s->time > 3 && !s->backwards) {
        int64_t last = s->time - 1;
        for (int64_t h = 0; h < BATCH * HEADS; h++)
            for (int64_t i = 0; i < s->d_k; i++) set(&f.in[W], (h * s->time + last) * s->d_k + i, -200);
        CHECK_INT(cpu_DPLR_SCAN(&f, &e), 0);
        for (int64_t h = 0; h < BATCH * HEADS; h++)
            for (int64_t i = 0; i < last * s->d_v; i++)
                CHECK_NEAR(get(&again, h * s->time * s->d_v + i), get(&y, h * s->time * s->d_v + i), 0);
    }
    omp_set_num_threads(1);
    RELEASE(y, again, f.out[1], f.out[2], g.in[8]);
    for (int k = 0; k < INPUTS; k++) RELEASE(f.in[k], g.out[k]);
}

static void check_composed(const scan_case *s, const numbers *n)
{
    params none = {0};
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    ab_t in[INPUTS];
    view dx[INPUTS] = {{0}};
    for (int k = 0; k < INPUTS; k++) {
        in[k] = t_input(c, arena_printf(&c->memory, "in%d", k), F64, PHASE_STEP, BATCH, HEADS, s->time, width(s, k));
        tape_at(c, in[k])->needs = true;
    }
    ab_t y = t_dplr_scan_composed(c, in[Q], in[K], in[V], in[A], in[B], in[W], s->backwards, s->chunk);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, y, t_const(c, tape_at(c, y)->dim, n->dy)), (int64_t[4]){1, 1, 1, 1});
    t_keep(c, y, "y"), t_keep(c, loss, "loss");
    CHECK_INT(tape_backward(c, loss), 0);
    for (int k = 0; k < INPUTS; k++) t_keep(c, (ab_t){c->grad[in[k].id]}, arena_printf(&c->memory, "d%d", k));
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    for (int k = 0; k < INPUTS; k++) tape_write(c, in[k], n->x[k], (size_t)node_count(tape_at(c, in[k])) * 8);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    CHECK_TEXT(c->error.text, "");
    const node *v = tape_at(c, y);
    view out = {.data = v->data, .type = F64, .dim = {v->dim[0], v->dim[1], v->dim[2], v->dim[3]}};
    for (int k = 0; k < INPUTS; k++) {
        const node *g = tape_at(c, (ab_t){c->grad[in[k].id]});
        dx[k] = (view){.data = g->data, .type = F64, .dim = {g->dim[0], g->dim[1], g->dim[2], g->dim[3]}};
    }
    compare_all("composed", OP_NONE, s, n, &out, dx, 1e-10);
    tape_free(c);
    params_free(&none);
}

static void check(const scan_case *s)
{
    numbers n = {0};
    for (int k = 0; k < INPUTS; k++) {
        int64_t count = BATCH * HEADS * s->time * width(s, k);
        n.x[k] = xcalloc((size_t)count, sizeof(double)), n.dx[k] = xcalloc((size_t)count, sizeof(double));
        double scale = k == Q || k == V ? 1 : k == K ? 1.7 / sqrt((double)s->d_k) : 0.9 / sqrt((double)s->d_k);
        for (int64_t i = 0; i < count; i++) {
            double u = rng_uniform(&dice);
            n.x[k][i] = (float)(k != W ? (2 * u - 1) * scale : u < s->strong ? -80 * u / s->strong : -0.6 * u);
        }
    }
    int64_t count = BATCH * HEADS * s->time * s->d_v;
    n.y = xcalloc((size_t)count, sizeof(double)), n.dy = xcalloc((size_t)count, sizeof(double));
    for (int64_t i = 0; i < count; i++) n.dy[i] = (float)(2 * rng_uniform(&dice) - 1);
    n.state = xcalloc((size_t)((s->time + 1) * s->d_k * s->d_v), sizeof(double));
    for (int64_t head = 0; head < BATCH * HEADS; head++) head_of(s, &n, head);
    check_kernel(s, &n, F64);
    check_kernel(s, &n, F32);
    check_composed(s, &n);
    for (int k = 0; k < INPUTS; k++) free(n.x[k]), free(n.dx[k]);
    free(n.y), free(n.dy), free(n.state);
}

static void check_solve(int64_t n, int64_t m, dtype type, bool transposed)
{
    call k = {.op = OP_SOLVE_LOWER, .n_in = 2, .n_out = 1, .a = {.SOLVE_LOWER = {.transposed = transposed}}};
    k.in[0] = tensor(type, 2, 1, n, n), k.in[1] = tensor(type, 2, 1, n, m), k.out[0] = tensor(type, 2, 1, n, m);
    double *y = xcalloc((size_t)(2 * n * m), sizeof *y);
    for (int i = 0; i < 2; i++)
        for (int64_t j = 0; j < size_of(&k.in[i]); j++)
            set(&k.in[i], j, (float)((2 * rng_uniform(&dice) - 1) / (i ? 1 : sqrt((double)n))));
    for (int64_t at = 0; at < 2; at++)
        for (int64_t x = 0; x < n; x++)
            for (int64_t c = 0; c < m; c++) {
                int64_t row = transposed ? n - 1 - x : x;
                double sum = get(&k.in[1], (at * n + row) * m + c);
                for (int64_t o = transposed ? row + 1 : 0; o < (transposed ? n : row); o++)
                    sum -=
                        get(&k.in[0], at * n * n + (transposed ? o * n + row : row * n + o)) * y[(at * n + o) * m + c];
                y[(at * n + row) * m + c] = sum;
            }
    err e = {""};
    CHECK_INT(cpu_SOLVE_LOWER(&k, &e), 0);
    compare(OP_SOLVE_LOWER, &k.out[0], y, allowed(type, 1e-4), "SOLVE_LOWER");
    RELEASE(k.in[0], k.in[1], k.out[0]);
    free(y);
}

int main(void)
{
    static const struct {
        int64_t time, d_k, d_v, chunk;
    } shapes[] = {{1, 1, 1, 16},    {5, 3, 2, 2},     {7, 8, 16, 4},  {33, 5, 19, 16},
                  {32, 16, 16, 16}, {37, 24, 40, 32}, {20, 33, 7, 13}};
    dice = rng_seed(33, 0);
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        for (size_t i = 0; i < LENGTH(shapes); i++)
            for (int form = 0; form < 4; form++)
                check(&(scan_case){shapes[i].time, shapes[i].d_k, shapes[i].d_v, shapes[i].chunk, form & 1,
                                   form & 2 ? 0.1 : 0});
        for (int form = 0; form < 4; form++)
            for (int64_t n = 1; n < 80; n = n * 2 + 3) check_solve(n, 70 - n, form & 1 ? F64 : F32, form & 2);
    }
    print_errors();
    return test_end();
}
