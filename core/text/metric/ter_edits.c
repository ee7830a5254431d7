/* ter_edits.c - the fewest edits with shifts, by Tercom's greedy search: the best shift first, until no shift lowers
 * the edit distance. Tercom's limits and order of preference are kept, because the result depends on them. */
#include "text/metric/ter.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_SHIFT = 10, FARTHEST_SHIFT = 50, BEAM = 25, MOST_CANDIDATES = 1000 };
enum { NEVER = 1 << 30 };                        /* the cost of a cell outside the beam */
enum { SAME, REPLACE, DELETE, INSERT, UNKNOWN }; /* edits of the hypothesis */

typedef struct {
    int32_t cost;
    int32_t edit;
} cell;

typedef struct {
    const int32_t *ref;
    int32_t *hyp, *shifted; /* [n_hyp] */
    size_t n_hyp, n_ref;
    cell *cells;    /* [n_hyp + 1][n_ref + 1] for `hyp` */
    cell *spare;    /* cells of a shifted hypothesis; rows before the shift are valid only in `cells` */
    int32_t *place; /* [n_ref]: the hypothesis word aligned with each reference word; -1: before the first word */
    bool *wrong_hyp, *wrong_ref;
    int candidates;
} search;

/* Fills the rows from `row` on; fills only the cells near the diagonal. */
static void fill(const search *s, const int32_t *hyp, cell *cells, size_t row)
{
    size_t wide = s->n_ref + 1;
    double ratio = s->n_hyp ? (double)s->n_ref / (double)s->n_hyp : 1;
    int64_t beam = BEAM < ratio / 2 ? (int64_t)ceil(ratio / 2 + BEAM) : BEAM;
    for (size_t i = row; i <= s->n_hyp; i++) {
        cell *now = cells + i * wide;
        const cell *above = now - wide;
        int64_t diagonal = (int64_t)floor((double)i * ratio), from = diagonal - beam, to = diagonal + beam;
        if (from < 0) from = 0;
        if (to > (int64_t)wide || i == s->n_hyp) to = (int64_t)wide;
        for (size_t j = 0; j < wide; j++) now[j] = (cell){NEVER, UNKNOWN};
        for (int64_t j = from; j < to; j++) {
            if (!j) {
                now[0] = (cell){above[0].cost + 1, DELETE};
                continue;
            }
            bool same = hyp[i - 1] == s->ref[j - 1];
            const cell ways[] = {{above[j - 1].cost + !same, same ? SAME : REPLACE},
                                 {above[j].cost + 1, DELETE},
                                 {now[j - 1].cost + 1, INSERT}};
            for (size_t k = 0; k < LENGTH(ways); k++)
                if (now[j].cost > ways[k].cost) now[j] = ways[k];
        }
    }
}

static int32_t distance(const search *s, const cell *cells) { return cells[(s->n_hyp + 1) * (s->n_ref + 1) - 1].cost; }

/* Traces the edits back: marks wrong words and aligns each reference word with the hypothesis. */
static void align(search *s)
{
    size_t i = s->n_hyp, j = s->n_ref;
    while (i || j) {
        int32_t edit = s->cells[i * (s->n_ref + 1) + j].edit;
        if (edit == DELETE) {
            s->wrong_hyp[--i] = true;
            continue;
        }
        s->place[--j] = (int32_t)i - 1;
        s->wrong_ref[j] = edit != SAME;
        if (edit != INSERT) s->wrong_hyp[--i] = edit != SAME;
    }
}

/* Writes `hyp` to `to` with the `n` words from `start` on moved before word `target`. */
static void shift(const search *s, size_t start, size_t n, size_t target, int32_t *to)
{
    size_t first = target < start ? target : start, i = 0;
    size_t last = target < start ? start : target > start + n ? target : target + n;
    if (last > s->n_hyp) last = s->n_hyp;
    memcpy(to, s->hyp, s->n_hyp * sizeof *to);
    i = first;
    if (target < start) {
        memcpy(to + i, s->hyp + start, n * sizeof *to);
        memcpy(to + i + n, s->hyp + first, (start - first) * sizeof *to);
    } else {
        memcpy(to + i, s->hyp + start + n, (last - start - n) * sizeof *to);
        memcpy(to + i + (last - start - n), s->hyp + start, n * sizeof *to);
    }
}

typedef struct {
    int32_t gain;
    size_t n, start, target;
    bool found;
} candidate;

/* Prefers the larger gain, then the longer block, then the earlier block, then the earlier target. */
static bool is_better(const candidate *a, const candidate *b)
{
    if (!b->found || a->gain != b->gain) return !b->found || a->gain > b->gain;
    if (a->n != b->n) return a->n > b->n;
    return a->start != b->start ? a->start < b->start : a->target < b->target;
}

static bool any(const bool *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i]) return true;
    return false;
}

/* Tries to move the block at `start`, which the reference has at `at`, next to words that are aligned near `at`. */
static void try_targets(search *s, size_t start, size_t at, size_t n, candidate *best)
{
    int64_t before = -1;
    for (int64_t k = (int64_t)at - 1; k < (int64_t)(at + n) && k < (int64_t)s->n_ref; k++) {
        int64_t target = k < 0 ? 0 : s->place[k] + 1;
        if (target == before) continue;
        before = target;
        shift(s, start, n, (size_t)target, s->shifted);
        size_t row = (size_t)target < start ? (size_t)target : start, wide = s->n_ref + 1;
        memcpy(s->spare + row * wide, s->cells + row * wide, wide * sizeof *s->spare);
        fill(s, s->shifted, s->spare, row + 1);
        candidate c = {distance(s, s->cells) - distance(s, s->spare), n, start, (size_t)target, true};
        if (is_better(&c, best)) *best = c;
        s->candidates++;
    }
}

/* Tries all blocks of words that both sides have at different places and that are wrong on both sides. */
static void try_blocks(search *s, candidate *best)
{
    for (size_t start = 0; start < s->n_hyp; start++)
        for (size_t at = 0; at < s->n_ref; at++) {
            if ((at > start ? at - start : start - at) > FARTHEST_SHIFT) continue;
            for (size_t n = 1; n <= LONGEST_SHIFT && start + n <= s->n_hyp && at + n <= s->n_ref; n++) {
                if (s->hyp[start + n - 1] != s->ref[at + n - 1]) break;
                int64_t place = s->place[at];
                if (!any(s->wrong_hyp + start, n) || !any(s->wrong_ref + at, n)) continue;
                if (place >= (int64_t)start && place < (int64_t)(start + n)) continue;
                try_targets(s, start, at, n, best);
                if (s->candidates >= MOST_CANDIDATES) return;
            }
        }
}

int64_t ter_edits(const int32_t *hyp, size_t n_hyp, const int32_t *ref, size_t n_ref)
{
    if (!n_ref) return (int64_t)n_hyp;
    size_t cells = (n_hyp + 1) * (n_ref + 1), bytes = (n_hyp + 1) * sizeof *hyp;
    search s = {.ref = ref, .n_hyp = n_hyp, .n_ref = n_ref};
    s.hyp = xmalloc(bytes), s.shifted = xmalloc(bytes);
    s.cells = xmalloc(cells * sizeof *s.cells), s.spare = xmalloc(cells * sizeof *s.spare);
    s.place = xmalloc(n_ref * sizeof *s.place);
    s.wrong_hyp = xcalloc(n_hyp + 1, sizeof(bool)), s.wrong_ref = xcalloc(n_ref, sizeof(bool));
    if (n_hyp) memcpy(s.hyp, hyp, n_hyp * sizeof *hyp);
    for (size_t j = 0; j <= n_ref; j++) s.cells[j] = (cell){(int32_t)j, INSERT};
    fill(&s, s.hyp, s.cells, 1);
    int64_t shifts = 0;
    for (;;) {
        candidate best = {0};
        align(&s);
        try_blocks(&s, &best);
        if (s.candidates >= MOST_CANDIDATES || !best.found || best.gain <= 0) break;
        shift(&s, best.start, best.n, best.target, s.shifted);
        memcpy(s.hyp, s.shifted, n_hyp * sizeof *hyp);
        fill(&s, s.hyp, s.cells, 1);
        shifts++;
    }
    int64_t edits = shifts + distance(&s, s.cells);
    free(s.hyp), free(s.shifted), free(s.cells), free(s.spare), free(s.place), free(s.wrong_hyp), free(s.wrong_ref);
    return edits;
}
