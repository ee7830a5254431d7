/* sequential.c - seeds = until 0.5 BLEU, at most 20: looks at 3, 5, 10, 20 seeds, after the first only for
 * undecided rows. */
#include "lab/sweep/sweep.h"
#include "lab/report/gather.h"

/* Raises the row's seeds to this number; a base may have more from the start (`base =`). */
static void raise_seeds(spec_row *row, size_t seeds)
{
    if (row->n_seeds < seeds) row->n_seeds = seeds;
}

/* Gives the next look's seeds to rows without a verdict or with an undecided one, and then to base. Excludes rows that
 * get no verdict, because a run of theirs or of base failed or diverged. Returns the number of undecided rows. */
static size_t next_look(spec *s, const gathered *g, size_t seeds)
{
    size_t undecided = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].is_base || !s->rows[i].run) continue;
        const comparison *c = NULL;
        for (size_t k = 0; k < g->x.n_rows && g->headline >= 0; k++)
            if (same(g->rows[k].row->name, s->rows[i].name)) c = &g->rows[k].against[g->headline];
        if (c && (c->failed || c->failed_base || (c->verdict && !same(c->verdict, "undecided")))) continue;
        raise_seeds(&s->rows[i], seeds);
        undecided++;
    }
    if (undecided) raise_seeds(&s->rows[0], seeds);
    return undecided;
}

int train_until(spec *s, const trainer *t, err *e)
{
    for (size_t i = 0; i < s->n_rows; i++) raise_seeds(&s->rows[i], look_seeds[0]);
    int failed = 0;
    for (size_t k = 0;; k++) {
        if (look_seeds[k] > s->n_seeds) s->n_seeds = look_seeds[k];
        int code = t->train(t->self, s, e);
        if (code == 1 && !e->text[0])
            failed = 1; /* some runs failed; the other rows continue */
        else if (code)
            return code;
        if (k + 1 == N_LOOKS || (int64_t)look_seeds[k + 1] > s->analysis.until.most) return failed;
        CLEANUP(arena_free) arena a = {0};
        gathered g = {0};
        CLEANUP(reader_end) reader *r = reader_open(t->db, e);
        table_options o = {.trials = 1};
        int bad = r ? gather(r, s->name, &o, false, &a, &g, e) : -1;
        size_t undecided = bad ? 0 : next_look(s, &g, look_seeds[k + 1]);
        if (!bad && t->talk && undecided)
            fprintf(stderr, "%zu row%s undecided with %zu seeds; trying %zu\n", undecided,
                    undecided == 1 ? " is" : "s are", look_seeds[k], look_seeds[k + 1]);
        if (bad) return 1;
        if (!undecided) return failed;
    }
}
