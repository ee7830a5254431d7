/* BLEU of 100 sentences of a real system's Russian against the output of mteval-v13a.pl and multi-bleu.perl.
 */
#include "test.h"
#include "text/metric/bleu.h"

/* Reads a file of the corpus as lines; the caller frees *text and the result. */
static char **read_file(const char *data, const char *name, str *text, size_t *n)
{
    char **lines = NULL, *folder = path_join(data, "bleu/nltk-wmt15-en-ru"), *path = path_join(folder, name);
    err e = {0};
    CHECK_INT(file_lines(path, text, &lines, n, &e), 0);
    CHECK_TEXT(e.text, "");
    free(path);
    free(folder);
    return lines;
}

int main(void)
{
    enum { HYP, REF, REF_TOKENIZED, FILES };
    static const char *const names[FILES] = {"google.ru", "newstest-2015-100sents.en-ru.ref.ru", "ref.ru"};
    const char *data = test_data();
    str texts[FILES] = {{0}, {0}, {0}};
    char **lines[FILES];
    size_t n[FILES];
    if (!data) {
        printf("skipped: ABLATE_DATA is not set\n");
        return 77;
    }
    for (int i = 0; i < FILES; i++) {
        lines[i] = read_file(data, names[i], &texts[i], &n[i]);
        CHECK_INT(n[i], 100);
    }
    if (!test_failed) {
        bleu_options mteval = {.smooth = SMOOTH_exp}, multi_bleu = {.tok = TOK_none};
        bleu_score s;
        static const double individual[] = {54.15, 29.72, 17.52, 10.25}, perl[] = {53.8, 29.6, 17.6, 10.3};
        const char *const *refs[] = {(const char *const *)lines[REF]}, *const * tokenized[] = {
                                                                           (const char *const *)lines[REF_TOKENIZED]};
        CHECK_INT(bleu_corpus(&mteval, (const char *const *)lines[HYP], refs, 1, n[HYP], &s, NULL, NULL), 0);
        CHECK_NEAR(s.score, 23.18, 0.005);
        CHECK_INT(s.sys_len, 1998);
        CHECK_INT(s.ref_len, 1862);
        for (int k = 0; k < BLEU_ORDERS; k++) CHECK_NEAR(s.precisions[k], individual[k], 0.005);
        CHECK_NEAR(s.score, 23.183914974589072, 1e-9); /* sacreBLEU */
        CHECK_INT(bleu_corpus(&multi_bleu, (const char *const *)lines[HYP], tokenized, 1, n[HYP], &s, NULL, NULL), 0);
        CHECK_NEAR(s.score, 23.17, 0.005);
        CHECK_INT(s.sys_len, 1989);
        CHECK_INT(s.ref_len, 1852);
        for (int k = 0; k < BLEU_ORDERS; k++) CHECK_NEAR(s.precisions[k], perl[k], 0.05);
    }
    for (int i = 0; i < FILES; i++) {
        free(lines[i]);
        str_free(&texts[i]);
    }
    return test_end();
}
