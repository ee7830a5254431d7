/* lines.c - decodes lines of text to lines of text. */
#include "network/decode/beam.h"
#include <stdlib.h>

int decode_lines(model *m, const vocab *src, const vocab *tgt, const char *const *lines, int64_t n,
                 const beam_options *o, char ***out, double *scores, beam_stats *stats, err *e)
{
    pairs p;
    *out = NULL;
    if (pairs_encode(&p, lines, NULL, n, src, tgt, e)) return -1;
    int64_t all = o->nbest > 0 ? n * o->nbest : 0;
    hypothesis *found = xcalloc((size_t)all + 1, sizeof *found);
    beam_options how = *o;
    how.unscored = !scores;
    int bad = beam_search(m, &p, &how, found, stats, e);
    if (!bad) *out = xcalloc((size_t)all + 1, sizeof **out);
    for (int64_t i = 0; i < all && !bad; i++) {
        if (scores) scores[i] = found[i].score;
        if (!found[i].ids) continue;
        str text = {0};
        vocab_decode(tgt, found[i].ids, found[i].n, &text);
        (*out)[i] = xstrdup(str_text(&text));
        str_free(&text);
    }
    hypotheses_free(found, all);
    free(found);
    pairs_free(&p);
    return bad;
}

void decoded_free(char **text, int64_t n)
{
    for (int64_t i = 0; text && i < n; i++) free(text[i]);
    free(text);
}

int decode_check_reach(const model *m, const vocab *src, const char *line, const beam_options *o, err *e)
{
    id_list ids = {0};
    char why[128];
    int64_t n = vocab_encode(src, line, &ids, NULL) ? 0 : ids.n + 1;
    id_list_free(&ids);
    if (!n) return 0;
    snprintf(why, sizeof why, "outputs may be max_extra_tokens = %lld tokens longer than the line, which has %lld",
             (long long)o->max_extra_tokens, (long long)n);
    for (int64_t i = 0; i <= o->n_others; i++) {
        const model *one = i ? o->others[i - 1] : m;
        if (model_check_reach(one, n, "the line has that many tokens, including EOS", e) ||
            model_check_reach(one, n + o->max_extra_tokens, why, e))
            return -1;
    }
    return 0;
}
