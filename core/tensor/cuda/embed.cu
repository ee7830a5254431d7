/* embed.cu - EMBED_TOKENS: rows of a table by id, positions, dropout; its gradient is in embedding_back.cu. */
#include "tensor/cuda/ops.h"
#include "tensor/cuda/threads.h"
#include "tensor/cuda/vec8.h"

/* y [rows,width] = dropout(by * table[id] + positions[place]); zeros for id < 0, NaN for an id past the table's `words`
 * rows (which the host cannot check). positions [n,width] with place [rows] may be NULL; NaN for an invalid place. */
struct embed_call {
    int64_t rows, words, width, n;
    const float *table, *positions;
    const int32_t *id, *place;
    float by;
    void *y;
    gpu_dropping drop;
};

/* Eight columns of row `row` of a table; zeros for a row below 0, NaN for one past the end. */
template <bool VECTOR>
DEVICE void take_row(const float *table, int64_t rows, int64_t width, int64_t row, int64_t column, float v[8])
{
    if (row < 0 || row >= rows)
        UNROLL for (int j = 0; j < 8; j++) v[j] = row < 0 ? 0.f : NAN;
    else
        get8<VECTOR>(table + row * width + column, width - column, v);
}

/* A thread has eight columns of a row; eights: groups of eight in a row. */
template <class T, bool VECTOR>
__global__ void __launch_bounds__(THREADS) embed_tokens(embed_call e, int64_t eights, const gpu_counter *counter)
{
    for (int64_t i = my_thread(); i < e.rows * eights; i += all_threads()) {
        int64_t row = i / eights, column = 8 * (i % eights), n = e.width - column;
        float v[8], p[8];
        take_row<VECTOR>(e.table, e.words, e.width, e.id[row], column, v);
        UNROLL for (int j = 0; j < 8; j++) v[j] *= e.by;
        if (e.positions) {
            take_row<VECTOR>(e.positions, e.n, e.width, e.place[row], column, p);
            UNROLL for (int j = 0; j < 8; j++) v[j] += p[j];
        }
        drop8(v, (uint64_t)(row * e.width + column), e.drop, counter);
        put8<VECTOR>((T *)e.y + row * e.width + column, n, v);
    }
}

template <class T> static int embed_of(const embed_call &e)
{
    int64_t eights = (e.width + 7) / 8, n = e.rows * eights;
    return e.width % 8 == 0 && aligned16(e.table, e.positions, e.y)
               ? LAUNCH_OVER((embed_tokens<T, true>), n, e, eights, gpu_counters())
               : LAUNCH_OVER((embed_tokens<T, false>), n, e, eights, gpu_counters());
}

int cuda_EMBED_TOKENS(const call *k, err *e)
{
    const view *table = &k->i.EMBED_TOKENS.table, *id = &k->i.EMBED_TOKENS.ids,
               *positions = &k->i.EMBED_TOKENS.positions, *place = &k->i.EMBED_TOKENS.position_ids,
               *y = &k->o.EMBED_TOKENS.y;
    if (want_types(k, "fi.fi", "r", e)) return -1;
    embed_call g = {};
    g.rows = rows_of(y), g.words = rows_of(table), g.width = width_of(y), g.n = rows_of(positions);
    g.table = data_of(table), g.positions = data_of(positions), g.id = data_of(id), g.place = data_of(place);
    g.y = y->data, g.by = (float)k->a.EMBED_TOKENS.scale;
    g.drop = dropping_of(k, k->a.EMBED_TOKENS.p, k->a.EMBED_TOKENS.place);
    return launched(y->type == BF16 ? embed_of<bf16>(g) : embed_of<float>(g), e);
}
