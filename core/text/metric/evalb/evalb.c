#include "text/metric/evalb/evalb.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

/* ---- labels and words ---- */

static bool in_list(const evalb_list *list, slice a)
{
    for (size_t i = 0; i < list->n; i++)
        if (slice_is(a, list->text[i])) return true;
    return false;
}

static bool equal(const evalb_list *pairs, slice a, slice b)
{
    if (slice_same(a, b)) return true;
    for (size_t i = 0; i + 1 < pairs->n; i += 2) {
        const char *x = pairs->text[i], *y = pairs->text[i + 1];
        if ((slice_is(a, x) && slice_is(b, y)) || (slice_is(a, y) && slice_is(b, x))) return true;
    }
    return false;
}

/* Cuts function tags: NP-SBJ=2 becomes NP. Not applied to leaves' tags, such as -NONE- and -LRB-. */
static slice without_function(slice label)
{
    size_t n = 0;
    while (n < label.n && label.s[n] != '-' && label.s[n] != '=') n++;
    return (slice){label.s, n};
}

/* Does a bracket's label equal a deleted label, also by eq_label? Leaves' tags must equal a deleted label exactly. */
static bool is_deleted(const evalb_params *p, slice label)
{
    for (size_t i = 0; i < p->delete_label.n; i++) {
        slice deleted = {p->delete_label.text[i], strlen(p->delete_label.text[i])};
        if (equal(&p->eq_label, label, deleted)) return true;
    }
    return false;
}

/* ---- one tree ---- */

typedef evalb_bracket bracket;

typedef struct {
    tree t;
    bool *dropped;  /* [leaves] */
    size_t *before; /* [leaves + 1]: number of words before each leaf that count; [leaves]: of all */
    size_t cap_dropped, cap_before, n_words;
    bracket *brackets; /* sorted by start, end and order */
    size_t n, cap;
} side;

static void side_free(side *s)
{
    tree_free(&s->t);
    free(s->dropped);
    free(s->before);
    free(s->brackets);
}

static const tree_node *leaf(const side *s, size_t i) { return &s->t.nodes[s->t.leaves[i]]; }

static void drop_leaves(side *s, const evalb_params *p)
{
    s->dropped = grow(s->dropped, &s->cap_dropped, s->t.n_leaves + 1, sizeof *s->dropped);
    for (size_t i = 0; i < s->t.n_leaves; i++) s->dropped[i] = in_list(&p->delete_label, leaf(s, i)->label);
}

static void number_words(side *s)
{
    s->before = grow(s->before, &s->cap_before, s->t.n_leaves + 1, sizeof *s->before);
    s->n_words = 0;
    for (size_t i = 0; i < s->t.n_leaves; i++) {
        s->before[i] = s->n_words;
        s->n_words += !s->dropped[i];
    }
    s->before[s->t.n_leaves] = s->n_words;
}

int evalb_compare_spans(const bracket *x, const bracket *y)
{
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : 0;
}

static int by_span(const void *a, const void *b)
{
    const bracket *x = a, *y = b;
    int spans = evalb_compare_spans(x, y);
    return spans ? spans : x->order < y->order ? -1 : 1;
}

static void collect_brackets(side *s, const evalb_params *p)
{
    s->n = 0;
    for (size_t i = 0; i < s->t.n; i++) {
        const tree_node *node = &s->t.nodes[i];
        bracket b = {.start = s->before[node->first], .end = s->before[node->end], .order = i};
        if (node->word.s || b.start == b.end) continue;
        b.label = without_function(node->label);
        if (is_deleted(p, b.label)) continue;
        s->brackets = grow(s->brackets, &s->cap, s->n + 1, sizeof *s->brackets);
        s->brackets[s->n++] = b;
    }
    if (s->n) qsort(s->brackets, s->n, sizeof *s->brackets, by_span);
}

/* ---- quotation marks ----
 *
 * Parsers tag '' as POS, for example, so one tree drops a word that the other keeps. If the trees' numbers of words
 * differ, words that are kept or have a QUOTE_LABEL are paired from left to right. A dropped QUOTE_LABEL is restored if
 * its partner is a kept QUOTE_LABEL. */

/* The next leaf from i on that is kept or could be a quotation mark. */
static size_t next_candidate(const side *s, const evalb_params *p, size_t i)
{
    while (i < s->t.n_leaves && s->dropped[i] && !in_list(&p->quote_label, leaf(s, i)->label)) i++;
    return i;
}

static void restore_quotes(side *gold, side *test, const evalb_params *p)
{
    size_t i = next_candidate(gold, p, 0), j = next_candidate(test, p, 0);
    while (i < gold->t.n_leaves && j < test->t.n_leaves) {
        if (gold->dropped[i] != test->dropped[j] && in_list(&p->quote_label, leaf(gold, i)->label) &&
            in_list(&p->quote_label, leaf(test, j)->label))
            gold->dropped[i] = test->dropped[j] = false;
        i = next_candidate(gold, p, i + 1);
        j = next_candidate(test, p, j + 1);
    }
    number_words(gold);
    number_words(test);
}

/* ---- crossing brackets ---- */

typedef struct {
    size_t *level; /* level[k * n + i]: the largest of 2^k numbers from i on */
    size_t n, cap;
} maxima;

static void maxima_build(maxima *m) /* fills the levels above level 0 */
{
    for (size_t k = 1; (size_t)1 << k <= m->n; k++) {
        const size_t *below = m->level + (k - 1) * m->n, half = (size_t)1 << (k - 1);
        for (size_t i = 0; i + 2 * half <= m->n; i++)
            m->level[k * m->n + i] = below[i] > below[i + half] ? below[i] : below[i + half];
    }
}

/* Returns the largest number in [from, to). Requires from < to. */
static size_t maxima_of(const maxima *m, size_t from, size_t to)
{
    size_t k = 0;
    while ((size_t)2 << k <= to - from) k++;
    const size_t *level = m->level + k * m->n, last = to - ((size_t)1 << k);
    return level[from] > level[last] ? level[from] : level[last];
}

static void maxima_start(maxima *m, size_t n)
{
    size_t levels = 1;
    while ((size_t)1 << levels <= n) levels++;
    m->level = grow(m->level, &m->cap, levels * n, sizeof *m->level);
    m->n = n;
    memset(m->level, 0, n * sizeof *m->level);
}

/* Counts test brackets that cross a gold bracket: it contains only their start or only their end. reach[i]: the
 * furthest end of a gold bracket that starts at i. back[i]: n - the earliest start of a gold bracket that ends at i. */
static int64_t count_crossing(const side *gold, const side *test, maxima *reach, maxima *back)
{
    size_t n = gold->n_words;
    int64_t crossing = 0;
    maxima_start(reach, n + 1);
    maxima_start(back, n + 1);
    for (size_t i = 0; i < gold->n; i++) {
        const bracket *b = &gold->brackets[i];
        if (reach->level[b->start] < b->end) reach->level[b->start] = b->end;
        if (back->level[b->end] < n - b->start) back->level[b->end] = n - b->start;
    }
    maxima_build(reach);
    maxima_build(back);
    for (size_t i = 0; i < test->n; i++) {
        size_t start = test->brackets[i].start, end = test->brackets[i].end;
        if (start + 1 < end && (maxima_of(reach, start + 1, end) > end || maxima_of(back, start + 1, end) > n - start))
            crossing++;
    }
    return crossing;
}

/* ---- matching ---- */

/* Matches brackets of the same span: each gold bracket takes the first unmatched test bracket with its label. */
static int64_t match_group(const evalb_params *p, bracket *gold, size_t n_gold, bracket *test, size_t n_test)
{
    int64_t matched = 0;
    for (size_t i = 0; i < n_gold; i++)
        for (size_t j = 0; j < n_test; j++) {
            if (test[j].matched || (p->labeled && !equal(&p->eq_label, gold[i].label, test[j].label))) continue;
            gold[i].matched = test[j].matched = true;
            matched++;
            break;
        }
    return matched;
}

static int64_t count_matched(const evalb_params *p, side *gold, side *test)
{
    int64_t matched = 0;
    for (size_t i = 0, j = 0; i < gold->n && j < test->n;) {
        int order = evalb_compare_spans(&gold->brackets[i], &test->brackets[j]);
        size_t i_end = i, j_end = j;
        while (order <= 0 && i_end < gold->n && !evalb_compare_spans(&gold->brackets[i], &gold->brackets[i_end]))
            i_end++;
        while (order >= 0 && j_end < test->n && !evalb_compare_spans(&test->brackets[j], &test->brackets[j_end]))
            j_end++;
        if (order == 0) matched += match_group(p, gold->brackets + i, i_end - i, test->brackets + j, j_end - j);
        i = i_end;
        j = j_end;
    }
    return matched;
}

/* ---- a sentence ---- */

typedef struct {
    side gold, test;
    maxima reach, back;
} evalb_workspace;

/* Compares the counted words and sets row->words and row->tags, or reports the first word that differs. */
static bool compare_words(const evalb_params *p, const side *gold, const side *test, evalb_row *row)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < gold->t.n_leaves && gold->dropped[i]) i++;
        while (j < test->t.n_leaves && test->dropped[j]) j++;
        if (i == gold->t.n_leaves) return true;
        const tree_node *g = leaf(gold, i), *t = leaf(test, j);
        if (!equal(&p->eq_word, g->word, t->word)) {
            snprintf(row->why, sizeof row->why, "word %zu is \"%.*s\", but \"%.*s\" in the gold tree", j + 1,
                     (int)(t->word.n < 30 ? t->word.n : 30), t->word.s, (int)(g->word.n < 30 ? g->word.n : 30),
                     g->word.s);
            row->words = row->tags = 0;
            return false;
        }
        row->words++;
        row->tags += equal(&p->eq_label, g->label, t->label);
    }
}

static void score_pair(const evalb_params *p, evalb_workspace *w, const char *test_line, evalb_row *row)
{
    side *gold = &w->gold, *test = &w->test;
    err problem = {0};
    enum tree_status form = tree_read(&test->t, test_line, NULL, &problem);
    row->status = EVALB_ERROR;
    if (form != TREE_GOOD) snprintf(row->why, sizeof row->why, "%.100s", problem.text);
    if (form == TREE_BAD) return;
    drop_leaves(test, p);
    number_words(test);
    if (test->n_words == 0) {
        row->status = EVALB_SKIP;
        if (form == TREE_GOOD) snprintf(row->why, sizeof row->why, "no words that EVALB counts");
        return;
    }
    if (test->n_words != gold->n_words && p->quote_label.n) {
        restore_quotes(gold, test, p);
        collect_brackets(gold, p);
        row->gold_words = (int64_t)gold->n_words;
        row->gold_all = (int64_t)gold->n;
    }
    if (test->n_words != gold->n_words) {
        if (form == TREE_GOOD)
            snprintf(row->why, sizeof row->why, "%zu words that EVALB counts, but %zu in the gold tree", test->n_words,
                     gold->n_words);
        return;
    }
    if (!compare_words(p, gold, test, row)) return;
    collect_brackets(test, p);
    row->gold = (int64_t)gold->n;
    row->test = (int64_t)test->n;
    row->matched = count_matched(p, gold, test);
    row->crossing = count_crossing(gold, test, &w->reach, &w->back);
    if (form == TREE_GOOD) row->status = EVALB_VALID;
}

static int score_line(const evalb_params *p, evalb_workspace *w, const char *gold_line, const char *test_line,
                      size_t line, evalb_row *row, err *e)
{
    err problem = {0};
    *row = (evalb_row){0};
    if (tree_read(&w->gold.t, gold_line, NULL, &problem) != TREE_GOOD)
        return fail(e, "gold trees, line %zu: %s", line, problem.text);
    drop_leaves(&w->gold, p);
    number_words(&w->gold);
    collect_brackets(&w->gold, p);
    for (size_t i = 0; i < w->gold.t.n_leaves; i++)
        row->length += !in_list(&p->delete_for_length, leaf(&w->gold, i)->label);
    row->gold_words = (int64_t)w->gold.n_words;
    row->gold_all = (int64_t)w->gold.n;
    score_pair(p, w, test_line, row);
    return 0;
}

/* ---- sums ---- */

static void tally(const evalb_row *row, evalb_result *r)
{
    r->sentences++;
    r->gold_all += row->gold_all;
    if (row->status == EVALB_ERROR) r->errors++;
    if (row->status == EVALB_SKIP) r->skipped++;
    if (row->status != EVALB_VALID) return;
    r->valid++;
    r->matched += row->matched;
    r->gold += row->gold;
    r->test += row->test;
    r->crossings += row->crossing;
    r->words += row->words;
    r->tags += row->tags;
    r->complete_sentences += row->matched == row->gold && row->gold == row->test;
    r->no_crossing_sentences += row->crossing == 0;
    r->two_or_less_sentences += row->crossing <= 2;
}

static double share_of(int64_t part, int64_t whole) { return whole ? (double)part / (double)whole : 0; }
double evalb_percent(int64_t part, int64_t whole) { return whole ? 100 * (double)part / (double)whole : 0; }

static void finish(evalb_result *r)
{
    r->recall = evalb_percent(r->matched, r->gold);
    r->precision = evalb_percent(r->matched, r->test);
    r->f1 = evalb_percent(2 * r->matched, r->gold + r->test);
    r->strict_recall = evalb_percent(r->matched, r->gold_all);
    r->strict_f1 = evalb_percent(2 * r->matched, r->gold_all + r->test);
    r->complete = evalb_percent(r->complete_sentences, r->valid);
    r->crossing = share_of(r->crossings, r->valid);
    r->no_crossing = evalb_percent(r->no_crossing_sentences, r->valid);
    r->two_or_less = evalb_percent(r->two_or_less_sentences, r->valid);
    r->tagging = evalb_percent(r->tags, r->words);
}

void evalb_sum(const evalb_row *rows, size_t n, int64_t least, int64_t most, evalb_result *out)
{
    *out = (evalb_result){0};
    for (size_t i = 0; i < n; i++)
        if (rows[i].length >= least && rows[i].length <= most) tally(&rows[i], out);
    finish(out);
}

static void evalb_workspace_free(evalb_workspace *w)
{
    side_free(&w->gold);
    side_free(&w->test);
    free(w->reach.level);
    free(w->back.level);
}

int evalb_brackets(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, evalb_seen *seen,
                   void *self, err *e)
{
    CLEANUP(evalb_workspace_free) evalb_workspace w = {0};
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        evalb_row row;
        status = score_line(p, &w, gold[i], test[i], (size_t)p->lines_before + i + 1, &row, e);
        if (!status && row.status == EVALB_VALID) seen(self, w.gold.brackets, w.gold.n, w.test.brackets, w.test.n);
    }
    return status;
}

int evalb_score(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, evalb_row *rows,
                evalb_result *all, evalb_result *at_cutoff, err *e)
{
    CLEANUP(evalb_workspace_free) evalb_workspace w = {0};
    evalb_result whole = {0}, part = {0};
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        evalb_row row;
        if ((status = score_line(p, &w, gold[i], test[i], (size_t)p->lines_before + i + 1, &row, e))) break;
        tally(&row, &whole);
        if (row.length <= p->cutoff) tally(&row, &part);
        if (rows) rows[i] = row;
        if (p->max_error >= 0 && p->errors_before + whole.errors > p->max_error)
            status = fail(e, "more than MAX_ERROR %lld error sentences; the last one is line %zu: %s",
                          (long long)p->max_error, (size_t)p->lines_before + i + 1, row.why);
    }
    finish(&whole);
    finish(&part);
    if (all) *all = whole;
    if (at_cutoff) *at_cutoff = part;
    return status;
}

void evalb_stats(const evalb_row *rows, size_t n, bool strict, double *stats)
{
    for (size_t i = 0; i < n; i++) {
        bool valid = rows[i].status == EVALB_VALID;
        stats[3 * i] = valid ? (double)rows[i].matched : 0;
        stats[3 * i + 1] = valid ? (double)rows[i].gold : strict ? (double)rows[i].gold_all : 0;
        stats[3 * i + 2] = valid ? (double)rows[i].test : 0;
    }
}
