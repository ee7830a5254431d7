#include "text/metric/bleu.h"
#include "base/cleanup.h"
#include "text/metric/ngrams.h"
#include "text/metric/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMOOTH_NAME(id, name, value) name,
static const char *const smooth_names[] = {BLEU_SMOOTHINGS(SMOOTH_NAME)};
#define SMOOTH_VALUE(id, name, value) value,
static const double smooth_values[] = {BLEU_SMOOTHINGS(SMOOTH_VALUE)};

/* ---- options ---- */

static int unknown(err *e, const char *what, const char *given, const char *const *names, size_t n)
{
    CLEANUP(str_free) str list = {0};
    for (size_t i = 0; i < n; i++) str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    fail(e, "%s: found \"%s\", expected one of %s%s", what, given, str_text(&list), suggestion(given, names, n, "\""));
    return -1;
}

static int parse_smooth(bleu_options *o, const char *text, err *e)
{
    const char *equals = strchr(text, '=');
    AUTOFREE char *name = equals ? xstrndup(text, (size_t)(equals - text)) : xstrdup(text);
    size_t k = 0;
    while (k < N_BLEU_SMOOTHINGS && !same(name, smooth_names[k])) k++;
    if (k == N_BLEU_SMOOTHINGS) return unknown(e, "smoothing", name, smooth_names, N_BLEU_SMOOTHINGS);
    o->smooth = (enum bleu_smooth)k;
    o->value = smooth_values[k];
    if (equals && smooth_values[k] == 0) return fail(e, "smoothing: found \"%s\", but %s takes no value", text, name);
    if (equals && (!parse_real(equals + 1, &o->value) || o->value < 0))
        return fail(e, "smoothing: found \"%s\", expected %s=X with X >= 0", text, name);
    return 0;
}

int bleu_options_parse(bleu_options *o, const char *tok, bool lowercase, const char *smooth, err *e)
{
    size_t k = 0;
    *o = (bleu_options){.lowercase = lowercase};
    if (tok) {
        while (k < N_TOKENIZERS && !same(tok, tokenizer_names[k])) k++;
        if (k == N_TOKENIZERS) return unknown(e, "tokenizer", tok, tokenizer_names, N_TOKENIZERS);
        o->tok = (enum tokenizer)k;
    }
    return smooth ? parse_smooth(o, smooth, e) : 0;
}

/* ---- from text to statistics ---- */

typedef struct {
    codes text, lowered, spare;
    ngrams grams;
} workspace;

static void workspace_free(workspace *w)
{
    codes_free(&w->text);
    codes_free(&w->lowered);
    codes_free(&w->spare);
    ngrams_free(&w->grams);
}

/* Decodes, lowercases and tokenizes a line. Returns codes that w owns; NULL and e on failure. */
static codes *prepare(workspace *w, const bleu_options *o, const char *line, err *e)
{
    codes *text = &w->text;
    if (codes_decode(text, line, e)) return NULL;
    if (o->lowercase) {
        codes_lower(text, &w->lowered);
        text = &w->lowered;
    }
    tokenize(o->tok, text, &w->spare);
    return text;
}

/* Writes the BLEU_STATS numbers of sentence i to row. */
static int sentence(workspace *w, const bleu_options *o, const char *hyp, const char *const *const *refs, size_t n_refs,
                    size_t i, double *row, err *e)
{
    codes *text;
    ngrams_clear(&w->grams);
    if (!(text = prepare(w, o, hyp, e))) return fail_in(e, "hypotheses, line %zu: ", i + 1);
    int64_t sys_len = ngrams_add(&w->grams, text, true), ref_len = 0;
    for (size_t k = 0; k < n_refs; k++) {
        if (!(text = prepare(w, o, refs[k][i], e))) return fail_in(e, "reference %zu, line %zu: ", k + 1, i + 1);
        int64_t len = ngrams_add(&w->grams, text, false);
        int64_t gap = llabs(len - sys_len), best = llabs(ref_len - sys_len);
        if (k == 0 || gap < best || (gap == best && len < ref_len)) ref_len = len;
    }
    row[0] = (double)sys_len;
    row[1] = (double)ref_len;
    ngrams_match(&w->grams, row + 2, row + 2 + BLEU_ORDERS);
    return 0;
}

/* ---- from statistics to the score ---- */

static void from_stats(const double *sum, const bleu_options *o, bleu_score *out)
{
    const double *counts = sum + 2, *totals = sum + 2 + BLEU_ORDERS;
    double sys_len = sum[0], ref_len = sum[1], logs = 0, halved = 1;
    bool nothing = true;
    *out = (bleu_score){.bp = 1, .sys_len = (int64_t)sys_len, .ref_len = (int64_t)ref_len};
    for (int k = 0; k < BLEU_ORDERS; k++) {
        out->counts[k] = (int64_t)counts[k];
        out->totals[k] = (int64_t)totals[k];
        if (counts[k] != 0) nothing = false;
    }
    if (sys_len < ref_len) out->bp = sys_len > 0 ? exp(1 - ref_len / sys_len) : 0;
    if (nothing) return;
    for (int k = 0; k < BLEU_ORDERS; k++) {
        double more = o->smooth == SMOOTH_add_k && k > 0 ? o->value : 0;
        double count = counts[k] + more, total = totals[k] + more;
        if (total == 0) return;
        if (count == 0 && o->smooth == SMOOTH_exp) count = 1 / (halved *= 2);
        if (count == 0 && o->smooth == SMOOTH_floor) count = o->value;
        out->precisions[k] = 100 * count / total;
    }
    for (int k = 0; k < BLEU_ORDERS; k++) logs += log(out->precisions[k]);
    out->score = out->bp * exp(logs / BLEU_ORDERS);
}

double bleu_from_stats(const double sum[BLEU_STATS], const bleu_options *o)
{
    bleu_score s;
    from_stats(sum, o, &s);
    return s.score;
}

static void sign(const bleu_options *o, size_t n_refs, bleu_score *out)
{
    char value[32] = "";
    if (smooth_values[o->smooth] != 0) snprintf(value, sizeof value, "[%.2f]", o->value);
    snprintf(out->signature, sizeof out->signature, "nrefs:%zu|case:%s|eff:no|tok:%s|smooth:%s%s|version:ablate-%s",
             n_refs, o->lowercase ? "lc" : "mixed", tokenizer_names[o->tok], smooth_names[o->smooth], value,
             ABLATE_VERSION);
}

int bleu_add(const bleu_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
             double sum[BLEU_STATS], double *stats, err *e)
{
    CLEANUP(workspace_free) workspace w = {0};
    double row[BLEU_STATS];
    int status = n_refs ? 0 : fail(e, "BLEU: there is no reference to score against");
    for (size_t i = 0; i < n && !status; i++) {
        status = sentence(&w, o, hyp[i], refs, n_refs, i, row, e);
        for (size_t k = 0; k < BLEU_STATS && !status; k++) sum[k] += row[k];
        if (stats && !status) memcpy(stats + i * BLEU_STATS, row, sizeof row);
    }
    return status;
}

void bleu_result(const bleu_options *o, const double sum[BLEU_STATS], size_t n_refs, bleu_score *out)
{
    from_stats(sum, o, out);
    sign(o, n_refs, out);
}

int bleu_corpus(const bleu_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
                bleu_score *out, double *stats, err *e)
{
    double sum[BLEU_STATS] = {0};
    if (n == 0) return fail(e, "BLEU: there are no sentences to score");
    if (bleu_add(o, hyp, refs, n_refs, n, sum, stats, e)) return -1;
    bleu_result(o, sum, n_refs, out);
    return 0;
}
