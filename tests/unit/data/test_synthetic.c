/* Word alignments of the synthetic language: the pairs of seed 20031 have the links listed in
 * tests/data/alignments.tsv. */
#include "test.h"
#include "base/base.h"
#include "../../../plugins/tasks/translation/synthetic.c"

int main(void)
{
    enum { PAIRS = 200 };
    static char *src[PAIRS], *tgt[PAIRS], *links[PAIRS];
    str file = {0};
    char **lines = NULL;
    size_t n = 0;
    err e = {0};
    CHECK_INT(file_lines(SOURCE_DIR "/tests/data/alignments.tsv", &file, &lines, &n, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(n, PAIRS);
    CHECK_INT(synthetic_make(20031, PAIRS, src, tgt, links), 0);
    for (size_t i = 0; i < n; i++) {
        char *expected = xprintf("%s\t%s\t%s", src[i], tgt[i], links[i]);
        CHECK_TEXT(lines[i], expected);
        free(expected), free(src[i]), free(tgt[i]), free(links[i]);
    }
    free(lines);
    str_free(&file);
    return test_end();
}
