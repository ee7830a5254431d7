/* watch_frame.c - draws a line per row of a sweep: states, step, speed, time left, dev PPL as a sparkline, mean. */
#include "lab/report/watch.h"
#include "lab/launch/care.h"
#include "lab/launch/launch.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

enum { SPARK = 16, MOST_SEEDS = 12, MOST_FAILURES = 3 };

/* Adds text in a field of this width: truncated, or padded on the right (left: on the left). */
static void field(str *line, const char *text, size_t wide, bool left)
{
    size_t n = utf8_prefix(text, wide), fill = wide - utf8_count(text, n);
    if (left) str_addf(line, "%*s", (int)fill, "");
    str_addn(line, text, n);
    if (!left) str_addf(line, "%*s", (int)fill, "");
    str_addc(line, ' ');
}

static const char *span(double seconds, char out[24])
{
    const char *known = launch_span(seconds, out);
    return known ? known : "";
}

static const char *state_sign(enum db_status s)
{
    static const char *const signs[] = {"·", "▶", "✓", "✗", "!", "-"};
    return signs[s];
}

/* Returns the remaining seconds of a running run, from its own rate; NaN: unknown. */
static double left_of(const read_run *run, double now)
{
    double spent = now - run->started_at;
    if (run->status != DB_RUNNING || run->step <= 0 || run->total_steps <= 0 || !(spent > 0)) return NAN;
    return spent / (double)run->step * (double)(run->total_steps - run->step);
}

/* Finds the run shown on a row's line: the running one, else the last one started. */
static const read_run *run_of(const read_row *row)
{
    const read_run *found = NULL;
    for (size_t i = 0; i < row->n_runs; i++) {
        const read_run *x = &row->runs[i];
        if (x->status == DB_RUNNING) return x;
        if (x->status != DB_QUEUED) found = x;
    }
    return found;
}

/* Draws dev perplexity on a logarithmic scale from its minimum to its maximum. */
static int sparkline(reader *r, int64_t run, str *out, err *e)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    CLEANUP(arena_free) arena a = {0};
    read_curve *curves;
    size_t n;
    int rc = reader_curves(r, run, "dev_PPL", &a, &curves, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        const read_point *p = curves[i].points;
        size_t many = curves[i].n < SPARK ? curves[i].n : SPARK;
        double low = INFINITY, high = -INFINITY;
        for (size_t k = 0; k < curves[i].n; k++)
            if (p[k].value > 0) low = fmin(low, log(p[k].value)), high = fmax(high, log(p[k].value));
        for (size_t k = 0; k < many; k++) {
            double v = p[many > 1 ? k * (curves[i].n - 1) / (many - 1) : 0].value;
            double at = high > low && v > 0 ? (log(v) - low) / (high - low) : 0;
            str_add(out, isfinite(v) ? bars[(int)lround(at * 7)] : "?");
        }
    }
    return rc;
}

static void mean_text(const read_experiment *x, const read_row *row, char out[48])
{
    const char *metric = x->headline ? x->headline : x->n_metrics ? x->metrics[0] : NULL;
    double sum = 0, squares = 0;
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; i < row->n_runs && metric; i++)
        for (size_t k = 0; k < row->runs[i].n_results; k++) {
            const read_result *q = &row->runs[i].results[k];
            if (same(q->metric, metric) && isfinite(q->value)) sum += q->value, squares += q->value * q->value, n++;
        }
    double mean = sum / (double)n, variance = n > 1 ? (squares - sum * mean) / (double)(n - 1) : 0;
    if (n > 1)
        snprintf(out, 48, "%.4g ± %.2g", mean, sqrt(variance > 0 ? variance : 0));
    else if (n)
        snprintf(out, 48, "%.4g", mean);
}

static int row_line(reader *r, const read_experiment *x, const read_row *row, const watch_view *v, double now, str *out,
                    err *e)
{
    CLEANUP(str_free) str states = {0}, spark = {0}, line = {0};
    char text[64], mean[48], eta[24];
    const read_run *run = run_of(row);
    size_t wide = (size_t)v->columns, rest = wide >= 100 ? 53 + SPARK + 1 : 53; /* rest: columns after the name */
    size_t name = wide > rest + 60 ? 60 : wide > rest + 12 ? wide - rest : 12;
    for (size_t i = 0; i < row->n_runs && i < MOST_SEEDS; i++) str_add(&states, state_sign(row->runs[i].status));
    int rc = run ? sparkline(r, run->id, &spark, e) : 0;
    field(&line, row->name, name, false);
    field(&line, str_text(&states), MOST_SEEDS / 2, false);
    snprintf(text, sizeof text, run && run->step >= 0 && run->total_steps > 0 ? "%lld/%lld" : "",
             run ? (long long)run->step : 0, run ? (long long)run->total_steps : 0);
    field(&line, text, 13, true);
    double spent = run && run->status == DB_RUNNING ? now - run->started_at : NAN;
    snprintf(text, sizeof text, spent > 0 && run->step > 0 ? "%.3g/s" : "", run ? (double)run->step / spent : 0.0);
    field(&line, text, 7, true);
    field(&line, run ? span(left_of(run, now), eta) : "", 6, true);
    if (wide >= 100) field(&line, str_text(&spark), SPARK, false);
    mean_text(x, row, mean);
    field(&line, row->not_applicable ? "n/a" : mean, 15, true);
    str_addn(out, line.s, utf8_prefix(line.s, wide));
    str_addc(out, '\n');
    return rc;
}

typedef struct {
    size_t of[DB_SKIPPED + 1], all;
    double left; /* seconds left of the running runs together */
} counts;

static counts count(const read_experiment *x, double now)
{
    counts c = {0};
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as; k++) {
            const read_run *run = &x->rows[i].runs[k];
            c.of[run->status]++, c.all++;
            double left = left_of(run, now);
            if (isfinite(left) && left > c.left) c.left = left;
        }
    return c;
}

/* Describes in *why what went wrong with an ended run or goes wrong with a running one; NULL: nothing. */
static int trouble_of(reader *r, const read_run *run, char text[128], const char **why, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_curve *curves = NULL;
    size_t n = 0;
    care_curve c = {0};
    *why = run->status == DB_FAILED ? run->error ? run->error : "" : NULL;
    for (size_t k = 0; k < run->n_results && !*why; k++)
        if (same(run->results[k].metric, "PPL") && !isfinite(run->results[k].value)) *why = "it diverged";
    if (*why || run->status != DB_RUNNING) return 0; /* the table reports runs that have ended */
    int rc = reader_curves(r, run->id, "dev_PPL", &a, &curves, &n, e);
    for (size_t i = 0; i < n && !rc; i++)
        for (size_t k = 0; k < curves[i].n; k++) care_see(&c, curves[i].points[k].step, curves[i].points[k].value);
    if (!rc) *why = care_trouble(&c, run->total_steps, text);
    return rc;
}

/* Prints the first failures and troubles, a line each; *all: their number. */
static int troubles(reader *r, const read_experiment *x, const watch_view *v, str *out, size_t *all, err *e)
{
    int rc = 0;
    *all = 0;
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as && !rc; k++) {
            const read_run *run = &x->rows[i].runs[k];
            char text[128];
            const char *why;
            rc = trouble_of(r, run, text, &why, e);
            if (rc || !why || ++*all > MOST_FAILURES) continue;
            AUTOFREE char *line =
                xprintf("%s %s s%lld: %.*s  (ablate watch %lld --log)", run->status == DB_FAILED ? "✗" : "!",
                        x->rows[i].name, (long long)run->seed, (int)strcspn(why, "\n"), why, (long long)run->id);
            str_addn(out, line, utf8_prefix(line, (size_t)v->columns));
            str_addc(out, '\n');
        }
    return rc;
}

int watch_frame(reader *r, const read_experiment *x, const watch_view *v, double now, str *out, size_t *wrong, err *e)
{
    counts c = count(x, now);
    CLEANUP(str_free) str foot = {0};
    char eta[24];
    CLEANUP(str_free) str head = {0};
    str_addf(&head, "%s  %zu run%s:", x->name, c.all, c.all == 1 ? "" : "s");
    bool first = true;
    for (enum db_status k = DB_QUEUED; k <= DB_SKIPPED; k++)
        if (c.of[k]) str_addf(&head, "%s %zu %s", first ? "" : ",", c.of[k], db_status_text(k)), first = false;
    if (c.left > 0) str_addf(&head, "; the running ones end in %s", span(c.left, eta));
    int rc = troubles(r, x, v, &foot, wrong, e);
    size_t below = *wrong < MOST_FAILURES ? *wrong : MOST_FAILURES,
           room = (size_t)v->lines > below + 3 ? (size_t)v->lines - below - 3 : 1, shown = 0;
    str_addf(out, "%s%.*s%s\n", v->color ? "\033[1m" : "", (int)utf8_prefix(head.s, (size_t)v->columns), head.s,
             v->color ? "\033[0m" : "");
    for (size_t i = v->first; i < x->n_rows && shown < room && !rc; i++) {
        if (x->rows[i].same_as) continue;
        rc = row_line(r, x, &x->rows[i], v, now, out, e);
        shown++;
    }
    size_t rows = 0;
    for (size_t i = 0; i < x->n_rows; i++) rows += !x->rows[i].same_as;
    if (shown < rows) str_addf(out, "%zu of %zu rows; j and k move\n", shown, rows);
    str_add(out, str_text(&foot));
    return rc;
}
