/* op.h - the operations, a row each, and the specification of their kernels, for writers of a backend.
 *
 * Types. Generic operations (ADD .. MASK, TO_FLOAT, TRANSPOSE ...) exist for F32 and F64; ADD, CAST, DROPOUT, RESHAPE
 *     also for BF16. Rows operations (HEADS, MERGE, LINEAR .. CE) exist for F32, F64 and BF16 rows; then parameters,
 *     their gradients, statistics and losses are F32 (F64 when rows are F64). Sums accumulate in F32 at least (F64 for
 *     F64). HEADS reads rows of any type and writes F32 or F64; MERGE reads F32 or F64 and writes rows of any type.
 * Determinism. The same call gives the same bits for a given number of threads: sums in a fixed order, no atomics.
 * Aliasing. LINEAR_DX and EMBED_TOKENS_BACK write over base, if it is given, and CE's d_logits lies over logits.
 * Dummy rows. Rows past the last offset belong to no sentence: ATTEND and MERGE write zeros there.
 *
 * DROPOUT family. The element with flat index i at dropout `place` is kept if its 16-bit word is >= floor(p *
 *     65536): words = philox({(uint32_t)(i / 8), (uint32_t)(i / 8 >> 32), (uint32_t)place, (uint32_t)step}, {seed low,
 *     seed high}), word number i % 8 = 16 bits of words[(i % 8) / 2], low half first. Kept values are divided by 1 - p.
 *     The flat index is the element's in its own tensor (row * width + column); in ATTEND it is
 *     (row * H + head) * ATTEND_KEYS + key, independent of the batch's times; with p > 0 no sentence has more than
 *     ATTEND_KEYS keys. No-op when not training or p == 0. */
#ifndef ABLATE_OP_H
#define ABLATE_OP_H
#include "api/ab_plugin.h"
#include <stdbool.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum { F32, F64, BF16, I32 } dtype; /* numbered as in ab_view.dtype */
size_t dtype_size(dtype t);
const char *dtype_name(dtype t);

enum { WORKS_IN_PLACE = 1 };
/* clang-format off */
/* One row per operation: name, inputs, outputs, the backends that have a kernel (cpu_NAME, cuda_NAME), whether the
 * output may take the storage of the first input, attributes, and what it does to which shapes: R = rows of packed
 * tokens, [a,b] = [1,1,a,b]. Operands and attributes are read by name: v.i.LINEAR.w, v.o.NORM.stats, v.a.LINEAR.relu.
 * ATTR_OF: the attributes of another operation. Attributes are int64_t or double, so that no byte of them is unused.
 * The builder has the shape rule and the gradient (ops_*.c); call_flops (backend.h) counts its operations. */
#define OPS(X)                                                                                                         \
    X(NONE, NO_IN, OUT(y), NO_KERNEL, 0, NO_ATTR, "the failed tensor")                                                 \
    X(INPUT, NO_IN, OUT(y), NO_KERNEL, 0, NO_ATTR, "set before each run")                                              \
    X(PARAM, NO_IN, OUT(y), NO_KERNEL, 0, NO_ATTR, "a learned value")                                                  \
    X(CONST, NO_IN, OUT(y), NO_KERNEL, 0, NO_ATTR, "fixed when the tape was traced")                                   \
    X(STATE, NO_IN, OUT(y), NO_KERNEL, 0, NO_ATTR, "kept from one decoding step to the next")                          \
    X(PART, IN(of), OUT(y), NO_KERNEL, 0, ATTR(int64_t output;), "another output of the previous node")                \
    X(ADD, IN(a, b), OUT(y), ON_BOTH, WORKS_IN_PLACE, NO_ATTR, "a + b, broadcast")                                     \
    X(SUB, IN(a, b), OUT(y), ON_BOTH, WORKS_IN_PLACE, NO_ATTR, "a - b, broadcast")                                     \
    X(MUL, IN(a, b), OUT(y), ON_BOTH, WORKS_IN_PLACE, NO_ATTR, "a * b, broadcast")                                     \
    X(DIV, IN(a, b), OUT(y), ON_BOTH, 0, NO_ATTR, "a / b, broadcast")                                                  \
    X(MINIMUM, IN(a, b), OUT(y), ON_BOTH, 0, NO_ATTR, "the smaller, broadcast")                                        \
    X(LESS_THAN, IN(a, b), OUT(y), ON_BOTH, 0, NO_ATTR, "a < b as 0 or 1, broadcast")                                  \
    X(MUL_SCALAR, IN(a), OUT(y), ON_BOTH, WORKS_IN_PLACE, ATTR(double by;), "by * a")                                  \
    X(ADD_SCALAR, IN(a), OUT(y), ON_BOTH, WORKS_IN_PLACE, ATTR_OF(MUL_SCALAR), "a + by")                               \
    X(MAP, IN(x), OUT(y), ON_BOTH, WORKS_IN_PLACE, ATTR(int64_t function;), "elementwise function (ab_fn)")            \
    X(MAP_BACK, IN(x, y, dy), OUT(y), ON_BOTH, 0, ATTR_OF(MAP), "gradient of MAP")                                     \
    X(WHERE, IN(condition, a, b), OUT(y), ON_BOTH, 0, NO_ATTR,                                                         \
      "a where the condition is not 0, else b, broadcast: the other one does not matter, not even as NaN")             \
    X(CAST, IN(x), OUT(y), ON_BOTH, 0, NO_ATTR, "the same numbers in another type")                                    \
    X(DROPOUT, IN(x), OUT(y), ON_BOTH, WORKS_IN_PLACE, ATTR(double p; int64_t place;),                                 \
      "keep with probability 1 - p and divide by it (the family above)")                                               \
    X(SUM_TO, IN(x), OUT(y), ON_BOTH, 0, NO_ATTR,                                                                      \
      "sums over the axes in which the output has length 1; the others are as long as x's")                            \
    X(BROADCAST_TO, IN(x), OUT(y), ON_BOTH, 0, NO_ATTR, "repeats along the axes in which the input has length 1")      \
    X(SOFTMAX, IN(x), OUT(y), ON_BOTH, WORKS_IN_PLACE, NO_ATTR, "over the last axis")                                  \
    X(SOFTMAX_BACK, IN(y, dy), OUT(y), ON_BOTH, 0, NO_ATTR, "gradient of SOFTMAX")                                     \
    X(UNIT, IN(x), OUT(y, factor), ON_CPU, 0, ATTR(double eps;),                                                       \
      "x times factor = 1 / sqrt(sum of squares over the last axis + eps) [a,b,T,1]")                                  \
    X(UNIT_BACK, IN(y, factor, dy), OUT(dx), ON_CPU, 0, NO_ATTR, "gradient of UNIT")                                   \
    X(MATMUL, IN(a, b), OUT(y), ON_BOTH, 0, ATTR(int64_t transpose_a, transpose_b;),                                   \
      "product of the last two axes, of a and b or their transposes")                                                  \
    X(RESHAPE, IN(x), OUT(y), NO_KERNEL, 0, NO_ATTR, "the same storage with other axes")                               \
    X(TRANSPOSE, IN(x), OUT(y), ON_BOTH, 0, ATTR(int64_t axis1, axis2;), "two axes, as -1 .. -4, exchanged")           \
    X(SLICE, IN(x), OUT(y), ON_BOTH, 0, ATTR(int64_t axis, from;), "an axis, as -1 .. -4, from an index")              \
    X(PAD, IN(x), OUT(y), ON_BOTH, 0, ATTR_OF(SLICE), "adjoint of SLICE: x at that index, padded with zeros")          \
    X(CONCAT, IN(a, b), OUT(y), ON_BOTH, 0, ATTR(int64_t axis;), "along an axis")                                      \
    X(ROTATE_HALF, IN(x), OUT(y), ON_BOTH, 0, NO_ATTR, "(x1,x2) -> (-x2,x1) on the halves of the last axis")           \
    X(EMBEDDING, IN(table, ids), OUT(y), ON_BOTH, 0, NO_ATTR, "table [1,1,n,d], ids [1,1,1,T] -> [1,1,T,d]")           \
    X(EMBEDDING_BACK, IN(dy, ids), OUT(y), ON_BOTH, 0, NO_ATTR, "dy [1,1,T,d] summed by id -> [1,1,n,d]")              \
    X(TO_FLOAT, IN(ids), OUT(y), ON_BOTH, 0, NO_ATTR, "ids as numbers")                                                \
    X(RELATIVE_POSITION, IN(q, k), OUT(y), ON_BOTH, 0, NO_ATTR,                                                        \
      "key position minus query position: ids [1,1,1,Tq], [1,1,1,Tk] -> [1,1,Tq,Tk] (F32/F64)")                        \
    X(CLIPPED_RELATIVE_POSITION, IN(q, k), OUT(y), ON_BOTH, 0, ATTR(int64_t clip;),                                    \
      "the same clipped, as an id (I32) in 0 .. 2 clip")                                                               \
    X(GATHER, IN(x, ids), OUT(y), ON_BOTH, 0, NO_ATTR,                                                                 \
      "y[..,q,k] = x[..,q,ids[q,k]]: x [a,b,Tq,n], ids [a or 1,b or 1,Tq,Tk] -> [a,b,Tq,Tk]")                          \
    X(SCATTER_ADD, IN(p, ids), OUT(y), ON_BOTH, 0, ATTR(int64_t n;),                                                   \
      "adjoint of GATHER: p [a,b,Tq,Tk], ids likewise -> [a,b,Tq,n]")                                                  \
    X(TOP_K, IN(x), OUT(y), ON_BOTH, 0, ATTR(int64_t k, smallest;),                                                    \
      "x [..,n] -> ids [..,k]: indices of the k largest (smallest) numbers of each line, in order; equal "             \
      "numbers by index; NaN comes before all numbers")                                                                \
    X(TO_IDS, IN(x), OUT(y), ON_BOTH, 0,                                                                               \
      NO_ATTR, "the nearest whole number, ties to even; -1 if it does not fit an int32")                               \
    X(MAX, IN(x), OUT(y), ON_CPU, 0, NO_ATTR, "the largest of the last axis [..,1]; NaN if there is one")              \
    X(MAX_BACK, IN(x, y, dy), OUT(dx), ON_CPU, 0, NO_ATTR, "dy at the first place of y in its line of x, else 0")      \
    X(SOLVE_LOWER, IN(l, b), OUT(y), ON_CPU, 0, ATTR(int64_t transposed;),                                             \
      "l [a,b,n,n], b [a,b,n,m] -> (1 + L)^-1 b, L the part of l below the diagonal; transposed: (1 + L')^-1 b")       \
    X(QR, IN(a), OUT(y), ON_CPU, 0, NO_ATTR,                                                                           \
      "Q of a = Q R: [..,m,n], m >= n, by Householder's reflections in double precision; R's diagonal >= 0; a column " \
      "that depends on those before it has no reflection, so that zeros give the identity")                           \
    X(RANDOM, NO_IN, OUT(y), ON_BOTH, 0, ATTR(int64_t place, normal;),                                                 \
      "element i comes from the words w of philox({i / 4, place, step}, seed), counted as in DROPOUT; u[j] = "         \
      "(w[j] / 512 + 1/2) / 2^23; uniform: u[i % 4]; normal, Box-Muller from the pair of i: sqrt(-2 ln u[0]) "         \
      "times cos(2 pi u[1]) for its first element, sin for its second")                                                \
    X(MASK, IN(s, q_positions, k_positions, k_lengths), OUT(y), ON_BOTH, 0, ATTR(int64_t causal;),                     \
      "s [B,H,Tq,Tk], ids [Tq], [Tk], [1,1,1,B]: s where the key is visible; -inf where key index k >= "               \
      "k_lengths[b], or causal and k_positions[k] > q_positions[q]")                                                   \
    X(HEADS, IN(rows, offsets), OUT(y), ON_BOTH, 0, ATTR(int64_t column, heads, width, time;),                         \
      "rows [R,n], offset ids [1,1,1,B+1] -> [B,H,T,d]: y[b,h,t,j] = rows[offsets[b] + t][column + h d + j], 0 "       \
      "when t >= length")                                                                                              \
    X(MERGE, IN(x, offsets), OUT(y), ON_BOTH, 0, ATTR_OF(HEADS),                                                       \
      "the reverse, [B,H,T,d] -> rows [R,n]: columns outside column .. column + H d and rows without a token "         \
      "are 0")                                                                                                         \
    X(ROTATE, IN(rows, cosine, sine, offsets), OUT(y), ON_CPU, WORKS_IN_PLACE,                                         \
      ATTR(int64_t column, heads, width, adjoint;),                                                                    \
      "rows [R,n], cos, sin [1,1,T,d] (F32/F64) -> [R,n]: in the columns column .. column + heads d, d = width, "      \
      "the halves (x1, x2) of each head of a sentence's row t become (x1 cos1 - x2 sin1, x2 cos2 + x1 sin2); "         \
      "adjoint: (x1 cos1 + x2 sin2, x2 cos2 - x1 sin1). All other columns are copied")                                 \
    X(LINEAR, IN(x, w, b), OUT(y), ON_BOTH, 0, ATTR(int64_t transposed, relu, padding;),                               \
      "x [R,K], w [K,N] (transposed: [N,K]), b [1,1,1,N] or none -> x w + b [R,N]; relu: max(0, .). "                  \
      "batch_invariant: a row's bits must not depend on R (blocks of one fixed size). padding: see padding.h")         \
    X(LINEAR_DX, IN(dy, w, base, y), OUT(y), ON_BOTH, 0, ATTR_OF(LINEAR),                                              \
      "dy w' (+ base, in place): dy [R,N], base [R,K] or none, y [R,K] or none, output of the ReLU to "                \
      "differentiate -> [R,K], 0 where y is not > 0")                                                                  \
    X(LINEAR_DW, IN(x, dy), OUT(dw, db), ON_BOTH, 0, ATTR_OF(LINEAR),                                                  \
      "x' dy (transposed: dy' x): x [R,K], dy [R,N] -> dw as w, F32/F64; db [N], sums of dy over rows (data "          \
      "NULL: skip)")                                                                                                   \
    X(COLUMN_SUM, IN(x), OUT(y), ON_BOTH, 0, NO_ATTR, "sum over rows: [R,N] -> [1,1,1,N]")                             \
    X(RELU_BACK, IN(y, dy), OUT(y), ON_BOTH, WORKS_IN_PLACE, NO_ATTR, "dy where y > 0")                                \
    X(EMBED_TOKENS, IN(table, ids, sorted, positions, position_ids), OUT(y), ON_BOTH, 0,                               \
      ATTR(double scale, p; int64_t place;),                                                                           \
      "scale * row of table [V,d] by id [1,1,1,R] -> [R,d], 0 where id < 0; sorted or none; on a device also "         \
      "positions [n,d] and their ids [R]: adds their rows, then dropout of the sum")                                   \
    X(EMBED_TOKENS_BACK, IN(base, dy, ids, sorted), OUT(y), ON_BOTH, 0, ATTR_OF(EMBED_TOKENS),                         \
      "base [V,d] + scale * rows of dy [R,d] summed by id, in place; sorted [2,R]: rows in the order of their "        \
      "ids, then these ids, ids outside the table last. For devices; none on the CPU")                                 \
    X(NORM, IN(x, s, gain, bias), OUT(y, z, stats), ON_BOTH, 0, ATTR(double p, eps; int64_t place, has_sublayer;),     \
      "LN(x + dropout(s)): x [R,d], s [R,d] or none, gain [d], bias [d] -> y [R,d], z = x + dropout(s), stats "        \
      "[R,2] = mean, 1/sqrt(var + eps); without s z is not written (data may be NULL)")                                \
    X(NORM_BACK, IN(z, stats, gain, dy), OUT(dz, ds, d_gain, d_bias, sums), ON_BOTH, 0, ATTR_OF(NORM),                 \
      "z (x when there was no s) -> dz [R,d], ds [R,d] (not written if p == 0 or no s: data NULL), d_gain [d], "       \
      "d_bias [d], sums of ds (of dz, if ds is not written) over rows [d] (data NULL: skip)")                          \
    X(DROPOUT_ADD, IN(x, s), OUT(y), ON_BOTH, WORKS_IN_PLACE, ATTR_OF(DROPOUT), "x + dropout(s)")                      \
    X(ATTEND, IN(q, k, v, q_offsets, k_offsets), OUT(y, lse), ON_BOTH, 0,                                              \
      ATTR(double p, scale; int64_t place, q_column, k_column, v_column, heads, d_k, d_v, causal, most_keys,           \
      most_queries, maps;), "fused attention on packed rows: q [R,nq], k [S,nk], v [S,nv] from their columns, "        \
      "offsets [B+1] of each side -> y [R, H d_v], lse [R,H] (log-sum-exp, F32/F64); causal: query t of a sentence "   \
      "sees keys 0 .. t; most_keys, most_queries: upper bounds of a sentence")                                         \
    X(ATTEND_BACK, IN(q, k, v, q_offsets, k_offsets, y, lse, dy), OUT(dq, dkv), ON_BOTH, 0, ATTR_OF(ATTEND),           \
      "-> dq, rows of q's tensor [R,nq], and dkv, rows of k's and v's [S,nk] (data NULL when q, k and v are "          \
      "columns of one tensor: then dq has them all). All columns are written; rows without a token are 0")             \
    X(ATTEND_PROGRAM, IN(q, k, v, q_offsets, k_offsets, ids, leaf[4]), OUT(y, lse, z), ON_BOTH, 0, ATTR_OF(ATTEND),    \
      "ATTEND with a score program (score.h): ids [1,1,Tq,Tk] or none, leaves; most_keys, most_queries: Tk, Tq "       \
      "-> y, lse, z [B,H,Tq,n] = a query's weights after dropout, summed by ids (data NULL: skip), 0 for "             \
      "queries without a token. maps > 1: the weights are a sum of so many maps (score.h), each of which has H "       \
      "d_k columns of q and of k, behind those of the map before it -> lse [R, maps H]; z is not made")                \
    X(ATTEND_PROGRAM_BACK, IN(q, k, v, q_offsets, k_offsets, ids, leaf[4], lse, dy, dz, y, z),                         \
      OUT(dq, dkv, dv, d_leaf[4]), ON_BOTH, 0, ATTR_OF(ATTEND),                                                        \
      "the same inputs, dz or none, z or none -> as ATTEND_BACK, dv where values are columns of another tensor than "  \
      "keys (then dkv is of keys alone; else data NULL), and a gradient per leaf (data NULL: skip)")                   \
    X(ATTEND_STEP, IN(qkv, cache, ancestors, time), OUT(y), ON_BOTH, 0, ATTR_OF(ATTEND),                               \
      "one decoding step of causal attention: qkv rows [R, H (2 d_k + d_v)] (columns q, k, v), cache [1,R,cap,H "      \
      "(d_k + d_v)] of the compute type, ancestors [1,1,R,cap], time [1,1,1,1]: writes k and v of row r to "           \
      "cache[r][t]; y[r] attends over cache[ancestors[r][j]][j], j < t, and its own -> [R, H d_v]. On the CPU time "   \
      "may be [1,1,1,R], one for each row: all are written before any attends, so rows may be ancestors of others")    \
    X(ATTEND_PROGRAM_STEP, IN(qkv, cache, ancestors, time, none, ids, leaf[4]), OUT(y, none, z), ON_BOTH, 0,           \
      ATTR_OF(ATTEND),                                                                                                 \
      "the same with a score program: ids [1,1,1,T] or none, leaves of R sentences of one query and T >= t + 1 "       \
      "keys -> y, none, z [R,H,1,n] as ATTEND_PROGRAM")                                                                \
    X(KV_CACHE_APPEND, IN(x, cache, ancestors, time), OUT(y), ON_BOTH, 0, NO_ATTR,                                     \
      "x [R,H,1,d] written to cache [1,R,cap,H d] F32/F64 at time t; all of the past -> [R,H,T,d], T >= t + 1, "       \
      "zeros past t")                                                                                                  \
    X(CACHE_REORDER, IN(state, parents), OUT(y), ON_BOTH, 0, NO_ATTR,                                                  \
      "a carried state [R,..], rows of the first axis taken from parents [1,1,1,R]")                                   \
    X(STATE_WRITE, IN(state, value), OUT(y), ON_BOTH, 0, NO_ATTR, "writes value to state")                             \
    X(RECURRENT, IN(x, u, offsets), OUT(y, kept), ON_CPU, 0, ATTR(int64_t lstm, backwards;),                           \
      "x rows [R,3d], u [d,3d], offsets [1,1,1,B+1] -> y [R,d]: y_t = n + z (h - n), h = y of the previous row (next, "\
      "if backwards) in its sentence or 0, q = h u, z, r = sigmoid(x + q) of columns z, r, n = tanh(x + r q). lstm: x "\
      "[R,4d], u [d,4d], y_t = o tanh(m_t), m_t = f m + i g, i, f, o = sigmoid(x + q), g = tanh(x + q) of columns i, " \
      "f, o, g. kept [R,4d] = z, r, n, q of n (lstm: [R,5d] = i, f, o, g, m). Rows without a sentence: 0")             \
    X(RECURRENT_BACK, IN(u, offsets, y, kept, dy), OUT(dx, before, dq), ON_CPU, 0, ATTR_OF(RECURRENT),                 \
      "dy [R,d] -> dx, before = h [R,d], dq as x (lstm: data NULL, dx is it): before' dq is the gradient of u")        \
    X(NEIGHBOURS, IN(x, offsets), OUT(y), ON_CPU, 0, ATTR(int64_t before, behind;),                                    \
      "x rows [R,n], offsets -> y [R,(before + 1 + behind) n] = x_{t - before} .. x_{t + behind} side by side, 0 "     \
      "outside the sentence. Rows without a sentence: 0")                                                              \
    X(NEIGHBOURS_BACK, IN(dy, offsets), OUT(dx), ON_CPU, 0, ATTR_OF(NEIGHBOURS), "the gradient of NEIGHBOURS")         \
    X(DEPTHWISE_CONV, IN(x, w, offsets), OUT(y), ON_CPU, 0, ATTR(int64_t before;),                                     \
      "x rows [R,n], w [taps,n] (F32/F64), offsets -> y_t = sum over taps i of x_{t + i - before} w_i, of each "       \
      "column by itself; x is 0 outside the sentence. Rows without a sentence: 0")                                     \
    X(DEPTHWISE_CONV_BACK, IN(x, w, offsets, dy), OUT(dx, dw), ON_CPU, 0, ATTR_OF(DEPTHWISE_CONV),                     \
      "dx [R,n] (0 in rows without a sentence), dw (F32/F64)")                                                         \
    X(LONG_CONV, IN(x, h, offsets), OUT(y), ON_CPU, 0, ATTR(int64_t backwards;),                                       \
      "x rows [R,n], h [L,n], offsets -> y_t = sum over i of h_i x_{t-i} (backwards: x_{t+i}), of each column by "     \
      "itself; x is 0 outside the sentence. Rows without a sentence: 0")                                               \
    X(LONG_CONV_FILTER, IN(x, dy, offsets), OUT(dh), ON_CPU, 0, ATTR_OF(LONG_CONV),                                    \
      "its gradient: dh_i = sum over t of dy_t x_{t-i} (backwards: x_{t+i}) -> [L,n]")                                 \
    X(DELTA_SCAN, IN(q, k, v, beta, decay), OUT(y, w, states), ON_CPU, 0, ATTR(int64_t chunk, backwards;),             \
      "q, k [B,H,T,d_k], v [B,H,T,d_v], beta and decay [B,H,T,1] or none: y_t = q_t S_t, S_t = exp(decay_t) S + "      \
      "k_t' beta_t w_t, w_t = v_t - exp(decay_t) k_t S, S = S_{t-1} [d_k,d_v], at first 0 (without decay exp is 1, "   \
      "without beta S_t = exp(decay_t) S + k_t' v_t); backwards: from T - 1 down. -> y [B,H,T,d_v], w likewise (data " \
      "NULL without beta), states [B,H,chunks d_k,d_v] = S before each `chunk` positions (counted from 0)")            \
    X(DELTA_SCAN_BACK, IN(q, k, v, beta, decay, w, states, dy), OUT(dq, dk, dv, dbeta, ddecay), ON_CPU, 0,             \
      ATTR_OF(DELTA_SCAN), "the gradient of y, as the inputs (dbeta, ddecay: data NULL where there is none)")          \
    X(DPLR_SCAN, IN(q, k, v, a, b, decay), OUT(y, u, states), ON_CPU, 0, ATTR_OF(DELTA_SCAN),                          \
      "q, k, a, b, decay [B,H,T,d_k], v [B,H,T,d_v]: y_t = q_t S_t, S_t = diag(exp(decay_t)) S + a_t' u_t + k_t' v_t, "\
      "u_t = b_t S, S = S_{t-1} [d_k,d_v], at first 0; backwards: from T - 1 down. -> y [B,H,T,d_v], u likewise, "     \
      "states [B,H,chunks d_k,d_v] = S before each `chunk` positions in the recurrence's order")                       \
    X(DPLR_SCAN_BACK, IN(q, k, v, a, b, decay, u, states, dy), OUT(dq, dk, dv, da, db, ddecay), ON_CPU, 0,             \
      ATTR_OF(DELTA_SCAN), "the gradient of y, as the inputs")                                                         \
    X(CE, IN(logits, targets, norm), OUT(losses, d_logits), ON_BOTH, 0,                                                \
      ATTR(double smoothing; int64_t others, gradient, padding;),                                                      \
      "label-smoothed cross-entropy: logits [R,V], targets [1,1,1,R], norm [1] -> losses [R,2] (smoothed, "            \
      "plain; 0 for target -1), d_logits in place if gradient is wanted (0 for target -1), already times norm. "       \
      "others: smoothing / (V-1) on the other words, else smoothing / V on all; padding: see padding.h")               \
    X(CALL, IN(in[4]), OUT(y), ON_BOTH, 0, NO_ATTR, "a plugin's fused operation with its own kernel")                  \
    X(ASSIGN, IN(to, value), OUT(y), ON_BOTH, 0, NO_ATTR, "stores value in the storage of to")
/* clang-format on */

typedef enum op {
#define OP_ENUM(name, in, out, where, place, attributes, doc) OP_##name,
    OPS(OP_ENUM) OP_COUNT
} op;
extern const char *const op_names[OP_COUNT];
extern const uint8_t op_n_in[OP_COUNT], op_n_out[OP_COUNT];
extern const bool op_in_place[OP_COUNT];

/* A union of structs, one for each operation, with a member of this type for each of its inputs or outputs. */
#define BYTES_IN(...)                                                                                                  \
    struct {                                                                                                           \
        char __VA_ARGS__;                                                                                              \
    }
#define BYTES_NO_IN char
#define BYTES_OUT   BYTES_IN
#define IDS_IN(...)                                                                                                    \
    struct {                                                                                                           \
        int32_t __VA_ARGS__;                                                                                           \
    }
#define IDS_NO_IN char
#define VIEWS_IN(...)                                                                                                  \
    struct {                                                                                                           \
        view __VA_ARGS__;                                                                                              \
    }
#define VIEWS_NO_IN                                                char
#define VIEWS_OUT                                                  VIEWS_IN
#define INPUT_BYTES(name, in, out, where, place, attributes, doc)  BYTES_##in name;
#define OUTPUT_BYTES(name, in, out, where, place, attributes, doc) BYTES_##out name;
#define INPUT_IDS(name, in, out, where, place, attributes, doc)    IDS_##in name;
#define INPUT_VIEWS(name, in, out, where, place, attributes, doc)  VIEWS_##in name;
#define OUTPUT_VIEWS(name, in, out, where, place, attributes, doc) VIEWS_##out name;
typedef union {
    OPS(INPUT_BYTES)
} op_input_bytes;
typedef union {
    OPS(OUTPUT_BYTES)
} op_output_bytes;
enum { MAX_IN = sizeof(op_input_bytes), MAX_OUT = sizeof(op_output_bytes) };
/* The number of an input or output: INPUT(LINEAR, w), OUTPUT(NORM, stats). */
#define INPUT(name, which)  ((int)offsetof(op_input_bytes, name.which))
#define INPUTS(name)        ((int)sizeof(((op_input_bytes *)NULL)->name)) /* how many */
#define OUTPUT(name, which) ((int)offsetof(op_output_bytes, name.which))

typedef union { /* a node's operands, as ids of nodes */
    OPS(INPUT_IDS)
} op_ids;
typedef struct {
    void *data;
    int64_t dim[4];
    dtype type;
    int32_t param; /* index, or -1 */
} view;
typedef union { /* a call's operands, as views */
    OPS(INPUT_VIEWS)
} op_inputs;
typedef union {
    OPS(OUTPUT_VIEWS)
} op_outputs;

/* CPU_##where(TEXT): TEXT, if the CPU has a kernel for the operation. CUDA_##where(TEXT): TEXT, if a GPU has one. */
#define CPU_ON_BOTH(...) __VA_ARGS__
#define CPU_ON_CPU(...)  __VA_ARGS__
#define CPU_NO_KERNEL(...)
#define CUDA_ON_BOTH(...) __VA_ARGS__
#define CUDA_ON_CPU(...)
#define CUDA_NO_KERNEL(...)

/* An operation's attributes: a.LINEAR.relu. */
#define FIELDS_ATTR(...)                                                                                               \
    struct {                                                                                                           \
        __VA_ARGS__                                                                                                    \
    }
#define FIELDS_NO_ATTR                                       char
#define FIELDS_ATTR_OF(name)                                 char
#define FIELDS(name, in, out, where, place, attributes, doc) FIELDS_##attributes name;
typedef union {
    OPS(FIELDS)
} attr;

/* Attention on packed rows or its gradient, but not a decoding step. */
static inline bool op_attends(op o)
{
    return o == OP_ATTEND || o == OP_ATTEND_BACK || o == OP_ATTEND_PROGRAM || o == OP_ATTEND_PROGRAM_BACK;
}
enum { ATTEND_KEYS = 1 << 20 }; /* dropout numbers at most this many keys per sentence; a multiple of 8 */
enum { SCORE_LEAVES = 4, SCORE_STEPS = 48, SCORE_MAPS = 4 }; /* limits of a score program (score.h) */
#define HIDDEN (-1e8)                                        /* a program hides keys by this value or less */
#ifdef __cplusplus
}
#endif
#endif
