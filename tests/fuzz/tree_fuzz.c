/* tree_fuzz.c - fuzzes treebanks: bytes are read, linearised in every form, read back, and walked through the
 * constraints' grammar. Nothing crashes, and a tree comes back from its sequence. tests/unit runs it over the seeds;
 * clang with -DABLATE_FUZZ=ON makes a fuzz target. */
#include "grammar.h"
#include "treebank.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "tree_fuzz: %s\n", what);
    abort();
}

/* Checks that the tree's sequence gives the tree again. */
static void back_and_forth(const tree *t)
{
    labels known = {0};
    buffer printed = {0}, line = {0}, again = {0};
    tree back = {0};
    slice *word = resized(NULL, t->n, sizeof *word), *tag = resized(NULL, t->n, sizeof *tag);
    sentence s = {0, word, tag};
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].kind == LEAF) word[s.n] = t->at[i].word, tag[s.n++] = t->at[i].label;
        if (t->at[i].kind == OPEN && i) labels_add(&known, t->at[i].label);
    }
    tree_write(t, &printed);
    for (int f = LABELS; f <= IN_ORDER; f++) {
        buffer_clear(&line);
        buffer_clear(&again);
        linear_write((form)f, t, &known, &line);
        int good = linear_read((form)f, line.s, &s, &known, &back);
        tree_write(&back, &again);
        int unknown = strstr(line.s, "\xe2\x81\x87") != NULL; /* this character replaces tokens that have no symbol */
        must(unknown || (good && !strcmp(printed.s, again.s)), "a tree does not come back from its sequence");
        /* this text is not a valid sequence: reading it repairs it */
        linear_read((form)f, printed.s, &s, &known, &back);
    }
    labels_free(&known);
    buffer_free(&printed);
    buffer_free(&line);
    buffer_free(&again);
    tree_free(&back);
    free(word);
    free(tag);
}

/* Lets the bytes choose among the allowed tokens: some token is always allowed, and the tree ends. */
static void walk(form f, const uint8_t *data, size_t n)
{
    static const char *const labelled[] = {"<pad>", "<unk>", "<s>", "</s>", "S", "/S", "NP", "/NP", "XX"};
    static const char *const worded[] = {"<pad>", "<unk>", "<s>", "</s>", "(S", ")S", "(NP", ")NP", "a"};
    enum { TOKENS = sizeof worded / sizeof *worded, WORDS_IN = 5, MOST = 24 };
    const int32_t ids[WORDS_IN] = {TOKENS - 1, TOKENS - 1, TOKENS - 1, TOKENS - 1, TOKENS - 1};
    char err[256];
    grammar g = {.form = f, .unary_cap = 2, .open_cap = 3};
    must(!grammar_open(&g, form_has_words(f) ? worded : labelled, TOKENS, err, sizeof err), "the grammar is refused");
    void *state = grammar_start(&g, WORDS_IN, ids, WORDS_IN, MOST);
    for (size_t step = 0;; step++) {
        uint8_t mask[TOKENS];
        int32_t may[TOKENS], count = 0;
        grammar_allowed(&g, state, mask);
        for (int32_t i = 0; i < TOKENS; i++)
            if (mask[i]) may[count++] = i;
        must(count && step <= MOST, "no token may follow, or there is no end");
        int32_t token = may[(step < n ? data[step] : 0) % count];
        if (token == AB_ID_END) break;
        void *next = grammar_advance(&g, state, token);
        grammar_release(state);
        state = next;
    }
    grammar_release(state);
    grammar_close(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char err[512] = "";
    treebank b = {.join = n % 2};
    tree t = {0};
    if (!treebank_take(&b, "fuzz", (const char *)data, n, err, sizeof err))
        while (treebank_next(&b, &t, err, sizeof err) == 1)
            if (t.n) back_and_forth(&t);
    must(!*err || !strncmp(err, "fuzz:", 5), "a refusal without its place");
    walk(XX, data, n);
    walk(WORDS, data, n);
    walk(IN_ORDER, data, n);
    free(b.text);
    tree_free(&t);
    return 0;
}
