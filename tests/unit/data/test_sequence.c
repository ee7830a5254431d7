/* test_sequence.c - the sequence task: copying, reversing, sorting, and a symbol among blanks.
 */
#include "tasks.h"

static int by_word(const void *a, const void *b) { return memcmp(a, b, 5); }

/* Compares the output with the one computed from the words "s0012 s0003 ...". */
static void check_answer(int kind, const ab_example *x)
{
    size_t n = (strlen(x->src) + 1) / 6;
    char *words = xprintf("%s ", x->src), *turned = xcalloc(1, n * 6 + 1);
    if (kind == 2) qsort(words, n, 6, by_word);
    for (size_t i = 0; i < n; i++) memcpy(turned + 6 * i, words + 6 * (kind == 1 ? n - 1 - i : i), 6);
    turned[6 * n - 1] = 0;
    CHECK_TEXT(x->tgt, turned);
    free(words);
    free(turned);
}

/* One symbol among blanks: the test set has it at each position in turn, and reports the distance up to which nine of
 * ten answers are right. */
static void test_recall(void)
{
    loaded l = load("sequence");
    set_int(&l, "kind", 3);
    set_int(&l, "max_length", 16);
    set_int(&l, "test_length", 16);
    set_int(&l, "train_examples", 2000);
    set_int(&l, "test_examples", 160);
    void *t = open_task(&l, "/nowhere", 1);
    int64_t at[16] = {0};
    for (int64_t i = 0; i < 2000; i++) {
        ab_example x = example(&l, t, AB_TRAIN, i);
        size_t place = 0;
        CHECK_INT(strlen(x.src), 6 * 16 - 1);
        while (!memcmp(x.src + 6 * place, "blank", 5)) place++;
        CHECK(!memcmp(x.src + 6 * place, x.tgt, 5) && strlen(x.tgt) == 5);
        for (size_t k = place + 1; k < 16; k++) CHECK(!memcmp(x.src + 6 * k, "blank", 5));
        at[place]++;
    }
    CHECK(at[0] > 2 * at[3] && at[15] > 0); /* positions are log-uniform: 24 % at 0, 8 % at 3, 2 % at 15 */
    const char *hyp[160];
    /* answers are right up to a distance of 9, and in one round of ten at any distance */
    for (int64_t i = 0; i < 160; i++) {
        ab_example x = example(&l, t, AB_TEST, i);
        CHECK(!memcmp(x.src + 6 * (i % 16), x.tgt, 5));
        hyp[i] = i % 16 <= 9 || i < 16 ? x.tgt : "none";
    }
    ab_metric m[4];
    char words[256];
    CHECK_INT(l.task->score(t, AB_TEST, hyp, 160, m, 4, words, sizeof words), 3);
    CHECK_TEXT(m[2].name, "reach");
    CHECK_NEAR(m[2].value, 9, 0);
    hyp[5] = hyp[21] = "none"; /* now eight of ten are right at distance 5 */
    CHECK_INT(l.task->score(t, AB_TEST, hyp, 160, m, 4, words, sizeof words), 3);
    CHECK_NEAR(m[2].value, 4, 0);
    l.task->close(t);
    free(l.cfg);
}

static void test_sequence(void)
{
    for (int kind = 0; kind < 3; kind++) {
        loaded l = load("sequence");
        set_int(&l, "kind", kind);
        set_int(&l, "train_examples", 2000);
        set_int(&l, "test_examples", 100);
        void *t = open_task(&l, "/nowhere", 1);
        const int64_t n[AB_SPLITS] = {2000, 100, 300};
        for (int s = 0; s < AB_SPLITS; s++) {
            CHECK_INT(l.task->count(t, s), n[s]);
            int64_t shortest = 1000, longest = 0;
            for (int64_t i = 0; i < n[s]; i++) {
                ab_example x = example(&l, t, s, i);
                int64_t length = (int64_t)(strlen(x.src) + 1) / 6;
                check_answer(kind, &x);
                if (s == AB_TEST)
                    CHECK(i < 100 ? length <= 20 : i < 200 ? length > 20 && length <= 25 : length > 25 && length <= 30);
                if (length < shortest) shortest = length;
                if (length > longest) longest = length;
            }
            CHECK_INT(shortest, 1);
            CHECK_INT(longest, s == AB_TEST ? 30 : 20);
        }
        ab_metric m[8];
        CHECK_INT(score(&l, t, AB_DEV, 25, m, 8), 1);
        CHECK_NEAR(m[0].value, 75, 1e-9);
        CHECK_INT(score(&l, t, AB_TEST, 150, m, 8), 4);
        const char *const names[] = {"acc", "acc_in", "acc_near", "acc_far"};
        const double values[] = {50, 0, 50, 100};
        for (int i = 0; i < 4; i++) {
            CHECK_TEXT(m[i].name, names[i]);
            CHECK_NEAR(m[i].value, values[i], 1e-9);
            double part = 0, whole = 0;
            for (int64_t k = 0; k < 300; k++) part += m[i].stats[2 * k], whole += m[i].stats[2 * k + 1];
            CHECK_NEAR(100 * part / whole, values[i], 1e-9);
        }
        CHECK_INT(score(&l, t, AB_TEST, 150, m, 2), 2);
        l.task->close(t);
        set_int(&l, "test_step", 4); /* scores by length: up to 24, up to 28, up to 30 */
        t = open_task(&l, "/nowhere", 1);
        CHECK_INT(l.task->count(t, AB_TEST), 400);
        CHECK_INT(score(&l, t, AB_TEST, 200, m, 8), 5);
        const char *const steps[] = {"acc", "acc_in", "acc_24", "acc_28", "acc_30"};
        for (int i = 0; i < 5; i++) CHECK_TEXT(m[i].name, steps[i]);
        for (int i = 1; i < 5; i++) CHECK_NEAR(m[i].value, i < 3 ? 0 : 100, 1e-9);
        l.task->close(t);
        set_int(&l, "test_length", 40), set_int(&l, "test_step", 1);
        REFUSED(&l, "/nowhere",
                "sequence.test_step = 1 makes 20 steps from max_length = 20 to test_length = 40; expected at most 12");
        set_int(&l, "test_length", 30), set_int(&l, "test_step", 0), set_int(&l, "max_length", 40);
        REFUSED(&l, "/nowhere", "max_length = 40, test_length = 30: expected ascending lengths");
        set_int(&l, "max_length", 30); /* no lengths beyond training: a single score */
        t = open_task(&l, "/nowhere", 1);
        CHECK_INT(score(&l, t, AB_TEST, 0, m, 8), 2);
        l.task->close(t);
        free(l.cfg);
    }
}

int main(void)
{
    test_sequence();
    test_recall();
    return test_end();
}
