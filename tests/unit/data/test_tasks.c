/* test_tasks.c - the task plugins, loaded as the host loads them, with a small host in place of the real one.
 */
#include "data/dataset.h"
#include "test.h"
#include <dlfcn.h>
#include <sys/stat.h>

/* ---- a small host ---- */

static char asked_tok[16];
static int asked_lowercase;

/* Not BLEU: a figure that shows what came through. */
static int mock_bleu(const char *const *hyp, const char *const *ref, int64_t n, const char *tok,
                     int lowercase, ab_bleu *out, char *words, size_t n_words)
{
    static double stats[100000][10];
    (void)words, (void)n_words;
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        stats[i][0] = !strcmp(hyp[i], ref[i]);
        right += !strcmp(hyp[i], ref[i]);
    }
    snprintf(asked_tok, sizeof asked_tok, "%s", tok);
    asked_lowercase = lowercase;
    *out = (ab_bleu){.value = 100.0 * (double)right / (double)n, .signature = "mock", .stats = stats[0]};
    return 0;
}

static int mock_read_lines(const char *path, char ***lines, int64_t *n, char *words, size_t n_words)
{
    str text = {0};
    err e = {{0}};
    size_t count = 0;
    if (file_lines(path, &text, lines, &count, &e)) {
        snprintf(words, n_words, "%s", e.text);
        return -1;
    }
    /* one block: the text moves behind the pointers */
    char **block = xmalloc((count + 1) * sizeof *block + text.n + 1), *copy = (char *)(block + count + 1);
    memcpy(copy, text.s ? text.s : "", text.n + 1);
    for (size_t i = 0; i < count; i++) block[i] = copy + ((*lines)[i] - text.s);
    free(*lines);
    str_free(&text);
    *lines = block;
    *n = (int64_t)count;
    return 0;
}

static void mock_free_lines(char **lines) { free(lines); }

static const ab_host host = {
    .size = sizeof(ab_host), .bleu = mock_bleu, .read_lines = mock_read_lines, .free_lines = mock_free_lines};

/* ---- a plugin and its settings ---- */

typedef struct {
    const ab_plugin *plugin;
    const ab_task_plugin *task;
    void *cfg;
} loaded;

static loaded load(const char *name)
{
    char *path = xprintf("%s/plugins/task/%s.so", BUILD_DIR, name);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        printf("skipped: %s\n", dlerror());
        exit(77);
    }
    loaded l = {.plugin = dlsym(so, "ab_plugin_v2")};
    CHECK_INT(l.plugin->kind, AB_TASK);
    CHECK_TEXT(l.plugin->name, name);
    CHECK_INT(l.plugin->iface_size, sizeof(ab_task_plugin));
    l.task = l.plugin->iface;
    l.cfg = xcalloc(1, l.plugin->cfg_size);
    *l.plugin->host = &host;
    for (const ab_param *p = l.plugin->params; p->name; p++) {
        char *at = (char *)l.cfg + p->offset;
        CHECK(p->doc && *p->doc);
        if (p->type == AB_TEXT)
            *(const char **)at = p->choices;
        else if (p->type == AB_REAL)
            *(double *)at = p->def;
        else
            *(int64_t *)at = (int64_t)p->def;
    }
    free(path);
    return l;
}

static void *field(const loaded *l, const char *name)
{
    for (const ab_param *p = l->plugin->params; p->name; p++)
        if (same(p->name, name)) return (char *)l->cfg + p->offset;
    printf("no parameter %s\n", name);
    exit(1);
}
static void set_text(const loaded *l, const char *name, const char *value)
{
    *(const char **)field(l, name) = value;
}
static void set_int(const loaded *l, const char *name, int64_t value) { *(int64_t *)field(l, name) = value; }

static void *open_task(const loaded *l, const char *data_dir, int64_t seed)
{
    void *self = NULL;
    char words[1024] = "";
    CHECK_INT(l->task->open(&self, l->cfg, &host, &(ab_env){.data_dir = data_dir, .seed = seed}, words, sizeof words), 0);
    CHECK_TEXT(words, "");
    if (!self) exit(test_end());
    return self;
}

static void refused(const loaded *l, const char *data_dir, const char *const *parts)
{
    void *self = NULL;
    char words[1024] = "";
    CHECK_INT(l->task->open(&self, l->cfg, &host, &(ab_env){.data_dir = data_dir, .seed = 1}, words, sizeof words), -1);
    for (; *parts; parts++) CHECK_HAS(words, *parts);
}
#define REFUSED(l, dir, ...) refused(l, dir, (const char *const[]){__VA_ARGS__, NULL})

static ab_example example(const loaded *l, void *self, ab_split s, int64_t i)
{
    ab_example x;
    l->task->get(self, s, i, &x);
    return x;
}

/* Score the references themselves, with the first `wrong` ones spoiled. */
static int score(const loaded *l, void *self, ab_split s, int64_t wrong, ab_metric *out, int max)
{
    int64_t n = l->task->count(self, s);
    const char **hyp = xmalloc((size_t)n * sizeof *hyp);
    for (int64_t i = 0; i < n; i++) hyp[i] = i < wrong ? "something else" : example(l, self, s, i).tgt;
    char words[256] = "";
    int made = l->task->score(self, s, hyp, n, out, max, words, sizeof words);
    CHECK_TEXT(words, "");
    CHECK_INT(l->task->score(self, s, hyp, n - 1, out, max, words, sizeof words), -1);
    CHECK_HAS(words, "lines to score, expected");
    made = l->task->score(self, s, hyp, n, out, max, words, sizeof words);
    free(hyp);
    return made;
}

/* ---- translation ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

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
    CHECK_INT(differ, 0); /* data_seed, not the run's seed */
    qsort(all, (size_t)k, sizeof *all, by_text);
    int64_t twice = 0;
    for (int64_t i = 1; i < k; i++) twice += !strcmp(all[i - 1], all[i]);
    CHECK_INT(twice, 0); /* so the splits are disjoint */
    printf("synthetic: %.1f words a source line, %.1f a target line\n", (double)words[0] / 7000 + 1,
           (double)words[1] / 7000 + 1);

    vocab *src, *tgt;
    err e = {{0}};
    CHECK_INT(dataset_vocabs(l.task, a, false, TOKENS_WORDS, 0, false, NULL, &src, &tgt, &e), 0);
    printf("synthetic: %lld source and %lld target words\n", (long long)vocab_size(src),
           (long long)vocab_size(tgt));
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
               example(&l, a, AB_TEST, 499).src); /* fewer to train on, the same test */
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
    REFUSED(&l, dir, "no file", "mine/train.en", "translation.train = train", dir, "multi30k-lctok",
            "synthetic");
    put(mine, "train.en", "one\ntwo\n\nfour\n");
    REFUSED(&l, dir, "no file", "mine/train.de");
    put(mine, "train.de", "eins\nzwei\n\n");
    REFUSED(&l, dir, "mine/train.en has 4 lines", "mine/train.de has 3");
    put(mine, "train.de", "eins\r\nzwei\r\n\r\nvier");
    REFUSED(&l, dir, "mine/dev.en", "translation.dev = dev");
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
    REFUSED(&l, dir, "translation.first_pairs = 5", "has 4 pairs");
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
    set_int(&l, "train_trees", 0); /* another seed and size: the same trees */
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

/* ---- sequence ---- */

static int by_word(const void *a, const void *b) { return memcmp(a, b, 5); }

/* What the output should be, from the words "s0012 s0003 ...". */
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

/* One symbol among blanks; the test set has it at every place in turn, and says how far nine of ten are right. */
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
    CHECK(at[0] > 2 * at[3] && at[15] > 0); /* by the logarithm: 24 %, 8 %, 2 % */
    const char *hyp[160];
    for (int64_t i = 0; i < 160; i++) { /* right up to a distance of 9, and in one round of ten everywhere */
        ab_example x = example(&l, t, AB_TEST, i);
        CHECK(!memcmp(x.src + 6 * (i % 16), x.tgt, 5));
        hyp[i] = i % 16 <= 9 || i < 16 ? x.tgt : "none";
    }
    ab_metric m[4];
    char words[256];
    CHECK_INT(l.task->score(t, AB_TEST, hyp, 160, m, 4, words, sizeof words), 3);
    CHECK_TEXT(m[2].name, "reach");
    CHECK_NEAR(m[2].value, 9, 0);
    hyp[5] = hyp[21] = "none"; /* eight of ten at distance 5 */
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
                    CHECK(i < 100   ? length <= 20
                          : i < 200 ? length > 20 && length <= 25
                                    : length > 25 && length <= 30);
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
        set_int(&l, "test_step", 4); /* a curve: 21 to 24, 25 to 28, 29 and 30 */
        t = open_task(&l, "/nowhere", 1);
        CHECK_INT(l.task->count(t, AB_TEST), 400);
        CHECK_INT(score(&l, t, AB_TEST, 200, m, 8), 5);
        const char *const steps[] = {"acc", "acc_in", "acc_24", "acc_28", "acc_30"};
        for (int i = 0; i < 5; i++) CHECK_TEXT(m[i].name, steps[i]);
        for (int i = 1; i < 5; i++) CHECK_NEAR(m[i].value, i < 3 ? 0 : 100, 1e-9);
        l.task->close(t);
        set_int(&l, "test_length", 40), set_int(&l, "test_step", 1);
        REFUSED(&l, "/nowhere", "sequence.test_step = 1 makes 20 steps from max_length = 20 to test_length = 40; expected at most 12");
        set_int(&l, "test_length", 30), set_int(&l, "test_step", 0), set_int(&l, "max_length", 40);
        REFUSED(&l, "/nowhere", "max_length = 40, test_length = 30: expected them in ascending order");
        set_int(&l, "max_length", 30); /* nothing beyond training: one range */
        t = open_task(&l, "/nowhere", 1);
        CHECK_INT(score(&l, t, AB_TEST, 0, m, 8), 2);
        l.task->close(t);
        free(l.cfg);
    }
}

int main(void)
{
    test_synthetic();
    test_files();
    test_multi30k();
    test_synthetic_trees();
    test_sequence();
    test_recall();
    return test_end();
}
