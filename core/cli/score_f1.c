/* score_f1.c - ablate score f1: bracketing F1 of trees. */
#include "cli/options.h"
#include "cli/score.h"
#include "text/metric/confusion.h"
#include <stdlib.h>

enum { PAIRS = 20 }; /* pairs of labels that --confusion shows by default */

typedef struct {
    const char *gold, *param;
    bool json, by_length;
    int64_t pairs; /* --confusion; -1: PAIRS, -2: not given */
} f1_options;

static size_t pairs_shown(const f1_options *w) { return w->pairs < 0 ? PAIRS : (size_t)w->pairs; }

static void f1_json_block(const char *name, const evalb_result *r, str *b)
{
    const struct {
        const char *name;
        double x;
    } figures[] = {{"recall", r->recall},           {"precision", r->precision}, {"f1", r->f1},
                   {"strict_f1", r->strict_f1},     {"complete", r->complete},   {"crossing", r->crossing},
                   {"no_crossing", r->no_crossing}, {"tagging", r->tagging}};
    json_open(b, name, '{');
    json_key_whole(b, "sentences", r->sentences);
    json_key_whole(b, "errors", r->errors);
    json_key_whole(b, "skipped", r->skipped);
    json_key_whole(b, "valid", r->valid);
    for (size_t i = 0; i < LENGTH(figures); i++) json_key_real(b, figures[i].name, figures[i].x);
    str_addc(b, '}');
}

/* Prints the errors of the first few sentences that do not count. */
static void explain(const evalb_row *rows, size_t n)
{
    enum { SHOWN = 10 };
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].status == EVALB_VALID || ++found > SHOWN) continue;
        fprintf(stderr, "standard input:%zu: %s: %s\n", i + 1, rows[i].status == EVALB_SKIP ? "skipped" : "error",
                rows[i].why);
    }
    if (found > SHOWN) fprintf(stderr, "and %zu more sentences, skipped or with errors\n", found - SHOWN);
}

static int print_f1(const f1_options *w, const evalb_params *p, const evalb_row *rows, size_t n,
                    const evalb_result *all, const evalb_result *at_cutoff, const confusion *labels)
{
    str out = {0};
    explain(rows, n);
    if (w->json) {
        str_addc(&out, '{');
        f1_json_block("all", all, &out);
        f1_json_block("len40", at_cutoff, &out);
        if (w->by_length) by_length_json(rows, n, &out);
        if (w->pairs != -2) confusion_json(labels, pairs_shown(w), &out);
        str_add(&out, "}\n");
    } else {
        evalb_print_rows(stdout, EVALB_CURRENT, rows, n, all);
        evalb_print_summary(stdout, EVALB_CURRENT, p, all, at_cutoff);
        str_addf(&out,
                 "\n-- Strict: gold brackets of error and skipped sentences count as missed --\n"
                 "Strict Recall             = %6.2f\nStrict FMeasure           = %6.2f\n",
                 all->strict_recall, all->strict_f1);
        if (w->by_length) by_length_text(rows, n, &out);
        if ((w->pairs != -2)) confusion_text(labels, pairs_shown(w), &out);
    }
    return score_print(&out);
}

typedef struct {
    const f1_options *w;
    evalb_params *p;
    confusion labels;
    evalb_row *rows; /* [n] all sentences; only a part of the trees is held */
    size_t n, cap;
} f1_scoring;

static int add_part(void *self, char **const *lines, size_t n, size_t first, err *e)
{
    f1_scoring *s = self;
    const char *const *gold = (const char *const *)lines[1], *const *test = (const char *const *)lines[0];
    s->rows = grow(s->rows, &s->cap, s->n + n, sizeof *s->rows);
    s->p->lines_before = (int64_t)first - 1;
    evalb_result part;
    int bad = evalb_score(s->p, gold, test, n, s->rows + s->n, &part, NULL, e) ||
              (s->w->pairs != -2 && confusion_count(s->p, gold, test, n, &s->labels, e));
    s->p->errors_before += part.errors, s->n += n;
    return bad ? (fail_in(e, "%s: ", s->w->gold), -1) : 0;
}

/* Scores the sentences of two files, paired by line. -1 and a message. */
static int score_f1(const f1_options *w, evalb_params *p, int *code, err *e)
{
    evalb_result all, at_cutoff;
    size_t n;
    f1_scoring s = {.w = w, .p = p};
    int bad = score_parts(&w->gold, 1, &n, add_part, &s, e);
    if (!bad && !n) bad = fail(e, "%s: found no trees", w->gold);
    if (!bad) {
        evalb_sum(s.rows, n, 0, INT64_MAX, &all);
        evalb_sum(s.rows, n, 0, p->cutoff, &at_cutoff);
        *code = print_f1(w, p, s.rows, n, &all, &at_cutoff, &s.labels);
    }
    confusion_free(&s.labels);
    free(s.rows);
    return bad ? -1 : 0;
}

static int score_f1_command_run(const invocation *c, void *options)
{
    const f1_options *w = options;
    evalb_params p;
    err e = {0};
    int code = WRONG;
    if (w->param)
        evalb_params_load(&p, w->param, &e);
    else
        evalb_params_default(&p);
    if (*e.text || score_f1(w, &p, &code, &e)) call_failed(c, &e);
    evalb_params_free(&p);
    return code;
}

static const f1_options f1_defaults = {.pairs = -2};
static const option f1_table[] = {
    {"--gold", "FILE", "file of gold trees, line by line parallel to standard input", OPTION_TEXT,
     offsetof(f1_options, gold), .required = true},
    {"--param", "FILE.prm", "EVALB parameter file [COLLINS.prm]", OPTION_TEXT, offsetof(f1_options, param)},
    {"--confusion", "N", "show the N pairs of labels that are confused most often [20]", OPTION_COUNT_BARE,
     offsetof(f1_options, pairs), 0, 1e9},
    {"--by-length", NULL, "also show scores by sentence length", OPTION_FLAG, offsetof(f1_options, by_length)},
    OPTION_JSON(offsetof(f1_options, json)),
    {0}};
const command score_f1_command = {.name = "score f1",
                                  .part = FOR_MODELS,
                                  .does = "compute bracketing F1 of trees on standard input, as EVALB does",
                                  .options = f1_table,
                                  .defaults = &f1_defaults,
                                  .size = sizeof f1_defaults,
                                  .run = score_f1_command_run,
                                  .example =
                                      "ablate parse --run parsing-gum/base < sentences | ablate score f1 --gold trees"};
