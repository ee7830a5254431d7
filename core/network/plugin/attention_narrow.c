/* attention_narrow.c - restricts queries to a window of keys, or to chosen blocks of keys: traces a term of the scores
 * for composed attention, and records the restriction for fused attention (attention_scores.c). */
#include "network/plugin/attention_context.h"
#include <string.h>

static ab_t record_narrow(ab_ctx *c, ab_t y, ab_t s, ab_t by, int64_t block)
{
    if (!y.id || !by.id) return (ab_t){0};
    narrowed *n = arena_alloc(&c->memory, sizeof *n);
    *n = (narrowed){y.id, s.id, by, block, c->attn->narrowed};
    c->attn->narrowed = n;
    return y;
}

ab_t host_window(ab_ctx *c, ab_t s, ab_t from, ab_t to)
{
    attn_context *t = c->attn;
    if (!s.id || !from.id || !to.id) return (ab_t){0};
    int64_t batch = t->batch, given[2] = {tape_at(c, from)->dim[0], tape_at(c, to)->dim[0]},
            d[4] = {1, 1, t->q_time, 1};
    char a[64], b[64];
    d[0] = given[0] > given[1] ? given[0] : given[1];
    for (int i = 0; i < 2; i++) {
        const int64_t *x = tape_at(c, i ? to : from)->dim;
        if ((x[0] != 1 && x[0] != batch) || x[1] != 1 || (x[2] != 1 && x[2] != t->q_time) || x[3] != 1)
            return tape_fail(c, "ab_window: from %s and to %s, expected numbers [%lld or 1,1,%lld or 1,1]",
                             shape_text(tape_at(c, from)->dim, a), shape_text(tape_at(c, to)->dim, b), (long long)batch,
                             (long long)t->q_time);
    }
    from = t_broadcast_to(c, from, d), to = t_broadcast_to(c, to, d);
    ab_t key = t_to_float(c, t->kpos);
    ab_t before = t_binary(c, OP_LESS_THAN, key, from),
         behind = t_binary(c, OP_LESS_THAN, t_add_scalar(c, to, -1), key);
    ab_t y = t_binary(c, OP_ADD, s, t_mul_scalar(c, t_binary(c, OP_ADD, before, behind), -1e9));
    return record_narrow(c, y, s, t_concat(c, from, to, -1), 0);
}

/* Repeats each number `size` times: allowed [..,n] -> [..,keys]. */
static ab_t spread(ab_ctx *c, ab_t allowed, int64_t size, int64_t keys)
{
    int64_t d[4];
    memcpy(d, tape_at(c, allowed)->dim, sizeof d);
    if (size > keys) size = keys;
    ab_t x = t_reshape(c, allowed, (int64_t[4]){d[0], d[1] * d[2], d[3], 1});
    x = t_broadcast_to(c, x, (int64_t[4]){d[0], d[1] * d[2], d[3], size});
    x = t_reshape(c, x, (int64_t[4]){d[0], d[1], d[2], d[3] * size});
    return d[3] * size == keys ? x : t_slice(c, x, -1, 0, keys);
}

ab_t host_key_blocks(ab_ctx *c, ab_t s, ab_t allowed, int64_t size)
{
    if (!s.id || !allowed.id) return (ab_t){0};
    if (size < 1) return tape_fail(c, "ab_key_blocks: blocks of %lld keys, expected 1 or more", (long long)size);
    int64_t d[4], keys = tape_at(c, s)->dim[3];
    memcpy(d, tape_at(c, s)->dim, sizeof d);
    d[3] = (keys - 1) / size + 1;
    for (int i = 0; i < 4; i++) {
        int64_t n = tape_at(c, allowed)->dim[i];
        char is[64], of[64], wanted[64];
        if (n != d[i] && (n != 1 || i == 3))
            return tape_fail(c,
                             "ab_key_blocks: allowed %s for scores %s in blocks of %lld keys, expected %s, or 1 along "
                             "the first three axes",
                             shape_text(tape_at(c, allowed)->dim, is), shape_text(tape_at(c, s)->dim, of),
                             (long long)size, shape_text(d, wanted));
    }
    allowed = host_detach(c, t_cast(c, allowed, c->compute == F64 ? F64 : F32));
    ab_t sees = t_binary(c, OP_LESS_THAN, one_number(c, 0), spread(c, allowed, size, keys));
    return record_narrow(c, t_binary(c, OP_ADD, s, t_mul_scalar(c, t_add_scalar(c, sees, -1), 1e9)), s, allowed, size);
}
