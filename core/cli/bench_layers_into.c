/* bench_layers_into.c - ablate bench layers --into EXPERIMENT: measures the encoder layer of each row and adds the
 * figures to the row's runs, as results for the table and as curves over sentence length. */
#include "cli/bench_layers.h"
#include "tensor/device/device.h"
#include "lab/results/read.h"
#include <math.h>

enum { SHOWN = 1024 }; /* the length whose figures are in the table */

static const layer_point *point_at(const layer *l, int64_t n)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].n == n) return &l->at[i];
    return NULL;
}

/* ---- measuring ---- */

static int measure_row(layer *l, const read_row *row, const int64_t *n, size_t n_lengths, const layers_options *o,
                       arena *a, err *e)
{
    settings set = {0};
    if (config_from_json(row->config_json, &set, a, e)) return -1;
    const char *name = settings_get(&set, "attention_encoder"), *all = settings_get(&set, "attention"),
               *layers = settings_get(&set, "layers_encoder");
    int64_t stack = 1;
    /* measures the last layer of the stack, the widest if dilation grows */
    if (layers && parse_int(layers, &stack) && stack > 1) l->layer = stack - 1;
    l->label = row->name;
    return layer_measure(l, name && !same(name, "same") ? name : all, &set, n, n_lengths, o, e);
}

/* ---- recording ---- */

enum { MOST_RESULTS = 8 };

static size_t results_of(const layer *l, const layer *recurrent, const char *how, db_result *out)
{
    const layer_point *shown = point_at(l, SHOWN);
    const struct {
        const char *metric;
        double value;
    } all[] = {{"time n^", layer_exponent(l, LAYER_MS)},
               {"FLOPs n^", layer_exponent(l, LAYER_FLOPS)},
               {"memory n^", layer_exponent(l, LAYER_BYTES)},
               {"chain n^", layer_exponent(l, LAYER_CHAIN)},
               {"ms 1024", shown ? shown->ms : NAN},
               {"MFLOP 1024", shown ? shown->flops / 1e6 : NAN},
               {"chain 1024", shown ? (double)shown->chain : NAN},
               {"as recurrent at", recurrent && recurrent != l ? layer_crossover(l, recurrent) : 0}};
    size_t n = 0;
    _Static_assert(LENGTH(all) == MOST_RESULTS, "one a metric");
    for (size_t i = 0; i < LENGTH(all); i++) {
        if (!isfinite(all[i].value) || (i == LENGTH(all) - 1 && all[i].value <= 0)) continue;
        out[n] = (db_result){.metric = all[i].metric,
                             .signature = n ? NULL : how,
                             .value = fabs(all[i].value) < 0.005 ? 0 : all[i].value,
                             .how = "measured"};
        n++;
    }
    return n;
}

static size_t points_of(const layer *l, db_point *out)
{
    static const char *const names[LAYER_NUMBERS] = {"layer ms", "layer FLOPs", "layer bytes", "layer chain"};
    size_t n = 0;
    for (layer_number k = 0; k < LAYER_NUMBERS; k++)
        for (size_t i = 0; i < l->n; i++)
            out[n++] = (db_point){.metric = names[k], .step = l->at[i].n, .value = layer_number_at(&l->at[i], k)};
    return n;
}

static int write_row(db *d, const read_row *row, const layer *l, const layer *recurrent, const char *how, err *e)
{
    db_result results[MOST_RESULTS];
    db_point points[LAYER_NUMBERS * MOST_POINTS];
    size_t n_results = results_of(l, recurrent, how, results), n_points = points_of(l, points);
    int bad = 0;
    for (size_t i = 0; i < row->n_runs && !bad; i++)
        if (row->runs[i].status == DB_DONE && !row->runs[i].recorded)
            bad = db_put_beside(d, row->runs[i].id, results, n_results, points, n_points, e);
    return bad;
}

static int read_rows(const char *experiment, const places *p, arena *a, read_experiment *x, err *e)
{
    CLEANUP(reader_end) reader *r = reader_open(&p->db, e);
    int rc = r ? reader_experiment(r, experiment, READ_VALUES, a, x, e) : -1;
    if (rc == 1) rc = reader_no_experiment(r, experiment, e);
    size_t done = 0;
    for (size_t i = 0; !rc && i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs; k++)
            done += x->rows[i].runs[k].status == DB_DONE && !x->rows[i].runs[k].recorded;
    return rc      ? -1
           : !done ? fail(e, "experiment \"%s\": found no run trained here to add figures to: start with `ablate run`",
                          experiment)
                   : 0;
}

int layers_into(const layers_options *o, const places *p, const int64_t *n, size_t n_lengths, arena *a, layer **out,
                size_t *n_out, err *e)
{
    read_experiment x;
    if (read_rows(o->into, p, a, &x, e)) return -1;
    layer *l = arena_alloc(a, x.n_rows * sizeof *l);
    size_t made = 0, *row_of = arena_alloc(a, x.n_rows * sizeof *row_of);
    for (size_t i = 0; i < x.n_rows; i++) {
        if (x.rows[i].same_as || x.rows[i].not_applicable) continue;
        row_of[made] = i;
        if (measure_row(&l[made++], &x.rows[i], n, n_lengths, o, a, e)) return -1;
    }
    const char *how = arena_printf(
        a, "this and the columns after it: a single layer, d_model %lld, %lld heads, forward and backward in fp32, %s",
        (long long)o->d_model, (long long)o->heads, cpu_description());
    db *d = db_open(&p->db, e);
    int bad = d ? 0 : -1;
    for (size_t i = 0; i < made && !bad; i++)
        bad = write_row(d, &x.rows[row_of[i]], &l[i], layers_recurrent(l, made), how, e);
    db_close(d);
    *out = l;
    *n_out = made;
    return bad;
}
