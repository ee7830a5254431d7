/* recorded.c - adds the recorded runs of an experiment to its table: machine, commit and results. */
#include "lab/report/gather.h"

int gather_recorded(reader *r, gathered *g, arena *a, err *e)
{
    const char *name = arena_printf(a, "%s%s", g->x.name, DB_RECORDED);
    int rc = has_suffix(g->x.name, DB_RECORDED) ? 1 : reader_experiment(r, name, READ_VALUES, a, &g->recorded, e);
    if (rc > 0)
        return fail(e,
                    "experiment \"%s\": found no recorded runs to compare with; `ablate import FILE.json` imports some",
                    g->x.name);
    if (rc) return -1;
    g->has_recorded = true;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        gathered_row *row = &g->rows[i];
        size_t at = row_named(&g->recorded, row->row->name);
        row->recorded = at == NO_ROW ? NULL : &g->recorded.rows[at];
        row->recorded_of = arena_alloc(a, (g->n_metrics + 1) * sizeof *row->recorded_of);
        for (size_t m = 0; m < g->n_metrics && row->recorded; m++)
            measure_runs(row->recorded, g->metrics[m], &row->recorded_of[m], a);
    }
    return 0;
}
