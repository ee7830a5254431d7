#include "metric/score_cli.h"
#include "metric/bleu.h"
#include "metric/confusion.h"
#include "metric/input.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- options and files ---- */

/* One option of a command; a list of them ends with a NULL name. */
typedef struct {
    const char *name;    /* "--ref" */
    const char **values; /* its values, or NULL for a flag */
    size_t max;          /* how many there may be; the last one counts if only one may */
    size_t n;            /* how often it was given */
    bool number;         /* the value is a number that may be left out; then it is NULL */
} option;

static int take(option *o, const char *value, const char *argument, err *e)
{
    if (!o->values && value) return fail(e, "%s: the option takes no value", argument);
    if (o->values && !value && !o->number) return fail(e, "%s: a value is missing after the option", argument);
    if (o->values && o->max > 1 && o->n == o->max) return fail(e, "%s: more than %zu times", o->name, o->max);
    if (o->values) o->values[o->max > 1 ? o->n : 0] = value;
    o->n++;
    return 0;
}

/* Reads `--name value`, `--name=value` and `--name`. */
static int parse_options(int argc, char **argv, option *options, err *e)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t n = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]), count = 0;
        const char *names[16];
        option *o = options;
        while (o->name && (strlen(o->name) != n || memcmp(o->name, argv[i], n))) names[count++] = o++->name;
        if (!o->name) {
            const char *near = nearest(argv[i], names, count);
            return fail(e, "unknown argument \"%s\"%s%s%s", argv[i], near ? "; did you mean " : "",
                        near ? near : "", near ? "?" : "");
        }
        const char *value = equals ? equals + 1 : NULL;
        bool follows = i + 1 < argc && (!o->number || isdigit((unsigned char)*argv[i + 1]));
        if (o->values && !equals && follows) value = argv[++i];
        if (take(o, value, argv[i], e)) return -1;
    }
    return 0;
}

static int usage_error(const char *command, const char *usage, const err *e)
{
    fprintf(stderr, "score %s: %s\nusage: %s", command, e->text, usage);
    return 2;
}

static int input_error(const char *command, const err *e)
{
    fprintf(stderr, "score %s: %s\n", command, e->text);
    return 2;
}

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
    return fail(e, "%s has %zu lines and %s has %zu; they are paired line by line", a->name, a->n, b->name,
                b->n);
}

/* ---- bleu ---- */

static const char bleu_usage[] =
    "ablate score bleu --ref FILE [--ref FILE]... [--tok 13a,none,intl,char,zh] [--lc]\n"
    "                         [--smooth exp,floor[=X],add-k[=X],none] [--json] < hypotheses\n";

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
    str_addf(b,
             "BLEU = %.2f  %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)\n%s\n",
             s->score, s->precisions[0], s->precisions[1], s->precisions[2], s->precisions[3], s->bp, ratio,
             (long long)s->sys_len, (long long)s->ref_len, s->signature);
}

enum { MAX_REFS = 64 };

static int score_bleu(const bleu_options *o, const char *const *paths, size_t n_refs, bleu_score *score,
                      err *e)
{
    text_file hyp = {0}, refs[MAX_REFS] = {{0}};
    const char *const *lines[MAX_REFS];
    int status = load(&hyp, NULL, e) || check_utf8(&hyp, e);
    for (size_t k = 0; k < n_refs && !status; k++) {
        status = load(&refs[k], paths[k], e) || check_utf8(&refs[k], e) || same_length(&hyp, &refs[k], e);
        lines[k] = (const char *const *)refs[k].lines;
    }
    if (!status)
        status = bleu_corpus(o, (const char *const *)hyp.lines, lines, n_refs, hyp.n, score, NULL, e);
    for (size_t k = 0; k < n_refs; k++) release(&refs[k]);
    release(&hyp);
    return status;
}

int score_bleu_main(int argc, char **argv)
{
    const char *refs[MAX_REFS], *tok = NULL, *smooth = NULL;
    enum { REF, TOK, LC, SMOOTH, JSON, HELP };
    option options[] = {{.name = "--ref", .values = refs, .max = MAX_REFS},
                        {.name = "--tok", .values = &tok, .max = 1},
                        {.name = "--lc"},
                        {.name = "--smooth", .values = &smooth, .max = 1},
                        {.name = "--json"},
                        {.name = "--help"},
                        {0}};
    bleu_options o;
    bleu_score score;
    str out = {0};
    err e = {0};
    if (parse_options(argc, argv, options, &e)) return usage_error("bleu", bleu_usage, &e);
    if (options[HELP].n) {
        str_addf(&out, "usage: %s", bleu_usage);
        return print_text(&out);
    }
    if (!options[REF].n) fail(&e, "--ref FILE is missing: what to score against");
    if (!*e.text) bleu_options_parse(&o, tok, options[LC].n > 0, smooth, &e);
    if (*e.text) return usage_error("bleu", bleu_usage, &e);
    if (score_bleu(&o, refs, options[REF].n, &score, &e)) return input_error("bleu", &e);
    if (options[JSON].n)
        bleu_json(&score, &out);
    else
        bleu_text(&score, &out);
    return print_text(&out);
}

/* ---- f1 ---- */

static const char f1_usage[] =
    "ablate score f1 --gold FILE [--param FILE.prm] [--confusion [N]] [--by-length] [--json] < trees\n";

enum { PAIRS = 20 }; /* that --confusion shows when it is given no number */

typedef struct { /* what was asked for beyond the summary */
    bool json, by_length, confusion;
    int64_t pairs;
} f1_wishes;

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

/* What is wrong with the first few sentences that do not count. */
static void explain(const evalb_row *rows, size_t n)
{
    enum { SHOWN = 10 };
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].status == EVALB_VALID || ++found > SHOWN) continue;
        fprintf(stderr, "standard input:%zu: %s: %s\n", i + 1,
                rows[i].status == EVALB_SKIP ? "skipped" : "error", rows[i].why);
    }
    if (found > SHOWN) fprintf(stderr, "and %zu sentences more that do not count\n", found - SHOWN);
}

static int print_f1(const f1_wishes *w, const evalb_params *p, const evalb_row *rows, size_t n, const evalb_result *all,
                    const evalb_result *at_cutoff, const confusion *labels)
{
    str out = {0};
    explain(rows, n);
    if (w->json) {
        str_addc(&out, '{');
        f1_json_block("all", all, &out);
        str_add(&out, ", ");
        f1_json_block("len40", at_cutoff, &out);
        if (w->by_length) str_add(&out, ", "), by_length_json(rows, n, &out);
        if (w->confusion) str_add(&out, ", "), confusion_json(labels, (size_t)w->pairs, &out);
        str_add(&out, "}\n");
    } else {
        evalb_print_rows(stdout, EVALB_CURRENT, rows, n, all);
        evalb_print_summary(stdout, EVALB_CURRENT, p, all, at_cutoff);
        str_addf(&out,
                 "\n-- Strict: gold brackets of error and skipped sentences count as missed --\n"
                 "Strict Recall             = %6.2f\nStrict FMeasure           = %6.2f\n",
                 all->strict_recall, all->strict_f1);
        if (w->by_length) by_length_text(rows, n, &out);
        if (w->confusion) confusion_text(labels, (size_t)w->pairs, &out);
    }
    return print_text(&out);
}

/* The sentences of two files, paired by line. -1 and words. */
static int score_f1(const f1_wishes *w, const evalb_params *p, const char *gold_path, int *code, err *e)
{
    evalb_result all, at_cutoff;
    text_file gold = {0}, test = {0};
    confusion labels = {0};
    evalb_row *rows = NULL;
    int bad = load(&gold, gold_path, e) || load(&test, NULL, e) || same_length(&gold, &test, e);
    if (!bad && gold.n == 0) bad = fail(e, "%s holds no trees", gold.name);
    const char *const *g = (const char *const *)gold.lines, *const *t = (const char *const *)test.lines;
    if (!bad) {
        rows = xcalloc(gold.n, sizeof *rows);
        bad = evalb_score(p, g, t, gold.n, rows, &all, &at_cutoff, e) ||
              (w->confusion && confusion_count(p, g, t, gold.n, &labels, e));
        if (bad) fail_in(e, "%s: ", gold.name);
    }
    if (!bad) *code = print_f1(w, p, rows, gold.n, &all, &at_cutoff, &labels);
    confusion_free(&labels);
    free(rows);
    release(&gold);
    release(&test);
    return bad ? -1 : 0;
}

int score_f1_main(int argc, char **argv)
{
    const char *gold_path = NULL, *param_path = NULL, *pairs = NULL;
    enum { GOLD, PARAM, CONFUSION, BY_LENGTH, JSON, HELP };
    option options[] = {{.name = "--gold", .values = &gold_path, .max = 1},
                        {.name = "--param", .values = &param_path, .max = 1},
                        {.name = "--confusion", .values = &pairs, .max = 1, .number = true},
                        {.name = "--by-length"},
                        {.name = "--json"},
                        {.name = "--help"},
                        {0}};
    evalb_params p;
    str out = {0};
    err e = {0};
    int code = 2;
    if (parse_options(argc, argv, options, &e)) return usage_error("f1", f1_usage, &e);
    if (options[HELP].n) {
        str_addf(&out, "usage: %s", f1_usage);
        return print_text(&out);
    }
    f1_wishes w = {options[JSON].n > 0, options[BY_LENGTH].n > 0, options[CONFUSION].n > 0, PAIRS};
    if (!gold_path) fail(&e, "--gold FILE is missing: the trees to score against");
    if (pairs && (!parse_int(pairs, &w.pairs) || w.pairs < 0))
        fail(&e, "--confusion %s: expected how many pairs to show", pairs);
    if (*e.text) return usage_error("f1", f1_usage, &e);
    if (param_path)
        evalb_params_load(&p, param_path, &e);
    else
        evalb_params_default(&p);
    if (*e.text || score_f1(&w, &p, gold_path, &code, &e)) input_error("f1", &e);
    evalb_params_free(&p);
    return code;
}
