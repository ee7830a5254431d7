/* score_aer.c - ablate score aer: alignment error rate against given alignments (Och and Ney 2003, A Systematic
 * Comparison of Various Statistical Alignment Models, section 6.1):
 *     precision = |A n P| / |A|, recall = |A n S| / |S|, AER = 1 - (|A n S| + |A n P|) / (|A| + |S|)
 * S: sure links of the gold set, P: all of its links, A: the scored links. */
#include "cli/options.h"
#include "cli/score.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *gold;
    bool json;
} aer_options;

typedef struct {
    uint64_t place; /* source word << 32 | target word */
    bool sure;
} alignment_link;

typedef struct {
    alignment_link *at;
    size_t n, cap;
} links;

static int by_place(const void *a, const void *b)
{
    const alignment_link *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (int)y->sure - (int)x->sure; /* sure before possible */
}

/* Reads links such as "0-0 2p1": - is sure, p or ? possible. Sorts the links and drops repeated ones. */
static int read_links(const char *file, size_t line, const char *text, links *out, err *e)
{
    out->n = 0;
    for (const char *p = text; *(p += strspn(p, " \t"));) {
        char *end, *last;
        unsigned long src = strtoul(p, &end, 10), tgt = 0;
        char kind = *end;
        bool good = *p >= '0' && *p <= '9' && kind && strchr("-p?", kind) && end[1] >= '0' && end[1] <= '9';
        if (good) tgt = strtoul(end + 1, &last, 10);
        if (!good || (*last && *last != ' ' && *last != '\t') || src >= UINT32_MAX || tgt >= UINT32_MAX)
            return fail(e,
                        "%s:%zu: found \"%.*s\", expected links such as 0-2 (sure) or 1p3 (possible): the numbers of "
                        "two words, from 0",
                        file, line, (int)strcspn(p, " \t"), p);
        out->at = grow(out->at, &out->cap, out->n + 1, sizeof *out->at);
        out->at[out->n++] = (alignment_link){(uint64_t)src << 32 | tgt, kind == '-'};
        p = last;
    }
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_place);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++)
        if (!n || out->at[n - 1].place != out->at[i].place) out->at[n++] = out->at[i];
    out->n = n;
    return 0;
}

typedef struct {
    size_t sentences, links, sure, in_sure, in_possible;
} aer_counts;

static void count(const links *a, const links *gold, aer_counts *c)
{
    c->sentences++;
    c->links += a->n;
    for (size_t i = 0; i < gold->n; i++) c->sure += gold->at[i].sure;
    for (size_t i = 0, k = 0; i < a->n && k < gold->n;) {
        if (a->at[i].place == gold->at[k].place) c->in_possible++, c->in_sure += gold->at[k].sure;
        uint64_t at = a->at[i].place, other = gold->at[k].place;
        i += at <= other, k += other <= at;
    }
}

static double share(size_t part, size_t whole) { return whole ? (double)part / (double)whole : 0; }

static void print(const aer_counts *c, bool json, str *out)
{
    double precision = 100 * share(c->in_possible, c->links), recall = 100 * share(c->in_sure, c->sure);
    double aer = 100 * (1 - share(c->in_sure + c->in_possible, c->links + c->sure));
    if (!json) {
        str_addf(out, "AER = %.2f (precision = %.2f recall = %.2f links = %zu sure = %zu sentences = %zu)\n", aer,
                 precision, recall, c->links, c->sure, c->sentences);
        return;
    }
    json_open(out, NULL, '{');
    json_key_real(out, "aer", aer);
    json_key_real(out, "precision", precision);
    json_key_real(out, "recall", recall);
    json_key_whole(out, "links", (int64_t)c->links);
    json_key_whole(out, "sure", (int64_t)c->sure);
    json_key_whole(out, "sentences", (int64_t)c->sentences);
    str_add(out, "}\n");
}

typedef struct {
    const char *gold; /* file */
    links a, g;       /* a line's links */
    aer_counts counts;
} aer_scoring;

static int add_part(void *self, char **const *lines, size_t n, size_t first, err *e)
{
    aer_scoring *s = self;
    for (size_t i = 0; i < n; i++) {
        if (read_links("standard input", first + i, lines[0][i], &s->a, e) ||
            read_links(s->gold, first + i, lines[1][i], &s->g, e))
            return -1;
        count(&s->a, &s->g, &s->counts);
    }
    return 0;
}

static int aer(const invocation *c, void *options)
{
    const aer_options *o = options;
    err e = {0};
    str out = {0};
    size_t n;
    aer_scoring s = {.gold = o->gold};
    int bad = score_parts(&o->gold, 1, &n, add_part, &s, &e);
    if (!bad && !s.counts.sure) bad = fail(&e, "%s: found no sure link, expected at least one", o->gold);
    if (!bad) print(&s.counts, o->json, &out);
    free(s.a.at), free(s.g.at);
    return bad ? (call_failed(c, &e), WRONG) : score_print(&out);
}

static const option options[] = {{"--gold", "FILE",
                                  "given alignments, line by line parallel to standard input: 0-0 sure, 1p2 possible",
                                  OPTION_TEXT, offsetof(aer_options, gold), .required = true},
                                 OPTION_JSON(offsetof(aer_options, json)),
                                 {0}};
const command score_aer_command = {
    .name = "score aer",
    .part = FOR_MODELS,
    .does = "compute the alignment error rate of word alignments on standard input",
    .options = options,
    .size = sizeof(aer_options),
    .run = aer,
    .example = "paste text.en text.de | ablate align --run quick/base | ablate score aer --gold text.align"};
