/* translate.c - translates standard input line by line with a trained model. */
#include "cli/predict.h"
#include "network/decode/beam.h"
#include "cli/input.h"
#include <stdlib.h>
#include <string.h>

/* Leaves lines that are too long for the model empty, so that the others are still translated; returns their number. */
static size_t leave_long(const model *m, const vocab *src, const beam_options *o, char **lines, size_t n)
{
    static char empty[] = "";
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        err e = {0};
        if (!decode_check_reach(m, src, lines[i], o, &e)) continue;
        fprintf(stderr, "ablate translate: line %zu: printed an empty line: %s\n", i + 1, e.text);
        lines[i] = empty;
        left++;
    }
    return left;
}

/* Also returns -1 if some lines were left empty; then *e has no text. */
int predict_translate(const predict_options *t, model *m, const vocab *src, const vocab *tgt, err *e)
{
    beam_options o = beam_options_of(&m->cfg);
    if (t->beam_size) o.beam_size = t->beam_size;
    if (t->length_penalty >= 0) o.length_penalty = t->length_penalty;
    if (t->batch) o.batch = t->batch;
    o.others = t->others, o.n_others = t->n_others;
    o.nbest = t->nbest ? t->nbest : 1;
    if (o.nbest > o.beam_size)
        return fail(e, "--nbest %lld of a beam of %lld", (long long)o.nbest, (long long)o.beam_size);
    str text = {0};
    char **lines = NULL, **out = NULL;
    size_t n = 0;
    if (input_lines(&text, &lines, &n, e)) {
        str_free(&text);
        return -1;
    }
    size_t left = leave_long(m, src, &o, lines, n);
    double *scores = xcalloc(n * (size_t)o.nbest + 1, sizeof *scores);
    beam_stats stats = {0};
    int bad = n ? decode_lines(m, src, tgt, (const char *const *)lines, (int64_t)n, &o, &out, scores, &stats, e) : 0;
    for (size_t i = 0; i < n * (size_t)o.nbest && !bad; i++) {
        if (!out[i]) continue;
        if (o.nbest > 1)
            printf("%zu\t%.6f\t%s\n", i / (size_t)o.nbest + 1, scores[i], out[i]);
        else
            printf("%s\n", out[i]);
    }
    if (!bad && n && !t->quiet)
        fprintf(stderr, "%zu sentences, %lld tokens in %.2f s: %.0f tokens/s, %s\n", n, (long long)stats.tokens,
                stats.seconds, (double)stats.tokens / stats.seconds, model_precision(m));
    if (out) decoded_free(out, (int64_t)n * o.nbest);
    free(scores);
    free(lines);
    str_free(&text);
    return bad || left ? -1 : 0;
}
