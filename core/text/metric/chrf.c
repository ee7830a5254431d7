#include "text/metric/chrf.h"
#include "base/cleanup.h"
#include "text/metric/words.h"
#include <stdlib.h>
#include <string.h>

size_t chrf_width(const chrf_options *o) { return 3 * (size_t)(o->char_order + o->word_order); }

/* ---- n-grams of one sentence, of characters or of words as numbers ---- */

typedef struct {
    const int32_t *first;
    size_t left; /* how many numbers the sentence has from `first` on */
} suffix;

enum { LONGEST = CHRF_MOST_CHARS };
_Static_assert((int)CHRF_MOST_WORDS <= (int)LONGEST, "suffixes are sorted by LONGEST numbers");

static int compare(const suffix *a, const suffix *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i >= a->left || i >= b->left) return (i < a->left) - (i < b->left);
        if (a->first[i] != b->first[i]) return a->first[i] < b->first[i] ? -1 : 1;
    }
    return 0;
}

static int by_numbers(const void *a, const void *b) { return compare(a, b, LONGEST); }

/* Returns a sentence's suffixes, sorted. n-grams of any order are their beginnings, so equal n-grams are adjacent. */
static suffix *sorted(const int32_t *x, size_t n)
{
    suffix *s = xmalloc((n + 1) * sizeof *s);
    for (size_t i = 0; i < n; i++) s[i] = (suffix){x + i, n - i};
    if (n) qsort(s, n, sizeof *s, by_numbers);
    return s;
}

/* Moves *i behind the suffixes that begin with the next n-gram (*first). Returns how many; 0: no n-gram left. */
static size_t next_ngram(const suffix *s, size_t n, size_t order, size_t *i, const suffix **first)
{
    while (*i < n && s[*i].left < order) ++*i;
    size_t count = 0;
    for (*first = s + *i; *i < n && (s[*i].left < order || !compare(*first, &s[*i], order)); ++*i)
        count += s[*i].left >= order;
    return count;
}

static void count_order(const suffix *h, size_t n_h, const suffix *r, size_t n_r, size_t order, double row[3])
{
    size_t i = 0, j = 0, all_h = n_h >= order ? n_h - order + 1 : 0, all_r = n_r >= order ? n_r - order + 1 : 0;
    const suffix *at_h, *at_r;
    size_t in_h = next_ngram(h, n_h, order, &i, &at_h), in_r = next_ngram(r, n_r, order, &j, &at_r), matching = 0;
    while (in_h && in_r) {
        int side = compare(at_h, at_r, order);
        if (!side) matching += in_h < in_r ? in_h : in_r;
        if (side <= 0) in_h = next_ngram(h, n_h, order, &i, &at_h);
        if (side >= 0) in_r = next_ngram(r, n_r, order, &j, &at_r);
    }
    row[0] = all_r ? (double)all_h : 0; /* 0 for an order that the reference does not have */
    row[1] = (double)all_r, row[2] = (double)matching;
}

static void count_orders(const int32_t *hyp, size_t n_h, const int32_t *ref, size_t n_r, size_t orders, double *row)
{
    AUTOFREE suffix *h = sorted(hyp, n_h), *r = sorted(ref, n_r);
    for (size_t k = 0; k < orders; k++) count_order(h, n_h, r, n_r, k + 1, row + 3 * k);
}

/* ---- from text to statistics ---- */

typedef struct {
    codes text, characters, words; /* words as numbers */
} chrf_side;

typedef struct {
    codes spare;
    word_numbers known;
    chrf_side hyp, ref;
} chrf_workspace;

static void chrf_workspace_free(chrf_workspace *w)
{
    codes *all[] = {&w->spare,    &w->hyp.text,       &w->hyp.characters, &w->hyp.words,
                    &w->ref.text, &w->ref.characters, &w->ref.words};
    for (size_t i = 0; i < LENGTH(all); i++) codes_free(all[i]);
    word_numbers_free(&w->known);
}

/* string.punctuation of Python */
static bool is_ascii_punctuation(int32_t c)
{
    return c > ' ' && c < 0x7f && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

/* Adds a word. A punctuation mark at the word's end, else at its beginning, is a word of its own (chrF++.py). */
static void add_words(chrf_workspace *w, chrf_side *s, const int32_t *word, size_t n)
{
    size_t cut = n;
    if (n > 1 && is_ascii_punctuation(word[n - 1]))
        cut = n - 1;
    else if (n > 1 && is_ascii_punctuation(word[0]))
        cut = 1;
    codes_add(&s->words, word_number(&w->known, word, cut));
    if (cut < n) codes_add(&s->words, word_number(&w->known, word + cut, n - cut));
}

static int prepare_chrf(chrf_workspace *w, const chrf_options *o, chrf_side *s, const char *line, err *e)
{
    if (codes_decode(&w->spare, line, e)) return -1;
    const codes *text = &w->spare;
    if (o->lowercase) codes_lower(&w->spare, &s->text), text = &s->text;
    size_t n = text->n;
    while (n && codes_space(text->c[n - 1])) n--;
    s->characters.n = s->words.n = 0;
    for (size_t i = 0; i < n; i++)
        if (o->whitespace || !codes_space(text->c[i])) codes_add(&s->characters, text->c[i]);
    for (size_t i = 0, from; o->word_order && words_next(text->c, n, &i, &from);)
        add_words(w, s, text->c + from, i - from);
    return 0;
}

static int chrf_sentence(chrf_workspace *w, const chrf_options *o, const char *hyp, const char *const *const *refs,
                         size_t n_refs, size_t i, double *row, err *e)
{
    double best = -1, own[3 * CHRF_MOST_ORDERS];
    word_numbers_clear(&w->known);
    if (prepare_chrf(w, o, &w->hyp, hyp, e)) return fail_in(e, "hypotheses, line %zu: ", i + 1);
    for (size_t k = 0; k < n_refs; k++) {
        if (prepare_chrf(w, o, &w->ref, refs[k][i], e)) return fail_in(e, "reference %zu, line %zu: ", k + 1, i + 1);
        const codes *h = &w->hyp.characters, *r = &w->ref.characters;
        count_orders(h->c, h->n, r->c, r->n, (size_t)o->char_order, own);
        h = &w->hyp.words, r = &w->ref.words;
        count_orders(h->c, h->n, r->c, r->n, (size_t)o->word_order, own + 3 * o->char_order);
        double score = chrf_from_stats(own, o);
        if (score > best) best = score, memcpy(row, own, chrf_width(o) * sizeof *row);
    }
    return 0;
}

/* ---- from statistics to the score ---- */

static double f_score(double precision, double recall, double factor)
{
    double below = factor * precision + recall;
    return below > 0 ? (1 + factor) * precision * recall / below : 0;
}

double chrf_from_stats(const double *sum, const chrf_options *o)
{
    static const double eps = 1e-16;
    double factor = (double)(o->beta * o->beta), total = 0, precision = 0, recall = 0;
    int64_t orders = o->char_order + o->word_order, both = 0;
    for (int64_t k = 0; k < orders; k++) {
        double hyp = sum[3 * k], ref = sum[3 * k + 1], matching = sum[3 * k + 2];
        double p = hyp > 0 ? matching / hyp : eps, r = ref > 0 ? matching / ref : eps;
        total += factor * p + r > 0 ? f_score(p, r, factor) : eps;
        if (hyp > 0 && ref > 0) precision += p, recall += r, both++;
    }
    if (o->eps) return 100 * total / (double)orders;
    return both ? 100 * f_score(precision / (double)both, recall / (double)both, factor) : 0;
}

static void sign_chrf(const chrf_options *o, size_t n_refs, chrf_score *out)
{
    int used = snprintf(out->name, sizeof out->name, "chrF%lld", (long long)o->beta);
    for (int64_t i = 0; i < o->word_order && (size_t)used + 1 < sizeof out->name; i++)
        out->name[used++] = '+', out->name[used] = 0;
    snprintf(out->signature, sizeof out->signature,
             "nrefs:%zu|case:%s|eff:%s|nc:%lld|nw:%lld|space:%s|version:ablate-%s", n_refs,
             o->lowercase ? "lc" : "mixed", o->eps ? "no" : "yes", (long long)o->char_order, (long long)o->word_order,
             o->whitespace ? "yes" : "no", ABLATE_VERSION);
}

int chrf_add(const chrf_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
             double *sum, double *stats, err *e)
{
    CLEANUP(chrf_workspace_free) chrf_workspace w = {0};
    double row[CHRF_MOST_STATS];
    size_t width = chrf_width(o);
    int status = n_refs ? 0 : fail(e, "chrF: there is no reference to score against");
    for (size_t i = 0; i < n && !status; i++) {
        status = chrf_sentence(&w, o, hyp[i], refs, n_refs, i, row, e);
        for (size_t k = 0; k < width && !status; k++) sum[k] += row[k];
        if (stats && !status) memcpy(stats + i * width, row, width * sizeof *row);
    }
    return status;
}

void chrf_result(const chrf_options *o, const double *sum, size_t n_refs, chrf_score *out)
{
    *out = (chrf_score){.score = chrf_from_stats(sum, o)};
    sign_chrf(o, n_refs, out);
}
