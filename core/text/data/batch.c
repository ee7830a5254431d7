/* batch.c - plans an epoch (order, cuts, batch order) and copies batches out of it. */
#include "text/data/batch.h"
#include "base/cleanup.h"
#include <stdlib.h>

enum { POOL_BATCHES = 64 }; /* default of batch_options.pool */

struct batcher {
    const pairs *p;
    batch_options o;
    int64_t pool; /* [pairs] */
    batch_limits limits;
    batch_state next;
    int64_t planned; /* epoch of order, cut and turn; -1: no epoch yet */
    int64_t *order;  /* [p->n]: pairs in the order of the plan */
    int64_t *cut;    /* [n_batches+1]: batch k is order[cut[k]] .. order[cut[k+1]-1] */
    int64_t *turn;   /* [n_batches]: the k-th batch of the epoch is batch turn[k] */
    int64_t n_batches;
    double fill;
    int64_t windows; /* windows drawn per batch; 0: batches are the plan's pairs */
    int64_t *first;  /* [windows]: first token of each window */
    int32_t *ids;    /* memory of the last batch returned */
    int64_t *example;
    size_t ids_cap, example_cap;
};

static int64_t src_len(const pairs *p, int64_t i) { return p->src_at[i + 1] - p->src_at[i]; }
static int64_t tgt_len(const pairs *p, int64_t i) { return p->tgt_at[i + 1] - p->tgt_at[i]; }

/* ---- upper bounds over all batches ---- */

static int64_t longest_of(const int64_t *at, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        if (at[i + 1] - at[i] > most) most = at[i + 1] - at[i];
    return most;
}

/* The largest number of sequences, out of n, that together have at most `budget` tokens. */
static int64_t most_within(const int64_t *at, int64_t n, int64_t longest, int64_t budget)
{
    AUTOFREE int64_t *with = xcalloc((size_t)longest + 1, sizeof *with); /* with[l]: number of sequences of l tokens */
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) with[at[i + 1] - at[i]]++;
    for (int64_t length = 0, left = budget; length <= left && length <= longest; length++) {
        int64_t some = length && with[length] > left / length ? left / length : with[length];
        most += some;
        left -= some * length;
    }
    return most;
}

static batch_limits limits_of(const pairs *p, const batch_options *o)
{
    batch_limits l = {.src_longest = longest_of(p->src_at, p->n), .tgt_longest = longest_of(p->tgt_at, p->n)};
    int64_t src = most_within(p->src_at, p->n, l.src_longest, o->batch_tokens);
    int64_t tgt = most_within(p->tgt_at, p->n, l.tgt_longest, o->batch_tokens);
    l.sentences = src < tgt ? src : tgt;
    if (o->max_sentences && o->max_sentences < l.sentences) l.sentences = o->max_sentences;
    return l;
}

/* ---- the plan of an epoch ---- */

typedef struct {
    int64_t pair, tgt, src, rank;
} sorting; /* rank: index before sorting, so that sorting is stable */

static int by_length(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    if (x->tgt != y->tgt) return x->tgt < y->tgt ? -1 : 1;
    if (x->src != y->src) return x->src < y->src ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* Sorts order[0..n) by target then source length, upwards or downwards. */
static void sort_pool(const pairs *p, int64_t *order, int64_t n, bool down)
{
    AUTOFREE sorting *s = xmalloc((size_t)n * sizeof *s);
    for (int64_t i = 0; i < n; i++) s[i] = (sorting){order[i], tgt_len(p, order[i]), src_len(p, order[i]), i};
    qsort(s, (size_t)n, sizeof *s, by_length);
    for (int64_t i = 0; i < n; i++) order[down ? n - 1 - i : i] = s[i].pair;
}

/* Cuts the order into batches, each as full as the budget allows. */
static void cut_batches(batcher *b)
{
    const pairs *p = b->p;
    int64_t src = 0, tgt = 0, n = 0;
    double filled = 0;
    b->n_batches = 0;
    b->cut[0] = 0;
    for (int64_t i = 0; i <= p->n; i++) {
        int64_t s = i < p->n ? src_len(p, b->order[i]) : 0, t = i < p->n ? tgt_len(p, b->order[i]) : 0;
        bool full = src + s > b->o.batch_tokens || tgt + t > b->o.batch_tokens ||
                    (b->o.max_sentences && n == b->o.max_sentences);
        if (full || i == p->n) {
            filled += (double)(src > tgt ? src : tgt) / (double)b->o.batch_tokens;
            b->cut[++b->n_batches] = i;
            src = tgt = n = 0;
        }
        src += s, tgt += t, n++;
    }
    b->fill = filled / (double)b->n_batches;
}

static void plan(batcher *b)
{
    if (b->planned == b->next.epoch) return;
    int64_t n = b->p->n;
    if (b->o.renew) b->o.renew(b->o.self, b->next.epoch);
    if (b->windows) {
        b->n_batches = (n + b->windows - 1) / b->windows;
        b->fill = (double)(b->windows * b->p->window) / (double)b->o.batch_tokens;
        for (int64_t k = 0; k < b->n_batches; k++) b->turn[k] = k;
        b->planned = b->next.epoch;
        return;
    }
    for (int64_t i = 0; i < n; i++) b->order[i] = i;
    rng r = rng_seed(b->o.seed, (uint64_t)b->next.epoch);
    if (b->o.train) rng_shuffle(&r, b->order, (size_t)n);
    bool down = !b->o.train;
    for (int64_t i = 0; i < n; i += b->pool, down = !down)
        sort_pool(b->p, b->order + i, i + b->pool < n ? b->pool : n - i, down);
    cut_batches(b);
    for (int64_t k = 0; k < b->n_batches; k++) b->turn[k] = k;
    if (b->o.train) rng_shuffle(&r, b->turn, (size_t)b->n_batches);
    b->planned = b->next.epoch;
}

batcher *batcher_new(const pairs *p, const batch_options *o, err *e)
{
    int64_t budget = o->batch_tokens;
    if (p->n < 1 || budget < 1) {
        fail(e, "batches of %lld tokens from %lld pairs: expected at least one of each", (long long)budget,
             (long long)p->n);
        return NULL;
    }
    for (int64_t i = 0; i < p->n; i++) {
        if (src_len(p, i) <= budget && tgt_len(p, i) <= budget) continue;
        fail(e,
             "example %lld has %lld source and %lld target tokens (including EOS), more than batch_tokens = %lld; "
             "increase batch_tokens or set "
             "max_length = %lld",
             (long long)p->example[i] + 1, (long long)src_len(p, i), (long long)tgt_len(p, i), (long long)budget,
             (long long)budget);
        return NULL;
    }
    batcher *b = xcalloc(1, sizeof *b);
    *b = (batcher){.p = p, .o = *o, .limits = limits_of(p, o), .planned = -1};
    int64_t rows = p->src_at[p->n] > p->tgt_at[p->n] ? p->src_at[p->n] : p->tgt_at[p->n];
    int64_t batches = (rows + budget - 1) / budget, pool = o->pool ? o->pool : POOL_BATCHES;
    b->pool = o->train ? (p->n * pool + batches - 1) / batches : p->n;
    if (b->pool < 1 || b->pool > p->n) b->pool = p->n;
    b->order = xmalloc((size_t)p->n * sizeof *b->order);
    b->cut = xmalloc(((size_t)p->n + 1) * sizeof *b->cut);
    b->turn = xmalloc((size_t)p->n * sizeof *b->turn);
    if (o->train && p->text) {
        b->windows = budget / p->window;
        if (o->max_sentences && b->windows > o->max_sentences) b->windows = o->max_sentences;
        b->first = xcalloc((size_t)b->windows, sizeof *b->first);
    }
    plan(b);
    return b;
}

void batcher_free(batcher *b)
{
    if (!b) return;
    free(b->order);
    free(b->cut);
    free(b->turn);
    free(b->first);
    free(b->ids);
    free(b->example);
    free(b);
}

/* ---- batches ---- */

static int64_t round_up(int64_t n, int64_t to) { return to > 1 ? (n + to - 1) / to * to : n; }

/* Draws the first tokens of a training batch's windows. */
static void draw_windows(batcher *b)
{
    rng r = rng_seed(b->o.seed ^ UINT64_C(0xd1b54a32d192ed03), (uint64_t)b->next.epoch << 32 | (uint64_t)b->next.index);
    for (int64_t i = 0; i < b->windows; i++)
        b->first[i] = (int64_t)rng_below(&r, (uint64_t)(b->p->text - b->p->window) + 1);
}

/* A batch consists of items: windows, or pairs in the plan's order. */
static int64_t items_of(const batcher *b, int64_t k) { return b->windows ? b->windows : b->cut[k + 1] - b->cut[k]; }
static int64_t pair_of(const batcher *b, int64_t k, int64_t item)
{
    return b->windows ? 0 : b->order[b->cut[k] + item];
}
static int64_t target_of(const batcher *b, int64_t k, int64_t item)
{
    return b->windows ? b->first[item] : b->p->tgt_at[pair_of(b, k, item)];
}
static int64_t rows_of(const batcher *b, int64_t k, int64_t item)
{
    int64_t pair = pair_of(b, k, item);
    return src_len(b->p, pair) + tgt_len(b->p, pair);
}

typedef struct {
    int64_t from, to;
} range;

/* This rank's slice of batch k. Slices are consecutive, with about equal numbers of tokens. */
static range slice_of(const batcher *b, int64_t k)
{
    int64_t n = items_of(b, k), rows = 0, before = 0;
    range mine = {n, n};
    if (b->o.ranks < 2) return (range){0, n};
    for (int64_t i = 0; i < n; i++) rows += rows_of(b, k, i);
    for (int64_t i = 0; i < n; i++) {
        /* the item goes to the rank whose share contains its middle */
        int64_t middle = 2 * before + rows_of(b, k, i), rank = middle * b->o.ranks / (2 * rows);
        if (rank >= b->o.rank && mine.from == n) mine.from = i;
        if (rank > b->o.rank) return mine.to = i, mine;
        before += rows_of(b, k, i);
    }
    return mine;
}

/* Sets the sizes of batch k and of this rank's slice. */
static void measure(const batcher *b, int64_t k, range mine, batch *out)
{
    *out = (batch){
        .n_sentences = mine.to - mine.from, .epoch = b->next.epoch, .index = b->next.index, .limits = b->limits};
    for (int64_t i = 0; i < items_of(b, k); i++) {
        int64_t pair = pair_of(b, k, i), s = src_len(b->p, pair), t = tgt_len(b->p, pair), predicted = 0;
        const int32_t *y = b->p->tgt + target_of(b, k, i);
        for (int64_t j = 0; j < t; j++) predicted += y[j] >= 0;
        out->all_src_rows += s, out->all_tgt_rows += t, out->all_predicted += predicted;
        if (i < mine.from || i >= mine.to) continue;
        out->src_rows += s, out->tgt_rows += t, out->predicted += predicted;
        if (s > out->src_longest) out->src_longest = s;
        if (t > out->tgt_longest) out->tgt_longest = t;
    }
    out->src_cap = round_up(out->src_rows, b->o.round);
    out->tgt_cap = round_up(out->tgt_rows, b->o.round);
}

/* The decoder's input when it predicts target token `at`. first: `at` begins a sentence or window. */
static int32_t read_before(const pairs *p, int64_t at, bool first)
{
    if (p->in) return p->in[at];
    return (p->text ? !at : first) ? VOCAB_BOS : p->tgt[at - 1];
}

/* Copies one side of the items: ids (of the target side also the inputs), positions, offsets; then padding rows. */
static void copy_side(const batcher *b, int64_t k, range mine, bool target, int64_t cap, int32_t *in, int32_t *out,
                      int32_t *pos, int32_t *offset)
{
    const pairs *p = b->p;
    int64_t row = 0;
    for (int64_t i = mine.from; i < mine.to; i++) {
        int64_t pair = pair_of(b, k, i), length = target ? tgt_len(p, pair) : src_len(p, pair);
        int64_t from = target ? target_of(b, k, i) : p->src_at[pair];
        *offset++ = (int32_t)row;
        for (int64_t j = 0; j < length; j++, row++) {
            in[row] = target ? read_before(p, from + j, !j) : p->src[from + j];
            if (target) out[row] = p->tgt[from + j];
            pos[row] = (int32_t)j;
        }
    }
    *offset = (int32_t)row;
    for (; row < cap; row++) {
        in[row] = VOCAB_PAD;
        if (target) out[row] = -1;
        pos[row] = 0;
    }
}

/* Replaces source tokens by VOCAB_UNK. Which ones depends on (seed, epoch, index) only, as the batch does. */
static void drop_words(const batcher *b, int64_t k, range mine, int32_t *ids, int64_t rows)
{
    rng r = rng_seed(b->o.seed ^ UINT64_C(0x9e3779b97f4a7c15), (uint64_t)b->next.epoch << 32 | (uint64_t)b->next.index);
    int64_t before = 0;
    for (int64_t i = 0; i < mine.from; i++) before += src_len(b->p, pair_of(b, k, i));
    for (int64_t i = 0; i < before; i++) rng_uniform(&r);
    for (int64_t i = 0; i < rows; i++)
        if (rng_uniform(&r) < b->o.word_dropout && ids[i] != VOCAB_EOS) ids[i] = VOCAB_UNK;
}

static void fill(batcher *b, int64_t k, batch *out)
{
    if (b->windows) draw_windows(b);
    range mine = slice_of(b, k);
    measure(b, k, mine, out);
    size_t n = (size_t)out->n_sentences, s = (size_t)out->src_cap, t = (size_t)out->tgt_cap;
    b->ids = grow(b->ids, &b->ids_cap, 2 * s + 3 * t + 2 * (n + 1), sizeof *b->ids);
    b->example = grow(b->example, &b->example_cap, n + 1, sizeof *b->example);
    int32_t *src_ids = b->ids, *src_pos = src_ids + s, *tgt_in = src_pos + s, *tgt_out = tgt_in + t,
            *tgt_pos = tgt_out + t;
    int32_t *src_offset = tgt_pos + t, *tgt_offset = src_offset + n + 1;
    copy_side(b, k, mine, false, out->src_cap, src_ids, NULL, src_pos, src_offset);
    if (b->o.train && b->o.word_dropout > 0) drop_words(b, k, mine, src_ids, out->src_rows);
    copy_side(b, k, mine, true, out->tgt_cap, tgt_in, tgt_out, tgt_pos, tgt_offset);
    for (int64_t i = 0; i < out->n_sentences; i++)
        b->example[i] =
            b->windows ? b->first[mine.from + i] / b->p->window : b->p->example[pair_of(b, k, mine.from + i)];
    out->src_ids = src_ids, out->src_pos = src_pos, out->src_offset = src_offset;
    out->tgt_in = tgt_in, out->tgt_out = tgt_out, out->tgt_pos = tgt_pos, out->tgt_offset = tgt_offset;
    out->example = b->example;
}

bool batcher_next(batcher *b, batch *out)
{
    plan(b);
    if (b->next.index == b->n_batches) {
        if (!b->o.train) return false;
        b->next = (batch_state){b->next.epoch + 1, 0};
        plan(b);
    }
    fill(b, b->turn[b->next.index], out);
    b->next.index++;
    return true;
}

batch_state batcher_state(const batcher *b) { return b->next; }

int batcher_seek(batcher *b, batch_state s, err *e)
{
    batch_state before = b->next;
    b->next = s;
    if (s.epoch >= 0 && (b->o.train || !s.epoch)) {
        plan(b);
        if (s.index >= 0 && s.index <= b->n_batches) return 0;
    }
    int64_t n = b->n_batches;
    b->next = before;
    plan(b);
    return fail(e,
                "no batch %lld in epoch %lld: an epoch of this data has %lld batches; was the checkpoint made with "
                "other data or settings?",
                (long long)s.index, (long long)s.epoch, (long long)n);
}

int64_t batcher_count(const batcher *b) { return b->n_batches; }
double batcher_fill(const batcher *b) { return b->fill; }
