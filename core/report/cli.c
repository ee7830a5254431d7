/* cli.c - ls, show, log, rm, query, table, report, export, import: their arguments and what they print. */
#include "report/cli.h"
#include "report/grid.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/store.h"
#include "report/table.h"
#include "results/query.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { USAGE = 2 };

/* ---- arguments ---- */

typedef struct {
    const char *name;   /* "--format"; a short form after a blank: "--output -o" */
    const char **value; /* set to the option's value; NULL: a flag */
    bool *flag;
    size_t *count; /* of a repeatable option: value is an array of argc entries */
} option;

static bool is_option(const option *o, const char *arg, size_t *length)
{
    for (const char *p = o->name; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (!strncmp(arg, p, n) && (!arg[n] || (arg[n] == '=' && n > 2))) return *length = n, true;
        p += n;
    }
    return false;
}

static int unknown(const char *command, const char *arg, const option *options, size_t n, err *e)
{
    const char *names[16];
    size_t count = 0;
    arena a = {0};
    for (size_t i = 0; i < n && count < LENGTH(names); i++)
        names[count++] = arena_strndup(&a, options[i].name, strcspn(options[i].name, " "));
    const char *near = nearest(arg, names, count);
    fail(e, "%s: unknown option %s%s%s%s", command, arg, near ? "; did you mean " : "", near ? near : "",
         near ? "?" : "");
    arena_free(&a);
    return -1;
}

/* Options are taken out of argv; what is left are argv[1..*argc). */
static int parse(int *argc, char **argv, const option *options, size_t n, err *e)
{
    int left = 1;
    bool only_words = false;
    for (int i = 1; i < *argc; i++) {
        const char *arg = argv[i];
        size_t k = 0, length = 0;
        if (only_words || *arg != '-' || !arg[1]) {
            argv[left++] = argv[i];
            continue;
        }
        if (same(arg, "--")) {
            only_words = true;
            continue;
        }
        while (k < n && !is_option(&options[k], arg, &length)) k++;
        if (k == n) return unknown(argv[0], arg, options, n, e);
        if (options[k].flag) {
            if (arg[length]) return fail(e, "%s: %s takes no value", argv[0], options[k].name);
            *options[k].flag = true;
            continue;
        }
        const char *value = arg[length] ? arg + length + 1 : i + 1 < *argc ? argv[++i] : NULL;
        if (!value) return fail(e, "%s: %s needs a value", argv[0], arg);
        if (options[k].count)
            options[k].value[(*options[k].count)++] = value;
        else
            *options[k].value = value;
    }
    *argc = left;
    return 0;
}

static int usage(const char *text, const err *e)
{
    if (e->text[0]) fprintf(stderr, "ablate %s\n", e->text);
    fprintf(stderr, "usage: ablate %s\n", text);
    return USAGE;
}

static int failed(const char *command, const err *e)
{
    fprintf(stderr, "ablate %s: %s\n", command, e->text);
    return 1;
}

/* ---- ls ---- */

static void put_time(grid *t, size_t column, double seconds)
{
    char text[32];
    time_t when = (time_t)seconds;
    struct tm local;
    if (!isfinite(seconds) || seconds <= 0) return;
    localtime_r(&when, &local);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
    grid_put(t, column, "%s", text);
}

static int list_experiments(reader *r, err *e)
{
    static const char *const headings[] = {"experiment", "rows",   "runs",    "done",  "running", "queued",
                                           "failed",     "killed", "skipped", "since", "note"};
    arena a = {0};
    grid t = {0};
    str out = {0};
    read_listed *list;
    size_t n;
    int rc = reader_list(r, &a, &list, &n, e);
    for (size_t i = 0; i < LENGTH(headings); i++) grid_column(&t, headings[i], i > 0 && i < 9);
    for (size_t i = 0; i < n && !rc; i++) {
        const read_listed *x = &list[i];
        int64_t count[] = {x->rows,   x->runs,   x->done,   x->running,
                           x->queued, x->failed, x->killed, x->skipped};
        grid_row(&t, false);
        grid_put(&t, 0, "%s", x->name);
        for (size_t k = 0; k < LENGTH(count); k++) grid_put(&t, k + 1, "%lld", (long long)count[k]);
        put_time(&t, 9, x->created_at);
        grid_put(&t, 10, "%s", x->note ? x->note : "");
    }
    if (!rc) {
        grid_print(&t, TABLE_TEXT, &out);
        fputs(str_text(&out), stdout);
        fputs(n ? "`ablate ls EXPERIMENT` lists its runs.\n"
                : "Nothing yet: `ablate run experiments/quick.ini`\n",
              stderr);
    }
    str_free(&out);
    grid_free(&t);
    arena_free(&a);
    return rc;
}

static void list_run(grid *t, const read_experiment *x, const read_row *row, const read_run *run)
{
    size_t c = 0;
    grid_row(t, false);
    grid_put(t, c++, "%lld", (long long)run->id);
    grid_put(t, c++, "%s", row->name);
    grid_put(t, c++, "%lld", (long long)run->seed);
    grid_put(t, c++, "%s%s", db_status_text(run->status), run->recorded ? " (recorded)" : "");
    if (run->step >= 0 && run->total_steps >= 0)
        grid_put(t, c, "%lld/%lld", (long long)run->step, (long long)run->total_steps);
    c++;
    for (size_t m = 0; m < x->n_metrics; m++, c++)
        for (size_t k = 0; k < run->n_results; k++) {
            char real[32];
            if (!same(run->results[k].metric, x->metrics[m])) continue;
            if (isfinite(run->results[k].value)) {
                snprintf(real, sizeof real, "%.5g", run->results[k].value);
                grid_put(t, c, "%s", real);
            } else {
                grid_put(t, c, "diverged");
            }
        }
    if (isfinite(run->started_at) && isfinite(run->ended_at))
        grid_put(t, c, "%.0f s", run->ended_at - run->started_at);
    c++;
    if (run->host) grid_put(t, c, "%s", run->host);
    c++;
    if (run->error) grid_put(t, c, "%.*s", (int)strcspn(run->error, "\n"), run->error);
}

static int list_runs(reader *r, const char *name, err *e)
{
    arena a = {0};
    grid t = {0};
    str out = {0};
    read_experiment x;
    int rc = reader_experiment(r, name, false, &a, &x, e);
    if (rc == 1) rc = fail(e, "found no experiment \"%s\"; `ablate ls` lists what there is", name);
    if (!rc) {
        static const char *const leading[] = {"run", "row", "seed", "status", "step"};
        for (size_t i = 0; i < LENGTH(leading); i++) grid_column(&t, leading[i], i == 0 || i == 2 || i == 4);
        for (size_t m = 0; m < x.n_metrics; m++) grid_column(&t, x.metrics[m], true);
        grid_column(&t, "time", true);
        grid_column(&t, "host", false);
        grid_column(&t, "error", false);
        for (size_t i = 0; i < x.n_rows; i++)
            for (size_t k = 0; k < x.rows[i].n_runs && !x.rows[i].same_as; k++)
                list_run(&t, &x, &x.rows[i], &x.rows[i].runs[k]);
        grid_print(&t, TABLE_TEXT, &out);
        fputs(str_text(&out), stdout);
    }
    str_free(&out);
    grid_free(&t);
    arena_free(&a);
    return rc;
}

int report_ls(int argc, char **argv, const db_options *options)
{
    err e = {0};
    db_options o = *options;
    const option known[] = {{.name = "--db", .value = &o.path}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc > 2)
        return usage("ls [EXPERIMENT] [--db FILE]", &e);
    reader *r = reader_open(&o, &e);
    int rc = !r ? -1 : argc > 1 ? list_runs(r, argv[1], &e) : list_experiments(r, &e);
    reader_close(r);
    return rc ? failed("ls", &e) : 0;
}

/* ---- show ---- */

#define KEY "%-21s " /* a blank after the longest too */

static void show_line(const char *key, const char *value)
{
    printf(KEY, key);
    for (; *value; value++) { /* further lines stand under the first */
        putchar(*value);
        if (*value == '\n' && value[1]) printf(KEY, "");
    }
    putchar('\n');
}

static void show_run(const read_detail *d)
{
    char real[32];
    printf(KEY "%lld\n", "run", (long long)d->run.id);
    show_line("experiment", d->experiment);
    show_line("row", d->row);
    printf(KEY "%lld\n", "seed", (long long)d->run.seed);
    printf(KEY "%s%s\n", "status", db_status_text(d->run.status),
           d->run.recorded ? " (recorded elsewhere)" : "");
    if (d->run.step >= 0)
        printf(KEY "%lld of %lld\n", "step", (long long)d->run.step, (long long)d->run.total_steps);
    if (d->run.owner) show_line("held by", d->run.owner);
    printf(KEY "%zu\n", "attempts", d->n_attempts);
    for (size_t i = 0; i < d->run.n_results; i++) {
        const read_result *x = &d->run.results[i];
        printf(KEY "%s  (%s, step %lld)%s%s\n", x->metric,
               isfinite(x->value) ? format_real(x->value, real) : "diverged", x->how, (long long)x->step,
               x->signature ? "  " : "", x->signature ? x->signature : "");
    }
    for (size_t i = 0; i < d->n_fields; i++)
        if (d->fields[i].value && !same(d->fields[i].key, "n"))
            show_line(d->fields[i].key, d->fields[i].value);
    for (size_t i = 0; i < d->n_artifacts; i++) show_line(d->artifacts[i].key, d->artifacts[i].value);
    for (size_t i = 0; i < d->n_tags; i++)
        show_line(d->tags[i].key, d->tags[i].value ? d->tags[i].value : "");
    show_line("config", d->config_json);
}

/* A run's outputs for a split (ending "hyp") or their references ("ref"), from the file that it left. */
static int print_lines(const read_detail *d, const char *split, const char *ending, err *e)
{
    str text = {0};
    char *file = xprintf("/%s.%s", split, ending);
    const char *path = NULL;
    for (size_t i = 0; i < d->n_artifacts; i++)
        if (has_suffix(d->artifacts[i].value, file)) path = d->artifacts[i].value;
    int rc = !path ? fail(e, "run %lld has no outputs for %s: found no file %s of it%s", (long long)d->run.id, split,
                          file + 1, d->run.recorded ? "; it was recorded elsewhere" : "")
                   : file_read(path, &text, e);
    if (!rc) fwrite(str_text(&text), 1, text.n, stdout);
    str_free(&text);
    free(file);
    return rc;
}

int report_show(int argc, char **argv, const db_options *options)
{
    err e = {0};
    arena a = {0};
    db_options o = *options;
    bool ini = false;
    const char *hyp = NULL, *ref = NULL;
    const option known[] = {{.name = "--db", .value = &o.path},
                            {.name = "--ini", .flag = &ini},
                            {.name = "--hyp", .value = &hyp},
                            {.name = "--ref", .value = &ref}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc != 2 || ini + !!hyp + !!ref > 1)
        return usage("show RUN [--ini | --hyp SPLIT | --ref SPLIT] [--db FILE]\n"
                     "RUN: its number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED; --hyp, --ref: its outputs for dev or "
                     "test and their references, a line each",
                     &e);
    reader *r = reader_open(&o, &e);
    int64_t id = r ? reader_find_run(r, argv[1], &e) : -1;
    int rc = id < 0 ? -1 : 0;
    if (!rc && ini) {
        str text = {0};
        rc = reader_run_ini(r, id, &text, &e);
        if (!rc) fputs(text.s, stdout);
        str_free(&text);
    } else if (!rc) {
        read_detail d;
        rc = reader_run(r, id, &a, &d, &e);
        if (!rc && (hyp || ref))
            rc = print_lines(&d, hyp ? hyp : ref, hyp ? "hyp" : "ref", &e);
        else if (!rc)
            show_run(&d);
    }
    reader_close(r);
    arena_free(&a);
    return rc ? failed("show", &e) : 0;
}

/* ---- log ---- */

/* The last `lines` lines of a text, all of it for 0. */
static const char *tail(const str *text, int64_t lines)
{
    const char *p = str_text(text) + text->n;
    if (!lines) return str_text(text);
    if (p > text->s && p[-1] == '\n') p--;
    for (; p > str_text(text); p--)
        if (p[-1] == '\n' && !--lines) break;
    return p;
}

int report_log(int argc, char **argv, const db_options *options)
{
    err e = {0};
    arena a = {0};
    str text = {0};
    read_detail d;
    db_options o = *options;
    const char *lines = "0";
    int64_t n = 0;
    const option known[] = {{.name = "--db", .value = &o.path}, {.name = "--lines -n", .value = &lines}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc != 2 || !parse_int(lines, &n) || n < 0)
        return usage("log RUN [-n LINES] [--db FILE]", &e);
    reader *r = reader_open(&o, &e);
    int64_t id = r ? reader_find_run(r, argv[1], &e) : -1;
    int rc = id < 0 ? -1 : reader_run(r, id, &a, &d, &e);
    if (!rc && !d.run.log_path)
        rc = fail(&e, "run %lld: has no log%s", (long long)id,
                  d.run.recorded ? ": it was recorded elsewhere"
                  : d.n_attempts ? ""
                                 : ": it was never started");
    if (!rc) rc = file_read(d.run.log_path, &text, &e);
    if (!rc) fputs(tail(&text, n), stdout);
    if (rc && r && id >= 0 && d.run.error) fprintf(stderr, "its last words: %s\n", d.run.error);
    reader_close(r);
    str_free(&text);
    arena_free(&a);
    return rc ? failed("log", &e) : 0;
}

/* ---- rm ---- */

int report_rm(int argc, char **argv, const db_options *options)
{
    err e = {0};
    db_options o = *options;
    const char *experiment = NULL;
    const option known[] = {{.name = "--db", .value = &o.path},
                            {.name = "--experiment", .value = &experiment}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || (argc < 2) == !experiment)
        return usage("rm RUN... [--db FILE]   or   rm --experiment NAME [--db FILE]", &e);
    reader *r = reader_open(&o, &e);
    int64_t *ids = xcalloc((size_t)argc, sizeof *ids);
    int rc = r ? 0 : -1;
    for (int i = 1; i < argc && !rc; i++) { /* all names are understood before anything goes */
        ids[i] = reader_find_run(r, argv[i], &e);
        rc = ids[i] < 0 ? -1 : 0;
    }
    reader_close(r);
    db *d = rc ? NULL : db_open(&o, &e);
    if (!d) rc = -1;
    if (!rc && experiment) rc = db_remove_experiment(d, experiment, &e);
    for (int i = 1; i < argc && !rc; i++) rc = db_remove_run(d, ids[i], &e);
    db_close(d);
    free(ids);
    return rc ? failed("rm", &e) : 0;
}

/* ---- query, table, report ---- */

int report_query(int argc, char **argv, const db_options *options)
{
    err e = {0};
    db_options o = *options;
    const char *format = "text";
    enum query_format f;
    const option known[] = {{.name = "--db", .value = &o.path}, {.name = "--format", .value = &format}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc != 2 || query_format_parse(format, &f, &e))
        return usage("query SQL [--format text,csv,json,md] [--db FILE]", &e);
    return store_comparisons(&o, &e) || query_print(&o, argv[1], f, stdout, &e) ? failed("query", &e) : 0;
}

int report_table(int argc, char **argv, const db_options *options)
{
    err e = {0};
    str out = {0};
    db_options o = *options;
    const char *format = "text", *vs = NULL, *stats = NULL, **metrics = xcalloc((size_t)argc + 1, sizeof *metrics);
    table_options t = {.metrics = metrics};
    enum table_format f;
    const option known[] = {{.name = "--db", .value = &o.path},
                            {.name = "--format", .value = &format},
                            {.name = "--vs", .value = &vs},
                            {.name = "--stats", .value = &stats},
                            {.name = "--metric", .value = metrics, .count = &t.n_metrics}};
    int rc = 0;
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc > 2 || table_format_parse(format, &f, &e) ||
        (vs && !same(vs, "paper") && !same(vs, "recorded") && fail(&e, "table: --vs: found \"%s\", expected paper or recorded", vs)) ||
        (stats && !same(stats, "full") && fail(&e, "table: --stats: found \"%s\", expected full", stats))) {
        rc = usage("table [NAME] [--metric M]... [--format text,md,latex,csv,json] [--vs paper,recorded] [--stats full] [--db FILE]",
                   &e);
    } else {
        t.vs_paper = same(vs, "paper"), t.vs_recorded = same(vs, "recorded"), t.full = stats != NULL;
        reader *r = reader_open(&o, &e);
        rc = r && table_print(r, argc > 1 ? argv[1] : NULL, &t, f, &out, &e) == 0 ? 0 : failed("table", &e);
        reader_close(r);
        if (!rc) fputs(str_text(&out), stdout);
        if (!rc && store_comparisons(&o, &e)) rc = failed("table", &e);
    }
    str_free(&out);
    free(metrics);
    return rc;
}

int report_page(int argc, char **argv, const db_options *options)
{
    err e = {0};
    str out = {0};
    db_options o = *options;
    const char *to = NULL;
    const option known[] = {{.name = "--db", .value = &o.path}, {.name = "--output -o", .value = &to}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc > 2 || !to)
        return usage("report [NAME] -o FILE.html [--db FILE]", &e);
    reader *r = reader_open(&o, &e);
    int rc = r ? page_print(r, argc > 1 ? argv[1] : NULL, NULL, &out, &e) : -1;
    if (!rc) rc = file_write(to, out.s, out.n, &e);
    if (!rc) fprintf(stderr, "%s: %zu KB\n", to, (out.n + 1023) / 1024);
    reader_close(r);
    str_free(&out);
    return rc ? failed("report", &e) : 0;
}

static int parse_size(const char *text, plot_options *p, err *e)
{
    char *end = NULL;
    p->width = strtod(text, &end);
    if (*end == 'x') p->height = strtod(end + 1, &end);
    bool good = !*end && p->width >= 100 && p->width <= 5000 && p->height >= 100 && p->height <= 5000;
    return good ? 0 : fail(e, "plot: --size: found \"%s\", expected WIDTHxHEIGHT, each from 100 to 5000", text);
}

static int parse_log(const char *text, plot_options *p, err *e)
{
    p->log_x = strchr(text, 'x') != NULL, p->log_y = strchr(text, 'y') != NULL;
    return same(text, "x") || same(text, "y") || same(text, "x,y") ? 0 : fail(e, "plot: --log: found \"%s\", expected x, y or x,y", text);
}

int report_plot(int argc, char **argv, const db_options *options)
{
    err e = {0};
    db_options o = *options;
    plot_options p = {0};
    const char *logarithmic = NULL, *size = NULL;
    const option known[] = {{.name = "--db", .value = &o.path},         {.name = "--output -o", .value = &p.to},
                            {.name = "--metric", .value = &p.metric},   {.name = "--over", .value = &p.over},
                            {.name = "--by", .value = &p.by},           {.name = "--bars", .value = &p.bars},
                            {.name = "--title", .value = &p.title},     {.name = "--log", .value = &logarithmic},
                            {.name = "--size", .value = &size},         {.name = "--forest", .flag = &p.forest}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc > 2 || !p.to || (size && parse_size(size, &p, &e)) ||
        (logarithmic && parse_log(logarithmic, &p, &e)))
        return usage("plot [NAME] [--metric M] [--over KEY] [--by KEY] [--log x,y] [--bars sd,range,none] [--title TEXT] [--size WxH] -o FILE [--db FILE]\n"
                     "       ablate plot [NAME] --forest [--metric M] [--size WxH] -o FILE [--db FILE]\n"
                     "KEY: step, params, flops, time, or a key that rows change. FILE: .svg, .pdf, .png, .gp (gnuplot), .json (Vega-Lite) or .csv",
                     &e);
    p.experiment = argc > 1 ? argv[1] : NULL;
    reader *r = reader_open(&o, &e);
    int rc = r ? plot_write(r, &p, &e) : -1;
    reader_close(r);
    return rc ? failed("plot", &e) : 0;
}

/* ---- export, import ---- */

int report_export(int argc, char **argv, const db_options *options)
{
    enum { POINTS = 200 };
    err e = {0};
    db_options o = *options;
    const char *to = NULL, *points = NULL;
    int64_t n = POINTS;
    const option known[] = {{.name = "--db", .value = &o.path},
                            {.name = "--output -o", .value = &to},
                            {.name = "--points", .value = &points}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc != 2 || (!to && !o.recorded) ||
        (points && (!parse_int(points, &n) || n < 0)))
        return usage("export NAME [-o FILE.json] [--points N] [--db FILE]", &e);
    char *file = xprintf("%s.json", argv[1]), *path = to ? xstrdup(to) : path_join(o.recorded, file);
    db *d = db_open(&o, &e);
    int rc = d ? db_export(d, argv[1], path, (size_t)n, &e) : -1;
    if (!rc) fprintf(stderr, "%s\n", path);
    db_close(d);
    free(path);
    free(file);
    return rc ? failed("export", &e) : 0;
}

int report_import(int argc, char **argv, const db_options *options)
{
    err e = {0};
    db_options o = *options;
    const option known[] = {{.name = "--db", .value = &o.path}};
    if (parse(&argc, argv, known, LENGTH(known), &e) || argc < 2)
        return usage("import FILE.json... [--db FILE]", &e);
    db *d = db_open(&o, &e);
    int rc = d ? 0 : -1;
    for (int i = 1; i < argc && !rc; i++) {
        size_t runs = 0;
        rc = db_import(d, argv[i], &runs, &e);
        if (!rc) fprintf(stderr, "%s: %zu run%s added\n", argv[i], runs, runs == 1 ? "" : "s");
    }
    db_close(d);
    return rc || store_comparisons(&o, &e) ? failed("import", &e) : 0;
}
