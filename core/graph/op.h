/* clang-format off: it would fill the table's lines */
/* op.h - what each kernel must do: the shapes and meaning of the views of a `call`, for those who write a backend.
 *
 * Types. Generic operations (ADD .. MASK, TO_FLOAT, TRANSPOSE ...) exist for F32 and F64; ADD, CAST, DROPOUT, RESHAPE also for BF16.
 *     Rows operations (HEADS, MERGE, LINEAR .. CE) exist for F32, F64 and BF16 rows; then parameters, their gradients,
 *     statistics and losses are F32 (F64 when rows are F64). Sums accumulate in F32 at least (F64 for F64).
 *     HEADS reads rows of any type and writes F32 or F64; MERGE reads F32 or F64 and writes rows of any type.
 * Determinism. Same call, same bits, for a given number of threads: sums in a fixed order, no atomics.
 * Aliasing. An output may share its storage with in[0] for: ADD SUB MUL MUL_SCALAR ADD_SCALAR MAP DROPOUT RELU_BACK DROPOUT_ADD, and
 *     SOFTMAX. For LINEAR_DX (in[2]), EMBED_TOKENS_BACK (in[0]) and CE (out[1] on in[0]) it shares whenever the base is given.
 * Dummy rows. Rows past the last offset carry no sentence: ATTEND writes zeros there, MERGE too.
 *
 * DROPOUT family. Element with flat index i at place a.i[0] is kept when its 16-bit word is >= floor(p * 65536):
 *     words = philox({(uint32_t)(i / 8), (uint32_t)(i / 8 >> 32), (uint32_t)place, (uint32_t)step}, {seed low, seed high}),
 *     word number i % 8 = 16 bits of words[(i % 8) / 2], low half first. Kept values are divided by 1 - p.
 *     The flat index is that of the element in its own tensor (row * width + column); in ATTEND: of
 *     (row * H + head) * ATTEND_KEYS + key, whatever the batch's times are; no sentence has more keys where p > 0.
 *     p = a.f[0]; no-op when not training or p == 0.
 *
 * op          | in -> out
 * ------------+--------------------------------------------------------------------------------------------------------
 * SUM_TO       | x -> y: every axis of y is 1 or equal to x's
 * EMBEDDING        | table [1,1,n,d], ids [1,1,1,T] -> [1,1,T,d]
 * EMBEDDING_BACK   | dy [1,1,T,d], ids -> [1,1,n,d]
 * RELATIVE_POSITION, CLIPPED_RELATIVE_POSITION   | q ids [1,1,1,Tq], k ids [1,1,1,Tk] -> [1,1,Tq,Tk] (F32/F64; CLIPPED_RELATIVE_POSITION: I32 in 0..2 clip)
 * GATHER        | x [a,b,Tq,n], ids [1,1,Tq,Tk] -> [a,b,Tq,Tk]
 * SCATTER_ADD      | p [a,b,Tq,Tk], ids -> [a,b,Tq,n], n = a.i[0]
 * MASK        | s [B,H,Tq,Tk], qpos ids [Tq], kpos ids [Tk], klen ids [1,1,1,B], a.i[0] causal:
 *             | -inf where key index k >= klen[b], or causal and kpos[k] > qpos[q]
 * HEADS       | rows [R,n], offset ids [1,1,1,B+1] -> [B,H,T,d]:
 *             | y[b,h,t,j] = rows[offset[b] + t][i0 + h d + j], 0 when t >= length
 * MERGE       | x [B,H,T,d], offset -> rows [R,n]: the reverse; columns outside i0 .. i0 + H d and rows without a token are 0
 * LINEAR      | x [R,K], W [K,N] (i0: [N,K]), b [1,1,1,N] or none -> [R,N]; i1: max(0, .)
 *             | batch_invariant: the bits of a row may not depend on R (process in row blocks of one fixed size)
 * LINEAR_DX   | dy [R,N], W, base [R,K] or none -> [R,K]
 * LINEAR_DW   | x [R,K], dy [R,N] -> [K,N] (i0: [N,K]), F32/F64
 * COLUMN_SUM      | x [R,N] -> [1,1,1,N]
 * EMBED_TOKENS       | table [V,d], ids [1,1,1,R] -> [R,d]
 * EMBED_TOKENS_BACK  | base [V,d], dy [R,d], ids -> [V,d]
 * NORM        | x [R,d], s [R,d] or none, gain [d], bias [d]; f0 p, f1 eps, i0 place
 *             | -> y [R,d], z [R,d], stats [R,2] = mean, 1/sqrt(var+eps)
 *             | without s: z is not written (out[1].data may be NULL)
 * NORM_BACK   | z (x when there was no s), stats, gain, dy; f0 p, i0 place, i1: has s
 *             | -> dz [R,d], ds [R,d] (not written when p == 0 or no s: out[1].data is NULL), d gain [d], d bias [d]
 * ATTEND      | q [R,nq], k [S,nk], v [S,nv] rows; offsets [B+1] of each side; i0..i2 first columns, i3 H, i4 d_k, i5 d_v,
 *             | i6 causal, i7, i8 upper bounds of the keys and of the queries of a sentence; f0 dropout, f1 scale; f2 place
 *             | -> y [R, H d_v], lse [R,H] (F32/F64)
 *             | causal: query t of a sentence sees keys 0..t
 * ATTEND_BACK | q, k, v, q_off, k_off, y, lse, dy -> out[0] = d rows of q's tensor [R,nq],
 *             | out[1] = d rows of k's and v's tensor [S,nk] (out[1].data is NULL when q, k and v are columns of one tensor:
 *             | then out[0] has them all). All columns are written; rows without a token are 0.
 * GRU         | x rows [R,n], W [n,3d], b [3d], U [d,3d] (F32; columns z, r, n), offsets ids [1,1,1,B+1]; i0 backwards, i1 longest
 *             | sentence -> y [R,d]: y_t = (1 - z) n + z h, h = y of the row before (behind, when backwards) in its sentence or 0,
 *             | a = x W + b, u = h U, z, r = sigmoid(a + u), n = tanh(a + r u). Rows without a sentence: 0
 * GRU_BACK    | x, W, b, U, offsets, dy [R,d] -> dx [R,n] (0 in rows without a sentence), dW, db, dU (F32)
 * CONV        | x rows [R,n], W [(p+1+q) n, d] (F32), offsets; i0 p rows before, i1 q behind, i2 longest sentence
 *             | -> y [R,d] = sum over j = -p .. q of x_{t+j} W_{j+p}, W_i rows i n .. i n + n - 1; x is 0 outside the sentence.
 *             | Rows without a sentence: 0
 * CONV_BACK   | x, W, offsets, dy -> dx [R,n] (0 in rows without a sentence), dW (F32)
 * ATTEND_STEP | qkv rows [R, H(2 d_k + d_v)] (columns q, k, v), cache [1,R,cap, H(d_k + d_v)] compute type,
 *             | ancestors ids [1,1,R,cap], time [1,1,1,1]: writes k and v of row r to cache[r][t];
 *             | y[r] attends over cache[ancestors[r][j]][j], j < t, and its own -> [R, H d_v]
 * KV_CACHE_APPEND    | x [R,H,1,d], cache [1,R,cap,H d] F32/F64, ancestors, time -> [R,H,T,d]: T >= t + 1, zeros past t
 * CACHE_REORDER      | state [R,..], parents ids [1,1,1,R] -> [R,..]: rows of the first axis by parent
 * CE          | logits [R,V], targets ids [1,1,1,R], norm [1]; f0 smoothing, i0: 1 = eps/(V-1) on the others,
 *             | 0 = eps/V on all; i1: want gradient
 *             | -> losses [R,2] (smoothed, plain; 0 for target -1), d logits in place (0 for target -1), already times norm
 * ASSIGN      | to, value -> to's storage
 */
/* clang-format on */
#ifndef ABLATE_OP_H
#define ABLATE_OP_H
#include "graph/tape.h"

enum { ATTEND_KEYS = 1 << 20 }; /* that dropout's numbers have room for in each sentence; a multiple of 8 */

/* A CALL whose kernel declined the type: the operation's meaning (lower) on a tape of its own. Slow, but right. */
int call_reference(const call *k, const backend *b, err *e);
double call_flops(const call *k, const backend *b); /* multiply-adds counted as two */
double call_bytes(const call *k); /* every view read or written once */
#endif
