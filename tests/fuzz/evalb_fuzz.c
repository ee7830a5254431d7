/* evalb_fuzz.c - fuzzes EVALB parameter files: bytes are read and used for a score, or refused with a message that
 * begins with the path. */
#include "file.h"
#include "text/metric/evalb/evalb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const gold[] = {"(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))",
                                       "(TOP (S (NP (NN x))))"};
    static const char *const test[] = {"(TOP (S (NP (DT the) (NN dog)) (ADVP (VBZ barks)) (, .)))",
                                       "(TOP (S (NP (NN y)))"};
    evalb_params p;
    evalb_result all, cut;
    err e = {0};
    const char *path = fuzz_file(data, n);
    if (evalb_params_load(&p, path, &e)) {
        must(has_prefix(e.text, path), "refused without its path");
    } else {
        must(p.eq_label.n % 2 == 0 && p.eq_word.n % 2 == 0, "half of a pair");
        if (evalb_score(&p, gold, test, 2, NULL, &all, &cut, &e)) must(e.text[0], "refused without a word");
    }
    evalb_params_free(&p);
    return 0;
}
