/* score.c - ablate score bleu, chrf, ter: scores translations. */
#include "cli/options.h"
#include "cli/score.h"
#include "text/metric/bleu.h"
#include "text/metric/chrf.h"
#include "text/metric/codes.h"
#include "text/metric/ter.h"

/* ---- sentences and their references ---- */

typedef struct {
    const char *const *hyp;   /* [n] */
    const char *const **refs; /* [n_refs][n] */
    size_t n, n_refs;
} sentences;

typedef struct { /* a metric with its options */
    int (*add)(const void *options, const sentences *x, double *sum, err *e);
    void (*print)(const void *options, const double *sum, size_t n_refs, str *out);
} scorer;

typedef struct { /* each command's options begin with these */
    text_list refs;
    bool json;
    const scorer *by;
} score_options;

typedef struct {
    const score_options *o;
    codes text;
    double sum[CHRF_MOST_STATS]; /* chrF has the most statistics */
} scoring;

static int add_part(void *self, char **const *lines, size_t n, size_t first, err *e)
{
    scoring *s = self;
    const char *const *refs[MOST_FILES];
    const text_list *paths = &s->o->refs;
    for (size_t k = 0; k <= paths->n; k++)
        for (size_t i = 0; i < n; i++)
            if (codes_decode(&s->text, lines[k][i], e))
                return fail_in(e, "%s:%zu: ", k ? paths->at[k - 1] : "standard input", first + i);
    for (size_t k = 0; k < paths->n; k++) refs[k] = (const char *const *)lines[k + 1];
    sentences x = {(const char *const *)lines[0], refs, n, paths->n};
    return s->o->by->add(s->o, &x, s->sum, e);
}

/* Scores standard input against the references and prints the score. */
static int score_sentences(const invocation *c, void *options)
{
    err e = {0};
    str out = {0};
    scoring s = {.o = options};
    const text_list *paths = &s.o->refs;
    size_t n = 0;
    if (paths->n > MOST_FILES) return call_usage(c, "--ref: expected at most %d files", MOST_FILES);
    int bad = score_parts(paths->at, paths->n, &n, add_part, &s, &e);
    codes_free(&s.text);
    if (!bad && !n) bad = fail(&e, "standard input: found no sentences to score");
    if (bad) return call_failed(c, &e), WRONG;
    s.o->by->print(options, s.sum, paths->n, &out);
    return score_print(&out);
}

#define REFERENCES(options)                                                                                            \
    {                                                                                                                  \
        "--ref", "FILE", "reference file, line by line parallel to standard input", OPTION_LIST,                       \
            offsetof(options, from.refs), .required = true                                                             \
    }

/* ---- bleu ---- */

typedef struct {
    score_options from;
    const char *tok, *smooth;
    bool lowercase;
    bleu_options o; /* parsed from the options above */
} bleu_command;

static void write_ints(str *b, const char *name, const int64_t *x, size_t n)
{
    json_open(b, name, '[');
    for (size_t i = 0; i < n; i++) str_addf(b, "%s%lld", i ? "," : "", (long long)x[i]);
    str_addc(b, ']');
}

static void print_json(const char *name, double score, const char *signature, str *b)
{
    json_open(b, NULL, '{');
    json_key_text(b, "name", name);
    json_key_real(b, "score", score);
    json_key_text(b, "signature", signature);
    str_add(b, "}\n");
}

static void bleu_json(const bleu_score *s, str *b)
{
    json_open(b, NULL, '{');
    json_key_real(b, "score", s->score);
    json_open(b, "precisions", '[');
    for (int k = 0; k < BLEU_ORDERS; k++) json_next(b), json_number(b, s->precisions[k]);
    str_addc(b, ']');
    write_ints(b, "counts", s->counts, BLEU_ORDERS);
    write_ints(b, "totals", s->totals, BLEU_ORDERS);
    json_key_real(b, "bp", s->bp);
    json_key_whole(b, "sys_len", s->sys_len);
    json_key_whole(b, "ref_len", s->ref_len);
    json_key_text(b, "signature", s->signature);
    str_add(b, "}\n");
}

static void bleu_text(const bleu_score *s, str *b)
{
    double ratio = s->ref_len ? (double)s->sys_len / (double)s->ref_len : 0;
    str_addf(b, "BLEU = %.2f  %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)\n%s\n",
             s->score, s->precisions[0], s->precisions[1], s->precisions[2], s->precisions[3], s->bp, ratio,
             (long long)s->sys_len, (long long)s->ref_len, s->signature);
}

static int add_bleu(const void *options, const sentences *x, double *sum, err *e)
{
    const bleu_command *w = options;
    return bleu_add(&w->o, x->hyp, x->refs, x->n_refs, x->n, sum, NULL, e);
}

static void print_bleu(const void *options, const double *sum, size_t n_refs, str *out)
{
    const bleu_command *w = options;
    bleu_score score;
    bleu_result(&w->o, sum, n_refs, &score);
    if (w->from.json)
        bleu_json(&score, out);
    else
        bleu_text(&score, out);
}

static int score_bleu(const invocation *c, void *options)
{
    bleu_command *w = options;
    err e = {0};
    if (bleu_options_parse(&w->o, w->tok, w->lowercase, w->smooth, &e)) return call_usage(c, "%s", e.text);
    return score_sentences(c, w);
}

static const bleu_command bleu_defaults = {.from.by = &(const scorer){add_bleu, print_bleu}};
static const option bleu_command_table[] = {
    REFERENCES(bleu_command),
    {"--tok", "13a|none|intl|char|zh|compounds", "tokeniser [13a]", OPTION_TEXT, offsetof(bleu_command, tok)},
    {"--lc", NULL, "lowercase both sides", OPTION_FLAG, offsetof(bleu_command, lowercase)},
    {"--smooth", "exp|floor[=X]|add-k[=X]|none", "smoothing [exp]", OPTION_TEXT, offsetof(bleu_command, smooth)},
    OPTION_JSON(offsetof(bleu_command, from.json)),
    {0}};
const command score_bleu_command = {
    .name = "score bleu",
    .part = FOR_MODELS,
    .does = "compute BLEU of translations on standard input, as sacreBLEU does",
    .options = bleu_command_table,
    .defaults = &bleu_defaults,
    .size = sizeof bleu_defaults,
    .run = score_bleu,
    .example = "ablate translate --run quick/base < text.en | ablate score bleu --ref text.de"};

/* ---- chrF ---- */

typedef struct {
    score_options from;
    chrf_options o;
} chrf_command;

static int add_chrf(const void *options, const sentences *x, double *sum, err *e)
{
    const chrf_command *w = options;
    return chrf_add(&w->o, x->hyp, x->refs, x->n_refs, x->n, sum, NULL, e);
}

static void print_chrf(const void *options, const double *sum, size_t n_refs, str *out)
{
    const chrf_command *w = options;
    chrf_score s;
    chrf_result(&w->o, sum, n_refs, &s);
    if (w->from.json)
        print_json(s.name, s.score, s.signature, out);
    else
        str_addf(out, "%s = %.2f\n%s\n", s.name, s.score, s.signature);
}

static const chrf_command chrf_defaults = {.from.by = &(const scorer){add_chrf, print_chrf}, .o = CHRF_DEFAULTS};
static const option chrf_command_table[] = {
    REFERENCES(chrf_command),
    {"--char-order", "N", "characters in the longest n-gram [6]", OPTION_COUNT, offsetof(chrf_command, o.char_order), 1,
     CHRF_MOST_CHARS},
    {"--word-order", "N", "words in the longest n-gram, 2 for chrF++ [0]", OPTION_COUNT,
     offsetof(chrf_command, o.word_order), 0, CHRF_MOST_WORDS},
    {"--beta", "N", "weight of recall [2]", OPTION_COUNT, offsetof(chrf_command, o.beta), 1, 1000},
    {"--lc", NULL, "lowercase both sides", OPTION_FLAG, offsetof(chrf_command, o.lowercase)},
    {"--whitespace", NULL, "count whitespace as characters", OPTION_FLAG, offsetof(chrf_command, o.whitespace)},
    {"--eps", NULL, "average the F scores of the n-gram orders, as chrF++.py and NLTK do", OPTION_FLAG,
     offsetof(chrf_command, o.eps)},
    OPTION_JSON(offsetof(chrf_command, from.json)),
    {0}};
const command score_chrf_command = {
    .name = "score chrf",
    .part = FOR_MODELS,
    .does = "compute chrF or chrF++ of translations on standard input, as sacreBLEU does",
    .options = chrf_command_table,
    .defaults = &chrf_defaults,
    .size = sizeof chrf_defaults,
    .run = score_sentences,
    .example = "ablate translate --run quick/base < text.en | ablate score chrf --ref text.de --word-order 2"};

/* ---- TER ---- */

typedef struct {
    score_options from;
    ter_options o;
} ter_command;

static int add_ter(const void *options, const sentences *x, double *sum, err *e)
{
    const ter_command *w = options;
    return ter_add(&w->o, x->hyp, x->refs, x->n_refs, x->n, sum, NULL, e);
}

static void print_ter(const void *options, const double *sum, size_t n_refs, str *out)
{
    const ter_command *w = options;
    ter_score s;
    ter_result(&w->o, sum, n_refs, &s);
    if (w->from.json)
        print_json("TER", s.score, s.signature, out);
    else
        str_addf(out, "TER = %.2f (edits = %.0f ref_len = %.10g)\n%s\n", s.score, s.edits, s.ref_len, s.signature);
}

static const ter_command ter_defaults = {.from.by = &(const scorer){add_ter, print_ter}};
static const option ter_command_table[] = {
    REFERENCES(ter_command),
    {"--case-sensitive", NULL, "do not lowercase", OPTION_FLAG, offsetof(ter_command, o.case_sensitive)},
    {"--normalized", NULL, "split punctuation from words, as Tercom does", OPTION_FLAG,
     offsetof(ter_command, o.normalized)},
    {"--no-punct", NULL, "remove punctuation", OPTION_FLAG, offsetof(ter_command, o.no_punct)},
    {"--asian", NULL, "apply --normalized and --no-punct to Chinese and Japanese characters too", OPTION_FLAG,
     offsetof(ter_command, o.asian)},
    OPTION_JSON(offsetof(ter_command, from.json)),
    {0}};
const command score_ter_command = {
    .name = "score ter",
    .part = FOR_MODELS,
    .does = "compute TER (edits per word, lower is better) of translations on standard input, as sacreBLEU does",
    .options = ter_command_table,
    .defaults = &ter_defaults,
    .size = sizeof ter_defaults,
    .run = score_sentences,
    .example = "ablate translate --run quick/base < text.en | ablate score ter --ref text.de"};
