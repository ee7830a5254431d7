/* test_tasks.c - the tasks translation and parsing: synthetic data and corpora, refused settings and files, scores. */
#include "tasks.h"
#include <sys/stat.h>

/* ---- translation ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void test_synthetic(void)
{
    loaded l = load("translation");
    void *a = open_task(&l, "/nowhere", 1), *b = open_task(&l, "/elsewhere", 2);
    const int64_t n[AB_SPLITS] = {6000, 500, 500};
    const char **all = xmalloc(7000 * sizeof *all);
    int64_t k = 0, differ = 0, words[2] = {0};
    for (int s = 0; s < AB_SPLITS; s++) {
        CHECK_INT(l.task->count(a, s), n[s]);
        for (int64_t i = 0; i < n[s]; i++) {
            ab_example x = example(&l, a, s, i), y = example(&l, b, s, i);
            all[k++] = x.src;
            differ += strcmp(x.src, y.src) || strcmp(x.tgt, y.tgt);
            CHECK(utf8_bad(x.src, strlen(x.src)) < 0 && utf8_bad(x.tgt, strlen(x.tgt)) < 0);
            CHECK(!strstr(x.src, "  ") && !strstr(x.tgt, "  ") && x.src[0] != ' ');
            for (const char *c = x.src; *c; c++) words[0] += *c == ' ';
            for (const char *c = x.tgt; *c; c++) words[1] += *c == ' ';
        }
    }
    CHECK_INT(differ, 0); /* data depend on data_seed, not on the run's seed */
    qsort(all, (size_t)k, sizeof *all, by_text);
    int64_t twice = 0;
    for (int64_t i = 1; i < k; i++) twice += !strcmp(all[i - 1], all[i]);
    CHECK_INT(twice, 0); /* no test sentence is in training */
    printf("synthetic: %.1f words a source line, %.1f a target line\n", (double)words[0] / 7000 + 1,
           (double)words[1] / 7000 + 1);

    vocab *src, *tgt;
    err e = {{0}};
    CHECK_INT(dataset_vocabs(l.task, a, false, TOKENS_WORDS, 0, false, NULL, &src, &tgt, &e), 0);
    printf("synthetic: %lld source and %lld target words\n", (long long)vocab_size(src), (long long)vocab_size(tgt));
    for (int64_t i = 0; i < 500; i++) { /* every word of the test set is known */
        ab_example x = example(&l, a, AB_TEST, i);
        id_list ids = {0};
        vocab_encode(src, x.src, &ids, &e);
        vocab_encode(tgt, x.tgt, &ids, &e);
        for (int64_t j = 0; j < ids.n; j++) CHECK(ids.id[j] != VOCAB_UNK);
        id_list_free(&ids);
    }
    vocab_free(src);
    vocab_free(tgt);

    ab_metric m[4];
    CHECK_INT(score(&l, a, AB_TEST, 50, m, 4), 1);
    CHECK_TEXT(m[0].name, "BLEU");
    CHECK_TEXT(m[0].signature, "mock");
    CHECK_NEAR(m[0].value, 90, 1e-9);
    CHECK_INT(m[0].sum, AB_SUM_BLEU);
    CHECK_INT(m[0].n_stats, 10);
    CHECK_NEAR(m[0].stats[10 * 49], 0, 0);
    CHECK_NEAR(m[0].stats[10 * 50], 1, 0);
    CHECK_TEXT(asked_tok, "none");

    set_int(&l, "data_seed", -1);
    void *c = open_task(&l, "/nowhere", 1), *d = open_task(&l, "/nowhere", 2);
    CHECK_TEXT(example(&l, c, AB_DEV, 3).src, example(&l, a, AB_DEV, 3).src);
    CHECK(strcmp(example(&l, d, AB_DEV, 3).src, example(&l, a, AB_DEV, 3).src));
    set_int(&l, "train_pairs", 20);
    set_int(&l, "data_seed", 1);
    void *f = open_task(&l, "/nowhere", 1);
    CHECK_INT(l.task->count(f, AB_TRAIN), 20);
    CHECK_TEXT(example(&l, f, AB_TEST, 499).src,
               example(&l, a, AB_TEST, 499).src); /* with a smaller training set the test set is the same */
    void *const opened[] = {a, b, c, d, f};
    for (size_t i = 0; i < LENGTH(opened); i++) l.task->close(opened[i]);
    free(all);
    free(l.cfg);
}

static void put(const char *dir, const char *name, const char *text)
{
    char *path = path_join(dir, name);
    err e = {{0}};
    CHECK_INT(file_write(path, text, strlen(text), &e), 0);
    free(path);
}

static void test_files(void)
{
    char dir[] = "/tmp/test_tasks.XXXXXX";
    CHECK(mkdtemp(dir));
    char *mine = path_join(dir, "mine");
    CHECK_INT(mkdir(mine, 0777), 0);
    loaded l = load("translation");
    set_text(&l, "data", "mine");
    REFUSED(&l, dir, "no file", "mine/train.en", "translation.train = train", dir, "multi30k-lctok", "synthetic");
    put(mine, "train.en", "one\ntwo\n\nfour\n");
    REFUSED(&l, dir, "no file", "mine/train.de");
    put(mine, "train.de", "eins\nzwei\n\n");
    REFUSED(&l, dir, "mine/train.en has 4 lines", "mine/train.de has 3");
    put(mine, "train.de", "eins\r\nzwei\r\n\r\nvier");
    REFUSED(&l, dir, "mine/dev.en", "give translation.dev");
    put(mine, "dev.en", "Five\n");
    put(mine, "dev.de", "fünf\n");
    put(mine, "more.en", "six\nseven\n");
    put(mine, "more.de", "sechs\nsieben\n");
    put(mine, "empty.en", "");
    put(mine, "empty.de", "");
    set_text(&l, "dev", "dev+more");
    set_text(&l, "test", "empty");
    REFUSED(&l, dir, "translation.test = empty", "are empty");
    set_text(&l, "test", "more+");
    REFUSED(&l, dir, "a file name is missing");
    char *absolute = path_join(mine, "more");
    set_text(&l, "test", absolute);
    set_int(&l, "lowercase", 1);
    void *t = open_task(&l, dir, 1);
    CHECK_INT(l.task->count(t, AB_TRAIN), 4);
    CHECK_INT(l.task->count(t, AB_DEV), 3);
    CHECK_INT(l.task->count(t, AB_TEST), 2);
    CHECK_TEXT(example(&l, t, AB_TRAIN, 1).tgt, "zwei");
    CHECK_TEXT(example(&l, t, AB_TRAIN, 2).src, "");
    CHECK_TEXT(example(&l, t, AB_DEV, 0).src, "Five");
    CHECK_TEXT(example(&l, t, AB_DEV, 2).tgt, "sieben");
    ab_metric m[1];
    CHECK_INT(score(&l, t, AB_DEV, 0, m, 1), 1);
    CHECK_TEXT(asked_tok, "13a");
    CHECK_INT(asked_lowercase, 1);
    l.task->close(t);
    set_text(&l, "data", mine); /* a path */
    set_text(&l, "test", "more");
    t = open_task(&l, "/nowhere", 1);
    CHECK_TEXT(example(&l, t, AB_TEST, 0).tgt, "sechs");
    l.task->close(t);
    set_int(&l, "first_pairs", 2);
    t = open_task(&l, dir, 1);
    CHECK_INT(l.task->count(t, AB_TRAIN), 2);
    CHECK_INT(l.task->count(t, AB_DEV), 3);
    CHECK_TEXT(example(&l, t, AB_TRAIN, 1).tgt, "zwei");
    l.task->close(t);
    set_int(&l, "first_pairs", 5);
    REFUSED(&l, dir, "translation.first_pairs = 5", "has only 4 pairs");
    set_int(&l, "first_pairs", 0);
    set_text(&l, "tgt", "fr");
    REFUSED(&l, dir, "train.fr");

    set_text(&l, "data", "wmt14-en-fr");
    set_text(&l, "tgt", "auto");
    REFUSED(&l, dir, "wmt14-en-fr/train.en", "`ablate data get wmt14-en-fr`");
    free(absolute);
    free(l.cfg);
    char *clean = xprintf("rm -r %s", dir);
    CHECK_INT(system(clean), 0);
    free(clean);
    free(mine);
}

static void test_multi30k(void)
{
    if (!test_data()) {
        printf("skipped: translation of Multi30k (no $ABLATE_DATA)\n");
        return;
    }
    loaded l = load("translation");
    set_text(&l, "data", "multi30k-lctok");
    set_text(&l, "dev", "val+test2016");
    void *t = open_task(&l, test_data(), 1);
    CHECK_INT(l.task->count(t, AB_TRAIN), 29000);
    CHECK_INT(l.task->count(t, AB_DEV), 2014);
    CHECK_INT(l.task->count(t, AB_TEST), 1000);
    CHECK_TEXT(example(&l, t, AB_DEV, 1014).src, example(&l, t, AB_TEST, 0).src);
    ab_metric m[1];
    score(&l, t, AB_TEST, 0, m, 1);
    CHECK_TEXT(asked_tok, "none");
    l.task->close(t);
    set_text(&l, "data", "multi30k");
    set_text(&l, "tgt", "fr");
    set_text(&l, "dev", "auto");
    t = open_task(&l, test_data(), 1);
    CHECK_INT(l.task->count(t, AB_DEV), 1014);
    l.task->close(t);
    free(l.cfg);
}

/* ---- parsing: the synthetic treebank ---- */

static int64_t brackets_open(const char *tree)
{
    int64_t depth = 0, deepest = 0;
    for (; *tree; tree++) {
        depth += (*tree == '(') - (*tree == ')');
        if (depth > deepest) deepest = depth;
    }
    CHECK_INT(depth, 0);
    return deepest;
}

static void test_synthetic_trees(void)
{
    loaded l = load("parsing");
    set_text(&l, "data", "synthetic");
    set_int(&l, "train_trees", 600);
    void *t = open_task(&l, "/nowhere", 1);
    const int64_t n[AB_SPLITS] = {600, 400, 400};
    int64_t deepest = 0, agree[2] = {0};
    for (int s = 0; s < AB_SPLITS; s++) {
        CHECK_INT(l.task->count(t, s), n[s]);
        for (int64_t i = 0; i < n[s]; i++) {
            ab_example x = example(&l, t, s, i);
            const char *gold = l.task->reference_line(t, s, i, NULL), *that = strstr(gold, "(WDT that)");
            CHECK(has_prefix(gold, "(TOP (S ") && has_suffix(gold, " (. .)))") && has_suffix(x.src, " ."));
            int64_t depth = brackets_open(gold);
            if (depth > deepest) deepest = depth;
            agree[0] += that && strstr(that, "(VBZ ") != NULL;
            agree[1] += that && strstr(that, "(VBP ") != NULL;
        }
    }
    CHECK(deepest >= 10);
    CHECK(agree[0] > 50 && agree[1] > 50);
    char *dev = xstrdup(example(&l, t, AB_DEV, 7).src), *train = xstrdup(example(&l, t, AB_TRAIN, 599).src);
    l.task->close(t);
    set_int(&l, "train_trees", 0); /* each tree is the same for any seed of the run and any number of trees */
    t = open_task(&l, "/nowhere", 2);
    CHECK_INT(l.task->count(t, AB_TRAIN), 4000);
    CHECK_TEXT(example(&l, t, AB_DEV, 7).src, dev);
    CHECK_TEXT(example(&l, t, AB_TRAIN, 599).src, train);
    l.task->close(t);
    set_int(&l, "train_trees", 100000000);
    REFUSED(&l, "/nowhere", "parsing.train_trees = 100000000: expected at most");
    set_int(&l, "train_trees", 0);
    set_text(&l, "dev", "dev.ptb");
    REFUSED(&l, "/nowhere", "parsing.dev = dev.ptb: parsing.data = synthetic makes its own trees; expected auto");
    free(dev), free(train), free(l.cfg);
}

int main(void)
{
    test_synthetic();
    test_files();
    test_multi30k();
    test_synthetic_trees();
    return test_end();
}
