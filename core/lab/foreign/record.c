/* record.c - writes imported runs as a record (docs/json.md), which results/import.c imports like ablate's own, and
 * describes the columns that were read. */
#include "lab/foreign/foreign.h"
#include "lab/config/analysis.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes a key of a column's name, with _ for blanks, which separate keys in lists. */
static const char *key_of(foreign *f, size_t column)
{
    char *key = arena_strdup(&f->mem, f->s.columns.at[column]);
    for (char *p = key; *p; p++)
        if (*p == ' ') *p = '_';
    return key;
}

static void add_cell(cJSON *o, const char *key, const char *cell)
{
    double v;
    if (!cell)
        cJSON_AddNullToObject(o, key);
    else if (parse_real(cell, &v))
        cJSON_AddNumberToObject(o, key, v);
    else
        cJSON_AddStringToObject(o, key, cell);
}

static cJSON *settings_of(foreign *f, size_t row)
{
    cJSON *o = cJSON_CreateObject();
    for (size_t i = 0; i < f->columns.n_settings; i++)
        add_cell(o, key_of(f, f->columns.setting[i]), foreign_setting(f, row, f->columns.setting[i]));
    return o;
}

/* Returns a hash that no configuration of ablate's own has: its text begins with "imported". */
static const char *hash_of(foreign *f, const foreign_options *o, const char *row, const cJSON *settings)
{
    char sha[65], *json = cJSON_PrintUnformatted(settings);
    AUTOFREE char *text = xprintf("imported\n%s\n%s\n%s", o->name, row, json);
    sha256_of(text, strlen(text), sha);
    cJSON_free(json);
    return arena_strdup(&f->mem, sha);
}

static cJSON *variant_of(foreign *f, const foreign_options *o, size_t row, size_t ord, const char **hash)
{
    cJSON *v = cJSON_CreateObject(), *settings = settings_of(f, row);
    CLEANUP(str_free) str change = {0}, swept = {0};
    for (size_t i = 0; i < f->columns.n_settings && row != f->base; i++) {
        size_t c = f->columns.setting[i];
        const char *own = foreign_setting(f, row, c);
        if (same(own, foreign_setting(f, f->base, c))) continue;
        str_addf(&change, "%s%s=%s", change.n ? " " : "", key_of(f, c), own ? own : "");
        str_addf(&swept, "%s%s", swept.n ? " " : "", key_of(f, c));
    }
    *hash = hash_of(f, o, f->rows.at[row], settings);
    cJSON_AddStringToObject(v, "hash", *hash);
    cJSON_AddStringToObject(v, "group_name", "");
    cJSON_AddNumberToObject(v, "place", (double)ord);
    cJSON_AddStringToObject(v, "name", f->rows.at[row]);
    cJSON_AddStringToObject(v, "change", str_text(&change));
    cJSON_AddNumberToObject(v, "is_base", row == f->base);
    cJSON_AddStringToObject(v, "swept", str_text(&swept));
    cJSON_AddItemToObject(v, "config", settings);
    return v;
}

static cJSON *result_of(foreign *f, const outcome *x, const foreign_options *o)
{
    cJSON *r = cJSON_CreateObject();
    const char *how = x->n_points && x->step >= 0 ? (o->best && f->direction[x->metric] ? "best" : "last") : "final";
    cJSON_AddStringToObject(r, "metric", f->metrics.at[x->metric]);
    if (f->direction[x->metric]) cJSON_AddStringToObject(r, "direction", f->direction[x->metric]);
    if (x->step >= 0) cJSON_AddNumberToObject(r, "step", (double)x->step);
    cJSON_AddStringToObject(r, "checkpoint", how);
    if (isfinite(x->value))
        cJSON_AddNumberToObject(r, "value", x->value);
    else
        cJSON_AddNullToObject(r, "value");
    if (!x->has_stats) return r;
    /* statistics of AB_SUM_RATIO, 100 * parts / wholes: an example's part is its score, its whole is 100 */
    db_stats stats = {x->n_examples, 2, xmalloc(2 * x->n_examples * sizeof(double))};
    for (size_t i = 0; i < x->n_examples; i++)
        stats.value[2 * i] = x->scale * x->examples[i].value, stats.value[2 * i + 1] = 100;
    CLEANUP(str_free) str text = {0};
    db_stats_text(&stats, &text);
    cJSON_AddStringToObject(r, "stats", text.s);
    free(stats.value);
    return r;
}

static cJSON *curve_of(const foreign *f, const outcome *x)
{
    cJSON *c = cJSON_CreateObject(), *points;
    cJSON_AddStringToObject(c, "metric", f->metrics.at[x->metric]);
    points = cJSON_AddArrayToObject(c, "points");
    for (size_t i = 0; i < x->n_points; i++) {
        double pair[] = {(double)x->points[i].step, x->points[i].value};
        cJSON *p = cJSON_CreateDoubleArray(pair, 1);
        cJSON_AddItemToArray(p, isfinite(pair[1]) ? cJSON_CreateNumber(pair[1]) : cJSON_CreateNull());
        cJSON_AddItemToArray(points, p);
    }
    return c;
}

static const char *source_of(foreign *f)
{
    const char *first = path_end(f->s.files.at[0]);
    size_t more = f->s.files.n - 1;
    return more ? arena_printf(&f->mem, "%s and %zu other files (%s)", first, more, f->s.format)
                : arena_printf(&f->mem, "%s (%s)", first, f->s.format);
}

/* Adds one run, and returns the number of its outcomes, which are sorted by row, seed, metric. */
static size_t add_run(cJSON *runs, foreign *f, const foreign_options *o, size_t i, const char *hash)
{
    const outcome *x = &f->outcomes[i];
    size_t n = 1;
    while (i + n < f->n_outcomes && x[n].row == x->row && x[n].seed == x->seed) n++;
    int64_t last = -1;
    bool failed = false;
    for (size_t k = 0; k < n; k++) failed = failed || x[k].failed;
    cJSON *r = cJSON_CreateObject(), *tag = cJSON_CreateObject(), *list, *curves;
    cJSON_AddStringToObject(r, "hash", hash);
    cJSON_AddNumberToObject(r, "seed", (double)x->seed);
    cJSON_AddStringToObject(r, "status", failed ? "failed" : "done");
    cJSON_AddStringToObject(tag, "tag", DB_IMPORTED);
    cJSON_AddStringToObject(tag, "value", source_of(f));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(r, "tags"), tag);
    list = cJSON_AddArrayToObject(r, "results");
    curves = cJSON_AddArrayToObject(r, "curves");
    for (size_t k = 0; k < n; k++) {
        if (!failed) cJSON_AddItemToArray(list, result_of(f, &x[k], o));
        if (x[k].n_points) cJSON_AddItemToArray(curves, curve_of(f, &x[k]));
        if (x[k].n_points && x[k].points[x[k].n_points - 1].step > last) last = x[k].points[x[k].n_points - 1].step;
    }
    if (last >= 0)
        cJSON_AddNumberToObject(r, "step", (double)last), cJSON_AddNumberToObject(r, "total_steps", (double)last);
    cJSON_AddItemToArray(runs, r);
    return n;
}

static void add_experiment(cJSON *root, foreign *f, const foreign_options *o)
{
    cJSON *x = cJSON_AddObjectToObject(root, "experiment");
    analysis rules = {.criterion = {f->metrics.at[f->headline], o->margin, 0.05, 3, NAN, true, false},
                      .match = "",
                      .imported = source_of(f),
                      .warnings = {f->warnings, f->n_warnings}};
    cJSON_AddStringToObject(x, "name", o->name);
    if (o->note) cJSON_AddStringToObject(x, "note", o->note);
    cJSON_AddStringToObject(x, "headline", f->metrics.at[f->headline]);
    CLEANUP(str_free) str spec = {0};
    str_add(&spec, "; imported, not trained by ablate, from\n");
    for (size_t i = 0; i < f->s.files.n; i++) {
        char sha[65];
        err none = {0};
        if (!sha256_file(f->s.files.at[i], sha, &none)) str_addf(&spec, "; %s  sha256 %s\n", f->s.files.at[i], sha);
    }
    cJSON_AddStringToObject(x, "spec_ini", spec.s);
    if (o->failed_as) parse_real(o->failed_as, &rules.criterion.failed_as);
    cJSON_AddStringToObject(x, "analysis", analysis_write(&rules, &f->mem));
}

int foreign_store(db *d, foreign *f, const foreign_options *o, size_t *runs, err *e)
{
    cJSON *root = cJSON_CreateObject();
    const char **hash = arena_alloc(&f->mem, (f->rows.n + 1) * sizeof *hash);
    cJSON_AddNumberToObject(root, "ablate_export", 1);
    add_experiment(root, f, o);
    cJSON *list = cJSON_AddArrayToObject(root, "variants");
    size_t ord = 1;
    for (size_t r = 0; r < f->rows.n; r++)
        cJSON_AddItemToArray(list, variant_of(f, o, r, r == f->base ? 0 : ord++, &hash[r]));
    list = cJSON_AddArrayToObject(root, "runs");
    for (size_t i = 0; i < f->n_outcomes;) i += add_run(list, f, o, i, hash[f->outcomes[i].row]);
    int rc = db_import_foreign(d, root, o->name, runs, e);
    cJSON_Delete(root);
    return rc;
}

/* ---- description ---- */

static void print_columns(const foreign *f, const char *role, const size_t *column, size_t n, str *out)
{
    for (size_t i = 0; i < n; i++)
        if (column[i] != SIZE_MAX) str_addf(out, "%s%s%s", i ? ", " : "  ", i ? "" : role, f->s.columns.at[column[i]]);
    if (n && column[0] != SIZE_MAX) str_addc(out, '\n');
}

void foreign_describe(const foreign *f, const foreign_options *o, str *out)
{
    const shape *c = &f->columns;
    str_addf(out, "%zu record%s of %s; columns:\n", f->s.n, f->s.n == 1 ? "" : "s", f->s.format);
    print_columns(f, "row        ", c->row, c->n_row, out);
    print_columns(f, "seed       ", &c->seed, 1, out);
    print_columns(f, "step       ", &c->step, 1, out);
    print_columns(f, "example    ", &c->example, 1, out);
    print_columns(f, "status     ", &c->status, 1, out);
    print_columns(f, "settings   ", c->setting, c->n_settings, out);
    str_addf(out, "  %zu row%s, base is %s\n  metrics    ", f->rows.n, f->rows.n == 1 ? "" : "s", f->rows.at[f->base]);
    for (size_t m = 0; m < f->metrics.n; m++)
        str_addf(out, "%s%s (%s%s)", m ? ", " : "", f->metrics.at[m],
                 same(f->direction[m], "max")   ? "higher is better"
                 : same(f->direction[m], "min") ? "lower is better"
                                                : "no direction: --higher-is-better or --lower-is-better sets one",
                 m == f->headline ? "; judged" : "");
    str_addf(out, "\n  result     %s\n",
             c->step == SIZE_MAX                    ? "the value in the file"
             : o->best && f->direction[f->headline] ? "each run's best evaluation"
                                                    : "each run's last evaluation");
    for (size_t i = 0; i < f->n_warnings; i++) str_addf(out, "warning: %s\n", f->warnings[i]);
}
