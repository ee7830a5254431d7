/* norm.cu - NORM (layer normalisation of a residual sum with its dropout), NORM_BACK, DROPOUT, DROPOUT_ADD
 * and COLUMN_SUM.
 *
 * For up to 1024 columns a warp keeps a row in its registers (norm.h). A wider row takes a block, which reads it again
 * in every pass. Sums over rows add partial sums of chunks of rows (parts.h).
 */
#include "tensor/cuda/norm.h"
#include "tensor/cuda/parts.h"

enum { WARPS = 4, BACK_WARPS = 8, WIDE_THREADS = 256, IN_REGISTERS = 1024 };

/* ---- forward ---- */

template <class T, int PER, bool VECTOR, bool WHOLE>
__global__ void __launch_bounds__(32 * WARPS) norm_rows(norm_call<T> a)
{
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row < a.rows) norm_row<PER, VECTOR, WHOLE>(a, row, a.s ? a.s + row * (WHOLE ? 256 * PER : a.width) : nullptr);
}

template <class T, bool VECTOR> __global__ void __launch_bounds__(WIDE_THREADS, 2) norm_wide(norm_call<T> a)
{
    int64_t row = blockIdx.x, at = row * a.width, step = 8 * WIDE_THREADS;
    float mean = 0, scale = 0;
    UNROLL_BY(1) for (int pass = 0; pass < 3; pass++)
    { /* mean, variance, result */
        float sum = 0;
        for (int64_t column = 8 * (int64_t)threadIdx.x; column < a.width; column += step) {
            float v[8], t[8];
            int64_t n = a.width - column;
            get8<VECTOR>(a.x + at + column, n, v);
            if (a.s) {
                get8<VECTOR>(a.s + at + column, n, t);
                add_dropped<VECTOR>(a, pass ? nullptr : a.z, at + column, n, v, t);
            }
            if (pass == 2) write_normal<VECTOR>(a, at + column, column, n, v, mean, scale);
            UNROLL for (int j = 0; j < 8; j++)
            {
                float x = v[j] - mean; /* mean is 0 in the first pass */
                if (j < n) sum += pass ? x * x : x;
            }
        }
        if (pass == 2) break;
        sum = block_sum<WIDE_THREADS / 32>(sum) / (float)a.width;
        if (pass)
            scale = 1 / sqrtf(sum + a.eps);
        else
            mean = sum;
    }
    if (!threadIdx.x) a.stats[2 * row] = mean, a.stats[2 * row + 1] = scale;
}

/* ---- backward: with x^ = (z - mean) / sd and g = dy gain, dz = (g - mean(g) - x^ mean(g x^)) / sd ---- */

template <bool VECTOR, class T> DEVICE void write_back(const norm_call<T> &a, int64_t at, int64_t n, float g[8])
{
    put8<VECTOR>(a.y + at, n, g);
    if (!a.z) return; /* without dropout ds equals dz */
    drop8(g, (uint64_t)at, a.drop, a.counter);
    put8<VECTOR>(a.z + at, n, g);
}

/* The value as it will be read back from the rows. */
DEVICE float stored(float x, float) { return x; }
DEVICE float stored(float x, bf16) { return to_float(to_bf16(x)); }

/* Writes part blockIdx.x of SUMS column sums to sums [parts][SUMS][width]: d gain, d bias and, if SUMS is 3, ds. */
template <class T, int PER, bool VECTOR, bool WHOLE, int SUMS>
__global__ void __launch_bounds__(32 * BACK_WARPS) norm_back_rows(norm_call<T> a)
{
    __align__(16) __shared__ float shared[BACK_WARPS][8 * 32];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int64_t width = WHOLE ? 256 * PER : a.width;
    float over_rows[SUMS][PER][8];
    UNROLL for (int k = 0; k < SUMS; k++) UNROLL for (int i = 0; i < PER; i++) UNROLL for (int j = 0; j < 8; j++)
        over_rows[k][i][j] = 0;
    for (int64_t row = (int64_t)blockIdx.x * BACK_WARPS + warp; row < a.rows; row += (int64_t)gridDim.x * BACK_WARPS) {
        int64_t at = row * width;
        float x[PER][8], g[PER][8], mean = a.stats[2 * row], scale = a.stats[2 * row + 1], sum = 0, product = 0;
        UNROLL for (int i = 0; i < PER; i++)
        {
            int64_t column = 8 * (lane + 32 * i), n = WHOLE ? 8 : width - column;
            get8<VECTOR>(a.x + at + column, n, x[i]);
            get8<VECTOR>(a.dy + at + column, n, g[i]);
        }
        UNROLL for (int i = 0; i < PER; i++)
        {
            float gain[8];
            int64_t column = 8 * (lane + 32 * i);
            get8<VECTOR>(a.gain + column, WHOLE ? 8 : width - column, gain);
            UNROLL for (int j = 0; j < 8; j++)
            { /* g is 0 past the width, so nothing is added */
                x[i][j] = (x[i][j] - mean) * scale;
                over_rows[0][i][j] += g[i][j] * x[i][j];
                over_rows[1][i][j] += g[i][j];
                g[i][j] *= gain[j];
                sum += g[i][j];
                product += g[i][j] * x[i][j];
            }
        }
        float m = warp_sum(sum) / (float)width, mx = warp_sum(product) / (float)width;
        UNROLL for (int i = 0; i < PER; i++)
        {
            int64_t column = 8 * (lane + 32 * i), n = WHOLE ? 8 : width - column;
            UNROLL for (int j = 0; j < 8; j++) g[i][j] = (g[i][j] - m - x[i][j] * mx) * scale;
            if (n > 0) write_back<VECTOR>(a, at + column, n, g[i]);
            if (SUMS > 2)
                UNROLL for (int j = 0; j < 8; j++) over_rows[SUMS - 1][i][j] += j < n ? stored(g[i][j], T()) : 0.f;
        }
    }
    float *part = a.sums + (int64_t)blockIdx.x * SUMS * width;
    UNROLL for (int i = 0; i < SUMS * PER; i++)
    { /* the warps' sums, 256 columns at a time */
        __syncthreads();
        store8(&shared[warp][8 * lane], over_rows[i / PER][i % PER]);
        __syncthreads();
        float sum = 0;
        for (int w = 0; w < BACK_WARPS; w++) sum += shared[w][threadIdx.x];
        int64_t column = 8 * 32 * (i % PER) + threadIdx.x;
        if (WHOLE || column < width) part[i / PER * width + column] = sum;
    }
    float *first = a.total[0], *second = a.total[1],
          *third = a.total[2]; /* pointers in registers; a captured array would not be */
    add_parts(a.sums, gridDim.x, blockIdx.x, SUMS * width, 0, SUMS * width, a.tickets, [=](int64_t i, float sum) {
        if (i < width)
            first[i] = sum;
        else if (SUMS < 3 || i < 2 * width)
            second[i - width] = sum;
        else
            third[i - 2 * width] = sum;
    });
}

template <class T, bool VECTOR> __global__ void __launch_bounds__(WIDE_THREADS) norm_back_wide(norm_call<T> a)
{
    int64_t row = blockIdx.x, at = row * a.width, step = 8 * WIDE_THREADS;
    float mean = a.stats[2 * row], scale = a.stats[2 * row + 1], m = 0, mx = 0;
    UNROLL_BY(1) for (int pass = 0; pass < 2; pass++)
    {
        float sum = 0, product = 0;
        for (int64_t column = 8 * (int64_t)threadIdx.x; column < a.width; column += step) {
            float x[8], g[8], gain[8];
            int64_t n = a.width - column;
            get8<VECTOR>(a.x + at + column, n, x);
            get8<VECTOR>(a.dy + at + column, n, g);
            get8<VECTOR>(a.gain + column, n, gain);
            UNROLL for (int j = 0; j < 8; j++)
            {
                x[j] = (x[j] - mean) * scale;
                g[j] *= gain[j];
                sum += g[j];
                product += g[j] * x[j];
                g[j] = (g[j] - m - x[j] * mx) * scale;
            }
            if (pass) write_back<VECTOR>(a, at + column, n, g);
        }
        if (!pass)
            m = block_sum<WIDE_THREADS / 32>(sum) / (float)a.width,
            mx = block_sum<WIDE_THREADS / 32>(product) / (float)a.width;
    }
}

/* ---- sums over rows ---- */

/* Writes part blockIdx.y of the sums of 256 columns over rows; two sums (d gain, d bias) if there are statistics. */
template <class T, bool VECTOR, bool NORM> __global__ void __launch_bounds__(32 * BACK_WARPS) column_sum(norm_call<T> a)
{
    __align__(16) __shared__ float shared[BACK_WARPS][8 * 32];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int64_t first = (int64_t)blockIdx.x * 256, column = first + 8 * lane, n = a.width - column;
    int64_t from = a.rows * blockIdx.y / gridDim.y, to = a.rows * (blockIdx.y + 1) / gridDim.y;
    float sum[NORM ? 2 : 1][8];
    UNROLL for (int i = 0; i < (NORM ? 2 : 1); i++) UNROLL for (int j = 0; j < 8; j++) sum[i][j] = 0;
    if (n <= 0) to = from; /* no column of this lane */
    if (VECTOR) n = 8;
    UNROLL_BY(4) for (int64_t row = from + warp; row < to; row += BACK_WARPS)
    {
        float x[8], g[8];
        get8<VECTOR>(a.x + row * a.width + column, n, x);
        if (NORM) get8<VECTOR>(a.dy + row * a.width + column, n, g);
        float mean = NORM ? a.stats[2 * row] : 0.f, scale = NORM ? a.stats[2 * row + 1] : 1.f;
        UNROLL for (int j = 0; j < 8; j++)
        {
            sum[0][j] += NORM ? g[j] * ((x[j] - mean) * scale) : x[j];
            if (NORM) sum[NORM ? 1 : 0][j] += g[j];
        }
    }
    float *part = a.sums + (int64_t)blockIdx.y * (NORM ? 2 : 1) * a.width;
    UNROLL for (int i = 0; i < (NORM ? 2 : 1); i++)
    {
        __syncthreads();
        store8(&shared[warp][8 * lane], sum[i]);
        __syncthreads();
        float all = 0;
        for (int w = 0; w < BACK_WARPS; w++) all += shared[w][threadIdx.x];
        if (first + threadIdx.x < a.width) part[i * a.width + first + threadIdx.x] = all;
    }
    int64_t parts = gridDim.y, all = NORM ? 2 : 1, last = first + 256 < a.width ? first + 256 : a.width;
    unsigned *ticket = a.tickets + blockIdx.x * all * parts_tickets(parts); /* the tickets of these columns */
    UNROLL for (int i = 0; i < (NORM ? 2 : 1); i++)
    {
        float *to = a.total[i] - i * a.width;
        add_parts(a.sums, parts, blockIdx.y, all * a.width, i * a.width + first, i * a.width + last,
                  ticket + i * parts_tickets(parts), [=](int64_t k, float sum) { to[k] = sum; });
    }
}

/* ---- DROPOUT, DROPOUT_ADD: without and with x ---- */

template <class T, bool VECTOR> __global__ void __launch_bounds__(256) dropout_add(int64_t n, norm_call<T> a)
{
    int64_t step = 8 * (int64_t)gridDim.x * 256;
    for (int64_t at = 8 * ((int64_t)blockIdx.x * 256 + threadIdx.x); at < n; at += step) {
        float v[8], t[8];
        get_some8<VECTOR>(a.s + at, n - at, t);
        drop8(t, (uint64_t)at, a.drop, a.counter);
        if (a.x) get_some8<VECTOR>(a.x + at, n - at, v);
        UNROLL for (int j = 0; j < 8; j++) v[j] = a.x ? v[j] + t[j] : t[j];
        put_some8<VECTOR>(a.y + at, n - at, v);
    }
}

/* ---- launchers ---- */

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Calls KERNEL<T, PER, VECTOR, WHOLE, ...> by the width; widths that are no multiple of 8 have fewer kernels. */
#define OF_ROWS(KERNEL, per, warps, grid, ...)                                                                         \
    (a.width == 256 * (per) ? LAUNCH((KERNEL<T, per, true, true __VA_ARGS__>), grid, 32 * (warps), 0, a)               \
                            : LAUNCH((KERNEL<T, per, true, false __VA_ARGS__>), grid, 32 * (warps), 0, a))
#define BY_WIDTH(KERNEL, warps, grid, ...)                                                                             \
    (vector           ? a.width <= 256   ? OF_ROWS(KERNEL, 1, warps, grid, __VA_ARGS__)                                \
                        : a.width <= 512 ? OF_ROWS(KERNEL, 2, warps, grid, __VA_ARGS__)                                \
                                         : OF_ROWS(KERNEL, 4, warps, grid, __VA_ARGS__)                                \
               : a.width <= 256 ? LAUNCH((KERNEL<T, 1, false, false __VA_ARGS__>), grid, 32 * (warps), 0, a)           \
                      : LAUNCH((KERNEL<T, 4, false, false __VA_ARGS__>), grid, 32 * (warps), 0, a))

/* Chunks of rows in the backward pass: as many as a GPU runs at once, with at least one row per warp of a block. */
static int64_t norm_parts(int64_t rows, int64_t width)
{
    int64_t blocks = (width <= 256 ? 4 : width <= 512 ? 2 : 1) * (int64_t)gpu_multiprocessors();
    return least_of(up(rows, BACK_WARPS), blocks);
}
static int64_t column_parts(int64_t rows, int64_t width)
{
    int64_t wanted = up(4 * (int64_t)gpu_multiprocessors(), up(width, 256));
    return least_of(least_of(up(rows, 4 * BACK_WARPS), wanted), 65535);
}

template <class T> static int norm_of(norm_call<T> a)
{
    bool vector = a.width % 8 == 0 && aligned16(a.x, a.s, a.y, a.z, a.gain, a.bias);
    if (a.width <= IN_REGISTERS) {
        dim3 grid((unsigned)up(a.rows, WARPS));
        return BY_WIDTH(norm_rows, WARPS, grid, );
    }
    dim3 grid((unsigned)a.rows);
    return vector ? LAUNCH((norm_wide<T, true>), grid, WIDE_THREADS, 0, a)
                  : LAUNCH((norm_wide<T, false>), grid, WIDE_THREADS, 0, a);
}

/* One block per chunk of rows and 256 columns. Returns -1 if `sums` sums per block need more tickets than there are. */
static int column_grid(int64_t rows, int64_t width, int sums, dim3 *grid)
{
    int64_t parts = column_parts(rows, width), strips = up(width, 256);
    *grid = dim3((unsigned)strips, (unsigned)parts);
    return sums * strips * parts_tickets(parts) <= GPU_TICKETS
               ? 0
               : gpu_refuse("sums over rows: too many columns for the available tickets");
}

template <class T> static int column_sum_of(norm_call<T> a)
{
    dim3 grid;
    if (column_grid(a.rows, a.width, 1, &grid)) return -1;
    return a.width % 8 == 0 && aligned16(a.x) ? LAUNCH((column_sum<T, true, false>), grid, 32 * BACK_WARPS, 0, a)
                                              : LAUNCH((column_sum<T, false, false>), grid, 32 * BACK_WARPS, 0, a);
}

template <class T> static int norm_back_wide_of(norm_call<T> a, bool vector)
{
    dim3 grid((unsigned)a.rows), columns;
    if (column_grid(a.rows, a.width, 2, &columns)) return -1;
    int rc = vector ? LAUNCH((norm_back_wide<T, true>), grid, WIDE_THREADS, 0, a)
                    : LAUNCH((norm_back_wide<T, false>), grid, WIDE_THREADS, 0, a);
    if (rc) return rc;
    rc = vector ? LAUNCH((column_sum<T, true, true>), columns, 32 * BACK_WARPS, 0, a)
                : LAUNCH((column_sum<T, false, true>), columns, 32 * BACK_WARPS, 0, a);
    if (rc || !a.total[2]) return rc;
    a.x = a.z ? a.z : a.y, a.total[0] = a.total[2];
    return column_sum_of(a);
}

template <class T> static int norm_back_of(norm_call<T> a)
{
    bool vector = a.width % 8 == 0 && aligned16(a.x, a.dy, a.y, a.z, a.gain);
    dim3 grid((unsigned)norm_parts(a.rows, a.width));
    if (a.width > IN_REGISTERS) return norm_back_wide_of(a, vector);
    return a.total[2] ? BY_WIDTH(norm_back_rows, BACK_WARPS, grid, WITH 3)
                      : BY_WIDTH(norm_back_rows, BACK_WARPS, grid, WITH 2);
}

/* Calls name<T>(...) with the C type T of `type`: BF16 or F32. */
#define BY_TYPE(type, name, ...) ((type) == BF16 ? name<bf16>(__VA_ARGS__) : name<float>(__VA_ARGS__))

int cuda_NORM(const call *k, err *e)
{
    const view *x = &k->i.NORM.x;
    if (want_types(k, "rrff", "rrf", e) || want_count("norm", rows_of(x), e)) return -1;
    int rc = k->product ? norm_of_product(k, e) : 1;
    if (rc <= 0 || (k->product && cuda_LINEAR(k->product, e))) return rc < 0 ? -1 : rc;
    if (!count_of(x)) return launched(gpu_launched(), e);
    return launched(x->type == BF16 ? norm_of(norm_of_call<bf16>(k)) : norm_of(norm_of_call<float>(k)), e);
}

/* Bytes of the partial sums of three column sums. */
static size_t norm_sums(int64_t rows, int64_t width)
{
    int64_t parts = width <= IN_REGISTERS ? norm_parts(rows, width) : column_parts(rows, width);
    return (size_t)(parts * 3 * width) * sizeof(float);
}

template <class T> static int norm_back_typed(const call *k)
{
    const view *z = &k->i.NORM_BACK.z;
    int64_t rows = rows_of(z), width = width_of(z);
    norm_call<T> a = norm_call_of<T>(z->data, rows, width, dropping_of(k, k->a.NORM.p, k->a.NORM.place));
    a.dy = data_of(&k->i.NORM_BACK.dy), a.gain = data_of(&k->i.NORM_BACK.gain);
    a.stats = data_of(&k->i.NORM_BACK.stats), a.y = data_of(&k->o.NORM_BACK.dz);
    a.z = k->a.NORM.has_sublayer ? (T *)k->o.NORM_BACK.ds.data : nullptr;
    a.sums = (float *)gpu_scratch(SCRATCH_SUMS, norm_sums(rows, width));
    a.total[0] = data_of(&k->o.NORM_BACK.d_gain), a.total[1] = data_of(&k->o.NORM_BACK.d_bias),
    a.total[2] = data_of(&k->o.NORM_BACK.sums);
    return norm_back_of(a);
}

int cuda_NORM_BACK(const call *k, err *e)
{
    const view *z = &k->i.NORM_BACK.z, *sums[] = {&k->o.NORM_BACK.d_gain, &k->o.NORM_BACK.d_bias, &k->o.NORM_BACK.sums};
    if (want_types(k, "rffr", "rrfff", e) || want_count("gradient of norm", rows_of(z), e)) return -1;
    if (count_of(z)) return launched(BY_TYPE(z->type, norm_back_typed, k), e);
    for (const view *v : sums)
        if (v->data) gpu_zero(v->data, bytes_of(v));
    return launched(gpu_launched(), e);
}

/* x: NULL in DROPOUT. */
template <class T> static int dropout_typed(const call *k, const view *x, const view *dropped)
{
    int64_t n = count_of(dropped);
    norm_call<T> a = norm_call_of<T>(x ? x->data : nullptr, 0, 0, dropping_of(k, k->a.DROPOUT.p, k->a.DROPOUT.place));
    a.s = data_of(dropped), a.y = (T *)k->out[0].data;
    dim3 grid((unsigned)least_of(up(n, 8 * 256), 8 * (int64_t)gpu_multiprocessors()));
    return aligned16(a.x, a.s, a.y) ? LAUNCH((dropout_add<T, true>), grid, 256, 0, n, a)
                                    : LAUNCH((dropout_add<T, false>), grid, 256, 0, n, a);
}

int cuda_DROPOUT(const call *k, err *e)
{
    const view *x = &k->i.DROPOUT.x, *y = &k->o.DROPOUT.y;
    if (!is_row_type(y->type) || x->type != y->type) return no_kernel(k, e);
    if (!dropping_of(k, k->a.DROPOUT.p, k->a.DROPOUT.place).least) return cuda_CAST(k, e); /* without dropout: a copy */
    return launched(count_of(y) ? BY_TYPE(x->type, dropout_typed, k, nullptr, x) : gpu_launched(), e);
}

int cuda_DROPOUT_ADD(const call *k, err *e)
{
    const view *x = &k->i.DROPOUT_ADD.x, *s = &k->i.DROPOUT_ADD.s;
    if (want_types(k, "rr", "r", e)) return -1;
    return launched(count_of(x) ? BY_TYPE(x->type, dropout_typed, k, x, s) : gpu_launched(), e);
}

template <class T> static int column_sum_typed(const view *x, float *y)
{
    int64_t rows = rows_of(x), width = width_of(x);
    norm_call<T> a = norm_call_of<T>(x->data, rows, width, gpu_dropping());
    a.sums = (float *)gpu_scratch(SCRATCH_SUMS, (size_t)(column_parts(rows, width) * width) * sizeof(float));
    a.total[0] = y;
    return column_sum_of(a);
}

int cuda_COLUMN_SUM(const call *k, err *e)
{
    const view *x = &k->i.COLUMN_SUM.x, *y = &k->o.COLUMN_SUM.y;
    if (want_types(k, "r", "f", e)) return -1;
    if (count_of(x)) return launched(BY_TYPE(x->type, column_sum_typed, x, data_of(y)), e);
    gpu_zero(y->data, bytes_of(y));
    return launched(gpu_launched(), e);
}
