#include "text/metric/f1.h"
#include "base/cleanup.h"
#include "text/metric/evalb/evalb.h"

int f1_service(const char *const *hyp, const char *const *gold, int64_t n, ab_f1 *out, char *words, size_t n_words)
{
    static double *block; /* ab_f1 promises that these results live until its next call */
    enum { OF_A_SENTENCE = 3 + 3 + 2 };
    evalb_params p;
    evalb_result all;
    err e = {0};
    size_t count = (size_t)n;
    AUTOFREE evalb_row *rows = xcalloc(count + 1, sizeof *rows);
    evalb_params_default(&p);
    int bad = evalb_score(&p, gold, hyp, count, rows, &all, NULL, &e);
    if (!bad) {
        block = xrealloc(block, (count + 1) * OF_A_SENTENCE * sizeof *block);
        double *strict = block + 3 * count, *complete = strict + 3 * count;
        evalb_stats(rows, count, false, block);
        evalb_stats(rows, count, true, strict);
        for (size_t i = 0; i < count; i++) {
            const evalb_row *r = &rows[i];
            bool valid = r->status == EVALB_VALID;
            complete[2 * i] = valid && r->matched == r->gold && r->gold == r->test;
            complete[2 * i + 1] = valid;
        }
        *out = (ab_f1){.f1 = all.f1,
                       .strict_f1 = all.strict_f1,
                       .errors = all.errors,
                       .skipped = all.skipped,
                       .stats = block,
                       .strict = strict,
                       .complete = complete};
    } else {
        snprintf(words, n_words, "%s", e.text);
    }
    evalb_params_free(&p);
    return bad ? -1 : 0;
}
