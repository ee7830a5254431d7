/* ops_delta.c - DELTA_SCAN, a recurrence along each sentence whose state is a matrix: linear attention with decay, and
 * with the correction of the delta rule; DPLR_SCAN, whose state decays by column of the keys and changes by a matrix of
 * rank 1; SOLVE_LOWER. Also their compositions from other operations.
 *
 * Schlag et al. 2021 (the delta rule); Yang et al. 2024, "Parallelizing linear transformers with the delta rule", arXiv
 * 2406.06484; with decay "Gated delta networks", arXiv 2412.06464, eq. 10, here with S transposed; Peng
 * et al. 2025, "RWKV-7", arXiv 2503.14456, section 4. */
#include "tensor/graph/grad.h"
#include <stdlib.h>
#include <string.h>

/* ---- the operation ---- */

static bool fits(ab_ctx *c, const char *scan, ab_t q, ab_t x, int64_t width, const char *name)
{
    const int64_t *d = tape_at(c, q)->dim, *e = tape_at(c, x)->dim;
    char sq[64], sx[64];
    if (d[0] == e[0] && d[1] == e[1] && d[2] == e[2] && (!width || e[3] == width)) return true;
    tape_fail(c, "%s: %s %s do not fit queries %s", scan, name, shape_text(e, sx), shape_text(d, sq));
    return false;
}

/* Checks the operands and casts them to the tape's type; returns false after an error. */
static bool accepted(ab_ctx *c, ab_t *q, ab_t *k, ab_t *v, ab_t *beta, ab_t *decay, int64_t chunk)
{
    if (!q->id || !k->id || !v->id) return false;
    *q = number(c, *q), *k = number(c, *k), *v = number(c, *v), *beta = number(c, *beta), *decay = number(c, *decay);
    if (c->error.text[0]) return false;
    if (chunk < 1) tape_fail(c, "delta_scan: found chunks of %lld positions, expected at least 1", (long long)chunk);
    const char *scan = "delta_scan";
    return chunk >= 1 && fits(c, scan, *q, *k, tape_at(c, *q)->dim[3], "keys") && fits(c, scan, *q, *v, 0, "values") &&
           (!beta->id || fits(c, scan, *q, *beta, 1, "beta")) && (!decay->id || fits(c, scan, *q, *decay, 1, "decay"));
}

ab_t t_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards, int64_t chunk)
{
    if (!accepted(c, &q, &k, &v, &beta, &decay, chunk)) return (ab_t){0};
    dims d = dims_of(c, v.id);
    ab_t y = tape_push(c, OP_DELTA_SCAN, generic_type(c), d.dim, 5, (ab_t[]){q, k, v, beta, decay},
                       &(attr){.DELTA_SCAN = {.chunk = chunk, .backwards = backwards}});
    if (beta.id)
        shape_part(c, y, OUTPUT(DELTA_SCAN, w), generic_type(c), d.dim);
    else
        drop_part(c, y, OUTPUT(DELTA_SCAN, w));
    d.dim[2] = (d.dim[2] + chunk - 1) / chunk * tape_at(c, q)->dim[3];
    shape_part(c, y, OUTPUT(DELTA_SCAN, states), generic_type(c), d.dim);
    return y;
}
/* The gradient of a scan y with n inputs: operation `back`, which reads these inputs, y's two other outputs, and dy. */
static void scan_rule(ab_ctx *c, ab_t y, ab_t dy, op back, int n)
{
    node v = *tape_at(c, y);
    ab_t in[MAX_IN] = {{0}};
    for (int k = 0; k < n; k++) in[k].id = v.in[k];
    for (int k = 1; k < 3; k++) in[n + k - 1] = node_count(&c->v[y.id + k]) ? tape_part(c, y, k) : (ab_t){0};
    in[n + 2] = dy;
    ab_t g = tape_push(c, back, v.type, c->v[v.in[0]].dim, n + 3, in, &v.a);
    for (int k = 1; k < n; k++) {
        if (v.in[k])
            shape_part(c, g, k, v.type, c->v[v.in[k]].dim);
        else
            drop_part(c, g, k);
    }
    for (int k = 0; k < n; k++) grad_add(c, v.in[k], tape_part(c, g, k));
}
static void delta_scan_rule(ab_ctx *c, ab_t y, ab_t dy) { scan_rule(c, y, dy, OP_DELTA_SCAN_BACK, 5); }

/* in: q, k, v, a, b, decay */
static bool dplr_accepted(ab_ctx *c, ab_t in[6], int64_t chunk)
{
    static const char *const names[] = {"queries", "keys", "values", "a", "b", "decay"};
    if (chunk < 1) tape_fail(c, "dplr_scan: found chunks of %lld positions, expected at least 1", (long long)chunk);
    for (int k = 0; k < 6; k++) {
        in[k] = number(c, in[k]);
        if (c->error.text[0] || !in[k].id) return false;
        if (!fits(c, "dplr_scan", in[0], in[k], k == 2 ? 0 : tape_at(c, in[0])->dim[3], names[k])) return false;
    }
    return true;
}
ab_t t_dplr_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay, int backwards, int64_t chunk)
{
    ab_t in[6] = {q, k, v, a, b, decay};
    if (!dplr_accepted(c, in, chunk)) return (ab_t){0};
    dims d = dims_of(c, in[2].id);
    ab_t y = tape_push(c, OP_DPLR_SCAN, generic_type(c), d.dim, 6, in,
                       &(attr){.DELTA_SCAN = {.chunk = chunk, .backwards = backwards}});
    shape_part(c, y, OUTPUT(DPLR_SCAN, u), generic_type(c), d.dim);
    d.dim[2] = (d.dim[2] + chunk - 1) / chunk * tape_at(c, in[0])->dim[3];
    shape_part(c, y, OUTPUT(DPLR_SCAN, states), generic_type(c), d.dim);
    return y;
}
static void dplr_scan_rule(ab_ctx *c, ab_t y, ab_t dy) { scan_rule(c, y, dy, OP_DPLR_SCAN_BACK, 6); }

/* Checks shapes and repeats axes of length 1; returns false after an error. */
static bool system_given(ab_ctx *c, ab_t *l, ab_t *b)
{
    *l = number(c, *l), *b = number(c, *b);
    if (!l->id || !b->id) return false;
    int64_t x[4], y[4];
    memcpy(x, tape_at(c, *l)->dim, sizeof x), memcpy(y, tape_at(c, *b)->dim, sizeof y);
    bool fit = x[2] == x[3] && x[2] == y[2];
    for (int i = 0; i < 2; i++) fit &= x[i] == y[i] || x[i] == 1 || y[i] == 1;
    char sl[64], sb[64];
    if (!fit)
        tape_fail(c, "solve_lower: l %s does not fit b %s, expected [n,n] and [n,m]", shape_text(x, sl),
                  shape_text(y, sb));
    for (int i = 0; i < 2; i++) x[i] = y[i] = x[i] > y[i] ? x[i] : y[i];
    if (fit) *l = t_broadcast_to(c, *l, x), *b = t_broadcast_to(c, *b, y);
    return fit;
}
ab_t t_solve_lower(ab_ctx *c, ab_t l, ab_t b, int transposed)
{
    if (!system_given(c, &l, &b)) return (ab_t){0};
    return push2(c, OP_SOLVE_LOWER, l, b, tape_at(c, b)->dim, &(attr){.SOLVE_LOWER = {.transposed = transposed != 0}});
}
static void solve_rule(ab_ctx *c, ab_t y, ab_t dy)
{
    node v = *tape_at(c, y);
    ab_t l = {v.i.SOLVE_LOWER.l}, db = t_solve_lower(c, l, dy, !v.a.SOLVE_LOWER.transposed);
    grad_add(c, v.i.SOLVE_LOWER.b, db);
    if (!grad_wanted(c, l.id)) return;
    ab_t dl = v.a.SOLVE_LOWER.transposed ? t_matmul(c, y, db, 0, 1) : t_matmul(c, db, y, 0, 1);
    grad_add(c, l.id, t_binary(c, OP_MUL, dl, t_mul_scalar(c, t_before(c, v.dim[2], false), -1)));
}

const grad_rule delta_rules[OP_COUNT] = {
    [OP_DELTA_SCAN] = delta_scan_rule, [OP_DPLR_SCAN] = dplr_scan_rule, [OP_SOLVE_LOWER] = solve_rule};

/* ---- composed of other operations, by chunks of C positions: the formulas of cpu/delta_scan.inc. All states before
 * chunks are computed together, in log2(chunks) rounds ---- */

typedef struct {
    ab_ctx *c;
    int64_t C;
    bool backwards;
} chunked;

/* [C,C]: 1 where one(row, column, by) holds; rows and columns are numbered in the order of the recurrence */
static ab_t where_in_chunk(const chunked *s, bool (*one)(int64_t i, int64_t j, int64_t by), int64_t by)
{
    double *v = xcalloc((size_t)(s->C * s->C), sizeof *v);
    for (int64_t i = 0; i < s->C; i++)
        for (int64_t j = 0; j < s->C; j++)
            v[s->backwards ? (s->C - 1 - i) * s->C + s->C - 1 - j : i * s->C + j] = one(i, j, by);
    ab_t y = t_const(s->c, (int64_t[4]){1, 1, s->C, s->C}, v);
    free(v);
    return y;
}
static bool not_behind(int64_t i, int64_t j, int64_t by) { return j + by <= i; } /* by 1: strictly before */
/* is row i in the second, and column j in the first, of two neighbouring blocks of `by`? */
static bool pair_of(int64_t i, int64_t j, int64_t by) { return i / by % 2 && j / by == i / by - 1; }

static bool equal(int64_t i, int64_t j, int64_t by) { return i == j + by; }

/* [n,n]: 1 on the diagonal */
static ab_t unit(ab_ctx *c, int64_t n) { return where_in_chunk(&(chunked){c, n, false}, equal, 0); }

static ab_t zeros_like(ab_ctx *c, ab_t x, int axis, int64_t n)
{
    dims d = dims_of(c, x.id);
    d.dim[4 + axis] = n;
    double *v = xcalloc((size_t)(d.dim[0] * d.dim[1] * d.dim[2] * d.dim[3]), sizeof *v);
    ab_t z = t_const(c, d.dim, v);
    free(v);
    return z;
}

/* [B,H,T,d] -> [B H, chunks, C, d], with zeros behind the end; returns id 0 for id 0 */
static ab_t in_chunks(const chunked *s, ab_t x)
{
    if (!x.id) return x;
    int64_t d[4];
    memcpy(d, tape_at(s->c, x)->dim, sizeof d);
    int64_t n = (d[2] + s->C - 1) / s->C;
    x = t_place(s->c, x, -2, 0, n * s->C);
    return t_reshape(s->c, x, (int64_t[4]){d[0] * d[1], n, s->C, d[3]});
}

/* Each chunk gets the value of the chunk `by` earlier in the order of the recurrence; the first ones get zeros. */
static ab_t shift_chunks(const chunked *s, ab_t x, int64_t by)
{
    int64_t n = tape_at(s->c, x)->dim[1], away = by < n ? by : n;
    ab_t none = zeros_like(s->c, x, -3, away);
    if (away == n) return none;
    ab_t kept = t_slice(s->c, x, -3, s->backwards ? away : 0, n - away);
    return s->backwards ? t_concat(s->c, kept, none, -3) : t_concat(s->c, none, kept, -3);
}

/* The inverse of 1 + a, where a [..,C,C] is zero unless the column precedes the row in the recurrence. Each round joins
 * the inverses x, z of two blocks into one of twice the size, with -z a x between them. */
static ab_t inverse(const chunked *s, ab_t a)
{
    ab_t x = unit(s->c, s->C);
    for (int64_t n = 1; n < s->C; n *= 2) {
        ab_t between = t_binary(s->c, OP_MUL, a, where_in_chunk(s, pair_of, n));
        x = t_binary(s->c, OP_SUB, x, t_matmul(s->c, x, t_matmul(s->c, between, x, 0, 0), 0, 0));
    }
    return x;
}

ab_t t_solve_lower_composed(ab_ctx *c, ab_t l, ab_t b)
{
    if (!system_given(c, &l, &b)) return (ab_t){0};
    const chunked s = {c, tape_at(c, b)->dim[2], false};
    return t_matmul(c, inverse(&s, l), b, 0, 0); /* inverse reads l below the diagonal only */
}

/* The state before each chunk. A chunk multiplies the state by a factor [..,1,1] or a matrix [..,d_k,d_k] (id 0:
 * neither) and adds `own` [N,n,d_k,d_v]. */
static ab_t states_before(const chunked *s, ab_t own, ab_t factor, ab_t matrix)
{
    ab_ctx *c = s->c;
    int64_t n = tape_at(c, own)->dim[1];
    for (int64_t by = 1; by < n; by *= 2) {
        ab_t from = shift_chunks(s, own, by);
        if (factor.id) from = t_binary(c, OP_MUL, factor, from);
        if (matrix.id) from = t_matmul(c, matrix, from, 0, 0);
        own = t_binary(c, OP_ADD, own, from);
        if (factor.id) factor = t_binary(c, OP_MUL, factor, shift_chunks(s, factor, by));
        if (matrix.id) matrix = t_matmul(c, matrix, shift_chunks(s, matrix, by), 0, 0);
    }
    return shift_chunks(s, own, 1);
}

/* The rows of all chunks as [B,H,time,d_v]. shape: v's. */
static ab_t from_chunks(const chunked *s, ab_t y, const int64_t shape[4])
{
    if (!y.id) return y;
    int64_t d[4] = {shape[0], shape[1], tape_at(s->c, y)->dim[1] * s->C, shape[3]};
    y = t_reshape(s->c, y, d);
    return d[2] == shape[2] ? y : t_slice(s->c, y, -2, 0, shape[2]);
}

static ab_t times(ab_ctx *c, ab_t by, ab_t x) { return by.id ? t_binary(c, OP_MUL, by, x) : x; }

ab_t t_delta_scan_composed(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards, int64_t chunk)
{
    if (!accepted(c, &q, &k, &v, &beta, &decay, chunk)) return (ab_t){0};
    dims d = dims_of(c, v.id);
    int64_t d_k = tape_at(c, q)->dim[3];
    const chunked s = {c, chunk < d.dim[2] ? chunk : d.dim[2], backwards != 0};
    ab_t seen = where_in_chunk(&s, not_behind, 0), before = where_in_chunk(&s, not_behind, 1);
    ab_t start = {0}, end = {0}, all = {0}, between = seen;
    q = in_chunks(&s, q), k = in_chunks(&s, k), v = in_chunks(&s, v);
    beta = in_chunks(&s, beta), decay = in_chunks(&s, decay);
    if (decay.id) { /* start, end [N,n,C,1]: decay from the chunk's start, to its end; all [N,n,1,1]: over the chunk */
        ab_t b = t_matmul(c, seen, decay, 0, 0), last = t_slice(c, b, -2, backwards ? 0 : s.C - 1, 1);
        ab_t apart = t_binary(c, OP_SUB, b, t_transpose(c, b, -1, -2));
        between = t_binary(c, OP_MUL, seen, t_map(c, t_binary(c, OP_MUL, seen, apart), AB_EXP));
        start = t_map(c, b, AB_EXP), end = t_map(c, t_binary(c, OP_SUB, last, b), AB_EXP), all = t_map(c, last, AB_EXP);
    }
    ab_t u = v, k_end = times(c, end, k), matrix = {0}, k_start = {0};
    if (beta.id) { /* u = u - k_start S */
        ab_t a = t_binary(c, OP_MUL, t_matmul(c, k, k, 0, 1), t_binary(c, OP_MUL, before, between));
        ab_t solved = inverse(&s, t_binary(c, OP_MUL, beta, a));
        u = t_matmul(c, solved, t_binary(c, OP_MUL, beta, v), 0, 0);
        k_start = t_matmul(c, solved, t_binary(c, OP_MUL, beta, times(c, start, k)), 0, 0);
        ab_t kept = unit(c, d_k), lost = t_matmul(c, k_end, k_start, 1, 0);
        matrix = t_binary(c, OP_SUB, times(c, all, kept), lost);
    }
    ab_t scores = t_binary(c, OP_MUL, t_matmul(c, q, k, 0, 1), between), y;
    if (!u.id || !scores.id) return (ab_t){0};
    if (tape_at(c, u)->dim[1] == 1) {
        y = t_matmul(c, scores, u, 0, 0);
    } else {
        ab_t state = states_before(&s, t_matmul(c, k_end, u, 1, 0), beta.id ? (ab_t){0} : all, matrix);
        if (beta.id) u = t_binary(c, OP_SUB, u, t_matmul(c, k_start, state, 0, 0));
        y = t_binary(c, OP_ADD, t_matmul(c, times(c, start, q), state, 0, 0), t_matmul(c, scores, u, 0, 0));
    }
    return from_chunks(&s, y, d.dim);
}

/* ---- DPLR_SCAN composed of other operations. Take the smallest block of 2, 4, 8 .. positions that has two positions
 * of a chunk in different halves. The decay between the two is the decay from the earlier one to the middle of the
 * block, times the decay from the middle to the later one: neither exceeds 1, however strong the decays. ---- */

/* Is j in i's block of `by` positions, and at most i, before i, or behind i? */
static bool here_to(int64_t i, int64_t j, int64_t by) { return j / by == i / by && j <= i; }
static bool here_before(int64_t i, int64_t j, int64_t by) { return j / by == i / by && j < i; }
static bool here_behind(int64_t i, int64_t j, int64_t by) { return j / by == i / by && j > i; }

/* exp of the sums of decay [N,n,C,d_k] over the positions j for which which(i, j, by) holds, for each position i */
static ab_t decay_over(const chunked *s, bool (*which)(int64_t, int64_t, int64_t), int64_t by, ab_t decay)
{
    return t_map(s->c, t_matmul(s->c, where_in_chunk(s, which, by), decay, 0, 0), AB_EXP);
}
/* out[x][y] [N,n,C,C] = row[x] (queries, b) times column[y] (a, keys), times the decays between the two positions. The
 * decay at the row's own position counts for queries, but not for b. */
static void dplr_products(const chunked *s, const ab_t row[2], const ab_t column[2], ab_t decay, ab_t out[2][2])
{
    ab_ctx *c = s->c;
    for (int y = 0; y < 2; y++) {
        out[0][y] = t_binary(c, OP_MUL, t_matmul(c, row[0], column[y], 0, 1), unit(c, s->C));
        out[1][y] = (ab_t){0};
    }
    for (int64_t by = 1; by < s->C; by *= 2) {
        ab_t pairs = where_in_chunk(s, pair_of, by), behind = decay_over(s, here_behind, by, decay);
        for (int x = 0; x < 2; x++) {
            ab_t later = t_binary(c, OP_MUL, row[x], decay_over(s, x ? here_before : here_to, by, decay));
            for (int y = 0; y < 2; y++) {
                ab_t part = t_matmul(c, later, t_binary(c, OP_MUL, column[y], behind), 0, 1);
                part = t_binary(c, OP_MUL, part, pairs);
                out[x][y] = out[x][y].id ? t_binary(c, OP_ADD, out[x][y], part) : part;
            }
        }
    }
    for (int y = 0; y < 2 && !out[1][y].id; y++) out[1][y] = t_mul_scalar(c, out[0][y], 0); /* chunks of one position */
}

ab_t t_dplr_scan_composed(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay, int backwards, int64_t chunk)
{
    ab_t in[6] = {q, k, v, a, b, decay}, p[2][2];
    if (!dplr_accepted(c, in, chunk)) return (ab_t){0};
    dims d = dims_of(c, in[2].id);
    const chunked s = {c, chunk < d.dim[2] ? chunk : d.dim[2], backwards != 0};
    for (int x = 0; x < 6; x++) in[x] = in_chunks(&s, in[x]);
    q = in[0], k = in[1], v = in[2], a = in[3], b = in[4], decay = in[5];
    dplr_products(&s, (ab_t[]){q, b}, (ab_t[]){a, k}, decay, p);
    ab_t solved = inverse(&s, t_mul_scalar(c, p[1][0], -1)),
         u = t_matmul(c, solved, t_matmul(c, p[1][1], v, 0, 0), 0, 0);
    ab_t near = t_matmul(c, p[0][1], v, 0, 0);
    if (!u.id || !near.id) return (ab_t){0};
    if (tape_at(c, u)->dim[1] > 1) { /* u += b_start S */
        ab_t end = decay_over(&s, here_behind, s.C, decay), a_end = t_binary(c, OP_MUL, a, end);
        ab_t b_start = t_matmul(c, solved, t_binary(c, OP_MUL, b, decay_over(&s, here_before, s.C, decay)), 0, 0);
        ab_t own = t_binary(c, OP_ADD, t_matmul(c, a_end, u, 1, 0), t_matmul(c, t_binary(c, OP_MUL, k, end), v, 1, 0));
        ab_t all = t_map(c, t_matmul(c, where_in_chunk(&s, here_to, s.C), decay, 0, 0), AB_EXP);
        ab_t kept =
            t_binary(c, OP_MUL, unit(c, tape_at(c, q)->dim[3]), t_slice(c, all, -2, backwards ? 0 : s.C - 1, 1));
        ab_t state = states_before(&s, own, (ab_t){0}, t_binary(c, OP_ADD, kept, t_matmul(c, a_end, b_start, 1, 0)));
        u = t_binary(c, OP_ADD, u, t_matmul(c, b_start, state, 0, 0));
        near = t_binary(c, OP_ADD, near, t_matmul(c, t_binary(c, OP_MUL, q, all), state, 0, 0));
    }
    return from_chunks(&s, t_binary(c, OP_ADD, near, t_matmul(c, p[0][0], u, 0, 0)), d.dim);
}

/* ---- samples: in[3] makes beta (by a sigmoid) and the decay (minus its square, at least -1) ---- */

typedef ab_t (*builder)(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards, int64_t chunk);
static ab_t sampled(ab_ctx *c, const ab_t *in, builder f, bool beta, bool decay, int backwards)
{
    ab_t none = {0}, b = t_map(c, in[3], AB_SIGMOID);
    return f(c, in[0], in[1], in[2], beta ? b : none, decay ? t_mul_scalar(c, t_map(c, in[3], AB_SQUARE), -1) : none,
             backwards, 2);
}
SAMPLE(gated, sampled(c, in, t_delta_scan, true, true, 0))
SAMPLE(gated_back, sampled(c, in, t_delta_scan, true, true, 1))
SAMPLE(delta, sampled(c, in, t_delta_scan, true, false, 0))
SAMPLE(decay, sampled(c, in, t_delta_scan, false, true, 0))
SAMPLE(composed, sampled(c, in, t_delta_scan_composed, true, true, 0))
SAMPLE(composed_back, sampled(c, in, t_delta_scan_composed, true, true, 1))
SAMPLE(composed_delta, sampled(c, in, t_delta_scan_composed, true, false, 0))
SAMPLE(composed_decay, sampled(c, in, t_delta_scan_composed, false, true, 0))

typedef ab_t (*dplr_builder)(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t decay, int back, int64_t chunk);
static ab_t dplr_sampled(ab_ctx *c, const ab_t *in, dplr_builder f, int backwards)
{
    ab_t a = t_mul_scalar(c, t_map(c, in[3], AB_TANH), -0.5), b = t_map(c, t_binary(c, OP_MUL, in[1], in[3]), AB_TANH);
    return f(c, in[0], in[1], in[2], a, b, t_mul_scalar(c, t_map(c, in[3], AB_SQUARE), -1), backwards, 3);
}
SAMPLE(solve, t_solve_lower(c, in[0], in[1], 0))
SAMPLE(solve_transposed, t_solve_lower(c, in[0], in[1], 1))
SAMPLE(solve_composed, t_solve_lower_composed(c, in[0], in[1]))
SAMPLE(dplr, dplr_sampled(c, in, t_dplr_scan, 0))
SAMPLE(dplr_back, dplr_sampled(c, in, t_dplr_scan, 1))
SAMPLE(dplr_composed, dplr_sampled(c, in, t_dplr_scan_composed, 0))
SAMPLE(dplr_composed_back, dplr_sampled(c, in, t_dplr_scan_composed, 1))

#define DPLR_DIM                                                                                                       \
    {                                                                                                                  \
        {2, 2, 5, 3}, {2, 2, 5, 3}, {2, 2, 5, 2}, { 2, 2, 5, 3 }                                                       \
    }
#define SAMPLE_DIM                                                                                                     \
    {                                                                                                                  \
        {2, 2, 5, 3}, {2, 2, 5, 3}, {2, 2, 5, 2}, { 2, 2, 5, 1 }                                                       \
    }
const op_sample delta_samples[] = {
    {"DELTA_SCAN", sample_gated, .dim = SAMPLE_DIM},
    {"DELTA_SCAN, backwards", sample_gated_back, .dim = SAMPLE_DIM},
    {"DELTA_SCAN without decay", sample_delta, .dim = SAMPLE_DIM},
    {"DELTA_SCAN without beta", sample_decay, .dim = SAMPLE_DIM},
    {"DELTA_SCAN composed", sample_composed, .dim = SAMPLE_DIM},
    {"DELTA_SCAN composed, backwards", sample_composed_back, .dim = SAMPLE_DIM},
    {"DELTA_SCAN composed, without decay", sample_composed_delta, .dim = SAMPLE_DIM},
    {"DELTA_SCAN composed, without beta", sample_composed_decay, .dim = SAMPLE_DIM},
    {"SOLVE_LOWER", sample_solve, .dim = {{2, 1, 9, 9}, {2, 2, 9, 3}}},
    {"SOLVE_LOWER, transposed", sample_solve_transposed, .dim = {{2, 2, 5, 5}, {1, 2, 5, 3}}},
    {"SOLVE_LOWER composed", sample_solve_composed, .dim = {{2, 2, 5, 5}, {2, 1, 5, 3}}},
    {"DPLR_SCAN", sample_dplr, .dim = DPLR_DIM},
    {"DPLR_SCAN, backwards", sample_dplr_back, .dim = DPLR_DIM},
    {"DPLR_SCAN composed", sample_dplr_composed, .dim = DPLR_DIM},
    {"DPLR_SCAN composed, backwards", sample_dplr_composed_back, .dim = DPLR_DIM},
    {0},
};
