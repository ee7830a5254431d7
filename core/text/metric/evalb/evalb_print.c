#include "text/metric/evalb/evalb.h"

/* Prints the row of sums, whose columns differ in width from the rows above it and between layouts. */
static void print_sums(FILE *f, enum evalb_layout layout, const evalb_result *r)
{
    long long matched = r->matched, gold = r->gold, test = r->test, words = r->words, tags = r->tags;
    fprintf(f, "                %6.2f %6.2f", r->recall, r->precision);
    if (layout == EVALB_FIRST)
        fprintf(f, "   %4lld   %4lld %4lld   %4lld   %4lld  %4lld   %6.2f\n", matched, gold, test,
                (long long)r->no_crossing_sentences, words, tags, r->tagging);
    else
        fprintf(f, "  %5lld %5lld %5lld  %5lld  %5lld %5lld   %6.2f\n", matched, gold, test, (long long)r->crossings,
                words, tags, r->tagging);
}

void evalb_print_rows(FILE *f, enum evalb_layout layout, const evalb_row *rows, size_t n, const evalb_result *all)
{
    static const char rule[] = "============================================================================\n";
    fputs("  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
          " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n",
          f);
    fputs(rule, f);
    for (size_t i = 0; i < n; i++) {
        const evalb_row *r = &rows[i];
        fprintf(f, "%4zu  %3lld    %d  %6.2f %6.2f   %3lld    %3lld  %3lld    %3lld    %3lld   %3lld   %6.2f\n", i + 1,
                (long long)r->length, (int)r->status, evalb_percent(r->matched, r->gold),
                evalb_percent(r->matched, r->test), (long long)r->matched, (long long)r->gold, (long long)r->test,
                (long long)r->crossing, (long long)(layout == EVALB_FIRST ? r->gold_words : r->words),
                (long long)r->tags, evalb_percent(r->tags, r->words));
    }
    fputs(rule, f);
    print_sums(f, layout, all);
}

static void print_block(FILE *f, enum evalb_layout layout, const evalb_result *r)
{
    const struct {
        const char *name;
        int64_t n;
    } numbers[] = {{"Number of sentence", r->sentences},
                   {"Number of Error sentence", r->errors},
                   {"Number of Skip  sentence", r->skipped},
                   {"Number of Valid sentence", r->valid}};
    const struct {
        const char *name;
        double x;
    } figures[] = {
        {"Bracketing Recall", r->recall},       {"Bracketing Precision", r->precision}, {"Bracketing FMeasure", r->f1},
        {"Complete match", r->complete},        {"Average crossing", r->crossing},      {"No crossing", r->no_crossing},
        {"2 or less crossing", r->two_or_less}, {"Tagging accuracy", r->tagging},
    };
    for (size_t i = 0; i < LENGTH(numbers); i++)
        fprintf(f, "%-25s = %6lld\n", numbers[i].name, (long long)numbers[i].n);
    for (size_t i = 0; i < LENGTH(figures); i++)
        if (layout != EVALB_FIRST || !same(figures[i].name, "Bracketing FMeasure"))
            fprintf(f, "%-25s = %6.2f\n", figures[i].name, figures[i].x);
}

void evalb_print_summary(FILE *f, enum evalb_layout layout, const evalb_params *p, const evalb_result *all,
                         const evalb_result *at_cutoff)
{
    fputs("=== Summary ===\n\n-- All --\n", f);
    print_block(f, layout, all);
    fprintf(f, "\n-- len<=%lld --\n", (long long)p->cutoff);
    print_block(f, layout, at_cutoff);
}
