#include "text/metric/ter.h"
#include "base/cleanup.h"
#include "text/metric/tokenize.h"
#include "text/metric/words.h"
#include <string.h>

/* ---- Tercom's tokenisation ---- */

static bool any_of(int32_t c, const int32_t (*ranges)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static bool is_split_mark(int32_t c)
{
    static const int32_t marks[][2] = {{'{', '~'}, {'[', '`'}, {' ', '&'}, {'(', '+'}, {':', '@'}, {'/', '/'}};
    return any_of(c, marks, LENGTH(marks));
}

static bool is_asian_mark(int32_t c)
{
    static const int32_t marks[][2] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301f}, {0xff61, 0xff65},
                                       {0x30fb, 0x30fb}, {0xff0e, 0xff0e}, {0xff0c, 0xff0c}, {0xff1f, 0xff1f},
                                       {0xff1a, 0xff1b}, {0xff01, 0xff02}, {0xff08, 0xff09}};
    return any_of(c, marks, LENGTH(marks));
}

/* The ranges of sacreBLEU, with its errors: 3200 to 3f22 was meant to end at 32ff, and Kana never match its pattern. */
static bool is_asian_word(int32_t c)
{
    static const int32_t words[][2] = {{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x31c0, 0x31ef}, {0x2e80, 0x2eff},
                                       {0x3300, 0x33ff}, {0xf900, 0xfaff}, {0xfe30, 0xfe4f}, {0x3200, 0x3f22}};
    return any_of(c, words, LENGTH(words));
}

static void normalize(codes *t, codes *spare)
{
    static const char *const escaped[][2] = {{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    for (size_t i = 0; i < LENGTH(escaped); i++) codes_replace(t, spare, escaped[i][0], escaped[i][1]);
    codes_pad(t, spare);
    codes_set_apart(t, spare, is_split_mark);
    codes_replace(t, spare, "'s ", " 's ");
    codes_split_marks(t, spare);
}

static void drop(codes *t, bool asian)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        int32_t c = t->c[i];
        bool mark = c < 0x80 && c && strchr(".,?:;!\"()", c);
        if (!mark && !(asian && is_asian_mark(c))) t->c[n++] = c;
    }
    t->n = n;
}

/* ---- from text to statistics ---- */

typedef struct {
    codes text, spare, hyp, ref; /* hyp, ref: words as numbers */
    word_numbers known;
} ter_workspace;

static void ter_workspace_free(ter_workspace *w)
{
    codes_free(&w->text);
    codes_free(&w->spare);
    codes_free(&w->hyp);
    codes_free(&w->ref);
    word_numbers_free(&w->known);
}

enum { MOST_WORDS = 5000 }; /* a line's maximum, to keep the search's tables [hypothesis, reference] small */

static int prepare_ter(ter_workspace *w, const ter_options *o, const char *line, codes *out, err *e)
{
    out->n = 0;
    if (codes_decode(&w->text, line, e)) return -1;
    while (w->text.n && codes_space(w->text.c[w->text.n - 1])) w->text.n--;
    if (!w->text.n) return 0;
    if (!o->case_sensitive) codes_lower(&w->text, &w->spare), codes_swap(&w->text, &w->spare);
    if (o->normalized) normalize(&w->text, &w->spare);
    if (o->normalized && o->asian)
        codes_set_apart(&w->text, &w->spare, is_asian_word), codes_set_apart(&w->text, &w->spare, is_asian_mark);
    if (o->no_punct) drop(&w->text, o->asian);
    for (size_t i = 0, from; words_next(w->text.c, w->text.n, &i, &from);)
        codes_add(out, word_number(&w->known, w->text.c + from, i - from));
    return out->n <= MOST_WORDS ? 0 : fail(e, "found %zu words, expected at most %d", out->n, MOST_WORDS);
}

static int ter_sentence(ter_workspace *w, const ter_options *o, const char *hyp, const char *const *const *refs,
                        size_t n_refs, size_t i, double row[TER_STATS], err *e)
{
    int64_t fewest = INT64_MAX, words = 0;
    word_numbers_clear(&w->known);
    if (prepare_ter(w, o, hyp, &w->hyp, e)) return fail_in(e, "hypotheses, line %zu: ", i + 1);
    for (size_t k = 0; k < n_refs; k++) {
        if (prepare_ter(w, o, refs[k][i], &w->ref, e)) return fail_in(e, "reference %zu, line %zu: ", k + 1, i + 1);
        int64_t edits = ter_edits(w->hyp.c, w->hyp.n, w->ref.c, w->ref.n);
        if (edits < fewest) fewest = edits;
        words += (int64_t)w->ref.n;
    }
    row[0] = (double)fewest, row[1] = (double)words / (double)n_refs;
    return 0;
}

double ter_from_stats(const double sum[TER_STATS])
{
    if (sum[1] > 0) return 100 * (sum[0] / sum[1]);
    return sum[0] > 0 ? 100 : 0;
}

int ter_add(const ter_options *o, const char *const *hyp, const char *const *const *refs, size_t n_refs, size_t n,
            double sum[TER_STATS], double *stats, err *e)
{
    CLEANUP(ter_workspace_free) ter_workspace w = {0};
    double row[TER_STATS];
    int status = n_refs ? 0 : fail(e, "TER: there is no reference to score against");
    for (size_t i = 0; i < n && !status; i++) {
        status = ter_sentence(&w, o, hyp[i], refs, n_refs, i, row, e);
        for (size_t k = 0; k < TER_STATS && !status; k++) sum[k] += row[k];
        if (stats && !status) memcpy(stats + i * TER_STATS, row, sizeof row);
    }
    return status;
}

void ter_result(const ter_options *o, const double sum[TER_STATS], size_t n_refs, ter_score *out)
{
    *out = (ter_score){.score = ter_from_stats(sum), .edits = sum[0], .ref_len = sum[1]};
    snprintf(out->signature, sizeof out->signature,
             "nrefs:%zu|case:%s|tok:tercom|norm:%s|punct:%s|asian:%s|version:ablate-%s", n_refs,
             o->case_sensitive ? "mixed" : "lc", o->normalized ? "yes" : "no", o->no_punct ? "no" : "yes",
             o->asian ? "yes" : "no", ABLATE_VERSION);
}
