/* ab_host.h - the host's functions, which plugins call through macros. A plugin includes ab_plugin.h, which includes
 * this header and explains tensors and tags (which hooks may call a function). */
#ifndef AB_HOST_H
#define AB_HOST_H

typedef enum { /* the functions that ab_map applies to each element */
               AB_EXP = 1,
               AB_LOG,
               AB_TANH,
               AB_SIGMOID,
               AB_RELU,
               AB_SQRT,
               AB_SQUARE,
               AB_ABS,
               AB_SIGN,
               AB_COS,
               AB_SIN,
               AB_ELU1,
               AB_RECIP,
               AB_SILU,
               AB_ERF, /* AB_ERF and AB_FLOOR exist since ABI 2.7 */
               AB_FLOOR
} ab_fn; /* AB_ELU1: elu(x) + 1; AB_RECIP: 1/x; AB_SILU: x sigmoid(x); AB_SIGN and AB_FLOOR have no gradient */

/* In decoding AB_KEY and AB_VALUE give all steps so far, *_STEP the current one only. */
typedef enum { AB_QUERY, AB_KEY, AB_VALUE, AB_KEY_STEP, AB_VALUE_STEP } ab_projection;

typedef enum { AB_UNIFORM, AB_NORMAL } ab_noise;

/* One step of ab_scan: returns the state after time t, from x_t [B,n] and the previous state [B,d]. */
typedef ab_t (*ab_step)(ab_ctx *c, const void *cfg, ab_t x_t, ab_t h);

enum { AB_LOG_MOST = 64 }; /* ab_log records vectors of at most this many numbers */

typedef double (*ab_element)(const void *cfg, const int64_t *i); /* the element of a table at indices i */

/* clang-format off */
/* One row per function, which plugins call by a macro below: X(result, name, parameters, arguments, tag, since). The
 * tag says which hooks may call the function (ab_plugin.h), `since` is the minor version of the ABI that added it. O:
 * the result is neither ab_t nor void. S: functions for tasks. Add rows only at the end, and raise AB_ABI_MINOR. */
#define AB_HOST(X, O, S)                                                                                               \
    O(ab_ctx *, at, (ab_ctx *c, const char *file, int line))                                                           \
    O(int64_t, dim, (ab_ctx *c, ab_t x, int axis)) /* axis -1 is the last */                                           \
    O(const ab_info *, info, (ab_ctx *c)) /* MODEL */                                                                  \
    /* reports an error; returns the failed tensor */                                                                  \
    X(ab_t, fail, (ab_ctx *c, const char *message), (c, message), ANY, 0)                                              \
    /* elementwise, with broadcasting over axes of length 1 */                                                         \
    X(ab_t, add, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0)                                                       \
    X(ab_t, sub, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0)                                                       \
    X(ab_t, mul, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0)                                                       \
    X(ab_t, div, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0)                                                       \
    X(ab_t, minimum, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0) /* the smaller; if equal, a gets the gradient */  \
    X(ab_t, maximum, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0) /* the larger; if equal, a gets the gradient */   \
    /* a where condition (0 or 1) is 1, else b; the value not chosen has no influence, even if it is not finite */     \
    X(ab_t, where, (ab_ctx *c, ab_t condition, ab_t a, ab_t b), (c, condition, a, b), ANY, 0)                          \
    X(ab_t, less_than, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0) /* a < b as 0 or 1; no gradient */              \
    X(ab_t, mul_scalar, (ab_ctx *c, ab_t a, double by), (c, a, by), ANY, 0)                                            \
    X(ab_t, add_scalar, (ab_ctx *c, ab_t a, double by), (c, a, by), ANY, 0)                                            \
    X(ab_t, map, (ab_ctx *c, ab_t a, ab_fn f), (c, a, f), ANY, 0)                                                      \
    X(ab_t, gelu, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))) */             \
    X(ab_t, silu, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* a sigmoid(a) */                                              \
    X(ab_t, softplus, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* log(1 + exp(a)) */                                       \
    X(ab_t, dropout, (ab_ctx *c, ab_t a, double p), (c, a, p), ANY, 0) /* identity when not training */                \
    /* over an axis */                                                                                                 \
    X(ab_t, sum, (ab_ctx *c, ab_t a, int axis), (c, a, axis), ANY, 0) /* the axis remains, with length 1 */            \
    X(ab_t, cumsum, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* running sums along axis -2 */                              \
    X(ab_t, softmax, (ab_ctx *c, ab_t s), (c, s), ANY, 0) /* over the last axis; -inf has weight 0 */                  \
    /* multiplies matrices in the last two axes (ta, tb: transposes a, b); the other axes broadcast */                 \
    X(ab_t, matmul, (ab_ctx *c, ab_t a, ab_t b, int ta, int tb), (c, a, b, ta, tb), ANY, 0)                            \
    /* shapes */                                                                                                       \
    X(ab_t, reshape, (ab_ctx *c, ab_t a, int rank, const int64_t *dims), (c, a, rank, dims), ANY, 0)                   \
    X(ab_t, transpose, (ab_ctx *c, ab_t a, int axis1, int axis2), (c, a, axis1, axis2), ANY, 0)                        \
    X(ab_t, slice, (ab_ctx *c, ab_t a, int axis, int64_t from, int64_t n), (c, a, axis, from, n), ANY, 0)              \
    X(ab_t, concat, (ab_ctx *c, ab_t a, ab_t b, int axis), (c, a, b, axis), ANY, 0)                                    \
    X(ab_t, detach, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* the values of a, without gradient */                       \
    /* a constant */                                                                                                   \
    X(ab_t, full, (ab_ctx *c, int rank, const int64_t *dims, double value), (c, rank, dims, value), ANY, 0)            \
    /* (x1,x2) -> (-x2,x1), halves of the last axis */                                                                 \
    X(ab_t, rotate_half, (ab_ctx *c, ab_t a), (c, a), ANY, 0)                                                          \
    /* ids and tables */                                                                                               \
    X(ab_t, embedding, (ab_ctx *c, ab_t table, ab_t ids), (c, table, ids), ANY, 0) /* [n,d],[T] -> [T,d] */            \
    X(ab_t, to_float, (ab_ctx *c, ab_t ids), (c, ids), ANY, 0) /* ids as real numbers */                               \
    X(ab_t, outer, (ab_ctx *c, ab_t a, ab_t b), (c, a, b), ANY, 0) /* [T],[n] -> [T,n] */                              \
    /* k - q as real numbers [Tq,Tk] */                                                                                \
    X(ab_t, relative_position, (ab_ctx *c, ab_t qpos, ab_t kpos), (c, qpos, kpos), ANY, 0)                             \
    /* ids [Tq,Tk]: clamp(k - q, -clip, clip) + clip */                                                                \
    X(ab_t, clipped_relative_position, (ab_ctx *c, ab_t qpos, ab_t kpos, int64_t clip),                                \
      (c, qpos, kpos, clip), ANY, 0)                                                                                   \
    /* x[..,i,ids[..,i,j]]: x [..,Tq,n], ids [Tq,Tk] or [..,Tq,Tk] -> [..,Tq,Tk] */                                    \
    X(ab_t, gather, (ab_ctx *c, ab_t x, ab_t ids), (c, x, ids), ANY, 0)                                                \
    /* adjoint of gather: [..,Tq,Tk] -> [..,Tq,n] */                                                                   \
    X(ab_t, scatter_add, (ab_ctx *c, ab_t p, ab_t ids, int64_t n), (c, p, ids, n), ANY, 0)                             \
    X(ab_t, consts, (ab_ctx *c, int rank, const int64_t *dims, const double *v), (c, rank, dims, v), ANY, 0)           \
    /* a table of f(cfg, i), which is cached: f must depend on *cfg and i only */                                      \
    X(ab_t, computed_table, (ab_ctx *c, int rank, const int64_t *dims, ab_element f, const void *cfg, size_t cfg_size),\
      (c, rank, dims, f, cfg, cfg_size), ANY, 0)                                                                       \
    /* learned values, named below the calling layer. The same name gives the same value; a name already used in this  \
     * layer by the host or the other plugin (attention, position) is an error. Initially uniform in [-scale, scale];  \
     * scale 0: zeros; scale < 0: normal with standard deviation -scale */                                             \
    X(ab_t, weight, (ab_ctx *c, const char *name, int rank, const int64_t *dims, double scale),                        \
      (c, name, rank, dims, scale), MODEL, 0)                                                                          \
    /* like ab_weight, but every element is initially `value` */                                                       \
    X(ab_t, weight_full, (ab_ctx *c, const char *name, int rank, const int64_t *dims, double value),                   \
      (c, name, rank, dims, value), MODEL, 0)                                                                          \
    /* a learned product [..,n] -> [..,width], initially Glorot uniform */                                             \
    X(ab_t, linear, (ab_ctx *c, ab_t x, const char *name, int64_t width, int bias),                                    \
      (c, x, name, width, bias), MODEL, 0)                                                                             \
    /* max(0, ab_linear(...)) in one operation */                                                                      \
    X(ab_t, linear_relu, (ab_ctx *c, ab_t x, const char *name, int64_t width, int bias),                               \
      (c, x, name, width, bias), MODEL, 0)                                                                             \
    /* rows: (x - mean) / sqrt(variance + eps) gain + bias over the last axis; gain and bias [d]. add_layer_norm does  \
     * this to x + dropout(s) */                                                                                       \
    X(ab_t, layer_norm, (ab_ctx *c, ab_t x, ab_t gain, ab_t bias, double eps), (c, x, gain, bias, eps), MODEL, 0)      \
    X(ab_t, add_layer_norm, (ab_ctx *c, ab_t x, ab_t s, ab_t gain, ab_t bias, double eps),                             \
      (c, x, s, gain, bias, eps), MODEL, 0)                                                                            \
    /* the layer's sublayers. Their learned values lie below the layer's name and `name` ("ffn", "self.ln"): calls     \
     * with the same name share them */                                                                                \
    X(ab_t, self_attention, (ab_ctx *c, ab_t x), (c, x), BLOCK, 0) /* learned values below "self" */                   \
    /* attention to the encoder's output; needs info.cross; learned values below "cross" */                            \
    X(ab_t, cross_attention, (ab_ctx *c, ab_t x), (c, x), BLOCK, 0)                                                    \
    X(ab_t, feed_forward, (ab_ctx *c, ab_t x, const char *name), (c, x, name), BLOCK, 0) /* needs info.feed_forward */ \
    X(ab_t, normalize, (ab_ctx *c, ab_t x, const char *name), (c, x, name), LAYER, 0) /* by the run's norm plugin */   \
    /* norm(x + dropout(s)), one operation if the norm has `add` */                                                    \
    X(ab_t, add_normalize, (ab_ctx *c, ab_t x, ab_t s, const char *name), (c, x, s, name), LAYER, 0)                   \
    X(ab_t, add_dropout, (ab_ctx *c, ab_t x, ab_t s), (c, x, s), LAYER, 0) /* x + dropout(s) */                        \
    X(ab_t, call, (ab_ctx *c, const ab_op *op, const ab_t *in, const void *attr, size_t attr_size),                    \
      (c, op, in, attr, attr_size), ANY, 0)                                                                            \
    /* sets the value that `to` (the parameter p or a slot) has after the update */                                    \
    X(void, assign, (ab_ctx *c, ab_t to, ab_t value), (c, to, value), UPDATE, 0)                                       \
    /* the attention context: with these functions one forward serves training and decoding */                         \
    /* linear, split heads, rotate queries and keys; in decoding keys and values are cached */                         \
    X(ab_t, project, (ab_ctx *c, ab_t x, ab_projection what), (c, x, what), ATTENTION, 0)                              \
    /* scale q.k + position + mask: [B,H,Tq,Tk] */                                                                     \
    X(ab_t, scores, (ab_ctx *c, ab_t q, ab_t k, double scale), (c, q, k, scale), ATTENTION, 0)                         \
    X(ab_t, mask, (ab_ctx *c, ab_t s), (c, s), ATTENTION, 0) /* -inf for invisible keys (future, padding) */           \
    /* s after the position's hooks bias and scores, without mask */                                                   \
    X(ab_t, position, (ab_ctx *c, ab_t s, ab_t q, ab_t k), (c, s, q, k), ATTENTION, 0)                                 \
    /* p v, plus the position's contribution to values */                                                              \
    X(ab_t, weighted_sum, (ab_ctx *c, ab_t p, ab_t v), (c, p, v), ATTENTION, 0)                                        \
    /* softmax(scores).v, as one fused operation if possible */                                                        \
    X(ab_t, attend, (ab_ctx *c, ab_t q, ab_t k, ab_t v, double scale), (c, q, k, v, scale), ATTENTION, 0)              \
    /* q_t . sum over visible j of k_j v_j^T: [B,H,Tq,dv]; k and v from ab_key_step and ab_value_step */               \
    X(ab_t, causal_kv_sum, (ab_ctx *c, ab_t q, ab_t k, ab_t v), (c, q, k, v), ATTENTION, 0)                            \
    /* [B,H,T,d_v] -> rows [rows,d_model]: merge heads, linear. Since 2.6 y may also be rows [rows, H d_v] from        \
     * ab_merge */                                                                                                     \
    X(ab_t, output, (ab_ctx *c, ab_t y), (c, y), ATTENTION, 0)                                                         \
    /* the separate steps of ab_query, ab_key, ab_value and ab_output, for custom projections */                       \
    /* rows [rows, heads d] made from x or mem -> [B,heads,T,d] */                                                     \
    X(ab_t, heads, (ab_ctx *c, ab_t rows, int64_t heads), (c, rows, heads), ATTENTION, 0)                              \
    /* queries or keys after the position's hook rotate (self-attention) */                                            \
    X(ab_t, rotate, (ab_ctx *c, ab_t x), (c, x), ATTENTION, 0)                                                         \
    /* remembers x [B,n,T,d] (keys, values or similar); n and d are equal in every step. In decoding x is this step's  \
     * [B,n,1,d]; the result [B,n,Tk,d], as long as ab_kpos, has all steps so far, then zeros, which ab_mask hides.    \
     * Calls find their caches by their order, which must be the same in every step */                                 \
    X(ab_t, remember, (ab_ctx *c, ab_t x), (c, x), ATTENTION, 0)                                                       \
    /* [B,n,Tq,d] -> rows [rows, n d] of the query side */                                                             \
    X(ab_t, merge, (ab_ctx *c, ab_t y), (c, y), ATTENTION, 0)                                                          \
    /* rows [rows,n] -> [1,B,T,n], zeros at padding; rows made from x or from mem, not from both */                    \
    X(ab_t, pad, (ab_ctx *c, ab_t rows), (c, rows), SENTENCE, 0)                                                       \
    X(ab_t, pack, (ab_ctx *c, ab_t x), (c, x), SENTENCE, 0) /* [1,B,T,n] -> rows [rows,n] of the query side */         \
    /* the states of f over time: [1,B,T,n] -> [1,B,T,d]. Padding leaves the state unchanged; decoding keeps it. In    \
     * cross-attention x must be made from mem */                                                                      \
    X(ab_t, scan, (ab_ctx *c, ab_step f, const void *cfg, ab_t x, int64_t d, int backwards),                           \
      (c, f, cfg, x, d, backwards), SENTENCE, 0)                                                                       \
    X(ab_t, qpos, (ab_ctx *c), (c), ATTENTION, 0) /* positions of the queries: ids [Tq] */                             \
    X(ab_t, kpos, (ab_ctx *c), (c), ATTENTION, 0) /* positions of the keys: ids [Tk] */                                \
    /* visible keys per sentence, as numbers [B,1,1,1] */                                                              \
    X(ab_t, klen, (ab_ctx *c), (c), ATTENTION, 0)                                                                      \
    S(int, bleu, (const char *const *hyp, const char *const *ref, int64_t n, const char *tok, int lowercase,           \
      ab_bleu *out, char *err, size_t n_err))                                                                          \
    /* all lines in one block of memory, without a byte order mark; free with free_lines */                            \
    S(int, read_lines, (const char *path, char ***lines, int64_t *n, char *err, size_t n_err))                         \
    S(void, free_lines, (char **lines))                                                                                \
    S(int, f1, (const char *const *hyp, const char *const *gold, int64_t n, ab_f1 *out, char *err, size_t n_err))      \
    /* layers along each sentence take rows [rows,n] made from x or from mem, and return rows of that side. Each is    \
     * one operation if the device has a kernel, else several. In cross-attention the rows must be made from mem */    \
    /* rows [rows,d], the states of a gated recurrent unit: z, r = sigmoid(a + u), m = tanh(a + r u), h' = (1 - z) m + \
     * z h, where a = x W + b is the linear named `in`, u = h U, both with columns z, r, m; U [d,3d] is named `u`,     \
     * initially uniform in [-1/sqrt(d), 1/sqrt(d)] */                                                                 \
    X(ab_t, gru, (ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards),                         \
      (c, x, in, u, d, backwards), SENTENCE, 0)                                                                        \
    /* rows [rows,width], a convolution: y_t = b + sum over j = -before .. behind of x_{t+j} W_j, zeros around the     \
     * sentence. W and b are the linear named `name` with (before + 1 + behind) n inputs, oldest position first */     \
    X(ab_t, conv, (ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t before, int64_t behind),                \
      (c, x, name, width, before, behind), SENTENCE, 0)                                                                \
    /* order along an axis. NaN counts as largest. Equal values keep their order; max passes the gradient to the       \
     * first. ids, unless NULL, receives the original indices of the values, as ids of the same shape */               \
    X(ab_t, max, (ab_ctx *c, ab_t a, int axis), (c, a, axis), ANY, 0) /* the axis remains, with length 1 */            \
    /* the k largest of the last axis, largest first: [..,k] */                                                        \
    X(ab_t, top_k, (ab_ctx *c, ab_t a, int64_t k, ab_t *ids), (c, a, k, ids), ANY, 0)                                  \
    /* sorts the last axis */                                                                                          \
    X(ab_t, sort, (ab_ctx *c, ab_t a, int descending, ab_t *ids), (c, a, descending, ids), ANY, 0)                     \
    /* ids from tensors. gather and scatter_add also take ids for each batch and head, [B or 1,H or 1,Tq,Tk] */        \
    X(ab_t, to_ids, (ab_ctx *c, ab_t a), (c, a), ANY, 0) /* the nearest integers as ids; no gradient */                \
    /* [..,T] -> [..,T,n]: 1 at the id, else 0 */                                                                      \
    X(ab_t, one_hot, (ab_ctx *c, ab_t ids, int64_t n), (c, ids, n), ANY, 0)                                            \
    /* adjoint of embedding: [T,d],[T] -> [n,d], rows summed by id */                                                  \
    X(ab_t, scatter_rows, (ab_ctx *c, ab_t rows, ab_t ids, int64_t n), (c, rows, ids, n), ANY, 0)                      \
    /* noise, different in every call and reproducible from the run's seed and step, as dropout is. Outside training   \
     * every number is the mean, so that results repeat: 0 for AB_NORMAL (variance 1), 1/2 for AB_UNIFORM (in (0,1)) */\
    X(ab_t, noise, (ab_ctx *c, ab_noise what, int rank, const int64_t *dims), (c, what, rank, dims), MODEL, 0)         \
    /* about the tokens of the rows */                                                                                 \
    /* ids [rows] of the tokens; in a decoder, of the token before each target */                                      \
    X(ab_t, tokens, (ab_ctx *c), (c), MODEL, 0)                                                                        \
    /* [rows,1]: 1 for a row with a token, 0 for a padding row */                                                      \
    X(ab_t, row_mask, (ab_ctx *c), (c), MODEL, 0)                                                                      \
    /* values recorded in training besides the loss, as curves named PLUGIN.name: one number per call, averaged over   \
     * calls (layers) with the same name. add_loss also adds weight times value to the loss; value must be a mean over \
     * tokens. Since 2.6 log also takes a vector [n] of at most AB_LOG_MOST numbers: curves PLUGIN.name[0] to [n-1].   \
     * No effect outside training */                                                                                   \
    X(void, add_loss, (ab_ctx *c, const char *name, ab_t value, double weight), (c, name, value, weight), MODEL, 0)    \
    X(void, log, (ab_ctx *c, const char *name, ab_t value), (c, name, value), MODEL, 0)                                \
    /* passes values to later layers: `shared` returns the last x that this plugin shared under this name in an        \
     * earlier layer of the same stack, in the same sublayer (self, cross, ffn) */                                     \
    X(void, share, (ab_ctx *c, const char *name, ab_t x), (c, name, x), MODEL, 0)                                      \
    X(ab_t, shared, (ab_ctx *c, const char *name), (c, name), MODEL, 0)                                                \
    /* UPDATE: the parameter being updated; not with AB_ELEMENTWISE */                                                 \
    O(const ab_parameter *, this_parameter, (ab_ctx *c))                                                               \
    /* restricts scores [..,Tq,Tk] to windows: a query sees only the keys at positions from .. to - 1, which are       \
     * numbers [B or 1,1,Tq or 1,1]. Fused attention takes O(Tq (to - from)) time. Every window must contain a key     \
     * visible to its query */                                                                                         \
    X(ab_t, window, (ab_ctx *c, ab_t s, ab_t from, ab_t to), (c, s, from, to), ATTENTION, 1)                           \
    /* running sums a_1 + ... + a_t: [B,n,Tq,d] made from x -> the same shape; decoding keeps them. d may be Tk */     \
    X(ab_t, running_sum, (ab_ctx *c, ab_t a), (c, a), SENTENCE, 2)                                                     \
    /* x, marked: in a bf16 run ab_linear of the result computes in fp32 and returns fp32 */                           \
    X(ab_t, fp32, (ab_ctx *c, ab_t x), (c, x), ANY, 3)                                                                 \
    /* shifts rows [rows,n] by `by` tokens along each sentence (by < 0: towards its start, not in a decoder); rows     \
     * into which nothing moves are 0; decoding keeps the rows it needs */                                             \
    X(ab_t, shift, (ab_ctx *c, ab_t rows, int64_t by), (c, rows, by), SENTENCE, 4)                                     \
    /* a convolution of each column by itself: rows [rows,n] -> [rows,n]. The filter `name` [before + 1 + behind, n]   \
     * is learned, oldest position first */                                                                            \
    X(ab_t, depthwise_conv, (ab_ctx *c, ab_t rows, const char *name, int64_t before, int64_t behind),                  \
      (c, rows, name, before, behind), SENTENCE, 4)                                                                    \
    /* the rows that another attention, `name`, listed in `calls`, computes from x and mem: this plugin's own x and    \
     * mem, or rows computed from them (in self-attention pass one ab_t twice). The learned values of the called       \
     * attention lie below its name, in a second call below NAME.2 */                                                  \
    X(ab_t, call_attention, (ab_ctx *c, const char *name, ab_t x, ab_t mem), (c, name, x, mem), FORWARD, 4)            \
    /* x [rows,d_model] times the softmax's table: [rows,vocabulary] */                                                \
    X(ab_t, logits, (ab_ctx *c, ab_t x), (c, x), HEAD, 5)                                                              \
    /* the softmax's table [vocabulary,d_model], a vector for each token */                                            \
    X(ab_t, token_vectors, (ab_ctx *c), (c), HEAD, 5)                                                                  \
    /* [rows,vocabulary], ids [rows] -> -log softmax(logits)[target], [rows,1]; 0 for target -1 */                     \
    X(ab_t, cross_entropy, (ab_ctx *c, ab_t logits, ab_t target), (c, logits, target), HEAD, 5)                        \
    /* ids [rows] -> for each row the id `by` rows later in its sentence, -1 where there is none */                    \
    X(ab_t, ahead, (ab_ctx *c, ab_t ids, int64_t by), (c, ids, by), LOSSES, 5)                                         \
    /* y_t = q_t S_t -> [B,H,T,d_v]. The state S [d_k,d_v] of each sentence and head begins with 0: S_t = a S +        \
     * beta_t k_t' (v_t - a k_t S), where S = S_{t-1} and a = exp(log_decay_t) (the gated delta rule). log_decay id    \
     * 0: a = 1. beta id 0, without the correction: S_t = a S + k_t' v_t. q, k [B,H,T,d_k], v [B,H,T,d_v], beta,       \
     * log_decay [B,H,T,1]; an axis B or H of length 1 is repeated. Self-attention only. In a decoder y_t sees the     \
     * positions up to t, and decoding carries S. In the encoder a second recurrence runs from the end of each         \
     * sentence and both are summed: y_t = q_t (S_t + R_t), so position t itself counts twice. From 2.7 on all but q   \
     * may have n T positions, n for each token in order: q_t reads S after the n-th */                                \
    X(ab_t, delta_scan, (ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t log_decay),                                \
      (c, q, k, v, beta, log_decay), ATTENTION, 6)                                                                     \
    /* state without gradient, named below the calling layer as ab_weight's values are; initially `value`. Returns     \
     * its value in this step. Checkpoints and model files contain it, and averaging includes it. It is not a          \
     * parameter: it is not counted, and no optimizer sees it */                                                       \
    X(ab_t, buffer, (ab_ctx *c, const char *name, int rank, const int64_t *dims, double value),                        \
      (c, name, rank, dims, value), MODEL, 6)                                                                          \
    /* in training sets the buffer's value after the step, once per step; no gradient. Each of k parts of a step       \
     * (ranks, batches of gradient_accumulation) computes a proposal from the value before the step; the new value is  \
     * their mean. A part without sentences proposes the old value */                                                  \
    X(void, set_buffer, (ab_ctx *c, ab_t buffer, ab_t value), (c, buffer, value), MODEL, 6)                            \
    /* Q of a = Q R, [..,m,n] with m >= n -> the same shape: orthonormal columns, R's diagonal >= 0. A column of a     \
     * that depends on earlier ones gets a direction that completes the basis; a = 0 gives the identity. No gradient;  \
     * on CPUs only */                                                                                                 \
    X(ab_t, qr, (ab_ctx *c, ab_t a), (c, a), UPDATE, 6)                                                                \
    /* number i that `measure` returned, summed over all parameters: one element. In update only */                    \
    X(ab_t, measured, (ab_ctx *c, int64_t i), (c, i), UPDATE, 6)                                                       \
    /* weights over the last axis; ab_weighted_sum fuses them like ab_softmax's. softmax_sink adds the logit `sink`,   \
     * whose key has no value, to the softmax's sum: sink has the shape of s, but its last axis is 1, and others may   \
     * be 1. entmax: alpha 1.5, or 2 (sparsemax); -inf has weight 0 */                                                 \
    X(ab_t, softmax_sink, (ab_ctx *c, ab_t s, ab_t sink), (c, s, sink), ANY, 6)                                        \
    X(ab_t, entmax, (ab_ctx *c, ab_t s, double alpha), (c, s, alpha), ANY, 6)                                          \
    /* in the steps that `ablate replay` shows, prints x: name, shape, mean, root mean square, range and first         \
     * numbers; in training also of its gradient. In other steps it does nothing and costs nothing. Not in decoding */ \
    X(void, print, (ab_ctx *c, const char *name, ab_t x), (c, name, x), MODEL, 6)                                      \
    /* a / sqrt(sum of squares over the last axis + eps): rows of length 1, one operation on CPUs */                   \
    X(ab_t, unit_length, (ab_ctx *c, ab_t a, double eps), (c, a, eps), ANY, 6)                                         \
    /* a convolution of each column by itself with a filter as long as the sentence: rows [rows,n] -> the same shape,  \
     * in O(T log^2 T) on CPUs; a GPU has no kernel and says so. Row i of past [L,n] weighs the position i before, row \
     * i of future [L,n] the position i + 1 after; future id 0: no future, as in every decoder. Filters shorter than   \
     * the sentence continue with 0. Decoding keeps all positions; past then needs a row for each element of ab_kpos.  \
     * Without a future no position affects an earlier one, not even by rounding */                                    \
    X(ab_t, long_conv, (ab_ctx *c, ab_t rows, ab_t past, ab_t future), (c, rows, past, future), ATTENTION, 6)          \
    /* the logits [rows,vocabulary] of the run's teacher (INI key teacher) for these rows, fp32, in evaluation; no     \
     * gradient. An error if the run has no teacher */                                                                 \
    X(ab_t, teacher, (ab_ctx *c), (c), LOSSES, 6)                                                                      \
    /* restricts scores s [..,Tq,Tk] to chosen blocks of keys: a query sees key j only where allowed [..,Tq,ceil(Tk /  \
     * size)] is above 0 at j / size; no gradient. Its first three axes are those of s, or 1. On CPUs, fused           \
     * attention skips keys that none of 32 neighbouring queries sees. Every query must see a key */                   \
    X(ab_t, key_blocks, (ab_ctx *c, ab_t s, ab_t allowed, int64_t size), (c, s, allowed, size), ATTENTION, 6)          \
    /* like gru, but a long short-term memory: i, f, o = sigmoid(a + u), g = tanh(a + u), m' = f m + i g, h' = o       \
     * tanh(m'), where a and u have columns i, f, o, g; U [d,4d] */                                                    \
    X(ab_t, lstm, (ab_ctx *c, ab_t x, const char *in, const char *u, int64_t d, int backwards),                        \
      (c, x, in, u, d, backwards), SENTENCE, 6)                                                                        \
    /* as delta_scan, with S_t = diag(exp(log_decay_t)) S + a_t' (b_t S) + k_t' v_t: a decay for each column of k and  \
     * a change of rank 1 (RWKV-7, Peng et al. 2025, section 4; Kimi Delta Attention). q, k, a, b, log_decay           \
     * [B,H,T,d_k], v [B,H,T,d_v]. Any decay is exact, also one to 0 */                                                \
    X(ab_t, dplr_scan, (ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t a, ab_t b, ab_t log_decay),                            \
      (c, q, k, v, a, b, log_decay), ATTENTION, 7)                                                                     \
    /* (1 + L)^-1 b, where L is the part of l [..,n,n] below the diagonal and b is [..,n,m]; earlier axes of length 1  \
     * are repeated */                                                                                                 \
    X(ab_t, solve_lower, (ab_ctx *c, ab_t l, ab_t b), (c, l, b), ANY, 7)                                               \
    /* a layer with the plugins and settings of the decoder's first layer, applied to rows [rows,d_model], in training;\
     * its learned values lie below `name` */                                                                          \
    X(ab_t, layer, (ab_ctx *c, ab_t x, const char *name), (c, x, name), LOSSES, 7)                                     \
    /* the gradient of the sum of y with respect to x, of x's shape, such as for a learning step in ab_scan. It can be \
     * differentiated again: y may come from x by functions tagged ANY, but not by max, top_k, sort or unit_length */  \
    X(ab_t, gradient, (ab_ctx *c, ab_t y, ab_t x), (c, y, x), ANY, 7)                                                  \
    /* in update: the gradient, of p's shape, at the point that the optimizer's `shift` assigns */                     \
    X(ab_t, second_gradient, (ab_ctx *c), (c), UPDATE, 7)                                                              \
    /* log-linear attention, in O(T log T): y_t = sum over n of weights_t[n] q_t S_t,n -> [B,H,T,d_v], where S_t,n sums\
     * k_j' v_j times exp(log_decay_{j+1} + ... + log_decay_t) over j <= t with n bits in t ^ j, at most levels - 1.   \
     * q, k [B,H,T,d_k], v [B,H,T,d_v], log_decay [B,H,T,1], at most 0, weights [B,H,T,levels]; axes B or H of length 1\
     * are repeated. Only in a decoder; decoding carries a state per level (Guo et al. 2025, eq. 4 to 6) */            \
    X(ab_t, fenwick_scan, (ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t log_decay, ab_t weights),                           \
      (c, q, k, v, log_decay, weights), ATTENTION, 7)
/* clang-format on */
#define AB_MEMBER_(result, name, parameters, ...) result(*name) parameters;
#define AB_TASK_MEMBER_(result, name, parameters) result(*name) parameters;
struct ab_host {
    uint32_t size, minor;
    AB_HOST(AB_MEMBER_, AB_TASK_MEMBER_, AB_TASK_MEMBER_)
};

/* Plugins call the host through these macros. */
extern const ab_host *ab_host_;
#define AB_AT_(c) ab_host_->at(c, __FILE__, __LINE__)
#define AB_DIMS_(...)                                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define ab_dim(c, x, i)                          ab_host_->dim(AB_AT_(c), x, i)
#define ab_info(c)                               ab_host_->info(AB_AT_(c))
#define ab_fail(c, message)                      ab_host_->fail(AB_AT_(c), message)
#define ab_add(c, a, b)                          ab_host_->add(AB_AT_(c), a, b)
#define ab_sub(c, a, b)                          ab_host_->sub(AB_AT_(c), a, b)
#define ab_mul(c, a, b)                          ab_host_->mul(AB_AT_(c), a, b)
#define ab_div(c, a, b)                          ab_host_->div(AB_AT_(c), a, b)
#define ab_minimum(c, a, b)                      ab_host_->minimum(AB_AT_(c), a, b)
#define ab_maximum(c, a, b)                      ab_host_->maximum(AB_AT_(c), a, b)
#define ab_where(c, condition, a, b)             ab_host_->where(AB_AT_(c), condition, a, b)
#define ab_cumsum(c, a)                          ab_host_->cumsum(AB_AT_(c), a)
#define ab_detach(c, a)                          ab_host_->detach(AB_AT_(c), a)
#define ab_full(c, value, ...)                   ab_host_->full(AB_AT_(c), AB_DIMS_(__VA_ARGS__), value)
#define ab_heads(c, rows, n)                     ab_host_->heads(AB_AT_(c), rows, n)
#define ab_rotate(c, x)                          ab_host_->rotate(AB_AT_(c), x)
#define ab_remember(c, x)                        ab_host_->remember(AB_AT_(c), x)
#define ab_merge(c, y)                           ab_host_->merge(AB_AT_(c), y)
#define ab_less_than(c, a, b)                    ab_host_->less_than(AB_AT_(c), a, b)
#define ab_mul_scalar(c, a, k)                   ab_host_->mul_scalar(AB_AT_(c), a, k)
#define ab_add_scalar(c, a, k)                   ab_host_->add_scalar(AB_AT_(c), a, k)
#define ab_map(c, a, f)                          ab_host_->map(AB_AT_(c), a, f)
#define ab_gelu(c, a)                            ab_host_->gelu(AB_AT_(c), a)
#define ab_silu(c, a)                            ab_host_->silu(AB_AT_(c), a)
#define ab_softplus(c, a)                        ab_host_->softplus(AB_AT_(c), a)
#define ab_dropout(c, a, p)                      ab_host_->dropout(AB_AT_(c), a, p)
#define ab_sum_axis(c, a, axis)                  ab_host_->sum(AB_AT_(c), a, axis)
#define ab_softmax(c, s)                         ab_host_->softmax(AB_AT_(c), s)
#define ab_matmul(c, a, b, ta, tb)               ab_host_->matmul(AB_AT_(c), a, b, ta, tb)
#define ab_reshape(c, a, ...)                    ab_host_->reshape(AB_AT_(c), a, AB_DIMS_(__VA_ARGS__))
#define ab_transpose(c, a, i, j)                 ab_host_->transpose(AB_AT_(c), a, i, j)
#define ab_slice(c, a, axis, i, n)               ab_host_->slice(AB_AT_(c), a, axis, i, n)
#define ab_concat(c, a, b, axis)                 ab_host_->concat(AB_AT_(c), a, b, axis)
#define ab_rotate_half(c, a)                     ab_host_->rotate_half(AB_AT_(c), a)
#define ab_embedding(c, t, i)                    ab_host_->embedding(AB_AT_(c), t, i)
#define ab_to_float(c, i)                        ab_host_->to_float(AB_AT_(c), i)
#define ab_outer(c, a, b)                        ab_host_->outer(AB_AT_(c), a, b)
#define ab_relative_position(c, q, k)            ab_host_->relative_position(AB_AT_(c), q, k)
#define ab_clipped_relative_position(c, q, k, n) ab_host_->clipped_relative_position(AB_AT_(c), q, k, n)
#define ab_gather(c, x, i)                       ab_host_->gather(AB_AT_(c), x, i)
#define ab_scatter_add(c, p, i, n)               ab_host_->scatter_add(AB_AT_(c), p, i, n)
#define ab_const(c, v, ...)                      ab_host_->consts(AB_AT_(c), AB_DIMS_(__VA_ARGS__), v)
/* cfg: a pointer with its type: f may read the sizeof *cfg bytes there. */
#define ab_table(c, f, cfg, ...) ab_host_->computed_table(AB_AT_(c), AB_DIMS_(__VA_ARGS__), f, cfg, sizeof *(cfg))

#define ab_weight(c, name, s, ...)                  ab_host_->weight(AB_AT_(c), name, AB_DIMS_(__VA_ARGS__), s)
#define ab_weight_full(c, name, v, ...)             ab_host_->weight_full(AB_AT_(c), name, AB_DIMS_(__VA_ARGS__), v)
#define ab_linear_relu(c, x, name, n, bias)         ab_host_->linear_relu(AB_AT_(c), x, name, n, bias)
#define ab_layer_norm(c, x, gain, bias, eps)        ab_host_->layer_norm(AB_AT_(c), x, gain, bias, eps)
#define ab_add_layer_norm(c, x, s, gain, bias, eps) ab_host_->add_layer_norm(AB_AT_(c), x, s, gain, bias, eps)
#define ab_self_attention(c, x)                     ab_host_->self_attention(AB_AT_(c), x)
#define ab_cross_attention(c, x)                    ab_host_->cross_attention(AB_AT_(c), x)
#define ab_feed_forward(c, x, name)                 ab_host_->feed_forward(AB_AT_(c), x, name)
#define ab_normalize(c, x, name)                    ab_host_->normalize(AB_AT_(c), x, name)
#define ab_add_normalize(c, x, s, name)             ab_host_->add_normalize(AB_AT_(c), x, s, name)
#define ab_add_dropout(c, x, s)                     ab_host_->add_dropout(AB_AT_(c), x, s)
#define ab_linear(c, x, name, n, bias)              ab_host_->linear(AB_AT_(c), x, name, n, bias)
#define ab_call(c, op, attr, n, ...)                ab_host_->call(AB_AT_(c), op, (const ab_t[]){__VA_ARGS__}, attr, n)
#define ab_assign(c, to, value)                     ab_host_->assign(AB_AT_(c), to, value)
#define ab_query(c, x)                              ab_host_->project(AB_AT_(c), x, AB_QUERY)
#define ab_key(c, x)                                ab_host_->project(AB_AT_(c), x, AB_KEY)
#define ab_value(c, x)                              ab_host_->project(AB_AT_(c), x, AB_VALUE)
#define ab_key_step(c, x)                           ab_host_->project(AB_AT_(c), x, AB_KEY_STEP)
#define ab_value_step(c, x)                         ab_host_->project(AB_AT_(c), x, AB_VALUE_STEP)
#define ab_scores(c, q, k, s)                       ab_host_->scores(AB_AT_(c), q, k, s)
#define ab_mask(c, s)                               ab_host_->mask(AB_AT_(c), s)
#define ab_position(c, s, q, k)                     ab_host_->position(AB_AT_(c), s, q, k)
#define ab_weighted_sum(c, p, v)                    ab_host_->weighted_sum(AB_AT_(c), p, v)
#define ab_attend(c, q, k, v, s)                    ab_host_->attend(AB_AT_(c), q, k, v, s)
#define ab_causal_kv_sum(c, q, k, v)                ab_host_->causal_kv_sum(AB_AT_(c), q, k, v)
#define ab_output(c, y)                             ab_host_->output(AB_AT_(c), y)
#define ab_pad(c, x)                                ab_host_->pad(AB_AT_(c), x)
#define ab_pack(c, x)                               ab_host_->pack(AB_AT_(c), x)
#define ab_scan(c, f, cfg, x, d, back)              ab_host_->scan(AB_AT_(c), f, cfg, x, d, back)
#define ab_qpos(c)                                  ab_host_->qpos(AB_AT_(c))
#define ab_kpos(c)                                  ab_host_->kpos(AB_AT_(c))
#define ab_klen(c)                                  ab_host_->klen(AB_AT_(c))
#define ab_gru(c, x, in, u, d, back)                ab_host_->gru(AB_AT_(c), x, in, u, d, back)
#define ab_this_parameter(c)                        ab_host_->this_parameter(AB_AT_(c))
#define ab_conv(c, x, name, n, before, behind)      ab_host_->conv(AB_AT_(c), x, name, n, before, behind)
#define ab_max_axis(c, a, axis)                     ab_host_->max(AB_AT_(c), a, axis)
#define ab_top_k(c, a, k, ids)                      ab_host_->top_k(AB_AT_(c), a, k, ids)
#define ab_sort(c, a, descending, ids)              ab_host_->sort(AB_AT_(c), a, descending, ids)
#define ab_to_ids(c, a)                             ab_host_->to_ids(AB_AT_(c), a)
#define ab_one_hot(c, ids, n)                       ab_host_->one_hot(AB_AT_(c), ids, n)
#define ab_scatter_rows(c, rows, ids, n)            ab_host_->scatter_rows(AB_AT_(c), rows, ids, n)
#define ab_uniform(c, ...)                          ab_host_->noise(AB_AT_(c), AB_UNIFORM, AB_DIMS_(__VA_ARGS__))
#define ab_normal(c, ...)                           ab_host_->noise(AB_AT_(c), AB_NORMAL, AB_DIMS_(__VA_ARGS__))
#define ab_tokens(c)                                ab_host_->tokens(AB_AT_(c))
#define ab_row_mask(c)                              ab_host_->row_mask(AB_AT_(c))
#define ab_add_loss(c, name, value, weight)         ab_host_->add_loss(AB_AT_(c), name, value, weight)
#define ab_log(c, name, value)                      ab_host_->log(AB_AT_(c), name, value)
#define ab_share(c, name, x)                        ab_host_->share(AB_AT_(c), name, x)
#define ab_shared(c, name)                          ab_host_->shared(AB_AT_(c), name)
#if AB_TARGET_MINOR >= 1
#define ab_window(c, s, from, to) ab_host_->window(AB_AT_(c), s, from, to)
#endif
#if AB_TARGET_MINOR >= 2
#define ab_running_sum(c, a) ab_host_->running_sum(AB_AT_(c), a)
#endif
#if AB_TARGET_MINOR >= 3
#define ab_fp32(c, x) ab_host_->fp32(AB_AT_(c), x)
#endif
#if AB_TARGET_MINOR >= 4
#define ab_shift(c, rows, by)                            ab_host_->shift(AB_AT_(c), rows, by)
#define ab_call_attention(c, name, x, mem)               ab_host_->call_attention(AB_AT_(c), name, x, mem)
#define ab_depthwise_conv(c, rows, name, before, behind) ab_host_->depthwise_conv(AB_AT_(c), rows, name, before, behind)
#endif
#if AB_TARGET_MINOR >= 5
#define ab_logits(c, x)                     ab_host_->logits(AB_AT_(c), x)
#define ab_token_vectors(c)                 ab_host_->token_vectors(AB_AT_(c))
#define ab_cross_entropy(c, logits, target) ab_host_->cross_entropy(AB_AT_(c), logits, target)
#define ab_ahead(c, ids, by)                ab_host_->ahead(AB_AT_(c), ids, by)
#endif
#if AB_TARGET_MINOR >= 6
#define ab_delta_scan(c, q, k, v, beta, log_decay) ab_host_->delta_scan(AB_AT_(c), q, k, v, beta, log_decay)
#define ab_buffer(c, name, value, ...)             ab_host_->buffer(AB_AT_(c), name, AB_DIMS_(__VA_ARGS__), value)
#define ab_set_buffer(c, buffer, value_)           ab_host_->set_buffer(AB_AT_(c), buffer, value_)
#define ab_qr(c, a)                                ab_host_->qr(AB_AT_(c), a)
#define ab_unit_length(c, a, eps)                  ab_host_->unit_length(AB_AT_(c), a, eps)
#define ab_long_conv(c, rows, past, future)        ab_host_->long_conv(AB_AT_(c), rows, past, future)
#define ab_measured(c, i)                          ab_host_->measured(AB_AT_(c), i)
#define ab_softmax_sink(c, s, sink)                ab_host_->softmax_sink(AB_AT_(c), s, sink)
#define ab_entmax(c, s, alpha)                     ab_host_->entmax(AB_AT_(c), s, alpha)
#define ab_print(c, name, x)                       ab_host_->print(AB_AT_(c), name, x)
#define ab_teacher(c)                              ab_host_->teacher(AB_AT_(c))
#define ab_key_blocks(c, s, allowed, size)         ab_host_->key_blocks(AB_AT_(c), s, allowed, size)
#define ab_lstm(c, x, in, u, d, back)              ab_host_->lstm(AB_AT_(c), x, in, u, d, back)
#endif
#if AB_TARGET_MINOR >= 7
#define ab_dplr_scan(c, q, k, v, a, b, log_decay) ab_host_->dplr_scan(AB_AT_(c), q, k, v, a, b, log_decay)
#define ab_solve_lower(c, l, b)                   ab_host_->solve_lower(AB_AT_(c), l, b)
#define ab_layer(c, x, name)                      ab_host_->layer(AB_AT_(c), x, name)
#define ab_gradient(c, y, x)                      ab_host_->gradient(AB_AT_(c), y, x)
#define ab_second_gradient(c)                     ab_host_->second_gradient(AB_AT_(c))
#define ab_fenwick_scan(c, q, k, v, log_decay, l) ab_host_->fenwick_scan(AB_AT_(c), q, k, v, log_decay, l)
#endif
#endif
