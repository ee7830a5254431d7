/* rate.c - ablate rate: adds a metric that another program computes from outputs, such as COMET, with a number for each
 * sentence, as a column with intervals. Only the command line names the program, because no INI and no database may
 * make code run. */
#include "base/shell.h"
#include "cli/options.h"
#include "lab/report/compare.h"
#include "lab/results/read.h"
#include "text/metric/metric.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct {
    const char *command, *split, *source, *unit;
    bool lower;
} rate_options;

enum { MOST = 1 << 30 };                /* a file of outputs may have this many bytes */
static const char mark[] = "command: "; /* retrain.c recognises these results by this prefix */

/* Runs the command on the text `in` and reads its output. */
static int filter(const char *command, const str *in, str *out, err *e)
{
    int status = shell_run(command, str_text(in), in->n, out, true);
    if (status == -1)
        return fail(e, "%s: cannot be started, or its output cannot be read: %s", command, strerror(errno));
    if (!status) return 0;
    return fail(e, "%s: ended with %s %d", command, WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* ---- lines and numbers ---- */

typedef struct {
    str text;
    char **at;
    size_t n;
} lines;

static void lines_free(lines *x) { free(x->at), str_free(&x->text); }

static int lines_of(const read_detail *d, const char *split, const char *ending, lines *out, err *e)
{
    return read_outputs(d, split, ending, &out->text, e) || text_lines(&out->text, ending, &out->at, &out->n, e) ? -1
                                                                                                                 : 0;
}

static void add_field(str *out, const char *text, char end)
{
    for (const char *p = text; *p; p++) str_addc(out, *p == '\t' ? ' ' : *p);
    str_addc(out, end);
}

/* Computes the program's numbers for a run as statistics of AB_SUM_RATIO, whose value is 100 part / whole. */
static int numbers_of(const rate_options *o, const read_detail *d, const lines *source, double **stats, size_t *n,
                      double *mean, err *e)
{
    CLEANUP(lines_free) lines hyp = {0}, ref = {0}, said = {0};
    CLEANUP(str_free) str in = {0};
    double sum = 0;
    int bad = lines_of(d, o->split, "hyp", &hyp, e) || lines_of(d, o->split, "ref", &ref, e);
    if (!bad && o->source && source->n != hyp.n)
        bad = fail(e, "%s: %zu lines, run %lld: %zu outputs", o->source, source->n, (long long)d->run.id, hyp.n);
    if (!bad && ref.n != hyp.n)
        bad = fail(e, "run %lld has %zu outputs and %zu references", (long long)d->run.id, hyp.n, ref.n);
    for (size_t i = 0; i < hyp.n && !bad; i++) {
        if (o->source) add_field(&in, source->at[i], '\t');
        add_field(&in, hyp.at[i], '\t');
        add_field(&in, ref.at[i], '\n');
    }
    if (!bad) bad = filter(o->command, &in, &said.text, e) || text_lines(&said.text, o->command, &said.at, &said.n, e);
    if (!bad && said.n != hyp.n)
        bad = fail(e, "%s: found %zu lines, expected a number for each of %zu sentences", o->command, said.n, hyp.n);
    *stats = xcalloc(2 * hyp.n + 2, sizeof **stats);
    for (size_t i = 0; i < hyp.n && !bad; i++) {
        double v;
        if (!parse_real(trim(said.at[i]), &v) || !isfinite(v))
            bad = fail(e, "%s: line %zu: found \"%s\", expected a number", o->command, i + 1, said.at[i]);
        else
            (*stats)[2 * i] = v / 100, (*stats)[2 * i + 1] = 1, sum += v;
    }
    *n = hyp.n, *mean = hyp.n ? sum / (double)hyp.n : NAN;
    return bad;
}

/* ---- the command ---- */

static int rate_run(const invocation *c, const rate_options *o, reader *r, db *d, int64_t id, const lines *source,
                    err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail detail;
    AUTOFREE double *stats = NULL;
    double mean = 0;
    size_t n = 0;
    int bad = reader_run(r, id, &a, &detail, e);
    if (!bad) bad = numbers_of(o, &detail, source, &stats, &n, &mean, e);
    AUTOFREE char *signature = xprintf("%s%s", mark, o->command);
    const aggregation *sum = aggregation_of(AB_SUM_RATIO);
    db_result result = {.metric = c->word[1],
                        .direction = o->lower ? "min" : "max",
                        .unit = o->unit,
                        .aggregation = sum->name,
                        .signature = signature,
                        .value = mean,
                        .how = "last",
                        .stats = {n, 2, stats}};
    for (size_t i = 0; i < detail.run.n_results && !bad; i++) {
        const read_result *x = &detail.run.results[i];
        result.step = x->step, result.how = x->how; /* copied from the run's other results */
        if (same(x->metric, c->word[1]) && !(x->signature && has_prefix(x->signature, mark)))
            bad = fail(e, "%s: run %lld has a metric of this name that no command computed; choose another name",
                       x->metric, (long long)id);
    }
    if (!bad) bad = db_put_beside(d, id, &result, 1, NULL, 0, e);
    if (!bad) call_say(c, "%s s%lld: %s %.4g\n", detail.row, (long long)detail.run.seed, c->word[1], mean);
    return bad;
}

static int rate(const invocation *c, void *options)
{
    const rate_options *o = options;
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    CLEANUP(lines_free) lines source = {0};
    size_t rated = 0;
    const char *name = c->word[1];
    if (!*name || !is_printable(name, false) || strchr(name, ' '))
        return call_usage(c, "found the metric \"%s\", expected a name without blanks", name);
    signal(SIGPIPE, SIG_IGN);
    CLEANUP(reader_end) reader *r = reader_open(&c->p.db, &e);
    int rc = r ? reader_experiment(r, c->word[0], READ_VALUES, &a, &x, &e) : -1;
    if (rc == 1) rc = reader_no_experiment(r, c->word[0], &e);
    if (!rc && o->source) rc = file_lines(o->source, &source.text, &source.at, &source.n, &e);
    db *d = rc ? NULL : db_open(&c->p.db, &e);
    if (!d) rc = -1;
    for (size_t i = 0; !rc && i < x.n_rows; i++)
        for (size_t k = 0; k < x.rows[i].n_runs && !rc && !x.rows[i].same_as; k++) {
            const read_run *run = &x.rows[i].runs[k];
            if (run->status != DB_DONE || run->recorded || run_diverged(run)) continue;
            rc = rate_run(c, o, r, d, run->id, &source, &e), rated++;
        }
    if (!rc && !rated) rc = fail(&e, "%s: found no run that was trained here and is done", c->word[0]);
    db_close(d);
    return rc ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(rate_options, field)
static const rate_options defaults = {.split = "test", .unit = ""};
static const option table[] = {
    {"--command", "COMMAND",
     "a shell command that reads one line per sentence, output<tab>reference, and prints a number for each line",
     OPTION_TEXT, AT(command), .required = true},
    {"--source", "FILE", "the source sentences: COMMAND then reads source<tab>output<tab>reference", OPTION_TEXT,
     AT(source)},
    {"--split", "dev|test", "rate the outputs of this split [test]", OPTION_TEXT, AT(split), .choices = CHOICES_SPLITS},
    {"--lower-is-better", NULL, "lower values are better", OPTION_FLAG, AT(lower)},
    {"--unit", "TEXT", "the numbers' unit, such as % [none]", OPTION_TEXT, AT(unit)},
    OPTION_DATABASE,
    {0}};
const command rate_command = {
    .name = "rate",
    .part = FOR_RESULTS,
    .does = "add a metric that another program computes from the outputs, such as COMET",
    .about = "The value of a run is the mean of its sentences' numbers, which are kept: table, report, plot and gate "
             "then work with\nthe metric, with intervals. The next call replaces the numbers.",
    .arguments = "EXPERIMENT METRIC",
    .choices = CHOICES_EXPERIMENTS,
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .run = rate,
    .example = "ablate rate quick length --command \"awk -F '\\t' '{ print NF }'\""};
