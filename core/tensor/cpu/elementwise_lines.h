/* elementwise_lines.h - template (vectors.h; S: f32 or f64): operations on lines of numbers. Lines may share
 * storage if they start at the same element, because each element is read before it is written.
 */

INLINE REALS TYPED(apply)(op o, REALS a, REALS b)
{
    switch (o) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MINIMUM: return OF_REAL(select)(b < a, b, a);
    default: return OF_REAL(select)(a < b, OF_REAL(all)(1), OF_REAL(all)(0));
    }
}

/* y = a o b; a or b may be a single repeated number. */
INLINE void TYPED(binary_line)(op o, REAL *y, const REAL *a, const REAL *b, int64_t n, bool repeat_a, bool repeat_b)
{
    REALS va = OF_REAL(all)(*a), vb = OF_REAL(all)(*b);
    for (int64_t i = 0; i < n; i += LANES) {
        if (!repeat_a) va = TYPED(load_some)(a + i, n - i);
        if (!repeat_b) vb = TYPED(load_some)(b + i, n - i);
        TYPED(store_some)(y + i, TYPED(apply)(o, va, vb), n - i);
    }
}

#define BINARY(NAME)                                                                                                   \
    static void TYPED(line_##NAME)(const elementwise *w, void *y, const void *const x[3], int64_t n)                   \
    {                                                                                                                  \
        if (w->repeat[0])                                                                                              \
            TYPED(binary_line)(OP_##NAME, y, x[0], x[1], n, true, w->repeat[1]);                                       \
        else if (w->repeat[1])                                                                                         \
            TYPED(binary_line)(OP_##NAME, y, x[0], x[1], n, false, true);                                              \
        else                                                                                                           \
            TYPED(binary_line)(OP_##NAME, y, x[0], x[1], n, false, false);                                             \
    }
BINARY(ADD)
BINARY(SUB)
BINARY(MUL)
BINARY(DIV)
BINARY(MINIMUM)
BINARY(LESS_THAN)

/* y = a where c is not 0, else b; each may be a single repeated number. */
INLINE void TYPED(where_line)(REAL *y, const REAL *const x[3], int64_t n, bool c_repeats, bool a_repeats,
                              bool b_repeats)
{
    REALS c = OF_REAL(all)(*x[0]), a = OF_REAL(all)(*x[1]), b = OF_REAL(all)(*x[2]);
    for (int64_t i = 0; i < n; i += LANES) {
        if (!c_repeats) c = TYPED(load_some)(x[0] + i, n - i);
        if (!a_repeats) a = TYPED(load_some)(x[1] + i, n - i);
        if (!b_repeats) b = TYPED(load_some)(x[2] + i, n - i);
        TYPED(store_some)(y + i, OF_REAL(select)(c != 0, a, b), n - i);
    }
}
static void TYPED(line_WHERE)(const elementwise *w, void *y, const void *const x[3], int64_t n)
{
    const REAL *const in[3] = {x[0], x[1], x[2]};
    switch (w->repeat[0] * 4 + w->repeat[1] * 2 + w->repeat[2]) {
    case 0: TYPED(where_line)(y, in, n, false, false, false); break;
    case 1: TYPED(where_line)(y, in, n, false, false, true); break;
    case 2: TYPED(where_line)(y, in, n, false, true, false); break;
    case 3: TYPED(where_line)(y, in, n, false, true, true); break;
    default: TYPED(where_line)(y, in, n, true, w->repeat[1], w->repeat[2]);
    }
}

/* ---- one input ---- */

static void TYPED(line_MUL_SCALAR)(const elementwise *w, void *y, const void *const x[3], int64_t n)
{
    REAL by = (REAL)w->by;
    TYPED(binary_line)(OP_MUL, y, x[0], &by, n, false, true);
}
static void TYPED(line_ADD_SCALAR)(const elementwise *w, void *y, const void *const x[3], int64_t n)
{
    REAL by = (REAL)w->by;
    TYPED(binary_line)(OP_ADD, y, x[0], &by, n, false, true);
}

/* Processes MAP_BLOCK numbers at a time, padding the rest, so that an element's bits do not depend on its position in
 * the line. `u`, `v`, `d` are the elements of the first, second and third line. */
#define MAP_LINE(NAME, N_IN, EXPRESSION)                                                                               \
    static void TYPED(NAME)(const elementwise *w, void *y_, const void *const x_[3], int64_t n)                        \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        REAL *y = y_, part[4][MAP_BLOCK] = {{0}};                                                                      \
        const REAL *x[3] = {x_[0], N_IN > 1 ? x_[1] : x_[0], N_IN > 1 ? x_[2] : x_[0]};                                \
        for (int64_t i = 0; i < n; i += MAP_BLOCK) {                                                                   \
            size_t rest = n - i < MAP_BLOCK ? (size_t)(n - i) : MAP_BLOCK;                                             \
            const REAL *p[3] = {x[0] + i, x[1] + i, x[2] + i};                                                         \
            REAL *to = y + i;                                                                                          \
            if (rest < MAP_BLOCK) {                                                                                    \
                for (int k = 0; k < 3; k++) p[k] = memcpy(part[k], p[k], rest * sizeof(REAL));                         \
                to = part[3];                                                                                          \
            }                                                                                                          \
            _Pragma("omp simd") for (int j = 0; j < MAP_BLOCK; j++)                                                    \
            {                                                                                                          \
                REAL u = p[0][j], v = p[1][j], d = p[2][j];                                                            \
                (void)u, (void)v, (void)d;                                                                             \
                to[j] = EXPRESSION;                                                                                    \
            }                                                                                                          \
            if (rest < MAP_BLOCK) memcpy(y + i, to, rest * sizeof(REAL));                                              \
        }                                                                                                              \
    }
MAP_LINE(map_EXP, 1, FN(exp)(u))
MAP_LINE(map_LOG, 1, FN(log)(u))
MAP_LINE(map_TANH, 1, FN(tanh)(u))
MAP_LINE(map_SIGMOID, 1, FN(sigmoid)(u))
MAP_LINE(map_RELU, 1, u < 0 ? 0 : u)
MAP_LINE(map_SQRT, 1, FN(root)(u))
MAP_LINE(map_SQUARE, 1, (u * u))
MAP_LINE(map_ABS, 1, (u < 0 ? -u : u + 0))
MAP_LINE(map_SIGN, 1, ((REAL)((u > 0) - (u < 0))))
MAP_LINE(near_COS, 1, FN(cos)(u))
MAP_LINE(near_SIN, 1, FN(sin)(u))
MAP_LINE(map_ELU1, 1, (u > 0 ? u + 1 : FN(exp)(u > 0 ? 0 : u)))
MAP_LINE(map_RECIP, 1, (1 / u))
MAP_LINE(map_SILU, 1, (u * FN(sigmoid)(u)))
MAP_LINE(map_ERF, 1, FN(erf)(u))
MAP_LINE(map_FLOOR, 1, FN(floor)(u))

/* u: x, v: y = f(x), d: the gradient of y. */
MAP_LINE(back_EXP, 3, (d * v))
MAP_LINE(back_LOG, 3, (d / u))
MAP_LINE(back_TANH, 3, (d * (1 - v * v)))
MAP_LINE(back_SIGMOID, 3, (d * (v * (1 - v))))
MAP_LINE(back_RELU, 3, u > 0 ? d : 0)
MAP_LINE(back_SQRT, 3, (d / (2 * v)))
MAP_LINE(back_SQUARE, 3, (d * 2 * u))
MAP_LINE(back_ABS, 3, (u > 0 ? d : u < 0 ? -d : 0))
MAP_LINE(back_SIGN, 3, (0 * d))
MAP_LINE(near_back_COS, 3, (-d * FN(sin)(u)))
MAP_LINE(near_back_SIN, 3, (d * FN(cos)(u)))
MAP_LINE(back_ELU1, 3, (u > 0 ? d : d * v))
MAP_LINE(back_RECIP, 3, (-d * v * v))
MAP_LINE(back_ERF, 3, (d * (REAL)1.1283791670955126 * FN(exp)(-u * u))) /* 2 / sqrt(pi) */
/* s (1 + u (1 - s)), s = sigmoid(u) = v / u; near 0, where that quotient has no digits, s = 0.5 */
MAP_LINE(back_SILU, 3, (d * (u < (REAL)-1e-30 || u > (REAL)1e-30 ? v / u : (REAL)0.5) * (1 + (u - v))))

/* Computes NEAR, but libm's function EXACT where |u| is above FN(most) or u is NaN. */
#define FAR_LINE(NAME, NEAR, N_IN, EXACT)                                                                              \
    static void TYPED(NAME)(const elementwise *w, void *y_, const void *const x[3], int64_t n)                         \
    {                                                                                                                  \
        REAL *y = y_, kept[2][FAR_BLOCK];                                                                              \
        for (int64_t i = 0; i < n; i += FAR_BLOCK) {                                                                   \
            int64_t m = n - i < FAR_BLOCK ? n - i : FAR_BLOCK;                                                         \
            const REAL *in[3] = {(const REAL *)x[0] + i};                                                              \
            for (int k = 1; k < N_IN; k++) in[k] = (const REAL *)x[k] + i;                                             \
            int far = 0;                                                                                               \
            for (int64_t j = 0; j < m; j++) far |= !(FN(size)(in[0][j]) <= FN(most));                                  \
            if (far) { /* keep the inputs: y may overwrite x */                                                        \
                memcpy(kept[0], in[0], (size_t)m * sizeof(REAL));                                                      \
                if (N_IN > 1) memcpy(kept[1], in[2], (size_t)m * sizeof(REAL));                                        \
            }                                                                                                          \
            TYPED(NEAR)(w, y + i, (const void *const *)in, m);                                                         \
            for (int64_t j = 0; j < m && far; j++) {                                                                   \
                REAL u = kept[0][j], d = N_IN > 1 ? kept[1][j] : 0;                                                    \
                (void)d;                                                                                               \
                if (!(FN(size)(u) <= FN(most))) y[i + j] = EXACT;                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
FAR_LINE(map_COS, near_COS, 1, (REAL)cos((double)u))
FAR_LINE(map_SIN, near_SIN, 1, (REAL)sin((double)u))
FAR_LINE(back_COS, near_back_COS, 3, -d *(REAL)sin((double)u))
FAR_LINE(back_SIN, near_back_SIN, 3, d *(REAL)cos((double)u))

static const line TYPED(map_lines)[] = {
    [AB_EXP] = TYPED(map_EXP),         [AB_LOG] = TYPED(map_LOG),   [AB_TANH] = TYPED(map_TANH),
    [AB_SIGMOID] = TYPED(map_SIGMOID), [AB_RELU] = TYPED(map_RELU), [AB_SQRT] = TYPED(map_SQRT),
    [AB_SQUARE] = TYPED(map_SQUARE),   [AB_ABS] = TYPED(map_ABS),   [AB_SIGN] = TYPED(map_SIGN),
    [AB_COS] = TYPED(map_COS),         [AB_SIN] = TYPED(map_SIN),   [AB_ELU1] = TYPED(map_ELU1),
    [AB_RECIP] = TYPED(map_RECIP),     [AB_SILU] = TYPED(map_SILU), [AB_ERF] = TYPED(map_ERF),
    [AB_FLOOR] = TYPED(map_FLOOR),
};
static const line TYPED(back_lines)[] = {
    [AB_EXP] = TYPED(back_EXP),         [AB_LOG] = TYPED(back_LOG),   [AB_TANH] = TYPED(back_TANH),
    [AB_SIGMOID] = TYPED(back_SIGMOID), [AB_RELU] = TYPED(back_RELU), [AB_SQRT] = TYPED(back_SQRT),
    [AB_SQUARE] = TYPED(back_SQUARE),   [AB_ABS] = TYPED(back_ABS),   [AB_SIGN] = TYPED(back_SIGN),
    [AB_COS] = TYPED(back_COS),         [AB_SIN] = TYPED(back_SIN),   [AB_ELU1] = TYPED(back_ELU1),
    [AB_RECIP] = TYPED(back_RECIP),     [AB_SILU] = TYPED(back_SILU), [AB_ERF] = TYPED(back_ERF),
    [AB_FLOOR] = TYPED(back_SIGN),
};

#undef BINARY
#undef MAP_LINE
#undef FAR_LINE
