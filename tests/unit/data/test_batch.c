/* test_batch.c - datasets and batches: which examples are kept, token budgets, filling, determinism, resuming, hostile
 * input. */
#include "text/data/batch.h"
#include "test.h"

/* ---- a task in memory ---- */

typedef struct {
    int64_t n[AB_SPLITS];
    char ***src, ***tgt;
} lines_task;

static int64_t count(void *self, ab_split s) { return ((lines_task *)self)->n[s]; }
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    lines_task *t = self;
    *out = (ab_example){t->src[s][i], t->tgt[s][i]};
}
static const ab_task_plugin iface = {
    .src_vocab = AB_VOCAB_WORDS, .tgt_vocab = AB_VOCAB_WORDS, .count = count, .get = get};

static char *random_line(rng *r, int64_t words)
{
    str s = {0};
    str_add(&s, "");
    for (int64_t i = 0; i < words; i++) str_addf(&s, "%sw%d", i ? " " : "", (int)rng_below(r, 50));
    return s.s;
}

static lines_task make_task(const int64_t n[AB_SPLITS], uint64_t seed)
{
    lines_task t = {.src = xcalloc(AB_SPLITS, sizeof *t.src), .tgt = xcalloc(AB_SPLITS, sizeof *t.tgt)};
    rng r = rng_seed(seed, 0);
    for (int s = 0; s < AB_SPLITS; s++) {
        t.n[s] = n[s];
        t.src[s] = xcalloc((size_t)n[s] + 1, sizeof(char *));
        t.tgt[s] = xcalloc((size_t)n[s] + 1, sizeof(char *));
        for (int64_t i = 0; i < n[s]; i++) {
            int64_t length = 1 + (int64_t)rng_below(&r, 30);
            t.src[s][i] = random_line(&r, length);
            t.tgt[s][i] = random_line(&r, 1 + length * 3 / 4 + (int64_t)rng_below(&r, 8));
        }
    }
    return t;
}

static void replace(char **line, const char *by)
{
    free(*line);
    *line = xstrdup(by);
}

static void free_task(lines_task *t)
{
    for (int s = 0; s < AB_SPLITS; s++) {
        for (int64_t i = 0; i < t->n[s]; i++) free(t->src[s][i]), free(t->tgt[s][i]);
        free(t->src[s]);
        free(t->tgt[s]);
    }
    free(t->src);
    free(t->tgt);
}

static void build(lines_task *t, int64_t max_length, dataset *d, vocab **v)
{
    err e = {{0}};
    vocab *tgt;
    CHECK_INT(dataset_vocabs(&iface, t, true, TOKENS_BPE, 100, false, NULL, v, &tgt, &e), 0);
    CHECK(*v == tgt);
    CHECK_INT(dataset_build(d, &iface, t, *v, *v, max_length, &e), 0);
    CHECK_TEXT(e.text, "");
    if (e.text[0]) exit(test_end());
}

static void check_text(const vocab *v, const int32_t *ids, int64_t n, const char *line)
{
    str s = {0};
    CHECK_INT(ids[n - 1], VOCAB_EOS);
    vocab_decode(v, ids, n, &s);
    CHECK_TEXT(str_text(&s), line);
    str_free(&s);
}

static void test_dataset(void)
{
    lines_task t = make_task((int64_t[]){40, 5, 6}, 1);
    replace(&t.src[AB_TRAIN][3], "");
    replace(&t.tgt[AB_TRAIN][4], "  ");
    replace(&t.src[AB_DEV][2], "");
    rng r = rng_seed(5, 5);
    free(t.tgt[AB_TRAIN][7]);
    t.tgt[AB_TRAIN][7] = random_line(&r, 50);
    free(t.src[AB_TEST][1]);
    t.src[AB_TEST][1] = random_line(&r, 80);
    dataset d;
    vocab *v;
    log_to(stderr, LOG_ERROR);
    build(&t, 50, &d, &v);
    log_to(stderr, LOG_INFO);
    const pairs *p = &d.split[AB_TRAIN];
    CHECK_INT(p->n, 37);
    CHECK_INT(p->n_given, 40);
    CHECK_INT(p->n_empty, 2);
    CHECK_INT(p->n_long, 1);
    CHECK_INT(d.split[AB_DEV].n, 5);
    CHECK_INT(d.split[AB_TEST].n, 6);
    CHECK_INT(d.split[AB_TEST].src_longest, 81);
    for (int s = 0; s < AB_SPLITS; s++) {
        p = &d.split[s];
        for (int64_t i = 0; i < p->n; i++) {
            CHECK(s != AB_TRAIN || (p->example[i] != 3 && p->example[i] != 4 && p->example[i] != 7));
            if (s == AB_TRAIN || (s == AB_TEST && i != 1)) {
                check_text(v, p->src + p->src_at[i], p->src_at[i + 1] - p->src_at[i], t.src[s][p->example[i]]);
                check_text(v, p->tgt + p->tgt_at[i], p->tgt_at[i + 1] - p->tgt_at[i], t.tgt[s][p->example[i]]);
            }
        }
    }
    p = &d.split[AB_DEV];
    CHECK_INT(p->src_at[3] - p->src_at[2], 1); /* an empty source is just EOS */
    dataset_free(&d);

    /* hostile lines */
    err e = {{0}};
    replace(&t.tgt[AB_DEV][1], "w1 \xc3( w2");
    CHECK_INT(dataset_build(&d, &iface, &t, v, v, 0, &e), -1);
    CHECK_HAS(e.text, "dev split, target line 2: byte 4 (0xc3) is not UTF-8");
    e.text[0] = 0;
    CHECK_INT(dataset_build(&d, &iface, &t, v, v, 1, &e), -1);
    replace(&t.tgt[AB_DEV][1], "w1");
    e.text[0] = 0;
    CHECK_INT(dataset_build(&d, &iface, &t, v, v, 1, &e), -1);
    CHECK_HAS(e.text, "none of 40 training pairs is left: 2 are empty, 38 are longer than max_length = 1 tokens");

    pairs alone;
    e.text[0] = 0;
    CHECK_INT(pairs_encode(&alone, (const char *const *)t.src[AB_TEST], NULL, 6, v, v, &e), 0);
    CHECK_INT(alone.n, 6);
    CHECK_INT(alone.tgt_at[6], 6);
    CHECK_INT(alone.tgt[3], VOCAB_EOS);
    pairs_free(&alone);
    vocab_free(v);
    free_task(&t);
}

/* ---- batches ---- */

/* Checks every rule that a batch must keep; marks its examples in seen[]. */
static void check_batch(const batch *b, const pairs *p, const batch_options *o, int *seen)
{
    int64_t step = o->round > 1 ? o->round : 1, s_row = 0, t_row = 0, s_longest = 0, t_longest = 0;
    CHECK(b->n_sentences > 0 && (!o->max_sentences || b->n_sentences <= o->max_sentences));
    CHECK(b->src_rows <= o->batch_tokens && b->tgt_rows <= o->batch_tokens);
    CHECK(b->src_cap % step == 0 && b->src_cap >= b->src_rows && b->src_cap < b->src_rows + step);
    CHECK(b->tgt_cap % step == 0 && b->tgt_cap >= b->tgt_rows && b->tgt_cap < b->tgt_rows + step);
    int64_t wrong = 0;
    for (int64_t i = 0; i < b->n_sentences; i++) {
        /* in these tests no example is dropped, so pairs have the examples' numbers */
        int64_t x = b->example[i], at = 0;
        seen[x]++;
        wrong += b->src_offset[i] != s_row || b->tgt_offset[i] != t_row;
        int64_t s = p->src_at[x + 1] - p->src_at[x], t = p->tgt_at[x + 1] - p->tgt_at[x];
        for (at = 0; at < s; at++, s_row++)
            wrong += b->src_ids[s_row] != p->src[p->src_at[x] + at] || b->src_pos[s_row] != at;
        for (at = 0; at < t; at++, t_row++) {
            wrong += b->tgt_out[t_row] != p->tgt[p->tgt_at[x] + at] || b->tgt_pos[t_row] != at;
            wrong += b->tgt_in[t_row] != (at ? p->tgt[p->tgt_at[x] + at - 1] : VOCAB_BOS);
        }
        if (s > s_longest) s_longest = s;
        if (t > t_longest) t_longest = t;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(b->src_rows, s_row);
    CHECK_INT(b->tgt_rows, t_row);
    CHECK_INT(b->src_offset[b->n_sentences], s_row);
    CHECK_INT(b->tgt_offset[b->n_sentences], t_row);
    CHECK_INT(b->src_longest, s_longest);
    CHECK_INT(b->tgt_longest, t_longest);
    for (; s_row < b->src_cap; s_row++) wrong += b->src_ids[s_row] != VOCAB_PAD || b->src_pos[s_row];
    for (; t_row < b->tgt_cap; t_row++)
        wrong += b->tgt_in[t_row] != VOCAB_PAD || b->tgt_out[t_row] != -1 || b->tgt_pos[t_row];
    CHECK_INT(wrong, 0);
}

static uint64_t print_of(const batch *b)
{
    size_t s = (size_t)b->src_cap * 4, t = (size_t)b->tgt_cap * 4, o = (size_t)(b->n_sentences + 1) * 4;
    uint64_t h =
        hash64(b->src_ids, s) * 3 + hash64(b->src_pos, s) * 5 + hash64(b->tgt_in, t) * 7 + hash64(b->tgt_out, t) * 11;
    return h + hash64(b->src_offset, o) * 13 + hash64(b->tgt_offset, o) * 17 +
           hash64(b->example, (size_t)b->n_sentences * 8) * 19;
}

/* Each of three epochs has each example exactly once. Returns the mean fill of the first epoch's batches. */
static double check_epochs(const pairs *p, const batch_options *o)
{
    err e = {{0}};
    batcher *b = batcher_new(p, o, &e);
    CHECK_TEXT(e.text, "");
    if (!b) exit(test_end());
    double fill = batcher_fill(b), measured = 0;
    uint64_t first[2] = {0};
    int64_t longest_before = INT64_MAX;
    for (int epoch = 0; epoch < (o->train ? 3 : 1); epoch++) {
        int *seen = xcalloc((size_t)p->n, sizeof *seen);
        batch x;
        int64_t batches = 0;
        do {
            CHECK(batcher_next(b, &x));
            CHECK_INT(x.epoch, epoch);
            CHECK_INT(x.index, batches);
            check_batch(&x, p, o, seen);
            if (!batches && epoch < 2) first[epoch] = print_of(&x);
            if (!epoch)
                measured += (double)(x.src_rows > x.tgt_rows ? x.src_rows : x.tgt_rows) / (double)o->batch_tokens;
            if (!o->train) CHECK(x.tgt_longest <= longest_before);
            longest_before = x.tgt_longest;
        } while (++batches < batcher_count(b));
        int64_t wrong = 0;
        for (int64_t i = 0; i < p->n; i++) wrong += seen[i] != 1;
        CHECK_INT(wrong, 0);
        if (!epoch) CHECK_NEAR(measured / (double)batches, fill, 1e-9);
        free(seen);
    }
    batch x;
    if (o->train)
        CHECK(p->n < 10 || first[0] != first[1]); /* epochs differ */
    else
        CHECK(!batcher_next(b, &x));
    batcher_free(b);
    return fill;
}

static void test_batches(void)
{
    lines_task t = make_task((int64_t[]){3000, 50, 1}, 2);
    dataset d;
    vocab *v;
    build(&t, 0, &d, &v);
    const pairs *p = &d.split[AB_TRAIN];
    const batch_options all[] = {
        {.batch_tokens = 512, .seed = 1, .train = true},
        {.batch_tokens = 512, .seed = 1, .train = true, .round = 64, .pool = 3},
        {.batch_tokens = 512, .round = 512, .train = true, .max_sentences = 7},
        {.batch_tokens = 40, .seed = 9, .train = true, .pool = 1},
        {.batch_tokens = 1000000, .train = true},
        {.batch_tokens = 512},
        {.batch_tokens = 100000, .max_sentences = 1},
        {.batch_tokens = 777, .max_sentences = 16, .round = 8},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        double fill = check_epochs(p, &all[i]);
        printf("fill %.4f of %lld tokens (%lld sentences at most, %s)\n", fill, (long long)all[i].batch_tokens,
               (long long)all[i].max_sentences, all[i].train ? "training" : "one pass");
        check_epochs(&d.split[AB_TEST], &all[i]);
    }
    dataset_free(&d);
    vocab_free(v);
    free_task(&t);
}

/* In training, source tokens become <unk> at the given rate, reproducibly; EOS and target tokens never become <unk>. */
static void test_word_dropout(void)
{
    lines_task t = make_task((int64_t[]){3000, 1, 1}, 2);
    dataset d;
    vocab *v;
    build(&t, 0, &d, &v);
    batch_options o = {.batch_tokens = 512, .seed = 1, .train = true}, dropped = o,
                  pass = {.batch_tokens = 512, .word_dropout = 0.3};
    dropped.word_dropout = 0.3;
    batcher *whole = batcher_new(&d.split[AB_TRAIN], &o, NULL), *b = batcher_new(&d.split[AB_TRAIN], &dropped, NULL),
            *again = batcher_new(&d.split[AB_TRAIN], &dropped, NULL),
            *one_pass = batcher_new(&d.split[AB_TRAIN], &pass, NULL);
    int64_t words = 0, gone = 0, ends = 0, wrong = 0;
    CHECK_INT(batcher_seek(again, (batch_state){1, 3}, NULL), 0);
    for (int i = 0; i < 200; i++) {
        batch x, y, z;
        batcher_next(whole, &x), batcher_next(b, &y);
        wrong += x.src_rows != y.src_rows || memcmp(x.tgt_in, y.tgt_in, (size_t)x.tgt_rows * 4) ||
                 memcmp(x.tgt_out, y.tgt_out, (size_t)x.tgt_rows * 4);
        for (int64_t k = 0; k < x.src_rows; k++) {
            bool end = x.src_ids[k] == VOCAB_EOS, unknown = y.src_ids[k] == VOCAB_UNK;
            words += !end, gone += !end && unknown, ends += end && unknown;
            wrong += !unknown && x.src_ids[k] != y.src_ids[k];
        }
        if (y.epoch < 1 || (y.epoch == 1 && y.index < 3)) continue;
        batcher_next(again, &z);
        CHECK(print_of(&z) == print_of(&y));
    }
    CHECK(words > 30000);
    CHECK_NEAR((double)gone / (double)words, 0.3, 0.01);
    CHECK_INT(ends, 0);
    CHECK_INT(wrong, 0);
    batch x;
    int64_t unknown = 0;
    while (batcher_next(one_pass, &x))
        for (int64_t k = 0; k < x.src_rows; k++) unknown += x.src_ids[k] == VOCAB_UNK;
    CHECK_INT(unknown, 0); /* never outside of training */
    batcher_free(whole), batcher_free(b), batcher_free(again), batcher_free(one_pass);
    dataset_free(&d);
    vocab_free(v);
    free_task(&t);
}

static void test_resume(void)
{
    lines_task t = make_task((int64_t[]){500, 1, 1}, 3);
    dataset d;
    vocab *v;
    build(&t, 0, &d, &v);
    batch_options o = {.batch_tokens = 256, .seed = 7, .train = true, .round = 16, .pool = 8};
    enum { STEPS = 200 };
    uint64_t prints[STEPS];
    batch_state states[STEPS];
    err e = {{0}};
    batch x;
    batcher *b = batcher_new(&d.split[AB_TRAIN], &o, &e);
    for (int i = 0; i < STEPS; i++) {
        states[i] = batcher_state(b);
        batcher_next(b, &x);
        prints[i] = print_of(&x);
    }
    CHECK(states[STEPS - 1].epoch >= 2);
    for (int from = 0; from < STEPS; from += 13) {
        batcher *again = batcher_new(&d.split[AB_TRAIN], &o, &e);
        CHECK_INT(batcher_seek(again, states[from], &e), 0);
        for (int i = from; i < STEPS && i < from + 60; i++) {
            batcher_next(again, &x);
            CHECK(print_of(&x) == prints[i]);
        }
        batcher_free(again);
    }
    CHECK_INT(batcher_seek(b, (batch_state){0}, &e), 0);
    batcher_next(b, &x);
    CHECK(print_of(&x) == prints[0]);
    CHECK_INT(batcher_seek(b, (batch_state){0, 100000}, &e), -1);
    CHECK_HAS(e.text, "no batch 100000 in epoch 0: an epoch of this data has");
    e.text[0] = 0;
    CHECK_INT(batcher_seek(b, (batch_state){-1, 0}, &e), -1);
    batcher_next(b, &x);
    CHECK(print_of(&x) == prints[1]); /* a refused seek changes nothing */
    batcher_free(b);

    o.seed = 8;
    b = batcher_new(&d.split[AB_TRAIN], &o, &e);
    batcher_next(b, &x);
    CHECK(print_of(&x) != prints[0]);
    batcher_free(b);

    o.batch_tokens = 20;
    e.text[0] = 0;
    CHECK(!batcher_new(&d.split[AB_TRAIN], &o, &e));
    CHECK_HAS(e.text, "more than batch_tokens = 20; increase batch_tokens or set max_length = 20");
    e.text[0] = 0;
    CHECK(!batcher_new(&(pairs){0}, &o, &e));
    CHECK_HAS(e.text, "from 0 pairs");
    dataset_free(&d);
    vocab_free(v);
    free_task(&t);
}

/* On real text, batches fill at least 93 % of the budget of the larger side. */
static void test_multi30k(void)
{
    const char *data = test_data();
    if (!data) {
        printf("skipped: fill on multi30k-lctok (no $ABLATE_DATA)\n");
        return;
    }
    str text[2] = {{0}};
    char **lines[2];
    size_t n[2];
    err e = {{0}};
    for (int s = 0; s < 2; s++) {
        char *path = xprintf("%s/multi30k-lctok/train.%s", data, s ? "de" : "en");
        CHECK_INT(file_lines(path, &text[s], &lines[s], &n[s], &e), 0);
        free(path);
    }
    CHECK_TEXT(e.text, "");
    CHECK_INT(n[0], 29000);
    CHECK_INT(n[1], 29000);
    vocab *v = vocab_train(TOKENS_WORDS, 0, false, (const char *const *)lines[0], (int64_t)n[0], &e);
    pairs p;
    double start = ticks();
    CHECK_INT(pairs_encode(&p, (const char *const *)lines[0], (const char *const *)lines[1], (int64_t)n[0], v, v, &e),
              0);
    double encoded = ticks();
    const int64_t budgets[] = {1024, 2048, 4096, 25000};
    for (size_t i = 0; i < LENGTH(budgets); i++) {
        double fill =
            check_epochs(&p, &(batch_options){.batch_tokens = budgets[i], .train = true, .seed = 1, .round = 32});
        printf("multi30k-lctok, words: fill %.4f of %lld tokens\n", fill, (long long)budgets[i]);
        CHECK(fill > 0.93);
    }
    printf("encoding %.2f s, batches of 12 epochs %.2f s\n", encoded - start, ticks() - encoded);
    pairs_free(&p);
    vocab_free(v);
    for (int s = 0; s < 2; s++) {
        str_free(&text[s]);
        free(lines[s]);
    }
}

/* The slices of all ranks together are the whole batch; no slice exceeds its share of tokens by more than a pair. */
static void check_slices(const pairs *p, int64_t ranks)
{
    enum { MOST = 64, STEPS = 200 };
    err e = {{0}};
    batcher *whole, *part[MOST];
    batch_options o = {.batch_tokens = 64, .train = true, .seed = 3, .round = 8, .word_dropout = 0.3};
    whole = batcher_new(p, &o, &e);
    o.ranks = ranks;
    for (o.rank = 0; o.rank < ranks; o.rank++) part[o.rank] = batcher_new(p, &o, &e);
    for (int step = 0; step < STEPS; step++) {
        batch all, mine;
        int64_t src = 0, tgt = 0, n = 0;
        batcher_next(whole, &all);
        CHECK_INT(all.all_src_rows, all.src_rows);
        for (int64_t r = 0; r < ranks; r++) {
            batcher_next(part[r], &mine);
            CHECK_INT(mine.all_src_rows, all.src_rows);
            CHECK_INT(mine.all_tgt_rows, all.tgt_rows);
            CHECK(mine.src_rows + mine.tgt_rows <=
                  (all.src_rows + all.tgt_rows) / ranks + 1 + p->src_longest + p->tgt_longest);
            CHECK(n + mine.n_sentences <= all.n_sentences);
            if (n + mine.n_sentences > all.n_sentences) break;
            CHECK(!memcmp(mine.example, all.example + n, (size_t)mine.n_sentences * sizeof *mine.example));
            CHECK(!memcmp(mine.src_ids, all.src_ids + src, (size_t)mine.src_rows * sizeof *mine.src_ids));
            CHECK(!memcmp(mine.tgt_out, all.tgt_out + tgt, (size_t)mine.tgt_rows * sizeof *mine.tgt_out));
            CHECK_INT(mine.tgt_offset[mine.n_sentences], mine.tgt_rows);
            n += mine.n_sentences, src += mine.src_rows, tgt += mine.tgt_rows;
        }
        CHECK_INT(n, all.n_sentences);
        CHECK_INT(src, all.src_rows);
        CHECK_INT(tgt, all.tgt_rows);
    }
    batcher_free(whole);
    for (int64_t r = 0; r < ranks; r++) batcher_free(part[r]);
}

static void test_slices(void)
{
    lines_task t = make_task((int64_t[]){300, 2, 2}, 4);
    dataset d;
    vocab *v;
    build(&t, 50, &d, &v);
    for (int64_t ranks = 1; ranks <= 64; ranks *= 2) check_slices(&d.split[AB_TRAIN], ranks);
    check_slices(&d.split[AB_TRAIN], 3);
    dataset_free(&d);
    vocab_free(v);
    free_task(&t);
}

int main(void)
{
    test_dataset();
    test_batches();
    test_slices();
    test_word_dropout();
    test_resume();
    test_multi30k();
    return test_end();
}
