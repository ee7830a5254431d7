/* export.c - writes an experiment's numbers to tables, or to a file per run. */
#include "base/below.h"
#include "lab/export/export.h"
#include "lab/export/frame.h"
#include "lab/export/run_files.h"
#include "base/cleanup.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- settings ---- */

typedef struct {
    const char *key;
    bool number, whole; /* all rows' values are numbers, or whole numbers */
    size_t column;
} setting;

/* Lists a row's settings, nested ones as object.key; value: JSON. */
static size_t row_settings(const read_row *row, arena *a, const read_pair **out)
{
    cJSON *config = cJSON_Parse(row->config_json);
    size_t n = 0, cap = (size_t)cJSON_GetArraySize(config);
    for (const cJSON *v = config ? config->child : NULL; v; v = v->next)
        if (cJSON_IsObject(v)) cap += (size_t)cJSON_GetArraySize(v);
    read_pair *list = arena_alloc(a, (cap + 1) * sizeof *list);
    for (const cJSON *v = config ? config->child : NULL; v; v = v->next)
        for (const cJSON *x = cJSON_IsObject(v) ? v->child : v; x; x = x == v ? NULL : x->next) {
            char *text = cJSON_PrintUnformatted(x);
            list[n++] =
                (read_pair){x == v ? arena_strdup(a, v->string) : arena_printf(a, "%s.%s", v->string, x->string),
                            arena_strdup(a, text ? text : "null")};
            free(text);
        }
    cJSON_Delete(config);
    *out = list;
    return n;
}

static bool json_number_of(const char *json, double *v)
{
    if (same(json, "true") || same(json, "false")) return *v = *json == 't', false;
    return parse_real(json, v);
}

/* Returns a JSON text without quotes. */
static const char *plain(const char *json, arena *a)
{
    cJSON *v = *json == '"' ? cJSON_Parse(json) : NULL;
    const char *text = cJSON_IsString(v) ? arena_strdup(a, v->valuestring) : json;
    cJSON_Delete(v);
    return text;
}

/* ---- tables ---- */

enum { FIXED = 22 };
typedef struct {
    const char *name;
    frame_type type;
    frame_value value;
} cell;

/* Fills the columns that every experiment has; names and types are constant. */
static void fixed_cells(const read_experiment *x, const read_row *row, const read_run *run, cell out[FIXED])
{
    const cell all[] = {
        {"experiment", FRAME_TEXT, {.text = x->name}},
        {"run", FRAME_WHOLE, {.whole = run->id}},
        {"row", FRAME_TEXT, {.text = row->name}},
        {"group_name", FRAME_TEXT, {.text = row->group}},
        {"change", FRAME_TEXT, {.text = row->change}},
        {"is_base", FRAME_WHOLE, {.whole = row->is_base}},
        {"exploratory", FRAME_WHOLE, {.whole = row->exploratory}},
        {"seed", FRAME_WHOLE, {.whole = run->seed}},
        {"status", FRAME_TEXT, {.text = db_status_text(run->status)}},
        {"recorded", FRAME_WHOLE, {.whole = run->recorded + run->foreign}},
        {"step", FRAME_WHOLE, {.whole = run->step >= 0 ? run->step : FRAME_MISSING}},
        {"total_steps", FRAME_WHOLE, {.whole = run->total_steps >= 0 ? run->total_steps : FRAME_MISSING}},
        {"host", FRAME_TEXT, {.text = run->host}},
        {"device", FRAME_TEXT, {.text = run->device}},
        {"git_commit", FRAME_TEXT, {.text = run->git_commit}},
        {"parameters", FRAME_REAL, {.real = run->parameters}},
        {"flops_step", FRAME_REAL, {.real = run->flops_step}},
        {"tokens_second", FRAME_REAL, {.real = run->tokens_second}},
        {"peak_memory", FRAME_REAL, {.real = run->peak_memory}},
        {"started_at", FRAME_REAL, {.real = run->started_at}},
        {"ended_at", FRAME_REAL, {.real = run->ended_at}},
        {"error", FRAME_TEXT, {.text = run->error}},
    };
    _Static_assert(LENGTH(all) == FIXED, "FIXED counts the rows of all");
    memcpy(out, all, sizeof all);
}

static bool taken(const frame *f, const char *name)
{
    for (size_t j = 0; j < f->n_columns; j++)
        if (!strcasecmp(f->columns[j].name, name)) return true;
    return false;
}

/* Adds a column; a name that another column has already gets the prefix "setting_" or "metric_". */
static size_t new_column(frame *f, const char *prefix, const char *name, frame_type type)
{
    AUTOFREE char *full = taken(f, name) ? xprintf("%s%s", prefix, name) : xstrdup(name);
    frame_add_column(f, full, type);
    return f->n_columns - 1;
}

static setting *find_setting(setting *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (same(list[i].key, key)) return &list[i];
    return NULL;
}

static setting *all_settings(const read_experiment *x, size_t *n, arena *a)
{
    setting *list = NULL;
    size_t cap = 0;
    const read_pair *pairs;
    *n = 0;
    for (size_t i = 0; i < x->n_rows; i++) {
        size_t count = row_settings(&x->rows[i], a, &pairs);
        for (size_t k = 0; k < count; k++) {
            double v;
            setting *s = find_setting(list, *n, pairs[k].key);
            if (!s) {
                list = grow(list, &cap, *n + 1, sizeof *list);
                s = &list[(*n)++];
                *s = (setting){.key = pairs[k].key, .number = true, .whole = true};
            }
            bool number = json_number_of(pairs[k].value, &v), none = same(pairs[k].value, "null");
            s->number = s->number && (number || none);
            s->whole = s->whole && (none || (number && v == rint(v) && fabs(v) < 1e15));
        }
    }
    return list;
}

static void runs_frame(const read_experiment *x, frame *f, arena *a)
{
    size_t n, *metric = arena_alloc(a, (x->n_metrics + 1) * sizeof *metric);
    AUTOFREE setting *settings = all_settings(x, &n, a);
    const read_pair *pairs;
    cell cells[FIXED];
    fixed_cells(x, &(read_row){0}, &(read_run){0}, cells);
    for (size_t j = 0; j < FIXED; j++) frame_add_column(f, cells[j].name, cells[j].type);
    for (size_t i = 0; i < n; i++)
        settings[i].column = new_column(f, "setting_", settings[i].key,
                                        settings[i].whole    ? FRAME_WHOLE
                                        : settings[i].number ? FRAME_REAL
                                                             : FRAME_TEXT);
    for (size_t m = 0; m < x->n_metrics; m++) metric[m] = new_column(f, "metric_", x->metrics[m], FRAME_REAL);
    for (size_t i = 0; i < x->n_rows; i++) {
        size_t count = row_settings(&x->rows[i], a, &pairs);
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as; k++) {
            const read_run *run = &x->rows[i].runs[k];
            frame_add_row(f);
            fixed_cells(x, &x->rows[i], run, cells);
            for (size_t j = 0; j < FIXED; j++) {
                if (cells[j].type == FRAME_TEXT) frame_put_text(f, j, cells[j].value.text);
                if (cells[j].type == FRAME_REAL) frame_put_real(f, j, cells[j].value.real);
                if (cells[j].type == FRAME_WHOLE) frame_put_whole(f, j, cells[j].value.whole);
            }
            for (size_t p = 0; p < count; p++) {
                const setting *s = find_setting(settings, n, pairs[p].key);
                double v;
                bool number = s->number && json_number_of(pairs[p].value, &v);
                if (number && s->whole) frame_put_whole(f, s->column, (int64_t)v);
                if (number && !s->whole) frame_put_real(f, s->column, v);
                if (!s->number && !same(pairs[p].value, "null")) frame_put_text(f, s->column, plain(pairs[p].value, a));
            }
            for (size_t p = 0; p < run->n_results; p++)
                for (size_t m = 0; m < x->n_metrics; m++)
                    if (same(run->results[p].metric, x->metrics[m]))
                        frame_put_real(f, metric[m], run->results[p].value);
        }
    }
}

static void long_columns(frame *f)
{
    static const char *const names[] = {"experiment", "run", "row", "seed", "metric", "step", "value"};
    static const frame_type types[] = {FRAME_TEXT, FRAME_WHOLE, FRAME_TEXT, FRAME_WHOLE,
                                       FRAME_TEXT, FRAME_WHOLE, FRAME_REAL};
    for (size_t j = 0; j < LENGTH(names); j++) frame_add_column(f, names[j], types[j]);
}

static void long_row(frame *f, const read_experiment *x, const read_row *row, const read_run *run, const char *metric,
                     int64_t step, double v)
{
    frame_add_row(f);
    frame_put_text(f, 0, x->name);
    frame_put_whole(f, 1, run->id);
    frame_put_text(f, 2, row->name);
    frame_put_whole(f, 3, run->seed);
    frame_put_text(f, 4, metric);
    if (step >= 0) frame_put_whole(f, 5, step);
    frame_put_real(f, 6, v);
}

static void results_frame(const read_experiment *x, frame *f)
{
    long_columns(f);
    frame_add_column(f, "direction", FRAME_TEXT);
    frame_add_column(f, "checkpoint", FRAME_TEXT);
    frame_add_column(f, "signature", FRAME_TEXT);
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as; k++)
            for (size_t p = 0; p < x->rows[i].runs[k].n_results; p++) {
                const read_result *q = &x->rows[i].runs[k].results[p];
                long_row(f, x, &x->rows[i], &x->rows[i].runs[k], q->metric, q->step, q->value);
                frame_put_text(f, 7, q->direction);
                frame_put_text(f, 8, q->how);
                frame_put_text(f, 9, q->signature);
            }
}

static int curves_frame(reader *r, const read_experiment *x, frame *f, err *e)
{
    long_columns(f);
    frame_add_column(f, "t", FRAME_REAL);
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; k < x->rows[i].n_runs && !x->rows[i].same_as; k++) {
            CLEANUP(arena_free) arena a = {0};
            read_curve *curves;
            size_t n;
            int rc = reader_curves(r, x->rows[i].runs[k].id, NULL, &a, &curves, &n, e);
            for (size_t c = 0; c < n && !rc; c++)
                for (size_t p = 0; p < curves[c].n; p++) {
                    long_row(f, x, &x->rows[i], &x->rows[i].runs[k], curves[c].metric, curves[c].points[p].step,
                             curves[c].points[p].value);
                    frame_put_real(f, 7, curves[c].points[p].t);
                }
            if (rc) return -1;
        }
    return 0;
}

static int write_frame(const frame *f, const char *folder, const char *name, size_t *files, err *e)
{
    CLEANUP(str_free) str out = {0};
    AUTOFREE char *path = xprintf("%s/%s.csv", folder, name);
    frame_csv(f, &out);
    int rc = file_write(path, out.s, out.n, e);
    *files += !rc;
    return rc;
}

static int write_tables(reader *r, const read_experiment *x, const char *folder, arena *a, size_t *files, err *e)
{
    CLEANUP(frame_free) frame runs = {0}, results = {0}, curves = {0};
    runs_frame(x, &runs, a);
    results_frame(x, &results);
    int rc = curves_frame(r, x, &curves, e);
    if (!rc) rc = write_frame(&runs, folder, "runs", files, e);
    if (!rc) rc = write_frame(&results, folder, "results", files, e);
    if (!rc) rc = write_frame(&curves, folder, "curves", files, e);
    return rc;
}

/* ---- a file per run ---- */

/* Converts a row's name to part of a path: "A/heads=1" to "A_heads=1". */
static char *path_name(const char *name)
{
    char *copy = xstrdup(name);
    for (char *p = copy; *p; p++)
        if (*p == '/' || (unsigned char)*p < 32) *p = '_';
    return copy;
}

/* Returns FOLDER/SUB/FILE for a run and makes SUB; the caller frees. */
static char *run_path(const char *folder, const run_record *r, err *e)
{
    AUTOFREE char *row = path_name(r->row), *name = xprintf("%s@%lld", row, (long long)r->run->seed),
                  *sub = path_below(folder, name, e);
    double at = isfinite(r->run->started_at) ? r->run->started_at : 0;
    if (!sub || make_folders(sub, e)) return NULL;
    return xprintf("%s/events.out.tfevents.%lld.ablate", sub, (long long)at);
}

static int write_run(reader *r, const read_row *row, const read_run *run, const char *folder, size_t *files, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str out = {0};
    read_curve *curves = NULL;
    run_record record = {.row = row->name, .run = run};
    int rc = reader_curves(r, run->id, NULL, &a, &curves, &record.n_curves, e);
    record.curves = curves;
    record.n_settings = row_settings(row, &a, &record.settings);
    AUTOFREE char *path = rc ? NULL : run_path(folder, &record, e);
    if (!path) return -1;
    tensorboard_events(&record, &out);
    rc = file_write(path, out.s, out.n, e);
    *files += !rc;
    return rc;
}

int export_write(reader *r, const char *name, enum export_format format, const char *folder, size_t *files, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    *files = 0;
    int rc = reader_experiment(r, name, READ_VALUES, &a, &x, e);
    if (rc == 1) rc = reader_no_experiment(r, name, e);
    if (!rc) rc = make_folders(folder, e);
    if (!rc && format == EXPORT_CSV) {
        rc = write_tables(r, &x, folder, &a, files, e);
    } else {
        for (size_t i = 0; i < x.n_rows && !rc; i++)
            for (size_t k = 0; k < x.rows[i].n_runs && !x.rows[i].same_as && !rc; k++)
                if (isfinite(x.rows[i].runs[k].started_at) || x.rows[i].runs[k].n_results)
                    rc = write_run(r, &x.rows[i], &x.rows[i].runs[k], folder, files, e);
    }
    return rc;
}
