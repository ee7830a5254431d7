/* op.h - specification of the kernels, for writers of a backend: the shapes and meaning of the views of a `call`.
 *
 * Types. Generic operations (ADD .. MASK, TO_FLOAT, TRANSPOSE ...) exist for F32 and F64; ADD, CAST, DROPOUT, RESHAPE
 *     also for BF16. Rows operations (HEADS, MERGE, LINEAR .. CE) exist for F32, F64 and BF16 rows; then parameters,
 *     their gradients, statistics and losses are F32 (F64 when rows are F64). Sums accumulate in F32 at least (F64 for
 *     F64). HEADS reads rows of any type and writes F32 or F64; MERGE reads F32 or F64 and writes rows of any type.
 * Determinism. The same call gives the same bits for a given number of threads: sums in a fixed order, no atomics.
 * Aliasing. An output may share its storage with in[0] for: ADD SUB MUL MUL_SCALAR ADD_SCALAR MAP DROPOUT RELU_BACK
 * DROPOUT_ADD, and
 *     SOFTMAX, ROTATE. For LINEAR_DX (in[2]), EMBED_TOKENS_BACK (in[0]) and CE (out[1] on in[0]) it always does if the
 *     base is given.
 * Dummy rows. Rows past the last offset belong to no sentence: ATTEND and MERGE write zeros there.
 *
 * DROPOUT family. The element with flat index i at dropout place a.i[0] is kept if its 16-bit word is >= floor(p *
 *     65536): words = philox({(uint32_t)(i / 8), (uint32_t)(i / 8 >> 32), (uint32_t)place, (uint32_t)step}, {seed low,
 *     seed high}), word number i % 8 = 16 bits of words[(i % 8) / 2], low half first. Kept values are divided by 1 - p.
 *     The flat index is the element's in its own tensor (row * width + column); in ATTEND it is
 *     (row * H + head) * ATTEND_KEYS + key, independent of the batch's times; with p > 0 no sentence has more than
 *     ATTEND_KEYS keys. p = a.f[0]; no-op when not training or p == 0.
 *
 * op          | in -> out
 * ------------+--------------------------------------------------------------------------------------------------------
 * SUM_TO       | x -> y: every axis of y is 1 or equal to x's
 * EMBEDDING        | table [1,1,n,d], ids [1,1,1,T] -> [1,1,T,d]
 * EMBEDDING_BACK   | dy [1,1,T,d], ids -> [1,1,n,d]
 * RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION   | q ids [1,1,1,Tq], k ids [1,1,1,Tk] -> [1,1,Tq,Tk] (F32/F64;
 *                                                | CLIPPED_RELATIVE_POSITION: I32 in 0..2 clip)
 * GATHER        | x [a,b,Tq,n], ids [a or 1,b or 1,Tq,Tk] -> [a,b,Tq,Tk]
 * SCATTER_ADD      | p [a,b,Tq,Tk], ids likewise -> [a,b,Tq,n], n = a.i[0]
 * TOP_K       | x [..,n] -> ids [..,k], k = a.i[0]: indices of the k largest (a.i[1]: smallest) numbers of each line,
 *             | in order;
 *             | equal numbers by index; NaN comes before all numbers
 * TO_IDS      | x -> ids: the nearest whole number, ties to even; -1 if it does not fit an int32
 * RANDOM      | -> y: element i comes from the words w of philox({i / 4, place, step}, seed) with place = a.i[0],
 *             | counted as in
 *             | DROPOUT; u[j] = (w[j] / 512 + 1/2) / 2^23. a.i[1] = 0: u[i % 4]. 1: normal, Box-Muller from the pair of
 *             | i:
 *             | sqrt(-2 ln u[0]) times cos(2 pi u[1]) for its first element, sin for its second
 * MASK        | s [B,H,Tq,Tk], qpos ids [Tq], kpos ids [Tk], klen ids [1,1,1,B], a.i[0] causal:
 *             | -inf where key index k >= klen[b], or causal and kpos[k] > qpos[q]
 * HEADS       | rows [R,n], offset ids [1,1,1,B+1] -> [B,H,T,d]:
 *             | y[b,h,t,j] = rows[offset[b] + t][i0 + h d + j], 0 when t >= length
 * MERGE       | x [B,H,T,d], offset -> rows [R,n]: the reverse; columns outside i0 .. i0 + H d and rows without a token
 *             | are 0
 * ROTATE      | x rows [R,n], cos, sin [1,1,T,d] (F32/F64), offsets [B+1] -> [R,n]: in the columns i0 .. i0 + i1 d, d =
 *             | i2, the halves (x1, x2) of
 *             | each head of a sentence's row t become (x1 cos1 - x2 sin1, x2 cos2 + x1 sin2); i3: (x1 cos1 + x2 sin2,
 *             | x2 cos2 - x1 sin1),
 *             | the adjoint. All other columns are copied
 * LINEAR      | x [R,K], W [K,N] (i0: [N,K]), b [1,1,1,N] or none -> [R,N]; i1: max(0, .)
 *             | batch_invariant: a row's bits must not depend on R (blocks of one fixed size). i2: padding
 *             | (graph/padding.h)
 * LINEAR_DX   | dy [R,N], W, base [R,K] or none, y [R,K] or none: output of the ReLU to differentiate -> [R,K], 0 where
 *             | y is not > 0
 * LINEAR_DW   | x [R,K], dy [R,N] -> [K,N] (i0: [N,K]), F32/F64; the bias's gradient, sums of dy over rows [N]
 *             | (out[1].data NULL: skip)
 * COLUMN_SUM      | x [R,N] -> [1,1,1,N]
 * EMBED_TOKENS       | table [V,d], ids [1,1,1,R], sorted or none -> [R,d]; on a device also positions [n,d] and their
 *                    | ids [R]: adds
 *             | their rows, then dropout of the sum, f1 p, i0 place
 * EMBED_TOKENS_BACK  | base [V,d], dy [R,d], ids, sorted or none -> [V,d]; sorted [2,R]: rows in the order of their
 *                    | ids, then these
 *             | ids, ids outside the table last. For devices; none on the CPU
 * NORM        | x [R,d], s [R,d] or none, gain [d], bias [d]; f0 p, f1 eps, i0 place
 *             | -> y [R,d], z [R,d], stats [R,2] = mean, 1/sqrt(var+eps)
 *             | without s: z is not written (out[1].data may be NULL)
 * NORM_BACK   | z (x when there was no s), stats, gain, dy; f0 p, i0 place, i1: has s
 *             | -> dz [R,d], ds [R,d] (not written if p == 0 or no s: out[1].data is NULL), d gain [d], d bias [d],
 *             | sums of ds (of dz, if ds is not written) over rows [d] (out[4].data NULL: skip)
 * ATTEND      | q [R,nq], k [S,nk], v [S,nv] rows; offsets [B+1] of each side; i0..i2 first columns, i3 H, i4 d_k, i5
 *             | d_v,
 *             | i6 causal, i7, i8 upper bounds of the keys and of the queries of a sentence; f0 dropout, f1 scale; f2
 *             | place
 *             | -> y [R, H d_v], lse [R,H] (F32/F64)
 *             | causal: query t of a sentence sees keys 0..t
 * ATTEND_BACK | q, k, v, q_off, k_off, y, lse, dy -> out[0] = d rows of q's tensor [R,nq],
 *             | out[1] = d rows of k's and v's tensor [S,nk] (out[1].data is NULL when q, k and v are columns of one
 *             | tensor:
 *             | then out[0] has them all). All columns are written; rows without a token are 0.
 * ATTEND_PROGRAM | as ATTEND, ids [1,1,Tq,Tk] or none, leaves 6..9 (score.h); i7, i8: Tk, Tq -> y, lse, z [B,H,Tq,n] =
 *                | a query's weights
 *             | after dropout, summed by ids (out[2].data NULL: skip), 0 for queries without a token
 * ATTEND_PROGRAM_BACK | the same inputs, lse, dy, dz or none, y, z or none -> d rows as ATTEND_BACK, then a gradient
 *                     | per leaf (NULL: skip)
 * GRU         | x rows [R,n], W [n,3d], b [3d], U [d,3d] (F32; columns z, r, n), offsets ids [1,1,1,B+1]; i0 backwards,
 *             | i1 longest
 *             | sentence -> y [R,d]: y_t = (1 - z) n + z h, h = y of the previous row (next, if backwards) in its
 *             | sentence or 0,
 *             | a = x W + b, u = h U, z, r = sigmoid(a + u), n = tanh(a + r u). Rows without a sentence: 0
 * GRU_BACK    | x, W, b, U, offsets, dy [R,d] -> dx [R,n] (0 in rows without a sentence), dW, db, dU (F32)
 * CONV        | x rows [R,n], W [(p+1+q) n, d] (F32), offsets; i0 p rows before, i1 q after, i2 longest sentence
 *             | -> y [R,d] = sum over j = -p .. q of x_{t+j} W_{j+p}, W_i rows i n .. i n + n - 1; x is 0 outside the
 *             | sentence.
 *             | Rows without a sentence: 0
 * CONV_BACK   | x, W, offsets, dy -> dx [R,n] (0 in rows without a sentence), dW (F32)
 * ATTEND_STEP | qkv rows [R, H(2 d_k + d_v)] (columns q, k, v), cache [1,R,cap, H(d_k + d_v)] compute type,
 *             | ancestors ids [1,1,R,cap], time [1,1,1,1]: writes k and v of row r to cache[r][t];
 *             | y[r] attends over cache[ancestors[r][j]][j], j < t, and its own -> [R, H d_v]
 * ATTEND_PROGRAM_STEP | as ATTEND_STEP, then none, ids [1,1,1,T] or none, leaves 6..9 (score.h: of R sentences of one
 *                     | query and T >= t + 1 keys)
 *             | -> y, none, z [R,H,1,n] as ATTEND_PROGRAM
 * KV_CACHE_APPEND    | x [R,H,1,d], cache [1,R,cap,H d] F32/F64, ancestors, time -> [R,H,T,d]: T >= t + 1, zeros past t
 * CACHE_REORDER      | state [R,..], parents ids [1,1,1,R] -> [R,..]: rows of the first axis by parent
 * CE          | logits [R,V], targets ids [1,1,1,R], norm [1]; f0 smoothing, i0: 1 = eps/(V-1) on the others,
 *             | 0 = eps/V on all; i1: want gradient; i2: padding (graph/padding.h)
 *             | -> losses [R,2] (smoothed, plain; 0 for target -1), d logits in place (0 for target -1), already times
 *             | norm
 * ASSIGN      | to, value -> to's storage
 */
#ifndef ABLATE_OP_H
#define ABLATE_OP_H
#include "api/ab_plugin.h"
#include <stdbool.h>

enum { WORKS_IN_PLACE = 1 };
/* clang-format off */
/* One row per operation: name, inputs, outputs, whether it works in place, what it does. R = rows of packed tokens. The
 * builder of an operation has its shape rule and gradient (ops_generic.c, ops_shape.c, ops_rows.c); the table above has
 * the shapes and meaning of each view; call_flops (backend.h) counts its operations. WORKS_IN_PLACE: the output may
 * take the storage of in[0]. */
#define OPS(X)                                                                                                         \
    X(NONE, 0, 1, 0, "the failed tensor")                                                                              \
    X(INPUT, 0, 1, 0, "set before each run")                                                                           \
    X(PARAM, 0, 1, 0, "a learned value")                                                                               \
    X(CONST, 0, 1, 0, "fixed when the tape was traced")                                                                \
    X(STATE, 0, 1, 0, "kept from one decoding step to the next")                                                       \
    X(PART, 1, 1, 0, "another output of the previous node")                                                            \
    X(ADD, 2, 1, WORKS_IN_PLACE, "a + b, broadcast")                                                                   \
    X(SUB, 2, 1, WORKS_IN_PLACE, "a - b, broadcast")                                                                   \
    X(MUL, 2, 1, WORKS_IN_PLACE, "a * b, broadcast")                                                                   \
    X(DIV, 2, 1, 0, "a / b, broadcast")                                                                                \
    X(MINIMUM, 2, 1, 0, "the smaller, broadcast")                                                                      \
    X(LESS_THAN, 2, 1, 0, "a < b as 0 or 1, broadcast")                                                                \
    X(MUL_SCALAR, 1, 1, WORKS_IN_PLACE, "f0 * a")                                                                      \
    X(ADD_SCALAR, 1, 1, WORKS_IN_PLACE, "a + f0")                                                                      \
    X(MAP, 1, 1, WORKS_IN_PLACE, "elementwise function i0 (ab_fn)")                                                    \
    X(MAP_BACK, 3, 1, 0, "gradient of MAP from x, y, dy")                                                              \
    X(CAST, 1, 1, 0, "the same numbers in another type")                                                               \
    X(DROPOUT, 1, 1, WORKS_IN_PLACE, "keep with probability 1 - f0 and divide by it; i0: dropout place")               \
    X(SUM_TO, 1, 1, 0, "sums over the axes in which the output has length 1")                                          \
    X(BROADCAST_TO, 1, 1, 0, "repeats along the axes in which the input has length 1")                                 \
    X(SOFTMAX, 1, 1, WORKS_IN_PLACE, "over the last axis")                                                             \
    X(SOFTMAX_BACK, 2, 1, 0, "gradient of SOFTMAX from y, dy")                                                         \
    X(MATMUL, 2, 1, 0, "product of the last two axes; i0, i1: transpose a, b")                                         \
    X(RESHAPE, 1, 1, 0, "the same storage with other axes")                                                            \
    X(TRANSPOSE, 1, 1, 0, "axes i0 and i1 exchanged")                                                                  \
    X(SLICE, 1, 1, 0, "axis i0 from i1")                                                                               \
    X(PAD, 1, 1, 0, "the input at i1 of axis i0, padded with zeros")                                                   \
    X(CONCAT, 2, 1, 0, "along axis i0")                                                                                \
    X(ROTATE_HALF, 1, 1, 0, "(x1,x2) -> (-x2,x1) on the halves of the last axis")                                      \
    X(EMBEDDING, 2, 1, 0, "rows of a table by id")                                                                     \
    X(EMBEDDING_BACK, 2, 1, 0, "gradient of EMBEDDING: rows summed by id")                                             \
    X(TO_FLOAT, 1, 1, 0, "ids as numbers")                                                                             \
    X(RELATIVE_POSITION, 2, 1, 0, "key position minus query position")                                                 \
    X(CLIPPED_RELATIVE_POSITION, 2, 1, 0, "clipped distance as an id; i0: clip")                                       \
    X(GATHER, 2, 1, 0, "y[..q,k] = x[..q,ids[q,k]]")                                                                   \
    X(SCATTER_ADD, 2, 1, 0, "adjoint of GATHER into i0 buckets")                                                       \
    X(TOP_K, 1, 1, 0, "indices of the i0 largest numbers of each line, in order; i1: of the smallest")                 \
    X(TO_IDS, 1, 1, 0, "the nearest whole numbers as ids")                                                             \
    X(RANDOM, 0, 1, 0, "noise; i0: place, as in DROPOUT; i1: 0 uniform in (0,1), 1 normal")                            \
    X(MASK, 4, 1, 0, "s where the key is visible, -inf elsewhere; s, qpos, kpos, klen; i0: causal")                    \
    X(HEADS, 2, 1, 0, "rows, offsets -> [B,H,T,d], zeros at padding; i0: first column, i1: H, i2: d, i3: T")           \
    X(MERGE, 2, 1, 0, "[B,H,T,d], offsets -> rows [R,n]; i0: first column; other columns zero")                        \
    X(ROTATE, 4, 1, WORKS_IN_PLACE,                                                                                    \
      "heads of packed rows rotated by position; rows, cos, sin, offsets; i0: first column, i1: heads, i2: d, i3: "    \
      "adjoint")                                                                                                       \
    X(LINEAR, 3, 1, 0, "x W + b; i0: W is transposed, i1: ReLU")                                                       \
    X(LINEAR_DX, 4, 1, 0, "dy W' (+ base, in place) (where y > 0); i0 as LINEAR")                                      \
    X(LINEAR_DW, 2, 2, 0, "x' dy (i0: dy' x), sums of dy over rows")                                                   \
    X(COLUMN_SUM, 1, 1, 0, "sum over rows")                                                                            \
    X(RELU_BACK, 2, 1, WORKS_IN_PLACE, "dy where y > 0")                                                               \
    X(EMBED_TOKENS, 5, 1, 0, "f0 * row of a table by id; id < 0 gives zeros; (+ positions, dropout: on a device)")     \
    X(EMBED_TOKENS_BACK, 4, 1, 0, "base + f0 * rows of dy summed by id, in place; base, dy, ids, sorted")              \
    X(NORM, 4, 3, 0, "LN(x + dropout(s)); x, s or none, gain, bias -> y, z = x + dropout(s), mean and 1/sd per row")   \
    X(NORM_BACK, 4, 5, 0, "z, stats, gain, dy -> dz, ds, d gain, d bias, sums of ds over rows")                        \
    X(DROPOUT_ADD, 2, 1, WORKS_IN_PLACE, "x + dropout(s)")                                                             \
    X(ATTEND, 5, 2, 0, "fused attention on packed rows: q, k, v rows, q and k offsets -> y, log-sum-exp [R,H]")        \
    X(ATTEND_BACK, 8, 2, 0, "q, k, v, offsets, y, lse, dy -> d of q's rows, d of k's and v's rows")                    \
    X(ATTEND_PROGRAM, 10, 3, 0,                                                                                        \
      "attention with a score program: as ATTEND, ids, leaves -> y, log-sum-exp, weights summed by id")                \
    X(ATTEND_PROGRAM_BACK, 15, 6, 0,                                                                                   \
      "the same, lse, dy, d sums, y, sums -> d of q's rows, d of k's and v's rows, d of leaves")                       \
    X(ATTEND_STEP, 4, 1, 0, "one decoding step of causal attention: qkv rows, cache, ancestors, time")                 \
    X(ATTEND_PROGRAM_STEP, 10, 3, 0,                                                                                   \
      "the same with a score program: qkv rows, cache, ancestors, time, none, ids, leaves -> y, none, weights summed " \
      "by id")                                                                                                         \
    X(KV_CACHE_APPEND, 4, 1, 0,                                                                                        \
      "x [R,H,1,d] written to the cache at time t; all of the past [R,H,T,d]; x, cache, ancestors, t")                 \
    X(CACHE_REORDER, 2, 1, 0, "a carried state, rows taken from the hypotheses' parents; state, parents")              \
    X(STATE_WRITE, 2, 1, 0, "writes the second input to the first, a state")                                           \
    X(GRU, 5, 1, 0, "a gated recurrent layer on packed rows: x, W, b, U, offsets -> states")                           \
    X(GRU_BACK, 6, 4, 0, "x, W, b, U, offsets, dy -> dx, dW, db, dU")                                                  \
    X(CONV, 3, 1, 0, "a convolution along each sentence on packed rows: x, W, offsets -> y")                           \
    X(CONV_BACK, 4, 2, 0, "x, W, offsets, dy -> dx, dW")                                                               \
    X(CE, 3, 2, 0,                                                                                                     \
      "label-smoothed cross-entropy: logits, targets, norm -> (smoothed, plain) per row, d logits in place")           \
    X(CALL, 4, 1, 0, "a plugin's fused operation with its own kernel")                                                 \
    X(ASSIGN, 2, 1, 0, "stores the second input's value in the first input's storage")
/* clang-format on */

#define OP_ENUM(name, n_in, n_out, in_place, doc) OP_##name,
typedef enum { OPS(OP_ENUM) OP_COUNT } op;
extern const char *const op_names[OP_COUNT];
extern const char *const op_docs[OP_COUNT];
extern const bool op_in_place[OP_COUNT];

enum { MAX_IN = 15, MAX_OUT = 6 };

typedef struct {
    double f[3];
    int64_t i[9];
} attr; /* an operation's constants; OPS gives their meaning */

/* Attention on packed rows or its gradient, but not a decoding step. */
static inline bool op_attends(op o)
{
    return o == OP_ATTEND || o == OP_ATTEND_BACK || o == OP_ATTEND_PROGRAM || o == OP_ATTEND_PROGRAM_BACK;
}
enum { ATTEND_KEYS = 1 << 20 }; /* most keys per sentence in dropout's numbering; a multiple of 8 */
#endif
