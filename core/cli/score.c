/* score.c - ablate score bleu, ablate score f1: scores of files. */
#include "cli/options.h"
#include "text/metric/bleu.h"
#include "text/metric/confusion.h"
#include "cli/input.h"
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

enum { WRONG = 2 }; /* the exit code for input that cannot be scored, too */

static int print_text(str *out)
{
    int bad = fputs(str_text(out), stdout) < 0 || fflush(stdout);
    str_free(out);
    return bad ? 1 : 0;
}

typedef struct {
    const char *name; /* for messages */
    str text;
    char **lines;
    size_t n;
} text_file;

static int load(text_file *f, const char *path, err *e)
{
    f->name = path ? path : "standard input";
    return path ? file_lines(path, &f->text, &f->lines, &f->n, e) : input_lines(&f->text, &f->lines, &f->n, e);
}

static void release(text_file *f)
{
    free(f->lines);
    str_free(&f->text);
}

static int same_length(const text_file *a, const text_file *b, err *e)
{
    if (a->n == b->n) return 0;
    return fail(e, "%s has %zu lines and %s has %zu; they are paired line by line", a->name, a->n, b->name, b->n);
}

/* ---- bleu ---- */

typedef struct {
    text_list refs;
    const char *tok, *smooth;
    bool lowercase, json;
} bleu_command_options;

static int check_utf8(const text_file *f, err *e)
{
    codes text = {0};
    int status = 0;
    for (size_t i = 0; i < f->n && !status; i++)
        if ((status = codes_decode(&text, f->lines[i], e))) fail_in(e, "%s:%zu: ", f->name, i + 1);
    codes_free(&text);
    return status;
}

static void write_ints(str *b, const char *name, const int64_t *x, size_t n)
{
    str_addf(b, "\"%s\": [", name);
    for (size_t i = 0; i < n; i++) str_addf(b, "%s%lld", i ? ", " : "", (long long)x[i]);
    str_add(b, "], ");
}

static void bleu_json(const bleu_score *s, str *b)
{
    str_add(b, "{\"score\": ");
    json_number(b, s->score);
    str_add(b, ", \"precisions\": [");
    for (int k = 0; k < BLEU_ORDERS; k++) {
        if (k) str_add(b, ", ");
        json_number(b, s->precisions[k]);
    }
    str_add(b, "], ");
    write_ints(b, "counts", s->counts, BLEU_ORDERS);
    write_ints(b, "totals", s->totals, BLEU_ORDERS);
    str_add(b, "\"bp\": ");
    json_number(b, s->bp);
    str_addf(b, ", \"sys_len\": %lld, \"ref_len\": %lld, \"signature\": ", (long long)s->sys_len,
             (long long)s->ref_len);
    json_string(b, s->signature);
    str_add(b, "}\n");
}

static void bleu_text(const bleu_score *s, str *b)
{
    double ratio = s->ref_len ? (double)s->sys_len / (double)s->ref_len : 0;
    str_addf(b, "BLEU = %.2f  %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)\n%s\n",
             s->score, s->precisions[0], s->precisions[1], s->precisions[2], s->precisions[3], s->bp, ratio,
             (long long)s->sys_len, (long long)s->ref_len, s->signature);
}

enum { MAX_REFS = 64 };

static int score_bleu(const bleu_options *o, const char *const *paths, size_t n_refs, bleu_score *score, err *e)
{
    text_file hyp = {0}, refs[MAX_REFS] = {{0}};
    const char *const *lines[MAX_REFS];
    int status = load(&hyp, NULL, e) || check_utf8(&hyp, e);
    for (size_t k = 0; k < n_refs && !status; k++) {
        status = load(&refs[k], paths[k], e) || check_utf8(&refs[k], e) || same_length(&hyp, &refs[k], e);
        lines[k] = (const char *const *)refs[k].lines;
    }
    if (!status) status = bleu_corpus(o, (const char *const *)hyp.lines, lines, n_refs, hyp.n, score, NULL, e);
    for (size_t k = 0; k < n_refs; k++) release(&refs[k]);
    release(&hyp);
    return status;
}

static int score_bleu_command_run(const invocation *c, void *options)
{
    const bleu_command_options *w = options;
    bleu_options o;
    bleu_score score;
    str out = {0};
    err e = {0};
    if (w->refs.n > MAX_REFS) fail(&e, "--ref: found more than %d, expected fewer", MAX_REFS);
    if (!*e.text) bleu_options_parse(&o, w->tok, w->lowercase, w->smooth, &e);
    if (*e.text) return call_usage(c, &e);
    if (score_bleu(&o, w->refs.at, w->refs.n, &score, &e)) return call_failed(c, &e), WRONG;
    if (w->json)
        bleu_json(&score, &out);
    else
        bleu_text(&score, &out);
    return print_text(&out);
}

static const option bleu_command_table[] = {
    {"--ref", "FILE", "reference file, line by line parallel to standard input", OPTION_LIST,
     offsetof(bleu_command_options, refs), .required = true},
    {"--tok", "13a|none|intl|char|zh", "tokeniser [13a]", OPTION_TEXT, offsetof(bleu_command_options, tok),
     .words = WORDS_OWN},
    {"--lc", NULL, "lowercase both sides", OPTION_FLAG, offsetof(bleu_command_options, lowercase)},
    {"--smooth", "exp|floor[=X]|add-k[=X]|none", "smoothing [exp]", OPTION_TEXT, offsetof(bleu_command_options, smooth),
     .words = WORDS_OWN},
    {"--json", NULL, "print JSON in full precision (docs/json.md)", OPTION_FLAG, offsetof(bleu_command_options, json)},
    {0}};
const command score_bleu_command = {
    .name = "score bleu",
    .part = FOR_MODELS,
    .does = "compute BLEU of translations on standard input, as sacreBLEU does",
    .options = bleu_command_table,
    .size = sizeof(bleu_command_options),
    .run = score_bleu_command_run,
    .example = "ablate translate --run quick/base < text.en | ablate score bleu --ref text.de"};

/* ---- f1 ---- */

enum { PAIRS = 20 }; /* shown by --confusion without a number */

typedef struct {
    const char *gold, *param;
    bool json, by_length;
    int64_t pairs; /* of --confusion; -1: PAIRS, -2: not asked for */
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
    str_addf(b, "\"%s\": {\"sentences\": %lld, \"errors\": %lld, \"skipped\": %lld, \"valid\": %lld", name,
             (long long)r->sentences, (long long)r->errors, (long long)r->skipped, (long long)r->valid);
    for (size_t i = 0; i < LENGTH(figures); i++) {
        str_addf(b, ", \"%s\": ", figures[i].name);
        json_number(b, figures[i].x);
    }
    str_addc(b, '}');
}

/* The errors of the first few sentences that do not count. */
static void explain(const evalb_row *rows, size_t n)
{
    enum { SHOWN = 10 };
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].status == EVALB_VALID || ++found > SHOWN) continue;
        fprintf(stderr, "standard input:%zu: %s: %s\n", i + 1, rows[i].status == EVALB_SKIP ? "skipped" : "error",
                rows[i].why);
    }
    if (found > SHOWN) fprintf(stderr, "and %zu more sentences that do not count\n", found - SHOWN);
}

static int print_f1(const f1_options *w, const evalb_params *p, const evalb_row *rows, size_t n,
                    const evalb_result *all, const evalb_result *at_cutoff, const confusion *labels)
{
    str out = {0};
    explain(rows, n);
    if (w->json) {
        str_addc(&out, '{');
        f1_json_block("all", all, &out);
        str_add(&out, ", ");
        f1_json_block("len40", at_cutoff, &out);
        if (w->by_length) str_add(&out, ", "), by_length_json(rows, n, &out);
        if ((w->pairs != -2)) str_add(&out, ", "), confusion_json(labels, pairs_shown(w), &out);
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
    return print_text(&out);
}

/* The sentences of two files, paired by line. -1 and a message. */
static int score_f1(const f1_options *w, const evalb_params *p, const char *gold_path, int *code, err *e)
{
    evalb_result all, at_cutoff;
    text_file gold = {0}, test = {0};
    confusion labels = {0};
    evalb_row *rows = NULL;
    int bad = load(&gold, gold_path, e) || load(&test, NULL, e) || same_length(&gold, &test, e);
    if (!bad && gold.n == 0) bad = fail(e, "%s: found no trees", gold.name);
    const char *const *g = (const char *const *)gold.lines, *const *t = (const char *const *)test.lines;
    if (!bad) {
        rows = xcalloc(gold.n, sizeof *rows);
        bad = evalb_score(p, g, t, gold.n, rows, &all, &at_cutoff, e) ||
              ((w->pairs != -2) && confusion_count(p, g, t, gold.n, &labels, e));
        if (bad) fail_in(e, "%s: ", gold.name);
    }
    if (!bad) *code = print_f1(w, p, rows, gold.n, &all, &at_cutoff, &labels);
    confusion_free(&labels);
    free(rows);
    release(&gold);
    release(&test);
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
    if (*e.text || score_f1(w, &p, w->gold, &code, &e)) call_failed(c, &e);
    evalb_params_free(&p);
    return code;
}

static const f1_options f1_defaults = {.pairs = -2};
static const option f1_table[] = {
    {"--gold", "FILE", "file of gold trees, line by line parallel to standard input", OPTION_TEXT,
     offsetof(f1_options, gold), .required = true},
    {"--param", "FILE.prm", "EVALB parameter file [COLLINS.prm]", OPTION_TEXT, offsetof(f1_options, param)},
    {"--confusion", "N", "show labels most often confused, N pairs [20]", OPTION_COUNT_BARE,
     offsetof(f1_options, pairs), 0, 1e9},
    {"--by-length", NULL, "also show scores by sentence length", OPTION_FLAG, offsetof(f1_options, by_length)},
    {"--json", NULL, "print JSON in full precision (docs/json.md)", OPTION_FLAG, offsetof(f1_options, json)},
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
