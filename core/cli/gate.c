/* gate.c - ablate gate: is a row better than base? The exit code is the answer. Rows may be added without end: each is
 * tested at its own level (statistics/stream.h). */
#include "cli/options.h"
#include "lab/report/gather.h"
#include <math.h>

typedef struct {
    const char *metric;
    double level;
    bool json;
} gate_options;

/* The answer, its exit code, and why; the codes are in --help. */
typedef struct {
    const char *word;
    int code;
    str why;
} answer;
enum { BETTER = 0, NOT_BETTER = 3, UNDECIDED = 4 };

static void add_comparison(const gathered *g, const comparison *c, size_t m, str *out)
{
    str_addf(out, "%s ", g->metrics[m]);
    if (c->percent) {
        str_addf(out, "%+.1f %% (95 %% interval %+.1f to %+.1f)", c->delta, c->low, c->high);
    } else {
        int digits = metric_decimals(&g->facts[m], c->delta);
        str_addf(out, "%+.*f (95 %% interval %+.*f to %+.*f)", digits, c->delta, digits, c->low, digits, c->high);
    }
    str_addf(out, ", p %.3g", c->p);
}

static answer decide(const gathered *g, const gathered_row *row, size_t m)
{
    const comparison *c = &row->against[m];
    answer a = {.word = "undecided", .code = UNDECIDED};
    size_t need = g->judged.criterion.seeds;
    if (c->refused)
        str_addf(&a.why, "not compared: %s", c->refused);
    else if (c->failed || c->failed_base)
        str_addf(
            &a.why,
            "%zu of the row's runs and %zu of base's failed and have no value ([criterion] failed_as can give one)",
            c->failed, c->failed_base);
    else if (c->left_out)
        str_add(&a.why, "the record left out the statistics per sentence that an answer needs (`ablate record "
                        "--statistics`)");
    else if (isnan(c->p))
        str_addf(&a.why, "found %zu finished runs of the row and %zu of base, expected 2 or more of each", c->n,
                 c->n_base);
    if (a.why.n) return a;
    add_comparison(g, c, m, &a.why);
    if (c->n < need || c->n_base < need) {
        str_addf(&a.why, "; the row has %zu seeds, base %zu, expected %zu each ([criterion] seeds)", c->n, c->n_base,
                 need);
        return a;
    }
    bool differs = c->p <= c->stream_level, better = metric_better(&g->facts[m], c->delta, 0) > 0;
    str_addf(&a.why, ", %s %.2g, the level of row %zu in the stream", differs ? "within" : "above", c->stream_level,
             row->row->place);
    const comparison_criterion *k = &g->judged.criterion;
    if (c->p_equivalent_alone <= c->stream_level && !(k->one_sided && differs && better)) {
        str_addf(&a.why, "; %s %g (p %.3g)", k->one_sided ? "not worse by more than" : "equivalent within", k->margin,
                 c->p_equivalent_alone);
        a.word = "not", a.code = NOT_BETTER;
    } else if (differs) {
        a.word = better ? "better" : "not", a.code = better ? BETTER : NOT_BETTER;
    }
    return a;
}

static void print_json(const gathered *g, const gathered_row *row, size_t m, const answer *a)
{
    const comparison *c = &row->against[m];
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"n", (double)c->n},        {"n_base", (double)c->n_base},
                   {"delta", c->delta},        {"low", c->low},
                   {"high", c->high},          {"p", c->p},
                   {"level", c->stream_level}, {"place", (double)row->row->place}};
    CLEANUP(str_free) str out = {0};
    json_open(&out, NULL, '{');
    json_key_text(&out, "answer", a->word);
    json_key_text(&out, "experiment", g->x.name);
    json_key_text(&out, "row", row->row->name);
    json_key_text(&out, "metric", g->metrics[m]);
    json_key_text(&out, "unit", c->percent ? "percent change" : "difference");
    for (size_t k = 0; k < LENGTH(numbers); k++) json_key_real(&out, numbers[k].key, numbers[k].value);
    json_key_text(&out, "why", str_text(&a->why));
    str_add(&out, "}\n");
    fputs(str_text(&out), stdout);
}

/* Finds the named row; NULL and a message. */
static gathered_row *find_row(gathered *g, const char *name, err *e)
{
    const char *names[256];
    size_t n = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (same(g->x.rows[i].name, name) && !g->x.rows[i].same_as) {
            bool is_base = gathered_is_base(g, &g->rows[i]);
            if (is_base || !gathered_base(g)) {
                fail(e, "%s: row \"%s\" is %s", g->x.name, name,
                     is_base ? "base, which the others are compared with" : "of an experiment without base");
                return NULL;
            }
            return &g->rows[i];
        }
        if (n < LENGTH(names)) names[n++] = g->x.rows[i].name;
    }
    fail(e, "%s: found no row \"%s\"%s; `ablate table %s` lists the rows", g->x.name, name,
         suggestion(name, names, n, "\""), g->x.name);
    return NULL;
}

static int gate(const invocation *c, void *options)
{
    const gate_options *o = options;
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    table_options t = {.metrics = &o->metric, .n_metrics = o->metric ? 1 : 0};
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, &e);
    int rc = r ? gather(r, c->word[0], &t, false, &a, &g, &e) : -1, code = 1;
    if (rc > 0) rc = reader_no_experiment(r, c->word[0], &e);
    gathered_row *row = rc ? NULL : find_row(&g, c->word[1], &e);
    if (row && (g.headline < 0 || !g.facts[g.headline].direction)) {
        fail(&e, "%s: %s; --metric chooses another metric", g.x.name,
             g.headline < 0 ? "no run has a result" : "its metric has no direction");
        row = NULL;
    }
    if (row) {
        size_t m = (size_t)g.headline;
        gathered_stream(&g, m, o->level > 0 ? o->level : g.judged.criterion.level);
        answer is = decide(&g, row, m);
        if (o->json)
            print_json(&g, row, m, &is);
        else
            printf("%s: %s\n", is.word, str_text(&is.why));
        code = is.code;
        str_free(&is.why);
    }
    return row ? code : call_failed(c, &e);
}

static const option options[] = {{"--metric", "M", "judge by this metric [the criterion's, else the table's]",
                                  OPTION_TEXT, offsetof(gate_options, metric)},
                                 {"--level", "X", "allowed share of false answers [the criterion's level, else 0.05]",
                                  OPTION_REAL, offsetof(gate_options, level), 0.0001, 0.5},
                                 OPTION_JSON(offsetof(gate_options, json)),
                                 OPTION_DATABASE,
                                 {0}};
const command gate_command = {
    .name = "gate",
    .part = FOR_RESULTS,
    .does = "is a row better than base? The exit code is the answer, for programs that keep adding rows",
    .about = "Exit code 0: better; 3: not (worse, or equivalent within the criterion's margin); 4: undecided; 1 and 2: "
             "errors. All rows of the experiment, including those removed from its INI, form one stream in the order "
             "in which they were added. Each row is tested at its own level, so that on average at most 5 % of the "
             "rows called different are not, however long the stream is (docs/statistics.md).",
    .arguments = "EXPERIMENT ROW",
    .missing = "expected an experiment and a row",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .size = sizeof(gate_options),
    .run = gate,
    .example = "ablate gate table3-quarter \"dropout=0\""};
