/* select.cu - log-sum-exp and the k largest of rows of logits.
 *
 * A block has one row and reads it once. Every thread keeps the sum and the best choice of its own part: the ids i, i +
 * threads ... in pieces of 16 bytes. Then, k times, the block writes the best choice of all parts, and a warp finds the
 * next best of the part that it came from. Choices are compared by a unique integer (rank), so ties are ordered by id
 * and the order of threads does not matter.
 *
 * Merging: a warp of the block that finishes a sentence's last row merges the sentence. Lane h has the sorted choices
 * of row h; repeatedly, the best of the lanes' first choices is written. */
#include "tensor/cuda/select.h"
#include "tensor/cuda/parts.h"
#include "tensor/cuda/vec8.h"

enum { THREADS = 512, FEW_THREADS = 128 };

/* Larger for a likelier choice; with equal logits, for the lower id. Never 0. */
DEVICE uint64_t rank_of(float logit, int id)
{
    unsigned u = __float_as_uint(logit + 0.f); /* -0 becomes 0 */
    u = u & 0x80000000u ? ~u : u | 0x80000000u;
    return (uint64_t)u << 32 | ~(unsigned)id;
}
DEVICE gpu_choice choice_of(uint64_t rank)
{
    unsigned u = (unsigned)(rank >> 32);
    u = u & 0x80000000u ? u & 0x7fffffffu : ~u;
    return rank ? gpu_choice{__uint_as_float(u), (int32_t) ~(unsigned)rank} : gpu_choice{-INFINITY, -1};
}
DEVICE uint64_t warp_best(uint64_t x)
{
    return warp_join(x, [](uint64_t a, uint64_t b) { return b > a ? b : a; });
}

struct row_choosing {
    const uint32_t *line; /* the row's mask, or NULL */
    int v, never, nor;
};
/* The rank of a choice; 0 if the choice is not allowed. */
DEVICE uint64_t rank_in(const row_choosing &c, float logit, int id)
{
    bool may = logit > -INFINITY && id != c.never && id != c.nor && (!c.line || c.line[id >> 5] >> (id & 31) & 1);
    return may ? rank_of(logit, id) : 0;
}

/* The best choice after `last` in one thread's part, found by the thread's whole warp. */
template <class T, int N> DEVICE uint64_t next_best(const T *x, const row_choosing &c, uint64_t last, int thread)
{
    uint64_t best = 0;
    int lane = threadIdx.x & 31;
    for (int at = (thread + lane * (int)blockDim.x) * N; at < c.v; at += 32 * (int)blockDim.x * N)
        UNROLL for (int i = 0; i < N; i++)
        {
            uint64_t r = rank_in(c, load(x + at + i), at + i);
            if (r < last && r > best) best = r;
        }
    return warp_best(best);
}

/* Finds the k best of a row of logits x, and *log_sum = log sum exp x. N divides the row's length and its start. */
template <class T, int N>
DEVICE void select_row(const T *x, const row_choosing &c, int k, gpu_choice *out, double *log_sum)
{
    __shared__ uint64_t bests[32];
    __shared__ float tops[32];
    __shared__ double sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (int)blockDim.x / 32;
    float top = LOWEST, sum = 0;
    uint64_t mine = 0;
    for (int at = (int)threadIdx.x * N; at < c.v; at += (int)blockDim.x * N) {
        float y[N], high = top, part = 0;
        load_lanes<N>(x + at, y);
        UNROLL for (int i = 0; i < N; i++) high = fmaxf(high, y[i]);
        if (high > top) sum *= __expf(top - high), top = high;
        UNROLL for (int i = 0; i < N; i++)
        {
            part += __expf(y[i] - top);
            uint64_t r = rank_in(c, y[i], at + i);
            mine = r > mine ? r : mine;
        }
        sum += part;
    }

    float high = warp_max(top);
    uint64_t warps_best = warp_best(mine);
    if (lane == 0) tops[warp] = high, bests[warp] = warps_best;
    __syncthreads();
    high = warp_max(lane < warps ? tops[lane] : LOWEST);
    double all = warp_sum((double)(sum * __expf(top - high)));
    if (lane == 0) sums[warp] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;
        for (int w = 0; w < warps; w++) total += sums[w];
        *log_sum = (double)high + log(total);
    }

    for (int n = 0; n < k; n++) {
        uint64_t found = warp_best(lane < warps ? bests[lane] : 0);
        gpu_choice choice = choice_of(found);
        if (threadIdx.x == 0) out[n] = choice;
        __syncthreads(); /* all threads have read the best */
        int thread = choice.id / N % (int)blockDim.x;
        if (found && warp == thread / 32) {
            uint64_t next = next_best<T, N>(x, c, found, thread);
            if (lane == thread % 32) mine = next;
            warps_best = warp_best(mine);
            if (lane == 0) bests[warp] = warps_best;
        }
        __syncthreads();
    }
}

/* Larger for a larger number; never 0. */
DEVICE uint64_t rank_of_sum(double x)
{
    uint64_t u = (uint64_t)__double_as_longlong(x + 0.); /* -0 becomes 0 */
    return u >> 63 ? ~u : u | 1ull << 63;
}

/* Merges a sentence's continuations from its rows' results in the second-level cache. By a whole warp. */
DEVICE void merge(const choosing &all, int64_t sentence, const gpu_choice *best, const double *log_sum,
                  continuation *out)
{
    int lane = threadIdx.x & 31, next = 0, beam = (int)all.beam, wanted = (int)all.wanted, k = (int)all.k;
    int64_t row = sentence * beam + lane;
    bool mine = lane < beam && all.log_prob[row] > -INFINITY;
    double so_far = mine ? all.log_prob[row] : 0, sum = mine ? __ldcg(log_sum + row) : 0;
    bool bad = __any_sync(0xffffffffu, sum != sum);
    out += sentence * wanted;
    for (int n = 0; n < wanted; n++) {
        gpu_choice c = choice_of(0);
        if (mine && next < k) {
            const gpu_choice *at = best + row * k + next;
            c = {__ldcg(&at->logit), __ldcg(&at->id)};
        }
        double log_prob_then = so_far + ((double)c.logit - sum);
        uint64_t rank = c.id >= 0 && !bad ? rank_of_sum(log_prob_then) : 0, top = warp_best(rank);
        int parent = top ? __ffs(__ballot_sync(0xffffffffu, rank == top)) - 1 : -1;
        if (lane == parent) {
            out[n] = {log_prob_then, parent, c.id};
            next++;
        }
        if (parent < 0 && lane == 0) out[n] = {bad ? NAN : -INFINITY, -1, -1};
    }
}

/* One block per row, from row `first` on. */
template <class T, int N>
__global__ void __launch_bounds__(THREADS, 3)
    select_best(int64_t first, const T *logits, choosing all, int never, int nor, gpu_choice *best, double *log_sum,
                continuation *out, unsigned *tickets)
{
    int64_t row = first + blockIdx.x;
    int k = (int)all.k;
    gpu_choice *own = best + row * k;
    if (all.log_prob && all.log_prob[row] == -INFINITY) {
        if ((int)threadIdx.x < k) own[threadIdx.x] = choice_of(0);
        if (threadIdx.x == 0) log_sum[row] = 0;
    } else {
        int line = all.line ? all.line_of[row] : -1;
        row_choosing c = {line < 0 ? nullptr : all.line + line * ((all.v + 31) / 32), (int)all.v, never, nor};
        select_row<T, N>(logits + row * all.v, c, k, own, log_sum + row);
    }
    if (!out || !last_to_come(tickets + blockIdx.x / (int)all.beam, all.beam)) return;
    if (threadIdx.x < 32) merge(all, row / all.beam, best, log_sum, out);
}

template <class T, int N>
static int run(const choosing *c, const void *logits, const int32_t never[2], gpu_choice *best, double *log_sum,
               continuation *out)
{
    int block = c->v > 8 * FEW_THREADS * N ? THREADS : FEW_THREADS;
    int64_t rows = c->sentences * c->beam, most = out ? GPU_TICKETS * c->beam : rows; /* a ticket per sentence */
    for (int64_t first = 0; first < rows; first += most) {
        dim3 grid((unsigned)(rows - first < most ? rows - first : most));
        if (LAUNCH((select_best<T, N>), grid, dim3((unsigned)block), 0, first, (const T *)logits, *c, (int)never[0],
                   (int)never[1], best, log_sum, out, gpu_tickets()))
            return -1;
    }
    return 0;
}

extern "C" int gpu_select_best(dtype type, const choosing *c, const void *logits, const int32_t never[2],
                               gpu_choice *best, double *log_sum, continuation *out)
{
    if (c->k < 0 || c->k > SELECT_MOST) return gpu_refuse("selection of more than 64 tokens per row");
    if (c->v < 1 || c->v > 1 << 30) return gpu_refuse("selection from no tokens, or from more than 2^30");
    if (out && (c->beam < 1 || c->beam > SELECT_BEAM))
        return gpu_refuse("choices of more than 32 hypotheses of a sentence");
    bool whole = (uintptr_t)logits % 16 == 0;
    if (type == F32)
        return whole && c->v % 4 == 0 ? run<float, 4>(c, logits, never, best, log_sum, out)
                                      : run<float, 1>(c, logits, never, best, log_sum, out);
    return whole && c->v % 8 == 0 ? run<bf16, 8>(c, logits, never, best, log_sum, out)
                                  : run<bf16, 1>(c, logits, never, best, log_sum, out);
}
