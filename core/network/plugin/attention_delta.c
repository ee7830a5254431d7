/* attention_delta.c - ab_delta_scan: a recurrence whose state is a matrix for each sentence and head.
 *
 * One operation if the backend has it; otherwise, and under `generic`, composed (graph/ops_delta.c). In a decoding step
 * each hypothesis's carried state takes one step. */
#include "network/plugin/attention_context.h"

/* One step from the state that each hypothesis' parent carried. */
static ab_t one_step(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay)
{
    const int64_t *d = tape_at(c, k)->dim;
    if (d[2] != 1)
        return tape_fail(c,
                         "ab_delta_scan: keys and values must be of this step (ab_key_step, ab_value_step, ab_heads)");
    ab_t state = attn_carried(c, d[0], d[1], d[3], tape_at(c, v)->dim[3]);
    ab_t kept = t_cache_reorder(c, state, c->attn->parents);
    if (decay.id) kept = t_binary(c, OP_MUL, t_map(c, decay, AB_EXP), kept);
    if (beta.id) v = t_binary(c, OP_MUL, beta, t_binary(c, OP_SUB, v, t_matmul(c, k, kept, 0, 0)));
    ab_t next = t_binary(c, OP_ADD, kept, t_matmul(c, k, v, 1, 0));
    t_state_write(c, state, next);
    return t_matmul(c, q, next, 0, 0);
}

/* Chooses the operation's chunk length. Products within chunks cost time proportional to the length; states between
 * chunks cost memory and time proportional to the width squared over the length. */
static int64_t chunk_of(ab_ctx *c, ab_t k)
{
    return tape_at(c, k)->dim[3] > DELTA_CHUNK / 2 ? DELTA_CHUNK : DELTA_CHUNK / 2;
}

static ab_t scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay, int backwards)
{
    const backend *b = c->backend;
    bool one = !c->attn->generic && b && b->kernels[OP_DELTA_SCAN];
    if (one) return t_delta_scan(c, q, k, v, beta, decay, backwards, chunk_of(c, k));
    return t_delta_scan_composed(c, q, k, v, beta, decay, backwards, DELTA_CHUNK);
}

ab_t host_delta_scan(ab_ctx *c, ab_t q, ab_t k, ab_t v, ab_t beta, ab_t decay)
{
    ab_t *all[] = {&q, &k, &v, &beta, &decay};
    int64_t batch = 1, heads = 1;
    if (!q.id || !k.id || !v.id || c->error.text[0]) return (ab_t){0};
    if (!attn_is_self(c))
        return tape_fail(c,
                         "ab_delta_scan: in cross-attention a query has no place among the keys; self-attention only");
    for (int i = 0; i < 5; i++)
        if (all[i]->id) {
            const int64_t *d = tape_at(c, *all[i])->dim;
            batch = d[0] > batch ? d[0] : batch, heads = d[1] > heads ? d[1] : heads;
        }
    for (int i = 0; i < 5; i++)
        if (all[i]->id) {
            const int64_t *d = tape_at(c, *all[i])->dim;
            *all[i] = t_broadcast_to(c, *all[i], (int64_t[4]){batch, heads, d[2], d[3]});
        }
    if (!q.id || !k.id || !v.id || c->error.text[0]) return (ab_t){0};
    if (attn_steps(c)) return one_step(c, q, k, v, beta, decay);
    attn_note_values(c, v);
    ab_t y = scan(c, q, k, v, beta, decay, 0);
    if (c->attn->info.role == AB_CAUSAL) return y;
    ab_t real =
        attn_has_key(c); /* a recurrence from the end reads the padding first: it must store nothing and not decay */
    if (beta.id)
        beta = t_binary(c, OP_MUL, beta, real);
    else
        v = t_binary(c, OP_MUL, v, real);
    if (decay.id) decay = t_binary(c, OP_MUL, decay, real);
    return t_binary(c, OP_ADD, y, scan(c, q, k, v, beta, decay, 1));
}
