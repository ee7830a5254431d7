/* Attention weights from pronouns to antecedents: which rows have a word's tokens, for every kind of vocabulary, and
 * sums of the weights of these rows. */
#include "test.h"
#include "lab/study/anaphora.h"

static const char *const text[] = {"the woman says she sleeps", "the man sees the dog because he sleeps",
                                   "she sees the sleeping woman", "he says the man is the man"};

/* Returns the words' rows as "0-2 2-3", after checking that their tokens spell the line. */
static const char *rows_of(const vocab *v, const char *line, size_t first, size_t n_words)
{
    static char out[256];
    row_span rows[16];
    id_list ids = {0};
    CHECK_INT(vocab_encode(v, line, &ids, NULL), 0);
    size_t n = 0;
    if (!anaphora_rows(v, line, ids.id, ids.n, first, rows, n_words)) {
        snprintf(out, sizeof out, "no");
    } else {
        str words = {0};
        for (size_t i = 0; i < n_words; i++) {
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%zu-%zu", i ? " " : "", rows[i].from, rows[i].to);
            if (i) str_addc(&words, ' ');
            vocab_decode(v, ids.id + rows[i].from - first, (int64_t)(rows[i].to - rows[i].from), &words);
        }
        CHECK_TEXT(str_text(&words), line);
        str_free(&words);
    }
    id_list_free(&ids);
    return out;
}

static vocab *trained(vocab_kind kind, int64_t size)
{
    err e = {0};
    vocab *v = vocab_train(kind, size, false, text, LENGTH(text), &e);
    CHECK_TEXT(e.text, "");
    return v;
}

static void test_rows(void)
{
    vocab *words = trained(TOKENS_WORDS, 0), *chars = trained(TOKENS_CHAR, 0), *pieces = trained(TOKENS_BPE, 32);
    CHECK_TEXT(rows_of(words, "he sees the dog", 0, 4), "0-1 1-2 2-3 3-4");
    CHECK_TEXT(rows_of(words, "he sees the dog", 1, 4), "1-2 2-3 3-4 4-5");
    CHECK_TEXT(rows_of(words, "he sees the dog", 0, 3), "no");       /* the line has one word more */
    CHECK_TEXT(rows_of(words, "he sees the dog", 0, 5), "no");       /* the line has one word fewer */
    CHECK_TEXT(rows_of(words, "he  sees", 0, 2), "no");              /* an empty word */
    CHECK_TEXT(rows_of(chars, "he is", 1, 2), "1-3 4-6");            /* the blank belongs to no word */
    const char *found = rows_of(pieces, "she sees the woman", 0, 4); /* the pieces of each row spell its word */
    CHECK_THAT(strlen(found) > 2, "pieces: found '%s', expected rows", found);
    id_list other = {0};
    row_span rows[2];
    CHECK_INT(vocab_encode(words, "he says", &other, NULL), 0);
    CHECK(!anaphora_rows(words, "he is", other.id, other.n, 0, rows, 2)); /* tokens of another line */
    id_list_free(&other);
    vocab_free(words), vocab_free(chars), vocab_free(pieces);
}

static void test_weights(void)
{
    enum { STRIDE = 5 };
    static const float at[4][STRIDE] = {
        {1, 0, 0, 0, 9}, {0.5f, 0.5f, 0, 0, 9}, {0.25f, 0.5f, 0.25f, 0, 9}, {0.125f, 0.25f, 0.5f, 0.125f, 9}};
    /* queries 2 and 3, keys 0 and 1: (0.75 + 0.375) / 2 */
    CHECK_NEAR(anaphora_weight(at[0], STRIDE, (row_span){2, 4}, (row_span){0, 2}), 0.5625, 1e-12);
    CHECK_NEAR(anaphora_weight(at[0], STRIDE, (row_span){3, 4}, (row_span){2, 3}), 0.5, 1e-12);
    CHECK_NEAR(anaphora_evenly((row_span){2, 4}, (row_span){0, 2}, false, 4), 0.5, 1e-12);
    CHECK_NEAR(anaphora_evenly((row_span){2, 4}, (row_span){0, 2}, true, 4), (2. / 3 + 2. / 4) / 2, 1e-12);
}

int main(void)
{
    test_rows();
    test_weights();
    return test_end();
}
