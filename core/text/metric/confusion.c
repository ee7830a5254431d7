#include "text/metric/confusion.h"
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static confusion_label *label_of(confusion *c, slice name)
{
    for (size_t i = 0; i < c->n_labels; i++)
        if (slice_is(name, c->labels[i].label)) return &c->labels[i];
    c->labels = grow(c->labels, &c->cap_labels, c->n_labels + 1, sizeof *c->labels);
    c->labels[c->n_labels] = (confusion_label){.label = arena_strndup(&c->memory, name.s, name.n)};
    return &c->labels[c->n_labels++];
}

static void count_pair(confusion *c, slice gold, slice test)
{
    size_t i = 0;
    while (i < c->n_pairs && !(slice_is(gold, c->pairs[i].gold) && slice_is(test, c->pairs[i].test))) i++;
    if (i == c->n_pairs) {
        c->pairs = grow(c->pairs, &c->cap_pairs, c->n_pairs + 1, sizeof *c->pairs);
        c->pairs[c->n_pairs++] =
            (confusion_pair){arena_strndup(&c->memory, gold.s, gold.n), arena_strndup(&c->memory, test.s, test.n), 0};
    }
    c->pairs[i].n++;
}

static size_t next_unmatched(const evalb_bracket *b, size_t n, size_t i)
{
    while (i < n && b[i].matched) i++;
    return i;
}

/* Counts one sentence. Both lists are sorted by span. One merging pass pairs the unmatched brackets. */
static void count_sentence(void *self, const evalb_bracket *gold, size_t n_gold, const evalb_bracket *test,
                           size_t n_test)
{
    confusion *c = self;
    for (size_t i = 0; i < n_gold; i++) {
        confusion_label *l = label_of(c, gold[i].label);
        l->gold++;
        l->right += gold[i].matched;
    }
    for (size_t j = 0; j < n_test; j++) {
        confusion_label *l = label_of(c, test[j].label);
        l->test++;
        l->test_right += test[j].matched;
    }
    size_t i = next_unmatched(gold, n_gold, 0), j = next_unmatched(test, n_test, 0);
    while (i < n_gold || j < n_test) {
        int order = i == n_gold ? 1 : j == n_test ? -1 : evalb_compare_spans(&gold[i], &test[j]);
        if (order == 0) {
            count_pair(c, gold[i].label, test[j].label);
            label_of(c, gold[i].label)->taken++;
            label_of(c, test[j].label)->test_taken++;
        } else if (order < 0) {
            label_of(c, gold[i].label)->missed++;
        } else {
            label_of(c, test[j].label)->spurious++;
        }
        if (order <= 0) i = next_unmatched(gold, n_gold, i + 1);
        if (order >= 0) j = next_unmatched(test, n_test, j + 1);
    }
}

static int by_gold(const void *a, const void *b)
{
    const confusion_label *x = a, *y = b;
    if (x->gold != y->gold) return x->gold < y->gold ? 1 : -1;
    return x->test != y->test ? (x->test < y->test ? 1 : -1) : strcmp(x->label, y->label);
}

static int by_count(const void *a, const void *b)
{
    const confusion_pair *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    int gold = strcmp(x->gold, y->gold);
    return gold ? gold : strcmp(x->test, y->test);
}

int confusion_count(const evalb_params *p, const char *const *gold, const char *const *test, size_t n, confusion *out,
                    err *e)
{
    int bad = evalb_brackets(p, gold, test, n, count_sentence, out, e);
    if (out->n_labels) qsort(out->labels, out->n_labels, sizeof *out->labels, by_gold);
    if (out->n_pairs) qsort(out->pairs, out->n_pairs, sizeof *out->pairs, by_count);
    if (bad) confusion_free(out);
    return bad;
}

void confusion_free(confusion *c)
{
    free(c->labels);
    free(c->pairs);
    arena_free(&c->memory);
    *c = (confusion){0};
}

/* ---- printing ---- */

typedef struct {
    double recall, precision, f1;
} rates;
static rates rates_of(const confusion_label *l)
{
    return (rates){evalb_percent(l->right, l->gold), evalb_percent(l->test_right, l->test),
                   evalb_percent(l->right + l->test_right, l->gold + l->test)};
}

static const char *name_of(const char *label) { return *label ? label : "(none)"; } /* the root in "( (S ...))" */

void confusion_text(const confusion *c, size_t most, str *out)
{
    str_add(out, "\n-- Labels: brackets of valid sentences --\n"
                 "Label         Gold   Right   Taken  Missed   Found Spurious  Recall   Prec.      F1\n");
    for (size_t i = 0; i < c->n_labels; i++) {
        const confusion_label *l = &c->labels[i];
        rates r = rates_of(l);
        str_addf(out, "%-10s %7lld %7lld %7lld %7lld %7lld %8lld  %6.2f  %6.2f  %6.2f\n", name_of(l->label),
                 (long long)l->gold, (long long)l->right, (long long)l->taken, (long long)l->missed, (long long)l->test,
                 (long long)l->spurious, r.recall, r.precision, r.f1);
    }
    str_addf(out, "\n-- Confused labels over the same words, gold -> test%s --\n", c->n_pairs ? "" : ": none");
    for (size_t i = 0; i < c->n_pairs && i < most; i++)
        str_addf(out, "%7lld  %s -> %s\n", (long long)c->pairs[i].n, name_of(c->pairs[i].gold),
                 name_of(c->pairs[i].test));
    if (c->n_pairs > most) str_addf(out, "and %zu more pairs\n", c->n_pairs - most);
}

void confusion_json(const confusion *c, size_t most, str *out)
{
    json_open(out, "labels", '[');
    for (size_t i = 0; i < c->n_labels; i++) {
        const confusion_label *l = &c->labels[i];
        rates r = rates_of(l);
        json_open(out, NULL, '{');
        json_key_text(out, "label", l->label);
        json_key_whole(out, "gold", l->gold);
        json_key_whole(out, "right", l->right);
        json_key_whole(out, "taken", l->taken);
        json_key_whole(out, "missed", l->missed);
        json_key_whole(out, "found", l->test);
        json_key_whole(out, "found_right", l->test_right);
        json_key_whole(out, "found_taken", l->test_taken);
        json_key_whole(out, "spurious", l->spurious);
        json_key_real(out, "recall", r.recall);
        json_key_real(out, "precision", r.precision);
        json_key_real(out, "f1", r.f1);
        str_addc(out, '}');
    }
    str_addc(out, ']');
    json_open(out, "taken", '[');
    for (size_t i = 0; i < c->n_pairs && i < most; i++) {
        json_open(out, NULL, '{');
        json_key_text(out, "gold", c->pairs[i].gold);
        json_key_text(out, "test", c->pairs[i].test);
        json_key_whole(out, "n", c->pairs[i].n);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

/* ---- by length ---- */

static const struct {
    const char *name;
    int64_t least, most;
} bins[] = {{"1-10", 0, 10}, {"11-20", 11, 20}, {"21-30", 21, 30}, {"31-40", 31, 40}, {"41+", 41, INT64_MAX}};

void by_length_text(const evalb_row *rows, size_t n, str *out)
{
    str_add(out, "\n-- By length: gold words, punctuation counted --\n"
                 "Words    Sent.   Valid  Recall   Prec.      F1  Strict\n");
    for (size_t i = 0; i < LENGTH(bins); i++) {
        evalb_result r;
        evalb_sum(rows, n, bins[i].least, bins[i].most, &r);
        str_addf(out, "%-6s %7lld %7lld  %6.2f  %6.2f  %6.2f  %6.2f\n", bins[i].name, (long long)r.sentences,
                 (long long)r.valid, r.recall, r.precision, r.f1, r.strict_f1);
    }
}

void by_length_json(const evalb_row *rows, size_t n, str *out)
{
    json_open(out, "by_length", '[');
    for (size_t i = 0; i < LENGTH(bins); i++) {
        evalb_result r;
        evalb_sum(rows, n, bins[i].least, bins[i].most, &r);
        json_open(out, NULL, '{');
        json_key_text(out, "words", bins[i].name);
        json_key_whole(out, "sentences", r.sentences);
        json_key_whole(out, "valid", r.valid);
        json_key_real(out, "recall", r.recall);
        json_key_real(out, "precision", r.precision);
        json_key_real(out, "f1", r.f1);
        json_key_real(out, "strict_f1", r.strict_f1);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}
