/* align.c - ablate align: prints the source words that a translation model attends to for each given target word. */
#include "cli/pairs.h"
#include "lab/study/align.h"
#include <stdlib.h>

typedef struct {
    pairs_options from;
    align_settings how;
} align_options;

static int align_part(void *self, model *m, const vocab *src, const vocab *tgt, const pairs *p, size_t first, err *e)
{
    (void)first;
    str *lines = xcalloc((size_t)p->n + 1, sizeof *lines);
    int bad = align_pairs(self, m, src, tgt, p, lines, e);
    for (int64_t i = 0; i < p->n; i++) {
        if (!bad) printf("%s\n", str_text(&lines[i]));
        str_free(&lines[i]);
    }
    free(lines);
    return bad;
}

static int align(const invocation *c, void *options)
{
    align_options *o = options;
    return pairs_read(c, &o->from, align_part, &o->how);
}

static const option options[] = {
    PAIRS_OPTIONS(align_options, from),
    {"--layer", "N", "decoder layer, counted from 1 [the last; if there are four or more, the last but one]",
     OPTION_COUNT, offsetof(align_options, how.layer), 1, 1000},
    {"--next", NULL, "use the decoder step that reads a token, not the step that predicts it", OPTION_FLAG,
     offsetof(align_options, how.next)},
    OPTION_DATABASE,
    {0}};
const command align_command = {
    .name = "align",
    .part = FOR_MODELS,
    .does = "print word alignments from cross-attention for each line SOURCE<tab>TARGET of standard input",
    .about =
        "Prints one line per pair, in Pharaoh's format: \"0-0 2-1\" (source-target, words from 0). `ablate score aer`\n"
        "compares them with given alignments.",
    .options = options,
    .size = sizeof(align_options),
    .run = align,
    .example = "paste text.en text.de | ablate align --run quick/base | ablate score aer --gold text.align"};
