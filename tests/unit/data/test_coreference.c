/* Pronouns and their antecedents in CoNLL-U: the pairs of tests/data/anaphora.conllu, and files that are refused. */
#include "test.h"
#include "text/data/coreference.h"

#define FILE_NAME BUILD_DIR "/test_coreference.conllu"

/* Prints "3 < 0-2, not 4-5": words of the pronoun, of its antecedent, and of the other mention. */
static const char *shown(const anaphor *a)
{
    static char text[128];
    int n = snprintf(text, sizeof text, "%zu: %zu < %zu-%zu", a->sentence, a->pronoun, a->antecedent.from,
                     a->antecedent.to);
    if (a->other.to) snprintf(text + n, sizeof text - (size_t)n, ", not %zu-%zu", a->other.from, a->other.to);
    return text;
}

static void test_pairs(void)
{
    static const char *const expected[] = {"0: 3 < 0-2", "1: 6 < 0-2, not 3-5", "2: 6 < 0-5", "2: 9 < 0-5"};
    coreference x;
    err e = {0};
    CHECK_INT(coreference_read(SOURCE_DIR "/tests/data/anaphora.conllu", &x, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(x.n, 4);
    CHECK_INT(x.withheld, 1);
    CHECK_INT(x.n_pairs, LENGTH(expected));
    for (size_t i = 0; i < x.n_pairs && i < LENGTH(expected); i++) CHECK_TEXT(shown(&x.pair[i]), expected[i]);
    if (x.n > 1) CHECK_INT(x.sentence[1].n, 9);
    if (x.n > 1) CHECK_TEXT(x.sentence[1].word[4], "dog");
    coreference_free(&x);
}

/* Reads a file of these lines. Returns its first pair of pronoun and antecedent, or the error message. */
static const char *of(const char *text)
{
    static err e;
    coreference x;
    e = (err){0};
    CHECK_INT(file_write(FILE_NAME, text, strlen(text), NULL), 0);
    if (coreference_read(FILE_NAME, &x, &e)) return has_prefix(e.text, FILE_NAME) ? e.text + strlen(FILE_NAME) : e.text;
    snprintf(e.text, sizeof e.text, "%s", shown(&x.pair[0]));
    coreference_free(&x);
    return e.text;
}

#define WORD(n, form, tag, feats, head, misc) #n "\t" form "\t_\t" tag "\t_\t" feats "\t" head "\t_\t_\t" misc "\n"
#define SAY                                   WORD(2, "say", "VERB", "_", "0", "_")
#define CAT(entity)                           WORD(1, "cats", "NOUN", "_", "2", entity) SAY
#define THEY                                  WORD(4, "they", "PRON", "_", "2", "Entity=(1)")
#define NAP                                   WORD(4, "nap", "VERB", "_", "2", "_")

static void test_pronouns(void)
{
    CHECK_TEXT(of(CAT("A=1|Entity=(e1-x--1-)|B=2") WORD(3, "they", "PRON", "_", "4", "Entity=(e1)") NAP), "0: 2 < 0-1");
    /* possessive determiners of other languages, known by their PronType only */
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "ihr", "DET", "Poss=Yes|PronType=Prs", "4", "Entity=(1)") NAP),
               "0: 2 < 0-1");
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "which", "PRON", "PronType=Rel", "4", "Entity=(1)") NAP),
               ": found 1 sentences and no pronoun with an antecedent");
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "the", "DET", "PronType=Prs", "4", "Entity=(1)") NAP),
               ": found 1 sentences and no pronoun with an antecedent");
    /* a pronoun inside a longer mention whose head is another word */
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "their", "PRON", "_", "4", "Entity=(1-x")
                      WORD(4, "nap", "NOUN", "_", "2", "Entity=1)")),
               ": found 1 sentences and no pronoun with an antecedent");
    /* a mention whose head is the pronoun */
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "they", "PRON", "_", "2", "Entity=(1-x")
                      WORD(4, "all", "DET", "_", "3", "Entity=1)")),
               "0: 2 < 0-1");
    /* parts of a discontinuous mention do not count */
    CHECK_TEXT(of(CAT("Entity=(1[1/2]-x)") WORD(3, "they", "PRON", "_", "4", "Entity=(1)") NAP),
               ": found 1 sentences and no pronoun with an antecedent");
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "dogs", "NOUN", "_", "2", "Entity=(2[1/2]-x)") THEY), "0: 3 < 0-1");
    CHECK_TEXT(of(CAT("Entity=(1)") WORD(3, "dogs", "NOUN", "_", "2", "Entity=(2-x)") THEY), "0: 3 < 0-1, not 2-3");
    /* if several mentions end at one word, the shortest counts */
    CHECK_TEXT(of(WORD(1, "cats", "NOUN", "_", "2", "Entity=(1)") WORD(2, "say", "VERB", "_", "0", "Entity=(2-x")
                      WORD(3, "dogs", "NOUN", "_", "2", "Entity=(3)2)") THEY),
               "0: 3 < 0-1, not 2-3");
    /* a mention in another sentence does not count */
    CHECK_TEXT(of(CAT("Entity=(1)") "\n" WORD(1, "they", "PRON", "_", "2", "Entity=(1)")
                      WORD(2, "nap", "VERB", "_", "0", "_")),
               ": found 2 sentences and no pronoun with an antecedent");
}

static void test_refusals(void)
{
    CHECK_TEXT(of(CAT("_")), ": found no Entity= in column 10, expected coreference as in CorefUD");
    CHECK_TEXT(of(CAT("Entity=(1")), ":2: Entity: the mention '(1' is still open at the end of its sentence");
    CHECK_TEXT(of(CAT("Entity=1)")), ":1: Entity: '1)' closes a mention that is not open");
    CHECK_TEXT(of(CAT("Entity=(1)x")), ":1: Entity: found 'x' outside brackets");
    CHECK_TEXT(of(CAT("Entity=()")), ":1: Entity: expected (ID-..., ID) or (ID-...)");
    CHECK_TEXT(of("1\tcats\n"), ":1: found 2 columns, expected CoNLL-U's 10, separated by tabs");
    CHECK_TEXT(of(WORD(2, "cats", "NOUN", "_", "0", "_")), ":1: found the word number '2', expected 1");
    CHECK_TEXT(of(WORD(1, "cats", "NOUN", "_", "_", "_")),
               ":1: column 7: found the head '_', expected a word's number or 0");
    coreference x;
    err e = {0};
    CHECK_INT(coreference_read(BUILD_DIR "/none.conllu", &x, &e), -1);
    CHECK_HAS(e.text, "none.conllu");
}

int main(void)
{
    test_pairs();
    test_pronouns();
    test_refusals();
    return test_end();
}
