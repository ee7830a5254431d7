/* attention_sums.c - multiplies q_t by the sum over visible keys j of k_j' v_j (linear attention), in time O(T). */
#include "network/plugin/attention_context.h"
#include <stdlib.h>
#include <string.h>

/* [B,H,T,d] -> [B H, chunks, CHUNK, d], with zeros behind the end. */
enum { CHUNK = 64 };
static ab_t in_chunks(ab_ctx *c, ab_t x)
{
    int64_t d[4];
    memcpy(d, tape_at(c, x)->dim, sizeof d);
    int64_t n = (d[2] + CHUNK - 1) / CHUNK;
    x = t_place(c, x, -2, 0, n * CHUNK);
    return t_reshape(c, x, (int64_t[4]){d[0] * d[1], n, CHUNK, d[3]});
}

/* Broadcasts x [B or 1,H or 1,T,d] to the largest B and H of the three. */
static ab_t for_all_heads(ab_ctx *c, ab_t x, ab_t a, ab_t b)
{
    int64_t d[4];
    memcpy(d, tape_at(c, x)->dim, sizeof d);
    for (int i = 0; i < 2; i++) {
        int64_t m = tape_at(c, a)->dim[i], n = tape_at(c, b)->dim[i], most = m > n ? m : n;
        if (d[i] == 1) d[i] = most;
    }
    return t_broadcast_to(c, x, d);
}

/* Computes all positions at once in time O(T): each chunk attends to itself and adds q times the sum of k' v over
 * earlier chunks. */
static ab_t kv_sum_before(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    int64_t y_dim[4], s[4];
    ab_t all[3] = {for_all_heads(c, q, k, v), for_all_heads(c, k, q, v), for_all_heads(c, v, q, k)};
    q = all[0], k = all[1], v = all[2];
    memcpy(y_dim, tape_at(c, q)->dim, sizeof y_dim);
    y_dim[3] = tape_at(c, v)->dim[3];
    q = in_chunks(c, q), k = in_chunks(c, k), v = in_chunks(c, v);
    ab_t y = t_matmul(c, t_binary(c, OP_MUL, t_matmul(c, q, k, 0, 1), t_before(c, CHUNK, true)), v, 0, 0);
    if (!y.id) return y;
    memcpy(s, tape_at(c, y)->dim, sizeof s);
    if (s[1] > 1) {
        ab_t own = t_matmul(c, k, v, 1, 0);
        int64_t d_k = tape_at(c, own)->dim[2];
        ab_t flat = t_reshape(c, own, (int64_t[4]){1, s[0], s[1], d_k * s[3]});
        ab_t state =
            t_reshape(c, t_matmul(c, t_before(c, s[1], false), flat, 0, 0), (int64_t[4]){s[0], s[1], d_k, s[3]});
        y = t_binary(c, OP_ADD, y, t_matmul(c, q, state, 0, 0));
    }
    y = t_reshape(c, y, (int64_t[4]){y_dim[0], y_dim[1], s[1] * CHUNK, s[3]});
    return t_slice(c, y, -2, 0, y_dim[2]);
}

ab_t attn_has_key(ab_ctx *c)
{
    const attn_context *t = c->attn;
    double *place = xcalloc((size_t)t->k_time, sizeof *place);
    for (int64_t i = 0; i < t->k_time; i++) place[i] = (double)i;
    ab_t places = t_const(c, (int64_t[4]){1, 1, t->k_time, 1}, place);
    free(place);
    return t_binary(c, OP_LESS_THAN, places, host_klen(c));
}

/* q (k' v), because all keys are visible. */
static ab_t kv_sum_all(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    return t_matmul(c, q, t_matmul(c, t_binary(c, OP_MUL, k, attn_has_key(c)), v, 1, 0), 0, 0);
}

ab_t host_causal_kv_sum(ab_ctx *c, ab_t q, ab_t k, ab_t v)
{
    if (!q.id || !k.id || !v.id) return (ab_t){0};
    const attn_context *t = c->attn;
    if (!attn_steps(c)) return t->info.role == AB_CAUSAL ? kv_sum_before(c, q, k, v) : kv_sum_all(c, q, k, v);
    if (tape_at(c, k)->dim[2] != 1)
        return tape_fail(c, "ab_causal_kv_sum: keys and values must come from ab_key_step and ab_value_step");
    ab_t sum = attn_carried_sum(c, t_matmul(c, k, v, 1, 0));
    return t_matmul(c, q, sum, 0, 0);
}
